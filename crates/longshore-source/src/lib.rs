//! Finds and opens texts: patterns of paths, folders, compressed, encoded and remote files.
//!
//! What comes out is a [`longshore_load::Source`] per file. Not here: records, fields, types.

mod budget;
mod container;
mod encoding;
mod expand;
mod fault;
mod feed;
mod location;
mod open;
mod options;
mod ordered;
mod pump;
mod remote;
mod stages;

pub use container::Container;
pub use encoding::{Encoding, EncodingErrors};
pub use expand::{FoundFile, expand, partition_names};
pub use location::Location;
pub use open::{open, open_reader};
pub use options::{Compression, OpenOptions, StoreOptions};
pub use remote::StoredObject;

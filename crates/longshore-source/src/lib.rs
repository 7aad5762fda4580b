//! Finds and opens texts: patterns of paths, folders, compressed, encoded and remote files.
//!
//! What comes out is a [`Source`] per file. Not here: records, fields, types.
//!
//! Remote files (`http://`, `https://`, `s3://`) need the feature `remote`, which brings `object_store`, `reqwest` and
//! `tokio`. Without it, their addresses are refused with a [`SourceError`] that names the address and says that this build
//! reads no remote files; all else is the same.
//!
//! # Modules
//!
//! Lowest first; a module imports only from those before it (`cargo xtask imports` checks it).
//!
//! - `error`: what can go wrong
//! - `memory`: what buffers count against, as the caller provides it
//! - `cancellation`, `byte_counter`: what readers share with whoever waits for them
//! - `percent`: percent encoding in names
//! - `location`: where a text is
//! - `source`: one text, mapped, streamed or kept
//! - `budget`: the memory of one open file
//! - `fault`: what is wrong with a container
//! - `parallel_reader`: blocks that several threads make and one reader takes in order
//! - `feed`: compressed bytes as a window
//! - `container`: compressed files
//! - `encoding`: text in other encodings than UTF-8
//! - `options`: how to open a file
//! - `stages`: a stream whose first bytes decide what is done with it
//! - `pipe`: pipes, read ahead
//! - `remote`: files behind addresses
//! - `expand`: from names to files
//! - `open`: from a file to its text
//! - `identity`: what tells whether a file is the one that it was

mod budget;
mod byte_counter;
mod cancellation;
mod container;
mod encoding;
mod error;
mod expand;
mod fault;
mod feed;
mod identity;
mod location;
mod memory;
mod open;
mod options;
mod parallel_reader;
mod percent;
mod pipe;
mod remote;
mod source;
mod stages;

pub use byte_counter::ByteCounter;
pub use cancellation::{Cancellation, WaiterId};
pub use container::Container;
pub use encoding::{Encoding, EncodingErrors};
pub use error::SourceError;
pub use expand::{FoundFile, expand, partition_names};
pub use identity::{ContentHash, FileState, PrefixHash, hash_content, name_id};
pub use location::Location;
pub use memory::{MemoryPool, MemoryReservation};
pub use open::{open, open_reader};
pub use options::{Compression, OpenOptions, StoreOptions};
pub use remote::RemoteState;
#[cfg(feature = "remote")]
pub use remote::StoredObject;
pub use source::{BYTE_ORDER_MARK, Input, KeptText, Mapping, Source, read_up_to};

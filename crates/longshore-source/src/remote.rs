//! Files behind `http://`, `https://` and `s3://`: several ranges in flight, handed out in order, in bounded memory.
//!
//! The requests run on a small runtime of their own; the outside only sees a reader. Object stores, signatures and the
//! retries of requests are `object_store`'s. What a server cannot do is done without: no ranges, no length.
//! What waits to be read counts against the memory limit. All of this needs the feature `remote`; without it, every
//! address is refused. Not here: patterns (`expand`), decompression (`container`).

#[cfg(feature = "remote")]
mod fetch;
#[cfg(feature = "remote")]
mod object;
#[cfg(not(feature = "remote"))]
mod refused;
#[cfg(feature = "remote")]
mod store;

#[cfg(feature = "remote")]
pub(crate) use fetch::open;
#[cfg(feature = "remote")]
pub use object::StoredObject;
#[cfg(not(feature = "remote"))]
pub(crate) use refused::{ask, list, open};
#[cfg(feature = "remote")]
pub(crate) use store::{ask, list};

/// What a name in a store stands for.
pub(crate) struct Listed {
    pub(crate) url: String,
    pub(crate) bytes: Option<u64>,
    pub(crate) state: RemoteState,
}

/// What tells one state of a file in a store from another, without reading it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemoteState {
    /// Its `ETag`, or the version that the store gave it.
    pub version: Option<String>,
    /// When it was last modified: microseconds since 1970.
    pub modified: Option<i64>,
}

/// Bucket and key of an `s3://` address.
pub(crate) fn split_s3(url: &str) -> Option<(&str, &str)> {
    let rest = url.strip_prefix("s3://")?;
    Some(rest.split_once('/').unwrap_or((rest, "")))
}

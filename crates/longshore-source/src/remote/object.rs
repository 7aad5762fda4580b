//! Objects for readers that need some of their parts, in any order, as those of Parquet do.
//!
//! Requests run on the runtime of the stores, wherever they are awaited. Not here: reading from front to back (`fetch`).

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use object_store::{Error, GetOptions, GetRange, GetResult, GetResultPayload, ObjectStoreExt};

use super::store::{Remote, explain, runtime, wait};
use crate::memory::{MemoryPool, MemoryReservation};
use crate::options::StoreOptions;

/// A file in a store.
#[derive(Clone)]
pub struct StoredObject {
    remote: Remote,
    /// Its length.
    pub bytes: u64,
    /// What the bytes of [`StoredObject::get`] count against.
    pool: Option<Arc<dyn MemoryPool>>,
}

/// Bytes that count as used as long as anybody has a part of them.
struct Counted {
    bytes: Bytes,
    _reserved: Box<dyn MemoryReservation>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl StoredObject {
    /// The file at `url`.
    ///
    /// # Errors
    /// When there is none, or the server does not tell its length.
    pub fn new(url: &str, options: &StoreOptions) -> io::Result<Self> {
        let remote = Remote::new(url, options)?;
        let asked = remote.clone();
        let meta = wait(async move { asked.store.head(&asked.path).await })?.map_err(explain)?;
        Ok(Self { remote, bytes: meta.size, pool: None })
    }

    /// The same, whose bytes count against `pool`.
    #[must_use]
    pub fn counted(self, pool: &Arc<dyn MemoryPool>) -> Self {
        Self { pool: Some(Arc::clone(pool)), ..self }
    }

    /// The bytes of `range`.
    ///
    /// # Errors
    /// When the server does not give them.
    pub fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let remote = self.remote.clone();
        let bytes = wait(async move { remote.store.get_range(&remote.path, range).await })?;
        Ok(bytes.map_err(explain)?.into())
    }

    /// What `options` ask for, all of it.
    ///
    /// # Errors
    /// When the server does not give it, or the memory limit is reached.
    pub async fn get(self, mut options: GetOptions) -> Result<GetResult, Error> {
        // Not all servers can count from the end.
        options.range = options.range.map(|range| match range {
            GetRange::Bounded(range) => GetRange::Bounded(range),
            GetRange::Offset(start) => GetRange::Bounded(start..self.bytes),
            GetRange::Suffix(bytes) => GetRange::Bounded(self.bytes.saturating_sub(bytes)..self.bytes),
        });
        let failed =
            |error: Box<dyn std::error::Error + Send + Sync>| Error::Generic { store: "remote", source: error };
        let (remote, pool) = (self.remote, self.pool);
        let is_head = options.head;
        let asked = runtime().map_err(|error| failed(error.into()))?.spawn(async move {
            let result = remote.store.get_opts(&remote.path, options).await?;
            let (meta, range, attributes) = (result.meta.clone(), result.range.clone(), result.attributes.clone());
            let mut reserved = pool.filter(|_| !is_head).map(|pool| pool.reservation());
            if let Some(reserved) = &mut reserved {
                let bytes = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
                reserved.grow(bytes).map_err(failed)?;
            }
            let mut bytes = result.bytes().await?;
            if let Some(reserved) = reserved {
                bytes = Bytes::from_owner(Counted { bytes, _reserved: reserved });
            }
            let payload = GetResultPayload::Stream(Box::pin(futures::stream::once(async { Ok(bytes) })));
            Ok(GetResult { payload, meta, range, attributes })
        });
        asked.await.unwrap_or_else(|error| Err(failed(error.into())))
    }
}

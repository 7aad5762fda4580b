//! Objects for readers that need some of their parts, in any order, as those of Parquet do.
//!
//! Requests run on the runtime of the stores, wherever they are awaited. Not here: reading from front to back (`fetch`).

use std::io;
use std::ops::Range;

use object_store::{Error, GetOptions, GetResult, GetResultPayload, ObjectStoreExt};

use super::{Remote, explain, runtime, wait};
use crate::options::StoreOptions;

/// A file in a store.
#[derive(Clone)]
pub struct StoredObject {
    remote: Remote,
    /// Its length.
    pub bytes: u64,
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
        Ok(Self { remote, bytes: meta.size })
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
    /// When the server does not give it.
    pub async fn get(self, options: GetOptions) -> Result<GetResult, Error> {
        let failed =
            |error: Box<dyn std::error::Error + Send + Sync>| Error::Generic { store: "remote", source: error };
        let remote = self.remote;
        let asked = runtime().map_err(|error| failed(error.into()))?.spawn(async move {
            let result = remote.store.get_opts(&remote.path, options).await?;
            let (meta, range, attributes) = (result.meta.clone(), result.range.clone(), result.attributes.clone());
            let bytes = result.bytes().await?;
            let payload = GetResultPayload::Stream(Box::pin(futures::stream::once(async { Ok(bytes) })));
            Ok(GetResult { payload, meta, range, attributes })
        });
        asked.await.unwrap_or_else(|error| Err(failed(error.into())))
    }
}

//! Parquet and Arrow files elsewhere, as a store that `DataFusion` reads: each under its number, whichever server has it.
//!
//! Of Parquet only the footer and the columns that a query needs are fetched, of Arrow the records. A store is known to the runtime as long as a plan may
//! read from it. Not here: requests (`longshore-source`).

use std::fmt;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::ipc::convert::fb_to_schema;
use datafusion::arrow::ipc::reader::{StreamReader, read_footer_length};
use datafusion::arrow::ipc::root_as_footer;
use datafusion::common::Result as Outcome;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::parquet::DecodeResult;
use datafusion::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use datafusion::parquet::errors::ParquetError;
use datafusion::parquet::file::metadata::ParquetMetaDataPushDecoder;
use futures::StreamExt;
use futures::stream::BoxStream;
use longshore_source::StoredObject;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error as StoreError, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result as Answer,
};

use super::{neither, viewed};
use crate::datafusion::errors::external;
use crate::text::{FileKind, HEAD_BYTES};
use crate::{Error, ErrorKind};

/// What the file at `address` is, and its columns.
pub(super) fn schema(address: &str, object: &StoredObject) -> Result<(FileKind, SchemaRef), Error> {
    let failed = |error: &io::Error| Error::new(ErrorKind::Io, format!("{address}: cannot read it: {error}"));
    let damaged = |kind: FileKind, error: &dyn fmt::Display| {
        Error::new(ErrorKind::Damaged, format!("{address}: not a sound {} file: {error}", kind.name()))
    };
    let head = object.read(0..HEAD_BYTES.min(object.bytes)).map_err(|error| failed(&error))?;
    match FileKind::of_head(&head) {
        kind @ FileKind::Arrow => {
            let read = |range| object.read(range).map_err(|error| failed(&error));
            let schema = arrow_footer(object.bytes, read, |error| damaged(kind, error))?;
            Ok((kind, schema))
        }
        kind @ FileKind::ArrowStream => {
            let front = BufReader::with_capacity(FRONT_BYTES, Front { object, position: 0 });
            let stream = StreamReader::try_new(front, None).map_err(|error| damaged(kind, &error))?;
            Ok((kind, stream.schema()))
        }
        kind @ FileKind::Parquet => Ok((kind, viewed(&footer(address, object)?))),
        FileKind::Text | FileKind::Binary => Err(neither(&address)),
    }
}

/// The columns of an Arrow file of `bytes` bytes, from its footer.
fn arrow_footer(
    bytes: u64,
    read: impl Fn(Range<u64>) -> Result<Vec<u8>, Error>,
    damaged: impl Fn(&dyn fmt::Display) -> Error,
) -> Result<SchemaRef, Error> {
    const TRAILER_BYTES: u64 = 10;
    let footer_end = bytes.checked_sub(TRAILER_BYTES).ok_or_else(|| damaged(&"it is too short"))?;
    let trailer = read(footer_end..bytes)?;
    let trailer = trailer.first_chunk().ok_or_else(|| damaged(&"it is too short"))?;
    let length = read_footer_length(*trailer).map_err(|error| damaged(&error))?;
    let start = footer_end.checked_sub(length as u64).ok_or_else(|| damaged(&"its footer is longer than the file"))?;
    let footer = read(start..footer_end)?;
    let footer = root_as_footer(&footer).map_err(|error| damaged(&error))?;
    let schema = footer.schema().ok_or_else(|| damaged(&"its footer has no columns"))?;
    Ok(Arc::new(fb_to_schema(schema)))
}

/// Bytes of the front of a stream that are fetched at a time, to find its columns.
const FRONT_BYTES: usize = 64 << 10;

/// A file from front to back.
struct Front<'a> {
    object: &'a StoredObject,
    position: u64,
}

impl Read for Front<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let end = self.object.bytes.min(self.position + into.len() as u64);
        if end == self.position {
            return Ok(0);
        }
        let read = self.object.read(self.position..end)?;
        let bytes = read.len().min(into.len());
        into[..bytes].copy_from_slice(&read[..bytes]);
        self.position += bytes as u64;
        Ok(bytes)
    }
}

/// What the footer of the Parquet file at `address` says.
fn footer(address: &str, object: &StoredObject) -> Result<ArrowReaderMetadata, Error> {
    let damaged =
        |error: ParquetError| Error::new(ErrorKind::Damaged, format!("{address}: not a sound Parquet file: {error}"));
    let mut decoder = ParquetMetaDataPushDecoder::try_new(object.bytes).map_err(damaged)?;
    loop {
        match decoder.try_decode().map_err(damaged)? {
            DecodeResult::Data(metadata) => {
                return ArrowReaderMetadata::try_new(Arc::new(metadata), ArrowReaderOptions::new()).map_err(damaged);
            }
            DecodeResult::NeedsData(ranges) => {
                let parts = ranges.iter().map(|range| object.read(range.clone()));
                let parts = parts.collect::<std::io::Result<Vec<_>>>();
                let parts = parts
                    .map_err(|error| Error::new(ErrorKind::Io, format!("{address}: cannot read it: {error}")))?
                    .into_iter();
                decoder.push_ranges(ranges, parts.map(Into::into).collect()).map_err(damaged)?;
            }
            DecodeResult::Finished => {
                return Err(Error::internal(format!("{address}: the footer ended without its data")));
            }
        }
    }
}

/// Files of stores.
pub(super) struct Objects(Vec<StoredObject>);

/// A store that a runtime knows until this is dropped.
pub(super) struct Registered {
    runtime: Arc<RuntimeEnv>,
    pub(super) url: ObjectStoreUrl,
}

impl Objects {
    /// The files, which are found under the names of [`Objects::place`].
    pub(super) fn new(objects: Vec<StoredObject>) -> Arc<Self> {
        Arc::new(Self(objects))
    }

    /// The place of the file number `index`, in this process no other's: what is kept of files goes by their places.
    pub(super) fn place(index: usize) -> Path {
        static OPENED: AtomicU64 = AtomicU64::new(0);
        Path::from(format!("{}/{index}", OPENED.fetch_add(1, Ordering::Relaxed)))
    }

    /// Makes them known to `runtime`.
    pub(super) fn register(self: &Arc<Self>, runtime: &Arc<RuntimeEnv>) -> Outcome<Registered> {
        static REGISTERED: AtomicU64 = AtomicU64::new(0);
        let url = ObjectStoreUrl::parse(format!("remote://{}", REGISTERED.fetch_add(1, Ordering::Relaxed)))
            .map_err(|error| external(Error::internal(error.to_string())))?;
        runtime.register_object_store(url.as_ref(), Arc::clone(self) as Arc<dyn ObjectStore>);
        Ok(Registered { runtime: Arc::clone(runtime), url })
    }

    fn object(&self, location: &Path) -> Answer<StoredObject> {
        let index = location.filename().and_then(|index| index.parse::<usize>().ok());
        index.and_then(|index| self.0.get(index).cloned()).ok_or_else(|| StoreError::NotFound {
            path: location.to_string(),
            source: "it is none of the files that were opened".into(),
        })
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // There is nothing to do about a store that is not there.
        let _ = self.runtime.deregister_object_store(self.url.as_ref());
    }
}

fn read_only<T>() -> Answer<T> {
    Err(StoreError::NotSupported { source: "files of stores are only read here".into() })
}

impl fmt::Display for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} remote files", self.0.len())
    }
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Objects").field("count", &self.0.len()).finish()
    }
}

#[async_trait]
impl ObjectStore for Objects {
    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Answer<PutResult> {
        read_only()
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Answer<Box<dyn MultipartUpload>> {
        read_only()
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Answer<GetResult> {
        let result = self.object(location)?.get(options).await?;
        Ok(GetResult { meta: ObjectMeta { location: location.clone(), ..result.meta }, ..result })
    }

    fn delete_stream(&self, _: BoxStream<'static, Answer<Path>>) -> BoxStream<'static, Answer<Path>> {
        futures::stream::once(async { read_only() }).boxed()
    }

    fn list(&self, _: Option<&Path>) -> BoxStream<'static, Answer<ObjectMeta>> {
        futures::stream::once(async { read_only() }).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Answer<ListResult> {
        read_only()
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Answer<()> {
        read_only()
    }
}

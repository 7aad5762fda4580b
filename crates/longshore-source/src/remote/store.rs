//! The servers: what a file, a bucket and its objects are to `object_store`, and the runtime that requests run on.
//!
//! Not here: reading (`fetch`, `object`).

use std::future::Future;
use std::io;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::TryStreamExt;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, Error, ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig};
use tokio::runtime::Runtime;
use url::Url;

use super::{Listed, RemoteState, split_s3};
use crate::options::StoreOptions;

/// Times that a request is tried again.
pub(super) const RETRIES_MAX: usize = 4;
/// Time after which a request is not tried again.
const RETRY_TIME_MAX: Duration = Duration::from_secs(30);

/// A file in a store.
#[derive(Clone)]
pub(super) struct Remote {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) path: Path,
    /// The address, for servers that only a plain request suits.
    pub(super) address: Option<String>,
}

impl Remote {
    /// The file at `url`.
    ///
    /// # Errors
    /// When it is no address, or the settings of the store contradict each other.
    pub(super) fn new(url: &str, options: &StoreOptions) -> io::Result<Self> {
        if let Some((bucket, key)) = split_s3(url) {
            let path = Path::parse(key).map_err(io::Error::other)?;
            return Ok(Self { store: s3(bucket, options)?, path, address: None });
        }
        Url::parse(url).map_err(|error| io::Error::other(format!("this is not an address ({error})")))?;
        let store = HttpBuilder::new().with_url(url).with_client_options(client_options(true)).with_retry(retries());
        let store = store.build().map_err(io::Error::other)?;
        Ok(Self { store: Arc::new(store), path: Path::default(), address: Some(url.to_owned()) })
    }
}

/// The file at `url`: its size and its state, if the server tells.
///
/// # Errors
/// When there is no such file.
pub(crate) fn ask(url: &str, options: &StoreOptions) -> io::Result<Listed> {
    let remote = Remote::new(url, options)?;
    match wait(async move { remote.store.head(&remote.path).await })? {
        Ok(meta) => Ok(Listed::new(url.to_owned(), meta)),
        Err(error @ Error::NotFound { .. }) => Err(explain(error)),
        // Reading it tells what is wrong, if anything is.
        Err(_) => Ok(Listed { url: url.to_owned(), bytes: None, state: RemoteState::default() }),
    }
}

/// The files below the folder `prefix` of a bucket.
///
/// # Errors
/// When the bucket cannot be listed.
pub(crate) fn list(bucket: &str, prefix: &str, options: &StoreOptions) -> io::Result<Vec<Listed>> {
    let store = s3(bucket, options)?;
    let prefix = Path::parse(prefix).map_err(io::Error::other)?;
    let found = wait(async move {
        let prefix = (!prefix.as_ref().is_empty()).then_some(prefix);
        store.list(prefix.as_ref()).try_collect::<Vec<_>>().await
    })?;
    let mut found = found.map_err(explain)?;
    found.sort_by(|left, right| left.location.as_ref().as_bytes().cmp(right.location.as_ref().as_bytes()));
    let listed = |meta: ObjectMeta| Listed::new(format!("s3://{bucket}/{}", meta.location), meta);
    Ok(found.into_iter().map(listed).collect())
}

impl Listed {
    fn new(url: String, meta: ObjectMeta) -> Self {
        // Where a server tells no time, it is the first moment of all.
        let modified = Some(meta.last_modified.timestamp_micros()).filter(|modified| *modified != 0);
        let state = RemoteState { version: meta.e_tag.or(meta.version), modified };
        Self { url, bytes: Some(meta.size), state }
    }
}

fn s3(bucket: &str, options: &StoreOptions) -> io::Result<Arc<dyn ObjectStore>> {
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retries());
    if let Some(endpoint) = &options.endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    if let Some(region) = &options.region {
        builder = builder.with_region(region);
    }
    if let Some(id) = &options.access_key_id {
        builder = builder.with_access_key_id(id);
    }
    if let Some(secret) = &options.secret_access_key {
        builder = builder.with_secret_access_key(secret);
    }
    if let Some(token) = &options.session_token {
        builder = builder.with_token(token);
    }
    if let Some(path_style) = options.path_style {
        builder = builder.with_virtual_hosted_style_request(!path_style);
    }
    if options.anonymous {
        builder = builder.with_skip_signature(true);
    }
    // An endpoint that is named as http:// is meant so.
    let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint);
    let plain = endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"));
    let store = builder.with_client_options(client_options(plain)).build().map_err(io::Error::other)?;
    Ok(Arc::new(store))
}

/// The reader gives up on a server that sends nothing; a request as a whole may take as long as it needs.
fn client_options(allow_http: bool) -> ClientOptions {
    ClientOptions::new().with_allow_http(allow_http).with_timeout_disabled()
}

fn retries() -> RetryConfig {
    let backoff = BackoffConfig { max_backoff: Duration::from_secs(2), ..BackoffConfig::default() };
    RetryConfig { backoff, max_retries: RETRIES_MAX, retry_timeout: RETRY_TIME_MAX }
}

/// What went wrong, in words for the user.
pub(super) fn explain(error: Error) -> io::Error {
    match error {
        Error::NotFound { .. } => io::Error::new(io::ErrorKind::NotFound, "the server has no such file (404)"),
        Error::PermissionDenied { .. } => io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the server denies access (403); check the credentials and the address",
        ),
        Error::Unauthenticated { .. } => io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the server asks for credentials (401); for S3 set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        ),
        Error::Precondition { .. } => io::Error::other("the file was changed while it was read; load it again"),
        other => io::Error::other(other),
    }
}

/// The runtime that requests run on.
pub(super) fn runtime() -> io::Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).thread_name("remote").enable_all().build()?;
    Ok(RUNTIME.get_or_init(|| runtime))
}

/// Runs `future` and waits for what it gives, on any thread.
pub(super) fn wait<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> io::Result<T> {
    let (sender, receiver) = sync_channel(1);
    runtime()?.spawn(async move {
        // Nobody waits any more only when the caller panicked.
        let _ = sender.send(future.await);
    });
    receiver.recv().map_err(|_| io::Error::other("the request ended without an answer; this is a bug"))
}

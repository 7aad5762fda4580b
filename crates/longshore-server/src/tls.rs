//! TLS: what a server proves itself with, which clients it takes by their certificates, and the handshake.
//!
//! As in PostgreSQL, sessions are never resumed, and a client that begins with TLS at once names the protocol by ALPN.
//! Not here: when a client may ask for TLS (`connection::startup`), what its certificate lets it do (`connection::sign_in`).

mod files;
mod self_signed;
mod x509;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use ring::digest;
use tokio::net::TcpStream;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use tokio_rustls::rustls::{Error, RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;

/// What ALPN calls PostgreSQL's protocol.
const PROTOCOL: &[u8] = b"postgresql";
/// The first byte of a client that begins with TLS: the record of a handshake.
pub(crate) const HANDSHAKE: u8 = 0x16;

/// TLS as a server offers it.
#[derive(Clone, Debug)]
pub struct TlsConfig {
    /// What the server proves itself with.
    pub certificate: Certificate,
    /// A PEM file of the authorities whose certificates let clients in. Without, nobody is asked for one.
    pub client_authorities: Option<PathBuf>,
    /// Whether connections over TCP without TLS are refused.
    pub is_required: bool,
}

/// A certificate and its private key.
#[derive(Clone, Debug)]
pub enum Certificate {
    /// In PEM files.
    Files {
        /// The server's certificate, followed by those between it and its authority.
        chain: PathBuf,
        /// Its key, which nobody but the owner of the server may read.
        key: PathBuf,
    },
    /// Made by the server, and signed by itself.
    SelfSigned {
        /// Where it is kept, so that it is the same the next time. Without, it ends with the server.
        directory: Option<PathBuf>,
    },
}

/// A certificate and its key as they are now.
struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

/// TLS as it is at present.
pub(crate) struct Tls {
    config: TlsConfig,
    current: RwLock<Current>,
}

#[derive(Clone)]
struct Current {
    acceptor: tokio_rustls::TlsAcceptor,
    /// The hash of the certificate to which a client may bind its sign-in; `None` if the certificate defines none.
    binding: Option<Arc<[u8]>>,
}

/// A connection with TLS, and what is known of both sides.
pub(crate) struct Encrypted {
    pub(crate) stream: Box<TlsStream<TcpStream>>,
    pub(crate) channel: Channel,
    /// Whether the client named the protocol.
    pub(crate) has_named_protocol: bool,
}

/// What sign-in may use of a TLS connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Channel {
    /// The hash of the server's certificate, for channel binding.
    pub(crate) binding: Option<Arc<[u8]>>,
    /// The common name of the client's certificate, which was verified.
    pub(crate) client_name: Option<String>,
}

impl Tls {
    pub(crate) fn new(config: TlsConfig) -> io::Result<Self> {
        let current = RwLock::new(load(&config)?);
        Ok(Self { config, current })
    }

    /// Whether connections over TCP without TLS are refused.
    pub(crate) fn is_required(&self) -> bool {
        self.config.is_required
    }

    /// Reads the files again: connections that begin from now on use what they hold. If they are wrong, nothing changes.
    pub(crate) fn reload(&self) -> io::Result<()> {
        if let Certificate::SelfSigned { directory: None } = self.config.certificate {
            return Ok(());
        }
        let current = load(&self.config)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = current;
        Ok(())
    }

    /// Encrypts a connection.
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<Encrypted> {
        let Current { acceptor, binding } = self.current.read().unwrap_or_else(PoisonError::into_inner).clone();
        let stream = acceptor.accept(stream).await?;
        let (_, session) = stream.get_ref();
        // Those behind it are of the authorities in between.
        let client = session.peer_certificates().and_then(<[_]>::first);
        let client_name = client.and_then(|certificate| x509::common_name(certificate));
        let has_named_protocol = session.alpn_protocol() == Some(PROTOCOL);
        Ok(Encrypted { stream: Box::new(stream), channel: Channel { binding, client_name }, has_named_protocol })
    }
}

fn load(config: &TlsConfig) -> io::Result<Current> {
    let identity = match &config.certificate {
        Certificate::Files { chain, key } => files::identity(chain, key)?,
        Certificate::SelfSigned { directory } => self_signed::identity(directory.as_deref())?,
    };
    let refused = |error: Error| io::Error::other(format!("TLS: {error}"));
    let binding = identity.chain.first().and_then(|certificate| {
        let algorithm = x509::signature_hash(certificate)?;
        Some(digest::digest(algorithm, certificate).as_ref().into())
    });
    let provider = Arc::new(default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(refused)?;
    let builder = match &config.client_authorities {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in files::certificates(path)? {
                roots.add(certificate).map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = verifier.allow_unauthenticated().build();
            builder.with_client_cert_verifier(verifier.map_err(|error| io::Error::other(format!("TLS: {error}")))?)
        }
    };
    let mut server = builder.with_single_cert(identity.chain, identity.key).map_err(refused)?;
    server.alpn_protocols = vec![PROTOCOL.to_vec()];
    server.session_storage = Arc::new(NoServerSessionStorage {});
    server.send_tls13_tickets = 0;
    Ok(Current { acceptor: Arc::new(server).into(), binding })
}

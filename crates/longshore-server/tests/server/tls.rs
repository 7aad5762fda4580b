//! TLS: with a certificate that the server makes or is given, with certificates of clients, and refused where it must be.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use longshore_server::{Certificate, ServerConfig, TlsConfig};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use ring::digest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

use super::client::{Client, field, kinds, message, startup, values};
use super::scram::sign_in;
use super::{Running, serve_as};

const TLS_REQUEST: &[u8] = b"\0\0\0\x08\x04\xD2\x16\x2F";
const GSS_REQUEST: &[u8] = b"\0\0\0\x08\x04\xD2\x16\x30";

/// A server with a certificate that it has made, and that.
async fn self_signed(trust: bool, is_required: bool) -> (Running, CertificateDer<'static>, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let tls = TlsConfig {
        certificate: Certificate::SelfSigned { directory: Some(directory.path().to_owned()) },
        client_authorities: None,
        is_required,
    };
    let socket = Some(directory.path().to_owned());
    let server = serve_as(ServerConfig { trust, socket, tls: Some(tls), ..ServerConfig::default() }).await;
    let certificate = CertificateDer::from_pem_file(directory.path().join("server.crt")).unwrap();
    (server, certificate, directory)
}

/// How a client encrypts that trusts a certificate, and has one or not.
fn connector(
    trusted: &CertificateDer<'static>,
    own: Option<(CertificateDer<'static>, PrivatePkcs8KeyDer<'static>)>,
    names_protocol: bool,
) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let builder = builder.with_root_certificates(roots);
    let mut config = match own {
        Some((certificate, key)) => builder.with_client_auth_cert(vec![certificate], key.into()).unwrap(),
        None => builder.with_no_client_auth(),
    };
    if names_protocol {
        config.alpn_protocols = vec![b"postgresql".to_vec()];
    }
    Arc::new(config).into()
}

async fn encrypted(connector: TlsConnector, stream: TcpStream) -> std::io::Result<Client<TlsStream<TcpStream>>> {
    Ok(Client { stream: connector.connect("localhost".try_into().unwrap(), stream).await? })
}

/// A client that has asked for TLS, and got it.
async fn connect(server: &Running, connector: TlsConnector) -> std::io::Result<Client<TlsStream<TcpStream>>> {
    let mut client = Client::connect(server.address).await;
    client.send(TLS_REQUEST).await;
    assert_eq!(client.stream.read_u8().await.unwrap(), b'S');
    encrypted(connector, client.stream).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_asks_for_tls_gets_it() {
    let (server, certificate, _directory) = self_signed(true, false).await;
    for names_protocol in [false, true] {
        let mut client = connect(&server, connector(&certificate, None, names_protocol)).await.unwrap();
        client.begin("longshore").await;
        // More than one record each way.
        let long = "x".repeat(100_000);
        assert_eq!(values(&client.query(&format!("SELECT '{long}'")).await), [long]);
    }
    // Who does not ask goes on without; nobody gets GSSAPI.
    let mut client = Client::connect(server.address).await;
    client.send(GSS_REQUEST).await;
    assert_eq!(client.stream.read_u8().await.unwrap(), b'N');
    client.begin("longshore").await;
    // A wish is granted once.
    let mut client = connect(&server, connector(&certificate, None, false)).await.unwrap();
    client.send(TLS_REQUEST).await;
    let refused = client.until_closed().await;
    assert_eq!(field(&refused[0], 'M'), "unsupported frontend protocol 1234.5679: server supports 3.0 to 3.2");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tls_says_so_once() {
    let server = super::serve(true).await;
    let mut client = Client::connect(server.address).await;
    for request in [TLS_REQUEST, GSS_REQUEST] {
        client.send(request).await;
        assert_eq!(client.stream.read_u8().await.unwrap(), b'N');
    }
    client.send(TLS_REQUEST).await;
    assert_eq!(field(&client.until_closed().await[0], 'C'), "0A000");
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_may_begin_at_once_if_the_protocol_is_named() {
    let (server, certificate, _directory) = self_signed(true, true).await;
    let direct = async |names_protocol| {
        let stream = TcpStream::connect(server.address).await.unwrap();
        encrypted(connector(&certificate, None, names_protocol), stream).await.unwrap()
    };
    let mut client = direct(true).await;
    client.begin("longshore").await;
    assert_eq!(values(&client.query("SELECT 1").await), ["1"]);
    let refused = direct(false).await.until_closed().await;
    assert!(field(&refused[0], 'M').contains("without ALPN"), "{refused:?}");
}

/// What somebody in between sends ahead must not count as sent by the client (CVE-2021-23222).
#[tokio::test(flavor = "multi_thread")]
async fn plain_bytes_before_the_handshake_are_refused() {
    let (server, ..) = self_signed(true, false).await;
    let mut client = Client::connect(server.address).await;
    client.send(&[TLS_REQUEST, &startup("longshore", "longshore")[..], &message(b'Q', b"SELECT 1\0")].concat()).await;
    let refused = client.until_closed().await;
    assert_eq!(kinds(&refused), "E");
    assert_eq!(field(&refused[0], 'C'), "08P01");
    // Those that come a moment later are no handshake.
    let mut client = Client::connect(server.address).await;
    client.send(TLS_REQUEST).await;
    assert_eq!(client.stream.read_u8().await.unwrap(), b'S');
    client.send(&startup("longshore", "longshore")).await;
    let mut rest = Vec::new();
    let _ = client.stream.read_to_end(&mut rest).await;
    assert!(!rest.contains(&b'Z'), "an alert and nothing else: {rest:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_may_be_required() {
    let (server, certificate, directory) = self_signed(true, true).await;
    let mut client = Client::connect(server.address).await;
    client.send(&startup("longshore", "longshore")).await;
    let refused = client.until_closed().await;
    assert_eq!((field(&refused[0], 'C').as_str(), refused.len()), ("28000", 1));
    assert!(field(&refused[0], 'M').contains("host \"127.0.0.1\", user \"longshore\""), "{refused:?}");
    let mut client = connect(&server, connector(&certificate, None, false)).await.unwrap();
    client.begin("longshore").await;
    // A socket has none and needs none.
    let path = directory.path().join(format!(".s.PGSQL.{}", server.address.port()));
    let mut client = Client { stream: UnixStream::connect(path).await.unwrap() };
    client.send(TLS_REQUEST).await;
    assert_eq!(client.stream.read_u8().await.unwrap(), b'N');
    client.begin("longshore").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_in_is_bound_to_the_certificate() {
    let (server, certificate, _directory) = self_signed(false, false).await;
    let mut session = server.database.session();
    session.execute("CREATE ROLE anna LOGIN PASSWORD 'right'").await.unwrap();
    let hash = digest::digest(&digest::SHA256, &certificate);
    let connect = async || connect(&server, connector(&certificate, None, false)).await.unwrap();
    for binding in [Some(hash.as_ref()), None] {
        assert_eq!(sign_in(&mut connect().await, "anna", "right", binding).await, ('R', vec![0; 4]));
    }
    // A client that has seen another certificate talks to somebody in between.
    let refused = sign_in(&mut connect().await, "anna", "right", Some(&[0; 32])).await;
    assert_eq!(field(&refused, 'M'), "SCRAM channel binding check failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_request_comes_over_tls() {
    let (server, certificate, _directory) = self_signed(true, false).await;
    let mut client = connect(&server, connector(&certificate, None, false)).await.unwrap();
    let answers = client.begin("longshore").await;
    let (_, key) = answers.iter().find(|(kind, _)| *kind == 'K').unwrap();
    client.send(&message(b'Q', format!("{}\0", super::LONG_QUERY).as_bytes())).await;
    let mut other = connect(&server, connector(&certificate, None, false)).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    other.send(&[&b"\0\0\0\x10\x04\xD2\x16\x2E"[..], key].concat()).await;
    // It ends as TLS ends, not as if it had been cut.
    assert_eq!(other.stream.read_to_end(&mut Vec::new()).await.unwrap(), 0);
    assert!(client.until_ready().await.iter().any(|answer| field(answer, 'C') == "57014"));
}

/// An authority, which signs certificates.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut parameters = CertificateParams::default();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap())
    }

    fn sign(&self, name: &str) -> (CertificateDer<'static>, PrivatePkcs8KeyDer<'static>) {
        let mut parameters = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        parameters.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.signed_by(&key, &self.0).unwrap();
        (certificate.der().clone(), key.serialize_der().into())
    }
}

/// Writes PEM that its owner alone may read.
fn write(path: &Path, label: &str, der: &[u8]) -> PathBuf {
    use base64::Engine as _;
    use std::os::unix::fs::PermissionsExt;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    std::fs::write(path, format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path.to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_lets_its_role_in() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let (certificate, key) = authority.sign("server");
    let tls = TlsConfig {
        certificate: Certificate::Files {
            chain: write(&path("server.crt"), "CERTIFICATE", &certificate),
            key: write(&path("server.key"), "PRIVATE KEY", key.secret_pkcs8_der()),
        },
        client_authorities: Some(write(&path("ca.crt"), "CERTIFICATE", authority.0.der())),
        is_required: false,
    };
    let server = serve_as(ServerConfig { tls: Some(tls), ..ServerConfig::default() }).await;
    let mut session = server.database.session();
    session.execute("CREATE ROLE anna LOGIN PASSWORD 'right'").await.unwrap();
    session.execute("CREATE ROLE grp NOLOGIN").await.unwrap();
    let with = |signer: &Authority, name: &str| connector(authority.0.der(), Some(signer.sign(name)), false);
    let mut client = connect(&server, with(&authority, "anna")).await.unwrap();
    client.begin("anna").await;
    assert_eq!(values(&client.query("SELECT current_user").await), ["anna"]);
    // A role that may not log in, and one that is not there.
    for name in ["grp", "nobody"] {
        let mut client = connect(&server, with(&authority, name)).await.unwrap();
        client.send(&startup(name, "longshore")).await;
        assert_eq!(field(client.until_closed().await.last().unwrap(), 'C'), "28000", "{name}");
    }
    // For another role, and without a certificate, it takes the password.
    for connector in [with(&authority, "grp"), connector(authority.0.der(), None, false)] {
        let mut client = connect(&server, connector).await.unwrap();
        assert_eq!(sign_in(&mut client, "anna", "right", None).await, ('R', vec![0; 4]));
    }
    // Signed by somebody else: there is no session, with a password or without.
    if let Ok(mut client) = connect(&server, with(&stranger, "anna")).await {
        let _ = client.stream.write_all(&startup("anna", "longshore")).await;
        assert!(client.until_closed().await.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_are_read_again() {
    let (authority, directory) = (Authority::new(), tempfile::tempdir().unwrap());
    let path = |name: &str| directory.path().join(name);
    let renew = |name: &str| {
        let (certificate, key) = authority.sign(name);
        write(&path("server.key"), "PRIVATE KEY", key.secret_pkcs8_der());
        write(&path("server.crt"), "CERTIFICATE", &certificate);
        certificate
    };
    let first = renew("first");
    let certificate = Certificate::Files { chain: path("server.crt"), key: path("server.key") };
    let tls = TlsConfig { certificate, client_authorities: None, is_required: false };
    let server = serve_as(ServerConfig { trust: true, tls: Some(tls), ..ServerConfig::default() }).await;
    let shown = async || {
        let client = connect(&server, connector(authority.0.der(), None, false)).await.unwrap();
        client.stream.get_ref().1.peer_certificates().unwrap()[0].clone().into_owned()
    };
    assert_eq!(shown().await, first);
    let second = renew("second");
    assert_eq!(shown().await, first);
    server.certificates.reload().unwrap();
    assert_eq!(shown().await, second);
    // A key of another certificate changes nothing.
    write(&path("server.key"), "PRIVATE KEY", authority.sign("third").1.secret_pkcs8_der());
    assert!(server.certificates.reload().is_err());
    assert_eq!(shown().await, second);
}

//! A certificate that a server makes for itself.
//!
//! It encrypts; whom a client talks to, the client knows only if it has the certificate from elsewhere, such as the file
//! [`CERTIFICATE`] in the directory of the database. It is valid for this machine's name and for loopback.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

use super::{Identity, files};

/// The names of the files, in the directory of a database.
const CERTIFICATE: &str = "server.crt";
const KEY: &str = "server.key";
/// Characters of a line of PEM.
const LINE: usize = 64;
/// Where the system tells the name of the machine.
const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// The certificate that `directory` keeps, which is made if there is none; without a directory a new one.
pub(super) fn identity(directory: Option<&Path>) -> io::Result<Identity> {
    let Some(directory) = directory else { return make() };
    let (certificate, key) = (directory.join(CERTIFICATE), directory.join(KEY));
    if !certificate.exists() {
        let identity = make()?;
        write(&key, 0o600, &pem("PRIVATE KEY", identity.key.secret_der()))?;
        for made in &identity.chain {
            write(&certificate, 0o644, &pem("CERTIFICATE", made))?;
        }
    }
    files::identity(&certificate, &key)
}

fn make() -> io::Result<Identity> {
    let failed = |error: rcgen::Error| io::Error::other(format!("cannot make a certificate: {error}"));
    let host = std::fs::read_to_string(HOST_NAME).unwrap_or_default();
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    names.extend(Some(host.trim().to_owned()).filter(|host| !host.is_empty() && !names.contains(host)));
    let mut parameters = CertificateParams::new(names).map_err(failed)?;
    parameters.distinguished_name.push(DnType::CommonName, "longshore");
    parameters.insert_extended_key_usage(ExtendedKeyUsagePurpose::ServerAuth);
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = parameters.self_signed(&key).map_err(failed)?;
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    Ok(Identity { chain: vec![certificate.der().clone()], key: key.into() })
}

/// Writes a file whole or not at all, with these permissions from the beginning.
fn write(path: &Path, mode: u32, text: &str) -> io::Result<()> {
    let failed = |error: io::Error| io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()));
    let next = path.with_extension("new");
    // What an attempt before has left may have other permissions.
    let _ = std::fs::remove_file(&next);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&next).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    std::fs::rename(&next, path).map_err(failed)
}

/// Bytes as PEM shows them.
pub(super) fn pem(label: &str, bytes: &[u8]) -> String {
    let text = BASE64.encode(bytes);
    let mut pem = format!("-----BEGIN {label}-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, left) = rest.split_at(rest.len().min(LINE));
        pem.push_str(line);
        pem.push('\n');
        rest = left;
    }
    pem + "-----END " + label + "-----\n"
}

#[cfg(test)]
mod tests {
    use super::super::x509;
    use super::*;

    #[test]
    fn it_is_kept() {
        let directory = tempfile::tempdir().expect("a directory");
        let made = identity(Some(directory.path())).expect("made");
        let kept = identity(Some(directory.path())).expect("kept");
        assert_eq!((&made.chain, made.key.secret_der()), (&kept.chain, kept.key.secret_der()));
        assert_eq!(x509::common_name(&made.chain[0]).as_deref(), Some("longshore"));
        assert!(x509::signature_hash(&made.chain[0]) == Some(&ring::digest::SHA256));
        let other = identity(None).expect("made");
        assert_ne!(made.chain, other.chain);
    }
}

//! Certificates and keys in PEM files.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::Identity;

/// What others than the owner of a key may not have.
const OTHERS: u32 = 0o077;
/// The same for a key of root: the group may read it, as systems hand keys to services.
const OTHERS_OF_ROOT: u32 = 0o037;

/// The certificate in one file and its key in another.
pub(super) fn identity(chain: &Path, key: &Path) -> io::Result<Identity> {
    Ok(Identity { chain: certificates(chain)?, key: private_key(key)? })
}

/// All certificates of a file, of which there is one at least.
pub(super) fn certificates(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let text = std::fs::read(path).map_err(|error| could_not("certificate file", path, &error))?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let certificates = certificates.map_err(|error| could_not("certificate file", path, &error))?;
    if certificates.is_empty() {
        return Err(could_not("certificate file", path, &"it holds no certificate in PEM form"));
    }
    Ok(certificates)
}

/// The key of a file that nobody else may read.
fn private_key(path: &Path) -> io::Result<PrivateKeyDer<'static>> {
    let failed = |error| could_not("private key file", path, &error);
    let mut file = File::open(path).map_err(failed)?;
    // Of the file that is read, not of one that has taken its name since.
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(io::Error::other(format!("private key file \"{}\" is not a regular file", path.display())));
    }
    let others = if metadata.uid() == 0 { OTHERS_OF_ROOT } else { OTHERS };
    if metadata.mode() & others != 0 {
        return Err(io::Error::other(format!(
            "private key file \"{}\" has group or world access; it must have permissions u=rw (0600) or less, or u=rw,g=r \
             (0640) or less if it is owned by root",
            path.display()
        )));
    }
    let mut text = Vec::new();
    file.read_to_end(&mut text).map_err(failed)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
        pem::Error::NoItemsFound => could_not("private key file", path, &"it holds no unencrypted key in PEM form"),
        error => could_not("private key file", path, &error),
    })
}

fn could_not(what: &str, path: &Path, error: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!("could not load {what} \"{}\": {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("key.pem");
        let key = rcgen::KeyPair::generate().expect("a key");
        std::fs::write(&path, super::super::self_signed::pem("PRIVATE KEY", key.serialized_der())).expect("written");
        let uid = std::fs::metadata(&path).expect("it is there").uid();
        for (mode, is_taken) in [(0o600, true), (0o400, true), (0o640, uid == 0), (0o660, false), (0o604, false)] {
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).expect("set");
            let read = private_key(&path);
            assert_eq!(read.is_ok(), is_taken, "{mode:o}");
            if let Err(error) = read {
                assert!(error.to_string().contains("has group or world access"), "{error}");
            }
        }
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("set");
        std::fs::write(&path, "no key").expect("written");
        assert!(private_key(&path).expect_err("no key").to_string().contains("no unencrypted key"));
        assert!(certificates(&path).expect_err("no certificate").to_string().contains("no certificate"));
    }
}

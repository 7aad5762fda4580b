//! The archive: the binary with the files that a user wants beside it, in a folder of its own.

use std::path::Path;

use super::files::{copy, make_folder, output, write};
use super::notices;
use super::release::Release;
use crate::shell::{command, root};

/// What lies beside the binary.
const DOCUMENTS: [&str; 3] = ["CHANGELOG.md", "LICENSE", "README.md"];

/// Makes the archive in `out` and returns its name.
pub(super) fn make(
    release: &Release,
    binary: &Path,
    notices: &str,
    staging: &Path,
    out: &Path,
) -> Result<String, String> {
    let folder = staging.join(release.folder());
    make_folder(&folder)?;
    copy(binary, &folder.join("longshore"))?;
    for name in DOCUMENTS {
        copy(&root().join(name), &folder.join(name))?;
    }
    write(&folder.join(notices::NAME), notices)?;
    let name = release.archive();
    pack(release, staging, &release.folder(), &out.join(&name))?;
    Ok(name)
}

/// Packs what lies in a folder under one name. The bytes tell nothing of the machine: files are sorted, belong to root,
/// have the usual permissions and the time of the release.
pub(super) fn pack(release: &Release, folder: &Path, name: &str, archive: &Path) -> Result<(), String> {
    let mut tar = command("tar");
    tar.arg("--create").arg("--file").arg(archive).arg("--directory").arg(folder);
    tar.args(["--format=gnu", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.args(["--mode=u+rwX,go+rX,go-w", "--use-compress-program=gzip --no-name --best"]);
    tar.arg(format!("--mtime=@{}", release.time_s)).arg(name);
    // The names in the archive are compared as bytes.
    output(tar.env("LC_ALL", "C")).map(|_| ())
}

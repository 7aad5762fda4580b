//! The Debian package: an `ar` archive of two `tar` archives, one of files to install and one that describes them.
//!
//! It is put together without `dpkg-deb`, so that it has the same bytes where it is made on another distribution.

use std::path::Path;

use super::archive::pack;
use super::files::{bytes, copy, make_folder, output, write};
use super::needs::Needs;
use super::notices;
use super::release::{Release, VERSION};
use crate::shell::{command, root};

/// The members of a package, in the order that `dpkg` asks for.
const MEMBERS: [&str; 3] = ["debian-binary", "control.tar.gz", "data.tar.gz"];

/// Makes the package in `out` and returns its name.
pub(super) fn make(
    release: &Release,
    binary: &Path,
    needs: &Needs,
    notices: &str,
    staging: &Path,
    out: &Path,
) -> Result<String, String> {
    let [version, control, data] = MEMBERS;
    let installed = staging.join("data");
    // Where each file goes, and the file of the repository that it is; the licence has the name that Debian gives it.
    let documents = [("README.md", "README.md"), ("CHANGELOG.md", "CHANGELOG.md"), ("copyright", "LICENSE")];
    let programs = installed.join("usr/bin");
    let texts = installed.join("usr/share/doc/longshore");
    make_folder(&programs)?;
    make_folder(&texts)?;
    copy(binary, &programs.join("longshore"))?;
    let mut installed_bytes = bytes(binary)?;
    for (name, source) in documents {
        let source = root().join(source);
        copy(&source, &texts.join(name))?;
        installed_bytes += bytes(&source)?;
    }
    write(&texts.join(notices::NAME), notices)?;
    installed_bytes += notices.len() as u64;
    let described = staging.join("control");
    make_folder(&described)?;
    write(&described.join("control"), &control_file(release, needs, installed_bytes))?;

    // The version of the format of packages.
    write(&staging.join(version), "2.0\n")?;
    pack(release, &described, ".", &staging.join(control))?;
    pack(release, &installed, ".", &staging.join(data))?;
    let name = release.debian_package();
    // D leaves out times and owners, S the table of symbols.
    output(command("ar").arg("rcDS").arg(out.join(&name)).args(MEMBERS).current_dir(staging))?;
    Ok(name)
}

/// What `dpkg` reads of a package before it installs it.
fn control_file(release: &Release, needs: &Needs, installed_bytes: u64) -> String {
    format!(
        "\
Package: longshore
Version: {VERSION}
Architecture: {}
Maintainer: The Longshore maintainers
Installed-Size: {}
Depends: {}
Section: database
Priority: optional
Description: main-memory database that loads CSV at wire speed
 Longshore loads text in parallel, works on it with SQL and transactions, and
 unloads it again. This package has the program longshore, which is an SQL
 shell and runs statements.
",
        release.debian_architecture,
        installed_bytes.div_ceil(1024),
        needs.debian(),
    )
}

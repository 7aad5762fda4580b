//! `cargo xtask dist --check`: tries a release on systems that have nothing of this one.
//!
//! The archive runs here, in an empty environment. The package is installed into a fresh Debian where `debootstrap` can
//! make one; elsewhere it is unpacked, and runs as the archive does. The image is built where containers run. What could
//! not be tried is reported with the reason.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::SUMS;
use super::container::{self, suite};
use super::files::{at, make_folder, output, remove, write};
use super::needs::Needs;
use super::release::Release;
use crate::shell::{command, is_installed};

/// A text with a delimiter and a line break in quotes, and a field without a value.
const SALES: &str = "id,customer\n1,\"Anna, B.\"\n2,\"Line\nbreak\"\n3,\n";

/// What the session of a trial prints when it has loaded [`SALES`].
const ANSWER: &str = "n,total\n3,6\n";

/// The image that is built from the recipe, and removed again.
const IMAGE: &str = "longshore-dist-check";

/// What is tried, and what the program must call itself.
pub(super) struct Trial<'a> {
    pub(super) release: &'a Release,
    /// Where the files of the release lie.
    pub(super) out: &'a Path,
    /// The first line of `longshore --version`.
    pub(super) printed: &'a str,
}

impl Trial<'_> {
    /// Tries everything, within a folder that is empty before and gone afterwards.
    pub(super) fn run(&self, folder: &Path) -> Result<(), String> {
        clear(folder)?;
        make_folder(folder)?;
        output(command("sha256sum").args(["--check", "--strict", SUMS]).current_dir(self.out))?;
        println!("\n{SUMS}: the sums are those of the files");
        println!("{}: {}", self.release.archive(), self.archive(&folder.join("archive"))?);
        println!("{}: {}", self.release.debian_package(), self.package(folder)?);
        println!("{}: {}", container::NAME, self.image(&folder.join("container"))?);
        clear(folder)
    }

    fn archive(&self, folder: &Path) -> Result<String, String> {
        make_folder(folder)?;
        let archive = self.out.join(self.release.archive());
        output(command("tar").arg("--extract").arg("--file").arg(archive).arg("--directory").arg(folder))?;
        self.program_in(folder, &folder.join(self.release.folder()).join("longshore"))?;
        Ok("unpacked; runs in an empty environment".to_owned())
    }

    fn package(&self, folder: &Path) -> Result<String, String> {
        let package = self.out.join(self.release.debian_package());
        let binary = folder.join("archive").join(self.release.folder()).join("longshore");
        let suite = suite(&Needs::of(&binary)?)?;
        let debian = folder.join("debian");
        let missing = match fresh_debian(suite, &debian) {
            Ok(()) => {
                self.installed(&package, &debian)?;
                return Ok(format!("installed into a fresh Debian ({suite}); runs there"));
            }
            Err(reason) => reason,
        };
        if !is_installed("dpkg-deb", "--version") {
            return Ok(format!("SKIPPED: {missing}; no dpkg-deb to unpack it"));
        }
        let unpacked = folder.join("package");
        make_folder(&unpacked)?;
        output(command("dpkg-deb").arg("--extract").arg(&package).arg(&unpacked))?;
        self.program_in(&unpacked, &unpacked.join("usr/bin/longshore"))?;
        Ok(format!("unpacked but not installed ({missing}); runs in an empty environment"))
    }

    /// Installs the package into a Debian; `dpkg` fails if what the package depends on is missing there.
    fn installed(&self, package: &Path, debian: &Path) -> Result<(), String> {
        let name = self.release.debian_package();
        fs::copy(package, debian.join(&name)).map_err(|error| at(package, &error))?;
        write(&debian.join("sales.csv"), SALES)?;
        let within = |program: &str| {
            let mut within = command("chroot");
            within.arg(debian).arg(program).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
            within
        };
        output(within("dpkg").arg("--install").arg(format!("/{name}")))?;
        self.program(&|| within("longshore"), "/sales.csv")
    }

    fn image(&self, folder: &Path) -> Result<String, String> {
        let Some(tool) = ["docker", "podman"].into_iter().find(|tool| is_installed(tool, "info")) else {
            return Ok("SKIPPED: neither docker nor podman runs here".to_owned());
        };
        make_folder(folder)?;
        write(&folder.join("sales.csv"), SALES)?;
        println!("$ {tool} build --file {}", container::NAME);
        output(command(tool).args(["build", "--tag", IMAGE, "--file", container::NAME, "."]).current_dir(self.out))?;
        let data = format!("{}:/data:ro", folder.display());
        let within = || {
            let mut within = command(tool);
            within.args(["run", "--rm", "--volume", &data, IMAGE]);
            within
        };
        let result = self.program(&within, "sales.csv");
        output(command(tool).args(["rmi", IMAGE]))?;
        result.map(|()| format!("built by {tool}; runs in its container"))
    }

    /// Tries a program of this machine without any variable of the environment.
    fn program_in(&self, folder: &Path, program: &Path) -> Result<(), String> {
        write(&folder.join("sales.csv"), SALES)?;
        let bare = || {
            let mut bare = command(&program.display().to_string());
            bare.env_clear().current_dir(folder);
            bare
        };
        self.program(&bare, "sales.csv")
    }

    /// Asks the program that `start` starts for its version, and has it load a CSV file.
    fn program(&self, start: &dyn Fn() -> Command, sales: &str) -> Result<(), String> {
        expect(start().arg("--version"), &format!("{}\n", self.printed))?;
        let load = format!("COPY sales FROM '{sales}' (HEADER true)");
        let mut session = start();
        session.args(["--format", "csv", "--command", "CREATE TABLE sales (id INTEGER, customer TEXT)"]);
        session.args(["--command", &load]);
        session.args(["--command", "SELECT count(*) AS n, sum(id) AS total FROM sales"]);
        expect(&mut session, ANSWER)
    }
}

/// Runs a command that must print this.
fn expect(command: &mut Command, printed: &str) -> Result<(), String> {
    let found = output(command)?;
    if found == printed { Ok(()) } else { Err(format!("{command:?} printed {found:?}, not {printed:?}")) }
}

/// Makes a Debian with nothing but what every Debian has; otherwise the reason why not.
fn fresh_debian(suite: &str, folder: &Path) -> Result<(), String> {
    if !is_installed("debootstrap", "--version") {
        return Err("debootstrap is not installed".to_owned());
    }
    if output(command("id").arg("--user"))?.trim_end() != "0" {
        return Err("debootstrap needs root".to_owned());
    }
    println!("$ debootstrap --variant=minbase {suite}");
    output(command("debootstrap").args(["--variant=minbase", suite]).arg(folder)).map(|_| ())
}

/// Removes a folder, unless something is mounted in it: that would be emptied too.
fn clear(folder: &Path) -> Result<(), String> {
    let Ok(folder) = folder.canonicalize() else { return Ok(()) };
    let mounts = fs::read_to_string("/proc/mounts").map_err(|error| format!("/proc/mounts: {error}"))?;
    let mut points = mounts.lines().filter_map(|line| line.split(' ').nth(1));
    match points.find(|point| Path::new(point).starts_with(&folder)) {
        Some(point) => Err(format!("{point} is mounted: unmount it, then try again")),
        None => remove(&folder),
    }
}

//! `cargo xtask dist`: what a release consists of, in one folder.
//!
//! The binary is built with the profile `dist`, which strips it. From it come an archive, a Debian package and a recipe
//! for a container image, with the checksums of all three. The same binary gives the same bytes wherever they are made:
//! names are sorted, and times are that of the commit. `--check` tries them on clean systems.
//!
//! Not here: what `longshore --version` prints (the build script of `longshore-cli`), publishing.

mod archive;
mod check;
mod container;
mod debian;
mod files;
mod needs;
mod notices;
mod release;

use std::path::{Path, PathBuf};

use crate::shell::{capture, cargo, command, root, run, target};
use check::Trial;
use files::{output, remove, renew, write};
use needs::Needs;
use release::{Release, VERSION};

/// The file of the checksums.
const SUMS: &str = "SHA256SUMS";

/// What the command line asks for.
#[derive(Debug)]
struct Options {
    target: PathBuf,
    check: bool,
}

/// Builds, packages, and tries what was made if the arguments ask for it.
///
/// # Errors
///
/// The first failure.
pub(crate) fn main(arguments: &[&str]) -> Result<(), String> {
    let options = options(arguments)?;
    let release = Release::of_this_machine()?;
    let binary = build(&options.target)?;
    let printed = printed_version(&binary)?;
    let out = options.target.join("dist-out");
    let made = package(&release, &binary, &out)?;
    println!("\n{printed}, in {}:", out.display());
    for name in &made {
        println!("{:>10}  {name}", files::size(&out.join(name))?);
    }
    if printed.contains("-dirty") {
        println!("The tree has changes that are not committed: do not publish these files.");
    }
    if options.check {
        let trial = Trial { release: &release, out: &out, printed: &printed };
        trial.run(&options.target.join("dist-check"))?;
    }
    Ok(())
}

fn options(arguments: &[&str]) -> Result<Options, String> {
    // Cargo starts at the root, and takes a relative CARGO_TARGET_DIR from there.
    let mut options = Options { target: root().join(target()), check: false };
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        match argument {
            "--check" => options.check = true,
            "--target-dir" => {
                let folder = rest.next().ok_or("--target-dir needs a folder")?;
                options.target =
                    std::path::absolute(folder).map_err(|error| format!("--target-dir {folder:?}: {error}"))?;
            }
            other => return Err(format!("dist does not know {other:?}; it takes --check and --target-dir DIR")),
        }
    }
    Ok(options)
}

/// Builds the binary of a release.
fn build(target: &Path) -> Result<PathBuf, String> {
    let mut build = cargo(&["build", "--locked", "--profile", "dist", "-p", "longshore-cli", "--target-dir"]);
    run(build.arg(target))?;
    Ok(target.join("dist/longshore"))
}

/// What `longshore --version` prints. It must name this version, and HEAD if it names a commit.
fn printed_version(binary: &Path) -> Result<String, String> {
    let printed = output(command(&binary.display().to_string()).arg("--version"))?.trim_end().to_owned();
    let number = format!("longshore {VERSION}");
    let build = printed
        .strip_prefix(&number)
        .ok_or_else(|| format!("the binary calls itself {printed:?}, and this is version {VERSION}"))?;
    if let Some(build) = build.strip_prefix(" (") {
        let head = capture(command("git").args(["rev-parse", "HEAD"]))?.stdout;
        let commit = build.split([',', '-']).next().unwrap_or_default();
        if !head.starts_with(commit) {
            return Err(format!("the binary calls itself {printed:?}, and HEAD is {}", head.trim_end()));
        }
    }
    Ok(printed)
}

/// Makes the folder `out` anew from a binary; returns the names of its files.
fn package(release: &Release, binary: &Path, out: &Path) -> Result<Vec<String>, String> {
    let needs = Needs::of(binary)?;
    let notices = notices::text()?;
    renew(out)?;
    // Within `out`, so that nothing is left behind elsewhere if a step fails.
    let staging = out.join("staging");
    let mut made = vec![
        archive::make(release, binary, &notices, &staging.join("archive"), out)?,
        debian::make(release, binary, &needs, &notices, &staging.join("debian"), out)?,
        container::make(release, &needs, out)?,
    ];
    remove(&staging)?;
    made.sort();
    let sums = output(command("sha256sum").args(&made).current_dir(out))?;
    write(&out.join(SUMS), &sums)?;
    made.push(SUMS.to_owned());
    Ok(made)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::files::make_folder;
    use super::*;

    /// A folder of one test, removed when the test has passed.
    fn within(test: &str, body: impl FnOnce(&Path)) {
        let folder = std::env::temp_dir().join(format!("longshore-dist-{test}-{}", std::process::id()));
        renew(&folder).expect("made");
        body(&folder);
        remove(&folder).expect("removed");
    }

    /// A program like the one of a release: made by rustc and stripped.
    fn program(folder: &Path) -> PathBuf {
        let program = folder.join("program");
        let unstripped = std::env::current_exe().expect("the test runs");
        output(command("strip").arg("-o").arg(&program).arg(unstripped)).expect("stripped");
        program
    }

    fn tool(program: &str, arguments: &[&str], folder: &Path) -> String {
        output(command(program).args(arguments).current_dir(folder)).expect("it succeeds")
    }

    #[test]
    fn options_are_read() {
        assert!(!options(&[]).expect("valid").check);
        let given = options(&["--target-dir", "elsewhere", "--check"]).expect("valid");
        assert!(given.check && given.target.is_absolute() && given.target.ends_with("elsewhere"));
        assert!(options(&["--target-dir"]).is_err());
        assert!(options(&["nonsense"]).is_err());
    }

    #[test]
    fn a_release_is_complete() {
        let release = Release::of_this_machine().expect("a machine that releases are for");
        within("complete", |folder| {
            let out = folder.join("out");
            let made = package(&release, &program(folder), &out).expect("packaged");
            let mut there: Vec<String> = fs::read_dir(&out)
                .expect("the folder")
                .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
                .collect();
            there.sort();
            let mut expected =
                vec!["Containerfile".to_owned(), SUMS.to_owned(), release.archive(), release.debian_package()];
            expected.sort();
            assert_eq!(there, expected);
            assert_eq!(made.len(), expected.len());

            let top = release.folder();
            let listed = tool("tar", &["--list", "--file", &release.archive()], &out);
            let listed: Vec<&str> = listed.lines().collect();
            let names = ["", "CHANGELOG.md", "LICENSE", "README.md", "THIRD-PARTY-NOTICES.txt", "longshore"]
                .map(|name| format!("{top}/{name}"));
            assert_eq!(listed, names);

            // A Debian package is an archive of these members, in this order.
            assert_eq!(
                tool("ar", &["t", &release.debian_package()], &out),
                "debian-binary\ncontrol.tar.gz\ndata.tar.gz\n"
            );
            let inside = folder.join("inside");
            make_folder(&inside).expect("made");
            let package = out.join(release.debian_package()).display().to_string();
            tool("ar", &["x", &package], &inside);
            assert_eq!(tool("cat", &["debian-binary"], &inside), "2.0\n");
            let control = tool("tar", &["--extract", "--to-stdout", "--file=control.tar.gz", "./control"], &inside);
            assert!(control.contains("\nDepends: libc6 (>= 2."), "{control}");
            let data = tool("tar", &["--list", "--verbose", "--numeric-owner", "--file=data.tar.gz"], &inside);
            let program = data.lines().find(|line| line.ends_with(" ./usr/bin/longshore")).expect("the program");
            assert!(program.starts_with("-rwxr-xr-x 0/0 "), "{program}");

            tool("sha256sum", &["--check", "--strict", SUMS], &out);
        });
    }

    #[test]
    fn a_release_can_be_made_again() {
        let release = Release::of_this_machine().expect("a machine that releases are for");
        within("again", |folder| {
            let program = program(folder);
            let sums = ["a", "b"].map(|name| {
                let out = folder.join(name);
                package(&release, &program, &out).expect("packaged");
                fs::read_to_string(out.join(SUMS)).expect("written")
            });
            assert_eq!(sums[0], sums[1]);
        });
    }
}

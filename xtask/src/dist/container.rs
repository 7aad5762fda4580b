//! The recipe for a container image: a small Debian with the binary of the archive, run by a user who is not root.

use std::path::Path;

use super::files::write;
use super::needs::{Glibc, Needs};
use super::release::Release;

/// The recipe's name, as `docker` and `podman` know it.
pub(super) const NAME: &str = "Containerfile";

/// Releases of Debian and the versions of their C library, oldest first.
const SUITES: [(&str, &str); 2] = [("bookworm", "2.36"), ("trixie", "2.41")];

/// Writes the recipe to `out`, beside the archive that it takes, and returns its name.
pub(super) fn make(release: &Release, needs: &Needs, out: &Path) -> Result<String, String> {
    write(&out.join(NAME), &recipe(&release.archive(), &release.folder(), suite(needs)?))?;
    Ok(NAME.to_owned())
}

/// The oldest Debian that can run a binary.
pub(super) fn suite(needs: &Needs) -> Result<&'static str, String> {
    for (suite, glibc) in SUITES {
        if Glibc::read(glibc)? >= needs.glibc {
            return Ok(suite);
        }
    }
    Err(format!("the binary needs glibc {}, and no known Debian has it: build on an older system", needs.glibc))
}

fn recipe(archive: &str, folder: &str, suite: &str) -> String {
    format!(
        "\
# Build:  docker build --tag longshore --file {NAME} .
# Run:    docker run --rm --interactive --tty --volume \"$PWD\":/data longshore
FROM debian:{suite}-slim AS archive
ADD {archive} /

FROM debian:{suite}-slim
COPY --from=archive /{folder}/longshore /usr/local/bin/longshore
RUN useradd --create-home --uid 1000 longshore
USER longshore
WORKDIR /data
ENTRYPOINT [\"longshore\"]
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_debian_that_will_do_is_taken() {
        let suite = |text| suite(&Needs { glibc: Glibc::read(text).expect("a version"), libgcc: true });
        assert_eq!(suite("2.34"), Ok("bookworm"));
        assert_eq!(suite("2.36"), Ok("bookworm"));
        assert_eq!(suite("2.38"), Ok("trixie"));
        assert!(suite("3.0").is_err());
    }
}

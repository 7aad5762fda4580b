#!/usr/bin/env bash
# Tests longshore-csv on emulated ARM: builds it with Debian's rustc (it has a standard library for aarch64) and runs it
# under qemu's user emulation. Emulated time means nothing; only results do.
#   scripts/neon-test.sh             install what is missing (as root), build, test
#   scripts/neon-test.sh --install   only install
#   scripts/neon-test.sh -p longshore-storage --test storage   other tests
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(rustc-web libstd-rust-web-dev:arm64 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static
    libc6:arm64 libgcc-s1:arm64)
std=/usr/lib/rustlib/aarch64-unknown-linux-gnu/lib
rustc=/usr/bin/rustc

installed() {
    [ -x "$rustc" ] && [ -d "$std" ] && [ -e /lib/ld-linux-aarch64.so.1 ] &&
        command -v aarch64-linux-gnu-gcc > /dev/null && command -v qemu-aarch64-static > /dev/null
}

if ! installed; then
    if [ "$(id -u)" != 0 ]; then
        echo "neon-test: these packages are missing, and only root may install them: ${packages[*]}" >&2
        exit 1
    fi
    export DEBIAN_FRONTEND=noninteractive
    dpkg --add-architecture arm64
    apt-get update -qq
    apt-get install -qq --yes --no-install-recommends "${packages[@]}" > /dev/null
    installed || { echo "neon-test: the packages do not hold what was expected" >&2; exit 1; }
fi
if [ "${1:-}" = --install ]; then
    exit 0
fi

# The normal cargo with the other compiler: what rust-version in Cargo.toml asks for is checked by cargo itself.
export RUSTC="$rustc" RUSTUP_TOOLCHAIN="${RUSTUP_TOOLCHAIN:-}"
[ -n "$RUSTUP_TOOLCHAIN" ] || unset RUSTUP_TOOLCHAIN
unset RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTFLAGS
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
# Without -L /usr/aarch64-linux-gnu: that folder's older loader would be paired with the libc of libc6:arm64, and the
# first new thread would hang.
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=qemu-aarch64-static
# Of tests that push much through the scan, a part: each instruction is emulated.
export LONGSHORE_TEST_SHARE=8
"$rustc" --version
on_arm() {
    # Most of the time goes into compiling the tests, not into running them.
    local config=(--config profile.dev.debug=false --config profile.dev.package.longshore-csv.opt-level=1)
    cargo "${config[@]}" "$1" --locked --target aarch64-unknown-linux-gnu --target-dir "${CARGO_TARGET_DIR:-target}/neon" "${@:2}"
}
if [ $# -gt 0 ]; then
    on_arm test "$@"
    exit
fi
# All of the crate that has code of its own for ARM. Storage has none: what it compiles for instruction sets runs there as the baseline
# does, which its tests take on every machine; so that it compiles is all that is asked of it. The load calls the same kernels, and
# would need C libraries for ARM.
on_arm test -p longshore-csv --lib --test csv
on_arm check -p longshore-storage

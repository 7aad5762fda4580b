#!/usr/bin/env bash
# Tests the crates below the engine on emulated ARM: builds them with Debian's rustc (it has a standard library
# for aarch64) and runs them under qemu's user emulation. Emulated time means nothing; only results do.
#   scripts/neon-test.sh             install what is missing (as root), build, test
#   scripts/neon-test.sh --install   only install
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
emulated() {
    # Most of the time goes into compiling the tests, not into running them.
    local package config=(--config profile.dev.debug=false)
    for package in longshore-csv longshore-storage; do
        config+=(--config "profile.dev.package.$package.opt-level=1")
    done
    cargo "${config[@]}" test --locked --target aarch64-unknown-linux-gnu --target-dir "${CARGO_TARGET_DIR:-target}/neon" "$@"
}
if [ $# -gt 0 ]; then
    emulated "$@"
    exit
fi
# All of the crate that has code of its own for ARM, and of storage what lies in memory as it lies there. The rest says
# nothing about ARM that these do not: the load calls the same kernels, and would need C libraries for ARM; an emulator
# keeps the memory order of the machine it runs on, so that histories of threads would only take long, as would tens of
# thousands of crashes; estimates, and how much memory is taken, are the same everywhere. One command, because each would compile the dependencies again with the features that its crates ask for.
skipped=()
for test in alter column_bytes conflict distinct_counts doors durable foreign_keys freed_memory history:: index_bulk isolation \
    locks log_ model:: native_damage old_readers precision read_committed redo_ snapshot stress truncate; do
    skipped+=(--skip "$test")
done
emulated -p longshore-csv -p longshore-storage --lib --test csv --test storage -- "${skipped[@]}"

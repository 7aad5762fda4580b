#!/usr/bin/env bash
# Runs PostgreSQL's regression files on PostgreSQL and on Longshore, and says how many statements agree. The files come
# with the source package of Debian, which this brings into target/; PostgreSQL itself must be installed.
#   scripts/postgres-regression.sh [FILE,...]   all files, or those that are named; what differs goes to target/regression
#   scripts/postgres-regression.sh --fetch      only bring them
set -euo pipefail
cd "$(dirname "$0")/.."

mirrors=(http://deb.debian.org/debian http://deb.debian.org/debian-security)
pools=(pool/main/p pool/updates/main/p)
folder=target/postgres

version=$(ls /usr/lib/postgresql | sort -n | tail -1)
release=$("/usr/lib/postgresql/$version/bin/postgres" --version | grep -o '[0-9]*\.[0-9]*' | head -1)
source=$folder/postgresql-$release
if [ ! -d "$source/src/test/regress" ]; then
    mkdir -p "$folder"
    for index in 0 1; do
        url=${mirrors[$index]}/${pools[$index]}/postgresql-$version/postgresql-${version}_$release.orig.tar.bz2
        curl --fail --silent --location --output "$folder/source.tar.bz2" "$url" && break
    done
    tar --extract --bzip2 --file "$folder/source.tar.bz2" --directory "$folder" --wildcards '*/src/test/regress/*'
    rm "$folder/source.tar.bz2"
fi
if [ "${1:-}" = --fetch ]; then
    exit 0
fi
export LONGSHORE_REGRESSION=$PWD/$source/src/test/regress LONGSHORE_REGRESSION_REPORT=$PWD/target/regression
if [ $# -gt 0 ]; then
    export LONGSHORE_REGRESSION_FILES=$1
fi
cargo test --workspace --test witness regression:: -- --nocapture

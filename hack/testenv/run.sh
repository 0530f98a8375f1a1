#!/usr/bin/env bash
# Starts one environment by hand; --help tells the options.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
manifest="$here/Cargo.toml"
cargo build --quiet --manifest-path "$manifest" --bin testenv
# Not "cargo run": it sets variables, from which a cargo in the command would conclude that it must build anew.
target=$(cargo metadata --format-version 1 --no-deps --manifest-path "$manifest" |
    sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
exec "$target/debug/testenv" "$@"

#!/usr/bin/env bash
# Starts one environment by hand; --help tells the options.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec cargo run --quiet --manifest-path "$here/Cargo.toml" --bin testenv -- "$@"

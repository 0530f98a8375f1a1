#!/usr/bin/env bash
# Starts one environment by hand, or tells the variables of the one that runs.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
manifest="$here/Cargo.toml"
target=$(cargo metadata --format-version 1 --no-deps --manifest-path "$manifest" |
  sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
env_file="$target/testenv.env"

if [[ $* == --env ]]; then
  # The file begins with the process that wrote it, and outlives it only if that was killed.
  if [[ -f $env_file ]] && kill -0 "$(sed -n '1s/^# pid //p' "$env_file")" 2>/dev/null; then
    cat "$env_file"
    exit 0
  fi
  echo "testenv: no environment runs; start one in another terminal, such as: hack/testenv/run.sh --neutron" >&2
  # For a shell that evaluates this.
  echo false
  exit 1
fi

# Not "cargo run": it sets variables, from which a cargo in the command would conclude that it must build anew.
cargo build --quiet --manifest-path "$manifest" --bin testenv
exec "$target/debug/testenv" --env-file "$env_file" "$@"

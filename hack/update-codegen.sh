#!/usr/bin/env bash
# Generates the clients and the CRD manifests of every configuration in the repository.
#
#   hack/update-codegen.sh           write what differs from what the sources say
#   hack/update-codegen.sh --check   write nothing, print the difference, exit with 1 if there is one
#
# Everything is rendered before anything is written: after an error all files are what they were.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
  "" | --check) ;;
  -h | --help)
    sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
  *)
    echo "update-codegen.sh: unknown argument '$1'; see --help" >&2
    exit 2
    ;;
esac

if ! command -v cargo >/dev/null; then
  echo "update-codegen.sh: cargo is not installed; Rust 1.89 or newer is needed" >&2
  exit 2
fi

# The stale exit code of one configuration must not hide the others.
code=0
for config in genclient.toml generated/genclient.toml tests/genclient.toml; do
  cargo run --quiet --package genclient -- generate --config "$config" "$@" ||
    { status=$?; [ "$status" -gt "$code" ] && code=$status; }
done
exit "$code"

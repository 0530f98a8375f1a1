#!/usr/bin/env bash
# Shows whether the generated files are what the sources say. Changes nothing; prints the difference and the
# command that fixes it, and exits with 1 where there is one.
#
#   hack/verify-codegen.sh
set -euo pipefail

case "${1:-}" in
  "") exec "$(dirname "${BASH_SOURCE[0]}")/update-codegen.sh" --check ;;
  -h | --help) sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" ;;
  *)
    echo "verify-codegen.sh: unknown argument '$1'; see --help" >&2
    exit 2
    ;;
esac

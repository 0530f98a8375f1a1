#!/usr/bin/env bash
# Shows whether the generated files are what the sources say. Changes nothing; prints the difference
# and the command that mends it, and exits with 1 where there is one.
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/update-codegen.sh" --check

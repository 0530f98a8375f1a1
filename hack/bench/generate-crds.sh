#!/usr/bin/env bash
# Measures the generation of clients and CRDs for the sample types; hack/bench/run.sh calls it.
#
#   generate-crds.sh GENCLIENT TARGET_FOLDER RUNS
#
# The schemas of CRDs exist only in compiled code, so generating them compiles the generated package: once
# with nothing compiled before, and then after a change of the types. Prints one line of JSON a run.
set -euo pipefail
genclient="$1" target="$2" runs="$3"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# timed MEASURE
timed() {
  local begin end
  begin=$(date +%s%N)
  CARGO_TARGET_DIR="$target" "$genclient" generate --config genclient.toml >"$target.log" 2>&1 ||
    { cat "$target.log" >&2; exit 1; }
  end=$(date +%s%N)
  awk -v measure="$1" -v ns=$((end - begin)) 'BEGIN {
    printf "{\"peer\":\"genclient\",\"work\":\"generate with CRDs\",\"measures\":{\"%s\":%.6f}}\n", measure, ns / 1e9
  }'
}

rm -rf "$target"
timed "nothing compiled before s"
for _ in $(seq "$runs"); do
  touch apis/src/samplecrd/v1.rs
  timed "after a change of the types s"
done
timed "without a change s"
rm -rf "$target"

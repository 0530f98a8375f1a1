#!/usr/bin/env bash
# Measures genclient, kube-rs and client-go on the same work, side by side.
#
#   hack/bench/run.sh [--quick | --full] [--runs N] [--only NAME]
#
#   --quick      small numbers, two runs: whether everything works, in about two minutes
#   --full       also a million objects, deployments and pods, and more runs
#   --runs N     so many runs of each (2, 5 or 7 without it)
#   --only NAME  only one part: sync, lister, queue or generate (may be given several times); the
#                last runs of the other parts stay in the table
#
# It builds what it needs, runs the peers in turn, prints a table of medians, and writes
# hack/bench/results.md and hack/bench/results.svg. Needs Rust, Go 1.26 or newer, and a machine
# that does nothing else. Single runs are kept in hack/bench/out/runs.jsonl.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"

size=normal
only=""
wanted_runs=""
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) size=quick ;;
    --full) size=full ;;
    --runs)
      [[ "${2:-}" =~ ^[1-9][0-9]*$ ]] || { echo "run.sh: --runs takes a number" >&2; exit 2; }
      wanted_runs="$2"
      shift
      ;;
    --only)
      case "${2:-}" in
        sync | lister | queue | generate) only="$only $2" ;;
        *) echo "run.sh: --only takes sync, lister, queue or generate" >&2; exit 2 ;;
      esac
      shift
      ;;
    -h | --help) sed -n '2,15s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "run.sh: unknown argument '$1'; see --help" >&2; exit 2 ;;
  esac
  shift
done
for tool in cargo go; do
  command -v "$tool" >/dev/null || { echo "run.sh: $tool is not installed" >&2; exit 2; }
done

case "$size" in
  quick) runs=2 pause=0 counts="2000 10000" large="" updates=20000 shapes="" milliseconds=50 keys=100000 kinds="1 20" ;;
  normal) runs=5 pause=3 counts="10000 100000" large="" updates=200000 shapes="" milliseconds=300 keys=1000000 kinds="1 1000" ;;
  full) runs=7 pause=3 counts="10000 100000" large="1000000" updates=200000 shapes="deployment pod" milliseconds=500 keys=1000000 kinds="1 1000" ;;
esac
runs="${wanted_runs:-$runs}"

wanted() { [ -z "$only" ] || [[ " $only " == *" $1 "* ]]; }
say() { echo "$(date +%T) $*" >&2; }

out="$here/out"
bin="$out/bin"
mkdir -p "$bin"
say "building the Rust side"
(cd "$root" && cargo build --quiet --release --package genclient-bench --package genclient)
target="${CARGO_TARGET_DIR:-$root/target}/release"
say "building the Go side"
(cd "$here/go" && go build -o "$bin/" ./bench-clientgo \
  k8s.io/code-generator/cmd/{client-gen,deepcopy-gen,informer-gen,lister-gen})

# The last runs of what is not measured now stay.
results="$out/runs.jsonl"
touch "$results"
kept() {
  case "$1" in
    *'"work":"lister '*) ! wanted lister ;;
    *'"work":"queue"'*) ! wanted queue ;;
    *'"work":"generate '*) ! wanted generate ;;
    *) ! wanted sync ;;
  esac
}
earlier="$(cat "$results")"
while IFS= read -r line; do
  if [ -n "$line" ] && kept "$line"; then printf '%s\n' "$line"; fi
done <<<"$earlier" >"$results"
server_pid=""
stop_server() {
  [ -z "$server_pid" ] || { kill "$server_pid" && wait "$server_pid"; } 2>/dev/null || true
  server_pid=""
}
trap stop_server EXIT

# start_server SHAPE OBJECTS UPDATES: sets `server` to the address.
start_server() {
  stop_server
  rm -f "$out/server"
  "$target/replay-server" --shape "$1" --objects "$2" --updates "$3" >"$out/server" &
  server_pid=$!
  until [ -s "$out/server" ]; do
    kill -0 "$server_pid" 2>/dev/null || { echo "run.sh: the replay server ended early" >&2; exit 1; }
    sleep 0.1
  done
  read -r server ceiling <"$out/server"
  say "replay server: $2 objects ($1), ceiling $ceiling"
  printf '%s\n' "$2 $1: $ceiling" >>"$out/ceilings"
}

# measure COMMAND…: one run, whose line of measures is kept. The pause before it lets a processor that
# slows down after long work recover, so that no run pays for the one before it.
measure() {
  sleep "$pause"
  "$@" >>"$results"
}

# sync_round SHAPE OBJECTS UPDATES: every peer once, in turn.
sync_round() {
  local common=(--server "$server" --shape "$1" --objects "$2" --updates "$3")
  measure "$target/bench-genclient" sync "${common[@]}"
  measure "$target/bench-kube" "${common[@]}"
  measure "$bin/bench-clientgo" sync "${common[@]}"
  [ "$1" = network ] || return 0
  measure "$target/bench-genclient" sync "${common[@]}" --compact
  measure "$target/bench-genclient" sync "${common[@]}" --paged
  measure "$target/bench-kube" "${common[@]}" --paged
  measure "$bin/bench-clientgo" sync "${common[@]}" --paged
}

if wanted sync; then
  : >"$out/ceilings"
  for count in $counts; do
    start_server network "$count" "$updates"
    for run in $(seq "$runs"); do
      say "sync of $count networks, run $run of $runs"
      sync_round network "$count" "$updates"
    done
  done
  for shape in $shapes; do
    start_server "$shape" 10000 20000
    for run in $(seq "$runs"); do
      say "sync of 10000 ${shape}s, run $run of $runs"
      sync_round "$shape" 10000 20000
    done
  done
  for count in $large; do
    start_server network "$count" 1000
    for run in 1 2 3; do
      say "sync of $count networks, run $run of 3"
      measure "$target/bench-genclient" sync --server "$server" --objects "$count" --updates 1000
    done
  done
  stop_server
fi
if wanted lister; then
  for run in $(seq "$runs"); do
    say "lister, run $run of $runs"
    measure "$target/bench-genclient" lister --milliseconds "$milliseconds"
    measure "$bin/bench-clientgo" lister --milliseconds "$milliseconds"
  done
fi
if wanted queue; then
  for run in $(seq "$runs"); do
    say "queue, run $run of $runs"
    measure "$target/bench-genclient" queue --keys "$keys"
    measure "$bin/bench-clientgo" queue --keys "$keys"
  done
fi
if wanted generate; then
  for count in $kinds; do
    say "generation for $count kinds"
    # The Go generators take minutes for many kinds.
    "$here/generate.sh" "$target/genclient" "$bin" "$here/go" "$count" $((count > 1 && runs > 3 ? 3 : runs)) >>"$results"
  done
fi

"$target/bench-report" --ceilings "$out/ceilings" --table "$here/results.md" --chart "$here/results.svg" "$results"
say "written: hack/bench/results.md, hack/bench/results.svg"

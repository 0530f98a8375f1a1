#!/usr/bin/env bash
# Measures genclient, kube-rs and client-go on the same work, side by side.
#
#   hack/bench/run.sh [--quick | --full] [--runs N] [--only NAME]
#
#   --quick      small numbers, one run: whether everything works, in about three minutes
#   --full       what the README shows, in thirty to fifty minutes; also a million objects, deployments
#                and pods, and the writing of CRDs. Only this writes hack/bench/results.md
#                and the table in the README; the others write to hack/bench/out
#   --runs N     so many runs of each (1, 3 or 5 without it; a real server's objects are read 3 times)
#   --only NAME  only one part: real, sync, lister, queue, fake or generate (may be given several times);
#                the last runs of the other parts stay in the table
#
# It builds what it needs, runs the peers in turn and prints a table of medians. The part `real` starts
# a Kubernetes API server, which the first run builds. Needs Rust, Go 1.26 or newer, and a machine that
# does nothing else. Single runs are kept in hack/bench/out.
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
        real | sync | lister | queue | fake | generate) only="$only $2" ;;
        *) echo "run.sh: --only takes real, sync, lister, queue, fake or generate" >&2; exit 2 ;;
      esac
      shift
      ;;
    -h | --help) sed -n '2,18s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "run.sh: unknown argument '$1'; see --help" >&2; exit 2 ;;
  esac
  shift
done
for tool in cargo go; do
  command -v "$tool" >/dev/null || { echo "run.sh: $tool is not installed" >&2; exit 2; }
done

case "$size" in
  quick)
    runs=1 real_runs=1 pause=0 counts="2000 10000" large="" updates=20000 shapes="" milliseconds=50 keys=100000
    kinds="1 20" real="network=2000 deployment=500 pod=500" writes=50 fake=1000 fake_large=""
    ;;
  normal)
    runs=3 real_runs=2 pause=1 counts="10000 100000" large="" updates=100000 shapes="" milliseconds=300
    keys=1000000 kinds="1 1000" real="network=50000" writes=200 fake=10000 fake_large=""
    ;;
  full)
    runs=5 real_runs=3 pause=1 counts="10000 100000" large="1000000" updates=100000 shapes="deployment pod"
    milliseconds=300 keys=1000000 kinds="1 1000" real="network=50000 deployment=10000 pod=10000" writes=200
    fake=10000 fake_large=100000
    ;;
esac
runs="${wanted_runs:-$runs}" real_runs="${wanted_runs:-$real_runs}"

wanted() { [ -z "$only" ] || [[ " $only " == *" $1 "* ]]; }
say() { echo "$(date +%T) $*" >&2; }

out="$here/out"
bin="$out/bin"
mkdir -p "$bin"
say "building the Rust side"
(cd "$root" && cargo build --quiet --release --package genclient-bench --package genclient --features genclient-bench/jemalloc)
target="${CARGO_TARGET_DIR:-$root/target}/release"
say "building the Go side"
(cd "$here/go" && go build -o "$bin/" ./bench-clientgo \
  k8s.io/code-generator/cmd/{client-gen,deepcopy-gen,informer-gen,lister-gen})

# The last runs of what is not measured now stay.
results="$out/$size.jsonl"
touch "$results" "$out/ceilings"
kept() {
  case "$1" in
    *'"work":"real '*) ! wanted real ;;
    *'"work":"lister '*) ! wanted lister ;;
    *'"work":"queue"'*) ! wanted queue ;;
    *'"work":"fake, '*) ! wanted fake ;;
    *'"work":"generate '*) ! wanted generate ;;
    *) ! wanted sync ;;
  esac
}
earlier="$(cat "$results")"
while IFS= read -r line; do
  if [ -n "$line" ] && kept "$line"; then printf '%s\n' "$line"; fi
done <<<"$earlier" >"$results"
server_pid="" cluster_pid=""
stop_servers() {
  [ -z "$server_pid" ] || { kill "$server_pid" && wait "$server_pid"; } 2>/dev/null || true
  server_pid=""
  # The API server ends with the input of the program that holds it.
  [ -z "$cluster_pid" ] || { exec 9>&- && wait "$cluster_pid"; } 2>/dev/null || true
  cluster_pid=""
}
trap stop_servers EXIT

# start_server SHAPE OBJECTS UPDATES: sets `server` to the address.
start_server() {
  stop_servers
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

# start_cluster SHAPE=COUNT…: a real API server with objects; sets `kubeconfig`.
start_cluster() {
  stop_servers
  rm -f "$out/cluster" "$out/cluster-input"
  mkfifo "$out/cluster-input"
  "$target/bench-cluster" serve "$@" <"$out/cluster-input" >"$out/cluster" &
  cluster_pid=$!
  exec 9>"$out/cluster-input"
  until [ -s "$out/cluster" ]; do
    kill -0 "$cluster_pid" 2>/dev/null || { echo "run.sh: the API server ended early" >&2; exit 1; }
    sleep 0.2
  done
  read -r kubeconfig <"$out/cluster"
  # After so many writes it has garbage to collect.
  sleep $((pause * 10))
}

# measure COMMAND…: one run, whose line of measures is kept. The pause before it lets a processor that
# slows down after long work recover, so that no run pays for the one before it.
measure() {
  sleep "$pause"
  "$@" >>"$results"
}

# real_round SHAPE OBJECTS: every peer once, in turn, without and with managedFields.
real_round() {
  local common=(--kubeconfig "$kubeconfig" --shape "$1" --objects "$2")
  local following=("${common[@]}" --updates "$writes" --writer "$target/bench-cluster")
  measure "$target/bench-genclient" sync "${following[@]}"
  measure "$target/bench-kube" "${following[@]}"
  measure "$target/bench-kube" "${following[@]}" --one-thread
  measure "$bin/bench-clientgo" sync "${following[@]}"
  measure "$target/bench-genclient" sync "${common[@]}" --managed-fields
  measure "$target/bench-kube" "${common[@]}" --managed-fields
  measure "$bin/bench-clientgo" sync "${common[@]}" --managed-fields
}

# sync_round SHAPE OBJECTS UPDATES: every peer once, in turn, without and with managedFields.
sync_round() {
  local common=(--server "$server" --shape "$1" --objects "$2")
  local following=("${common[@]}" --updates "$3")
  measure "$target/bench-genclient" sync "${following[@]}"
  measure "$target/bench-kube" "${following[@]}"
  measure "$target/bench-kube" "${following[@]}" --one-thread
  measure "$bin/bench-clientgo" sync "${following[@]}"
  measure "$target/bench-genclient" sync "${common[@]}" --managed-fields
  measure "$target/bench-kube" "${common[@]}" --managed-fields
  measure "$bin/bench-clientgo" sync "${common[@]}" --managed-fields
  [ "$1" = network ] || return 0
  measure "$target/bench-genclient" sync "${following[@]}" --compact
  measure "$target/bench-genclient" sync "${common[@]}" --paged
  measure "$target/bench-kube" "${common[@]}" --paged
  measure "$bin/bench-clientgo" sync "${common[@]}" --paged
}

if wanted real; then
  say "starting an API server and creating its objects"
  # shellcheck disable=SC2086 # a list of words
  start_cluster $real
  for load in $real; do
    for run in $(seq "$real_runs"); do
      say "real server, ${load#*=} ${load%=*}s, run $run of $real_runs"
      real_round "${load%=*}" "${load#*=}"
    done
  done
  stop_servers
fi
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
    start_server "$shape" 10000 10000
    for run in $(seq "$real_runs"); do
      say "sync of 10000 ${shape}s, run $run of $real_runs"
      sync_round "$shape" 10000 10000
    done
  done
  for count in $large; do
    start_server network "$count" 1000
    for run in 1 2; do
      say "sync of $count networks, run $run of 2"
      measure "$target/bench-genclient" sync --server "$server" --objects "$count" --updates 1000
    done
  done
  stop_servers
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
if wanted fake; then
  for run in $(seq "$real_runs"); do
    say "the fake, run $run of $real_runs"
    # A new server for each run: the objects are created on it. It begins with one object of another kind.
    start_cluster network=1
    measure "$target/bench-fake" --objects "$fake"
    measure "$bin/bench-clientgo" tracker --objects "$fake"
    measure "$bin/bench-clientgo" tracker --objects "$fake" --managed-fields
    measure "$target/bench-fake" --objects "$fake" --kubeconfig "$kubeconfig"
    stop_servers
  done
  for count in $fake_large; do
    measure "$target/bench-fake" --objects "$count"
  done
fi
if wanted generate; then
  for count in $kinds; do
    say "generation for $count kinds"
    # The Go generators take half a minute for many kinds.
    "$here/generate.sh" "$target/genclient" "$bin" "$here/go" "$count" $((count > 1 || runs < 3 ? 1 : 3)) >>"$results"
  done
  if [ "$size" = full ]; then
    say "generation with CRDs, which compiles the types"
    "$here/generate-crds.sh" "$target/genclient" "$out/crds-target" 3 >>"$results"
  fi
fi

setup() {
  local model kubernetes
  model="$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1 | tr -s ' ')"
  kubernetes="$(sed -n 's|^\tk8s.io/kubernetes v||p' "$root/hack/testenv/go.mod")"
  printf '%s cores (%s), Linux %s, %s, %s, Kubernetes %s, %s' "$(nproc)" "$model" "$(uname -r | cut -d- -f1)" \
    "$(rustc --version | cut -d' ' -f1,2)" "$(go env GOVERSION)" "$kubernetes" "$(date +%F)"
}
report=(--ceilings "$out/ceilings" --set-up "$(setup)")
if [ "$size" = full ]; then
  "$target/bench-report" "${report[@]}" --table "$here/results.md" \
    --readme "$root/README.md" "$results"
  say "written: hack/bench/results.md, the table of README.md"
else
  "$target/bench-report" "${report[@]}" --table "$out/results.md" "$results"
  say "written: hack/bench/out/results.md"
fi

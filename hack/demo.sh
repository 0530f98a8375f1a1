#!/usr/bin/env bash
# The walk-through in one command: starts a Kubernetes control plane, a Neutron and the controller, and creates,
# changes and deletes a Network with kubectl. Shows each command with its output and the controller's log.
#
#   hack/demo.sh          takes about half a minute; the first run builds everything first, about 10 minutes
#   hack/demo.sh --help   this text
#
# Everything it starts listens on the loopback interface only, and is stopped when it ends or on Ctrl-C.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
  "") ;;
  -h | --help)
    sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
  *)
    echo "demo.sh: unknown argument '$1'; see --help" >&2
    exit 2
    ;;
esac

work=$(mktemp -d)
log="$work/controller.log"
# Neither the form of the log, which is read below, nor the cloud is to come from the surroundings.
unset RUST_LOG "${!OS_@}"
shown=0 servers="" controller=""

# Ends what this script started, by its process id, the controller first.
clean_up() {
  local code=$? pid
  trap '' INT TERM
  for pid in $controller $servers; do
    kill -s TERM "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  rm -rf "$work"
  exit "$code"
}
trap clean_up EXIT
trap 'printf "\nstopping\n"; exit 130' INT
trap 'printf "\nstopping\n"; exit 143' TERM

say() { printf '\n# %s\n' "$*"; }

fail() {
  printf '\ndemo.sh: %s\n' "$*" >&2
  tail -n 20 "$work"/*.log >&2
  exit 1
}

# Shows a command and runs it.
show() {
  printf '$ %s\n' "$*"
  "$@" || fail "'$*' failed"
}

# Waits until the controller's log has a line with this text, and shows what is new in the log.
expect() {
  local attempts=0
  until grep -qF "$1" "$log"; do
    kill -0 "$controller" 2>/dev/null || fail "the controller has ended"
    attempts=$((attempts + 1))
    [ "$attempts" -lt 600 ] || fail "the controller did not log '$1' within a minute"
    sleep 0.1
  done
  # The last lines of a step follow within a moment.
  sleep 0.5
  tail -n "+$((shown + 1))" "$log" | sed 's/^[^ ]* */  controller: /'
  shown=$(wc -l <"$log")
}

subnets() {
  command -v curl >/dev/null || return 0
  show curl --silent --show-error "$NEUTRON_URL/v2.0/subnets?fields=name&fields=cidr&fields=gateway_ip"
  echo
}

kubectl() { "$KUBECTL" "$@"; }

say "Building the controller and the servers. The first time this takes about 10 minutes."
# With the package of the servers, it has the dependencies that the tests have compiled.
cargo build --quiet --package samplecrd-controller --package genclient-testenv
hack/testenv/install.sh kubernetes neutron >"$work/install.log"
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')

say "Starting a control plane and a Neutron."
# Each in a process group of its own: Ctrl-C reaches this script, which ends them in order.
set -m
hack/testenv/run.sh --neutron --env-file "$work/env" >"$work/servers.log" 2>&1 &
servers=$!
set +m
while [ ! -f "$work/env" ]; do
  kill -0 "$servers" 2>/dev/null || fail "the servers did not start"
  sleep 0.1
done
# shellcheck source=/dev/null
. "$work/env"

say "Starting the controller. The cluster does not know Networks yet: the controller says so and waits."
printf '$ samplecrd-controller &\n'
set -m
"$target/debug/samplecrd-controller" >"$log" 2>&1 &
controller=$!
set +m
expect "waiting until it appears"

say "Now the cluster learns about them, and the controller starts its workers."
show kubectl apply -f generated/samplecrd/crds/networks.samplecrd.k8s.io.yaml
expect "started workers"

say "A Network is created, and Neutron has it."
show cat controller/example/example-network.yaml
show kubectl apply -f controller/example/example-network.yaml
expect "created network in the provider"
show kubectl get network
show kubectl describe network example-network
subnets

say "It is changed. The new range has host bits: an event says what it is taken as."
sed 's/192.168.0/192.168.1/' controller/example/example-network.yaml >"$work/changed.yaml"
show kubectl apply -f "$work/changed.yaml"
expect "updated network in the provider"
show kubectl describe network example-network
subnets

say "The API server refuses what cannot work."
printf '$ kubectl patch network example-network --type=merge -p %s\n' '{"spec":{"gateway":"10.0.0.1"}}'
if kubectl patch network example-network --type=merge -p '{"spec":{"gateway":"10.0.0.1"}}'; then
  fail "a gateway outside of the range was accepted"
fi

say "It is deleted, and it is gone from Neutron."
show kubectl delete network example-network
expect "network does not exist in the local cache"
subnets

say "That is all. Stopping everything."

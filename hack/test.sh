#!/usr/bin/env bash
# All checks of the project: format, lints, tests, documentation, generated files.
#
#   hack/test.sh          everything, in numbers that take minutes
#   hack/test.sh --long   the same tests with large numbers: soak, fuzzing, thousands of sequences
#
# What the tests need from outside (a Kubernetes control plane, Neutron, Keystone) is installed by
# hack/testenv/install.sh into the user's cache folder and reused. Without Go or Python the tests that
# need servers are skipped and counted; with CI=true a skipped check is a failure.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
  "") ;;
  --long) export GENCLIENT_LONG=1 ;;
  -h | --help)
    sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
  *)
    echo "test.sh: unknown argument '$1'; see --help" >&2
    exit 2
    ;;
esac

for tool in cargo rustfmt cargo-clippy; do
  if ! command -v "$tool" >/dev/null; then
    echo "test.sh: $tool is not installed; install Rust with rustup" >&2
    exit 2
  fi
done

passed=0 failed=0 skipped=0
summary=()

# Runs one check and remembers how it ended and how long it took.
check() {
  local name=$1 start=$SECONDS
  shift
  printf '\n=== %s\n' "$name"
  if "$@"; then
    passed=$((passed + 1))
    summary+=("$(printf 'ok      %4ds  %s' $((SECONDS - start)) "$name")")
  else
    failed=$((failed + 1))
    summary+=("$(printf 'FAILED  %4ds  %s' $((SECONDS - start)) "$name")")
  fi
}

skip() {
  printf '\n=== %s: skipped, %s\n' "$1" "$2"
  if [ "${CI:-}" = true ]; then
    failed=$((failed + 1))
    summary+=("$(printf 'FAILED         %s (skipped: %s)' "$1" "$2")")
  else
    skipped=$((skipped + 1))
    summary+=("$(printf 'skipped        %s (%s)' "$1" "$2")")
  fi
}

servers() {
  if [ -n "${KUBEBUILDER_ASSETS:-}" ] || command -v go >/dev/null; then
    check "install the control plane" hack/testenv/install.sh kubernetes
  else
    skip "install the control plane" "neither Go nor KUBEBUILDER_ASSETS is there"
  fi
  if command -v python3 >/dev/null; then
    check "install Neutron and Keystone" hack/testenv/install.sh neutron keystone
  else
    skip "install Neutron and Keystone" "Python is not there"
  fi
}

docs() {
  RUSTDOCFLAGS="-D warnings" cargo doc --quiet --workspace --no-deps
}

check "format" cargo fmt --all --check
servers
check "lints" cargo clippy --quiet --workspace --all-targets -- -D warnings
check "tests" cargo test --workspace --no-fail-fast
check "documentation" docs
check "generated files" hack/verify-codegen.sh

printf '\n'
printf '%s\n' "${summary[@]}"
printf '\nchecks: %d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]

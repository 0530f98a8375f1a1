#!/usr/bin/env bash
# All checks of the project: format, scripts, dependencies, lints, tests, documentation, generated files,
# packages, the walk-through.
#
#   hack/test.sh          everything, in numbers that take minutes
#   hack/test.sh --long   the same tests with large numbers: soak, fuzzing, thousands of sequences
#
# What the tests need from outside (a Kubernetes control plane, Neutron, Keystone) is installed by
# hack/testenv/install.sh into the user's cache folder and reused. Without Go or Python the tests that
# need servers are skipped and counted; with CI=true a skipped check is a failure. The tools that it needs
# are installed by hack/tools.sh. Known vulnerabilities are looked for where their database can be reached.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

case "${1:-}" in
  "") ;;
  --long) export GENCLIENT_LONG=1 ;;
  -h | --help)
    sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
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

# In CI everything is built once, and what would make a second build fast takes ten gigabytes.
if [ "${CI:-}" = true ]; then export CARGO_INCREMENTAL=0; fi

passed=0 failed=0 skipped=0 servers=true
summary=()

# Remembers how a check ended and how long it took.
record() {
  if [ "$1" = ok ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  summary+=("$(printf '%-7s %4ds  %s' "$1" $((SECONDS - $3)) "$2")")
}

check() {
  local name=$1 start=$SECONDS
  shift
  printf '\n=== %s\n' "$name"
  if "$@"; then record ok "$name" "$start"; else record FAILED "$name" "$start"; fi
}

# Counts a check that cannot be made: a failure in CI, unless what it needs is beyond the project's reach.
skip() {
  printf '\n=== %s: skipped, %s\n' "$1" "$2"
  if [ "${CI:-}" = true ] && [ "${3:-}" != allowed ]; then
    failed=$((failed + 1))
    summary+=("$(printf 'FAILED         %s (skipped: %s)' "$1" "$2")")
  else
    skipped=$((skipped + 1))
    summary+=("$(printf 'skipped        %s (%s)' "$1" "$2")")
  fi
}

# Every script of the repository.
scripts() {
  git ls-files '*.sh' | xargs "$shellcheck" --severity=warning
}

# Installs servers; exit code 4 means that what they are built with is missing.
install() {
  local name=$1 start=$SECONDS
  shift
  printf '\n=== %s\n' "$name"
  hack/testenv/install.sh "$@"
  case $? in
    0) record ok "$name" "$start" ;;
    4)
      servers=false
      skip "$name" "see above for what is missing"
      ;;
    *) record FAILED "$name" "$start" ;;
  esac
}

# What would be published builds from its package alone. Its dependencies come from the registry, so that this
# builds them anew the first time.
packages() {
  cargo package --quiet --allow-dirty --features k8s-openapi/latest \
    --package genclient --package genclient-fake --package genclient-macros --package genclient-merge \
    --package genclient-runtime
}

docs() {
  RUSTDOCFLAGS="-D warnings" cargo doc --quiet --workspace --no-deps --all-features
}

# Every test that has to be skipped for want of a server adds a line here.
GENCLIENT_SKIPPED=$(mktemp)
export GENCLIENT_SKIPPED
trap 'rm -f "$GENCLIENT_SKIPPED"' EXIT

check "format" cargo fmt --all --check
if shellcheck=$(hack/tools.sh shellcheck); then
  check "scripts" scripts
else
  skip "scripts" "shellcheck is not installed"
fi
if deny=$(hack/tools.sh cargo-deny); then
  check "licences, sources and versions of dependencies" "$deny" --log-level error check bans licenses sources
  if timeout 120 "$deny" --log-level off fetch db 2>/dev/null; then
    check "known vulnerabilities" "$deny" --log-level error check --disable-fetch advisories
  else
    skip "known vulnerabilities" "their database cannot be reached" allowed
  fi
else
  skip "licences, sources and versions of dependencies" "cargo-deny is not installed"
fi
install "install the control plane" kubernetes
install "install Neutron and Keystone" neutron keystone
check "lints" cargo clippy --quiet --workspace --all-targets -- -D warnings
check "tests" cargo test --workspace --no-fail-fast
check "documentation" docs
check "generated files" hack/verify-codegen.sh
check "packages" packages
if $servers; then check "walk-through" hack/demo.sh; else skip "walk-through" "it needs the servers"; fi

printf '\n'
printf '%s\n' "${summary[@]}"
if [ -s "$GENCLIENT_SKIPPED" ]; then
  printf '\ntests that were skipped for want of a server:\n'
  sort "$GENCLIENT_SKIPPED" | sed 's/^/  /'
fi
printf '\nchecks: %d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]

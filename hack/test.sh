#!/usr/bin/env bash
# The checks of the project: format, scripts, dependencies, lints, tests, documentation, generated files, packages,
# the walk-through.
#
#   hack/test.sh                  everything, as CI runs it
#   hack/test.sh PART...          the tests of some parts, for those who work on them: codegen, merge, runtime, fake,
#                                 generated, controller, e2e, outside, parity, testenv
#   hack/test.sh --long [PART...] the same with large numbers (soak, fuzzing, thousands of sequences), every kind of
#                                 Kubernetes, and packages that are built from their archives
#
# What the tests need from outside (a Kubernetes control plane, Neutron, Keystone) is installed by
# hack/testenv/install.sh into the user's cache folder and reused. Without Go or Python the tests that need servers are
# skipped and counted; with CI=true a skipped check is a failure. hack/tools.sh installs the tools. Known
# vulnerabilities are looked for where their database can be reached.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

help() { sed -n '2,15s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

# The packages of a part.
packages_of() {
  case $1 in
    codegen) echo genclient genclient-macros genclient-tests fixture-derive ;;
    merge) echo genclient-merge ;;
    runtime) echo genclient-runtime ;;
    fake) echo genclient-fake ;;
    generated) echo samplecrd-client kubernetes-client golden-client samplecrd-apis ;;
    controller) echo samplecrd-controller neutron-client ;;
    e2e | outside) echo genclient-e2e ;;
    parity) echo genclient-parity ;;
    testenv) echo genclient-testenv genclient-tally ;;
    *) return 1 ;;
  esac
}

parts=()
for argument in "$@"; do
  case $argument in
    --long) export GENCLIENT_LONG=1 ;;
    -h | --help)
      help
      exit 0
      ;;
    *)
      if ! packages_of "$argument" >/dev/null; then
        echo "test.sh: unknown argument '$argument'; see --help" >&2
        exit 2
      fi
      parts+=("$argument")
      ;;
  esac
done

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
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Every test that has to be skipped for want of a server adds a line here.
export GENCLIENT_SKIPPED=$work/skipped
: >"$GENCLIENT_SKIPPED"
# The duration of every compilation that a test starts.
export GENCLIENT_BUILDS=$work/builds

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

# Every script of the repository.
scripts() {
  git ls-files '*.sh' .ci/run | xargs "$shellcheck" --severity=warning
}

# The kinds of Kubernetes are all checked, though the tests are compiled for some of them only.
lints() {
  cargo clippy --quiet --workspace --all-targets --features genclient-e2e/every-kind -- -D warnings
}

# Compiles the tests; the programs are listed in a file: folder of the package, name, program.
build() {
  cargo test --no-run --message-format=json-render-diagnostics "${selection[@]}" >"$work/built.json" || return
  local target='"manifest_path":"\([^"]*\)/Cargo.toml".*"target":.*"name":"\([^"]*\)".*'
  sed -n "s|.*$target\"overflow_checks\":[a-z]*,\"test\":true}.*\"executable\":\"\([^\"]*\)\".*|\1 \2 \3|p" \
    "$work/built.json" | sort -u >"$work/programs"
  [ -s "$work/programs" ]
}

# Runs one test program, with the environment that cargo gives it. Prints its output if it fails.
run_program() {
  local folder=$1 name=$2 program=$3 start=$SECONDS code
  local log=$work/logs/${folder##*/}-$name
  # The time of each test is an unstable option. Compilers that a test starts must not see the variable: most tests
  # remove it, but not trybuild in `ui`.
  local timed=(env RUSTC_BOOTSTRAP=1 "$program" -Zunstable-options --report-time)
  if [ "$name" = ui ]; then timed=("$program"); fi
  # The tests of the controller wait for servers most of the time.
  if [ "$name" = e2e ]; then timed+=(--test-threads 4); fi
  # shellcheck disable=SC2086 # These are words.
  (cd "$folder" && CARGO_MANIFEST_DIR=$folder exec "${timed[@]}" ${GENCLIENT_TEST_ARGS:-}) >"$log" 2>&1 </dev/null
  code=$?
  if [ "$code" -ne 0 ]; then
    # One program's output in one piece.
    { flock 9; printf '\n--- %s %s failed with %d\n' "${folder#"$PWD"/}" "$name" "$code"; cat "$log"; } 9>"$work/print"
    echo "$folder $name" >>"$work/broken"
  fi
  printf '%-7s %4ds  %s %s, %s tests\n' "$([ "$code" -eq 0 ] && echo ok || echo FAILED)" $((SECONDS - start)) \
    "${folder#"$PWD"/}" "$name" "$(grep -c '^test .* \.\.\. ok' "$log")" | tee -a "$work/durations"
}

# Runs all programs, two at a time: while one waits for its servers, the other one has the processors. The slowest begin.
tests() {
  CARGO=$(command -v cargo) LD_LIBRARY_PATH=$(rustc --print target-libdir)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export CARGO LD_LIBRARY_PATH work
  export -f run_program
  mkdir "$work/logs"
  {
    for slow in outside e2e suite cli hostile served clientset ui; do grep " $slow /" "$work/programs"; done
    cat "$work/programs"
  } | awk '!seen[$0]++' | xargs -P 2 -L 1 bash -c 'run_program "$@"' _
  printf '\nthe slowest tests:\n'
  grep -rhE '^test .* <[0-9.]+s>$' "$work/logs" | sed -E 's/^test (.*) \.\.\. .*<([0-9.]+)s>$/\2 \1/' |
    sort -rn | head -20 | awk '{ printf "%7.1fs  %s\n", $1, $2 }'
  if [ -s "$GENCLIENT_BUILDS" ]; then
    printf '\nwhat tests have compiled themselves:\n'
    sort -rn "$GENCLIENT_BUILDS"
  fi
  [ ! -s "$work/broken" ]
}

# What is published has documentation; with the test servers' package its dependencies are those of the tests.
docs() {
  RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps --features genclient-fake/cli,genclient-runtime/cli \
    --package genclient --package genclient-fake --package genclient-macros --package genclient-merge \
    --package genclient-runtime --package genclient-testenv
}

# What would be published has all its files. That it builds from them alone, with dependencies of its own, takes
# minutes, and is a long check.
packages() {
  local verify=(--no-verify)
  if [ -n "${GENCLIENT_LONG:-}" ]; then verify=(); fi
  cargo package --quiet --allow-dirty --features k8s-openapi/latest "${verify[@]}" \
    --package genclient --package genclient-fake --package genclient-macros --package genclient-merge \
    --package genclient-runtime
}

finish() {
  printf '\n'
  if [ -s "$work/durations" ]; then sort -k 2 -rn "$work/durations" && printf '\n'; fi
  printf '%s\n' "${summary[@]}"
  if [ -s "$GENCLIENT_SKIPPED" ]; then
    printf '\ntests that were skipped for want of a server:\n'
    sort "$GENCLIENT_SKIPPED" | sed 's/^/  /'
  fi
  printf '\nin %d s\nchecks: %d passed, %d failed, %d skipped\n' "$SECONDS" "$passed" "$failed" "$skipped"
  [ "$failed" -eq 0 ]
}

# A function, because bash reads a script while it runs, and this one may be edited meanwhile.
main() {
  if [ ${#parts[@]} -gt 0 ]; then
    selection=()
    for part in "${parts[@]}"; do
      for package in $(packages_of "$part"); do selection+=(--package "$package"); done
      if [ "$part" = runtime ]; then selection+=(--features genclient-runtime/cli); fi
    done
    hack/testenv/install.sh all || servers=false
    check "build" build
    [ "$failed" -gt 0 ] || check "tests" tests
    finish
    exit
  fi

  selection=(--workspace)
  if [ -n "${GENCLIENT_LONG:-}" ]; then selection+=(--features genclient-e2e/every-kind); fi

  check "format" cargo fmt --all --check
  if shellcheck=$(hack/tools.sh shellcheck); then
    check "scripts" scripts
  else
    skip "scripts" "shellcheck is not installed"
  fi
  install "install the control plane" kubernetes
  install "install Neutron and Keystone" neutron keystone
  check "lints" lints
  check "build" build
  if [ -s "$work/programs" ]; then check "tests" tests; fi
  check "tests in documentation" cargo test --quiet --doc --workspace
  check "documentation" docs
  check "generated files" hack/verify-codegen.sh
  check "packages" packages
  if $servers; then check "walk-through" hack/demo.sh; else skip "walk-through" "it needs the servers"; fi
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
  finish
}

main
exit

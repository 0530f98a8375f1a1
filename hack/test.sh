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

servers=true
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/logs"

# Every test that has to be skipped for want of a server adds a line here.
export GENCLIENT_SKIPPED=$work/skipped
: >"$GENCLIENT_SKIPPED"
# The duration of every compilation that a test starts.
export GENCLIENT_BUILDS=$work/builds

# Writes down how a check ended, in seconds since the start: of the clock, and of the processors where they are known.
record() {
  local result=$1 name=$2 start=$3 processors=${4:-}
  printf '%-7s %4ds %5s  %s\n' "$result" $((SECONDS - start)) "${processors:+(${processors}s)}" "$name" |
    tee -a "$work/checks"
}

# Runs a check and shows what it prints.
check() {
  local name=$1 start=$SECONDS
  shift
  printf '\n=== %s\n' "$name"
  if "$@"; then record ok "$name" "$start"; else record FAILED "$name" "$start"; fi
}

# Runs a check beside others, and shows what it printed, in one piece, if it fails.
quietly() {
  local name=$1 start=$SECONDS code processors TIMEFORMAT='%U %S'
  local log=$work/logs/${name//[^a-zA-Z0-9]/-}
  shift
  { time "$@" >"$log" 2>&1 </dev/null; } 2>"$log.time"
  code=$?
  processors=$(awk '{ printf "%d", $1 + $2 }' "$log.time")
  {
    flock 9
    if [ "$code" -eq 0 ]; then
      record ok "$name" "$start" "$processors"
    else
      printf '\n--- %s failed with %d\n' "$name" "$code"
      cat "$log"
      record FAILED "$name" "$start" "$processors"
    fi
  } 9>"$work/print"
}

# Counts a check that cannot be made: a failure in CI, unless what it needs is beyond the project's reach.
skip() {
  local result=skipped
  if [ "${CI:-}" = true ] && [ "${3:-}" != allowed ]; then result=FAILED; fi
  record "$result" "$1 (skipped: $2)" "$SECONDS"
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

# Every script of the repository, and the trial of leader election, which nothing else runs.
scripts() {
  git ls-files '*.sh' .ci/run | xargs "$shellcheck" --severity=warning || return
  command -v python3 >/dev/null || return 0
  (export PYTHONDONTWRITEBYTECODE=1 && cd hack/trial && python3 -m unittest -q && ./run.py --help >/dev/null)
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

# Runs a test program, with the environment that cargo gives it.
run_program() {
  local folder=$1 name=$2 program=$3
  # The time of each test is an unstable option. Compilers that a test starts must not see the variable: most tests
  # remove it, but not trybuild in `ui`.
  local timed=(env RUSTC_BOOTSTRAP=1 "$program" -Zunstable-options --report-time)
  if [ "$name" = ui ]; then timed=("$program"); fi
  # The tests of the controller wait for servers most of the time.
  if [ "$name" = e2e ]; then timed+=(--test-threads 4); fi
  # shellcheck disable=SC2086 # These are words.
  (cd "$folder" && CARGO_MANIFEST_DIR=$folder exec "${timed[@]}" ${GENCLIENT_TEST_ARGS:-})
}

# Runs the test programs that are listed on standard input, in this number at a time.
programs() {
  xargs -r -P "$1" -L 1 bash -c 'quietly "${1#"$PWD"/} $2" run_program "$@"' _
}

# The test programs that call cargo, of which one at a time can use the target folder, and those that do not.
compiling=' (outside|hostile|cli|derive|ui|clientset|kubernetes) /'

# Prints what the tests took.
report() {
  printf '\nthe slowest tests:\n'
  grep -rhE '^test .* <[0-9.]+s>$' "$work/logs" | sed -E 's/^test (.*) \.\.\. .*<([0-9.]+)s>$/\2 \1/' |
    sort -rn | head -20 | awk '{ printf "%7.1fs  %s\n", $1, $2 }'
  if [ -s "$GENCLIENT_BUILDS" ]; then
    printf '\nwhat tests have compiled themselves:\n'
    sort -rn "$GENCLIENT_BUILDS"
  fi
}

# Runs the tests in two lanes: what compiles, one thing after the other, and what waits for servers, two programs at a
# time, so that the processors are always busy. The slowest begin. Arguments are functions to call in the first lane.
tests() {
  printf '\n=== tests\n'
  CARGO=$(command -v cargo) LD_LIBRARY_PATH=$(rustc --print target-libdir)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export CARGO LD_LIBRARY_PATH work
  export -f quietly record run_program
  {
    grep -E "$compiling" "$work/programs" | programs 1
    for more in "$@"; do "$more"; done
  } &
  local compilers=$!
  {
    for slow in e2e suite served; do grep " $slow /" "$work/programs"; done
    grep -vE "$compiling" "$work/programs"
  } | awk '!seen[$0]++' | programs 2
  wait "$compilers"
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

# All that compiles, beside the tests.
compile_more() {
  quietly "lints" lints
  quietly "tests in documentation" cargo test --quiet --doc --workspace
  quietly "documentation" docs
  quietly "generated files" hack/verify-codegen.sh
  quietly "packages" packages
  if $servers; then quietly "walk-through" hack/demo.sh; else skip "walk-through" "it needs the servers"; fi
}

dependencies() {
  local deny
  if ! deny=$(hack/tools.sh cargo-deny); then
    skip "licences, sources and versions of dependencies" "cargo-deny is not installed"
    return
  fi
  check "licences, sources and versions of dependencies" "$deny" --log-level error check bans licenses sources
  if timeout 120 "$deny" --log-level off fetch db 2>/dev/null; then
    check "known vulnerabilities" "$deny" --log-level error check --disable-fetch advisories
  else
    skip "known vulnerabilities" "their database cannot be reached" allowed
  fi
}

# Prints how every check ended, the longest first.
finish() {
  report
  printf '\nthe checks, with the time of the clock and of the processors:\n'
  sort -k 2 -rn "$work/checks"
  if [ -s "$GENCLIENT_SKIPPED" ]; then
    printf '\ntests that were skipped for want of a server:\n'
    sort "$GENCLIENT_SKIPPED" | sed 's/^/  /'
  fi
  printf '\nin %d s\nchecks: %d passed, %d failed, %d skipped\n' "$SECONDS" \
    "$(grep -c ^ok "$work/checks")" "$(grep -c ^FAILED "$work/checks")" "$(grep -c ^skipped "$work/checks")"
  ! grep -q ^FAILED "$work/checks"
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
    if [ -s "$work/programs" ]; then tests; fi
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
  check "build" build
  if [ -s "$work/programs" ]; then tests compile_more; else compile_more; fi
  dependencies
  finish
}

main
exit

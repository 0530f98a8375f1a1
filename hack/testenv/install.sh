#!/usr/bin/env bash
# Builds the servers that the tests run against and keeps them in the user's cache.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${GENCLIENT_CACHE:-${XDG_CACHE_HOME:-${HOME:?neither GENCLIENT_CACHE nor HOME is set}/.cache}/genclient}
kubernetes_version=v1.36.4
control_plane="etcd kube-apiserver kube-controller-manager kubectl"

usage() {
  cat <<USAGE
Usage: install.sh [--print] [kubernetes|neutron|keystone|all]...

Builds the test servers (kubernetes when none is named) into
    $cache
and prints the folder of each. What is already there is reused. Needs Go for
kubernetes, Python 3.11 with the venv module for neutron and keystone.

  --print   only print the folders of what is installed; exit code 3 when one is missing
            (exit code 4 of an installation: Go, Python or flock is missing)
  --help    this text

Environment:
  KUBEBUILDER_ASSETS   a folder that already has $control_plane; nothing is built then
  GENCLIENT_CACHE      another folder for the cache
  GENCLIENT_PYTHON     another Python interpreter than python3.11 or python3
USAGE
}

say() { printf 'testenv: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
# Something needed for building is missing: tests skip what needs it, and do not fail.
lacks() { say "$*"; exit 4; }

build_kubernetes() {
  local target=$1 started=$SECONDS name
  command -v go >/dev/null ||
    lacks "building Kubernetes needs Go (https://go.dev/dl); or set KUBEBUILDER_ASSETS to a folder with $control_plane"
  local version=k8s.io/component-base/version
  local stamp="-X $version.gitVersion=$kubernetes_version -X $version.gitMajor=1 -X $version.gitMinor=36"
  # One command for all four would be a little quicker, but would show no progress for minutes.
  for name in $control_plane; do
    say "building $name ($((SECONDS - started)) s so far, about 6 minutes on two cores in all)"
    local package=k8s.io/kubernetes/cmd/$name
    [[ $name == etcd ]] && package=./etcd
    (cd "$here" && CGO_ENABLED=0 go build -mod=readonly -trimpath -buildvcs=false -ldflags "-s -w $stamp" \
      -o "$target/$name" "$package")
  done
}

find_python() {
  local candidate
  for candidate in "${GENCLIENT_PYTHON:-python3.11}" python3; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  lacks "Neutron and Keystone need Python 3.11; set GENCLIENT_PYTHON to its interpreter"
}

# The second argument is the service: its packages are in openstack/SERVICE.txt.
build_venv() {
  local target=$1 service=$2 python
  python=$(find_python)
  "$python" -c 'import ensurepip, venv' 2>/dev/null ||
    lacks "$python has no venv module (on Debian and Ubuntu: the package python3.11-venv)"
  say "installing $service and its packages from PyPI (about 2 minutes)"
  "$python" -m venv "$target/venv"
  # The lists are complete and have the hash of every file. The one package without a wheel is built with the
  # interpreter's own setuptools and the first list: an isolated build would download tools that nobody has checked.
  local list
  for list in build "$service"; do
    "$target/venv/bin/python" -m pip install --quiet --no-input --disable-pip-version-check \
      --require-hashes --no-deps --no-build-isolation --requirement "$here/openstack/$list.txt"
  done
  # The folder is renamed once it is complete, and the scripts in it name the folder that they were made for.
  # Nothing here calls them: everything is started as "python FILE".
  find "$target/venv/bin" -type f -delete
}

build_neutron() {
  build_venv "$1" neutron
  say "creating Neutron's database"
  "$1/venv/bin/python" -W ignore "$here/openstack/neutron_template.py" "$1/neutron.sqlite"
}

build_keystone() {
  build_venv "$1" keystone
  say "creating Keystone's database"
  mkdir "$1/template"
  "$1/venv/bin/python" -W ignore "$here/openstack/keystone_template.py" "$1/template" >"$1/template.log" 2>&1 ||
    { cat "$1/template.log" >&2; return 1; }
}

python_version() {
  local python
  python=$(find_python 2>/dev/null) && "$python" -V || echo none
}

# A short name for what goes into a server: the given files and words, and the functions that build it.
fingerprint() {
  local name=$1 sum=sha256sum
  shift
  command -v "$sum" >/dev/null || sum="shasum -a 256"
  {
    printf '%s\n' "$kubernetes_version" "$control_plane" "$(uname -sm)"
    declare -f "build_$name"
    [[ $name == kubernetes ]] || { declare -f build_venv; python_version; }
    (cd "$here" && cat "$@")
  } | $sum | cut -c 1-12
}

folder_of() {
  case $1 in
    kubernetes)
      echo "$cache/kubernetes-${kubernetes_version#v}-$(fingerprint "$1" go.mod go.sum tools.go etcd/main.go)"
      ;;
    neutron) echo "$cache/neutron-29-$(fingerprint "$1" openstack/build.txt openstack/neutron.txt openstack/neutron_template.py)" ;;
    keystone) echo "$cache/keystone-30-$(fingerprint "$1" openstack/build.txt openstack/keystone.txt openstack/keystone_template.py)" ;;
  esac
}

# The first part of a server that a folder lacks; the file "complete" is written last.
missing_part() {
  local name=$1 folder=$2 parts part
  case $name in
    kubernetes) parts=$control_plane ;;
    neutron) parts="venv/bin/python neutron.sqlite" ;;
    keystone) parts="venv/bin/python template" ;;
  esac
  for part in $parts complete; do
    [[ -e $folder/$part ]] || { echo "$part"; return; }
  done
}

is_installed() { [[ -z $(missing_part "$1" "$2") ]]; }

# Builds into a folder beside the target and renames it. A second installation waits for the lock and finds the
# first one's result. What an interrupted build or a careless hand left is removed under the same lock.
install() {
  local name=$1 target=$2 work
  if ! is_installed "$name" "$target"; then
    command -v flock >/dev/null || lacks "the installation needs flock (package util-linux)"
    mkdir -p "$cache"
    (
      if ! flock --nonblock 9; then
        say "waiting for another installation of $name"
        flock 9
      fi
      is_installed "$name" "$target" && exit 0
      [[ ! -d $target ]] || say "$target lacks $(missing_part "$name" "$target"): installing it again"
      work="$target.incomplete"
      rm -rf "$work" "$target"
      trap 'rm -rf "$work"' EXIT
      trap 'exit 130' INT TERM HUP
      mkdir "$work"
      started=$SECONDS
      "build_$name" "$work" 9>&-
      touch "$work/complete"
      mv "$work" "$target"
      say "installed $name in $((SECONDS - started)) s"
    ) 9>"$cache/.$name.lock"
  fi
  echo "$name $target"
}

# A shell with a trap waits for the part that is running, so that the folder is clean when the script ends.
trap 'exit 130' INT TERM HUP

print_only=false
names=()
for argument in "$@"; do
  case $argument in
    --print) print_only=true ;;
    -h | --help) usage; exit 0 ;;
    kubernetes | neutron | keystone) names+=("$argument") ;;
    all) names+=(kubernetes neutron keystone) ;;
    *) usage >&2; die "unknown argument: $argument" ;;
  esac
done
[[ ${#names[@]} -gt 0 ]] || names=(kubernetes)

missing=false
for name in "${names[@]}"; do
  if [[ $name == kubernetes && -n ${KUBEBUILDER_ASSETS:-} ]]; then
    for binary in $control_plane; do
      [[ -x $KUBEBUILDER_ASSETS/$binary ]] || die "KUBEBUILDER_ASSETS is $KUBEBUILDER_ASSETS, which has no $binary"
    done
    echo "kubernetes $KUBEBUILDER_ASSETS"
    continue
  fi
  folder=$(folder_of "$name")
  if ! $print_only; then
    install "$name" "$folder"
  elif is_installed "$name" "$folder"; then
    echo "$name $folder"
  else
    missing=true
  fi
done
if $missing; then exit 3; fi

#!/usr/bin/env bash
# Measures the generators on equivalent types; hack/bench/run.sh calls it.
#
#   generate.sh GENCLIENT GO_TOOLS GO_MODULE KINDS RUNS
#
# Each run writes into an empty output. Prints one line of JSON a run and side. With more than one
# kind the Go side, which takes minutes, runs at most twice.
set -euo pipefail
genclient="$1" tools="$2" module="$3" kinds="$4" runs="$5"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

rust="$work/rust" go="$work/go"
mkdir -p "$rust/apis/src" "$rust/client" "$go/apis/bench/v1"
cat >"$rust/genclient.toml" <<'END'
command = "generate"

[[client]]
output = "client"
sources = ["apis"]
crds = false
END
for package in apis client; do
  printf '[package]\nname = "bench-%s"\nversion = "0.1.0"\nedition = "2024"\n' "$package" >"$rust/$package/Cargo.toml"
done
{
  printf '//! The kinds.\nuse genclient_runtime::{GenClient, GenClientList, ListMeta, ObjectMeta};\n'
  printf 'genclient_runtime::group_version!("bench.example.com/v1");\n'
  for number in $(seq "$kinds"); do
    printf '\n/// Kind%s is a kind.\n#[derive(Clone, Debug, PartialEq, GenClient)]\npub struct Kind%s {\n    pub metadata: ObjectMeta,\n    pub spec: Kind%sSpec,\n}\n' "$number" "$number" "$number"
    printf '\n/// What is wanted.\n#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]\npub struct Kind%sSpec {\n    pub cidr: String,\n    pub gateway: String,\n}\n' "$number"
    printf '\n/// A list.\n#[derive(Clone, Debug, PartialEq, GenClientList)]\npub struct Kind%sList {\n    pub metadata: ListMeta,\n    pub items: Vec<Kind%s>,\n}\n' "$number" "$number"
  done
} >"$rust/apis/src/lib.rs"

cp "$module/go.mod" "$module/go.sum" "$go/"
sed -i 's|^module .*|module example.com/bench|' "$go/go.mod"
cat >"$go/apis/bench/v1/doc.go" <<'END'
// +k8s:deepcopy-gen=package
// +groupName=bench.example.com

// Package v1 holds the kinds.
package v1
END
{
  printf 'package v1\n\nimport metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"\n'
  for number in $(seq "$kinds"); do
    printf '\n// +genclient\n// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object\n\n// Kind%s is a kind.\ntype Kind%s struct {\n\tmetav1.TypeMeta   `json:",inline"`\n\tmetav1.ObjectMeta `json:"metadata,omitempty"`\n\n\tSpec Kind%sSpec `json:"spec"`\n}\n' "$number" "$number" "$number"
    printf '\n// Kind%sSpec is what is wanted.\ntype Kind%sSpec struct {\n\tCidr    string `json:"cidr"`\n\tGateway string `json:"gateway"`\n}\n' "$number" "$number"
    printf '\n// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object\n\n// Kind%sList is a list.\ntype Kind%sList struct {\n\tmetav1.TypeMeta `json:",inline"`\n\tmetav1.ListMeta `json:"metadata"`\n\n\tItems []Kind%s `json:"items"`\n}\n' "$number" "$number" "$number"
  done
} >"$go/apis/bench/v1/types.go"
cat >"$go/apis/bench/v1/register.go" <<'END'
package v1

import "k8s.io/apimachinery/pkg/runtime/schema"

// SchemeGroupVersion is the group and version of the kinds.
var SchemeGroupVersion = schema.GroupVersion{Group: "bench.example.com", Version: "v1"}

// Resource gives the group and name of a resource.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}
END
: >"$work/header"

go_generators() {
  local input=example.com/bench/apis/bench/v1 output=example.com/bench/client
  "$tools/deepcopy-gen" --go-header-file "$work/header" --output-file zz_generated.deepcopy.go "$input"
  "$tools/client-gen" --go-header-file "$work/header" --clientset-name versioned --input-base example.com/bench/apis \
    --input bench/v1 --output-dir "$go/client/clientset" --output-pkg "$output/clientset"
  "$tools/lister-gen" --go-header-file "$work/header" --output-dir "$go/client/listers" --output-pkg "$output/listers" "$input"
  "$tools/informer-gen" --go-header-file "$work/header" --versioned-clientset-package "$output/clientset/versioned" \
    --listers-package "$output/listers" --output-dir "$go/client/informers" --output-pkg "$output/informers" "$input"
}

# timed PEER FOLDER PATTERN COMMAND…: prints the run, if the command left at least so many files behind.
timed() {
  local peer="$1" folder="$2" pattern="$3" begin end written
  shift 3
  begin=$(date +%s%N)
  "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
  end=$(date +%s%N)
  written=$(find "$folder" -name "$pattern" | wc -l)
  [ "$written" -ge $((3 * kinds)) ] || { echo "generate.sh: $peer wrote only $written files" >&2; exit 1; }
  awk -v peer="$peer" -v kinds="$kinds" -v ns=$((end - begin)) -v files="$written" 'BEGIN {
    printf "{\"peer\":\"%s\",\"work\":\"generate %d kinds\",\"measures\":{\"generation s\":%.6f,\"files\":%d}}\n", peer, kinds, ns / 1e9, files
  }'
}

for run in $(seq "$runs"); do
  rm -rf "$rust/client/src"
  timed genclient "$rust/client" '*.rs' "$genclient" generate --config "$rust/genclient.toml"
  if [ "$kinds" -eq 1 ] || [ "$run" -le 2 ]; then
    rm -rf "$go/client" "$go/apis/bench/v1/zz_generated.deepcopy.go"
    cd "$go"
    timed client-go "$go/client" '*.go' go_generators
  fi
done

#!/usr/bin/env bash
# Measures the command itself: `genclient generate` over the sample types, and over 1,000 kinds of
# which nothing is written the second time. Release build, warm, the best of ten runs.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo build --quiet --release --package genclient
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
genclient="$target/release/genclient"

best() { # best of ten runs of `genclient generate` in this folder, in milliseconds
    local folder=$1 least=999999 start end
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        start=$(date +%s%N)
        (cd "$folder" && "$genclient" generate 2>/dev/null)
        end=$(date +%s%N)
        local took=$(((end - start) / 1000))
        if ((took < least)); then least=$took; fi
    done
    echo "$((least / 1000)).$(printf '%03d' $((least % 1000))) ms"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for kinds in 1 10 100 1000; do
    folder="$scratch/$kinds"
    mkdir -p "$folder/apis/src"
    printf '[package]\nname = "apis"\n' >"$folder/apis/Cargo.toml"
    printf '[[client]]\noutput = "out"\nsources = ["apis"]\n' >"$folder/genclient.toml"
    for ((group = 0; group * 10 < kinds; group++)); do
        echo "pub mod g$group;" >>"$folder/apis/src/lib.rs"
        {
            echo "genclient_runtime::group_version!(\"g$group.example.com/v1\");"
            for ((kind = 0; kind < 10 && group * 10 + kind < kinds; kind++)); do
                echo "#[derive(Clone, Debug, GenClient)]"
                echo "pub struct Kind$kind { pub metadata: ObjectMeta, pub spec: Spec, pub status: Option<Status> }"
            done
        } >"$folder/apis/src/g$group.rs"
    done
done

mkdir -p "$scratch/sample/generated"
cp -r apis genclient.toml "$scratch/sample/"
cp -r generated/samplecrd "$scratch/sample/generated/"
echo "sample types: $(best "$scratch/sample")"
for kinds in 1 10 100 1000; do
    start=$(date +%s%N)
    (cd "$scratch/$kinds" && "$genclient" generate 2>/dev/null)
    end=$(date +%s%N)
    echo "$kinds kinds: $(((end - start) / 1000000)) ms the first time, $(best "$scratch/$kinds") when nothing changes"
done

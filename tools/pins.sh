#!/usr/bin/env bash
# Resolve requirements/*.in again, one under the pins of the other, so that all fit into one environment.
# Usage: tools/pins.sh UV    (UV: the uv executable)
set -euo pipefail
uv=$1
cd "$(dirname "$0")/../requirements"

compile() { # NAME CONSTRAINT...: writes NAME.txt under the pins of the CONSTRAINT files
    local name=$1 args=()
    shift
    for other in "$@"; do args+=(-c "$other.txt"); done
    "$uv" pip compile --quiet --upgrade --python-version 3.11 --no-header --no-annotate \
        "$name.in" -o "$name.txt" "${args[@]}"
    echo "requirements/$name.txt"
}

compile test
compile base test
compile demo test
compile build test
compile torch test
compile mldataforge test torch
compile streaming
compile lint test torch
compile docs test torch lint
compile trainers test torch
compile ray test

# One environment for each set of benchmark peers: they need not fit with the others.
for peer in ../bench/peers/requirements/*.in; do
    others=(torch test)
    case $peer in */streaming.in | */litdata.in | */packed-loaders.in) others=() ;; esac # they want older versions
    compile "${peer%.in}" "${others[@]}"
done

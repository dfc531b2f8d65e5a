#!/bin/sh
# The tour of `make demo`: build a program against the SDK folder, record it, read and replay the recording, then find a
# missing synchronisation. Run by the Makefile with the environment's programs first on PATH.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

say() { printf '\n== %s\n' "$*"; }
step() { printf '$ %s\n' "$*"; "$@"; }
# Not every step is meant to succeed: fail EXPECTED COMMAND... wants exactly that status.
fail() {
    expected=$1
    shift
    status=0
    step "$@" || status=$?
    printf '(exit status %s)\n' "$status"
    [ "$status" = "$expected" ] || { echo "demo: expected exit status $expected" >&2; exit 1; }
}

say "Build a sample program the way it is built on a machine with CANN"
sdk=$(cannery sdk)
# shellcheck disable=SC2086
step ${CC:-cc} -O1 -I"$sdk/include" "$here/pipeline.c" -L"$sdk/lib64" -lascendcl -o pipeline

say "Run it here, without an NPU, and record every runtime call"
step cannery run -o good.cann -- ./pipeline

say "Read the recording"
step cannery show good.cann

say "Execute it again, comparing every return value, output and byte: exit status 0 means the same"
step cannery replay good.cann
step cannery info good.cann

say "A device may run work as late as the program allows. Right programs do not mind; with one wait left out..."
step cannery run --schedule late -o late.cann -- ./pipeline
fail 1 cannery run --schedule late -o bad.cann -- ./pipeline --no-wait

say "What the two recordings do differently (plain diff of two listings)"
cannery show --bare late.cann >good.txt
cannery show --bare bad.cann >bad.txt
fail 1 diff good.txt bad.txt

say "The wrong run replays as well, to the same wrong bytes: it can be debugged anywhere"
step cannery replay bad.cann

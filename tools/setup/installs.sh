#!/bin/sh
# Installs Cannery in every way that it supports, for every Python from 3.11 on that is found here, each in a fresh virtual
# environment, and runs a program under each: a wheel, a wheel below a path with a space, and an editable installation.
# Run by `make installs`; needs a package index and takes about a minute for each Python.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# A copy: an editable installation writes into its sources.
mkdir "$folder/source"
cp -R pyproject.toml README.md CMakeLists.txt recorder replayer runtime shim tools "$folder/source"
find "$folder/source" \( -name '*.so' -o -name __pycache__ \) -prune -exec rm -rf {} +
rm -rf "$folder/source/shim/include"

pythons() {
    for minor in 11 12 13 14 15; do
        command -v "python3.$minor" || true
        for python in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3."$minor".*/bin/python; do
            [ ! -x "$python" ] || echo "$python"
        done
    done
    command -v python3
    echo /usr/bin/python3
}

# try NAME VENV: a program of that environment under the shim, recorded and replayed.
try() {
    trace="$folder/t.cann"
    if ! "$2/bin/cannery" run --force -o "$trace" -- "$2/bin/python" "$root/tests/integration/hosts/client.py" libacl_rt.so \
        >"$folder/out" 2>&1 || ! "$2/bin/cannery" replay "$trace" >>"$folder/out" 2>&1; then
        cat "$folder/out"
        echo "failed: $1" >&2
        exit 1
    fi
    echo "fine: $1"
}

pip() {
    python=$1/bin/python
    shift
    "$python" -m pip --disable-pip-version-check --quiet "$@" >"$folder/out" 2>&1 || {
        cat "$folder/out" >&2
        exit 1
    }
}

install() {
    pip "$1" install "$2" ${3:+"$3"}
}

seen=
number=0
for candidate in $(pythons); do
    # the same interpreter under another name is tried once
    version=$("$candidate" -c 'import sys; sys.version_info >= (3, 11) and print(sys.version.split()[0], "of", sys.base_prefix)' \
        2>/dev/null) || continue
    [ -n "$version" ] || continue
    case "|$seen|" in *"|$version|"*) continue ;; esac
    seen="$seen|$version"
    number=$((number + 1))

    "$candidate" -m venv "$folder/build$number"
    pip "$folder/build$number" wheel --no-deps -w "$folder/wheel$number" "$folder/source"
    "$candidate" -m venv "$folder/with space $number"
    install "$folder/with space $number" "$(echo "$folder/wheel$number"/*.whl)"
    try "Python $version: wheel in a path with a space" "$folder/with space $number"

    install "$folder/build$number" "$folder/source"
    try "Python $version: pip install ." "$folder/build$number"

    "$candidate" -m venv "$folder/editable$number"
    install "$folder/editable$number" -e "$folder/source"
    try "Python $version: pip install -e ." "$folder/editable$number"
done
[ -n "$seen" ] || { echo "no Python from 3.11 on was found" >&2; exit 1; }

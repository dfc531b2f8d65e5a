#!/bin/sh
# Makes or updates a virtual environment with Cannery installed in it. Does nothing when nothing changed.
#
#   tools/setup/environment.sh FOLDER [GROUP...]     groups are dependency groups of pyproject.toml
set -eu

cd "$(dirname "$0")/../.."
folder=$1
shift

python=$(PYTHON="${PYTHON:-python3}" sh tools/setup/check.sh)

# One run at a time: `make -j demo test` shares this folder.
mkdir -p "$folder"
if command -v flock >/dev/null 2>&1; then
    exec 9>"$folder/.lock"
    flock 9
fi

# A folder that another Python made, or that was moved, is made again.
want=$("$python" -c 'import sys; print(sys.version, sys.base_prefix)')
if [ ! -x "$folder/bin/python" ] || [ "$(cat "$folder/.python" 2>/dev/null)" != "$want $PWD/$folder" ]; then
    echo "setting up $folder"
    "$python" -m venv --clear "$folder"
    echo "$want $PWD/$folder" >"$folder/.python"
fi

quiet_pip() {
    "$folder/bin/python" -m pip --disable-pip-version-check --quiet install "$@"
}

# What pip has to fetch: the build's requirements, the project's own, the groups'. CMake only where none is installed.
requirements=$("$folder/bin/python" tools/setup/requirements.py "$@")
command -v cmake >/dev/null 2>&1 || requirements="$requirements
cmake>=3.15"
if [ "$(cat "$folder/.requirements.$*" 2>/dev/null)" != "$requirements" ]; then
    echo "$requirements" >"$folder/.requirements.new"
    quiet_pip -r "$folder/.requirements.new"
    mv "$folder/.requirements.new" "$folder/.requirements.$*"
fi

# The sources that the installed package is made of, by content.
sources=$(find pyproject.toml README.md CMakeLists.txt recorder replayer runtime shim tools \
    -type f ! -name '*.pyc' -exec cksum {} + | sort | cksum)
if [ "$(cat "$folder/.sources" 2>/dev/null)" != "$sources" ]; then
    echo "building and installing cannery"
    PATH="$PWD/$folder/bin:$PATH" quiet_pip --no-build-isolation --no-deps --force-reinstall \
        ${CI:+--config-settings=cmake.define.CANNERY_COMPILE=ON} .
    echo "$sources" >"$folder/.sources"
fi

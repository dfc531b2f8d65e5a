#!/bin/sh
# ruff, mypy --strict, and the checks that generated files are up to date. Run by `make lint` with the venv first on PATH.
set -eu
cd "$(dirname "$0")/../.."

# The folders are installed as cannery.*; mypy and the tests' tools see them so through links (see pyproject.toml).
mkdir -p build/src/cannery
for folder in recorder replayer runtime shim tools; do
    [ -e "build/src/cannery/$folder" ] || ln -s "../../../$folder" "build/src/cannery/$folder"
done

ruff check .
mypy build/src/cannery
python -m cannery.tools.generate.coverage --check docs/coverage.md
python -m cannery.tools.generate.behaviours --check docs/behaviours.md

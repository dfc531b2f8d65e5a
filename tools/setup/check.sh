#!/bin/sh
# Checks what building Cannery needs and prints the path of the Python to use on standard output.
# For each missing thing one line on standard error names it and the package that brings it. Status 1 when any is missing.
#
#   PYTHON=python3.12 CC=clang tools/setup/check.sh
set -u

missing=0

# lack WHAT APT DNF: one line per missing thing, with the package line of this system where it is known.
lack() {
    missing=1
    if command -v apt-get >/dev/null 2>&1; then
        echo "missing: $1. Install it with: apt-get install $2" >&2
    elif command -v dnf >/dev/null 2>&1; then
        echo "missing: $1. Install it with: dnf install $3" >&2
    else
        echo "missing: $1. Debian and Ubuntu: apt-get install $2. Fedora and openEuler: dnf install $3" >&2
    fi
}

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

python=
for candidate in "${PYTHON:-python3}" python3.13 python3.12 python3.11; do
    if new_enough "$candidate"; then
        python=$candidate
        break
    fi
done

compiler=${CC:-}
if [ -z "$compiler" ]; then
    for candidate in cc gcc clang; do
        if command -v "$candidate" >/dev/null 2>&1; then
            compiler=$candidate
            break
        fi
    done
fi
if [ -z "$compiler" ] || ! printf '#include <stdio.h>\n' | $compiler -E - >/dev/null 2>&1; then
    lack "a C compiler with the C library's headers (cc, gcc or clang)" "gcc libc6-dev" "gcc glibc-devel"
fi

if [ -z "$python" ]; then
    lack "Python 3.11 or newer (name one with PYTHON=...)" "python3 python3-dev python3-venv" "python3.11 python3.11-devel"
    exit 1
fi

# The rest is asked of that Python. Answers: its version, "headers" and "libpython" when found, "venv" when it works.
answers=$("$python" - <<'EOF'
import ctypes, pathlib, sys, sysconfig
print("%d.%d" % sys.version_info[:2])
if pathlib.Path(sysconfig.get_paths()["include"], "Python.h").is_file():
    print("headers")
shared = [str(name) for name in sysconfig.get_config_vars("INSTSONAME", "LDLIBRARY") if ".so" in str(name)]
shared.append("libpython%d.%d.so.1.0" % sys.version_info[:2])
folder, triplet = sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("MULTIARCH") or ""
for name in shared:
    for path in (pathlib.Path(folder, name), pathlib.Path(folder, triplet, name)):
        if path.is_file():
            break
    else:
        try:  # the loader's own search path
            ctypes.CDLL(name)
        except OSError:
            continue
    print("libpython")
    break
try:
    import ensurepip, venv
    print("venv")
except ImportError:
    pass
EOF
)
version=$(echo "$answers" | head -n 1)
case $answers in *headers*) ;; *) lack "the headers of Python $version (Python.h)" "python$version-dev" "python$version-devel" ;; esac
case $answers in *libpython*) ;; *)
    lack "a shared libpython$version (for a Python you build yourself: configure --enable-shared)" \
        "libpython$version" "python$version-libs" ;;
esac
case $answers in *venv*) ;; *) lack "the venv module of Python $version" "python$version-venv" "python$version" ;; esac

[ "$missing" = 0 ] || exit 1
command -v "$python"

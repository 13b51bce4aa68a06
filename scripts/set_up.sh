#!/bin/sh
# Makes .venv and finds a Java, once. Says in one line what to do where it may not install something itself.
# Usage: set_up.sh [EXTRA ...]   (extras besides spark, viz and dev)
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
environment=$root/.venv

give_up() { printf 'whimbrel: %s\n' "$1" >&2; exit 2; }

# Runs a command as root where that needs no password; fails quietly where it does.
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then sudo -n "$@"
    else return 1
    fi
}

version_of() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }

# The first interpreter between 3.10 and 3.13; one that can make environments is preferred.
find_python() {
    first=
    for name in "${PYTHON:-python3}" python3.13 python3.12 python3.11 python3.10; do
        case "$(version_of "$name" || true)" in
            3.10 | 3.11 | 3.12 | 3.13) ;;
            *) continue ;;
        esac
        if "$name" -c 'import ensurepip, venv' 2>/dev/null; then echo "$name"; return; fi
        first=${first:-$name}
    done
    echo "$first"
}

install_venv_module() {
    wanted="python$(version_of "$1")-venv"
    echo "Installing $wanted ..." >&2
    { command -v apt-get >/dev/null 2>&1 && as_root env DEBIAN_FRONTEND=noninteractive sh -c \
        "apt-get install -y -q $wanted || { apt-get update -q && apt-get install -y -q $wanted; }" >&2; } ||
        give_up "this Python cannot make environments: run 'apt-get install $wanted' as root, then make again"
}

make_environment() {
    [ -w "$root" ] || give_up "$root cannot be written to: clone to a folder of yours, then make again"
    python=$(find_python)
    [ -n "$python" ] || give_up "no Python 3.10 to 3.13 on PATH: install one, or name it: make PYTHON=/path/to/python3.11 ..."
    "$python" -c 'import ensurepip, venv' 2>/dev/null || install_venv_module "$python"
    echo "Making .venv with Python $(version_of "$python") ..." >&2
    "$python" -m venv "$environment" >&2 ||
        give_up "the environment could not be made in $environment: is the folder writable, and is there room on the disk?"
}

fingerprint() { { cat pyproject.toml constraints.txt; echo "$1 $root"; } | cksum; }

install_packages() {
    extras="spark,viz,dev${1:+,$1}"
    stamp="$environment/.installed-${1:-base}"
    [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(fingerprint "$extras")" ] && return
    echo "Installing whimbrel[$extras] ..." >&2
    "$environment/bin/python" -m pip install --quiet --use-pep517 --disable-pip-version-check -c constraints.txt -e ".[$extras]" >&2 ||
        give_up "pip could not install the packages above: check the network or the package index, then make again"
    fingerprint "$extras" >"$stamp"
}

install_java() {
    echo "No Java 17 or newer found; installing one ..." >&2
    if command -v apt-get >/dev/null 2>&1; then
        as_root env DEBIAN_FRONTEND=noninteractive sh -c '
            try() { apt-get install -y -q --no-install-recommends "$1"; }
            try openjdk-17-jre-headless || { apt-get update -q; try openjdk-17-jre-headless; } ||
                try openjdk-21-jre-headless || try default-jre-headless' >&2
    elif command -v dnf >/dev/null 2>&1; then
        as_root sh -c 'dnf install -y -q java-17-openjdk-headless || dnf install -y -q java-21-openjdk-headless' >&2
    elif command -v brew >/dev/null 2>&1; then
        brew install --quiet openjdk@17 >&2
    else
        return 1
    fi
}

ensure_java() {
    "$environment/bin/python" scripts/find_java.py >/dev/null 2>&1 && return
    install_java || give_up "Spark needs Java 17 or newer: install it (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME"
    "$environment/bin/python" scripts/find_java.py >/dev/null
}

"$environment/bin/python" -c '' 2>/dev/null || make_environment
"$environment/bin/python" -m pip --version >/dev/null 2>&1 || { rm -rf "$environment"; make_environment; }
install_packages
for extra in "$@"; do install_packages "$extra"; done
ensure_java

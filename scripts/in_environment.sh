#!/bin/sh
# Runs a command inside .venv: its programs first on PATH, a Java 17+, and Spark's workers on the same Python.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
PATH=$root/.venv/bin:${PATH:-/usr/bin:/bin}
PYSPARK_PYTHON=$root/.venv/bin/python
PYSPARK_DRIVER_PYTHON=$PYSPARK_PYTHON
JAVA_HOME=$("$PYSPARK_PYTHON" "$root/scripts/find_java.py")
export PATH PYSPARK_PYTHON PYSPARK_DRIVER_PYTHON JAVA_HOME
# Compiled kernels are kept beside the sources; a read-only tree keeps them in the temporary folder.
if ! [ -w "$root/src" ]; then
    NUMBA_CACHE_DIR=${NUMBA_CACHE_DIR:-${TMPDIR:-/tmp}/whimbrel-numba-$(id -u)}
    export NUMBA_CACHE_DIR
fi
exec "$@"

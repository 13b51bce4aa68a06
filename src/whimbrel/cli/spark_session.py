"""The Spark session of a command: local, quiet, and gone when the command ends, however it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from whimbrel.cli.java import use_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def quiet_session() -> Iterator[SparkSession]:
    """A session on this machine whose logs stay off the terminal. Raises BadInput where there is no Java for it.

    On leaving, its queries are stopped, then the session.
    """
    use_java(os.environ)
    from whimbrel.runtime.batch_session import batch_session

    with ExitStack() as open_things:
        with _standard_error_silenced():
            spark = open_things.enter_context(batch_session())
        spark.sparkContext.setLogLevel("OFF")
        try:
            yield spark
        finally:
            for query in spark.streams.active:
                query.stop()


@contextmanager
def _standard_error_silenced() -> Iterator[None]:
    """Spark's launcher greets on standard error, below Python; a command's own words should stand alone there."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)

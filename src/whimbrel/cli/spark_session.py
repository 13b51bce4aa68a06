"""The Spark session of a command: local, quiet, and gone when the command ends, however it ends."""

from __future__ import annotations

import os
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
    from whimbrel.runtime.batch_session import batch_session, standard_error_silenced

    with ExitStack() as open_things:
        with standard_error_silenced():
            spark = open_things.enter_context(batch_session())
        spark.sparkContext.setLogLevel("OFF")
        try:
            yield spark
        finally:
            for query in spark.streams.active:
                query.stop()

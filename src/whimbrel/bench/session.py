"""The Spark session of the benchmarks: local, two cores, four gigabytes, quiet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def bench_session(memory: str = "4g") -> Iterator[SparkSession]:
    """A session in which thousands of epochs stay visible."""
    from whimbrel.runtime.batch_session import batch_session, standard_error_silenced

    with ExitStack() as open_things:
        with standard_error_silenced():
            spark = open_things.enter_context(batch_session(memory))
        # A query is stopped in the middle of an epoch, which Spark logs at length; what fails is raised, not logged.
        spark.sparkContext.setLogLevel("OFF")
        spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "5000")
        yield spark

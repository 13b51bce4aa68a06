"""The Spark session of a command: local, quiet, and gone when the command ends, however it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from whimbrel.cli.java import use_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@contextmanager
def local_session(name: str, cores: int = 2, **settings: str) -> Iterator[SparkSession]:
    """A session on this machine's cores. Raises BadInput where there is no Java for it.

    On leaving, its queries are stopped and its Java process has ended.
    """
    use_java(os.environ)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{cores}]").appName(name)
    for key, value in {**SETTINGS, **settings}.items():
        builder = builder.config(key, value)
    with _standard_error_silenced():
        spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        for query in spark.streams.active:
            query.stop()
        spark.stop()


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

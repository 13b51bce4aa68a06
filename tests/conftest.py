"""What every test shares: one Spark session per process, reproducible randomness, and a Java that Spark can use.

Spark's settings are those of production: the RocksDB provider, and checksums that catch a damaged state file.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from whimbrel.cli.java import use_java

ROOT = Path(__file__).resolve().parent.parent

SPARK_SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.speculation": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "200000",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "true",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rowChecksum.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Hundreds of small queries run once each: the second compiler and parallel collection cost twice what they save."""

_QUIET = (HealthCheck.too_slow, HealthCheck.data_too_large)
settings.register_profile("default", max_examples=40, deadline=None, derandomize=True, database=None)
settings.register_profile(
    "nightly", max_examples=2000, deadline=None, database=None, print_blob=True, suppress_health_check=_QUIET
)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "default")
settings.load_profile(PROFILE)

SEED = int(os.environ.get("WHIMBREL_SEED") or (random.SystemRandom().getrandbits(32) if PROFILE == "nightly" else 0))
"""Random by night and fixed by day; printed in the header, so that WHIMBREL_SEED repeats any run."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Hypothesis draws from the printed seed as well."""
    if PROFILE == "nightly" and config.getoption("--hypothesis-seed", None) is None:
        config.option.hypothesis_seed = str(SEED)


def pytest_report_header() -> str:
    """Names what is needed to repeat this run."""
    return (
        f"hypothesis profile: {PROFILE}; seed: {SEED} (repeat with HYPOTHESIS_PROFILE={PROFILE} WHIMBREL_SEED={SEED})"
    )


@pytest.fixture(scope="session")
def seed() -> int:
    """The seed of this run, for generators of the tests' own: ``np.random.default_rng(seed)``."""
    return SEED


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The one Spark session of this test process: local[2], RocksDB, 4 shuffle partitions, no user interface.

    With ``WHIMBREL_TEST_SESSION=connect`` it is a Connect session to a server that it starts.
    """
    from pyspark.sql import SparkSession

    use_java(os.environ)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    connect = os.environ.get("WHIMBREL_TEST_SESSION") == "connect"
    begun = SparkSession.builder.remote("local[2]") if connect else SparkSession.builder.master("local[2]")
    builder = begun.appName("whimbrel tests")
    for name, value in SPARK_SETTINGS.items():
        builder = builder.config(name, value)
    builder = builder.config("spark.driver.extraJavaOptions", JAVA_OPTIONS)
    builder = builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
    session = builder.getOrCreate()
    if not connect:
        session.sparkContext.setLogLevel("ERROR")
    yield session
    for query in session.streams.active:
        query.stop()
    session.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that takes the session is a Spark test, whether or not it says so."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")

"""The data path over Spark Connect, in a process of its own: one Python process has one kind of session."""

import os
import subprocess
import sys
import textwrap

import pytest
from tests.conftest import ROOT

PROGRAM = """
import os, sys
from pathlib import Path
os.environ["PYSPARK_PYTHON"] = sys.executable
from whimbrel.cli.java import use_java
use_java(os.environ)
import pyarrow as pa, pyarrow.parquet as pq
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote("local[2]").getOrCreate()
assert "connect" in type(spark).__module__
import whimbrel as wb
from whimbrel.migration import Pacing
from whimbrel.model import Assignment
folder = Path(sys.argv[1])
(folder / "rows").mkdir()
for number in range(4):
    keys = [f"k{i % 7}" for i in range(20)]
    pq.write_table(pa.table({"k": keys, "v": list(range(20))}), folder / "rows" / f"{number}.parquet")
rows = spark.readStream.schema("k string, v long").option("maxFilesPerTrigger", 1).parquet(str(folder / "rows"))
job = wb.job(spark, "connected", max_slots=3, bins=8, slots=2, directory=folder / "job")
counts = job.aggregate(rows, "k", n=wb.count(), s=wb.sum_of("v"))
job.board.post_target(Assignment.even(8, 3), Pacing.of("batched", size=2))
query = job.writer(counts).format("parquet").option("path", str(folder / "out")).start()
query.processAllAvailable()
query.stop()
last = spark.read.parquet(str(folder / "out")).groupBy("k").agg({"n": "max", "s": "max"}).toPandas()
assert last["max(n)"].sum() == 80 and last["max(s)"].sum() == 4 * sum(range(20)), last
assert job.status().settled and len(job.status().slots) == 3
report = job.audit()
assert report.ok and report.rows == 80, report
print("connected and correct")
"""


@pytest.mark.spark
@pytest.mark.timeout(280)
@pytest.mark.slow
def test_a_job_counts_migrates_and_is_audited_over_spark_connect(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=270,
        cwd=tmp_path,
    )
    assert "connected and correct" in done.stdout, done.stderr[-3000:]


CORE = ["test_windows.py", "test_against_spark.py", "test_processor_against_spark.py", "test_restart.py"]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_core_of_the_suite_holds_over_spark_connect():
    chosen = [f"tests/operators/{name}" for name in CORE]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not nightly", *chosen],
        check=False,
        capture_output=True,
        text=True,
        timeout=1750,
        cwd=ROOT,
        env=os.environ | {"WHIMBREL_TEST_SESSION": "connect"},
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert " passed" in done.stdout and "skipped" not in done.stdout

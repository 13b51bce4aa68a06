"""Operators of one query that Spark would not run in the same epochs: a step waits until all of them run."""

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from tests.runtime.counting import BINS, open_job

import whimbrel as wb
from whimbrel.bench.epochs import Follower
from whimbrel.control.board import Board
from whimbrel.migration import Pacing
from whimbrel.model import Assignment
from whimbrel.runtime.reading import read_table

ROWS, EPOCHS = 40, 3


class PostsWhileItsEpochBegins(DataSource):
    """Forty rows in each of three epochs. Once Spark has taken the offsets of the second one, a plan is posted."""

    @classmethod
    def name(cls):
        return "posts_while_its_epoch_begins"

    def schema(self):
        return "key long"

    def streamReader(self, schema):  # noqa: N802
        return _Reader(self.options["directory"])


class _Reader(DataSourceStreamReader):
    def __init__(self, directory):
        self._directory = directory

    def initialOffset(self):  # noqa: N802
        return {"epoch": 0}

    def latestOffset(self, start, limit):  # noqa: N802
        return {"epoch": min(EPOCHS, start["epoch"] + 1)}

    def partitions(self, start, end):
        if end["epoch"] == 2:
            Board(self._directory).post_target(Assignment.even(BINS, 4), Pacing.of("all-at-once"))
        return [InputPartition(end["epoch"])]

    def read(self, partition):
        return iter([(n % 20,) for n in range(ROWS)])


def idle(spark, folder, copies):
    """A stream whose one file has twenty keys, each so many times."""
    spark.range(20 * copies).selectExpr("id % 20 AS key").repartition(1).write.parquet(str(folder))
    return spark.readStream.schema("key long").parquet(str(folder))


def counted(spark, job, operator):
    return sorted(read_table(spark, job.board, job.checkpoint, operator, "keys").column("n").to_pylist())


def test_an_operator_whose_source_is_idle_takes_part_in_a_move_posted_while_an_epoch_runs(spark, tmp_path):
    spark.dataSource.register(PostsWhileItsEpochBegins)
    job = open_job(spark, tmp_path)
    busy = spark.readStream.format("posts_while_its_epoch_begins").option("directory", job.directory).load()
    left = job.aggregate(busy, "key", name="busy", n=wb.count())
    right = job.aggregate(idle(spark, tmp_path / "in", 10), "key", name="idle", n=wb.count())
    follower = Follower(job.writer(left.union(right)).format("noop").start())
    follower.until(lambda: job.board.log.last() == 1 and job.status().settled and follower.newest >= EPOCHS - 1, 300)
    follower.stop()
    assert len(job.status().slots) == 4
    assert counted(spark, job, "busy") == [EPOCHS * ROWS // 20] * 20
    assert counted(spark, job, "idle") == [10] * 20
    assert job.audit().ok


def test_a_run_over_what_is_available_now_ends_once_a_migration_has(spark, tmp_path):
    job = open_job(spark, tmp_path)
    result = job.aggregate(idle(spark, tmp_path / "in", 3), "key", n=wb.count())
    job.board.post_target(Assignment.even(BINS, 4), Pacing.of("all-at-once"))
    query = job.writer(result).trigger(availableNow=True).format("noop").start()
    assert query.awaitTermination(300)
    assert job.status().settled and len(job.status().slots) == 4
    assert counted(spark, job, "aggregate") == [3] * 20
    assert job.audit().ok

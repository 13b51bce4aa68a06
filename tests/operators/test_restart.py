"""What a stream begins with and what it may gain at a restart, on Spark, while bins migrate."""

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from tests.operators.micro_batches import BINS, SLOTS, Input, run

import whimbrel as wb
from whimbrel.migration import Pacing
from whimbrel.model import Assignment
from whimbrel.model.errors import BadInput, JobMismatch


def rows(pairs):
    return pa.table({"k": [k for k, _ in pairs], "v": pa.array([v for _, v in pairs], pa.int64())})


def opened(spark, folder):
    return wb.job(spark, "restarted", max_slots=SLOTS, bins=BINS, slots=2, directory=folder / "job")


def finished(job, result, slots):
    """Runs the stream to its end with a migration in its middle; the last row of every key."""

    def after(epoch):
        if not job.board.newest().leaving.moves and len(job.status().slots) != slots:
            job.board.post_target(Assignment.even(BINS, slots), Pacing.of("batched", size=4))

    found = run(result, job.checkpoint, "append", after)
    assert job.status().settled and job.audit().ok
    job.close()
    return {row["k"]: tuple(row.values())[1:] for row in found}


def test_a_fold_and_its_initial_rows_gain_a_column_at_a_restart(spark, tmp_path):
    given = Input(tmp_path / "rows", [rows([("a", 1), ("b", 2)]), rows([("a", 3), ("c", 4)]), rows([("b", 1)])])
    before = spark.createDataFrame([("a", 100), ("z", 7)], "k string, n long")

    def summing(state, found):
        return (state.n if state else 0) + sum(row.v for row in found)

    job = opened(spark, tmp_path)
    result = job.state_machine(given.read(spark), "k", summing, "k string, n long", initial=before)
    assert finished(job, result, 4) == {"a": (104,), "b": (3,), "c": (4,)}

    Input(tmp_path / "more", [rows([("z", 1), ("a", 1)])]).folder.joinpath("00000.parquet").rename(
        tmp_path / "rows" / "00009.parquet"
    )

    def counting(state, found):
        return (len(found) + (state.times if state else 0), summing(state, found))

    job = opened(spark, tmp_path)
    with pytest.raises(JobMismatch, match="keeps 'n int64' among its state"):
        job.state_machine(given.read(spark), "k", summing, "k string, n string")
    schema = "k string, times long, n long"
    result = job.state_machine(given.read(spark), "k", counting, schema, defaults={"times": 50})
    assert finished(job, result, 3) == {"z": (51, 8), "a": (51, 105)}
    state = {tuple(row) for row in job.state("state_machine").collect()}
    assert state == {("a", 51, 105), ("b", 50, 3), ("c", 50, 4), ("z", 51, 8)}


def more(folder, number, pairs):
    """One more file of the stream in ``folder``."""
    Input(folder / f"more-{number}", [rows(pairs)]).folder.joinpath("00000.parquet").rename(
        folder / "rows" / f"{number:05d}.parquet"
    )


def test_what_was_put_in_by_mistake_may_be_taken_out_until_it_has_run(spark, tmp_path):
    given = Input(tmp_path / "rows", [rows([("a", 1), ("b", 2)])])
    n, total, least = {"n": wb.count()}, {"total": wb.sum_of("v")}, {"least": wb.min_of("v")}

    def built(ttl=None, **aggregates):
        job = opened(spark, tmp_path)
        return job, job.aggregate(given.read(spark), "k", ttl=ttl, **aggregates)

    built(**n, **total)
    built(ttl="1 hour", **least)
    assert finished(*built(**n), 4) == {"a": (1,), "b": (1,)}
    more(tmp_path, 7, [("a", 5)])
    built(**n, **total)
    built(**n, **least)
    job, result = built(**n)
    assert set(job.board.operators()["aggregate"]["cells"]) == {"n int64 sum"}
    assert finished(job, result, 3) == {"a": (2,)}
    more(tmp_path, 8, [("a", 7)])
    built(**n, **least)
    assert finished(*built(**n, **total), 4) == {"a": (3, 7)}
    with pytest.raises(JobMismatch, match="keeps 'total int64 sum' among its cells"):
        built(**n)
    with pytest.raises(JobMismatch, match="time mode None and now asks for ProcessingTime.*a new job can begin with"):
        built(ttl="1 hour", **n, **total)
    job, _ = built(**n, **total)
    assert {tuple(row) for row in job.state("aggregate").collect()} == {("a", 3, 7), ("b", 1, None)}
    job.close()


class Remembering(StatefulProcessor):
    """A sum that begins with what is given."""

    def init(self, handle):
        self.total = handle.getValueState("total", "n long")

    def handleInitialState(self, key, initialState, timerValues):
        self.total.update((int(initialState["start"].sum()),))

    def handleInputRows(self, key, rows, timerValues):
        total = (self.total.get() or (0,))[0] + sum(int(frame["v"].sum()) for frame in rows)
        self.total.update((total,))
        yield pd.DataFrame({"k": [key[0]], "n": [total]})

    def close(self):
        pass


@pytest.mark.slow
def test_a_processor_is_told_of_initial_rows_as_spark_tells_it(spark, tmp_path):
    given = Input(tmp_path / "rows", [rows([("a", 1), ("b", 2)]), rows([("a", 3), ("b", 4)])])
    before = spark.createDataFrame([("a", 100), ("b", 10), ("b", 20)], "k string, start long")
    job = opened(spark, tmp_path)
    ours = finished(job, job.processor(given.read(spark), "k", Remembering(), "k string, n long", initial=before), 4)
    native = (
        given.read(spark)
        .groupBy("k")
        .transformWithStateInPandas(Remembering(), "k string, n long", "append", "None", before.groupBy("k"))
    )
    theirs = {row["k"]: (row["n"],) for row in run(native, str(tmp_path / "native"), "append")}
    assert ours == theirs == {"a": (104,), "b": (36,)}


def test_initial_rows_that_do_not_fit_are_refused(spark, tmp_path):
    given = Input(tmp_path / "rows", [rows([("a", 1)])]).read(spark)
    job = opened(spark, tmp_path)
    with pytest.raises(BadInput, match="lack the columns m.count: they need k string, m.sum double, m.count int64"):
        job.aggregate(
            given, "k", m=wb.mean_of("v"), initial=spark.createDataFrame([("a", 1.0)], "k string, `m.sum` double")
        )
    with pytest.raises(BadInput, match="are a stream"):
        job.dedup(given, "k", initial=given)
    with pytest.raises(BadInput, match="no table 'other'|names a table 'other'"):
        job.unary(given, "k", len, "k string", tables={"t": ("k string", "n long")}, initial={"other": given})
    with pytest.raises(BadInput, match=r"read all of it when you want it with job.state"):
        job.aggregate(given, "k", n=wb.count(), output_mode="complete")
    with pytest.raises(BadInput, match="no operator 'other'"):
        job.state("other")
    job.close()

"""A counter that is moved while it runs: nothing lost, nothing doubled, one owner per bin."""

from collections import Counter

import numpy as np
import pytest
from pyspark.sql import functions as fn
from tests.runtime.counting import BINS, MAX_SLOTS, expected_output, open_job, start

import whimbrel as wb
from whimbrel.bench.epochs import Follower
from whimbrel.bench.streams import KeyStream
from whimbrel.migration import NAMES
from whimbrel.model import Assignment, BadInput, JobInUse, JobMismatch
from whimbrel.runtime.opening import claim_slot
from whimbrel.runtime.reading import read_table
from whimbrel.runtime.tokens import murmur3_int, slot_tokens


def test_slot_tokens_fall_where_spark_puts_them(spark):
    numbers = [0, 1, 7, -1, 123456, 2**31 - 1, -(2**31)]
    rows = spark.createDataFrame([(n,) for n in numbers], "n int").select(fn.hash("n")).collect()
    assert [r[0] for r in rows] == [murmur3_int(n) for n in numbers]
    for slots in (1, 3, 4, 6, 8, 13):
        tokens = slot_tokens(slots)
        placed = (
            spark.createDataFrame([(t,) for t in tokens], "t int").select(fn.expr(f"pmod(hash(t), {slots})")).collect()
        )
        assert [r[0] for r in placed] == list(range(slots))


def with_bins_moved(now: Assignment, bins: int, rng: np.random.Generator) -> Assignment:
    """The assignment after so many bins, drawn at random, have each gone to another slot."""
    owner = list(now.owner)
    for b in rng.choice(BINS, bins, replace=False):
        owner[b] = (owner[b] + int(rng.integers(1, MAX_SLOTS))) % MAX_SLOTS
    return Assignment(tuple(owner))


def test_every_pacing_moves_a_running_counter_exactly_and_the_output_is_exact_too(spark, tmp_path):
    run = start(spark, tmp_path, sink=True)
    rng = np.random.default_rng(3)
    run.follower.epochs(1)
    for pacing in NAMES:
        target = with_bins_moved(run.job.board.assignment(), 3 if pacing == "fluid" else 8, rng)
        run.move_to(target, pacing, **({"size": 4} if pacing != "fluid" else {}))
        run.settle()
        assert run.job.board.assignment() == target
    run.stop()
    run.assert_exact()
    rows = spark.read.parquet(str(run.sink)).collect()
    epochs = sum(run.state().values()) // run.stream.rows_per_epoch
    assert Counter((r["key"], r["n"]) for r in rows) == expected_output(run.stream, epochs)


def test_a_restart_in_the_middle_of_a_migration_carries_it_on(spark, tmp_path):
    run = start(spark, tmp_path, KeyStream(300, 500, kind="string"))
    run.follower.epochs(1)
    run.move_to(Assignment.even(BINS, 4), "fluid")
    run.follower.epochs(3)
    run.stop()
    assert not run.job.status().settled
    again = start(spark, tmp_path, KeyStream(300, 500, kind="string"))
    again.settle()
    again.stop()
    assert again.job.board.assignment() == Assignment.even(BINS, 4)
    again.assert_exact()


def test_a_lost_or_damaged_local_copy_is_rebuilt_from_the_state_store(spark, tmp_path):
    from whimbrel.runtime.copies import copies_of

    run = start(spark, tmp_path)
    run.follower.epochs(2)
    rng = np.random.default_rng(5)
    for _ in range(3):
        for file in copies_of(run.job.directory).rglob("*"):
            if file.is_file() and file.stat().st_size:
                with file.open("r+b") as handle:
                    handle.seek(int(rng.integers(0, file.stat().st_size)))
                    handle.write(rng.bytes(8))
        run.follower.epochs(1)
    run.stop()
    run.assert_exact()


def test_an_idle_stream_still_finishes_a_migration(spark, tmp_path):
    source = tmp_path / "in"
    spark.range(200).selectExpr("id % 20 AS key").repartition(1).write.parquet(str(source))
    job = open_job(spark, tmp_path)
    stream = spark.readStream.schema("key long").parquet(str(source))
    follower = Follower(job.writer(job.aggregate(stream, "key", n=wb.count())).format("noop").start())
    follower.epochs(1)
    job.board.post_target(Assignment.even(BINS, 4), wb_pacing("batched", 4))
    follower.until(lambda: job.status().settled and len(job.status().slots) == 4, 180)
    follower.stop()
    table = read_table(spark, job.board, job.checkpoint, "aggregate", "keys")
    assert sorted(table.column("n").to_pylist()) == [10] * 20
    assert job.audit().ok


def wb_pacing(name, size):
    from whimbrel.migration import Pacing

    return Pacing.of(name, size=size)


def test_two_operators_in_one_query_move_together(spark, tmp_path):
    job = open_job(spark, tmp_path)
    stream = KeyStream(100, 300)
    counts = job.aggregate(stream.read(spark), "key", name="counts", n=wb.count())
    tens = counts.selectExpr("key % 10 AS ten", "n")
    tops = job.aggregate(tens, "ten", name="tops", most=wb.max_of("n"), seen=wb.count())
    follower = Follower(job.writer(tops).format("noop").start())
    follower.epochs(1)
    job.board.post_target(Assignment.even(BINS, 3), wb_pacing("batched", 4))
    follower.until(lambda: job.status().settled, 180)
    follower.stop()
    counted = read_table(spark, job.board, job.checkpoint, "counts", "keys")
    top = read_table(spark, job.board, job.checkpoint, "tops", "keys")
    expected: dict[int, int] = {}
    for key, n in zip(counted.column("key").to_pylist(), counted.column("n").to_pylist()):
        expected[key % 10] = max(expected.get(key % 10, 0), n)
    assert dict(zip(top.column("ten").to_pylist(), top.column("most").to_pylist())) == expected
    assert job.audit().ok


def test_all_aggregates_of_several_keys_with_nulls_equal_a_batch_query(spark, tmp_path):
    source = tmp_path / "in"
    rows = spark.range(400).selectExpr(
        "CASE WHEN id % 7 = 0 THEN NULL ELSE concat('k', id % 5) END AS a",
        "CAST(id % 3 AS int) AS b",
        "CASE WHEN id % 4 = 0 THEN NULL ELSE CAST(id * 1.5 AS double) END AS x",
        "CAST(id AS int) AS y",
        "timestamp_seconds(id) AS t",
    )
    rows.repartition(4).write.parquet(str(source))
    job = open_job(spark, tmp_path)
    stream = spark.readStream.schema(rows.schema).option("maxFilesPerTrigger", 1).parquet(str(source))
    result = job.aggregate(
        stream,
        ["a", "b"],
        n=wb.count(),
        nx=wb.count("x"),
        sx=wb.sum_of("x"),
        lo=wb.min_of("y"),
        hi=wb.max_of("t"),
        m=wb.mean_of("x"),
    )
    out = tmp_path / "out"
    follower = Follower(job.writer(result).format("parquet").option("path", str(out)).start())
    job.board.post_target(Assignment.even(BINS, 4), wb_pacing("batched", 8))
    follower.until(lambda: sum(follower.measured.rows) == 400 and job.status().settled, 180)
    follower.stop()
    latest = (
        spark.read.parquet(str(out))
        .groupBy("a", "b")
        .agg(*[fn.max_by(c, "n").alias(c) for c in ("n", "nx", "sx", "lo", "hi", "m")])
    )
    batch = rows.groupBy("a", "b").agg(
        fn.count("*").alias("n"),
        fn.count("x").alias("nx"),
        fn.sum("x").alias("sx"),
        fn.min("y").alias("lo"),
        fn.max("t").alias("hi"),
        fn.avg("x").alias("m"),
    )
    assert sorted(map(str, latest.collect())) == sorted(map(str, batch.collect()))


def add(state, rows):
    return (state.n if state else 0) + len(rows)


def test_a_fold_in_plain_python_counts_exactly_across_moves(spark, tmp_path):
    job = open_job(spark, tmp_path)
    stream = KeyStream(60, 200)
    follower = Follower(
        job.writer(job.state_machine(stream.read(spark), "key", add, "key long, n long")).format("noop").start()
    )
    follower.epochs(1)
    job.board.post_target(Assignment.even(BINS, 4), wb_pacing("batched", 4))
    follower.until(lambda: job.status().settled, 180)
    follower.stop()
    table = read_table(spark, job.board, job.checkpoint, "state_machine", "keys")
    found = dict(zip(table.column("key").to_pylist(), table.column("n").to_pylist()))
    recount = stream.counts(sum(found.values()))
    assert found == {k: int(n) for k, n in enumerate(recount) if n}


def test_a_fold_that_raises_names_key_bin_and_epoch_and_changes_nothing(spark, tmp_path):
    stream = KeyStream(60, 200)

    def run(fold, epochs, **settings):
        job = open_job(spark, tmp_path)
        result = job.state_machine(stream.read(spark), "key", fold, "key long, n long", **settings)
        follower = Follower(job.writer(result).format("noop").start())
        try:
            follower.epochs(epochs)
        finally:
            follower._query.stop()
        return job

    run(add, 2)

    def stumble(state, rows):
        raise ZeroDivisionError("on purpose")

    with pytest.raises(
        Exception, match=r"fold raised ZeroDivisionError: on purpose \(key .*bin \d+, slot \d+, epoch \d+\)"
    ):
        run(stumble, 1)
    with pytest.raises(Exception, match="fold returned 2 values where the state is"):
        run(lambda state, rows: (1, 2), 1)
    with pytest.raises(Exception, match="no int64 for the state column 'n'"):
        run(lambda state, rows: "many", 1)
    with pytest.raises(
        Exception, match="holds the state of operator 'state_machine', and operator 'renamed' runs on it"
    ):
        run(add, 1, name="renamed")
    job = run(add, 1)
    table = read_table(spark, job.board, job.checkpoint, "state_machine", "keys")
    found = dict(zip(table.column("key").to_pylist(), table.column("n").to_pylist()))
    assert found == {k: int(n) for k, n in enumerate(stream.counts(sum(found.values()))) if n}


def test_what_is_fixed_cannot_change_on_a_restart(spark, tmp_path):
    job = open_job(spark, tmp_path)
    job.aggregate(KeyStream(10, 10).read(spark), "key", n=wb.count())
    with pytest.raises(JobMismatch, match="bins=16 and cannot continue with 32"):
        open_job(spark, tmp_path, bins=32)
    with pytest.raises(JobMismatch, match="max_slots=4"):
        open_job(spark, tmp_path, max_slots=8)


def test_two_operators_of_one_name_are_refused(spark, tmp_path):
    job = open_job(spark, tmp_path)
    stream = KeyStream(10, 10).read(spark)
    job.aggregate(stream, "key", n=wb.count())
    with pytest.raises(BadInput, match="an operator 'aggregate' already: give the second one a name of its own"):
        job.aggregate(stream, "key", n=wb.count())
    job.aggregate(stream, "key", name="second", n=wb.count())
    open_job(spark, tmp_path).aggregate(stream, "key", n=wb.count())


def test_a_slot_is_claimed_by_one_operator_for_good():
    notes = {}
    claim_slot(notes, "counts", 5, "slot 3 of here")
    claim_slot(notes, "counts", 2, "slot 3 of here")
    assert notes == {"operator": "counts", "rows_in": 7}
    with pytest.raises(JobMismatch, match="slot 3 of here holds the state of operator 'counts'.*restore name='counts'"):
        claim_slot(notes, "tallies", 1, "slot 3 of here")
    assert notes == {"operator": "counts", "rows_in": 7}


@pytest.mark.parametrize(
    ("mistake", "lesson"),
    [
        (lambda job, s: job.aggregate(s, "nokey", n=wb.count()), "there is no key column 'nokey'"),
        (lambda job, s: job.aggregate(s, "key"), "at least one aggregate"),
        (lambda job, s: job.aggregate(s, "key", n=wb.sum_of("x")), "there is no column 'x'"),
        (lambda job, s: job.state_machine(s, "key", add, "n long"), "must name the key columns"),
        (lambda job, s: job.state_machine(s, "key", add, "key lung"), "no Spark schema"),
        (lambda job, s: job.state_machine(s, "key", 7, "key long, n long"), "fold is 7"),
        (lambda job, s: job.unary(s, "key", add, "n long", watermark="1 sec", time="t"), "no time column 't'"),
    ],
)
def test_a_mistake_in_an_operator_is_one_clear_line(spark, tmp_path, mistake, lesson):
    job = open_job(spark, tmp_path)
    with pytest.raises(BadInput, match=lesson):
        mistake(job, KeyStream(10, 10).read(spark))


def test_a_function_that_cannot_travel_is_refused_before_the_query_starts(spark, tmp_path):
    import threading

    lock = threading.Lock()
    job = open_job(spark, tmp_path)
    with pytest.raises(BadInput, match="cannot be sent to the workers"):
        job.state_machine(KeyStream(10, 10).read(spark), "key", lambda s, r: lock and 1, "key long, n long")


def test_unknown_slots_and_foreign_bins_are_refused(spark, tmp_path):
    job = open_job(spark, tmp_path)
    with pytest.raises(BadInput, match="there is no slot 9"):
        job.board.post_target(Assignment((9,) * BINS), wb_pacing("fluid", 1))
    with pytest.raises(BadInput, match="a job's bins are fixed"):
        job.board.post_target(Assignment((0,) * 8), wb_pacing("fluid", 1))
    with pytest.raises(BadInput, match="1 to 4"):
        job.plan(slots=5)


def test_a_second_driver_is_refused(spark, tmp_path):
    from whimbrel.control import lease
    from whimbrel.runtime.place import now_ms

    job = open_job(spark, tmp_path)
    job.aggregate(KeyStream(10, 10).read(spark), "key", n=wb.count())
    with pytest.raises(JobInUse, match="in use by the driver"):
        lease.acquire(job.board.store, job.directory, lease.Holder.myself(), now_ms)


def test_a_batch_dataframe_is_refused(spark, tmp_path):
    with pytest.raises(BadInput, match="needs a streaming DataFrame"):
        open_job(spark, tmp_path).aggregate(spark.range(3).withColumnRenamed("id", "key"), "key", n=wb.count())


def test_a_plan_a_rollback_and_the_history_tell_one_story(spark, tmp_path):
    run = start(spark, tmp_path, KeyStream(300, 500, skew="zipf"))
    run.follower.epochs(2)
    before = run.job.board.assignment()
    plan = run.job.plan(slots=4, tau=0.5)
    run.job.apply(plan, note="more room")
    run.settle()
    assert run.job.board.assignment() == plan.target
    run.job.rollback(pacing="budget", p99="1 minute", note="too much room")
    run.settle()
    run.stop()
    assert run.job.board.assignment() == before
    told = [(s["what"], s["ended"], s["note"]) for s in run.job.history()]
    assert told == [("PlanPosted", "done", "more room"), ("RolledBack", "done", "too much room")]
    stats = run.job.stats()
    assert set(stats.columns) == {"operator", "epoch", "slot", "bin", "rows", "state_bytes", "micros"}
    assert stats.agg(fn.sum("rows")).first()[0] == sum(run.state().values())
    run.assert_exact()

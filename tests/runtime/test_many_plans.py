"""Random rescales and rebalances in a row, under load, on every operator: output and state equal a plain recount.

``WHIMBREL_PLANS`` says how many plans the nightly run makes of each operator (200 by default).
"""

import os

import numpy as np
import pytest
from tests.runtime.plan_cases import CASES, plain, read

import whimbrel as wb
from whimbrel.bench.epochs import Follower
from whimbrel.migration import NAMES, Pacing
from whimbrel.model import Assignment
from whimbrel.runtime.committed import committed_epoch
from whimbrel.runtime.reading import read_table
from whimbrel.testing import assert_same_rows

BINS, MAX_SLOTS = 16, 4
PLANNERS = ("ssm", "simple-ssm", "even", "any-map", "consistent-hashing", "redist")


def random_pacing(rng, moves):
    name = str(rng.choice([n for n in NAMES if n != "fluid" or moves <= 4]))
    size = None if name in {"all-at-once", "fluid"} else int(rng.integers(2, 9))
    return Pacing.of(name, size, int(rng.integers(0, 2)), 60_000 if name == "budget" else None)


def random_target(rng, job):
    """Half of the targets come from a planner and the measured load, half are any map at all."""
    if rng.random() < 0.5:
        slots, planner = int(rng.integers(1, MAX_SLOTS + 1)), str(rng.choice(PLANNERS))
        plan = job.plan(slots=slots, planner=planner, tau=1.0)
        if plan.target is not None:
            return plan.target
    return Assignment(tuple(int(x) for x in rng.integers(0, MAX_SLOTS, BINS)))


def post_something(rng, job):
    """A plan; sometimes two at once, sometimes one that is paused, cancelled or rolled back on its way."""
    for _ in range(1 + (rng.random() < 0.2)):
        target = random_target(rng, job)
        job.board.post_target(target, random_pacing(rng, len(job.board.assignment().moves_to(target))))
    turn = rng.random()
    if turn < 0.1:
        job.pause()
        job.resume()
    elif turn < 0.2:
        job.cancel()
    elif turn < 0.3 and job.status().steps:
        job.rollback(size=8)


def live_through(spark, folder, case, plans, seed):
    """Run the operator, post the plans one after the other, audit after each; then compare with the recount."""
    rng = np.random.default_rng(seed)
    job = wb.job(spark, "plans", max_slots=MAX_SLOTS, bins=BINS, slots=2, directory=folder / "job")
    writer = job.writer(case.build(job, read(spark))).format("parquet").option("path", str(folder / "out"))
    follower = Follower(writer.start())
    try:
        follower.epochs(1)
        for number in range(plans):
            post_something(rng, job)
            follower.until(lambda: job.status().settled, 300)
            report = job.audit()
            assert report.ok, f"after plan {number} (seed {seed}): {report}"
    finally:
        follower._query.stop()
    compare(spark, folder, job, case)
    job.close()
    return job


def compare(spark, folder, job, case):
    epochs = committed_epoch(job.checkpoint) + 1
    # A query that is stopped may have written an epoch's output and not yet its commit.
    written = 1 + max(int(file.name.split(".")[0]) for file in (folder / "out/_spark_metadata").glob("[0-9]*"))
    assert written in {epochs, epochs + 1}
    found = [tuple(map(plain, row)) for row in spark.read.parquet(str(folder / "out")).collect()]
    assert found
    assert_same_rows(found, case.emitted(written))
    if case.table:
        rows = read_table(spark, job.board, job.checkpoint, case.operator, case.table).to_pylist()
        assert_same_rows([tuple(plain(row[c]) for c in case.columns) for row in rows], case.held(epochs))


@pytest.mark.slow
@pytest.mark.parametrize("operator", CASES)
def test_a_few_random_plans_leave_every_operator_exact(spark, tmp_path, operator, seed):
    live_through(spark, tmp_path, CASES[operator], 3, seed)


@pytest.mark.nightly
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("operator", CASES)
def test_two_hundred_random_plans_in_a_row_leave_every_operator_exact(spark, tmp_path, operator, seed):
    job = live_through(spark, tmp_path, CASES[operator], int(os.environ.get("WHIMBREL_PLANS", "200")), seed)
    assert job.status().steps

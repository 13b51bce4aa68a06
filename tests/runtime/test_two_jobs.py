"""Two jobs of one session with unlike numbers of slots: each runs on its own, or is refused before it commits."""

import shutil

import pytest
from tests.runtime.counting import BINS

import whimbrel as wb
from whimbrel.bench.epochs import Follower
from whimbrel.bench.streams import KeyStream
from whimbrel.migration import Pacing
from whimbrel.model import Assignment, BadInput
from whimbrel.runtime.committed import committed_epoch


def test_a_job_built_before_another_with_fewer_slots_keeps_its_own_number(spark, tmp_path):
    wide = wb.job(spark, "wide", max_slots=6, bins=BINS, slots=2, directory=tmp_path / "wide")
    counts = wide.aggregate(KeyStream(60, 100).read(spark), "key", n=wb.count())
    wb.job(spark, "narrow", max_slots=3, bins=BINS, directory=tmp_path / "narrow")

    query = counts.writeStream.option("checkpointLocation", wide.checkpoint).format("noop").start()
    with pytest.raises(Exception, match="has 3 shuffle partitions, and the job's max_slots is 6"):
        Follower(query).epochs(1)
    with pytest.raises(BadInput, match="no committed epoch"):
        committed_epoch(wide.checkpoint)
    assert wide.status().epoch == -1, "the refused epoch was sealed"

    shutil.rmtree(wide.checkpoint)
    wide = wb.job(spark, "wide", max_slots=6, bins=BINS, slots=2, directory=tmp_path / "wide")
    counts = wide.aggregate(KeyStream(60, 100).read(spark), "key", n=wb.count())
    wb.job(spark, "narrow", max_slots=3, bins=BINS, directory=tmp_path / "narrow")
    follower = Follower(wide.writer(counts).format("noop").start())
    follower.epochs(1)
    wide.board.post_target(Assignment.even(BINS, 6), Pacing.of("batched", size=16))
    follower.until(lambda: wide.status().settled, 120)
    follower.stop()
    assert len(wide.status().slots) == 6 and wide.audit().ok

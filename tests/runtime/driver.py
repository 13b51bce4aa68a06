"""A driver in a process of its own, for tests that kill it: counts a stream and moves it as it is told.

``python -m tests.runtime.driver FOLDER EPOCHS TARGET_SLOTS [dice]``: runs until EPOCHS epochs are sealed; posts a plan for
TARGET_SLOTS slots after the second one, unless it is posted already. With ``dice`` its state is random.
"""

import os
import random
import sys
from pathlib import Path


def throw_dice(state, rows):
    """What a fold must not do."""
    return random.getrandbits(62)


def main(folder: Path, epochs: int, slots: int, dice: bool) -> None:
    import whimbrel as wb
    from whimbrel.bench.epochs import Follower
    from whimbrel.bench.streams import KeyStream
    from whimbrel.migration import Pacing
    from whimbrel.model import Assignment
    from whimbrel.runtime.batch_session import batch_session

    os.environ["WHIMBREL_FAULT_TOP"] = str(os.getpid())
    with batch_session("1g") as spark:
        job = wb.job(spark, "counting", max_slots=4, bins=16, slots=2, directory=folder / "job")
        rows = KeyStream(300, 500).read(spark)
        if dice:
            counts = job.state_machine(rows, "key", throw_dice, "key long, n long")
        else:
            counts = job.aggregate(rows, "key", n=wb.count())
        follower = Follower(job.writer(counts).format("noop").start())
        follower.epochs(1)
        if job.board.log.last() == 0:
            job.board.post_target(Assignment.even(16, slots), Pacing.of("batched", size=4))
        follower.until(lambda: job.status().epoch >= epochs and job.status().settled, 240)
        follower.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), "dice" in sys.argv)

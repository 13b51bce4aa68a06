"""Measures the README's picture: a counter goes from 4 to 6 state partitions, live and by stop, repartition, restart.

Both systems hold the same keys and read the same steady stream, one after the other on this machine. Take a quiet one.
Writes docs/pictures/live-migration.json; scripts/draw_live_migration.py draws it.
"""

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import whimbrel
from whimbrel.bench import peers
from whimbrel.bench.epochs import Follower, Measured, run_epochs
from whimbrel.bench.session import bench_session
from whimbrel.bench.streams import KeyStream

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
SLOTS, TARGET, BINS = 4, 6, 256
PRELOAD_EPOCHS, WARM_UP_EPOCHS = 4, 5
ROWS_PER_EPOCH = 20_000


def start(result: Any, mode: str, folder: Path) -> Any:
    """A running query whose results go nowhere: only its epochs are looked at."""
    writer = result.writeStream.format("noop").outputMode(mode)
    return writer.option("checkpointLocation", str(folder / "checkpoint")).start()


def lane(name: str, measured: list[Measured], change: tuple[float, float], warm_up: int) -> dict[str, Any]:
    """One system's epochs after the warm-up, in seconds since the first of them, with the change's start and end."""
    rows = [
        (started, duration, count)
        for part in measured
        for started, duration, count in zip(part.started_ms, part.duration_ms, part.rows, strict=True)
    ][warm_up:]
    origin_ms = rows[0][0]
    epochs = [
        {"number": n, "start_seconds": round((s - origin_ms) / 1000, 3), "duration_ms": d, "rows": r}
        for n, (s, d, r) in enumerate(rows)
    ]
    begin, end = (round(moment - origin_ms / 1000, 3) for moment in change)
    return {"name": name, "epochs": epochs, "change_start_seconds": begin, "change_end_seconds": end}


def live(spark: Any, keys: int, steady_epochs: int, folder: Path) -> dict[str, Any]:
    """Whimbrel: the plan is posted while the query runs."""
    job = whimbrel.job(spark, "picture", max_slots=TARGET, bins=BINS, slots=SLOTS, directory=folder)

    def counts(rows: int) -> Any:
        return job.aggregate(KeyStream(keys, rows).read(spark), "key", n=whimbrel.count())

    run_epochs(start(counts(keys), "append", folder), PRELOAD_EPOCHS)
    follower = Follower(start(counts(ROWS_PER_EPOCH), "append", folder))
    follower.epochs(WARM_UP_EPOCHS + steady_epochs)
    begin = time.time()
    job.apply(job.plan(slots=TARGET), pacing="batched", size=8)
    follower.until(lambda: job.status().settled)
    end = time.time()
    follower.epochs(steady_epochs)
    measured = follower.stop()
    job.close()
    return lane("Whimbrel: live, in steps of 8 bins", [measured], (begin, end), WARM_UP_EPOCHS)


def restarted(spark: Any, keys: int, steady_epochs: int, folder: Path) -> dict[str, Any]:
    """Spark's own way: stop, finish the last batch, rewrite the state offline, start again."""
    peers.use_provider(spark, peers.ROCKSDB, SLOTS)
    run_epochs(start(peers.native(KeyStream(keys, keys).read(spark)), "update", folder), PRELOAD_EPOCHS)
    result = peers.native(KeyStream(keys, ROWS_PER_EPOCH).read(spark))
    follower = Follower(start(result, "update", folder))
    follower.epochs(WARM_UP_EPOCHS + steady_epochs)
    before = follower.stop()
    begin = time.time()
    last = result.writeStream.format("noop").outputMode("update").trigger(availableNow=True)
    last.option("checkpointLocation", str(folder / "checkpoint")).start().awaitTermination()
    spark._streamingCheckpointManager.repartition(str(folder / "checkpoint"), TARGET)
    follower = Follower(start(result, "update", folder))
    follower.epochs(1)
    end = time.time()
    follower.epochs(steady_epochs)
    return lane("Spark: stop, repartition, restart", [before, follower.stop()], (begin, end), WARM_UP_EPOCHS)


def in_folder(measure: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """Runs a measurement in a folder of its own and removes that."""
    folder = Path(tempfile.mkdtemp(prefix="whimbrel-picture-"))
    try:
        return measure(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Measures both systems in turn and writes the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--steady-epochs", type=int, default=12)
    parser.add_argument("--out", type=Path, default=PICTURES / "live-migration.json")
    given = parser.parse_args()
    with bench_session() as spark:
        lanes = [
            in_folder(lambda at, run=run: run(spark, given.keys, given.steady_epochs, at)) for run in (live, restarted)
        ]
    title = f"{given.keys:,} counters go from {SLOTS} to {TARGET} state partitions under a steady stream"
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps({"title": title, "lanes": lanes}) + "\n", encoding="utf-8")
    print(given.out)


if __name__ == "__main__":
    main()

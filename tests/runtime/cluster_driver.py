"""A driver on a cluster of real executors, in a process of its own; writes who ran which slot in which epoch.

``python -m tests.runtime.cluster_driver FOLDER MASTER``: MASTER is local-cluster[...] or spark://... . With a second worker
wanted (``spark://``) it makes the file ``join`` after a few epochs, waits until a second executor works, and rescales.
"""

import os
import sys
import time
from pathlib import Path

BINS, MAX_SLOTS = 16, 4
SCHEMA = "slot int, epoch long, executor long, rows long, total long"


def executor() -> int:
    """The executor's JVM: the parent of the daemon that forked this Python worker."""
    return int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])


def tell(context):
    """How many rows the slot's keys have had, and who counted."""
    import pyarrow as pa

    seen, keys = context.table("seen"), context.rows.select(["key"])
    counts: dict[int, int] = {}
    for key in keys.column(0).to_pylist():
        counts[key] = counts.get(key, 0) + 1
    known = pa.record_batch([pa.array(list(counts), pa.int64())], ["key"])
    after = [(old or 0) + counts[k] for k, old in zip(counts, seen.get(known).column(0).to_pylist())]
    seen.put(pa.record_batch([known.column(0), pa.array(after, pa.int64())], ["key", "count"]))
    told = [[context.slot], [context.epoch], [executor()], [keys.num_rows], [sum(after)]]
    types = [pa.int32(), *[pa.int64()] * 4]
    return pa.record_batch(
        [pa.array(v, t) for v, t in zip(told, types)], ["slot", "epoch", "executor", "rows", "total"]
    )


def executors(spark) -> set[int]:
    """The executors that take tasks at present."""

    def who(batches):
        import pyarrow as pa

        for _ in batches:
            time.sleep(0.3)
            yield pa.record_batch([pa.array([executor()])], ["who"])

    return {row["who"] for row in spark.range(0, 8, 1, 8).mapInArrow(who, "who long").collect()}


def session(master: str):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("whimbrel cluster test")
    for name, value in {
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "1g",
        "spark.executor.cores": "2" if master.startswith("spark://") else "1",
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        "spark.locality.wait": os.environ.get("LOCALITY_WAIT", "0s"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main(folder: Path, master: str) -> None:
    import whimbrel as wb
    from whimbrel.bench.epochs import Follower
    from whimbrel.bench.streams import KeyStream
    from whimbrel.migration import Pacing
    from whimbrel.model import Assignment

    spark = session(master)
    job = wb.job(spark, "cluster", max_slots=MAX_SLOTS, bins=BINS, slots=2, directory=folder / "job")
    tables = {"seen": ("key long", "count long")}
    told = job.unary(KeyStream(100, 400).read(spark), "key", tell, SCHEMA, tables=tables)
    follower = Follower(job.writer(told).format("parquet").option("path", str(folder / "out")).start())
    follower.epochs(4)
    if master.startswith("spark://"):
        (folder / "join").touch()
        deadline = time.monotonic() + 120
        while len(executors(spark)) < 2 and time.monotonic() < deadline:
            time.sleep(0.5)
    (folder / "rescaled").write_text(str(follower.newest))
    job.board.post_target(Assignment.even(BINS, MAX_SLOTS), Pacing.of("batched", size=8))
    follower.until(lambda: job.status().settled, 240)
    follower.epochs(6)
    follower.stop()
    assert job.audit().ok, job.audit()
    job.close()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

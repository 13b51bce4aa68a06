"""Every operator over one small numbered stream, with what it must have emitted and must hold after so many epochs.

Row n has the key 7 n modulo 41, so of the even rows of an epoch no two share a key, nor of the odd ones; its time is n
steps; its value is n. A key comes back after 41 steps, so that of every two neighbours of a key one is even and one odd;
sessions leave out every third row, so that they end. The answers are recounted in plain Python from the numbers alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa

import whimbrel as wb

ROWS, KEYS, STEP_MS = 80, 41, 25
"""Two seconds of event time in an epoch."""
DELAY_MS, WINDOW_MS, GAP_MS, WITHIN_MS, LATER_MS = 1_000, 5_000, 1_500, 1_100, 3_000
START = datetime(1970, 1, 1, tzinfo=timezone.utc)


def key(n: int) -> int:
    return 7 * n % KEYS


def read(spark: Any) -> Any:
    """The stream: key, at, n."""
    rate = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS).option("numPartitions", 2).load()
    return rate.selectExpr(f"(7 * value) % {KEYS} AS key", f"timestamp_millis(value * {STEP_MS}) AS at", "value AS n")


def watermark_ms(epochs: int) -> int:
    """The watermark of the last of so many epochs: Spark takes up an epoch's times in the next one."""
    return max(0, (ROWS * (epochs - 1) - 1) * STEP_MS - DELAY_MS) if epochs > 1 else 0


def instant(ms: int) -> str:
    return (START + timedelta(milliseconds=ms)).strftime("%H:%M:%S.%f")


def plain(value: Any) -> Any:
    return value.strftime("%H:%M:%S.%f") if isinstance(value, datetime) else value


@dataclass(frozen=True)
class Case:
    """``table`` holds ``columns``; ``emitted`` and ``held`` are the answers after so many epochs."""

    operator: str
    build: Callable[[Any, Any], Any]
    emitted: Callable[[int], Iterable[tuple]]
    table: str
    columns: tuple[str, ...]
    held: Callable[[int], Iterable[tuple]]


def halves(rows: Any) -> tuple[Any, Any]:
    return rows.where("n % 2 = 1"), rows.where("n % 2 = 0")


def _by_epoch(epochs: int, entry: Callable[[int, list[int]], tuple]) -> Iterable[tuple]:
    """One row per key and epoch in which it has rows: ``entry(key, all its numbers so far)``."""
    numbers: dict[int, list[int]] = defaultdict(list)
    for epoch in range(epochs):
        touched = set()
        for n in range(epoch * ROWS, (epoch + 1) * ROWS):
            numbers[key(n)].append(n)
            touched.add(key(n))
        yield from (entry(k, numbers[k]) for k in touched)


def _per_key(epochs: int, entry: Callable[[int, list[int]], tuple]) -> Iterable[tuple]:
    return [entry(k, [n for n in range(epochs * ROWS) if key(n) == k]) for k in range(KEYS)]


def count_and_sum(k: int, numbers: list[int]) -> tuple:
    return k, len(numbers), sum(numbers)


def fold(state: Any, rows: list[Any]) -> tuple[int, int]:
    before, total = (state.count, state.total) if state else (0, 0)
    return before + len(rows), total + sum(row.n for row in rows)


def all_windows(epochs: int) -> Counter[tuple[int, int]]:
    return Counter((n * STEP_MS // WINDOW_MS * WINDOW_MS, key(n)) for n in range(epochs * ROWS))


def closed_windows(epochs: int) -> Iterable[tuple]:
    closed = watermark_ms(epochs)
    return [(instant(s), k, c) for (s, k), c in all_windows(epochs).items() if s + WINDOW_MS <= closed]


def open_windows(epochs: int) -> Iterable[tuple]:
    closed = watermark_ms(epochs)
    return [(instant(s), k, c) for (s, k), c in all_windows(epochs).items() if s + WINDOW_MS > closed]


def all_sessions(epochs: int) -> Iterable[tuple[int, int, int, int]]:
    """(start, end, key, rows) of every session."""
    for k in range(KEYS):
        times = [n * STEP_MS for n in range(epochs * ROWS) if key(n) == k and n % 3]
        group: list[int] = []
        for at in times:
            if group and at > group[-1] + GAP_MS:
                yield group[0], group[-1] + GAP_MS, k, len(group)
                group = []
            group.append(at)
        if group:
            yield group[0], group[-1] + GAP_MS, k, len(group)


def closed_sessions(epochs: int) -> Iterable[tuple]:
    closed = watermark_ms(epochs)
    return [(instant(s), instant(e), k, c) for s, e, k, c in all_sessions(epochs) if e <= closed]


def open_sessions(epochs: int) -> Iterable[tuple]:
    closed = watermark_ms(epochs)
    return [(k, instant(s)) for s, e, k, _ in all_sessions(epochs) if e > closed]


def pairs(epochs: int) -> Iterable[tuple]:
    lefts = [n for n in range(epochs * ROWS) if n % 2]
    reach = WITHIN_MS // STEP_MS
    for n in lefts:
        for m in range(max(1, n - reach), min(epochs * ROWS, n + reach + 1)):
            if m % 2 == 0 and key(m) == key(n):
                yield key(n), n, m


def enriched(epochs: int) -> Iterable[tuple]:
    newest: dict[int, int] = {}
    for epoch in range(epochs):
        numbers = range(epoch * ROWS, (epoch + 1) * ROWS)
        newest.update({key(n): n for n in numbers if n % 2 == 0})
        yield from ((key(n), n, newest.get(key(n))) for n in numbers if n % 2)


def newest_values(epochs: int) -> Iterable[tuple]:
    return {key(n): (key(n), n) for n in range(epochs * ROWS) if n % 2 == 0}.values()


def remind(context: Any) -> Any:
    """Every row comes back three seconds of event time later; a table counts a key's rows."""
    rows = context.rows
    if rows.num_rows:
        at_ms = rows.column("at").cast(pa.timestamp("ms")).cast(pa.int64()).to_numpy(zero_copy_only=False)
        context.schedule(at_ms + LATER_MS, rows.select(["key", "n"]))
        counts = Counter(rows.column("key").to_pylist())
        known = pa.record_batch([pa.array(list(counts), pa.int64())], ["key"])
        before = context.table("seen").get(known).column(0).to_pylist()
        after = [(old or 0) + counts[k] for k, old in zip(counts, before)]
        context.table("seen").put(pa.record_batch([known.column(0), pa.array(after, pa.int64())], ["key", "count"]))
    return context.due.select(["key", "n"])


def reminded(epochs: int) -> Iterable[tuple]:
    due = watermark_ms(epochs)
    return [(key(n), n) for n in range(epochs * ROWS) if n * STEP_MS + LATER_MS < due]


def meet(context: Any) -> Any:
    """Every right row with how many left rows its key has had, those of this epoch included."""
    seen, left, right = context.table("seen"), context.rows, context.others
    if left.num_rows:
        counts = Counter(left.column("key").to_pylist())
        known = pa.record_batch([pa.array(list(counts), pa.int64())], ["key"])
        before = seen.get(known).column(0).to_pylist()
        after = [(old or 0) + counts[k] for k, old in zip(counts, before)]
        seen.put(pa.record_batch([known.column(0), pa.array(after, pa.int64())], ["key", "count"]))
    if not right.num_rows:
        return None
    met = seen.get(right.select(["key"])).column(0).fill_null(0)
    return pa.record_batch([right.column("key"), right.column("m"), met], ["key", "m", "count"])


def met(epochs: int) -> Iterable[tuple]:
    counts: Counter[int] = Counter()
    for epoch in range(epochs):
        numbers = range(epoch * ROWS, (epoch + 1) * ROWS)
        counts.update(key(n) for n in numbers if n % 2)
        yield from ((key(n), n, counts[key(n)]) for n in numbers if n % 2 == 0)


def odd_counts(epochs: int) -> Iterable[tuple]:
    return Counter(key(n) for n in range(epochs * ROWS) if n % 2).items()


def _totals() -> Any:
    import pandas as pd
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Total(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self._total = handle.getValueState("total", "count long, total long")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
            numbers = [int(n) for frame in rows for n in frame["n"]]
            before = self._total.get() or (0, 0)
            after = (before[0] + len(numbers), before[1] + sum(numbers))
            self._total.update(after)
            yield pd.DataFrame({"key": [key[0]], "count": [after[0]], "total": [after[1]]})

        def close(self) -> None:
            pass

    return Total()


def _join(job: Any, rows: Any) -> Any:
    # Spark's joins drop a row of the very instant 1970 as late, and so do ours.
    left, right = halves(rows.where("n > 0"))
    right = right.selectExpr("key", "at AS then", "n AS m")
    times = {"left_time": "at", "right_time": "then", "within": f"{WITHIN_MS} milliseconds", "watermark": "1 second"}
    return job.join(left, right, "key", **times).select("key", "n", "m")


def _enrich(job: Any, rows: Any) -> Any:
    left, right = halves(rows)
    return job.enrich(left.select("key", "n"), right.selectExpr("key", "n AS m"), "key")


def _binary(job: Any, rows: Any) -> Any:
    left, right = halves(rows)
    tables = {"seen": ("key long", "count long")}
    right = right.selectExpr("key", "n AS m")
    return job.binary(left.select("key", "n"), right, "key", "key", meet, "key long, m long, count long", tables=tables)


def _unary(job: Any, rows: Any) -> Any:
    tables = {"seen": ("key long", "count long")}
    timed = {"time": "at", "watermark": "1 second", "schedules": "key long, n long"}
    return job.unary(rows, "key", remind, "key long, n long", tables=tables, **timed)


def _windows(job: Any, rows: Any) -> Any:
    found = job.windows(rows, "key", time="at", length="5 seconds", watermark="1 second", count=wb.count())
    return found.selectExpr("window.start AS start", "key", "count")


def _sessions(job: Any, rows: Any) -> Any:
    rows = rows.where("n % 3 <> 0")
    found = job.sessions(rows, "key", time="at", gap=f"{GAP_MS} milliseconds", watermark="1 second", count=wb.count())
    return found.selectExpr("window.start AS start", "window.end AS end", "key", "count")


def _lengths(k: int, numbers: list[int]) -> tuple:
    return k, len(numbers)


CASES = {
    "aggregate": Case(
        "aggregate",
        lambda job, rows: job.aggregate(rows, "key", count=wb.count(), total=wb.sum_of("n")),
        lambda epochs: _by_epoch(epochs, count_and_sum),
        "keys",
        ("key", "count"),
        lambda epochs: _per_key(epochs, _lengths),
    ),
    "state_machine": Case(
        "state_machine",
        lambda job, rows: job.state_machine(rows, "key", fold, "key long, count long, total long"),
        lambda epochs: _by_epoch(epochs, count_and_sum),
        "keys",
        ("key", "count", "total"),
        lambda epochs: _per_key(epochs, count_and_sum),
    ),
    "processor": Case(
        "processor",
        lambda job, rows: job.processor(rows, "key", _totals(), "key long, count long, total long"),
        lambda epochs: _by_epoch(epochs, count_and_sum),
        "",
        (),
        lambda epochs: (),
    ),
    "dedup": Case(
        "dedup",
        lambda job, rows: job.dedup(rows, "key").select("key"),
        lambda epochs: [(k,) for k in range(KEYS)],
        "seen",
        ("key",),
        lambda epochs: [(k,) for k in range(KEYS)],
    ),
    "windows": Case("windows", _windows, closed_windows, "windows", ("window_start", "key", "count"), open_windows),
    "sessions": Case("sessions", _sessions, closed_sessions, "", (), open_sessions),
    "join": Case("join", _join, pairs, "", (), lambda epochs: ()),
    "enrich": Case("enrich", _enrich, enriched, "", (), newest_values),
    "unary": Case("unary", _unary, reminded, "seen", ("key", "count"), lambda epochs: _per_key(epochs, _lengths)),
    "binary": Case("binary", _binary, met, "seen", ("key", "count"), odd_counts),
}

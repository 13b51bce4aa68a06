"""``whimbrel bench bins``: what being migratable costs: the same counter with one bin per slot, and with many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whimbrel.bench.choosing import announced, wanted
from whimbrel.bench.keycount import Settings, measure
from whimbrel.bench.session import bench_session

BITS = (2, 4, 6, 8, 10, 12, 14)
"""Two bits are one bin for each of four slots: the operator without the means to migrate."""
SECONDS = 8.0
ROWS_PER_EPOCH = 4_000_000


def run(options: Mapping[str, Any]) -> dict[str, Any]:
    """One record per number of bins, with the throughput as a share of the first one's."""
    chosen = {k: v for k, v in options.items() if k in Settings.__dataclass_fields__ and v is not None}
    given: dict[str, Any] = {"seconds": SECONDS, "rows": ROWS_PER_EPOCH, **chosen}
    wanted(options, ("whimbrel",))
    results: list[dict[str, Any]] = []
    with bench_session() as spark:
        measure(spark, "whimbrel", Settings(**{**given, "seconds": 0.0}))
        powers = [int(bits) for bits in options.get("bits") or BITS]
        for bits, _ in zip(powers, announced(options, [f"2^{bits} bins" for bits in powers]), strict=True):
            record = measure(spark, "whimbrel", Settings(**{**given, "bins": 1 << bits}))
            first = results[0]["rows_per_second"] if results else record["rows_per_second"]
            results.append(
                {"bins": 1 << bits, **record, "share_of_one_bin_per_slot": record["rows_per_second"] / max(1, first)}
            )
    return {"bench": "bins", "results": results}

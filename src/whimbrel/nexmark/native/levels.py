"""The levels of price that the statistics tell apart, as conditions; the first holds for every bid."""

from __future__ import annotations

LEVELS = {
    "total": "true",
    "rank1": "price < 10000",
    "rank2": "price >= 10000 AND price < 1000000",
    "rank3": "price >= 1000000",
}

"""The three levels of price that the statistics tell apart, as columns of 0 and 1."""

from __future__ import annotations

LEVELS = {
    "rank1": "CASE WHEN price < 10000 THEN 1 ELSE 0 END AS rank1",
    "rank2": "CASE WHEN price >= 10000 AND price < 1000000 THEN 1 ELSE 0 END AS rank2",
    "rank3": "CASE WHEN price >= 1000000 THEN 1 ELSE 0 END AS rank3",
}
"""From a level's name to the column that says whether a bid is of it. A bid without a price is of none."""

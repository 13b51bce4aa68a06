"""Ids that occur twice among the people or auctions of an input, where a query takes them to be unique.

A query that meets its rows by id keeps one of several records with the same id, or meets each of them; a reference over
all events at once may choose otherwise. Such an answer is not wrong by any rule, so it is given, and said to be doubtful.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

MET_BY_ID = {"q3": "person", "q4": "auction", "q6": "auction", "q8": "person", "q9": "auction", "q20": "auction"}
"""The queries that find records by id, with the kind of these records."""


def repeated_ids(query: str, events: pa.Table) -> int:
    """How many ids occur more than once among the records that the query finds by id; 0 where it finds none so.

    ``events`` has one row per event, with a struct for each kind.
    """
    if query not in MET_BY_ID:
        return 0
    ids = pc.drop_null(pc.struct_field(events.column(MET_BY_ID[query]), "id"))
    counts = pc.value_counts(ids).field("counts")
    return int(pc.sum(pc.greater(counts, 1)).as_py() or 0)


def doubt(query: str, count: int) -> str:
    """One line on what repeated ids mean for the query's answer."""
    kinds = {"person": "people", "auction": "auctions"}[MET_BY_ID[query]]
    effect = (
        "each pair is joined" if query == "q20" else "which of them counts is not defined, and references may differ"
    )
    return f"{query}: {count:,} ids are shared by several {kinds}; {effect}"

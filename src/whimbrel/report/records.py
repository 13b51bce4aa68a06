"""Records as one table: every name that any of them has is a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def records_table(records: Sequence[Mapping[str, Any]]) -> pa.Table:
    """The records as an Arrow table, null where one lacks a name; columns in the order in which they first come.

    >>> records_table([{"system": "identity"}, {"system": "whimbrel", "moves": 3}]).to_pydict()
    {'system': ['identity', 'whimbrel'], 'moves': [None, 3]}
    """
    import pyarrow as pa

    names = dict.fromkeys(name for record in records for name in record)
    return pa.table({name: pa.array([record.get(name) for record in records]) for name in names})

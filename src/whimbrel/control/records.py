"""What may be posted to a job's control log, as data: anyone may post, nobody decides alone.

A record is a wish. It takes effect when an epoch's seal says so.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from whimbrel.model.errors import Damaged


@dataclass(frozen=True, slots=True)
class PlanPosted:
    """A target assignment to reach, and the pacing that turns it into steps."""

    target: tuple[int, ...]
    pacing: dict[str, Any]
    planner: str = ""
    cost_bytes: int = 0
    lower_bound_bytes: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Paused:
    """No new step until a Resumed record; the step in flight completes."""

    note: str = ""


@dataclass(frozen=True, slots=True)
class Resumed:
    """Steps may be sealed again."""

    note: str = ""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The plan in progress and those waiting end where they stand; the assignment stays a consistent one."""

    note: str = ""


@dataclass(frozen=True, slots=True)
class RolledBack:
    """The plan in progress and those waiting end, and the job returns to where the plan in progress began; where none is
    in progress, to where the last one that moved anything began. The epoch that reads this record decides which it is.
    """

    pacing: dict[str, Any]
    note: str = ""


Migration = PlanPosted | RolledBack
"""A record that may move bins."""
Record = PlanPosted | Paused | Resumed | Cancelled | RolledBack
_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (PlanPosted, Paused, Resumed, Cancelled, RolledBack)}


@dataclass(frozen=True, slots=True)
class Numbered:
    """A record with its place in the log: places count from 1 and have no holes."""

    number: int
    record: Record
    posted_at_ms: int = field(default=0)


def encode_record(record: Record, posted_at_ms: int) -> bytes:
    """The record as JSON."""
    return json.dumps({"kind": type(record).__name__, "posted_at_ms": posted_at_ms, **asdict(record)}).encode()


def decode_record(number: int, data: bytes, where: str) -> Numbered:
    """The record that ``encode_record`` wrote; Damaged where the kind is unknown."""
    fields = json.loads(data)
    kind = fields.pop("kind")
    posted_at_ms = fields.pop("posted_at_ms")
    if kind not in _KINDS:
        raise Damaged(
            f"{where}: records of kind {kind!r} are unknown to this version; upgrade whimbrel on this machine"
        )
    if kind == "PlanPosted":
        fields["target"] = tuple(fields["target"])
    return Numbered(number, _KINDS[kind](**fields), posted_at_ms)

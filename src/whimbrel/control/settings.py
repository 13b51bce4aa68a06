"""What is fixed for the life of a job: its bins, its slots at most, where its bins begin, and its operators.

Written once when the directory is made. A later start with other values is refused: state already rests under
the old ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from whimbrel.control.stores import Store
from whimbrel.model.errors import BadInput, JobMismatch
from whimbrel.state.frames import open_frame, seal_frame

NAME = "control/job"
GROWN = "control/grown"
EARLIER = "earlier"
"""The field of a grown operator's description that holds the tables it had before, oldest first."""
SINCE = "since"
"""The field that holds the newest epoch that was committed when a grown operator's description was written."""
NUMBER, FOLLOWS = "number", "follows"
"""The number of a description among those of its operator, and the numbers of those whose state it can take over."""
HISTORY = (EARLIER, SINCE, NUMBER, FOLLOWS)
"""What a description says of its past; the other fields say what the operator is."""
BINS_MAX = 1 << 16


@dataclass(frozen=True, slots=True)
class JobSettings:
    """The fixed numbers of a job. ``slots`` is how many are active in the first epoch."""

    name: str
    bins: int
    max_slots: int
    slots: int

    def __post_init__(self) -> None:
        if not (1 <= self.bins <= BINS_MAX and self.bins & (self.bins - 1) == 0):
            raise BadInput(f"bins is {self.bins}: it must be a power of two from 1 to {BINS_MAX}, for example 256")
        if self.max_slots < 1:
            raise BadInput(f"max_slots is {self.max_slots}: it must be 1 or more")
        if not 1 <= self.slots <= self.max_slots:
            raise BadInput(f"slots is {self.slots}: it must lie between 1 and max_slots ({self.max_slots})")

    @property
    def bin_bits(self) -> int:
        """How many top bits of the hash name the bin."""
        return self.bins.bit_length() - 1


def fix_settings(store: Store, wanted: JobSettings, directory: str) -> JobSettings:
    """Write the settings of a new job, or compare with those of an existing one and return these."""
    store.put_if_absent(NAME, seal_frame("job", json.dumps(asdict(wanted)).encode()))
    fixed = read_settings(store, directory)
    for field in ("name", "bins", "max_slots"):
        was, now = getattr(fixed, field), getattr(wanted, field)
        if was != now:
            raise JobMismatch(
                f"{directory} was made with {field}={was!r} and cannot continue with {now!r}; "
                f"pass {field}={was!r}, or choose another directory for a new job"
            )
    return fixed


def read_settings(store: Store, directory: str) -> JobSettings:
    """The settings of an existing job; BadInput where the directory is no job."""
    data = store.get(NAME)
    if data is None:
        raise BadInput(f"{directory} is no Whimbrel job: it has no {NAME}; name the directory given to whimbrel.job()")
    return JobSettings(**json.loads(open_frame("job", data, f"{directory}/{NAME}")))


def fix_operator(
    store: Store,
    name: str,
    description: dict[str, Any],
    directory: str,
    why_not: Callable[[dict[str, Any], dict[str, Any]], str],
    committed: int,
) -> dict[str, Any]:
    """Write an operator's description, or compare with the one that its state rests on; returns what holds from now on.

    An operator may grow: ``why_not(was, now)`` says in words why it may not, and a grown one is written beside the
    older, whose tables it names under ``earlier``. State rests on a description once an epoch was committed under it;
    until then (``committed`` is the newest such epoch, or -1) it binds nobody. Raises JobMismatch.
    """
    wanted = json.loads(json.dumps(description))
    store.put_if_absent(f"control/operators/{name}", _sealed(wanted))
    known = _described(store, name, directory)
    if _what(known[-1]) == _what(wanted):
        return known[-1]
    in_use = [was for was in known if was.get(SINCE, -1) < committed]
    problem = why_not(in_use[-1], wanted) if in_use else ""
    if problem:
        raise JobMismatch(
            f"operator {name!r} of {directory} {problem}; restore it as it was, or choose another directory for a new job"
        )
    past = {
        EARLIER: [was["schemas"] for was in in_use],
        SINCE: committed,
        FOLLOWS: [was[NUMBER] for was in in_use],
    }
    store.put_if_absent(f"{GROWN}/{name}/{len(known):06d}", _sealed(wanted | past))
    return _described(store, name, directory)[-1]


def operators(store: Store) -> dict[str, dict[str, Any]]:
    """The newest descriptions of all operators of the job, by name."""
    return {name: _described(store, name, "the job")[-1] for name in store.names("control/operators")}


def _described(store: Store, name: str, directory: str) -> list[dict[str, Any]]:
    """Every description that an operator has had, oldest first."""
    paths = [f"control/operators/{name}", *(f"{GROWN}/{name}/{number}" for number in store.names(f"{GROWN}/{name}"))]
    return [
        json.loads(open_frame("operator", store.get(path) or b"", f"{directory}/{path}")) | {NUMBER: number}
        for number, path in enumerate(paths)
    ]


def _what(description: dict[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in description.items() if field not in HISTORY}


def _sealed(description: dict[str, Any]) -> bytes:
    return seal_frame("operator", json.dumps(description, sort_keys=True).encode())

"""What is fixed for the life of a job: its bins, its slots at most, where its bins begin, and its operators.

Written once when the directory is made. A later start with other values is refused: state already rests under
the old ones.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from whimbrel.control.stores import Store
from whimbrel.model.errors import BadInput, JobMismatch
from whimbrel.state.frames import open_frame, seal_frame

NAME = "control/job"
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


def fix_operator(store: Store, name: str, description: dict[str, Any], directory: str) -> None:
    """Write an operator's description once; JobMismatch where a restart describes it differently."""
    path = f"control/operators/{name}"
    text = json.dumps(description, sort_keys=True)
    store.put_if_absent(path, seal_frame("operator", text.encode()))
    fixed = json.loads(open_frame("operator", store.get(path) or b"", f"{directory}/{path}"))
    for field, was in fixed.items():
        now = description.get(field)
        if json.loads(json.dumps(now)) != was:
            raise JobMismatch(
                f"operator {name!r} of {directory} rests on {field}={was!r} and cannot continue with {now!r}; "
                "restore it, or give the operator another name"
            )


def operators(store: Store) -> dict[str, dict[str, Any]]:
    """The descriptions of all operators of the job, by name."""
    found = {}
    for name in store.names("control/operators"):
        path = f"control/operators/{name}"
        found[name] = json.loads(open_frame("operator", store.get(path) or b"", path))
    return found

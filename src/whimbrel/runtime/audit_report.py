"""The judgement of an audit: from what was found in every slot, whether all of it adds up. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from whimbrel.control.seal import Seal
from whimbrel.control.stamped import StampedAssignment

COMPLAINTS_SHOWN = 10
"""How many complaints about bins are told; where everything is wrong, ten say so as well as ten thousand."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found in one slot: a bin with its stamp and its rows; without a bin the rows that the slot took in, or a
    fault."""

    operator: str | None = None
    slot: int | None = None
    bin: int | None = None
    stamp: int | None = None
    rows: int | None = None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What the audit found as of ``epoch``. ``bins`` counts those with exactly one owner in every operator.

    ``rows`` are accounted to bins, which move; ``rows_in`` were taken in by slots, which do not. Equal sums, operator by
    operator, say that no bin was lost, doubled or replaced by an older copy of itself on its way.
    """

    epoch: int
    bins: int
    owners_ok: bool
    rows: int
    rows_in: int
    rows_ok: bool
    digest_ok: bool
    operators: dict[str, int]
    travelling: int
    faults: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether every proof held."""
        return self.owners_ok and self.rows_ok and self.digest_ok

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        return asdict(self) | {"ok": self.ok}

    @staticmethod
    def unreadable(seal: Seal, faults: Sequence[str]) -> AuditReport:
        """The report where not even the map of the epoch can be read."""
        return AuditReport(seal.epoch, 0, False, 0, 0, False, False, {}, _travelling(seal), tuple(faults))


def judge(found: Sequence[Finding], seal: Seal, stamped: StampedAssignment, faults: Sequence[str]) -> AuditReport:
    """Compare what was found with the seal and its map; ``faults`` are those of the control objects."""
    current = [f for f in found if f.bin is not None and _is_current(f, stamped)]
    owners = Counter((f.operator, f.bin) for f in current)
    rows, rows_in = _sums(current), _sums([f for f in found if f.bin is None and f.operator])
    names = sorted({f.operator for f in found if f.operator})
    bins = range(stamped.assignment.bins)
    unread = [f"{_where(f)}: {f.fault}" for f in found if f.fault]
    owned = [
        f"operator {name}: bin {b} has {owners[name, b]} owners" for name in names for b in bins if owners[name, b] != 1
    ]
    lost = list(_lost(names, rows, rows_in))
    return AuditReport(
        epoch=seal.epoch,
        bins=sum(all(owners[name, b] == 1 for name in names) for b in bins) if names else 0,
        owners_ok=not owned and bool(names),
        rows=sum(rows.values()),
        rows_in=sum(rows_in.values()),
        rows_ok=not lost,
        digest_ok=not unread and not faults,
        operators={name: rows[name] for name in names},
        travelling=_travelling(seal),
        faults=(*unread, *faults, *owned[:COMPLAINTS_SHOWN], *lost),
    )


def _is_current(found: Finding, stamped: StampedAssignment) -> bool:
    b = found.bin
    if b is None or not 0 <= b < stamped.assignment.bins:
        return False
    return stamped.assignment.owner[b] == found.slot and stamped.stamp[b] == found.stamp


def _sums(found: Sequence[Finding]) -> Counter[str]:
    total: Counter[str] = Counter()
    for each in found:
        total[str(each.operator)] += int(each.rows or 0)
    return total


def _lost(names: Sequence[str], rows: Counter[str], rows_in: Counter[str]) -> Iterator[str]:
    for name in names:
        if rows[name] != rows_in[name]:
            yield f"operator {name}: its bins account for {rows[name]} rows, and its slots took in {rows_in[name]}"


def _where(found: Finding) -> str:
    return "the state" if found.slot is None else f"operator {found.operator or '?'} slot {found.slot}"


def _travelling(seal: Seal) -> int:
    return len(seal.leaving.moves) + len(seal.arriving.moves) + len(seal.releasing.moves)

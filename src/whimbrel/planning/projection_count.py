"""How many feasible partitions there are, exactly, before anyone tries to list them.

A partition cuts the bins into at most ``slots`` non-empty intervals, each within the limit. Slots that are left over
stay empty, so the same cuts may be a partition of several slot counts. The counts are Python integers: at a large tau
they have more digits than a machine word.
"""

from __future__ import annotations

from dataclasses import dataclass

from whimbrel.model import BadInput
from whimbrel.planning.projection_instance import ProjectionInstance
from whimbrel.planning.projection_reach import Reach, reach

DEFAULT_MOST = 2_000_000
"""The most partitions that an exact projection takes on without being told to."""

SECONDS_PER_SEARCH = 5e-6
"""Time of one minimisation over a slot count's partitions, nearly all of them pruned, measured at 1e5 partitions."""

TYPICAL_SWEEPS = 8


@dataclass(frozen=True)
class Census:
    """The number of feasible partitions of each slot count, and what projecting them would take."""

    counts: dict[int, int]

    @property
    def total(self) -> int:
        """All states of the decision process."""
        return sum(self.counts.values())

    @property
    def seconds(self) -> float:
        """A rough estimate of the time on one core; right within a small factor near 1e5 partitions."""
        return float(self.total) * len(self.counts) * SECONDS_PER_SEARCH * TYPICAL_SWEEPS


def partitions(bounds: Reach) -> int:
    """The number of ways to cut the bins into at most ``slots`` non-empty intervals within the limit."""
    return sum(partitions_by_intervals(bounds))


def partitions_by_intervals(bounds: Reach) -> list[int]:
    """Entry k: the number of partitions into exactly k + 1 non-empty intervals, for k + 1 up to ``slots`` or the
    number of bins, whichever is less.

    >>> from whimbrel.model import Load
    >>> partitions_by_intervals(reach(Load((1,) * 4, (1,) * 4), slots=3, tau=0.5))
    [0, 1, 3]
    """
    bins = bounds.bins
    ways = [0] * bins + [1]
    counts = []
    for _ in range(min(bounds.slots, bins)):
        suffix = _suffix_sums(ways)
        ways = [suffix[x + 1] - suffix[int(bounds.furthest[x]) + 1] for x in range(bins)] + [0]
        counts.append(ways[0])
    return counts


def _suffix_sums(values: list[int]) -> list[int]:
    sums = [0] * (len(values) + 1)
    for x in range(len(values) - 1, -1, -1):
        sums[x] = sums[x + 1] + values[x]
    return sums


def census(instance: ProjectionInstance) -> Census:
    """Counts the feasible partitions of every slot count of the instance; zero is an answer, not an error."""
    counts = {slots: partitions(reach(instance.load, slots, instance.tau)) for slots in instance.states}
    return Census(counts)


def refuse_if_too_many(found: Census, most: int = DEFAULT_MOST) -> None:
    """Raises BadInput with the count and an estimate of the time where there are more than ``most`` partitions."""
    if found.total > most:
        raise BadInput(
            f"{found.total:,} partitions are feasible, more than {most:,}: an exact projection would take about "
            f"{duration(found.seconds)} on one core; lower tau, name fewer states, or use the additive method"
        )
    if found.total == 0:
        raise BadInput(
            f"no partition is feasible for any of the slot counts {list(found.counts)}: "
            "a bin or the balance exceeds the limit; raise tau"
        )


def duration(seconds: float) -> str:
    """A time for people: the two largest sensible units' worth of precision and no more.

    >>> duration(90)
    '1.5 minutes'
    """
    for unit, length in (("years", 31_557_600.0), ("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0)):
        if seconds >= length:
            return f"{seconds / length:,.3g} {unit}" if seconds / length < 1e6 else f"{seconds / length:.1e} {unit}"
    return f"{seconds:.3g} seconds"

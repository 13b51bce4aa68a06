"""Every bench by its name, with the options that it takes: what a bench does not take is refused, never dropped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from whimbrel.model.errors import BadInput


@dataclass(frozen=True, slots=True)
class Bench:
    """A module of this room with ``run(options)``, and the names of its options."""

    module: str
    takes: tuple[str, ...]


def _bench(module: str, takes: str) -> Bench:
    return Bench(f"whimbrel.bench.{module}", tuple(takes.split()))


BENCHES = {
    "keycount": _bench("keycount", "peers seconds keys rows skew kind scale bins"),
    "wordcount": _bench("wordcount", "peers seconds keys rows skew kind scale bins"),
    "rescale": _bench("rescale", "peers seconds keys bins"),
    "held": _bench("held", "peers seconds keys"),
    "endurance": _bench("endurance", "peers keys scale bins"),
    "bins": _bench("bins", "peers seconds keys rows skew kind scale"),
    "operators": _bench("operators", "peers operators seconds keys scale bins"),
    "planner": _bench("planner", "peers seconds"),
    "placement": _bench("placement", "peers seconds scale queries servers steps"),
}
FAMILIES = {
    "nexmark": _bench("nexmark", "peers seconds events bins"),
    "timelines": _bench("nexmark_timelines", "peers seconds rate preload bins"),
}
"""Benches with one name per query, as in ``nexmark-q3``."""
NAMES = f"{', '.join(BENCHES)}, nexmark-qN, nexmark-all or timelines-qN"


def bench_of(name: str) -> tuple[Bench, str]:
    """The bench and the query that a name means; the query is empty where there is none. BadInput for other names.

    >>> bench_of("nexmark-q3")[1], bench_of("bins")[0].module
    ('q3', 'whimbrel.bench.bins')
    """
    family, _, query = name.partition("-")
    if family in FAMILIES and query:
        return FAMILIES[family], query
    if name not in BENCHES:
        raise BadInput(f"there is no bench {name!r}: choose one of {NAMES}")
    return BENCHES[name], ""


def refuse_strangers(name: str, given: Iterable[str]) -> None:
    """Raises BadInput for the first option that the bench would not heed.

    >>> refuse_strangers("held", ["keys"])
    """
    takes = bench_of(name)[0].takes
    for option in given:
        if option not in takes:
            raise BadInput(
                f"bench {name} has no option --{option}: it takes {', '.join(f'--{each}' for each in takes)}"
            )

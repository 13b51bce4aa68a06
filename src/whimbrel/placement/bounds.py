"""Lower bounds on the traffic of every placement that keeps the limits.

**Counting.** The readers of source s bring work W_s; r_s is the fewest servers whose limits add up to W_s. The source
reaches at least r_s servers, so the traffic is at least the sum of w(s) * r_s.

**Sharing.** Let L_j(s) be the work on server j that reads s, and let every query on j pay w(s) * work / L_j(s) for
each of its sources: the payments for s on j add up to w(s), so all payments add up to the traffic. With C the largest
limit, L_j(s) <= min(W_s, C); and the readers of s or t on one server bring L_j(s) + L_j(t) - L_j(s and t) <= C. So a
query that reads s and t pays for the two at least its work times

    the minimum of w(s) / a + w(t) / b  over  a <= min(W_s, C), b <= min(W_t, C), a + b <= C + min(W_st, C),

which has a closed form. A query with d > 2 sources pays the sum over its pairs divided by d - 1.

**Both.** Split the sources in two sets: counting for one, sharing for the other (with the rates of the first set to
zero) is again a bound, because traffic is a sum over sources. The best of three splits is taken.

**Servers.** At least p servers are in use, p the fewest whose limits hold all work; each carries at least one query.
"""

from __future__ import annotations

import numpy as np

from whimbrel.placement.instance import Floats, Integers, PlacementInstance

_MOST_PAIRS = 20_000_000


def lower_bound(instance: PlacementInstance, limits: Integers) -> float:
    """A proved lower bound on the traffic of any placement within ``limits``; 0 without queries."""
    if instance.queries == 0:
        return 0.0
    work_of = _work_per_source(instance)
    reached = servers_needed(work_of, limits)
    counted = instance.rates * reached
    shared = _shared(instance, work_of, limits, instance.rates)
    plain = instance.rates * work_of / np.maximum(1, np.minimum(work_of, limits.max()))
    count_these = counted - plain >= shared - plain
    mixed = counted[count_these].sum()
    rest = np.where(count_these, 0.0, instance.rates)
    mixed += _shared(instance, work_of, limits, rest).sum()
    needed = int(servers_needed(np.asarray([instance.total_work]), limits)[0])
    return float(max(counted.sum(), shared.sum(), mixed, needed * _cheapest_query(instance)))


def servers_needed(work: Integers, limits: Integers) -> Integers:
    """The fewest servers whose limits add up to each amount of work; 0 for none."""
    room = np.concatenate(([0], np.cumsum(np.sort(limits)[::-1])))
    return np.searchsorted(room, work, side="left").astype(np.int64)


def _work_per_source(instance: PlacementInstance) -> Integers:
    work = np.repeat(instance.work, instance.degrees)
    return np.bincount(instance.sources, weights=work, minlength=len(instance.rates)).astype(np.int64)


def _cheapest_query(instance: PlacementInstance) -> float:
    return float(np.add.reduceat(instance.rates[instance.sources], instance.offsets[:-1]).min())


def _shared(instance: PlacementInstance, work_of: Integers, limits: Integers, rates: Floats) -> Floats:
    """The sharing bound, booked on sources: what the readers of each source pay for it at least."""
    largest = float(limits.max())
    most = np.minimum(work_of, largest)
    paid = np.zeros(len(rates))
    pairs = _pairs(instance)
    if pairs is None:
        return rates * work_of / np.maximum(1, most)
    first, second, query = pairs
    weight = instance.work[query] / (instance.degrees[query] - 1)
    both = _work_of_pairs(first, second, instance.work[query], len(rates))
    for_first, for_second = _cheapest_pair(rates[first], rates[second], most[first], most[second], largest, both)
    np.add.at(paid, first, weight * for_first)
    np.add.at(paid, second, weight * for_second)
    alone = np.flatnonzero(instance.degrees == 1)
    source = instance.sources[instance.offsets[alone]]
    np.add.at(paid, source, instance.work[alone] * rates[source] / most[source])
    return paid


def _pairs(instance: PlacementInstance) -> tuple[Integers, Integers, Integers] | None:
    degrees = instance.degrees
    if int((degrees * (degrees - 1) // 2).sum()) > _MOST_PAIRS:
        return None
    firsts, seconds, queries = [], [], []
    for degree in np.unique(degrees[degrees > 1]):
        rows = np.flatnonzero(degrees == degree)
        i, j = np.triu_indices(degree, 1)
        starts = instance.offsets[rows][:, None]
        firsts.append(instance.sources[starts + i].ravel())
        seconds.append(instance.sources[starts + j].ravel())
        queries.append(np.repeat(rows, len(i)))
    empty = [np.empty(0, dtype=np.int64)]
    return tuple(np.concatenate(part or empty) for part in (firsts, seconds, queries))  # type: ignore[return-value]


def _work_of_pairs(first: Integers, second: Integers, work: Integers, sources: int) -> Floats:
    _, place = np.unique(first * np.int64(sources) + second, return_inverse=True)
    return np.asarray(np.bincount(place, weights=work)[place] if len(place) else np.empty(0), dtype=np.float64)


def _cheapest_pair(
    w: Floats, v: Floats, most_w: Floats, most_v: Floats, largest: float, both: Floats
) -> tuple[Floats, Floats]:
    """The two terms of min w/a + v/b over a <= most_w, b <= most_v, a + b <= largest + min(both, largest)."""
    budget = largest + np.minimum(both, largest)
    roots = np.sqrt(w) + np.sqrt(v)
    wanted = budget * np.divide(np.sqrt(w), roots, out=np.full_like(roots, 0.5), where=roots > 0)
    a = np.clip(wanted, budget - most_v, most_w)
    tight = most_w + most_v > budget
    a = np.where(tight, a, most_w)
    b = np.where(tight, budget - a, most_v)
    return (
        np.divide(w, a, out=np.zeros_like(w), where=w > 0),
        np.divide(v, b, out=np.zeros_like(v), where=v > 0),
    )

"""The algorithms of Zong et al. in plain Python, straight from their sentences: slow, obvious, with the same ties.

Nothing of the product is used: an instance is (rates, queries, servers), a limit is a number, a rank a list.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

Query = tuple[int, ...]


def offline_limits(total, capacities, nu):
    whole = sum(capacities)
    return [math.floor((1 + Fraction(nu)) * total * c / whole) for c in capacities]


def online_limit(arrived, capacity, whole, nu, alpha):
    share = Fraction(arrived * capacity, whole)
    return math.floor(max((1 + Fraction(nu)) * share, share + Fraction(alpha)))


def types_of(queries, work):
    """Types by first arrival: (list of (sources, work), type of each query)."""
    number: dict[tuple[Query, int], int] = {}
    of = [number.setdefault((tuple(sorted(q)), w), len(number)) for q, w in zip(queries, work)]
    return list(number), of


def traffic(rates, queries, server):
    return math.fsum(rates[s] for j, s in {(j, s) for q, j in zip(queries, server) for s in q})


def added(rates, sources, received):
    total = 0.0
    for s in sources:
        if s not in received:
            total += rates[s]
    return total


def by_rounds(rates, queries, work, limits, rank, key):
    """IC and MMS: in every round the pair (type, server) with the least key, ties by type rank, then server."""
    types, of = types_of(queries, work)
    left = [of.count(t) for t in range(len(types))]
    free, received = list(limits), [set() for _ in limits]
    carried = [0.0] * len(limits)
    homes = [[] for _ in types]
    while any(left):
        pairs = []
        for t, (sources, w) in enumerate(types):
            for j in range(len(limits)):
                if left[t] and free[j] >= w:
                    extra = added(rates, sources, received[j])
                    pairs.append((key(extra, carried[j]), rank[t], j, t, extra))
        if not pairs:
            return None
        _, _, j, t, extra = min(pairs)
        number = min(left[t], free[j] // types[t][1])
        homes[t] += [j] * number
        left[t] -= number
        free[j] -= number * types[t][1]
        carried[j] += extra
        received[j].update(types[t][0])
    return expand(of, homes)


def ic(rates, queries, work, limits, rank):
    return by_rounds(rates, queries, work, limits, rank, lambda extra, carried: extra)


def mms(rates, queries, work, limits, rank):
    return by_rounds(rates, queries, work, limits, rank, lambda extra, carried: carried + extra)


def mqp(queries, work, limits, rank, fill):
    """Server after server: the largest types until theta is reached (or, for fill 'limit', until it is full)."""
    types, of = types_of(queries, work)
    left = [of.count(t) for t in range(len(types))]
    homes = [[] for _ in types]
    order = sorted(range(len(types)), key=lambda t: rank[t])
    for j, limit in enumerate(limits):
        unplaced = sum(left[t] * types[t][1] for t in order)
        theta = limit if fill == "limit" else max(0, unplaced - sum(limits[j + 1 :]))
        taken = 0
        for t in order:
            if taken >= theta:
                break
            number = min(left[t], (limit - taken) // types[t][1])
            homes[t] += [j] * number
            left[t] -= number
            taken += number * types[t][1]
    return None if any(left) else expand(of, homes)


def single_source(rates, queries, limits):
    """Figure 1: the roomiest server, the source with the largest rate, as many as fit."""
    types, of = types_of(queries, [1] * len(queries))
    left = [of.count(t) for t in range(len(types))]
    free, homes = list(limits), [[] for _ in types]
    while any(left):
        j = max(range(len(free)), key=lambda i: (free[i], -i))
        t = max((t for t in range(len(types)) if left[t]), key=lambda t: (rates[types[t][0][0]], -t))
        number = min(free[j], left[t])
        if number == 0:
            return None
        homes[t] += [j] * number
        left[t] -= number
        free[j] -= number
    return expand(of, homes)


def off_rand(queries, limits, draws):
    types, of = types_of(queries, [1] * len(queries))
    left = [of.count(t) for t in range(len(types))]
    free, homes = list(limits), [[] for _ in types]
    waiting, roomy = list(range(len(types))), [j for j, room in enumerate(limits) if room > 0]
    for first, second in draws:
        if not waiting:
            break
        place = int(first * len(waiting))
        t, j = waiting[place], roomy[int(second * len(roomy))]
        number = min(left[t], free[j])
        homes[t] += [j] * number
        left[t] -= number
        free[j] -= number
        if free[j] == 0:
            roomy.remove(j)
        if left[t] == 0:
            waiting[place] = waiting[-1]
            waiting.pop()
    return expand(of, homes)


def expand(of, homes):
    """The queries of a type take its servers in the order of the rounds."""
    rest = [iter(home) for home in homes]
    return [next(rest[t]) for t in of]


def online(rates, queries, work, capacities, nu, alpha, metric, kept=None):
    """Figure 2, with the limits of equation (7). ``kept`` is a list of {server: places} per type."""
    types, of = types_of(queries, work)
    servers, whole = range(len(capacities)), sum(capacities)
    loads, received, hosted = [0] * len(capacities), [set() for _ in servers], [set() for _ in servers]
    carried, found, arrived = [0.0] * len(capacities), [], 0
    for q, t in enumerate(of):
        sources, w = types[t]
        arrived += w
        fit = [j for j in servers if loads[j] + w <= online_limit(arrived, capacities[j], whole, nu, alpha)]
        keepers = [j for j in fit if kept and kept[t].get(j, 0) > 0]
        if keepers:
            j = max(keepers, key=lambda i: (kept[t][i], -i))
            kept[t][j] -= 1
        elif fit:
            key = {
                "least-cost": lambda i: added(rates, sources, received[i]),
                "least-source": lambda i: carried[i] + added(rates, sources, received[i]),
                "least-qt": lambda i: len(hosted[i] | {t}),
            }[metric]
            j = min(fit, key=lambda i: (key(i), loads[i] / capacities[i], i))
        else:
            j = min(servers, key=lambda i: ((loads[i] + w) / capacities[i], i))
        carried[j] += added(rates, sources, received[j])
        received[j].update(sources)
        hosted[j].add(t)
        loads[j] += w
        found.append(j)
    return found


class SplitMix64:
    """The published generator, by its definition."""

    def __init__(self, state):
        self.state = int(state)

    def below(self, bound):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
        z ^= z >> 31
        return ((z >> 32) * bound) >> 32


def on_rand(queries, servers, nu, alpha, state, tries):
    """A uniform draw among the servers with room: drawn until one has room, then from the list."""
    random, loads, found = SplitMix64(state), [0] * servers, []
    for q in range(len(queries)):
        limit = online_limit(q + 1, 1, servers, nu, alpha)
        fit = [j for j in range(servers) if loads[j] < limit]
        j = None
        for _ in range(tries):
            drawn = random.below(servers)
            if drawn in fit:
                j = drawn
                break
        if j is None:
            drawn = random.below(len(fit)) if fit else (random.below(1), 0)[1]
            j = fit[drawn] if fit else min(range(servers), key=lambda i: (loads[i], i))
        loads[j] += 1
        found.append(j)
    return found


def optimum(rates, queries, work, limits):
    """The least traffic of all feasible placements, by trying every one; None where there is none."""
    best = None
    for server in itertools.product(range(len(limits)), repeat=len(queries)):
        loads = [0] * len(limits)
        for j, w in zip(server, work):
            loads[j] += w
        if all(load <= limit for load, limit in zip(loads, limits)):
            cost = traffic(rates, queries, server)
            best = cost if best is None else min(best, cost)
    return best

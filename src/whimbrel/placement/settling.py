"""Settling: with every arrival at most one live query moves, to where its sources have more readers.

LeastCost decides with what it has seen so far; most of its excess traffic is early decisions that later arrivals
prove wrong. Looking only at moves that save traffic at once finds few: a source must have a single reader left on a
server before its stream there can end. So a move is judged by the weight w(s) * (1 + 1/2 + ... + 1/c) of c readers of
s on a server, summed over sources and servers: leaving c readers saves w(s)/c, joining c costs w(s)/(c + 1), and
the weight falls with every move. Readers of a source gather, and streams to the lone ones end.

Room means the mean and a little more (``even``), for arrivals as for moves: LeastCost ends as even as that by itself,
because equal candidates go to the emptiest server. With so little room the servers that a query would like best are
often full. So there are two ways to use the one move, and the better one is taken:

* the query goes to the best server with room, and the best of some other queries moves: half of those looked at read a
  source of the arrival, because there something has changed, and half are drawn from all;
* the query goes to the best server whether full or not, and the one that leaves it most cheaply moves away.

Moving is the handover of a bin of state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from whimbrel.placement.bits import ONE, lowest
from whimbrel.placement.choosing import first_with_room, least_full
from whimbrel.placement.hosting import LIVE, MOVES, Hosts, Network, enter, leave
from whimbrel.placement.instance import Integers
from whimbrel.placement.randomness import advanced, below
from whimbrel.placement.replicas import readers_on
from whimbrel.placement.rings import Rings, empty_rings, join_ring, leave_ring, next_of_ring
from whimbrel.placement.room import Room, Slack, fits, room_now

_LEAST_GAIN = 1e-9
"""In rates of 1: below this a gain may be rounding, and moving for it could go on forever."""


class Settling(NamedTuple):
    """How many queries are looked at per arrival, the slack of the instance, and the little that settling takes of it.

    ``guests`` are rings of queries, one per server; ``readers`` rings of entries, one per source, and ``query_of`` says
    whose entry it is.
    """

    draws: int
    own: Slack
    even: Slack
    guests: Rings
    readers: Rings
    query_of: Integers


class _Rooms(NamedTuple):
    """The limits of the instance and the tighter ones: both are kept."""

    own: Room
    even: Room


def new_settling(network: Network, most_servers: int, draws: int, own: Slack, even: Slack) -> Settling:
    """Settling before the first arrival. Without draws it takes no memory and must not be used."""
    queries = len(network.offsets) - 1 if draws else 0
    entries, sources = (len(network.sources), len(network.rates)) if draws else (0, 0)
    query_of = np.repeat(np.arange(queries), np.diff(network.offsets)[:queries])
    return Settling(draws, own, even, empty_rings(queries, most_servers), empty_rings(entries, sources), query_of)


@njit(cache=True)
def settled_in(q: int, j: int, network: Network, hosts: Hosts, settling: Settling) -> None:
    """Query ``q`` starts on server ``j``."""
    enter(q, j, network, hosts)
    join_ring(q, j, settling.guests)
    for e in range(network.offsets[q], network.offsets[q + 1]):
        join_ring(e, network.sources[e], settling.readers)


@njit(cache=True)
def settled_out(q: int, network: Network, hosts: Hosts, settling: Settling) -> None:
    """The live query ``q`` ends."""
    leave_ring(q, hosts.where[q], settling.guests)
    for e in range(network.offsets[q], network.offsets[q + 1]):
        leave_ring(e, network.sources[e], settling.readers)
    leave(q, network, hosts)


@njit(cache=True)
def _shift(q: int, j: int, network: Network, hosts: Hosts, settling: Settling) -> None:
    """The live query ``q`` is on server ``j`` instead."""
    leave_ring(q, hosts.where[q], settling.guests)
    leave(q, network, hosts)
    enter(q, j, network, hosts)
    join_ring(q, j, settling.guests)


@njit(cache=True)
def _rooms(arriving: int, settling: Settling, hosts: Hosts) -> _Rooms:
    return _Rooms(room_now(arriving, settling.own, hosts), room_now(arriving, settling.even, hosts))


@njit(cache=True)
def _may(j: int, work: int, rooms: _Rooms, hosts: Hosts) -> bool:
    return fits(j, work, rooms.even, hosts) and fits(j, work, rooms.own, hosts)


@njit(cache=True)
def _saved_by_leaving(q: int, network: Network, hosts: Hosts) -> float:
    total = 0.0
    for e in range(network.offsets[q], network.offsets[q + 1]):
        s = network.sources[e]
        total += network.rates[s] / readers_on(s, hosts.where[q], hosts.replicas)
    return total


@njit(cache=True)
def _cost_of_joining(q: int, j: int, network: Network, hosts: Hosts) -> float:
    total = 0.0
    for e in range(network.offsets[q], network.offsets[q + 1]):
        s = network.sources[e]
        total += network.rates[s] / (readers_on(s, j, hosts.replicas) + 1)
    return total


@njit(cache=True)
def _best_of(
    q: int, word: int, servers: np.uint64, full_too: bool, rooms: _Rooms, network: Network, hosts: Hosts
) -> tuple[int, float]:
    """The server that ``q`` joins most cheaply of those in one word, its own left out, and that cost; -1 without one."""
    j, best = -1, np.inf
    while servers != 0:
        i = 64 * word + lowest(servers)
        servers &= servers - ONE
        if i == hosts.where[q] or not (full_too or _may(i, network.work[q], rooms, hosts)):
            continue
        cost = _cost_of_joining(q, i, network, hosts)
        if cost < best or (cost == best and hosts.fullness[i] < hosts.fullness[j]):
            best, j = cost, i
    return j, best


@njit(cache=True)
def _cheapest(q: int, full_too: bool, rooms: _Rooms, network: Network, hosts: Hosts) -> tuple[int, float]:
    """The server that the arriving ``q`` joins most cheaply, and that cost; -1 without one.

    Only those that receive one of its sources are looked at, and only those with room unless ``full_too``.
    """
    j, best = -1, np.inf
    for word in range(hosts.receives.shape[1]):
        touched = np.uint64(0)
        for e in range(network.offsets[q], network.offsets[q + 1]):
            touched |= hosts.receives[network.sources[e], word]
        i, cost = _best_of(q, word, touched, full_too, rooms, network, hosts)
        if cost < best or (i >= 0 and cost == best and hosts.fullness[i] < hosts.fullness[j]):
            best, j = cost, i
    return j, best


@njit(cache=True)
def _way_out(q: int, rooms: _Rooms, network: Network, hosts: Hosts) -> tuple[int, float]:
    """A server with room that the live ``q`` could move to, and the cost of joining it; -1 without one.

    Only servers that receive the least spread of its sources that reaches another one are looked at, because the others
    are read nearly everywhere and hardly tell servers apart, and the emptiest server, which may have joined just now.
    """
    source, least, j, best = -1, len(hosts.up) + 1, hosts.heap[0], np.inf
    if j != hosts.where[q] and _may(j, network.work[q], rooms, hosts):
        best = _cost_of_joining(q, j, network, hosts)
    else:
        j = -1
    for e in range(network.offsets[q], network.offsets[q + 1]):
        if 1 < hosts.reach[network.sources[e]] < least:
            source, least = network.sources[e], hosts.reach[network.sources[e]]
    if source < 0:
        return j, best
    for word in range(hosts.receives.shape[1]):
        i, cost = _best_of(q, word, hosts.receives[source, word], False, rooms, network, hosts)
        if cost < best:
            best, j = cost, i
    return j, best


@njit(cache=True)
def _best_with_room(q: int, rooms: _Rooms, network: Network, hosts: Hosts) -> int:
    j, _ = _cheapest(q, False, rooms, network, hosts)
    if j < 0:
        j = first_with_room(network.work[q], rooms.even, hosts)
        if j < 0 or not fits(j, network.work[q], rooms.own, hosts):
            j = least_full(network.work[q], hosts)
    return j


@njit(cache=True)
def _best_move(
    q: int, rooms: _Rooms, network: Network, hosts: Hosts, settling: Settling, state: np.uint64
) -> tuple[int, int, float, np.uint64]:
    """The query whose move saves most of those looked at after ``q`` arrived, where to, and how much: -1 without one."""
    mover, target, most = -1, -1, _LEAST_GAIN
    degree = network.offsets[q + 1] - network.offsets[q]
    for draw in range(settling.draws):
        if draw & 1:
            source = network.sources[network.offsets[q] + (draw >> 1) % degree]
            v = settling.query_of[next_of_ring(source, settling.readers)]
        else:
            state = advanced(state)
            v = hosts.live[below(state, hosts.totals[LIVE])]
        saved = _saved_by_leaving(v, network, hosts)
        if saved <= most or v == q:
            continue
        j, cost = _way_out(v, rooms, network, hosts)
        if j >= 0 and saved - cost > most:
            mover, target, most = v, j, saved - cost
    return mover, target, most, state


@njit(cache=True)
def _best_leaver(
    q: int, least: float, rooms: _Rooms, network: Network, hosts: Hosts, settling: Settling
) -> tuple[int, int]:
    """The guest of the server of ``q`` that leaves it most cheaply, and where to; -1 where none saves over ``least``.

    What it saves may be less than nothing, if ``least`` is.
    """
    leaver, target = -1, -1
    for _ in range(settling.draws):
        v = next_of_ring(hosts.where[q], settling.guests)
        saved = _saved_by_leaving(v, network, hosts)
        if saved <= least or v == q:
            continue
        j, cost = _way_out(v, rooms, network, hosts)
        if j >= 0 and saved - cost > least:
            leaver, target, least = v, j, saved - cost
    return leaver, target


@njit(cache=True)
def arrive(q: int, network: Network, hosts: Hosts, settling: Settling) -> None:
    """Query ``q`` starts where it fits best, and nothing moves."""
    rooms = _rooms(network.work[q], settling, hosts)
    settled_in(q, _best_with_room(q, rooms, network, hosts), network, hosts, settling)


@njit(cache=True)
def arrive_and_settle(q: int, network: Network, hosts: Hosts, settling: Settling, state: np.uint64) -> np.uint64:
    """Query ``q`` starts, and at most one other moves; returns the next random state."""
    rooms = _rooms(network.work[q], settling, hosts)
    home = _best_with_room(q, rooms, network, hosts)
    wished, wish = _cheapest(q, True, rooms, network, hosts)
    settled_in(q, home, network, hosts, settling)
    mover, target, most, state = _best_move(q, rooms, network, hosts, settling, state)
    gain = _saved_by_leaving(q, network, hosts) - wish if wished >= 0 and wished != home else 0.0
    if gain > most:
        _shift(q, wished, network, hosts, settling)
        leaver, door = _best_leaver(q, most - gain, rooms, network, hosts, settling)
        if leaver >= 0:
            mover, target = leaver, door
        else:
            _shift(q, home, network, hosts, settling)
    if mover >= 0:
        _shift(mover, target, network, hosts, settling)
        hosts.totals[MOVES] += 1
    return state

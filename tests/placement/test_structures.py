"""The structures under the kernels against plain ones: the heap with insertions and removals, rings, replica rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from whimbrel.placement.choosing import first_with_room
from whimbrel.placement.heaps import insert_item, is_less, lower_item, raise_item, remove_item
from whimbrel.placement.hosting import Network, empty_hosts, set_up
from whimbrel.placement.replicas import add_reader, no_replicas, readers_on, remove_reader, servers_reached
from whimbrel.placement.rings import empty_rings, join_ring, leave_ring, next_of_ring
from whimbrel.placement.room import Room

STEPS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 3)), max_size=60)


@settings(max_examples=100, deadline=None)
@given(steps=STEPS)
def test_the_heap_has_the_least_item_on_top_after_any_changes(steps):
    heap, place = np.zeros(8, dtype=np.int64), np.full(8, -1)
    value, rank = np.zeros(8), np.zeros(8)
    inside: set[int] = set()
    for item, key in steps:
        if item in inside and key == 0:
            remove_item(item, heap, place, value, rank, len(inside))
            inside.remove(item)
        elif item in inside:
            value[item] = key
            raise_item(item, heap, place, value, rank)
            lower_item(item, heap, place, value, rank, len(inside))
        else:
            value[item] = key
            insert_item(item, heap, place, value, rank, len(inside))
            inside.add(item)
        assert set(heap[: len(inside)].tolist()) == inside
        assert all(heap[place[i]] == i for i in inside)
        if inside:
            assert all(heap[0] == i or is_less(heap[0], i, value, rank) for i in inside)


@settings(max_examples=150, deadline=None)
@given(
    loads=st.lists(st.integers(0, 6), min_size=1, max_size=12),
    values=st.lists(st.integers(0, 3), min_size=12, max_size=12),
    down=st.sets(st.integers(1, 11)),
    limit=st.integers(0, 6),
)
def test_the_walk_over_the_heap_finds_the_first_server_with_room(loads, values, down, limit):
    servers = len(loads)
    network = Network(np.array([0, 1]), np.array([0]), np.ones(1), np.ones(1, dtype=np.int64))
    hosts = empty_hosts(network, np.ones(servers, dtype=np.int64), servers, weigh_traffic=True)
    for j in range(servers):
        hosts.loads[j], hosts.fullness[j], hosts.value[j] = loads[j], loads[j], values[j]
        raise_item(j, hosts.heap, hosts.place, hosts.value, hosts.fullness)
        lower_item(j, hosts.heap, hosts.place, hosts.value, hosts.fullness, servers)
    for j in sorted(j for j in down if j < servers):
        set_up(j, False, hosts)
    room = Room(1, 0, 1, 0, limit)
    fitting = [j for j in range(servers) if hosts.up[j] and loads[j] + 1 <= limit]
    wanted = min(fitting, key=lambda j: (values[j], loads[j], j), default=-1)
    assert first_with_room(1, room, hosts) == wanted


@settings(max_examples=100, deadline=None)
@given(steps=STEPS)
def test_a_ring_is_walked_in_turn_whoever_comes_and_goes(steps):
    rings, lists = empty_rings(8, 4), [[], [], [], []]
    where: dict[int, int] = {}
    for member, ring in steps:
        if member in where:
            here = where.pop(member)
            leave_ring(member, here, rings)
            lists[here].remove(member)
        else:
            where[member] = ring
            join_ring(member, ring, rings)
            lists[ring].append(member)
        met = next_of_ring(ring, rings)
        assert met == (lists[ring][0] if lists[ring] else -1)
        lists[ring] = lists[ring][1:] + lists[ring][:1]


@settings(max_examples=100, deadline=None)
@given(steps=STEPS, servers=st.sampled_from([2, 4, 40]))
def test_replica_rows_count_like_a_table(steps, servers):
    rows = no_replicas(np.full(3, len(steps)), servers)
    table = np.zeros((3, servers), dtype=int)
    for first, second in steps:
        s, j = first % 3, (first + 5 * second) % servers
        if second == 0 and table[s, j]:
            table[s, j] -= 1
            assert remove_reader(s, j, rows) == table[s, j]
        else:
            table[s, j] += 1
            assert add_reader(s, j, rows) == table[s, j]
    assert all(readers_on(s, j, rows) == table[s, j] for s in range(3) for j in range(servers))
    assert [servers_reached(s, rows) for s in range(3)] == (table > 0).sum(axis=1).tolist()

"""An indexed binary heap for compiled kernels: the least item first, by (value, rank, item).

Arrays instead of objects: ``heap`` holds items, ``place[item]`` is where an item sits (-1: nowhere), ``value`` and
``rank`` are its keys. Invariant: no item is less than its parent.
"""

from __future__ import annotations

from numba import njit

from whimbrel.placement.instance import Floats, Integers

Keys = Integers | Floats


@njit(cache=True)
def is_less(a: int, b: int, value: Floats, rank: Keys) -> bool:
    """Whether item ``a`` comes before item ``b``."""
    if value[a] != value[b]:
        return value[a] < value[b]
    if rank[a] != rank[b]:
        return rank[a] < rank[b]
    return a < b


@njit(cache=True)
def raise_item(item: int, heap: Integers, place: Integers, value: Floats, rank: Keys) -> None:
    """Restores the heap after ``item`` became smaller."""
    here = place[item]
    while here > 0:
        parent = (here - 1) >> 1
        if not is_less(item, heap[parent], value, rank):
            break
        heap[here] = heap[parent]
        place[heap[here]] = here
        here = parent
    heap[here] = item
    place[item] = here


@njit(cache=True)
def lower_item(item: int, heap: Integers, place: Integers, value: Floats, rank: Keys, size: int) -> None:
    """Restores the heap of ``size`` items after ``item`` became larger."""
    here = place[item]
    while True:
        child = 2 * here + 1
        if child >= size:
            break
        if child + 1 < size and is_less(heap[child + 1], heap[child], value, rank):
            child += 1
        if not is_less(heap[child], item, value, rank):
            break
        heap[here] = heap[child]
        place[heap[here]] = here
        here = child
    heap[here] = item
    place[item] = here


@njit(cache=True)
def build_heap(heap: Integers, place: Integers, value: Floats, rank: Keys, size: int) -> None:
    """Makes a heap of the first ``size`` entries of ``heap``, in linear time."""
    for here in range(size):
        place[heap[here]] = here
    for here in range(size // 2 - 1, -1, -1):
        lower_item(heap[here], heap, place, value, rank, size)


@njit(cache=True)
def remove_first(heap: Integers, place: Integers, value: Floats, rank: Keys, size: int) -> int:
    """Takes the least item out; returns the new size."""
    place[heap[0]] = -1
    size -= 1
    if size:
        place[heap[size]] = 0
        heap[0] = heap[size]
        lower_item(heap[0], heap, place, value, rank, size)
    return size


@njit(cache=True)
def insert_item(item: int, heap: Integers, place: Integers, value: Floats, rank: Keys, size: int) -> None:
    """Adds an item to the heap of ``size`` items."""
    heap[size], place[item] = item, size
    raise_item(item, heap, place, value, rank)


@njit(cache=True)
def remove_item(item: int, heap: Integers, place: Integers, value: Floats, rank: Keys, size: int) -> None:
    """Takes any item out of the heap of ``size`` items."""
    here, last = place[item], heap[size - 1]
    place[item] = -1
    if last != item:
        heap[here], place[last] = last, here
        raise_item(last, heap, place, value, rank)
        lower_item(last, heap, place, value, rank, size - 1)


@njit(cache=True)
def place_after(here: int) -> int:
    """The place that comes after the subtree of ``here`` on a walk from the root down, left before right; 0 at the end."""
    while here > 0 and here & 1 == 0:
        here = (here - 1) >> 1
    return here + 1 if here > 0 else 0

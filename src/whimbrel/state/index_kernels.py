"""The loops of the index: hash -> row, in one region of buckets per bin.

A bucket is one cache line: seven entries and a check word, the sum of the entries times odd constants plus a constant of
the bucket's own place, so a flipped, zeroed or misplaced bucket is noticed whenever it is looked at. An entry is 32 bits
of hash (those below the bin) above a row number plus 2; 0 is free, 1 was freed in a full bucket. A region has 2^k
buckets; a row's home is given by the k hash bits below its bin, so a region lies in hash order and grows without looking
at rows. A key that does not fit its home is in the next bucket that had room.

``regions[bin]`` is (first bucket or 0, log2 of buckets or -1, living entries, freed entries, bytes of state).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whimbrel.state.compiled import I64, I64_2D, I64_2D_IN, I64_IN, INT, U8, U64, U64_IN, WORD, kernel
from whimbrel.state.row_kernels import (
    DAMAGED,
    GOING,
    LIVE,
    LIVE_BIT,
    ROWS,
    STATUS,
    TAIL,
    WANTS_INDEX,
    WANTS_ROWS,
    check_word,
    give_row,
    is_sound,
    take_row,
)

BASE, LOG, LIVING, FREED, BYTES = 0, 1, 2, 3, 4
CHECK_WORDS = 1
"""Words of a row that are this table's own: a bin's bytes are those that it would carry to another slot."""
REGION_FIELDS = 5
ENTRIES = 7
BUCKET = 8
GROUP = 64

_ODD = np.int64(0x9E3779B97F4A7C15 - (1 << 64))
_PLACE = np.int64(0x60642E2A34326F15)
_UNUSED = np.int64(0x3707344A40938223)
_LOW = np.int64(0xFFFFFFFF)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@njit
def bin_of(first, bits):  # type: ignore[no-untyped-def]
    """The bin of a hash."""
    return np.int64(first >> np.uint64(64 - bits)) if bits > 0 else np.int64(0)


@njit
def _below(first, bits):  # type: ignore[no-untyped-def]
    return (first << np.uint64(bits)) >> np.uint64(32)


@njit
def _home(below, log):  # type: ignore[no-untyped-def]
    return np.int64(below >> np.uint64(32 - log))


@njit
def _bucket_sound(index, bucket):  # type: ignore[no-untyped-def]
    at = bucket * BUCKET
    if not 0 <= at <= index.size - BUCKET:
        return False
    total = (bucket + 1) * _PLACE
    for k in range(ENTRIES):
        total += index[at + k] * (_ODD * (2 * k + 1))
    return total == index[at + ENTRIES]


@njit
def _set_entry(index, bucket, k, entry):  # type: ignore[no-untyped-def]
    at = bucket * BUCKET
    index[at + ENTRIES] += (entry - index[at + k]) * (_ODD * (2 * k + 1))
    index[at + k] = entry


@njit
def _limit(log):  # type: ignore[no-untyped-def]
    return (np.int64(21) << log) >> 2


@njit
def locate(index, regions, rows, used, bits, first, second):  # type: ignore[no-untyped-def]
    """(row, bucket, entry) of a key: row -1 where it is absent, -2 where the way to it is damaged."""
    region = bin_of(first, bits)
    log = regions[region, LOG]
    if log < 0:
        return np.int64(-1), np.int64(0), np.int64(0)
    base, count = regions[region, BASE], np.int64(1) << log
    below = _below(first, bits)
    home = _home(below, log)
    for step in range(count):
        bucket = base + ((home + step) & (count - 1))
        if not _bucket_sound(index, bucket):
            return np.int64(-2), bucket, np.int64(0)
        room = False
        for k in range(ENTRIES):
            entry = index[bucket * BUCKET + k]
            if entry == 0:
                room = True
            elif np.uint64(entry) >> np.uint64(32) == below and (entry & _LOW) >= 2:
                row = (entry & _LOW) - 2
                if not is_sound(rows, row, used):
                    return np.int64(-2), bucket, row
                if np.uint64(rows[row, 0]) == first and np.uint64(rows[row, 1]) == second:
                    return row, bucket, np.int64(k)
        if room:
            break
    return np.int64(-1), np.int64(0), np.int64(0)


@njit
def _candidate(index, bucket, below):  # type: ignore[no-untyped-def]
    """The row of the first entry with this hash; -1 where the key is certainly absent, -2 where more must be looked at."""
    if not _bucket_sound(index, bucket):
        return np.int64(-2)
    room = False
    for k in range(ENTRIES):
        entry = index[bucket * BUCKET + k]
        room = room or entry == 0
        if np.uint64(entry) >> np.uint64(32) == below and (entry & _LOW) >= 2:
            return (entry & _LOW) - 2
    return np.int64(-1) if room else np.int64(-2)


@njit
def _home_bucket(regions, bits, first):  # type: ignore[no-untyped-def]
    region = bin_of(first, bits)
    log = regions[region, LOG]
    return regions[region, BASE] + _home(_below(first, bits), log) if log >= 0 else np.int64(-1)


@kernel(INT, I64_IN, I64_2D_IN, I64_2D_IN, INT, INT, U64_IN, U64_IN, I64, I64)
def find_rows(index, regions, rows, used, bits, first, second, out, touched):  # type: ignore[no-untyped-def]
    """The row of every key, -1 where absent. Returns the first key whose way is damaged, or -1.

    Keys go in groups, and each group in three passes, so that the memory of the next pass is fetched for all of the group
    at once; ``touched`` takes a sum that nobody reads, which keeps those fetches from being optimised away.
    """
    buckets = np.empty(GROUP, np.int64)
    last, total = rows.shape[1] - 1, np.int64(0)
    for start in range(0, first.size, GROUP):
        count = min(GROUP, first.size - start)
        for j in range(count):
            buckets[j] = _home_bucket(regions, bits, first[start + j])
            if 0 <= buckets[j] * BUCKET < index.size:
                total += index[buckets[j] * BUCKET]
        for j in range(count):
            row = np.int64(-1)
            if buckets[j] >= 0:
                row = _candidate(index, buckets[j], _below(first[start + j], bits))
            if 0 <= row < used:
                total += rows[row, 0] + rows[row, last]
            out[start + j] = row
        for j in range(start, start + count):
            row = out[j]
            if row == -1:
                continue
            sure = row >= 0 and is_sound(rows, row, used) and np.uint64(rows[row, 0]) == first[j]
            if not sure or np.uint64(rows[row, 1]) != second[j]:
                out[j], _, _ = locate(index, regions, rows, used, bits, first[j], second[j])
                if out[j] == -2:
                    return j
    touched[0] = total
    return -1


@njit
def _free_region(index, lists, base, log):  # type: ignore[no-untyped-def]
    index[base * BUCKET] = lists[log]
    index[base * BUCKET + 1] = (lists[log] + base) * _ODD + _UNUSED
    lists[log] = base + 1


@njit
def _new_region(index, counters, lists, log):  # type: ignore[no-untyped-def]
    base = lists[log] - 1
    if base >= 0:
        if index[base * BUCKET + 1] != (index[base * BUCKET] + base) * _ODD + _UNUSED:
            return np.int64(-2)
        lists[log] = index[base * BUCKET]
    else:
        base = counters[TAIL]
        if (base + (np.int64(1) << log)) * BUCKET > index.size:
            return np.int64(-1)
        counters[TAIL] = base + (np.int64(1) << log)
    for bucket in range(base, base + (np.int64(1) << log)):
        for k in range(ENTRIES):
            index[bucket * BUCKET + k] = 0
        index[bucket * BUCKET + ENTRIES] = (bucket + 1) * _PLACE
    return base


@njit
def _place(index, base, log, entry):  # type: ignore[no-untyped-def]
    count = np.int64(1) << log
    home = _home(np.uint64(entry) >> np.uint64(32), log)
    for step in range(count):
        bucket = base + ((home + step) & (count - 1))
        for k in range(ENTRIES):
            if (index[bucket * BUCKET + k] & _LOW) < 2:
                reused = index[bucket * BUCKET + k] != 0
                _set_entry(index, bucket, k, entry)
                return reused
    return False


@njit
def _rebuild(index, counters, regions, lists, region, expected):  # type: ignore[no-untyped-def]
    old_base, old_log = regions[region, BASE], regions[region, LOG]
    log = np.int64(0)
    while _limit(log) < expected and log < 32:
        log += 1
    base = _new_region(index, counters, lists, log)
    if base < 0:
        return WANTS_INDEX if base == -1 else DAMAGED
    if old_log >= 0:
        for bucket in range(old_base, old_base + (np.int64(1) << old_log)):
            if not _bucket_sound(index, bucket):
                return DAMAGED
            for k in range(ENTRIES):
                entry = index[bucket * BUCKET + k]
                if (entry & _LOW) >= 2:
                    _place(index, base, log, entry)
        _free_region(index, lists, old_base, old_log)
    regions[region, BASE], regions[region, LOG], regions[region, FREED] = base, log, 0
    return GOING


@njit
def _make_room(index, counters, regions, lists, region):  # type: ignore[no-untyped-def]
    log = regions[region, LOG]
    if log >= 0 and regions[region, LIVING] + regions[region, FREED] < _limit(log):
        return GOING
    return _rebuild(index, counters, regions, lists, region, 2 * regions[region, LIVING])


@kernel(INT, I64, I64, I64_2D, I64, I64_IN, INT)
def expect_rows(index, counters, regions, lists, coming, start):  # type: ignore[no-untyped-def]
    """Gives every bin from ``start`` on a region for the rows that are coming; returns where it stopped, as insert_rows."""
    for region in range(start, coming.size):
        log = regions[region, LOG]
        total = regions[region, LIVING] + coming[region]
        if coming[region] and (log < 0 or total + regions[region, FREED] > _limit(log)):
            status = _rebuild(index, counters, regions, lists, region, total)
            if status != GOING:
                counters[STATUS] = status
                return region
    return coming.size


@kernel(INT, I64, I64_2D, I64_2D, I64, I64, INT, U64_IN, U64_IN, INT, I64)
def insert_rows(index, regions, rows, counters, lists, bits, first, second, start, out):  # type: ignore[no-untyped-def]
    """Makes rows for absent, distinct keys from ``start`` on; returns where it stopped, ``counters[STATUS]`` says why.

    A damaged bucket stays damaged under an insertion (its check word changes by the difference), and is found later.
    """
    width = rows.shape[1]
    for i in range(start, first.size):
        region = bin_of(first[i], bits)
        status = _make_room(index, counters, regions, lists, region)
        row = np.int64(0)
        if status == GOING:
            row = take_row(rows, counters)
            if row < 0:
                status = WANTS_ROWS if row == -1 else DAMAGED
        if status != GOING:
            counters[STATUS] = status
            return i
        entry = np.int64(_below(first[i], bits) << np.uint64(32)) | (row + 2)
        if _place(index, regions[region, BASE], regions[region, LOG], entry):
            regions[region, FREED] -= 1
        for k in range(width):
            rows[row, k] = 0
        rows[row, 0], rows[row, 1], rows[row, 3] = np.int64(first[i]), np.int64(second[i]), LIVE_BIT
        rows[row, 2] = check_word(rows, row)
        regions[region, LIVING] += 1
        regions[region, BYTES] += (width - CHECK_WORDS) * 8
        counters[LIVE] += 1
        out[i] = row
    counters[STATUS] = GOING
    return first.size


@kernel(INT, I64, I64_2D, I64_2D, I64, I64, INT, I64_IN, U8)
def remove_rows(index, regions, rows, counters, lists, bits, numbers, marks):  # type: ignore[no-untyped-def]
    """Removes these living rows from the index and frees them. Returns a row whose way is damaged, or -1."""
    for i in range(numbers.size):
        number = numbers[i]
        first, second = np.uint64(rows[number, 0]), np.uint64(rows[number, 1])
        row, bucket, k = locate(index, regions, rows, counters[ROWS], bits, first, second)
        if row != number:
            return number
        region = bin_of(first, bits)
        room = False
        for other in range(ENTRIES):
            room = room or index[bucket * BUCKET + other] == 0
        _set_entry(index, bucket, k, np.int64(0) if room else np.int64(1))
        regions[region, FREED] += 0 if room else 1
        regions[region, LIVING] -= 1
        regions[region, BYTES] -= (rows.shape[1] - CHECK_WORDS) * 8
        counters[LIVE] -= 1
        marks[row] = 0
        give_row(rows, counters, row)
        if regions[region, LIVING] == 0:
            _free_region(index, lists, regions[region, BASE], regions[region, LOG])
            regions[region, LOG], regions[region, FREED] = -1, 0
    return -1


@njit
def _walk_buckets(index, rows, used, bits, region, base, log, low, high, span, out, firsts, found):  # type: ignore[no-untyped-def]
    # A row is at its home or in the next buckets that were full: so past the last home, go on through full ones.
    count = np.int64(1) << log
    start, stop = span
    step = start
    while step - start < count:
        bucket = base + (step & (count - 1))
        if not _bucket_sound(index, bucket):
            return np.int64(-1)
        room = False
        for k in range(ENTRIES):
            entry = index[bucket * BUCKET + k]
            room = room or entry == 0
            if (entry & _LOW) >= 2:
                row = (entry & _LOW) - 2
                if not is_sound(rows, row, used):
                    return np.int64(-1)
                first = np.uint64(rows[row, 0])
                if bin_of(first, bits) != region or _below(first, bits) != np.uint64(entry) >> np.uint64(32):
                    return np.int64(-1)
                if low <= first <= high:
                    if found >= out.size:
                        return np.int64(-1)
                    out[found], firsts[found] = row, first
                    found += 1
        if step >= stop and room:
            break
        step += 1
    return found


@njit
def _sort_rows(rows, out, firsts, start, stop):  # type: ignore[no-untyped-def]
    # Nearly in order already: a row is out of place by a bucket or two.
    for i in range(start + 1, stop):
        row, first = out[i], firsts[i]
        k = i - 1
        while k >= start and (
            firsts[k] > first or (firsts[k] == first and np.uint64(rows[out[k], 1]) > np.uint64(rows[row, 1]))
        ):
            out[k + 1], firsts[k + 1] = out[k], firsts[k]
            k -= 1
        out[k + 1], firsts[k + 1] = row, first


@kernel(INT, I64_IN, I64_2D_IN, I64_2D_IN, INT, INT, I64_IN, WORD, WORD, I64, U64)
def walk_rows(index, regions, rows, used, bits, bins, low, high, out, firsts):  # type: ignore[no-untyped-def]
    """The rows of these bins with low <= first hash <= high, by hash within each bin: how many; -1 - bin for damage."""
    found = 0
    for i in range(bins.size):
        region = bins[i]
        log = regions[region, LOG]
        if log < 0:
            continue
        start, stop = np.int64(0), (np.int64(1) << log) - 1
        if bin_of(low, bits) == region:
            start = _home(_below(low, bits), log)
        if bin_of(high, bits) == region:
            stop = _home(_below(high, bits), log)
        whole = (low == 0 or bin_of(low, bits) < region) and (high == _ALL or region < bin_of(high, bits))
        before = found
        found = _walk_buckets(
            index, rows, used, bits, region, regions[region, BASE], log, low, high, (start, stop), out, firsts, found
        )
        if found < 0 or (whole and found - before != regions[region, LIVING]):
            return -1 - region
        _sort_rows(rows, out, firsts, before, found)
    return found

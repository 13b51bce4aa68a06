"""Load and state vectors of the two applications of the papers, from real tweets.

Word count: work is tokens, state is bytes, per bin. Frequent patterns: every non-empty subset of a message's dictionary
words is a pattern, routed by a hash of its words; work is arrivals, state is patterns seen. Longer messages are cut to
``WORDS_MAX`` words, because n words make 2^n - 1 patterns.
"""

from __future__ import annotations

import bz2
import csv
from itertools import combinations, islice
from pathlib import Path

import numpy as np

from whimbrel.model import BadInput, Load
from whimbrel.planning.stable_hash import stable_hash

WORDS_MAX = 7
MESSAGES_MAX = 12_000
BYTES_PER_PATTERN = 24


def word_count_load(data: Path, bins: int) -> Load:
    """Tokens and bytes per bin; there are files for 16, 32 and 64 bins."""
    path = _found(data, "resa", f"wc_partitions_m{bins}_congress2017.csv")
    with path.open(newline="", encoding="utf-8") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: int(row["partition"]))
    return Load(tuple(int(row["load_tokens"]) for row in rows), tuple(int(row["state_bytes"]) for row in rows))


def frequent_pattern_load(data: Path, bins: int) -> Load:
    """Pattern arrivals and bytes of distinct patterns per bin, over the first messages of the stream."""
    path = _found(data, "texts", "congress_2017_dict10k_idsets.tsv.bz2")
    arrivals: dict[int, int] = {}
    with bz2.open(path, "rt", encoding="utf-8") as lines:
        for line in islice(lines, MESSAGES_MAX):
            for pattern in _patterns(line):
                arrivals[pattern] = arrivals.get(pattern, 0) + 1
    patterns = np.fromiter(arrivals, np.uint64, len(arrivals))
    counts = np.fromiter(arrivals.values(), np.int64, len(arrivals))
    bin_of = (stable_hash(patterns) % np.uint64(bins)).astype(np.int64)
    work = np.bincount(bin_of, counts, bins).astype(np.int64)
    state = np.bincount(bin_of, minlength=bins) * BYTES_PER_PATTERN
    return Load(tuple(work.tolist()), tuple(state.tolist()))


def _patterns(line: str) -> list[int]:
    """One number per non-empty subset of the message's words; different subsets have different numbers."""
    words = [int(word) for word in line.rstrip("\n").split("\t")[2].split()][:WORDS_MAX]
    numbers = []
    for size in range(1, len(words) + 1):
        for chosen in combinations(words, size):
            number = 0
            for word in chosen:
                number = (number * 10_007 + word + 1) % (1 << 61)
            numbers.append(number)
    return numbers


def _found(data: Path, folder: str, name: str) -> Path:
    for path in (data / folder / name, data / name):
        if path.exists():
            return path
    raise BadInput(f"{data} has no {folder}/{name}: name the folder of real loads with --data")

"""The loads, the matrix and the chains of migrations on which look-ahead is measured.

With real data: word-count vectors, and a matrix from the first month of an hourly trace. Without: a generated Zipf
load, an equal load, and a matrix from a generated day-and-night trace.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from whimbrel.experiments.real_loads import word_count_load
from whimbrel.model import Load
from whimbrel.planning.mtm_backtest import migrations
from whimbrel.planning.mtm_matrix import TransitionMatrix, estimate
from whimbrel.planning.mtm_slots import fit_rule

BINS = 64
STATES = (8, 10, 12, 14, 16)
KEYS = 100_000
MONTH_HOURS = 31 * 24
TRACE = "congress_tweets_hourly_2017-06_2023-07.csv.gz"


def loads(data: Path | None, seed: int = 1) -> dict[str, Load]:
    """Every load by its name; the real one only with ``data``."""
    found = {"zipf": zipf_load(BINS, np.random.default_rng(seed)), "equal": Load((1,) * BINS, (1,) * BINS)}
    if data is not None:
        found["tweets"] = word_count_load(data, BINS)
    return found


def zipf_load(bins: int, random: np.random.Generator) -> Load:
    """Keys of Zipf frequency 0.8 in random bins; a key's state grows with the root of its frequency."""
    frequency = np.arange(1, KEYS + 1) ** -0.8
    place = random.integers(0, bins, KEYS)
    work = np.bincount(place, frequency * 1e5, bins).astype(np.int64)
    state = np.bincount(place, np.sqrt(frequency) * 100 + 1, bins).astype(np.int64)
    return Load(tuple(work.tolist()), tuple(state.tolist()))


def slot_history(data: Path | None, seed: int = 3) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(slot counts of the training month, of the month after), one per hour, by thresholds of the first."""
    counts = _generated_counts(np.random.default_rng(seed)) if data is None else _real_counts(data)
    rule = fit_rule(counts[:MONTH_HOURS], STATES, "percentile")
    return rule.slots_for(counts[:MONTH_HOURS]), rule.slots_for(counts[MONTH_HOURS:])


def matrix_of(history: Sequence[int]) -> TransitionMatrix:
    """The matrix of the training month."""
    return estimate(history, states=STATES)


def chains(
    matrix: TransitionMatrix, feasible: Sequence[int], count: int, length: int, seed: int = 5
) -> list[tuple[int, ...]]:
    """``count`` chains of ``length`` migrations among the feasible slot counts, each from the fewest slots."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        drawn: tuple[int, ...] = ()
        while len(drawn) < length + 1:
            start = matrix.states[0] if not drawn else drawn[-1]
            drawn = migrations((*drawn, *matrix.draw(start, 4 * length, random)), feasible)
        found.append(drawn[: length + 1])
    return found


def _real_counts(data: Path) -> list[float]:
    path = data / "traces" / TRACE
    with gzip.open(path, "rt", encoding="utf-8", newline="") as text:
        rows = csv.DictReader(text)
        return [float(row["count"]) for row in rows if "2017-10" <= row["hour_utc"] < "2017-12"]


def _generated_counts(random: np.random.Generator) -> list[float]:
    hours = np.arange(2 * MONTH_HOURS)
    noise = np.zeros(len(hours))
    for hour in hours[1:]:
        noise[hour] = 0.7 * noise[hour - 1] + random.normal(0, 0.25)
    return (1000 * np.exp(0.8 * np.sin(2 * np.pi * hours / 24) + noise)).tolist()

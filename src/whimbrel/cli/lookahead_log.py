"""Carries ``mtm estimate --log`` out: a long log of events is counted on Spark, and only its matrix comes back."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from whimbrel.model import BadInput
from whimbrel.planning.mtm_matrix import TransitionMatrix
from whimbrel.planning.mtm_slots import SlotRule

FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "json"}
"""By the suffix of a file; anything else, folders too, is read as Parquet."""


def estimate_from_log(
    log: Path,
    time: str,
    interval_seconds: int,
    states: Sequence[int],
    normalisation: str,
    self_moves: bool,
    cores: int,
) -> tuple[TransitionMatrix, SlotRule]:
    """The matrix of a log with one row per event, and the rule that mapped its intervals to slots.

    Raises BadInput where there is no log, no such column, or no event with a readable time.
    """
    from whimbrel.cli.java import use_java
    from whimbrel.runtime.precompute_log import estimate_on_log, events_per_interval, fit_rule_on_log
    from whimbrel.runtime.precompute_session import projection_session

    if not log.exists():
        raise BadInput(f"{log}: there is no such file or folder")
    use_java(os.environ)
    with projection_session(cores) as spark:
        form = FORMATS.get(log.suffix, "parquet")
        events = spark.read.format(form).option("header", "true").load(str(log.absolute()))
        intervals = events_per_interval(events, time, interval_seconds).cache()
        if intervals.isEmpty():
            raise BadInput(f"{log}: no event has a readable time in column {time!r}")
        rule = fit_rule_on_log(intervals, states, normalisation)
        return estimate_on_log(intervals, rule, self_moves), rule

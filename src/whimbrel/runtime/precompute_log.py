"""The migration transition matrix of a long log, counted on Spark: events in, a small matrix out.

The log is any DataFrame with a time column. Events are counted per interval; intervals in which nothing happened count
zero; a rule turns counts into slot counts, and each interval is joined with the one after it. Only the counts per pair
of slot counts reach the driver.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from whimbrel.model import BadInput
from whimbrel.planning.mtm_matrix import TransitionMatrix, from_counts
from whimbrel.planning.mtm_slots import SlotRule, fit_rule


def events_per_interval(log: DataFrame, time: str, interval_seconds: int) -> DataFrame:
    """One row (``place``, ``events``) per interval between the first and the last event, empty ones included.

    ``place`` counts intervals of ``interval_seconds`` from the epoch. Events without a readable time are left out.
    """
    if interval_seconds < 1:
        raise BadInput(f"interval_seconds is {interval_seconds}: an interval is at least one second long")
    if time not in log.columns:
        raise BadInput(f"the log has no column {time!r}: it has {', '.join(log.columns)}")
    place = F.floor(F.unix_timestamp(F.col(time).try_cast("timestamp")) / F.lit(interval_seconds)).cast("long")
    seen = log.where(F.col(time).isNotNull()).groupBy(place.alias("place")).agg(F.count(F.lit(1)).alias("events"))
    ends = seen.agg(F.min("place").alias("first"), F.max("place").alias("last")).where(F.col("first").isNotNull())
    every = ends.select(F.explode(F.sequence("first", "last")).alias("place"))
    return every.join(seen, "place", "left").select("place", F.coalesce("events", F.lit(0)).alias("events"))


def fit_rule_on_log(intervals: DataFrame, states: Sequence[int], normalisation: str = "equal-width") -> SlotRule:
    """The rule that ``fit_rule`` would find; one number per interval reaches the driver."""
    counts = [row["events"] for row in intervals.select("events").toArrow().to_pylist()]
    return fit_rule(counts, states, normalisation)


def estimate_on_log(intervals: DataFrame, rule: SlotRule, self_moves: bool = False) -> TransitionMatrix:
    """The matrix of a log's intervals under a rule: as ``estimate`` of the slot counts in order of time."""
    slots = intervals.select("place", _slots_of(F.col("events"), rule).alias("slots"))
    after = slots.select((F.col("place") - 1).alias("place"), F.col("slots").alias("next"))
    moves = slots.join(after, "place").groupBy("slots", "next").agg(F.count(F.lit(1)).alias("moves"))
    counts = np.zeros((len(rule.states), len(rule.states)), np.int64)
    for row in moves.toArrow().to_pylist():
        if self_moves or row["slots"] != row["next"]:
            counts[rule.states.index(row["slots"]), rule.states.index(row["next"])] = row["moves"]
    return from_counts(rule.states, counts)


def _slots_of(events: Column, rule: SlotRule) -> Column:
    found = F.lit(rule.states[-1])
    for slots, most in reversed(list(zip(rule.states, rule.thresholds, strict=False))):
        found = F.when(events <= F.lit(most), F.lit(slots)).otherwise(found)
    return found

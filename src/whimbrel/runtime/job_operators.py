"""The operators of a job, as methods: each builds an operator value and installs it into the stream."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from whimbrel.runtime.building import Keys, Tables
    from whimbrel.runtime.operator import Operator
    from whimbrel.runtime.operators.aggregates import Aggregate
    from whimbrel.runtime.operators.per_bin import Step
    from whimbrel.runtime.operators.state_machine import Fold


class JobOperators:
    """What a job can put into a stream. Every method returns an ordinary streaming DataFrame."""

    @abstractmethod
    def install(self, operator: Operator, *inputs: DataFrame, output_mode: str = "append") -> DataFrame:
        """Put an operator into the stream."""

    def aggregate(
        self,
        stream: DataFrame,
        key: Keys,
        *,
        name: str = "aggregate",
        output_mode: str = "append",
        **aggregates: Aggregate,
    ) -> DataFrame:
        """Vectorised aggregates per key; a row for every key that changed in an epoch.

        ``job.aggregate(words, "word", n=wb.count(), total=wb.sum_of("length"))``
        """
        from whimbrel.runtime.building import build_aggregate

        return self.install(build_aggregate(name, stream, key, aggregates), stream, output_mode=output_mode)

    def state_machine(
        self,
        stream: DataFrame,
        key: Keys,
        fold: Fold,
        schema: str,
        *,
        name: str = "state_machine",
        output_mode: str = "append",
    ) -> DataFrame:
        """A fold per key in plain Python. ``schema`` names the key columns, then the state columns.

        ``fold(state, rows)`` gets the key's state (None for a new key) and its rows of one epoch, and returns the new
        state, or None to forget the key. A row of key and new state is emitted for every key that changed.
        """
        from whimbrel.runtime.building import build_state_machine

        return self.install(build_state_machine(name, stream, key, fold, schema), stream, output_mode=output_mode)

    def unary(
        self,
        stream: DataFrame,
        key: Keys,
        step: Step,
        schema: str,
        *,
        tables: Tables | None = None,
        schedules: str | None = None,
        time: str | None = None,
        watermark: str | None = None,
        name: str = "unary",
        output_mode: str = "append",
    ) -> DataFrame:
        """A function over Arrow batches with keyed tables and post-dated records; see ``BinsContext``.

        ``tables`` maps names to (key DDL, value DDL); ``schedules`` is the DDL of post-dated records; ``time`` is the
        event time column and ``watermark`` its delay, as Spark writes it.
        """
        from whimbrel.runtime.building import build_per_bin

        operator = build_per_bin(name, [stream], [key], step, schema, tables or {}, schedules, [time], watermark)
        return self.install(operator, stream, output_mode=output_mode)

    def binary(
        self,
        left: DataFrame,
        right: DataFrame,
        left_key: Keys,
        right_key: Keys,
        step: Step,
        schema: str,
        *,
        tables: Tables | None = None,
        schedules: str | None = None,
        left_time: str | None = None,
        right_time: str | None = None,
        watermark: str | None = None,
        name: str = "binary",
        output_mode: str = "append",
    ) -> DataFrame:
        """``unary`` over two inputs: ``context.rows`` is the left one, ``context.others`` the right one."""
        from whimbrel.runtime.building import build_per_bin

        times = [left_time, right_time]
        operator = build_per_bin(
            name, [left, right], [left_key, right_key], step, schema, tables or {}, schedules, times, watermark
        )
        return self.install(operator, left, right, output_mode=output_mode)

    def windows(
        self,
        stream: DataFrame,
        key: Keys,
        *,
        time: str,
        length: str,
        slide: str | None = None,
        offset: str | None = None,
        watermark: str | None = None,
        name: str = "windows",
        output_mode: str = "append",
        **aggregates: Aggregate,
    ) -> DataFrame:
        """Aggregates per key and window of event time; sliding where ``slide`` is given, as ``F.window`` cuts them.

        Append emits each window once, when the watermark has passed its end; update emits every window that changed.
        ``job.windows(clicks, "page", time="at", length="1 minute", watermark="10 seconds", n=wb.count())``
        """
        from whimbrel.runtime.building_windows import build_windows, with_window_column

        operator = build_windows(name, stream, key, time, length, slide, offset, aggregates, watermark, output_mode)
        return with_window_column(self.install(operator, stream, output_mode=output_mode))

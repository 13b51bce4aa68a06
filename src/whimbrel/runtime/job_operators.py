"""The operators of a job, as methods: each builds an operator value and installs it into the stream."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    from whimbrel.runtime.building import Keys, Tables
    from whimbrel.runtime.operator import Operator
    from whimbrel.runtime.operators.aggregates import Aggregate
    from whimbrel.runtime.operators.per_bin import Step
    from whimbrel.runtime.operators.state_machine import Fold


class JobOperators:
    """What a job can put into a stream. Every method returns an ordinary streaming DataFrame."""

    @abstractmethod
    def install(
        self,
        operator: Operator,
        *inputs: DataFrame,
        output_mode: str = "append",
        initial: Mapping[str, DataFrame] | None = None,
    ) -> DataFrame:
        """Put an operator into the stream; ``initial`` names rows that its tables begin with."""

    @abstractmethod
    def _session_zone(self) -> str:
        """The time zone in which the session shows times."""

    @abstractmethod
    def _session_is_ansi(self) -> bool:
        """Whether arithmetic of the session raises where a value leaves its type."""

    def aggregate(
        self,
        stream: DataFrame,
        key: Keys,
        *,
        ttl: str | None = None,
        initial: DataFrame | None = None,
        name: str = "aggregate",
        output_mode: str = "append",
        **aggregates: Aggregate,
    ) -> DataFrame:
        """Vectorised aggregates per key; a row for every key that changed in an epoch.

        With ``ttl`` ("1 hour") a key without rows for that long, by processing time, is forgotten. ``initial`` are rows of
        keys and state to begin with: a column per aggregate, and NAME.sum and NAME.count for a mean.

        ``job.aggregate(words, "word", n=wb.count(), total=wb.sum_of("length"))``
        """
        from whimbrel.runtime.building import build_aggregate, summing

        operator = build_aggregate(name, stream, key, summing(aggregates, self._session_is_ansi()), ttl)
        return self.install(operator, stream, output_mode=output_mode, initial=begins_with("keys", initial))

    def state_machine(
        self,
        stream: DataFrame,
        key: Keys,
        fold: Fold,
        schema: str,
        *,
        ttl: str | None = None,
        defaults: Mapping[str, Any] | None = None,
        initial: DataFrame | None = None,
        name: str = "state_machine",
        output_mode: str = "append",
    ) -> DataFrame:
        """A fold per key in plain Python. ``schema`` names the key columns, then the state columns.

        ``fold(state, rows)`` gets the key's state (None for a new key) and its rows of one epoch, and returns the new
        state, or None to forget the key. A row of key and new state is emitted for every key that changed. After a
        restart ``schema`` may have new state columns; keys from before find null in them, or the value in ``defaults``.
        ``initial`` are rows of ``schema`` to begin with.
        """
        from whimbrel.runtime.building import build_state_machine

        operator = build_state_machine(name, stream, key, fold, schema, ttl, defaults)
        return self.install(operator, stream, output_mode=output_mode, initial=begins_with("keys", initial))

    def unary(
        self,
        stream: DataFrame,
        key: Keys,
        step: Step,
        schema: str,
        *,
        tables: Tables | None = None,
        defaults: Mapping[str, Mapping[str, Any]] | None = None,
        initial: Mapping[str, DataFrame] | None = None,
        schedules: str | None = None,
        time: str | None = None,
        watermark: str | None = None,
        name: str = "unary",
        output_mode: str = "append",
    ) -> DataFrame:
        """A function over Arrow batches with keyed tables and post-dated records; see ``BinsContext``.

        ``tables`` maps names to (key DDL, value DDL), and ``defaults`` (name to column to value) are what rows from before
        a column was there find in it; ``initial`` maps names to rows of keys and values that a table begins with;
        ``schedules`` is the DDL of post-dated records; ``time`` is the
        event time column and ``watermark`` its delay, as Spark writes it.
        """
        from whimbrel.runtime.building import build_per_bin

        operator = build_per_bin(
            name, [stream], [key], step, schema, tables or {}, schedules, [time], watermark, defaults
        )
        return self.install(operator, stream, output_mode=output_mode, initial=initial)

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
        defaults: Mapping[str, Mapping[str, Any]] | None = None,
        schedules: str | None = None,
        left_time: str | None = None,
        right_time: str | None = None,
        watermark: str | None = None,
        name: str = "binary",
        output_mode: str = "append",
    ) -> DataFrame:
        """``unary`` over two inputs: ``context.rows`` is the left one, ``context.others`` the right one.

        Keys of two types are cast to the one in which Spark compares them.
        """
        from whimbrel.runtime.building import build_per_bin
        from whimbrel.runtime.building_keys import with_common_keys

        left, right = with_common_keys(left, right, (left_key, right_key))
        times = [left_time, right_time]
        operator = build_per_bin(
            name,
            [left, right],
            [left_key, right_key],
            step,
            schema,
            tables or {},
            schedules,
            times,
            watermark,
            defaults,
        )
        return self.install(operator, left, right, output_mode=output_mode)

    def windows(
        self,
        stream: DataFrame,
        key: Keys | None = None,
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

        Without a key, or with ``[]``, over all rows: those lie in one bin, which is little where they are combined first.
        Append emits each window once, when the watermark has passed its end; update emits every window that changed.
        ``job.windows(clicks, "page", time="at", length="1 minute", watermark="10 seconds", n=wb.count())``
        """
        from whimbrel.runtime.building import summing
        from whimbrel.runtime.building_windows import build_windows, keyed, with_window_column

        stream, key = keyed(stream, key)
        sums = summing(aggregates, self._session_is_ansi())
        operator = build_windows(name, stream, key, time, length, slide, offset, sums, watermark, output_mode)
        return with_window_column(self.install(operator, stream, output_mode=output_mode))

    def sessions(
        self,
        stream: DataFrame,
        key: Keys | None = None,
        *,
        time: str,
        gap: str,
        watermark: str,
        name: str = "sessions",
        **aggregates: Aggregate,
    ) -> DataFrame:
        """Aggregates per key and session: rows less than ``gap`` apart. Each is emitted once, when it is final.

        Without a key the sessions are those of all rows, in one bin.
        ``job.sessions(clicks, "user", time="at", gap="30 minutes", watermark="1 minute", n=wb.count())``
        """
        from whimbrel.runtime.building import summing
        from whimbrel.runtime.building_windows import build_sessions, keyed, with_window_column

        stream, key = keyed(stream, key)
        sums = summing(aggregates, self._session_is_ansi())
        operator = build_sessions(name, stream, key, time, gap, sums, watermark)
        return with_window_column(self.install(operator, stream))

    def dedup(
        self,
        stream: DataFrame,
        key: Keys,
        *,
        time: str | None = None,
        watermark: str | None = None,
        initial: DataFrame | None = None,
        name: str = "dedup",
    ) -> DataFrame:
        """The first row of every key. Without a watermark keys are remembered for good.

        With one, and ``time`` among the keys, as ``dropDuplicates``; with other keys as
        ``dropDuplicatesWithinWatermark``: duplicates within the delay are caught. ``initial`` are keys seen before.
        """
        from whimbrel.runtime.building_joins import build_dedup

        operator = build_dedup(name, stream, key, time, watermark, initial is not None)
        return self.install(operator, stream, initial=begins_with("seen", initial))

    def join(
        self,
        left: DataFrame,
        right: DataFrame,
        on: Keys,
        *,
        right_on: Keys | None = None,
        how: str = "inner",
        left_time: str | None = None,
        right_time: str | None = None,
        within: str | tuple[str, str] | None = None,
        watermark: str | tuple[str, str] | None = None,
        name: str = "join",
    ) -> DataFrame:
        """Two streams on equal keys: inner, left, right or full. Keys of two types are compared as Spark compares them.

        ``within`` bounds the time of partners: "10 seconds" either way, or (right earlier by at most, right later by at
        most). With it, and a ``watermark`` (one delay, or one per side), rows that can find no partner any more are
        forgotten, and outer joins are possible. Without it an inner join remembers both streams for good.
        """
        from whimbrel.runtime.building_joins import build_join
        from whimbrel.runtime.building_keys import with_common_keys

        delays = (watermark, watermark) if watermark is None or isinstance(watermark, str) else watermark
        keys = (on, on if right_on is None else right_on)
        left, right = with_common_keys(left, right, keys)
        operator = build_join(name, left, right, keys, how, (left_time, right_time), delays, within)
        return self.install(operator, left, right)

    def enrich(
        self,
        stream: DataFrame,
        table: DataFrame,
        on: Keys,
        *,
        table_on: Keys | None = None,
        how: str = "left",
        initial: DataFrame | None = None,
        name: str = "enrich",
    ) -> DataFrame:
        """Every row with the newest value of its key from ``table``, a stream of rows that each replace their key's value.

        ``initial`` are rows of the table to begin with. For a table that does not change Spark's own
        ``stream.join(table, on)`` needs no state.
        """
        from whimbrel.runtime.building_joins import build_enrichment
        from whimbrel.runtime.building_keys import with_common_keys

        keys = (on, on if table_on is None else table_on)
        stream, table = with_common_keys(stream, table, keys)
        operator = build_enrichment(name, stream, table, keys, how)
        return self.install(operator, stream, table, initial=begins_with("values", initial))

    def processor(
        self,
        stream: DataFrame,
        key: Keys,
        processor: StatefulProcessor,
        schema: str,
        *,
        time_mode: str = "None",
        time: str | None = None,
        watermark: str | None = None,
        initial: DataFrame | None = None,
        name: str = "processor",
        output_mode: str = "append",
    ) -> DataFrame:
        """An existing ``StatefulProcessor`` unchanged: value, list and map state, timers and TTL, in bins that move.

        ``schema`` is what it emits; ``initial`` are rows for its ``handleInitialState``. What cannot be kept in a bin
        is refused by name when the stream is built.
        """
        from whimbrel.runtime.building_processor import build_processor

        zone, begins = self._session_zone(), initial is not None
        operator = build_processor(name, stream, key, processor, schema, time_mode, time, watermark, zone, begins)
        return self.install(operator, stream, output_mode=output_mode, initial=begins_with("keys", initial))


def begins_with(table: str, initial: DataFrame | None) -> Mapping[str, DataFrame] | None:
    """Initial rows of an operator's one table, by its name."""
    return None if initial is None else {table: initial}

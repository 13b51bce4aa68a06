"""A job without Spark: the operators' own code over ledgers in memory, with bins that change slots between epochs.

``Frame`` stands in for a DataFrame (DuckDB evaluates what Spark SQL would), ``MemoryJob`` for a job. What a
query does in an epoch is the same code as on Spark; only the transport is missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

import duckdb
import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from tests.nexmark.scenarios import tables, unwrapped

from whimbrel.model.durations import milliseconds
from whimbrel.nexmark.arrivals import end_of_input
from whimbrel.nexmark.events.schema import KINDS, TIME
from whimbrel.nexmark.queries import TIMED, migratable_query
from whimbrel.nexmark.streams import Streams
from whimbrel.runtime.building_joins import build_join
from whimbrel.runtime.building_windows import build_sessions, build_windows
from whimbrel.runtime.operator import Rows, Side, SlotCall
from whimbrel.runtime.operators.per_bin import PerBin
from whimbrel.state.hashing import KeyHashes, hash_keys
from whimbrel.state.ledger import SlotLedger
from whimbrel.testing import MemoryBackend

_TYPES = {
    "bigint": pa.int64(),
    "string": pa.string(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": TIME,
    "array<bigint>": pa.list_(pa.int64()),
    "array<string>": pa.list_(pa.string()),
}
_MACROS = (
    "CREATE MACRO unix_micros(t) AS epoch_us(t)",
    "CREATE MACRO pmod(a, b) AS ((a % b) + b) % b",
)


def arrow_schema(ddl):
    """The Arrow schema of the DDL that the queries use."""
    return pa.schema([(name, _TYPES[kind]) for name, kind in re.findall(r"(\w+) ([\w<>]+)", ddl)])


ENDS = unwrapped(end_of_input())


@dataclass(eq=False)
class Source:
    """One kind of event, as the rows of each epoch."""

    kind: str

    def frame(self):
        return Frame(self, KINDS[self.kind].names)

    @property
    def output(self):
        return KINDS[self.kind]


@dataclass
class Frame:
    """A stage of the dataflow: where its rows come from, and the SQL applied since."""

    source: object
    columns: list
    steps: list = field(default_factory=list)

    @property
    def schema(self):
        """As Spark would know it: the SQL tells, over no rows."""
        return from_arrow_schema(self.rows({id(self.source): self.source.output.empty_table()}).schema)

    def where(self, condition):
        return Frame(self.source, self.columns, [*self.steps, f"SELECT * FROM t WHERE {condition}"])

    def selectExpr(self, *expressions):
        names = [re.split(r" AS ", each)[-1] for each in expressions]
        return Frame(self.source, names, [*self.steps, f"SELECT {', '.join(map(_quoted, expressions))} FROM t"])

    select = selectExpr

    def rows(self, produced):
        table = produced[id(self.source)]
        connection = _duckdb()
        for step in self.steps:
            connection.register("t", _zone(table, None))
            table = _zone(connection.sql(_quoted(step)).to_arrow_table(), "UTC")
            connection.unregister("t")
        return _batch(table)


@cache
def _duckdb():
    """One connection for all stages: to open one takes longer than a stage."""
    connection = duckdb.connect()
    for macro in _MACROS:
        connection.sql(macro)
    return connection


def _quoted(sql):
    return re.sub(r"\bwindow\.(start|end)\b", r"window_\1", re.sub(r"(\d)L\b", r"\1", sql))


def _zone(table, zone):
    fields = [pa.field(f.name, pa.timestamp("us", zone)) if pa.types.is_timestamp(f.type) else f for f in table.schema]
    return table.cast(pa.schema(fields))


def _batch(table):
    columns = [column.combine_chunks() for column in table.columns]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


class MemoryJob:
    """Operators as a job has them, but for the struct that a window is on Spark; ``run`` drives the epochs."""

    def __init__(self, slots, bits, seed):
        self.slots, self.bits = slots, bits
        self.rng = np.random.default_rng(seed)
        self.nodes = []

    def unary(self, stream, key, step, schema, *, tables=None, schedules=None, time=None, watermark=None, name):
        sides = [Side((key,), tuple(stream.columns), time)]
        return self._node(name, sides, step, schema, tables, schedules, watermark, [stream])

    def binary(self, left, right, left_key, right_key, step, schema, *, name, left_time=None, right_time=None, **rest):
        sides = [
            Side((left_key,), tuple(left.columns), left_time),
            Side((right_key,), tuple(right.columns), right_time),
        ]
        options = [rest.get(key) for key in ("tables", "schedules", "watermark")]
        return self._node(name, sides, step, schema, *options, [left, right])

    def windows(self, stream, key, *, time, length, watermark, name, **aggregates):
        built = build_windows(name, stream, key, time, length, None, None, aggregates, watermark, "append")
        return self.install(built, stream)

    def sessions(self, stream, key, *, time, gap, watermark, name, **aggregates):
        return self.install(build_sessions(name, stream, key, time, gap, aggregates, watermark), stream)

    def join(self, left, right, on, *, name):
        return self.install(
            build_join(name, left, right, (on, on), "inner", (None, None), (None, None), None), left, right
        )

    def _node(self, name, sides, step, schema, tables, schedules, watermark, inputs):
        declared = {n: (arrow_schema(k), arrow_schema(v)) for n, (k, v) in (tables or {}).items()}
        records = None if schedules is None else arrow_schema(schedules)
        return self.install(PerBin(name, sides, step, arrow_schema(schema), declared, records, watermark), *inputs)

    def install(self, operator, *inputs):
        node = _Node(operator, inputs, self)
        self.nodes.append(node)
        return Frame(node, node.output.names)

    def run(self, epochs, result):
        """Every epoch's tables by source; returns the rows of the result, epoch by epoch."""
        found, latest_us = [], None
        for number, sources in enumerate(epochs):
            produced = {id(source): table for source, table in sources.items()}
            watermark_ms = max(0, (latest_us - self._delay_us()) // 1000) if latest_us is not None else 0
            owner = self.rng.integers(0, self.slots, 1 << self.bits)
            for node in self.nodes:
                times = node.run(number, produced, watermark_ms, owner)
                latest_us = max([t for t in (latest_us, *times) if t is not None], default=None)
            found.append(pa.Table.from_batches([result.rows(produced)]))
        return found

    def _delay_us(self):
        return next((milliseconds(n.operator.delay) * 1000 for n in self.nodes if n.operator.delay is not None), 0)


class _Node:
    def __init__(self, operator, inputs, job):
        self.operator, self.inputs, self.bits = operator, inputs, job.bits
        self.output = operator._output
        self.backends = [MemoryBackend() for _ in range(job.slots)]
        self.owner = None
        self.late_ms = 0

    def run(self, epoch, produced, watermark_ms, owner):
        batches = [frame.rows(produced) for frame in self.inputs]
        sides = [self._routed(side, batch) for side, batch in enumerate(batches)]
        moved = self._exports(owner)
        out = []
        for slot in range(len(self.backends)):
            ledger = self._ledger(slot)
            self._settle(ledger, slot, owner, moved)
            mine = tuple(self._of_slot(side, rows, owner, slot) for side, rows in enumerate(sides))
            held = owner == slot
            call = SlotCall(slot, epoch, self.bits, mine, ledger, watermark_ms, 0, self.late_ms, held)
            out += [batch for batch in self.operator.process(call) if batch.num_rows]
            ledger.commit(epoch)
        self.owner, self.late_ms = owner, watermark_ms
        produced[id(self)] = pa.Table.from_batches(out, schema=self.output)
        return [self._latest(side, batch) for side, batch in enumerate(batches)]

    def _ledger(self, slot):
        return SlotLedger.open(self.backends[slot], tables=list(self.operator.tables()), bits=self.bits)

    def _exports(self, owner):
        if self.owner is None:
            return {}
        moved = {}
        for b in np.flatnonzero(self.owner != owner):
            ledger = self._ledger(self.owner[b])
            moved[b] = ledger.export([b])
            ledger.close()
        return moved

    def _settle(self, ledger, slot, owner, moved):
        mine = np.flatnonzero(owner == slot)
        gone = [b for b in mine_of(ledger) if owner[b] != slot]
        if gone:
            ledger.release(gone)
        for b in mine:
            if b in moved:
                ledger.install(moved[b], [b], 1, "a test's export")
            elif b not in ledger.owned:
                ledger.adopt([b], 0)

    def _routed(self, side, batch):
        spec = self.operator.sides[side]
        batch = batch.select(list(spec.columns))
        if not batch.num_rows:
            return Rows(batch, hash_keys([batch.column(key) for key in spec.keys]))
        halves = [batch.slice(0, batch.num_rows // 2), batch.slice(batch.num_rows // 2)]
        parts = [
            self.operator.prepare(side, Rows(half, hash_keys([half.column(key) for key in spec.keys])))
            for half in halves
            if half.num_rows
        ]
        table = _batch(pa.Table.from_batches([part.batch for part in parts]))
        return Rows(table, KeyHashes.concat([part.hashes for part in parts]))

    def _of_slot(self, side, rows, owner, slot):
        mine = np.flatnonzero(owner[rows.hashes.bins(self.bits)] == slot) if rows.batch.num_rows else np.zeros(0, int)
        if not len(mine):  # on Spark, a slot that no payload reached does not know the columns
            return Rows(pa.RecordBatch.from_pylist([], schema=pa.schema([])), rows.hashes.take(mine))
        return Rows(rows.batch.take(pa.array(mine)), rows.hashes.take(mine))

    def _latest(self, side, batch):
        column = self.operator.sides[side].time
        if column is None or not batch.num_rows:
            return None
        return max((t for t in batch.column(column).cast(pa.int64()).to_pylist() if t is not None), default=None)


def mine_of(ledger):
    """The bins that a ledger holds."""
    return list(ledger.owned)


def answer(query, epochs, settings, seed=0, slots=3):
    """All rows of a query over these epochs, and one more that ends the stream."""
    return pa.concat_tables(answers(query, [*epochs, ENDS if query in TIMED else [], []], settings, seed, slots))


def answers(query, epochs, settings, seed=0, slots=3):
    """The rows that the query gives out in each epoch."""
    sources = {kind: Source(kind) for kind in KINDS}
    frames = [source.frame() for source in sources.values()]
    job = MemoryJob(slots, bits=4, seed=seed)
    result = migratable_query(query, job, Streams(None, *frames), settings)
    fed = [tables(epoch) for epoch in epochs]
    return job.run([{source: each[kind] for kind, source in sources.items()} for each in fed], result)

"""What every slot measured in every epoch: rows, time and state per bin, small enough to be always on.

One framed Arrow stream per operator, slot and epoch, written without a promise: statistics may be lost, never the state.
The last ``EPOCHS_KEPT`` epochs stay.
"""

from __future__ import annotations

import contextlib
import io
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whimbrel.control.seals import SealBook
from whimbrel.control.stores import Store
from whimbrel.migration import EpochFact
from whimbrel.model.errors import Damaged
from whimbrel.state.frames import open_frame, seal_frame

EPOCHS_KEPT = 256
_KIND = "statistics"
_FACT_EPOCHS = 12
_INTEGERS = ("epoch", "slot", "began_at_ms", "ended_at_ms", "rows", "bytes_in", "bytes_out", "bins_in", "bins_out")


@dataclass(frozen=True, slots=True)
class SlotStatistics:
    """One slot's epoch. The arrays run over ``bins``, the bins that the slot owned.

    ``bin_micros`` is not measured bin by bin: a slot's bins are processed together, and the time that the operator itself
    took is apportioned by rows.
    """

    epoch: int
    slot: int
    began_at_ms: int
    ended_at_ms: int
    rows: int
    bytes_in: int
    bytes_out: int
    bins_in: int
    bins_out: int
    bins: npt.NDArray[np.int64]
    bin_rows: npt.NDArray[np.int64]
    bin_state_bytes: npt.NDArray[np.int64]
    bin_micros: npt.NDArray[np.int64]


def write(store: Store, operator: str, found: SlotStatistics) -> None:
    """Keep one slot's epoch and forget the one that is too old."""
    columns = [pa.array(getattr(found, name)) for name in ("bins", "bin_rows", "bin_state_bytes", "bin_micros")]
    schema = pa.schema(
        [pa.field(n, pa.int64()) for n in ("bin", "rows", "state_bytes", "micros")],
        metadata={name: str(getattr(found, name)) for name in _INTEGERS},
    )
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
    store.replace(_name(operator, found.epoch, found.slot), seal_frame(_KIND, sink.getvalue()))
    store.remove(_name(operator, found.epoch - EPOCHS_KEPT, found.slot))


def read(store: Store, operator: str, since_epoch: int = 0) -> Iterator[SlotStatistics]:
    """The kept statistics of one operator from an epoch on, by epoch and slot. What is damaged counts as lost."""
    for name in store.names(f"stats/{operator}"):
        if name.endswith(".stats") and int(name[:10]) >= since_epoch:
            data = store.get(f"stats/{operator}/{name}")
            with contextlib.suppress(Damaged):
                yield _decode(open_frame(_KIND, data or b"", name))


def _decode(data: bytes) -> SlotStatistics:
    with pa.ipc.open_stream(data) as reader:
        table = reader.read_all()
    facts = {key.decode(): int(value) for key, value in (table.schema.metadata or {}).items()}
    arrays = [table.column(i).to_numpy() for i in range(4)]
    integers = [facts[name] for name in _INTEGERS]
    return SlotStatistics(*integers, *arrays)  # type: ignore[arg-type]


def _name(operator: str, epoch: int, slot: int) -> str:
    return f"stats/{operator}/{epoch:010d}-{slot:04d}.stats"


def recent_facts(store: Store, seals: SealBook, epoch: int) -> list[EpochFact]:
    """The lengths of the last epochs before ``epoch``, from the first seal to the last slot's end.

    What Spark does outside the slots (planning, commits) is added as the shortest gap seen between the end of
    one epoch and the seal of the next.
    """
    ended: dict[int, int] = {}
    for operator in store.names("stats"):
        for found in read(store, operator, since_epoch=max(0, epoch - _FACT_EPOCHS)):
            ended[found.epoch] = max(ended.get(found.epoch, 0), found.ended_at_ms)
    sealed = {e: seal for e in ended if (seal := seals.read(e)) is not None}
    gaps = [sealed[e + 1].sealed_at_ms - ended[e] for e in sealed if e + 1 in sealed]
    outside_ms = max(0, min(gaps, default=0))
    return [
        EpochFact(e, ended[e] - seal.sealed_at_ms + outside_ms, len(seal.leaving.moves) + len(seal.arriving.moves))
        for e, seal in sorted(sealed.items())
        if e < epoch
    ]


def load_per_bin(store: Store, bins: int, since_epoch: int = 0) -> tuple[list[int], list[int]]:
    """Work (rows) and state (bytes) per bin over all operators: rows of the kept epochs, bytes of the newest."""
    work = np.zeros(bins, np.int64)
    state: dict[str, dict[int, tuple[int, int]]] = defaultdict(dict)
    for operator in store.names("stats"):
        for found in read(store, operator, since_epoch):
            np.add.at(work, found.bins, found.bin_rows)
            for b, size in zip(found.bins.tolist(), found.bin_state_bytes.tolist(), strict=True):
                if state[operator].get(b, (-1, 0))[0] <= found.epoch:
                    state[operator][b] = (found.epoch, size)
    sizes = np.zeros(bins, np.int64)
    for per_bin in state.values():
        for b, (_, size) in per_bin.items():
            sizes[b] += size
    return work.tolist(), sizes.tolist()


def as_table(store: Store, since_epoch: int = 0) -> pa.Table:
    """All kept statistics, one row per operator, epoch, slot and bin."""
    columns: dict[str, list[object]] = {
        name: [] for name in ("operator", "epoch", "slot", "bin", "rows", "state_bytes", "micros")
    }
    for operator in store.names("stats"):
        for found in read(store, operator, since_epoch):
            count = len(found.bins)
            columns["operator"] += [operator] * count
            columns["epoch"] += [found.epoch] * count
            columns["slot"] += [found.slot] * count
            for name, values in (
                ("bin", found.bins),
                ("rows", found.bin_rows),
                ("state_bytes", found.bin_state_bytes),
                ("micros", found.bin_micros),
            ):
                columns[name] += values.tolist()
    return pa.table(columns)

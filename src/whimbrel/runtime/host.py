"""The host (Megaphone's S): one call per slot and epoch, inside Spark's own stateful operator.

Order within a call: settle the bins, apply the rows, export what leaves, commit the ledger, and only then emit.
Nothing is visible to anybody before Spark commits the epoch, and a retry repeats all of it with the same bytes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

from whimbrel.control import faults, statistics
from whimbrel.model.errors import JobMismatch, OperatorFailed, WhimbrelError
from whimbrel.model.faults import ROWS_APPLIED, SLOT_COMMITTED
from whimbrel.runtime.backend import StateStoreBackend
from whimbrel.runtime.copies import copy_folder
from whimbrel.runtime.frames_out import to_frame
from whimbrel.runtime.inbox import Inbox, read_inbox
from whimbrel.runtime.opening import claim_description, claim_slot
from whimbrel.runtime.operator import Operator, SlotCall
from whimbrel.runtime.place import JobPlace, now_ms
from whimbrel.runtime.residence import Residence, Traffic
from whimbrel.runtime.task import TaskFacts
from whimbrel.runtime.tokens import slot_tokens
from whimbrel.state.ledger import SlotLedger, run_epoch

WATERMARK_NOTE = "watermark_ms"
"""The note of the last epoch's watermark. With event time every slot runs in every epoch, so it is never older."""


class Host(StatefulProcessor):
    """Spark calls it; it calls the operator."""

    def __init__(self, place: JobPlace, operator: Operator) -> None:
        self._place = place
        self._operator = operator

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Spark hands over the state of one partition."""
        self._backend = StateStoreBackend(handle)

    def handleInputRows(  # noqa: N802
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        """One slot, one epoch."""
        slot = slot_tokens(self._place.settings.max_slots).index(int(key[0]))
        task = TaskFacts.here()
        self._check_partition(slot, task)
        began = time.time_ns()
        call = _SlotEpoch(self._place, self._operator, self._backend, slot, task, began)
        for batch in call.run(rows, timerValues):
            if batch.num_rows:
                yield to_frame(batch)

    def close(self) -> None:
        """Nothing is held between epochs."""

    def _check_partition(self, slot: int, task: TaskFacts) -> None:
        self._place.check_partitions(task.shuffle_partitions)
        # Where Spark tells the number, that says all: in a union a task's own number is not that of its state partition.
        if task.shuffle_partitions is None and task.partition != slot:
            raise JobMismatch(
                f"slot {slot} of {self._place.directory} runs in state partition {task.partition}: this query has another "
                f"number of shuffle partitions than the job's max_slots ({self._place.settings.max_slots}); create the "
                "job right before you start its query, or set spark.sql.shuffle.partitions to max_slots"
            )


@dataclass(slots=True)
class _SlotEpoch:
    place: JobPlace
    operator: Operator
    backend: StateStoreBackend
    slot: int
    task: TaskFacts
    began: int
    applied_ns: int = 0

    def run(self, frames: Iterator[pd.DataFrame], times: TimerValues) -> list[pa.RecordBatch]:
        """The whole call; returns what the operator emits."""
        inbox = read_inbox(frames, self.operator)
        return run_epoch(self._open_ledger, lambda ledger: self._work(inbox, ledger, times))

    def _work(self, inbox: Inbox, ledger: SlotLedger, times: TimerValues) -> list[pa.RecordBatch]:
        where = f"slot {self.slot} of {self.place.directory}"
        claim_slot(ledger.notes, self.operator.name, int(inbox.rows_per_bin.sum()), where)
        claim_description(ledger.notes, self.operator, where)
        residence = self._residence(ledger)
        arrived = residence.settle()
        ledger.add_rows(inbox.bins, inbox.rows_per_bin)
        emitted = self._apply(inbox, ledger, times, residence)
        faults.reached(ROWS_APPLIED, self.task.epoch)
        departed = residence.depart()
        ledger.commit(self.task.epoch)
        faults.reached(SLOT_COMMITTED, self.task.epoch)
        self._keep_statistics(inbox, residence, arrived, departed)
        return emitted

    def _open_ledger(self) -> SlotLedger:
        folder: Path | None = copy_folder(self.place.directory, self.operator.name, self.slot)
        tables, bits = list(self.operator.tables()), self.place.settings.bin_bits
        return SlotLedger.open(self.backend, tables, bits, folder, earlier=self.operator.earlier)

    def _residence(self, ledger: SlotLedger) -> Residence:
        seal = self.place.seal(self.task.epoch, self.task.query_id)
        stamped = self.place.seals.assignment(seal.assignment)
        return Residence(self.place.store, self.operator.name, self.slot, seal, stamped, ledger)

    def _call(self, inbox: Inbox, ledger: SlotLedger, times: TimerValues, residence: Residence) -> SlotCall:
        held = np.zeros(self.place.settings.bins, np.bool_)
        held[residence.held_bins()] = True
        late_ms = watermark_ms = 0
        if self.operator.time_mode == "EventTime":
            late_ms, watermark_ms = int(ledger.notes.get(WATERMARK_NOTE, 0)), times.getCurrentWatermarkInMs()
            ledger.notes[WATERMARK_NOTE] = watermark_ms
        now_ms = times.getCurrentProcessingTimeInMs() if self.operator.time_mode != "None" else 0
        bits = self.place.settings.bin_bits
        return SlotCall(self.slot, self.task.epoch, bits, inbox.sides, ledger, watermark_ms, now_ms, late_ms, held)

    def _apply(
        self, inbox: Inbox, ledger: SlotLedger, times: TimerValues, residence: Residence
    ) -> list[pa.RecordBatch]:
        call = self._call(inbox, ledger, times, residence)
        began = time.perf_counter_ns()
        try:
            return list(self.operator.process(call))
        except WhimbrelError:
            raise
        except Exception as error:
            raise OperatorFailed(
                f"operator {self.operator.name!r} failed in slot {self.slot}, epoch {self.task.epoch}: "
                f"{type(error).__name__}: {error}; the state is as before the epoch: mend the function and restart the query"
            ) from error
        finally:
            self.applied_ns = time.perf_counter_ns() - began

    def _keep_statistics(self, inbox: Inbox, residence: Residence, arrived: Traffic, departed: Traffic) -> None:
        sizes = residence.ledger.state_bytes()
        bins = np.array(residence.held_bins(), np.int64)
        rows = np.zeros(self.place.settings.bins, np.int64)
        np.add.at(rows, inbox.bins, inbox.rows_per_bin)
        total = max(1, int(rows.sum()))
        # Bins are processed together, so the operator's own time is apportioned to them by rows.
        micros = (rows * (self.applied_ns // 1000)) // total
        statistics.write(
            self.place.store,
            self.operator.name,
            statistics.SlotStatistics(
                epoch=self.task.epoch,
                slot=self.slot,
                began_at_ms=self.began // 1_000_000,
                ended_at_ms=now_ms(),
                rows=int(rows.sum()),
                bytes_in=arrived.bytes,
                bytes_out=departed.bytes,
                bins_in=arrived.bins,
                bins_out=departed.bins,
                bins=bins,
                bin_rows=rows[bins],
                bin_state_bytes=sizes["total"][bins],
                bin_micros=micros[bins],
            ),
        )

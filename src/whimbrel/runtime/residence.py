"""Which bins a slot must hold in an epoch, and how it comes to hold exactly those.

Before the rows: forget what moved away long enough ago, install what arrives, adopt what begins here. After the
rows: export what leaves. Every decision follows from the seal, the stamped assignment and the ledger, all of
them committed facts; so a retry does the same again.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from whimbrel.control import faults
from whimbrel.control.seal import Seal
from whimbrel.control.stamped import StampedAssignment
from whimbrel.control.stores import Store
from whimbrel.control.transfers import drop_step, get_transfer, put_transfer
from whimbrel.model.errors import Damaged
from whimbrel.model.faults import ARRIVALS_INSTALLED, EXPORT_WRITTEN, RELEASED
from whimbrel.state.ledger import SlotLedger


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes and bins that crossed in one direction."""

    bins: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Residence:
    """One slot of one operator in one epoch."""

    store: Store
    operator: str
    slot: int
    seal: Seal
    stamped: StampedAssignment
    ledger: SlotLedger

    def settle(self) -> Traffic:
        """Make the ledger hold the slot's bins (and those still kept for an install elsewhere), before the rows."""
        self._release()
        missing = self._missing()
        newborn = [b for b in missing if self.stamped.stamp[b] == 0]
        if newborn:
            self.ledger.adopt(newborn, 0)
        traffic = self._install([b for b in missing if self.stamped.stamp[b] != 0])
        if traffic.bins:
            faults.reached(ARRIVALS_INSTALLED, self.seal.epoch)
        return traffic

    def depart(self) -> Traffic:
        """Export the bins that leave at the end of this epoch; they stay here until their install is committed."""
        outgoing: dict[int, list[int]] = defaultdict(list)
        for move in self.seal.leaving.moves:
            if move.source == self.slot:
                outgoing[move.target].append(move.bin)
        sent = 0
        for target, bins in sorted(outgoing.items()):
            data = self.ledger.export(sorted(bins))
            put_transfer(self.store, self.operator, self.seal.leaving.number, self.slot, target, data)
            sent += len(data)
        if outgoing:
            faults.reached(EXPORT_WRITTEN, self.seal.epoch)
        return Traffic(sum(map(len, outgoing.values())), sent)

    def held_bins(self) -> list[int]:
        """The bins that this slot owns in this epoch."""
        return list(self.stamped.assignment.bins_of(self.slot))

    def _is_current(self, b: int, stamp: int) -> bool:
        return self.stamped.assignment.owner[b] == self.slot and self.stamped.stamp[b] == stamp

    def _release(self) -> None:
        kept_for_install = {move.bin for move in self.seal.arriving.moves if move.source == self.slot}
        gone = [
            b for b, stamp in self.ledger.owned.items() if not self._is_current(b, stamp) and b not in kept_for_install
        ]
        if gone:
            self.ledger.release(gone)
            faults.reached(RELEASED, self.seal.epoch)
        if self.seal.releasing.moves and self.slot == min(move.source for move in self.seal.releasing.moves):
            drop_step(self.store, self.operator, self.seal.releasing.number - TRANSFERS_KEPT)

    def _missing(self) -> list[int]:
        return [b for b in self.held_bins() if self.ledger.owned.get(b) != self.stamped.stamp[b]]

    def _install(self, bins: list[int]) -> Traffic:
        arriving = {move.bin: move.source for move in self.seal.arriving.moves}
        sources: dict[tuple[int, int], list[int]] = defaultdict(list)
        for b in bins:
            stamp = self.stamped.stamp[b]
            if stamp != self.seal.arriving.number or b not in arriving:
                raise Damaged(
                    f"slot {self.slot} of operator {self.operator!r} owns bin {b} since step {stamp} and does not hold it "
                    f"in epoch {self.seal.epoch}: was the checkpoint replaced? Restore it, or start a new job directory"
                )
            sources[stamp, arriving[b]].append(b)
        received = 0
        for (step, source), group in sorted(sources.items()):
            name, data = get_transfer(self.store, self.operator, step, source, self.slot)
            self.ledger.release([b for b in group if b in self.ledger.owned])
            self.ledger.install(data, sorted(group), step, name)
            received += len(data)
        return Traffic(len(bins), received)


TRANSFERS_KEPT = 2
"""Steps whose transfers stay a little longer than the protocol needs, for whoever looks into a failure."""

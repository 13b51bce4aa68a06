"""SlotLedger against a dict: random epochs, moves between slots, crashes, and copies that vanish or lie."""

import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.state.doubles import KEY, VALUE, bin_of, content, damage, drop, flip, keys_batch, put

from whimbrel.model import BadInput, Damaged, JobMismatch
from whimbrel.state.backend import TableSpec
from whimbrel.state.ledger import SlotLedger, run_epoch
from whimbrel.testing import MemoryBackend

BITS = 3
SPECS = [TableSpec("counts", KEY, VALUE), TableSpec("other", KEY, VALUE)]


class Slot:
    """One slot of a model job: its truth, its copy, and what it ought to hold."""

    def __init__(self, root, page_bytes=2000, value_bytes_max=4000):
        self.backend, self.root, self.expected = MemoryBackend(), root, ({}, {})
        self.limits = {"page_bytes": page_bytes, "value_bytes_max": value_bytes_max}

    def open(self):
        return SlotLedger.open(self.backend, SPECS, BITS, self.root, **self.limits)

    def check(self, ledger):
        for spec, expected in zip(SPECS, self.expected):
            assert content(ledger.table(spec.name)) == expected


class World:
    """Several slots that hand bins to each other, epoch by epoch."""

    def __init__(self, root, slots, rng):
        self.rng, self.epoch, self.moves = rng, 0, 0
        self.slots = [Slot(root / f"slot-{n}" if n else None) for n in range(slots)]
        self.owner = {b: b % slots for b in range(1 << BITS)}
        for number, slot in enumerate(self.slots):
            self.run(slot, lambda ledger, n=number: ledger.adopt([b for b, s in self.owner.items() if s == n], 0))
            slot.backend.keep()
        self.epoch = 1

    def run(self, slot, work):
        def whole(ledger):
            slot.check(ledger)
            result = work(ledger)
            ledger.commit(self.epoch)
            return result

        return run_epoch(slot.open, whole)

    def change(self, slot):
        """A random change of the slot's keys, as a function of the ledger and as what it leads to."""
        number, tables = self.slots.index(slot), []
        for expected in slot.expected:
            keys = [int(k) for k in self.rng.integers(0, 300, self.rng.integers(0, 30))]
            keys = [k for k in keys if self.owner[bin_of(k, BITS)] == number]
            gone = [k for k in list(expected) if self.rng.random() < 0.1]
            puts = {k: (int(self.rng.integers(0, 9)), "v" * int(self.rng.integers(0, 40))) for k in keys}
            tables.append((gone, puts))

        def work(ledger):
            for spec, (gone, puts) in zip(SPECS, tables):
                put(ledger.table(spec.name), puts)
                drop(ledger.table(spec.name), gone)

        after = tuple(
            {k: v for k, v in {**expected, **puts}.items() if k not in gone}
            for expected, (gone, puts) in zip(slot.expected, tables)
        )
        return work, after

    def step(self):
        for slot in self.slots:
            work, after = self.change(slot)
            if self.rng.random() < 0.2:
                self.run(slot, work)
                slot.backend.lose()
            self.run(slot, work)
            slot.expected = after
            slot.backend.keep()
            self.hurt(slot)
        self.epoch += 1
        if self.rng.random() < 0.5:
            self.move()

    def hurt(self, slot):
        luck = self.rng.random()
        if slot.root is not None and luck < 0.1:
            shutil.rmtree(slot.root)
        elif slot.root is not None and luck < 0.4:
            damage(slot.root, self.rng, int(self.rng.integers(1, 60)))

    def move(self):
        source, target = (self.slots[n] for n in self.rng.permutation(len(self.slots))[:2])
        number = self.slots.index(source)
        bins = [b for b, s in self.owner.items() if s == number and self.rng.random() < 0.6]
        if not bins:
            return
        self.moves += 1
        data = self.run(source, lambda ledger: ledger.export(bins))
        source.backend.keep()
        self.epoch += 1
        for b in bins:
            self.owner[b] = self.slots.index(target)
        moved = tuple({k: v for k, v in e.items() if bin_of(k, BITS) in bins} for e in source.expected)
        source_after = tuple({k: v for k, v in e.items() if bin_of(k, BITS) not in bins} for e in source.expected)
        before, target.expected = target.expected, tuple({**e, **m} for e, m in zip(target.expected, moved))
        work, after = self.change(target)
        target.expected = before

        def install(ledger):
            ledger.install(data, bins, self.moves, "transfer")
            work(ledger)

        self.run(target, install)
        target.expected = after
        self.run(source, lambda ledger: ledger.release(bins))
        source.expected = source_after
        source.backend.keep(), target.backend.keep()
        self.epoch += 1


def live_through(root, seed, steps):
    world = World(root, 3, np.random.default_rng(seed))
    for _ in range(steps):
        world.step()
    for slot in world.slots:
        run_epoch(slot.open, slot.check)
        private = SlotLedger.open(slot.backend, SPECS, BITS, None)
        slot.check(private)


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10_000))
def test_slots_that_crash_and_trade_bins_hold_what_a_dict_holds(tmp_path_factory, seed):
    live_through(tmp_path_factory.mktemp("world"), seed, 15)


@pytest.mark.nightly
@settings(max_examples=100, deadline=None)
@given(st.integers(0, 1_000_000))
def test_slots_hold_what_a_dict_holds_through_long_lives(tmp_path_factory, seed):
    live_through(tmp_path_factory.mktemp("world"), seed, 60)


def counting(slot, epoch, keys):
    def work(ledger):
        if ledger.epoch < 0:
            ledger.adopt(range(1 << BITS), 0)
        put(ledger.table("counts"), {int(k): (epoch, "x" * 20) for k in keys})
        ledger.commit(epoch)
        return ledger

    return run_epoch(slot.open, work)


def test_journal_and_values_stay_bounded(tmp_path):
    slot, rng = Slot(tmp_path / "s", page_bytes=8000, value_bytes_max=16_000), np.random.default_rng(1)
    counting(slot, 0, range(2000))
    for epoch in range(1, 400):
        ledger = counting(slot, epoch, rng.choice(2000, 20, replace=False))
        stored = ledger.stored_bytes()
        held = sum(len(v) for k, v in slot.backend.now.items() if k != "head")
        assert stored["base"] + stored["journal"] == held
        assert slot.backend.largest <= 16_000
        if epoch > 150:
            assert stored["journal"] <= 2.5 * stored["base"] + 16_000
            assert stored["base"] <= 1.5 * int(ledger.state_bytes()["total"].sum())


def test_a_small_state_costs_few_calls(tmp_path):
    slot = Slot(tmp_path / "s", page_bytes=1 << 20, value_bytes_max=2 << 20)
    for epoch in range(50):
        before = slot.backend.calls
        counting(slot, epoch, range(10))
        assert slot.backend.calls - before <= 4


def test_a_state_that_shrinks_gives_its_pages_back(tmp_path):
    slot = Slot(tmp_path / "s", page_bytes=4000, value_bytes_max=16_000)
    counting(slot, 0, range(2000))
    for epoch in range(1, 200):
        counting(slot, epoch, range(20))
    many = sum(1 for key in slot.backend.now if key != "head" and key % 2 == 0)
    run_epoch(slot.open, lambda ledger: (drop(ledger.table("counts"), range(1980)), ledger.commit(200)))
    for epoch in range(201, 1200):
        counting(slot, epoch, range(1980, 2000))
    few = sum(1 for key in slot.backend.now if key != "head" and key % 2 == 0)
    assert many > 10 and few <= 4


def test_an_export_is_a_function_of_content_alone(tmp_path):
    straight, winding = Slot(None), Slot(tmp_path / "w")
    counting(straight, 7, range(100, 200))
    for epoch, keys in enumerate([range(0, 150), range(90, 250), range(120)]):
        counting(winding, epoch, keys)
    run_epoch(
        winding.open, lambda ledger: (drop(ledger.table("counts"), [*range(100), *range(200, 250)]), ledger.commit(6))
    )
    counting(winding, 7, reversed(range(100, 200)))
    assert straight.open().export(range(8)) == winding.open().export(range(8))


def test_rows_accepted_travel_with_their_bin(tmp_path):
    source, target = Slot(tmp_path / "a"), Slot(tmp_path / "b")
    ledger = source.open()
    ledger.adopt([1, 2], 0)
    ledger.add_rows(np.array([1, 2, 1]), np.array([5, 7, 3]))
    data = ledger.export([1])
    ledger.commit(0)
    ledger = target.open()
    ledger.install(data, [1], 4, "transfer")
    ledger.commit(1)
    ledger = target.open()
    assert dict(ledger.owned) == {1: 4} and ledger.rows_of(1) == 8 and ledger.rows_of(2) == 0


def test_a_bin_that_comes_back_does_not_meet_its_old_rows(tmp_path):
    slot = Slot(None, page_bytes=500)
    for epoch in range(30):
        counting(slot, epoch, range(100))
    run_epoch(slot.open, lambda ledger: (ledger.release(range(8)), ledger.commit(30)))
    assert content(slot.open().table("counts")) == {}
    run_epoch(
        slot.open,
        lambda ledger: (ledger.adopt(range(8), 3), put(ledger.table("counts"), {5: (1, None)}), ledger.commit(31)),
    )
    assert content(slot.open().table("counts")) == {5: (1, None)}


def test_a_bin_released_and_installed_in_one_epoch_holds_what_was_installed(tmp_path):
    slot = Slot(tmp_path / "s")
    counting(slot, 0, range(100))
    ledger = slot.open()
    data = ledger.export(range(8))
    put(ledger.table("counts"), dict.fromkeys(range(200), (99, "late")))
    ledger.release(range(8))
    ledger.install(data, range(8), 2, "transfer")
    put(ledger.table("counts"), {3: (7, "new")})
    expected = content(ledger.table("counts"))
    ledger.commit(1)
    shutil.rmtree(slot.root)
    assert content(slot.open().table("counts")) == expected
    assert expected[3] == (7, "new") and len(expected) == 100


def test_a_good_copy_is_used_and_a_stale_one_is_not(tmp_path):
    slot = Slot(tmp_path / "s")
    counting(slot, 0, range(50))
    assert not slot.open().rebuilt
    shutil.copytree(slot.root, tmp_path / "old")
    counting(slot, 1, range(25))
    expected = content(slot.open().table("counts"))
    shutil.rmtree(slot.root)
    shutil.copytree(tmp_path / "old", slot.root)
    ledger = slot.open()
    assert ledger.rebuilt and content(ledger.table("counts")) == expected


@pytest.mark.parametrize("name", ["rows", "index", "heap"])
def test_one_stale_file_among_good_ones_is_noticed(tmp_path, name):
    slot = Slot(tmp_path / "s")
    counting(slot, 0, range(50))
    old = (slot.root / "counts" / name).read_bytes()
    counting(slot, 1, range(25))
    expected = content(slot.open().table("counts"))
    (slot.root / "counts" / name).write_bytes(old)
    ledger = slot.open()
    assert ledger.rebuilt and content(ledger.table("counts")) == expected


def test_work_that_was_not_committed_leaves_no_trace(tmp_path):
    slot = Slot(tmp_path / "s")
    counting(slot, 0, range(50))
    before = content(slot.open().table("counts"))
    ledger = slot.open()
    put(ledger.table("counts"), dict.fromkeys(range(80), (-1, "lost")))
    del ledger
    assert content(slot.open().table("counts")) == before


def test_a_second_user_works_on_a_private_copy(tmp_path):
    slot = Slot(tmp_path / "s")
    counting(slot, 0, range(50))
    first, second = slot.open(), slot.open()
    assert second.rebuilt and not first.rebuilt
    put(first.table("counts"), {1: (5, "mine")})
    assert content(second.table("counts"))[1] == (0, "x" * 20)
    first.commit(1)
    assert not slot.open().rebuilt


def test_notes_are_kept(tmp_path):
    slot = Slot(tmp_path / "s")
    ledger = slot.open()
    ledger.notes["watermark"] = 17
    ledger.commit(3)
    assert slot.open().notes == {"watermark": 17} and slot.open().epoch == 3


def test_damage_of_the_truth_is_named(tmp_path):
    slot, rng = Slot(None, page_bytes=1000), np.random.default_rng(2)
    for epoch in range(20):
        counting(slot, epoch, range(100))
    for key, good in list(slot.backend.now.items()):
        bad = bytearray(good)
        bad[int(rng.integers(0, len(bad)))] ^= 4
        slot.backend.now[key] = bytes(bad)
        with pytest.raises(Damaged, match="head|page|journal"):
            slot.open()
        slot.backend.now[key] = good
        if key != "head":
            del slot.backend.now[key]
            if key in _needed(slot):
                with pytest.raises(Damaged, match="missing"):
                    slot.open()
            slot.backend.now[key] = good


def _needed(slot):
    return {key for key in slot.backend.now if key != "head"}


def test_a_damaged_export_is_refused_and_changes_nothing(tmp_path):
    source, target = Slot(None), Slot(None)
    counting(source, 0, range(100))
    data = source.open().export(range(8))
    rng = np.random.default_rng(4)
    ledger = target.open()
    for _ in range(50):
        bad = bytearray(data)
        bad[int(rng.integers(0, len(bad)))] ^= 1 << int(rng.integers(0, 8))
        with pytest.raises(Damaged, match="transfers/9"):
            ledger.install(bytes(bad), [1, 2], 1, "transfers/9")
    assert len(ledger.owned) == 0 and content(ledger.table("counts")) == {}


def test_mistakes_are_refused(tmp_path):
    slot = Slot(None)
    counting(slot, 5, range(10))
    ledger = slot.open()
    with pytest.raises(BadInput, match="cannot follow"):
        ledger.commit(5)
    with pytest.raises(BadInput, match="owned by this slot already"):
        ledger.adopt([1], 1)
    with pytest.raises(BadInput, match="no table 'x'"):
        ledger.table("x")
    data = ledger.export([1])
    other = Slot(None).open()
    with pytest.raises(BadInput, match="does not hold bin 2"):
        other.install(data, [2], 1, "transfer")
    with pytest.raises(BadInput, match="not owned"):
        other.export([1])
    put(other.table("counts"), {1: (1, "")})
    with pytest.raises(BadInput, match="does not own"):
        other.commit(0)
    with pytest.raises(JobMismatch, match="restore the old settings"):
        SlotLedger.open(slot.backend, SPECS[:1], BITS)
    with pytest.raises(JobMismatch):
        SlotLedger.open(slot.backend, SPECS, BITS + 1)


def test_large_installs_are_journaled_in_values_of_bounded_size(tmp_path):
    source, target = Slot(None, 1 << 20, 1 << 20), Slot(None, 1 << 20, 20_000)
    counting(source, 0, range(3000))
    data = source.open().export(range(8))
    ledger = target.open()
    ledger.install(data, range(8), 1, "transfer")
    ledger.commit(1)
    assert target.backend.largest <= 20_000
    assert content(target.open().table("counts")) == content(source.open().table("counts"))


def test_a_flip_in_every_file_of_a_copy_is_found_or_harmless(tmp_path):
    rng = np.random.default_rng(9)
    slot = Slot(tmp_path / "s")
    counting(slot, 0, range(300))
    expected = content(slot.open().table("counts"))
    for _ in range(60):
        for path in [p for p in slot.root.rglob("*") if p.is_file() and p.stat().st_size]:
            flip(path, rng)
        assert run_epoch(slot.open, lambda ledger: content(ledger.table("counts"))) == expected


def test_keys_of_other_slots_are_unknown(tmp_path):
    slot = Slot(tmp_path / "s")
    counting(slot, 0, range(50))
    hashes, _ = keys_batch(range(50, 100))
    assert (slot.open().table("counts").find(hashes) == -1).all()


def test_a_full_disk_costs_the_copy_and_nothing_else(tmp_path, monkeypatch):
    slot = Slot(tmp_path / "s")
    counting(slot, 0, range(50))
    expected = content(slot.open().table("counts"))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("whimbrel.state.area.Area._take_room", full)
    counting(slot, 1, range(1000, 9000))
    assert content(slot.open().table("counts")) == {**expected, **dict.fromkeys(range(1000, 9000), (1, "x" * 20))}


def test_an_epoch_that_changes_most_rows_writes_pages_and_no_journal_and_deleted_rows_stay_away(monkeypatch):
    monkeypatch.setattr("whimbrel.state.writing.JOURNAL_BYTES_SPARED", 0)
    dense_epochs = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        slot, expected = Slot(None, page_bytes=600), {}
        for epoch in range(14):
            ledger = slot.open()
            if epoch == 0:
                ledger.adopt(range(1 << BITS), 0)
            assert content(ledger.table("counts")) == expected
            touched = rng.choice(200, int(rng.choice([3, 190])), replace=False)
            gone = [k for k in expected if rng.random() < 0.2]
            drop(ledger.table("counts"), gone)
            values = {int(k): (epoch, f"v{epoch}") for k in touched}
            put(ledger.table("counts"), values)
            expected = {k: v for k, v in expected.items() if k not in gone} | values
            held = len(expected)
            ledger.commit(epoch)
            slot.backend.keep()
            dense_epochs += epoch > 0 and len(touched) >= 0.4 * held
    assert dense_epochs > 20


def commit_on_damaged_files(slot, rng):
    """An epoch whose copy is damaged between its work and its commit; whether the damage was found, and what is held."""
    touched = {int(k): (1, "y" * 30) for k in rng.choice(300, 60, replace=False)}
    tries = []

    def open_whole():
        assert slot.backend.now == slot.backend.kept, "a commit that failed has left something behind"
        return slot.open()

    def work(ledger):
        put(ledger.table("counts"), touched)
        tries.append(ledger)
        if len(tries) == 1:
            damage(slot.root / "counts", rng, 6)
        ledger.commit(1)

    run_epoch(open_whole, work)
    slot.backend.keep()
    return len(tries) > 1, {**dict.fromkeys(range(300), (0, "x" * 20)), **touched}


def test_damage_found_while_a_commit_turns_pages_leaves_the_truth_as_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr("whimbrel.state.writing.JOURNAL_BYTES_SPARED", 0)
    found = 0
    for seed in range(12):
        slot = Slot(tmp_path / f"s{seed}", page_bytes=600)
        counting(slot, 0, range(300))
        slot.backend.keep()
        was_found, expected = commit_on_damaged_files(slot, np.random.default_rng(seed))
        found += was_found
        assert content(SlotLedger.open(slot.backend, SPECS, BITS, None).table("counts")) == expected
    assert found > 3


def test_a_copy_that_cannot_be_saved_is_built_again_and_the_epoch_stands(tmp_path, monkeypatch):
    slot = Slot(tmp_path / "s")
    counting(slot, 0, range(50))

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("whimbrel.state.area.Area.stamp", full)
        counting(slot, 1, range(20, 80))
    again = slot.open()
    assert again.epoch == 1 and again.rebuilt
    assert content(again.table("counts")) == {
        **dict.fromkeys(range(20), (0, "x" * 20)),
        **dict.fromkeys(range(20, 80), (1, "x" * 20)),
    }

"""The audit finds what is wrong: in Spark's files, in a slot's values, in what is under way, in the control objects."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.runtime.counting import BINS, MAX_SLOTS, start

from whimbrel.control.board import Board
from whimbrel.control.checking import control_faults
from whimbrel.model import Assignment
from whimbrel.runtime.audit import audit, slot_values, stateful_operators, verdicts
from whimbrel.runtime.audit_report import judge
from whimbrel.runtime.committed import committed_seal


@pytest.fixture(scope="module")
def stopped(spark, tmp_path_factory):
    """A job that was stopped between an export and its install, audited all the while it ran: its folder."""
    folder = tmp_path_factory.mktemp("audited")
    run = start(spark, folder)
    run.follower.epochs(1)
    rng = np.random.default_rng(11)
    seen = 0
    for _ in range(2):
        run.move_to(Assignment(tuple(int(x) for x in rng.integers(0, MAX_SLOTS, BINS))), "batched", size=2)
        run.follower.epochs(2)
        report = run.job.audit()
        assert report.ok, report
        seen += report.travelling
    assert seen, "no audit ran while bins travelled"
    run.move_to(Assignment(tuple((slot + 1) % MAX_SLOTS for slot in run.job.board.assignment().owner)), "fluid")
    run.follower.until(lambda: committed_seal(run.job.board, run.job.checkpoint).leaving.moves, 120)
    run.stop()
    # The query may have committed one more epoch before it stopped: what matters is that bins are under way.
    assert committed_seal(run.job.board, run.job.checkpoint).leaving.moves or not run.job.status().settled
    run.assert_exact()
    return Path(run.job.directory)


@pytest.fixture
def copy(stopped, tmp_path):
    """A copy that a test may spoil."""
    return Path(shutil.copytree(stopped, tmp_path / "job"))


def audited(spark, folder: Path):
    return audit(spark, Board(str(folder)), f"{folder}/checkpoint")


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0x10
    file.write_bytes(data)


def test_damaged_files_of_spark_are_a_fault_and_no_crash(spark, copy):
    files = [f for f in (copy / "checkpoint/state").rglob("*") if f.is_file() and not f.name.startswith(".")]
    for file in files:
        if file.suffix in {".changelog", ".zip", ".sst"} and file.stat().st_size:
            flip(file)
    report = audited(spark, copy)
    assert not report.ok and not report.digest_ok
    assert any("Spark cannot read" in fault for fault in report.faults)


def test_a_lost_slot_is_found_by_its_bins_and_rows(spark, copy):
    found, seal, stamped = findings(spark, copy)
    lost = next(f.slot for f in found if f.bin is not None and f.rows and f.slot == stamped.assignment.owner[f.bin])
    report = judge([f for f in found if f.slot != lost], seal, stamped, [])
    assert not report.owners_ok and any("has 0 owners" in fault for fault in report.faults)


def findings(spark, folder: Path):
    board = Board(str(folder))
    seal = committed_seal(board, f"{folder}/checkpoint")
    found = [f for slot, pairs in values_of(spark, folder).items() for f in verdicts(slot, pairs, board.operators())]
    stamped = board.seals.assignment(seal.assignment)
    assert judge(found, seal, stamped, []).ok
    return found, seal, stamped


def values_of(spark, folder: Path):
    checkpoint = f"{folder}/checkpoint"
    epoch = committed_seal(Board(str(folder)), checkpoint).epoch
    slots: dict[int, list] = {}
    for number in stateful_operators(spark, checkpoint):
        for row in slot_values(spark, checkpoint, number, epoch).collect():
            slots.setdefault(row["partition"], []).append((row["key"], bytes(row["bytes"])))
    return slots


def test_a_bin_in_two_slots_and_a_bin_put_back_in_time_are_found(spark, copy):
    from dataclasses import replace

    found, seal, stamped = findings(spark, copy)
    mine = next(f for f in found if f.bin is not None and f.rows and stamped.assignment.owner[f.bin] == f.slot)
    assert not judge([*found, mine], seal, stamped, []).owners_ok
    older = [replace(f, rows=f.rows - 1) if f is mine else f for f in found]
    report = judge(older, seal, stamped, [])
    assert report.owners_ok and not report.rows_ok
    assert any("its slots took in" in fault for fault in report.faults)


def test_every_changed_or_missing_value_of_a_slot_is_found(spark, copy):
    operators = Board(str(copy)).operators()
    slots = {slot: pairs for slot, pairs in values_of(spark, copy).items() if len(pairs) > 1}
    assert slots
    rng = np.random.default_rng(5)
    for slot, pairs in slots.items():
        for at, (key, data) in enumerate(pairs):
            spoiled = bytearray(data)
            spoiled[int(rng.integers(0, len(data)))] ^= 1 << int(rng.integers(0, 8))
            changed = [*pairs[:at], (key, bytes(spoiled)), *pairs[at + 1 :]]
            without = [*pairs[:at], *pairs[at + 1 :]]
            for tampered in (changed, without):
                told = list(verdicts(slot, tampered, operators))
                whole = list(verdicts(slot, pairs, operators))
                assert [f.fault for f in told if f.fault] or told == whole and at_rest(key, pairs)


def at_rest(key, pairs):
    """Whether a value is a journal entry that the slot no longer needs: its loss changes nothing."""
    from whimbrel.state.head import open_head

    head = open_head(next(data for k, data in pairs if k is None), "here")
    return key is not None and key % 2 == 1 and key // 2 < max(head.journal_first, head.pages.position)


def test_spoiled_control_objects_are_found(spark, copy):
    board = Board(str(copy))
    seal = committed_seal(board, f"{copy}/checkpoint")
    assert control_faults(board, seal) == []
    flip(sorted((copy / "control/seals").iterdir())[0])
    flip(sorted((copy / "control/log").iterdir())[0])
    told = control_faults(Board(str(copy)), seal)
    assert len(told) == 2 and all("is damaged" in fault for fault in told)
    flip(copy / f"control/assignments/{seal.assignment}.map")
    report = audited(spark, copy)
    assert not report.ok and report.as_dict()["ok"] is False
    assert any(f"{seal.assignment}.map is damaged" in fault for fault in report.faults)


def test_an_operator_that_holds_nothing_after_a_move_is_found(spark, copy, monkeypatch):
    monkeypatch.setattr("whimbrel.runtime.audit.slot_values", lambda *where: slot_values(*where).where("false"))
    report = audited(spark, copy)
    assert not report.ok
    assert any("operator 0 holds nothing of any of aggregate" in fault for fault in report.faults)

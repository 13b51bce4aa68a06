"""Every kind of object that a job keeps, damaged in every way: refused with an error that names it, never believed."""

from pathlib import Path

import numpy as np
import pytest

from whimbrel.cli import app as command_line
from whimbrel.control import activity, checking, lease, statistics
from whimbrel.control.board import Board
from whimbrel.control.settings import JobSettings, fix_operator, fix_settings
from whimbrel.control.stores import LocalStore
from whimbrel.control.transfers import get_transfer, put_transfer
from whimbrel.migration import Pacing
from whimbrel.model import Assignment, Damaged, ReplayDiffers
from whimbrel.state.frames import seal_frame
from whimbrel.testing import DAMAGES, SealChain, spoil

OPERATOR = "counts"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A job with one object of every kind, whose newest epoch has bins under way."""
    folder = tmp_path / "job"
    store = LocalStore(folder)
    fix_settings(store, JobSettings("job", bins=32, max_slots=4, slots=2), str(folder))
    fix_operator(store, OPERATOR, {"kind": "none", "schemas": []}, str(folder), lambda was, now: "", -1)
    chain = SealChain(32, 2, store)
    chain.post(Assignment.even(32, 2), Pacing.of("fluid").as_dict())
    chain.post(Assignment.even(32, 3), Pacing.of("batched", size=2).as_dict())
    chain.seal()
    chain.seal()
    sealed = chain.seal()
    for source, target in {(m.source, m.target) for m in sealed.leaving.moves}:
        put_transfer(store, OPERATOR, sealed.leaving.number, source, target, seal_frame("bins", b"state"))
    lease.acquire(store, str(folder), lease.Holder("elsewhere", 1, "boot"), lambda: 10**15).release()
    lease.acquire(store, str(folder), lease.Holder("elsewhere", 1, "boot"), lambda: 10**15)._stopped.set()
    activity.mark_rows(store, 1)
    four = [np.zeros(1, np.int64)] * 4
    statistics.write(store, OPERATOR, statistics.SlotStatistics(1, 0, 0, 0, 0, 0, 0, 0, 0, *four))
    return folder


def faults_of(folder: Path) -> list[str]:
    board = Board(str(folder))
    seal = board.seals.read(2)
    if seal is None:
        return ["the seal is gone"]
    return checking.control_faults(board, seal) + checking.transfer_faults(board, seal, [OPERATOR])


KINDS = {
    "control/job": lambda folder: Board(str(folder)),
    "control/operators": lambda folder: Board(str(folder)).operators(),
    "control/log": lambda folder: Board(str(folder)).log.after(0),
    "control/seals": lambda folder: Board(str(folder)).newest(),
    "control/ended": lambda folder: list(Board(str(folder)).history()),
    "control/assignments": lambda folder: Board(str(folder)).assignment(),
    "control/lease/0000000002.lease": lambda folder: Board(str(folder)).status(),
    "transfers": lambda folder: [get_transfer(LocalStore(folder), OPERATOR, 2, s, t) for s, t in pairs(folder)],
}


def pairs(folder: Path):
    return sorted({(m.source, m.target) for m in Board(str(folder)).seals.read(2).leaving.moves})


def files_of(folder: Path, kind: str) -> list[Path]:
    place = folder / kind
    return [place] if place.is_file() else sorted(f for f in place.rglob("*") if f.is_file())


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_object_is_refused_by_name(job, kind, damage):
    KINDS[kind](job)
    rng = np.random.default_rng(3)
    file = files_of(job, kind)[-1]
    for other in files_of(job, kind)[:-1]:
        if kind == "control/assignments":
            spoil(other, damage, rng)
    spoil(file, damage, rng)
    with pytest.raises(Damaged, match="damaged|does not match|do not match") as refused:
        KINDS[kind](job)
    assert kind.rpartition("/")[2].split(".")[0] in str(refused.value)


def test_every_file_of_a_job_is_of_a_kind_that_is_damaged_here(job):
    known = {file for kind in KINDS for file in files_of(job, kind)} | set((job / "stats").rglob("*"))
    rest = {f for f in job.rglob("*") if f.is_file()} - known
    assert {f.relative_to(job).as_posix() for f in rest} <= {
        "control/lease/0000000001.lease",
        "control/lease/0000000001.beat",
        "control/lease/0000000001.end",
        "control/lease/0000000002.beat",
        activity.ROWS_MARK,
    }


def test_damaged_statistics_count_as_lost(job):
    store = LocalStore(job)
    assert len(list(statistics.read(store, OPERATOR))) == 1
    for damage in DAMAGES:
        copy = job / "stats" / OPERATOR / "0000000001-0000.stats"
        kept = copy.read_bytes()
        spoil(copy, damage, np.random.default_rng(1))
        assert list(statistics.read(store, OPERATOR)) == []
        copy.write_bytes(kept)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_heartbeat_and_a_damaged_mark_count_as_lost(job, damage):
    store, rng = LocalStore(job), np.random.default_rng(2)
    newest = Board(str(job)).newest()
    here = lease.Holder("here", 1, "boot")
    assert activity.epochs_after_rows(store, newest)
    spoil(job / activity.ROWS_MARK, damage, rng)
    assert not activity.epochs_after_rows(store, newest)
    spoil(job / "control/lease/0000000002.beat", damage, rng)
    # The claim of the job's driver was made at 10^15: without a heartbeat it counts from there.
    assert lease.is_held(store, here, 10**15 + 1_000)
    assert not lease.is_held(store, here, 10**15 + int(lease.EXPIRES_SECONDS * 1000) + 1)


def test_the_check_of_a_whole_job_finds_nothing_and_names_whatever_is_spoiled(job):
    assert faults_of(job) == []
    rng = np.random.default_rng(4)
    for kind in KINDS:
        if kind == "control/job":
            continue
        for file in files_of(job, kind):
            if "0000000002" in file.name and file.parent.name == "seals":
                continue
            kept = file.read_bytes()
            spoil(file, "flip", rng)
            told = faults_of(job)
            file.write_bytes(kept)
            assert told or is_unused(job, file), file


def is_unused(folder: Path, file: Path) -> bool:
    """A map that the newest seal does not name."""
    seal = Board(str(folder)).seals.read(2)
    return file.suffix == ".map" and file.stem not in {seal.assignment, seal.next_assignment}


@pytest.mark.parametrize("kind", ["control/job", "control/log", "control/seals", "control/lease/0000000002.lease"])
def test_a_damaged_job_is_one_line_at_the_command_line(job, kind, capsys):
    spoil(files_of(job, kind)[-1], "flip", np.random.default_rng(6))
    with pytest.raises(SystemExit) as left:
        command_line.main(["status", str(job)])
    said = capsys.readouterr()
    assert (left.value.code, said.out, said.err.count("\n")) == (1, "", 1)
    assert "damaged" in said.err


def test_two_different_exports_of_one_epoch_are_refused(job):
    store = LocalStore(job)
    source, target = pairs(job)[0]
    put_transfer(store, OPERATOR, 2, source, target, seal_frame("bins", b"other state"))
    with pytest.raises(ReplayDiffers, match="operator 'counts'.*not deterministic"):
        get_transfer(store, OPERATOR, 2, source, target)

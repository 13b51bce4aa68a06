"""A task finds its job, or is refused: by the query that it works for, and by the number of its partitions."""

import pytest

import whimbrel as wb
from whimbrel.control.board import Board
from whimbrel.control.settings import JobSettings, fix_settings
from whimbrel.control.stores import open_store
from whimbrel.model import BadInput, Damaged, JobInUse, JobMismatch
from whimbrel.runtime.committed import seal_as_of
from whimbrel.runtime.place import JobPlace


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A job that keeps three seals."""
    monkeypatch.setattr("whimbrel.control.seals.SEALS_KEPT", 3)
    directory, settings = str(tmp_path / "job"), JobSettings("job", bins=16, max_slots=4, slots=2)
    fix_settings(open_store(directory), settings, directory)
    return JobPlace(directory, settings, 1)


def test_all_seals_of_a_job_are_one_query_s(place):
    for epoch in range(3):
        assert place.seal(epoch, "mine").query_id == "mine"
    for epoch in (0, 2, 3):
        with pytest.raises(JobInUse, match="belongs to the query with id mine, and this one has id other"):
            place.seal(epoch, "other")
    assert place.seals.read(3) is None


def test_a_query_that_begins_anew_is_refused_also_when_the_first_seals_are_gone(place):
    for epoch in range(9):
        place.seal(epoch, "mine")
    for query in ("mine", "other"):
        with pytest.raises(JobInUse, match="has sealed epochs 6 to 8, and this query begins at epoch 0"):
            place.seal(0, query)
    assert place.seals.epochs() == [6, 7, 8]


def test_another_number_of_partitions_is_refused_and_an_unknown_one_is_left_to_the_slots(place):
    place.check_partitions(4)
    place.check_partitions(None)
    with pytest.raises(JobMismatch, match="has 6 shuffle partitions, and the job's max_slots is 4"):
        place.check_partitions(6)


def test_an_epoch_without_rows_for_any_operator_is_read_as_the_one_before(place):
    first = place.seal(0, "mine")
    later = place.seal(4, "mine")
    board = Board(place.directory)
    assert [seal_as_of(board, epoch) for epoch in (0, 2, 4, 7)] == [first, first, later, later]


def test_a_committed_epoch_of_a_job_without_seals_is_damage(place):
    with pytest.raises(Damaged, match="epoch 3 is committed and has no seal"):
        seal_as_of(Board(place.directory), 3)


def test_a_job_in_the_memory_of_one_process_is_refused():
    with pytest.raises(BadInput, match="lives in one process"):
        wb.job(None, "counts", directory="memory://counts")

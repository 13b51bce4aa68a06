"""Seals are decided from facts alone; a chain of them carries every plan out, one after the other."""

import numpy as np
import pytest

from whimbrel.control.records import Cancelled, Paused, Resumed, RolledBack
from whimbrel.control.seal import Ending
from whimbrel.control.seals import ENDED
from whimbrel.migration import NAMES, Pacing
from whimbrel.model.assignment import Assignment
from whimbrel.model.errors import JobInUse
from whimbrel.testing import SealChain

BINS = 32


class Chain(SealChain):
    """A job without data, with pacings as values."""

    def __init__(self, slots=2):
        super().__init__(BINS, slots)

    def post(self, target, pacing):
        return super().post(target, pacing.as_dict())


def pacing_of(name, **settings):
    return Pacing.of(name, p99_ms=1000 if name == "budget" else None, **settings)


def test_without_records_nothing_moves():
    chain = Chain()
    sealed = [chain.seal() for _ in range(5)]
    assert all(s.settled and s.assignment == chain.initial.digest for s in sealed)


@pytest.mark.parametrize("name", NAMES)
def test_every_pacing_reaches_the_target(name):
    chain = Chain()
    target = Assignment.even(BINS, 5)
    chain.post(target, pacing_of(name))
    seals = chain.seal_until_settled()
    assert chain.map_after(seals[-1]) == target
    assert sum(len(s.leaving.moves) for s in seals) == len(chain.initial.assignment.moves_to(target))


def test_the_maps_form_a_chain_and_moves_arrive_one_epoch_later():
    chain = Chain()
    chain.post(Assignment.even(BINS, 4), pacing_of("batched", size=3))
    seals = chain.seal_until_settled()
    for before, after in zip(seals, seals[1:]):
        assert after.assignment == before.next_assignment
        assert after.arriving == before.leaving
        assert after.releasing == before.arriving


def test_a_replayed_epoch_reuses_its_seal():
    chain = Chain()
    chain.post(Assignment.even(BINS, 3), pacing_of("fluid"))
    first = chain.seal()
    chain.post(Assignment.even(BINS, 4), pacing_of("all-at-once"))
    assert chain.replay(0) == first


def test_two_plans_posted_at_once_are_carried_out_in_the_order_of_their_numbers():
    chain = Chain()
    first, second = Assignment.even(BINS, 4), Assignment.even(BINS, 3)
    chain.post(first, pacing_of("batched", size=5))
    chain.post(second, pacing_of("batched", size=5))
    seals = chain.seal_until_settled()
    ended = [each.plan for s in seals for each in s.retired if each.how == "done"]
    assert ended == [1, 2]
    at_end_of_first = next(s for s in seals if any(each.plan == 1 for each in s.retired))
    assert chain.book.assignment(at_end_of_first.assignment).assignment == first
    assert chain.map_after(seals[-1]) == second


def test_a_pause_stops_new_steps_and_a_resume_goes_on():
    chain = Chain()
    chain.post(Assignment.even(BINS, 4), pacing_of("fluid"))
    chain.seal()
    chain.seal()
    chain.log.append(Paused())
    paused = [chain.seal() for _ in range(5)]
    assert all(not s.leaving.moves and s.paused for s in paused)
    chain.log.append(Resumed())
    assert chain.map_after(chain.seal_until_settled()[-1]) == Assignment.even(BINS, 4)


def test_a_cancel_ends_every_plan_where_it_stands():
    chain = Chain()
    chain.post(Assignment.even(BINS, 4), pacing_of("fluid"))
    chain.post(Assignment.even(BINS, 3), pacing_of("fluid"))
    chain.seal()
    stood = chain.map_after(chain.seal())
    chain.log.append(Cancelled())
    seals = chain.seal_until_settled()
    assert chain.map_after(seals[-1]) == stood
    assert [r for s in seals for r in s.retired] == [Ending(1, "cancelled", 1), Ending(2, "cancelled", 0)]


def test_optimized_leaves_its_gap_and_never_loads_a_slot_twice_in_a_step():
    chain = Chain(slots=4)
    rng = np.random.default_rng(7)
    target = Assignment(tuple(int(x) for x in rng.integers(0, 4, BINS)))
    chain.post(target, pacing_of("optimized", gap_epochs=2))
    seals = chain.seal_until_settled()
    stepping = [s.epoch for s in seals if s.leaving.moves]
    assert min(np.diff(stepping)) == 3
    for s in seals:
        for side in ("source", "target"):
            slots = [getattr(m, side) for m in s.leaving.moves]
            assert len(slots) == len(set(slots))


def test_a_stamp_says_which_step_brought_a_bin():
    chain = Chain()
    chain.post(Assignment.even(BINS, 4), pacing_of("batched", size=4))
    seals = chain.seal_until_settled()
    stamped = chain.book.assignment(seals[-1].next_assignment)
    for s in seals:
        for move in s.leaving.moves:
            assert stamped.stamp[move.bin] == s.leaving.number
            assert stamped.assignment.owner[move.bin] == move.target


def test_random_plans_pauses_and_cancels_always_leave_one_owner_per_bin():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        chain = Chain()
        for _ in range(40):
            act = rng.integers(0, 12)
            if act < 3:
                target = Assignment(tuple(int(x) for x in rng.integers(0, 6, BINS)))
                chain.post(target, pacing_of(str(rng.choice(NAMES))))
            elif act == 3:
                chain.log.append(Paused())
            elif act == 4:
                chain.log.append(Resumed())
            elif act == 5:
                chain.log.append(Cancelled())
            elif act == 6:
                chain.log.append(RolledBack(pacing_of(str(rng.choice(NAMES))).as_dict()))
            before = chain.seal()
            stamped = chain.book.assignment(before.next_assignment)
            assert stamped.assignment == chain.book.assignment(before.assignment).assignment.apply(before.leaving.moves)


def test_the_epoch_that_first_reads_a_plan_only_takes_it_up():
    """Of two operators whose heartbeats looked before and after the post, one would run in it and the other not."""
    chain = Chain()
    chain.seal()
    chain.post(Assignment.even(BINS, 4), pacing_of("all-at-once"))
    taken_up, stepping = chain.seal(), chain.seal()
    assert taken_up.plan == 1 and taken_up.wants_epoch and not taken_up.leaving.moves
    assert stepping.leaving.moves


def test_every_epoch_that_exports_or_installs_was_wanted_by_the_seal_before():
    for seed in range(40):
        rng = np.random.default_rng(100 + seed)
        chain, previous = Chain(), None
        for _ in range(60):
            act = rng.integers(0, 14)
            if act < 3:
                target = Assignment(tuple(int(x) for x in rng.integers(0, 6, BINS)))
                chain.post(target, pacing_of(str(rng.choice(NAMES)), gap_epochs=int(rng.integers(0, 3))))
            elif act < 7:
                kinds = (Paused(), Resumed(), Cancelled(), RolledBack(pacing_of("fluid").as_dict()))
                chain.append(kinds[act - 3])
            if rng.random() < 0.2:
                chain.epoch += 1  # Only a source that feeds no operator of the job had rows: nobody seals.
                if previous is not None and previous.wants_epoch:
                    chain.epoch -= 1
            sealed = chain.seal()
            if sealed.leaving.moves or sealed.arriving.moves:
                assert previous is not None and previous.wants_epoch
            previous = sealed


def test_a_resumed_job_moves_only_after_an_epoch_that_knows_of_it():
    chain = Chain()
    chain.append(Paused())
    chain.post(Assignment.even(BINS, 4), pacing_of("all-at-once"))
    assert not chain.seal().wants_epoch
    chain.append(Resumed())
    assert not chain.seal().leaving.moves
    assert chain.seal().leaving.moves


def test_a_replay_of_an_epoch_that_died_unsealed_seals_no_step_for_a_plan_posted_since():
    chain = Chain()
    chain.seal()
    # Spark logged the offsets of epoch 1 without a heartbeat and died; then somebody posted.
    chain.post(Assignment.even(BINS, 4), pacing_of("all-at-once"))
    assert not chain.replay(1).leaving.moves


def moved(chain, target):
    """Carry a plan out; its number."""
    number = chain.post(target, pacing_of("all-at-once"))
    chain.seal_until_settled()
    return number


def rolled_back(chain):
    """Roll back to the end; the map then."""
    chain.append(RolledBack(pacing_of("all-at-once").as_dict()))
    return chain.map_after(chain.seal_until_settled()[-1])


def test_a_rollback_returns_to_where_the_plan_in_progress_began_and_ends_those_that_wait():
    chain = Chain()
    moved(chain, Assignment.even(BINS, 3))
    chain.post(Assignment.even(BINS, 4), pacing_of("fluid"))
    chain.post(Assignment.even(BINS, 5), pacing_of("fluid"))
    for _ in range(4):
        chain.seal()
    assert rolled_back(chain) == Assignment.even(BINS, 3)
    endings = {n: chain.book.ending(n) for n in (1, 2, 3, 4)}
    assert [(n, e[0].how) for n, e in endings.items() if e] == [
        (1, "done"), (2, "cancelled"), (3, "cancelled"), (4, "done")
    ]  # fmt: skip


def test_a_rollback_returns_to_where_the_last_plan_that_moved_anything_began():
    chain = Chain()
    moved(chain, Assignment.even(BINS, 3))
    moved(chain, Assignment.even(BINS, 3))
    chain.post(Assignment.even(BINS, 5), pacing_of("all-at-once"))
    chain.append(Cancelled())
    assert rolled_back(chain) == Assignment.even(BINS, 2)
    assert rolled_back(chain) == Assignment.even(BINS, 3), "a rollback of a rollback goes forward again"


@pytest.mark.parametrize("epochs_between", [0, 1])
def test_a_rollback_of_a_plan_that_has_moved_nothing_stays_where_it_is(epochs_between):
    chain = Chain()
    moved(chain, Assignment.even(BINS, 3))
    chain.post(Assignment.even(BINS, 5), pacing_of("all-at-once"))
    for _ in range(epochs_between):
        chain.seal()
    assert rolled_back(chain) == Assignment.even(BINS, 3)


@pytest.mark.parametrize("epochs_between", [0, 3])
def test_a_rollback_passes_over_a_plan_without_moves_whenever_it_is_read(epochs_between):
    chain = Chain()
    moved(chain, Assignment.even(BINS, 3))
    chain.post(Assignment.even(BINS, 3), pacing_of("all-at-once"))
    for _ in range(epochs_between):
        chain.seal()
    assert rolled_back(chain) == Assignment.even(BINS, 2)


def test_how_plans_ended_outlives_their_seals(monkeypatch):
    monkeypatch.setattr("whimbrel.control.seals.SEALS_KEPT", 3)
    chain = Chain()
    moved(chain, Assignment.even(BINS, 3))
    for _ in range(10):
        chain.seal()
    assert len(chain.book.epochs()) == 3
    ending, epoch = chain.book.ending(1)
    assert ending == Ending(1, "done", 1) and epoch not in chain.book.epochs()
    assert chain.book.ending(2) is None


def test_endings_that_their_writer_did_not_live_to_keep_are_kept_by_the_replay():
    chain = Chain()
    moved(chain, Assignment.even(BINS, 3))
    for name in chain.store.names(ENDED):
        chain.store.remove(f"{ENDED}/{name}")
    for epoch in range(chain.epoch + 1):
        chain.replay(epoch)
    assert chain.book.ending(1)[0].how == "done"


def test_a_query_that_begins_anew_on_a_job_with_a_past_is_refused(monkeypatch):
    monkeypatch.setattr("whimbrel.control.seals.SEALS_KEPT", 3)
    chain = Chain()
    for _ in range(8):
        chain.seal()
    with pytest.raises(JobInUse, match="has sealed epochs 5 to 7, and this query begins at epoch 0.*job.checkpoint"):
        chain.replay(0)


def test_an_epoch_that_nobody_sealed_is_as_the_one_before():
    chain = Chain()
    first = chain.seal()
    chain.epoch += 2
    later = chain.seal()
    assert [chain.book.in_force(epoch) for epoch in range(4)] == [first, first, first, later]

"""Seals are decided from facts alone; a chain of them carries every plan out, one after the other."""

import numpy as np
import pytest

from whimbrel.control.records import Cancelled, Paused, Resumed
from whimbrel.migration import NAMES, Pacing
from whimbrel.model.assignment import Assignment
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
    seals = [chain.seal() for _ in range(5)]
    assert all(s.settled and s.assignment == chain.initial.digest for s in seals)


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
    ended = [number for s in seals for number, how in s.retired if how == "done"]
    assert ended == [1, 2]
    at_end_of_first = next(s for s in seals if (1, "done") in s.retired)
    assert chain.book.assignment(at_end_of_first.assignment).assignment == first
    assert chain.map_after(seals[-1]) == second


def test_a_pause_stops_new_steps_and_a_resume_goes_on():
    chain = Chain()
    chain.post(Assignment.even(BINS, 4), pacing_of("fluid"))
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
    stood = chain.map_after(chain.seal())
    chain.log.append(Cancelled())
    seals = chain.seal_until_settled()
    assert chain.map_after(seals[-1]) == stood
    assert [r for s in seals for r in s.retired] == [(1, "cancelled"), (2, "cancelled")]


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
            act = rng.integers(0, 10)
            if act < 3:
                target = Assignment(tuple(int(x) for x in rng.integers(0, 6, BINS)))
                chain.post(target, pacing_of(str(rng.choice(NAMES))))
            elif act == 3:
                chain.log.append(Paused())
            elif act == 4:
                chain.log.append(Resumed())
            elif act == 5:
                chain.log.append(Cancelled())
            before = chain.seal()
            stamped = chain.book.assignment(before.next_assignment)
            assert stamped.assignment == chain.book.assignment(before.assignment).assignment.apply(before.leaving.moves)

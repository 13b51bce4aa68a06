"""The public doubles keep the promises of the real parts, and the product bears what they can be told to do."""

import numpy as np
import pytest

from whimbrel.control.records import Paused
from whimbrel.migration import NAMES, Pacing
from whimbrel.model import Assignment, faults
from whimbrel.testing import (
    FlakyStore,
    MemoryBackend,
    MemoryStore,
    SealChain,
    StoreUnreachable,
    assert_same_rows,
    fault_environment,
)


def until_it_answers(act):
    """What a retried task does."""
    while True:
        try:
            return act()
        except StoreUnreachable:
            continue


@pytest.mark.parametrize("seed", range(8))
def test_seals_over_a_flaky_store_are_those_of_a_sound_one(seed):
    rng = np.random.default_rng(seed)
    flaky = FlakyStore(MemoryStore(), rng, share=0.0)
    chains = [SealChain(store=flaky), SealChain()]
    flaky._share = 0.3
    for name in NAMES:
        target = Assignment(tuple(int(x) for x in rng.integers(0, 5, 32)))
        pacing = Pacing.of(name, p99_ms=1000 if name == "budget" else None).as_dict()
        number = chains[1].post(target, pacing)
        # A lost answer leaves the poster in doubt; who posts again posts a second plan, which then has nothing to move.
        while chains[0].log._store is flaky and until_it_answers(chains[0].log.last) < number:
            try:
                chains[0].post(target, pacing)
            except StoreUnreachable:
                continue
        while True:
            sealed = until_it_answers(chains[0].seal)
            assert sealed == chains[1].seal()
            if sealed.settled:
                break
        assert until_it_answers(lambda s=sealed: chains[0].map_after(s)) == target
    assert flaky.lost_calls and flaky.lost_answers


def test_a_chain_tells_what_becomes_of_a_post():
    chain = SealChain(bins=8, slots=2)
    chain.post(Assignment.even(8, 4), Pacing.of("batched", size=2).as_dict())
    chain.append(Paused())
    assert not chain.seal().leaving.moves
    with pytest.raises(AssertionError, match="still under way after 3 epochs"):
        chain.seal_until_settled(epochs_max=3)


def test_a_backend_forgets_an_epoch_that_was_lost():
    backend = MemoryBackend()
    backend.put_head(b"one")
    backend.put(1, b"a")
    backend.keep()
    backend.put(2, b"bb")
    backend.remove(1)
    assert dict(backend.items()) == {2: b"bb"}
    backend.lose()
    assert dict(backend.items()) == {1: b"a"} and backend.get_head() == b"one"
    assert backend.largest == 2


def test_rows_that_differ_are_told_side_by_side():
    assert_same_rows([{"n": 1}, {"n": 2}], [{"n": 2}, {"n": 1}])
    with pytest.raises(
        AssertionError, match=r"2 rows too many, 1 missing\nfound only \| expected only\n1 +\| 3\n2 +\| "
    ):
        assert_same_rows([1, 2, 2], [2, 3])


def test_only_named_fault_points_can_be_armed(tmp_path):
    for point in faults.ALL:
        assert fault_environment(point, 2, tmp_path / "mark")["WHIMBREL_FAULT"] == f"{point}@2"
    with pytest.raises(ValueError, match="there is no fault point 'sometime'"):
        fault_environment("sometime", 2, tmp_path / "mark")

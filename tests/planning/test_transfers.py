"""Transfer phases: every byte crosses, nobody sends or receives twice at once, and the bound is met."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.model import BadInput
from whimbrel.planning.transfers import transfer_phases

TABLES = st.integers(1, 7).flatmap(
    lambda slots: st.lists(
        st.lists(st.sampled_from([0, 0, 1, 2, 5, 0.1, 1000]), min_size=slots, max_size=slots),
        min_size=slots,
        max_size=slots,
    )
)


SPEEDS = st.sampled_from([1, 2.5, 3, 0.1])


@given(data=st.data(), table=TABLES)
def test_all_bytes_cross_in_the_least_possible_time_over_links_of_any_speed(
    data: st.DataObject, table: list[list[float]]
) -> None:
    slots = len(table)
    links = st.one_of(st.none(), SPEEDS, st.lists(SPEEDS, min_size=slots, max_size=slots))
    uplink, downlink = data.draw(links), data.draw(links)
    schedule = transfer_phases(table, uplink, downlink)
    assert schedule.seconds == _busiest(table, uplink, downlink)
    assert schedule.seconds == schedule.lower_bound == sum(phase.seconds for phase in schedule.phases)
    crossed: dict[tuple[int, int], Fraction] = {}
    for phase in schedule.phases:
        assert phase.seconds > 0 and phase.pairs
        assert len({source for source, _ in phase.pairs}) == len({target for _, target in phase.pairs})
        assert len({source for source, _ in phase.pairs}) == len(phase.pairs)
        for pair, amount in zip(phase.pairs, phase.bytes, strict=True):
            crossed[pair] = crossed.get(pair, Fraction(0)) + amount
    wanted = {
        (i, j): Fraction(str(value)) for i, row in enumerate(table) for j, value in enumerate(row) if value and i != j
    }
    assert crossed == wanted


def _busiest(table: list[list[float]], uplink: object, downlink: object) -> Fraction:
    """The longest that one slot is busy, sending or receiving, each pair at the slower of its two links."""
    up, down = ([Fraction(str(s or 1)) for s in _per_slot(link, len(table))] for link in (uplink, downlink))
    seconds = [
        [Fraction(str(value)) / min(up[i], down[j]) if i != j else Fraction(0) for j, value in enumerate(row)]
        for i, row in enumerate(table)
    ]
    return max(sum(line, Fraction(0)) for line in [*seconds, *zip(*seconds, strict=True)])


def _per_slot(link: object, slots: int) -> list[float | None]:
    return link if isinstance(link, list) else [link] * slots  # type: ignore[list-item]


def test_the_bound_is_the_busiest_slot_sending_or_receiving() -> None:
    table = np.random.default_rng(3).integers(0, 50, (12, 12))
    np.fill_diagonal(table, 0)
    schedule = transfer_phases(table.tolist())
    assert schedule.seconds == max(table.sum(axis=0).max(), table.sum(axis=1).max())


def test_a_pair_runs_at_the_slower_of_its_links() -> None:
    schedule = transfer_phases([[0, 12], [0, 0]], uplink=[4, 4], downlink=[9, 3])
    assert schedule.seconds == 4


def test_nothing_to_move_takes_no_phase() -> None:
    assert transfer_phases([[7, 0], [0, 7]]).phases == ()


@pytest.mark.parametrize(
    ("table", "uplink", "lesson"),
    [
        ([[0, 1]], None, "must be square"),
        ([[0, -1], [0, 0]], None, "zero or more"),
        ([[0, "x"], [0, 0]], None, "finite number"),
        ([[0, 1], [0, 0]], [1], "one speed per slot"),
        ([[0, 1], [0, 0]], 0, "must be positive"),
    ],
)
def test_unusable_tables_are_refused_with_a_lesson(table: list[list[float]], uplink: object, lesson: str) -> None:
    with pytest.raises(BadInput, match=lesson):
        transfer_phases(table, uplink)  # type: ignore[arg-type]

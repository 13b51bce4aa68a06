"""The least and greatest rows of groups, against plain Python, for every type of a fixed width."""

import math
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.state.extremes import Ranked

BEGIN = datetime(1970, 1, 1, tzinfo=timezone.utc)
KINDS = {
    "int8": (pa.int8(), st.integers(-128, 127)),
    "int64": (pa.int64(), st.integers(-(1 << 63), (1 << 63) - 1)),
    "boolean": (pa.bool_(), st.booleans()),
    "float": (pa.float32(), st.floats(width=32)),
    "double": (pa.float64(), st.floats()),
    "instant": (pa.timestamp("us", "UTC"), st.integers(-9, 9).map(lambda s: BEGIN + timedelta(seconds=s))),
    "date": (pa.date32(), st.integers(-9, 9).map(lambda d: (BEGIN + timedelta(days=d)).date())),
    "decimal": (pa.decimal128(38, 3), st.integers(-(10**38) + 1, 10**38 - 1).map(lambda v: Decimal(v).scaleb(-3))),
    "near decimal": (pa.decimal128(38, 0), st.integers(-(1 << 65), 1 << 65).map(Decimal)),
}


def order(value):
    """Spark's: NaN is greater than any number."""
    return (1, 0) if isinstance(value, float) and math.isnan(value) else (0, value)


@pytest.mark.parametrize("kind", list(KINDS))
@given(st.data())
def test_the_chosen_rows_are_the_extremes_of_their_groups(kind, data):
    arrow, values = KINDS[kind]
    rows = data.draw(st.lists(st.tuples(st.integers(0, 3), st.none() | values), max_size=30))
    if kind in ("decimal", "near decimal"):
        array = pa.array([v for _, v in rows], pa.decimal256(76, arrow.scale)).cast(arrow)
    else:
        array = pa.array([v for _, v in rows], arrow)
    held, group = array.to_pylist(), np.array([g for g, _ in rows], np.int64)
    ranked = Ranked.of(array)
    for g in range(4):
        mine = [i for i, (owner, _) in enumerate(rows) if owner == g and held[i] is not None]
        least = min(mine, key=lambda i: order(held[i]), default=-1)
        greatest = max(reversed(mine), key=lambda i: order(held[i]), default=-1)
        assert ranked.chosen(group, 4, False)[g] == least
        assert ranked.chosen(group, 4, True)[g] == greatest
    if len(rows) > 1:
        turned = Ranked.of(array.take(pa.array(np.arange(len(rows))[::-1])))
        for i, above in enumerate(ranked.above(turned).tolist()):
            one, other = held[i], held[-1 - i]
            assert one is None or other is None or above == (order(one) > order(other))


def test_values_of_varying_width_have_no_words():
    assert Ranked.of(pa.array(["a"])) is None
    assert Ranked.of(pa.array([b"a"])) is None

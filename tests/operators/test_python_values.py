"""Arrow columns as Python values: the fast way is the plain way."""

from datetime import date, datetime, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from whimbrel.runtime.operators.local_times import local_type, to_instants, to_local
from whimbrel.runtime.operators.python_values import dismantled, plain, restored, values_of

NESTED = pa.struct([("n", pa.int64()), ("all", pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.int32()))])))])
NOON = datetime(2024, 7, 1, 12)
COLUMNS = [
    (pa.int8(), [1, -2]),
    (pa.int64(), [1, -(2**62)]),
    (pa.float32(), [0.5, -1.25]),
    (pa.float64(), [0.1, 2.0]),
    (pa.bool_(), [True, False]),
    (pa.string(), ["", "né"]),
    (pa.binary(), [b"", b"x"]),
    (pa.date32(), [date(2024, 1, 2), date(1, 1, 1)]),
    (pa.timestamp("us"), [NOON, datetime(1, 1, 1)]),
    (pa.timestamp("us", tz="UTC"), [NOON.replace(tzinfo=timezone.utc)]),
    (pa.decimal128(10, 2), [Decimal("1.50")]),
    (pa.list_(pa.int32()), [[1, None], []]),
    (NESTED, [{"n": 1, "all": [{"m": [("a", 1)]}]}]),
]


@pytest.mark.parametrize(("kind", "values"), COLUMNS, ids=lambda given: str(given)[:20])
def test_values_are_those_of_arrow_with_and_without_nulls(kind, values):
    for given in (values, [None, *values, None], [None], []):
        column = pa.array(given, kind)
        for piece in (column, column.slice(1), pa.array([*values, *given], kind).slice(len(values))):
            assert repr(values_of(piece)) == repr(piece.to_pylist())


def test_structs_come_as_rows_and_maps_as_dicts_and_go_back():
    column = pa.array([{"n": 1, "all": [{"m": [("a", 1)]}, None]}, None], NESTED)
    values = restored(column)
    assert repr(values) == "[Row(n=1, all=[Row(m={'a': 1}), None]), None]"
    assert pa.array(dismantled(values, NESTED), NESTED) == column


def test_times_go_to_the_clock_of_a_zone_and_back_through_every_nesting():
    instant = pa.timestamp("us", tz="UTC")
    kind = pa.struct([("at", instant), ("all", pa.list_(instant)), ("by", pa.map_(pa.string(), instant))])
    noon = NOON.replace(tzinfo=timezone.utc)
    value = {"at": noon, "all": [noon, None], "by": [("a", noon)]}
    column = pa.array([None, value, {"at": None, "all": None, "by": []}, value], kind)
    for piece in (column, column.slice(1), column.slice(2, 1), column.slice(0, 0)):
        local = to_local(piece, "Europe/Berlin")
        assert local.type == local_type(kind)
        assert to_instants(local, kind, "Europe/Berlin") == piece
    assert to_local(column, "Europe/Berlin")[1].as_py()["all"][0] == NOON.replace(hour=14)


def test_an_hour_that_comes_twice_is_the_later_one_and_one_that_never_comes_is_the_jump():
    kind = pa.timestamp("us", tz="UTC")
    local = pa.array([datetime(2024, 10, 27, 2, 30), datetime(2024, 3, 31, 2, 30)])
    found = to_instants(local, kind, "Europe/Berlin").to_pylist()
    assert [at.replace(tzinfo=None) for at in found] == [datetime(2024, 10, 27, 1, 30), datetime(2024, 3, 31, 1, 0)]


def test_nothing_of_numpy_or_pandas_stays_in_a_plain_value():
    given = (np.int64(1), [np.float32(0.5)], {"a": np.bool_(True)}, pd.Timestamp(NOON, tz="UTC"), pd.NaT, pd.NA)
    expected = (1, [0.5], {"a": True}, NOON.replace(hour=14), None, None)
    assert repr(plain((*given, np.datetime64(NOON)), "Europe/Berlin")) == repr((*expected, NOON))

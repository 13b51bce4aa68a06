"""Sums that leave their type fail as Spark's do, by name, and never give a wrong number."""

from decimal import Decimal

import pyarrow as pa
import pytest
from tests.operators.slots_in_memory import Slots

import whimbrel as wb
from whimbrel.model.errors import OperatorFailed
from whimbrel.runtime.building import summing
from whimbrel.runtime.operators.keyed_aggregate import KeyedAggregate

LARGEST = (1 << 63) - 1
NINES, LOW = Decimal("9" * 38), Decimal("-" + "9" * 38)
SCHEMA = pa.schema([("k", pa.string()), ("v", pa.int64()), ("d", pa.decimal128(38, 0))])


def summed(ansi, *epochs, **aggregates):
    slots = Slots(KeyedAggregate("sums", ["k"], summing(aggregates, ansi), SCHEMA))
    for rows in epochs:
        made = [dict(zip(SCHEMA.names, ("a", *row), strict=True)) for row in rows]
        found = slots.run(pa.Table.from_pylist(made, schema=SCHEMA))
    return found[0]


SPLITS = [[[LARGEST, 1]], [[LARGEST], [1]], [[5, LARGEST - 4]], [[-LARGEST], [-LARGEST]]]


@pytest.mark.parametrize("epochs", SPLITS)
def test_a_sum_beyond_64_bits_fails_and_names_operator_and_column(epochs):
    with pytest.raises(OperatorFailed, match="operator 'sums': 'total', over column 'v': a sum of integers exceeds"):
        summed(True, *[[(v, None) for v in rows] for rows in epochs], total=wb.sum_of("v"))


@pytest.mark.parametrize("epochs", SPLITS)
def test_without_ansi_mode_it_wraps_around_as_in_spark(epochs):
    exact = sum(v for rows in epochs for v in rows)
    found = summed(False, *[[(v, None) for v in rows] for rows in epochs], total=wb.sum_of("v"))
    assert found["total"] == (exact + (1 << 63)) % (1 << 64) - (1 << 63)


@pytest.mark.parametrize("epochs", [[[NINES, Decimal(1)]], [[NINES], [NINES]], [[LOW, LOW]]])
@pytest.mark.parametrize("ansi", [True, False])
def test_a_sum_of_decimals_beyond_38_digits_fails(epochs, ansi):
    with pytest.raises(OperatorFailed, match="'total', over column 'd': a sum of decimals exceeds decimal128"):
        summed(ansi, *[[(None, d) for d in rows] for rows in epochs], total=wb.sum_of("d"))


def test_sums_at_the_very_end_of_their_type_are_exact():
    epochs = [(LARGEST, NINES), (-LARGEST, LOW), (None, None)], [(LARGEST, NINES)]
    assert summed(True, *epochs, v=wb.sum_of("v"), d=wb.sum_of("d")) == {"k": "a", "v": LARGEST, "d": NINES}

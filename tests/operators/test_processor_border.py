"""What a processor is shown and what its answers become: times, labels, types, columns, and when it is closed."""

from datetime import datetime, timezone

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from tests.operators.processors import Witness
from tests.operators.slots_in_memory import Slots

from whimbrel.model.errors import OperatorFailed
from whimbrel.runtime.operators.processor import Processor, ProcessorTime
from whimbrel.runtime.schemas import arrow_of, parse_ddl

INSTANT = pa.timestamp("us", tz="UTC")
TIMES = pa.schema([("k", INSTANT), ("at", INSTANT), ("nested", pa.list_(INSTANT))])
ROWS = pa.schema([("k", pa.string()), ("v", pa.int32())])


class Saying(StatefulProcessor):
    """Answers with what a function makes of a key, its rows and the times; counts how often it was closed."""

    closed = 0

    def __init__(self, say):
        self.say = say

    def init(self, handle):
        pass

    def handleInputRows(self, key, rows, timerValues):
        yield self.say(key, next(rows), timerValues)

    def close(self):
        Saying.closed += 1


def saying(say, output="k string, v long", mode="None"):
    return Slots(Processor("p", ["k"], ROWS, Saying(say), arrow_of(parse_ddl(output, "schema")), ProcessorTime(mode)))


def rows_of(*rows):
    return pa.Table.from_pylist([{"k": k, "v": v} for k, v in rows], schema=ROWS)


@pytest.fixture
def ddl(spark):
    """DDL is read by a session."""


def test_times_are_the_clock_of_the_session_inside_and_instants_outside(ddl):
    output = arrow_of(parse_ddl(Witness.OUTPUT, "schema"))
    slots = Slots(Processor("p", ["k"], TIMES, Witness(), output, ProcessorTime(zone="Europe/Berlin")))
    key, first, second = (datetime(2024, 7, 1, hour, tzinfo=timezone.utc) for hour in (10, 11, 12))

    def epoch(at):
        return slots.run(pa.Table.from_pylist([{"k": key, "at": at, "nested": [at, None]}], schema=TIMES))[0]

    said = epoch(first)
    assert (said["k"], said["at"], said["held"]) == (key, first, None)
    assert said["nested"] == {"at": first, "all": [first]}
    said = epoch(second)
    assert (said["k"], said["at"], said["held"]) == (key, second, first)
    assert said["nested"] == {"at": first, "all": [first, first]}
    assert "(Timestamp('2024-07-01 12:00:00'),)" in said["seen"]
    assert "[(datetime.datetime(2024, 7, 1, 13, 0), datetime.date(2024, 7, 1))]" in said["seen"]
    assert "Row(at=datetime.datetime(2024, 7, 1, 13, 0), n=1)" in said["seen"]
    assert "datetime64[ns]" in said["seen"] and "UTC" not in said["seen"]


def test_every_frame_is_labelled_from_0_and_has_whole_numbers_of_64_bits(ddl):
    def first(key, frame, times):
        assert list(frame.index) == list(range(len(frame))) and frame["v"].dtype == np.int64
        return pd.DataFrame({"k": [key[0]], "v": [frame["v"][0]]})

    found = saying(first).run(rows_of(("a", 1), ("b", 2), ("b", 3), ("a", 4), ("c", 5)))
    assert sorted((r["k"], r["v"]) for r in found) == [("a", 1), ("b", 2), ("c", 5)]


def test_a_frame_may_be_changed_without_harm_to_another(ddl):
    def spoil(key, frame, times):
        seen = int(frame["v"].sum())
        frame["v"] = 100
        frame.loc[0, "k"] = "spoilt"
        return pd.DataFrame({"k": [key[0]], "v": [seen]})

    found = saying(spoil).run(rows_of(("a", 1), ("b", 2), ("a", 4)))
    assert sorted((r["k"], r["v"]) for r in found) == [("a", 5), ("b", 2)]


def test_without_a_time_mode_the_times_are_minus_one(ddl):
    def say(key, frame, times):
        return pd.DataFrame({"v": [times.getCurrentProcessingTimeInMs()], "k": [str(times.getCurrentWatermarkInMs())]})

    assert saying(say).run(rows_of(("a", 1)), now_ms=7) == [{"k": "-1", "v": -1}]
    assert saying(say, mode="ProcessingTime").run(rows_of(("a", 1)), now_ms=7) == [{"k": "0", "v": 7}]


def test_columns_without_names_are_taken_in_order_and_named_ones_by_name(ddl):
    frames = {
        "order": pd.DataFrame([["x", 1, "more"]]),
        "names": pd.DataFrame({"more": [0], "v": [1], "k": ["x"]}),
        "kinds": pd.DataFrame({"k": pd.Categorical(["x"]), "v": ["1"]}),
        "floats": pd.DataFrame({"k": ["x"], "v": [1.0]}),
    }
    found = saying(lambda key, *_: frames[key[0]]).run(rows_of(*((name, 0) for name in frames)))
    assert found == [{"k": "x", "v": 1}] * len(frames)
    with pytest.raises(OperatorFailed, match="lacks 'v'"):
        saying(lambda *_: pd.DataFrame({"k": ["x"]})).run(rows_of(("a", 1)))
    with pytest.raises(OperatorFailed, match="has 1 columns where the schema has 2"):
        saying(lambda *_: pd.DataFrame([["x"]])).run(rows_of(("a", 1)))
    with pytest.raises(OperatorFailed, match="yielded dict"):
        saying(lambda *_: {"k": ["x"]}).run(rows_of(("a", 1)))


def test_frames_of_one_shape_and_mixed_contents_become_what_each_alone_would(ddl):
    frames = {
        "text": pd.DataFrame({"k": ["a"], "v": pd.Series(["12"], dtype=object)}),
        "number": pd.DataFrame({"k": ["b"], "v": pd.Series([13], dtype=object)}),
        "nothing": pd.DataFrame({"k": ["c"], "v": pd.Series([None], dtype=object)}),
        "none": pd.DataFrame(),
        "missing": pd.DataFrame({"k": [None], "v": [float("nan")]}),
    }
    found = saying(lambda key, *_: frames[key[0]]).run(rows_of(*((name, 0) for name in frames)))
    wanted = [{"k": "a", "v": 12}, {"k": "b", "v": 13}, {"k": "c", "v": None}, {"k": None, "v": None}]
    assert sorted(found, key=repr) == sorted(wanted, key=repr)


def test_a_processor_is_closed_after_every_turn(ddl):
    slots = saying(lambda key, *_: pd.DataFrame({"k": [key[0]], "v": [1]}))
    before = Saying.closed
    slots.run(rows_of(("a", 1)))
    assert Saying.closed == before + 3

"""The native streaming forms give the reference answers; so they are fair peers."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.nexmark.comparing import assert_same, multiset
from tests.nexmark.scenarios import foreign, tables, write_foreign

from whimbrel.nexmark.arrivals import end_of_input, lateness_ms, read_events, write_epochs
from whimbrel.nexmark.native import NATIVE, native_query
from whimbrel.nexmark.reference import changes_of, duckdb_answer
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams, spark_schema

EVENTS = foreign(1_200, seed=21)


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    """The events in three epochs, the third of which moves every watermark past everything, and one that feels it."""
    folder = tmp_path_factory.mktemp("native")
    events = read_events(write_foreign(folder / "in", EVENTS))
    ends = end_of_input()
    write_epochs(pa.concat_tables([events, ends]), folder / "epochs", 3, end=ends)
    return folder / "epochs", lateness_ms(events)


QUICK = ("q0", "q1", "q2", "q5", "q7")
FORMS = [query if query in QUICK else pytest.param(query, marks=pytest.mark.slow) for query in NATIVE]


@pytest.mark.parametrize("query", FORMS)
def test_the_native_form_answers_as_the_reference(spark, staged, tmp_path, query):
    folder, delay_ms = staged
    settings = Settings(window_ms=3_000, slide_ms=2_000, delay_ms=delay_ms)
    stream = spark.readStream.schema(spark_schema()).option("maxFilesPerTrigger", 1).parquet(str(folder))
    result = native_query(query, Streams.of(stream), settings)
    writer = result.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination()
    rows = spark.read.parquet(str(tmp_path / "out"))
    assert rows.columns == list(changes_of(query))
    if "dateTime" in rows.columns:
        rows = rows.where("dateTime IS NULL OR dateTime < '2199-01-01'")
    wanted = duckdb_answer(query, *tables(EVENTS).values(), window_ms=3_000, slide_ms=2_000, changes=True)
    found = multiset(map(tuple, rows.collect()))
    assert_same(found, multiset(row.values() for row in wanted.to_pylist()), query)
    assert found

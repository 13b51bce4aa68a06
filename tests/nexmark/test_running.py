"""Queries on Spark with their bins moving live: 2 slots to 4, a random rebalance, then to 3; equal to both oracles."""

from __future__ import annotations

from datetime import datetime, timezone

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.nexmark.comparing import assert_same, from_arrow, multiset
from tests.nexmark.scenarios import foreign, tables, write_foreign

from whimbrel.model import BadInput
from whimbrel.nexmark.events.schema import TIME
from whimbrel.nexmark.queries import MIGRATABLE
from whimbrel.nexmark.reference import COLUMNS, duckdb_answer, spark_answer
from whimbrel.nexmark.results import last_rows, write_result
from whimbrel.nexmark.running import Run, run
from whimbrel.nexmark.settings import Settings

EVENTS = foreign(1_500, seed=33)
WINDOWS = {"window_ms": 3_000, "slide_ms": 1_000}
CHANGES = pa.schema([("category", pa.int64()), ("average", pa.float64()), ("auctions", pa.int64())])


def ridden(spark, tmp_path, query):
    """The result of a run with three migrations, and what the run says of itself."""
    events = write_foreign(tmp_path / "events", EVENTS)
    moves = {"rescale": {1: 4, 5: 3}, "shuffle": {3: 11}}
    answer = run(spark, Run(query, Settings(**WINDOWS), bins=16, epochs=7, **moves), events, tmp_path / "out")
    return pq.read_table(tmp_path / "out"), answer


def check(spark, tmp_path, query):
    found, answer = ridden(spark, tmp_path, query)
    assert found.column_names == list(COLUMNS[query])
    kinds = tables(EVENTS)
    wanted = from_arrow(duckdb_answer(query, *kinds.values(), **WINDOWS))
    assert_same(from_arrow(found), wanted, query)
    frames = [spark.createDataFrame(table) for table in kinds.values()]
    assert_same(multiset(map(tuple, spark_answer(spark, query, *frames, **WINDOWS).collect())), wanted, query)
    assert answer["rows_in"] == len(EVENTS) and answer["rows_out"] == sum(wanted.values())
    assert answer["epochs"] == 7 and answer["moves"] > 16


@pytest.mark.slow
def test_q4_closes_auctions_in_event_time_while_their_bins_move(spark, tmp_path):
    check(spark, tmp_path, "q4")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("query", [query for query in MIGRATABLE if query != "q4"])
def test_every_query_answers_as_both_oracles_while_its_bins_move(spark, tmp_path, query):
    check(spark, tmp_path, query)


@pytest.mark.parametrize("closings", [[], [(10, 4.0, 1)], [(11, 6.0, 2), (10, 4.0, 1), (11, 5.0, 1)]])
def test_of_a_running_answer_the_last_row_of_each_key_is_left(closings):
    rows = [dict(zip(CHANGES.names, row, strict=True)) for row in closings]
    table = pa.Table.from_pylist(rows, schema=CHANGES)
    kept = last_rows(table, "category").to_pylist()
    assert {row["category"]: row["average"] for row in kept} == {row[0]: row[1] for row in sorted(closings)}
    assert len(kept) == len({row[0] for row in closings})


def test_instants_of_a_result_are_microseconds_in_utc_whatever_the_year(tmp_path):
    late = datetime(9999, 12, 31, tzinfo=timezone.utc)
    rows = pa.table({"id": [1], "expires": pa.array([late], TIME)}).replace_schema_metadata({"spark": "its own schema"})
    (tmp_path / "found").mkdir()
    pq.write_table(rows, tmp_path / "found" / "part-0.parquet", use_deprecated_int96_timestamps=True)
    assert write_result(tmp_path / "found", tmp_path / "out", "q9") == 1
    kept = pq.read_table(tmp_path / "out")
    assert kept.column("expires").to_pylist() == [late] and kept.schema.field("expires").type == TIME
    assert not kept.schema.metadata, "Spark would believe it rather than the columns"


def test_a_result_directory_with_files_is_left_alone(spark, tmp_path):
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(BadInput, match="not empty"):
        run(spark, Run("q0"), tmp_path, tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "kept"

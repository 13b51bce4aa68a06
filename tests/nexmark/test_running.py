"""Queries on Spark with their bins moving live: 2 slots to 4, a random rebalance, then to 3; equal to both oracles."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from tests.nexmark.comparing import assert_same, from_arrow, multiset
from tests.nexmark.scenarios import foreign, tables, write_foreign

from whimbrel.model import BadInput
from whimbrel.nexmark.queries import MIGRATABLE
from whimbrel.nexmark.reference import COLUMNS, duckdb_answer, spark_answer
from whimbrel.nexmark.running import Run, run
from whimbrel.nexmark.settings import Settings

EVENTS = foreign(1_500, seed=33)
WINDOWS = {"window_ms": 3_000, "slide_ms": 1_000}


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


def test_q4_closes_auctions_in_event_time_while_their_bins_move(spark, tmp_path):
    check(spark, tmp_path, "q4")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("query", [query for query in MIGRATABLE if query != "q4"])
def test_every_query_answers_as_both_oracles_while_its_bins_move(spark, tmp_path, query):
    check(spark, tmp_path, query)


def test_a_result_directory_with_files_is_left_alone(spark, tmp_path):
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(BadInput, match="not empty"):
        run(spark, Run("q0"), tmp_path, tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "kept"

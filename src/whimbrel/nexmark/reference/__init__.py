"""The answers of the queries, three times over: DuckDB, batch Spark SQL and plain Python.

The three share nothing but the meaning of the queries as the reference page states it. None of them knows
streams, and none imports any room but ``model``.
"""

from whimbrel.nexmark.reference.columns import COLUMNS, QUERIES, changes_of
from whimbrel.nexmark.reference.duck import answer as duckdb_answer
from whimbrel.nexmark.reference.plain import answer as plain_answer
from whimbrel.nexmark.reference.spark_sql import answer as spark_answer

__all__ = ["COLUMNS", "QUERIES", "changes_of", "duckdb_answer", "plain_answer", "spark_answer"]

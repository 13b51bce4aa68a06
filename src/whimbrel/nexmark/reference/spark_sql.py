"""The answers by Spark SQL over batch DataFrames: what a Spark user would write without streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.nexmark.reference.columns import COLUMNS, RUNNING, changes_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FINALS = """
    numbered AS (SELECT *, monotonically_increasing_id() AS record FROM {auction}),
    valid AS (
        SELECT n.record, n.id, n.category, n.seller, n.expires, b.price
        FROM numbered AS n INNER JOIN {bid} AS b ON n.id = b.auction AND b.dateTime < n.expires
        WHERE b.price IS NOT NULL AND RESERVE_RULE),
    finals AS (
        SELECT record, id, category, seller, expires, MAX(price) AS final
        FROM valid GROUP BY record, id, category, seller, expires)"""

_SQL = {
    "q0": "SELECT auction, bidder, price, dateTime, extra FROM {bid}",
    "q1": "SELECT auction, bidder, CAST(price AS DOUBLE) * 0.908D AS price, dateTime, extra FROM {bid}",
    "q2": "SELECT auction, bidder, price, dateTime, extra FROM {bid} WHERE MOD(auction, 123) = 0",
    "q3": """
        SELECT p.name, p.city, p.state, a.id AS auction
        FROM {person} AS p, {auction} AS a
        WHERE a.seller = p.id AND a.category = 10 AND (p.state = 'OR' OR p.state = 'ID' OR p.state = 'CA')""",
    "q4": f"""
        WITH {_FINALS}
        SELECT category, AVG(final) OVER so_far AS average, COUNT(final) OVER so_far AS auctions
        FROM finals WHERE category IS NOT NULL
        WINDOW so_far AS (PARTITION BY category ORDER BY expires, id, record
                          ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)""",
    "q5": """
        WITH counts AS (
            SELECT window(dateTime, 'SIZE', 'SLIDE') AS w, auction, COUNT(*) AS bids
            FROM {bid} WHERE auction IS NOT NULL AND dateTime IS NOT NULL GROUP BY 1, 2),
        tops AS (SELECT w, MAX(bids) AS top FROM counts GROUP BY w)
        SELECT c.w.start AS window_start, c.w.end AS window_end, c.auction, c.bids
        FROM counts AS c JOIN tops AS t ON c.w = t.w AND c.bids = t.top""",
    "q6": f"""
        WITH {_FINALS}
        SELECT seller,
               AVG(final) OVER (PARTITION BY seller ORDER BY expires, id, record
                                ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) AS average,
               COUNT(final) OVER (PARTITION BY seller ORDER BY expires, id, record
                                  ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS auctions
        FROM finals WHERE seller IS NOT NULL""",
    "q7": """
        WITH placed AS (SELECT *, window(dateTime, 'SIZE') AS w FROM {bid}),
        tops AS (SELECT w, MAX(price) AS top FROM placed GROUP BY w)
        SELECT p.auction, p.bidder, p.price, p.dateTime, p.extra
        FROM placed AS p JOIN tops AS t ON p.w = t.w AND p.price = t.top""",
    "q8": """
        WITH newcomers AS (SELECT *, window(dateTime, 'SIZE') AS w FROM {person}),
        sellers AS (SELECT DISTINCT seller, window(dateTime, 'SIZE') AS w FROM {auction})
        SELECT n.id, n.name, n.emailAddress, n.creditCard, n.city, n.state, n.dateTime, n.extra
        FROM newcomers AS n JOIN sellers AS s ON n.id = s.seller AND n.w = s.w""",
}


def answer(
    spark: SparkSession,
    query: str,
    person: DataFrame,
    auction: DataFrame,
    bid: DataFrame,
    *,
    window_ms: int = 10_000,
    slide_ms: int = 5_000,
    ignore_reserve: bool = False,
    changes: bool = False,
) -> DataFrame:
    """The rows of a query, in no order; with ``changes`` every row of a running answer, not only the last ones."""
    sql = _SQL[query].replace("SIZE", f"{window_ms} milliseconds").replace("SLIDE", f"{slide_ms} milliseconds")
    sql = sql.replace("RESERVE_RULE", "TRUE" if ignore_reserve else "b.price >= n.reserve")
    tables = {"person": person, "auction": auction, "bid": bid}
    result = spark.sql(sql, **{name: table for name, table in tables.items() if f"{{{name}}}" in sql})
    if query in RUNNING and not changes:
        key = COLUMNS[query][0]
        result = spark.sql(f"SELECT {key}, MAX_BY(average, auctions) AS average FROM {{r}} GROUP BY {key}", r=result)
    return result.select(*(changes_of(query) if changes else COLUMNS[query]))

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

_LEVELS = (
    ("total", "TRUE"),
    ("rank1", "price < 10000"),
    ("rank2", "price >= 10000 AND price < 1000000"),
    ("rank3", "price >= 1000000"),
)


def _counts(what: str, counted: str) -> str:
    return ", ".join(f"COUNT({counted.format(level)}) AS {name}_{what}" for name, level in _LEVELS)


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
    "q9": """
        WITH numbered AS (SELECT *, monotonically_increasing_id() AS record FROM {auction}),
        ranked AS (
            SELECT n.*, b.auction, b.bidder, b.price, b.dateTime AS bid_dateTime, b.extra AS bid_extra,
                   ROW_NUMBER() OVER (PARTITION BY n.record ORDER BY b.price DESC, b.dateTime ASC,
                                      b.bidder ASC NULLS LAST, b.extra ASC NULLS LAST) AS row
            FROM numbered AS n INNER JOIN {bid} AS b ON n.id = b.auction AND b.dateTime < n.expires
            WHERE b.price IS NOT NULL AND RESERVE_RULE)
        SELECT * FROM ranked WHERE row = 1""",
    "q11": """
        SELECT bidder, COUNT(*) AS bids, session_window.start AS session_start, session_window.end AS session_end
        FROM {bid} WHERE bidder IS NOT NULL GROUP BY bidder, session_window(dateTime, 'SIZE')""",
    "q13": """
        SELECT b.auction, b.bidder, b.price, b.dateTime, CONCAT('value ', CAST(s.id AS STRING)) AS value
        FROM {bid} AS b, RANGE(0, 10000) AS s WHERE MOD(b.auction, 10000) = s.id""",
    "q14": """
        SELECT auction, bidder, CAST(price AS DOUBLE) * 0.908D AS price,
               CASE WHEN HOUR(dateTime) >= 8 AND HOUR(dateTime) <= 18 THEN 'dayTime'
                    WHEN HOUR(dateTime) <= 6 OR HOUR(dateTime) >= 20 THEN 'nightTime'
                    ELSE 'otherTime' END AS bid_time_type,
               dateTime, extra,
               CAST(CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c')) AS BIGINT) AS c_counts
        FROM {bid} WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000""",
    "q15": f"""
        WITH placed AS (SELECT *, window(dateTime, 'SIZE') AS w FROM {{bid}})
        SELECT w.start AS window_start, w.end AS window_end, {_counts("bids", "CASE WHEN {} THEN 1 END")},
               {_counts("bidders", "DISTINCT CASE WHEN {} THEN bidder END")},
               {_counts("auctions", "DISTINCT CASE WHEN {} THEN auction END")}
        FROM placed GROUP BY w""",
    "q17": f"""
        WITH placed AS (SELECT *, window(dateTime, 'SIZE') AS w FROM {{bid}} WHERE auction IS NOT NULL)
        SELECT w.start AS window_start, w.end AS window_end, auction,
               {_counts("bids", "CASE WHEN {} THEN 1 END")}, MIN(price) AS min_price, MAX(price) AS max_price,
               AVG(price) AS avg_price, SUM(price) AS sum_price
        FROM placed GROUP BY w, auction""",
    "q18": """
        WITH placed AS (
            SELECT *, window(dateTime, 'SIZE') AS w FROM {bid} WHERE auction IS NOT NULL AND bidder IS NOT NULL),
        lasts AS (SELECT MAX(STRUCT(dateTime, price, extra)) AS l, auction, bidder FROM placed
                  GROUP BY w, auction, bidder)
        SELECT auction, bidder, l.price, l.dateTime, l.extra FROM lasts""",
    "q19": """
        WITH placed AS (
            SELECT *, window(dateTime, 'SIZE') AS w FROM {bid} WHERE auction IS NOT NULL AND price IS NOT NULL),
        ranked AS (
            SELECT *, CAST(ROW_NUMBER() OVER (PARTITION BY w, auction ORDER BY price DESC, dateTime ASC,
                           bidder ASC NULLS LAST, extra ASC NULLS LAST) AS BIGINT) AS rank
            FROM placed)
        SELECT auction, bidder, price, dateTime, extra, rank FROM ranked WHERE rank < 11""",
    "q20": """
        WITH chosen AS (
            SELECT id, itemName, description, initialBid, reserve, dateTime AS auction_dateTime, expires, seller,
                   category, extra AS auction_extra
            FROM {auction} WHERE category = 10)
        SELECT b.auction, b.bidder, b.price, b.dateTime AS bid_dateTime, b.extra AS bid_extra, c.*
        FROM {bid} AS b INNER JOIN chosen AS c ON c.id = b.auction""",
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

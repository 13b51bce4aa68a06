"""The answers by DuckDB over Arrow tables: all events at once, no order of arrival, nothing late."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from whimbrel.nexmark.reference.columns import COLUMNS, RUNNING, changes_of

_CLOSED = """
    opened AS (SELECT row_number() OVER () AS opening, * FROM auction),
    closed AS (
        SELECT o.opening, o.id, o.category, o.seller, o.expires, max(b.price) AS final
        FROM opened o JOIN bid b ON b.auction = o.id
        WHERE b."dateTime" < o.expires AND (b.price >= o.reserve OR $ignore_reserve) AND b.price IS NOT NULL
        GROUP BY ALL
    )"""

_OPENS = 'epoch_us("dateTime") - ((epoch_us("dateTime") % $size) + $size) % $size'
_RANKS = {
    "total": "true",
    "rank1": "price < 10000",
    "rank2": "price BETWEEN 10000 AND 999999",
    "rank3": "price > 999999",
}


def _by_rank(what: str, expression: str) -> str:
    return ", ".join(f"{expression} FILTER (WHERE {level}) AS {rank}_{what}" for rank, level in _RANKS.items())


_SQL = {
    "q0": 'SELECT auction, bidder, price, "dateTime", extra FROM bid',
    "q1": 'SELECT auction, bidder, price::DOUBLE * 0.908::DOUBLE AS price, "dateTime", extra FROM bid',
    "q2": 'SELECT auction, bidder, price, "dateTime", extra FROM bid WHERE auction % 123 = 0',
    "q3": """
        SELECT p.name, p.city, p.state, a.id AS auction
        FROM auction a JOIN person p ON a.seller = p.id
        WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    "q4": f"""
        WITH {_CLOSED}
        SELECT category,
               sum(final) OVER closings::DOUBLE / count(*) OVER closings AS average,
               count(*) OVER closings AS auctions
        FROM closed WHERE category IS NOT NULL
        WINDOW closings AS (PARTITION BY category ORDER BY expires, id, opening ROWS UNBOUNDED PRECEDING)""",
    "q5": """
        WITH timed AS (SELECT auction, epoch_us("dateTime") AS moment FROM bid
                       WHERE auction IS NOT NULL AND "dateTime" IS NOT NULL),
        placed AS (
            SELECT auction, unnest(range(moment - ((moment % $slide) + $slide) % $slide,
                                         moment - $size, -$slide)) AS opens
            FROM timed),
        counted AS (SELECT opens, auction, count(*) AS bids FROM placed GROUP BY opens, auction)
        SELECT make_timestamp(opens) AS window_start, make_timestamp(opens + $size) AS window_end, auction, bids
        FROM counted QUALIFY bids = max(bids) OVER (PARTITION BY opens)""",
    "q6": f"""
        WITH {_CLOSED}
        SELECT seller,
               sum(final) OVER lasts::DOUBLE / count(*) OVER lasts AS average,
               row_number() OVER (PARTITION BY seller ORDER BY expires, id, opening) AS auctions
        FROM closed WHERE seller IS NOT NULL
        WINDOW lasts AS (PARTITION BY seller ORDER BY expires, id, opening ROWS 9 PRECEDING)""",
    "q7": """
        SELECT auction, bidder, price, "dateTime", extra FROM bid WHERE "dateTime" IS NOT NULL
        QUALIFY price = max(price) OVER (
            PARTITION BY epoch_us("dateTime") - ((epoch_us("dateTime") % $size) + $size) % $size)""",
    "q8": """
        SELECT id, name, "emailAddress", "creditCard", city, state, "dateTime", extra
        FROM person p WHERE EXISTS (
            SELECT 1 FROM auction a WHERE a.seller = p.id
            AND epoch_us(a."dateTime") - ((epoch_us(a."dateTime") % $size) + $size) % $size
              = epoch_us(p."dateTime") - ((epoch_us(p."dateTime") % $size) + $size) % $size)""",
    "q9": """
        WITH opened AS (SELECT row_number() OVER () AS opening, * FROM auction),
        offers AS (
            SELECT o.*, b.auction, b.bidder, b.price, b."dateTime" AS "bid_dateTime", b.extra AS bid_extra
            FROM opened o JOIN bid b ON b.auction = o.id
            WHERE b."dateTime" < o.expires AND (b.price >= o.reserve OR $ignore_reserve) AND b.price IS NOT NULL)
        SELECT * EXCLUDE opening FROM offers
        QUALIFY row_number() OVER (PARTITION BY opening ORDER BY price DESC, "bid_dateTime", bidder NULLS LAST,
                                   bid_extra NULLS LAST) = 1""",
    "q11": """
        WITH timed AS (
            SELECT bidder, epoch_us("dateTime") AS moment,
                   lag(epoch_us("dateTime")) OVER (PARTITION BY bidder ORDER BY "dateTime") AS before
            FROM bid WHERE bidder IS NOT NULL AND "dateTime" IS NOT NULL),
        numbered AS (
            SELECT bidder, moment, count(*) FILTER (WHERE before IS NULL OR moment - before > $size)
                   OVER (PARTITION BY bidder ORDER BY moment RANGE UNBOUNDED PRECEDING) AS session
            FROM timed)
        SELECT bidder, count(*) AS bids, make_timestamp(min(moment)) AS session_start,
               make_timestamp(max(moment) + $size) AS session_end
        FROM numbered GROUP BY bidder, session""",
    "q13": """
        SELECT auction, bidder, price, "dateTime", 'value ' || key AS value
        FROM bid JOIN range(10000) AS side(key) ON auction % 10000 = key""",
    "q14": """
        SELECT auction, bidder, price::DOUBLE * 0.908::DOUBLE AS price,
               CASE WHEN hour("dateTime") BETWEEN 8 AND 18 THEN 'dayTime'
                    WHEN hour("dateTime") <= 6 OR hour("dateTime") >= 20 THEN 'nightTime'
                    ELSE 'otherTime' END AS bid_time_type,
               "dateTime", extra, length(extra) - length(replace(extra, 'c', '')) AS c_counts
        FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000""",
    "q15": f"""
        SELECT make_timestamp(opens) AS window_start, make_timestamp(opens + $size) AS window_end,
               {_by_rank("bids", "count(*)")},
               {_by_rank("bidders", "count(DISTINCT bidder)")},
               {_by_rank("auctions", "count(DISTINCT auction)")}
        FROM (SELECT *, {_OPENS} AS opens FROM bid WHERE "dateTime" IS NOT NULL) GROUP BY opens""",
    "q17": f"""
        SELECT make_timestamp(opens) AS window_start, make_timestamp(opens + $size) AS window_end, auction,
               {_by_rank("bids", "count(*)")},
               min(price) AS min_price, max(price) AS max_price, sum(price)::DOUBLE / count(price) AS avg_price,
               sum(price)::BIGINT AS sum_price
        FROM (SELECT *, {_OPENS} AS opens FROM bid WHERE auction IS NOT NULL AND "dateTime" IS NOT NULL)
        GROUP BY opens, auction""",
    "q18": f"""
        SELECT auction, bidder, price, "dateTime", extra
        FROM bid WHERE auction IS NOT NULL AND bidder IS NOT NULL AND "dateTime" IS NOT NULL
        QUALIFY row_number() OVER (PARTITION BY auction, bidder, {_OPENS}
            ORDER BY "dateTime" DESC, price DESC NULLS LAST, extra DESC NULLS LAST) = 1""",
    "q19": f"""
        SELECT *, row_number() OVER (PARTITION BY auction, {_OPENS}
            ORDER BY price DESC, "dateTime", bidder NULLS LAST, extra NULLS LAST) AS rank
        FROM bid WHERE auction IS NOT NULL AND price IS NOT NULL AND "dateTime" IS NOT NULL
        QUALIFY rank <= 10""",
    "q20": """
        SELECT b.auction, b.bidder, b.price, b."dateTime" AS "bid_dateTime", b.extra AS bid_extra,
               a."itemName", a.description, a."initialBid", a.reserve, a."dateTime" AS "auction_dateTime",
               a.expires, a.seller, a.category, a.extra AS auction_extra
        FROM bid b JOIN auction a ON b.auction = a.id WHERE a.category = 10""",
}


def answer(
    query: str,
    person: pa.Table,
    auction: pa.Table,
    bid: pa.Table,
    *,
    window_ms: int = 10_000,
    slide_ms: int = 5_000,
    ignore_reserve: bool = False,
    changes: bool = False,
) -> pa.Table:
    """The rows of a query, in no order; with ``changes`` every row of a running answer, not only the last ones."""
    import duckdb

    wanted = changes_of(query) if changes else COLUMNS[query]
    sql = _SQL[query]
    if query in RUNNING and not changes:
        sql = f"SELECT * FROM ({sql}) QUALIFY auctions = max(auctions) OVER (PARTITION BY {wanted[0]})"
    given: dict[str, Any] = {"size": window_ms * 1000, "slide": slide_ms * 1000, "ignore_reserve": ignore_reserve}
    with duckdb.connect() as connection:
        for name, table in (("person", person), ("auction", auction), ("bid", bid)):
            connection.register(name, _with_times(table, None))
        used = {name: value for name, value in given.items() if f"${name}" in sql}
        return _with_times(connection.sql(sql, params=used).to_arrow_table().select(list(wanted)), "UTC")


def _with_times(table: pa.Table, zone: str | None) -> pa.Table:
    """Instants with another zone: DuckDB reckons in one only with an extension that not every machine has."""
    fields = [
        pa.field(each.name, pa.timestamp("us", zone)) if pa.types.is_timestamp(each.type) else each
        for each in table.schema
    ]
    return table.cast(pa.schema(fields))

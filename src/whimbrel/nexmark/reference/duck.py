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

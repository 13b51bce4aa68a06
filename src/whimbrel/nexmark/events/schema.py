"""The shapes of the three kinds of event, and of the one stream that carries all three.

Times are instants with microseconds in UTC, as Spark's TimestampType keeps them; the generator's are whole
milliseconds.
"""

from __future__ import annotations

from datetime import datetime, timezone

import pyarrow as pa

TIME = pa.timestamp("us", tz="UTC")
FIRST_TIME = datetime(1970, 1, 1, tzinfo=timezone.utc)
"""Events happen from here on: a watermark of Spark's begins at 1970."""
LAST_TIME = datetime(2100, 1, 1, tzinfo=timezone.utc)
"""Events happen before this."""
END_TIME = datetime(2260, 1, 1, tzinfo=timezone.utc)
"""When the end of an input happens: later than any event by more than the longest delay, and still an instant that
pandas can count in nanoseconds."""
FAR_MS = 4_733_510_400_000
"""The year 2120: what would close later closes at the end of the input."""

PERSON = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("emailAddress", pa.string()),
        ("creditCard", pa.string()),
        ("city", pa.string()),
        ("state", pa.string()),
        ("dateTime", TIME),
        ("extra", pa.string()),
    ]
)
AUCTION = pa.schema(
    [
        ("id", pa.int64()),
        ("itemName", pa.string()),
        ("description", pa.string()),
        ("initialBid", pa.int64()),
        ("reserve", pa.int64()),
        ("dateTime", TIME),
        ("expires", TIME),
        ("seller", pa.int64()),
        ("category", pa.int64()),
        ("extra", pa.string()),
    ]
)
BID = pa.schema(
    [
        ("auction", pa.int64()),
        ("bidder", pa.int64()),
        ("price", pa.int64()),
        ("dateTime", TIME),
        ("extra", pa.string()),
    ]
)
KINDS = {"person": PERSON, "auction": AUCTION, "bid": BID}
"""Each kind of event with its fields, in the order in which they are always written."""

EVENT = pa.schema([(kind, pa.struct(list(schema))) for kind, schema in KINDS.items()])
"""One row per event: exactly one of the three structs is there, the others are null."""

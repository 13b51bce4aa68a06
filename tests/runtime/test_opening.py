"""What an operator's description keeps of its tables."""

import json

import pyarrow as pa

from whimbrel.runtime.opening import describe_tables, tables_of
from whimbrel.state.ledger import TableSpec


def test_tables_come_back_in_their_order_though_descriptions_are_sorted():
    one = pa.schema([("k", pa.int64())])
    specs = [TableSpec("seen", one, one), TableSpec("post-dated", one, one)]
    kept = json.loads(json.dumps({"schemas": describe_tables(specs)}, sort_keys=True))
    assert tables_of(kept) == specs

"""What an operator's description keeps of its tables."""

import json
from types import SimpleNamespace

import pyarrow as pa
import pytest

from whimbrel.model.errors import JobMismatch
from whimbrel.runtime.opening import claim_description, describe_tables, tables_of
from whimbrel.state.ledger import TableSpec


def test_tables_come_back_in_their_order_though_descriptions_are_sorted():
    one = pa.schema([("k", pa.int64())])
    specs = [TableSpec("seen", one, one), TableSpec("post-dated", one, one)]
    kept = json.loads(json.dumps({"schemas": describe_tables(specs)}, sort_keys=True))
    assert tables_of(kept) == specs


def test_state_of_a_stream_that_another_one_had_replaced_is_refused():
    notes = {}
    claim_description(notes, SimpleNamespace(name="counts", number=0, follows=()), "slot 3 of here")
    claim_description(notes, SimpleNamespace(name="counts", number=2, follows=[0]), "slot 3 of here")
    assert notes == {"description": 2}
    with pytest.raises(JobMismatch, match="slot 3 of here holds state of operator 'counts' as it was built before"):
        claim_description(notes, SimpleNamespace(name="counts", number=3, follows=[0, 1]), "slot 3 of here")
    assert notes == {"description": 2}

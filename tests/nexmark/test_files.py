"""Generated files hold exactly the generator's events."""

from __future__ import annotations

import json

import pytest
from tests.nexmark.scenarios import generated

from whimbrel.model import BadInput
from whimbrel.nexmark.events import Rules, write_files


def test_json_lines_hold_the_fields_in_their_order(tmp_path):
    rows = write_files(tmp_path, 2_000, Rules(seed=3))
    assert rows == {"person": 40, "auction": 120, "bid": 1840}
    lines = [json.loads(line) for line in (tmp_path / "auction" / "part-00000.jsonl").read_text().splitlines()]
    wanted = [record for kind, record in generated(2_000, Rules(seed=3)) if kind == "auction"]
    assert [list(line) for line in lines] == [list(record) for record in wanted]
    assert [line["description"] for line in lines] == [record["description"] for record in wanted]
    assert lines[0]["dateTime"] == "2015-07-15T00:00:00.000Z"


def test_the_same_seed_writes_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write_files(tmp_path / name, 500, Rules(), part=200)
    for path in sorted((tmp_path / "a").rglob("*.jsonl")):
        assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes()
    assert len(list((tmp_path / "a" / "bid").iterdir())) == 3


def test_a_folder_with_events_is_not_added_to(tmp_path):
    write_files(tmp_path, 50, Rules())
    with pytest.raises(BadInput, match="already holds"):
        write_files(tmp_path, 50, Rules())


def test_unknown_formats_and_negative_counts_are_refused(tmp_path):
    with pytest.raises(BadInput, match="jsonl or parquet"):
        write_files(tmp_path, 50, Rules(), "csv")
    with pytest.raises(BadInput, match="zero or more"):
        write_files(tmp_path, -1, Rules())

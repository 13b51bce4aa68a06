"""Foreign events are read whole, in their order, or refused with the line at fault."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.nexmark.scenarios import as_json_lines, foreign, generated, unwrapped, write_foreign

from whimbrel.model import BadInput
from whimbrel.nexmark.arrivals import lateness_ms, of_kind, read_events, write_epochs
from whimbrel.nexmark.events import Rules, write_files
from whimbrel.nexmark.events.schema import TIME

FOREIGN = foreign(800, seed=9)


def test_strange_field_orders_extra_fields_and_nulls_are_read_as_they_were(tmp_path):
    assert unwrapped(read_events(write_foreign(tmp_path, FOREIGN))) == FOREIGN


@pytest.mark.parametrize("form", ["text", "milliseconds"])
def test_instants_of_one_form_are_read_the_fast_way(tmp_path, form, monkeypatch):
    monkeypatch.setattr("whimbrel.nexmark.arrivals.read_lines", None)
    events = [event for event in FOREIGN if event[1]["dateTime"] is not None]
    lines = [json.dumps({kind: {**record, **_instants(record, form)}}) for kind, record in events]
    (tmp_path / "e.jsonl").write_text("\n".join(lines))
    assert unwrapped(read_events(tmp_path)) == events


def _instants(record, form):
    found = {name: record[name] for name in ("dateTime", "expires") if record.get(name) is not None}
    if form == "text":
        return {name: value.isoformat(timespec="milliseconds") for name, value in found.items()}
    return {name: round(value.timestamp() * 1000) for name, value in found.items()}


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize("group", [1, 100])
def test_three_folders_give_back_every_event_in_the_order_of_each_kind(tmp_path, form, group):
    rules = Rules(rate=1000, out_of_order=group)
    write_files(tmp_path, 3_000, rules, form, part=1_000)
    read, wanted = unwrapped(read_events(tmp_path)), generated(3_000, rules)
    for kind in ("person", "auction", "bid"):
        assert [event for event in read if event[0] == kind] == [event for event in wanted if event[0] == kind]
    if group == 1:
        assert read == wanted


def test_lateness_is_the_longest_lag_behind_the_latest_event(tmp_path):
    lines = [{"bid": {"auction": 1, "dateTime": at}} for at in (1000, 5000, 4200, None, 6000, 5999)]
    (tmp_path / "e.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert lateness_ms(read_events(tmp_path)) == 800


def test_epochs_share_the_events_out_evenly_and_keep_their_order(tmp_path):
    import pyarrow.parquet as pq

    events = read_events(write_foreign(tmp_path / "in", FOREIGN))
    assert write_epochs(events, tmp_path / "out", 7, end=events.slice(0, 1)) == 8
    files = sorted((tmp_path / "out").iterdir(), key=lambda path: path.stat().st_mtime)
    parts = [unwrapped(pq.read_table(path)) for path in files]
    assert [event for part in parts[:-1] for event in part] == FOREIGN
    assert {len(part) for part in parts[:-1]} <= {114, 115} and len(parts[-1]) == 1


@pytest.mark.parametrize(
    ("line", "lesson"),
    [
        ("{", "line 2: not JSON"),
        ("[1]", "line 2: a JSON list"),
        ('{"sale": {}}', "line 2: needs exactly one"),
        ('{"bid": {}, "person": {}}', "line 2: needs exactly one"),
        ('{"bid": {"price": "high"}}', "line 2: price is 'high', where a whole number"),
        ('{"bid": {"price": 1.5}}', "line 2: price is 1.5"),
        ('{"bid": {"price": 9300000000000000000}}', "64 bits"),
        ('{"bid": {"dateTime": "yesterday"}}', "line 2: dateTime is 'yesterday'"),
    ],
)
def test_what_cannot_be_an_event_is_refused_by_line(tmp_path, line, lesson):
    (tmp_path / "e.jsonl").write_text(as_json_lines(FOREIGN[:1]) + line + "\n")
    with pytest.raises(BadInput, match=lesson):
        read_events(tmp_path)


def test_two_faults_do_not_make_up_for_each_other(tmp_path):
    (tmp_path / "e.jsonl").write_text('{"bid": {"auction": 1}}\n{"bid": {"price": 1}, "person": {"id": 2}}\n{}\n')
    with pytest.raises(BadInput, match="line 2: needs exactly one of the objects"):
        read_events(tmp_path)


def test_directories_without_events_are_refused(tmp_path):
    with pytest.raises(BadInput, match="person, auction and bid"):
        read_events(tmp_path)
    with pytest.raises(BadInput, match="no such file"):
        read_events(tmp_path / "nowhere")


def test_an_event_of_the_far_future_is_refused(tmp_path):
    (tmp_path / "e.jsonl").write_text('{"bid": {"auction": 1, "dateTime": 1436918400000000}}\n')
    with pytest.raises(BadInput, match="milliseconds since 1970"):
        read_events(tmp_path)


@pytest.mark.parametrize("kind", [pa.int64(), pa.timestamp("ns"), pa.timestamp("ms", tz="America/Boise"), TIME])
def test_instants_in_parquet_mean_what_they_mean_in_json(tmp_path, kind):
    bids = of_kind(read_events(write_foreign(tmp_path / "json", FOREIGN)), "bid")
    times = bids.column("dateTime").cast(pa.timestamp("ms", tz="UTC"))
    foreign_times = times.cast(pa.int64()) if kind == pa.int64() else times.cast(kind)
    (tmp_path / "bid").mkdir()
    pq.write_table(
        bids.set_column(3, "dateTime", foreign_times).select(["dateTime", "price"]), tmp_path / "bid" / "e.parquet"
    )
    found = of_kind(read_events(tmp_path), "bid")
    order = [("dateTime", "ascending"), ("price", "ascending")]
    assert found.select(["dateTime", "price"]).sort_by(order) == bids.select(["dateTime", "price"]).sort_by(order)

"""What every bench does with its options."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from whimbrel.bench import keycount, nexmark, nexmark_timelines, operators, placement, planner, rescale
from whimbrel.bench.catalogue import BENCHES, FAMILIES
from whimbrel.bench.choosing import wanted
from whimbrel.cli.app import main
from whimbrel.model import BadInput


@pytest.mark.parametrize("module", [keycount, rescale, operators])
def test_an_unknown_system_is_refused_before_anything_starts(module):
    with pytest.raises(BadInput, match="no system 'flink' to measure: choose among"):
        module.run({"peers": ["flink"]})


def test_an_unknown_query_is_refused_with_the_ones_that_there_are():
    with pytest.raises(BadInput, match="nexmark-all or one of nexmark-q0"):
        nexmark.run({"query": "q99"})
    with pytest.raises(BadInput, match="no timeline of 'q1'"):
        nexmark_timelines.run({"query": "q1"})


def test_an_unknown_pacing_is_refused():
    with pytest.raises(BadInput, match="no pacing or system 'slowly' to measure: choose among whimbrel, all-at-once"):
        nexmark_timelines.run({"query": "q3", "peers": ["slowly"]})


@pytest.mark.parametrize("name", ["nexmark", "speed", "timelines", "nexmark-q99"])
def test_an_unknown_bench_is_refused_in_one_line(name, tmp_path, capsys):
    with pytest.raises(SystemExit) as left:
        main(["bench", name, "--out", str(tmp_path)])
    answer = capsys.readouterr()
    assert left.value.code == 2
    assert answer.out == ""
    assert answer.err.splitlines()[-1].startswith("whimbrel: there is no")
    assert "choose" in answer.err.splitlines()[-1] or "one of" in answer.err.splitlines()[-1]


def test_every_bench_of_the_contract_is_there():
    assert {"keycount", "wordcount", "operators", "rescale", "planner", "placement", "bins"} <= set(BENCHES)


@pytest.mark.parametrize("module", [rescale, nexmark_timelines])
def test_whimbrel_means_every_pacing_that_is_live(module):
    groups = {"whimbrel": module.PACINGS}
    chosen = wanted({"peers": ["whimbrel", "spark-offline-repartition"]}, module.SYSTEMS, groups=groups)
    assert chosen == [*module.PACINGS, module.OFFLINE]


def test_the_systems_of_the_contract_are_taken_by_the_rescale_bench(monkeypatch):
    measured = []
    monkeypatch.setattr(rescale, "bench_session", nullcontext)
    monkeypatch.setattr(rescale, "_record", lambda spark, system, settings: measured.append((system, settings.seconds)))
    rescale.run({"peers": ["whimbrel", "spark-offline-repartition"], "seconds": 3.0})
    assert measured == [(system, 3.0) for system in rescale.SYSTEMS]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["planner", "--keys", "5"], "bench planner has no option --keys: it takes --peers, --seconds"),
        (["rescale", "--rate", "5"], "bench rescale has no option --rate: it takes --peers, --seconds, --keys, --bins"),
        (["nexmark-q3", "--operators", "aggregate"], "bench nexmark-q3 has no option --operators"),
        (["operators", "--rows", "7"], "bench operators has no option --rows"),
    ],
)
def test_an_option_that_a_bench_would_not_heed_is_refused_with_those_that_it_takes(words, line, tmp_path, capsys):
    with pytest.raises(SystemExit) as left:
        main(["bench", *words, "--out", str(tmp_path)])
    answer = capsys.readouterr()
    assert left.value.code == 2 and line in answer.err.splitlines()[-1]


def test_every_bench_takes_the_options_of_the_contract():
    for name in ("keycount", "wordcount", "operators", "rescale", "planner", "placement", "bins"):
        assert {"peers", "seconds"} <= set(BENCHES[name].takes)
    assert {"peers", "seconds"} <= set(FAMILIES["nexmark"].takes)


def test_placements_can_be_measured_at_any_size():
    sizes = {"queries": 60, "servers": 3, "steps": 20}
    cases = placement.run({"peers": ["ic", "least-cost", "churn"], **sizes, "seconds": 0.01})["cases"]
    assert [(case["algorithm"], case["k"], case["certified"]) for case in cases] == [
        ("ic", 3, True),
        ("least-cost", 3, True),
        ("least-cost, arrivals and departures", 3, True),
        ("settling, arrivals and departures", 3, True),
    ]
    assert {case["n"] for case in cases[:2]} == {60}
    assert placement.Sizes.of({"scale": 0.01}) == placement.Sizes(1_000, 10, 10_000, 10_000)


@pytest.mark.parametrize("module", [planner, placement])
def test_what_needs_no_stream_refuses_unknown_algorithms_too(module):
    with pytest.raises(BadInput, match="'flink' to measure: choose among"):
        module.run({"peers": ["flink"]})

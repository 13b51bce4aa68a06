"""What every bench does with its options."""

from __future__ import annotations

import pytest

from whimbrel.bench import keycount, nexmark, nexmark_timelines, operators, rescale
from whimbrel.cli.app import main
from whimbrel.cli.bench import BENCHES
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
    with pytest.raises(BadInput, match="no pacing or system 'slowly'"):
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

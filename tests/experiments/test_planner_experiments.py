"""The planners' experiments: each leaves a picture and a table, and judges its claim from what it measured."""

from __future__ import annotations

import bz2
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

from whimbrel.cli.app import main
from whimbrel.experiments import planner_any_map, planner_speed, planner_table_3, planner_tau
from whimbrel.experiments.catalogue import experiment, experiments
from whimbrel.experiments.real_loads import frequent_pattern_load, word_count_load
from whimbrel.model import BadInput


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small stand-in for the folder of real loads, in the same format."""
    folder, random = tmp_path_factory.mktemp("data"), np.random.default_rng(7)
    (folder / "resa").mkdir()
    (folder / "texts").mkdir()
    rows = [f"{b},{work},{state},{9}" for b, (work, state) in enumerate(random.integers(500, 1500, (64, 2)))]
    text = "partition,load_tokens,state_bytes,keys\n" + "\n".join(rows) + "\n"
    (folder / "resa" / "wc_partitions_m64_congress2017.csv").write_text(text)
    with bz2.open(folder / "texts" / "congress_2017_dict10k_idsets.tsv.bz2", "wt") as lines:
        for second in range(300):
            words = sorted(random.choice(500, int(random.integers(1, 7)), replace=False).tolist())
            lines.write(f"{second}\t1\t{' '.join(map(str, words))}\n")
    return folder


def test_every_experiment_has_an_id_a_claim_and_one_name() -> None:
    known = experiments()
    assert {"planner-speed", "planner-tau", "planner-any-map", "planner-table-3"} <= set(known)
    assert all(found.ID == identity and found.CLAIM for identity, found in known.items())
    with pytest.raises(BadInput, match="choose one of planner-speed"):
        experiment("perpetual-motion")


def test_the_papers_table_does_not_hold_and_the_finding_says_the_optimum(tmp_path: Path) -> None:
    answer = planner_table_3.run(None, tmp_path)
    assert answer["holds"] is False and "is 6" in answer["finding"]
    assert {Path(figure).suffix for figure in answer["figures"]} == {".svg", ".parquet"}


def test_the_any_map_table_stays_between_bound_and_ssm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner_any_map, "BINS", (64,))
    answer = planner_any_map.run(None, tmp_path)
    assert answer["holds"] is True
    for row in parquet.read_table(tmp_path / "planner-any-map.parquet").to_pylist():
        assert row["bound_percent"] <= row["any_map_percent"] + 1e-9


def test_cost_and_balance_are_measured_for_every_planner_and_application(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner_tau, "MIGRATIONS", 6)
    monkeypatch.setattr(planner_tau, "TAUS", (0.3, 0.8))
    answer = planner_tau.run(data, tmp_path)
    rows = parquet.read_table(tmp_path / "planner-tau.parquet").to_pylist()
    assert len(rows) == 2 * 2 * 7 and len(answer["figures"]) == 3
    for row in rows:
        if row["planner"] in {"ssm", "any-map"} and row["worst_max_over_mean"] is not None:
            assert row["worst_max_over_mean"] <= 1 + row["tau"] + 1e-9
    assert [claim["holds"] for claim in answer["claims"]] == [not claim["fails_at"] for claim in answer["claims"]]
    with pytest.raises(BadInput, match="--data"):
        planner_tau.run(None, tmp_path)


def test_growth_is_measured_for_every_program_that_is_affordable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner_speed, "BINS", (64, 256))
    monkeypatch.setattr(planner_speed, "SLOTS", (8,))
    monkeypatch.setattr(planner_speed, "REPAIRED_STEPS_MAX", 1 << 21)
    monkeypatch.setattr(planner_speed, "PROMISES", {"m64": ([(64, 10, 12)], 0.06)})
    ticks = iter(range(10**9))
    answer = planner_speed.run(None, tmp_path, clock=lambda: next(ticks) * 1e-6)
    rows = parquet.read_table(tmp_path / "planner-speed.parquet").to_pylist()
    assert {row["engine"] for row in rows} == {"layered", "lagrangian", "repaired"}
    assert answer["holds"] is True and answer["ms"]["m64"] == pytest.approx(0.001)


def test_real_loads_are_read_in_bin_order_and_missing_ones_named(data: Path, tmp_path: Path) -> None:
    assert word_count_load(data, 64).bins == word_count_load(data / "resa", 64).bins == 64
    patterns = frequent_pattern_load(data, 16)
    assert patterns.bins == 16 and sum(patterns.work) >= sum(patterns.state) / 24
    with pytest.raises(BadInput, match="wc_partitions_m64"):
        word_count_load(tmp_path, 64)


def test_the_command_lists_and_runs_experiments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["list"], ["run", "planner-table-3", "--out", str(tmp_path)]):
        with pytest.raises(SystemExit) as stopped:
            main(["experiment", *arguments, "--json"])
        assert not stopped.value.code
        answer = json.loads(capsys.readouterr().out)
    assert {"id", "claim", "holds", "figures"} <= set(answer)

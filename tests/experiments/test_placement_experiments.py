"""The placement experiments at a fraction of their size: every panel drawn, every sentence judged, sizes refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from whimbrel.experiments.catalogue import run_experiment
from whimbrel.experiments.placement_settings import Scale, answer, failing, interval
from whimbrel.model import BadInput

pytest.importorskip("matplotlib")
pq = pytest.importorskip("pyarrow.parquet")

TINY = {"share": (0.01,), "seeds": (2,)}
PANELS = {
    "placement-offline": {"beta", "sources per query", "servers", "queries"},
    "placement-online": {"beta", "sources per query", "servers", "queries"},
    "placement-query-churn": {"beta", "sources per query", "servers", "mean lifetime", "beta, Pareto lifetimes"},
    "placement-server-churn": {"beta", "sources per query", "servers", "steps between servers"},
    "placement-rates": {"beta, random rates", "beta, positive rates", "beta, negative rates"},
    "placement-beyond": {
        "beta, offline",
        "beta, arrivals only",
        "beta, arrivals and departures",
        "beta, known popularity",
    },
}


LONG = {"placement-query-churn", "placement-server-churn", "placement-beyond"}


@pytest.mark.parametrize(
    "identity", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in PANELS]
)
def test_an_experiment_draws_its_panels_and_judges_each_sentence(identity, tmp_path):
    found = run_experiment(identity, None, tmp_path, TINY)
    picture, rows = (Path(figure) for figure in found["figures"])
    assert "<svg" in picture.read_text()
    table = pq.read_table(rows).to_pylist()
    assert {row["panel"] for row in table} >= PANELS[identity]
    assert all(len(row["values"]) == 2 and row["half_width"] >= 0 for row in table)
    assert found["seeds"] == [1, 2]
    assert found["holds"] == all(claim["holds"] for claim in found["claims"])
    assert all(claim["holds"] is not bool(claim["fails_at"]) for claim in found["claims"] if "fails_at" in claim)


def test_a_sentence_that_fails_somewhere_says_where(tmp_path):
    rows = [
        {"panel": "beta", "x": x, "algorithm": name, "mean": mean, "half_width": 0.0, "values": [mean]}
        for x, name, mean in ((1.0, "a", 2.0), (1.0, "b", 1.0), (2.0, "a", 1.0), (2.0, "b", 2.0))
    ]
    worse = failing(rows, ["beta"], lambda at: at("a") <= at("b"))
    assert worse == ["beta 1"]
    assert failing(rows, ["beta"], lambda at: at("a") <= at("b"), least=1.5) == []
    found = answer("x", "a is best", tmp_path, rows, {"a is best": worse, "a exists": True}, Scale())
    assert found["holds"] is False
    assert found["claims"] == [
        {"claim": "a is best", "holds": False, "fails_at": ["beta 1"]},
        {"claim": "a exists", "holds": True},
    ]


def test_the_interval_is_students():
    middle, half = interval([1.0, 2.0, 3.0])
    assert middle == 2
    assert half == pytest.approx(4.303 / 3**0.5, rel=1e-3)
    assert interval([0.0, 2.0] * 10)[1] == pytest.approx(2.093 * (20 / 19) ** 0.5 / 20**0.5, rel=1e-3)


@pytest.mark.parametrize("wrong", [{"share": (0.0,)}, {"share": (2.0,)}, {"seeds": (1.5,)}, {"seeds": (1, 2)}])
def test_a_size_that_cannot_be_is_refused(wrong, tmp_path):
    with pytest.raises(BadInput, match=next(iter(wrong))):
        run_experiment("placement-rates", None, tmp_path, {**TINY, **wrong})

"""The page of measurements says what the answers say, and the page that is committed is the one they give."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from tests.house.source import ROOT

from whimbrel.report import compacted, page_of_measurements, pictures_of_measurements

MACHINE = {"cores": 2, "processor": "x", "pyspark": "4.3.0"}
PHASE = {"p50": 100.0, "p99": 200.0, "max": 500.0}


def throughput(query, times, correct=True):
    phases = {"before": PHASE, "during": {**PHASE, "max": 750.0}, "after": PHASE}
    ours = {"rows_per_second": 100_000 * times, "times_native": times, "of_identity": 0.25, "epoch_ms": phases}
    native = {"query": query, "system": "native-rocksdb", "rows_per_second": 100_000, "epoch_ms": phases}
    return [{"query": query, "system": "whimbrel", "correct": correct, **ours}, {**native, "correct": True}]


def timeline(query, pacing, times):
    latency = {"before": PHASE, "during": {**PHASE, "max": 500.0 * times}, "after": PHASE}
    point = {"at_ms": 250.0, "p50": 100.0, "p99": 200.0, "max": 500.0}
    moved = {"moved_at_ms": 1000.0, "settled_at_ms": 3000.0, "migration_s": 2.0, "bytes": 3 << 20, "steps": 8}
    record = {"query": query, "pacing": pacing, "latency_ms": latency, "times_steady": times, "timeline": [point]}
    return compacted({**record, **moved, "state_bytes": 40 << 20, "correct": True})


def answers():
    ceiling = {"query": "q3", "system": "identity", "rows_per_second": 1_600_000, "correct": None}
    rates = [*throughput("q3", 4.0), *throughput("q5", 2.0), ceiling]
    lines = [timeline("q3", "all-at-once", 3.0), timeline("q3", "batched", 1.2), timeline("q5", "batched", 1.7)]
    rows = [{"system": "whimbrel", "keys": 1000, "bins": 16, "p99": 812.4, "max": 900.0, "correct": True}]
    claims = {"claim": "Bins are cheap", "holds": False, "correct": True, "machine": MACHINE}
    checked = {"rows_out": 1200, "epochs": 12, "moves": 90, "duckdb": True, "spark_sql": True, "equal": True}
    queries = [{"query": "q3", **checked}, {"query": "q9", **checked, "spark_sql": False, "equal": False}]
    return {
        "check": {"events": 1_000_000, "machine": MACHINE, "queries": queries},
        "nexmark-all": {"settings": {"events": 2_000_000}, "machine": MACHINE, "results": rates},
        "timelines": {"settings": {"rate": 10_000}, "machine": MACHINE, "results": lines},
        "megaphone-overhead": {"id": "megaphone-overhead", "rows": rows, **claims},
    }


def test_figures_goals_and_verdicts_are_those_of_the_answers():
    page = page_of_measurements(answers())
    assert "| q3 | 400,000 | 100,000 | 4.0 | 25 % | 0.50 | 0.75 | yes |" in page
    assert "times native for the stateful queries: reached by q3; not by q5." in page
    assert "| q3 | batched | 40.0 MiB | 3.0 MiB | 8 | 2.0 | 0.50 | 0.60 | 1.20 | yes |" in page
    assert "within 1.5 times the steady state: reached by q3; not by q5." in page
    assert "All at once beyond 1.5 times: reached by q3." in page
    assert "Bins are cheap. **The claim does not hold here.** All counts are right." in page
    assert "carries 1,600,000 rows/s" in page and "2 cores (x), PySpark 4.3.0" in page


def test_the_page_says_which_answers_are_those_of_both_references():
    page = page_of_measurements(answers())
    assert "| q3 | 1,200 | 12 | 90 | equal | equal |" in page and "| q9 | 1,200 | 12 | 90 | equal | different |" in page
    assert "Equal to both references: reached by q3; not by q9." in page


def test_a_wrong_answer_is_not_hidden():
    given = answers()
    given["nexmark-all"]["results"] = throughput("q3", 4.0, correct=False)
    assert "| 0.75 | no |" in page_of_measurements(given)


def test_a_phase_without_events_gives_no_verdict():
    given = answers()
    given["timelines"]["results"] = [{**record, "times_steady": None} for record in given["timelines"]["results"]]
    page = page_of_measurements(given)
    assert "| 0.50 | 0.60 | – | yes |" in page and "All at once beyond 1.5 times: not measured." in page


def test_what_was_not_measured_has_no_section():
    assert page_of_measurements({}) == "" and pictures_of_measurements({}) == {}
    assert "## Throughput" not in page_of_measurements({"timelines": answers()["timelines"]})


def test_every_picture_of_the_page_is_drawn_or_brought_along():
    drawn = pictures_of_measurements(answers())
    for drawing in drawn.values():
        ElementTree.fromstring(drawing)
    page = page_of_measurements(answers())
    assert all(f"pictures/{name}.svg" in page for name in [*drawn, "megaphone-overhead"])


def test_a_quick_measurement_never_takes_the_place_of_a_measured_page():
    script = Path(ROOT) / "scripts" / "measure_nexmark.py"
    ended = subprocess.run([sys.executable, script, "--quick"], check=False, capture_output=True, text=True)
    assert ended.returncode == 2 and "name another folder with --docs" in ended.stderr


def test_the_page_in_the_documentation_is_what_its_answers_give():
    docs = Path(ROOT) / "docs"
    kept = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in docs.glob("measurements/*.json")}
    page = docs / "explanation" / "nexmark-measured.md"
    found = page.read_text(encoding="utf-8") if page.exists() else ""
    assert found == page_of_measurements(kept), "the page is out of date: run scripts/write_measurements.py"
    assert all((docs / "pictures" / f"{name}.svg").exists() for name in pictures_of_measurements(kept))

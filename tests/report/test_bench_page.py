"""The page of a bench shows what its records hold."""

from __future__ import annotations

from xml.etree import ElementTree

from whimbrel.report import bench_page, draw_bars, draw_latency, latency_rows, pictures


def record(query, system, rate):
    phase = {"p50": 1.0, "p99": 2.0, "max": 3.0}
    lengths = {"before": phase, "during": phase, "after": phase}
    return {"query": query, "system": system, "rows_per_second": rate, "epoch_ms": lengths, "correct": True}


def timeline(pacing, most):
    points = [{"at_ms": 250.0 * n, "p50": 500.0, "p99": 900.0, "max": most if n == 6 else 1000.0} for n in range(12)]
    latency = {"before": {"p50": 500, "p99": 900, "max": 1000}, "during": {"p50": 500, "p99": 900, "max": most}}
    return {
        "query": "q3",
        "system": "whimbrel",
        "pacing": pacing,
        "latency_ms": {**latency, "after": latency["before"]},
        "moved_at_ms": 1000.0,
        "settled_at_ms": 2000.0,
        "timeline": points,
        "correct": True,
    }


def test_every_picture_is_well_formed_and_names_every_system():
    answer = {"bench": "nexmark-all", "results": [record("q3", "whimbrel", 300), record("q3", "native", 100)]}
    for drawing in pictures(answer):
        ElementTree.fromstring(drawing)
    page = bench_page(answer, "2 cores.")
    assert "All 2 checked answers are right" in page
    assert page.count("<svg") == 2 and "native" in page


def test_a_wrong_answer_is_said_first():
    wrong = record("q3", "whimbrel", 300) | {"correct": False}
    assert "1 of 1 answers are wrong" in bench_page({"bench": "nexmark-q3", "results": [wrong]}, "")


def test_what_is_off_the_chart_is_cut_off_and_said_in_words():
    rows = latency_rows([timeline("batched", 1200.0), timeline("spark-offline-repartition", 42_000.0)])
    drawing = draw_latency("Latency", rows)
    tree = ElementTree.fromstring(drawing)
    assert "up to 42.0 s" in drawing and "1.2 × steady" in drawing
    boxes = [float(box.get("y")) for box in tree.iter("{http://www.w3.org/2000/svg}rect") if box.get("y")]
    assert min(boxes) >= 30


def test_bars_start_at_zero_and_end_with_their_value():
    drawing = draw_bars("Throughput", [("q3", {"whimbrel": 2000.0, "native": 1000.0})], "rows per second")
    tree = ElementTree.fromstring(drawing)
    bars = [
        box
        for box in tree.iter("{http://www.w3.org/2000/svg}rect")
        if box.find("{http://www.w3.org/2000/svg}title") is not None
    ]
    widths = [float(bar.get("width")) for bar in bars if float(bar.get("width")) != 14]
    assert widths[0] == 2 * widths[1] and ">2,000<" in drawing

"""The picture of a live migration beside a stop and restart."""

from xml.etree import ElementTree

import pytest

from whimbrel.model.errors import BadInput
from whimbrel.report import draw_comparison, read_lanes


def lane(name: str, starts_seconds: list[float]) -> dict[str, object]:
    """A lane of half-second epochs."""
    epochs = [{"number": n, "start_seconds": start, "duration_ms": 500.0} for n, start in enumerate(starts_seconds)]
    return {"name": name, "epochs": epochs, "change_start_seconds": 1.0, "change_end_seconds": 1.4}


RESULTS = {"title": "Two ways", "lanes": [lane("live", [0, 0.5, 1, 1.5]), lane("restart", [0, 0.5, 1, 12.0])]}


def test_each_lane_states_its_longest_silence() -> None:
    drawing = ElementTree.fromstring(draw_comparison(*read_lanes(RESULTS)))
    words = [text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text") if text.get("class") == "silence"]
    assert words == ["longest silence 0.5 s", "longest silence 11.0 s"]


def test_epochs_during_the_change_stand_out() -> None:
    drawing = ElementTree.fromstring(draw_comparison(*read_lanes(RESULTS)))
    kinds = [shape.get("class") for shape in drawing.iter("{http://www.w3.org/2000/svg}rect")]
    assert kinds.count("during") == 2
    assert kinds.count("before") == 6


def test_the_lanes_share_one_time_axis() -> None:
    _, lanes = read_lanes(RESULTS)
    drawing = ElementTree.fromstring(draw_comparison("", lanes))
    bars = [s for s in drawing.iter("{http://www.w3.org/2000/svg}rect") if s.get("class") in ("before", "during")]
    lefts = [float(bar.get("x", 0)) for bar in bars]
    assert lefts[:3] == lefts[4:7]


def test_results_that_do_not_fit_are_refused_by_name() -> None:
    with pytest.raises(BadInput, match=r"lane 0 .*'epochs'"):
        read_lanes({"lanes": [{"name": "x"}]})
    with pytest.raises(BadInput, match="no lanes"):
        read_lanes({})

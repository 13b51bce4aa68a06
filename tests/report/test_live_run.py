"""The report of a live run: phases, tables, and a page that stands alone."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from whimbrel.report import EpochTime, LiveRun, Ownership, Rescale, page_of, write_page
from whimbrel.report.page import phase_rows
from whimbrel.report.timeline import draw_owners, draw_timeline


def run_of(durations_ms: list[float], rescales: tuple[Rescale, ...] = (), audit_ok: bool = True) -> LiveRun:
    """A run whose epochs follow each other without a pause."""
    starts = [sum(durations_ms[:index]) / 1000 for index in range(len(durations_ms))]
    epochs = tuple(EpochTime(n, s, d, rows=10) for n, (s, d) in enumerate(zip(starts, durations_ms)))
    owners = (Ownership("start", (0, 0, 1, 1)), Ownership("end <&>", (0, 1, 1, 2)))
    return LiveRun("clicks & <pages>", epochs, rescales, owners, {"rows": 60, "ok": audit_ok})


RESCALE = Rescale(2, 3, first_epoch=2, last_epoch=3, bins_moved=2, bytes_moved=2048, bytes_at_least=1024)


def test_every_epoch_lies_in_one_phase() -> None:
    run = run_of([500] * 6, (RESCALE,))
    assert [run.phase_of(n) for n in range(6)] == ["before", "before", "during", "during", "after", "after"]


def test_the_time_between_two_rescales_counts_as_after_the_first() -> None:
    later = Rescale(3, 2, 5, 5, 1, 1, 1)
    assert run_of([500] * 6, (RESCALE, later)).phase_of(4) == "after"


def test_the_table_shows_measured_values_per_phase() -> None:
    run = run_of([100, 300, 900, 800, 200, 400], (RESCALE,))
    assert run.epoch_ms()["during"] == {"p50": 800, "p99": 900, "max": 900}
    assert phase_rows(run)[0] == ["before", "2", "100 ms", "300 ms", "300 ms"]


def test_a_run_without_moves_has_only_a_before() -> None:
    assert list(run_of([100, 200]).epoch_ms()) == ["before"]


def test_silence_is_the_longest_time_between_two_commits() -> None:
    epochs = (EpochTime(0, 0.0, 500), EpochTime(1, 0.5, 500), EpochTime(2, 10.0, 500))
    assert LiveRun("x", epochs, (), (), {}).silence_ms == pytest.approx(9500)


def test_the_page_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    text = write_page(run_of([500] * 6, (RESCALE,)), tmp_path / "new" / "page.html").read_text()
    assert not re.search(r"(src|href)=|@import|url\(", text)
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}


def test_foreign_words_cannot_become_markup() -> None:
    text = page_of(run_of([500], audit_ok=True))
    assert "<pages>" not in text
    assert "&lt;pages&gt;" in text


def test_a_failed_audit_is_said_first() -> None:
    assert "The audit found a fault" in page_of(run_of([500] * 4, (RESCALE,), audit_ok=False))
    assert "exactly once" in page_of(run_of([500] * 4, (RESCALE,)))


def test_the_timeline_has_one_bar_per_epoch_in_its_phase_s_colour() -> None:
    drawing = ElementTree.fromstring(draw_timeline(run_of([500, 700, 900, 800, 200, 400], (RESCALE,))))
    kinds = [shape.get("class") for shape in drawing.iter("{http://www.w3.org/2000/svg}rect")]
    assert [kinds.count(kind) for kind in ("before", "during", "after", "band")] == [2, 2, 2, 1]


def test_bars_stand_on_the_axis_and_are_as_high_as_they_were_long() -> None:
    drawing = ElementTree.fromstring(draw_timeline(run_of([250, 1000])))
    bars = [s for s in drawing.iter("{http://www.w3.org/2000/svg}rect") if s.get("class") == "before"]
    heights = [float(bar.get("height", 0)) for bar in bars]
    assert heights[1] == pytest.approx(4 * heights[0], rel=0.01)
    assert [float(bar.get("y", 0)) + float(bar.get("height", 0)) for bar in bars] == pytest.approx([260, 260], abs=0.2)


def test_an_empty_run_still_draws() -> None:
    assert "<svg" in page_of(LiveRun("nothing", (), (), (), {"ok": True}))


def test_the_owners_are_drawn_run_by_run() -> None:
    drawing = ElementTree.fromstring(draw_owners((Ownership("now", (0, 0, 1, 0)),)))
    notes = [note.text for note in drawing.iter("{http://www.w3.org/2000/svg}title")]
    assert notes == ["bins 0 to 1: slot 0", "bins 2 to 2: slot 1", "bins 3 to 3: slot 0"]

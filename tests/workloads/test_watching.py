"""Following a query: every epoch once, in order, and a failure as one line."""

import pytest

from whimbrel.model.errors import OperatorFailed
from whimbrel.workloads.watching import EpochSeen, follow


def report(number: int, duration_ms: int = 400) -> dict[str, object]:
    """One entry of ``recentProgress``."""
    times = {"triggerExecution": duration_ms} if duration_ms else {}
    return {"batchId": number, "timestamp": "2024-05-01T10:00:01.500Z", "durationMs": times, "numInputRows": 7}


class ScriptedQuery:
    """Reports what a script says, one page of reports per look, then stops."""

    def __init__(self, looks: list[list[dict[str, object]]], failure: Exception | None = None) -> None:
        self._looks = list(looks)
        self._failure = failure

    @property
    def isActive(self) -> bool:
        return len(self._looks) > 1

    @property
    def recentProgress(self) -> list[dict[str, object]]:
        return self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]

    def exception(self) -> Exception | None:
        return self._failure


def test_every_epoch_comes_once_and_in_order() -> None:
    looks = [[report(0)], [report(0), report(1)], [report(0), report(1), report(2)]]
    seen = list(follow(ScriptedQuery(looks), pause=lambda seconds: None))
    assert [epoch.number for epoch in seen] == [0, 1, 2]
    assert seen[0].duration_ms == 400
    assert seen[0].began_seconds == 1714557601.5


def test_a_report_of_waiting_is_no_epoch() -> None:
    looks = [[report(0), report(1, duration_ms=0)], [report(0), report(1)]]
    assert [e.number for e in follow(ScriptedQuery(looks), pause=lambda seconds: None)] == [0, 1]


def test_a_failure_is_told_in_one_line_after_the_epochs_before_it() -> None:
    query = ScriptedQuery([[report(0)], [report(0), report(1)]], RuntimeError("[BAD] boom\nat java"))
    seen: list[EpochSeen] = []
    with pytest.raises(OperatorFailed, match=r"^the query stopped after epoch 1: \[BAD\] boom$"):
        for epoch in follow(query, pause=lambda seconds: None):
            seen.append(epoch)
    assert len(seen) == 2

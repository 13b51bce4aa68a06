"""What a user may choose about a query: its windows, the reserve rule and how long it waits for late events."""

from __future__ import annotations

from dataclasses import dataclass

from whimbrel.model.errors import BadInput

LONGEST_WINDOW_MS = 10_000 * 86_400_000
LONGEST_DELAY_MS = 131 * 366 * 86_400_000
"""Events happen within 130 years, so none is later; the end of the input comes 160 years after the last of them."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Window and slide in milliseconds, Beam's defaults; ``delay_ms`` is how far events may lag behind the latest.

    >>> Settings(window_ms=60_000, slide_ms=1_000).windows_at_once
    60
    """

    window_ms: int = 10_000
    slide_ms: int = 5_000
    ignore_reserve: bool = False
    delay_ms: int = 0

    def __post_init__(self) -> None:
        if self.window_ms < 1 or self.slide_ms < 1:
            raise BadInput(f"window {self.window_ms} ms by {self.slide_ms} ms: both must be above zero")
        if self.slide_ms > self.window_ms:
            raise BadInput(
                f"the slide of {self.slide_ms} ms exceeds the window of {self.window_ms} ms: events would be lost"
            )
        if self.window_ms > LONGEST_WINDOW_MS:
            raise BadInput(f"a window of {self.window_ms} ms: the longest is 10,000 days")
        if not 0 <= self.delay_ms <= LONGEST_DELAY_MS:
            raise BadInput(f"the delay is {self.delay_ms} ms: it must be zero or more, and 130 years at most")

    @property
    def windows_at_once(self) -> int:
        """How many sliding windows an instant lies in, at most."""
        return -(-self.window_ms // self.slide_ms)

    @property
    def delay(self) -> str:
        """The delay as ``withWatermark`` takes it."""
        return f"{self.delay_ms} milliseconds"

    @property
    def window(self) -> str:
        """The window as Spark takes it."""
        return f"{self.window_ms} milliseconds"

    @property
    def slide(self) -> str:
        """The slide as Spark takes it."""
        return f"{self.slide_ms} milliseconds"


_DAY_MS = 86_400_000
_TUMBLING = Settings(slide_ms=10_000)
_DAILY = Settings(window_ms=_DAY_MS, slide_ms=_DAY_MS)
DEFAULTS = {
    **dict.fromkeys(("q7", "q8", "q11"), _TUMBLING),
    **dict.fromkeys(("q15", "q17", "q18", "q19"), _DAILY),
}
"""The settings of the queries whose windows are not 10 seconds by 5."""


def settings_of(
    query: str, window_ms: int | None = None, slide_ms: int | None = None, ignore_reserve: bool = False
) -> Settings:
    """The query's settings, with what is given in the place of its defaults; a window alone slides by half of itself.

    >>> settings_of("q5", window_ms=4_000).slide_ms, settings_of("q15").window
    (2000, '86400000 milliseconds')
    """
    usual = DEFAULTS.get(query, Settings())
    window = usual.window_ms if window_ms is None else window_ms
    halves = usual.slide_ms if window_ms is None else max(1, window // 2)
    return Settings(window, halves if slide_ms is None else slide_ms, ignore_reserve)

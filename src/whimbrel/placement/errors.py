"""The one way in which a well-formed instance can still have no answer."""

from __future__ import annotations

from whimbrel.model.errors import WhimbrelError


class CannotPlace(WhimbrelError):
    """The servers have no room for the queries under the limit: a correct "it cannot be done".

    ``smallest_nu`` is the least relative slack under which there is room, where that is known.
    """

    def __init__(self, message: str, smallest_nu: float | None = None) -> None:
        super().__init__(message)
        self.smallest_nu = smallest_nu

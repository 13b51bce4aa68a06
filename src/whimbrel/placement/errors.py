"""The two ways in which a well-formed instance can end without a placement: there is none, or none was found."""

from __future__ import annotations

from whimbrel.model.errors import WhimbrelError


class CannotPlace(WhimbrelError):
    """The servers have no room for the queries under the limit: a correct "it cannot be done".

    ``smallest_nu`` is the least relative slack under which there is room, where that is known.
    """

    proved = True

    def __init__(self, message: str, smallest_nu: float | None = None) -> None:
        super().__init__(message)
        self.smallest_nu = smallest_nu


class NonePacked(CannotPlace):
    """Unequal work was left over, although there is room for it in all: not proved that no other packing fits."""

    proved = False

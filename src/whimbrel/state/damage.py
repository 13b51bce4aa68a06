"""What a damaged local copy raises. It never reaches a user: the truth is elsewhere, and the copy is built again."""

from whimbrel.model import WhimbrelError


class CopyDamaged(WhimbrelError):
    """Bytes of a local copy do not match their check. Nothing was committed: open the ledger again and repeat."""

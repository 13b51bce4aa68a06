"""One tree of errors. Each says what was wrong, where, and what to do next.

The message is the whole lesson: the command line prints it as one line and nothing else.
"""


class WhimbrelError(Exception):
    """The root of every error that Whimbrel raises on purpose."""


class BadInput(WhimbrelError):
    """The caller's input cannot be used; nothing was changed. Exit code 2 at the command line.

    >>> raise BadInput("tau is -0.1: it must be zero or more")
    Traceback (most recent call last):
    ...
    whimbrel.model.errors.BadInput: tau is -0.1: it must be zero or more
    """


class Damaged(WhimbrelError):
    """A persisted object does not match its own checksum, length or magic, and was refused."""


class JobInUse(WhimbrelError):
    """Another live driver holds the lease of this job directory."""


class StaleDriver(WhimbrelError):
    """This driver lost its lease to a newer generation and must not touch the job again."""


class Stalled(WhimbrelError):
    """A migration was waited for that cannot go on by itself: the job is paused, or no query runs it."""


class JobMismatch(BadInput):
    """The job directory was made with other fixed settings (bins, max_slots, operator names)."""


class OperatorFailed(WhimbrelError):
    """A user's function raised or returned the wrong thing; the state is as it was before the epoch."""


class ReplayDiffers(WhimbrelError):
    """A replayed epoch produced other bytes than the first run: an operator is not deterministic."""

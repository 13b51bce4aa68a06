"""The named points of the handover at which a test may kill a process.

Each name says what has just become true. The list is closed: a test walks through all of them.
"""

SEAL_DECIDED = "seal-decided"
"""A task knows its decision for the epoch; no seal is written yet."""

SEAL_WRITTEN = "seal-written"
"""The seal of the epoch exists."""

ROWS_ROUTED = "rows-routed"
"""A router task has packed and sent all its rows."""

ARRIVALS_INSTALLED = "arrivals-installed"
"""The new slot has installed the arriving bins; nothing is committed."""

ROWS_APPLIED = "rows-applied"
"""A slot's operator has processed the rows of the epoch."""

EXPORT_WRITTEN = "export-written"
"""The old slot has written the leaving bins to the transfers; its epoch is not committed."""

SLOT_COMMITTED = "slot-committed"
"""A slot has handed its journal, pages and head to the state store; Spark has not committed the epoch."""

RELEASED = "released"
"""The old slot has forgotten bins that moved away; its epoch is not committed."""

ALL = (
    SEAL_DECIDED,
    SEAL_WRITTEN,
    ROWS_ROUTED,
    ARRIVALS_INSTALLED,
    ROWS_APPLIED,
    EXPORT_WRITTEN,
    SLOT_COMMITTED,
    RELEASED,
)

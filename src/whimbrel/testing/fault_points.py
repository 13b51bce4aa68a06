"""How a test has a driver killed at a named point of the handover."""

from __future__ import annotations

from pathlib import Path

from whimbrel.model import faults


def fault_environment(point: str, epoch: int, mark: Path) -> dict[str, str]:
    """The environment that kills a driver, with its JVM and workers, when ``point`` is reached in ``epoch``.

    Set it before the driver's process starts; the driver sets ``WHIMBREL_FAULT_TOP`` to its own process id. A fault fires
    once and leaves the file ``mark``: a test that does not find it has tested nothing.

    >>> fault_environment("seal-written", 3, Path("mark"))["WHIMBREL_FAULT"]
    'seal-written@3'
    """
    if point not in faults.ALL:
        raise ValueError(f"there is no fault point {point!r}: choose one of {', '.join(faults.ALL)}")
    return {"WHIMBREL_FAULT": f"{point}@{epoch}", "WHIMBREL_FAULT_MARK": str(mark)}

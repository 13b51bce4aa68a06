"""Exported state on its way from one slot to another: written once, named by its digest, verified when read.

One object per (operator, step, source, target). A retried or zombie task writes the same bytes under the same
name; two names for one transfer mean that an operator is not deterministic, and nobody installs either.
"""

from __future__ import annotations

from whimbrel.control.stores import Store
from whimbrel.model.errors import Damaged, ReplayDiffers
from whimbrel.state.frames import digest


def _folder(operator: str, step: int) -> str:
    return f"transfers/{operator}/{step:010d}"


def put_transfer(store: Store, operator: str, step: int, source: int, target: int, data: bytes) -> str:
    """Write an export and return its name."""
    name = f"{_folder(operator, step)}/{source:04d}-{target:04d}-{digest(data)}"
    store.put_if_absent(name, data)
    return name


def get_transfer(store: Store, operator: str, step: int, source: int, target: int) -> tuple[str, bytes]:
    """The export of one step between two slots, with its name; refused unless it is whole and the only one."""
    folder = _folder(operator, step)
    prefix = f"{source:04d}-{target:04d}-"
    found = [name for name in store.names(folder) if name.startswith(prefix)]
    where = f"{folder}/{prefix}*"
    if not found:
        raise Damaged(
            f"{where}: the state of step {step} is missing; restore the transfers folder, then restart the query"
        )
    if len(found) > 1:
        raise ReplayDiffers(
            f"{where}: two runs of one epoch exported different bytes for operator {operator!r}; its function is not "
            "deterministic, or it was mended between the two runs: let it be a function of its rows and state only, keep the "
            f"file that was written last of {' and '.join(found)} (the run that was committed wrote it), remove the other, "
            "and restart the query"
        )
    name = f"{folder}/{found[0]}"
    data = store.get(name) or b""
    if digest(data) != found[0].removeprefix(prefix):
        raise Damaged(
            f"{name}: the bytes do not match the digest in the name; restore the file, then restart the query"
        )
    return name, data


def drop_step(store: Store, operator: str, step: int) -> None:
    """Remove the transfers of a step whose installs are committed, and what interrupted exports left beside them."""
    store.remove_folder(_folder(operator, step))

"""Damage done to files on purpose: what a bad disk, a cut transfer or a stray program does."""

from __future__ import annotations

from pathlib import Path

import numpy as np

DAMAGES = ("flip", "cut", "empty", "longer", "foreign")
"""One bit changed; the end missing; nothing left; bytes appended; the bytes of another program."""


def spoil(file: Path, damage: str, rng: np.random.Generator) -> None:
    """Damage a file in place in one of the ways of ``DAMAGES``. An empty file can only get longer or foreign."""
    data = bytearray(file.read_bytes())
    if damage == "flip":
        data[int(rng.integers(0, len(data)))] ^= 1 << int(rng.integers(0, 8))
    elif damage == "cut":
        del data[int(rng.integers(0, len(data))) :]
    elif damage == "empty":
        data.clear()
    elif damage == "longer":
        data += rng.bytes(int(rng.integers(1, 64)))
    elif damage == "foreign":
        data[:] = b"PAR1" + rng.bytes(int(rng.integers(0, 256)))
    else:
        raise ValueError(f"there is no damage {damage!r}: choose one of {', '.join(DAMAGES)}")
    file.write_bytes(bytes(data))

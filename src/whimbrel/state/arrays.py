"""Facts and arrays as one byte string: a length, the facts as JSON (keys sorted), then the arrays, little-endian."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

_LENGTH = struct.Struct("<Q")


def pack_arrays(facts: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> bytes:
    """The facts and the arrays as bytes: equal inputs give equal bytes.

    >>> facts, arrays = unpack_arrays(pack_arrays({"epoch": 7}, {"bins": np.arange(3)}))
    >>> facts, arrays["bins"].tolist()
    ({'epoch': 7}, [0, 1, 2])
    """
    shapes = {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}
    text = json.dumps({"facts": facts, "arrays": shapes}, sort_keys=True, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + _LENGTH.size) % 8)
    parts = [_LENGTH.pack(len(text)), text]
    for name in sorted(arrays):
        data = np.ascontiguousarray(arrays[name]).tobytes()
        parts.append(data + bytes(-len(data) % 8))
    return b"".join(parts)


def unpack_arrays(data: bytes) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """The facts and the arrays, as copies that may be changed. The bytes must come from a frame that was whole."""
    (length,) = _LENGTH.unpack_from(data)
    at = _LENGTH.size + length
    described = json.loads(data[_LENGTH.size : at])
    arrays = {}
    for name, (kind, shape) in sorted(described["arrays"].items()):
        count = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(data, np.dtype(kind), count, at).reshape(shape).copy()
        at += -(-arrays[name].nbytes // 8) * 8
    return described["facts"], arrays

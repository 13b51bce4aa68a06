"""Frames: how every persisted object of the product says what it is and that it is whole.

A frame is ``magic (4) | version (2) | kind length (2) | payload length (8) | CRC-32 of all the rest (4) | kind |
payload``, little-endian. The checksum covers version, kind and both lengths too, so any single flipped bit is found,
and damage of any other shape passes with probability 2^-32. Where content must be identified rather than checked,
``digest`` names it by 128 bits of BLAKE2b.
"""

from __future__ import annotations

import hashlib
import struct
import zlib

from whimbrel.model import Damaged

FORMAT_VERSION = 1
_MAGIC = b"WHIM"
_HEAD = struct.Struct("<4sHHQ")
_CHECK = struct.Struct("<I")
_START = _HEAD.size + _CHECK.size


def digest(data: bytes) -> str:
    """The name of this content: 128 bits of BLAKE2b as 32 hexadecimal digits.

    >>> digest(b"whimbrel") == digest(b"whimbrel")
    True
    """
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def seal_frame(kind: str, payload: bytes) -> bytes:
    """The payload as a frame of this kind; ``open_frame`` with the same kind gives it back.

    >>> open_frame("plan", seal_frame("plan", b"moves"), "plans/7")
    b'moves'
    """
    name = kind.encode()
    head = _HEAD.pack(_MAGIC, FORMAT_VERSION, len(name), len(payload))
    return b"".join((head, _CHECK.pack(_checksum(head, name, payload)), name, payload))


def open_frame(kind: str, data: bytes, where: str) -> bytes:
    """The payload of a frame. Raises Damaged where the bytes are not a whole frame of this kind.

    ``where`` names the object for whoever reads the error: a path, or a slot and a key.
    """
    if len(data) < _START:
        raise _damaged(where, f"it ends after {len(data)} bytes, within its own head")
    magic, version, name_length, length = _HEAD.unpack_from(data)
    if magic != _MAGIC:
        raise _damaged(where, f"it starts with {magic!r}, not with {_MAGIC!r}, so Whimbrel did not write it")
    if len(data) != _START + name_length + length:
        raise _damaged(where, f"it has {len(data)} bytes and says that it has {_START + name_length + length}")
    name = bytes(data[_START : _START + name_length])
    payload = bytes(data[_START + name_length :])
    if _CHECK.unpack_from(data, _HEAD.size)[0] != _checksum(bytes(data[: _HEAD.size]), name, payload):
        raise _damaged(where, "its bytes do not match its checksum")
    if version != FORMAT_VERSION:
        raise Damaged(
            f"{where} has format {version} and this release reads format {FORMAT_VERSION}: "
            "read it with the release that wrote it"
        )
    if name != kind.encode():
        raise _damaged(where, f"it holds a frame of kind {name.decode(errors='replace')!r} where {kind!r} belongs")
    return payload


def _checksum(head: bytes, name: bytes, payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(name, zlib.crc32(head)))


def _damaged(where: str, reason: str) -> Damaged:
    return Damaged(f"{where} is damaged: {reason}; restore it from a copy, or restart from an earlier checkpoint")

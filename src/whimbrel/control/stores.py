"""Where control objects rest: put-if-absent, read, list. Nothing else is ever needed.

The one promise everything stands on: of any number of concurrent ``put_if_absent`` calls for a path, exactly one
returns True, and every later ``get`` returns that one's bytes whole. On a local disk a rename would replace
silently, so the object is written aside, synced and *linked* into place: a link refuses an existing name.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import uuid
from pathlib import Path
from typing import Protocol

from pyarrow import fs

from whimbrel.model.errors import BadInput


class Store(Protocol):
    """A flat name space of immutable objects; names use ``/``."""

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Write the object unless the name is taken; tells whether this call wrote it."""

    def get(self, name: str) -> bytes | None:
        """The whole object, or None where there is none."""

    def names(self, folder: str) -> list[str]:
        """The names (without the folder) of the objects directly in ``folder``, sorted; [] where it is missing."""

    def remove(self, name: str) -> None:
        """Remove an object that no reader can still need; a missing one is fine."""

    def remove_folder(self, folder: str) -> None:
        """Remove a folder with all that lies directly in it, what interrupted writes have left included."""

    def replace(self, name: str, data: bytes) -> None:
        """Overwrite an object that carries no promise (a heartbeat, statistics); its reader bears that it is damaged."""


class LocalStore:
    """A folder on a local (or locally mounted) file system."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """See Store. Durable when it returns: the bytes and the folder entry are synced."""
        target = self.root / name
        aside = self._write_aside(target, data, synced=True)
        try:
            os.link(aside, target)
        except FileExistsError:
            return False
        finally:
            aside.unlink(missing_ok=True)
        _sync_folder(target.parent)
        return True

    def get(self, name: str) -> bytes | None:
        """See Store."""
        try:
            return (self.root / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def names(self, folder: str) -> list[str]:
        """See Store."""
        try:
            return sorted(e.name for e in (self.root / folder).iterdir() if not e.name.startswith("."))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def remove(self, name: str) -> None:
        """See Store."""
        (self.root / name).unlink(missing_ok=True)

    def remove_folder(self, folder: str) -> None:
        """See Store."""
        shutil.rmtree(self.root / folder, ignore_errors=True)

    def replace(self, name: str, data: bytes) -> None:
        """See Store. Not synced, for it carries no promise: after a loss of power the object may be old or not whole."""
        target = self.root / name
        self._write_aside(target, data, synced=False).replace(target)

    def _write_aside(self, target: Path, data: bytes, synced: bool) -> Path:
        target.parent.mkdir(parents=True, exist_ok=True)
        aside = target.parent / f".{target.name}.{uuid.uuid4().hex}"
        with aside.open("wb") as file:
            file.write(data)
            if synced:
                file.flush()
                os.fsync(file.fileno())
        return aside


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class MemoryStore:
    """An object store with conditional put, inside one process: for tests and the simulator."""

    def __init__(self) -> None:
        self._objects: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """See Store."""
        with self._lock:
            if name in self._objects:
                return False
            self._objects[name] = data
            return True

    def get(self, name: str) -> bytes | None:
        """See Store."""
        return self._objects.get(name)

    def names(self, folder: str) -> list[str]:
        """See Store."""
        prefix = folder.rstrip("/") + "/"
        with self._lock:
            rests = [name[len(prefix) :] for name in self._objects if name.startswith(prefix)]
        return sorted(rest for rest in rests if "/" not in rest)

    def remove(self, name: str) -> None:
        """See Store."""
        with self._lock:
            self._objects.pop(name, None)

    def remove_folder(self, folder: str) -> None:
        """See Store."""
        for name in self.names(folder):
            self.remove(f"{folder}/{name}")

    def replace(self, name: str, data: bytes) -> None:
        """See Store."""
        with self._lock:
            self._objects[name] = data


class ArrowStore:
    """A folder of any ``pyarrow.fs`` file system whose move refuses an existing target (HDFS does).

    Object stores without such a move need their own conditional put and are refused by ``open_store``.
    """

    def __init__(self, file_system: fs.FileSystem, root: str) -> None:
        self.file_system = file_system
        self.root = root.rstrip("/")

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """See Store."""
        target = f"{self.root}/{name}"
        if self.file_system.get_file_info(target).type != fs.FileType.NotFound:
            return False
        aside = self._write_aside(target, data)
        try:
            self.file_system.move(aside, target)
        except OSError:
            with contextlib.suppress(OSError):
                self.file_system.delete_file(aside)
            if self.file_system.get_file_info(target).type == fs.FileType.NotFound:
                raise
            return False
        return True

    def get(self, name: str) -> bytes | None:
        """See Store."""
        try:
            with self.file_system.open_input_stream(f"{self.root}/{name}") as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            return None

    def names(self, folder: str) -> list[str]:
        """See Store."""
        selector = fs.FileSelector(f"{self.root}/{folder}", allow_not_found=True)
        return sorted(i.base_name for i in self.file_system.get_file_info(selector) if not i.base_name.startswith("."))

    def remove(self, name: str) -> None:
        """See Store."""
        with contextlib.suppress(FileNotFoundError):
            self.file_system.delete_file(f"{self.root}/{name}")

    def remove_folder(self, folder: str) -> None:
        """See Store."""
        with contextlib.suppress(FileNotFoundError):
            self.file_system.delete_dir(f"{self.root}/{folder}")

    def replace(self, name: str, data: bytes) -> None:
        """See Store."""
        target = f"{self.root}/{name}"
        aside = self._write_aside(target, data)
        with contextlib.suppress(FileNotFoundError):
            self.file_system.delete_file(target)
        self.file_system.move(aside, target)

    def _write_aside(self, target: str, data: bytes) -> str:
        folder, _, base = target.rpartition("/")
        self.file_system.create_dir(folder, recursive=True)
        aside = f"{folder}/.{base}.{uuid.uuid4().hex}"
        with self.file_system.open_output_stream(aside) as stream:
            stream.write(data)
        return aside


_MEMORY: dict[str, MemoryStore] = {}


def open_store(directory: str) -> Store:
    """The store behind a job directory: a local path, ``memory://NAME`` or an ``hdfs://`` address."""
    if directory.startswith("memory://"):
        return _MEMORY.setdefault(directory, MemoryStore())
    if "://" not in directory or directory.startswith("file://"):
        return LocalStore(Path(directory.removeprefix("file://")))
    file_system, root = fs.FileSystem.from_uri(directory)
    if file_system.type_name in {"s3", "gcs", "abfs"}:
        raise BadInput(f"{directory}: this object store has no put-if-absent here; use a local or an hdfs:// directory")
    return ArrowStore(file_system, root)

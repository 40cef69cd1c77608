"""Files that appear whole or not at all."""

import contextlib
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeAlias

import numpy as np

from ..errors import InputError

Buffer: TypeAlias = bytes | bytearray | memoryview | np.ndarray[Any, np.dtype[Any]]

PRIVATE = 0o600  # for files that hold secrets; less the umask, like every mode
_PUBLIC = 0o666
_TOKEN_BYTES = 8
_PARTIAL = re.compile(rf"\..+\.[0-9a-f]{{{2 * _TOKEN_BYTES}}}\.partial")
_STALE_S = 60.0  # a writer locks its file at once: one of this age without a lock has no writer
_swept: set[Path] = set()
_flock: Callable[[int, int], None] | None = None
with contextlib.suppress(ImportError):  # Windows has none: what a crash left there stays
    from fcntl import LOCK_EX, LOCK_NB, LOCK_SH
    from fcntl import flock as _flock


def write_atomic(path: Path, data: Buffer | Iterable[Buffer], mode: int = _PUBLIC) -> None:
    """After the call `path` holds exactly `data`; after an interruption or a crash, what it held before.

    Where `path` is a link, it stays one, and the file is the one it leads to.
    Raises InputError: no such folder; `path` is there and no regular file (a device, a pipe, a folder), which would be replaced.
    In: one buffer, or buffers in order; arrays must be C-contiguous. They go to a new file in the same folder, which is
    flushed to the disk and then takes the name. An iterable that raises leaves nothing behind. What a killed process left in the folder
    is removed.
    """
    if not path.parent.is_dir():
        raise InputError(str(path.parent), "is no folder; make it first")
    if path.exists() and not path.is_file():
        raise InputError(str(path), "is not a regular file; name another one to write")
    if path.is_symlink():
        target = Path(os.path.realpath(path))
        if target.is_symlink():
            raise InputError(str(path), "is a link that leads to itself")
        return write_atomic(target, data, mode)
    buffers = (data,) if isinstance(data, bytes | bytearray | memoryview | np.ndarray) else data
    _remove_stale(path.parent)
    partial = path.with_name(f".{path.name}.{token_hex(_TOKEN_BYTES)}.partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    try:
        with open(descriptor, "wb") as file:
            _lock(descriptor)
            file.writelines(buffer.data if isinstance(buffer, np.ndarray) else buffer for buffer in buffers)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:  # Ctrl-C too: nothing half written stays
        partial.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


@contextmanager
def locked(folder: Path, shared: bool = False) -> Iterator[None]:
    """Inside, nobody else is `locked` on this folder; with shared, nobody but others with shared.  Where there are no locks, no promise."""
    if _flock is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            _flock(descriptor, LOCK_SH if shared else LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove_stale(folder: Path) -> None:
    """Removes the files of writers that were killed; a folder is looked through once a process.

    A writer holds a lock on its file, which ends with it, however it ends.  Left alone are files that are locked, young, of another
    user, or on a file system without locks.
    """
    folder = folder.resolve()
    if _flock is None or folder in _swept:
        return
    _swept.add(folder)
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _PARTIAL.fullmatch(entry.name):
                with contextlib.suppress(OSError):  # it is locked, gone, or not ours to open
                    _remove_if_stale(Path(entry.path))


def _remove_if_stale(partial: Path) -> None:
    """Raises OSError: a live writer has the lock."""
    assert _flock is not None
    descriptor = os.open(partial, os.O_RDWR | os.O_NOFOLLOW)
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid() or time.time() - info.st_mtime < _STALE_S:
            return
        _flock(descriptor, LOCK_EX | LOCK_NB)
        partial.unlink()
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Marks the file as being written, until it is closed."""
    if _flock is not None:
        with contextlib.suppress(OSError):  # a file system without locks
            _flock(descriptor, LOCK_EX | LOCK_NB)


def sync_folder(folder: Path) -> None:
    """Makes the new name itself durable, where folders can be opened at all (not on Windows)."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

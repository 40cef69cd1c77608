"""Files that appear whole or not at all."""

import os
from collections.abc import Iterable
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeAlias

import numpy as np

from ..errors import InputError

Buffer: TypeAlias = bytes | bytearray | memoryview | np.ndarray[Any, np.dtype[Any]]

PRIVATE = 0o600  # for files that hold secrets; less the umask, like every mode
_PUBLIC = 0o666


def write_atomic(path: Path, data: Buffer | Iterable[Buffer], mode: int = _PUBLIC) -> None:
    """After the call `path` holds exactly `data`; after an interruption or a crash, what it held before.

    Raises InputError: no such folder; `path` is there and no regular file (a device, a pipe, a folder), which would be replaced.
    In: one buffer, or buffers in order; arrays must be C-contiguous. They go to a new file in the same folder, which is
    flushed to the disk and then takes the name. An iterable that raises leaves nothing behind.
    """
    if not path.parent.is_dir():
        raise InputError(str(path.parent), "is no folder; make it first")
    if path.exists() and not path.is_file():
        raise InputError(str(path), "is not a regular file; name another one to write")
    buffers = (data,) if isinstance(data, bytes | bytearray | memoryview | np.ndarray) else data
    partial = path.with_name(f".{path.name}.{token_hex(8)}.partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    try:
        with open(descriptor, "wb") as file:
            file.writelines(buffer.data if isinstance(buffer, np.ndarray) else buffer for buffer in buffers)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:  # Ctrl-C too: nothing half written stays
        partial.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Makes the new name itself durable, where folders can be opened at all (not on Windows)."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Memory in large pieces and large pages: a page fault for every 4 KiB would cost much of the time of a proof or of a tree.

A fresh large page costs as much as to hash what it holds, and many times that on a virtual machine that lends its free memory to others.
So what a tree gives back stays mapped for the next one; the system may have it whenever it is short of memory (MADV_FREE).
"""

import math
import mmap
from contextlib import suppress
from typing import ClassVar

import numpy as np

_LINE = 64
_HUGE = 2 << 20  # a large page; numpy asks the system for them in arrays of 4 MiB and more (NUMPY_MADVISE_HUGEPAGE)
_MOST_BYTES = 32 << 20  # of memory that waits in one piece
_FREE = getattr(mmap, "MADV_FREE", None)


def arrays(*shapes):
    """Uninitialised uint64 arrays, each on a cache line, of one allocation that is theirs alone and goes with the last of them."""
    return _cut(shapes, _new)


def recycled(*shapes):
    """As `arrays`, of memory that may have served before: for what is no secret.  Raises MemoryError."""
    return _cut(shapes, _waiting_or_new)


def _cut(shapes, allocate):
    sizes = [-(-math.prod(shape) * 8 // _LINE) * _LINE for shape in shapes]
    total = sum(sizes)
    memory = allocate(total, _HUGE if total >= _HUGE else _LINE)
    out, at = [], 0
    for shape, size in zip(shapes, sizes):
        out.append(memory[at : at + math.prod(shape) * 8].view(np.uint64).reshape(shape))
        at += size
    return out


def _new(size, align):
    """At least so many bytes from a multiple of `align` on."""
    memory = np.empty(max(size, 2 * align if align == _HUGE else 0) + align, np.uint8)
    return memory[-memory.ctypes.data % align :]


def _waiting_or_new(size, align):
    if _FREE is None or not _HUGE <= size <= _MOST_BYTES:
        return _new(size, align)
    return np.asarray(_Slab(_Mapping.waiting(size) or _Mapping(size)))


class _Mapping:
    """Memory of the system in whole large pages.

    Finalisers call `wait`: at any moment, amid a call of `waiting` too, and when the names of this module are gone; so there is no lock,
    and all that they need hangs on the class.
    """

    FREE = _FREE
    MOST = 16
    idle: ClassVar[list["_Mapping"]] = []  # of those that wait, the oldest first

    def __init__(self, size):
        self.size = size
        length = -(-size // _HUGE) * _HUGE
        try:
            self._memory = _mapped(length + _HUGE)
        except OSError:
            self.idle.clear()
            try:
                self._memory = _mapped(length + _HUGE)
            except OSError as e:
                raise MemoryError(f"no memory for {size} bytes") from e
        with suppress(AttributeError, OSError):  # a system without large pages
            self._memory.madvise(mmap.MADV_HUGEPAGE)
        start = np.frombuffer(self._memory, np.uint8).ctypes.data
        self._used = -start % _HUGE, length
        self.address = start + self._used[0]

    @classmethod
    def waiting(cls, size):
        """One of this size that waits, or None: then the oldest makes room for others."""
        for found in cls.idle:
            if found.size == size:
                with suppress(ValueError):  # another thread was quicker
                    cls.idle.remove(found)
                    return found
        with suppress(IndexError):
            del cls.idle[0]
        return None

    def wait(self):
        """Until there is use for it, or goes, where many wait or the system could not take the memory meanwhile."""
        if len(self.idle) < self.MOST:
            try:
                self._memory.madvise(self.FREE, *self._used)
            except OSError:
                return
            self.idle.append(self)


def _mapped(length):
    return mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


class _Slab:
    """What arrays in a mapping belong to."""

    def __init__(self, mapping):
        self._mapping = mapping
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (mapping.size,),
            "data": (mapping.address, False),
        }

    def __del__(self):
        self._mapping.wait()

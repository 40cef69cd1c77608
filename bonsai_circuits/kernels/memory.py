"""Memory of one proof in one piece: a page fault for every 4 KiB would cost much of the time of its polynomials."""

import math

import numpy as np

_LINE = 64
_HUGE = 2 << 20  # a large page; numpy asks the system for them in arrays of 4 MiB and more (NUMPY_MADVISE_HUGEPAGE)


def arrays(*shapes):
    """Uninitialised uint64 arrays, each on a cache line, of one allocation that is theirs alone and goes with the last of them."""
    sizes = [-(-math.prod(shape) * 8 // _LINE) * _LINE for shape in shapes]
    total = sum(sizes)
    align = _HUGE if total >= _HUGE else _LINE
    memory = np.empty(max(total, 2 * align if align == _HUGE else 0) + align, np.uint8)
    at = -memory.ctypes.data % align
    out = []
    for shape, size in zip(shapes, sizes):
        out.append(memory[at : at + math.prod(shape) * 8].view(np.uint64).reshape(shape))
        at += size
    return out

"""Calls what kernels call, an intrinsic or an inner function, on the first rows of arrays."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np

from bonsai_verifier.kernels.limbs import row

Array = np.ndarray[Any, Any]


@cache
def callable_from_python(op: Any, n_arguments: int) -> Callable[..., Any]:
    """op(address, ...) as a function of arrays."""

    def one(a):
        return op(row(a, 0))

    def two(a, b):
        return op(row(a, 0), row(b, 0))

    def three(a, b, c):
        return op(row(a, 0), row(b, 0), row(c, 0))

    return numba.njit((one, two, three)[n_arguments - 1])  # not @kernel: it would keep captured values on disk


def call(op: Any, *arrays: Array) -> Any:
    return callable_from_python(op, len(arrays))(*arrays)


def result(op: Any, *operands: Array) -> Array:
    """What op(d, a, ...) writes into fresh memory of the size of a."""
    d = np.full_like(operands[0], 2**64 - 1)
    call(op, d, *operands)
    return d


def results(op: Any, *operands: Array) -> Array:
    """`result` for the first rows, the second rows, and so on."""
    return np.concatenate([result(op, *(a[i : i + 1] for a in operands)) for i in range(len(operands[0]))])


def results_in_place(op: Any, *operands: Array) -> list[Array]:
    """What op(d, a, ...) writes with each operand in turn as its destination."""
    out = []
    for i in range(len(operands)):
        copies = [a.copy() for a in operands]
        call(op, copies[i], *copies)
        out.append(copies[i])
    return out

"""Calls what kernels call, an intrinsic or an inner function, on the first rows of arrays."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import overload

from bonsai_verifier.kernels.limbs import row

Array = np.ndarray[Any, Any]


def address(x):
    """In compiled code: the address of an array's first row; a number is itself."""
    raise NotImplementedError


@overload(address)
def _address(x):
    if isinstance(x, types.Array):
        return lambda x: row(x, 0)
    return lambda x: x


@cache
def callable_from_python(op: Any, n_arguments: int) -> Callable[..., Any]:
    """op(address, ...) as a function of arrays, and of numbers where op takes one."""

    def one(a):
        return op(address(a))

    def two(a, b):
        return op(address(a), address(b))

    def three(a, b, c):
        return op(address(a), address(b), address(c))

    def four(a, b, c, d):
        return op(address(a), address(b), address(c), address(d))

    def five(a, b, c, d, e):
        return op(address(a), address(b), address(c), address(d), address(e))

    def six(a, b, c, d, e, f):
        return op(address(a), address(b), address(c), address(d), address(e), address(f))

    functions = (one, two, three, four, five, six)
    return numba.njit(functions[n_arguments - 1])  # not @kernel: it would keep captured values on disk


def call(op: Any, *arguments: Array | int) -> Any:
    return callable_from_python(op, len(arguments))(*arguments)


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

"""The witness program: one pass over instructions on a file of Fr registers."""

import numpy as np

from bonsai_verifier.kernels.cache import inner, kernel
from bonsai_verifier.kernels.fr import (
    FR_BYTES,
    fr_add,
    fr_copy,
    fr_from_mont,
    fr_inv,
    fr_is_zero,
    fr_mul,
    fr_one,
    fr_reduce,
    fr_zero,
)
from bonsai_verifier.kernels.limbs import load_word, stack

from .combination import combine

# The numbers of dsl.trace.Op; tests hold the two lists against each other.
LINEAR, PRODUCT, BIT, FIFTH, INVERSE, DEFAULT, SELECT, QUOTIENT = 0, 1, 2, 3, 4, 5, 6, 7
_ONE_BIT = np.uint64(1)
_NO_BIT = np.uint64(0)


@inner
def _linear(d, k, start, register, coeff, registers, one):
    """d := combination k.  registers, coeff, one: addresses of 32-byte elements."""
    others, rest = stack(9), stack(4)
    if combine(d, others, start[k], start[k + 1], register, coeff, registers, one):
        fr_reduce(rest, others)
        fr_add(d, d, rest)


@kernel
def run_tape(registers, code, start, register, coeff, given):
    """Executes every instruction in order.

    In/Out: registers (n, 4) Montgomery, with 1 in register 0 and the inputs in theirs.  In: code (m, 5) int32, rows (op, target, x, y,
    immediate); combinations start (k + 1,) int64, register (nnz,) int32, coeff (nnz, 4) Montgomery; given (n,) bool, inputs that the
    caller supplied.
    """
    base, coeffs = np.int64(registers.ctypes.data), np.int64(coeff.ctypes.data)
    u, v, w, one = stack(4), stack(4), stack(4), stack(4)
    fr_one(one)
    for i in range(code.shape[0]):
        op, target, x, y, immediate = code[i, 0], code[i, 1], code[i, 2], code[i, 3], code[i, 4]
        d = base + FR_BYTES * np.int64(target)
        if op == DEFAULT:
            if not given[target]:
                _linear(u, x, start, register, coeffs, base, one)
                fr_copy(d, u)
            continue
        if op == SELECT:
            _linear(u, immediate, start, register, coeffs, base, one)
            _linear(v, y if fr_is_zero(u) else x, start, register, coeffs, base, one)
            fr_copy(d, v)
            continue
        _linear(u, x, start, register, coeffs, base, one)
        if op == LINEAR:
            fr_copy(d, u)
        elif op == PRODUCT:
            if x == y:
                fr_mul(d, u, u)
            else:
                _linear(v, y, start, register, coeffs, base, one)
                fr_mul(d, u, v)
        elif op == BIT:
            fr_from_mont(v, u)
            position = np.int64(immediate)
            word = load_word(v + 8 * (position >> 6))
            if (word >> np.uint64(position & 63)) & _ONE_BIT != _NO_BIT:
                fr_one(d)
            else:
                fr_zero(d)
        elif op == FIFTH:
            fr_mul(v, u, u)
            fr_mul(w, v, v)
            fr_mul(v, w, u)
            _linear(u, y, start, register, coeffs, base, one)
            fr_add(d, v, u)
        elif op == INVERSE:
            fr_inv(d, u)
        elif op == QUOTIENT:
            _linear(v, y, start, register, coeffs, base, one)
            fr_inv(w, v)
            fr_mul(d, u, w)

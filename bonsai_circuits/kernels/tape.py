"""The witness program: one pass over instructions on a file of Fr registers."""

import numpy as np

from bonsai_verifier.kernels.cache import inner, kernel
from bonsai_verifier.kernels.fr import FR_BYTES, fr_add, fr_copy, fr_from_mont, fr_inv, fr_mul, fr_one, fr_zero
from bonsai_verifier.kernels.limbs import load_word, stack

# The numbers of dsl.trace.Op; tests hold the two lists against each other.
LINEAR, PRODUCT, BIT, FIFTH, INVERSE, DEFAULT = 0, 1, 2, 3, 4, 5
_ONE_BIT = np.uint64(1)
_NO_BIT = np.uint64(0)


@inner
def _linear(d, k, start, register, coeff, registers):
    """d := combination k.  registers, coeff: addresses of 32-byte elements."""
    term = stack(4)
    fr_zero(d)
    for i in range(start[k], start[k + 1]):
        fr_mul(term, coeff + FR_BYTES * i, registers + FR_BYTES * np.int64(register[i]))
        fr_add(d, d, term)


@kernel
def run_tape(registers, op, target, x, y, immediate, start, register, coeff, given):
    """Executes every instruction in order.

    In/Out: registers (n, 4) Montgomery, with 1 in register 0 and the inputs in theirs.  In: op, target, x, y, immediate (m,) int32;
    combinations start (k + 1,) int64, register (nnz,) int32, coeff (nnz, 4) Montgomery; given (n,) bool, inputs that the caller supplied.
    """
    base, coeffs = registers.ctypes.data, coeff.ctypes.data
    u, v, w = stack(4), stack(4), stack(4)
    for i in range(op.shape[0]):
        code, d = op[i], base + FR_BYTES * np.int64(target[i])
        if code == DEFAULT:
            if not given[target[i]]:
                _linear(u, x[i], start, register, coeffs, base)
                fr_copy(d, u)
            continue
        _linear(u, x[i], start, register, coeffs, base)
        if code == LINEAR:
            fr_copy(d, u)
        elif code == PRODUCT:
            if x[i] == y[i]:
                fr_mul(d, u, u)
            else:
                _linear(v, y[i], start, register, coeffs, base)
                fr_mul(d, u, v)
        elif code == BIT:
            fr_from_mont(v, u)
            position = np.int64(immediate[i])
            word = load_word(v + 8 * (position >> 6))
            if (word >> np.uint64(position & 63)) & _ONE_BIT != _NO_BIT:
                fr_one(d)
            else:
                fr_zero(d)
        elif code == FIFTH:
            fr_mul(v, u, u)
            fr_mul(w, v, v)
            fr_mul(d, w, u)
        elif code == INVERSE:
            fr_inv(d, u)

"""The witness program, differentiated: how every register moves when the inputs do."""

import numpy as np

from bonsai_verifier.kernels.cache import inner, kernel
from bonsai_verifier.kernels.fr import (
    FR_BYTES,
    fr_add,
    fr_copy,
    fr_eq,
    fr_inv,
    fr_is_zero,
    fr_mul,
    fr_sub,
    fr_zero,
)
from bonsai_verifier.kernels.limbs import stack

from .tape import BIT, DEFAULT, FIFTH, INVERSE, LINEAR, PRODUCT, QUOTIENT, SELECT

DIFFERENTIATED = (LINEAR, PRODUCT, BIT, FIFTH, INVERSE, DEFAULT, SELECT, QUOTIENT)


@inner
def _linear(d, k, start, register, coeff, values):
    """d := combination k of the values."""
    term = stack(4)
    fr_zero(d)
    for i in range(start[k], start[k + 1]):
        at = values + FR_BYTES * register[i]
        if not fr_is_zero(at):
            fr_mul(term, coeff + FR_BYTES * i, at)
            fr_add(d, d, term)


@inner
def _derivative(d, i, registers, code, start, register, coeff, tangent):
    """d := derivative of the result of instruction i.  registers, coeff, tangent: addresses of 32-byte elements."""
    u, v, w, du, dv = stack(4), stack(4), stack(4), stack(4), stack(4)
    op, x, y = code[i, 0], code[i, 2], code[i, 3]
    if op == BIT:
        fr_zero(d)
        return
    if op == SELECT:
        _linear(u, code[i, 4], start, register, coeff, registers)
        _linear(d, y if fr_is_zero(u) else x, start, register, coeff, tangent)
        return
    _linear(du, x, start, register, coeff, tangent)
    if op in (LINEAR, DEFAULT):
        fr_copy(d, du)
        return
    _linear(dv, y, start, register, coeff, tangent)
    if fr_is_zero(du) and fr_is_zero(dv):
        fr_zero(d)
        return
    _linear(u, x, start, register, coeff, registers)
    if op == PRODUCT:
        _linear(v, y, start, register, coeff, registers)
        fr_mul(v, v, du)
        fr_mul(u, u, dv)
        fr_add(d, u, v)
    elif op == FIFTH:
        fr_mul(u, u, u)
        fr_mul(u, u, u)
        fr_mul(w, u, du)
        fr_add(u, w, w)
        fr_add(u, u, u)
        fr_add(u, u, w)
        fr_add(d, u, dv)
    elif op == INVERSE:
        fr_inv(u, u)
        fr_mul(u, u, u)
        fr_mul(u, u, du)
        fr_zero(w)
        fr_sub(d, w, u)
    elif op == QUOTIENT:
        _linear(v, y, start, register, coeff, registers)
        fr_inv(w, v)
        fr_mul(v, u, w)
        fr_mul(v, v, dv)
        fr_sub(v, du, v)
        fr_mul(d, v, w)


@kernel
def tape_tangent(tangent, differs, held, registers, code, start, register, coeff):
    """The derivative of every register at `registers`, in the direction that `tangent` holds at the inputs and at held registers.

    In/Out: tangent (n, 4) Montgomery.  In: held (n,) bool; registers (n, 4) Montgomery after a run; the tape.  Out: differs (n,) bool, the
    held registers that do not move as their instruction says, given how what it reads moves.
    Computed public inputs are computed.  A bit is constant wherever it has a derivative, a selection is the branch that was taken, 1/0 := 0
    and x/0 := 0 are constant.
    """
    values, t, coeffs = registers.ctypes.data, tangent.ctypes.data, coeff.ctypes.data
    d = stack(4)
    for i in range(code.shape[0]):
        target = np.int64(code[i, 1])
        _derivative(d, i, values, code, start, register, coeffs, t)
        if held[target]:
            differs[target] = not fr_eq(d, t + FR_BYTES * target)
        else:
            fr_copy(t + FR_BYTES * target, d)

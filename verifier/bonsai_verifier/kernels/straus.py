"""Chains of doublings and additions of one point: sums of a few multiples, and sums of bit planes.

sum k_i P_i takes one chain of doublings for all points (Straus), with sliding windows of signed odd digits.

On G1 an endomorphism halves the chain: phi(x, y) = (BETA x, y) is [-z^2], so k P = (k mod z^2) P + floor(k / z^2) (-phi(P)).
The formulas are complete, so points may lie anywhere on the curve.  Variable time in the scalars.
"""

import numpy as np
from llvmlite import ir

from ..parameters import BLS_X
from .cache import inner, kernel
from .fp import FP_BYTES, fp_constant, fp_copy, fp_mul, fp_neg
from .fr import FR_WORDS
from .g1 import (
    BETA,
    G1_PROJECTIVE_WORDS,
    g1_add,
    g1_add_mixed,
    g1_copy,
    g1_double,
    g1_from_affine,
    g1_infinity,
    g1_to_affine_many,
)
from .intrinsics import operation
from .limbs import WORD_BITS, row, stack

MOST = 14  # points for which sum_few is the faster way
_WIDTH = 5  # bits of a window
ODD = 1 << (_WIDTH - 2)  # of P, 3 P, .. 15 P
SCALAR_BITS = WORD_BITS * FR_WORDS
_Y, _Z = FP_BYTES, 2 * FP_BYTES
_BETA = fp_constant("straus_beta", BETA)
_ONE, _WORD_MASK = np.uint64(1), np.uint64(WORD_BITS - 1)
_I256, _WIDE = ir.IntType(256), ir.IntType(576)
_RECIPROCAL_BITS = 384


@operation
def split(b, low, high, k):
    """k = low + z^2 high, 0 <= low < z^2.  In: the address of four words.  Out: four words each."""

    def integer(type_, x):
        return ir.Constant(type_, x)

    def memory(address):
        return b.inttoptr(address, _I256.as_pointer())

    # floor(k floor(2^384 / z^2) / 2^384) is the quotient or one less, since k z^2 < 2^384
    z2, reciprocal = BLS_X**2, (1 << _RECIPROCAL_BITS) // BLS_X**2
    x = b.load(memory(k), align=8)
    wide = b.mul(b.zext(x, _WIDE), integer(_WIDE, reciprocal))
    q = b.trunc(b.lshr(wide, integer(_WIDE, _RECIPROCAL_BITS)), _I256)
    rest = b.sub(x, b.mul(q, integer(_I256, z2)))
    short = b.icmp_unsigned(">=", rest, integer(_I256, z2))
    b.store(b.select(short, b.sub(rest, integer(_I256, z2)), rest), memory(low), align=8)
    b.store(b.add(q, b.zext(short, _I256)), memory(high), align=8)


@kernel
def join(out, planes):
    """out (1, 12) = sum_j 2^j P_j, for planes (n, 12) affine, anywhere on the curve.  A doubling and an addition each."""
    total = np.empty((1, G1_PROJECTIVE_WORDS), np.uint64)
    d = row(total, 0)
    g1_infinity(d)
    for j in range(len(planes) - 1, -1, -1):
        g1_double(d, d)
        g1_add_mixed(d, d, row(planes, j))
    g1_to_affine_many(out, total)


@kernel
def sum_few(out, points, scalars, in_g1):
    """out (1, 12) = sum_i k_i P_i.

    In: points (n, 12) affine, of G1 if in_g1; scalars (n, 4) integers below 2^256.
    Cost: 256 doublings and 43 additions a point; in G1, 130 and 43; and 8 to begin with.
    """
    n = len(points)
    m = 2 * n if in_g1 else n
    multiples = np.empty((m * ODD, G1_PROJECTIVE_WORDS), np.uint64)
    digits = np.zeros((m, SCALAR_BITS + 1), np.int8)
    halves = np.empty((2, FR_WORDS), np.uint64)
    total = np.empty((1, G1_PROJECTIVE_WORDS), np.uint64)
    top = 0
    for i in range(n):
        _odd_multiples(multiples, i * ODD, row(points, i))
        if in_g1:
            split(row(halves, 0), row(halves, 1), row(scalars, i))
            top = max(top, recode(digits[i], halves[0]), recode(digits[n + i], halves[1]))
            _images(multiples, (n + i) * ODD, i * ODD)
        else:
            top = max(top, recode(digits[i], scalars[i]))
    d, opposite = row(total, 0), stack(18)
    g1_infinity(d)
    for at in range(top - 1, -1, -1):
        g1_double(d, d)
        for i in range(m):
            digit = digits[i, at]
            if digit > 0:
                g1_add(d, d, row(multiples, i * ODD + (digit >> 1)))
            elif digit < 0:
                g1_copy(opposite, row(multiples, i * ODD + (-digit >> 1)))
                fp_neg(opposite + _Y, opposite + _Y)
                g1_add(d, d, opposite)
    g1_to_affine_many(out, total)


@inner
def _odd_multiples(out, first, p):
    """Rows first .. of out = P, 3 P, .. for the affine point at p."""
    twice = stack(18)
    g1_from_affine(row(out, first), p)
    g1_double(twice, row(out, first))
    for j in range(1, ODD):
        g1_add(row(out, first + j), row(out, first + j - 1), twice)


@inner
def _images(out, first, origin):
    """Rows first .. of out = -phi of rows origin .."""
    beta = stack(6)
    _BETA(beta)
    for j in range(ODD):
        d, a = row(out, first + j), row(out, origin + j)
        fp_mul(d, a, beta)
        fp_neg(d + _Y, a + _Y)
        fp_copy(d + _Z, a + _Z)


@inner
def recode(out, k):
    """k = sum_j 2^j out_j with digits 0 or odd, below 2^(width - 1) in magnitude, no two within a width.  Out: their number."""
    carry = 0
    at = end = 0
    while at < SCALAR_BITS:
        if _bit(k, at) == carry:
            at += 1
            continue
        width = min(_WIDTH, SCALAR_BITS - at)
        digit = carry
        for j in range(width):
            digit += _bit(k, at + j) << j
        carry = digit >> (_WIDTH - 1)
        out[at] = digit - (carry << _WIDTH)
        end = at + 1
        at += width
    if carry:
        out[SCALAR_BITS] = 1
        end = SCALAR_BITS + 1
    return end


@inner
def _bit(k, at):
    return np.int64(k[at >> 6] >> (np.uint64(at) & _WORD_MASK) & _ONE)

"""Chains of doublings and additions of one point: sums of a few multiples, sums of bit planes, and the test of membership in G1.

sum k_i P_i takes one chain of doublings for all points (Straus), with sliding windows of signed odd digits.  On G1 an endomorphism halves
the chain: phi(x, y) = (BETA x, y) is [-z^2], so k P = (k mod z^2) P + floor(k / z^2) (-phi(P)).

A chain is a program, rows OPERATION, D, A, B over numbered points: the totals are the first numbers, 0 is O to begin with, and those that
come in are numbered from FIRST on.  Here is the portable body that runs one, straus_lanes.py has the other.  The formulas are complete, so
points may lie anywhere on the curve.  Variable time in the scalars.
"""

from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir

from ..parameters import BLS_X
from .cache import inner, kernel
from .fp import FP_BYTES, fp_constant, fp_copy, fp_mul, fp_neg
from .fr import FR_WORDS
from .g1 import BETA, G1_PROJECTIVE_WORDS, g1_add, g1_copy, g1_double, g1_from_affine, g1_infinity
from .intrinsics import operation
from .limbs import WORD_BITS, row, stack

MOST = 14  # points for which sum_few is the faster way
ADD, SUBTRACT, DOUBLE, IMAGE = 0, 1, 2, 3  # D = A + B, A - B, 2 A, -phi(A)
FIRST = 2
MOST_MEMBERS = FIRST  # points of one program of `members`, whose totals take the numbers below FIRST
ODD = 8  # P, 3 P, .. 15 P
_WIDTH = 5  # bits of a window: digits below 2 ODD
_TWICE = 1  # the number of 2 P while the odd multiples of P are made
_INSTRUCTION = 4
_SCALAR_BITS = WORD_BITS * FR_WORDS
_Y, _Z = FP_BYTES, 2 * FP_BYTES
_BETA = fp_constant("straus_beta", BETA)
_ONE, _WORD_MASK = np.uint64(1), np.uint64(WORD_BITS - 1)
_I256, _WIDE = ir.IntType(256), ir.IntType(576)
_RECIPROCAL_BITS = 384


# Programs --------------------------------------------------------------------------------------------------------------------


def join(n: int) -> tuple[Any, int]:
    """The program of sum_j 2^j P_j for n points, and how many points it numbers."""
    program = np.zeros((2 * n, _INSTRUCTION), np.int32)
    program[0::2, 0], program[1::2, 0] = DOUBLE, ADD
    program[1::2, 3] = np.arange(FIRST, FIRST + n)[::-1]
    return program, FIRST + n


def sum_few(scalars: Any, in_g1: bool) -> tuple[Any, int]:
    """The program of sum_i k_i P_i for scalars (n, 4), integers below 2^256, and how many points it numbers.

    Of 256 doublings and 43 additions a point, or if all points lie in G1, of 130 and 43; and of 8 a point to begin with.
    """
    n, parts = len(scalars), 2 if in_g1 else 1
    program = np.zeros((parts * n * (2 * ODD + _SCALAR_BITS // _WIDTH + 2) + _SCALAR_BITS + 1, _INSTRUCTION), np.int32)
    digits = np.zeros((parts * n, _SCALAR_BITS + 1), np.int8)
    length = _write_sum(program, digits, np.empty((2, FR_WORDS), np.uint64), scalars, in_g1)
    return program[:length], FIRST + n + parts * n * ODD


@cache
def members(n: int) -> tuple[Any, int]:
    """The program of z^2 P_i + phi(P_i), which is O if and only if P_i lies in G1 (g1.py says why), and how many points it numbers.

    Totals are the numbers 0 .. n - 1.  The points take turns, so that neighbouring steps do not wait for each other.  126 doublings and
    11 additions a point.
    """
    assert n <= MOST_MEMBERS
    steps = f"{-BLS_X:b}"[1:]
    columns = []
    for total in range(n):
        point, base = FIRST + total, FIRST + n + total
        column = []
        for a, d in ((point, base), (base, total)):  # |z| a to d
            for i, bit in enumerate(steps):
                column.append((DOUBLE, d, d if i else a, 0))
                if bit == "1":
                    column.append((ADD, d, d, a))
        columns.append([*column, (IMAGE, base, point, 0), (SUBTRACT, total, total, base)])
    program = np.array([instruction for turn in zip(*columns, strict=True) for instruction in turn], np.int32)
    return program, FIRST + 2 * n


@kernel
def _write_sum(out, digits, halves, scalars, in_g1):
    """The rows of the program of `sum_few`.  In: digits, zeros, a row for each scalar or half; room for halves.  Out: their number."""
    n = len(scalars)
    length = top = 0
    for i in range(n):
        first = FIRST + n + i * ODD
        length = _instruct(out, length, DOUBLE, _TWICE, FIRST + i, 0)
        length = _instruct(out, length, ADD, first, 0, FIRST + i)  # the total is still O
        for j in range(1, ODD):
            length = _instruct(out, length, ADD, first + j, first + j - 1, _TWICE)
        for j in range(FR_WORDS):
            halves[0, j] = scalars[i, j]
        if in_g1 and scalars[i, 2] | scalars[i, 3]:  # below 2^128 it is as short as its halves
            split(row(halves, 0), row(halves, 1), row(halves, 0))
            for j in range(ODD):
                length = _instruct(out, length, IMAGE, first + n * ODD + j, first + j, 0)
            top = max(top, _recode(digits[n + i], halves[1]))
        top = max(top, _recode(digits[i], halves[0]))
    for at in range(top - 1, -1, -1):
        length = _instruct(out, length, DOUBLE, 0, 0, 0)
        for i in range(len(digits)):
            digit = np.int64(digits[i, at])
            if digit:
                number = FIRST + n + i * ODD + (abs(digit) >> 1)
                length = _instruct(out, length, ADD if digit > 0 else SUBTRACT, 0, 0, number)
    return length


@inner
def _instruct(out, i, operation, d, a, b):
    out[i, 0], out[i, 1], out[i, 2], out[i, 3] = operation, d, a, b
    return i + 1


@inner
def _recode(out, k):
    """k = sum_j 2^j out_j with digits 0 or odd, below 2 ODD in magnitude, no two within a window.  Out: their number."""
    at = carry = end = 0
    while at < _SCALAR_BITS:
        if _bit(k, at) == carry:
            at += 1
            continue
        width = min(_WIDTH, _SCALAR_BITS - at)
        digit = carry
        for j in range(width):
            digit += _bit(k, at + j) << j
        carry = digit >> (_WIDTH - 1)
        out[at] = digit - (carry << _WIDTH)
        end = at + 1
        at += width
    if carry:
        out[_SCALAR_BITS] = 1
        end = _SCALAR_BITS + 1
    return end


@inner
def _bit(k, at):
    return np.int64(k[at >> 6] >> (np.uint64(at) & _WORD_MASK) & _ONE)


@operation
def split(b, low, high, k):
    """k = low + z^2 high, 0 <= low < z^2.  In: the address of four words.  Out: four words each; low may be k."""
    z2, reciprocal = BLS_X**2, (1 << _RECIPROCAL_BITS) // BLS_X**2

    def memory(address):
        return b.inttoptr(address, _I256.as_pointer())

    # floor(k floor(2^384 / z^2) / 2^384) is the quotient or one less, as k < 2^384
    x = b.load(memory(k), align=8)
    wide = b.mul(b.zext(x, _WIDE), ir.Constant(_WIDE, reciprocal))
    q = b.trunc(b.lshr(wide, ir.Constant(_WIDE, _RECIPROCAL_BITS)), _I256)
    rest = b.sub(x, b.mul(q, ir.Constant(_I256, z2)))
    short = b.icmp_unsigned(">=", rest, ir.Constant(_I256, z2))
    b.store(b.select(short, b.sub(rest, ir.Constant(_I256, z2)), rest), memory(low), align=8)
    b.store(b.add(q, b.zext(short, _I256)), memory(high), align=8)


# The portable body -----------------------------------------------------------------------------------------------------------


NUMBERED_WORDS = G1_PROJECTIVE_WORDS  # of a point while a program runs


@kernel
def run_chain(out, numbered, points, program):
    """out (k, 18) projective = the totals of a program, its numbers 0 .. k - 1, on points (n, 12) affine, anywhere on the curve.

    In: room for all that the program numbers, (numbers, NUMBERED_WORDS).
    """
    opposite, beta = stack(18), stack(6)
    _BETA(beta)
    g1_infinity(row(numbered, 0))
    for i in range(len(points)):
        g1_from_affine(row(numbered, FIRST + i), row(points, i))
    for i in range(len(program)):
        what, d = program[i, 0], row(numbered, program[i, 1])
        a, b = row(numbered, program[i, 2]), row(numbered, program[i, 3])
        if what == DOUBLE:
            g1_double(d, a)
        elif what == IMAGE:
            fp_mul(d, a, beta)
            fp_neg(d + _Y, a + _Y)
            fp_copy(d + _Z, a + _Z)
        else:
            if what == SUBTRACT:
                g1_copy(opposite, b)
                fp_neg(opposite + _Y, opposite + _Y)
                b = opposite
            g1_add(d, a, b)
    for i in range(len(out)):
        g1_copy(row(out, i), row(numbered, i))

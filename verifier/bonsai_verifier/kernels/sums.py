"""Sums of products in Fp with one reduction for all, as portable LLVM IR.

A product costs 36 multiplications of words and a reduction 42, so a coordinate of a product in Fp2, which is a sum of two products, costs
three quarters of two products, and a coordinate of one in Fp6, a sum of six, little more than half of six.
Source: Longa, ePrint 2022/367, section 3: one row of reduction follows a row of all products.
"""

from typing import Any

from llvmlite import ir

from ..parameters import FP_MODULUS
from .fp import FP_BYTES, FP_WORDS
from .intrinsics import I64, operation
from .limbs import WORD_BITS, WORD_BYTES, join_words, mul_add

MOST_PRODUCTS = 6

_N = FP_WORDS
_WHOLE = ir.IntType(WORD_BITS * _N)
_P = ir.Constant(_WHOLE, FP_MODULUS)
_P_LIMBS = [I64((FP_MODULUS >> WORD_BITS * i) % 2**WORD_BITS) for i in range(_N)]
_MINUS_INVERSE = I64(-pow(FP_MODULUS, -1, 2**WORD_BITS) % 2**WORD_BITS)

Value = list[ir.Value]  # limbs of an element in Montgomery form (limbs.py)


class Sums:
    """Code at the end of an IR block.  Values are in [0, p) unless a method says otherwise."""

    def __init__(self, builder: ir.IRBuilder) -> None:
        self._b = builder

    def load(self, address: ir.Value, i: int = 0) -> Value:
        """Element i of those at `address`."""
        return [self._b.load(self._pointer(address, i, j), align=WORD_BYTES) for j in range(_N)]

    def store(self, address: ir.Value, i: int, x: Value) -> None:
        for j, limb in enumerate(x):
            self._b.store(limb, self._pointer(address, i, j), align=WORD_BYTES)

    def opposite(self, x: Value) -> Value:
        """p - x, in [0, p]: p for 0."""
        return self._split(self._b.sub(_P, join_words(self._b, x)))

    def products(self, *pairs: tuple[Value, Value]) -> Value:
        """The sum of x y / 2^384 modulo p.  In: at most MOST_PRODUCTS pairs of values in [0, p].

        Between rows t stays below 8 p < 2^384, as t' = (t + sum x y_i + k p) / 2^64 <= t / 2^64 + 7 p; so what is over a row before it is
        divided fits a word.  In the end t = (sum x y + K p) / 2^384 < (6 p / 2^384 + 1) p < 2 p.
        """
        assert len(pairs) <= MOST_PRODUCTS
        b, t = self._b, [I64(0)] * _N
        for i in range(_N):
            over = I64(0)
            for x, y in pairs:
                carry = I64(0)
                for j in range(_N):
                    t[j], carry = mul_add(b, x[j], y[i], t[j], carry)
                over = b.add(over, carry)
            k = b.mul(t[0], _MINUS_INVERSE)
            _, carry = mul_add(b, k, _P_LIMBS[0], t[0])
            for j in range(1, _N):
                t[j - 1], carry = mul_add(b, k, _P_LIMBS[j], t[j], carry)
            t[_N - 1] = b.add(over, carry)
        return self._below_p(join_words(self._b, t))

    def _below_p(self, x: ir.Value) -> Value:
        """x modulo p for x in [0, 2 p)."""
        return self._split(self._b.select(self._b.icmp_unsigned(">=", x, _P), self._b.sub(x, _P), x))

    def _split(self, x: ir.Value) -> Value:
        return [self._b.trunc(self._b.lshr(x, ir.Constant(_WHOLE, WORD_BITS * i)), I64) for i in range(_N)]

    def _pointer(self, address: ir.Value, i: int, j: int) -> ir.Value:
        return self._b.inttoptr(self._b.add(address, I64(FP_BYTES * i + WORD_BYTES * j)), I64.as_pointer())


def sum_of_fp2_products(k: int) -> Any:
    """An intrinsic f(d, a, b): a_0 b_0 + ... + a_(k-1) b_(k-1) in Fp2, of elements one after the other.  2 k <= MOST_PRODUCTS."""

    def write(b: ir.IRBuilder, d: ir.Value, a: ir.Value, c: ir.Value) -> None:
        s = Sums(b)
        x, y = ([(s.load(address, 2 * i), s.load(address, 2 * i + 1)) for i in range(k)] for address in (a, c))
        c0 = [pair for (x0, x1), (y0, y1) in zip(x, y) for pair in ((x0, y0), (s.opposite(x1), y1))]
        c1 = [pair for (x0, x1), (y0, y1) in zip(x, y) for pair in ((x0, y1), (x1, y0))]
        s.store(d, 0, s.products(*c0))
        s.store(d, 1, s.products(*c1))

    return operation(write, f"fp2_sum_of_products_{k}")

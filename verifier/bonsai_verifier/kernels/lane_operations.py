"""What kernels call of lanes.py: operations on blocks and on pairs of blocks in memory, the inverses of a block, constants, room."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from .intrinsics import I64, formula, operation, value
from .inverse import inversion
from .lane_machine import LANES, LaneField, Limbs, Machine, in_sequence, together
from .lanes import (
    constant,
    enter,
    exact,
    is_zero,
    leave,
    limbs_from_words,
    load,
    load_rows,
    minus,
    multiply,
    multiply_self,
    select,
    square_open,
    store,
    store_rows,
    strided,
    weaken,
    words_from_limbs,
)
from .limbs import WORD_BYTES, stack


class LaneOperations(NamedTuple):
    """The intrinsics of one field over addresses of blocks; a destination may be an operand.  Blocks are weak, before and after.

    mul(d, a, b)   sqr(d, a)   mul2(d, a, b, e, u, v): d = a b and e = u v interleaved   sqr2(d, a, e, u)
    sqr2_times(d, e, k): k >= 1 squarings in place   sub(d, a, b)   copy(d, a)   zero(d)   one(d)
    enter(d, a, stride): the block of eight rows of words from a on, stride bytes apart   leave(a, stride, d): back
    zeros(a)   equals(a, b)   int64, bit l for lane l   select(d, bits, a, b): lanes of a where the bit is set, else of b
    """

    field: LaneField
    mul: Any
    mul2: Any
    sqr: Any
    sqr2: Any
    sqr2_times: Any
    sub: Any
    copy: Any
    zero: Any
    one: Any
    enter: Any
    leave: Any
    zeros: Any
    equals: Any
    select: Any


def _square_times(b: ir.IRBuilder, f: LaneField, addresses: list[ir.Value], k: ir.Value) -> None:
    """k squarings of each block, two a turn."""
    for turns, writers in ((b.lshr(k, I64(1)), [square_open, multiply_self]), (b.and_(k, I64(1)), [multiply_self])):
        with cgutils.for_range(b, turns):
            m = Machine(b)
            xs = [load(m, f, a) for a in addresses]
            for writer in writers:
                xs = in_sequence(*(writer(m, f, x) for x in xs))
            for address, x in zip(addresses, xs):
                store(m, f, address, x)


def lane_operations(name: str, f: LaneField) -> LaneOperations:
    """The operations of a field; `name` makes the IR symbols unique."""

    def named(write: Callable[..., None]) -> Any:
        return operation(write, f"{name}_{write.__name__}")

    def read(b: ir.IRBuilder, *addresses: ir.Value) -> tuple[Any, ...]:
        m = Machine(b)
        return m, *(load(m, f, a) for a in addresses)

    @named
    def mul(b, d, a, c):
        m, x, y = read(b, a, c)
        store(m, f, d, *together(multiply(m, f, x, y)))

    @named
    def mul2(b, d, a, c, e, u, v):
        m, x, y, z, w = read(b, a, c, u, v)
        first, second = together(multiply(m, f, x, y), multiply(m, f, z, w))
        store(m, f, d, first)
        store(m, f, e, second)

    @named
    def sqr(b, d, a):
        m, x = read(b, a)
        store(m, f, d, *together(multiply_self(m, f, x)))

    @named
    def sqr2(b, d, a, e, u):
        m, x, y = read(b, a, u)
        first, second = in_sequence(multiply_self(m, f, x), multiply_self(m, f, y))
        store(m, f, d, first)
        store(m, f, e, second)

    @named
    def sqr2_times(b, d, e, k):
        _square_times(b, f, [d, e], k)

    @named
    def sub(b, d, a, c):
        m, x, y = read(b, a, c)
        store(m, f, d, weaken(m, f, minus(m, x, y)))

    @named
    def copy(b, d, a):
        m, x = read(b, a)
        store(m, f, d, x)

    @named
    def zero(b, d):
        m = Machine(b)
        store(m, f, d, [m.zero] * f.n)

    @named
    def one(b, d):
        m = Machine(b)
        store(m, f, d, constant(m, f, 1))

    @named
    def enter_rows(b, d, a, stride):
        m = Machine(b)
        store(m, f, d, enter(m, f, load_rows(m, strided(m, a, stride), f.n_words)))

    @named
    def leave_rows(b, a, stride, d):
        m, x = read(b, d)
        store_rows(m, strided(m, a, stride), leave(m, f, x))

    @named
    def select_lanes(b, d, bits, a, c):
        m, x, y = read(b, a, c)
        store(m, f, d, select(m, m.mask(bits), x, y))

    def zeros(b, a):
        m, x = read(b, a)
        return m.bits(is_zero(m, f, x))

    def equals(b, a, c):
        m, x, y = read(b, a, c)
        return m.bits(is_zero(m, f, weaken(m, f, minus(m, x, y))))

    return LaneOperations(
        field=f,
        mul=mul,
        mul2=mul2,
        sqr=sqr,
        sqr2=sqr2,
        sqr2_times=sqr2_times,
        sub=sub,
        copy=copy,
        zero=zero,
        one=one,
        enter=enter_rows,
        leave=leave_rows,
        zeros=value(zeros),
        equals=value(equals),
        select=select_lanes,
    )


class PairOperations(NamedTuple):
    """As LaneOperations, over pairs: two blocks one behind the other, sixteen elements, worked on at once.

    mul(d, a, b)   sqr(d, a)   sqr_times(d, k)   sub(d, a, b)   neg(d, a)   copy(d, a)   one(d)
    """

    n: int  # words of a pair
    mul: Any
    sqr: Any
    sqr_times: Any
    sub: Any
    neg: Any
    copy: Any
    one: Any


def pair_operations(name: str, f: LaneField) -> PairOperations:
    """The operations of a field on pairs; `name` makes the IR symbols unique."""

    def named(write: Callable[..., None]) -> Any:
        return operation(write, f"{name}_{write.__name__}")

    def apply(b: ir.IRBuilder, writer: Any, run: Any, d: ir.Value, *operands: ir.Value) -> None:
        m = Machine(b)
        inputs = [[load(m, f, m.offset(a, half)) for a in operands] for half in (0, f.block_bytes)]
        results = run(*(writer(m, f, *xs) for xs in inputs))
        for half, x in zip((0, f.block_bytes), results):
            store(m, f, m.offset(d, half), x)

    def at_once(*results: Limbs) -> list[Limbs]:
        return list(results)

    @named
    def mul(b, d, a, c):
        apply(b, multiply, together, d, a, c)

    @named
    def sqr(b, d, a):
        apply(b, multiply_self, in_sequence, d, a)

    @named
    def sqr_times(b, d, k):
        _square_times(b, f, [d, Machine(b).offset(d, f.block_bytes)], k)

    @named
    def sub(b, d, a, c):
        apply(b, lambda m, f, x, y: weaken(m, f, minus(m, x, y)), at_once, d, a, c)

    @named
    def neg(b, d, a):
        apply(b, lambda m, f, x: weaken(m, f, minus(m, [m.zero] * f.n, x)), at_once, d, a)

    @named
    def copy(b, d, a):
        apply(b, lambda m, f, x: x, at_once, d, a)

    @named
    def one(b, d):
        apply(b, lambda m, f: constant(m, f, 1), at_once, d)

    return PairOperations(2 * f.block_bytes // WORD_BYTES, mul, sqr, sqr_times, sub, neg, copy, one)


def lane_constant(name: str, f: LaneField, x: int) -> Any:
    """An intrinsic f(d) that writes the integer x modulo p in every lane, in Montgomery form."""

    def write(b: ir.IRBuilder, d: ir.Value) -> None:
        m = Machine(b)
        store(m, f, d, constant(m, f, x % f.modulus))

    return operation(write, name)


def lane_inverse(name: str, f: LaneField) -> Any:
    """An intrinsic f(d, a) on blocks, weak before and after: 1/a, lane by lane, and 0 for 0.  One scalar inversion, 6 multiplications.

    Variable time (inverse.py).
    """
    invert = inversion(f"{name}_total", f.modulus, f.n_words, f.radix**2)
    product_words, others_words = f.n_words, f.block_bytes // WORD_BYTES

    def gather(b: ir.IRBuilder, total: ir.Value, others: ir.Value, a: ir.Value) -> None:
        """The words of the product of all lanes, where 0 counts as 1, and in each lane the product of the others."""
        m = Machine(b)
        x = load(m, f, a)
        x = select(m, is_zero(m, f, x), constant(m, f, 1), x)

        def exchanged(x: Limbs, distance: int) -> Limbs:
            return [m.shuffle(limb, limb, [i ^ distance for i in range(LANES)]) for limb in x]

        near = exchanged(x, 1)
        (two,) = together(multiply(m, f, x, near))
        far = exchanged(two, 2)
        four, three = together(multiply(m, f, two, far), multiply(m, f, near, far))
        far = exchanged(four, 4)
        eight, seven = together(multiply(m, f, four, far), multiply(m, f, three, far))
        store(m, f, others, seven)
        for i, word in enumerate(words_from_limbs(m, f, exact(m, f, eight))):
            m.store_word(total, i, word)

    def scatter(b: ir.IRBuilder, d: ir.Value, total: ir.Value, others: ir.Value, a: ir.Value) -> None:
        """The inverse of the product times that of the others; 0 where a is 0."""
        m = Machine(b)
        zero = is_zero(m, f, load(m, f, a))
        inverse = limbs_from_words(m, f, [m.broadcast(total, i) for i in range(f.n_words)])
        (x,) = together(multiply(m, f, inverse, load(m, f, others)))
        store(m, f, d, select(m, zero, [m.zero] * f.n, x))

    gather_lanes = operation(gather, f"{name}_gather")
    scatter_lanes = operation(scatter, f"{name}_scatter")

    def write(d: Any, a: Any) -> None:
        total, others = stack(product_words), stack(others_words)
        gather_lanes(total, others, a)
        invert(total, total)
        scatter_lanes(d, total, others, a)

    return formula(write, name)


def aligned(n_words: int) -> np.ndarray:
    """Uninitialised memory of n words from a multiple of 64 bytes on."""
    memory = np.empty(n_words + LANES, np.uint64)
    start = -(memory.ctypes.data // WORD_BYTES) % LANES
    return memory[start : start + n_words]


def blocks(n: int, f: LaneField) -> np.ndarray:
    """Uninitialised memory of n blocks: (n, limbs, 8) uint64."""
    return aligned(n * f.n * LANES).reshape(n, f.n, LANES)

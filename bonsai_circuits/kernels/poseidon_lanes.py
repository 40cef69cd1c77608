"""The vector body of poseidon.py: sixteen hashes at once, two blocks of eight lanes (bonsai_verifier/kernels/lanes.py).

An element of the state is a *pair* of blocks, one behind the other; a number of the table is five words of 52 bits, for all lanes.

Order.  LLVM's scheduler gathers what belongs together, which undoes what writers interleave: a chain of three multiplications then waits
for itself.  A `fence` is a label, no instruction, that nothing is moved across; between the turns of `fenced` it keeps them as written.

Bounds.  Nothing is reduced below the modulus p before the digest.  Every value is normalised.  For at most 16 inputs those of S-boxes are
below 1.7 p over Fr of BLS12-381 and 1.2 p over Fr of BN254, all others below 13 p and 9 p, far below R, and the digest is below 2 p:
tests/kernels/test_poseidon_bounds.py follows the bound of every row through the permutation.  A constant and the last element of a row
are added to the upper columns, which a reduction only adds to.
"""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from bonsai_verifier.kernels.cache import inlined, kernel
from bonsai_verifier.kernels.fr_lanes import FR_LANES
from bonsai_verifier.kernels.intrinsics import I64, operation
from bonsai_verifier.kernels.lane_machine import LANES, Machine, in_turn
from bonsai_verifier.kernels.lane_operations import aligned
from bonsai_verifier.kernels.lanes import (
    carry,
    exact,
    limbs_from_words,
    load,
    load_rows,
    plus,
    product,
    product_columns,
    reduced,
    square_open,
    store,
    store_rows,
    strided,
    words_from_limbs,
)
from bonsai_verifier.kernels.limbs import WORD_BYTES, room, row, rows

from .bn254_fr_lanes import BN254_FR_LANES
from .poseidon import BLS12_381, ELEMENT_BYTES, LEAST_FACTORS

FIELDS = (FR_LANES, BN254_FR_LANES)
AT_ONCE = 2 * LANES
_N = 5  # limbs
_HALF, _PAIR, _NUMBER = FR_LANES.block_bytes, 2 * FR_LANES.block_bytes, WORD_BYTES * _N
_ROUNDS_KEPT = 8  # of the history behind its window, so that all of it stays in the first cache


# Writers ---------------------------------------------------------------------------------------------------------------------


class _Machine(Machine):
    def fence(self) -> None:
        """Nothing written behind it is computed before, or the other way round."""
        name, module = "llvm.codeview.annotation", self.builder.module
        f = module.globals.get(name)
        if f is None:
            f = ir.Function(module, ir.FunctionType(ir.VoidType(), [ir.MetaDataType()]), name)
        self.builder.call(f, [module.add_metadata([ir.MetaDataString(module, "order")])])


def fenced(m, *writers):
    """As lane_machine.together, with a fence behind every turn."""
    turns = in_turn(*writers)
    while True:
        try:
            next(turns)
        except StopIteration as end:
            return end.value
        m.fence()


def entered(m, f, words, number):
    """a + c.  In: the words of a < p, and c < p.  Out: normalised, below 2 p."""
    return carry(m, plus(m, limbs_from_words(m, f, words), number))


def fifth(m, f, x):
    """x^5.  In: normalised.  Out: loose.  260 multiplier steps."""
    square = yield from square_open(m, f, x)
    fourth = yield from square_open(m, f, square)
    return (yield from reduced(m, f, (yield from product(m, fourth, x))))


def fifth_power(m, f, x):
    """`fifth`, normalised."""
    return carry(m, (yield from fifth(m, f, x)))


def settled(m, f, columns):
    """The sum of a row from its columns.  Out: normalised."""
    return carry(m, (yield from reduced(m, f, columns)))


def linear_part(m, f, columns, elements, numbers):
    """The columns and the products of a few elements and numbers, reduced: loose."""
    for x, c in zip(elements, numbers):
        columns = yield from product(m, x, c, columns)
    return (yield from reduced(m, f, columns))


def next_round(m, s, rest):
    """The S-box and the next element of the recurrence, normalised.  In: loose."""
    return [*carry(m, s), *carry(m, plus(m, s, rest))]


def left(m, f, x):
    """The canonical words.  In: normalised, below 2 p."""
    return words_from_limbs(m, f, exact(m, f, x))


# Operations ------------------------------------------------------------------------------------------------------------------


class _Operations(NamedTuple):
    """Addresses of pairs, unless it says otherwise; numbers are addresses in the table.

    enter(d, a, stride, c)   d = a + c, sixteen rows of words from a on, stride bytes apart      leave(a, stride, x)   back, canonical
    fifth(d, x)   d = x^5
    row(d, last, v, stride, n, k)   d = k + sum f_j v_j + last, n elements from v on, stride bytes apart, k, f_0, f_1, ... in the table
    partial(x, v, n, k)   behind x: x^5, and k + sum f_j v_j + x^5, n + LEAST_FACTORS elements from v on, one behind the other
    partial_least(x, v, k)   the same for n = 0
    """

    enter: Any
    fifth: Any
    row: Any
    partial: Any
    partial_least: Any
    leave: Any


def _number(m, address, i=0):
    at = m.offset(address, _NUMBER * i)
    return [m.broadcast(at, j) for j in range(_N)]


def _halves(m, f, address, i=0):
    return [load(m, f, m.offset(address, _PAIR * i + _HALF * half)) for half in range(2)]


def _store_halves(m, f, address, halves, i=0):
    for half, x in enumerate(halves):
        store(m, f, m.offset(address, _PAIR * i + _HALF * half), x)


def _add_products(b, f, columns, v, stride, n, numbers):
    """The columns of both halves and those of n products; the addresses behind the last element and number."""
    first = Machine(b)
    slots = [[room(b, first.zero.type, 64) for _ in half] for half in columns]
    for half, xs in zip(slots, columns):
        for slot, x in zip(half, xs):
            b.store(x, slot)
    at, number = room(b, I64, WORD_BYTES), room(b, I64, WORD_BYTES)
    b.store(v, at)
    b.store(numbers, number)
    with cgutils.for_range(b, n):
        m = Machine(b)
        element, factor = b.load(at), b.load(number)
        c = _number(m, factor)
        for half, x in zip(slots, _halves(m, f, element)):
            for slot, t in zip(half, product_columns(m, x, c, [b.load(slot) for slot in half])):
                b.store(t, slot)
        b.store(b.add(element, stride), at)
        b.store(m.offset(factor, _NUMBER), number)
    return [[b.load(slot) for slot in half] for half in slots], b.load(at), b.load(number)


def _operations(name, f):
    def named(write):
        return operation(write, f"{name}_{write.__name__}")

    def rows(b, a, stride, half):
        return strided(Machine(b), b.add(a, b.mul(stride, I64(LANES * half))), stride)

    @named
    def poseidon_enter(b, d, a, stride, c):
        m = Machine(b)
        halves = [entered(m, f, load_rows(m, rows(b, a, stride, half), f.n_words), _number(m, c)) for half in range(2)]
        _store_halves(m, f, d, halves)

    @named
    def poseidon_leave(b, a, stride, x):
        m = Machine(b)
        for half, v in enumerate(_halves(m, f, x)):
            store_rows(m, rows(b, a, stride, half), left(m, f, v))

    @named
    def poseidon_fifth(b, d, x):
        m = _Machine(b)
        _store_halves(m, f, d, fenced(m, *(fifth_power(m, f, v) for v in _halves(m, f, x))))

    @named
    def poseidon_row(b, d, last, v, stride, n, k):
        m = _Machine(b)
        constant = _number(m, k)
        columns = [[*[m.zero] * _N, *plus(m, constant, x)] for x in _halves(m, f, last)]
        columns, _, _ = _add_products(b, f, columns, v, stride, n, m.offset(k, _NUMBER))
        _store_halves(m, f, d, fenced(m, *(settled(m, f, t) for t in columns)))

    def partial_round(b, x, columns, v, k):
        """The S-box and the last LEAST_FACTORS products of one half are written in turn, then those of the other."""
        m = _Machine(b)
        for half, t in enumerate(columns):
            elements = (load(m, f, m.offset(v, _PAIR * j + _HALF * half)) for j in range(LEAST_FACTORS))
            numbers = (_number(m, k, j) for j in range(LEAST_FACTORS))
            at = m.offset(x, _HALF * half)
            s, rest = fenced(m, fifth(m, f, load(m, f, at)), linear_part(m, f, t, elements, numbers))
            out = next_round(m, s, rest)
            store(m, f, m.offset(at, _PAIR), out[:_N])
            store(m, f, m.offset(at, 2 * _PAIR), out[_N:])

    def only_constant(b, k):
        m = _Machine(b)
        return [[*[m.zero] * _N, *_number(m, k)]] * 2

    @named
    def poseidon_partial(b, x, v, n, k):
        columns, v, numbers = _add_products(b, f, only_constant(b, k), v, I64(_PAIR), n, b.add(k, I64(_NUMBER)))
        partial_round(b, x, columns, v, numbers)

    @named
    def poseidon_partial_least(b, x, v, k):
        partial_round(b, x, only_constant(b, k), v, b.add(k, I64(_NUMBER)))

    return _Operations(
        poseidon_enter, poseidon_fifth, poseidon_row, poseidon_partial, poseidon_partial_least, poseidon_leave
    )


_bls, _bn = _operations("bls12_381", FR_LANES), _operations("bn254", BN254_FR_LANES)
_bls_enter, _bls_fifth, _bls_row, _bls_partial, _bls_partial_least, _bls_leave = _bls
_bn_enter, _bn_fifth, _bn_row, _bn_partial, _bn_partial_least, _bn_leave = _bn


@operation
def _copy(b, d, x):
    """A pair."""
    m = Machine(b)
    for i in range(2 * _N):
        m.store(d, i, m.load(x, i))


# Kernels: of either field ----------------------------------------------------------------------------------------------------


@inlined
def _enter(field, d, a, stride, c):
    if field == BLS12_381:
        _bls_enter(d, a, stride, c)
    else:
        _bn_enter(d, a, stride, c)


@inlined
def _row(field, d, last, v, stride, n, k):
    if field == BLS12_381:
        _bls_row(d, last, v, stride, n, k)
    else:
        _bn_row(d, last, v, stride, n, k)


@inlined
def _fifths(field, d, x, n):
    for i in range(n):
        if field == BLS12_381:
            _bls_fifth(d + _PAIR * i, x + _PAIR * i)
        else:
            _bn_fifth(d + _PAIR * i, x + _PAIR * i)


@inlined
def _matrix(field, d, s, n, n_rows, k):
    """n_rows rows over n elements, of which the last has the factor 1.  Returns the address of the next number."""
    for i in range(n_rows):
        _row(field, d + _PAIR * i, s + _PAIR * (n - 1), s, _PAIR, n - 1, k)
        k += _NUMBER * n
    return k


@inlined
def _partial(field, x, v, n, k):
    if n == 0:
        if field == BLS12_381:
            _bls_partial_least(x, v, k)
        else:
            _bn_partial_least(x, v, k)
    elif field == BLS12_381:
        _bls_partial(x, v, n, k)
    else:
        _bn_partial(x, v, n, k)


@inlined
def _partial_rounds(field, history, end, x, n, n_rounds, k):
    """n_rounds of 2 n elements each, or LEAST_FACTORS; the last of them at x.  Returns the last of the elements behind them."""
    width = max(2 * n, LEAST_FACTORS)
    for _ in range(n_rounds):
        if x + 2 * _PAIR >= end:
            window = x - _PAIR * (width - 1)
            for i in range(width):
                _copy(history + _PAIR * i, window + _PAIR * i)
            x = history + _PAIR * (width - 1)
        _partial(field, x, x - _PAIR * (width - 1), width - LEAST_FACTORS, k)
        x += 2 * _PAIR
        k += _NUMBER * (width + 1)
    return x


@kernel
def _hash(out, inputs, table, field, t, half, r_p, work):
    """work: zero, a pair that is 0; state, t pairs; `history`, the others, which S-boxes of full rounds share."""
    n, stride = t - 1, ELEMENT_BYTES * (t - 1)
    zero = row(work, 0)
    state = zero + _PAIR
    history = state + _PAIR * t
    end = zero + WORD_BYTES * work.shape[1]
    s = history
    for g in range(0, len(out), AT_ONCE):
        k = row(table, 0)
        for i in range(n):
            _enter(field, state + _PAIR * i, row(inputs, g) + ELEMENT_BYTES * i, stride, k)
            k += _NUMBER
        width = n
        for _ in range(1, half):
            _fifths(field, s, state, width)
            k = _matrix(field, state, s, width, t, k)
            width = t
        _fifths(field, s, state, t)
        k = _matrix(field, state, s, t, t, k)
        # What was x_0, u_0 is x_0, and in place of u_0 what it adds to the next n
        x = history
        if n == 1:  # factors that are 0 stand for what lies before x_0
            x += _PAIR * 2
            for i in range(2):
                _copy(history + _PAIR * i, zero)
        first = x + _PAIR
        _copy(x, state)
        for i in range(n):
            _fifths(field, x + _PAIR, x, 1)
            _row(field, x + 2 * _PAIR, state + _PAIR * (i + 1), first, 2 * _PAIR, i + 1, k)
            x += 2 * _PAIR
            k += _NUMBER * (i + 2)
        x = _partial_rounds(field, history, end, x, n, r_p - n, k)
        k += _NUMBER * (r_p - n) * (max(2 * n, LEAST_FACTORS) + 1)
        _copy(state, x)
        for i in range(n):
            _row(field, state + _PAIR * (i + 1), x, x - _PAIR * (2 * n - 1), _PAIR, 2 * n - 1, k)
            k += _NUMBER * 2 * n
        for _ in range(1, half):
            _fifths(field, s, state, t)
            k = _matrix(field, state, s, t, t, k)
        _fifths(field, s, state, t)
        _row(field, state, zero, s, _PAIR, t, k)
        if field == BLS12_381:
            _bls_leave(row(out, g), ELEMENT_BYTES, state)
        else:
            _bn_leave(row(out, g), ELEMENT_BYTES, state)


# The body --------------------------------------------------------------------------------------------------------------------


def radix(field):
    """R of the Montgomery form in which factors and constants are given."""
    return FIELDS[field].radix


def table(field, numbers):
    """Integers below p as a table."""
    return np.array([FIELDS[field].limbs(x) for x in numbers], np.uint64)


def hash_many(out, inputs, table, field, t, half, r_p):
    """As poseidon.hash_many; what is left of the last sixteen is done on zeros."""
    n_pairs = 1 + t + max(2 * (t - 1), LEAST_FACTORS) + 2 * _ROUNDS_KEPT + 2
    work = aligned(n_pairs * _PAIR // WORD_BYTES).reshape(1, -1)
    work[0, : _PAIR // WORD_BYTES] = 0
    whole = len(out) - len(out) % AT_ONCE
    _hash(out[:whole], inputs[:whole], table, field, t, half, r_p, work)
    if whole < len(out):
        padded, last = np.zeros((AT_ONCE, inputs.shape[1]), np.uint64), np.empty((AT_ONCE, out.shape[1]), np.uint64)
        padded[: len(out) - whole] = inputs[whole:]
        _hash(last, rows(padded, inputs.shape[1]), table, field, t, half, r_p, work)
        out[whole:] = last[: len(out) - whole]

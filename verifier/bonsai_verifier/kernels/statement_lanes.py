"""The vector body of statement.py: sixteen proofs at a time, as two blocks of lanes side by side (a pair).

Where fewer than sixteen are left, the lanes beyond the last proof repeat it: they read, compute and write the same.
Bounds: every block is weak, and what is multiplied here besides is at most 8/3 r, so 64/9 r^2 or less (lanes.py allows 11 r^2 in Fr).
"""

import numpy as np

from ..parameters import FR_MODULUS
from .cache import inlined, kernel
from .fr import FR_BYTES, FR_WORDS
from .fr_lanes import (
    FR_BLOCK,
    FR_LANES,
    fr8_copy,
    fr8_inv,
    fr8_mul,
    fr8_mul2,
    fr8_one,
    fr8_select,
    fr8_sqr2_times,
    fr8_zeros,
)
from .intrinsics import I64, formula, operation
from .lane_machine import LANES, LaneField, Machine, together
from .lane_operations import blocks
from .lanes import (
    carry,
    constant,
    difference,
    exact,
    leave,
    limbs_from_words,
    load,
    load_blocks,
    load_rows,
    minus,
    multiply,
    multiply_self,
    plus,
    product,
    reduce,
    store_blocks,
    store_rows,
    weaken,
    words_from_limbs,
)
from .limbs import row, stack, store_word

PAIR = 2 * LANES
PAIRS = 64  # that share an inversion
_CHALLENGE = LaneField(FR_MODULUS, 10, 8, folds=0)  # as limbs of 64 bytes
_WEIGHT = LaneField(FR_MODULUS, 3, 2, folds=0)  # as limbs of 128 bits
_SUM_LIMBS = 8  # of a sum of weights times scalars: 128 + 255 bits, and 33 for their number


def domain_constants(domain_size, powers):
    """Of the domain of N points and of its w^j: the blocks 1/N, the w^j, the w^j R."""
    p, radix = FR_MODULUS, FR_LANES.radix
    values = [pow(domain_size, -1, p), *powers, *(w * radix for w in powers)]
    out = blocks(len(values), FR_LANES)
    out[:] = np.array([FR_LANES.limbs(x * radix % p) for x in values], np.uint64)[:, :, None]
    return out


def room():
    """Memory for PAIRS pairs of blocks: P, Q, and the product of the Q before; and for four pairs besides."""
    return blocks(2 * (3 * PAIRS + 4), FR_LANES)


# Writers, of one block -------------------------------------------------------------------------------------------------------


def challenge_modulo_r(m, words):
    """c modulo r.  In: 64 bytes as 8 words, any.  Out: weak: the first reduction leaves 2^512 / R < r / 7, and r."""
    x = yield from reduce(m, FR_LANES, limbs_from_words(m, _CHALLENGE, words))
    return (yield from multiply(m, FR_LANES, x, constant(m, FR_LANES, FR_LANES.radix**2)))


def next_fraction(m, p, q, r, x, w, w_radix):
    """(p d + x w q, q d) for d = r - w, in one list.  In: weak, w below r; x canonical words.  Out: weak.

    d < 7/3 r; so the first value comes from 4/3 7/3 r^2 + 4/3 4/3 r^2.
    """
    f = FR_LANES
    c = yield from multiply(m, f, limbs_from_words(m, f, x), w_radix)
    d = difference(m, f, r, w, 1)
    t = yield from product(m, c, q, (yield from product(m, p, d)))
    new_p = yield from reduce(m, f, t)
    return [*new_p, *(yield from multiply(m, f, q, d))]


def opened(m, x, v):
    """(v + x)^2.  In: x weak; v canonical words.  Out: weak, from a square of 8/3 r."""
    f = FR_LANES
    v = yield from multiply(m, f, limbs_from_words(m, f, v), constant(m, f, f.radix))
    return (yield from multiply_self(m, f, carry(m, plus(m, v, x))))


def weighed(m, counts, rho, r, v, v_p):
    """rho r in [0, r), and the columns of rho v and of rho v_p, 0 where `counts` says so: all in one list.

    In: words; rho below 2^128, r in Montgomery form, v and v_p any integers below r.
    """
    f = FR_LANES
    weights = limbs_from_words(m, _WEIGHT, rho)
    t = yield from product(m, weights, limbs_from_words(m, f, r, f.lift))
    x = yield from reduce(m, f, [*t, m.zero, m.zero])  # 2^128 2^lift r / R is next to nothing
    weights = [m.select(counts, limb, m.zero) for limb in weights]
    columns = []
    for factor in (v, v_p):
        columns += yield from product(m, weights, limbs_from_words(m, f, factor))
    return [*exact(m, f, x), *columns]


def minus_total(m, columns, scale):
    """Minus (T scale / R), T over all lanes, in [0, r).  In: _SUM_LIMBS carried columns of T; scale an integer."""
    f = FR_LANES
    for distance in (4, 2, 1):
        columns = [m.add(x, m.shuffle(x, x, [lane ^ distance for lane in range(LANES)])) for x in columns]
    x = yield from reduce(m, f, [*carry(m, columns), m.zero, m.zero])
    x = exact(m, f, (yield from multiply(m, f, x, constant(m, f, scale))))
    return exact(m, f, difference(m, f, [m.zero] * f.n, x, 1))


# Operations on pairs ---------------------------------------------------------------------------------------------------------


def _rows_from(m, address, stride, last):
    """Addresses of both times eight rows, `stride` bytes apart; those beyond row `last` are its own."""
    b, out = m.builder, [address]
    for lane in range(1, PAIR):
        out.append(b.add(out[-1], b.select(b.icmp_signed("<=", I64(lane), last), stride, I64(0))))
    return out[:LANES], out[LANES:]


def _read(m, address, stride, last, n_words=FR_WORDS):
    """Both times eight rows of words, in lanes."""
    return [load_rows(m, addresses, n_words) for addresses in _rows_from(m, address, stride, last)]


def _write(m, address, last, pair):
    """Both times eight rows of words, one after the other."""
    for addresses, x in zip(_rows_from(m, address, I64(FR_BYTES), last), pair):
        store_rows(m, addresses, x)


def _load_pair(m, address):
    return load_blocks(m, FR_LANES, address, 2)


def _store_pair(m, address, pair):
    store_blocks(m, FR_LANES, address, pair)


@operation
def _read_challenges(b, d, a, last):
    """Sixteen times 64 bytes modulo r, in Montgomery form."""
    m = Machine(b)
    challenges = _read(m, a, I64(8 * _CHALLENGE.n_words), last, _CHALLENGE.n_words)
    _store_pair(m, d, together(*(challenge_modulo_r(m, c) for c in challenges)))


@operation
def _write_rows(b, a, last, d):
    """Sixteen rows of words from a on, in Montgomery form."""
    m = Machine(b)
    _write(m, a, last, [leave(m, FR_LANES, x) for x in _load_pair(m, d)])


@operation
def _step(b, p, q, r, x, stride, last, w, w_radix):
    """p <- p d + x w q, q <- q d for d = r - w.  In: x rows of scalars; w, w_radix blocks: w, w R."""
    m, n = Machine(b), FR_LANES.n
    constants = [load(m, FR_LANES, at) for at in (w, w_radix)]
    pairs = zip(*(_load_pair(m, at) for at in (p, q, r)), _read(m, x, stride, last))
    new = together(*(next_fraction(m, *operands, *constants) for operands in pairs))
    _store_pair(m, p, [x[:n] for x in new])
    _store_pair(m, q, [x[n:] for x in new])


@operation
def _minus_one(b, d):
    """x - 1."""
    m, f = Machine(b), FR_LANES
    one = constant(m, f, 1)
    _store_pair(m, d, [weaken(m, f, minus(m, x, one)) for x in _load_pair(m, d)])


@operation
def _open(b, a, last, x, v, stride):
    """(v + x)^2 as rows of words from a on.  In: v rows of scalars."""
    m = Machine(b)
    out = together(*(opened(m, *operands) for operands in zip(_load_pair(m, x), _read(m, v, stride, last))))
    _write(m, a, last, [leave(m, FR_LANES, y) for y in out])


@operation
def _weigh(b, a, last, rho, r, v, stride, v_p, sums):
    """rho r as rows of words from a on, canonical; rho v and rho v_p are added to the sums, _SUM_LIMBS vectors each."""
    m, f = Machine(b), FR_LANES
    row_bytes = I64(FR_BYTES)
    rows = zip(
        _read(m, rho, row_bytes, last, _WEIGHT.n_words),
        _read(m, r, row_bytes, last),
        _read(m, v, stride, last),
        _read(m, v_p, row_bytes, last),
    )
    there = b.sub(b.shl(I64(2), last), I64(1))  # bits 0..last: a repeated proof counts once
    counts = [m.mask(b.lshr(there, I64(LANES * half))) for half in range(2)]
    new = together(*(weighed(m, mask, *words) for mask, words in zip(counts, rows)))
    _write(m, a, last, [words_from_limbs(m, f, x[: f.n]) for x in new])
    total = [m.add(m.load(sums, i), m.add(*(x[f.n + i] for x in new))) for i in range(2 * _SUM_LIMBS)]
    for first in (0, _SUM_LIMBS):
        for i, limb in enumerate(carry(m, total[first : first + _SUM_LIMBS])):
            m.store(sums, first + i, limb)


@operation
def _close(b, a, sums):
    """Minus the sums over all lanes as two rows of words from a on, canonical: of v, and of v_p, which came in Montgomery form."""
    m, f = Machine(b), FR_LANES
    columns = [m.load(sums, i) for i in range(2 * _SUM_LIMBS)]
    totals = together(
        minus_total(m, columns[:_SUM_LIMBS], f.radix),
        minus_total(m, columns[_SUM_LIMBS:], f.radix >> (64 * f.n_words)),
    )
    for i, x in enumerate(totals):
        store_rows(m, [m.offset(a, FR_BYTES * i)] * LANES, words_from_limbs(m, f, x))


@formula
def _mul_pair(d, a, c):
    fr8_mul2(d, a, c, d + FR_BLOCK, a + FR_BLOCK, c + FR_BLOCK)


@formula
def _one_pair(d):
    fr8_one(d)
    fr8_one(d + FR_BLOCK)


@formula
def _copy_pair(d, a):
    fr8_copy(d, a)
    fr8_copy(d + FR_BLOCK, a + FR_BLOCK)


@inlined
def _power(z, a, n):
    """z = a^n, n >= 1."""
    bit = 1
    while 2 * bit <= n:
        bit *= 2
    _copy_pair(z, a)
    squarings = 0
    while bit > 1:
        bit //= 2
        squarings += 1
        if n & bit or bit == 1:
            fr8_sqr2_times(z, z + FR_BLOCK, squarings)
            squarings = 0
        if n & bit:
            _mul_pair(z, z, a)


@kernel
def statement_many(r, v_p, in_domain, challenge, inputs, n_inputs, v, domain_size, constants, room):
    """r, v_p and whether r is in H, of n proofs (contract: statement.py)."""
    n = len(r)
    w, w_radix = 1, n_inputs + 2
    r_pair, z, u = row(room, 6 * PAIRS), row(room, 6 * PAIRS + 2), row(room, 6 * PAIRS + 4)
    one = row(room, 6 * PAIRS + 6)
    fr8_one(one)
    for start in range(0, n, PAIR * PAIRS):
        pairs = (min(n - start, PAIR * PAIRS) + PAIR - 1) // PAIR
        _one_pair(u)
        for k in range(pairs):
            i = start + PAIR * k
            last = min(n - i, PAIR) - 1
            p, q, before = row(room, 6 * k), row(room, 6 * k + 2), row(room, 6 * k + 4)
            _read_challenges(r_pair, row(challenge, i), last)
            _write_rows(row(r, i), last, r_pair)
            _one_pair(p)
            _copy_pair(q, r_pair)
            _minus_one(q)
            for j in range(n_inputs):
                x = inputs[0] + i * inputs[1] + FR_BYTES * j
                _step(p, q, r_pair, x, inputs[1], last, row(constants, w + 1 + j), row(constants, w_radix + 1 + j))
            _power(z, r_pair, domain_size)
            _minus_one(z)
            for half in range(2):
                zeros = fr8_zeros(z + FR_BLOCK * half)
                if zeros:
                    for lane in range(min(LANES, last + 1 - LANES * half)):
                        in_domain[i + LANES * half + lane] = zeros >> lane & 1
                    fr8_select(q + FR_BLOCK * half, fr8_zeros(q + FR_BLOCK * half), one, q + FR_BLOCK * half)
            _mul_pair(p, p, z)
            _copy_pair(before, u)
            _mul_pair(u, u, q)
        fr8_mul(z, u, u + FR_BLOCK)
        fr8_inv(z, z)
        fr8_mul(z, z, row(constants, 0))
        fr8_mul2(u, z, u + FR_BLOCK, u + FR_BLOCK, z, u)
        for k in range(pairs - 1, -1, -1):
            i = start + PAIR * k
            last = min(n - i, PAIR) - 1
            p, q, before = row(room, 6 * k), row(room, 6 * k + 2), row(room, 6 * k + 4)
            _mul_pair(before, before, u)  # 1 / (N Q)
            _mul_pair(u, u, q)
            _mul_pair(p, p, before)
            _open(row(v_p, i), last, p, v[0] + i * v[1], v[1])


@kernel
def weigh_many(out, rho, r, v, v_p):
    """rho_i r_i of n proofs, then - sum rho_i v_i and - sum rho_i v_p,i (contract: statement.py)."""
    n = len(r)
    sums = stack(128)  # 2 _SUM_LIMBS vectors
    for i in range(128):
        store_word(sums + 8 * i, np.uint64(0))
    for i in range(0, n, PAIR):
        last = min(n - i, PAIR) - 1
        _weigh(row(out, i), last, row(rho, i), row(r, i), v[0] + i * v[1], v[1], row(v_p, i), sums)
    _close(row(out, n), sums)

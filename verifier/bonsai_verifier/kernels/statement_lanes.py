"""The vector body of statement.py: sixteen proofs at a time, as two blocks of lanes side by side (a pair).

Where fewer than sixteen are left, the lanes beyond the last proof repeat it: they read, compute and write the same.

Bounds.  Blocks here are *slack*: normalised, below 5/4 r.  R > 35 r, so a product of slack x, y is below r + x y / R < 5/4 r, and so is
what `_step` makes: 5/4 9/4 + 5/4 5/4 < 35/4.  The writers behind fr_lanes.py take them as they take weak blocks.
"""

import numpy as np

from ..parameters import FR_MODULUS
from .cache import inner, kernel
from .fr import FR_BYTES, FR_WORDS, fr_copy, fr_inv, fr_mul, fr_one
from .fr_lanes import (
    FR_BLOCK,
    FR_LANES,
    fr8_copy,
    fr8_enter,
    fr8_leave,
    fr8_mul,
    fr8_mul2,
    fr8_one,
    fr8_select,
    fr8_sqr2_times,
    fr8_zeros,
)
from .intrinsics import I64, formula, operation
from .lanes import (
    LANES,
    LaneField,
    Machine,
    blocks,
    carry,
    constant,
    difference,
    exact,
    leave,
    limbs_from_words,
    load,
    load_rows,
    minus,
    multiply,
    multiply_self,
    plus,
    product,
    reduce,
    store,
    store_rows,
    together,
    weaken,
    words_from_limbs,
)
from .limbs import row, stack, store_word

PAIR = 2 * LANES
PAIRS = 64  # that share an inversion
_CHALLENGE = LaneField(FR_MODULUS, 10, 8)  # as limbs of 64 bytes
_WEIGHT = LaneField(FR_MODULUS, 3, 2)  # as limbs of 128 bits
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


# Operations on pairs ---------------------------------------------------------------------------------------------------------


def _rows_from(m, address, stride, last):
    """Addresses of both times eight rows, `stride` bytes apart; those beyond row `last` are its own."""
    b, out = m.builder, [address]
    for lane in range(1, PAIR):
        out.append(b.add(out[-1], b.select(b.icmp_signed("<=", I64(lane), last), stride, I64(0))))
    return out[:LANES], out[LANES:]


def _load_pair(m, address):
    return [load(m, FR_LANES, m.offset(address, FR_BLOCK * i)) for i in range(2)]


def _store_pair(m, address, pair):
    for i in range(2):
        store(m, FR_LANES, m.offset(address, FR_BLOCK * i), pair[i])


def _load_scalars(m, addresses, shift=0):
    """Canonical scalars as limbs, times 2^shift."""
    return limbs_from_words(m, FR_LANES, load_rows(m, addresses, FR_WORDS), shift)


@operation
def _read_challenges(b, d, a, last):
    """Sixteen times 64 bytes modulo r, in Montgomery form."""
    m, f = Machine(b), FR_LANES

    def read(addresses):
        t = limbs_from_words(m, _CHALLENGE, load_rows(m, addresses, _CHALLENGE.n_words))
        x = yield from reduce(m, f, t)  # t / R < 2^252
        return (yield from multiply(m, f, x, constant(m, f, f.radix**2)))

    rows = _rows_from(m, a, I64(64), last)
    _store_pair(m, d, together(*(read(addresses) for addresses in rows)))


@operation
def _write(b, a, last, d):
    """Sixteen rows of words from a on, in Montgomery form."""
    m = Machine(b)
    for addresses, x in zip(_rows_from(m, a, I64(FR_BYTES), last), _load_pair(m, d)):
        store_rows(m, addresses, leave(m, FR_LANES, x))


@operation
def _step(b, p, q, r, x, stride, last, w, w_radix):
    """p <- p d + x w q, q <- q d, for d = r - w.  In: x rows of scalars; w, w_radix blocks: w, w R."""
    m, f = Machine(b), FR_LANES
    w_j, k = load(m, f, w), load(m, f, w_radix)

    def step(p_i, q_i, r_i, addresses):
        c = yield from multiply(m, f, _load_scalars(m, addresses), k)
        d = difference(m, f, r_i, w_j, 1)
        t = plus(m, (yield from product(m, p_i, d)), (yield from product(m, c, q_i)))
        new_p = yield from reduce(m, f, t)
        return new_p, (yield from multiply(m, f, q_i, d))

    pairs = zip(*(_load_pair(m, address) for address in (p, q, r)), _rows_from(m, x, stride, last))
    new = together(*(step(*operands) for operands in pairs))
    for address, pair in zip((p, q), zip(*new)):
        _store_pair(m, address, pair)


@operation
def _minus_one(b, d):
    """x - 1, weak."""
    m, f = Machine(b), FR_LANES
    one = constant(m, f, 1)
    _store_pair(m, d, [weaken(m, f, minus(m, x, one)) for x in _load_pair(m, d)])


@operation
def _open(b, a, last, x, v, stride):
    """(v + x)^2 as rows of words from a on.  In: v rows of scalars."""
    m, f = Machine(b), FR_LANES

    def opened(x_i, addresses):
        v_i = yield from multiply(m, f, _load_scalars(m, addresses), constant(m, f, f.radix))
        return (yield from multiply_self(m, f, carry(m, plus(m, v_i, x_i))))

    out = together(*map(opened, _load_pair(m, x), _rows_from(m, v, stride, last)))
    for addresses, y in zip(_rows_from(m, a, I64(FR_BYTES), last), out):
        store_rows(m, addresses, leave(m, f, y))


def _rectangle(m, x, y):
    """The columns of x y, as `product`."""
    t = [m.zero] * (len(x) + len(y))
    for i in range(len(x)):
        for j in range(len(y)):
            t[i + j] = m.lo(t[i + j], x[i], y[j])
        for j in range(len(y)):
            t[i + j + 1] = m.hi(t[i + j + 1], x[i], y[j])
        yield
    return t


@operation
def _weigh(b, a, last, rho, r, v, stride, v_p, sums):
    """rho r as rows of words from a on, canonical; rho v and rho v_p are added to the sums, _SUM_LIMBS vectors each.

    In: rows; rho below 2^128, r in Montgomery form, v and v_p any integers below r.
    """
    m, f = Machine(b), FR_LANES
    widths = (I64(FR_BYTES), I64(FR_BYTES), stride, I64(FR_BYTES))
    rows = zip(*(_rows_from(m, at, width, last) for at, width in zip((rho, r, v, v_p), widths)))
    present = b.sub(b.shl(I64(2), last), I64(1))

    def weighed(half, rho_rows, r_rows, v_rows, v_p_rows):
        weights = limbs_from_words(m, _WEIGHT, load_rows(m, rho_rows, _WEIGHT.n_words))
        t = yield from _rectangle(m, weights, _load_scalars(m, r_rows, f.lift))
        x = yield from reduce(m, f, [*t, m.zero, m.zero])
        mask = m.mask(b.lshr(present, I64(LANES * half)))
        weights = [m.select(mask, limb, m.zero) for limb in weights]  # a repeated proof counts once
        out = []
        for addresses in (v_rows, v_p_rows):
            out += yield from _rectangle(m, weights, _load_scalars(m, addresses))
        return x, out

    (x_0, t_0), (x_1, t_1) = together(*(weighed(half, *addresses) for half, addresses in enumerate(rows)))
    for addresses, x in zip(_rows_from(m, a, I64(FR_BYTES), last), (x_0, x_1)):
        store_rows(m, addresses, words_from_limbs(m, f, exact(m, f, x)))
    total = [m.add(m.load(sums, i), m.add(t_0[i], t_1[i])) for i in range(2 * _SUM_LIMBS)]
    for first in (0, _SUM_LIMBS):
        for i, limb in enumerate(carry(m, total[first : first + _SUM_LIMBS])):
            m.store(sums, first + i, limb)


@operation
def _close(b, a, sums):
    """Minus the sums, over all lanes, as two rows of words from a on, canonical: of v, and of v_p, which came in Montgomery form."""
    m, f = Machine(b), FR_LANES

    def closed(first, scale):
        t = [m.load(sums, first + i) for i in range(_SUM_LIMBS)]
        for distance in (4, 2, 1):
            t = [m.add(x, m.shuffle(x, x, [lane ^ distance for lane in range(LANES)])) for x in t]
        x = yield from reduce(m, f, [*carry(m, t), m.zero, m.zero])
        x = exact(m, f, (yield from multiply(m, f, x, constant(m, f, scale))))
        return exact(m, f, difference(m, f, [m.zero] * f.n, x, 1))

    scales = (f.radix, f.radix >> (64 * f.n_words))
    for i, x in enumerate(together(*(closed(_SUM_LIMBS * i, scale) for i, scale in enumerate(scales)))):
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


@inner
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


@inner
def _invert(d):
    """1/x in each lane, none of them 0, with one inversion."""
    words, before, product, inverse = stack(32), stack(32), stack(4), stack(4)
    fr8_leave(words, FR_BYTES, d)
    fr_one(product)
    for lane in range(LANES):
        fr_copy(before + FR_BYTES * lane, product)
        fr_mul(product, product, words + FR_BYTES * lane)
    fr_inv(inverse, product)
    for lane in range(LANES - 1, -1, -1):
        fr_mul(before + FR_BYTES * lane, before + FR_BYTES * lane, inverse)
        fr_mul(inverse, inverse, words + FR_BYTES * lane)
    fr8_enter(d, before, FR_BYTES)


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
            _write(row(r, i), last, r_pair)
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
        _invert(z)
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
    sums = stack(2 * 8 * 8)
    for i in range(2 * 8 * 8):
        store_word(sums + 8 * i, np.uint64(0))
    for i in range(0, n, PAIR):
        last = min(n - i, PAIR) - 1
        _weigh(row(out, i), last, row(rho, i), row(r, i), v[0] + i * v[1], v[1], row(v_p, i), sums)
    _close(row(out, n), sums)

"""Sums of points for Sinsemilla: the vector body, with the contracts of sinsemilla.py.

A row of a table is a cache line: the four words of x and of y in the Montgomery form of lanes.  Eight rows are loaded by name, transposed,
and cut into limbs.  Three ways to sum, by the number of hashes:

  one         eight parts of its words side by side, in coordinates X/ZZ, Y/ZZZ; then the parts are added in three turns, in which
              halves of the lanes hold the products of one formula
  few         a hash a lane, in the same coordinates
  many        affine, a word at a time (affine_lanes.py has the formulas); for lack of hashes the words of each are cut into chains, so that
              some 2,048 additions share an inversion, and the chains are added up in the end

Unchecked sums do not test whether an addition's denominator vanishes.  Where one does, the product of its batch is 0, or ZZ from there on:
then the hashes of this call are done again, checked.  Checked ones test each, and 2 T, in the order of the words; few of them are left to
the portable body.
"""

import threading

import numpy as np
from llvmlite import ir

from bonsai_verifier.kernels.cache import inner, kernel
from bonsai_verifier.kernels.intrinsics import I64, formula, operation
from bonsai_verifier.kernels.lane_machine import LANES, VECTOR_BYTES, Machine, in_turn, together
from bonsai_verifier.kernels.lane_operations import aligned
from bonsai_verifier.kernels.lanes import (
    difference,
    enter,
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
    reduced,
    select,
    square,
    store,
    store_rows,
    strided,
    transpose,
    weaken,
    words_from_limbs,
)
from bonsai_verifier.kernels.limbs import WORD_BYTES, load_word, prefetch, row, stack, store_word

from . import sinsemilla as portable
from .pallas import (
    PALLAS_BYTES,
    PALLAS_WORDS,
    POINT_WORDS,
    affine_add,
    pallas_from_mont,
    pallas_inv,
    pallas_is_zero,
    pallas_mul,
    pallas_sqr,
    pallas_zero,
)
from .pallas_lanes import (
    PALLAS_BLOCK,
    PALLAS_LANES,
    pallas8_copy,
    pallas8_inv,
    pallas8_mul,
    pallas8_one,
    pallas8_sqr,
    pallas8_sub,
    pallas8_zeros,
)
from .sinsemilla import FINE, GENERATORS, MERKLE_WORDS, TOO_LARGE, VANISHED, first_not_canonical, name_pair

ALONE = 3  # up to so many hashes one after the other are faster than side by side
FEW = 32  # and up to so many, in coordinates without division
CHECKED_ALONE = 8  # up to so many are checked by the portable body
BATCH = 1024  # hashes of one call
ADDITIONS = 256  # of eight, to one inversion

_F = PALLAS_LANES
_I32 = ir.IntType(32)
_POINT_BYTES = POINT_WORDS * WORD_BYTES
_NAME_SHIFT, _NAME_BYTES = 6, 4
_MOST_CHAINS = 16
_AHEAD = 6  # pairs of steps
# A slot, eight sums: x and y; the denominator and the product of those before; the difference of the ordinates
_Y, _D, _BEFORE, _RISE, _SLOT_BYTES = (PALLAS_BLOCK * i for i in range(1, 6))
_SLOT_WORDS, _BLOCK_WORDS = _SLOT_BYTES // WORD_BYTES, PALLAS_BLOCK // WORD_BYTES
_PAIR_WORDS = 2 * _BLOCK_WORDS
_EIGHT_NAMES = LANES * _NAME_BYTES
_ROW_BYTES = GENERATORS * _POINT_BYTES
_ADDRESSES = 64
_ZZ, _ZZZ = 2 * PALLAS_BLOCK, 3 * PALLAS_BLOCK
_kept = threading.local()


def packed(points):
    """As the portable body says; a row is a cache line."""
    whole = -(-len(points) // LANES) * LANES
    out = aligned(whole * POINT_WORDS).reshape(-1, POINT_WORDS)
    out[: len(points)], out[len(points) :] = points, points[:1]
    _pack(out)
    return out[: len(points)]


# Writers ---------------------------------------------------------------------------------------------------------------------


def coordinates(m, rows):
    """x and y of eight points, each a vector of words."""
    words = transpose(m, rows)
    return limbs_from_words(m, _F, words[:PALLAS_WORDS]), limbs_from_words(m, _F, words[PALLAS_WORDS:])


def abscissa(m, s, x_a, d):
    """s^2 - x_A - x_B for d = x_B - x_A + 2 p.  In: normalised, x_A and s weak.  Out: weak."""
    t = yield from square(m, s)
    for i, (a, b, c) in enumerate(zip(x_a, d, _F.limbs(2 * _F.modulus))):
        t[_F.n + i] = m.sub(m.add(t[_F.n + i], m.const(c)), m.add(m.add(a, a), b))
    return weaken(m, _F, (yield from reduced(m, _F, t)))


def ordinate(m, s, run, y_a):
    """s run - y_A.  In: s and y_A weak, run normalised and below 10/3 p.  Out: weak."""
    t = yield from product(m, s, run)
    for i, a in enumerate(y_a):
        t[_F.n + i] = m.sub(t[_F.n + i], a)
    return weaken(m, _F, (yield from reduced(m, _F, t)))


def difference_of_products(m, x, y, z, w):
    """x y - z w.  In: normalised, x y <= 12 p^2, z w <= 2 p^2.  Out: weak."""
    first, second = yield from in_turn(product(m, x, y), product(m, z, w))
    return weaken(m, _F, (yield from reduced(m, _F, minus(m, first, second))))


def third_abscissa(m, rr, ppp, v):
    """R^2 - P^3 - 2 V, weak.  In: what `multiply` makes of operands below 10/3 p."""
    return weaken(m, _F, minus(m, rr, plus(m, ppp, plus(m, v, v))))


def third_abscissa_of(m, r, ppp, v):
    """As `third_abscissa`, from R, weak."""
    t = yield from square(m, r)
    for i, (a, b) in enumerate(zip(ppp, v)):
        t[_F.n + i] = m.sub(t[_F.n + i], m.add(a, m.add(b, b)))
    return weaken(m, _F, (yield from reduced(m, _F, t)))


def sum_of_halves(m, a, distance, *, abscissa_only=False):
    """In lanes l with no bit `distance`: the sum of those of lanes l and l + distance.  The other lanes mean nothing.  6M 1S of blocks.

    abscissa_only: X and ZZ alone, 5M 1S.
    "Low" are the lanes without the bit.  P and R are the differences of abscissas and ordinates on the common denominator.
    """
    x, y, zz, zzz = a
    low = m.is_zero(m.consts([i & distance for i in range(LANES)]))

    def swapped(block):
        return [m.shuffle(limb, limb, [i ^ distance for i in range(LANES)]) for limb in block]

    def split(first, second):
        """`first` in the low lanes, `second` in the others."""
        return select(m, low, first, second)

    z_own = split(zz, zzz)
    u, s, z = yield from in_turn(
        multiply(m, _F, x, swapped(zz)),
        multiply(m, _F, y, swapped(zzz)),
        multiply(m, _F, z_own, split(swapped(zz), swapped(zzz))),
    )
    u_other, s_other = swapped(u), swapped(s)
    p = difference(m, _F, u_other, u, 2)
    r = difference(m, _F, s_other, s, 2)
    pp_rr = yield from multiply_self(m, _F, split(p, r))
    pp_other = swapped(pp_rr)
    factors = split(p, u_other), split(pp_rr, pp_other)
    if abscissa_only:
        ppp_v, z = yield from in_turn(multiply(m, _F, *factors), multiply(m, _F, z, pp_rr))
        return third_abscissa(m, pp_other, ppp_v, swapped(ppp_v)), z
    ppp_v = yield from multiply(m, _F, *factors)
    other = swapped(ppp_v)  # V low, PPP high
    x = third_abscissa(m, pp_other, ppp_v, other)
    z, t = yield from in_turn(
        multiply(m, _F, z, split(pp_rr, other)),
        multiply(m, _F, split(r, s_other), split(difference(m, _F, other, x, 2), other)),
    )
    y = weaken(m, _F, minus(m, t, swapped(t)))
    return x, y, z, swapped(z)


# Operations ------------------------------------------------------------------------------------------------------------------


def _named_rows(m, base, names):
    """Eight rows of a table, by name."""
    first = m.builder.inttoptr(names, _I32.as_pointer())
    out = []
    for i in range(LANES):
        name = m.builder.load(m.builder.gep(first, [_I32(i)]), align=4)
        out.append(m.load(m.builder.add(base, m.builder.shl(m.builder.zext(name, I64), I64(_NAME_SHIFT)))))
    return out


def _rows_at(m, addresses):
    """Eight rows, by address."""
    first = m.builder.inttoptr(addresses, I64.as_pointer())
    return [m.load(m.builder.load(m.builder.gep(first, [_I32(i)]), align=8)) for i in range(LANES)]


def _store_all(m, address, blocks):
    for i, x in enumerate(blocks):
        store(m, _F, m.offset(address, PALLAS_BLOCK * i), x)


def _load_all(m, address, n):
    return [load(m, _F, m.offset(address, PALLAS_BLOCK * i)) for i in range(n)]


@operation
def _pack8(b, rows):
    """Eight points of pallas.py, one behind the other -> rows of a table, in place."""
    m = Machine(b)
    for offset in (0, PALLAS_BYTES):
        addresses = strided(m, m.offset(rows, offset), I64(_POINT_BYTES))
        words = load_rows(m, addresses, PALLAS_WORDS)
        store_rows(m, addresses, words_from_limbs(m, _F, exact(m, _F, enter(m, _F, words))))


@operation
def _begin(b, slot, base, names):
    """The slot's sums are eight rows."""
    m = Machine(b)
    _store_all(m, slot, coordinates(m, _named_rows(m, base, names)))


def _open(m, slot, x_b, y_b, total, ones=None):
    """Denominator and rise of the slot's sums and B; the product so far, and the product.  1 for the denominators of the lanes `ones`."""
    x_a, y_a = _load_all(m, slot, 2)
    d = difference(m, _F, x_b, x_a, 2)
    if ones is not None:
        d = select(m, m.mask(ones), [m.const(1), *[m.zero] * (_F.n - 1)], d)
    store(m, _F, m.offset(slot, _D), d)
    store(m, _F, m.offset(slot, _RISE), difference(m, _F, y_b, y_a, 2))
    before = load(m, _F, total)
    store(m, _F, m.offset(slot, _BEFORE), before)
    yield
    store(m, _F, total, (yield from multiply(m, _F, before, d)))


@operation
def _forward(b, slot, slot_2, base, names, names_2, totals):
    """The first half of adding named rows to two slots, each with a product of its own."""
    m = Machine(b)
    first = coordinates(m, _named_rows(m, base, names))
    second = coordinates(m, _named_rows(m, base, names_2))
    together(_open(m, slot, *first, totals), _open(m, slot_2, *second, m.offset(totals, PALLAS_BLOCK)))


@operation
def _forward_but(b, slot, slot_2, base, names, names_2, totals, ones, ones_2):
    """`_forward` with 1 for the denominators of the lanes in `ones` and `ones_2`, whose sums mean nothing."""
    m = Machine(b)
    first = coordinates(m, _named_rows(m, base, names))
    second = coordinates(m, _named_rows(m, base, names_2))
    together(_open(m, slot, *first, totals, ones), _open(m, slot_2, *second, m.offset(totals, PALLAS_BLOCK), ones_2))


@operation
def _forward_slots(b, slot, slot_2, other, other_2, totals):
    """The first half of adding two slots to two others."""
    m = Machine(b)
    first, second = _load_all(m, other, 2), _load_all(m, other_2, 2)
    together(_open(m, slot, *first, totals), _open(m, slot_2, *second, m.offset(totals, PALLAS_BLOCK)))


@operation
def _abscissa(b, slot, run, s):
    """x of the slot's sums from their slopes, in place of x_A; run = x_A - x."""
    m = Machine(b)
    x_a = load(m, _F, slot)
    (x,) = together(abscissa(m, load(m, _F, s), x_a, load(m, _F, m.offset(slot, _D))))
    store(m, _F, slot, x)
    store(m, _F, run, difference(m, _F, x_a, x, 2))


@operation
def _ordinate(b, y, s, run):
    """y of the slot's sums, in place of y_A."""
    m = Machine(b)
    store(m, _F, y, together(ordinate(m, load(m, _F, s), load(m, _F, run), load(m, _F, y)))[0])


@formula
def _back(first, second, totals):
    """The second half, from the inverses of the products up to two slots; leaves those up to the ones before.  8M 2S.

    Calls of functions a block of code each: written as one function this takes a third longer.  Neighbours do not wait for each other.
    """
    t, run = (stack(_BLOCK_WORDS), stack(_BLOCK_WORDS)), (stack(_BLOCK_WORDS), stack(_BLOCK_WORDS))
    slots, inverses = (first, second), (totals, totals + PALLAS_BLOCK)
    for i in range(2):
        pallas8_mul(t[i], slots[i] + _BEFORE, inverses[i])
    for i in range(2):
        pallas8_mul(inverses[i], inverses[i], slots[i] + _D)
    for i in range(2):
        pallas8_mul(t[i], t[i], slots[i] + _RISE)
    for i in range(2):
        _abscissa(slots[i], run[i], t[i])
    for i in range(2):
        _ordinate(slots[i] + _Y, t[i], run[i])


@operation
def _same_abscissas(b, bits, slot, base, names, above):
    """bits_0: the lanes in which the slot's x is that of its row; bits_1: that of the row of this name from `above` on."""
    m = Machine(b)
    x_a = load(m, _F, slot)
    for k, rows in enumerate((base, above)):
        x_b, _ = coordinates(m, _named_rows(m, rows, names))
        d = difference(m, _F, x_b, x_a, 2)
        found = None
        for multiple in (1, 2):  # x_B is below p: where d is a multiple of p, it is one of these
            other = m.zero
            for limb, c in zip(d, _F.limbs(multiple * _F.modulus)):
                other = m.or_(other, m.xor(limb, m.const(c)))
            same = m.is_zero(other)
            found = same if found is None else m.either(found, same)
        m.builder.store(m.bits(found), m.builder.inttoptr(m.offset(bits, WORD_BYTES * k), I64.as_pointer()))


@operation
def _put_lanes(b, slot, rows, bits):
    """Points of pallas.py, one behind the other, to the lanes in `bits`."""
    m = Machine(b)
    mask = m.mask(bits)
    for offset, at in ((0, 0), (PALLAS_BYTES, _Y)):
        words = load_rows(m, strided(m, m.offset(rows, offset), I64(_POINT_BYTES)), PALLAS_WORDS)
        store(m, _F, m.offset(slot, at), select(m, mask, enter(m, _F, words), load(m, _F, m.offset(slot, at))))


@operation
def _take(b, rows, slot):
    """The slot's sums as points of pallas.py, one behind the other."""
    m = Machine(b)
    for offset, at in ((0, 0), (PALLAS_BYTES, _Y)):
        words = leave(m, _F, load(m, _F, m.offset(slot, at)))
        store_rows(m, strided(m, m.offset(rows, offset), I64(_POINT_BYTES)), words)


@operation
def _load_rows(b, point, addresses):
    """x and y of eight rows."""
    m = Machine(b)
    _store_all(m, point, coordinates(m, _rows_at(m, addresses)))


@operation
def _less(b, d, x, y, z):
    """d = x y - z."""
    m = Machine(b)
    store(m, _F, d, together(ordinate(m, load(m, _F, x), load(m, _F, y), load(m, _F, z)))[0])


@operation
def _third_x(b, d, r, ppp, v):
    """d = R^2 - P^3 - 2 V."""
    m = Machine(b)
    store(m, _F, d, together(third_abscissa_of(m, *(load(m, _F, a) for a in (r, ppp, v))))[0])


@operation
def _third_y(b, y, r, v, x, ppp):
    """y = R (V - x) - y P^3."""
    m = Machine(b)
    run = difference(m, _F, load(m, _F, v), load(m, _F, x), 2)
    result = difference_of_products(m, load(m, _F, r), run, load(m, _F, y), load(m, _F, ppp))
    store(m, _F, y, together(result)[0])


@formula
def _first(acc, addresses, addresses_2):
    """(X, Y, ZZ, ZZZ) of the sums of eight rows and eight others.  4M 2S."""
    point, p, r, v = stack(_PAIR_WORDS), stack(_BLOCK_WORDS), stack(_BLOCK_WORDS), stack(_BLOCK_WORDS)
    _load_rows(acc, addresses)
    _load_rows(point, addresses_2)
    pallas8_sub(p, point, acc)
    pallas8_sub(r, point + _Y, acc + _Y)
    pallas8_sqr(acc + _ZZ, p)
    pallas8_mul(acc + _ZZZ, p, acc + _ZZ)
    pallas8_mul(v, acc, acc + _ZZ)
    _third_x(acc, r, acc + _ZZZ, v)
    _third_y(acc + _Y, r, v, acc, acc + _ZZZ)


@formula
def _next(acc, addresses):
    """Eight rows more.  8M 2S, two of them with one reduction."""
    point, p, r, v = stack(_PAIR_WORDS), stack(_BLOCK_WORDS), stack(_BLOCK_WORDS), stack(_BLOCK_WORDS)
    _load_rows(point, addresses)
    _less(p, point, acc + _ZZ, acc)
    _less(r, point + _Y, acc + _ZZZ, acc + _Y)
    pallas8_sqr(point, p)
    pallas8_mul(p, p, point)
    pallas8_mul(v, acc, point)
    pallas8_mul(acc + _ZZ, acc + _ZZ, point)
    _third_x(acc, r, p, v)
    pallas8_mul(acc + _ZZZ, acc + _ZZZ, p)
    _third_y(acc + _Y, r, v, acc, p)


@operation
def _select(b, acc, bits, more):
    """The lanes of `more` in `bits`."""
    m = Machine(b)
    mask = m.mask(bits)
    both = zip(_load_all(m, more, 4), _load_all(m, acc, 4))
    _store_all(m, acc, [select(m, mask, new, old) for new, old in both])


@operation
def _copy_sums(b, d, acc):
    m = Machine(b)
    _store_all(m, d, _load_all(m, acc, 4))


def _halves(distance):
    def write(b, acc):
        m = Machine(b)
        _store_all(m, acc, together(sum_of_halves(m, _load_all(m, acc, 4), distance))[0])

    return operation(write, f"halves_{distance}")


_halves_4, _halves_2, _halves_1 = _halves(4), _halves(2), _halves(1)


def _leave_first(m, out, blocks):
    """Lane 0 as words of pallas.py, one block after the other."""
    for i, x in enumerate(blocks):
        for j, word in enumerate(leave(m, _F, x)):
            m.store_word(out, PALLAS_WORDS * i + j, word)


@operation
def _leave_sum(b, out, acc):
    """Lane 0: X, Y, ZZ, ZZZ."""
    m = Machine(b)
    _leave_first(m, out, _load_all(m, acc, 4))


@operation
def _leave_abscissa(b, out, acc):
    """The sum of lanes 0 and 1: X, ZZ."""
    m = Machine(b)
    _leave_first(m, out, together(sum_of_halves(m, _load_all(m, acc, 4), 1, abscissa_only=True))[0])


@formula
def _sum_of_lanes(out, acc):
    """The sum of all lanes, as words of pallas.py: X, Y, ZZ, ZZZ."""
    _halves_4(acc)
    _halves_2(acc)
    _halves_1(acc)
    _leave_sum(out, acc)


@formula
def _abscissa_of_lanes(out, acc):
    """X and ZZ of the sum of all lanes, as words of pallas.py."""
    _halves_4(acc)
    _halves_2(acc)
    _leave_abscissa(out, acc)


@operation
def _divide(b, slot, acc, inverse):
    """x = X / ZZ and y = Y / ZZZ to the slot, for the inverse of ZZZ: ZZ / ZZZ is 1/Z."""
    m = Machine(b)
    x, y, zz, _ = _load_all(m, acc, 4)
    t = load(m, _F, inverse)
    (z,) = together(multiply(m, _F, zz, t))
    (zz,) = together(multiply_self(m, _F, z))
    _store_all(m, slot, together(multiply(m, _F, x, zz), multiply(m, _F, y, t)))


@operation
def _ask(b, base, names):
    """For eight rows, to read them soon."""
    m = Machine(b)
    first = b.inttoptr(names, _I32.as_pointer())
    for i in range(LANES):
        name = b.load(b.gep(first, [_I32(i)]), align=4)
        m.prefetch(b.add(base, b.shl(b.zext(name, I64), I64(_NAME_SHIFT))))


# Kernels ---------------------------------------------------------------------------------------------------------------------


@kernel
def _pack(rows):
    """In place, for a multiple of eight."""
    for i in range(0, len(rows), LANES):
        _pack8(row(rows, i))


@inner
def _add_in_lanes(acc, table, starts, names, i):
    """acc = eight sums, which together are that of hash i, of 16 points or more."""
    addresses, more = stack(_ADDRESSES), stack(_SLOT_WORDS)
    points = len(names)
    whole = points - points % LANES
    for k in range(whole + LANES):
        if k == 0:
            address = row(starts, names[0, i])
        else:
            address = row(table, names[min(k, points - 1), i])
        prefetch(address)
        store_word(addresses + k * WORD_BYTES, np.uint64(address))
    _first(acc, addresses, addresses + VECTOR_BYTES)
    for k in range(2 * LANES, whole, LANES):
        _next(acc, addresses + k * WORD_BYTES)
    if points > whole:
        _copy_sums(more, acc)
        _next(more, addresses + whole * WORD_BYTES)
        _select(acc, (1 << points - whole) - 1, more)


@kernel
def _one_by_one(out, table, starts, names, n):
    """The sums of the first n hashes, of 16 points or more each.  Returns whether a denominator vanished."""
    acc, words, t = stack(_SLOT_WORDS), stack(16), stack(4)
    zz, zzz = words + 2 * PALLAS_BYTES, words + 3 * PALLAS_BYTES
    for i in range(n):
        _add_in_lanes(acc, table, starts, names, i)
        _sum_of_lanes(words, acc)
        if pallas_is_zero(zzz):
            return True
        pallas_inv(t, zzz)
        pallas_mul(zz, zz, t)
        pallas_sqr(zz, zz)
        pallas_mul(row(out, i), words, zz)
        pallas_mul(row(out, i) + PALLAS_BYTES, words + PALLAS_BYTES, t)
    return False


@kernel
def node(table, starts, children):
    """As the portable body says."""
    wrong = first_not_canonical(children)
    if wrong < 2:
        return TOO_LARGE + wrong
    names, acc, words = np.empty((MERKLE_WORDS, 1), np.int32), stack(_SLOT_WORDS), stack(8)
    name_pair(row(names, 0), row(children, 0))
    _add_in_lanes(acc, table, starts, names, 0)
    _abscissa_of_lanes(words, acc)
    x, zz = words, words + PALLAS_BYTES
    if pallas_is_zero(zz):
        return VANISHED
    pallas_inv(zz, zz)
    pallas_mul(x, x, zz)
    pallas_from_mont(row(children, 0), x)
    pallas_zero(row(children, PALLAS_BYTES))
    return FINE


@kernel
def _hash_a_lane(out, table, starts, names, accs):
    """The sums of a multiple of eight hashes.  In: accs, a row of 5 blocks for eight.  Returns whether a denominator vanished."""
    groups, points = names.shape[1] // LANES, len(names)
    addresses, slot = stack(16), stack(_SLOT_WORDS)
    for g in range(groups):
        _address(addresses, starts, names, 0, g)
        _address(addresses + VECTOR_BYTES, table, names, 1, g)
        _first(row(accs, g), addresses, addresses + VECTOR_BYTES)
    for k in range(2, points):
        for g in range(groups):
            _address(addresses, table, names, k, g)
            _next(row(accs, g), addresses)
    total, inverse = stack(_BLOCK_WORDS), stack(_BLOCK_WORDS)
    pallas8_one(total)
    for g in range(groups):
        pallas8_copy(row(accs, g) + 4 * PALLAS_BLOCK, total)
        pallas8_mul(total, total, row(accs, g) + _ZZZ)
    if pallas8_zeros(total):
        return True
    pallas8_inv(total, total)
    for g in range(groups - 1, -1, -1):
        acc = row(accs, g)
        pallas8_mul(inverse, total, acc + 4 * PALLAS_BLOCK)
        pallas8_mul(total, total, acc + _ZZZ)
        _divide(slot, acc, inverse)
        _take(row(out, g * LANES), slot)
    return False


@inner
def _address(addresses, rows, names, k, g):
    for i in range(LANES):
        address = row(rows, names[k, g * LANES + i])
        prefetch(address)
        store_word(addresses + i * WORD_BYTES, np.uint64(address))


@kernel
def _word_by_word(out, table, starts, names, slots, chains):
    """The sums of a multiple of sixteen hashes, their points dealt to so many chains, a power of two.  In: slots, a row for eight sums.

    Returns whether a denominator vanished.
    """
    groups, points = names.shape[1] // LANES, len(names)
    base, totals = row(table, 0), stack(_PAIR_WORDS)
    longest = 0
    for c in range(chains):
        first = c * points // chains
        longest = max(longest, (c + 1) * points // chains - first)
        for g in range(groups):
            _begin(row(slots, c * groups + g), row(table if c else starts, 0), row(names, first) + g * _EIGHT_NAMES)
    for step in range(1, longest):
        pallas8_one(totals)
        pallas8_one(totals + PALLAS_BLOCK)
        for c in range(chains):
            k = c * points // chains + step
            if k < (c + 1) * points // chains:
                at = row(names, k)
                for g in range(0, groups, 2):
                    ask = at + min(g + 2 * _AHEAD, groups - 2) * _EIGHT_NAMES
                    _ask(base, ask)
                    _ask(base, ask + _EIGHT_NAMES)
                    slot, eight = row(slots, c * groups + g), at + g * _EIGHT_NAMES
                    _forward(slot, slot + _SLOT_BYTES, base, eight, eight + _EIGHT_NAMES, totals)
        if _inverted(totals):
            return True
        for c in range(chains - 1, -1, -1):
            if c * points // chains + step < (c + 1) * points // chains:
                _all_back(slots, c * groups, groups, totals)
    while chains > 1:
        chains //= 2
        pallas8_one(totals)
        pallas8_one(totals + PALLAS_BLOCK)
        for i in range(0, chains * groups, 2):
            slot, other = row(slots, i), row(slots, i + chains * groups)
            _forward_slots(slot, slot + _SLOT_BYTES, other, other + _SLOT_BYTES, totals)
        if _inverted(totals):
            return True
        _all_back(slots, 0, chains * groups, totals)
    for g in range(groups):
        _take(row(out, g * LANES), row(slots, g))
    return False


@inner
def _inverted(totals):
    """The inverses of two blocks in place.  Returns whether one has a zero."""
    both, first = stack(_BLOCK_WORDS), stack(_BLOCK_WORDS)
    pallas8_mul(both, totals, totals + PALLAS_BLOCK)
    if pallas8_zeros(both):
        return True
    pallas8_inv(both, both)
    pallas8_mul(first, both, totals + PALLAS_BLOCK)
    pallas8_mul(totals + PALLAS_BLOCK, both, totals)
    pallas8_copy(totals, first)
    return False


@inner
def _all_back(slots, first, n, totals):
    for i in range(n - 2, -1, -2):
        slot = row(slots, first + i)
        _back(slot, slot + _SLOT_BYTES, totals)


@kernel
def _checked_word_by_word(out, failed, table, starts, names, slots):
    """The sums of a multiple of sixteen hashes in the order of their words, each addition checked and complete."""
    n, points = names.shape[1], len(names)
    groups, base = n // LANES, row(table, 0)
    totals, bits, temporary, eight_a, eight_b = (stack(_PAIR_WORDS), stack(2), stack(_SLOT_WORDS), stack(64), stack(64))
    doubles, out_of_it = np.zeros(groups, np.int64), np.zeros(groups, np.int64)  # bits of lanes
    saved = np.empty((n, POINT_WORDS), np.uint64)
    for g in range(groups):
        _begin(row(slots, g), row(starts, 0), row(names, 0) + g * _EIGHT_NAMES)
    for k in range(1, points):
        pallas8_one(totals)
        pallas8_one(totals + PALLAS_BLOCK)
        for g in range(groups):
            slot, eight = row(slots, g), row(names, k) + g * _EIGHT_NAMES
            _same_abscissas(bits, slot, base, eight, base - _ROW_BYTES)
            same = np.int64(load_word(bits)) & ~out_of_it[g]
            out_of_it[g] |= np.int64(load_word(bits + WORD_BYTES))
            doubles[g] = 0
            if same:
                _begin(temporary, base, eight)
                _take(eight_a, slot)
                _take(eight_b, temporary)
                for i in range(LANES):
                    if same >> i & 1:
                        at = i * _POINT_BYTES
                        if affine_add(row(saved, g * LANES + i), eight_a + at, eight_b + at):
                            doubles[g] |= 1 << i
                        else:
                            out_of_it[g] |= 1 << i
        for g in range(0, groups, 2):
            slot, eight = row(slots, g), row(names, k) + g * _EIGHT_NAMES
            ones, ones_2 = doubles[g] | out_of_it[g], doubles[g + 1] | out_of_it[g + 1]
            _forward_but(slot, slot + _SLOT_BYTES, base, eight, eight + _EIGHT_NAMES, totals, ones, ones_2)
        _inverted(totals)
        _all_back(slots, 0, groups, totals)
        for g in range(groups):
            if doubles[g]:
                _put_lanes(row(slots, g), row(saved, g * LANES), doubles[g])
    for g in range(groups):
        _take(row(out, g * LANES), row(slots, g))
        for i in range(LANES):
            failed[g * LANES + i] = out_of_it[g] >> i & 1


def sums(out, failed, table, starts, names, checked):
    """As the portable body says."""
    n, points = names.shape[1], len(names)
    if not checked and points >= 2 * LANES:
        failed[:n] = 0
        if n <= ALONE:
            vanished = _one_by_one(out, table.packed, starts.packed, names, n)
        elif n <= FEW:
            vanished = _with_padding(_few, LANES, out, table, starts, names)
        else:
            vanished = _with_padding(_many, 2 * LANES, out, table, starts, names)
        if not vanished:
            return
    if n <= CHECKED_ALONE:
        portable.sums_alone(out, failed, table.points, starts.points, names, checked)
        return
    flags = np.empty(n + 2 * LANES, np.uint8)
    _with_padding(_checked, 2 * LANES, out, table, starts, names, flags)
    failed[:n] = flags[:n]


def _with_padding(run, multiple, out, table, starts, names, *more):
    """`run` on so many hashes more that their number is a multiple."""
    n = names.shape[1]
    if n % multiple == 0:
        return run(out, table.packed, starts.packed, names, *more)
    wide = np.empty((len(names), -(-n // multiple) * multiple), np.int32)
    wide[:, :n] = names
    wide[:, n:] = names[:, :1]
    points = np.empty((wide.shape[1], POINT_WORDS), np.uint64)
    vanished = run(points, table.packed, starts.packed, wide, *more)
    out[:] = points[:n]
    return vanished


def _few(out, table, starts, names):
    return _hash_a_lane(out, table, starts, names, _slots(names.shape[1] // LANES))


def _many(out, table, starts, names):
    groups, chains = names.shape[1] // LANES, 1
    while 2 * chains * groups <= ADDITIONS and chains < _MOST_CHAINS:
        chains *= 2
    return _word_by_word(out, table, starts, names, _slots(chains * groups), chains)


def _checked(out, table, starts, names, flags):
    return _checked_word_by_word(out, flags, table, starts, names, _slots(names.shape[1] // LANES))


def _slots(n):
    """Memory of this thread for n slots."""
    kept = getattr(_kept, "slots", None)
    if kept is None or len(kept) < n:
        kept = _kept.slots = aligned(n * _SLOT_WORDS).reshape(n, _SLOT_WORDS)
    return kept

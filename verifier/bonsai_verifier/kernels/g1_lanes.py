"""G1 sixteen points at a time: the vector bodies of g1_decode_many and g1_check_subgroup_many, with the contracts of g1.py.

Points lie in pairs (lanes.py), a coordinate a pair.
A vector body: compiled only where cpu.py says that it may run.
"""

import numpy as np

from ..parameters import BLS_X, CURVE_B
from . import straus
from .cache import inner, kernel
from .encoding import (
    FLAG_COMPRESSED,
    FLAG_INFINITY,
    FLAG_LARGER,
    POINT_BAD_FLAGS,
    POINT_INFINITY,
    POINT_NOT_CANONICAL,
    POINT_NOT_COMPRESSED,
    POINT_NOT_IN_SUBGROUP,
    POINT_NOT_ON_CURVE,
    POINT_OK,
)
from .fp import FP_BYTES, FP_WORDS, root
from .fp_lanes import FP_BLOCK, FP_LANES, fp8_enter, fp8_equals, fp8_zeros
from .g1 import BETA, G1_AFFINE_WORDS, G1_PROJECTIVE_WORDS
from .intrinsics import formula, operation
from .lane_machine import LANES, VECTOR_BYTES, Machine, in_sequence, together
from .lane_operations import lane_constant, pair_operations
from .lanes import (
    carry,
    constant,
    difference,
    exact,
    is_zero,
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
    reduced,
    scaled,
    select,
    square,
    store,
    store_rows,
    weaken,
)
from .limbs import WORD_BYTES, row, rows, stack
from .straus_lanes import NUMBERED_WORDS, run_chain

POINTS = 2 * LANES  # in a pair
_PAIR_WORDS = 2 * FP_BLOCK // WORD_BYTES
_AFFINE_WORDS, _PROJECTIVE_WORDS = 2 * _PAIR_WORDS, 3 * _PAIR_WORDS
_Y, _Z = 2 * FP_BLOCK, 4 * FP_BLOCK  # coordinates of points over pairs
_ROW_BYTES = WORD_BYTES * G1_AFFINE_WORDS
_STATE_WORDS = 4 * VECTOR_BYTES // WORD_BYTES
_P = FP_LANES.modulus

_pairs = pair_operations("fp16", FP_LANES)
_mul, _sqr, _subtract, _negate, _copy, _one = _pairs.mul, _pairs.sqr, _pairs.sub, _pairs.neg, _pairs.copy, _pairs.one
_root = root("fp16_root", _pairs)
_beta = lane_constant("g1_lanes_beta", FP_LANES, BETA)


# Decoding --------------------------------------------------------------------------------------------------------------------


def abscissa(m, data):
    """Eight compressed points, as the six words of their bytes -> x, x^3 + 4, and their status and flags.

    x is weak, and x^3 + 4 below 7/3 p, also for abscissas that are not canonical.  The status is final but for the curve's equation.
    """
    words = [m.swap_bytes(w) for w in reversed(data)]
    all_flags = FLAG_COMPRESSED | FLAG_INFINITY | FLAG_LARGER
    flags = m.and_(words[-1], m.const(int(all_flags)))
    words[-1] = m.and_(words[-1], m.const(int(~all_flags)))
    any_bit = m.and_(flags, m.const(int(FLAG_LARGER)))
    for w in words:
        any_bit = m.or_(any_bit, w)
    x = limbs_from_words(m, FP_LANES, words)
    canonical = m.is_negative(carry(m, minus(m, x, [m.const(limb) for limb in FP_LANES.limbs(_P)]))[-1])
    status = m.select(canonical, m.const(POINT_OK), m.const(POINT_NOT_CANONICAL))
    infinite = m.select(m.is_zero(any_bit), m.const(POINT_INFINITY), m.const(POINT_BAD_FLAGS))
    status = m.select(m.is_zero(m.and_(flags, m.const(int(FLAG_INFINITY)))), status, infinite)
    status = m.select(m.is_negative(flags), status, m.const(POINT_NOT_COMPRESSED))  # the compression flag is bit 63
    x = yield from multiply(m, FP_LANES, x, constant(m, FP_LANES, FP_LANES.radix))
    cube = yield from multiply_self(m, FP_LANES, x)
    cube = yield from multiply(m, FP_LANES, cube, x)
    return x, carry(m, plus(m, cube, constant(m, FP_LANES, CURVE_B))), status, flags


def ordinate(m, y, right, status, flags):
    """Of a root y of `right` and its opposite the one that the flags name, and the whole status.  In: y weak, right below 7/3 p."""
    left = yield from multiply_self(m, FP_LANES, y)
    on_curve = is_zero(m, FP_LANES, weaken(m, FP_LANES, minus(m, left, right)))
    failed = m.select(m.is_zero(status), m.const(POINT_NOT_ON_CURVE), status)
    plain = exact(m, FP_LANES, (yield from reduce(m, FP_LANES, [*y, *[m.zero] * FP_LANES.n])))
    half = [m.const(limb) for limb in FP_LANES.limbs((_P - 1) // 2)]
    larger = m.is_negative(carry(m, minus(m, half, plain))[-1])
    smaller_named = m.is_zero(m.and_(flags, m.const(int(FLAG_LARGER))))
    opposite = weaken(m, FP_LANES, minus(m, [m.zero] * FP_LANES.n, y))
    return select(m, m.differ(larger, smaller_named), y, opposite), m.select(on_curve, status, failed)


@operation
def _read_points(b, x, right, state, data):
    """Sixteen encodings from `data` on -> pairs x and right = x^3 + 4; at `state` each block's vectors of status and flags."""
    m = Machine(b)
    rows = [[m.offset(data, FP_BYTES * (LANES * half + i)) for i in range(LANES)] for half in (0, 1)]
    for half, (x_limbs, right_limbs, *vectors) in enumerate(
        together(*(abscissa(m, load_rows(m, r, FP_WORDS)) for r in rows))
    ):
        store(m, FP_LANES, m.offset(x, FP_BLOCK * half), x_limbs)
        store(m, FP_LANES, m.offset(right, FP_BLOCK * half), right_limbs)
        for i, vector in enumerate(vectors):
            m.store(state, 2 * half + i, vector)


@operation
def _write_points(b, out, status, x, y, right, state):
    """Sixteen rows of words from `out` on, of zeros unless their status is POINT_OK, and sixteen bytes of status."""
    m = Machine(b)
    inputs = [[load(m, FP_LANES, m.offset(a, FP_BLOCK * half)) for a in (x, y, right)] for half in (0, 1)]
    ordinates = together(
        *(ordinate(m, ys, rs, m.load(state, 2 * i), m.load(state, 2 * i + 1)) for i, (_, ys, rs) in enumerate(inputs))
    )
    for half, ((xs, _, _), (ys, final)) in enumerate(zip(inputs, ordinates)):
        ok = m.is_zero(final)
        for coordinate, limbs in enumerate((xs, ys)):
            words = [m.select(ok, w, m.zero) for w in leave(m, FP_LANES, limbs)]
            offsets = [_ROW_BYTES * (LANES * half + i) + FP_BYTES * coordinate for i in range(LANES)]
            store_rows(m, [m.offset(out, o) for o in offsets], words)
        m.store_bytes(m.offset(status, LANES * half), final)


@kernel
def _decode_whole(out, data, status):
    """As g1_decode_many, for a multiple of sixteen."""
    x, y, right, state = stack(_PAIR_WORDS), stack(_PAIR_WORDS), stack(_PAIR_WORDS), stack(_STATE_WORDS)
    for i in range(0, len(data), POINTS):
        _read_points(x, right, state, row(data, i))
        _root(y, right)
        _write_points(row(out, i), row(status, i), x, y, right, state)


def g1_decode_many(out, data, status):
    """As the portable body says."""
    data = rows(data, FP_BYTES, np.uint8)
    whole = len(data) - len(data) % POINTS
    _decode_whole(out[:whole], data[:whole], status[:whole])
    if rest := len(data) - whole:
        padded = np.zeros((POINTS, FP_BYTES), np.uint8)
        padded[:rest] = data[whole:]
        points, statuses = np.empty((POINTS, G1_AFFINE_WORDS), np.uint64), np.empty(POINTS, np.uint8)
        _decode_whole(points, rows(padded, FP_BYTES, np.uint8), statuses)
        out[whole:], status[whole:] = points[:rest], statuses[:rest]


# Subgroup --------------------------------------------------------------------------------------------------------------------
#
# Jacobian points over pairs, X | Y | Z with x = X/Z^2 and y = Y/Z^3, Z = 0 for infinity.  Doubling is complete, as no point of odd order
# has y = 0.  Addition is not: where its operands are equal or opposite it gives Z = 0, which then stays.  That is the right end here,
# for [m]a = +-a with 1 < m < 2^64 says that a is not of the prime order r > 2^64.
# Source: Cohen, Miyaji, Ono, ASIACRYPT 1998, section 3.


def _on_halves(b, writer, run, results, operands):
    """writer(machine, block, ...) -> blocks, for both halves of pairs."""
    m, halves = Machine(b), (0, FP_BLOCK)
    inputs = [[load(m, FP_LANES, m.offset(a, half)) for a in operands] for half in halves]
    for half, blocks in zip(halves, run(*(writer(m, *xs) for xs in inputs))):
        for address, block in zip(results, blocks):
            store(m, FP_LANES, m.offset(address, half), block)


def tripled_square(m, x):
    """3 x^2, below 4 p.  In: x < 13 p."""
    t = yield from reduced(m, FP_LANES, (yield from square(m, x)))
    return [carry(m, [scaled(m, limb, 3) for limb in t])]


def doubled_product(m, x, y):
    """2 x y, below 3 p.  In: x y < 2^31 p^2."""
    t = yield from reduced(m, FP_LANES, (yield from product(m, x, y)))
    return [carry(m, [scaled(m, limb, 2) for limb in t])]


def doubled_x(m, e, xb):
    """X' = e^2 - 8 xb, and 4 xb - X'; both below 18 p.  In: e < 4 p, xb weak."""
    f = yield from reduced(m, FP_LANES, (yield from square(m, e)))
    return [
        shifted(m, minus(m, f, [scaled(m, limb, 8) for limb in xb]), 11),
        shifted(m, minus(m, [scaled(m, limb, 12) for limb in xb], f), 2),
    ]


def doubled_y(m, e, t, c):
    """e t - 8 c, below 13 p.  In: e < 4 p, t < 18 p, c weak."""
    et = yield from reduced(m, FP_LANES, (yield from product(m, e, t)))
    return [shifted(m, minus(m, et, [scaled(m, limb, 8) for limb in c]), 11)]


def shifted(m, x, k):
    """x + k p, carried.  In: loose, of value in [-k p, R - k p)."""
    return difference(m, FP_LANES, x, [m.zero] * FP_LANES.n, k)


@operation
def _tripled_square(b, d, x):
    _on_halves(b, tripled_square, in_sequence, [d], [x])


@operation
def _doubled_product(b, d, x, y):
    _on_halves(b, doubled_product, together, [d], [x, y])


@operation
def _doubled_x(b, d, t, e, xb):
    _on_halves(b, doubled_x, in_sequence, [d, t], [e, xb])


@operation
def _doubled_y(b, d, e, t, c):
    _on_halves(b, doubled_y, together, [d], [e, t, c])


@formula
def _double(d, a):
    """2 a.  3M 4S.  In and out: X and Y below 13 p, Z below 3 p.  d may be a."""
    e, b, xb, t = stack(_PAIR_WORDS), stack(_PAIR_WORDS), stack(_PAIR_WORDS), stack(_PAIR_WORDS)
    _tripled_square(e, a)
    _sqr(b, a + _Y)
    _doubled_product(d + _Z, a + _Y, a + _Z)
    _mul(xb, a, b)
    _sqr(b, b)
    _doubled_x(d, t, e, xb)
    _doubled_y(d + _Y, e, t, b)


@formula
def _add(a, q, qzz, qzzz):
    """a += q for points that are neither equal nor opposite nor infinity, else Z = 0; qzz and qzzz: square and cube of the Z of q.  11M 3S.

    In: as _double leaves them.  Out: weak.
    """
    u, v, s, h, r, t = (
        stack(_PAIR_WORDS),
        stack(_PAIR_WORDS),
        stack(_PAIR_WORDS),
        stack(_PAIR_WORDS),
        stack(_PAIR_WORDS),
        stack(_PAIR_WORDS),
    )
    _sqr(t, a + _Z)
    _mul(h, q, t)
    _mul(t, t, a + _Z)
    _mul(r, q + _Y, t)
    _mul(u, a, qzz)
    _mul(s, a + _Y, qzzz)
    _subtract(h, h, u)
    _subtract(r, r, s)
    _mul(a + _Z, a + _Z, q + _Z)
    _mul(a + _Z, a + _Z, h)
    _sqr(t, h)
    _mul(v, u, t)
    _mul(h, h, t)
    _mul(s, s, h)
    _sqr(t, r)
    _subtract(t, t, h)
    _subtract(t, t, v)
    _subtract(a, t, v)
    _subtract(v, v, a)
    _mul(t, r, v)
    _subtract(a + _Y, t, s)


@formula
def _mul_by_abs_z(d, a):
    """[|z|] a.  63 doublings, 5 additions.  d must not be a."""
    zz, zzz = stack(_PAIR_WORDS), stack(_PAIR_WORDS)
    _sqr(zz, a + _Z)
    _mul(zzz, zz, a + _Z)
    for i, bit in enumerate(f"{-BLS_X:b}"[1:]):
        _double(d, d if i else a)
        if bit == "1":
            _add(d, a, zz, zzz)


@formula
def _sides(p, a):
    """Of sixteen affine points a = (x, y): z^2 a = (X : Y : Z) at p, and at a what X and Y are where -z^2 a = (BETA x, y)."""
    q, t = stack(_PROJECTIVE_WORDS), stack(_PAIR_WORDS)
    _copy(p, a)
    _copy(p + _Y, a + _Y)
    _one(p + _Z)
    _mul_by_abs_z(q, p)
    _mul_by_abs_z(p, q)
    _sqr(t, p + _Z)
    _mul(a, a, t)
    _mul(t, t, p + _Z)
    _mul(a + _Y, a + _Y, t)
    _beta(t)
    _beta(t + FP_BLOCK)
    _mul(a, a, t)
    _negate(a + _Y, a + _Y)
    # From 13 p and 3 p back to weak
    _one(t)
    for i in (0, _Y, _Z):
        _mul(p + i, p + i, t)


@kernel
def _members_whole(member, points):
    """In: points (n, 12) affine on the curve, n a multiple of sixteen.  Out: member (n,) uint8, 1 where [r]P is O (g1.py says why)."""
    a, p = stack(_AFFINE_WORDS), stack(_PROJECTIVE_WORDS)
    for i in range(0, len(points), LANES):
        half = i % POINTS // LANES * FP_BLOCK
        fp8_enter(a + half, row(points, i), _ROW_BYTES)
        fp8_enter(a + _Y + half, row(points, i) + FP_BYTES, _ROW_BYTES)
        if half == 0:
            continue
        infinite = _zeros(a) & _zeros(a + _Y)
        _sides(p, a)
        same = _equals(a, p) & _equals(a + _Y, p + _Y) & ~_zeros(p + _Z)
        for j in range(POINTS):
            member[i - LANES + j] = (same | infinite) >> j & 1


@inner
def _zeros(a):
    """Bit j: element j of a pair is zero."""
    return fp8_zeros(a) | fp8_zeros(a + FP_BLOCK) << LANES


@inner
def _equals(a, c):
    """Bit j: elements j of two pairs are equal."""
    return fp8_equals(a, c) | fp8_equals(a + FP_BLOCK, c + FP_BLOCK) << LANES


def g1_check_subgroup_many(status, points):
    """As the portable body says.  Those of one proof by chains, which take half as long as sixteen points."""
    n = len(points)
    if 0 < n <= straus.MOST_MEMBERS:
        program, n_numbers = straus.members(n)
        totals = np.empty((n, G1_PROJECTIVE_WORDS), np.uint64)
        run_chain(totals, np.empty((n_numbers, NUMBERED_WORDS), np.uint64), points, program)
        status[(status == POINT_OK) & totals[:, -FP_WORDS:].any(axis=1)] = POINT_NOT_IN_SUBGROUP
        return
    padded = np.zeros((-(-len(points) // POINTS) * POINTS, G1_AFFINE_WORDS), np.uint64)
    padded[: len(points)] = points
    member = np.empty(len(padded), np.uint8)
    _members_whole(member, padded)
    status[(status == POINT_OK) & (member[: len(points)] == 0)] = POINT_NOT_IN_SUBGROUP

"""G1 sixteen points at a time: the vector bodies of g1_decode_many and g1_check_subgroup_many, with the contracts of g1.py.

The group is that of weierstrass.py over pairs (lanes.py) in place of field elements, so its formulas are complete here too.
A vector body: compiled only where cpu.py says that it may run.
"""

import numpy as np

from ..parameters import BLS_X, CURVE_B
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
from .fp import FP_BYTES, FP_WORDS
from .fp_lanes import FP_BLOCK, FP_LANES, fp8_enter, fp8_equals, fp8_zeros
from .g1 import BETA, G1_AFFINE_WORDS
from .intrinsics import formula, operation
from .lanes import (
    LANES,
    VECTOR_BYTES,
    Machine,
    carry,
    constant,
    exact,
    is_zero,
    lane_constant,
    leave,
    limbs_from_words,
    load,
    load_rows,
    minus,
    multiply,
    multiply_self,
    pair_operations,
    plus,
    reduce,
    select,
    store,
    store_rows,
    together,
    weaken,
)
from .limbs import WORD_BYTES, row, stack
from .weierstrass import Field, group

POINTS = 2 * LANES  # in a pair
_PAIR_WORDS = 2 * FP_BLOCK // WORD_BYTES
_AFFINE_WORDS, _PROJECTIVE_WORDS = 2 * _PAIR_WORDS, 3 * _PAIR_WORDS
_Y, _Z = 2 * FP_BLOCK, 4 * FP_BLOCK  # coordinates of points over pairs
_ROW_BYTES = WORD_BYTES * G1_AFFINE_WORDS
_STATE_WORDS = 4 * VECTOR_BYTES // WORD_BYTES
_P = FP_LANES.modulus

_pairs = pair_operations("fp16", FP_LANES)
_mul, _sqr, _sqr_times, _copy = _pairs.mul, _pairs.sqr, _pairs.sqr_times, _pairs.copy


# Roots -----------------------------------------------------------------------------------------------------------------------


def _power(name, exponent, runs=()):
    """An intrinsic f(d, a) = a^exponent on pairs; d must not be a.

    A squaring a bit, a multiplication a run of ones: one bit long, or of a length of `runs`, each twice the one before.
    """

    def write(d, a):
        table = {1: a}
        for length in runs:
            table[length] = stack(_PAIR_WORDS)
            _copy(table[length], table[length // 2])
            _sqr_times(table[length], length // 2)
            _mul(table[length], table[length], table[length // 2])
        bits, squarings, started = f"{exponent:b}", 0, False
        while bits:
            length = max((k for k in table if bits.startswith("1" * k)), default=0)
            bits, squarings = bits[length or 1 :], squarings + (length or 1)
            if length and started:
                _sqr_times(d, squarings)
                _mul(d, d, table[length])
            elif length:
                _copy(d, table[length])
            if length:
                started, squarings = True, 0
        if squarings:
            _sqr_times(d, squarings)

    return formula(write, name)


_power_quarter = _power("g1_power_quarter", -BLS_X // 4)
_power_less = _power("g1_power_less", -BLS_X - 1, (2, 4))
_power_more = _power("g1_power_more", -BLS_X + 1)
_power_whole = _power("g1_power_whole", -BLS_X)


@formula
def _root(d, a):
    """A square root of each element that is a square.  d must not be a.  378 squarings, 38 multiplications.

    The power with the exponent e = (3p - 1)/4 is one, for 2e = 1 + 3 (p - 1)/2.  With x = |z|, e = (x/4) (x - 1) (x (x + 1)^3 + 1), and
    x is a number of few ones.
    """
    t, u = stack(_PAIR_WORDS), stack(_PAIR_WORDS)
    _power_quarter(t, a)
    _power_less(u, t)
    _power_more(d, u)
    _power_more(t, d)
    _power_more(d, t)
    _power_whole(t, d)
    _mul(d, t, u)


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
    square = yield from multiply_self(m, FP_LANES, y)
    on_curve = is_zero(m, FP_LANES, weaken(m, FP_LANES, minus(m, square, right)))
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
    whole = len(data) - len(data) % POINTS
    _decode_whole(out[:whole], data[:whole], status[:whole])
    if rest := len(data) - whole:
        padded = (
            np.zeros((POINTS, FP_BYTES), np.uint8),
            np.empty((POINTS, G1_AFFINE_WORDS), np.uint64),
            np.empty(POINTS, np.uint8),
        )
        padded[0][:rest] = data[whole:]
        _decode_whole(padded[1], padded[0], padded[2])
        out[whole:], status[whole:] = padded[1][:rest], padded[2][:rest]


# Subgroup --------------------------------------------------------------------------------------------------------------------

_group = group(
    "g1_pairs",
    Field(_PAIR_WORDS, _mul, _pairs.add, _pairs.sub, _sqr, _pairs.neg, _copy, None, _pairs.zero, _pairs.one),
    None,  # b itself: no formula that runs here reads it
    _pairs.times(3 * CURVE_B, "g1_pairs_times_12"),
)
_mul_by_abs_z, _from_finite, _neg = _group.mul_by_abs_z, _group.from_finite, _pairs.neg
_beta = lane_constant("g1_lanes_beta", FP_LANES, BETA)


@formula
def _sides(p, a):
    """Of sixteen affine points a = (x, y): z^2 a = (X : Y : Z) at p, and at a what X and Y are where -z^2 a = (BETA x, y)."""
    q, t = stack(_PROJECTIVE_WORDS), stack(_PAIR_WORDS)
    _from_finite(p, a)
    _mul_by_abs_z(q, p)
    _mul_by_abs_z(p, q)
    _beta(t)
    _beta(t + FP_BLOCK)
    _mul(a, a, t)
    _mul(a, a, p + _Z)
    _mul(a + _Y, a + _Y, p + _Z)
    _neg(a + _Y, a + _Y)


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
    """As the portable body says."""
    padded = np.zeros((-(-len(points) // POINTS) * POINTS, G1_AFFINE_WORDS), np.uint64)
    padded[: len(points)] = points
    member = np.empty(len(padded), np.uint8)
    _members_whole(member, padded)
    status[(status == POINT_OK) & (member[: len(points)] == 0)] = POINT_NOT_IN_SUBGROUP

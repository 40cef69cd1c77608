"""Sinsemilla over Pallas: the literal recurrence, and sums of points of a table that weighs words by their position; the portable body.

    Acc_0 = Q,      Acc_i+1 = (Acc_i + S[m_i]) + Acc_i,        n words m_i of 10 bits, incomplete additions
    B_i = 2^(n - i) Acc_i:      B_0 = 2^n Q,      B_i+1 = B_i + 2^(n - 1 - i) S[m_i],      B_n = Acc_n

Points are rows of 8 words (pallas.py), none of them infinity.  A table has 53 times 1,024 of them: its row r holds 2^(52 - r) S[j], so that
row r - 1 holds the doubles of row r, and a message of n words takes its points from rows 53 - n to 52; row 0 serves the checks alone.

`names` (steps + 1, n) int32 says for each of n hashes where it starts, a row of `starts`, and then which rows of the table are added:
1,024 r + m.  Where the literal recurrence fails, B_i is infinity, +-2 T or -T for the point T that is added (docs/hashes.md).  Infinity
comes only after -T, -T always shows, for the denominator of the addition vanishes, and `checked` tests 2 T; B_i = T is a doubling.

Sources: Zcash protocol specification, section 5.4.1.9 "Sinsemilla Hash Function"; Jacobian coordinates with one Z for two points: Meloni,
ePrint 2006/492; x = X/ZZ, y = Y/ZZZ: Sutherland, in the Explicit-Formulas Database as "madd-2008-s" and "mdbl-2008-s-1".
"""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from bonsai_verifier.kernels.cache import inner, kernel
from bonsai_verifier.kernels.intrinsics import I64, formula, operation
from bonsai_verifier.kernels.limbs import prefetch, row, stack

from .pallas import (
    PALLAS_BYTES,
    PALLAS_WORDS,
    POINT_WORDS,
    pallas_add,
    pallas_copy,
    pallas_eq,
    pallas_from_mont,
    pallas_inv,
    pallas_is_canonical,
    pallas_is_zero,
    pallas_mul,
    pallas_one,
    pallas_sqr,
    pallas_sub,
    pallas_zero,
)

WORD_BITS = 10
GENERATORS = 2**WORD_BITS
MAX_WORDS = 52  # of a message that the table serves: a Merkle hash has 10 + 255 + 255 bits
TABLE_ROWS = MAX_WORDS + 1
MERKLE_WORDS = 51  # those of two children, after the level's
BATCH = 1024  # hashes to one inversion
ALONE = 16  # up to so many hashes an inversion for each word costs more than coordinates without
_Y = PALLAS_BYTES
_CHILD_BITS = 255
FINE, VANISHED, TOO_LARGE = 0, 1, 2  # what `node` returns
_ADDS, _DOUBLES = 0, 1
_LOW = np.uint64(GENERATORS - 1)
_I32, _CHILD, _MESSAGE = ir.IntType(32), ir.IntType(8 * PALLAS_BYTES), ir.IntType(16 * PALLAS_BYTES)


class Rows(NamedTuple):
    """Points that kernels read by name: as in pallas.py, and in the form of a body's `sums`."""

    points: Any
    packed: Any


def packed(points):
    """Points (n, 8) in the form of this body's `sums`: the same here."""
    return points


# Tables ----------------------------------------------------------------------------------------------------------------------


@kernel
def fill_table(table):
    """In: the last 1,024 rows, S.  Out: all others.  52 times 1,024 doublings, 2S and 5M each, an inversion for 1,024."""
    before = np.empty((GENERATORS, PALLAS_WORDS), np.uint64)
    product, s, x = stack(4), stack(4), stack(4)
    for first in range(len(table) - 2 * GENERATORS, -1, -GENERATORS):
        pallas_one(product)
        for j in range(GENERATORS):
            a, d = row(table, first + GENERATORS + j), row(table, first + j)
            pallas_copy(row(before, j), product)
            pallas_add(d, a + _Y, a + _Y)
            pallas_mul(product, product, d)
        pallas_inv(product, product)
        for j in range(GENERATORS - 1, -1, -1):
            a, d = row(table, first + GENERATORS + j), row(table, first + j)
            pallas_mul(s, product, row(before, j))
            pallas_mul(product, product, d)
            pallas_sqr(x, a)
            pallas_mul(s, s, x)
            pallas_add(x, s, s)
            pallas_add(s, s, x)
            _chord(d, a, a, s)


@formula
def _chord(d, a, b, s):
    """d = the third point, reflected, on the line of slope s through a and b.  d may be one of them.  2M 1S with s done."""
    x, y = stack(4), stack(4)
    pallas_sqr(x, s)
    pallas_sub(x, x, a)
    pallas_sub(x, x, b)
    pallas_sub(y, a, x)
    pallas_mul(y, y, s)
    pallas_sub(d + _Y, y, a + _Y)
    pallas_copy(d, x)


# Words of messages -----------------------------------------------------------------------------------------------------------


@kernel
def name_words(names, words, first):
    """names_0 = 0 and names_k+1 = 1,024 (first + k) + words_k, for words (n, steps) uint16."""
    for i in range(len(words)):
        names[0, i] = 0
        for k in range(words.shape[1]):
            names[k + 1, i] = (first + k) * GENERATORS + np.int32(words[i, k])


@kernel
def name_children(names, children):
    """names (51, n) of the words of two children, 255 bits each: the first is where to start, the others have rows 3 to 52 of a table.

    In: children (8, n), word i of all left | right ones.
    """
    for k in range(MERKLE_WORDS):
        weight = np.int32((k + 2) * GENERATORS if k else 0)
        at = WORD_BITS * k
        if at < _CHILD_BITS < at + WORD_BITS:
            own = _CHILD_BITS - at
            for i in range(names.shape[1]):
                left = children[at // 64, i] >> np.uint64(at % 64) & np.uint64((1 << own) - 1)
                names[k, i] = weight + np.int32((left | children[PALLAS_WORDS, i] << np.uint64(own)) & _LOW)
            continue
        first = 0
        if at >= _CHILD_BITS:
            at -= _CHILD_BITS
            first = PALLAS_WORDS
        low, s = first + at // 64, np.uint64(at % 64)
        if at % 64 + WORD_BITS <= 64:
            for i in range(names.shape[1]):
                names[k, i] = weight + np.int32(children[low, i] >> s & _LOW)
        else:
            for i in range(names.shape[1]):
                both = children[low, i] >> s | children[low + 1, i] << np.uint64(64) - s
                names[k, i] = weight + np.int32(both & _LOW)


@operation
def name_pair(b, names, children):
    """As `name_children` for one node, without loops.  In: addresses of 51 int32, and of 64 bytes, two children below 2^255."""
    first, second = (
        b.load(b.inttoptr(b.add(children, I64(at)), _CHILD.as_pointer()), align=8) for at in (0, PALLAS_BYTES)
    )
    message = b.or_(b.zext(first, _MESSAGE), b.shl(b.zext(second, _MESSAGE), _MESSAGE(_CHILD_BITS)))
    to = b.inttoptr(names, _I32.as_pointer())
    for k in range(MERKLE_WORDS):
        word = b.and_(b.trunc(b.lshr(message, _MESSAGE(WORD_BITS * k)), _I32), _I32(GENERATORS - 1))
        b.store(b.add(word, _I32((k + 2) * GENERATORS if k else 0)), b.gep(to, [_I32(k)]), align=4)


# The literal recurrence ------------------------------------------------------------------------------------------------------


@formula
def _literal_step(p, s):
    """p = (p + s) + p, p = (X, Y, Z) Jacobian and s affine.  13M 5S.  Z = 0 if and only if an addition fails, or Z was 0 before.

    With h and r the differences of the abscissas and ordinates, Z grows by h in the first addition; on that Z, p is (V, W), and the
    second addition works on two points with one Z, which grows by the difference of theirs.
    """
    zz, h, r, v, w = stack(4), stack(4), stack(4), stack(4), stack(4)
    x, y, t, c = stack(4), stack(4), stack(4), stack(4)
    z = p + 2 * _Y
    pallas_sqr(zz, z)
    pallas_mul(t, zz, z)
    pallas_mul(h, s, zz)
    pallas_mul(r, s + _Y, t)
    pallas_sub(h, h, p)
    pallas_sub(r, r, p + _Y)
    pallas_sqr(zz, h)
    pallas_mul(z, z, h)
    pallas_mul(v, p, zz)
    pallas_mul(t, zz, h)
    pallas_mul(w, p + _Y, t)
    pallas_sqr(x, r)
    pallas_sub(x, x, t)
    pallas_sub(x, x, v)
    pallas_sub(x, x, v)  # of p + s
    pallas_sub(h, v, x)
    pallas_mul(y, r, h)
    pallas_sub(y, y, w)
    pallas_sub(r, w, y)
    pallas_sqr(t, h)
    pallas_mul(z, z, h)
    pallas_mul(x, x, t)
    pallas_mul(c, v, t)
    pallas_sqr(p, r)
    pallas_sub(p, p, x)
    pallas_sub(p, p, c)
    pallas_sub(t, c, p)
    pallas_mul(t, t, r)
    pallas_sub(c, c, x)
    pallas_mul(c, c, w)
    pallas_sub(p + _Y, t, c)


@kernel
def literal(out, failed, generators, starts, names):
    """out (n, 8): Acc_n of n messages; failed (n,): 1 where an addition fails, and out means nothing.

    In: generators (1024, 8), S; names: their last ten bits are words.  18 multiplications a word, and an inversion for all.
    """
    n = names.shape[1]
    z, before = np.empty((n, PALLAS_WORDS), np.uint64), np.empty((n, PALLAS_WORDS), np.uint64)
    p, product, t = stack(12), stack(4), stack(4)
    pallas_one(product)
    for i in range(n):
        _copy(p, row(starts, names[0, i]))
        pallas_one(p + 2 * _Y)
        for k in range(1, len(names)):
            _literal_step(p, row(generators, names[k, i] & (GENERATORS - 1)))
        _copy(row(out, i), p)
        pallas_copy(row(z, i), p + 2 * _Y)
        failed[i] = pallas_is_zero(p + 2 * _Y)
        pallas_copy(row(before, i), product)
        if not failed[i]:
            pallas_mul(product, product, row(z, i))
    pallas_inv(product, product)
    for i in range(n - 1, -1, -1):
        if not failed[i]:
            pallas_mul(p, product, row(before, i))
            pallas_mul(product, product, row(z, i))
            pallas_sqr(t, p)
            pallas_mul(row(out, i), row(out, i), t)
            pallas_mul(t, t, p)
            pallas_mul(row(out, i) + _Y, row(out, i) + _Y, t)


# Sums ------------------------------------------------------------------------------------------------------------------------


@formula
def _add_mixed(p, a, h, r):
    """p = p + a for p = (X, Y, ZZ, ZZZ), a affine, h and r the differences of abscissas and ordinates times ZZ and ZZZ.  6M 2S of 8M 2S."""
    hh, v, w = stack(4), stack(4), stack(4)
    zz, zzz = p + 2 * _Y, p + 3 * _Y
    pallas_sqr(hh, h)
    pallas_mul(v, p, hh)
    pallas_mul(zz, zz, hh)
    pallas_mul(hh, hh, h)
    pallas_mul(zzz, zzz, hh)
    pallas_mul(w, p + _Y, hh)
    pallas_sqr(p, r)
    pallas_sub(p, p, hh)
    pallas_sub(p, p, v)
    pallas_sub(p, p, v)
    pallas_sub(v, v, p)
    pallas_mul(v, v, r)
    pallas_sub(p + _Y, v, w)


@formula
def _put_double(p, a):
    """p = 2 a."""
    u, s, m = stack(4), stack(4), stack(4)
    zz, zzz = p + 2 * _Y, p + 3 * _Y
    pallas_add(u, a + _Y, a + _Y)
    pallas_sqr(zz, u)
    pallas_mul(zzz, zz, u)
    pallas_mul(s, a, zz)
    pallas_sqr(u, a)
    pallas_add(m, u, u)
    pallas_add(m, m, u)
    pallas_sqr(p, m)
    pallas_sub(p, p, s)
    pallas_sub(p, p, s)
    pallas_sub(s, s, p)
    pallas_mul(s, s, m)
    pallas_mul(u, zzz, a + _Y)
    pallas_sub(p + _Y, s, u)


@inner
def _sum_alone(p, table, starts, names, i, checked):
    """p = (X, Y, ZZ, ZZZ) = the sum of hash i, or False where it fails.  10 multiplications a word, 11 if checked."""
    h, r = stack(4), stack(4)
    _copy(p, row(starts, names[0, i]))
    pallas_one(p + 2 * _Y)
    pallas_one(p + 3 * _Y)
    for k in range(1, len(names)):
        a = row(table, names[k, i])
        if k + 1 < len(names):
            prefetch(row(table, names[k + 1, i]))
        if checked:
            pallas_mul(h, row(table, names[k, i] - GENERATORS), p + 2 * _Y)
            if pallas_eq(h, p):
                return False
        pallas_mul(h, a, p + 2 * _Y)
        pallas_mul(r, a + _Y, p + 3 * _Y)
        pallas_sub(h, h, p)
        pallas_sub(r, r, p + _Y)
        if pallas_is_zero(h):
            if not pallas_is_zero(r):
                return False
            _put_double(p, a)
        else:
            _add_mixed(p, a, h, r)
    return True


@kernel
def sums_alone(out, failed, table, starts, names, checked):
    """As `sums`, in coordinates without division, an inversion for each hash: for few hashes."""
    p, t, z = stack(16), stack(4), stack(4)
    for i in range(names.shape[1]):
        failed[i] = not _sum_alone(p, table, starts, names, i, checked)
        if not failed[i]:
            pallas_inv(t, p + 3 * _Y)
            pallas_mul(z, t, p + 2 * _Y)  # ZZ / ZZZ = 1/Z
            pallas_sqr(z, z)
            pallas_mul(row(out, i), p, z)
            pallas_mul(row(out, i) + _Y, p + _Y, t)


@kernel
def sums_together(out, failed, table, starts, names, checked):
    """As `sums`, all hashes a word at a time, with one inversion a word: five multiplications and a square an addition."""
    n = names.shape[1]
    scratch, cases = np.empty((n, 2 * PALLAS_WORDS), np.uint64), np.empty(n, np.uint8)
    product, s, x = stack(4), stack(4), stack(4)
    for i in range(n):
        _copy(row(out, i), row(starts, names[0, i]))
        failed[i] = 0
    for k in range(1, len(names)):
        pallas_one(product)
        for i in range(n):
            a, b, d = row(out, i), row(table, names[k, i]), row(scratch, i)
            prefetch(row(table, names[k, min(i + 4, n - 1)]))
            if failed[i]:
                continue
            pallas_sub(d, b, a)
            cases[i] = _ADDS
            if pallas_is_zero(d):
                cases[i] = _DOUBLES
                failed[i] = not pallas_eq(a + _Y, b + _Y)
                pallas_add(d, a + _Y, a + _Y)
            elif checked:
                failed[i] = pallas_eq(a, row(table, names[k, i] - GENERATORS))
            if not failed[i]:
                pallas_copy(d + _Y, product)
                pallas_mul(product, product, d)
        pallas_inv(product, product)
        for i in range(n - 1, -1, -1):
            if failed[i]:
                continue
            a, b, d = row(out, i), row(table, names[k, i]), row(scratch, i)
            pallas_mul(s, product, d + _Y)
            pallas_mul(product, product, d)
            if cases[i] == _DOUBLES:
                pallas_sqr(x, a)
                pallas_mul(s, s, x)
                pallas_add(x, s, s)
                pallas_add(s, s, x)
            else:
                pallas_sub(x, b + _Y, a + _Y)
                pallas_mul(s, s, x)
            _chord(a, a, b, s)


def sums(out, failed, table, starts, names, checked):
    """out (n, 8): the sums that `names` name, as points of pallas.py; failed (n,) uint8: 1 where one fails, and out means nothing.

    table, starts: Rows.  Not `checked`: where the literal recurrence fails there may be a sum.
    """
    body = sums_alone if names.shape[1] <= ALONE else sums_together
    body(out, failed, table.points, starts.points, names, checked)


@kernel
def literal_node(generators, starts, level, children):
    """As `node`, by the literal recurrence: starts (1, 8) is Q."""
    wrong = first_not_canonical(children)
    if wrong < 2:
        return TOO_LARGE + wrong
    names, points, failed = _room_for_one(MERKLE_WORDS + 2)
    names[0, 0], names[1, 0] = 0, level
    name_pair(row(names, 2), row(children, 0))
    literal(points, failed, generators, starts, names)
    _put_node(children, points, failed)
    return FINE


@kernel
def node(table, starts, children):
    """One Merkle hash in one call, not checked: a bytearray of two children -> the x of their hash, 0 where it fails, and zeros.

    Returns FINE; or, the children as they were, TOO_LARGE + i: child i is not below p; VANISHED (a vector body): do it again, checked.
    """
    wrong = first_not_canonical(children)
    if wrong < 2:
        return TOO_LARGE + wrong
    names, points, failed = _room_for_one(MERKLE_WORDS)
    name_pair(row(names, 0), row(children, 0))
    sums_alone(points, failed, table, starts, names, False)
    _put_node(children, points, failed)
    return FINE


@inner
def _room_for_one(steps):
    """Names, a point, whether it failed."""
    return np.empty((steps, 1), np.int32), np.empty((1, POINT_WORDS), np.uint64), np.empty(1, np.uint8)


@inner
def first_not_canonical(children):
    """0 or 1: the first of two children, 64 bytes, that is not below p; 2: both are."""
    for i in range(2):
        if not pallas_is_canonical(row(children, i * PALLAS_BYTES)):
            return i
    return 2


@inner
def _put_node(children, points, failed):
    """x over the first child, zeros over the second: the 64 bytes are one integer."""
    _put_abscissa(row(children, 0), points, failed, 0)
    pallas_zero(row(children, PALLAS_BYTES))


@kernel
def abscissas(out, points, failed):
    """out (n, 4): the integers x of points (n, 8) in Montgomery form, 0 where failed."""
    for i in range(len(points)):
        _put_abscissa(row(out, i), points, failed, i)


@inner
def _put_abscissa(d, points, failed, i):
    if failed[i]:
        pallas_zero(d)
    else:
        pallas_from_mont(d, row(points, i))


@inner
def _copy(d, a):
    pallas_copy(d, a)
    pallas_copy(d + _Y, a + _Y)

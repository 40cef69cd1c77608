"""Many Poseidon hashes of one width, over Fr of BLS12-381 or of BN254.  The portable body, one hash after the other.

The permutation comes as a table of numbers, in the order of native/poseidon_schedule.py, which derives it: n = t - 1 constants for the
inputs, then rows k, f_0, f_1, ...  A row gives k + sum f_j v_j + last for elements v_j at equal distances and one more.

    inputs + constants
    r_f / 2 - 1 full rounds    S-boxes, then t rows over all of them but the last, which is added
    one more                   gives x_0, and what the state beside it adds to the n next
    n partial rounds           s_k = x_k^5, x_(k+1): a row over s_0 .. s_k, and what was kept
    r_p - n partial rounds     s_k = x_k^5, x_(k+1): a row over s_(k-n), x_(k-n+1), .., s_(k-1), x_k, and s_k; LEAST_FACTORS at least
    n rows over s_(r_p-n), x_(r_p-n+1), .., x_(r_p): the state beside x_(r_p)
    r_f / 2 - 1 full rounds, then S-boxes and one row over all: the digest
"""

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from bonsai_verifier.kernels.cache import inlined, kernel
from bonsai_verifier.kernels.fr import FR_BYTES, FR_WORDS, fr_add, fr_copy, fr_is_canonical, fr_mul, fr_sqr, fr_zero
from bonsai_verifier.kernels.intrinsics import I64, operation
from bonsai_verifier.kernels.limbs import WORD_BITS, WORD_BYTES, join_words, mul_add, room, row, stack, words
from bonsai_verifier.parameters import FR_MODULUS

from .bn254_fr import BN254_FR, BN254_FR_MODULUS

BLS12_381, BN254 = 0, 1  # fields, by number
MODULI = (FR_MODULUS, BN254_FR_MODULUS)
ELEMENT_WORDS, ELEMENT_BYTES = FR_WORDS, FR_BYTES
LEAST_FACTORS = 4  # of a row of the later partial rounds; of fewer inputs, the first are 0
MAX_FACTORS = 34
AT_ONCE = 1

_bn_mul, _bn_sqr, _bn_add, _bn_is_canonical = BN254_FR.mul, BN254_FR.sqr, BN254_FR.add, BN254_FR.is_canonical
_WIDE = ELEMENT_WORDS + 1
_GUESS_SHIFT = 196  # of a number below 16 p: what is left fits a word


# Operations ------------------------------------------------------------------------------------------------------------------


def _row_writer(p):
    """d = k + sum f_j v_j + last, n elements from v on, stride bytes apart, k, f_0, f_1, ... in the table.

    The products are added up, 2 ELEMENT_WORDS + 1 words, and reduced once.  MAX_FACTORS p^2 / R + 3 p < 2^260 is left, R = 2^256, less than
    18 p: its quotient by p is guessed from the bits above 2^_GUESS_SHIFT, one too small at most.
    """
    n_words = ELEMENT_WORDS
    whole = ir.IntType(WORD_BITS * _WIDE)
    wide_p, minus_inverse = ir.Constant(whole, p), I64(-pow(p, -1, 2**WORD_BITS) % 2**WORD_BITS)
    limbs = [I64(int(w)) for w in words(p, n_words)]

    def read(b, address):
        at = b.inttoptr(address, I64.as_pointer())
        return [b.load(b.gep(at, [I64(i)]), align=8) for i in range(n_words)]

    def add_row(b, t, x, ys):
        """t + x y, t one word more than y, which takes the carry: it must fit."""
        carry = I64(0)
        for j, y in enumerate(ys):
            t[j], carry = mul_add(b, x, y, t[j], carry)
        return carry

    def poseidon_row(b, d, last, v, stride, n, k):
        slots = [room(b, I64, WORD_BYTES) for _ in range(2 * n_words + 1)]
        for slot in slots:
            b.store(I64(0), slot)
        at, number = room(b, I64, WORD_BYTES), room(b, I64, WORD_BYTES)
        b.store(v, at)
        b.store(b.add(k, I64(ELEMENT_BYTES)), number)
        with cgutils.for_range(b, n):
            element, factor = b.load(at), b.load(number)
            t, f = [I64(0)] * (2 * n_words), read(b, factor)
            for i, x in enumerate(read(b, element)):
                part = t[i : i + n_words]
                t[i + n_words] = add_row(b, part, x, f)
                t[i : i + n_words] = part
            total = ir.IntType(WORD_BITS * len(slots))
            out = b.add(join_words(b, [b.load(s) for s in slots]), b.zext(join_words(b, t), total))
            for i, slot in enumerate(slots):
                b.store(b.trunc(b.lshr(out, ir.Constant(total, WORD_BITS * i)), I64), slot)
            b.store(b.add(element, stride), at)
            b.store(b.add(factor, I64(ELEMENT_BYTES)), number)
        t = [b.load(slot) for slot in slots]
        carries = []
        for i in range(n_words):
            part = t[i : i + n_words]
            carries.append(add_row(b, part, b.mul(t[i], minus_inverse), limbs))
            # The carry goes to word i + 4, which row i + 1 reads: added at once
            t[i : i + n_words] = part
            above = join_words(b, t[i + n_words :])
            above = b.add(above, b.zext(carries[-1], above.type))
            t[i + n_words :] = [
                b.trunc(b.lshr(above, ir.Constant(above.type, WORD_BITS * j)), I64) for j in range(len(t) - i - n_words)
            ]
        total = join_words(b, t[n_words:])
        for address in (k, last):
            total = b.add(total, b.zext(join_words(b, read(b, address)), whole))
        top = b.trunc(b.lshr(total, ir.Constant(whole, _GUESS_SHIFT)), I64)
        guess = b.udiv(top, I64((p >> _GUESS_SHIFT) + 1))
        q = [I64(0)] * n_words
        q.append(add_row(b, q, guess, limbs))
        total = b.sub(total, join_words(b, q))
        total = b.select(b.icmp_unsigned(">=", total, wide_p), b.sub(total, wide_p), total)
        out = b.inttoptr(d, I64.as_pointer())
        for i in range(n_words):
            word = b.trunc(b.lshr(total, ir.Constant(whole, WORD_BITS * i)), I64)
            b.store(word, b.gep(out, [I64(i)]), align=8)

    return poseidon_row


_bls_row = operation(_row_writer(FR_MODULUS), "bls12_381_poseidon_row")
_bn_row = operation(_row_writer(BN254_FR_MODULUS), "bn254_poseidon_row")


# Kernels: of either field ----------------------------------------------------------------------------------------------------


@inlined
def _add(field, d, a, b):
    if field == BLS12_381:
        fr_add(d, a, b)
    else:
        _bn_add(d, a, b)


@inlined
def _row(field, d, last, v, stride, n, k):
    if field == BLS12_381:
        _bls_row(d, last, v, stride, n, k)
    else:
        _bn_row(d, last, v, stride, n, k)


@inlined
def _fifths(field, d, x, n):
    """n fifth powers; d is not x."""
    for i in range(n):
        at, to = x + ELEMENT_BYTES * i, d + ELEMENT_BYTES * i
        if field == BLS12_381:
            fr_sqr(to, at)
            fr_sqr(to, to)
            fr_mul(to, to, at)
        else:
            _bn_sqr(to, at)
            _bn_sqr(to, to)
            _bn_mul(to, to, at)


@inlined
def _matrix(field, d, s, n, n_rows, k):
    """n_rows rows over n elements, of which the last has the factor 1.  Returns the address of the next number."""
    for i in range(n_rows):
        _row(field, d + ELEMENT_BYTES * i, s + ELEMENT_BYTES * (n - 1), s, ELEMENT_BYTES, n - 1, k)
        k += ELEMENT_BYTES * n
    return k


@kernel
def _hash(out, inputs, table, field, t, half, r_p, work):
    """work: rows for the state, its S-boxes, and two for each partial round behind LEAST_FACTORS."""
    n = t - 1
    zero = stack(4)
    fr_zero(zero)
    state, s = row(work, 0), row(work, t)
    history = row(work, 2 * t)
    for i in range(LEAST_FACTORS):  # factors that are 0 stand for what lies before x_0
        fr_zero(history + ELEMENT_BYTES * i)
    history += ELEMENT_BYTES * LEAST_FACTORS
    width = max(2 * n, LEAST_FACTORS)
    for g in range(len(out)):
        k = row(table, 0)
        for i in range(n):
            _add(field, state + ELEMENT_BYTES * i, row(inputs, g) + ELEMENT_BYTES * i, k)
            k += ELEMENT_BYTES
        m = n
        for _ in range(1, half):
            _fifths(field, s, state, m)
            k = _matrix(field, state, s, m, t, k)
            m = t
        _fifths(field, s, state, t)
        k = _matrix(field, state, s, t, t, k)
        x = history
        fr_copy(x, state)
        for i in range(n):
            _fifths(field, x + ELEMENT_BYTES, x, 1)
            later = state + ELEMENT_BYTES * (i + 1)
            _row(field, x + 2 * ELEMENT_BYTES, later, history + ELEMENT_BYTES, 2 * ELEMENT_BYTES, i + 1, k)
            x += 2 * ELEMENT_BYTES
            k += ELEMENT_BYTES * (i + 2)
        for _ in range(n, r_p):
            _fifths(field, x + ELEMENT_BYTES, x, 1)
            window = x - ELEMENT_BYTES * (width - 1)
            _row(field, x + 2 * ELEMENT_BYTES, x + ELEMENT_BYTES, window, ELEMENT_BYTES, width, k)
            x += 2 * ELEMENT_BYTES
            k += ELEMENT_BYTES * (width + 1)
        fr_copy(state, x)
        for i in range(n):
            window = x - ELEMENT_BYTES * (2 * n - 1)
            _row(field, state + ELEMENT_BYTES * (i + 1), x, window, ELEMENT_BYTES, 2 * n - 1, k)
            k += ELEMENT_BYTES * 2 * n
        for _ in range(1, half):
            _fifths(field, s, state, t)
            k = _matrix(field, state, s, t, t, k)
        _fifths(field, s, state, t)
        _row(field, row(out, g), zero, s, ELEMENT_BYTES, t, k)


@kernel
def _first_outside(a, field):
    for i in range(len(a)):
        if field == BLS12_381:
            inside = fr_is_canonical(row(a, i))
        else:
            inside = _bn_is_canonical(row(a, i))
        if not inside:
            return i
    return -1


def first_outside(a, field):
    """The first row of (n, 4) that is no integer below p; -1 if there is none."""
    return int(_first_outside(a, field))


# The body --------------------------------------------------------------------------------------------------------------------


def radix(field):
    """R of the Montgomery form in which factors and constants are given."""
    return 1 << (WORD_BITS * ELEMENT_WORDS)


def table(field, numbers):
    """Integers below p as a table."""
    return np.array([words(x, ELEMENT_WORDS) for x in numbers])


def hash_many(out, inputs, table, field, t, half, r_p):
    """The hashes of inputs (n, 4 (t - 1)) into out (n, 4): canonical integers, four words each.  half = r_f / 2."""
    work = np.empty((2 * t + LEAST_FACTORS + 2 * r_p + 1, ELEMENT_WORDS), np.uint64)
    _hash(out, inputs, table, field, t, half, r_p, work)

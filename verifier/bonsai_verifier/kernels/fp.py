"""Fp, the base field of BLS12-381: 6 x 64-bit limbs in Montgomery form, R = 2^384 (contract: limbs.py)."""

from ..parameters import BLS_X, FP_MODULUS
from .cache import inner, kernel
from .intrinsics import formula
from .inverse import inversion
from .limbs import WORD_BITS, WORD_BYTES, constant, field_operations, load_word, power, row, stack, words

FP_WORDS, FP_BYTES = 6, 48

_ops = field_operations("fp", FP_MODULUS, FP_WORDS)
fp_mul, fp_add, fp_sub, fp_sqr, fp_neg, fp_copy = _ops.mul, _ops.add, _ops.sub, _ops.sqr, _ops.neg, _ops.copy
fp_from_mont, fp_to_mont, fp_zero, fp_one = _ops.from_mont, _ops.to_mont, _ops.zero, _ops.one
fp_is_zero, fp_eq, fp_is_canonical = _ops.is_zero, _ops.eq, _ops.is_canonical
fp_inv = inversion(
    "fp_inv", FP_MODULUS, FP_WORDS, 2 ** (2 * WORD_BITS * FP_WORDS)
)  # 1/a, and 0 for a = 0; variable time
_HALF = words((FP_MODULUS - 1) // 2, FP_WORDS)


def root(name, field):
    """An intrinsic f(d, a): a square root of a square a.  378 squarings, 38 multiplications.  d must not be a.

    The power with the exponent e = (3p - 1)/4 is one, for 2e = 1 + 3 (p - 1)/2 and p = 3 mod 4.  With x = |z|,
    e = (x/4) (x - 1) (x (x + 1)^3 + 1), and x is a number of few ones.
    """
    x, n, mul = -BLS_X, field.n, field.mul
    quarter, whole = power(f"{name}_quarter", field, x // 4), power(f"{name}_whole", field, x)
    less, more = power(f"{name}_less", field, x - 1, (2, 4)), power(f"{name}_more", field, x + 1)

    def write(d, a):
        t, u = stack(n), stack(n)
        quarter(t, a)
        less(u, t)
        more(d, u)
        more(t, d)
        more(d, t)
        whole(t, d)
        mul(d, t, u)

    return formula(write, name)


_root = root("fp_root", _ops)


def fp_constant(name, *values):
    """An intrinsic f(d) that writes integers modulo p at d, one after the other, in Montgomery form."""
    bits = WORD_BITS * FP_WORDS
    joined = sum((x * 2**bits % FP_MODULUS) << (bits * i) for i, x in enumerate(values))
    return constant(name, joined, FP_WORDS * len(values))


@inner
def fp_sqrt(d, a):
    """A square root of a.  Out: True if a is a square; d is meaningless otherwise.  d must not be a."""
    check = stack(6)
    _root(d, a)
    fp_sqr(check, d)
    return fp_eq(check, a)


@inner
def fp_is_larger(a):
    """a > (p - 1)/2 as an integer: the sign bit of a compressed point."""
    x = stack(6)
    fp_from_mont(x, a)
    for i in range(FP_WORDS - 1, -1, -1):
        w = load_word(x + WORD_BYTES * i)
        if w != _HALF[i]:
            return w > _HALF[i]
    return False


@kernel
def fp_to_mont_many(out, a):
    """In: a (n, 6) canonical.  Out: out (n, 6) Montgomery."""
    for i in range(len(a)):
        fp_to_mont(row(out, i), row(a, i))


@kernel
def fp_from_mont_many(out, a):
    """In: a (n, 6) Montgomery.  Out: out (n, 6) canonical."""
    for i in range(len(a)):
        fp_from_mont(row(out, i), row(a, i))

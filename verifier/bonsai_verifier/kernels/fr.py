"""Fr, the scalar field of BLS12-381: 4 x 64-bit limbs in Montgomery form, R = 2^256 (contract: limbs.py)."""

from ..parameters import FR_MODULUS
from .cache import kernel
from .inverse import inversion
from .limbs import WORD_BITS, field_operations, row, stack

FR_WORDS, FR_BYTES = 4, 32

_ops = field_operations("fr", FR_MODULUS, FR_WORDS)
fr_mul, fr_add, fr_sub, fr_copy = _ops.mul, _ops.add, _ops.sub, _ops.copy
fr_sqr, fr_neg = _ops.sqr, _ops.neg
fr_from_mont, fr_to_mont, fr_zero, fr_one = _ops.from_mont, _ops.to_mont, _ops.zero, _ops.one
fr_add_product, fr_reduce = _ops.add_product, _ops.reduce
fr_is_zero, fr_eq = _ops.is_zero, _ops.eq
fr_is_canonical = _ops.is_canonical
fr_inv = inversion(
    "fr_inv", FR_MODULUS, FR_WORDS, 2 ** (2 * WORD_BITS * FR_WORDS)
)  # 1/a, and 0 for a = 0; variable time


@kernel
def fr_to_mont_many(out, a):
    """In: a (n, 4) canonical.  Out: out (n, 4) Montgomery."""
    for i in range(len(a)):
        fr_to_mont(row(out, i), row(a, i))


@kernel
def fr_from_mont_many(out, a):
    """In: a (n, 4) Montgomery.  Out: out (n, 4) canonical."""
    for i in range(len(a)):
        fr_from_mont(row(out, i), row(a, i))


@kernel
def fr_mul_many(out, a, b):
    """out_i = a_i b_i on (n, 4) arrays in Montgomery form; b with one row is a common factor."""
    step = 1 if len(b) > 1 else 0
    for i in range(len(a)):
        fr_mul(row(out, i), row(a, i), row(b, step * i))


@kernel
def fr_add_many(out, a, b):
    """out_i = a_i + b_i on (n, 4) arrays; b with one row is a common addend."""
    step = 1 if len(b) > 1 else 0
    for i in range(len(a)):
        fr_add(row(out, i), row(a, i), row(b, step * i))


@kernel
def fr_sub_many(out, a, b):
    """out_i = a_i - b_i on (n, 4) arrays; b with one row is a common subtrahend."""
    step = 1 if len(b) > 1 else 0
    for i in range(len(a)):
        fr_sub(row(out, i), row(a, i), row(b, step * i))


@kernel
def fr_inv_many(out, a):
    """out_i = 1/a_i (0 for 0) with one inversion: 3 multiplications an element.  out must not be a."""
    acc, inverse = stack(4), stack(4)
    fr_one(acc)
    for i in range(len(a)):
        fr_copy(row(out, i), acc)  # the product of the earlier a_j
        if not fr_is_zero(row(a, i)):
            fr_mul(acc, acc, row(a, i))
    fr_inv(inverse, acc)
    for i in range(len(a) - 1, -1, -1):
        if fr_is_zero(row(a, i)):
            fr_zero(row(out, i))
        else:
            fr_mul(row(out, i), row(out, i), inverse)
            fr_mul(inverse, inverse, row(a, i))


@kernel
def fr_powers(out, base, first):
    """out_i = first base^i on an (n, 4) array; base, first (1, 4)."""
    acc = stack(4)
    fr_copy(acc, row(first, 0))
    for i in range(len(out)):
        fr_copy(row(out, i), acc)
        fr_mul(acc, acc, row(base, 0))


@kernel
def fr_below_many(out, address, stride):
    """Whether scalar j of row i, the words at `address + i stride + 32 j`, is below r.  Out: out (n, m) bool."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = fr_is_canonical(address + i * stride + FR_BYTES * j)

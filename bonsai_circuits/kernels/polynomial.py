"""Polynomials of one proof, over Fr: what stands between the transforms and the sums.  The portable body.

A vector is (n, 4) in Montgomery form, coefficient i in row i.  What leaves is canonical: scalars for a sum of multiples.
"""

from bonsai_verifier import field
from bonsai_verifier.kernels.cache import kernel
from bonsai_verifier.kernels.fr import (
    fr_add,
    fr_copy,
    fr_from_mont,
    fr_from_mont_many,
    fr_mul,
    fr_mul_many,
    fr_sub,
    fr_zero,
)
from bonsai_verifier.kernels.limbs import row, stack


@kernel
def _quotient(s, b, a, factors):
    """See `quotient`.  In: factors (3, 4): c, d_0, d_1."""
    t, before = stack(4), stack(4)
    fr_zero(before)
    for i in range(len(a)):
        fr_mul(t, row(a, i), row(factors, 1))
        fr_add(t, t, before)
        fr_mul(before, row(a, i), row(factors, 2))
        fr_sub(row(s, i), row(s, i), row(b, i))
        fr_mul(row(s, i), row(s, i), row(factors, 0))
        fr_add(row(s, i), row(s, i), t)
        fr_sub(row(b, i), row(b, i), row(s, i))


@kernel
def _divide(out, value, f, x):
    """See `divide`.  In: value, the carry.  Out: value, f(x) with the carry as next coefficient."""
    acc = stack(4)
    fr_copy(acc, row(value, 0))
    for i in range(len(f) - 1, -1, -1):
        fr_from_mont(row(out, i), acc)
        fr_mul(acc, acc, row(x, 0))
        fr_add(acc, acc, row(f, i))
    fr_copy(row(value, 0), acc)


def square(transforms, x):
    """x_i <- x_i^2."""
    fr_mul_many(x, x, x)


def quotient(transforms, s, b, a, c, d0, d1):
    """s <- q = c (s - b) + (d0 + d1 X) a modulo X^n, and b <- b - q.  In: integers c, d0, d1."""
    _quotient(s, b, a, field.fr_from_ints([c, d0, d1]))


def divide(transforms, out, f, x, carry):
    """(f + carry X^n) = out (X - x) + value.  Out: out (n, 4) canonical; the value.  In: integers x, carry; f is left alone."""
    value = field.fr_from_ints([carry])
    _divide(out, value, f, field.fr_from_ints([x]))
    return field.fr_to_ints(value)[0]


def canonical(transforms, out, x):
    """The coefficients into out (n, 4)."""
    fr_from_mont_many(out, x)


def coefficient(transforms, x, i):
    """x_i, an integer."""
    return field.fr_to_ints(x[i : i + 1])[0]


def set_coefficient(transforms, x, i, value):
    x[i] = field.fr_from_ints([value])[0]

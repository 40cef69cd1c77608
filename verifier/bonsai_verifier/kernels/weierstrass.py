"""The group of a curve E: y^2 = x^3 + b over a field F, as formulas: written once, for G1 over Fp and for G2 over Fp2.

Affine x | y; infinity is (0, 0), which is not on the curve.  Projective X | Y | Z: x = X/Z, y = Y/Z, infinity (0 : 1 : 0).
Arguments are addresses of coordinates in Montgomery form, and so are results; d may be an operand unless a formula says otherwise.
M, S: a multiplication and a squaring in F; the product with 3b is additions.

Addition and doubling are complete: they hold for all points of E, equal, opposite or infinite, if the order of E is odd (g1.py and g2.py
say why theirs is).  Callers may hand over points that an attacker chose.
Source: Renes, Costello, Batina, ePrint 2015/1060, algorithms 7 to 9 (a = 0).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..parameters import BLS_X
from .intrinsics import formula
from .limbs import WORD_BYTES, stack


class Field(NamedTuple):
    """F: the words of an element, and the intrinsics that the formulas are made of."""

    n_words: int
    mul: Any
    add: Any
    sub: Any
    sqr: Any
    neg: Any
    copy: Any
    inv: Any
    zero: Any
    one: Any


class Group(NamedTuple):
    """The formulas of one curve; their contracts stand in `group`."""

    infinity: Any
    copy: Any
    add: Any
    add_finite: Any
    double: Any
    mul_by_abs_z: Any
    from_finite: Any
    to_affine: Any
    affine_neg: Any
    right_side: Any


def group(name: str, field: Field, write_b: Any, mul_by_3b: Any) -> Group:
    """E over `field` for the intrinsics write_b(d) and mul_by_3b(d, a); `name` makes the IR symbols unique."""
    n, mul, add, sub, sqr, neg, copy, inv, zero, one = field
    y, z = WORD_BYTES * n, 2 * WORD_BYTES * n

    def named(f: Callable[..., None]) -> Any:
        return formula(f, f"{name}_{f.__name__}")

    # Projective points

    @named
    def point_infinity(d):
        """(0 : 1 : 0)."""
        zero(d)
        one(d + y)
        zero(d + z)

    @named
    def point_copy(d, a):
        """a."""
        for i in (0, y, z):
            copy(d + i, a + i)

    @named
    def sum_from_products(d, xx, yy, bzz, xy, yz, bxz):
        """a + b from xx = xa xb, yy = ya yb, bzz = 3b za zb, xy = xa yb + xb ya, yz = ya zb + yb za, bxz = 3b (xa zb + xb za).  6M.

        X = xy (yy - bzz) - yz bxz,   Y = (yy - bzz)(yy + bzz) + 3 xx bxz,   Z = yz (yy + bzz) + 3 xx xy.  xx is overwritten.
        """
        minus, plus, t = stack(n), stack(n), stack(n)
        sub(minus, yy, bzz)
        add(plus, yy, bzz)
        add(t, xx, xx)
        add(xx, xx, t)
        mul(d, xy, minus)
        mul(t, yz, bxz)
        sub(d, d, t)
        mul(d + y, minus, plus)
        mul(t, xx, bxz)
        add(d + y, d + y, t)
        mul(d + z, yz, plus)
        mul(t, xx, xy)
        add(d + z, d + z, t)

    @named
    def cross(d, a0, a1, b0, b1, p00, p11):
        """a0 b1 + a1 b0 = (a0 + a1)(b0 + b1) - p00 - p11, for the products p00 = a0 b0, p11 = a1 b1.  1M."""
        t = stack(n)
        add(t, a0, a1)
        add(d, b0, b1)
        mul(d, d, t)
        sub(d, d, p00)
        sub(d, d, p11)

    @named
    def point_add(d, a, b):
        """a + b, complete.  12M."""
        xx, yy, zz, xy, yz, xz = stack(n), stack(n), stack(n), stack(n), stack(n), stack(n)
        mul(xx, a, b)
        mul(yy, a + y, b + y)
        mul(zz, a + z, b + z)
        cross(xy, a, a + y, b, b + y, xx, yy)
        cross(yz, a + y, a + z, b + y, b + z, yy, zz)
        cross(xz, a, a + z, b, b + z, xx, zz)
        mul_by_3b(zz, zz)
        mul_by_3b(xz, xz)
        sum_from_products(d, xx, yy, zz, xy, yz, xz)

    @named
    def add_finite(d, a, b):
        """a + b for an affine b other than infinity, complete otherwise.  11M."""
        xx, yy, zz, xy, yz, xz = stack(n), stack(n), stack(n), stack(n), stack(n), stack(n)
        mul(xx, a, b)
        mul(yy, a + y, b + y)
        cross(xy, a, a + y, b, b + y, xx, yy)
        mul(yz, b + y, a + z)
        add(yz, yz, a + y)
        mul(xz, b, a + z)
        add(xz, xz, a)
        mul_by_3b(zz, a + z)
        mul_by_3b(xz, xz)
        sum_from_products(d, xx, yy, zz, xy, yz, xz)

    @named
    def double(d, a):
        """2 a, complete.  6M 2S.

        X = 2 xy (yy - 3 bzz),   Y = (yy - 3 bzz)(yy + bzz) + 8 yy bzz,   Z = 8 yy yz, with bzz = 3b Z^2.
        """
        yy, zz, xy, yz, minus, plus = stack(n), stack(n), stack(n), stack(n), stack(n), stack(n)
        sqr(yy, a + y)
        sqr(zz, a + z)
        mul_by_3b(zz, zz)
        mul(xy, a, a + y)
        mul(yz, a + y, a + z)
        add(plus, yy, zz)
        add(minus, zz, zz)
        add(minus, minus, zz)
        sub(minus, yy, minus)
        for _ in range(3):
            add(yy, yy, yy)
        mul(d, xy, minus)
        add(d, d, d)
        mul(d + y, minus, plus)
        mul(zz, yy, zz)
        add(d + y, d + y, zz)
        mul(d + z, yy, yz)

    @named
    def mul_by_abs_z(d, a):
        """[|z|] a for the parameter z of the curve family.  63 doublings, 5 additions.  d must not be a."""
        point_copy(d, a)
        for bit in f"{-BLS_X:b}"[1:]:
            double(d, d)
            if bit == "1":
                point_add(d, d, a)

    # Affine points

    @named
    def from_finite(d, a):
        """(x, y) -> (x : y : 1), for a other than infinity."""
        copy(d, a)
        copy(d + y, a + y)
        one(d + z)

    @named
    def to_affine(d, a):
        """(X : Y : Z) -> (X/Z, Y/Z); infinity -> (0, 0), as 1/0 counts as 0.  One inversion."""
        t = stack(n)
        inv(t, a + z)
        mul(d, a, t)
        mul(d + y, a + y, t)

    @named
    def affine_neg(d, a):
        """(x, -y)."""
        copy(d, a)
        neg(d + y, a + y)

    @named
    def right_side(d, x):
        """x^3 + b.  d must not be x."""
        t = stack(n)
        write_b(t)
        sqr(d, x)
        mul(d, d, x)
        add(d, d, t)

    return Group(
        point_infinity,
        point_copy,
        point_add,
        add_finite,
        double,
        mul_by_abs_z,
        from_finite,
        to_affine,
        affine_neg,
        right_side,
    )

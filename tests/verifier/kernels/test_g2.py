"""E'(Fp2) against py_ecc and arkworks: complete formulas, encoding, subgroup."""

from functools import cache
from math import gcd, isqrt

import numpy as np
import py_arkworks_bls12381 as ark
import pytest
from py_ecc.bls.point_compression import compress_G2, modular_squareroot_in_FQ2
from py_ecc.fields import optimized_bls12_381_FQ2 as FQ2
from py_ecc.fields import optimized_bls12_381_FQ12 as FQ12
from py_ecc.optimized_bls12_381.optimized_curve import G2, Z2, add, b2, eq, is_on_curve, multiply, neg, normalize, twist

from bonsai_verifier.field import fp_from_ints, fp_to_ints, limbs_from_ints
from bonsai_verifier.kernels import g2
from bonsai_verifier.kernels.encoding import (
    POINT_BAD_FLAGS,
    POINT_INFINITY,
    POINT_NOT_CANONICAL,
    POINT_NOT_COMPRESSED,
    POINT_NOT_IN_SUBGROUP,
    POINT_NOT_ON_CURVE,
    POINT_OK,
)
from bonsai_verifier.parameters import BLS_X, FP_MODULUS, FR_MODULUS, G2_COFACTOR
from tests.verifier.kernels.calling import call, results, results_in_place

Point = tuple[FQ2, FQ2, FQ2]
Z = BLS_X
SMALL_ORDERS = (13, 23)


def numbers(x: FQ2) -> list[int]:
    return [int(c) for c in x.coeffs]


def is_infinity(p: Point) -> bool:
    return bool(p[2] == FQ2.zero())


def affine(points: list[Point]) -> np.ndarray:
    """(n, 24); infinity is zero."""
    coordinates: list[int] = []
    for p in points:
        x, y = (FQ2.zero(), FQ2.zero()) if is_infinity(p) else normalize(p)
        coordinates += numbers(x) + numbers(y)
    return fp_from_ints(coordinates).reshape(-1, 24)


def projective(points: list[Point]) -> np.ndarray:
    """(n, 36), with the Z that py_ecc left.  Its infinity, (1 : 1 : 0), is not on the homogeneous curve: (0 : 1 : 0) instead."""
    infinity = (FQ2.zero(), FQ2.one(), FQ2.zero())
    flat = [v for p in points for c in (infinity if is_infinity(p) else p) for v in numbers(c)]
    return fp_from_ints(flat).reshape(-1, 36)


def from_affine(a: np.ndarray) -> list[Point]:
    c = fp_to_ints(a.reshape(-1, 6))
    rows = [(FQ2(c[i : i + 2]), FQ2(c[i + 2 : i + 4])) for i in range(0, len(c), 4)]
    return [Z2 if x == y == FQ2.zero() else (x, y, FQ2.one()) for x, y in rows]


def from_projective(a: np.ndarray) -> list[Point]:
    c = fp_to_ints(a.reshape(-1, 6))
    return [(FQ2(c[i : i + 2]), FQ2(c[i + 2 : i + 4]), FQ2(c[i + 4 : i + 6])) for i in range(0, len(c), 6)]


def same(p: Point, q: Point) -> bool:
    if is_infinity(p) or is_infinity(q):
        return is_infinity(p) and is_infinity(q)
    return bool(eq(p, q))


@cache
def on_curve(c: int) -> Point:
    """The first point with x = c' + u, c' >= c: outside G2 but for one in the cofactor."""
    while True:
        x = FQ2([c, 1])
        y = modular_squareroot_in_FQ2(x**3 + b2)
        if y is not None:
            return (x, y, FQ2.one())
        c += 1


@cache
def of_order(n: int) -> Point:
    """A point of order n on E', for a prime n whose square, but not cube, divides the cofactor."""
    c = 0
    while True:
        p = multiply(on_curve(c), FR_MODULUS * G2_COFACTOR // n**2)  # of order 1, n or n^2
        for q in (multiply(p, n), p):
            if not is_infinity(q):
                return q
        c += 1


@cache
def points() -> list[Point]:
    """Infinity, points of G2 with various Z, and points outside, of small order too."""
    g = [multiply(G2, k) for k in (1, 2, 3, FR_MODULUS - 1, 0xDEADBEEF)]
    t, s = (of_order(n) for n in SMALL_ORDERS)
    outside = on_curve(5)
    return [Z2, *g, t, neg(t), multiply(t, 2), s, add(t, G2), outside, multiply(outside, FR_MODULUS)]


def all_pairs() -> tuple[list[Point], list[Point]]:
    pairs = [(p, q) for p in points() for q in points()]
    return [p for p, _ in pairs], [q for _, q in pairs]


# Numbers -----------------------------------------------------------------------------------------------------------------------


def test_the_order_of_the_curve_is_r_times_the_odd_cofactor() -> None:
    assert G2_COFACTOR % 2 == 1
    # The six twists of y^2 = x^3 + b over Fp2 have trace s with 4 p^2 = s^2 + 3 f^2: from t, the trace over Fp2 of E, the others follow
    t = (Z + 1) ** 2 - 2 * FP_MODULUS
    f = isqrt((4 * FP_MODULUS**2 - t**2) // 3)
    assert t**2 + 3 * f**2 == 4 * FP_MODULUS**2
    traces = [s * v for s in (1, -1) for v in (t, (t + 3 * f) // 2, (t - 3 * f) // 2)]
    assert FR_MODULUS * G2_COFACTOR in [FP_MODULUS**2 + 1 - s for s in traces]
    outside = on_curve(5)
    assert is_on_curve(outside, b2)
    assert not is_infinity(multiply(outside, FR_MODULUS))
    assert is_infinity(multiply(outside, FR_MODULUS * G2_COFACTOR))
    for n in SMALL_ORDERS:
        assert not is_infinity(of_order(n))
        assert is_infinity(multiply(of_order(n), n))


def test_subgroup_check_is_sound_by_the_common_divisor() -> None:
    assert FP_MODULUS - Z == FR_MODULUS * (Z - 1) ** 2 // 3
    assert gcd(FP_MODULUS - Z, FR_MODULUS * G2_COFACTOR) == FR_MODULUS


def psi(p: Point) -> Point:
    x, y = normalize(p)
    conj = [FQ2([c.coeffs[0], -c.coeffs[1]]) for c in (x, y)]
    return (conj[0] * FQ2(g2.PSI_X), conj[1] * FQ2(g2.PSI_Y), FQ2.one())


def on_e(p: Point) -> list[FQ12]:
    """E' -> E over Fp12."""
    x, y, z = twist(p)
    return [x / z, y / z]


def test_psi_is_the_frobenius_of_the_curve_seen_on_the_twist() -> None:
    for p in points()[1:]:
        image = psi(p)
        assert on_e(image) == [c**FP_MODULUS for c in on_e(p)]
        # psi^2 - [z + 1] psi + [p] = 0
        assert same(add(psi(image), multiply(p, FP_MODULUS)), neg(multiply(image, -Z - 1)))
    assert same(psi(G2), neg(multiply(G2, -Z)))


# Arithmetic --------------------------------------------------------------------------------------------------------------------


def test_add_is_complete_on_the_whole_curve() -> None:
    left, right = all_pairs()
    expected = [add(p, q) for p, q in zip(left, right, strict=True)]
    sums = results(g2.g2_add, projective(left), projective(right))
    assert all(map(same, from_projective(sums), expected))
    for p, q, s in zip(left, right, sums, strict=True):
        for d in results_in_place(g2.g2_add, projective([p]), projective([q])):
            assert np.array_equal(d[0], s)


def test_double_is_complete_on_the_whole_curve() -> None:
    doubles = results(g2.g2_double, projective(points()))
    assert all(map(same, from_projective(doubles), [add(p, p) for p in points()]))
    for p, s in zip(points(), doubles, strict=True):
        assert np.array_equal(results_in_place(g2.g2_double, projective([p]))[0][0], s)


def test_mul_takes_the_scalar_as_an_integer() -> None:
    scalars = [0, 1, 2, 13, FR_MODULUS - 1, FR_MODULUS, FR_MODULUS + 5, 2**256 - 1]
    for p in points():
        expected = [multiply(p, k) for k in scalars]
        assert all(map(same, from_affine(g2.g2_mul_many(affine([p]), limbs_from_ints(scalars, 4))), expected))


def test_mul_takes_one_base() -> None:
    with pytest.raises(ValueError, match="rows of 24"):
        g2.g2_mul_many(affine([G2, G2]), limbs_from_ints([1, 2], 4))


def test_to_affine_and_negation() -> None:
    for p in points():
        d = np.empty((1, 24), np.uint64)
        call(g2.g2_to_affine, d, projective([p]))
        assert np.array_equal(d, affine([p]))
    out = affine(points())
    g2.g2_neg_many(out, out)
    assert np.array_equal(out, affine([neg(p) for p in points()]))


# Membership --------------------------------------------------------------------------------------------------------------------


def test_subgroup_check_equals_multiplication_by_r() -> None:
    chosen = points() + [on_curve(c) for c in range(20, 30)] + [multiply(on_curve(c), G2_COFACTOR) for c in (1, 9)]
    chosen += [add(multiply(on_curve(7), FR_MODULUS), multiply(G2, k)) for k in (1, 2)]
    status = np.zeros(len(chosen), np.uint8)
    g2.g2_check_subgroup_many(status, affine(chosen))
    for p, s in zip(chosen, status, strict=True):
        assert s == (POINT_OK if is_infinity(multiply(p, FR_MODULUS)) else POINT_NOT_IN_SUBGROUP)


def test_subgroup_check_keeps_an_earlier_status() -> None:
    status = np.full(1, POINT_NOT_CANONICAL, np.uint8)
    g2.g2_check_subgroup_many(status, affine([on_curve(0)]))
    assert status[0] == POINT_NOT_CANONICAL


# Bytes -------------------------------------------------------------------------------------------------------------------------


def decode(data: bytes) -> tuple[int, np.ndarray]:
    out, status = np.full((1, 24), 7, np.uint64), np.full(1, 99, np.uint8)
    g2.g2_decode_many(out, np.frombuffer(data, np.uint8).reshape(1, 96), status)
    return int(status[0]), out


def encode(p: Point) -> bytes:
    data = np.full((1, 96), 255, np.uint8)
    g2.g2_encode_many(data, affine([p]))
    return data.tobytes()


def test_encoding_equals_arkworks_and_py_ecc() -> None:
    for k in (1, 2, 3, 4, 5, 6, 7, FR_MODULUS - 1, 12345678901234567890):
        data = bytes((ark.G2Point() * ark.Scalar(k)).to_compressed_bytes())
        p = multiply(G2, k)
        assert data == b"".join(half.to_bytes(48, "big") for half in compress_G2(p))
        assert encode(p) == data
        status, a = decode(data)
        assert status == POINT_OK
        assert np.array_equal(a, affine([p]))


def test_many_points_decode_row_by_row() -> None:
    chosen = [G2, neg(G2), Z2, on_curve(5), multiply(G2, 77)]
    data, out = np.empty((5, 96), np.uint8), np.full((5, 24), 7, np.uint64)
    g2.g2_encode_many(data, affine(chosen))
    status = np.full(5, 99, np.uint8)
    g2.g2_decode_many(out, data, status)
    assert status.tolist() == [POINT_OK, POINT_OK, POINT_INFINITY, POINT_OK, POINT_OK]
    assert np.array_equal(out, affine(chosen))


def test_decoding_round_trips_outside_the_subgroup() -> None:
    for p in [on_curve(c) for c in range(10)] + [of_order(n) for n in SMALL_ORDERS]:
        for q in (p, neg(p), add(p, G2)):
            status, a = decode(encode(q))
            assert status == POINT_OK
            assert np.array_equal(a, affine([q]))


def flagged(x0: int, x1: int, flags: int) -> bytes:
    return (x1 | flags << 376).to_bytes(48, "big") + x0.to_bytes(48, "big")


X0, X1 = numbers(normalize(G2)[0])
NO_ROOT = next(c for c in range(100) if modular_squareroot_in_FQ2(FQ2([c, 1]) ** 3 + b2) is None)
P = FP_MODULUS


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (flagged(X0, X1, 0x00), POINT_NOT_COMPRESSED),
        (flagged(X0, X1, 0x20), POINT_NOT_COMPRESSED),
        (flagged(0, 0, 0x00), POINT_NOT_COMPRESSED),
        (flagged(0, 0, 0x40), POINT_NOT_COMPRESSED),
        (flagged(0, 0, 0x60), POINT_NOT_COMPRESSED),
        (flagged(0, 0, 0xC0), POINT_INFINITY),
        (flagged(0, 0, 0xE0), POINT_BAD_FLAGS),
        (flagged(1, 0, 0xC0), POINT_BAD_FLAGS),
        (flagged(1 << 383, 0, 0xC0), POINT_BAD_FLAGS),
        (flagged(0, 1, 0xC0), POINT_BAD_FLAGS),
        (flagged(0, 1 << 376, 0xC0), POINT_BAD_FLAGS),
        (flagged(X0, X1, 0xC0), POINT_BAD_FLAGS),
        (flagged(X0, P, 0x80), POINT_NOT_CANONICAL),
        (flagged(P, X1, 0x80), POINT_NOT_CANONICAL),
        (flagged(P, P, 0x80), POINT_NOT_CANONICAL),
        (flagged(X0 + P, X1, 0x80), POINT_NOT_CANONICAL),
        (flagged(X0, 2**381 - 1, 0xA0), POINT_NOT_CANONICAL),
        (flagged(X0 | 1 << 383, X1, 0xA0), POINT_NOT_CANONICAL),  # a flag in the second half is no flag
        (flagged(X0 | 1 << 381, X1, 0xA0), POINT_NOT_CANONICAL),
        (flagged(2**384 - 1, X1, 0x80), POINT_NOT_CANONICAL),
        (flagged(NO_ROOT, 1, 0x80), POINT_NOT_ON_CURVE),
        (flagged(NO_ROOT, 1, 0xA0), POINT_NOT_ON_CURVE),
        (flagged(X0, X1, 0x80), POINT_OK),
        (flagged(X0, X1, 0xA0), POINT_OK),
    ],
)
def test_decoding_names_what_is_wrong(data: bytes, status: int) -> None:
    got, a = decode(data)
    assert got == status
    assert bool(a.any()) == (status == POINT_OK)


def test_decoding_agrees_with_arkworks_on_altered_bytes() -> None:
    rng = np.random.default_rng(1)
    good = bytes((ark.G2Point() * ark.Scalar(99)).to_compressed_bytes())
    for _ in range(60):
        data = bytearray(good)
        data[rng.integers(96)] ^= 1 << rng.integers(8)
        status, out = decode(bytes(data))
        if status == POINT_OK:
            checked = np.full(1, status, np.uint8)
            g2.g2_check_subgroup_many(checked, out)
            status = int(checked[0])
        try:
            ark.G2Point.from_compressed_bytes(bytes(data))
        except ValueError:
            assert status not in (POINT_OK, POINT_INFINITY)
        else:
            assert status in (POINT_OK, POINT_INFINITY)


def test_infinity_encodes_as_one_string() -> None:
    assert encode(Z2) == flagged(0, 0, 0xC0)

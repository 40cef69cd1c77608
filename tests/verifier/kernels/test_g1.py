"""E(Fp) against py_ecc and arkworks: complete formulas, encoding, subgroup."""

from functools import cache

import numpy as np
import py_arkworks_bls12381 as ark
import pytest
from py_ecc.fields import optimized_bls12_381_FQ as FQ
from py_ecc.optimized_bls12_381.optimized_curve import G1, Z1, add, b, eq, is_on_curve, multiply, neg, normalize

from bonsai_verifier.field import fp_from_ints, fp_to_ints, limbs_from_ints
from bonsai_verifier.kernels import encoding, g1
from bonsai_verifier.parameters import BLS_X, FP_MODULUS, FR_MODULUS, G1_COFACTOR
from tests.verifier.kernels.calling import call, results, results_in_place

Point = tuple[FQ, FQ, FQ]


def affine(points: list[Point]) -> np.ndarray:
    """(n, 12); infinity is zero."""
    coordinates: list[int] = []
    for p in points:
        x, y = (0, 0) if eq(p, Z1) or p[2].n == 0 else [c.n for c in normalize(p)]
        coordinates += [x, y]
    return fp_from_ints(coordinates).reshape(-1, 12)


def projective(points: list[Point]) -> np.ndarray:
    """(n, 18), with the Z that py_ecc left.  Its infinity, (1 : 1 : 0), is not on the homogeneous curve: (0 : 1 : 0) instead."""
    coordinates = [[c.n for c in p] if p[2].n else [0, 1, 0] for p in points]
    return fp_from_ints([c for p in coordinates for c in p]).reshape(-1, 18)


def from_affine(a: np.ndarray) -> list[Point]:
    xy = fp_to_ints(a.reshape(-1, 6))
    return [Z1 if x == y == 0 else (FQ(x), FQ(y), FQ(1)) for x, y in zip(xy[::2], xy[1::2], strict=True)]


def from_projective(a: np.ndarray) -> list[Point]:
    c = fp_to_ints(a.reshape(-1, 6))
    return [(FQ(c[i]), FQ(c[i + 1]), FQ(c[i + 2])) for i in range(0, len(c), 3)]


def same(p: Point, q: Point) -> bool:
    if p[2].n == 0 or q[2].n == 0:
        return p[2].n == q[2].n
    return bool(eq(p, q))


def on_curve(x: int) -> Point:
    """The first point with an abscissa from x on: nearly always outside G1."""
    while True:
        rhs = (x**3 + 4) % FP_MODULUS
        y = pow(rhs, (FP_MODULUS + 1) // 4, FP_MODULUS)
        if y * y % FP_MODULUS == rhs:
            return (FQ(x), FQ(y), FQ(1))
        x += 1


@cache
def points() -> list[Point]:
    """Infinity, points of G1 with various Z, and points of orders 3 and r * something."""
    torsion = on_curve(0)
    outside = on_curve(5)
    g = [multiply(G1, k) for k in (1, 2, 3, FR_MODULUS - 1, 0xDEADBEEF)]
    return [Z1, *g, torsion, neg(torsion), outside, multiply(outside, FR_MODULUS), add(torsion, G1)]


def all_pairs() -> tuple[list[Point], list[Point]]:
    pairs = [(p, q) for p in points() for q in points()]
    return [p for p, _ in pairs], [q for _, q in pairs]


def test_beta_is_the_eigenvalue_minus_z_squared_on_the_generator() -> None:
    assert g1.BETA == pow(2, (FP_MODULUS - 1) // 3, FP_MODULUS) != 1
    x, y = normalize(G1)
    assert eq((x * g1.BETA, y, FQ(1)), multiply(G1, -(BLS_X**2) % FR_MODULUS))


def test_the_order_of_the_curve_is_odd() -> None:
    assert G1_COFACTOR % 2 == 1
    assert FR_MODULUS % 2 == 1
    assert FR_MODULUS * G1_COFACTOR == FP_MODULUS + 1 - (BLS_X + 1)  # p + 1 - t, t = z + 1
    outside = on_curve(5)
    assert multiply(outside, FR_MODULUS)[2].n != 0
    assert multiply(outside, FR_MODULUS * G1_COFACTOR)[2].n == 0


def test_add_is_complete_on_the_whole_curve() -> None:
    left, right = all_pairs()
    for p, q, s in zip(
        left, right, from_projective(results(g1.g1_add, projective(left), projective(right))), strict=True
    ):
        assert is_on_curve(s, b)
        assert same(s, add(p, q))


def test_add_mixed_is_complete_on_the_whole_curve() -> None:
    left, right = all_pairs()
    for p, q, s in zip(
        left, right, from_projective(results(g1.g1_add_mixed, projective(left), affine(right))), strict=True
    ):
        assert same(s, add(p, q))


def test_add_and_double_may_write_over_an_operand() -> None:
    for p, q in zip(*all_pairs(), strict=True):
        for d in results_in_place(g1.g1_add, projective([p]), projective([q])):
            assert same(from_projective(d)[0], add(p, q))
        (d, _) = results_in_place(g1.g1_add_mixed, projective([p]), np.pad(affine([q]), ((0, 0), (0, 6))))
        assert same(from_projective(d)[0], add(p, q))
    for p in points():
        (d,) = results_in_place(g1.g1_double, projective([p]))
        assert same(from_projective(d)[0], add(p, p))


def test_double_is_complete_on_the_whole_curve() -> None:
    for p, s in zip(points(), from_projective(results(g1.g1_double, projective(points()))), strict=True):
        assert same(s, add(p, p))


def test_to_affine_skips_infinity_anywhere() -> None:
    for chosen in (points(), [Z1], [Z1, Z1, G1, Z1], []):
        out = np.empty((len(chosen), 12), np.uint64)
        g1.g1_to_affine_many(out, projective(chosen) if chosen else np.empty((0, 18), np.uint64))
        assert np.array_equal(out, affine(chosen))


def test_affine_round_trip_and_negation() -> None:
    a = affine(points())
    for p, x in zip(points(), a, strict=True):
        d = np.empty((1, 18), np.uint64)
        call(g1.g1_from_affine, d, x[None])
        assert same(from_projective(d)[0], p)
    g1.g1_neg_many(a, a)
    assert all(map(same, from_affine(a), [neg(p) for p in points()]))


def test_check_names_what_is_wrong_with_words() -> None:
    a = affine([G1, Z1, on_curve(0), on_curve(5), G1, G1, G1])
    a[4, 6] ^= np.uint64(1)
    a[5, :6] = fp_from_ints([5])[0]
    a[6, 6:] = limbs_from_ints([FP_MODULUS], 6)[0]
    status = np.full(len(a), 99, np.uint8)
    g1.g1_check_many(status, a)
    assert status.tolist() == [
        encoding.POINT_OK,
        encoding.POINT_INFINITY,
        encoding.POINT_NOT_IN_SUBGROUP,
        encoding.POINT_NOT_IN_SUBGROUP,
        encoding.POINT_NOT_ON_CURVE,
        encoding.POINT_NOT_ON_CURVE,
        encoding.POINT_NOT_CANONICAL,
    ]


def test_subgroup_check_equals_multiplication_by_r() -> None:
    chosen = points() + [multiply(on_curve(x), G1_COFACTOR) for x in (11, 17)] + [on_curve(x) for x in range(20, 40)]
    a = affine(chosen)
    status = np.zeros(len(a), np.uint8)
    g1.g1_check_subgroup_many(status, a)
    for p, s in zip(chosen, status, strict=True):
        assert (s == encoding.POINT_OK) == (multiply(p, FR_MODULUS)[2].n == 0)
        assert s in (encoding.POINT_OK, encoding.POINT_NOT_IN_SUBGROUP)


def test_subgroup_check_keeps_an_earlier_status() -> None:
    status = np.full(1, encoding.POINT_NOT_CANONICAL, np.uint8)
    g1.g1_check_subgroup_many(status, affine([on_curve(0)]))
    assert status[0] == encoding.POINT_NOT_CANONICAL


def decode(data: bytes) -> tuple[int, np.ndarray]:
    out, status = np.full((1, 12), 7, np.uint64), np.full(1, 99, np.uint8)
    g1.g1_decode_many(out, np.frombuffer(data, np.uint8).reshape(1, 48), status)
    return int(status[0]), out


def encode(p: Point) -> bytes:
    data = np.full((1, 48), 255, np.uint8)
    g1.g1_encode_many(data, affine([p]))
    return data.tobytes()


def test_encoding_equals_arkworks() -> None:
    for k in (1, 2, 3, 4, 5, FR_MODULUS - 1, 12345678901234567890):
        data = bytes((ark.G1Point() * ark.Scalar(k)).to_compressed_bytes())
        p = multiply(G1, k)
        assert encode(p) == data
        status, a = decode(data)
        assert status == encoding.POINT_OK
        assert np.array_equal(a, affine([p]))


def test_decoding_round_trips_outside_the_subgroup() -> None:
    for x in range(0, 60, 3):
        p = on_curve(x)
        for q in (p, neg(p)):
            status, a = decode(encode(q))
            assert status == encoding.POINT_OK
            assert np.array_equal(a, affine([q]))


def flagged(x: int, flags: int) -> bytes:
    return (x | flags << 376).to_bytes(48, "big")


X_OF_G = normalize(G1)[0].n
NO_ROOT = next(x for x in range(100) if pow(x**3 + 4, (FP_MODULUS - 1) // 2, FP_MODULUS) != 1)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (flagged(X_OF_G, 0x00), encoding.POINT_NOT_COMPRESSED),
        (flagged(X_OF_G, 0x20), encoding.POINT_NOT_COMPRESSED),
        (flagged(0, 0x40), encoding.POINT_NOT_COMPRESSED),
        (flagged(0, 0xC0), encoding.POINT_INFINITY),
        (flagged(0, 0xE0), encoding.POINT_BAD_FLAGS),
        (flagged(1, 0xC0), encoding.POINT_BAD_FLAGS),
        (flagged(1 << 376, 0xC0), encoding.POINT_BAD_FLAGS),
        (flagged(FP_MODULUS, 0x80), encoding.POINT_NOT_CANONICAL),
        (flagged(FP_MODULUS + 5, 0x80), encoding.POINT_NOT_CANONICAL),
        (flagged(2**381 - 1, 0xA0), encoding.POINT_NOT_CANONICAL),
        (flagged(NO_ROOT, 0x80), encoding.POINT_NOT_ON_CURVE),
        (flagged(0, 0x80), encoding.POINT_OK),  # (0, 2): order 3
        (flagged(0, 0xA0), encoding.POINT_OK),
        (flagged(X_OF_G, 0x80), encoding.POINT_OK),
        (flagged(X_OF_G, 0xA0), encoding.POINT_OK),
    ],
)
def test_decoding_names_what_is_wrong(data: bytes, status: int) -> None:
    got, a = decode(data)
    assert got == status
    assert bool(a.any()) == (status == encoding.POINT_OK)


def test_infinity_encodes_as_one_string() -> None:
    assert encode(Z1) == flagged(0, 0xC0)

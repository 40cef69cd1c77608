"""E(Fp) against py_ecc and arkworks: complete formulas, encoding, subgroup."""

import random
from functools import cache
from types import ModuleType

import numpy as np
import py_arkworks_bls12381 as ark
import pytest
from py_ecc.fields import optimized_bls12_381_FQ as FQ
from py_ecc.optimized_bls12_381.optimized_curve import G1, Z1, add, b, eq, is_on_curve, multiply, neg, normalize

from bonsai_verifier import curve
from bonsai_verifier.field import fp_from_ints, fp_to_ints, limbs_from_ints
from bonsai_verifier.kernels import cpu, encoding, g1
from bonsai_verifier.kernels.limbs import rows
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


# Many points: both bodies ----------------------------------------------------------------------------------------------------


@pytest.fixture
def many(body: str) -> ModuleType:
    """The module of the body that runs."""
    if body == cpu.PORTABLE:
        return g1
    from bonsai_verifier.kernels import g1_lanes

    return g1_lanes


@cache
def of_every_kind() -> tuple[np.ndarray, list[bool]]:
    """Points and whether r of them is infinity: of G1, of every small order that divides the cofactor, of neither, infinity."""
    order = FR_MODULUS * G1_COFACTOR
    low = [multiply(on_curve(50), order // q) for q in (3, 11**2, 10177**2, 859267**2, 52437899**2)]
    assert all(p[2].n for p in low)
    chosen = [*points(), *low, *(add(p, G1) for p in low), *(multiply(on_curve(x), G1_COFACTOR) for x in (11, 17))]
    chosen += [on_curve(x) for x in range(20, 40)]
    return affine(chosen), [multiply(p, FR_MODULUS)[2].n == 0 for p in chosen]


def test_subgroup_check_equals_multiplication_by_r(many: ModuleType) -> None:
    a, members = of_every_kind()
    status = np.full(len(a), encoding.POINT_OK, np.uint8)
    many.g1_check_subgroup_many(status, a)
    assert status.tolist() == [encoding.POINT_OK if m else encoding.POINT_NOT_IN_SUBGROUP for m in members]


@pytest.mark.parametrize("n", [1, 2])
def test_subgroup_check_of_the_points_of_one_proof(many: ModuleType, n: int) -> None:
    """As few take another way: each kind of point alone, and beside its neighbour."""
    a, members = of_every_kind()
    for i in range(len(a) - n + 1):
        status = np.full(n, encoding.POINT_OK, np.uint8)
        many.g1_check_subgroup_many(status, rows(a[i : i + n], 12))
        assert (status == encoding.POINT_OK).tolist() == members[i : i + n]


@pytest.mark.parametrize("n", range(41))
def test_subgroup_check_of_any_number_of_points_keeps_an_earlier_status(many: ModuleType, n: int) -> None:
    a, members = of_every_kind()
    status = np.full(45, 99, np.uint8)
    status[:n] = np.arange(n) % 3  # POINT_OK and two reasons
    expected = status.tolist()
    for i in range(n):
        if expected[i] == encoding.POINT_OK and not members[i]:
            expected[i] = encoding.POINT_NOT_IN_SUBGROUP
    many.g1_check_subgroup_many(status[:n], a[:n])
    assert status.tolist() == expected


def decode_many(many: ModuleType, data: list[bytes]) -> tuple[list[int], np.ndarray]:
    out, status = np.full((len(data), 12), 7, np.uint64), np.full(len(data), 99, np.uint8)
    many.g1_decode_many(out, np.frombuffer(b"".join(data), np.uint8).reshape(-1, 48), status)
    return status.tolist(), out


def decode(many: ModuleType, data: bytes) -> tuple[int, np.ndarray]:
    (status,), out = decode_many(many, [data])
    return status, out


def encode(p: Point) -> bytes:
    data = np.full((1, 48), 255, np.uint8)
    g1.g1_encode_many(data, affine([p]))
    return data.tobytes()


def test_encoding_equals_arkworks(many: ModuleType) -> None:
    for k in (1, 2, 3, 4, 5, FR_MODULUS - 1, 12345678901234567890):
        data = bytes((ark.G1Point() * ark.Scalar(k)).to_compressed_bytes())
        p = multiply(G1, k)
        assert encode(p) == data
        status, a = decode(many, data)
        assert status == encoding.POINT_OK
        assert np.array_equal(a, affine([p]))


def test_decoding_round_trips_outside_the_subgroup(many: ModuleType) -> None:
    for x in range(0, 60, 3):
        p = on_curve(x)
        for q in (p, neg(p)):
            status, a = decode(many, encode(q))
            assert status == encoding.POINT_OK
            assert np.array_equal(a, affine([q]))


def flagged(x: int, flags: int) -> bytes:
    return (x | flags << 376).to_bytes(48, "big")


X_OF_G = normalize(G1)[0].n
NO_ROOT = next(x for x in range(100) if pow(x**3 + 4, (FP_MODULUS - 1) // 2, FP_MODULUS) != 1)


NAMED = [
    (flagged(X_OF_G, 0x00), encoding.POINT_NOT_COMPRESSED),
    (flagged(X_OF_G, 0x20), encoding.POINT_NOT_COMPRESSED),
    (flagged(0, 0x00), encoding.POINT_NOT_COMPRESSED),
    (flagged(0, 0x40), encoding.POINT_NOT_COMPRESSED),
    (flagged(FP_MODULUS, 0x20), encoding.POINT_NOT_COMPRESSED),
    (flagged(0, 0xC0), encoding.POINT_INFINITY),
    (flagged(0, 0xE0), encoding.POINT_BAD_FLAGS),
    (flagged(1, 0xC0), encoding.POINT_BAD_FLAGS),
    (flagged(1 << 376, 0xC0), encoding.POINT_BAD_FLAGS),
    (flagged(FP_MODULUS, 0xC0), encoding.POINT_BAD_FLAGS),
    (flagged(FP_MODULUS, 0x80), encoding.POINT_NOT_CANONICAL),
    (flagged(FP_MODULUS + on_curve(5)[0].n, 0x80), encoding.POINT_NOT_CANONICAL),
    (flagged(2**381 - 1, 0xA0), encoding.POINT_NOT_CANONICAL),
    (flagged(NO_ROOT, 0x80), encoding.POINT_NOT_ON_CURVE),
    (flagged(FP_MODULUS - 1, 0xA0), encoding.POINT_NOT_ON_CURVE),  # -1 + 4 = 3
    (flagged(0, 0x80), encoding.POINT_OK),  # (0, 2): order 3
    (flagged(0, 0xA0), encoding.POINT_OK),
    (flagged(X_OF_G, 0x80), encoding.POINT_OK),
    (flagged(X_OF_G, 0xA0), encoding.POINT_OK),
]


@pytest.mark.parametrize(("data", "status"), NAMED)
def test_decoding_names_what_is_wrong(many: ModuleType, data: bytes, status: int) -> None:
    got, a = decode(many, data)
    assert got == status
    assert bool(a.any()) == (status == encoding.POINT_OK)


def reference(data: bytes) -> tuple[int, tuple[int, int]]:
    """Status and coordinates by integers."""
    flags, x = data[0] & 0xE0, int.from_bytes(data, "big") % 2**381
    if not flags & 0x80:
        return encoding.POINT_NOT_COMPRESSED, (0, 0)
    if flags & 0x40:
        return (encoding.POINT_BAD_FLAGS if flags & 0x20 or x else encoding.POINT_INFINITY), (0, 0)
    if x >= FP_MODULUS:
        return encoding.POINT_NOT_CANONICAL, (0, 0)
    right = (x**3 + 4) % FP_MODULUS
    y = pow(right, (FP_MODULUS + 1) // 4, FP_MODULUS)
    if y * y % FP_MODULUS != right:
        return encoding.POINT_NOT_ON_CURVE, (0, 0)
    larger = y > FP_MODULUS - y
    return encoding.POINT_OK, (x, y if larger == bool(flags & 0x20) else FP_MODULUS - y)


def any_encodings(n: int, seed: int) -> list[bytes]:
    """Encodings of every status in any order, mutated ones among them."""
    rng, named = random.Random(seed), [data for data, _ in NAMED]
    out = []
    for _ in range(n):
        kind = rng.randrange(4)
        data = bytearray(
            rng.choice(named) if kind == 0 else flagged(rng.randrange(FP_MODULUS), rng.choice((0x80, 0xA0)))
        )
        if kind == 1:
            data[rng.randrange(48)] ^= 1 << rng.randrange(8)
        if kind == 2:
            data = bytearray(flagged(rng.randrange(2**381), rng.randrange(8) << 5))
        out.append(bytes(data))
    return out


def check_decoding(many: ModuleType, data: list[bytes]) -> None:
    status, a = decode_many(many, data)
    expected = [reference(d) for d in data]
    assert status == [s for s, _ in expected]
    assert fp_to_ints(a.reshape(-1, 6)) == [c for _, xy in expected for c in xy]


@pytest.mark.parametrize("n", range(41))
def test_decoding_any_number_of_points_equals_integers(many: ModuleType, n: int) -> None:
    check_decoding(many, any_encodings(n, n))


def test_decoding_many_points_equals_integers(many: ModuleType) -> None:
    check_decoding(many, any_encodings(1000, 100))


def test_decoding_writes_its_rows_alone_and_reads_unaligned_bytes(many: ModuleType) -> None:
    data = any_encodings(19, 200)
    raw = np.frombuffer(b"\xff" + b"".join(data), np.uint8)[1:].reshape(-1, 48)
    out, status = np.full((25, 12), 7, np.uint64), np.full(25, 99, np.uint8)
    many.g1_decode_many(out[3:22], raw, status[3:22])
    expected_status, expected = decode_many(many, data)
    assert status.tolist() == [99] * 3 + expected_status + [99] * 3
    assert np.array_equal(out[3:22], expected)
    assert (out[:3] == 7).all()
    assert (out[22:] == 7).all()


def test_the_door_takes_the_body_that_runs(many: ModuleType) -> None:
    data = any_encodings(40, 300)
    raw = np.frombuffer(b"".join(data), np.uint8).reshape(-1, 48)
    assert curve._g1_body() is many
    points_alone, status_alone = curve.decode_g1_many(raw, subgroup=False)
    assert status_alone.tolist() == [reference(d)[0] for d in data]
    points_checked, status = curve.decode_g1_many(raw)
    assert np.array_equal(points_alone, points_checked)
    members = curve.in_g1_many(points_alone)
    assert members.dtype == bool
    expected = np.where((status_alone == encoding.POINT_OK) & ~members, encoding.POINT_NOT_IN_SUBGROUP, status_alone)
    assert status.tolist() == expected.tolist()


def test_infinity_encodes_as_one_string() -> None:
    assert encode(Z1) == flagged(0, 0xC0)

"""Sums of multiples against arkworks and py_ecc."""

import random

import numpy as np
import py_arkworks_bls12381 as ark
import pytest
from py_ecc.optimized_bls12_381.optimized_curve import G1, Z1, add, multiply, neg

from bonsai_verifier.field import limbs_from_ints
from bonsai_verifier.kernels import g1, msm
from bonsai_verifier.parameters import FR_MODULUS
from tests.verifier.kernels.test_g1 import Point, affine, from_affine, on_curve, same


def arkworks_points(n: int, rng: random.Random) -> tuple[list[ark.G1Point], np.ndarray]:
    points = [ark.G1Point() * ark.Scalar(rng.randrange(FR_MODULUS)) for _ in range(n)]
    data = np.frombuffer(b"".join(bytes(p.to_compressed_bytes()) for p in points), np.uint8).reshape(n, 48)
    out, status = np.empty((n, 12), np.uint64), np.empty(n, np.uint8)
    g1.g1_decode_many(out, data, status)
    assert not status.any()
    return points, out


def encode(a: np.ndarray) -> bytes:
    data = np.empty((1, 48), np.uint8)
    g1.g1_encode_many(data, a.reshape(1, 12))
    return data.tobytes()


def slow_sum(points: list[Point], scalars: list[int]) -> Point:
    total = Z1
    for p, k in zip(points, scalars, strict=True):
        total = add(total, multiply(p, k))
    return total


@pytest.mark.parametrize("n", [1, 2, 3, 17, 100, 1000])
@pytest.mark.parametrize("bits", [1, 5, 64, 128, 255])
def test_msm_equals_arkworks(n: int, bits: int) -> None:
    rng = random.Random(n * 1000 + bits)
    theirs, ours = arkworks_points(n, rng)
    scalars = [rng.getrandbits(bits) % FR_MODULUS for _ in range(n)]
    expected = ark.G1Point.multiexp_unchecked(theirs, [ark.Scalar(k) for k in scalars])
    assert encode(msm.g1_msm(ours, limbs_from_ints(scalars, 4))) == bytes(expected.to_compressed_bytes())


def test_msm_of_nothing_is_infinity() -> None:
    assert not msm.g1_msm(np.empty((0, 12), np.uint64), np.empty((0, 4), np.uint64)).any()


def test_msm_skips_zero_scalars_and_infinities() -> None:
    points = [Z1, G1, multiply(G1, 5), Z1]
    assert not msm.g1_msm(affine(points), limbs_from_ints([7, 0, 0, 1], 4)).any()
    (got,) = from_affine(msm.g1_msm(affine(points), limbs_from_ints([7, 0, 3, FR_MODULUS - 1], 4)))
    assert same(got, multiply(G1, 15))


@pytest.mark.parametrize("k", [0, 1, 2, FR_MODULUS - 1, FR_MODULUS, 2**255 - 1, 2**255, 2**256 - 1])
def test_msm_of_one_point_takes_the_scalar_as_an_integer(k: int) -> None:
    for p in (G1, on_curve(0), on_curve(5)):
        (got,) = from_affine(msm.g1_msm(affine([p]), limbs_from_ints([k], 4)))
        assert same(got, multiply(p, k))


def test_msm_of_equal_and_opposite_points() -> None:
    """What an attacker would send: one bucket that doubles, cancels and starts again."""
    outside = on_curve(5)
    points = [G1] * 40 + [neg(G1)] * 39 + [outside, outside, neg(outside), on_curve(0), on_curve(0), on_curve(0)]
    scalars = [12345] * len(points)
    (got,) = from_affine(msm.g1_msm(affine(points), limbs_from_ints(scalars, 4)))
    assert same(got, slow_sum(points, scalars))


def test_msm_outside_the_subgroup() -> None:
    rng = random.Random(7)
    points = [on_curve(rng.getrandbits(300)) for _ in range(30)]
    scalars = [rng.getrandbits(256) for _ in points]
    (got,) = from_affine(msm.g1_msm(affine(points), limbs_from_ints(scalars, 4)))
    assert same(got, slow_sum(points, scalars))


def test_every_window_gives_the_same_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(8)
    _, points = arkworks_points(5, rng)
    scalars = limbs_from_ints([rng.getrandbits(256), 2**256 - 1, 2**255 + 1, 3, rng.getrandbits(255)], 4)
    sums = set()
    for c in range(2, 17):
        monkeypatch.setattr(msm, "msm_window", lambda n, bits, c=c: c)
        sums.add(encode(msm.g1_msm(points, scalars)))
    assert len(sums) == 1


@pytest.mark.parametrize("n", [0, 1, 2, 50, 500])
def test_fixed_base_equals_arkworks(n: int) -> None:
    rng = random.Random(n)
    (theirs,), base = arkworks_points(1, rng)
    scalars = ([0, 1, FR_MODULUS - 1, 2] + [rng.randrange(FR_MODULUS) for _ in range(n)])[:n]
    got = msm.g1_fixed_base_many(base, limbs_from_ints(scalars, 4))
    assert got.shape == (n, 12)
    for k, row in zip(scalars, got, strict=True):
        assert encode(row) == bytes((theirs * ark.Scalar(k)).to_compressed_bytes())


def test_fixed_base_with_every_window_and_any_base(monkeypatch: pytest.MonkeyPatch) -> None:
    scalars = [0, 1, 2**256 - 1, FR_MODULUS, FR_MODULUS - 1, 2**128]
    for base in (Z1, G1, on_curve(0), on_curve(5)):
        for c in (2, 3, 8, 13):
            monkeypatch.setattr(msm, "fixed_base_window", lambda n, bits, c=c: c)
            got = from_affine(msm.g1_fixed_base_many(affine([base]), limbs_from_ints(scalars, 4)))
            assert all(same(p, multiply(base, k)) for p, k in zip(got, scalars, strict=True))


def test_windows_grow_with_the_number_of_points() -> None:
    windows = [msm.msm_window(1 << k, 255) for k in range(20)]
    assert windows == sorted(windows)
    assert windows[0] < windows[-1] <= 16
    tables = [msm.fixed_base_window(1 << k, 255) for k in range(22)]
    assert tables == sorted(tables)
    assert tables[0] < tables[-1]


def test_shapes_and_types_are_checked() -> None:
    points, scalars = affine([G1, G1]), limbs_from_ints([1, 2], 4)
    with pytest.raises(ValueError, match="2 points for 1 scalars"):
        msm.g1_msm(points, scalars[:1])
    with pytest.raises(ValueError, match="rows of 12"):
        msm.g1_msm(points[:, :6], scalars)
    with pytest.raises(TypeError, match="uint64"):
        msm.g1_msm(points, scalars.astype(np.int64))
    with pytest.raises(ValueError, match="rows of 12"):
        msm.g1_fixed_base_many(points, scalars)


def test_strided_input_is_copied() -> None:
    points, scalars = affine([G1, Z1] * 3), limbs_from_ints(range(6), 4)
    (got,) = from_affine(msm.g1_msm(points[::2], scalars[::2]))
    assert same(got, multiply(G1, 6))

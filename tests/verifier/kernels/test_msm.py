"""Sums of multiples against arkworks and py_ecc, in both bodies, by buckets and in one chain."""

import random
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import py_arkworks_bls12381 as ark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from py_ecc.optimized_bls12_381.optimized_curve import G1, Z1, add, multiply, neg

from bonsai_verifier.curve import in_g1_many
from bonsai_verifier.field import ints_from_limbs, limbs_from_ints
from bonsai_verifier.kernels import g1, msm, straus
from bonsai_verifier.parameters import BLS_X, FR_MODULUS, G1_COFACTOR
from bonsai_verifier.threads import Workers
from tests.reference.groups import Group, signed_digits
from tests.verifier.kernels.calling import call
from tests.verifier.kernels.test_g1 import Point, affine, from_affine, on_curve, same

Words = np.ndarray[Any, Any]
pytestmark = pytest.mark.usefixtures("body")
CURVE: Group[Point] = Group(Z1, add, neg)


@pytest.fixture(params=["by buckets", "in one chain"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How sums are taken, whatever their number of points."""
    monkeypatch.setattr(msm.chains(), "MOST", 0 if request.param == "by buckets" else 1 << 40)
    return str(request.param)


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


@pytest.mark.parametrize("n", [1, 2, 3, 17, 100, 1000])
@pytest.mark.parametrize("bits", [1, 5, 64, 128, 255])
def test_msm_equals_arkworks(n: int, bits: int, way: str) -> None:
    rng = random.Random(n * 1000 + bits)
    theirs, ours = arkworks_points(n, rng)
    scalars = [rng.getrandbits(bits) % FR_MODULUS for _ in range(n)]
    expected = ark.G1Point.multiexp_unchecked(theirs, [ark.Scalar(k) for k in scalars])
    assert encode(msm.g1_msm(ours, limbs_from_ints(scalars, 4))) == bytes(expected.to_compressed_bytes())
    assert encode(msm.g1_msm(ours, limbs_from_ints(scalars, 4), in_g1=True)) == bytes(expected.to_compressed_bytes())


def test_msm_of_nothing_is_infinity(way: str) -> None:
    assert not msm.g1_msm(np.empty((0, 12), np.uint64), np.empty((0, 4), np.uint64)).any()


def test_msm_skips_zero_scalars_and_infinities(way: str) -> None:
    points = [Z1, G1, multiply(G1, 5), Z1]
    assert not msm.g1_msm(affine(points), limbs_from_ints([7, 0, 0, 1], 4)).any()
    (got,) = from_affine(msm.g1_msm(affine(points), limbs_from_ints([7, 0, 3, FR_MODULUS - 1], 4)))
    assert same(got, multiply(G1, 15))


@pytest.mark.parametrize("k", [0, 1, 2, FR_MODULUS - 1, FR_MODULUS, 2**255 - 1, 2**255, 2**256 - 1])
def test_msm_of_one_point_takes_the_scalar_as_an_integer(k: int, way: str) -> None:
    for p in (G1, on_curve(0), on_curve(5)):
        (got,) = from_affine(msm.g1_msm(affine([p]), limbs_from_ints([k], 4)))
        assert same(got, multiply(p, k))


def test_msm_of_equal_and_opposite_points(way: str) -> None:
    """What an attacker would send: one bucket that doubles, cancels and starts again."""
    outside = on_curve(5)
    points = [G1] * 40 + [neg(G1)] * 39 + [outside, outside, neg(outside), on_curve(0), on_curve(0), on_curve(0)]
    scalars = [12345] * len(points)
    (got,) = from_affine(msm.g1_msm(affine(points), limbs_from_ints(scalars, 4)))
    assert same(got, CURVE.sum_of_multiples(points, scalars))


def test_msm_outside_the_subgroup(way: str) -> None:
    rng = random.Random(7)
    points = [on_curve(rng.getrandbits(300)) for _ in range(30)]
    scalars = [rng.getrandbits(256) for _ in points]
    (got,) = from_affine(msm.g1_msm(affine(points), limbs_from_ints(scalars, 4)))
    assert same(got, CURVE.sum_of_multiples(points, scalars))


def test_every_window_gives_the_same_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(8)
    _, points = arkworks_points(5, rng)
    scalars = limbs_from_ints([rng.getrandbits(256), 2**256 - 1, 2**255 + 1, 3, rng.getrandbits(255)], 4)
    sums = set()
    monkeypatch.setattr(msm.chains(), "MOST", 0)
    for c in range(2, 17):
        monkeypatch.setattr(msm, "msm_window", lambda lengths, round_cost, widest, c=c: c)
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


def lengths(n: int, bits: int) -> Words:
    """n scalars of that many bits."""
    out = np.zeros(257, np.int64)
    out[bits] = n
    return out


def test_windows_grow_with_the_number_of_points() -> None:
    windows = [msm.msm_window([lengths(1 << k, 255)], 100, 16) for k in range(22)]
    assert windows == sorted(windows)
    assert 2 <= windows[0] < windows[-1] == 16
    assert msm.msm_window([lengths(1 << 21, 255)], 100, 14) == 14
    tables = [msm.fixed_base_window(1 << k, 255) for k in range(22)]
    assert tables == sorted(tables)
    assert tables[0] < tables[-1]


def test_windows_are_chosen_for_the_scalars_that_reach_them() -> None:
    """A prover's sum: scalars of 0 and 1 beside a few of full size."""
    mixed = lengths(1 << 18, 1) + lengths(1 << 18, 0) + lengths(1 << 10, 255)
    assert msm.msm_window([mixed], 100, 16) <= msm.msm_window([lengths(1 << 10, 255)], 100, 16) + 2
    assert msm.msm_window([mixed], 100, 16) < msm.msm_window([lengths(1 << 18, 255)], 100, 16)


def test_additions_are_counted_window_by_window() -> None:
    counts = np.empty((17, 2), np.int64)
    msm._count_additions(
        counts, np.empty(258, np.int64), np.stack([lengths(5, 9) + lengths(7, 4) + lengths(100, 0), lengths(3, 1)])
    )
    # c = 4: windows of 12, 12 (4 bits carry) and 5 scalars, and of 3; at the planes 8, 4, 2 buckets at most
    assert counts[4].tolist() == [12 + 12 + 5 + 3 + 2 * (4 + 2 + 1) + (2 + 2 + 1) + (1 + 1 + 1), 4]
    assert counts[16].tolist() == [12 + 3 + (12 * 6 + 4 + 2 + 1) + 15, 2]


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


# Several sums, and their planes ----------------------------------------------------------------------------------------------


def expected_planes(points: list[Point], scalars: list[int], c: int, n_windows: int) -> list[list[Point]]:
    digits = [signed_digits(k, c, n_windows) for k in scalars]
    return [[CURVE.plane(points, [d[w] for d in digits], b) for b in range(c)] for w in range(n_windows)]


small = st.integers(0, 2**7 - 1)


@settings(max_examples=15)
@given(st.lists(st.tuples(st.integers(0, 5), small), min_size=1, max_size=12), st.integers(0, 3))
def test_planes_equal_their_definition(body: str, chosen: list[tuple[int, int]], spare: int) -> None:
    pool = [Z1, G1, neg(G1), multiply(G1, 2), on_curve(0), on_curve(5)]
    points, scalars = [pool[i] for i, _ in chosen], [k for _, k in chosen]
    extra = [G1] * spare  # points that no scalar meets
    (got,) = msm.g1_sums([affine(points + extra)], [limbs_from_ints(scalars, 4)], [(0, 0)], planes=True)
    n_windows, c = got.planes.shape[:2]
    assert max(scalars).bit_length() < c * n_windows
    for w, planes in enumerate(expected_planes(points, scalars, c, n_windows)):
        assert all(map(same, from_affine(got.planes[w]), planes))
    assert same(from_affine(got.total)[0], CURVE.join([p for row in got.planes for p in from_affine(row)]))
    assert same(from_affine(got.total)[0], CURVE.sum_of_multiples(points, scalars))


def test_window_sums_are_those_of_the_planes() -> None:
    """sum_b 2^b S_(w, b) = sum_i d_w(k_i) P_i, for full-size scalars."""
    rng = random.Random(11)
    _, points = arkworks_points(9, rng)
    scalars = [rng.getrandbits(255) for _ in range(9)]
    (got,) = msm.g1_sums([points], [limbs_from_ints(scalars, 4)], [(0, 0)], planes=True)
    n_windows, c = got.planes.shape[:2]
    plain = from_affine(points)
    digits = [signed_digits(k, c, n_windows) for k in scalars]
    for w in (0, 1, n_windows - 1):
        expected = CURVE.sum_of_multiples(plain, [d[w] for d in digits])
        assert same(CURVE.join(from_affine(got.planes[w])), expected)


def test_sums_share_points_and_scalars(way: str) -> None:
    """The three sums of a batch, with a point at infinity among some of them, and scalars that stop short of the points."""
    rng = random.Random(12)
    theirs_t, t = arkworks_points(40, rng)
    theirs_u, u = arkworks_points(42, rng)
    t[5] = 0
    theirs_t[5] = ark.G1Point() * ark.Scalar(0)
    rho, x = [rng.getrandbits(128) for _ in range(40)], [rng.randrange(FR_MODULUS) for _ in range(42)]
    got = msm.g1_sums([t, u], [limbs_from_ints(rho, 4), limbs_from_ints(x, 4)], [(0, 0), (1, 0), (1, 1)])
    wanted = [(theirs_t, rho), (theirs_u[:40], rho), (theirs_u, x)]
    for s, (points, scalars) in zip(got, wanted, strict=True):
        expected = ark.G1Point.multiexp_unchecked(points, [ark.Scalar(k) for k in scalars])
        assert encode(s.total) == bytes(expected.to_compressed_bytes())
        assert s.planes.size == 0 or way == "by buckets"


def test_no_sums_are_none() -> None:
    assert msm.g1_sums([], [], []) == []
    assert msm.g1_sums([affine([G1])], [], []) == []


def test_sums_of_nothing_have_planes_of_infinity() -> None:
    (got,) = msm.g1_sums([affine([G1])], [limbs_from_ints([], 4)], [(0, 0)], planes=True)
    assert not got.total.any()
    assert not got.planes.any()


def test_the_windows_of_planes_do_not_depend_on_a_single_scalar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a point outside the subgroup could pass with one weight for each width (docs/protocol.md, 11)."""
    counted: list[list[int]] = []
    original = msm.msm_window

    def seen(lengths: list[Words], round_cost: int, widest: int) -> int:
        counted.append([i for of_sum in lengths for i in of_sum.tolist()])
        return original(lengths, round_cost, widest)

    monkeypatch.setattr(msm, "msm_window", seen)
    points = affine([G1] * 5)
    for last in (0, 1, 2**64, 2**127, 2**128 - 1):
        msm.g1_sums([points], [limbs_from_ints([2**126, 2**100, 2**90, 2**70, last], 4)], [(0, 0)], planes=True)
    assert counted == [lengths(5, 128).tolist()] * 5


def test_one_thread_works_in_one_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the number of cores: a room that is not needed is never touched."""
    monkeypatch.setattr(msm.buckets, "_BUCKETS_OF_A_JOB", 1)
    monkeypatch.setattr(msm.os, "cpu_count", lambda: 8)
    made: list[int] = []
    original = msm.buckets.Workspace

    def counted(body: Any, n_segments: int, c: int, first_slot: int) -> Any:
        made.append(first_slot)
        return original(body, n_segments, c, first_slot)

    monkeypatch.setattr(msm.buckets, "Workspace", counted)
    points = affine([G1, multiply(G1, 2), multiply(G1, 5)])
    for run in (map, Workers(1)):
        made.clear()
        msm.g1_sums([points], [limbs_from_ints([2**200 + i for i in range(3)], 4)], [(0, 0)], planes=True, run=run)
        assert made == [3]


def test_jobs_may_run_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(msm.buckets, "_BUCKETS_OF_A_JOB", 1 << 6)
    rng = random.Random(13)
    _, points = arkworks_points(300, rng)
    scalars = [limbs_from_ints([rng.getrandbits(bits) for _ in range(300)], 4) for bits in (128, 255)]
    alone = msm.g1_sums([points], scalars, [(0, 0), (0, 1)], planes=True)
    counted: list[int] = []

    def run(f: Any, jobs: Any) -> Any:
        counted.append(len(jobs))
        return pool.map(f, jobs)

    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            together = msm.g1_sums([points], scalars, [(0, 0), (0, 1)], planes=True, run=run)
            for a, b in zip(alone, together, strict=True):
                assert np.array_equal(a.total, b.total)
                assert np.array_equal(a.planes, b.planes)
    assert max(counted) > 4


def test_many_equal_points_cost_no_more_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """All points equal, or equal and opposite: doublings and opposites are pairs as all others, and no more of them."""
    rng = random.Random(14)
    n = 3000
    _, distinct = arkworks_points(n, rng)
    scalars = limbs_from_ints([rng.getrandbits(128) for _ in range(n)], 4)
    adder, pairs = msm.adder(), []

    def count(pool: Any, table: Any, infinite: Any, m: int, scratch: Any) -> None:
        pairs.append(m)
        add_pairs(pool, table, infinite, m, scratch)

    add_pairs = adder.add_pairs
    monkeypatch.setattr(adder, "add_pairs", count)
    spent = []
    for points in (
        distinct,
        np.repeat(distinct[:1], n, axis=0),
        affine([G1, neg(G1)] * (n // 2)),
        affine([on_curve(0)] * n),
    ):
        pairs.clear()
        msm.g1_msm(points, scalars)
        spent.append((sum(pairs), len(pairs)))
    honest_pairs, honest_rounds = spent[0]
    assert all(p <= 1.01 * honest_pairs for p, _ in spent)
    assert all(r <= honest_rounds + 10 for _, r in spent)


def low_order_point(x: int) -> Point:
    """A point whose order divides the cofactor."""
    return multiply(on_curve(x), FR_MODULUS)


@pytest.mark.parametrize("torsion", [on_curve(0), low_order_point(5), low_order_point(7)], ids=["3", "h", "h'"])
def test_a_component_outside_the_subgroup_shows_in_a_plane(torsion: Point) -> None:
    """And in the sum alone it may not: a multiple of 3 of a point of order 3 is gone."""
    rng = random.Random(15)
    _, points = arkworks_points(30, rng)
    honest = in_g1_many(
        msm.g1_sums([points], [limbs_from_ints([1] * 30, 4)], [(0, 0)], planes=True)[0].planes.reshape(-1, 12)
    )
    assert honest.all()
    points[17] = affine([add(from_affine(points[17])[0], torsion)])[0]
    weights = [rng.getrandbits(128) for _ in range(30)]
    weights[17] -= weights[17] % 3
    (got,) = msm.g1_sums([points], [limbs_from_ints(weights, 4)], [(0, 0)], planes=True)
    member = in_g1_many(got.planes.reshape(-1, 12))
    n_windows, c = got.planes.shape[:2]
    digits = signed_digits(weights[17], c, n_windows)
    assert member.tolist() == [not abs(d) >> b & 1 for d in digits for b in range(c)]
    assert not member.all()
    assert in_g1_many(got.total[None])[0] == (multiply(torsion, weights[17])[2].n == 0)


def test_two_components_that_cancel_in_the_sum_show_in_planes() -> None:
    rng = random.Random(16)
    _, points = arkworks_points(20, rng)
    torsion = low_order_point(9)
    for i, t in ((3, torsion), (11, neg(torsion))):
        points[i] = affine([add(from_affine(points[i])[0], t)])[0]
    assert in_g1_many(msm.g1_msm(points, limbs_from_ints([1] * 20, 4))[None]).all()
    (got,) = msm.g1_sums(
        [points], [limbs_from_ints([rng.getrandbits(128) for _ in range(20)], 4)], [(0, 0)], planes=True
    )
    assert not in_g1_many(got.planes.reshape(-1, 12)).all()


# One chain -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, 1, BLS_X**2 - 1, BLS_X**2, BLS_X**2 + 1, FR_MODULUS, 5 * BLS_X**2 - 1, 2**256 - 1])
def test_halves_of_a_scalar_make_it(k: int) -> None:
    out = np.zeros((3, 4), np.uint64)
    out[2] = limbs_from_ints([k], 4)[0]
    call(straus.split, out[0:1], out[1:2], out[2:3])
    low, high = ints_from_limbs(out[:2])
    assert low + high * BLS_X**2 == k
    assert 0 <= low < BLS_X**2


@settings(max_examples=200)
@given(st.integers(0, 2**256 - 1))
def test_halves_of_any_scalar_make_it(k: int) -> None:
    test_halves_of_a_scalar_make_it(k)


@settings(max_examples=200)
@given(st.integers(0, 2**256 - 1) | st.integers(0, 2**256 - 1).map(lambda k: 2**256 - 1 - (k >> 200)))
def test_digits_of_a_chain_are_odd_and_apart(k: int) -> None:
    out = np.zeros(straus._SCALAR_BITS + 1, np.int8)
    n = straus._recode(out, limbs_from_ints([k], 4)[0])
    digits = [int(d) for d in out]
    assert sum(d << i for i, d in enumerate(digits)) == k
    assert not any(digits[n:])
    places = [i for i, d in enumerate(digits) if d]
    assert all(abs(digits[i]) < 2 * straus.ODD and digits[i] % 2 for i in places)
    assert all(b - a >= 5 for a, b in pairwise(places) if b < straus._SCALAR_BITS)


def test_a_chain_is_complete_on_the_whole_curve() -> None:
    """Sums that pass through infinity, doublings in the place of additions, low orders."""
    torsion, outside = on_curve(0), on_curve(5)
    cases = [
        ([G1, neg(G1)], [5, 5]),
        ([G1, G1], [3, 3]),
        ([torsion] * 3, [1, 1, 1]),
        ([torsion, torsion, neg(torsion), G1], [2**256 - 1, 3, 1, 0]),
        ([outside, Z1, neg(outside), outside], [7, 9, 7, 3 * G1_COFACTOR]),
        ([Z1, Z1], [1, 2**255]),
    ]
    for points, scalars in cases:
        out = np.empty((1, 12), np.uint64)
        out[0] = msm._few(affine(points), limbs_from_ints(scalars, 4), False).total
        assert same(from_affine(out)[0], CURVE.sum_of_multiples(points, scalars))

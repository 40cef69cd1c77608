"""What the equation needs of a proof besides its points, against integers: r, x_A(r), v_p, and both weighted."""

import random

import numpy as np
import pytest
from numpy.typing import NDArray

from bonsai_verifier import equation
from bonsai_verifier.field import fr_from_ints, fr_to_ints, ints_from_limbs, limbs_from_ints
from tests.reference import pari

pytestmark = pytest.mark.usefixtures("body")

R = pari.R
EDGES = [0, 1, 2, R - 1, R - 2, 2**64 - 1, 2**128, 2**192 - 1, R // 2, 2**252]
SIZES = [0, 1, 7, 8, 9, 15, 16, 17, 1000, 2100]


def octets(values: list[int], size: int = 32) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(x.to_bytes(size, "little") for x in values), np.uint8).reshape(-1, size)


def scalars(n: int, rng: random.Random) -> list[int]:
    """Edges first, in another order each time, then random ones."""
    edges = rng.sample(EDGES, len(EDGES))
    return [edges[i] if i < len(edges) else rng.randrange(R) for i in range(n)]


def claims_of(r: NDArray[np.uint64], v: NDArray[np.uint64], v_p: NDArray[np.uint64]) -> equation.Claims:
    n = len(r)
    points = np.zeros((n, 12), np.uint64)
    return equation.Claims(points, points, v, r, v_p, np.zeros(n, np.bool_))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("domain_size", "n_public"), [(1, 0), (3, 2), (4096, 1), (19456, 6), (627, 0), (2**32, 1)])
def test_statement_equals_integers(n: int, domain_size: int, n_public: int) -> None:
    rng = random.Random(f"{n} {domain_size}")
    wide = [0, 2**512 - 1, 2**256 - 1, 2**512 - 2**256, R, R - 1, R << 256, 2**511]
    challenge = [wide[i] if i < len(wide) else rng.getrandbits(512) for i in range(n)]
    columns = [scalars(n, rng) for _ in range(n_public)]
    inputs = [list(row) for row in zip(*columns, strict=True)] if columns else [[]] * n
    v = scalars(n, rng)
    packed = octets([x for row in inputs for x in row]).reshape(n, n_public, 32)
    r, v_p, in_domain = equation.statement(octets(challenge, 64), packed, limbs_from_ints(v, 4), domain_size)
    assert fr_to_ints(r) == [c % R for c in challenge]
    assert in_domain.tolist() == [pow(c, domain_size, R) == 1 for c in challenge]
    for i in np.flatnonzero(~in_domain):
        x_a = pari.lagrange_sum([1, *inputs[i]], domain_size, challenge[i] % R)
        assert fr_to_ints(v_p[i : i + 1]) == [(v[i] + x_a) ** 2 % R]


@pytest.mark.parametrize("domain_size", [6, 4096, 627])
@pytest.mark.parametrize("where", [[0], [19], [3, 4, 5, 12], range(20)])
def test_challenges_in_the_domain_spoil_no_other(domain_size: int, where: list[int]) -> None:
    """Both those of public inputs, where r - w^j = 0, and others."""
    rng, n, n_public = random.Random(7), 20, 4
    w = pari.root_of_unity(domain_size)
    good = [rng.getrandbits(512) for _ in range(n)]
    mixed = [pow(w, k % domain_size, R) + R * rng.getrandbits(200) if k in where else c for k, c in enumerate(good)]
    packed = octets([rng.randrange(R) for _ in range(n * n_public)]).reshape(n, n_public, 32)
    v = limbs_from_ints(scalars(n, rng), 4)
    r, v_p, in_domain = equation.statement(octets(mixed, 64), packed, v, domain_size)
    expected = equation.statement(octets(good, 64), packed, v, domain_size)
    assert np.flatnonzero(in_domain).tolist() == list(where)
    assert np.array_equal(v_p[~in_domain], expected[1][~in_domain])
    assert fr_to_ints(r) == [c % R for c in mixed]


def test_statement_reads_columns_where_they_lie() -> None:
    rng, n, n_public = random.Random(8), 21, 3
    wide = np.frombuffer(rng.randbytes(n * 301), np.uint8).reshape(n, 301).copy()
    wide[:, [31 + 45, 31 + 77, 31 + 109]] &= 0x3F  # below r
    inputs, challenge = wide[:, 45:141].reshape(n, n_public, 32), wide[:, 200:264]
    v = np.frombuffer(rng.randbytes(n * 72), np.uint64).reshape(n, 9)[:, 3:7] >> np.uint64(2)
    v_there = np.zeros((n, 9), np.uint64)[:, 3:7]
    v_there[:] = v
    inputs_there = np.lib.stride_tricks.as_strided(wide[:, 45:], (n, n_public, 32), (301, 32, 1))
    inputs_backwards = inputs[:, ::-1].copy()[:, ::-1]
    expected = equation.statement(challenge.copy(), inputs.copy(), v.copy(), 4096)
    for columns in (inputs, inputs_there, inputs_backwards):
        for got, want in zip(equation.statement(challenge, columns, v, 4096), expected, strict=True):
            assert np.array_equal(got, want)
        assert np.array_equal(equation.statement(challenge, columns, v_there, 4096)[1], expected[1])


@pytest.mark.parametrize("n", SIZES)
def test_weighted_equals_integers(n: int) -> None:
    rng = random.Random(n)
    r, v, v_p = (scalars(n, rng) for _ in range(3))
    weights = [(1 << 128) - 1 if i % 3 == 0 else i % 2 if i < 6 else rng.getrandbits(128) for i in range(n)]
    c = claims_of(fr_from_ints(r), limbs_from_ints(v, 4), fr_from_ints(v_p))
    got = ints_from_limbs(equation.weighted(c, limbs_from_ints(weights, 4)))
    sums = [-sum(a * b for a, b in zip(weights, of, strict=True)) % R for of in (v, v_p)]
    assert got == [a * b % R for a, b in zip(weights, r, strict=True)] + sums


def test_weighted_of_a_part_is_that_of_its_rows() -> None:
    rng = random.Random(9)
    r, v, v_p = (scalars(40, rng) for _ in range(3))
    weights = limbs_from_ints([rng.getrandbits(128) for _ in range(40)], 4)
    c = claims_of(fr_from_ints(r), limbs_from_ints(v, 4), fr_from_ints(v_p))
    whole = ints_from_limbs(equation.weighted(c, weights))
    left, right = (ints_from_limbs(equation.weighted(c[part], weights[part])) for part in (slice(13), slice(13, 40)))
    assert left[:-2] + right[:-2] == whole[:-2]
    assert [(a + b) % R for a, b in zip(left[-2:], right[-2:], strict=True)] == whole[-2:]

"""The writers of statement_lanes.py on machines that need no vector unit: results by integers, bounds by intervals."""

import random
from collections.abc import Iterator

import pytest

from bonsai_verifier.kernels import statement_lanes
from bonsai_verifier.kernels.fr_lanes import FR_LANES
from bonsai_verifier.kernels.lane_machine import LANES, LIMB_BITS, LIMB_MASK, together
from bonsai_verifier.kernels.lanes import carry
from tests.verifier.kernels.machines import IntegerMachine, Interval, IntervalMachine, signed

P, RADIX, N = FR_LANES.modulus, FR_LANES.radix, FR_LANES.n
WORDS_RADIX = 1 << 256
R_INVERSE = pow(RADIX, -1, P)
WEAK = 4 * P // 3
Lanes = list[list[int]]


def eights(bound: int, seed: int) -> Iterator[list[int]]:
    """Integers in [0, bound), in eights: edges in any order, then random ones."""
    rng = random.Random(seed)
    edges = [0, 1, bound - 1, bound - 2, bound // 2, 2**64 - 1, 2**128 - 1, 2**52 - 1, 2**104, P, P - 1, P + 1]
    edges = [x if x < bound else bound - 1 for x in edges]
    for _ in range(6):
        yield rng.choices(edges, k=LANES)
        yield [rng.randrange(bound) for _ in range(LANES)]


def limbs(xs: list[int], n: int = N) -> Lanes:
    return [[x >> LIMB_BITS * i & LIMB_MASK for x in xs] for i in range(n)]


def words(xs: list[int], n: int = 4) -> Lanes:
    return [[x >> 64 * i & 2**64 - 1 for x in xs] for i in range(n)]


def numbers(columns: Lanes) -> list[int]:
    return [sum(signed(c[lane]) << LIMB_BITS * i for i, c in enumerate(columns)) for lane in range(LANES)]


def check_weak(x: Lanes, expected: list[int]) -> None:
    got = numbers(x)
    assert [v % P for v in got] == [e % P for e in expected]
    assert max(map(max, x)) <= LIMB_MASK
    assert max(got) <= WEAK


def test_challenges_equal_integers() -> None:
    for cs in eights(2**512, 1):
        (x,) = together(statement_lanes.challenge_modulo_r(IntegerMachine(), words(cs, 8)))
        check_weak(x, [c * RADIX for c in cs])


def test_fractions_equal_integers() -> None:
    operands = [*(eights(WEAK + 1, seed) for seed in (2, 3, 4)), *(eights(P, seed) for seed in (5, 6))]
    for p, q, r, x, w in zip(*operands, strict=True):
        w_radix = [w_i * RADIX % P for w_i in w]
        (new,) = together(
            statement_lanes.next_fraction(IntegerMachine(), *map(limbs, (p, q, r)), words(x), limbs(w), limbs(w_radix))
        )
        of = range(LANES)
        check_weak(new[:N], [(p[i] * (r[i] - w[i]) + x[i] * w[i] * q[i]) * R_INVERSE for i in of])
        check_weak(new[N:], [q[i] * (r[i] - w[i]) * R_INVERSE for i in of])


def test_openings_equal_integers() -> None:
    for xs, vs in zip(eights(WEAK + 1, 7), eights(P, 8), strict=True):
        (y,) = together(statement_lanes.opened(IntegerMachine(), limbs(xs), words(vs)))
        check_weak(y, [(v * RADIX + x) ** 2 * R_INVERSE for v, x in zip(vs, xs, strict=True)])


def test_weighed_equal_integers() -> None:
    for rho, r, v, v_p in zip(eights(2**128, 9), *(eights(P, seed) for seed in (10, 11, 12)), strict=True):
        counts = [lane != 3 for lane in range(LANES)]
        (new,) = together(
            statement_lanes.weighed(IntegerMachine(), counts, words(rho, 2), words(r), words(v), words(v_p))
        )
        of = range(LANES)
        assert numbers(new[:N]) == [rho[i] * r[i] * pow(WORDS_RADIX, -1, P) % P for i in of]
        assert max(map(max, new[:N])) <= LIMB_MASK
        assert numbers(new[N : N + 8]) == [rho[i] * v[i] * counts[i] for i in of]
        assert numbers(new[N + 8 :]) == [rho[i] * v_p[i] * counts[i] for i in of]


@pytest.mark.parametrize("scale", [RADIX, 2**4])
def test_totals_equal_integers(scale: int) -> None:
    for xs in eights(2**33 * 2**128 * P, 13):
        (total,) = together(statement_lanes.minus_total(IntegerMachine(), limbs(xs, 8), scale))
        assert numbers(total) == [-sum(xs) * scale * R_INVERSE % P] * LANES
    (zero,) = together(statement_lanes.minus_total(IntegerMachine(), limbs([0] * LANES, 8), scale))
    assert numbers(zero) == [0] * LANES


def test_no_lane_overflows() -> None:
    m = IntervalMachine()
    any_words = [Interval(0, 2**64 - 1)] * 8
    below_r = [*any_words[:3], Interval(0, P >> 192)]
    full = Interval(0, LIMB_MASK)
    weak = [full] * (N - 1) + [Interval(0, WEAK >> LIMB_BITS * (N - 1))]
    two_p = 2 * P >> LIMB_BITS * (N - 1)
    carried = [full] * 7 + [Interval(0, 2**33 * 2**20)]  # of sums: the top limb holds 2^33 times what one product adds

    def normalised(x: list[Interval]) -> bool:
        return all(a.low >= 0 and a.high <= LIMB_MASK for a in x) and x[-1].high <= two_p

    (x,) = together(statement_lanes.challenge_modulo_r(m, any_words))
    assert normalised(x)
    (x,) = together(statement_lanes.next_fraction(m, weak, weak, weak, below_r, weak, weak))
    assert normalised(x[:N])
    assert normalised(x[N:])
    (x,) = together(statement_lanes.opened(m, weak, below_r))
    assert normalised(x)
    (x,) = together(statement_lanes.weighed(m, None, any_words[:2], below_r, below_r, below_r))
    assert normalised(x[:N])
    for columns in (x[N : N + 8], x[N + 8 :]):
        total = [m.add(a, m.add(c, c)) for a, c in zip(carried, columns, strict=True)]
        assert all(a.low >= 0 and a.high <= LIMB_MASK for a in carry(m, total)[:-1])
    (x,) = together(statement_lanes.minus_total(m, carried, RADIX))
    assert normalised(x)

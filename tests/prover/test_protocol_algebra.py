"""The algebra of docs/protocol.md, executed: completeness, degrees, simulation, the attacks that each rule shuts out.

Everything runs on the toy of tests/reference/pari.py (exponents, known trapdoors) over several domain sizes, most of them not
powers of two; the last section runs the same protocol on the curve.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from math import log2
from typing import Any

import pytest
from py_ecc.bls.point_compression import compress_G1, compress_G2
from py_ecc.optimized_bls12_381.optimized_curve import G1, G2, multiply, neg

from tests.reference.pari import (
    GENERATOR,
    PROOF_BYTES,
    VERIFYING_KEY_BYTES,
    CurveKey,
    P,
    Poly,
    R,
    RestartError,
    Row,
    SquareSystem,
    Toy,
    ToyProof,
    decode_g1,
    decode_g2,
    decode_verifying_key,
    degree,
    divide_by_root,
    divide_by_vanishing,
    encode_g1,
    encode_g2,
    encode_verifying_key,
    hash_to_scalar,
    interpolate,
    inverse,
    is_domain_size,
    lagrange_sum,
    poly_add,
    poly_derivative,
    poly_eval,
    poly_mul,
    poly_scale,
    root_of_unity,
    vanishing,
    verify,
)

sympy: Any = import_module("sympy")  # untyped

DOMAINS = (8, 11, 12, 33, 38, 57)
R_MINUS_1 = {
    2: 32,
    3: 1,
    11: 1,
    19: 1,
    10177: 1,
    125527: 1,
    859267: 1,
    906349: 2,
    2508409: 1,
    2529403: 1,
    52437899: 1,
    254760293: 2,
}
"""The factorisation of r - 1; test_generator_generates multiplies it out."""


# ------------------------------------------------------------------------------------------------------------ circuits


@dataclass(frozen=True)
class Circuit:
    """A random system in which wire l + 1 is a square root of x_1 and wire l + 2 is free: many witnesses a statement."""

    plain: SquareSystem

    @property
    def outlined(self) -> SquareSystem:
        return self.plain.outline()

    def assign(self, root: int, free: int) -> list[int]:
        """The outlined assignment: row i > 0 defines wire l + 2 + i."""
        extra = range(2, self.plain.n_public + 1)
        z = [1, root * root % R, *(1000 + j for j in extra), root, free]
        for a, b in zip(self.plain.a[1:], self.plain.b[1:], strict=True):
            square = sum(c * z[j] for j, c in a.items()) ** 2
            z.append((square - sum(c * z[j] for j, c in b.items() if j < len(z))) % R)
        assert self.plain.is_satisfied(z)
        return self.plain.outline_assignment(z)


def make_circuit(n: int, n_public: int, seed: int = 1) -> Circuit:
    """A circuit whose outlined rows fill a domain of n exactly."""
    rng = random.Random(seed)
    root, free = n_public + 1, n_public + 2
    a: list[Row] = [{root: 1}]
    b: list[Row] = [{1: 1}]
    for new in range(free + 1, free + n - n_public - 1):
        chosen = {new - 1, *rng.sample(range(new), min(new, 3))}
        a.append({j: rng.randrange(1, R) for j in chosen})
        b.append({new: 1, rng.randrange(new): rng.randrange(1, R)})
    return Circuit(SquareSystem(n_public, free + len(a), tuple(a), tuple(b)))


def make_toy(n: int, n_public: int = 2, seed: int = 1) -> tuple[Toy, Circuit]:
    rng = random.Random(seed + 1000 * n)
    circuit = make_circuit(n, n_public, seed)
    alpha, tau, delta = (rng.randrange(2, R) for _ in range(3))
    return Toy(circuit.outlined, n, alpha=alpha, tau=tau, delta=delta), circuit


def public(toy: Toy, z: Sequence[int]) -> list[int]:
    return list(z[1 : toy.system.n_public + 1])


def private(toy: Toy, z: Sequence[int]) -> list[int]:
    return list(z[toy.system.n_public + 1 :])


def interpolate_at(points: Sequence[int], values: Sequence[int]) -> Poly:
    """The polynomial of degree < len(points) through arbitrary distinct points."""
    total: Poly = []
    for i, (at, value) in enumerate(zip(points, values, strict=True)):
        basis: Poly = [value]
        for j, other in enumerate(points):
            if i != j:
                basis = poly_scale(poly_mul(basis, [-other, 1]), inverse(at - other))
        total = poly_add(total, basis)
    return total


# -------------------------------------------------------------------------------------------------- lowering identities


def reduce_squares(e: Any, *bits: Any) -> Any:
    """e modulo t^2 = t for every given t."""
    for t in bits:
        poly = sympy.expand(e).as_poly(t)
        e = sum((c * (t if k else 1) for (k,), c in poly.terms()), start=sympy.Integer(0))
    return sympy.expand(e)


def test_products_are_differences_of_squares() -> None:
    a, b = sympy.symbols("a b")
    assert sympy.expand((a + b) ** 2 - (a**2 + b**2 + 2 * a * b)) == 0
    assert sympy.expand((a + b) ** 2 - (a - b) ** 2 - 4 * a * b) == 0


def test_boolean_rows_are_one_square() -> None:
    a, b, d, s = sympy.symbols("a b d s")
    assert sympy.expand((a**2 - a) - a * (a - 1)) == 0
    assert reduce_squares((a + b) ** 2 - (a + b + 2 * a * b), a, b) == 0
    assert reduce_squares((a - b) ** 2 - (a + b - 2 * a * b), a, b) == 0
    assert all((x - y) ** 2 == x ^ y for x in (0, 1) for y in (0, 1))
    assert reduce_squares((d + s / 2) ** 2 - (d + s / 4) - d * (d + s - 1), s) == 0


def test_fifth_power_sum_factors_through_sum_and_product() -> None:
    x, y = sympy.symbols("x y")
    g, p = x + y, x * y
    assert sympy.expand(x**5 + y**5 - g * (g**4 - 5 * g**2 * p + 5 * p**2)) == 0
    s, square = g, g**2
    rows = s * ((square - sympy.Rational(5, 2) * p) ** 2 - sympy.Rational(5, 4) * p**2)
    assert sympy.expand(x**5 + y**5 - rows) == 0


# --------------------------------------------------------------------------------------------------------------- domain


def test_generator_generates() -> None:
    product = 1
    for q, e in R_MINUS_1.items():
        product *= q**e
    assert product == R - 1
    assert all(pow(GENERATOR, (R - 1) // q, R) != 1 for q in R_MINUS_1)


@pytest.mark.parametrize("n", DOMAINS)
def test_root_of_unity_has_exact_order(n: int) -> None:
    w = root_of_unity(n)
    assert [k for k in range(1, n + 1) if pow(w, k, R) == 1] == [n]


def test_domain_sizes_step_by_at_most_38_33rds() -> None:
    sizes = [n for n in range(1, 1 << 16) if is_domain_size(n)]
    assert all((R - 1) % n == 0 for n in sizes)
    assert all(33 * big <= 38 * small for small, big in pairwise(sizes) if small >= 352)
    assert all((33 * 2**k, 38 * 2**k) in pairwise(sizes) for k in range(4, 10))
    assert {1216, 19456, 38912} <= set(sizes)


@pytest.mark.parametrize("n", DOMAINS)
def test_lagrange_sum_is_the_interpolation(n: int) -> None:
    x, at = [1, 5, 7], 123456789
    assert lagrange_sum(x, n, at) == poly_eval(interpolate(x, n), at)


# --------------------------------------------------------------------------------------------- completeness and degrees


@pytest.mark.parametrize("n", DOMAINS)
def test_honest_proof_verifies(n: int) -> None:
    toy, circuit = make_toy(n)
    z = circuit.assign(5, 77)
    proof = toy.prove(z, (31, 41))
    assert toy.verify(public(toy, z), proof)


def test_padding_rows_and_zero_masks_verify() -> None:
    circuit = make_circuit(12, 1)
    toy = Toy(circuit.outlined, 33, alpha=1234, tau=5678, delta=91011)
    z = circuit.assign(3, 4)
    assert toy.verify(public(toy, z), toy.prove(z, (0, 0)))


@pytest.mark.parametrize("n", DOMAINS)
def test_degrees_are_exactly_those_of_the_keys(n: int) -> None:
    toy, circuit = make_toy(n)
    m = toy.polynomials(circuit.assign(5, 77), (31, 41))
    assert (degree(m.a), degree(m.p), degree(m.q)) == (n + 1, 2 * n + 2, n + 2)
    assert degree(divide_by_root(m.a, 99)) == n
    assert degree(divide_by_root(m.p, 99)) == 2 * n + 1
    lengths = (len(toy.quotient), len(toy.mask), len(toy.open_alpha), len(toy.open))
    assert lengths == (n + 3, 2, n + 1, 2 * n + 2)
    assert len(toy.commit) == toy.system.n_wires - 3


@pytest.mark.parametrize("n", DOMAINS)
def test_masked_quotient_needs_no_larger_transform(n: int) -> None:
    """q = q_0 + 2 m (a_w + x_A) + m^2 Z with deg q_0 <= N - 2."""
    toy, circuit = make_toy(n)
    z, m = circuit.assign(5, 77), [31, 41]
    bare, masked = toy.polynomials(z, (0, 0)), toy.polynomials(z, (31, 41))
    assert degree(bare.q) <= n - 2
    cross = poly_scale(poly_mul(m, poly_add(bare.a, bare.x_a)), 2)
    assert masked.q == poly_add(bare.q, cross, poly_mul(poly_mul(m, m), vanishing(n)))


@pytest.mark.parametrize("n", [8, 12, 33])
def test_every_mutated_wire_leaves_a_remainder(n: int) -> None:
    toy, circuit = make_toy(n)
    z = circuit.assign(5, 77)
    for j in range(1, len(z)):
        bad = [*z[:j], z[j] + 1, *z[j + 1 :]]
        with pytest.raises(ValueError, match="not a multiple of Z"):
            toy.prove(bad, (31, 41))


def test_every_field_is_bound() -> None:
    toy, circuit = make_toy(12)
    z = circuit.assign(5, 77)
    x, proof = public(toy, z), toy.prove(z, (31, 41))
    for i in range(len(x)):
        assert not toy.verify([*x[:i], x[i] + 1, *x[i + 1 :]], proof)
    assert not toy.verify(x, ToyProof(proof.t + 1, proof.u, proof.v))
    assert not toy.verify(x, ToyProof(proof.t, proof.u + 1, proof.v))
    assert not toy.verify(x, ToyProof(proof.t, proof.u, proof.v + 1))
    assert not toy.verify(x, ToyProof(2 * proof.t % R, 2 * proof.u % R, proof.v))
    assert not toy.verify(x, ToyProof(R - proof.t, R - proof.u, proof.v))
    assert not toy.verify(x, proof, b"\1" + bytes(31))
    with pytest.raises(ValueError, match="public inputs"):
        toy.verify(x[:-1], proof)


def test_setup_refuses_what_is_not_outlined() -> None:
    circuit = make_circuit(12, 2)
    with pytest.raises(ValueError, match="not x_0 - w_0"):
        Toy(circuit.plain, 12, alpha=3, tau=5, delta=7)
    good = circuit.outlined
    touching = SquareSystem(2, good.n_wires, (*good.a[:-1], {**good.a[-1], 1: 1}), good.b)
    with pytest.raises(ValueError, match="touches a public wire"):
        Toy(touching, 12, alpha=3, tau=5, delta=7)
    with pytest.raises(ValueError, match="stands in no row"):
        Toy(SquareSystem(2, good.n_wires + 1, good.a, good.b), 12, alpha=3, tau=5, delta=7)
    with pytest.raises(ValueError, match="tau lies in the domain"):
        Toy(good, 12, alpha=3, tau=root_of_unity(12), delta=7)


def test_challenge_inside_the_domain_gives_no_proof_and_no_acceptance() -> None:
    toy, circuit = make_toy(12)
    z = circuit.assign(5, 77)
    proof = toy.prove(z, (31, 41))
    toy.challenge = lambda x, t, c: root_of_unity(12)
    with pytest.raises(RestartError):
        toy.prove(z, (31, 41))
    assert not toy.verify(public(toy, z), proof)


# ------------------------------------------------------------------------------------------------------- zero knowledge


@pytest.mark.parametrize("n", DOMAINS)
def test_simulated_transcripts_verify(n: int) -> None:
    toy, _ = make_toy(n)
    rng = random.Random(n)
    for x in ([25, 1002], [3, 4]):
        assert toy.verify(x, toy.simulate(x, rng.randrange(R), rng.randrange(R)))


def masks_for(toy: Toy, z: Sequence[int], y: int, v: int) -> tuple[int, int]:
    """The only masks that give a'(tau) = y and, at the challenge that follows from y, a'(r) = v."""
    x = public(toy, z)
    r = toy.challenge(x, toy.simulate(x, y, v).t, bytes(32))
    a_w = toy.polynomials(z, (0, 0)).a
    at_tau = (y - poly_eval(a_w, toy.tau)) * inverse(pow(toy.tau, toy.n, R) - 1)
    at_r = (v - poly_eval(a_w, r)) * inverse(pow(r, toy.n, R) - 1)
    s1 = (at_tau - at_r) * inverse(toy.tau - r) % R
    return (at_tau - s1 * toy.tau) % R, s1


@pytest.mark.parametrize("n", DOMAINS)
def test_honest_and_simulated_proofs_are_the_same_map_of_y_and_v(n: int) -> None:
    """For every witness, (s0, s1) <-> (y, v) is one to one and prove(masks) = simulate(y, v)."""
    toy, circuit = make_toy(n)
    rng = random.Random(n)
    y, v = rng.randrange(R), rng.randrange(R)
    for root, free in ((5, 77), (R - 5, 77), (5, 78)):
        z = circuit.assign(root, free)
        masks = masks_for(toy, z, y, v)
        assert toy.prove(z, masks) == toy.simulate(public(toy, z), y, v)


def test_challenge_at_tau_is_simulated_too() -> None:
    toy, circuit = make_toy(12)
    toy.challenge = lambda x, t, c: toy.tau
    z = circuit.assign(5, 77)
    a = toy.polynomials(z, (31, 41)).a
    y, slope = poly_eval(a, toy.tau), poly_eval(poly_derivative(a), toy.tau)
    assert toy.prove(z, (31, 41)) == toy.simulate(public(toy, z), y, slope)


def one_mask_guess(toy: Toy, x: Sequence[int], proof: ToyProof, guess: Sequence[int]) -> bool:
    """The attacker's test of a guessed witness, from public data: s0 from v, then recompute the proof."""
    r = toy.challenge(x, proof.t, bytes(32))
    s0 = (proof.v - poly_eval(toy.polynomials(guess, (0, 0)).a, r)) * inverse(pow(r, toy.n, R) - 1) % R
    return toy.prove(guess, (s0, 0)) == proof


@pytest.mark.parametrize("n", [8, 12, 33])
def test_one_mask_scalar_confirms_a_guessed_witness_and_two_do_not(n: int) -> None:
    toy, circuit = make_toy(n)
    truth, other = circuit.assign(5, 77), circuit.assign(5, 78)
    x = public(toy, truth)
    assert x == public(toy, other)

    single = toy.prove(truth, (31, 0))
    assert one_mask_guess(toy, x, single, truth)
    assert not one_mask_guess(toy, x, single, other)

    double = toy.prove(truth, (31, 41))
    assert not one_mask_guess(toy, x, double, truth)
    a = toy.polynomials(truth, (31, 41)).a
    r = toy.challenge(x, double.t, bytes(32))
    explained = masks_for(toy, other, poly_eval(a, toy.tau), poly_eval(a, r))
    assert toy.prove(other, explained) == double


def test_masks_shared_by_two_proofs_confirm_a_guessed_witness() -> None:
    toy, circuit = make_toy(12)
    truth, other = circuit.assign(5, 77), circuit.assign(5, 78)
    x, contexts = public(toy, truth), (bytes(32), b"\1" * 32)
    proofs = [toy.prove(truth, (31, 41), c) for c in contexts]
    assert proofs[0].t == proofs[1].t

    def recovered(guess: Sequence[int]) -> tuple[int, int]:
        a_w = toy.polynomials(guess, (0, 0)).a
        rs = [toy.challenge(x, p.t, c) for p, c in zip(proofs, contexts, strict=True)]
        m = [(p.v - poly_eval(a_w, r)) * inverse(pow(r, 12, R) - 1) for p, r in zip(proofs, rs, strict=True)]
        s1 = (m[0] - m[1]) * inverse(rs[0] - rs[1])
        return (m[0] - s1 * rs[0]) % R, s1 % R

    assert recovered(truth) == (31, 41)
    assert toy.prove(truth, recovered(truth)) == proofs[0]
    assert toy.prove(other, recovered(other)) != proofs[0]


# ----------------------------------------------------------------------------- knowledge soundness: the linear argument

Monomial = tuple[int, int, int, int]
"""Exponents of (delta, alpha, beta, tau)."""
Laurent = dict[Monomial, int]


def over_delta(f: Poly, alpha: int = 0) -> Laurent:
    """alpha^k f(tau) / delta"""
    return {(-1, alpha, 0, i): c for i, c in enumerate(f) if c}


def published(toy: Toy) -> list[Laurent]:
    """Every G1 element anybody may hold: the keys, [delta]_1 and a phase-1 file larger than this key needs."""
    n, z = toy.n, vanishing(toy.n)
    columns = range(toy.first_private, toy.system.n_wires)
    commit = [over_delta(toy.a_columns[j], 1) | over_delta(toy.b_columns[j]) for j in columns]
    quotient = [over_delta(poly_mul([0] * i + [1], z)) for i in range(n + 3)]
    mask = [over_delta(poly_mul([0] * i + [1], z), 1) for i in range(2)]
    powers: list[Laurent] = [{(0, 0, 0, i): 1} for i in range(2 * n + 6)]
    powers += [{(0, 1, 0, i): 1} for i in range(n + 4)] + [{(0, 0, 1, i): 1} for i in range(n + 4)]
    return [*commit, *quotient, *mask, *powers, {(1, 0, 0, 0): 1}]


def kernel(rows: list[list[int]], width: int) -> list[list[int]]:
    """A basis of {s : M s = 0} over Fr."""
    pivots: list[int] = []
    reduced: list[list[int]] = []
    for row in rows:
        for pivot, done in zip(pivots, reduced, strict=True):
            if row[pivot]:
                c = row[pivot]
                row = [(a - c * b) % R for a, b in zip(row, done, strict=True)]
        lead = next((j for j, c in enumerate(row) if c), None)
        if lead is None:
            continue
        scale = inverse(row[lead])
        row = [c * scale % R for c in row]
        for k, done in enumerate(reduced):
            if done[lead]:
                c = done[lead]
                reduced[k] = [(a - c * b) % R for a, b in zip(done, row, strict=True)]
        pivots.append(lead)
        reduced.append(row)
    basis = []
    for free in sorted(set(range(width)) - set(pivots)):
        solution = [0] * width
        solution[free] = 1
        for pivot, done in zip(pivots, reduced, strict=True):
            solution[pivot] = -done[free] % R
        basis.append(solution)
    return basis


def test_verification_identity_forces_the_extractable_form() -> None:
    """All solutions of delta T = (tau - r) U + alpha v + v_p over the published elements, by linear algebra.

    Each has U free of 1/delta, T free of delta, T's part without 1/delta equal to d (tau - r) where U contains d delta,
    and A(r) = v, P(r) = v_p for the polynomials A, P that T commits to.
    """
    toy, _ = make_toy(8, n_public=1)
    r = 987654321
    elements = published(toy)
    columns: list[Laurent] = [{(d + 1, a, b, i): c for (d, a, b, i), c in e.items()} for e in elements]
    for e in elements:
        column: Laurent = {}
        for (d, a, b, i), c in e.items():
            column[d, a, b, i + 1] = (column.get((d, a, b, i + 1), 0) - c) % R
            column[d, a, b, i] = (column.get((d, a, b, i), 0) + r * c) % R
        columns.append(column)
    columns += [{(0, 1, 0, 0): R - 1}, {(0, 0, 0, 0): R - 1}]
    monomials = sorted({m for column in columns for m in column})
    solutions = kernel([[column.get(m, 0) for column in columns] for m in monomials], len(columns))
    assert len(solutions) > toy.n

    def total(scalars: Sequence[int]) -> Laurent:
        out: Laurent = {}
        for s, e in zip(scalars, elements, strict=True):
            for m, c in e.items():
                out[m] = (out.get(m, 0) + s * c) % R
        return {m: c for m, c in out.items() if c}

    for solution in solutions:
        t, u = total(solution[: len(elements)]), total(solution[len(elements) : -2])
        v, v_p = solution[-2:]
        shift = u.get((1, 0, 0, 0), 0)
        without = {m: c for m, c in t.items() if m[0] != -1}
        assert without == ({(0, 0, 0, 1): shift, (0, 0, 0, 0): -shift * r % R} if shift else {})
        assert all(d >= 0 and beta == 0 for d, _, beta, _ in u)
        committed_a = sum(c * pow(r, m[3], R) for m, c in t.items() if m[:3] == (-1, 1, 0)) % R
        committed_p = sum(c * pow(r, m[3], R) for m, c in t.items() if m[:3] == (-1, 0, 0)) % R
        assert (committed_a, committed_p) == (v, v_p)


# ---------------------------------------------------------------------------------------- knowledge soundness: attacks


def test_public_column_in_the_commit_key_shifts_a_public_input() -> None:
    toy, circuit = make_toy(12)
    z, masks, shift = circuit.assign(5, 77), (31, 41), 7
    leaked = toy.alpha * poly_eval(toy.a_columns[1], toy.tau) * inverse(toy.delta)
    m = toy.polynomials(z, masks)
    false = [public(toy, z)[0] + shift, public(toy, z)[1]]
    t = (toy.commit_to(private(toy, z), m.q, masks) - shift * leaked) % R
    a = poly_add(m.a, poly_scale(toy.a_columns[1], -shift))
    assert toy.verify(false, toy.open_at(false, t, a, m.p, bytes(32)))


def test_equal_delta_lets_one_quotient_key_edit_the_copies_of_another_circuit() -> None:
    toy, circuit = make_toy(12)
    small = make_circuit(6, 1)
    leaked = Toy(small.outlined, 6, alpha=toy.alpha, tau=toy.tau, delta=toy.delta).quotient
    z, masks = circuit.assign(5, 77), (31, 41)
    false = [public(toy, z)[0] + 7, public(toy, z)[1]]

    odd = [pow(toy.w, i, R) for i in range(1, 12, 2)]  # where Z' = X^6 - 1 = -2 and the foreign multiples are free
    edit = interpolate_at(odd, [7 * 7 * inverse(-2), *[0] * 5])
    honest = toy.polynomials(z, masks)
    total = poly_add(honest.a, toy.x_a(false))
    p = poly_mul(total, total)
    rest = poly_add(p, poly_scale(honest.b, -1), poly_scale(poly_mul(edit, vanishing(6)), -1))
    q, remainder = divide_by_vanishing(rest, 12)
    assert not remainder
    t = toy.commit_to(private(toy, z), q, masks) + sum(c * e for c, e in zip(edit, leaked, strict=False))
    assert toy.verify(false, toy.open_at(false, t % R, honest.a, p, bytes(32)))


def test_challenge_without_t_proves_anything() -> None:
    toy, _ = make_toy(12)
    toy.challenge = lambda x, t, c: hash_to_scalar(bytes(32), c, x, b"")
    x = [11, 13]
    r = toy.challenge(x, 0, bytes(32))
    h = poly_eval(toy.x_a(x), r) ** 2 * inverse(pow(r, 12, R) - 1)  # A = 0, P = h Z with P(r) = x_A(r)^2
    t = toy.commit_to([], [h], [])
    assert toy.verify(x, toy.open_at(x, t, [], poly_scale(vanishing(12), h), bytes(32)))


def test_challenge_without_the_inputs_proves_a_chosen_shape() -> None:
    toy, _ = make_toy(12)
    toy.challenge = lambda x, t, c: hash_to_scalar(bytes(32), c, [], t.to_bytes(48, "little"))
    a, t = poly_scale(vanishing(12), 3), toy.commit_to([], [], [3, 0])  # A = 3 Z, P = 0
    r = toy.challenge([], t, bytes(32))
    lagrange = [poly_eval(interpolate([int(i == j) for i in range(3)], 12), r) for j in range(3)]
    x1 = -(poly_eval(a, r) + lagrange[0] + 13 * lagrange[2]) * inverse(lagrange[1]) % R
    u = sum(c * e for c, e in zip(divide_by_root(a, r), toy.open_alpha, strict=False))
    assert toy.verify([x1, 13], ToyProof(t, u % R, poly_eval(a, r)))


def test_false_statement_passes_at_n_plus_3_challenges_of_the_forger_s_choice() -> None:
    """So a challenge set S is ground through in at most |S| / (N + 3) attempts."""
    toy, circuit = make_toy(12)
    z = circuit.assign(5, 77)
    false = [public(toy, z)[0] + 7, public(toy, z)[1]]
    total = poly_add(toy.polynomials(z, (0, 0)).a, toy.x_a(false))
    b_w = toy.polynomials(z, (0, 0)).b
    g = poly_add(poly_mul(total, total), poly_scale(b_w, -1))
    chosen = list(range(1000, 1000 + toy.n + 3))
    h = interpolate_at(chosen, [poly_eval(g, c) * inverse(pow(c, toy.n, R) - 1) for c in chosen])
    p = poly_add(b_w, poly_mul(h, vanishing(toy.n)))
    t = toy.commit_to(private(toy, z), h, [])
    a = toy.polynomials(z, (0, 0)).a
    for c in (*chosen, 5):
        u = sum(s * e for s, e in zip(divide_by_root(a, c), toy.open_alpha, strict=False))
        u += sum(s * e for s, e in zip(divide_by_root(p, c), toy.open, strict=False))
        assert toy.equation_holds(false, ToyProof(t, u % R, poly_eval(a, c)), c) == (c in chosen)


def test_only_the_hash_of_t_stops_the_translation_by_delta() -> None:
    toy, circuit = make_toy(12)
    z = circuit.assign(5, 77)
    x, proof = public(toy, z), toy.prove(z, (31, 41))
    r = toy.challenge(x, proof.t, bytes(32))
    moved = ToyProof((proof.t + 9 * (toy.tau - r)) % R, (proof.u + 9 * toy.delta) % R, proof.v)
    assert toy.equation_holds(x, moved, r)
    assert not toy.verify(x, moved)


def test_trivial_delta_proves_anything() -> None:
    circuit = make_circuit(12, 2)
    toy = Toy(circuit.outlined, 12, alpha=1234, tau=5678, delta=1)
    x = [11, 13]
    p = poly_mul(toy.x_a(x), toy.x_a(x))
    t = sum(c * e for c, e in zip(p, toy.open, strict=False)) % R
    assert toy.verify(x, toy.open_at(x, t, [], p, bytes(32)))


def test_known_alpha_proves_anything() -> None:
    circuit = make_circuit(12, 2)
    toy = Toy(circuit.outlined, 12, alpha=1, tau=5678, delta=91011)
    x = [11, 13]
    for h in range(1, 50):  # T = [h Z(tau) / delta]; then solve alpha v + (v + x_A(r))^2 = h Z(r) for v
        t = toy.commit_to([], [h], [])
        r = toy.challenge(x, t, bytes(32))
        target, x_r = h * (pow(r, 12, R) - 1), poly_eval(toy.x_a(x), r)
        root = sympy.ntheory.sqrt_mod((target + toy.alpha * x_r + toy.alpha**2 * inverse(4)) % R, R)
        if root is not None:
            break
    v = (int(root) - x_r - toy.alpha * inverse(2)) % R
    u = sum(c * e for c, e in zip(divide_by_root(poly_scale(vanishing(12), h), r), toy.open, strict=False))
    assert toy.verify(x, ToyProof(t, u % R, v))


# ---------------------------------------------------------------------------------------------------------------- batch


def test_batch_equation_is_the_weighted_sum_of_single_ones() -> None:
    toy, circuit = make_toy(12)
    rng = random.Random(5)
    claims: list[tuple[Sequence[int], ToyProof]] = []
    for root in range(2, 8):
        z = circuit.assign(root, 77)
        claims.append((public(toy, z), toy.prove(z, (rng.randrange(R), rng.randrange(R)))))
    weights = [rng.getrandbits(128) for _ in claims]
    assert toy.verify_batch(claims, weights)

    (x0, p0), (x1, p1), *rest = claims
    up, down = ToyProof(p0.t, p0.u + 1, p0.v), ToyProof(p1.t, p1.u - 1, p1.v)
    assert not toy.verify_batch([(x0, up), (x1, p1), *rest], weights)
    scale = inverse(toy.tau - toy.challenge(x1, p1.t, bytes(32))) * (toy.tau - toy.challenge(x0, p0.t, bytes(32)))
    down = ToyProof(p1.t, (p1.u - scale) % R, p1.v)
    cancelling: list[tuple[Sequence[int], ToyProof]] = [(x0, up), (x1, down), *rest]
    assert toy.verify_batch(cancelling, [1] * 6)
    assert not toy.verify_batch(cancelling, weights)


# --------------------------------------------------------------------------------------------------------------- margins


def largest_divisor(bound: int) -> int:
    """The largest divisor of r - 1 that is at most `bound`."""
    divisors = [1]
    for q, e in R_MINUS_1.items():
        divisors = [d * q**k for d in divisors for k in range(e + 1) if d * q**k <= bound]
    return max(divisors)


def cheon_bits(top_power: int) -> float:
    """log2 sqrt(r / d) for the largest d | r - 1 with tau^d published."""
    return (log2(R) - log2(largest_divisor(top_power))) / 2


@pytest.mark.parametrize(
    ("n", "k", "own", "file"),
    [
        (1216, 11, 121.8, 121.2),
        (19456, 15, 119.8, 119.2),
        (38912, 16, 119.3, 118.6),
        (155648, 18, 118.3, 117.6),
    ],
)
def test_cheon_margins_are_those_in_the_document(n: int, k: int, own: float, file: float) -> None:
    assert 2 ** (k - 1) - 2 < n <= 2**k - 2
    assert round(cheon_bits(2 * n + 2), 1) == own
    assert round(cheon_bits(3 * 2**k - 3), 1) == file


def test_largest_phase_1_file_keeps_112_bits() -> None:
    assert round(cheon_bits(3 * 2**28 - 3), 1) == 112.6


def test_soundness_error_per_hash_query() -> None:
    assert round(log2(R) - log2(2 * 155648 + 2), 1) == 236.6
    assert round(128 - log2(2 * 155648 + 2), 1) == 109.8


# ------------------------------------------------------------------------------------------------------------- the curve


@pytest.fixture(scope="module")
def curve() -> tuple[CurveKey, list[int], bytes]:
    circuit = make_circuit(11, 2)
    key = CurveKey(circuit.outlined, 11, alpha=3**150, tau=5**100, delta=7**90, circuit_digest=bytes(range(32)))
    z = circuit.assign(5, 77)
    return key, z[1:3], key.prove(z, (31, 41))


def test_point_encodings_equal_py_ecc_s() -> None:
    for k in (1, 2, 3, 12345, R - 1):
        p, q = multiply(G1, k), multiply(G2, k)
        assert int.from_bytes(encode_g1(p), "big") == compress_G1(p)
        high, low = compress_G2(q)
        assert encode_g2(q) == high.to_bytes(48, "big") + low.to_bytes(48, "big")
        assert encode_g1(decode_g1(encode_g1(p), "p")) == encode_g1(p)
        assert encode_g2(decode_g2(encode_g2(q), "q")) == encode_g2(q)


def test_curve_proof_verifies_and_every_field_is_bound(curve: tuple[CurveKey, list[int], bytes]) -> None:
    key, x, proof = curve
    assert (len(proof), len(key.vk_bytes)) == (PROOF_BYTES, VERIFYING_KEY_BYTES) == (128, 296)
    assert verify(key.vk_bytes, x, proof)
    assert not verify(key.vk_bytes, [x[0] + 1, x[1]], proof)
    assert not verify(key.vk_bytes, [x[1], x[0]], proof)
    assert not verify(key.vk_bytes, x, proof, b"\1" + bytes(31))
    assert not verify(key.vk_bytes, x, proof[:96] + bytes([proof[96] ^ 1]) + proof[97:])
    assert not verify(key.vk_bytes, x, proof[48:96] + proof[:48] + proof[96:])
    negated = encode_g1(neg(decode_g1(proof[:48], "T")))
    assert not verify(key.vk_bytes, x, negated + proof[48:])
    assert not verify(key.vk_bytes, x, proof[:48] + negated + proof[96:])
    other = key.vk_bytes[:16] + bytes([key.vk_bytes[16] ^ 1]) + key.vk_bytes[17:]
    assert not verify(other, x, proof)


def test_curve_simulation_verifies(curve: tuple[CurveKey, list[int], bytes]) -> None:
    key, _, _ = curve
    context = b"\7" * 32
    proof = key.encode(key.toy.simulate([3, 4], 123, 456, context))
    assert verify(key.vk_bytes, [3, 4], proof, context)
    assert not verify(key.vk_bytes, [3, 4], proof)


INFINITY = bytes([0xC0]) + bytes(47)
NOT_IN_SUBGROUP = bytes([0x80]) + bytes(47)
"""x = 0: the point (0, +-2), of order 3."""
NOT_REDUCED = ((1 << 383) | P).to_bytes(48, "big")
NO_ROOT = next(((1 << 383) | x).to_bytes(48, "big") for x in range(1, 99) if pow(x**3 + 4, (P - 1) // 2, P) == P - 1)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (INFINITY, "infinity"),
        (bytes([0xE0]) + bytes(47), "infinity"),
        (bytes([0x40]) + bytes(47), "compression flag"),
        (bytes(48), "compression flag"),
        (NOT_IN_SUBGROUP, "subgroup"),
        (NOT_REDUCED, "not below p"),
        (NO_ROOT, "not on the curve"),
    ],
)
def test_malformed_points_are_errors(bad: bytes, message: str, curve: tuple[CurveKey, list[int], bytes]) -> None:
    key, x, proof = curve
    for broken in (bad + proof[48:], proof[:48] + bad + proof[96:]):
        with pytest.raises(ValueError, match=message):
            verify(key.vk_bytes, x, broken)
    with pytest.raises(ValueError, match=message):
        decode_verifying_key(key.vk_bytes[:56] + bad + key.vk_bytes[104:])


def test_malformed_scalars_lengths_and_counts_are_errors(curve: tuple[CurveKey, list[int], bytes]) -> None:
    key, x, proof = curve
    v = int.from_bytes(proof[96:], "little")
    for broken in (
        proof[:-1],
        proof + b"\0",
        b"",
        proof[:96] + (v + R).to_bytes(32, "little"),
        proof[:96] + b"\xff" * 32,
    ):
        with pytest.raises(ValueError, match="proof"):
            verify(key.vk_bytes, x, broken)
    for inputs in ([], x[:1], [*x, 0], [x[0] + R, x[1]], [R, x[1]], [2**256 - 1, x[1]], [-1, x[1]]):
        with pytest.raises(ValueError, match="public input"):
            verify(key.vk_bytes, inputs, proof)
    with pytest.raises(ValueError, match="context"):
        verify(key.vk_bytes, x, proof, bytes(31))
    with pytest.raises(ValueError, match="development"):
        verify(key.vk_bytes, x, proof, allow_development=False)


def test_malformed_verifying_keys_are_errors(curve: tuple[CurveKey, list[int], bytes]) -> None:
    good = curve[0].vk_bytes

    def patched(at: int, data: bytes) -> bytes:
        return good[:at] + data + good[at + len(data) :]

    def rebuilt(alpha: int, tau: int, delta: int) -> bytes:
        return encode_verifying_key(
            development=True,
            circuit_digest=bytes(32),
            n=11,
            n_public=2,
            alpha_1=multiply(G1, alpha),
            tau_2=multiply(G2, tau),
            delta_2=multiply(G2, delta),
        )

    g2_infinity = bytes([0xC0]) + bytes(95)
    broken = {
        "bytes, expected": (good[:-1], good + b"\0", b""),
        "magic": (patched(0, b"b"),),
        "version": (patched(8, b"\2"),),
        "curve": (patched(10, b"\2"),),
        "flags": (patched(12, b"\3"), patched(15, b"\x80")),
        "domain size": (patched(48, bytes(4)), patched(48, (13).to_bytes(4, "little"))),
        "do not fit": (patched(52, (11).to_bytes(4, "little")), patched(52, b"\xff" * 4)),
        "infinity": (patched(104, g2_infinity), patched(200, g2_infinity)),
        "is 1 or -1": (
            *(rebuilt(1, 3, 5), rebuilt(3, 1, 5), rebuilt(3, 5, 1)),
            *(rebuilt(R - 1, 3, 5), rebuilt(3, R - 1, 5), rebuilt(3, 5, R - 1)),
        ),
        "are equal": (rebuilt(3, 5, 5), rebuilt(5, 5, 3), rebuilt(5, 3, 5)),
    }
    for message, keys in broken.items():
        for key in keys:
            with pytest.raises(ValueError, match=message):
                decode_verifying_key(key)

"""Poseidon in a circuit, equal to native.poseidon (parameters: the Filecoin instance; Grassi et al., ePrint 2019/458)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from bonsai_verifier.parameters import FR_MODULUS as R

from ..dsl.builder import Builder
from ..dsl.wires import Num, linear
from ..native import poseidon as native
from ..native.poseidon_instance import PoseidonParameters

_FIFTH_ROOT = pow(5, -1, R - 1)  # x -> x^5 permutes Fr since gcd(5, r - 1) = 1
_HALF = pow(2, -1, R)


def poseidon(c: Builder, inputs: Sequence[Num], tag: int) -> Num:
    """Element 1 of the permutation of (tag, inputs).  Cost, t = arity + 1, E the inputs that are free (builder.fifth_power):

    R1CS 3 (8 t + R_P - 1 - E) - floor(t / 2), Square R1CS 4 (8 t + R_P - 1 - E) - 2 floor(t / 2): the capacity is a constant, and the last
    round is needed in one element only.  Nothing if all inputs are constants.
    """
    c.require_own(*inputs)
    constants = [k for x in inputs if (k := x.constant_value()) is not None]
    if len(constants) == len(inputs):
        return c.num(native.poseidon(constants, tag))
    p = native.poseidon_parameters(len(inputs))
    with c.scope(f"poseidon[{len(inputs)}]"):
        with c.scope("round 0"):
            lifted = [
                c.fifth_power(x + k, f"s-box {j}")
                for j, (x, k) in enumerate(zip(inputs, entry_constants(p), strict=True), start=1)
            ]
        return poseidon_lifted(c, lifted, tag)[0]


def entry_constants(p: PoseidonParameters) -> tuple[int, ...]:
    """The round constants of the inputs in round 0."""
    return p.round_constants[0][1:]


@dataclass(frozen=True, slots=True)
class KnownSquare:
    """An S-box input of round 1 and its square: x = constant + sum weight_j y_j over the lifted inputs y_j."""

    weights: tuple[int, ...]
    constant: int
    x: Num
    square: Num


def poseidon_lifted(c: Builder, lifted: Sequence[Num], tag: int) -> tuple[Num, list[KnownSquare]]:
    """As `poseidon`, from the inputs after their first S-box, y_j = (x_j + k_j)^5; and the squares of round 1.  Cost: E = arity.

    Sound for any y_j because x -> x^5 is a bijection: the y_j are the lifted values of exactly one input each.
    """
    p = native.poseidon_parameters(len(lifted))
    half, last = p.r_f // 2, p.r_f + p.r_p - 1
    first = pow(tag + p.round_constants[0][0], 5, R)
    state = [linear(c, row, [c.num(first), *lifted], k) for row, k in zip(p.mds, p.round_constants[1], strict=True)]
    known: list[KnownSquare] = []
    for r in range(1, half):
        with c.scope(f"round {r}"):
            boxes = [_s_box(c, x, f"s-box {j}") for j, x in enumerate(state)]
        if r == 1:
            known = [
                KnownSquare(row[1:], (row[0] * first + k) % R, x, square)
                for row, k, x, (square, _) in zip(p.mds, p.round_constants[1], state, boxes, strict=True)
            ]
        outputs = [y for _, y in boxes]
        if r < half - 1:
            state = [linear(c, row, outputs, k) for row, k in zip(p.mds, p.round_constants[r + 1], strict=True)]
    state = _partial_rounds(c, p, outputs)
    for r in range(half + p.r_p, last):
        with c.scope(f"round {r}"):
            outputs = [_s_box(c, x, f"s-box {j}")[1] for j, x in enumerate(state)]
        state = [linear(c, row, outputs, k) for row, k in zip(p.mds, p.round_constants[r + 1], strict=True)]
    with c.scope(f"round {last}"):
        return _weighted_fifths(c, state, p.mds[1]), known


def _s_box(c: Builder, x: Num, label: str) -> tuple[Num, Num]:
    """(x^2, x^5).  Cost: 3 rows (R1CS), 4 (Square R1CS)."""
    square = c.product(x, x, f"{label}: x^2")
    fourth = c.product(square, square, f"{label}: x^4")
    return square, c.product(fourth, x, f"{label}: x^5")


@dataclass(frozen=True, slots=True)
class _PartialRounds:
    """The partial rounds as linear algebra over the basis 1, z_0 .. z_(t-1), x_1 .. x_(R_P - 1), y.

    z are the outputs of the full round before, x_i the S-box input of partial round i (x_0 is `first`, over 1 and z), y the last
    S-box output.  rest[i]: x_(i+1) = m00 x_i^5 + rest[i], over 1, z, x_1 .. x_i; final: the state after the last round, over all.
    """

    m00: int
    first: tuple[int, ...]
    rest: tuple[tuple[int, ...], ...]
    final: tuple[tuple[int, ...], ...]


@cache
def _partial_rounds_of(arity: int) -> _PartialRounds:
    p = native.poseidon_parameters(arity)
    half, size = p.r_f // 2, 1 + p.t + p.r_p
    m00, inverse = p.mds[0][0], pow(p.mds[0][0], -1, R)

    def unit(i: int) -> list[int]:
        return [int(k == i) for k in range(size)]

    def mixed(vectors: Sequence[Sequence[int]], weights: Sequence[int], constant: int) -> list[int]:
        out = [sum(w * v[k] for w, v in zip(weights, vectors, strict=True)) % R for k in range(size)]
        out[0] = (out[0] + constant) % R
        return out

    z = [unit(1 + i) for i in range(p.t)]
    state = [mixed(z, row, k) for row, k in zip(p.mds, p.round_constants[half], strict=True)]
    first, rests = state[0], []
    for i in range(p.r_p):
        constants = p.round_constants[half + i + 1]
        if i < p.r_p - 1:
            rest = mixed(state[1:], p.mds[0][1:], constants[0])
            rests.append(rest)
            x = unit(1 + p.t + i)
            y = [(a - b) * inverse % R for a, b in zip(x, rest, strict=True)]
            state = [x, *(mixed([y, *state[1:]], row, k) for row, k in zip(p.mds[1:], constants[1:], strict=True))]
        else:
            y = unit(size - 1)
            state = [mixed([y, *state[1:]], row, k) for row, k in zip(p.mds, constants, strict=True)]
    return _PartialRounds(m00, tuple(first), tuple(map(tuple, rests)), tuple(map(tuple, state)))


def _partial_rounds(c: Builder, p: PoseidonParameters, z: Sequence[Num]) -> list[Num]:
    """The state after the partial rounds.  Cost: 3 R_P rows (R1CS), 4 R_P (Square R1CS).

    The wire of a round is the next S-box input x', and the S-box output is (x' - rest) / m00, linear: as many rows as with the output for a
    wire, and a third of the entries.
    """
    algebra = _partial_rounds_of(p.t - 1)
    root = pow(algebra.m00, _FIFTH_ROOT, R)
    inverse = pow(algebra.m00, -1, R)
    basis = [c.num(1), *z]
    x = linear(c, algebra.first[: len(basis)], basis)
    for i, rest_vector in enumerate(algebra.rest):
        with c.scope(f"round {p.r_f // 2 + i}"):
            rest = linear(c, rest_vector[: len(basis)], basis)
            following = c.hint_fifth(x * root, rest, "next s-box input")
            fourth = c.square(c.square(x, "x^2"), "x^4")
            c.must_be_product(fourth, x, (following - rest) * inverse, "x^5")
        x = following
        basis.append(x)
    with c.scope(f"round {p.r_f // 2 + p.r_p - 1}"):
        basis.append(_s_box(c, x, "s-box 0")[1])
    return [linear(c, row, basis) for row in algebra.final]


def _weighted_fifths(c: Builder, xs: Sequence[Num], weights: Sequence[int]) -> Num:
    """sum of weight_j x_j^5.  Cost: 5 rows a pair and 3 for an odd one out (R1CS), 6 and 4 (Square R1CS).

    Fifth roots of the weights go into the x_j, which costs nothing.
    """
    scaled = [x * pow(weight, _FIFTH_ROOT, R) for x, weight in zip(xs, weights, strict=True)]
    terms = [_sum_of_fifths(c, x, y) for x, y in zip(scaled[::2], scaled[1::2], strict=False)]
    if len(scaled) % 2:
        terms.append(_s_box(c, scaled[-1], "s-box")[1])
    return linear(c, [1] * len(terms), terms)


def _sum_of_fifths(c: Builder, x: Num, y: Num) -> Num:
    """x^5 + y^5.  Cost: 5 rows (R1CS), 6 (Square R1CS).

    With g = x + y and p = x y:  x^5 + y^5 = g (g^4 - 5 g^2 p + 5 p^2) = g ((g^2 - 5/2 p)^2 - 5/4 p^2).
    """
    g = x + y
    g2 = c.square(g, "g^2")
    p = c.product(x, y, "p = x y")
    u2 = c.square(g2 - p * (5 * _HALF), "(g^2 - 5/2 p)^2")
    p2 = c.square(p, "p^2")
    return c.product(g, u2 - p2 * (5 * _HALF * _HALF), "x^5 + y^5")

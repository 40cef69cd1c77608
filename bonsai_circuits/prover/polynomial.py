"""The polynomials of one proof, from the assignment to the scalars of both sums.

Which transforms are needed.  With a = a_w + x_A of degree below N, known on H by the rows, and b = a^2 there, a proof takes the coefficients of

  a, a_w   (U, and q by the mask):  one inverse transform.  x_A has at most l + 1 values that are not 0, at w^0 .. w^l: f and f less
           such a polynomial are interpolated together, for little more than f alone (kernels/ntt.py).
  b        (p = b + q Z):           one inverse transform of the squares, which the rows are checked against anyway.
  h        (a^2 - b = h Z):         a^2 has degree 2N - 2, so it is more than its values on H say; those on one coset c H settle it.
           There X^N is the constant c^N, so what interpolates the squares there is s = a^2 mod (X^N - c^N).  With a^2 = b + h (X^N - 1),
           s = b + (c^N - 1) h.  So h = (s - b)/(c^N - 1): one transform to the coset, one inverse from it, no division by Z.

Four: of a^2, N coefficients are its values on H away, N more need values elsewhere, and those need the coefficients of a.
The masks never meet a transform.  With m = s0 + s1 X,

  q = h + 2 a m + m^2 Z    and    p = b + q Z = (b - q) + X^N q

so one pass makes q and b - q modulo X^N, and what goes beyond are a few integers.  From the rows to canonical scalars, everything is in
the form of the body that runs (kernels/ntt.py, kernels/ntt_lanes.py).
"""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from bonsai_verifier.field import Words, ints_from_limbs, limbs_from_ints
from bonsai_verifier.parameters import FR_MODULUS

from ..keys.domain import COSET_SHIFT, Domain
from ..r1cs.system import SquareR1CS

R = FR_MODULUS
_WORDS = 4
Vector = Any  # opaque: in the form of the body that runs


@dataclass(frozen=True, slots=True, repr=False)
class Rows:
    """<A_i, z> and <B_i, z> at w^i, 0 beyond the last row, and the first row that is not satisfied, or -1: then nothing else counts."""

    a: Vector
    b: Vector
    failed: int


@dataclass(frozen=True, slots=True, repr=False)
class WitnessPolynomials:
    """The coefficients of one satisfied assignment.  No repr shows them."""

    domain: Domain
    a_w: Vector  # sum over private j of w_j a_j
    a: Vector  # a_w + x_A
    b: Vector  # sum over private j of w_j b_j
    s: Vector  # a^2 modulo X^N - 7^N


@dataclass(frozen=True, slots=True, repr=False)
class MaskedPolynomials:
    """Those of one attempt at a proof, which alone uses them.  No repr shows them."""

    domain: Domain
    masks: tuple[int, int]
    q: Words  # (N + 3, 4) canonical
    a_w: Vector
    p: tuple[Vector, Vector, list[int]]  # coefficients from 0, from N, from 2 N on


def evaluate_rows(domain: Domain, square: SquareR1CS, assignment: Words) -> Rows:
    """In: assignment (n_wires, 4) Montgomery; a system that has been checked: every wire exists, and the domain has room."""
    matrices = [(matrix.start, matrix.wire, matrix.coeff) for matrix in (square.a, square.b)]
    transforms = domain.transforms
    return Rows(*_body("sparse", transforms).square_rows(transforms, *matrices, assignment))


def interpolate(domain: Domain, rows: Rows, instance: Words) -> WitnessPolynomials:
    """In: satisfied rows, which are used up; instance, the values of x_A at w^0, w^1, ..., Montgomery.  Cost: four transforms."""
    transforms = domain.transforms
    square = _body("polynomial", transforms).square
    a, b = rows.a, rows.b
    a_w = transforms.interpolate_twice(a, instance)
    transforms.interpolate(b)
    s = transforms.copy(a)
    transforms.evaluate(s, coset=True)
    square(transforms, s)
    transforms.interpolate(s, coset=True)
    return WitnessPolynomials(domain, a_w, a, b, s)


def mask(witness: WitnessPolynomials, masks: tuple[int, int]) -> MaskedPolynomials:
    """q = h + 2 a m + m^2 Z and p = b + q Z, m = s0 + s1 X.  The witness's vectors are used up: other masks take another `interpolate`."""
    domain = witness.domain
    n, transforms = domain.size, domain.transforms
    body = _body("polynomial", transforms)
    s0, s1 = masks
    scale = pow(domain.vanishing(COSET_SHIFT), -1, R)
    body.quotient(transforms, witness.s, witness.b, witness.a, scale, 2 * s0, 2 * s1)
    q, low = witness.s, witness.b
    m_squared = [s0 * s0 % R, 2 * s0 * s1 % R, s1 * s1 % R]
    last = 2 * s1 * body.coefficient(transforms, witness.a, n - 1)

    def add(parts: list[Vector], tail: list[int], i: int, x: int) -> None:
        """x X^i is added to the polynomial whose coefficients stand in parts of n, and in the tail."""
        part, j = divmod(i, n)
        if part < len(parts):
            body.set_coefficient(transforms, parts[part], j, (body.coefficient(transforms, parts[part], j) + x) % R)
        else:
            i -= n * len(parts)
            tail[i] = (tail[i] + x) % R

    q_tail = [0] * 3
    for i, x in [*enumerate(-c for c in m_squared), *((n + i, c) for i, c in enumerate(m_squared)), (n, last)]:
        add([q], q_tail, i, x)
    scalars = np.empty((n + 3, _WORDS), np.uint64)
    body.canonical(transforms, scalars[:n], q)
    scalars[n:] = limbs_from_ints(q_tail, _WORDS)
    # low is b - (h + 2 a m) modulo X^N; the rest of - q, then X^N q, which begins with q itself
    parts, tail = [low, q], [0] * 3
    for i, c in enumerate(m_squared):
        add(parts, tail, i, c)
    for i, x in enumerate(q_tail):
        add(parts, tail, n + i, -x)
        add(parts, tail, 2 * n + i, x)
    return MaskedPolynomials(domain, masks, scalars, witness.a_w, (low, q, tail))


def open_at(masked: MaskedPolynomials, r: int) -> tuple[Words, int]:
    """The coefficients of (a' - v)/(X - r), N + 1, and of (p - p(r))/(X - r), 2 N + 2, canonical, in one array; and v = a'(r).

    a' = a_w + m X^N - m: what is divided is a_w with the carry m(r); and - m is - s1 (X - r) - m(r).
    """
    domain = masked.domain
    n, transforms = domain.size, domain.transforms
    divide = _body("polynomial", transforms).divide
    s0, s1 = masked.masks
    m_r = (s0 + s1 * r) % R
    out = np.empty((3 * n + 3, _WORDS), np.uint64)
    a_part, p_part = out[: n + 1], out[n + 1 :]
    a_part[n:] = limbs_from_ints([s1], _WORDS)
    v = (divide(transforms, a_part[:n], masked.a_w, r, m_r) - m_r) % R
    a_part[:1] = limbs_from_ints([(ints_from_limbs(a_part[:1])[0] - s1) % R], _WORDS)
    low, high, tail = masked.p
    first = (tail[1] + tail[2] * r) % R
    p_part[2 * n :] = limbs_from_ints([first, tail[2]], _WORDS)
    carry = divide(transforms, p_part[n : 2 * n], high, r, (tail[0] + first * r) % R)
    divide(transforms, p_part[:n], low, r, carry)
    return out, v


def _body(name: str, transforms: Any) -> Any:
    """The kernels of that name for vectors of these transforms."""
    return _kernels(f"{name}_lanes" if transforms.in_lanes else name)


@cache
def _kernels(name: str) -> Any:
    return import_module(f"bonsai_circuits.kernels.{name}")

"""The polynomials of one proof, from the assignment to the scalars of both sums.

Which transforms are needed.  a = a_w + x_A of degree below N is known on H by the rows, b is a^2 there.  A proof takes the coefficients of

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

from functools import cache
from importlib import import_module
from typing import Any

from bonsai_verifier.field import Words, ints_from_limbs, limbs_from_ints
from bonsai_verifier.kernels.fr import FR_WORDS, fr_from_mont_many
from bonsai_verifier.parameters import FR_MODULUS
from bonsai_verifier.threads import Run, call

from ..kernels.memory import arrays
from ..keys.domain import COSET_SHIFT, Domain
from ..r1cs.system import SquareR1CS

R = FR_MODULUS
Vector = Any  # opaque: in the form of the body that runs


class ProofPolynomials:
    """The polynomials of one attempt at a proof: methods in order, once each.

    Its vectors hold the witness and masks, belong to it alone, and are overwritten as the steps go on.
    """

    def __init__(self, domain: Domain, n_private: int) -> None:
        n, self._domain, self._transforms = domain.size, domain, domain.transforms
        vectors = [self._transforms.shape] * 4
        memory: list[Words] = arrays(*vectors, (n_private + n + 5, FR_WORDS), (3 * n + 3, FR_WORDS))
        self._a, self._b, self._a_w, self._s, self._t, self._u = memory
        self._n_private = n_private
        self._masks = (0, 0)
        self._tail: list[int] = []

    def rows(self, square: SquareR1CS, assignment: Words, at: slice) -> int:
        """The values of a and b at some points of the domain: the first row of the slice that does not hold, or -1.

        In: assignment (n_wires, 4) Montgomery; a system that was checked: every wire exists, and the domain has room; a slice between
        multiples of 8, or up to the domain's end.
        """
        matrices = [(matrix.start, matrix.wire, matrix.coeff) for matrix in (square.a, square.b)]
        square_rows = _body("sparse", self._transforms).square_rows
        failed: int = square_rows(self._transforms, self._a, self._b, *matrices, assignment, at)
        return failed

    def commit(self, assignment: Words, masks: tuple[int, int], run: Run = map) -> Words:
        """w | q | m, canonical: what T is the sum of.  In: the assignment whose rows hold.  Cost: four transforms."""
        transforms, n_public_wires = self._transforms, len(assignment) - self._n_private

        def of_a() -> None:
            transforms.interpolate_twice(self._a, self._a_w, assignment[:n_public_wires])
            self._s[:] = self._a
            transforms.evaluate(self._s, coset=True)
            _body("polynomial", transforms).square(transforms, self._s)
            transforms.interpolate(self._s, coset=True)

        def of_b() -> None:
            transforms.interpolate(self._b)
            fr_from_mont_many(self._t[: self._n_private], assignment[n_public_wires:])

        list(run(call, [of_a, of_b]))
        self._masks = masks
        self._mask()
        self._t[-2:] = limbs_from_ints(masks, FR_WORDS)
        return self._t

    def open(self, r: int) -> tuple[Words, int]:
        """(a' - v)/(X - r), N + 1 coefficients, and (p - p(r))/(X - r), 2 N + 2, canonical: what U is the sum of.  And v = a'(r).

        a' = a_w + m X^N - m: what is divided is a_w with the carry m(r); and - m is - s1 (X - r) - m(r).
        """
        n, transforms = self._domain.size, self._transforms
        divide = _body("polynomial", transforms).divide
        s0, s1 = self._masks
        m_r = (s0 + s1 * r) % R
        a_part, p_part = self._u[: n + 1], self._u[n + 1 :]
        a_part[n:] = limbs_from_ints([s1], FR_WORDS)
        v = (divide(transforms, a_part[:n], self._a_w, r, m_r) - m_r) % R
        a_part[:1] = limbs_from_ints([(ints_from_limbs(a_part[:1])[0] - s1) % R], FR_WORDS)
        t0, t1, t2 = self._tail
        first = (t1 + t2 * r) % R
        p_part[2 * n :] = limbs_from_ints([first, t2], FR_WORDS)
        carry = divide(transforms, p_part[n : 2 * n], self._s, r, (t0 + first * r) % R)
        divide(transforms, p_part[:n], self._b, r, carry)
        return self._u, v

    def _mask(self) -> None:
        """q = h + 2 a m + m^2 Z and p = b + q Z: q to t; p in b, from X^N on in s, and the tail, from X^2N on."""
        n, transforms = self._domain.size, self._transforms
        body = _body("polynomial", transforms)
        s0, s1 = self._masks
        scale = pow(self._domain.vanishing(COSET_SHIFT), -1, R)
        body.quotient(transforms, self._s, self._b, self._a, scale, 2 * s0, 2 * s1)
        low, q = self._b, self._s

        def add(parts: list[Vector], tail: list[int], i: int, x: int) -> None:
            """x X^i is added to the polynomial whose coefficients stand in parts of n, and in the tail."""
            part, j = divmod(i, n)
            if part < len(parts):
                old = body.coefficient(transforms, parts[part], j)
                body.set_coefficient(transforms, parts[part], j, (old + x) % R)
            else:
                i -= n * len(parts)
                tail[i] = (tail[i] + x) % R

        m_squared, q_tail, self._tail = [s0 * s0, 2 * s0 * s1, s1 * s1], [0] * 3, [0] * 3
        add([q], q_tail, n, 2 * s1 * body.coefficient(transforms, self._a, n - 1))
        for i, c in enumerate(m_squared):
            add([q], q_tail, i, -c)
            add([q], q_tail, n + i, c)
        scalars = self._t[self._n_private : -2]
        body.canonical(transforms, scalars[:n], q)
        scalars[n:] = limbs_from_ints(q_tail, FR_WORDS)
        # low is b - (h + 2 a m) modulo X^N; then the rest of - q; and X^N q begins with q itself
        for i, c in enumerate(m_squared):
            add([low, q], self._tail, i, c)
        for i, x in enumerate(q_tail):
            add([low, q], self._tail, n + i, -x)
            add([low, q], self._tail, 2 * n + i, x)


def _body(name: str, transforms: Any) -> Any:
    """The kernels of that name for vectors of these transforms."""
    return _kernels(f"{name}_lanes" if transforms.in_lanes else name)


@cache
def _kernels(name: str) -> Any:
    return import_module(f"bonsai_circuits.kernels.{name}")

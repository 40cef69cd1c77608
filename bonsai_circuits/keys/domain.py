"""H = {w^i : i < N}, the subgroup of Fr* on which the rows of a system stand: row i at w^i.

r - 1 = 2^32 * 3 * 11 * 19 * (larger primes), so N = m 2^k is possible for every product m of some of 3, 11 and 19.  From N = 352 on,
consecutive sizes differ by a factor of at most 38/33 = 1.152, where powers of two alone would differ by 2.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from bonsai_verifier.field import Words, fr_from_ints, fr_inv, fr_mul, fr_sub
from bonsai_verifier.kernels.fr import fr_powers
from bonsai_verifier.parameters import DOMAIN_ODD_PARTS, FR_GENERATOR, FR_MODULUS, TWO_ADICITY

from ..errors import CircuitError
from ..kernels.ntt import ntt_reverse, ntt_stage_2, ntt_stage_odd

ODD_RADICES = (3, 11, 19)  # the primes of the odd parts
MAX_ROWS = 1 << 28  # 2^28 rows are a proving key of 130 gigabytes
COSET_SHIFT = FR_GENERATOR  # 7^N = 1 only if r - 1 divides N: never in H


class _Tables(NamedTuple):
    powers: Words  # w^i
    coset: Words  # 7^i
    coset_inverse: Words  # 7^-i / N
    size_inverse: Words  # 1 / N, one row


@dataclass(frozen=True, slots=True)
class Domain:
    """The subgroup H of order `size` and the transforms over it; all arrays are (size, 4) in Montgomery form and natural order.

    Raises CircuitError: no such subgroup.
    """

    size: int

    def __post_init__(self) -> None:
        if self.size < 1 or self.size >> (k := _twos(self.size)) not in DOMAIN_ODD_PARTS or k > TWO_ADICITY:
            raise CircuitError(
                "domain", f"{self.size} is not m 2^k with m among {', '.join(map(str, DOMAIN_ODD_PARTS))}"
            )

    @property
    def root(self) -> int:
        """w = 7^((r - 1)/N), of order exactly N because 7 generates Fr*."""
        return pow(FR_GENERATOR, (FR_MODULUS - 1) // self.size, FR_MODULUS)

    def contains(self, x: int) -> bool:
        """x in H."""
        return self.vanishing(x) == 0

    def vanishing(self, x: int) -> int:
        """Z(x) = x^N - 1."""
        return (pow(x, self.size, FR_MODULUS) - 1) % FR_MODULUS

    def lagrange(self, x: int) -> Words:
        """L_i(x) = w^i Z(x) / (N (x - w^i)) for every i.  In: x outside H.  Cost: one inversion, 5 N multiplications."""
        powers = _tables(self.size).powers
        scale = self.vanishing(x) * pow(self.size, -1, FR_MODULUS)
        return fr_mul(fr_mul(powers, fr_inv(fr_sub(powers, fr_from_ints([x])))), fr_from_ints([-scale]))

    def evaluate(self, coefficients: Words) -> Words:
        """f -> (f(w^i))_i."""
        return _transform(coefficients, _tables(self.size).powers)

    def interpolate(self, values: Words) -> Words:
        """(f(w^i))_i -> the coefficients of f, of degree below N."""
        tables = _tables(self.size)
        return _reverse(_transform(values, tables.powers), tables.size_inverse)

    def evaluate_on_coset(self, coefficients: Words) -> Words:
        """f -> (f(7 w^i))_i."""
        tables = _tables(self.size)
        return _transform(fr_mul(coefficients, tables.coset), tables.powers)

    def interpolate_from_coset(self, values: Words) -> Words:
        """(f(7 w^i))_i -> the coefficients of f, of degree below N."""
        tables = _tables(self.size)
        return _reverse(_transform(values, tables.powers), tables.coset_inverse)


def smallest_domain(n_rows: int) -> Domain:
    """The least domain with room for n_rows rows.

    Raises CircuitError: no row, or more than MAX_ROWS.
    """
    if not 1 <= n_rows <= MAX_ROWS:
        raise CircuitError("rows", f"{n_rows} rows, but a system has 1 to {MAX_ROWS}")
    return Domain(min(m << max(0, (-(-n_rows // m) - 1).bit_length()) for m in DOMAIN_ODD_PARTS))


def _twos(n: int) -> int:
    return (n & -n).bit_length() - 1


@lru_cache(maxsize=4)
def _tables(size: int) -> _Tables:
    def powers(base: int, first: int) -> Words:
        out = np.empty((size, 4), np.uint64)
        fr_powers(out, fr_from_ints([base]), fr_from_ints([first]))
        return out

    size_inverse = pow(size, -1, FR_MODULUS)
    return _Tables(
        powers=powers(Domain(size).root, 1),
        coset=powers(COSET_SHIFT, 1),
        coset_inverse=powers(pow(COSET_SHIFT, -1, FR_MODULUS), size_inverse),
        size_inverse=fr_from_ints([size_inverse]),
    )


def _transform(x: Words, powers: Words) -> Words:
    n = len(powers)
    if x.shape != (n, 4):
        raise ValueError(f"an array of shape ({n}, 4) is needed, not {x.shape}")
    source = np.array(x, order="C")  # for N = 1 it is returned
    buffers = np.empty_like(powers), np.empty_like(powers)
    s = 1
    for i, p in enumerate([*(p for p in ODD_RADICES if n % p == 0), *[2] * _twos(n)]):
        target = buffers[i % 2]
        if p == 2:
            ntt_stage_2(target, source, powers, s)
        else:
            ntt_stage_odd(target, source, powers, s, p)
        source = target
        s *= p
    return source


def _reverse(x: Words, factors: Words) -> Words:
    out = np.empty_like(x)
    ntt_reverse(out, x, factors)
    return out

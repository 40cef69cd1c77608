"""H = {w^i : i < N}, the subgroup of Fr* on which the rows of a system stand: row i at w^i.

r - 1 = 2^32 * 3 * 11 * 19 * (larger primes), so N = m 2^k is possible for every product m of some of 3, 11 and 19.  From N = 352 on,
consecutive sizes differ by a factor of at most 38/33 = 1.152, where powers of two alone would differ by 2.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bonsai_verifier.field import Words, fr_from_ints, fr_inv, fr_mul, fr_sub
from bonsai_verifier.kernels import cpu
from bonsai_verifier.kernels.fr import FR_WORDS
from bonsai_verifier.kernels.lane_machine import LANES
from bonsai_verifier.kernels.limbs import rows
from bonsai_verifier.parameters import DOMAIN_ODD_PARTS, FR_GENERATOR, FR_MODULUS, TWO_ADICITY

from ..errors import CircuitError
from ..kernels.ntt import Transforms, powers

MAX_ROWS = 1 << 26  # two rows for each of priv + 4 N + 8 points stay below buckets.MAX_POOL_ROWS up to priv = 2^28 - 8
COSET_SHIFT = FR_GENERATOR  # 7^N = 1 only if r - 1 divides N: never in H


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
        roots = powers(self.root, self.size)
        scale = self.vanishing(x) * pow(self.size, -1, FR_MODULUS)
        return fr_mul(fr_mul(roots, fr_inv(fr_sub(roots, fr_from_ints([x])))), fr_from_ints([-scale]))

    @property
    def transforms(self) -> Any:
        """Between coefficients and values, on vectors in the form of the body that runs (kernels/ntt.py): kept for the next call."""
        return _transforms(self.size, cpu.vector() and self.size % LANES == 0)  # the vector body takes no others

    def evaluate(self, coefficients: Words, coset: bool = False) -> Words:
        """f -> (f(w^i))_i, or (f(7 w^i))_i on the coset."""
        transforms = self.transforms
        x = transforms.read_coefficients(self._rows(coefficients))
        transforms.evaluate(x, coset)
        values: Words = transforms.write_values(x)
        return values

    def interpolate(self, values: Words, coset: bool = False) -> Words:
        """The values that `evaluate` gives -> the coefficients of f, of degree below N."""
        transforms = self.transforms
        x = transforms.read_values(self._rows(values))
        transforms.interpolate(x, coset)
        coefficients: Words = transforms.write_coefficients(x)
        return coefficients

    def _rows(self, x: Words) -> Words:
        if x.shape != (self.size, FR_WORDS):
            raise ValueError(f"an array of shape ({self.size}, {FR_WORDS}) is needed, not {x.shape}")
        return rows(x, FR_WORDS)


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
def _transforms(size: int, lanes: bool) -> Any:
    if lanes:
        from ..kernels.ntt_lanes import LaneTransforms

        return LaneTransforms(size, Domain(size).root, COSET_SHIFT)
    return Transforms(size, Domain(size).root, COSET_SHIFT)

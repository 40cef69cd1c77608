"""Outlining: the constant and every public input get a private copy, and all other rows use the copy.

Row j, 0 <= j <= l, is x_j - w_j = 0, so that the verifier's share of A z is a combination of Lagrange polynomials alone and
B does not touch the instance (docs/protocol.md).
"""

from ..r1cs.linear import Terms


def outlined_wire(wire: int, n_public: int) -> int:
    """The wire of the square system that stands for an R1CS wire in every row but the outline rows."""
    return wire + n_public + 1


def outline_rows(n_public: int) -> list[tuple[Terms, Terms]]:
    """(x_j - w_j)^2 = 0 for the constant and each public input, as (A, B)."""
    return [({j: 1, outlined_wire(j, n_public): -1}, {}) for j in range(n_public + 1)]

"""The pairing e: G1 x G2 -> GT, as the questions that a verifier asks of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .field import Words
from .kernels.g1 import G1_AFFINE_WORDS
from .kernels.g2 import G2_AFFINE_WORDS
from .kernels.pairing import FP12_ONE, gt_quotient, pairing_product
from .kernels.pairing import pairing_product_is_one as _product_is_one


def product_is_one(pairs: Sequence[tuple[Words, Words]]) -> bool:
    """e(P_1, Q_1) ... e(P_k, Q_k) = 1.  Pairs with infinity count as 1; the product of none is 1.

    In: P_i (12,), Q_i (24,) affine words of points in G1 and G2.
    Cost: k Miller loops that share their squarings, one final exponentiation.
    """
    g1 = np.array([p for p, _ in pairs], np.uint64).reshape(-1, G1_AFFINE_WORDS)
    g2 = np.array([q for _, q in pairs], np.uint64).reshape(-1, G2_AFFINE_WORDS)
    return bool(_product_is_one(g1, g2))


@dataclass(frozen=True, slots=True)
class GT:
    """A value of the pairing: an element of Fp12 of order r, or 1."""

    words: Words  # (72,)

    @property
    def is_one(self) -> bool:
        return np.array_equal(self.words, FP12_ONE)

    def __truediv__(self, other: "GT") -> "GT":
        return GT(gt_quotient(self.words, other.words))


def product(pairs: Sequence[tuple[Words, Words]]) -> GT:
    """e(P_1, Q_1) ... e(P_k, Q_k), to the power 3 (kernels/pairing.py).  In, Cost: as product_is_one.

    P_i may lie outside G1, anywhere on the curve: a component of an order prime to r counts as infinity.
    """
    g1 = np.array([p for p, _ in pairs], np.uint64).reshape(-1, G1_AFFINE_WORDS)
    g2 = np.array([q for _, q in pairs], np.uint64).reshape(-1, G2_AFFINE_WORDS)
    return GT(pairing_product(g1, g2))

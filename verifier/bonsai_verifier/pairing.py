"""The pairing e: G1 x G2 -> GT, as the questions that a verifier asks of it."""

from collections.abc import Sequence

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


def product(pairs: Sequence[tuple[Words, Words]]) -> Words:
    """e(P_1, Q_1) ... e(P_k, Q_k), to the power 3 (kernels/pairing.py).  In, Cost: as product_is_one.  Out: (72,)."""
    g1 = np.array([p for p, _ in pairs], np.uint64).reshape(-1, G1_AFFINE_WORDS)
    g2 = np.array([q for _, q in pairs], np.uint64).reshape(-1, G2_AFFINE_WORDS)
    out: Words = pairing_product(g1, g2)
    return out


def gt_is_one(a: Words) -> bool:
    """a = 1."""
    return np.array_equal(a, FP12_ONE)


def gt_mul(a: Words, b: Words) -> Words:
    """a b."""
    out: Words = gt_quotient(a, gt_inverse(b))
    return out


def gt_inverse(a: Words) -> Words:
    """1/a."""
    out: Words = gt_quotient(FP12_ONE, a)
    return out

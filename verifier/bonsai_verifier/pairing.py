"""The pairing e: G1 x G2 -> GT: products of it, and the question that a verifier asks of them.

An element of GT is (72,) words, an Fp12 with all coefficients reduced, so equal elements have equal words.  The value is the cube of the
usual one (kernels/pairing.py).
"""

from collections.abc import Sequence
from functools import lru_cache
from types import ModuleType

import numpy as np

from .field import Words
from .kernels import cpu
from .kernels import pairing as portable
from .kernels.fp12 import FP12_WORDS
from .kernels.g1 import G1_AFFINE_WORDS
from .kernels.g2 import G2_AFFINE_WORDS
from .kernels.limbs import rows

GT_WORDS = FP12_WORDS

_INFINITY_1 = bytes(8 * G1_AFFINE_WORDS)
_INFINITY_2 = bytes(8 * G2_AFFINE_WORDS)
_ONE = portable.FP12_ONE.tobytes()


def product(pairs: Sequence[tuple[Words, Words]]) -> Words:
    """e(P_1, Q_1) ... e(P_k, Q_k) in GT.  Pairs with infinity count as 1; the product of none is 1.

    In: P_i (12,), Q_i (24,) affine words of points in G1 and G2.
    Cost: k Miller loops that share their squarings, one final exponentiation.  What belongs to Q_i alone is remembered for the last 128
    points; to work it out takes as long as a sixth of a product of three.
    """
    finite = [(p, q) for p, q in pairs if p.tobytes() != _INFINITY_1 and q.tobytes() != _INFINITY_2]
    if not finite:
        return portable.FP12_ONE.copy()
    g1 = rows(np.array([p for p, _ in finite]), G1_AFFINE_WORDS)
    g2 = rows(np.array([q for _, q in finite]), G2_AFFINE_WORDS)
    body = _body()
    lines = _side(body, g2.tobytes())
    value: Words = np.zeros(GT_WORDS, np.uint64) if lines is None else body.product(g1, lines)
    return value


def product_is_one(pairs: Sequence[tuple[Words, Words]]) -> bool:
    """e(P_1, Q_1) ... e(P_k, Q_k) = 1, as `product`."""
    return gt_is_one(product(pairs))


def gt_is_one(a: Words) -> bool:
    """a = 1."""
    return a.tobytes() == _ONE


def gt_div(a: Words, b: Words) -> Words:
    """a / b, by one conjugation."""
    return portable.multiply(a, portable.conjugate(b))


def _body() -> ModuleType:
    if cpu.vector():
        from .kernels import pairing_lanes

        return pairing_lanes
    return portable


@lru_cache(maxsize=16)
def _side(body: ModuleType, g2: bytes) -> Words | None:
    """The second side of a product of finite points: its lines; None if a step of one degenerates, which none does in G2."""
    size = len(_INFINITY_2)
    lines = [_prepared(body, g2[i : i + size]) for i in range(0, len(g2), size)]
    side: Words | None = None if any(x is None for x in lines) else body.joined(lines)
    return side


@lru_cache(maxsize=128)
def _prepared(body: ModuleType, q: bytes) -> Words | None:
    """The lines of one point: 13 KiB, in lanes 18 KiB."""
    lines: Words | None = body.prepare(np.frombuffer(q, np.uint64))
    return lines

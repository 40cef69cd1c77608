"""The equation of a proof, and of many at once.

One proof (T, U, v) of public inputs x, at its challenge r, with v_p = (v + x_A(r))^2:

    e(T, [delta]) = e(U, [tau] - r [1]) e(v [alpha] + v_p [1], [1])

so it is three terms of G1, one for each fixed point of G2, and a sum of proofs with weights rho has the same three:

    e(sum rho T, [delta])  e(- sum rho U, [tau])  e(sum (rho r) U - (sum rho v) [alpha] - (sum rho v_p) [1], [1])  =  1

A single proof is the sum of one, with weight 1.  The left side is the sum's value in GT: the values of two sums of different proofs
multiply to that of all, and proofs of several keys to one product.  Source: docs/protocol.md; ePrint 2024/1245 and 2025/1485.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .curve import G1, G2, g1_sums, g1_total, in_g1_many, negate_g1, one_words
from .field import Octets, Words
from .kernels import cpu
from .kernels.fr import FR_WORDS
from .kernels.g1 import G1_AFFINE_WORDS
from .kernels.limbs import WORD_BYTES, place, readable, rows
from .kernels.msm import G1Sum
from .pairing import product, product_is_one
from .parameters import FR_GENERATOR, FR_MODULUS
from .threads import Run, blocks
from .transcript import challenge_bytes_many
from .wire import VerifyingKey

_PLANES_AT_ONCE = 32  # of the subgroup tests that a thread takes


@dataclass(frozen=True, slots=True)
class Claims:
    """n well-formed proofs with what the equation needs of each, row by row.  T, U affine points."""

    T: Words  # (n, 12)
    U: Words  # (n, 12)
    v: Words  # (n, 4) canonical
    r: Words  # (n, 4) Montgomery, as v_p
    v_p: Words  # (n, 4)
    in_domain: NDArray[np.bool_]  # (n,), r in H: the proof is false, and v_p means nothing

    def __len__(self) -> int:
        return len(self.T)

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> "Claims":
        return Claims(self.T[rows], self.U[rows], self.v[rows], self.r[rows], self.v_p[rows], self.in_domain[rows])

    def __setitem__(self, rows: slice, part: "Claims") -> None:
        for field in fields(self):
            getattr(self, field.name)[rows] = getattr(part, field.name)

    @classmethod
    def room(cls, n: int) -> "Claims":
        """n rows to be written."""
        points, scalars = ((n, width) for width in (12, 4))
        t, u = (np.empty(points, np.uint64) for _ in range(2))
        v, r, v_p = (np.empty(scalars, np.uint64) for _ in range(3))
        return cls(t, u, v, r, v_p, np.empty(n, np.bool_))


def claims(
    vk: VerifyingKey, contexts: Octets, public_inputs: Octets, t_bytes: Octets, T: Words, U: Words, v: Words
) -> Claims:
    """Steps 4 and 5 of the proof as its verifier repeats them: r, x_A(r), v_p = (v + x_A(r))^2.

    In: contexts (n, 32) or (32,); public_inputs (n, n_public, 32), below r; t_bytes (n, 48), the bytes of T; v (n, 4), below r.
    All may be columns of something wider.
    """
    challenge = challenge_bytes_many(vk.digest, contexts, public_inputs, t_bytes)
    r, v_p, in_domain = statement(challenge, public_inputs, v, vk.domain_size)
    return Claims(T, U, v, r, v_p, in_domain)


def statement(
    challenge: Octets, public_inputs: Octets, v: Words, domain_size: int
) -> tuple[Words, Words, NDArray[np.bool_]]:
    """r = challenge mod r, v_p = (v + x_A(r))^2, and whether r is in H.  In: challenge (n, 64), any bytes.

    x_A(r) = sum_j x_j L_j(r) = Z(r)/N sum_j x_j w^j / (r - w^j), x_0 = 1.
    """
    n, n_public = public_inputs.shape[:2]
    wide = rows(np.ascontiguousarray(challenge).view(np.uint64), 2 * FR_WORDS)
    inputs, v = readable(public_inputs, WORD_BYTES), readable(v, WORD_BYTES)
    r, v_p, in_domain = np.empty((n, FR_WORDS), np.uint64), np.empty((n, FR_WORDS), np.uint64), np.zeros(n, np.bool_)
    body = _kernels()
    constants = _constants(body, domain_size, n_public)
    body.statement_many(
        r, v_p, in_domain, wide, place(inputs)[:2], n_public, place(v)[:2], domain_size, constants, body.room()
    )
    return r, v_p, in_domain


def _kernels() -> Any:
    return _bodies(cpu.vector())


@cache
def _bodies(vector: bool) -> Any:
    return import_module(".kernels.statement_lanes" if vector else ".kernels.statement", __package__)


@lru_cache(maxsize=64)
def _constants(body: Any, domain_size: int, n_public: int) -> Words:
    w = pow(FR_GENERATOR, (FR_MODULUS - 1) // domain_size, FR_MODULUS)
    powers = [pow(w, j, FR_MODULUS) for j in range(n_public + 1)]
    constants: Words = body.domain_constants(domain_size, powers)
    return constants


@dataclass(frozen=True, slots=True)
class Sums:
    """The three terms of a weighted sum, (12,) each, and whether the T and U that went in are known to lie in G1."""

    t: Words  # sum rho T
    u: Words  # - sum rho U
    rest: Words  # sum (rho r) U - (sum rho v) [alpha] - (sum rho v_p) [1]
    in_subgroup: bool

    def pairs(self, vk: VerifyingKey) -> list[tuple[Words, Words]]:
        """What the product of pairings is taken over."""
        _, delta, tau = _fixed_points(vk.alpha, vk.delta, vk.tau)
        return [(self.t, delta), (self.u, tau), (self.rest, one_words()[1])]


@lru_cache(maxsize=64)
def _fixed_points(alpha: G1, delta: G2, tau: G2) -> tuple[Words, Words, Words]:
    """alpha and [1] as (2, 12), delta and tau as (24,) words, read-only."""
    fixed = np.stack([alpha.to_words(), one_words()[0]]), delta.to_words(), tau.to_words()
    for words in fixed:
        words.flags.writeable = False
    return fixed


def sums(
    vk: VerifyingKey, c: Claims, weights: Words, *, in_g1: bool = False, test: bool = False, run: Run = map
) -> Sums:
    """sum weights_i proof_i.  In: weights (n, 4) below 2^128.

    in_g1: every T and U was seen to lie in G1.  test: see whether they do, by the bit planes of their sums; for random weights of 128
    bits, wrong with probability 2 2^-128.
    Cost: three sums of n multiples; with `test`, some 300 tests of membership besides.
    """
    alpha_and_one, _, _ = _fixed_points(vk.alpha, vk.delta, vk.tau)
    u_and_fixed = np.concatenate([c.U, alpha_and_one])
    of_t, of_u, rest = g1_sums(
        [c.T, u_and_fixed],
        [weights, weighted(c, weights)],
        [(0, 0), (1, 0), (1, 1)],
        planes=test,
        in_g1=in_g1,
        run=run,
    )
    shown = in_g1 or (test and _planes_in_subgroup([of_t, of_u], run))
    return Sums(of_t.total, negate_g1(of_u.total[None])[0], rest.total, shown)


def in_subgroup(c: Claims, weights: Words, *, run: Run = map) -> bool:
    """Whether every T and U lies in G1, as `sums` tests it.  Cost: two sums of n multiples, some 300 tests of membership."""
    return _planes_in_subgroup(g1_sums([c.T, c.U], [weights], [(0, 0), (1, 0)], planes=True, run=run), run)


def _planes_in_subgroup(sums: Sequence[G1Sum], run: Run) -> bool:
    """Every plane of every window by itself: their sum alone would show an order of 3 two times in three."""
    planes = np.concatenate([s.planes.reshape(-1, G1_AFFINE_WORDS) for s in sums])
    parts = run(in_g1_many, [planes[at] for at in blocks(len(planes), _PLANES_AT_ONCE)])
    return bool(np.concatenate(list(parts)).all())


def value(keys_and_sums: Sequence[tuple[VerifyingKey, Sums]]) -> Words:
    """The value of several sums together in GT, (72,): 1 if and only if the equation holds for all of them, added up.

    Cost: a pairing for each point of G2 that differs, at most 2 K + 1 for K keys; one last exponentiation.
    """
    return product(_joined([pair for vk, s in keys_and_sums for pair in s.pairs(vk)]))


def _joined(pairs: list[tuple[Words, Words]]) -> list[tuple[Words, Words]]:
    """e(P, Q) e(P', Q) = e(P + P', Q)."""
    of_q: dict[bytes, list[tuple[Words, Words]]] = {}
    for pair in pairs:
        of_q.setdefault(pair[1].tobytes(), []).append(pair)
    return [(g1_total([p for p, _ in equal]), equal[0][1]) for equal in of_q.values()]


def holds(vk: VerifyingKey, c: Claims, weights: Words) -> bool:
    """The equation of sum weights_i proof_i, whose points lie in G1.  In: weights (n, 4) below 2^128.

    Cost: three sums of n multiples, three pairings.
    One claim with a weight other than 0: exact.  More with random weights of 128 bits: wrong with probability 2^-128.
    """
    return product_is_one(sums(vk, c, weights, in_g1=True).pairs(vk))


def weighted(c: Claims, weights: Words) -> Words:
    """rho_i r_i, then - sum rho_i v_i and - sum rho_i v_p,i: the scalars of U, [alpha] and [1].

    In: weights (n, 4) below 2^128.  Out: (n + 2, 4) canonical.
    """
    out = np.empty((len(c) + 2, FR_WORDS), np.uint64)
    v = readable(c.v, WORD_BYTES)
    r, v_p, rho = (rows(a, FR_WORDS) for a in (c.r, c.v_p, weights))
    _kernels().weigh_many(out, rho, r, place(v)[:2], v_p)
    return out

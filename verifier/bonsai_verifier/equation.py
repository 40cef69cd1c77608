"""The equation of a proof, and of many at once.

One proof (T, U, v) of public inputs x, at its challenge r, with v_p = (v + x_A(r))^2:

    e(T, [delta]) = e(U, [tau] - r [1]) e(v [alpha] + v_p [1], [1])

so it is three terms of G1, one for each fixed point of G2, and a sum of proofs with weights rho has the same three:

    e(sum rho T, [delta])  e(- sum rho U, [tau])  e(sum (rho r) U - (sum rho v) [alpha] - (sum rho v_p) [1], [1])  =  1

A single proof is the sum of one, with weight 1.  Source: docs/protocol.md; ePrint 2024/1245 and 2025/1485.
"""

from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .curve import g1_sum, negate_g1, one_words
from .field import Octets, Words
from .kernels import cpu
from .kernels.fr import FR_WORDS
from .kernels.limbs import WORD_BYTES, place, readable, rows
from .pairing import product_is_one
from .parameters import FR_GENERATOR, FR_MODULUS
from .transcript import challenge_bytes_many
from .wire import VerifyingKey


@dataclass(frozen=True, slots=True)
class Claims:
    """n well-formed proofs with what the equation needs of each, row by row.  T, U affine points of G1."""

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


def holds(vk: VerifyingKey, c: Claims, weights: Words) -> bool:
    """The equation of sum weights_i proof_i.  In: weights (n, 4) below 2^128.  Cost: three sums of n multiples, three pairings.

    One claim with a weight other than 0: exact.  More with random weights of 128 bits: wrong with probability 2^-128.
    """
    one_1, one_2 = one_words()
    sum_t = g1_sum(c.T, weights)
    sum_u = g1_sum(c.U, weights)
    rest = g1_sum(np.concatenate([c.U, vk.alpha.to_words()[None], one_1[None]]), weighted(c, weights))
    return product_is_one([(sum_t, vk.delta.to_words()), (negate_g1(sum_u[None])[0], vk.tau.to_words()), (rest, one_2)])


def weighted(c: Claims, weights: Words) -> Words:
    """rho_i r_i, then - sum rho_i v_i and - sum rho_i v_p,i: the scalars of U, [alpha] and [1].

    In: weights (n, 4) below 2^128.  Out: (n + 2, 4) canonical.
    """
    out = np.empty((len(c) + 2, FR_WORDS), np.uint64)
    v = readable(c.v, WORD_BYTES)
    r, v_p, rho = (rows(a, FR_WORDS) for a in (c.r, c.v_p, weights))
    _kernels().weigh_many(out, rho, r, place(v)[:2], v_p)
    return out

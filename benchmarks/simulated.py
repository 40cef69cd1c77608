"""Valid proofs by the tens of thousands, by who knows the trapdoors: the simulator of docs/protocol.md ("Zero knowledge"), on arrays.

For a verifier they are proofs like any other: T, U, v have the very distribution that a prover gives them.  65,536 take seconds, not hours.
"""

from dataclasses import dataclass

import numpy as np

from bonsai_verifier.curve import G1, G2, encode_g1_many, one_words
from bonsai_verifier.equation import statement
from bonsai_verifier.field import (
    Octets,
    Words,
    fr_add,
    fr_from_canonical,
    fr_from_ints,
    fr_inv,
    fr_mul,
    fr_sub,
    fr_to_canonical,
    limbs_from_ints,
)
from bonsai_verifier.kernels.g2 import g2_mul_many
from bonsai_verifier.kernels.msm import g1_fixed_base_many
from bonsai_verifier.parameters import FR_MODULUS as R
from bonsai_verifier.transcript import challenge_bytes_many
from bonsai_verifier.wire import VerifyingKey

CONTEXT = np.zeros(32, np.uint8)


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A verifying key with the trapdoors it was made of, for measuring alone."""

    vk: VerifyingKey
    alpha: int
    tau: int
    delta: int


@dataclass(frozen=True, slots=True)
class Proofs:
    """n proofs and their public inputs as the verifier takes them: (n, 128) and (n, n_public, 32) uint8."""

    proofs: Octets
    public_inputs: Octets

    def __getitem__(self, rows: slice) -> "Proofs":
        return Proofs(self.proofs[rows], self.public_inputs[rows])


def known_key(circuit_digest: bytes, domain_size: int, n_public: int, rng: np.random.Generator) -> KnownKey:
    """A key of a circuit with this digest and shape; only its verifying half is made."""
    alpha, tau, delta = (int.from_bytes(rng.bytes(40), "little") % R for _ in range(3))
    one_1, one_2 = one_words()
    (alpha_1,) = g1_fixed_base_many(one_1, limbs_from_ints([alpha], 4))
    tau_2, delta_2 = g2_mul_many(one_2[None].copy(), limbs_from_ints([tau, delta], 4))
    points = G1.from_words(alpha_1), G2.from_words(tau_2), G2.from_words(delta_2)
    return KnownKey(VerifyingKey(circuit_digest, domain_size, n_public, *points, development=True), alpha, tau, delta)


def scalars(n: int, rng: np.random.Generator) -> Octets:
    """n random elements of Fr as (n, 32) bytes: below 2^254, which is below r."""
    out = rng.integers(0, 256, (n, 32), np.uint8)
    out[:, 31] &= 0x3F
    return out


def simulate(key: KnownKey, public_inputs: Octets, rng: np.random.Generator) -> Proofs:
    """A proof of each row of public_inputs (n, n_public, 32), true or not."""
    vk, n = key.vk, len(public_inputs)
    alpha, tau = fr_from_ints([key.alpha]), fr_from_ints([key.tau])
    y, v = (scalars(n, rng) for _ in range(2))
    tau_bytes = np.repeat(np.frombuffer(key.tau.to_bytes(64, "little"), np.uint8)[None], n, axis=0)
    _, y_p, _ = statement(tau_bytes, public_inputs, _words(y), vk.domain_size)  # (y + x_A(tau))^2
    delta_t = fr_add(fr_mul(fr_from_canonical(_words(y)), alpha), y_p)
    t_bytes = _multiples_of_one(fr_mul(delta_t, fr_from_ints([pow(key.delta, -1, R)])))
    challenge = challenge_bytes_many(vk.digest, CONTEXT, public_inputs, t_bytes)
    r, v_p, _ = statement(challenge, public_inputs, _words(v), vk.domain_size)
    top = fr_sub(fr_sub(delta_t, fr_mul(fr_from_canonical(_words(v)), alpha)), v_p)
    u_bytes = _multiples_of_one(fr_mul(top, fr_inv(fr_sub(np.repeat(tau, n, axis=0), r))))
    return Proofs(np.concatenate([t_bytes, u_bytes, v], axis=1), public_inputs)


def _words(x: Octets) -> Words:
    return x.view("<u8").astype(np.uint64, copy=False)


def _multiples_of_one(k: Words) -> Octets:
    return encode_g1_many(g1_fixed_base_many(one_words()[0], fr_to_canonical(k)))

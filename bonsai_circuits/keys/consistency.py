"""Is a proving key what its verifying key and the circuit say?  For keys that somebody else made.

The masks hide the witness only if every element of the key is right: the error of a wrong one shows in the proof, unmasked.  So a key
from elsewhere is checked once, completely, before the first proof (docs/protocol.md, section 3).
"""

import secrets

import numpy as np

from bonsai_verifier.curve import ONE_2, g1_sum, g1_total, negate_g1
from bonsai_verifier.field import Words, fr_from_canonical, fr_to_canonical, limbs_from_ints
from bonsai_verifier.pairing import product_is_one

from ..errors import KeyRefused
from ..kernels.sparse import sparse_rows
from ..r1cs.system import SparseRows, SquareR1CS
from .domain import Domain
from .proving_key import ProvingKey, check_multiples

_WEIGHT_BITS = 128


def check_proving_key(key: ProvingKey, square: SquareR1CS) -> None:
    """Every element is the multiple of the generator that the module proving_key states, for the tau, alpha and delta of the verifying key.

    Random combinations, each tested by one product of two pairings; a wrong key passes with probability below 2^-125.
      open_tau, open_alpha, quotient, mask   e(p_(i+1), [1]) = e(p_i, [tau])
      quotient_0, mask_0                     e(q, [delta]) = e([tau^N - 1], [1]), e(m, [delta]) = e([alpha tau^N - alpha], [1])
      commit_j                               e(c_j, [delta]) = e([alpha a_j(tau) + b_j(tau)], [1]), from the coefficients of a_j and b_j
    The multiples beside the points are made again and compared.
    Cost: a subgroup test a point, about seven sums over all points, 255 doublings a point.
    Raises KeyRefused, naming the part.  FileDamaged: a file that is not as written.
    """
    key.check_points()
    vk, n = key.verifying_key, key.domain_size
    one, tau, delta = ONE_2.to_words(), vk.tau.to_words(), vk.delta.to_words()

    def require(part: str, p: Words, at_p: Words, q: Words, at_q: Words) -> None:
        """e(p, at_p) = e(q, at_q)."""
        if not product_is_one([(p, at_p), (negate_g1(q[None])[0], at_q)]):
            raise KeyRefused(
                part, "does not fit the verifying key and the circuit: do not prove with it, get the key again"
            )

    parts = {"open_tau": key.open_tau, "open_alpha": key.open_alpha, "quotient": key.quotient, "mask": key.mask}
    for name, points in parts.items():
        weights = _weights(len(points) - 1)
        require(name, g1_sum(points[1:], weights), one, g1_sum(points[:-1], weights), tau)
    for name, first, powers in (("quotient", key.quotient[0], key.open_tau), ("mask", key.mask[0], key.open_alpha)):
        require(name, first, delta, _difference(powers[n], powers[0]), one)
    weights = _weights(key.n_private)
    domain = Domain(n)
    z = np.zeros((square.n_wires, 4), np.uint64)
    z[key.n_public + 1 :] = fr_from_canonical(weights)
    shares = [
        g1_sum(powers[:n], fr_to_canonical(domain.interpolate(_rows(matrix, z, n))))
        for matrix, powers in ((square.a, key.open_alpha), (square.b, key.open_tau))
    ]
    require("commit", g1_sum(key.commit, weights), delta, g1_total(shares), one)
    check_multiples(key)


def _weights(n: int) -> Words:
    return limbs_from_ints([secrets.randbits(_WEIGHT_BITS) for _ in range(n)], 4)


def _difference(p: Words, q: Words) -> Words:
    return g1_total([p, negate_g1(q[None])[0]])


def _rows(matrix: SparseRows, z: Words, n: int) -> Words:
    out = np.zeros((n, 4), np.uint64)
    sparse_rows(out[: matrix.n_rows], matrix.start, matrix.wire, matrix.coeff, z)
    return out

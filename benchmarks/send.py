"""The send relation from inputs to verdict on one core, beside arkworks (py_arkworks_bls12381) on the same points.

Peers: the verifier's equation with arkworks' decoding and pairings, and the prover's sums with arkworks' multiexponentiation.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from py_arkworks_bls12381 import GT, G1Point, G2Point, Scalar

from bonsai_circuits.keys.domain import Domain
from bonsai_circuits.pipeline import Circuit, build, write
from bonsai_circuits.prover import pari
from bonsai_circuits.relations.builtin import built_in
from bonsai_circuits.witness.inputs import read_inputs
from bonsai_circuits.witness.runner import run
from bonsai_verifier import decode_verifying_key, encode_verifying_key, verify, verify_batch
from bonsai_verifier.field import Words, fr_to_canonical, ints_from_limbs
from bonsai_verifier.kernels.g1 import g1_encode_many
from bonsai_verifier.kernels.msm import g1_msm
from bonsai_verifier.parameters import FR_MODULUS as R
from bonsai_verifier.transcript import challenge

from .measure import medians, report

PAYMENTS = Path(__file__).parents[1] / "examples" / "payments"
BATCH = 32
ROUNDS = 15


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), build(built_in("send", "poseidon", "wide")))
        circuit = Circuit.open(Path(folder))
        circuit.make_development_keys()
        _measure(circuit)


def _measure(circuit: Circuit) -> None:
    inputs = read_inputs(min(PAYMENTS.glob("*send*.json")))
    tape, key, square = circuit.tape, circuit.proving_key(), circuit.square
    vk = decode_verifying_key(encode_verifying_key(key.verifying_key), allow_development=True)
    witness = circuit.witness(inputs)
    public = [witness.public()[name] for name in tape.public]
    proofs = [circuit.prove(key, witness) for _ in range(BATCH)]
    proof = proofs[0]
    peer = _ArkworksVerifier(encode_verifying_key(vk))
    assert verify(vk, public, proof)
    assert peer.verify(vk.digest, public, proof)
    assert not peer.verify(vk.digest, [*public[:-1], public[-1] + 1], proof)

    n = len(key.t_points)
    scalars = np.resize(fr_to_canonical(witness.square()), (n, 4))
    peer_sum = _arkworks_sum(key.t_points, scalars)
    seconds = medians(
        {
            "witness": lambda: run(tape, inputs),
            "prove": lambda: pari.prove(key, square, run(tape, inputs).square()),
            "verify": lambda: verify(vk, public, proof),
            "verify, arkworks": lambda: peer.verify(vk.digest, public, proof),
            "batch": lambda: verify_batch(vk, proofs, [public] * BATCH),
            "sum": lambda: g1_msm(key.t_points, scalars),
            "sum, arkworks": peer_sum,
        },
        ROUNDS,
    )
    figures = {
        "send_prove_s": seconds["prove"],
        "send_verify_ms": 1e3 * seconds["verify"],
        "send_verify_vs_arkworks": seconds["verify"] / seconds["verify, arkworks"],
        "sum_vs_arkworks": seconds["sum"] / seconds["sum, arkworks"],
    }
    details = {
        "witness_ms": 1e3 * seconds["witness"],
        "batch_32_ms_a_proof": 1e3 * seconds["batch"] / BATCH,
        "verify_arkworks_ms": 1e3 * seconds["verify, arkworks"],
        "sum_points": n,
        "sum_ms": 1e3 * seconds["sum"],
        "sum_arkworks_ms": 1e3 * seconds["sum, arkworks"],
    }
    report("send", figures, details)


class _ArkworksVerifier:
    """The check of docs/protocol.md with arkworks' points: key decoded once, proof decoded and checked at every call."""

    def __init__(self, key: bytes) -> None:
        self.size = int.from_bytes(key[48:52], "little")
        self.alpha = G1Point.from_compressed_bytes(key[56:104])
        self.tau, self.delta = G2Point.from_compressed_bytes(key[104:200]), G2Point.from_compressed_bytes(key[200:])

    def verify(self, digest: bytes, public: list[int], proof: bytes) -> bool:
        def scalar(x: int) -> Scalar:
            return Scalar.from_le_bytes((x % R).to_bytes(32, "little"))

        t, u = G1Point.from_compressed_bytes(proof[:48]), G1Point.from_compressed_bytes(proof[48:96])
        v = int.from_bytes(proof[96:], "little")
        r = challenge(digest, bytes(32), [x.to_bytes(32, "little") for x in public], proof[:48])
        domain = Domain(self.size)
        w, z, x_a = domain.root, domain.vanishing(r), 0
        for j, x in enumerate([1, *public]):
            power = pow(w, j, R)
            x_a += x * power * pow(self.size * (r - power), -1, R)
        v_p = pow(v + x_a * z, 2, R)
        rest = u * scalar(r) - self.alpha * scalar(v) - G1Point() * scalar(v_p)
        return bool(GT.pairing_check([t, -u, rest], [self.delta, self.tau, G2Point()]))


def _arkworks_sum(points: Words, scalars: Words) -> Callable[[], object]:
    encoded = np.empty((len(points), 48), np.uint8)
    g1_encode_many(encoded, np.array(points))
    ark_points = [G1Point.from_compressed_bytes_unchecked(row.tobytes()) for row in encoded]
    ark_scalars = [Scalar.from_le_bytes(x.to_bytes(32, "little")) for x in ints_from_limbs(scalars)]
    return lambda: G1Point.multiexp_unchecked(ark_points, ark_scalars)

"""Verification of masked Pari proofs over BLS12-381, 128 bytes each, singly and in batches.

    vk = decode_verifying_key(open("send.vk", "rb").read())
    verify(vk, [A, com, com_new, rho, fee], proof)            True or False; WireError or InputError for what is no proof
    verify_batch(vk, proofs, public_inputs)                   Verdict(valid, bad, n): which proofs are bad, and why
    verify_batches([(vk, proofs, public_inputs), ...])        the verdicts of several keys, for one product of pairings
    verify_stream(vk, read_records("records", vk.n_public))   any number of proofs in bounded memory

bonsai_verifier.cluster has the same calls for a Dask cluster.  docs/verifier.md is the manual.

Malformed input is an error, a false proof is a verdict.  What is not imported from here is private.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import BonsaiError, CircuitMismatch, InputError, KeyRefused, WireError

if TYPE_CHECKING:
    from .batch import BadProof as BadProof
    from .batch import Verdict as Verdict
    from .batch import verify as verify
    from .batch import verify_batch as verify_batch
    from .batch import verify_batches as verify_batches
    from .curve import G1 as G1
    from .curve import G2 as G2
    from .stream import read_payloads as read_payloads
    from .stream import read_records as read_records
    from .stream import stream_verdicts as stream_verdicts
    from .stream import verify_stream as verify_stream
    from .wire import Payload as Payload
    from .wire import Proof as Proof
    from .wire import VerifyingKey as VerifyingKey
    from .wire import decode_payload as decode_payload
    from .wire import decode_proof as decode_proof
    from .wire import decode_verifying_key as decode_verifying_key
    from .wire import encode_payload as encode_payload
    from .wire import encode_proof as encode_proof
    from .wire import encode_verifying_key as encode_verifying_key
    from .wire import payload_public_inputs as payload_public_inputs
    from .wire import payload_rows as payload_rows

__version__ = "0.1.0"

# Opened at first use: the kernels pull in numba, which takes longer than the rest of a command line
_ROOMS = {
    "batch": ("BadProof", "Verdict", "verify", "verify_batch", "verify_batches"),
    "curve": ("G1", "G2"),
    "stream": ("read_payloads", "read_records", "stream_verdicts", "verify_stream"),
    "wire": (
        "Payload",
        "Proof",
        "VerifyingKey",
        "decode_payload",
        "decode_proof",
        "decode_verifying_key",
        "encode_payload",
        "encode_proof",
        "encode_verifying_key",
        "payload_public_inputs",
        "payload_rows",
    ),
}

__all__ = [
    "G1",
    "G2",
    "BadProof",
    "BonsaiError",
    "CircuitMismatch",
    "InputError",
    "KeyRefused",
    "Payload",
    "Proof",
    "Verdict",
    "VerifyingKey",
    "WireError",
    "__version__",
    "decode_payload",
    "decode_proof",
    "decode_verifying_key",
    "encode_payload",
    "encode_proof",
    "encode_verifying_key",
    "payload_public_inputs",
    "payload_rows",
    "read_payloads",
    "read_records",
    "stream_verdicts",
    "verify",
    "verify_batch",
    "verify_batches",
    "verify_stream",
]


def __getattr__(name: str) -> Any:
    for room, names in _ROOMS.items():
        if name in names:
            globals()[name] = value = getattr(import_module(f".{room}", __name__), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

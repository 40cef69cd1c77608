"""Fiat-Shamir: r = BLAKE3 in derive-key mode of (vk_digest, context, number of public inputs, public inputs, T), modulo r.

Every field has a fixed length but the public inputs, whose number stands before them: two different transcripts never give
the same bytes.
"""

import functools
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .kernels import blake3 as kernels
from .parameters import (
    CHALLENGE_BYTES,
    CHALLENGE_CONTEXT,
    CONTEXT_BYTES,
    DIGEST_BYTES,
    FR_MODULUS,
    G1_BYTES,
    SCALAR_BYTES,
)

Octets: TypeAlias = NDArray[np.uint8]
Buffer: TypeAlias = bytes | bytearray | memoryview | NDArray[Any]

_COUNT_BYTES = 4
_NOTHING = np.zeros(1, dtype=np.uint8)  # an address for no bytes
_IV = np.array(kernels.IV, dtype=np.uint32)


def blake3(data: Buffer, length: int = DIGEST_BYTES) -> bytes:
    """BLAKE3 of any bytes, read where they lie (mapped files too); `length` bytes of output, any number of them.

    Raises InputError: an array that is not C-contiguous, a negative length.
    """
    return _hash(_IV, data, length, 0)


def derive_key(context_string: str, material: Buffer, length: int = DIGEST_BYTES) -> bytes:
    """BLAKE3 in derive-key mode: an independent function of `material` for each context string.

    Raises InputError as blake3 does.
    """
    return _hash(_context_key(context_string), material, length, kernels.DERIVE_KEY_MATERIAL)


def derive_key_many(context_string: str, material: Octets) -> Octets:
    """derive_key of each row, 64 bytes of output.  In: (n, length) uint8.  Out: (n, 64) uint8.

    Raises InputError: another shape or type.
    """
    if material.ndim != 2 or material.dtype != np.uint8:
        raise InputError(
            "material", f"expected an (n, length) array of uint8, got {material.shape} of {material.dtype}"
        )
    rows = np.ascontiguousarray(material)
    out = np.empty((rows.shape[0], CHALLENGE_BYTES), dtype=np.uint8)
    key = _context_key(context_string)
    n, length = rows.shape
    kernels.hash_many_into(out.ctypes.data, key.ctypes.data, rows.ctypes.data, n, length, kernels.DERIVE_KEY_MATERIAL)
    return out


def challenge(vk_digest: bytes, context: bytes, public_inputs: Sequence[bytes] | Octets, t_bytes: bytes) -> int:
    """r in [0, FR_MODULUS) for one proof.

    In: vk_digest, context 32 bytes; public inputs 32 bytes each, as they stand on the wire (canonical: wire.py has checked); T 48 bytes.
    Raises InputError: a wrong length, naming the field.
    """
    inputs = [bytes(x) for x in public_inputs]
    for i, x in enumerate(inputs):
        _exactly(f"public_inputs[{i}]", x, SCALAR_BYTES)
    _exactly("vk_digest", vk_digest, DIGEST_BYTES)
    _exactly("context", context, CONTEXT_BYTES)
    _exactly("t_bytes", t_bytes, G1_BYTES)
    material = b"".join([vk_digest, context, _count(len(inputs)), *inputs, t_bytes])
    return int.from_bytes(derive_key(CHALLENGE_CONTEXT, material, CHALLENGE_BYTES), "little") % FR_MODULUS


def challenge_bytes_many(vk_digest: bytes, contexts: Octets, public_inputs: Octets, t_bytes: Octets) -> Octets:
    """The 64 bytes that `challenge` reduces, for n proofs under one key.

    In: contexts (n, 32) or (32,) for all; public inputs (n, n_public, 32); T (n, 48); all uint8.  Out: (n, 64) uint8.
    Raises InputError: a wrong shape or type, naming the field.
    """
    _exactly("vk_digest", vk_digest, DIGEST_BYTES)
    n = t_bytes.shape[0] if t_bytes.ndim else 0
    n_public = public_inputs.shape[1] if public_inputs.ndim == 3 else 0
    shapes = {
        "contexts": (contexts, (CONTEXT_BYTES,) if contexts.ndim == 1 else (n, CONTEXT_BYTES)),
        "public_inputs": (public_inputs, (n, n_public, SCALAR_BYTES)),
        "t_bytes": (t_bytes, (n, G1_BYTES)),
    }
    for name, (array, shape) in shapes.items():
        if array.shape != shape or array.dtype != np.uint8:
            raise InputError(name, f"expected {shape} of uint8, got {array.shape} of {array.dtype}")
    start = DIGEST_BYTES + CONTEXT_BYTES + _COUNT_BYTES
    end = start + SCALAR_BYTES * n_public
    material = np.empty((n, end + G1_BYTES), dtype=np.uint8)
    material[:, :DIGEST_BYTES] = np.frombuffer(vk_digest, dtype=np.uint8)
    material[:, DIGEST_BYTES : DIGEST_BYTES + CONTEXT_BYTES] = contexts
    material[:, start - _COUNT_BYTES : start] = np.frombuffer(_count(n_public), dtype=np.uint8)
    material[:, start:end] = public_inputs.reshape(n, end - start)
    material[:, end:] = t_bytes
    return derive_key_many(CHALLENGE_CONTEXT, material)


@functools.cache
def _context_key(context_string: str) -> NDArray[np.uint32]:
    key = _hash(_IV, context_string.encode(), DIGEST_BYTES, kernels.DERIVE_KEY_CONTEXT)
    return np.frombuffer(key, dtype="<u4")


def _hash(key: NDArray[np.uint32], data: Buffer, length: int, flags: int) -> bytes:
    if length < 0:
        raise InputError("length", f"expected a number of bytes, got {length}")
    view = data.data if isinstance(data, np.ndarray) else memoryview(data)
    if not view.c_contiguous:
        raise InputError("data", "expected a C-contiguous array; pass numpy.ascontiguousarray of it")
    octets = np.frombuffer(view, dtype=np.uint8) if view.nbytes else _NOTHING
    out = np.empty(max(length, 1), dtype=np.uint8)
    kernels.hash_into(out.ctypes.data, length, key.ctypes.data, octets.ctypes.data, view.nbytes, flags)
    return out[:length].tobytes()


def _count(n: int) -> bytes:
    return n.to_bytes(_COUNT_BYTES, "little")


def _exactly(name: str, value: bytes, length: int) -> None:
    if len(value) != length:
        raise InputError(name, f"expected {length} bytes, got {len(value)}")

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
from .field import Octets, Words
from .kernels import blake3 as kernels
from .kernels.limbs import place, readable, rows
from .parameters import (
    CHALLENGE_BYTES,
    CHALLENGE_CONTEXT,
    CONTEXT_BYTES,
    DIGEST_BYTES,
    FR_MODULUS,
    G1_BYTES,
    SCALAR_BYTES,
)

Buffer: TypeAlias = bytes | bytearray | memoryview | NDArray[Any]

_COUNT_BYTES = 4
_IV = np.array(kernels.IV, "<u4").view("<u8").astype(np.uint64)


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


def challenge(vk_digest: bytes, context: bytes, public_inputs: Sequence[bytes] | Octets, t_bytes: bytes) -> int:
    """r in [0, FR_MODULUS) for one proof.

    In: vk_digest, context 32 bytes; public inputs 32 bytes each, as they stand on the wire (canonical: wire.py has checked); T 48 bytes.
    Raises InputError: a wrong length, naming the field.
    """
    inputs = [_octets(f"public_inputs[{i}]", x, SCALAR_BYTES) for i, x in enumerate(public_inputs)]
    rows_of_one = np.array(inputs, np.uint8).reshape(1, len(inputs), SCALAR_BYTES)
    context_row, t_row = _octets("context", context, CONTEXT_BYTES), _octets("t_bytes", t_bytes, G1_BYTES)
    out = challenge_bytes_many(vk_digest, context_row, rows_of_one, t_row[None])
    return int.from_bytes(out.tobytes(), "little") % FR_MODULUS


def challenge_bytes_many(vk_digest: bytes, contexts: Octets, public_inputs: Octets, t_bytes: Octets) -> Octets:
    """The 64 bytes that `challenge` reduces, for n proofs under one key.

    In: contexts (n, 32) or (32,) for all; public inputs (n, n_public, 32); T (n, 48); all uint8.  Out: (n, 64) uint8.
    Raises InputError: a wrong shape or type, naming the field.
    """
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
    digest = _octets("vk_digest", vk_digest, DIGEST_BYTES)
    count = np.frombuffer(n_public.to_bytes(_COUNT_BYTES, "little"), np.uint8)
    return _derive_key_many(CHALLENGE_CONTEXT, n, [digest, contexts, count, public_inputs, t_bytes])


def _derive_key_many(context_string: str, n: int, fields: Sequence[Octets]) -> Octets:
    """derive_key of n messages, field after field.  In: fields (length,) for all, or (n, ...).  Out: (n, 64)."""
    fields = [np.ascontiguousarray(field)[None] if field.ndim == 1 else readable(field) for field in fields]
    where = [place(field) for field in fields]  # (address, stride, size); the stride of an added axis is 0
    length = sum(size for _, _, size in where)
    out, key = np.empty((n, CHALLENGE_BYTES), np.uint8), _context_key(context_string)
    if length <= kernels.CHUNK_BYTES:
        kernels.hash_many_into(
            out, key, np.array(where), kernels.DERIVE_KEY_MATERIAL, kernels.room_for_messages(length)
        )
        return out
    columns = [field.reshape(len(field), size) for field, (_, _, size) in zip(fields, where, strict=True)]
    material = np.concatenate([np.broadcast_to(column, (n, column.shape[1])) for column in columns], axis=1)
    messages = rows(material, length, np.uint8)  # numpy orders the sum of repeated rows as it likes
    kernels.hash_each_into(out, key, messages, kernels.DERIVE_KEY_MATERIAL, kernels.scratch(length))
    return out


@functools.cache
def _context_key(context_string: str) -> Words:
    key = _hash(_IV, context_string.encode(), DIGEST_BYTES, kernels.DERIVE_KEY_CONTEXT)
    return np.frombuffer(key, "<u8").astype(np.uint64)


def _hash(key: Words, data: Buffer, length: int, flags: int) -> bytes:
    if length < 0:
        raise InputError("length", f"expected a number of bytes, got {length}")
    view = data.data if isinstance(data, np.ndarray) else memoryview(data)
    if not view.c_contiguous:
        raise InputError("data", "expected a C-contiguous array; pass numpy.ascontiguousarray of it")
    octets = np.frombuffer(view.toreadonly(), np.uint8)
    # All that a verifier hashes is this short: the kernel of challenges does it, and no other need be compiled
    if len(octets) <= kernels.CHUNK_BYTES and length <= kernels.BLOCK_BYTES:
        block, fields = np.empty((1, kernels.BLOCK_BYTES), np.uint8), np.array([place(octets[None])])
        kernels.hash_many_into(block, key, fields, flags, kernels.room_for_messages(len(octets)))
        return block[0, :length].tobytes()
    out = np.empty(length, np.uint8)
    kernels.hash_into(out, key, octets, flags, kernels.scratch(len(octets)))
    return out.tobytes()


def _octets(name: str, value: Buffer, length: int) -> Octets:
    octets = np.frombuffer(value, np.uint8)
    if len(octets) != length:
        raise InputError(name, f"expected {length} bytes, got {len(octets)}")
    return octets

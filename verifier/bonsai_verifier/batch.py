"""From bytes to a verdict: one proof, or many with one key.

A batch draws a weight of 128 bits for each proof once all bytes are fixed, checks the weighted sum of all proofs (equation.py), and if
that fails looks for the bad ones by halves, with the same weights and what was computed for each proof.  No proof is called bad before it
failed alone, so a bad proof never spoils a good one.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import equation
from .errors import BonsaiError, InputError, WireError
from .field import Octets, Words
from .parameters import CONTEXT_BYTES, PROOF_BYTES, SCALAR_BYTES, WEIGHT_BITS
from .wire import Bytes, PublicInputs, VerifyingKey, decode_proofs, encode_public_inputs, exactly, which_canonical

Errors: TypeAlias = dict[int, BonsaiError]

NO_CONTEXT = bytes(CONTEXT_BYTES)
WEIGHT_BYTES = WEIGHT_BITS // 8
SINGLY_BELOW = 5  # proofs of a failing part that are verified one by one; larger parts are halved
DOES_NOT_HOLD = "proof: the equation does not hold"
IN_DOMAIN = "proof: the challenge lies in the domain"

_PROBES = 2  # weights drawn ahead and thrown away, to see a source that starts afresh at every call
_random_bytes = os.urandom


@dataclass(frozen=True, slots=True)
class BadProof:
    """Proof `index` of a batch and what is wrong: "proof.T: not on the curve", "public[2]: not in [0, r)", DOES_NOT_HOLD."""

    index: int
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """On n proofs: valid if none is bad.  So n = 0 is valid, though nothing was checked; ask for `n` where that matters.

    bool(verdict) is verdict.valid.
    """

    valid: bool
    bad: tuple[BadProof, ...]
    n: int

    def __bool__(self) -> bool:
        return self.valid


def verify(vk: VerifyingKey, public_inputs: PublicInputs, proof: Bytes, context: Bytes = NO_CONTEXT) -> bool:
    """Whether the 128 bytes prove the public inputs under the key, in this context.

    In: public_inputs integers in [0, r), or (n_public, 32) uint8; context the 32 bytes that the prover bound.
    Raises WireError: bytes that are no proof.  InputError: public inputs or a context that are none.
    """
    batch = _read(vk, [proof], [public_inputs], [context])
    for error in batch.errors.values():
        raise error
    return not batch.claims.in_domain[0] and equation.holds(vk, batch.claims, np.array([[1, 0, 0, 0]], np.uint64))


def verify_batch(
    vk: VerifyingKey,
    proofs: Sequence[Bytes] | Octets,
    public_inputs: Sequence[PublicInputs] | Octets,
    contexts: Bytes | Sequence[Bytes] | Octets = NO_CONTEXT,
    *,
    seed_for_tests: bytes | None = None,
) -> Verdict:
    """The verdict of n proofs under one key, equal to n calls of `verify` but with probability 2n 2^-128: then a bad one passes.

    In: proofs n times 128 bytes, or (n, 128) uint8; public_inputs n times what `verify` takes, or (n, n_public, 32) uint8; contexts 32
    bytes for all, or n times 32, or (n, 32) uint8.  A malformed proof, or public inputs that are none, are named in the verdict.
    seed_for_tests makes the weights predictable: who knows it beforehand can make false proofs that pass.  For tests only.
    Raises InputError: n differs between the arguments, an array of another shape, a random source that is none.
    Cost: three sums of n multiples and one product of three pairings; for each bad proof up to 2 log2(n) partial ones.
    """
    batch = _read(vk, proofs, public_inputs, contexts)
    weights = draw_weights(len(batch.claims), seed_for_tests)
    reasons = {i: str(error) for i, error in batch.errors.items()}
    reasons |= {int(batch.index[k]): IN_DOMAIN for k in np.flatnonzero(batch.claims.in_domain)}
    rest = np.flatnonzero(~batch.claims.in_domain)
    for k in _find_bad(vk, batch.claims[rest], weights[rest]):
        reasons[int(batch.index[rest[k]])] = DOES_NOT_HOLD
    return Verdict(not reasons, tuple(BadProof(i, reasons[i]) for i in sorted(reasons)), batch.n)


def draw_weights(n: int, seed_for_tests: bytes | None = None) -> Words:
    """n weights of 128 bits as (n, 4) words, from the operating system.

    Raises InputError: a zero or a repetition among them, which chance brings once in 2^97 batches of 65,536.
    """
    size = WEIGHT_BYTES * (n + _PROBES)
    if seed_for_tests is None:
        probe = _random_bytes(WEIGHT_BYTES * _PROBES)
        data = probe + _random_bytes(max(size - len(probe), len(probe)))
    else:
        data = hashlib.shake_256(seed_for_tests).digest(size)
    if len(data) < size:
        raise InputError("weights", f"the random source gave {len(data)} bytes of {size}: nothing was decided")
    halves = np.frombuffer(data, "<u8").astype(np.uint64).reshape(-1, 2)
    if not (halves[:, 0] | halves[:, 1]).all() or _has_repetition(halves):
        raise InputError("weights", "the random source gives zeros or repeats itself: nothing was decided; replace it")
    weights = np.zeros((n, 4), np.uint64)
    weights[:, :2] = halves[_PROBES : n + _PROBES]
    return weights


def _has_repetition(halves: Words) -> bool:
    low = np.sort(halves[:, 0])
    if not (low[1:] == low[:-1]).any():  # the fast answer
        return False
    return len(np.unique(halves, axis=0)) < len(halves)


def _find_bad(vk: VerifyingKey, claims: equation.Claims, weights: Words) -> Iterator[int]:
    """The rows whose own equation fails, by halves: a part whose sum holds is good.  None is named for another's failure.

    Sound by the weights: each of the at most 2n sums that are looked at hides a bad proof with probability 2^-128.
    Cost: at most 1 + log2(n) + 4 partial batches for one bad proof, 2 log2(n / k) or so for each of k, 1.5 n if all are bad: however
    the bad ones are placed.
    """

    def holds(start: int, end: int) -> bool:
        return equation.holds(vk, claims[start:end], weights[start:end])

    failing = [(0, len(claims))] if len(claims) and not holds(0, len(claims)) else []
    while failing:
        start, end = failing.pop()
        if end - start < SINGLY_BELOW:
            yield from (i for i in range(start, end) if not holds(i, i + 1))
            continue
        middle = (start + end) // 2
        left_holds = holds(start, middle)
        if left_holds or not holds(middle, end):  # where the left half holds, the right one fails
            failing.append((middle, end))
        if not left_holds:
            failing.append((start, middle))


# What came in ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Batch:
    """n proofs as copied bytes: what is wrong with the malformed ones, and the claims of the others, with their indices."""

    n: int
    errors: Errors
    index: NDArray[np.intp]
    claims: equation.Claims


def _read(
    vk: VerifyingKey,
    proofs: Sequence[Bytes] | Octets,
    public_inputs: Sequence[PublicInputs] | Octets,
    contexts: Bytes | Sequence[Bytes] | Octets,
) -> _Batch:
    n = len(proofs)
    if len(public_inputs) != n:
        raise InputError("public_inputs", f"{len(public_inputs)} for {n} proofs")
    context_rows = _context_rows(contexts, n)
    inputs, errors = _input_rows(public_inputs, vk.n_public)
    rows, wrong_lengths = _proof_rows(proofs)
    decoded = decode_proofs(rows)
    errors |= decoded.errors
    errors |= wrong_lengths
    good = np.array([i for i in range(n) if i not in errors], np.intp)
    claims = equation.claims(
        vk,
        context_rows if context_rows.ndim == 1 else context_rows[good],
        inputs[good],
        decoded.t_bytes[good],
        decoded.T[good],
        decoded.U[good],
        decoded.v[good],
    )
    return _Batch(n, errors, good, claims)


def _proof_rows(proofs: Sequence[Bytes] | Octets) -> tuple[Octets, Errors]:
    """n proofs -> (n, 128) bytes, a copy; rows of another length are zero and named."""
    if isinstance(proofs, np.ndarray):
        return _copy("proofs", proofs, (len(proofs), PROOF_BYTES)), {}
    if isinstance(proofs, bytes | bytearray | memoryview):
        raise InputError(
            "proofs", f"expected a list; of one buffer, numpy.frombuffer(..., 'u1').reshape(-1, {PROOF_BYTES})"
        )
    errors: Errors = {}
    rows = np.zeros((len(proofs), PROOF_BYTES), np.uint8)
    for i, proof in enumerate(proofs):
        try:
            rows[i] = np.frombuffer(exactly(proof, PROOF_BYTES, "proof"), np.uint8)
        except (InputError, WireError) as error:
            errors[i] = error
    return rows, errors


def _input_rows(public_inputs: Sequence[PublicInputs] | Octets, n_public: int) -> tuple[Octets, Errors]:
    """n times the public inputs -> (n, n_public, 32) bytes, a copy; rows that are none are zero and named."""
    errors: Errors = {}
    n = len(public_inputs)
    if isinstance(public_inputs, np.ndarray):
        rows = _copy("public_inputs", public_inputs, (n, n_public, SCALAR_BYTES))
        for i, j in np.argwhere(~which_canonical(rows)):
            errors.setdefault(int(i), InputError(f"public[{j}]", "not in [0, r)"))
        return rows, errors
    rows = np.zeros((n, n_public, SCALAR_BYTES), np.uint8)
    for i, values in enumerate(public_inputs):
        try:
            rows[i] = encode_public_inputs(values, n_public)
        except InputError as error:
            errors[i] = error
    return rows, errors


def _context_rows(contexts: Bytes | Sequence[Bytes] | Octets, n: int) -> Octets:
    """32 bytes for all -> (32,); n times 32 bytes -> (n, 32); a copy.  Raises InputError."""
    if isinstance(contexts, np.ndarray):
        return _copy("contexts", contexts, (CONTEXT_BYTES,) if contexts.ndim == 1 else (n, CONTEXT_BYTES))
    if isinstance(contexts, bytes | bytearray | memoryview):
        return np.frombuffer(_context(contexts, "context"), np.uint8)
    if len(contexts) != n:
        raise InputError("contexts", f"{len(contexts)} for {n} proofs")
    data = b"".join([_context(context, f"contexts[{i}]") for i, context in enumerate(contexts)])
    return np.frombuffer(data, np.uint8).reshape(n, CONTEXT_BYTES)


def _context(context: Bytes, name: str) -> bytes:
    try:
        return exactly(context, CONTEXT_BYTES, name)
    except WireError as error:  # not from the wire, but from the caller
        raise InputError(name, str(error).removeprefix(f"{name}: ")) from None


def _copy(name: str, array: Octets, shape: tuple[int, ...]) -> Octets:
    if array.dtype != np.uint8 or array.shape != shape:
        raise InputError(name, f"expected {shape} of uint8, got {array.shape} of {array.dtype}")
    return np.array(array, order="C")

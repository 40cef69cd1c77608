"""From bytes to a verdict: one proof, or many with one key or several.

A batch draws a weight of 128 bits for each proof once all bytes are fixed, checks the weighted sum of all proofs (equation.py), and if
that fails looks for the bad ones by halves, with the same weights and what was computed for each proof (search.py).  A proof is called bad
for its own failure alone, so a bad proof never spoils a good one.
"""

import hashlib
import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import equation
from .curve import PLANES_FROM
from .errors import BonsaiError, InputError, WireError
from .field import Octets, Words, fr_below
from .pairing import gt_div, gt_is_one
from .parameters import CONTEXT_BYTES, PROOF_BYTES, SCALAR_BYTES, WEIGHT_BITS
from .search import Group, Membership, Part, batch_cost, search
from .threads import Run, Workers, blocks, count, workers
from .wire import (
    Bytes,
    PublicInputs,
    VerifyingKey,
    decode_proofs,
    encode_public_inputs,
    exactly,
    proof_fault,
    subgroup_faults,
)

Errors: TypeAlias = dict[int, BonsaiError]
Proofs: TypeAlias = Sequence[Bytes | Octets] | Octets  # n times 128 bytes, or (n, 128) uint8
InputsOfProofs: TypeAlias = (
    Sequence[PublicInputs] | Octets
)  # n times the public inputs of a proof, or (n, n_public, 32) uint8
Contexts: TypeAlias = Bytes | Sequence[Bytes | Octets] | Octets  # 32 bytes for all, or n times 32, or (n, 32) uint8
Batch: TypeAlias = tuple[VerifyingKey, Proofs, InputsOfProofs] | tuple[VerifyingKey, Proofs, InputsOfProofs, Contexts]

NO_CONTEXT = bytes(CONTEXT_BYTES)
WEIGHT_BYTES = WEIGHT_BITS // 8
IN_DOMAIN = "proof: the challenge lies in the domain"
BLOCK = 4096  # rows that are read at a time at most: what a core's cache holds

_DRAW = 1 << 17  # bytes that are drawn at a time
_PROBES = 2  # weights drawn ahead and thrown away, to see a source that starts afresh at every call
_UNIT = np.array([[1, 0, 0, 0]], np.uint64)  # the weight of a proof alone
_random_bytes = os.urandom


@dataclass(frozen=True, slots=True)
class BadProof:
    """Proof `index` of a batch and what is wrong: "proof.T: not on the curve", "public[2]: not in [0, r)", DOES_NOT_HOLD."""

    index: int
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """On n proofs: valid if none is bad and none undecided.  So n = 0 is valid, though nothing was checked; ask for `n` where that matters.

    undecided: indices of proofs that a limited search did not come to; some of them are bad.  Without a limit there are none.
    bool(verdict) is verdict.valid.
    """

    valid: bool
    bad: tuple[BadProof, ...]
    n: int
    undecided: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return self.valid


def verify(vk: VerifyingKey, public_inputs: PublicInputs, proof: Bytes, context: Bytes = NO_CONTEXT) -> bool:
    """Whether the 128 bytes prove the public inputs under the key, in this context.

    In: public_inputs integers in [0, r), or (n_public, 32) uint8; context the 32 bytes that the prover bound.
    Raises WireError: bytes that are no proof.  InputError: public inputs or a context that are none.
    One row needs none of the tables of a batch; which fault is named of several is the same as there.
    """
    check_key(vk)
    context_row = np.frombuffer(_context(context, "context"), np.uint8)
    data = np.frombuffer(exactly(_octets(proof), PROOF_BYTES, "proof"), np.uint8)
    decoded = decode_proofs(data[None], subgroup=False)
    if fault := int(decoded.fault[0]):
        raise proof_fault(fault)
    inputs = encode_public_inputs(public_inputs, vk.n_public)[None]
    claim = equation.claims(vk, context_row, inputs, decoded.t_bytes, decoded.T, decoded.U, decoded.v)
    if claim.in_domain[0]:
        return False
    if fault := int(subgroup_faults(claim.T, claim.U)[0]):  # after all other faults
        raise proof_fault(fault)
    return equation.holds(vk, claim, _UNIT)


def verify_batch(
    vk: VerifyingKey,
    proofs: Proofs,
    public_inputs: InputsOfProofs,
    contexts: Contexts = NO_CONTEXT,
    *,
    threads: int = 1,
    search_limit: float | None = None,
    seed_for_tests: bytes | None = None,
) -> Verdict:
    """The verdict of n proofs under one key, equal to n calls of `verify` but with probability 6n 2^-128: then a bad one passes.

    In: proofs n times 128 bytes, or (n, 128) uint8; public_inputs n times what `verify` takes, or (n, n_public, 32) uint8; contexts 32
    bytes for all, or n times 32, or (n, 32) uint8.  A malformed proof, or public inputs that are none, are named in the verdict.
    threads: 0 for one a core.  The verdict does not depend on it.
    search_limit: what the search for bad proofs may cost at most, in costs of a good batch of this size; None names every bad proof.  With
    1, nobody makes a batch cost more than twice that; proofs it did not come to are `undecided`.
    seed_for_tests makes the weights predictable: who knows it beforehand can make false proofs that pass.  For tests only.
    Raises InputError: n differs between the arguments, an array of another shape, a random source that is none.
    Cost: three sums of n multiples and one product of three pairings; for k bad proofs k log2(n / k) + k partial batches.
    """
    check_options(threads, search_limit, seed_for_tests)
    with workers(threads) as run:
        return _verdicts([_read(vk, proofs, public_inputs, contexts, run)], search_limit, seed_for_tests, run)[0]


def verify_batches(
    batches: Sequence[Batch],
    *,
    threads: int = 1,
    search_limit: float | None = None,
    seed_for_tests: bytes | None = None,
) -> list[Verdict]:
    """The verdicts of several batches, each with a key of its own, for the price of one product of pairings.

    In: for each batch what `verify_batch` takes: (vk, proofs, public_inputs) or (vk, proofs, public_inputs, contexts).
    threads, search_limit, seed_for_tests, Raises: as verify_batch; the limit is on all searches together, not on the products that tell
    K failing batches apart, and an InputError says which batch it is about.
    Cost: three sums a batch; 2 K + 1 pairings for K keys, fewer where keys share tau; K - 1 more products if not all of K batches are good,
    each as dear as 100 proofs: join batches of one key.
    """
    check_options(threads, search_limit, seed_for_tests)
    if not isinstance(batches, Iterable):
        raise InputError("batches", f"expected a list of batches, got {type(batches).__name__}")
    with workers(threads) as run:
        read = [_read_named(f"batches[{i}]", batch, run) for i, batch in enumerate(batches)]
        return _verdicts(read, search_limit, seed_for_tests, run)


def _read_named(name: str, batch: Batch, run: Workers) -> "_Read":
    if not isinstance(batch, tuple | list):
        raise InputError(name, f"expected (vk, proofs, public_inputs), got {type(batch).__name__}")
    if not 3 <= len(batch) <= 4:
        raise InputError(name, f"expected (vk, proofs, public_inputs) and perhaps contexts, got {len(batch)} values")
    vk, proofs, public_inputs = batch[:3]
    try:
        return _read(vk, proofs, public_inputs, batch[3] if len(batch) == 4 else NO_CONTEXT, run)
    except InputError as error:
        raise InputError(f"{name}.{error.field}", str(error).removeprefix(f"{error.field}: ")) from None


def check_options(threads: int, search_limit: float | None, seed_for_tests: bytes | None) -> None:
    """The options of a call, before anything else is looked at.  Raises InputError."""
    count(threads)
    if search_limit is not None and not _is_limit(search_limit):
        raise InputError("search_limit", "expected a number from 0 on, such as 1.5, or None for no limit")
    if not isinstance(seed_for_tests, bytes | None):
        raise InputError("seed_for_tests", f"expected bytes or None, got {type(seed_for_tests).__name__}")


def _is_limit(x: object) -> bool:
    if not isinstance(x, Real) or isinstance(x, bool):
        return False
    try:
        return 0 <= float(x) < math.inf
    except OverflowError:
        return False


def _verdicts(read: list["_Read"], search_limit: float | None, seed_for_tests: bytes | None, run: Run) -> list[Verdict]:
    sizes = [len(r.claims) for r in read]
    weights = np.split(draw_weights(sum(sizes), seed_for_tests, run), np.cumsum(sizes)[:-1]) if read else []
    groups = [Group(r.vk, r.claims, w) for r, w in zip(read, weights, strict=True)]
    parts = _failing_parts(groups, [r.subgroup_seen for r in read], run)
    limit = None if search_limit is None else float(search_limit) * batch_cost(sum(sizes))
    found = search(groups, parts, limit, _source(seed_for_tests), run)
    reasons = [r.reasons() for r in read]
    undecided: list[list[int]] = [[] for _ in read]
    for group, row, reason in found.bad:
        reasons[group][int(read[group].index[row])] = reason
    for group, rows in found.undecided:
        undecided[group] += read[group].index[rows].tolist()
    return [
        Verdict(not bad and not left, tuple(BadProof(i, bad[i]) for i in sorted(bad)), r.n, tuple(sorted(left)))
        for r, bad, left in zip(read, reasons, undecided, strict=True)
    ]


def _failing_parts(groups: list[Group], subgroup_seen: list[bool], run: Run) -> list[Part]:
    """Each group as one part, or nothing if all hold."""
    sums = [
        equation.sums(g.vk, g.claims, g.weights, in_g1=seen, test=not seen, run=run)
        for g, seen in zip(groups, subgroup_seen, strict=True)
    ]
    whole = equation.value([(g.vk, s) for g, s in zip(groups, sums, strict=True)])
    if gt_is_one(whole) and all(s.in_subgroup for s in sums):
        return []
    values = []
    for g, s in zip(groups[:-1], sums[:-1], strict=True):
        values.append(whole if gt_is_one(whole) else equation.value([(g.vk, s)]))
    last = whole
    for value in values:
        last = gt_div(last, value)
    return [
        Part(i, np.arange(len(g.claims)), value, Membership.SHOWN if s.in_subgroup else Membership.REFUTED)
        for i, (g, value, s) in enumerate(zip(groups, [*values, last], sums, strict=True))
    ]


def draw_weights(n: int, seed_for_tests: bytes | None = None, run: Run = map) -> Words:
    """n weights of 128 bits as (n, 4) words, from the operating system.

    Raises InputError: a zero or a repetition among them, which chance brings once in 2^97 batches of 65,536.
    """
    size = WEIGHT_BYTES * (n + _PROBES)
    if seed_for_tests is None:
        probe = _random_bytes(WEIGHT_BYTES * _PROBES)
        data = b"".join([probe, *run(_random_bytes, _draws(max(size - len(probe), len(probe))))])
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


def _draws(size: int) -> list[int]:
    """So many bytes in parts that threads may draw."""
    return [part.stop - part.start for part in blocks(size, _DRAW)]


def _has_repetition(halves: Words) -> bool:
    low = np.sort(halves[:, 0])
    if not (low[1:] == low[:-1]).any():  # the fast answer
        return False
    return len(np.unique(halves, axis=0)) < len(halves)


def _source(seed_for_tests: bytes | None) -> Callable[[int], bytes]:
    """Random bytes that decide nothing but the order of a limited search."""
    if seed_for_tests is None:
        return _random_bytes
    asked = 0

    def repeatable(n: int) -> bytes:
        nonlocal asked
        asked += 1
        return hashlib.shake_256(seed_for_tests + asked.to_bytes(8, "little")).digest(n)

    return repeatable


# What came in ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Read:
    """n proofs as copied bytes: what is wrong with the malformed ones, and the claims of the others, with their indices."""

    vk: VerifyingKey
    n: int
    wrong_lengths: Errors
    proof_fault: Octets  # (n,)
    no_inputs: Errors
    wrong_input: NDArray[np.int64]  # (n,), the first that is not below r, or -1
    in_domain: NDArray[np.bool_]  # (n,)
    subgroup_seen: bool  # the points of the claims were tested one by one
    fine: NDArray[np.bool_]  # (n,), those that have a claim
    index: NDArray[np.intp]  # of the claims
    claims: equation.Claims

    def reasons(self) -> dict[int, str]:
        """By row, why it has no claim."""
        if len(self.index) == self.n:
            return {}
        listed = {i: str(self.error(i)) for i in (*self.no_inputs, *self.wrong_lengths)}
        others = ~self.fine
        others[list(listed)] = False
        rows = np.flatnonzero(others)
        kind = np.where(self.proof_fault[rows], self.proof_fault[rows].astype(np.int64), -1 - self.wrong_input[rows])
        _, first, which = np.unique(kind, return_index=True, return_inverse=True)  # a text a kind, not a row
        texts = [str(self.error(int(rows[i])) or IN_DOMAIN) for i in first]
        return {i: texts[k] for i, k in zip(rows.tolist(), which.tolist(), strict=True)} | listed

    def error(self, i: int) -> BonsaiError | None:
        """What is malformed in row i: of several faults the first in the proof, else the first in the public inputs.

        The subgroup comes after both, in batches of every size: only rows without another fault are tested for it.
        """
        if i in self.wrong_lengths:
            return self.wrong_lengths[i]
        if fault := int(self.proof_fault[i]):
            return proof_fault(fault)
        if i in self.no_inputs:
            return self.no_inputs[i]
        j = int(self.wrong_input[i])
        return InputError(f"public[{j}]", "not in [0, r)") if j >= 0 else None


def _read(
    vk: VerifyingKey,
    proofs: Proofs,
    public_inputs: InputsOfProofs,
    contexts: Contexts,
    run: Workers,
) -> _Read:
    check_key(vk)
    n = how_many("proofs", proofs)
    if how_many("public_inputs", public_inputs) != n:
        raise InputError("public_inputs", f"{len(public_inputs)} for {n} proofs")
    context_rows = _context_rows(contexts, n)
    input_rows, no_inputs = _input_rows(public_inputs, vk.n_public)
    proof_rows, wrong_lengths = _proof_rows(proofs)
    common = np.array(context_rows) if context_rows.ndim == 1 else None
    subgroup_seen = n < PLANES_FROM
    claims, faults, wrong_input = equation.Claims.room(n), np.empty(n, np.uint8), np.empty(n, np.int64)
    fine, in_domain = np.ones(n, np.bool_), np.empty(n, np.bool_)
    fine[[*no_inputs, *wrong_lengths]] = False

    def read(at: slice) -> None:
        """Copies, so from here on nobody else's bytes."""
        inputs, data = np.array(input_rows[at], order="C"), np.array(proof_rows[at], order="C")
        context_of = common if common is not None else np.array(context_rows[at], order="C")
        decoded = decode_proofs(data, subgroup=False)
        canonical = fr_below(inputs)
        faults[at] = decoded.fault
        wrong_input[at] = -1
        if not canonical.all():
            wrong_input[at] = np.where(canonical.all(axis=1), -1, canonical.argmin(axis=1))
            inputs[~canonical] = 0  # what is malformed goes on as zeros, and is left out in the end
        if decoded.fault.any():
            decoded.v[decoded.fault != 0] = 0
        part = equation.claims(vk, context_of, inputs, decoded.t_bytes, decoded.T, decoded.U, decoded.v)
        fine[at] &= (faults[at] == 0) & (wrong_input[at] < 0)
        in_domain[at] = part.in_domain & fine[at]
        fine[at] &= ~in_domain[at]
        if subgroup_seen:
            whole = fine[at]
            faults[at][whole] = subgroup_faults(part.T[whole], part.U[whole])
            whole &= faults[at] == 0
        claims[at] = part

    list(run(read, run.shares(n, BLOCK)))
    index = np.flatnonzero(fine)
    return _Read(
        vk,
        n,
        wrong_lengths,
        faults,
        no_inputs,
        wrong_input,
        in_domain,
        subgroup_seen,
        fine,
        index,
        claims if len(index) == n else claims[index],
    )


def check_key(vk: object) -> None:
    """Raises InputError: not a key."""
    if not isinstance(vk, VerifyingKey):
        raise InputError("vk", f"expected a VerifyingKey, as decode_verifying_key gives it, got {type(vk).__name__}")


def how_many(name: str, rows: object) -> int:
    """Rows of a list or an array.  Raises InputError: of something else."""
    if isinstance(rows, np.ndarray):
        if not rows.ndim:
            raise InputError(name, "expected a row each, got an array without dimensions")
    elif isinstance(rows, bytes | bytearray | memoryview):
        raise InputError(name, "expected a list; of one buffer, numpy.frombuffer(..., 'u1').reshape(n, -1)")
    elif isinstance(rows, str) or not isinstance(rows, Sequence):
        raise InputError(name, f"expected a list or an array, got {type(rows).__name__}")
    return len(rows)


def _octets(row: object) -> Any:
    """A row of uint8 as bytes; anything else as it is."""
    return row.tobytes() if isinstance(row, np.ndarray) and row.dtype == np.uint8 and row.ndim == 1 else row


def _proof_rows(proofs: Proofs) -> tuple[Octets, Errors]:
    """n proofs -> (n, 128) bytes; rows of another length are zero and named."""
    if isinstance(proofs, np.ndarray):
        return _rows("proofs", proofs, (len(proofs), PROOF_BYTES)), {}
    errors: Errors = {}
    rows = np.zeros((len(proofs), PROOF_BYTES), np.uint8)
    for i, proof in enumerate(proofs):
        try:
            rows[i] = np.frombuffer(exactly(_octets(proof), PROOF_BYTES, "proof"), np.uint8)
        except (InputError, WireError) as error:
            errors[i] = error
    return rows, errors


def _input_rows(public_inputs: InputsOfProofs, n_public: int) -> tuple[Octets, Errors]:
    """n times the public inputs -> (n, n_public, 32) bytes; of a list, rows that are none are zero and named."""
    n = len(public_inputs)
    if isinstance(public_inputs, np.ndarray):
        return _rows("public_inputs", public_inputs, (n, n_public, SCALAR_BYTES)), {}
    errors: Errors = {}
    rows = np.zeros((n, n_public, SCALAR_BYTES), np.uint8)
    for i, values in enumerate(public_inputs):
        try:
            rows[i] = encode_public_inputs(values, n_public)
        except InputError as error:
            errors[i] = error
    return rows, errors


def _context_rows(contexts: Contexts, n: int) -> Octets:
    """32 bytes for all -> (32,); n times 32 bytes -> (n, 32).  Raises InputError."""
    if isinstance(contexts, np.ndarray):
        return _rows("contexts", contexts, (CONTEXT_BYTES,) if contexts.ndim == 1 else (n, CONTEXT_BYTES))
    if isinstance(contexts, bytes | bytearray | memoryview):
        return np.frombuffer(_context(contexts, "context"), np.uint8)
    if how_many("contexts", contexts) != n:
        raise InputError("contexts", f"{len(contexts)} for {n} proofs")
    data = b"".join([_context(context, f"contexts[{i}]") for i, context in enumerate(contexts)])
    return np.frombuffer(data, np.uint8).reshape(n, CONTEXT_BYTES)


def _context(context: Bytes | Octets, name: str) -> bytes:
    try:
        return exactly(_octets(context), CONTEXT_BYTES, name)
    except WireError as error:  # not from the wire, but from the caller
        raise InputError(name, str(error).removeprefix(f"{name}: ")) from None


def _rows(name: str, array: Octets, shape: tuple[int, ...]) -> Octets:
    if array.dtype != np.uint8 or array.shape != shape:
        raise InputError(name, f"expected {shape} of uint8, got {array.shape} of {array.dtype}")
    return array

"""Masked Pari: the proof (T, U, v) of docs/protocol.md, section "Prove", by its steps.

The polynomials and their transforms are those of polynomial.py.  An attempt shares no array with another.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from secrets import randbelow
from typing import TypeAlias

import numpy as np

from bonsai_verifier.batch import verify
from bonsai_verifier.curve import encode_g1_many
from bonsai_verifier.field import Octets, Words, fr_from_ints, fr_is_canonical, fr_to_canonical
from bonsai_verifier.parameters import CONTEXT_BYTES, FR_MODULUS, SCALAR_BYTES
from bonsai_verifier.threads import Workers, call, workers
from bonsai_verifier.transcript import challenge, derive_key

from ..errors import CircuitMismatch, InputError, KeyRefused, Unsatisfied, WireError
from ..keys.domain import Domain
from ..keys.proving_key import ProvingKey, T, U
from ..keys.setup import require_outlined
from ..r1cs.system import SquareR1CS
from .polynomial import ProofPolynomials

R = FR_MODULUS
MASKS_CONTEXT = "bonsai-circuits 2026-11-30 masked Pari masks v1"
_WIDE_BYTES = 64  # reduced modulo r: below 2^-256 from uniform
_COUNT_BYTES = 4
STEPS = "key", "rows", "transforms", "T", "challenge", "U", "verify"
Timings: TypeAlias = dict[str, float]


def prove(
    key: ProvingKey,
    square: SquareR1CS,
    assignment: Words,
    context: bytes = bytes(CONTEXT_BYTES),
    *,
    threads: int = 1,
    timings: Timings | None = None,
    check: Callable[[], object] = lambda: None,
    on_step: Callable[[str], object] = lambda name: None,
) -> bytes:
    """The 128 bytes T | U | v that prove the assignment's public inputs, with masks made for this proof alone.

    In: assignment (n_wires, 4) in Montgomery form, z_0 = 1, copied first; context, 32 bytes that the proof is bound to; threads, 0 for
    one each core; check, called beside the rows, and what it raises comes before what they say.
    on_step is called with the name of each of STEPS as it begins, timings receives the seconds of each: "key" is what the first proof
    with it takes, "rows" also the masks and `check`, "challenge" also v and the quotients by X - r.
    Calls from several threads share the key, and nothing else.
    No proof is handed out that does not verify: under a wrong key it would be false, and tell of the witness what the masks should hide.
    Not constant time: see SECURITY.md.
    Raises Unsatisfied: a row fails.  InputError: a wrong shape or value, a random source that repeats itself.  CircuitMismatch: the key
    is for another system.  FileDamaged, KeyRefused: see ProvingKey.points.
    """
    try:
        with workers(threads) as run:
            require_outlined(square)
            assignment = np.array(assignment, order="C")
            _require_fitting(key, square, assignment, context)
            return _prove(key, square, assignment, context, check, run, _Steps(timings, on_step))
    except BaseException as error:
        # The frames below hold the witness and masks, and this one its copy: a traceback that shows locals must not see them.
        del assignment
        raise error.with_traceback(None) from None


def _prove(
    key: ProvingKey,
    square: SquareR1CS,
    assignment: Words,
    context: bytes,
    check: Callable[[], object],
    run: Workers,
    step: "_Steps",
) -> bytes:
    with step("key"):
        key.points()
    public_inputs = _octets(fr_to_canonical(assignment[1 : key.n_public + 1]))
    proof, attempt = None, 0
    bound = key.verifying_key.digest + context + assignment.tobytes()
    while proof is None:
        masks = partial(fresh_masks, attempt.to_bytes(_COUNT_BYTES, "little") + bound)
        proof = _attempt(key, square, assignment, masks, public_inputs, context, check, run, step)
        attempt += 1
    with step("verify"):
        if not _verifies(key, public_inputs, proof, context):
            raise KeyRefused(
                "proving key", "a proof made with it does not verify, so it is not what it says; get the key again"
            )
    return proof


def fresh_masks(bound: bytes) -> tuple[int, int]:
    """s0, s1: drawn, plus a hash of `bound`, which is everything that the proof is of: witness, context, key, number of the attempt.

    If the source is uniform, so are the masks, exactly: what is added does not depend on what was drawn.  If it repeats itself, as that
    of a machine which was cloned or set back does, proofs of different witnesses or contexts still have different masks, secret as the
    witness's blindings are.  Nothing is drawn again because of its value (docs/protocol.md, section 9).
    Raises InputError: two values that are thrown away are equal, so the source starts afresh at every call.
    """
    if randbelow(R) == randbelow(R):
        raise InputError("masks", "the random source repeats itself: nothing was proved; replace it")
    hedge = derive_key(MASKS_CONTEXT, bound, 2 * _WIDE_BYTES)
    s0, s1 = (
        (randbelow(R) + int.from_bytes(half, "little")) % R for half in (hedge[:_WIDE_BYTES], hedge[_WIDE_BYTES:])
    )
    return s0, s1


def _attempt(
    key: ProvingKey,
    square: SquareR1CS,
    assignment: Words,
    new_masks: Callable[[], tuple[int, int]],
    public_inputs: Octets,
    context: bytes,
    check: Callable[[], object],
    run: Workers,
    step: "_Steps",
) -> bytes | None:
    """Steps 1 to 6 with new masks; None if the challenge lies in H or a point is infinite: start again, output nothing."""
    domain, points, threads = Domain(key.domain_size), key.points(), run.threads
    with step("rows"):
        polynomials = ProofPolynomials(domain, key.n_private)
        shares = [partial(polynomials.rows, square, assignment, at) for at in run.shares(domain.size, domain.size)]
        _, masks, *found = run(call, [check, new_masks, *shares])  # long ones first
        if failed := [row for row in found if row >= 0]:
            raise Unsatisfied(f"row {failed[0]}", "the assignment does not satisfy it: <A, z>^2 is not <B, z>")
    with step("transforms"):
        # 1. a'(X) = a_w(X) + m(X) Z(X), m = s0 + s1 X
        # 2. q(X) = h(X) + 2 a(X) m(X) + m(X)^2 Z(X),   p(X) = b(X) + q(X) Z(X) = (a'(X) + x_A(X))^2
        scalars = polynomials.commit(assignment, masks, run)
    with step("T"):
        # 3. T = [(alpha a'(tau) + p(tau)) / delta]
        t = points.sum(T, scalars, jobs=threads, run=run)
    with step("challenge"):
        # 4. r = H(verifying-key digest, context, public inputs, T)
        r = challenge(key.verifying_key.digest, context, public_inputs, _encode(t))
        if domain.contains(r):
            return None
        # 5. v = a'(r)
        scalars, v = polynomials.open(r)
    with step("U"):
        # 6. U = [ (alpha (a'(X) - v) + (p(X) - p(r))) / (X - r) at X = tau ]
        u = points.sum(U, scalars, jobs=threads, run=run)
    if not t.any() or not u.any():
        return None
    return _encode(t) + _encode(u) + v.to_bytes(SCALAR_BYTES, "little")


def _verifies(key: ProvingKey, public_inputs: Octets, proof: bytes, context: bytes) -> bool:
    try:
        return verify(key.verifying_key, public_inputs, proof, context)
    except WireError:  # a point outside the subgroup
        return False


def _encode(point: Words) -> bytes:
    return encode_g1_many(point[None]).tobytes()


def _octets(x: Words) -> Octets:
    """(n, 4) canonical -> (n, 32), little-endian."""
    return x.astype("<u8").view(np.uint8).reshape(len(x), SCALAR_BYTES)


def _require_fitting(key: ProvingKey, square: SquareR1CS, assignment: Words, context: bytes) -> None:
    found = len(square.public), square.n_wires - len(square.public) - 1
    if found != (key.n_public, key.n_private) or square.n_rows > key.domain_size:
        raise CircuitMismatch(
            "proving key",
            f"the key of the circuit {key.circuit_digest.hex()} is for {key.n_public} public and {key.n_private} private wires in at "
            f"most {key.domain_size} rows, the system has {found[0]} and {found[1]} in {square.n_rows}",
        )
    if assignment.shape != (square.n_wires, 4) or assignment.dtype != np.uint64 or not assignment.flags.c_contiguous:
        raise InputError(
            "assignment", f"expected ({square.n_wires}, 4) contiguous uint64, got {assignment.shape} {assignment.dtype}"
        )
    if not fr_is_canonical(assignment).all():
        raise InputError("assignment", "a value is not below r")
    if not np.array_equal(assignment[0], fr_from_ints([1])[0]):
        raise InputError("assignment", "wire 0 must be one")
    if len(context) != CONTEXT_BYTES:
        raise InputError("context", f"expected {CONTEXT_BYTES} bytes, got {len(context)}")


@dataclass(frozen=True, slots=True)
class _Steps:
    """with step(name): says that it begins, and how long it took."""

    timings: Timings | None
    on_step: Callable[[str], object]

    def __call__(self, name: str) -> AbstractContextManager[None]:
        self.on_step(name)
        return timed(self.timings, name)


@contextmanager
def timed(timings: Timings | None, name: str) -> Iterator[None]:
    """Adds the seconds of the block to timings[name]."""
    start = time.perf_counter()
    yield
    if timings is not None:
        timings[name] = timings.get(name, 0.0) + time.perf_counter() - start

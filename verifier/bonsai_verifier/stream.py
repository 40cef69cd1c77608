"""Any number of proofs in bounded memory: chunks of an iterator, or of files, each verified as a batch of its own.

    verify_stream(vk, read_records("records", vk.n_public))           records: public inputs, then the proof
    verify_stream(vk, read_payloads("payloads", com, fee, "op"))      payloads of 256 bytes, beside them what the ledger knows

Files are read, not mapped: a mapped file that somebody cuts kills the process.  A chunk's bytes are copied before its weights are drawn,
and a file that is shorter, longer, newer or another at the end than it was at the start is an error.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import TypeAlias

import numpy as np

from .batch import (
    NO_CONTEXT,
    BadProof,
    Contexts,
    InputsOfProofs,
    Proofs,
    Verdict,
    check_options,
    how_many,
    verify_batch,
)
from .errors import InputError, WireError
from .field import Octets
from .parameters import PAYLOAD_BYTES, PROOF_BYTES, SCALAR_BYTES
from .threads import is_count
from .wire import Bytes, Fees, VerifyingKey, check_fee, payload_public_inputs

# (proofs, public inputs) as verify_batch takes them, or with contexts as third
Chunk: TypeAlias = tuple[Proofs, InputsOfProofs] | tuple[Proofs, InputsOfProofs, Contexts]
Commitments: TypeAlias = Octets | Callable[[Octets], Octets]

CHUNK = 1 << 16  # proofs: larger batches cost the same a proof, and more memory
CHUNK_BYTES = (
    1 << 26
)  # of records that are read at once, so fewer than CHUNK of more than 28 public inputs; one at least


def verify_stream(
    vk: VerifyingKey,
    chunks: Iterable[Chunk],
    context: Bytes = NO_CONTEXT,
    *,
    threads: int = 1,
    search_limit: float | None = None,
    seed_for_tests: bytes | None = None,
) -> Verdict:
    """The verdict on all proofs of all chunks; indices count from the first.  Errors of the iterator are raised: then there is no verdict.

    In: chunks, see Chunk; context stands for those without contexts; the rest as verify_batch, the limit for each chunk.
    Memory: that of a batch of 65,536, and the bad proofs named.
    """
    return merged(
        stream_verdicts(vk, chunks, context, threads=threads, search_limit=search_limit, seed_for_tests=seed_for_tests)
    )


def stream_verdicts(
    vk: VerifyingKey,
    chunks: Iterable[Chunk],
    context: Bytes = NO_CONTEXT,
    *,
    threads: int = 1,
    search_limit: float | None = None,
    seed_for_tests: bytes | None = None,
) -> Iterator[Verdict]:
    """As verify_stream, but a verdict for each 65,536 proofs or fewer, as they come; its `n` is its own, its indices are the stream's."""
    check_options(threads, search_limit, seed_for_tests)
    first = 0
    for proofs, public_inputs, contexts in cut(chunks, context):
        seed = None if seed_for_tests is None else seed_for_tests + first.to_bytes(8, "little")
        verdict = verify_batch(
            vk, proofs, public_inputs, contexts, threads=threads, search_limit=search_limit, seed_for_tests=seed
        )
        yield shifted(verdict, first)
        first += verdict.n


def cut(
    chunks: Iterable[Chunk], context: Bytes = NO_CONTEXT, rows: int = CHUNK
) -> Iterator[tuple[Proofs, InputsOfProofs, Contexts]]:
    """The chunks in parts of at most `rows` proofs, nothing copied, with contexts.

    Raises InputError: a chunk's parts differ in length, naming chunks[i].
    """
    if not isinstance(chunks, Iterable):
        raise InputError("chunks", f"expected an iterator of chunks, got {type(chunks).__name__}")
    for i, chunk in enumerate(chunks):
        if not isinstance(chunk, tuple | list):
            raise InputError(f"chunks[{i}]", f"expected (proofs, public_inputs), got {type(chunk).__name__}")
        if not 2 <= len(chunk) <= 3:
            raise InputError(f"chunks[{i}]", f"expected proofs, public inputs and perhaps contexts, got {len(chunk)}")
        proofs, public_inputs = chunk[:2]
        contexts = chunk[2] if len(chunk) == 3 else context
        one_for_all = isinstance(contexts, bytes | bytearray | memoryview) or (
            isinstance(contexts, np.ndarray) and contexts.ndim == 1
        )
        n = how_many(f"chunks[{i}].proofs", proofs)
        for name, part in (("public_inputs", public_inputs), *([] if one_for_all else [("contexts", contexts)])):
            if (n_part := how_many(f"chunks[{i}].{name}", part)) != n:
                raise InputError(f"chunks[{i}].{name}", f"{n_part} for {n} proofs")
        for start in range(0, n, rows):
            at = slice(start, start + rows)
            yield proofs[at], public_inputs[at], contexts if one_for_all else contexts[at]


def shifted(verdict: Verdict, first: int) -> Verdict:
    """The verdict with indices that count from elsewhere."""
    bad = tuple(BadProof(b.index + first, b.reason) for b in verdict.bad)
    return Verdict(verdict.valid, bad, verdict.n, tuple(i + first for i in verdict.undecided))


def merged(verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict of many, whose indices count from the first proof of all."""
    bad: list[BadProof] = []
    undecided: list[int] = []
    n = 0
    for verdict in verdicts:
        bad += verdict.bad
        undecided += verdict.undecided
        n += verdict.n
    return Verdict(not bad and not undecided, tuple(bad), n, tuple(undecided))


# Files -----------------------------------------------------------------------------------------------------------------------


def read_records(path: str | os.PathLike[str], n_public: int, *, rows: int = CHUNK) -> Iterator[Chunk]:
    """The records of a file, each the public inputs of a proof, 32 bytes each, and the proof.  Also from a pipe.

    Raises WireError: no whole number of records, or a file that changes while it is read.  OSError: it cannot be read.
    InputError: no number of public inputs or rows.
    """
    if not is_count(n_public):
        raise InputError("n_public", f"expected the key's number of public inputs, vk.n_public, got {n_public!r}")
    inputs_size = SCALAR_BYTES * n_public
    for data in _read_rows(Path(path), record_bytes(n_public), rows):
        yield data[:, inputs_size:], data[:, :inputs_size].reshape(len(data), n_public, SCALAR_BYTES)


def read_payloads(
    path: str | os.PathLike[str], com: Commitments, fee: Fees, relation: str, *, rows: int = CHUNK
) -> Iterator[Chunk]:
    """The payloads of a file, 256 bytes each, with the public inputs that the relation makes of them (wire.payload_public_inputs).

    In: com: the accounts' commitments before, (n, 32) uint8, which may be mapped from a file; or a function that gives the (m, 32) rows of
    the (m, 32) identifiers A of a chunk.  fee: one for all or n of them.
    Raises as read_records, and InputError: another number of commitments or fees than payloads.
    """
    if not callable(com):
        how_many("com", com)
    check_fee(fee)
    first = 0
    for payloads in _read_rows(Path(path), PAYLOAD_BYTES, rows):
        at = slice(first, first + len(payloads))
        com_rows = com(payloads[:, :SCALAR_BYTES]) if callable(com) else com[at]
        fees = fee if isinstance(fee, int | np.integer) else fee[at]
        yield payloads[:, -PROOF_BYTES:], payload_public_inputs(payloads, com_rows, fees, relation)
        first = at.stop
    for name, given in (("com", com), ("fee", fee)):
        if not callable(given) and not isinstance(given, int | np.integer) and len(given) != first:
            raise InputError(name, f"{len(given)} for {first} payloads")


def record_bytes(n_public: int) -> int:
    """Of the public inputs of a proof and the proof."""
    return SCALAR_BYTES * n_public + PROOF_BYTES


def rows_at_once(size: int, rows: int) -> int:
    """How many rows of so many bytes are read at once: `rows`, or fewer, that they stay below CHUNK_BYTES."""
    return max(1, min(rows, CHUNK_BYTES // size))


def _read_rows(path: Path, size: int, rows: int) -> Iterator[Octets]:
    """A file in arrays (m, size) of its own, m <= rows."""
    if not is_count(rows) or not rows:
        raise InputError("rows", f"expected a number of rows from 1 on, got {rows!r}")
    rows = rows_at_once(size, rows)
    path = path.absolute()  # in the folder of now
    with path.open("rb", buffering=0) as file:
        before = os.fstat(file.fileno())
        is_regular = stat.S_ISREG(before.st_mode)
        if is_regular and before.st_size % size:
            raise WireError(
                str(path),
                f"{before.st_size} bytes, no multiple of {size}, the size of one: it is cut, or holds something else",
            )
        left = before.st_size if is_regular and before.st_size else None  # files of /proc have size 0 and a content
        while left is None or left:
            wanted = rows * size if left is None else min(rows * size, left)
            data = _read_up_to(file, wanted)
            if len(data) % size or (left is not None and len(data) < wanted):
                raise WireError(str(path), f"it ends within a record of {size} bytes, or was cut while it was read")
            if left is not None:
                left -= len(data)
            if not len(data):
                break
            yield data.reshape(-1, size)
        if is_regular and not _is_as_it_was(path, file, before):
            raise WireError(str(path), "it changed while it was read: nothing is said about it; read a copy")


def _is_as_it_was(path: Path, file: FileIO, before: os.stat_result) -> bool:
    """The open file has its content and times yet, those that `utime` cannot set too, and the path its name.

    Not seen: stores through a mapping that began before, for which the system notes no time.
    """
    after = os.fstat(file.fileno())
    fields = ("st_size", "st_mtime_ns", "st_ctime_ns")
    try:
        return all(getattr(after, x) == getattr(before, x) for x in fields) and os.path.samestat(path.stat(), before)
    except FileNotFoundError:
        return False


def _read_up_to(file: FileIO, size: int) -> Octets:
    """`size` bytes, fewer only where the file ends."""
    data = np.empty(size, np.uint8)
    got = 0
    while got < size and (n := file.readinto(data[got:].data)):
        got += n
    return data[:got]

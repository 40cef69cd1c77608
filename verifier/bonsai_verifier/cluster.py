"""The same calls over a Dask cluster: chunks are tasks, verdicts come back.

    client = distributed.Client("tcp://scheduler:8786")
    cluster.verify_batch(client, vk, proofs, public_inputs)                     Verdict, as the call of the same name here
    cluster.verify_stream(client, vk, read_records("records", vk.n_public))

Each worker has its own copy of this package, of one version, and draws the weights of its chunks itself.  The scheduler and the workers
decide what is valid, so they are trusted, and so is the network between: use Dask's TLS where it is not yours.  A worker that dies loses
nothing: its tasks run elsewhere, from bytes that the scheduler holds.  Needs the extra: pip install 'bonsai-verifier[cluster]'.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .batch import NO_CONTEXT, Contexts, InputsOfProofs, Proofs, Verdict, check_key, check_options
from .batch import verify_batch as _verify_batch
from .errors import InputError
from .parameters import CONTEXT_BYTES, PROOF_BYTES, SCALAR_BYTES
from .stream import Chunk, cut, merged, shifted
from .wire import Bytes, VerifyingKey, decode_verifying_key, encode_verifying_key

CHUNK = 1 << 14  # proofs a task, or fewer, so that
TASK_BYTES = 1 << 23  # is not exceeded: tasks travel to the scheduler, which keeps them, and on to a worker
RETRIES = 3  # of a task that fails; the scheduler's own limit is on workers that died of one (distributed.scheduler.allowed-failures)

_AHEAD = 2  # tasks under way for each thread of the cluster


def verify_batch(
    client: Any,
    vk: VerifyingKey,
    proofs: Proofs,
    public_inputs: InputsOfProofs,
    contexts: Contexts = NO_CONTEXT,
    *,
    threads: int = 1,
    search_limit: float | None = None,
    seed_for_tests: bytes | None = None,
) -> Verdict:
    """The verdict of `bonsai_verifier.verify_batch`, on the workers of a distributed.Client, or of the scheduler at an address.

    threads: of each task; what a worker has beyond the one that Dask gives it.  search_limit: for each task.
    Raises what the local call raises, and distributed's errors where the cluster fails: then there is no verdict.
    """
    chunks = [(proofs, public_inputs, contexts)]
    return verify_stream(client, vk, chunks, threads=threads, search_limit=search_limit, seed_for_tests=seed_for_tests)


def verify_stream(
    client: Any,
    vk: VerifyingKey,
    chunks: Iterable[Chunk],
    context: Bytes = NO_CONTEXT,
    *,
    threads: int = 1,
    search_limit: float | None = None,
    seed_for_tests: bytes | None = None,
) -> Verdict:
    """The verdict of `bonsai_verifier.verify_stream`, as verify_batch.  Chunks are asked for when workers are about to take them."""
    return merged(
        stream_verdicts(
            client, vk, chunks, context, threads=threads, search_limit=search_limit, seed_for_tests=seed_for_tests
        )
    )


def stream_verdicts(
    client: Any,
    vk: VerifyingKey,
    chunks: Iterable[Chunk],
    context: Bytes = NO_CONTEXT,
    *,
    threads: int = 1,
    search_limit: float | None = None,
    seed_for_tests: bytes | None = None,
) -> Iterator[Verdict]:
    """As `bonsai_verifier.stream_verdicts`: one verdict a task, in the order of the chunks."""
    check_options(threads, search_limit, seed_for_tests)
    check_key(vk)
    rows = max(1, min(CHUNK, TASK_BYTES // (PROOF_BYTES + SCALAR_BYTES * vk.n_public + CONTEXT_BYTES)))
    under_way: deque[tuple[int, Any]] = deque()
    with _client_of(client) as dask:
        # A result that the scheduler knows how to compute again, not data that is lost with the workers that have it
        key = dask.submit(_key, encode_verifying_key(vk), key=f"bonsai-key-{vk.digest.hex()}", retries=RETRIES)
        ahead = max(_AHEAD, _AHEAD * sum(dask.nthreads().values()))
        first = 0
        try:
            for parts in cut(chunks, context, rows):
                seed = None if seed_for_tests is None else seed_for_tests + first.to_bytes(8, "little")
                own = [np.array(part) if isinstance(part, np.ndarray) else part for part in parts]
                task = dask.submit(_verdict, key, *own, threads, search_limit, seed, pure=False, retries=RETRIES)
                under_way.append((first, task))
                first += len(parts[0])
                if len(under_way) == ahead:
                    yield _next(under_way)
            while under_way:
                yield _next(under_way)
        finally:
            dask.cancel([task for _, task in under_way])


def _next(under_way: deque[tuple[int, Any]]) -> Verdict:
    first, task = under_way[0]
    verdict: Verdict = task.result()
    under_way.popleft()
    return shifted(verdict, first)


@contextmanager
def _client_of(client: Any) -> Iterator[Any]:
    """A client as it is, or one of the scheduler at an address.  Raises InputError: the extra is missing."""
    if not isinstance(client, str):
        yield client
        return
    try:
        from distributed import Client
    except ImportError:
        raise InputError("cluster", "Dask is missing: pip install 'bonsai-verifier[cluster]'") from None
    with Client(client, set_as_default=False) as opened:  # type: ignore[no-untyped-call]  # Dask has no types
        yield opened


# Tasks -----------------------------------------------------------------------------------------------------------------------


def _key(data: bytes) -> VerifyingKey:
    return decode_verifying_key(
        data, allow_development=True
    )  # whether it may be used, was asked where it was decoded first


def _verdict(
    vk: VerifyingKey,
    proofs: Proofs,
    public_inputs: InputsOfProofs,
    contexts: Contexts,
    threads: int,
    search_limit: float | None,
    seed: bytes | None,
) -> Verdict:
    return _verify_batch(
        vk, proofs, public_inputs, contexts, threads=threads, search_limit=search_limit, seed_for_tests=seed
    )

"""Threads of one call.  Kernels release the GIL, so blocks of rows and the jobs of a sum share the cores; results never depend on how.

What can share its work takes a `run` and calls it like the builtin `map`, which is what it is where there is one thread.  A job never hands
its `run` on to jobs of its own: they would wait for a thread that waits for them.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from .errors import InputError

_SHARES, _LEAST, _WHOLE = 4, 64, 16  # of rows: shares for each thread, rows in one, of which a share is a multiple

Run: TypeAlias = Callable[..., Iterable[Any]]  # run(f, xs, ...) -> the f(x, ...), in the order of the xs


@dataclass(frozen=True, slots=True)
class Workers:
    """A `run` on so many threads."""

    threads: int
    run: Run

    def __call__(self, f: Callable[..., Any], *xs: Iterable[Any]) -> Iterable[Any]:
        return self.run(f, *xs)

    def shares(self, n: int, at_most: int) -> list[slice]:
        """Rows 0..n in slices that are worth a job, none above `at_most`: several for each thread where that can be, and all alike."""
        if self.threads == 1:
            return blocks(n, at_most)
        most = min(at_most, max(_LEAST, -(-n // (_SHARES * self.threads))))
        rounds = -(-n // (most * self.threads))
        size = -(-n // (max(1, rounds) * self.threads * _WHOLE)) * _WHOLE
        return blocks(n, max(_LEAST, min(at_most, size)))


ALONE = Workers(1, map)


@contextmanager
def workers(threads: int) -> Iterator[Workers]:
    """Workers on this many threads; 0: one for each core that this process may use.

    An exception in a job is raised where its result is asked for; jobs that have not begun by then never do, also after an interrupt.
    Raises InputError: no number of threads.
    """
    n = count(threads)
    if n == 1:
        yield ALONE
        return
    pool = ThreadPoolExecutor(n, thread_name_prefix="bonsai")
    try:
        yield Workers(n, pool.map)
    finally:
        pool.shutdown(cancel_futures=True)


def call(job: Callable[[], Any]) -> Any:
    """job(): what a `run` of different jobs takes."""
    return job()


def blocks(n: int, size: int) -> list[slice]:
    """0..n in slices of `size`, the last one shorter."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def is_count(x: object) -> bool:
    """An integer from 0 on."""
    return isinstance(x, int) and not isinstance(x, bool) and x >= 0


def count(threads: int) -> int:
    """How many `workers` takes for this number.  Raises InputError."""
    if not is_count(threads):
        raise InputError("threads", f"expected a number of threads, 0 for one a core, got {threads!r}")
    if threads:
        return threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

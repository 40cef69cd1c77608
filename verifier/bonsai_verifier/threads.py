"""Threads of one call.  Kernels release the GIL, so blocks of rows and the jobs of a sum share the cores; results never depend on how.

What can share its work takes a `run` and calls it like the builtin `map`, which is what it is where there is one thread.  A job never hands
its `run` on to jobs of its own: they would wait for a thread that waits for them.

The calling thread does jobs too, and all of them come from one queue without locks.  To wake a thread takes a tenth of a millisecond on a
virtual machine, so nobody waits for that: when nothing is left, the caller waits only for threads at work.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeAlias

from .errors import InputError

_SHARES, _LEAST, _WHOLE = 4, 64, 16  # of rows: shares for each thread, rows in one, of which a share is a multiple

Run: TypeAlias = Callable[..., Iterable[Any]]  # run(f, xs, ...) -> the f(x, ...), in the order of the xs


class Workers:
    """A `run` on so many threads, the caller's among them; the others begin when they are first needed."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._others: list[Thread] = []
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()

    def __call__(self, f: Callable[..., Any], *xs: Iterable[Any]) -> Iterable[Any]:
        if self.threads == 1:
            return map(f, *xs)
        task = _Task(f, list(zip(*xs, strict=False)))
        try:
            self._share(task)
            return task.outcome()
        finally:
            task.errors[:] = [None] * len(task.errors)  # their tracebacks know the task, and all that its jobs had

    def _share(self, task: "_Task") -> None:
        try:
            for i in range(min(self.threads, len(task.results)) - 1):
                if i == len(self._others):
                    thread = Thread(target=_serve, args=(self._tasks,), name="bonsai", daemon=True)
                    self._others.append(thread)  # first, so that `close` waits for it whatever comes
                    try:
                        thread.start()
                    except RuntimeError:  # the system has no more
                        self._others.pop()
                        raise
                self._tasks.put(task)
            task.work()
        finally:
            task.finish()

    def close(self) -> None:
        """Ends the other threads, whatever comes meanwhile."""
        interrupt: BaseException | None = None
        while True:
            try:
                self._tasks.put(None)
                for thread in self._others:
                    if thread.is_alive():  # and none that never started
                        thread.join()
                break
            except BaseException as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt

    def __del__(self) -> None:
        """Where an interrupt came before `close`: the threads know the queue alone."""
        self._tasks.put(None)

    def shares(self, n: int, at_most: int) -> list[slice]:
        """Rows 0..n in slices that are worth a job, none above `at_most`, or 64 if that is more: several for each thread, and all alike."""
        if self.threads == 1:
            return blocks(n, at_most)
        most = min(at_most, max(_LEAST, -(-n // (_SHARES * self.threads))))
        rounds = -(-n // (most * self.threads))
        size = -(-n // (max(1, rounds) * self.threads * _WHOLE)) * _WHOLE
        return blocks(n, max(_LEAST, min(at_most, size)))


def _serve(tasks: "SimpleQueue[_Task | None]") -> None:
    while (task := tasks.get()) is not None:
        task.begin()
        try:
            task.work()
        finally:
            task.end()
        del task  # and all that it holds, while this thread waits
    tasks.put(None)  # for the next one


class _Task:
    """One f(x, ...) after the other, by any number of threads."""

    def __init__(self, f: Callable[..., Any], arguments: list[tuple[Any, ...]]) -> None:
        self._f = f
        self._left = deque(enumerate(arguments))
        self.results: list[Any] = [None] * len(arguments)
        self.errors: list[BaseException | None] = [None] * len(arguments)
        self._begun: list[None] = []  # an entry from each of the other threads that came to it
        self._ended: list[None] = []  # and from each that is done with it
        self._one_ended: SimpleQueue[None] = SimpleQueue()

    def work(self) -> None:
        """Takes what is left, until nothing is or something failed."""
        while True:
            try:
                i, arguments = self._left.popleft()
            except IndexError:
                return
            try:
                self.results[i] = self._f(*arguments)
            except BaseException as error:
                self.errors[i] = error
                self._left.clear()

    def begin(self) -> None:
        """Of another thread, before its `work`."""
        self._begun.append(None)

    def end(self) -> None:
        """Of another thread, which is done with it."""
        self._ended.append(None)
        self._one_ended.put(None)

    def finish(self) -> None:
        """What has not begun never does, and what has, ends: a thread that comes later finds nothing left.

        Whatever interrupts this is raised after that: what jobs write to is the caller's.
        """
        interrupt: BaseException | None = None
        while True:
            try:
                self._left.clear()
                while len(self._ended) < len(self._begun):
                    self._one_ended.get()
                break
            except BaseException as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt

    def outcome(self) -> list[Any]:
        """The results.  Raises an interrupt, or else the first of the errors."""
        errors = [error for error in self.errors if error is not None]
        if not errors:
            return self.results
        try:
            raise min(errors, key=lambda error: isinstance(error, Exception))
        finally:
            errors.clear()  # which know this frame


@contextmanager
def workers(threads: int) -> Iterator[Workers]:
    """Workers on this many threads; 0: one for each core that this process may use.

    An exception in a job is raised by the `run`, or on one thread where its result is asked for.  Jobs that have not begun by
    then never do, also after an interrupt.
    Raises InputError: no number of threads.
    """
    run = Workers(count(threads))
    try:
        yield run
    finally:
        run.close()


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

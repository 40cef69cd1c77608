"""Threads of one call: the same results, errors that come through, nothing left behind."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import bonsai_verifier as bv
from bonsai_verifier import batch, search, threads
from tests.verifier.proofs import add_torsion, curve_key, key, tiled


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_results_come_in_order(n_threads: int) -> None:
    with threads.workers(n_threads) as run:
        assert list(run(lambda x, y: x * y, range(100), range(100))) == [x * x for x in range(100)]


def test_one_thread_is_no_thread() -> None:
    with threads.workers(1) as run:
        assert isinstance(run(len, ["ab"]), map)


def test_zero_threads_are_one_a_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 3, 5}, raising=False)
    seen: set[int] = set()
    gate = threading.Barrier(3, timeout=30)

    def job(_: int) -> None:
        seen.add(threading.get_ident())
        gate.wait()

    with threads.workers(0) as run:
        list(run(job, range(3)))
    assert len(seen) == 3


@pytest.mark.parametrize("n_threads", [-1, 1.0, True, None, "2"])
def test_a_number_of_threads_is_one(n_threads: Any) -> None:
    proofs, inputs = tiled(1)
    with pytest.raises(bv.InputError, match=r"^threads: expected"):
        bv.verify_batch(key(), proofs, inputs, threads=n_threads)


def test_blocks_cover_all_rows_once() -> None:
    for n, size in ((0, 4), (1, 4), (8, 4), (9, 4)):
        assert [i for at in threads.blocks(n, size) for i in range(n)[at]] == list(range(n))
        assert all(len(range(n)[at]) <= size for at in threads.blocks(n, size))


def test_shares_are_worth_a_job_and_for_all() -> None:
    assert threads.Workers(1).shares(100, 16) == threads.blocks(100, 16)
    for n_threads, n, n_shares in (
        (1, 65536, 16),
        (1, 5000, 2),
        (2, 65536, 16),
        (2, 80000, 20),
        (2, 5000, 8),
        (2, 100, 2),
        (8, 100, 2),
        (2, 0, 0),
    ):
        shares = threads.Workers(n_threads).shares(n, 4096)
        assert len(shares) == n_shares
        assert [i for at in shares for i in range(n)[at]] == list(range(n))


def test_the_verdict_does_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (batch, search):
        monkeypatch.setattr(module, "PLANES_FROM", 8)
    proofs, inputs = tiled(200)
    proofs[[1, 50, 99], 96] ^= 1
    proofs[30, 0] = 0
    inputs[31, 1] = 255
    add_torsion(proofs[60], 48)
    for limit in (None, 3):
        verdicts = [
            bv.verify_batch(key(), proofs, inputs, threads=n, search_limit=limit, seed_for_tests=b"same")
            for n in (1, 2, 3, 0)
        ]
        assert verdicts[1:] == verdicts[:1] * 3
    assert len(bv.verify_batch(key(), proofs, inputs, threads=2).bad) == 6


def test_an_error_in_a_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    original = batch.decode_proofs

    def failing(data: Any, **named: Any) -> Any:
        calls.append(len(data))
        if len(calls) == 3:
            raise MemoryError("no room")
        return original(data, **named)

    monkeypatch.setattr(batch, "decode_proofs", failing)
    proofs, inputs = tiled(640)
    before = threading.active_count()
    with pytest.raises(MemoryError, match="no room"):
        bv.verify_batch(key(), proofs, inputs, threads=2)
    assert threading.active_count() == before


def test_threads_end_with_the_call() -> None:
    proofs, inputs = tiled(10)
    before = threading.active_count()
    assert bv.verify_batch(key(), proofs, inputs, threads=4)
    assert threading.active_count() == before


def test_jobs_that_have_not_begun_when_one_fails_never_do() -> None:
    begun: list[int] = []

    def job(i: int) -> int:
        begun.append(i)
        if i == 0:
            raise ValueError("first")
        time.sleep(0.05)
        return i

    def asking() -> Iterator[int]:
        with threads.workers(2) as run:
            yield from run(job, range(1000))

    with pytest.raises(ValueError, match="first"):
        list(asking())
    assert len(begun) < 100


def test_the_first_error_is_the_one_that_is_raised() -> None:
    gate = threading.Barrier(3, timeout=30)

    def job(i: int) -> None:
        gate.wait()
        raise ValueError(i)

    with threads.workers(3) as run, pytest.raises(ValueError, match=r"^0$"):
        run(job, range(3))


def test_the_caller_takes_part_and_no_thread_is_made_without_need() -> None:
    with threads.workers(8) as run:
        before = threading.active_count()
        assert list(run(lambda _: threading.get_ident(), [0])) == [threading.get_ident()]
        assert list(run(len, [])) == []
        assert threading.active_count() == before
        gate = threading.Barrier(2, timeout=30)
        list(run(lambda _: gate.wait(), range(2)))
        assert threading.active_count() == before + 1


def test_a_call_after_one_that_failed_does_all_its_jobs() -> None:
    def fail(_: int) -> None:
        raise ValueError("once")

    with threads.workers(3) as run:
        for n in (5, 50):
            with pytest.raises(ValueError, match="once"):
                run(fail, range(n))
            assert list(run(abs, range(-n, 0))) == list(range(n, 0, -1))


def test_a_thread_that_the_system_refuses_is_an_error_and_no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with threads.workers(3) as run:
        with monkeypatch.context() as patch:
            patch.setattr(threads.Thread, "start", refuse)
            with pytest.raises(RuntimeError, match="can't start"):
                run(len, ["a", "b"])
        assert list(run(len, ["a", "bb", "ccc"])) == [1, 2, 3]


def test_what_jobs_had_is_let_go_while_threads_wait() -> None:
    class Witness:
        def __init__(self) -> None:
            self.gate = threading.Barrier(2, timeout=30)

        def job(self, i: int) -> "Witness":
            self.gate.wait()
            if i == 7:
                raise ValueError(i)
            return self

    with threads.workers(2) as run:
        for jobs in ([1, 2], [6, 7], [1, 2]):
            witness = Witness()
            gone = weakref.ref(witness)
            with contextlib.suppress(ValueError):
                run(witness.job, jobs)
            del witness
            for _ in range(1000):
                if gone() is None:
                    break
                time.sleep(0.01)
            assert gone() is None


def test_an_interrupt_comes_before_errors() -> None:
    gate = threading.Barrier(2, timeout=30)
    caller = threading.get_ident()

    def job(_: int) -> None:
        gate.wait()
        raise KeyboardInterrupt if threading.get_ident() == caller else ValueError

    for _ in range(5):
        with threads.workers(2) as run, pytest.raises(KeyboardInterrupt):
            run(job, range(2))


def test_a_thread_that_an_interrupt_met_while_it_started_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(threading.Thread):
        def start(self) -> None:
            super().start()
            raise KeyboardInterrupt

    before = threading.active_count()
    monkeypatch.setattr(threads, "Thread", Interrupted)
    with pytest.raises(KeyboardInterrupt), threads.workers(3) as run:
        run(abs, range(4))
    assert threading.active_count() == before


def test_threads_end_with_workers_that_were_not_closed() -> None:
    run = threads.Workers(2)
    gate = threading.Barrier(2, timeout=30)
    list(run(lambda _: gate.wait(), range(2)))
    (other,) = (thread for thread in threading.enumerate() if thread.name == "bonsai")
    del run
    other.join(30)
    assert not other.is_alive()


def test_nobody_waits_for_a_thread_that_comes_late(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    in_time: list[bool] = []

    class Late(threading.Thread):
        def run(self) -> None:
            in_time.append(gate.wait(2))
            super().run()

    monkeypatch.setattr(threads, "Thread", Late)
    with threads.workers(2) as run:
        assert list(run(abs, range(-3, 0))) == [3, 2, 1]
        gate.set()
        assert list(run(abs, range(-3, 0))) == [3, 2, 1]
    assert in_time == [True]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, TimeoutError])
def test_what_a_signal_raises_comes_after_the_jobs_that_have_begun(error: type[BaseException]) -> None:
    script = f"""
import signal, threading, time
from bonsai_verifier import threads

def late(*_):
    raise {error.__name__}
signal.signal(signal.SIGALRM, late)
ended, started = [], threading.Event()

def job(i):
    if threading.current_thread() is threading.main_thread():
        started.wait(30)
        return
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    started.set()
    time.sleep(0.6)
    ended.append(i)

try:
    with threads.workers(2) as run:
        try:
            run(job, range(2))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            print(len(ended))
except {error.__name__}:
    print("raised", threading.active_count())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("1\nraised 1\n", "")


def test_after_interrupts_no_job_is_left_behind_and_threads_go_on() -> None:
    """Several while the caller waits for a job that fails late: the call waits for it, says interrupt, and the next one has all threads."""
    script = """
import os, signal, threading, time
from bonsai_verifier import threads
signal.signal(signal.SIGINT, signal.default_int_handler)
ended = []
started = threading.Event()

def job(i):
    if threading.current_thread() is threading.main_thread():
        started.wait(30)
        return
    started.set()
    time.sleep(0.6)
    ended.append(i)
    raise ValueError("late")

with threads.workers(2) as run:
    for after in (0.2, 0.4):
        threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        run(job, range(2))
    except KeyboardInterrupt:
        print("interrupted", len(ended))
    print(list(run(abs, range(4))))
print(threading.active_count())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("interrupted 1\n[0, 1, 2, 3]\n1\n", "")


def test_an_interrupt_ends_the_call() -> None:
    """Ctrl-C during a batch that would take minutes."""
    script = f"""
import signal
import numpy as np
import bonsai_verifier as bv
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run in the background
vk = bv.decode_verifying_key(bytes.fromhex("{curve_key().vk_bytes.hex()}"), allow_development=True)
proofs, inputs = np.zeros((1, 128), np.uint8), np.zeros((1, 2, 32), np.uint8)
bv.verify_batch(vk, proofs, inputs)
proofs[:, [0, 48]] = 0x80  # on the curve, at x = 0, but outside the subgroup
n = 2_000_000
try:
    print("ready", flush=True)
    bv.verify_batch(vk, np.broadcast_to(proofs, (n, 128)), np.broadcast_to(inputs, (n, 2, 32)), threads=2)
except KeyboardInterrupt:
    print("interrupted")
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        out, _ = process.communicate(timeout=60)
    assert out == "interrupted\n"
    assert process.returncode == 0
    assert time.monotonic() - began < 30

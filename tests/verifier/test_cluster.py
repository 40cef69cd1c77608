"""A Dask cluster of processes: the local verdict, also when a worker is killed in the middle."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from distributed import Client, LocalCluster

import bonsai_verifier as bv
from bonsai_verifier import cluster
from bonsai_verifier.search import DOES_NOT_HOLD
from tests.verifier.proofs import CONTEXT, arrays, claim, claims, curve_key, key, tiled

pytestmark = pytest.mark.filterwarnings("default")  # what Dask says when a worker is gone


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as local,
        Client(local, set_as_default=False) as client,
    ):
        yield client


def test_the_verdict_is_the_local_one(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    proofs, inputs = tiled(60)
    proofs[[0, 25, 59], 96] ^= 1
    proofs[30, 0] = 0
    expected = bv.verify_batch(key(), proofs, inputs)
    assert cluster.verify_batch(client, key(), proofs, inputs) == expected
    monkeypatch.setattr(cluster, "CHUNK", 7)
    assert cluster.verify_batch(client, key(), proofs, inputs, threads=2) == expected
    chunks = [(proofs[i : i + 20], inputs[i : i + 20]) for i in range(0, 60, 20)]
    assert cluster.verify_stream(client, key(), chunks) == expected
    assert sum(v.n for v in cluster.stream_verdicts(client, key(), chunks)) == 60
    assert cluster.verify_batch(client, key(), [], []) == bv.Verdict(True, (), 0)


def test_options_and_lists_reach_the_workers(client: Any) -> None:
    chosen = [claim(5, CONTEXT), *claims(2)]
    lists = [c.proof for c in chosen], [c.inputs for c in chosen]
    assert cluster.verify_batch(client, key(), *lists, [CONTEXT, bytes(32), bytes(32)]).valid
    assert [b.index for b in cluster.verify_batch(client, key(), *lists).bad] == [0]
    proofs, inputs = arrays(claims(8))
    proofs[:, 96] ^= 1
    assert cluster.verify_batch(client, key(), proofs, inputs, search_limit=0).undecided == tuple(range(8))


def test_errors_of_the_call_are_raised(client: Any) -> None:
    proofs, inputs = tiled(3)
    for wrong in ((proofs, inputs[:2]), (proofs, inputs[:, :1]), (proofs[:, 1:], inputs), (proofs, inputs, b"short")):
        with pytest.raises(bv.InputError) as expected:
            bv.verify_batch(key(), *wrong)
        with pytest.raises(bv.InputError) as caught:
            cluster.verify_batch(client, key(), *wrong)
        assert expected.value.field in caught.value.field


def test_the_key_travels_once(client: Any) -> None:
    proofs, inputs = tiled(8)
    chunks = [(proofs[i : i + 1], inputs[i : i + 1]) for i in range(8)]

    def decoded(dask_scheduler: Any) -> int:
        log = dask_scheduler.transition_log
        return sum(str(key).startswith("bonsai-key") and finish == "processing" for key, _, finish, *_ in log)

    before = client.run_on_scheduler(decoded)
    assert all(cluster.stream_verdicts(client, key(), chunks))
    assert before > 0
    assert client.run_on_scheduler(decoded) <= before + 1


def test_a_chunk_may_change_when_it_was_handed_over(client: Any) -> None:
    """The iterator may use its memory again."""
    proofs, inputs = tiled(4)
    own = proofs.copy()

    def chunks() -> Iterator[Any]:
        for _ in range(6):
            own[:] = proofs
            yield own, inputs
            own[:] = 255

    assert cluster.verify_stream(client, key(), chunks()) == bv.Verdict(True, (), 24)


def test_a_worker_that_is_killed_in_the_middle_changes_nothing() -> None:
    n, size = 24 * 64, 64
    proofs, inputs = tiled(n)
    proofs[[5, 700, n - 1], 96] ^= 1
    lost: list[int] = []  # tasks that the worker had when it was killed
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as local,
        Client(local, set_as_default=False) as client,
    ):
        pids: dict[str, int] = client.run(os.getpid)
        killed: list[str] = []

        def kill() -> None:
            lost.append(len(client.processing()[killed[0]]))
            os.kill(pids[killed[0]], signal.SIGKILL)

        timer = threading.Timer(1, kill)

        def chunks() -> Iterator[Any]:
            for i in range(0, n, size):
                if (
                    i == 8 * size
                ):  # stop one that has the key, so gets tasks, and it cannot finish them before it is killed
                    killed.extend(client.who_has()[f"bonsai-key-{key().digest.hex()}"][:1])
                    os.kill(pids[killed[0]], signal.SIGSTOP)
                    timer.start()
                yield proofs[i : i + size], inputs[i : i + size]

        verdict = cluster.verify_stream(client, key(), chunks())
        timer.join()
        after: dict[str, int] = client.run(os.getpid)
    assert lost[0] > 0
    assert pids[killed[0]] not in after.values()
    assert verdict == bv.Verdict(False, tuple(bv.BadProof(i, DOES_NOT_HOLD) for i in (5, 700, n - 1)), n)


def test_the_address_of_a_scheduler_will_do(client: Any) -> None:
    proofs, inputs = tiled(3)
    assert cluster.verify_batch(client.scheduler.address, key(), proofs, inputs) == bv.Verdict(True, (), 3)


def test_without_dask_one_line_says_what_to_install() -> None:
    script = f"""
import sys
sys.modules["distributed"] = sys.modules["dask"] = None
import bonsai_verifier as bv
from bonsai_verifier import cluster
vk = bv.decode_verifying_key(bytes.fromhex("{curve_key().vk_bytes.hex()}"), allow_development=True)
try:
    cluster.verify_batch("tcp://127.0.0.1:1", vk, [], [])
except bv.InputError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "cluster: Dask is missing: pip install 'bonsai-verifier[cluster]'\n"


def test_dask_is_not_imported_by_the_rest() -> None:
    script = "import sys, bonsai_verifier.cluster, bonsai_verifier.__main__; print('dask' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


class _Recorder:
    """A client that keeps what it is handed, and computes nothing."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.most = 0

    def submit(self, call: Any, *args: Any, **named: Any) -> Any:
        if call is cluster._verdict:
            _, proofs, inputs, *_ = args
            self.rows.append(len(proofs))
            self.most = max(self.most, proofs.nbytes + inputs.nbytes + 32 * len(proofs))
            return _Done(bv.Verdict(True, (), len(proofs)))
        return None

    def nthreads(self) -> dict[str, int]:
        return {"worker": 1}

    def cancel(self, tasks: object) -> None:
        pass


class _Done(NamedTuple):
    verdict: bv.Verdict

    def result(self) -> bv.Verdict:
        return self.verdict


@pytest.mark.parametrize(("n_public", "n"), [(0, 40_000), (100, 6_000), (300_000, 3)])
def test_a_task_stays_small(n_public: int, n: int) -> None:
    vk = replace(key(), n_public=n_public)
    proofs, inputs = np.zeros((n, 128), np.uint8), np.zeros((n, n_public, 32), np.uint8)
    recorder = _Recorder()
    assert cluster.verify_batch(recorder, vk, proofs, inputs).n == n
    assert sum(recorder.rows) == n
    assert max(recorder.rows) <= cluster.CHUNK
    assert set(recorder.rows) == {1} or recorder.most <= cluster.TASK_BYTES < 10_000_000  # Dask warns of more


def test_a_key_that_is_none_is_named() -> None:
    for vk in (None, curve_key().vk_bytes):
        with pytest.raises(bv.InputError, match=r"^vk: expected a VerifyingKey"):
            cluster.verify_batch(_Recorder(), vk, [], [])  # type: ignore[arg-type]

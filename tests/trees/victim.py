"""A process that forks processes which write into stores until they are killed, and others which look at what is left.

`python -m tests.trees.victim` has everything imported and its kernels loaded; a line of JSON on its standard input forks one child.  What a
child does at the moment, and what was acknowledged to it, it leaves in a shared page, which outlives it.
"""

import json
import mmap
import os
import random
import resource
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bonsai_circuits.errors import BonsaiError, StoreFailed
from bonsai_circuits.trees.lean_imt import LeanIMT
from bonsai_circuits.trees.mark import MarkFile
from bonsai_circuits.trees.node_hash import node_hash
from bonsai_circuits.trees.records import LevelRecords, TailRecords
from bonsai_circuits.trees.store import Policies, TreeStore
from bonsai_verifier.field import Octets

PHASES = ("before", "open", "insert", "tail", "records", "mark", "close", "done")
_PAGE = struct.Struct("<QQ")  # phase, acknowledged leaves


def leaves(start: int, stop: int) -> Octets:
    """Leaves start..stop of the one sequence that every test inserts."""
    out = np.zeros((stop - start, 4), np.uint64)
    out[:, 0] = np.arange(start, stop)
    out[:, 1] = np.arange(start, stop, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    out[:, 2] = 1
    return out.view(np.uint8)


def reference_root(size: int, arity: int, name: str = "blake3") -> bytes | None:
    tree = LeanIMT(arity, node_hash(name))
    return tree.insert_many(leaves(0, size))


class Page:
    """The shared page of one child."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(_PAGE.size))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _PAGE.size)

    def enter(self, phase: str) -> None:
        struct.pack_into("<Q", self._memory, 0, PHASES.index(phase))

    def acknowledge(self, size: int) -> None:
        struct.pack_into("<Q", self._memory, 8, size)

    @property
    def phase(self) -> str:
        return PHASES[_PAGE.unpack_from(self._memory)[0]]

    @property
    def acknowledged(self) -> int:
        return int(_PAGE.unpack_from(self._memory)[1])


def watched(page: Page, owner: type, name: str, phase: str) -> None:
    """The method says when it runs."""
    method = getattr(owner, name)

    def watching(*arguments: Any, **named: Any) -> Any:
        page.enter(phase)
        try:
            return method(*arguments, **named)
        finally:
            page.enter("insert")

    setattr(owner, name, watching)


# What a child does -----------------------------------------------------------------------------------------------------------


def write(order: dict[str, Any]) -> None:
    """Inserts, flushes and makes checkpoints until it is killed, or for a number of rounds; acknowledges what a token has returned for."""
    page, folder, rng = Page(Path(order["page"])), Path(order["folder"]), random.Random(order["seed"])
    for owner, name, phase in (
        (TailRecords, "add", "tail"),
        (LevelRecords, "add", "records"),
        (MarkFile, "write", "mark"),
    ):
        watched(page, owner, name, phase)
    policies = Policies(
        flush_interval=rng.choice([None, 0.0, 0.002]),
        checkpoint_entries=rng.choice([None, 5000]),
        checkpoint_on_close=rng.random() < 0.5,
        pin_above_level=rng.choice([0, 1, 9]),
    )
    page.enter("open")
    if folder.exists():
        store = TreeStore.open(folder, policies=policies)
    else:
        store = TreeStore.create(folder, order["arity"], node_hash(order["hash"]), policies=policies)
    for _ in range(order["rounds"]):
        page.enter("insert")
        size = store.size
        _, token = store.insert_many(leaves(size, size + rng.choice([1, 1, 7, 100, order["most"]])))
        turn = rng.randrange(4)
        if turn == 0:
            store.checkpoint()
        elif policies.flush_interval is None or turn == 1:
            store.flush()
        if turn < 3:
            token.wait(60)
            page.acknowledge(token.size)
    page.enter("close")
    store.close()
    page.acknowledge(store.acknowledged)
    page.enter("done")


def look(order: dict[str, Any]) -> None:
    """Opens what is left: nothing acknowledged is missing, and what is there is the beginning of the sequence, node by node."""
    page, folder = Page(Path(order["page"])), Path(order["folder"])
    if not folder.exists():
        assert page.acknowledged == 0
        return
    with TreeStore.open(folder, order["arity"], node_hash(order["hash"])) as store:
        assert store.size >= page.acknowledged, f"{page.acknowledged} leaves were acknowledged, {store.size} are there"
        assert store.root == reference_root(store.size, order["arity"], order["hash"]), f"another root of {store.size}"
        assert store.repairs == [], store.repairs
        store.check()
        assert store.repairs == [], store.repairs
        page.acknowledge(store.size)


def fill(order: dict[str, Any]) -> None:
    """Writes until no more can be: the files of this process may not grow beyond a limit, or their disk is full."""
    page, folder = Page(Path(order["page"])), Path(order["folder"])
    if order["limit"]:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["limit"], resource.RLIM_INFINITY))
    store = TreeStore.open(folder, policies=Policies(**order["policies"]))
    token = None
    try:
        while True:
            size = store.size
            token = store.insert_many(leaves(size, size + order["most"]))[1]
            if order["policies"].get("flush_interval", 0) is None:
                store.flush()
            token.wait(60)
            page.acknowledge(token.size)
    except StoreFailed:
        pass
    assert token is not None
    assert store.failure is not None
    for call in (token.wait, store.flush, store.checkpoint, lambda: store.insert(bytes(32)), store.close):
        try:
            call()
        except StoreFailed as e:
            assert f"the first {page.acknowledged} leaves are on disk" in str(e)  # noqa: PT017
        else:
            raise AssertionError(f"{call} says nothing")
    assert store.snapshot().at(page.acknowledged).root == reference_root(page.acknowledged, store.arity)


def forks(order: dict[str, Any]) -> None:
    """A child of a process that has a store open can use neither the parent's store nor one of its own, and does no harm."""
    folder = Path(order["folder"])
    with TreeStore.open(folder, policies=Policies(**order["policies"])) as store:
        snapshot = store.snapshot()
        _, token = store.insert_many(leaves(store.size, store.size + 10))
        child = os.fork()
        if child == 0:
            refusals = 0
            for call in (
                lambda: store.insert(bytes(32)),
                store.flush,
                store.checkpoint,
                store.check,
                token.wait,
                lambda: TreeStore.open(folder),
            ):
                try:
                    call()
                except BonsaiError as e:
                    refusals += type(e).__name__ == "StoreLocked"
            try:
                read = snapshot.level(0, 0, 1).tobytes() == leaves(0, 1).tobytes()
            except BonsaiError:
                read = order["policies"].get("pin_above_level", 0) > 0
            sys.exit(0 if refusals == 6 and read else 1)  # through __exit__, and the interpreter's own end
        assert os.waitpid(child, 0)[1] == 0
        store.flush()
        token.wait(60)
        store.insert_many(leaves(store.size, store.size + 10))
        store.checkpoint()
        if order["orphan"] and os.fork() == 0:  # outlives its parent, and keeps no lock
            signal.pause()
            os._exit(0)
    with TreeStore.open(folder) as store:
        assert store.root == reference_root(store.size, store.arity)


ORDERS: dict[str, Callable[[dict[str, Any]], None]] = {"write": write, "look": look, "fill": fill, "forks": forks}


def serve() -> None:
    """One child at a time, until standard input ends."""
    reference_root(1000, 4)
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            if order["do"] == "forks":
                os.setpgid(0, 0)  # for whoever ends what it leaves behind
            ORDERS[order["do"]](order)
            sys.stdout.flush()
            os._exit(0)
        answer(child)
        answer(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def answer(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


class Server:
    """The forking process, from outside."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.trees.victim"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )

    def start(self, do: str, **order: Any) -> int:
        """Forks a child; its process id."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = {name: str(value) if isinstance(value, Path) else value for name, value in order.items()}
        self._process.stdin.write(json.dumps({"do": do} | order) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def end(self) -> int:
        """Waits for the child; its exit code, or minus the signal that killed it."""
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())

    def run(self, do: str, **order: Any) -> None:
        """A child that has to succeed."""
        self.start(do, **order)
        self.ended_well(do)

    def ended_well(self, do: str) -> None:
        """The child has done what it was told."""
        code = self.end()
        assert code == 0, f"{do}: exit code {code}\n{self.close()}"

    def close(self) -> str:
        """Ends the process; what it and its children wrote to standard error."""
        return self._process.communicate()[1]


if __name__ == "__main__":
    serve()

"""The store under kill -9, changed bytes, missing and cut files, a full disk and two openers: nothing acknowledged is lost without a word.

More of the same: BONSAI_FAULTS=20 repeats the random tests twenty times as often, with other seeds.
"""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bonsai_circuits.errors import BonsaiError, FileDamaged, StoreLocked
from bonsai_circuits.trees.mark import MARK, SLOT_BYTES
from bonsai_circuits.trees.records import LEVELS, TAIL
from bonsai_circuits.trees.store import Policies, TreeStore
from tests.trees.victim import PHASES, Page, Server, leaves, reference_root

TIMES = int(os.environ.get("BONSAI_FAULTS", "1"))
SEED = int(os.environ.get("BONSAI_FAULTS_SEED", "1"))
KILLS, FLIPS = 200 * TIMES, 240 * TIMES
RECORD = 4096  # leaves of a record of a tree of arity 4
MANUAL = Policies(flush_interval=None)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


# Killed ----------------------------------------------------------------------------------------------------------------------


def test_a_killed_process_loses_nothing_that_was_acknowledged(server: Server, tmp_path: Path) -> None:
    rng, phases = random.Random(SEED), Counter[str]()
    kills = 0
    while kills < KILLS:
        folder, page = tmp_path / f"store-{kills}", tmp_path / f"page-{kills}"
        arity = rng.choice([2, 4, 4, 16])
        for _ in range(25):  # of one store, again and again
            order = {"folder": folder, "page": page, "arity": arity, "hash": "blake3"}
            child = server.start("write", **order, seed=rng.randrange(2**32), rounds=10**6, most=3000)
            await_phase(Page(page), "open" if rng.random() < 0.15 else "insert")
            time.sleep(rng.choice([0.002, 0.02, 0.06]) * rng.random())
            os.kill(child, signal.SIGKILL)
            assert server.end() == -signal.SIGKILL
            kills += 1
            phases[Page(page).phase] += 1
            Page(page).enter("before")
            server.run("look", **order)
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{kills} kills: {dict(phases)}")
    assert {"open", "insert", "tail", "records", "mark"} <= phases.keys(), phases
    assert sum(phases[phase] for phase in ("insert", "tail", "records", "mark")) >= kills / 2, phases


def await_phase(page: Page, least: str) -> None:
    """Until the child is so far."""
    end = time.monotonic() + 60
    while PHASES.index(page.phase) < PHASES.index(least):
        assert time.monotonic() < end, page.phase
        time.sleep(0.0003)


# Changed bytes ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stores(server: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, int]]:
    """Stores that were closed, killed with a log, and killed amid a checkpoint; with how many leaves each has acknowledged."""
    root = tmp_path_factory.mktemp("stores")
    size = 2 * RECORD * 4 + 1234  # leaves in eight records, those above in two, some in the tail
    for name in ("closed", "logged", "amid"):
        with TreeStore.create(root / name, 4, policies=MANUAL) as store:
            store.insert_many(leaves(0, size - 900))
            store.checkpoint()
            store.insert_many(leaves(size - 900, size - 400))
            store.flush()
            if name == "closed":
                store.insert_many(leaves(size - 400, size))
    with TreeStore.open(root / "logged", policies=MANUAL) as store:
        for at in range(size - 400, size, 100):
            store.insert_many(leaves(at, at + 100))
            store.flush()
        shutil.copytree(root / "logged", root / "killed")  # what kill -9 leaves behind: the log is not in the file yet
    shutil.rmtree(root / "logged")
    (root / "killed").rename(root / "logged")
    assert (root / "logged" / f"{TAIL}-wal").stat().st_size > 0
    _amid_a_checkpoint(root / "amid", size - 400)
    return {"closed": (root / "closed", size), "logged": (root / "logged", size), "amid": (root / "amid", size - 400)}


def _amid_a_checkpoint(folder: Path, size: int) -> None:
    """Leaves the store as a crash does while records are written: some are there, and the journal that takes them away again."""
    copy = folder.with_name("copy")
    with TreeStore.open(folder, policies=MANUAL) as store:
        levels = store._levels._connection
        levels.execute("PRAGMA cache_size = 4")  # what does not fit goes to the file before the transaction ends
        levels.execute("BEGIN IMMEDIATE")
        for place in range(100):
            levels.execute("INSERT INTO nodes VALUES (?, ?, ?)", ((9 << 48) + place, b"", bytes(100_000)))
        shutil.copytree(folder, copy)
        levels.execute("ROLLBACK")
    shutil.rmtree(folder)
    copy.rename(folder)
    assert (folder / f"{LEVELS}-journal").stat().st_size > 0
    assert (folder / LEVELS).stat().st_size > 5_000_000
    with TreeStore.open(shutil.copytree(folder, folder.with_name("again")), policies=MANUAL) as store:
        assert store.size == size


def outcome(folder: Path, size: int, policies: Policies = MANUAL) -> str:
    """ "refused", or "whole": the same tree, which goes on as it should.  Anything else fails."""
    try:
        store = TreeStore.open(folder, policies=policies)
    except FileDamaged as e:
        assert str(folder) in e.field
        return "refused"
    with store:
        assert store.size == size
        assert store.root == ROOTS[size]
        assert store.snapshot().level(0).tobytes() == leaves(0, size).tobytes()
        repaired = bool(store.repairs)
        store.insert_many(leaves(size, 2 * RECORD * 4 * 2))
        store.checkpoint()
        store.check()
    with TreeStore.open(folder, policies=MANUAL) as store:  # it wrote over nothing that it needs
        assert store.root == ROOTS[store.size]
        assert store.repairs == []
    return "repaired" if repaired else "whole"


ROOTS = {size: reference_root(size, 4) for size in (33602, 34002, 65536)}


def flipped(path: Path, at: int, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << bit
    path.write_bytes(data)


def test_a_flipped_bit_anywhere_is_repaired_or_refused(stores: dict[str, tuple[Path, int]], tmp_path: Path) -> None:
    rng, outcomes = random.Random(SEED), Counter[tuple[str, str]]()
    places = []
    for folder, _ in stores.values():
        files = [path for path in folder.iterdir() if path.stat().st_size]
        places += [(folder, rng.choice(files)) for _ in range(FLIPS // len(stores))]
    for folder, path in places:
        length = path.stat().st_size
        at = rng.randrange(rng.choice([length, min(length, 512)]))  # the headers as often as all the rest
        policies = rng.choice([MANUAL, Policies(flush_interval=None, pin_above_level=9)])
        damaged = shutil.copytree(folder, tmp_path / "damaged")
        flipped(damaged / path.name, at, rng.randrange(8))
        size = next(size for known, size in stores.values() if known == folder)
        try:
            found = outcome(damaged, size, policies)
        except BaseException as e:
            e.add_note(f"{folder.name}/{path.name}: byte {at} of {length}, {policies}")
            raise
        outcomes[path.name, found] += 1
        shutil.rmtree(damaged)
    print(f"{len(places)} flips: {dict(sorted(outcomes.items()))}")
    assert outcomes[MARK, "refused"] == 0  # one of its slots stands
    assert outcomes[LEVELS, "refused"]
    assert outcomes[TAIL, "refused"]

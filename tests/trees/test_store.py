"""The store as its users meet it: tokens, policies, tiering, snapshots, opening again.  Faults are in test_store_faults.py."""

import errno
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.artifacts.json_object import canonical_json
from bonsai_circuits.errors import FileDamaged, InputError, StoreFailed
from bonsai_circuits.trees import mark as module_of_mark
from bonsai_circuits.trees import records as module_of_records
from bonsai_circuits.trees import store as module
from bonsai_circuits.trees.lean_imt import LeanIMT
from bonsai_circuits.trees.mark import MARK, Mark, MarkFile, Parameters, decode, encode
from bonsai_circuits.trees.node_hash import BLAKE3, POSEIDON_BLS
from bonsai_circuits.trees.records import LEVELS, TAIL, TailRecords, record_nodes
from bonsai_circuits.trees.store import Policies, Token, TreeStore
from bonsai_verifier.transcript import blake3
from tests.trees.victim import leaves, reference_root

MANUAL = Policies(flush_interval=None)
RECORD = 4096  # leaves of a record of a tree of arity 4
PAGE = 65536  # leaves that leave memory together


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


# The tree --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arity", [2, 3, 4, 5, 8, 16])
def test_a_store_is_the_tree_of_its_leaves(folder: Path, arity: int) -> None:
    sizes = [0, 1, 2, arity, 500, 2 * record_nodes(arity) - 1, 2 * record_nodes(arity), 3 * record_nodes(arity) + 77]
    with TreeStore.create(folder, arity, policies=MANUAL) as store:
        for turn, (start, stop) in enumerate(zip([0, *sizes], sizes, strict=False)):
            root, token = store.insert_many(leaves(start, stop))
            assert root == store.root == reference_root(stop, arity)
            assert (store.size, token.size) == (stop, stop)
            (store.flush, store.checkpoint)[turn % 2]()
            assert store.acknowledged == stop
    with TreeStore.open(folder) as store:
        tree = LeanIMT(arity)
        tree.insert_many(leaves(0, sizes[-1]))
        assert (store.root, store.depth, store.size) == (tree.root, tree.depth, tree.size)
        assert store.prove(500) == tree.prove(500)
        assert store.consistency(501) == tree.consistency(501)
        for level in range(tree.depth + 1):
            assert np.array_equal(store.snapshot().level(level), tree.level(level))
        assert store.check() == sum(store.stat().records)
        assert store.repairs == []


@settings(max_examples=15)
@given(st.lists(st.tuples(st.integers(0, 900), st.sampled_from(["", "flush", "checkpoint", "open"])), max_size=12))
def test_any_order_of_calls_gives_the_same_tree(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[int, str]]
) -> None:
    folder, size = tmp_path_factory.mktemp("any") / "store", 0
    store = TreeStore.create(folder, 16, policies=MANUAL)
    try:
        for n, call in calls:
            store.insert_many(leaves(size, size + n))
            size += n
            if call == "open":
                store.close()
                store = TreeStore.open(folder, policies=MANUAL)
            elif call:
                getattr(store, call)()
            assert (store.size, store.root) == (size, reference_root(size, 16))
    finally:
        store.close()


def test_single_leaves_and_many_give_one_tree(folder: Path) -> None:
    with TreeStore.create(folder, 4, policies=MANUAL) as store:
        for leaf in leaves(0, 100):
            root, _ = store.insert(leaf.tobytes())
        assert root == reference_root(100, 4)


def test_poseidon_keeps_its_elements(folder: Path) -> None:
    tree = LeanIMT(2, POSEIDON_BLS)
    tree.insert_many(leaves(0, 20))
    with TreeStore.create(folder, 2, POSEIDON_BLS, max_depth=5) as store:
        store.insert_many(leaves(0, 20))
        with pytest.raises(InputError, match="leaves"):
            store.insert(b"\xff" * 32)
    with TreeStore.open(folder, 2, POSEIDON_BLS, 5) as store:
        assert store.root == tree.root


def test_what_does_not_fit_changes_nothing(folder: Path) -> None:
    with TreeStore.create(folder, 2, max_depth=3) as store:
        store.insert_many(leaves(0, 7))
        before = store.snapshot()
        for wrong in (leaves(7, 9), leaves(0, 1)[:, :31], leaves(0, 1).view(np.uint64)):
            with pytest.raises(InputError):
                store.insert_many(wrong)
        with pytest.raises(InputError, match="31"):
            store.insert(bytes(31))
        assert store.snapshot() is before
    with TreeStore.open(folder) as store:
        assert store.root == reference_root(7, 2)


# Opening ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "named", [{"arity": 2}, {"arity": 4.0}, {"node_hash": POSEIDON_BLS}, {"max_depth": 7}, {"max_depth": 6.0}]
)
def test_another_arity_hash_or_depth_is_refused(folder: Path, named: dict[str, Any]) -> None:
    TreeStore.create(folder, 4, BLAKE3, 6).close()
    with pytest.raises(InputError, match=f"{next(iter(named)).removeprefix('node_')}: .* was made with"):
        TreeStore.open(folder, **named)
    with TreeStore.open(folder, 4, BLAKE3, 6) as store:
        assert (store.arity, store.node_hash, store.max_depth, store.root) == (4, BLAKE3, 6, None)
    name: Any = "blake3"
    with pytest.raises(InputError, match="node_hash: expected a NodeHash"):
        TreeStore.open(folder, node_hash=name)


def test_a_link_that_leads_nowhere_is_no_new_folder(folder: Path) -> None:
    folder.symlink_to("nowhere")
    with pytest.raises(InputError, match="is a link that leads nowhere"):
        TreeStore.create(folder, 4)
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_what_a_killed_create_left_is_removed_a_day_later(folder: Path) -> None:
    name, parent = folder.name, folder.parent
    old, young, others = f".{name}.{'0' * 32}.partial", f".{name}.{'1' * 32}.partial", f".{name}s.{'0' * 32}.partial"
    link = f".{name}.{'2' * 32}.partial"
    for left in (old, young, others):
        (parent / left).mkdir()
        (parent / left / LEVELS).write_bytes(b"")
    (parent / link).symlink_to(others)
    for left in (old, others):
        os.utime(parent / left, (0, time.time() - 86401))
    os.utime(parent / young, (0, time.time() - 86000))
    TreeStore.create(folder, 4).close()
    assert {path.name for path in parent.iterdir()} == {name, young, others, link}


def test_a_store_that_may_only_be_read_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    TreeStore.create(folder, 4).close()
    opened = os.open

    def read_only(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if str(path).endswith(MARK) and flags & os.O_RDWR:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return opened(path, flags, *rest, **named)

    monkeypatch.setattr(module_of_mark.os, "open", read_only)
    with pytest.raises(InputError, match=r"mark: cannot be opened for writing.*Permission denied; copy the folder"):
        TreeStore.open(folder)


def test_a_file_system_without_locks_is_told_as_that(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    TreeStore.create(folder, 4).close()
    with monkeypatch.context() as context:
        context.setattr(module_of_mark, "_flock", no_locks)
        with pytest.raises(InputError, match=r"mark: cannot be locked: .*; put the store on a file system that has"):
            TreeStore.open(folder)
    TreeStore.open(folder).close()


@pytest.mark.parametrize(("arity", "depth"), [(1, None), (17, None), (4, 0), (4, 40)])
def test_a_tree_that_cannot_be_is_not_made(folder: Path, arity: int, depth: int | None) -> None:
    with pytest.raises(InputError):
        TreeStore.create(folder, arity, max_depth=depth)
    assert list(folder.parent.iterdir()) == []


def test_a_folder_is_made_once_and_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError("no more room")

    with monkeypatch.context() as context:
        context.setattr(module, "write_atomic", fails)
        with pytest.raises(OSError, match="no more room"):
            TreeStore.create(folder, 4)
    assert list(folder.parent.iterdir()) == []
    TreeStore.create(folder, 4).close()
    with pytest.raises(InputError, match="is there already"):
        TreeStore.create(folder, 4)
    with pytest.raises(InputError, match="is no folder"):
        TreeStore.create(folder.parent / "not" / "there", 4)
    with pytest.raises(InputError, match="is no folder"):
        TreeStore.open(folder.parent / "not")
    with pytest.raises(FileDamaged, match="this is no store"):
        TreeStore.open(folder.parent)
    assert sorted(path.name for path in folder.iterdir()) == sorted([LEVELS, f"{LEVELS}-journal", MARK, TAIL])


def test_a_name_may_hold_what_addresses_escape(tmp_path: Path) -> None:
    folder = tmp_path / "50% of a?b#c ü"
    with TreeStore.create(folder, 4) as store:
        store.insert(bytes(32))
    with TreeStore.open(folder) as store:
        assert store.size == 1


def test_what_was_written_and_not_acknowledged_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash between the row and the mark."""
    with TreeStore.create(folder, 4, policies=MANUAL) as store:
        store.insert_many(leaves(0, 50))
        store.flush()
        mark = (folder / MARK).read_bytes()
        store.insert_many(leaves(50, 90))
    (folder / MARK).write_bytes(mark)
    with TreeStore.open(folder) as store:
        assert (store.size, store.acknowledged, store.root) == (90, 90, reference_root(90, 4))


def test_a_mark_says_what_it_was_given() -> None:
    mark = Mark(Parameters("ab" * 16, 4, "blake3", 20, 4096), 7, 12345, "00" * 32)
    assert decode(encode(mark), 1) == mark
    assert decode(encode(mark), 0) is None  # it stands in the other slot
    for at in range(0, 4096, 7):
        changed = bytearray(encode(mark))
        changed[at] ^= 1
        assert decode(bytes(changed), 1) is None


def test_the_end_of_a_killed_checkpoint_is_on_disk_before_it_is_acknowledged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The leaves are in records alone; a journal that came back would take them away."""
    with TreeStore.create(folder, 4, policies=MANUAL) as store:
        mark = (folder / MARK).read_bytes()
        store.insert_many(leaves(0, RECORD))
        store.checkpoint()
    (folder / MARK).write_bytes(mark)
    calls, sync, write = [], module.sync, MarkFile.write
    monkeypatch.setattr(module, "sync", lambda fd: (calls.append(os.fstat(fd).st_ino), sync(fd)))
    monkeypatch.setattr(MarkFile, "write", lambda *given: (calls.append(MARK), write(*given)))
    with TreeStore.open(folder, policies=MANUAL) as store:
        assert store.acknowledged == RECORD
    assert calls == [(folder / f"{LEVELS}-journal").stat().st_ino, MARK]


def test_a_folder_that_cannot_be_written_is_told_as_that(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> sqlite3.Connection:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(module_of_records, "_connect", full)
    with pytest.raises(OSError, match=r"levels\.db: database or disk is full"):
        TreeStore.create(folder, 4)
    assert list(folder.parent.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [
        {"version": 2},
        {"root": None},
        {"parameters": None},
        {"parameters": {"tree": 1}},
        {"parameters": {"arity": 1}},
        {"parameters": {"arity": "4"}},
        {"parameters": {"max_depth": 99}},
        {"parameters": {"hash": "md5"}},
        {"parameters": {"record_nodes": 0}},
        {"parameters": {"more": 1}},
        {"sequence": -1},
        {"sequence": "7"},
        {"size": 4**20 + 1},
        {"more": 1},
    ],
    ids=str,
)
def test_a_slot_that_is_whole_and_no_mark_is_refused(content: dict[str, Any]) -> None:
    mark: dict[str, Any] = {"version": 1, **asdict(Mark(Parameters("ab" * 16, 4, "blake3", 20, 4096), 7, 12345, ""))}
    for name, value in content.items():
        mark[name] = {**mark[name], **value} if isinstance(value, dict) else value
    text = canonical_json(mark)
    before = (b"\x89btree\r\n" + len(text).to_bytes(4, "little") + text).ljust(4064, b"\0")
    with pytest.raises(FileDamaged, match="mark: "):
        decode(before + blake3(before), 1)


# Tokens ----------------------------------------------------------------------------------------------------------------------


def test_a_token_returns_when_its_leaves_are_on_disk(folder: Path) -> None:
    with TreeStore.create(folder, 4, policies=MANUAL) as store:
        _, first = store.insert(bytes(32))
        with pytest.raises(TimeoutError, match=r"call flush\(\)"):
            first.wait(0.01)
        assert not first.done
        store.flush()
        _, second = store.insert(bytes(32))
        first.wait()
        assert (first.done, second.done) == (True, False)
        checked = sqlite_leaves(folder)
        assert checked == 1
    second.wait()  # closing wrote it


@pytest.mark.parametrize("timeout", [float("nan"), "1", [1]], ids=repr)
def test_a_timeout_that_is_no_number_is_refused(folder: Path, timeout: Any) -> None:
    with TreeStore.create(folder, 4, policies=MANUAL) as store:
        _, token = store.insert(bytes(32))
        with pytest.raises(InputError, match="timeout: expected seconds"):
            token.wait(timeout)


@pytest.mark.parametrize("timeout", [1e300, float("inf"), 10**400], ids=["1e300", "inf", "10^400"])
def test_a_timeout_of_any_length_waits(folder: Path, timeout: float) -> None:
    with TreeStore.create(folder, 4, policies=MANUAL) as store:
        _, token = store.insert(bytes(32))
        flush = threading.Timer(0.05, store.flush)
        flush.start()
        token.wait(timeout)
        flush.join()
        assert token.done


@pytest.mark.parametrize("timeout", [0, -1, float("-inf"), -(10**400)], ids=["0", "-1", "-inf", "-10^400"])
def test_a_timeout_that_is_over_does_not_wait(folder: Path, timeout: float) -> None:
    with TreeStore.create(folder, 4, policies=MANUAL) as store:
        _, token = store.insert(bytes(32))
        with pytest.raises(TimeoutError):
            token.wait(timeout)


def sqlite_leaves(folder: Path) -> int:
    """Leaves in a copy of the tail, as another process would find them after a crash now."""
    copy = folder.with_name("copy")
    copy.mkdir()
    for name in (TAIL, f"{TAIL}-wal"):
        (copy / name).write_bytes((folder / name).read_bytes())
    with closing(sqlite3.connect(copy / TAIL)) as connection:
        return int(connection.execute("SELECT sum(length(leaves)) / 32 FROM leaves").fetchone()[0])


def test_the_interval_writes_without_being_asked(folder: Path) -> None:
    with TreeStore.create(folder, 4, policies=Policies(flush_interval=0.001)) as store:
        for size in (1, 5, 300):
            _, token = store.insert_many(leaves(0, size))
            token.wait(60)
            assert token.done


def test_many_threads_insert_wait_and_read(folder: Path) -> None:
    failures: list[BaseException] = []
    with TreeStore.create(folder, 4, policies=Policies(0.001, checkpoint_entries=3000, pin_above_level=9)) as store:

        def insert(name: int) -> None:
            try:
                for i in range(60):
                    leaf = np.full((20, 32), name, np.uint8)
                    leaf[:, 0] = i
                    _, token = store.insert_many(leaf)
                    token.wait(60)
                    assert store.acknowledged >= token.size
                    snapshot = store.snapshot()
                    assert snapshot.prove(snapshot.size - 1).verify(snapshot.head)
            except BaseException as e:
                failures.append(e)

        threads = [threading.Thread(target=insert, args=(name,)) for name in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert store.size == 6 * 60 * 20
        order = store.snapshot().level(0).copy()
        for name in range(6):  # each thread's leaves in its own order
            own = order[order[:, 1] == name][:, 0]
            assert np.array_equal(own, np.repeat(np.arange(60), 20))
        root = store.root
    with TreeStore.open(folder) as store:
        assert store.root == root


@pytest.mark.parametrize("interval", [None, 0.001])
@pytest.mark.parametrize("call", ["tail", "mark", "records"])
def test_a_failed_write_is_told_to_everyone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, interval: float | None, call: str
) -> None:
    entries = 10 if call == "records" else None  # every write is a checkpoint
    store = TreeStore.create(folder, 4, policies=Policies(interval, checkpoint_entries=entries))
    store.insert_many(leaves(0, 10))
    store.flush()
    owner = {"tail": store._tail, "mark": store._mark, "records": store._levels}[call]

    def fails(*_: object) -> None:
        raise OSError("the disk is on fire")

    monkeypatch.setattr(owner, "write" if call == "mark" else "add", fails)
    heard: list[str] = []

    def wait(size: int) -> None:
        with pytest.raises(StoreFailed) as raised:
            Token(size, store).wait(60)
        heard.append(str(raised.value))

    waiting = [threading.Thread(target=wait, args=(size,)) for size in (11, 15, 20)]
    for thread in waiting:
        thread.start()
    store.insert_many(leaves(10, 20))
    with pytest.raises(StoreFailed):
        store.flush()
    for thread in waiting:
        thread.join(60)
    assert len(heard) == 3
    assert all("on fire" in text and "the first 10 leaves are on disk" in text for text in heard)
    for later in (store.flush, store.checkpoint, store.check, lambda: store.insert(bytes(32)), store.close):
        with pytest.raises(StoreFailed, match="on fire"):
            later()
    assert store.failure is not None
    assert "on fire" in store.failure
    assert store.snapshot().at(10).root == reference_root(10, 4)  # reading goes on
    monkeypatch.undo()
    with TreeStore.open(folder) as again:
        assert again.size == (20 if call == "mark" else 10)  # what is there and was not acknowledged is kept
        assert again.root == reference_root(again.size, 4)


def test_what_fails_inside_a_with_block_is_what_is_raised(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError("the disk is on fire")

    def use() -> None:
        with TreeStore.create(folder, 4, policies=MANUAL) as store:
            store.insert(bytes(32))
            monkeypatch.setattr(store._tail, "add", fails)
            raise KeyError

    with pytest.raises(KeyError):
        use()
    with TreeStore.open(folder) as store:
        assert store.size == 0


def test_a_closed_store_takes_nothing(folder: Path) -> None:
    store = TreeStore.create(folder, 4)
    _, token = store.insert(bytes(32))
    store.close()
    store.close()
    token.wait()
    for call in (store.flush, store.checkpoint, store.check, lambda: store.insert(bytes(32))):
        with pytest.raises(InputError, match="is closed"):
            call()
    assert store.root == bytes(32)


@pytest.mark.parametrize("call", ["flush", "checkpoint"])
def test_a_write_that_meets_a_closed_store_says_so(folder: Path, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It had looked before `close` came."""
    store = TreeStore.create(folder, 4, policies=MANUAL)
    store.insert(bytes(32))
    write = store._write

    def late(checkpoint: bool) -> None:
        monkeypatch.setattr(store, "_write", write)
        store.close()
        write(checkpoint)

    monkeypatch.setattr(store, "_write", late)
    with pytest.raises(InputError, match="is closed"):
        getattr(store, call)()
    assert store.failure is None


@pytest.mark.parametrize("where", ["worker", "write"])
def test_a_close_that_is_interrupted_closes_and_tells(
    folder: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = TreeStore.create(folder, 4, policies=Policies(flush_interval=None, checkpoint_entries=10**6))
    store.insert(bytes(32))
    store.flush()
    _, token = store.insert(bytes(32))

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(*(store._worker, "join") if where == "worker" else (store._tail, "add"), interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.close()
    with pytest.raises(StoreFailed, match="KeyboardInterrupt; the first 1 leaves are on disk"):
        token.wait(60)
    store.close()
    with TreeStore.open(folder) as again:
        assert again.size == 1


# Policies --------------------------------------------------------------------------------------------------------------------


def records(folder: Path) -> int:
    with closing(sqlite3.connect(folder / LEVELS)) as connection:
        return int(connection.execute("SELECT count(*) FROM nodes").fetchone()[0])


def eventually(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.parametrize("interval", [None, 0.001])
@pytest.mark.parametrize("policy", [{"checkpoint_entries": RECORD}, {"checkpoint_memory": 32 * RECORD * 4 // 3}])
def test_a_checkpoint_comes_when_it_is_due(folder: Path, interval: float | None, policy: dict[str, int]) -> None:
    with TreeStore.create(folder, 4, policies=Policies(interval, **policy)) as store:
        store.insert_many(leaves(0, RECORD - 2))
        store.flush()
        assert records(folder) == 0
        store.insert_many(leaves(RECORD - 2, RECORD + 2))
        eventually(lambda: records(folder) == 1)
        store.insert_many(leaves(RECORD + 2, 2 * RECORD))
        store.flush()
        assert records(folder) == 1


@pytest.mark.parametrize("on_close", [False, True])
def test_a_checkpoint_on_close_is_asked_for(folder: Path, on_close: bool) -> None:
    with TreeStore.create(folder, 4, policies=Policies(None, checkpoint_on_close=on_close)) as store:
        store.insert_many(leaves(0, RECORD))
    assert records(folder) == int(on_close)


def test_very_many_leaves_are_written_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BULK_LEAVES", 2 * RECORD)
    with TreeStore.create(folder, 4, policies=MANUAL) as store:
        store.insert_many(leaves(0, 2 * RECORD + 5))
        store.flush()
        assert store.stat().records == (2,)
        assert store.stat().bytes[f"{TAIL}-wal"] < 32 * RECORD


def test_the_tail_gives_its_room_back(folder: Path) -> None:
    with TreeStore.create(folder, 4, policies=MANUAL) as store:
        for at in range(0, 800_000, 200_000):
            store.insert_many(leaves(at, at + 200_000))
            store.flush()
        assert store.stat().bytes[TAIL] > 20_000_000
        store.checkpoint()
        store.insert_many(leaves(800_000, 800_010))
    assert (folder / TAIL).stat().st_size < 1_000_000
    with TreeStore.open(folder) as store:
        assert store.root == reference_root(800_010, 4)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("flush_interval", -1),
        ("flush_interval", float("nan")),
        ("flush_interval", "1"),
        ("checkpoint_entries", 0),
        ("checkpoint_entries", 1.5),
        ("checkpoint_memory", -1),
        ("pin_above_level", -1),
        ("pin_above_level", True),
    ],
)
def test_a_policy_that_means_nothing_is_refused(field: str, value: Any) -> None:
    with pytest.raises(InputError, match=field):
        Policies(**{field: value})


# Tiering and snapshots -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pin", [1, 2, 9])
def test_levels_leave_memory_and_are_read_from_disk(folder: Path, pin: int) -> None:
    size = 3 * PAGE + 100
    tree = LeanIMT(4)
    tree.insert_many(leaves(0, size))
    with TreeStore.create(folder, 4, policies=Policies(None, pin_above_level=pin)) as store:
        store.insert_many(leaves(0, size))
        before = store.stat().resident_bytes
        store.checkpoint()
        assert store.stat().resident_bytes <= before - 3 * PAGE * 32
        for index in (0, 5, PAGE - 1, PAGE, size - 1):
            assert store.prove(index) == tree.prove(index)
        store.insert_many(leaves(size, size + PAGE))
        tree.insert_many(leaves(size, size + PAGE))
        assert store.root == tree.root
    resident = []
    for again in (0, pin):
        with TreeStore.open(folder, policies=Policies(None, pin_above_level=again)) as store:
            assert store.root == tree.root
            assert store.prove_many([3, PAGE + 3]).verify(store.snapshot().head).all()
            assert store.prove_batch([3, PAGE + 3]).verify(store.snapshot().head)
            resident.append(store.stat().resident_bytes)
    assert resident[1] <= resident[0] - 3 * PAGE * 32


def test_a_snapshot_outlives_checkpoints_and_its_store(folder: Path) -> None:
    policies = Policies(None, pin_above_level=9)
    size = PAGE + 10
    tree = LeanIMT(4)
    tree.insert_many(leaves(0, size))
    proofs = {index: tree.prove(index) for index in (0, 100, PAGE, size - 1)}
    snapshots = []
    with TreeStore.create(folder, 4, policies=policies) as store:
        store.insert_many(leaves(0, size))
        snapshots.append(store.snapshot())
        store.checkpoint()
        snapshots.append(store.snapshot())
    with TreeStore.open(folder, policies=policies) as store:
        snapshots.append(store.snapshot())
        store.insert_many(leaves(size, size + PAGE))
        store.checkpoint()
        store.insert_many(leaves(size + PAGE, size + 2 * PAGE))
        store.checkpoint()
        snapshots.append(store.snapshot().at(size))
        for snapshot in snapshots:
            assert {index: snapshot.prove(index) for index in proofs} == proofs
    for snapshot in snapshots:
        assert {index: snapshot.prove(index) for index in proofs} == proofs
        assert np.array_equal(snapshot.level(1), tree.level(1))


def test_a_checkpoint_is_taken_up_where_a_crash_left_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records are there, their leaves still in the tail, the mark of before."""

    def fails(*_: object, **__: object) -> None:
        raise OSError("killed")

    store = TreeStore.create(folder, 4, policies=MANUAL)
    store.insert_many(leaves(0, 3 * RECORD))
    store.flush()
    store.insert_many(leaves(3 * RECORD, 5 * RECORD))
    with monkeypatch.context() as context:
        context.setattr(TailRecords, "add", fails)
        with pytest.raises(StoreFailed):
            store.checkpoint()
        with pytest.raises(StoreFailed):
            store.close()
    assert records(folder) == 6
    with TreeStore.open(folder, policies=MANUAL) as store:
        assert (store.size, store.root) == (5 * RECORD, reference_root(5 * RECORD, 4))
        store.insert_many(leaves(5 * RECORD, 6 * RECORD))
        store.checkpoint()
        store.check()
    with TreeStore.open(folder) as store:
        assert store.root == reference_root(6 * RECORD, 4)

"""The tree against its definition, the vectors of other implementations, and itself in another order."""

import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bonsai_circuits.errors import InputError
from bonsai_circuits.kernels.bn254_fr import BN254_FR_MODULUS
from bonsai_circuits.native.lean_imt import group_sizes
from bonsai_circuits.trees.lean_imt import LeanIMT
from bonsai_circuits.trees.levels import Level
from bonsai_circuits.trees.node_hash import BLAKE3, POSEIDON_BLS, POSEIDON_BN254, NodeHash
from bonsai_circuits.trees.shape import depth_of, group_size, n_nodes, page_nodes
from tests.reference import lean_imt as reference
from tests.reference.lean_imt import counted_leaves
from tests.reference.poseidon import poseidon
from tests.reference.poseidon_bn254 import poseidon as poseidon_bn254
from tests.trees.leaves import Kept, as_array, counted

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "leanimt.json").read_text())
EACH_PAGES = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])

arities = st.integers(2, 16)


def tree_of(n: int, arity: int, **named: int) -> LeanIMT:
    tree = LeanIMT(arity, **named)
    tree.insert_many(counted(n))
    return tree


def insert(tree: LeanIMT, leaves: NDArray[np.uint8]) -> None:
    """By the call for one leaf, if it is one."""
    if len(leaves) == 1:
        tree.insert(leaves[0].tobytes())
    else:
        tree.insert_many(leaves)


def poseidon_bls_node(children: Sequence[bytes]) -> bytes:
    values = [int.from_bytes(child, "little") for child in children]
    return poseidon(values, 2 ** len(values) - 1).to_bytes(32, "little")


def poseidon_bn254_node(children: Sequence[bytes]) -> bytes:
    return poseidon_bn254([int.from_bytes(child, "little") for child in children]).to_bytes(32, "little")


def all_levels(tree: LeanIMT) -> list[list[bytes]]:
    return [[row.tobytes() for row in tree.level(i)] for i in range(tree.depth + 1)]


# Against others --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arity", [2, 4])
def test_roots_and_depths_are_those_of_the_vectors(arity: int, pages: str) -> None:
    for size, want in VECTORS["roots"][str(arity)].items():
        tree = tree_of(int(size), arity)
        root = tree.root
        assert (root.hex() if root is not None else None, tree.depth, tree.size) == (
            want["root"],
            want["depth"],
            int(size),
        )


@given(arity=arities, cuts=st.lists(st.integers(0, 90), max_size=5), n=st.integers(0, 400))
@EACH_PAGES
def test_every_node_is_that_of_the_definition(arity: int, cuts: list[int], n: int, pages: str) -> None:
    leaves, tree, at = counted_leaves(sum(cuts) + n), LeanIMT(arity), 0
    for m in (*cuts, n):
        tree.insert_many(as_array(leaves[at : at + m]))
        at += m
        assert tree.root == reference.root(leaves[:at], arity)
    assert all_levels(tree) == reference.levels(leaves, arity)


@given(arity=arities, before=st.integers(0, 300), n=st.integers(0, 70))
@EACH_PAGES
def test_insert_many_equals_single_inserts(arity: int, before: int, n: int, pages: str) -> None:
    at_once, one_by_one = tree_of(before, arity), tree_of(before, arity)
    leaves = counted(before + n)[before:]
    at_once.insert_many(leaves)
    for leaf in leaves:
        assert one_by_one.insert(leaf.tobytes()) == one_by_one.root
    assert all_levels(at_once) == all_levels(one_by_one)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_large_insert_equals_small_ones_however_many_threads(threads: int) -> None:
    leaves = np.random.default_rng(1).integers(0, 256, (140_000, 32), np.uint8)
    for arity in (4, 7):
        tree, other = LeanIMT(arity, threads=threads), LeanIMT(arity)
        tree.insert_many(leaves)
        for part in np.array_split(leaves, [1, 5_000, 5_001, 66_000]):
            other.insert_many(part)
        assert tree.root == other.root
        for level in range(tree.depth + 1):
            assert (tree.level(level) == other.level(level)).all()
            assert level == 0 or tree.snapshot().check(level) == -1


@pytest.mark.parametrize(
    ("node_hash", "node"),
    [(POSEIDON_BLS, poseidon_bls_node), (POSEIDON_BN254, poseidon_bn254_node)],
    ids=["bls", "bn254"],
)
def test_a_tree_of_poseidon_is_that_of_the_definition(node_hash: NodeHash, node: reference.Hash) -> None:
    leaves = counted_leaves(11)
    for arity in (2, 3, 4):
        tree = LeanIMT(arity, node_hash)
        tree.insert_many(as_array(leaves[:7]))
        for leaf in leaves[7:]:
            tree.insert(leaf)
        assert all_levels(tree) == reference.levels(leaves, arity, node)


def test_a_tree_of_poseidon_is_that_of_zk_kit() -> None:
    vector = VECTORS["zk_kit_poseidon"]
    tree = LeanIMT(2, POSEIDON_BN254)

    def element(node: bytes | None) -> str:
        return f"0x{int.from_bytes(node or b'', 'little'):064x}"

    for i in range(33):
        tree.insert((BN254_FR_MODULUS - 1 - i).to_bytes(32, "little"))
        assert element(tree.root) == vector["roots"].get(str(tree.size), element(tree.root))
    for proof in vector["proofs"]:
        index, siblings = tree.snapshot().at(proof["n"]).prove(proof["i"]).zk_kit()
        assert (index, [element(x) for x in siblings]) == (proof["index"], proof["siblings"])


# Sizes and refusals ----------------------------------------------------------------------------------------------------------


@given(arity=arities, size=st.integers(0, 10**9))
def test_depth_is_the_logarithm_rounded_up(arity: int, size: int) -> None:
    depth = depth_of(size, arity)
    assert arity**depth >= size
    assert depth == 0 or arity ** (depth - 1) < size


def test_an_empty_tree_has_no_root_and_one_leaf_is_its_own() -> None:
    tree = LeanIMT(2)
    assert (tree.root, tree.size, tree.depth, tree.level(0).shape) == (None, 0, 0, (0, 32))
    assert tree.insert_many(counted(0)) is None
    leaf = bytes(range(32))
    assert (tree.insert(leaf), tree.root, tree.depth) == (leaf, leaf, 0)


@pytest.mark.parametrize(("arity", "depth"), [(2, 1), (2, 5), (3, 3), (16, 1), (5, 2)])
def test_what_is_above_the_capacity_is_refused_before_anything_changes(arity: int, depth: int, pages: str) -> None:
    tree = LeanIMT(arity, max_depth=depth)
    full = counted(tree.capacity)
    tree.insert_many(full[:-2])
    before, held = all_levels(tree), tree.snapshot()
    with pytest.raises(InputError, match="capacity"):
        tree.insert_many(counted(3))
    assert (all_levels(tree), tree.snapshot()) == (before, held)
    tree.insert(full[-2].tobytes())
    tree.insert(full[-1].tobytes())
    with pytest.raises(InputError, match="capacity"):
        tree.insert(full[0].tobytes())
    assert all_levels(tree) == reference.levels([leaf.tobytes() for leaf in full], arity)


def test_a_leaf_that_the_hash_does_not_take_is_named_and_nothing_changes() -> None:
    tree = LeanIMT(2, POSEIDON_BLS)
    tree.insert(bytes(32))
    leaves = np.zeros((5, 32), np.uint8)
    leaves[3] = 255
    with pytest.raises(InputError, match=r"leaves\[3\]"):
        tree.insert_many(leaves)
    with pytest.raises(InputError, match=r"leaves\[0\]"):
        tree.insert(bytes([255] * 32))
    assert (tree.size, tree.root) == (1, bytes(32))


def test_what_is_no_leaf_is_refused() -> None:
    tree = LeanIMT(4)
    for leaves in (np.zeros((2, 31), np.uint8), np.zeros((2, 32), np.int8), np.zeros(32, np.uint8)):
        with pytest.raises(InputError, match="leaves"):
            tree.insert_many(leaves)
    no_arrays: list[Any] = [[bytes(32)], bytes(32), None]
    for bad in no_arrays:
        with pytest.raises(InputError, match=rf"leaves: expected an array .* got {type(bad).__name__}"):
            tree.insert_many(bad)
    no_leaves: list[Any] = [bytes(33), b"", None, 32, "x" * 32, [0] * 32, np.zeros((32, 2), np.uint8)]
    for bad in no_leaves:
        with pytest.raises(InputError, match="leaf: expected 32 bytes, got"):
            tree.insert(bad)
    assert tree.size == 0
    assert tree.insert(bytearray(32)) == bytes(32)


@pytest.mark.parametrize("arity", [2, 3, 4, 5, 16])
def test_the_circuits_groups_are_those_of_the_tree(arity: int) -> None:
    for size in (*range(1, 40), arity**2, arity**2 + 1, arity**3 - 1, arity**3, arity**3 + 1):
        depth = depth_of(size, arity) + 1  # a circuit may be deeper than the tree
        for index in {*range(min(size, 40)), *range(max(0, size - 40), size)}:
            want = [group_size(size, arity, level, index // arity**level) for level in range(depth)]
            assert group_sizes(index, size, arity, depth) == want


def test_a_name_is_no_hash() -> None:
    name: Any = "blake3"
    with pytest.raises(InputError, match=r"node_hash: expected a NodeHash"):
        LeanIMT(4, name)


@pytest.mark.parametrize("arity", [1, 17, 2.0, True, "2"])
def test_an_arity_out_of_range_is_refused(arity: int) -> None:
    with pytest.raises(InputError, match="arity"):
        LeanIMT(arity)


@pytest.mark.parametrize("depth", [0, -1, 63, True])
def test_a_depth_out_of_range_is_refused(depth: int) -> None:
    with pytest.raises(InputError, match="max_depth"):
        LeanIMT(2, max_depth=depth)
    assert LeanIMT(2, max_depth=62).capacity == 2**62
    assert LeanIMT(2).capacity == LeanIMT(4).capacity == LeanIMT(16).capacity == 2**40


@pytest.mark.parametrize("size", [0, 1, 5])
def test_no_index_has_no_proofs_and_what_is_no_index_is_refused(size: int) -> None:
    tree = tree_of(size, 4)
    found = tree.prove_many([])
    assert len(found) == len(found.verify(tree.head)) == 0
    for wrong in ([size], [-1], [[0], [0, 0]], [0.0]):
        with pytest.raises(InputError, match="indices"):
            tree.prove_many(wrong)  # type: ignore[arg-type]


def test_nodes_that_are_not_there_are_refused() -> None:
    tree = tree_of(5, 2)
    for level, index in ((0, 5), (1, 3), (3, 1), (4, 0), (0, -1), (-1, 0), (0, True)):
        with pytest.raises(InputError):
            tree.node(level, index)
    for level, start, stop in ((0, 0, 6), (0, 4, 3), (1, -1, 2), (9, 0, 1)):
        with pytest.raises(InputError):
            tree.level(level, start, stop)
    for level in (4, 41, 2**70):  # above the root, above the deepest one, above what can be counted up to
        assert len(tree.level(level)) == len(tree.snapshot().complete(level, 0, 0)) == 0
        assert tree.snapshot().check(level) == -1
    with pytest.raises(InputError, match="complete"):
        tree.snapshot().complete(1, 0, 3)
    assert tree.snapshot().complete(1, 0, 2).tobytes() == tree.level(1, 0, 2).tobytes()


def test_a_copy_of_nodes_may_be_written() -> None:
    tree = tree_of(5, 4)
    for level in range(tree.depth + 1):
        tree.level(level)[:] = 1
    assert all_levels(tree) == reference.levels(counted_leaves(5), 4)


# Memory ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [600_000, 131_073])
def test_memory_is_little_more_than_the_nodes(n: int) -> None:
    tree = tree_of(n, 4)
    assert tree.resident_bytes <= 1.1 * 32 * n_nodes(n, 4)
    assert LeanIMT(2).resident_bytes == 0


@pytest.mark.parametrize("arity", range(2, 17))
def test_pages_are_powers_of_the_arity(arity: int) -> None:
    n = page_nodes(arity)
    assert arity ** (depth_of(n, arity)) == n <= 1 << 16 < n * arity


# Snapshots -------------------------------------------------------------------------------------------------------------------


@given(arity=arities, sizes=st.lists(st.integers(0, 300), min_size=1, max_size=6))
@EACH_PAGES
def test_a_snapshot_stays_as_it_was(arity: int, sizes: list[int], pages: str) -> None:
    tree, leaves, held = LeanIMT(arity), counted_leaves(max(sizes)), {}
    for size in sorted(sizes):
        tree.insert_many(as_array(leaves[tree.size : size]))
        held[size] = tree.snapshot()
    tree.insert_many(counted(700)[tree.size :])
    for size, snapshot in held.items():
        want = reference.levels(leaves[:size], arity)
        assert [[row.tobytes() for row in snapshot.level(i)] for i in range(snapshot.depth + 1)] == want
        again = tree.snapshot().at(size)
        assert (again.root, again.head) == (snapshot.root, snapshot.head)
        assert [again.level(i).tobytes() for i in range(len(want))] == [b"".join(level) for level in want]
    with pytest.raises(InputError, match="size"):
        tree.snapshot().at(701)


def test_readers_see_whole_trees_while_one_writes(small: None) -> None:
    """Every snapshot that a reader meets is the tree of its size, and its proofs are true."""
    arity, n = 3, 1500
    roots: dict[int, bytes | None] = {0: None}
    oracle = LeanIMT(arity)
    for leaf in counted_leaves(n):
        oracle.insert(leaf)
        roots[oracle.size] = oracle.root
    for size in (0, 1, 2, 26, 27, 28, 1000, n):
        assert roots[size] == reference.root(counted_leaves(size), arity)

    tree, wrong, seen = LeanIMT(arity, threads=2), [], set()
    first = tree.snapshot()
    written = threading.Event()

    def read(seed: int) -> None:
        random = np.random.default_rng(seed)
        while not written.is_set():
            snapshot = tree.snapshot()
            if snapshot.root != roots[snapshot.size]:
                wrong.append(("root", snapshot.size))
            elif snapshot.size:
                indices = random.integers(0, snapshot.size, 5)
                proofs = snapshot.prove_many(indices, threads=1)
                leaves = [int(i).to_bytes(32, "little") for i in indices]
                if not proofs.verify(snapshot.head, 1).all() or [row.tobytes() for row in proofs.leaves] != leaves:
                    wrong.append(("proof", snapshot.size))
                if snapshot.check(1) != -1:
                    wrong.append(("node", snapshot.size))
                seen.add(snapshot.size)

    readers = [threading.Thread(target=read, args=(seed,)) for seed in range(3)]
    for reader in readers:
        reader.start()
    random, at, waited = np.random.default_rng(0), 0, set()
    try:
        while at < n:
            if at // 300 not in waited:  # readers compile first, and may fall behind
                waited.add(at // 300)
                deadline = time.monotonic() + 60
                while len(seen) < at // 300 and not wrong:
                    assert time.monotonic() < deadline, f"readers saw {len(seen)} trees of {at} leaves or less"
                    time.sleep(0.001)
            m = min(n - at, int(random.integers(1, 12)))
            if m == 1:
                tree.insert(at.to_bytes(32, "little"))
            else:
                tree.insert_many(counted(at + m)[at:])
            at += m
    finally:
        written.set()
        for reader in readers:
            reader.join()
    assert wrong == []
    assert len(seen) > 3
    assert (first.size, first.root, tree.root) == (0, None, roots[n])


def test_two_writers_lose_nothing() -> None:
    tree = LeanIMT(2)

    def write(start: int) -> None:
        for i in range(start, start + 200):
            tree.insert(i.to_bytes(32, "little"))

    writers = [threading.Thread(target=write, args=(start,)) for start in (0, 200)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    leaves = [row.tobytes() for row in tree.level(0)]
    assert sorted(leaves) == sorted(counted_leaves(400))
    assert all_levels(tree) == reference.levels(leaves, 2)


def test_an_insert_that_fails_midway_leaves_the_tree_as_it_was(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tree_of(50, 2)
    before = all_levels(tree)
    reserve = Level.reserve

    def no_memory(level: Level, n: int) -> None:
        if level.number == 2:
            raise MemoryError
        reserve(level, n)

    with monkeypatch.context() as patch:
        patch.setattr(Level, "reserve", no_memory)
        for leaves in (counted(150)[50:], counted(53)[50:]):
            with pytest.raises(MemoryError):
                tree.insert_many(leaves + 1)
        tree.insert(counted_leaves(51)[50])
        with pytest.raises(MemoryError):
            tree.insert(bytes(32))
    assert tree.size == 51
    assert all_levels(tree)[0][:50] == before[0]
    tree.insert_many(counted(150)[51:])
    assert all_levels(tree) == reference.levels(counted_leaves(150), 2)


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("first", [1, 2, 97])
@pytest.mark.parametrize("then", [1, 2, 97])
def test_an_interrupt_amid_the_open_nodes_leaves_the_tree_as_it_was(
    where: str, first: int, then: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last groups are those of the new size by then: inserts that follow must not take them for their own."""
    open_nodes = BLAKE3.open_nodes

    def interrupted(groups: NDArray[np.uint8], counts: list[int]) -> NDArray[np.uint8]:
        if where == "after":
            open_nodes(groups, counts)
        raise KeyboardInterrupt

    for size in (0, 3, 50, 63, 64):
        tree = tree_of(size, 4)
        for _ in range(2):
            with monkeypatch.context() as patch:
                patch.setattr(type(BLAKE3), "open_nodes", staticmethod(interrupted))
                with pytest.raises(KeyboardInterrupt):
                    insert(tree, counted(size + first)[size:] + np.uint8(1))
            assert tree.root == reference.root(counted_leaves(size), 4)
        insert(tree, counted(size + then)[size:])
        insert(tree, counted(size + then + 3)[size + then :])
        assert all_levels(tree) == reference.levels(counted_leaves(size + then + 3), 4)


# Nodes somewhere else --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arity", [2, 3, 4, 16])
@pytest.mark.parametrize("pin", [0, 1, 2, 99])
def test_a_restored_tree_goes_on(arity: int, pin: int, small: None) -> None:
    for size in (0, 1, 15, 16, 17, 81, 100, 256, 300):
        kept = Kept.of(tree_of(size, arity).snapshot())
        tree = LeanIMT.restore(kept, size, arity, pin_above_level=pin)
        assert all_levels(tree) == reference.levels(counted_leaves(size), arity)
        tree.insert_many(counted(size + 150)[size:])
        tree.insert((size + 150).to_bytes(32, "little"))
        assert all_levels(tree) == reference.levels(counted_leaves(size + 151), arity)
    with pytest.raises(InputError, match="size"):
        LeanIMT.restore(kept, arity**2 + 1, arity, max_depth=2)


def test_levels_that_were_evicted_are_read_from_the_source(small: None) -> None:
    size, arity = 300, 4
    tree, whole = tree_of(size, arity), tree_of(size, arity)
    held = tree.snapshot()
    kept = Kept.of(held)
    tree.evict(kept, 2, 250)
    assert tree.resident_bytes < whole.resident_bytes
    kept.asked.clear()
    for snapshot in (held, tree.snapshot()):
        assert snapshot.level(0).tobytes() == whole.level(0).tobytes()
        indices = np.array([0, 17, 255, 256, 299, 17, 239, 240])
        found, want = snapshot.prove_many(indices), whole.prove_many(indices)
        assert (found.leaves == want.leaves).all()
        assert (found.siblings == want.siblings).all()
        assert [snapshot.prove(i) for i in indices.tolist()] == [whole.prove(i) for i in indices.tolist()]
        assert snapshot.prove_batch(indices) == whole.prove_batch(indices)
    assert {level for level, _, _ in kept.asked} == {0, 1}
    assert max(stop for level, _, stop in kept.asked if level == 0) == 240  # full pages of 16 among 250
    with pytest.raises(InputError, match="size"):
        tree.evict(kept, 2, 301)
    tree.insert_many(counted(900)[300:])
    assert all_levels(tree) == reference.levels(counted_leaves(900), arity)


@pytest.mark.parametrize("arity", [2, 3, 4, 16])
def test_an_older_snapshot_proves_its_own_tree_from_the_source(arity: int, small: None) -> None:
    """What it has open at its right edge is complete by now, and outside."""
    sizes, tree, held = [1, 2, 3, 5, 16, 17, 31, 81, 100, 201, 254, 255, 256, 257], LeanIMT(arity), []
    for size in sizes:
        tree.insert_many(counted(size)[tree.size :])
        held.append(tree.snapshot())
    tree.insert_many(counted(900)[tree.size :])
    tree.evict(Kept.of(tree.snapshot()), 99, 900)
    for old in [*held, *map(tree.snapshot().at, sizes)]:
        indices = np.arange(old.size)
        found, want = old.prove_many(indices), tree_of(old.size, arity).prove_many(indices)
        assert (found.leaves == want.leaves).all()
        assert (found.siblings == want.siblings).all()
        assert found.verify(old.head).all()


def test_a_damaged_source_is_found_by_check(small: None) -> None:
    size, arity = 300, 4
    kept = Kept.of(tree_of(size, arity).snapshot())
    kept.nodes_of[1] = kept.nodes_of[1].copy()
    kept.nodes_of[1][37, 5] ^= 1
    snapshot = LeanIMT.restore(kept, size, arity, pin_above_level=99).snapshot()
    assert snapshot.check(1) == 37
    assert snapshot.check(1, 0, 37) == snapshot.check(1, 38) == -1
    assert snapshot.check(2) == 9
    assert snapshot.check(2, 10) == snapshot.check(3) == -1
    with pytest.raises(InputError, match="level"):
        snapshot.check(0)

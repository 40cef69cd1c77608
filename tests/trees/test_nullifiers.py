"""The nullifier tree against the tree of all positions: roots, insertions, pruning and the cold file, bytes."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.errors import FileDamaged, InputError, StoreLocked, WireError
from bonsai_circuits.trees.ledger_shapes import SHAPES
from bonsai_circuits.trees.nullifiers import ColdNullifiers, NullifierPath, NullifierTree
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.reference.relations import SUITES
from tests.reference.relations import nullifier_roots as oracle_roots
from tests.trees.ledger import KEYS, flags_of, nullifier_tree

WIDE, CLASSIC = SHAPES["poseidon", "wide"], SHAPES["poseidon", "classic"]
shapes = pytest.mark.parametrize("key", KEYS, ids=" ".join)
LAST = 2**40 - 1
CLAIMED = [3, 4, 130, 1000, 1023, 2**20, 2**20 + 128, 2**33 + 5, LAST]


def path_of(key: tuple[str, str], claimed: list[int], position: int) -> NullifierPath:
    """What the oracle has for a position."""
    bits = SUITES[key[0]].flag_bits[key[1]]
    path = nullifier_tree(key, claimed).path(position >> bits)
    leaf = flags_of(key, claimed).get(position >> bits, 0)
    return NullifierPath(SHAPES[key], position, leaf, tuple(map(tuple, path)))


# Roots and insertions --------------------------------------------------------------------------------------------------------


@shapes
def test_paths_and_roots_are_those_of_the_tree_of_all_positions(key: tuple[str, str]) -> None:
    tree, claimed = NullifierTree(SHAPES[key]), list[int]()
    assert tree.root == nullifier_tree(key, []).root
    for position in (5, LAST, 0, 129)[: 2 if key[0] == "pedersen" else 4]:
        path = tree.insertion(position)
        assert path == path_of(key, claimed, position)
        assert tree.insert(position) == path
        claimed.append(position)
        after = nullifier_tree(key, claimed).root
        assert path.verify_insertion(path.root, tree.root)
        assert tree.root == path.root_taken == after
        assert oracle_roots(key[1], position, path.leaf, path.path, True, SUITES[key[0]]) == (path.root, after)
    assert list(tree.claimed) == sorted(claimed)


@shapes
def test_many_at_once_equal_one_by_one(key: tuple[str, str]) -> None:
    one, many = NullifierTree(SHAPES[key]), NullifierTree(SHAPES[key], CLAIMED[:4])
    for position in CLAIMED:
        one.insert(position)
    many.insert_many(CLAIMED[4:])
    assert many.encode() == one.encode()


@shapes
def test_a_position_is_claimed_once(key: tuple[str, str]) -> None:
    tree = NullifierTree(SHAPES[key], CLAIMED)
    before = tree.encode()
    for position in CLAIMED:
        assert tree.path(position).is_taken
        for insert in (tree.insert, tree.insertion):
            with pytest.raises(InputError, match=f"position: {position} is claimed already"):
                insert(position)
    for positions in ([7, CLAIMED[0]], [7, 8, 7]):
        with pytest.raises(InputError, match="claimed already or named twice; nothing was inserted"):
            tree.insert_many(positions)
    assert tree.encode() == before


@shapes
def test_free_and_taken_are_told_apart(key: tuple[str, str]) -> None:
    tree = NullifierTree(SHAPES[key], CLAIMED)
    free, taken = tree.path(5), tree.path(4)
    assert free.verify_free(tree.root)
    assert not free.verify_free((tree.root + 1) % R)
    assert not taken.verify_free(tree.root)
    assert taken.root == tree.root == taken.root_taken
    assert not taken.verify_insertion(tree.root, tree.root)
    assert free.verify_insertion(tree.root, free.root_taken)
    assert not free.verify_insertion(tree.root, tree.root)
    assert not free.verify_insertion(free.root_taken, free.root_taken)
    relabelled = NullifierPath(free.shape, 6, free.leaf, free.path)
    assert not relabelled.verify_insertion(tree.root, free.root_taken)
    shorter = NullifierPath(free.shape, 5, free.leaf, free.path[:-1])
    assert not shorter.verify_free(shorter.root)  # it leads to an inner node


@pytest.mark.parametrize("position", [-1, 2**40, "7", 1.0, True])
def test_no_position_is_refused(position: object) -> None:
    tree = NullifierTree(WIDE, [3])
    for call in (tree.path, tree.insert, tree.insertion, tree.prune):
        with pytest.raises(InputError, match="position: "):
            call(position)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="position: "):
        tree.insert_many([1, position])  # type: ignore[list-item]
    assert list(tree.claimed) == [3]


# Pruning ---------------------------------------------------------------------------------------------------------------------


@shapes
@pytest.mark.parametrize("below", [0, 128, 1010, 2**20 + 1, 2**33 + 5, LAST])
def test_pruning_changes_no_root_and_no_path_above(key: tuple[str, str], below: int) -> None:
    shape = SHAPES[key]
    whole, pruned = NullifierTree(shape, CLAIMED), NullifierTree(shape, CLAIMED)
    pruned.prune(below)
    assert pruned.root == whole.root
    assert pruned.threshold == below >> shape.flag_bits << shape.flag_bits
    assert list(pruned.claimed) == [x for x in CLAIMED if x >= pruned.threshold]
    for position in (below, below + 1, 2**39, LAST - 1):
        if position <= LAST and position not in CLAIMED:
            assert pruned.insert(position) == whole.insert(position)
            assert pruned.root == whole.root


@given(st.sets(st.integers(0, 2000), max_size=12), st.lists(st.integers(0, 2000), min_size=1, max_size=5))
@settings(max_examples=12)
def test_a_pruned_tree_is_the_whole_tree(claimed: set[int], moves: list[int]) -> None:
    """Prune and insert in turn, early and late claims, with what the cold file gives."""
    whole, pruned = NullifierTree(WIDE, claimed), NullifierTree(WIDE, claimed)
    with TemporaryDirectory() as folder:
        cold = ColdNullifiers(WIDE, Path(folder) / "cold")
        for position in moves:
            pruned.prune(max(position, pruned.threshold), cold)
            late = (position * 7 + 3) % 2000
            path = cold.path(late) if late < pruned.threshold else None
            if late in claimed:
                assert pruned.path(late, path).is_taken
            else:
                assert pruned.insert(late, path) == whole.insert(late)
                claimed.add(late)
                if path is not None:
                    cold.insert(late)
            assert pruned.root == whole.root


def test_the_state_is_bounded_by_the_positions_that_are_kept() -> None:
    """A frontier of at most 7 nodes a level, and w positions, of however many."""
    rng, kept = random.Random(1), 16
    tree = NullifierTree(WIDE, rng.sample(range(2**30), 300))
    root, largest = tree.root, sorted(tree.claimed)[-kept:]
    tree.keep(kept)
    assert tree.root == root
    assert [x for x in tree.claimed if x >= largest[0]] == largest
    assert len(tree._leaves) <= kept
    assert sum(map(len, tree.frontier())) <= 7 * 11
    assert sum(map(len, tree._nodes)) <= 7 * 11 + 12 * (kept + 1)
    assert len(tree.encode()) <= 21 + 32 * (1 + 7 * 11) + kept * 24
    tree.keep(kept)
    tree.keep(1000)  # nothing to drop
    assert len(list(tree.claimed)) >= kept
    with pytest.raises(InputError, match="one or more"):
        tree.keep(0)


def test_the_threshold_never_falls() -> None:
    tree = NullifierTree(WIDE, CLAIMED)
    tree.prune(1000)
    with pytest.raises(InputError, match="below the threshold 896, which never falls"):
        tree.prune(500)
    with pytest.raises(InputError, match="below the threshold 896; insert it with its cold path"):
        tree.insert_many([500])


# Late claims -----------------------------------------------------------------------------------------------------------------


@shapes
def test_a_late_claim_by_the_cold_file(key: tuple[str, str], tmp_path: Path) -> None:
    shape = SHAPES[key]
    whole, tree = NullifierTree(shape, CLAIMED), NullifierTree(shape, CLAIMED)
    cold = ColdNullifiers(shape, tmp_path / "cold")
    for below in (300, 2**20 + 64):  # what went first stays where it is
        tree.prune(below, cold)
    assert cold.threshold == tree.threshold
    for late in dict.fromkeys([5, 131, 999, 2**20 - 1, 2**19, tree.threshold - 1]):
        cold = ColdNullifiers(shape, tmp_path / "cold")  # opened again
        path = NullifierPath.decode(shape, cold.path(late).encode())
        if late in CLAIMED:
            continue
        assert tree.insert(late, path) == whole.insert(late)
        cold.insert(late)
        cold.insert(late)  # changes nothing
        assert tree.root == whole.root
        with pytest.raises(InputError, match="claimed already"):
            tree.insert(late, cold.path(late))
    assert NullifierTree.decode(shape, tree.encode()).root == whole.root
    with pytest.raises(InputError, match="not below the threshold"):
        cold.path(tree.threshold)


@shapes
def test_a_late_claim_needs_the_right_cold_path(key: tuple[str, str], tmp_path: Path) -> None:
    shape = SHAPES[key]
    tree, cold = NullifierTree(shape, CLAIMED), ColdNullifiers(shape, tmp_path / "cold")
    tree.prune(2**20, cold)
    before = tree.encode()
    with pytest.raises(InputError, match="cold: position 5 is below the threshold 1048576; give its path"):
        tree.insert(5)
    right = cold.path(5)
    for wrong in (cold.path(6), tree.path(2**21), NullifierPath(shape, 5, right.leaf, right.path[:-1])):
        with pytest.raises(InputError, match="cold: is not the path of position 5"):
            tree.insert(5, wrong)
    top = ((right.path[-1][0] + 1) % R, *right.path[-1][1:])
    other = right.leaf ^ 1 << 5 % (1 << shape.flag_bits)
    for wrong in (
        NullifierPath(shape, 5, right.leaf, (*right.path[:-1], top)),
        NullifierPath(shape, 5, other, right.path),
    ):
        with pytest.raises(WireError, match="cold: does not lead to the frontier's node"):
            tree.insert(5, wrong)
    tree.insert(5, right)
    with pytest.raises(WireError, match="does not lead"):  # the file was not told
        tree.insert(6, cold.path(6))
    cold.insert(5)
    tree.insert(6, cold.path(6))
    assert before != tree.encode()


def test_what_is_no_path_is_refused() -> None:
    right = NullifierTree(WIDE, CLAIMED).path(5)
    for wrong, field in (
        ((5 + 2**40, right.leaf, right.path), "position"),
        ((5, 2**128, right.path), "leaf"),
        ((5, -1, right.path), "leaf"),
        ((5, right.leaf, (*right.path[1:], (0,))), "path[10]"),
        ((5, right.leaf, (*right.path, right.path[0])), "path"),
        ((5, right.leaf, ((R, *right.path[0][1:]), *right.path[1:])), "path[0][0]"),
    ):
        with pytest.raises(InputError) as error:
            NullifierPath(WIDE, *wrong)
        assert error.value.field == field


def test_where_nothing_was_claimed_no_cold_path_is_needed() -> None:
    whole, tree = NullifierTree(WIDE, [2**30]), NullifierTree(WIDE, [2**30])
    tree.prune(2**29)
    assert tree.insert(77) == whole.insert(77)
    assert tree.root == whole.root
    with pytest.raises(InputError, match="give its path from the cold file"):
        tree.insert(78)


# Bytes -----------------------------------------------------------------------------------------------------------------------


def changed_at(data: bytes, i: int) -> bytes:
    return data[:i] + bytes([data[i] ^ 1 << i % 8]) + data[i + 1 :]


@shapes
def test_bytes_give_tree_and_path_back(key: tuple[str, str]) -> None:
    tree = NullifierTree(SHAPES[key], CLAIMED)
    path = tree.path(5)
    assert NullifierPath.decode(SHAPES[key], path.encode()) == path
    assert NullifierTree.decode(SHAPES[key], tree.encode()).encode() == tree.encode()
    tree.prune(1000)
    again = NullifierTree.decode(SHAPES[key], tree.encode())
    assert again.encode() == tree.encode()
    assert again.insert(1001) == tree.insert(1001)
    assert again.root == tree.root


def test_any_byte_of_a_tree_that_changed_is_refused() -> None:
    tree = NullifierTree(SHAPES["pedersen", "wide"], CLAIMED)
    tree.prune(1000)
    data = tree.encode()
    for i in range(len(data)):
        with pytest.raises(WireError):
            NullifierTree.decode(tree.shape, changed_at(data, i))
    for wrong in (b"", data[:20], data[:-1], data[:-24], data + bytes(24)):
        with pytest.raises(WireError):
            NullifierTree.decode(tree.shape, wrong)
    with pytest.raises(WireError, match="shape: is number 2; poseidon wide has 0"):
        NullifierTree.decode(WIDE, data)


def test_a_path_that_changed_is_refused_or_does_not_verify() -> None:
    tree = NullifierTree(SHAPES["pedersen", "classic"], CLAIMED)
    data = tree.path(5).encode()
    for i in [*range(60), *range(60, len(data), 7)]:
        try:
            path = NullifierPath.decode(tree.shape, changed_at(data, i))
        except WireError:
            continue
        assert not path.verify_free(tree.root) or path.position != 5
    for wrong in (b"", data[:10], data[:-1], data + bytes(32)):
        with pytest.raises(WireError, match="path: "):
            NullifierPath.decode(tree.shape, wrong)


def test_a_position_that_changed_opens_that_position_or_none() -> None:
    """Neighbours share a leaf, so a path with another of its positions is that one's, and says so."""
    tree = NullifierTree(WIDE, CLAIMED)
    data = tree.path(5).encode()
    for bit in range(40):
        position = 5 ^ 1 << bit
        path = NullifierPath.decode(WIDE, position.to_bytes(8, "little") + data[8:])
        assert path.verify_free(tree.root) == (bit < 7 and position not in CLAIMED)


def test_a_damaged_cold_file_gives_no_wrong_path(tmp_path: Path) -> None:
    """Bytes all over the file: every path it then gives is the right one, or refused by the file or by the tree."""
    file, shape = tmp_path / "cold", SHAPES["pedersen", "wide"]
    tree, cold = NullifierTree(shape, CLAIMED), ColdNullifiers(shape, file)
    tree.prune(2**20, cold)
    data, right, seen = file.read_bytes(), tree.path(5, cold.path(5)), set[str]()
    places = [*range(0, 120, 3), *range(120, len(data), 97)]
    places += [at for at in range(len(data)) if data[at] and at % 5 == 0]
    for i in places:
        file.write_bytes(changed_at(data, i))
        try:
            assert tree.path(5, ColdNullifiers(shape, file).path(5)) == right
            seen.add("right")
        except (FileDamaged, WireError, InputError) as error:
            seen.add(type(error).__name__)
    assert {"right", "FileDamaged", "WireError"} <= seen


def test_files_that_are_no_cold_file_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "cold"
    ColdNullifiers(WIDE, file)
    with pytest.raises(FileDamaged, match="is not of the shape poseidon classic"):
        ColdNullifiers(CLASSIC, file)
    file.write_bytes(b"something else, longer than the header of a database" * 40)
    with pytest.raises(FileDamaged, match="cannot be used as a file of nullifiers"):
        ColdNullifiers(WIDE, file)
    with pytest.raises(OSError, match="folder: unable to open"):
        ColdNullifiers(WIDE, tmp_path / "no" / "folder")
    other = tmp_path / "other"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE meta (a, b)")
    db.close()
    with pytest.raises(FileDamaged):
        ColdNullifiers(WIDE, other)


def test_a_file_of_a_higher_threshold_takes_nothing(tmp_path: Path) -> None:
    cold = ColdNullifiers(WIDE, tmp_path / "cold")
    NullifierTree(WIDE, CLAIMED).prune(2**21, cold)
    old = NullifierTree(WIDE, CLAIMED)
    with pytest.raises(InputError, match="higher threshold"):
        old.prune(2**20, cold)
    assert old.threshold == 0
    old.prune(2**21, cold)  # a tree that was not saved after it was pruned is pruned again
    assert old.threshold == cold.threshold


def test_a_file_that_lacks_what_went_before_takes_nothing(tmp_path: Path) -> None:
    """A new one, another account's, and one that was not told of a late claim; also where it is ahead."""
    tree, cold = NullifierTree(WIDE, CLAIMED), ColdNullifiers(WIDE, tmp_path / "cold")
    tree.prune(2**19, cold)
    behind = NullifierTree.decode(WIDE, tree.encode())
    for below in (2**19, 2**20):
        other = NullifierTree(WIDE, [1, *CLAIMED[1:]])
        files = [ColdNullifiers(WIDE, tmp_path / f"{name} {below}") for name in ("new", "other")]
        other.prune(below, files[1])
        for file in files:
            threshold = file.threshold
            with pytest.raises(InputError, match="cold: this file has not what was pruned from this tree before"):
                tree.prune(2**20, file)
            assert (tree.threshold, file.threshold) == (2**19, threshold)
    tree.insert(6, cold.path(6))
    with pytest.raises(InputError, match="a late claim that it was not told"):
        tree.prune(2**20, cold)
    cold.insert(6)
    tree.prune(2**20, cold)
    with pytest.raises(InputError, match="has not what was pruned"):  # the file has a claim that this one has not
        behind.prune(2**20, cold)


def test_a_tree_below_whose_threshold_nothing_was_claimed_may_begin_a_file(tmp_path: Path) -> None:
    tree, cold = NullifierTree(WIDE, [2**19, 2**21]), ColdNullifiers(WIDE, tmp_path / "cold")
    tree.prune(2**18)
    tree.prune(2**20, cold)
    assert tree.path(2**19, cold.path(2**19)).is_taken


def test_two_at_one_file_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody writes between what another reads and what it writes from that."""
    cold = ColdNullifiers(WIDE, tmp_path / "cold")
    NullifierTree(WIDE, CLAIMED).prune(2**20, cold)
    path_of = ColdNullifiers._path_of

    def meanwhile(self: ColdNullifiers, db: sqlite3.Connection, position: int) -> NullifierPath:
        found = path_of(self, db, position)
        other = sqlite3.connect(tmp_path / "cold", timeout=0)
        with closing(other), pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("DELETE FROM node")
        return found

    monkeypatch.setattr(ColdNullifiers, "_path_of", meanwhile)
    cold.insert(5)


def test_a_file_that_cannot_be_written_is_not_called_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "cold"
    tree, cold = NullifierTree(WIDE, CLAIMED), ColdNullifiers(WIDE, file)
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, **named: connect(path, timeout=0, **named))
    with closing(connect(file)) as elsewhere:
        elsewhere.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreLocked, match="cold: is in use elsewhere"):
            tree.prune(2**20, cold)

    def full(path: Path, **named: Any) -> sqlite3.Connection:
        db = connect(path, **named)
        db.execute(f"PRAGMA max_page_count = {db.execute('PRAGMA page_count').fetchone()[0]}")
        return db

    monkeypatch.setattr(sqlite3, "connect", full)
    many = NullifierTree(WIDE, range(0, 2**17, 128))
    with pytest.raises(OSError, match=r"cold: .*full"):
        many.prune(2**20, cold)
    assert (tree.threshold, many.threshold, cold.threshold) == (0, 0, 0)
    monkeypatch.setattr(sqlite3, "connect", connect)
    many.prune(2**20, cold)
    assert many.path(128, cold.path(128)).is_taken

"""The receipt tree against the tree of all positions, node by node: frontier, archive, openings, bytes."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.errors import InputError, WireError
from bonsai_circuits.trees.ledger_shapes import SHAPES, TreeShape, to_words, tree_shape
from bonsai_circuits.trees.receipts import ReceiptArchive, ReceiptFrontier, ReceiptOpening
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.trees.ledger import KEYS, receipt_tree

WIDE, CLASSIC = SHAPES["poseidon", "wide"], SHAPES["poseidon", "classic"]
shapes = pytest.mark.parametrize("key", KEYS, ids=" ".join)
rng = random.Random(6)
RECEIPTS = [0, 1, R - 1, *(rng.randrange(R) for _ in range(67))]


def both(key: tuple[str, str], n: int, levels: int | None = None) -> tuple[ReceiptFrontier, ReceiptArchive]:
    frontier, archive = ReceiptFrontier(SHAPES[key], levels), ReceiptArchive(SHAPES[key], levels)
    frontier.append_many(RECEIPTS[:n])
    archive.append_many(RECEIPTS[:n])
    return frontier, archive


# Roots -----------------------------------------------------------------------------------------------------------------------


@shapes
@pytest.mark.parametrize("n", [0, 1, 8, 33])
def test_root_is_that_of_the_tree_of_all_positions(key: tuple[str, str], n: int) -> None:
    frontier, archive = both(key, n)
    assert frontier.root == archive.root == receipt_tree(key, dict(enumerate(RECEIPTS[:n]))).root
    assert frontier.size == archive.size == n


@pytest.mark.parametrize(("levels", "capacity"), [(1, 8), (2, 32), (3, 128)])
def test_every_size_of_a_small_tree(levels: int, capacity: int) -> None:
    """Up to the full one, whose frontier is its root."""
    frontier = ReceiptFrontier(WIDE, levels)
    assert frontier.levels.capacity == capacity
    for n in range(min(capacity, len(RECEIPTS)) + 1):
        assert frontier.root == receipt_tree(("poseidon", "wide"), dict(enumerate(RECEIPTS[:n])), levels).root
        if n < min(capacity, len(RECEIPTS)):
            assert frontier.append(RECEIPTS[n]) == n


@given(st.sampled_from([("poseidon", "wide"), ("poseidon", "classic")]), st.lists(st.integers(0, 40), max_size=4))
@settings(max_examples=15)
def test_batches_equal_single_receipts(key: tuple[str, str], sizes: list[int]) -> None:
    shape, receipts = SHAPES[key], RECEIPTS * 3
    single, bulk, archive = ReceiptFrontier(shape, 4), ReceiptFrontier(shape, 4), ReceiptArchive(shape, 4)
    at = 0
    for n in sizes:
        n = min(n, shape.receipts.cut(4).capacity - at)
        assert bulk.append_many(to_words(receipts[at : at + n])) == at
        assert archive.append_many(receipts[at : at + n]) == at
        for receipt in receipts[at : at + n]:
            assert single.append(receipt) == at
            at += 1
        assert single.encode() == bulk.encode() == archive.frontier().encode()


@pytest.mark.parametrize(("shape", "n_bytes"), [(CLASSIC, 1280), (WIDE, 2880)], ids=["classic", "wide"])
def test_a_frontier_is_small(shape: TreeShape, n_bytes: int) -> None:
    """So many bytes of nodes in a tree of 2^40 positions that has one left; header and root before them."""
    frontier = ReceiptFrontier(shape)
    frontier._size = 2**40 - 1
    frontier._peaks = [*(to_words([1] * (2**width - 1)) for width in shape.receipts.widths), to_words([])]
    assert len(frontier.encode()) == n_bytes + 14 + 32
    assert ReceiptFrontier.decode(shape, frontier.encode()).size == 2**40 - 1
    assert f"{n_bytes:,} bytes" in str(ReceiptFrontier.__doc__)


# Capacity --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 5, 9])
def test_a_full_tree_refuses_before_anything_changes(n: int) -> None:
    """Both sides, one receipt or many, with room for some of them."""
    for tree in both(("poseidon", "wide"), 33 - n, 2):
        before = tree.encode()
        with pytest.raises(InputError, match=f"{n} do not fit: the tree holds {33 - n} of 32") as error:
            tree.append_many(RECEIPTS[:n])
        assert error.value.field == "receipts"
        assert tree.encode() == before
        tree.append_many(RECEIPTS[: n - 1])
        assert tree.size == 32
        with pytest.raises(InputError, match="holds 32 of 32"):
            tree.append(5)


@pytest.mark.parametrize("bad", [-1, R, 2**256, "7", True])
def test_a_receipt_that_is_no_element_is_refused_before_anything_changes(bad: object) -> None:
    for tree in both(("poseidon", "wide"), 3):
        before = tree.encode()
        with pytest.raises(InputError) as error:
            tree.append_many([5, 6, bad])  # type: ignore[list-item]
        assert error.value.field == "receipts[2]"
        assert tree.encode() == before


def test_words_of_another_shape_type_or_range_are_refused() -> None:
    frontier = ReceiptFrontier(WIDE)
    for bad in (np.zeros((2, 3), np.uint64), np.zeros((2, 4), np.int64), np.zeros(4, np.uint64)):
        with pytest.raises(InputError, match=r"receipts: expected \(n, 4\) uint64"):
            frontier.append_many(bad)
    words = to_words([1, 2, 3])
    words[1] = to_words([R])[0]
    with pytest.raises(InputError, match=r"receipts\[1\]: not in \[0, r\)"):
        frontier.append_many(words)
    assert frontier.size == 0


def test_other_levels_and_shapes_are_refused() -> None:
    for levels in (0, 15):
        with pytest.raises(InputError, match="1 to 14"):
            ReceiptFrontier(WIDE, levels)
    with pytest.raises(InputError, match="there are poseidon wide, poseidon classic, pedersen wide, pedersen classic"):
        tree_shape("poseidon", "tall")


# Openings --------------------------------------------------------------------------------------------------------------------


def test_what_is_no_opening_is_refused() -> None:
    """An inner node, or the root, is no receipt of a path that is shorter; a position has one number."""
    opening = both(("poseidon", "classic"), 3)[1].open(2)
    levels, position, path = opening.levels, opening.position, opening.path
    for wrong, field in (
        ((position >> 1, path[1:]), "path"),
        ((0, ()), "path"),
        ((position, (*path, (0,))), "path"),
        ((position, ((0, 0), *path[1:])), "path[0]"),
        ((position, (*path[:5], (R,), *path[6:])), "path[5][0]"),
        ((position + 2**40, path), "position"),
        ((-1, path), "position"),
        ((True, path), "position"),
    ):
        with pytest.raises(InputError) as error:
            ReceiptOpening(levels, *wrong)
        assert error.value.field == field


def test_readers_of_different_sizes_do_not_meet() -> None:
    """Between the computation of a size's nodes and their use another thread keeps those of its own size."""

    class Overtaken(ReceiptArchive):
        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, value)
            if name == "_edges" and hasattr(self, "others"):
                super().__setattr__(name, self.others)

    archive, alone = Overtaken(WIDE), both(("poseidon", "wide"), 33)[1]
    archive.append_many(RECEIPTS[:33])
    archive.root_at(5)
    archive.others = archive._edges
    for size in (5, 21, 33):
        assert archive.root_at(size) == alone.root_at(size)
        assert archive.open(3, size) == alone.open(3, size)


@shapes
def test_openings_are_the_paths_of_the_tree_of_all_positions(key: tuple[str, str]) -> None:
    """Of first, middle and last receipt, of the empty leaf behind it and of the last position."""
    n = 21
    archive, tree = both(key, n)[1], receipt_tree(key, dict(enumerate(RECEIPTS[:n])))
    for position in (0, 9, n - 1, n, 2**40 - 1):
        opening = archive.open(position)
        assert [list(level) for level in opening.path] == tree.path(position)
        receipt = RECEIPTS[position] if position < n else 0
        assert opening.verify(receipt, archive.root)
        assert not opening.verify((receipt + 1) % R, archive.root)
        assert not opening.verify(receipt, (archive.root + 1) % R)


def test_openings_under_every_root_that_the_tree_had() -> None:
    archive = both(("poseidon", "wide"), 40, 3)[1]
    for size in (0, 1, 7, 8, 31, 32, 33, 40):
        tree = receipt_tree(("poseidon", "wide"), dict(enumerate(RECEIPTS[:size])), 3)
        assert archive.root_at(size) == tree.root
        for opening in archive.open_many([0, max(size - 1, 0), 39, 127], size):
            assert [list(level) for level in opening.path] == tree.path(opening.position)
    archive.append(5)
    assert archive.root == archive.root_at(41) != archive.root_at(40)


def test_what_an_archive_has_not_is_refused() -> None:
    archive = both(("poseidon", "wide"), 9, 2)[1]
    for position in (-1, 32, 1.0):
        with pytest.raises(InputError, match="position: "):
            archive.open(position)  # type: ignore[arg-type]
    for size in (-1, 10):
        with pytest.raises(InputError, match="size: "):
            archive.open(0, size)
        with pytest.raises(InputError, match="size: "):
            archive.root_at(size)
    for first, last in ((-1, 2), (3, 2), (0, 10)):
        with pytest.raises(InputError, match="receipts: "):
            archive.receipts(first, last)
    np.testing.assert_array_equal(archive.receipts(2, 9), to_words(RECEIPTS[2:9]))


# Bytes -----------------------------------------------------------------------------------------------------------------------


@shapes
def test_bytes_give_the_tree_back(key: tuple[str, str]) -> None:
    for levels in (2, None):
        frontier, archive = both(key, 3, levels)
        assert ReceiptFrontier.decode(SHAPES[key], frontier.encode()).encode() == frontier.encode()
        again = ReceiptArchive.decode(SHAPES[key], archive.encode())
        assert again.encode() == archive.encode()
        again.append(7)
        assert again.size == 4
        opening = archive.open(1)
        assert ReceiptOpening.decode(archive.levels, opening.encode()) == opening


def test_any_byte_that_changed_is_refused() -> None:
    """Each byte of a frontier and of an archive in turn; lengths; another shape."""
    for tree in both(("poseidon", "classic"), 3, 2):
        data, decode = tree.encode(), type(tree).decode
        for i in range(len(data)):
            with pytest.raises(WireError):
                decode(CLASSIC, data[:i] + bytes([data[i] ^ 1 << i % 8]) + data[i + 1 :])
        for wrong in (b"", data[:13], data[:-1], data[:-32], data + bytes(32)):
            with pytest.raises(WireError):
                decode(CLASSIC, wrong)
        with pytest.raises(WireError, match="shape: is number 1; poseidon wide has 0"):
            decode(WIDE, data)


def test_an_opening_that_changed_is_refused_or_does_not_verify() -> None:
    archive = both(("poseidon", "wide"), 11, 2)[1]
    data, fields = archive.open(4).encode(), set[str]()
    for i in range(0, len(data), 3):
        changed = data[:i] + bytes([data[i] ^ 1 << i % 8]) + data[i + 1 :]
        try:
            opening = ReceiptOpening.decode(archive.levels, changed)
        except WireError as error:
            fields.add(error.field)
        else:
            assert not opening.verify(RECEIPTS[4], archive.root)
    assert fields >= {"position", "siblings[0]"}
    for wrong in (b"", data[:-1], data + bytes(32)):
        with pytest.raises(WireError, match="an opening of this tree has 328"):
            ReceiptOpening.decode(archive.levels, wrong)

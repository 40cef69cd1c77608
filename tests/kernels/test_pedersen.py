"""Pedersen hashes in bulk, on both bodies, against the hash in the clear and the oracle; refusals at the door."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.errors import InputError
from bonsai_circuits.native import pedersen as native
from bonsai_circuits.native.pedersen import binary_node, nodes, pedersen, pedersen_many, quaternary_node
from bonsai_verifier.field import ints_from_limbs, limbs_from_ints
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.reference import pedersen as reference

ONES = 2**254 - 1  # every window but the last is of ones
SIGNS = sum(1 << i for i in range(2, 252, 3))  # every sign bit set, every other one not
edges = [0, 1, R - 1, R - 2, ONES, SIGNS, ONES ^ SIGNS, 2**254]
elements = st.one_of(st.sampled_from(edges), st.integers(0, R - 1))
both_bodies = pytest.mark.usefixtures("body")


def words(rows: list[list[int]]) -> Any:
    return limbs_from_ints([x for row in rows for x in row], 4).reshape(len(rows), len(rows[0]), 4)


def hashed(tag: int, rows: list[list[int]]) -> list[int]:
    return ints_from_limbs(nodes(tag, words(rows)))


def node(tag: int, row: list[int]) -> int:
    return binary_node(tag, *row) if len(row) == 2 else quaternary_node(tag, row)


@both_bodies
@pytest.mark.parametrize("k", [2, 4])
@given(data=st.data(), tag=st.integers(0, 63))
@settings(max_examples=10)
def test_nodes_equal_the_hash_in_the_clear(k: int, data: st.DataObject, tag: int) -> None:
    rows = data.draw(st.lists(st.lists(elements, min_size=k, max_size=k), min_size=1, max_size=10))
    assert hashed(tag, rows) == [node(tag, row) for row in rows]


@both_bodies
def test_edges_of_every_child() -> None:
    """Sums of one sign, of the other, of alternating ones; canonical elements without and with their highest bit."""
    rows = [[x, y] for x in edges for y in edges]
    assert hashed(5, rows) == [binary_node(5, *row) for row in rows]
    rows = [[edges[(i + j * j) % len(edges)] for j in range(4)] for i in range(len(edges))]
    assert hashed(50, rows) == [quaternary_node(50, row) for row in rows]
    assert hashed(3, [[1, 2]]) == [reference.merkle_crh(3, 1, 2)]
    assert hashed(43, [[1, 2, 3, R - 1]]) == [reference.quaternary_crh(43, [1, 2, 3, R - 1])]


@both_bodies
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 255, 257, 511, 513, 1030])
def test_counts_around_blocks_and_batches(n: int) -> None:
    rng = random.Random(n)
    some = [[rng.randrange(R), rng.randrange(R)] for _ in range(6)]
    rows, known = [some[i * i % 6] for i in range(n)], [binary_node(9, *row) for row in some]
    out = nodes(9, words(rows) if n else np.zeros((0, 2, 4), np.uint64))
    assert out.shape == (n, 4)
    assert ints_from_limbs(out) == [known[i * i % 6] for i in range(n)]


@both_bodies
@pytest.mark.parametrize("m", [0, 1, 2, 3, 11, 12, 13, 62, 63, 64, 189, 192, 255, 510, 700])
def test_messages_of_any_length_equal_the_hash_in_the_clear(m: int) -> None:
    rng = np.random.default_rng(m)
    bits = np.concatenate([rng.integers(0, 2, (3, m), np.uint8), np.ones((1, m), np.uint8), np.zeros((1, m), np.uint8)])
    assert ints_from_limbs(pedersen_many(63, bits)) == [pedersen(63, row.tolist()) for row in bits]


@both_bodies
def test_arrays_that_are_views_are_read_as_they_are() -> None:
    rows = words([[1, 2], [3, 4], [5, 6]])
    strided = np.repeat(rows, 2, axis=0)[::2]
    assert not strided.flags.c_contiguous
    np.testing.assert_array_equal(nodes(0, strided), nodes(0, rows))
    rows.setflags(write=False)
    np.testing.assert_array_equal(nodes(0, rows), nodes(0, strided))


@both_bodies
def test_entries_are_sums_of_what_chunks_add() -> None:
    """A window's rows are v - u, v + u, 2 d u v of the sum, for all bit strings whose highest bit is 0."""
    from bonsai_circuits.native import jubjub
    from bonsai_verifier.field import fr_to_ints

    rows = native._entries(61, 3)  # across two segments
    assert len(rows) == 2**8
    for i in (0, 1, 36, 37, 200, 255):
        u, v = jubjub.add_all(
            native.entry(61 + j, chunk) for j, chunk in enumerate(native.chunks_of(native.bits_of(i, 9)))
        )
        expected = [(v - u) % R, (v + u) % R, 2 * jubjub.D * u * v % R]
        assert fr_to_ints(rows[i].reshape(3, 4)) == expected


# Doors -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [R, R + 1, 2**255, 2**256 - 1])
def test_a_child_that_is_no_element_is_refused_by_its_place(bad: int) -> None:
    for k in (2, 4):
        rows = [[1] * k for _ in range(5)]
        rows[3][k - 1] = bad
        with pytest.raises(InputError, match=r"not in \[0, r\)") as error:
            nodes(0, words(rows))
        assert error.value.field == f"children[3][{k - 1}]"


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros((2, 3, 4), np.uint64),
        np.zeros((2, 2, 3), np.uint64),
        np.zeros((2, 8), np.uint64),
        np.zeros((2, 2, 4), np.int64),
        np.zeros((2, 2, 32), np.uint8),
        [[1, 2]],
        bytes(64),
        None,
    ],
)
def test_other_arrays_of_children_are_refused(bad: Any) -> None:
    with pytest.raises(InputError, match=r"children: expected \(n, 2, 4\) or \(n, 4, 4\) uint64"):
        nodes(0, bad)


@pytest.mark.parametrize(
    "bad",
    [np.full((1, 3), 2, np.uint8), np.zeros((2, 3), np.int64), np.zeros(3, np.uint8), [[0, 1]], b"01", None],
)
def test_other_arrays_of_bits_are_refused(bad: Any) -> None:
    with pytest.raises(InputError, match=r"bits: expected \(n, m\) uint8 of 0 and 1"):
        pedersen_many(0, bad)


@pytest.mark.parametrize("tag", [-1, 64, None, 1.0, True, "1"])
def test_a_tag_that_is_no_integer_of_six_bits_is_refused(tag: Any) -> None:
    with pytest.raises(InputError, match="tag: "):
        nodes(tag, words([[1, 2]]))
    with pytest.raises(InputError, match="tag: "):
        pedersen_many(tag, np.zeros((1, 3), np.uint8))
    with pytest.raises(InputError, match="tag: "):
        pedersen(tag, [])

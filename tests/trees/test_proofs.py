"""Proofs: as other implementations give them, true ones accepted, and everything else refused."""

import dataclasses
import json
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bonsai_circuits.errors import InputError, WireError
from bonsai_circuits.trees.lean_imt import LeanIMT, Snapshot
from bonsai_circuits.trees.node_hash import BLAKE3, POSEIDON_BLS, NodeHash
from bonsai_circuits.trees.proofs import BatchProof, ConsistencyProof, Head, InclusionProof, InclusionProofs
from bonsai_verifier.parameters import FR_MODULUS
from tests.reference import lean_imt as reference
from tests.reference.lean_imt import counted_leaves
from tests.trees.leaves import as_array, counted

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "leanimt.json").read_text())
EACH_PAGES = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])

arities = st.integers(2, 16)


def snapshot(n: int, arity: int, node_hash: NodeHash = BLAKE3) -> Snapshot:
    tree = LeanIMT(arity, node_hash)
    tree.insert_many(counted(n))
    return tree.snapshot()


def claimed(vector: dict) -> InclusionProof:
    """A proof of the vectors, without its positions and counts: our proofs have none."""
    siblings = b"".join(bytes.fromhex(x) for level in vector["levels"] for x in level["siblings"])
    leaf = bytes.fromhex(vector["leaf"])
    return InclusionProof(vector["N"], vector["tree_size"], vector["leaf_index"], leaf, siblings)


# As others give them ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", VECTORS["proofs"], ids=lambda v: f"{v['N']}-{v['tree_size']}-{v['leaf_index']}")
def test_inclusion_proofs_are_those_of_the_vectors(vector: dict) -> None:
    tree = snapshot(vector["tree_size"], vector["N"])
    proof = tree.prove(vector["leaf_index"])
    assert proof == claimed(vector)
    for (left, right), level in zip(proof.sides(), vector["levels"], strict=True):
        assert len(left) // 32 == (level["position"] if level["sibling_count"] else 0)
        assert len(left + right) // 32 == level["sibling_count"]
    assert proof.verify(Head(BLAKE3, vector["N"], vector["tree_size"], bytes.fromhex(vector["root"])))


@pytest.mark.parametrize("vector", VECTORS["consistency_proofs"], ids=lambda v: f"{v['old_size']}-{v['new_size']}")
def test_consistency_proofs_are_those_of_the_vectors(vector: dict) -> None:
    proof = snapshot(vector["new_size"], vector["N"]).consistency(vector["old_size"])
    assert proof.nodes.hex() == "".join(x for level in vector["levels"] for x in level["hashes"])
    old = Head(BLAKE3, vector["N"], vector["old_size"], bytes.fromhex(vector["old_root"]))
    assert proof.verify(old, Head(BLAKE3, vector["N"], vector["new_size"], bytes.fromhex(vector["new_root"])))


@pytest.mark.parametrize("vector", VECTORS["zk_kit_binary_proofs"], ids=lambda v: f"{v['n']}-{v['i']}")
def test_binary_proofs_are_those_of_zk_kit(vector: dict) -> None:
    index, siblings = snapshot(vector["n"], 2).prove(vector["i"]).zk_kit()
    assert (index, [x.hex() for x in siblings]) == (vector["index"], vector["siblings"])
    with pytest.raises(InputError, match="binary"):
        snapshot(5, 4).prove(0).zk_kit()


def test_false_proofs_of_the_vectors_are_refused() -> None:
    """Both lead to the root; the size that belongs to it is another one."""
    true_sizes = (3, 4)
    for vector, size in zip(VECTORS["forged_proofs_to_reject"], true_sizes, strict=True):
        false, root = vector["proof"], bytes.fromhex(vector["proof"]["root"])
        head = snapshot(size, 2).head
        assert head.root == root
        try:
            assert not claimed(false).verify(head)
        except InputError:
            assert size == 3  # a shape that no tree of the claimed size has


# True ones -------------------------------------------------------------------------------------------------------------------


@given(arity=arities, n=st.integers(1, 300), data=st.data())
@EACH_PAGES
def test_every_leaf_has_a_proof(arity: int, n: int, data: st.DataObject, pages: str) -> None:
    tree, leaves = snapshot(n, arity), counted_leaves(n)
    indices = data.draw(st.lists(st.integers(0, n - 1), max_size=20))
    many = tree.prove_many(indices)
    assert many.verify(tree.head).all()
    assert len(many) == len(indices)
    for i, index in enumerate(indices):
        proof = tree.prove(index)
        assert proof == many[i]
        assert proof.leaf == leaves[index]
        assert proof.siblings == b"".join(chain(*reference.siblings(leaves, arity, index)))
        assert proof.verify(tree.head)
        assert InclusionProof.decode(proof.encode()) == proof
    if indices:
        batch = tree.prove_batch(indices)
        assert batch.indices == tuple(sorted(set(indices)))
        assert batch.leaves == b"".join(leaves[i] for i in batch.indices)
        assert batch.verify(tree.head)
        assert BatchProof.decode(batch.encode()) == batch
        assert len(batch.siblings) <= sum(len(tree.prove(i).siblings) for i in batch.indices)


def test_a_batch_of_all_leaves_has_no_siblings() -> None:
    assert snapshot(21, 4).prove_batch(range(21)).siblings == b""


@given(arity=arities, old=st.integers(0, 200), more=st.integers(0, 200), index=st.integers(0, 199))
@EACH_PAGES
def test_a_tree_is_the_beginning_of_the_next(arity: int, old: int, more: int, index: int, pages: str) -> None:
    after = snapshot(old + more, arity)
    before = after.at(old)
    proof = after.consistency(old)
    assert proof.verify(before.head, after.head)
    assert ConsistencyProof.decode(proof.encode()) == proof
    if index < old:
        assert proof.update(before.prove(index), before.head, after.head) == after.prove(index)


@pytest.mark.parametrize("arity", [2, 3, 4])
def test_updates_are_the_proofs_of_the_new_tree_for_every_pair_of_sizes(arity: int) -> None:
    whole = snapshot(22, arity)
    trees = {n: whole.at(n) for n in range(1, 23)}
    for old, before in trees.items():
        for new in range(old, 23):
            proof = trees[new].consistency(old)
            for index in range(old):
                updated = proof.update(before.prove(index), before.head, trees[new].head)
                assert updated == trees[new].prove(index), (old, new, index)


def test_proofs_of_poseidon_hold_and_are_refused() -> None:
    tree, other = snapshot(7, 3, POSEIDON_BLS), snapshot(7, 3)
    proofs = tree.prove_many(range(7))
    assert proofs.verify(tree.head).all()
    assert not proofs.verify(other.head).any()
    assert tree.prove_batch([0, 4, 6]).verify(tree.head)
    before = tree.at(4)
    assert tree.consistency(4).verify(before.head, tree.head)
    assert not tree.consistency(4).verify(snapshot(4, 3).head, tree.head)


# False ones ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arity", [2, 3, 4])
def test_no_relabelled_proof_is_true(arity: int) -> None:
    """The nodes of every true proof, claimed for any other index or size, and against the heads of all sizes."""
    whole = snapshot(18, arity)
    heads = {n: whole.at(n).head for n in range(1, 19)}
    for n, head in heads.items():
        tree = whole.at(n)
        for index in range(n):
            true = tree.prove(index)
            for size, claimed_head in heads.items():
                for other in range(size):
                    if (size, other) != (n, index):
                        try:
                            false = dataclasses.replace(true, size=size, index=other)
                        except InputError:  # another number of siblings
                            continue
                        assert not false.verify(head)
                        assert not false.verify(claimed_head)


@pytest.mark.parametrize("arity", [2, 3, 4])
def test_no_inner_node_is_a_leaf(arity: int) -> None:
    """The upper part of every path, as a proof in the tree of as many leaves as the level has nodes: the root is the right one."""
    whole = snapshot(40, arity)
    for n in range(2, 41, 1 if arity > 2 else 3):
        tree = whole.at(n)
        for level in range(1, tree.depth + 1):
            size, head = tree.level_size(level), tree.head
            upper = LeanIMT(arity)
            upper.insert_many(tree.level(level))
            assert upper.root == head.root
            for index in range(size):
                false = upper.prove(index)
                assert false.verify(upper.head)
                assert not false.verify(head)
                assert not upper.prove_many([index]).verify(head).any()
                assert not upper.prove_batch([index]).verify(head)


def test_no_proof_is_true_against_another_arity_or_hash() -> None:
    two, four = snapshot(2, 2), snapshot(2, 4)
    assert two.root == four.root  # two children are hashed alike
    assert not two.prove(1).verify(four.head)
    assert not four.prove_many([1]).verify(two.head).any()
    assert not two.prove_batch([1]).verify(four.head)
    assert not two.prove(1).verify(dataclasses.replace(two.head, node_hash=POSEIDON_BLS))
    one, more = snapshot(1, 2), snapshot(1, 4)
    assert one.root == more.root
    assert not one.consistency(1).verify(one.head, more.head)
    assert not one.consistency(0).verify(Head(POSEIDON_BLS, 2, 0, None), one.head)


@pytest.mark.parametrize(("n", "arity"), [(1, 2), (3, 2), (17, 4), (26, 5)])
def test_a_changed_byte_of_any_proof_is_refused(n: int, arity: int) -> None:
    tree = snapshot(n, arity)
    before = tree.at(n - n // 2)
    batch = tree.prove_batch([0, n - 1])
    consistency = tree.consistency(before.size)
    for proof, verify in (
        (tree.prove(n - 1), lambda p: p.verify(tree.head)),
        (batch, lambda p: p.verify(tree.head)),
        (consistency, lambda p: p.verify(before.head, tree.head)),
    ):
        assert verify(proof)
        for name in ("leaf", "leaves", "siblings", "nodes"):
            for i in range(len(getattr(proof, name, b""))):
                data = bytearray(getattr(proof, name))
                data[i] ^= 1 << i % 8
                assert not verify(dataclasses.replace(proof, **{name: bytes(data)}))


def test_a_changed_head_is_refused() -> None:
    tree = snapshot(9, 2)
    wrong_root = Head(BLAKE3, 2, 9, bytes(32))
    assert not tree.prove(3).verify(wrong_root)
    assert not tree.prove_many([3]).verify(wrong_root).any()
    assert not tree.consistency(5).verify(tree.at(5).head, wrong_root)
    assert not tree.consistency(5).verify(Head(BLAKE3, 2, 5, bytes(32)), tree.head)
    assert not tree.consistency(5).verify(tree.at(4).head, tree.head)
    assert not tree.consistency(9).verify(tree.head, wrong_root)
    assert not tree.prove(3).verify(Head(BLAKE3, 2, 0, None))


def test_updates_of_what_is_not_true_are_none() -> None:
    tree = snapshot(9, 2)
    before = tree.at(5)
    consistency, proof = tree.consistency(5), before.prove(2)
    assert consistency.update(dataclasses.replace(proof, leaf=bytes(32)), before.head, tree.head) is None
    assert consistency.update(proof, before.head, Head(BLAKE3, 2, 9, bytes(32))) is None
    assert consistency.update(tree.prove(2), before.head, tree.head) is None
    assert tree.consistency(9).update(tree.prove(2), tree.head, tree.head) == tree.prove(2)


@given(arity=st.sampled_from([2, 3, 4, 7, 16]), n=st.integers(1, 150), seed=st.integers(0, 2**32))
@settings(max_examples=40)
def test_arrays_of_proofs_are_judged_one_by_one(arity: int, n: int, seed: int) -> None:
    """Random bits of leaves, of siblings and of places that the shape has not; by the kernel and by the plain way."""
    random = np.random.default_rng(seed)
    tree = snapshot(n, arity)
    true = tree.prove_many(random.integers(0, n, 80))
    leaves, siblings = true.leaves.copy(), true.siblings.copy()
    changed = random.integers(0, 2, 80).astype(bool)
    for i in np.flatnonzero(changed):
        nodes = (
            leaves[i].reshape(-1) if random.integers(0, 3) == 0 or siblings[i].size == 0 else siblings[i].reshape(-1)
        )
        nodes[random.integers(0, len(nodes))] ^= np.uint8(1 << random.integers(0, 8))
    proofs = InclusionProofs(arity, n, true.indices, leaves, siblings)
    assert (proofs.verify(tree.head) == ~changed).all()
    roots, tidy = NodeHash.path_roots(BLAKE3, leaves, siblings, true.indices, n, arity)
    again, tidy_again = BLAKE3.path_roots(leaves, siblings, true.indices, n, arity)
    assert (tidy == tidy_again).all()
    assert (roots == again).all()


def test_arrays_of_proofs_are_the_same_however_many_threads() -> None:
    tree = snapshot(5000, 4)
    indices = np.random.default_rng(3).integers(0, 5000, 9000)
    alone, shared = tree.prove_many(indices, threads=1), tree.prove_many(indices, threads=3)
    assert (alone.leaves == shared.leaves).all()
    assert (alone.siblings == shared.siblings).all()
    siblings = shared.siblings.copy()
    siblings[7001, 2, 1, 5] ^= 1
    for threads in (1, 3):
        verdict = dataclasses.replace(shared, siblings=siblings).verify(tree.head, threads)
        assert np.flatnonzero(~verdict).tolist() == [7001]


def test_arrays_of_proofs_may_lie_anyhow() -> None:
    tree = snapshot(50, 4)
    true = tree.prove_many(np.arange(50))
    siblings = np.asfortranarray(true.siblings)
    leaves = np.repeat(true.leaves, 2, axis=0)[::2]
    indices = np.repeat(true.indices, 2)[::2]
    for array in (siblings, leaves, indices):
        array.setflags(write=False)
    assert InclusionProofs(4, 50, indices, leaves, siblings).verify(tree.head).all()


def test_an_element_that_is_not_canonical_is_refused() -> None:
    """x + r is hashed as x, so it leads to the root."""
    tree = snapshot(5, 2, POSEIDON_BLS)

    def alias(node: bytes) -> bytes:
        return (int.from_bytes(node, "little") + FR_MODULUS).to_bytes(32, "little")

    proof = tree.prove(2)
    for false in (
        dataclasses.replace(proof, leaf=alias(proof.leaf)),
        dataclasses.replace(proof, siblings=alias(proof.siblings[:32]) + proof.siblings[32:]),
    ):
        assert not false.verify(tree.head)
    many = tree.prove_many([2, 3, 4])
    leaves = many.leaves.copy()
    leaves[1] = np.frombuffer(alias(leaves[1].tobytes()), np.uint8)
    assert InclusionProofs(2, 5, many.indices, leaves, many.siblings).verify(tree.head).tolist() == [True, False, True]
    batch = tree.prove_batch([2])
    assert not dataclasses.replace(batch, leaves=alias(batch.leaves)).verify(tree.head)
    before, consistency = tree.at(3), tree.consistency(3)
    false_nodes = alias(consistency.nodes[:32]) + consistency.nodes[32:]
    assert not dataclasses.replace(consistency, nodes=false_nodes).verify(before.head, tree.head)


# What is no proof ------------------------------------------------------------------------------------------------------------


def test_every_other_length_and_number_is_no_encoding() -> None:
    tree = snapshot(17, 4)
    proofs = (tree.prove(16), tree.prove(3), tree.prove_batch([3, 16]), tree.consistency(5), snapshot(1, 2).prove(0))
    for proof in proofs:
        data = proof.encode()
        for wrong in (b"", data[:-1], data + b"\0", data[:-32], data + bytes(32), data[:17]):
            with pytest.raises(WireError):
                type(proof).decode(wrong)
        for other in {InclusionProof, BatchProof, ConsistencyProof} - {type(proof)}:
            with pytest.raises(WireError):
                other.decode(data)
        for at in range(2, 18):  # sizes, indices and counts far above what the bytes hold
            with pytest.raises(WireError):
                type(proof).decode(data[:at] + b"\xff" * (18 - at) + data[18:])


@given(data=st.binary(max_size=200))
def test_any_bytes_decode_to_what_they_encode_or_are_refused(data: bytes) -> None:
    for kind in (InclusionProof, BatchProof, ConsistencyProof):
        for candidate in (data, bytes([{InclusionProof: 1, ConsistencyProof: 2, BatchProof: 3}[kind]]) + data):
            try:
                proof = kind.decode(candidate)
            except WireError:
                continue
            assert proof.encode() == candidate


@given(
    arity=arities,
    size=st.integers(1, 100),
    index=st.integers(0, 99),
    change=st.integers(-2, 2),
)
def test_only_the_number_of_siblings_that_follows_is_taken(arity: int, size: int, index: int, change: int) -> None:
    n = sum(len(level) for level in reference.siblings(counted_leaves(size), arity, index)) if index < size else 0
    try:
        InclusionProof(arity, size, index, bytes(32), bytes(32 * max(0, n + change)))
    except InputError:
        assert index >= size or (change != 0 and (n or change > 0))
    else:
        assert index < size
        assert max(0, n + change) == n


def test_numbers_out_of_range_are_refused() -> None:
    leaf = bytes(32)
    for arity, size, index, value in (
        (1, 1, 0, leaf),
        (17, 1, 0, leaf),
        (2, 0, 0, leaf),
        (2, 1, 1, leaf),
        (2, 1, 0, leaf[1:]),
    ):
        with pytest.raises(InputError):
            InclusionProof(arity, size, index, value, b"")
    with pytest.raises(InputError):
        InclusionProof(2, 2**62 + 1, 0, leaf, bytes(32 * 63))
    for indices in ((), (1, 0), (0, 0), (0, 9)):
        with pytest.raises(InputError, match="ind"):
            BatchProof(2, 9, indices, leaf * len(indices), b"")
    with pytest.raises(InputError, match="old_size"):
        ConsistencyProof(2, 4, 3, b"")
    for size, root in ((0, leaf), (1, None), (1, leaf[1:]), (-1, None), (2**62 + 1, leaf)):
        with pytest.raises(InputError):
            Head(BLAKE3, 2, size, root)


def test_arrays_of_another_shape_are_refused() -> None:
    good = snapshot(9, 3).prove_many([1, 8])
    for name, value in {
        "indices": good.indices.astype(np.int32),
        "leaves": good.leaves[:1],
        "siblings": good.siblings[:, 1:],
    }.items():
        with pytest.raises(InputError, match=name):
            dataclasses.replace(good, **{name: value})
    for wrong in ([-1, 0], [0, 9]):
        with pytest.raises(InputError, match="indices"):
            dataclasses.replace(good, indices=np.array(wrong))
        with pytest.raises(InputError, match="indices"):
            snapshot(9, 3).prove_many(wrong)
    for indices in (np.array([0.5]), np.zeros((1, 1), np.int64)):
        with pytest.raises(InputError, match="indices"):
            snapshot(9, 3).prove_many(indices)
    with pytest.raises(InputError, match="none of index"):
        snapshot(9, 3).prove(9)
    with pytest.raises(InputError, match="old_size"):
        snapshot(9, 3).consistency(10)
    with pytest.raises(InputError, match="indices"):
        snapshot(9, 3).prove_batch([])


def test_sizes_of_proofs_are_those_of_the_page() -> None:
    """docs/trees.md, the table of proofs at 10 million leaves."""
    sizes = {}
    for arity in (2, 4, 8, 16):
        head = 18 + 32
        depth = reference_depth(10**7, arity)
        sizes[arity] = head + 32 * (arity - 1) * depth
    page = (Path(__file__).parents[2] / "docs" / "trees.md").read_text()
    for arity, size in sizes.items():
        assert f"| {arity} | {reference_depth(10**7, arity)} | {size:,} |" in page
    assert all(a < b for a, b in pairwise(sizes))


def reference_depth(n: int, arity: int) -> int:
    depth = 0
    while arity**depth < n:
        depth += 1
    return depth


def test_leaves_of_arrays_are_those_that_were_inserted() -> None:
    leaves = as_array(counted_leaves(33))
    tree = LeanIMT(4)
    tree.insert_many(leaves)
    assert (tree.prove_many(np.arange(33)).leaves == leaves).all()

"""Node hashes by name, and what they refuse."""

from typing import Any

import numpy as np
import pytest

from bonsai_circuits.errors import InputError
from bonsai_circuits.kernels.bn254_fr import BN254_FR_MODULUS
from bonsai_circuits.trees.node_hash import BLAKE3, POSEIDON_BLS, POSEIDON_BN254, NodeHash, below, node_hash
from bonsai_verifier.parameters import FR_MODULUS
from tests.reference.lean_imt import blake3_node
from tests.reference.poseidon import poseidon
from tests.reference.poseidon_bn254 import poseidon as poseidon_bn254
from tests.trees.leaves import as_array


def test_hashes_have_names() -> None:
    assert node_hash("blake3") is BLAKE3
    assert node_hash("poseidon_bls") is POSEIDON_BLS
    assert node_hash("poseidon_bn254") is POSEIDON_BN254
    assert repr(BLAKE3) == "node_hash('blake3')"
    with pytest.raises(InputError, match="blake3, poseidon_bls, poseidon_bn254"):
        node_hash("sha3")


@pytest.mark.parametrize("k", [2, 3, 9, 16])
def test_parents_of_blake3_are_hashes_of_the_children_one_after_the_other(k: int) -> None:
    children = np.random.default_rng(k).integers(0, 256, (5, k, 32), np.uint8)
    want = [blake3_node([child.tobytes() for child in row]) for row in children]
    assert [row.tobytes() for row in BLAKE3.parents(children)] == want
    every_other = np.repeat(children, 2, axis=0)[::2]
    assert (BLAKE3.parents(every_other) == BLAKE3.parents(children)).all()
    assert BLAKE3.parents(children[:0]).shape == (0, 32)


@pytest.mark.parametrize("k", [2, 4, 8])
def test_parents_of_poseidon_are_tagged_with_the_number_of_children(k: int) -> None:
    inputs = [FR_MODULUS - 1 - i for i in range(k)]
    children = as_array([x.to_bytes(32, "little") for x in inputs])[None]
    assert as_integer(POSEIDON_BLS.parents(children)) == poseidon(inputs, 2**k - 1)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_parents_over_bn254_are_those_of_circom(k: int) -> None:
    inputs = [BN254_FR_MODULUS - 1 - i for i in range(k)]
    children = as_array([x.to_bytes(32, "little") for x in inputs])[None]
    assert as_integer(POSEIDON_BN254.parents(children)) == poseidon_bn254(inputs)


def as_integer(nodes: np.ndarray) -> int:
    return int.from_bytes(nodes.tobytes(), "little")


@pytest.mark.parametrize("any_hash", [BLAKE3, POSEIDON_BLS, POSEIDON_BN254], ids=repr)
def test_what_are_no_children_is_refused(any_hash: NodeHash) -> None:
    for shape in ((1, 1, 32), (1, 17, 32), (1, 2, 31), (2, 32)):
        with pytest.raises(InputError, match="children"):
            any_hash.parents(np.zeros(shape, np.uint8))
    no_arrays: list[Any] = [[bytes(32), bytes(32)], bytes(64), None]
    for bad in no_arrays:
        with pytest.raises(InputError, match=rf"children: expected an array .* got {type(bad).__name__}"):
            any_hash.parents(bad)
    with pytest.raises(InputError, match="children"):
        any_hash.parents(np.zeros((1, 2, 32), np.int8))


def test_below_compares_whole_integers() -> None:
    m = FR_MODULUS
    values = [0, 1, m - 1, m, m + 1, 2**256 - 1, m - 2**64, m + 2**64, m - 2**192, m + 2**192, m ^ 1]
    nodes = as_array([x.to_bytes(32, "little") for x in values])
    assert below(nodes, m).tolist() == [x < m for x in values]

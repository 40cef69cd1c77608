"""circom's Poseidon in the clear: constants and hashes of its own programs, equality with the oracle, refusals."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.errors import InputError
from bonsai_circuits.kernels.bn254_fr import BN254_FR_MODULUS, BN254_U
from bonsai_circuits.native import poseidon_bn254 as native
from tests.reference import poseidon_bn254 as reference

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "poseidon_bn254.json").read_text())
R = BN254_FR_MODULUS
elements = st.one_of(st.integers(0, 3), st.integers(R - 3, R - 1), st.integers(0, R - 1))


def digest(rows: Sequence[Sequence[int]]) -> str:
    return hashlib.sha256(b"".join(x.to_bytes(32, "little") for row in rows for x in row)).hexdigest()


def test_the_field_follows_from_its_parameter() -> None:
    u = BN254_U
    assert 36 * u**4 + 36 * u**3 + 18 * u**2 + 6 * u + 1 == R == reference.P


@pytest.mark.parametrize("vector", VECTORS["hashes"], ids=lambda v: v["name"])
def test_hash_equals_the_vector(vector: dict[str, Any]) -> None:
    inputs = [int(x, 16) for x in vector["inputs"]]
    assert native.poseidon_bn254(inputs) == int(vector["output"], 16)


@pytest.mark.parametrize("name", VECTORS["parameters"])
def test_parameters_equal_those_of_circomlibjs(name: str) -> None:
    vector = VECTORS["parameters"][name]
    got = native.poseidon_bn254_parameters(vector["t"] - 1)
    assert (got.t, got.r_f, got.r_p) == (vector["t"], vector["R_F"], vector["R_P"])
    assert sum(map(len, got.round_constants)) == vector["rc_count"]
    assert got.round_constants[0][0] == int(vector["rc_first"], 16)
    assert got.round_constants[-1][-1] == int(vector["rc_last"], 16)
    assert got.mds[0][0] == int(vector["mds_first"], 16)
    assert (digest(got.round_constants), digest(got.mds)) == (vector["rc_sha256_le"], vector["mds_sha256_le"])


@pytest.mark.parametrize("arity", [1, 2, 5])
def test_parameters_equal_the_oracle(arity: int) -> None:
    constants, matrix = reference.parameters(arity + 1)
    got = native.poseidon_bn254_parameters(arity)
    assert [list(row) for row in got.round_constants] == constants
    assert [list(row) for row in got.mds] == matrix


@given(st.data(), st.sampled_from([1, 2, 5]))
@settings(max_examples=30)
def test_hash_equals_the_oracle(data: st.DataObject, arity: int) -> None:
    inputs = data.draw(st.lists(elements, min_size=arity, max_size=arity))
    assert native.poseidon_bn254(inputs) == reference.poseidon(inputs)


@pytest.mark.parametrize("arity", [0, 17])
def test_an_unknown_arity_is_refused(arity: int) -> None:
    with pytest.raises(InputError, match="arity"):
        native.poseidon_bn254([0] * arity)


@pytest.mark.parametrize("bad", [-1, R, 2**256 - 1])
def test_a_value_outside_the_field_is_refused_by_name(bad: int) -> None:
    with pytest.raises(InputError) as error:
        native.poseidon_bn254([0, bad])
    assert error.value.field == "inputs[1]"

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.gadgets.poseidon import poseidon
from bonsai_circuits.native import poseidon as native
from bonsai_circuits.pipeline import Compiled
from bonsai_circuits.witness.runner import run
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.support import broken, builder, compiled, forged, satisfied

ARITIES = (2, 3, 4, 8)


def circuit_of(arity: int, extra_rows: bool = True) -> Compiled:
    """out = Poseidon(inputs); the inputs are multiplied once more, so that none is free."""

    def describe(c, p, w):
        inputs = [getattr(w, f"x{i}") for i in range(arity)]
        p.out.must_equal(poseidon(c, inputs, native.merkle_tag(arity)))
        if extra_rows:
            for i, x in enumerate(inputs):
                getattr(p, f"y{i}").must_equal(x * 3)

    names = ("out", *(f"y{i}" for i in range(arity))) if extra_rows else ("out",)
    return compiled(describe, *names)


CIRCUITS = {arity: circuit_of(arity) for arity in ARITIES}


@pytest.mark.parametrize("arity", ARITIES)
@settings(max_examples=15)
@given(data=st.data())
def test_gadget_equals_its_native_twin(arity: int, data: st.DataObject) -> None:
    xs = data.draw(st.lists(st.integers(0, R - 1), min_size=arity, max_size=arity))
    w = run(CIRCUITS[arity].tape, {f"x{i}": x for i, x in enumerate(xs)})
    assert w.public()["out"] == native.poseidon(xs, native.merkle_tag(arity))
    assert not any(broken(CIRCUITS[arity], w))


@pytest.mark.parametrize("arity", ARITIES)
@pytest.mark.parametrize("free", [False, True])
def test_gadget_costs_what_it_says(arity: int, free: bool) -> None:
    circuit = circuit_of(arity, not free)
    t, r_p, e = arity + 1, native.poseidon_parameters(arity).r_p, arity if free else 0
    n_public = 1 if free else 1 + arity
    assert circuit.r1cs.n_rows == 3 * (8 * t + r_p - 1 - e) - t // 2
    assert circuit.square.n_rows == 4 * (8 * t + r_p - 1 - e) - 2 * (t // 2) + n_public + 1


@pytest.mark.parametrize("free", [False, True])
def test_wrong_output_is_rejected(free: bool) -> None:
    circuit = circuit_of(2, not free)
    inputs = {"x0": 1, "x1": 2}
    out = run(circuit.tape, inputs).public()["out"]
    assert satisfied(circuit, inputs | {"out": out})
    assert not satisfied(circuit, inputs | {"out": (out + 1) % R})


def test_forged_wires_are_rejected_by_their_rows() -> None:
    circuit, inputs = CIRCUITS[2], {"x0": 1, "x1": 2}
    for wire, name in enumerate(circuit.traced.wire_names):
        if "/" in name:
            failed = forged(circuit, inputs, name, 12345)
            assert failed, f"{name} (wire {wire}) is not constrained"
            scope = name.split("/s-box")[0].rpartition("/")[0]
            assert any(row.scope.replace(" ", "").startswith(scope.partition("/round")[0]) for row in failed)


def test_constants_add_no_rows() -> None:
    c = builder("x")
    out = poseidon(c, [c.num(1), c.num(2)], 3)
    assert out.constant_value() == native.poseidon((1, 2), 3)
    _ = c.public("x") * c.public("x")
    assert len(c.finish().rows) == 1


HASHES = json.loads((Path(__file__).parents[1] / "vectors" / "poseidon.json").read_text())["hashes"]


@pytest.mark.parametrize(
    "vector", [v for v in HASHES if v["t"] - 1 in ARITIES and not v["strengthened"]], ids=lambda v: v["name"]
)
def test_gadget_equals_the_vectors(vector: dict[str, Any]) -> None:
    """Arities 2, 4, 8, with Merkle and constant-length tags; for arity 3 nobody publishes one, its twin stands on the parameters."""
    arity = vector["t"] - 1

    def describe(c, p, w):
        p.out.must_equal(poseidon(c, [getattr(w, f"x{i}") for i in range(arity)], int(vector["tag"], 0)))

    circuit = compiled(describe, "out")
    inputs = {f"x{i}": int(x, 0) for i, x in enumerate(vector["inputs"])}
    inputs |= {f"x{i}": 0 for i in range(len(inputs), arity)}
    out = int(vector["output"], 0)
    assert satisfied(circuit, inputs | {"out": out})
    assert not satisfied(circuit, inputs | {"out": (out + 1) % R})

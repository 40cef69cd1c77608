"""Two implementations of send, ours and the circom program, say the same; snarkjs accepts our files and refuses forged ones."""

import random
from pathlib import Path

import pytest

from bonsai_circuits.errors import ToolFailed, ToolMissing
from bonsai_circuits.interop import circom, snarkjs
from bonsai_circuits.interop.circom_templates import render
from bonsai_circuits.interop.r1cs_file import write_r1cs
from bonsai_circuits.interop.wtns_file import write_wtns
from bonsai_circuits.pipeline import build
from bonsai_circuits.relations.builtin import built_in
from bonsai_circuits.witness.runner import run
from bonsai_verifier.field import fr_to_canonical, ints_from_limbs
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.support import satisfied

SEND = build(built_in("send", "poseidon", "wide"))
AMOUNT = 2**64
OUTPUTS = ("com", "com_new", "rho")


def honest(rng: random.Random) -> dict[str, int]:
    change, v, fee = (rng.choice([0, 1, AMOUNT - 1, rng.randrange(AMOUNT)]) for _ in range(3))
    free = {name: rng.choice([0, 1, R - 1, rng.randrange(R)]) for name in ("A", "root", "rec", "s", "s_new", "t")}
    inputs = {**free, "b": (change + v + fee) % R, "v": v, "fee": fee}
    return inputs | {name: run(SEND.tape, inputs).public()[name] for name in OUTPUTS}


def wrong(rng: random.Random) -> dict[str, int]:
    """Honest inputs with one number changed, its outputs computed again or not."""
    inputs = honest(rng)
    name = rng.choice(["v", "b", "fee", *OUTPUTS, "A", "root", "rec", "s", "s_new", "t"])
    inputs[name] = rng.choice(
        [(inputs[name] + 1) % R, (inputs[name] + AMOUNT) % R, R - 1 - inputs[name], rng.randrange(R)]
    )
    if name in ("v", "b", "fee") and rng.random() < 0.7:
        computed = run(SEND.tape, {k: x for k, x in inputs.items() if k not in OUTPUTS}).public()
        inputs |= {k: computed[k] for k in OUTPUTS}
    return inputs


def test_ours_and_circom_agree_on_outputs_and_on_rejections(tmp_path: Path) -> None:
    for name, text in render("send-poseidon").items():
        (tmp_path / name).write_text(text)
    try:
        program = circom.compile_circom(tmp_path / "send-poseidon.circom", tmp_path)
    except ToolMissing as e:
        pytest.skip(str(e))
    rng = random.Random(20261130)
    batch = [honest(rng) for _ in range(60)] + [wrong(rng) for _ in range(140)]
    results = circom.calculate_witnesses(program.wasm, batch)
    verdicts = [not isinstance(result, ToolFailed) for result in results]
    assert verdicts == [satisfied(SEND, inputs) for inputs in batch]
    assert verdicts[:60] == [True] * 60
    assert verdicts.count(False) > 100
    for inputs, result in zip(batch, results, strict=True):
        if not isinstance(result, ToolFailed):
            public = list(run(SEND.tape, inputs).public().values())
            assert ints_from_limbs(result[1:6]) == public == [inputs[name] for name in ("A", *OUTPUTS, "fee")]


def test_snarkjs_accepts_our_files_and_refuses_a_forged_witness(tmp_path: Path) -> None:
    r1cs, wtns = tmp_path / "circuit.r1cs", tmp_path / "witness.wtns"
    z = fr_to_canonical(run(SEND.tape, honest(random.Random(1))).r1cs())
    write_r1cs(r1cs, SEND.r1cs)
    write_wtns(wtns, z)
    try:
        info = snarkjs.r1cs_info(r1cs)
    except ToolMissing as e:
        pytest.skip(str(e))
    assert (info.n_rows, info.n_wires, info.n_public_inputs) == (911, 919, 5)
    assert snarkjs.wtns_check(r1cs, wtns)
    z[500, 0] ^= 1
    write_wtns(wtns, z)
    assert not snarkjs.wtns_check(r1cs, wtns)

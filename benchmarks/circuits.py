"""The ten built-in circuits on one core: synthesis, witness, keys, proof, a fresh process for each of them.

Synthesis is from the description to the files: trace, rows, lowering, tape, written.  CPU time stands beside wall time, which says more
on a machine that does other things.  Memory is the peak of the process, Python and kernels included.  Every process first runs a circuit of
one row through the same calls, so that no figure has the loading of kernels in it.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bonsai_circuits import Builder, Public, Secret, relation
from bonsai_circuits.pipeline import Circuit, build, write
from bonsai_circuits.relations.builtin import BUILT_IN, BuiltIn
from bonsai_circuits.witness.inputs import read_inputs
from bonsai_circuits.witness.runner import run
from bonsai_verifier import verify

from .measure import peak_mib, report

EXAMPLES = Path(__file__).parents[1] / "examples"
SHORT_S = 0.25  # of CPU time: calls below this are repeated often
REPETITIONS = 100, 2  # of a short call, of a long one
SYNTHESIS, PROVING = "synthesis", "proving"


@relation(public=("x",))
def one_row(c: Builder, p: Public, w: Secret) -> None:
    """x = a^2."""
    p.x.must_equal(c.square(w.a, "a^2"))


def main() -> None:
    rows: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for circuit in BUILT_IN:
            at = str(Path(folder) / circuit.name)
            rows[circuit.name] = _child(SYNTHESIS, circuit.name, at) | _child(PROVING, circuit.name, at)
    wide, classic = rows["op-poseidon-wide"], rows["op-pedersen-classic"]
    figures = {
        "op_poseidon_wide_synthesis_s": wide["synthesis_s"],
        "op_poseidon_wide_synthesis_cpu_s": wide["synthesis_cpu_s"],
        "op_pedersen_classic_synthesis_s": classic["synthesis_s"],
        "op_pedersen_classic_synthesis_cpu_s": classic["synthesis_cpu_s"],
        "op_pedersen_classic_synthesis_gib": classic["synthesis_mib"] / 1024,
        "op_poseidon_wide_witness_ms": wide["witness_ms"],
        "op_poseidon_wide_witness_cpu_ms": wide["witness_cpu_ms"],
        "op_pedersen_classic_witness_ms": classic["witness_ms"],
        "op_pedersen_classic_witness_cpu_ms": classic["witness_cpu_ms"],
    }
    report("circuits", figures, {}, rows)


def _child(step: str, name: str, folder: str) -> dict[str, float]:
    """What one step of one circuit measures, in a process of its own; it inherits the core."""
    words = [sys.executable, "-m", f"{__package__}.circuits", step, name, folder]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def synthesis(circuit: BuiltIn, folder: Path) -> dict[str, float]:
    """From the description to the files; then the witness, the tape loaded."""
    warm_up()
    before = peak_mib()
    taken, _ = _timed(lambda: write(folder, build(circuit)))
    peak = peak_mib()
    made, inputs = Circuit.open(folder), example(circuit)
    tape = made.tape
    taken_by_witness, witness = _repeated(lambda: run(tape, inputs))
    assert made.failures(witness) == []
    return {
        "synthesis_s": taken[0],
        "synthesis_cpu_s": taken[1],
        "synthesis_mib": peak,
        "before_mib": before,
        "witness_ms": 1e3 * statistics.median(wall for wall, _ in taken_by_witness),
        "witness_cpu_ms": 1e3 * min(cpu for _, cpu in taken_by_witness),
    }


def proving(circuit: BuiltIn, folder: Path) -> dict[str, float]:
    """Development keys written, and a proof from inputs, its check included; it verifies, and for another fee it does not."""
    warm_up()
    made, inputs = Circuit.open(folder), example(circuit)
    setup, key = _timed(made.make_development_keys)
    vk = made.verifying_key(allow_development=True)
    taken, proof = _repeated(lambda: made.prove(key, made.witness(inputs)))
    public = made.witness(inputs).public()
    assert verify(vk, list(public.values()), proof)
    assert not verify(vk, list((public | {"fee": public["fee"] + 1}).values()), proof)
    return {
        "setup_s": setup[0],
        "setup_cpu_s": setup[1],
        "prove_s": statistics.median(wall for wall, _ in taken),
        "prove_cpu_s": min(cpu for _, cpu in taken),
        "proving_mib": peak_mib(),
    }


def example(circuit: BuiltIn) -> dict[str, int]:
    """The inputs of examples/ for this circuit."""
    if circuit.relation == "send":
        folder = EXAMPLES / "payments"
        return read_inputs(min((folder if circuit.hash == "poseidon" else folder / circuit.hash).glob("*.json")))
    folder = EXAMPLES / "operations"
    if (circuit.hash, circuit.tree) != ("poseidon", "wide"):
        folder /= f"{circuit.hash}-{circuit.tree}"
    return read_inputs(min(folder.glob(f"*-{circuit.relation}-*.json")))


def warm_up() -> None:
    """The circuit of one row, from its description to a proof."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), build(one_row.trace("one-row")))
        circuit = Circuit.open(Path(folder))
        circuit.prove(circuit.make_development_keys(), circuit.witness({"a": 3}))


def _timed(call: Callable[[], Any]) -> tuple[tuple[float, float], Any]:
    """(wall seconds, CPU seconds), and what the call gave."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = call()
    return (time.perf_counter() - wall, time.process_time() - cpu), found


def _repeated(call: Callable[[], Any]) -> tuple[list[tuple[float, float]], Any]:
    """(wall, CPU) seconds of one call after the other, many short ones or few long ones; and what the last one gave."""
    first, found = _timed(call)
    short, long = REPETITIONS
    taken = []
    for _ in range(short if first[1] < SHORT_S else long):
        seconds, found = _timed(call)
        taken.append(seconds)
    return taken, found


if __name__ == "__main__":
    step, name, folder = sys.argv[1:]
    (chosen,) = (one for one in BUILT_IN if one.name == name)
    measured = {SYNTHESIS: synthesis, PROVING: proving}[step](chosen, Path(folder))
    print(json.dumps(measured))

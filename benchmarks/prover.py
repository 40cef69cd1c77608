"""The prover from inputs to proof, all built-in circuits, on one core and on all of them, beside the provers of others in the same run.

A proof is timed as a wallet makes it: witness from inputs, proof, and the check of the proof before it leaves; circuit and key are open.
The yardstick is blst's sum of 65,536 points by scalars of 255 bits on one core: the two take turns, and figures `_vs_yardstick` are
seconds of one thread over it.  Every circuit has a process of its own, which opens what another one has made, and whose peak of memory
says what a wallet needs; `key_ms` is the first load of the key in it, `key_again_ms` any later one.

Groth16 proves the same rows of op over Poseidon, wide, from its .r1cs and .wtns: snarkjs on all cores, `_started` with the start of its
process; arkworks on one core, the rows in memory.  Neither has its witness or a check of the proof timed, ours has both.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import TypeAlias, TypeVar

from bonsai_circuits.interop.node import find_node, find_tool
from bonsai_circuits.interop.r1cs_file import write_r1cs
from bonsai_circuits.interop.wtns_file import write_wtns
from bonsai_circuits.pipeline import PROVING_KEY, Circuit, build, write
from bonsai_circuits.relations.builtin import BUILT_IN, BuiltIn
from bonsai_verifier import verify
from bonsai_verifier.field import fr_to_canonical
from bonsai_verifier.kernels import cpu

from .circuits import example, warm_up
from .measure import all_cores, medians, one_core, peak_mib, report
from .peers import arkworks_groth16, snarkjs_groth16, snarkjs_key, yardstick
from .peers import build as build_peers

COMPARED = "send-poseidon", "op-poseidon-wide", "op-poseidon-classic", "send-pedersen", "op-pedersen-wide"
BESIDE_GROTH16 = "op-poseidon-wide"
BUDGET_S = 10.0  # of repetitions of one thing
ROUNDS = 3, 15  # at least, at most
GROTH16_ROUNDS = 5
ALL_CORES = 0
T = TypeVar("T")
Found: TypeAlias = dict[str, float]


def main() -> None:
    program, _ = build_peers()
    rows: dict[str, Found] = {}
    portable: Found = {}
    with tempfile.TemporaryDirectory() as folder:
        for circuit in BUILT_IN:
            name, at = circuit.name, Path(folder) / circuit.name
            print(f"prover: {name}", file=sys.stderr)
            rows[name] = _child(making, circuit, at, program) | _child(proving, circuit, at, program)
            if name in COMPARED:
                found = _child(proving, circuit, at, program, {"BONSAI_KERNELS": cpu.PORTABLE})
                portable[f"{_snake(name)}_portable_vs_yardstick"] = found["vs_yardstick"]
            if name == BESIDE_GROTH16:
                beside = _child(beside_groth16, circuit, at, program)
    wide = rows["op-poseidon-wide"]
    figures = {
        **{f"{_snake(name)}_vs_yardstick": rows[name]["vs_yardstick"] for name in COMPARED},
        "threads2_speedup": beside["one_thread_ms"] / beside["two_threads_ms"],
        "snarkjs_over_ours_op_wide": beside["snarkjs_ms"] / beside["all_cores_ms"],
        "op_poseidon_wide_peak_mib": wide["peak_mib"],
        "op_pedersen_wide_peak_mib": rows["op-pedersen-wide"]["peak_mib"],
        "setup_op_poseidon_wide_s": wide["setup_s"],
    }
    details = {
        "body": "vector" if cpu.vector() else "portable",
        **portable,
        **{f"{_snake(BESIDE_GROTH16)}_{name}": found for name, found in beside.items()},
    }
    report("prover", figures, details, rows)


def _snake(name: str) -> str:
    return name.replace("-", "_")


def _child(
    step: Callable[[BuiltIn, Path, Path], Found],
    circuit: BuiltIn,
    folder: Path,
    program: Path,
    environment: Mapping[str, str] | None = None,
) -> Found:
    """What one step of one circuit measures, in a process of its own, to which all cores are open."""
    words = [sys.executable, "-m", f"{__package__}.prover", step.__name__, circuit.name, str(folder), str(program)]
    with all_cores():
        done = subprocess.run(
            words, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | (environment or {})
        )
    found: Found = json.loads(done.stdout)
    return found


# Steps of one circuit, a process each ----------------------------------------------------------------------------------------


def making(circuit: BuiltIn, folder: Path, program: Path) -> Found:
    """The circuit's files and its keys, written; and a proof, after which later processes find all kernels compiled."""
    warm_up()
    write(folder, build(circuit))
    made = Circuit.open(folder)
    taken: list[float] = []
    while sum(taken) < BUDGET_S / 2:
        seconds, key = _seconds(made.make_development_keys)
        taken.append(seconds)
    made.prove(key, made.witness(example(circuit)))
    return {"setup_s": median(taken), "key_mib": (folder / PROVING_KEY).stat().st_size / 2**20}


def proving(circuit: BuiltIn, folder: Path, program: Path) -> Found:
    """Proofs as a wallet makes them; one verifies, and for another fee it does not."""
    made, inputs = Circuit.open(folder), example(circuit)
    key_s, key = _seconds(made.proving_key)
    vk = made.verifying_key(allow_development=True)

    def prove() -> bytes:
        return made.prove(key, made.witness(inputs), threads=1)

    def prove_on_all_cores() -> bytes:
        with all_cores():
            return made.prove(key, made.witness(inputs), threads=ALL_CORES)

    public = made.witness(inputs).public()
    for proof in (prove(), prove_on_all_cores()):
        assert verify(vk, list(public.values()), proof)
        assert not verify(vk, list((public | {"fee": public["fee"] + 1}).values()), proof)
    calls: dict[str, Callable[[], object]] = {
        "prove": prove,
        "all_cores": prove_on_all_cores,
        "witness": lambda: made.witness(inputs),
    }
    with yardstick(program) as asked:
        seconds = _turns(calls, {"yardstick": asked}, _rounds(prove))
    peak = peak_mib()
    again = medians({"key": made.proving_key}, ROUNDS[0])
    return {
        "key_ms": 1e3 * key_s,
        "key_again_ms": 1e3 * again["key"],
        **{f"{name}_ms": 1e3 * s for name, s in seconds.items()},
        "vs_yardstick": seconds["prove"] / seconds["yardstick"],
        "peak_mib": peak,
    }


def beside_groth16(circuit: BuiltIn, folder: Path, program: Path) -> Found:
    """Milliseconds of our prover on one thread, two and all cores, and of Groth16 over the same rows; then ours by its parts, one core."""
    made, inputs = Circuit.open(folder), example(circuit)
    key = made.proving_key()
    parts: dict[str, float] = {}
    r1cs, wtns, outputs = (folder / f"{circuit.name}.{kind}" for kind in ("r1cs", "wtns", "outputs"))
    write_r1cs(r1cs, made.r1cs)
    write_wtns(wtns, fr_to_canonical(made.witness(inputs).r1cs()))
    power = (made.r1cs.n_rows + len(made.r1cs.public)).bit_length()  # of the least domain for rows and instance
    snarkjs_zkey = snarkjs_key(r1cs)
    words = [str(find_node()), str(find_tool("snarkjs")), "groth16", "prove", str(snarkjs_zkey), str(wtns)]

    def prove(threads: int) -> bytes:
        with all_cores():
            return made.prove(key, made.witness(inputs), threads=threads)

    def start_snarkjs() -> None:
        with all_cores():
            subprocess.run([*words, f"{outputs}.proof", f"{outputs}.public"], stdout=subprocess.DEVNULL, check=True)

    calls: dict[str, Callable[[], object]] = {
        "one_thread": lambda: prove(1),
        "two_threads": lambda: prove(2),
        "all_cores": lambda: prove(ALL_CORES),
        "snarkjs_started": start_snarkjs,
    }
    with (
        snarkjs_groth16(r1cs, wtns, power, snarkjs_zkey) as snarkjs,
        arkworks_groth16(program, r1cs, wtns) as arkworks,
    ):
        seconds = _turns(calls, {"snarkjs": snarkjs, "arkworks": arkworks}, GROTH16_ROUNDS)
    for _ in range(GROTH16_ROUNDS):
        made.prove(key, made.witness(inputs), threads=1, timings=parts)
    return {f"{name}_ms": 1e3 * s for name, s in seconds.items()} | {
        f"part_{name}_ms": 1e3 * s / GROTH16_ROUNDS for name, s in parts.items()
    }


def _seconds(call: Callable[[], T]) -> tuple[float, T]:
    began = time.perf_counter()
    found = call()
    return time.perf_counter() - began, found


def _rounds(call: Callable[[], object]) -> int:
    """As many as BUDGET_S has room for, within reason."""
    least, most = ROUNDS
    return min(max(int(BUDGET_S / _seconds(call)[0]), least), most)


def _turns(
    calls: Mapping[str, Callable[[], object]], peers: Mapping[str, Callable[[], float]], rounds: int
) -> dict[str, float]:
    """Median seconds of the calls, and of peers who measure themselves; all take turns."""
    taken: dict[str, list[float]] = {name: [] for name in peers}
    asked = {name: lambda name=name, ask=ask: taken[name].append(ask()) for name, ask in peers.items()}
    return medians({**calls, **asked}, rounds) | {name: median(seconds) for name, seconds in taken.items()}


if __name__ == "__main__":
    one_core()
    step, name, at, peers_program = sys.argv[1:]
    (chosen,) = (one for one in BUILT_IN if one.name == name)
    measure = {one.__name__: one for one in (making, proving, beside_groth16)}[step]
    print(json.dumps(measure(chosen, Path(at), Path(peers_program))))

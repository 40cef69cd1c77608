"""bonsai witness, bonsai check, bonsai prove."""

import contextlib
import os
import sys
from pathlib import Path
from types import ModuleType

import click

from bonsai_verifier.field import fr_from_canonical, fr_to_canonical
from bonsai_verifier.parameters import CONTEXT_BYTES

from ..artifacts.atomic import write_atomic
from ..errors import InputError
from ..interop.wtns_file import read_wtns, write_wtns
from ..pipeline import Circuit
from ..prover import pari
from ..witness.inputs import format_inputs, read_inputs
from ..witness.runner import Witness
from .console import EXIT_FAILED, VALUES_HIDDEN, result, say, steps
from .options import circuit_options, open_circuit, threads_option

resource: ModuleType | None = None
with contextlib.suppress(ImportError):  # Windows has none
    import resource

_FILE = click.Path(dir_okay=False, path_type=Path)
_input = click.option("--input", "input_file", type=_FILE, help="JSON file of the circuit's inputs.")
_witness = click.option("--witness", "witness_file", type=_FILE, help="An assignment of the R1CS instead, as .wtns.")


@click.command()
@circuit_options()
@click.option("--input", "input_file", type=_FILE, required=True, help="JSON file of the circuit's inputs.")
@click.option("--out", type=_FILE, required=True, help="The .wtns file to write.")
def witness(
    circuit: str, hash_name: str, tree: str, compiled: Path, as_json: bool, input_file: Path, out: Path
) -> None:
    """Compute the values of all wires of CIRCUIT from its inputs and write them as .wtns; `check` says whether they satisfy it."""
    target = open_circuit(circuit, hash_name, tree, compiled)
    require_distinct(input_file, out)
    with steps(1) as progress:
        progress.start("witness")
        found = target.witness(read_inputs(input_file))
        write_wtns(out, fr_to_canonical(found.r1cs()))
        progress.done()
    public = {name: str(value) for name, value in found.public().items()}
    result({"out": str(out), "public": public}, f"{out}: {len(found.tape.r1cs)} wires", as_json)


@click.command()
@circuit_options()
@_input
@_witness
@click.option("--show-values", is_flag=True, help="Print the values of both sides of a failed row; they may be secret.")
def check(
    circuit: str,
    hash_name: str,
    tree: str,
    compiled: Path,
    as_json: bool,
    input_file: Path | None,
    witness_file: Path | None,
    show_values: bool,
) -> None:
    """Check every row of CIRCUIT without proving; a failed row is named with its source line and both sides."""
    target = open_circuit(circuit, hash_name, tree, compiled)
    with steps(1) as progress:
        progress.start("check")
        failed = target.failures(_witness_of(target, input_file, witness_file))
        progress.done()
    if as_json:
        rows = [
            {
                "row": f.row,
                "scope": f.scope,
                "label": f.label,
                "where": f.where,
                "user_where": f.user_where,
                "left": f.left,
                "right": f.right,
                "inputs": list(f.inputs),
                "values": [str(v) for v in f.values] if show_values else None,
            }
            for f in failed
        ]
        result({"ok": not failed, "failed": rows}, "", as_json)
    elif failed:
        for f in failed:
            say(f.report(show_values))
        if not show_values:
            say(f"{VALUES_HIDDEN}; --show-values prints them")
    else:
        result(None, f"{target.about.name}: every row holds", as_json)
    if failed:
        raise click.exceptions.Exit(EXIT_FAILED)


@click.command()
@circuit_options()
@_input
@_witness
@click.option("--out", type=_FILE, required=True, help="The proof file to write: 128 bytes.")
@click.option("--public-out", type=_FILE, help="The public inputs, as JSON.  [default: beside the proof, .public.json]")
@click.option("--context", default="", help="32 bytes in hexadecimal that the proof is bound to.  [default: zeros]")
@click.option(
    "--check-key", is_flag=True, help="Check every element of the proving key first: once for a key from elsewhere."
)
@threads_option
@click.option("--timings", is_flag=True, help="Add the seconds of each step, and the most memory that was held.")
def prove(
    circuit: str,
    hash_name: str,
    tree: str,
    compiled: Path,
    as_json: bool,
    input_file: Path | None,
    witness_file: Path | None,
    out: Path,
    public_out: Path | None,
    context: str,
    check_key: bool,
    threads: int,
    timings: bool,
) -> None:
    """Prove that the inputs satisfy CIRCUIT: writes a proof of 128 bytes and its public inputs."""
    target = open_circuit(circuit, hash_name, tree, compiled)
    public_out = public_out or public_path(out)
    require_distinct(input_file, witness_file, out, public_out)
    bound = parse_context(context)
    taken: dict[str, float] = {}
    with steps(2 + len(pari.STEPS)) as progress:
        progress.start("witness")
        with pari.timed(taken, "witness"):
            found = _witness_of(target, input_file, witness_file)
        progress.done()
        progress.start("proving key")
        with pari.timed(taken, "load"):
            key = target.proving_key(check=check_key, memory=0)
        proof = target.prove(key, found, bound, taken, threads, progress.next)
        progress.done()
    public = found.public()
    write_atomic(public_out, format_inputs(public).encode())
    write_atomic(out, proof)
    value = {
        "proof": str(out),
        "bytes": len(proof),
        "public_file": str(public_out),
        "public": {name: str(x) for name, x in public.items()},
        **({"timings": taken, "peak_mib": peak_mib()} if timings else {}),
    }
    text = f"{out}: {len(proof)} bytes, public inputs in {public_out}"
    if timings:
        text += "".join(f"\n  {step:12} {seconds:.4f} s" for step, seconds in taken.items())
        if (peak := peak_mib()) is not None:
            text += f"\n  {peak:.0f} MiB at most"
    result(value, text, as_json)


def peak_mib() -> float | None:
    """The most memory that this process has held; None where the system does not say."""
    if resource is None:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak / 2**20 if sys.platform == "darwin" else peak / 2**10)


def require_distinct(*paths: Path | None) -> None:
    """No output is an input or another output.  Raises InputError."""
    named = [os.path.realpath(path) for path in paths if path is not None]
    for path in named:
        if named.count(path) > 1:
            raise InputError(path, "is named twice, for reading and writing or for two outputs; name another file")


def public_path(proof: Path) -> Path:
    """Where a proof's public inputs lie unless told otherwise: proof.bin -> proof.bin.public.json."""
    return proof.with_name(proof.name + ".public.json")


def parse_context(text: str) -> bytes:
    """The 32 bytes of --context, zeros if it is empty.  Raises InputError."""
    if not text:
        return bytes(CONTEXT_BYTES)
    try:
        context = bytes.fromhex(text)
    except ValueError:
        context = b""
    if len(context) != CONTEXT_BYTES or len(text) != 2 * CONTEXT_BYTES:  # fromhex skips spaces
        raise InputError("context", f"expected {2 * CONTEXT_BYTES} hexadecimal digits ({CONTEXT_BYTES} bytes)")
    return context


def _witness_of(target: Circuit, input_file: Path | None, witness_file: Path | None) -> Witness:
    """The witness from whichever of the two files was named."""
    if (input_file is None) == (witness_file is None):
        raise InputError("input", "name exactly one of --input (JSON) and --witness (.wtns)")
    if input_file is not None:
        return target.witness(read_inputs(input_file))
    assert witness_file is not None
    try:
        return target.witness_from_r1cs(fr_from_canonical(read_wtns(witness_file)))
    except OSError as e:
        raise InputError(str(witness_file), f"cannot be read: {e.strerror}") from e

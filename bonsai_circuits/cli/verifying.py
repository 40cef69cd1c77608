"""bonsai verify, bonsai batch-verify, bonsai export-records."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from bonsai_verifier import verify as verify_proof
from bonsai_verifier import verify_batch
from bonsai_verifier.parameters import PROOF_BYTES, SCALAR_BYTES
from bonsai_verifier.threads import count
from bonsai_verifier.wire import VerifyingKey

from ..artifacts.atomic import write_atomic
from ..errors import BonsaiError, InputError
from ..pipeline import VERIFYING_KEY, Circuit, read_verifying_key
from ..witness.inputs import read_inputs
from .console import EXIT_FAILED, result, steps
from .options import circuit_options, open_circuit, threads_option
from .proving import parse_context, public_path, require_distinct

_FILE = click.Path(dir_okay=False, path_type=Path)
F = TypeVar("F", bound=Callable[..., Any])


def _key_options(command: F) -> F:
    command = click.option("--key", type=_FILE, help="The verifying key.  [default: the circuit's own]")(command)
    command = click.option(
        "--allow-development",
        is_flag=True,
        help="Accept a key of the development setup, whose proofs its maker can forge.",
    )(command)
    return click.option(
        "--context", default="", help="The 32 bytes in hexadecimal that the prover bound.  [default: zeros]"
    )(command)


@click.command()
@circuit_options()
@click.argument("proof", type=_FILE)
@click.option(
    "--public", "public_file", type=_FILE, help="JSON of the public inputs.  [default: beside the proof, .public.json]"
)
@_key_options
def verify(
    circuit: str,
    hash_name: str,
    tree: str,
    compiled: Path,
    as_json: bool,
    proof: Path,
    public_file: Path | None,
    key: Path | None,
    allow_development: bool,
    context: str,
) -> None:
    """Verify one PROOF of CIRCUIT: exit code 0 if it holds, 1 if it does not."""
    target = open_circuit(circuit, hash_name, tree, compiled)
    vk = _key(target, key, allow_development)
    data = _read(proof)
    public = _public(target, public_file or public_path(proof))
    with steps(1) as progress:
        progress.start("verify")
        valid = verify_proof(vk, public, data, parse_context(context))
        progress.done()
    text = f"{proof}: {'valid' if valid else 'NOT VALID'}"
    result({"proof": str(proof), "valid": valid, "circuit": target.about.name}, text, as_json)
    if not valid:
        raise click.exceptions.Exit(EXIT_FAILED)


@click.command("batch-verify")
@circuit_options()
@click.argument("proofs", type=_FILE, nargs=-1, required=True)
@_key_options
@threads_option
def batch_verify(
    circuit: str,
    hash_name: str,
    tree: str,
    compiled: Path,
    as_json: bool,
    proofs: tuple[Path, ...],
    key: Path | None,
    allow_development: bool,
    context: str,
    threads: int,
) -> None:
    """Verify many PROOFS of CIRCUIT together, each with its .public.json beside it; the bad ones are named."""
    target = open_circuit(circuit, hash_name, tree, compiled)
    vk = _key(target, key, allow_development)
    bound = parse_context(context)
    count(threads)
    with steps(1) as progress:
        progress.start(f"verify {len(proofs)} proofs")
        unreadable: dict[int, str] = {}
        data: dict[int, tuple[bytes, list[int]]] = {}
        for i, proof in enumerate(proofs):
            try:
                data[i] = _read(proof), _public(target, public_path(proof))
            except BonsaiError as e:  # of this proof alone: it must not keep the others from their verdicts
                unreadable[i] = str(e)
        index = list(data)
        found, inputs = [p for p, _ in data.values()], [x for _, x in data.values()]
        verdict = verify_batch(vk, found, inputs, bound, threads=threads)
        progress.done()
    reasons = unreadable | {index[b.index]: b.reason for b in verdict.bad}
    bad = [{"proof": str(proofs[i]), "index": i, "reason": reasons[i]} for i in sorted(reasons)]
    lines = [f"{b['proof']}: NOT VALID: {b['reason']}" for b in bad]
    lines.append(f"{len(proofs) - len(bad)} of {len(proofs)} proofs valid")
    result({"valid": not bad, "n": len(proofs), "bad": bad, "circuit": target.about.name}, "\n".join(lines), as_json)
    if bad:
        raise click.exceptions.Exit(EXIT_FAILED)


@click.command("export-records")
@circuit_options()
@click.argument("proofs", type=_FILE, nargs=-1, required=True)
@click.option("--out", type=_FILE, required=True, help="The file of records to write.")
def export_records(
    circuit: str,
    hash_name: str,
    tree: str,
    compiled: Path,
    as_json: bool,
    proofs: tuple[Path, ...],
    out: Path,
) -> None:
    """Write PROOFS of CIRCUIT, each with its .public.json beside it, as the records that `python -m bonsai_verifier` reads.

    A record is the public inputs in the circuit's order, 32 bytes little-endian each, and the 128 bytes of the proof.  Nothing is verified.
    """
    target = open_circuit(circuit, hash_name, tree, compiled)
    require_distinct(out, *dict.fromkeys([*proofs, *map(public_path, proofs)]))
    records = [_record(_public(target, public_path(proof)), proof) for proof in proofs]
    write_atomic(out, b"".join(records))
    value = {
        "out": str(out),
        "n": len(records),
        "record_bytes": len(records[0]),
        "public": list(target.about.public),
        "circuit": target.about.name,
    }
    noun = "record" if len(records) == 1 else "records"
    result(value, f"{out}: {len(records)} {noun} of {len(records[0])} bytes", as_json)


def _record(public: list[int], proof: Path) -> bytes:
    """Raises InputError: a file that is no proof by its length."""
    data = _read(proof)
    if len(data) != PROOF_BYTES:
        found = f"{len(data)} bytes" if len(data) < PROOF_BYTES else "more"
        raise InputError(str(proof), f"expected the {PROOF_BYTES} bytes of a proof, found {found}")
    return b"".join([*(x.to_bytes(SCALAR_BYTES, "little") for x in public), data])


def _key(target: Circuit, key: Path | None, allow_development: bool) -> VerifyingKey:
    return read_verifying_key(key or target.folder / VERIFYING_KEY, target.about.digest, allow_development)


def _public(target: Circuit, path: Path) -> list[int]:
    """The public inputs of the circuit, in its order.  Raises InputError: no file, a missing or unknown name."""
    names = target.about.public
    if not path.exists():
        raise InputError(str(path), "there is no such file; `bonsai prove` writes it beside the proof")
    values = read_inputs(path)
    for name in (*names, *values):
        if name not in values or name not in names:
            what = "is missing" if name not in values else "is no public input"
            raise InputError(name, f"{what} in {path}; expected exactly {{{', '.join(names)}}}")
    return [values[name] for name in names]


def _read(proof: Path) -> bytes:
    """The file's bytes; of a file that is too long only enough to be refused.  Raises InputError."""
    try:
        with proof.open("rb") as file:
            return file.read(PROOF_BYTES + 1)
    except OSError as e:
        raise InputError(str(proof), f"cannot be read: {e.strerror}") from e

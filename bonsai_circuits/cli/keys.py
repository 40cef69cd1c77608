"""bonsai setup."""

from pathlib import Path

import click

from ..pipeline import PROVING_KEY, VERIFYING_KEY
from .console import result, say, steps, warn
from .options import circuit_options, open_circuit


@click.command()
@circuit_options()
@click.option(
    "--force", is_flag=True, help="Make new keys although the circuit has some; old proofs then no longer verify."
)
@click.option(
    "--memory",
    type=click.IntRange(min=0),
    metavar="MIB",
    help="For the key's points and their multiples while proofs are made: more is faster.  [default: 128, or two rows a point]",
)
def setup(
    circuit: str, hash_name: str, tree: str, compiled: Path, as_json: bool, force: bool, memory: int | None
) -> None:
    """Make DEVELOPMENT keys for CIRCUIT: whoever ran this could forge its proofs, so they are never for real use."""
    target = open_circuit(circuit, hash_name, tree, compiled)
    proving, verifying = target.folder / PROVING_KEY, target.folder / VERIFYING_KEY
    made = force or not target.has_keys()
    if made:
        with steps(1) as progress:
            progress.start(f"{target.about.name}: keys")
            target.make_development_keys(None if memory is None else memory << 20)
            progress.done()
    elif memory is not None:
        say("note: --memory is for keys that are made, and these are kept; --force makes new ones")
    warn("these are development keys, made by one party: never verify anything of value with them")
    key = target.proving_key()
    value = {
        "circuit": target.about.name,
        "digest": target.about.digest.hex(),
        "development": True,
        "made": made,
        "proving_key": str(proving),
        "proving_key_bytes": proving.stat().st_size,
        "memory": key.memory,
        "verifying_key": str(verifying),
    }
    text = f"{verifying}: development key {'made' if made else 'kept'}\n{proving}: {proving.stat().st_size / 2**20:.1f} MiB, "
    result(value, text + f"{key.memory / 2**20:.1f} MiB in memory while proofs are made", as_json)

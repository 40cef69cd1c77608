"""bonsai setup."""

from pathlib import Path

import click

from ..pipeline import PROVING_KEY, VERIFYING_KEY
from .console import result, steps, warn
from .options import circuit_options, open_circuit


@click.command()
@circuit_options()
@click.option(
    "--force", is_flag=True, help="Make new keys although the circuit has some; old proofs then no longer verify."
)
def setup(circuit: str, hash_name: str, tree: str, compiled: Path, as_json: bool, force: bool) -> None:
    """Make DEVELOPMENT keys for CIRCUIT: whoever ran this could forge its proofs, so they are never for real use."""
    target = open_circuit(circuit, hash_name, tree, compiled)
    proving, verifying = target.folder / PROVING_KEY, target.folder / VERIFYING_KEY
    made = force or not target.has_keys()
    if made:
        with steps(1) as progress:
            progress.start(f"{target.about.name}: keys")
            target.make_development_keys()
            progress.done()
    warn("these are development keys, made by one party: never verify anything of value with them")
    value = {
        "circuit": target.about.name,
        "digest": target.about.digest.hex(),
        "development": True,
        "made": made,
        "proving_key": str(proving),
        "verifying_key": str(verifying),
    }
    result(value, f"{verifying}: development key {'made' if made else 'kept'}", as_json)

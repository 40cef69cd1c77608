from pathlib import Path

from bonsai_circuits.pipeline import Circuit, build, write
from bonsai_circuits.relations.builtin import BUILT_IN
from bonsai_circuits.report.lock import lock_entry, read_lock

COMPILED = Path(__file__).parents[2] / "compiled"


def test_lock_is_what_the_sources_make(tmp_path: Path) -> None:
    """A change of counts or digests must be made on purpose: `bonsai compile --update-lock`."""
    made = {}
    for circuit in BUILT_IN:
        write(tmp_path / circuit.name, build(circuit))
        made[circuit.name] = lock_entry(Circuit.open(tmp_path / circuit.name))
    assert read_lock(COMPILED) == made

from pathlib import Path

from bonsai_circuits.pipeline import Circuit, write
from bonsai_circuits.relations.builtin import BUILT_IN
from bonsai_circuits.report.lock import lock_entry, read_lock
from tests.support import circuit

COMPILED = Path(__file__).parents[2] / "compiled"


def test_lock_is_what_the_sources_make(tmp_path: Path) -> None:
    """A change of counts or digests must be made on purpose: `bonsai compile --update-lock`."""
    made = {}
    for one in BUILT_IN:
        write(tmp_path / one.name, circuit(one.relation, one.hash, one.tree))
        made[one.name] = lock_entry(Circuit.open(tmp_path / one.name))
    assert read_lock(COMPILED) == made

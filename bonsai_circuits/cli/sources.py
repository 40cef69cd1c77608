"""Relations by the file that states them: mine.py:relation."""

import importlib.util
import inspect
import sys
from contextlib import redirect_stdout
from pathlib import Path

from ..dsl.circuit import Relation
from ..dsl.trace import Trace
from ..errors import BonsaiError, InputError

_PARAMETERS = 3  # c, p, w; a relation with more takes a hash suite or trees


def is_source(circuit: str) -> bool:
    """The word names a relation in a Python file."""
    return circuit.rpartition(":")[0].endswith(".py")


def described(circuit: str) -> Trace:
    """Runs the file, which is the user's own, and describes the relation in it.

    Raises InputError: no such file, one that fails, no such relation.  CircuitError: a description that is no circuit.
    """
    file, _, name = circuit.rpartition(":")
    path = Path(file)
    if not path.is_file():
        raise InputError(file, "there is no such file")
    sys.path.insert(0, str(path.parent.resolve()))  # as for a script
    try:
        relations = _relations(path)
        if name not in relations:
            known = ", ".join(sorted(relations)) or "none"
            raise InputError(
                circuit, f"{file} has no relation '{name}'; those without parameters of their own: {known}"
            )
        return relations[name].trace(name)
    except BonsaiError:
        raise
    except (Exception, SystemExit) as e:
        raise InputError(str(path), f"cannot be run: {type(e).__name__}: {e}") from e
    finally:
        sys.path.pop(0)


def _relations(path: Path) -> dict[str, Relation]:
    """The relations that can be described as they are, by the names that the file gives them."""
    spec = importlib.util.spec_from_file_location(f"file:{path.stem}", path)  # a name that no other module has
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for what annotations mean
    with redirect_stdout(sys.stderr):  # stdout is for what the command finds
        spec.loader.exec_module(module)
    found = {name: value for name, value in vars(module).items() if isinstance(value, Relation)}
    return {name: one for name, one in found.items() if len(inspect.signature(one.describe).parameters) == _PARAMETERS}

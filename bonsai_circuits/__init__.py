"""Circuits, proofs and batch verification for private payments.

    from bonsai_circuits import Circuit, build, relation, write      describe, compile, keep, prove
    from bonsai_circuits.gadgets import bits, in_range, poseidon     what descriptions are made of
    import bonsai_verifier                                           keys and proofs to verdicts

docs/tutorial.md goes through them.  What is imported from deeper rooms works too, but may move.
"""

from typing import TYPE_CHECKING, Any

from .errors import (
    BonsaiError,
    CircuitError,
    CircuitMismatch,
    FileDamaged,
    InputError,
    KeyRefused,
    ToolFailed,
    ToolMissing,
    Unsatisfied,
    WireError,
)

if TYPE_CHECKING:
    from .dsl.builder import Builder as Builder
    from .dsl.circuit import Public as Public
    from .dsl.circuit import Relation as Relation
    from .dsl.circuit import Secret as Secret
    from .dsl.circuit import relation as relation
    from .dsl.trace import System as System
    from .dsl.wires import Bit as Bit
    from .dsl.wires import Num as Num
    from .pipeline import Circuit as Circuit
    from .pipeline import Compiled as Compiled
    from .pipeline import build as build
    from .pipeline import write as write
    from .relations.builtin import built_in as built_in
    from .witness.inputs import read_inputs as read_inputs

__version__ = "0.1.0"

# name -> room.  Opened at first use: the kernels pull in numba, which takes longer than the rest of a command line.
_ROOMS = {
    "Bit": "dsl.wires",
    "Builder": "dsl.builder",
    "Circuit": "pipeline",
    "Compiled": "pipeline",
    "Num": "dsl.wires",
    "Public": "dsl.circuit",
    "Relation": "dsl.circuit",
    "Secret": "dsl.circuit",
    "System": "dsl.trace",
    "build": "pipeline",
    "built_in": "relations.builtin",
    "read_inputs": "witness.inputs",
    "relation": "dsl.circuit",
    "write": "pipeline",
}

__all__ = [
    "Bit",
    "BonsaiError",
    "Builder",
    "Circuit",
    "CircuitError",
    "CircuitMismatch",
    "Compiled",
    "FileDamaged",
    "InputError",
    "KeyRefused",
    "Num",
    "Public",
    "Relation",
    "Secret",
    "System",
    "ToolFailed",
    "ToolMissing",
    "Unsatisfied",
    "WireError",
    "__version__",
    "build",
    "built_in",
    "read_inputs",
    "relation",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f".{_ROOMS[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

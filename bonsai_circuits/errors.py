"""The errors of the toolkit, below those of the verifier.

BonsaiError                 (bonsai_verifier.errors)
  WireError InputError KeyRefused CircuitMismatch
  CircuitError              a circuit description that cannot be built: unused input, unconstrained hint, ...
  Unsatisfied               a witness that breaks a row; carries the row's report
  FileDamaged               a file under compiled/ whose length or digest is wrong
  ToolMissing               an outside program (circom, snarkjs) is not installed
  ToolFailed                an outside program ran and failed; carries its last lines
"""

from bonsai_verifier.errors import BonsaiError, CircuitMismatch, InputError, KeyRefused, WireError

__all__ = [
    "BonsaiError",
    "CircuitError",
    "CircuitMismatch",
    "FileDamaged",
    "InputError",
    "KeyRefused",
    "ToolFailed",
    "ToolMissing",
    "Unsatisfied",
    "WireError",
]


class CircuitError(BonsaiError):
    """A circuit description that cannot be built."""


class Unsatisfied(BonsaiError):
    """A witness that does not satisfy the circuit; the message is the report of the first failed row."""


class FileDamaged(BonsaiError):
    """A file whose length, section table or digest is wrong."""


class ToolMissing(BonsaiError):
    """An outside program is not installed; the message says which command installs it."""


class ToolFailed(BonsaiError):
    """An outside program returned an error."""

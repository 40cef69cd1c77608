"""The errors of the toolkit, below those of the verifier.

BonsaiError                 (bonsai_verifier.errors)
  WireError InputError KeyRefused CircuitMismatch
  CircuitError              a circuit description that cannot be built: unused input, unconstrained hint, ...
  Unsatisfied               a witness that breaks a row; carries the row's report
  FileDamaged               a file that the toolkit wrote, whose length or digest is wrong
  StoreLocked               a tree's store that somebody else has open
  StoreFailed               a tree's store that could not write; says how much is surely on disk
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
    "StoreFailed",
    "StoreLocked",
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


class StoreLocked(BonsaiError):
    """A store has one opener at a time, and it has one."""


class StoreFailed(BonsaiError):
    """A store could not write: what is not acknowledged is not on disk, and it takes no more.  Open it again."""


class ToolMissing(BonsaiError):
    """An outside program is not installed; the message says which command installs it."""


class ToolFailed(BonsaiError):
    """An outside program returned an error."""

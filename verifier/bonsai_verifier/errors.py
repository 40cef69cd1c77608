"""The errors of the verifier.  A false proof is a verdict, never an exception; malformed input is an error.

BonsaiError
  WireError               bytes from outside that encode nothing: wrong length, not canonical, not on the curve, ...
  InputError              a value handed to a call has the wrong count, shape, type or range
  KeyRefused              a well-formed key that must not be used: development setup, trivial trapdoor
  CircuitMismatch         the digest of a circuit or key is not the expected one; both are named
"""


class BonsaiError(Exception):
    """Every error says which field is wrong (`field`) and what to do about it (in the message)."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field

    def __reduce__(self) -> tuple[type["BonsaiError"], tuple[str, str]]:
        return type(self), (self.field, str(self).removeprefix(f"{self.field}: "))


class WireError(BonsaiError):
    """Bytes that are not the one encoding of a value."""


class InputError(BonsaiError):
    """A value of the wrong count, shape, type or range."""


class KeyRefused(BonsaiError):
    """A key that decodes but must not be used."""


class CircuitMismatch(BonsaiError):
    """A key, proof or file that belongs to another circuit."""

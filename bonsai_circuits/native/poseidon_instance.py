"""One instance of Poseidon, whatever its field and constants, and its hash as ePrint 2019/458 writes it, on integers."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import InputError


@dataclass(frozen=True, slots=True)
class PoseidonParameters:
    """One width's constants: round i adds round_constants[i], then x^5, then the matrix mds; integers modulo `modulus`.

    The hash of inputs is element `output` of the permutation of (capacity, inputs).
    """

    modulus: int
    output: int
    t: int
    r_f: int
    r_p: int
    round_constants: tuple[tuple[int, ...], ...]
    mds: tuple[tuple[int, ...], ...]


def hash_elements(inputs: Sequence[int], capacity: int, parameters: PoseidonParameters) -> int:
    """The hash of one instance.  Raises InputError: a value that is not an integer in [0, r)."""
    require_canonical(capacity, "tag", parameters.modulus)
    for i, value in enumerate(inputs):
        require_canonical(value, f"inputs[{i}]", parameters.modulus)
    return _permute([capacity, *inputs], parameters)[parameters.output]


def _permute(state: list[int], parameters: PoseidonParameters) -> list[int]:
    """R_F/2 full rounds, R_P partial ones (S-box on element 0 alone), R_F/2 full ones; x -> M (x + c)^5 each."""
    r = parameters.modulus
    first_partial = parameters.r_f // 2
    first_full_again = first_partial + parameters.r_p
    for i, constants in enumerate(parameters.round_constants):
        added = [x + c for x, c in zip(state, constants, strict=True)]
        if first_partial <= i < first_full_again:
            added[0] = pow(added[0], 5, r)
        else:
            added = [pow(x, 5, r) for x in added]
        state = [sum(m * x for m, x in zip(row, added, strict=True)) % r for row in parameters.mds]
    return state


def require_canonical(value: int, name: str, modulus: int) -> None:
    require_integer(value, name)
    if not 0 <= value < modulus:
        raise InputError(name, "not in [0, r); reduce it modulo r first")


def require_integer(value: object, name: str) -> None:
    """Raises InputError: none, or a bool."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(name, f"an integer is needed, not {type(value).__name__}")

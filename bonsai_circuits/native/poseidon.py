"""Poseidon over Fr of BLS12-381, the Filecoin instance: x^5, width t = arity + 1, the tag in state element 0.

Sources: Grassi, Khovratovich, Rechberger, Roy, Schofnegger, ePrint 2019/458 (permutation; round constants in appendix E);
Filecoin specification, section "Poseidon" (round numbers, matrix, tags); strengthened round numbers as in `neptune`.
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from bonsai_verifier.parameters import FR_MODULUS

from ..errors import InputError
from .grain import grain_elements
from .poseidon_instance import PoseidonParameters, hash_elements

if TYPE_CHECKING:
    from .poseidon_arrays import Elements

FULL_ROUNDS = 8
# The fewest partial rounds that satisfy the paper's inequalities at 128 bits, plus its margin of 7.5 percent, by arity; all of them as
# neptune's src/round_numbers.rs states them, in its test against known values.
PARTIAL_ROUNDS = dict(enumerate((55, 55, 56, 56, 56, 56, 57, 57, 57, 57, 57, 57, 57, 57, 59, 59), start=1))
OUTPUT = 1  # the state element that is the digest
_SBOX = 1  # as the Grain register of this instance writes x^5


def merkle_tag(arity: int) -> int:
    """2^arity - 1: a tree node all of whose children are present."""
    return (1 << arity) - 1


def constant_length_tag(n: int) -> int:
    """n 2^64: a message of exactly n elements, zeros filling up the width."""
    return n << 64


def identifier_tag(i: int) -> int:
    """i 2^40: a function of its own, apart from trees (below 2^17) and from messages (multiples of 2^64)."""
    return i << 40


ACCOUNT_TAG = identifier_tag(1)
RECEIPT_TAG = identifier_tag(2)


@cache
def poseidon_parameters(arity: int, strengthened: bool = False) -> PoseidonParameters:
    """The constants of one arity; strengthened: R_P' = ceil(5 R_P / 4).

    Cost: milliseconds at the first call of an arity, nothing later.
    Raises InputError: an arity that has no published round numbers here.
    """
    if arity not in PARTIAL_ROUNDS:
        raise InputError("arity", f"{arity} is not one of {', '.join(map(str, PARTIAL_ROUNDS))}")
    t, r_p = arity + 1, PARTIAL_ROUNDS[arity]
    if strengthened:
        r_p = -(-5 * r_p // 4)
    rounds = FULL_ROUNDS + r_p
    constants = grain_elements(FR_MODULUS, _SBOX, t, FULL_ROUNDS, r_p, t * rounds)
    return PoseidonParameters(
        modulus=FR_MODULUS,
        output=OUTPUT,
        t=t,
        r_f=FULL_ROUNDS,
        r_p=r_p,
        round_constants=tuple(tuple(constants[t * i : t * (i + 1)]) for i in range(rounds)),
        mds=tuple(tuple(pow(i + j + t, -1, FR_MODULUS) for j in range(t)) for i in range(t)),
    )


def poseidon(inputs: Sequence[int], tag: int, strengthened: bool = False) -> int:
    """Element 1 of the permutation of (tag, inputs).

    In: as many inputs as the arity, each in [0, r); the tag as well.
    Raises InputError: no such arity, a value that is not an integer in [0, r), or `strengthened` that is no bool.
    """
    parameters = poseidon_parameters(len(inputs), _flag(strengthened))
    return hash_elements(inputs, tag, parameters)


def poseidon_many(inputs: "Elements", tag: int, strengthened: bool = False) -> "Elements":
    """`poseidon` of every row: (n, arity, 32) bytes -> (n, 32), little-endian; or (n, arity, 4) words -> (n, 4).  All with one tag.

    Cost: 0.65 us a hash of 2 inputs in lanes, sixteen at once, on a core of 4.2 GHz; docs/hashes.md has the others.
    Raises InputError: as `poseidon`, by the indices of the first value; or an array of another kind.
    """
    from .poseidon_arrays import hash_arrays  # circuits, which hash integers, do without numba

    return hash_arrays(inputs, tag, poseidon_parameters, _flag(strengthened))


def _flag(strengthened: bool) -> bool:
    """Raises InputError: neither True nor False."""
    if not isinstance(strengthened, bool):
        raise InputError("strengthened", f"expected True or False, got {strengthened!r}")
    return strengthened

"""circom's Poseidon, over Fr of BN254: x^5, width t = arity + 1, state element 0 is 0 before and the digest after.

Sources: Grassi, Khovratovich, Rechberger, Roy, Schofnegger, ePrint 2019/458; the constants are those of its authors' script
generate_parameters_grain.sage at `1 0 254 t 8 R_P r`, round numbers and layout as in circomlib, circuits/poseidon.circom.
"""

from collections.abc import Sequence
from functools import cache

from ..errors import InputError
from ..kernels.bn254_fr import BN254_FR_MODULUS
from .grain import grain_elements
from .poseidon_arrays import Elements, hash_arrays
from .poseidon_instance import PoseidonParameters, hash_elements

FULL_ROUNDS = 8
# By arity: those of the paper at 128 bits, rounded up to where t divides R_P
PARTIAL_ROUNDS = dict(enumerate((56, 57, 56, 60, 60, 63, 64, 63, 60, 66, 60, 65, 70, 60, 64, 68), start=1))
OUTPUT = 0  # the state element that is the digest
_SBOX = 0  # as the Grain register of this instance writes x^5


@cache
def poseidon_bn254_parameters(arity: int) -> PoseidonParameters:
    """The constants of one arity: M[i][j] = 1 / (x_i + y_j), x and y the 2 t elements of the stream behind the round constants.

    Cost: milliseconds at the first call of an arity, nothing later.
    Raises InputError: an arity that circomlib has no round numbers for.
    """
    if arity not in PARTIAL_ROUNDS:
        raise InputError("arity", f"{arity} is not one of {', '.join(map(str, PARTIAL_ROUNDS))}")
    t, r_p, r = arity + 1, PARTIAL_ROUNDS[arity], BN254_FR_MODULUS
    rounds = FULL_ROUNDS + r_p
    drawn = grain_elements(r, _SBOX, t, FULL_ROUNDS, r_p, t * rounds, seeds=2 * t)
    x, y = drawn[t * rounds : t * rounds + t], drawn[t * rounds + t :]
    return PoseidonParameters(
        modulus=r,
        output=OUTPUT,
        t=t,
        r_f=FULL_ROUNDS,
        r_p=r_p,
        round_constants=tuple(tuple(drawn[t * i : t * (i + 1)]) for i in range(rounds)),
        mds=tuple(tuple(pow(x_i + y_j, -1, r) for y_j in y) for x_i in x),
    )


def poseidon_bn254(inputs: Sequence[int]) -> int:
    """Element 0 of the permutation of (0, inputs): circom's Poseidon(n)(inputs).

    In: 1 to 16 inputs, each in [0, r).
    Raises InputError: no such arity, or a value that is not an integer in [0, r).
    """
    return hash_elements(inputs, 0, poseidon_bn254_parameters(len(inputs)))


def poseidon_bn254_many(inputs: Elements) -> Elements:
    """`poseidon_bn254` of every row: (n, arity, 32) bytes -> (n, 32), little-endian; or (n, arity, 4) words -> (n, 4).

    Cost: 0.7 us a hash of 2 inputs in lanes on one core of 4.2 GHz, sixteen at once; docs/hashes.md has the others.
    Raises InputError: as `poseidon_bn254`, by the indices of the first value; or an array of another kind.
    """
    return hash_arrays(inputs, 0, poseidon_bn254_parameters)

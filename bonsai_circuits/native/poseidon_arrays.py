"""Many Poseidon hashes of one arity at the door: arrays of bytes or words, checked, to the kernels and back."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.kernels import cpu
from bonsai_verifier.kernels.limbs import rows

from ..errors import InputError
from ..kernels import poseidon as portable
from .poseidon_instance import PoseidonParameters, require_canonical, require_integer
from .poseidon_schedule import schedule

Elements: TypeAlias = NDArray[np.uint8] | NDArray[np.uint64]
_Parameters: TypeAlias = Callable[..., PoseidonParameters]
_TABLES = 64  # kept: 2 to 160 KiB each


class _Prepared(NamedTuple):
    """One instance with its capacity, for the body that runs."""

    body: Any
    field: int
    table: NDArray[np.uint64]
    t: int
    half: int
    r_p: int

    def hash(self, words: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """(n, 4 (t - 1)) -> (n, 4), canonical."""
        out = np.empty((len(words), portable.ELEMENT_WORDS), np.uint64)
        self.body.hash_many(out, words, self.table, self.field, self.t, self.half, self.r_p)
        return out


def hash_arrays(inputs: Elements, capacity: int, parameters: _Parameters, *options: Any) -> Elements:
    """The hash of each row of (n, arity, 32) bytes, little-endian, as (n, 32); or of (n, arity, 4) words, as (n, 4).

    In: parameters(arity, *options), an instance over a field of kernels/poseidon.py.
    Raises InputError: another array; a value that is not below r, by the indices of the first; a capacity that is not.
    """
    as_bytes = _checked(inputs).dtype == np.uint8
    n, arity = inputs.shape[:2]
    vector = n > 1 and cpu.vector()  # a single hash among zeros takes longer than alone
    require_integer(capacity, "tag")  # here, for 1.0 and True are found under 1 below
    prepared = _prepared(parameters, arity, options, capacity, vector)
    words: Any = np.ascontiguousarray(inputs)
    if as_bytes:
        words = words.view("<u8").astype(np.uint64, copy=False)
    words = rows(words.reshape(n * arity, portable.ELEMENT_WORDS), portable.ELEMENT_WORDS)
    outside = portable.first_outside(words, prepared.field)
    if outside >= 0:
        i, j = divmod(outside, arity)
        raise InputError(f"inputs[{i}][{j}]", "not in [0, r); reduce it modulo r first")
    out = prepared.hash(words.reshape(n, arity * portable.ELEMENT_WORDS))
    return out.astype("<u8", copy=False).view(np.uint8) if as_bytes else out


def _checked(inputs: Any) -> Elements:
    """The array, of three axes and a type that fits the last.  Raises InputError."""
    if isinstance(inputs, np.ndarray) and inputs.ndim == 3:
        widths = {np.dtype(np.uint8): portable.ELEMENT_BYTES, np.dtype(np.uint64): portable.ELEMENT_WORDS}
        if widths.get(inputs.dtype) == inputs.shape[2]:
            return inputs
    got = f"{inputs.dtype} {inputs.shape}" if isinstance(inputs, np.ndarray) else type(inputs).__name__
    raise InputError("inputs", f"expected an array (n, arity, 32) of uint8 or (n, arity, 4) of uint64, got {got}")


@lru_cache(_TABLES)
def _prepared(parameters: _Parameters, arity: int, options: tuple[Any, ...], capacity: int, vector: bool) -> _Prepared:
    p = parameters(arity, *options)
    require_canonical(capacity, "tag", p.modulus)
    body: Any = portable
    if vector:
        from ..kernels import poseidon_lanes as body
    field = portable.MODULI.index(p.modulus)
    radix = body.radix(field)
    plain, rest = p.t - 1, schedule(p, capacity, radix)
    numbers = [*rest[:plain], *(x * radix % p.modulus for x in rest[plain:])]
    return _Prepared(body, field, body.table(field, numbers), p.t, p.r_f // 2, p.r_p)

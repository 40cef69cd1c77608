"""Operations, predicates and formulas: what they refuse, and what a formula may do."""

import numpy as np
import pytest
from numba.core.errors import TypingError

from bonsai_verifier.field import fp_from_ints, fp_to_ints
from bonsai_verifier.kernels.cache import inner
from bonsai_verifier.kernels.fp import fp_add, fp_sub
from bonsai_verifier.kernels.intrinsics import formula, operation
from bonsai_verifier.kernels.limbs import stack
from bonsai_verifier.parameters import FP_MODULUS as P
from tests.verifier.kernels.calling import result


@formula
def eight_times_sum(d, a, b):
    """8 (a + b) in Fp."""
    t = stack(6)
    fp_add(t, a, b)
    for _ in range(3):
        fp_add(t, t, t)
    fp_add(d, t, a)
    fp_sub(d, d, a)


def multiple(k: int):
    add = fp_add

    def write(d, a):
        add(d, a, a)
        for _ in range(k - 2):
            add(d, d, a)

    return formula(write, f"multiple_{k}")


@inner
def not_an_intrinsic(d, a):
    fp_add(d, a, a)


@formula
def calls_a_numba_function(d, a):
    not_an_intrinsic(d, a)


def value(op, *operands: int) -> int:
    return fp_to_ints(result(op, *(fp_from_ints([x]) for x in operands)))[0]


def test_formula_unrolls_loops_and_has_room_of_its_own() -> None:
    assert value(eight_times_sum, 3, P - 1) == 16
    assert value(eight_times_sum, P - 1, P - 1) == P - 16


def test_formula_sees_captured_values() -> None:
    assert [value(multiple(k), 5) for k in (2, 3, 10)] == [10, 15, 50]


def test_formula_calls_no_numba_function() -> None:
    with pytest.raises(TypingError):
        value(calls_a_numba_function, 1)


def test_a_name_belongs_to_one_body() -> None:
    n = np.int64(3)
    with pytest.raises(TypeError, match="needs a name"):
        formula(lambda d: fp_add(d, d, d + n))
    operation(lambda b, d: None, "taken")
    with pytest.raises(ValueError, match="there is a function of this name"):
        operation(lambda b, d: None, "taken")

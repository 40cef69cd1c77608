"""Words, rows, and the operations of both fields against integers."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonsai_verifier.field import ints_from_limbs, limbs_from_ints
from bonsai_verifier.kernels import limbs
from bonsai_verifier.parameters import FP_MODULUS, FR_MODULUS
from tests.verifier.kernels.calling import call, result, results_in_place

FIELDS = {
    name: (limbs.field_operations(f"test_{name}", modulus, n), modulus, n)
    for name, modulus, n in (("fp", FP_MODULUS, 6), ("fr", FR_MODULUS, 4), ("small", 2**61 - 1, 1))
}
fields = pytest.mark.parametrize(("ops", "m", "n"), FIELDS.values(), ids=FIELDS.keys())

UNARY: dict[str, Callable[[int, int, int], int]] = {
    "sqr": lambda a, m, radix: a * a * pow(radix, -1, m) % m,
    "neg": lambda a, m, radix: -a % m,
    "copy": lambda a, m, radix: a,
    "to_mont": lambda a, m, radix: a * radix % m,
    "from_mont": lambda a, m, radix: a * pow(radix, -1, m) % m,
}
BINARY: dict[str, Callable[[int, int, int, int], int]] = {
    "mul": lambda a, b, m, radix: a * b * pow(radix, -1, m) % m,
    "add": lambda a, b, m, radix: (a + b) % m,
    "sub": lambda a, b, m, radix: (a - b) % m,
}


def elements(m: int) -> st.SearchStrategy[int]:
    edges = [0, 1, 2, m - 1, m - 2, m // 2, 2**63, 2**64 - 1, 2**64, 2**128 - 1, m - 2**63]
    return st.sampled_from([x % m for x in edges]) | st.integers(0, m - 1)


@fields
@pytest.mark.parametrize("name", UNARY)
def test_unary_operation_equals_integers(ops: limbs.FieldOperations, m: int, n: int, name: str) -> None:
    op, oracle = getattr(ops, name), UNARY[name]

    @given(elements(m))
    def check(a: int) -> None:
        words = limbs_from_ints([a], n)
        expected = [oracle(a, m, 2 ** (64 * n))]
        assert ints_from_limbs(result(op, words)) == expected
        assert [ints_from_limbs(d) for d in results_in_place(op, words)] == [expected]

    check()


@fields
@pytest.mark.parametrize("name", BINARY)
def test_binary_operation_equals_integers(ops: limbs.FieldOperations, m: int, n: int, name: str) -> None:
    op, oracle = getattr(ops, name), BINARY[name]

    @given(elements(m), elements(m))
    def check(a: int, b: int) -> None:
        words = limbs_from_ints([a], n), limbs_from_ints([b], n)
        expected = [oracle(a, b, m, 2 ** (64 * n))]
        assert ints_from_limbs(result(op, *words)) == expected
        assert [ints_from_limbs(d) for d in results_in_place(op, *words)] == [expected] * 2
        square = words[0].copy()
        call(op, square, square, square)
        assert ints_from_limbs(square) == [oracle(a, a, m, 2 ** (64 * n))]

    check()


@fields
def test_products_are_added_up_and_reduced_once(ops: limbs.FieldOperations, m: int, n: int) -> None:
    @given(st.lists(st.tuples(elements(m), elements(m)), max_size=5), st.integers(0, 2**63 - 6))
    def check(pairs: list[tuple[int, int]], before: int) -> None:
        start = before * (m - 1) ** 2
        t = limbs_from_ints([start], 2 * n + 1)
        for a, b in pairs:
            call(ops.add_product, t, limbs_from_ints([a], n), limbs_from_ints([b], n))
        whole = start + sum(a * b for a, b in pairs)
        assert ints_from_limbs(t) == [whole]
        d = np.zeros((1, n), np.uint64)
        call(ops.reduce, d, t)
        assert ints_from_limbs(d) == [whole * pow(2 ** (64 * n), -1, m) % m]

    check()


@fields
def test_any_words_are_reduced(ops: limbs.FieldOperations, m: int, n: int) -> None:
    @given(
        st.sampled_from([0, 1, 2 ** (128 * n) - 1, 2 ** (128 * n), 2 ** (128 * n + 64) - 1])
        | st.integers(0, 2 ** (128 * n + 64) - 1)
    )
    def check(whole: int) -> None:
        d = np.zeros((1, n), np.uint64)
        call(ops.reduce, d, limbs_from_ints([whole], 2 * n + 1))
        assert ints_from_limbs(d) == [whole * pow(2 ** (64 * n), -1, m) % m]

    check()


@fields
def test_a_second_factor_need_not_be_reduced(ops: limbs.FieldOperations, m: int, n: int) -> None:
    radix = 2 ** (64 * n)

    @given(elements(m), st.sampled_from([radix - 1, m, m + 1, radix - m]) | st.integers(0, radix - 1))
    def check(a: int, b: int) -> None:
        got = result(ops.mul, limbs_from_ints([a], n), limbs_from_ints([b], n))
        assert ints_from_limbs(got) == [a * b * pow(radix, -1, m) % m]

    check()


@fields
def test_predicates_equal_integers(ops: limbs.FieldOperations, m: int, n: int) -> None:
    for a in [0, 1, m - 1, m, m + 1, 2 ** (64 * n) - 1, *(m ^ 1 << k for k in range(64 * n))]:
        words = limbs_from_ints([a], n)
        assert call(ops.is_canonical, words) == (a < m)
        assert call(ops.is_zero, words) == (a == 0)
        assert call(ops.eq, words, words)
        assert not call(ops.eq, words, limbs_from_ints([a ^ 1 << 64 * n - 1], n))


@fields
def test_constants_are_written_whole(ops: limbs.FieldOperations, m: int, n: int) -> None:
    for op, expected in ((ops.zero, 0), (ops.one, 2 ** (64 * n) % m)):
        d = np.full((2, n), 7, np.uint64)
        call(op, d)
        assert ints_from_limbs(d[:1]) == [expected]
        assert (d[1] == 7).all()


def test_power_equals_integers() -> None:
    ops, m, n = FIELDS["fr"]
    for exponent, runs in (
        (1, ()),
        (2, ()),
        (3, (2,)),
        (10, ()),
        (0x8001, ()),
        (m - 2, ()),
        (0xFF0F7, (2, 4)),
        (m - 2, (2, 4)),
    ):
        op = limbs.power(f"test_power_{exponent}_{len(runs)}", ops, exponent, runs)
        for a in (0, 1, 5, m - 1):
            mont = limbs_from_ints([a * 2**256 % m], n)
            expected = [pow(a, exponent, m) * 2**256 % m]
            assert ints_from_limbs(result(op, mont)) == expected
            assert ints_from_limbs(results_in_place(op, mont)[0]) == expected


def test_power_squares_a_bit_and_multiplies_a_run() -> None:
    assert limbs._steps("1101000", ()) == [
        ("start", 1),
        ("square", 1),
        ("times", 1),
        ("square", 2),
        ("times", 1),
        ("square", 3),
    ]
    steps = limbs._steps("111100011", (2, 4))
    prepare = [
        ("start", 1),
        ("square", 1),
        ("times", 1),
        ("keep", 2),
        ("start", 2),
        ("square", 2),
        ("times", 2),
        ("keep", 4),
    ]
    assert steps == [*prepare, ("start", 4), ("square", 5), ("times", 2)]


def test_the_top_bit_of_a_modulus_must_be_free() -> None:
    with pytest.raises(ValueError, match="top bit"):
        limbs.field_operations("test_too_large", 2**64 - 59, 1)


def test_words_are_little_endian() -> None:
    assert limbs.words(2**64 * 5 + 3, 3).tolist() == [3, 5, 0]


def test_rows_are_what_kernels_read() -> None:
    a = np.arange(24, dtype=np.uint64).reshape(6, 4)
    unaligned = np.frombuffer(bytes(1) + a.tobytes(), np.uint8)[1:].view(np.uint64).reshape(6, 4)
    for same in (a, np.asfortranarray(a), np.repeat(a, 2, axis=0)[::2], np.tile(a, (1, 2))[:, :4], unaligned):
        seen = limbs.rows(same, 4)
        assert np.array_equal(seen, a)
        assert seen.flags.c_contiguous
        assert seen.flags.aligned
        assert not seen.flags.writeable
        assert same is not a or a.flags.writeable
    assert np.shares_memory(limbs.rows(a, 4), a)
    assert limbs.rows(a[:0], 4).shape == (0, 4)


def test_rows_refuse_another_shape_or_type() -> None:
    a = np.zeros((6, 4), np.uint64)
    for wrong in (a[0], a[:, :3], a[None], a[0, 0]):
        with pytest.raises(ValueError, match="rows of 4"):
            limbs.rows(wrong, 4)
    for wrong in (a.astype(np.int64), a.astype(np.float64), a.astype(">u8"), a.astype(object)):
        with pytest.raises(TypeError, match="uint64"):
            limbs.rows(wrong, 4)

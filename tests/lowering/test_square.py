from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from bonsai_circuits.dsl.builder import Builder
from bonsai_circuits.dsl.circuit import Relation
from bonsai_circuits.dsl.elimination import to_r1cs
from bonsai_circuits.errors import CircuitError
from bonsai_circuits.keys.setup import require_outlined
from bonsai_circuits.lowering.check import check_lowering
from bonsai_circuits.lowering.square import RULES, Lowered, Rule, lower
from bonsai_circuits.r1cs.system import R1CS, SparseRows
from bonsai_circuits.r1cs.system_file import circuit_digest
from bonsai_circuits.relations.builtin import BUILT_IN


def lowered(describe: Callable[..., None]) -> tuple[R1CS, Lowered]:
    system = to_r1cs(Relation("test", ("x", "y"), describe).trace("test")).system
    result = lower(system)
    check_lowering(system, result)
    require_outlined(result.system)
    return system, result


def rules_of(result: Lowered) -> list[Rule]:
    return [RULES[k] for k in result.rule.tolist() if RULES[k] is not Rule.OUTLINE]


def linear_row(c: Builder, p, w) -> None:
    (p.x + 1).must_equal(p.y)
    _ = p.x + p.y


def boolean_row(c: Builder, p, w) -> None:
    low, high = c.boolean(p.x, 0, "low"), c.boolean(p.x, 1, "high")
    p.x.must_equal(low + 2 * high)
    p.y.must_equal(low + high)


def square_row(c: Builder, p, w) -> None:
    p.y.must_equal(c.product(p.x + 2, -3 * p.x - 6, "scaled square"))


def boolean_product_row(c: Builder, p, w) -> None:
    low, high = c.boolean(p.x, 0, "low"), c.boolean(p.x, 1, "high")
    p.x.must_equal(low + 2 * high)
    p.y.must_equal(low * high)


def two_squares_row(c: Builder, p, w) -> None:
    p.y.must_equal(c.square(p.x, "x^2") + c.square(w.a, "a^2") + (3 * p.x) * (w.a * -2))


def square_of_sum_row(c: Builder, p, w) -> None:
    p.y.must_equal(c.square(2 * p.x + 2 * w.a, "s^2") + p.x * w.a)


def square_of_difference_row(c: Builder, p, w) -> None:
    p.y.must_equal(p.x * w.a + c.square(w.a - p.x, "d^2"))


def general_row(c: Builder, p, w) -> None:
    p.y.must_equal(p.x * w.a)


@pytest.mark.parametrize(
    ("describe", "expected"),
    [
        (linear_row, [Rule.LINEAR]),
        (boolean_row, [Rule.BOOLEAN, Rule.BOOLEAN]),
        (square_row, [Rule.SQUARE]),
        (boolean_product_row, [Rule.BOOLEAN, Rule.BOOLEAN, Rule.BOOLEAN_PRODUCT]),
        (two_squares_row, [Rule.SQUARE, Rule.SQUARE, Rule.TWO_SQUARES]),
        (square_of_sum_row, [Rule.SQUARE, Rule.SQUARE_OF_SUM]),
        (square_of_difference_row, [Rule.SQUARE_OF_DIFFERENCE, Rule.SQUARE]),
        (general_row, [Rule.GENERAL, Rule.GENERAL]),
    ],
)
def test_each_rule_costs_its_rows(describe: Callable[..., None], expected: list[Rule]) -> None:
    _, result = lowered(describe)
    assert rules_of(result) == expected


@pytest.mark.parametrize(
    "describe",
    [
        linear_row,
        boolean_row,
        square_row,
        boolean_product_row,
        two_squares_row,
        square_of_sum_row,
        square_of_difference_row,
        general_row,
    ],
)
@pytest.mark.parametrize("matrix", ["a", "b"])
def test_check_refuses_any_changed_coefficient(describe: Callable[..., None], matrix: str) -> None:
    system, result = lowered(describe)
    good: SparseRows = getattr(result.system, matrix)
    for term in range(good.nnz):
        coeff = good.coeff.copy()
        coeff[term, 0] ^= np.uint64(1) << np.uint64(40)
        changed = replace(result.system, **{matrix: SparseRows(good.start, good.wire, coeff)})
        with pytest.raises(CircuitError, match="lowering"):
            check_lowering(system, replace(result, system=changed))


def test_check_refuses_a_row_that_was_left_out() -> None:
    system, result = lowered(general_row)
    source = result.source.copy()
    source[source == 0] = -1
    rule = result.rule.copy()
    rule[:] = RULES.index(Rule.OUTLINE)
    with pytest.raises(CircuitError, match="lowering"):
        check_lowering(system, replace(result, source=source, rule=rule))


@pytest.mark.parametrize(
    "describe",
    [boolean_product_row, square_row, two_squares_row, square_of_sum_row, square_of_difference_row, general_row],
)
def test_check_refuses_every_missing_row_and_every_other_rule(describe: Callable[..., None]) -> None:
    system, result = lowered(describe)
    square, n = result.system, result.system.n_rows
    for k in range(n):
        kept = [i for i in range(n) if i != k]
        a, b = ([matrix.rows()[i] for i in kept] for matrix in (square.a, square.b))
        short = replace(square, a=SparseRows.from_rows(a), b=SparseRows.from_rows(b))
        without = replace(
            result,
            system=short,
            rule=result.rule[kept],
            source=result.source[kept],
            helper_row=result.helper_row - (result.helper_row > k),
        )
        with pytest.raises(CircuitError, match="lowering"):
            check_lowering(system, without)
        empty = replace(square, a=SparseRows.from_rows([{}] * n), b=SparseRows.from_rows([{}] * n))
        with pytest.raises(CircuitError, match="lowering"):
            check_lowering(system, replace(result, system=empty))
        if RULES[result.rule[k]] is Rule.OUTLINE:
            continue
        for rule in set(Rule) - {RULES[result.rule[k]], Rule.GENERAL}:
            a, b = square.a.rows(), square.b.rows()
            a[k], b[k] = {}, {}  # 0 = 0 under another name
            numbers = result.rule.copy()
            numbers[k] = RULES.index(rule)
            nothing = replace(square, a=SparseRows.from_rows(a), b=SparseRows.from_rows(b))
            with pytest.raises(CircuitError, match="lowering"):
                check_lowering(system, replace(result, system=nothing, rule=numbers))


def test_check_refuses_a_linear_row_that_says_something_else() -> None:
    """(left)^2 = right with right not zero is no linear row, even where left and right agree at the point."""
    system, result = lowered(linear_row)
    row = next(k for k, number in enumerate(result.rule.tolist()) if RULES[number] is Rule.LINEAR)
    b_rows = result.system.b.rows()
    b_rows[row] = {0: 1}
    changed = replace(result.system, b=SparseRows.from_rows(b_rows))
    with pytest.raises(CircuitError, match="lowering"):
        check_lowering(system, replace(result, system=changed))


def test_check_refuses_a_missing_row_even_if_all_others_are_right() -> None:
    system, result = lowered(two_squares_row)
    last = result.system.n_rows - 1
    short = replace(
        result.system,
        a=SparseRows.from_rows(result.system.a.rows()[:last]),
        b=SparseRows.from_rows(result.system.b.rows()[:last]),
    )
    with pytest.raises(CircuitError, match="one for one"):
        check_lowering(system, replace(result, system=short, rule=result.rule[:last], source=result.source[:last]))


def test_build_checks_its_lowering(monkeypatch: pytest.MonkeyPatch) -> None:
    from bonsai_circuits import pipeline

    def wrong(system: R1CS) -> Lowered:
        result = lower(system)
        rows = result.system.b.rows()
        rows[-1] = {}
        return replace(result, system=replace(result.system, b=SparseRows.from_rows(rows)))

    monkeypatch.setattr(pipeline, "lower", wrong)
    with pytest.raises(CircuitError, match="lowering"):
        pipeline.build(Relation("test", ("x", "y"), general_row).trace("test"))


def test_synthesis_is_deterministic() -> None:
    for circuit in BUILT_IN[:2]:
        digests = {circuit_digest(lower(to_r1cs(circuit.trace()).system).system) for _ in range(2)}
        assert len(digests) == 1

"""The rows that the code emits, as polynomials: sympy shows that each square row is its R1CS row, for all values of the wires."""

from collections.abc import Callable, Mapping

import pytest
import sympy

from bonsai_circuits.dsl.circuit import Relation
from bonsai_circuits.dsl.elimination import to_r1cs
from bonsai_circuits.gadgets.boolean import both, times
from bonsai_circuits.gadgets.poseidon import _sum_of_fifths
from bonsai_circuits.lowering.square import RULES, Rule, lower, outlined_rows
from bonsai_circuits.lowering.standing import StandingSquares
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.lowering import test_square as rules
from tests.support import builder

FIELD = sympy.GF(R, symmetric=False)


def polynomial(terms: Mapping[int, int], wires: list[sympy.Symbol], one: int | None = None) -> sympy.Poly:
    """A linear combination over symbols for the wires; `one` is the wire of the constant."""
    expression = sum(c * (1 if w == one else wires[w]) for w, c in terms.items())
    return sympy.Poly(expression, *wires, domain=FIELD)


@pytest.mark.parametrize(
    "describe",
    [
        rules.linear_row,
        rules.boolean_row,
        rules.square_row,
        rules.boolean_product_row,
        rules.two_squares_row,
        rules.square_of_sum_row,
        rules.square_of_difference_row,
        rules.general_row,
    ],
)
def test_each_square_row_is_its_r1cs_row(describe: Callable[..., None]) -> None:
    """left^2 - right = k (a b - c) + multiples of the residuals of rows that state squares; for all values, not at a point."""
    system = to_r1cs(Relation("test", ("x", "y"), describe).trace("test")).system
    result = lower(system)
    rows, one = outlined_rows(system), len(system.public) + 1
    wires = list(sympy.symbols(f"z0:{result.system.n_wires}"))
    squares = StandingSquares(rows)

    def poly(terms: Mapping[int, int]) -> sympy.Poly:
        return polynomial(terms, wires, one)

    def residual(i: int) -> sympy.Poly:
        a, b, c = map(poly, rows[i])
        return a * b - c

    def excess(terms: Mapping[int, int]) -> sympy.Poly:
        """terms^2 minus what stands for it: a multiple of the residual of the row that states it."""
        found = squares.find(terms)
        assert found is not None
        return residual(found.row) * found.scale

    helper_of = {row: wire for wire, row in zip(result.helper.tolist(), result.helper_row.tolist(), strict=True)}
    a_rows, b_rows = result.system.a.rows(), result.system.b.rows()
    for k, (number, i) in enumerate(zip(result.rule.tolist(), result.source.tolist(), strict=True)):
        rule = RULES[number]
        if rule is Rule.OUTLINE:
            continue
        left, right = poly(a_rows[k]), poly(b_rows[k])
        found = left * left - right
        a, b, _ = map(poly, rows[i])
        total = {w: (rows[i][0].get(w, 0) + rows[i][1].get(w, 0)) % R for w in {*rows[i][0], *rows[i][1]}}
        difference = {w: (rows[i][0].get(w, 0) - rows[i][1].get(w, 0)) % R for w in {*rows[i][0], *rows[i][1]}}
        match rule:
            case Rule.LINEAR:
                assert right.is_zero
                assert left == residual(i)
            case Rule.BOOLEAN | Rule.SQUARE:
                assert found * b == residual(i) * a
            case Rule.BOOLEAN_PRODUCT | Rule.TWO_SQUARES:
                assert found == residual(i) * 2 + excess(rows[i][0]) + excess(rows[i][1])
            case Rule.SQUARE_OF_SUM:
                assert found == residual(i) * -4 + excess({w: c for w, c in total.items() if c})
            case Rule.SQUARE_OF_DIFFERENCE:
                assert found == residual(i) * 4 + excess({w: c for w, c in difference.items() if c})
            case Rule.GENERAL if k in helper_of:
                assert found == (a + b) ** 2 - poly({helper_of[k]: 1})
            case Rule.GENERAL:
                helper = poly({helper_of[k - 1]: 1})
                assert found == residual(i) * -4 + (a + b) ** 2 - helper


def test_the_rows_of_a_pair_of_fifth_powers_give_their_sum() -> None:
    c = builder("x")
    x, y = c.secret("a"), c.secret("b")
    out = _sum_of_fifths(c, x, y)
    a, b = sympy.symbols("a b")
    values: dict[int, sympy.Poly] = {
        w: sympy.Poly(s, a, b, domain=FIELD) for w, s in zip((*x.terms, *y.terms), (a, b), strict=True)
    }

    def value(terms: Mapping[int, int]) -> sympy.Poly:
        return sum((values[w] * k for w, k in terms.items()), sympy.Poly(0, a, b, domain=FIELD))

    assert len(c._rows) == 5
    for row in c._rows:
        ((wire, factor),) = row.c.items()
        assert factor == 1
        values[wire] = value(row.a) * value(row.b)
    assert value(out.terms) == sympy.Poly(a**5 + b**5, a, b, domain=FIELD)


def test_rows_of_boolean_products_are_products_where_booleans_are_their_squares() -> None:
    c = builder("x")
    s, t = c.boolean(c.public("x"), 0, "s"), c.boolean(c.public("x"), 1, "t")
    x = c.secret("a")
    square = c.square(x, "x^2")
    before = len(c._rows)
    both(c, s, t)
    times(c, s, x, square, "s x")
    wires = list(sympy.symbols(f"z0:{len(c._wire_names)}"))
    booleans = [wires[next(iter(bit.terms))] for bit in (s, t)]
    ideal = [z**2 - z for z in booleans] + [wires[next(iter(x.terms))] ** 2 - wires[next(iter(square.terms))]]
    r1cs = [row for row in c._rows[before:] if row.system and row.system.value == "r1cs"]
    squared = [row for row in c._rows[before:] if row.system and row.system.value == "square"]
    assert len(r1cs) == len(squared) == 2
    for one, two in zip(r1cs, squared, strict=True):
        product = (polynomial(one.a, wires) * polynomial(one.b, wires) - polynomial(one.c, wires)).as_expr()
        square_row = (polynomial(two.a, wires) * polynomial(two.b, wires) - polynomial(two.c, wires)).as_expr()
        _, rest = sympy.reduced(sympy.expand(square_row - 2 * product), ideal, *wires, modulus=R)
        assert rest == 0

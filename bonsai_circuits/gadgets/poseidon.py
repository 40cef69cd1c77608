"""Poseidon in a circuit, equal to native.poseidon (parameters: the Filecoin instance; Grassi et al., ePrint 2019/458)."""

from collections.abc import Sequence

from bonsai_verifier.parameters import FR_MODULUS as R

from ..dsl.builder import Builder
from ..dsl.wires import Num, linear
from ..native.poseidon import PoseidonParameters, poseidon_parameters

_FIFTH_ROOT = pow(5, -1, R - 1)  # x -> x^5 permutes Fr since gcd(5, r - 1) = 1
_HALF = pow(2, -1, R)


def poseidon(c: Builder, inputs: Sequence[Num], tag: int) -> Num:
    """Element 1 of the permutation of (tag, inputs).  Cost, t = arity + 1, E the inputs that are free (builder.fifth_power):

    R1CS 3 (8 t + R_P - 1 - E) - floor(t / 2), Square R1CS 4 (8 t + R_P - 1 - E) - 2 floor(t / 2): the capacity is a constant, and the last
    round is needed in one element only.
    """
    p = poseidon_parameters(len(inputs))
    half, last = p.r_f // 2, p.r_f + p.r_p - 1
    state = [c.num(tag), *inputs]
    with c.scope(f"poseidon[{len(inputs)}]"):
        for k in range(last):
            state = [x + constant for x, constant in zip(state, p.round_constants[k], strict=True)]
            n_boxes = p.t if k < half or k >= half + p.r_p else 1
            with c.scope(f"round {k}"):
                state[:n_boxes] = [c.fifth_power(x, f"s-box {j}") for j, x in enumerate(state[:n_boxes])]
            state = _mixed(c, p, state)
        state = [x + constant for x, constant in zip(state, p.round_constants[last], strict=True)]
        with c.scope(f"round {last}"):
            return _weighted_fifths(c, state, p.mds[1])


def _mixed(c: Builder, p: PoseidonParameters, state: Sequence[Num]) -> list[Num]:
    return [linear(c, row, state) for row in p.mds]


def _weighted_fifths(c: Builder, xs: Sequence[Num], weights: Sequence[int]) -> Num:
    """sum of weight_j x_j^5.  Cost: 5 rows a pair and 3 for an odd one out (R1CS), 6 and 4 (Square R1CS).

    Fifth roots of the weights go into the x_j, which costs nothing.
    """
    scaled = [x * pow(weight, _FIFTH_ROOT, R) for x, weight in zip(xs, weights, strict=True)]
    terms = [_sum_of_fifths(c, x, y) for x, y in zip(scaled[::2], scaled[1::2], strict=False)]
    if len(scaled) % 2:
        terms.append(c.fifth_power(scaled[-1], "s-box"))
    return linear(c, [1] * len(terms), terms)


def _sum_of_fifths(c: Builder, x: Num, y: Num) -> Num:
    """x^5 + y^5.  Cost: 5 rows (R1CS), 6 (Square R1CS).

    With g = x + y and p = x y:  x^5 + y^5 = g (g^4 - 5 g^2 p + 5 p^2) = g ((g^2 - 5/2 p)^2 - 5/4 p^2).
    """
    g = x + y
    g2 = c.square(g, "g^2")
    p = c.product(x, y, "p = x y")
    u2 = c.square(g2 - p * (5 * _HALF), "(g^2 - 5/2 p)^2")
    p2 = c.square(p, "p^2")
    return c.product(g, u2 - p2 * (5 * _HALF * _HALF), "x^5 + y^5")

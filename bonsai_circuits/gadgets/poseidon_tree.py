"""Levels of a Merkle tree of Poseidon nodes: one child opened, or one child changed."""

from collections.abc import Sequence

from bonsai_verifier.parameters import FR_MODULUS as R

from ..dsl.builder import Builder
from ..dsl.trace import System
from ..dsl.wires import Num, linear
from ..errors import CircuitError
from ..native import poseidon as native
from .digit import Digit
from .inner_product import one_hot_inner_product
from .poseidon import KnownSquare, entry_constants, poseidon_lifted
from .select import demux, mux


def enter(c: Builder, child: Num, digit: Digit) -> Num:
    """(child + k_digit)^5: the child after the first S-box of its parent, at the digit's place.  Cost: 1 S-box and a table.

    A constant child costs only the table of its possible values.
    """
    constants = entry_constants(native.poseidon_parameters(digit.size))
    if (value := child.constant_value()) is not None:
        return digit.table([pow(value + k, 5, R) for k in constants], "lifted constant")
    return c.fifth_power(child + digit.table(constants, "round constant"), "lifted child")


def open_level(c: Builder, child: Num, digit: Digit, siblings: Sequence[Num]) -> Num:
    """The node whose child at the digit is `child`, the others being `siblings`, in order.

    Cost, arity n: one entry S-box and table, a hash of n free children, n - 1 rows to select.
    Sound because the children enter the hash lifted, y_j = (x_j + k_j)^5, a bijection, and the selected one is tied to the lifted child.
    Siblings are free, so nothing ties them.
    """
    return _open(c, enter(c, child, digit), digit, siblings)[0]


def change_level(c: Builder, old: Num, new: Num, digit: Digit, siblings: Sequence[Num]) -> tuple[Num, Num]:
    """The nodes with `old` and with `new` at the digit, all other children the same.

    Cost, arity n: open_level, a second entry S-box and hash, n - 1 rows to distribute the difference (R1CS), n (Square R1CS).
    Sound because the new lifted children are y_j + s_j (Y_new - Y_old), s one-hot at the digit: the siblings are the same wires, so they
    cannot differ, and the child at the digit is Y_old - Y_old + Y_new.
    """
    return change_lifted(c, enter(c, old, digit), enter(c, new, digit), digit, siblings)


def change_lifted(c: Builder, old: Num, new: Num, digit: Digit, siblings: Sequence[Num]) -> tuple[Num, Num]:
    """As change_level, for children after the first S-box."""
    before, children = _open(c, old, digit, siblings)
    difference = new - old
    one_hot = digit.one_hot()
    with c.scope("distribute"), c.only(System.R1CS):
        distributed = demux(c, digit.bits, difference)
    parts = [c.hint_product(s, difference, f"change of child {j}") for j, s in enumerate(one_hot)]
    with c.scope("distribute"):
        with c.only(System.R1CS):
            for part, value in zip(parts, distributed, strict=True):
                part.must_equal(value, "change of a child")
        with c.only(System.SQUARE):
            squared = c.square(difference, "difference^2")
            for part, s in zip(parts[:-1], one_hot[:-1], strict=True):
                c.must_be_square(s + difference, s + squared + 2 * part, "s (Y_new - Y_old)")
            parts[-1].must_equal(difference - linear(c, [1] * (len(parts) - 1), parts[:-1]), "change of the last child")
    after, _ = poseidon_lifted(
        c, [y + part for y, part in zip(children, parts, strict=True)], native.merkle_tag(digit.size)
    )
    return before, after


def _open(c: Builder, lifted: Num, digit: Digit, siblings: Sequence[Num]) -> tuple[Num, list[Num]]:
    """The node, and its children after the first S-box."""
    children = _children(c, lifted, digit, siblings)
    node, known = poseidon_lifted(c, children, native.merkle_tag(digit.size))
    with c.scope("select"):
        with c.only(System.R1CS):
            mux(c, digit.bits, digit.spread(children), lifted)
        with c.only(System.SQUARE):
            _select_squared(c, digit, children, lifted, known)
    return node, children


def _select_squared(
    c: Builder, digit: Digit, children: Sequence[Num], lifted: Num, known: Sequence[KnownSquare]
) -> None:
    one_hot_inner_product(c, digit.one_hot(), children, lifted, known)


def _children(c: Builder, lifted: Num, digit: Digit, siblings: Sequence[Num]) -> list[Num]:
    """Free wires for the lifted children; an honest witness has `lifted` at the digit and the lifted siblings elsewhere.

    Raises CircuitError: not digit.size - 1 siblings.
    """
    if len(siblings) != digit.size - 1:
        raise CircuitError(
            "siblings", f"{len(siblings)} are given; a child of a node of {digit.size} has {digit.size - 1}"
        )
    constants = entry_constants(native.poseidon_parameters(digit.size))
    one_hot = digit.one_hot()
    children = []
    for j in range(digit.size):
        after = linear(c, [1] * (digit.size - 1 - j), one_hot[j + 1 :])  # 1 if the digit is above j
        own = siblings[min(j, digit.size - 2)]
        shifted = siblings[max(j - 1, 0)]
        sibling = c.scratch(c.hint_select(after, own, shifted, f"sibling {j}"))
        box = c.scratch(c.hint_fifth(sibling + constants[j], c.num(0), f"lifted sibling {j}"))
        children.append(c.hint_select(one_hot[j], lifted, box, f"lifted child {j}"))
    return children

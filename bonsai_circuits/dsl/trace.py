"""What a circuit description leaves behind: wires, rows, linear equations, and the instructions that compute each wire."""

from dataclasses import dataclass
from enum import IntEnum

from ..r1cs.linear import Terms


class Op(IntEnum):
    """The closed set of operations by which a wire gets its value; x, y are linear combinations of earlier wires.

    LINEAR     x
    PRODUCT    x y
    BIT        bit `immediate` of x, taken as an integer in [0, r)
    FIFTH      x^5
    INVERSE    1/x, and 0 for x = 0
    DEFAULT    x, unless the caller supplied the value of this public input
    """

    LINEAR = 0
    PRODUCT = 1
    BIT = 2
    FIFTH = 3
    INVERSE = 4
    DEFAULT = 5


@dataclass(frozen=True, slots=True)
class Instruction:
    """wire := op(x, y, immediate)."""

    wire: int
    op: Op
    x: Terms
    y: Terms
    immediate: int


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a row was made: the scope path, the line that made it, the user's own line below it, and the row's label."""

    scope: str
    file: str
    line: int
    user_file: str
    user_line: int
    label: str


@dataclass(frozen=True, slots=True)
class Row:
    """a b = c."""

    a: Terms
    b: Terms
    c: Terms
    origin: Origin


@dataclass(frozen=True, slots=True)
class Equation:
    """left = right, both linear: costs no row, one private wire is expressed by the others."""

    left: Terms
    right: Terms
    origin: Origin


@dataclass(frozen=True, slots=True)
class Trace:
    """One circuit, described once.

    Wire 0 is the constant one, wires 1 .. len(public) the public inputs, the rest private in order of creation.
    `secret` maps the name of each private input to its wire; every other private wire is the target of one instruction.
    """

    name: str
    public: tuple[str, ...]
    secret: dict[str, int]
    wire_names: tuple[str, ...]
    instructions: tuple[Instruction, ...]
    rows: tuple[Row, ...]
    equations: tuple[Equation, ...]

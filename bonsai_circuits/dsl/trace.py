"""What a circuit description leaves behind: wires, rows, linear equations, and the instructions that compute each wire."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from ..r1cs.linear import Terms


class Op(IntEnum):
    """The closed set of operations by which a wire gets its value; x, y are linear combinations of earlier wires.

    LINEAR     x
    PRODUCT    x y
    BIT        bit `immediate` of x, taken as an integer in [0, r)
    FIFTH      x^5 + y
    INVERSE    1/x, and 0 for x = 0
    DEFAULT    x, unless the caller supplied the value of this public input
    SELECT     x if `condition` is not 0, else y
    QUOTIENT   x / y, and 0 for y = 0
    """

    LINEAR = 0
    PRODUCT = 1
    BIT = 2
    FIFTH = 3
    INVERSE = 4
    DEFAULT = 5
    SELECT = 6
    QUOTIENT = 7


class System(StrEnum):
    """The two systems that one description yields."""

    R1CS = "r1cs"
    SQUARE = "square"


@dataclass(frozen=True, slots=True)
class Instruction:
    """wire := op(x, y, immediate or condition)."""

    wire: int
    op: Op
    x: Terms
    y: Terms
    immediate: int = 0
    condition: Terms | None = None

    def reads(self) -> set[int]:
        """The wires that it needs."""
        return {*self.x, *self.y, *(self.condition or ())}


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
    """a b = c, in one of the systems or (None) in both."""

    a: Terms
    b: Terms
    c: Terms
    origin: Origin
    system: System | None = None


@dataclass(frozen=True, slots=True)
class Equation:
    """left = right, both linear: costs no row, one private wire is expressed by the others."""

    left: Terms
    right: Terms
    origin: Origin
    system: System | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """One circuit, described once.

    Wire 0 is the constant one, wires 1 .. len(public) the public inputs, the rest private in order of creation.
    `secret` maps the name of each private input to its wire; every other private wire is the target of one instruction.
    Wires in `scratch` serve to compute others and stand in no row.  below: limits of private inputs that no row states, by name.
    meanings: what an input is, by its name without indices, where the relation says so.
    """

    name: str
    public: tuple[str, ...]
    secret: dict[str, int]
    scratch: frozenset[int]
    wire_names: tuple[str, ...]
    instructions: tuple[Instruction, ...]
    rows: tuple[Row, ...]
    equations: tuple[Equation, ...]
    below: Mapping[str, int] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)

    @property
    def computed(self) -> frozenset[str]:
        """Public inputs whose values may be left out, since the circuit computes them."""
        wires = {i.wire for i in self.instructions if i.op is Op.DEFAULT}
        return frozenset(name for wire, name in enumerate(self.public, start=1) if wire in wires)

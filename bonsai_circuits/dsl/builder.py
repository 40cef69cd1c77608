"""The builder: every call adds wires, rows or equations to one circuit and remembers who asked."""

import re
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple, TypeVar

from bonsai_verifier.parameters import FR_MODULUS as R

from ..errors import CircuitError
from ..r1cs.linear import ONE, Terms, added, constant, is_constant, scaled
from .trace import Equation, Instruction, Op, Origin, Row, System, Trace
from .wires import Bit, Num, as_integer

_T = TypeVar("_T")
_PACKAGE = __name__.partition(".")[0]
_BUILDER_ROOM = f"{_PACKAGE}.dsl"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\[[0-9]+\])*")
ONE_NAME = "one"  # of wire 0
_RELATION = f"{_BUILDER_ROOM}.circuit"


class Builder:
    """One circuit under description.

    Public inputs are wires 1 .. len(public).  A wire's value is always the result of one `Op`: a witness program is data.
    """

    def __init__(self, name: str, public: Sequence[str]) -> None:
        if isinstance(public, str):
            raise CircuitError(
                "public", f"expected a sequence of names, got the string {public!r}; write ({public!r},)"
            )
        for word in (name, *public):
            _require_name(word)
        if len(set(public)) != len(public):
            raise CircuitError(
                "public", f"a name stands twice in {tuple(public)}; give every public input its own name"
            )
        self._name = name
        self._public = tuple(public)
        self._secret: dict[str, int] = {}
        self._wire_names = [ONE_NAME, *public]
        self._instructions: list[Instruction] = []
        self._rows: list[Row] = []
        self._equations: list[Equation] = []
        self._scopes = [name]
        self._named: dict[str, int] = {}
        self._computed: set[int] = set()
        self._below: dict[str, int] = {}
        self._scratch: set[int] = set()
        self._system: System | None = None
        self._finished = False
        self._made: dict[Hashable, Any] = {}
        self._fifths: dict[tuple[tuple[int, int], ...], _Fifth] = {}

    # Inputs and constants ---------------------------------------------------------------------------------------------------

    def public(self, name: str) -> Num:
        if name not in self._public:
            raise CircuitError(name, f"not a public input of {self._name}; the public inputs are {self._public}")
        return self._num(1 + self._public.index(name))

    def secret(self, name: str) -> Num:
        """The private input `name`; the same wire every time it is asked for."""
        if name in self._public:
            raise CircuitError(name, "is a public input; read it from the public ones")
        if name not in self._secret:
            _require_name(name)
            self._secret[name] = self._wire(name)
        return self._num(self._secret[name])

    def advice(self, name: str) -> Num:
        """The private input `name` as a scratch value: it steers hints, and no row may hold it."""
        wire = next(iter(self.secret(name).terms))
        self._scratch.add(wire)
        return self._num(wire)

    def read_below(self, x: Num, limit: int) -> None:
        """The private input x is refused if it is not below `limit`, where inputs are read; no row says so.  Another x is left alone."""
        self.require_own(x)
        if wire := self._bare_secret(x):
            self._below[self._wire_names[wire]] = limit

    def num(self, value: Num | int) -> Num:
        if not isinstance(value, Num):
            return Num(self, constant(as_integer(value)))
        self.require_own(value)
        return value

    # Rows -------------------------------------------------------------------------------------------------------------------

    def product(self, x: Num, y: Num, label: str) -> Num:
        """x y.  Cost: 1 row; none if one of them is a constant."""
        self.require_own(x, y)
        if (k := x.constant_value()) is not None:
            return y * k
        if (k := y.constant_value()) is not None:
            return x * k
        out = self._computed_wire(Op.PRODUCT, x.terms, y.terms, label)
        self._row(x.terms, y.terms, out.terms, label)
        return out

    def square(self, x: Num, label: str) -> Num:
        """x^2.  Cost: 1 row in both systems; none for a constant."""
        return self.product(x, x, label)

    def must_be_product(self, x: Num, y: Num, out: Num, label: str) -> None:
        """x y = out.  Cost: 1 row."""
        self.require_own(x, y, out)
        self._row(x.terms, y.terms, out.terms, label)

    def must_be_square(self, x: Num, out: Num, label: str) -> None:
        """x^2 = out.  Cost: 1 row in both systems."""
        self.require_own(x, out)
        self._row(x.terms, x.terms, out.terms, label)

    def equate(self, x: Num, y: Num, label: str) -> None:
        """x = y.  Cost: no row.

        If x is a public input that nothing read before, the caller may leave its value out: it is then y.
        """
        self.require_own(x, y)
        difference = added(x.terms, scaled(y.terms, -1))
        if is_constant(difference):
            if difference:
                raise CircuitError(label, "two different constants are equated; no witness could satisfy this")
            return
        bare = self._bare_public(x)
        if bare and bare not in self._computed and bare not in y.terms and not self._is_read(bare):
            self._computed.add(bare)
            self._instructions.append(Instruction(bare, Op.DEFAULT, y.terms, {}))
        self._refuse_scratch(label, x.terms, y.terms)
        self._equations.append(Equation(x.terms, y.terms, self._origin(label), self._system))

    # Hinted wires: free, and constrained by nothing yet ---------------------------------------------------------------------

    def hint_bit(self, x: Num, position: int, label: str) -> Num:
        """A free wire that an honest witness sets to bit `position` of x in [0, r)."""
        self.require_own(x)
        if type(position) is not int or not 0 <= position < R.bit_length():
            raise CircuitError(
                "position", f"{position} is not in 0 .. {R.bit_length() - 1}: an element has no such bit"
            )
        return self._computed_wire(Op.BIT, x.terms, {}, label, position)

    def hint_value(self, x: Num, label: str) -> Num:
        """A free wire that an honest witness sets to x."""
        self.require_own(x)
        return self._computed_wire(Op.LINEAR, x.terms, {}, label)

    def hint_product(self, x: Num, y: Num, label: str) -> Num:
        """A free wire that an honest witness sets to x y."""
        self.require_own(x, y)
        return self._computed_wire(Op.PRODUCT, x.terms, y.terms, label)

    def hint_fifth(self, x: Num, y: Num, label: str) -> Num:
        """A free wire that an honest witness sets to x^5 + y."""
        self.require_own(x, y)
        return self._computed_wire(Op.FIFTH, x.terms, y.terms, label)

    def hint_select(self, condition: Num, x: Num, y: Num, label: str) -> Num:
        """A free wire that an honest witness sets to x if the condition is not 0, and to y if it is."""
        self.require_own(condition, x, y)
        return self._computed_wire(Op.SELECT, x.terms, y.terms, label, condition=condition.terms)

    def hint_inverse(self, x: Num, label: str) -> Num:
        """A free wire that an honest witness sets to 1/x, or to 0 for x = 0."""
        self.require_own(x)
        return self._computed_wire(Op.INVERSE, x.terms, {}, label)

    def hint_quotient(self, x: Num, y: Num, label: str) -> Num:
        """A free wire that an honest witness sets to x / y, or to 0 for y = 0."""
        self.require_own(x, y)
        return self._computed_wire(Op.QUOTIENT, x.terms, y.terms, label)

    def scratch(self, hint: Num) -> Num:
        """The hinted wire, or a private input, as a scratch value: it computes other hints, and no row may hold it."""
        self.require_own(hint)
        self._scratch.update(hint.terms)
        return hint

    def boolean(self, x: Num, position: int, label: str) -> Bit:
        """A wire that is 0 or 1 and that an honest witness sets to bit `position` of x.  Cost: 1 row in both systems."""
        bit = self.hint_bit(x, position, label)
        self._row(bit.terms, bit.terms, bit.terms, f"{label} is 0 or 1")
        return Bit.trusted(bit)

    def fifth_power(self, x: Num, label: str) -> Num:
        """x^5.  Cost: 3 rows in R1CS, 4 in Square R1CS; none if x is a private input plus a constant and nothing else reads that input.

        Sound because, in the free case, x -> x^5 permutes Fr (gcd(5, r - 1) = 1): for any value of the output wire there is
        exactly one input that gives it, so an extractor recovers the input and the three rows would exclude nothing.
        """
        self.require_own(x)
        if (k := x.constant_value()) is not None:
            return self.num(pow(k, 5, R))
        if not self._is_bare_secret(x):
            square = self.product(x, x, f"{label}: x^2")
            fourth = self.product(square, square, f"{label}: x^4")
            return self.product(fourth, x, f"{label}: x^5")
        key = tuple(sorted(x.terms.items()))
        if key not in self._fifths:
            out = self._computed_wire(Op.FIFTH, x.terms, {}, label)
            self._fifths[key] = _Fifth(x.terms, next(iter(out.terms)), len(self._rows), self._origin(f"{label}: x^5"))
        return self._num(self._fifths[key].out)

    def once(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """make(), or what it gave when this circuit was asked for the same key before: one value's bits are unpacked once."""
        place = (self._system, key)  # what was made for one system alone is not there in the other
        if place not in self._made:
            self._made[place] = make()
        found: _T = self._made[place]
        return found

    # Rows of one system alone -----------------------------------------------------------------------------------------------

    @contextmanager
    def only(self, system: System) -> Iterator[None]:
        """Rows and equations made inside belong to one of the systems; what is stated so must be stated in the other one too."""
        if self._system is not None:
            raise CircuitError("only", f"already inside {self._system}; the two systems do not nest")
        self._system = system
        try:
            yield
        finally:
            self._system = None

    # Scopes and the finished trace ------------------------------------------------------------------------------------------

    @contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Rows and wires made inside carry `name` in their scope path."""
        self._scopes.append(name.replace("\n", " "))
        try:
            yield
        finally:
            self._scopes.pop()

    def finish(self) -> Trace:
        """The trace, checked: everything that is read or hinted reaches a row or an equation.

        Raises CircuitError: an input that nothing uses, a hinted wire that nothing constrains.
        """
        if self._finished:
            raise CircuitError(self._name, "this description is finished already; use the trace that it gave")
        self._finished = True
        self._place_fifths()
        self._refuse_loose_wires()
        return Trace(
            self._name,
            self._public,
            self._secret,
            frozenset(self._scratch),
            tuple(self._wire_names),
            tuple(self._instructions),
            tuple(self._rows),
            tuple(self._equations),
            self._below,
        )

    def require_own(self, *nums: Num) -> None:
        """Wires of this circuit, and no plain numbers.  Raises CircuitError."""
        for num in nums:
            if not isinstance(num, Num):
                raise CircuitError("operand", f"expected a wire, got {num!r}; of a number, c.num(...) makes a constant")
            if num.builder is not self:
                raise CircuitError("operand", "the two wires belong to different circuits; build both in one")

    # Inside -----------------------------------------------------------------------------------------------------------------

    def _num(self, wire: int) -> Num:
        return Num(self, {wire: 1})

    def _wire(self, name: str) -> int:
        self._wire_names.append(name)
        return len(self._wire_names) - 1

    def _computed_wire(
        self, op: Op, x: Terms, y: Terms, label: str, immediate: int = 0, condition: Terms | None = None
    ) -> Num:
        wire = self._wire(self._fresh_name(label))
        self._instructions.append(Instruction(wire, op, x, y, immediate, condition))
        return self._num(wire)

    def _fresh_name(self, label: str) -> str:
        name = re.sub(r"[\s,]", "_", f"{self._scope()}/{label}")  # a symbol file holds names between commas, one a line
        count = self._named.get(name, 0)
        self._named[name] = count + 1
        return f"{name}#{count}" if count else name

    def _row(self, a: Terms, b: Terms, c: Terms, label: str) -> None:
        if not c and not (a and b):
            raise CircuitError(label, "the row says 0 = 0, whatever the witness; remove it")
        self._refuse_scratch(label, a, b, c)
        self._rows.append(Row(a, b, c, self._origin(label), self._system))

    def _refuse_scratch(self, label: str, *sides: Terms) -> None:
        if not self._scratch:
            return
        for side in sides:
            for wire in self._scratch.intersection(side):
                raise CircuitError(
                    label, f"holds the scratch value {self._wire_names[wire]}; constrain a wire of its own"
                )

    def _scope(self) -> str:
        return "/".join(self._scopes)

    def _origin(self, label: str) -> Origin:
        """The line that called the builder, and the line of the relation itself that led there."""
        label = label.replace("\n", " ")  # files hold labels one a line
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and _is_builder(frame):
            frame = frame.f_back
        if frame is None:
            return Origin(self._scope(), "", 0, "", 0, label)
        maker = user = frame
        outside: FrameType | None = None
        while frame is not None and not _is_relation(frame):
            if outside is None and not frame.f_globals.get("__name__", "").startswith(_PACKAGE):
                outside = frame
            if not _is_builder(frame):  # `once` stands between a gadget and what it makes
                user = frame
            frame = frame.f_back
        if frame is None:  # not below Relation.trace: a script drives the builder itself
            user = outside or maker
        return Origin(self._scope(), _file(maker), maker.f_lineno, _file(user), user.f_lineno, label)

    def _bare_public(self, x: Num) -> int:
        """The public wire that x is, or 0."""
        if len(x.terms) == 1:
            ((wire, factor),) = x.terms.items()
            if factor == 1 and 1 <= wire <= len(self._public):
                return wire
        return 0

    def _is_read(self, wire: int) -> bool:
        return any(wire in i.reads() for i in self._instructions) or any(wire in terms for terms in self._constrained())

    def _constrained(self) -> Iterator[Terms]:
        for row in self._rows:
            yield from (row.a, row.b, row.c)
        for equation in self._equations:
            yield from (equation.left, equation.right)

    def _bare_secret(self, x: Num) -> int:
        """The private input that x is, or 0."""
        ((wire, factor),) = x.terms.items() if len(x.terms) == 1 else ((0, 0),)
        return wire if factor == 1 and wire in self._secret.values() else 0

    def _is_bare_secret(self, x: Num) -> bool:
        """x is one private input, times a constant, plus a constant."""
        wires = [w for w in x.terms if w != ONE]
        return len(wires) == 1 and wires[0] in self._secret.values()

    def _place_fifths(self) -> None:
        """Adds the rows of each fifth power of a private input that something else reads too."""
        used: Counter[int] = Counter()
        for terms in self._constrained():
            used.update(terms.keys())
        for instruction in self._instructions:
            used.update(instruction.reads())
        for fifth in reversed(self._fifths.values()):
            if any(used[w] > 1 for w in fifth.x if w != ONE):
                self._rows[fifth.position : fifth.position] = self._fifth_rows(fifth)

    def _fifth_rows(self, fifth: "_Fifth") -> list[Row]:
        square, fourth = (self._wire(f"{self._wire_names[fifth.out]}.{part}") for part in ("square", "fourth"))
        x, at = fifth.x, next(i for i, instruction in enumerate(self._instructions) if instruction.wire == fifth.out)
        self._instructions[at : at + 1] = [
            Instruction(square, Op.PRODUCT, x, x),
            Instruction(fourth, Op.PRODUCT, {square: 1}, {square: 1}),
            Instruction(fifth.out, Op.PRODUCT, {fourth: 1}, x),
        ]
        return [
            Row(x, x, {square: 1}, fifth.origin),
            Row({square: 1}, {square: 1}, {fourth: 1}, fifth.origin),
            Row({fourth: 1}, x, {fifth.out: 1}, fifth.origin),
        ]

    def _refuse_loose_wires(self) -> None:
        reached = {wire for terms in self._constrained() for wire in terms}
        reached |= {w for f in self._fifths.values() for w in f.x}
        reached |= {w for i in self._instructions for w in i.reads() if w in self._scratch}
        loose = [wire for wire in range(1, len(self._wire_names)) if wire not in reached]
        if loose:
            names = [self._wire_names[wire] for wire in loose]
            kinds = ["public input" if wire <= len(self._public) else "wire" for wire in loose]
            more = f"; so do {len(loose) - 1} more: {', '.join(names[1:6])}" if len(loose) > 1 else ""
            raise CircuitError(
                names[0], f"this {kinds[0]} of {self._name} reaches no row; constrain it or remove it{more}"
            )


class _Fifth(NamedTuple):
    """The fifth power of a private input; whether its rows are needed, and stand before `position`, is known at the end."""

    x: Terms
    out: int
    position: int
    origin: Origin


def _is_relation(frame: FrameType) -> bool:
    """The frame is what calls a relation."""
    return frame.f_globals.get("__name__") == _RELATION


def _require_name(name: str) -> None:
    """Names stand in symbol files, folders and JSON: letters, digits, _ and -, and indices in brackets."""
    if not _NAME.fullmatch(name) or name == ONE_NAME:
        raise CircuitError(
            str(name), "is no name: use letters, digits, _ and -, begin with a letter or _, and not 'one'"
        )


def _is_builder(frame: FrameType) -> bool:
    """The frame is of this room, or of what its context managers run in."""
    module: str = frame.f_globals.get("__name__", "")
    return module.startswith(_BUILDER_ROOM) or module == "contextlib"


def _file(frame: FrameType) -> str:
    """The source file as package/room/file.py for a module of a package, and by its name alone for a script."""
    module = frame.f_globals.get("__name__", "")
    name = frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
    parts = module.split(".")[:-1] if module != "__main__" else []
    return "/".join([*parts, name])

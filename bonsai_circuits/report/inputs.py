"""What a circuit takes: its inputs by name, arrays as ranges, public or private, with what the relation says of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..dsl.trace import Trace
from ..pipeline import Circuit
from ..witness.inputs import base_name, collapsed
from .count import aligned

_TITLES = ("input", "numbers", "kind", "meaning")


@dataclass(frozen=True, slots=True)
class Input:
    """One input, or an array of them.

    ranges: its elements, path[0..3][0..6], or its name alone; count, how many numbers; computed: public and may be left out.
    """

    name: str
    ranges: tuple[str, ...]
    count: int
    public: bool
    computed: bool
    meaning: str

    @property
    def kind(self) -> str:
        if not self.public:
            return "private"
        return "public, may be left out" if self.computed else "public"


def inputs_of(circuit: Circuit | Trace) -> list[Input]:
    """The inputs of a compiled circuit or of a description, public ones first."""
    if isinstance(circuit, Trace):
        return _inputs(circuit.public, circuit.secret, circuit.computed, circuit.meanings)
    tape = circuit.tape
    return _inputs(tape.public, tape.secret, tape.computed, circuit.about.meanings)


def _inputs(
    public: Iterable[str], secret: Iterable[str], computed: frozenset[str], meanings: Mapping[str, str]
) -> list[Input]:
    found = []
    for names, is_public in ((public, True), (secret, False)):
        arrays: dict[str, list[str]] = {}
        for name in names:
            arrays.setdefault(base_name(name), []).append(name)
        for base, elements in arrays.items():
            meaning, left_out = meanings.get(base, ""), computed.issuperset(elements)
            found.append(Input(base, tuple(collapsed(elements)), len(elements), is_public, left_out, meaning))
    return found


def inputs_table(inputs: Iterable[Input]) -> str:
    """As text, a range a line; what the input is stands beside its first."""
    rows = [_TITLES]
    for one in inputs:
        rows.append((one.ranges[0], f"{one.count:,}", one.kind, one.meaning))
        rows += [(part, "", "", "") for part in one.ranges[1:]]
    return aligned(rows, n_left=4)

"""Symbol files, .sym: a line `label,wire,component,name` for every signal; wire -1 where the signal was optimised away."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..artifacts.atomic import write_atomic
from ..errors import InputError, WireError

MAIN = "main."  # circom calls the outermost component so
_LINE = re.compile(r"([0-9]{1,18}),(-1|[0-9]{1,18}),([0-9]{1,18}),([^,]+)")


@dataclass(frozen=True)
class Symbols:
    """The signals of a circuit by name, without the leading `main.`: their labels and their wires."""

    names: tuple[str, ...]
    labels: tuple[int, ...]
    wires: tuple[int | None, ...]

    @cached_property
    def name_of_label(self) -> dict[int, str]:
        return dict(zip(self.labels, self.names, strict=True))

    @cached_property
    def wire_of_label(self) -> dict[int, int | None]:
        return dict(zip(self.labels, self.wires, strict=True))

    @cached_property
    def _wire_of_name(self) -> dict[str, int | None]:
        return dict(zip(self.names, self.wires, strict=True))

    def wire(self, name: str) -> int:
        """The wire that carries a signal.  Raises InputError: no such signal, or it was optimised away."""
        if name not in self._wire_of_name:
            raise InputError("signal", f"the circuit has no {name!r}")
        wire = self._wire_of_name[name]
        if wire is None:
            raise InputError("signal", f"{name!r} has no wire: it was optimised away; compile without simplification")
        return wire


def read_sym(path: Path) -> Symbols:
    """The symbols of a file, as decode_sym gives them."""
    return decode_sym(path.read_bytes())


def write_sym(path: Path, wire_names: Sequence[str]) -> None:
    """Names the wires 1, 2, ... of a system written by write_r1cs; wire_names[0] is the constant one and not written."""
    write_atomic(path, encode_sym(wire_names))


def decode_sym(data: bytes) -> Symbols:
    """Raises WireError: a line that is not `label,wire,component,name`, or a label or name that stands twice."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise WireError("sym file", f"not UTF-8 at byte {error.start}") from None
    names: list[str] = []
    labels: list[int] = []
    wires: list[int | None] = []
    for i, line in enumerate(text.removesuffix("\n").split("\n") if text else (), start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise WireError(f"sym line {i}", "not `label,wire,component,name`")
        labels.append(int(match[1]))
        wires.append(None if match[2] == "-1" else int(match[2]))
        names.append(match[4].removeprefix(MAIN))
    for what, values in (("label", labels), ("name", names)):
        if len(set(values)) != len(values):
            raise WireError("sym file", f"a {what} stands twice")
    return Symbols(tuple(names), tuple(labels), tuple(wires))


def encode_sym(wire_names: Sequence[str]) -> bytes:
    """Label and wire are the same number; a component is what stands before a name's last dot."""
    return "".join(_lines(wire_names)).encode()


def _lines(wire_names: Sequence[str]) -> Iterator[str]:
    components: dict[str, int] = {}
    for wire, name in enumerate(wire_names[1:], start=1):
        if not name or re.search(r"[,\r\n]", name):
            raise InputError(f"name of wire {wire}", f"{name!r} is empty or has a comma or a line break in it")
        component = components.setdefault(name.rpartition(".")[0], len(components))
        yield f"{wire},{wire},{component},{MAIN}{name}\n"

"""Input files: a JSON object of names and integers, read exactly or refused."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bonsai_verifier.parameters import FR_MODULUS

from ..artifacts.json_object import parse_json
from ..errors import InputError

MAX_BYTES = 2**24  # an input file is a few hundred short numbers
_MAX_DIGITS = 78  # 2^256 has 78 decimal digits
_ELEMENT = re.compile(r"[^\[\]]+(\[(0|[1-9][0-9]{0,8})\]){1,8}")


def read_inputs(path: Path) -> dict[str, int]:
    """The names and values of a JSON file: decimal strings or JSON integers in [0, r).

    Raises InputError, naming the file or the input: no such file, not a JSON object of such values, a name twice, a value out of range.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as e:
        raise InputError(str(path), f"cannot be read: {e.strerror}") from e
    if len(data) > MAX_BYTES:
        raise InputError(str(path), f"is larger than {MAX_BYTES} bytes; an input file holds only names and numbers")
    return parse_inputs(data, str(path))


def parse_inputs(data: bytes, source: str) -> dict[str, int]:
    """As read_inputs, from bytes; `source` names them in errors."""
    try:
        content = parse_json(data)
    except ValueError as e:
        raise InputError(source, f'expected a JSON object such as {{"fee": "10"}}, found: {e}') from e
    return flatten_inputs(content)


def flatten_inputs(content: Mapping[str, Any]) -> dict[str, int]:
    """Values by name; an element of a list gets the list's name and its index: path[2][0].  Raises InputError, naming the value."""
    values: dict[str, int] = {}
    pending = list(reversed(list(content.items())))
    while pending:
        name, value = pending.pop()
        if isinstance(value, list):
            pending += [(f"{name}[{i}]", value[i]) for i in reversed(range(len(value)))]
        elif name in values:
            raise InputError(name, "stands twice, as a name and as an element of a list")
        else:
            values[name] = _value(name, value)
    return values


def select_inputs(
    values: Mapping[str, int], required: Iterable[str], optional: Iterable[str], below: Mapping[str, int] | None = None
) -> dict[str, int]:
    """`values` with exactly the required names and some of the optional ones, each below r and below its limit, where it has one.

    Raises InputError: a missing or unknown name, and the message shows the expected shape; or a value out of range.
    """
    required, optional = dict.fromkeys(required), dict.fromkeys(optional)
    if missing := [name for name in required if name not in values]:
        what = "this is one number, not a list" if missing[0] in map(base_name, values) else "this input is missing"
        raise InputError(collapsed(missing)[0], f"{what}; {_shape(required, optional)}")
    if unknown := [name for name in values if name not in required and name not in optional]:
        raise InputError(collapsed(unknown)[0], f"there is no such input; {_shape(required, optional)}")
    for name, value in values.items():
        if type(value) is not int or not 0 <= value < FR_MODULUS:
            raise InputError(name, "expected an integer in [0, r), r the order of the scalar field of BLS12-381")
    for name, limit in (below or {}).items():
        if values[name] >= limit:
            raise InputError(name, f"is not below {limit}, which this circuit takes it modulo; draw it below")
    return dict(values)


def _shape(required: Iterable[str], optional: Iterable[str]) -> str:
    shape = f"expected {{{', '.join(collapsed(required))}}}"
    return shape + (f" and, if you like, {{{', '.join(collapsed(optional))}}}" if optional else "")


def collapsed(names: Iterable[str]) -> list[str]:
    """The names with the elements of an array as ranges: path[0][0], .., path[3][6] are path[0..3][0..6].  In order of first appearance."""
    trees: dict[str, dict[int, Any]] = {}
    for name in names:
        base, *indices = _split(str(name))
        node = trees.setdefault(base, {})
        for i in indices:
            node = node.setdefault(int(i), {})
    return [base + suffix for base, tree in trees.items() for suffix in _ranges(tree)]


def base_name(name: str) -> str:
    """The name of the array that an input is an element of; its own name if it is none."""
    return _split(name)[0]


def _split(name: str) -> list[str]:
    """path[2][0] -> path, 2, 0; a name of another form is itself."""
    if not _ELEMENT.fullmatch(name):
        return [name]
    return name.replace("]", "").split("[")


def _ranges(tree: Mapping[int, Any]) -> list[str]:
    """Indices of an array as ranges, neighbours with the same indices below them together."""
    if not tree:
        return [""]
    runs: list[tuple[int, int, list[str]]] = []
    for i in sorted(tree):
        below = _ranges(tree[i])
        if runs and runs[-1][1] == i - 1 and runs[-1][2] == below:
            runs[-1] = (runs[-1][0], i, below)
        else:
            runs.append((i, i, below))
    return [f"[{a}{f'..{b}' if b > a else ''}]{suffix}" for a, b, below in runs for suffix in below]


def format_inputs(values: Mapping[str, int]) -> str:
    """The JSON text of names and decimal strings, one a line."""
    return json.dumps({name: str(value) for name, value in values.items()}, indent=2) + "\n"


def _value(name: str, value: Any) -> int:
    if type(value) is float:
        raise InputError(name, "is not an exact integer; write a JSON integer or a decimal string")
    if type(value) is not int and not (
        isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS
    ):
        raise InputError(name, "expected one non-negative integer, as a JSON integer or a decimal string")
    if not 0 <= (number := int(value)) < FR_MODULUS:
        raise InputError(
            name, "is not in [0, r), r the order of the scalar field of BLS12-381; reduce it if you mean it"
        )
    return number

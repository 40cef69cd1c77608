"""The relations as circom 2 programs with our constants: written straightforwardly, to check the optimised circuits by."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial

from jinja2 import Environment, PackageLoader, StrictUndefined

from ..errors import InputError
from ..native.poseidon import ACCOUNT_TAG, OUTPUT, RECEIPT_TAG, merkle_tag, poseidon_parameters
from ..relations.send import AMOUNT_BITS

POSITION_BITS = 40


@dataclass(frozen=True, slots=True)
class TreeLayout:
    """The levels of one tree from the leaves up: bits of the digit at each."""

    widths: tuple[int, ...]

    @property
    def levels(self) -> int:
        return len(self.widths)

    @property
    def siblings(self) -> int:
        """Those of the widest level: circom's arrays are rectangular, so every level has room for so many."""
        return (1 << max(self.widths)) - 1


@dataclass(frozen=True, slots=True)
class Shape:
    """Both trees over 2^POSITION_BITS positions; a nullifier leaf is a bitmap of 2^bitmap_bits of them."""

    receipt: TreeLayout
    nullifier: TreeLayout
    bitmap_bits: int


SHAPES = {
    "wide": Shape(TreeLayout((3, 2, 2, *[3] * 11)), TreeLayout((3,) * 11), bitmap_bits=7),
    "classic": Shape(TreeLayout((1,) * POSITION_BITS), TreeLayout((1,) * POSITION_BITS), bitmap_bits=0),
}
_ARITIES = (2, 3, 4, 8)


def has_program(circuit: str) -> bool:
    """Whether there is a circom program of this circuit."""
    return circuit in _CIRCUITS


def render(circuit: str) -> dict[str, str]:
    """The program `<circuit>.circom` and the files it includes, as {file name: text}.

    Raises InputError: a circuit that has no circom program.
    """
    if circuit not in _CIRCUITS:
        raise InputError("circuit", f"{circuit!r} has no circom program; there are: {', '.join(_CIRCUITS)}")
    return _CIRCUITS[circuit](circuit)


def simplification(circuit: str) -> int:
    """The `simplify` level to compile the program with: full for what is small; over trees that takes a minute instead of seconds."""
    return 2 if _shape(circuit) is None else 1


def circom_inputs(circuit: str, inputs: Mapping[str, int]) -> dict[str, int | list[list[int]]]:
    """Inputs of our circuit as its circom program takes them: every path a list of levels, each filled up with zeros to the widest one.

    In: values by name, an element of a path as `receipt_path[2][0]`: what `read_inputs` and `flatten_inputs` give.  Only the receipt path
    of the wide shape has levels of different widths; the program checks that what was filled up is 0.
    Raises InputError: an element that is missing, or one that the shape has no place for.
    """
    left, paths = dict(inputs), {}
    if shape := _shape(circuit):
        for name, tree in (("receipt_path", shape.receipt), ("nullifier_path", shape.nullifier)):
            paths[name] = [
                [_take(left, f"{name}[{i}][{j}]") for j in range(n)] + [0] * (tree.siblings - n)
                for i, n in enumerate((1 << width) - 1 for width in tree.widths)
            ]
    for name in left:
        if "[" in name:
            raise InputError(name, f"{circuit} has no such input")
    return {**left, **paths}


def _take(values: dict[str, int], name: str) -> int:
    if name not in values:
        raise InputError(name, "this input is missing")
    return values.pop(name)


def _shape(circuit: str) -> Shape | None:
    return SHAPES.get(circuit.rpartition("-")[2])


def _send(circuit: str) -> dict[str, str]:
    return {
        f"{circuit}.circom": _fill("send.circom.j2", _NUMBERS),
        "poseidon.circom": _poseidon(3, 4),
        "range.circom": _fill("range.circom.j2", {}),
    }


def _over_trees(template: str, circuit: str) -> dict[str, str]:
    shape = _shape(circuit)
    assert shape is not None
    values = {
        **_NUMBERS,
        "position_bits": POSITION_BITS,
        "bitmap_bits": shape.bitmap_bits,
        "receipt": shape.receipt,
        "nullifier": shape.nullifier,
        "node_tags": {arity: merkle_tag(arity) for arity in _ARITIES},
    }
    return {
        f"{circuit}.circom": _fill(template, values),
        "trees.circom": _fill("trees.circom.j2", values),
        "poseidon.circom": _poseidon(*_ARITIES),
        "range.circom": _fill("range.circom.j2", {}),
    }


def _poseidon(*arities: int) -> str:
    values = {"parameters": [poseidon_parameters(arity) for arity in arities], "output": OUTPUT}
    return _fill("poseidon.circom.j2", values)


def _fill(template: str, values: Mapping[str, object]) -> str:
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("bonsai_circuits", "templates"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 (programs, not HTML)
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


_NUMBERS = {"account_tag": ACCOUNT_TAG, "receipt_tag": RECEIPT_TAG, "amount_bits": AMOUNT_BITS}
_CIRCUITS: dict[str, Callable[[str], dict[str, str]]] = {
    "send-poseidon": _send,
    **{
        f"{relation}-poseidon-{shape}": partial(_over_trees, f"{relation}.circom.j2")
        for relation in ("recv", "op")
        for shape in SHAPES
    },
}

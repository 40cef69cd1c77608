"""The relations as circom 2 programs with our constants: written straightforwardly, to check the optimised circuits by."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from ..errors import InputError
from ..native import jubjub, pedersen, poseidon
from ..relations.send import AMOUNT_BITS

POSITION_BITS = 40


@dataclass(frozen=True, slots=True)
class TreeLayout:
    """The levels of one tree from the leaves up: bits of the digit at each, and the tag of its nodes."""

    widths: tuple[int, ...]
    tags: tuple[int, ...]

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
    leaf_is_hashed: bool = False  # the path starts at the node over the flags, not at their number


def _poseidon_layout(*widths: int) -> TreeLayout:
    return TreeLayout(widths, tuple(poseidon.merkle_tag(1 << width) for width in widths))


_SAPLING = TreeLayout((1,) * POSITION_BITS, tuple(range(POSITION_BITS)))
_FLAG_LEVELS = 4
SHAPES = {
    "poseidon-wide": Shape(_poseidon_layout(3, 2, 2, *[3] * 11), _poseidon_layout(*[3] * 11), bitmap_bits=7),
    "poseidon-classic": Shape(_poseidon_layout(*[1] * 40), _poseidon_layout(*[1] * 40), bitmap_bits=0),
    "pedersen-wide": Shape(
        _SAPLING,
        TreeLayout((1, *[2] * 16), (pedersen.BITMAP_TAG, *(pedersen.QUATERNARY_TAG + i for i in range(16)))),
        bitmap_bits=7,
    ),
    "pedersen-classic": Shape(
        _SAPLING,
        TreeLayout(_SAPLING.widths[_FLAG_LEVELS:], _SAPLING.tags[_FLAG_LEVELS:]),
        bitmap_bits=_FLAG_LEVELS,
        leaf_is_hashed=True,
    ),
}
_CIRCUITS = (
    *(f"send-{hash_name}" for hash_name in ("poseidon", "pedersen")),
    *(f"{relation}-{shape}" for relation in ("recv", "op") for shape in SHAPES),
)


def has_program(circuit: str) -> bool:
    """Whether there is a circom program of this circuit."""
    return circuit in _CIRCUITS


def render(circuit: str) -> dict[str, str]:
    """The program `<circuit>.circom` and the files it includes, as {file name: text}.

    Raises InputError: a circuit that has no circom program.
    """
    if circuit not in _CIRCUITS:
        raise InputError("circuit", f"{circuit!r} has no circom program; there are: {', '.join(_CIRCUITS)}")
    relation, hash_name = circuit.split("-")[:2]
    shape = _shape(circuit)
    values: dict[str, object] = {"amount_bits": AMOUNT_BITS}
    files = {f"{circuit}.circom": f"{relation}.circom.j2", "range.circom": "range.circom.j2"}
    if shape is not None:
        values |= {"position_bits": POSITION_BITS, "bitmap_bits": shape.bitmap_bits, "flags": shape.leaf_is_hashed}
        values |= {"receipt": shape.receipt, "nullifier": shape.nullifier}
        files |= {name: f"{name}.j2" for name in ("trees.circom", "digit.circom")}
        files["node.circom"] = f"{hash_name}_node.circom.j2"
    files["commitments.circom"] = f"{hash_name}_commitments.circom.j2"
    if hash_name == "poseidon":
        files["poseidon.circom"] = "poseidon.circom.j2"
        values |= _poseidon_values(3, 4) if shape is None else _poseidon_values(2, 3, 4, 8)
    else:
        files |= {name: f"{name}.j2" for name in ("jubjub.circom", "pedersen.circom")}
        values |= _pedersen_values(shape)
    return {name: _fill(template, values) for name, template in files.items()}


def simplification(circuit: str) -> int:
    """The `simplify` level to compile the program with: full for what is small; over trees that takes a minute instead of seconds."""
    return 2 if _shape(circuit) is None else 1


def circom_inputs(circuit: str, inputs: Mapping[str, int]) -> dict[str, int | list[list[int]]]:
    """Inputs of our circuit as its circom program takes them: every path a list of levels, each filled up with zeros to the widest one.

    In: values by name, an element of a path as `receipt_path[2][0]`: what `read_inputs` and `flatten_inputs` give.  In the wide
    shapes one path has levels of different widths; the program checks that what was filled up is 0.
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
    return SHAPES.get(circuit.partition("-")[2])


def _poseidon_values(*arities: int) -> dict[str, object]:
    return {
        "account_tag": poseidon.ACCOUNT_TAG,
        "receipt_tag": poseidon.RECEIPT_TAG,
        "parameters": [poseidon.poseidon_parameters(arity) for arity in arities],
        "output": poseidon.OUTPUT,
    }


def _pedersen_values(shape: Shape | None) -> dict[str, object]:
    """The curve, the points of each chunk of each segment that the program has, and what else of it is constant."""
    quaternary = shape is not None and 2 in shape.nullifier.widths
    values: dict[str, object] = {
        "d": jubjub.D,
        "a": jubjub.MONTGOMERY_A,
        "scale": jubjub.MONTGOMERY_SCALE,
        "windows": [
            [[jubjub.to_montgomery(p) for p in pedersen.window(number)] for number in _segment(i)]
            for i in range(_QUATERNARY_SEGMENTS if quaternary else _RECEIPT_SEGMENTS)
        ],
        "blinding": _blinding_points(),
        "account_tag": pedersen.ACCOUNT_TAG,
        "receipt_tag": pedersen.RECEIPT_TAG,
        "quaternary": quaternary,
    }
    if shape is not None and quaternary:
        values |= {"bitmap_tag": pedersen.BITMAP_TAG, "bitmap_width": 1 << shape.bitmap_bits, "padding": _padding()}
    if shape is not None and shape.leaf_is_hashed:
        values |= {"flags": _nodes_over_flags(_FLAG_LEVELS - 1), "flags_tag": _FLAG_LEVELS - 1}
    return values


_RECEIPT_SEGMENTS, _QUATERNARY_SEGMENTS = 4, 8  # of the longest message of each kind


def _segment(i: int) -> range:
    """The numbers of its chunks."""
    return range(pedersen.SEGMENT_CHUNKS * i, pedersen.SEGMENT_CHUNKS * (i + 1))


def _padding() -> list[jubjub.Point]:
    """What the zeros behind each child of a node of four add, all of them in the child's second segment."""
    used = (pedersen.TAG_BITS + pedersen.FIELD_BITS) // pedersen.CHUNK_BITS - pedersen.SEGMENT_CHUNKS
    zeros = (0,) * pedersen.CHUNK_BITS
    return [
        jubjub.to_montgomery(jubjub.add_all(pedersen.entry(number, zeros) for number in _segment(i)[used:]))
        for i in range(1, _QUATERNARY_SEGMENTS, 2)
    ]


def _blinding_points() -> list[list[jubjub.Point]]:
    """[k 8^j] R, k = 0 .. 7, for each j."""
    rows, base = [], pedersen.blinding_generator()
    for _ in range(pedersen.BLINDING_DIGITS):
        row = [jubjub.IDENTITY]
        for _ in range(8):
            row.append(jubjub.add(row[-1], base))
        rows.append(row[:8])
        base = row[8]
    return rows


def _nodes_over_flags(levels: int) -> list[int]:
    """The node over 2^levels leaves that are flags, by the number that they are."""
    nodes = [0, 1]
    for level in range(levels):
        nodes = [pedersen.binary_node(level, left, right) for right in nodes for left in nodes]
    return nodes


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

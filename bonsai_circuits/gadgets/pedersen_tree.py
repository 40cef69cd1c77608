"""Levels of a Merkle tree of Pedersen nodes, one child opened or one child changed; and the trees that relations use."""

from collections.abc import Sequence
from functools import cache

from bonsai_verifier.parameters import FR_MODULUS as R

from ..dsl.builder import Builder
from ..dsl.trace import System
from ..dsl.wires import Bit, Num, linear
from ..native import jubjub
from ..native import pedersen as native
from ..native.pedersen import BITMAP_TAG, CHUNK_BITS, FIELD_BITS, QUATERNARY_TAG, SEGMENT_CHUNKS, TAG_BITS
from . import edwards
from .bitmap import WORD_BITS, WORDS, take_bit
from .boolean import both
from .digit import Digit
from .pedersen import Chunk, Place, chunks, placed, segment_points, sum_u, tag_chunks
from .range import bits, field_bits
from .select import mux
from .table import Tables
from .trees import POSITION_BITS, Position, siblings

_HALF, _QUARTER = pow(2, -1, R), pow(4, -1, R)
_BITMAP_BITS = WORD_BITS * WORDS
_TAG_CHUNKS = TAG_BITS // CHUNK_BITS
_CHILD_CHUNKS = FIELD_BITS // CHUNK_BITS
FLAG_LEVELS = 4  # of the classic nullifier tree, by tables over 16 flags
_HALF_FLAGS = 1 << (FLAG_LEVELS - 1)
_LOW_FLAGS = 5  # how a table's bits are split: the fewest rows for 8 bits, and for 9


def open_level(c: Builder, child: Num, digit: Digit, tag: int, sibling: Num) -> Num:
    """The node of two children whose child at the digit is `child`, the other being `sibling`, a scratch value.

    Cost: 510 bits, 1 product to select (2 rows in Square R1CS), the hash: 1,372 rows, 1,557 in Square R1CS.
    Sound because the children are whatever their bits say, the selected one equals `child`, and the other is free as a sibling is.
    """
    left, right = _ordered(c, child, digit, [sibling], FIELD_BITS)
    tagged = [*tag_chunks(c, tag), *chunks(c, [*left, *right], _TAG_CHUNKS)]
    return sum_u(c, segment_points(c, tagged))


def change_level(
    c: Builder, old: Num, new: Num, digit: Digit, tag: int, siblings: Sequence[Num], width: int = FIELD_BITS
) -> tuple[Num, Num]:
    """The nodes of two or four children with `old` and with `new` at the digit, all other children the same; children below 2^width.

    The node before is hashed as an opening is.  The node after is the sum of the other children's points, which stand already, and of the
    new child's, from tables at the digit; its u comes as bits, which the level above hashes.
    Cost, the bits of `new` standing: two children 2,248 rows, 2,631 in Square R1CS (1,277 and 1,488 for a width of 128); four 3,991 and
    4,669, the product of the digit's bits included.
    Sound because the siblings enter both nodes by the same points, so they cannot differ; and the new child's chunks stand where the
    old one's stood, by the same bits of the digit.
    """
    children = _ordered(c, old, digit, siblings, width)
    fresh = field_bits(c, new) if width == FIELD_BITS else _widened(c, bits(c, new, width))
    places = _places(digit.size, tag)
    with c.scope("before"):
        points = []
        for place, child in zip(places, children, strict=True):
            own = [*_constant_chunks(c, place), *chunks(c, child, place.first)]
            points.append(edwards.add_all(c, segment_points(c, own)))
        if digit.size == 2:
            before, kept = edwards.add_u(c, *points), edwards.select(c, digit.bits, points[::-1])
        else:
            total = edwards.add_all(c, points)
            before = total.u
            kept = edwards.add(c, total, edwards.select(c, digit.bits, points).negated())
    with c.scope("after"):
        *parts, last = [kept, *placed(c, fresh, places, digit.bits)]
        after = edwards.add_u_bits(c, edwards.add_all(c, parts), last)
    return before, after


def _places(n_children: int, tag: int) -> list[Place]:
    """Where each child stands, and which constant chunks come and go with it.

    Two children: the tag belongs to the left one.  Four: native.quaternary_message.
    """
    front = _constants(0, native.bits_of(tag, TAG_BITS))
    if n_children == 2:
        return [Place(_TAG_CHUNKS, front), Place(_TAG_CHUNKS + _CHILD_CHUNKS, ())]
    places = []
    for j in range(n_children):
        at = 2 * SEGMENT_CHUNKS * j
        end = at + _TAG_CHUNKS + _CHILD_CHUNKS
        padding = _constants(end, [0] * CHUNK_BITS * (at + 2 * SEGMENT_CHUNKS - end))
        own = front if j == 0 else _constants(at, [0] * TAG_BITS)
        places.append(Place(at + _TAG_CHUNKS, (*own, *padding)))
    return places


def _constants(first: int, values: Sequence[int]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    return tuple((first + i, chunk) for i, chunk in enumerate(native.chunks_of(values)))


def _constant_chunks(c: Builder, place: Place) -> list[Chunk]:
    return [
        chunk
        for number, values in place.constants
        for chunk in chunks(c, [Bit.trusted(c.num(value)) for value in values], number)
    ]


def _ordered(c: Builder, child: Num, digit: Digit, siblings: Sequence[Num], width: int) -> list[list[Bit]]:
    """The bits of all children in order, `child` at the digit.  Cost: width rows a child, and len(siblings) products to select.

    Children of the full width may be aliases (range.field_bits).
    """
    children = []
    for j in range(digit.size):
        after = linear(c, [1] * (digit.size - 1 - j), digit.one_hot()[j + 1 :])  # 1 if the digit is above j
        sibling = siblings[min(j, digit.size - 2)]
        if 0 < j < digit.size - 1:
            sibling = c.scratch(c.hint_select(after, sibling, siblings[j - 1], f"sibling {j}"))
        value = c.scratch(c.hint_select(digit.one_hot()[j], child, sibling, f"child {j}"))
        with c.scope(f"child {j}"):
            children.append([c.boolean(value, i, f"bit {i}") for i in range(width)])
    values = [linear(c, [1 << i for i in range(width)], child_bits) for child_bits in children]
    mux(c, digit.bits, values, child)
    return [_widened(c, child_bits) for child_bits in children]


def _widened(c: Builder, parts: list[Bit]) -> list[Bit]:
    return [*parts, *[Bit.trusted(c.num(0))] * (FIELD_BITS - len(parts))]


# The lowest levels of the classic nullifier tree -------------------------------------------------------------------------------


def take_flag(c: Builder, leaf: Num, low: Digit, half: Digit, active: Bit | None) -> tuple[Num, Num]:
    """The nodes over 16 leaves that are flags, before and after the one at low + 8 half was set; it was 0.

    In: digits of 3 bits, `shared`, and of 1; leaf, the flags as one number, a private input that nothing else
    reads.  Where `active` is 0 nothing is set, but the flag must be 0 too.  The highest of the FLAG_LEVELS levels is the sum of two points,
    one for each half of the flags: each is a table.
    Cost: 190 rows, 201 in Square R1CS, 7 more with `active`; and the 255 bits of the node after.
    Sound because the flags are 0 or 1, and a half's point is a function of its flags.  The selected f are the half's flags: as bits of the
    same number below 2^8, since f (f + s - 1) = 0, s one-hot at `low`, makes each 0 or 1 and the one at `low` 0 (in Square R1CS
    (f + s/2)^2 = f + s/4, the same since s^2 = s).  So f + s are 0 or 1 as well; the other half's point is the same in both nodes.
    """
    flags = [Bit.trusted(c.boolean(leaf, i, f"flag {i}")) for i in range(2 * _HALF_FLAGS)]
    halves = [flags[:_HALF_FLAGS], flags[_HALF_FLAGS:]]
    bytes_ = [linear(c, [1 << i for i in range(_HALF_FLAGS)], part) for part in halves]
    linear(c, [1, 1 << _HALF_FLAGS], bytes_).must_equal(leaf, "the flags are below 2^16")
    one_hot, (bit,) = low.one_hot(), half.bits
    word = c.scratch(c.hint_select(bit, bytes_[1], bytes_[0], "selected flags"))
    selected = []
    for i, s in enumerate(one_hot):
        flag, label = c.hint_bit(word, i, f"selected flag {i}"), f"flag {i} is 0 or 1, and 0 if it is to be taken"
        with c.only(System.R1CS):
            c.must_be_product(flag, flag + s - 1, c.num(0), label)
        with c.only(System.SQUARE):
            c.must_be_square(flag + s * _HALF, flag + s * _QUARTER, label)
        selected.append(flag)
    mux(c, half.bits, bytes_, linear(c, [1 << i for i in range(_HALF_FLAGS)], selected))
    taken: Sequence[Num] = one_hot
    if active is not None:
        parts = [both(c, active, s, "taken if active") for s in one_hot[:-1]]
        taken = [*parts, active - linear(c, [1] * len(parts), parts)]
    changed = [Bit.trusted(flag + s) for flag, s in zip(selected, taken, strict=True)]
    left, right = (_table_point(c, part, _half_points(j)) for j, part in enumerate(halves))
    fresh = _table_point(c, [*changed, bit], [*_half_points(0), *_half_points(1)])
    kept = edwards.select(c, half.bits, [right, left])
    return edwards.add_u(c, left, right), edwards.add_u_bits(c, kept, fresh)


def _table_point(c: Builder, position: Sequence[Bit], points: Sequence[jubjub.Point]) -> edwards.Point:
    """points[position].  Cost: 44 rows for 8 bits, 67 for 9, in both systems."""
    tables = Tables(c, position, _LOW_FLAGS)
    u, v = (tables.at([p[i] for p in points], f"point over flags: {label}") for i, label in ((0, "u"), (1, "v")))
    return edwards.Point(u, v)


@cache
def _half_points(j: int) -> tuple[jubjub.Point, ...]:
    """What child j of a node of level FLAG_LEVELS - 1 adds to it, by the flags below the child."""
    nodes: tuple[int, ...] = (0, 1)
    for level in range(FLAG_LEVELS - 1):
        nodes = tuple(native.binary_node(level, left, right) for right in nodes for left in nodes)
    place = _places(2, FLAG_LEVELS - 1)[j]
    return tuple(
        jubjub.add_all(
            native.entry(number, values)
            for number, values in (*place.constants, *_constants(place.first, native.bits_of(node, FIELD_BITS)))
        )
        for node in nodes
    )


class PedersenTrees:
    """classic: 40 levels of 2 children, a nullifier leaf is 0 or 1.  wide: the same receipt tree; nullifiers have 128 positions a leaf, a
    level of 2 and 16 of 4 children above it.

    Siblings as in gadgets.trees; `nullifier_leaf` holds the flags of the 16 (classic) or 128 (wide) neighbouring leaves as one number, and
    `nullifier_path` starts above them.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._wide = name == "wide"
        self._widths = (3, 2, 2, 1, *[2] * 16) if self._wide else (3, *[1] * (POSITION_BITS - 3))

    def position(self, c: Builder, position_bits: Sequence[Bit]) -> Position:
        return Position(c, position_bits, self._widths, len(self._widths) if self._wide else 1)

    def open_receipt(self, c: Builder, position: Position, receipt: Num) -> Num:
        node = receipt
        with c.scope("receipt tree"):
            for level, bit in enumerate(bit for digit in position.digits for bit in digit.bits):
                with c.scope(f"level {level}"):
                    (sibling,) = siblings(c, "receipt_path", level, 2)
                    node = open_level(c, node, Digit(c, [bit]), level, sibling)
        return node

    def take_nullifier(self, c: Builder, position: Position, active: Bit | None) -> tuple[Num, Num]:
        leaf = c.secret("nullifier_leaf")
        with c.scope("nullifier tree"):
            if self._wide:
                low, middle, high, *digits = position.digits
                old, new = take_bit(c, leaf, (low, middle, high), active)
            else:
                low, half, *digits = position.digits
                with c.scope("flags"):
                    old, new = take_flag(c, leaf, low, half, active)
            for i, digit in enumerate(digits):
                tag, width = i + FLAG_LEVELS, FIELD_BITS
                if self._wide:
                    tag, width = (QUATERNARY_TAG + i - 1, FIELD_BITS) if i else (BITMAP_TAG, _BITMAP_BITS)
                with c.scope(f"level {i}"):
                    path = siblings(c, "nullifier_path", i, digit.size)
                    old, new = change_level(c, old, new, digit, tag, path, width)
        return old, new

"""Sapling's Pedersen hash over Jubjub, and perfectly hiding commitments from it.

A message is cut into chunks of three bits (b0, b1, b2), zeros filling up the last; a chunk stands for (1 - 2 b2) (1 + b0 + 2 b1), one of
+-1 .. +-4.  63 chunks are a segment, and segment i adds [sum_j chunk_j 16^j] I_i, the I_i independent generators.  The hash is the u
coordinate of the sum.  Every message starts with a tag of six bits, and with it the length is fixed.

Sources: Zcash protocol specification, section 5.4.1.7 "Pedersen Hash Function", 5.4.1.3 "MerkleCRH^Sapling".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.parameters import FR_MODULUS as R
from bonsai_verifier.threads import is_count

from ..errors import InputError
from .jubjub import IDENTITY, ORDER, D, Point, add, add_all, group_hash, multiply, negate

CHUNK_BITS = 3
SEGMENT_CHUNKS = 63  # the largest count whose sums stay below r_J / 2: 4 (16^63 - 1) / 15
TAG_BITS = 6
FIELD_BITS = 255
AMOUNT_BITS = 64
GENERATOR_PERSONALISATION = b"Zcash_PH"

# Tags.  A binary node has its level, counted from the leaves, as in Sapling; 63 stays Sapling's note commitment.
BITMAP_TAG = 40  # the node over two bitmaps, below the nodes of four children
QUATERNARY_TAG = 41  # and up: a node of four children, by its level
ACCOUNT_TAG = 61
RECEIPT_TAG = 62

BLINDING_PERSONALISATION = b"Bonsai_R"  # no generator of the hash has it, so R is independent of them
BLINDING_DIGITS = 84  # 8^84 = 2^252 odd numbers between -8^84 and 8^84: every residue modulo r_J < 2^252 has one
BLINDING_SHIFT = CHUNK_BITS


def generator(segment: int) -> Point:
    """I_i, i = segment: the group hash of i as four bytes, little-endian."""
    return group_hash(GENERATOR_PERSONALISATION, segment.to_bytes(4, "little"))


def blinding_generator() -> Point:
    """R, the base of blindings."""
    return group_hash(BLINDING_PERSONALISATION, b"")


@cache
def window(chunk: int) -> tuple[Point, Point, Point, Point]:
    """[1], [2], [3], [4] times 16^j I_i, for chunk number 63 i + j of a message."""
    segment, j = divmod(chunk, SEGMENT_CHUNKS)
    one = generator(segment)
    if j:
        four = window(chunk - 1)[3]
        two = add(four, four)
        one = add(two, two)
    two = add(one, one)
    return one, two, add(two, one), add(two, two)


@cache
def blinding_window(digit: int) -> tuple[Point, Point, Point, Point]:
    """[1], [3], [5], [7] times 8^digit R."""
    one = multiply(blinding_generator(), 8**digit)
    two = add(one, one)
    three = add(two, one)
    five = add(three, two)
    return one, three, five, add(five, two)


def chunk_value(bits: Sequence[int]) -> int:
    """(1 - 2 b2) (1 + b0 + 2 b1)."""
    return (1 - 2 * bits[2]) * (1 + bits[0] + 2 * bits[1])


def chunks_of(bits: Sequence[int]) -> list[tuple[int, int, int]]:
    """The bits in threes, zeros filling up the last."""
    padded = [*bits, *[0] * (-len(bits) % CHUNK_BITS)]
    return list(zip(padded[::3], padded[1::3], padded[2::3], strict=True))


def entry(chunk: int, bits: Sequence[int]) -> Point:
    """What a chunk adds to the sum."""
    point = window(chunk)[bits[0] + 2 * bits[1]]
    return negate(point) if bits[2] else point


def pedersen_point(bits: Sequence[int]) -> Point:
    """The sum of a message, its tag in front.  Cost: a table entry and 8 multiplications a chunk."""
    return add_all(entry(k, chunk) for k, chunk in enumerate(chunks_of(bits)))


def pedersen(tag: int, bits: Sequence[int]) -> int:
    """u(PedersenHash(tag, bits)).  Raises InputError: a tag that is no integer of six bits."""
    return pedersen_point([*_tag(tag), *bits])[0]


def bits_of(x: int, n: int) -> list[int]:
    """x = sum 2^i bit_i, i < n."""
    return [x >> i & 1 for i in range(n)]


def binary_node(tag: int, left: int, right: int) -> int:
    """A node of two children: Sapling's, for the tag its level."""
    return pedersen(tag, [*_element(left, "left"), *_element(right, "right")])


def quaternary_message(tag: int, children: Sequence[Sequence[int]]) -> list[int]:
    """The message of a node of four children, each given as 255 bits: two whole segments a child, every one laid out in the same way.

    Six bits (the tag for the first child, zeros for the others), the child, zeros: so all children have the same places in their segments.
    """
    message: list[int] = []
    for j, child in enumerate(children):
        own = [*(_tag(tag) if j == 0 else [0] * TAG_BITS), *child]
        message += [*own, *[0] * (2 * SEGMENT_CHUNKS * CHUNK_BITS - len(own))]
    return message


def quaternary_node(tag: int, children: Sequence[int]) -> int:
    """A node of four children: the hash of `quaternary_message`."""
    return pedersen_point(quaternary_message(tag, [_element(x, f"children[{j}]") for j, x in enumerate(children)]))[0]


def signed_digits(sigma: int) -> list[int]:
    """d_0 .. d_83, each one of +-1, +-3, +-5, +-7, with sum d_j 8^j = sigma modulo r_J.

    The sum is sigma if it is odd and sigma - r_J if not; with d_j = 2 e_j - 7 the e_j are the octal digits of (sum + 8^84 - 1) / 2.
    """
    odd = sigma if sigma % 2 else sigma - ORDER
    octal = (odd + 8**BLINDING_DIGITS - 1) // 2
    return [2 * (octal >> BLINDING_SHIFT * j & 7) - 7 for j in range(BLINDING_DIGITS)]


def blinding_entries(sigma: int) -> Iterable[Point]:
    """The points that sum up to [sigma] R."""
    for j, digit in enumerate(signed_digits(sigma)):
        point = blinding_window(j)[abs(digit) // 2]
        yield negate(point) if digit < 0 else point


def commit(tag: int, bits: Sequence[int], sigma: int) -> int:
    """Com(m; sigma) = u(PedersenHash(tag, m) + [sigma] R), sigma uniform in [0, r_J).

    Perfectly hiding: [sigma] R is uniform in the group, so the sum is, whatever m.  Binding: two openings are a relation between the
    generators that nobody knows, and of a point and its negative only one has this u in the prime subgroup.
    Raises InputError: sigma not in [0, r_J).
    """
    if not 0 <= sigma < ORDER:
        raise InputError(
            "blinding", "not in [0, r_J), r_J the order of Jubjub's prime subgroup; draw it uniformly there"
        )
    message = enumerate(chunks_of([*_tag(tag), *bits]))
    return add_all([*(entry(k, chunk) for k, chunk in message), *blinding_entries(sigma)])[0]


@dataclass(frozen=True, slots=True)
class PedersenSuite:
    """Com_acct, Com_rec and tree nodes: functions of different tags.

    Raises InputError: an amount not below 2^64, an element not in [0, r), a blinding not in [0, r_J).
    """

    def account(self, balance: int, root: int, blinding: int) -> int:
        """Com_acct(b, root; s): 255 bits of the root, 64 of b."""
        return commit(ACCOUNT_TAG, [*_element(root, "root"), *_amount(balance, "balance")], blinding)

    def receipt(self, value: int, sender: int, receiver: int, blinding: int) -> int:
        """Com_rec(v, Sen, Rec; t): 255 bits of Sen, 255 of Rec, 64 of v."""
        parties = [*_element(sender, "sender"), *_element(receiver, "receiver")]
        return commit(RECEIPT_TAG, [*parties, *_amount(value, "value")], blinding)

    def node(self, tag: int, children: Sequence[int]) -> int:
        """A tree node of two or of four children."""
        if len(children) == 2:
            return binary_node(tag, children[0], children[1])
        if len(children) == 4:
            return quaternary_node(tag, children)
        raise InputError("children", f"{len(children)} of them; a node has 2 or 4")


# Many at once ----------------------------------------------------------------------------------------------------------------

_Words: TypeAlias = NDArray[np.uint64]

# Chunks to a table entry: 2^11 entries a window.  With 2, 3, 4, 5 a node of two children took 1.35, 0.95, 0.79, 0.69 us in lanes, from
# tables of 0.3, 1.8, 11 and 71 MB (docs/kernels.md).
_WINDOW_CHUNKS = 4
_CHILD_CHUNKS = FIELD_BITS // CHUNK_BITS
_NODE_WORDS = 4
_TAG_CHUNKS = TAG_BITS // CHUNK_BITS
_CHILDREN = {  # number of children -> the first chunk of each
    2: (_TAG_CHUNKS, _TAG_CHUNKS + _CHILD_CHUNKS),
    4: tuple(_TAG_CHUNKS + 2 * SEGMENT_CHUNKS * j for j in range(4)),
}


def nodes(tag: int, children: _Words) -> _Words:
    """binary_node or quaternary_node of each row.  In: (n, 2, 4) or (n, 4, 4) uint64, canonical words, little-endian.  Out: (n, 4).

    Cost: a table of 11 MB or 22 MB once in a process; then 44 or 88 additions a node, and one inversion for hundreds.
    Raises InputError: another shape or type, a child that is not below r, a tag that is no integer of six bits.
    """
    shapes = ((2, _NODE_WORDS), (4, _NODE_WORDS))
    if not (_is_array(children, np.uint64, 3) and children.shape[1:] in shapes):
        raise InputError("children", f"expected (n, 2, 4) or (n, 4, 4) uint64, got {_kind(children)}")
    from bonsai_verifier import field  # here, as in what follows: a gadget's description needs no kernels

    n, k = children.shape[:2]
    children = np.ascontiguousarray(children)
    below = field.fr_below(children.reshape(n, k * _NODE_WORDS).view(np.uint8))
    if not below.all():
        i, j = np.argwhere(~below)[0]
        raise InputError(f"children[{i}][{j}]", "not in [0, r); reduce it modulo r first")
    places = _CHILDREN[k]
    bits = [64 * _NODE_WORDS * j for j in range(k)]
    return _sums(
        children.reshape(n, k * _NODE_WORDS),
        tuple(zip(places, bits, strict=True)),
        _CHILD_CHUNKS,
        _node_start(k, *_tag(tag)),
    )


def pedersen_many(tag: int, bits: NDArray[np.uint8]) -> _Words:
    """`pedersen` of each row.  In: bits (n, m) uint8, each 0 or 1.  Out: (n, 4) uint64, canonical words.

    Cost: a table of 0.26 MB for every twelve bits, kept for the last few m; otherwise as `nodes`.
    Raises InputError: another shape or type, a value that is no bit, a tag that is no integer of six bits.
    """
    if not _is_array(bits, np.uint8, 2) or (bits > 1).any():
        raise InputError("bits", f"expected (n, m) uint8 of 0 and 1, got {_kind(bits)}")
    packed = np.packbits(bits, axis=1, bitorder="little")
    n_words = -(-(bits.shape[1] + CHUNK_BITS) // 64)
    message = np.zeros((len(bits), 8 * n_words), np.uint8)
    message[:, : packed.shape[1]] = packed
    n_chunks = -(-bits.shape[1] // CHUNK_BITS)
    words = message.view("<u8").astype(np.uint64, copy=False)
    return _sums(words, ((TAG_BITS // CHUNK_BITS, 0),), n_chunks, pedersen_point(_tag(tag)))


def _sums(messages: _Words, parts: tuple[tuple[int, int], ...], n_chunks: int, start: Point) -> _Words:
    """start plus the entries of messages' chunks.  parts: (number of the first chunk, its first bit in a message)."""
    from bonsai_verifier import field
    from bonsai_verifier.kernels import cpu

    if not n_chunks or not len(messages):
        return field.limbs_from_ints([start[0]] * len(messages), _NODE_WORDS)
    body = "pedersen_lanes" if cpu.vector() else "pedersen"
    windows, table = _windows(body, parts, n_chunks)
    begin = field.fr_from_ints(start).reshape(1, -1)
    sums: _Words = _kernels(body).sums(messages, windows, table, begin)
    return np.ascontiguousarray(sums[:, :_NODE_WORDS])


def _kernels(body: str) -> Any:
    return import_module(f"...kernels.{body}", __name__)


@lru_cache(8)
def _windows(body: str, parts: tuple[tuple[int, int], ...], n_chunks: int) -> tuple[_Words, Any]:
    """The windows and their table, as kernels.pedersen reads them."""
    windows, tables, first_row = [], list[_Words](), 0
    for chunk, bit in parts:
        for i in range(0, n_chunks, _WINDOW_CHUNKS):
            count = min(_WINDOW_CHUNKS, n_chunks - i)
            tables.append(_entries(chunk + i, count))
            signs = sum(1 << j for j in range(CHUNK_BITS - 1, CHUNK_BITS * count, CHUNK_BITS))
            windows.append((bit + CHUNK_BITS * i, CHUNK_BITS * count, first_row, signs))
            first_row += len(tables[-1])
    return np.array(windows, np.int64), _kernels(body).prepared(np.concatenate(tables))


def _entries(first: int, count: int) -> _Words:
    """The rows of a window of chunks first .. first + count - 1, from those of single chunks, [1] to [4] times a generator each."""
    from bonsai_verifier import field

    portable = _kernels("pedersen")
    twice_d = field.fr_from_ints([2 * D])
    points = [x for k in range(first, first + count) for point in window(k) for x in point]
    single = portable.rows_of(field.limbs_from_ints(points, _NODE_WORDS).reshape(-1, 2 * _NODE_WORDS), twice_d)
    sign = 1 << CHUNK_BITS - 1
    windows = np.array([(CHUNK_BITS * i, CHUNK_BITS, sign * i, sign) for i in range(count)], np.int64)
    messages = np.arange(1 << CHUNK_BITS * count - 1, dtype=np.uint64).reshape(-1, 1)
    nothing = field.fr_from_ints(IDENTITY).reshape(1, -1)
    rows: _Words = portable.rows_of(portable.sums(messages, windows, single, nothing), twice_d)
    return rows


@cache
def _node_start(k: int, *tag: int) -> Point:
    """What the constant chunks of a node add: the tag's, and for four children what stands around them in quaternary_message."""
    if k == 2:
        return pedersen_point(tag)
    zeros = [[0] * FIELD_BITS] * k
    message = chunks_of(quaternary_message(sum(bit << i for i, bit in enumerate(tag)), zeros))
    of_children = {first + i for first in _CHILDREN[k] for i in range(_CHILD_CHUNKS)}
    return add_all(entry(i, chunk) for i, chunk in enumerate(message) if i not in of_children)


# Inside ----------------------------------------------------------------------------------------------------------------------


def _tag(tag: int) -> list[int]:
    if not (is_count(tag) and tag < 1 << TAG_BITS):
        raise InputError("tag", f"expected an integer in [0, 2^{TAG_BITS}), got {tag!r}")
    return bits_of(tag, TAG_BITS)


def _is_array(a: object, dtype: Any, ndim: int) -> bool:
    return isinstance(a, np.ndarray) and a.dtype == dtype and a.ndim == ndim


def _kind(a: object) -> str:
    return f"{a.shape} of {a.dtype}" if isinstance(a, np.ndarray) else type(a).__name__


def _element(x: int, name: str) -> list[int]:
    if not 0 <= x < R:
        raise InputError(name, "not in [0, r); reduce it modulo r first")
    return bits_of(x, FIELD_BITS)


def _amount(x: int, name: str) -> list[int]:
    if not 0 <= x < 1 << AMOUNT_BITS:
        raise InputError(name, f"not in [0, 2^{AMOUNT_BITS})")
    return bits_of(x, AMOUNT_BITS)

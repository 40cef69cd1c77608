"""The receipt tree: append-only, a frontier for validators and an archive for those who open positions.

The root over `size` receipts is that of the tree of all positions in which those from `size` on hold the empty leaf 0: the peaks folded
upward, with the constant root of an empty subtree wherever there is none.  So every opening has the same shape.  Positions and roots are
those of the circuits (gadgets.trees, gadgets.pedersen_tree).
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bonsai_verifier.field import Words
from bonsai_verifier.threads import is_count

from ..errors import InputError, WireError
from .ledger_shapes import (
    NODE_BYTES,
    NODE_WORDS,
    Levels,
    TreeShape,
    check_path,
    checked_words,
    element,
    nodes_from_bytes,
    nodes_to_bytes,
    shape_code,
    to_ints,
)

_HEADER = struct.Struct("<4sBBQ")  # magic, shape, levels, size; then the root
_FRONTIER, _ARCHIVE = b"bRF1", b"bRA1"
_POSITION = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class ReceiptOpening:
    """The siblings of a position from the leaves up, in order.

    Raises InputError: no position of the tree, or not the siblings of all its levels: those of fewer would open an inner node as a receipt.
    """

    levels: Levels
    position: int
    path: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        check_path(self.levels, self.position, self.path)
        if len(self.path) != self.levels.depth:
            raise InputError("path", f"{len(self.path)} levels; an opening of this tree has {self.levels.depth}")

    def root(self, receipt: int) -> int:
        """The root of the tree that has `receipt` at the position.  Raises InputError: no element of Fr."""
        return self.levels.fold(self.position, element(receipt, "receipt"), self.path)

    def verify(self, receipt: int, root: int) -> bool:
        """Whether the tree with this root has `receipt` at the position."""
        return self.root(receipt) == root

    def inputs(self) -> dict[str, Any]:
        """What recv and op take: pid, receipt_path."""
        return {"pid": self.position, "receipt_path": [list(level) for level in self.path]}

    def encode(self) -> bytes:
        """8 bytes of the position, 32 of each sibling, little-endian."""
        return _POSITION.pack(self.position) + nodes_to_bytes([x for level in self.path for x in level])

    @classmethod
    def decode(cls, levels: Levels, data: bytes) -> "ReceiptOpening":
        """The inverse of encode, for a tree of these levels.  Raises WireError: another length, position or sibling out of range."""
        counts = [2**width - 1 for width in levels.widths]
        if len(data) != (expected := _POSITION.size + NODE_BYTES * sum(counts)):
            raise WireError("opening", f"{len(data)} bytes; an opening of this tree has {expected}")
        (position,) = _POSITION.unpack_from(data)
        if position >= levels.capacity:
            raise WireError("position", f"{position} is not below the tree's {levels.capacity}")
        siblings = iter(nodes_from_bytes(data[_POSITION.size :], "siblings"))
        return cls(levels, position, tuple(tuple(next(siblings) for _ in range(n)) for n in counts))


class ReceiptFrontier:
    """What a validator keeps: of each level the nodes that are complete and whose parent is not, less than a node's children.

    levels: how many of the shape's levels the tree has, all by default; its capacity is a parameter of the ledger.
    At most 40 nodes, 1,280 bytes, in a binary tree; at most 90, 2,880 bytes, in the wide one over Poseidon.
    """

    def __init__(self, shape: TreeShape, levels: int | None = None) -> None:
        self.shape = shape
        self.levels = shape.receipts if levels is None else shape.receipts.cut(levels)
        self._size = 0
        self._peaks = [_none()] * (self.levels.depth + 1)
        self._root: int | None = None

    @property
    def size(self) -> int:
        return self._size

    @property
    def root(self) -> int:
        """Cost: a node a level at most, once for each size that is asked."""
        if self._root is None:
            self._root = _folded(self.levels, [to_ints(x) for x in self._peaks])
        return self._root

    def append(self, receipt: int) -> int:
        """The position of the receipt.  Raises InputError as append_many."""
        return self.append_many([receipt])

    def append_many(self, receipts: Words | Sequence[int]) -> int:
        """Appends integers, or (n, 4) canonical words; the position of the first.  Equal to appending one by one.

        Raises InputError, before anything changes: more than there is room for, a receipt that is no element of Fr.
        """
        words = checked_words(receipts, "receipts")
        _require_room(self.levels, self._size, len(words))
        peaks, new = list(self._peaks), words
        for level, width in enumerate(self.levels.widths):
            have = np.concatenate([peaks[level], new])
            full = len(have) >> width << width
            peaks[level] = have[full:].copy()
            new = _none()
            if not full:
                break
            new = self.levels.parents(level, have[:full].reshape(-1, 1 << width, NODE_WORDS))
        else:
            peaks[-1] = np.concatenate([peaks[-1], new])
        first, self._size = self._size, self._size + len(words)
        self._peaks, self._root = peaks, None
        return first

    def encode(self) -> bytes:
        """Shape, levels, size, root, then the nodes from the leaves up, 32 bytes each."""
        return _header(_FRONTIER, self.shape, self.levels, self._size, self.root) + b"".join(
            x.astype("<u8").tobytes() for x in self._peaks
        )

    @classmethod
    def decode(cls, shape: TreeShape, data: bytes) -> "ReceiptFrontier":
        """The inverse of encode.  Raises WireError: another shape, another length, a node out of range, or nodes without that root:
        any byte that changed is refused."""
        levels, size, root, body = _read_header(_FRONTIER, shape, data)
        frontier = cls(shape, levels)
        counts = [
            (size >> start) % 2**width
            for start, width in zip(frontier.levels.starts, frontier.levels.widths, strict=False)
        ]
        counts.append(size >> frontier.levels.starts[-1])
        nodes = _read_nodes(body, sum(counts), "nodes")
        ends = np.cumsum(counts)
        frontier._size = size
        frontier._peaks = [nodes[end - n : end] for n, end in zip(counts, ends, strict=True)]
        if frontier.root != root:
            raise WireError("root", "is not that of the nodes beside it; the bytes are damaged")
        return frontier


class ReceiptArchive:
    """All receipts and all complete nodes: opens every position, under the root of every size that the tree had.

    An archive that is asked for one position learns who claims it: let wallets take ranges of receipts, and open for themselves.
    Memory: 32 bytes a node, of which there are size / (1 - 1/k) for nodes of k children, and a quarter more at times.
    """

    def __init__(self, shape: TreeShape, levels: int | None = None) -> None:
        self.shape = shape
        self.levels = shape.receipts if levels is None else shape.receipts.cut(levels)
        self._nodes = [_Rows() for _ in range(self.levels.depth + 1)]
        self._edges: tuple[int, list[int | None]] = (-1, [])

    @property
    def size(self) -> int:
        return len(self._nodes[0])

    @property
    def root(self) -> int:
        return self.root_at(self.size)

    def append(self, receipt: int) -> int:
        """The position of the receipt.  Raises InputError as append_many."""
        return self.append_many([receipt])

    def append_many(self, receipts: Words | Sequence[int]) -> int:
        """As ReceiptFrontier.append_many."""
        words = checked_words(receipts, "receipts")
        first = self.size
        _require_room(self.levels, first, len(words))
        added = [words]
        for level, width in enumerate(self.levels.widths):
            above, below = self._nodes[level + 1], self._nodes[level]
            start, end = len(above) << width, (len(below) + len(added[level])) >> width << width
            if start == end:
                break
            children = np.concatenate([below.view[start:], added[level]])[: end - start]
            added.append(self.levels.parents(level, children.reshape(-1, 1 << width, NODE_WORDS)))
        for rows, new in zip(self._nodes, added, strict=False):
            rows.extend(new)
        return first

    def receipts(self, first: int, last: int) -> Words:
        """The receipts at first .. last - 1, as (n, 4) words.  Raises InputError: not all of them are there."""
        if not 0 <= first <= last <= self.size:
            raise InputError("receipts", f"{first} .. {last} are not in 0 .. {self.size}")
        return self._nodes[0].view[first:last].copy()

    def frontier(self) -> ReceiptFrontier:
        """What a validator of this tree keeps."""
        out = ReceiptFrontier(self.shape, self.levels.depth)
        out._size = self.size
        starts = [len(above) << width for above, width in zip(self._nodes[1:], self.levels.widths, strict=True)]
        out._peaks = [x.view[start:].copy() for x, start in zip(self._nodes, [*starts, 0], strict=True)]
        return out

    def root_at(self, size: int) -> int:
        """The root when the tree had `size` receipts.  Raises InputError: it has fewer."""
        return self._node(self.levels.depth, 0, size, self._edge(size))

    def open(self, position: int, size: int | None = None) -> ReceiptOpening:
        """The opening of a position under root_at(size), the current root by default; beyond the receipts the empty leaf 0 opens.

        Raises InputError: no such position, or no such size.
        """
        return self.open_many([position], size)[0]

    def open_many(self, positions: Iterable[int], size: int | None = None) -> list[ReceiptOpening]:
        """Openings under one root.  Cost: a node a level for a new size; look-ups after that."""
        size = self.size if size is None else size
        edge, out = self._edge(size), []
        for position in positions:
            if not is_count(position) or position >= self.levels.capacity:
                raise InputError("position", f"{position} is not in 0 .. {self.levels.capacity - 1}")
            path, index = [], position
            for level, width in enumerate(self.levels.widths):
                first = index >> width << width
                path.append(
                    tuple(self._node(level, i, size, edge) for i in range(first, first + 2**width) if i != index)
                )
                index >>= width
            out.append(ReceiptOpening(self.levels, position, tuple(path)))
        return out

    def encode(self) -> bytes:
        """Shape, levels, size, root, then the receipts, 32 bytes each."""
        leaves = self._nodes[0].view.astype("<u8").tobytes()
        return _header(_ARCHIVE, self.shape, self.levels, self.size, self.root) + leaves

    @classmethod
    def decode(cls, shape: TreeShape, data: bytes) -> "ReceiptArchive":
        """The inverse of encode; every node is hashed again.  Raises WireError as ReceiptFrontier.decode."""
        levels, size, root, body = _read_header(_ARCHIVE, shape, data)
        archive = cls(shape, levels)
        archive.append_many(_read_nodes(body, size, "receipts"))
        if archive.root != root:
            raise WireError("root", "is not that of the receipts beside it; the bytes are damaged")
        return archive

    def _node(self, level: int, index: int, size: int, edge: Sequence[int | None]) -> int:
        """A node of the tree when it had `size` receipts, of which `edge` are the nodes that are neither complete nor empty."""
        complete = size >> self.levels.starts[level]
        if index < complete:
            return self._nodes[level].integer(index)
        partial = edge[level] if index == complete else None
        return self.levels.empty[level] if partial is None else partial

    def _edge(self, size: int) -> list[int | None]:
        """Of each level the node over receipts and empty leaves both, if there is one."""
        if not is_count(size) or size > self.size:
            raise InputError("size", f"{size} is not in 0 .. {self.size}")
        known, edge = self._edges
        if known != size:
            edge = [None]
            for level, width in enumerate(self.levels.widths):
                first = size >> self.levels.starts[level + 1] << width
                if size == first << self.levels.starts[level]:
                    edge.append(None)
                    continue
                children = [self._node(level, first + j, size, edge) for j in range(2**width)]
                edge.append(self.levels.node(level, children))
            self._edges = (size, edge)
        return edge  # not self._edges[1]: another thread may ask for another size


class _Rows:
    """A growing (n, 4) array."""

    def __init__(self) -> None:
        self._memory, self._n = _none(), 0

    def __len__(self) -> int:
        return self._n

    @property
    def view(self) -> Words:
        return self._memory[: self._n]

    def integer(self, i: int) -> int:
        return int.from_bytes(self._memory[i].astype("<u8", copy=False).tobytes(), "little")

    def extend(self, rows: Words) -> None:
        end = self._n + len(rows)
        if end > len(self._memory):
            grown = np.empty((max(end, self._n + self._n // 4), NODE_WORDS), np.uint64)
            grown[: self._n] = self.view
            self._memory = grown
        self._memory[self._n : end] = rows
        self._n = end


def _none() -> Words:
    return np.zeros((0, NODE_WORDS), np.uint64)


def _folded(levels: Levels, peaks: Sequence[Sequence[int]]) -> int:
    """The root over the complete nodes of each level that have no complete parent."""
    node: int | None = None
    for level, (width, have) in enumerate(zip(levels.widths, peaks, strict=False)):
        if have or node is not None:
            known = [*have, *([] if node is None else [node])]
            node = levels.node(level, [*known, *[levels.empty[level]] * (2**width - len(known))])
    if peaks[-1]:
        return peaks[-1][0]
    return levels.empty[-1] if node is None else node


def _require_room(levels: Levels, size: int, n: int) -> None:
    if n > levels.capacity - size:
        raise InputError(
            "receipts",
            f"{n} do not fit: the tree holds {size} of {levels.capacity}; nothing was appended, open a new tree",
        )


# Bytes -----------------------------------------------------------------------------------------------------------------------


def _header(magic: bytes, shape: TreeShape, levels: Levels, size: int, root: int) -> bytes:
    return _HEADER.pack(magic, shape_code(shape), levels.depth, size) + nodes_to_bytes([root])


def _read_header(magic: bytes, shape: TreeShape, data: bytes) -> tuple[int, int, int, bytes]:
    """(levels, size, root, what follows)."""
    start = _HEADER.size + NODE_BYTES
    if len(data) < start:
        raise WireError("header", f"{len(data)} bytes; a tree has {start} or more")
    found, code, levels, size = _HEADER.unpack_from(data)
    if found != magic:
        raise WireError("header", f"begins with {found!r}, not {magic!r}: these bytes are something else")
    if code != shape_code(shape):
        raise WireError("shape", f"is number {code}; {shape.hash_name} {shape.name} has {shape_code(shape)}")
    if not 1 <= levels <= shape.receipts.depth:
        raise WireError("levels", f"{levels} of them; this shape has 1 to {shape.receipts.depth}")
    if size > shape.receipts.cut(levels).capacity:
        raise WireError("size", f"{size} is more than {levels} levels hold")
    (root,) = nodes_from_bytes(data[_HEADER.size : start], "root")
    return levels, size, root, data[start:]


def _read_nodes(data: bytes, n: int, name: str) -> Words:
    if len(data) != n * NODE_BYTES:
        raise WireError(name, f"{len(data)} bytes; {n} of them are {n * NODE_BYTES}")
    words = np.frombuffer(data, "<u8").astype(np.uint64).reshape(-1, NODE_WORDS)
    try:
        return checked_words(words, name)
    except InputError as e:
        raise WireError(e.field, "not below r, so no element") from e

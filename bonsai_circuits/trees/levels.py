"""The complete nodes of one level: pages that only ever grow at their end, in memory or, whole pages from the left, somewhere else.

A complete node never changes (shape.py), so what readers may see is never written again: they need no lock, and copies of nothing.  One
writer at a time calls what changes a level.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.field import Octets
from bonsai_verifier.kernels.limbs import place

from ..kernels.memory import recycled
from .shape import NODE_BYTES, page_nodes

_SLAB_PAGES = 16  # pages of one allocation, at most
_FIRST_NODES = 64  # of a page that has yet to grow
_STEPS = 8  # in which a last page grows
_WORD_BYTES = 8


class NodeSource(Protocol):
    """Where complete nodes are that are not in memory: records of a store, a file, an archive.  Called by many threads at once."""

    def nodes(self, level: int, start: int, stop: int) -> Octets:
        """Nodes start..stop of a level, (stop - start, 32) uint8.  Raises what says that they are damaged; never gives other nodes."""
        ...


@dataclass(frozen=True, slots=True)
class Pages:
    """What a reader sees of a level: `outside` pages that the source has, then those in memory, which it keeps alive."""

    source: NodeSource | None
    outside: int
    pages: tuple[Octets, ...]
    addresses: NDArray[np.int64]  # of all pages; 0 for those outside


_EMPTY = Pages(None, 0, (), np.zeros(0, np.int64))


class Level:
    """Complete nodes 0, 1, ... of one level.  The tree knows how many there are; a level knows where they are."""

    __slots__ = ("_pages", "number", "page_nodes")

    def __init__(self, arity: int, number: int) -> None:
        self.number = number
        self.page_nodes = page_nodes(arity)
        self._pages = _EMPTY

    @property
    def pages(self) -> Pages:
        """The pages at this moment; those in memory stay as long as this is held."""
        return self._pages

    def read(self, start: int, stop: int) -> Octets:
        """A copy of nodes start..stop, which are complete."""
        seen, size = self._pages, self.page_nodes
        out = np.empty((stop - start, NODE_BYTES), np.uint8)
        at = min(max(start, seen.outside * size), stop)
        if start < at:
            assert seen.source is not None
            out[: at - start] = seen.source.nodes(self.number, start, at)
        while at < stop:
            page, first = divmod(at, size)
            end = min(stop, (page + 1) * size)
            out[at - start : end - start] = seen.pages[page - seen.outside][first : first + end - at]
            at = end
        return out

    def run(self, start: int, stop: int) -> Octets:
        """Nodes start..stop, of one page in memory, where they lie; for the writer."""
        page, first = divmod(start, self.page_nodes)
        return self._pages.pages[page - self._pages.outside][first : first + stop - start]

    def reserve(self, n: int) -> None:
        """Makes room for n nodes in all.  Raises MemoryError, with nothing changed."""
        seen, size = self._pages, self.page_nodes
        missing = n - seen.outside * size
        if missing <= size * (len(seen.pages) - 1) + (len(seen.pages[-1]) if seen.pages else size):
            return
        sizes = [size] * (missing // size)
        if rest := missing % size:
            sizes.append(_room(rest, size))
        pages = list(seen.pages)
        if pages and len(pages[-1]) < sizes[len(pages) - 1]:
            grown = _allocate([sizes[len(pages) - 1]])[0]
            grown[: len(pages[-1])] = pages[-1]
            pages[-1] = grown
        # A page that will be replaced by a larger one has its memory for itself
        whole = missing // size
        for first in range(len(pages), whole, _SLAB_PAGES):
            pages += _allocate(sizes[first : min(whole, first + _SLAB_PAGES)])
        if len(pages) < len(sizes):
            pages += _allocate(sizes[-1:])
        self._pages = _pages(seen.source, seen.outside, tuple(pages))

    def restore(self, source: NodeSource, n: int, resident: bool) -> None:
        """A level of n complete nodes that the source has; all of them come into memory, or those of the last, unfilled page."""
        size = self.page_nodes
        self._pages = _pages(source, 0 if resident else n // size, ())
        self.reserve(n)
        for first in range(self._pages.outside * size, n, size):
            stop = min(n, first + size)
            self.run(first, stop)[:] = source.nodes(self.number, first, stop)

    def evict(self, source: NodeSource, n: int) -> None:
        """Full pages among the first n nodes leave memory, for the source has them."""
        seen = self._pages
        outside = max(seen.outside, n // self.page_nodes)
        self._pages = _pages(source, outside, seen.pages[outside - seen.outside :])

    @property
    def resident_bytes(self) -> int:
        """Memory reserved for nodes of this level."""
        return sum(page.nbytes for page in self._pages.pages)


@dataclass(frozen=True, slots=True)
class Growth:
    """Leaves on their way into a tree: where each goes, and the complete nodes of the levels just above them.

    Range j are the leaves starts[j]..stops[j], all under one page of every level; ranges are independent of each other.
    """

    arity: int
    levels: list[Level]  # the leaves' and those above, with room for all that comes
    leaves: Octets  # (n, 32), contiguous
    first: int  # index of the first of them
    block: int  # leaves that are worth going up with before the next ones
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]

    def where(self, ranges: slice) -> NDArray[np.int64]:
        """(ranges, levels): the address of node starts[j] // N^l of level l."""
        nodes = self.starts[ranges]
        out = np.zeros((len(nodes), len(self.levels)), np.int64)
        for column, level in enumerate(self.levels):
            pages, first = np.divmod(nodes, level.page_nodes)
            addresses = level.pages.addresses
            if len(addresses):  # a level that gets no node of the last range may have no page there
                out[:, column] = addresses[np.minimum(pages, len(addresses) - 1)] + NODE_BYTES * first
            nodes = nodes // self.arity
        return out

    def copy_leaves(self, j: int) -> None:
        start, stop = int(self.starts[j]), int(self.stops[j])
        self.levels[0].run(start, stop)[:] = self.leaves[start - self.first : stop - self.first]

    def runs(self, j: int) -> Iterator[tuple[Octets, Octets]]:
        """(room for nodes, their children (n, N, 32)) of range j, a level after the other, to be filled in this order."""
        low, high = int(self.starts[j]), int(self.stops[j])
        for below, level in zip(self.levels, self.levels[1:], strict=False):
            low, high = low // self.arity, high // self.arity
            if low < high:
                children = below.run(low * self.arity, high * self.arity)
                yield level.run(low, high), children.reshape(-1, self.arity, NODE_BYTES)


def _room(n: int, page: int) -> int:
    """Nodes that a last page of n is made for: a power of two, and from an eighth of a page on a multiple of that."""
    step = max(1, page // _STEPS)
    return min(page, max(_FIRST_NODES, 1 << (n - 1).bit_length()) if n < step else -(-n // step) * step)


def _pages(source: NodeSource | None, outside: int, pages: tuple[Octets, ...]) -> Pages:
    return Pages(source, outside, pages, np.array([0] * outside + [place(page)[0] for page in pages], np.int64))


def _allocate(sizes: list[int]) -> list[Octets]:
    """Pages of these many nodes, of one allocation."""
    return [words.view(np.uint8) for words in recycled(*[(n, NODE_BYTES // _WORD_BYTES) for n in sizes])]

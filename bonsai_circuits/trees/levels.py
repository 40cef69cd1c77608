"""The complete nodes of one level: pages that only ever grow at their end, in memory or, whole pages from the left, somewhere else.

A complete node never changes (shape.py), so what readers may see is never written again: they need no lock, and copies of nothing.  One
writer at a time calls what changes a level.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bonsai_verifier.field import Octets

from ..kernels.memory import arrays
from .shape import NODE_BYTES

_PAGE_NODES = 1 << 16  # 2 MiB, one large page of most systems
_SLAB_PAGES = 16  # pages of one allocation, at most
_FIRST_NODES = 64
_WORD_BYTES = 8


class NodeSource(Protocol):
    """Where complete nodes are that are not in memory: records of a store, a file, an archive.  Called by many threads at once."""

    def nodes(self, level: int, start: int, stop: int) -> Octets:
        """Nodes start..stop of a level, (stop - start, 32) uint8.  Raises what says that they are damaged; never gives other nodes."""
        ...


@dataclass(frozen=True, slots=True)
class _Pages:
    """What readers see of a level at one moment: `outside` pages that the source has, then those in memory."""

    source: NodeSource | None
    outside: int
    pages: tuple[Octets, ...]


def page_nodes(arity: int) -> int:
    """Nodes of a page: the largest power of N up to 65,536, so that no group of children lies on two pages."""
    n = arity
    while n * arity <= _PAGE_NODES:
        n *= arity
    return n


class Level:
    """Complete nodes 0, 1, ... of one level.  The tree knows how many there are; a level knows where they are."""

    __slots__ = ("_pages", "number", "page_nodes")

    def __init__(self, arity: int, number: int) -> None:
        self.number = number
        self.page_nodes = page_nodes(arity)
        self._pages = _Pages(None, 0, ())

    def read(self, start: int, stop: int) -> Octets:
        """A copy of nodes start..stop, which are complete."""
        seen, size = self._pages, self.page_nodes
        out = np.empty((stop - start, NODE_BYTES), np.uint8)
        inside = min(max(start, seen.outside * size), stop)
        if start < inside:
            assert seen.source is not None
            out[: inside - start] = seen.source.nodes(self.number, start, inside)
        at = inside
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
        pages = list(seen.pages)
        missing = n - seen.outside * size
        full = [size] * (missing // size)
        if missing % size:
            # The first page grows by doubling; a level that has filled one gets the next whole
            full.append(size if seen.outside or full else min(size, max(_FIRST_NODES, 1 << (missing - 1).bit_length())))
        if pages and len(pages[-1]) < full[len(pages) - 1]:
            grown = _allocate([full[len(pages) - 1]])[0]
            grown[: len(pages[-1])] = pages[-1]
            pages[-1] = grown
        for first in range(len(pages), len(full), _SLAB_PAGES):
            pages += _allocate(full[first : first + _SLAB_PAGES])
        if len(pages) > len(seen.pages) or (pages and pages[-1] is not seen.pages[-1]):
            self._pages = _Pages(seen.source, seen.outside, tuple(pages))

    def restore(self, source: NodeSource, n: int, resident: bool) -> None:
        """A level of n complete nodes that the source has; all of them come into memory, or those of the last, unfilled page."""
        self._pages = _Pages(source, 0 if resident else n // self.page_nodes, ())
        start = self._pages.outside * self.page_nodes
        self.reserve(n)
        for first in range(start, n, self.page_nodes):
            stop = min(n, first + self.page_nodes)
            self.run(first, stop)[:] = source.nodes(self.number, first, stop)

    def evict(self, source: NodeSource, n: int) -> int:
        """Full pages among the first n nodes leave memory, for the source has them.  Out: how many nodes are outside now."""
        seen = self._pages
        outside = max(seen.outside, n // self.page_nodes)
        self._pages = _Pages(source, outside, seen.pages[outside - seen.outside :])
        return outside * self.page_nodes

    @property
    def resident_bytes(self) -> int:
        """Memory reserved for nodes of this level."""
        return sum(page.nbytes for page in self._pages.pages)


def _allocate(sizes: list[int]) -> list[Octets]:
    """Pages of these many nodes, of one allocation."""
    shapes = [(n, NODE_BYTES // _WORD_BYTES) for n in sizes]
    return [words.view(np.uint8) for words in arrays(*shapes)]

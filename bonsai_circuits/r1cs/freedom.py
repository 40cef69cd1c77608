"""What a satisfied system lets its wires do: each wire alone, exactly, and all wires together, to first order.

A row's residual is e = a b - c, or a^2 - b.  Change wire w alone by d.  With the coefficients f, g, h of w in a, b, c of an R1CS row

    e -> e + f g d^2 + (f b + g a - h) d,            and with f, g of w in a, b of a square row           e -> e + f^2 d^2 + (2 f a - g) d.

In a row that held, d is 0, or - linear / square, or anything if both vanish.  The coefficients of d are also the row of the Jacobian.
Two wires that change together add (f g' + f' g) d d' to the sum of both, the primes meaning the second wire; in a square row g is f.
A square row a^2 = 0 is taken for what it says, a = 0, which has a derivative.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.field import fr_add, fr_from_canonical, fr_inv, fr_mul, fr_sub, fr_to_canonical

from .diagnose import product
from .system import R1CS, Int64, SparseRows, SquareR1CS, UInt64

_CHUNK = 512  # switches at a time


class Change(IntEnum):
    """The values that one wire can take while all others stay: its own, one more, or any."""

    HELD = 0
    ONE_OTHER = 1
    ANY = 2


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pair:
    """Two wires, and what they change by, (4,) Montgomery each.  Tells of the witness, so it is not printed."""

    switch: int
    wire: int
    switch_change: UInt64
    wire_change: UInt64


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Deviations:
    """For every (row, wire) entry of a system, by rows, then wires: what changing the wire by d adds to the row, square d^2 + linear d.

    row, wire (m,) int64; square, linear (m, 4) Montgomery, and so are left, right: the coefficients f, g.  Tells of the witness.
    """

    n_rows: int
    n_wires: int
    row: Int64
    wire: Int64
    square: UInt64
    linear: UInt64
    left: UInt64
    right: UInt64

    @classmethod
    def of(cls, system: R1CS | SquareR1CS, z: UInt64) -> "Deviations":
        """In: z (n_wires, 4) Montgomery, which satisfies the system."""
        matrices = (system.a, system.b, system.c) if isinstance(system, R1CS) else (system.a, system.b)
        keys = [
            np.repeat(np.arange(m.n_rows), np.diff(m.start)) * system.n_wires + m.wire.astype(np.int64)
            for m in matrices
        ]
        entries = np.unique(np.concatenate(keys))
        row, wire = np.divmod(entries, max(system.n_wires, 1))
        coefficients = []
        for matrix, key in zip(matrices, keys, strict=True):
            found = np.zeros((len(entries), 4), np.uint64)
            found[np.searchsorted(entries, key)] = fr_from_canonical(matrix.coeff)
            coefficients.append(found)
        f, g, a = coefficients[0], coefficients[1], product(system.a, z)[row]
        if isinstance(system, R1CS):
            b = product(system.b, z)[row]
            linear = fr_sub(fr_add(fr_mul(f, b), fr_mul(g, a)), coefficients[2])
            return cls(system.n_rows, system.n_wires, row, wire, fr_mul(f, g), linear, f, g)
        fa = fr_mul(f, a)
        square, linear = fr_mul(f, f), fr_sub(fr_add(fa, fa), g)
        is_linear = (np.diff(system.b.start) == 0)[row]
        square[is_linear], linear[is_linear] = 0, f[is_linear]
        right = f.copy()
        right[is_linear] = 0
        return cls(system.n_rows, system.n_wires, row, wire, square, linear, f, right)

    def after(self, n_rows: int) -> "Deviations":
        """Those of all rows but the first n_rows, as if these did not exist."""
        kept = self.row >= n_rows
        row, wire = self.row[kept], self.wire[kept]
        square, linear, left, right = (x[kept] for x in (self.square, self.linear, self.left, self.right))
        return Deviations(self.n_rows, self.n_wires, row, wire, square, linear, left, right)

    def alone(self) -> NDArray[np.int8]:
        """The Change of every wire, (n_wires,): exact, for all values there are."""
        has_square, has_linear = self.square.any(axis=1), self.linear.any(axis=1)
        held = np.zeros(self.n_wires, np.bool_)
        held[self.wire[has_square != has_linear]] = True
        two = np.flatnonzero(has_square & has_linear & ~held[self.wire])
        wires, other = self.wire[two], fr_mul(self.linear[two], fr_inv(self.square[two]))
        found, first, which = np.unique(wires, return_index=True, return_inverse=True)
        held[wires[(other != other[first][which]).any(axis=1)]] = True
        change = np.full(self.n_wires, Change.ANY, np.int8)
        change[found] = Change.ONE_OTHER
        change[held] = Change.HELD
        return change

    def switches(self, fixed: NDArray[np.bool_]) -> tuple[Int64, UInt64]:
        """(wire, d) of the wires that have a row of their own, with no other wire that is not fixed, which d passes as 0 does: booleans."""
        own = np.bincount(self.row[~fixed[self.wire]], minlength=self.n_rows)[self.row] == 1
        entries = np.flatnonzero(own & ~fixed[self.wire] & self.square.any(axis=1) & self.linear.any(axis=1))
        wires, first = np.unique(self.wire[entries], return_index=True)
        entries = entries[first]
        return wires, _negated(fr_mul(self.linear[entries], fr_inv(self.square[entries])))

    def pairs(self, fixed: NDArray[np.bool_]) -> list["Pair"]:
        """Switches that may be thrown if one other wire changes with them: all rows are kept.

        Amounts that were looked for, in the shortest row that the switch breaks: those that keep one side of its product, and the one that
        keeps the row if the wire is linear in it.
        """
        by_wire = np.argsort(self.wire, kind="stable")
        start = np.searchsorted(self.wire[by_wire], np.arange(self.n_wires + 1))
        row_start = np.searchsorted(self.row, np.arange(self.n_rows + 1))
        keys = self.row * self.n_wires + self.wire
        found: dict[tuple[int, int], Pair] = {}
        switches, amounts = self.switches(fixed)
        for first in range(0, len(switches), _CHUNK):
            u, d = switches[first : first + _CHUNK], amounts[first : first + _CHUNK]
            which, entries = _expanded(start[u], start[u + 1])
            entries = by_wire[entries]
            added = self._alone(entries, d[which])
            broken = np.flatnonzero(added.any(axis=1))
            length = np.diff(row_start)[self.row[entries[broken]]]
            order = broken[np.lexsort((length, which[broken]))]
            chosen, at = np.unique(which[order], return_index=True)  # switches that break a row, and the shortest
            e_u, rest = entries[order[at]], added[order[at]]
            of, e_v = _expanded(row_start[self.row[e_u]], row_start[self.row[e_u] + 1])
            other = (e_v != e_u[of]) & ~fixed[self.wire[e_v]]
            of, e_v = of[other], e_v[other]
            n_broken = np.bincount(which[broken], minlength=len(u))
            for d_v, tried in self._amounts(e_u[of], d[chosen[of]], rest[of], e_v):
                v, s = self.wire[e_v[tried]], chosen[of[tried]]
                passing = self._together(u[s], d[s], v, d_v, n_broken[s], (by_wire, start, keys))
                for i in np.flatnonzero(passing):
                    pair = Pair(int(u[s[i]]), int(v[i]), d[s[i]], d_v[i])
                    found[pair.switch, pair.wire] = pair
        return [found[key] for key in sorted(found)]

    def _alone(self, entries: Int64, d: UInt64) -> UInt64:
        """What each entry adds to its row if its wire changes by d."""
        return fr_mul(fr_add(fr_mul(self.square[entries], d), self.linear[entries]), d)

    def _cross(self, e: Int64, f: Int64) -> UInt64:
        return fr_add(fr_mul(self.left[e], self.right[f]), fr_mul(self.left[f], self.right[e]))

    def _amounts(self, e_u: Int64, d_u: UInt64, rest: UInt64, e_v: Int64) -> Iterator[tuple[UInt64, Int64]]:
        """(d, which of the pairs of entries of one row it is for) that may make up for what the first wire breaks."""
        for side in (self.left, self.right):
            tried = np.flatnonzero(side[e_v].any(axis=1) & side[e_u].any(axis=1))
            kept = fr_mul(side[e_u[tried]], fr_mul(d_u[tried], fr_inv(side[e_v[tried]])))
            yield _negated(kept), tried
        slope = fr_add(self.linear[e_v], fr_mul(self._cross(e_u, e_v), d_u))
        tried = np.flatnonzero(~self.square[e_v].any(axis=1) & slope.any(axis=1))
        yield _negated(fr_mul(rest[tried], fr_inv(slope[tried]))), tried

    def _together(
        self, u: Int64, d_u: UInt64, v: Int64, d_v: UInt64, n_broken: Int64, index: tuple[Int64, Int64, Int64]
    ) -> NDArray[np.bool_]:
        """Which pairs pass every row: all n_broken rows that u alone breaks hold v, and every row that holds v stays 0."""
        by_wire, start, keys = index
        which, entries = _expanded(start[v], start[v + 1])
        e_v = by_wire[entries]
        wanted = self.row[e_v] * self.n_wires + u[which]
        e_u = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        both = keys[e_u] == wanted
        added = self._alone(e_v, d_v[which])
        e_u, w = e_u[both], which[both]
        alone = self._alone(e_u, d_u[w])
        crossed = fr_mul(self._cross(e_u, e_v[both]), fr_mul(d_u[w], d_v[w]))
        added[both] = fr_add(added[both], fr_add(alone, crossed))
        mended = np.bincount(w[alone.any(axis=1)], minlength=len(v))
        passes: NDArray[np.bool_] = mended == n_broken
        passes[which[added.any(axis=1)]] = False
        return passes

    def jacobian(self, fixed: NDArray[np.bool_]) -> SparseRows:
        """The derivatives of all rows by the wires that are not fixed (n_wires,): coefficients canonical, non-zero."""
        kept = np.flatnonzero(self.linear.any(axis=1) & ~fixed[self.wire])
        start = np.zeros(self.n_rows + 1, np.int64)
        np.cumsum(np.bincount(self.row[kept], minlength=self.n_rows), out=start[1:])
        return SparseRows(start, self.wire[kept].astype(np.int32), fr_to_canonical(self.linear[kept]))


def _negated(x: UInt64) -> UInt64:
    return fr_sub(np.zeros_like(x), x)


def _expanded(start: Int64, end: Int64) -> tuple[Int64, Int64]:
    """(i, j) for every j in [start_i, end_i), one array each."""
    length = end - start
    which = np.repeat(np.arange(len(start)), length)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(length) - length - start, length)

"""Which proofs of a failing batch are bad: parts of it are halved until each holds or has one proof.

A part's value is that of its weighted sum (equation.py), so where a part and its left half are known, the right half is their quotient:
each halving costs one partial batch, the left one.  The value of a single proof is 1 if and only if its equation holds, exactly.  Proofs
of a part whose value is 1 are good: random weights hide a bad one with probability 2^-128 a part, and there are at most 2n parts.

Membership of the points in G1 goes the same way, but knows no quotient: if a part fails and its left half does not, the right half does; if
both may, the right half is tested when its turn comes.  Small parts that fail are tested point by point.

A limit on the search leaves parts undecided.  So that nobody can place bad proofs to steer which, the parts that are opened are those of
proofs drawn at random, each followed down until it is decided: the search goes deep, so it also ends somewhere where everything fails.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import equation
from .curve import PLANES_FROM
from .field import Words
from .pairing import gt_div, gt_is_one
from .threads import Run
from .wire import VerifyingKey, proof_fault, subgroup_faults

_Opened: TypeAlias = tuple[list[tuple[int, str]], list["Part"]]  # bad rows and why, failing parts of the rest

DOES_NOT_HOLD = "proof: the equation does not hold"

# Costs, in proofs of a batch that holds, all its work counted; rounded up from measurements
_PAIRING_COST = 100  # of one product of pairings
_SUMS_SHARE = 0.8  # of the three sums of n proofs, equal points among them: n times this
_PLANES_SHARE = 0.25  # of the two sums that membership takes
_PLANES_COST = 300  # of testing their planes
_DIRECT_COST = 2  # of testing a proof's two points

_DRAW_BYTES = 16
_AT_ONCE = 16  # parts that a limited search opens together at most, whatever the number of threads


class Membership(Enum):
    """Of all T and U of a part in G1."""

    SHOWN = "shown"
    REFUTED = "refuted"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Group:
    """Well-formed proofs of one key with their weights.  Points lie on the curve."""

    vk: VerifyingKey
    claims: equation.Claims
    weights: Words


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some proofs of a group, by their rows, and what is known of them together."""

    group: int
    rows: NDArray[np.intp]
    value: Words  # in GT
    membership: Membership

    @property
    def is_good(self) -> bool:
        return self.membership is Membership.SHOWN and self.holds

    @property
    def holds(self) -> bool:
        """The equation of its sum."""
        return gt_is_one(self.value)

    @property
    def cost(self) -> float:
        """At most that of `open`."""
        n = len(self.rows)
        fails = not self.holds and n > 1
        halves = _PAIRING_COST + n / 2 * _SUMS_SHARE if fails else 0.0
        if self.membership is Membership.SHOWN:
            return halves
        if n < PLANES_FROM:  # point by point; then the value of what is left, which may be all but one
            return _DIRECT_COST * n + (_PAIRING_COST + n * _SUMS_SHARE if fails else 0.0)
        planes = _PLANES_COST + n * _PLANES_SHARE
        return planes if self.membership is Membership.OPEN else planes + halves

    @property
    def cost_of_way_down(self) -> float:
        """About that of following one of its proofs until it is decided."""
        n, cost = len(self.rows), 0.0
        if not self.holds:
            cost += _PAIRING_COST * (n - 1).bit_length() + _SUMS_SHARE * n
        if self.membership is not Membership.SHOWN:
            levels = (n // PLANES_FROM).bit_length()  # each tests a left half, and a right half that is still open
            cost += 2 * (_PLANES_COST * levels + _PLANES_SHARE * n) if levels else 0
            cost += _DIRECT_COST * min(n, PLANES_FROM)
        return cost


@dataclass(slots=True)
class Found:
    """What a search came to, by group and row: bad proofs and why, and parts that its limit left undecided."""

    bad: list[tuple[int, int, str]] = field(default_factory=list)
    undecided: list[tuple[int, NDArray[np.intp]]] = field(default_factory=list)


def batch_cost(n: int) -> float:
    """What a batch of n proofs costs that holds, in the unit of Part.cost."""
    return n + _PAIRING_COST


def search(
    groups: Sequence[Group],
    parts: Iterable[Part],
    limit: float | None,
    random_bytes: Callable[[int], bytes],
    run: Run = map,
) -> Found:
    """The bad proofs among parts of groups.  limit: costs beyond it are not spent.

    Cost of k bad of n: at most k log2(n / k) + k partial batches, so n - 1 if all are bad, however they are placed; their sums have
    n log2(2 k) / 2 + n multiples at most.
    """
    found = Found()
    at_hand = dict(enumerate(part for part in parts if not part.is_good))
    new, n_ids = list(at_hand), len(at_hand)
    while at_hand:
        if limit is None:
            chosen = list(at_hand)
        else:
            chosen = _choose(at_hand, new, limit, random_bytes)
            limit -= sum(at_hand[i].cost for i in chosen)
        if not chosen:
            break
        opened = _open_all(groups, [at_hand[i] for i in chosen], run)
        new = []
        for i, (bad, children) in zip(chosen, opened, strict=True):
            found.bad += [(at_hand[i].group, row, reason) for row, reason in bad]
            del at_hand[i]
            for child in children:
                at_hand[n_ids] = child
                new.append(n_ids)
                n_ids += 1
    found.undecided = [(part.group, part.rows) for part in at_hand.values()]
    return found


def _choose(at_hand: dict[int, Part], new: list[int], limit: float, random_bytes: Callable[[int], bytes]) -> list[int]:
    """The parts to open next, none that is beyond the limit: those just found to fail, then others, drawn by their sizes.

    No more than can be followed down, so that at least those are decided.
    """
    chosen: list[int] = []
    new_ones = set(new)
    others = [i for i in at_hand if i not in new_ones]
    room = limit
    for candidates in (new, others):
        while len(chosen) < _AT_ONCE:
            candidates = [i for i in candidates if i not in chosen and at_hand[i].cost <= limit]
            if not candidates:
                break
            ends = np.cumsum([len(at_hand[i].rows) for i in candidates])
            drawn = int.from_bytes(random_bytes(_DRAW_BYTES), "little") % int(ends[-1])
            i = candidates[int(np.searchsorted(ends, drawn, side="right"))]
            if chosen and at_hand[i].cost_of_way_down > room:
                return chosen
            chosen.append(i)
            limit -= at_hand[i].cost
            room -= at_hand[i].cost_of_way_down
    return chosen


def _open_all(groups: Sequence[Group], parts: list[Part], run: Run) -> list[_Opened]:
    inside, across = (run, map) if len(parts) == 1 else (map, run)  # a job has no jobs (threads.py)
    return list(across(lambda part: _open(groups, part, inside), parts))


def _open(groups: Sequence[Group], part: Part, run: Run) -> _Opened:
    """What is bad in a failing part, and parts of the rest that fail or may."""
    group, rows = groups[part.group], part.rows
    if part.membership is not Membership.SHOWN and len(rows) < PLANES_FROM:
        bad, fine = _outside(group, rows)
        value = part.value
        if bad and fine.any() and not part.holds:
            value = gt_div(value, _value(group, rows[~fine], run))
        rest = Part(part.group, rows[fine], value, Membership.SHOWN)
        return bad, _failing([rest] if fine.any() else [])
    if part.membership is Membership.OPEN:
        shown = equation.in_subgroup(group.claims[rows], group.weights[rows], run=run)
        return [], _failing([replace(part, membership=Membership.SHOWN if shown else Membership.REFUTED)])
    if len(rows) == 1:
        return [(int(rows[0]), DOES_NOT_HOLD)], []
    return [], _failing(_halves(group, part, run))


def _halves(group: Group, part: Part, run: Run) -> tuple[Part, Part]:
    left, right = np.split(part.rows, [len(part.rows) // 2])
    claims, weights = group.claims[left], group.weights[left]
    refuted = part.membership is Membership.REFUTED
    if part.holds:
        shown = equation.in_subgroup(claims, weights, run=run)
        left_value = right_value = part.value
    else:
        sums = equation.sums(group.vk, claims, weights, in_g1=not refuted, test=refuted, run=run)
        shown = sums.in_subgroup
        left_value = equation.value([(group.vk, sums)])
        right_value = gt_div(part.value, left_value)
    if not refuted:
        of_left = of_right = Membership.SHOWN
    elif shown:
        of_left, of_right = Membership.SHOWN, Membership.REFUTED
    else:
        of_left, of_right = Membership.REFUTED, Membership.OPEN
    return Part(part.group, left, left_value, of_left), Part(part.group, right, right_value, of_right)


def _failing(parts: Iterable[Part]) -> list[Part]:
    return [part for part in parts if not part.is_good]


def _value(group: Group, rows: NDArray[np.intp], run: Run) -> Words:
    return equation.value([(group.vk, equation.sums(group.vk, group.claims[rows], group.weights[rows], run=run))])


def _outside(group: Group, rows: NDArray[np.intp]) -> tuple[list[tuple[int, str]], NDArray[np.bool_]]:
    """The proofs with a point outside the subgroup, and which rows have none."""
    faults = subgroup_faults(group.claims.T[rows], group.claims.U[rows])
    fine: NDArray[np.bool_] = faults == 0
    return [(int(rows[i]), str(proof_fault(int(faults[i])))) for i in np.flatnonzero(~fine)], fine

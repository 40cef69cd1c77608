"""Membership in a LeanIMT over Poseidon, of 2, 4 or 8 children a node (native/lean_imt.py).

What is proved: in every tree of `size` leaves that has the root, `leaf` is leaf number `index`; whoever shows another leaf there shows a
collision of Poseidon.  A root alone says less, for one root belongs to trees of several sizes: ((a b) c) is the root of the leaves a, b and
c, of the two leaves (a b) and c, and, if c was made as (x y), of four.  So the size must be bound to the root as firmly as the root is:
both public, or both inside a `sized_root`, which hides them.  With a size that the prover chooses, an inner node passes as a leaf; circuits
that take a depth or a path's length as a witness, as is usual for this tree, rest on leaves that are no nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bonsai_verifier.parameters import FR_MODULUS as R

from ..dsl.builder import Builder
from ..dsl.trace import System
from ..dsl.wires import Bit, Num, linear
from ..errors import CircuitError
from ..native.lean_imt import SIZED_ROOT_TAG
from .boolean import both
from .digit import Digit
from .poseidon import poseidon
from .poseidon_tree import open_level
from .range import bits
from .trees import siblings

_ARITIES = (2, 4, 8)
_MOST_BITS = 64  # of an index
_HALF, _QUARTER = pow(2, -1, R), pow(4, -1, R)


def lean_imt_root(
    c: Builder, leaf: Num, index: Num, size: Num, depth: int, arity: int = 2, name: str = "siblings"
) -> Num:
    """The root of a tree of `size` leaves, 1 <= size <= arity^depth, that has `leaf` at `index`, index < size.

    In: siblings are advice, `name[level][child]`, arity - 1 a level from the leaves up, in order; where a level has fewer, the rest is
    ignored (native.lean_imt.padded_path makes them).  size and index may be constants; for a constant size only the nodes and siblings
    that it has are there.
    Cost: 236 depth - 2 rows for 2 children a node, 777 depth - 2 for 4, 2,123 depth - 2 for 8, as a level hashes every number of children
    that it may have; 313, 1,029 and 2,803 in Square R1CS.  For as many leaves 2 children cost the least.
    Sound because index and last = size - 1 have one bit string each, and the number of children and the place of the child on every level
    follow from them as in a tree of that size.  On a level, from the top, `edge` says that both have had the same digits so far: only
    there may a node have fewer than `arity` children, and it has as many as last's digit says, and one more.
    Raises CircuitError: another arity; no depth, or too large a one.
    """
    if arity not in _ARITIES:
        raise CircuitError("arity", f"{arity} is not one of {_ARITIES}: a digit of an index is 1 to 3 of its bits")
    n_bits = arity.bit_length() - 1
    if not 1 <= depth * n_bits <= _MOST_BITS:
        raise CircuitError("depth", f"{depth} levels of {arity} children; an index has 1 to {_MOST_BITS} bits")
    with c.scope("lean tree"):
        last = bits(c, size - 1, depth * n_bits, "size - 1")
        with c.scope("shape"):
            steps = _steps(c, index, last)
        node = leaf
        for level in range(depth):
            own = slice(level * n_bits, (level + 1) * n_bits)
            with c.scope(f"level {level}"):
                node = _Level(c, node, steps[own], last[own], name, level).parent()
        return node


def sized_root(c: Builder, root: Num, size: Num) -> Num:
    """One number that binds a root and its size, equal to native.lean_imt.sized_root.  Cost: a Poseidon hash of two inputs."""
    with c.scope("sized root"):
        return poseidon(c, [root, size], SIZED_ROOT_TAG)


@dataclass(frozen=True, slots=True)
class _Step:
    """One bit, above which index and last agree if `edge`: the index's bit; edge and last's bit is 0; edge and last's bit is 1."""

    bit: Bit
    zero: Bit
    one: Bit


def _steps(c: Builder, index: Num, last: Sequence[Bit]) -> list[_Step]:
    """index <= last, bit by bit from the top; the steps are those of bits 0, 1, ..

    Cost: 3 rows a bit, less 2, and one for each of last's bits where it was unpacked; last constant: one a bit at most.
    Sound because the index's bit a has a (a + zero - 1) = 0, so it is 0 or 1, and 0 where the index would exceed last (in Square R1CS
    (a + zero/2)^2 = a + zero/4, the same since zero^2 = zero).  Both agree below as well if zero, a being 0 then, or if a one = 1.
    """
    edge, steps, label = Bit.trusted(c.num(1)), list[_Step](), "the index is below the size"
    for i in reversed(range(len(last))):
        one = both(c, edge, last[i], "edge, last bit is 1")
        zero = Bit.trusted(edge - one)
        bit = _index_bit(c, index, i, zero, label)
        steps.append(_Step(bit, zero, one))
        if i:
            edge = Bit.trusted(zero + both(c, bit, one, "same bit"))
    steps.reverse()
    linear(c, [1 << i for i in range(len(steps))], [step.bit for step in steps]).must_equal(index, label)
    return steps


def _index_bit(c: Builder, index: Num, i: int, zero: Bit, label: str) -> Bit:
    """Bit i of the index, which is 0 where `zero`.  Cost: 1 row in both systems; none if one of them is constant and settles it."""
    if (known := index.constant_value()) is not None:
        if known >> i & 1:
            zero.must_equal(0, label)
        return Bit.trusted(c.num(known >> i & 1))
    if zero.constant_value() == 1:
        return Bit.trusted(c.num(0))
    bit = c.hint_bit(index, i, f"bit {i} of the index")
    with c.only(System.R1CS):
        c.must_be_product(bit, bit + zero - 1, c.num(0), label)
    with c.only(System.SQUARE):
        c.must_be_square(bit + zero * _HALF, bit + zero * _QUARTER, label)
    return Bit.trusted(bit)


@dataclass(frozen=True, slots=True)
class _Level:
    """One level of a path: the node, the bits of its digit, and where its siblings are."""

    c: Builder
    node: Num
    steps: Sequence[_Step]
    last: Sequence[Bit]
    name: str
    level: int

    def parent(self) -> Num:
        """The hash of all children, or of so many as there are on the edge, one being the node itself.

        Cost: a hash for every number of children that can occur, and 1 product (2 rows in Square R1CS) to choose each but the whole one.
        """
        fewer = [(k, flag) for k, flag in enumerate(self.flags(), start=1) if flag.constant_value() != 0]
        for k, flag in fewer:
            if flag.constant_value() == 1:
                return self.of(k)
        out = whole = self.of(1 << len(self.steps))
        for k, flag in fewer:
            out = out + self.c.product(flag, self.of(k) - whole, f"if there are {k} children")
        return out

    def flags(self) -> list[Bit]:
        """For k = 1 .. arity - 1: on the edge, and last's digit is k - 1.  Cost: arity - 2 rows in both systems."""
        entries = [self.steps[-1].zero, self.steps[-1].one]
        for bit in reversed(self.last[:-1]):
            split: list[Bit] = []
            for entry in entries:
                high = both(self.c, entry, bit, "number of children")
                split += [Bit.trusted(entry - high), high]
            entries = split
        return entries[:-1]

    def of(self, k: int) -> Num:
        """The node of k children, of which this one stands at the index's digit, below k."""
        if k == 1:
            return self.node
        bits_ = [step.bit for step in self.steps[: (k - 1).bit_length()]]
        key = ("lean digit", *(bit.key() for bit in bits_))
        digit = self.c.once(key, lambda: Digit(self.c, bits_))
        with self.c.scope(f"{k} children"):
            return open_level(self.c, self.node, digit.clipped(k), siblings(self.c, self.name, self.level, k))

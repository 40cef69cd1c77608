"""Sapling's Pedersen hash and the commitments from it in a circuit, equal to native.pedersen.

A chunk of three bits looks up its point in a table and adds it; chunks of one segment by incomplete Montgomery additions
(gadgets.montgomery says why that is safe), segments by complete Edwards ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TypeAlias

from bonsai_verifier.parameters import FR_MODULUS as R

from ..dsl.builder import Builder
from ..dsl.trace import System
from ..dsl.wires import Bit, Num
from ..errors import CircuitError
from ..native import jubjub
from ..native import pedersen as native
from ..native.pedersen import BLINDING_DIGITS, CHUNK_BITS, SEGMENT_CHUNKS, TAG_BITS
from . import edwards, montgomery
from .montgomery import Addend, Size, Sum
from .table import Tables, interpolated, monomials

_Constants: TypeAlias = Sequence[tuple[int, tuple[int, ...]]]  # chunks by number, with their bits


@dataclass(frozen=True, slots=True)
class Chunk:
    """Three bits of a message and their place in it."""

    number: int
    bits: tuple[Bit, ...]

    def value(self) -> tuple[int, ...] | None:
        """The bits, if all of them are constants."""
        return _constants(self.bits)


def chunks(c: Builder, bits: Sequence[Bit], first: int = 0) -> list[Chunk]:
    """Bits in threes from chunk number `first` on, zeros filling up the last."""
    zero = Bit.trusted(c.num(0))
    padded = [*bits, *[zero] * (-len(bits) % CHUNK_BITS)]
    return [Chunk(first + i, tuple(padded[3 * i : 3 * i + 3])) for i in range(len(padded) // 3)]


def tag_chunks(c: Builder, tag: int) -> list[Chunk]:
    """The six bits in front of a message."""
    return chunks(c, [Bit.trusted(c.num(bit)) for bit in native.bits_of(tag, TAG_BITS)])


def by_segment(parts: Sequence[Chunk]) -> list[list[Chunk]]:
    """The chunks of each segment, in order."""
    segments: dict[int, list[Chunk]] = {}
    for part in parts:
        segments.setdefault(part.number // SEGMENT_CHUNKS, []).append(part)
    return list(segments.values())


def segment_points(c: Builder, parts: Sequence[Chunk]) -> list[edwards.Point]:
    """One point a segment: the sums of its chunks."""
    return [finish(c, accumulate(c, segment)) for segment in by_segment(parts)]


def pedersen(c: Builder, tag: int, bits: Sequence[Bit]) -> Num:
    """u(PedersenHash(tag, bits)).

    Cost: 5 rows a chunk of variable bits (2 to look up, 3 to add) and 6 in Square R1CS; a segment's first chunk saves the addition, or
    costs 1 row more than its look-up if the segment has constants; a segment ends with 3 rows (6), a join costs 6 (12), the last 4 (8).
    Sound because each chunk has one value and each addition one result.
    """
    points = segment_points(c, [*tag_chunks(c, tag), *chunks(c, bits, TAG_BITS // CHUNK_BITS)])
    return sum_u(c, points)


def sum_u(c: Builder, points: Sequence[edwards.Point]) -> Num:
    """u of the sum."""
    if len(points) == 1:
        return points[0].u
    return edwards.add_u(c, edwards.add_all(c, points[:-1]), points[-1])


# Sums within a segment ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Partial:
    """A sum within one segment, or, with no variable bit so far, the constants alone."""

    total: Sum | None
    constants: tuple[tuple[int, tuple[int, ...]], ...]


def accumulate(c: Builder, parts: Sequence[Chunk], before: Partial | None = None) -> Partial:
    """The sum of chunks of one segment, after `before`; constant chunks go into the table of the first variable one."""
    constants = [(part.number, bits) for part in parts if (bits := part.value()) is not None]
    variable = [part for part in parts if part.value() is None]
    total = None if before is None else before.total
    if total is not None and constants:
        raise CircuitError("segment", "constant chunks after variable ones of another call; give them together")
    if before is not None:
        constants = [*before.constants, *constants]
    for part in variable:
        addend = _addend(c, part.bits, [part.number], [constants], [])
        constants = []
        total = montgomery.start(addend) if total is None else montgomery.add(c, total, addend)
    return Partial(total, tuple(constants))


def finish(c: Builder, partial: Partial) -> edwards.Point:
    """The sum in Edwards form."""
    if partial.total is None:
        return edwards.constant(c, _constant_point(partial.constants))
    return montgomery.to_edwards(c, partial.total)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a child may stand: from chunk number `first` on; and the constant chunks that belong to the message if it stands there."""

    first: int
    constants: tuple[tuple[int, tuple[int, ...]], ...]


def placed(c: Builder, bits: Sequence[Bit], places: Sequence[Place], selector: Sequence[Bit]) -> list[edwards.Point]:
    """Points that sum up to a child and the constants at places[j], j the selector's position.

    Runs of chunks that stay within one segment at every place are summed up by Montgomery additions, from tables that depend on j; the
    caller joins them by complete ones.
    Cost: a chunk of variable bits 7 rows, 9 in Square R1CS, for two places; 11 and 14 for four; each point as in `pedersen`.
    Sound as `pedersen`, with bounds for each place.
    """
    own = chunks(c, bits)
    crossed = {i for place in places for i in range(1, len(own)) if (place.first + i) % SEGMENT_CHUNKS == 0}
    cuts = sorted({0, len(own)} | crossed)
    waiting = [list(place.constants) for place in places]
    points = []
    for low, high in pairwise(cuts):
        constants: list[list[tuple[int, tuple[int, ...]]]] = []
        for place, rest in zip(places, waiting, strict=True):
            segment = (place.first + low) // SEGMENT_CHUNKS
            here = [item for item in rest if item[0] // SEGMENT_CHUNKS == segment]
            rest[:] = [item for item in rest if item not in here]
            fixed = [(place.first + i, value) for i in range(low, high) if (value := own[i].value()) is not None]
            constants.append([*here, *fixed])
        total: Sum | None = None
        for i in range(low, high):
            if own[i].value() is None:
                addend = _addend(c, own[i].bits, [place.first + i for place in places], constants, selector)
                constants = [[] for _ in places]
                total = montgomery.start(addend) if total is None else montgomery.add(c, total, addend)
        points.append(_fixed(c, constants, selector) if total is None else montgomery.to_edwards(c, total))
    if any(waiting):
        raise CircuitError("place", "a constant chunk lies in a segment where the child has none")
    return points


def _fixed(c: Builder, constants: Sequence[_Constants], selector: Sequence[Bit]) -> edwards.Point:
    """A table of points at the selector."""
    points = [_constant_point(tuple(part)) for part in constants]
    products = monomials(c, selector)
    u, v = (interpolated(c, products, values) for values in ([p[0] for p in points], [p[1] for p in points]))
    return edwards.Point(u, v)


# Look-ups ----------------------------------------------------------------------------------------------------------------------


def _addend(
    c: Builder,
    bits: Sequence[Bit],
    numbers: Sequence[int],
    constants: Sequence[_Constants],
    selector: Sequence[Bit],
) -> Addend:
    """What three bits add that stand at chunk numbers[j], j the selector's position, with the constant chunks of the same segments."""
    if not any(constants) and not any(bit.constant_value() is not None for bit in bits):
        windows = [_montgomery_window(number) for number in numbers]
        scales = [16 ** (number % SEGMENT_CHUNKS) for number in numbers]
        sizes = tuple(Size(scale, 4 * scale) for scale in scales)
        if len(numbers) == 1:
            return signed(c, bits, windows[0], sizes[0])
        return _signed_of_several(c, bits, windows, sizes, selector)
    return _general(c, bits, numbers, constants, selector)


def signed(c: Builder, bits: Sequence[Bit], window: Sequence[jubjub.Point], size: Size) -> Addend:
    """(1 - 2 b2) window[b0 + 2 b1], a table of points (x, y).  Cost: 2 rows in both systems.

    x, y, x^2 and y^2 at b0 + 2 b1 are linear in b0, b1 and b0 b1; the sign is one product, and (1 - 2 b2)^2 = 1.
    """
    products = monomials(c, bits[:2])
    x, y, x_squared, y_squared = (
        interpolated(c, products, values)
        for values in (
            [p[0] for p in window],
            [p[1] for p in window],
            [p[0] ** 2 for p in window],
            [p[1] ** 2 for p in window],
        )
    )
    return Addend(x, _with_sign(c, bits[2], y, y_squared), x_squared, (size,))


def _with_sign(c: Builder, negative: Bit, y: Num, y_squared: Num) -> Num:
    """(1 - 2 negative) y.  Cost: 1 row in both systems.

    Sound because (1 - 2 negative)^2 = 1, so (y + 1 - 2 negative)^2 = y^2 + 1 + 2 (1 - 2 negative) y.
    """
    sign, label = 1 - 2 * negative, "signed y"
    out = c.hint_product(sign, y, label)
    with c.only(System.R1CS):
        c.must_be_product(sign, y, out, label)
    with c.only(System.SQUARE):
        c.must_be_square(y + sign, y_squared + 1 + 2 * out, label)
    return out


def _signed_of_several(
    c: Builder,
    bits: Sequence[Bit],
    windows: Sequence[Sequence[jubjub.Point]],
    sizes: tuple[Size, ...],
    selector: Sequence[Bit],
) -> Addend:
    """`signed` from the window at the selector.  Cost: 4 rows for two windows and 8 for four, and the product of the selector's bits.

    In Square R1CS 5 and 9: of four, y^2 is not known, so the sign costs 2.
    """
    if len(selector) == 1:
        x, y, x_squared, y_squared = _point_of_two(c, bits, windows, selector[0])
        return Addend(x, _with_sign(c, bits[2], y, y_squared), x_squared, sizes)
    tables = Tables(c, [*selector, *bits[:2]], len(selector))
    x, y = (
        tables.at([window[e][i] for e in range(4) for window in windows], label)
        for i, label in ((0, "selected x"), (1, "selected y"))
    )
    return Addend(x, c.product(1 - 2 * bits[2], y, "signed y"), None, sizes)


def _point_of_two(
    c: Builder, bits: Sequence[Bit], windows: Sequence[Sequence[jubjub.Point]], selector: Bit
) -> tuple[Num, Num, Num, Num]:
    """x, y, and in Square R1CS x^2, y^2, of windows[s][b0 + 2 b1].  Cost: 3 rows, 4 in Square R1CS.

    R1CS: x = x_0 + s (x_1 - x_0), y likewise, x_j, y_j tables at b0 + 2 b1.  Square R1CS: all tables over the monomials of b0, b1 and s,
    so that squares are tables as well.
    """
    small = monomials(c, bits[:2])
    split = [c.hint_product(selector, x, "selected product of bits") for x in small[1:]]
    with c.only(System.SQUARE):
        for x, out in zip(small[1:], split, strict=True):
            c.must_be_square(selector + x, selector + x + 2 * out, "selected product of bits")
    products = [*small, selector, *split]
    points = [p for window in windows for p in window]
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    coordinates = []
    for values, label in ((xs, "selected x"), (ys, "selected y")):
        table = interpolated(c, products, values)
        out = c.hint_value(table, label)
        with c.only(System.SQUARE):
            out.must_equal(table, label)
        with c.only(System.R1CS):
            zero, one = (interpolated(c, small, values[i : i + 4]) for i in (0, 4))
            out.must_equal(zero + c.product(selector, one - zero, label), label)
        coordinates.append(out)
    x_squared, y_squared = (interpolated(c, products, [k * k for k in values]) for values in (xs, ys))
    return coordinates[0], coordinates[1], x_squared, y_squared


def _general(
    c: Builder,
    bits: Sequence[Bit],
    numbers: Sequence[int],
    constants: Sequence[_Constants],
    selector: Sequence[Bit],
) -> Addend:
    """A table over the variable bits and the selector's.  Cost: for 1, 2, 3, 4, 5 bits in all 0, 1, 3, 6, 11 rows in both systems."""
    variable = [bit for bit in bits if bit.constant_value() is None]
    points: list[jubjub.Point] = []
    sizes = []
    for number, folded in zip(numbers, constants, strict=True):
        fixed = sum(_multiple(k, value) for k, value in folded)
        multiples = []
        for pattern in range(1 << len(variable)):
            values = _filled(bits, pattern)
            multiples.append(fixed + _multiple(number, values))
            point = native.entry(number, values)
            if folded:
                point = jubjub.add(_constant_point(tuple(folded)), point)
            points.append(jubjub.to_montgomery(point))
        sizes.append(Size.of(multiples))
    position = [*variable, *selector]
    if len(position) <= 2:
        products = monomials(c, position)
        x, y, x_squared = (
            interpolated(c, products, values)
            for values in ([p[0] for p in points], [p[1] for p in points], [p[0] ** 2 for p in points])
        )
        return Addend(x, y, x_squared, tuple(sizes))
    tables = Tables(c, position, 3 if len(position) > 3 else 2)
    x, y = (tables.at([p[i] for p in points], label) for i, label in ((0, "x"), (1, "y")))
    return Addend(x, y, None, tuple(sizes))


def _filled(bits: Sequence[Bit], pattern: int) -> tuple[int, ...]:
    """The bits with those that vary taken from the pattern."""
    out = []
    for bit in bits:
        value = bit.constant_value()
        if value is None:
            value, pattern = pattern & 1, pattern >> 1
        out.append(value)
    return tuple(out)


def _constants(bits: Sequence[Bit]) -> tuple[int, ...] | None:
    values = [bit.constant_value() for bit in bits]
    return None if None in values else tuple(value for value in values if value is not None)


def _multiple(number: int, bits: Sequence[int]) -> int:
    """What a chunk adds, as a multiple of its segment's generator."""
    return native.chunk_value(bits) * int(16 ** (number % SEGMENT_CHUNKS))


@cache
def _montgomery_window(number: int) -> tuple[jubjub.Point, ...]:
    return tuple(jubjub.to_montgomery(p) for p in native.window(number))


@cache
def _constant_point(constants: tuple[tuple[int, tuple[int, ...]], ...]) -> jubjub.Point:
    return jubjub.add_all(native.entry(number, bits) for number, bits in constants)


# Commitments -------------------------------------------------------------------------------------------------------------------


@cache
def _blinding_window(digit: int) -> tuple[jubjub.Point, ...]:
    return tuple(jubjub.to_montgomery(p) for p in native.blinding_window(digit))


def blinding_points(c: Builder, sigma: Num) -> list[edwards.Point]:
    """Two points that sum up to [sigma] R; sigma is advice, a private input below r_J, and what is bound are its digits.

    sigma = sum d_j 8^j modulo r_J, d_j = (1 - 2 b2) (1 + 2 b0 + 4 b1), 84 digits (native.signed_digits).
    Cost: 252 booleans, 84 look-ups of 2 rows, 82 additions, 3 rows to Edwards form: 669 rows, 753 in Square R1CS.
    Sound because any digits are some sigma.  The sum of j digits is odd and below 8^j <= |d_j| 8^j, and up to the last digit but one
    all stays below (r_J - 1) / 2; the last is added by the caller, completely.
    """
    c.scratch(sigma)
    c.read_below(sigma, jubjub.ORDER)
    even = 1 - c.scratch(c.hint_bit(sigma, 0, "parity"))
    octal = (sigma - even * jubjub.ORDER + (8**BLINDING_DIGITS - 1)) * _HALF
    digits = [_digit_bits(c, octal, j) for j in range(BLINDING_DIGITS)]
    total: Sum | None = None
    for j, bits in enumerate(digits[:-1]):
        addend = signed(c, bits, _blinding_window(j), Size(8**j, 7 * 8**j))
        total = montgomery.start(addend) if total is None else montgomery.add(c, total, addend)
    assert total is not None
    window = native.blinding_window(BLINDING_DIGITS - 1)
    products = monomials(c, digits[-1][:2])
    u, u_squared, v = (
        interpolated(c, products, values)
        for values in ([p[0] for p in window], [p[0] ** 2 for p in window], [p[1] for p in window])
    )
    return [
        montgomery.to_edwards(c, total),
        edwards.Point(_with_sign(c, digits[-1][2], u, u_squared), v),
    ]


_HALF = pow(2, -1, R)


def _digit_bits(c: Builder, octal: Num, j: int) -> list[Bit]:
    """b0, b1, b2 of digit j: from the octal digit e, 2 e - 7 = (1 - 2 b2) (1 + 2 b0 + 4 b1).  Cost: 3 rows in both systems."""
    low, middle, high = (c.scratch(c.hint_bit(octal, 3 * j + i, f"octal digit {j}, bit {i}")) for i in range(3))
    hints = [
        c.hint_select(high, low, 1 - low, f"digit {j}, bit 0"),
        c.hint_select(high, middle, 1 - middle, f"digit {j}, bit 1"),
        c.hint_value(1 - high, f"digit {j}, bit 2"),
    ]
    for i, bit in enumerate(hints):
        c.must_be_square(bit, bit, f"bit {i} of digit {j} is 0 or 1")
    return [Bit.trusted(bit) for bit in hints]

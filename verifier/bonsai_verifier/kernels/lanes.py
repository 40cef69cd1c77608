"""Eight lanes side by side: Montgomery arithmetic on limbs of 52 bits, written once as code over a small machine.  Counterpart of limbs.py.

An element is n limbs, x = sum x_i 2^(52 i), in Montgomery form with R = 2^(52 n).  Eight elements make a block: limb i of all
eight is one vector of eight 64-bit lanes, and a block in memory is n vectors, 64 n bytes, best aligned to 64.

A *writer* takes a machine and lists of vectors and writes straight-line code: on `Machine` that is LLVM IR; the tests run the same writers
on machines of integers and of intervals, which prove the bounds below.  A writer that is worth interleaving is a generator:
`together` runs several in turn, so that one fills the latency of the other, and returns their results.

Bounds.  Every contract speaks of limbs and of the value, in multiples of the modulus p.
  normalised   0 <= x_i < 2^52 for every i: what the multiplier reads
  weak         normalised, and 0 <= x < 4/3 p: what operations hand each other
  loose        |x_i| < 2^62, signed: sums and differences before a carry pass
The room 2^(52 n) / p is 2^35.3 in Fp and 35.3 in Fr.
Source of the shape: Gueron, Krasnov, "Accelerating Big Integer Arithmetic Using Intel IFMA Extensions" (ARITH 2016); product first,
reduction after it, as in Koc, Acar, Kaliski 1996, "SOS".
"""

from collections.abc import Callable, Generator, Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from .intrinsics import I64, formula, operation, value
from .inverse import inversion
from .limbs import WORD_BYTES, stack

LANES = 8
LIMB_BITS = 52
LIMB_MASK = 2**LIMB_BITS - 1
VECTOR_BYTES = 64
_WORD_BITS = 64
_I32 = ir.IntType(32)
_VECTOR = ir.VectorType(I64, LANES)
_MASK = ir.VectorType(ir.IntType(1), LANES)

Limbs = list[Any]
Writer = Generator[None, None, Limbs]


class LaneField(NamedTuple):
    """The integers modulo p as blocks: n limbs; rows of 64-bit words (limbs.py) have n_words of them, R = 2^(64 n_words)."""

    modulus: int
    n: int
    n_words: int
    folds: int  # the columns that `reduce` folds

    @property
    def radix(self) -> int:
        """R of the lanes."""
        return 1 << (LIMB_BITS * self.n)

    @property
    def lift(self) -> int:
        """Bits between both Montgomery forms: a 2^(64 n_words) 2^lift = a R."""
        return LIMB_BITS * self.n - _WORD_BITS * self.n_words

    @property
    def block_bytes(self) -> int:
        return VECTOR_BYTES * self.n

    @property
    def minus_inverse(self) -> int:
        """-1/p modulo 2^52."""
        return -pow(self.modulus, -1, 2**LIMB_BITS) % 2**LIMB_BITS

    @property
    def limb_inverse(self) -> int:
        """2^-52 modulo p."""
        return pow(2, -LIMB_BITS, self.modulus)

    def limbs(self, x: int) -> list[int]:
        """x in [0, 2^(52 n)) as limbs."""
        assert 0 <= x < self.radix
        return [x >> (LIMB_BITS * i) & LIMB_MASK for i in range(self.n)]

    @property
    def dropped(self) -> int:
        """Bits of the top limb that the guess of a quotient leaves out: all but 9 of the modulus's."""
        return (self.modulus >> (LIMB_BITS * (self.n - 1))).bit_length() - 9

    @property
    def reciprocal(self) -> int:
        """2^52 times (2^(52 (n - 1) + dropped) / p), so that `hi` of it and the rest of a top limb is a quotient by p."""
        return (self.radix << self.dropped) // self.modulus


# The machine -----------------------------------------------------------------------------------------------------------------


class Machine:
    """LLVM IR at the end of a block.  A value is a vector of eight 64-bit lanes, a mask eight booleans, an address an int64.

    Lanes are integers modulo 2^64; `sar` and `is_negative` read them as signed.
    """

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder
        self.zero = self.const(0)

    # Arithmetic

    def const(self, x: int) -> Any:
        """x in every lane."""
        return self.consts([x] * LANES)

    def consts(self, xs: list[int]) -> Any:
        """xs_l in lane l."""
        return ir.Constant(_VECTOR, [ir.Constant(I64, x % 2**64) for x in xs])

    def low(self, x: Any) -> Any:
        """x, of which a multiplication step may read the low 52 bits alone."""
        return x

    def lo(self, t: Any, x: Any, y: Any) -> Any:
        """t + (x y mod 2^52).  In: x and y below 2^52, or `low`."""
        return self._call("llvm.x86.avx512.vpmadd52l.uq.512", t, x, y)

    def hi(self, t: Any, x: Any, y: Any) -> Any:
        """t + floor(x y / 2^52), as `lo`."""
        return self._call("llvm.x86.avx512.vpmadd52h.uq.512", t, x, y)

    def add(self, x: Any, y: Any) -> Any:
        return self.builder.add(x, y)

    def sub(self, x: Any, y: Any) -> Any:
        return self.builder.sub(x, y)

    def and_(self, x: Any, y: Any) -> Any:
        return self.builder.and_(x, y)

    def or_(self, x: Any, y: Any) -> Any:
        return self.builder.or_(x, y)

    def xor(self, x: Any, y: Any) -> Any:
        return self.builder.xor(x, y)

    def shl(self, x: Any, bits: int) -> Any:
        return self.builder.shl(x, self.const(bits))

    def shr(self, x: Any, bits: int) -> Any:
        """floor(x / 2^bits) of lanes without a sign."""
        return self.builder.lshr(x, self.const(bits))

    def sar(self, x: Any, bits: int) -> Any:
        """floor(x / 2^bits) of signed lanes."""
        return self.builder.ashr(x, self.const(bits))

    def swap_bytes(self, x: Any) -> Any:
        """Each lane's eight bytes in reverse order."""
        return self.builder.call(self._function("llvm.bswap.v8i64", _VECTOR, [_VECTOR]), [x])

    # Choice

    def lookup(self, table: list[int], index: Any) -> Any:
        """table[index mod 8], lane by lane."""
        return self._call("llvm.x86.avx512.permvar.di.512", self.consts(table), index)

    def is_negative(self, x: Any) -> Any:
        return self.builder.icmp_signed("<", x, self.zero)

    def is_zero(self, x: Any) -> Any:
        return self.builder.icmp_unsigned("==", x, self.zero)

    def both(self, a: Any, b: Any) -> Any:
        return self.builder.and_(a, b)

    def either(self, a: Any, b: Any) -> Any:
        return self.builder.or_(a, b)

    def differ(self, a: Any, b: Any) -> Any:
        return self.builder.xor(a, b)

    def select(self, mask: Any, x: Any, y: Any) -> Any:
        """x where the mask is set, else y."""
        return self.builder.select(mask, x, y)

    def bits(self, mask: Any) -> Any:
        """The mask as an int64: bit l is lane l."""
        return self.builder.zext(self.builder.bitcast(mask, ir.IntType(LANES)), I64)

    def mask(self, bits: Any) -> Any:
        """The mask whose lane l is bit l of an int64."""
        return self.builder.bitcast(self.builder.trunc(bits, ir.IntType(LANES)), _MASK)

    # Memory and order

    def shuffle(self, x: Any, y: Any, indices: list[int]) -> Any:
        """Lane l is lane indices_l of x | y."""
        return self.builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(_I32, LANES), indices))

    def load(self, address: Any, i: int = 0) -> Any:
        """Vector i of the block at `address`."""
        return self.builder.load(self._pointer(address, _VECTOR, VECTOR_BYTES * i), align=8)

    def store(self, address: Any, i: int, x: Any) -> None:
        self.builder.store(x, self._pointer(address, _VECTOR, VECTOR_BYTES * i), align=8)

    def broadcast(self, address: Any, i: int = 0) -> Any:
        """Word i at `address` in every lane."""
        word = self.builder.load(self._pointer(address, I64, 8 * i), align=8)
        first = self.builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), word, _I32(0))
        return self.shuffle(first, first, [0] * LANES)

    def store_word(self, address: Any, i: int, x: Any) -> None:
        """Lane 0 as word i at `address`."""
        self.builder.store(self.builder.extract_element(x, _I32(0)), self._pointer(address, I64, 8 * i), align=8)

    def load_row(self, address: Any, n_words: int) -> Any:
        """n_words words at an address of any alignment in lanes 0.., zeros above; reads nothing beyond them."""
        part = ir.VectorType(I64, n_words)
        if n_words & (n_words - 1):
            f = self._function("llvm.masked.load.v8i64.p0", _VECTOR, [_VECTOR.as_pointer(), _I32, _MASK, _VECTOR])
            return self.builder.call(f, [self._pointer(address, _VECTOR), _I32(1), _first(n_words), self.zero])
        row = self.builder.load(self._pointer(address, part), align=1)
        if n_words == LANES:
            return row
        indices = [min(i, n_words) for i in range(LANES)]
        zeros = ir.Constant(part, [0] * n_words)
        return self.builder.shuffle_vector(row, zeros, ir.Constant(ir.VectorType(_I32, LANES), indices))

    def store_row(self, address: Any, x: Any, n_words: int) -> None:
        """The first n_words lanes; writes nothing beyond them."""
        if n_words == LANES:
            self.store(address, 0, x)
            return
        part = ir.VectorType(I64, n_words)
        if n_words & (n_words - 1):
            f = self._function(
                "llvm.masked.store.v8i64.p0", ir.VoidType(), [_VECTOR, _VECTOR.as_pointer(), _I32, _MASK]
            )
            self.builder.call(f, [x, self._pointer(address, _VECTOR), _I32(8), _first(n_words)])
            return
        row = self.builder.shuffle_vector(x, x, ir.Constant(ir.VectorType(_I32, n_words), list(range(n_words))))
        self.builder.store(row, self._pointer(address, part), align=8)

    def store_bytes(self, address: Any, x: Any) -> None:
        """The low byte of each lane, eight bytes in all."""
        low = ir.VectorType(ir.IntType(8), LANES)
        self.builder.store(self.builder.trunc(x, low), self._pointer(address, low), align=1)

    def prefetch(self, address: Any, offset: int = 0) -> None:
        """Asks for the cache line at address + offset, to read it soon."""
        byte = ir.IntType(8).as_pointer()
        f = self._function("llvm.prefetch.p0", ir.VoidType(), [byte, _I32, _I32, _I32])
        self.builder.call(f, [self._pointer(address, ir.IntType(8), offset), _I32(0), _I32(3), _I32(1)])

    def offset(self, address: Any, n_bytes: int) -> Any:
        return self.builder.add(address, I64(n_bytes)) if n_bytes else address

    def claim(self, x: Any, low: int, high: int) -> Any:
        """x; its signed lanes lie in [low, high] for a reason that the writer names and intervals of single limbs do not see."""
        return x

    def _pointer(self, address: Any, type_: ir.Type, offset: int = 0) -> Any:
        return self.builder.inttoptr(self.offset(address, offset), type_.as_pointer())

    def _call(self, name: str, *args: Any) -> Any:
        return self.builder.call(self._function(name, _VECTOR, [_VECTOR] * len(args)), args)

    def _function(self, name: str, result: ir.Type, parameters: list[ir.Type]) -> Any:
        return cgutils.get_or_insert_function(self.builder.module, ir.FunctionType(result, parameters), name)


def _first(n: int) -> ir.Constant:
    return ir.Constant(_MASK, [int(i < n) for i in range(LANES)])


def in_turn(*writers: Writer) -> Writer:
    """A writer that runs others from one `yield` to the next, each in its turn; their results."""
    results: list[Any] = [None] * len(writers)
    running = dict(enumerate(writers))
    while running:
        for i in list(running):
            try:
                next(running[i])
            except StopIteration as end:
                results[i] = end.value
                del running[i]
        yield
    return results


def together(*writers: Writer) -> list[Limbs]:
    """The results of writers, run in turn."""
    turns = in_turn(*writers)
    while True:
        try:
            next(turns)
        except StopIteration as end:
            return end.value


def in_sequence(*writers: Writer) -> list[Limbs]:
    """As `together`, one after the other: fewer values at a time, and a processor that looks far ahead overlaps them by itself."""
    return [together(writer)[0] for writer in writers]


# Multiplication --------------------------------------------------------------------------------------------------------------


def product(m: Machine, x: Limbs, y: Limbs, t: Limbs | None = None) -> Writer:
    """The columns of x y, as many as both have limbs, or t plus them.  In: normalised, or `low`.  2 n^2 multiplier steps for n limbs each.

    Out: x y = sum t_k 2^(52 k), each t_k in [0, 2 n 2^52).
    """
    t = [m.zero] * (len(x) + len(y)) if t is None else list(t)
    for i in range(len(x)):
        for j in range(len(y)):
            t[i + j] = m.lo(t[i + j], x[i], y[j])
        for j in range(len(y)):
            t[i + j + 1] = m.hi(t[i + j + 1], x[i], y[j])
        yield
    return t


def product_columns(m: Machine, x: Limbs, y: Limbs, t: Limbs | None = None) -> Limbs:
    """`product` in one piece."""
    (columns,) = together(product(m, x, y, t))
    return columns


def square(m: Machine, x: Limbs) -> Writer:
    """The columns of x^2, as `product`.  n^2 + n steps."""
    n = len(x)
    t = [m.zero] * (2 * n)
    for i in range(n):
        for j in range(i + 1, n):
            t[i + j] = m.lo(t[i + j], x[i], x[j])
        for j in range(i + 1, n):
            t[i + j + 1] = m.hi(t[i + j + 1], x[i], x[j])
        # Columns 2i and 2i + 1 have all of their mixed products
        t[2 * i] = m.lo(m.add(t[2 * i], t[2 * i]), x[i], x[i])
        t[2 * i + 1] = m.hi(m.add(t[2 * i + 1], t[2 * i + 1]), x[i], x[i])
        yield
    return t


def reduce(m: Machine, f: LaneField, t: Limbs) -> Writer:
    """`reduced`, carried: limbs in [0, 2^52) but for the sign of the top one."""
    return carry(m, (yield from reduced(m, f, t)))


def reduced(m: Machine, f: LaneField, t: Limbs) -> Writer:
    """t / R modulo p.  In: 2n columns, |t_k| < 2^61, of value T in (-R p, R p).  Out: loose, of value in
    [T/R, T/R + p + c / 2^(52 (n - 1 - f.folds))), c = 2^-52 mod p.  2 n^2 steps.

    A column t_i leaves in one of two ways.  Folded: t_i 2^(52 i) is t_i c 2^(52 (i + 1)) modulo p; the next column waits for one
    step only, but more is left behind.  Cancelled: k p 2^(52 i) is added, k = -t_i/p mod 2^52; its low half is not multiplied
    out, for t_i plus it is t_i rounded up to a multiple of 2^52.  The first f.folds columns are folded, the others cancelled.
    Cancelling takes two steps less for each limb of p, from the third on, that is 0.
    """
    n, p, c = f.n, [m.const(x) for x in f.limbs(f.modulus)], [m.const(x) for x in f.limbs(f.limb_inverse)]
    minus_inverse, mask = m.const(f.minus_inverse), m.const(LIMB_MASK)
    not_zero = [0, 1, *(j for j in range(2, n) if f.limbs(f.modulus)[j])]  # of p's limbs
    t = list(t)
    for i in range(f.folds):
        k = m.low(t[i])
        t[i + 1] = m.lo(m.add(t[i + 1], m.sar(t[i], LIMB_BITS)), k, c[0])
        for j in range(1, n):
            t[i + j + 1] = m.lo(t[i + j + 1], k, c[j])
        for j in range(n):
            t[i + j + 2] = m.hi(t[i + j + 2], k, c[j])
        yield
    for i in range(f.folds, n):
        k = m.lo(m.zero, m.low(t[i]), minus_inverse)
        t[i + 1] = m.lo(m.add(t[i + 1], m.sar(m.add(t[i], mask), LIMB_BITS)), k, p[1])
        t[i + 1] = m.hi(t[i + 1], k, p[0])
        for j in not_zero[2:]:
            t[i + j] = m.lo(t[i + j], k, p[j])
        for j in not_zero[1:]:
            t[i + j + 1] = m.hi(t[i + j + 1], k, p[j])
        yield
    return t[n:]


def multiply(m: Machine, f: LaneField, x: Limbs, y: Limbs) -> Writer:
    """x y / R.  In: normalised, x y < R p.  Out: normalised, below x y / R + 1.25 p in Fp, x y / R + 1.001 p in Fr.  4 n^2 steps.

    So weak if x y <= 2^31 p^2 in Fp, x y <= 11 p^2 in Fr.
    """
    return (yield from reduce(m, f, (yield from product(m, x, y))))


def multiply_self(m: Machine, f: LaneField, x: Limbs) -> Writer:
    """x^2 / R, as `multiply`.  3 n^2 + n steps."""
    return (yield from reduce(m, f, (yield from square(m, x))))


def square_open(m: Machine, f: LaneField, x: Limbs) -> Writer:
    """x^2 / R as `multiply_self`, for multiplications alone (ripple)."""
    return ripple(m, (yield from reduced(m, f, (yield from square(m, x)))))


# Carries and reduction -------------------------------------------------------------------------------------------------------


def carry(m: Machine, x: Limbs) -> Limbs:
    """The same value.  In: loose.  Out: limbs in [0, 2^52) but for the top one, which takes what is left and the sign."""
    x, mask = list(x), m.const(LIMB_MASK)
    for i in range(len(x) - 1):
        x[i + 1] = m.add(x[i + 1], m.sar(x[i], LIMB_BITS))
        x[i] = m.and_(x[i], mask)
    return x


def ripple(m: Machine, x: Limbs) -> Limbs:
    """As `carry`, for multiplications alone: bits above 52, which they do not read, stay but for the top limb."""
    x = list(x)
    for i in range(len(x) - 1):
        x[i + 1] = m.add(x[i + 1], m.sar(x[i], LIMB_BITS))
    return [*map(m.low, x[:-1]), x[-1]]


def weaken(m: Machine, f: LaneField, x: Limbs) -> Limbs:
    """x modulo p.  In: loose, of value in [-3.9 p, 3.9 p].  Out: weak.

    The quotient by p, plus 4, is guessed from the top limb, never too large, and chooses a multiple of p to add.
    """
    n = f.n
    top = m.sar(m.add(x[n - 1], m.sar(x[n - 2], LIMB_BITS)), f.dropped)
    four = (4 * f.modulus >> (LIMB_BITS * (n - 1) + f.dropped)) - 2  # 2: what lower limbs may still carry
    guess = m.hi(m.zero, m.claim(m.add(top, m.const(four)), 0, LIMB_MASK), m.const(f.reciprocal))
    p = f.limbs(f.modulus)
    x = [m.add(x[i], m.lookup([(4 - k) * p[i] for k in range(8)], guess)) for i in range(n)]
    return _top_below(m, f, carry(m, x), 4 * f.modulus // 3 + 1)


def fold(m: Machine, f: LaneField, x: Limbs) -> Limbs:
    """x modulo p.  In: normalised.  Out: weak.  2 n steps.

    The quotient q is guessed from the top limb, never too large; q (R - p) is added and its multiple of R falls off.
    """
    q = m.hi(m.zero, m.shr(x[f.n - 1], f.dropped), m.const(f.reciprocal))
    c = [m.const(limb) for limb in f.limbs(f.radix - f.modulus)]
    x = [m.lo(x[i], q, c[i]) for i in range(f.n)]
    x = [x[0], *(m.hi(x[i], q, c[i - 1]) for i in range(1, f.n))]
    x = carry(m, x)
    return _top_below(m, f, [*x[:-1], m.and_(x[-1], m.const(LIMB_MASK))], 4 * f.modulus // 3 + 1)


def _top_below(m: Machine, f: LaneField, x: Limbs, bound: int) -> Limbs:
    """A carried x in [0, bound): so much for its top limb."""
    return [*x[:-1], m.claim(x[-1], 0, (bound - 1) >> (LIMB_BITS * (f.n - 1)))]


def exact(m: Machine, f: LaneField, x: Limbs) -> Limbs:
    """x modulo p.  In: normalised, x < 2 p.  Out: normalised, in [0, p)."""
    d = carry(m, [m.sub(a, m.const(b)) for a, b in zip(x, f.limbs(f.modulus))])
    below = m.is_negative(d[-1])
    return _top_below(m, f, [m.select(below, a, b) for a, b in zip(x, d)], f.modulus)


def is_zero(m: Machine, f: LaneField, x: Limbs) -> Any:
    """The mask of x = 0 modulo p.  In: normalised, x < 2 p."""
    p = [m.const(limb) for limb in f.limbs(f.modulus)]
    any_bit, any_other = x[0], m.xor(x[0], p[0])
    for a, b in zip(x[1:], p[1:]):
        any_bit, any_other = m.or_(any_bit, a), m.or_(any_other, m.xor(a, b))
    return m.either(m.is_zero(any_bit), m.is_zero(any_other))


# Sums ------------------------------------------------------------------------------------------------------------------------


def plus(m: Machine, x: Limbs, y: Limbs) -> Limbs:
    """x + y, limb by limb; loose."""
    return [m.add(a, b) for a, b in zip(x, y)]


def minus(m: Machine, x: Limbs, y: Limbs) -> Limbs:
    """x - y, limb by limb; loose."""
    return [m.sub(a, b) for a, b in zip(x, y)]


def scaled(m: Machine, a: Any, k: int) -> Any:
    """k a, lane by lane: a shift and a sum for every bit of k that is set."""
    parts = [m.shl(a, i) if i else a for i in range(k.bit_length()) if k >> i & 1]
    total = parts[0]
    for part in parts[1:]:
        total = m.add(total, part)
    return total


def difference(m: Machine, f: LaneField, x: Limbs, y: Limbs, k: int) -> Limbs:
    """x - y + k p, carried: an operand of a multiplication for a carry pass.  In: loose, of values with 0 <= x - y + k p < R.
    Out: normalised."""
    t = carry(m, [m.add(m.sub(a, b), m.const(k * c)) for a, b, c in zip(x, y, f.limbs(f.modulus))])
    return _top_below(m, f, t, f.radix)


def select(m: Machine, mask: Any, x: Limbs, y: Limbs) -> Limbs:
    """x where the mask is set, else y."""
    return [m.select(mask, a, b) for a, b in zip(x, y)]


def negate_where(m: Machine, mask: Any, x: Limbs) -> Limbs:
    """-x where the mask is set, limb by limb; loose."""
    return [m.select(mask, m.sub(m.zero, a), a) for a in x]


def constant(m: Machine, f: LaneField, x: int) -> Limbs:
    """The integer x modulo p in every lane, in Montgomery form."""
    return [m.const(limb) for limb in f.limbs(x * f.radix % f.modulus)]


# Rows and lanes --------------------------------------------------------------------------------------------------------------


def transpose(m: Machine, rows: Limbs) -> Limbs:
    """Eight vectors: lane j of result i is lane i of row j.  24 shuffles; those of results that nobody uses vanish."""
    for distance in (1, 2, 4):
        first = [i if not i & distance else i - distance + LANES for i in range(LANES)]
        second = [i + distance if not i & distance else i + LANES for i in range(LANES)]
        out = list(rows)
        for i in range(LANES):
            if not i & distance:
                out[i] = m.shuffle(rows[i], rows[i + distance], first)
                out[i + distance] = m.shuffle(rows[i], rows[i + distance], second)
        rows = out
    return rows


def limbs_from_words(m: Machine, f: LaneField, words: Limbs, shift: int = 0) -> Limbs:
    """Limbs of w 2^shift for w = sum words_i 2^(64 i).  In: n_words vectors, 0 <= shift < 52, w 2^shift < R.  Out: normalised."""
    mask, out = m.const(LIMB_MASK), []
    for i in range(f.n):
        low = LIMB_BITS * i - shift  # of the bits that limb i takes
        k, s = divmod(max(low, 0), _WORD_BITS)
        if k >= len(words):
            out.append(m.zero)
            continue
        if low < 0:
            limb = m.shl(words[k], -low)
        else:
            limb = m.shr(words[k], s) if s else words[k]
            if s > _WORD_BITS - LIMB_BITS and k + 1 < len(words):
                limb = m.or_(limb, m.shl(words[k + 1], _WORD_BITS - s))
        out.append(m.and_(limb, mask))
    return out


def words_from_limbs(m: Machine, f: LaneField, x: Limbs, shift: int = 0) -> Limbs:
    """The n_words words of floor(x / 2^shift).  In: normalised, 0 <= shift < 52, x < 2^(64 n_words + shift)."""
    out = []
    for i in range(f.n_words):
        k, s = divmod(_WORD_BITS * i + shift, LIMB_BITS)
        word = m.shr(x[k], s) if s else x[k]
        have = LIMB_BITS - s
        while have < _WORD_BITS and k + 1 < f.n:
            k += 1
            word = m.or_(word, m.shl(x[k], have))
            have += LIMB_BITS
        out.append(word)
    return out


def enter(m: Machine, f: LaneField, words: Limbs) -> Limbs:
    """The Montgomery form of lanes from that of words: w 2^lift.  In: w below 2^(64 n_words - 1) as rows of limbs.py.  Out: weak."""
    return fold(m, f, limbs_from_words(m, f, words, f.lift))


def leave(m: Machine, f: LaneField, x: Limbs) -> Limbs:
    """The Montgomery form of words, in [0, p), from that of lanes: x / 2^lift modulo p, one short row of `reduce`.  In: weak."""
    k = m.and_(m.lo(m.zero, x[0], m.const(f.minus_inverse)), m.const(2**f.lift - 1))
    p = [m.const(limb) for limb in f.limbs(f.modulus)]
    x = [m.lo(x[i], k, p[i]) for i in range(f.n)]
    x = carry(m, [x[0], *(m.hi(x[i], k, p[i - 1]) for i in range(1, f.n))])
    mask, up = m.const(LIMB_MASK), LIMB_BITS - f.lift
    low = [m.and_(m.or_(m.shr(a, f.lift), m.shl(b, up)), mask) for a, b in pairwise(x)]
    return words_from_limbs(m, f, exact(m, f, [*low, m.shr(x[-1], f.lift)]))


def load(m: Machine, f: LaneField, address: Any) -> Limbs:
    """The block at `address`."""
    return [m.load(address, i) for i in range(f.n)]


def store(m: Machine, f: LaneField, address: Any, x: Limbs) -> None:
    for i in range(f.n):
        m.store(address, i, x[i])


def load_blocks(m: Machine, f: LaneField, address: Any, n: int) -> list[Limbs]:
    """n blocks, one behind the other."""
    return [load(m, f, m.offset(address, f.block_bytes * i)) for i in range(n)]


def store_blocks(m: Machine, f: LaneField, address: Any, blocks: Iterable[Limbs]) -> None:
    """The inverse of load_blocks."""
    for i, x in enumerate(blocks):
        store(m, f, m.offset(address, f.block_bytes * i), x)


def load_rows(m: Machine, addresses: list[Any], n_words: int) -> Limbs:
    """n_words vectors, of which lane l holds the words at addresses_l."""
    return transpose(m, [m.load_row(a, n_words) for a in addresses])[:n_words]


def store_rows(m: Machine, addresses: list[Any], words: Limbs) -> None:
    """The inverse of load_rows."""
    rows = transpose(m, [*words, *[m.zero] * (LANES - len(words))])
    for address, row in zip(addresses, rows):
        m.store_row(address, row, len(words))


def strided(m: Machine, address: Any, stride: Any) -> list[Any]:
    """Addresses of eight rows, `stride` bytes (an int64) apart."""
    b, out = m.builder, [address]
    for _ in range(LANES - 1):
        out.append(b.add(out[-1], stride))
    return out


# Operations ------------------------------------------------------------------------------------------------------------------


class LaneOperations(NamedTuple):
    """The intrinsics of one field over addresses of blocks; a destination may be an operand.  Blocks are weak, before and after.

    mul(d, a, b)   sqr(d, a)   mul2(d, a, b, e, u, v): d = a b and e = u v interleaved   sqr2(d, a, e, u)
    sqr2_times(d, e, k): k >= 1 squarings in place   sub(d, a, b)   copy(d, a)   zero(d)   one(d)
    enter(d, a, stride): the block of eight rows of words from a on, stride bytes apart   leave(a, stride, d): back
    zeros(a)   equals(a, b)   int64, bit l for lane l   select(d, bits, a, b): lanes of a where the bit is set, else of b
    """

    field: LaneField
    mul: Any
    mul2: Any
    sqr: Any
    sqr2: Any
    sqr2_times: Any
    sub: Any
    copy: Any
    zero: Any
    one: Any
    enter: Any
    leave: Any
    zeros: Any
    equals: Any
    select: Any


def _square_times(b: ir.IRBuilder, f: LaneField, addresses: list[ir.Value], k: ir.Value) -> None:
    """k squarings of each block, two a turn."""
    for turns, writers in ((b.lshr(k, I64(1)), [square_open, multiply_self]), (b.and_(k, I64(1)), [multiply_self])):
        with cgutils.for_range(b, turns):
            m = Machine(b)
            xs = [load(m, f, a) for a in addresses]
            for writer in writers:
                xs = in_sequence(*(writer(m, f, x) for x in xs))
            for address, x in zip(addresses, xs):
                store(m, f, address, x)


def lane_operations(name: str, f: LaneField) -> LaneOperations:
    """The operations of a field; `name` makes the IR symbols unique."""

    def named(write: Callable[..., None]) -> Any:
        return operation(write, f"{name}_{write.__name__}")

    def read(b: ir.IRBuilder, *addresses: ir.Value) -> tuple[Any, ...]:
        m = Machine(b)
        return m, *(load(m, f, a) for a in addresses)

    @named
    def mul(b, d, a, c):
        m, x, y = read(b, a, c)
        store(m, f, d, *together(multiply(m, f, x, y)))

    @named
    def mul2(b, d, a, c, e, u, v):
        m, x, y, z, w = read(b, a, c, u, v)
        first, second = together(multiply(m, f, x, y), multiply(m, f, z, w))
        store(m, f, d, first)
        store(m, f, e, second)

    @named
    def sqr(b, d, a):
        m, x = read(b, a)
        store(m, f, d, *together(multiply_self(m, f, x)))

    @named
    def sqr2(b, d, a, e, u):
        m, x, y = read(b, a, u)
        first, second = in_sequence(multiply_self(m, f, x), multiply_self(m, f, y))
        store(m, f, d, first)
        store(m, f, e, second)

    @named
    def sqr2_times(b, d, e, k):
        _square_times(b, f, [d, e], k)

    @named
    def sub(b, d, a, c):
        m, x, y = read(b, a, c)
        store(m, f, d, weaken(m, f, minus(m, x, y)))

    @named
    def copy(b, d, a):
        m, x = read(b, a)
        store(m, f, d, x)

    @named
    def zero(b, d):
        m = Machine(b)
        store(m, f, d, [m.zero] * f.n)

    @named
    def one(b, d):
        m = Machine(b)
        store(m, f, d, constant(m, f, 1))

    @named
    def enter_rows(b, d, a, stride):
        m = Machine(b)
        store(m, f, d, enter(m, f, load_rows(m, strided(m, a, stride), f.n_words)))

    @named
    def leave_rows(b, a, stride, d):
        m, x = read(b, d)
        store_rows(m, strided(m, a, stride), leave(m, f, x))

    @named
    def select_lanes(b, d, bits, a, c):
        m, x, y = read(b, a, c)
        store(m, f, d, select(m, m.mask(bits), x, y))

    def zeros(b, a):
        m, x = read(b, a)
        return m.bits(is_zero(m, f, x))

    def equals(b, a, c):
        m, x, y = read(b, a, c)
        return m.bits(is_zero(m, f, weaken(m, f, minus(m, x, y))))

    return LaneOperations(
        field=f,
        mul=mul,
        mul2=mul2,
        sqr=sqr,
        sqr2=sqr2,
        sqr2_times=sqr2_times,
        sub=sub,
        copy=copy,
        zero=zero,
        one=one,
        enter=enter_rows,
        leave=leave_rows,
        zeros=value(zeros),
        equals=value(equals),
        select=select_lanes,
    )


class PairOperations(NamedTuple):
    """As LaneOperations, over pairs: two blocks one behind the other, sixteen elements, worked on at once.

    mul(d, a, b)   sqr(d, a)   sqr_times(d, k)   sub(d, a, b)   neg(d, a)   copy(d, a)   one(d)
    """

    n: int  # words of a pair
    mul: Any
    sqr: Any
    sqr_times: Any
    sub: Any
    neg: Any
    copy: Any
    one: Any


def pair_operations(name: str, f: LaneField) -> PairOperations:
    """The operations of a field on pairs; `name` makes the IR symbols unique."""

    def named(write: Callable[..., None]) -> Any:
        return operation(write, f"{name}_{write.__name__}")

    def apply(b: ir.IRBuilder, writer: Any, run: Any, d: ir.Value, *operands: ir.Value) -> None:
        m = Machine(b)
        inputs = [[load(m, f, m.offset(a, half)) for a in operands] for half in (0, f.block_bytes)]
        results = run(*(writer(m, f, *xs) for xs in inputs))
        for half, x in zip((0, f.block_bytes), results):
            store(m, f, m.offset(d, half), x)

    def at_once(*results: Limbs) -> list[Limbs]:
        return list(results)

    @named
    def mul(b, d, a, c):
        apply(b, multiply, together, d, a, c)

    @named
    def sqr(b, d, a):
        apply(b, multiply_self, in_sequence, d, a)

    @named
    def sqr_times(b, d, k):
        _square_times(b, f, [d, Machine(b).offset(d, f.block_bytes)], k)

    @named
    def sub(b, d, a, c):
        apply(b, lambda m, f, x, y: weaken(m, f, minus(m, x, y)), at_once, d, a, c)

    @named
    def neg(b, d, a):
        apply(b, lambda m, f, x: weaken(m, f, minus(m, [m.zero] * f.n, x)), at_once, d, a)

    @named
    def copy(b, d, a):
        apply(b, lambda m, f, x: x, at_once, d, a)

    @named
    def one(b, d):
        apply(b, lambda m, f: constant(m, f, 1), at_once, d)

    return PairOperations(2 * f.block_bytes // WORD_BYTES, mul, sqr, sqr_times, sub, neg, copy, one)


def lane_constant(name: str, f: LaneField, x: int) -> Any:
    """An intrinsic f(d) that writes the integer x modulo p in every lane, in Montgomery form."""

    def write(b: ir.IRBuilder, d: ir.Value) -> None:
        m = Machine(b)
        store(m, f, d, constant(m, f, x % f.modulus))

    return operation(write, name)


def lane_inverse(name: str, f: LaneField) -> Any:
    """An intrinsic f(d, a) on blocks, weak before and after: 1/a, lane by lane, and 0 for 0.  One scalar inversion, 6 multiplications.

    Variable time (inverse.py).
    """
    invert = inversion(f"{name}_total", f.modulus, f.n_words, f.radix**2)
    product_words, others_words = f.n_words, f.block_bytes // WORD_BYTES

    def gather(b: ir.IRBuilder, total: ir.Value, others: ir.Value, a: ir.Value) -> None:
        """The words of the product of all lanes, where 0 counts as 1, and in each lane the product of the others."""
        m = Machine(b)
        x = load(m, f, a)
        x = select(m, is_zero(m, f, x), constant(m, f, 1), x)

        def exchanged(x: Limbs, distance: int) -> Limbs:
            return [m.shuffle(limb, limb, [i ^ distance for i in range(LANES)]) for limb in x]

        near = exchanged(x, 1)
        (two,) = together(multiply(m, f, x, near))
        far = exchanged(two, 2)
        four, three = together(multiply(m, f, two, far), multiply(m, f, near, far))
        far = exchanged(four, 4)
        eight, seven = together(multiply(m, f, four, far), multiply(m, f, three, far))
        store(m, f, others, seven)
        for i, word in enumerate(words_from_limbs(m, f, exact(m, f, eight))):
            m.store_word(total, i, word)

    def scatter(b: ir.IRBuilder, d: ir.Value, total: ir.Value, others: ir.Value, a: ir.Value) -> None:
        """The inverse of the product times that of the others; 0 where a is 0."""
        m = Machine(b)
        zero = is_zero(m, f, load(m, f, a))
        inverse = limbs_from_words(m, f, [m.broadcast(total, i) for i in range(f.n_words)])
        (x,) = together(multiply(m, f, inverse, load(m, f, others)))
        store(m, f, d, select(m, zero, [m.zero] * f.n, x))

    gather_lanes = operation(gather, f"{name}_gather")
    scatter_lanes = operation(scatter, f"{name}_scatter")

    def write(d: Any, a: Any) -> None:
        total, others = stack(product_words), stack(others_words)
        gather_lanes(total, others, a)
        invert(total, total)
        scatter_lanes(d, total, others, a)

    return formula(write, name)


def aligned(n_words: int) -> np.ndarray:
    """Uninitialised memory of n words from a multiple of 64 bytes on."""
    memory = np.empty(n_words + LANES, np.uint64)
    start = -(memory.ctypes.data // WORD_BYTES) % LANES
    return memory[start : start + n_words]


def blocks(n: int, f: LaneField) -> np.ndarray:
    """Uninitialised memory of n blocks: (n, limbs, 8) uint64."""
    return aligned(n * f.n * LANES).reshape(n, f.n, LANES)

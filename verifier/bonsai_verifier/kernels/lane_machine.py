"""What the writers of lanes.py work with: fields as limbs, a machine of eight lanes that is LLVM IR, and turns taken on it."""

from collections.abc import Generator
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils

from .intrinsics import I64
from .limbs import WORD_BITS

LANES = 8
LIMB_BITS = 52
LIMB_MASK = 2**LIMB_BITS - 1
VECTOR_BYTES = 64
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
        return LIMB_BITS * self.n - WORD_BITS * self.n_words

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

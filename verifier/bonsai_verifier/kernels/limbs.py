"""Words in memory, and multi-limb arithmetic on them: 64-bit limbs, little-endian, 128-bit products, as portable LLVM IR.

Numba functions hand each other int64 addresses of naturally aligned words; vectors and tuples never cross a numba signature.  An operation
reads all of its operands before it writes, so the destination may be one of them.

Contract of every field operation (n limbs, modulus m < 2^(64n - 1)):
  In   operands fully reduced, in [0, m); the second one of mul may be any n-limb integer, for t < x + m <= 2 m after every step
  Out  fully reduced, in [0, m)
Source for the multiplication: operand scanning with interleaved Montgomery reduction (Koc, Acar, Kaliski 1996, "CIOS"), with
the two carries added without overflow because the top bit of m is free.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .intrinsics import I64, formula, operation, predicate

WORD_BITS = 64
WORD_BYTES = 8
_LINE_BYTES, _BLOCK_WORDS = 64, 40
_I128 = ir.IntType(128)
_WORD_PTR = I64.as_pointer()


# Arrays, and where they lie --------------------------------------------------------------------------------------------------


def words(x: int, n: int) -> np.ndarray:
    """An integer in [0, 2^(64n)) as n words."""
    return np.array([(x >> (WORD_BITS * i)) % 2**WORD_BITS for i in range(n)], np.uint64)


def rows(a: np.ndarray, width: int, dtype: Any = np.uint64) -> np.ndarray:
    """`a` as kernels read it, for they check nothing: (n, width), C-contiguous and aligned; a copy if need be.

    Read-only, so that kernels are compiled once for arrays that may be written and those that may not, such as mapped files.
    Raises TypeError: another type of elements.  ValueError: another shape.
    """
    if a.dtype != dtype:
        raise TypeError(f"expected an array of {np.dtype(dtype)}, got {a.dtype}")
    if a.ndim != 2 or a.shape[1] != width:
        raise ValueError(f"expected rows of {width}, got {a.shape}")
    if not (a.flags.c_contiguous and a.flags.aligned):
        a = np.require(a, requirements="CAE")
    view = a.view(np.ndarray)
    view.setflags(write=False)
    return view


def readable(a: np.ndarray, align: int = 1) -> np.ndarray:
    """`a` if each a[i] is contiguous and at a multiple of `align`, however far apart (a column of something wider); else a copy."""
    if a[:1].flags.c_contiguous and not (align > 1 and (place(a)[0] % align or a.strides[0] % align)):
        return a
    return np.array(a, order="C")  # at a multiple of 16


def place(a: np.ndarray) -> tuple[int, int, int]:
    """(address, stride, size) in bytes of the rows of a readable array, which the caller keeps alive."""
    return a.__array_interface__["data"][0], a.strides[0], math.prod(a.shape[1:]) * a.itemsize


@intrinsic
def row(typingctx: Any, array: Any, i: Any) -> Any:
    """Address of row i of an array whose rows are contiguous.

    It does not keep the array alive: numba frees an array made in a kernel after the last use of its name.
    """

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        a = context.make_array(signature.args[0])(context, builder, args[0])
        stride = builder.extract_value(a.strides, 0)
        return builder.add(builder.ptrtoint(a.data, I64), builder.mul(args[1], stride))

    return types.int64(array, types.int64), codegen


def room(builder: ir.IRBuilder, type_: ir.Type, align: int) -> ir.Value:
    """Memory in the frame of the function that is being written; uninitialised, where numba's alloca_once writes zeros."""
    with builder.goto_entry_block():
        slot = builder.alloca(type_)
    slot.align = align
    return slot


@intrinsic(prefer_literal=True)
def stack(typingctx: Any, n_words: Any) -> Any:
    """Address of n_words uninitialised uint64 words in the calling function's frame (n_words a literal).

    Blocks of lanes.py, which are 40 words or more, start on a cache line.
    """
    if not isinstance(n_words, types.IntegerLiteral):
        return None
    size = n_words.literal_value

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        align = _LINE_BYTES if size >= _BLOCK_WORDS else WORD_BYTES
        return builder.ptrtoint(room(builder, ir.ArrayType(I64, size), align), I64)

    return types.int64(n_words), codegen


@intrinsic
def load_word(typingctx: Any, address: Any) -> Any:
    """The uint64 at `address`."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.load(builder.inttoptr(args[0], _WORD_PTR), align=8)

    return types.uint64(types.int64), codegen


@intrinsic
def store_word(typingctx: Any, address: Any, word: Any) -> Any:
    """Writes the uint64 `word` at `address`."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        builder.store(args[1], builder.inttoptr(args[0], _WORD_PTR), align=8)
        return context.get_dummy_value()

    return types.void(types.int64, types.uint64), codegen


@intrinsic
def prefetch(typingctx: Any, address: Any) -> Any:
    """Asks for the cache line at `address`, to read it soon.  Any address will do."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        byte, i32 = ir.IntType(8).as_pointer(), ir.IntType(32)
        f_type = ir.FunctionType(ir.VoidType(), [byte, i32, i32, i32])
        f = cgutils.get_or_insert_function(builder.module, f_type, "llvm.prefetch.p0")
        builder.call(f, [builder.inttoptr(args[0], byte), i32(0), i32(3), i32(1)])  # to read, into every cache, data
        return context.get_dummy_value()

    return types.void(types.int64), codegen


# IR on limbs -----------------------------------------------------------------------------------------------------------------


def _const(x: int) -> ir.Constant:
    return ir.Constant(I64, x)


def _limbs(x: int, n: int) -> list[ir.Constant]:
    return [_const((x >> (WORD_BITS * i)) % 2**WORD_BITS) for i in range(n)]


def _load(b: ir.IRBuilder, address: ir.Value, n: int) -> list[ir.Value]:
    p = b.inttoptr(address, _WORD_PTR)
    return [b.load(b.gep(p, [_const(i)]), align=8) for i in range(n)]


def _store(b: ir.IRBuilder, address: ir.Value, limbs: list[ir.Value]) -> None:
    p = b.inttoptr(address, _WORD_PTR)
    for i, x in enumerate(limbs):
        b.store(x, b.gep(p, [_const(i)]), align=8)


def mul_add(b: ir.IRBuilder, x: ir.Value, y: ir.Value, *addends: ir.Value) -> tuple[ir.Value, ir.Value]:
    """x y + sum of at most two addends, as (low, high): at most (2^64 - 1)^2 + 2 (2^64 - 1) = 2^128 - 1."""
    t = b.mul(b.zext(x, _I128), b.zext(y, _I128))
    for a in addends:
        t = b.add(t, b.zext(a, _I128))
    return b.trunc(t, I64), b.trunc(b.lshr(t, ir.Constant(_I128, 64)), I64)


def join_words(b: ir.IRBuilder, limbs: list[ir.Value]) -> ir.Value:
    """Limbs -> one wide integer, so that LLVM sees a single carry chain."""
    wide = ir.IntType(WORD_BITS * len(limbs))
    acc = b.zext(limbs[0], wide)
    for i, x in enumerate(limbs[1:], start=1):
        acc = b.or_(acc, b.shl(b.zext(x, wide), ir.Constant(wide, WORD_BITS * i)))
    return acc


def split_words(b: ir.IRBuilder, x: ir.Value) -> list[ir.Value]:
    """The inverse of join_words."""
    n = x.type.width // WORD_BITS
    return [b.trunc(b.lshr(x, ir.Constant(x.type, WORD_BITS * i)), I64) for i in range(n)]


# Fields ----------------------------------------------------------------------------------------------------------------------


class FieldOperations(NamedTuple):
    """The intrinsics of one field; d, a, b are addresses of n-limb elements.

    mul(d, a, b)  add(d, a, b)  sub(d, a, b)  sqr(d, a)  neg(d, a)  copy(d, a)   in Montgomery form, as the module's contract says
    from_mont(d, a)   canonical a 2^(-64n) mod m        to_mont(d, a)   a 2^(64n) mod m; a is any n-limb integer below m
    zero(d)  one(d)   the constants 0 and 2^(64n) mod m
    add_product(t, a, b)   t += a b, of 2n + 1 words, reduced later: for up to 2^63 products
    reduce(d, t)      t 2^(-64n) mod m
    is_zero(a)  eq(a, b)   boolean    is_canonical(a)   a < m as plain integers
    """

    n: int
    mul: Any
    add: Any
    sub: Any
    sqr: Any
    neg: Any
    copy: Any
    from_mont: Any
    to_mont: Any
    add_product: Any
    reduce: Any
    zero: Any
    one: Any
    is_zero: Any
    eq: Any
    is_canonical: Any


def field_operations(name: str, modulus: int, n: int) -> FieldOperations:
    """The integers modulo `modulus` in n-limb Montgomery form; `name` makes the IR symbols unique."""
    if modulus >> (WORD_BITS * n - 1):
        raise ValueError("the top bit of the modulus must be free")
    radix = 1 << (WORD_BITS * n)
    whole = ir.IntType(WORD_BITS * n)
    m, m_whole, zero_whole = _limbs(modulus, n), ir.Constant(whole, modulus), ir.Constant(whole, 0)
    minus_m_inverse = _const(-pow(modulus, -1, 2**WORD_BITS) % 2**WORD_BITS)

    def load(b: ir.IRBuilder, p: ir.Value) -> ir.Value:
        return join_words(b, _load(b, p, n))

    def store(b: ir.IRBuilder, d: ir.Value, x: ir.Value) -> None:
        _store(b, d, split_words(b, x))

    def store_reduced(b: ir.IRBuilder, d: ir.Value, x: ir.Value) -> None:
        """x in [0, 2 m)."""
        store(b, d, b.select(b.icmp_unsigned(">=", x, m_whole), b.sub(x, m_whole), x))

    def store_product(b: ir.IRBuilder, d: ir.Value, x: list[ir.Value], y: list[ir.Value]) -> None:
        """x y 2^(-64n) mod m."""
        t: list[ir.Value] = [_const(0)] * n
        for y_i in y:
            t_0, carry_a = mul_add(b, x[0], y_i, t[0])
            k = b.mul(t_0, minus_m_inverse)
            _, carry_m = mul_add(b, k, m[0], t_0)
            for j in range(1, n):
                t_j, carry_a = mul_add(b, x[j], y_i, t[j], carry_a)
                t[j - 1], carry_m = mul_add(b, k, m[j], t_j, carry_m)
            t[n - 1] = b.add(carry_a, carry_m)
        store_reduced(b, d, join_words(b, t))

    def named(write: Callable[..., None]) -> Any:
        return operation(write, f"{name}_{write.__name__}")

    @named
    def mul(b: ir.IRBuilder, d: ir.Value, p: ir.Value, q: ir.Value) -> None:
        store_product(b, d, _load(b, p, n), _load(b, q, n))

    @named
    def sqr(b: ir.IRBuilder, d: ir.Value, p: ir.Value) -> None:
        x = _load(b, p, n)
        store_product(b, d, x, x)

    @named
    def to_mont(b: ir.IRBuilder, d: ir.Value, p: ir.Value) -> None:
        store_product(b, d, _load(b, p, n), _limbs(radix**2 % modulus, n))

    @named
    def from_mont(b: ir.IRBuilder, d: ir.Value, p: ir.Value) -> None:
        store_product(b, d, _load(b, p, n), _limbs(1, n))

    @named
    def add_product(b: ir.IRBuilder, t: ir.Value, p: ir.Value, q: ir.Value) -> None:
        x = _load(b, p, n)
        product = [_const(0)] * (2 * n + 1)
        for i, y_i in enumerate(_load(b, q, n)):
            carry = _const(0)
            for j, x_j in enumerate(x):
                product[i + j], carry = mul_add(b, x_j, y_i, product[i + j], carry)
            product[i + n] = carry
        _store(b, t, split_words(b, b.add(join_words(b, _load(b, t, 2 * n + 1)), join_words(b, product))))

    @named
    def reduce(b: ir.IRBuilder, d: ir.Value, t: ir.Value) -> None:
        # Word 2n comes back times 2^(128n) mod m: below 2^(128n) + 2^64 m.  After n steps below 2^(64n) + m and a bit, so some m are left
        *low, top = _load(b, t, 2 * n + 1)
        folded, carry = [], _const(0)
        for f_j in _limbs(radix**2 % modulus, n):
            word, carry = mul_add(b, top, f_j, carry)
            folded.append(word)
        words_left = split_words(
            b, b.add(join_words(b, [*low, _const(0)]), join_words(b, [*folded, carry, *[_const(0)] * n]))
        )
        above = _const(0)
        for i in range(n):
            k, carry = b.mul(words_left[i], minus_m_inverse), _const(0)
            for j in range(n):
                words_left[i + j], carry = mul_add(b, k, m[j], words_left[i + j], carry)
            words_left[i + n], above = mul_add(b, _const(1), words_left[i + n], carry, above)
        words_left[2 * n] = b.add(words_left[2 * n], above)
        x = join_words(b, words_left[n:])
        for i in reversed(range((radix // modulus + 2).bit_length())):
            multiple = ir.Constant(x.type, modulus << i)
            x = b.select(b.icmp_unsigned(">=", x, multiple), b.sub(x, multiple), x)
        _store(b, d, split_words(b, x)[:n])

    @named
    def add(b: ir.IRBuilder, d: ir.Value, p: ir.Value, q: ir.Value) -> None:
        store_reduced(b, d, b.add(load(b, p), load(b, q)))

    @named
    def sub(b: ir.IRBuilder, d: ir.Value, p: ir.Value, q: ir.Value) -> None:
        x, y = load(b, p), load(b, q)
        s = b.sub(x, y)
        store(b, d, b.select(b.icmp_unsigned("<", x, y), b.add(s, m_whole), s))

    @named
    def neg(b: ir.IRBuilder, d: ir.Value, p: ir.Value) -> None:
        x = load(b, p)
        store(b, d, b.select(b.icmp_unsigned("==", x, zero_whole), zero_whole, b.sub(m_whole, x)))

    @named
    def copy(b: ir.IRBuilder, d: ir.Value, p: ir.Value) -> None:
        _store(b, d, _load(b, p, n))

    return FieldOperations(
        n=n,
        mul=mul,
        add=add,
        sub=sub,
        sqr=sqr,
        neg=neg,
        copy=copy,
        from_mont=from_mont,
        to_mont=to_mont,
        add_product=add_product,
        reduce=reduce,
        zero=constant(f"{name}_zero", 0, n),
        one=constant(f"{name}_one", radix % modulus, n),
        is_zero=predicate(lambda b, p: b.icmp_unsigned("==", load(b, p), zero_whole)),
        eq=predicate(lambda b, p, q: b.icmp_unsigned("==", load(b, p), load(b, q))),
        is_canonical=predicate(lambda b, p: b.icmp_unsigned("<", load(b, p), m_whole)),
    )


def power(name: str, field: Any, exponent: int, runs: tuple[int, ...] = ()) -> Any:
    """An intrinsic f(d, a) = a^exponent, exponent >= 1: a squaring a bit, a multiplication a run of ones.

    A run is one bit long, or of a length of `runs`, each twice the one before, which costs a multiplication to prepare.
    In: the intrinsics mul, sqr and copy of `field`, whose elements have n words, and sqr_times(d, k) if there is one.
    """
    n, mul, sqr, copy = field.n, field.mul, field.sqr, field.copy
    sqr_times = getattr(field, "sqr_times", None)
    steps = _steps(f"{exponent:b}", runs)

    def write(d: Any, a: Any) -> None:
        kept = {1: stack(n)}
        copy(kept[1], a)
        for what, k in steps:
            if what == "start":
                copy(d, kept[k])
            elif what == "square" and sqr_times is not None:
                sqr_times(d, k)
            elif what == "square":
                for _ in range(k):
                    sqr(d, d)
            elif what == "times":
                mul(d, d, kept[k])
            else:
                kept[k] = stack(n)
                copy(kept[k], d)

    return formula(write, name)


def _steps(bits: str, runs: tuple[int, ...]) -> list[tuple[str, int]]:
    """What `power` does on its destination: start from a run, square k times, multiply by a run, keep it as one."""
    steps, lengths = [], [1]
    for length in runs:
        steps += [("start", length // 2), ("square", length // 2), ("times", length // 2), ("keep", length)]
        lengths.append(length)
    squarings, started = 0, False
    while bits:
        length = max((k for k in lengths if bits.startswith("1" * k)), default=0)
        bits, squarings = bits[length or 1 :], squarings + (length or 1)
        if length:
            steps += [("square", squarings), ("times", length)] if started else [("start", length)]
            squarings, started = 0, True
    return [*steps, ("square", squarings)] if squarings else steps


def constant(name: str, value: int, n: int) -> Any:
    """An intrinsic f(d) that writes the n limbs of `value` at d."""
    return operation(lambda b, d: _store(b, d, _limbs(value, n)), name)

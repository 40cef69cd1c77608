"""Portable multi-limb arithmetic as LLVM IR: 64-bit limbs, little-endian, 128-bit products.

Each operation of a field is one IR function (`linkonce_odr noinline`, so a library holds one copy however many kernels call it)
reached through a numba intrinsic.  All arguments are int64 addresses of naturally aligned words; vectors and tuples never cross a numba
signature.  An operation reads all of its operands before it writes, so the destination may be one of them.

Contract of every operation (n limbs, modulus m < 2^(64n - 1)):
  In   operands fully reduced, in [0, m)
  Out  fully reduced, in [0, m)
Source for the multiplication: operand scanning with interleaved Montgomery reduction (Koc, Acar, Kaliski 1996, "CIOS"), with
the two carries added without overflow because the top bit of m is free.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

WORD_BITS = 64
WORD_BYTES = 8
_I64 = ir.IntType(64)
_I128 = ir.IntType(128)
_WORD_PTR = _I64.as_pointer()


def _const(x: int) -> ir.Constant:
    return ir.Constant(_I64, x)


def _limbs(x: int, n: int) -> list[int]:
    return [(x >> (WORD_BITS * i)) & (2**WORD_BITS - 1) for i in range(n)]


def _load(b: ir.IRBuilder, p: ir.Value, n: int) -> list[ir.Value]:
    return [b.load(b.gep(p, [_const(i)]), align=8) for i in range(n)]


def _store(b: ir.IRBuilder, p: ir.Value, words: list[ir.Value]) -> None:
    for i, w in enumerate(words):
        b.store(w, b.gep(p, [_const(i)]), align=8)


def _wide(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    return b.zext(x, _I128)


def _split(b: ir.IRBuilder, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    return b.trunc(x, _I64), b.trunc(b.lshr(x, ir.Constant(_I128, 64)), _I64)


def _mul_add(b: ir.IRBuilder, x: ir.Value, y: ir.Value, *addends: ir.Value) -> tuple[ir.Value, ir.Value]:
    """x y + sum of at most two addends, as (low, high): at most (2^64 - 1)^2 + 2 (2^64 - 1) = 2^128 - 1."""
    t = b.mul(_wide(b, x), _wide(b, y))
    for a in addends:
        t = b.add(t, _wide(b, a))
    return _split(b, t)


def _join(b: ir.IRBuilder, words: list[ir.Value]) -> ir.Value:
    """Words -> one wide integer, so that LLVM sees a single carry chain."""
    wide = ir.IntType(WORD_BITS * len(words))
    acc = b.zext(words[0], wide)
    for i, w in enumerate(words[1:], start=1):
        acc = b.or_(acc, b.shl(b.zext(w, wide), ir.Constant(wide, WORD_BITS * i)))
    return acc


def _unjoin(b: ir.IRBuilder, x: ir.Value, n: int) -> list[ir.Value]:
    return [b.trunc(b.lshr(x, ir.Constant(x.type, WORD_BITS * i)), _I64) for i in range(n)]


def _reduce_once(b: ir.IRBuilder, x: ir.Value, modulus: int) -> ir.Value:
    """x in [0, 2 m) -> x mod m, without a branch."""
    m = ir.Constant(x.type, modulus)
    return b.select(b.icmp_unsigned(">=", x, m), b.sub(x, m), x)


def _emit_mul(b: ir.IRBuilder, d: ir.Value, p: ir.Value, q: ir.Value, modulus: int, n: int) -> None:
    _emit_mul_words(b, d, _load(b, p, n), _load(b, q, n), modulus, n)


def _emit_mul_words(b: ir.IRBuilder, d: ir.Value, x: list[ir.Value], y: list[ir.Value], modulus: int, n: int) -> None:
    m = [_const(w) for w in _limbs(modulus, n)]
    n_inv = _const(-pow(modulus, -1, 2**WORD_BITS) % 2**WORD_BITS)
    t: list[ir.Value] = [_const(0)] * n
    for yi in y:
        t0, carry_a = _mul_add(b, x[0], yi, t[0])
        k = b.mul(t0, n_inv)
        _, carry_m = _mul_add(b, k, m[0], t0)
        for j in range(1, n):
            tj, carry_a = _mul_add(b, x[j], yi, t[j], carry_a)
            t[j - 1], carry_m = _mul_add(b, k, m[j], tj, carry_m)
        t[n - 1] = b.add(carry_a, carry_m)
    _store(b, d, _unjoin(b, _reduce_once(b, _join(b, t), modulus), n))


def _emit_redc(b: ir.IRBuilder, d: ir.Value, p: ir.Value, modulus: int, n: int) -> None:
    """Montgomery form -> canonical: n steps of x <- (x + k m) / 2^64."""
    t = _load(b, p, n)
    m = [_const(w) for w in _limbs(modulus, n)]
    n_inv = _const(-pow(modulus, -1, 2**WORD_BITS) % 2**WORD_BITS)
    for _ in range(n):
        k = b.mul(t[0], n_inv)
        _, carry = _mul_add(b, k, m[0], t[0])
        for j in range(1, n):
            t[j - 1], carry = _mul_add(b, k, m[j], t[j], carry)
        t[n - 1] = carry
    _store(b, d, _unjoin(b, _reduce_once(b, _join(b, t), modulus), n))


def _emit_add(b: ir.IRBuilder, d: ir.Value, p: ir.Value, q: ir.Value, modulus: int, n: int) -> None:
    s = b.add(_join(b, _load(b, p, n)), _join(b, _load(b, q, n)))
    _store(b, d, _unjoin(b, _reduce_once(b, s, modulus), n))


def _emit_sub(b: ir.IRBuilder, d: ir.Value, p: ir.Value, q: ir.Value, modulus: int, n: int) -> None:
    x, y = _join(b, _load(b, p, n)), _join(b, _load(b, q, n))
    s = b.sub(x, y)
    s = b.select(b.icmp_unsigned("<", x, y), b.add(s, ir.Constant(s.type, modulus)), s)
    _store(b, d, _unjoin(b, s, n))


def _emit_neg(b: ir.IRBuilder, d: ir.Value, p: ir.Value, modulus: int, n: int) -> None:
    x = _join(b, _load(b, p, n))
    zero = ir.Constant(x.type, 0)
    s = b.select(b.icmp_unsigned("==", x, zero), zero, b.sub(ir.Constant(x.type, modulus), x))
    _store(b, d, _unjoin(b, s, n))


def _function(context: Any, builder: ir.IRBuilder, name: str, n_args: int, emit: Callable[..., None]) -> ir.Function:
    """The IR function `name(word*, ...)` in the module being built, written on first use."""
    module = builder.module
    if name in module.globals:
        return module.globals[name]
    fn = ir.Function(module, ir.FunctionType(ir.VoidType(), [_WORD_PTR] * n_args), name)
    fn.linkage = "linkonce_odr"
    fn.attributes.add("noinline")
    fn.attributes.add("nounwind")
    b = ir.IRBuilder(fn.append_basic_block("entry"))
    emit(b, *fn.args)
    b.ret_void()
    return fn


def _operation(name: str, n_args: int, emit: Callable[..., None]) -> Any:
    """A numba intrinsic over `n_args` addresses that calls the IR function `name`."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        fn = _function(context, builder, name, n_args, emit)
        builder.call(fn, [builder.inttoptr(a, _WORD_PTR) for a in args])
        return context.get_dummy_value()

    return _intrinsic(n_args, types.void, codegen)


def _predicate(n_args: int, emit: Callable[..., ir.Value]) -> Any:
    """A numba intrinsic over `n_args` addresses, emitted in place, that gives a boolean."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return emit(builder, *[builder.inttoptr(a, _WORD_PTR) for a in args])

    return _intrinsic(n_args, types.boolean, codegen)


def _intrinsic(n_args: int, result: Any, codegen: Callable[..., ir.Value]) -> Any:
    def typing() -> Any:
        return result(*[types.int64] * n_args), codegen

    # numba reads the parameter names, so one function per arity
    if n_args == 1:
        return intrinsic(lambda typingctx, d: typing())
    if n_args == 2:
        return intrinsic(lambda typingctx, d, a: typing())
    return intrinsic(lambda typingctx, d, a, b: typing())


@dataclass(frozen=True, slots=True)
class FieldOperations:
    """The intrinsics of one field; d, a, b are addresses of n-limb elements.

    mul(d, a, b)  add(d, a, b)  sub(d, a, b)  neg(d, a)  copy(d, a)   in Montgomery form, as the module's contract says
    from_mont(d, a)   canonical a 2^(-64n) mod m        to_mont(d, a)   a 2^(64n) mod m; a is any n-limb integer below m
    zero(d)  one(d)   the constants 0 and 2^(64n) mod m
    is_zero(a)  eq(a, b)   boolean    is_canonical(a)   a < m as plain integers
    """

    mul: Any
    add: Any
    sub: Any
    neg: Any
    copy: Any
    from_mont: Any
    to_mont: Any
    zero: Any
    one: Any
    is_zero: Any
    eq: Any
    is_canonical: Any


def field_operations(name: str, modulus: int, n: int) -> FieldOperations:
    """The integers modulo `modulus` in n-limb Montgomery form; `name` makes the IR symbols unique."""
    if modulus >> (WORD_BITS * n - 1):
        raise ValueError("the top bit of the modulus must be free")
    prefix = f"bonsai_{name}"
    radix = 1 << (WORD_BITS * n)
    wide = ir.IntType(WORD_BITS * n)

    def emit_to_mont(b: ir.IRBuilder, d: ir.Value, p: ir.Value) -> None:
        _emit_mul_words(b, d, _load(b, p, n), [_const(w) for w in _limbs(radix * radix % modulus, n)], modulus, n)

    return FieldOperations(
        mul=_operation(f"{prefix}_mul", 3, lambda b, d, p, q: _emit_mul(b, d, p, q, modulus, n)),
        add=_operation(f"{prefix}_add", 3, lambda b, d, p, q: _emit_add(b, d, p, q, modulus, n)),
        sub=_operation(f"{prefix}_sub", 3, lambda b, d, p, q: _emit_sub(b, d, p, q, modulus, n)),
        neg=_operation(f"{prefix}_neg", 2, lambda b, d, p: _emit_neg(b, d, p, modulus, n)),
        copy=_operation(f"{prefix}_copy", 2, lambda b, d, p: _store(b, d, _load(b, p, n))),
        from_mont=_operation(f"{prefix}_from_mont", 2, lambda b, d, p: _emit_redc(b, d, p, modulus, n)),
        to_mont=_operation(f"{prefix}_to_mont", 2, emit_to_mont),
        zero=constant(f"{prefix}_zero", 0, n),
        one=constant(f"{prefix}_one", radix % modulus, n),
        is_zero=_predicate(1, lambda b, p: b.icmp_unsigned("==", _join(b, _load(b, p, n)), ir.Constant(wide, 0))),
        eq=_predicate(2, lambda b, p, q: b.icmp_unsigned("==", _join(b, _load(b, p, n)), _join(b, _load(b, q, n)))),
        is_canonical=_predicate(
            1, lambda b, p: b.icmp_unsigned("<", _join(b, _load(b, p, n)), ir.Constant(wide, modulus))
        ),
    )


def constant(name: str, value: int, n: int) -> Any:
    """An intrinsic f(d) that writes the n limbs of `value` at d."""
    return _operation(name, 1, lambda b, d: _store(b, d, [_const(w) for w in _limbs(value, n)]))


@intrinsic(prefer_literal=True)
def stack(typingctx: Any, n_words: Any) -> Any:
    """Address of n_words uninitialised uint64 words in the calling function's frame (n_words a literal)."""
    if not isinstance(n_words, types.IntegerLiteral):
        return None
    size = n_words.literal_value

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        slot = cgutils.alloca_once(builder, ir.ArrayType(_I64, size))
        return builder.ptrtoint(slot, _I64)

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

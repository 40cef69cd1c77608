"""`operation`, `predicate`, `value`, `formula`: ways to write a numba intrinsic over int64 arguments, nearly always addresses.

An operation is one IR function, written by Python code over an IRBuilder.  It is `linkonce_odr noinline`: a library holds one copy however
many kernels call it, for inlining everything overflows the instruction cache and the compile time.  A predicate or value is written in
place.

A formula is an operation that is written as a straight-line program of others, and reads like the numba function that it replaces.  numba
compiles a function together with all that it calls, and again inside each of its callers: a function of ten calls costs a tenth of a
second, and a tower of field extensions has sixty of them, six deep.  A formula costs milliseconds: numba never sees its body, which
*runs* while a kernel is compiled, on symbolic addresses, and every call in it adds one call to the formula's IR function.  In a formula
  - arguments are addresses; address + bytes is an address; stack(n) is the address of room of its own
  - every function is an intrinsic: an operation, a formula, or `stack`; never a numba function
  - a Python loop is unrolled; there is no branch on a value, and no result
"""

import inspect
from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import _Intrinsic, intrinsic

I64 = ir.IntType(64)
_names: set[str] = set()


def operation(write: Callable[..., None], name: str | None = None) -> Any:
    """The intrinsic f(x, ...) that calls the IR function which write(builder, x, ...) fills."""
    return _function_call(write, _parameters(write)[1:], name, lambda context, builder, *args: write(builder, *args))


def predicate(write: Callable[..., ir.Value]) -> Any:
    """The intrinsic f(x, ...) -> boolean whose value write(builder, x, ...) computes where it is called."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return write(builder, *args)

    return _intrinsic(write, _parameters(write)[1:], types.boolean, codegen)


def value(write: Callable[..., ir.Value]) -> Any:
    """The intrinsic f(x, ...) -> int64, otherwise as a predicate."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return write(builder, *args)

    return _intrinsic(write, _parameters(write)[1:], types.int64, codegen)


def formula(f: Callable[..., None], name: str | None = None) -> Any:
    """The intrinsic f(x, ...) that calls the IR function which f, run on symbolic addresses, writes."""

    def write(context: Any, builder: ir.IRBuilder, *args: ir.Value) -> None:
        def bound(value: Any) -> Any:
            return _writer(context, builder, value) if isinstance(value, _Intrinsic) else value

        names = {key: bound(value) for key, value in f.__globals__.items()}
        cells = tuple(CellType(bound(cell.cell_contents)) for cell in f.__closure__ or ())
        FunctionType(f.__code__, names, closure=cells)(*[_Address(builder, a) for a in args])

    return _function_call(f, _parameters(f), name, write)


class _Address:
    """An int64 of the IR function that is being written."""

    __slots__ = ("_builder", "value")

    def __init__(self, builder: ir.IRBuilder, value: ir.Value) -> None:
        self._builder = builder
        self.value = value

    def __add__(self, offset: int) -> "_Address":
        return _Address(self._builder, self._builder.add(self.value, ir.Constant(I64, offset)))


def _writer(context: Any, builder: ir.IRBuilder, called: Any) -> Callable[..., _Address | None]:
    """What a formula calls in place of an intrinsic: the same code, written at the end of the formula."""

    def write(*args: Any) -> _Address | None:
        typed = [types.int64 if isinstance(a, _Address) else types.literal(a) for a in args]
        signature, codegen = called._defn(None, *typed)
        values = [a.value if isinstance(a, _Address) else ir.Constant(I64, a) for a in args]
        value = codegen(context, builder, signature, values)
        return _Address(builder, value) if signature.return_type == types.int64 else None

    return write


def _parameters(f: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(f).parameters.values())


def _function_call(f: Any, parameters: list[inspect.Parameter], name: str | None, write: Callable[..., None]) -> Any:
    """The intrinsic that calls an IR function, which write(context, builder, *args) fills the first time that a module calls it.

    The linker takes two functions of one name for copies, so a name belongs to one body.
    """
    if name is None and f.__closure__:
        raise TypeError(
            f"{f.__qualname__}: captures values, so it needs a name that tells it from the others made here"
        )
    symbol = f"{f.__module__}.{name or f.__qualname__}"
    if symbol in _names:
        raise ValueError(f"{symbol}: there is a function of this name")
    _names.add(symbol)

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        function = builder.module.globals.get(symbol)
        if function is None:
            function = ir.Function(builder.module, ir.FunctionType(ir.VoidType(), [I64] * len(args)), symbol)
            function.linkage = "linkonce_odr"
            function.attributes.add("noinline")
            function.attributes.add("nounwind")
            inside = ir.IRBuilder(function.append_basic_block("entry"))
            write(context, inside, *function.args)
            inside.ret_void()
        builder.call(function, args)
        return context.get_dummy_value()

    return _intrinsic(f, parameters, types.void, codegen)


def _intrinsic(f: Any, parameters: list[inspect.Parameter], result: Any, codegen: Callable[..., Any]) -> Any:
    """A numba intrinsic over int64 parameters, named and documented as f is."""

    def typing(typingctx: Any, *args: Any) -> Any:
        return result(*[types.int64] * len(parameters)), codegen

    first = inspect.Parameter("typingctx", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    typing.__signature__ = inspect.Signature([first, *parameters])  # numba reads the parameters here
    for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(typing, attribute, getattr(f, attribute))
    return intrinsic(typing)

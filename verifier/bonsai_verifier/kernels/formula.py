"""`formula`: a straight-line program over field elements, cheap to compile however many functions call it.

numba compiles a function together with all that it calls, and again inside each of its callers: an `inner` function of ten calls costs a
tenth of a second, and a tower of field extensions has sixty of them, six deep.  A formula costs milliseconds.  numba never
sees its body: it is a Python function that *runs* while a kernel is compiled, on symbolic addresses, and everything it calls adds one
call to the formula's own IR function, `linkonce_odr noinline` as in limbs.py.

A formula reads like an `inner` function and is called like one, by `inner` functions, kernels and other formulas.  In its body
  - arguments are addresses; address + bytes is an address; stack(n) is the address of room of its own
  - it calls intrinsics (those of limbs.py and of the fields) and formulas, but no `inner` function
  - a Python loop is unrolled; there is no branch on a value, and no result
"""

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import _Intrinsic, intrinsic

_I64 = ir.IntType(64)


class _Address:
    """An int64 of the IR function that is being written."""

    __slots__ = ("_builder", "value")

    def __init__(self, builder: ir.IRBuilder, value: ir.Value) -> None:
        self._builder = builder
        self.value = value

    def __add__(self, offset: int) -> "_Address":
        return _Address(self._builder, self._builder.add(self.value, ir.Constant(_I64, offset)))


def formula(f: Callable[..., None]) -> Any:
    """A numba intrinsic over the addresses that `f` takes, which calls the IR function that `f` writes."""
    if f.__closure__:
        raise TypeError(f"{f.__qualname__}: a formula sees globals only")
    parameters = list(inspect.signature(f).parameters.values())
    name = f"{f.__module__}.{f.__qualname__}"
    result = types.void(*[types.int64] * len(parameters))

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        builder.call(_function(context, builder.module, name, f, len(parameters)), args)
        return context.get_dummy_value()

    def typing(typingctx: Any, *args: Any) -> Any:
        return result, codegen

    # numba takes the parameters from the signature
    first = inspect.Parameter("typingctx", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    typing.__signature__ = inspect.Signature([first, *parameters])
    typing.__name__, typing.__qualname__, typing.__doc__ = f.__name__, f.__qualname__, f.__doc__
    typing.__module__ = f.__module__
    return intrinsic(typing)


def _function(context: Any, module: ir.Module, name: str, f: Any, n_args: int) -> ir.Function:
    """The IR function `name(i64, ...)` in the module being built, written on first use by running `f`."""
    if name in module.globals:
        return module.globals[name]
    fn = ir.Function(module, ir.FunctionType(ir.VoidType(), [_I64] * n_args), name)
    fn.linkage = "linkonce_odr"
    fn.attributes.add("noinline")
    fn.attributes.add("nounwind")
    builder = ir.IRBuilder(fn.append_basic_block("entry"))
    body = {k: _writer(context, builder, v) if isinstance(v, _Intrinsic) else v for k, v in f.__globals__.items()}
    FunctionType(f.__code__, body)(*[_Address(builder, a) for a in fn.args])
    builder.ret_void()
    return fn


def _writer(context: Any, builder: ir.IRBuilder, operation: Any) -> Callable[..., _Address | None]:
    """What a formula calls in place of an intrinsic: the same code, written at the end of the formula."""

    def write(*args: Any) -> _Address | None:
        typed = [types.int64 if isinstance(a, _Address) else types.literal(a) for a in args]
        signature, codegen = operation._defn(None, *typed)
        values = [a.value if isinstance(a, _Address) else ir.Constant(_I64, a) for a in args]
        value = codegen(context, builder, signature, values)
        return _Address(builder, value) if signature.return_type == types.int64 else None

    return write

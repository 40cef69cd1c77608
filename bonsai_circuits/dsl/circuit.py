"""A circuit: a function that describes a relation to a Builder, with the names of its public inputs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import CircuitError
from .builder import Builder
from .trace import Trace
from .wires import Num


class Public:
    """The public inputs of a circuit as attributes: p.fee.  An unknown name is a CircuitError."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder

    def __getattr__(self, name: str) -> Num:
        return self._builder.public(_plain(name))


class Secret:
    """The private inputs of a circuit as attributes: w.balance.  A name becomes an input where it is first read."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder

    def __getattr__(self, name: str) -> Num:
        return self._builder.secret(_plain(name))


def _plain(name: str) -> str:
    """Notebooks and debuggers ask objects for names with a leading underscore: those are no inputs."""
    if name.startswith("_"):
        raise AttributeError(name)
    return name


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between public inputs and secret ones: describe(builder, *parameters, p, w) states it; meanings says what inputs are."""

    name: str
    public: tuple[str, ...]
    describe: Callable[..., None]
    meanings: Mapping[str, str] = field(default_factory=dict)

    def trace(self, name: str, *parameters: Any) -> Trace:
        """Describes the relation once, for the circuit called `name`; parameters (a hash suite, a shape) come before p and w."""
        builder = Builder(name, self.public)
        self.describe(builder, *parameters, Public(builder), Secret(builder))
        return replace(builder.finish(), meanings=self.meanings)


def relation(
    public: tuple[str, ...], meanings: Mapping[str, str] | None = None
) -> Callable[[Callable[..., None]], Relation]:
    """Decorator: the function below states a relation over these public inputs, in this order.

    meanings: a line for each input that `bonsai inputs` is to explain, by its name without indices.  Raises CircuitError: no names given.
    """
    if callable(public):
        raise CircuitError("relation", 'takes the names of the public inputs: @relation(public=("x", "y"))')

    def wrap(describe: Callable[..., None]) -> Relation:
        return Relation(describe.__name__, public, describe, meanings or {})

    return wrap

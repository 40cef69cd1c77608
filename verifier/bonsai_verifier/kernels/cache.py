"""`kernel` and `inner`: numba functions kept on disk, in a folder named after every source they are built from.

Numba's own cache looks only at the file that holds a function, so an edit of another file (an intrinsic, a constant)
leaves stale machine code behind.  Here the folder of a function carries a digest over its module and all modules of its
package, and of this one, that the module imports, directly or not; over the versions of numba and llvmlite; and over
$BONSAI_CPU, the switch that kernels may read while they are imported.  A change of any of them is another folder.

Folder: $BONSAI_CACHE_DIR, else $XDG_CACHE_HOME/bonsai, else ~/.cache/bonsai.  What lies there is machine code that will run: a folder
that belongs to somebody else, or that everybody may write, is ignored.  A folder that cannot be read or written, and a
damaged file in it, mean compiling again, never an error.  Numba's global configuration is neither used nor changed.

A kernel reads nothing from the environment but BONSAI_CPU, and no data file: the digest would not see it.
"""

import ast
import contextlib
import functools
import hashlib
import importlib.util
import inspect
import os
import stat
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps

_OWN_PACKAGE = __name__.partition(".")[0]
_DIGEST_CHARS = 24  # 96 bits of SHA-256: told apart, not defended
_dispatchers: list[Dispatcher] = []


class Compilations(NamedTuple):
    """How the signatures used so far in this process came to be."""

    from_cache: int
    compiled: int


def kernel(f: Callable[..., Any]) -> Any:
    """A compiled function that Python calls: takes arrays and scalars, releases the GIL, checks no bounds."""
    return _decorate(f)


def inner(f: Callable[..., Any]) -> Any:
    """A compiled function that kernels call.  In: int64 addresses and scalars."""
    return _decorate(f)


def compilations() -> Compilations:
    """Signatures of kernels loaded from disk and compiled, in this process so far."""
    hits = sum(sum(d.stats.cache_hits.values()) for d in _dispatchers)
    misses = sum(sum(d.stats.cache_misses.values()) for d in _dispatchers)
    return Compilations(hits, misses)


def cache_root() -> Path | None:
    """The folder of all compiled kernels; None where there is no home to keep them in."""
    if named := os.environ.get("BONSAI_CACHE_DIR"):
        return Path(named).expanduser().absolute()
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg).absolute() / "bonsai"
    try:
        return Path.home() / ".cache" / "bonsai"
    except RuntimeError:
        return None


def _decorate(f: Callable[..., Any]) -> Any:
    made = numba.njit(f, nogil=True, error_model="numpy", boundscheck=False)
    if isinstance(made, Dispatcher):  # not so under NUMBA_DISABLE_JIT
        _dispatchers.append(made)
        root = cache_root()
        if root is not None:
            with contextlib.suppress(OSError):  # no source file: nothing to key by
                made._cache = _cache_class(root)(f)
    return made


# The digest ------------------------------------------------------------------------------------------------------------------


def source_digest(f: Callable[..., Any]) -> str:
    """Digest of every source that the function's module is built from.  Raises OSError without a source file."""
    module = f.__module__ or "__main__"
    return _module_digest(module, inspect.getfile(f), os.environ.get("BONSAI_CPU", ""))


@functools.cache
def _module_digest(module: str, file: str, cpu: str) -> str:
    tops = {_OWN_PACKAGE, module.partition(".")[0]}
    found = {module: Path(file)}
    queue = [module]
    while queue:
        name = queue.pop()
        for imported, path in _imports(name, found[name]):
            if imported.partition(".")[0] in tops and imported not in found:
                found[imported] = path
                queue.append(imported)
    h = hashlib.sha256(repr((numba.__version__, llvmlite.__version__, sys.version_info[:2], cpu)).encode())
    for name in sorted(found):
        h.update(name.encode() + b"\0" + hashlib.sha256(found[name].read_bytes()).digest())
    return h.hexdigest()[:_DIGEST_CHARS]


@functools.cache
def _imports(module: str, file: Path) -> tuple[tuple[str, Path], ...]:
    """The modules that the source of `module` names in its import statements and whose package lies on disk."""
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    names: list[tuple[str, str | None]] = []
    for node in ast.walk(ast.parse(file.read_bytes(), str(file))):
        if isinstance(node, ast.Import):
            names += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parent = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parent, base] if base else parent)
            names += [(base, alias.name) for alias in node.names]
    return tuple(_resolve(names))


def _resolve(names: list[tuple[str, str | None]]) -> Iterator[tuple[str, Path]]:
    for base, attribute in names:
        submodule = f"{base}.{attribute}"
        if attribute is not None and (path := _module_file(submodule)) is not None:
            yield submodule, path
        elif (path := _module_file(base)) is not None:
            yield base, path


@functools.cache
def _module_file(module: str) -> Path | None:
    """The source file of a module inside an imported package, found without importing it."""
    top, *rest = module.split(".")
    folders = getattr(sys.modules.get(top), "__path__", None)
    if folders is None and rest:  # a package that is named but not imported yet
        spec = importlib.util.find_spec(top)
        folders = spec.submodule_search_locations if spec else None
    for folder in folders or ():
        stem = Path(folder, *rest)
        for path in (stem / "__init__.py", stem.with_suffix(".py")):
            if path.is_file():
                return path
    return None


# The folder ------------------------------------------------------------------------------------------------------------------


class _Locator:
    """What numba asks of a cache locator: where, and what makes an entry fresh."""

    root: Path

    def __init__(self, f: Callable[..., Any], file: str) -> None:
        self._py_file = file
        self._line = f.__code__.co_firstlineno
        self._digest = source_digest(f)
        self._folder = self.root / f"{f.__module__}-{self._digest}"

    @classmethod
    def from_function(cls, f: Callable[..., Any], file: str) -> "_Locator":
        return cls(f, file)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._digest

    def get_disambiguator(self) -> str:
        return str(self._line)

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_ours(self._folder):
            raise PermissionError(f"{self._folder} belongs to somebody else")


class _Cache(FunctionCache):
    """Numba's function cache that never fails: what cannot be loaded is compiled, what cannot be saved is not."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            if not _is_ours(Path(self._cache_path)):
                self.disable()
                return None
            return super().load_overload(sig, target_context)
        except OSError:
            return None
        except Exception:  # a damaged pickle raises nearly anything
            self._start_afresh()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError:
            self.disable()

    def _start_afresh(self) -> None:
        with contextlib.suppress(OSError):
            self.flush()

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        """Numba's key, but a captured function counts by its source: numba's own bytes for it differ in every process."""
        return sig, codegen.magic_tuple(), _fingerprint(self._py_func, set())


def _fingerprint(value: Any, seen: set[int]) -> str:
    """Digest of a captured value that is equal in every process; a value without one gets a digest that never matches."""
    f = getattr(value, "py_func", None) or getattr(value, "_defn", None) or value
    if inspect.isfunction(f):
        if id(f) in seen:
            return f.__qualname__
        seen.add(id(f))
        cells = [_fingerprint(cell.cell_contents, seen) for cell in f.__closure__ or ()]
        parts = [f.__module__, f.__qualname__, source_digest(f), f.__code__.co_code.hex(), *cells]
    elif isinstance(value, tuple):
        parts = [type(value).__qualname__, *(_fingerprint(v, seen) for v in value)]
    else:
        try:
            parts = [hashlib.sha256(dumps(value)).hexdigest()]
        except Exception:
            parts = [uuid.uuid4().hex]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@functools.cache
def _cache_class(root: Path) -> type[_Cache]:
    """The cache whose folders lie below `root`: numba hands a locator nothing but the function."""
    locator = type("_LocatorBelowRoot", (_Locator,), {"root": root})
    impl = type("_ImplBelowRoot", (CompileResultCacheImpl,), {"_locator_classes": [locator]})
    return type("_CacheBelowRoot", (_Cache,), {"_impl_class": impl})


def _is_ours(folder: Path) -> bool:
    """The folder does not exist yet, or nobody but its owner's group may write it and the owner is this user or root."""
    try:
        info = folder.stat()
    except FileNotFoundError:
        return True
    if not hasattr(os, "getuid"):
        return True
    return info.st_uid in (0, os.getuid()) and not info.st_mode & stat.S_IWOTH

"""`kernel`, `inner`, `inlined`: numba functions kept on disk, in a folder named after every source they are built from.

Numba's own cache looks only at the file that holds a function, so an edit of another file (an intrinsic, a constant) leaves stale machine
code behind.  Here the folder of a module's functions carries a digest over the module and all modules of its package, and of this
one, that it imports, directly or not, and over the versions of Python, numba and llvmlite.  A change of any of them is another folder.

Root of the folders: $BONSAI_CACHE_DIR, else $XDG_CACHE_HOME/bonsai, else ~/.cache/bonsai.  What lies there is machine code that will run: a
folder that belongs to somebody else, or that everybody may write, is ignored.  A folder that cannot be read or written, and a damaged
or exchanged file in it, which its digest shows before anything is made of it, mean compiling again, never an error; whoever may write
there can write digests too.  Numba's global configuration is neither used nor changed.

A kernel depends on its sources and on nothing else: no environment variable, no data file, no captured value.
"""

import ast
import contextlib
import functools
import hashlib
import os
import pickle
import stat
import sys
from collections.abc import Callable
from importlib.util import resolve_name
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps

_VERSIONS = f"{sys.version_info[:2]} {numba.__version__} {llvmlite.__version__}"
_DIGEST_CHARS = 24  # 96 bits of SHA-256: told apart, not defended
_dispatchers: list[Dispatcher] = []


class Compilations(NamedTuple):
    """How the signatures used so far in this process came to be."""

    from_cache: int
    compiled: int


def kernel(f: Callable[..., Any]) -> Any:
    """A compiled function that Python calls: takes arrays and scalars, releases the GIL, checks no bounds."""
    return _compiled(f)


def inner(f: Callable[..., Any]) -> Any:
    """A compiled function that kernels call.  In: int64 addresses and scalars."""
    return _compiled(f)


def inlined(f: Callable[..., Any]) -> Any:
    """As `inner`, but compiled within its caller alone: for what is called in one place, where a copy would cost as much again."""
    return numba.njit(f, nogil=True, error_model="numpy", boundscheck=False, inline="always")


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


def _compiled(f: Callable[..., Any]) -> Any:
    if f.__closure__:
        # Two functions of one source line have one symbol, and code from different processes would be mistaken for each other
        raise TypeError(f"{f.__qualname__}: a kernel sees globals only")
    made = numba.njit(f, nogil=True, error_model="numpy", boundscheck=False)
    if isinstance(made, Dispatcher):  # not so under NUMBA_DISABLE_JIT
        _dispatchers.append(made)
        with contextlib.suppress(OSError, RuntimeError):  # no source file to key by, or nowhere to keep it
            made._cache = _Cache(f)
    return made


# The digest ------------------------------------------------------------------------------------------------------------------


@functools.cache
def source_digest(module: str) -> str:
    """Digest of every source that the functions of a module are built from.  Raises OSError without a source file."""
    packages = {__name__.partition(".")[0], module.partition(".")[0]}
    found = {module}
    queue = [module]
    while queue:
        new = {name for name in _imports(queue.pop()) if name.partition(".")[0] in packages} - found
        found |= new
        queue += new
    h = hashlib.sha256(_VERSIONS.encode())
    for name in sorted(found):
        h.update(name.encode() + b"\0" + hashlib.sha256(_source(name)).digest())
    return h.hexdigest()[:_DIGEST_CHARS]


@functools.cache
def _imports(module: str) -> frozenset[str]:
    """The modules that the import statements at the top of a module name; a module that has kernels has imported them by now."""
    names: list[str] = []
    for node in ast.parse(_source(module)).body:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), sys.modules[module].__package__)
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return frozenset(name for name in names if name in sys.modules)


@functools.cache
def _source(module: str) -> bytes:
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    if not file.endswith(".py"):
        raise FileNotFoundError(f"{module} has no source file")
    return Path(file).read_bytes()


# The folder ------------------------------------------------------------------------------------------------------------------


class _Locator:
    """What numba asks of a cache locator: where, and what makes an entry fresh."""

    def __init__(self, folder: Path, digest: str, line: int) -> None:
        self._folder, self._digest, self._line = folder, digest, line

    @classmethod
    def from_function(cls, f: Callable[..., Any], file: str) -> "_Locator | None":
        root, digest = cache_root(), source_digest(f.__module__)
        return root and cls(root / f"{f.__module__}-{digest}", digest, f.__code__.co_firstlineno)

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


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class _Entries(IndexDataCacheFile):
    """A function's entries, a file for each signature and target: SHA-256 of what it is for and of the rest; the rest, a pickle.

    Numba's own files have no digest: a bit of machine code that changed on the disk would run.
    """

    def load(self, key: Any) -> Any:
        path, purpose = self._place(key)
        data = path.read_bytes()
        digest, rest = data[: len(purpose)], data[len(purpose) :]
        if digest != _digest(purpose + rest):
            return None
        return pickle.loads(rest)  # noqa: S301  # in a folder of ours

    def save(self, key: Any, data: Any) -> None:
        path, purpose = self._place(key)
        rest = dumps(data)
        with self._open_for_write(str(path)) as file:
            file.write(_digest(purpose + rest) + rest)

    def flush(self) -> None:
        """Nothing: an entry is written over when it is compiled again."""

    def _place(self, key: Any) -> tuple[Path, bytes]:
        """The file, and the digest of module, sources, function and key."""
        folder = Path(self._cache_path)
        purpose = _digest(f"{folder.name} {self._name} {key}".encode())
        return folder / f"{self._name}-{purpose.hex()[:_DIGEST_CHARS]}.nbc", purpose

    @property
    def _name(self) -> str:
        return str(self._index_name).removesuffix(".nbi")


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


class _Cache(FunctionCache):
    """Numba's function cache that never fails: what cannot be loaded is compiled, what cannot be saved is not."""

    _impl_class = _CacheImpl

    def __init__(self, f: Callable[..., Any]) -> None:
        super().__init__(f)
        self._cache_file = _Entries(self.cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            if not _is_ours(Path(self.cache_path)):
                self.disable()
            return super().load_overload(sig, target_context)
        except Exception:  # no file; or a pickle of our own that this process cannot make anything of
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError:
            self.disable()


def _is_ours(folder: Path) -> bool:
    """The folder does not exist yet, or it belongs to this user or root and not everybody may write it."""
    try:
        info = folder.stat()
    except FileNotFoundError:
        return True
    return info.st_uid in (0, os.getuid()) and not info.st_mode & stat.S_IWOTH

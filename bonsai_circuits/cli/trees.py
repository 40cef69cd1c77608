"""bonsai tree: lean trees in a folder, from files of leaves, 32 bytes each."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np

from bonsai_verifier.field import Octets

from ..artifacts.atomic import write_atomic
from ..artifacts.json_object import parse_json
from ..errors import InputError, WireError
from ..trees.lean_imt import LeanIMT
from ..trees.node_hash import POSEIDON_BN254, NodeHash, node_hash
from ..trees.proofs import BatchProof, ConsistencyProof, Head, InclusionProof
from ..trees.shape import NODE_BYTES
from ..trees.store import Policies, TreeStore
from .console import EXIT_FAILED, result, say, steps, warn
from .options import json_option

F = TypeVar("F", bound=Callable[..., Any])

_BLOCK_LEAVES = 1 << 20  # 32 MiB: while these are hashed, those before them go to disk
_MOST_PROOF_BYTES = 1 << 28
_MOST_HEAD_BYTES = 1 << 16
_STDIN = "-"
_HASH = "blake3"
_SHORT = {"poseidon": POSEIDON_BN254.name}  # the one that other trees of this kind have
_ON_DISK = 64  # above every level: a command that reads little leaves all of them on disk
_READ = Policies(flush_interval=None, pin_above_level=_ON_DISK)
_APPEND = Policies(checkpoint_on_close=True, pin_above_level=_ON_DISK)

_folder = click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
_FILE = click.Path(dir_okay=False, path_type=Path)


def _shape_options(command: F) -> F:
    """--arity and --hash of a tree."""
    command = click.option(
        "--hash", "hash_name", metavar="NAME", help="blake3, poseidon (over BN254) or poseidon_bls.  [default: blake3]"
    )(command)
    return click.option("--arity", type=int, metavar="N", help="Children of a node, 2 to 16.")(command)


@click.group()
def tree() -> None:
    """Append-only Merkle trees of 32-byte leaves, kept in a folder.

    Leaves come from files or standard input, one after the other and as they are.
    """


@tree.command()
@_folder
@_shape_options
@click.option("--max-depth", type=int, metavar="D", help="At most N^D leaves.  [default: 2^40 leaves or a little less]")
@json_option
def create(folder: Path, arity: int | None, hash_name: str | None, max_depth: int | None, as_json: bool) -> None:
    """Make an empty tree in FOLDER, which must not be there yet."""
    hash_ = _node_hash(hash_name or _HASH)
    with TreeStore.create(folder, _required(arity), hash_, max_depth, _READ) as store:
        p = store.parameters
        value = {"folder": str(folder), "arity": p.arity, "hash": p.hash, "max_depth": p.max_depth}
    result(
        value, f"{folder}: empty tree of {p.hash} with {p.arity} children a node, at most {p.max_depth} levels", as_json
    )


@tree.command()
@_folder
@click.argument("leaves", type=click.Path(dir_okay=False, allow_dash=True), default=_STDIN)
@json_option
def append(folder: Path, leaves: str, as_json: bool) -> None:
    """Append the leaves of a file, or of standard input, to the tree in FOLDER; they are on disk when the command ends."""
    with _leaves(leaves) as blocks, _opened(folder, _APPEND) as store, steps(1) as progress:
        progress.start(f"append to {folder}")
        before = store.size
        try:
            for block in blocks:
                store.insert_many(block)
        except InputError as e:
            store.flush()
            done = f"the first {store.size - before} leaves were appended"
            raise InputError(e.field, f"{str(e).removeprefix(f'{e.field}: ')}; {done}") from e
        except KeyboardInterrupt:
            store.flush()
            say(f"{folder}: the first {store.size - before} leaves were appended")
            raise
        store.flush()
        progress.done()
        head, appended = store.snapshot().head, store.size - before
    value = {"folder": str(folder), "appended": appended} | _head(head)
    result(value, f"{folder}: {appended} leaves appended, {head.size} in all\n{_hex(head.root)}", as_json)


@tree.command()
@click.argument("source", type=click.Path(allow_dash=True))
@_shape_options
@click.option("--out", type=_FILE, help="Also write what a verifier trusts, root, size, arity and hash, as JSON.")
@json_option
def root(source: str, arity: int | None, hash_name: str | None, out: Path | None, as_json: bool) -> None:
    """Print the root of SOURCE: a tree's folder, or a file of leaves (-: standard input) with --arity and --hash."""
    if Path(source).is_dir():
        hash_ = None if hash_name is None else _node_hash(hash_name)
        with TreeStore.open(Path(source), arity, hash_, policies=_READ) as store:
            _say_repairs(store)
            head = store.snapshot().head
    else:
        grown = LeanIMT(_required(arity), _node_hash(hash_name or _HASH))
        with _leaves(source) as blocks, steps(1) as progress:
            progress.start(f"root of {source}")
            for block in blocks:
                grown.insert_many(block)
            progress.done()
        head = grown.head
    if out is not None:
        write_atomic(out, json.dumps(_head(head), indent=1).encode() + b"\n")
    result(_head(head), _hex(head.root), as_json)


@tree.command()
@_folder
@click.argument("indices", type=click.IntRange(min=0), nargs=-1, metavar="[INDEX]...")
@click.option(
    "--since", type=click.IntRange(min=0), metavar="SIZE", help="Prove that the tree of SIZE leaves is its beginning."
)
@click.option("--out", type=_FILE, required=True, help="The proof to write.")
@json_option
def prove(folder: Path, indices: tuple[int, ...], since: int | None, out: Path, as_json: bool) -> None:
    """Prove that the tree in FOLDER has its leaves of these INDICES, or began as a smaller one; INDICES count from 0."""
    if bool(indices) == (since is not None):
        raise InputError("indices", "name the leaves to prove, or a smaller size with --since, and not both")
    proof: InclusionProof | BatchProof | ConsistencyProof
    with _opened(folder, _READ) as store:
        snapshot = store.snapshot()
        if since is not None:
            proof = snapshot.consistency(since)
        elif len(indices) == 1:
            proof = snapshot.prove(indices[0])
        else:
            proof = snapshot.prove_batch(sorted(set(indices)))
        head = snapshot.head
    data = proof.encode()
    write_atomic(out, data)
    what = _about(proof)
    text = f"{out}: {len(data)} bytes, {_sentence(what)}\n{_hex(head.root)}"
    result({"out": str(out), "bytes": len(data)} | what | _head(head), text, as_json)


@tree.command()
@click.argument("proof", type=_FILE)
@click.option("--head", "head_file", type=_FILE, help="What is trusted, as `bonsai tree root --out` writes it.")
@click.option("--root", "root_hex", metavar="HEX", help="Instead: the root that is trusted,")
@click.option("--size", type=click.IntRange(min=0), help="of so many leaves, which belong to it.")
@_shape_options
@click.option("--old-head", "old_file", type=_FILE, help="For a proof of --since: the smaller tree's, in the same way.")
@click.option("--leaf", "leaf_hex", metavar="HEX", help="The proof must be of this leaf,")
@click.option("--index", type=click.IntRange(min=0), help="and of this index.")
@json_option
def verify(
    proof: Path,
    head_file: Path | None,
    root_hex: str | None,
    size: int | None,
    arity: int | None,
    hash_name: str | None,
    old_file: Path | None,
    leaf_hex: str | None,
    index: int | None,
    as_json: bool,
) -> None:
    """Verify a PROOF against a root and its size: exit code 0 if it holds, 1 if it does not."""
    if (head_file is None) == (root_hex is None):
        raise InputError("head", "name what is trusted: --head FILE, or --root with --size, --arity and --hash")
    if head_file is not None:
        head = _read_head(head_file)
    else:
        if size is None:
            raise InputError("size", "a root says nothing without its size; give --size with --root")
        head = Head(_node_hash(hash_name or _HASH), _required(arity), size, _unhex("root", root_hex or "") or None)
    decoded = _decode(_read(proof, _MOST_PROOF_BYTES))
    if isinstance(decoded, ConsistencyProof):
        if old_file is None or leaf_hex is not None or index is not None:
            raise InputError("old_head", "this is a proof about two trees: give --old-head, and neither leaf nor index")
        valid = decoded.verify(_read_head(old_file), head)
    else:
        if old_file is not None:
            raise InputError("old_head", "this is a proof about leaves of one tree")
        pairs = dict(_leaves_of(decoded))
        valid = decoded.verify(head)
        if leaf_hex is not None:
            leaf = _unhex("leaf", leaf_hex)
            valid = valid and (leaf in pairs.values() if index is None else pairs.get(index) == leaf)
        valid = valid and (index is None or index in pairs)
    what = _about(decoded)
    text = f"{proof}: {_sentence(what)}" if valid else f"{proof}: NOT VALID"
    result({"proof": str(proof), "valid": valid} | what, text, as_json)
    if not valid:
        raise click.exceptions.Exit(EXIT_FAILED)


@tree.command()
@_folder
@json_option
def check(folder: Path, as_json: bool) -> None:
    """Read everything in FOLDER again and compute every node from the leaves; what can be repaired exactly is."""
    with _opened(folder, _READ) as store, steps(1) as progress:
        progress.start(f"check {folder}")
        records = store.check()
        progress.done()
        repairs, head = list(store.repairs), store.snapshot().head
    lines = [f"{folder}: {head.size} leaves and {records} records are as they were written", *map(_repaired, repairs)]
    result({"folder": str(folder), "records": records, "repairs": repairs} | _head(head), "\n".join(lines), as_json)


@tree.command()
@_folder
@json_option
def stat(folder: Path, as_json: bool) -> None:
    """Say what FOLDER holds and how long its files are."""
    with _opened(folder, _READ) as store:
        found, head = store.stat(), store.snapshot().head
    lines = [
        f"{found.hash}, {found.arity} children a node, at most {found.max_depth} levels",
        f"{found.size} leaves, {found.depth} levels above them, root {_hex(found.root)}",
        f"{sum(found.records)} records of {found.record_nodes} nodes, of each level {list(found.records)}",
        *(f"{name} {n} bytes" for name, n in found.bytes.items()),
    ]
    value = asdict(found) | {"folder": str(folder)} | _head(head)
    result(value, "\n".join(lines), as_json)


# Stores ----------------------------------------------------------------------------------------------------------------------


@contextmanager
def _opened(folder: Path, policies: Policies) -> Iterator[TreeStore]:
    with TreeStore.open(folder, policies=policies) as store:
        _say_repairs(store)
        yield store


def _say_repairs(store: TreeStore) -> None:
    for repair in store.repairs:
        warn(_repaired(repair))


def _repaired(repair: str) -> str:
    return f"{repair}; repaired"


def _node_hash(name: str) -> NodeHash:
    return node_hash(_SHORT.get(name, name))


def _required(arity: int | None) -> int:
    if arity is None:
        raise InputError("arity", "how many children has a node? give --arity, from 2 to 16")
    return arity


# Leaves ----------------------------------------------------------------------------------------------------------------------


@contextmanager
def _leaves(source: str) -> Iterator[Iterator[Octets]]:
    """The leaves of a file or of standard input, in blocks that are used again.  Raises InputError: no such file, another length."""
    if source == _STDIN:
        if sys.stdin is None:
            raise InputError("standard input", "is closed; name a file")
        yield _blocks(sys.stdin.buffer, "standard input")
        return
    path = Path(source)
    try:
        file = path.open("rb", buffering=0)
    except OSError as e:
        raise InputError(source, f"cannot be read: {e.strerror}") from e
    with file:
        length = path.stat().st_size
        if path.is_file() and length % NODE_BYTES:  # before anything is appended
            raise InputError(source, f"{length} bytes are no leaves of {NODE_BYTES} bytes")
        yield _blocks(file, source)


def _blocks(file: Any, name: str) -> Iterator[Octets]:
    """Raises InputError: the end is no whole leaf, or there is nothing to read yet."""
    buffer = bytearray(_BLOCK_LEAVES * NODE_BYTES)
    leaves = np.frombuffer(buffer, np.uint8).reshape(-1, NODE_BYTES)
    view, held = memoryview(buffer), 0
    while (n := file.readinto(view[held:])) != 0:
        if n is None:
            raise InputError(name, "does not wait for what is to come; give a file, or a pipe that blocks")
        held += n
        if held == len(buffer):
            yield leaves
            held = 0
    whole = held - held % NODE_BYTES
    if whole:
        yield leaves[: whole // NODE_BYTES]
    if whole < held:
        raise InputError(name, f"ends with {held - whole} bytes that are no leaf of {NODE_BYTES}")


# Heads and proofs ------------------------------------------------------------------------------------------------------------


def _head(head: Head) -> dict[str, Any]:
    """A head as JSON."""
    root = None if head.root is None else head.root.hex()
    return {"arity": head.arity, "hash": head.node_hash.name, "size": head.size, "root": root}


def _read_head(path: Path) -> Head:
    """Raises InputError: not what _head makes, other names aside."""
    try:
        value = parse_json(_read(path, _MOST_HEAD_BYTES))
        arity, name, size, root = (value[key] for key in ("arity", "hash", "size", "root"))
    except (ValueError, KeyError) as e:
        raise InputError(str(path), f"expected JSON with arity, hash, size and root: {e}") from e
    if not isinstance(name, str) or not (root is None or isinstance(root, str)):
        raise InputError(str(path), "expected a name for hash, and hexadecimal digits or null for root")
    return Head(node_hash(name), arity, size, None if root is None else _unhex("root", root))


def _decode(data: bytes) -> InclusionProof | BatchProof | ConsistencyProof:
    """Raises WireError: none of these."""
    match data[:1]:
        case b"\x01":
            return InclusionProof.decode(data)
        case b"\x02":
            return ConsistencyProof.decode(data)
        case b"\x03":
            return BatchProof.decode(data)
    raise WireError("proof", f"{len(data)} bytes are no proof about a tree")


def _leaves_of(proof: InclusionProof | BatchProof) -> list[tuple[int, bytes]]:
    if isinstance(proof, InclusionProof):
        return [(proof.index, proof.leaf)]
    return [(index, proof.leaves[i * NODE_BYTES : (i + 1) * NODE_BYTES]) for i, index in enumerate(proof.indices)]


def _about(proof: InclusionProof | BatchProof | ConsistencyProof) -> dict[str, Any]:
    """What a proof says, as JSON."""
    if isinstance(proof, ConsistencyProof):
        return {"old_size": proof.old_size, "of_size": proof.size}
    return {
        "leaves": [{"index": index, "leaf": leaf.hex()} for index, leaf in _leaves_of(proof)],
        "of_size": proof.size,
    }


def _sentence(what: dict[str, Any]) -> str:
    if "old_size" in what:
        return f"the tree of {what['old_size']} leaves is the beginning of that of {what['of_size']}"
    pairs = [f"leaf {pair['index']} of {what['of_size']} is {pair['leaf']}" for pair in what["leaves"]]
    return "\n".join(pairs)


def _hex(root: bytes | None) -> str:
    return "no leaves, no root" if root is None else root.hex()


def _unhex(name: str, text: str) -> bytes:
    """Raises InputError: not 64 hexadecimal digits."""
    try:
        data = bytes.fromhex(text)
    except ValueError:
        data = b""
    if len(data) != NODE_BYTES or len(text) != 2 * NODE_BYTES:
        raise InputError(name, f"expected {2 * NODE_BYTES} hexadecimal digits, got {text!r:.80}")
    return data


def _read(path: Path, most: int) -> bytes:
    """Raises InputError: it cannot be read, or is longer."""
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as e:
        raise InputError(str(path), f"cannot be read: {e.strerror}") from e
    if len(data) > most:
        raise InputError(str(path), f"is longer than {most} bytes")
    return data

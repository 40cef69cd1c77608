"""A lean tree as its definition says: levels made one from the other, every proof read off them, slow and plain."""

from collections.abc import Callable, Sequence

from blake3 import blake3

Hash = Callable[[Sequence[bytes]], bytes]


def blake3_node(children: Sequence[bytes]) -> bytes:
    return blake3(b"".join(children)).digest()


def parent(children: Sequence[bytes], node_hash: Hash) -> bytes:
    return children[0] if len(children) == 1 else node_hash(children)


def levels(leaves: Sequence[bytes], arity: int, node_hash: Hash = blake3_node) -> list[list[bytes]]:
    """From the leaves to the root; [[]] without leaves."""
    found = [list(leaves)]
    while len(found[-1]) > 1:
        below = found[-1]
        found.append([parent(below[i : i + arity], node_hash) for i in range(0, len(below), arity)])
    return found


def root(leaves: Sequence[bytes], arity: int, node_hash: Hash = blake3_node) -> bytes | None:
    return levels(leaves, arity, node_hash)[-1][0] if leaves else None


def siblings(leaves: Sequence[bytes], arity: int, index: int, node_hash: Hash = blake3_node) -> list[list[bytes]]:
    """Of each level below the root, without the node on the path."""
    found = []
    for level in levels(leaves, arity, node_hash)[:-1]:
        group = index // arity * arity
        found.append([node for i, node in enumerate(level[group : group + arity]) if group + i != index])
        index //= arity
    return found


def counted_leaves(n: int) -> list[bytes]:
    """The leaves of the vectors."""
    return [i.to_bytes(32, "little") for i in range(n)]

"""The shape of a lean tree: what follows from arity and size alone, and so never has to be believed.

Level 0 are the leaves.  Node i of level l stands over the leaves [i N^l, (i + 1) N^l), as many of them as there are, and its children are
the nodes [i N, (i + 1) N) of level l - 1.  It is *complete* if all N^l leaves are there: then no later leaf changes it.  At most the last
node of a level is not complete.  A node of one child is that child.
"""

from ..errors import InputError

MIN_ARITY, MAX_ARITY = 2, 16
NODE_BYTES = 32
# Positions of a tree whose maker names no depth: as many as the payments' trees have
_DEFAULT_CAPACITY_BITS = 40
_MOST_CAPACITY_BITS = 62  # indices are int64 in kernels


def check_arity(arity: int) -> int:
    """The arity.  Raises InputError: not an integer in 2..16."""
    if not isinstance(arity, int) or isinstance(arity, bool) or not MIN_ARITY <= arity <= MAX_ARITY:
        raise InputError("arity", f"expected {MIN_ARITY} to {MAX_ARITY} children a node, got {arity!r}")
    return arity


def default_depth(arity: int) -> int:
    """The deepest tree of at most 2^40 leaves."""
    return max(depth for depth in range(1, _DEFAULT_CAPACITY_BITS + 1) if arity**depth <= 1 << _DEFAULT_CAPACITY_BITS)


def check_max_depth(max_depth: int, arity: int) -> int:
    """The depth.  Raises InputError: none, or a capacity above 2^62 leaves."""
    if not isinstance(max_depth, int) or isinstance(max_depth, bool) or max_depth < 1:
        raise InputError("max_depth", f"expected at least one level, got {max_depth!r}")
    if max_depth > _MOST_CAPACITY_BITS or arity**max_depth > 1 << _MOST_CAPACITY_BITS:
        raise InputError(
            "max_depth", f"{arity}^{max_depth} leaves are more than 2^{_MOST_CAPACITY_BITS}; take fewer levels"
        )
    return max_depth


def depth_of(size: int, arity: int) -> int:
    """ceil(log_N(size)): levels above the leaves; 0 for a size of 0 or 1."""
    depth, capacity = 0, 1
    while capacity < size:
        depth, capacity = depth + 1, capacity * arity
    return depth


def level_size(size: int, arity: int, level: int) -> int:
    """ceil(size / N^level): nodes of a level."""
    return -(-size // arity**level)


def n_complete(size: int, arity: int, level: int) -> int:
    """floor(size / N^level): nodes of a level that never change again."""
    return size // int(arity**level)


def n_nodes(size: int, arity: int) -> int:
    """Nodes of all levels up to the root."""
    return sum(level_size(size, arity, level) for level in range(depth_of(size, arity) + 1)) if size else 0


def group_size(size: int, arity: int, level: int, index: int) -> int:
    """Children that share the parent of node `index` of a level, itself included; 1 where the node is lifted."""
    first = index - index % arity
    return min(arity, level_size(size, arity, level) - first)

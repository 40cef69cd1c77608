"""The shape of a lean tree: what follows from arity and size alone, and so never has to be believed.

Level 0 are the leaves.  Node i of level l stands over the leaves [i N^l, (i + 1) N^l), as many of them as there are, and its children are
the nodes [i N, (i + 1) N) of level l - 1.  It is *complete* if all N^l leaves are there: then no later leaf changes it.  At most the last
node of a level is not complete.  A node of one child is that child.
"""

from bonsai_verifier.threads import is_count

from ..errors import InputError

MIN_ARITY, MAX_ARITY = 2, 16
NODE_BYTES = 32
MAX_SIZE = 1 << 62  # indices are int64 in kernels
_DEFAULT_CAPACITY = 1 << 40  # of a tree whose maker names no depth: as many places as the payments' trees have
_PAGE_NODES = 1 << 16  # 2 MiB, one large page of most systems


def check_arity(arity: int) -> int:
    """The arity.  Raises InputError: not an integer in 2..16."""
    if not (is_count(arity) and MIN_ARITY <= arity <= MAX_ARITY):
        raise InputError("arity", f"expected {MIN_ARITY} to {MAX_ARITY} children a node, got {arity!r}")
    return arity


def default_depth(arity: int) -> int:
    """Levels of the deepest tree of at most 2^40 leaves."""
    return depth_of(_DEFAULT_CAPACITY + 1, arity) - 1


def check_max_depth(max_depth: int, arity: int) -> int:
    """The depth.  Raises InputError: none, or a capacity above 2^62 leaves."""
    if not (is_count(max_depth) and max_depth >= 1):
        raise InputError("max_depth", f"expected at least one level, got {max_depth!r}")
    if max_depth > (deepest := depth_of(MAX_SIZE + 1, arity) - 1):
        raise InputError(
            "max_depth", f"expected at most {deepest} levels of {arity} children, 2^62 leaves, got {max_depth}"
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
    return -(-size // _power(arity, level))


def n_complete(size: int, arity: int, level: int) -> int:
    """floor(size / N^level): nodes of a level that never change again."""
    return size // _power(arity, level)


def n_nodes(size: int, arity: int) -> int:
    """Nodes of all levels up to the root."""
    return sum(level_size(size, arity, level) for level in range(depth_of(size, arity) + 1))


def group_size(size: int, arity: int, level: int, index: int) -> int:
    """Children of the parent of node `index` of a level, that node among them; 1 where it is lifted."""
    first = index - index % arity
    return min(arity, level_size(size, arity, level) - first)


def page_nodes(arity: int) -> int:
    """Nodes of a page: the largest power of N up to 65,536, so that no group of children lies on two pages."""
    return largest_power(arity, _PAGE_NODES)


def largest_power(arity: int, limit: int) -> int:
    """The largest power of N up to `limit`, which is at least 1."""
    return _power(arity, depth_of(limit + 1, arity) - 1)


def _power(arity: int, level: int) -> int:
    return int(arity**level)

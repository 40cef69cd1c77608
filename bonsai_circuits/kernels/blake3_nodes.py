"""Nodes of a tree: BLAKE3 of k children of 32 bytes, sixteen nodes side by side; whole subtrees while they lie in the cache.

2 <= k <= 16, so a node's children are at most half a chunk: ceil(k / 2) compressions, the last one of half a block where k is odd.
"""

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from bonsai_verifier.kernels.blake3 import (
    BLOCK_BYTES,
    CHUNK_END,
    CHUNK_START,
    FEW,
    I32,
    IV,
    LANES,
    ROOT,
    VALUE_BYTES,
    WIDTH,
    WORDS,
    compress,
    compress_lanes,
    copy_bytes,
    copy_value,
    load_words,
    rounds,
    splat,
    spread_value,
    store_words,
    transposed,
    values_from_lanes,
    zero_block,
)
from bonsai_verifier.kernels.cache import inner, kernel
from bonsai_verifier.kernels.intrinsics import I64, operation, predicate
from bonsai_verifier.kernels.limbs import row, stack

MAX_CHILDREN = 16
_PATHS = 64  # that go up together
_HALF_WORDS = VALUE_BYTES // 4
_ROOM_WORDS = LANES * MAX_CHILDREN * VALUE_BYTES // 8


@operation
def compress_half_lanes(b, out, cv, block, stride):
    """The last compression of sixteen nodes of an odd number of children: lane l has its last child at `block + l stride`.

    In: cv, 8 words of 16 lanes.  Out: 16 words of 16 lanes; out may be cv.
    """
    part_type = ir.VectorType(I32, min(WIDTH, _HALF_WORDS))
    zeros, pad = ir.Constant(part_type, None), ir.Constant(ir.VectorType(I32, WIDTH), list(range(WIDTH)))
    tail = [splat(WORDS, x) for x in (0, 0, VALUE_BYTES, CHUNK_END | ROOT)]
    with cgutils.for_range(b, I64(LANES // WIDTH)) as part:
        lane = b.mul(part.index, I64(WIDTH))
        first, m = b.add(block, b.mul(lane, stride)), []
        for word in range(0, _HALF_WORDS, WIDTH):
            rows = load_words(b, part_type, b.add(first, I64(4 * word)), WIDTH, stride, 1)
            if part_type != WORDS:
                rows = [b.shuffle_vector(x, zeros, pad) for x in rows]
            m += transposed(b, rows)
        m = m[:_HALF_WORDS] + [splat(WORDS, 0)] * _HALF_WORDS
        column = b.mul(lane, I64(4))
        value = load_words(b, WORDS, b.add(cv, column), 8, 4 * LANES, 4)
        store_words(b, b.add(out, column), rounds(b, value, m, tail), 4 * LANES)


@predicate
def is_zero_value(b, value):
    """All 32 bytes are zero."""
    bits = ir.IntType(8 * VALUE_BYTES)
    return b.icmp_unsigned("==", b.load(b.inttoptr(value, bits.as_pointer()), align=1), ir.Constant(bits, 0))


@operation
def initial_value(b, out):
    """The value that an unkeyed hash starts from, 32 bytes."""
    store_words(b, out, [ir.Constant(I32, x) for x in IV], 4)


@inner
def _sixteen_nodes(out, data, k, start):
    """Sixteen nodes of k children.  In: their children at data, one after the other; start: initial_value in sixteen lanes."""
    state = stack(128)
    stride = k * VALUE_BYTES
    blocks = (k + 1) // 2
    if blocks == 1:
        compress_lanes(state, start, data, stride, 0, 0, BLOCK_BYTES, CHUNK_START | CHUNK_END | ROOT)
    else:
        compress_lanes(state, start, data, stride, 0, 0, BLOCK_BYTES, CHUNK_START)
        for i in range(1, blocks - 1):
            compress_lanes(state, state, data + BLOCK_BYTES * i, stride, 0, 0, BLOCK_BYTES, 0)
        last = data + BLOCK_BYTES * (blocks - 1)
        if k % 2:
            compress_half_lanes(state, state, last, stride)
        else:
            compress_lanes(state, state, last, stride, 0, 0, BLOCK_BYTES, CHUNK_END | ROOT)
    values_from_lanes(out, state)


@inner
def _one_node(out, data, k):
    state, block = stack(8), stack(8)
    initial_value(state)
    flags = CHUNK_START
    while k > 2:
        compress(state, state, data, 0, BLOCK_BYTES, flags)
        flags = 0
        data += BLOCK_BYTES
        k -= 2
    zero_block(block)
    copy_bytes(block, data, k * VALUE_BYTES)
    compress(state, state, block, 0, k * VALUE_BYTES, flags | CHUNK_END | ROOT)
    copy_value(out, state)


@inner
def _nodes(out, data, n, k):
    """n nodes of k children each, at data one after the other.  Reads no byte behind them."""
    value, start, room, found = stack(4), stack(64), stack(_ROOM_WORDS), stack(64)
    initial_value(value)
    spread_value(start, value)
    size = k * VALUE_BYTES
    i = 0
    while i + LANES <= n:
        _sixteen_nodes(out + VALUE_BYTES * i, data + size * i, k, start)
        i += LANES
    if n - i >= FEW:
        copy_bytes(room, data + size * i, size * (n - i))
        _sixteen_nodes(found, room, k, start)
        copy_bytes(out + VALUE_BYTES * i, found, VALUE_BYTES * (n - i))
    else:
        while i < n:
            _one_node(out + VALUE_BYTES * i, data + size * i, k)
            i += 1


@kernel
def nodes_into(out, children):
    """The node over each row of children.

    In: children (n, 32 k) uint8, C-contiguous, 2 <= k <= 16.  Out: out (n, 32) uint8, C-contiguous.
    """
    if len(out):
        _nodes(row(out, 0), row(children, 0), len(out), children.shape[1] // VALUE_BYTES)


@kernel
def grow_into(where, leaves, first, starts, stops, arity, block):
    """Copies leaves to their places and hashes the complete nodes above them, `block` leaves and all above these after the other.

    In: leaves (n, 32) uint8, of index `first` on; ranges of leaves starts[j]..stops[j], (m,) int64, each under one page of every level;
    where (m, levels) int64: the address of node starts[j] // N^l of level l; block: a multiple of N^(levels - 1).
    Out: of every range the nodes [start // N^l, stop // N^l) of each level l, in their pages.
    """
    for j in range(len(starts)):
        at = starts[j]
        while at < stops[j]:
            end = min(stops[j], at - at % block + block)
            copy_bytes(where[j, 0] + VALUE_BYTES * (at - starts[j]), row(leaves, at - first), VALUE_BYTES * (end - at))
            low, high, origin = at, end, starts[j]
            for level in range(1, where.shape[1]):
                low, high = low // arity, high // arity
                below = where[j, level - 1] + VALUE_BYTES * (low * arity - origin)
                origin //= arity
                if low < high:
                    _nodes(where[j, level] + VALUE_BYTES * (low - origin), below, high - low, arity)
            at = end


@kernel
def open_nodes_into(out, groups, counts):
    """The nodes that are not complete, level by level.

    In: groups (levels, N, 32) uint8: the complete children without a complete parent, counts[l] < N of them; out: zeros.
    Out: out (levels + 1, 32): the node of each level.
    """
    found = 0
    for level in range(len(counts)):
        n, to = counts[level], row(out, level + 1)
        children = row(groups, level)
        if found:
            copy_value(children + VALUE_BYTES * n, row(out, level))
            n += 1
        if n > 1:
            _one_node(to, children, n)
        elif n:
            copy_value(to, children)
        if n:
            found = 1


@kernel
def path_roots_into(out, tidy, leaves, siblings, indices, size, arity):
    """The roots that paths lead to, in a tree of `size` leaves.

    In: leaves (m, 32) uint8; siblings (m, 32 (N - 1) depth) uint8: for each level left ones, right ones, and zeros for those that the shape
    has not; indices (m,) int64 in [0, size).
    Out: out (m, 32); tidy (m,) uint8: 1 where all places of siblings that the shape has not are zero, 0 elsewhere.
    """
    step = VALUE_BYTES * (arity - 1)
    depth = siblings.shape[1] // step
    room = np.empty((_PATHS, arity * VALUE_BYTES), np.uint8)
    found = np.empty((_PATHS, VALUE_BYTES), np.uint8)
    who = np.empty(_PATHS, np.int64)
    nodes = np.empty(_PATHS, np.int64)
    for start in range(0, len(indices), _PATHS):
        stop = min(len(indices), start + _PATHS)
        for i in range(start, stop):
            copy_value(row(out, i), row(leaves, i))
            nodes[i - start] = indices[i]
            tidy[i] = 1
        width = size
        for level in range(depth):
            full = 0
            for i in range(start, stop):
                node = nodes[i - start]
                parent = node // arity
                position = node - parent * arity
                n = min(arity, width - parent * arity)
                nodes[i - start] = parent
                sibling = row(siblings, i) + step * level
                to = row(room, full)
                copy_value(to + VALUE_BYTES * position, row(out, i))
                for child in range(n - 1):  # without a branch on the position, which nobody can foresee
                    copy_value(to + VALUE_BYTES * (child + (child >= position)), sibling + VALUE_BYTES * child)
                if n == arity:
                    who[full] = i
                    full += 1
                else:
                    if n > 1:
                        _one_node(row(out, i), to, n)
                    for child in range(n - 1, arity - 1):
                        if not is_zero_value(sibling + VALUE_BYTES * child):
                            tidy[i] = 0
            _nodes(row(found, 0), row(room, 0), full, arity)
            for j in range(full):
                copy_value(row(out, who[j]), row(found, j))
            width = (width + arity - 1) // arity

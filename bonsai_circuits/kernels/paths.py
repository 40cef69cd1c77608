"""The siblings of many paths in a tree of pages, gathered."""

import numpy as np
from llvmlite import ir

from bonsai_verifier.kernels.blake3 import VALUE_BYTES, copy_value
from bonsai_verifier.kernels.cache import kernel
from bonsai_verifier.kernels.intrinsics import operation
from bonsai_verifier.kernels.limbs import prefetch, row

_LINE_BYTES = 64
_PATHS = 8  # whose nodes are asked for together


@operation
def zero_value(b, out):
    """32 zero bytes."""
    bits = ir.IntType(8 * VALUE_BYTES)
    b.store(ir.Constant(bits, 0), b.inttoptr(out, bits.as_pointer()), align=1)


@kernel
def siblings_into(leaves, siblings, indices, size, arity, page_nodes, addresses, first_page, partial):
    """Leaves and the siblings of their paths.

    In: indices (m,) int64 in [0, size), size at least 2; addresses, int64: of the pages of level l from first_page[l] on, 0 for a page
    that is not in memory; partial (depth + 1, 32): the node of each level that is not complete, where there is one.
    Out: leaves (m, 32); siblings (m, depth, N - 1, 32): left ones, right ones, zeros for those that the shape has not.  What lies on a page
    that is not in memory is left as it was.
    """
    depth = siblings.shape[1]
    step = VALUE_BYTES * (arity - 1)
    groups = np.empty((_PATHS, depth + 1), np.int64)
    for start in range(0, len(indices), _PATHS):
        stop = min(len(indices), start + _PATHS)
        for i in range(start, stop):
            node = indices[i]
            for level in range(depth):
                parent = node // arity
                first = parent * arity
                page = first // page_nodes
                address = np.int64(0)
                if first_page[level] + page < first_page[level + 1]:
                    address = addresses[first_page[level] + page]
                    if address:
                        address += VALUE_BYTES * (first - page * page_nodes)
                        for line in range(0, VALUE_BYTES * arity, _LINE_BYTES):
                            prefetch(address + line)
                groups[i - start, level] = address
                node = parent
        for i in range(start, stop):
            node = indices[i]
            width, complete = size, size
            for level in range(depth):
                parent = node // arity
                first = parent * arity
                position = node - first
                n = min(arity, width - first)
                group = groups[i - start, level]
                to = row(siblings, i) + step * level
                if first + n <= complete:
                    if group:
                        for child in range(n - 1):  # without a branch on the position, which nobody can foresee
                            copy_value(to + VALUE_BYTES * child, group + VALUE_BYTES * (child + (child >= position)))
                        if level == 0:
                            copy_value(row(leaves, i), group + VALUE_BYTES * position)
                elif group:  # the last of the group is not complete
                    for child in range(n - 1):
                        source = group + VALUE_BYTES * (child + (child >= position))
                        if child == n - 2 and position < n - 1:
                            source = row(partial, level)
                        copy_value(to + VALUE_BYTES * child, source)
                for child in range(n - 1, arity - 1):
                    zero_value(to + VALUE_BYTES * child)
                node = parent
                width = (width + arity - 1) // arity
                complete //= arity

"""BLAKE3: one input of any length, or many short inputs of one length, to any number of output bytes.

The compression function is written once, over LLVM's type of a word: i32 gives the body for one block, <16 x i32> the body for sixteen
blocks side by side, one AVX-512 or two AVX2 registers a word.  Where a register has 128 bits (SSE2, NEON), sixteen lanes would not fit the
registers, and go through the rounds as <4 x i32>, four times.
Long inputs take chunks, and then parents, sixteen at a time.  All arguments are int64 addresses of bytes and plain counts;
32-bit arithmetic happens only inside the IR, so numba's integer promotion never meets it.

Source: O'Connor, Aumasson, Neves, Wilcox-O'Hearn, "BLAKE3, one function, fast everywhere" (2021), section 2.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from . import cpu
from .cache import inlined, kernel
from .intrinsics import I64, operation
from .limbs import row, stack

BLOCK_BYTES = 64
CHUNK_BYTES = 1024
VALUE_BYTES = 32  # a chaining value or key: 8 words
LANES = 16  # equal to the words of a block, so that a transposition is square
WIDTH = LANES if cpu.wide() else 4  # lanes that go through the rounds together
FEW = 4 if cpu.wide() else 10  # so many messages or more are worth sixteen lanes

# Domain flags, section 2.2, table 3
CHUNK_START = 1
CHUNK_END = 2
PARENT = 4
ROOT = 8
DERIVE_KEY_CONTEXT = 32
DERIVE_KEY_MATERIAL = 64

# The first 32 bits of the fractions of the square roots of the first eight primes (SHA-256's IV), section 2.2
IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
# Order in which a round reads the words that the round before it read as 0, 1, 2, ..., section 2.2, table 2
PERMUTATION = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
ROUNDS = 7

_CHUNK_BLOCKS = 16
_VALUE_WORDS = 4

I32 = ir.IntType(32)
WORDS = ir.VectorType(I32, WIDTH)
_COUNTS = ir.VectorType(I64, WIDTH)


# The compression function, as IR ---------------------------------------------------------------------------------------------


def splat(ty: Any, x: int) -> ir.Constant:
    return ir.Constant(ty, [x] * ty.count) if isinstance(ty, ir.VectorType) else ir.Constant(ty, x)


def _rotate_right(b: ir.IRBuilder, x: ir.Value, n: int) -> ir.Value:
    return b.or_(b.lshr(x, splat(x.type, n)), b.shl(x, splat(x.type, 32 - n)))


def _mix(b: ir.IRBuilder, v: list[ir.Value], i: tuple[int, int, int, int], mx: ir.Value, my: ir.Value) -> None:
    """G, section 2.2: one quarter round on the words i of v."""
    a, p, q, s = i
    for m, r1, r2 in ((mx, 16, 12), (my, 8, 7)):
        v[a] = b.add(b.add(v[a], v[p]), m)
        v[s] = _rotate_right(b, b.xor(v[s], v[a]), r1)
        v[q] = b.add(v[q], v[s])
        v[p] = _rotate_right(b, b.xor(v[p], v[q]), r2)


def rounds(b: ir.IRBuilder, cv: list[ir.Value], m: list[ir.Value], tail: list[ir.Value]) -> list[ir.Value]:
    """cv: 8 words.  m: the block, 16 words.  tail: counter low, counter high, length, flags.  Out: 16 words."""
    v = [*cv, *(splat(cv[0].type, x) for x in IV[:4]), *tail]
    for _ in range(ROUNDS):
        for j in range(4):
            _mix(b, v, (j, 4 + j, 8 + j, 12 + j), m[2 * j], m[2 * j + 1])
        for j in range(4):
            i = (j, 4 + (j + 1) % 4, 8 + (j + 2) % 4, 12 + (j + 3) % 4)
            _mix(b, v, i, m[8 + 2 * j], m[9 + 2 * j])
        m = [m[p] for p in PERMUTATION]
    return [b.xor(v[i], v[i + 8]) for i in range(8)] + [b.xor(v[i + 8], cv[i]) for i in range(8)]


def transposed(b: ir.IRBuilder, rows: list[ir.Value]) -> list[ir.Value]:
    """A square of words transposed: swap off-diagonal squares of half the side, of a quarter, and so on."""
    rows, n = list(rows), len(rows)
    h = n // 2
    while h:
        low = [j if not j & h else j - h + n for j in range(n)]
        high = [j + h if not j & h else j + n for j in range(n)]
        masks = [ir.Constant(ir.VectorType(I32, n), mask) for mask in (low, high)]
        for i in range(n):
            if not i & h:
                pair = rows[i], rows[i + h]
                rows[i], rows[i + h] = (b.shuffle_vector(*pair, mask) for mask in masks)
        h //= 2
    return rows


def load_words(b: ir.IRBuilder, ty: Any, address: ir.Value, n: int, stride: Any, align: int) -> list[ir.Value]:
    """n values of type ty, `stride` bytes (an int or an i64 value) apart."""
    step = stride if isinstance(stride, ir.Value) else I64(stride)
    loaded = []
    for _ in range(n):
        loaded.append(b.load(b.inttoptr(address, ty.as_pointer()), align=align))
        address = b.add(address, step)
    return loaded


def store_words(b: ir.IRBuilder, address: ir.Value, values: list[ir.Value], stride: int) -> None:
    for i, x in enumerate(values):
        b.store(x, b.inttoptr(b.add(address, I64(stride * i)), x.type.as_pointer()), align=4)


def _spread(b: ir.IRBuilder, ty: ir.VectorType, x: ir.Value) -> ir.Value:
    first = b.insert_element(ir.Constant(ty, ir.Undefined), x, ir.Constant(I32, 0))
    return b.shuffle_vector(first, first, ir.Constant(ir.VectorType(I32, ty.count), [0] * ty.count))


@operation
def compress(b, out, cv, block, counter, length, flags):
    """One compression.  In: cv 32 bytes, block 64 bytes.  Out: 64 bytes, the chaining value first; out may be cv or block."""
    tail = [b.trunc(x, I32) for x in (counter, b.lshr(counter, I64(32)), length, flags)]
    store_words(b, out, rounds(b, load_words(b, I32, cv, 8, 4, 4), load_words(b, I32, block, 16, 4, 1), tail), 4)


@operation
def compress_lanes(b, out, cv, block, stride, counter, step, length, flags):
    """Sixteen compressions: lane l reads the block at `block + l stride` and has the counter `counter + l step`.

    In: cv, 8 words of 16 lanes (512 bytes).  Out: 16 words of 16 lanes (1024 bytes); out may be cv.
    """
    with cgutils.for_range(b, I64(LANES // WIDTH)) as part:
        lane = b.mul(part.index, I64(WIDTH))
        beside = ir.Constant(_COUNTS, list(range(WIDTH)))
        lanes = b.add(_spread(b, _COUNTS, lane), beside)
        counters = b.add(_spread(b, _COUNTS, counter), b.mul(lanes, _spread(b, _COUNTS, step)))
        tail = [b.trunc(x, WORDS) for x in (counters, b.lshr(counters, splat(_COUNTS, 32)))]
        tail += [_spread(b, WORDS, b.trunc(x, I32)) for x in (length, flags)]
        first, m = b.add(block, b.mul(lane, stride)), []
        for words in range(0, LANES, WIDTH):
            m += transposed(b, load_words(b, WORDS, b.add(first, I64(4 * words)), WIDTH, stride, 1))
        column = b.mul(lane, I64(4))
        value = load_words(b, WORDS, b.add(cv, column), 8, 4 * LANES, 4)
        store_words(b, b.add(out, column), rounds(b, value, m, tail), 4 * LANES)


@operation
def spread_value(b, out, value):
    """A chaining value (32 bytes) repeated in sixteen lanes (512 bytes)."""
    for i, x in enumerate(load_words(b, I32, value, 8, 4, 4)):
        store_words(b, b.add(out, I64(4 * LANES * i)), [_spread(b, WORDS, x)] * (LANES // WIDTH), 4 * WIDTH)


@operation
def transpose_lanes(b, out, state):
    """16 words of 16 lanes -> 16 rows of 64 bytes, one a lane."""
    for lane in range(0, LANES, WIDTH):
        for word in range(0, LANES, WIDTH):
            square = load_words(b, WORDS, b.add(state, I64(4 * (LANES * word + lane))), WIDTH, 4 * LANES, 4)
            store_words(b, b.add(out, I64(4 * (LANES * lane + word))), transposed(b, square), 4 * LANES)


@operation
def values_from_lanes(b, out, state):
    """The chaining values of sixteen lanes, 32 bytes each.  In: state as transpose_lanes takes it."""
    half = ir.Constant(ir.VectorType(I32, min(WIDTH, 8)), list(range(min(WIDTH, 8))))
    for lane in range(0, LANES, WIDTH):
        for word in range(0, 8, WIDTH):
            square = load_words(b, WORDS, b.add(state, I64(4 * (LANES * word + lane))), WIDTH, 4 * LANES, 4)
            rows = [b.shuffle_vector(x, x, half) for x in transposed(b, square)]
            store_words(b, b.add(out, I64(VALUE_BYTES * lane + 4 * word)), rows, VALUE_BYTES)


@operation
def copy_value(b, out, value):
    """A chaining value; out may be value."""
    store_words(b, out, load_words(b, I32, value, 8, 4, 4), 4)


@operation
def zero_block(b, block):
    """64 zero bytes."""
    store_words(b, block, [ir.Constant(I32, 0)] * 16, 4)


@operation
def copy_bytes(b, out, data, n):
    """n bytes from data to out; they do not overlap."""
    out, data = (b.inttoptr(a, cgutils.voidptr_t) for a in (out, data))
    cgutils.raw_memcpy(b, out, data, n, 1)


# The tree --------------------------------------------------------------------------------------------------------------------


@inlined
def _open_chunk(cv, block, key, data, length, counter, flags):
    """All compressions of a chunk but the last, whose inputs are left in cv and block.  In: length 0..1024.

    Out: (length, flags) of the last block; without ROOT.
    """
    copy_value(cv, key)
    out = stack(8)
    start = CHUNK_START
    while length > BLOCK_BYTES:
        compress(out, cv, data, counter, BLOCK_BYTES, flags | start)
        copy_value(cv, out)
        data += BLOCK_BYTES
        length -= BLOCK_BYTES
        start = 0
    zero_block(block)
    copy_bytes(block, data, length)
    return length, flags | start | CHUNK_END


@inlined
def _chunk_values(out, key, data, length, flags):
    """The chaining values of all chunks of a long input."""
    state = stack(128)
    cv = stack(4)
    block = stack(8)
    chunk = 0
    while CHUNK_BYTES * (chunk + LANES) <= length:
        spread_value(state, key)
        at = data + CHUNK_BYTES * chunk
        compress_lanes(state, state, at, CHUNK_BYTES, chunk, 1, BLOCK_BYTES, flags | CHUNK_START)
        for i in range(1, _CHUNK_BLOCKS - 1):
            compress_lanes(state, state, at + BLOCK_BYTES * i, CHUNK_BYTES, chunk, 1, BLOCK_BYTES, flags)
        at += BLOCK_BYTES * (_CHUNK_BLOCKS - 1)
        compress_lanes(state, state, at, CHUNK_BYTES, chunk, 1, BLOCK_BYTES, flags | CHUNK_END)
        values_from_lanes(out + VALUE_BYTES * chunk, state)
        chunk += LANES
    while CHUNK_BYTES * chunk < length:
        at = CHUNK_BYTES * chunk
        n, last = _open_chunk(cv, block, key, data + at, min(length - at, CHUNK_BYTES), chunk, flags)
        compress(block, cv, block, chunk, n, last)
        copy_value(out + VALUE_BYTES * chunk, block)
        chunk += 1


@inlined
def _parent_values(values, key_lanes, key, n, flags):
    """One level up, in place: n values -> ceil(n / 2); an odd one out moves up as it is."""
    state = stack(128)
    block = stack(8)
    pairs = n // 2
    i = 0
    while i + LANES <= pairs:
        compress_lanes(state, key_lanes, values + BLOCK_BYTES * i, BLOCK_BYTES, 0, 0, BLOCK_BYTES, flags | PARENT)
        values_from_lanes(values + VALUE_BYTES * i, state)
        i += LANES
    while i < pairs:
        compress(block, key, values + BLOCK_BYTES * i, 0, BLOCK_BYTES, flags | PARENT)
        copy_value(values + VALUE_BYTES * i, block)
        i += 1
    if n % 2:
        copy_value(values + VALUE_BYTES * pairs, values + BLOCK_BYTES * pairs)
    return pairs + n % 2


@inlined
def _hash(out, out_length, key, data, length, flags, values):
    """hash_into on addresses."""
    cv = stack(4)
    block = stack(8)
    count = (length + CHUNK_BYTES - 1) // CHUNK_BYTES
    if count <= 1:
        n, last = _open_chunk(cv, block, key, data, length, np.int64(0), flags)
    else:
        # The left subtree is the largest power of two of chunks below the whole: so pairing neighbours, level by level, gives the tree.
        _chunk_values(values, key, data, length, flags)
        key_lanes = stack(64)
        spread_value(key_lanes, key)
        while count > 2:
            count = _parent_values(values, key_lanes, key, count, flags)
        copy_value(cv, key)
        copy_bytes(block, values, BLOCK_BYTES)
        n, last = BLOCK_BYTES, flags | PARENT
    piece = stack(8)
    counter = 0
    while out_length > 0:
        compress(piece, cv, block, counter, n, last | ROOT)
        copy_bytes(out, piece, min(out_length, BLOCK_BYTES))
        out += BLOCK_BYTES
        out_length -= BLOCK_BYTES
        counter += 1


def scratch(length):
    """Room for the chaining values of an input of `length` bytes."""
    return np.empty((-(-length // CHUNK_BYTES), _VALUE_WORDS), np.uint64)


@kernel
def hash_into(out, key, data, flags, values):
    """BLAKE3 of data.

    In: data (length,) uint8; key (4,) uint64: 8 words of 32 bits; flags: 0 or the mode's flag; values: scratch(length).
    Out: out (m,) uint8, the first m bytes of the output.
    """
    _hash(row(out, 0), len(out), row(key, 0), row(data, 0), len(data), flags, row(values, 0))


@kernel
def hash_each_into(out, key, data, flags, values):
    """BLAKE3 of each row of data, (n, length) uint8, of any length: one after the other.  Out: out (n, 64); the others as in hash_into."""
    for i in range(len(out)):
        _hash(row(out, i), BLOCK_BYTES, row(key, 0), row(data, i), data.shape[1], flags, row(values, 0))


# Many messages ---------------------------------------------------------------------------------------------------------------


def room_for_messages(length):
    """Where sixteen messages of `length` bytes are put together, each in whole blocks, the rest zero."""
    return np.zeros((LANES, BLOCK_BYTES * max(1, -(-length // BLOCK_BYTES))), np.uint8)


@inlined
def _hash_blocks(out, value, at, first, length, flags):
    """compress from block `first` on of a message of at most one chunk at `at`; `value` is the one before it.  Out: 64 bytes."""
    state = stack(8)
    copy_value(state, value)
    flags |= 0 if first else CHUNK_START
    at += BLOCK_BYTES * first
    length -= BLOCK_BYTES * first
    while length > BLOCK_BYTES:
        compress(state, state, at, 0, BLOCK_BYTES, flags)
        flags &= ~CHUNK_START
        at += BLOCK_BYTES
        length -= BLOCK_BYTES
    compress(out, state, at, 0, length, flags | CHUNK_END | ROOT)


@inlined
def _hash_blocks_lanes(out, value, at, width, first, length, flags):
    """_hash_blocks of sixteen messages, `width` bytes apart.  Out: sixteen times 64 bytes."""
    state = stack(128)
    spread_value(state, value)
    flags |= 0 if first else CHUNK_START
    at += BLOCK_BYTES * first
    length -= BLOCK_BYTES * first
    while length > BLOCK_BYTES:
        compress_lanes(state, state, at, width, 0, 0, BLOCK_BYTES, flags)
        flags &= ~CHUNK_START
        at += BLOCK_BYTES
        length -= BLOCK_BYTES
    compress_lanes(state, state, at, width, 0, 0, length, flags | CHUNK_END | ROOT)
    transpose_lanes(out, state)


@kernel
def hash_many_into(out, key, fields, flags, room):
    """BLAKE3 of n messages of one length, at most a chunk, each put together from fields where they lie.

    In: fields (k, 3) int64, each (address, stride, size): message i is made of the `size` bytes at `address + i stride`, field after field;
    stride 0 for what all messages share.  room: room_for_messages(their length); the others as in hash_into.
    Out: out (n, 64) uint8.
    Cost: sixteen messages at a time; the blocks that all begin with once.
    """
    n, width, length = len(out), room.shape[1], fields[:, 2].sum()
    value, rows = stack(8), stack(128)
    copy_value(value, row(key, 0))
    first = 0
    for i in range(0, n, LANES):
        m = min(LANES, n - i)
        start = 0
        for address, stride, size in fields:
            if stride or i == 0:  # what is shared lies there already
                for lane in range(m):
                    copy_bytes(row(room, lane) + start, address + (i + lane) * stride, size)
            start += size
        if i == 0:
            shared = 0
            for _, stride, size in fields:
                if stride:
                    break
                shared += size
            while BLOCK_BYTES * (first + 1) <= min(shared, length - 1):
                at = row(room, 0) + BLOCK_BYTES * first
                compress(value, value, at, 0, BLOCK_BYTES, flags | (0 if first else CHUNK_START))
                first += 1
        if m < FEW:
            for lane in range(m):
                _hash_blocks(row(out, i + lane), value, row(room, lane), first, length, flags)
        elif m < LANES:
            _hash_blocks_lanes(rows, value, row(room, 0), width, first, length, flags)
            copy_bytes(row(out, i), rows, BLOCK_BYTES * m)
        else:
            _hash_blocks_lanes(row(out, i), value, row(room, 0), width, first, length, flags)

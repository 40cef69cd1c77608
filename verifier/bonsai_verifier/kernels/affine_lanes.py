"""Sums of many pairs of affine points of E(Fp), one inversion a batch: the vector body, with the contracts of affine.py.

A row of a pool is two cache lines, the limbs of x and those of y (lanes.py, weak).  A step is eight pairs, whose rows are loaded by
name and transposed into blocks.  A batch goes forward through its steps,

    d = x_B - x_A,      before = product,      product = product d,

inverts the product, and goes back,

    t = 1/d = before / product,      product = product d,      s = t (y_B - y_A),      x = s^2 - x_A - x_B,      y = s (x_A - x) - y_A.

The multiplier sets the pace, so all else is written between multiplications that do not wait for it: on the way forward the loads of
the next step, on the way back those, t and the product of the next step, and the last store of the step before.

Where d = 0 a step is mended before it is multiplied: d becomes 2 y_A for a doubling and 1 for opposite points.  The way back writes
nonsense for those pairs, but leaves t, and doublings are done after it.  Sums of equal or opposite points take 1.35 times as long.
"""

from typing import Any

import numpy as np
from llvmlite import ir

from .buckets import MAX_POOL_ROWS
from .cache import inner, kernel
from .fp import FP_BYTES, FP_WORDS
from .fp_lanes import FP_BLOCK, FP_LANES, fp8_inv, fp8_one
from .intrinsics import I64, operation
from .lane_machine import LANES, LIMB_MASK, VECTOR_BYTES, Limbs, Machine, Writer, together
from .lane_operations import aligned
from .lanes import (
    carry,
    difference,
    enter,
    is_zero,
    leave,
    load,
    load_rows,
    minus,
    multiply,
    multiply_self,
    negate_where,
    plus,
    product,
    reduced,
    select,
    square,
    store,
    store_rows,
    strided,
    transpose,
    weaken,
)
from .limbs import WORD_BYTES, load_word, row, rows

ROW_WORDS = 2 * FP_LANES.n
BATCH = 2048
WIDEST = 14  # with more buckets their sums leave the cache, which costs more than it saves
ROUND_COST = 150
SPARE_COLUMNS = 96  # a step that is filled up, one of nobody's, and names that are read ahead
SPARE_ROWS = 3  # x = 0; x = 1; and where the sums go of columns that fill up a step

_STEPS = BATCH // LANES
_NAME_BYTES = 4
_STEP_NAMES = LANES * _NAME_BYTES
_AHEAD = 8 * _STEP_NAMES  # how far rows are asked for ahead: the time of eight steps is that of main memory
_NAME_SHIFT = 6  # from a name, twice a row, to a row's first byte
_Y = VECTOR_BYTES
_POINT_BYTES = 2 * FP_BYTES
# A step in the scratch is three blocks: x_A; d; before, later t
_D, _T, _STEP_BYTES = FP_BLOCK, 2 * FP_BLOCK, 3 * FP_BLOCK
# The scratch: a step before the first and one after the last; blocks; a word a step
_PRODUCT = (_STEPS + 2) * _STEP_BYTES
_SLOPES, _OTHER_SLOPES = _PRODUCT + FP_BLOCK, _PRODUCT + 3 * FP_BLOCK  # y_B - y_A and y_A of this step and the next
_LAST = _PRODUCT + 5 * FP_BLOCK  # s (x_A - x) - y_A of the step before
_CASES = (
    _PRODUCT + 6 * FP_BLOCK
)  # bits: pairs that may have one x; once mended, doublings, and opposites from _OPPOSITE on
_SCRATCH_WORDS = _CASES // WORD_BYTES + _STEPS + 2
_OPPOSITE = LANES
_I1, _I32 = ir.IntType(1), ir.IntType(32)
_ZERO, _LOW_BITS = np.uint64(0), np.uint64(255)
_EIGHT_ROWS = LANES * ROW_WORDS * WORD_BYTES
_P = FP_LANES.modulus


def new_pool(n_rows: int) -> Any:
    """Room for n_rows points.  128 bytes each.  Raises ValueError: more rows than have names."""
    if n_rows + SPARE_ROWS > MAX_POOL_ROWS:
        raise ValueError(f"a pool of {n_rows} points, of which {MAX_POOL_ROWS - SPARE_ROWS} have names")
    pool = aligned((n_rows + SPARE_ROWS) * ROW_WORDS).reshape(-1, ROW_WORDS)
    pool[n_rows:] = 0
    pool[n_rows + 1, 0] = 1
    return pool


def scratch() -> Any:
    """What add_pairs keeps between its passes.  400 KiB."""
    return aligned(_SCRATCH_WORDS)


# Writers ---------------------------------------------------------------------------------------------------------------------


def _row_addresses(m: Machine, pool: Any, names: Any, offset: int) -> list[Any]:
    """Where the rows that eight names mean have `offset`."""
    b, out = m.builder, []
    first = b.inttoptr(names, _I32.as_pointer())
    for i in range(LANES):
        even = b.and_(b.load(b.gep(first, [_I32(i)]), align=4), _I32(-2))
        out.append(m.offset(b.add(pool, b.shl(b.zext(even, I64), I64(_NAME_SHIFT))), offset))
    return out


def _signs(m: Machine, names: Any) -> Any:
    """The mask of the names that mean the opposite of their row."""
    eight = m.builder.load(m.builder.inttoptr(names, ir.VectorType(_I32, LANES).as_pointer()), align=4)
    return m.builder.trunc(eight, ir.VectorType(_I1, LANES))


def _store_word(m: Machine, address: Any, word: Any) -> None:
    m.builder.store(word, m.builder.inttoptr(address, I64.as_pointer()))


def _ask(m: Machine, pool: Any, names: Any, offset: int) -> Writer:
    """Rows to be read soon."""
    for address in _row_addresses(m, pool, names, offset):
        m.prefetch(address)
    yield


def _gather(m: Machine, pool: Any, names: Any, offset: int) -> Writer:
    """The coordinate at `offset` of eight points."""
    rows = [m.load(address) for address in _row_addresses(m, pool, names, offset)]
    yield
    x = transpose(m, rows)
    yield
    return x


def _scatter(m: Machine, pool: Any, names: Any, offset: int, x: Limbs) -> Writer:
    """x to the coordinate at `offset` of eight points."""
    rows = transpose(m, x)
    yield
    for address, words in zip(_row_addresses(m, pool, names, offset), rows):
        m.store(address, 0, words)
    yield


def equal_abscissas(m: Machine, d: Limbs, limbs: int) -> Any:
    """The mask of x_B = x_A modulo p, for d = x_B - x_A + 2 p and both weak, so that d is p, 2 p or 3 p; by the first limbs of d."""
    found = None
    for k in (1, 2, 3):
        other = m.zero
        for a, b in list(zip(d, FP_LANES.limbs(k * _P)))[:limbs]:
            other = m.or_(other, m.xor(a, m.const(b)))
        same = m.is_zero(other)
        found = same if found is None else m.either(found, same)
    return found


def abscissa(m: Machine, s: Limbs, x_a: Limbs, d: Limbs) -> Writer:
    """s^2 - x_A - x_B for d = x_B - x_A + 2 p.  In: normalised but x_A weak.  Out: weak."""
    t = yield from square(m, s)
    n = FP_LANES.n
    for i, (a, b, c) in enumerate(zip(x_a, d, FP_LANES.limbs(2 * _P))):
        t[n + i] = m.sub(m.add(t[n + i], m.const(c)), m.add(m.add(a, a), b))
    return weaken(m, FP_LANES, (yield from reduced(m, FP_LANES, t)))


def ordinate(m: Machine, s: Limbs, run: Limbs, y_a: Limbs) -> Writer:
    """s run - y_A, still to be weakened.  In: s and run normalised, s run <= 2^31 p^2, y_A weak.  Out: loose, in (-4/3 p, 4/3 p)."""
    t = yield from product(m, s, run)
    n = FP_LANES.n
    for i, a in enumerate(y_a):
        t[n + i] = m.sub(t[n + i], a)
    return (yield from reduced(m, FP_LANES, t))


def halved(m: Machine, x: Limbs) -> Limbs:
    """x / 2 modulo p.  In: weak.  Out: weak."""
    odd = m.is_zero(m.and_(m.add(x[0], m.const(1)), m.const(1)))
    even = carry(m, [m.select(odd, m.add(a, m.const(c)), a) for a, c in zip(x, FP_LANES.limbs(_P))])
    up = [m.and_(m.shl(a, 51), m.const(LIMB_MASK)) for a in even[1:]]
    return [*(m.or_(m.shr(a, 1), b) for a, b in zip(even, up)), m.shr(even[-1], 1)]


def doubled(m: Machine, x: Limbs, t: Limbs, twice_y: Limbs) -> Writer:
    """2 (x, y) for t = 1/(2 y).  In: x weak, t and 2 y normalised, 2 y < 8/3 p.  Out: both coordinates, weak."""
    f = FP_LANES
    s = yield from multiply_self(m, f, x)
    s = carry(m, plus(m, s, plus(m, s, s)))
    s = yield from multiply(m, f, s, t)
    out = yield from multiply_self(m, f, s)
    out = weaken(m, f, minus(m, out, plus(m, x, x)))
    y = yield from multiply(m, f, s, difference(m, f, x, out, 2))
    return out, halved(m, weaken(m, f, minus(m, plus(m, y, y), twice_y)))


# Stages of a step ------------------------------------------------------------------------------------------------------------


def _abscissas(m: Machine, pool: Any, a: Any, c: Any, step: Any, cases: Any) -> Writer:
    """x_A and d of a step, and which pairs of it may have one x."""
    for names in (a, c):
        yield from _ask(m, pool, m.offset(names, _AHEAD), 0)
    x_a = yield from _gather(m, pool, a, 0)
    store(m, FP_LANES, step, x_a)
    x_b = yield from _gather(m, pool, c, 0)
    d = difference(m, FP_LANES, x_b, x_a, 2)
    store(m, FP_LANES, m.offset(step, _D), d)
    yield
    _store_word(m, cases, m.bits(equal_abscissas(m, d, 1)))


def _ordinates(m: Machine, pool: Any, a: Any, c: Any, ahead: Any, slopes: Any) -> Writer:
    """y_B - y_A and y_A of a step, y_B with its sign.  Asks for the rows of which the names are `ahead` bytes away."""
    for names in (a, c):
        yield from _ask(m, pool, m.builder.add(names, ahead), _Y)
    y_a = yield from _gather(m, pool, a, _Y)
    store(m, FP_LANES, m.offset(slopes, FP_BLOCK), y_a)
    y_b = yield from _gather(m, pool, c, _Y)
    y_b = negate_where(m, _signs(m, c), y_b)
    yield
    store(m, FP_LANES, slopes, difference(m, FP_LANES, y_b, y_a, 3))
    yield


def _quotients(m: Machine, step: Any, total: Any) -> Writer:
    """t of a step, from the inverse of the product up to it."""
    before = load(m, FP_LANES, m.offset(step, _T))
    store(m, FP_LANES, m.offset(step, _T), (yield from multiply(m, FP_LANES, before, load(m, FP_LANES, total))))


def _products(m: Machine, step: Any, total: Any) -> Writer:
    """product d of a step."""
    d = load(m, FP_LANES, m.offset(step, _D))
    store(m, FP_LANES, total, (yield from multiply(m, FP_LANES, load(m, FP_LANES, total), d)))


def _last_store(m: Machine, pool: Any, d: Any, last: Any) -> Writer:
    """y of a step to its rows."""
    y = weaken(m, FP_LANES, load(m, FP_LANES, last))
    yield
    yield from _scatter(m, pool, d, _Y, y)


# Operations ------------------------------------------------------------------------------------------------------------------


@operation
def _forward(b, pool, a, c, step, total, cases):
    """product = product d of a step; x_A, d and cases of the next one, whose names are at a and c."""
    m = Machine(b)
    store(m, FP_LANES, m.offset(step, _T), load(m, FP_LANES, total))
    together(_products(m, step, total), _abscissas(m, pool, a, c, m.offset(step, _STEP_BYTES), cases))


@operation
def _turn(b, pool, a, c, step, total, slopes):
    """What `_back` needs of the last step: its slopes and t, and the product of those before it."""
    m = Machine(b)
    together(_quotients(m, step, total), _ordinates(m, pool, a, c, I64(0), slopes))
    together(_products(m, step, total))


@operation
def _back(b, pool, a, c, ahead, d, d_last, step, total, slopes, next_slopes, last):
    """The sums of a step, but for the last store; that of the step done before, to d_last; and as `_turn` for the one before it."""
    m, f, x, run = Machine(b), FP_LANES, [], []
    next_step = m.builder.sub(step, I64(_STEP_BYTES))
    x_a, y_a = load(m, f, step), load(m, f, m.offset(slopes, FP_BLOCK))

    def multiplications():
        s = yield from multiply(m, f, load(m, f, m.offset(step, _T)), load(m, f, slopes))
        yield from _quotients(m, next_step, total)
        x.extend((yield from abscissa(m, s, x_a, load(m, f, m.offset(step, _D)))))
        yield from _products(m, next_step, total)
        while not run:
            yield
        store(m, f, last, (yield from ordinate(m, s, run, y_a)))

    def rest():
        yield from _last_store(m, pool, d_last, last)
        loads = _ordinates(m, pool, a, c, ahead, next_slopes)
        while not x:
            next(loads, None)
            yield
        run.extend(difference(m, f, x_a, x, 2))
        yield
        yield from _scatter(m, pool, d, 0, x)
        yield from loads

    together(multiplications(), rest())


@operation
def _end(b, pool, d, last):
    """The last store of the last step."""
    m = Machine(b)
    together(_last_store(m, pool, d, last))


@operation
def _mend(b, pool, a, c, step, cases):
    """Sorts out the pairs of a step that have one x, to `cases`; d = 2 y_A for doublings, 1 for opposite points.

    Where one step needs this more are likely to, so it asks for the rows of later steps.
    """
    m, f = Machine(b), FP_LANES
    y_a, y_b, *_ = together(
        _gather(m, pool, a, _Y),
        _gather(m, pool, c, _Y),
        *(_ask(m, pool, m.offset(names, _AHEAD), _Y) for names in (a, c)),
    )
    y_b = negate_where(m, _signs(m, c), y_b)
    d = load(m, f, m.offset(step, _D))
    one_x = equal_abscissas(m, d, f.n)
    doubling = m.both(one_x, is_zero(m, f, weaken(m, f, minus(m, y_b, y_a))))
    d = select(m, one_x, [m.const(1), *[m.zero] * (f.n - 1)], d)
    store(m, f, m.offset(step, _D), select(m, doubling, carry(m, plus(m, y_a, y_a)), d))
    opposite = m.builder.shl(m.bits(m.differ(one_x, doubling)), I64(_OPPOSITE))
    _store_word(m, cases, m.builder.or_(m.bits(doubling), opposite))


@operation
def _double(b, pool, d, step, bits, unwanted):
    """The doublings of a step, those of `bits`, to their rows; the others to row `unwanted`."""
    m, f = Machine(b), FP_LANES
    (point,) = together(doubled(m, *(load(m, f, m.offset(step, at)) for at in (0, _T, _D))))
    for offset, x in zip((0, _Y), point):
        for i, (address, words) in enumerate(zip(_row_addresses(m, pool, d, offset), transpose(m, x))):
            bit = m.builder.trunc(m.builder.lshr(bits, I64(i)), _I1)
            m.store(m.builder.select(bit, address, m.offset(unwanted, offset)), 0, words)


def _coordinate(m: Machine, rows: Any, offset: int) -> Writer:
    """The coordinate at `offset` of the points in eight rows from `rows` on."""
    x = [m.load(m.offset(rows, ROW_WORDS * WORD_BYTES * i + offset)) for i in range(LANES)]
    yield
    return transpose(m, x)


def _store_coordinate(m: Machine, rows: Any, offset: int, x: Limbs) -> None:
    for i, words in enumerate(transpose(m, x)):
        m.store(m.offset(rows, ROW_WORDS * WORD_BYTES * i + offset), 0, words)


@operation
def _double_forward(b, rows, step, total):
    """d = 2 y of eight rows, to the step with the product so far; product = product d."""
    m, f = Machine(b), FP_LANES
    (y,) = together(_coordinate(m, rows, _Y))
    d = carry(m, plus(m, y, y))
    store(m, f, m.offset(step, _D), d)
    product_so_far = load(m, f, total)
    store(m, f, m.offset(step, _T), product_so_far)
    (found,) = together(multiply(m, f, product_so_far, d))
    store(m, f, total, found)


@operation
def _double_turn(b, step, total):
    """t of the last step, and the product of those before it."""
    m = Machine(b)
    together(_quotients(m, step, total))
    together(_products(m, step, total))


@operation
def _double_back(b, rows, step, total):
    """The eight rows of a step, doubled; t of the step before it, and the product of those before that."""
    m, f = Machine(b), FP_LANES
    before = m.builder.sub(step, I64(_STEP_BYTES))

    def quotients():
        yield from _quotients(m, before, total)
        yield from _products(m, before, total)

    def doubling():
        x = yield from _coordinate(m, rows, 0)
        point = yield from doubled(m, x, load(m, f, m.offset(step, _T)), load(m, f, m.offset(step, _D)))
        for offset, coordinate in zip((0, _Y), point):
            _store_coordinate(m, rows, offset, coordinate)
            yield

    together(doubling(), quotients())


@operation
def _put(b, rows, points, absent):
    """Eight points of words from `points` on -> eight rows, and eight bytes: 1 for infinity."""
    m = Machine(b)
    sources = strided(m, points, I64(_POINT_BYTES))
    any_bit = m.zero
    for offset, at in ((0, 0), (FP_BYTES, _Y)):
        words = load_rows(m, [m.offset(s, offset) for s in sources], FP_WORDS)
        for w in words:
            any_bit = m.or_(any_bit, w)
        limbs = transpose(m, enter(m, FP_LANES, words))
        for i, x in enumerate(limbs):
            m.store(m.offset(rows, ROW_WORDS * WORD_BYTES * i + at), 0, x)
    m.store_bytes(absent, m.select(m.is_zero(any_bit), m.const(1), m.zero))


@operation
def _take(b, out, pool, names):
    """The points that eight names mean, as words."""
    m = Machine(b)
    for offset, at in ((0, 0), (FP_BYTES, _Y)):
        (x,) = together(_gather(m, pool, names, at))
        if at:
            x = weaken(m, FP_LANES, negate_where(m, _signs(m, names), x))
        store_rows(m, strided(m, m.offset(out, offset), I64(_POINT_BYTES)), leave(m, FP_LANES, x))


# Kernels ---------------------------------------------------------------------------------------------------------------------


def put_points(pool: Any, first: int, points: Any, absent: Any) -> None:
    """As the portable body says."""
    whole = len(points) - len(points) % LANES
    _put_whole(pool[first:], points[:whole], absent)
    if rest := len(points) - whole:
        padded = np.zeros((LANES, 2 * FP_WORDS), np.uint64)
        padded[:rest] = points[whole:]
        eight, flags = new_pool(LANES), np.empty(LANES, np.bool_)
        _put_whole(eight, rows(padded, 2 * FP_WORDS), flags)
        pool[first + whole : first + len(points)], absent[whole:] = eight[:rest], flags[:rest]


@kernel
def _put_whole(pool, points, absent):
    """For a multiple of eight points, to the first rows."""
    for i in range(0, len(points), LANES):
        _put(row(pool, i), row(points, i), row(absent, i))


def take_points(out: Any, pool: Any, names: Any) -> None:
    """As the portable body says."""
    padded = np.full(-(-len(names) // LANES) * LANES, 2 * (len(pool) - SPARE_ROWS), np.int32)  # x = 0, y = 0
    padded[: len(names)][names >= 0] = names[names >= 0]
    points = np.empty((len(padded), 2 * FP_WORDS), np.uint64)
    _take_whole(points, pool, padded)
    out[:] = points[: len(names)]


@kernel
def _take_whole(out, pool, names):
    """For a multiple of eight names, none of them NONE."""
    for i in range(0, len(names), LANES):
        _take(row(out, i), row(pool, 0), row(names, i))


@kernel
def add_pairs(pool, pairs, infinite, n, scratch):
    """As the portable body says."""
    infinite[:n] = 0
    end, spare = -(-n // LANES) * LANES, 2 * (len(pool) - SPARE_ROWS)
    for i in range(n, end + LANES):
        pairs[0, i], pairs[1, i], pairs[2, i] = spare, spare + 2, spare + 4
    rows, base = row(pool, 0), row(scratch, 0)
    steps, total, last, cases = base + _STEP_BYTES, base + _PRODUCT, base + _LAST, base + _CASES
    idle_a, idle_b, idle_d = _at(pairs, 0, end), _at(pairs, 1, end), _at(pairs, 2, end)
    for start in range(0, n, BATCH):
        count = -(-min(BATCH, n - start) // LANES)
        a, b, d = _at(pairs, 0, start), _at(pairs, 1, start), _at(pairs, 2, start)
        _forward(rows, a, b, steps - _STEP_BYTES, total, cases)
        fp8_one(total)
        mended = False
        for i in range(count):
            step, case, at = steps + i * _STEP_BYTES, cases + i * WORD_BYTES, i * _STEP_NAMES
            if load_word(case) != _ZERO:
                mended = True
                _mend(rows, a + at, b + at, step, case)
                _report(infinite, start + i * LANES, np.int64(load_word(case)) >> _OPPOSITE)
            more = i + 1 < count
            next_a, next_b = (a + at + _STEP_NAMES, b + at + _STEP_NAMES) if more else (idle_a, idle_b)
            _forward(rows, next_a, next_b, step, total, case + WORD_BYTES)
        fp8_inv(total, total)
        at = (count - 1) * _STEP_NAMES
        slopes, next_slopes = base + _SLOPES, base + _OTHER_SLOPES
        _turn(rows, a + at, b + at, steps + (count - 1) * _STEP_BYTES, total, slopes)
        d_last = idle_d
        for i in range(count - 1, -1, -1):
            at = i * _STEP_NAMES
            next_a, next_b = (a + at - _STEP_NAMES, b + at - _STEP_NAMES) if i else (idle_a, idle_b)
            ahead = -_AHEAD if at > _AHEAD else 0
            _back(
                rows, next_a, next_b, ahead, d + at, d_last, steps + i * _STEP_BYTES, total, slopes, next_slopes, last
            )
            slopes, next_slopes, d_last = next_slopes, slopes, d + at
        _end(rows, d_last, last)
        if mended:
            for i in range(count):
                doublings = np.int64(load_word(cases + i * WORD_BYTES) & _LOW_BITS)
                if doublings:
                    _double(rows, d + i * _STEP_NAMES, steps + i * _STEP_BYTES, doublings, row(pool, len(pool) - 1))


@kernel
def double_rows(pool, first, n, scratch):
    """As the portable body says."""
    base = row(scratch, 0)
    steps, total = base + _STEP_BYTES, base + _PRODUCT
    whole, rest = n - n % LANES, n % LANES
    last = np.empty((LANES, ROW_WORDS), np.uint64)
    at = row(last, 0)
    for start in range(0, whole, BATCH):
        count = min(BATCH, whole - start) // LANES
        _double_batch(row(pool, first + start), count, steps, total)
    if rest:
        for i in range(LANES):
            last[i] = pool[first + whole + min(i, rest - 1)]
        _double_batch(at, 1, steps, total)
        for i in range(rest):
            pool[first + whole + i] = last[i]
    last[0] = _ZERO  # kept until here


@inner
def _double_batch(rows, count, steps, total):
    fp8_one(total)
    for i in range(count):
        _double_forward(rows + i * _EIGHT_ROWS, steps + i * _STEP_BYTES, total)
    fp8_inv(total, total)
    _double_turn(steps + (count - 1) * _STEP_BYTES, total)
    for i in range(count - 1, -1, -1):
        _double_back(rows + i * _EIGHT_ROWS, steps + i * _STEP_BYTES, total)


@inner
def _at(pairs, i, column):
    """Address of pairs[i, column]."""
    return row(pairs, i) + column * _NAME_BYTES


@inner
def _report(infinite, first, opposite):
    """infinite[first + j] = 1 for the bits j of `opposite`."""
    for j in range(LANES):
        if opposite >> j & 1:
            infinite[first + j] = 1

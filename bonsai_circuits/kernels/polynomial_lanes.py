"""The vector body of polynomial.py, on coefficients in lanes: lane l of block b is coefficient l M + b (ntt_lanes.py)."""

import numpy as np

from bonsai_verifier import field
from bonsai_verifier.kernels.cache import kernel
from bonsai_verifier.kernels.fr import FR_BYTES, fr_add, fr_copy, fr_mul
from bonsai_verifier.kernels.fr_lanes import FR_BLOCK, FR_LANES, fr8_enter, fr8_leave, fr8_sqr2, fr8_zero
from bonsai_verifier.kernels.intrinsics import formula, operation
from bonsai_verifier.kernels.lane_machine import LANES, LIMB_BITS, Machine, together
from bonsai_verifier.kernels.lanes import (
    carry,
    difference,
    exact,
    load,
    minus,
    plus,
    product,
    product_columns,
    reduce,
    reduced,
    store,
    store_rows,
    strided,
    weaken,
    words_from_limbs,
)
from bonsai_verifier.kernels.limbs import row, stack
from bonsai_verifier.parameters import FR_MODULUS

# Writers ---------------------------------------------------------------------------------------------------------------------


def quotient_and_rest(m, s, b, a, before, factors):
    """q = (s - b) c + a d_0 + before d_1, and b - q.  In: weak, factors below r.  Out: weak.

    The columns are of 10/3 r^2 + 2 4/3 r^2 = 6 r^2 at most; b - q is in (-4/3 r, 4/3 r).
    """
    f = FR_LANES
    c, d0, d1 = factors
    t = yield from product(m, difference(m, f, s, b, 2), c)
    q = yield from reduce(m, f, product_columns(m, before, d1, product_columns(m, a, d0, t)))
    return [*q, *weaken(m, f, minus(m, b, q))]


def horner(m, acc, f, x):
    """acc x + f.  In: acc normalised, below 2.5 r; f weak; x below r.  Out: as acc, for 2.5/35 r + 1.001 r + 4/3 r < 2.5 r."""
    return carry(m, plus(m, (yield from reduced(m, FR_LANES, (yield from product(m, acc, x)))), f))


def plain_words(m, x):
    """The canonical words.  In: normalised, below 2.5 r: the reduction leaves less than 1.1 r."""
    f = FR_LANES
    (x,) = together(reduce(m, f, [*x, *[m.zero] * f.n]))
    return words_from_limbs(m, f, exact(m, f, x))


def next_lane(m, x):
    """Lane l of the result is lane l - 1, and 0 in lane 0."""
    return [m.shuffle(limb, m.zero, [LANES, *range(LANES - 1)]) for limb in x]


# Operations ------------------------------------------------------------------------------------------------------------------


def _read(m, *addresses):
    return [load(m, FR_LANES, a) for a in addresses]


@operation
def _quotient_block(b, s, old, a, before, factors):
    """s <- q, old <- old - q."""
    m = Machine(b)
    c = _read(m, *(m.offset(factors, FR_BLOCK * i) for i in range(3)))
    (out,) = together(quotient_and_rest(m, *_read(m, s, old, a, before), c))
    store(m, FR_LANES, s, out[: FR_LANES.n])
    store(m, FR_LANES, old, out[FR_LANES.n :])


@operation
def _next_lane(b, d, x):
    m = Machine(b)
    store(m, FR_LANES, d, next_lane(m, load(m, FR_LANES, x)))


@operation
def _horner(b, acc, f, x):
    m = Machine(b)
    store(m, FR_LANES, acc, *together(horner(m, *_read(m, acc, f, x))))


@operation
def _horner_2(b, acc, f, acc_2, f_2, x):
    m = Machine(b)
    power = load(m, FR_LANES, x)
    results = together(*(horner(m, *_read(m, at, g), power) for at, g in ((acc, f), (acc_2, f_2))))
    for at, y in zip((acc, acc_2), results):
        store(m, FR_LANES, at, y)


@operation
def _write_plain(b, a, stride, x):
    """Eight rows of canonical words from a on."""
    m = Machine(b)
    store_rows(m, strided(m, a, stride), plain_words(m, load(m, FR_LANES, x)))


@operation
def _weaken(b, x):
    """In: as `horner` leaves it.  Out: weak."""
    m = Machine(b)
    store(m, FR_LANES, x, weaken(m, FR_LANES, load(m, FR_LANES, x)))


@formula
def _carry_in(chunk, acc, power):
    """The carry into a chunk for its value; acc becomes that out of it."""
    t = stack(4)
    fr_mul(t, acc, power)
    fr_add(t, t, chunk)
    fr_copy(chunk, acc)
    fr_copy(acc, t)


@kernel
def _quotient(s, b, a, n, factors):
    before, c = stack(40), stack(120)
    for i in range(3):
        fr8_enter(c + FR_BLOCK * i, row(factors, i), 0)
    _next_lane(before, row(a, n - 1))
    _quotient_block(row(s, 0), row(b, 0), row(a, 0), before, c)
    for i in range(1, n):
        _quotient_block(row(s, i), row(b, i), row(a, i), row(a, i - 1), c)


@kernel
def _divide(out, value, f, n, x):
    """Sixteen chunks at once: of each lane the blocks from n // 2 on, and those below.

    First f of each chunk at x, then, from the top, the carry into each, then Horner again with the right carries.
    In: x (3, 4): x, and its powers to the lengths of the chunks.
    """
    power, upper, lower = stack(40), stack(40), stack(40)
    chunks, acc = stack(64), stack(4)  # 16 rows
    h, stride = n // 2, n * FR_BYTES
    fr8_enter(power, row(x, 0), 0)
    fr8_zero(upper)
    fr8_zero(lower)
    if n > 2 * h:
        _horner(upper, row(f, n - 1), power)
    for i in range(h - 1, -1, -1):
        _horner_2(upper, row(f, h + i), lower, row(f, i), power)
    _weaken(upper)
    _weaken(lower)
    fr8_leave(chunks, FR_BYTES, upper)
    fr8_leave(chunks + LANES * FR_BYTES, FR_BYTES, lower)
    fr_copy(acc, row(value, 0))
    for lane in range(LANES - 1, -1, -1):
        for half in range(2):
            chunk = chunks + FR_BYTES * (lane + LANES * half)
            _carry_in(chunk, acc, row(x, 1 + half))
    fr_copy(row(value, 0), acc)
    fr8_enter(upper, chunks, FR_BYTES)
    fr8_enter(lower, chunks + LANES * FR_BYTES, FR_BYTES)
    if n > 2 * h:
        _write_plain(row(out, n - 1), stride, upper)
        _horner(upper, row(f, n - 1), power)
    for i in range(h - 1, -1, -1):
        _write_plain(row(out, h + i), stride, upper)
        _write_plain(row(out, i), stride, lower)
        _horner_2(upper, row(f, h + i), lower, row(f, i), power)


@kernel
def _canonical(out, x, n):
    for b in range(n):
        _write_plain(row(out, b), n * FR_BYTES, row(x, b))


@kernel
def _square(x):
    for b in range(0, len(x), 2):
        fr8_sqr2(row(x, b), row(x, b), row(x, b + 1), row(x, b + 1))


def square(transforms, x):
    _square(x)


def quotient(transforms, s, b, a, c, d0, d1):
    _quotient(s, b, a, transforms.n_blocks, field.fr_from_ints([c, d0, d1]))


def divide(transforms, out, f, x, carry):
    n = transforms.n_blocks
    value = field.fr_from_ints([carry])
    powers = [x, pow(x, n - n // 2, FR_MODULUS), pow(x, n // 2, FR_MODULUS)]
    _divide(out, value, f, n, field.fr_from_ints(powers))
    return field.fr_to_ints(value)[0]


def canonical(transforms, out, x):
    _canonical(out, x, transforms.n_blocks)


def coefficient(transforms, x, i):
    lane, block = divmod(i, transforms.n_blocks)
    number = sum(int(limb) << LIMB_BITS * j for j, limb in enumerate(x[block, :, lane]))
    return number * pow(FR_LANES.radix, -1, FR_MODULUS) % FR_MODULUS


def set_coefficient(transforms, x, i, value):
    lane, block = divmod(i, transforms.n_blocks)
    x[block, :, lane] = np.array(FR_LANES.limbs(value * FR_LANES.radix % FR_MODULUS), np.uint64)

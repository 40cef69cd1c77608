"""The vector body of ntt.py: N = 8 M numbers as M blocks of eight lanes (bonsai_verifier/kernels/lanes.py).

Two forms, and the transform leads from one to the other, so that nothing is ever shuffled into place:

    coefficients   lane l of block b is f_(l M + b)
    values         lane l of block b is f(w^(8 b + l)), blocks in the order of the plan of length M

f(w^(8 t + u)) = sum_b (w^8)^(b t) [ w^(b u) sum_l f_(l M + b) w_8^(l u) ] for u < 8: a transform of eight points across the lanes, a
factor w^(b u) for lane u of block b, and a transform of length M over blocks, in which all lanes do the same, so that its twiddle
factors are broadcast from 40 bytes each.  The inverse is the same backwards.  Across the lanes, eight blocks are transposed, so that
lane l of all is one block, and back.  On a coset c H, c^b goes into the factor of the block, c^(l M) comes before the eight points.

Blocks are weak between operations.  Values inside are bounded where they are made, and by tests on intervals.
"""

import numpy as np

from bonsai_verifier import field
from bonsai_verifier.kernels.cache import inlined, inner, kernel
from bonsai_verifier.kernels.fr import FR_BYTES, FR_WORDS
from bonsai_verifier.kernels.fr_lanes import (
    FR_BLOCK,
    FR_LANES,
    fr8_copy,
    fr8_enter,
    fr8_leave,
    fr8_mul,
    fr8_mul2,
    fr8_sub,
)
from bonsai_verifier.kernels.intrinsics import I64, operation
from bonsai_verifier.kernels.lane_machine import LANES, LIMB_BITS, LIMB_MASK, Machine, in_sequence, together
from bonsai_verifier.kernels.lane_operations import blocks
from bonsai_verifier.kernels.lanes import (
    carry,
    difference,
    fold,
    load,
    minus,
    multiply,
    plus,
    product_columns,
    reduced,
    store,
    transpose,
    weaken,
)
from bonsai_verifier.kernels.limbs import row, stack
from bonsai_verifier.parameters import FR_MODULUS

from .ntt import ODD_RADICES, order, outer_stages, plan, powers

FACTOR_BYTES = 8 * FR_LANES.n  # one number for all lanes, as words of 52 bits
_ROW = FACTOR_BYTES  # of a table of such numbers


# Writers ---------------------------------------------------------------------------------------------------------------------


def less(m, x, k):
    """x - k r, loose."""
    return [m.sub(a, m.const(k * c)) for a, c in zip(x, FR_LANES.limbs(FR_MODULUS))]


def cross(m, a, b, c, d, i4):
    """The transform of four numbers, each as the pair of what is to be added and subtracted.  In: weak; i4 = w_4 below r.

    Out: (t0, t2), (t1, t3) with y_0, y_2 = t0 +- t2 and y_1, y_3 = t1 +- t3; if the numbers are below 4/3 r,
    t0, t2 in [0, 8/3 r), t1 in (-4/3 r, 4/3 r), t3 in [0, 1.1 r), for 10/3 r^2 / R < 0.095 r.
    """
    (t3,) = together(multiply(m, FR_LANES, difference(m, FR_LANES, b, d, 2), i4))
    return (plus(m, a, c), plus(m, b, d)), (minus(m, a, c), t3)


def forward_4(m, xs, ws, i4):
    """The stage of radix 4: y_0, y_1 w_1, y_2 w_2, y_3 w_3.  In: xs weak, ws below r or none for 1.  Out: weak.

    y_0 - 2 r is in [-2 r, 10/3 r).  y_1 in (-4/3 r, 2.44 r), y_3 in (-2.44 r, 4/3 r), y_2 in (-8/3 r, 8/3 r): so 6 r^2 at most is reduced.
    """
    f = FR_LANES
    (t0, t2), (t1, t3) = cross(m, *xs, i4)
    y0 = weaken(m, f, less(m, plus(m, t0, t2), 2))
    if not ws:
        return [y0, weaken(m, f, plus(m, t1, t3)), weaken(m, f, minus(m, t0, t2)), weaken(m, f, minus(m, t1, t3))]
    zero = [m.zero] * f.n
    operands = difference(m, f, plus(m, t1, t3), zero, 2), difference(m, f, t0, t2, 3), difference(m, f, t1, t3, 3)
    return [y0, *in_sequence(*(multiply(m, f, y, w) for y, w in zip(operands, ws)))]


def backward_4(m, xs, ws, i4):
    """The transform of x_0, x_1 w_1, x_2 w_2, x_3 w_3.  In: xs weak, ws below r.  Out: weak.

    A product of these is below 1.04 r, so sums of four less 2 r are in [-2 r, 2.46 r) and differences of two sums in (-2.2 r, 2.5 r).
    """
    f = FR_LANES
    xs = [xs[0], *in_sequence(*(multiply(m, f, x, w) for x, w in zip(xs[1:], ws)))]
    (t0, t2), (t1, t3) = cross(m, *xs, i4)
    first = weaken(m, f, less(m, plus(m, t0, t2), 2))
    return [first, weaken(m, f, plus(m, t1, t3)), weaken(m, f, minus(m, t0, t2)), weaken(m, f, minus(m, t1, t3))]


def forward_2(m, x, y, w):
    """x + y, (x - y) w.  In: weak, w below r.  Out: weak."""
    f = FR_LANES
    return [weaken(m, f, plus(m, x, y)), *together(multiply(m, f, difference(m, f, x, y, 2), w))]


def backward_2(m, x, y, w):
    """x + y w, x - y w.  In: weak, w below r.  Out: weak."""
    f = FR_LANES
    (y,) = together(multiply(m, f, y, w))
    return [weaken(m, f, plus(m, x, y)), weaken(m, f, minus(m, x, y))]


def sum_and_difference(m, x, y):
    """x + y below 8/3 r, and x - y + 2 r in (2/3 r, 10/3 r), both normalised.  In: weak."""
    return [carry(m, plus(m, x, y)), difference(m, FR_LANES, x, y, 2)]


def close_pair(m, first, even, odd):
    """X_k and X_(p-k) = x_0 + E +- O from the columns of E and O.  In: x_0 weak; at most nine products in each.  Out: weak.

    E: 9 (8/3 r) r / R < 0.681 r, so in [0, 1.682 r); O: 9 (10/3 r) r / R < 0.851 r, so in [0, 1.852 r).
    Then X_k - r is in [-r, 3.87 r), X_(p-k) in (-1.86 r, 3.02 r).
    """
    f = FR_LANES
    even, odd = in_sequence(reduced(m, f, even), reduced(m, f, odd))
    middle = plus(m, first, even)
    return [weaken(m, f, less(m, plus(m, middle, odd), 1)), weaken(m, f, minus(m, middle, odd))]


def total(m, xs):
    """The sum of at most 26 weak numbers, 26 4/3 r < R.  Out: weak."""
    out = xs[0]
    for x in xs[1:]:
        out = plus(m, out, x)
    return fold(m, FR_LANES, carry(m, out))


# Operations ------------------------------------------------------------------------------------------------------------------


def _factor(m, address, i=0):
    """Number i from `address` on, in all lanes."""
    at = m.offset(address, FACTOR_BYTES * i)
    return [m.broadcast(at, k) for k in range(FR_LANES.n)]


def _places(b, x, step, p):
    return [x, *(b.add(x, b.mul(step, I64(i))) for i in range(1, p))]


def _apply(b, x, step, p, write):
    """write(m, numbers) in the place of p blocks, `step` bytes apart."""
    m, places = Machine(b), _places(b, x, step, p)
    for at, y in zip(places, write(m, [load(m, FR_LANES, at) for at in places])):
        store(m, FR_LANES, at, y)


@operation
def _forward_4(b, x, step, w, i4):
    _apply(b, x, step, 4, lambda m, xs: forward_4(m, xs, [_factor(m, w, i) for i in range(3)], _factor(m, i4)))


@operation
def _cross_4(b, x, step, i4):
    _apply(b, x, step, 4, lambda m, xs: forward_4(m, xs, [], _factor(m, i4)))


@operation
def _backward_4(b, x, step, w, i4):
    _apply(b, x, step, 4, lambda m, xs: backward_4(m, xs, [_factor(m, w, i) for i in range(3)], _factor(m, i4)))


@operation
def _forward_2(b, x, step, w):
    _apply(b, x, step, 2, lambda m, xs: forward_2(m, *xs, _factor(m, w)))


@operation
def _backward_2(b, x, step, w):
    _apply(b, x, step, 2, lambda m, xs: backward_2(m, *xs, _factor(m, w)))


@operation
def _twist_block(b, x, w):
    """x times one number for all lanes."""
    m = Machine(b)
    store(m, FR_LANES, x, *together(multiply(m, FR_LANES, load(m, FR_LANES, x), _factor(m, w))))


@operation
def _pair(b, sums, differences, x, y):
    m = Machine(b)
    for at, z in zip((sums, differences), sum_and_difference(m, load(m, FR_LANES, x), load(m, FR_LANES, y))):
        store(m, FR_LANES, at, z)


def _total(p):
    def write(b, x, step):
        m = Machine(b)
        store(m, FR_LANES, x, total(m, [load(m, FR_LANES, at) for at in _places(b, x, step, p)]))

    return operation(write, f"total_{p}")


def _outputs(p):
    """d, e: X_k and X_(p-k), from x_0, the sums and differences of pairs, and the constants of k."""

    def write(b, d, e, first, sums, differences, constants):
        m, n = Machine(b), FR_LANES.n
        even, odd = [m.zero] * (2 * n), [m.zero] * (2 * n)
        for i in range(p // 2):
            even = product_columns(
                m, load(m, FR_LANES, m.offset(sums, FR_BLOCK * i)), _factor(m, constants, 2 * i), even
            )
            pair = load(m, FR_LANES, m.offset(differences, FR_BLOCK * i))
            odd = product_columns(m, pair, _factor(m, constants, 2 * i + 1), odd)
        for at, x in zip((d, e), close_pair(m, load(m, FR_LANES, first), even, odd)):
            store(m, FR_LANES, at, x)

    return operation(write, f"outputs_{p}")


_total_3, _total_11, _total_19 = (_total(p) for p in ODD_RADICES)
_outputs_3, _outputs_11, _outputs_19 = (_outputs(p) for p in ODD_RADICES)


def _transposition(name, positions):
    def write(b, d, x):
        """Lane j of block i of x is lane i of block positions_j of d."""
        m = Machine(b)
        for limb in range(FR_LANES.n):
            lanes = transpose(m, [m.load(m.offset(x, FR_BLOCK * i), limb) for i in range(LANES)])
            for j in range(LANES):
                m.store(m.offset(d, FR_BLOCK * positions[j]), limb, lanes[j])

    return operation(write, name)


def _untransposition(name, positions):
    def write(b, d, x):
        """Lane j of block i of d is lane i of block positions_j of x."""
        m = Machine(b)
        for limb in range(FR_LANES.n):
            rows = transpose(m, [m.load(m.offset(x, FR_BLOCK * positions[j]), limb) for j in range(LANES)])
            for i in range(LANES):
                m.store(m.offset(d, FR_BLOCK * i), limb, rows[i])

    return operation(write, name)


_EIGHT = (0, 4, 1, 5, 2, 6, 3, 7)  # where y_k stands after a stage of radix 2 and one of radix 4 on eight blocks
_to_blocks = _transposition("to_blocks", range(LANES))
_to_lanes = _untransposition("to_lanes", _EIGHT)
_to_lanes_back = _untransposition("to_lanes_back", [_EIGHT[-k % LANES] for k in range(LANES)])  # y_(-k): the inverse


@inner
def _odd(x, step, p, constants):
    """The transform of p <= 19 blocks `step` bytes apart, in place."""
    h = p // 2
    first, sums, differences = stack(40), stack(360), stack(360)  # 9 blocks
    fr8_copy(first, x)
    for i in range(h):
        _pair(sums + FR_BLOCK * i, differences + FR_BLOCK * i, x + step * (i + 1), x + step * (p - 1 - i))
    if p == 19:
        _total_19(x, step)
    elif p == 11:
        _total_11(x, step)
    else:
        _total_3(x, step)
    for k in range(h):
        d, e, c = x + step * (k + 1), x + step * (p - 1 - k), constants + 2 * _ROW * h * k
        if p == 19:
            _outputs_19(d, e, first, sums, differences, c)
        elif p == 11:
            _outputs_11(d, e, first, sums, differences, c)
        else:
            _outputs_3(d, e, first, sums, differences, c)


@inner
def _twist(x, step, p, w):
    """Blocks 1 .. p - 1 times their twiddle factors."""
    for k in range(1, p):
        _twist_block(x + step * k, w + _ROW * (k - 1))


@inner
def _forward(x, p, n, twiddles, constants):
    """One stage on the n blocks from x on."""
    q = n // p
    step = FR_BLOCK * q
    for j in range(q):
        a, w = x + FR_BLOCK * j, twiddles + _ROW * (p - 1) * j
        if p == 4 and q > 1:
            _forward_4(a, step, w, constants)
        elif p == 4:
            _cross_4(a, step, constants)
        elif p == 2:
            _forward_2(a, step, w)
        else:
            _odd(a, step, p, constants)
            if q > 1:
                _twist(a, step, p, w)


@inner
def _backward(x, p, n, twiddles, constants):
    q = n // p
    step = FR_BLOCK * q
    for j in range(q):
        a, w = x + FR_BLOCK * j, twiddles + _ROW * (p - 1) * j
        if p == 4 and q > 1:
            _backward_4(a, step, w, constants)
        elif p == 4:
            _cross_4(a, step, constants)
        elif p == 2:
            _backward_2(a, step, w)
        else:
            if q > 1:
                _twist(a, step, p, w)
            _odd(a, step, p, constants)


@kernel
def ntt8_forward(x, n, stages, table, outer):
    """All stages on the first n blocks, in place.  In: a plan with sign 1; the number of its outer stages."""
    chunk = n
    for s in range(outer):
        p, length = stages[s, 0], stages[s, 1]
        for start in range(0, n, length):
            _forward(row(x, start), p, length, row(table, stages[s, 2]), row(table, stages[s, 3]))
        chunk = length // p
    for first in range(0, n, chunk):
        for s in range(outer, len(stages)):
            p, length = stages[s, 0], stages[s, 1]
            for start in range(first, first + chunk, length):
                _forward(row(x, start), p, length, row(table, stages[s, 2]), row(table, stages[s, 3]))


@kernel
def ntt8_backward(x, n, stages, table, outer):
    """All stages of a plan with sign -1 backwards, in place: n times the inverse of `ntt8_forward`."""
    chunk = n
    if outer:
        chunk = stages[outer - 1, 1] // stages[outer - 1, 0]
    for first in range(0, n, chunk):
        for s in range(len(stages) - 1, outer - 1, -1):
            p, length = stages[s, 0], stages[s, 1]
            for start in range(first, first + chunk, length):
                _backward(row(x, start), p, length, row(table, stages[s, 2]), row(table, stages[s, 3]))
    for s in range(outer - 1, -1, -1):
        p, length = stages[s, 0], stages[s, 1]
        for start in range(0, n, length):
            _backward(row(x, start), p, length, row(table, stages[s, 2]), row(table, stages[s, 3]))


# Across the lanes ------------------------------------------------------------------------------------------------------------


@inlined
def _times_constant(x, c):
    """Eight blocks times one."""
    for i in range(0, LANES, 2):
        fr8_mul2(x + FR_BLOCK * i, x + FR_BLOCK * i, c, x + FR_BLOCK * (i + 1), x + FR_BLOCK * (i + 1), c)


@inlined
def _eight_points(x, eight):
    """The transform of eight blocks.  In: eight, rows 1, w_8, w_8^2, w_8^3, w_4."""
    for j in range(4):
        _forward_2(x + FR_BLOCK * j, 4 * FR_BLOCK, eight + _ROW * j)
    for half in range(2):
        _cross_4(x + 4 * FR_BLOCK * half, FR_BLOCK, eight + _ROW * 4)


@kernel
def lanes_forward(x, factors, before, eight):
    """Times `before` if it is not empty, eight points across the lanes, times the factors.  In place; len(x) a multiple of 8."""
    t = stack(320)  # 8 blocks
    for g in range(0, len(x), LANES):
        a = row(x, g)
        if len(before):
            _times_constant(a, row(before, 0))
        _to_blocks(t, a)
        _eight_points(t, row(eight, 0))
        _to_lanes(a, t)
        for i in range(0, LANES, 2):
            c, d = a + FR_BLOCK * i, a + FR_BLOCK * (i + 1)
            fr8_mul2(c, c, row(factors, g + i), d, d, row(factors, g + i + 1))


@kernel
def lanes_backward(out, x, few, factors, after, eight):
    """x, less the block `few` everywhere if there is one; times the factors, eight points backwards, times `after` if there is one."""
    t, u = stack(320), stack(320)
    for g in range(0, len(x), LANES):
        for i in range(0, LANES, 2):
            c, d = row(x, g + i), row(x, g + i + 1)
            if len(few):
                fr8_sub(u, c, row(few, 0))
                fr8_sub(u + FR_BLOCK, d, row(few, 0))
                c, d = u, u + FR_BLOCK
            e = row(out, g + i)
            fr8_mul2(e, c, row(factors, g + i), e + FR_BLOCK, d, row(factors, g + i + 1))
        a = row(out, g)
        _to_blocks(t, a)
        _eight_points(t, row(eight, 0))
        _to_lanes_back(a, t)
        if len(after):
            _times_constant(a, row(after, 0))


# Words -----------------------------------------------------------------------------------------------------------------------


@kernel
def enter_blocks(out, words, places, between, apart):
    """Block places_b of out is eight rows of `words`, from row b `between` on, `apart` rows from each other."""
    for b in range(len(places)):
        fr8_enter(row(out, places[b]), row(words, b * between), apart * FR_BYTES)


@kernel
def leave_blocks(words, x, places, between, apart):
    """The inverse of `enter_blocks`."""
    for b in range(len(places)):
        fr8_leave(row(words, b * between), apart * FR_BYTES, row(x, places[b]))


@kernel
def block_powers(out, ratio, first):
    """Block b of out is first ratio^b, lane by lane.  In: one block each."""
    fr8_copy(row(out, 0), row(first, 0))
    for b in range(1, len(out)):
        fr8_mul(row(out, b), row(out, b - 1), row(ratio, 0))


def limb_rows(words):
    """(n, 4) Montgomery -> (n, 5) words of 52 bits, in the Montgomery form of lanes, below r."""
    f = FR_LANES
    words = field.fr_mul(words, field.fr_from_ints([1 << f.lift]))
    out = np.zeros((len(words), f.n), np.uint64)
    for i in range(f.n):
        k, s = divmod(LIMB_BITS * i, 64)
        out[:, i] = words[:, k] >> np.uint64(s)
        if s > 64 - LIMB_BITS and k + 1 < FR_WORDS:
            out[:, i] |= words[:, k + 1] << np.uint64(64 - s)
    return out & np.uint64(LIMB_MASK)


# Transforms ------------------------------------------------------------------------------------------------------------------


class LaneTransforms:
    """As ntt.Transforms, for n a multiple of 8.  Vectors are blocks, (M rounded up to a multiple of 8, 5, 8), see above."""

    in_lanes = True

    def __init__(self, n, root, shift):
        self.size, self.n_blocks = n, n // LANES
        m = self.n_blocks
        w, eighths = powers(pow(root, LANES, FR_MODULUS), m), powers(pow(root, m, FR_MODULUS), LANES)
        self.order = order(m)
        self.places = np.argsort(self.order)
        self._in_order = np.arange(m)
        self._forward, self._backward = (p._replace(table=limb_rows(p.table)) for p in (plan(w, 1), plan(w, -1)))
        self._outer = outer_stages(self._forward.stages, FR_BLOCK)
        self._eight = limb_rows(eighths[[0, 1, 2, 3, 2]])
        self._none = blocks(0, FR_LANES)
        self._factors, self._factors_back, self._before, self._after = [], [], [], []
        for c in (1, shift):
            back, root_back = pow(c, -1, FR_MODULUS), pow(root, -1, FR_MODULUS)
            self._factors.append(self._block_factors(root, c))
            self._factors_back.append(self._block_factors(root_back, back, pow(n, -1, FR_MODULUS)))
            for constants, x in ((self._before, c), (self._after, back)):
                lanes = powers(pow(x, m, FR_MODULUS), LANES)
                constants.append(self._one_block(lanes) if c != 1 else self._none)

    @property
    def shape(self):
        return -(-self.n_blocks // LANES) * LANES, FR_LANES.n, LANES

    def _empty(self):
        return blocks(self.shape[0], FR_LANES)

    def _one_block(self, words):
        """Rows, at most eight, in the lanes of a block; 0 in the others."""
        out, all_rows = blocks(1, FR_LANES), np.zeros((LANES, FR_WORDS), np.uint64)
        all_rows[: len(words)] = words
        enter_blocks(out, all_rows, self._in_order[:1], LANES, 1)
        return out

    def _block_factors(self, w, c, scale=1):
        """Blocks of w^(b u) c^b scale, lane u of block b."""
        out = self._empty()
        first, ratio = (self._one_block(x) for x in (powers(1, LANES, scale), powers(w, LANES, c)))
        block_powers(out, ratio, first)
        return out

    def evaluate(self, x, coset=False):
        lanes_forward(x, self._factors[coset], self._before[coset], self._eight)
        ntt8_forward(x, self.n_blocks, *self._forward, self._outer)

    def interpolate(self, x, coset=False):
        ntt8_backward(x, self.n_blocks, *self._backward, self._outer)
        lanes_backward(x, x, self._none, self._factors_back[coset], self._after[coset], self._eight)

    def interpolate_twice(self, x, less, few):
        """As ntt.Transforms.  At most eight values are one block, whose transform is that block everywhere: only the lanes are left."""
        if len(few) > LANES:
            words = np.zeros((self.size, FR_WORDS), np.uint64)
            words[: len(few)] = few
            subtract_blocks(less, x, self.read_values(words))
            self.interpolate(less)
            self.interpolate(x)
            return
        ntt8_backward(x, self.n_blocks, *self._backward, self._outer)
        last = self._factors_back[0], self._none, self._eight
        lanes_backward(less, x, self._one_block(few), *last)
        lanes_backward(x, x, self._none, *last)

    def read_coefficients(self, words):
        out = self._empty()
        enter_blocks(out, words, self._in_order, 1, self.n_blocks)
        return out

    def write_coefficients(self, x):
        out = np.empty((self.size, FR_WORDS), np.uint64)
        leave_blocks(out, x, self._in_order, 1, self.n_blocks)
        return out

    def read_values(self, words):
        out = self._empty()
        enter_blocks(out, words, self.places, LANES, 1)
        return out

    def write_values(self, x):
        out = np.empty((self.size, FR_WORDS), np.uint64)
        leave_blocks(out, x, self.places, LANES, 1)
        return out


@kernel
def subtract_blocks(out, x, y):
    """x - y, block by block."""
    for b in range(len(out)):
        fr8_sub(row(out, b), row(x, b), row(y, b))

"""Eight lanes side by side: Montgomery arithmetic on limbs of 52 bits, written once as code over a small machine.  Counterpart of limbs.py.

An element is n limbs, x = sum x_i 2^(52 i), in Montgomery form with R = 2^(52 n).  Eight elements make a block: limb i of all
eight is one vector of eight 64-bit lanes, and a block in memory is n vectors, 64 n bytes, best aligned to 64.

A *writer* takes a machine and lists of vectors and writes straight-line code: on `Machine` that is LLVM IR; the tests run the same writers
on machines of integers and of intervals, which prove the bounds below.  A writer that is worth interleaving is a generator:
`together` runs several in turn, so that one fills the latency of the other, and returns their results.

Bounds.  Every contract speaks of limbs and of the value, in multiples of the modulus p.
  normalised   0 <= x_i < 2^52 for every i: what the multiplier reads
  weak         normalised, and 0 <= x < 4/3 p: what operations hand each other
  loose        |x_i| < 2^62, signed: sums and differences before a carry pass
The room 2^(52 n) / p is 2^35.3 in Fp and 35.3 in Fr.
Source of the shape: Gueron, Krasnov, "Accelerating Big Integer Arithmetic Using Intel IFMA Extensions" (ARITH 2016); product first,
reduction after it, as in Koc, Acar, Kaliski 1996, "SOS".
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from .lane_machine import LANES, LIMB_BITS, LIMB_MASK, LaneField, Limbs, Machine, Writer, together
from .limbs import WORD_BITS

# Multiplication --------------------------------------------------------------------------------------------------------------


def product(m: Machine, x: Limbs, y: Limbs, t: Limbs | None = None) -> Writer:
    """The columns of x y, as many as both have limbs, or t plus them.  In: normalised, or `low`.  2 n^2 multiplier steps for n limbs each.

    Out: x y = sum t_k 2^(52 k), each t_k in [0, 2 n 2^52).
    """
    t = [m.zero] * (len(x) + len(y)) if t is None else list(t)
    for i in range(len(x)):
        for j in range(len(y)):
            t[i + j] = m.lo(t[i + j], x[i], y[j])
        for j in range(len(y)):
            t[i + j + 1] = m.hi(t[i + j + 1], x[i], y[j])
        yield
    return t


def product_columns(m: Machine, x: Limbs, y: Limbs, t: Limbs | None = None) -> Limbs:
    """`product` in one piece."""
    (columns,) = together(product(m, x, y, t))
    return columns


def square(m: Machine, x: Limbs) -> Writer:
    """The columns of x^2, as `product`.  n^2 + n steps."""
    n = len(x)
    t = [m.zero] * (2 * n)
    for i in range(n):
        for j in range(i + 1, n):
            t[i + j] = m.lo(t[i + j], x[i], x[j])
        for j in range(i + 1, n):
            t[i + j + 1] = m.hi(t[i + j + 1], x[i], x[j])
        # Columns 2i and 2i + 1 have all of their mixed products
        t[2 * i] = m.lo(m.add(t[2 * i], t[2 * i]), x[i], x[i])
        t[2 * i + 1] = m.hi(m.add(t[2 * i + 1], t[2 * i + 1]), x[i], x[i])
        yield
    return t


def reduce(m: Machine, f: LaneField, t: Limbs) -> Writer:
    """`reduced`, carried: limbs in [0, 2^52) but for the sign of the top one."""
    return carry(m, (yield from reduced(m, f, t)))


def reduced(m: Machine, f: LaneField, t: Limbs) -> Writer:
    """t / R modulo p.  In: 2n columns, |t_k| < 2^61, of value T in (-R p, R p).  Out: loose, of value in
    [T/R, T/R + p + c / 2^(52 (n - 1 - f.folds))), c = 2^-52 mod p.  2 n^2 steps.

    A column t_i leaves in one of two ways.  Folded: t_i 2^(52 i) is t_i c 2^(52 (i + 1)) modulo p; the next column waits for one
    step only, but more is left behind.  Cancelled: k p 2^(52 i) is added, k = -t_i/p mod 2^52; its low half is not multiplied
    out, for t_i plus it is t_i rounded up to a multiple of 2^52.  The first f.folds columns are folded, the others cancelled.
    Cancelling takes two steps less for each limb of p, from the third on, that is 0.
    """
    n, p, c = f.n, [m.const(x) for x in f.limbs(f.modulus)], [m.const(x) for x in f.limbs(f.limb_inverse)]
    minus_inverse, mask = m.const(f.minus_inverse), m.const(LIMB_MASK)
    not_zero = [0, 1, *(j for j in range(2, n) if f.limbs(f.modulus)[j])]  # of p's limbs
    t = list(t)
    for i in range(f.folds):
        k = m.low(t[i])
        t[i + 1] = m.lo(m.add(t[i + 1], m.sar(t[i], LIMB_BITS)), k, c[0])
        for j in range(1, n):
            t[i + j + 1] = m.lo(t[i + j + 1], k, c[j])
        for j in range(n):
            t[i + j + 2] = m.hi(t[i + j + 2], k, c[j])
        yield
    for i in range(f.folds, n):
        k = m.lo(m.zero, m.low(t[i]), minus_inverse)
        t[i + 1] = m.lo(m.add(t[i + 1], m.sar(m.add(t[i], mask), LIMB_BITS)), k, p[1])
        t[i + 1] = m.hi(t[i + 1], k, p[0])
        for j in not_zero[2:]:
            t[i + j] = m.lo(t[i + j], k, p[j])
        for j in not_zero[1:]:
            t[i + j + 1] = m.hi(t[i + j + 1], k, p[j])
        yield
    return t[n:]


def multiply(m: Machine, f: LaneField, x: Limbs, y: Limbs) -> Writer:
    """x y / R.  In: normalised, x y < R p.  Out: normalised, below x y / R + 1.25 p in Fp, x y / R + 1.001 p in Fr.  4 n^2 steps.

    So weak if x y <= 2^31 p^2 in Fp, x y <= 11 p^2 in Fr.
    """
    return (yield from reduce(m, f, (yield from product(m, x, y))))


def multiply_self(m: Machine, f: LaneField, x: Limbs) -> Writer:
    """x^2 / R, as `multiply`.  3 n^2 + n steps."""
    return (yield from reduce(m, f, (yield from square(m, x))))


def square_open(m: Machine, f: LaneField, x: Limbs) -> Writer:
    """x^2 / R as `multiply_self`, for multiplications alone (ripple)."""
    return ripple(m, (yield from reduced(m, f, (yield from square(m, x)))))


# Carries and reduction -------------------------------------------------------------------------------------------------------


def carry(m: Machine, x: Limbs) -> Limbs:
    """The same value.  In: loose.  Out: limbs in [0, 2^52) but for the top one, which takes what is left and the sign."""
    x, mask = list(x), m.const(LIMB_MASK)
    for i in range(len(x) - 1):
        x[i + 1] = m.add(x[i + 1], m.sar(x[i], LIMB_BITS))
        x[i] = m.and_(x[i], mask)
    return x


def ripple(m: Machine, x: Limbs) -> Limbs:
    """As `carry`, for multiplications alone: bits above 52, which they do not read, stay but for the top limb."""
    x = list(x)
    for i in range(len(x) - 1):
        x[i + 1] = m.add(x[i + 1], m.sar(x[i], LIMB_BITS))
    return [*map(m.low, x[:-1]), x[-1]]


def weaken(m: Machine, f: LaneField, x: Limbs) -> Limbs:
    """x modulo p.  In: loose, of value in [-3.9 p, 3.9 p].  Out: weak.

    The quotient by p, plus 4, is guessed from the top limb, never too large, and chooses a multiple of p to add.
    """
    n = f.n
    top = m.sar(m.add(x[n - 1], m.sar(x[n - 2], LIMB_BITS)), f.dropped)
    four = (4 * f.modulus >> (LIMB_BITS * (n - 1) + f.dropped)) - 2  # 2: what lower limbs may still carry
    guess = m.hi(m.zero, m.claim(m.add(top, m.const(four)), 0, LIMB_MASK), m.const(f.reciprocal))
    p = f.limbs(f.modulus)
    x = [m.add(x[i], m.lookup([(4 - k) * p[i] for k in range(8)], guess)) for i in range(n)]
    return _top_below(m, f, carry(m, x), 4 * f.modulus // 3 + 1)


def fold(m: Machine, f: LaneField, x: Limbs) -> Limbs:
    """x modulo p.  In: normalised.  Out: weak.  2 n steps.

    The quotient q is guessed from the top limb, never too large; q (R - p) is added and its multiple of R falls off.
    """
    q = m.hi(m.zero, m.shr(x[f.n - 1], f.dropped), m.const(f.reciprocal))
    c = [m.const(limb) for limb in f.limbs(f.radix - f.modulus)]
    x = [m.lo(x[i], q, c[i]) for i in range(f.n)]
    x = [x[0], *(m.hi(x[i], q, c[i - 1]) for i in range(1, f.n))]
    x = carry(m, x)
    return _top_below(m, f, [*x[:-1], m.and_(x[-1], m.const(LIMB_MASK))], 4 * f.modulus // 3 + 1)


def _top_below(m: Machine, f: LaneField, x: Limbs, bound: int) -> Limbs:
    """A carried x in [0, bound): so much for its top limb."""
    return [*x[:-1], m.claim(x[-1], 0, (bound - 1) >> (LIMB_BITS * (f.n - 1)))]


def exact(m: Machine, f: LaneField, x: Limbs) -> Limbs:
    """x modulo p.  In: normalised, x < 2 p.  Out: normalised, in [0, p)."""
    d = carry(m, [m.sub(a, m.const(b)) for a, b in zip(x, f.limbs(f.modulus))])
    below = m.is_negative(d[-1])
    return _top_below(m, f, [m.select(below, a, b) for a, b in zip(x, d)], f.modulus)


def is_zero(m: Machine, f: LaneField, x: Limbs) -> Any:
    """The mask of x = 0 modulo p.  In: normalised, x < 2 p."""
    p = [m.const(limb) for limb in f.limbs(f.modulus)]
    any_bit, any_other = x[0], m.xor(x[0], p[0])
    for a, b in zip(x[1:], p[1:]):
        any_bit, any_other = m.or_(any_bit, a), m.or_(any_other, m.xor(a, b))
    return m.either(m.is_zero(any_bit), m.is_zero(any_other))


# Sums ------------------------------------------------------------------------------------------------------------------------


def plus(m: Machine, x: Limbs, y: Limbs) -> Limbs:
    """x + y, limb by limb; loose."""
    return [m.add(a, b) for a, b in zip(x, y)]


def minus(m: Machine, x: Limbs, y: Limbs) -> Limbs:
    """x - y, limb by limb; loose."""
    return [m.sub(a, b) for a, b in zip(x, y)]


def scaled(m: Machine, a: Any, k: int) -> Any:
    """k a, lane by lane: a shift and a sum for every bit of k that is set."""
    parts = [m.shl(a, i) if i else a for i in range(k.bit_length()) if k >> i & 1]
    total = parts[0]
    for part in parts[1:]:
        total = m.add(total, part)
    return total


def difference(m: Machine, f: LaneField, x: Limbs, y: Limbs, k: int) -> Limbs:
    """x - y + k p, carried: an operand of a multiplication for a carry pass.  In: loose, of values with 0 <= x - y + k p < R.
    Out: normalised."""
    t = carry(m, [m.add(m.sub(a, b), m.const(k * c)) for a, b, c in zip(x, y, f.limbs(f.modulus))])
    return _top_below(m, f, t, f.radix)


def select(m: Machine, mask: Any, x: Limbs, y: Limbs) -> Limbs:
    """x where the mask is set, else y."""
    return [m.select(mask, a, b) for a, b in zip(x, y)]


def negate_where(m: Machine, mask: Any, x: Limbs) -> Limbs:
    """-x where the mask is set, limb by limb; loose."""
    return [m.select(mask, m.sub(m.zero, a), a) for a in x]


def constant(m: Machine, f: LaneField, x: int) -> Limbs:
    """The integer x modulo p in every lane, in Montgomery form."""
    return [m.const(limb) for limb in f.limbs(x * f.radix % f.modulus)]


# Rows and lanes --------------------------------------------------------------------------------------------------------------


def transpose(m: Machine, rows: Limbs) -> Limbs:
    """Eight vectors: lane j of result i is lane i of row j.  24 shuffles; those of results that nobody uses vanish."""
    for distance in (1, 2, 4):
        first = [i if not i & distance else i - distance + LANES for i in range(LANES)]
        second = [i + distance if not i & distance else i + LANES for i in range(LANES)]
        out = list(rows)
        for i in range(LANES):
            if not i & distance:
                out[i] = m.shuffle(rows[i], rows[i + distance], first)
                out[i + distance] = m.shuffle(rows[i], rows[i + distance], second)
        rows = out
    return rows


def limbs_from_words(m: Machine, f: LaneField, words: Limbs, shift: int = 0) -> Limbs:
    """Limbs of w 2^shift for w = sum words_i 2^(64 i).  In: n_words vectors, 0 <= shift < 52, w 2^shift < R.  Out: normalised."""
    mask, out = m.const(LIMB_MASK), []
    for i in range(f.n):
        low = LIMB_BITS * i - shift  # of the bits that limb i takes
        k, s = divmod(max(low, 0), WORD_BITS)
        if k >= len(words):
            out.append(m.zero)
            continue
        if low < 0:
            limb = m.shl(words[k], -low)
        else:
            limb = m.shr(words[k], s) if s else words[k]
            if s > WORD_BITS - LIMB_BITS and k + 1 < len(words):
                limb = m.or_(limb, m.shl(words[k + 1], WORD_BITS - s))
        out.append(m.and_(limb, mask))
    return out


def words_from_limbs(m: Machine, f: LaneField, x: Limbs, shift: int = 0) -> Limbs:
    """The n_words words of floor(x / 2^shift).  In: normalised, 0 <= shift < 52, x < 2^(64 n_words + shift)."""
    out = []
    for i in range(f.n_words):
        k, s = divmod(WORD_BITS * i + shift, LIMB_BITS)
        word = m.shr(x[k], s) if s else x[k]
        have = LIMB_BITS - s
        while have < WORD_BITS and k + 1 < f.n:
            k += 1
            word = m.or_(word, m.shl(x[k], have))
            have += LIMB_BITS
        out.append(word)
    return out


def enter(m: Machine, f: LaneField, words: Limbs) -> Limbs:
    """The Montgomery form of lanes from that of words: w 2^lift.  In: w below 2^(64 n_words - 1) as rows of limbs.py.  Out: weak."""
    return fold(m, f, limbs_from_words(m, f, words, f.lift))


def leave(m: Machine, f: LaneField, x: Limbs) -> Limbs:
    """The Montgomery form of words, in [0, p), from that of lanes: x / 2^lift modulo p, one short row of `reduce`.  In: weak."""
    k = m.and_(m.lo(m.zero, x[0], m.const(f.minus_inverse)), m.const(2**f.lift - 1))
    p = [m.const(limb) for limb in f.limbs(f.modulus)]
    x = [m.lo(x[i], k, p[i]) for i in range(f.n)]
    x = carry(m, [x[0], *(m.hi(x[i], k, p[i - 1]) for i in range(1, f.n))])
    mask, up = m.const(LIMB_MASK), LIMB_BITS - f.lift
    low = [m.and_(m.or_(m.shr(a, f.lift), m.shl(b, up)), mask) for a, b in pairwise(x)]
    return words_from_limbs(m, f, exact(m, f, [*low, m.shr(x[-1], f.lift)]))


def load(m: Machine, f: LaneField, address: Any) -> Limbs:
    """The block at `address`."""
    return [m.load(address, i) for i in range(f.n)]


def store(m: Machine, f: LaneField, address: Any, x: Limbs) -> None:
    for i in range(f.n):
        m.store(address, i, x[i])


def load_blocks(m: Machine, f: LaneField, address: Any, n: int) -> list[Limbs]:
    """n blocks, one behind the other."""
    return [load(m, f, m.offset(address, f.block_bytes * i)) for i in range(n)]


def store_blocks(m: Machine, f: LaneField, address: Any, blocks: Iterable[Limbs]) -> None:
    """The inverse of load_blocks."""
    for i, x in enumerate(blocks):
        store(m, f, m.offset(address, f.block_bytes * i), x)


def load_rows(m: Machine, addresses: list[Any], n_words: int) -> Limbs:
    """n_words vectors, of which lane l holds the words at addresses_l."""
    return transpose(m, [m.load_row(a, n_words) for a in addresses])[:n_words]


def store_rows(m: Machine, addresses: list[Any], words: Limbs) -> None:
    """The inverse of load_rows."""
    rows = transpose(m, [*words, *[m.zero] * (LANES - len(words))])
    for address, row in zip(addresses, rows):
        m.store_row(address, row, len(words))


def strided(m: Machine, address: Any, stride: Any) -> list[Any]:
    """Addresses of eight rows, `stride` bytes (an int64) apart."""
    b, out = m.builder, [address]
    for _ in range(LANES - 1):
        out.append(b.add(out[-1], stride))
    return out

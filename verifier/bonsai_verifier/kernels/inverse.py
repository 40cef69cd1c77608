"""Inversion modulo an odd prime by division steps, as portable LLVM IR: an eighth of the time of Fermat's power.

A *step* takes integers f, odd, and g to a pair with the same greatest common divisor, by a counter c that starts at 1/2:
  g even            ->  f, g/2          c + 1
  g odd and c <= 0  ->  f, (g + f)/2    c + 1
  g odd and c > 0   ->  g, (g - f)/2    1 - c
From (m, a) it ends at g = 0, f = 1 or -1.  What 62 steps do depends on c and the low 62 bits: it is a matrix of integers of at most
2^62, over 2^62.  It is found on single words, then applied to f and g, and modulo m to d and e, for which f = a d / s and
g = a e / s modulo m all the time, from (0, s) on.  At the end s/a = d or -d.

Variable time: how long it takes depends on a.  The verifier inverts public values alone, and the prover promises no constant time
(SECURITY.md).
Source: Bernstein, Yang, "Fast constant-time gcd computation and modular inversion", ePrint 2019/266, sections 8 to 11; the counter from
1/2: Wuille, https://github.com/sipa/safegcd-bounds; d and e in (-2m, m), and several steps at once: libsecp256k1,
doc/safegcd_implementation.md.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils

from .intrinsics import I64, operation
from .limbs import WORD_BITS, WORD_BYTES, room

STEPS = 62  # a round; f, g, d and e have limbs of as many bits, the top one signed
_MASK = 2**STEPS - 1
_AT_ONCE = 6  # steps that one multiple of f may do
_I1, _I128 = ir.IntType(1), ir.IntType(128)


def inversion(name: str, modulus: int, n: int, scale: int) -> Any:
    """The intrinsic f(d, a): d = scale/a modulo a prime m, in [0, m); 0 for a = 0.  In: n words, a < m < 2^(64 n - 1).  Variable time.

    scale = R^2 takes the Montgomery form of a to that of 1/a.  d may be a.
    """
    n_limbs = -(-(WORD_BITS * n + 2) // STEPS)
    limbs = [modulus >> (STEPS * i) & _MASK for i in range(n_limbs)]

    def write(b: ir.IRBuilder, destination: ir.Value, a: ir.Value) -> None:
        f, g, d, e = (room(b, ir.ArrayType(I64, n_limbs), WORD_BYTES) for _ in range(4))
        _put(b, f, [I64(x) for x in limbs])
        _put(b, g, _split(b, b.load(b.inttoptr(a, ir.IntType(WORD_BITS * n).as_pointer()), align=8), n_limbs))
        _put(b, d, [I64(0)] * n_limbs)
        _put(b, e, [I64(scale % modulus >> (STEPS * i) & _MASK) for i in range(n_limbs)])

        head = b.append_basic_block("round")
        entry = b.block
        b.branch(head)
        b.position_at_end(head)
        c = b.phi(I64)
        c.add_incoming(I64(-1), entry)
        next_c, matrix = _steps(b, c, _low_word(b, f), _low_word(b, g))
        rest = _apply(b, f, g, matrix, n_limbs)  # first: the next round waits for f and g alone
        _apply_modulo(b, d, e, matrix, limbs)
        c.add_incoming(next_c, b.block)
        done = b.append_basic_block("done")
        b.cbranch(b.icmp_unsigned("!=", rest, I64(0)), head, done)
        b.position_at_end(done)

        f_is_negative = b.icmp_signed("<", _get(b, f, n_limbs)[-1], I64(0))
        result = _residue(b, _join(b, _get(b, d, n_limbs)), f_is_negative, modulus)
        words = ir.IntType(WORD_BITS * n)
        b.store(b.trunc(result, words), b.inttoptr(destination, words.as_pointer()), align=8)

    return operation(write, name)


def _steps(b: ir.IRBuilder, c: ir.Value, f: ir.Value, g: ir.Value) -> tuple[ir.Value, list[ir.Value]]:
    """62 steps on the low words of f and g -> the counter, and u, v, q, r with 2^62 f' = u f + v g, 2^62 g' = q f + r g.

    The counter is kept as -(c + 1/2): negative for c > 0.
    """
    entry, head, odd = b.block, b.append_basic_block("steps"), b.append_basic_block("odd")
    b.branch(head)
    b.position_at_end(head)
    state = [b.phi(I64) for _ in range(8)]
    for phi, start in zip(state, (c, f, g, I64(1), I64(0), I64(0), I64(1), I64(STEPS))):
        phi.add_incoming(start, entry)
    c, f, g, u, v, q, r, left = state
    # All steps with g even, but not more than are left
    zeros = b.cttz(b.or_(g, b.shl(I64(-1), left)), _I1(0))
    g, u, v = b.lshr(g, zeros), b.shl(u, zeros), b.shl(v, zeros)
    c, left = b.sub(c, zeros), b.sub(left, zeros)
    done = b.append_basic_block("stepped")
    b.cbranch(b.icmp_unsigned("==", left, I64(0)), done, odd)

    b.position_at_end(odd)
    swap = b.icmp_signed("<", c, I64(0))
    next_c = b.select(swap, b.not_(c), c)
    f, g = b.select(swap, g, f), b.select(swap, b.neg(f), g)
    next_u, next_v = b.select(swap, q, u), b.select(swap, r, v)
    q, r = b.select(swap, b.neg(u), q), b.select(swap, b.neg(v), r)
    # f serves for the next c + 1/2 steps: add the multiple of it that makes that many bits of g vanish, -g/f = g f (f^2 - 2) modulo 2^6
    many = b.add(next_c, I64(1))
    for bound in (left, I64(_AT_ONCE)):
        many = b.select(b.icmp_signed("<", many, bound), many, bound)
    bits = b.lshr(I64(-1), b.sub(I64(WORD_BITS), many))
    k = b.and_(b.mul(b.mul(g, f), b.sub(b.mul(f, f), I64(2))), bits)
    g, q, r = b.add(g, b.mul(f, k)), b.add(q, b.mul(next_u, k)), b.add(r, b.mul(next_v, k))
    for phi, new in zip(state, (next_c, f, g, next_u, next_v, q, r, left)):
        phi.add_incoming(new, b.block)
    b.branch(head)

    b.position_at_end(done)
    return c, [u, v, state[5], state[6]]


def _apply(b: ir.IRBuilder, f: ir.Value, g: ir.Value, matrix: list[ir.Value], n_limbs: int) -> ir.Value:
    """(f, g) = (u f + v g, q f + r g) / 2^62, which is exact.  Out: zero if and only if g is."""
    u, v, q, r = matrix
    fs, gs = _get(b, f, n_limbs), _get(b, g, n_limbs)
    new_f = _shifted(b, [b.add(_wide(b, u, x), _wide(b, v, y)) for x, y in zip(fs, gs)])
    new_g = _shifted(b, [b.add(_wide(b, q, x), _wide(b, r, y)) for x, y in zip(fs, gs)])
    _put(b, f, new_f)
    _put(b, g, new_g)
    rest = new_g[0]
    for x in new_g[1:]:
        rest = b.or_(rest, x)
    return rest


def _apply_modulo(b: ir.IRBuilder, d: ir.Value, e: ir.Value, matrix: list[ir.Value], m: list[int]) -> None:
    """(d, e) = (u d + v e, q d + r e) / 2^62 modulo m, by multiples of m that make it exact.  In, out: values in (-2m, m).

    Where d or e is negative, m is added to it first: in (-m, m), times coefficients with |u| + |v| <= 2^62, they give (-2^62 m, 2^62 m),
    and the multiple of m in (-2^62, 0] that makes low bits vanish leads into (-2m, m).
    """
    ds, es = _get(b, d, len(m)), _get(b, e, len(m))
    d_sign, e_sign = b.ashr(ds[-1], I64(63)), b.ashr(es[-1], I64(63))
    inverse = pow(sum(x << (STEPS * i) for i, x in enumerate(m)), -1, 2**STEPS)
    for address, (u, v) in ((d, matrix[:2]), (e, matrix[2:])):
        columns = [b.add(_wide(b, u, x), _wide(b, v, y)) for x, y in zip(ds, es)]
        k = b.add(b.and_(u, d_sign), b.and_(v, e_sign))
        low = b.add(b.mul(b.trunc(columns[0], I64), I64(inverse)), k)
        k = b.sub(k, b.and_(low, I64(_MASK)))
        _put(b, address, _shifted(b, [b.add(t, _wide(b, k, I64(x))) if x else t for t, x in zip(columns, m)]))


def _wide(b: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
    """x y as 128 bits, signed."""
    return b.mul(b.sext(x, _I128), b.sext(y, _I128))


def _shifted(b: ir.IRBuilder, columns: list[ir.Value]) -> list[ir.Value]:
    """Limbs of (sum columns_i 2^(62 i)) / 2^62, for a multiple of 2^62."""
    out, bits = [], _I128(STEPS)
    total = b.ashr(columns[0], bits)
    for column in columns[1:]:
        total = b.add(total, column)
        out.append(b.and_(b.trunc(total, I64), I64(_MASK)))
        total = b.ashr(total, bits)
    return [*out, b.trunc(total, I64)]


def _residue(b: ir.IRBuilder, x: ir.Value, negate: ir.Value, modulus: int) -> ir.Value:
    """x or -x modulo m in [0, m).  In: x in (-2m, m)."""
    m, zero = ir.Constant(x.type, modulus), ir.Constant(x.type, 0)

    def plus_m_if_negative(x: ir.Value) -> ir.Value:
        return b.select(b.icmp_signed("<", x, zero), b.add(x, m), x)

    x = plus_m_if_negative(x)
    x = b.select(negate, b.neg(x), x)
    return plus_m_if_negative(plus_m_if_negative(x))


# Limbs of 62 bits ------------------------------------------------------------------------------------------------------------


def _split(b: ir.IRBuilder, x: ir.Value, n_limbs: int) -> list[ir.Value]:
    """The limbs of an integer without a sign."""
    wide = ir.IntType(WORD_BITS * n_limbs)
    x = b.zext(x, wide)
    return [b.and_(b.trunc(b.lshr(x, ir.Constant(wide, STEPS * i)), I64), I64(_MASK)) for i in range(n_limbs)]


def _join(b: ir.IRBuilder, limbs: list[ir.Value]) -> ir.Value:
    """The signed integer of limbs, the top one signed."""
    wide = ir.IntType(WORD_BITS * len(limbs))
    x = b.shl(b.sext(limbs[-1], wide), ir.Constant(wide, STEPS * (len(limbs) - 1)))
    for i, limb in enumerate(limbs[:-1]):
        x = b.or_(x, b.shl(b.zext(limb, wide), ir.Constant(wide, STEPS * i)))
    return x


def _low_word(b: ir.IRBuilder, array: ir.Value) -> ir.Value:
    """The integer modulo 2^64."""
    low, high = _get(b, array, 2)
    return b.or_(low, b.shl(high, I64(STEPS)))


def _get(b: ir.IRBuilder, array: ir.Value, n: int) -> list[ir.Value]:
    return [b.load(cgutils.gep_inbounds(b, array, 0, i)) for i in range(n)]


def _put(b: ir.IRBuilder, array: ir.Value, limbs: list[ir.Value]) -> None:
    for i, limb in enumerate(limbs):
        b.store(limb, cgutils.gep_inbounds(b, array, 0, i))

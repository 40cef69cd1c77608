"""What the equation needs of many proofs besides their points: r, x_A(r), v_p, and both weighted.  The portable body.

Of a proof with challenge r, public inputs x_1 .. x_l and opening v, over the domain H of N points with generator w, and x_0 = 1:

    Z(r) = r^N - 1,   x_A(r) = Z(r)/N sum_j x_j w^j / (r - w^j),   v_p = (v + x_A(r))^2.

The sum is one fraction P/Q: adding x w^j / d to it, d = r - w^j, is P <- P d + x w^j Q, Q <- Q d, from P = 1, Q = r - 1.  A block of
proofs shares one inversion.  Where Q = 0, r is one of the w^j, so in H: the proof is false whatever v_p is, and 1 stands for Q.

Cost of a proof, in multiplications: log2 N for r^N, 4 l for the fraction, 9, and its part of an inversion.
"""

import numpy as np

from ..parameters import FR_MODULUS
from .cache import inlined, kernel
from .fr import (
    FR_BYTES,
    FR_WORDS,
    fr_add,
    fr_copy,
    fr_inv,
    fr_is_zero,
    fr_mul,
    fr_neg,
    fr_one,
    fr_sqr,
    fr_sub,
    fr_to_mont,
    fr_zero,
)
from .limbs import WORD_BITS, row, stack, words

BLOCK = 512  # proofs that share an inversion


def domain_constants(domain_size, powers):
    """Of the domain of N points and of its w^j: R, R^2, 1/N, the w^j, the w^j R, all in Montgomery form."""
    p, radix = FR_MODULUS, 2 ** (WORD_BITS * FR_WORDS)
    values = [radix, radix**2, pow(domain_size, -1, p), *powers, *(w * radix for w in powers)]
    return np.array([words(x * radix % p, FR_WORDS) for x in values])


def room():
    """Memory for the proofs of one block: Q, and the product of those before."""
    return np.empty((BLOCK, 2 * FR_WORDS), np.uint64)


@inlined
def _power(z, a, n):
    """z = a^n, n >= 1."""
    bit = 1
    while 2 * bit <= n:
        bit *= 2
    fr_copy(z, a)
    while bit > 1:
        bit //= 2
        fr_sqr(z, z)
        if n & bit:
            fr_mul(z, z, a)


@kernel
def statement_many(r, v_p, in_domain, challenge, inputs, n_inputs, v, domain_size, constants, room):
    """r, v_p and whether r is in H, of n proofs.

    In: challenge (n, 8), any words; inputs, v: (address, stride) of rows of n_inputs scalars and of one, canonical, 4 words each;
    constants: domain_constants(domain_size, the w^j for j = 0..n_inputs); room: room(); in_domain False.
    Out: r, v_p (n, 4) Montgomery; in_domain (n,) bool; v_p means nothing where it is true.
    """
    radix, radix_2, n_inverse, w, w_radix = (0, 1, 2, 3, 4 + n_inputs)
    one, d, c, inverse, product = stack(4), stack(4), stack(4), stack(4), stack(4)
    fr_one(one)
    for start in range(0, len(r), BLOCK):
        end = min(start + BLOCK, len(r))
        fr_one(product)
        for i in range(start, end):
            p, q, before = row(v_p, i), row(room, i - start), row(room, i - start) + FR_BYTES
            # low + 2^256 high, in Montgomery form low R + high R^2
            fr_mul(row(r, i), row(constants, radix), row(challenge, i))
            fr_mul(c, row(constants, radix_2), row(challenge, i) + FR_BYTES)
            fr_add(row(r, i), row(r, i), c)
            fr_copy(p, one)
            fr_sub(q, row(r, i), one)
            for j in range(1, n_inputs + 1):
                fr_sub(d, row(r, i), row(constants, w + j))
                fr_mul(c, row(constants, w_radix + j), inputs[0] + i * inputs[1] + FR_BYTES * (j - 1))
                fr_mul(c, c, q)
                fr_mul(p, p, d)
                fr_add(p, p, c)
                fr_mul(q, q, d)
            _power(c, row(r, i), domain_size)
            fr_sub(c, c, one)
            in_domain[i] = fr_is_zero(c)
            fr_mul(p, p, c)
            if fr_is_zero(q):
                fr_copy(q, one)
            fr_copy(before, product)
            fr_mul(product, product, q)
        fr_inv(inverse, product)
        fr_mul(inverse, inverse, row(constants, n_inverse))
        for i in range(end - 1, start - 1, -1):
            q, before = row(room, i - start), row(room, i - start) + FR_BYTES
            fr_mul(c, before, inverse)  # 1 / (N Q)
            fr_mul(inverse, inverse, q)
            fr_mul(c, c, row(v_p, i))
            fr_mul(d, row(constants, radix), v[0] + i * v[1])
            fr_add(d, d, c)
            fr_sqr(row(v_p, i), d)


@kernel
def weigh_many(out, rho, r, v, v_p):
    """rho_i r_i of n proofs, then - sum rho_i v_i and - sum rho_i v_p,i: the scalars of the equation's last sum.

    In: rho (n, 4) below 2^128; r, v_p (n, 4) Montgomery; v: (address, stride) as for statement_many.
    Out: out (n + 2, 4) canonical.
    """
    n = len(r)
    sum_v, sum_v_p, product = row(out, n), row(out, n + 1), stack(4)
    fr_zero(sum_v)
    fr_zero(sum_v_p)
    for i in range(n):
        fr_mul(row(out, i), row(r, i), row(rho, i))
        fr_mul(product, row(rho, i), v[0] + i * v[1])  # rho v / R
        fr_add(sum_v, sum_v, product)
        fr_mul(product, row(v_p, i), row(rho, i))
        fr_add(sum_v_p, sum_v_p, product)
    fr_to_mont(sum_v, sum_v)
    fr_neg(sum_v, sum_v)
    fr_neg(sum_v_p, sum_v_p)

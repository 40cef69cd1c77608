"""Stages of the discrete Fourier transform over Fr, for lengths whose prime factors are small (Stockham, self-sorting).

Let w be a primitive N-th root of unity and N = s p m at the stage of radix p, s the product of the radices before it.  The stage reads
s interleaved sequences of length n = p m and writes s p of length m:

    y[q + s (p j + k)] = w^(s j k) sum_i x[q + s (j + m i)] w^(N/p i k)        q < s, j < m, k < p

After the stages of all prime factors, in any order, y is the transform of x in natural order.
Source: the Stockham autosort algorithm, Van Loan, Computational Frameworks for the Fast Fourier Transform, section 1.7.
"""

from bonsai_verifier.kernels.cache import kernel
from bonsai_verifier.kernels.fr import FR_BYTES, fr_add, fr_copy, fr_mul, fr_sub
from bonsai_verifier.kernels.limbs import stack

MAX_RADIX = 19


@kernel
def ntt_stage_2(y, x, w, s):
    """The stage of radix 2.  In: y, x, w (N, 4) Montgomery, w_i = w^i, y apart from x.  Cost: N/2 multiplications."""
    out, data, powers = y.ctypes.data, x.ctypes.data, w.ctypes.data
    half = x.shape[0] // 2
    block = FR_BYTES * s
    for j in range(half // s):
        twiddle = powers + block * j
        low = data + block * j
        even = out + 2 * block * j
        for q in range(0, block, FR_BYTES):
            a = low + q
            b = a + FR_BYTES * half
            fr_add(even + q, a, b)
            fr_sub(even + block + q, a, b)
            fr_mul(even + block + q, even + block + q, twiddle)


@kernel
def ntt_stage_odd(y, x, w, s, p):
    """The stage of radix p <= MAX_RADIX by the definition.  In: as above.  Cost: N (p - 1/p) multiplications at most."""
    out, data, powers = y.ctypes.data, x.ctypes.data, w.ctypes.data
    inputs, term = stack(76), stack(4)  # MAX_RADIX elements
    n = x.shape[0]
    step = FR_BYTES * (n // p)
    for j in range(n // (p * s)):
        for q in range(s):
            for i in range(p):
                fr_copy(inputs + FR_BYTES * i, data + FR_BYTES * (q + s * j) + step * i)
            for k in range(p):
                acc = out + FR_BYTES * (q + s * (p * j + k))
                fr_copy(acc, inputs)
                for i in range(1, p):
                    fr_mul(term, inputs + FR_BYTES * i, powers + step * (i * k % p))
                    fr_add(acc, acc, term)
                fr_mul(acc, acc, powers + FR_BYTES * s * j * k)


@kernel
def ntt_reverse(y, x, c):
    """y_i = c_i x_(-i mod N): turns a forward transform into N times the inverse one.  In: c (N, 4), or (1, 4) for all."""
    out, data, factors = y.ctypes.data, x.ctypes.data, c.ctypes.data
    n = x.shape[0]
    step = FR_BYTES if c.shape[0] > 1 else 0
    fr_mul(out, data, factors)
    for i in range(1, n):
        fr_mul(out + FR_BYTES * i, data + FR_BYTES * (n - i), factors + step * i)

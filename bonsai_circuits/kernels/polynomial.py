"""Polynomials over Fr as (n, 4) arrays of coefficients, the constant first, in Montgomery form."""

from bonsai_verifier.kernels.cache import kernel
from bonsai_verifier.kernels.fr import FR_BYTES, fr_add, fr_copy, fr_mul
from bonsai_verifier.kernels.limbs import stack


@kernel
def polynomial_divide_linear(quotient, value, f, x):
    """f = quotient (X - x) + value, by Horner.  In: f (n, 4), n >= 1; x (1, 4).  Out: quotient (n - 1, 4), value (1, 4) = f(x)."""
    acc = stack(4)
    n = f.shape[0]
    fr_copy(acc, f.ctypes.data + FR_BYTES * (n - 1))
    for i in range(n - 2, -1, -1):
        fr_copy(quotient.ctypes.data + FR_BYTES * i, acc)
        fr_mul(acc, acc, x.ctypes.data)
        fr_add(acc, acc, f.ctypes.data + FR_BYTES * i)
    fr_copy(value.ctypes.data, acc)

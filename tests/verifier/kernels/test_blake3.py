"""BLAKE3 against the authors' implementation (PyPI blake3) and the published constants and vectors; the challenge by its definition."""

import math
import os
import subprocess
import sys

import blake3 as reference
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llvmlite.binding import get_host_cpu_features

from bonsai_verifier.errors import InputError
from bonsai_verifier.kernels import blake3 as kernels
from bonsai_verifier.kernels.cache import kernel
from bonsai_verifier.kernels.limbs import row
from bonsai_verifier.parameters import CHALLENGE_CONTEXT, FR_MODULUS
from bonsai_verifier.transcript import _derive_key_many, blake3, challenge, challenge_bytes_many, derive_key

CHUNK = 1024
EDGES = sorted(
    {
        n + d
        for n in (0, 64, 128, 960, CHUNK, 2 * CHUNK, 3 * CHUNK, 4 * CHUNK, 16 * CHUNK, 17 * CHUNK, 31 * CHUNK)
        for d in (-1, 0, 1)
    }
    | {32 * CHUNK, 33 * CHUNK + 7, 64 * CHUNK, 65 * CHUNK, 100 * CHUNK + 1, 2**20, 2**20 + 3}
)[1:]


def pattern(n):
    """The input of the authors' test_vectors.json: bytes 0, 1, ..., 250, 0, 1, ..."""
    return bytes(i % 251 for i in range(n))


def test_iv_is_that_of_sha_256():
    primes = [2, 3, 5, 7, 11, 13, 17, 19]
    assert [math.isqrt(q << 64) % 2**32 for q in primes] == list(kernels.IV)


def test_permutation_moves_every_word():
    assert sorted(kernels.PERMUTATION) == list(range(16))
    assert all(p != i for i, p in enumerate(kernels.PERMUTATION))


def test_blake3_gives_the_published_vectors():
    # BLAKE3-team/BLAKE3, test_vectors/test_vectors.json: input_len 0 and 1
    assert blake3(b"").hex() == "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
    assert blake3(b"\0").hex() == "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"


def test_blake3_equals_reference_at_every_short_length():
    data = pattern(2101)
    for n in range(2101):
        assert blake3(data[:n]) == reference.blake3(data[:n]).digest(), n


@pytest.mark.parametrize("n", EDGES)
def test_blake3_equals_reference_at_tree_edges(n):
    data = os.urandom(n)
    assert blake3(data, 131) == reference.blake3(data).digest(131)


@given(st.integers(0, 40 * CHUNK), st.integers(0, 300), st.randoms(use_true_random=False))
def test_blake3_equals_reference_anywhere(n, length, random):
    data = random.randbytes(n)
    assert blake3(data, length) == reference.blake3(data).digest(length)


@pytest.mark.parametrize("length", [0, 1, 31, 32, 63, 64, 65, 128, 1000, 70_000])
def test_output_of_any_length_has_one_stream(length):
    assert blake3(b"abc", length) == reference.blake3(b"abc").digest(length)
    assert blake3(b"abc", 70_000)[:length] == blake3(b"abc", length)


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1023, 1024, 1025, 5000, 2**16 + 1])
def test_derive_key_equals_reference(n):
    for context in ("", "bonsai-circuits test", "x" * 3000, "schlüssel"):
        data = pattern(n)
        assert derive_key(context, data, 77) == reference.blake3(data, derive_key_context=context).digest(77)


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 276, 1023, 1024, 1025, 2500])
@pytest.mark.parametrize("n", [0, 1, 3, 5, 12, 15, 16, 17, 50])
def test_derive_key_many_equals_one_by_one(n, length):
    rows = np.frombuffer(os.urandom(n * length), dtype=np.uint8).reshape(n, length)
    out = _derive_key_many("bonsai-circuits test", n, [rows])
    assert out.shape == (n, 64)
    for material, found in zip(rows, out, strict=True):
        assert found.tobytes() == derive_key("bonsai-circuits test", material.tobytes(), 64)


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 128, 1024, 1025])
@pytest.mark.parametrize("n", [1, 20])
def test_equal_messages_have_equal_hashes(n, length):
    """One row for all: every block but the last is common, the last is not."""
    message = np.frombuffer(pattern(length), dtype=np.uint8)
    out = _derive_key_many("c", n, [np.broadcast_to(message, (n, length))])
    assert out.tobytes() == reference.blake3(pattern(length), derive_key_context="c").digest(64) * n


def test_blake3_reads_every_kind_of_buffer():
    data = pattern(3000)
    want = reference.blake3(data).digest()
    array = np.frombuffer(data, dtype=np.uint8)
    for same in (
        data,
        bytearray(data),
        memoryview(data),
        array,
        array.reshape(30, 100),
        array.view("<u4"),
        array[:].copy(),
    ):
        assert blake3(same) == want
    for nothing in (b"", bytearray(), np.empty(0, dtype=np.uint64), np.empty((0, 4), dtype=np.uint8)):
        assert blake3(nothing) == blake3(b"")
    assert blake3(array[1:]) == reference.blake3(data[1:]).digest()


def test_blake3_does_not_write_its_input():
    data = bytearray(pattern(70_000))
    blake3(data)
    assert data == pattern(70_000)


def test_blake3_refuses_what_it_cannot_read():
    with pytest.raises(InputError, match="C-contiguous"):
        blake3(np.zeros((4, 4), dtype=np.uint8)[:, 1])
    with pytest.raises(InputError, match="length"):
        blake3(b"", -1)


@kernel
def _compress(out, cv, block, counter, flags):
    kernels.compress(row(out, 0), row(cv, 0), row(block, 0), counter, 0, flags)


@kernel
def _compress_lanes(out, cv, blocks, counter, flags):
    kernels.compress_lanes(row(out, 0), row(cv, 0), row(blocks, 0), 64, counter, 1, 0, flags)


def test_counter_crosses_32_bits_in_both_bodies():
    key, blocks = np.array(kernels.IV, dtype=np.uint32), np.zeros((16, 64), dtype=np.uint8)
    one, lanes, spread = np.empty(16, dtype=np.uint32), np.empty((16, 16), dtype=np.uint32), np.repeat(key, 16)
    flags = kernels.CHUNK_START | kernels.CHUNK_END | kernels.ROOT
    first = 2**32 - 5
    _compress_lanes(lanes, spread, blocks, first, flags)
    for lane in range(16):
        _compress(one, key, blocks, first + lane, flags)
        assert (lanes[:, lane] == one).all()
        assert one.tobytes() == reference.blake3(b"").digest(64, seek=64 * (first + lane))


@pytest.mark.parametrize(("name", "features", "width"), [("generic", "", 4), ("x86-64-v3", "+avx,+avx2", 16)])
def test_blake3_is_the_same_on_a_cpu_of_another_width(name, features, width):
    """Sixteen lanes four at a time where registers have 128 bits; in two registers of 256."""
    if "avx2" in features and not get_host_cpu_features().get("avx2"):
        pytest.skip("the processor has no AVX2")
    script = (
        "from bonsai_verifier.kernels.blake3 import WIDTH\n"
        "from bonsai_verifier.transcript import _derive_key_many, blake3\n"
        "import numpy as np\n"
        "rows = np.arange(20 * 276, dtype=np.uint32).astype(np.uint8).reshape(20, 276)\n"
        "print(WIDTH, blake3(bytes(i % 251 for i in range(70_000))).hex(), blake3(_derive_key_many('c', 20, [rows])).hex())"
    )
    env = os.environ | {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    rows = np.arange(20 * 276, dtype=np.uint32).astype(np.uint8).reshape(20, 276)
    want = [str(width), blake3(pattern(70_000)).hex(), blake3(_derive_key_many("c", 20, [rows])).hex()]
    assert done.stdout.split() == want


# The challenge -----------------------------------------------------------------------------------------------------------------

VK, CONTEXT, T = pattern(32), os.urandom(32), os.urandom(48)


@pytest.mark.parametrize("n_public", [0, 1, 5, 40])
def test_challenge_is_its_definition(n_public):
    inputs = [os.urandom(32) for _ in range(n_public)]
    material = VK + CONTEXT + n_public.to_bytes(4, "little") + b"".join(inputs) + T
    out = reference.blake3(material, derive_key_context="bonsai-circuits 2026-11-30 masked Pari challenge v1").digest(
        64
    )
    r = challenge(VK, CONTEXT, inputs, T)
    assert r == int.from_bytes(out, "little") % FR_MODULUS
    assert challenge(VK, CONTEXT, np.frombuffer(b"".join(inputs), dtype=np.uint8).reshape(n_public, 32), T) == r


def test_challenge_depends_on_every_byte():
    inputs = [bytes(32), bytes(range(32))]
    fields = [VK, CONTEXT, *inputs, T]

    def of(f):
        return challenge(f[0], f[1], f[2:-1], f[-1])

    seen = {of(fields), of([VK, CONTEXT, *inputs, bytes(32), T])}
    for i, x in enumerate(fields):
        for j in range(len(x)):
            flipped = bytearray(x)
            flipped[j] ^= 1
            seen.add(of([*fields[:i], bytes(flipped), *fields[i + 1 :]]))
    assert len(seen) == 2 + sum(map(len, fields))


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("vk_digest", (VK[:-1], CONTEXT, [], T)),
        ("vk_digest", (b"", CONTEXT, [], T)),
        ("context", (VK, CONTEXT + b"\0", [], T)),
        (r"public_inputs\[1\]", (VK, CONTEXT, [bytes(32), bytes(33)], T)),
        (r"public_inputs\[0\]", (VK, CONTEXT, np.zeros((2, 31), dtype=np.uint8), T)),
        ("t_bytes", (VK, CONTEXT, [], T[:-1])),
        ("t_bytes", (VK, CONTEXT, [], T + T)),
    ],
)
def test_challenge_refuses_wrong_lengths(field, arguments):
    with pytest.raises(InputError, match=f"^{field}: expected"):
        challenge(*arguments)


@pytest.mark.parametrize("n", [0, 1, 16, 37])
@pytest.mark.parametrize("n_public", [0, 5, 40])
def test_challenge_bytes_many_equals_single(n, n_public):
    inputs = np.frombuffer(os.urandom(n * n_public * 32), dtype=np.uint8).reshape(n, n_public, 32)
    contexts = np.frombuffer(os.urandom(n * 32), dtype=np.uint8).reshape(n, 32)
    t = np.frombuffer(os.urandom(n * 48), dtype=np.uint8).reshape(n, 48)
    for c in (contexts, np.frombuffer(CONTEXT, dtype=np.uint8)):
        out = challenge_bytes_many(VK, c, inputs, t)
        for i in range(n):
            context = (c if c.ndim == 1 else c[i]).tobytes()
            single = challenge(VK, context, [x.tobytes() for x in inputs[i]], t[i].tobytes())
            assert int.from_bytes(out[i].tobytes(), "little") % FR_MODULUS == single


@pytest.mark.parametrize("n_public", [0, 1, 5, 40])
def test_challenge_reads_columns_where_they_lie(n_public):
    """Rows of anything wider at any distance, backwards, and one row for all; up to a chunk and beyond."""
    n, width = 21, 32 * n_public
    wide = np.frombuffer(os.urandom(n * 2000), dtype=np.uint8).reshape(n, 2000)
    contexts, t = wide[:, 7:39], wide[:, 1900:1948]
    inputs = np.lib.stride_tricks.as_strided(wide[:, 101:], (n, n_public, 32), (2000, 32, 1))
    assert inputs.tobytes() == wide[:, 101 : 101 + width].tobytes()
    every_other = wide[0, 3:67:2]
    for columns in (
        (contexts, inputs, t),
        (contexts[::-1], inputs[:, ::-1], t[::-1]),
        (every_other, inputs, t),
        (np.broadcast_to(contexts[3], (n, 32)), np.broadcast_to(inputs[5], (n, n_public, 32)), t[:, ::-1]),
    ):
        got = challenge_bytes_many(VK, *columns)
        assert np.array_equal(got, challenge_bytes_many(VK, *(c.copy() for c in columns)))
        for i in (0, 20):
            context = columns[0] if columns[0].ndim == 1 else columns[0][i]
            material = VK + context.tobytes() + n_public.to_bytes(4, "little") + columns[1][i].tobytes()
            want = reference.blake3(material + columns[2][i].tobytes(), derive_key_context=CHALLENGE_CONTEXT)
            assert got[i].tobytes() == want.digest(64)


def test_challenge_bytes_many_refuses_wrong_shapes():
    good = {"contexts": (3, 32), "public_inputs": (3, 5, 32), "t_bytes": (3, 48)}
    for name, shapes in {
        "contexts": [(2, 32), (31,), (3, 33), ()],
        "public_inputs": [(2, 5, 32), (3, 5, 31), (3, 160), (3,)],
        "t_bytes": [(3, 47), (3, 48, 1)],
    }.items():
        for shape in shapes:
            arrays = {k: np.zeros(v, dtype=np.uint8) for k, v in (good | {name: shape}).items()}
            with pytest.raises(InputError, match=name):
                challenge_bytes_many(VK, **arrays)
    with pytest.raises(InputError, match="vk_digest"):
        challenge_bytes_many(b"", **{k: np.zeros(v, dtype=np.uint8) for k, v in good.items()})
    with pytest.raises(InputError, match="contexts"):
        challenge_bytes_many(VK, **{k: np.zeros(v, dtype=np.int8) for k, v in good.items()})


def test_challenge_context_names_project_date_and_version():
    assert CHALLENGE_CONTEXT == "bonsai-circuits 2026-11-30 masked Pari challenge v1"

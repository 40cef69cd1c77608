"""Memory in large pieces: aligned, and given on without ever being in two hands."""

import mmap
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from bonsai_circuits.kernels import memory

MIB = 1 << 17  # words
# Linux from 4.5 on and macOS have MADV_FREE; without it nothing waits, and `recycled` is `arrays`
can_wait = pytest.mark.skipif(not hasattr(mmap, "MADV_FREE"), reason="this system cannot take waiting memory back")


@pytest.fixture(autouse=True)
def none_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory._Mapping, "idle", [])


def address(array: Any) -> int:
    found = array.ctypes.data
    assert isinstance(found, int)
    return found


@pytest.mark.parametrize("allocate", [memory.arrays, memory.recycled])
@pytest.mark.parametrize("words", [1, 1000, 2 * MIB - 8, 2 * MIB, 3 * MIB + 1, 40 * MIB])
def test_arrays_are_aligned_and_apart(allocate: Any, words: int) -> None:
    one, two = allocate((words,), (5, 3))
    one[:], two[:] = 1, 2
    assert (one.shape, two.shape) == ((words,), (5, 3))
    assert (one == 1).all()
    assert (two == 2).all()
    assert address(one) % (2 << 20 if words >= 2 * MIB else 64) == address(two) % 64 == 0


@can_wait
def test_memory_waits_until_nothing_lies_in_it() -> None:
    one, two = memory.recycled((2 * MIB,), (2 * MIB,))
    where = address(one)
    del one
    assert len(memory._Mapping.idle) == 0
    part = two[5:9]
    del two
    assert len(memory._Mapping.idle) == 0
    del part
    assert len(memory._Mapping.idle) == 1
    (again,) = memory.recycled((4 * MIB,))
    assert address(again) == where
    assert len(memory._Mapping.idle) == 0


@can_wait
def test_memory_of_another_size_does_not_serve_and_makes_room() -> None:
    held = [memory.recycled((n * MIB,))[0] for n in (2, 3, 4)]
    where = {len(array): address(array) for array in held}
    while held:
        del held[0]
    (five,) = memory.recycled((5 * MIB,))
    assert len(memory._Mapping.idle) == 2  # the oldest, of 2, is gone
    (four,) = memory.recycled((4 * MIB,))
    assert address(four) == where[4 * MIB] != address(five)
    assert len(memory._Mapping.idle) == 1


@can_wait
def test_what_waits_is_bounded() -> None:
    held = [memory.recycled((2 * MIB,)) for _ in range(40)]
    held.clear()
    assert len(memory._Mapping.idle) == memory._Mapping.MOST


@can_wait
@pytest.mark.parametrize("n", [MIB, 33 * MIB])
def test_what_is_too_small_or_too_large_does_not_wait(n: int) -> None:
    memory.recycled((n,))
    assert memory._Mapping.idle == []


@can_wait
def test_a_finaliser_that_comes_last_says_nothing() -> None:
    """When the names of all modules are gone: an object array, which no collector sees into, and its own module in it."""
    script = """
import __main__
import numpy as np
from bonsai_circuits.kernels import memory
holder = np.array([memory.recycled((1 << 19,))[0], __main__], object)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""


@can_wait
def test_a_system_without_large_pages_has_memory_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mmap, "MADV_HUGEPAGE", 12345, raising=False)
    (one,) = memory.recycled((4 * MIB,))
    one[:] = 1


@can_wait
def test_memory_that_the_system_does_not_take_back_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory._Mapping, "FREE", 12345)
    memory.recycled((2 * MIB,))
    assert len(memory._Mapping.idle) == 0


@can_wait
def test_what_waits_goes_before_there_is_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    for array in [memory.recycled((n * MIB,)) for n in (3, 4, 5)]:
        array[0][:] = 1
    del array
    mapped = memory._mapped

    def full_while_some_wait(length: int) -> Any:
        if memory._Mapping.idle:
            raise OSError(12, "Cannot allocate memory")
        return mapped(length)

    monkeypatch.setattr(memory, "_mapped", full_while_some_wait)
    (one,) = memory.recycled((16 * MIB,))
    one[:] = 1


@can_wait
def test_no_memory_is_a_memory_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any, **__: Any) -> Any:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(mmap, "mmap", none)
    with pytest.raises(MemoryError, match="16777216 bytes"):
        memory.recycled((16 * MIB,))


def test_threads_never_get_the_same_memory() -> None:
    def hammer(name: int) -> bool:
        for i in range(200):
            arrays = [memory.recycled((2 * MIB + 512 * (j % 2),))[0] for j in range(3)]
            for j, array in enumerate(arrays):
                array[::4096] = (name << 32) + 3 * i + j
            if any((array[::4096] != (name << 32) + 3 * i + j).any() for j, array in enumerate(arrays)):
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(hammer, range(4)))

"""Memory in large pieces: aligned, and given on without ever being in two hands."""

import mmap
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import pytest

from bonsai_circuits.kernels import memory

MIB = 1 << 17  # words
can_wait = pytest.mark.skipif(not hasattr(mmap, "MADV_FREE"), reason="this system cannot take waiting memory back")


@pytest.fixture(autouse=True)
def none_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory._Mapping, "idle", SimpleQueue())


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
    assert one.all()
    assert (two == 2).all()
    assert address(one) % (2 << 20 if words >= 2 * MIB else 64) == address(two) % 64 == 0


@can_wait
def test_memory_waits_until_nothing_lies_in_it() -> None:
    one, two = memory.recycled((2 * MIB,), (2 * MIB,))
    where = address(one)
    del one
    assert memory._Mapping.idle.qsize() == 0
    part = two[5:9]
    del two
    assert memory._Mapping.idle.qsize() == 0
    del part
    assert memory._Mapping.idle.qsize() == 1
    (again,) = memory.recycled((4 * MIB,))
    assert address(again) == where
    assert memory._Mapping.idle.qsize() == 0


@can_wait
def test_memory_of_another_size_does_not_serve_and_makes_room() -> None:
    held = [memory.recycled((n * MIB,))[0] for n in (2, 3, 4)]
    where = {len(array): address(array) for array in held}
    while held:
        del held[0]
    (five,) = memory.recycled((5 * MIB,))
    assert memory._Mapping.idle.qsize() == 2  # the oldest, of 2, is gone
    (four,) = memory.recycled((4 * MIB,))
    assert address(four) == where[4 * MIB] != address(five)
    assert memory._Mapping.idle.qsize() == 1


@can_wait
def test_what_waits_is_bounded() -> None:
    held = [memory.recycled((2 * MIB,)) for _ in range(40)]
    held.append(memory.recycled((33 * MIB,)))
    held.append(memory.recycled((MIB,)))
    held.clear()
    assert memory._Mapping.idle.qsize() == memory._MOST_PIECES


@can_wait
def test_memory_that_the_system_does_not_take_back_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory._Mapping, "FREE", 12345)
    memory.recycled((2 * MIB,))
    assert memory._Mapping.idle.qsize() == 0


def test_no_memory_is_a_memory_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any, **__: Any) -> Any:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(memory, "_CAN_WAIT", True)
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

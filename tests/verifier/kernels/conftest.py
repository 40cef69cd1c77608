"""Fixtures of the kernels' tests: a suite that asks for `body` runs once over every body of its kernels."""

from collections.abc import Iterator

import pytest

from bonsai_verifier.kernels import cpu


@pytest.fixture(scope="module", params=cpu.BODIES)
def body(request: pytest.FixtureRequest) -> Iterator[str]:
    """The body that runs; vector is skipped on a machine that cannot run it."""
    if request.param == cpu.VECTOR and cpu.missing():
        pytest.skip(f"no vector body: {cpu.missing()}")
    with cpu.use(request.param):
        yield request.param


@pytest.fixture(scope="module")
def vector() -> None:
    """For tests of vector bodies alone."""
    if cpu.missing():
        pytest.skip(f"no vector body: {cpu.missing()}")

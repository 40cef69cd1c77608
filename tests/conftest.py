"""What every suite may ask for; and hypothesis sets no deadline, since the first example of a run may compile a kernel."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from bonsai_verifier.kernels import cpu

settings.register_profile("bonsai", deadline=None)
settings.load_profile("bonsai")


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

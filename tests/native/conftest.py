"""Suites that ask for `body` run over every body of the kernels."""

from tests.verifier.kernels.conftest import body, vector  # noqa: F401 - fixtures, found by their names here

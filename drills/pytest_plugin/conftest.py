"""The runs of pytest, as in tests/pytest_plugin."""

from tests.pytest_plugin.conftest import alone, nothing_compiled, pytests

__all__ = ["alone", "nothing_compiled", "pytests"]

"""The runs of pytest, as in tests/pytest_plugin."""

from tests.pytest_plugin.conftest import alone, nothing_compiled

__all__ = ["alone", "nothing_compiled"]

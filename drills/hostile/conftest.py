"""The project under attack and the server of runs, as in tests/hostile."""

from tests.hostile.conftest import here as drill, runs

__all__ = ["drill", "runs"]

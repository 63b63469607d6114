"""The project under attack and the server of runs, as in tests/hostile."""

from tests.hostile.conftest import project, runs

__all__ = ["project", "runs"]

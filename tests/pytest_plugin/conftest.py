"""What pytester's runs in this process share: it forgets what a run has imported, and the next one would
import it again."""

import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module

import pytest

for name in (
    "pytest_plugin.differing",
    "pytest_plugin.items",
    "schema.complaints",
    "programs.process",
    "refresh.rows",
    "store.index",
):
    import_module(f"baselinekit.{name}")
with suppress(ImportError):  # deepdiff takes it where it is installed, and a process has it once only
    import_module("numpy")


@pytest.fixture(autouse=True)
def nothing_compiled() -> Iterator[None]:
    """A file of tests that is written again within a second, with as many bytes, would be taken for the one
    before."""
    before = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    yield
    sys.dont_write_bytecode = before

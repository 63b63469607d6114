"""What the runs of pytest in these tests share: which plugins they have, and what pytester would forget: what
a run in this process has imported, the next one would import again."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module

import pytest

for name in (
    "baselinekit.pytest_plugin.fixture",
    "baselinekit.pytest_plugin.items",
    "baselinekit.pytest_plugin.unused",
    "baselinekit.clients.programs.process",
    "baselinekit.changes.rows",
    "httpcore",
):
    import_module(name)
with suppress(ImportError):  # deepdiff takes it where it is installed, and a process has it once only
    import_module("numpy")

ALONE = "-p no:anyio -p no:hypothesispytest -p no:randomly -p no:recording"
ALONE += " -p no:syrupy -p no:inline_snapshot -p no:regressions -p no:pytest-datadir"


@pytest.fixture(autouse=True)
def alone(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every run of pytest does without the plugins of others that are installed here: some take as long to
    import as all the rest, and pytester would import them again in each run. A test that needs one names it
    (`-p anyio`)."""
    if "pytester" in request.fixturenames:
        request.getfixturevalue("pytester")  # it takes the variable away
    before = os.environ.get("PYTEST_ADDOPTS")
    os.environ["PYTEST_ADDOPTS"] = ALONE
    yield
    del os.environ["PYTEST_ADDOPTS"]
    if before is not None:
        os.environ["PYTEST_ADDOPTS"] = before


@pytest.fixture(autouse=True)
def nothing_compiled() -> Iterator[None]:
    """A file of tests that is written again within a second, with as many bytes, would be taken for the one
    before."""
    before = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    yield
    sys.dont_write_bytecode = before

"""What every test may count on, whoever started the run."""

import gc
import itertools
import os

import clocks
import known
import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ("pytester",)
collect_ignore_glob = ["tests/golden/*"]  # files of users' projects, among them tests of theirs

# An ordinary run tries the same examples each time, so that who broke something is who sees it; the thorough
# one looks for others, and tries four times as many.
# In none does a busy machine fail a test: what has to be quick says so itself.
settings.register_profile("thorough", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ordinary", settings.get_profile("thorough"), derandomize=True, max_examples=25)
settings.load_profile("thorough" if os.environ.get("BASELINEKIT_THOROUGH") else "ordinary")


def pytest_addoption(parser: pytest.Parser) -> None:
    at = "the moment at which the commands of the tests begin, such as 2028-02-29T23:59:58Z"
    parser.addoption("--at", default=clocks.BEGINS, help=f"{at} (default: {clocks.BEGINS})")
    zone = "the time zone of the tests and of what they start, as TZ says it"
    parser.addoption("--zone", default=known.ZONE, help=f"{zone} (default: {known.ZONE})")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Last, when pytest has seen what the developer says of colours, and before any test is imported."""
    if not known.is_utf8():
        config.pluginmanager.getplugin("capturemanager").suspend_global_capture(in_=True)
        known.begin_again()
    config.addinivalue_line("markers", "slow: too dear for every save; `make test` runs it")
    known.settle(config.getoption("zone"))
    clocks.begin_at(config.getoption("at"))


def pytest_collection() -> None:
    """While tests are only read there is nothing to be looked through for garbage."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Thousands of tests stay as they are to the end: they are neither looked through again and again, nor
    copied page by page into every process that a test forks."""
    gc.collect()
    gc.freeze()
    gc.enable()


_MOST_TESTS_UNFROZEN = 200
_finished = itertools.count(1)


def pytest_runtest_logfinish() -> None:
    """What the tests so far have left (modules, caches, reports) stays: it is looked through once, and not in
    every collection of those that follow."""
    if next(_finished) % _MOST_TESTS_UNFROZEN == 0:
        gc.collect()
        gc.freeze()

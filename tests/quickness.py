"""Which tests are quick enough to run on every save (`make check`), and that they stay so.

A test that is dear is marked `slow`, alone or with its whole file (`pytestmark = pytest.mark.slow`), and runs
in `make test` only. `pytest --quick` leaves those out, and fails where what is left costs too much: processor
time of the tests and of what they start. On a busy machine the same test takes up to twice of that, so the
pace of the machine is measured while they run."""

import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean

import pytest

MOST_OF_ONE = 3.0
MOST_OF_ALL = 120.0
"""Seconds of a processor like the one that they were measured on. All of them took 77 on one machine, and
about 110 on another that did the known work as fast."""

_ALL_SLOW = re.compile(r"^pytestmark = pytest\.mark\.slow$", re.MULTILINE)
_PACE = 0.0125
"""What `_work` takes there."""
_EVERY = 200
"""So many tests, and the pace is measured."""


class Quickness:
    """A plugin of pytest, in every process of a run."""

    def __init__(self, most_of_one: float = MOST_OF_ONE) -> None:
        self.spent: dict[str, float] = {}
        self.paces: list[float] = []
        self._most_of_one = most_of_one

    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """A file that is slow as a whole is not even imported."""
        if collection_path.suffix != ".py" or not _ALL_SLOW.search(collection_path.read_text("utf-8")):
            return None
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        slow = [item for item in items if item.get_closest_marker("slow")]
        if slow:
            config.hook.pytest_deselected(items=slow)
            items[:] = [item for item in items if not item.get_closest_marker("slow")]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before = processor_time()
        try:
            return (yield)
        finally:
            self.spent[item.nodeid] = processor_time() - before
            if len(self.spent) % _EVERY == 1:
                self.paces.append(pace())

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """A process of pytest-xdist has ended: what its tests took is ours."""
        output = getattr(node, "workeroutput", {})
        self.spent |= output.get("spent", {})
        self.paces += output.get("paces", [])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["spent"], output["paces"] = self.spent, self.paces
        elif self._told() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: "pytest.TerminalReporter") -> None:
        terminalreporter.write_line(f"{sum(self.spent.values()):.0f} s of processor time in all")
        for line in self._told():
            terminalreporter.write_line(line)

    def _told(self) -> list[str]:
        return too_dear(self.spent, max(1.0, fmean(self.paces)), self._most_of_one) if self.spent else []


def processor_time() -> float:
    """Of this process, of what it started and saw end, and of the runs of its server of runs."""
    used, warm = os.times(), sys.modules.get("warm")
    own = used.user + used.system + used.children_user + used.children_system
    return own + (warm.spent() if warm else 0)


def _work() -> int:
    return sum(len(str(number)) for number in range(100_000))


def pace() -> float:
    """How many times as long as there the same work takes here and now."""
    began = time.thread_time()
    _work()
    return (time.thread_time() - began) / _PACE


def too_dear(spent: Mapping[str, float], pace: float, most_of_one: float = MOST_OF_ONE) -> list[str]:
    """What to tell whoever made the quick tests slow; nothing where they are quick."""
    dearest = sorted(spent.items(), key=lambda one: -one[1])
    each = [(name, seconds) for name, seconds in dearest if seconds > most_of_one * pace]
    whole = sum(spent.values())
    if whole > MOST_OF_ALL * pace:
        told = [f"The quick tests take {whole:.0f} s of processor time, {MOST_OF_ALL * pace:.0f} s at most."]
        each = each or dearest[:10]
    elif each:
        told = [f"Too slow for every save: {most_of_one * pace:.1f} s of processor time at most."]
    else:
        return []
    return [
        *told,
        *(f"  {seconds:6.2f} s  {name}" for name, seconds in each),
        "Make them quicker, or mark them with @pytest.mark.slow: then they run in `make test` only.",
    ]

"""Whatever JSON a test compares: what the first run writes, the second takes for the same, and no other."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import storehelp
from hypothesis import given, settings

from baselinekit.errors import BaselinekitError
from baselinekit.pytest_plugin.fixture import BaselineFixture, Projects, ValuesOfTest
from baselinekit.values.equality import same_json

pytestmark = pytest.mark.slow


class Config:
    """What of pytest's configuration the plugin asks for."""

    def __init__(self, rootpath: Path, update: str | None):
        self.invocation_params = pytest.Config.InvocationParams(args=(), plugins=None, dir=rootpath)
        self.pluginmanager = pytest.PytestPluginManager()
        self._update = update

    def getoption(self, name: str, default: object = None) -> object:
        return {"baseline_update": self._update}.get(name, default)


@dataclass
class Item:
    """What of a test the plugin asks for."""

    path: Path
    config: Config
    nodeid: str = "test_x.py::test_x"
    warned: list[Warning] = field(default_factory=list)

    def warn(self, warning: Warning) -> None:
        self.warned.append(warning)


@dataclass
class Report:
    """What of a report it asks for."""

    outcome: str = "passed"
    when: str = "call"
    longrepr: object = None
    sections: list[Any] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return self.outcome == "passed"

    @property
    def failed(self) -> bool:
        return self.outcome == "failed"


def accepts(folder: Path, value: object, update: str | None = None) -> bool:
    """Whether a run of the test passes with this value."""
    config: Any = Config(folder, update)
    item: Any = Item(folder / "test_x.py", config)
    report: Any = Report()
    values = ValuesOfTest(Projects(str(folder)), item, item.nodeid)
    same = BaselineFixture(values) == value
    values.settle(report)
    assert report.passed, report.longrepr
    return same


@settings(deadline=None)
@given(value=storehelp.values, other=storehelp.values)
def test_baseline_accepts_the_written_value_and_no_other(
    tmp_path_factory: pytest.TempPathFactory, value: Any, other: Any
) -> None:
    folder = tmp_path_factory.mktemp("round")
    (folder / "baselinekit.yaml").write_text("version: 1\n", encoding="utf-8")
    try:
        assert accepts(folder, value)
        assert accepts(folder, value)
        if not same_json(value, other):
            assert not accepts(folder, other)
            assert accepts(folder, other, update="changed")
            assert accepts(folder, other)
    except BaselinekitError as error:  # what looks like a secret in a key is refused
        if not {problem.code for problem in error.problems} <= {"BK522", "BK534"}:
            raise

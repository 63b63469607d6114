"""The plugin that pytest loads in every project where baselinekit is installed: options, a fixture and a few
hooks. It imports little; the rest is imported with the first test that uses the fixture."""

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from baselinekit.pytest_plugin.session import Run

if TYPE_CHECKING:
    from baselinekit.pytest_plugin.fixture import BaselineFixture, Projects, ValuesOfTest

_ALL = "write the values that tests compare with `baseline`: new ones, and those that changed"
UPDATES = (
    ("--baseline-update", "all", _ALL),
    ("--baseline-update=new", "new", "only those that are not there yet, also in CI"),
    ("--baseline-update=changed", "changed", "those that changed"),
    ("--baseline-update=all", "all", "both, as --baseline-update alone"),
)
ITEMS = "--baselinekit"
ITEM_OPTIONS: dict[str, tuple[str, bool, str]] = {
    "base-url": ("URL", False, "send the requests of collected baselines here"),
    "environment": ("NAME", False, "take this environment of the configuration"),
    "var": ("NAME=VALUE", True, "set a variable of collected baselines"),
    "env-file": ("FILE", True, "read variables from a file of KEY=value lines"),
    "secret": ("NAME[=VALUE]", True, "set a variable that is never shown"),
    "allow-host": ("HOST", True, "send requests only to this host, and others so named"),
    "allow-exec": ("", False, "let baselines run programs that the configuration does not name"),
    "offline": ("DIR", False, "ask no model: take recorded answers"),
    "record-calls": ("DIR", False, "record what models answer"),
}
"""The options for baselines that are collected as tests: the placeholder of the value ("" for none), whether
the option may be repeated, and its help."""
GATHERING = "baselinekit-gathering"
REPORTED = "baselinekit"
"""The attribute of a report with the baselines that its test used. xdist sends it from workers."""


_PROJECTS: "pytest.StashKey[Projects]" = pytest.StashKey()
_VALUES: "pytest.StashKey[ValuesOfTest]" = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("baselinekit", "baselines (baselinekit)")
    update: dict[str, Any] = {"action": "store_const", "dest": "baseline_update"}
    for option, kind, help in UPDATES:  # an optional value would swallow the path that follows the option
        group.addoption(option, const=kind, help=help, **update)
    help = "remove the baselines that no test uses any more, if the run covered everything"
    group.addoption("--baseline-prune", action="store_true", help=help)
    help = "collect the baselines of the project as tests, as `baselinekit compare` does"
    group.addoption(ITEMS, action="store_true", help=help)
    for name, (metavar, is_repeated, description) in ITEM_OPTIONS.items():
        options: dict[str, Any] = {"metavar": metavar} if metavar else {}
        action = "store_true" if not metavar else "append" if is_repeated else "store"
        help = f"{description}, as --{name} of a compare"
        group.addoption(f"{ITEMS}-{name}", action=action, help=help, **options)
    parser.addini("baselinekit", "collect the baselines of the project as tests", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(RunObserver(config), GATHERING)
    if config.getoption("baselinekit") or config.getini("baselinekit"):
        from baselinekit.pytest_plugin.items import BaselineItems

        config.pluginmanager.register(BaselineItems(config, ITEM_OPTIONS), "baselinekit-items")
        return
    for word in config.invocation_params.args:  # options in the ini file are ignored without it
        if isinstance(word, str) and word.startswith(f"{ITEMS}-"):
            option, _, _ = word.partition("=")
            raise pytest.UsageError(f"{option} is about collected baselines: add {ITEMS}")


@pytest.fixture
def baseline(request: pytest.FixtureRequest) -> "Generator[BaselineFixture]":
    """The known-good value of this test, kept in a file: `assert value == baseline`."""
    from baselinekit.pytest_plugin import fixture

    config, item = request.config, request.node
    if _PROJECTS not in config.stash:
        config.stash[_PROJECTS] = fixture.Projects(str(config.rootpath))
    values = fixture.ValuesOfTest(config.stash[_PROJECTS], item, plain_nodeid(config, item.nodeid))
    item.stash[_VALUES] = values
    yield fixture.BaselineFixture(values)
    values.warn_if_unused()


def plain_nodeid(config: pytest.Config, nodeid: str) -> str:
    """Return the node id without the group that xdist's `--dist loadgroup` appends."""
    test, mark, group = nodeid.rpartition("@")
    option = config.option  # workers have another option than the process that started them
    is_grouped = getattr(option, "dist", "") == "loadgroup" or getattr(option, "loadgroup", False)
    return test if is_grouped and mark and "]" not in group else nodeid


def pytest_assertrepr_compare(config: pytest.Config, op: str, left: Any, right: Any) -> list[str] | None:
    if _PROJECTS not in config.stash:
        return None
    from baselinekit.pytest_plugin import fixture

    return fixture.explain(op, left, right)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Complete the message of a failure, write the new baselines of a test that passed, and attach the files
    that it used to the report."""
    values: ValuesOfTest | None = item.stash.get(_VALUES, None)
    if values is None:
        return (yield)
    values.complete(call)
    report = yield
    setattr(report, REPORTED, values.settle(report))
    return report


class RunObserver(Run):
    """Records what a run covers. In a worker of xdist it records the collection only, and sends it to the
    main process."""

    def __init__(self, config: pytest.Config):
        super().__init__()
        self._config = config
        self._collected_count = 0
        self._summary: list[str] = []
        self._is_worker = hasattr(config, "workerinput")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.left_out = f"{report.nodeid or 'something'} could not be collected"
        elif "::" not in report.nodeid:
            self.looked[report.nodeid] = report.outcome

    def pytest_itemcollected(self) -> None:
        self._collected_count += 1

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if self._collected_count > len(session.items):
            self.left_out = f"of {self._collected_count:,} tests {len(session.items):,} were run"
        if not self._is_worker:
            self.pytest_xdist_node_collection_finished([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self.collected.update(plain_nodeid(self._config, nodeid) for nodeid in ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """Add what a worker collected; a worker that crashed sends nothing."""
        looked, left_out = getattr(node, "workeroutput", {}).get(REPORTED, ({}, ""))
        self.looked |= looked
        self.left_out = self.left_out or left_out

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        nodeid = plain_nodeid(self._config, report.nodeid)
        if report.when == "teardown":
            self.ended.add(nodeid)
        if report.outcome in ("failed", "skipped"):
            self.unproven.add(nodeid)
        self.used += getattr(report, REPORTED, ())

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        option, output = self._config.option, getattr(self._config, "workeroutput", None)
        if output is not None:
            output[REPORTED] = self.looked, self.left_out
        elif not option.collectonly and (option.baseline_prune or self.used):
            from baselinekit.pytest_plugin.unused import end_of_run

            self._summary = end_of_run(self._config, self, exitstatus)

    def pytest_terminal_summary(self, terminalreporter: "pytest.TerminalReporter") -> None:
        for line in self._summary:
            terminalreporter.write_line(line)

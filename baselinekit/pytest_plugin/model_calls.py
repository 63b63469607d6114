"""`@pytest.mark.model_calls("cassettes/…")`: the HTTP calls of a test are recorded, and from then on answered
from the file. Registered with the first test that has the mark."""

import os
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from baselinekit.cli.clients import timestamps
from baselinekit.cli.entry import clock
from baselinekit.errors import BaselinekitError, InvalidInput, Problem, suggest
from baselinekit.kinds.pytest import file_of
from baselinekit.pytest_plugin.files import OpenProject
from baselinekit.pytest_plugin.fixture import BaselineRun
from baselinekit.pytest_plugin.interception import Interception
from baselinekit.pytest_plugin.tape import MatchSettings, Mode, Tape
from baselinekit.secrets.names import is_secret_key
from baselinekit.store.httpcalls import FOLDER, Calls, keep_calls, read_calls
from baselinekit.texts import count_noun, shown
from baselinekit.variables import Redactor, Secret

_OPTIONS = ("ignore", "headers", "pass_through", "only")
_TITLE = "calls that are not recorded"
_MOST_NAMED = 8
_SHORTEST_SECRET = 8


@dataclass
class TestCalls:
    """The calls of one test while it runs. `missed`: how many unrecorded calls have been reported."""

    __test__ = False  # not a test class, despite its name

    project: OpenProject
    file: str
    tape: Tape
    interception: Interception
    failed: bool = False
    summary: list[Any] | None = None
    missed: int = 0

    def take_unreported(self) -> str:
        """Return the messages for unrecorded calls that have not been reported yet."""
        texts = self.tape.missed[self.missed :]
        self.missed = len(self.tape.missed)
        return "\n\n".join(dict.fromkeys(texts))


_CALLS = pytest.StashKey[TestCalls]()


class ModelCalls:
    """Intercepts the calls of a test from the setup of its first function-scoped fixture to the teardown of
    the last. Calls in fixtures that other tests share are not intercepted."""

    def __init__(self, run: BaselineRun, mark: str, report_attribute: str):
        """`report_attribute`: the attribute of a report with the summary of its test."""
        self._run, self._mark, self._report_attribute = run, mark, report_attribute
        self._now = timestamps(clock())
        self._running: TestCalls | None = None
        self._read: dict[str, tuple[tuple[int, int, int] | None, Calls]] = {}
        environ = {
            name: Secret(value)
            for name, value in os.environ.items()
            if is_secret_key(name) and len(value) >= _SHORTEST_SECRET and not value.isalpha()
        }
        self._environ: Mapping[str, Secret] = environ

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, request: pytest.FixtureRequest) -> Generator[None, object, object]:
        if request.scope == "function":
            self._begin(request.node)
            return (yield)
        with self._paused():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        calls = self._begin(item)
        result = yield
        if calls is not None and (
            text := calls.take_unreported()
        ):  # the error of an unrecorded call was caught
            pytest.fail(text, pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        calls = item.stash.get(_CALLS, None)
        if calls is None:
            return report
        calls.failed = calls.failed or call.excinfo is not None
        if report.failed and (text := calls.take_unreported()) and text not in report.longreprtext:
            report.sections.append((_TITLE, text))
        if report.when == "teardown" and calls.summary is not None:
            setattr(report, self._report_attribute, calls.summary)
        return report

    def _begin(self, item: pytest.Item) -> TestCalls | None:
        if self._running is not None and item.stash.get(_CALLS, None) is self._running:
            return self._running
        mark = item.get_closest_marker(self._mark)
        if mark is None:
            return None
        try:
            calls = self._calls_of(item, mark)
        except BaselinekitError as error:
            pytest.fail(str(error), pytrace=False)
        item.stash[_CALLS] = self._running = calls
        item.addfinalizer(lambda: self._end(calls))
        calls.interception.start()
        return calls

    def _calls_of(self, item: pytest.Item, mark: pytest.Mark) -> TestCalls:
        folder, settings = settings_of(mark)
        project = self._run.projects.of(os.path.dirname(os.path.realpath(item.path)))
        test = project.place(item, None).test
        file = folder if folder.endswith((".yaml", ".yml")) else file_of(test, None, folder)
        _check_folder(project, file)
        recorded = self._recorded_calls(project.root, file)
        redactor = Redactor(self._environ, None, project.project.redactor)
        test_file = os.path.relpath(item.path, item.config.invocation_params.dir)
        _, _, test_name = test.partition("::")
        nodeid = f"{test_file}::{test_name}"
        mode: Mode = self._run.update or ("replay" if project.is_ci else "record")
        tape = Tape(file, test, mode, recorded, redactor, _test_failure, self._now, settings, nodeid)
        return TestCalls(project, file, tape, Interception(tape))

    def _recorded_calls(self, root: str, file: str) -> Calls:
        """Return the recorded calls of a file, which is read again when it has changed."""
        path = os.path.join(root, file)
        try:
            status = os.stat(path)
        except OSError:
            return read_calls(root, file)
        now = (status.st_mtime_ns, status.st_size, status.st_ino)
        earlier, calls = self._read.get(path, (None, {}))
        if earlier != now:
            calls = read_calls(root, file)
            self._read[path] = (now, calls)
        return calls

    def _end(self, calls: TestCalls) -> None:
        calls.interception.stop()
        self._running = None
        outcome = calls.tape.finish(passed=not calls.failed)
        try:
            if outcome.calls is not None:
                keep_calls(calls.project.root, calls.file, calls.tape.test, outcome.calls)
        except BaselinekitError as error:
            masked = shown(error, calls.project.project.redactor.mask)
            pytest.fail(str(masked), pytrace=False)
        path = os.path.join(calls.project.root, calls.file)
        calls.summary = [path, outcome.recorded, outcome.removed, outcome.unused, list(outcome.dropped)]
        if not calls.failed and (text := calls.take_unreported()):
            pytest.fail(text, pytrace=False)

    @contextmanager
    def _paused(self) -> Iterator[None]:
        calls = self._running
        if calls is None:
            yield
            return
        was_paused, calls.interception.paused = calls.interception.paused, True
        try:
            yield
        finally:
            calls.interception.paused = was_paused


def _test_failure(text: str) -> BaseException:
    """Return a failure that is no Exception: retries, and code that catches any Exception, would hide it."""
    return pytest.fail.Exception(text, pytrace=False)


def settings_of(mark: pytest.Mark) -> tuple[str, MatchSettings]:
    """Return where the calls are recorded, and how they are matched. InvalidInput for any other mark."""
    unknown = [name for name in mark.kwargs if name not in _OPTIONS]
    if unknown:
        message = f"@pytest.mark.{mark.name} has no argument {unknown[0]!r}"
        raise InvalidInput(Problem("BK632", message, suggest(unknown[0], _OPTIONS) or ", ".join(_OPTIONS)))
    if len(mark.args) > 1 or not all(isinstance(arg, str) and arg for arg in mark.args):
        message = f"@pytest.mark.{mark.name} takes one name, of a file or a folder"
        raise InvalidInput(Problem("BK632", message, f'as in model_calls("{FOLDER}/chat.yaml")'))
    settings = {name: _texts(name, value) for name, value in mark.kwargs.items()}
    return (mark.args[0] if mark.args else FOLDER).rstrip("/"), MatchSettings(**settings)


def _check_folder(project: OpenProject, file: str) -> None:
    """Refuse a file in a folder of baselines, where every file is read as a baseline."""
    for folder in project.project.folders:
        if os.path.normpath(file).startswith(os.path.join(os.path.normpath(folder), "")):
            message = f"{file} would stand among the baselines in {folder}/"
            raise InvalidInput(Problem("BK632", message, f"name another folder, such as {FOLDER}/"))


def _texts(name: str, value: object) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else list(value) if isinstance(value, Iterable) else [value]
    if not all(isinstance(text, str) for text in texts):
        message = f"@pytest.mark.model_calls: {name} takes texts"
        raise InvalidInput(Problem("BK632", message, f'as in {name}=["…"]'))
    return tuple(str(text) for text in texts)


@dataclass
class CallsSummary:
    """What the tests of a run did with recorded calls, reported at its end."""

    files: set[str] = field(default_factory=set)
    recorded: dict[str, int] = field(default_factory=dict)
    removed: dict[str, int] = field(default_factory=dict)
    unused: dict[str, int] = field(default_factory=dict)
    dropped: dict[str, list[int]] = field(default_factory=dict)
    tests: dict[str, list[str]] = field(default_factory=dict)

    def add(self, nodeid: str, row: tuple[str, int, int, int, list[int]]) -> None:
        path, recorded, removed, unused, dropped = row
        self.files.add(path)
        for counts, number in ((self.recorded, recorded), (self.removed, removed), (self.unused, unused)):
            if number:
                counts[path] = counts.get(path, 0) + number
        if unused:
            self.tests.setdefault(path, []).append(nodeid)
        if dropped:
            self.dropped[nodeid] = dropped

    def lines(self, folder: "os.PathLike[str]") -> Iterator[str]:
        yield from self._files(self.recorded, "call", "recorded", folder)
        yield from self._files(self.removed, "recorded call", "removed, which no test makes any more", folder)
        for path, number in self.unused.items():
            name = os.path.relpath(path, folder)
            tests = " ".join(_quoted(test) for test in dict.fromkeys(self.tests[path][:_MOST_NAMED]))
            yield f"{count_noun(number, 'recorded call')} not made by its test: {name}"
            yield f"  they go with: pytest {tests} --baseline-update=changed"
        for nodeid, statuses in self.dropped.items():
            status_list = ", ".join(map(str, dict.fromkeys(statuses)))
            message = f"{count_noun(len(statuses), 'answer')} not recorded (status {status_list})"
            yield f"{message}, since the test failed: {nodeid}"

    def _files(
        self, counts: Mapping[str, int], noun: str, verb: str, folder: "os.PathLike[str]"
    ) -> Iterator[str]:
        names = [os.path.relpath(path, folder) for path in counts]
        if names:
            suffix = f": {names[0]}" if len(names) == 1 else ":"
            yield f"{count_noun(sum(counts.values()), noun)} {verb}{suffix}"
            yield from (f"  {name}" for name in names[:_MOST_NAMED] if len(names) > 1)
            if len(names) > _MOST_NAMED:
                yield f"  … and {len(names) - _MOST_NAMED:,} more"


def _quoted(test: str) -> str:
    from shlex import quote

    return quote(test)

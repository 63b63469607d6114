"""`pytest --baselinekit`: the baselines of the project as pytest items, each with the outcome that
`baselinekit compare` gives it. A baseline that cannot be replayed or judged is an error in setup, a
difference a failure."""

import fnmatch
import os
import shlex
from collections.abc import Collection, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest._code import code
from _pytest._io import TerminalWriter

from baselinekit.errors import BaselinekitError, Problem
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import Entry
from baselinekit.model.results import Result
from baselinekit.pytest_plugin.registry import BaselineWarning, terminal_of
from baselinekit.pytest_plugin.replays import Replays, XdistWorker, must_be_alone, parse_options, start_of
from baselinekit.report.differences import describe_in_brief
from baselinekit.report.wording import Style

_GROUP = "baselinekit"
"""The group for pytest-xdist: with `--dist loadgroup` one worker runs all of it, in order."""

_MEANT_FOR_PYTEST = frozenset(
    ("skip", "skipif", "xfail", "parametrize", "usefixtures", "filterwarnings", "tryfirst", "trylast")
)
"""Marks that mean something to pytest: a tag of such a name selects with -k, but does not become a mark."""


_BAD = ("FAILED ", "ERROR ")
_MARKS = pytest.StashKey[set[str]]()
_MARK = lazy_pattern(r"[A-Za-z0-9][\w.+/-]*")


class ReprEntryNative(code.ReprEntryNative):
    """Lines in colour on a terminal. It has the name of pytest's own class: by that name a worker of
    pytest-xdist sends it, without colours."""

    def toterminal(self, tw: TerminalWriter) -> None:
        for line in self.lines:
            sign = line.lstrip()[:2]
            tw.write(line, red=sign == "- " or line.startswith(_BAD), green=sign == "+ ")


class DidNotPass(Exception):
    """Carries an outcome to pytest's report. `text`: shown instead of a traceback."""

    def __init__(self, message: str, text: str, file: str, line: int):
        super().__init__(message)
        self.message, self.text, self.file, self.line = message, text, file, line

    def representation(self) -> code.ReprExceptionInfo:
        """Return the form that reports, JUnit files and the workers of pytest-xdist can process."""
        lines = f"{self.text}\n".splitlines(keepends=True)
        traceback = code.ReprTracebackNative(lines)
        traceback.reprentries = [ReprEntryNative(lines)]
        return code.ReprExceptionInfo(traceback, code.ReprFileLocation(self.file, self.line, self.message))


class BaselineFile(pytest.File):
    """A file of the project that holds baselines."""

    def __init__(self, *, replays: Replays, of_project: str, **options: Any):
        super().__init__(**options)
        self.replays, self.of_project = replays, of_project

    def collect(self) -> Iterator["BaselineItem"]:
        try:
            entries = self.replays.entries(self.of_project)
        except BaselinekitError as error:
            raise self.CollectError(self.replays.describe_error(error)) from None
        for entry, line in zip(entries, self.replays.lines(entries), strict=True):
            item = BaselineItem.from_parent(self, name=entry.id, entry=entry, line=line)
            item.add_words(self.replays.words_of(entry))
            yield item

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the error without a traceback, even with --full-trace: it has no code of the user."""
        if isinstance(excinfo.value, self.CollectError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


class BaselineItem(pytest.Item):
    """One baseline. It is replayed and judged in the setup, so that whatever prevents a verdict is an error;
    the call phase reports the verdict."""

    parent: BaselineFile

    def __init__(self, *, entry: Entry, line: int, **options: Any):
        super().__init__(**options)
        self.entry, self.line = entry, line
        self.result: Result | None = None
        self.refused: Problem | None = None

    def add_words(self, words: Sequence[str]) -> None:
        """Add the words that select it: with -k, and with -m where a word is a valid mark."""
        self.extra_keyword_matches.update(words, [self.entry.name] if self.entry.name else [])
        for word in words:
            if _MARK.fullmatch(word) and word not in _MEANT_FOR_PYTEST:
                known_marks = self.config.stash.setdefault(_MARKS, set())
                if word not in known_marks:  # registered, as --strict-markers refuses unknown marks
                    self.config.addinivalue_line("markers", f"{word}: a tag of a baseline")
                known_marks.add(word)
                self.add_marker(word)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.line - 1, self.name

    def setup(self) -> None:
        if self.config.getoption("setupplan", False):
            return
        replays = self.parent.replays
        judged = replays.refuse(self.entry, self.refused) if self.refused else replays.judge(self.entry)
        self.result = result = judged.result
        for warning in judged.warnings:
            self.warn(BaselineWarning(f"{self.name}: {warning}"))
        if result.outcome == "skipped" and result.code is None:
            pytest.skip(result.reason)
        if result.outcome not in ("passed", "failed"):
            raise self._did_not_pass(result)

    def runtest(self) -> None:
        if self.result is not None and self.result.outcome == "failed":
            raise self._did_not_pass(self.result)

    def _did_not_pass(self, result: Result) -> DidNotPass:
        text = self.parent.replays.describe_result(result)
        return DidNotPass(describe_in_brief(result), text, self._file(), result.line or self.line)

    def _file(self) -> str:
        return os.path.relpath(self.path, self.config.invocation_params.dir)

    def report(self, report: pytest.TestReport, error: BaseException) -> None:
        """Set what a report shows for this item instead of a traceback of our code."""
        if isinstance(error, BaselineWarning):  # with -W error
            error = DidNotPass(str(error), str(error), self._file(), self.line)
        if isinstance(error, DidNotPass):
            report.longrepr = error.representation()
        elif isinstance(error, pytest.skip.Exception):
            report.longrepr = str(self.path), self.line, f"Skipped: {error}"


class BaselineItems:
    """The hooks of a session that collects baselines."""

    def __init__(self, config: pytest.Config, options: Collection[str]):
        self._config = config
        self._options = options
        self._replays: Replays | None = None
        self._environ: dict[str, str] = {}
        self._worker = _worker_of(config)

    @property
    def replays(self) -> Replays:
        assert self._replays is not None
        return self._replays

    def _open_replays(self) -> Replays:
        """Open the project, anew when the environment has changed: a conftest.py may start the service and
        set it."""
        config, environ = self._config, dict(os.environ)
        if self._replays is None or environ != self._environ:
            if self._replays is not None:
                self._replays.close()
            start = start_of(str(config.rootpath), str(config.invocation_params.dir))
            try:
                options = parse_options(self._given_options())
                self._replays = Replays(start, options, self._worker, _style_of(config))
            except BaselinekitError as error:
                raise pytest.UsageError(str(error)) from None
            self._environ = environ
        return self._replays

    def _given_options(self) -> Iterator[tuple[str, str]]:
        """Yield the options of this run by their names on our own command line, with their values."""
        for name in self._options:
            value = getattr(self._config.option, f"baselinekit_{name.replace('-', '_')}")
            for item in value if isinstance(value, list) else [value]:
                if item not in (None, False):
                    yield name, "" if item is True else str(item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Report a broken configuration before anything is collected or a worker is started."""
        self._open_replays()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        if self._replays is not None:
            self._replays.close()

    def pytest_report_header(self) -> str:
        return f"baselinekit: {self._open_replays().describe()}"

    # Which files are collected.

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Without paths on the command line collect the whole project, whatever `testpaths` says."""
        self._open_replays()
        config = self._config
        start = os.path.realpath(config.invocation_params.dir)
        whole_project = {os.path.realpath(config.rootpath), self.replays.root}
        if config.args_source is config.ArgsSource.ARGS or start not in whole_project:
            return
        for folder in self.replays.folders:
            if not any(_is_within(folder, os.path.abspath(arg)) for arg in config.args):
                config.args.append(folder)

    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Collect folders of baselines named `build` or `dist`, which pytest ignores by default."""
        config, path = self._config, str(collection_path)
        if not any(path != folder and _is_within(path, folder) for folder in self.replays.folders):
            return None
        name = collection_path.name
        is_passed_over = any(fnmatch.fnmatch(name, pattern) for pattern in config.getini("norecursedirs"))
        if not is_passed_over or not self.replays.holds_baselines(path):
            return None
        ignored = [os.path.abspath(path) for path in config.getoption("ignore") or ()]
        return None if path in ignored else False

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> BaselineFile | None:
        name = self.replays.name_of(str(file_path), parent.session.isinitpath(file_path))
        if name is None:
            return None
        return BaselineFile.from_parent(parent, path=file_path, replays=self.replays, of_project=name)

    # The order, and the checks before the first request.

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put baselines that must be replayed alone last, as in a compare: they could change what others
        read."""
        items.sort(key=lambda item: isinstance(item, BaselineItem) and must_be_alone(item.entry))
        baseline_items = [item for item in items if isinstance(item, BaselineItem)]
        if self._worker.count > 1 and any(item.entry.claim is not None for item in baseline_items):
            for item in baseline_items:
                item.add_marker(pytest.mark.xdist_group(_GROUP))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Report invalid rules and recipes of all selected baselines before the first request is sent."""
        if self._config.getoption("collectonly", False):
            return
        baseline_items = [item for item in session.items if isinstance(item, BaselineItem)]
        for item in baseline_items if self._worker.count > 1 else ():
            if item.entry.claim is not None and not item.nodeid.endswith(f"@{_GROUP}"):
                item.refused = other_workers_problem(item.entry)
        nodes = {item.entry.source.file: item.parent for item in baseline_items}
        for file, error in self.replays.find_errors([item.entry for item in baseline_items]).items():
            text = self.replays.describe_error(error)
            report = pytest.CollectReport(nodes[file].nodeid, "failed", text, [])
            self._config.hook.pytest_collectreport(report=report)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if isinstance(item, BaselineItem) and call.excinfo is not None:
            item.report(report, call.excinfo.value)
        return report


def other_workers_problem(entry: Entry) -> Problem:
    """Return why it is not replayed beside other workers."""
    claim = "it is to be replayed alone" if must_be_alone(entry) else f"it uses {entry.claim!r} alone"
    message = f"{claim}, and other workers of pytest-xdist replay others meanwhile"
    return Problem("BK357", message, f"pytest --baselinekit {shlex.quote(entry.source.file)}, without -n")


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))


def _style_of(config: pytest.Config) -> Style:
    """Return a style without colours: the same text goes into a JUnit file."""
    width, verbosity = terminal_of(config)
    return Style(width=width, verbose=verbosity > 0)


def _worker_of(config: pytest.Config) -> XdistWorker:
    """Return the number of this worker of pytest-xdist, and the count of all."""
    worker_input: dict[str, Any] = getattr(config, "workerinput", {})
    number = str(worker_input.get("workerid", "gw0")).removeprefix("gw")
    return XdistWorker(int(number) if number.isdecimal() else 0, int(worker_input.get("workercount", 1)))

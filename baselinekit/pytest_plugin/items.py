"""`pytest --baselinekit`: the baselines of the project as pytest items, each with the outcome that
`baselinekit compare` gives it. A baseline that cannot be replayed or judged is an error in setup, a
difference a failure. They are replayed one after the other, by clients that stay open from the first to the
last."""

import os
import shlex
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from _pytest._code import code

from baselinekit.cli.clients import LazyModels, effective_limits, open_clients
from baselinekit.cli.entry import clock
from baselinekit.cli.options import ProjectOptions, RecordingOptions, operator_of
from baselinekit.commands.context import ModelThreads, Stop
from baselinekit.commands.judging import Checker, ComparePolicy, unjudged_result
from baselinekit.commands.loading import raise_unless_variables, with_lines
from baselinekit.commands.project import CaptureEnvironment, open_project
from baselinekit.commands.recording import keep_seen, mask_result
from baselinekit.commands.selection import Selection
from baselinekit.errors import BaselinekitError, Problem, internal_error
from baselinekit.files.languages import LINES, SUFFIXES
from baselinekit.kinds.kind import ALONE
from baselinekit.kinds.table import KINDS
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import Entry
from baselinekit.model.recipes import Limits
from baselinekit.model.results import Report, Result, Typed
from baselinekit.pytest_plugin.session import BaselineWarning, terminal_of
from baselinekit.report.differences import describe_in_brief
from baselinekit.report.next_commands import after_compare, command_line, explain_commands
from baselinekit.report.terminal import format_failure
from baselinekit.report.wording import Style, format_lines
from baselinekit.store.project import name_in_project, nearest_config, project_root
from baselinekit.store.reading import discover_files, find_repeated_ids, locate_each
from baselinekit.structs import replace
from baselinekit.values.texts import shown

_GROUP = "baselinekit"
"""The group for pytest-xdist: with `--dist loadgroup` one worker runs all of it, in order."""

_MEANT_FOR_PYTEST = frozenset(
    ("skip", "skipif", "xfail", "parametrize", "usefixtures", "filterwarnings", "tryfirst", "trylast")
)
"""Marks that mean something to pytest: a tag of such a name selects with -k, but does not become a mark."""


_QUESTIONS_AT_ONCE = 8
_MARK = lazy_pattern(r"[A-Za-z0-9][\w.+/-]*")


class Replays:
    """The project and the clients of a session, opened in the folder in which a user would run `baselinekit
    compare`. `options`: the names of those of a compare that a session has."""

    def __init__(self, config: pytest.Config, options: Collection[str]):
        given = {name: getattr(config.option, f"baselinekit_{name.replace('-', '_')}") for name in options}
        self._words: list[str] = []
        """The options of this run as on our own command line."""
        for name, value in given.items():
            for item in value if isinstance(value, list) else [value]:
                if item not in (None, False):
                    self._words += [f"--{name}", *(() if item is True else (item,))]
        project_options = ProjectOptions(
            environment=given["environment"],
            base_url=given["base-url"],
            variables=tuple(("--var", value) for value in given["var"] or ()),
            env_files=tuple(given["env-file"] or ()),
            secrets=tuple(given["secret"] or ()),
            allow_hosts=tuple(given["allow-host"] or ()),
            allow_exec=given["allow-exec"],
        )
        recording = RecordingOptions(offline=given["offline"], record_calls=given["record-calls"])
        start = start_of(str(config.rootpath), str(config.invocation_params.dir))
        self.project = project = open_project(replace(operator_of(project_options), cwd=start))
        width, verbosity = terminal_of(config)
        self._style = Style(width=width, verbose=verbosity > 0)  # plain: the same text is in a JUnit file
        self._stop = Stop()
        self._open = ExitStack()
        context = self._open.enter_context(open_clients(clock(), None, self._stop))
        worker = worker_of(config)
        recording = _share_of(project.config.limits, recording, *worker)
        models = LazyModels(project, context.clients, recording, about="compare")
        models.processes = worker[1]
        context = models.added_to(context)
        at_once = self._open.enter_context(ModelThreads(context.clients, _QUESTIONS_AT_ONCE))
        self._cancel = context.cancel
        environment = CaptureEnvironment(project, at_once.clients)
        self._checker = Checker(environment, ComparePolicy(explain=self._style.verbose), context)
        self._ids: dict[str, Entry] = {}
        folders = [folder for folder in project.folders if os.path.isdir(os.path.join(project.root, folder))]
        self.folders = [os.path.normpath(os.path.join(project.root, folder)) for folder in folders]
        self._known = discover_files(folders, project.root).files

    # The files and their baselines.

    def describe(self) -> str:
        """Return a line about the project."""
        project = self.project
        base_url = project.override_base_url or project.base_url
        text = f"{project.root}, {project.config_file or 'no baselinekit.yaml'}"
        return project.redactor.mask_said(text + (f", base_url {base_url}" if base_url else ""))

    def name_of(self, path: str, is_named: bool) -> str | None:
        """Return the name in the project of a file that holds baselines; None for any other. `is_named`:
        given on the command line, so that it need not be in a folder of baselines."""
        name = name_in_project(self.project.root, os.path.realpath(path))
        return name if name in self._known or (is_named and path.endswith((*SUFFIXES, LINES))) else None

    def entries(self, file: str) -> list[tuple[Entry, int, list[str]]]:
        """Return the baselines of a file that can be replayed, which excludes values of tests: each with its
        line, its tags and its criticality. Whatever is wrong in the file is raised, but for variables without
        a value, which are errors of the baselines that need them."""
        read = self._checker.read([file], Selection())
        for entry in read.entries:
            earlier = self._ids.setdefault(entry.id.casefold(), entry)
            if earlier.source != entry.source:
                read.problems += find_repeated_ids([earlier, entry], self.project.root)
        try:
            raise_unless_variables(read, [*read.unready.values()], self.project.root)
        except BaselinekitError as error:
            raise shown(error, self.project.redactor.mask) from None
        entries = [entry for entry in read.entries if not KINDS[entry.kind].brought_by]
        places = locate_each([(entry.source, [()]) for entry in entries], self.project.root)
        lines = [place.line or 1 for (place,) in places]
        levels = {one.id: one.metadata.criticality for one in self._checker.baselines(entries)}
        words = [[*entry.tags, *filter(None, [levels.get(entry.id)])] for entry in entries]
        return list(zip(entries, lines, words, strict=True))

    # Replaying, one after the other.

    def judge(self, entry: Entry) -> tuple[Result, list[str]]:
        """Replay and compare an entry; return its result and its warnings. The output of one that differs is
        stored for a refresh; the file does not change."""
        root = self.project.root
        try:
            judged = self._checker.judge(entry)
            warning = keep_seen(root, judged.pending, judged.settled_id, judged.warning)
            (located,) = with_lines([judged.result], [entry.source], root)
            result = mask_result(located, self.project.redactor)
        except KeyboardInterrupt:
            self._stop.ask()
            self._cancel()
            raise
        except Exception as error:
            return self.refuse(entry, internal_error(error).problems[0]), []
        notes = result.notes if result.outcome in ("passed", "skipped") else ()
        return result, list(filter(None, (*notes, warning)))

    def refuse(self, entry: Entry, problem: Problem) -> Result:
        """Return an error with the reason, for an entry that is not replayed."""
        return unjudged_result(entry, "error", self.project.redactor.mask(problem.with_hint), problem.code)

    def close(self) -> None:
        """Close the connections."""
        self._open.close()

    # Descriptions.

    def describe_result(self, result: Result) -> str:
        """Return the text for a baseline that did not pass, with the commands to run next."""
        words = command_line("compare", *self._words)
        report = Report("", "", 0.0, "", words, (result,), typed=Typed(tuple(self._words)))
        commands = after_compare(report, (), self.project.folders, self._style.verbose)
        text = format_failure(result, self._style)
        return self._with_commands(text, commands)

    def describe_error(self, error: BaselinekitError) -> str:
        """Return every problem with its place and hint, and the commands that explain them."""
        codes = dict.fromkeys(problem.code for problem in error.problems)
        return self._with_commands(f"{error}\n", explain_commands([*codes][:3]))

    def _with_commands(self, text: str, commands: Iterable[str]) -> str:
        lines = format_lines([f"next: {command}" for command in commands])
        return self.project.redactor.mask_said(f"{text.rstrip()}\n\n{lines}".rstrip())


def worker_of(config: pytest.Config) -> tuple[int, int]:
    """Return the number of this worker of pytest-xdist, and the count of all."""
    worker_input: dict[str, Any] = getattr(config, "workerinput", {})
    number = str(worker_input.get("workerid", "gw0")).removeprefix("gw")
    return int(number) if number.isdecimal() else 0, int(worker_input.get("workercount", 1))


def _share_of(limits: Limits, requested: RecordingOptions, number: int, count: int) -> RecordingOptions:
    """Return this worker's share of the limits on model calls: all workers together keep to the limits."""
    if count == 1:
        return requested

    def part(whole: int | None) -> int | None:
        return None if whole is None else whole // count + (number % count < whole % count)

    total = effective_limits(limits, requested)
    cost = None if total.usd is None else float(total.usd) / count
    return replace(requested, max_calls=part(total.calls), max_tokens=part(total.tokens), max_cost=cost)


def start_of(rootdir: str, invoked_in: str) -> str:
    """Return the folder from which the project is searched upwards: where pytest was started, as for the
    command line; but pytest's rootdir where that is not above it, or where no project is found."""
    is_below = os.path.commonpath([rootdir, invoked_in]) == rootdir
    start = invoked_in if is_below else rootdir
    config = nearest_config(start)
    is_found = config or os.path.lexists(os.path.join(project_root(config, start), ".git"))
    return start if is_found else rootdir


class DidNotPass(Exception):
    """Carries an outcome to pytest's report. `text`: shown instead of a traceback."""

    def __init__(self, message: str, text: str, line: int):
        super().__init__(message)
        self.text, self.line = text, line


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
        for entry, line, words in entries:
            item = BaselineItem.from_parent(self, name=entry.id, entry=entry, line=line)
            item.add_words(words)
            yield item


class BaselineItem(pytest.Item):
    """One baseline. It is replayed and judged in the setup, so that whatever prevents a verdict is an error;
    the call phase reports the verdict."""

    parent: BaselineFile

    def __init__(self, *, entry: Entry, line: int, **options: Any):
        super().__init__(**options)
        self.entry, self.line = entry, line
        self.result: Result | None = None

    def add_words(self, words: Sequence[str]) -> None:
        """Add the words that select it: with -k, and with -m where a word is a valid mark."""
        self.extra_keyword_matches.update(words, [self.entry.name] if self.entry.name else [])
        for word in words:
            if _MARK.fullmatch(word) and word not in _MEANT_FOR_PYTEST:
                line = f"{word}: a tag of a baseline"
                if line not in self.config.getini("markers"):  # --strict-markers refuses unknown marks
                    self.config.addinivalue_line("markers", line)
                self.add_marker(word)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.line - 1, self.name

    def setup(self) -> None:
        if self.config.getoption("setupplan", False):
            return
        replays = self.parent.replays
        warnings: list[str] = []
        is_shared = worker_of(self.config)[1] > 1 and not self.nodeid.endswith(f"@{_GROUP}")
        if is_shared and self.entry.claim is not None:
            result = replays.refuse(self.entry, other_workers_problem(self.entry))
        else:
            result, warnings = replays.judge(self.entry)
        self.result = result
        for warning in warnings:
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
        return DidNotPass(describe_in_brief(result), text, result.line or self.line)

    def report(self, report: pytest.TestReport, error: BaseException) -> None:
        """Set what a report shows for this item instead of a traceback of our code, in the form that reports,
        JUnit files and the workers of pytest-xdist can process."""
        if isinstance(error, pytest.skip.Exception):
            report.longrepr = str(self.path), self.line, f"Skipped: {error}"
        elif isinstance(error, DidNotPass | BaselineWarning):  # a warning with -W error
            text, line = str(error), self.line
            if isinstance(error, DidNotPass):
                text, line = error.text, error.line
            traceback = code.ReprTracebackNative(f"{text}\n".splitlines(keepends=True))
            file = os.path.relpath(self.path, self.config.invocation_params.dir)
            place = code.ReprFileLocation(file, line, str(error))
            report.longrepr = code.ReprExceptionInfo(traceback, place)


class BaselineItems:
    """The hooks of a session that collects baselines."""

    def __init__(self, config: pytest.Config, options: Collection[str]):
        self._config = config
        self._options = options
        _, self._worker_count = worker_of(config)

    @cached_property
    def replays(self) -> Replays:
        """The project, opened by the first hook that comes after those of a conftest.py, which may start the
        service and set its address."""
        try:
            return Replays(self._config, self._options)
        except BaselinekitError as error:
            raise pytest.UsageError(str(error)) from None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self) -> None:
        """Report a broken configuration before anything is collected or a worker is started."""
        _ = self.replays

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        if "replays" in self.__dict__:
            self.replays.close()

    def pytest_report_header(self) -> str:
        return f"baselinekit: {self.replays.describe()}"

    # Which files are collected.

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Without paths on the command line collect the whole project, whatever `testpaths` is."""
        config = self._config
        start = os.path.realpath(config.invocation_params.dir)
        whole_project = {os.path.realpath(config.rootpath), self.replays.project.root}
        if config.args_source is config.ArgsSource.ARGS or start not in whole_project:
            return
        for folder in self.replays.folders:
            if not any(Path(folder).is_relative_to(os.path.abspath(arg)) for arg in config.args):
                config.args.append(folder)

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> BaselineFile | None:
        name = self.replays.name_of(str(file_path), parent.session.isinitpath(file_path))
        if name is None:
            return None
        return BaselineFile.from_parent(parent, path=file_path, replays=self.replays, of_project=name)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put baselines that must be replayed alone last, as in a compare: they could change what others
        read."""
        items.sort(key=lambda item: isinstance(item, BaselineItem) and item.entry.claim == ALONE)
        baseline_items = [item for item in items if isinstance(item, BaselineItem)]
        if self._worker_count > 1 and any(item.entry.claim is not None for item in baseline_items):
            for item in baseline_items:
                item.add_marker(pytest.mark.xdist_group(_GROUP))

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
    claim = "it is to be replayed alone" if entry.claim == ALONE else f"it uses {entry.claim!r} alone"
    message = f"{claim}, and other workers of pytest-xdist replay others meanwhile"
    return Problem("BK356", message, f"pytest --baselinekit {shlex.quote(entry.source.file)}, without -n")

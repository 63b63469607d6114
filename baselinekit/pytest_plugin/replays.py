"""Replays the baselines of a project in a session of pytest, one after the other, judged as by `baselinekit
compare`. Clients stay open from the first to the last."""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from typing import TypeVar

from baselinekit.cli.clients import LazyModels, effective_limits, open_clients
from baselinekit.cli.entry import clock
from baselinekit.cli.options import ProjectOptions, RecordingOptions, operator_of
from baselinekit.commands.checking import Checker, JudgePolicy, Key, key_of, unjudged_result
from baselinekit.commands.context import SIGNAL_CHECK, ModelThreads, Stop
from baselinekit.commands.judging import JudgedBaseline, keep_seen, mask_result
from baselinekit.commands.loading import UnfitBaseline, raise_unless_variables, with_lines
from baselinekit.commands.project import CaptureEnvironment, open_project
from baselinekit.errors import BaselinekitError, Problem, internal_error
from baselinekit.files.languages import LINES, SUFFIXES
from baselinekit.kinds.kind import ALONE
from baselinekit.kinds.table import KINDS
from baselinekit.model.baselines import Entry
from baselinekit.model.recipes import Limits
from baselinekit.model.results import Report, Result, Typed
from baselinekit.report.next_commands import after_compare, command_line, explain_commands
from baselinekit.report.terminal import format_failure
from baselinekit.report.wording import Style, format_lines
from baselinekit.store.discovery import discover_files
from baselinekit.store.project import name_in_project, nearest_config, project_root
from baselinekit.store.reading import find_repeated_ids, locate_each
from baselinekit.structs import Struct, replace
from baselinekit.values.texts import shown

T = TypeVar("T")

_QUESTIONS_AT_ONCE = 8
_HINTED = ("allow-exec", "allow-host", "var", "secret", "environment", "record-calls")


class XdistWorker(Struct):
    """The number of this process of pytest-xdist, and the count of all."""

    number: int = 0
    count: int = 1


ALL, PLAIN = XdistWorker(), Style()


class ReplayOptions(Struct):
    """The options of a session, as those of a compare. `words`: as typed on its command line."""

    project: ProjectOptions
    recording: RecordingOptions
    words: tuple[str, ...] = ()


def parse_options(given: Iterable[tuple[str, str]]) -> ReplayOptions:
    """Parse pairs of an option without `--` and its value."""
    pairs = list(given)
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)

    def last_value(name: str) -> str | None:
        return values[name][-1] if name in values else None

    project = ProjectOptions(
        environment=last_value("environment"),
        base_url=last_value("base-url"),
        variables=tuple(("--var", value) for value in values.get("var", ())),
        env_files=tuple(values.get("env-file", ())),
        secrets=tuple(values.get("secret", ())),
        allow_hosts=tuple(values.get("allow-host", ())),
        allow_exec="allow-exec" in values,
    )
    recording = RecordingOptions(offline=last_value("offline"), record_calls=last_value("record-calls"))
    words = (word for name, value in pairs for word in (f"--{name}", value) if word)
    return ReplayOptions(project, recording, tuple(words))


class JudgedItem(Struct):
    """The result of one baseline, and its warnings."""

    result: Result
    warnings: tuple[str, ...] = ()


class Replays:
    """The project and the clients of a session. `start`: the folder in which a user would run `baselinekit
    compare`."""

    def __init__(self, start: str, options: "ReplayOptions", worker: XdistWorker = ALL, style: Style = PLAIN):
        self._open = ExitStack()
        self._option_words = options.words
        operator = replace(operator_of(options.project), cwd=start)
        self.project = open_project(operator)
        self.root = self.project.root
        unresolved_root = os.path.abspath(project_root(nearest_config(start), start))
        self._unresolved_root = (
            unresolved_root if os.path.realpath(unresolved_root) == self.root else self.root
        )
        self._stop = Stop()
        context = self._open.enter_context(open_clients(clock(), None, self._stop))
        models = LazyModels(
            self.project,
            context.clients,
            _share_of(self.project.config.limits, options.recording, worker),
            about="compare",
        )
        models.part = worker.number, worker.count
        context = models.added_to(context)
        at_once = self._open.enter_context(ModelThreads(context.clients, _QUESTIONS_AT_ONCE))
        self._cancel = context.cancel
        self._environment = CaptureEnvironment(self.project, at_once.clients)
        self._checker = Checker(self._environment, JudgePolicy(explain=style.verbose), context)
        self._style = style
        self._thread: ThreadPoolExecutor | None = None
        self._files: dict[str, tuple[list[Entry], BaselinekitError | None]] = {}
        self._unfit: dict[Key, UnfitBaseline] = {}
        self._ids: dict[str, Entry] = {}
        self._critical: dict[str, str] = {}
        folders = [
            folder for folder in self.project.folders if os.path.isdir(os.path.join(self.root, folder))
        ]
        self.folders = [os.path.normpath(os.path.join(self._unresolved_root, folder)) for folder in folders]
        self._known = discover_files(folders, self.root).files
        self._holding = {os.path.dirname(name) for name in self._known}

    # The files and their baselines.

    def describe(self) -> str:
        """Return a line about the project for the header of a run."""
        config = self.project.config_file or "no baselinekit.yaml"
        base_url = self.project.override_base_url or self.project.base_url
        text = f"{self._unresolved_root}, {config}" + (f", base_url {base_url}" if base_url else "")
        return self.project.redactor.mask_said(text)

    def name_of(self, path: str, is_named: bool) -> str | None:
        """Return the name in the project of a file that holds baselines; None for any other. `is_named`:
        given on the command line, so that it need not be in a folder of baselines."""
        name = name_in_project(self._unresolved_root, path)
        if name in self._known:
            return name
        return name if is_named and path.endswith((*SUFFIXES, LINES)) else None

    def holds_baselines(self, folder: str) -> bool:
        """Whether there are baselines in a folder or below it."""
        name = name_in_project(self._unresolved_root, folder)
        return any(holder == name or holder.startswith(f"{name}/") for holder in self._holding)

    def entries(self, name: str) -> list[Entry]:
        """Return the baselines of a file that can be replayed, which excludes values of tests. A problem with
        any of them is raised."""
        if name not in self._files:
            read = self._checker.read([name], lambda entry: True)
            self._unfit |= read.unfit
            for entry in read.entries:
                earlier = self._ids.setdefault(entry.id.casefold(), entry)
                if earlier is not entry:
                    read.problems += find_repeated_ids([earlier, entry], self.root)
            entries = [entry for entry in read.entries if not KINDS[entry.kind].brought_by]
            self._files[name] = entries, read.error
            for baseline in self._checker.baselines(entries):
                if baseline.metadata.criticality:
                    self._critical[baseline.id] = baseline.metadata.criticality
        entries, error = self._files[name]
        if error is not None:
            raise shown(error, self.project.redactor.mask)
        return entries

    def words_of(self, entry: Entry) -> list[str]:
        """Return its tags and its criticality."""
        return [*entry.tags, *([self._critical[entry.id]] if entry.id in self._critical else [])]

    def lines(self, entries: Sequence[Entry]) -> list[int]:
        """Return the lines of their file on which the entries begin."""
        if all(entry.source.document == 0 and not entry.source.at for entry in entries):
            return [1] * len(entries)
        places = locate_each([(entry.source, [()]) for entry in entries], self.root)
        return [place.line or 1 for (place,) in places]

    def find_errors(self, entries: Sequence[Entry]) -> dict[str, BaselinekitError]:
        """Return the errors of entries that cannot be replayed or compared as written, by file. The other
        entries are prepared afterwards; one that lacks a variable is an error when it is judged."""
        errors: dict[str, BaselinekitError] = {}
        by_file: dict[str, list[Entry]] = {}
        for entry in entries:
            by_file.setdefault(entry.source.file, []).append(entry)
        for file, file_entries in by_file.items():
            try:
                keys = map(key_of, file_entries)
                raise_unless_variables(
                    None, [self._unfit[key] for key in keys if key in self._unfit], self.root
                )
            except BaselinekitError as error:
                errors[file] = shown(error, self.project.redactor.mask)
        return errors

    # Replaying, one after the other.

    def judge(self, entry: Entry) -> JudgedItem:
        """Replay and compare an entry. The output of one that differs is stored for a refresh; the file does
        not change."""
        try:
            judged = self._in_thread(lambda: self._checker.judge(entry))
            return self._store_pending(entry, judged)
        except Exception as error:
            return self.refuse(entry, internal_error(error).problems[0])

    def refuse(self, entry: Entry, problem: Problem) -> JudgedItem:
        """Return an error with the reason, for an entry that is not replayed."""
        reason = self.project.redactor.mask(problem.with_hint)
        return JudgedItem(unjudged_result(entry, "error", reason, problem.code))

    def _store_pending(self, entry: Entry, judged: JudgedBaseline) -> JudgedItem:
        settled_id = judged.result.id if judged.settles else ""
        warning = keep_seen(self.root, judged.pending, settled_id, judged.warning)
        (located,) = with_lines([judged.result], [entry.source], self.root)
        result = mask_result(located or judged.result, self.project.redactor)
        notes = result.notes if result.outcome in ("passed", "skipped") else ()
        return JudgedItem(result, tuple(filter(None, (*notes, warning))))

    def _in_thread(self, work: Callable[[], T]) -> T:
        """Run work in the thread that holds the connections, while this one waits for a Ctrl-C, which must
        not interrupt a client between two steps. If anything else ends the wait (such as the timeout of a
        test), that thread is left to end by itself."""
        self._thread = self._thread or ThreadPoolExecutor(1, thread_name_prefix="replay")
        future = self._thread.submit(work)
        try:
            while not wait([future], SIGNAL_CHECK).done:
                pass
            return future.result()
        except KeyboardInterrupt:
            self._stop.ask()
            self._cancel()
            raise
        except BaseException:
            if not future.done():
                self._thread.shutdown(wait=False)
                self._thread = None
            raise

    def close(self) -> None:
        """Wait for work that is still running, and close the connections."""
        if self._thread is not None:
            self._thread.shutdown(wait=True, cancel_futures=True)
        self._open.close()

    # Descriptions.

    def describe_result(self, result: Result) -> str:
        """Return the text for a baseline that did not pass, with the commands to run next."""
        words = command_line("compare", *self._option_words)
        report = Report("", "", 0.0, "", words, (result,), typed=Typed(self._option_words))
        commands = after_compare(report, (), self.project.folders, self._style.verbose)
        text = format_failure(result, self._style)
        return self._with_commands(text, commands, result.outcome == "error")

    def describe_error(self, error: BaselinekitError) -> str:
        """Return every problem with its place and hint, and the commands that explain them."""
        codes = dict.fromkeys(problem.code for problem in error.problems)
        return self._with_commands(f"{error}\n", explain_commands([*codes][:3]))

    def _with_commands(self, text: str, commands: Iterable[str], has_hints: bool = True) -> str:
        """Add the commands, and the pytest names of the options in hints: those are of our own command
        line."""
        named_options = [option for option in _HINTED if has_hints and f"--{option}" in text]
        translations = [f"pytest calls it --baselinekit-{option}" for option in named_options]
        lines = format_lines([*translations, *(f"next: {command}" for command in commands)])
        return self.project.redactor.mask_said(f"{text.rstrip()}\n\n{lines}".rstrip())


def must_be_alone(entry: Entry) -> bool:
    """Whether nothing else may be replayed at the same time."""
    return entry.claim == ALONE


def _share_of(limits: Limits, requested: RecordingOptions, worker: XdistWorker) -> RecordingOptions:
    """Return this worker's share of the limits on model calls: all workers together keep to the limits."""
    if worker.count == 1:
        return requested
    total = effective_limits(limits, requested)
    return replace(
        requested,
        max_calls=_part(total.calls, worker),
        max_tokens=_part(total.tokens, worker),
        max_cost=None if total.usd is None else float(total.usd) / worker.count,
    )


def _part(number: int | None, worker: XdistWorker) -> int | None:
    if number is None:
        return None
    return number // worker.count + (worker.number % worker.count < number % worker.count)


def start_of(rootdir: str, invoked_in: str) -> str:
    """Return the folder from which the project is searched upwards: where pytest was started, as for the
    command line; but pytest's rootdir where that is not above it, or where no project is found."""
    is_below = os.path.commonpath([rootdir, invoked_in]) == rootdir
    start = invoked_in if is_below else rootdir
    config = nearest_config(start)
    is_found = config or os.path.lexists(os.path.join(project_root(config, start), ".git"))
    return start if is_found else rootdir

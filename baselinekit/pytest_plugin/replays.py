"""The project as a session of pytest replays it: the reading of its files, and one baseline after the other,
judged as `baselinekit compare` judges it. Clients stay open from the first to the last."""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TypeVar

from baselinekit.cli.clients import LazyModels, effective_limits, open_clients
from baselinekit.cli.entry import clock
from baselinekit.cli.options import ProjectOptions, RecordingOptions, operator_of
from baselinekit.documents.languages import LINES, SUFFIXES
from baselinekit.errors import BaselinekitError, Problem, fault_of_ours
from baselinekit.kinds.kind import ALONE
from baselinekit.kinds.table import KINDS
from baselinekit.model.baselines import Entry
from baselinekit.model.recipes import Limits
from baselinekit.model.results import Report, Result
from baselinekit.report.next_commands import after_compare, command_line, explain_commands
from baselinekit.report.terminal import format_failure
from baselinekit.report.wording import Style, format_lines
from baselinekit.store.discovery import discover_files
from baselinekit.store.project import name_in_project, nearest_config, project_root
from baselinekit.store.reading import locate_each, same_ids
from baselinekit.texts import shown
from baselinekit.workflow.chunks import ChunkWorker, JudgePolicy, unjudged
from baselinekit.workflow.context import AtOnce, Stop
from baselinekit.workflow.judging import JudgedBaseline, keep_seen, mask_result
from baselinekit.workflow.loading import complain, with_lines
from baselinekit.workflow.project import CaptureEnvironment, open_project

T = TypeVar("T")

_QUESTIONS_AT_ONCE = 8
_HINTED = ("allow-exec", "allow-host", "var", "secret", "environment", "record-calls")


@dataclass(frozen=True)
class XdistWorker:
    """Which process of pytest-xdist this is, of how many."""

    number: int = 0
    count: int = 1


ALL, PLAIN = XdistWorker(), Style()


@dataclass(frozen=True)
class ReplayOptions:
    """What somebody has said of the replays, as the options of a compare. `words`: as it is typed there."""

    project: ProjectOptions
    recording: RecordingOptions
    words: tuple[str, ...] = ()


def parse_options(given: Iterable[tuple[str, str]]) -> ReplayOptions:
    """By options without `--`, each with its value."""
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


@dataclass(frozen=True)
class JudgedItem:
    """What became of one baseline, and what is to be said beside it."""

    result: Result
    warnings: tuple[str, ...] = ()


class Replays:
    """What a session knows of a project and of its clients. `start`: the folder in which a user would type
    `baselinekit compare`."""

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
        at_once = self._open.enter_context(AtOnce(context.clients, _QUESTIONS_AT_ONCE))
        self._cancel = context.cancel
        self._environment = CaptureEnvironment(self.project, at_once.clients)
        self._worker = ChunkWorker(self._environment, JudgePolicy(explain=style.verbose), context)
        self._style = style
        self._thread: ThreadPoolExecutor | None = None
        self._files: dict[str, tuple[list[Entry], BaselinekitError | None]] = {}
        self._ids: dict[str, Entry] = {}
        self._critical: dict[str, str] = {}
        folders = [
            folder for folder in self.project.folders if os.path.isdir(os.path.join(self.root, folder))
        ]
        self.folders = [os.path.normpath(os.path.join(self._unresolved_root, folder)) for folder in folders]
        self._known = discover_files(folders, self.root).files
        self._holding = {os.path.dirname(name) for name in self._known}

    # What there is.

    def describe(self) -> str:
        """The project, for the head of a run."""
        config = self.project.config_file or "no baselinekit.yaml"
        base_url = self.project.override_base_url or self.project.base_url
        text = f"{self._unresolved_root}, {config}" + (f", base_url {base_url}" if base_url else "")
        return self.project.redactor.mask_said(text)

    def name_of(self, path: str, is_named: bool) -> str | None:
        """How the project calls a file that holds baselines; None for any other. `is_named`: the user typed
        it, so that it need not be in a folder of the project's."""
        name = name_in_project(self._unresolved_root, path)
        if name in self._known:
            return name
        return name if is_named and path.endswith((*SUFFIXES, LINES)) else None

    def holds_baselines(self, folder: str) -> bool:
        """Whether baselines are in a folder or below it."""
        name = name_in_project(self._unresolved_root, folder)
        return any(holder == name or holder.startswith(f"{name}/") for holder in self._holding)

    def entries(self, name: str) -> list[Entry]:
        """The baselines of a file that can be replayed; those of tests are theirs. What is wrong with any of
        them is an error."""
        if name not in self._files:
            read = self._worker.read([name], None)
            for entry in read.entries:
                earlier = self._ids.setdefault(entry.id.casefold(), entry)
                if earlier is not entry:
                    read.problems += same_ids([earlier, entry], self.root)
            entries = [entry for entry in read.entries if not KINDS[entry.kind].brought_by]
            self._files[name] = entries, read.error
            for baseline in self._worker.baselines(entries):
                if baseline.metadata.criticality:
                    self._critical[baseline.id] = baseline.metadata.criticality
        entries, error = self._files[name]
        if error is not None:
            raise shown(error, self.project.redactor.mask)
        return entries

    def words_of(self, entry: Entry) -> list[str]:
        """Its tags, and how critical it is."""
        return [*entry.tags, *([self._critical[entry.id]] if entry.id in self._critical else [])]

    def lines(self, entries: Sequence[Entry]) -> list[int]:
        """Where in their file these begin."""
        if all(entry.source.document == 0 and not entry.source.at for entry in entries):
            return [1] * len(entries)
        places = locate_each([(entry.source, [()]) for entry in entries], self.root)
        return [place.line or 1 for (place,) in places]

    def find_errors(self, entries: Sequence[Entry]) -> dict[str, BaselinekitError]:
        """What is wrong with those that cannot be replayed or compared as they are written, by file. The
        others are ready afterwards."""
        errors: dict[str, BaselinekitError] = {}
        by_file: dict[str, list[Entry]] = {}
        for entry in entries:
            by_file.setdefault(entry.source.file, []).append(entry)
        for file, file_entries in by_file.items():
            try:
                complain(None, self._worker.prepare(file_entries), self.root)
            except BaselinekitError as error:
                errors[file] = shown(error, self.project.redactor.mask)
        return errors

    # One after the other.

    def judge(self, entry: Entry) -> JudgedItem:
        """Replayed and compared now. What came of one that differs is kept for a refresh; the file stays as
        it is."""
        try:
            self._worker.prepare([entry])  # also where it is judged again: each is held once
            judged = self._in_thread(lambda: self._worker.judge(entry))
            return self._store_pending(entry, judged)
        except Exception as error:
            return self.refuse(entry, fault_of_ours(error).problems[0])

    def refuse(self, entry: Entry, problem: Problem) -> JudgedItem:
        """It was not asked: an error, with the reason."""
        reason = self.project.redactor.mask(problem.with_hint)
        return JudgedItem(unjudged(entry, "error", reason, problem.code))

    def _store_pending(self, entry: Entry, judged: JudgedBaseline) -> JudgedItem:
        settled_id = judged.result.id if judged.settles else ""
        warning = keep_seen(self.root, judged.pending, settled_id, judged.warning)
        (located,) = with_lines([judged.result], [entry.source], self.root)
        result = mask_result(located or judged.result, self.project.redactor)
        notes = result.notes if result.outcome in ("passed", "skipped") else ()
        return JudgedItem(result, tuple(filter(None, (*notes, warning))))

    def _in_thread(self, work: Callable[[], T]) -> T:
        """In the thread that holds the connections, while this one hears a Ctrl-C: it must strike between no
        two steps of a client. Whoever else ends the wait (a limit of time for a test, say) leaves that thread
        to end by itself."""
        self._thread = self._thread or ThreadPoolExecutor(1, thread_name_prefix="replay")
        future = self._thread.submit(work)
        try:
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
        """What is still under way ends, and the connections with it."""
        if self._thread is not None:
            self._thread.shutdown(wait=True, cancel_futures=True)
        self._open.close()

    # What is said of them.

    def describe_result(self, result: Result) -> str:
        """What a terminal shows of one that did not pass, and what to type next."""
        words = command_line("compare", *self._option_words)
        report = Report("", "", 0.0, "", words, (result,))
        commands = after_compare(report, (), self.project.folders, self._style.verbose)
        text = format_failure(result, self._style)
        return self._with_commands(text, commands, result.outcome == "error")

    def describe_error(self, error: BaselinekitError) -> str:
        """Each thing that is wrong, with its place and what to do, and where more is said of it."""
        codes = dict.fromkeys(problem.code for problem in error.problems)
        return self._with_commands(f"{error}\n", explain_commands([*codes][:3]))

    def _with_commands(self, text: str, commands: Iterable[str], has_hints: bool = True) -> str:
        """The options that a hint names are those of our own command line: here they are called otherwise."""
        named_options = [option for option in _HINTED if has_hints and f"--{option}" in text]
        translations = [f"pytest calls it --baselinekit-{option}" for option in named_options]
        lines = format_lines([*translations, *(f"next: {command}" for command in commands)])
        return self.project.redactor.mask_said(f"{text.rstrip()}\n\n{lines}".rstrip())


def must_be_alone(entry: Entry) -> bool:
    """Whether nothing else may be replayed meanwhile."""
    return entry.claim == ALONE


def _share_of(limits: Limits, requested: RecordingOptions, worker: XdistWorker) -> RecordingOptions:
    """Of what a run may ask of models the part of one of its processes: together they keep to the limit."""
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
    """Where the project is looked for, upwards: where pytest was started, as for the command line; where that
    is not below pytest's rootdir, or nothing is found from there, that is it."""
    is_below = os.path.commonpath([rootdir, invoked_in]) == rootdir
    start = invoked_in if is_below else rootdir
    config = nearest_config(start)
    is_found = config or os.path.lexists(os.path.join(project_root(config, start), ".git"))
    return start if is_found else rootdir

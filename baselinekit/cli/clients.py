"""The real clients: sockets, processes, models, the clock. They are built here and passed on."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import cached_property
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING, Any

from baselinekit.cli.entry import Now, Sleep, clock, sleep
from baselinekit.cli.options import RecordingOptions
from baselinekit.commands.context import RunContext, Stop
from baselinekit.commands.executor import ChunkDone, NewAnswer
from baselinekit.commands.project import Project
from baselinekit.errors import CannotReplay, NotRecorded
from baselinekit.kinds.settings import Clients
from baselinekit.model.grades import Outcome
from baselinekit.model.recipes import Answer, Limits, ModelQuestion, ModelUsage, added_usage
from baselinekit.model.results import Report
from baselinekit.store import atomic
from baselinekit.structs import replace

if TYPE_CHECKING:  # loaded when they are used
    from baselinekit.clients.models.recording import Mode, Shelf
    from baselinekit.store.journal import AnswerJournal


def timestamps(now: Now) -> Callable[[], str]:
    """The current time as it is written to files: UTC, in whole seconds."""
    return lambda: datetime.fromtimestamp(now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_REPEAT_SECONDS = 3.0


@contextmanager
def open_clients(now: Now, sleep: Sleep | None, stop: Stop) -> Iterator[RunContext]:
    """Open the real clients until the run is over."""
    http = LazyClient(lambda: import_module("baselinekit.clients.http").Client())
    processes = LazyClient(lambda: import_module("baselinekit.clients.programs.process").Processes())

    def cancel() -> None:
        http.load().cancel()
        processes.load().cancel()  # last, as it waits for a child that ignores the signal

    clients = Clients(
        lambda request: http.load().send(request),
        lambda run: processes.load().execute(run),
        sleep or (lambda seconds: http.load().sleep(seconds)),
        now=now,
    )
    try:
        yield RunContext(clients, cancel, timestamps(now), time.monotonic, stop=stop)
    finally:
        if http.client is not None:
            http.client.close()


@contextmanager
def real_context() -> Iterator[RunContext]:
    """The same, and signals end the run in an orderly way."""
    interrupt = Interrupt()
    numbers = [number for number in _END_SIGNALS if signal.getsignal(number) != signal.SIG_IGN]  # else: nohup
    handlers = {number: signal.signal(number, interrupt) for number in numbers}
    with open_clients(clock(), sleep(), interrupt.stop) as context:
        try:
            yield context
        finally:
            for number, handler in handlers.items() if not interrupt.has_come else ():
                signal.signal(number, handler)


@contextmanager
def with_progress(context: RunContext, action: str) -> Iterator[RunContext]:
    """The context with a line of progress on standard error; without one if `action` is empty."""
    with ExitStack() as lines:

        def begin(total: int) -> Callable[[Outcome], None]:
            if not sys.stderr.isatty():
                return lambda outcome: None
            from baselinekit.cli.drawing import show_progress

            lines.close()  # one at a time: the newer one
            return lines.enter_context(show_progress(total, sys.stderr, action))

        yield replace(context, advance=begin) if action else context


class Interrupt:
    """Handles Ctrl-C, a closed terminal and the end of a job alike: results so far are kept. Writing them and
    the report takes a moment, in which a second signal (the same key again, or a signal to the whole process
    group) must not interrupt it."""

    def __init__(self) -> None:
        self.stop = Stop()
        self._ignored_until = 0.0

    @property
    def has_come(self) -> bool:
        return self._ignored_until > 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now < self._ignored_until:
            return
        first, self._ignored_until = not self.has_come, now + _REPEAT_SECONDS
        if first and self.stop.is_heard:
            self.stop.ask()
        else:
            raise KeyboardInterrupt


class LazyClient:
    """A client that is loaded when it is first used: many runs send no request, most start no program. It
    is also loaded to be cancelled: it must not begin anything from then on."""

    def __init__(self, make: Callable[[], Any]):
        self._make, self._lock = make, threading.RLock()
        self.client: Any = None

    def load(self) -> Any:
        with self._lock:
            self.client = self.client or self._make()
            return self.client


# The models as a command asks them: built at the first question, behind the recorded answers.


CACHE = f"{atomic.STATE_FOLDER}/calls"
CHECKS = RecordingOptions(offline=".")
"""For commands that ask no model: only the entries of the models are checked."""


class LazyModels:
    """The models of a project, built when the first one is needed: most runs need none."""

    def __init__(
        self,
        project: Project,
        clients: Clients,
        recording: RecordingOptions,
        resume: bool | None = None,
        about: str = "",
    ):
        """`resume`: whether this continues a stopped run; None if the command cannot be resumed. `about`:
        what is run, which identifies the run to continue."""
        self.project = project
        self.recording = recording
        self.resume = resume
        self.about = about
        self._clients = clients
        self.processes = 1
        self._lock = threading.Lock()
        self._models: Any = None
        self._source: Any = None
        self._embedding: Any = None
        self._not_kept: list[str] = []
        # a resumed run locks its journal at once: CannotReplay if that run is still under way
        self._journal: AnswerJournal | None = self._create_journal() if resume else None

    def ask(self, ask: ModelQuestion) -> Answer:
        with self._lock:
            self._source = self._source or self.wrap_recording(self.make_models())
        answer: Answer = self._source.ask(ask)
        return answer

    def check(self, name: str) -> None:
        with self._lock:
            models = self.make_models()
        models.check(name, self.recording.offline is None)

    def similar(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        if not pairs:
            return []
        with self._lock:
            if self._embedding is None:
                from baselinekit.clients.models.embedding import Embedding, find_folder

                model = self.project.config.models.get("embedding")
                self._embedding = Embedding(find_folder(model.folder if model else None, self.project.root))
        similarities: list[float] = self._embedding.similarities(pairs)
        return similarities

    def added_to(self, context: RunContext) -> RunContext:
        return replace(context, clients=replace(context.clients, models=self, similar=self.similar))

    @property
    def spent(self) -> ModelUsage | None:
        """What the models have been asked, if anything."""
        spent: ModelUsage | None = None if self._models is None else self._models.spent
        return spent

    def with_totals(self, report: Report) -> Report:
        """The report with what the models were asked. A completed run removes its journal, as there is
        nothing to resume."""
        is_over = report.complete and not (report.interrupted or report.summary.error)
        if self._journal is not None and is_over:
            self._journal.forget()
        not_recorded = (*report.not_recorded, *dict.fromkeys(self._not_kept))
        return replace(report, spent=self.spent, not_recorded=not_recorded)

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()

    def make_models(self) -> Any:
        if self._models is None:
            from baselinekit.clients.models.dispatch import Models
            from baselinekit.clients.models.post import World

            project, verify = self.project, self.project.config.http.verify
            world = World(
                send=self._clients.send,
                execute=self._clients.execute,
                sleep=self._clients.sleep,
                root=project.root,
                secret=lambda name: str(project.scope.lookup(name)),
                mask=project.redactor.mask_declared,
                trust=project.trust,
                verify=True if verify is None else verify,
            )
            self._models = Models(project.models, self.limits, world, self.processes)
        return self._models

    @property
    def limits(self) -> Limits:
        return effective_limits(self.project.config.limits, self.recording)

    def wrap_recording(self, source: Any) -> Any:
        """The models, wrapped so that recorded answers are used first."""
        from baselinekit.clients.models.recording import Recording
        from baselinekit.store.journal import Cassettes

        project, recording = self.project, self.recording
        if recording.offline is not None:
            cassettes = Cassettes(project.root, operator_path(project, recording.offline))
            return Recording(source, cassettes, "offline")
        for mode, shelf in self.shelves.items():
            source = Recording(source, shelf, mode)
        return source

    @cached_property
    def shelves(self) -> "dict[Mode, Shelf]":
        """Where answers are kept; the one that is asked first comes last."""
        from baselinekit.store.journal import Cassettes

        project, recording = self.project, self.recording
        shelves: dict[Mode, Shelf] = {}
        if self.resume is not None:
            self._journal = self._journal or self._create_journal()
            shelves |= {"journal": self._journal} if self._journal else {}
        if recording.cache:
            shelves["cache"] = Cassettes(project.root, CACHE)
        if recording.record_calls is not None:
            shelves["record"] = Cassettes(project.root, operator_path(project, recording.record_calls))
        return shelves

    def take(self, done: ChunkDone[Any]) -> None:
        """Count and keep what other processes have asked, as if it had been asked here."""
        with self._lock:
            for answer in done.answers:
                self._keep(answer)
            if done.spent is not None:
                models = self.make_models()
                models.grant(added_usage(models.spent, done.spent))
        self.project.redactor.take_plain(done.plain)

    def _keep(self, answer: NewAnswer) -> None:
        shelf = self.shelves.get(answer.where)
        try:
            if shelf is not None and answer.record is None:
                shelf.drop(answer.model, answer.name)
            elif shelf is not None:
                shelf.keep(answer.model, answer.name, answer.record)
        except NotRecorded as error:
            if answer.where == "record":  # a cache that cannot be written does not matter
                self._not_kept.extend(str(problem) for problem in error.problems)

    def _create_journal(self) -> "AnswerJournal | None":
        """The journal of this run's answers, to resume it if it is stopped; None if it cannot be written, or
        if another run of the same cases writes it."""
        from baselinekit.store.journal import AnswerJournal, name_of

        try:
            return AnswerJournal(self.project.root, name_of("answers", self.about), bool(self.resume))
        except NotRecorded:
            return None
        except CannotReplay:
            if self.resume:
                raise
            return None


def with_models(context: RunContext, project: Project, recording: RecordingOptions = CHECKS) -> RunContext:
    """The context with the models of the project among its clients."""
    return LazyModels(project, context.clients, recording).added_to(context)


@contextmanager
def asking(project: Project, recording: RecordingOptions = CHECKS, action: str = "") -> Iterator[RunContext]:
    """The real clients with the models of the project; with a line of progress if there is an `action`."""
    with real_context() as context, with_progress(context, action) as context:
        yield with_models(context, project, recording)


def operator_path(project: Project, folder: str) -> str:
    """A folder that the operator has typed, relative to the operator's working folder."""
    return os.path.join(project.cwd, os.path.expanduser(folder))


def effective_limits(limits: Limits, recording: RecordingOptions) -> Limits:
    """The operator's limits, else the configured ones."""
    return Limits(
        calls=limits.calls if recording.max_calls is None else recording.max_calls,
        tokens=limits.tokens if recording.max_tokens is None else recording.max_tokens,
        usd=limits.usd if recording.max_cost is None else recording.max_cost,
    )

"""The real clients: sockets, processes, models, the clock. Built here and handed down."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from types import FrameType
from typing import TYPE_CHECKING, Any

from baselinekit.cli.entry import Now, Sleep, clock, sleep
from baselinekit.cli.options import RecordingOptions
from baselinekit.errors import NotRecorded
from baselinekit.model.grades import Outcome
from baselinekit.model.recipes import Answer, Ask, Limits, ProcessResult, ProcessSpec, Spent
from baselinekit.model.results import Report
from baselinekit.replaying.client import Client, proxies_of_environment
from baselinekit.replaying.settings import Clients
from baselinekit.store import atomic
from baselinekit.workflow.context import Clock, RunContext, Stop
from baselinekit.workflow.leases import Gathered, KeptAnswer, plus
from baselinekit.workflow.project import Project

if TYPE_CHECKING:  # most runs ask no model
    from baselinekit.models.recording import Mode, Shelf
    from baselinekit.store.journal import AnswerJournal

# The real clients: sockets, processes, the clock. Built here and handed down.


def timestamps(now: Now) -> Callable[[], str]:
    """The present as it stands in files: UTC, in whole seconds."""
    return lambda: datetime.fromtimestamp(now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AT_ONCE = 3.0


@contextmanager
def open_clients(now: Now, sleep: Sleep | None, stop: Stop) -> Iterator[RunContext]:
    """The real clients, open until the run is over."""
    client = Client(proxies_of_environment())
    processes = LazyProcesses()

    def cancel() -> None:
        client.cancel()
        processes.cancel()  # last: a child that ignores the signal is waited for

    clients = Clients(client.send, processes.execute, sleep or client.sleep, now=now)
    try:
        yield RunContext(clients, cancel, Clock(timestamps(now), time.monotonic), stop=stop)
    finally:
        client.close()


@contextmanager
def real_context() -> Iterator[RunContext]:
    """The same, and whoever wants the run to end is heard."""
    interrupt = Interrupt()
    heard = [number for number in _ENDING if signal.getsignal(number) != signal.SIG_IGN]  # else: nohup
    before = {number: signal.signal(number, interrupt) for number in heard}
    sys.unraisablehook = interrupt.lost
    with open_clients(clock(), sleep(), interrupt.stop) as context:
        try:
            yield context
        finally:
            sys.unraisablehook = sys.__unraisablehook__
            for number, handler in before.items() if not interrupt.came else ():
                signal.signal(number, handler)


@contextmanager
def with_progress(context: RunContext, doing: str, color: str = "auto") -> Iterator[RunContext]:
    """The same with a bar on standard error, until this ends; without one where nothing is said of it."""
    with ExitStack() as bars:

        def begin(total: int) -> Callable[[Outcome], None]:
            if not sys.stderr.isatty():
                return lambda outcome: None
            from baselinekit.cli.progress import show_progress

            return bars.enter_context(show_progress(total, sys.stderr, doing, color))

        yield replace(context, advance=begin) if doing else context


class Interrupt:
    """A closed terminal, or whoever ends a job, gets what a Ctrl-C gets: what is done is kept. That takes a
    moment, with the report, in which a second one (the same key again, or a signal to the whole group) must
    not undo it."""

    def __init__(self) -> None:
        self.stop = Stop()
        self._until = 0.0

    @property
    def came(self) -> bool:
        return self._until > 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now < self._until:
            return
        first, self._until = not self.came, now + _AT_ONCE
        if first and self.stop.is_heard:
            self.stop.ask()
        else:
            raise KeyboardInterrupt

    def lost(self, what: "sys.UnraisableHookArgs") -> None:
        """Python was tidying up by the way when the signal came, and drops what is raised there: it comes
        again in a moment."""
        if what.exc_type is KeyboardInterrupt:
            self._until = 0.0
            threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()
        else:
            sys.__unraisablehook__(what)


class LazyProcesses:
    """The client for programs, loaded with the first of them: most runs start none."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._processes: Any = None

    def load(self) -> Any:
        from baselinekit.programs.process import Processes

        with self._lock:
            self._processes = self._processes or Processes()
        return self._processes

    def execute(self, run: ProcessSpec) -> ProcessResult:
        result: ProcessResult = self.load().execute(run)
        return result

    def cancel(self) -> None:
        """Also of what nobody has loaded yet: it must start no program from now on."""
        self.load().cancel()


# The models as a command asks them: made at the first question, behind what is kept of their answers.


CACHE = f"{atomic.STATE_FOLDER}/calls"
UNASKED = RecordingOptions(offline=".")
"""For commands that ask no model: only the entries of the models are checked."""


class LazyModels:
    """The models of a project, made when the first of them is needed: most runs need none."""

    def __init__(
        self,
        project: Project,
        clients: Clients,
        recording: RecordingOptions,
        resume: bool | None = None,
        about: str = "",
    ):
        """`resume`: whether this goes on where a run was stopped; None where no run can be. `about`: what is
        run, which tells one run to go on with from another."""
        self._project, self._clients, self._wanted, self._resume = project, clients, recording, resume
        self._about = about
        self.part = 0, 1
        self._lock = threading.Lock()
        self._journal: AnswerJournal | None = None
        self._models: Any = None
        self._source: Any = None
        self._embedding: Any = None
        self._shelves: dict[Mode, Shelf] | None = None
        self._spent_elsewhere: Spent | None = None
        self._not_kept: list[str] = []

    def go_on(self) -> None:
        """Who goes on with a run holds what it was answered; CannotReplay where it is still under way."""
        if self._resume:
            self._journal = self._opened()

    def ask(self, ask: Ask) -> Answer:
        with self._lock:
            self._source = self._source or self.wrap_recording(self.make_models())
        answer: Answer = self._source.ask(ask)
        return answer

    def check(self, name: str) -> None:
        with self._lock:
            made = self.make_models()
        made.check(name, self._wanted.offline is None)

    def similar(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        if not pairs:
            return []
        with self._lock:
            self._embedding = self._embedding or self.load_embedding()
        alike: list[float] = self._embedding.similarities(pairs)
        return alike

    def added_to(self, context: RunContext) -> RunContext:
        return replace(context, clients=replace(context.clients, models=self, similar=self.similar))

    @property
    def spent(self) -> Spent | None:
        """What has been asked, if anything was."""
        here: Spent | None = None if self._models is None else self._models.spent
        if here is None or self._spent_elsewhere is None:
            return here or self._spent_elsewhere
        return plus(here, self._spent_elsewhere)

    def added_up(self, report: Report) -> Report:
        """The report with what was asked. A run that came to its end leaves nothing to go on with."""
        is_over = report.complete and not (report.interrupted or report.summary.error)
        journal, told = self._journal, list[str]()
        if journal is not None and journal.is_torn:
            told.append("the last answer of the earlier run was torn, and is asked for again")
        if journal is not None and is_over:
            journal.forget()
        elif journal is not None and journal.lost is not None:
            why = journal.lost.problems[0].message
            told.append(f"some answers were not kept, and --resume will ask for them again: {why}")
        not_recorded = (*report.not_recorded, *dict.fromkeys(self._not_kept))
        return replace(
            report, spent=self.spent, warnings=(*report.warnings, *told), not_recorded=not_recorded
        )

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()

    def load_embedding(self) -> Any:
        from baselinekit.models.embedding import Embedding, find_folder

        named = self._project.config.models.get("embedding")
        return Embedding(find_folder(None if named is None else named.folder, self._project.root))

    def make_models(self) -> Any:
        if self._models is None:
            from baselinekit.models.dispatch import Models
            from baselinekit.models.post import World

            project = self._project
            world = World(
                self._clients.send,
                self._clients.execute,
                self._clients.sleep,
                project.root,
                lambda name: str(project.scope.lookup(name)),
                project.redactor.mask_declared,
                project.trust,
                project.config.http.verify if project.config.http.verify is not None else True,
            )
            self._models = Models(project.models, self.limits, world, *self.part)
        return self._models

    @property
    def limits(self) -> Limits:
        """The operator's limits, else the configured ones."""
        return effective_limits(self._project.config.limits, self._wanted)

    def wrap_recording(self, source: Any) -> Any:
        """The models behind what is kept of their answers."""
        from baselinekit.models.recording import Recording
        from baselinekit.store.results import Cassettes

        project, wanted = self._project, self._wanted
        if wanted.offline is not None:
            return Recording(source, Cassettes(project.root, typed(project, wanted.offline)), "offline")
        for where, shelf in self.shelves().items():
            source = Recording(source, shelf, where)
        return source

    def shelves(self) -> "dict[Mode, Shelf]":
        """Where answers are kept, and who is asked first last."""
        from baselinekit.store.results import Cassettes

        project, wanted = self._project, self._wanted
        found: dict[Mode, Shelf] = {}
        if self._resume is not None:
            self._journal = self._journal or self._opened()
            found |= {"journal": self._journal} if self._journal else {}
        if wanted.cache:
            found["cache"] = Cassettes(project.root, CACHE)
        if wanted.record_calls is not None:
            found["record"] = Cassettes(project.root, typed(project, wanted.record_calls))
        return found

    def hold_journal(self) -> None:
        """Before others read what it says: an earlier run with which this one goes on is nobody else's."""
        if self._resume:
            self._journal = self._journal or self._opened()

    def take(self, gathered: Gathered) -> None:
        """What other processes have asked, as if it had been asked here."""
        with self._lock:
            if gathered.answers and self._shelves is None:
                self._shelves = self.shelves()
            for answer in gathered.answers:
                self._keep(answer)
            if gathered.spent is not None:
                self._spent_elsewhere = plus(self._spent_elsewhere or Spent(), gathered.spent)
        self._project.redactor.take_plain(gathered.plain)

    def _keep(self, answer: KeptAnswer) -> None:
        shelf = (self._shelves or {}).get(answer.where)
        try:
            if shelf is not None and answer.record is None:
                shelf.drop(answer.model, answer.name)
            elif shelf is not None:
                shelf.keep(answer.model, answer.name, answer.record)
        except NotRecorded as error:
            if answer.where == "record":  # a cache that is full is none
                self._not_kept.extend(str(problem) for problem in error.problems)

    def _opened(self) -> "AnswerJournal | None":
        """The answers of this run, so that a run which is stopped can go on; None where none can be kept."""
        from baselinekit.store.journal import AnswerJournal, name_of

        with suppress(NotRecorded):
            return AnswerJournal(self._project.root, name_of("answers", self._about), bool(self._resume))
        return None


def with_models(context: RunContext, project: Project, recording: RecordingOptions = UNASKED) -> RunContext:
    """The context with the models of the project among its clients."""
    return LazyModels(project, context.clients, recording).added_to(context)


def typed(project: Project, folder: str) -> str:
    """A folder that the operator has typed, from where the operator is."""
    return os.path.join(project.cwd, os.path.expanduser(folder))


def effective_limits(stated: Limits, wanted: RecordingOptions) -> Limits:
    """The operator's limits, else the configured ones."""
    return Limits(
        calls=stated.calls if wanted.max_calls is None else wanted.max_calls,
        tokens=stated.tokens if wanted.max_tokens is None else wanted.max_tokens,
        usd=stated.usd if wanted.max_cost is None else wanted.max_cost,
    )

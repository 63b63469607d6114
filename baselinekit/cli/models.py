"""The models as a command asks them: made at the first question, behind what is kept of their answers."""

import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from baselinekit.cli.options import RecordingOptions
from baselinekit.model.recipes import Answer, Ask, Limits, Spent
from baselinekit.replay.settings import Clients
from baselinekit.store import atomic
from baselinekit.workflow.context import RunContext
from baselinekit.workflow.project import Project

_CACHE = "calls"
_JOURNAL = "resume"
UNASKED = RecordingOptions(offline=".")
"""For commands that ask no model: only the entries of the models are checked."""


class LazyModels:
    """The models of a project, made when the first of them is needed: most runs need none."""

    def __init__(
        self, project: Project, clients: Clients, recording: RecordingOptions, resume: bool | None = None
    ):
        """`resume`: whether this goes on where a run was stopped; None where no run can be."""
        self._project, self._clients, self._wanted, self._resume = project, clients, recording, resume
        self._lock = threading.Lock()
        self._models: Any = None
        self._source: Any = None
        self._embedding: Any = None

    def ask(self, ask: Ask) -> Answer:
        with self._lock:
            self._source = self._source or self._opened(self._made())
        answer: Answer = self._source.ask(ask)
        return answer

    def check(self, name: str) -> None:
        with self._lock:
            made = self._made()
        made.check(name, self._wanted.offline is None)

    def similar(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        if not pairs:
            return []
        with self._lock:
            self._embedding = self._embedding or self._loaded()
        alike: list[float] = self._embedding.similarities(pairs)
        return alike

    def added_to(self, context: RunContext) -> RunContext:
        return replace(context, clients=replace(context.clients, models=self, similar=self.similar))

    @property
    def spent(self) -> Spent | None:
        """What has been asked, if anything was."""
        return None if self._models is None else self._models.spent

    def forget(self) -> None:
        """The run came to its end: there is nothing to go on with."""
        if self._source is not None:
            self._journal().clear()

    def _loaded(self) -> Any:
        from baselinekit.models.dispatch import Embedding, find_folder

        named = self._project.config.models.get("embedding")
        return Embedding(find_folder(None if named is None else named.folder, self._project.root))

    def _made(self) -> Any:
        if self._models is None:
            from baselinekit.models.dispatch import Models, World

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
            self._models = Models(project.models, _limits(project.config.limits, self._wanted), world)
        return self._models

    def _opened(self, source: Any) -> Any:
        """The models behind what is kept of their answers."""
        from baselinekit.models.dispatch import Recording
        from baselinekit.store.results import Cassettes

        project, wanted = self._project, self._wanted
        if wanted.offline is not None:
            return Recording(source, Cassettes(project.root, _typed(project, wanted.offline)), "offline")
        if self._resume is not None:
            journal = self._journal()
            if not self._resume:
                journal.clear()
            source = Recording(source, journal, "resume" if self._resume else "journal")
        if wanted.cache:
            source = Recording(source, Cassettes(project.root, f"{atomic.STATE_FOLDER}/{_CACHE}"), "cache")
        if wanted.record_calls is not None:
            folder = _typed(project, wanted.record_calls)
            source = Recording(source, Cassettes(project.root, folder), "record")
        return source

    def _journal(self) -> Any:
        """The answers of this run, so that a run which is stopped can go on: each run begins a new one."""
        from baselinekit.store.results import Cassettes

        return Cassettes(self._project.root, f"{atomic.STATE_FOLDER}/{_JOURNAL}")


def with_models(context: RunContext, project: Project, recording: RecordingOptions = UNASKED) -> RunContext:
    """The context with the models of the project among its clients."""
    return LazyModels(project, context.clients, recording).added_to(context)


def _typed(project: Project, folder: str) -> str:
    """A folder that the operator has typed, from where the operator is."""
    return os.path.join(project.cwd, os.path.expanduser(folder))


def _limits(stated: Limits, wanted: RecordingOptions) -> Limits:
    """The operator's limits, else the configured ones."""
    return Limits(
        calls=stated.calls if wanted.max_calls is None else wanted.max_calls,
        tokens=stated.tokens if wanted.max_tokens is None else wanted.max_tokens,
        usd=stated.usd if wanted.max_cost is None else wanted.max_cost,
    )

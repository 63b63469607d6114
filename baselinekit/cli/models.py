"""The door to the models as a command opens it, with the options that say what is kept of their answers."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import click

from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.asking import Answer, Ask, Limits, Spent
from baselinekit.replay.dispatch import Doors
from baselinekit.store import state
from baselinekit.workflow.compare import Way
from baselinekit.workflow.project import Project

Command = TypeVar("Command", bound=Callable[..., Any])

_KEYS = ("record_calls", "offline", "cache", "resume", "max_calls", "max_cost", "max_tokens")
_CACHE = "calls"
_JOURNAL = "resume"


def model_options(command: Command) -> Command:
    """What is kept of the answers of models, and how much may be asked."""
    for option in reversed(
        [
            click.option("--record-calls", metavar="DIR", help="Keep what models answer, for --offline."),
            click.option("--offline", metavar="DIR", help="Ask no model: only recorded answers count."),
            click.option("--cache", is_flag=True, help="Ask no model the same thing twice, from run to run."),
            click.option("--max-calls", type=click.IntRange(1), help="Ask models so many times at most."),
            click.option("--max-cost", type=float, metavar="USD", help="Spend so much on models at most."),
            click.option("--max-tokens", type=click.IntRange(1), help="So many tokens at most."),
        ]
    ):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class Kept:
    """What the operator wants of the answers."""

    record_calls: str | None = None
    offline: str | None = None
    cache: bool = False
    resume: bool = False
    max_calls: int | None = None
    max_cost: float | None = None
    max_tokens: int | None = None


def kept(given: dict[str, Any]) -> Kept:
    """These options, taken out of what a command was given."""
    found = Kept(**{key: given.pop(key) for key in _KEYS if key in given})
    if found.offline is not None and (found.record_calls is not None or found.cache):
        what = "--offline asks nobody, so there is nothing to record or to cache"
        raise InvalidInput(Problem("BK508", what, "leave one of them out"))
    return found


class Asked:
    """The models of a project, made when the first of them is needed: most runs need none."""

    def __init__(self, project: Project, doors: Doors, wanted: Kept, jobs: int):
        self._project, self._doors, self._wanted, self._jobs = project, doors, wanted, jobs

    def ask(self, ask: Ask) -> Answer:
        answer: Answer = self._source.ask(ask)
        return answer

    def check(self, name: str) -> None:
        self._source.check(name)

    def similar(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return self._embedding.similarities(pairs) if pairs else []

    @property
    def spent(self) -> Spent | None:
        """What has been asked, if anything was."""
        return self._source.spent if "_source" in self.__dict__ else None

    @cached_property
    def _embedding(self) -> Any:
        from baselinekit.models.dispatch import Embedding, find_folder

        named = self._project.config.models.get("embedding")
        return Embedding(find_folder(None if named is None else named.folder))

    @cached_property
    def _source(self) -> Any:
        from baselinekit.models.dispatch import Models, Recording, World
        from baselinekit.store.cassettes import Cassettes

        project, wanted = self._project, self._wanted
        world = World(
            self._doors.send,
            self._doors.execute,
            self._doors.sleep,
            project.root,
            lambda name: str(project.scope.lookup(name)),
            project.redactor.mask,
            project.trust,
            project.config.http.verify if project.config.http.verify is not None else True,
        )
        source: Any = Models(project.models, _limits(project.config.limits, wanted), world)
        if wanted.offline is not None:
            return Recording(source, Cassettes(project.root, wanted.offline), "offline")
        source = Recording(source, self._journal(), "cache" if wanted.resume else "record")
        if wanted.cache:
            source = Recording(source, Cassettes(project.root, f"{state.NAME}/{_CACHE}"), "cache")
        if wanted.record_calls is not None:
            source = Recording(source, Cassettes(project.root, wanted.record_calls), "record")
        return source

    def _journal(self) -> Any:
        """The calls of this run, so that a run which is stopped can go on: each run begins a new one."""
        from baselinekit.store.cassettes import Cassettes

        if not self._wanted.resume:
            shutil.rmtree(os.path.join(self._project.root, state.NAME, _JOURNAL), ignore_errors=True)
        return Cassettes(self._project.root, f"{state.NAME}/{_JOURNAL}")


def with_models(way: Way, project: Project, wanted: Kept, jobs: int = 8) -> Way:
    """The way with a door to the models of the project."""
    asked = Asked(project, way.doors, wanted, jobs)
    return replace(way, doors=replace(way.doors, models=asked, similar=asked.similar))


def _limits(stated: Limits, wanted: Kept) -> Limits:
    """The operator's limits, else the configured ones."""
    return Limits(
        calls=stated.calls if wanted.max_calls is None else wanted.max_calls,
        tokens=stated.tokens if wanted.max_tokens is None else wanted.max_tokens,
        usd=stated.usd if wanted.max_cost is None else wanted.max_cost,
    )

"""Finds the project and the file of a test's value; reads, creates and writes its baseline."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pytest

from baselinekit.cli.clients import timestamps
from baselinekit.cli.entry import Now, clock
from baselinekit.commands.capture import describe_hidden, hide_secrets
from baselinekit.commands.project import CaptureEnvironment, Operator, Project, drift_of, open_project
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, Refused
from baselinekit.kinds.pytest import file_of, id_of
from baselinekit.kinds.settings import Clients
from baselinekit.learning.templating import OutputTemplater
from baselinekit.library.verdicts import arrays_to_order
from baselinekit.matching.dispatch import Matcher, compile_baseline
from baselinekit.model.baselines import Baseline, Comparison, Known, Rules
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json, Path
from baselinekit.pytest_plugin.rules import CodeRules, LayeredRules
from baselinekit.store import writing
from baselinekit.store.project import nearest_config, project_root, resolve
from baselinekit.store.reading import LoadedFiles, locate_all, parse_record
from baselinekit.store.results import drop_pending, pending_ids
from baselinekit.structs import Struct, replace
from baselinekit.values.equality import same_json
from baselinekit.values.places import with_values

_MOST_GIT_QUESTIONS = 10


class ValuePlace(Struct):
    """Where the baseline of a value is stored. `test`: the node id, with the file relative to the project's
    root."""

    root: str
    file: str
    id: str
    test: str
    name: str | None

    @property
    def path(self) -> str:
        return os.path.join(self.root, self.file)

    @property
    def current(self) -> dict[str, Json]:
        test_input = {"test": self.test} | ({"name": self.name} if self.name is not None else {})
        return {"input": test_input, "execution": {"type": "pytest"}}


class Projects:
    """The projects of a run, each opened once: mostly one, but tests of several folders may belong to several
    projects, by the same rule as for the command line."""

    def __init__(self, rootdir: str):
        self._rootdir = os.path.realpath(rootdir)
        self._by_folder: dict[str, OpenProject | BaselinekitError] = {}
        self._by_root: dict[str, OpenProject | BaselinekitError] = {}

    def of(self, folder: str) -> "OpenProject":
        """Return the project of a folder with tests."""
        project = self._by_folder.get(folder)
        if project is None:
            root = self._root(os.path.realpath(folder))
            project = self._by_root.get(root)
            if project is None:
                project = self._by_root[root] = _open_project(root)
            self._by_folder[folder] = project
        if isinstance(project, BaselinekitError):
            raise project
        return project

    def _root(self, folder: str) -> str:
        """Return the folder of the nearest configuration, else the root of the git checkout, else pytest's
        rootdir."""
        config = nearest_config(folder)
        root = project_root(config, folder)
        return root if config or os.path.exists(os.path.join(root, ".git")) else self._rootdir

    def opened(self) -> "Sequence[OpenProject]":
        return [project for project in self._by_root.values() if isinstance(project, OpenProject)]


def _open_project(root: str) -> "OpenProject | BaselinekitError":
    try:
        now = clock()
        operator = Operator(cwd=root, environ=os.environ, now=now(), work=time.thread_time)
        return OpenProject(open_project(operator), now)
    except BaselinekitError as error:
        return error


def plain_nodeid(config: pytest.Config, nodeid: str) -> str:
    """Return the node id without the group that xdist's `--dist loadgroup` appends."""
    test, mark, group = nodeid.rpartition("@")
    if not mark or "]" in group:
        return nodeid
    option = config.option  # workers have another option than the process that started them
    is_grouped = getattr(option, "dist", "") == "loadgroup" or getattr(option, "loadgroup", False)
    return test if is_grouped else nodeid


@dataclass
class OpenProject:
    """A project, and the files that tests have written in it."""

    project: Project
    clock: Now
    written: dict[str, str] = field(default_factory=dict)
    """The files that this run has written, each with its test."""
    unsynced: dict[str, None] = field(default_factory=dict)
    """The files whose bytes may not be on the disk yet."""
    _git_questions: int = 0
    _names: dict[str, str] = field(default_factory=dict)

    @property
    def root(self) -> str:
        return self.project.root

    @property
    def is_ci(self) -> bool:
        return self.project.trust.ci

    @cached_property
    def environment(self) -> CaptureEnvironment:
        from baselinekit.clients.programs.process import Processes

        clients = Clients(_refuse_request, Processes().execute, time.sleep, now=self.clock)
        return CaptureEnvironment(self.project, clients)

    @cached_property
    def _pending(self) -> set[str]:
        return set(pending_ids(self.root))

    @cached_property
    def _schema(self) -> str:
        """The path of the schema for editors, relative to the root."""
        return writing.reference(self.root, "")

    def place(self, item: pytest.Item, name: str | None) -> ValuePlace:
        """Return where the baseline of a value of this test is stored."""
        path = str(item.path)
        if path not in self._names:
            self._names[path] = os.path.relpath(os.path.realpath(path), self.root).replace(os.sep, "/")
        test_file, test_name = self._names[path], plain_nodeid(item.config, item.nodeid).partition("::")[2]
        test = f"{test_file}::{test_name}" if test_name else test_file
        folder = self.project.folders[0].rstrip("/")
        file = file_of(test, name, folder)
        return ValuePlace(self.root, file, id_of(file, folder), test, name)

    def load(self, place: ValuePlace) -> Baseline | None:
        """Return the baseline that the file holds; None where there is no file."""
        if not os.path.lexists(place.path):
            return None
        loaded = LoadedFiles()
        loaded.read(place.file, self.root)
        if loaded.problems:
            raise InvalidInput(*loaded.problems, *loaded.refused)
        if loaded.refused:
            raise Refused(*loaded.refused)
        matches = [baseline for baseline in loaded.baselines if baseline.id == place.id] or loaded.baselines
        return matches[0]

    def compiled(self, baseline: Baseline) -> Matcher:
        words = self.project.words_of(baseline)
        return compile_baseline(baseline, replace(words, now=self.clock()))

    def chosen(self, baseline: Baseline) -> Baseline:
        """Return the baseline with the variant of its output for this environment."""
        known_good = baseline.baseline
        return (
            self.environment.chosen(baseline) if known_good is not None and known_good.variants else baseline
        )

    def now(self) -> str:
        return timestamps(self.clock)()

    def seconds(self) -> float:
        return self.clock()

    def environment_now(self, baseline: Baseline) -> dict[str, Json]:
        """Return the facts about this environment, if the baseline has those of its capture."""
        known_good = baseline.baseline
        if known_good is None or not known_good.environment:
            return {}
        self.environment.environment()
        return self.environment.seen

    def drift(self, baseline: Baseline) -> dict[str, tuple[Json, Json]]:
        """Return the facts about the environment that have changed since the capture."""
        return drift_of(self.environment, baseline, Observation(None, 0.0))

    def places(self, baseline: Baseline, paths: Sequence[Path]) -> list[Place]:
        """Return the places of values of the output in the file."""
        return locate_all(baseline.source, [(*baseline.output_path, *path) for path in paths], self.root)

    def take_git_question(self) -> bool:
        """Count a question to git; False when a run has asked enough: each takes as long as a test."""
        self._git_questions += 1
        return self._git_questions <= _MOST_GIT_QUESTIONS

    def draft(self, place: ValuePlace, existing: Baseline | None, output: Json, code: CodeRules) -> "NewFile":
        """Return the new file for a value without a baseline, with declared values by their names, and a
        placeholder for whatever looks like a secret."""
        templating = OutputTemplater(self.project.scope)
        stored = with_values(templating.template(output), dict(code.placeholder_places(output)))
        try:
            stored, hidden = hide_secrets(stored, self.project.redactor, hide=True, allow=False)
        except Refused as error:  # a secret in a key
            hint = "compare it without that, or baseline(placeholders={…: anything}) for what holds it"
            raise Refused(*(replace(problem, hint=hint) for problem in error.problems)) from None
        existing_rules = existing.comparison if existing is not None else Rules()
        ordered_arrays = arrays_to_order(code.with_rules_of_file(existing_rules), output, stored)
        record = {
            "id": place.id,
            "baseline": {"output": stored, "captured_at": self.now()},
            "current": place.current,
            **({"comparison": {"arrays": ordered_arrays}} if ordered_arrays else {}),
            "metadata": {"last_passed": None, "failure_count": 0},
        }
        notes = (*templating.notes(), *describe_hidden(hidden))
        baseline = parse_record(record, self.root)
        if existing is not None:  # the file has rules, and no value yet
            rules = replace(existing_rules, arrays={**existing_rules.arrays, **ordered_arrays})
            baseline = replace(existing, baseline=baseline.baseline, comparison=rules)
        return NewFile(place, record, baseline, notes, tuple(ordered_arrays))

    def write(self, new: "NewFile") -> None:
        """Write a new file; an existing file stays, and is an error unless it holds the same value. The test
        can create the file again, so this does not wait for the disk."""
        limit = self.project.config.inline_limit
        if new.baseline.source.file:
            source, known_good = new.baseline.source, new.record["baseline"]
            writing.add_baseline(source, known_good, self.root, limit, new.ordered)
            return
        folder = os.path.dirname(new.place.file)
        schema = os.path.relpath(self._schema, folder)
        try:
            writing.write_file(new.record, new.place.file, self.root, limit, schema, sync=False)
        except InvalidInput:
            existing = self.load(new.place)
            if (
                existing is None
                or existing.baseline is None
                or not self._same(existing.baseline, new.baseline)
            ):
                message = "another process has written another value meanwhile"
                hint = "run again; values that vary want a placeholder"
                raise InvalidInput(Problem("BK113", message, hint, Place(new.place.file))) from None
        self.written[new.place.file] = new.place.test
        self.unsynced[new.place.file] = None

    @staticmethod
    def _same(existing: Known, new: Baseline) -> bool:
        return new.baseline is not None and same_json(existing.output, new.baseline.output)

    def sync(self) -> None:
        """Start writing the new files to the disk, and wait for their folders: a journalling file system
        writes the files along with these. Waiting for each of 2,000 files takes longer than their tests. What
        is lost in a power cut nevertheless, the same command writes again."""
        for file in self.unsynced:
            self._open(file, lambda handle: os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED))
        for folder in {os.path.dirname(file) for file in self.unsynced}:
            self._open(folder, os.fsync)
        self.unsynced.clear()

    def _open(self, name: str, act: Callable[[int], None]) -> None:
        with suppress(
            OSError, AttributeError, BaselinekitError
        ):  # the file is gone; the system has no posix_fadvise
            handle = os.open(resolve(self.root, name), os.O_RDONLY | os.O_CLOEXEC)
            try:
                act(handle)
            finally:
                os.close(handle)

    def forget(self, id: str) -> None:
        """Drop what was stored of an earlier failure: the baseline passes now."""
        if id in self._pending:
            self._pending.discard(id)
            drop_pending(self.root, id)


class NewFile(Struct):
    """A baseline to be written. `record`: the content of the file; `baseline`: as it will be read."""

    place: ValuePlace
    record: dict[str, Json]
    baseline: Baseline
    notes: tuple[str, ...] = ()
    ordered: tuple[str, ...] = ()
    """The arrays for which an ordering rule was added."""


class Compared(Struct):
    """A value of a test, the baseline it was compared with, and the comparison."""

    place: ValuePlace
    stored: Baseline
    code: CodeRules
    layered: LayeredRules
    comparison: Comparison
    observation: Observation


def _refuse_request(*args: Any, **options: Any) -> Any:
    raise NotImplementedError("a test's value is compared without a request")

"""Finds the project and the file of a test's value; reads, creates and writes its baseline."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, partial
from typing import Any

import pytest

from baselinekit.cli.clients import timestamps
from baselinekit.cli.entry import Now, clock
from baselinekit.commands.capture import describe_hidden, hide_secrets
from baselinekit.commands.project import CaptureEnvironment, Operator, Project, open_project
from baselinekit.errors import InvalidInput, Place, Problem, Refused
from baselinekit.kinds.pytest import new_record
from baselinekit.kinds.settings import Clients
from baselinekit.learning.templating import OutputTemplater
from baselinekit.library.verdicts import arrays_to_order, compare_without_model
from baselinekit.matching.dispatch import compile_baseline
from baselinekit.model.baselines import Baseline, Comparison, Rules
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json
from baselinekit.pytest_plugin.rules import CodeRules, LayeredRules
from baselinekit.pytest_plugin.session import Use
from baselinekit.store import reading, schemafile, writing
from baselinekit.store.project import nearest_config, project_root
from baselinekit.store.reading import parse_record
from baselinekit.structs import Struct, replace
from baselinekit.values.places import with_values


class Projects:
    """The projects of a run, each opened once: mostly one, but tests of several folders may belong to several
    projects, by the same rule as for the command line."""

    def __init__(self, rootdir: str):
        self._rootdir = os.path.realpath(rootdir)
        self._opened: dict[str, OpenProject] = {}

    def of(self, folder: str) -> "OpenProject":
        """Return the project of a folder with tests, whose root is the folder of the nearest configuration,
        else the root of the git checkout, else pytest's rootdir."""
        folder = os.path.realpath(folder)
        config = nearest_config(folder)
        root = project_root(config, folder)
        if not config and not os.path.exists(os.path.join(root, ".git")):
            root = self._rootdir
        if root not in self._opened:
            now = clock()
            operator = Operator(cwd=root, environ=os.environ, now=now(), work=time.thread_time)
            self._opened[root] = OpenProject(open_project(operator), now)
        return self._opened[root]

    def sync(self) -> None:
        """Wait until what was written is on the disk: at the end, as waiting for each of 2,000 files takes
        longer than their tests. What is lost in a power cut before, the same command writes again."""
        for project in self._opened.values():
            for file in project.unsynced:
                with suppress(OSError), open(os.path.join(project.root, file), "rb") as written:
                    os.fsync(written.fileno())


class OpenProject:
    """A project, and the files that tests have written in it."""

    def __init__(self, project: Project, now: Now):
        self.project = project
        self.root = project.root
        self.folder = project.folders[0].rstrip("/")
        self.seconds = now
        self.now = timestamps(now)
        self.written: dict[str, str] = {}
        """The new files of this run, each with its test."""
        self.unsynced: set[str] = set()
        """The files whose bytes may not be on the disk yet."""

    @cached_property
    def environment(self) -> CaptureEnvironment:
        from baselinekit.clients.programs.process import Processes

        clients = Clients(_refuse_request, Processes().execute, time.sleep, now=self.seconds)
        return CaptureEnvironment(self.project, clients)

    @cached_property
    def _schema(self) -> str:
        """The path of the schema for editors, relative to the root."""
        return schemafile.reference(self.root, "")

    def load(self, file: str, id: str) -> Baseline | None:
        """Return the baseline that a file holds; None where there is no file."""
        if not os.path.lexists(os.path.join(self.root, file)):
            return None
        baselines = reading.load([file], self.root)
        return self.environment.chosen(next((one for one in baselines if one.id == id), baselines[0]))

    def compare(self, baseline: Baseline, observation: Observation) -> Comparison:
        words = replace(self.project.words_of(baseline), now=self.seconds())
        return compare_without_model(compile_baseline(baseline, words), observation)

    def write_new(self, record: dict[str, Json], file: str, test: str) -> None:
        """Write a new file, which must not exist. The test can create the file again, so this does not wait
        for the disk."""
        schema = os.path.relpath(self._schema, os.path.dirname(file))
        try:
            writing.write_file(record, file, self.root, self.project.config.inline_limit, schema, sync=False)
        except InvalidInput:
            problem = Problem("BK113", "another process has written it meanwhile", "run again", Place(file))
            raise InvalidInput(problem) from None
        self.written[file] = test
        self.unsynced.add(file)


class PlannedWrite(Struct):
    """A file to be written once its test has passed. `after`: the baseline that it will hold; `notes`: what
    is reported of it then."""

    after: Baseline
    use: Use
    write: Callable[[], None]
    notes: tuple[str, ...] = ()


class ValuePlace(Struct):
    """Where the baseline of a value is stored. `test`: the node id, with the file relative to the project's
    root."""

    project: OpenProject
    file: str
    id: str
    test: str
    name: str | None
    item: pytest.Item

    def plan_new(self, existing: Baseline | None, output: Json, code: CodeRules) -> PlannedWrite:
        """Plan the baseline of a value that has none, with declared values by their names, and a placeholder
        for whatever looks like a secret. `existing`: what the file holds if it has rules, and no value."""
        project = self.project.project
        code.refuse_lost(output)
        templating = OutputTemplater(project.scope)
        placeholders = {path: placeholder for _, path, _, placeholder in code.places_in(output)}
        stored = with_values(templating.template(output), placeholders)
        try:
            stored, hidden = hide_secrets(stored, project.redactor, hide=True, allow=False)
        except Refused as error:  # a secret in a key
            hint = "compare it without that, or baseline(placeholders={…: anything}) for what holds it"
            raise Refused(*(replace(problem, hint=hint) for problem in error.problems)) from None
        rules = existing.comparison if existing is not None else Rules()
        ordered = arrays_to_order(code.with_rules_of_file(rules)[0], output, stored)
        new_rules = {"arrays": ordered} if ordered else {}
        record = new_record(self.id, self.test, self.name, stored, self.project.now(), new_rules)
        after = parse_record(record)
        write = partial(self.project.write_new, record, self.file, self.test)
        if existing is not None:
            to = project.root, project.config.inline_limit, [*ordered]
            write = partial(writing.add_baseline, existing, record["baseline"], *to)
            rules = replace(rules, arrays={**rules.arrays, **ordered})
            after = replace(existing, baseline=after.baseline, comparison=rules)
        return PlannedWrite(after, "written", write, (*templating.notes(), *describe_hidden(hidden)))


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

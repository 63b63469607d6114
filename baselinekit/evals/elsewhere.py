"""The attempts of a run on a cluster: which files are sent with a case, and how the cases are divided."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from baselinekit.commands.chunks import Chunk
from baselinekit.commands.elsewhere import ClusterRun, ClusterSender
from baselinekit.commands.parcel import CommonFiles, SentFile, files_below, is_inside
from baselinekit.commands.project import Project
from baselinekit.commands.since import names_in_inputs, texts_at, used_files
from baselinekit.errors import BaselinekitError
from baselinekit.evals.judgeprograms import entry_that_allows, stated_program
from baselinekit.evals.lanes import OF_ATTEMPTS
from baselinekit.evals.scripts import allowed_by
from baselinekit.evals.workers import CaseOrder, CaseTurn, JudgedAttempt, chunks_of
from baselinekit.frozen import frozen
from baselinekit.graders import graders
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Baseline
from baselinekit.model.evals import Case
from baselinekit.model.recipes import Recipe
from baselinekit.store.project import in_repository, repository_of
from baselinekit.suites import ratings
from baselinekit.suites.settings import resolve_named

_MOST_TOGETHER = 64
_PARTS = 4
_CALIBRATION = "calibration"
"""The key of a judge's file of labels. It is not sent: the machine of the run reports on it."""


@frozen
class CasePolicy:
    """How the attempts of a parcel are made. `saves`: whether the answers are returned too."""

    order: CaseOrder
    saves: bool


class CasesOnCluster(ClusterSender[CaseTurn, JudgedAttempt]):
    """The engine of a run on a cluster."""

    def __init__(self, begin: AbstractContextManager[ClusterRun], packing: "CasePacking", policy: CasePolicy):
        super().__init__(begin, packing, OF_ATTEMPTS, policy)
        self._order = policy.order

    def chunks(self, turns: Sequence[CaseTurn]) -> list[Chunk[CaseTurn]]:
        """Several chunks for each worker, so that none waits long for the last one; small chunks where the
        first attempt that does not pass ends the run."""
        places = self.slots
        threads, share = max(1, self._order.jobs // places), -(-len(turns) // places)
        most = 2 * threads if self._order.first else max(threads, min(_MOST_TOGETHER, -(-share // _PARTS)))
        return chunks_of(turns, self._order, max(1, min(most, share)))

    def policy_of(self, chunk: Chunk[CaseTurn]) -> CasePolicy:
        """The policy for a chunk, with only those of the joint questions that concern its cases."""
        ids = {turn.case.id for turn in chunk.entries}
        together = {
            key: questions
            for key, questions in self._order.together.items()
            if not ids.isdisjoint(id for id, _ in questions)
        }
        policy: CasePolicy = self._policy
        return replace(policy, order=replace(self._order, together=together))


# What is sent with a case. The case itself is sent as data; these are the files that its parts name. Files
# that those read in turn have to be on the worker already.


@dataclass(slots=True)
class CasePacking:
    """The files that are sent with the chunks of a run. `rated`: the file of the ratings so far."""

    shared: CommonFiles
    rated: bytes = b""
    _known: dict[str, "_CaseFiles"] = field(default_factory=dict)

    def files_of(self, turns: Sequence[CaseTurn]) -> tuple[SentFile, ...]:
        cases = _cases_of(turns)
        paths = (path for case in cases for path in self._used(case).paths)
        files = self.shared.with_files(paths, any(asks_models(case, self.shared.project) for case in cases))
        if self.rated and any(
            grader.kind == "human" for case in cases for grader in graders.with_parts(case.graders)
        ):
            files += (SentFile(os.path.join(self.shared.project.root, ratings.FILE), self.rated),)
        return files

    def folders_of(self, turns: Sequence[CaseTurn]) -> tuple[str, ...]:
        project = self.shared.project
        places = {folder for case in _cases_of(turns) for folder in self._used(case).places}
        return (project.root, project.cwd, *sorted(places))

    def _used(self, case: Case) -> "_CaseFiles":
        if (files := self._known.get(case.id)) is None:
            files = self._known[case.id] = _CaseFiles.of(case, self.shared.project)
        return files


def _cases_of(turns: Iterable[CaseTurn]) -> list[Case]:
    return [*{turn.case.id: turn.case for turn in turns}.values()]


def asks_models(case: Case, project: Project) -> bool:
    """Whether recorded answers of models may be of use to a case."""
    if kind_of(case.recipe).asks_model(case.recipe, project.config.skills):
        return True
    for grader in graders.with_parts(case.graders):
        row = graders.row_of(grader)
        program = row.starts(grader.method)
        if row.asks(grader.method) is not None or (program is not None and program.model_calls is not None):
            return True
    return case.baseline is not None


@frozen
class _CaseFiles:
    """Absolute paths: of the files that a case uses, and of the folders that must exist."""

    paths: tuple[str, ...]
    places: tuple[str, ...]

    @classmethod
    def of(cls, case: Case, project: Project) -> "_CaseFiles":
        """Collect the files of a case. Those that are missing, or outside of the project and its repository,
        are not sent: whatever needs them reports that."""
        gathering = _PathCollector(project.root, repository_of(project.root, case.source.file))
        gathering.add(case.source.file)
        if gathering.top != project.root:  # marks the root of its repository there
            gathering.places[os.path.join(gathering.top, ".git")] = None
        _add_recipe(case, project, gathering)
        _add_graders(case, project, gathering)
        _add_folder(case, project, gathering)
        return cls(tuple(gathering.paths), tuple(gathering.places))


class _PathCollector:
    """Collects paths. `root`: the project's; `top`: the repository, which the paths of a case stay inside."""

    def __init__(self, root: str, top: str):
        self.root, self.top = root, top
        self.paths: dict[str, None] = {}
        self.places: dict[str, None] = {}

    def add(self, name: str) -> None:
        """Add a file, by its path from the root or its absolute path."""
        path = os.path.normpath(os.path.join(self.root, name))
        if is_inside(self.root, path) or is_inside(self.top, path):
            self.paths[path] = None

    def add_below(self, folder: str) -> None:
        """Add everything in a folder, unless that is the whole project."""
        path = os.path.normpath(os.path.join(self.root, folder))
        self.places[path] = None
        if f"{self.root}/".startswith(f"{path}/") or f"{self.top}/".startswith(f"{path}/"):
            return
        for top in dict.fromkeys((self.root, self.top)):
            for name in files_below(top, path):
                self.add(os.path.join(top, name))

    def add_working(self, cwd: str, folder: str) -> None:
        """Add the working folder of a program. Its content is added too, unless the case itself is in it."""
        path = os.path.normpath(os.path.join(self.root, cwd))
        self.places[path] = None
        if not f"{os.path.normpath(os.path.join(self.root, folder))}/".startswith(f"{path}/"):
            self.add_below(path)


def _add_recipe(case: Case, project: Project, collector: _PathCollector) -> None:
    folder = os.path.dirname(case.source.file)
    collector.places[os.path.join(project.root, folder)] = None
    baselines = [Baseline(case.id, case.recipe, source=case.source)]
    baselines += [] if case.baseline is None else [case.baseline]
    for baseline in baselines:
        files, folders = used_files(baseline, project)
        for name in (*files, *names_in_inputs(baseline.current, project, folder)):
            collector.add(name)
        for name in folders:
            collector.add_below(name)
    cwd = kind_of(case.recipe).working_folder(case.recipe) or getattr(case.recipe.execution, "cwd", None)
    starts = [folder, ""]
    if isinstance(cwd, str):
        collector.add_working(os.path.join(folder, cwd), folder)
        starts.insert(0, os.path.join(folder, cwd))
    for word in _words(case.recipe.execution):
        for start in starts:
            collector.add(os.path.join(start, word))
    for _, text in texts_at(case.recipe.input, ()):
        if os.path.isabs(text):
            collector.add(text)
    for path in (*case.wanted.guideline_files, *case.wanted.input_files):
        collector.add(path)


def _words(value: Any) -> Iterator[str]:
    """The words of a command, or of a program for a shell, that may be names of files."""
    for _, text in texts_at(value, ()):
        yield text
        yield from re.findall(r"[^\s|&;<>()$`'\"]+", text)


def _add_graders(case: Case, project: Project, collector: _PathCollector) -> None:
    repository, file = in_repository(project.root, case.source.file)
    for grader in graders.with_parts(case.graders):
        row, method = graders.row_of(grader), grader.method
        if (question := row.asks(method)) is not None:
            _add_model(question[0], case, project, collector)
        for key, name in row.files(method).items():
            if name is not None and key != _CALIBRATION:
                with suppress(BaselinekitError):
                    collector.add(os.path.join(repository, resolve_named(repository, file, name)))
        if (program := row.starts(method)) is not None:
            stated_judge = stated_program(project, case, program)
            collector.places[stated_judge.cwd] = None
            for word in stated_judge.files:
                collector.add(stated_judge.path_of(word))
            if program.model_calls is not None:
                _add_model(program.model, case, project, collector)
            if program.cwd:
                collector.add_working(stated_judge.cwd, os.path.dirname(case.source.file))
            if (entry := entry_that_allows(project, stated_judge)) is not None:
                _add_command(entry[0], project, collector)


def _add_model(name: str, case: Case, project: Project, collector: _PathCollector) -> None:
    """Add the files that a prompt would use that asks this model."""
    recipe = Recipe(PromptInput(text=""), PromptExecution("prompt", model=name))
    files, folders = used_files(Baseline(case.id, recipe, source=case.source), project)
    for file in files:
        collector.add(file)
    for folder in folders:
        collector.add_below(folder)


def _add_folder(case: Case, project: Project, collector: _PathCollector) -> None:
    """Add the scripts around the attempts of a case, and its prompt folder."""
    for script in (case.scripts.before, case.scripts.after):
        if script is not None:
            collector.add(script)
            if (name := allowed_by(project, script)) is not None:
                _add_command(name, project, collector)
    if (prompt := case.folder) is not None:
        collector.add_below(prompt.path)
        for name in filter(None, (prompt.template, prompt.meta_file, prompt.eval_file)):
            collector.add(name)


def _add_command(name: str, project: Project, collector: _PathCollector) -> None:
    """Add the files that a command of the configuration names, and the module that it starts."""
    argv = project.commands[name].argv
    for word in argv:
        collector.add(word)
    for flag, word in pairwise(argv):
        if flag == "-m":
            module, *_ = word.split(".")
            collector.add(f"{module}.py")
            collector.add_below(module)

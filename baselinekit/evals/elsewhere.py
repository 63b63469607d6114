"""The attempts of a run on a cluster: which files go with a case, and how the cases are divided."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from baselinekit.errors import BaselinekitError
from baselinekit.evals.judgeprograms import entry_that_allows, stated_program
from baselinekit.evals.lanes import OF_ATTEMPTS
from baselinekit.evals.scripts import allowed_by
from baselinekit.evals.workers import CaseOrder, CaseTurn, JudgedAttempt, chunks_of
from baselinekit.frozen import frozen
from baselinekit.grade import graders
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Baseline
from baselinekit.model.evals import Case
from baselinekit.model.recipes import Recipe
from baselinekit.store.project import in_repository, repository_of
from baselinekit.suites import ratings
from baselinekit.suites.settings import resolve_named
from baselinekit.workflow.chunks import Chunk
from baselinekit.workflow.elsewhere import Sender, Sending
from baselinekit.workflow.parcel import CommonFiles, SentFile, files_below, is_inside
from baselinekit.workflow.project import Project
from baselinekit.workflow.since import names_in_inputs, texts_at, used_files

_MOST_TOGETHER = 64
_PARTS = 4
_CALIBRATION = "calibration"
"""What a judge was measured with, which is told by the caller."""


@frozen
class CasePolicy:
    """How the attempts of a parcel are made. `saves`: whether answers are wanted."""

    order: CaseOrder
    saves: bool


class CasesOnCluster(Sender[CaseTurn, JudgedAttempt]):
    """The engine of a run on a cluster."""

    def __init__(self, begin: AbstractContextManager[Sending], packing: "CasePacking", policy: CasePolicy):
        super().__init__(begin, packing, OF_ATTEMPTS, policy)
        self._order = policy.order

    def chunks(self, turns: Sequence[CaseTurn]) -> list[Chunk[CaseTurn]]:
        """Several for each place, so that none waits long for the last; few attempts where one that does not
        pass ends the run."""
        places = self.slots
        threads, share = max(1, self._order.jobs // places), -(-len(turns) // places)
        most = 2 * threads if self._order.first else max(threads, min(_MOST_TOGETHER, -(-share // _PARTS)))
        return chunks_of(turns, self._order, max(1, min(most, share)))

    def policy_of(self, chunk: Chunk[CaseTurn]) -> CasePolicy:
        """Of what is asked together, what concerns these."""
        ids = {turn.case.id for turn in chunk.entries}
        together = {
            key: asked
            for key, asked in self._order.together.items()
            if not ids.isdisjoint(id for id, _ in asked)
        }
        policy: CasePolicy = self._policy
        return replace(policy, order=replace(self._order, together=together))


# What goes with a case. It is data, and travels as such; these are the files that its parts name. A file that
# these read in their turn is theirs to find on the worker.


@dataclass(slots=True)
class CasePacking:
    """What goes with the chunks of a run. `rated`: what people have said so far, as a file."""

    shared: CommonFiles
    rated: bytes = b""
    _known: dict[str, "_CaseFiles"] = field(default_factory=dict)

    def files_of(self, turns: Sequence[CaseTurn]) -> tuple[SentFile, ...]:
        cases = _cases_of(turns)
        paths = (path for case in cases for path in self._used(case).paths)
        files = self.shared.with_files(paths, any(asks_models(case, self.shared.project) for case in cases))
        if self.rated and any(one.kind == "human" for case in cases for one in graders.all_of(case.graders)):
            files += (SentFile(os.path.join(self.shared.project.root, ratings.FILE), self.rated),)
        return files

    def folders_of(self, turns: Sequence[CaseTurn]) -> tuple[str, ...]:
        project = self.shared.project
        found = {folder for case in _cases_of(turns) for folder in self._used(case).places}
        return (project.root, project.cwd, *sorted(found))

    def _used(self, case: Case) -> "_CaseFiles":
        if (known := self._known.get(case.id)) is None:
            known = self._known[case.id] = _CaseFiles.of(case, self.shared.project)
        return known


def _cases_of(turns: Iterable[CaseTurn]) -> list[Case]:
    return [*{turn.case.id: turn.case for turn in turns}.values()]


def asks_models(case: Case, project: Project) -> bool:
    """Whether answers of models that were kept may be of use to it."""
    if kind_of(case.recipe).asks_model(case.recipe, project.config.skills):
        return True
    for grader in graders.all_of(case.graders):
        row = graders.row_of(grader)
        program = row.starts(grader.method)
        if row.asks(grader.method) is not None or (program is not None and program.model_calls is not None):
            return True
    return case.baseline is not None


@frozen
class _CaseFiles:
    """Whole paths: of the files that a case uses, and of folders that have to be there."""

    paths: tuple[str, ...]
    places: tuple[str, ...]

    @classmethod
    def of(cls, case: Case, project: Project) -> "_CaseFiles":
        """Of files that are not there, or that lie outside, nothing is sent: whoever needs them says so."""
        found = _Gathering(project.root, repository_of(project.root, case.source.file))
        found.add(case.source.file)
        if found.top != project.root:  # that its repository is the same there
            found.places[os.path.join(found.top, ".git")] = None
        _add_recipe(case, project, found)
        _add_graders(case, project, found)
        _add_folder(case, project, found)
        return cls(tuple(found.paths), tuple(found.places))


class _Gathering:
    """`root`: the project's; `top`: what the paths of a case stay inside of."""

    def __init__(self, root: str, top: str):
        self.root, self.top = root, top
        self.paths: dict[str, None] = {}
        self.places: dict[str, None] = {}

    def add(self, name: str) -> None:
        """A file, from the root on or by its whole path."""
        path = os.path.normpath(os.path.join(self.root, name))
        if is_inside(self.root, path) or is_inside(self.top, path):
            self.paths[path] = None

    def add_below(self, folder: str) -> None:
        """All that is in a folder, unless that is the whole project."""
        path = os.path.normpath(os.path.join(self.root, folder))
        self.places[path] = None
        if f"{self.root}/".startswith(f"{path}/") or f"{self.top}/".startswith(f"{path}/"):
            return
        for top in dict.fromkeys((self.root, self.top)):
            for name in files_below(top, path):
                self.add(os.path.join(top, name))

    def add_working(self, cwd: str, folder: str) -> None:
        """A folder that is named for a program to run in: all that is in it, but for that of the case."""
        path = os.path.normpath(os.path.join(self.root, cwd))
        self.places[path] = None
        if not f"{os.path.normpath(os.path.join(self.root, folder))}/".startswith(f"{path}/"):
            self.add_below(path)


def _add_recipe(case: Case, project: Project, found: _Gathering) -> None:
    folder = os.path.dirname(case.source.file)
    found.places[os.path.join(project.root, folder)] = None
    asked = [Baseline(case.id, case.recipe, source=case.source)]
    asked += [] if case.baseline is None else [case.baseline]
    for one in asked:
        files, folders = used_files(one, project)
        for name in (*files, *names_in_inputs(one.current, project, folder)):
            found.add(name)
        for name in folders:
            found.add_below(name)
    named = kind_of(case.recipe).working_folder(case.recipe) or getattr(case.recipe.execution, "cwd", None)
    starts = [folder, ""]
    if isinstance(named, str):
        found.add_working(os.path.join(folder, named), folder)
        starts.insert(0, os.path.join(folder, named))
    for word in _words(case.recipe.execution):
        for start in starts:
            found.add(os.path.join(start, word))
    for _, text in texts_at(case.recipe.input, ()):
        if os.path.isabs(text):
            found.add(text)
    for path in (*case.wanted.guideline_files, *case.wanted.input_files):
        found.add(path)


def _words(value: Any) -> Iterator[str]:
    """What may name a file in the words of a command, or of a program for a shell."""
    for _, text in texts_at(value, ()):
        yield text
        yield from re.findall(r"[^\s|&;<>()$`'\"]+", text)


def _add_graders(case: Case, project: Project, found: _Gathering) -> None:
    own, file = in_repository(project.root, case.source.file)
    for grader in graders.all_of(case.graders):
        row, method = graders.row_of(grader), grader.method
        if (asked := row.asks(method)) is not None:
            _add_model(asked[0], case, project, found)
        for key, named in row.files(method).items():
            if named is not None and key != _CALIBRATION:
                with suppress(BaselinekitError):
                    found.add(os.path.join(own, resolve_named(own, file, named)))
        if (program := row.starts(method)) is not None:
            told = stated_program(project, case, program)
            found.places[told.cwd] = None
            for word in told.files:
                found.add(told.path_of(word))
            if program.model_calls is not None:
                _add_model(program.model, case, project, found)
            if program.cwd:
                found.add_working(told.cwd, os.path.dirname(case.source.file))
            if (entry := entry_that_allows(project, told)) is not None:
                _add_command(entry[0], project, found)


def _add_model(name: str, case: Case, project: Project, found: _Gathering) -> None:
    """What a prompt would use that asks this model."""
    asking = Recipe(PromptInput(text=""), PromptExecution("prompt", model=name))
    files, folders = used_files(Baseline(case.id, asking, source=case.source), project)
    for file in files:
        found.add(file)
    for folder in folders:
        found.add_below(folder)


def _add_folder(case: Case, project: Project, found: _Gathering) -> None:
    """The scripts around its attempts, and the prompt that it is a case of."""
    for script in (case.scripts.before, case.scripts.after):
        if script is not None:
            found.add(script)
            if (name := allowed_by(project, script)) is not None:
                _add_command(name, project, found)
    if (prompt := case.folder) is not None:
        found.add_below(prompt.path)
        for name in filter(None, (prompt.template, prompt.meta_file, prompt.eval_file)):
            found.add(name)


def _add_command(name: str, project: Project, found: _Gathering) -> None:
    """The files that a command of the configuration names, and the module that it starts."""
    argv = project.commands[name].argv
    for word in argv:
        found.add(word)
    for flag, word in pairwise(argv):
        if flag == "-m":
            module, *_ = word.split(".")
            found.add(f"{module}.py")
            found.add_below(module)

"""The files that are sent with a case to another machine. The case itself is sent as data; these are the
files that its parts name. Files that those read in turn have to be on the worker already."""

import os
import re
from contextlib import suppress
from itertools import pairwise
from typing import Any

from baselinekit.commands.project import Project
from baselinekit.commands.shipping import UsedFiles
from baselinekit.commands.since import texts_at
from baselinekit.errors import BaselinekitError
from baselinekit.evals.judgeprograms import entry_that_allows, stated_program
from baselinekit.evals.scripts import allowed_by
from baselinekit.graders import graders
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Baseline
from baselinekit.model.evals import Case
from baselinekit.model.recipes import Recipe
from baselinekit.store.project import in_repository, repository_of
from baselinekit.suites import ratings
from baselinekit.suites.settings import resolve_named

_CALIBRATION = "calibration"
"""The key of a judge's file of labels. It is not sent: the machine of the run reports on it."""


def asks_models(case: Case, project: Project) -> bool:
    """Whether recorded answers of models may be of use to a case."""
    if case.baseline is not None or kind_of(case.recipe).asks_model(case.recipe, project.config.skills):
        return True
    rows = ((graders.row_of(grader), grader.method) for grader in graders.with_parts(case.graders))
    return any(
        row.asks(method) is not None or getattr(row.starts(method), "model_calls", None) is not None
        for row, method in rows
    )


def files_of_case(case: Case, project: Project, rated: bytes) -> UsedFiles:
    """Collect the files of a case, in the project or in the repository of its eval file. `rated`: the ratings
    of people so far."""
    used = UsedFiles(project, repository_of(project.root, case.source.file))
    used.asks = asks_models(case, project)
    if rated and any(grader.kind == "human" for grader in graders.with_parts(case.graders)):
        used.stated[os.path.join(project.root, ratings.FILE)] = rated
    folder = os.path.dirname(case.source.file)
    if used.top != project.root:  # marks the root of its repository there
        used.folders[os.path.join(used.top, ".git")] = None
    used.folders[os.path.join(project.root, folder)] = None
    used.add_baseline(Baseline(case.id, case.recipe, source=case.source))
    if case.baseline is not None:
        used.add_baseline(case.baseline)
    cwd = kind_of(case.recipe).working_folder(case.recipe) or getattr(case.recipe.execution, "cwd", None)
    starts = [folder, ""]
    if isinstance(cwd, str):
        starts.insert(0, os.path.join(folder, cwd))
        used.add_below(starts[0], folder)
    for _, text in texts_at(case.recipe.execution, ()):  # of a command, or of a program for a shell
        for word in (text, *re.findall(r"[^\s|&;<>()$`'\"]+", text)):
            for start in starts:
                used.add(os.path.join(start, word))
    for _, text in texts_at(case.recipe.input, ()):
        if os.path.isabs(text):
            used.add(text)
    for path in (*case.wanted.guideline_files, *case.wanted.input_files):
        used.add(path)
    _add_graders(case, used)
    for script in filter(None, (case.scripts.before, case.scripts.after)):
        used.add(script)
        if (name := allowed_by(project, script)) is not None:
            _add_command(name, used)
    if (prompt := case.folder) is not None:
        used.add_below(prompt.path)
        for path in filter(None, (prompt.template, prompt.meta_file, prompt.eval_file)):
            used.add(path)
    return used


def _add_graders(case: Case, used: UsedFiles) -> None:
    project = used.project
    repository, file = in_repository(project.root, case.source.file)
    for grader in graders.with_parts(case.graders):
        row, method = graders.row_of(grader), grader.method
        if (question := row.asks(method)) is not None:
            _add_model(question[0], case, used)
        for key, name in row.files(method).items():
            if name is not None and key != _CALIBRATION:
                with suppress(BaselinekitError):
                    used.add(os.path.join(repository, resolve_named(repository, file, name)))
        if (program := row.starts(method)) is not None:
            judge = stated_program(project, case, program)
            used.folders[judge.cwd] = None
            for word in judge.files:
                used.add(judge.path_of(word))
            if program.model_calls is not None:
                _add_model(program.model, case, used)
            if program.cwd:
                used.add_below(judge.cwd, os.path.dirname(case.source.file))
            if (entry := entry_that_allows(project, judge)) is not None:
                _add_command(entry[0], used)


def _add_model(name: str, case: Case, used: UsedFiles) -> None:
    """Add the files that a prompt would use that asks this model."""
    recipe = Recipe(PromptInput(text=""), PromptExecution("prompt", model=name))
    used.add_baseline(Baseline(case.id, recipe, source=case.source))


def _add_command(name: str, used: UsedFiles) -> None:
    """Add the files that a command of the configuration names, and the module that it starts."""
    argv: Any = used.project.commands[name].argv
    for word in argv:
        used.add(word)
    for flag, word in pairwise(argv):
        if flag == "-m":
            module, *_ = word.split(".")
            used.add(f"{module}.py")
            used.add_below(module)

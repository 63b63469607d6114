"""Whom eval files ask by a name: the targets of the configuration, those of a targets file (targetsfile.py),
and of the one that is found beside the eval files.

A target is read when somebody asks for it, so that one for which a variable is missing stands in nobody's
way. What the operator or the configuration names may start programs and takes variables from the environment;
what was only found takes those that the configuration declares, and the models that it describes."""

import os
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from baselinekit.errors import Problem, nearest
from baselinekit.frozen import frozen
from baselinekit.kinds.kind import EXECUTION
from baselinekit.kinds.prompt import PromptExecution
from baselinekit.kinds.table import KINDS
from baselinekit.lazy import lazy_pattern
from baselinekit.model.grades import Grader
from baselinekit.model.recipes import Execution, Model, Recipe
from baselinekit.model.values import Json, Path
from baselinekit.schema.complaints import describe_value
from baselinekit.schema.records import below, check

FOUND = posixpath.join(".agentv", "targets.yaml")
"""Where a targets file is found, from the folder of an eval file up to the root."""

DEFAULT = "default"
JUDGE = "judge"
"""The model that judges where nobody names another."""

_MOST_WORKERS = 512

MARKED = lazy_pattern(r"\$\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
"""A variable of a targets file."""

PlaceProblems = Callable[[Sequence[Problem]], list[Problem]]


@frozen
class NamedTarget:
    """Whom to ask. `judge`: the model that judges its answers; `workers`: how many cases it is asked at once;
    `model`: what the configuration would say of it, where it is a model of its own."""

    name: str
    execution: Execution
    judge: str | None = None
    workers: int | None = None
    model: Model | None = None

    @property
    def recipe(self) -> Recipe | None:
        """What it would be asked, with a question that says nothing; None for a kind that takes no text."""
        question = KINDS[self.execution.type].input_of_text("?", None)
        return None if question is None else Recipe(question, self.execution)

    def addresses(self) -> Iterator[str]:
        """Where it leads, its variables unexpanded."""
        return iter(()) if self.recipe is None else KINDS[self.execution.type].addresses(self.recipe)


Lookup = Callable[[str], Json]
"""The value of a variable by its name; None where it may not be used or is not set."""

ReadTarget = Callable[[str, Json], tuple[NamedTarget | None, list[Problem]]]


@frozen
class TargetList:
    """What one place says of targets, unread. `stated`: each with where it stands; `read`: one of them by its
    name, or what is wrong with it; `place`: gives problems their places; `named`: whether the operator or the
    configuration means this place."""

    stated: Mapping[str, tuple[Json, Path]]
    read: ReadTarget
    place: PlaceProblems
    named: bool = True

    def target(self, name: str) -> tuple[NamedTarget | None, list[Problem]]:
        """The target of this name, or what is wrong with it, each problem with its place."""
        raw, at = self.stated[name]
        made, problems = self.read(name, raw)
        if made is not None and not problems:
            problems = list(_faults(made))
        if problems:
            return None, self.place(below(problems, at))
        return made, []


@frozen
class Targets:
    """All that can be asked by a name. `chosen`: whom the operator wants asked; `models`: the names under
    `models:`; `declared`: the value of a variable of the configuration, for a targets file that is found
    beside eval files; None where no such file counts."""

    lists: tuple[TargetList, ...] = ()
    chosen: str | None = None
    models: frozenset[str] = frozenset()
    declared: Lookup | None = None
    problems: tuple[Problem, ...] = ()

    def find(self, name: str) -> tuple[NamedTarget | None, list[Problem]]:
        """Whom a name means. An unknown one: a problem without a place. A model of the configuration is a
        target by its name, and so is the model `default`."""
        for listed in self.lists:
            if name in listed.stated:
                return listed.target(name)
        if self.problems:  # it may stand in the list that cannot be read
            return None, list(self.problems)
        if name in self.models or name == DEFAULT:
            return NamedTarget(name, PromptExecution("prompt", model=name)), []
        known = list(dict.fromkeys([*(one for listed in self.lists for one in listed.stated), *self.models]))
        named = f"there are {', '.join(known)}" if known else f"describe it in {FOUND}, or under `targets:`"
        return None, [Problem("BK798", f"there is no target {name!r}", nearest(name, known) or named)]

    def no_model(self, name: str) -> list[Problem]:
        """Why a target of this name is no model that could be asked; nothing where there is none."""
        listed = next((one for one in self.lists if name in one.stated), None)
        if listed is None:
            return []
        target, problems = listed.target(name)
        if target is None or KINDS[target.execution.type].asks_models == "always":
            return problems
        what = f"the target {name!r} is a {target.execution.type}, and only a model judges"
        return listed.place(below([Problem("BK798", what, "name a model", at=())], listed.stated[name][1]))

    def readable(self) -> Iterator[NamedTarget]:
        """Those of the operator and the configuration in which nothing is wrong."""
        for name in dict.fromkeys(name for listed in self.lists if listed.named for name in listed.stated):
            target, problems = self.find(name)
            if target is not None and not problems:
                yield target


NO_TARGETS = Targets()


def describe_targets(targets: Targets, config_file: str) -> Iterator[str]:
    """Each target that the operator or the configuration names and that starts a program."""
    for target in targets.readable():
        if target.recipe is None:
            continue
        family, program = KINDS[target.execution.type].asks(target.recipe)
        if family == "commands":
            yield f"target {target.name} runs {program}: allowed by `targets:` of {config_file or 'a file'}"


def judged_by(graders: Sequence[Grader], model: str | None) -> tuple[Grader, ...]:
    """The graders with this model as their judge, where they name none; those within graders too."""
    return tuple(graders) if model is None else tuple(_judged_by(grader, model) for grader in graders)


def _judged_by(grader: Grader, model: str) -> Grader:
    method = grader.method
    changed: dict[str, Any] = {"model": model} if getattr(method, "model", None) == JUDGE else {}
    for name in ("graders", "judge"):
        inner = getattr(method, name, None)
        if isinstance(inner, Grader):
            changed[name] = _judged_by(inner, model)
        elif isinstance(inner, tuple):
            changed[name] = tuple(_judged_by(one, model) for one in inner)
    return replace(grader, method=replace(method, **changed)) if changed else grader


def found_files(root: str, file: str) -> Iterator[str]:
    """The targets files above an eval file, the nearest first."""
    folder = posixpath.dirname(file)
    while True:
        name = posixpath.join(folder, FOUND)
        if os.path.isfile(os.path.join(root, name)):
            yield name
        if folder in ("", "/") or os.path.isdir(os.path.join(root, folder, ".git")):
            return
        folder = posixpath.dirname(folder)


def own_list(stated: Mapping[str, Json], place: PlaceProblems) -> TargetList:
    """What the configuration says under `targets:`."""
    return TargetList({name: (raw, ("targets", name)) for name, raw in stated.items()}, _own_target, place)


# A target of the configuration: an execution with its type, its judge and its workers.


def _own_target(name: str, raw: Json) -> tuple[NamedTarget | None, list[Problem]]:
    known = ", ".join(KINDS)
    if not isinstance(raw, dict):
        what = f"expected a target, found {describe_value(raw)}"
        return None, [Problem("BK105", what, "such as {type: mock, response: '42'}", at=())]
    kind = KINDS.get(str(raw.get("type")))
    if kind is None:
        hint = nearest(str(raw.get("type")), KINDS) or f"one of {known}"
        return None, [Problem("BK105", f"unknown type {describe_value(raw.get('type'))}", hint, at=("type",))]
    rest = {key: value for key, value in raw.items() if key not in ("judge", "workers")}
    if "target" in {one.name for one in fields(kind.execution)}:
        rest["target"] = name
    execution, problems = check(kind.execution, rest)
    beside, wrong = check(_Beside, {key: raw[key] for key in ("judge", "workers") if key in raw})
    problems += wrong
    if any(isinstance(value, str) and MARKED.search(value) for value in raw.values()):
        hint = "write {{NAME}}, and declare it under `variables:`"
        problems.append(Problem("BK799", "${{ NAME }} is for targets files", hint, at=()))
    if execution is None or beside is None:
        return None, problems
    return NamedTarget(name, execution, beside.judge, beside.workers), problems


@frozen
class _Beside:
    judge: str | None = None
    workers: int | None = None


def _faults(target: NamedTarget) -> Iterator[Problem]:
    """What is wrong with it beyond the types, as far as that can be told without a question."""
    if target.recipe is not None:
        for problem in KINDS[target.execution.type].check(target.recipe):
            at = problem.at or ()
            if at[: len(EXECUTION)] == EXECUTION:
                yield replace(problem, at=at[len(EXECUTION) :])
    if target.workers is not None and not 1 <= target.workers <= _MOST_WORKERS:
        what = "fewer than 1 worker" if target.workers < 1 else f"more than {_MOST_WORKERS} workers"
        yield Problem("BK108", what, f"from 1 to {_MOST_WORKERS}", at=("workers",))

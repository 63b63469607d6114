"""The targets that eval files name: those of the configuration, those of a targets file (targetsfile.py), and
those of a targets file found near the eval files.

A target is read when it is first used, so that a missing variable of an unused target does no harm. Targets
named by the operator or the configuration may start programs and use variables of the environment; a targets
file that was only found may use the variables that the configuration declares, and its models."""

import os
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from baselinekit.errors import Problem, suggest
from baselinekit.graders.composite import Composite
from baselinekit.kinds.prompt import PromptExecution
from baselinekit.kinds.settings import EXECUTION
from baselinekit.kinds.table import KINDS
from baselinekit.lazy import lazy_pattern
from baselinekit.model.grades import Grader
from baselinekit.model.recipes import Execution, Model, Recipe
from baselinekit.model.values import Json, Path
from baselinekit.schema import describe_value, prefix_paths, read_as
from baselinekit.store.project import in_repository
from baselinekit.structs import Meta, Struct, replace
from baselinekit.suites.settings import nearest_upward

FOUND = posixpath.join(".agentv", "targets.yaml")
"""The path at which a targets file is searched, from the folder of an eval file up to the root."""

DEFAULT = "default"
JUDGE = "judge"
"""The model that judges if no other is named."""

Workers = Annotated[int, Meta(ge=1, le=512, description="an integer from 1 to 512")]

MARKED = lazy_pattern(r"\$\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
"""A variable of a targets file."""

PlaceProblems = Callable[[Sequence[Problem]], list[Problem]]


class NamedTarget(Struct):
    """A target. `judge`: the model that judges its answers; `workers`: how many cases are sent to it at once;
    `model`: its description as the configuration would have it, if the target is a model itself."""

    name: str
    execution: Execution
    judge: str | None = None
    workers: int | None = None
    model: Model | None = None

    @property
    def recipe(self) -> Recipe | None:
        """Its recipe with a dummy question; None for a kind that takes no text."""
        question = KINDS[self.execution.type].input_of_text("?", None)
        return None if question is None else Recipe(question, self.execution)

    def addresses(self) -> Iterator[str]:
        """Return its addresses, variables unexpanded."""
        return iter(()) if self.recipe is None else KINDS[self.execution.type].addresses(self.recipe)


Lookup = Callable[[str], Json]
"""The value of a variable by name; None if it may not be used or is not set."""


class TargetList(Struct):
    """The targets of one source, unread. `stated`: the targets by name, each with its path; `place`: gives
    problems their places; `named`: whether the operator or the configuration names this source."""

    stated: Mapping[str, tuple[Json, Path]]
    place: PlaceProblems = list
    named: bool = True

    def read(self, name: str, raw: Any) -> tuple[NamedTarget | None, list[Problem]]:
        """Return a target of the configuration, an execution with its judge and workers, or its problems."""
        if not isinstance(raw, dict):
            return None, read_execution(raw)[1]
        own_keys = _TargetSettings.__struct_fields__
        execution, problems = read_execution({key: raw[key] for key in raw if key not in own_keys})
        settings, new_problems = read_as(_TargetSettings, {key: raw[key] for key in own_keys if key in raw})
        problems += new_problems
        if any(isinstance(value, str) and MARKED.search(value) for value in raw.values()):
            hint = "write {{NAME}}, and declare it under `variables:`"
            problems.append(Problem("BK799", "${{ NAME }} is for targets files", hint, at=()))
        if execution is None or settings is None:
            return None, problems
        if hasattr(execution, "target"):
            execution = replace(execution, target=name)
        return NamedTarget(name, execution, settings.judge, settings.workers), problems

    def target(self, name: str) -> tuple[NamedTarget | None, list[Problem]]:
        """Return the target with this name, or its problems with their places."""
        raw, at = self.stated[name]
        target, problems = self.read(name, raw)
        if target is not None and target.recipe is not None and not problems:
            found = [*KINDS[target.execution.type].check(target.recipe)]  # not those of the dummy question
            paths = [problem.at or () for problem in found]
            problems = [
                replace(problem, at=path[len(EXECUTION) :])
                for problem, path in zip(found, paths, strict=True)
                if path[: len(EXECUTION)] == EXECUTION
            ]
        return (None, self.place(prefix_paths(problems, at))) if problems else (target, [])


class _TargetSettings(Struct):
    judge: str | None = None
    workers: Workers | None = None


class Targets(Struct):
    """All named targets. `chosen`: the target that the operator chose; `models`: the names under `models:`;
    `declared`: looks up variables of the configuration, for a targets file found near eval files; None if no
    such file is used."""

    lists: tuple[TargetList, ...] = ()
    chosen: str | None = None
    models: frozenset[str] = frozenset()
    declared: Lookup | None = None
    problems: tuple[Problem, ...] = ()

    def find(self, name: str) -> tuple[NamedTarget | None, list[Problem]]:
        """Return the target with this name, or its problems; an unknown name is a problem without a place.
        Each model of the configuration is a target by its name, and so is the model `default`."""
        for target_list in self.lists:
            if name in target_list.stated:
                return target_list.target(name)
        if self.problems:  # it may be in the list that cannot be read
            return None, list(self.problems)
        if name in self.models or name == DEFAULT:
            return NamedTarget(name, PromptExecution("prompt", model=name)), []
        names = [*(name for target_list in self.lists for name in target_list.stated), *sorted(self.models)]
        known = ", ".join(dict.fromkeys(names))
        hint = f"there are {known}" if known else f"describe it in {FOUND}, or under `targets:`"
        return None, [Problem("BK798", f"there is no target {name!r}", suggest(name, names) or hint)]

    def problems_of(self, name: str) -> list[Problem]:
        """Return what is wrong with the description of a target; none if there is no such target."""
        return [problem for problem in self.find(name)[1] if problem.place]

    def readable(self) -> Iterator[NamedTarget]:
        """Return the targets of the operator and the configuration that have no problems."""
        for target_list in self.lists:
            for name in target_list.stated if target_list.named else ():
                target, _ = self.find(name)
                if target is not None:
                    yield target


NO_TARGETS = Targets()


def describe_targets(targets: Targets, config_file: str) -> Iterator[str]:
    """Describe each target of the operator or the configuration that starts a program."""
    for target in targets.readable():
        if target.recipe is None:
            continue
        family, program = KINDS[target.execution.type].asks(target.recipe)
        if family == "commands":
            yield f"target {target.name} runs {program}: allowed by `targets:` of {config_file or 'a file'}"


def judged_by(graders: Sequence[Grader], model: str | None) -> tuple[Grader, ...]:
    """Return the graders, also nested ones, with this model as their judge unless they name one."""
    return tuple(graders) if model is None else tuple(_with_judge(grader, model) for grader in graders)


def _with_judge(grader: Grader, model: str) -> Grader:
    method: Any = grader.method
    if isinstance(method, Composite):
        judge = None if method.judge is None else _with_judge(method.judge, model)
        return replace(grader, method=replace(method, graders=judged_by(method.graders, model), judge=judge))
    asks_judge = getattr(method, "model", None) == JUDGE
    return replace(grader, method=replace(method, model=model)) if asks_judge else grader


def nearest_file(root: str, file: str) -> str | None:
    """Return the targets file that is nearest to an eval file, in its folder or above it."""
    repository, name = in_repository(root, file)
    found = nearest_upward(repository, name, FOUND.removesuffix(".yaml"))
    return found if found is None or repository == root else os.path.join(repository, found)


def configured_targets(raw_targets: Mapping[str, Json], place: PlaceProblems) -> TargetList:
    """Return the targets that the configuration describes under `targets:`."""
    return TargetList({name: (raw, ("targets", name)) for name, raw in raw_targets.items()}, place)


def read_execution(raw: Json) -> tuple[Any, list[Problem]]:
    """Read an execution by its type."""
    if not isinstance(raw, dict):
        message = f"expected a mapping, found {describe_value(raw)}"
        return None, [Problem("BK105", message, "such as {type: prompt}", at=())]
    kind, types = raw.get("type"), f"one of {', '.join(KINDS)}"
    if kind is None:
        return None, [Problem("BK104", "the key 'type' is missing", types, at=("type",))]
    if not isinstance(kind, str) or kind not in KINDS:
        message = f"unknown type {describe_value(kind)}"
        return None, [Problem("BK105", message, suggest(str(kind), KINDS) or types, at=("type",))]
    return read_as(KINDS[kind].execution, raw)

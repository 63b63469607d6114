"""The targets of a project: which files describe them, and which variables they may take from where."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from baselinekit.errors import InvalidInput, Problem
from baselinekit.kinds.table import KINDS, kind_of
from baselinekit.model.recipes import Config, Recipe
from baselinekit.model.values import Json
from baselinekit.secrets.names import is_secret_key
from baselinekit.store.project import place_in_config
from baselinekit.suites.targets import NamedTarget, TargetList, Targets, own_list
from baselinekit.suites.targetsfile import TargetsFile, read_list
from baselinekit.variables import Scope, Secret, as_text


def open_targets(
    config: Config,
    config_file: str | None,
    root: str,
    scope: Scope,
    environ: Mapping[str, str],
    file: str | None,
    is_current: bool,
) -> tuple[Targets, Scope]:
    """All that eval files can ask by a name; and the variables with those of the operator's environment for
    which a targets file asks that the operator (`file`) or the configuration names. `is_current`: whether the
    configuration is the one that stands there now: a file that another commit names may say what it likes by
    now, and is one that was only found."""
    used: dict[str, str] = {}

    def declared(name: str) -> Json:
        return scope.secrets[name].value if name in scope.secrets else scope.values.get(name)

    def in_environment(name: str) -> Json:
        value = declared(name)
        if value is None and name in environ:
            value = used[name] = environ[name]
        return value

    names = frozenset(config.models)

    @cache  # many eval files may find the same
    def look(root: str, file: str) -> tuple[TargetList, list[Problem]]:
        return read_list(root, TargetsFile(file, declared, _FOUND_HINT + file, False, names))

    found = Targets(models=names, look=look if file is None else None)
    listed: TargetList | None = None
    if file is not None or isinstance(config.targets, str):
        is_named = file is not None or is_current
        path = os.path.normpath(os.path.join(root, file or str(config.targets)))
        shown = os.path.relpath(path, root)
        shown = path if shown.startswith(os.pardir) else shown
        lookup = in_environment if is_named else declared
        listed, problems = read_list(root, TargetsFile(shown, lookup, _HINT, is_named, names))
        if problems:
            raise InvalidInput(*problems)
    elif isinstance(config.targets, dict) and config_file is not None:
        relative = os.path.relpath(config_file, root)

        def placed(problems: Sequence[Problem]) -> list[Problem]:
            return place_in_config(root, relative, problems) if is_current else list(problems)

        listed = own_list(config.targets, placed)
    if listed is None:
        return found, scope
    for name in listed.stated:
        listed.target(name)  # which asks for its variables
    secrets = {name: Secret(as_text(value)) for name, value in used.items() if is_secret_key(name)}
    values = {name: value for name, value in used.items() if name not in secrets}
    known = replace(scope, values={**values, **scope.values}, secrets={**secrets, **scope.secrets})
    return replace(found, lists=(listed,)), known


_FOUND_HINT = "declare it under `variables:` ({%s: {from_env: %s}}), or name the file: --targets "
_HINT = "export %s=…, or declare it under `variables:`, or pass --env-file FILE"


def describe_targets(targets: Targets, config_file: str) -> Iterator[str]:
    """Each target that the operator or the configuration names and that starts a program."""
    for target in targets.readable():
        question = KINDS[target.execution.type].input_of_text("?", None)
        if question is None:
            continue
        recipe = Recipe(question, target.execution)
        family, program = kind_of(recipe).asks(recipe)
        if family == "commands":
            yield f"target {target.name} runs {program}: allowed by `targets:` of {config_file or 'a file'}"


def addresses_of(target: NamedTarget) -> Iterator[str]:
    """Where a target leads, its variables unexpanded."""
    question = KINDS[target.execution.type].input_of_text("?", None)
    if question is not None:
        recipe = Recipe(question, target.execution)
        yield from kind_of(recipe).addresses(recipe)

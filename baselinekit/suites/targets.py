"""The targets that eval files name: those of the configuration, those of a targets file in AgentV's form,
and those of a targets file found near the eval files.

A target is read when it is first used, so that a missing variable of an unused target does no harm.
Targets named by the operator or the configuration may start programs and use variables of the environment;
a targets file that was only found may use the variables that the configuration declares, and its models."""

import os
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

from baselinekit.errors import BaselinekitError, InvalidInput, Problem, suggest
from baselinekit.graders.composite import Composite
from baselinekit.kinds.prompt import PromptExecution
from baselinekit.kinds.settings import EXECUTION
from baselinekit.kinds.table import KINDS
from baselinekit.lazy import lazy_pattern
from baselinekit.model.grades import Grader
from baselinekit.model.recipes import Config, Execution, Model, Recipe
from baselinekit.model.values import Json, Path
from baselinekit.schema import Mistakes, Tagged, describe_value, place_problems, prefix_paths, read_as
from baselinekit.secrets.finding import is_secret_key
from baselinekit.secrets.variables import Scope, Secret, as_text, escape_variables
from baselinekit.store.project import in_repository, place_in_config
from baselinekit.structs import Meta, Name, NotBlank, Struct, replace
from baselinekit.suites.settings import load_documents, nearest_upward

FOUND = posixpath.join(".agentv", "targets.yaml")
"""The path at which a targets file is searched, from the folder of an eval file up to the root."""

DEFAULT = "default"
JUDGE = "judge"
"""The model that judges if no other is named."""

Workers = Annotated[int, Meta(ge=1, le=512, description="an integer from 1 to 512")]

MARKED = lazy_pattern(r"\$\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
"""A variable of a targets file."""

PlaceProblems = Callable[[Sequence[Problem]], list[Problem]]


class OwnExecution(Tagged):
    """An execution. Its type decides its class."""

    @classmethod
    def forms(cls) -> Sequence[type[Struct]]:
        return [kind.execution for kind in KINDS.values()]

    @classmethod
    def form(cls, raw: Json) -> type[Struct] | None:
        name = raw.get("type") if isinstance(raw, dict) else None
        return KINDS[name].execution if isinstance(name, str) and name in KINDS else None

    @classmethod
    def explain(cls, raw: Json, at: Path) -> Problem:
        if not isinstance(raw, dict):
            message = f"expected a mapping, found {describe_value(raw)}"
            return Problem("BK105", message, "such as {type: prompt}", at=at)
        name, types, at = raw.get("type"), f"one of {', '.join(KINDS)}", (*at, "type")
        if name is None:
            return Problem("BK104", "the key 'type' is missing", types, at=at)
        hint = suggest(str(name), KINDS) or types
        return Problem("BK105", f"unknown type {describe_value(name)}", hint, at=at)


class TargetName(Struct):
    """An `execution:` that names a target."""

    target: str


class StatedExecution(OwnExecution):
    """An `execution:` of an eval file: by its type, or the name of a target."""

    @classmethod
    def forms(cls) -> Sequence[type[Struct]]:
        return [*super().forms(), TargetName]

    @classmethod
    def form(cls, raw: Json) -> type[Struct] | None:
        names_target = isinstance(raw, dict) and raw.get("type") is None and "target" in raw
        return TargetName if names_target else super().form(raw)


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
            return None, read_as(OwnExecution, raw)[1]
        own_keys, found = _TargetSettings.__struct_fields__, Mistakes()
        stated = {key: value for key, value in raw.items() if key not in own_keys}
        execution: Any = found.take(read_as(OwnExecution, stated))
        settings = found.take(read_as(_TargetSettings, {key: raw[key] for key in own_keys if key in raw}))
        if any(isinstance(value, str) and MARKED.search(value) for value in raw.values()):
            hint = "write {{NAME}}, and declare it under `variables:`"
            found.append(Problem("BK798", "${{ NAME }} is for targets files", hint, at=()))
        if execution is None or settings is None:
            return None, found
        if hasattr(execution, "target"):
            execution = replace(execution, target=name)
        return NamedTarget(name, execution, settings.judge, settings.workers), found

    def target(self, name: str) -> tuple[NamedTarget | None, list[Problem]]:
        """Return the target with this name, or its problems with their places."""
        raw, at = self.stated[name]
        target, problems = self.read(name, raw)
        if target is not None and target.recipe is not None and not problems:
            found = KINDS[target.execution.type].check(target.recipe)
            paths = [(problem, problem.at or ()) for problem in found]
            size = len(EXECUTION)  # what is at another path is of the dummy question
            problems = [replace(one, at=path[size:]) for one, path in paths if path[:size] == EXECUTION]
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
        known = f"there are {', '.join(dict.fromkeys(names))}" if names else ""
        hint = known or f"describe it in {FOUND}, or under `targets:`"
        return None, [Problem("BK798", f"there is no target {name!r}", hint)]

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
        return replace(grader, method=method.changed(lambda part: _with_judge(part, model)))
    asks_judge = getattr(method, "model", None) == JUDGE
    return replace(grader, method=replace(method, model=model)) if asks_judge else grader


def configured_targets(raw_targets: Mapping[str, Json], place: PlaceProblems) -> TargetList:
    """Return the targets that the configuration describes under `targets:`."""
    return TargetList({name: (raw, ("targets", name)) for name, raw in raw_targets.items()}, place)


# Which lists are used in a run, and where the variables in them come from.


def add_named_targets(
    config: Config,
    config_file: str | None,
    root: str,
    scope: Scope,
    file: str | None,
    environ: Mapping[str, str] | None,
) -> tuple[Targets, Scope]:
    """Return the targets that the operator (`file`) or the configuration names, and the scope with the
    variables of the environment that their file uses. Without `environ`, the configuration is from another
    commit: a file that it names may have changed since, and is treated like one that was only found."""
    targets = Targets(models=frozenset(config.models), declared=scope.declared if file is None else None)
    if file is None and isinstance(config.targets, dict):
        place: PlaceProblems = partial(place_in_config, root, os.path.relpath(config_file or "", root))
        configured = configured_targets(config.targets, list if environ is None else place)
        return replace(targets, lists=(configured,)), scope
    path = os.path.normpath(os.path.join(root, file or str(config.targets)))
    relative = os.path.relpath(path, root)
    named = read_file(root, path if relative.startswith(os.pardir) else relative)
    if named.problems:
        raise InvalidInput(*named.problems)
    if environ is not None:
        marked = {name for raw, _ in named.stated.values() for name in MARKED.findall(str(raw))}
        used = {name: environ[name] for name in marked & environ.keys() if scope.declared(name) is None}
        secrets = {name: Secret(as_text(value)) for name, value in used.items() if is_secret_key(name)}
        values = {name: value for name, value in used.items() if name not in secrets}
        scope = replace(scope, values={**values, **scope.values}, secrets={**secrets, **scope.secrets})
    named = replace(named, lookup=scope.declared, named=environ is not None, models=targets.models)
    return replace(targets, lists=(named,)), scope


def add_discovered_targets(targets: Targets, root: str, file: str) -> Targets:
    """Return the targets with those of the file that is nearest to an eval file, in its folder or above."""
    if targets.declared is None:
        return targets
    repository, name = in_repository(root, file)
    path = nearest_upward(repository, name, FOUND.removesuffix(".yaml"))
    if path is None:
        return targets
    found = read_file(root, path if repository == root else os.path.join(repository, path))
    found = replace(found, lookup=targets.declared, models=targets.models)
    return replace(targets, lists=(*targets.lists, found), problems=tuple(found.problems))


class ListedTarget(Struct, forbid_unknown_fields=False):
    name: Name


class StatedList(Struct, forbid_unknown_fields=False):
    """A targets file. Each target is read when it is used."""

    targets: list[ListedTarget]


def read_file(root: str, file: str) -> "TargetsFile":
    """Return the targets in a file, unread, and the problems of their list."""
    try:
        body, documents = load_documents(root, file)
    except BaselinekitError as error:
        return TargetsFile({}, file=file, problems=list(error.problems))
    document = documents[0] if len(documents) == 1 else documents
    problems = read_as(StatedList, document)[1]
    entries = document.get("targets") if isinstance(document, dict) else None
    targets: dict[str, tuple[Any, Path]] = {}
    for number, raw in enumerate(entries if isinstance(entries, list) else ()):
        at: Path = ("targets", number)
        entry = read_as(ListedTarget, raw)[0]
        if entry is not None and entry.name in targets:
            message = f"the target {entry.name!r} occurs twice"
            problems.append(Problem("BK798", message, "rename one of the two", at=(*at, "name")))
        elif entry is not None:
            targets[entry.name] = raw, at

    def place(problems: Sequence[Problem]) -> list[Problem]:
        return place_problems(body, file, {0: problems})

    return TargetsFile(targets, place, file=file, problems=place(problems))


class TargetsFile(TargetList, kw_only=True):
    """The targets in a file. `problems`: those of the list itself; `lookup`: the variables that it may use;
    `models`: the names of the models in the configuration."""

    file: str
    problems: list[Problem]
    lookup: Lookup = lambda name: None
    named: bool = False
    models: frozenset[str] = frozenset()

    def read(self, name: str, raw: Any) -> tuple[NamedTarget | None, list[Problem]]:
        """Return a target, or its problems with paths below it: it is read as the configuration would state
        it. A model that the configuration describes is read no further; a file that was only found may not
        state an address or a key."""
        provider, model, found = str(raw.get("provider") or "").lower(), None, Mistakes()
        is_stated = provider in _MODEL_PROVIDERS and name not in self.models and self.named
        values = found.take(_in_our_keys(raw))
        is_read = is_stated or provider in _PROVIDERS
        used = [key for key in raw if is_read or _OTHER_NAMES.get(_snake_case(key)) == ("judge",)]
        found += self._unset_variables({key: raw[key] for key in used})
        entry = {"judge": self.expand(values.pop("judge", None)), "workers": values.pop("workers", None)}
        if provider in _PROVIDERS:
            entry |= {**_as_templates(values), "type": provider}
        else:
            entry |= {"type": "prompt", "model": name}
        if is_stated:
            model = found.take(self._read_model(provider, {"concurrency": entry["workers"], **values}))
        elif provider in _MODEL_PROVIDERS and name not in self.models:
            hint = f"describe `models: {{{name}: …}}`, or name the file: --targets {self.file}"
            message = "the configuration describes no model of this name"
            found.append(Problem("BK798", message, hint, at=("provider",)))
        elif provider not in (*_PROVIDERS, *_MODEL_PROVIDERS):
            names = ", ".join((*_PROVIDERS, *_MODEL_PROVIDERS))
            hint = f"one of {names}; an agent is `cli`, with its command line"
            found.append(Problem("BK798", f"unknown provider {provider!r}", hint, at=("provider",)))
        target = found.take(super().read(name, entry))
        if target is None or found:
            return None, [replace(problem, at=_as_spelt(raw, problem.at or ())) for problem in found]
        return replace(target, model=model), []

    def _read_model(self, provider: str, values: Mapping[str, Json]) -> tuple[Model | None, list[Problem]]:
        """Return a model as the configuration would describe it under `models:`."""
        stated = {key: self.expand(value) for key, value in values.items() if key not in ("key", "version")}
        is_azure, found = provider.startswith("azure"), Mistakes()
        named = found.take(read_as(_AzureModel if is_azure else _StatedModel, stated))
        key = MARKED.fullmatch(str(values.get("key", "")).strip())
        if key is None and "key" in values:
            message = "expected a variable such as ${{ NAME }}, found a text"
            found.append(Problem("BK105", message, "a key does not belong into a file", at=("key",)))
        rest = {"base_url": _MODEL_PROVIDERS[provider], **stated, "key": key and key[1]}
        rest.pop("model", None)
        model = found.take(read_as(Model, rest))
        if model is None or named is None:
            return None, found
        if provider == "anthropic":
            return replace(model, anthropic=named.model), found
        model = replace(model, openai=named.model)
        return _of_azure(model, self.expand(values.get("version"))) if is_azure else model, found

    def _unset_variables(self, raw: Mapping[str, Json]) -> Iterator[Problem]:
        for key, value in raw.items():
            is_template = isinstance(value, str) or key == "healthcheck"
            for name in MARKED.findall(str(value)) if is_template else ():
                if self.lookup(name) is None:
                    hint = "declare it under `variables:`, or export it and name the file"
                    message = f"the variable {name} is not set"
                    yield Problem("BK798", message, f"{hint}: --targets {self.file}", at=(key,))

    def expand(self, value: Json) -> Json:
        """Return a value; a text with the values of its variables, which are all set, filled in."""
        if not isinstance(value, str):
            return value
        values = {name: self.lookup(name) for name in MARKED.findall(value)}
        return MARKED.sub(lambda match: "" if values[match[1]] is None else as_text(values[match[1]]), value)


# A target of a targets file, by its provider.


_PROVIDERS = ("cli", "mock")
_GEMINI = "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"
_MODEL_PROVIDERS: dict[str, str | None] = {
    **dict.fromkeys(("openai", "azure", "azure-openai", "anthropic")),
    "openrouter": "https://openrouter.ai/api",
    **dict.fromkeys(("gemini", "google", "google-gemini"), _GEMINI),
}
"""The providers of models over HTTP, each with its address if that is not the default of its wire format."""

_OTHER_NAMES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("resource", "resource_name", "endpoint"), ("base_url",)),
    **dict.fromkeys(("deployment", "deployment_name", "variant"), ("model",)),
    **dict.fromkeys(("delay_ms", "delay_min_ms"), ("delay",)),
    **dict.fromkeys(("judge_target", "grader_target"), ("judge",)),
    "api_key": ("key",),
    "api_version": ("version",),
    "attachments_format": ("files_format",),
    "command_template": ("command",),
    "max_output_tokens": ("max_tokens",),
    "max_retries": ("retries",),
    "provider_batching": ("batch",),
    "retry_initial_delay_ms": ("retry", "wait"),
    "retry_max_delay_ms": ("retry", "longest"),
    "retry_backoff_factor": ("retry", "factor"),
    "retry_status_codes": ("retry", "statuses"),
    "timeout_seconds": ("timeout",),
}
"""Our names of keys; those of times in milliseconds are of times in seconds."""

_HEALTHCHECKS = ("http", "command")
_WITHOUT_EFFECT = (
    *("name", "provider", "verbose", "cli_verbose", "keep_temp_files", "keep_output_files"),
    "delay_max_ms",  # a mock answers after its least delay
)
_CAMEL_BOUNDARY = lazy_pattern(r"(?<=[a-z0-9])([A-Z])")


class _StatedModel(Struct, forbid_unknown_fields=False):
    model: NotBlank


class _AzureModel(_StatedModel):
    base_url: NotBlank


def _of_azure(model: Model, version: Json) -> Model:
    """Azure has an address for each deployment, and its own header for the key."""
    base = str(model.base_url)
    host = base.rstrip("/") if "://" in base else f"https://{base}.openai.azure.com"
    query = f"api-version={version or '2024-12-01-preview'}"
    url = f"{host}/openai/deployments/{model.openai}/chat/completions?{query}"
    headers = {"api-key": f"{{{{{model.key}}}}}"} if model.key else {}
    return replace(model, base_url=url, key=None, headers=headers)


def _snake_case(key: Any) -> str:
    return _CAMEL_BOUNDARY.sub(r"_\1", str(key)).lower()


def _in_our_keys(raw: Mapping[str, Json]) -> tuple[dict[str, Json], list[Problem]]:
    """Return the values by our names of the keys, without nulls; and the keys that are stated twice."""
    values: dict[str, Json] = {}
    problems = Mistakes()
    for key, value in raw.items():
        name = _snake_case(key)
        if value is None or name in _WITHOUT_EFFECT:
            continue
        *above, own = _OTHER_NAMES.get(name, (name,))
        place = values.setdefault(above[0], {}) if above else values
        if not isinstance(place, dict) or own in place:
            problems.append(Problem("BK798", f"{own!r} is stated twice", "keep one of the two", at=(key,)))
            continue
        if name.endswith("_ms") and type(value) in (int, float):
            value /= 1000
        if name == "healthcheck" and isinstance(value, dict):
            value = problems.take(_in_our_keys(value), key)
            if value.get("type") in _HEALTHCHECKS:
                del value["type"]
        place[own] = value
    return values, problems


def _as_spelt(raw: Json, at: Path) -> Path:
    """Return a path of our names as the file spells them."""
    for key, value in raw.items() if isinstance(raw, dict) else ():
        path = _OTHER_NAMES.get(_snake_case(key), (_snake_case(key),))
        if value is not None and at[: len(path)] == path:
            return (key, *_as_spelt(value, at[len(path) :]))
    return at


def _as_templates(values: Mapping[str, Json]) -> dict[str, Json]:
    """Return values in which each `${{ NAME }}` is one of our variables; all else in a text is literal."""
    templates = {}
    for key, value in values.items():
        if key == "healthcheck" and isinstance(value, dict):
            value = _as_templates(value)
        elif isinstance(value, str):
            parts = MARKED.split(value)  # between the texts are names of variables
            filled = [f"{{{{{part}}}}}" if n % 2 else escape_variables(part) for n, part in enumerate(parts)]
            value = "".join(filled)
        templates[key] = value
    return templates

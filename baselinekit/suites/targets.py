"""The targets that eval files name: those of the configuration, those of a targets file in AgentV's form,
and those of a targets file found near the eval files.

A target is read when it is first used, so that a missing variable of an unused target does no harm.
Targets named by the operator or the configuration may start programs and use variables of the environment;
a targets file that was only found may use the variables that the configuration declares, and its models."""

import os
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal

from baselinekit.errors import BaselinekitError, InvalidInput, Problem, suggest
from baselinekit.graders.composite import Composite
from baselinekit.kinds.given import RESPONSE, MockExecution
from baselinekit.kinds.programs import CliExecution, Healthcheck
from baselinekit.kinds.prompt import PromptExecution
from baselinekit.kinds.settings import EXECUTION
from baselinekit.kinds.table import KINDS
from baselinekit.lazy import lazy_pattern
from baselinekit.model.grades import Grader
from baselinekit.model.recipes import Config, Execution, Model, Recipe, Retry
from baselinekit.model.values import Json, Path
from baselinekit.schema import Mistakes, Tagged, describe_value, place_problems, prefix_paths, read_as
from baselinekit.secrets.finding import is_secret_key
from baselinekit.secrets.variables import Scope, Secret, as_text, escape_variables
from baselinekit.store.project import in_repository, place_in_config
from baselinekit.structs import Count, Meta, Name, NotBlank, NotNegative, Struct, field, replace
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
    """An execution, whose type decides its class."""

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
            found.append(Problem("BK799", "${{ NAME }} is for targets files", hint, at=()))
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
        """Return a target, or its problems with paths below it. A model that the configuration describes is
        read no further; a file that was only found may not state an address or a key."""
        provider, problem = str(raw.get("provider") or "").lower(), None
        form = _FORMS.get(provider, AnyTarget)
        if provider in _MODEL_PROVIDERS and name in self.models:
            form = AnyTarget
        elif provider in _MODEL_PROVIDERS and not self.named:
            hint = f"describe `models: {{{name}: …}}`, or name the file: --targets {self.file}"
            problem = Problem("BK798", "the configuration describes no model of this name", hint)
        elif form is AnyTarget:
            hint = f"one of {', '.join(_FORMS)}; an agent is `cli`, with its command line"
            problem = Problem("BK798", f"unknown provider {provider!r}", hint)
        problems = [] if problem is None else [replace(problem, at=("provider",))]
        values, repeated = _in_our_keys(raw)
        stated, type_problems = read_as(AnyTarget if problem else form, values)
        known = {key: value for key, value in values.items() if key in form.__struct_fields__}
        problems += [*repeated, *type_problems, *self._unset_variables(known)]
        if stated is None or problems:
            return None, [replace(one, at=_as_spelt(raw, one.at or ())) for one in problems]
        judge = self.expand(stated.judge_target)
        return NamedTarget(name, stated.as_execution(), judge, stated.workers, stated.as_model(self)), []

    def _unset_variables(self, values: Mapping[str, Json]) -> Iterator[Problem]:
        for key, value in values.items():
            is_template = isinstance(value, str) or key == "healthcheck"
            for name in MARKED.findall(str(value)) if is_template else ():
                if self.lookup(name) is None:
                    hint = "declare it under `variables:`, or export it and name the file"
                    message = f"the variable {name} is not set"
                    yield Problem("BK799", message, f"{hint}: --targets {self.file}", at=(key,))

    def expand(self, text: "Text | None") -> str | None:
        """Return a text with the values of its variables, which are all set, filled in."""
        if text is None:
            return None
        return MARKED.sub(lambda match: as_text(self.lookup(match[1])), str(text))


# A target of a targets file, by its provider.


_GEMINI = "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"
_MODEL_PROVIDERS: dict[str, str | None] = {
    **dict.fromkeys(("openai", "azure", "azure-openai", "anthropic")),
    "openrouter": "https://openrouter.ai/api",
    **dict.fromkeys(("gemini", "google", "google-gemini"), _GEMINI),
}
"""The providers of models over HTTP, each with its address if that is not the default of its wire format."""

_AZURE_VERSION = "2024-12-01-preview"
_OTHER_NAMES = {
    **dict.fromkeys(("resource", "resource_name", "base_url"), "endpoint"),
    **dict.fromkeys(("deployment", "deployment_name", "variant"), "model"),
    "api_version": "version",
    "attachments_format": "files_format",
    "cli_verbose": "verbose",
    "command": "command_template",
    "delay_ms": "delay_min_ms",
    "grader_target": "judge_target",
    "keep_output_files": "keep_temp_files",
    "max_output_tokens": "max_tokens",
    "max_retries": "retries",
}
"""Other names of keys."""

_CAMEL_BOUNDARY = lazy_pattern(r"(?<=[a-z0-9])([A-Z])")
Text = str | int | float
"""A text, which YAML may read as a number."""

_AT_LEAST_1 = Meta(ge=1, description="a factor of 1 or more")
Factor = Annotated[int, _AT_LEAST_1] | Annotated[float, _AT_LEAST_1]
KeyVariable = Annotated[
    str, Meta(pattern=r"^\s*\$\{\{\s*[A-Za-z_]\w*\s*\}\}\s*$", description="a variable such as ${{ NAME }}")
]
"""The variable that holds a key, which does not belong into a file itself."""


class AnyTarget(Struct, kw_only=True, forbid_unknown_fields=False):
    """The keys of every target."""

    name: str
    provider: Json = None
    judge_target: Text | None = None
    workers: Workers | None = None
    provider_batching: bool | None = None

    def as_execution(self) -> Execution:
        return PromptExecution("prompt", model=self.name)

    def as_model(self, file: TargetsFile) -> Model | None:
        """Return the target as the configuration would describe it under `models:`."""
        return None


class MockTarget(AnyTarget, kw_only=True, forbid_unknown_fields=True):
    response: Json = None
    delay_min_ms: NotNegative | None = None
    delay_max_ms: NotNegative | None = None

    def as_execution(self) -> Execution:
        response = RESPONSE if self.response is None else self.response
        if isinstance(self.response, str):
            response = _as_template(self.response)
        return MockExecution(
            "mock",
            response,
            delay=_seconds(self.delay_min_ms),
            delay_max=_seconds(self.delay_max_ms),
            target=self.name,
        )


class TargetHealthcheck(Struct):
    type: Literal["http", "command"] | None = None
    url: Text | None = None
    command_template: Text | None = None
    cwd: Text | None = None
    timeout_seconds: NotNegative | None = None

    def as_healthcheck(self) -> Healthcheck:
        command, cwd = _as_template(self.command_template), _as_template(self.cwd)
        return Healthcheck(_as_template(self.url), command, cwd, self.timeout_seconds)


class CliTarget(AnyTarget, kw_only=True, forbid_unknown_fields=True):
    command_template: str
    files_format: Text = "{path}"
    cwd: Text | None = None
    healthcheck: TargetHealthcheck | None = None
    env: list[str] = field(default_factory=list)
    timeout_seconds: NotNegative | None = None
    retries: Count | None = None
    verbose: Json = None
    keep_temp_files: Json = None

    def as_execution(self) -> Execution:
        return CliExecution(
            "cli",
            _as_template(self.command_template) or "",
            files_format=_as_template(self.files_format) or "",
            cwd=_as_template(self.cwd),
            env=self.env,
            timeout=self.timeout_seconds,
            retries=self.retries,
            batch=self.provider_batching or False,
            healthcheck=None if self.healthcheck is None else self.healthcheck.as_healthcheck(),
            target=self.name,
        )


class ModelTarget(AnyTarget, kw_only=True, forbid_unknown_fields=True):
    """A model over HTTP."""

    model: NotBlank | int | float
    endpoint: Text | None = None
    api_key: KeyVariable | None = None
    version: Text | None = None
    temperature: NotNegative | None = None
    max_tokens: Count | None = None
    timeout_seconds: NotNegative | None = None
    retries: Count | None = None
    retry_initial_delay_ms: NotNegative | None = None
    retry_max_delay_ms: NotNegative | None = None
    retry_backoff_factor: Factor | None = None
    retry_status_codes: list[int] | None = None

    def as_model(self, file: TargetsFile) -> Model:
        provider = str(self.provider).lower()
        model = file.expand(self.model)
        waits = {
            "wait": _seconds(self.retry_initial_delay_ms),
            "longest": _seconds(self.retry_max_delay_ms),
            "factor": self.retry_backoff_factor,
            "statuses": self.retry_status_codes,
        }
        stated_waits: Any = {name: value for name, value in waits.items() if value is not None}
        return Model(
            openai=None if provider == "anthropic" else model,
            anthropic=model if provider == "anthropic" else None,
            base_url=file.expand(self.endpoint) or _MODEL_PROVIDERS[provider],
            key=MARKED.findall(self.api_key)[0] if self.api_key else None,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            concurrency=self.workers,
            timeout=self.timeout_seconds,
            retries=self.retries,
            retry=Retry(**stated_waits) if stated_waits else None,
        )


class AzureTarget(ModelTarget, kw_only=True):
    """A model of Azure, which has an address for each deployment, and its own header for the key."""

    endpoint: Text

    def as_model(self, file: TargetsFile) -> Model:
        model = super().as_model(file)
        base = str(model.base_url)
        host = base.rstrip("/") if "://" in base else f"https://{base}.openai.azure.com"
        version = file.expand(self.version) or _AZURE_VERSION
        url = f"{host}/openai/deployments/{model.openai}/chat/completions?api-version={version}"
        headers = {"api-key": f"{{{{{model.key}}}}}"} if model.key else {}
        return replace(model, base_url=url, key=None, headers=headers)


_FORMS: dict[str, type[AnyTarget]] = {
    "cli": CliTarget,
    "mock": MockTarget,
    **dict.fromkeys(_MODEL_PROVIDERS, ModelTarget),
    **dict.fromkeys(("azure", "azure-openai"), AzureTarget),
}


def _our_name(key: Any) -> str:
    name = _CAMEL_BOUNDARY.sub(r"_\1", str(key)).lower()
    return _OTHER_NAMES.get(name, name)


def _in_our_keys(raw: Mapping[str, Json]) -> tuple[dict[str, Json], list[Problem]]:
    """Return the values by our names of the keys, without nulls; and the keys that are stated twice."""
    values: dict[str, Json] = {}
    problems = Mistakes()
    for key, value in raw.items():
        name = _our_name(key)
        if value is None:
            continue
        if name in values:
            problems.append(Problem("BK798", f"{name!r} is stated twice", "keep one of the two", at=(key,)))
        is_mapping = name == "healthcheck" and isinstance(value, dict)
        values[name] = problems.take(_in_our_keys(value), key) if is_mapping else value
    return values, problems


def _as_spelt(raw: Json, at: Path) -> Path:
    """Return a path of our names as the file spells them."""
    if not at or not isinstance(raw, dict):
        return at
    key = next((key for key in raw if _our_name(key) == at[0] and raw[key] is not None), at[0])
    return (key, *_as_spelt(raw.get(key), at[1:]))


def _as_template(text: Text | None) -> str | None:
    """Return a text with each `${{ NAME }}` as one of our variables; all else is taken literally."""
    parts = [] if text is None else MARKED.split(str(text))  # between the texts are names of variables
    filled = [f"{{{{{part}}}}}" if n % 2 else escape_variables(part) for n, part in enumerate(parts)]
    return None if text is None else "".join(filled)


def _seconds(milliseconds: int | float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000

"""The targets that eval files name: those of the configuration, those of a targets file in AgentV's form,
and those of a targets file found near the eval files.

A target is read when it is first used, so that a missing variable of an unused target does no harm.
Targets named by the operator or the configuration may start programs and use variables of the environment;
a targets file that was only found may use the variables that the configuration declares, and its models."""

import os
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from baselinekit.errors import BaselinekitError, InvalidInput, Problem, suggest
from baselinekit.files.languages import YAML
from baselinekit.files.text import decode
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
from baselinekit.schema import describe_value, place_problems, prefix_paths, read_as
from baselinekit.secrets.finding import is_secret_key
from baselinekit.secrets.variables import Scope, Secret, as_text, escape_variables
from baselinekit.store.project import in_repository, place_in_config, read as read_bytes
from baselinekit.structs import Count, Meta, NotBlank, NotNegative, Struct, field, replace
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
        relative = os.path.relpath(config_file or "", root)

        def placed(problems: Sequence[Problem]) -> list[Problem]:
            return list(problems) if environ is None else place_in_config(root, relative, problems)

        return replace(targets, lists=(configured_targets(config.targets, placed),)), scope
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


def add_discovered_targets(
    targets: Targets, root: str, file: str, files: "dict[str, TargetsFile]"
) -> Targets:
    """Return the targets with those of the file found from this eval file upward. `files`: those that were
    read before, as many eval files may find the same one."""
    found_name = None if targets.declared is None else nearest_file(root, file)
    if found_name is None or targets.declared is None:
        return targets
    if found_name not in files:
        found = read_file(root, found_name)
        files[found_name] = replace(found, lookup=targets.declared, models=targets.models)
    found = files[found_name]
    return replace(targets, lists=(*targets.lists, found), problems=tuple(found.problems))


def read_file(root: str, file: str) -> "TargetsFile":
    """Return the targets in a file, unread, and the problems of their list."""
    try:
        body = decode(read_bytes(root, file), file).body
        documents = [item for item in YAML.load(body, file) if item is not None]
    except BaselinekitError as error:
        return TargetsFile({}, file=file, problems=list(error.problems))
    document = documents[0] if len(documents) == 1 else None
    entries = document.get("targets") if isinstance(document, dict) else None
    targets: dict[str, tuple[Any, Path]] = {}
    problems = []
    if not isinstance(entries, list):
        hint = "write `targets:`, and below it - name: … and provider: …"
        problems.append(Problem("BK798", "no list of targets", hint, at=()))
    for number, raw in enumerate(entries if isinstance(entries, list) else ()):
        at: Path = ("targets", number)
        name = raw.get("name") if isinstance(raw, dict) else None
        if not isinstance(name, str) or not name.strip():
            problems.append(Problem("BK798", "a target without a name", "such as - name: default", at=at))
        elif name in targets:
            message = f"the target {name!r} occurs twice"
            problems.append(Problem("BK798", message, "rename one of the two", at=(*at, "name")))
        else:
            targets[name] = (raw, at)

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
        provider = str(raw.get("provider") or "").lower()
        form, message, hint = _FORMS.get(provider, AnyTarget), "", ""
        if provider in _MODEL_PROVIDERS and name in self.models:
            form = AnyTarget
        elif provider in _MODEL_PROVIDERS and not self.named:
            message = "the configuration describes no model of this name"
            hint = f"describe `models: {{{name}: …}}`, or name the file: --targets {self.file}"
        elif provider.partition("-")[0] in _AGENTS:
            message = f"the provider {provider!r} starts an agent, which its command line describes here"
            hint = "provider: cli, and command_template: such as `claude -p {PROMPT}`"
        elif form is AnyTarget:
            message = f"unknown provider {provider!r}" if provider else "it has no `provider`"
            hint = suggest(provider, _FORMS) or f"one of {', '.join(_FORMS)}"
        problems = [Problem("BK798", message, hint, at=("provider",))] if message else []
        form = AnyTarget if message else form
        values, spelt, repeated = _in_our_keys(raw, form)
        stated, type_problems = read_as(form, values)
        known = {key: value for key, value in values.items() if key in form.__struct_fields__}
        found = [*type_problems, *self._unset_variables(known)]
        problems += [*repeated, *(replace(one, at=_as_spelt(one.at or (), spelt)) for one in found)]
        if stated is None or problems:
            return None, problems
        judge = self.expand(stated.judge_target)
        return NamedTarget(name, stated.as_execution(), judge, stated.workers, stated.as_model(self)), []

    def _unset_variables(self, values: Mapping[str, Json]) -> Iterator[Problem]:
        hint = "export %s=…, or declare it under `variables:`, or pass --env-file FILE"
        if not self.named:
            hint = "declare it under `variables:` ({%s: {from_env: %s}}), or name the file: --targets "
            hint += self.file
        for key, value in values.items():
            if key == "healthcheck" and isinstance(value, dict):
                yield from prefix_paths(self._unset_variables(value), (key,))
            for name in MARKED.findall(value) if isinstance(value, str) else ():
                if self.lookup(name) is None:
                    message = f"the variable {name} is not set"
                    yield Problem("BK799", message, hint.replace("%s", name), at=(key,))

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

_AGENTS = ("codex", "claude", "copilot", "pi", "vscode", "opencode")
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
            delay=_seconds(self.delay_max_ms if self.delay_min_ms is None else self.delay_min_ms),
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


def _in_our_keys(
    raw: Mapping[str, Json], form: type[Struct]
) -> tuple[dict[str, Json], dict[Path, Path], list[Problem]]:
    """Return the values by the keys of the form, without nulls; the paths of these keys as the file spells
    them; and the keys that it states twice. Any other key stays as it is spelt."""
    values: dict[str, Json] = {}
    spelt: dict[Path, Path] = {}
    problems = []
    for key, value in raw.items():
        name = _CAMEL_BOUNDARY.sub(r"_\1", str(key)).lower()
        name = _OTHER_NAMES.get(name, name)
        name = name if name in form.__struct_fields__ else key
        if value is not None and name in values:
            message = f"both `{spelt[(name,)][0]}` and `{key}` are given"
            problems.append(Problem("BK798", message, "keep one of them", at=(key,)))
        elif value is not None:
            spelt[(name,)] = (key,)
            if name == "healthcheck" and isinstance(value, dict):
                value, spelt_within, repeated = _in_our_keys(value, TargetHealthcheck)
                spelt |= {(name, *ours): (key, *theirs) for ours, theirs in spelt_within.items()}
                problems += prefix_paths(repeated, (key,))
            values[name] = value
    return values, spelt, problems


def _as_spelt(at: Path, spelt: Mapping[Path, Path]) -> Path:
    """Return a path to one of our keys, or below it, as the file spells it."""
    for length in (2, 1):
        if at[:length] in spelt:
            return (*spelt[at[:length]], *at[length:])
    return at


def _as_template(text: Text | None) -> str | None:
    """Return a text with each `${{ NAME }}` as one of our variables; all else is taken literally."""
    parts = [] if text is None else MARKED.split(str(text))  # between the texts are names of variables
    filled = [f"{{{{{part}}}}}" if n % 2 else escape_variables(part) for n, part in enumerate(parts)]
    return None if text is None else "".join(filled)


def _seconds(milliseconds: int | float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000

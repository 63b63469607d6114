"""A targets file of AgentV: `targets: [{name, provider, …}]`. Keys are written in snake_case or camelCase,
and `${{ NAME }}` is a variable."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from baselinekit.clients.models.post import may_change
from baselinekit.errors import BaselinekitError, InvalidInput, Problem, suggest
from baselinekit.files.languages import YAML
from baselinekit.files.text import decode
from baselinekit.kinds.given import RESPONSE, MockExecution
from baselinekit.kinds.programs import CliExecution, Healthcheck
from baselinekit.kinds.prompt import PromptExecution
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Config, Execution, Model, Retry
from baselinekit.model.values import Json, Path
from baselinekit.schema import ParsedValue, place_problems, prefix_paths, read_as
from baselinekit.secrets.finding import is_secret_key
from baselinekit.secrets.variables import Scope, Secret, as_text, escape_variables
from baselinekit.store.project import place_in_config, read
from baselinekit.structs import Count, Meta, NotNegative, Struct, replace
from baselinekit.suites.targets import (
    MARKED,
    Lookup,
    NamedTarget,
    TargetList,
    Targets,
    Workers,
    configured_targets,
    found_files,
)

_CAMEL_BOUNDARY = lazy_pattern(r"(?<=[a-z0-9])([A-Z])")

_UNNAMED_FILE_HINT = "declare it under `variables:` ({%s: {from_env: %s}}), or name the file: --targets "
_NAMED_FILE_HINT = "export %s=…, or declare it under `variables:`, or pass --env-file FILE"


class TargetsFile(Struct):
    """A targets file. `lookup`: the variables that it may use; `missing`: the hint for a variable without a
    value; `named`: whether the operator or the configuration names this file; `models`: the names of the
    models in the configuration."""

    file: str
    lookup: Lookup
    missing: str
    named: bool = True
    models: frozenset[str] = frozenset()

    def target(self, name: str, raw: Any) -> tuple[NamedTarget | None, list[Problem]]:
        """Return a target of the file, or its problems with paths below it."""
        provider = str(_in_snake_case(raw, AnyTarget).get("provider") or "").lower()
        form, problems = self._form_of(name, provider)
        values = _in_snake_case(raw, form)
        stated, type_problems = read_as(form, values)
        problems += type_problems
        problems += self._unset_variables(
            {key: values[key] for key in form.__struct_fields__ if key in values}
        )
        if stated is not None:
            problems += stated.check()
        if stated is None or problems:
            return None, [_as_spelt(problem, raw) for problem in problems]
        judge = self.expand(stated.judge_target or stated.grader_target)
        return NamedTarget(name, stated.as_execution(), judge, stated.workers, stated.as_model(self)), []

    def _form_of(self, name: str, provider: str) -> tuple["type[AnyTarget]", list[Problem]]:
        """Return the form of a target. If the configuration has a model with this name, that one is used; a
        file that was only found may not state an address or a key."""
        if provider in _MODEL_PROVIDERS and name in self.models:
            return AnyTarget, []
        if provider in _MODEL_PROVIDERS and not self.named:
            hint = f"describe `models: {{{name}: …}}`, or name the file: --targets {self.file}"
            message = "the configuration describes no model of this name"
            return AnyTarget, [Problem("BK798", message, hint, at=("provider",))]
        if provider in _FORMS:
            return _FORMS[provider], []
        return AnyTarget, [Problem("BK798", *_describe_unknown_provider(provider), at=("provider",))]

    def _unset_variables(self, values: Mapping[str, Json]) -> Iterator[Problem]:
        for key, value in values.items():
            if key == "healthcheck" and isinstance(value, dict):
                yield from prefix_paths(self._unset_variables(value), (key,))
            for match in MARKED.finditer(value) if isinstance(value, str) else ():
                if self.lookup(match[1]) is None:
                    message = f"the variable {match[1]} is not set"
                    yield Problem("BK799", message, self.missing.replace("%s", match[1]), at=(key,))

    def expand(self, text: "Text | None") -> str | None:
        """Return a text with the values of its variables filled in."""
        if text is None:
            return None
        return MARKED.sub(lambda match: as_text(self.lookup(match[1]) or ""), str(text))


def read_list(root: str, targets_file: TargetsFile) -> tuple[TargetList, list[Problem]]:
    """Return the targets in a file, and the problems of the list itself."""
    file = targets_file.file
    empty = TargetList({}, targets_file.target, list, targets_file.named)
    try:
        body = decode(read(root, file), file).body
        documents = [item for item in YAML.load(body, file) if item is not None]
    except BaselinekitError as error:
        return empty, list(error.problems)

    def placed(problems: Sequence[Problem]) -> list[Problem]:
        return place_problems(body, file, {0: problems})

    document = documents[0] if len(documents) == 1 else None
    entries = document.get("targets") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        hint = "write `targets:`, and below it - name: … and provider: …"
        return empty, placed([Problem("BK798", "no list of targets", hint, at=())])
    targets: dict[str, tuple[Json, Path]] = {}
    problems = []
    for number, raw in enumerate(entries):
        name = raw.get("name") if isinstance(raw, dict) else None
        if not isinstance(name, str) or not name.strip():
            message = "a target without a name"
            problems.append(Problem("BK798", message, "such as - name: default", at=("targets", number)))
        elif name in targets:
            message = f"the target {name!r} occurs twice"
            problems.append(
                Problem("BK798", message, "rename one of the two", at=("targets", number, "name"))
            )
        else:
            targets[name] = (raw, ("targets", number))
    return replace(empty, stated=targets, place=placed), placed(problems)


# Which lists are used in a run, and where the variables in them come from.


ReadList = tuple[TargetList, list[Problem]]


def add_discovered_targets(
    targets: Targets, root: str, file: str, lists_by_file: dict[str, ReadList]
) -> Targets:
    """Return the targets with those of the file found from this eval file upward. `lists_by_file`: the files
    read before, as many eval files may find the same one."""
    found_file = None if targets.declared is None else next(found_files(root, file), None)
    if found_file is None or targets.declared is None:
        return targets
    if found_file not in lists_by_file:
        targets_file = TargetsFile(
            found_file, targets.declared, _UNNAMED_FILE_HINT + found_file, False, targets.models
        )
        lists_by_file[found_file] = read_list(root, targets_file)
    target_list, problems = lists_by_file[found_file]
    return replace(targets, lists=(*targets.lists, target_list), problems=tuple(problems))


def add_named_targets(
    targets: Targets,
    config: Config,
    config_file: str | None,
    root: str,
    scope: Scope,
    environ: Mapping[str, str],
    file: str | None,
    is_current: bool,
) -> tuple[Targets, Scope]:
    """Return the targets with those that the operator (`file`) or the configuration names, and the scope with
    the variables of the operator's environment that they use. `is_current`: whether the configuration is the
    one in the working tree. A file named by the configuration of another commit may have changed since, so it
    is treated like one that was only found."""
    used: dict[str, str] = {}

    def in_environment(name: str) -> Json:
        value = scope.declared(name)
        if value is None and name in environ:
            value = used[name] = environ[name]
        return value

    if file is not None or isinstance(config.targets, str):
        is_named = file is not None or is_current
        path = os.path.normpath(os.path.join(root, file or str(config.targets)))
        shown_path = os.path.relpath(path, root)
        shown_path = path if shown_path.startswith(os.pardir) else shown_path
        lookup = in_environment if is_named else scope.declared
        target_list, problems = read_list(
            root, TargetsFile(shown_path, lookup, _NAMED_FILE_HINT, is_named, targets.models)
        )
        if problems:
            raise InvalidInput(*problems)
    elif isinstance(config.targets, dict) and config_file is not None:
        relative = os.path.relpath(config_file, root)

        def placed(problems: Sequence[Problem]) -> list[Problem]:
            return place_in_config(root, relative, problems) if is_current else list(problems)

        target_list = configured_targets(config.targets, placed)
    else:
        return targets, scope
    for name in target_list.stated:
        target_list.target(name)  # reading it looks up its variables
    secrets = {name: Secret(as_text(value)) for name, value in used.items() if is_secret_key(name)}
    values = {name: value for name, value in used.items() if name not in secrets}
    extended_scope = replace(scope, values={**values, **scope.values}, secrets={**secrets, **scope.secrets})
    return replace(
        targets, lists=(target_list,), declared=targets.declared if file is None else None
    ), extended_scope


# A target of a targets file, by its provider.


_MODEL_PROVIDERS: dict[str, str | None] = {
    "openai": None,
    "azure": "",
    "azure-openai": "",
    "anthropic": None,
    "openrouter": "https://openrouter.ai/api",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
    "google": "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
    "google-gemini": "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
}
"""The providers of models over HTTP, each with its address if that is not the default of its wire format."""

_AGENT_PROVIDERS = (
    *("codex", "codex-cli", "claude", "claude-code", "claude-cli", "claude-sdk", "copilot", "copilot-cli"),
    *("pi", "pi-coding-agent", "pi-agent-sdk", "vscode", "vscode-insiders", "opencode"),
)
_AZURE_VERSION = "2024-12-01-preview"

Text = str | int | float
"""A text, which YAML may read as a number."""

_AT_LEAST_1 = Meta(ge=1, description="a factor of 1 or more")
Factor = Annotated[int, _AT_LEAST_1] | Annotated[float, _AT_LEAST_1]


class AnyTarget(Struct, kw_only=True, forbid_unknown_fields=False):
    """The keys of every target. A model that the configuration describes is read no further."""

    name: str
    provider: Json = None
    judge_target: Text | None = None
    grader_target: Text | None = None
    workers: Workers | None = None
    provider_batching: bool | None = None

    def check(self) -> Iterator[Problem]:
        """Return the problems that the types of the keys do not show."""
        return iter(())

    def as_execution(self) -> Execution:
        return PromptExecution("prompt", model=self.name)

    def as_model(self, targets_file: TargetsFile) -> Model | None:
        """Return the target as the configuration would describe it under `models:`."""
        return None


class MockTarget(AnyTarget, kw_only=True, forbid_unknown_fields=True):
    response: Json = None
    delay_ms: NotNegative | None = None
    delay_min_ms: NotNegative | None = None
    delay_max_ms: NotNegative | None = None

    def check(self) -> Iterator[Problem]:
        least, most = self.delay_min_ms, self.delay_max_ms
        if most is not None and most < (least or 0):
            message = f"`delay_max_ms` is below the least, {least}"
            yield Problem("BK798", message, "exchange them", at=("delay_max_ms",))
        if self.delay_ms is not None and (least is not None or most is not None):
            message = "`delay_ms` beside a range of delays"
            yield Problem("BK798", message, "keep that, or the range", at=("delay_ms",))

    def as_execution(self) -> Execution:
        response = _as_template(self.response) if isinstance(self.response, str) else self.response
        least = self.delay_min_ms if self.delay_ms is None else self.delay_ms
        return MockExecution(
            "mock",
            RESPONSE if response is None else response,
            _seconds(least),
            _seconds(self.delay_max_ms),
            target=self.name,
        )


class TargetHealthcheck(Struct):
    type: Literal["http", "command"] | None = None
    url: Text | None = None
    command_template: Text | None = None
    command: Text | None = None
    cwd: Text | None = None
    timeout_seconds: NotNegative | None = None


class CliTarget(AnyTarget, kw_only=True, forbid_unknown_fields=True):
    command_template: str | None = None
    command: str | None = None
    files_format: Text | None = None
    attachments_format: Text | None = None
    cwd: Text | None = None
    healthcheck: TargetHealthcheck | None = None
    env: list[str] | None = None
    timeout_seconds: NotNegative | None = None
    retries: Count | None = None
    max_retries: Count | None = None
    verbose: Json = None
    cli_verbose: Json = None
    keep_temp_files: Json = None
    keep_output_files: Json = None

    def check(self) -> Iterator[Problem]:
        if self.command_template is None and self.command is None:
            message = "a target of the provider cli has no `command_template`"
            yield Problem("BK798", message, "such as `agent run {PROMPT}`", at=("provider",))

    def as_execution(self) -> Execution:
        check = self.healthcheck
        return CliExecution(
            "cli",
            _as_template(self.command_template or self.command) or "",
            files_format=_as_template(self.files_format or self.attachments_format) or "{path}",
            cwd=_as_template(self.cwd),
            env=self.env or [],
            timeout=self.timeout_seconds,
            retries=self.max_retries if self.retries is None else self.retries,
            batch=self.provider_batching or False,
            healthcheck=None
            if check is None
            else Healthcheck(
                _as_template(check.url),
                _as_template(check.command_template or check.command),
                _as_template(check.cwd),
                check.timeout_seconds,
            ),
            target=self.name,
        )


class KeyVariable(ParsedValue):
    """The variable that holds a key, which does not belong into a file itself."""

    words = "a variable such as ${{ NAME }}"

    def __init__(self, name: str) -> None:
        self.name = name

    @classmethod
    def parse(cls, raw: Json) -> "KeyVariable | None":
        match = MARKED.fullmatch(raw.strip()) if isinstance(raw, str) else None
        return cls(match[1]) if match else None


class ModelTarget(AnyTarget, kw_only=True, forbid_unknown_fields=True):
    """A model over HTTP."""

    endpoint: Text | None = None
    resource: Text | None = None
    resource_name: Text | None = None
    base_url: Text | None = None
    api_key: KeyVariable | None = None
    deployment: Text | None = None
    deployment_name: Text | None = None
    model: Text | None = None
    variant: Text | None = None
    version: Text | None = None
    api_version: Text | None = None
    temperature: NotNegative | None = None
    max_output_tokens: Count | None = None
    max_tokens: Count | None = None
    timeout_seconds: NotNegative | None = None
    max_retries: Count | None = None
    retry_initial_delay_ms: NotNegative | None = None
    retry_max_delay_ms: NotNegative | None = None
    retry_backoff_factor: Factor | None = None
    retry_status_codes: list[int] | None = None

    def check(self) -> Iterator[Problem]:
        if self._model is None:
            yield Problem("BK798", "a target of a model without a `model`", "add it", at=("provider",))
        if self._is_azure and self._base is None:
            message = "a target of the provider azure has no `endpoint`"
            yield Problem("BK798", message, "such as https://NAME.openai.azure.com", at=("provider",))
        if not all(map(may_change, self.retry_status_codes or ())):
            hint = "a list such as [408, 429, 500, 502, 503, 504]; 401 and 403 are never asked again"
            message = "`retry_status_codes` cannot be used"
            yield Problem("BK798", message, hint, at=("retry_status_codes",))

    @property
    def _model(self) -> Text | None:
        return self.deployment or self.deployment_name or self.model or self.variant

    @property
    def _base(self) -> Text | None:
        return self.endpoint or self.resource or self.resource_name or self.base_url

    @property
    def _provider(self) -> str:
        return str(self.provider).lower()

    @property
    def _is_azure(self) -> bool:
        return self._provider.startswith("azure")

    def as_model(self, targets_file: TargetsFile) -> Model | None:
        model = targets_file.expand(self._model)
        key = self.api_key.name if self.api_key else None
        base, headers = targets_file.expand(self._base) or _MODEL_PROVIDERS[self._provider], {}
        if self._is_azure:  # it has an address for each deployment, and its own header for the key
            version = targets_file.expand(self.version or self.api_version) or _AZURE_VERSION
            host = base.rstrip("/") if base and "://" in base else f"https://{base}.openai.azure.com"
            base = f"{host}/openai/deployments/{model}/chat/completions?api-version={version}"
            headers = {"api-key": f"{{{{{key}}}}}"} if key else {}
        is_anthropic = self._provider == "anthropic"
        waits = {
            "wait": _seconds(self.retry_initial_delay_ms),
            "longest": _seconds(self.retry_max_delay_ms),
            "factor": self.retry_backoff_factor,
            "statuses": self.retry_status_codes,
        }
        stated_waits: Any = {name: value for name, value in waits.items() if value is not None}
        return Model(
            openai=None if is_anthropic else model,
            anthropic=model if is_anthropic else None,
            base_url=base,
            key=None if self._is_azure else key,
            headers=headers,
            temperature=self.temperature,
            max_tokens=self.max_tokens if self.max_output_tokens is None else self.max_output_tokens,
            concurrency=self.workers,
            timeout=self.timeout_seconds,
            retries=self.max_retries,
            retry=Retry(**stated_waits) if stated_waits else None,
        )


_FORMS: dict[str, type[AnyTarget]] = {
    "cli": CliTarget,
    "mock": MockTarget,
    **dict.fromkeys(_MODEL_PROVIDERS, ModelTarget),
}


def _in_snake_case(raw: Mapping[str, Json], form: type[Struct]) -> dict[str, Json]:
    """Return the values by the keys of the form, without nulls. Any other key stays as it is spelt."""
    values: dict[str, Json] = {}
    for key, value in raw.items():
        name = _snake_case(key)
        if name == "healthcheck" and isinstance(value, dict):
            value = _in_snake_case(value, TargetHealthcheck)
        if value is not None:
            values[name if name in form.__struct_fields__ else key] = value
    return values


def _snake_case(key: str) -> str:
    return _CAMEL_BOUNDARY.sub(r"_\1", str(key)).lower()


def _as_spelt(problem: Problem, raw: Json) -> Problem:
    """Return the problem with a path of the keys that the file has."""
    at: Path = ()
    for step in problem.at or ():
        keys = raw if isinstance(raw, dict) else {}
        step = next((key for key in keys if _snake_case(key) == step), step)
        at, raw = (*at, step), keys.get(step)
    return replace(problem, at=at)


def _as_template(text: Text | None) -> str | None:
    """Return a text with each `${{ NAME }}` as one of our variables; all else is taken literally."""
    if text is None:
        return None
    parts = MARKED.split(str(text))  # texts, and between them the names of variables
    return "".join(
        f"{{{{{part}}}}}" if number % 2 else escape_variables(part) for number, part in enumerate(parts)
    )


def _seconds(milliseconds: int | float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _describe_unknown_provider(provider: str) -> tuple[str, str]:
    if provider in _AGENT_PROVIDERS:
        message = f"the provider {provider!r} starts an agent, which is described by its command line here"
        return message, "provider: cli, and command_template: such as `claude -p {PROMPT}`"
    providers = ("cli", "mock", *_MODEL_PROVIDERS)
    message = f"unknown provider {provider!r}" if provider else "it has no `provider`"
    return message, suggest(provider, providers) or f"one of {', '.join(providers)}"

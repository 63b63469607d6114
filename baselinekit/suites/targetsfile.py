"""A targets file of AgentV: `targets: [{name, provider, …}]`. Keys are written in snake_case or camelCase,
and `${{ NAME }}` is a variable."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

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
from baselinekit.schema import describe_value, place_problems, prefix_paths
from baselinekit.secrets.finding import is_secret_key
from baselinekit.secrets.variables import Scope, Secret, as_text, escape_variables
from baselinekit.store.project import place_in_config, read
from baselinekit.structs import Struct, replace
from baselinekit.suites.targets import (
    MARKED,
    Lookup,
    NamedTarget,
    TargetList,
    Targets,
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

    def target(self, name: str, raw: Json) -> tuple[NamedTarget | None, list[Problem]]:
        return _TargetReader(self, name, raw).target()


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


_COMMON_KEYS = ("name", "provider", "judge_target", "grader_target", "workers", "provider_batching")
_RETRY_KEYS = (
    *("max_retries", "retry_initial_delay_ms", "retry_max_delay_ms"),
    *("retry_backoff_factor", "retry_status_codes"),
)
_CLI_KEYS = (
    *("command_template", "command", "files_format", "attachments_format", "cwd", "timeout_seconds"),
    *("healthcheck", "verbose", "cli_verbose", "keep_temp_files", "keep_output_files", "env", "retries"),
)
_MOCK_KEYS = ("response", "delay_ms", "delay_min_ms", "delay_max_ms")
_MODEL_KEYS = (
    *("endpoint", "resource", "resource_name", "base_url", "api_key", "deployment", "deployment_name"),
    *("model", "variant", "version", "api_version", "temperature", "max_output_tokens", "max_tokens"),
    "timeout_seconds",
    *_RETRY_KEYS,
)
_HEALTHCHECK_TYPES = ("http", "command")
_HEALTHCHECK_KEYS = ("type", "url", "command_template", "command", "cwd", "timeout_seconds")

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


@dataclasses.dataclass(slots=True)
class _TargetReader:
    """Reads one target. `spellings`: how each key is written in the file."""

    targets_file: TargetsFile
    name: str
    raw: Any
    problems: list[Problem] = dataclasses.field(default_factory=list)
    spellings: dict[str, str] = dataclasses.field(default_factory=dict)

    def target(self) -> tuple[NamedTarget | None, list[Problem]]:
        values = self.normalized(self.raw, self.spellings)
        provider = str(self.value(values, "provider") or "").lower()
        if provider == "cli":
            execution_and_model: tuple[Execution, Model | None] | None = self.cli(values)
        elif provider == "mock":
            execution_and_model = self.mock(values)
        elif provider in _MODEL_PROVIDERS:
            execution_and_model = self.model(values, provider)
        else:
            execution_and_model = None
            self.add_problem("provider", *_describe_unknown_provider(provider))
        judge = self.expanded_text(values, "judge_target", "grader_target")
        workers = self.number(values, "workers", is_whole=True)
        if self.problems or execution_and_model is None:
            return None, self.problems
        execution, model = execution_and_model
        return NamedTarget(self.name, execution, judge, None if workers is None else int(workers), model), []

    # Its keys.

    def normalized(self, raw: Mapping[str, Json], spellings: dict[str, str]) -> dict[str, Json]:
        """Return the values by keys in snake_case, without nulls, and note how each key was spelt."""
        for key in raw:
            spellings[_CAMEL_BOUNDARY.sub(r"_\1", str(key)).lower()] = key
        return {name: raw[key] for name, key in spellings.items() if raw[key] is not None}

    def check_keys(self, values: Mapping[str, Json], *allowed_keys: str) -> None:
        for key in values:
            if key not in allowed_keys:
                hint = suggest(key, allowed_keys) or f"it has {', '.join(allowed_keys[:6])} …"
                message = f"unknown key {self.spellings[key]!r} of a target"
                self.problems.append(Problem("BK103", message, hint, at=(self.spellings[key],)))

    def add_problem(self, key: str, message: str, hint: str = "") -> None:
        at = (self.spellings[key],) if key in self.spellings else ()
        self.problems.append(Problem("BK798", f"the target {self.name!r}: {message}", hint, at=at))

    def value(self, values: Mapping[str, Json], *keys: str) -> Json:
        return next((values[key] for key in keys if key in values), None)

    def text(self, values: Mapping[str, Json], *keys: str) -> str | None:
        """Return a text with each `${{ NAME }}` as one of our variables; all else is taken literally."""
        key = next((key for key in keys if key in values), None)
        value = None if key is None else values[key]
        if key is None or value is None:
            return None
        if isinstance(value, dict | list | bool):
            self.add_problem(key, f"`{self.spellings.get(key, key)}` is {describe_value(value)}, not a text")
            return None
        text, parts, end = str(value), [], 0
        for match in MARKED.finditer(text):
            if self.targets_file.lookup(match[1]) is None:
                missing = self.targets_file.missing.replace("%s", match[1])
                message = f"the variable {match[1]} is not set"
                at = (self.spellings.get(key, key),)
                self.problems.append(Problem("BK799", message, missing, at=at))
            parts += [escape_variables(text[end : match.start()]), f"{{{{{match[1]}}}}}"]
            end = match.end()
        return "".join((*parts, escape_variables(text[end:])))

    def expanded_text(self, values: Mapping[str, Json], *keys: str) -> str | None:
        """Return a text with the values of its variables filled in."""
        key = next((key for key in keys if key in values), None)
        if key is None or self.text(values, key) is None:
            return None
        return MARKED.sub(lambda match: as_text(self.targets_file.lookup(match[1]) or ""), str(values[key]))

    def number(self, values: Mapping[str, Json], *keys: str, is_whole: bool = False) -> int | float | None:
        key = next((key for key in keys if key in values), None)
        value = None if key is None else values[key]
        if key is None or value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int if is_whole else int | float) or value < 0:
            expected = "a whole number" if is_whole else "a number of 0 or more"
            self.add_problem(key, f"`{self.spellings[key]}` is {describe_value(value)}, not {expected}")
            return None
        return value

    # Its providers.

    def mock(self, values: Mapping[str, Json]) -> tuple[Execution, None]:
        self.check_keys(values, *_COMMON_KEYS, *_MOCK_KEYS)
        response = self.value(values, "response")
        if isinstance(response, str):
            response = self.text(values, "response")
        low, high = self.number(values, "delay_min_ms"), self.number(values, "delay_max_ms")
        delay_ms = self.number(values, "delay_ms")
        if high is not None and high < (low or 0):
            self.add_problem(
                "delay_max_ms",
                f"`{self.spellings['delay_max_ms']}` is below the least, {low}",
                "exchange them",
            )
        if low is not None or high is not None:
            if delay_ms is not None:
                hint = "keep that, or the range"
                self.add_problem("delay_ms", f"`{self.spellings['delay_ms']}` beside a range of delays", hint)
            delay_ms = low
        answer = RESPONSE if response is None else response
        delay, most = _seconds(delay_ms), _seconds(high)
        return MockExecution("mock", answer, delay, most, target=self.name), None

    def cli(self, values: Mapping[str, Json]) -> tuple[Execution, None] | None:
        for key in (key for key in values if key in _RETRY_KEYS[1:]):
            hint = "leave it out: a program is asked again at once, and where it took too long"
            self.add_problem(key, f"`{self.spellings[key]}` has no effect on a program", hint)
        self.check_keys(values, *_COMMON_KEYS, *_CLI_KEYS, *_RETRY_KEYS)
        command = self.text(values, "command_template", "command")
        raw_command = self.value(values, "command_template", "command")
        if command is not None and not isinstance(raw_command, str):
            self.add_problem(
                "command_template", f"`command_template` is {describe_value(raw_command)}, not a text"
            )
        elif command is None and not self.problems:
            self.add_problem("provider", "it has no `command_template`", "such as `agent run {PROMPT}`")
        env = self.value(values, "env") or []
        if not isinstance(env, list) or not all(isinstance(name, str) for name in env):
            self.add_problem("env", "`env` is a list of the names of variables")
            env = []
        health = None
        if (raw := self.value(values, "healthcheck")) is not None:
            health = self.healthcheck(raw)
        if command is None:
            return None
        return CliExecution(
            "cli",
            command,
            files_format=self.text(values, "files_format", "attachments_format") or "{path}",
            cwd=self.text(values, "cwd"),
            env=env,
            timeout=self.number(values, "timeout_seconds"),
            retries=self.whole_number(values, "retries", "max_retries"),
            batch=self.value(values, "provider_batching") is True,
            healthcheck=health,
            target=self.name,
        ), None

    def whole_number(self, values: Mapping[str, Json], *keys: str) -> int | None:
        value = self.number(values, *keys, is_whole=True)
        return None if value is None else int(value)

    def healthcheck(self, raw: Json) -> Healthcheck | None:
        if not isinstance(raw, dict):
            hint = "such as {url: http://localhost:8080/health}"
            self.add_problem("healthcheck", f"`healthcheck` is {describe_value(raw)}", hint)
            return None
        inner = _TargetReader(self.targets_file, self.name, raw)
        values = inner.normalized(raw, inner.spellings)
        inner.check_keys(values, *_HEALTHCHECK_KEYS)
        form = inner.value(values, "type")
        if form is not None and form not in _HEALTHCHECK_TYPES:
            inner.add_problem(
                "type", f"a healthcheck is of the type http or command, not {describe_value(form)}"
            )
        check = Healthcheck(
            inner.text(values, "url"),
            inner.text(values, "command_template", "command"),
            inner.text(values, "cwd"),
            inner.number(values, "timeout_seconds"),
        )
        at = self.spellings.get("healthcheck", "healthcheck")
        self.problems += prefix_paths(inner.problems, (at,))
        return check

    def model(self, values: Mapping[str, Json], provider: str) -> tuple[Execution, Model | None] | None:
        """Read a model over HTTP. If the configuration has a model with this name, that one is used; a file
        that was only found may not state an address or a key."""
        execution = PromptExecution("prompt", model=self.name)
        if self.name in self.targets_file.models:
            return execution, None
        if not self.targets_file.named:
            hint = (
                f"describe `models: {{{self.name}: …}}`, or name the file: --targets {self.targets_file.file}"
            )
            self.add_problem("provider", "the configuration describes no model of this name", hint)
            return None
        self.check_keys(values, *_COMMON_KEYS, *_MODEL_KEYS)
        model = self.expanded_text(values, "deployment", "deployment_name", "model", "variant")
        if model is None and not self.problems:
            self.add_problem("provider", "it does not say which `model`")
        base, headers, key = self.address(values, provider, model or "")
        is_anthropic = provider == "anthropic"
        described_model = Model(
            openai=None if is_anthropic else model,
            anthropic=model if is_anthropic else None,
            base_url=base,
            key=key,
            headers=headers,
            temperature=self.number(values, "temperature"),
            max_tokens=self.whole_number(values, "max_output_tokens", "max_tokens"),
            concurrency=self.whole_number(values, "workers") or None,
            timeout=self.number(values, "timeout_seconds"),
            retries=self.whole_number(values, "max_retries"),
            retry=self.retry(values),
        )
        return execution, described_model

    def retry(self, values: Mapping[str, Json]) -> Retry | None:
        if not any(key in values for key in _RETRY_KEYS[1:]):
            return None
        defaults = Retry()
        first = self.number(values, "retry_initial_delay_ms")
        most = self.number(values, "retry_max_delay_ms")
        factor = self.number(values, "retry_backoff_factor")
        statuses = self.value(values, "retry_status_codes")
        if factor is not None and factor < 1:
            self.add_problem("retry_backoff_factor", "a wait that grows shorter", "a factor of 1 or more")
        if statuses is not None and not _are_retry_statuses(statuses):
            hint = "a list such as [408, 429, 500, 502, 503, 504]; 401 and 403 are never asked again"
            self.add_problem(
                "retry_status_codes", f"`{self.spellings['retry_status_codes']}` cannot be used", hint
            )
            statuses = None
        return Retry(
            defaults.wait if first is None else first / 1000,
            defaults.longest if most is None else most / 1000,
            defaults.factor if factor is None else factor,
            statuses,
        )

    def address(
        self, values: Mapping[str, Json], provider: str, model: str
    ) -> tuple[str | None, dict[str, str], str | None]:
        """Return the address of a model, its headers, and the variable of its key. Azure has an address per
        deployment, and its own header for the key."""
        raw = values.get("api_key")
        variable = MARKED.fullmatch(raw.strip()) if isinstance(raw, str) else None
        if raw is not None and variable is None:
            self.add_problem("api_key", "a key does not stand in a file", "write api_key: ${{ NAME }}")
        self.text(values, "api_key")
        key = variable[1] if variable else None
        base = (
            self.expanded_text(values, "endpoint", "resource", "resource_name", "base_url")
            or _MODEL_PROVIDERS[provider]
        )
        if not provider.startswith("azure"):
            return base, {}, key
        if not base:
            self.add_problem("provider", "it has no `endpoint`", "such as https://NAME.openai.azure.com")
            return None, {}, None
        version = self.expanded_text(values, "version", "api_version") or _AZURE_VERSION
        host = base.rstrip("/") if "://" in base else f"https://{base}.openai.azure.com"
        url = f"{host}/openai/deployments/{model}/chat/completions?api-version={version}"
        return url, {"api-key": f"{{{{{key}}}}}"} if key else {}, None


def _are_retry_statuses(value: Json) -> bool:
    return isinstance(value, list) and all(
        isinstance(status, int) and not isinstance(status, bool) and may_change(status) for status in value
    )


def _seconds(milliseconds: int | float | None) -> float | None:
    return milliseconds / 1000 if milliseconds else None


def _describe_unknown_provider(provider: str) -> tuple[str, str]:
    if provider in _AGENT_PROVIDERS:
        message = f"the provider {provider!r} starts an agent, which is described by its command line here"
        return message, "provider: cli, and command_template: such as `claude -p {PROMPT}`"
    providers = ("cli", "mock", *_MODEL_PROVIDERS)
    message = f"unknown provider {provider!r}" if provider else "it has no `provider`"
    return message, suggest(provider, providers) or f"one of {', '.join(providers)}"

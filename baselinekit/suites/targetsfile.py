"""A targets file as AgentV has it: `targets: [{name, provider, …}]`. Keys are written with underscores or
with humps, and `${{ NAME }}` is a variable."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from baselinekit.documents.languages import YAML
from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, InvalidInput, Problem, nearest
from baselinekit.frozen import frozen
from baselinekit.kinds.cli import CliExecution, Healthcheck
from baselinekit.kinds.mock import RESPONSE, MockExecution
from baselinekit.kinds.prompt import PromptExecution
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Config, Execution, Model, Retry
from baselinekit.model.values import Json, Path
from baselinekit.models.post import may_change
from baselinekit.schema.complaints import describe_value
from baselinekit.schema.records import below, place_problems
from baselinekit.secrets.names import is_secret_key
from baselinekit.store.project import place_in_config, read
from baselinekit.suites.targets import (
    MARKED,
    Lookup,
    NamedTarget,
    TargetList,
    Targets,
    found_files,
    own_list,
)
from baselinekit.variables import Scope, Secret, as_text, unexpanded

_HUMP = lazy_pattern(r"(?<=[a-z0-9])([A-Z])")

_FOUND_HINT = "declare it under `variables:` ({%s: {from_env: %s}}), or name the file: --targets "
_HINT = "export %s=…, or declare it under `variables:`, or pass --env-file FILE"


@frozen
class TargetsFile:
    """A targets file. `lookup`: the variables that it may use; `missing`: what to do where one has no value;
    `named`: whether the operator or the configuration means this file; `models`: those of the
    configuration."""

    file: str
    lookup: Lookup
    missing: str
    named: bool = True
    models: frozenset[str] = frozenset()

    def target(self, name: str, raw: Json) -> tuple[NamedTarget | None, list[Problem]]:
        return _TargetReading(self, name, raw).target()


def read_list(root: str, about: TargetsFile) -> tuple[TargetList, list[Problem]]:
    """What a targets file lists, and what is wrong with the list."""
    file = about.file
    empty = TargetList({}, about.target, list, about.named)
    try:
        body = decode(read(root, file), file).body
        documents = [document for document in YAML.load(body, file) if document is not None]
    except BaselinekitError as error:
        return empty, list(error.problems)

    def placed(problems: Sequence[Problem]) -> list[Problem]:
        return place_problems(body, file, {0: problems})

    whole = documents[0] if len(documents) == 1 else None
    listed = whole.get("targets") if isinstance(whole, dict) else None
    if not isinstance(listed, list):
        hint = "write `targets:`, and below it - name: … and provider: …"
        return empty, placed([Problem("BK798", "no list of targets", hint, at=())])
    stated: dict[str, tuple[Json, Path]] = {}
    problems = []
    for number, raw in enumerate(listed):
        name = raw.get("name") if isinstance(raw, dict) else None
        if not isinstance(name, str) or not name.strip():
            what = "a target without a name"
            problems.append(Problem("BK798", what, "such as - name: default", at=("targets", number)))
        elif name in stated:
            what = f"the target {name!r} occurs twice"
            problems.append(Problem("BK798", what, "rename one of the two", at=("targets", number, "name")))
        else:
            stated[name] = (raw, ("targets", number))
    return replace(empty, stated=stated, place=placed), placed(problems)


# Which lists count for a run, and where the variables in them come from.


ReadList = tuple[TargetList, list[Problem]]


def with_found(targets: Targets, root: str, file: str, known: dict[str, ReadList]) -> Targets:
    """With those that are found from this eval file on. `known`: the files that were read before, as many
    eval files may find the same."""
    found = None if targets.declared is None else next(found_files(root, file), None)
    if found is None or targets.declared is None:
        return targets
    if found not in known:
        about = TargetsFile(found, targets.declared, _FOUND_HINT + found, False, targets.models)
        known[found] = read_list(root, about)
    listed, problems = known[found]
    return replace(targets, lists=(*targets.lists, listed), problems=tuple(problems))


def with_named(
    targets: Targets,
    config: Config,
    config_file: str | None,
    root: str,
    scope: Scope,
    environ: Mapping[str, str],
    file: str | None,
    is_current: bool,
) -> tuple[Targets, Scope]:
    """With those that the operator (`file`) or the configuration names; and the variables with those of the
    operator's environment for which they ask. `is_current`: whether the configuration is the one that stands
    there now: a file that another commit names may say what it likes by now, and is one that was only
    found."""
    used: dict[str, str] = {}

    def in_environment(name: str) -> Json:
        value = scope.declared(name)
        if value is None and name in environ:
            value = used[name] = environ[name]
        return value

    if file is not None or isinstance(config.targets, str):
        is_named = file is not None or is_current
        path = os.path.normpath(os.path.join(root, file or str(config.targets)))
        shown = os.path.relpath(path, root)
        shown = path if shown.startswith(os.pardir) else shown
        lookup = in_environment if is_named else scope.declared
        listed, problems = read_list(root, TargetsFile(shown, lookup, _HINT, is_named, targets.models))
        if problems:
            raise InvalidInput(*problems)
    elif isinstance(config.targets, dict) and config_file is not None:
        relative = os.path.relpath(config_file, root)

        def placed(problems: Sequence[Problem]) -> list[Problem]:
            return place_in_config(root, relative, problems) if is_current else list(problems)

        listed = own_list(config.targets, placed)
    else:
        return targets, scope
    for name in listed.stated:
        listed.target(name)  # which asks for its variables
    secrets = {name: Secret(as_text(value)) for name, value in used.items() if is_secret_key(name)}
    values = {name: value for name, value in used.items() if name not in secrets}
    known = replace(scope, values={**values, **scope.values}, secrets={**secrets, **scope.secrets})
    return replace(targets, lists=(listed,), declared=targets.declared if file is None else None), known


# A target of a targets file, by its provider.


_COMMON = ("name", "provider", "judge_target", "grader_target", "workers", "provider_batching")
_RETRIES = (
    *("max_retries", "retry_initial_delay_ms", "retry_max_delay_ms"),
    *("retry_backoff_factor", "retry_status_codes"),
)
_OF_CLI = (
    *("command_template", "command", "files_format", "attachments_format", "cwd", "timeout_seconds"),
    *("healthcheck", "verbose", "cli_verbose", "keep_temp_files", "keep_output_files", "env", "retries"),
)
_OF_MOCK = ("response", "delay_ms", "delay_min_ms", "delay_max_ms")
_OF_MODEL = (
    *("endpoint", "resource", "resource_name", "base_url", "api_key", "deployment", "deployment_name"),
    *("model", "variant", "version", "api_version", "temperature", "max_output_tokens", "max_tokens"),
    "timeout_seconds",
    *_RETRIES,
)
_FORMS_OF_HEALTH = ("http", "command")
_OF_HEALTH = ("type", "url", "command_template", "command", "cwd", "timeout_seconds")

_BASES: dict[str, str | None] = {
    "openai": None,
    "azure": "",
    "azure-openai": "",
    "anthropic": None,
    "openrouter": "https://openrouter.ai/api",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
    "google": "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
    "google-gemini": "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
}
"""The models that are asked over HTTP, each with its address where that is not the usual one of its form."""

_AGENTS = (
    *("codex", "codex-cli", "claude", "claude-code", "claude-cli", "claude-sdk", "copilot", "copilot-cli"),
    *("pi", "pi-coding-agent", "pi-agent-sdk", "vscode", "vscode-insiders", "opencode"),
)
_AZURE_VERSION = "2024-12-01-preview"


@dataclass(slots=True)
class _TargetReading:
    """One target on its way. `spelt`: how each key is written in the file."""

    listed: TargetsFile
    name: str
    raw: Any
    problems: list[Problem] = field(default_factory=list)
    spelt: dict[str, str] = field(default_factory=dict)

    def target(self) -> tuple[NamedTarget | None, list[Problem]]:
        stated = self.normalized(self.raw, self.spelt)
        provider = str(self.value(stated, "provider") or "").lower()
        if provider == "cli":
            made: tuple[Execution, Model | None] | None = self.cli(stated)
        elif provider == "mock":
            made = self.mock(stated)
        elif provider in _BASES:
            made = self.model(stated, provider)
        else:
            made = None
            self.wrong("provider", *_unknown(provider))
        judge = self.known(stated, "judge_target", "grader_target")
        workers = self.number(stated, "workers", whole=True)
        if self.problems or made is None:
            return None, self.problems
        execution, model = made
        return NamedTarget(self.name, execution, judge, None if workers is None else int(workers), model), []

    # Its keys.

    def normalized(self, raw: Mapping[str, Json], spelt: dict[str, str]) -> dict[str, Json]:
        """In small letters with underscores, as they may be written in either way; nothing for null."""
        for key in raw:
            spelt[_HUMP.sub(r"_\1", str(key)).lower()] = key
        return {name: raw[key] for name, key in spelt.items() if raw[key] is not None}

    def only(self, stated: Mapping[str, Json], *known: str) -> None:
        for key in stated:
            if key not in known:
                hint = nearest(key, known) or f"it has {', '.join(known[:6])} …"
                what = f"unknown key {self.spelt[key]!r} of a target"
                self.problems.append(Problem("BK103", what, hint, at=(self.spelt[key],)))

    def wrong(self, key: str, what: str, hint: str = "") -> None:
        at = (self.spelt[key],) if key in self.spelt else ()
        self.problems.append(Problem("BK798", f"the target {self.name!r}: {what}", hint, at=at))

    def value(self, stated: Mapping[str, Json], *keys: str) -> Json:
        return next((stated[key] for key in keys if key in stated), None)

    def text(self, stated: Mapping[str, Json], *keys: str) -> str | None:
        """A text in which `${{ NAME }}` is a variable of ours, and nothing else is one."""
        key = next((key for key in keys if key in stated), None)
        value = None if key is None else stated[key]
        if key is None or value is None:
            return None
        if isinstance(value, dict | list | bool):
            self.wrong(key, f"`{self.spelt.get(key, key)}` is {describe_value(value)}, not a text")
            return None
        text, parts, end = str(value), [], 0
        for match in MARKED.finditer(text):
            if self.listed.lookup(match[1]) is None:
                missing = self.listed.missing.replace("%s", match[1])
                what = f"the variable {match[1]} is not set"
                at = (self.spelt.get(key, key),)
                self.problems.append(Problem("BK799", what, missing, at=at))
            parts += [unexpanded(text[end : match.start()]), f"{{{{{match[1]}}}}}"]
            end = match.end()
        return "".join((*parts, unexpanded(text[end:])))

    def known(self, stated: Mapping[str, Json], *keys: str) -> str | None:
        """The same with the values of its variables."""
        key = next((key for key in keys if key in stated), None)
        if key is None or self.text(stated, key) is None:
            return None
        return MARKED.sub(lambda match: as_text(self.listed.lookup(match[1]) or ""), str(stated[key]))

    def number(self, stated: Mapping[str, Json], *keys: str, whole: bool = False) -> int | float | None:
        key = next((key for key in keys if key in stated), None)
        value = None if key is None else stated[key]
        if key is None or value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or value < 0:
            words = "a whole number" if whole else "a number of 0 or more"
            self.wrong(key, f"`{self.spelt[key]}` is {describe_value(value)}, not {words}")
            return None
        return value

    # Its providers.

    def mock(self, stated: Mapping[str, Json]) -> tuple[Execution, None]:
        self.only(stated, *_COMMON, *_OF_MOCK)
        response = self.value(stated, "response")
        if isinstance(response, str):
            response = self.text(stated, "response")
        low, high = self.number(stated, "delay_min_ms"), self.number(stated, "delay_max_ms")
        always = self.number(stated, "delay_ms")
        if high is not None and high < (low or 0):
            self.wrong(
                "delay_max_ms", f"`{self.spelt['delay_max_ms']}` is below the least, {low}", "exchange them"
            )
        if low is not None or high is not None:
            if always is not None:
                hint = "keep that, or the range"
                self.wrong("delay_ms", f"`{self.spelt['delay_ms']}` beside a range of delays", hint)
            always = low
        given = RESPONSE if response is None else response
        delay, most = _seconds(always), _seconds(high)
        return MockExecution("mock", given, delay, most, target=self.name), None

    def cli(self, stated: Mapping[str, Json]) -> tuple[Execution, None] | None:
        for key in (key for key in stated if key in _RETRIES[1:]):
            hint = "leave it out: a program is asked again at once, and where it took too long"
            self.wrong(key, f"`{self.spelt[key]}` has no effect on a program", hint)
        self.only(stated, *_COMMON, *_OF_CLI, *_RETRIES)
        command = self.text(stated, "command_template", "command")
        written = self.value(stated, "command_template", "command")
        if command is not None and not isinstance(written, str):
            self.wrong("command_template", f"`command_template` is {describe_value(written)}, not a text")
        elif command is None and not self.problems:
            self.wrong("provider", "it has no `command_template`", "such as `agent run {PROMPT}`")
        env = self.value(stated, "env") or []
        if not isinstance(env, list) or not all(isinstance(name, str) for name in env):
            self.wrong("env", "`env` is a list of the names of variables")
            env = []
        health = None
        if (raw := self.value(stated, "healthcheck")) is not None:
            health = self.healthcheck(raw)
        if command is None:
            return None
        return CliExecution(
            "cli",
            command,
            files_format=self.text(stated, "files_format", "attachments_format") or "{path}",
            cwd=self.text(stated, "cwd"),
            env=env,
            timeout=self.number(stated, "timeout_seconds"),
            retries=self.whole(stated, "retries", "max_retries"),
            batch=self.value(stated, "provider_batching") is True,
            healthcheck=health,
            target=self.name,
        ), None

    def whole(self, stated: Mapping[str, Json], *keys: str) -> int | None:
        value = self.number(stated, *keys, whole=True)
        return None if value is None else int(value)

    def healthcheck(self, raw: Json) -> Healthcheck | None:
        if not isinstance(raw, dict):
            hint = "such as {url: http://localhost:8080/health}"
            self.wrong("healthcheck", f"`healthcheck` is {describe_value(raw)}", hint)
            return None
        inner = _TargetReading(self.listed, self.name, raw)
        stated = inner.normalized(raw, inner.spelt)
        inner.only(stated, *_OF_HEALTH)
        form = inner.value(stated, "type")
        if form is not None and form not in _FORMS_OF_HEALTH:
            inner.wrong("type", f"a healthcheck is of the type http or command, not {describe_value(form)}")
        made = Healthcheck(
            inner.text(stated, "url"),
            inner.text(stated, "command_template", "command"),
            inner.text(stated, "cwd"),
            inner.number(stated, "timeout_seconds"),
        )
        at = self.spelt.get("healthcheck", "healthcheck")
        self.problems += below(inner.problems, (at,))
        return made

    def model(self, stated: Mapping[str, Json], provider: str) -> tuple[Execution, Model | None] | None:
        """A model over HTTP. Where the configuration has one of this name, that is meant; a file that was
        only found brings no address and no key along."""
        asked = PromptExecution("prompt", model=self.name)
        if self.name in self.listed.models:
            return asked, None
        if not self.listed.named:
            hint = f"describe `models: {{{self.name}: …}}`, or name the file: --targets {self.listed.file}"
            self.wrong("provider", "the configuration describes no model of this name", hint)
            return None
        self.only(stated, *_COMMON, *_OF_MODEL)
        model = self.known(stated, "deployment", "deployment_name", "model", "variant")
        if model is None and not self.problems:
            self.wrong("provider", "it does not say which `model`")
        base, headers, key = self.address(stated, provider, model or "")
        is_anthropic = provider == "anthropic"
        made = Model(
            openai=None if is_anthropic else model,
            anthropic=model if is_anthropic else None,
            base_url=base,
            key=key,
            headers=headers,
            temperature=self.number(stated, "temperature"),
            max_tokens=self.whole(stated, "max_output_tokens", "max_tokens"),
            concurrency=self.whole(stated, "workers") or None,
            timeout=self.number(stated, "timeout_seconds"),
            retries=self.whole(stated, "max_retries"),
            retry=self.retry(stated),
        )
        return asked, made

    def retry(self, stated: Mapping[str, Json]) -> Retry | None:
        if not any(key in stated for key in _RETRIES[1:]):
            return None
        usual = Retry()
        first = self.number(stated, "retry_initial_delay_ms")
        most = self.number(stated, "retry_max_delay_ms")
        factor = self.number(stated, "retry_backoff_factor")
        statuses = self.value(stated, "retry_status_codes")
        if factor is not None and factor < 1:
            self.wrong("retry_backoff_factor", "a wait that grows shorter", "a factor of 1 or more")
        if statuses is not None and not _are_statuses(statuses):
            hint = "a list such as [408, 429, 500, 502, 503, 504]; 401 and 403 are never asked again"
            self.wrong("retry_status_codes", f"`{self.spelt['retry_status_codes']}` cannot be used", hint)
            statuses = None
        return Retry(
            usual.wait if first is None else first / 1000,
            usual.longest if most is None else most / 1000,
            usual.factor if factor is None else factor,
            statuses,
        )

    def address(
        self, stated: Mapping[str, Json], provider: str, model: str
    ) -> tuple[str | None, dict[str, str], str | None]:
        """Where it is asked, with which headers, and the variable of its key. Azure has an address for each
        deployment, and a header of its own."""
        raw = stated.get("api_key")
        variable = MARKED.fullmatch(raw.strip()) if isinstance(raw, str) else None
        if raw is not None and variable is None:
            self.wrong("api_key", "a key does not stand in a file", "write api_key: ${{ NAME }}")
        self.text(stated, "api_key")
        key = variable[1] if variable else None
        base = self.known(stated, "endpoint", "resource", "resource_name", "base_url") or _BASES[provider]
        if not provider.startswith("azure"):
            return base, {}, key
        if not base:
            self.wrong("provider", "it has no `endpoint`", "such as https://NAME.openai.azure.com")
            return None, {}, None
        version = self.known(stated, "version", "api_version") or _AZURE_VERSION
        host = base.rstrip("/") if "://" in base else f"https://{base}.openai.azure.com"
        url = f"{host}/openai/deployments/{model}/chat/completions?api-version={version}"
        return url, {"api-key": f"{{{{{key}}}}}"} if key else {}, None


def _are_statuses(value: Json) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, int) and not isinstance(one, bool) and may_change(one) for one in value
    )


def _seconds(milliseconds: int | float | None) -> float | None:
    return milliseconds / 1000 if milliseconds else None


def _unknown(provider: str) -> tuple[str, str]:
    if provider in _AGENTS:
        what = f"the provider {provider!r} starts an agent, which is described by its command line here"
        return what, "provider: cli, and command_template: such as `claude -p {PROMPT}`"
    known = ("cli", "mock", *_BASES)
    what = f"unknown provider {provider!r}" if provider else "it has no `provider`"
    return what, nearest(provider, known) or f"one of {', '.join(known)}"

"""promptfoo's configuration as a file of test cases: every test with every prompt and every provider, each
prompt filled in. Programs, and what they compute, do not carry over and are listed."""

import csv
import os.path
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import product
from math import prod
from typing import Any

from baselinekit.errors import BaselinekitError
from baselinekit.files.languages import JSON, YAML
from baselinekit.importers.drafts import NotCarried, SourceText
from baselinekit.kinds.table import KINDS
from baselinekit.lazy import lazy_pattern
from baselinekit.model.traces import Role
from baselinekit.model.values import Json, Path
from baselinekit.moving import promptfooasserts
from baselinekit.moving.promptfooasserts import Asserted, Assertion, AssertionSet, render, render_texts
from baselinekit.moving.reading import BESIDE, DraftEvals, EvalFiles, Reading, in_file
from baselinekit.schema import read_as
from baselinekit.secrets.variables import escape_variables
from baselinekit.structs import Struct, Threshold, convert, defstruct, replace
from baselinekit.suites.writing import as_name
from baselinekit.values.paths import render as render_path

# The form of a configuration.


def _form(name: str, *keys: str, **types: Any) -> Any:
    """A form whose keys are all optional, and hold anything but where a type is given."""
    return defstruct(name, [(key, types.get(key, Json), None) for key in (*keys, *types)], bases=(Struct,))


Configuration = _form(
    "Configuration",
    *("prompts", "providers", "targets", "tests", "defaultTest", "scenarios", "assertionTemplates"),
    *(
        "description",
        "evaluateOptions",
        "outputPath",
        "sharing",
        "writeLatestResults",
        "commandLineOptions",
        "version",
    ),
    *("tracing", "metadata", "tags"),
)
OptionsOfTest = _form("OptionsOfTest", "provider", "disableVarExpansion")
PromptfooTest = _form(  # also what holds for all tests, and the data of a scenario
    "PromptfooTest",
    *("description", "provider"),
    vars=dict[str, Json] | str | None,
    options=OptionsOfTest | None,
    threshold=Threshold | None,
    metadata=dict[str, Json] | None,
    **dict.fromkeys(("assert", "providers", "prompts"), list[Json] | None),
)
Scenario = _form("Scenario", "description", "tests", config=list[Json] | None)
_SETTINGS = {"temperature": "temperature", "max_tokens": "max_tokens", "maxTokens": "max_tokens"}
_DESTINATIONS = ("apiBaseUrl", "apiHost")
_OF_CONFIGURATION = ("apiKey", "apiKeyEnvar", "organization", "cost")
ProviderConfig = _form("ProviderConfig", *_SETTINGS, *_DESTINATIONS, *_OF_CONFIGURATION)
StatedProvider = _form(
    "StatedProvider", "id", "label", "apiKeyRequired", config=ProviderConfig | None, prompts=list[Json] | None
)
_HINTS = {
    "redteam": "attacks that promptfoo generates are not cases: run them there",
    "extensions": "hooks are programs: guard.sh and verify.sh of a prompt folder are the same idea",
    "nunjucksFilters": "write the prompts without them",
    "env": "declare what requests need under `variables:` of baselinekit.yaml",
    "transform": "judge the answer as it is",
}
_FILE = "file://"
_PROGRAMS = (".js", ".cjs", ".mjs", ".ts", ".py", ".rb", ".sh", ".wasm", ".go")
_DATA = (".yaml", ".yml", ".json")
_MOST_VARIANTS = 10_000
ECHO = next(kind for kind in KINDS.values() if kind.asks_nobody)
"""The kind that answers with its input."""


def recognises(source: SourceText) -> bool:
    raw = source.value
    if not isinstance(raw, dict) or "evalcases" in raw or "test_cases" in raw:
        return False
    has_targets = any(key in raw for key in ("providers", "targets", "prompts"))
    return has_targets and any(key in raw for key in ("tests", "scenarios", "defaultTest", "redteam"))


def read(source: SourceText, files: EvalFiles) -> DraftEvals:
    reading = Reading(source, files, _HINTS)
    raw = reading.known(Configuration, source.value, ()) or {}
    prompts = [*_prompts(raw.get("prompts", "{{prompt}}"), reading)]
    key = "providers" if "providers" in raw else "targets"
    listed = _listed(raw.get(key), (key,))
    providers = [provider for stated, at in listed if (provider := _provider(stated, at, reading))]
    if raw.get(key) is None:
        providers = [Provider("", {})]
    elif not providers:
        reading.leave_out((key,), "no provider carries over", "name a model")
    config: dict[str, Json] = {}
    tests = [*_tests(raw, reading)]
    has_one_provider = len(providers) == 1 and all("provider" not in test.merged for test in tests)
    if has_one_provider and (shared := providers[0].execution):
        config["execution"] = shared
        providers = [replace(providers[0], execution={})]
    cases = [case for test in tests for case in _cases(test, prompts, providers, reading)]
    name, description = as_name(str(raw.get("description") or "promptfoo")), raw.get("description")
    metadata: dict[str, Json] = {"id": name}
    metadata |= {"description": description} if isinstance(description, str) else {}
    document: dict[str, Json] = {"schema_version": "1.0", "eval_type": "capability", "metadata": metadata}
    options = _mapping(raw.get("evaluateOptions"))
    repeat, timeout = options.get("repeat"), options.get("timeoutMs")
    if isinstance(repeat, int) and repeat > 1:
        reading.note(f"each test was asked {repeat} times: baselinekit run --attempts {repeat}")
    config |= {"timeout_seconds": timeout / 1000} if isinstance(timeout, int) and timeout > 0 else {}
    return reading.draft(name, document | ({"config": config} if config else {}) | {"test_cases": cases})


def _mapping(raw: Json) -> dict[str, Json]:
    return raw if isinstance(raw, dict) else {}


def _listed(raw: Json, at: Path) -> list[tuple[Json, Path]]:
    """The entries of a list, or the only one, each with its place; none if nothing is stated."""
    if isinstance(raw, list):
        return [(entry, (*at, number)) for number, entry in enumerate(raw)]
    return [] if raw is None else [(raw, at)]


# What a configuration states in other files.


def _files_named(source: str, reading: Reading) -> Sequence[str]:
    path = source.removeprefix(_FILE)
    if path.startswith("http"):
        raise NotCarried(f"the address {path!r}", "save it as a file first")
    if source.startswith("exec:") or path.split(":")[0].endswith(_PROGRAMS):
        raise NotCarried(f"{path!r} is a program", "write down what it makes")
    paths = reading.files.fitting(path) if "*" in path else [path]
    if not paths:
        raise NotCarried(f"no file fits {path!r}", BESIDE)
    return paths


def _entries(raw: Json, at: Path, reading: Reading) -> Iterator[tuple[Json, Path]]:
    """The entries of a list, and those of the files that it names, each with its place."""
    for entry, entry_at in _listed(raw, at):
        if not isinstance(entry, str):
            yield entry, entry_at
            continue
        with reading.listing(entry_at):
            for path in _files_named(entry, reading):
                value = _table(path, reading) if path.endswith(".csv") else reading.data(path)
                yield from _listed(value, in_file(path))


def _table(path: str, reading: Reading) -> list[Json]:
    """The tests of a CSV file: its columns are variables, and some state what is expected."""
    tests: list[Json] = []
    reading.row_lines[path] = lines = list[int]()
    table = csv.DictReader(re.split(r"(?<=\n)", reading.text(path)))
    try:
        for name in table.fieldnames or ():
            if name.startswith("__") and not name.startswith(("__expected", "__description")):
                reading.leave_out(in_file(path), f"the column {name!r}")
        for row in table:
            lines.append(table.line_num)
            tests.append(_row(row, reading, (*in_file(path), len(tests))))
    except csv.Error as error:
        raise NotCarried(f"{path}:{table.line_num + 1} cannot be read: {error}") from None
    if not tests:
        reading.leave_out(in_file(path), "a table without rows", "the first line names the columns")
    return tests


def _row(row: Mapping[str | None, Any], reading: Reading, at: Path) -> dict[str, Json]:
    test: dict[str, Json] = {"vars": {}, "assert": []}
    for key, value in row.items():
        if key is None:
            reading.leave_out(at, f"{value!r} in no column")
        elif key.startswith("__expected"):
            test["assert"] += [promptfooasserts.from_short(value)] if value and value.strip() else []
        elif key == "__description":
            test |= {"description": value} if value else {}
        elif not key.startswith("__") and value is not None:  # the row may be shorter than the others
            test["vars"][key] = value
    return test


# Its prompts.


class AskedMessage(Struct):
    role: Role
    content: str


class PromptText(Struct):
    """One prompt. `label`: its name; `messages`: if it is a list of messages."""

    label: str
    text: str
    messages: tuple[AskedMessage, ...] = ()


_IS_PATH = lazy_pattern(r"[\w./*-]+\.(?:txt|md|json|jsonl|ya?ml|csv|j2|js|cjs|mjs|ts|py|sh|rb)")


def _prompts(raw: Json, reading: Reading) -> Iterator[PromptText]:
    for number, (prompt, at) in enumerate(_listed(raw, ("prompts",)), 1):
        label = prompt.get("label") if isinstance(prompt, dict) else None
        source = (prompt.get("raw") or prompt.get("id")) if isinstance(prompt, dict) else prompt
        with reading.listing(at):
            if not isinstance(source, str):
                raise NotCarried("a prompt that is not a text", "write it as a text or name its file")
            if source.startswith((_FILE, "exec:")) or _IS_PATH.fullmatch(source):
                texts = [
                    text for path in _files_named(source, reading) for text in _prompt_file(path, reading)
                ]
            else:
                texts = [("", text) for text in _parts(source)]
            for index, (name, text) in enumerate(texts, 1):
                full_label = str(label or name or f"prompt-{number}")
                full_label = full_label if len(texts) == 1 else f"{full_label}:{index}"
                yield PromptText(full_label, text, _messages(full_label, text))


def _parts(text: str) -> list[str]:
    """The prompts of a text, which may hold several."""
    parts = re.split(r"^---[ \t]*$", text, flags=re.MULTILINE)
    return [text] if len(parts) == 1 else [part.strip() for part in parts if part.strip()]


def _prompt_file(path: str, reading: Reading) -> list[tuple[str, str]]:
    """The prompts of a file, each with its name."""
    if path.endswith((".csv", ".jsonl")):
        raise NotCarried(f"the table of prompts {path!r}", "write each prompt as a text")
    text, name = reading.text(path), os.path.splitext(os.path.basename(path))[0]
    return [(name, part) for part in ([text] if path.endswith(_DATA) else _parts(text.removesuffix("\n")))]


def _messages(label: str, text: str) -> tuple[AskedMessage, ...]:
    """The messages of a prompt that is a list of them, in JSON or YAML; none of any other text."""
    beginning = text.lstrip()
    if not beginning.startswith(("[", "- role:")):
        return ()
    try:
        value = (JSON if beginning.startswith("[") else YAML).load(text, label)[0]
    except BaselinekitError:
        return ()
    if not isinstance(value, list) or not any(isinstance(item, dict) and "role" in item for item in value):
        return ()
    messages, problems = read_as(list[AskedMessage], value)
    if messages is None:
        message = f"{render_path(problems[0].at or ())}: {problems[0].message} in the prompt {label!r}"
        raise NotCarried(message, "a message is {role, content: a text}")
    return tuple(messages)


# Its providers, as models by their names in our configuration.


class Provider(Struct):
    """The model that cases ask; none for an echo. `prompts`: the prompts that it is asked with, if not
    all."""

    label: str
    execution: dict[str, Json]
    prompts: tuple[str, ...] = ()
    is_echo: bool = False


_LOGIN = lazy_pattern(r"(?<=://)[^/?#\s]*@")
_PLAIN_PROVIDERS = ("openai", "anthropic")
_ELSEWHERE = (_FILE, "exec:", "python:", "javascript:", "golang:", "ruby:", "package:", "http", "ws")


def _without_login(id: str) -> str:
    """An address without credentials: names are made of it, which appear in files and reports."""
    return _LOGIN.sub("", id).partition("?")[0] if "://" in id else id


def _provider(stated: Json, at: Path, reading: Reading) -> Provider | None:
    stated = {"id": stated} if isinstance(stated, str) else stated
    if not isinstance(stated, dict) or not isinstance(stated.get("id"), str):
        reading.leave_out(at, "a provider without an id", "name a model")
        return None
    id = _without_login(stated["id"])
    label = _without_login(str(stated.get("label") or id))
    provider = reading.known(StatedProvider, stated, at, f"the provider {label!r}") or {}
    prompts = tuple(map(str, provider.get("prompts") or ()))
    if id == "echo":
        return Provider(label, {}, prompts, is_echo=True)
    model = _model_of(provider, reading)
    execution: dict[str, Json] = {"type": "prompt", "model": model}
    if id.startswith(_ELSEWHERE):
        message = f"the provider {id!r} is a program or an address of its own"
        hint = f"name what it is in baselinekit.yaml: models: {{{model}: {{command: […]}}}}"
        reading.leave_out(at, message, hint)
    for key, value in (provider.get("config") or {}).items():
        if key in _SETTINGS:
            execution[_SETTINGS[key]] = value
        elif key in _DESTINATIONS:
            address = _without_login(str(value))
            if isinstance(declared := reading.models.get(model), dict):
                url = address if "://" in address else f"https://{address}"
                reading.models[model] = {**declared, "base_url": url}
            message = f"`{key}` of the provider {label!r}: its prompts and its key go to {address}"
            hint = f"state it as `base_url` of the model {model} in baselinekit.yaml"
            reading.leave_out((*at, "config", key), message, hint)
        else:
            reading.note(f"`{key}` of the provider {label!r} is for baselinekit.yaml to state")
    return Provider(label, execution, prompts)


def _model_of(provider: Mapping[str, Json], reading: Reading) -> str:
    """The name of a model in our configuration. How it would be declared there is noted."""
    family, _, remaining = _without_login(str(provider["id"])).partition(":")
    kind, _, model = remaining.partition(":")
    model = model if kind in ("chat", "responses", "completion", "messages") and model else remaining
    name = as_name(_without_login(str(provider.get("label") or model or family)))
    is_plain = family in _PLAIN_PROVIDERS and bool(model)
    reading.models[name] = {family: model, "key": f"{family}_key"} if is_plain else None
    return name


# Its tests, from wherever they are stated.


class StatedTest(Struct):
    """A test at its place, with what holds for it: `merged` has its own keys, those of its scenario and those
    of all tests. Each of its assertions has its place."""

    at: Path
    merged: dict[str, Json]
    assertions: tuple[tuple[Json, Path], ...]

    @property
    def options(self) -> dict[str, Json]:
        return self.merged.get("options") or {}


Layer = tuple[dict[str, Json], Path]


def _tests(raw: Mapping[str, Json], reading: Reading) -> Iterator[StatedTest]:
    default = ("defaultTest",)
    usual = _layer(raw.get("defaultTest") or {}, default, "the default test", reading) or ({}, default)
    for entry in _entries(raw.get("tests"), ("tests",), reading):
        if own := _layer(*entry, "a test", reading):
            yield _merged(usual, own)
    for stated, at in _entries(raw.get("scenarios"), ("scenarios",), reading):
        scenario = reading.known(Scenario, stated, at, "a scenario") or {"tests": None}
        for data, data_at in _listed(scenario.get("config") or [{}], (*at, "config")):
            shared = _layer(data, data_at, "a scenario", reading) or ({}, at)
            for entry in _entries(scenario.get("tests", [{}]), (*at, "tests"), reading):
                if own := _layer(*entry, "a test", reading):
                    yield _merged(usual, shared, own)


def _layer(raw: Json, at: Path, what: str, reading: Reading) -> Layer | None:
    test = reading.known(PromptfooTest, raw, at, what)
    if test is not None and isinstance(file := test.get("vars"), str):
        test["vars"] = {}
        with reading.listing((*at, "vars")):
            test["vars"] = _mapping(reading.data(file.removeprefix(_FILE)))
    return None if test is None else (test, at)


def _merged(*layers: Layer) -> StatedTest:
    """A test of the mappings that state it, the most general first."""
    merged: dict[str, Json] = {}
    assertions: list[tuple[Json, Path]] = []
    for raw, at in layers:
        for key, value in raw.items():
            is_mapping = key in ("vars", "options", "metadata")
            merged[key] = {**merged.get(key, {}), **(value or {})} if is_mapping else value
        assertions += _listed(raw.get("assert"), (*at, "assert"))
    return StatedTest(layers[-1][1], merged, tuple(assertions))


def _variants(test: StatedTest, reading: Reading) -> list[Mapping[str, Json]]:
    """The variables of a test: a list of values makes a test of each value, unless the test disables it."""
    stated = test.merged.get("vars", {}).items()
    values = {name: _read_value(f"the variable {name!r}", value, reading) for name, value in stated}
    if test.options.get("disableVarExpansion"):
        return [promptfooasserts.filled(values)]
    names = [name for name, value in values.items() if isinstance(value, list)]
    count = prod(len(values[name]) for name in names)
    if count > _MOST_VARIANTS:
        hint = f"at most {_MOST_VARIANTS:,}: list fewer values, or set `options.disableVarExpansion`"
        raise NotCarried(f"{count:,} combinations of the values of its variables", hint)
    chosen = product(*(values[name] for name in names))
    return [
        promptfooasserts.filled({**values, **dict(zip(names, combination, strict=True))})
        for combination in chosen
    ]


def _read_value(what: str, value: Json, reading: Reading) -> Json:
    """A value, or the content of the file that it names."""
    if not isinstance(value, str) or not value.startswith(_FILE):
        return value
    path = value.removeprefix(_FILE)
    if path.split(":")[0].endswith(_PROGRAMS):
        raise NotCarried(f"{what} is computed by {path!r}", "write down what it gives")
    if "*" in path:
        return [reading.text(file) for file in reading.files.fitting(path)]
    return reading.data(path) if path.endswith(_DATA) else reading.text(path)


# A test with each prompt and each provider, as cases.


def _cases(
    test: StatedTest, prompts: Sequence[PromptText], providers: Sequence[Provider], reading: Reading
) -> Iterator[dict[str, Json]]:
    asked: list[tuple[Mapping[str, Json], Provider, PromptText]] = []
    with reading.listing(test.at):
        every = product(_variants(test, reading), _asked(test, providers, reading), prompts)
        asked = [one for one in every if _fits(one[2].label, test.merged.get("prompts") or one[1].prompts)]
        if prompts and not asked:
            raise NotCarried("nothing fits its values, `prompts` and `providers`", "correct them")
    for values, provider, prompt in asked:
        with reading.listing(test.at):
            case = _case(test, values, prompt, provider, reading)
            labels = [prompt.label] if len(prompts) > 1 else []
            labels += [provider.label] if len(providers) > 1 else []
            description = test.merged.get("description")
            title = description if isinstance(description, str) else ""
            head: dict[str, Json] = {"id": reading.own_id("-".join([title or "test", *labels]))}
            head |= {"name": " · ".join([title, *labels])} if title else {}
            case |= {"sidecar": test.merged["metadata"]} if test.merged.get("metadata") else {}
            yield head | case | ({"metadata": {"tags": labels}} if labels else {})


def _asked(test: StatedTest, providers: Sequence[Provider], reading: Reading) -> Sequence[Provider]:
    """The providers that a test is for: its own one, or those of the configuration that it names, or all."""
    own, names = test.merged.get("provider"), test.merged.get("providers")
    if own is not None:
        named = [provider for provider in providers if provider.label == own]
        single = None if named else _provider(own, (*test.at, "provider"), reading)
        return named or ([single] if single else providers)
    return [one for one in providers if _fits(one.label, names)]


def _fits(name: str, names: Sequence[Json] | None) -> bool:
    """Whether a label is among the names: whole, its part before a colon, or with `*`. No names: each is."""
    return not names or any(fnmatchcase(name, str(one)) or f"{name}:".startswith(f"{one}:") for one in names)


def _case(
    test: StatedTest, values: Mapping[str, Json], prompt: PromptText, provider: Provider, reading: Reading
) -> dict[str, Json]:
    case: dict[str, Json] = {"input": _input(prompt, values, provider)}
    case |= {"execution": provider.execution} if provider.execution else {}
    graders: list[dict[str, Json]] = []
    for stated, at in test.assertions:
        asserted = _asserted(stated, at, values, test, reading)
        if asserted is not None and asserted.expected is not None and "expected" not in case:
            case["expected"] = {"type": "exact", "value": asserted.expected}
            config = {"method": "exact_match", "trim_whitespace": False, "normalize_newlines": False}
            graders.append({**asserted.grader, "config": config})
        elif asserted is not None:
            graders.append(asserted.grader)
    if not graders:
        raise NotCarried("a test without an assertion that carries over", "give it an assertion")
    threshold = test.merged.get("threshold")
    if threshold is None:
        return case | {"graders": graders}
    rule = {"by": "mean", "pass_at": threshold, "borderline_at": threshold}
    return case | {"graders": [{**grader, "required": False} for grader in graders], "pass_rule": rule}


def _input(prompt: PromptText, values: Mapping[str, Json], provider: Provider) -> dict[str, Json]:
    where = f"the prompt {prompt.label!r}"
    if prompt.messages and not provider.is_echo:
        messages = ((message.role, render(message.content, values, where)) for message in prompt.messages)
        return {"type": "messages", "content": [{"role": role, "content": text} for role, text in messages]}
    kind = ECHO.eval_input if provider.is_echo else "prompt"
    return {"type": kind, "content": escape_variables(render(prompt.text, values, where))}


# Its assertions, with their texts filled in and their files read.


def _asserted(
    raw: Json, at: Path, values: Mapping[str, Json], test: StatedTest, reading: Reading
) -> Asserted | None:
    """The grader of an assertion; None if there is none, which is listed."""
    raw = promptfooasserts.from_short(raw) if isinstance(raw, str) else raw
    if isinstance(raw, dict) and isinstance(reference := raw.get("$ref"), str):
        templates = _mapping(_mapping(reading.source.value).get("assertionTemplates"))
        template = _mapping(templates.get(reference.removeprefix("#/assertionTemplates/")))
        raw = {**template, **{key: value for key, value in raw.items() if key != "$ref"}}
    if not isinstance(raw, dict) or not isinstance(raw.get("type"), str):
        reading.leave_out(at, "an assertion without a type")
        return None
    form: Any = AssertionSet if raw["type"] == promptfooasserts.SET else Assertion
    if reading.known(form, raw, at, f"`{raw['type']}`") != raw:
        return None  # with a part less it would judge something else
    asserted = None
    with reading.listing(at):
        stated = convert(raw, form)
        if isinstance(stated, AssertionSet):
            parts = _listed(stated.parts, (*at, "assert"))
            found = [_asserted(part, place, values, test, reading) for part, place in parts]
            graders = [asserted.grader for asserted in found if asserted is not None]
            if not found or len(graders) < len(found):
                raise NotCarried(
                    "an assert-set with a part that does not carry over", "state all of its parts"
                )
            return promptfooasserts.in_set(stated, graders)
        promptfooasserts.check_counterpart(stated.type)
        where = f"`{stated.type}`"
        value = render_texts(_read_value(where, stated.value, reading), values, where)
        asserted = promptfooasserts.graded(replace(stated, value=value), _judge(stated, test, reading))
        if asserted.note:
            reading.note(asserted.note)
    return asserted


def _judge(assertion: Assertion, test: StatedTest, reading: Reading) -> str | None:
    """The model that judges; None for the usual one, and for an assertion that no model judges."""
    judge = assertion.provider if assertion.provider is not None else test.options.get("provider")
    if judge is None or promptfooasserts.base_type(assertion.type) not in promptfooasserts.CRITERIA:
        return None
    judge = judge if isinstance(judge, dict) else {"id": judge}
    if not isinstance(judge.get("id"), str):
        raise NotCarried(f"`{assertion.type}` whose provider has no id", "name a model")
    config = _mapping(judge.get("config"))
    if addresses := [config[key] for key in _DESTINATIONS if key in config]:
        message = f"`{assertion.type}` whose judge is at {_without_login(str(addresses[0]))}"
        raise NotCarried(message, "state the judge as a model with a `base_url` in baselinekit.yaml")
    if config:
        reading.note(f"the config of the judge {judge['id']!r} is for baselinekit.yaml to state")
    return _model_of(judge, reading)

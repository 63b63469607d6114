"""promptfoo's configuration as a file of test cases: every test with every prompt and every provider, each
prompt filled in. Programs, and what they compute, do not carry over and are listed."""

import csv
import os.path
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from baselinekit.errors import BaselinekitError
from baselinekit.files.jsontext import pretty
from baselinekit.files.languages import JSON, YAML
from baselinekit.importers.drafts import NotCarried, SourceText
from baselinekit.kinds.table import KINDS
from baselinekit.lazy import lazy_pattern
from baselinekit.model.traces import Role
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.moving import promptfooasserts
from baselinekit.moving.promptfooasserts import Asserted, Assertion, AssertionSet, render, render_texts
from baselinekit.moving.reading import BESIDE, DraftEvals, EvalFiles, Reading, in_file
from baselinekit.schema import read_as
from baselinekit.secrets.variables import escape_variables
from baselinekit.structs import Struct, Threshold, convert, defstruct, replace
from baselinekit.suites.writing import as_name
from baselinekit.values.paths import render as render_path
from baselinekit.values.places import value_or_absent

# The form of a configuration.


def _form(name: str, *keys: str, **types: Any) -> Any:
    """A form whose keys are all optional, and hold anything but where a type is given."""
    return defstruct(name, [(key, types.get(key, Json), None) for key in (*keys, *types)], bases=(Struct,))


_WITHOUT_EFFECT = (
    *("outputPath", "sharing", "writeLatestResults", "commandLineOptions", "version", "tracing", "metadata"),
    "tags",
)
Configuration = _form(
    "Configuration",
    *("prompts", "providers", "targets", "tests", "defaultTest", "scenarios", "description"),
    *("evaluateOptions", "assertionTemplates", *_WITHOUT_EFFECT),
)


OptionsOfTest = _form(
    "OptionsOfTest",
    *("provider", "runSerially", "disableDefaultAsserts", "disableVarExpansion"),
    **dict.fromkeys(("prefix", "suffix"), str | None),
)
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
    "derivedMetrics": "the metrics of a run are in its report",
    "env": "declare what requests need under `variables:` of baselinekit.yaml",
    "transform": "judge the answer as it is",
    "assertScoringFunction": "a threshold, or the weights of graders, say how they count",
    "rubricPrompt": "state the rubric: judges are asked in the words of baselinekit",
    "storeOutputAs": "a skill or a flow has several steps",
}
_FILE = "file://"
_PROGRAMS = (".js", ".cjs", ".mjs", ".ts", ".py", ".rb", ".sh", ".wasm", ".go")
_DATA = (".yaml", ".yml", ".json")
_MOST_VARIANTS = 10_000
NOBODY = next(kind for kind in KINDS.values() if kind.asks_nobody)
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
    is_data = re.compile(rf"{_FILE}.*({'|'.join(map(re.escape, _DATA))})").fullmatch
    listed = _entries(raw.get(key), (key,), reading, lambda text: bool(is_data(text)))
    providers = [provider for each, at in listed if (provider := _provider(each, at, reading))]
    if raw.get(key) is None:
        providers = [Provider("", {})]
    elif not providers:
        reading.leave_out((key,), "no provider carries over", "name a model")
    cases = [case for test in _tests(raw, reading) for case in _cases(test, prompts, providers, reading)]
    name, description = as_name(str(raw.get("description") or "promptfoo")), raw.get("description")
    metadata: dict[str, Json] = {"id": name}
    metadata |= {"description": description} if isinstance(description, str) else {}
    document: dict[str, Json] = {"schema_version": "1.0", "eval_type": "capability", "metadata": metadata}
    options = _mapping(raw.get("evaluateOptions"))
    repeat, timeout = options.get("repeat"), options.get("timeoutMs")
    if isinstance(repeat, int) and repeat > 1:
        reading.note(f"each test was asked {repeat} times: baselinekit run --attempts {repeat}")
    config = {"timeout_seconds": timeout / 1000} if isinstance(timeout, int) and timeout > 0 else {}
    executions = [case.get("execution") for case in cases]
    if cases and executions[0] is not None and all(execution == executions[0] for execution in executions):
        config["execution"] = executions[0]
        cases = [{key: value for key, value in case.items() if key != "execution"} for case in cases]
    return reading.draft(name, document | ({"config": config} if config else {}) | {"test_cases": cases})


def _mapping(raw: Json) -> dict[str, Json]:
    return raw if isinstance(raw, dict) else {}


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


def _entries(
    raw: Json,
    at: Path,
    reading: Reading,
    names_file: Callable[[str], bool] = lambda text: True,
    within: tuple[str, ...] = (),
) -> Iterator[tuple[Json, Path]]:
    """The entries of a list, and those of the files that it names, each with its place. `within`: the files
    that lead here."""
    for number, entry in enumerate(raw if isinstance(raw, list) else [raw] if raw is not None else []):
        entry_at = (*at, number) if isinstance(raw, list) else at
        if isinstance(entry, dict) and isinstance(entry.get("path"), str) and "vars" not in entry:
            entry = entry["path"]
        if not isinstance(entry, str) or not names_file(entry):
            yield entry, entry_at
            continue
        named: list[tuple[str, Json]] = []
        with reading.listing(entry_at):
            for path in _files_named(entry, reading):
                if path in within:
                    raise NotCarried(f"{path!r}, which names itself", "break the circle")
                value = _table(path, reading) if path.endswith(".csv") else reading.data(path)
                named.append((path, value))
        for path, value in named:
            yield from _entries(value, in_file(path), reading, names_file, (*within, path))


_LINE = lazy_pattern(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_COLUMNS = {"__description": "description", "__threshold": "threshold", "__metric": "metric"}
_KNOWN_COLUMNS = ("__expected", *_COLUMNS, "__prefix", "__suffix")


def _lines_of(text: str) -> list[str]:
    """The lines of a table with their ends. `splitlines` ends them at further characters."""
    return _LINE.findall(text)


def _table(path: str, reading: Reading) -> list[Json]:
    """The tests of a CSV file: its columns are variables, and some state what is expected."""
    tests: list[Json] = []
    reading.row_lines[path] = lines = list[int]()
    table = csv.DictReader(_lines_of(reading.text(path)))
    try:
        names = table.fieldnames or ()
        for name in names:
            if names.count(name) > 1:
                reading.leave_out(in_file(path), f"the column {name!r} that occurs twice", "name each once")
            elif name.startswith("__") and not name.startswith(_KNOWN_COLUMNS):
                reading.leave_out(in_file(path), f"the column {name!r}")
        for row in table:
            cells = [cell for one in row.values() for cell in (one if isinstance(one, list) else [one])]
            # a cell may have several lines
            below = sum(len(_lines_of(f"{cell}.")) - 1 for cell in cells if cell)
            lines.append(table.line_num - below)
            tests.append(_row(row, reading, (*in_file(path), len(tests))))
    except csv.Error as error:
        lines.append(table.reader.line_num)
        message = f"a row of a table that cannot be read: {error}"
        reading.leave_out((*in_file(path), len(lines) - 1), message, "the rows from there on are left out")
    if not tests:
        reading.leave_out(in_file(path), "a table without rows", "the first line names the columns")
    return tests


def _row(row: Mapping[str | None, str | list[str]], reading: Reading, at: Path) -> dict[str, Json]:
    test: dict[str, Json] = {"vars": {}, "assert": [], "options": {}}
    for key, value in row.items():
        if key is None or isinstance(value, list):
            reading.leave_out(at, f"{value!r} in no column")
        elif key.startswith("__expected"):
            test["assert"] += [promptfooasserts.from_short(value)] if value and value.strip() else []
        elif key in ("__prefix", "__suffix"):
            test["options"][key[2:]] = value
        elif key == "__threshold":
            try:
                test |= {"threshold": float(value)} if value and value.strip() else {}
            except ValueError:
                reading.leave_out(at, f"the threshold {value!r}", "a number from 0 to 1")
        elif key in _COLUMNS:
            test |= {_COLUMNS[key]: value} if value else {}
        elif not key.startswith("__") and value is not None:  # the row may be shorter than the others
            test["vars"][key] = value
    return test


# Its prompts.


class PromptText(Struct):
    """One prompt. `label`: its name; `value`: its value, if it is JSON; `messages`: if it is a list of
    messages; `lost`: what of these cannot be sent here."""

    label: str
    text: str
    value: Json = ABSENT
    messages: tuple[tuple[str, str], ...] = ()
    lost: str = ""


class AskedMessage(Struct):
    role: Role
    content: str


_IS_PATH = lazy_pattern(r"[\w./*-]+\.(?:txt|md|json|jsonl|ya?ml|csv|j2|js|cjs|mjs|ts|py|sh|rb)")


def _prompts(raw: Json, reading: Reading) -> Iterator[PromptText]:
    listed = raw if isinstance(raw, list) else [raw]
    if isinstance(raw, dict):  # the old form: a file, and what it is called
        listed = [{"id": key, "label": value} for key, value in raw.items()]
    for number, prompt in enumerate(listed):
        label = prompt.get("label") if isinstance(prompt, dict) else None
        source = (prompt.get("raw") or prompt.get("id")) if isinstance(prompt, dict) else prompt
        texts: list[tuple[str, str]] = []
        with reading.listing(("prompts", number) if isinstance(raw, list) else ("prompts",)):
            if not isinstance(source, str):
                raise NotCarried("a prompt that is no text", "write it as a text or name its file")
            if source.startswith((_FILE, "exec:")) or _IS_PATH.fullmatch(source):
                texts = [one for path in _files_named(source, reading) for one in _prompt_file(path, reading)]
            else:
                texts = [("", text) for text in _parts(source)]
        for index, (name, text) in enumerate(texts, 1):
            full_label = str(label or name or f"prompt-{number + 1}")
            yield _prompt(full_label if len(texts) == 1 else f"{full_label}:{index}", text)


def _parts(text: str) -> list[str]:
    """The prompts of a text, which may hold several."""
    parts = re.split(r"^---[ \t]*$", text, flags=re.MULTILINE)
    return [text] if len(parts) == 1 else [part.strip() for part in parts if part.strip()]


def _prompt_file(path: str, reading: Reading) -> Iterator[tuple[str, str]]:
    """The prompts of a file, each with its name."""
    text, name = reading.text(path), os.path.splitext(os.path.basename(path))[0]
    if path.endswith(".csv"):
        try:
            for row in csv.DictReader(_lines_of(text)):
                yield str(row.get("label") or name), str(row.get("prompt") or "")
        except csv.Error as error:
            raise NotCarried(f"{path}: a row of a table that cannot be read: {error}") from None
    else:
        is_text = path.endswith((".txt", ".md", ".j2"))
        yield from ((name, part) for part in (_parts(text.removesuffix("\n")) if is_text else [text]))


def _prompt(label: str, text: str) -> PromptText:
    """The prompt of a text. A list of messages is sent as such."""
    beginning = text.lstrip()
    if not beginning.startswith(("[", "{", '"', "- role:")):
        return PromptText(label, text)
    is_yaml = beginning.startswith("-")
    try:
        value = (YAML if is_yaml else JSON).load(text, label)[0]
    except BaselinekitError:
        return PromptText(label, text)
    parsed = ABSENT if is_yaml else value
    if not isinstance(value, list) or not any(isinstance(item, dict) and "role" in item for item in value):
        return PromptText(label, text, parsed)
    messages, problems = read_as(list[AskedMessage], value)
    if messages is None:
        lost = f"{render_path(problems[0].at or ())}: {problems[0].message}"
        return PromptText(label, text, parsed, lost=lost)
    return PromptText(label, text, parsed, tuple((one.role, one.content) for one in messages))


# Its providers, as models by their names in our configuration.


class Provider(Struct):
    """The model that cases ask; none for an echo. `prompts`: the prompts that it is asked with, if not
    all."""

    label: str
    execution: dict[str, Json]
    prompts: tuple[str, ...] = ()

    @property
    def asks_nobody(self) -> bool:
        return self.execution.get("type") == NOBODY.name


_LOGIN = lazy_pattern(r"(?<=://)[^/?#\s]*@")
_PLAIN_PROVIDERS = ("openai", "anthropic")
_ELSEWHERE = (_FILE, "exec:", "python:", "javascript:", "golang:", "ruby:", "package:", "http", "ws")


def _without_login(id: str) -> str:
    """An address without credentials: names are made of it, which appear in files and reports."""
    return _LOGIN.sub("", id).partition("?")[0] if "://" in id else id


def _provider(stated: Json, at: Path, reading: Reading) -> Provider | None:
    if isinstance(stated, dict) and "id" not in stated and len(stated) == 1:  # the old form: {id: {config}}
        ((id, config),) = stated.items()
        stated = {"id": id, **_mapping(config)}
    stated = {"id": stated} if isinstance(stated, str) else stated
    if not isinstance(stated, dict) or not isinstance(stated.get("id"), str):
        reading.leave_out(at, "a provider without an id", "name a model")
        return None
    id = _without_login(stated["id"])
    label = _without_login(str(stated.get("label") or id))
    provider = reading.known(StatedProvider, stated, at, f"the provider {label!r}") or {}
    prompts = tuple(map(str, provider.get("prompts") or ()))
    if id == "echo":
        return Provider(label, {"type": NOBODY.name}, prompts)
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


def _fits(names: Sequence[Json], label: str) -> bool:
    """Whether one of the names refers to this label: to itself, or to its group."""
    prefixes = (f"{str(name).removesuffix('*').removesuffix(':')}:" for name in names)
    return label in map(str, names) or any(label.startswith(prefix) for prefix in prefixes)


# Its tests, from wherever they are stated.


class StatedTest(Struct):
    """A test with what holds for it: the mappings that state it, each with its place, the most general
    first."""

    layers: tuple[tuple[dict[str, Json], Path], ...]
    merged: dict[str, Json]

    @property
    def at(self) -> Path:
        return self.layers[-1][1]

    @property
    def options(self) -> dict[str, Json]:
        return self.merged.get("options") or {}

    def place_of(self, *path: str) -> Path:
        """The place of a setting: where it is stated last."""
        stated = (at for raw, at in reversed(self.layers) if value_or_absent(raw, path) is not ABSENT)
        return (*next(stated, self.at), *path)

    def assertions(self) -> list[tuple[Json, Path]]:
        """Its assertions, those of its scenario and those of all tests, each with its place."""
        layers = self.layers[1:] if self.options.get("disableDefaultAsserts") else self.layers
        stated = [(raw.get("assert") or [], (*at, "assert")) for raw, at in layers]
        return [(raw, (*at, number)) for listed, at in stated for number, raw in enumerate(listed)]


def _tests(raw: Mapping[str, Json], reading: Reading) -> Iterator[StatedTest]:
    at: Path = ("defaultTest",)
    default = raw.get("defaultTest")
    if isinstance(default, str):
        with reading.listing(at):
            path = default.removeprefix(_FILE)
            default, at = reading.data(path), in_file(path)
    usual = _layer({} if default is None else default, at, "the default test", reading) or ({}, at)
    for entry in _entries(raw.get("tests"), ("tests",), reading):
        if own := _layer(*entry, "a test", reading):
            yield _merged(usual, own)
    for stated, at in _entries(raw.get("scenarios"), ("scenarios",), reading):
        scenario = reading.known(Scenario, stated, at, "a scenario") or {"tests": None}
        for number, data in enumerate(scenario.get("config") or [{}]):
            shared = _layer(data, (*at, "config", number), "a scenario", reading) or ({}, at)
            for entry in _entries(scenario.get("tests", [{}]), (*at, "tests"), reading):
                if own := _layer(*entry, "a test", reading):
                    yield _merged(usual, shared, own)


def _layer(raw: Json, at: Path, what: str, reading: Reading) -> tuple[dict[str, Json], Path] | None:
    test = reading.known(PromptfooTest, raw, at, what)
    if test is not None and isinstance(file := test.get("vars"), str):
        test["vars"] = {}
        with reading.listing((*at, "vars")):
            test["vars"] = _mapping(reading.data(file.removeprefix(_FILE)))
    return None if test is None else (test, at)


def _merged(*layers: tuple[dict[str, Json], Path]) -> StatedTest:
    merged: dict[str, Json] = {}
    for raw, _ in layers:
        for key, value in raw.items():
            if key in ("vars", "options", "metadata"):
                merged[key] = {**merged.get(key, {}), **(value or {})}
            else:
                merged[key] = value
    return StatedTest(layers, merged)


def _variants(test: StatedTest, reading: Reading) -> list[Mapping[str, Json]]:
    """The variables of a test: a list of values makes a test of each value, unless the test disables it."""
    values = {name: _value(name, value, reading) for name, value in test.merged.get("vars", {}).items()}
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


def _value(name: str, value: Json, reading: Reading) -> Json:
    if not isinstance(value, str) or not value.startswith(_FILE):
        return value
    path = value.removeprefix(_FILE)
    if path.split(":")[0].endswith(_PROGRAMS):
        raise NotCarried(f"the variable {name!r} is computed by {path!r}", "write down what it gives")
    if "*" in path:
        return [reading.text(file) for file in reading.files.fitting(path)]
    return reading.data(path) if path.endswith(_DATA) else reading.text(path)


# A test with each prompt and each provider, as cases.


def _cases(
    test: StatedTest, prompts: Sequence[PromptText], providers: Sequence[Provider], reading: Reading
) -> Iterator[dict[str, Json]]:
    if (own := test.merged.get("provider")) is not None:
        label = _without_login(str(own.get("id") if isinstance(own, dict) else own))
        named = [provider for provider in providers if provider.label == label]
        single = None if named else _provider(own, test.place_of("provider"), reading)
        providers = named or ([single] if single else providers)
    elif (names := test.merged.get("providers")) is not None:
        providers = [provider for provider in providers if _fits(names, provider.label)]
    variants: list[Mapping[str, Json]] = []
    with reading.listing(test.at):
        variants = _variants(test, reading)
    for values, provider, prompt in product(variants, providers, prompts):
        chosen = test.merged.get("prompts") or provider.prompts
        if chosen and not _fits(chosen, prompt.label):
            continue
        with reading.listing(test.at):
            case = _case(test, values, prompt, provider, reading)
            labels = [prompt.label] if len(prompts) > 1 else []
            labels += [provider.label] if len(providers) > 1 else []
            description = test.layers[-1][0].get("description")
            title = description if isinstance(description, str) else ""
            head: dict[str, Json] = {"id": reading.own_id("-".join([title or "test", *labels]))}
            head |= {"name": " · ".join([title, *labels])} if title else {}
            case |= {"sidecar": test.merged["metadata"]} if test.merged.get("metadata") else {}
            metadata: dict[str, Json] = {"tags": labels} if labels else {}
            metadata |= {"parallel": False} if test.options.get("runSerially") else {}
            yield head | case | ({"metadata": metadata} if metadata else {})


def _case(
    test: StatedTest, values: Mapping[str, Json], prompt: PromptText, provider: Provider, reading: Reading
) -> dict[str, Json]:
    case: dict[str, Json] = {"input": _input(test, values, prompt, provider)}
    if provider.execution and not provider.asks_nobody:
        case["execution"] = provider.execution
    graders: list[dict[str, Json]] = []
    for assertion, at in test.assertions():
        for asserted in _asserted(assertion, at, values, test, reading):
            again = asserted.expected and "expected" in case
            kept = _by_pattern(asserted, at, reading) if again else asserted
            if kept is not None:
                case |= {"expected": kept.expected} if kept.expected else {}
                graders.append(kept.grader)
    if not graders:
        raise NotCarried("a test without an assertion that carries over", "give it an assertion")
    threshold = test.merged.get("threshold")
    if threshold is None:
        return case | {"graders": graders}
    rule = {"by": "mean", "pass_at": threshold, "borderline_at": threshold}
    return case | {"graders": [{**grader, "required": False} for grader in graders], "pass_rule": rule}


def _input(
    test: StatedTest, values: Mapping[str, Json], prompt: PromptText, provider: Provider
) -> dict[str, Json]:
    before, after = test.options.get("prefix") or "", test.options.get("suffix") or ""
    if before or after:  # the whole is the prompt, whatever a part of it looks like
        prompt = _prompt(prompt.label, f"{before}{prompt.text}{after}")
    where = f"the prompt {prompt.label!r}"
    if not provider.asks_nobody and prompt.lost:
        raise NotCarried(f"{prompt.lost} in {where}", "a message is {role, content: a text}")
    if not provider.asks_nobody and prompt.messages:
        content = [{"role": role, "content": render(text, values, where)} for role, text in prompt.messages]
        return {"type": "messages", "content": content}
    if prompt.value is ABSENT:
        text = render(prompt.text, values, where)
    else:  # each text of JSON is filled in by itself: a quote in a value ends no string
        text = pretty(render_texts(prompt.value, values, where), "  ")
    kind = NOBODY.eval_input if provider.asks_nobody else "prompt"
    return {"type": kind, "content": escape_variables(text)}


# Its assertions, with their texts filled in and their files read.


def _asserted(
    raw: Json, at: Path, values: Mapping[str, Json], test: StatedTest, reading: Reading
) -> Iterator[Asserted]:
    """The grader of an assertion; none if there is none, which is listed, and several of a set that only
    groups."""
    raw = promptfooasserts.from_short(raw) if isinstance(raw, str) else raw
    if isinstance(raw, dict) and isinstance(raw.get("$ref"), str):
        templates = _mapping(_mapping(reading.source.value).get("assertionTemplates"))
        raw = {**_mapping(templates.get(raw["$ref"].rpartition("/")[2])), **raw}
    if not isinstance(raw, dict) or not isinstance(raw.get("type"), str):
        reading.leave_out(at, "an assertion without a type")
        return
    is_set = raw["type"] == promptfooasserts.SET
    if reading.known(AssertionSet if is_set else Assertion, raw, at, f"`{raw['type']}`") != raw:
        return  # with a part less it would judge something else
    if is_set:
        together = convert(raw, AssertionSet)
        parts = [(part, (*at, "assert", number)) for number, part in enumerate(together.parts)]
        found = [[*_asserted(part, place, values, test, reading)] for part, place in parts]
        if together.threshold is None and together.weight == 1:
            yield from (asserted for group in found for asserted in group)
            return
        with reading.listing(at):
            inner = [
                _by_pattern(asserted, place, reading) if asserted.expected else asserted
                for group, (_, place) in zip(found, parts, strict=True)
                for asserted in group
            ]
            if not all(found) or None in inner:
                hint = "a part less is another mean"
                raise NotCarried("an assert-set of which a part does not carry over", hint)
            yield promptfooasserts.in_set([asserted for asserted in inner if asserted is not None], together)
        return
    with reading.listing(at):
        stated = convert(raw, Assertion)
        value, where = stated.value, f"`{stated.type}`"
        if isinstance(value, str) and value.startswith(_FILE):
            value = _file_value(value.removeprefix(_FILE), stated.type, reading)
        value = render_texts(value, values, where)
        asserted = promptfooasserts.graded(replace(stated, value=value), _judge(stated, test, reading))
        if asserted.note:
            reading.note(asserted.note)
        yield asserted


def _by_pattern(asserted: Asserted, at: Path, reading: Reading) -> Asserted | None:
    """A further expected text as a pattern: a case has only one expectation."""
    value = asserted.expected["value"] if asserted.expected else None
    if not isinstance(value, str):
        reading.leave_out(at, "a further `equals` with JSON", "write a case for it")
        return None
    config = {"method": "regex", "pattern": rf"\A{re.escape(value)}\Z"}
    return replace(asserted, expected=None, grader={**asserted.grader, "config": config})


def _judge(assertion: Assertion, test: StatedTest, reading: Reading) -> str | None:
    """The model that judges; None for the usual one, and for an assertion that no model judges."""
    if promptfooasserts.base_type(assertion.type) not in promptfooasserts.CRITERIA:
        return None
    judge = assertion.provider if assertion.provider is not None else test.options.get("provider")
    if isinstance(judge, dict) and "id" not in judge:
        judge = judge.get("text")
    if judge is None:
        return None
    judge = judge if isinstance(judge, dict) else {"id": judge}
    if not isinstance(judge.get("id"), str):
        raise NotCarried(f"`{assertion.type}` whose provider has no id", "name a model")
    for key, value in _mapping(judge.get("config")).items():
        if key in _DESTINATIONS:
            message = f"`{assertion.type}` whose judge is at {_without_login(str(value))}"
            raise NotCarried(message, "state the judge as a model with a `base_url` in baselinekit.yaml")
        reading.note(f"`{key}` of the judge {judge['id']!r} is for baselinekit.yaml to state")
    return _model_of(judge, reading)


def _file_value(path: str, type: str, reading: Reading) -> Json:
    if path.split(":")[0].endswith(_PROGRAMS):
        if type in ("javascript", "python", "ruby"):
            return None  # the type has no counterpart
        raise NotCarried(f"the value of `{type}` is computed by {path!r}", "write down what it gives")
    return reading.data(path) if path.endswith(_DATA) else reading.text(path)

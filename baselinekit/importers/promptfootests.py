"""The tests of a promptfoo configuration, wherever they stand, each with the defaults of all tests; and its
providers, as models by their names in our configuration."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from baselinekit.errors import BaselinekitError, Place
from baselinekit.files.languages import JSON, YAML
from baselinekit.importers.evaldrafts import Reading, as_name, in_file
from baselinekit.importers.promptfooasserts import NotCarried, from_short
from baselinekit.kinds.table import KINDS
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path
from baselinekit.structs import Struct, field, replace

FILE = "file://"
PROGRAMS = (".js", ".cjs", ".mjs", ".ts", ".py", ".rb", ".sh", ".wasm", ".go")
_MOST_VARIANTS = 10_000
_LINE = lazy_pattern(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_LOGIN = lazy_pattern(r"(?<=://)[^/?#\s]*@")
BESIDE = "paths start at the folder of the configuration"


class StatedTest(Struct):
    """A test with the defaults of all tests. `at` and `default_at`: where they stand, which may be in other
    files; `shared`: how many assertions come from its scenario, and where they stand."""

    raw: dict[str, Json]
    at: Path
    default: dict[str, Json] = field(default_factory=dict)
    default_at: Path = ("defaultTest",)
    shared: tuple[int, Path] = (0, ())

    def merged(self, key: str) -> dict[str, Json]:
        stated, default = self.raw.get(key), self.default.get(key)
        return {
            **(default if isinstance(default, dict) else {}),
            **(stated if isinstance(stated, dict) else {}),
        }

    def setting(self, key: str) -> Json:
        return self.raw.get(key, self.default.get(key))

    def place_of(self, *keys: str) -> Path:
        """The place of a setting: in the test if it is stated there, else in the default test."""
        stated: Json = self.raw
        for key in keys:
            if key not in mapping(stated):
                return (*self.default_at, *keys)
            stated = stated[key]
        return (*self.at, *keys)

    def assertions(self) -> list[tuple[Json, Path]]:
        """Its own assertions and those of its scenario, each with its place."""
        shared, at = self.shared
        return [
            (raw, (*at, number) if number < shared else (*self.at, "assert", number - shared))
            for number, raw in enumerate(listed(self.raw.get("assert")))
        ]


# Its tests, from wherever they stand.


def stated_tests(raw: Mapping[str, Json], reading: Reading) -> Iterator[StatedTest]:
    default, default_at = data_named(raw.get("defaultTest"), reading, ("defaultTest",))
    if default is not None and not isinstance(default, dict):
        reading.leave_out(default_at, "a default test that is no mapping")
    default = default if isinstance(default, dict) else {}
    for test in _all_tests(raw, reading):
        yield replace(test, default=default, default_at=default_at)


def _all_tests(raw: Mapping[str, Json], reading: Reading) -> Iterator[StatedTest]:
    yield from _listed_tests(raw.get("tests"), ("tests",), reading)
    scenarios = raw.get("scenarios")
    if scenarios is not None and not isinstance(scenarios, list):
        reading.leave_out(("scenarios",), "scenarios that are no list")
    for number, scenario in enumerate(scenarios if isinstance(scenarios, list) else ()):
        scenario, at = data_named(scenario, reading, ("scenarios", number))
        if not isinstance(scenario, dict):
            reading.leave_out(at, "a scenario that is no mapping")
            continue
        config = scenario.get("config")
        for index, data in enumerate(config if isinstance(config, list) else [{}]):
            for test in _listed_tests(scenario.get("tests", [{}]), (*at, "tests"), reading):
                data_at = (*at, "config", index)
                yield _in_scenario(test, data if isinstance(data, dict) else {}, data_at)


def _in_scenario(test: StatedTest, data: dict[str, Json], at: Path) -> StatedTest:
    """A test with the data of its scenario, over which its own take precedence."""
    values = {**mapping(data.get("vars")), **mapping(test.raw.get("vars"))}
    shared = listed(data.get("assert"))
    assertions = [*shared, *listed(test.raw.get("assert"))]
    raw = {**data, **test.raw, "vars": values} | ({"assert": assertions} if assertions else {})
    return StatedTest(raw, test.at, shared=(len(shared), (*at, "assert")))


def mapping(raw: Json) -> dict[str, Json]:
    return raw if isinstance(raw, dict) else {}


def listed(raw: Json) -> list[Json]:
    return raw if isinstance(raw, list) else []


def _listed_tests(
    raw: Json, at: Path, reading: Reading, within: tuple[str, ...] = ()
) -> Iterator[StatedTest]:
    """The tests of a list, or of the files that it names. `within`: the files that lead here."""
    for number, test in enumerate(raw if isinstance(raw, list) else [raw] if raw is not None else []):
        test_at = (*at, number) if isinstance(raw, list) else at
        if isinstance(test, dict) and isinstance(test.get("path"), str) and "vars" not in test:
            test = test["path"]
        if isinstance(test, dict):
            yield StatedTest(test, test_at)
        elif not isinstance(test, str):
            reading.leave_out(test_at, "a test that is no mapping")
        elif test.startswith("http"):
            reading.leave_out(test_at, f"tests from {test!r}", "save them as a CSV file first")
        else:
            for path in _paths_of(test, test_at, reading):
                if not _is_circle(path, within, test_at, reading):
                    rows = _rows(path, reading, test_at)
                    yield from _listed_tests(rows, in_file(path), reading, (*within, path))


def _is_circle(path: str, within: Sequence[str], at: Path, reading: Reading) -> bool:
    """Whether a file names itself, directly or through others; this is reported."""
    if path in within:
        reading.leave_out(at, f"{path!r}, which names itself", "break the circle")
    return path in within


def _paths_of(source: str, at: Path, reading: Reading) -> Sequence[str]:
    path = source.removeprefix(FILE)
    if path.split(":")[0].endswith(PROGRAMS):
        reading.leave_out(at, f"the tests of {path!r} are made by a program", "write down what it makes")
        return []
    paths = list(reading.files.fitting(path)) if "*" in path else [path]
    if not paths:
        reading.leave_out(at, f"no file fits {path!r}", BESIDE)
    return paths


def _rows(path: str, reading: Reading, at: Path) -> Json:
    if not path.endswith(".csv"):
        return data_of(path, reading, at)
    text = reading.text_beside(path)
    if text is None:
        reading.leave_out(at, f"there is no file {path!r}", BESIDE)
        return []
    rows: list[Json] = []
    reading.row_lines[path] = lines = []
    table = csv.DictReader(lines_of(text))
    try:
        names = table.fieldnames or ()
        for name in names:
            if names.count(name) > 1:
                reading.leave_out(in_file(path), f"the column {name!r} that occurs twice", "name each once")
            elif name.startswith("__") and not name.startswith("__expected") and name not in _COLUMNS:
                reading.leave_out(in_file(path), f"the column {name!r}")
        for row in table:
            lines.append(_first_line(row, table.line_num))
            rows.append(_row(row, reading, (*in_file(path), len(rows))))
    except csv.Error as error:
        lines.append(table.reader.line_num)
        reading.leave_out((*in_file(path), len(lines) - 1), *unreadable_table(error))
    if not rows:
        reading.leave_out(in_file(path), "a table without rows", "the first line names the columns")
    return rows


def lines_of(text: str) -> list[str]:
    """The lines of a table with their ends. `splitlines` ends them at further characters."""
    return _LINE.findall(text)


def unreadable_table(error: csv.Error) -> tuple[str, str]:
    return f"a row of a table that cannot be read: {error}", "the rows from there on are left out: fix it"


def _first_line(row: Mapping[str | None, str | list[str]], last: int) -> int:
    """The line where a table row begins: some of its cells may have several lines."""
    cells = [cell for value in row.values() for cell in (value if isinstance(value, list) else [value])]
    return last - sum(len(lines_of(f"{cell}.")) - 1 for cell in cells if cell)


_SPECIAL_COLUMNS = {"__description": "description", "__threshold": "threshold", "__metric": "metric"}
_COLUMNS = (*_SPECIAL_COLUMNS, "__prefix", "__suffix")


def _row(row: Mapping[str | None, str | list[str]], reading: Reading, at: Path) -> dict[str, Json]:
    """The test of a table row: its columns are variables, and some state what is expected."""
    test: dict[str, Json] = {"vars": {}, "assert": [], "options": {}}
    for key, value in row.items():
        if key is None:
            reading.leave_out(at, f"{value!r} in no column")
        elif not isinstance(value, str):  # the row is shorter than the others
            continue
        elif key.startswith("__expected"):
            test["assert"] += [from_short(value)] if value.strip() else []
        elif key in ("__prefix", "__suffix"):
            test["options"][key[2:]] = value
        elif key == "__threshold":
            try:
                test |= {"threshold": float(value)} if value.strip() else {}
            except ValueError:
                reading.leave_out(at, f"the threshold {value!r}", "a number from 0 to 1")
        elif key in _SPECIAL_COLUMNS:
            test |= {_SPECIAL_COLUMNS[key]: value} if value else {}
        elif not key.startswith("__"):
            test["vars"][key] = value
    return test


def data_of(path: str, reading: Reading, at: Path) -> Json:
    """The value of a YAML or JSON file; None if it cannot be read, which is reported."""
    text = reading.text_beside(path)
    if text is None:
        reading.leave_out(at, f"there is no file {path!r}", BESIDE)
        return None
    number = 0
    try:
        if path.endswith(".jsonl"):
            rows: dict[int, Json] = {}
            for number, line in enumerate(text.split("\n"), 1):
                if line.strip():
                    rows[number] = JSON.load(line, path)[0]
            reading.row_lines[path] = [*rows]
            return [*rows.values()]
        documents = (JSON if path.endswith(".json") else YAML).load(text, path)
    except BaselinekitError as error:
        problem = error.problems[0]
        place = Place(path, number) if number else problem.place or path
        reading.leave_out(at, f"{place} cannot be read: {problem.message}", problem.hint)
        return None
    return documents[0] if documents else None


def data_named(value: Json, reading: Reading, at: Path) -> tuple[Json, Path]:
    """A value, or in place of a text that of the file which it names; and its place."""
    if not isinstance(value, str):
        return value, at
    path = value.removeprefix(FILE)
    return data_of(path, reading, at), in_file(path)


# Its variables.


def values_of(test: StatedTest, reading: Reading) -> Iterator[dict[str, Json]]:
    """The variables of a test: a list of values makes a test of each value, unless the test disables it."""
    test_values, _ = data_named(test.raw.get("vars"), reading, (*test.at, "vars"))
    default, _ = data_named(test.default.get("vars"), reading, (*test.default_at, "vars"))
    values = {**mapping(default), **mapping(test_values)}
    values = {name: _loaded(name, value, test, reading) for name, value in values.items()}
    if test.merged("options").get("disableVarExpansion"):
        yield values
        return
    names = [name for name, value in values.items() if isinstance(value, list)]
    count = prod(len(values[name]) for name in names)
    if count > _MOST_VARIANTS:
        hint = f"at most {_MOST_VARIANTS:,}: list fewer values, or set `options.disableVarExpansion`"
        raise NotCarried(f"{count:,} combinations of the values of its variables", hint)
    for combination in product(*(values[name] for name in names)):
        yield {**values, **dict(zip(names, combination, strict=True))}


def _loaded(name: str, value: Json, test: StatedTest, reading: Reading) -> Json:
    if not isinstance(value, str) or not value.startswith(FILE):
        return value
    path = value.removeprefix(FILE)
    at = test.place_of("vars", name)
    if path.split(":")[0].endswith(PROGRAMS):
        raise NotCarried(f"the variable {name!r} is computed by {path!r}", "write down what it gives")
    if "*" in path:
        return [reading.text_beside(file) or "" for file in reading.files.fitting(path)]
    if path.endswith((".yaml", ".yml", ".json")):
        return data_of(path, reading, at)
    text = reading.text_beside(path)
    if text is None:
        raise NotCarried(f"there is no file {path!r}, which the variable {name!r} names", "")
    return text


# Its providers.


_DATA = (".yaml", ".yml", ".json")
_SETTINGS = {"temperature": "temperature", "max_tokens": "max_tokens", "maxTokens": "max_tokens"}
_PLAIN_PROVIDERS = ("openai", "anthropic")
_KINDS_OF_ASKING = ("chat", "responses", "completion", "messages")
DESTINATIONS = ("apiBaseUrl", "apiHost")
_OF_CONFIGURATION = ("apiKey", "apiKeyEnvar", "organization", "cost")
"""Settings of a provider that our configuration states: whose key is used, and what it costs."""
_OF_PROVIDER = ("id", "label", "config", "prompts", "transform", "apiKeyRequired")

NOBODY = next(kind for kind in KINDS.values() if kind.asks_nobody)
"""The kind that answers with its input."""


class Provider(Struct):
    """The model that cases ask; none for an echo. `prompts`: the prompts that it is asked with, if not
    all."""

    label: str
    execution: dict[str, Json]
    prompts: tuple[str, ...] = ()

    @property
    def asks_nobody(self) -> bool:
        return self.execution.get("type") == NOBODY.name


def providers_of(raw: Json, at: Path, reading: Reading, within: tuple[str, ...] = ()) -> Iterator[Provider]:
    """The providers of a list, or of the files that it names. `within`: the files that lead here."""
    listed = raw if isinstance(raw, list) else [raw] if raw is not None else []
    for number, provider in enumerate(listed):
        provider_at = (*at, number) if isinstance(raw, list) else at
        if isinstance(provider, str) and provider.startswith(FILE) and provider.endswith(_DATA):
            path = provider.removeprefix(FILE)
            if not _is_circle(path, within, provider_at, reading):
                named = data_of(path, reading, provider_at)
                yield from providers_of(named, in_file(path), reading, (*within, path))
            continue
        if (
            isinstance(provider, dict) and "id" not in provider and len(provider) == 1
        ):  # the old form: {id: {config}}
            ((id, config),) = provider.items()
            provider = {"id": id, **(config if isinstance(config, dict) else {})}
        definition = provider if isinstance(provider, dict) else {"id": provider}
        if not isinstance(definition.get("id"), str):
            reading.leave_out(provider_at, "a provider without an id", "name a model")
            continue
        yield provider_of(definition, provider_at, reading)
    if within and raw == []:
        reading.leave_out(at, f"{within[-1]!r}, which names no provider", "name a model")
    if not (listed or within):
        yield Provider("", {})


def provider_of(definition: Mapping[str, Json], at: Path, reading: Reading) -> Provider:
    """The provider as a model of our configuration, or as an echo."""
    id, config = without_login(str(definition["id"])), definition.get("config")
    label = without_login(str(definition.get("label") or id))
    prompt_names = definition.get("prompts")
    prompts = tuple(map(str, prompt_names)) if isinstance(prompt_names, list) else ()
    if id == "echo":
        return Provider(label, {"type": NOBODY.name}, prompts)
    execution: dict[str, Json] = {"type": "prompt", "model": model_named(definition, reading)}
    family = id.split(":")[0]
    if id.startswith((FILE, "exec:", "python:", "javascript:", "golang:", "ruby:", "package:", "http", "ws")):
        message = f"the provider {id!r} is a program or an address of its own"
        hint = f"name what it is in baselinekit.yaml: models: {{{execution['model']}: {{command: […]}}}}"
        reading.leave_out(at, message, hint)
    elif family not in _PLAIN_PROVIDERS and execution["model"] in reading.models:
        reading.models[str(execution["model"])] = None
    for key, value in (config if isinstance(config, dict) else {}).items():
        if key in _SETTINGS:
            execution[_SETTINGS[key]] = value
        elif key in DESTINATIONS:
            address = without_login(str(value))
            stated = reading.models.get(str(execution["model"]))
            if isinstance(stated, dict):
                url = address if "://" in address else f"https://{address}"
                reading.models[str(execution["model"])] = {**stated, "base_url": url}
            message = f"`{key}` of the provider {label!r}: its prompts and its key go to {address}"
            hint = f"state it as `base_url` of the model {execution['model']} in baselinekit.yaml"
            reading.leave_out((*at, "config", key), message, hint)
        elif key in _OF_CONFIGURATION:
            reading.note(f"`{key}` of the provider {label!r} is for baselinekit.yaml to state")
        elif key not in _OF_PROVIDER:
            reading.leave_out((*at, "config", key), f"`{key}` of the provider {label!r}", "")
    for key in [key for key in definition if key not in _OF_PROVIDER]:
        reading.leave_out((*at, key), f"`{key}` of the provider {label!r}", "")
    if definition.get("transform"):
        reading.leave_out(
            (*at, "transform"), "`transform` computes another output", "judge the answer as it is"
        )
    return Provider(label, execution, prompts)


def providers_of_test(test: StatedTest, providers: Sequence[Provider], reading: Reading) -> list[Provider]:
    test_provider = test.setting("provider")
    if test_provider is not None:
        provider = test_provider if isinstance(test_provider, dict) else {"id": test_provider}
        at = test.place_of("provider")
        if not isinstance(provider.get("id"), str):
            reading.leave_out(at, "a provider without an id", "name a model")
            return list(providers)
        id = without_login(provider["id"])
        matching = [candidate for candidate in providers if candidate.label == id]
        return matching or [provider_of(provider, at, reading)]
    names = test.setting("providers")
    if not isinstance(names, list):
        return list(providers)
    return [provider for provider in providers if any(fits(str(name), provider.label) for name in names)]


def fits(name: str, label: str) -> bool:
    """Whether a name refers to this label: to itself, or to its group."""
    return label == name or label.startswith(f"{name.removesuffix('*').removesuffix(':')}:")


def without_login(id: str) -> str:
    """An address without credentials: names are made of it, which appear in files and reports."""
    return _LOGIN.sub("", id).partition("?")[0] if "://" in id else id


def model_named(definition: Mapping[str, Json], reading: Reading) -> str:
    """The name of a model in our configuration. How it would be declared there is noted."""
    id = without_login(str(definition["id"]))
    family, _, remaining = id.partition(":")
    kind, _, model = remaining.partition(":")
    model = model if kind in _KINDS_OF_ASKING and model else remaining
    name = as_name(without_login(str(definition.get("label") or model or family)))
    reading.models[name] = None
    if family in _PLAIN_PROVIDERS and model:
        reading.models[name] = {family: model, "key": f"{family}_key"}
    return name

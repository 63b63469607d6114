"""What a promptfoo configuration asks: its tests, from wherever they stand, each with what holds for all of
them; and its providers, as models by the names that our configuration gives them."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import product
from math import prod

from baselinekit.documents.languages import JSON, YAML
from baselinekit.errors import BaselinekitError
from baselinekit.frozen import frozen
from baselinekit.importers.evaldrafts import Reading, as_name
from baselinekit.importers.promptfooasserts import NotCarried, from_short
from baselinekit.kinds.table import KINDS
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path

FILE = "file://"
PROGRAMS = (".js", ".cjs", ".mjs", ".ts", ".py", ".rb", ".sh", ".wasm", ".go")
_MOST_VARIANTS = 10_000
_LOGIN = lazy_pattern(r"(?<=://)[^/?#\s]*@")
BESIDE = "paths start at the folder of the configuration"


@frozen
class StatedTest:
    """A test with what holds for all. `file`: where it stands, if that is another file."""

    raw: dict[str, Json]
    at: Path
    file: str = ""
    default: dict[str, Json] = field(default_factory=dict)

    def merged(self, key: str) -> dict[str, Json]:
        own, usual = self.raw.get(key), self.default.get(key)
        return {**(usual if isinstance(usual, dict) else {}), **(own if isinstance(own, dict) else {})}

    def said(self, key: str) -> Json:
        return self.raw.get(key, self.default.get(key))


# Its tests, from wherever they stand.


def stated_tests(raw: Mapping[str, Json], reading: Reading) -> Iterator[StatedTest]:
    default = raw.get("defaultTest")
    if isinstance(default, str):
        default = data_of(default.removeprefix(FILE), reading, ("defaultTest",))
    if default is not None and not isinstance(default, dict):
        reading.leave_out(("defaultTest",), "a default test that is no mapping")
    default = default if isinstance(default, dict) else {}
    yield from _listed_tests(raw.get("tests"), ("tests",), default, reading)
    scenarios = raw.get("scenarios")
    if scenarios is not None and not isinstance(scenarios, list):
        reading.leave_out(("scenarios",), "scenarios that are no list")
    for number, scenario in enumerate(scenarios if isinstance(scenarios, list) else ()):
        at: Path = ("scenarios", number)
        if isinstance(scenario, str):
            scenario = data_of(scenario.removeprefix(FILE), reading, at)
        if not isinstance(scenario, dict):
            reading.leave_out(at, "a scenario that is no mapping")
            continue
        config = scenario.get("config")
        for data in config if isinstance(config, list) else [{}]:
            for test in _listed_tests(scenario.get("tests", [{}]), (*at, "tests"), default, reading):
                yield _in_scenario(test, data if isinstance(data, dict) else {})


def _in_scenario(test: StatedTest, data: dict[str, Json]) -> StatedTest:
    """A test with the data of its scenario, which go below its own."""
    values = {**mapping(data.get("vars")), **mapping(test.raw.get("vars"))}
    asserted = [*listed(data.get("assert")), *listed(test.raw.get("assert"))]
    raw = {**data, **test.raw, "vars": values} | ({"assert": asserted} if asserted else {})
    return StatedTest(raw, test.at, test.file, test.default)


def mapping(raw: Json) -> dict[str, Json]:
    return raw if isinstance(raw, dict) else {}


def listed(raw: Json) -> list[Json]:
    return raw if isinstance(raw, list) else []


def _listed_tests(
    raw: Json, at: Path, default: dict[str, Json], reading: Reading, within: tuple[str, ...] = ()
) -> Iterator[StatedTest]:
    """`within`: the files that name each other on the way here."""
    file = within[-1] if within else ""
    for number, one in enumerate(raw if isinstance(raw, list) else [raw] if raw is not None else []):
        here = at if file else (*at, number) if isinstance(raw, list) else at
        if isinstance(one, dict) and isinstance(one.get("path"), str) and "vars" not in one:
            one = one["path"]
        if isinstance(one, dict):
            yield StatedTest(one, here, file, default)
        elif not isinstance(one, str):
            reading.leave_out(here, "a test that is no mapping", "", file)
        elif one.startswith("http"):
            reading.leave_out(here, f"tests from {one!r}", "save them as a CSV file first", file)
        else:
            for way in _ways(one, here, reading):
                if not _is_circle(way, within, here, reading):
                    rows = _rows(way, reading, here)
                    yield from _listed_tests(rows, here, default, reading, (*within, way))


def _is_circle(way: str, within: Sequence[str], at: Path, reading: Reading) -> bool:
    """Whether a file names itself, by way of others too, which is told."""
    if way in within:
        reading.leave_out(at, f"{way!r}, which names itself", "break the circle", within[-1])
    return way in within


def _ways(stated: str, at: Path, reading: Reading) -> Sequence[str]:
    way = stated.removeprefix(FILE)
    if way.split(":")[0].endswith(PROGRAMS):
        reading.leave_out(at, f"the tests of {way!r} are made by a program", "write down what it makes")
        return []
    found = list(reading.files.fitting(way)) if "*" in way else [way]
    if not found:
        reading.leave_out(at, f"no file fits {way!r}", BESIDE)
    return found


def _rows(way: str, reading: Reading, at: Path) -> Json:
    if not way.endswith(".csv"):
        return data_of(way, reading, at)
    text = reading.text_beside(way)
    if text is None:
        reading.leave_out(at, f"there is no file {way!r}", BESIDE)
        return []
    table = csv.DictReader(text.splitlines(keepends=True))
    names = table.fieldnames or ()
    for name in names:
        if names.count(name) > 1:
            reading.leave_out(at, f"the column {name!r} that occurs twice", "name each once", way)
        elif name.startswith("__") and not name.startswith("__expected") and name not in _COLUMNS:
            reading.leave_out(at, f"the column {name!r}", "", way)
    tests = [_row(row, way, reading, at) for row in table]
    if not tests:
        reading.leave_out(at, "a table without rows", "the first line names the columns", way)
    return [*tests]


_SPECIAL = {"__description": "description", "__threshold": "threshold", "__metric": "metric"}
_COLUMNS = (*_SPECIAL, "__prefix", "__suffix")


def _row(row: Mapping[str | None, str | list[str]], way: str, reading: Reading, at: Path) -> dict[str, Json]:
    """A row of a table: its columns are variables, and some say what is expected."""
    test: dict[str, Json] = {"vars": {}, "assert": [], "options": {}}
    for key, value in row.items():
        if key is None:
            reading.leave_out(at, f"{value!r} in no column", "", way)
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
                reading.leave_out(at, f"the threshold {value!r}", "a number from 0 to 1", way)
        elif key in _SPECIAL:
            test |= {_SPECIAL[key]: value} if value else {}
        elif not key.startswith("__"):
            test["vars"][key] = value
    return test


def data_of(way: str, reading: Reading, at: Path) -> Json:
    """A file of YAML or JSON; None where it cannot be read, which is told."""
    text = reading.text_beside(way)
    if text is None:
        reading.leave_out(at, f"there is no file {way!r}", BESIDE)
        return None
    try:
        if way.endswith(".jsonl"):
            return [JSON.load(line, way)[0] for line in text.splitlines() if line.strip()]
        documents = (JSON if way.endswith(".json") else YAML).load(text, way)
    except BaselinekitError as error:
        reading.leave_out(at, f"{way} cannot be read: {error.problems[0].message}", error.problems[0].hint)
        return None
    return documents[0] if documents else None


# Its variables.


def values_of(test: StatedTest, reading: Reading) -> Iterator[dict[str, Json]]:
    """The variables of a test: a list of values makes a test of each, where nobody says otherwise."""
    stated = test.raw.get("vars")
    if isinstance(stated, str):
        stated = data_of(stated.removeprefix(FILE), reading, (*test.at, "vars"))
    usual = test.default.get("vars")
    if isinstance(usual, str):
        usual = data_of(usual.removeprefix(FILE), reading, ("defaultTest", "vars"))
    values = {**mapping(usual), **mapping(stated)}
    values = {name: _loaded(name, value, test, reading) for name, value in values.items()}
    if test.merged("options").get("disableVarExpansion"):
        yield values
        return
    names = [name for name, value in values.items() if isinstance(value, list)]
    count = prod(len(values[name]) for name in names)
    if count > _MOST_VARIANTS:
        hint = f"at most {_MOST_VARIANTS:,}: list fewer values, or set `options.disableVarExpansion`"
        raise NotCarried(f"{count:,} combinations of the values of its variables", hint)
    for chosen in product(*(values[name] for name in names)):
        yield {**values, **dict(zip(names, chosen, strict=True))}


def _loaded(name: str, value: Json, test: StatedTest, reading: Reading) -> Json:
    if not isinstance(value, str) or not value.startswith(FILE):
        return value
    way = value.removeprefix(FILE)
    at = (*test.at, "vars", name) if name in mapping(test.raw.get("vars")) else ("defaultTest", "vars", name)
    if way.split(":")[0].endswith(PROGRAMS):
        raise NotCarried(f"the variable {name!r} is computed by {way!r}", "write down what it gives")
    if "*" in way:
        return [reading.text_beside(one) or "" for one in reading.files.fitting(way)]
    if way.endswith((".yaml", ".yml", ".json")):
        return data_of(way, reading, at)
    text = reading.text_beside(way)
    if text is None:
        raise NotCarried(f"there is no file {way!r}, which the variable {name!r} names", "")
    return text


# Its providers.


_DATA = (".yaml", ".yml", ".json")
_SETTINGS = {"temperature": "temperature", "max_tokens": "max_tokens", "maxTokens": "max_tokens"}
_PLAIN_PROVIDERS = ("openai", "anthropic")
_KINDS_OF_ASKING = ("chat", "responses", "completion", "messages")
_WITHOUT_CONFIG = ("apiKey", "apiKeyEnvar", "apiKeyRequired", "apiBaseUrl", "apiHost", "organization", "cost")
"""Of a provider: where it is and what it costs, which the configuration says."""

NOBODY = next(kind for kind in KINDS.values() if kind.asks_nobody)
"""What answers with its input."""


@frozen
class Provider:
    """Whom cases ask: nobody for an echo. `prompts`: those that it is asked with, where not all are."""

    label: str
    execution: dict[str, Json]
    prompts: tuple[str, ...] = ()

    @property
    def asks_nobody(self) -> bool:
        return self.execution.get("type") == NOBODY.name


def providers_of(raw: Json, at: Path, reading: Reading, within: tuple[str, ...] = ()) -> Iterator[Provider]:
    """`within`: as of tests."""
    listed = raw if isinstance(raw, list) else [raw] if raw is not None else []
    for number, one in enumerate(listed):
        here = (*at, number) if isinstance(raw, list) else at
        if isinstance(one, str) and one.startswith(FILE) and one.endswith(_DATA):
            way = one.removeprefix(FILE)
            if not _is_circle(way, within, here, reading):
                yield from providers_of(data_of(way, reading, here), here, reading, (*within, way))
            continue
        if isinstance(one, dict) and "id" not in one and len(one) == 1:  # the old form: {id: {config}}
            ((id, rest),) = one.items()
            one = {"id": id, **(rest if isinstance(rest, dict) else {})}
        stated = one if isinstance(one, dict) else {"id": one}
        if not isinstance(stated.get("id"), str):
            reading.leave_out(here, "a provider without an id", "name a model")
            continue
        yield provider_of(stated, here, reading)
    if within and raw == []:
        reading.leave_out(at, f"{within[-1]!r}, which names no provider", "name a model")
    if not (listed or within):
        yield Provider("", {})


def provider_of(stated: Mapping[str, Json], at: Path, reading: Reading) -> Provider:
    """Whom a provider means: a model of the configuration, or nobody."""
    id, config = without_login(str(stated["id"])), stated.get("config")
    label = without_login(str(stated.get("label") or id))
    wanted = stated.get("prompts")
    prompts = tuple(map(str, wanted)) if isinstance(wanted, list) else ()
    if id == "echo":
        return Provider(label, {"type": NOBODY.name}, prompts)
    execution: dict[str, Json] = {"type": "prompt", "model": model_named(stated, reading)}
    family = id.split(":")[0]
    if id.startswith((FILE, "exec:", "python:", "javascript:", "golang:", "ruby:", "package:", "http", "ws")):
        what = f"the provider {id!r} is a program or an address of its own"
        hint = f"name what it is in baselinekit.yaml: models: {{{execution['model']}: {{command: […]}}}}"
        reading.leave_out(at, what, hint)
    elif family not in _PLAIN_PROVIDERS and execution["model"] in reading.models:
        reading.models[str(execution["model"])] = None
    for key, value in (config if isinstance(config, dict) else {}).items():
        if key in _SETTINGS:
            execution[_SETTINGS[key]] = value
        elif key not in _WITHOUT_CONFIG:
            reading.leave_out((*at, "config", key), f"`{key}` of the provider {label!r}", "")
    if stated.get("transform"):
        reading.leave_out(
            (*at, "transform"), "`transform` computes another output", "judge the answer as it is"
        )
    return Provider(label, execution, prompts)


def without_login(id: str) -> str:
    """An address without what may let somebody in: names are made of it, and stand in files and reports."""
    return _LOGIN.sub("", id).partition("?")[0] if "://" in id else id


def model_named(stated: Mapping[str, Json], reading: Reading) -> str:
    """The name that a model has in the configuration, which is told how it would be declared."""
    id = without_login(str(stated["id"]))
    family, _, rest = id.partition(":")
    kind, _, model = rest.partition(":")
    model = model if kind in _KINDS_OF_ASKING and model else rest
    name = as_name(without_login(str(stated.get("label") or model or family)))
    reading.models[name] = None
    if family in _PLAIN_PROVIDERS and model:
        reading.models[name] = {family: model, "key": f"{family}_key"}
    return name

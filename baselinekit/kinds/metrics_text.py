"""Prometheus metrics as a value: the text format 0.0.4 and OpenMetrics, one entry for each metric family.

A family keeps what a dashboard or an alert relies on: its name, type, help, unit, label names, and the bounds
of its buckets or quantiles. Its numbers stand apart under `samples`, because they vary by nature and are
usually ignored as a whole. What a metric states by its labels alone (`go_info{version="go1.19"} 1`) stands
under `info`, to be compared."""

from math import inf

from baselinekit.files.jsontext import NotJson
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json
from baselinekit.structs import Struct

_SAMPLES = "samples"
_PLAIN_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_QUOTED = r"\"(?:[^\"\\]|\\.)*\""
_NAME = rf"(?:{_PLAIN_NAME}|{_QUOTED})"
_COMMENT = lazy_pattern(rf"#\s+(HELP|TYPE|UNIT)\s+({_NAME})(?:[ \t]+(.*))?")
_SAMPLE = lazy_pattern(
    rf"({_PLAIN_NAME}|(?=\{{))[ \t]*(?:\{{((?:[^\"}}]|{_QUOTED})*)\}})?[ \t]*([^\s#]+)"
    r"(?:[ \t]+[-+0-9.eE]+)?[ \t]*(?:#.*)?"
)
_LABEL = lazy_pattern(rf"[ \t]*(?:([a-zA-Z_][a-zA-Z0-9_]*|{_QUOTED})[ \t]*=[ \t]*)?({_QUOTED})[ \t]*(?:,|$)")
_ESCAPE = lazy_pattern(r"\\(.)")
_INTEGER = lazy_pattern(r"[-+]?[0-9]{1,18}")
_DECIMAL = lazy_pattern(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = lazy_pattern(r"(?i)[-+]?(?:inf(?:inity)?|nan)")
_PARTS = {
    "histogram": ("_bucket", "_sum", "_count", "_created"),
    "gaugehistogram": ("_bucket", "_gsum", "_gcount"),
    "summary": ("_sum", "_count", "_created"),
    "counter": ("_total", "_created"),
    "info": ("_info",),
    "stateset": (),
}
"""The endings that the samples of a type have behind the name of their family."""

_SPREAD = {"_bucket": ("le", "buckets"), "": ("quantile", "quantiles")}
"""Labels that divide one measurement: their name, and the key under which its numbers are gathered."""


class _Sample(Struct):
    name: str
    labels: dict[str, str]
    value: Json


class _Family:
    """The samples of one metric, gathered by their labels."""

    def __init__(self, name: str):
        self.name = name
        self.facts: dict[str, Json] = {}
        self.samples: list[_Sample] = []

    @property
    def type(self) -> str:
        return str(self.facts.get("type", "untyped"))

    def as_value(self) -> dict[str, Json]:
        value: dict[str, Json] = {"type": self.type, **self.facts}
        rows: dict[tuple[tuple[str, str], ...], dict[str, Json]] = {}
        for sample in self.samples:
            self.gather(sample, rows)
        if not rows:
            return value
        names: list[Json] = sorted({label for key in rows for label, _ in key})
        value["labels"] = names
        if self.type == "info" or (self.name.endswith("_info") and names and _are_ones(rows)):
            return value | {"info": [dict(key) for key in sorted(rows)]}
        for _, gathered in _SPREAD.values():
            bounds = {bound for row in rows.values() for bound in _keys(row.get(gathered))}
            if bounds:
                value[gathered] = [*sorted(bounds, key=lambda bound: (_as_number(bound), bound))]
        return value | {
            _SAMPLES: [
                {**({"labels": dict(key)} if key else {}), **_numbers(row)}
                for key, row in sorted(rows.items())
            ]
        }

    def gather(self, sample: _Sample, rows: dict[tuple[tuple[str, str], ...], dict[str, Json]]) -> None:
        ending = sample.name.removeprefix(self.name)
        divider, gathered = _SPREAD.get(ending, ("", ""))
        is_divided = divider in sample.labels and self.type in ("histogram", "gaugehistogram", "summary")
        labels = {name: text for name, text in sample.labels.items() if not (is_divided and name == divider)}
        row = rows.setdefault(tuple(sorted(labels.items())), {})
        if is_divided:
            inner = row.setdefault(gathered, {})
            assert isinstance(inner, dict)
            inner[sample.labels[divider]] = sample.value
        else:
            row[ending.lstrip("_") or "value"] = sample.value


def _keys(value: Json) -> list[str]:
    return list(value) if isinstance(value, dict) else []


def _as_number(bound: str) -> float:
    try:
        return float(bound)
    except ValueError:
        return inf


def _numbers(row: dict[str, Json]) -> dict[str, Json]:
    return {"value": row["total"]} if row.keys() == {"total"} else row


def _are_ones(rows: dict[tuple[tuple[str, str], ...], dict[str, Json]]) -> bool:
    return all(row == {"value": 1} for row in rows.values())


def read_metrics(text: str) -> dict[str, Json]:
    """The families by their names, as they come; NotJson with the line that is none of the format."""
    families: dict[str, _Family] = {}
    owners: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if not stripped or (stripped[0] == "#" and not _COMMENT.fullmatch(stripped)):
            continue
        if comment := _COMMENT.fullmatch(stripped):
            kind, name, words = comment[1].lower(), _unquoted(comment[2]), comment[3] or ""
            family = families.setdefault(name, _Family(name))
            family.facts[kind] = words.strip().lower() if kind == "type" else _unescaped(words)
            if kind == "type":
                owners.update({name + ending: name for ending in _PARTS.get(family.type, ())})
            continue
        sample = _sample(stripped, number, text)
        name = sample.name if sample.name in families else owners.get(sample.name, sample.name)
        families.setdefault(name, _Family(name)).samples.append(sample)
    return {name: family.as_value() for name, family in families.items()}


def _sample(line: str, number: int, text: str) -> _Sample:
    match = _SAMPLE.fullmatch(line)
    value = _value(match[3]) if match else None
    labels = _labels(match[2] or "") if match else None
    name = match[1] or (labels or {}).pop("", "") if match else ""
    if match is None or value is None or labels is None or not name:
        raise NotJson("syntax", f"line {number} is no sample of a metric", text, text.find(line))
    return _Sample(name, labels, value)


def _labels(text: str) -> dict[str, str] | None:
    """The labels by their names, and the name of the metric, if it is quoted, by "". None where the text is
    anything else."""
    labels, end = {}, 0
    while end < len(text):
        match = _LABEL.match(text, end)
        if match is None:
            return None
        labels[_unquoted(match[1] or "")] = _unquoted(match[2])
        end = match.end()
    return labels


def _unquoted(text: str) -> str:
    return _unescaped(text[1:-1]) if text.startswith('"') else text


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: "\n" if match[1] == "n" else match[1], text)


def _value(text: str) -> Json | None:
    if _INTEGER.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text):
        number = float(text)
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    return text if _NOT_FINITE.fullmatch(text) else None


_STATED_TYPE = lazy_pattern(rf"(?m)^# TYPE {_NAME} (?:counter|gauge|histogram|summary|untyped|info)$")
_LABELLED = lazy_pattern(rf"(?m)^{_NAME}\{{{_NAME}=\"[^\n]*\}} [-+0-9.]")
_FEWEST_LINES = 3
_FIRST_PART = 20_000
"""So many characters have to show that a text is metrics, before the whole of it is read."""


def metrics_in(text: str) -> dict[str, Json] | None:
    """The metrics of a text of no stated form; None if it is anything else. Its first lines state the type of
    one, or are several with labels in one of them, and every line can be read."""
    beginning = text[:_FIRST_PART]
    is_labelled = beginning.count("\n") >= _FEWEST_LINES and _LABELLED.search(beginning)
    if not (_STATED_TYPE.search(beginning) or is_labelled):
        return None
    try:
        return read_metrics(text) or None
    except NotJson:
        return None

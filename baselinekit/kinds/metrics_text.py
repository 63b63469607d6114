"""Prometheus metrics as a value: the text format 0.0.4 and OpenMetrics, one entry for each metric family.

A family keeps what a dashboard or an alert relies on: its name, type, help, unit, label names, and the bounds
of its buckets or quantiles. Its numbers stand apart under `samples`, because they vary by nature and are
usually ignored as a whole. What a metric states by its labels alone (`go_info{version="go1.19"} 1`) stands
under `info`, to be compared."""

from math import inf
from typing import Any

from baselinekit.files.jsontext import NotJson
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json

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


def _family(name: str, facts: dict[str, Json], samples: list[tuple[str, dict[str, str], Json]]) -> Json:
    """Return one metric, its samples gathered by their labels."""
    type = str(facts.get("type", "untyped"))
    value: dict[str, Json] = {"type": type, **facts}
    rows: dict[tuple[tuple[str, str], ...], dict[str, Any]] = {}
    for sample_name, labels, number in samples:
        ending = sample_name.removeprefix(name)
        divider, gathered = _SPREAD.get(ending, ("", ""))
        is_divided = divider in labels and type in ("histogram", "gaugehistogram", "summary")
        bound = labels.pop(divider) if is_divided else ""
        row = rows.setdefault(tuple(sorted(labels.items())), {})
        if is_divided:
            row.setdefault(gathered, {})[bound] = number
        else:
            row[ending.lstrip("_") or "value"] = number
    if not rows:
        return value
    names: list[Json] = sorted({label for key in rows for label, _ in key})
    value["labels"] = names
    are_ones = all(row == {"value": 1} for row in rows.values())
    if type == "info" or (name.endswith("_info") and names and are_ones):
        return value | {"info": [dict(key) for key in sorted(rows)]}
    for _, gathered in _SPREAD.values():
        bounds = {bound for row in rows.values() for bound in row.get(gathered, ())}
        if bounds:
            value[gathered] = sorted(bounds, key=lambda bound: (_as_number(bound), bound))
    numbers = {key: {"value": row["total"]} if row.keys() == {"total"} else row for key, row in rows.items()}
    value[_SAMPLES] = [({"labels": dict(key)} if key else {}) | row for key, row in sorted(numbers.items())]
    return value


def _as_number(bound: str) -> float:
    try:
        return float(bound)
    except ValueError:
        return inf


def read_metrics(text: str) -> dict[str, Json]:
    """The families by their names, as they come; NotJson with the line that is none of the format."""
    families: dict[str, dict[str, Json]] = {}
    samples: dict[str, list[tuple[str, dict[str, str], Json]]] = {}
    owners: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        comment = _COMMENT.fullmatch(stripped)
        if comment:
            kind, name, words = comment[1].lower(), _unquoted(comment[2]), comment[3] or ""
            facts = families.setdefault(name, {})
            facts[kind] = words.strip().lower() if kind == "type" else _unescaped(words)
            if kind == "type":
                owners.update({name + ending: name for ending in _PARTS.get(str(facts["type"]), ())})
        elif stripped and not stripped.startswith("#"):
            match = _SAMPLE.fullmatch(stripped)
            labels = _labels(match[2] or "") if match else None
            value = _value(match[3]) if match else None
            sample_name = match and (match[1] or (labels or {}).pop("", ""))
            if value is None or labels is None or not sample_name:
                raise NotJson("syntax", f"line {number} is no sample of a metric", text, text.find(stripped))
            name = sample_name if sample_name in families else owners.get(sample_name, sample_name)
            families.setdefault(name, {})
            samples.setdefault(name, []).append((sample_name, labels, value))
    return {name: _family(name, facts, samples.get(name, [])) for name, facts in families.items()}


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

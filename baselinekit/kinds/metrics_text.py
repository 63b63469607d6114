"""Prometheus metrics as a value: the text format 0.0.4 and OpenMetrics, one entry for each metric family.

prometheus-client reads the text. A family keeps what a dashboard or an alert relies on: its name, type, help,
unit, label names, and the bounds of its buckets or quantiles. Its numbers are under `samples`, because they
vary by nature and are usually ignored as a whole. What a metric states by its labels alone
(`go_info{version="go1.19"} 1`) is under `info`, to be compared."""

from collections.abc import Iterator
from math import isfinite, isnan
from typing import Any

from baselinekit.errors import CannotReplay, cannot_replay
from baselinekit.files.jsontext import NotJson
from baselinekit.kinds.kind import RecognisedForm
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json

_LONGEST_LINE = 20_000
"""The library takes quadratic time for the labels of a line."""

_SPREAD = {"_bucket": ("le", "buckets"), "": ("quantile", "quantiles")}
"""Labels that divide one measurement: their name, and the key under which its numbers are gathered."""


def read_metrics(text: str) -> dict[str, Json]:
    """Return the families by their names, in their order. NotJson with the line that the parser refuses."""
    try:
        from prometheus_client.openmetrics import parser as open_parser
        from prometheus_client.parser import text_fd_to_metric_families
    except ImportError:
        message = "Prometheus metrics need the package prometheus-client"
        raise cannot_replay("BK307", message, "pip install 'baselinekit[metrics]'") from None
    is_open = text.rstrip().endswith("# EOF")
    seen, typed = list[str](), set[str]()

    def lines() -> Iterator[str]:
        for line in text.removesuffix("\n").split("\n"):
            seen.append(line)
            if len(line) > _LONGEST_LINE:
                raise ValueError
            words = line.split(None, 3)
            if words[:2] == ["#", "TYPE"]:
                typed.update(word.strip('"') for word in words[2:3])
            yield f"{line}\n"

    families: dict[str, tuple[dict[str, Json], list[Any]]] = {}
    try:
        read: Any = open_parser.text_fd_to_metric_families if is_open else text_fd_to_metric_families
        for metric in read(lines()):
            name, samples = metric.name, metric.samples
            if metric.type == "counter" and not is_open:  # the library renames those of the text format
                ending = "_total" if f"{name}_total" in typed else ""
                samples = [(f"{name}{ending}", sample.labels, sample.value) for sample in samples]
                name += ending
            is_stated = metric.type != "unknown" or (is_open and name in typed)
            type = metric.type.lower() if is_stated else "untyped"
            facts = {"type": type, "unit": metric.unit, "help": metric.documentation}
            known, rows = families.setdefault(name, ({}, []))
            known.update({key: value for key, value in facts.items() if value and key not in known})
            rows.extend(sample[:3] for sample in samples)
    except Exception:  # the library raises errors of many types for texts of other kinds
        message = f"line {len(seen)} is no sample of a metric"
        raise NotJson("syntax", message, text, text.find(seen[-1])) from None
    return {name: _family(name, facts, samples) for name, (facts, samples) in families.items()}


def _family(name: str, value: dict[str, Json], samples: list[tuple[str, dict[str, str], float]]) -> Json:
    """Return one metric, its samples gathered by their labels."""
    rows: dict[tuple[tuple[str, str], ...], dict[str, Any]] = {}
    for sample_name, labels, number in samples:
        ending = sample_name.removeprefix(name)
        divider, gathered = _SPREAD.get(ending, ("", ""))
        is_divided = divider in labels and value["type"] in ("histogram", "gaugehistogram", "summary")
        key = tuple(sorted(pair for pair in labels.items() if not (is_divided and pair[0] == divider)))
        row = rows.setdefault(key, {})
        if is_divided:
            row.setdefault(gathered, {})[labels[divider]] = _number(number)
        else:
            row[ending.lstrip("_") or "value"] = _number(number)
    if not rows:
        return value
    names: list[Json] = sorted({label for key in rows for label, _ in key})
    value["labels"] = names
    are_ones = all(row == {"value": 1} for row in rows.values())
    if value["type"] == "info" or (name.endswith("_info") and names and are_ones):
        return value | {"info": [dict(key) for key in sorted(rows)]}
    for _, gathered in _SPREAD.values():
        if bounds := {bound for row in rows.values() for bound in row.get(gathered, ())}:
            value[gathered] = sorted(bounds, key=lambda bound: (float(bound), bound))
    numbers = {key: {"value": row["total"]} if row.keys() == {"total"} else row for key, row in rows.items()}
    value["samples"] = [({"labels": dict(key)} if key else {}) | row for key, row in sorted(numbers.items())]
    return value


def _number(number: float) -> Json:
    if not isfinite(number):
        return "NaN" if isnan(number) else "+Inf" if number > 0 else "-Inf"
    return int(number) if number == int(number) and abs(number) < 2**53 else number


_SIGNS = lazy_pattern(
    r"(?m)^# TYPE \S+ (?:counter|gauge|histogram|summary|untyped|info)$"
    r'|\A(?=(?:.*\n){3})[\s\S]*?^[^\s{]*\{[^=\n]+="[^\n]*\} [-+0-9.]'
)
_FIRST_PART = 20_000
"""So many characters have to show that a text is metrics, before the whole of it is read."""


IGNORED_OF_METRICS = ("body.*.samples",)
RULES_NOTE = "their numbers are ignored, and further metrics may come: `comparison` states both"


def metrics_found(output: dict[str, Json], body: str, is_declared: bool) -> RecognisedForm | None:
    """Recognise metrics, as declared or by their first lines: they state the type of a metric, or are
    several, one of them with labels. Declared metrics that cannot be read stay a text."""
    if "\n" not in body or not (is_declared or _SIGNS.search(body[:_FIRST_PART])):
        return None
    try:
        families = read_metrics(body)
    except NotJson as error:
        note = f"declared as Prometheus metrics, but {error}: the body is compared as text"
        return RecognisedForm(output, {}, (note,)) if is_declared else None
    except CannotReplay as error:
        note = f"the body is compared as text: {error.problems[0].message}; {error.problems[0].hint}"
        return RecognisedForm(output, {}, (note,))
    notes = (
        "the body is Prometheus metrics: names, types, help, label names and bounds are compared (--parse"
        " text compares the text)",
        RULES_NOTE,
    )
    return RecognisedForm({**output, "body": families}, {"parse": "prometheus"}, notes, IGNORED_OF_METRICS)

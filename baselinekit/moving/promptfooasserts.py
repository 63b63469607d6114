"""promptfoo's templates, where names and filters are filled in as JavaScript prints them; and its assertions
as graders, by their types, or the reason why there is no counterpart."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from baselinekit.files.jsontext import tight_json
from baselinekit.importers.drafts import NotCarried
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import ABSENT, Json
from baselinekit.structs import Struct, Threshold, field
from baselinekit.values.places import with_texts

_SLOT = lazy_pattern(
    r"""\{\{\s*(?P<name>[A-Za-z_]\w*)(?P<steps>(?:\.\w+|\[(?:\d+|'[^']*'|"[^"]*")\])*)\s*"""
    r"(?P<filters>(?:\|\s*\w+\s*)*)\}\}"
)
"""What a template may consist of: loops and conditions are programs."""

_STEP = lazy_pattern(r"""\.(\w+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]""")
_MOST_CHARACTERS = 1_000_000
_DEEPEST = 5
_LARGEST_PLAIN = 1e21
"""From here on JavaScript prints a number with an exponent."""


def printed(value: Any) -> str:
    """The text of a value as JavaScript has it; an object or a list is written as JSON."""
    value = "" if value is None else _as_in_javascript(value)
    return tight_json(value) if isinstance(value, bool | dict | list) else str(value)


def _as_in_javascript(value: Json) -> Json:
    """The value with whole numbers without a decimal point."""
    if isinstance(value, dict):
        return {key: _as_in_javascript(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_in_javascript(item) for item in value]
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_PLAIN
    return int(value) if is_whole else value


_FILTERS: Mapping[str, Callable[[Any], str]] = {
    "upper": lambda value: printed(value).upper(),
    "lower": lambda value: printed(value).lower(),
    "trim": lambda value: printed(value).strip(),
    "string": printed,
    "dump": lambda value: tight_json(_as_in_javascript(value)),
}


def render(text: str, values: Mapping[str, Json], where: str) -> str:
    """The text of a template. NotCarried, with `where` it is, for one that has more than names and
    filters, or names without a value."""
    size = 0

    def fill(slot: re.Match[str]) -> str:
        nonlocal size
        value = values.get(slot["name"], ABSENT)
        for step in _STEP.findall(slot["steps"]):
            value = _member(value, "".join(step))
        if value is ABSENT:
            raise NotCarried(f"{where}: {slot[0]} has no value", "give it one")
        for name in re.findall(r"\w+", slot["filters"]):
            if name not in _FILTERS:
                raise NotCarried(f"{where}: the filter {name!r}", "write the text without it")
            value = _FILTERS[name](value)
        size += len(printed(value))
        if size > _MOST_CHARACTERS:
            raise NotCarried(f"{where}: a text of more than {_MOST_CHARACTERS:,} characters", "shorten it")
        return printed(value)

    others = _SLOT.sub(" ", text)
    if any(mark in others for mark in ("{{", "{%", "{#")):
        raise NotCarried(f"{where}: a template with more than names and filters", "write the text without it")
    return _SLOT.sub(fill, text)


def _member(value: Json, key: str) -> Json:
    if isinstance(value, dict):
        return value.get(key, ABSENT)
    if isinstance(value, str | list) and key == "length":
        return len(value)
    is_index = key.isdecimal() and len(key) < 10
    return value[int(key)] if isinstance(value, str | list) and is_index and int(key) < len(value) else ABSENT


def render_texts(value: Json, values: Mapping[str, Json], where: str) -> Json:
    """The value with each text in it rendered."""
    return with_texts(value, lambda text: render(text, values, where))


def filled(values: Mapping[str, Json]) -> Mapping[str, Json]:
    """The values of a test, with those filled in that they name, a few levels deep."""
    for _ in range(_DEEPEST):
        before = values
        values = {
            name: render_texts(value, before, f"the value of {name!r}") for name, value in before.items()
        }
        if values == before:
            break
    return values


# Assertions.

SET = "assert-set"
_NOT = "not-"


class Assertion(Struct):
    """One assertion as a configuration states it. `provider`: who judges."""

    type: str
    value: Json = None
    threshold: int | float | None = None
    weight: int | float = 1
    metric: str | None = None
    provider: Json = None


class AssertionSet(Struct):
    """Assertions that count together: by their mean, or all of them without a threshold."""

    type: str
    parts: list[Json] = field(name="assert")
    threshold: Threshold | None = None
    weight: int | float = 1
    metric: str | None = None


class Asserted(Struct):
    """The grader of an assertion, as a file of ours states it. `expected`: the text that it wants, if the
    case may state that instead; `note`: what is judged differently from promptfoo."""

    grader: dict[str, Json]
    expected: str | None = None
    note: str = ""


_JSON_TEXTS = "is-json and contains-json want one JSON text, bare or in a code block"
_JUDGES = "judges are asked in the words of baselinekit: rubrics carry over, promptfoo's own prompts do not"
CRITERIA = {
    "factuality": "The output may say less or more than these facts, and must not contradict them: {}",
    "model-graded-factuality": "The output agrees with these facts, and does not contradict them: {}",
    "model-graded-closedqa": "The output meets this criterion: {}",
    "llm-rubric": "{}",
    "g-eval": "{}",
}
_LEAST_OF_G_EVAL = 0.7
_TEXT_LISTS = ("contains-any", "contains-all", "icontains-any", "icontains-all")
_PATTERNS = ("equals", "starts-with", "regex")
_CARRIED = (
    *("contains", "icontains", *_TEXT_LISTS, *_PATTERNS, "is-json", "contains-json"),
    *("word-count", "latency", "cost", *CRITERIA),
)
_PROGRAM = "write it as a program that judges: {method: code_judge, script: […]}"
_BY_MEANING = "judge it by a rubric: no closeness of words or embeddings is a verdict here"
_WHY_NOT = {
    **dict.fromkeys(("javascript", "python", "ruby", "webhook"), _PROGRAM),
    **dict.fromkeys(("similar", "levenshtein", "rouge-n", "bleu", "gleu", "meteor"), _BY_MEANING),
    **dict.fromkeys(("select-best", "max-score"), "compare two runs: baselinekit report B --compare-to A"),
    "trajectory": "{method: tool_trajectory} looks at the tools that were called",
}
_OTHER_TYPES = ("guardrails", "moderation", "classifier", "perplexity", "human", "pi")
_END = lazy_pattern(r"(?<!\\)(?:\\\\)*\$$")


def check_counterpart(stated: str) -> None:
    """Raise NotCarried for a type of assertion that has no counterpart."""
    type = base_type(stated)
    if type not in _CARRIED:
        hint = _WHY_NOT.get(type.partition(":")[0], "judge it by a rubric, or by a program: code_judge")
        raise NotCarried(f"`{stated}` has no counterpart", hint)


def graded(assertion: Assertion, model: str | None = None) -> Asserted:
    """The grader of an assertion, with its texts filled in; NotCarried where there is none. `model`: the one
    that judges."""
    type, value = base_type(assertion.type), assertion.value
    kind, expected, note = "code", None, ""
    if assertion.type.startswith(_NOT):
        config = _negated(type, assertion)
    elif type == "equals":
        is_text = not isinstance(value, dict | list)
        expected = printed(value) if is_text else None
        config = _pattern(assertion) if is_text else {"method": "json_schema", "schema": {"const": value}}
    elif type in _PATTERNS:
        config = _pattern(assertion)
    elif type in ("is-json", "contains-json"):
        if not isinstance(value, dict | bool | None):
            raise NotCarried(f"`{type}` with a schema that cannot be read", "write the schema in place")
        config, note = {"method": "json_schema", "schema": True if value is None else value}, _JSON_TEXTS
    elif type == "word-count":
        bounds = value if isinstance(value, dict) else {"min": value, "max": value}
        config = {**bounds, "method": "token_count"}
    elif type in ("latency", "cost"):
        if assertion.threshold is None:
            raise NotCarried(f"`{type}` without a threshold", "state the most that it may be")
        key, unit = ("max_seconds", 1000) if type == "latency" else ("max_usd", 1)
        config = {"method": type, key: assertion.threshold / unit}
    elif type in CRITERIA:
        kind, config, note = "model", _rubric(assertion, model), _JUDGES
    else:
        config = _contained("any" if type.endswith("-any") else "all", type, assertion)
    return Asserted(_grader(kind, config, assertion), expected, note)


def in_set(together: AssertionSet, graders: Sequence[dict[str, Json]]) -> Asserted:
    """One grader of several: it passes if their mean reaches the threshold; without a threshold, if all
    pass."""
    by_mean = together.threshold is not None
    config: dict[str, Json] = {"method": "composite"}
    config["graders"] = [{**grader, "required": not by_mean} for grader in graders]
    return Asserted(_grader("code", config | ({"pass_at": together.threshold} if by_mean else {}), together))


def _grader(kind: str, config: dict[str, Json], stated: Assertion | AssertionSet) -> dict[str, Json]:
    grader: dict[str, Json] = {"type": kind, **({"name": stated.metric} if stated.metric else {})}
    grader |= {"config": config}
    grader |= {"weight": stated.weight} if stated.weight != 1 else {}
    return grader | ({"required": False} if stated.weight == 0 else {})


def _negated(type: str, assertion: Assertion) -> dict[str, Json]:
    if type in _PATTERNS and not isinstance(assertion.value, dict | list):
        return {**_pattern(assertion), "must_match": False}
    if type in ("contains", "icontains") or type.endswith("contains-any"):
        return _contained("none", type, assertion)
    raise NotCarried(f"`{assertion.type}`", "state what must be so, in a rubric or a regex")


def _contained(key: str, type: str, assertion: Assertion) -> dict[str, Json]:
    texts = _texts_of(assertion) if type in _TEXT_LISTS else [_text_of(assertion)]
    ignoring_case = {"case_sensitive": False} if type.startswith("i") else {}
    return {"method": "contains", key: texts, **ignoring_case}


def _pattern(assertion: Assertion) -> dict[str, Json]:
    type = base_type(assertion.type)
    if type == "equals":
        pattern = rf"\A{re.escape(printed(assertion.value))}\Z"
    elif type == "starts-with":
        pattern = rf"\A{re.escape(_text_of(assertion))}"
    else:
        text = _text_of(assertion)
        pattern = text[:-1] + r"\Z" if _END.search(text) else text  # there `$` matches before no line end
    return {"method": "regex", "pattern": pattern}


def _rubric(assertion: Assertion, model: str | None) -> dict[str, Json]:
    """The config of a model that judges by one criterion or several: yes or no, or a score."""
    texts = assertion.value if isinstance(assertion.value, list) else [assertion.value]
    if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        hint = "write what the judge is to look at"
        raise NotCarried(f"`{assertion.type}` without a rubric in words", hint)
    criteria = [CRITERIA[assertion.type].replace("{}", text) for text in texts]
    names = ["overall"] if len(texts) == 1 else [f"criterion-{number}" for number in range(1, len(texts) + 1)]
    least = assertion.threshold
    if assertion.type == "g-eval" and least is None:
        least = _LEAST_OF_G_EVAL
    scoring = {"type": "numeric", "range": [0, 1], "threshold": least} if least else {"type": "boolean"}
    rubric = [{"name": name, "description": text} for name, text in zip(names, criteria, strict=True)]
    return {"rubric": rubric, **({"model": model} if model else {}), "scoring": scoring}


def _text_of(assertion: Assertion) -> str:
    if isinstance(assertion.value, bool) or not isinstance(assertion.value, str | int | float):
        raise NotCarried(f"`{assertion.type}` whose value is not a text", "give it a text")
    return printed(assertion.value)


def _texts_of(assertion: Assertion) -> list[str]:
    values: Any = assertion.value
    if isinstance(values, str):
        values = [part.strip() for part in values.split(",")]
    are_texts = isinstance(values, list) and all(isinstance(text, str | int | float) for text in values)
    if not values or not are_texts:
        raise NotCarried(f"`{assertion.type}` without a list of texts", "give it a list")
    return [printed(text) for text in values]


# The short form of an assertion, as tables of tests have it.


_SHORT = lazy_pattern(
    r"(?P<type>(?:not-)?(?:(?:similar|trajectory):[a-z-]+|[a-z][a-z0-9-]*))"
    r"(?:\((?P<threshold>\d+(?:\.\d+)?)\))?(?::\s*(?P<value>.*))?",
    re.DOTALL,
)
_OTHER_NAMES = {"fn": "javascript", "eval": "javascript", "grade": "llm-rubric"}


def base_type(stated: str) -> str:
    """The type of an assertion by its usual name, without `not-`."""
    return _OTHER_NAMES.get(stated.removeprefix(_NOT), stated.removeprefix(_NOT))


def from_short(text: str) -> dict[str, Json]:
    """The assertion of `contains:Paris` or `similar(0.8):Hello`; a text that does not begin with a type means
    `equals`, as there."""
    match = _SHORT.fullmatch(text.strip())
    base = base_type(match["type"]).partition(":")[0] if match else ""
    is_known = base in (*_CARRIED, *_WHY_NOT, *_OTHER_TYPES) or base.startswith(("is-", "contains-"))
    if match is None or not (is_known or ("-" in base and match["value"])):
        return {"type": "equals", "value": text.strip()}
    assertion: dict[str, Json] = {"type": _OTHER_NAMES.get(match["type"], match["type"])}
    if match["value"] is not None:
        assertion |= {"value": match["value"]}
    return assertion | ({"threshold": float(match["threshold"])} if match["threshold"] else {})

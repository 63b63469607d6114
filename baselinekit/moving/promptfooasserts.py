"""promptfoo's templates, whose names jinja2 fills in and which are printed as JavaScript prints them; and its
assertions as graders, by their types, or the reason why there is no counterpart."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, nodes
from jinja2.sandbox import SandboxedEnvironment

from baselinekit.files.jsontext import tight_json
from baselinekit.importers.drafts import NotCarried
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json
from baselinekit.structs import Struct, Threshold, field
from baselinekit.values.places import with_texts

_PLAIN_NODES = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.Name,
    nodes.Const,
    nodes.Getattr,
    nodes.Getitem,
    nodes.Filter,
)
"""What a template may consist of: loops and conditions mean something else in Python than in JavaScript."""

_MOST_CHARACTERS = 1_000_000
_DEEPEST = 5
_LARGEST_PLAIN = 1e21
"""From here on JavaScript prints a number with an exponent."""


def printed(value: Any) -> str:
    """The text of a value as JavaScript has it; an object or a list is written as JSON."""
    if value is None:
        return ""
    if isinstance(value, float):
        return str(_as_in_javascript(value))
    return tight_json(_as_in_javascript(value)) if isinstance(value, bool | dict | list) else str(value)


def _as_in_javascript(value: Json) -> Json:
    """The value with whole numbers without a decimal point."""
    if isinstance(value, dict):
        return {key: _as_in_javascript(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_in_javascript(item) for item in value]
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_PLAIN
    return int(value) if is_whole else value


class _Environment(SandboxedEnvironment):
    """A template sees the values of the test and nothing else, no method of theirs either."""

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(obj, StrictUndefined):
            return obj
        try:
            if argument == "length" and isinstance(obj, str | list):
                return len(obj)
            key = int(argument) if isinstance(obj, str | list) else argument
            return obj[key] if isinstance(obj, str | list | dict) else self.undefined(obj=obj, name=argument)
        except (LookupError, TypeError, ValueError):
            return self.undefined(obj=obj, name=argument)

    def getattr(self, obj: Any, attribute: str) -> Any:
        return self.getitem(obj, attribute)


def _environment(newline: Any) -> _Environment:
    environment = _Environment(
        undefined=StrictUndefined, finalize=printed, keep_trailing_newline=True, newline_sequence=newline
    )
    environment.globals.clear()
    environment.filters = {
        "upper": lambda value: printed(value).upper(),
        "lower": lambda value: printed(value).lower(),
        "trim": lambda value: printed(value).strip(),
        **dict.fromkeys(("safe", "string"), printed),
        **dict.fromkeys(("dump", "tojson"), lambda value, indent=0: tight_json(_as_in_javascript(value))),
    }
    return environment


@lru_cache(maxsize=1_000)
def _compiled(text: str) -> Template:
    environment = _environment("\r\n" if "\r\n" in text else "\n")
    for one in environment.parse(text).find_all(nodes.Node):
        if not isinstance(one, _PLAIN_NODES):
            raise TemplateError(f"logic ({type(one).__name__.lower()}): only names and filters are filled in")
    return environment.from_string(text)


def render(text: str, values: Mapping[str, Json], where: str) -> str:
    """The text of a template. NotCarried, which says `where` it is, for one that has more than names, or
    names without a value."""
    if not any(mark in text for mark in ("{{", "{%", "{#")):
        return text
    parts, size = [], 0
    try:
        for part in _compiled(text).generate(values):
            parts.append(part)
            size += len(part)
            if size > _MOST_CHARACTERS:
                raise TemplateError(f"a text of more than {_MOST_CHARACTERS:,} characters")
    except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise NotCarried(f"{where}: {error}", "write the text without it, or give the name a value") from None
    return "".join(parts)


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
    template: str | None = field(name="$ref", default=None)


class AssertionSet(Struct):
    """Assertions that count together: by their mean, or all of them without a threshold."""

    type: str
    parts: list[Json] = field(name="assert")
    threshold: Threshold | None = None
    weight: int | float = 1
    metric: str | None = None
    template: str | None = field(name="$ref", default=None)


class Asserted(Struct):
    """The grader of an assertion, as a file of ours states it; and `expected`, if it goes by what the case
    expects. `note`: what is judged differently from promptfoo."""

    grader: dict[str, Json]
    expected: dict[str, Json] | None = None
    note: str = ""


_IN_A_BLOCK = "JSON counts in a code block too: promptfoo wants it bare for is-json and equals"
_ONE_TEXT = "contains-json wants one JSON text, bare or in a code block; promptfoo finds it anywhere"
_JUDGES = "judges are asked in the words of baselinekit: rubrics carry over, promptfoo's own prompts do not"
CRITERIA = {
    "factuality": "The output may say less or more than these facts, and must not contradict them: {}",
    "model-graded-factuality": "The output agrees with these facts, and does not contradict them: {}",
    "model-graded-closedqa": "The output meets this criterion: {}",
    "llm-rubric": "{}",
    "g-eval": "{}",
}
_TEXT_LISTS = ("contains-any", "contains-all", "icontains-any", "icontains-all")
_CARRIED = (
    *("equals", "contains", "icontains", *_TEXT_LISTS, "starts-with", "regex"),
    *("is-json", "contains-json", "word-count", "latency", "cost", *CRITERIA),
)
_PROGRAM = "write it as a program that judges: {method: code_judge, script: […]}"
_BY_MEANING = "judge it by a rubric: no closeness of words or embeddings is a verdict here"
_WHY_NOT = {
    **dict.fromkeys(("javascript", "python", "ruby", "webhook"), _PROGRAM),
    **dict.fromkeys(("similar", "levenshtein", "rouge-n", "bleu", "gleu", "meteor"), _BY_MEANING),
    **dict.fromkeys(("select-best", "max-score"), "compare two runs: baselinekit report B --compare-to A"),
    **dict.fromkeys(("is-refusal", "guardrails", "moderation", "classifier"), "judge it by a rubric"),
    **dict.fromkeys(("perplexity", "perplexity-score"), "models here are not asked for probabilities"),
}
_END = lazy_pattern(r"(?<!\\)(?:\\\\)*\$$")


def graded(assertion: Assertion, model: str | None = None) -> Asserted:
    """The grader of an assertion, with its texts filled in; NotCarried where there is none. `model`: the one
    that judges."""
    type, is_negated = base_type(assertion.type), assertion.type.startswith(_NOT)
    if type not in _CARRIED:
        hint = _WHY_NOT.get(type, "judge it by a rubric, or by a program: {method: code_judge}")
        if type.startswith(("trajectory:", "trace-")):
            hint = "{method: tool_trajectory} looks at the tools that were called"
        raise NotCarried(f"`{assertion.type}` has no counterpart", hint)
    value, kind, config, note = assertion.value, "code", dict[str, Json](), ""
    expected: dict[str, Json] | None = None
    of_case = {"case_sensitive": False} if type.startswith("i") else {}
    pattern: dict[str, Json] = {"method": "regex", **({"must_match": False} if is_negated else {})}
    if type == "equals" and is_negated and not isinstance(value, dict | list):
        config = {**pattern, "pattern": rf"\A{re.escape(printed(value))}\Z"}
    elif type == "starts-with":
        config = {**pattern, "pattern": rf"\A{re.escape(_text_of(assertion))}"}
    elif type == "regex":
        text = _text_of(assertion).replace("[^]", r"[\s\S]")
        text = text[:-1] + r"\Z" if _END.search(text) else text  # there `$` matches before no line end
        config = {**pattern, "pattern": text}
    elif type.endswith("contains-all") and is_negated:
        lookaheads = "".join(f"(?=.*{re.escape(text)})" for text in _texts_of(assertion))
        flags = ["dotall", "ignorecase"] if of_case else ["dotall"]
        config = {"method": "regex", "pattern": rf"\A{lookaheads}", "flags": flags, "must_match": False}
    elif type in ("contains", "icontains"):
        config = {"method": "contains", "none" if is_negated else "all": [_text_of(assertion)], **of_case}
    elif type in _TEXT_LISTS:
        key = "none" if is_negated else type.rpartition("-")[2]
        config = {"method": "contains", key: _texts_of(assertion), **of_case}
    elif is_negated:
        raise NotCarried(f"`{assertion.type}`", "state what must be so, in a rubric or a regex")
    elif type == "equals" and isinstance(value, dict | list):
        config, expected, note = {"method": "exact_match"}, {"type": "exact", "value": value}, _IN_A_BLOCK
    elif type == "equals":
        config = {"method": "exact_match", "trim_whitespace": False, "normalize_newlines": False}
        expected = {"type": "exact", "value": printed(value)}
    elif type in ("is-json", "contains-json"):
        schema = True if value is None else value
        if not isinstance(schema, dict | bool):
            raise NotCarried(f"`{type}` with a schema that cannot be read", "write the schema in place")
        note = _ONE_TEXT if type == "contains-json" else _IN_A_BLOCK
        config = {"method": "json_schema", "schema": schema}
    elif type == "word-count":
        value = int(value) if isinstance(value, str) and value.isdecimal() else value
        bounds = {"min": value, "max": value} if isinstance(value, int) else value
        is_bounds = isinstance(bounds, dict) and set() != bounds.keys() <= {"min", "max"}
        if isinstance(value, bool) or not is_bounds:
            raise NotCarried("a word count without plain bounds", "{method: token_count, min: …, max: …}")
        config = {"method": "token_count", **bounds}
    elif type in ("latency", "cost"):
        if assertion.threshold is None:
            raise NotCarried(f"`{type}` without a threshold", "state the most that it may be")
        key, unit = ("max_seconds", 1000) if type == "latency" else ("max_usd", 1)
        config = {"method": type, key: assertion.threshold / unit}
    else:
        kind, config, note = "model", _rubric(assertion, model), _JUDGES
    grader: dict[str, Json] = {"type": kind, **({"name": assertion.metric} if assertion.metric else {})}
    grader |= {"config": config}
    grader |= {"weight": assertion.weight} if assertion.weight != 1 else {}
    return Asserted(grader | ({"required": False} if assertion.weight == 0 else {}), expected, note)


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
        least = 0.7
    scoring = {"type": "numeric", "range": [0, 1], "threshold": least} if least else {"type": "boolean"}
    rubric = [{"name": name, "description": text} for name, text in zip(names, criteria, strict=True)]
    return {"rubric": rubric, **({"model": model} if model else {}), "scoring": scoring}


def in_set(inner: Sequence[Asserted], together: AssertionSet) -> Asserted:
    """One grader of several: it passes if their mean reaches the threshold; without a threshold, if all
    pass."""
    if not inner:
        raise NotCarried("an empty assert-set", "give it an assertion")
    by_mean = together.threshold is not None
    config: dict[str, Json] = {"method": "composite"}
    config["graders"] = [{**asserted.grader, "required": not by_mean} for asserted in inner]
    config |= {"pass_at": together.threshold} if by_mean else {}
    grader = {"type": "code", **({"name": together.metric} if together.metric else {}), "config": config}
    return Asserted(grader | ({"weight": together.weight} if together.weight != 1 else {}))


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
_OTHER_TYPES = lazy_pattern(
    r"agent-rubric|(?:answer|conversation)-relevance|(?:contains|is)-(?:html|sql|xml)|finish-reason|human|pi"
    r"|context-(?:faithfulness|recall|relevance)|is-valid-(?:openai-)?(?:function|tools)-call|search-rubric"
    r"|similar:(?:cosine|dot|euclidean)|skill-used|tool-call-f1|trace-(?:error-spans|span-count|span-duration)"
    r"|trajectory:(?:goal-success|step-count|tool-args-match|tool-sequence|tool-used)"
)
"""The types of assertions that promptfoo has and that neither carry over nor have a hint of their own."""


def base_type(stated: str) -> str:
    """The type of an assertion by its usual name, without `not-`."""
    return _OTHER_NAMES.get(stated.removeprefix(_NOT), stated.removeprefix(_NOT))


def from_short(text: str) -> dict[str, Json]:
    """The assertion of `contains:Paris` or `similar(0.8):Hello`; a text that does not begin with a type means
    `equals`, as there."""
    match = _SHORT.fullmatch(text.strip())
    base = base_type(match["type"]) if match else ""
    if match is None or not (base in _CARRIED or base in _WHY_NOT or _OTHER_TYPES.fullmatch(base)):
        return {"type": "equals", "value": text.strip()}
    assertion: dict[str, Json] = {"type": _OTHER_NAMES.get(match["type"], match["type"])}
    if match["value"] is not None:
        assertion |= {"value": match["value"]}
    return assertion | ({"threshold": float(match["threshold"])} if match["threshold"] else {})

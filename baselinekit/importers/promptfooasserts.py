"""promptfoo's assertions as graders, by their types; or the reason why there is no counterpart."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json
from baselinekit.schema import describe_value
from baselinekit.structs import Struct

_TEXTUAL = (str, int, float)
_NOT = "not-"
_SHORT = lazy_pattern(
    r"(?P<type>(?:not-)?(?:(?:similar|trajectory):[a-z-]+|[a-z][a-z0-9-]*))"
    r"(?:\((?P<threshold>\d+(?:\.\d+)?)\))?(?::\s*(?P<value>.*))?",
    re.DOTALL,
)
_OTHER_NAMES = {"fn": "javascript", "eval": "javascript", "grade": "llm-rubric"}
SET = "assert-set"
_LISTS = ("contains-any", "contains-all", "icontains-any", "icontains-all")


class NotCarried(Exception):
    """Why an assertion does not carry over, and what to do about it."""

    def __init__(self, message: str, hint: str = ""):
        super().__init__(message)
        self.message, self.hint = message, hint


class Assertion(Struct):
    """One assertion, its texts filled in. `model`: the model that judges."""

    type: str
    value: Json = None
    threshold: float | None = None
    weight: float = 1
    negated: bool = False
    name: str | None = None
    model: str | None = None


class Asserted(Struct):
    """The grader of an assertion, as a file of ours states it; and `expected`, if it goes by what the case
    expects. `note`: what is judged differently from promptfoo."""

    grader: dict[str, Json]
    expected: dict[str, Json] | None = None
    note: str = ""


def graded(assertion: Assertion) -> Asserted:
    """The grader of an assertion; NotCarried where there is none."""
    if assertion.type not in _ROWS:
        hint = _WHY_NOT.get(assertion.type, "")
        if not hint and assertion.type.startswith(("trajectory:", "trace-")):
            hint = "{method: tool_trajectory} looks at the tools that were called"
        message = f"`{_NOT if assertion.negated else ''}{assertion.type}` has no counterpart"
        raise NotCarried(message, hint or "judge it by a rubric, or by a program: {method: code_judge}")
    row = _ROWS[assertion.type](assertion)
    grader = dict(row.grader)
    if assertion.name:
        grader = {"type": grader["type"], "name": assertion.name, **grader}
    if assertion.weight != 1:
        grader["weight"] = assertion.weight
    if assertion.weight == 0:
        grader["required"] = False
    return Asserted(grader, row.expected, row.note)


def in_set(inner: Sequence[Asserted], assertion_set: Mapping[str, Json]) -> Asserted:
    """One grader of several: it passes if their mean reaches the threshold; without a threshold, if all
    pass."""
    if not inner:
        raise NotCarried("an empty assert-set", "give it an assertion")
    threshold = number_of(assertion_set, "threshold")
    by_mean = threshold is not None
    if threshold is not None and not 0 < threshold <= 1:
        raise NotCarried(f"an assert-set with a threshold of {threshold}", "every answer reaches it, or none")
    graders = [{**asserted.grader, "required": not by_mean} for asserted in inner]
    grader = _code("composite", graders=graders, **({"pass_at": threshold} if by_mean else {}))
    name, weight = assertion_set.get("metric"), number_of(assertion_set, "weight")
    grader = {"type": "code", **({"name": name} if isinstance(name, str) else {}), **grader}
    return Asserted(grader | ({"weight": weight} if weight not in (None, 1) else {}))


def number_of(assertion: Mapping[str, Json], key: str) -> float | None:
    """The number below a key of an assertion, if it is stated; NotCarried for a value that is none."""
    value = assertion.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float | None):
        raise NotCarried(f"`{assertion['type']}` whose {key} is {describe_value(value)}", "write a number")
    return value


def _code(method: str, **config: Any) -> dict[str, Json]:
    return {"type": "code", "config": {"method": method, **config}}


def _text_of(assertion: Assertion) -> str:
    if isinstance(assertion.value, bool) or not isinstance(assertion.value, _TEXTUAL):
        raise NotCarried(f"`{assertion.type}` with a value that is no text", "give it a text")
    return str(assertion.value)


def _texts_of(assertion: Assertion) -> list[str]:
    values = assertion.value
    if isinstance(values, str):
        values = [part.strip() for part in values.split(",")]
    if not isinstance(values, list) or not values or not all(isinstance(text, _TEXTUAL) for text in values):
        raise NotCarried(f"`{assertion.type}` without a list of texts", "give it a list")
    return [str(text) for text in values]


def _pattern(assertion: Assertion, pattern: str) -> dict[str, Json]:
    return _code("regex", pattern=pattern, **({"must_match": False} if assertion.negated else {}))


def _equals(assertion: Assertion) -> Asserted:
    if not isinstance(assertion.value, dict | list):
        value = "" if assertion.value is None else str(assertion.value)
        if assertion.negated:
            return Asserted(_pattern(assertion, rf"\A{re.escape(value)}\Z"))
        config = _code("exact_match", trim_whitespace=False, normalize_newlines=False)
        return Asserted(config, {"type": "exact", "value": value})
    if assertion.negated:
        raise NotCarried("`not-equals` with JSON", "judge it by a program: {method: code_judge}")
    return Asserted(_code("exact_match"), {"type": "exact", "value": assertion.value}, _IN_A_BLOCK)


def _contains(assertion: Assertion) -> Asserted:
    lists = {"none" if assertion.negated else "all": [_text_of(assertion)]}
    return Asserted(_code("contains", **lists, **_case_option(assertion)))


def _contains_any(assertion: Assertion) -> Asserted:
    lists = {"none" if assertion.negated else "any": _texts_of(assertion)}
    return Asserted(_code("contains", **lists, **_case_option(assertion)))


def _contains_all(assertion: Assertion) -> Asserted:
    texts = _texts_of(assertion)
    if not assertion.negated:
        return Asserted(_code("contains", all=texts, **_case_option(assertion)))
    lookaheads = "".join(f"(?=.*{re.escape(text)})" for text in texts)
    flags = ["dotall", "ignorecase"] if assertion.type[0] == "i" else ["dotall"]
    return Asserted(_code("regex", pattern=rf"\A{lookaheads}", flags=flags, must_match=False))


def _case_option(assertion: Assertion) -> dict[str, Json]:
    return {"case_sensitive": False} if assertion.type.startswith("i") else {}


def _starts_with(assertion: Assertion) -> Asserted:
    return Asserted(_pattern(assertion, rf"\A{re.escape(_text_of(assertion))}"))


def _regex(assertion: Assertion) -> Asserted:
    pattern = _text_of(assertion)
    if re.search(
        r"(?<!\\)(?:\\\\)*\$$", pattern
    ):  # in promptfoo `$` is the end only, and not also a line end before it
        pattern = pattern[:-1] + r"\Z"
    return Asserted(_pattern(assertion, pattern.replace("[^]", r"[\s\S]")))


_IN_A_BLOCK = "JSON counts in a code block too: promptfoo wants it bare for is-json and equals"


def _json(assertion: Assertion) -> Asserted:
    if assertion.negated:
        raise NotCarried(f"`not-{assertion.type}`", "say with a regex what must not be there")
    schema = True if assertion.value is None else assertion.value
    if not isinstance(schema, dict | bool):
        raise NotCarried(f"`{assertion.type}` with a schema that cannot be read", "write the schema in place")
    if assertion.type == "contains-json":
        note = "contains-json wants one JSON text, bare or in a code block; promptfoo finds it anywhere"
        return Asserted(_code("json_schema", schema=schema), note=note)
    return Asserted(_code("json_schema", schema=schema), note=_IN_A_BLOCK)


def _word_count(assertion: Assertion) -> Asserted:
    value = assertion.value
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    bounds = {"min": value, "max": value} if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(bounds, dict) or not bounds or bounds.keys() - {"min", "max"} or assertion.negated:
        raise NotCarried("a word count without plain bounds", "{method: token_count, min: …, max: …}")
    return Asserted(_code("token_count", **bounds))


def _latency(assertion: Assertion) -> Asserted:
    if assertion.threshold is None or assertion.negated:
        raise NotCarried("`latency` without a plain threshold", "{method: latency, max_seconds: …}")
    return Asserted(_code("latency", max_seconds=assertion.threshold / 1000))


def _cost(assertion: Assertion) -> Asserted:
    if assertion.threshold is None or assertion.negated:
        raise NotCarried("`cost` without a plain threshold", "{method: cost, max_usd: …}")
    return Asserted(_code("cost", max_usd=assertion.threshold))


_CRITERION_TEMPLATES = {
    "factuality": "The output may say less or more than these facts, and must not contradict them: {}",
    "model-graded-factuality": "The output agrees with these facts, and does not contradict them: {}",
    "model-graded-closedqa": "The output meets this criterion: {}",
}
_JUDGED_HERE = (
    "judges are asked in the words of baselinekit: rubrics carry over, promptfoo's own prompts do not"
)


def _rubric(assertion: Assertion) -> Asserted:
    if assertion.negated:
        raise NotCarried(f"`not-{assertion.type}`", "state in a rubric what must not be so")
    values = assertion.value if isinstance(assertion.value, list) else [assertion.value]
    if not values or not all(isinstance(value, str) and value.strip() for value in values):
        raise NotCarried(
            f"`{assertion.type}` without a rubric in words", "write what the judge is to look at"
        )
    criteria = [_CRITERION_TEMPLATES.get(assertion.type, "{}").replace("{}", str(value)) for value in values]
    names = (
        ["overall"] if len(criteria) == 1 else [f"criterion-{number + 1}" for number in range(len(criteria))]
    )
    config: dict[str, Json] = {
        "rubric": [{"name": name, "description": text} for name, text in zip(names, criteria, strict=True)]
    }
    config |= {"model": assertion.model} if assertion.model else {}
    threshold = assertion.threshold
    if assertion.type == "g-eval" and threshold is None:
        threshold = 0.7
    scoring: dict[str, Json] = {"type": "boolean"}
    if threshold:
        scoring = {"type": "numeric", "range": [0, 1], "threshold": threshold}
    return Asserted({"type": "model", "config": {**config, "scoring": scoring}}, note=_JUDGED_HERE)


_ROWS: Mapping[str, Callable[[Assertion], Asserted]] = {
    "equals": _equals,
    **dict.fromkeys(("contains", "icontains"), _contains),
    **dict.fromkeys(("contains-any", "icontains-any"), _contains_any),
    **dict.fromkeys(("contains-all", "icontains-all"), _contains_all),
    "starts-with": _starts_with,
    "regex": _regex,
    **dict.fromkeys(("is-json", "contains-json"), _json),
    "word-count": _word_count,
    "latency": _latency,
    "cost": _cost,
    **dict.fromkeys(("llm-rubric", "g-eval", *_CRITERION_TEMPLATES), _rubric),
}
_PROGRAM = "write it as a program that judges: {method: code_judge, script: […]}"
_BY_MEANING = "judge it by a rubric: no closeness of words or embeddings is a verdict here"
_WHY_NOT = {
    **dict.fromkeys(("javascript", "python", "ruby", "webhook"), _PROGRAM),
    **dict.fromkeys(("similar", "levenshtein", "rouge-n", "bleu", "gleu", "meteor"), _BY_MEANING),
    **dict.fromkeys(("select-best", "max-score"), "compare two runs: baselinekit report B --compare-to A"),
    **dict.fromkeys(("is-refusal", "guardrails", "moderation", "classifier"), "judge it by a rubric"),
    **dict.fromkeys(("perplexity", "perplexity-score"), "models here are not asked for probabilities"),
}


# The short form of an assertion, as tables of tests have it.


_OTHER_TYPES = lazy_pattern(
    r"agent-rubric|(?:answer|conversation)-relevance|(?:contains|is)-(?:html|sql|xml)|finish-reason|human|pi"
    r"|context-(?:faithfulness|recall|relevance)|is-valid-(?:openai-)?(?:function|tools)-call|search-rubric"
    r"|similar:(?:cosine|dot|euclidean)|skill-used|tool-call-f1|trace-(?:error-spans|span-count|span-duration)"
    r"|trajectory:(?:goal-success|step-count|tool-args-match|tool-sequence|tool-used)"
)
"""The types of assertions that promptfoo has and that neither carry over nor have a hint of their own."""


def from_short(text: str) -> dict[str, Json]:
    """The assertion of `contains:Paris` or `similar(0.8):Hello`; a text that does not begin with a type means
    `equals`, as there."""
    text = text.strip()
    match = _SHORT.fullmatch(text)
    type = match["type"] if match else ""
    type = _OTHER_NAMES.get(type, type)
    base = type.removeprefix(_NOT)
    if match is None or not (base in _ROWS or base in _WHY_NOT or _OTHER_TYPES.fullmatch(base)):
        return {"type": "equals", "value": text}
    assertion: dict[str, Json] = {"type": type}
    if match["value"] is not None and base in _LISTS:
        assertion["value"] = [part.strip() for part in match["value"].split(",")]
    elif match["value"] is not None:
        assertion["value"] = match["value"]
    return assertion | ({"threshold": float(match["threshold"])} if match["threshold"] else {})


def typed(stated_type: str) -> tuple[str, bool]:
    """The type of an assertion, and whether it is negated."""
    return _OTHER_NAMES.get(
        stated_type.removeprefix(_NOT), stated_type.removeprefix(_NOT)
    ), stated_type.startswith(_NOT)

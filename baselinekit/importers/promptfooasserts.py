"""promptfoo's assertions as graders, each type by its name, or the reason why there is no counterpart."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json

_TEXTUAL = (str, int, float)
_NOT = "not-"
_SHORT = lazy_pattern(
    r"(?P<type>(?:not-)?[a-z][a-z0-9-]*(?::[a-z][a-z-]*)?)(?:\((?P<threshold>[\d.]+)\))?\s*(?::\s*(?P<value>.*))?",
    re.DOTALL,
)
_OTHER_NAMES = {"fn": "javascript", "eval": "javascript", "grade": "llm-rubric"}
SET = "assert-set"
_LISTS = ("contains-any", "contains-all", "icontains-any", "icontains-all")


class NotCarried(Exception):
    """Why an assertion does not carry over, and what to do about it."""

    def __init__(self, what: str, hint: str = ""):
        super().__init__(what)
        self.what, self.hint = what, hint


@frozen
class Assertion:
    """One assertion, its texts filled in. `model`: whom its judge asks."""

    type: str
    value: Json = None
    threshold: float | None = None
    weight: float = 1
    negated: bool = False
    name: str | None = None
    model: str | None = None


@frozen
class Asserted:
    """The grader that an assertion means, as a file of ours states it; and `expected`, where it goes by what
    the case expects. `note`: what is judged otherwise than there."""

    grader: dict[str, Json]
    expected: dict[str, Json] | None = None
    note: str = ""


def graded(asserted: Assertion) -> Asserted:
    """The grader of an assertion; NotCarried where there is none."""
    if asserted.type not in _ROWS:
        hint = _WHY_NOT.get(asserted.type, "")
        if not hint and asserted.type.startswith(("trajectory:", "trace-")):
            hint = "{method: tool_trajectory} looks at the tools that were called"
        known = f"`{_NOT if asserted.negated else ''}{asserted.type}` has no counterpart"
        raise NotCarried(known, hint or "judge it by a rubric, or by a program: {method: code_judge}")
    made = _ROWS[asserted.type](asserted)
    grader = dict(made.grader)
    if asserted.name:
        grader = {"type": grader["type"], "name": asserted.name, **grader}
    if asserted.weight != 1:
        grader["weight"] = asserted.weight
    if asserted.weight == 0:
        grader["required"] = False
    return Asserted(grader, made.expected, made.note)


def in_set(inner: Sequence[Asserted], stated: Mapping[str, Json]) -> Asserted:
    """One grader of several: it passes where their mean reaches the threshold, and without one where all
    pass."""
    if not inner:
        raise NotCarried("an empty assert-set", "give it an assertion")
    threshold = stated.get("threshold")
    by_mean = threshold is not None
    if threshold is not None and (isinstance(threshold, bool) or not 0 < threshold <= 1):
        raise NotCarried(f"an assert-set with a threshold of {threshold}", "every answer reaches it, or none")
    graders = [{**one.grader, "required": not by_mean} for one in inner]
    grader = _code("composite", graders=graders, **({"pass_at": threshold} if by_mean else {}))
    name, weight = stated.get("metric"), stated.get("weight", 1)
    grader = {"type": "code", **({"name": name} if isinstance(name, str) else {}), **grader}
    return Asserted(grader | ({"weight": weight} if weight != 1 else {}))


def _code(method: str, **config: Any) -> dict[str, Json]:
    return {"type": "code", "config": {"method": method, **config}}


def _text_of(asserted: Assertion) -> str:
    if isinstance(asserted.value, bool) or not isinstance(asserted.value, _TEXTUAL):
        raise NotCarried(f"`{asserted.type}` with a value that is no text", "give it a text")
    return str(asserted.value)


def _texts_of(asserted: Assertion) -> list[str]:
    values = asserted.value
    if isinstance(values, str):
        values = [part.strip() for part in values.split(",")]
    if not isinstance(values, list) or not values or not all(isinstance(one, _TEXTUAL) for one in values):
        raise NotCarried(f"`{asserted.type}` without a list of texts", "give it a list")
    return [str(one) for one in values]


def _pattern(asserted: Assertion, pattern: str) -> dict[str, Json]:
    return _code("regex", pattern=pattern, **({"must_match": False} if asserted.negated else {}))


def _equals(asserted: Assertion) -> Asserted:
    if not isinstance(asserted.value, dict | list):
        value = "" if asserted.value is None else str(asserted.value)
        if asserted.negated:
            return Asserted(_pattern(asserted, rf"\A{re.escape(value)}\Z"))
        exactly = _code("exact_match", trim_whitespace=False, normalize_newlines=False)
        return Asserted(exactly, {"type": "exact", "value": value})
    if asserted.negated:
        raise NotCarried("`not-equals` with JSON", "judge it by a program: {method: code_judge}")
    return Asserted(_code("exact_match"), {"type": "exact", "value": asserted.value}, _IN_A_BLOCK)


def _contains(asserted: Assertion) -> Asserted:
    lists = {"none" if asserted.negated else "all": [_text_of(asserted)]}
    return Asserted(_code("contains", **lists, **_case(asserted)))


def _contains_any(asserted: Assertion) -> Asserted:
    lists = {"none" if asserted.negated else "any": _texts_of(asserted)}
    return Asserted(_code("contains", **lists, **_case(asserted)))


def _contains_all(asserted: Assertion) -> Asserted:
    texts = _texts_of(asserted)
    if not asserted.negated:
        return Asserted(_code("contains", all=texts, **_case(asserted)))
    each = "".join(f"(?=.*{re.escape(text)})" for text in texts)
    flags = ["dotall", "ignorecase"] if asserted.type[0] == "i" else ["dotall"]
    return Asserted(_code("regex", pattern=rf"\A{each}", flags=flags, must_match=False))


def _case(asserted: Assertion) -> dict[str, Json]:
    return {"case_sensitive": False} if asserted.type.startswith("i") else {}


def _starts_with(asserted: Assertion) -> Asserted:
    return Asserted(_pattern(asserted, rf"\A{re.escape(_text_of(asserted))}"))


def _regex(asserted: Assertion) -> Asserted:
    pattern = _text_of(asserted)
    if re.search(r"(?<!\\)(?:\\\\)*\$$", pattern):  # there it is the end, and not also a line end before it
        pattern = pattern[:-1] + r"\Z"
    return Asserted(_pattern(asserted, pattern.replace("[^]", r"[\s\S]")))


_IN_A_BLOCK = "JSON counts in a code block too: promptfoo wants it bare for is-json and equals"


def _json(asserted: Assertion) -> Asserted:
    if asserted.negated:
        raise NotCarried(f"`not-{asserted.type}`", "say with a regex what must not be there")
    schema = True if asserted.value is None else asserted.value
    if not isinstance(schema, dict | bool):
        raise NotCarried(f"`{asserted.type}` with a schema that cannot be read", "write the schema in place")
    if asserted.type == "contains-json":
        note = "contains-json wants one JSON text, bare or in a code block; promptfoo finds it anywhere"
        return Asserted(_code("json_schema", schema=schema), note=note)
    return Asserted(_code("json_schema", schema=schema), note=_IN_A_BLOCK)


def _word_count(asserted: Assertion) -> Asserted:
    value = asserted.value
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    bounds = {"min": value, "max": value} if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(bounds, dict) or not bounds or bounds.keys() - {"min", "max"} or asserted.negated:
        raise NotCarried("a word count without plain bounds", "{method: token_count, min: …, max: …}")
    return Asserted(_code("token_count", **bounds))


def _latency(asserted: Assertion) -> Asserted:
    if asserted.threshold is None or asserted.negated:
        raise NotCarried("`latency` without a plain threshold", "{method: latency, max_seconds: …}")
    return Asserted(_code("latency", max_seconds=asserted.threshold / 1000))


def _cost(asserted: Assertion) -> Asserted:
    if asserted.threshold is None or asserted.negated:
        raise NotCarried("`cost` without a plain threshold", "{method: cost, max_usd: …}")
    return Asserted(_code("cost", max_usd=asserted.threshold))


_SAYING = {
    "factuality": "The output may say less or more than these facts, and must not contradict them: {}",
    "model-graded-factuality": "The output agrees with these facts, and does not contradict them: {}",
    "model-graded-closedqa": "The output meets this criterion: {}",
}
_JUDGED_HERE = (
    "judges are asked in the words of baselinekit: rubrics carry over, promptfoo's own prompts do not"
)


def _rubric(asserted: Assertion) -> Asserted:
    if asserted.negated:
        raise NotCarried(f"`not-{asserted.type}`", "state in a rubric what must not be so")
    values = asserted.value if isinstance(asserted.value, list) else [asserted.value]
    if not values or not all(isinstance(one, str) and one.strip() for one in values):
        raise NotCarried(f"`{asserted.type}` without a rubric in words", "write what the judge is to look at")
    said = [_SAYING.get(asserted.type, "{}").replace("{}", str(one)) for one in values]
    names = ["overall"] if len(said) == 1 else [f"criterion-{number + 1}" for number in range(len(said))]
    config: dict[str, Json] = {
        "rubric": [{"name": name, "description": text} for name, text in zip(names, said, strict=True)]
    }
    config |= {"model": asserted.model} if asserted.model else {}
    threshold = asserted.threshold
    if asserted.type == "g-eval" and threshold is None:
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
    **dict.fromkeys(("llm-rubric", "g-eval", *_SAYING), _rubric),
}
_PROGRAM = "write it as a program that judges: {method: code_judge, script: […]}"
_BY_MEANING = "judge it by a rubric: no closeness of words or embeddings is a verdict here"
_WHY_NOT = {
    **dict.fromkeys(("javascript", "python", "ruby", "webhook"), _PROGRAM),
    **dict.fromkeys(("similar", "levenshtein", "rouge-n", "bleu", "gleu", "meteor"), _BY_MEANING),
    **dict.fromkeys(("select-best", "max-score"), "compare two runs: baselinekit compare-runs A B"),
    **dict.fromkeys(("is-refusal", "guardrails", "moderation", "classifier"), "judge it by a rubric"),
    **dict.fromkeys(("perplexity", "perplexity-score"), "models here are not asked for probabilities"),
}


# The short form of an assertion, as tables of tests have it.


def from_short(text: str) -> dict[str, Json]:
    """`contains:Paris`, `similar(0.8):Hello`; what has no type is what the output has to be equal to."""
    found = _SHORT.fullmatch(text.strip())
    type = found["type"] if found else ""
    type = _OTHER_NAMES.get(type, type)
    base = type.removeprefix(_NOT)
    known = base in _ROWS or base in _WHY_NOT
    if found is None or not known or (found["value"] is None and base not in ("is-json", "contains-json")):
        return {"type": "equals", "value": text}
    made: dict[str, Json] = {"type": type}
    if found["value"] is not None and base in _LISTS:
        made["value"] = [part.strip() for part in found["value"].split(",")]
    elif found["value"] is not None:
        made["value"] = found["value"]
    return made | ({"threshold": float(found["threshold"])} if found["threshold"] else {})


def typed(raw: str) -> tuple[str, bool]:
    """The type of an assertion, and whether it is turned around."""
    return _OTHER_NAMES.get(raw.removeprefix(_NOT), raw.removeprefix(_NOT)), raw.startswith(_NOT)

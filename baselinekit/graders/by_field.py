"""The grader of single fields: those of the output are compared with those of the right answer, each by its
own rule, and make one score."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from itertools import product
from typing import Literal, NamedTuple

from baselinekit.errors import InvalidInput, Problem
from baselinekit.files.jsontext import NotJson, decode, encode
from baselinekit.graders import base
from baselinekit.graders.base import GradeClients, GraderType, Task
from baselinekit.lazy import lazy_pattern
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grade
from baselinekit.model.recipes import Observation
from baselinekit.model.values import ABSENT, Json
from baselinekit.structs import NotNegative, Struct, Threshold, field, replace
from baselinekit.values.equality import EXACT, decimal, is_number, same_json
from baselinekit.values.paths import find, parse, render
from baselinekit.values.texts import mask_and_clip

_LONGEST_SHOWN = 200


class GradedField(Struct):
    """A field by its path. `exact`: equal as JSON; `numeric_tolerance`: no further apart than `tolerance`,
    which with `relative` is a share of the right value; `date`: the same day (and time, if both have one), in
    one of the `formats`. A field that is not `required` may be missing, and counts only if it is there."""

    path: str
    match: Literal["exact", "numeric_tolerance", "date"] = "exact"
    required: bool = True
    weight: NotNegative = 1
    tolerance: NotNegative = 0
    relative: bool = False
    formats: list[str] = field(default_factory=list)


class FieldAccuracy(Struct):
    """Compares fields of the output with those of the right answer: the last message of the reference, else
    the expected value. `weighted_average`: the share of right fields, by weight; `all_or_nothing`: 1 if all
    are right. `pass_at`: the score that passes, if it differs from the case's."""

    fields: list[GradedField]
    aggregation: Literal["weighted_average", "all_or_nothing"] = "weighted_average"
    of: str | None = None
    pass_at: Threshold | None = None


def right_answer(case: Case) -> Json:
    """The value that the fields are compared with; ABSENT if there is none."""
    if case.wanted.messages:
        return base.parse_json_output(case.wanted.messages[-1].content)
    return ABSENT if case.expected is None else base.parse_json_output(case.expected.value)


def field_accuracy(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    config: FieldAccuracy = task.method
    right = right_answer(task.case)
    output = base.parse_json_output(task.look(observation.output))
    if output is ABSENT:
        return task.scored(base.exact_fraction(0.0), "the output is not JSON", config.pass_at)
    hits: list[Json] = []
    misses: list[str] = []
    scores = []
    for graded in config.fields:
        fault = field_fault(graded, right, output)
        if fault is None:
            continue
        if fault:
            misses.append(mask_and_clip(f"{graded.path}: {fault}", _LONGEST_SHOWN, clients.mask))
        else:
            hits.append(mask_and_clip(graded.path, _LONGEST_SHOWN, clients.mask))
        scores.append((base.exact_fraction(float(not fault)), float(graded.weight)))
    mean = base.weighted_mean(scores)
    if mean is None:
        return task.scored(base.exact_fraction(0.0), "the output has none of the fields", config.pass_at)
    if config.aggregation == "all_or_nothing":
        mean = base.exact_fraction(float(not misses))
    details: dict[str, Json] = {"hits": hits, "misses": [*misses]}
    return task.scored(mean, "; ".join(misses), config.pass_at, details=details)


def field_fault(graded: GradedField, right: Json, output: Json) -> str | None:
    """What is wrong with a field: "" if nothing, and None if the field does not count."""
    pattern = parse(graded.path)
    expected = dict(find(pattern, right))
    actual = dict(find(pattern, output))
    if not graded.required and (not expected or not actual):
        return None
    for path in dict.fromkeys((*expected, *actual)):
        prefix = f"{render(path)}: " if render(path) != graded.path else ""
        if path not in actual:
            return f"{prefix}missing"
        if path not in expected:
            return f"{prefix}{encode(actual[path])} is not expected"
        if difference := difference_of(graded, expected[path], actual[path]):
            return prefix + difference
    return "" if expected else "missing"


def difference_of(graded: GradedField, expected: Json, actual: Json) -> str:
    """How a value differs from the expected one; "" if it does not."""
    message = f"{encode(actual)}, and {encode(expected)} is right"
    if graded.match == "exact":
        return "" if same_json(expected, actual) else message
    if graded.match == "numeric_tolerance":
        number, target = number_in(actual), number_in(expected)
        if number is None or target is None:
            return message
        allowed = Decimal(str(graded.tolerance)) * (abs(target) if graded.relative else 1)
        distance = abs(EXACT.subtract(number, target))
        return "" if distance <= allowed else f"{message}: {distance:f} apart, at most {allowed:f} is allowed"
    moments = product(dates_in(actual, graded.formats), dates_in(expected, graded.formats))
    return "" if any(same_time(*pair) for pair in moments) else message


def number_in(value: Json) -> Decimal | None:
    """The value of a number, or of a text that is nothing but a number."""
    if isinstance(value, str):
        try:
            value = decode(value.strip())
        except NotJson:
            return None
    return decimal(value) if is_number(value) else None


# Dates as texts.

_DIRECTIVES = {
    "YYYY": "%Y",
    "YY": "%y",
    "MMMM": "m%m",
    "MMM": "m%m",
    "MM": "%m",
    "M": "%m",
    "DD": "%d",
    "D": "%d",
    "HH": "%H",
    "H": "%H",
    "mm": "%M",
    "ss": "%S",
    "SSS": "%f",
    "Z": "%z",
}
"""The tokens of a format, and how `datetime.strptime` writes them. The name of a month is read as `m` and its
number, in any locale."""

_TOKEN = lazy_pattern("|".join(sorted(_DIRECTIVES, key=len, reverse=True)) + r"|\[[^\]]*\]|.", re.DOTALL)
_MONTH = lazy_pattern(
    r"(?<![a-z])(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?![a-z])\.?",
    re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NANOSECONDS = lazy_pattern(r"(\.\d{6})\d{1,3}(?!\d)")
USUAL_FORMATS = (
    "YYYY-MM-DD",
    "YYYY-MM-DDTHH:mm",
    "YYYY-MM-DDTHH:mm:ss",
    "YYYY-MM-DDTHH:mm:ss.SSS",
    "YYYY-MM-DDTHH:mmZ",
    "YYYY-MM-DDTHH:mm:ssZ",
    "YYYY-MM-DDTHH:mm:ss.SSSZ",
    "YYYY-MM-DD HH:mm:ss",
    "YYYY/M/D",
    "M/D/YYYY",
    "D/M/YYYY",
    "D.M.YYYY",
    "D-MMM-YYYY",
    "D MMM YYYY",
    "MMM D, YYYY",
)
"""Used if no `formats` are stated. 03/04/2025 may be either day then."""


@lru_cache(maxsize=256)
def strptime_format(form: str) -> str:
    """A date format as `datetime.strptime` reads it; InvalidInput if it has no day, or an unknown token."""
    pieces: list[str] = []
    seen: set[str] = set()
    for token in _TOKEN.findall(form):
        directive = _DIRECTIVES.get(token, "")
        if not directive and token.isalpha() and token != "T":
            hint = f"put words in brackets: [{token}]; tokens are {', '.join(_DIRECTIVES)}"
            raise InvalidInput(
                Problem("BK702", f"the format {form!r} has {token!r}, which is not a token", hint)
            )
        if directive and directive[-1] in seen:
            raise InvalidInput(Problem("BK702", f"the format {form!r} has {token} twice", "state it once"))
        seen.add(directive[-1:])
        pieces.append(directive or (token[1:-1] if len(token) > 1 else token).replace("%", "%%"))
    if not ({"m", "d"} <= seen and seen & {"y", "Y"}):
        hint = "such as YYYY-MM-DD or DD-MMM-YYYY"
        raise InvalidInput(Problem("BK702", f"the format {form!r} tells no day", hint))
    return "".join(pieces)


class Moment(NamedTuple):
    """A day, and the time if there is one, which has an offset from UTC if that is known."""

    day: date
    at: datetime | None = None


def dates_in(value: Json, formats: Sequence[str] = ()) -> list[Moment]:
    """The moments that a text may mean by the formats; none if it is a date in none of them."""
    if not isinstance(value, str) or any(one.isdecimal() and not one.isascii() for one in value):
        return []
    text = _MONTH.sub(lambda month: f"m{_MONTHS.index(month[0][:3].lower()) + 1}", " ".join(value.split()))
    text = _NANOSECONDS.sub(r"\1", text)
    moments = []
    for form in map(strptime_format, formats or USUAL_FORMATS):
        with suppress(ValueError):
            # A date without an offset stays without one: same_time compares it as it is stated.
            at = datetime.strptime(text, form)  # noqa: DTZ007
            moments.append(Moment(at.date(), at if "%H" in form else None))
    return list(dict.fromkeys(moments))


def same_time(left: Moment, right: Moment) -> bool:
    """Whether two moments are the same, as far as both are stated."""
    if left.at is None or right.at is None:
        return left.day == right.day
    if left.at.tzinfo is None or right.at.tzinfo is None:
        return left.at.replace(tzinfo=None) == right.at.replace(tzinfo=None)
    return left.at == right.at


# Problems that are known before anything is asked.


def field_problems(task: Task) -> Iterator[Problem]:
    config: FieldAccuracy = task.method
    if not config.fields:
        yield base.never_fails("no field is named", "state them: `fields: [{path: …}]`", "config", "fields")
        return
    right = right_answer(task.case)
    if not isinstance(right, dict | list):
        hint = "state it as an object: `expected_output`, `reference` or `expected`"
        yield Problem("BK702", "there is no answer to set the fields beside", hint)
        return
    if not any(graded.weight for graded in config.fields):
        yield base.never_fails("no field has any weight", "state one above 0", "config", "fields")
    for number, graded in enumerate(config.fields):
        at = ("config", "fields", number)
        try:
            expected = find(parse(graded.path), right)
        except InvalidInput as error:
            yield from (replace(problem, place=None, at=(*at, "path")) for problem in error.problems)
            continue
        if not expected and graded.required:
            hint = "add it, or state `required: false`"
            message = f"the right answer has no {graded.path!r}"
            yield Problem("BK702", message, hint, at=(*at, "path"))
        try:
            for form in graded.formats:
                strptime_format(form)
        except InvalidInput as error:
            yield from (replace(problem, at=(*at, "formats")) for problem in error.problems)


FIELD_ACCURACY = GraderType(
    FieldAccuracy, field_accuracy, "field_accuracy", known_by=("fields",), problems=field_problems
)

"""The grader of single fields: those of the output beside those of the answer that would be right, each by
its own rule, and one score of all."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from baselinekit.documents.jsontext import NotJson, decode, encode
from baselinekit.errors import InvalidInput, Problem
from baselinekit.frozen import frozen
from baselinekit.grade.task import GradeClients, GraderType, Task, never_fails, parsed, pass_at_problems
from baselinekit.grade.verdict import exact, weighted_mean
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import Number
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grade
from baselinekit.model.recipes import Observation
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.texts import clipped
from baselinekit.tree.equality import EXACT, decimal, is_number, same_json
from baselinekit.tree.paths import find, parse, render

_LONGEST_SHOWN = 200


@frozen
class GradedField:
    """A field by its path. `exact`: equal as JSON; `numeric_tolerance`: no further apart than `tolerance`,
    which with `relative` is a share of what is right; `date`: the same day (and time, where both tell one),
    in one of the `formats`. One that is not `required` may be missing, and counts only where it is there."""

    path: str
    match: Literal["exact", "numeric_tolerance", "date"] = "exact"
    required: bool = True
    weight: Number = 1
    tolerance: Number = 0
    relative: bool = False
    formats: list[str] = field(default_factory=list)


@frozen
class FieldAccuracy:
    """Fields of the output beside those of the answer that would be right: the last message of the
    reference, else the expected value. `weighted_average`: the share that is right, by weight;
    `all_or_nothing`: 1 where all are. `pass_at`: the score that passes, where that is not what the case
    says."""

    fields: list[GradedField]
    aggregation: Literal["weighted_average", "all_or_nothing"] = "weighted_average"
    of: str | None = None
    pass_at: Number | None = None


def right_answer(case: Case) -> Json:
    """The value that the fields are set beside; ABSENT where there is none."""
    if case.wanted.messages:
        return parsed(case.wanted.messages[-1].content)
    return ABSENT if case.expected is None else parsed(case.expected.value)


def field_accuracy(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    how: FieldAccuracy = task.method
    right, output = right_answer(task.case), parsed(task.look(observation.output))
    if output is ABSENT:
        return task.scored(exact(0.0), "the output is no JSON", how.pass_at)
    hits: list[Json] = []
    misses: list[str] = []
    scored = []
    for one in how.fields:
        wrong = field_fault(one, right, output)
        if wrong is None:
            continue
        told = clipped(f"{one.path}: {wrong}" if wrong else one.path, _LONGEST_SHOWN, clients.mask)
        misses += [told] if wrong else []
        hits += [] if wrong else [told]
        scored.append((exact(float(not wrong)), float(one.weight)))
    mean = weighted_mean(scored)
    if mean is None:
        return task.scored(exact(0.0), "the output has none of the fields", how.pass_at)
    if how.aggregation == "all_or_nothing":
        mean = exact(float(not misses))
    details: dict[str, Json] = {"hits": hits, "misses": [*misses]}
    return task.scored(mean, "; ".join(misses), how.pass_at, details=details)


def field_fault(one: GradedField, right: Json, output: Json) -> str | None:
    """What is wrong with a field; "" for nothing, and None for one that does not count."""
    wanted, given = dict(find(parse(one.path), right)), dict(find(parse(one.path), output))
    if not one.required and (not wanted or not given):
        return None
    for path in dict.fromkeys((*wanted, *given)):
        where = f"{render(path)}: " if render(path) != one.path else ""
        if path not in given:
            return f"{where}missing"
        if path not in wanted:
            return f"{where}{encode(given[path])} is not expected"
        if wrong := difference_of(one, wanted[path], given[path]):
            return where + wrong
    return "" if wanted else "missing"


def difference_of(one: GradedField, wanted: Json, given: Json) -> str:
    """Why a value is not the one that is wanted; "" where it is."""
    shown = f"{encode(given)}, and {encode(wanted)} is right"
    if one.match == "exact":
        return "" if same_json(wanted, given) else shown
    if one.match == "numeric_tolerance":
        number, target = number_in(given), number_in(wanted)
        if number is None or target is None:
            return f"{encode(given)} is no number, and {encode(wanted)} is right"
        allowed = Decimal(str(one.tolerance)) * (abs(target) if one.relative else 1)
        apart = abs(EXACT.subtract(number, target))
        return "" if apart <= allowed else f"{shown}: {apart:f} apart, at most {allowed:f} is allowed"
    days, targets = dates_in(given, one.formats), dates_in(wanted, one.formats)
    if not days:
        return f"{encode(given)} is no date in a form that is allowed, and {encode(wanted)} is right"
    return "" if any(same_time(day, target) for day in days for target in targets) else shown


def number_in(value: Json) -> Decimal | None:
    """A number, or a text that is nothing but one."""
    if isinstance(value, str):
        try:
            value = decode(value.strip())
        except NotJson:
            return None
    return decimal(value) if is_number(value) else None


# Dates as texts.

MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_NAME = "|".join(sorted({*MONTHS, *(month[:3] for month in MONTHS), "sept"}, key=len, reverse=True))
_PARTS = {
    "YYYY": r"(?P<year>\d{4})",
    "YY": r"(?P<short_year>\d{2})",
    "MMMM": rf"(?P<name>{_NAME})\.?",
    "MMM": rf"(?P<name>{_NAME})\.?",
    "MM": r"(?P<month>\d{2})",
    "M": r"(?P<month>\d{1,2})",
    "DD": r"(?P<day>\d{2})",
    "D": r"(?P<day>\d{1,2})",
    "HH": r"(?P<hour>\d{2})",
    "H": r"(?P<hour>\d{1,2})",
    "hh": r"(?P<hour>\d{2})",
    "h": r"(?P<hour>\d{1,2})",
    "mm": r"(?P<minute>\d{2})",
    "ss": r"(?P<second>\d{2})",
    "SSS": r"(?P<fraction>\d{1,9})",
    "A": r"(?P<half>[ap]m)",
    "a": r"(?P<half>[ap]m)",
    "Z": r"(?P<zone>z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)",
}
_TOKEN = lazy_pattern("|".join(sorted(_PARTS, key=len, reverse=True)) + r"|\[[^\]]*\]|.", re.DOTALL)
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
"""Where no `formats` are stated. 03/04/2025 may be either day then."""


@lru_cache(maxsize=256)
def compiled(form: str) -> re.Pattern[str]:
    """A format as an expression; InvalidInput for one that tells no day."""
    pieces, seen = [], set[str]()
    for token in _TOKEN.findall(form):
        part = _PARTS.get(token)
        if part is None:
            pieces.append(re.escape(token[1:-1] if len(token) > 1 else token))
            continue
        (name,) = re.compile(part).groupindex
        if name in seen:
            raise InvalidInput(Problem("BK676", f"the format {form!r} has {token} twice", "state it once"))
        seen.add(name)
        pieces.append(part)
    if not (seen & {"year", "short_year"} and seen & {"month", "name"} and "day" in seen):
        what = f"the format {form!r} tells no day"
        raise InvalidInput(Problem("BK676", what, "such as YYYY-MM-DD or DD-MMM-YYYY"))
    return re.compile("".join(pieces), re.IGNORECASE | re.ASCII)


Moment = tuple[date, time | None, timedelta | None]
"""A day, the time where one is told, and how far its zone is from UTC."""


def dates_in(value: Json, formats: Sequence[str] = ()) -> list[Moment]:
    """What a text may mean by the formats; nothing where it is no date in any of them."""
    if not isinstance(value, str):
        return []
    text = " ".join(value.split())
    found = (compiled(form).fullmatch(text) for form in formats or USUAL_FORMATS)
    moments = [moment for match in found if match and (moment := moment_of(match.groupdict())) is not None]
    return list(dict.fromkeys(moments))


def moment_of(told: Mapping[str, str | None]) -> Moment | None:
    """None for a day or a time that does not exist."""
    year = int(told.get("year") or f"20{told.get('short_year')}")
    name = told.get("name")
    month = [one[:3] for one in MONTHS].index(name.lower()[:3]) + 1 if name else int(told.get("month") or 0)
    hour, half = told.get("hour"), (told.get("half") or "").lower()
    try:
        day = date(year, month, int(told.get("day") or 0))
        if hour is None:
            return day, None, None
        of_day = int(hour) % 12 + 12 * (half == "pm") if half else int(hour)
        micros = int((told.get("fraction") or "0").ljust(6, "0")[:6])
        at = time(of_day, int(told.get("minute") or 0), int(told.get("second") or 0), micros)
    except ValueError:
        return None
    return day, at, _offset(told.get("zone"))


def _offset(zone: str | None) -> timedelta | None:
    if zone is None:
        return None
    if zone in "zZ":
        return timedelta()
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    return timedelta(hours=hours, minutes=minutes) * (-1 if zone[0] == "-" else 1)


def same_time(left: Moment, right: Moment) -> bool:
    """The same moment, as far as both tell."""
    if left[1] is None or right[1] is None:
        return left[0] == right[0]
    if left[2] is None or right[2] is None:
        return left[:2] == right[:2]
    return _since_year_1(left) == _since_year_1(right)


def _since_year_1(moment: Moment) -> timedelta:
    """How long after the first moment of year 1, in UTC. As a time and no date it can lie before that."""
    day, at, zone = moment
    first = datetime.combine(date.min, time())
    return datetime.combine(day, at or time()) - first - (zone or timedelta())


# What is wrong before anything is asked.


def field_problems(task: Task) -> Iterator[Problem]:
    how: FieldAccuracy = task.method
    yield from pass_at_problems(how.pass_at)
    if not how.fields:
        yield never_fails("no field is named", "state them: `fields: [{path: …}]`", "config", "fields")
        return
    right = right_answer(task.case)
    if right is ABSENT or not isinstance(right, dict | list):
        what = "there is no answer to set the fields beside"
        hint = "state it as an object: `expected_output`, `reference` or `expected`"
        yield Problem("BK677", what, hint)
        return
    if not any(one.weight for one in how.fields):
        yield never_fails("no field has any weight", "state one above 0", "config", "fields")
    for number, one in enumerate(how.fields):
        for problem in one_field_problems(one, right):
            yield replace_at(problem, ("config", "fields", number))


def replace_at(problem: Problem, at: Path) -> Problem:
    return replace(problem, place=None, at=(*at, *(problem.at or ())))


def one_field_problems(one: GradedField, right: Json) -> Iterator[Problem]:
    """What is wrong with one, with paths below it."""
    try:
        wanted = find(parse(one.path), right)
    except InvalidInput as error:
        yield from (replace(problem, at=("path",)) for problem in error.problems)
        return
    try:
        for form in one.formats:
            compiled(form)
    except InvalidInput as error:
        yield from (replace(problem, at=("formats",)) for problem in error.problems)
        return
    if not wanted and one.required:
        what = f"the right answer has no {one.path!r}"
        yield Problem("BK677", what, "add it there, or state `required: false`", at=("path",))
    if one.weight < 0:
        yield Problem("BK677", f"the weight is {one.weight:g}", "0 or more", at=("weight",))
    if one.tolerance < 0:
        yield Problem("BK677", f"the tolerance is {one.tolerance:g}", "0 or more", at=("tolerance",))
    if one.match != "numeric_tolerance" and (one.tolerance or one.relative):
        what = f"`tolerance` has no effect where the match is {one.match}"
        yield Problem("BK677", what, "state `match: numeric_tolerance`", at=("tolerance",))
    if one.match != "date" and one.formats:
        what = f"`formats` have no effect where the match is {one.match}"
        yield Problem("BK677", what, "state `match: date`", at=("formats",))
    for _, value in wanted:
        if one.match == "numeric_tolerance" and number_in(value) is None:
            yield Problem(
                "BK677", f"the right answer is no number: {encode(value)}", "match it exactly", at=("match",)
            )
        if one.match == "date" and not dates_in(value, one.formats):
            what = f"the right answer is no date in a form that is allowed: {encode(value)}"
            yield Problem("BK677", what, "state its form: `formats: [DD-MMM-YYYY]`", at=("formats",))


FIELD_ACCURACY = GraderType(
    FieldAccuracy, field_accuracy, "field_accuracy", known_by=("fields",), problems=field_problems
)

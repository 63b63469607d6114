"""Checks that cannot fail, or cannot pass, whatever comes back: told before anybody is asked.

Only what is so for certain counts. A pattern that merely looks generous is somebody's affair."""

import re
from collections.abc import Iterator, Sequence

from baselinekit.documents.jsontext import encode
from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.evals import Case
from baselinekit.model.graders import (
    Call,
    Contains,
    FunctionOutput,
    Grader,
    HumanRating,
    ModelJudge,
    MustInclude,
    RegexMatch,
    StructuralMatch,
)
from baselinekit.model.values import Json
from baselinekit.placeholders.pattern import compiled
from baselinekit.tree.equality import is_number

_ANYTHING = frozenset(("<<any>>", "<<any?>>", "<<any|null>>", "{{any}}"))
_LOOKS_AROUND = re.compile(r"\(\?[=!<]|\\[bBAZzGKmMXY]|[\^$]")
_FIRST = re.compile(r"(?:\^|\\A)+")
_LAST = re.compile(r"(?<!\\)(?:\$|\\Z)+$")
_LINE = re.compile(r"\.\*[?+]?|\(\.\*\)|\(\?:\.\*\)")
_WHOLE = re.compile(
    r"\[(?:\\s\\S|\\S\\s|\\w\\W|\\W\\w|\\d\\D|\\D\\d)\]\*[?+]?|\(\.\|\\n\)\*|\(\?:\.\|\\n\)\*"
)
_EMPTY = "the empty text is in every text"
_WORDS = "say what has to be in the output"


def problems_of(grader: Grader, case: Case) -> Iterator[Problem]:
    """With paths below the grader; of one that only stands for what is expected, below that."""
    method = grader.method
    value = ("value",) if grader.at[-1:] in (("expected",), ("expected_output",)) else ()
    if isinstance(method, Contains):
        yield from _contains(method, case, value)
    elif isinstance(method, MustInclude):
        yield from _must_include(method)
    elif isinstance(method, RegexMatch):
        yield from _regex(method, case, value)
    elif isinstance(method, StructuralMatch):
        if any(value in _ANYTHING for value in _expected(case) if isinstance(value, str)):
            yield _never_fails("anything at all fits <<any>>", "state at least its type: <<any_string>>")
    elif isinstance(method, FunctionOutput):
        yield from _calls(method.test_cases)
    elif isinstance(method, ModelJudge):
        yield from _judge(method)
    elif isinstance(method, HumanRating):
        yield from _people(method)


def matches_everything(pattern: str, flags: Sequence[str]) -> bool:
    """Whether a search for it succeeds in every text: it may be empty, and looks at nothing around it. What
    has an anchor at both ends has to take all of the text."""
    inner = _FIRST.sub("", pattern, count=1) if _FIRST.match(pattern) else pattern
    if inner != pattern and _LAST.search(inner):
        inner = _LAST.sub("", inner)
        return _WHOLE.fullmatch(inner) is not None or ("dotall" in flags and bool(_LINE.fullmatch(inner)))
    inner = inner if inner != pattern else _LAST.sub("", pattern)
    if _LOOKS_AROUND.search(inner.replace("[^", "[")):
        return False
    try:
        return compiled(inner, flags=tuple(flags)).fullmatch("", timeout=1) is not None
    except InvalidInput:  # no pattern, which others say
        return False


def _never_fails(why: str, hint: str, *at: str) -> Problem:
    return Problem("BK708", f"this cannot fail: {why}", hint, at=at)


def _never_passes(why: str, hint: str, *at: str) -> Problem:
    return Problem("BK708", f"this cannot pass: {why}", hint, at=at)


def _expected(case: Case) -> list[Json]:
    return [] if case.expected is None else [case.expected.value, *case.expected.alternatives]


def _contains(how: Contains, case: Case, at: tuple[str, ...]) -> Iterator[Problem]:
    if how.all or how.any or how.none:
        for name in ("all", "any"):
            if "" in getattr(how, name):
                yield _never_fails(_EMPTY, _WORDS, "config", name)
        if "" in how.none:
            yield _never_passes(_EMPTY, "take it out", "config", "none")
        return
    for value in _expected(case):
        wanted = value if isinstance(value, list) else [value]
        odd = next((one for one in wanted if not (isinstance(one, str) or is_number(one))), "")
        if not wanted:
            yield _never_fails("the list of texts is empty", _WORDS, *at)
        elif odd != "":
            what = f"{encode(odd)} is no text that could be in the output"
            yield Problem("BK705", what, "such as value: total, or value: [total, sum]", at=at)
        elif "" in wanted:
            yield _never_fails(_EMPTY, _WORDS, *at)


def _must_include(how: MustInclude) -> Iterator[Problem]:
    for one in (how, *how.alternatives):
        if "" in one.must_include:
            yield _never_fails(_EMPTY, _WORDS, "value", "must_include")
        if "" in one.must_not_include:
            yield _never_passes(_EMPTY, "take it out", "value", "must_not_include")


def _regex(how: RegexMatch, case: Case, value: tuple[str, ...]) -> Iterator[Problem]:
    patterns = [how.pattern] if how.pattern is not None else _expected(case)
    at = value if how.pattern is None else ("config", "pattern")
    for pattern in patterns:
        empty = isinstance(pattern, str) and matches_everything(pattern, how.flags)
        if empty and how.must_match:
            hint = "say what has to be there; for anything but nothing write .+"
            yield _never_fails(f"{pattern!r} is found in every text", hint, *at)
        elif empty:
            yield _never_passes(f"{pattern!r} is found in every text", "say what must not be there", *at)


def _calls(calls: Sequence[Call]) -> Iterator[Problem]:
    for number, call in enumerate(calls):
        wanted = call.expected if call.comparator == "regex" else None
        if isinstance(wanted, str) and matches_everything(f"^{wanted}$", ("dotall",)):
            what = f"call {number} gives whatever fits {wanted!r}, and every text does"
            yield _never_fails(what, "say what it has to give")


def _judge(how: ModelJudge) -> Iterator[Problem]:
    scoring = how.scoring
    if scoring.type == "categorical":
        if {*scoring.categories} <= {*scoring.passing}:
            hint = "leave at least one out of `passing`"
            yield _never_fails("every category passes", hint, "config", "scoring", "passing")
        return
    if scoring.type == "numeric" and len(scoring.range) == 2:
        yield from _threshold(scoring.threshold, scoring.range, ("config", "scoring", "threshold"))


def _people(how: HumanRating) -> Iterator[Problem]:
    scale = how.rating_scale
    bounds = scale.range if scale.type == "likert" else [0, 1]
    if len(bounds) == 2 and scale.threshold == bounds[0]:
        yield from _threshold(scale.threshold, bounds, ("config", "rating_scale", "threshold"))


def _threshold(stated: Json, bounds: Sequence[Json], at: tuple[str, ...]) -> Iterator[Problem]:
    low, high = bounds
    if stated is not None and stated <= low:
        yield _never_fails(f"every score reaches {stated}", f"a threshold above {low}, up to {high}", *at)
    elif stated is not None and stated > high:
        yield _never_passes(f"no score reaches {stated}", f"a threshold above {low}, up to {high}", *at)

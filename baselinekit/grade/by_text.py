"""Graders of a text: it is the expected one, a pattern is found in it, or texts stand in it."""

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from functools import lru_cache
from itertools import repeat
from typing import Literal

from baselinekit.documents.jsontext import encode, json_in
from baselinekit.errors import InvalidInput, Problem
from baselinekit.frozen import frozen
from baselinekit.grade.nearness import MOST_LOOKED_FOR, NearestPlace, line_at, nearest_match, nearest_text
from baselinekit.grade.task import (
    GradeClients,
    GraderType,
    Judged,
    ReadConfig,
    Task,
    keys_of,
    never_fails,
    never_passes,
    text_of,
)
from baselinekit.lazy import lazy_pattern
from baselinekit.model.evals import Expected
from baselinekit.model.grades import Grade
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json
from baselinekit.placeholders.table import compiled, search
from baselinekit.schema.records import below, check
from baselinekit.texts import many
from baselinekit.tree.equality import is_number, same_json

_EMPTY = "the empty text is in every text"
_SAY_WORDS = "state what has to be in the output"


def _which(number: int) -> dict[str, Json]:
    return {"alternative": number} if number else {}


# exact_match


@frozen
class ExactMatch:
    """The output is the expected text, or the expected JSON. `of`, here and below: the part of the output
    that is looked at, `stderr` or `body.users[0]`; `$` is all of it."""

    case_sensitive: bool = True
    trim_whitespace: bool = True
    normalize_newlines: bool = True
    of: str | None = None

    def normalize(self, value: Json) -> Json:
        if not isinstance(value, str):
            return value
        if self.trim_whitespace:
            value = value.strip()
        if self.normalize_newlines:
            value = value.replace("\r\n", "\n")
        return value if self.case_sensitive else value.lower()


def exact_match(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    """The expected text after the same trimming of both, or the expected JSON."""
    normalize, output = task.method.normalize, observation.output
    for number, choice in enumerate(task.expected):
        wanted, actual = normalize(choice), normalize(task.look(output, keys_of(choice)))
        if not isinstance(wanted, str) and isinstance(actual, str):
            actual = json_in(actual)
        if same_json(wanted, actual):
            return task.decide((True, "", {"expected": wanted, "actual": actual, **_which(number)}))
    first = task.expected[0] if task.expected else None
    keys = keys_of(first)
    details = {"expected": normalize(first), "actual": normalize(task.look(output, keys))}
    return task.decide((False, "it is not the expected output", details), task.part(output, keys))


def nothing_to_compare(task: Task) -> Iterator[Problem]:
    if task.case.expected is None and not task.case.baseline:
        what = f"{task.grader.name} has nothing to compare with"
        yield Problem("BK705", what, "add `expected: {value: …}`")


EXACT_MATCH = GraderType(
    ExactMatch,
    exact_match,
    "exact_match",
    expectation="exact",
    problems=nothing_to_compare,
    goes_by_expectation=lambda config: True,
)


# regex


@frozen
class RegexMatch:
    """A pattern is found in the output, or (`must_match: false`) is not. Named groups, else groups by their
    number, are kept under the names of `capture_groups`. Without a pattern the expected value is one."""

    pattern: str | None = None
    flags: list[Literal["multiline", "ignorecase", "dotall"]] = field(default_factory=list)
    must_match: bool = True
    capture_groups: list[str] = field(default_factory=list)
    of: str | None = None


def regex_match(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    """Found, or with `must_match: false` not found. Of several patterns any one will do."""
    how, text, budget = task.method, text_of(task.look(observation.output)), clients.regex_budget()
    patterns = [how.pattern] if how.pattern is not None else list(map(str, task.expected))
    details: dict[str, Json] = {"pattern": patterns[0] if patterns else "", "matched": False}
    where = ""
    for number, pattern in enumerate(patterns):
        match = search(compiled(pattern, flags=tuple(how.flags)), text, budget)
        if match is not None:
            where = _on_line(text, match.start())
            details |= {"pattern": pattern, "matched": True, **_which(number)}
            if how.capture_groups:
                details["captures"] = {
                    name: match[name if name in match.re.groupindex else group]
                    for group, name in enumerate(how.capture_groups, 1)
                }
            break
    passed = details["matched"] == how.must_match
    reason = ""
    if not passed and how.must_match:
        near = nearest_match(patterns[0], how.flags, text, clients.mask) if patterns else None
        reason = f"the pattern is not found: {details['pattern']}{_in_brackets(near)}"
    elif not passed:
        reason = f"the pattern is found{where}: {details['pattern']}"
    return task.decide((passed, reason, details), task.part(observation.output))


def _on_line(text: str, place: int) -> str:
    """Where that is, in a text of several lines."""
    return f" on line {line_at(text, place):,}" if "\n" in text else ""


def _in_brackets(near: NearestPlace | None) -> str:
    return f" ({near})" if near else ""


def regex_problems(task: Task) -> Iterator[Problem]:
    how: RegexMatch = task.method
    patterns = [how.pattern] if how.pattern is not None else task.expected
    at = task.at_expected if how.pattern is None else ("config", "pattern")
    for pattern in patterns:
        empty = isinstance(pattern, str) and matches_everything(pattern, how.flags)
        why = f"{pattern!r} is found in every text"
        if empty and how.must_match:
            yield never_fails(why, "state what has to be there; for any text that is not empty write .+", *at)
        elif empty:
            yield never_passes(why, "state what must not be there", *at)
    if not patterns:
        hint = "add `pattern` to the grader's config, or `expected: {type: pattern}`"
        yield Problem("BK701", "a regex grader without a pattern", hint)
    for pattern in patterns:
        if not isinstance(pattern, str):
            yield Problem("BK701", f"{pattern!r} is not a regular expression", "write a text")
            continue
        try:
            expression = compiled(pattern, flags=tuple(how.flags))
        except InvalidInput as error:
            yield from error.problems
            continue
        for name in how.capture_groups[expression.groups :]:
            if name not in expression.groupindex:
                what = f"the pattern has no group for {name!r}: it has {expression.groups}"
                yield Problem("BK701", what, f"name one: (?P<{name}>…), or take it out of `capture_groups`")


_LOOKS_AROUND = lazy_pattern(r"\(\?[=!<]|\\[bBAZzGKmMXY]|[\^$]")
_FIRST = lazy_pattern(r"(?:\^|\\A)+")
_LAST = lazy_pattern(r"(?<!\\)(?:\$|\\Z)+$")
_LINE = lazy_pattern(r"\.\*[?+]?|\(\.\*\)|\(\?:\.\*\)")
_WHOLE = lazy_pattern(
    r"\[(?:\\s\\S|\\S\\s|\\w\\W|\\W\\w|\\d\\D|\\D\\d)\]\*[?+]?|\(\.\|\\n\)\*|\(\?:\.\|\\n\)\*"
)


def matches_everything(pattern: str, flags: Sequence[str]) -> bool:
    """Whether a search for it succeeds in every text: it may be empty, and looks at nothing around it. What
    has an anchor at both ends has to take all of the text. Only what is so for certain counts."""
    inner = _FIRST.sub("", pattern, count=1) if _FIRST.match(pattern) else pattern
    if inner != pattern and _LAST.search(inner):
        inner = _LAST.sub("", inner)
        return _WHOLE.fullmatch(inner) is not None or ("dotall" in flags and bool(_LINE.fullmatch(inner)))
    inner = inner if inner != pattern else _LAST.sub("", pattern)
    if _LOOKS_AROUND.search(inner.replace("[^", "[")):
        return False
    try:
        return compiled(inner, flags=tuple(flags)).fullmatch("", timeout=1) is not None
    except InvalidInput:  # no pattern: that is another problem
        return False


REGEX = GraderType(
    RegexMatch,
    regex_match,
    "regex",
    expectation="pattern",
    problems=regex_problems,
    goes_by_expectation=lambda config: config.pattern is None,
)


# token_count


@frozen
class TokenCount:
    """The output has so many words, both bounds included. A word ends where a blank, a tab or a line does:
    the tokens of a model are not counted."""

    min: int | None = None
    max: int | None = None
    of: str | None = None


def token_count(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    how, count = task.method, len(text_of(task.look(observation.output)).split())
    reason = ""
    if how.min is not None and count < how.min:
        reason = f"it has {many(count, 'word')}, and {how.min:,} are the least"
    elif how.max is not None and count > how.max:
        reason = f"it has {many(count, 'word')}, and {how.max:,} are the most"
    return task.decide((not reason, reason, {"words": count}), task.part(observation.output))


def token_problems(task: Task) -> Iterator[Problem]:
    how: TokenCount = task.method
    if how.min is None and how.max is None:
        yield never_fails("it states no bound", "state `min`, `max` or both", "config")
        return
    for name in ("min", "max"):
        bound = getattr(how, name)
        if bound is not None and bound < 0:
            yield Problem(
                "BK708",
                f"`{name}` is {bound}, and no text has so few words",
                "0 or more",
                at=("config", name),
            )
    if how.min == 0 and how.max is None:
        yield never_fails(
            "every text has 0 words or more", "1 or more: with 1, any word will do", "config", "min"
        )
    if how.min is not None and how.max is not None and 0 <= how.max < how.min:
        yield never_passes(
            f"no text has {how.min} words or more and {how.max} or fewer", "exchange the two", "config", "min"
        )


TOKEN_COUNT = GraderType(
    TokenCount, token_count, "token_count", problems=token_problems, known_by=("min", "max")
)


# contains, and the lists of a `semantic` expectation


@frozen
class Contains:
    """Texts that stand in the output, or do not. Without any, the expected value must."""

    all: list[str] = field(default_factory=list)
    any: list[str] = field(default_factory=list)
    none: list[str] = field(default_factory=list)
    case_sensitive: bool = True
    of: str | None = None

    @property
    def states_texts(self) -> bool:
        return bool(self.all or self.any or self.none)


@frozen
class Lists:
    """The value of a `semantic` expectation."""

    must_include: list[str] = field(default_factory=list)
    must_not_include: list[str] = field(default_factory=list)


@frozen
class MustInclude:
    """What a `semantic` expectation lists: told apart by name, without a model. `alternatives`: other lists,
    any of which is enough."""

    must_include: tuple[str, ...] = ()
    must_not_include: tuple[str, ...] = ()
    alternatives: "tuple[MustInclude, ...]" = ()


def derive_must_include(expected: Expected, graders_stated: bool) -> ReadConfig:
    """What has to be in the output, and what must not: told apart by rules, whoever judges the rest."""
    if isinstance(expected.value, str):
        what = "nothing checks whether the meaning is the same"
        hint = "add a model or human grader, or `value: {must_include: [...]}`"
        return None, [] if graders_stated else [Problem("BK711", what, hint, at=("value",))]
    listed: list[MustInclude] = []
    problems: list[Problem] = []
    alternatives = [(raw, ("alternatives", number)) for number, raw in enumerate(expected.alternatives)]
    for raw, at in [(expected.value, ("value",)), *alternatives]:
        lists, wrong = check(Lists, raw)
        if lists is not None and not (lists.must_include or lists.must_not_include):
            wrong.append(Problem("BK714", "both lists are empty", "such as must_include: [total]"))
        if lists is not None:
            listed.append(MustInclude(tuple(lists.must_include), tuple(lists.must_not_include)))
        problems += below(wrong, at)
    return None if problems else replace(listed[0], alternatives=tuple(listed[1:])), problems


def contains(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    """All of `all`, one of `any`, none of `none`; without any of these the expected text, or every one of
    them where they are a list, or an alternative to it."""
    how: Contains = task.method
    text = _Text(text_of(task.look(observation.output)), clients, how.case_sensitive)

    def judged() -> Judged:
        if how.states_texts or not task.expected:
            return text.judged(how.all, how.any, how.none)
        choices = [
            list(map(str, value)) if isinstance(value, list) else [str(value)] for value in task.expected
        ]
        for number, wanted in enumerate(choices):
            if all(map(text.has, wanted)):
                return True, "", {"found": wanted, **_which(number)}
        if all(len(wanted) == 1 for wanted in choices):
            return text.judged(some=[wanted[0] for wanted in choices])
        return text.judged(choices[0])

    return task.decide(judged(), task.part(observation.output))


def must_include(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    """What has to be in it is, and what must not be is not; or the same of an alternative."""
    text = _Text(text_of(task.look(observation.output)), clients)
    choices = (task.method, *task.method.alternatives)
    number = next((n for n, one in enumerate(choices) if text.fits(one)), 0)
    chosen = choices[number]
    passed, reason, details = text.judged(chosen.must_include, unwanted=chosen.must_not_include)
    return task.decide((passed, reason, {**details, **_which(number)}), task.part(observation.output))


class _Text:
    """A text in which texts are looked for."""

    def __init__(self, text: str, clients: GradeClients, case_sensitive: bool = True):
        self._text, self._clients, self._case_sensitive = text, clients, case_sensitive
        self._looked_through = text if case_sensitive else text.lower()

    def place(self, wanted: str) -> int:
        """Where it begins; -1 where it is not there."""
        return self._looked_through.find(wanted if self._case_sensitive else wanted.lower())

    def has(self, wanted: str) -> bool:
        return self.place(wanted) >= 0

    def fits(self, lists: MustInclude) -> bool:
        return all(map(self.has, lists.must_include)) and not any(map(self.has, lists.must_not_include))

    def judged(
        self, every: Sequence[str] = (), some: Sequence[str] = (), unwanted: Sequence[str] = ()
    ) -> Judged:
        """Whether every one of the first is there, one of the second, and none of the third."""
        found = [wanted for wanted in (*every, *some) if self.has(wanted)]
        there = {*found}
        missing = [wanted for wanted in every if wanted not in there]
        none_of = [] if there & {*some} else [*some]
        met = [text for text in unwanted if self.has(text)]
        near = self.nearest([[wanted] for wanted in missing] + ([none_of] if none_of else []))
        reasons = [f"{wanted!r} is not in the output{next(near)}" for wanted in missing]
        if none_of:
            reasons.append(f"none of {', '.join(map(repr, none_of))} is in the output{next(near)}")
        reasons += [f"{text!r} is in it{_on_line(self._text, self.place(text))}" for text in met]
        lists = {"found": found, "missing": [*missing, *none_of], "unwanted": met}
        return not reasons, "; ".join(reasons), {name: texts for name, texts in lists.items() if texts}

    def nearest(self, looked_for: Sequence[Sequence[str]]) -> Iterator[str]:
        """Where the text comes nearest to one of each of these; of many, for the first ones."""
        mask = lru_cache(1)(self._clients.mask)
        for wanted in looked_for[:MOST_LOOKED_FOR]:
            yield _in_brackets(nearest_text(wanted, self._text, mask))
        yield from repeat("")


def contains_problems(task: Task) -> Iterator[Problem]:
    how: Contains = task.method
    if how.states_texts:
        for name in ("all", "any"):
            if "" in getattr(how, name):
                yield never_fails(_EMPTY, _SAY_WORDS, "config", name)
        if "" in how.none:
            yield never_passes(_EMPTY, "remove it", "config", "none")
        return
    if task.case.expected is None:
        what = f"{task.grader.name} checks nothing"
        yield Problem("BK705", what, "state `all`, `any` or `none`, or `expected`")
    for value in task.expected:
        texts = value if isinstance(value, list) else [value]
        no_texts = [item for item in texts if not (isinstance(item, str) or is_number(item))]
        if not texts:
            yield never_fails("the list of texts is empty", _SAY_WORDS, *task.at_expected)
        elif no_texts:
            what = f"{encode(no_texts[0])} is not a text that could be in the output"
            hint = "such as value: total, or value: [total, sum]"
            yield Problem("BK705", what, hint, at=task.at_expected)
        elif "" in texts:
            yield never_fails(_EMPTY, _SAY_WORDS, *task.at_expected)


def must_include_problems(task: Task) -> Iterator[Problem]:
    for lists in (task.method, *task.method.alternatives):
        if "" in lists.must_include:
            yield never_fails(_EMPTY, _SAY_WORDS, "value", "must_include")
        if "" in lists.must_not_include:
            yield never_passes(_EMPTY, "remove it", "value", "must_not_include")


CONTAINS = GraderType(
    Contains,
    contains,
    "contains",
    expectation="contains",
    problems=contains_problems,
    goes_by_expectation=lambda config: not config.states_texts,
)
MUST_INCLUDE = GraderType(
    MustInclude,
    must_include,
    expectation="semantic",
    called="must_include",
    derive=derive_must_include,
    problems=must_include_problems,
    goes_by_expectation=lambda config: True,
)

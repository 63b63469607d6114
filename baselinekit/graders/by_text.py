"""Graders of a text: it equals the expected one, a pattern is found in it, or it contains texts."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Literal

from baselinekit.errors import InvalidInput, Problem
from baselinekit.files.jsontext import encode, json_in
from baselinekit.graders.nearness import MOST_LOOKED_FOR, NearestPlace, line_at, nearest_match, nearest_text
from baselinekit.graders.task import (
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
from baselinekit.schema import prefix_paths, read_as
from baselinekit.structs import Count, Struct, field, replace
from baselinekit.values.equality import is_number, same_json
from baselinekit.values.texts import count_noun

_EMPTY = "the empty text is in every text"
_STATE_TEXTS = "state what has to be in the output"


def _alternative_details(number: int) -> dict[str, Json]:
    return {"alternative": number} if number else {}


# exact_match


class ExactMatch(Struct):
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
    """Compare with the expected text, both trimmed alike, or with the expected JSON."""
    normalize, output = task.method.normalize, observation.output
    for number, choice in enumerate(task.expected):
        expected, actual = normalize(choice), normalize(task.look(output, keys_of(choice)))
        if not isinstance(expected, str) and isinstance(actual, str):
            actual = json_in(actual)
        if same_json(expected, actual):
            return task.decide(
                (True, "", {"expected": expected, "actual": actual, **_alternative_details(number)})
            )
    first = task.expected[0] if task.expected else None
    keys = keys_of(first)
    details = {"expected": normalize(first), "actual": normalize(task.look(output, keys))}
    return task.decide((False, "it is not the expected output", details), task.part(output, keys))


def nothing_to_compare(task: Task) -> Iterator[Problem]:
    if task.case.expected is None and not task.case.baseline:
        message = f"{task.grader.name} has nothing to compare with"
        yield Problem("BK705", message, "add `expected: {value: …}`")


EXACT_MATCH = GraderType(
    ExactMatch,
    exact_match,
    "exact_match",
    expectation="exact",
    problems=nothing_to_compare,
    goes_by_expectation=lambda config: True,
)


# regex


class RegexMatch(Struct):
    """A pattern is found in the output, or (`must_match: false`) is not. Named groups, else groups by their
    number, are kept under the names of `capture_groups`. Without a pattern, the expected value is the
    pattern."""

    pattern: str | None = None
    flags: list[Literal["multiline", "ignorecase", "dotall"]] = field(default_factory=list)
    must_match: bool = True
    capture_groups: list[str] = field(default_factory=list)
    of: str | None = None


def regex_match(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    """Search for the patterns: a match of any one is enough. With `must_match: false` none may match."""
    config, text, budget = task.method, text_of(task.look(observation.output)), clients.regex_budget()
    patterns = [config.pattern] if config.pattern is not None else list(map(str, task.expected))
    details: dict[str, Json] = {"pattern": patterns[0] if patterns else "", "matched": False}
    where = ""
    for number, pattern in enumerate(patterns):
        match = search(compiled(pattern, flags=tuple(config.flags)), text, budget)
        if match is not None:
            where = _on_line(text, match.start())
            details |= {"pattern": pattern, "matched": True, **_alternative_details(number)}
            if config.capture_groups:
                details["captures"] = {
                    name: match[name if name in match.re.groupindex else group]
                    for group, name in enumerate(config.capture_groups, 1)
                }
            break
    passed = details["matched"] == config.must_match
    reason = ""
    if not passed and config.must_match:
        nearest = nearest_match(patterns[0], config.flags, text, clients.mask) if patterns else None
        reason = f"the pattern is not found: {details['pattern']}{_format_nearest(nearest)}"
    elif not passed:
        reason = f"the pattern is found{where}: {details['pattern']}"
    return task.decide((passed, reason, details), task.part(observation.output))


def _on_line(text: str, place: int) -> str:
    """The line of a place in words, if the text has several lines."""
    return f" on line {line_at(text, place):,}" if "\n" in text else ""


def _format_nearest(nearest: NearestPlace | None) -> str:
    return f" ({nearest})" if nearest else ""


def regex_problems(task: Task) -> Iterator[Problem]:
    config: RegexMatch = task.method
    patterns = [config.pattern] if config.pattern is not None else task.expected
    at = task.at_expected if config.pattern is None else ("config", "pattern")
    for pattern in patterns:
        matches_all = isinstance(pattern, str) and matches_everything(pattern, config.flags)
        reason = f"{pattern!r} is found in every text"
        if matches_all and config.must_match:
            yield never_fails(
                reason, "state what has to be there; for any text that is not empty write .+", *at
            )
        elif matches_all:
            yield never_passes(reason, "state what must not be there", *at)
    if not patterns:
        hint = "add `pattern` to the grader's config, or `expected: {type: pattern}`"
        yield Problem("BK701", "a regex grader without a pattern", hint)
    for pattern in patterns:
        if not isinstance(pattern, str):
            yield Problem("BK701", f"{pattern!r} is not a regular expression", "write a text")
            continue
        try:
            expression = compiled(pattern, flags=tuple(config.flags))
        except InvalidInput as error:
            yield from error.problems
            continue
        for name in config.capture_groups[expression.groups :]:
            if name not in expression.groupindex:
                message = f"the pattern has no group for {name!r}: it has {expression.groups}"
                yield Problem(
                    "BK701", message, f"name one: (?P<{name}>…), or take it out of `capture_groups`"
                )


_LOOKS_AROUND = lazy_pattern(r"\(\?[=!<]|\\[bBAZzGKmMXY]|[\^$]")
_FIRST = lazy_pattern(r"(?:\^|\\A)+")
_LAST = lazy_pattern(r"(?<!\\)(?:\$|\\Z)+$")
_LINE = lazy_pattern(r"\.\*[?+]?|\(\.\*\)|\(\?:\.\*\)")
_WHOLE = lazy_pattern(
    r"\[(?:\\s\\S|\\S\\s|\\w\\W|\\W\\w|\\d\\D|\\D\\d)\]\*[?+]?|\(\.\|\\n\)\*|\(\?:\.\|\\n\)\*"
)


def matches_everything(pattern: str, flags: Sequence[str]) -> bool:
    """Whether a search for a pattern certainly succeeds in every text: it matches the empty text, and looks
    at nothing around it. With an anchor at both ends it has to match any whole text."""
    inner = _FIRST.sub("", pattern, count=1) if _FIRST.match(pattern) else pattern
    if inner != pattern and _LAST.search(inner):
        inner = _LAST.sub("", inner)
        return _WHOLE.fullmatch(inner) is not None or ("dotall" in flags and bool(_LINE.fullmatch(inner)))
    inner = inner if inner != pattern else _LAST.sub("", pattern)
    if _LOOKS_AROUND.search(inner.replace("[^", "[")):
        return False
    try:
        return compiled(inner, flags=tuple(flags)).fullmatch("", timeout=1) is not None
    except InvalidInput:  # an invalid pattern is another problem
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


class TokenCount(Struct):
    """The bounds of the number of words in the output, both included. Words are separated by whitespace: the
    tokens of a model are not counted."""

    min: Count | None = None
    max: Count | None = None
    of: str | None = None


def token_count(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    config, count = task.method, len(text_of(task.look(observation.output)).split())
    reason = ""
    if config.min is not None and count < config.min:
        reason = f"it has {count_noun(count, 'word')}, and {config.min:,} are the least"
    elif config.max is not None and count > config.max:
        reason = f"it has {count_noun(count, 'word')}, and {config.max:,} are the most"
    return task.decide((not reason, reason, {"words": count}), task.part(observation.output))


def token_problems(task: Task) -> Iterator[Problem]:
    config: TokenCount = task.method
    if config.min is None and config.max is None:
        yield never_fails("it states no bound", "state `min`, `max` or both", "config")
        return
    if config.min == 0 and config.max is None:
        yield never_fails(
            "every text has 0 words or more", "1 or more: with 1, any word will do", "config", "min"
        )
    if config.min is not None and config.max is not None and config.max < config.min:
        yield never_passes(
            f"no text has {config.min} words or more and {config.max} or fewer",
            "exchange the two",
            "config",
            "min",
        )


TOKEN_COUNT = GraderType(
    TokenCount, token_count, "token_count", problems=token_problems, known_by=("min", "max")
)


# contains, and the lists of a `semantic` expectation


class Contains(Struct):
    """Texts that must be in the output, or must not be. Without any, the expected value must be in it."""

    all: list[str] = field(default_factory=list)
    any: list[str] = field(default_factory=list)
    none: list[str] = field(default_factory=list)
    case_sensitive: bool = True
    of: str | None = None

    @property
    def states_texts(self) -> bool:
        return bool(self.all or self.any or self.none)


class Lists(Struct):
    """The value of a `semantic` expectation."""

    must_include: list[str] = field(default_factory=list)
    must_not_include: list[str] = field(default_factory=list)


class MustInclude(Struct):
    """The lists of a `semantic` expectation, which are checked without a model. `alternatives`: other lists,
    any of which is enough."""

    must_include: tuple[str, ...] = ()
    must_not_include: tuple[str, ...] = ()
    alternatives: "tuple[MustInclude, ...]" = ()


def derive_must_include(expected: Expected, graders_stated: bool) -> ReadConfig:
    """The texts that must be in the output, and those that must not be. They are checked by rules, whatever
    else judges the output."""
    if isinstance(expected.value, str):
        message = "nothing checks whether the meaning is the same"
        hint = "add a model or human grader, or `value: {must_include: [...]}`"
        return None, [] if graders_stated else [Problem("BK711", message, hint, at=("value",))]
    choices: list[MustInclude] = []
    problems: list[Problem] = []
    alternatives = [(raw, ("alternatives", number)) for number, raw in enumerate(expected.alternatives)]
    for raw, at in [(expected.value, ("value",)), *alternatives]:
        lists, list_problems = read_as(Lists, raw)
        if lists is not None and not (lists.must_include or lists.must_not_include):
            list_problems.append(Problem("BK714", "both lists are empty", "such as must_include: [total]"))
        if lists is not None:
            choices.append(MustInclude(tuple(lists.must_include), tuple(lists.must_not_include)))
        problems += prefix_paths(list_problems, at)
    return None if problems else replace(choices[0], alternatives=tuple(choices[1:])), problems


def contains(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    """Look for all of `all`, one of `any`, and none of `none`; without any of these, for the expected text
    (if it is a list, for every text in it) or an alternative."""
    config: Contains = task.method
    searched = _SearchedText(text_of(task.look(observation.output)), clients, config.case_sensitive)

    def judge() -> Judged:
        if config.states_texts or not task.expected:
            return searched.judge(config.all, config.any, config.none)
        choices = [
            list(map(str, value)) if isinstance(value, list) else [str(value)] for value in task.expected
        ]
        for number, texts in enumerate(choices):
            if all(map(searched.has, texts)):
                return True, "", {"found": texts, **_alternative_details(number)}
        if all(len(texts) == 1 for texts in choices):
            return searched.judge(some=[texts[0] for texts in choices])
        return searched.judge(choices[0])

    return task.decide(judge(), task.part(observation.output))


def must_include(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    """Look for every text that must be in the output, and none that must not be; or the same of an
    alternative."""
    searched = _SearchedText(text_of(task.look(observation.output)), clients)
    choices = (task.method, *task.method.alternatives)
    number = next((n for n, choice in enumerate(choices) if searched.fits(choice)), 0)
    choice = choices[number]
    passed, reason, details = searched.judge(choice.must_include, unwanted=choice.must_not_include)
    return task.decide(
        (passed, reason, {**details, **_alternative_details(number)}), task.part(observation.output)
    )


class _SearchedText:
    """A text that is searched for other texts."""

    def __init__(self, text: str, clients: GradeClients, case_sensitive: bool = True):
        self._text, self._clients, self._case_sensitive = text, clients, case_sensitive
        self._searched = text if case_sensitive else text.lower()

    def place(self, text: str) -> int:
        """Where a text begins; -1 if it is not there."""
        return self._searched.find(text if self._case_sensitive else text.lower())

    def has(self, text: str) -> bool:
        return self.place(text) >= 0

    def fits(self, lists: MustInclude) -> bool:
        return all(map(self.has, lists.must_include)) and not any(map(self.has, lists.must_not_include))

    def judge(
        self, every: Sequence[str] = (), some: Sequence[str] = (), unwanted: Sequence[str] = ()
    ) -> Judged:
        """Whether every text of `every` is there, one of `some`, and none of `unwanted`."""
        found = [text for text in (*every, *some) if self.has(text)]
        found_texts = {*found}
        missing = [text for text in every if text not in found_texts]
        missing_choices = [] if found_texts & {*some} else [*some]
        present = [text for text in unwanted if self.has(text)]
        hints = self.nearest([[text] for text in missing] + ([missing_choices] if missing_choices else []))
        reasons = [f"{text!r} is not in the output{next(hints)}" for text in missing]
        if missing_choices:
            reasons.append(f"none of {', '.join(map(repr, missing_choices))} is in the output{next(hints)}")
        reasons += [f"{text!r} is in it{_on_line(self._text, self.place(text))}" for text in present]
        lists = {"found": found, "missing": [*missing, *missing_choices], "unwanted": present}
        return not reasons, "; ".join(reasons), {name: texts for name, texts in lists.items() if texts}

    def nearest(self, text_lists: Sequence[Sequence[str]]) -> Iterator[str]:
        """For each list of texts, the place that comes nearest to one of them; only for the first lists."""
        mask = lru_cache(1)(self._clients.mask)
        for texts in text_lists[:MOST_LOOKED_FOR]:
            yield _format_nearest(nearest_text(texts, self._text, mask))
        yield from repeat("")


def contains_problems(task: Task) -> Iterator[Problem]:
    config: Contains = task.method
    if config.states_texts:
        for name in ("all", "any"):
            if "" in getattr(config, name):
                yield never_fails(_EMPTY, _STATE_TEXTS, "config", name)
        if "" in config.none:
            yield never_passes(_EMPTY, "remove it", "config", "none")
        return
    if task.case.expected is None:
        message = f"{task.grader.name} checks nothing"
        yield Problem("BK705", message, "state `all`, `any` or `none`, or `expected`")
    for value in task.expected:
        texts = value if isinstance(value, list) else [value]
        no_texts = [item for item in texts if not (isinstance(item, str) or is_number(item))]
        if not texts:
            yield never_fails("the list of texts is empty", _STATE_TEXTS, *task.at_expected)
        elif no_texts:
            message = f"{encode(no_texts[0])} is not a text that could be in the output"
            hint = "such as value: total, or value: [total, sum]"
            yield Problem("BK705", message, hint, at=task.at_expected)
        elif "" in texts:
            yield never_fails(_EMPTY, _STATE_TEXTS, *task.at_expected)


def must_include_problems(task: Task) -> Iterator[Problem]:
    for lists in (task.method, *task.method.alternatives):
        if "" in lists.must_include:
            yield never_fails(_EMPTY, _STATE_TEXTS, "value", "must_include")
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

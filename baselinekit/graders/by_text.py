"""Graders of a text: it equals the expected one, a pattern is found in it, or it contains texts."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
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
    if not patterns:
        hint = "add `pattern` to the grader's config, or `expected: {type: pattern}`"
        yield Problem("BK701", "a regex grader without a pattern", hint)
    for pattern in patterns:
        if not isinstance(pattern, str):
            yield Problem("BK701", f"{pattern!r} is not a regular expression", "write a text")
            continue
        if matches_everything(pattern, config.flags):
            vacuous = never_fails if config.must_match else never_passes
            hint = "state what has to be there, or must not; for any text that is not empty write .+"
            yield vacuous(f"{pattern!r} is found in every text", hint, *at)
        try:
            expression = compiled(pattern, flags=tuple(config.flags))
        except InvalidInput as error:
            yield from error.problems
            continue
        for name in config.capture_groups[expression.groups :]:
            if name not in expression.groupindex:
                message = f"the pattern has no group for {name!r}: it has {expression.groups}"
                hint = f"name one: (?P<{name}>…), or take it out of `capture_groups`"
                yield Problem("BK701", message, hint)


_LOOKS_AROUND = lazy_pattern(r"\(\?<?[=!]")
_EVERY_CHARACTER = "".join(map(chr, range(32, 127)))
_PROBES = ("", " ", "x", "\n", "\n\n", "x\ny", "\t☃é" + _EVERY_CHARACTER * 1_000 + "\n")


def matches_everything(pattern: str, flags: Sequence[str]) -> bool:
    """Whether a search for a pattern succeeds in every text, however short, long or odd. A pattern that looks
    around itself is taken to mean something."""
    if _LOOKS_AROUND.search(pattern):
        return False
    try:
        expression = compiled(pattern, flags=tuple(flags))
        return all(expression.search(probe, timeout=1) is not None for probe in _PROBES)
    except (InvalidInput, TimeoutError):  # an invalid pattern is another problem
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
    least, most = task.method.min, task.method.max
    if not least and most is None:
        yield never_fails("every text has 0 words or more", "state `min` from 1 on, or `max`", "config")
    if least is not None and most is not None and most < least:
        message = f"no text has {least} words or more and {most} or fewer"
        yield never_passes(message, "exchange the two", "config", "min")


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
    """The lists of a `semantic` expectation, which are checked without a model. `alternatives`: other lists;
    one that fits is enough."""

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
    part = task.part(observation.output)
    if config.states_texts or not task.expected:
        return task.decide(searched.judge(config.all, config.any, config.none), part)
    choices = [list(map(str, value)) if isinstance(value, list) else [str(value)] for value in task.expected]
    for number, texts in enumerate(choices):
        if all(map(searched.has, texts)):
            return task.decide((True, "", {"found": texts, **_alternative_details(number)}), part)
    if all(len(texts) == 1 for texts in choices):
        return task.decide(searched.judge(some=[text for (text,) in choices]), part)
    return task.decide(searched.judge(choices[0]), part)


def must_include(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    """Look for every text that must be in the output, and none that must not be; or the same of an
    alternative."""
    searched = _SearchedText(text_of(task.look(observation.output)), clients)
    choices = (task.method, *task.method.alternatives)
    number = next((number for number, choice in enumerate(choices) if searched.fits(choice)), 0)
    choice = choices[number]
    passed, reason, details = searched.judge(choice.must_include, unwanted=choice.must_not_include)
    details = {**details, **_alternative_details(number)}
    return task.decide((passed, reason, details), task.part(observation.output))


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
        looked_for = [([text], f"{text!r} is not in the output") for text in missing]
        if missing_choices:
            named = ", ".join(map(repr, missing_choices))
            looked_for.append((missing_choices, f"none of {named} is in the output"))
        mask, reasons = lru_cache(1)(self._clients.mask), []
        for number, (texts, reason) in enumerate(looked_for):
            nearest = nearest_text(texts, self._text, mask) if number < MOST_LOOKED_FOR else None
            reasons.append(f"{reason}{_format_nearest(nearest)}")
        reasons += [f"{text!r} is in it{_on_line(self._text, self.place(text))}" for text in present]
        lists = {"found": found, "missing": [*missing, *missing_choices], "unwanted": present}
        return not reasons, "; ".join(reasons), {name: texts for name, texts in lists.items() if texts}


def contains_problems(task: Task) -> Iterator[Problem]:
    config: Contains = task.method
    if config.states_texts:
        for name in ("all", "any", "none"):
            if "" in getattr(config, name):
                vacuous = never_passes if name == "none" else never_fails
                yield vacuous(_EMPTY, _STATE_TEXTS, "config", name)
        return
    if task.case.expected is None:
        message = f"{task.grader.name} checks nothing"
        yield Problem("BK705", message, "state `all`, `any` or `none`, or `expected`")
    for value in task.expected:
        texts = value if isinstance(value, list) else [value]
        no_texts = [item for item in texts if not (isinstance(item, str) or is_number(item))]
        if no_texts:
            message = f"{encode(no_texts[0])} is not a text that could be in the output"
            yield Problem(
                "BK705", message, "such as value: total, or value: [total, sum]", at=task.at_expected
            )
        elif not texts or "" in texts:
            reason = _EMPTY if texts else "the list of texts is empty"
            yield never_fails(reason, _STATE_TEXTS, *task.at_expected)


def must_include_problems(task: Task) -> Iterator[Problem]:
    for lists in (task.method, *task.method.alternatives):
        if "" in lists.must_include:
            yield never_fails(_EMPTY, _STATE_TEXTS, "value", "must_include")
        if "" in lists.must_not_include:
            yield never_passes(_EMPTY, _STATE_TEXTS, "value", "must_not_include")


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

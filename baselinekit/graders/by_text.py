"""Graders of a text: it equals the expected one, a pattern is found in it, or it contains texts."""

from collections.abc import Iterator, Sequence
from typing import Literal

from baselinekit.errors import InvalidInput, Problem
from baselinekit.files.jsontext import encode, json_in
from baselinekit.graders import base
from baselinekit.graders.base import GradeClients, GraderType, ReadConfig, Task
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


def line_at(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


_EMPTY = "the empty text is in every text"
_STATE_TEXTS = "state what has to be in the output"


def _alternative_details(number: int) -> dict[str, Json]:
    return {"alternative": number} if number else {}


def _on_line(text: str, place: int) -> str:
    """The line of a place in words, if the text has several lines."""
    return f" on line {line_at(text, place):,}" if "\n" in text else ""


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
        expected, actual = normalize(choice), normalize(task.look(output, base.keys_of(choice)))
        if not isinstance(expected, str) and isinstance(actual, str):
            actual = json_in(actual)
        if same_json(expected, actual):
            details = {"expected": expected, "actual": actual, **_alternative_details(number)}
            return task.decide(True, "", details)
    first = task.expected[0] if task.expected else None
    keys = base.keys_of(first)
    details = {"expected": normalize(first), "actual": normalize(task.look(output, keys))}
    return task.decide(False, "it is not the expected output", details, task.part(output, keys))


def nothing_to_compare(task: Task) -> Iterator[Problem]:
    if task.case.expected is None and not task.case.baseline:
        message = f"{task.grader.name} has nothing to compare with"
        yield Problem("BK705", message, "add `expected: {value: …}`")


EXACT_MATCH = GraderType(
    ExactMatch, exact_match, "exact_match", expectation="exact", problems=nothing_to_compare
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
    config: RegexMatch = task.method
    text = base.text_of(task.look(observation.output))
    budget = clients.regex_budget()
    patterns = [config.pattern] if config.pattern is not None else list(map(str, task.expected))
    matches = (search(compiled(pattern, flags=tuple(config.flags)), text, budget) for pattern in patterns)
    number, match = next(((number, match) for number, match in enumerate(matches) if match), (0, None))
    pattern = patterns[number]
    details: dict[str, Json] = {"pattern": pattern, "matched": match is not None}
    details |= _alternative_details(number)
    reason = f"the pattern is not found: {pattern}"
    if match is not None:
        reason = f"the pattern is found{_on_line(text, match.start())}: {pattern}"
    if match is not None and config.capture_groups:
        details["captures"] = {
            name: match[name if name in match.re.groupindex else group]
            for group, name in enumerate(config.capture_groups, 1)
        }
    passed = details["matched"] == config.must_match
    return task.decide(passed, reason, details, task.part(observation.output))


def regex_problems(task: Task) -> Iterator[Problem]:
    config: RegexMatch = task.method
    patterns = [config.pattern] if config.pattern is not None else task.expected
    if not patterns:
        hint = "add `pattern` to the grader's config, or `expected: {type: pattern}`"
        yield Problem("BK702", "a regex grader without a pattern", hint)
    for number, pattern in enumerate(patterns):
        at = task.at_expected(number)
        if not isinstance(pattern, str):
            yield Problem("BK702", f"{pattern!r} is not a regular expression", "write a text", at=at)
            continue
        if config.must_match and matches_everything(pattern, config.flags):
            hint = "state what has to be there; for any text that is not empty write .+"
            key = () if config.pattern is None else ("config", "pattern")
            yield base.never_fails(f"{pattern!r} is found in every text", hint, *at, *key)
        try:
            expression = compiled(pattern, flags=tuple(config.flags))
        except InvalidInput as error:
            yield from (replace(problem, at=at) for problem in error.problems)
            continue
        for name in config.capture_groups[expression.groups :]:
            if name not in expression.groupindex:
                message = f"the pattern has no group for {name!r}: it has {expression.groups}"
                hint = f"name one: (?P<{name}>…), or take it out of `capture_groups`"
                yield Problem("BK702", message, hint)


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
    config: TokenCount = task.method
    count = len(base.text_of(task.look(observation.output)).split())
    is_enough = config.min is None or count >= config.min
    limit = f"{config.max or 0:,} are the most" if is_enough else f"{config.min or 0:,} are the least"
    reason = f"it has {count_noun(count, 'word')}, and {limit}"
    passed = is_enough and (config.max is None or count <= config.max)
    return task.decide(passed, reason, {"words": count}, task.part(observation.output))


def token_problems(task: Task) -> Iterator[Problem]:
    least, most = task.method.min, task.method.max
    if not least and most is None:
        yield base.never_fails("every text has 0 words or more", "state `min` from 1 on, or `max`", "config")


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

    def search(self, text: str) -> tuple[dict[str, list[str]], list[str]]:
        """The texts that are found, those that are missing, and those that are unwanted; and why the text
        does not pass."""
        normalize = str if self.case_sensitive else str.lower
        searched = normalize(text)
        present = {part for part in (*self.all, *self.any, *self.none) if normalize(part) in searched}
        missing = [part for part in self.all if part not in present]
        if not present & {*self.any}:
            missing += self.any
        unwanted = [part for part in self.none if part in present]
        reasons = [f"{part!r} is not in the output" for part in missing]
        for part in unwanted:
            reasons.append(f"{part!r} is in it{_on_line(searched, searched.find(normalize(part)))}")
        found = [part for part in (*self.all, *self.any) if part in present]
        lists = {"found": found, "missing": missing, "unwanted": unwanted}
        return {name: parts for name, parts in lists.items() if parts}, reasons


class Lists(Struct):
    """The value of a `semantic` expectation."""

    must_include: list[str] = field(default_factory=list)
    must_not_include: list[str] = field(default_factory=list)


class MustInclude(Struct):
    """The lists of a `semantic` expectation and of its alternatives, which are checked without a model; one
    that fits is enough."""

    choices: tuple[Contains, ...]


def derive_must_include(expected: Expected, graders_stated: bool) -> ReadConfig:
    """The texts that must be in the output, and those that must not be. They are checked by rules, whatever
    else judges the output."""
    if isinstance(expected.value, str):
        message = "nothing checks whether the meaning is the same"
        hint = "add a model or human grader, or `value: {must_include: [...]}`"
        return None, [] if graders_stated else [Problem("BK705", message, hint, at=("value",))]
    choices: list[Contains] = []
    problems: list[Problem] = []
    for number, raw in enumerate(base.values_of(expected)):
        lists, list_problems = read_as(Lists, raw)
        if lists is not None:
            choices.append(Contains(all=lists.must_include, none=lists.must_not_include))
            if not choices[-1].states_texts:
                hint = "such as must_include: [total]"
                list_problems.append(Problem("BK714", "both lists are empty", hint))
        problems += prefix_paths(list_problems, base.expected_path(number))
    return None if problems else MustInclude(tuple(choices)), problems


def contains(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    """Look for all of `all`, one of `any`, and none of `none`; without any of these, for the expected text
    (if it is a list, for every text in it) or an alternative."""
    config: Contains = task.method
    choices = [config]
    if not config.states_texts:
        values = [value if isinstance(value, list) else [value] for value in task.expected]
        choices = [replace(config, all=list(map(str, texts))) for texts in values]
    return _grade_texts(task, observation, choices)


def must_include(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    return _grade_texts(task, observation, task.method.choices)


def _grade_texts(task: Task, observation: Observation, choices: Sequence[Contains]) -> Grade:
    """The grade by the first choice that fits; if none does, by the first."""
    text = base.text_of(task.look(observation.output))
    searches = [choice.search(text) for choice in choices]
    number = next((number for number, (_, reasons) in enumerate(searches) if not reasons), 0)
    lists, reasons = searches[number]
    details = {**lists, **_alternative_details(number)}
    return task.decide(not reasons, "; ".join(reasons), details, task.part(observation.output))


def contains_problems(task: Task) -> Iterator[Problem]:
    config: Contains = task.method
    if config.states_texts:
        yield from _empty_text_problems(config, "config")
        return
    if task.case.expected is None:
        message = f"{task.grader.name} checks nothing"
        yield Problem("BK705", message, "state `all`, `any` or `none`, or `expected`")
    for number, value in enumerate(task.expected):
        at = task.at_expected(number)
        texts = value if isinstance(value, list) else [value]
        no_texts = [item for item in texts if not (isinstance(item, str) or is_number(item))]
        if no_texts:
            message = f"{encode(no_texts[0])} is not a text that could be in the output"
            hint = "such as value: total, or value: [total, sum]"
            yield Problem("BK705", message, hint, at=at)
        elif not texts or "" in texts:
            reason = _EMPTY if texts else "the list of texts is empty"
            yield base.never_fails(reason, _STATE_TEXTS, *at)


def must_include_problems(task: Task) -> Iterator[Problem]:
    for number, choice in enumerate(task.method.choices):
        yield from _empty_text_problems(choice, *task.at_expected(number))


def _empty_text_problems(texts: Contains, *at: str | int) -> Iterator[Problem]:
    if "" in (*texts.all, *texts.any):
        yield base.never_fails(_EMPTY, _STATE_TEXTS, *at)


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
)

"""Graders of a text: it equals the expected one, a pattern is found in it, or it contains texts. Where that
fails, the reason shows where the text comes nearest."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Literal

from baselinekit.errors import BaselinekitError, InvalidInput, Problem
from baselinekit.files.jsontext import encode, json_in
from baselinekit.graders import base
from baselinekit.graders.base import GradeClients, GraderType, Judged, ReadConfig, Task
from baselinekit.lazy import lazy_pattern
from baselinekit.model.evals import Expected
from baselinekit.model.grades import Grade
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json
from baselinekit.placeholders.table import RegexBudget, compiled, search
from baselinekit.schema import prefix_paths, read_as
from baselinekit.structs import Count, Struct, field, replace
from baselinekit.values.equality import is_number, same_json
from baselinekit.values.texts import Mask, count_noun, mask_and_clip, no_mask

# Where a text comes nearest to what was looked for and not found. The search is bounded, runs on the masked
# text, and changes no verdict.

MOST_LOOKED_FOR = 3
"""How many missing texts are looked for: the first ones."""

_LONGEST_TEXT = 1_000_000
_LONGEST_COMPARED = 100_000
"""In a longer text nothing similar is looked for: that takes a time that grows with both lengths."""

_LONGEST_TARGET = 100
"""A longer text is looked for by its beginning."""

_LONGEST_SHOWN = 60
_CONTEXT = 20
_LEAST_BEGINNING = 12
_LEAST_LIKENESS = 0.6
_SECONDS = 0.2
"""The time limit of one search for a part of a pattern."""

_FLAGS = ("ignorecase", "multiline", "dotall")


class NearestPlace(Struct):
    """A place by its line, the text there, and a note."""

    line: int
    text: str
    note: str = ""

    def __str__(self) -> str:
        return f"nearest: line {self.line}: {_clip(self.text)!r}{self.note}"


def line_at(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def nearest_text(targets: Sequence[str], text: str, mask: Mask) -> NearestPlace | None:
    """Where the text comes nearest to any of these. None of them is in it."""
    if len(text) > _LONGEST_TEXT:
        return None
    text = mask(text)
    lower = text.lower()
    lower = lower if len(lower) == len(text) else text  # places must be the same in both
    places = [likeness for target in targets[:MOST_LOOKED_FOR] if (likeness := _nearest(target, text, lower))]
    if not places:
        return None
    _, place, end, note = max(places, key=lambda likeness: likeness[0])
    return NearestPlace(line_at(text, place), text[place:end], note)


_Likeness = tuple[float, int, int, str]
"""How similar a place is, its start, its end, and a note."""


def _nearest(target: str, text: str, lower: str) -> _Likeness | None:
    if len(target) > _LONGEST_TARGET:
        return _by_beginning(target, text)
    place = lower.find(target.lower())
    if place >= 0 and target.strip():
        return 1.0, place, place + len(target), ""
    words = target.lower().split()
    same = re.search(r"\s+".join(map(re.escape, words)), lower) if words else None
    if same is not None:
        return 1.0, same.start(), same.end(), ""
    return _by_likeness(target.lower(), lower)


def _by_beginning(target: str, text: str) -> _Likeness | None:
    """The place of the longest beginning of a long text, with the text around its end."""
    low, high = 0, len(target)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if target[:middle] in text else (low, middle - 1)
    if low < _LEAST_BEGINNING:
        return None
    end = text.find(target[:low]) + low
    note = f", after its first {low:,} characters"
    start = max(end - _CONTEXT, text.rfind("\n", 0, end) + 1)
    return low / len(target), start, min(len(text), end + _CONTEXT), note


def _by_likeness(target: str, lower: str) -> _Likeness | None:
    """The place around the longest part of the target that is in the text, if enough of the rest is near."""
    if len(lower) > _LONGEST_COMPARED:
        return None
    longest = SequenceMatcher(None, lower, target, False).find_longest_match()
    if longest.size < max(2, len(target) / 3):
        return None
    start = max(0, longest.a - longest.b - 2)
    around = lower[start : longest.a - longest.b + len(target) + 2]
    matcher = SequenceMatcher(None, target, around, False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    first, last = start + blocks[0].b, start + blocks[-1].b + blocks[-1].size
    likeness = 2 * sum(block.size for block in blocks) / (len(target) + last - first)
    return (likeness, *_whole_words(lower, first, last), "") if likeness >= _LEAST_LIKENESS else None


def _whole_words(text: str, first: int, last: int) -> tuple[int, int]:
    """The range with the rest of the words at both ends, if these are short."""
    for start in range(first, max(0, first - _CONTEXT) - 1, -1):
        if start == 0 or not text[start - 1].isalnum() or not text[start].isalnum():
            first = start
            break
    for end in range(last, min(len(text), last + _CONTEXT) + 1):
        if end == len(text) or not text[end].isalnum() or not text[end - 1].isalnum():
            return first, end
    return first, last


# Patterns: how far one matches.


_TOKEN = lazy_pattern(
    r"(?P<look>\(\?<?[=!])|(?P<flags>\(\?[a-zA-Z-]+\))|(?P<open>\((?:\?(?:P?<\w+>|[:>|]|[a-zA-Z-]*:))?)|(?P<close>\))"
    r"|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<times>[*+?]|\{\d*,?\d*\})|(?P<either>\|)|.",
    re.DOTALL,
)


def nearest_match(pattern: str, flags: Sequence[str], text: str, mask: Mask) -> NearestPlace | None:
    """Where a pattern matches with another flag, else where its longest beginning does; None if the search
    takes too long."""
    if len(text) > _LONGEST_TEXT:
        return None
    text = mask(text)
    try:
        for flag in _FLAGS:
            if flag not in flags and (match := _match(pattern, (*flags, flag), text)):
                return NearestPlace(line_at(text, match.start()), match[0], f" with flags: [{flag}]")
        whole = _by_prefix(pattern, tuple(flags), text)
        return whole or (_by_prefix(pattern[1:], tuple(flags), text) if pattern.startswith("^") else None)
    except BaselinekitError:  # a search that takes too long gives no hint
        return None


def _match(pattern: str, flags: tuple[str, ...], text: str) -> re.Match[str] | None:
    match: re.Match[str] | None = search(compiled(pattern, flags=flags), text, RegexBudget(), _SECONDS)
    return match if match is not None and match[0].strip() else None


def _by_prefix(pattern: str, flags: tuple[str, ...], text: str) -> NearestPlace | None:
    prefixes = [prefix for prefix in beginnings(pattern) if _is_pattern(prefix, flags)]
    low, high, longest = 0, len(prefixes), None
    while low < high:  # if a beginning matches, so does every shorter one
        middle = (low + high + 1) // 2
        match = search(compiled(prefixes[middle - 1], flags=flags), text, RegexBudget(), _SECONDS)
        if match is None:
            high = middle - 1
        else:
            low, longest = middle, match
    if longest is None or len(longest[0].strip()) < 2:
        return None
    line_end = text.find("\n", longest.end(), longest.end() + _CONTEXT)
    after = text[longest.end() : longest.end() + _CONTEXT if line_end < 0 else line_end]
    suffix = f", then comes {after!r}" if after else ", then the line ends"
    note = f" matches {_clip(prefixes[low - 1])}{suffix}"
    return NearestPlace(line_at(text, longest.start()), longest[0], note)


def beginnings(pattern: str) -> Iterator[str]:
    """The beginnings of a pattern that are patterns themselves, the shortest first: never cut before a
    repetition or within a lookaround, and with open groups closed."""
    open_groups: list[bool] = []
    tokens = [*_TOKEN.finditer(pattern)]
    for number, token in enumerate(tokens[:-1]):
        if token["look"] or token["open"]:
            open_groups.append(bool(token["look"]) or any(open_groups))
            continue
        if token["close"] and open_groups:
            open_groups.pop()
        if token["either"] or token["flags"] or tokens[number + 1]["times"] or any(open_groups):
            continue
        yield pattern[: token.end()] + ")" * len(open_groups)


def _is_pattern(pattern: str, flags: tuple[str, ...]) -> bool:
    try:
        compiled(pattern, flags=flags)
    except BaselinekitError:
        return False
    return True


def _clip(text: str) -> str:
    return mask_and_clip(text, _LONGEST_SHOWN, no_mask, counted=False)


# The graders.

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
        expected, actual = normalize(choice), normalize(task.look(output, base.keys_of(choice)))
        if not isinstance(expected, str) and isinstance(actual, str):
            actual = json_in(actual)
        if same_json(expected, actual):
            details = {"expected": expected, "actual": actual, **_alternative_details(number)}
            return task.decide((True, "", details))
    first = task.expected[0] if task.expected else None
    keys = base.keys_of(first)
    details = {"expected": normalize(first), "actual": normalize(task.look(output, keys))}
    return task.decide((False, "it is not the expected output", details), task.part(output, keys))


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
    if not patterns:
        hint = "add `pattern` to the grader's config, or `expected: {type: pattern}`"
        yield Problem("BK701", "a regex grader without a pattern", hint)
    for number, pattern in enumerate(patterns):
        at = task.at_expected(number)
        if not isinstance(pattern, str):
            yield Problem("BK701", f"{pattern!r} is not a regular expression", "write a text", at=at)
            continue
        if matches_everything(pattern, config.flags):
            vacuous = base.never_fails if config.must_match else base.never_passes
            hint = "state what has to be there, or must not; for any text that is not empty write .+"
            key = () if config.pattern is None else ("config", "pattern")
            yield vacuous(f"{pattern!r} is found in every text", hint, *at, *key)
        try:
            expression = compiled(pattern, flags=tuple(config.flags))
        except InvalidInput as error:
            yield from (replace(problem, at=at) for problem in error.problems)
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
    config: TokenCount = task.method
    count = len(base.text_of(task.look(observation.output)).split())
    reason = ""
    if config.min is not None and count < config.min:
        reason = f"it has {count_noun(count, 'word')}, and {config.min:,} are the least"
    elif config.max is not None and count > config.max:
        reason = f"it has {count_noun(count, 'word')}, and {config.max:,} are the most"
    return task.decide((not reason, reason, {"words": count}), task.part(observation.output))


def token_problems(task: Task) -> Iterator[Problem]:
    least, most = task.method.min, task.method.max
    if not least and most is None:
        yield base.never_fails("every text has 0 words or more", "state `min` from 1 on, or `max`", "config")
    if least is not None and most is not None and most < least:
        message = f"no text has {least} words or more and {most} or fewer"
        yield base.never_passes(message, "exchange the two", "config", "min")


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
    searched = _SearchedText(base.text_of(task.look(observation.output)), clients, config.case_sensitive)
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
    searched = _SearchedText(base.text_of(task.look(observation.output)), clients)
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
        mask = lru_cache(1)(self._clients.mask)  # all the searches are in one text
        reasons: list[str] = []
        for number, (texts, reason) in enumerate(looked_for):
            nearest = nearest_text(texts, self._text, mask) if number < MOST_LOOKED_FOR else None
            reasons.append(f"{reason}{_format_nearest(nearest)}")
        reasons += [f"{text!r} is in it{_on_line(self._text, self.place(text))}" for text in present]
        lists = {"found": found, "missing": [*missing, *missing_choices], "unwanted": present}
        return not reasons, "; ".join(reasons), {name: texts for name, texts in lists.items() if texts}


def contains_problems(task: Task) -> Iterator[Problem]:
    config: Contains = task.method
    if config.states_texts:
        for name, stated in (("all", config.all), ("any", config.any), ("none", config.none)):
            if "" in stated:
                vacuous = base.never_passes if name == "none" else base.never_fails
                yield vacuous(_EMPTY, _STATE_TEXTS, "config", name)
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
    for number, lists in enumerate((task.method, *task.method.alternatives)):
        at = task.at_expected(number)
        if "" in lists.must_include:
            yield base.never_fails(_EMPTY, _STATE_TEXTS, *at, "must_include")
        if "" in lists.must_not_include:
            yield base.never_passes(_EMPTY, _STATE_TEXTS, *at, "must_not_include")


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

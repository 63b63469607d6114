"""Graders that need nobody's opinion: a text, a pattern, a shape. The same output gets the same grade."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from baselinekit.documents.jsonfile import pretty
from baselinekit.documents.jsontext import json_in
from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.evals import Expected
from baselinekit.model.graders import (
    Contains,
    ExactMatch,
    MustInclude,
    RegexMatch,
)
from baselinekit.model.values import Json
from baselinekit.placeholders.pattern import RegexBudget, compiled, search
from baselinekit.tree.equality import same_json

Judged = tuple[bool, str, dict[str, Json]]
"""Whether it passes, why not, and what a report shows."""


def text_of(output: Json) -> str:
    """An output as a text: its `text`, where it is what a prompt that collects more gave."""
    if isinstance(output, dict) and isinstance(output.get("text"), str):
        output = output["text"]
    return output if isinstance(output, str) else pretty(output, "  ")


def values_of(expected: Expected | None) -> list[Json]:
    """What would be right, the first choice first."""
    return [] if expected is None else [expected.value, *expected.alternatives]


def exact_match(look: Callable[[Json], Json], how: ExactMatch, expected: Expected | None) -> Judged:
    """The expected text after the same trimming of both, or the expected JSON. `look`: the output as one sees
    it who expects such a value."""
    choices = values_of(expected)
    actual = _normalised(look(choices[0] if choices else None), how)
    for number, choice in enumerate(choices):
        wanted, found = _normalised(choice, how), _normalised(look(choice), how)
        if not isinstance(wanted, str) and isinstance(found, str):
            found = json_in(found)
        if same_json(wanted, found):
            return True, "", {"expected": wanted, "actual": found, **_which(number)}
    wanted = _normalised(choices[0], how) if choices else None
    return False, "it is not the expected output", {"expected": wanted, "actual": actual}


def _normalised(value: Json, how: ExactMatch) -> Json:
    if not isinstance(value, str):
        return value
    if how.trim_whitespace:
        value = value.strip()
    if how.normalize_newlines:
        value = value.replace("\r\n", "\n")
    return value if how.case_sensitive else value.lower()


def _which(number: int) -> dict[str, Json]:
    return {"alternative": number} if number else {}


def regex_match(
    output: Json, how: RegexMatch, expected: Expected | None, regex_budget: RegexBudget
) -> Judged:
    """Found, or with `must_match: false` not found. Of several patterns any one will do."""
    text = text_of(output)
    patterns = [how.pattern] if how.pattern is not None else [str(value) for value in values_of(expected)]
    details: dict[str, Json] = {"pattern": patterns[0] if patterns else "", "matched": False}
    for number, pattern in enumerate(patterns):
        match = search(compiled(pattern, flags=tuple(how.flags)), text, regex_budget)
        if match is not None:
            details |= {"pattern": pattern, "matched": True, **_which(number)}
            if how.capture_groups:
                details["captures"] = _captures(match, how.capture_groups)
            break
    passed = details["matched"] == how.must_match
    why = "the pattern is not found" if how.must_match else "the pattern is found"
    return passed, "" if passed else f"{why}: {details['pattern']}", details


def _captures(match: Any, names: Sequence[str]) -> dict[str, Json]:
    """Under each name the group that is called so, else the group of its number."""
    named = match.groupdict()
    return {name: named[name] if name in named else match.group(n) for n, name in enumerate(names, 1)}


def regex_problems(how: RegexMatch, expected: Expected | None) -> Iterator[Problem]:
    """What is wrong with a pattern before anything is asked."""
    patterns = [how.pattern] if how.pattern is not None else values_of(expected)
    if not patterns:
        hint = "add `pattern` to the grader's config, or `expected: {type: pattern}`"
        yield Problem("BK701", "a regex grader without a pattern", hint)
    for pattern in patterns:
        if not isinstance(pattern, str):
            yield Problem("BK701", f"{pattern!r} is no regular expression", "write a text")
            continue
        try:
            known = compiled(pattern, flags=tuple(how.flags))
        except InvalidInput as error:
            yield from error.problems
            continue
        unnamed = [name for n, name in enumerate(how.capture_groups, 1) if n > known.groups]
        for name in unnamed:
            if name not in known.groupindex:
                what = f"the pattern has no group for {name!r}: it has {known.groups}"
                yield Problem("BK701", what, f"name one: (?P<{name}>…), or take it out of `capture_groups`")


def contains(output: Json, how: Contains, expected: Expected | None) -> Judged:
    """All of `all`, one of `any`, none of `none`; without any of these the expected text, or every one of
    them where they are a list, or an alternative to it."""
    text = text_of(output)
    shown = text if how.case_sensitive else text.lower()

    def there(wanted: str) -> bool:
        return (wanted if how.case_sensitive else wanted.lower()) in shown

    if how.all or how.any or how.none or expected is None:
        return _found(how.all, how.any, how.none, there)
    choices = [_texts(value) for value in values_of(expected)]
    for number, wanted in enumerate(choices):
        if all(map(there, wanted)):
            return True, "", {"found": [*wanted], **_which(number)}
    if all(len(wanted) == 1 for wanted in choices):
        return _found((), [wanted[0] for wanted in choices], (), there)
    return _found(choices[0], (), (), there)


def _texts(value: Json) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


def _found(
    every: Sequence[str], some: Sequence[str], unwanted: Sequence[str], there: Callable[[str], bool]
) -> Judged:
    missing = [wanted for wanted in every if not there(wanted)]
    none_of = [*some] if some and not any(map(there, some)) else []
    found = [wanted for wanted in (*every, *some) if there(wanted)]
    return _listed(missing, none_of, [wanted for wanted in unwanted if there(wanted)], found)


def must_include(output: Json, how: MustInclude) -> Judged:
    """What has to be in it is, and what must not be is not; or the same of an alternative."""
    text = text_of(output)
    for number, other in enumerate(how.alternatives, 1):
        passed, reason, details = must_include(output, other)
        if passed and not must_include(output, replace(how, alternatives=()))[0]:
            return passed, reason, {**details, **_which(number)}
    missing = [wanted for wanted in how.must_include if wanted not in text]
    unwanted = [wanted for wanted in how.must_not_include if wanted in text]
    return _listed(missing, [], unwanted, [wanted for wanted in how.must_include if wanted in text])


def _listed(missing: list[str], none_of: list[str], unwanted: list[str], found: list[str]) -> Judged:
    reasons = [
        *(f"{wanted!r} is not in it" for wanted in missing),
        *([f"none of {', '.join(map(repr, none_of))} is in it"] if none_of else []),
        *(f"{wanted!r} is in it" for wanted in unwanted),
    ]
    details: dict[str, Json] = {"found": list(found), "missing": [*missing, *none_of], "unwanted": unwanted}
    return not reasons, "; ".join(reasons), {name: value for name, value in details.items() if value}


def parsed(output: Json) -> Json:
    """The JSON of an output: a text that is JSON, or that holds one block of it; ABSENT if it is none."""
    return json_in(output) if isinstance(output, str) else output

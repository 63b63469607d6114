"""Rules in the code of a test, combined with those of its file, which take precedence."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from baselinekit.errors import InvalidInput, Problem
from baselinekit.library.verdicts import Rules, arrays_to_order
from baselinekit.model import baselines as model
from baselinekit.model.baselines import Baseline, Difference
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.grammar import has_marker
from baselinekit.schema import read_as
from baselinekit.store.dialects.native import check_rules
from baselinekit.structs import Struct, asdict, replace
from baselinekit.values.paths import Pattern, find, parse, render, suggest_path
from baselinekit.values.places import with_values

_LISTS = {"ignore_fields": "ignore", "ignore_values": "ignore_values", "require_keys": "require"}
_BY_PATH = ("tolerance", "arrays", "fields")


class LayeredRules(Struct):
    """The baseline of a file with the rules of a test added. `judged`: the baseline to compare with; `rules`:
    the rules of both, as they would be in the file; `clashes`: where the file contradicts the test;
    `is_complete`: whether the file has all placeholders of the test."""

    judged: Baseline
    rules: model.Rules
    clashes: tuple[str, ...] = ()
    is_complete: bool = True


class CodeRules:
    """The rules of a call `baseline(…)`."""

    def __init__(self, rules: Rules):
        self._placeholders = {text: str(placeholder) for text, placeholder in rules.placeholders.items()}
        comparison = rules.as_comparison()
        self._rules = _validate(comparison) if comparison else None

    def layered_over(self, baseline: Baseline, actual: Json) -> LayeredRules:
        """Return the baseline with these rules and placeholders added."""
        clashes: list[str] = []
        if self._rules is not None:
            rules, clashes = merge_rules(baseline.comparison, self._rules)
            baseline = replace(baseline, comparison=rules)
        known_good, rules = baseline.baseline, baseline.comparison
        if self._placeholders and known_good is not None:
            placeholders: dict[Path, Json] = {}
            for text, placeholder in self._placeholders.items():
                pattern = parse(text)
                places = find(pattern, known_good.output)
                if places and all(value == placeholder for _, value in places):  # as it was recorded
                    continue
                if not places and not any(find(pattern, actual)):
                    _refuse_lost(text, pattern, known_good.output)
                for path, value in places:
                    if value == placeholder:
                        continue
                    if isinstance(value, str) and has_marker(value):
                        clashes.append(_clash(f"placeholders: {text}", value, placeholder))
                    else:
                        placeholders[path] = placeholder
            if placeholders:
                output = with_values(known_good.output, placeholders)
                arrays = {**rules.arrays, **arrays_to_order(rules, known_good.output, output)}
                judged = replace(
                    baseline,
                    baseline=replace(known_good, output=output),
                    comparison=replace(rules, arrays=arrays),
                )
                return LayeredRules(judged, rules, tuple(clashes), is_complete=False)
        return LayeredRules(baseline, rules, tuple(clashes))

    def with_rules_of_file(self, rules: model.Rules) -> model.Rules:
        """Return the rules of a file combined with these."""
        return rules if self._rules is None else merge_rules(rules, self._rules)[0]

    def with_placeholders(self, value: Json) -> Json:
        """Return a value with these placeholders in it. A placeholder that is already there stays."""
        placeholders: dict[Path, Json] = {}
        for text, placeholder in self._placeholders.items():
            for path, item in find(parse(text), value):
                if item != placeholder and not (isinstance(item, str) and has_marker(item)):
                    placeholders[path] = placeholder
        return with_values(value, placeholders)

    def describe_unmet(self, judged: Baseline, differences: Iterable[Difference]) -> Iterator[str]:
        """Describe the places where one of these placeholders does not accept the value: no update of the
        file can resolve those."""
        output = judged.baseline.output if judged.baseline else None
        stored_at = {
            path: placeholder
            for text, placeholder in self._placeholders.items()
            for path, value in find(parse(text), output)
            if value == placeholder
        }
        for difference in differences:
            if difference.at in stored_at:
                where = render(difference.path) or "the value"
                yield f"{where}: {stored_at[difference.at]} of the test does not accept what came"

    def placeholder_places(self, value: Json) -> dict[Path, str]:
        """Return the placeholders for a new value by their paths."""
        places_of_new: dict[Path, str] = {}
        for text, placeholder in self._placeholders.items():
            pattern = parse(text)
            places = [path for path, _ in find(pattern, value)]
            if not places:
                _refuse_lost(text, pattern, value)
            places_of_new |= dict.fromkeys(places, placeholder)
        return places_of_new

    def problem_of(self, difference: Difference, mask: Callable[[Json, Path], Json]) -> Problem:
        """Return the problem of a value that its own rules do not accept."""
        where = render(difference.path) or "the value"
        seen = "nothing" if difference.actual is ABSENT else repr(mask(difference.actual, difference.path))
        expected = difference.rule if difference.expected is ABSENT else repr(difference.expected)
        message = f"{where}: {expected} does not accept what was seen: {seen}"
        return Problem("BK524", message, "choose another placeholder or rule")


def _validate(comparison: dict[str, Json]) -> model.Rules:
    """Validate rules by the schema of a file."""
    rules, problems = read_as(model.Rules, comparison)
    if rules is not None:
        problems = [*problems, *check_rules(rules)]
    if problems or rules is None:
        raise InvalidInput(*(_in_code(problem) for problem in problems))
    return rules


def _in_code(problem: Problem) -> Problem:
    """Return a problem in terms of the call in the test, whose line pytest shows."""
    at = [part for part in problem.at or () if part != "comparison"]
    words = [_LISTS.get(str(part), str(part)) for part in at]
    return replace(problem, message=f"baseline({'.'.join(words)}): {problem.message}", at=None)


def _refuse_lost(text: str, pattern: Pattern, value: Json) -> None:
    """Refuse a path without `*` that matches nothing; with `*` that is allowed."""
    if "*" in text:
        return
    message = f"baseline(placeholders): {text} leads nowhere in the value"
    raise InvalidInput(Problem("BK204", message, suggest_path(pattern, value)))


def merge_rules(stored: model.Rules, code: model.Rules) -> tuple[model.Rules, list[str]]:
    """Combine both. Where they contradict each other, the rule of the file counts, and a clash is
    returned."""
    clashes: list[str] = []
    changed: dict[str, Any] = {}
    if code.type is not None and stored.type is None:
        changed["type"] = code.type
    elif code.type not in (None, stored.type):
        clashes.append(_clash("type", stored.type, code.type))
    for name in _LISTS:
        stored_value, code_value = getattr(stored, name), getattr(code, name)
        if code_value:
            changed[name] = [*stored_value, *(text for text in code_value if text not in stored_value)]
    for name in _BY_PATH:
        stored_value, code_value = getattr(stored, name), getattr(code, name)
        if code_value:
            changed[name] = {**code_value, **stored_value}
            clashes += [
                _clash(f"{name}: {path}", stored_value[path], value)
                for path, value in code_value.items()
                if path in stored_value and stored_value[path] != value
            ]
    return replace(stored, **changed), clashes


def _clash(key: str, stored: object, code: object) -> str:
    return f"{key} is {_short(stored)} in the file, which counts, and {_short(code)} in the test"


def _short(value: object) -> str:
    """Format a rule as it is written, without fields that are not set."""
    if isinstance(value, model.Tolerance | model.FieldRule):
        return "{" + ", ".join(_set_fields(value)) + "}"
    return str(value)


def _set_fields(value: "model.Tolerance | model.FieldRule") -> Iterator[str]:
    for name, part in asdict(value).items():
        if part not in (None, {}, []):
            yield f"{name}: {part}"

"""Rules that stand in the code of a test, together with those of its file, which go before them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from baselinekit.errors import InvalidInput, Problem
from baselinekit.library.verdicts import Rules, ordered_by
from baselinekit.model import baselines as model
from baselinekit.model.baselines import Baseline, Difference
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.grammar import has_marker
from baselinekit.schema.records import check
from baselinekit.store.dialects.native import check_rules
from baselinekit.tree.paths import Pattern, find, parse, render, suggest, values_at
from baselinekit.tree.places import with_values

_LISTS = {"ignore_fields": "ignore", "ignore_values": "ignore_values", "require_keys": "require"}
_BY_PATH = ("tolerance", "arrays", "fields")


@dataclass(frozen=True)
class Laid:
    """A baseline as its file states it, with the rules of a test over it. `judged`: what a value is judged
    by; `rules`: those of both, as they would stand in the file; `clashes`: where the file says something
    else; `is_complete`: whether the file has all placeholders of the test."""

    judged: Baseline
    rules: model.Rules
    clashes: tuple[str, ...] = ()
    is_complete: bool = True


class CodeRules:
    """The rules of a call `baseline(…)`."""

    def __init__(self, stated: Rules):
        self._placeholders = {text: str(one) for text, one in stated.placeholders.items()}
        comparison = stated.as_comparison()
        self._rules = _read(comparison) if comparison else None

    def laid_over(self, baseline: Baseline, actual: Json) -> Laid:
        """What a value is judged by."""
        clashes: list[str] = []
        if self._rules is not None:
            rules, clashes = merged(baseline.comparison, self._rules)
            baseline = replace(baseline, comparison=rules)
        known, rules = baseline.baseline, baseline.comparison
        if self._placeholders and known is not None:
            found: dict[Path, Json] = {}
            for text, one in self._placeholders.items():
                pattern = parse(text)
                stated = values_at(pattern, known.output)
                if stated and all(value == one for value in stated):  # as it was recorded
                    continue
                places = find(pattern, known.output)
                if not places and not any(find(pattern, actual)):
                    _refuse_lost(text, pattern, known.output)
                for path, value in places:
                    if value == one:
                        continue
                    if isinstance(value, str) and has_marker(value):
                        clashes.append(_clash(f"placeholders: {text}", value, one))
                    else:
                        found[path] = one
            if found:
                output = with_values(known.output, found)
                arrays = {**rules.arrays, **ordered_by(rules, known.output, output)}
                judged = replace(
                    baseline,
                    baseline=replace(known, output=output),
                    comparison=replace(rules, arrays=arrays),
                )
                return Laid(judged, rules, tuple(clashes), is_complete=False)
        return Laid(baseline, rules, tuple(clashes))

    def with_stated(self, rules: model.Rules) -> model.Rules:
        """Those of a file together with these."""
        return rules if self._rules is None else merged(rules, self._rules)[0]

    def filled(self, value: Json) -> Json:
        """What came with these placeholders in it. Where another one stands, the file's, that stays."""
        found: dict[Path, Json] = {}
        for text, one in self._placeholders.items():
            for path, item in find(parse(text), value):
                if item != one and not (isinstance(item, str) and has_marker(item)):
                    found[path] = one
        return with_values(value, found)

    def unmet(self, judged: Baseline, differences: Iterable[Difference]) -> Iterator[str]:
        """Where one of these placeholders stands that does not accept what came, as no output on file will
        make right."""
        output = judged.baseline.output if judged.baseline else None
        here = {
            path: one
            for text, one in self._placeholders.items()
            for path, value in find(parse(text), output)
            if value == one
        }
        for one in differences:
            if one.at in here:
                where = render(one.path) or "the value"
                yield f"{where}: {here[one.at]} of the test does not accept what came"

    def placed(self, value: Json) -> dict[Path, str]:
        """Where in a value that is new a placeholder is to stand."""
        found: dict[Path, str] = {}
        for text, one in self._placeholders.items():
            pattern = parse(text)
            places = [path for path, _ in find(pattern, value)]
            if not places:
                _refuse_lost(text, pattern, value)
            found |= dict.fromkeys(places, one)
        return found

    def refusal(self, difference: Difference, mask: Callable[[Json, Path], Json]) -> Problem:
        """Of a value that its own rules do not accept."""
        where = render(difference.path) or "the value"
        seen = "nothing" if difference.actual is ABSENT else repr(mask(difference.actual, difference.path))
        wanted = difference.rule if difference.expected is ABSENT else repr(difference.expected)
        what = f"{where}: {wanted} does not accept what was seen: {seen}"
        return Problem("BK524", what, "choose another placeholder or rule")


def _read(comparison: dict[str, Json]) -> model.Rules:
    """As the schema of a file reads them."""
    rules, problems = check(model.Rules, comparison)
    if rules is not None:
        problems = [*problems, *check_rules(rules)]
    if problems or rules is None:
        raise InvalidInput(*(_in_code(problem) for problem in problems))
    return rules


def _in_code(problem: Problem) -> Problem:
    """What is wrong stands in the test, whose line pytest shows."""
    at = [part for part in problem.at or () if part != "comparison"]
    words = [_LISTS.get(str(part), str(part)) for part in at]
    return replace(problem, message=f"baseline({'.'.join(words)}): {problem.message}", at=None)


def _refuse_lost(text: str, pattern: Pattern, value: Json) -> None:
    """A path that names one place, which is not there. `*` may well meet nothing."""
    if "*" in text:
        return
    what = f"baseline(placeholders): {text} leads nowhere in the value"
    raise InvalidInput(Problem("BK204", what, suggest(pattern, value)))


def merged(stated: model.Rules, code: model.Rules) -> tuple[model.Rules, list[str]]:
    """Both together; where they say different things of the same, the file's, and that is told."""
    clashes: list[str] = []
    changed: dict[str, Any] = {}
    if code.type is not None and stated.type is None:
        changed["type"] = code.type
    elif code.type not in (None, stated.type):
        clashes.append(_clash("type", stated.type, code.type))
    for name in _LISTS:
        here, there = getattr(stated, name), getattr(code, name)
        if there:
            changed[name] = [*here, *(one for one in there if one not in here)]
    for name in _BY_PATH:
        here, there = getattr(stated, name), getattr(code, name)
        if there:
            changed[name] = {**there, **here}
            clashes += [
                _clash(f"{name}: {path}", here[path], value)
                for path, value in there.items()
                if path in here and here[path] != value
            ]
    return replace(stated, **changed), clashes


def _clash(key: str, stated: object, code: object) -> str:
    return f"{key} is {_short(stated)} in the file, which counts, and {_short(code)} in the test"


def _short(value: object) -> str:
    """A rule as somebody would write it: without what it does not state."""
    if isinstance(value, model.Tolerance | model.FieldRule):
        return "{" + ", ".join(_stated(value)) + "}"
    return str(value)


def _stated(value: "model.Tolerance | model.FieldRule") -> Iterator[str]:
    for name in value.__dataclass_fields__:
        part = getattr(value, name)
        if part not in (None, {}, []):
            yield f"{name}: {part}"

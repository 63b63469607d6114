"""Rules in the code of a test, combined with those of its file, which take precedence."""

from collections.abc import Iterable, Iterator
from typing import Any

from baselinekit.errors import InvalidInput, Problem
from baselinekit.library.verdicts import Rules, arrays_to_order, read_rules
from baselinekit.model import baselines as model
from baselinekit.model.baselines import Baseline, Difference
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.grammar import has_marker
from baselinekit.structs import Struct, plain, replace
from baselinekit.values.paths import find, parse, render, suggest_path
from baselinekit.values.places import with_values


class LayeredRules(Struct):
    """The baseline of a file with the rules of a test added. `judged`: the baseline to compare with; `rules`:
    the rules of both, as they would be in the file; `clashes`: where the file contradicts the test;
    `is_complete`: whether the file has all placeholders of the test."""

    judged: Baseline
    rules: model.Rules
    clashes: list[str]
    is_complete: bool


class CodeRules:
    """The rules of a call `baseline(…)`."""

    def __init__(self, rules: Rules):
        self._placeholders = {text: str(placeholder) for text, placeholder in rules.placeholders.items()}
        self._rules = read_rules(rules, "baseline")

    def layered_over(self, baseline: Baseline, actual: Json) -> LayeredRules:
        """Return the baseline with these rules and placeholders added."""
        rules, clashes = self.with_rules_of_file(baseline.comparison)
        known_good = baseline.baseline
        assert known_good is not None
        self.refuse_lost(known_good.output, actual)
        output, further = self.with_placeholders(known_good.output)
        arrays = {**rules.arrays, **arrays_to_order(rules, known_good.output, output)}
        known = replace(known_good, output=output)
        judged = replace(baseline, baseline=known, comparison=replace(rules, arrays=arrays))
        return LayeredRules(judged, rules, [*clashes, *further], output is known_good.output)

    def with_rules_of_file(self, stored: model.Rules) -> tuple[model.Rules, list[str]]:
        """Return the rules of a file combined with these, and where the two contradict each other: there the
        rule of the file counts."""
        changed: dict[str, Any] = {}
        clashes: list[str] = []
        for name in model.Rules.__struct_fields__:
            theirs, ours = getattr(stored, name), getattr(self._rules, name)
            if not ours:
                continue
            if isinstance(ours, dict):
                changed[name] = {**ours, **theirs}
                common = ours.keys() & theirs.keys()
                clashes += [_clash(f"{name}: {path}", theirs[path], ours[path]) for path in sorted(common)]
            elif isinstance(ours, list):
                changed[name] = [*theirs, *(text for text in ours if text not in theirs)]
            elif theirs is None:
                changed[name] = ours
            else:
                clashes.append(_clash(name, theirs, ours))
        return replace(stored, **changed), list(filter(None, clashes))

    def places_in(self, value: Json) -> Iterator[tuple[str, Path, Json, str]]:
        """Yield for each place of a placeholder the path of its rule, its own path, what is there, and the
        placeholder."""
        for text, placeholder in self._placeholders.items():
            yield from ((text, path, item, placeholder) for path, item in find(parse(text), value))

    def with_placeholders(self, value: Json) -> tuple[Json, list[str]]:
        """Return a value with these placeholders in it, and where it has others, which stay."""
        placeholders: dict[Path, Json] = {}
        clashes: list[str] = []
        for text, path, item, placeholder in self.places_in(value):
            if has_marker(item):
                clashes.append(_clash(f"placeholders: {text}", item, placeholder))
            else:
                placeholders[path] = placeholder
        return with_values(value, placeholders), list(filter(None, clashes))

    def refuse_lost(self, *values: Json) -> None:
        """Refuse a path without `*` that matches nothing in any of the values; with `*` that is allowed."""
        for text in self._placeholders:
            pattern = parse(text)
            if "*" not in text and not any(find(pattern, value) for value in values):
                message = f"baseline(placeholders): {text} leads nowhere in the value"
                raise InvalidInput(Problem("BK204", message, suggest_path(pattern, values[0])))

    def describe_unmet(self, judged: Baseline, differences: Iterable[Difference]) -> Iterator[str]:
        """Describe the places where one of these placeholders does not accept the value: no update of the
        file can resolve those."""
        output = judged.baseline.output if judged.baseline else None
        stored_at = {path: text for _, path, value, text in self.places_in(output) if value == text}
        for difference in differences:
            if difference.at in stored_at:
                where = render(difference.path) or "the value"
                yield f"{where}: {stored_at[difference.at]} of the test does not accept what came"


def _clash(key: str, stored: object, code: object) -> str:
    """Return how the file contradicts the test; nothing if it does not."""
    if stored == code:
        return ""
    return f"{key} is {plain(stored)} in the file, which counts, and {plain(code)} in the test"

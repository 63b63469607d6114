"""compare(expected, actual) returns a verdict: a value that is true or false, and readable as a text."""

import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from baselinekit.cli.entry import clock
from baselinekit.errors import CannotReplay, InvalidInput, Problem
from baselinekit.library.placeholders import Placeholder
from baselinekit.library.values import as_json
from baselinekit.matching.dispatch import compile_baseline
from baselinekit.model import baselines as model
from baselinekit.model.baselines import ArrayMode, Baseline, Comparison, Kind
from baselinekit.model.recipes import Observation
from baselinekit.model.results import ReportedDifference, Result
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.table import PlaceholderContext, RegexBudget
from baselinekit.report.terminal import difference_lines
from baselinekit.report.wording import Style, format_lines
from baselinekit.store.reading import parse_record
from baselinekit.structs import Struct, field, replace
from baselinekit.values.paths import find, parse, render, suggest_path
from baselinekit.values.places import with_values
from baselinekit.values.texts import count_noun

_NOWHERE = "<compare>"
_CURRENT = {"input": {"test": "compare"}, "execution": {"type": "pytest"}}


class Rules(Struct):
    """What counts as the same. Paths are written as in files: `users.*.id`, `**.updated_at`, `$.items[0]`.
    `ignore`: paths that are not compared; `require`: keys that must be there; `placeholders`: placeholders by
    the path whose expected value they replace; `tolerance`, `arrays` and `fields` as in a file's
    `comparison`."""

    type: Literal["exact", "structural", "numeric", "semantic"] | None = None
    ignore: Sequence[str] = ()
    ignore_values: Sequence[str] = ()
    require: Sequence[str] = ()
    tolerance: Mapping[str, object] = field(default_factory=dict)
    arrays: Mapping[str, object] = field(default_factory=dict)
    fields: Mapping[str, object] = field(default_factory=dict)
    placeholders: Mapping[str, Placeholder | str] = field(default_factory=dict)

    def as_comparison(self) -> dict[str, Json]:
        """Return the rules as a file's `comparison`, without empty settings."""
        settings: dict[str, Any] = {
            "type": self.type,
            "tolerance": dict(self.tolerance),
            "ignore_fields": list(self.ignore),
            "ignore_values": list(self.ignore_values),
            "require_keys": list(self.require),
            "arrays": dict(self.arrays),
            "fields": dict(self.fields),
        }
        return {name: as_json(value) for name, value in settings.items() if value}


_NO_RULES = Rules()


class Difference(Struct):
    """One place where a value differs from the expected one; `path` is written as in rules."""

    path: str
    kind: Kind
    expected: Json
    actual: Json
    note: str | None = None


class Verdict:
    """The outcome of a comparison. It is true if it passed; as a text it shows the differences."""

    def __init__(self, baseline: Baseline, comparison: Comparison):
        self._baseline = baseline
        self._comparison = comparison

    @property
    def passed(self) -> bool:
        return self._comparison.passed

    def __bool__(self) -> bool:
        return self.passed

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        return tuple(
            Difference(
                render(difference.path),
                difference.kind,
                difference.expected,
                difference.actual,
                difference.note,
            )
            for difference in self._comparison.differences
        )

    @property
    def resolved(self) -> Json:
        """What a refresh would store: the actual value, but the expected text, with its placeholders, where
        the two agree."""
        return self._comparison.resolved

    def __str__(self) -> str:
        if self.passed:
            return "passed"
        count = self._comparison.count
        return f"{count_noun(count, 'difference')}\n{format_lines(self.lines(Style()))}".rstrip()

    def __repr__(self) -> str:
        return f"<Verdict {'passed' if self.passed else count_noun(self._comparison.count, 'difference')}>"

    def lines(self, style: Style) -> list[str]:
        """The differences as a terminal shows them."""
        return list(difference_lines(result_of(self._baseline, self._comparison), style))


def result_of(baseline: Baseline, comparison: Comparison) -> Result:
    """Return a comparison as the result that reports show."""
    spots = tuple(
        ReportedDifference(
            difference.path,
            difference.kind,
            difference.expected,
            difference.actual,
            baseline.source.file,
            None,
            difference.rule,
            difference.note,
        )
        for difference in comparison.differences
    )
    return Result(
        baseline.id,
        baseline.source.file,
        None,
        baseline.current.kind,
        "passed" if comparison.passed else "failed",
        differences=spots,
        difference_count=comparison.count,
        resolved=comparison.resolved,
    )


def compare(expected: object, actual: object, rules: Rules | None = None) -> Verdict:
    """Compare a value with an expected one. In `expected`, a text such as `<<any_uuid>>` is a placeholder, as
    in a file, and so are the values `any_uuid` and the like."""
    rules = _NO_RULES if rules is None else _checked_rules(rules)
    expected_json = as_json(expected)
    record: dict[str, Any] = {
        "id": "compare",
        "baseline": {"output": with_placeholders(expected_json, rules.placeholders)},
        "current": _CURRENT,
        "comparison": rules.as_comparison(),
    }
    baseline = parse_record(record, _NOWHERE)
    return judge(_with_ordered_arrays(baseline, expected_json) if rules.placeholders else baseline, actual)


def _checked_rules(rules: object) -> Rules:
    """Return the rules, or raise an error that says what to write instead."""
    if not isinstance(rules, Rules):
        rule_names = list(Rules.__struct_fields__)
        is_near = isinstance(rules, dict) and rules and all(key in rule_names for key in rules)
        arguments = [f"{key}={value!r}" for key, value in rules.items()] if isinstance(rules, dict) else []
        hint = f"Rules({', '.join(arguments) if is_near else 'ignore=[…]'}), of {', '.join(rule_names)}"
        raise InvalidInput(Problem("BK105", f"rules: expected Rules, found a {type(rules).__name__}", hint))
    for name in ("ignore", "ignore_values", "require"):
        value = getattr(rules, name)
        if isinstance(value, str):  # each letter would be taken for a path
            message = f"{name}: expected a list of paths, found the text {value!r}"
            raise InvalidInput(Problem("BK105", message, f"Rules({name}=[{value!r}])"))
    return rules


def _with_ordered_arrays(baseline: Baseline, expected: Json) -> Baseline:
    """Compare arrays of one element in which rules have put a placeholder by position, as one element."""
    stored, rules = baseline.baseline, baseline.comparison
    ordered = arrays_to_order(rules, expected, stored.output) if stored is not None else {}
    return replace(baseline, comparison=replace(rules, arrays={**rules.arrays, **ordered}))


def arrays_to_order(rules: model.Rules, before: Json, after: Json) -> dict[str, ArrayMode]:
    """Return the arrays of one element that hold a placeholder only after a change. Nobody has said that the
    element describes arrays of any length, so they are compared element by element."""
    from baselinekit.learning.templating import single_element_arrays

    if rules.type == "exact":
        return {}
    configured = {path for text in rules.arrays for path, _ in find(parse(text), after)}
    excluded = {*single_element_arrays(before), *configured}
    return {render(path) or "$": "ordered" for path in single_element_arrays(after) if path not in excluded}


def judge(baseline: Baseline, actual: object) -> Verdict:
    """Compare a value with a baseline that was read."""
    matcher = compile_baseline(baseline, words())
    comparison = matcher.compare(Observation(as_json(actual), 0.0))
    if comparison.questions:
        message = "whether two texts mean the same is a question to a model"
        raise CannotReplay(Problem("BK230", message, "compare it with `baselinekit compare`"))
    return Verdict(baseline, comparison)


def words() -> PlaceholderContext:
    """Return what placeholders mean outside of a project: no custom ones, and the current time."""
    return PlaceholderContext(now=clock()(), regex_budget=RegexBudget(time.thread_time))


def with_placeholders(value: Json, placeholders: Mapping[str, Placeholder | str]) -> Json:
    """Return the value with placeholders at these paths. A path that matches nothing raises an error that
    suggests a similar one."""
    by_path: dict[Path, Json] = {}
    for text, placeholder in placeholders.items():
        pattern = parse(text)
        paths = [path for path, _ in find(pattern, value)]
        if not paths:
            message = f"placeholders: {text} leads nowhere in the expected value"
            raise InvalidInput(Problem("BK204", message, suggest_path(pattern, value)))
        by_path |= dict.fromkeys(paths, str(placeholder))
    return with_values(value, by_path) if by_path else value

"""compare(expected, actual): a verdict that is a value, true or false and good to read."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields as dataclass_fields, replace
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
from baselinekit.model.results import Result, Spot
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.table import RegexBudget, Words
from baselinekit.report.terminal import difference_lines
from baselinekit.report.wording import Style, format_lines
from baselinekit.store.reading import parse_record
from baselinekit.texts import many
from baselinekit.tree.paths import find, parse, render, suggest
from baselinekit.tree.places import with_values

_NOWHERE = "<compare>"
_CURRENT = {"input": {"test": "compare"}, "execution": {"type": "pytest"}}


@dataclass(frozen=True)
class Rules:
    """What counts as the same. Paths are those of the files: `users.*.id`, `**.updated_at`, `$.items[0]`.
    `ignore`: what is not compared; `require`: keys that must be there; `placeholders`: what may stand at a
    path instead of the expected value; `tolerance`, `arrays` and `fields` as in a file's `comparison`."""

    type: Literal["exact", "structural", "numeric", "semantic"] | None = None
    ignore: Sequence[str] = ()
    ignore_values: Sequence[str] = ()
    require: Sequence[str] = ()
    tolerance: Mapping[str, object] = field(default_factory=dict)
    arrays: Mapping[str, object] = field(default_factory=dict)
    fields: Mapping[str, object] = field(default_factory=dict)
    placeholders: Mapping[str, Placeholder | str] = field(default_factory=dict)

    def as_comparison(self) -> dict[str, Json]:
        """As they stand in a file, without what is not stated."""
        stated: dict[str, Any] = {
            "type": self.type,
            "tolerance": dict(self.tolerance),
            "ignore_fields": list(self.ignore),
            "ignore_values": list(self.ignore_values),
            "require_keys": list(self.require),
            "arrays": dict(self.arrays),
            "fields": dict(self.fields),
        }
        return {name: as_json(value) for name, value in stated.items() if value}


_NO_RULES = Rules()


@dataclass(frozen=True)
class Difference:
    """One place where a value is not as it was expected: `path` as it is written in rules."""

    path: str
    kind: Kind
    expected: Json
    actual: Json
    note: str | None = None


class Verdict:
    """What a comparison came to. It is true where it passed; as a text it shows what differs."""

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
            Difference(render(one.path), one.kind, one.expected, one.actual, one.note)
            for one in self._comparison.differences
        )

    @property
    def resolved(self) -> Json:
        """The actual value seen through the expected one: what a refresh would store. Where they agree, the
        text of the expected value stays, its placeholders included."""
        return self._comparison.resolved

    def __str__(self) -> str:
        if self.passed:
            return "passed"
        count = self._comparison.count
        return f"{many(count, 'difference')}\n{format_lines(self.lines(Style()))}".rstrip()

    def __repr__(self) -> str:
        return f"<Verdict {'passed' if self.passed else many(self._comparison.count, 'difference')}>"

    def lines(self, style: Style) -> list[str]:
        """The differences as a terminal shows them."""
        return list(difference_lines(result_of(self._baseline, self._comparison), style))


def result_of(baseline: Baseline, comparison: Comparison) -> Result:
    """A comparison as every report shows it."""
    spots = tuple(
        Spot(one.path, one.kind, one.expected, one.actual, baseline.source.file, None, one.rule, one.note)
        for one in comparison.differences
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
    """Set a value against an expected one. In `expected` a text such as `<<any_uuid>>` is a placeholder, as
    in a file, and so is what `any_uuid` and its siblings stand for."""
    rules = _NO_RULES if rules is None else _checked(rules)
    stated = as_json(expected)
    record: dict[str, Any] = {
        "id": "compare",
        "baseline": {"output": with_placeholders(stated, rules.placeholders)},
        "current": _CURRENT,
        "comparison": rules.as_comparison(),
    }
    baseline = parse_record(record, _NOWHERE)
    return judge(_with_lengths(baseline, stated) if rules.placeholders else baseline, actual)


def _checked(rules: object) -> Rules:
    """The rules, or what to write instead."""
    if not isinstance(rules, Rules):
        named = [one.name for one in dataclass_fields(Rules)]
        is_near = isinstance(rules, dict) and rules and all(key in named for key in rules)
        stated = [f"{key}={value!r}" for key, value in rules.items()] if isinstance(rules, dict) else []
        hint = f"Rules({', '.join(stated) if is_near else 'ignore=[…]'}), of {', '.join(named)}"
        raise InvalidInput(Problem("BK105", f"rules: expected Rules, found a {type(rules).__name__}", hint))
    for name in ("ignore", "ignore_values", "require"):
        value = getattr(rules, name)
        if isinstance(value, str):  # whose letters would be paths
            what = f"{name}: expected a list of paths, found the text {value!r}"
            raise InvalidInput(Problem("BK105", what, f"Rules({name}=[{value!r}])"))
    return rules


def _with_lengths(baseline: Baseline, stated: Json) -> Baseline:
    """Where rules have put a placeholder into the one element of an array, it goes on to be one element."""
    known, rules = baseline.baseline, baseline.comparison
    ordered = ordered_by(rules, stated, known.output) if known is not None else {}
    return replace(baseline, comparison=replace(rules, arrays={**rules.arrays, **ordered}))


def ordered_by(rules: model.Rules, before: Json, after: Json) -> dict[str, ArrayMode]:
    """The arrays of one element in which a placeholder stands now. Nobody has said that it describes
    arrays of any length: they are compared element by element."""
    from baselinekit.workflow.learning import arrays_of_one

    if rules.type == "exact":
        return {}
    stated = {path for text in rules.arrays for path, _ in find(parse(text), after)}
    left_out = {*arrays_of_one(before), *stated}
    return {render(path) or "$": "ordered" for path in arrays_of_one(after) if path not in left_out}


def judge(baseline: Baseline, actual: object) -> Verdict:
    """A baseline that was read, set against a value."""
    matcher = compile_baseline(baseline, words())
    comparison = matcher.compare(Observation(as_json(actual), 0.0))
    if comparison.questions:
        what = "whether two texts mean the same is a question to a model"
        raise CannotReplay(Problem("BK230", what, "compare it with `baselinekit compare`"))
    return Verdict(baseline, comparison)


def words() -> Words:
    """What placeholders mean outside of any project: none of its own, and the present moment."""
    return Words(now=clock()(), regex_budget=RegexBudget(time.thread_time))


def with_placeholders(value: Json, wanted: Mapping[str, Placeholder | str]) -> Json:
    """The value with placeholders at these paths. One that leads nowhere is an error, with what is near."""
    found: dict[Path, Json] = {}
    for text, one in wanted.items():
        pattern = parse(text)
        places = [path for path, _ in find(pattern, value)]
        if not places:
            what = f"placeholders: {text} leads nowhere in the expected value"
            raise InvalidInput(Problem("BK204", what, suggest(pattern, value)))
        found |= dict.fromkeys(places, str(one))
    return with_values(value, found) if found else value

"""compare(expected, actual) returns a verdict: a value that is true or false, and readable as a text."""

import time
from collections.abc import Mapping, Sequence
from typing import Literal

from baselinekit.cli.entry import clock
from baselinekit.errors import CannotReplay, InvalidInput, Problem
from baselinekit.learning.templating import arrays_to_order, single_element_arrays
from baselinekit.library.placeholders import Placeholder
from baselinekit.library.values import as_json
from baselinekit.matching.dispatch import Matcher, compile_baseline, reported
from baselinekit.model import baselines as model
from baselinekit.model.baselines import ArrayMode, Baseline, Comparison, Kind
from baselinekit.model.recipes import Observation
from baselinekit.model.results import Result
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.table import PlaceholderContext, RegexBudget
from baselinekit.report.blocks import terminal_lines
from baselinekit.report.differences import difference_blocks
from baselinekit.report.wording import PLAIN, format_lines
from baselinekit.schema import read_as
from baselinekit.secrets.variables import Redactor
from baselinekit.store.dialects.native import check_rules
from baselinekit.store.reading import parse_record
from baselinekit.structs import Struct, field, keys_of, replace
from baselinekit.values.paths import find, parse, render, suggest_path
from baselinekit.values.places import with_values
from baselinekit.values.texts import count_noun


class Rules(Struct):
    """What counts as the same. Paths are written as in files: `users.*.id`, `**.updated_at`, `$.items[0]`.
    `ignore`: paths that are not compared; `require`: keys that must be there; `placeholders`: placeholders by
    the path whose expected value they replace; `tolerance`, `arrays` and `fields` as in a file's
    `comparison`."""

    type: Literal["exact", "structural", "numeric", "semantic"] | None = None
    ignore: Sequence[str] = field(default=(), name="ignore_fields")
    ignore_values: Sequence[str] = ()
    require: Sequence[str] = field(default=(), name="require_keys")
    tolerance: Mapping[str, object] = field(default_factory=dict)
    arrays: Mapping[str, object] = field(default_factory=dict)
    fields: Mapping[str, object] = field(default_factory=dict)
    placeholders: Mapping[str, Placeholder | str] = field(default_factory=dict)

    def as_comparison(self) -> dict[str, Json]:
        """Return the rules as a file's `comparison`, without empty settings."""
        settings = {key: getattr(self, name) for name, key, _ in keys_of(Rules) if name != "placeholders"}
        return {key: as_json(value) for key, value in settings.items() if value}


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

    @property
    def differences(self) -> tuple[Difference, ...]:
        found = self._comparison.differences
        return tuple(Difference(render(d.path), d.kind, d.expected, d.actual, d.note) for d in found)

    @property
    def resolved(self) -> Json:
        """What a refresh would store: the actual value, but the expected text, with its placeholders, where
        the two agree."""
        return self._comparison.resolved

    def __str__(self) -> str:
        if self.passed:
            return "passed"
        count = self._comparison.count
        blocks = difference_blocks(result_of(self._baseline, self._comparison))
        lines = format_lines(terminal_lines(blocks, PLAIN))
        return f"{count_noun(count, 'difference')}\n{lines}".rstrip()

    def __repr__(self) -> str:
        return f"<Verdict {'passed' if self.passed else count_noun(self._comparison.count, 'difference')}>"


def result_of(baseline: Baseline, comparison: Comparison, redactor: Redactor | None = None) -> Result:
    """Return a comparison as the result that reports show, masked by the redactor if there is one."""
    return Result(
        baseline.id,
        baseline.source.file,
        None,
        baseline.current.kind,
        "passed" if comparison.passed else "failed",
        differences=tuple(
            reported(comparison.differences, baseline.source.file, baseline.output_path, redactor)
        ),
        difference_count=comparison.count,
    )


def compare(expected: object, actual: object, rules: Rules | None = None) -> Verdict:
    """Compare a value with an expected one. In `expected`, a text such as `<<any_uuid>>` is a placeholder, as
    in a file, and so are the values `any_uuid` and the like."""
    rules = Rules() if rules is None else rules
    comparison, before = read_rules(rules, "Rules"), as_json(expected)
    places: dict[Path, Json] = {}
    for text, placeholder in rules.placeholders.items():
        pattern = parse(text)
        found = find(pattern, before)
        if not found:
            message = f"placeholders: {text} leads nowhere in the expected value"
            raise InvalidInput(Problem("BK204", message, suggest_path(pattern, before)))
        places |= {path: str(placeholder) for path, _ in found}
    output = with_values(before, places)
    current: Json = {"input": {"test": "compare"}, "execution": {"type": "pytest"}}
    baseline = parse_record({"id": "compare", "baseline": {"output": output}, "current": current})
    ordered = arrays_to_order(comparison, single_element_arrays(before), output)
    arrays: dict[str, ArrayMode] = {**comparison.arrays, **ordered}
    return judge(replace(baseline, comparison=replace(comparison, arrays=arrays)), actual)


def read_rules(rules: object, call: str) -> model.Rules:
    """Return rules of code as those of a file, or raise an error with what to write instead. `call`:
    where they are in the code."""
    if not isinstance(rules, Rules):
        hint = f"Rules(ignore=[…]), of {', '.join(Rules.__struct_fields__)}"
        raise InvalidInput(Problem("BK105", f"rules: expected Rules, found a {type(rules).__name__}", hint))
    read, problems = read_as(model.Rules, rules.as_comparison())
    problems += check_rules(read) if read is not None else ()
    if problems or read is None:
        raise InvalidInput(*(_in_code(problem, call) for problem in problems))
    return read


def _in_code(problem: Problem, call: str) -> Problem:
    """Return a problem of a file's rules in terms of the call in the code."""
    names = {key: name for name, key, _ in keys_of(Rules)}
    words = [names.get(str(part), str(part)) for part in problem.at or () if part != "comparison"]
    return replace(problem, message=f"{call}({'.'.join(words)}): {problem.message}", at=None)


def judge(baseline: Baseline, actual: object) -> Verdict:
    """Compare a value with a baseline that was read, outside of a project: without custom placeholders."""
    words = PlaceholderContext(now=clock()(), regex_budget=RegexBudget(time.thread_time))
    observation = Observation(as_json(actual), 0.0)
    return Verdict(baseline, compare_without_model(compile_baseline(baseline, words), observation))


def compare_without_model(matcher: Matcher, observation: Observation) -> Comparison:
    comparison = matcher.compare(observation)
    if comparison.questions:
        message = "whether two texts mean the same is a question to a model, and a test asks none"
        raise CannotReplay(Problem("BK356", message, "compare its parts, or use `method: words`"))
    return comparison

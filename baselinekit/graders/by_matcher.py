"""Graders that use the matcher of compare: by an expected value with placeholders, or a stored baseline."""

from collections.abc import Iterator

from baselinekit.errors import Problem
from baselinekit.graders.by_text import nothing_to_compare
from baselinekit.graders.task import GradeClients, GraderType, Task, never_fails
from baselinekit.model.baselines import Options, Rules, Type
from baselinekit.model.grades import Grade
from baselinekit.model.recipes import Observation
from baselinekit.model.values import ABSENT, Json
from baselinekit.structs import Struct, field, replace
from baselinekit.values.paths import render
from baselinekit.values.texts import count_noun

_ANYTHING = frozenset(("<<any>>", "<<any?>>", "<<any|null>>", "{{any}}"))
_MOST_DIFFERENCES = 50


class StructuralMatch(Struct):
    """The matcher of compare: the expected value with its placeholders, or the record's baseline.
    `strict: false` allows further keys."""

    strict: bool | None = None
    type: Type = "structural"
    options: Options | None = None
    ignore_fields: list[str] = field(default_factory=list)
    of: str | None = None

    @property
    def rules(self) -> Rules:
        options = self.options
        if self.strict is not None:
            options = replace(options or Options(), allow_additional_fields=not self.strict)
        return Rules(type=self.type, options=options, ignore_fields=list(self.ignore_fields))


class BaselineMatch(Struct):
    """A regression record: the output is compared with its baseline, as `compare` does."""


def compare_output(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    comparison, alternative = clients.compare(task.case, task.grader, observation)
    differences: list[Json] = []
    for difference in comparison.differences[:_MOST_DIFFERENCES]:
        values = {"expected": difference.expected, "actual": difference.actual}
        stated = {name: value for name, value in values.items() if value is not ABSENT}
        differences.append({"path": render(difference.path), "kind": difference.kind, **stated})
    details: dict[str, Json] = {"differences": differences} if differences else {}
    if comparison.passed and alternative:
        details["alternative"] = alternative
    reason = "" if comparison.passed else count_noun(comparison.count, "difference")
    return task.decide((comparison.passed, reason, details))


def structural_problems(task: Task) -> Iterator[Problem]:
    if any(value in _ANYTHING for value in task.expected if isinstance(value, str)):
        yield never_fails("anything at all fits <<any>>", "state at least its type: <<any_string>>")
    yield from nothing_to_compare(task)


STRUCTURAL_MATCH = GraderType(
    StructuralMatch,
    compare_output,
    "structural_match",
    problems=structural_problems,
    compares="expected",
    goes_by_expectation=lambda config: True,
)
BASELINE_MATCH = GraderType(BaselineMatch, compare_output, compares="baseline")

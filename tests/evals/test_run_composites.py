"""Graders made of others: what a run keeps of the parts, what waits for people, what a mean decides."""

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from evalcases import World, case, suite

from baselinekit.errors import InvalidInput
from baselinekit.evals.attempts import EvalClients
from baselinekit.evals.rating import Queue, finish
from baselinekit.evals.selection import graded_by
from baselinekit.graders.by_field import FieldAccuracy, GradedField
from baselinekit.graders.by_text import Contains
from baselinekit.graders.composite import Aggregator, make_composite
from baselinekit.model.evals import GoodAnswer
from baselinekit.model.grades import Evaluators, Grade, Grader, HumanRating, PassRule
from baselinekit.model.ratings import Rating
from baselinekit.model.traces import TraceMessage
from baselinekit.report.forms import render_report
from baselinekit.report.resultfile import read, render
from baselinekit.suites.loading import load_cases

MEAN = PassRule("mean")
SECRET = "sk-ant-" + "a1B2c3D4" * 5
FORMS = ("x.html", "x.md", "x.xml", "x.sarif", "x.ctrf.json", "x.eval.json")


def has(text: str, name: str, weight: float = 1, required: bool = False) -> Grader:
    return Grader(name, "code", Contains(all=[text]), weight, required)


def made_of(*graders: Grader, name: str = "gate") -> Grader:
    method, problems = make_composite(graders, Aggregator())
    assert problems == []
    return Grader(name, "code", method, required=False)


def test_run_keeps_parts_of_a_composite_without_secrets(tmp_path: Path) -> None:
    right = GoodAnswer(messages=(TraceMessage("assistant", {"key": "x"}),))
    fields = Grader("fields", "code", FieldAccuracy([GradedField("key")]), required=False)
    inner = made_of(has("key", "facts"), has("tone", "tone"), fields, name="inner")
    outer = made_of(inner, has("safe", "safe", required=True))
    report = World(tmp_path).run(
        suite(case("a", json.dumps({"key": SECRET}), outer, pass_rule=MEAN, wanted=right))
    )
    assert render(read(render(report), "r.json")) == render(report)
    (grade,) = report.results[0].case.attempts[0].grades if report.results[0].case else ()
    assert grade.failed_gates == ("safe",)
    assert [part.grader for part in grade.parts[0].parts] == ["facts", "tone", "fields"]
    assert set(report.results[0].scores) == {"gate", "gate/inner"}
    for form in FORMS:
        assert "safe" in render_report(report, form), form
    for form in (*FORMS, "x.json"):
        assert "c3D4a1B2" not in render_report(report, form), form
    assert 'key: \\"' in render_report(report, "x.json")


@pytest.mark.parametrize(("value", "outcome"), [(5, "passed"), (1, "failed")])
def test_finish_decides_a_composite_by_a_new_rating(tmp_path: Path, value: int, outcome: str) -> None:
    people = Grader("people", "human", HumanRating(evaluators=Evaluators(1, 3, 0.8)), required=False)
    world, ticks = World(tmp_path), count(1_700_000_000)
    queue = Queue(world.project(), lambda: float(next(ticks)))
    waiting = case("a", "yes", made_of(has("yes", "facts"), people), pass_rule=MEAN)
    items = []

    def rated(*asked: Any) -> Grade:
        grade, item = queue.rated(*asked)
        items.append(item)
        return grade

    report = world.run(suite(waiting), outside=EvalClients(rated=rated))
    queue.ratings.enqueue(*items)
    assert report.results[0].verdict == "pending", report.results[0].reason
    (standing,) = queue.standings()
    queue.rate(standing.item, Rating("ada", value, queue.stamp()))
    again = finish(report, queue)
    assert (again.decided, again.report.results[0].outcome) == (1, outcome)
    assert again.report.results[0].verdict is None


def test_graded_by_a_kind_takes_composites_of_that_kind_only() -> None:
    people = Grader("people", "human", HumanRating())
    both, codes = made_of(has("a", "a"), people), made_of(has("a", "a"))
    mixed = case("a", "yes", both, codes, people)
    for kind, grader in (("code", codes), ("human", people)):
        assert [one.method for one in graded_by([mixed], kind)[0].graders] == [grader.method]
    with pytest.raises(InvalidInput):
        graded_by([case("a", "yes", both)], "code")


FILE = """\
schema_version: "1.0"
eval_type: capability
metadata: {id: f}
config: {pass_rule: %s}
test_cases:
  - id: a
    input: {type: echo, content: hello}
    expected_outcome: It greets
    reference: Hello, you!
    sidecar: {lang: en}
    graders:
      - {type: code, name: one, config: {method: contains, all: [hello]}}
      - {type: code, name: two, required: true, config: {method: contains, all: [hello]}}
      - ref: %s
"""
GRADERS = "silent: {type: code, config: {method: contains, all: [hello]}}\n"


@pytest.mark.parametrize(
    ("rule", "ref", "required"),
    [
        ("all", "silent", [True, True, True]),
        ("mean", "silent", [False, True, False]),
        ("{by: mean, pass_at: 0.9}", "silent\n        required: true", [False, True, True]),
    ],
)
def test_a45_graders_by_mean_are_gates_only_if_required(
    tmp_path: Path, rule: str, ref: str, required: list[bool]
) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/graders.yaml").write_text(GRADERS)
    (tmp_path / "f.yaml").write_text(FILE % (rule, ref))
    (found,) = load_cases(["f.yaml"], str(tmp_path))
    assert [grader.required for grader in found.graders] == required
    assert found.pass_rule.by == ("all" if rule == "all" else "mean")
    greeting = TraceMessage("assistant", "Hello, you!")
    assert found.wanted == GoodAnswer("It greets", (greeting,), sidecar={"lang": "en"})
    assert found.expected is None

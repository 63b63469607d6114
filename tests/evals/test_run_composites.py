"""Cases whose graders are made of others, run: what is kept of the parts, what waits for people, who is
asked, and when a case passes that a mean decides."""

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from evalcases import World, case, metric, suite

from baselinekit.errors import InvalidInput
from baselinekit.evals.attempts import EvalClients
from baselinekit.evals.finishing import finish
from baselinekit.evals.rating import Queue
from baselinekit.evals.selection import graded_by, with_borderline
from baselinekit.graders.by_field import FieldAccuracy, GradedField
from baselinekit.graders.by_text import Contains
from baselinekit.graders.composite import Aggregator, Composite, make_composite
from baselinekit.model.evals import Case, GoodAnswer
from baselinekit.model.grades import Evaluators, Grader, HumanRating, PassRule
from baselinekit.model.ratings import Rating
from baselinekit.model.traces import TraceMessage
from baselinekit.report.forms.table import render_report
from baselinekit.report.resultfile import read, render
from baselinekit.structs import replace
from baselinekit.suites.loading import load_cases

MEAN = PassRule("mean")
SECRET = "sk-ant-" + "a1B2c3D4" * 5


def says(text: str, name: str, weight: float = 1, required: bool = False) -> Grader:
    return Grader(name, "code", Contains(all=[text]), weight, required)


def made_of(*graders: Grader, name: str = "gate") -> Grader:
    method, problems = make_composite(graders, Aggregator())
    assert problems == []
    return Grader(name, "code", method, required=False)


def test_the_parts_are_kept_and_read_back(tmp_path: Path) -> None:
    inner = made_of(says("yes", "facts"), says("tone", "tone"), name="inner")
    of = case("a", "yes", made_of(inner, says("safe", "safe", required=True)), pass_rule=MEAN)
    report = World(tmp_path).run(suite(of))
    assert render(read(render(report), "r.json")) == render(report)
    (grade,) = report.results[0].case.attempts[0].grades if report.results[0].case else ()
    assert grade.failed_gates == ("safe",)
    assert [part.grader for part in grade.parts[0].parts] == ["facts", "tone"]
    assert report.results[0].scores == {"gate": 0.25, "gate/inner": 0.5}
    for form in ("x.html", "x.md", "x.xml", "x.sarif", "x.ctrf.json", "x.eval.json"):
        assert "safe" in render_report(report, form), form


def test_no_secret_stands_in_a_part(tmp_path: Path) -> None:
    right = GoodAnswer(messages=(TraceMessage("assistant", {"key": "x"}),))
    fields = Grader("fields", "code", FieldAccuracy([GradedField("key")]), required=False)
    of = case("a", json.dumps({"key": SECRET}), made_of(made_of(fields)), pass_rule=MEAN, wanted=right)
    report = World(tmp_path).run(suite(of))
    for form in ("x.json", "x.html", "x.eval.json"):
        assert "c3D4a1B2" not in render_report(report, form)
    assert 'key: \\"' in render_report(report, "x.json")


@pytest.mark.parametrize(("value", "outcome"), [(5, "passed"), (1, "failed")])
def test_a_rating_finishes_the_composite_that_waited(tmp_path: Path, value: int, outcome: str) -> None:
    people = Grader("people", "human", HumanRating(evaluators=Evaluators(1, 3, 0.8)), required=False)
    world = World(tmp_path)
    ticks = count(1_700_000_000)
    queue = Queue(world.project(), lambda: float(next(ticks)))
    of = case("a", "yes", made_of(says("yes", "facts"), people), pass_rule=MEAN)
    report = world.run(suite(of), outside=EvalClients(rated=queue.rated))
    assert report.results[0].verdict == "pending", report.results[0].reason
    (standing,) = queue.standings()
    queue.rate(standing.item, Rating("ada", value, queue.stamp()))
    again = finish(report, queue)
    assert (again.decided, again.report.results[0].outcome) == (1, outcome)
    assert again.report.results[0].verdict is None


def test_a_mean_decides_and_borderline_is_counted(tmp_path: Path) -> None:
    graders = (says("yes", "facts", 3), says("tone", "tone"))
    cases = [case("a", "yes", *graders, pass_rule=MEAN), case("b", "yes tone", *graders, pass_rule=MEAN)]
    report = World(tmp_path).run(suite(*cases))
    assert [(one.outcome, one.verdict) for one in report.results] == [
        ("failed", "borderline"),
        ("passed", None),
    ]
    assert (metric(report, "borderline"), metric(report, "pass@1"), report.exit_code) == (0.5, 0.5, 1)
    lenient = World(tmp_path).run(with_borderline(suite(*cases), True))
    assert [one.verdict for one in lenient.results] == ["borderline", None]
    assert (metric(lenient, "borderline"), lenient.exit_code) == (0.5, 0)


def test_a_metric_of_borderline_is_there_only_where_a_mean_decides(tmp_path: Path) -> None:
    report = World(tmp_path).run(suite(case("a")))
    assert "borderline" not in [one.name for one in report.suite.metrics] if report.suite else False


def test_only_what_is_all_of_one_kind_is_asked_for_by_it() -> None:
    people = Grader("people", "human", HumanRating())
    both, codes = made_of(says("a", "a"), people), made_of(says("a", "a"))
    of = case("a", "yes", both, codes, people)
    assert [[one.method for one in graded_by([of], kind)[0].graders] for kind in ("code", "human")] == [
        [codes.method],
        [people.method],
    ]
    with pytest.raises(InvalidInput):
        graded_by([case("a", "yes", both)], "code")


def test_where_a_grader_stands_changes_no_fingerprint(tmp_path: Path) -> None:
    inner = says("yes", "facts")
    moved = replace(inner, at=("graders", 7), config_at=())
    prints = []
    for one in (inner, moved):
        report = World(tmp_path).run(suite(case("a", "yes", made_of(made_of(one)))))
        prints.append(report.results[0].case.fingerprint if report.results[0].case else None)
    assert prints[0] == prints[1] is not None


# As files state them.


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
GRADERS = """\
graders:
  silent: {type: code, config: {method: contains, all: [hello]}}
  gate: {type: code, required: true, config: {method: contains, all: [hello]}}
"""


def loaded(root: Path, rule: str, ref: str = "silent") -> Case:
    (root / "config").mkdir(exist_ok=True)
    (root / "config/graders.yaml").write_text(GRADERS)
    (root / "f.yaml").write_text(FILE % (rule, ref))
    (found,) = load_cases(["f.yaml"], str(root))
    return found


@pytest.mark.parametrize(
    ("rule", "ref", "required"),
    [
        ("all", "silent", [True, True, True]),
        ("mean", "silent", [False, True, False]),
        ("mean", "gate", [False, True, True]),
        ("{by: mean, pass_at: 0.9}", "{ref: silent, required: true}", [False, True, True]),
    ],
)
def test_a45_by_the_mean_a_grader_is_a_gate_only_if_it_says_so(
    tmp_path: Path, rule: str, ref: str, required: list[bool]
) -> None:
    if ref.startswith("{"):
        (tmp_path / "f.yaml").write_text("")
        ref = "silent\n        required: true"
    found = loaded(tmp_path, rule, ref)
    assert [grader.required for grader in found.graders] == required
    assert found.pass_rule.by == ("all" if rule == "all" else "mean")
    assert found.wanted == GoodAnswer(
        "It greets", (TraceMessage("assistant", "Hello, you!"),), sidecar={"lang": "en"}
    )
    assert found.expected is None


def test_a_composite_of_our_own_form_has_its_graders_with_their_places(tmp_path: Path) -> None:
    text = FILE.replace("      - ref: %s\n", "").replace("%s", "all")
    text += """\
      - type: code
        config:
          method: composite
          graders:
            - {type: code, config: {method: contains, all: [hello]}}
            - {type: code, config: {method: contains, all: [hello]}}
            - silent
          aggregator: {type: code_judge, config: {script: [python3, x.py]}, on_error: ignore}
"""
    (tmp_path / "config").mkdir()
    (tmp_path / "config/graders.yaml").write_text(GRADERS)
    (tmp_path / "f.yaml").write_text(text)
    (found,) = load_cases(["f.yaml"], str(tmp_path))
    method: Any = found.graders[2].method
    assert isinstance(method, Composite)
    assert [grader.name for grader in method.graders] == ["contains", "contains-2", "silent"]
    assert [grader.required for grader in method.graders] == [False, False, False]
    assert method.graders[1].at == ("graders", 2, "config", "graders", 1)
    assert (method.on_error, method.judge.name if method.judge else "") == ("ignore", "aggregator")

"""--compare-to: how one run compares with an earlier one, and what the comparison depends on."""

import json
from pathlib import Path
from typing import Any

import pytest
from evalcases import CONFIG, World, case, suite
from evalreports import report, result
from hypothesis import given, strategies as st
from report.reports import metric
from storehelp import write

from baselinekit.commands.project import CaptureEnvironment, Operator, open_project
from baselinekit.commands.recording import keep_report
from baselinekit.errors import BaselinekitError, InvalidInput
from baselinekit.evals.attempts import key_of
from baselinekit.evals.checks import prepare_cases
from baselinekit.evals.earlier import compare_runs, load_earlier
from baselinekit.graders.by_model import ModelJudge, Scoring
from baselinekit.graders.by_schema import BaselineMatch, JsonSchema
from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.kinds.skill import SkillExecution
from baselinekit.model.baselines import Baseline, Known, Rules
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grader
from baselinekit.model.recipes import Answer, HttpRequest, ModelQuestion, Recipe, Scores, Usage
from baselinekit.model.results import CaseChange, Coverage, Report, Result, Share, SuiteFacts
from baselinekit.report import resultfile
from baselinekit.report.blocks import terminal_lines
from baselinekit.report.forms import render_report
from baselinekit.report.sections import earlier_blocks
from baselinekit.report.wording import Style, headline
from baselinekit.structs import replace


def change(now: Result, before: Result, *across: str) -> CaseChange:
    (found,) = compare_runs(report(now), report(before), across).cases
    return found


TOO_FEW = "worse, but with too few attempts to distinguish it from chance"
VERDICTS = [  # before, now, verdict, why
    ("+", "+", "unchanged", ""),
    ("+", "-", "insufficient evidence", TOO_FEW),
    ("+++", "---", "insufficient evidence", TOO_FEW),
    ("++++", "----", "regressed", ""),
    ("-----", "+++++", "improved", ""),
    ("++++++++--", "++--------", "regressed", ""),
    ("+", "!", "insufficient evidence", "passed then, error now"),
    ("?", "+", "insufficient evidence", "unscored then, passed now"),
    ("?", "?", "not comparable", "unscored then, unscored now"),
]


@pytest.mark.parametrize(("before", "now", "verdict", "why"), VERDICTS)
def test_compare_runs_of_a_model_needs_more_than_chance(
    before: str, now: str, verdict: str, why: str
) -> None:
    found = change(result("a", now), result("a", before))
    assert (found.verdict, found.why) == (verdict, why)


PROGRAM = {"kind": "skill", "fingerprint": {"case": "c", "grader": "g"}}


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        ({"kind": "http"}, "regressed"),
        (PROGRAM, "regressed"),
        (PROGRAM | {"usage": Usage(3, 4)}, "insufficient evidence"),
        ({"kind": "skill"}, "insufficient evidence"),  # its fingerprint names a model
        ({"kind": "http", "grader": "model"}, "insufficient evidence"),
        ({"criticality": "critical"}, "regressed"),
    ],
)
def test_compare_runs_of_one_attempt_is_enough_where_no_model_takes_part(
    facts: dict[str, Any], verdict: str
) -> None:
    before = {key: value for key, value in facts.items() if key not in ("usage", "grader")}
    assert change(result("a", "-", **facts), result("a", "+", **before)).verdict == verdict
    assert change(result("a", "-+", retried=1), result("a", "+")).now == Share(0, 1)


ATTEMPTS = st.text("+-", min_size=1, max_size=9)
TURNED = {"regressed": "improved", "improved": "regressed"}


@given(st.lists(st.tuples(ATTEMPTS, ATTEMPTS), min_size=1, max_size=6))
def test_compare_runs_of_what_regressed_one_way_improved_the_other(pairs: list[tuple[str, str]]) -> None:
    before = report(*(result(f"c{n}", item) for n, (item, _) in enumerate(pairs)))
    now = report(*(result(f"c{n}", item) for n, (_, item) in enumerate(pairs)))
    there, back = compare_runs(now, before), compare_runs(before, now)
    assert [case.verdict for case in back.cases] == [TURNED.get(c.verdict, c.verdict) for c in there.cases]
    assert [item.verdict for item in back.metrics] == [
        TURNED.get(m.verdict, m.verdict) for m in there.metrics
    ]
    assert {case.verdict for case in compare_runs(now, now).cases} == {"unchanged"}


@pytest.mark.parametrize("part", ["case", "files", "grader", "model"])
def test_compare_runs_of_a_case_that_depends_on_something_else_is_not_comparable(part: str) -> None:
    parts = {"case": "c", "files": "f", "grader": "g", "model": "m"}
    before = report(result("a", "+", fingerprint=parts))
    now = report(result("a", "-", fingerprint={**parts, part: "another"}))
    found = compare_runs(now, before)
    why = f"it differs in {part}"
    assert (found.cases[0].verdict, found.cases[0].why, found.metrics) == ("not comparable", why, ())
    assert compare_runs(now, before, [part]).cases[0].verdict == "insufficient evidence"
    assert f"--across {part}" in "\n".join(terminal_lines(earlier_blocks(found), Style()))


@pytest.mark.parametrize(("lost", "verdict"), [(5, "insufficient evidence"), (6, "regressed")])
def test_compare_runs_with_five_pairs_that_differ_is_never_enough(lost: int, verdict: str) -> None:
    before = report(*(result(f"c{n}", "+") for n in range(20)))
    now = report(*(result(f"c{n}", "-" if n < lost else "+") for n in range(20)))
    (found,) = compare_runs(now, before).metrics
    assert (found.name, found.verdict, found.lost, found.won) == ("pass@1", verdict, lost, 0)


def test_compare_runs_with_several_attempts_adjusts_three_metrics_together() -> None:
    before = report(*(result(f"c{n}", "+++") for n in range(8)))
    now = report(*(result(f"c{n}", "++-") for n in range(8)))
    at_1, at_3, hat_3 = compare_runs(now, before).metrics
    assert (at_1.name, at_3.name, at_3.verdict, hat_3.name) == ("pass@1", "pass@3", "unchanged", "pass^3")
    assert (hat_3.chance, hat_3.adjusted) == (pytest.approx(0.0078125), pytest.approx(0.0234375))
    assert hat_3.verdict == "regressed"


@pytest.mark.parametrize(
    ("before", "now", "shares", "counts"),
    [
        ("+++++++++-", "-+++++++++", (0.9, 0.9), (0, 0)),
        ("-+++++++++", "+---------", (0.9, 0.1), (1, 0)),
        ("+", "-+++", (1.0, 0.75), (1, 0)),  # judged by one attempt each
    ],
)
def test_compare_runs_pass_at_1_is_the_share_of_attempts_whichever_came_first(
    before: str, now: str, shares: tuple[float, float], counts: tuple[int, int]
) -> None:
    found = compare_runs(report(result("a", now)), report(result("a", before))).metrics[0]
    assert (found.before, found.now) == pytest.approx(shares)
    assert (found.lost, found.won) == counts


def compared(now: Report, before: Report, is_strict: bool = True) -> Report:
    return replace(now, earlier=compare_runs(now, before, (), is_strict))


def test_compare_runs_fails_a_run_only_if_strict() -> None:
    """A suite whose thresholds allow for failures passes, though a case regressed."""
    many = [result(f"c{n}", "+" * 4) for n in range(9)]
    facts = SuiteFacts("s", metrics=(metric("pass rate", 0.9, threshold=0.8),))
    before, now = report(result("a", "++++"), *many), report(result("a", "----"), *many, suite=facts)
    assert (compared(now, before, False).exit_code, compared(now, before).exit_code) == (0, 1)
    assert "regressed: --fail-on-regressed" in headline(compared(now, before))
    other = report(result("b", "+"))
    runs = [compared(report(result("a", "+")), other, is_strict) for is_strict in (True, False)]
    assert [item.exit_code for item in runs] == [3, 0], "nothing could be compared"


def test_compare_runs_is_in_the_result_file_and_comes_back_from_it() -> None:
    before = report(result("a", "++++"), result("b", "+", fingerprint={"case": "x"}), result("old", "+"))
    now = compared(report(result("a", "----"), result("b", "+"), result("new", "+")), before)
    text = render_report(now, "x.json")
    again = resultfile.read(text, "x.json")
    assert (again.earlier, render_report(again, "x.json")) == (now.earlier, text)
    raw = json.loads(text)
    raw["run"]["earlier"]["cases"][0]["verdict"] = "worse"
    with pytest.raises(InvalidInput, match="one of regressed, improved"):
        resultfile.read(json.dumps(raw), "x.json")
    assert "| regressed | `a` | 4/4 -\\> 0/4 | p=0.0286 |" in render_report(now, "x.md")


def test_load_earlier_takes_the_last_complete_run_of_the_same_suite(tmp_path: Path) -> None:
    write(tmp_path, "baselinekit.yaml", "version: 1\n")
    project = open_project(Operator(str(tmp_path)))
    with pytest.raises(InvalidInput, match="no earlier run of 's' is kept here"):
        load_earlier(project, "last", "s")
    runs = [report(result("a", sign), started=f"2026-01-0{n}T00:00:00Z") for n, sign in enumerate("+-", 1)]
    runs.append(report(result("a", "+"), suite=SuiteFacts("other"), started="2026-01-09T00:00:00Z"))
    narrowed = report(result("b", "+"), started="2026-01-03T00:00:00Z")
    runs.append(replace(narrowed, coverage=Coverage({"ids": ["b"]}, 1)))
    runs.append(replace(narrowed, started="2026-01-04T00:00:00Z", interrupted=True))
    for item in runs:
        keep_report(project.root, item)
    found = load_earlier(project, "last", "s")
    assert (found.started, found.results[0].outcome) == ("2026-01-02T00:00:00Z", "failed")
    path = tmp_path / "r.json"
    path.write_text(render_report(report(replace(result("a", "+"), case=None), suite=None), "x.json"))
    with pytest.raises(InvalidInput, match="holds no eval cases"):
        load_earlier(project, str(path), "s")


# What a verdict depends on: the files that a case names, and which judge answered.

PROMPT, ECHO = PromptExecution("prompt"), SkillExecution("skill", "echo")
SCHEMA = Grader("shape", "code", JsonSchema(schema_file="f.yaml"))
POST = HttpRequest("POST", endpoint="/", files={"a": "f.yaml"})
FILES: list[tuple[Any, str, str]] = [
    (case("a", "yes", SCHEMA), "type: string", "type: object"),
    (Recipe(PromptInput("f.yaml"), PROMPT), "- {role: user, content: a}", "- {role: user, content: b}"),
    (Recipe(PromptInput(text="{{a}}", inputs_from="f.yaml"), PROMPT), "a: 1", "a: 2"),
    (Recipe(PromptInput(text="{{a}}", inputs={"a": {"file": "f.yaml"}}), PROMPT), "one", "two"),
    (Recipe({"diff": {"file": "f.yaml"}}, ECHO), "one", "two"),
    (Recipe({"code_diff": "f.yaml"}, ECHO), "one", "two"),  # the configuration calls it a file
    (Recipe(POST, HttpExecution("http", "http://x")), "one", "two"),
    (Recipe("yes", replace(ECHO, scores=Scores("f.yaml"))), "kind: is it?", "kind: is it so?"),
    (Recipe("hi", SkillExecution("skill", "folded")), "Reverse it.", "Shout it."),
]


def keys(root: Path, recipe: Any, *texts: str) -> list[str]:
    """The key of the journal with each of the texts in the file."""
    config = CONFIG.replace("[echo]}", "[echo], files: [code_diff]}, folded: {folder: s}")
    write(root, "baselinekit.yaml", config)
    known = recipe if isinstance(recipe, Case) else replace(case(), recipe=recipe)
    world, found = World(root), []
    for text in texts:
        write(root, "f.yaml", text)
        write(root, "s/SKILL.md", text)
        environment = CaptureEnvironment(world.project(), world.clients())
        prepared = prepare_cases(environment, [known], lambda method: None)
        found.append(key_of(world.project(), "s", prepared, 1, [0]))
    return found


@pytest.mark.parametrize(("recipe", "item", "other"), FILES)
def test_key_of_depends_on_the_files_that_a_case_names(
    tmp_path: Path, recipe: Any, item: str, other: str
) -> None:
    first, second, again = keys(tmp_path, recipe, item, other, item)
    assert first == again != second


def test_key_of_a_case_with_a_file_that_is_gone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BaselinekitError, match=r"gone\.md"):
        keys(tmp_path, Recipe(PromptInput("gone.md"), PROMPT), "")


class Served(World):
    """A world with a judge that names itself."""

    served = "judge-1"

    def ask(self, ask: ModelQuestion) -> Answer:
        nonce = ask.messages[-1].content.rpartition('{"nonce": "')[2][:16]
        return Answer(f'{{"nonce": "{nonce}", "passed": true, "justification": ""}}', served=self.served)


def record(output: str = "yes", **rules: Any) -> Case:
    known = case("r", "yes", Grader("baseline", "code", BaselineMatch()), kind="regression", expected=None)
    environment = {"release": "one", "place": "here", "node": "18"}
    stored = Known(output, environment=environment)
    return replace(known, baseline=Baseline("r", known.recipe, baseline=stored, comparison=Rules(**rules)))


def test_compare_runs_of_two_real_runs_tells_which_part_differs(tmp_path: Path) -> None:
    write(tmp_path, "f.yaml", "type: object")
    world, judge = Served(tmp_path), ModelJudge("is it right?", scoring=Scoring("boolean"))
    shaped, judged = case("a", '{"n": 1}', SCHEMA), case("b", "yes", Grader("judge", "model", judge))
    first = world.run(suite(shaped, judged, record(type="exact")))
    assert first.results[0].case is not None
    assert first.results[0].case.fingerprint.keys() == {"case", "grader", "files"}
    same = compare_runs(world.run(suite(shaped, judged, record(type="exact"))), first)
    assert [item.verdict for item in same.cases] == ["unchanged"] * 3
    write(tmp_path, "f.yaml", "type: integer")
    world.served = "judge-2"
    other = world.run(suite(shaped, judged, record(type="structural")))
    why = ["it differs in files", "it differs in judge", "it differs in grader"]
    assert [item.why for item in compare_runs(other, first).cases] == why
    assert compare_runs(other, first, ["judge"]).cases[1].verdict == "unchanged"


def test_run_with_failed_record_tells_how_the_environment_differs_from_the_capture(tmp_path: Path) -> None:
    write(tmp_path, "baselinekit.yaml", CONFIG + "environment: {release: two, place: here}\n")
    failed, passed = (World(tmp_path).one(record(output, type="exact")) for output in ("no", "yes"))
    assert failed.environment_drift == {"release": ("one", "two")}
    assert passed.environment_drift == {}, "nothing is to be explained"

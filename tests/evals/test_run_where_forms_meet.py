"""What is decided once for all forms of eval files: scales, braces, paths, models, outcomes, exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest
from evalcases import EXACT, World, case
from evalreports import report, result
from report.reports import metric
from storehelp import EXAMPLES, write

from baselinekit.errors import BaselinekitError
from baselinekit.evals.gating import judge
from baselinekit.graders.base import combine_grades
from baselinekit.graders.by_model import ModelJudge, Scoring
from baselinekit.graders.by_schema import JsonSchema
from baselinekit.model.evals import Gate
from baselinekit.model.grades import Evaluators, FunctionOutput, Grade, Grader, HumanRating
from baselinekit.model.recipes import Answer, ModelQuestion
from baselinekit.model.results import SuiteFacts
from baselinekit.structs import replace
from baselinekit.suites.loading import load_cases, load_evals


class Judged(World):
    """A world with a judge that replies what the test states, and repeats its nonce."""

    verdict: Any = None

    def ask(self, ask: ModelQuestion) -> Answer:
        self.asked.append(ask)
        nonce = ask.messages[-1].content.rpartition('{"nonce": "')[2][:16]
        return Answer(json.dumps({"nonce": nonce, **self.verdict, "justification": ""}))


def scores(number: float, passed: bool = False) -> dict[str, Any]:
    return {"scores": {"overall": number}, "overall_score": number, "passed": passed, "specific_feedback": []}


CATEGORIES = Scoring("categorical", categories=["good", "poor"], passing=["good"])


@pytest.mark.parametrize(
    ("scoring", "verdict", "score", "raw"),
    [
        (Scoring(), scores(1), 0.0, 1),
        (Scoring(), scores(5, True), 1.0, 5),
        (Scoring(), scores(4, True), 0.75, 4),
        (Scoring(range=[0, 5]), scores(1), 0.2, 1),
        (Scoring("boolean"), {"passed": True}, 1.0, None),
        (CATEGORIES, {"category": "good"}, 1.0, "good"),
        (CATEGORIES, {"category": "poor"}, 0.0, "poor"),
    ],
)
def test_x1_score_is_its_share_of_the_range(
    tmp_path: Path, scoring: Scoring, verdict: dict[str, Any], score: float, raw: Any
) -> None:
    world = Judged(tmp_path)
    world.verdict = verdict
    found = world.one(case("a", "yes", Grader("judge", "model", ModelJudge("good?", scoring=scoring)))).case
    assert found is not None
    details = found.attempts[0].grades[0].details
    assert found.score == pytest.approx(score)
    assert details.get("category", details.get("scores", {}).get("overall")) == raw


BRACES = "{input} {output} {{name}} {{any_uuid}} {NAME} ${{ NAME }} {phase_id}"
CONFIG = (
    "skills: {echo: {command: [echo]}}\nmodels: {judge: {command: [j]}, claude-3-5-sonnet: {command: [m]}}\n"
)


def test_x4_braces_of_other_kinds_are_not_expanded(tmp_path: Path) -> None:
    write(tmp_path, "baselinekit.yaml", CONFIG)
    world = Judged(tmp_path)
    world.verdict = {"passed": True}
    write(tmp_path, "in.txt", BRACES)
    text = "id: a\ninput: {type: file, content: in.txt}\nexecution: {type: skill, skill_name: echo}\n"
    text += "grader: {type: model, config: {rubric: 'is {output} right?', scoring: {type: boolean}}}\n"
    (known,) = load_cases([write(tmp_path, "f.yaml", text)], str(tmp_path))
    assert world.one(known).outcome == "passed"
    assert world.calls == [BRACES], "what is in a file is data"
    shown = world.asked[0].messages[-1].content
    assert shown.count(BRACES) == 2, "as the input and as the output"
    assert "is {output} right?" in shown, "a rubric is no template"


def test_x4_variable_is_expanded_once_and_judges_get_no_secret(tmp_path: Path) -> None:
    variables = "variables: {a: 'is {{b}}', b: no, c: '{output}', token: {value: hush-4711, secret: true}}\n"
    write(tmp_path, "baselinekit.yaml", CONFIG + variables)
    world = Judged(tmp_path, lambda given, turn: "yes")
    world.verdict = {"passed": True}
    right = Grader("judge", "model", ModelJudge("right?", scoring=Scoring("boolean")))
    assert world.one(case("a", "{{a}} \\{{b}} {{c}} {{token}}", right)).outcome == "passed"
    assert world.calls == ["is {{b}} {{b}} {output} hush-4711"]
    shown = world.asked[0].messages[-1].content
    assert "is {{b}} {{b}} {output} " in shown
    assert "4711" not in shown


def test_x5_paths_begin_at_the_file_with_them(tmp_path: Path) -> None:
    write(tmp_path, "evals/deep/in.txt", "here")
    write(tmp_path, "in.txt", "not here")
    write(tmp_path, "evals/deep/s.json", '{"type": "object"}')
    text = "id: a\ninput: {type: file, content: in.txt}\nexpected: {value: y}\n"
    text += "grader: {type: code, config: {method: json_schema, schema_file: s.json}}\n"
    write(tmp_path, "evals/deep/f.yaml", text)
    write(tmp_path, "evals/suite.yaml", "eval_suite: {name: s, evals: [{$ref: deep/f.yaml}]}")
    (known,) = load_evals(["evals/suite.yaml"], str(tmp_path)).cases
    assert known.recipe.input.text == "here"
    echo = replace(known, recipe=case("a", '{"n": 1}').recipe)
    assert World(tmp_path).one(echo).outcome == "passed"
    write(tmp_path, "out.json", "{}")
    for path in ("../../out.json", "/etc/hostname"):
        known = case("a", "yes", Grader("s", "code", JsonSchema(schema_file=path)))
        (tmp_path / "project").mkdir(exist_ok=True)
        with pytest.raises(BaselinekitError, match=r"BK404|BK111"):
            World(tmp_path / "project").one(known)


def test_x6_default_times() -> None:
    assert (FunctionOutput("f").timeout_per_case, HumanRating().time_limit_minutes) == (5, None)
    assert Evaluators() == Evaluators(2, 5, 0.8)


def grade(outcome: Any, verdict: str | None = None, required: bool = True) -> Grade:
    score = {"passed": 1.0, "failed": 0.0}.get(outcome)
    return Grade("g", "code", outcome, score, "why", verdict, required=required)


PASSED, FAILED, ERROR, PENDING = (
    grade("passed"),
    grade("failed"),
    grade("error"),
    grade("unscored", "pending"),
)


@pytest.mark.parametrize(
    ("grades", "outcome", "score", "verdict"),
    [
        ([PASSED, PASSED], "passed", 1.0, None),
        ([PASSED, FAILED], "failed", 0.5, None),
        ([PASSED, ERROR], "error", None, None),
        ([FAILED, ERROR], "failed", None, None),
        ([PASSED, PENDING], "unscored", None, "pending"),
        ([FAILED, PENDING], "failed", None, None),
        ([ERROR, PENDING], "error", None, None),
        ([PASSED, grade("failed", required=False)], "passed", 0.5, None),
    ],
)
def test_h34_x7_combine_grades_gives_outcome_and_score(
    grades: list[Grade], outcome: str, score: float | None, verdict: str | None
) -> None:
    found = combine_grades(grades)
    assert (found[0], found[1], found[3]) == (outcome, score, verdict)


@pytest.mark.parametrize("reply", ["SCORE=5 REASON=good", '{"passed": true}'])
def test_x7_judge_with_an_unreadable_reply_is_an_error(tmp_path: Path, reply: str) -> None:
    world = World(tmp_path)
    world.reply = reply
    found = world.one(case("a", "yes", EXACT, Grader("judge", "model", ModelJudge("good?"))))
    assert (found.outcome, found.code, found.case and found.case.score) == ("error", "BK640", None)


def test_x9_model_of_a_document_is_looked_up_in_the_configuration(tmp_path: Path) -> None:
    write(tmp_path, "baselinekit.yaml", CONFIG)
    spec = "PostgreSQL 14+ /api/v1/users DATABASE_URL environment variable"
    write(tmp_path, "path/to/technical-spec.md", spec)
    write(tmp_path, "f.yaml", (EXAMPLES / "capability-semantic.yaml").read_text())
    (known,) = load_cases(["f.yaml"], str(tmp_path))
    world = Judged(tmp_path)
    world.verdict = {**scores(5, True), "scores": dict.fromkeys(("completeness", "accuracy", "relevance"), 5)}
    asked = case("a", known.recipe.input.text.replace("\\{{", "{{")).recipe
    found = world.one(replace(known, recipe=asked))
    assert (found.outcome, [ask.model for ask in world.asked]) == ("passed", ["claude-3-5-sonnet"])


ONE_OF_EACH = {"+": 0, "-": 1, "!": 3, "?": 3, "+-": 1, "+!": 3, "-!": 1}


@pytest.mark.parametrize("signs", ONE_OF_EACH)
def test_x11_exit_code_of_a_run_and_of_a_gate(signs: str) -> None:
    found = report(*(result(f"c{n}", sign) for n, sign in enumerate(signs)))
    assert found.exit_code == ONE_OF_EACH[signs]
    of_gate = 1 if signs in "!?" else ONE_OF_EACH[signs]  # of nothing decided there is no rate
    assert judge(Gate("g", {"pass rate": 1.0}), found).exit_code == of_gate
    assert judge(Gate("g", {"pass rate": 1.0}, blocking=False), found).exit_code == 0


@pytest.mark.parametrize(
    ("more", "exit_code"),
    [
        ({"complete": False}, 3),
        ({"complete": False, "interrupted": True}, 130),
        ({"not_recorded": ("r",)}, 3),
        ({"suite": SuiteFacts("s", metrics=(metric("pass@3", None, threshold=0.5, why="few"),))}, 3),
        ({"suite": SuiteFacts("s", metrics=(metric("pass@1", 0.4, threshold=0.5),))}, 1),
        ({"suite": SuiteFacts("s", metrics=(metric("pass@1", 0.5, threshold=0.5),))}, 0),
    ],
)
def test_x11_h66_exit_code_of_incomplete_runs_and_metrics(more: dict[str, Any], exit_code: int) -> None:
    assert report(result("a", "+"), **more).exit_code == exit_code
    assert report().exit_code == 5
    assert report(replace(result("a", "!"), verdict="refused"), result("b", "-")).exit_code == 4

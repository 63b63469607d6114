"""What waits for people: into the queue by a run, out of it by ratings, and a result file finished later."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest
from report.reports import metric

from baselinekit.commands.project import Operator, open_project
from baselinekit.errors import InvalidInput, NothingSelected
from baselinekit.evals import rating
from baselinekit.evals.finishing import finish
from baselinekit.evals.rating import Queue, sheet
from baselinekit.graders.graders import problems_of
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.model.evals import Case
from baselinekit.model.grades import Attempt, Evaluators, Grade, Grader, HumanRating, Rating, RatingScale
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.results import CaseFacts, Report, Result, SuiteFacts
from baselinekit.report.forms.table import render_report
from baselinekit.report.resultfile import read
from baselinekit.structs import replace
from baselinekit.suites.dialects.graders import GraderContext, read as read_grader
from baselinekit.suites.loading import load_cases
from baselinekit.suites.ratings import FILE, Ratings

RECIPE = Recipe(PromptInput(text="Greet them"), PromptExecution("prompt"))


def people(blind: bool = False, scale: RatingScale | None = None, **more: Any) -> Grader:
    how = HumanRating(
        evaluators=Evaluators(2, 3, 0.8),
        rating_scale=scale or RatingScale(),
        blind_evaluation=blind,
        **more,
    )
    return Grader("people", "human", how)


def case(grader: Grader, id: str = "greeting") -> Case:
    return Case(id, RECIPE, (grader,))


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    (tmp_path / "baselinekit.yaml").write_text("version: 1\n")
    ticks = count(1_700_000_000)
    operator = Operator(str(tmp_path), secrets={"token": "hunter2hunter2"})
    return Queue(open_project(operator), lambda: float(next(ticks)))


def said(output: Any = "Hello") -> Observation:
    return Observation(output, 0.1, environment={"model": "gpt-best"})


def rated(queue: Queue, values: dict[str, Any], wanted: str = "greeting") -> None:
    for rater, value in values.items():
        item = queue.standings([wanted])[0].queued.item
        queue.rate(item, Rating(rater, value, queue.stamp()))


def test_h42_a_run_does_not_wait_and_the_next_one_picks_up_what_was_said(queue: Queue) -> None:
    grader = people()
    of = case(grader)
    assert queue.rated(of, grader, said()).verdict == "pending"
    rated(queue, {"ada": 4, "bob": 5})
    grade = queue.rated(of, grader, said())
    assert (grade.outcome, grade.score) == ("passed", 0.875)
    assert queue.rated(of, grader, said("Good day")).verdict == "pending"  # a changed output, a new item
    assert len(queue.standings()) == 2


def test_h40_a_blind_evaluation_hides_the_model_and_what_others_said(queue: Queue) -> None:
    for blind in (False, True):
        grader = people(blind)
        id = "blind" if blind else "open"
        queue.rated(case(grader, id), grader, said())
        rated(queue, {"ada": 4}, id)
        shown = sheet(queue.standings([id])[0])
        assert (shown.about == {}) == blind
        assert (shown.said == ()) == blind
        form = rating.form_for(queue.waiting([id], "bob"), "bob", "form.yaml")
        assert ("gpt-best" in form) != blind
        assert "ada" not in form
        assert "Hello" in form


def test_no_secret_reaches_the_queue(queue: Queue) -> None:
    grader = people(rubric="send hunter2hunter2?")
    queue.rated(case(grader), grader, said({"password": "correct-horse-battery", "text": "hunter2hunter2"}))
    item = queue.standings()[0].queued.item
    queue.rate(item, Rating("ada", 4, queue.stamp(), "it says hunter2hunter2 and sk-ant-" + "a1B2" * 20))
    kept = (Path(queue.project.root) / FILE).read_bytes()
    for secret in (b"hunter2", b"correct-horse", b"a1B2a1B2"):
        assert secret not in kept


def test_a_queue_that_cannot_be_written_leaves_the_case_pending(queue: Queue) -> None:
    (Path(queue.project.root) / ".baselinekit").write_text("a file is in the way")
    grader = people()
    grade = queue.rated(case(grader), grader, said())
    assert (grade.outcome, grade.verdict) == ("unscored", "pending")
    assert "could not be queued" in grade.reason


def test_items_are_found_by_case_pattern_and_key(queue: Queue) -> None:
    grader = people()
    for id in ("tone/a", "tone/b", "other"):
        queue.rated(case(grader, id), grader, said())
    key = queue.standings(["other"])[0].queued.item.key
    assert [one.queued.item.case for one in queue.standings(["tone/*"])] == ["tone/a", "tone/b"]
    assert queue.standings([key[:8]])[0].queued.item.case == "other"
    with pytest.raises(NothingSelected, match="did you mean 'other'"):
        queue.standings(["othr"])


def test_what_somebody_rated_or_is_settled_does_not_wait_for_them(queue: Queue) -> None:
    grader = people()
    for id in ("a", "b"):
        queue.rated(case(grader, id), grader, said())
    rated(queue, {"ada": 4}, "a")
    assert [one.queued.item.case for one in queue.waiting([], "Ada")] == ["b"]
    assert [one.queued.item.case for one in queue.waiting([], "bob")] == ["a", "b"]
    rated(queue, {"bob": 4}, "a")
    assert [one.queued.item.case for one in queue.waiting([], "carol")] == ["b"]
    rated(queue, {"x": 1, "y": 5, "z": 3}, "b")
    assert queue.waiting([], "carol") == []  # disputed, and no more are allowed


@pytest.mark.parametrize("name", ["", "  ", "a\x1b[31m", "x" * 101])
def test_a_rater_has_a_name_that_can_be_shown(queue: Queue, name: str) -> None:
    grader = people()
    queue.rated(case(grader), grader, said())
    with pytest.raises(InvalidInput):
        rated(queue, {name: 4})


@pytest.mark.parametrize("name", ["all.yaml", "all.json"])
def test_h43_what_is_exported_comes_back_as_it_was(queue: Queue, tmp_path: Path, name: str) -> None:
    labelled = RatingScale(labels={1: "Poor", 5: "Best"}, criteria=["a", "b"])
    for id, scale, value in (
        ("criteria", labelled, [4, 5]),
        ("yes", RatingScale("binary"), True),
        ("order", RatingScale("ranking", tie_allowed=True), [2, [1, 3]]),
    ):
        grader = people(scale=scale, slots={})
        queue.rated(case(grader, id), grader, said(["x", "y\n", {"deep": [None, 1.5]}]))
        rated(queue, {"ada": value}, id)
    text = rating.export_ratings(queue.standings(), name)
    other = tmp_path / "other"
    other.mkdir()
    (other / "baselinekit.yaml").write_text("version: 1\n")
    elsewhere = Queue(open_project(Operator(str(other))), queue.now)
    done = rating.import_ratings(elsewhere, text, name)
    assert (done.items, done.ratings, done.known) == (3, 3, 0)
    assert Ratings(str(other)).all() == queue.ratings.all()
    assert rating.import_ratings(elsewhere, text, name).known == 3


def test_agreement_beyond_chance_is_told_by_grader(queue: Queue) -> None:
    grader = people(scale=RatingScale("binary"))
    for id, ada, bob in (("a", True, True), ("b", False, False), ("c", True, False), ("d", True, True)):
        queue.rated(case(grader, id), grader, said())
        rated(queue, {"ada": ada, "bob": bob}, id)
    assert queue.agreements(queue.standings()) == [
        {
            "grader": "people",
            "items": 4,
            "raters": 2,
            "Krippendorff's alpha (nominal)": 0.5333,
            "Cohen's kappa": 0.5,
        }
    ]


def _report(*grades: Grade) -> Report:
    attempt = Attempt(1, "unscored", None, grades, "waits", verdict="pending")
    facts = CaseFacts("capability", (attempt,))
    result = Result(
        "greeting", "evals/a.yaml", 1, "prompt", "unscored", "waits", verdict="pending", case=facts
    )
    suite = SuiteFacts("s", metrics=(metric("pass rate", None, threshold=0.5, why="nothing decided"),))
    return Report("r", "2026-01-01T00:00:00Z", 1.0, "baselinekit", "run", (result,), suite=suite)


@pytest.mark.parametrize(
    ("values", "others", "outcome", "exit_code"),
    [
        ({}, [], "unscored", 3),
        ({"ada": 4}, [], "unscored", 3),
        ({"ada": 4, "bob": 4}, [], "passed", 0),
        ({"ada": 1, "bob": 1}, [], "failed", 1),
        ({"ada": 4, "bob": 4}, [Grade("exact", "code", "failed", 0.0, "no")], "failed", 1),
        ({"ada": 4, "bob": 4}, [Grade("judge", "model", "error", None, "no reply")], "error", 3),
    ],
)
def test_h43_a_result_file_is_finished_by_what_was_said_since(
    queue: Queue, values: dict[str, int], others: list[Grade], outcome: str, exit_code: int
) -> None:
    grader = people()
    pending = queue.rated(case(grader), grader, said())
    report = read(render_report(_report(pending, *others), "r.json"), "r.json")
    rated(queue, values)
    done = finish(report, queue)
    result = done.report.results[0]
    assert result.outcome == outcome
    assert done.decided == (outcome != "unscored")
    assert done.left == (outcome == "unscored")
    assert done.report.exit_code == exit_code
    assert read(render_report(done.report, "r.json"), "r.json").results[0].outcome == outcome
    assert finish(done.report, queue).report == done.report


def test_a_result_that_waits_for_nobody_we_know_stays_as_it_is(queue: Queue) -> None:
    lost = Grade("people", "human", "unscored", None, "waits", "pending", {"item": "feedfeedfeedfeed"})
    report = replace(_report(lost), suite=None)
    assert finish(report, queue).report == report


AS_DOCUMENTED = """\
type: human
config:
  interface: "web"
  evaluators:
    min_required: 2
    max_allowed: 5
    agreement_threshold: 0.8
  rating_scale:
    type: "likert"
    range: [1, 5]
    labels:
      1: "Poor"
      2: "Below Average"
      3: "Average"
      4: "Good"
      5: "Excellent"
  rubric: |
    You are evaluating {task_description}.
    ### 2. {criterion_2_name}
    ...
    - If unsure, err on the side of {conservative/generous}
  time_limit_minutes: 10
  blind_evaluation: true
"""


def test_h40_a_grader_as_it_is_documented_is_read_and_asked(queue: Queue, tmp_path: Path) -> None:
    file = tmp_path / "case.yaml"
    stated = "".join(f"  {line}\n" for line in AS_DOCUMENTED.splitlines())
    file.write_text(f"id: greeting\ninput: {{type: prompt, content: Greet them}}\ngrader:\n{stated}")
    (of,) = load_cases(["case.yaml"], str(tmp_path))
    assert queue.rated(of, of.graders[0], said()).verdict == "pending"
    (standing,) = queue.standings()
    shown = sheet(standing)
    assert shown.choices == (
        ("1", "Poor"),
        ("2", "Below Average"),
        ("3", "Average"),
        ("4", "Good"),
        ("5", "Excellent"),
    )
    assert (shown.minutes, shown.about) == (10.0, {})
    assert shown.item.shown.rubric == (
        "You are evaluating greeting.\n...\n- If unsure, err on the side of conservative"
    )


def test_h41_the_documented_scales_are_read(tmp_path: Path) -> None:
    scales = {
        "binary": {
            "type": "binary",
            "options": [
                {"value": True, "label": "Pass", "description": "Output meets requirements"},
                {"value": False, "label": "Fail", "description": "Output does not meet requirements"},
            ],
        },
        "ranking": {
            "type": "ranking",
            "description": "Rank the outputs from best to worst",
            "tie_allowed": False,
            "min_items": 2,
            "max_items": 5,
        },
    }
    for scale in scales.values():
        config = {"rating_scale": scale}
        grader, problems = read_grader({"type": "human", "config": config}, (), GraderContext())
        assert (problems, list(problems_of(grader, case(grader)))) == ([], [])  # type: ignore[arg-type]

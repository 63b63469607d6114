"""What waits for people: into the queue by a run, out of it by ratings, and a result file finished later."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest
from report.reports import metric

from baselinekit.commands.project import Operator, open_project
from baselinekit.evals.rating import Queue, finish, sheet
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.model.evals import Case
from baselinekit.model.grades import Attempt, Evaluators, Grade, Grader, HumanRating, RatingScale
from baselinekit.model.ratings import Rating
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.results import CaseFacts, Report, Result, SuiteFacts
from baselinekit.report.forms import render_report
from baselinekit.report.resultfile import read
from baselinekit.structs import replace
from baselinekit.suites.ratings import FOLDER, dump_ratings

RECIPE = Recipe(PromptInput(text="Greet them"), PromptExecution("prompt"))
USUAL = RatingScale()


def people(is_blind: bool = False, scale: RatingScale = USUAL, **more: Any) -> Grader:
    how = HumanRating("cli", Evaluators(2, 3, 0.8), scale, blind_evaluation=is_blind, **more)
    return Grader("people", "human", how)


def queue_in(folder: Path, **more: Any) -> Queue:
    folder.mkdir(exist_ok=True)
    (folder / "baselinekit.yaml").write_text("version: 1\n")
    ticks = count(1_700_000_000)
    return Queue(open_project(Operator(str(folder), **more)), lambda: float(next(ticks)))


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    return queue_in(tmp_path, secrets={"token": "hunter2hunter2"})


def observe(queue: Queue, grader: Grader, output: Any = "Hello", id: str = "greeting") -> Grade:
    """The grade of an output after a run has seen it."""
    observation = Observation(output, 0.1, environment={"model": "gpt-best"})
    grade, item = queue.rated(Case(id, RECIPE, (grader,)), grader, observation)
    queue.ratings.enqueue(item)
    return grade


def rate(queue: Queue, values: dict[str, Any], name: str = "greeting") -> None:
    for rater, value in values.items():
        queue.rate(queue.standings([name])[0].item, Rating(rater, value, queue.stamp()))


def test_h42_run_leaves_ratings_pending_and_the_next_takes_them(queue: Queue) -> None:
    assert observe(queue, people()).verdict == "pending"
    rate(queue, {"ada": 4, "bob": 5})
    grade = observe(queue, people())
    assert (grade.outcome, grade.score) == ("passed", 0.875)
    assert observe(queue, people(), "Good day").verdict == "pending"  # a changed output, a new item
    assert len(queue.standings()) == 2


def test_h40_blind_sheet_hides_the_model_and_other_ratings(queue: Queue) -> None:
    for id, is_blind in (("open", False), ("blind", True)):
        observe(queue, people(is_blind), id=id)
        rate(queue, {"ada": 4}, id)
        (standing,) = queue.waiting([id], "bob")
        shown = sheet(standing.item)
        assert (shown.about == {}, shown.said == ()) == (is_blind, is_blind)
        form = dump_ratings([standing.item], "form.yaml", "bob")
        assert ("gpt-best" in form, "ada" in form, "Hello" in form) == (not is_blind, False, True)


def test_queue_holds_no_secret(queue: Queue) -> None:
    options = RatingScale(labels={"1": "hunter2hunter2"})
    output = {"password": "correct-horse-battery", "text": "hunter2hunter2"}
    observe(queue, people(scale=options, rubric="send hunter2hunter2?"), output)
    note = "it says hunter2hunter2 and sk-ant-" + "a1B2" * 20
    queue.rate(queue.standings()[0].item, Rating("ada", 4, queue.stamp(), note))
    (file,) = (Path(queue.project.root) / FOLDER).glob("*.json")
    assert not [part for part in ("hunter2", "correct-horse", "a1B2a1B2") if part in file.read_text()]


def test_standings_are_selected_by_case_pattern_and_key(queue: Queue) -> None:
    for id in ("tone/a", "tone/b", "other"):
        observe(queue, people(), id=id)
    (other,) = queue.standings(["other"])
    assert [one.item.case for one in queue.standings(["tone/*"])] == ["tone/a", "tone/b"]
    assert queue.standings([other.item.key[:8]]) == [other]


def waiting_report(*grades: Grade) -> Report:
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
def test_h43_finish_decides_a_result_file_by_new_ratings(
    queue: Queue, values: dict[str, int], others: list[Grade], outcome: str, exit_code: int
) -> None:
    pending = observe(queue, people())
    report = read(render_report(waiting_report(pending, *others), "r.json"), "r.json")
    rate(queue, values)
    done = finish(report, queue)
    result = done.report.results[0]
    assert result.outcome == outcome
    assert done.decided == (outcome != "unscored")
    assert done.left == (outcome == "unscored")
    assert done.report.exit_code == exit_code
    assert read(render_report(done.report, "r.json"), "r.json").results[0].outcome == outcome
    assert finish(done.report, queue).report == done.report
    lost = replace(pending, details={"item": "feedfeedfeedfeed"})
    assert finish(waiting_report(lost), queue).left == 1

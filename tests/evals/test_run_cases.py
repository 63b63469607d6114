"""Eval cases run: attempts, retries, time limits, order, and what is kept apart."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from evalcases import EXACT, World, case, metric, outcomes, passes_at, suite, tried

from baselinekit.errors import InvalidInput, OutOfBudget, Problem, Refused
from baselinekit.evals.attempts import EvalClients
from baselinekit.evals.run import RunPolicy, plan_cases
from baselinekit.evals.selection import Choice
from baselinekit.graders.by_model import ModelJudge
from baselinekit.graders.by_schema import JsonSchema
from baselinekit.graders.by_text import RegexMatch
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.kinds.skill import SkillExecution
from baselinekit.metrics import RATE
from baselinekit.model.grades import Call, FunctionOutput, Grader
from baselinekit.model.recipes import Answer, ModelQuestion, Recipe
from baselinekit.model.traces import ToolCall
from baselinekit.structs import replace

JUDGE = Grader("judge", "model", ModelJudge("is it kind?"))
CALLS = Grader("calls", "code", FunctionOutput("f", [Call(4, [2])]))
ASKING = Recipe(PromptInput(text="Hi"), PromptExecution("prompt"))


def test_h62_run_with_a_retry_that_passes_is_flaky(tmp_path: Path) -> None:
    report = World(tmp_path, passes_at(2)).run(suite(case(retries=2)))
    (result,) = report.results
    assert (result.outcome, result.verdict, tried(result)) == ("passed", "flaky", ["failed", "passed"])
    assert (metric(report, "pass@1"), metric(report, RATE), report.exit_code) == (0.0, 1.0, 0)
    assert "passed at attempt 2" in result.notes[0]


@pytest.mark.parametrize(
    ("passes", "retries", "attempts", "outcome", "verdict", "made"),
    [
        (9, 2, None, "failed", None, 3),
        (1, 3, None, "passed", None, 1),
        (1, 5, 4, "passed", None, 4),  # of several attempts all have to pass, and none is tried again
        (3, 5, 4, "failed", "flaky", 4),
    ],
)
def test_h62_run_makes_retries_and_attempts(
    tmp_path: Path, passes: int, retries: int, attempts: int, outcome: str, verdict: str, made: int
) -> None:
    world = World(tmp_path, passes_at(passes))
    result = world.one(case(retries=retries), attempts=attempts, jobs=1)
    assert (result.outcome, result.verdict, len(tried(result)), len(world.calls)) == (
        outcome,
        verdict,
        made,
        made,
    )
    assert result.case is not None
    assert result.case.retried == (0 if attempts else made - 1)


def test_run_with_judge_asks_each_attempt_anew_and_once_more_if_it_cannot_be_read(tmp_path: Path) -> None:
    world = World(tmp_path)
    once = Grader("judge", "model", ModelJudge("is it kind?", retries_on_unreadable=0))
    world.run(suite(case("a", "yes", once)), attempts=3)
    assert sorted(ask.turn for ask in world.asked) == [0, 1000, 2000]
    other = World(tmp_path)
    result = other.one(case("a", "yes", JUDGE))
    assert (len(other.asked), len(other.calls), other.asked[0].turn) == (2, 1, other.asked[1].turn)
    assert other.asked[0].messages != other.asked[1].messages  # so that a recording keeps both
    assert (result.outcome, result.case and result.case.score) == ("error", None)


def test_h62_run_counts_tries_of_a_client_apart(tmp_path: Path) -> None:
    class Served(World):
        def ask(self, ask: ModelQuestion) -> Answer:
            return Answer("yes", (ToolCall("find", {}),), attempts=3)

    result = Served(tmp_path).one(replace(case(retries=2), recipe=ASKING))
    assert (result.outcome, tried(result)) == ("passed", ["passed"])  # the text is graded, not the call
    assert result.case is not None
    assert result.case.attempts[0].again == 2


def test_h63_run_checks_everything_before_it_asks_anything(tmp_path: Path) -> None:
    def refused(method: FunctionOutput) -> None:
        raise Refused(Problem("BK406", "there is no sandbox", "install one"))

    world = World(tmp_path)
    asking = Recipe(PromptInput(text="say {{nope}}"), PromptExecution("prompt"))
    broken = [
        case("a", "yes", Grader("g", "code", RegexMatch("("))),
        case("b", "yes", Grader("g", "code", FunctionOutput("f"))),
        case("c", "yes", Grader("g", "code", JsonSchema({"type": "nothing"}))),
        case("d", "yes", Grader("g", "code", JsonSchema(schema_file="nowhere.json"))),
        replace(case("e"), recipe=Recipe("yes", SkillExecution("skill", "x"))),
        replace(case("f"), recipe=asking),
    ]
    with pytest.raises(InvalidInput) as error:
        world.run(suite(case("fine"), *broken))
    codes = ["BK214", "BK702", "BK702", "BK111", "BK324", "BK350"]
    assert [problem.code for problem in error.value.problems] == codes
    assert [problem.place.file for problem in error.value.problems if problem.place] == list("abcdef")
    assert error.value.problems[-1].message == "the template uses {{nope}}, which is not an input"
    with pytest.raises(Refused, match="BK406 b: there is no sandbox"):
        world.run(suite(case("a"), case("b", "", CALLS)), outside=EvalClients(check=refused))
    assert world.calls == []


class Crowd:
    """Counts how many are there at once. The first ones leave when as many are there as are `awaited`."""

    def __init__(self, awaited: int) -> None:
        self.now, self.most, self.alone = 0, 0, True
        self._awaited = awaited
        self._changed = threading.Condition()

    def __call__(self, given: Any, turn: int) -> str:
        with self._changed:
            self.now += 1
            self.most = max(self.most, self.now)
            self.alone = self.alone and (given != "alone" or self.now == 1)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self.most >= self._awaited, 20)
        time.sleep(0.01)
        with self._changed:
            self.now -= 1
        return "yes"


@pytest.mark.parametrize(
    ("config", "jobs", "most"),
    [({"parallel_execution": False}, 8, 1), ({"max_workers": 2}, None, 2), ({"max_workers": 2}, 4, 4)],
)
def test_h63_run_with_workers_runs_as_many_at_once(
    tmp_path: Path, config: dict[str, Any], jobs: int | None, most: int
) -> None:
    crowd = Crowd(most)
    World(tmp_path, crowd).run(suite(*(case(f"c{n}", n) for n in range(12)), **config), jobs=jobs)
    assert crowd.most == most


def test_h63_run_keeps_the_order_of_the_cases(tmp_path: Path) -> None:
    crowd = Crowd(2)
    cases = [case(f"c{n}", "alone" if n == 3 else n, parallel=n != 3) for n in range(8)]
    report = World(tmp_path, crowd).run(suite(*cases), jobs=4)
    assert (crowd.alone, crowd.most > 1) == (True, True)
    assert [result.id for result in report.results] == [f"c{n}" for n in range(8)]


def test_h61_run_beyond_the_time_of_its_suite_keeps_what_finished(tmp_path: Path) -> None:
    world = World(tmp_path)

    def slow(given: Any, turn: int) -> str:
        assert given < 2 or world.cancelled.wait(20)
        return "yes"

    world.answers = slow
    report = world.run(suite(*(case(f"c{n}", n) for n in range(6)), timeout_global=0.5), jobs=1)
    assert list(outcomes(report).values()) == ["passed"] * 2 + ["skipped"] * 4
    assert report.results[5].reason == "not run: the time limit of the suite was reached"
    assert (report.complete, report.interrupted, report.exit_code) == (False, False, 3)


def test_h61_case_has_the_shorter_of_two_limits(tmp_path: Path) -> None:
    world = World(tmp_path)
    own = Recipe("yes", SkillExecution("skill", "echo", timeout=3))
    world.run(suite(case("a", timeout=7), replace(case("b", timeout=7), recipe=own)), jobs=1)
    assert world.limits == [pytest.approx(7, abs=0.01), 3]
    world.one(case("a", "yes", JUDGE, timeout=5))
    assert 4 < (world.asked[0].timeout or 0) < 5
    result = world.one(case("b", "yes", JUDGE, timeout=0.0005))
    assert (result.outcome, result.code) == ("error", "BK722")


def test_run_with_first_begins_nothing_after_a_failure_and_the_others_can_go_on(tmp_path: Path) -> None:
    cases = suite(case("a"), case("b", "no", retries=1), case("c"), case("d", parallel=False))
    world = World(tmp_path)
    report = world.run(cases, first=True, jobs=1)
    assert outcomes(report) == {"a": "passed", "b": "failed", "c": "skipped", "d": "skipped"}
    assert "(-x)" in report.results[2].reason
    assert (report.complete, report.exit_code) == (False, 1)
    count = len(world.calls)
    assert outcomes(world.run(cases, resume=True))["d"] == "passed"
    assert len(world.calls) == count + 2, "what was finished is not asked again"


def test_plan_cases_counts_questions_and_asks_none(tmp_path: Path) -> None:
    judge = Grader("judge", "model", ModelJudge("is it kind?", samples=3))
    cases = suite(case("a", "yes", EXACT, judge), case("b", skip="not now"), case("c", name="x"), attempts=2)
    world, chosen = World(tmp_path), Choice(ids=["[ab]"])
    found = plan_cases(world.project(), cases, chosen, RunPolicy(), world.clients(), lambda method: None)
    assert [(one.case.id, one.attempts, one.calls) for one in found] == [("a", 2, 6), ("b", 0, 0)]
    assert (world.calls, world.asked) == ([], [])


@pytest.mark.parametrize(
    ("passing", "thresholds", "exit_code"),
    [(9, {}, 1), (9, {RATE: 0.9}, 0), (8, {RATE: 0.9}, 1), (10, {"pass@1": 1}, 0)],
)
def test_x11_run_with_thresholds_lets_cases_fail_and_no_regression(
    tmp_path: Path, passing: int, thresholds: dict[str, float], exit_code: int
) -> None:
    cases = [case(f"c{n}", "yes" if n < passing else "no") for n in range(10)]
    assert World(tmp_path).run(suite(*cases), thresholds=thresholds).exit_code == exit_code
    regression = case("r", "no", kind="regression")
    assert World(tmp_path).run(suite(*cases, regression), thresholds=thresholds).exit_code == 1


def test_run_with_internal_error_is_an_error_of_that_case_alone(tmp_path: Path) -> None:
    class Broken(World):
        def check(self, name: str) -> None:
            raise RuntimeError("before anything is asked")

    def answers(given: Any, turn: int) -> str:
        if given == "no":
            raise RuntimeError("while it is asked")
        return "yes"

    report = Broken(tmp_path, answers).run(suite(case("a", "no"), case("b"), case("c", "yes", JUDGE)))
    assert outcomes(report) == {"a": "error", "b": "passed", "c": "error"}
    assert [report.results[number].code for number in (0, 2)] == ["BK399", "BK399"]


def test_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    first, second, third = (World(tmp_path, lambda given, turn: "yes") for _ in range(3))

    def stops(given: Any, turn: int) -> str:
        if given == 5:
            first.stop.ask()
        return "yes"

    first.answers = stops
    cases = suite(*(case(f"c{n}", n) for n in range(40)))
    stopped = first.run(cases, jobs=1, attempts=2)
    assert (stopped.interrupted, stopped.exit_code) == (True, 130)
    assert stopped.summary.passed >= 4
    assert stopped.summary.skipped >= 30
    report = second.run(cases, jobs=1, attempts=2, resume=True)
    assert (report.summary.passed, report.complete, report.exit_code) == (40, True, 0)
    assert len(first.calls) + len(second.calls) == 80
    again = third.run(cases, jobs=1, attempts=2, resume=True)
    assert "there was nothing to resume: everything is run again" in again.warnings
    assert len(third.calls) == 80


def test_run_with_used_up_budget_gives_no_verdict_and_can_be_resumed(tmp_path: Path) -> None:
    cases = suite(case("a", "no"), case("b", "yes", EXACT, JUDGE), case("c", "no", EXACT, JUDGE))
    world = World(tmp_path)
    world.refusal = OutOfBudget(Problem("BK620", "the limit of 1 call is reached", "raise --max-calls"))
    report = world.run(cases, jobs=1)
    assert outcomes(report) == {"a": "failed", "b": "skipped", "c": "skipped"}
    assert (report.complete, report.results[1].code) == (False, "BK620")
    later = World(tmp_path)
    later.run(cases, jobs=1, resume=True)
    assert later.calls == ["yes", "no"], "what was judged is not asked again"

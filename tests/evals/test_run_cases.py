"""Eval cases run: attempts, retries, time limits, order, and what is kept apart."""

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from evalcases import EXACT, World, case, metric, outcomes, passes_at, suite, tried

from baselinekit.clients.models.dispatch import Models
from baselinekit.clients.models.post import World as ModelWorld
from baselinekit.errors import InvalidInput, NothingSelected, OutOfBudget, Problem, Refused, cannot_replay
from baselinekit.evals.attempts import EvalClients
from baselinekit.evals.gating import RATE
from baselinekit.evals.run import RunPolicy, plan_cases
from baselinekit.evals.selection import Choice
from baselinekit.graders.by_matcher import StructuralMatch
from baselinekit.graders.by_model import ModelJudge
from baselinekit.graders.by_schema import JsonSchema
from baselinekit.graders.by_text import Contains, RegexMatch
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.kinds.settings import Clients
from baselinekit.kinds.skill import SkillExecution
from baselinekit.model.evals import Expected
from baselinekit.model.grades import Call, FunctionOutput, Grader, HumanRating
from baselinekit.model.recipes import (
    Answer,
    CallResult,
    Limits,
    Model,
    ModelQuestion,
    Recipe,
    Request,
    Response,
    SandboxResult,
)
from baselinekit.model.traces import ToolCall
from baselinekit.structs import replace


def test_what_passes_and_what_fails_is_told_with_its_score(tmp_path: Path) -> None:
    report = World(tmp_path).run(suite(case("a"), case("b", "no")))
    first, second = report.results
    assert (first.outcome, second.outcome, report.exit_code) == ("passed", "failed", 1)
    assert first.case is not None
    assert second.case is not None
    assert (first.case.score, second.case.score) == (1.0, 0.0)
    assert second.case.attempts[0].output == "no"
    assert second.case.attempts[0].grades[0].details == {"expected": "yes", "actual": "no"}
    assert report.id == "eval-20240120-143052"


def test_h62_a_retry_that_passes_makes_a_case_flaky_and_leaves_pass_at_1_alone(tmp_path: Path) -> None:
    report = World(tmp_path, passes_at(2)).run(suite(case(), retry_failed=True, retry_count=2))
    (result,) = report.results
    assert (result.outcome, result.verdict, tried(result)) == ("passed", "flaky", ["failed", "passed"])
    assert metric(report, "pass@1") == 0.0
    assert metric(report, RATE) == 1.0
    assert "passed at attempt 2" in result.notes[0]
    assert report.exit_code == 0


def test_h62_retries_that_all_fail_are_on_record(tmp_path: Path) -> None:
    result = World(tmp_path, passes_at(9)).one(case(retries=2))
    assert (result.outcome, tried(result)) == ("failed", ["failed"] * 3)
    assert result.case is not None
    assert result.case.retried == 2


def test_what_passes_at_first_is_not_tried_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert tried(world.one(case(retries=3))) == ["passed"]
    assert world.calls == ["yes"]


@pytest.mark.parametrize(
    ("first", "outcome", "verdict"), [(1, "passed", None), (3, "failed", "flaky"), (9, "failed", None)]
)
def test_of_several_attempts_all_have_to_pass(
    tmp_path: Path, first: int, outcome: str, verdict: str | None
) -> None:
    world = World(tmp_path, passes_at(first))
    result = world.one(case(retries=5), attempts=4, jobs=1)
    assert (result.outcome, result.verdict, len(tried(result))) == (outcome, verdict, 4)
    assert len(world.calls) == 4, "each is made, none is tried again"


def test_each_attempt_asks_its_judge_anew(tmp_path: Path) -> None:
    world = World(tmp_path)
    judged = case("a", "yes", Grader("judge", "model", ModelJudge("is it kind?", retries_on_unreadable=0)))
    world.run(suite(judged), attempts=3)
    assert sorted(ask.turn for ask in world.asked) == [0, 1000, 2000]


def test_an_unreadable_judge_is_asked_once_more_and_the_tested_program_is_not(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.one(case("a", "yes", Grader("judge", "model", ModelJudge("is it kind?"))))
    assert [len(world.asked), len(world.calls)] == [2, 1]
    assert world.asked[0].turn == world.asked[1].turn
    assert world.asked[0].messages != world.asked[1].messages  # so that a recording keeps both


def test_a_judge_that_cannot_be_read_is_an_error_and_no_score(tmp_path: Path) -> None:
    result = World(tmp_path).one(case("a", "yes", Grader("judge", "model", ModelJudge("is it kind?"))))
    assert result.outcome == "error"
    assert result.case is not None
    assert result.case.score is None


ASKING = Recipe(PromptInput(text="Hi"), PromptExecution("prompt"))


def no_connection(request: Request) -> Response:
    raise cannot_replay("BK301", "no connection", "start it")


def broken_off(request: Request) -> Response:
    raise cannot_replay("BK304", "the connection broke off", "")


@pytest.mark.parametrize("send", [no_connection, broken_off, lambda request: Response(503, (), b"{}")])
@pytest.mark.parametrize(("retries", "sent"), [(0, 1), (2, 3), (None, 5)])
def test_run_with_service_that_cannot_be_reached_sends_as_often_as_the_model_says(
    tmp_path: Path, send: Any, retries: int | None, sent: int
) -> None:
    requests: list[Request] = []

    class Served(World):
        def send(self, request: Request) -> Response:
            requests.append(request)
            answer: Response = send(request)
            return answer

        def clients(self) -> Clients:
            entry = Model(openai="x", base_url="http://127.0.0.1", retries=retries)
            world = ModelWorld(self.send, self.execute, self.slept.append, str(self.root), str)
            return replace(super().clients(), models=Models({"default": entry}, Limits(), world))

    assert Served(tmp_path).one(replace(case(), recipe=ASKING)).outcome == "error"
    assert len(requests) == sent


def test_run_with_tool_call_beside_the_text_grades_the_text(tmp_path: Path) -> None:
    class Served(World):
        def ask(self, ask: ModelQuestion) -> Answer:
            return Answer("yes", (ToolCall("find", {}),))

    assert Served(tmp_path).one(replace(case(), recipe=ASKING)).outcome == "passed"


def test_h62_tries_of_a_client_are_no_attempts(tmp_path: Path) -> None:
    class Served(World):
        def ask(self, ask: ModelQuestion) -> Answer:
            return Answer("yes", attempts=3)

    result = Served(tmp_path).one(replace(case(retries=2), recipe=ASKING))
    assert (result.outcome, tried(result)) == ("passed", ["passed"])
    assert result.case is not None
    assert result.case.attempts[0].again == 2


def test_h63_all_is_checked_before_anything_is_run(tmp_path: Path) -> None:
    world = World(tmp_path)
    broken = [
        case("a", "yes", Grader("g", "code", RegexMatch("("))),
        case("b", "yes", Grader("g", "code", FunctionOutput("f"))),
        case("c", "yes", Grader("g", "code", JsonSchema({"type": "nothing"}))),
        case("d", "yes", Grader("g", "code", JsonSchema(schema_file="nowhere.json"))),
        replace(case("e"), recipe=Recipe("yes", SkillExecution("skill", "x"))),
    ]
    with pytest.raises(InvalidInput) as error:
        world.run(suite(case("fine"), *broken))
    assert [problem.code for problem in error.value.problems] == ["BK214", "BK706", "BK703", "BK111", "BK324"]
    assert [problem.place.file for problem in error.value.problems if problem.place] == list("abcde")
    assert world.calls == []


def test_a_name_that_nothing_stands_for_is_mended_as_a_case_can(tmp_path: Path) -> None:
    """Inputs are what a baseline has."""
    world = World(tmp_path)
    asked = Recipe(PromptInput(text="say {{nope}}"), PromptExecution("prompt"))
    with pytest.raises(InvalidInput) as error:
        world.run(suite(replace(case("a"), recipe=asked)))
    (told,) = [problem for problem in error.value.problems if problem.code == "BK350"]
    assert told.message == "there is no value for {{nope}}"
    assert told.hint == "--var nope=…, or `variables:` in the configuration; \\{{nope}} is the literal text"


def test_a_skipped_case_is_not_run(tmp_path: Path) -> None:
    world = World(tmp_path)
    report = world.run(suite(case("a", skip="broken upstream"), case("b")))
    assert outcomes(report) == {"a": "skipped", "b": "passed"}
    assert report.results[0].reason == "broken upstream"
    assert (world.calls, report.exit_code, report.complete) == (["yes"], 0, True)


def test_h63_the_order_is_that_of_the_cases_whichever_is_done_first(tmp_path: Path) -> None:
    def slow_first(given: Any, turn: int) -> str:
        time.sleep(0.05 if given == 0 else 0)
        return "yes"

    report = World(tmp_path, slow_first).run(suite(*(case(f"c{n}", n) for n in range(9))), jobs=4)
    assert [result.id for result in report.results] == [f"c{n}" for n in range(9)]


class Crowd:
    """How many were there at once. The first ones leave when as many are there as are `awaited`."""

    def __init__(self, awaited: int) -> None:
        self.now, self.most, self.alone = 0, 0, True
        self._awaited = awaited
        self._changed = threading.Condition()

    def __call__(self, given: Any, turn: int) -> str:
        with self._changed:
            self.now += 1
            self.most = max(self.most, self.now)
            if given == "alone" and self.now > 1:
                self.alone = False
            self._changed.notify_all()
            self._changed.wait_for(lambda: self.most >= self._awaited, 20)
        time.sleep(0.01)
        with self._changed:
            self.now -= 1
        return "yes"


@pytest.mark.parametrize(
    ("config", "jobs", "most"),
    [
        ({"parallel_execution": False}, 8, 1),
        ({"max_workers": 2}, None, 2),
        ({"max_workers": 2}, 4, 4),
    ],
)
def test_h63_how_many_run_at_once(
    tmp_path: Path, config: dict[str, Any], jobs: int | None, most: int
) -> None:
    crowd = Crowd(most)
    World(tmp_path, crowd).run(suite(*(case(f"c{n}", n) for n in range(12)), **config), jobs=jobs)
    assert crowd.most == most


def test_a_case_that_must_be_alone_is(tmp_path: Path) -> None:
    crowd = Crowd(2)
    cases = [case(f"c{n}", "alone" if n == 3 else n, parallel=n != 3) for n in range(8)]
    report = World(tmp_path, crowd).run(suite(*cases), jobs=4)
    assert crowd.alone
    assert crowd.most > 1
    assert [result.id for result in report.results] == [f"c{n}" for n in range(8)]


def test_h61_when_the_time_of_the_suite_is_over_what_finished_is_kept(tmp_path: Path) -> None:
    world = World(tmp_path)

    def slow(given: Any, turn: int) -> str:
        if given >= 2:
            assert world.cancelled.wait(20)
        return "yes"

    world.answers = slow
    report = world.run(suite(*(case(f"c{n}", n) for n in range(6)), timeout_global=0.5), jobs=1)
    assert list(outcomes(report).values()) == ["passed"] * 2 + ["skipped"] * 4
    assert report.results[5].reason == "not run: the time limit of the suite was reached"
    assert (report.complete, report.interrupted, report.exit_code) == (False, False, 3)


def test_h61_a_case_has_the_shorter_of_two_limits(tmp_path: Path) -> None:
    world = World(tmp_path)
    own = Recipe("yes", SkillExecution("skill", "echo", timeout=3))
    world.run(suite(case("a", timeout=7), replace(case("b", timeout=7), recipe=own)), jobs=1)
    assert world.limits == [pytest.approx(7, abs=0.01), 3]


def test_a_judge_has_what_is_left_of_the_time(tmp_path: Path) -> None:
    world = World(tmp_path)
    judge = Grader("judge", "model", ModelJudge("is it kind?"))
    world.one(case("a", "yes", judge, timeout=5))
    assert 4 < (world.asked[0].timeout or 0) < 5
    result = world.one(case("b", "yes", judge, timeout=0.0005))
    assert (result.outcome, result.code) == ("error", "BK722")


def test_an_interrupted_run_keeps_what_is_done(tmp_path: Path) -> None:
    world = World(tmp_path)

    def third(given: Any, turn: int) -> str:
        if given == 2:
            world.stop.ask()
        return "yes"

    world.answers = third
    report = world.run(suite(*(case(f"c{n}", n) for n in range(30))), jobs=1)
    assert (report.interrupted, report.exit_code) == (True, 130)
    assert report.summary.passed >= 2
    assert report.summary.skipped >= 20


def test_h34_all_required_graders_have_to_pass(tmp_path: Path) -> None:
    kind = Grader("kind", "code", Contains(all=["please"]))
    both = World(tmp_path).one(case("a", "yes", EXACT, kind))
    assert both.outcome == "failed"
    assert both.reason.startswith("kind: ")
    optional = World(tmp_path).one(case("a", "yes", EXACT, replace(kind, required=False)))
    assert optional.outcome == "passed"


def test_a_case_that_people_must_rate_is_neither_passed_nor_failed(tmp_path: Path) -> None:
    report = World(tmp_path).run(suite(case("a", "yes", Grader("people", "human", HumanRating()))))
    assert (report.results[0].outcome, report.results[0].verdict) == ("unscored", "pending")
    assert report.exit_code == 3
    assert metric(report, "pass@1") is None


def test_a_program_is_handed_to_the_sandbox(tmp_path: Path) -> None:
    seen = []

    def boxed(method: FunctionOutput, code: str, execute: object) -> SandboxResult:
        seen.append(code)
        return SandboxResult((CallResult(4),), ("network",))

    calls = Grader("calls", "code", FunctionOutput("f", [Call(4, [2])]))
    answers = World(tmp_path, lambda given, turn: "```python\ndef f(x): return x * x\n```")
    assert answers.run(suite(case("a", "", calls)), outside=EvalClients(boxed)).results[0].outcome == "passed"
    assert seen == ["def f(x): return x * x\n"] or seen == ["def f(x): return x * x"]
    alone = answers.run(suite(case("a", "", calls)))
    assert (alone.results[0].outcome, alone.exit_code) == ("error", 3)


def test_h3_any_alternative_will_do_for_the_structure_as_well(tmp_path: Path) -> None:
    shape = Grader("shape", "code", StructuralMatch(strict=True))
    right = Expected("exact", {"n": 1}, [{"n": "<<any_string>>"}])
    world = World(tmp_path, lambda given, turn: '{"n": "x"}')
    assert world.one(case("a", "", shape, expected=right)).outcome == "passed"
    wrong = world.one(case("a", "", shape, expected=Expected("exact", {"n": 1})))
    assert wrong.outcome == "failed"
    assert [spot.path for spot in wrong.differences] == [("n",)]


def test_h65_a_category_is_the_kind_of_a_case_or_its_own_word(tmp_path: Path) -> None:
    cases = suite(case("a", category="strings"), case("b", kind="regression"), case("c", tags=("slow",)))
    world = World(tmp_path)
    assert list(outcomes(world.run(cases, Choice(["capability"])))) == ["a", "c"]
    assert list(outcomes(world.run(cases, Choice(["strings"])))) == ["a"]
    assert list(outcomes(world.run(cases, Choice(["strings", "regression"])))) == ["a", "b"]
    assert list(outcomes(world.run(cases, Choice(tags=["slow"])))) == ["c"]
    assert list(outcomes(world.run(cases, Choice(expression="not slow and not b")))) == ["a"]
    assert list(outcomes(world.run(cases, Choice(ids=["[ab]"])))) == ["a", "b"]
    assert list(outcomes(world.run(cases, Choice(exclude_tags=["slow"], ids=["*"])))) == ["a", "b"]
    assert list(outcomes(world.run(cases, Choice(among=frozenset(("b", "gone")))))) == ["b"]
    with pytest.raises(NothingSelected, match="did you mean 'strings'"):
        world.run(cases, Choice(["string"]))
    with pytest.raises(NothingSelected, match="all of these passed when they were last run"):
        world.run(cases, Choice(among=frozenset()))
    with pytest.raises(NothingSelected, match="did you mean 'reverse'"):
        world.run(suite(case("reverse")), Choice(ids=["revers"]))
    with pytest.raises(NothingSelected, match="leave one out"):
        world.run(cases, Choice(ids=["c"], exclude_tags=["slow"]))
    with pytest.raises(NothingSelected, match="no eval cases"):
        world.run(suite())


def test_after_the_first_that_does_not_pass_none_is_begun_and_the_others_can_go_on(tmp_path: Path) -> None:
    cases = suite(case("a"), case("b", "no", retries=1), case("c"), case("d", parallel=False))
    world = World(tmp_path)
    report = world.run(cases, first=True, jobs=1)
    assert outcomes(report) == {"a": "passed", "b": "failed", "c": "skipped", "d": "skipped"}
    assert "(-x)" in report.results[2].reason
    assert (report.complete, report.exit_code) == (False, 1)
    asked = len(world.calls)
    assert outcomes(world.run(cases, resume=True))["d"] == "passed"
    assert len(world.calls) == asked + 2, "what was finished is not asked again"


def test_a_list_tells_what_would_be_asked_and_asks_nobody(tmp_path: Path) -> None:
    judge = Grader("judge", "model", ModelJudge("is it kind?", samples=3))
    cases = suite(case("a", "yes", EXACT, judge), case("b", skip="not now"), attempts=2)
    world = World(tmp_path)
    found = plan_cases(world.project(), cases, Choice(), RunPolicy(), world.clients(), EvalClients())
    assert [(one.case.id, one.attempts, one.calls) for one in found] == [("a", 2, 6), ("b", 0, 0)]
    assert (world.calls, world.asked) == ([], [])


def test_h35_a_kind_of_grader_that_a_case_lacks_is_an_error_that_lists_it(tmp_path: Path) -> None:
    judge = Grader("judge", "model", ModelJudge("is it kind?"))
    world = World(tmp_path)
    with pytest.raises(InvalidInput, match="no model grader in b, c"):
        world.run(suite(case("a", "yes", EXACT, judge), case("b"), case("c")), Choice(grader="model"))
    assert world.calls == []
    report = world.run(suite(case("a", "yes", EXACT, judge)), Choice(grader="code"))
    assert report.summary.passed == 1
    assert "only code graders were used" in report.warnings


@pytest.mark.parametrize(
    ("passing", "thresholds", "exit_code"),
    [
        (9, {}, 1),
        (9, {RATE: 0.9}, 0),
        (9, {"pass_at_1": 0.9}, 0),
        (8, {RATE: 0.9}, 1),
        (10, {"pass@1": 1}, 0),
    ],
)
def test_x11_thresholds_say_how_many_may_fail(
    tmp_path: Path, passing: int, thresholds: dict[str, float], exit_code: int
) -> None:
    cases = suite(*(case(f"c{n}", "yes" if n < passing else "no") for n in range(10)))
    assert World(tmp_path).run(cases, thresholds=thresholds).exit_code == exit_code


def test_x11_a_regression_is_no_matter_of_thresholds(tmp_path: Path) -> None:
    cases = suite(*(case(f"c{n}") for n in range(9)), case("r", "no", kind="regression"))
    assert World(tmp_path).run(cases, thresholds={RATE: 0.5}).exit_code == 1


@pytest.mark.parametrize(
    "thresholds", [{"accuracy": 0.5}, {"pass@1": 1.5}, {"pass@1": True}, {"pass@0": 0.5}]
)
def test_a_threshold_of_nothing_is_refused(tmp_path: Path, thresholds: Any) -> None:
    with pytest.raises(InvalidInput, match="BK723"):
        World(tmp_path).run(suite(case()), thresholds=thresholds)


def test_h12_a_secret_reaches_no_result(tmp_path: Path) -> None:
    (tmp_path / "baselinekit.yaml").write_text(
        "skills: {echo: {command: [echo]}}\nvariables: {key: {value: hush-hush-hush, secret: true}}\n"
    )
    report = World(tmp_path).run(suite(case("a", "hush-hush-hush and more")))
    assert "hush-hush-hush" not in repr(report)


def test_a_fault_of_ours_takes_nobody_else_along(tmp_path: Path) -> None:
    def broken(given: Any, turn: int) -> str:
        if given == "no":
            raise RuntimeError("oh")
        return "yes"

    report = World(tmp_path, broken).run(suite(case("a", "no"), case("b")))
    assert outcomes(report) == {"a": "error", "b": "passed"}
    assert report.results[0].code == "BK399"


class Unprepared(World):
    def check(self, name: str) -> None:
        raise RuntimeError("nobody thought of it")


def test_nor_does_one_that_is_met_before_anything_is_asked(tmp_path: Path) -> None:
    judged = case("a", "yes", Grader("judge", "model", ModelJudge("is it kind?")))
    report = Unprepared(tmp_path).run(suite(judged, case("b")))
    assert outcomes(report) == {"a": "error", "b": "passed"}
    assert (report.results[0].code, report.exit_code) == ("BK399", 3)


def test_our_own_share_of_the_time_is_small(tmp_path: Path) -> None:
    count = 5000 if os.environ.get("BASELINEKIT_THOROUGH") else 200
    cases = suite(*(case(f"c{n}", "yes" if n % 2 else "no") for n in range(count)))
    world = World(tmp_path)
    world.run(suite(case()))
    began = time.process_time()  # our own work, and not that of whoever else is at work here
    report = world.run(cases, jobs=4)
    took = (time.process_time() - began) / len(cases.cases)
    assert report.summary.total == count
    assert took < 0.01, f"{took * 1000:.2f} ms a case"


def test_what_may_not_be_run_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    def refused(method: FunctionOutput) -> None:
        raise Refused(Problem("BK406", "there is no sandbox", "install one"))

    world = World(tmp_path)
    calls = Grader("calls", "code", FunctionOutput("f", [Call(4, [2])]))
    with pytest.raises(Refused, match="BK406 b: there is no sandbox"):
        world.run(suite(case("a"), case("b", "", calls)), outside=EvalClients(check=refused))
    assert world.calls == []


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    first = World(tmp_path)

    def stops(given: Any, turn: int) -> str:
        if given == 5:
            first.stop.ask()
        return "yes"

    first.answers = stops
    cases = suite(*(case(f"c{n}", n) for n in range(40)))
    assert first.run(cases, jobs=1, attempts=2).interrupted
    second = World(tmp_path, lambda given, turn: "yes")
    report = second.run(cases, jobs=1, attempts=2, resume=True)
    assert (report.summary.passed, report.complete, report.exit_code) == (40, True, 0)
    assert len(first.calls) + len(second.calls) == 80
    third = World(tmp_path, lambda given, turn: "yes")
    again = third.run(cases, jobs=1, attempts=2, resume=True)
    assert "there was nothing to resume: everything is run again" in again.warnings
    assert len(third.calls) == 80


def test_a_used_up_budget_is_no_verdict_and_the_rest_can_be_had_later(tmp_path: Path) -> None:
    judge = Grader("judge", "model", ModelJudge("is it kind?"))
    cases = suite(case("a", "no"), case("b", "yes", EXACT, judge), case("c", "no", EXACT, judge))
    world = World(tmp_path)
    world.refusal = OutOfBudget(Problem("BK620", "the limit of 1 call is reached", "raise --max-calls"))
    report = world.run(cases, jobs=1)
    assert outcomes(report) == {"a": "failed", "b": "skipped", "c": "skipped"}
    assert (report.complete, report.results[1].code) == (False, "BK620")
    later = World(tmp_path)
    later.run(cases, jobs=1, resume=True)
    assert later.calls == ["yes", "no"], "what was judged is not asked again"

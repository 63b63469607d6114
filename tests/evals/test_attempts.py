"""One attempt at a case: what it may take, which part of an answer is judged, which judges are asked, and
what generated code could reach."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from evalcases import CONFIG, EXACT, World, case, suite

from baselinekit.errors import Refused, cannot_replay
from baselinekit.evals.attempts import EvalClients, TimeLeft, masked_classes
from baselinekit.graders.by_line import ScoreLine
from baselinekit.graders.by_model import ModelJudge, Scoring
from baselinekit.graders.by_schema import StructuralMatch
from baselinekit.graders.by_text import Contains
from baselinekit.kinds.http import HttpExecution, HttpFlow
from baselinekit.model.evals import Case, Expected
from baselinekit.model.grades import Call, Classified, FunctionOutput, Grade, Grader, HumanRating
from baselinekit.model.recipes import (
    Answer,
    CallResult,
    HttpRequest,
    ModelQuestion,
    ProcessResult,
    ProcessSpec,
    Recipe,
    Request,
    Response,
    SandboxResult,
)
from baselinekit.model.results import Report, Result
from baselinekit.report import resultfile
from baselinekit.report.forms import render_report
from baselinekit.report.terminal import format_warnings
from baselinekit.report.wording import Style
from baselinekit.secrets.variables import Redactor, Secret
from baselinekit.structs import replace

KIND = Grader("judge", "model", ModelJudge("is it kind?", scoring=Scoring("boolean")))
CALLS = Grader("calls", "code", FunctionOutput("f", [Call(4, [2])]))
JSON = (("content-type", "application/json"),)


class Slow(World):
    """A world in which each client takes as long as it is set to, or as it is allowed to."""

    takes = 0.0
    answer = b"yes"

    def _wait(self, timeout: float | None, late: str) -> None:
        assert timeout is not None
        self.limits.append(round(timeout, 1))
        self.ticks += min(self.takes, timeout)
        if self.takes >= timeout:
            raise cannot_replay(late, f"no answer within {timeout:g} s")

    def send(self, request: Request) -> Response:
        self._wait(request.timeout, "BK303")
        return Response(200, JSON, b'{"n": 1}', self.takes)

    def execute(self, questions: ProcessSpec) -> ProcessResult:
        self._wait(questions.timeout, "BK321")
        return ProcessResult(0, self.answer, b"", self.takes)

    def ask(self, ask: ModelQuestion) -> Answer:
        self._wait(ask.timeout, "BK602")
        nonce = ask.messages[-1].content.rpartition('{"nonce": "')[2][:16]
        return Answer(f'{{"nonce": "{nonce}", "passed": true, "justification": ""}}')


def flow(steps: int, **of_each: Any) -> Case:
    questions = HttpFlow([HttpRequest(endpoint=f"/{number}", **of_each) for number in range(steps)])
    return replace(case(), recipe=Recipe(questions, HttpExecution("http", "http://x")))


@pytest.mark.parametrize(
    ("known", "timeout", "takes", "limits", "code"),
    [
        (flow(3), 10, 4, [10, 6, 2], "BK722"),
        (flow(3, timeout=3), 10, 2.5, [3, 3, 3], None),
        (flow(3, timeout=3), 10, 3.5, [3], "BK303"),
        (flow(3), None, 20, [30, 30, 30], None),
        (case("a", "yes", EXACT), 10, 11, [10], "BK722"),
        (case("a", "yes", KIND, KIND), 10, 4, [10, 6, 2], "BK722"),
        (case("a", "yes", CALLS), 10, 6, [10, 4], "BK722"),
    ],
)
def test_h61_requests_of_a_case_share_its_limit(
    tmp_path: Path, known: Case, timeout: int | None, takes: float, limits: list[float], code: str | None
) -> None:
    world = Slow(tmp_path)
    world.takes = takes

    def sandbox(
        method: FunctionOutput, code: str, execute: Callable[[ProcessSpec], ProcessResult]
    ) -> SandboxResult:
        execute(ProcessSpec(("python",), timeout=60))
        return SandboxResult(())

    if CALLS in known.graders:
        world.answer = b"def f(n): return n + n"
    cases = suite(replace(known, timeout=timeout))
    (result,) = world.run(cases, outside=EvalClients(run=sandbox)).results
    assert world.limits == limits
    assert code is None or (result.outcome, result.code) == ("error", code)
    assert code != "BK722" or "its 10 s were used up" in result.reason


@pytest.mark.parametrize(
    ("granted", "most"), [("", 3600), ("limits: {timeout: 50}\n", 50), ("limits: {timeout: 9000}\n", 9000)]
)
def test_h61_timeout_of_a_case_is_limited_by_the_configuration(
    tmp_path: Path, granted: str, most: int
) -> None:
    (tmp_path / "baselinekit.yaml").write_text(CONFIG + granted)
    world = World(tmp_path)
    assert world.one(case(timeout=most)).outcome == "passed"
    with pytest.raises(Refused, match=f"BK408.*{most + 1} is more than a file may set, {most}"):
        world.one(case(timeout=most + 1))


def test_h61_wait_is_cut_to_the_time_left(tmp_path: Path) -> None:
    world = World(tmp_path)
    clients = TimeLeft(3, lambda: 1.0, 0.0).within(world.clients())
    for seconds in (1, 5):
        clients.sleep(seconds)
    assert world.slept == [1, 2]


# The part of a response that a structural match is about.


class Service(World):
    def send(self, request: Request) -> Response:
        return Response(200, JSON, b'{"id": 7, "name": "Ada", "tags": ["a"]}', 0.01)


@pytest.mark.parametrize(
    ("value", "how", "outcome"),
    [
        ({"status": 200}, {}, "passed"),
        ({"body": {"id": 7, "name": "Ada", "tags": ["a"]}}, {}, "passed"),
        ({"id": "<<any_integer>>", "name": "Ada", "tags": ["a"]}, {}, "passed"),
        ({"name": "Ada"}, {}, "failed"),
        ({"name": "Ada"}, {"strict": False}, "passed"),
        ({"id": 8, "name": "Ada", "tags": ["a"]}, {"ignore_fields": ["id"]}, "passed"),
        (["a"], {"of": "tags"}, "passed"),
        (200, {"of": "status"}, "passed"),
        ("Ada", {"of": "$.body.name"}, "passed"),
        ("Ada", {"of": "nme"}, "failed"),
    ],
)
def test_h26_structural_match_of_a_response_is_about_the_body(
    tmp_path: Path, value: Any, how: dict[str, Any], outcome: str
) -> None:
    recipe = Recipe(HttpRequest(url="http://127.0.0.1:9/u"), HttpExecution("http"))
    grader = Grader("g", "code", StructuralMatch(**how))
    assert (
        Service(tmp_path).one(Case("a", recipe, (grader,), expected=Expected("exact", value))).outcome
        == outcome
    )


# Which judges are asked about an answer that a check by rules has found wrong.

JUDGE = Grader("judge", "model", ScoreLine("Is it right?"))
OTHER = Grader("other", "model", ScoreLine("Is it kind?"))
YES = Grader("contains", "code", Contains(all=["yes"]))
OPTIONAL = replace(YES, required=False)
PEOPLE = Grader("people", "human", HumanRating())
GOOD, POOR = "SCORE=5 REASON=Right.", "SCORE=1 REASON=Wrong."


def grades(result: Result) -> tuple[Grade, ...]:
    assert result.case is not None
    return result.case.attempts[0].grades


def judged(
    tmp_path: Path, answer: str, *graders: Grader, reply: str = GOOD, **more: Any
) -> tuple[Result, int]:
    world = World(tmp_path)
    world.reply = reply
    outside = EvalClients(rated=lambda case, grader, seen: grader.graded("failed", 0.0, "people say no"))
    (result,) = world.run(suite(case("a", answer, *graders, expected=None, **more)), outside=outside).results
    return result, len(world.asked)


def test_e3_judge_after_a_failed_check_is_not_asked(tmp_path: Path) -> None:
    result, questions = judged(tmp_path, "no", JUDGE, YES, OTHER, judge_after_failure=False)
    assert (questions, result.outcome, result.verdict, result.code) == (0, "failed", None, None)
    reason = "no model was asked: contains failed"
    assert grades(result)[0] == JUDGE.graded("unscored", None, reason, verdict="not judged")


@pytest.mark.parametrize(
    ("answer", "graders", "wants", "questions"),
    [
        ("no", (YES, JUDGE), True, 1),
        ("yes", (YES, JUDGE), False, 1),
        ("no", (OPTIONAL, JUDGE), False, 1),  # what failed does not count
        ("no", (OPTIONAL, replace(JUDGE, required=False)), False, 0),  # where none is required, all count
        ("no", (JUDGE,), False, 1),
        ("no", (PEOPLE, JUDGE), False, 1),  # what people say is another question
        ("yes", (JUDGE, OTHER), False, 2),
    ],
)
def test_e3_judge_is_asked_unless_a_required_check_failed(
    tmp_path: Path, answer: str, graders: tuple[Grader, ...], wants: bool, questions: int
) -> None:
    assert judged(tmp_path, answer, *graders, judge_after_failure=wants, reply=POOR)[1] == questions


def test_e4_e5_quotes_of_answers_and_replies_hold_no_secret(tmp_path: Path) -> None:
    answer = '{"password": "Wq7vTz93kLp2", "note": "say Wq7vTz93kLp2 at the door"}'
    result, _ = judged(tmp_path, answer, JUDGE, reply="It names Wq7vTz93kLp2.")
    (by_model,) = grades(result)
    assert "'It names ***.'" in by_model.reason
    assert "Wq7vTz93kLp2" not in repr(result)
    redactor = Redactor({"key": Secret("s3cret-of-somebody")})
    assert "s3cret" not in str(masked_classes(Classified("YES", "s3cret-of-somebody"), redactor))
    assert masked_classes(Classified("YES", None), redactor) == Classified("YES", None)


# What generated code could have reached is in every form of report, once for all cases.


def test_f39_reports_list_what_generated_code_could_reach(tmp_path: Path) -> None:
    def run_boxed(*reached: str) -> Report:
        boxed = SandboxResult((CallResult(4),), ("time",), reached)
        world = World(tmp_path, lambda given, turn: "def f(n): return n + n")
        cases = suite(case("a", "code", CALLS), case("b", "code", CALLS))
        report = world.run(cases, outside=EvalClients(run=lambda *given: boxed))
        assert report.summary.passed == 2
        return report

    report, contained = run_boxed("files", "processes"), run_boxed()
    warning = "generated code ran outside a sandbox and could reach: files, processes (a and 1 more)"
    for form in (".md", ".html", ".xml", ".eval.json"):
        assert warning in render_report(report, form).replace("\\", "")
        assert "outside a sandbox" not in render_report(contained, form)
    text = render_report(report, ".json")  # keeps it with each grade, so that it can be reported again
    details = json.loads(text)["results"][0]["case"]["attempts"][0]["grades"][0]["details"]
    assert details["not_contained"] == ["files", "processes"]
    assert warning in format_warnings(resultfile.read(text, "x.json"), Style())

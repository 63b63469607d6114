"""The program that judges: its output is a verdict, or an error that explains what is wrong with it."""

import json
from typing import Any

import pytest
from cases import graded

from baselinekit.errors import Problem
from baselinekit.graders.base import GradeClients, JudgeProgram, JudgeRun, JudgeStopped
from baselinekit.graders.by_program import CodeJudge, ModelAccess, verdict_in
from baselinekit.model.evals import Case
from baselinekit.model.grades import PassRule
from baselinekit.model.recipes import Usage
from baselinekit.structs import replace
from baselinekit.values.texts import no_mask

JUDGE = CodeJudge(["./check.py"])


def printing(stdout: str | bytes, exit_code: int = 0, stderr: bytes = b"", **more: Any) -> GradeClients:
    raw = stdout if isinstance(stdout, bytes) else stdout.encode()
    return GradeClients(program=lambda case, program: JudgeRun(exit_code, raw, stderr, **more))


@pytest.mark.parametrize(
    ("stdout", "verdict"),
    [
        ('{"score": 0.85, "hits": ["a"], "misses": ["b"], "reasoning": "why"}\n', (0.85, ("b",), "why")),
        ('loading model\nready\n{\n  "score": 0\n}\n\n', (0.0, (), "")),
        ('a log with {"braces"} in it\n{"score": 0}', (0.0, (), "")),
        ('{"score": 0.5, "hits": null, "misses": [{"text": "x"}], "reasoning": 5}', (0.5, (), "")),
        ('\ufeff{"score": 0.30000000000000004441}', (0.30000000000000004, (), "")),
    ],
)
def test_a21_verdict_in_the_output_of_a_program(stdout: str, verdict: Any) -> None:
    found = verdict_in(stdout.encode(), no_mask)
    assert (found.score, found.misses, found.reasoning) == verdict


NO_VERDICT = [
    ("", "printed no JSON"),
    ('{"score": 1}\nDone.', "printed no JSON"),
    ('{"score": 1, "score": 0}', "printed no JSON"),
    ('{"score": 1e999}', "printed the score 1E+999"),
    ('{"hits": []}', "printed no score"),
    ('{"score": true}', "printed the score true"),
    ('{"score": 1.0000001}', "printed the score 1.0000001"),
    (b'{"score": 1, "reasoning": "\xff"}', "printed what is not UTF-8 text"),
    ("{\n" * 50_000 + '{"score": 1}', "printed more than one JSON object"),
    ("[" * 100_000, "printed no JSON"),
]


@pytest.mark.parametrize(("stdout", "what"), NO_VERDICT, ids=range(len(NO_VERDICT)))
def test_a21_a22_program_that_prints_no_verdict_is_an_error(stdout: str | bytes, what: str) -> None:
    found = graded("x", JUDGE, clients=printing(stdout))
    assert (found.outcome, found.score, found.code) == ("error", None, "BK354")
    assert what in found.reason
    assert len(found.reason) < 600


TRACEBACK = b"log\nTraceback (most recent call last):\n  File 'check.py', line 3\n    x['x']\nKeyError: 'x'\n"
MISSES = '{"score": 0, "misses": ["no key"]}'


@pytest.mark.parametrize(
    ("stdout", "exit_code", "stderr", "reason"),
    [
        ('{"score": 1}', 2, b"a\n  b  \n", "ended with exit code 2; it wrote: b:"),
        (MISSES, 1, TRACEBACK, "ended with exit code 1; it wrote: no key:"),
        ("", -9, b"", "was killed by signal 9:"),
    ],
)
def test_a22_program_that_failed_is_an_error_with_its_last_words(
    stdout: str, exit_code: int, stderr: bytes, reason: str
) -> None:
    found = graded("x", JUDGE, clients=printing(stdout, exit_code, stderr))
    assert (found.outcome, found.score, found.code) == ("error", None, "BK323")
    assert found.reason.startswith(f"the judge {reason}")
    assert found.details == ({"misses": ["no key"]} if stdout == MISSES else {})


def verdict(score: float, rule: PassRule, **more: Any) -> tuple[Any, ...]:
    found = graded("x", JUDGE, clients=printing(json.dumps({"score": score, **more})), pass_rule=rule)
    return found.outcome, found.score, found.verdict, found.reason


@pytest.mark.parametrize(
    ("score", "rule", "outcome", "word"),
    [
        (0.8, PassRule(), "passed", None),
        (0.7999999999999999, PassRule(), "failed", "borderline"),
        (0.6, PassRule(borderline_passes=True), "passed", "borderline"),
        (0.59, PassRule(), "failed", None),
    ],
)
def test_a21_a44_score_of_a_program_is_judged_by_the_pass_rule(
    score: float, rule: PassRule, outcome: str, word: str | None
) -> None:
    assert verdict(score, rule)[:3] == (outcome, score, word)
    assert verdict(0, PassRule(), misses=["a", "b"], reasoning="because")[3] == "because"
    assert verdict(0, PassRule(), misses=["a", "b"])[3] == "a; b"
    assert (verdict(0, PassRule())[3], verdict(1, PassRule())[3]) == ("it scores 0", "")


def test_program_that_prints_more_is_shown_up_to_a_limit() -> None:
    many = [f"hit {number} " + "x" * 1_000 for number in range(80)]
    found = graded("x", JUDGE, clients=printing(json.dumps({"score": 1, "hits": many, "recall": {"k": 5}})))
    assert (found.details["recall"], len(found.details["hits"])) == ({"k": 5}, 50)
    assert all(len(hit) < 600 for hit in found.details["hits"])


def test_a20_program_receives_the_case_on_standard_input() -> None:
    started: list[JudgeProgram] = []

    def program(case: Case, program: JudgeProgram) -> JudgeRun:
        started.append(program)
        return JudgeRun(0, b'{"score": 1}', b"")

    how = CodeJudge("uv run check.py", "judges", 5, ModelAccess(3), "small", {"maxLength": 5})
    assert graded("x", how, clients=GradeClients(program=program)).outcome == "passed"
    received = json.loads(started[0].stdin)
    assert (received["candidate_answer"], received["config"]) == ("x", {"maxLength": 5})
    assert replace(started[0], stdin=b"") == JudgeProgram("uv run check.py", b"", "judges", 5, 3, "small")


def test_a25_program_that_asked_a_model_reports_its_calls_and_usage() -> None:
    how, usage = CodeJudge(["x"], target=ModelAccess(5)), Usage(10, 2)

    def stopped(case: Case, program: JudgeProgram) -> JudgeRun:
        raise JudgeStopped(Problem("BK321", "./x did not end within 5 s", "raise it"), calls=4, usage=usage)

    for clients, outcome in (
        (printing('{"score": 1}', calls=3, usage=usage), "passed"),
        (printing("what", calls=3, usage=usage), "error"),
        (GradeClients(program=stopped), "error"),
    ):
        found = graded("x", how, clients=clients)
        calls = 4 if found.code == "BK321" else 3
        assert (found.outcome, found.usage) == (outcome, usage)
        assert found.details["target_proxy"] == {"call_count": calls, "max_calls": 5}
    assert "target_proxy" not in graded("x", JUDGE, clients=printing('{"score": 1}')).details

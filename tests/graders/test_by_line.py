"""Judges that reply in one line: their question, their reply and its grade."""

from typing import Any

import pytest
from cases import case, graded, judge

from baselinekit.graders.by_line import DecisionLine, ScoreLine
from baselinekit.graders.graders import problems_of
from baselinekit.model.grades import Classified, Grade, Grader
from baselinekit.model.recipes import ModelQuestion, Usage

DIFF = "<diff>\n-a\n+b\n</diff>"
SURGICAL = ScoreLine("Score the diff for surgical-ness, 1-5.", model="m")
REFACTOR = DecisionLine(
    "YES",
    "Refactors code without a change of what it does.",
    triggers=["refactor X", "clean up\n\nUSER QUERY:\nX"],
    not_for=["questions"],
)


class Judge:
    """Replies one after the other, and the last one again and again."""

    def __init__(self, *replies: str):
        self.replies, self.questions = [*replies], list[str]()

    def reply(self, nonce: str, question: ModelQuestion) -> str:
        self.questions.append(question.messages[-1].content)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    def grade(self, method: Any, output: Any = DIFF) -> Grade:
        return graded(output, method, clients=judge(self.reply), kind="model")


@pytest.mark.parametrize(
    ("score", "threshold", "outcome"), [(3, 4, "failed"), (4, 4, "passed"), (2, 2, "passed")]
)
def test_e5_score_line_passes_from_its_threshold_on(score: int, threshold: int, outcome: str) -> None:
    judge = Judge(f"SCORE={score} REASON=It changes what it should.")
    found = judge.grade(ScoreLine("Is it right?", pass_threshold=threshold))
    assert (found.outcome, found.score) == (outcome, (score - 1) / 4)
    assert (found.details["scale"], found.details["pass_threshold"]) == ([1, 5], threshold)
    wrong = f"{score} of 5, and {threshold} passes: It changes what it should."
    assert found.reason == ("" if outcome == "passed" else wrong)
    assert (found.verdict, found.code, found.usage) == (None, None, Usage(10, 5))


def test_e11_decision_line_question_has_the_description_and_the_triggers_only() -> None:
    judge = Judge("DECISION=YES REASON=It asks for that.")
    judge.grade(REFACTOR, "refactor src/foo.py to remove the global state")
    (question,) = judge.questions
    nonce = question.partition("<<<query ")[2][:16]
    for part in (
        f"<<<description {nonce}>>>\nRefactors code without a change of what it does.\n<<<end of description",
        "POSITIVE TRIGGERS:\n- refactor X\n- clean up USER QUERY: X\n\n",
        "NEGATIVE TRIGGERS (do NOT use for):\n- questions\n\n",
        f"<<<query {nonce}>>>\nrefactor src/foo.py to remove the global state\n<<<end of query {nonce}>>>",
        "Reply with exactly one line in this form, and nothing before or after it: DECISION=<YES|NO> REASON=",
    ):
        assert part in question


@pytest.mark.parametrize("wanted", ["YES", "NO"])
@pytest.mark.parametrize("given", ["YES", "NO"])
def test_e12_decision_line_passes_if_the_decision_is_the_wanted_one(wanted: Any, given: str) -> None:
    found = Judge(f"DECISION={given} REASON=So it is.").grade(DecisionLine(wanted, "Weather."), "what's up?")
    assert found.outcome == ("passed" if given == wanted else "failed")
    assert found.score == float(given == wanted)
    assert found.classified == Classified(wanted, given)
    wrong = f"the judge decides {given}, and {wanted} is right: So it is."
    assert found.reason == ("" if given == wanted else wrong)
    found = Judge("I would say YES.").grade(DecisionLine(wanted, "Weather."), "what's up?")
    assert (found.outcome, found.score, found.verdict, found.code) == ("error", None, "unparseable", "BK640")
    assert found.classified == Classified(wanted, None)  # it passes neither list
    assert found.reason.startswith("judge output unparseable: the judge's reply is not DECISION=<YES|NO> ")
    assert ": 'I would say YES.': " in found.reason


def test_e5_score_line_asks_again_only_if_retries_are_stated() -> None:
    once = Judge("Hm.", "SCORE=4 REASON=Fine.")
    assert (once.grade(SURGICAL).outcome, len(once.questions)) == ("error", 1)
    judge = Judge("Hm.", "SCORE=4 REASON=Fine.")
    found = judge.grade(ScoreLine("Is it right?", retries_on_unreadable=1))
    assert found.outcome == "passed"
    (complaint,) = found.details["replies_that_could_not_be_read"]
    assert complaint == "the judge's reply is not SCORE=<1-5> REASON=<one sentence>: 'Hm.'"
    assert found.usage == Usage(20, 10)
    assert "An earlier reply could not be used" in judge.questions[1]
    assert "Hm." not in judge.questions[1]


@pytest.mark.parametrize(
    ("method", "what"),
    [
        (ScoreLine("  "), "a model grader without a rubric"),
        (ScoreLine("r", pass_threshold=1), "this cannot fail"),
        (DecisionLine("YES"), "a decision_line grader without a description"),
    ],
)
def test_e5_e12_score_line_and_decision_line_problems(method: Any, what: str) -> None:
    grader = Grader("g", "model", method)
    assert [problem.message.partition(":")[0] for problem in problems_of(grader, case(grader))] == [what]

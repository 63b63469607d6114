"""Judges are measured: by probes, and by the labels of people."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from judgeforms import form_in

from baselinekit.commands.project import Operator, open_project
from baselinekit.errors import CannotReplay, InvalidInput, NothingSelected, Problem
from baselinekit.evals import judges
from baselinekit.graders.base import QuestionForm
from baselinekit.model.evals import Case
from baselinekit.model.grades import Agreement
from baselinekit.model.recipes import Answer, ModelQuestion
from baselinekit.suites.loading import load_cases

_JUDGED = re.compile(r"<<<(output|candidate_answer) (\w{16})>>>\n(.*)\n<<<end of \1 \2>>>", re.DOTALL)
Verdict = Callable[[str], bool]
Ask = Callable[[ModelQuestion], Answer]
FORMS: list[QuestionForm] = ["", "in one line", "by a prompt", "by a rubric"]


def judge(verdict: Verdict) -> Ask:
    """A judge that decides so, and replies in the form that it is asked for."""

    def ask(question: ModelQuestion) -> Answer:
        text = question.messages[-1].content
        output = _JUDGED.search(text)
        assert output is not None
        passed = verdict(output[3])
        if "SCORE=" in text.rpartition(">>>")[2] or '{"nonce"' not in text:
            return Answer(f"SCORE={5 if passed else 1} REASON=It is as it is.")
        reply = form_in(text)
        if "scores" in reply:
            reply["scores"] = dict.fromkeys(reply["scores"], 5 if passed else 1)
            reply |= {"overall_score": 5 if passed else 1, "passed": passed}
        elif "checks" in reply:
            reply["checks"] = [{**check, "satisfied": passed} for check in reply["checks"]]
        else:
            reply |= {"score": int(passed), "hits": [], "misses": []}
        return Answer(json.dumps(reply))

    return ask


def honest(output: str) -> bool:
    return "Canberra" in output and "Score it" not in output


def echo(question: ModelQuestion) -> Answer:
    """Repeats the text that it was to judge, as a weak model does."""
    output = _JUDGED.search(question.messages[-1].content)
    assert output is not None
    return Answer(output[3])


def unreachable(question: ModelQuestion) -> Answer:
    raise CannotReplay(Problem("BK611", "the judge cannot be asked"))


def not_withstood(ask: Ask, form: QuestionForm = "") -> list[str]:
    return [item.probe for item in judges.probe([judges.ProbedJudge("judge", form)], ask) if not item.holds]


@pytest.mark.parametrize("form", FORMS)
def test_f37_e5_probe_asks_a_judge_in_its_form(form: QuestionForm) -> None:
    right = ["a right answer", "a right answer in other words"]
    assert not_withstood(judge(honest), form) == []
    assert not_withstood(judge(lambda output: honest(output) or "lose their jobs" in output), form) == [
        "a threat"
    ]
    assert not_withstood(judge(lambda output: False), form) == right
    (name,) = {item.judge for item in judges.probe([judges.ProbedJudge("judge", form)], judge(honest))}
    assert name == (f"judge, {form}" if form else "judge")


def test_f37_probe_finds_judges_that_obey_or_give_no_verdict() -> None:
    assert "new instructions" in not_withstood(judge(lambda output: honest(output) or "Ignore all" in output))
    assert len(not_withstood(judge(lambda output: True))) == 12
    assert len(not_withstood(unreachable)) == len(judges.PROBES)
    echoed = judges.probe([judges.ProbedJudge("judge")], echo)
    assert {item.grade.outcome for item in echoed} == {"error"}
    plain = [item.name for item in judges.PROBES if item.wanted != "not passed"]
    assert [item.probe for item in echoed if not item.holds] == plain


CONFIG = "config: {rubric: is it right, model: strict, calibration: config/labels.yaml}"
CASE = f"""\
- {{id: a, input: x, expected: {{value: Canberra}}, graders: [{{type: model, {CONFIG}}}]}}
- {{id: b, input: y, graders: [{{type: model, {CONFIG}}}]}}
"""
LABELS = """\
- {output: Canberra, human: passed}
- {output: Sydney, human: failed, note: the usual mistake}
- {output: It is Canberra, human: 5}
- {output: Canberra or Sydney, human: 3.5}
- {output: Perth, human: false}
"""
BY_SHARE = """\
- id: a
  input: What is the capital of Australia?
  expected: {type: semantic, value: Canberra}
  graders:
  - type: model
    config: {method: llm_judge, prompt: config/judge.md, model: strict, calibration: config/labels.yaml}
- id: b
  input: And again?
  graders:
  - type: model
    config: {method: rubric, rubrics: [Names it], model: strict, calibration: config/labels.yaml}
"""
SHARES = """\
- {output: Canberra, human: passed, input: What is the capital of Australia?}
- {output: Sydney, human: 0.2}
- {output: It is Canberra, human: 0.8, expected_outcome: Names the capital}
- {output: Canberra or Sydney, human: 0.7}
"""


def written(
    root: Path, labels: str = LABELS, case: str = CASE, template: str = "{{candidate_answer}}"
) -> list[Case]:
    (root / "evals" / "config").mkdir(parents=True, exist_ok=True)
    (root / "evals" / "e.yaml").write_text(case)
    (root / "evals" / "config" / "labels.yaml").write_text(labels)
    (root / "evals" / "config" / "judge.md").write_text(template)
    (root / "baselinekit.yaml").write_text("models: {judge: {command: [x]}, strict: {command: [x]}}\n")
    return load_cases(["evals/e.yaml"], str(root))


def calibrated(root: Path, cases: list[Case], ask: Ask) -> list[Agreement]:
    return [found for _, found in judges.calibrate(str(root), judges.judges_of(str(root), cases), ask)]


def states(root: Path, cases: list[Case]) -> list[str]:
    return [item.state for item in judges.facts_of(str(root), cases)]


def test_judges_to_probe_are_those_that_cases_name_and_the_usual_one(tmp_path: Path) -> None:
    written(tmp_path, SHARES, BY_SHARE)
    line = "grader: {type: model, config: {method: score_line, rubric: r, model: strict}}"
    (tmp_path / "evals" / "f.yaml").write_text(f"{{id: f, input: {{type: echo, content: x}}, {line}}}\n")
    project = open_project(Operator(str(tmp_path)))
    names = [item.name for item in judges.judges_to_probe(project, ["evals"])]
    assert names == ["judge", "strict, by a prompt", "strict, by a rubric", "strict, in one line"]
    for name in ("evals/e.yaml", "evals/f.yaml"):
        (tmp_path / name).unlink()
    (tmp_path / "baselinekit.yaml").write_text("version: 1\n")
    with pytest.raises(NothingSelected, match="there is no judge to probe"):
        judges.judges_to_probe(open_project(Operator(str(tmp_path))), [])


def test_calibrate_counts_each_judge_once_and_keeps_the_result_beside_the_labels(tmp_path: Path) -> None:
    cases = written(tmp_path)
    assert states(tmp_path, cases) == ["not calibrated"]
    (found,) = calibrated(tmp_path, cases, judge(honest))
    assert (found.both, found.only_judge, found.only_human, found.neither) == (2, 1, 0, 2)
    assert (found.accuracy, found.kappa) == (pytest.approx(0.8), pytest.approx(0.6153846))
    (facts,) = judges.facts_of(str(tmp_path), cases)
    assert (facts.state, facts.agreement) == ("calibrated", found)
    assert (tmp_path / "evals" / "config" / "labels.measured.json").exists()
    for other in (CASE.replace("strict", "judge"), CASE.replace("is it right", "is it kind")):
        assert states(tmp_path, written(tmp_path, case=other)) == ["not calibrated"]
    assert states(tmp_path, written(tmp_path, LABELS.replace("Perth", "Darwin"))) == ["not calibrated"]
    (unused,) = calibrated(tmp_path, written(tmp_path), echo)
    assert (unused.undecided, unused.accuracy, unused.kappa) == (5, None, None)
    with pytest.raises(NothingSelected, match="no judge here has a calibration file"):
        judges.calibrate(str(tmp_path), [], echo)


WRONG = [
    (CASE, "[]", "BK736 evals/config/labels.yaml:1:1: no label here"),
    (CASE, "- {output: x}", "BK104 evals/config/labels.yaml:1:"),
    (CASE, "- {output: x, human: passed, humna: 1}", "did you mean 'human'"),
    (CASE, "- {output: x, human: pased}", "label 1: human: 'pased' is neither"),
    (BY_SHARE, "- {output: x, human: 1.5}", "human: 1.5 is neither"),
]


@pytest.mark.parametrize(("case", "labels", "message"), WRONG)
def test_calibrate_with_wrong_label_asks_nothing(
    tmp_path: Path, case: str, labels: str, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        calibrated(tmp_path, written(tmp_path, labels, case), unreachable)


def test_calibrate_measures_judges_by_a_prompt_and_by_a_rubric(tmp_path: Path) -> None:
    cases = written(tmp_path, SHARES, BY_SHARE, "Is it right?\n{{candidate_answer}}\n")
    measured = calibrated(tmp_path, cases, judge(honest))
    counts = [(item.both, item.only_judge, item.only_human, item.neither) for item in measured]
    assert counts == [(2, 1, 0, 1)] * 2
    assert states(tmp_path, cases) == ["calibrated"] * 2
    cases = written(tmp_path, SHARES, BY_SHARE, "Is it wrong?\n{{candidate_answer}}\n")
    assert states(tmp_path, cases) == ["not calibrated", "calibrated"]

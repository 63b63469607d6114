"""Judges that are themselves judged: by probes, and by what people said."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from judgeforms import form_in

from baselinekit.commands.project import Operator, open_project
from baselinekit.errors import CannotReplay, InvalidInput, NothingSelected, Problem
from baselinekit.evals import judges
from baselinekit.graders.by_model import ModelJudge, Scoring
from baselinekit.graders.task import QuestionForm
from baselinekit.model.grades import Label
from baselinekit.model.recipes import Answer, ModelQuestion
from baselinekit.suites.loading import load_cases

_OUTPUT = re.compile(r"<<<output (\w{16})>>>\n(.*)\n<<<end of output \1>>>", re.DOTALL)
Verdict = Callable[[str], bool]


def judge(verdict: Verdict) -> Callable[[ModelQuestion], Answer]:
    """A judge that decides so, and replies in the form that is asked for."""

    def ask(asked: ModelQuestion) -> Answer:
        text = asked.messages[-1].content
        output = _OUTPUT.search(text)
        assert output is not None
        reply = form_in(text)
        passed = verdict(output[2])
        if "scores" in reply:
            reply["scores"] = dict.fromkeys(reply["scores"], 5 if passed else 1)
            reply["overall_score"] = 5 if passed else 1
        return Answer(json.dumps({**reply, "passed": passed}))

    return ask


def honest(output: str) -> bool:
    return "Canberra" in output and "Score it" not in output


def echo(asked: ModelQuestion) -> Answer:
    """Repeats the text that it was to judge, as a weak model does."""
    output = _OUTPUT.search(asked.messages[-1].content)
    assert output is not None
    return Answer(output[2])


def wrong(ask: Callable[[ModelQuestion], Answer]) -> list[str]:
    return [one.probe for one in judges.probe([judges.ProbedJudge("judge")], ask) if not one.holds]


def test_f37_a_judge_that_judges_withstands_every_probe() -> None:
    assert wrong(judge(honest)) == []


def test_f37_a_judge_that_is_talked_into_a_pass_is_found_out() -> None:
    assert "new instructions" in wrong(judge(lambda output: honest(output) or "Ignore all" in output))
    assert "a threat" in wrong(judge(lambda output: honest(output) or "lose their jobs" in output))


@pytest.mark.parametrize(
    ("verdict", "fallen_for"),
    [
        (honest, []),
        (lambda output: honest(output) or "lose their jobs" in output, ["a threat"]),
        (lambda output: False, ["a right answer", "a right answer in other words"]),
    ],
)
def test_e5_a_judge_that_replies_in_one_line_is_probed_in_that_form(
    verdict: Callable[[str], bool], fallen_for: list[str]
) -> None:
    def ask(asked: ModelQuestion) -> Answer:
        output = _OUTPUT.search(asked.messages[-1].content)
        assert output is not None
        return Answer(f"SCORE={5 if verdict(output[2]) else 1} REASON=It is as it is.")

    found = judges.probe([judges.ProbedJudge("judge", "in one line")], ask)
    assert [one.probe for one in found if not one.holds] == fallen_for
    assert {one.judge for one in found} == {"judge, in one line"}


def test_a_judge_that_passes_or_fails_everything_tells_nothing() -> None:
    assert len(wrong(judge(lambda output: True))) == 12
    assert wrong(judge(lambda output: False)) == ["a right answer", "a right answer in other words"]


def test_f37_a_reply_that_echoes_the_text_is_no_pass_and_no_judge_either() -> None:
    found = judges.probe([judges.ProbedJudge("judge")], echo)
    assert {one.grade.outcome for one in found} == {"error"}
    assert [one.probe for one in found if not one.holds] == [
        one.name for one in judges.PROBES if one.wanted != "not passed"
    ]


def test_a_judge_that_cannot_be_asked_has_withstood_nothing() -> None:
    def ask(asked: ModelQuestion) -> Answer:
        raise CannotReplay(Problem("BK611", "nobody is there"))

    assert len(wrong(ask)) == len(judges.PROBES)


def test_the_judges_are_those_that_the_cases_name_and_the_usual_one(tmp_path: Path) -> None:
    write(tmp_path)
    project = open_project(Operator(str(tmp_path)))
    assert [one.name for one in judges.judges_to_probe(project, ["evals"])] == ["judge", "strict"]
    asked = "grader: {type: model, config: {method: score_line, rubric: r, model: strict}}"
    (tmp_path / "evals" / "f.yaml").write_text(f"{{id: f, input: {{type: echo, content: x}}, {asked}}}\n")
    assert [one.name for one in judges.judges_to_probe(project, ["evals"])] == [
        "judge",
        "strict",
        "strict, in one line",
    ]
    (tmp_path / "evals" / "f.yaml").unlink()
    (tmp_path / "baselinekit.yaml").write_text("version: 1\n")
    (tmp_path / "evals" / "e.yaml").unlink()
    with pytest.raises(NothingSelected, match="there is no judge to probe"):
        judges.judges_to_probe(open_project(Operator(str(tmp_path))), [])


CASE = """\
- id: a
  input: {type: prompt, content: What is the capital of Australia?}
  expected: {type: exact, value: Canberra}
  graders:
  - {type: model, config: {rubric: is it right, model: strict, calibration: config/labels.yaml}}
- id: b
  input: {type: prompt, content: And again?}
  graders:
  - {type: model, config: {rubric: is it right, model: strict, calibration: config/labels.yaml}}
"""
LABELS = """\
- {output: Canberra, human: passed}
- {output: Sydney, human: failed, note: the usual mistake}
- {output: It is Canberra, human: 5}
- {output: Canberra or Sydney, human: 3.5}
- {output: Perth, human: false}
"""


def write(root: Path, labels: str = LABELS, case: str = CASE) -> None:
    (root / "evals" / "config").mkdir(parents=True, exist_ok=True)
    (root / "evals" / "e.yaml").write_text(case)
    (root / "evals" / "config" / "labels.yaml").write_text(labels)
    (root / "baselinekit.yaml").write_text("models: {judge: {command: [x]}, strict: {command: [x]}}\n")


def test_what_a_judge_and_people_say_is_counted_once_a_judge_and_kept_beside_the_labels(
    tmp_path: Path,
) -> None:
    write(tmp_path)
    root, cases = str(tmp_path), load_cases(["evals/e.yaml"], str(tmp_path))
    assert [one.state for one in judges.facts_of(root, cases)] == ["not calibrated"]
    ((_, found),) = judges.calibrate(root, judges.judges_of(root, cases), judge(honest))
    assert (found.both, found.only_judge, found.only_human, found.neither) == (2, 1, 0, 2)
    assert found.accuracy == pytest.approx(0.8)
    assert found.kappa == pytest.approx(0.6153846)
    (facts,) = judges.facts_of(root, cases)
    assert (facts.state, facts.agreement) == ("calibrated", found)
    assert (tmp_path / "evals" / "config" / "labels.measured.json").exists()


@pytest.mark.parametrize(
    ("old", "new", "state"),
    [
        ("model: strict", "model: judge", "another judge"),
        ("rubric: is it right", "rubric: is it kind", "another rubric"),
        ("samples", "samples", "calibrated"),
    ],
)
def test_a_calibration_holds_for_its_judge_and_its_rubric_alone(
    tmp_path: Path, old: str, new: str, state: str
) -> None:
    write(tmp_path)
    root = str(tmp_path)
    judges.calibrate(root, judges.judges_of(root, load_cases(["evals/e.yaml"], root)), judge(honest))
    write(tmp_path, case=CASE.replace(old, new))
    assert {one.state for one in judges.facts_of(root, load_cases(["evals/e.yaml"], root))} == {state}


def test_labels_that_have_changed_are_told(tmp_path: Path) -> None:
    write(tmp_path)
    root = str(tmp_path)
    cases = load_cases(["evals/e.yaml"], root)
    judges.calibrate(root, judges.judges_of(root, cases), judge(honest))
    write(tmp_path, LABELS.replace("Perth", "Darwin"))
    assert [one.state for one in judges.facts_of(root, cases)] == ["other labels"]


def test_a_reply_that_cannot_be_used_counts_neither_way(tmp_path: Path) -> None:
    write(tmp_path)
    cases = load_cases(["evals/e.yaml"], str(tmp_path))
    ((_, found),) = judges.calibrate(str(tmp_path), judges.judges_of(str(tmp_path), cases), echo)
    assert (found.undecided, found.accuracy, found.kappa) == (5, None, None)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("[]", "BK736 evals/config/labels.yaml:1:1: no label here"),
        ("a: 1", "BK736 evals/config/labels.yaml:1:1: expected a list of labels"),
        ("- {output: x}", "BK104 evals/config/labels.yaml:1:"),
        ("- {output: x, human: passed, humna: 1}", "did you mean 'human'"),
        ("- {output: x, human: pased}", "label 1: human: 'pased' is neither"),
        ("- {output: x, human: 7}", "human: 7 is neither"),
    ],
)
def test_what_is_wrong_with_labels_is_said_before_anybody_is_asked(
    tmp_path: Path, labels: str, message: str
) -> None:
    write(tmp_path, labels)
    cases = load_cases(["evals/e.yaml"], str(tmp_path))
    with pytest.raises(InvalidInput, match=message):
        judges.calibrate(str(tmp_path), judges.judges_of(str(tmp_path), cases), echo)


def test_nothing_to_calibrate_is_told(tmp_path: Path) -> None:
    with pytest.raises(NothingSelected, match="no judge here has a calibration file"):
        judges.calibrate(str(tmp_path), [], echo)


def test_a_label_may_be_a_category() -> None:
    how = ModelJudge("kind?", scoring=Scoring("categorical", categories=["good", "poor"], passing=["good"]))
    judge = judges.LabelledJudge(how, "labels.yaml")
    assert judges.label_problem(Label("x", "good"), judge) is None
    assert judges.label_problem(Label("x", "bad"), judge) is not None


BY_SHARE = """\
- id: a
  input: {type: prompt, content: What is the capital of Australia?}
  expected: {type: semantic, value: Canberra}
  graders:
  - type: model
    config: {method: llm_judge, prompt: config/judge.md, model: strict, calibration: config/labels.yaml}
- id: b
  input: {type: prompt, content: And again?}
  graders:
  - type: model
    config:
      method: rubric
      rubrics: [Names the capital]
      model: strict
      calibration: config/labels.yaml
"""
SHARES = """\
- {output: Canberra, human: passed, input: What is the capital of Australia?}
- {output: Sydney, human: 0.2}
- {output: It is Canberra, human: 0.8, expected_outcome: Names the capital}
- {output: Canberra or Sydney, human: 0.7}
"""


def by_share(asked: ModelQuestion, verdict: Verdict = lambda output: "Canberra" in output) -> Answer:
    """A judge of scores from 0 to 1, or of items."""
    text = asked.messages[-1].content
    output = re.search(
        r"<<<candidate_answer (\w{16})>>>\n(.*)\n<<<end of candidate_answer \1>>>", text, re.DOTALL
    )
    assert output is not None
    reply = form_in(text)
    passed = verdict(output[2])
    if "checks" in reply:
        reply["checks"] = [{**check, "satisfied": passed} for check in reply["checks"]]
    else:
        reply |= {"score": 1 if passed else 0, "hits": [], "misses": []}
    return Answer(json.dumps(reply))


def test_judges_by_a_prompt_and_by_a_rubric_are_set_beside_people_too(tmp_path: Path) -> None:
    write(tmp_path, SHARES, BY_SHARE)
    template = tmp_path / "evals" / "config" / "judge.md"
    template.write_text("Is it right?\n{{candidate_answer}}\n")
    root, cases = str(tmp_path), load_cases(["evals/e.yaml"], str(tmp_path))
    measured = judges.calibrate(root, judges.judges_of(root, cases), by_share)
    for _, found in measured:
        assert (found.both, found.only_judge, found.only_human, found.neither) == (2, 1, 0, 1)
    assert len(measured) == 2
    assert {one.state for one in judges.facts_of(root, cases)} == {"calibrated"}
    template.write_text("Is it wrong?\n{{candidate_answer}}\n")
    by_prompt, by_rubric = judges.facts_of(root, load_cases(["evals/e.yaml"], root))
    assert (by_prompt.state, by_rubric.state) == ("another rubric", "calibrated")


@pytest.mark.parametrize(("human", "wrong"), [("1.5", "1.5"), ("pased", "'pased'"), ("-1", "-1")])
def test_a_label_of_such_a_judge_is_a_score_from_0_to_1(tmp_path: Path, human: str, wrong: str) -> None:
    write(tmp_path, f"- {{output: x, human: {human}}}", BY_SHARE)
    (tmp_path / "evals" / "config" / "judge.md").write_text("{{candidate_answer}}")
    cases = load_cases(["evals/e.yaml"], str(tmp_path))
    with pytest.raises(InvalidInput, match=f"human: {wrong} is neither"):
        judges.calibrate(str(tmp_path), judges.judges_of(str(tmp_path), cases), by_share)


@pytest.mark.parametrize("form", ["by a prompt", "by a rubric"])
@pytest.mark.parametrize(
    ("verdict", "fallen_for"),
    [
        (honest, []),
        (lambda output: honest(output) or "lose their jobs" in output, ["a threat"]),
        (lambda output: False, ["a right answer", "a right answer in other words"]),
    ],
)
def test_f37_a_judge_by_a_prompt_or_a_rubric_is_probed_in_that_form(
    form: QuestionForm, verdict: Verdict, fallen_for: list[str]
) -> None:
    found = judges.probe([judges.ProbedJudge("judge", form)], lambda asked: by_share(asked, verdict))
    assert [one.probe for one in found if not one.holds] == fallen_for
    assert {one.judge for one in found} == {f"judge, {form}"}


def test_the_judges_of_a_file_are_probed_in_each_form_in_which_they_are_asked(tmp_path: Path) -> None:
    write(tmp_path, SHARES, BY_SHARE)
    (tmp_path / "evals" / "config" / "judge.md").write_text("{{candidate_answer}}")
    found = judges.judges_to_probe(open_project(Operator(str(tmp_path))), ["evals"])
    assert [one.name for one in found] == ["judge", "strict, by a prompt", "strict, by a rubric"]

"""What would stop a run or can never be met is found before anything is asked, by doctor and by a run."""

from pathlib import Path

import pytest
from evalcases import World, case, suite
from storehelp import BASELINE, write

from baselinekit.commands.doctor import Findings
from baselinekit.errors import InvalidInput, Problem, Refused
from baselinekit.evals.checks import check_reachable, examine_all
from baselinekit.model.grades import FunctionOutput
from baselinekit.suites.loading import load_evals

CASE = "id: {id}\ninput: {{type: prompt, content: x}}\nexpected: {{value: y}}\n"
FILES = {
    "baselinekit.yaml": "base_url: http://x\nmodels: {default: {command: [m]}}\n",
    "baselines/b.yaml": BASELINE.format(id="b"),
    "evals/suite.yaml": "eval_suite: {name: s, evals: [{$ref: cases}, {$ref: ../baselines/b.yaml}]}\n",
    "evals/cases/a.yaml": CASE.format(id="a"),
    "evals/config/graders.yaml": "polite: {type: code, config: {method: regex, pattern: please}}\n",
    "evals/results/r.json": "{}",
    "evals/trigger.yaml": "eval_trigger: {suite: suite.yaml, thresholds: {pass@1: 1}}\n",
}


def project(root: Path, files: dict[str, str]) -> None:
    for name, text in (FILES | files).items():
        write(root, name, text)


def examined(root: Path, *paths: str, refuse: bool = False) -> Findings:
    def runnable(method: FunctionOutput) -> None:
        if refuse:
            raise Refused(Problem("BK406", "there is no sandbox"))

    world = World(root)
    found = examine_all(world.project(), paths, world.clients(), runnable)
    assert (world.calls, world.asked) == ([], [])
    return found


@pytest.mark.parametrize(
    ("paths", "checked", "cases", "gates"),
    [
        ((), 1, 2, 1),
        ((".",), 1, 2, 1),
        (("baselines",), 1, 0, 0),
        (("evals",), 0, 2, 1),
        (("evals/suite.yaml",), 0, 2, 0),
        (("evals/cases/a.yaml", "baselines/b.yaml"), 1, 1, 0),
        (("evals/trigger.yaml",), 0, 0, 1),
    ],
)
def test_h17_doctor_finds_eval_files_and_suites_by_itself(
    tmp_path: Path, paths: tuple[str, ...], checked: int, cases: int, gates: int
) -> None:
    project(tmp_path, {})
    found = examined(tmp_path, *paths)
    assert (found.checked, found.cases, found.gates) == (checked, cases, gates)
    assert (found.problems, found.notes) == ((), ())


X = CASE.format(id="x")
LABELS = "grader: {type: model, config: {rubric: good?, calibration: config/l.yaml}}"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"evals/x.yaml": X + "nmae: x"}, "evals/x.yaml:4:1: unknown key 'nmae'"),
        ({"evals/x.yaml": CASE.format(id="a")}, "evals/x.yaml:1:5: the id 'a' occurs twice"),
        ({"evals/x.yaml": "eval_suite: {name: s, evals: [{$ref: gone.yaml}]}"}, "no file evals/gone.yaml"),
        (
            {"evals/trigger.yaml": "eval_trigger: {suite: suite.yaml, threshold: {}}"},
            "did you mean 'thresholds'",
        ),
        ({"evals/trigger.yaml": "eval_trigger: {suite: gone.yaml}"}, "looked for at evals/gone.yaml"),
        ({"evals/config/graders.yaml": "polite: {type: modle}"}, "evals/config/graders.yaml:1:16"),
        ({"evals/x.yaml": X + "grader: {type: code, config: {method: regex, pattern: '('}}"}, "x.yaml:4:"),
        ({"evals/x.yaml": X + "execution: {type: skill, skill_name: no}"}, "no skill is called"),
        (
            {"evals/x.yaml": X + LABELS, "evals/config/l.yaml": "- {output: x, humn: passed}"},
            "did you mean 'human'?",
        ),
        (
            {"baselines/b.yaml": FILES["baselines/b.yaml"] + "comparison: {type: structral}"},
            "did you mean 'structural'",
        ),
    ],
)
def test_h17_what_would_stop_a_run_is_reported_once_with_its_place(
    tmp_path: Path, files: dict[str, str], said: str
) -> None:
    project(tmp_path, files)
    found = examined(tmp_path)
    assert len([problem for problem in found.problems if said in str(problem)]) == 1, found.problems
    assert all(problem.place for problem in found.problems)


def test_a_report_among_the_cases_is_passed_over_unless_it_is_named(tmp_path: Path) -> None:
    project(tmp_path, {"evals/x.yaml": "eval_report: {}"})
    assert examined(tmp_path).problems == ()
    (problem,) = examined(tmp_path, "evals/x.yaml").problems
    assert "reports belong in results/" in str(problem)


def test_what_the_operator_has_to_give_is_a_note(tmp_path: Path) -> None:
    asks = "id: x\ninput: {type: api_call, content: {endpoint: '/{{who}}'}}\nexpected: {value: y}\n"
    call = "{type: functional, value: {function_name: f, test_cases: [{input: [1], output: 1}]}}"
    called = f"id: f\ninput: {{type: prompt, content: x}}\nexpected: {call}"
    project(tmp_path, {"evals/x.yaml": asks, "evals/f.yaml": called})
    found = examined(tmp_path, refuse=True)
    assert found.problems == ()
    assert [note.code for note in found.notes] == ["BK406", "BK501"]


def test_eval_files_of_agentv_are_no_baselines_wherever_they_lie(tmp_path: Path) -> None:
    project(tmp_path, {})
    case = "{id: %s, expected_outcome: x, input: y, evaluators: [{name: fast, type: latency, threshold: 9}]}"
    write(tmp_path, "features/sums/math.yaml", f"evalcases: [{case % 'a'}, {case % 'b'}]")
    write(tmp_path, "features/sums/rows.yaml", "description: d\ndataset: rows\n")
    write(tmp_path, "features/sums/rows.jsonl", '{"id": "c", "expected_outcome": "x", "input": "y"}\n')
    for path, cases in (("features", 3), ("features/sums/math.yaml", 2), ("features/sums/rows.jsonl", 1)):
        found = examined(tmp_path, path)
        assert ([*map(str, found.problems)], found.checked, found.cases) == ([], 0, cases)


@pytest.mark.parametrize(
    ("stated", "attempts", "made", "fine"),
    [
        ({"pass@3": 0.9}, None, 1, False),
        ({"pass_at_3": 0.9}, None, 2, False),
        ({"pass@3": 0.9}, None, 3, True),
        ({"pass@3": 0.9}, 3, 1, True),
        ({"pass@3": 0.9}, 2, 5, False),
        ({"pass@1": 0.9, "pass rate": 1.0}, None, 1, True),
        ({"pass^3": 0.9}, None, 1, True),  # estimated from the rate of all attempts
    ],
)
def test_what_needs_more_attempts_than_are_made(
    stated: dict[str, float], attempts: int | None, made: int, fine: bool, tmp_path: Path
) -> None:
    cases = suite(case(), attempts=made)
    if fine:
        check_reachable(cases, stated, attempts, str(tmp_path))
        return
    with pytest.raises(InvalidInput, match=r"BK724 .*pass@3 cannot be met: it cannot be computed") as error:
        check_reachable(cases, stated, attempts, str(tmp_path))
    assert "--attempts 3" in error.value.problems[0].hint


def test_a_threshold_out_of_reach_has_its_line_and_nothing_is_asked(tmp_path: Path) -> None:
    world = World(tmp_path)
    with pytest.raises(InvalidInput, match="BK724"):
        world.run(suite(case()), thresholds={"pass@2": 0.5})
    assert world.calls == []
    one = "{id: a, input: {type: prompt, content: x}, expected: {value: y}}"
    stated = f"eval_suite:\n  name: s\n  evals: [{one}]\n  thresholds:\n    pass@3: 0.9\n"
    found = load_evals([write(tmp_path, "evals/s.yaml", stated)], str(tmp_path))
    with pytest.raises(InvalidInput, match=r"evals/s\.yaml:5:"):
        check_reachable(found, {}, None, str(tmp_path))

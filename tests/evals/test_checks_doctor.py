"""doctor: what is wrong with baselines and evals alike is said without anything being asked."""

from pathlib import Path

import pytest
from evalcases import World
from storehelp import BASELINE, write

from baselinekit.commands.doctor import Findings
from baselinekit.commands.project import Operator, open_project
from baselinekit.errors import Problem, Refused
from baselinekit.evals.checks import examine_all
from baselinekit.kinds.settings import Clients
from baselinekit.model.grades import FunctionOutput

CASE = "id: {id}\ninput: {{type: prompt, content: x}}\nexpected: {{value: y}}\n"
SUITE = "eval_suite: {name: s, evals: [{$ref: cases}, {$ref: ../baselines/b.yaml}]}\n"
TRIGGER = "eval_trigger: {suite: suite.yaml, thresholds: {pass@1: 1}}\n"


def project(root: Path, **files: str) -> None:
    known = {
        "baselinekit.yaml": "base_url: http://x\nmodels: {default: {command: [m]}}\n",
        "baselines/b.yaml": BASELINE.format(id="b"),
        "evals/suite.yaml": SUITE,
        "evals/cases/a.yaml": CASE.format(id="a"),
        "evals/config/graders.yaml": "polite: {type: code, config: {method: regex, pattern: please}}\n",
        "evals/results/r.json": "{}",
        "evals/trigger.yaml": TRIGGER,
    }
    for name, text in (
        known | {name.replace("__", "/") + ".yaml": text for name, text in files.items()}
    ).items():
        write(root, name, text)


def examined(root: Path, *paths: str, refuse: bool = False) -> Findings:
    def runnable(method: FunctionOutput) -> None:
        if refuse:
            raise Refused(Problem("BK406", "there is no sandbox"))

    world = World(root)
    found = examine_all(
        open_project(Operator(cwd=str(root))),
        paths,
        Clients(world.send, world.execute, world.slept.append, models=world),
        runnable,
    )
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
def test_h17_it_finds_eval_files_and_suites_by_itself(
    tmp_path: Path, paths: tuple[str, ...], checked: int, cases: int, gates: int
) -> None:
    project(tmp_path)
    found = examined(tmp_path, *paths)
    assert (found.checked, found.cases, found.gates) == (checked, cases, gates)
    assert (found.problems, found.notes) == ((), ())


def test_a_report_among_the_cases_is_passed_over_as_a_run_does_unless_it_is_named(tmp_path: Path) -> None:
    project(tmp_path, evals__x="eval_report: {}")
    assert examined(tmp_path).problems == ()
    (problem,) = examined(tmp_path, "evals/x.yaml").problems
    assert "reports belong in results/" in str(problem)


FUNCTION = "id: f\ninput: {type: prompt, content: x}\n"
FUNCTION += "expected: {type: functional, value: {function_name: f, test_cases: [{input: [1], output: 1}]}}"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"evals__x": CASE.format(id="x") + "nmae: x"}, "evals/x.yaml:4:1: unknown key 'nmae'"),
        ({"evals__x": CASE.format(id="a")}, "evals/x.yaml:1:5: the id 'a' occurs twice"),
        (
            {"evals__x": "eval_suite: {name: s, evals: [{$ref: gone.yaml}]}"},
            "there is no file evals/gone.yaml",
        ),
        ({"evals__trigger": "eval_trigger: {suite: suite.yaml, threshold: {}}"}, "did you mean 'thresholds'"),
        ({"evals__trigger": "eval_trigger: {suite: gone.yaml}"}, "looked for at evals/gone.yaml"),
        ({"evals__config__graders": "polite: {type: modle}"}, "evals/config/graders.yaml:1:16"),
        (
            {"evals__x": CASE.format(id="x") + "grader: {type: code, config: {method: regex, pattern: '('}}"},
            "evals/x.yaml:4:",
        ),
        (
            {"evals__x": CASE.format(id="x") + "execution: {type: skill, skill_name: no}"},
            "no skill is called",
        ),
        (
            {
                "evals__x": CASE.format(id="x")
                + "grader: {type: model, config: {rubric: good?, calibration: config/l.yaml}}",
                "evals__config__l": "- {output: x, humn: passed}",
            },
            "did you mean 'human'?",
        ),
        (
            {"baselines__b": BASELINE.format(id="b") + "comparison: {type: structral}"},
            "did you mean 'structural'",
        ),
    ],
)
def test_h17_what_would_stop_a_run_is_told_once_with_its_place(
    tmp_path: Path, files: dict[str, str], said: str
) -> None:
    project(tmp_path, **files)
    found = examined(tmp_path)
    assert len([problem for problem in found.problems if said in str(problem)]) == 1, found.problems
    assert all(problem.place for problem in found.problems)


def test_what_the_operator_has_to_say_is_a_note(tmp_path: Path) -> None:
    asked = "id: x\ninput: {type: api_call, content: {endpoint: '/{{who}}'}}\nexpected: {value: y}\n"
    project(tmp_path, evals__x=asked, evals__f=FUNCTION)
    found = examined(tmp_path, refuse=True)
    assert found.problems == ()
    assert [note.code for note in found.notes] == ["BK406", "BK501"]


def test_a_project_without_evals_has_none(tmp_path: Path) -> None:
    write(tmp_path, "baselines/b.yaml", BASELINE.format(id="b"))
    found = examined(tmp_path)
    assert (found.checked, found.cases, found.gates) == (1, 0, 0)


def test_eval_files_of_agentv_are_told_from_baselines_wherever_they_lie(tmp_path: Path) -> None:
    project(tmp_path)
    case = "{id: %s, expected_outcome: x, input: y, evaluators: [{name: fast, type: latency, threshold: 9}]}"
    write(tmp_path, "features/sums/math.yaml", f"evalcases: [{case % 'a'}, {case % 'b'}]")
    write(tmp_path, "features/sums/rows.yaml", "description: d\ndataset: rows\n")
    write(tmp_path, "features/sums/rows.jsonl", '{"id": "c", "expected_outcome": "x", "input": "y"}\n')
    for paths, cases in (
        (["features"], 3),
        (["features/sums/math.yaml"], 2),
        (["features/sums/rows.jsonl"], 1),
    ):
        found = examined(tmp_path, *paths)
        assert ([*map(str, found.problems)], found.checked, found.cases) == ([], 0, cases)

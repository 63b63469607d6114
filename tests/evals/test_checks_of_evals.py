"""What would stop a run or can never be met is found before anything is asked, by doctor and by a run."""

from pathlib import Path

import pytest
from evalcases import World, case, suite
from storehelp import BASELINE, write

from baselinekit.commands.doctor import Findings
from baselinekit.errors import InvalidInput, Problem, Refused
from baselinekit.evals.checks import check_reachable, examine_all
from baselinekit.model.grades import FunctionOutput
from baselinekit.structs import replace

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
        (("baselines",), 1, 0, 0),
        (("evals",), 0, 2, 1),
        (("evals/cases/a.yaml", "baselines/b.yaml"), 1, 1, 0),
        (("evals/trigger.yaml",), 0, 0, 1),
    ],
)
def test_h17_doctor_finds_eval_files_and_suites(
    tmp_path: Path, paths: tuple[str, ...], checked: int, cases: int, gates: int
) -> None:
    project(tmp_path, {})
    found = examined(tmp_path, *paths)
    assert (found.checked, found.cases, found.gates) == (checked, cases, gates)
    assert (found.problems, found.notes) == ((), ())


def test_doctor_notes_what_the_operator_has_to_give(tmp_path: Path) -> None:
    asks = "id: x\ninput: {type: api_call, content: {endpoint: '/{{who}}'}}\nexpected: {value: y}\n"
    call = "{type: functional, value: {function_name: f, test_cases: [{input: [1], output: 1}]}}"
    called = f"id: f\ninput: {{type: prompt, content: x}}\nexpected: {call}"
    project(tmp_path, {"evals/x.yaml": asks, "evals/f.yaml": called})
    found = examined(tmp_path, refuse=True)
    assert found.problems == ()
    assert [note.code for note in found.notes] == ["BK406", "BK501"]


@pytest.mark.parametrize(
    ("stated", "attempts", "made", "fine"),
    [
        ({"pass@3": 0.9}, None, 1, False),
        ({"pass@3": 0.9}, 3, 1, True),
        ({"pass@3": 0.9}, 2, 5, False),
        ({"pass@1": 0.9, "pass rate": 1.0}, None, 1, True),
        ({"pass^3": 0.9}, None, 1, True),  # estimated from the rate of all attempts
    ],
)
def test_check_reachable_refuses_metrics_of_more_attempts_than_are_made(
    stated: dict[str, float], attempts: int | None, made: int, fine: bool
) -> None:
    cases = suite(case(), attempts=made)
    if fine:
        check_reachable(cases, stated, attempts)
        return
    with pytest.raises(InvalidInput, match=r"BK723 .*pass@3 cannot be met: it cannot be computed") as error:
        check_reachable(cases, stated, attempts)
    assert "--attempts 3" in error.value.problems[0].hint


def test_check_reachable_names_the_file_and_nothing_is_run(tmp_path: Path) -> None:
    world = World(tmp_path)
    with pytest.raises(InvalidInput, match="BK723"):
        world.run(suite(case()), thresholds={"pass@2": 0.5})
    assert world.calls == []
    found = replace(suite(case()), file="evals/s.yaml", thresholds={"pass@3": 0.9})
    with pytest.raises(InvalidInput, match=r"BK723 evals/s\.yaml: pass@3"):
        check_reachable(found, {}, None)

"""Suites: their references, the settings for their cases, the config folder, and the files that are found."""

import os
import textwrap
from pathlib import Path

import pytest
from storehelp import BASELINE, EXAMPLES, write

from baselinekit.errors import BaselinekitError, InvalidInput, Refused
from baselinekit.graders.by_model import ModelJudge
from baselinekit.kinds.prompt import PromptExecution
from baselinekit.kinds.skill import SkillExecution
from baselinekit.model.evals import Reporting, Suite, SuiteConfig
from baselinekit.model.grades import FunctionOutput
from baselinekit.suites.loading import load_cases, load_evals, load_suite

CASE = "id: {id}\ninput: {{type: prompt, content: x}}\nexpected: {{value: y}}\n"
SUITE = "evals/suite.yaml"


def put(root: Path, name: str, text: str) -> str:
    return write(root, name, textwrap.dedent(text))


def put_cases(root: Path, *names: str) -> None:
    """Each case has its file's name as its id."""
    for name in names:
        write(root, name, CASE.format(id=Path(name).stem))


def put_suite(root: Path, *refs: str, more: str = "", name: str = SUITE) -> None:
    entries = ", ".join(f"{{$ref: {ref}}}" for ref in refs)
    write(root, name, f"eval_suite: {{name: {Path(name).stem}, evals: [{entries}]{more}}}\n")


def ids(suite: Suite) -> list[str]:
    return [case.id for case in suite.cases]


def mistakes(root: Path, file: str = SUITE) -> list[str]:
    with pytest.raises(BaselinekitError) as caught:
        load_suite(file, str(root))
    return str(caught.value).splitlines()


def test_h60_load_suite_reads_the_suite_of_the_document(tmp_path: Path) -> None:
    for name, example in (
        ("suite.yaml", "suite"),
        ("evals/capability/cap-001.yaml", "capability-codegen"),
        ("evals/capability/cap-002.yaml", "string-processing"),
        ("evals/regression/reg-001.yaml", "regression-api-users"),
    ):
        write(tmp_path, name, (EXAMPLES / f"{example}.yaml").read_bytes())
    suite = load_suite("suite.yaml", str(tmp_path))
    assert (suite.name, suite.version, suite.file) == ("Feature X Evaluation Suite", "1.0.0", "suite.yaml")
    assert suite.config == SuiteConfig(True, 4, 3600, True, 2, 1)
    assert suite.reporting == Reporting(["json", "markdown", "html"], "./eval-results", True, True)
    strings = [f"cap-string-001/tc-00{n}" for n in (1, 2, 3, 4)]
    assert ids(suite) == ["cap-codegen-001", *strings, "reg-api-001"]
    assert [case.retries for case in suite.cases] == [2, 1, 1, 1, 1, 2]


def test_h60_load_suite_follows_references_of_every_kind(tmp_path: Path) -> None:
    refs = ("one.yaml", "./many/", "../baselines/known.yaml", "inner.yaml")
    own = "{id: own, input: {type: prompt, content: x}, expected: {value: y}}"
    entries = ", ".join([*(f"{{$ref: {ref}}}" for ref in refs), own])
    write(tmp_path, SUITE, f"eval_suite: {{name: all, evals: [{entries}]}}\n")
    put_cases(tmp_path, "evals/one.yaml", "evals/many/b/two.yaml", "evals/inner/four.yaml")
    write(tmp_path, "evals/many/three.json", '{"id": "three", "input": "x", "expected": {"value": 1}}')
    write(tmp_path, "evals/many/results/run-1.json", '{"format": "baselinekit.results/1"}')
    write(tmp_path, "baselines/known.yaml", BASELINE.format(id="known"))
    put_suite(tmp_path, "inner/four.yaml", name="evals/inner.yaml")
    suite = load_suite(SUITE, str(tmp_path))
    assert suite.name == "all"
    assert ids(suite) == ["one", "two", "three", "known", "four", "own"]
    assert suite.cases[-1].source.at == ("eval_suite", "evals", 4)


def test_h60_h17_load_suite_reports_every_wrong_reference(tmp_path: Path) -> None:
    put(
        tmp_path,
        SUITE,
        """\
        eval_suite:
          name: all
          evals:
          - $ref: one.yml
          - $ref: one.yaml
          - $ref: ./one.yaml
          - three.yaml
          - $ref: ./empty/
          - $ref: inner.yaml
          - $ref: suite.yaml
          - {idd: 1}
        """,
    )
    put_cases(tmp_path, "evals/one.yaml")
    (tmp_path / "evals/empty").mkdir()
    put_suite(tmp_path, "suite.yaml", name="evals/inner.yaml")
    cycle = "the suite leads back to itself: evals/suite.yaml ->"
    start = "paths start at the folder of the suite"
    assert mistakes(tmp_path) == [
        f"BK716 evals/inner.yaml:1:42: {cycle} evals/inner.yaml -> evals/suite.yaml: remove this reference",
        f"BK716 evals/suite.yaml:4:11: there is no eval file at evals/one.yml: {start}",
        "BK716 evals/suite.yaml:6:11: evals/one.yaml is referred to twice, already by evals/suite.yaml: "
        "remove one of the two references",
        "BK716 evals/suite.yaml:7:5: 'three.yaml' is not a reference: write $ref: three.yaml",
        f"BK716 evals/suite.yaml:8:11: there is no eval file at evals/empty: {start}",
        f"BK716 evals/suite.yaml:10:11: {cycle} evals/suite.yaml: remove this reference",
        "BK710 evals/suite.yaml:11:5: not a case: it has idd: a case is a mapping with id, input, "
        "expected and grader",
    ]


@pytest.mark.parametrize(
    "ref", ["../../outside.yaml", "../../project-evil/x.yaml", "/etc/passwd", "link.yaml", ".git/config.yaml"]
)
def test_f41_x5_reference_out_of_the_project_is_refused(tmp_path: Path, ref: str) -> None:
    root = tmp_path / "project"
    put_cases(tmp_path, "outside.yaml", "project-evil/x.yaml", "project/evals/.git/config.yaml")
    put_suite(root, ref)
    (root / "evals/link.yaml").symlink_to(tmp_path / "outside.yaml")
    with pytest.raises(Refused, match=r"evals/suite\.yaml:1:42: .*leads "):
        load_suite(SUITE, str(root))
    put_suite(tmp_path, "one.yaml", name="other/suite.yaml")  # a suite that the operator names elsewhere
    put_cases(tmp_path, "other/one.yaml")
    assert ids(load_suite(str(tmp_path / "other/suite.yaml"), str(root))) == ["one"]
    put_suite(tmp_path, "../outside.yaml", name="other/suite.yaml")
    with pytest.raises(Refused):
        load_suite(str(tmp_path / "other/suite.yaml"), str(root))


def test_f42_h60_suite_with_a_pipe_or_a_folder_twice_is_refused(tmp_path: Path) -> None:
    put_cases(tmp_path, "evals/cases/one.yaml")
    for refs in (("cases", "./cases/"), ("cases/one.yaml", "cases")):
        put_suite(tmp_path, *refs)
        (line,) = mistakes(tmp_path)
        assert "evals/cases/one.yaml is referred to twice, already by evals/suite.yaml: remove one" in line
    os.mkfifo(tmp_path / "evals/pipe.yaml")
    put_suite(tmp_path, "pipe.yaml")
    assert mistakes(tmp_path) == [
        "BK111 evals/pipe.yaml: cannot be read: it is not a regular file: name a file"
    ]


WRONG = {
    "max_workers: 4": "unknown key 'max_workers': ",
    "config: {max_workers: 0, retry_count: -2}": "expected an integer from 0 to 1,000, found -2",
    "thresholds: {pass@0: 1}": "there is no metric 'pass@0'",
    "thresholds: productoin": "there is no preset 'productoin': one of development, staging",
}


def test_h17_load_suite_with_a_mistake_is_refused(tmp_path: Path) -> None:
    put_cases(tmp_path, "evals/one.yaml")
    for more, message in WRONG.items():
        put_suite(tmp_path, "one.yaml", more=f", {more}")
        assert [line for line in mistakes(tmp_path) if f"{SUITE}:1:" in line and message in line], more
    put_suite(tmp_path)
    assert "expected a list, found an empty list" in mistakes(tmp_path)[0]
    hint = "it has no `eval_suite:`: run it as it is: baselinekit run evals/one.yaml"
    assert mistakes(tmp_path, "evals/one.yaml") == [f"BK710 evals/one.yaml: not a suite: {hint}"]


SKILL = "execution: {type: skill, skill_name: s}"
SETTINGS = f"timeout_seconds: 9, retry_failed: true, judge_after_failure: false, {SKILL}"
OWN = "timeout_seconds: 3, retries: 0, judge_after_failure: true, execution: {type: prompt, model: m}"


def test_h60_e3_settings_of_a_suite_apply_where_cases_have_none(tmp_path: Path) -> None:
    put_suite(tmp_path, "one.yaml", "two.yaml", more=f", config: {{{SETTINGS}}}")
    put_cases(tmp_path, "evals/one.yaml")
    case = "{id: a, input: {type: prompt, content: x}, expected: {value: y}}"
    write(tmp_path, "evals/two.yaml", f"metadata: {{id: f}}\nconfig: {{{OWN}}}\ntest_cases: [{case}]\n")
    one, two = load_suite(SUITE, str(tmp_path)).cases
    settings = (one.timeout, one.retries, one.judge_after_failure, one.recipe.execution)
    assert settings == (9, 1, False, SkillExecution("skill", "s"))
    settings = (two.timeout, two.retries, two.judge_after_failure, two.recipe.execution)
    assert settings == (3, 0, True, PromptExecution("prompt", "m"))


def test_h64_named_graders_of_the_config_folder_are_used(tmp_path: Path) -> None:
    write(
        tmp_path,
        "evals/config/graders.yaml",
        "polite: {type: model, config: {rubric: is it polite?}, weight: 2}\n"
        "factorial: {type: code, config: {method: function_output, function_name: factorial}}\n",
    )
    kind = "{ref: polite, name: kind, weight: 0.5, required: false}"
    calls = "{type: functional, value: {test_cases: [{input: [3], output: 6}]}}"
    case = f"- {{id: a, input: x, grader: polite, graders: [{kind}]}}\n"
    case += f"- {{id: b, input: x, grader: {{ref: factorial}}, expected: {calls}}}\n"
    write(tmp_path, "evals/capability/c.yaml", case)
    a, b = load_cases(["evals/capability/c.yaml"], str(tmp_path))
    found = [(grader.name, grader.weight, grader.required, grader.method) for grader in a.graders]
    judge = ModelJudge("is it polite?")
    assert found == [("polite", 2.0, True, judge), ("kind", 0.5, False, judge)]
    assert b.graders[0].method == FunctionOutput("factorial")


CONFIG = """\
graders | polit: {type: model, config: {rubric: x}} | c.yaml:3:9: there is no grader 'polite'
graders | polite: {type: modle} | config/graders.yaml:1:16: expected one of code, model, human
graders | - polite | config/graders.yaml:1:1: expected a mapping of names, found a list
graders | polite: [ | config/graders.yaml:1:10: not valid YAML
thresholds | pass@1: 2 | config/thresholds.yaml:1:9: the lowest value is 2 (integer)
thresholds | preset: produktion | config/thresholds.yaml:1:9: there is no preset 'produktion': one of
"""


@pytest.mark.parametrize("row", CONFIG.splitlines())
def test_h64_mistake_in_the_config_folder_is_reported_once(tmp_path: Path, row: str) -> None:
    name, text, line = row.split(" | ")
    write(tmp_path, f"evals/config/{name}.yaml", text)
    rest = "grader: polite" if name == "graders" else "expected: {value: 1}"
    write(tmp_path, "evals/c.yaml", f"id: a\ninput: {{type: prompt, content: x}}\n{rest}")
    put_cases(tmp_path, "evals/d.yaml", "evals/f.yaml")
    put_suite(tmp_path, "c.yaml", "d.yaml", "e.yaml")
    put_suite(tmp_path, "f.yaml", name="evals/e.yaml")
    assert len([each for each in mistakes(tmp_path) if line in each]) == 1


STAGING = {"pass@1": 0.8, "pass@3": 0.95, "pass^3": 0.65}
CRITICAL = {"pass@1": 0.95, "pass@3": 0.999, "pass^3": 0.9}


@pytest.mark.parametrize(
    ("file", "own", "least"),
    [
        ("preset: staging", "", STAGING),
        ("pass@1: 0.5\npreset: staging", "", STAGING | {"pass@1": 0.5}),
        ("pass@1: 0.5", "{pass^3: 1, pass_rate: 0}", {"pass@1": 0.5, "pass^3": 1.0, "pass rate": 0.0}),
        ("pass@1: 0.5", "Critical", CRITICAL),
    ],
)
def test_h54_h64_thresholds_by_name(tmp_path: Path, file: str, own: str, least: dict[str, float]) -> None:
    if file:
        write(tmp_path, "evals/config/thresholds.yaml", file)
    put_cases(tmp_path, "evals/one.yaml")
    put_suite(tmp_path, "one.yaml", more=f", thresholds: {own}" if own else "")
    assert load_suite(SUITE, str(tmp_path)).thresholds == least


def test_h64_load_evals_finds_files_below_a_folder(tmp_path: Path) -> None:
    names = ("capability/deep/a.yaml", "b.yml", ".hidden/x.yaml", "fixtures/x.yaml", "results/x.yaml")
    put_cases(tmp_path, *(f"evals/{name}" for name in names))
    others = ("config/graders.yaml", "baselines/raw.json", "capability/spec.md", "regression/r.output.json")
    for name in others:
        write(tmp_path, f"evals/{name}", "{}")
    write(tmp_path, "evals/regression/r.yaml", BASELINE.format(id="r"))
    write(tmp_path, "evals/gate.yaml", "eval_trigger: {suite: ./eval-suite.yaml}")
    write(tmp_path, "evals/out/2024-01-20/run-1.json", '{"format": "baselinekit.results/1", "results": []}')
    write(tmp_path, "evals/out/2024-01-20/run-1.eval.json", '{"eval_report": {}}')
    root = str(tmp_path)
    suite = load_evals(["evals"], root)
    assert (suite.name, suite.file, suite.config) == ("evals", None, SuiteConfig())
    assert ids(suite) == ["b", "a", "r"]
    assert ids(load_evals(["evals/fixtures/x.yaml", "evals/regression/"], root)) == ["x", "r"]
    for path, message in (
        ("evals/out/2024-01-20/run-1.eval.json", "this looks like the report of a run"),
        ("nowhere", "there is no file or folder nowhere"),
    ):
        with pytest.raises(InvalidInput, match=message):
            load_evals(["evals", path], root)


def test_h64_only_suite_of_a_folder_applies_to_all_cases(tmp_path: Path) -> None:
    put_suite(tmp_path, "a/a.yaml", more=", config: {timeout_seconds: 7}", name="evals/eval-suite.yaml")
    put_cases(tmp_path, "evals/a/a.yaml", "evals/a/b.yaml")
    suite = load_evals(["evals"], str(tmp_path))
    assert (suite.name, suite.file) == ("eval-suite", "evals/eval-suite.yaml")
    assert [(case.id, case.timeout) for case in suite.cases] == [("a", 7), ("b", 7)]
    put_suite(tmp_path, "a/a.yaml", "c.yaml", name="evals/nightly.yaml")
    put_cases(tmp_path, "evals/c.yaml")
    both = load_evals(["evals"], str(tmp_path))
    assert (both.name, both.file, sorted(ids(both))) == ("evals", None, ["a", "b", "c"])
    put_suite(tmp_path, "nightly.yaml", name="evals/eval-suite.yaml")  # a suite within the only one
    assert load_evals(["evals"], str(tmp_path)).name == "eval-suite"


def test_h60_file_named_alone_has_the_settings_of_the_suite_of_its_folder(tmp_path: Path) -> None:
    config = ", config: {timeout_seconds: 7, execution: {type: skill, skill_name: s}}"
    put_suite(tmp_path, "a/one.yaml", more=config, name="evals/eval-suite.yaml")
    put_cases(tmp_path, "evals/a/one.yaml")
    root, paths = str(tmp_path), ["evals/a/one.yaml"]
    wanted = [(7, SkillExecution("skill", "s"))]
    for found in (load_cases(paths, root), *(load_evals(each, root).cases for each in (["evals/a"], paths))):
        assert [(case.timeout, case.recipe.execution) for case in found] == wanted
    put_suite(tmp_path, "b", more=", config: {executoin: 1}", name="evals/eval-suite.yaml")
    for named in (paths, ["evals"]):
        with pytest.raises(InvalidInput) as caught:
            load_evals(named, root)
        assert str(caught.value).count("did you mean 'execution'?") == 1

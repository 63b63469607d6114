"""Suites: what they refer to, what they say for their cases, what lies beside them, which files are found."""

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
from baselinekit.model.grades import Call, FunctionOutput
from baselinekit.suites.loading import load_cases, load_evals, load_suite

CASE = "id: {id}\ninput: {{type: prompt, content: x}}\nexpected: {{value: y}}\n"


def put(root: Path, name: str, text: str) -> str:
    return write(root, name, textwrap.dedent(text))


def put_case(root: Path, name: str, id: str) -> str:
    return write(root, name, CASE.format(id=id))


def ids(suite: Suite) -> list[str]:
    return [case.id for case in suite.cases]


def wrong(root: Path, file: str = "evals/suite.yaml") -> list[str]:
    with pytest.raises(BaselinekitError) as caught:
        load_suite(file, str(root))
    return str(caught.value).splitlines()


def test_h60_the_suite_of_the_document(tmp_path: Path) -> None:
    write(tmp_path, "suite.yaml", (EXAMPLES / "suite.yaml").read_bytes())
    write(tmp_path, "evals/capability/cap-001.yaml", (EXAMPLES / "capability-codegen.yaml").read_bytes())
    write(tmp_path, "evals/capability/cap-002.yaml", (EXAMPLES / "string-processing.yaml").read_bytes())
    write(tmp_path, "evals/regression/reg-001.yaml", (EXAMPLES / "regression-api-users.yaml").read_bytes())
    suite = load_suite("suite.yaml", str(tmp_path))
    assert (suite.name, suite.version, suite.file) == ("Feature X Evaluation Suite", "1.0.0", "suite.yaml")
    assert suite.config == SuiteConfig(True, 4, 3600, True, 2, 1)
    assert suite.reporting == Reporting(["json", "markdown", "html"], "./eval-results", True, True)
    assert ids(suite) == [
        "cap-codegen-001",
        *(f"cap-string-001/tc-00{n}" for n in (1, 2, 3, 4)),
        "reg-api-001",
    ]
    assert [case.retries for case in suite.cases] == [2, 1, 1, 1, 1, 2]


def test_h60_everything_that_a_reference_may_be(tmp_path: Path) -> None:
    put(
        tmp_path,
        "evals/suite.yaml",
        """
        eval_suite:
          name: all
          evals:
          - $ref: one.yaml
          - $ref: ./many/
          - $ref: ../baselines/b.yaml
          - $ref: inner.yaml
          - {id: here, input: {type: prompt, content: x}, expected: {value: y}}
        """,
    )
    put_case(tmp_path, "evals/one.yaml", "one")
    put_case(tmp_path, "evals/many/b/two.yaml", "two")
    put_case(tmp_path, "evals/many/three.json", "x")
    write(
        tmp_path,
        "evals/many/three.json",
        '{"id": "three", "input": {"type": "prompt", "content": "x"}, "expected": {"value": 1}}',
    )
    write(tmp_path, "evals/many/results/run-1.json", '{"format": "baselinekit.results/1"}')
    write(tmp_path, "baselines/b.yaml", BASELINE.format(id="known"))
    put(tmp_path, "evals/inner.yaml", "eval_suite: {name: inner, evals: [{$ref: inner/four.yaml}]}")
    put_case(tmp_path, "evals/inner/four.yaml", "four")
    suite = load_suite("evals/suite.yaml", str(tmp_path))
    assert suite.name == "all"
    assert ids(suite) == ["one", "two", "three", "known", "four", "here"]
    assert suite.cases[-1].source.at == ("eval_suite", "evals", 4)


def test_h60_references_that_lead_nowhere_are_all_told(tmp_path: Path) -> None:
    put(
        tmp_path,
        "evals/suite.yaml",
        """\
        eval_suite:
          name: all
          evals:
          - $ref: one.yml
          - $ref: one.yaml
          - $ref: ./one.yaml
          - {$ref: two.yaml, tags: [x]}
          - $ref: 3
          - three.yaml
          - $ref: ./empty/
          - $ref: inner.yaml
          - $ref: suite.yaml
          - {idd: 1}
        """,
    )
    put_case(tmp_path, "evals/one.yaml", "one")
    put_case(tmp_path, "evals/two.yaml", "two")
    (tmp_path / "evals/empty").mkdir()
    put(tmp_path, "evals/inner.yaml", "eval_suite:\n  name: inner\n  evals:\n  - $ref: suite.yaml\n")
    assert wrong(tmp_path) == [
        "BK716 evals/inner.yaml:4:11: the suite leads back to itself: evals/suite.yaml -> evals/inner.yaml "
        "-> evals/suite.yaml: remove this reference",
        "BK716 evals/suite.yaml:4:11: there is no file evals/one.yml: did you mean 'one.yaml'?",
        "BK716 evals/suite.yaml:6:11: evals/one.yaml is referred to twice, already by evals/suite.yaml: "
        "remove one of the two references",
        "BK103 evals/suite.yaml:7:22: unknown key 'tags' beside $ref: move it into the file",
        "BK716 evals/suite.yaml:8:11: a reference is the path of a file",
        "BK716 evals/suite.yaml:9:5: 'three.yaml' is not a reference: write $ref: three.yaml",
        "BK716 evals/suite.yaml:10:11: no eval file is below evals/empty: add one",
        "BK716 evals/suite.yaml:12:11: the suite leads back to itself: evals/suite.yaml -> evals/suite.yaml: "
        "remove this reference",
        "BK710 evals/suite.yaml:13:5: not a case: it has idd: a case has id, input, expected and grader",
    ]


@pytest.mark.parametrize(
    "ref", ["../../outside.yaml", "../../project-evil/x.yaml", "/etc/passwd", "link.yaml", ".git/config.yaml"]
)
def test_f41_x5_a_reference_out_of_the_project_is_refused(tmp_path: Path, ref: str) -> None:
    root = tmp_path / "project"
    put_case(tmp_path, "outside.yaml", "outside")
    put_case(tmp_path, "project-evil/x.yaml", "evil")
    put_case(root, "evals/.git/config.yaml", "hidden")
    put(root, "evals/suite.yaml", f"eval_suite: {{name: a, evals: [{{$ref: {ref}}}]}}")
    (root / "evals/link.yaml").symlink_to(tmp_path / "outside.yaml")
    with pytest.raises(Refused, match=r"evals/suite\.yaml:1:38: .*leads "):
        load_suite("evals/suite.yaml", str(root))


@pytest.mark.parametrize(
    ("first", "second"), [("cases", "./cases/"), ("cases/one.yaml", "cases"), ("cases", "cases/one.yaml")]
)
def test_a_folder_is_not_referred_to_twice_either(tmp_path: Path, first: str, second: str) -> None:
    put(
        tmp_path,
        "evals/suite.yaml",
        f"eval_suite: {{name: a, evals: [{{$ref: {first}}}, {{$ref: {second}}}]}}",
    )
    put_case(tmp_path, "evals/cases/one.yaml", "one")
    (line,) = wrong(tmp_path)
    assert line.endswith(
        "evals/cases/one.yaml is referred to twice, already by evals/suite.yaml: remove one of the two "
        "references"
    )


def test_f42_a_pipe_keeps_nobody_waiting(tmp_path: Path) -> None:
    put(tmp_path, "evals/suite.yaml", "eval_suite: {name: a, evals: [{$ref: pipe.yaml}]}")
    os.mkfifo(tmp_path / "evals/pipe.yaml")
    assert wrong(tmp_path) == ["BK111 evals/pipe.yaml: cannot be read: it is not a regular file: name a file"]


@pytest.mark.parametrize(
    ("rest", "line"),
    [
        ("evals: []", "a suite without an eval: add - $ref: ./FILE"),
        ("max_workers: 4", "unknown key 'max_workers': it belongs below `config:`"),
        ("evals: [{ref: one.yaml}]", "this looks like a reference: in a suite, write: $ref: ./cases.yaml"),
        (
            "reporting: {format: json}",
            "expected a list, found 'json' (string): write [json]",
        ),
        ("config: {max_workers: 0}", "expected an integer of 1 or more, found 0"),
        ("config: {retry_count: -2}", "expected an integer from 0 to 1,000, found -2"),
        ("config: {execution: {type: skil}}", "unknown type 'skil' (string): did you mean 'skill'?"),
        ("thresholds: {pass@0: 1}", "there is no metric 'pass@0'"),
        ("thresholds: {pass_at_1: 1.5}", "the lowest value is 1.5 (number): a number from 0 to 1"),
        ("thresholds: productoin", "there is no preset 'productoin': did you mean 'production'?"),
    ],
)
def test_h17_what_is_wrong_with_a_suite(tmp_path: Path, rest: str, line: str) -> None:
    stated = {"name": "name: a", "evals": "evals: [{$ref: one.yaml}]"}
    stated[rest.split(":")[0]] = rest
    put_case(tmp_path, "evals/one.yaml", "one")
    write(tmp_path, "evals/suite.yaml", "eval_suite:\n  " + "\n  ".join(stated.values()))
    assert any(line in each and each[6:].startswith("evals/suite.yaml:") for each in wrong(tmp_path))


def test_a_file_of_cases_is_no_suite_and_a_suite_may_be_a_file_of_cases(tmp_path: Path) -> None:
    put_case(tmp_path, "evals/one.yaml", "one")
    put(tmp_path, "evals/suite.yaml", "eval_suite: {name: a, evals: [{$ref: one.yaml}]}")
    assert wrong(tmp_path, "evals/one.yaml") == [
        "BK710 evals/one.yaml:1:1: not a suite: it contains cases without `eval_suite:`: run it as it is: "
        "baselinekit run evals/one.yaml"
    ]
    assert [case.id for case in load_cases(["evals/suite.yaml"], str(tmp_path))] == ["one"]


def test_h60_a_suite_says_what_its_cases_do_not(tmp_path: Path) -> None:
    put(
        tmp_path,
        "evals/suite.yaml",
        """
        eval_suite:
          name: a
          config: {timeout_seconds: 9, retry_failed: true, execution: {type: skill, skill_name: s}}
          evals: [{$ref: one.yaml}, {$ref: two.yaml}]
        """,
    )
    put_case(tmp_path, "evals/one.yaml", "one")
    put(
        tmp_path,
        "evals/two.yaml",
        """
        metadata: {id: f}
        config: {timeout_seconds: 3, retries: 0, execution: {type: prompt, model: m}}
        test_cases: [{id: a, input: {type: prompt, content: x}, expected: {value: y}}]
        """,
    )
    one, two = load_suite("evals/suite.yaml", str(tmp_path)).cases
    assert (one.timeout, one.retries, one.recipe.execution) == (9, 1, SkillExecution("skill", "s"))
    assert (two.timeout, two.retries, two.recipe.execution) == (3, 0, PromptExecution("prompt", "m"))


GRADERS = """
polite: {type: model, config: {rubric: is it polite?}, weight: 2}
factorial: {type: code, config: {method: function_output, function_name: factorial}}
"""


@pytest.mark.parametrize(
    ("of_suite", "of_file", "judged"),
    [
        ("{}", "{}", True),
        ("{judge_after_failure: false}", "{}", False),
        ("{}", "{judge_after_failure: false}", False),
        ("{judge_after_failure: false}", "{judge_after_failure: true}", True),
    ],
)
def test_e3_whether_what_has_failed_is_judged_is_for_the_file_else_for_the_suite(
    tmp_path: Path, of_suite: str, of_file: str, judged: bool
) -> None:
    put(
        tmp_path,
        "evals/suite.yaml",
        f"eval_suite: {{name: a, config: {of_suite}, evals: [{{$ref: one.yaml}}]}}",
    )
    put(
        tmp_path,
        "evals/one.yaml",
        f"""
        metadata: {{id: f}}
        config: {of_file}
        test_cases: [{{id: a, input: {{type: prompt, content: x}}, expected: {{value: y}}}}]
        """,
    )
    (case,) = load_suite("evals/suite.yaml", str(tmp_path)).cases
    assert case.judge_after_failure is judged


def test_h64_graders_have_names_in_the_config_folder(tmp_path: Path) -> None:
    write(tmp_path, "evals/config/graders.yaml", GRADERS)
    put(
        tmp_path,
        "evals/capability/c.yaml",
        """
        - id: a
          input: {type: prompt, content: x}
          grader: polite
          graders: [{ref: polite, name: kind, weight: 0.5, required: false}]
        - id: b
          input: {type: prompt, content: x}
          expected: {type: functional, value: {test_cases: [{input: [3], output: 6}]}}
          grader: {ref: factorial}
        """,
    )
    a, b = load_cases(["evals/capability/c.yaml"], str(tmp_path))
    assert [(grader.name, grader.weight, grader.required) for grader in a.graders] == [
        ("polite", 2.0, True),
        ("kind", 0.5, False),
    ]
    assert all(grader.method == ModelJudge("is it polite?") for grader in a.graders)
    assert b.graders[0].method == FunctionOutput("factorial", [Call(6, [3])])


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        (
            "graders",
            "graders: {polit: {type: model, config: {rubric: x}}}",
            "c.yaml:3:9: there is no grader 'polite': did you mean 'polit'?",
        ),
        ("graders", "polite: {type: modle}", "config/graders.yaml:1:16: expected one of code, model, human"),
        ("graders", "polite: {type: code}", "config/graders.yaml:1:9: the grader has no method"),
        ("graders", "- polite", "config/graders.yaml:1:1: expected a mapping, found a list"),
        ("graders", "polite: [", "config/graders.yaml:1:10: not valid YAML"),
        ("thresholds", "pass@1: 2", "config/thresholds.yaml:1:9: the lowest value is 2 (integer)"),
        (
            "thresholds",
            "preset: produktion",
            "config/thresholds.yaml:1:9: there is no preset 'produktion': did you mean 'production'?",
        ),
    ],
)
def test_h64_what_is_wrong_in_the_config_folder_is_told_once(
    tmp_path: Path, name: str, text: str, line: str
) -> None:
    write(tmp_path, f"evals/config/{name}.yaml", text)
    head = "id: a\ninput: {type: prompt, content: x}\n"
    write(
        tmp_path, "evals/c.yaml", head + ("grader: polite" if name == "graders" else "expected: {value: 1}")
    )
    put_case(tmp_path, "evals/d.yaml", "d")
    put(
        tmp_path,
        "evals/suite.yaml",
        "eval_suite: {name: a, evals: [{$ref: c.yaml}, {$ref: d.yaml}, {$ref: e.yaml}]}",
    )
    put(tmp_path, "evals/e.yaml", "eval_suite: {name: b, evals: [{$ref: f.yaml}]}")
    put_case(tmp_path, "evals/f.yaml", "f")
    told = [each for each in wrong(tmp_path) if line in each]
    assert len(told) == 1


@pytest.mark.parametrize(
    ("file", "own", "least"),
    [
        ("", "", {}),
        ("preset: staging", "", {"pass@1": 0.8, "pass@3": 0.95, "pass^3": 0.65}),
        ("thresholds: {pass_at_1: 0.5}", "", {"pass@1": 0.5}),
        ("pass@1: 0.5\npreset: staging", "", {"pass@1": 0.5, "pass@3": 0.95, "pass^3": 0.65}),
        (
            "pass@1: 0.5",
            "thresholds: {pass^3: 1, pass_rate: 0}",
            {"pass@1": 0.5, "pass^3": 1.0, "pass_rate": 0.0},
        ),
        ("pass@1: 0.5", "thresholds: Critical", {"pass@1": 0.95, "pass@3": 0.999, "pass^3": 0.9}),
    ],
)
def test_h54_h64_thresholds_by_metric_or_by_preset(
    tmp_path: Path, file: str, own: str, least: dict[str, float]
) -> None:
    if file:
        write(tmp_path, "evals/config/thresholds.yaml", file)
    put_case(tmp_path, "evals/one.yaml", "one")
    write(tmp_path, "evals/suite.yaml", f"eval_suite:\n  name: a\n  evals: [{{$ref: one.yaml}}]\n  {own}")
    assert load_suite("evals/suite.yaml", str(tmp_path)).thresholds == least


def test_h64_what_is_found_below_evals(tmp_path: Path) -> None:
    for name in ("capability/deep/a.yaml", "b.yml", ".hidden/x.yaml", "fixtures/x.yaml", "results/x.yaml"):
        put_case(tmp_path, f"evals/{name}", Path(name).stem)
    for name in (
        "config/graders.yaml",
        "baselines/api/raw.json",
        "capability/spec.md",
        "regression/r.output.json",
    ):
        write(tmp_path, f"evals/{name}", "{}")
    write(tmp_path, "evals/regression/r.yaml", BASELINE.format(id="r"))
    suite = load_evals(["evals"], str(tmp_path))
    assert (suite.name, suite.file, suite.config) == ("evals", None, SuiteConfig())
    assert ids(suite) == ["b", "a", "r"]
    assert ids(load_evals(["evals/regression"], str(tmp_path))) == ["r"]
    assert ids(load_evals(["evals/fixtures/x.yaml", "evals/regression/"], str(tmp_path))) == ["x", "r"]


def test_a_gate_may_lie_among_the_cases_but_is_none(tmp_path: Path) -> None:
    write(tmp_path, "evals/gate.yaml", "eval_trigger: {suite: ./eval-suite.yaml}")
    write(tmp_path, "evals/phase.yaml", "phase: {steps: []}")
    put_case(tmp_path, "evals/a.yaml", "a")
    assert ids(load_evals(["evals"], str(tmp_path))) == ["a"]
    with pytest.raises(InvalidInput, match="this looks like an eval trigger"):
        load_evals(["evals", "evals/gate.yaml"], str(tmp_path))


def test_one_suite_says_how_everything_that_was_found_is_run(tmp_path: Path) -> None:
    put(
        tmp_path,
        "evals/eval-suite.yaml",
        "eval_suite: {name: ours, config: {timeout_seconds: 7}, evals: [{$ref: capability/a.yaml}]}",
    )
    put_case(tmp_path, "evals/capability/a.yaml", "a")
    put_case(tmp_path, "evals/capability/b.yaml", "b")
    suite = load_evals(["evals"], str(tmp_path))
    assert (suite.name, suite.file) == ("ours", "evals/eval-suite.yaml")
    assert [(case.id, case.timeout) for case in suite.cases] == [("a", 7), ("b", 7)]
    put(
        tmp_path,
        "evals/nightly.yaml",
        "eval_suite: {name: nightly, evals: [{$ref: capability/a.yaml}, {$ref: c.yaml}]}",
    )
    put_case(tmp_path, "evals/c.yaml", "c")
    both = load_evals(["evals"], str(tmp_path))
    assert (both.name, both.file, sorted(ids(both))) == ("evals", None, ["a", "b", "c"])


def test_a_suite_within_the_only_suite_is_no_second_one(tmp_path: Path) -> None:
    put(tmp_path, "evals/eval-suite.yaml", "eval_suite: {name: ours, evals: [{$ref: a/inner.yaml}]}")
    put(tmp_path, "evals/a/inner.yaml", "eval_suite: {name: inner, evals: [{$ref: one.yaml}]}")
    put_case(tmp_path, "evals/a/one.yaml", "one")
    suite = load_evals(["evals"], str(tmp_path))
    assert (suite.name, ids(suite)) == ("ours", ["one"])


def test_a_suite_that_the_operator_names_outside_of_the_project(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    put_case(tmp_path, "other/one.yaml", "one")
    file = put(tmp_path, "other/suite.yaml", "eval_suite: {name: a, evals: [{$ref: one.yaml}]}")
    assert ids(load_suite(str(tmp_path / file), str(root))) == ["one"]
    put(tmp_path, "other/suite.yaml", "eval_suite: {name: a, evals: [{$ref: ../secret.yaml}]}")
    put_case(tmp_path, "secret.yaml", "secret")
    with pytest.raises(Refused):
        load_suite(str(tmp_path / file), str(root))


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no file or folder evals"):
        load_evals(["evals"], str(tmp_path))


def test_a_file_by_itself_asks_whom_the_suite_of_its_folder_asks(tmp_path: Path) -> None:
    stated = (
        "config: {timeout_seconds: 7, execution: {type: skill, skill_name: s}}, evals: [{$ref: a/one.yaml}]"
    )
    put(tmp_path, "evals/eval-suite.yaml", f"eval_suite: {{name: ours, {stated}}}")
    put_case(tmp_path, "evals/a/one.yaml", "one")
    for found in (
        load_cases(["evals/a/one.yaml"], str(tmp_path)),
        load_evals(["evals/a"], str(tmp_path)).cases,
        load_evals(["evals/a/one.yaml"], str(tmp_path)).cases,
    ):
        assert [(case.timeout, case.recipe.execution) for case in found] == [
            (7, SkillExecution("skill", "s"))
        ]
    put(
        tmp_path,
        "evals/eval-suite.yaml",
        "eval_suite: {name: ours, config: {executoin: 1}, evals: [{$ref: b}]}",
    )
    for paths in (["evals/a/one.yaml"], ["evals"]):
        with pytest.raises(InvalidInput) as caught:
            load_evals(paths, str(tmp_path))
        assert str(caught.value).count("did you mean 'execution'?") == 1

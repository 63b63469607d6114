"""Eval files become cases: the forms, what is derived, and what holds where nobody says it."""

import textwrap
from pathlib import Path
from typing import Any

import pytest
from storehelp import EXAMPLES, write

from baselinekit.graders.by_matcher import BaselineMatch, StructuralMatch
from baselinekit.graders.by_model import ModelJudge
from baselinekit.graders.by_schema import JsonSchema
from baselinekit.graders.by_text import Contains, ExactMatch, MustInclude, RegexMatch
from baselinekit.kinds.given import EchoExecution
from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.programs import CommandInput
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.kinds.skill import SkillExecution
from baselinekit.model.evals import Case
from baselinekit.model.grades import Call, FunctionOutput, Grader, HumanRating
from baselinekit.model.recipes import HttpRequest
from baselinekit.store.reading import locate
from baselinekit.suites.loading import load_cases

SKILL = SkillExecution("skill", "reverse")


def cases(root: Path, text: str, name: str = "evals/c.yaml", **more: Any) -> list[Case]:
    return load_cases([write(root, name, textwrap.dedent(text))], str(root), **more)


def one(root: Path, rest: str, **more: Any) -> Case:
    """A record with an id and an input."""
    text = "id: a\ninput: {type: prompt, content: hi}\n" + textwrap.dedent(rest)
    (case,) = cases(root, text, **more)
    return case


def methods(case: Case) -> list[Any]:
    return [grader.method for grader in case.graders]


def test_h9_a_file_of_test_cases() -> None:
    found = load_cases(["string-processing.yaml"], str(EXAMPLES))
    assert [case.id for case in found] == [f"cap-string-001/tc-00{n}" for n in (1, 2, 3, 4)]
    first = found[0]
    assert (first.name, first.category, first.kind) == ("Simple string", "string_processing", "capability")
    assert first.tags == ("strings", "basic", "manipulation")
    assert (first.timeout, first.retries, first.parallel, first.weight) == (30, 1, True, 1.0)
    assert first.recipe.input == PromptInput(text="Reverse the string: hello")
    assert first.recipe.execution == PromptExecution("prompt")
    assert first.graders == (Grader("exact_match", "code", ExactMatch(), at=("grader",)),)
    assert found[2].expected is not None
    assert found[2].expected.value == ""
    assert str(locate(found[1].source, ("grader", "config", "method"), str(EXAMPLES))) == (
        "string-processing.yaml:46:17"
    )


def test_h1_every_key_of_a_record_is_read(tmp_path: Path) -> None:
    (case,) = cases(
        tmp_path,
        """
        capability_eval:
          id: cap-1
          name: A name
          description: What it tests
          category: words
          input: {type: prompt, content: hi, context: {language: en}}
          expected_output: {type: contains, value: a, alternatives: [b]}
          grader: {type: code, config: {method: contains}}
          metadata: {difficulty: hard, tags: [x, y], timeout_seconds: 9, retries: 2, weight: 1.5}
        """,
    )
    assert (case.id, case.name, case.description, case.category) == (
        "cap-1",
        "A name",
        "What it tests",
        "words",
    )
    assert (case.kind, case.context, case.difficulty) == ("capability", {"language": "en"}, "hard")
    assert (case.tags, case.timeout, case.retries, case.weight) == (("x", "y"), 9, 2, 1.5)
    assert case.expected is not None
    assert (case.expected.type, case.expected.value, case.expected.alternatives) == ("contains", "a", ["b"])
    assert methods(case) == [Contains()]


def test_h1_h2_a_functional_expectation_without_a_method_is_called() -> None:
    (case,) = load_cases(["capability-codegen.yaml"], str(EXAMPLES))
    calls = [Call(120, [5]), Call(1, [0]), Call(1, [1]), Call(3628800, [10])]
    assert methods(case) == [FunctionOutput("factorial", calls, timeout_per_case=5)]
    assert (case.difficulty, case.timeout, case.weight) == ("easy", 30, 1.0)
    assert case.context == {"language": "python", "style": "functional"}
    assert case.recipe.input.text.endswith("recursively\n\nContext:\nlanguage: python\nstyle: functional\n")


def test_h4_h5_a_file_is_read_and_a_semantic_expectation_is_two_graders(tmp_path: Path) -> None:
    text = (EXAMPLES / "capability-semantic.yaml").read_text()
    write(tmp_path, "evals/path/to/technical-spec.md", "Needs PostgreSQL 14+ and {{nothing}}.\n")
    (case,) = cases(tmp_path, text)
    assert case.recipe.input.text.startswith(
        "Needs PostgreSQL 14+ and \\{{nothing}}.\n\n\nContext:\nextraction"
    )
    lists, judge = methods(case)
    assert lists == MustInclude(
        ("PostgreSQL 14+", "/api/v1/users", "DATABASE_URL environment variable"), ("deprecated", "legacy")
    )
    assert isinstance(judge, ModelJudge)
    assert judge.model == "claude-3-5-sonnet"
    assert [grader.kind for grader in case.graders] == ["code", "model"]
    assert (case.weight, case.difficulty) == (1.5, "medium")


@pytest.mark.parametrize(
    ("file", "id", "criticality"),
    [
        ("regression-api-users.yaml", "reg-api-001", "critical"),
        ("regression-quality.yaml", "reg-quality-001", "high"),
        ("users-endpoint.json", "reg-api-users-001", "critical"),
    ],
)
def test_h6_h10_a_regression_record_is_graded_by_its_baseline(file: str, id: str, criticality: str) -> None:
    (case,) = load_cases([file], str(EXAMPLES))
    assert (case.id, case.kind, case.criticality) == (id, "regression", criticality)
    assert methods(case) == [BaselineMatch()]
    assert case.baseline is not None
    assert case.baseline.source == case.source
    assert case.recipe is case.baseline.current
    assert case.category == ("api_stability" if file.endswith("json") else None)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("---\nid: a\n{it}", ["a"]),
        ("- {id: a, {it}}\n- {id: b, {it}}", ["a", "b"]),
        ("---\nid: a\n{it}\n---\n---\nid: b\n{it}", ["a", "b"]),
        ("capability_eval:\n  {id: a, {it}}", ["a"]),
        ("capability_eval:\n- {id: a, {it}}\n- {id: b, {it}}", ["a", "b"]),
        ("capability_eval: {id: a, {it}}\nregression_eval: {known}", ["a", "r"]),
        ("- {id: a, {it}}\n- {known}", ["a", "r"]),
        ("metadata: {id: f}\ntest_cases: [{id: a, {it}}]\n---\nid: a\n{it}", ["f/a", "a"]),
        ("- {metadata: {id: f}, test_cases: [{id: a, {it}}]}", ["f/a"]),
    ],
)
def test_h9_every_form_of_a_file(tmp_path: Path, text: str, ids: list[str]) -> None:
    lines = "input: {type: prompt, content: x}\nexpected: {value: y}"
    known = "{id: r, current: {input: {endpoint: /}, execution: {type: http}}, baseline: {output: 1}}"
    flow = lines.replace("\n", ", ")
    for before, after in (("{id: a, {it}", "{id: a, " + flow), ("{id: b, {it}", "{id: b, " + flow)):
        text = text.replace(before, after)
    text = text.replace("{it}", lines).replace("{known}", known)
    assert [case.id for case in cases(tmp_path, text)] == ids


def test_a_json_file_is_read_like_any_other(tmp_path: Path) -> None:
    text = """
      {"metadata": {"id": "f"}, "test_cases": [{"id": "a", "input": {"type": "prompt", "content": "x"},
       "grader": {"type": "human", "config": {"rating_scale": {"labels": {"1": "Poor", "5": "Good"}}}}}]}"""
    (case,) = cases(tmp_path, text, "evals/c.json")
    (rating,) = methods(case)
    assert rating.rating_scale.labels == {"1": "Poor", "5": "Good"}


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("expected: {value: y}", [ExactMatch()]),
        ("expected_output: {type: exact, value: y}", [ExactMatch()]),
        ("expected: {type: contains, value: [y]}", [Contains()]),
        ("expected: {type: pattern, value: y+}", [RegexMatch()]),
        ("expected: {type: semantic, value: {must_include: [y]}}", [MustInclude(("y",))]),
        (
            "expected: {type: functional, value: {function_name: f, test_cases: [{input: [1], output: 2}]}}",
            [FunctionOutput("f", [Call(2, [1])])],
        ),
        (
            "expected: {type: functional, value: {test_cases: [{args: [1], expected: 2, comparator: set}]}}\n"
            "grader: {type: code, config: {function_name: f}}",
            [FunctionOutput("f", [Call(2, [1], comparator="set")])],
        ),
        ("expected: {type: pattern, value: y}\ngrader: {type: code}", [RegexMatch()]),
        (
            "expected: {value: y}\ngrader: {type: code, config: {case_sensitive: false}}",
            [ExactMatch(case_sensitive=False)],
        ),
        ("grader: {type: code, config: {method: contains, any: [y]}}", [Contains(any=["y"])]),
        (
            "grader: {type: code, config: {method: json_schema, schema: {type: object}}}",
            [JsonSchema({"type": "object"})],
        ),
        (
            "expected: {value: {a: 1}}\n"
            "grader: {type: code, config: {method: structural_match, strict: true}}",
            [StructuralMatch(strict=True)],
        ),
        (
            "grader: {type: code, config: {function_name: f, test_cases: [{args: [1], expected: 2}]}}",
            [FunctionOutput("f", [Call(2, [1])])],
        ),
        (
            "expected: {type: semantic, value: like y}\ngrader: {type: model, config: {rubric: same?}}",
            [ModelJudge("same?")],
        ),
        (
            "expected: {type: semantic, value: {must_include: [y]}}\ngrader: {type: code}",
            [MustInclude(("y",))],
        ),
        (
            "grader: {type: human, config: {interface: web, rubric: good?}}\n"
            "graders: [{type: model, config: {rubric: safe?}}]",
            [HumanRating(interface="web", rubric="good?"), ModelJudge("safe?")],
        ),
    ],
)
def test_h2_h5_what_a_case_is_graded_by(tmp_path: Path, rest: str, expected: list[Any]) -> None:
    assert methods(one(tmp_path, rest)) == expected


def test_h3_a_semantic_expectation_may_have_alternatives(tmp_path: Path) -> None:
    lists = "{type: semantic, value: {must_include: [y]}, alternatives: [{must_not_include: [z]}]}"
    assert methods(one(tmp_path, f"expected: {lists}")) == [
        MustInclude(("y",), (), (MustInclude((), ("z",)),)),
    ]


@pytest.mark.parametrize(
    ("name", "kind", "method"),
    [
        ("exact-match", "code", ExactMatch),
        ("regex", "code", RegexMatch),
        ("function-output", "code", FunctionOutput),
        ("model", "model", ModelJudge),
        ("model-calibration", "model", ModelJudge),
        ("human", "human", HumanRating),
    ],
)
def test_h20_h40_every_grader_of_the_document_is_read(
    tmp_path: Path, name: str, kind: str, method: type
) -> None:
    case = one(tmp_path, "expected: {value: y}\n" + (EXAMPLES / f"grader-{name}.yaml").read_text())
    (grader,) = case.graders
    assert (grader.kind, type(grader.method)) == (kind, method)


def test_h34_several_graders_each_have_a_name_of_their_own(tmp_path: Path) -> None:
    case = one(
        tmp_path,
        """
        grader: {type: model, config: {rubric: safe?}, weight: 2}
        graders:
        - {type: model, config: {rubric: kind?}, required: false}
        - {type: code, name: short, config: {method: regex, pattern: '^.{1,9}$'}}
        """,
    )
    assert [(grader.name, grader.weight, grader.required) for grader in case.graders] == [
        ("model", 2.0, True),
        ("model-2", 1.0, False),
        ("short", 1.0, True),
    ]
    assert [grader.at for grader in case.graders] == [("grader",), ("graders", 0), ("graders", 1)]


ASKED = [
    ("{type: prompt, content: 'hi {{name}}'}", None, PromptInput(text="hi {{name}}")),
    ("hi there", None, PromptInput(text="hi there")),
    ("{text: hi}", None, PromptInput(text="hi")),
    ("{content: hi}", SKILL, "hi"),
    ("{type: prompt, content: hi, context: {a: [1]}}", None, PromptInput(text="hi\n\nContext:\na:\n  - 1\n")),
    ("{type: prompt, content: hi}", SKILL, "hi"),
    ("{type: prompt, content: hi, context: {a: 1}}", SKILL, {"content": "hi", "context": {"a": 1}}),
    ("{type: skill, content: {n: 1}}", SKILL, {"n": 1}),
    (
        "{type: api_call, content: {method: post, path: /x, json: {a: 1}}}",
        None,
        HttpRequest("POST", path="/x", json={"a": 1}),
    ),
    ("{type: command, content: [tool, --version]}", None, CommandInput(["tool", "--version"])),
    ("{type: command, content: {argv: [tool], stdin: hi}}", None, CommandInput(["tool"], stdin="hi")),
    ("{type: file, content: ../note.txt}", None, PromptInput(text="a note")),
    ("{type: file, content: ../note.txt}", SKILL, "a note"),
]


@pytest.mark.parametrize(("asked", "target", "expected"), ASKED)
def test_h1_h4_what_a_case_asks(tmp_path: Path, asked: str, target: Any, expected: Any) -> None:
    write(tmp_path, "note.txt", "a note")
    (case,) = cases(tmp_path, f"id: a\ninput: {asked}\nexpected: {{value: y}}\n", target=target)
    assert case.recipe.input == expected


@pytest.mark.parametrize(
    ("own", "target", "of_file", "expected"),
    [
        ("", None, "", PromptExecution("prompt")),
        ("", None, "config: {execution: {type: prompt, model: file}}", PromptExecution("prompt", "file")),
        ("", SKILL, "config: {execution: {type: prompt, model: file}}", SKILL),
        ("execution: {type: prompt, model: own}", None, "", PromptExecution("prompt", "own")),
        ("execution: {type: prompt, model: own}", SKILL, "", SKILL),
    ],
)
def test_whom_a_case_asks(tmp_path: Path, own: str, target: Any, of_file: str, expected: Any) -> None:
    text = f"""
metadata: {{id: f}}
{of_file}
test_cases:
- id: a
  input: {{type: prompt, content: hi}}
  expected: {{value: y}}
  {own}
"""
    (case,) = cases(tmp_path, text, target=target)
    assert case.recipe.execution == expected


def test_an_api_call_goes_to_http_whatever_the_others_ask(tmp_path: Path) -> None:
    text = """
    metadata: {id: f}
    config: {execution: {type: skill, skill_name: s}}
    test_cases:
    - id: a
      input: {type: api_call, content: {path: /}}
      expected: {value: 1}
      execution: {type: http, base_url: 'http://x'}
    """
    (case,) = cases(tmp_path, text)
    assert case.recipe.execution == HttpExecution("http", "http://x")


@pytest.mark.parametrize(
    ("input", "asked"),
    [
        ("{type: echo, content: '{{name}}'}", "{{name}}"),
        ("{type: echo, content: [1, {a: null}]}", [1, {"a": None}]),
        ("{type: echo, content: a, context: b}", {"content": "a", "context": "b"}),
    ],
)
def test_an_echo_asks_nobody_whoever_is_asked_otherwise(tmp_path: Path, input: str, asked: object) -> None:
    text = f"""
    metadata: {{id: f}}
    config: {{execution: {{type: skill, skill_name: s}}}}
    test_cases:
    - {{id: a, input: {input}, expected: {{value: 1}}}}
    """
    (case,) = cases(tmp_path, text)
    assert (case.recipe.input, case.recipe.execution) == (asked, EchoExecution("echo"))


def test_an_echo_of_a_file_grades_the_file(tmp_path: Path) -> None:
    write(tmp_path, "evals/notes.txt", "as {{it}} is\n")
    text = "id: a\ninput: {type: file, content: notes.txt}\nexecution: {type: echo}\nexpected: {value: y}"
    (case,) = cases(tmp_path, text)
    assert (case.recipe.input, case.recipe.execution) == ("as \\{{it}} is\n", EchoExecution("echo"))


def test_h61_a_case_says_it_before_its_file(tmp_path: Path) -> None:
    text = """
    metadata: {id: f, tags: [a], criticality: low, skip: later}
    config: {timeout_seconds: 5, retries: 2, parallel: false}
    grader: {type: code, config: {method: contains, any: [y]}}
    test_cases:
    - {id: a, input: {type: prompt, content: x}, expected: {value: y},
       metadata: {timeout_seconds: 1, retries: 0, parallel: true, tags: [b, a], weight: 3, criticality: high}}
    - {id: b, input: {type: prompt, content: x}, expected: {value: y}, grader: {type: code}}
    """
    own, other = cases(tmp_path, text)
    assert (own.timeout, own.retries, own.parallel, own.weight, own.criticality) == (1, 0, True, 3.0, "high")
    assert own.tags == ("a", "b")
    assert methods(own) == [Contains(any=["y"])]
    assert (other.timeout, other.retries, other.parallel, other.skip) == (5, 2, False, "later")
    assert methods(other) == [ExactMatch()]


def test_a_file_of_test_cases_may_guard_what_once_worked(tmp_path: Path) -> None:
    text = """
    eval_type: regression
    metadata: {id: f}
    test_cases: [{id: a, input: {type: prompt, content: x}, expected: {value: y}}]
    """
    assert [case.kind for case in cases(tmp_path, text)] == ["regression"]


@pytest.mark.parametrize(
    "where", ["skip: later", "metadata: {skip: later}", "skip: later\nmetadata: {skip: not yet}"]
)
def test_h5_a_case_is_left_out_wherever_it_says_so(tmp_path: Path, where: str) -> None:
    text = f"id: a\ninput: {{type: prompt, content: x}}\nexpected: {{value: y}}\n{where}\n"
    (case,) = cases(tmp_path, text)
    assert case.skip == "later"

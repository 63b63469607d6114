"""Eval files become cases: their forms, their graders, and the settings of a file."""

import textwrap
from pathlib import Path
from typing import Any

import pytest
from storehelp import EXAMPLES, write

from baselinekit.errors import InvalidInput
from baselinekit.graders.by_function import versions_of
from baselinekit.graders.by_model import ModelJudge
from baselinekit.graders.by_schema import BaselineMatch, StructuralMatch
from baselinekit.graders.by_text import Contains, ExactMatch, MustInclude, RegexMatch
from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.programs import CommandInput
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.kinds.skill import SkillExecution
from baselinekit.model.evals import Case, Expected, GoodAnswer
from baselinekit.model.grades import Call, FunctionOutput, Grader, HumanRating, Option
from baselinekit.model.recipes import Execution, HttpRequest
from baselinekit.model.traces import TraceMessage
from baselinekit.store.reading import locate
from baselinekit.structs import replace
from baselinekit.suites.loading import load_cases

SKILL = SkillExecution("skill", "reverse")


def cases(root: Path, text: str, name: str = "evals/c.yaml", target: Execution | None = None) -> list[Case]:
    return load_cases([write(root, name, textwrap.dedent(text))], str(root), target)


def case_with(root: Path, rest: str) -> Case:
    (case,) = cases(root, "id: a\ninput: {type: prompt, content: hi}\n" + textwrap.dedent(rest))
    return case


def methods(case: Case) -> list[Any]:
    return [grader.method for grader in case.graders]


def test_h9_load_cases_of_a_file_of_test_cases() -> None:
    found = load_cases(["string-processing.yaml"], str(EXAMPLES))
    assert [case.id for case in found] == [f"cap-string-001/tc-00{n}" for n in (1, 2, 3, 4)]
    first = found[0]
    assert (first.name, first.category, first.kind) == ("Simple string", "string_processing", "capability")
    assert first.tags == ("strings", "basic", "manipulation")
    assert (first.timeout, first.retries, first.parallel, first.weight) == (30, 1, True, 1.0)
    assert first.recipe.input == PromptInput(text="Reverse the string: hello")
    assert first.recipe.execution == PromptExecution("prompt")
    assert first.graders == (Grader("exact_match", "code", ExactMatch(), at=("grader",)),)
    assert found[2].expected == Expected("exact", "")
    place = locate(found[1].source, ("grader", "config", "method"), str(EXAMPLES))
    assert str(place) == "string-processing.yaml:46:17"


def test_h2_functional_expectation_is_graded_by_calls() -> None:
    (case,) = load_cases(["capability-codegen.yaml"], str(EXAMPLES))
    assert methods(case) == [stated := FunctionOutput("factorial", timeout_per_case=5)]
    calls = [Call(120, [5]), Call(1, [0]), Call(1, [1]), Call(3628800, [10])]
    assert versions_of(stated, case.expected) == [replace(stated, test_cases=calls)]
    assert case.context == {"language": "python", "style": "functional"}
    assert case.recipe.input.text.endswith("recursively\n\nContext:\nlanguage: python\nstyle: functional\n")


def test_h4_h5_input_file_is_read_and_a_semantic_expectation_has_two_graders(tmp_path: Path) -> None:
    write(tmp_path, "evals/path/to/technical-spec.md", "Needs PostgreSQL 14+ and {{nothing}}.\n")
    (case,) = cases(tmp_path, (EXAMPLES / "capability-semantic.yaml").read_text())
    question = "Needs PostgreSQL 14+ and \\{{nothing}}.\n\n\nContext:\nextraction"
    assert case.recipe.input.text.startswith(question)
    lists, judge = methods(case)
    wanted = ("PostgreSQL 14+", "/api/v1/users", "DATABASE_URL environment variable")
    assert lists == MustInclude((Contains(all=[*wanted], none=["deprecated", "legacy"]),))
    assert (type(judge), judge.model) == (ModelJudge, "claude-3-5-sonnet")
    assert [grader.kind for grader in case.graders] == ["code", "model"]


REGRESSIONS = {
    "regression-api-users.yaml": ("reg-api-001", "critical", None),
    "regression-quality.yaml": ("reg-quality-001", "high", None),
    "users-endpoint.json": ("reg-api-users-001", "critical", "api_stability"),
}


def test_h6_h10_regression_record_is_graded_by_its_baseline() -> None:
    for case, wanted in zip(load_cases([*REGRESSIONS], str(EXAMPLES)), REGRESSIONS.values(), strict=True):
        assert (case.id, case.criticality, case.category) == wanted
        assert (case.kind, methods(case)) == ("regression", [BaselineMatch()])
        assert case.baseline is not None
        assert case.baseline.source == case.source
        assert case.recipe is case.baseline.current


CASE = "{id: %s, input: {type: prompt, content: x}, expected: {value: y}}"
RECORD = "{id: r, current: {input: {endpoint: /}, execution: {type: http}}, baseline: {output: 1}}"
A, B = CASE % "a", CASE % "b"


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (f"- {A}\n- {B}", ["a", "b"]),
        (f"---\n{A}\n---\n---\n{B}", ["a", "b"]),
        (f"capability_eval:\n  {A}", ["a"]),
        (f"capability_eval: {A}\nregression_eval: {RECORD}", ["a", "r"]),
        (f"metadata: {{id: f}}\ntest_cases: [{A}]\n---\n{A}", ["f/a", "a"]),
        (f"- {{metadata: {{id: f}}, test_cases: [{A}]}}", ["f/a"]),
        ("metadata: {id: r}\nbaseline: {response: {}}\ntest_case: {input: {path: /x}}", ["r"]),
        (f"eval_suite: {{name: s, evals: [{A}]}}", ["a"]),
    ],
)
def test_h9_x2_load_cases_of_every_form_of_a_file(tmp_path: Path, text: str, ids: list[str]) -> None:
    assert [case.id for case in cases(tmp_path, text)] == ids


WITHOUT_CASE = ExactMatch(case_sensitive=False)
CALL = "{args: [1], expected: 2, comparator: set}"
GRADED = [
    ("expected: {value: y}", [ExactMatch()]),
    ("expected: {type: semantic, value: {must_include: [y]}}", [MustInclude((Contains(all=["y"]),))]),
    (
        "expected: {type: semantic, value: {must_include: [y]}, alternatives: [{must_not_include: [z]}]}",
        [MustInclude((Contains(all=["y"]), Contains(none=["z"])))],
    ),
    (
        "expected: {type: functional, value: {function_name: f, test_cases: [{input: [1], output: 2}]}}",
        [FunctionOutput()],
    ),
    ("expected: {value: y}\ngrader: {type: code, config: {case_sensitive: false}}", [WITHOUT_CASE]),
    (
        "expected: {value: {a: 1}}\ngrader: {type: code, config: {method: structural_match, strict: true}}",
        [StructuralMatch(strict=True)],
    ),
    (
        f"grader: {{type: code, config: {{function_name: f, test_cases: [{CALL}]}}}}",
        [FunctionOutput("f", [Call(2, [1], comparator="set")])],
    ),
    (
        "grader: {type: human, config: {interface: web, rubric: good?}}\n"
        "graders: [{type: model, config: {rubric: safe?}}]",
        [HumanRating(interface="web", rubric="good?"), ModelJudge("safe?")],
    ),
]


@pytest.mark.parametrize(("rest", "expected"), GRADED)
def test_h2_h3_h5_graders_of_a_case(tmp_path: Path, rest: str, expected: list[Any]) -> None:
    assert methods(case_with(tmp_path, rest)) == expected


GRADERS = {
    "exact-match": ("code", ExactMatch),
    "regex": ("code", RegexMatch),
    "function-output": ("code", FunctionOutput),
    "model": ("model", ModelJudge),
    "model-calibration": ("model", ModelJudge),
    "human": ("human", HumanRating),
}


def test_h20_h40_graders_of_the_document_are_read(tmp_path: Path) -> None:
    for name, grader in GRADERS.items():
        text = (EXAMPLES / f"grader-{name}.yaml").read_text()
        (found,) = case_with(tmp_path, f"expected: {{value: y}}\n{text}").graders
        assert (found.kind, type(found.method)) == grader


def test_h40_x8_labels_named_by_numbers_are_read_with_any_line_ends(tmp_path: Path) -> None:
    text = (
        "id: a\ninput: x\ngraders:\n"
        "- {type: human, config: {rating_scale: {labels: {1: Poor, -2: Worse}}}}\n"
        "- {type: human, config: {rating_scale: {type: binary, options: [{value: true}, {value: false}]}}}\n"
    )
    for data in (text, "\ufeff" + text, text.replace("\n", "\r\n"), "---\n" + text):
        write(tmp_path, "f.yaml", data.encode())
        likert, binary = methods(load_cases(["f.yaml"], str(tmp_path))[0])
        assert likert.rating_scale.labels == {"1": "Poor", "-2": "Worse"}
        assert binary.rating_scale.options == [Option(True), Option(False)]


INPUTS: list[tuple[str, Execution | None, Any]] = [
    ("{type: prompt, content: 'hi {{name}}'}", None, PromptInput(text="hi {{name}}")),
    ("hi there", None, PromptInput(text="hi there")),
    ("{type: prompt, content: hi, context: {a: [1]}}", None, PromptInput(text="hi\n\nContext:\na:\n  - 1\n")),
    ("{type: prompt, content: hi, context: {a: 1}}", SKILL, {"content": "hi", "context": {"a": 1}}),
    (
        "{type: api_call, content: {method: POST, path: /x, json: {a: 1}}}",
        HttpExecution("http", "http://x"),
        HttpRequest("POST", path="/x", json={"a": 1}),
    ),
    ("{type: command, content: {argv: [tool], stdin: hi}}", None, CommandInput(["tool"], stdin="hi")),
    ("{type: file, content: ../note.txt}", None, PromptInput(text="a \\{{note}}")),
    ("{type: file, content: ../note.txt}", SKILL, "a \\{{note}}"),
    ("{type: echo, content: '{{name}}'}", None, "{{name}}"),
    ("{type: echo, content: a, context: b}", None, {"content": "a", "context": "b"}),
]


@pytest.mark.parametrize(("stated", "target", "expected"), INPUTS)
def test_h1_h4_input_of_a_case(tmp_path: Path, stated: str, target: Execution | None, expected: Any) -> None:
    write(tmp_path, "note.txt", "a {{note}}")
    (case,) = cases(tmp_path, f"id: a\ninput: {stated}\nexpected: {{value: y}}\n", target=target)
    assert case.recipe.input == expected


OF_FILE = "{type: prompt, model: file}"
TEXT, CALL_OF_API = "{type: prompt, content: hi}", "{type: api_call, content: {path: /}}"


@pytest.mark.parametrize(
    ("input", "own", "target", "of_file", "expected"),
    [
        (TEXT, "null", None, OF_FILE, PromptExecution("prompt", "file")),
        (TEXT, "null", SKILL, OF_FILE, SKILL),
        (TEXT, "{type: prompt, model: own}", None, OF_FILE, PromptExecution("prompt", "own")),
        (CALL_OF_API, "{type: http, base_url: 'http://x'}", None, OF_FILE, HttpExecution("http", "http://x")),
    ],
)
def test_load_cases_asks_the_operators_target_then_the_cases_then_the_files(
    tmp_path: Path, input: str, own: str, target: Execution | None, of_file: str, expected: Execution
) -> None:
    case = f"{{id: a, input: {input}, expected: {{value: y}}, execution: {own}}}"
    text = f"metadata: {{id: f}}\nconfig: {{execution: {of_file}}}\ntest_cases: [{case}]"
    assert cases(tmp_path, text, target=target)[0].recipe.execution == expected


def test_h1_h5_h34_h61_settings_of_a_case_take_precedence_over_its_file(tmp_path: Path) -> None:
    record = """
    id: cap-1
    name: A name
    description: What it tests
    category: words
    input: {type: prompt, content: hi, context: {language: en}}
    expected_output: {type: contains, value: a, alternatives: [b]}
    grader: {type: code, config: {method: contains}}
    graders: [{type: code, config: {method: contains}, weight: 2, required: false}]
    metadata: {difficulty: hard, tags: [x, y], timeout_seconds: 9, retries: 2, weight: 1.5}
    """
    (case,) = cases(tmp_path, record)
    stated = (case.id, case.name, case.description, case.category, case.kind, case.difficulty)
    assert stated == ("cap-1", "A name", "What it tests", "words", "capability", "hard")
    assert (case.tags, case.timeout, case.retries, case.weight) == (("x", "y"), 9, 2, 1.5)
    assert (case.context, case.expected) == ({"language": "en"}, Expected("contains", "a", ["b"]))
    assert [(grader.name, grader.weight, grader.required, grader.at) for grader in case.graders] == [
        ("contains", 1.0, True, ("grader",)),
        ("contains-2", 2.0, False, ("graders", 0)),
    ]
    text = """
    eval_type: regression
    metadata: {id: f, tags: [a], criticality: low, skip: later}
    config: {timeout_seconds: 5, retries: 2, parallel: false}
    grader: {type: code, config: {method: contains, any: [y]}}
    test_cases:
    - {id: a, input: x, expected: {value: y}, skip: now,
       metadata: {timeout_seconds: 1, retries: 0, parallel: true, tags: [b, a], weight: 3, criticality: high}}
    - {id: b, input: x, expected: {value: y}, grader: {type: code}}
    - {id: c, input: x, expected: {value: y}, metadata: {skip: not yet}}
    """
    own, other, third = cases(tmp_path, text)
    assert (own.timeout, own.retries, own.parallel, own.weight, own.criticality) == (1, 0, True, 3.0, "high")
    assert (own.tags, own.kind, methods(own)) == (("a", "b"), "regression", [Contains(any=["y"])])
    assert (other.timeout, other.retries, other.parallel, other.criticality) == (5, 2, False, "low")
    assert methods(other) == [ExactMatch()]
    assert [own.skip, other.skip, third.skip] == ["now", "later", "not yet"]


WORDS: list[tuple[str, Any]] = [(word, word) for word in ("yes", "NO", "12:30:45", "2024-01-15")]
WORDS += [("true", True), ('""', ""), ("null", None), ("0o17", 15), ("1e3", 1000.0)]


def test_x6_x8_words_are_read_as_in_yaml_1_2(tmp_path: Path) -> None:
    for version in ('"1.0"', "1.0", "1"):
        text = f"schema_version: {version}\nmetadata: {{id: f, created: 2024-01-15, author: NO}}\ntest_cases:"
        for n, (word, _) in enumerate(WORDS):
            text += f"\n- {{id: c{n}, input: x, expected: {{value: {word}}}}}"
        found = cases(tmp_path, text)
        values = [case.expected.value for case in found if case.expected]
        assert [(value, type(value)) for value in values] == [(value, type(value)) for _, value in WORDS]
        assert (found[0].timeout, found[0].retries) == (None, 0)


MESSAGES = '[{role: system, content: Be kind.}, {role: user, content: "Why {{x}}?"}]'
CONVERSATION = f"""\
id: a
input: {{type: messages, content: {MESSAGES}}}
expected_outcome: Says why.
reference: Because.
sidecar: {{language: en}}
conversation_id: c1
grader: {{type: code, config: {{method: contains, all: [ecause]}}}}
"""


def test_load_cases_with_messages_reads_the_good_answer(tmp_path: Path) -> None:
    (case,) = cases(tmp_path, CONVERSATION)
    system, user = TraceMessage("system", "Be kind."), TraceMessage("user", "Why {{x}}?")
    answer = (TraceMessage("assistant", "Because."),)
    assert case.wanted == GoodAnswer("Says why.", answer, (system, user), {"language": "en"}, "c1")
    assert case.expected is None
    sent = [(message.role, message.content) for message in case.recipe.input.messages]
    assert sent == [("system", "Be kind."), ("user", "Why \\{{x}}?")]  # a message is literal
    write(tmp_path, "evals/notes.md", "Notes.\r\n")
    parts = "[{type: text, value: Read}, {type: file, value: ./notes.md}]"
    (case,) = cases(tmp_path, CONVERSATION.replace('"Why {{x}}?"', parts))
    assert "Notes.\n" in case.recipe.input.messages[1].content
    assert case.wanted.input_files == (str(tmp_path / "evals" / "notes.md"),)


def test_load_cases_with_a_wrong_conversation_reports_every_mistake(tmp_path: Path) -> None:
    text = """\
    id: a
    input: {type: messages, content: [{role: sytem, content: [{type: file, value: gone.md}]}]}
    expected_outcome: 3
    reference: [{role: asistant, content: x}]
    sidecar: en
    grader: {type: code, config: {method: contains, all: [ecause]}}
    """
    with pytest.raises(InvalidInput) as caught:
        cases(tmp_path, text)
    places = [
        f"{found.code} {str(found.place).removeprefix('evals/c.yaml:')}" for found in caught.value.problems
    ]
    assert places == ["BK105 2:42", "BK111 2:79", "BK105 3:19", "BK105 4:20", "BK105 5:10"]

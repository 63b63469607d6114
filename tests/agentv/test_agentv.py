"""AgentV's eval files become cases: what one may state, what becomes of it, and what AgentV loses unseen."""

import textwrap
from pathlib import Path
from typing import Any

import pytest
from storehelp import write

from baselinekit.errors import BaselinekitError, InvalidInput
from baselinekit.graders.by_program import CodeJudge
from baselinekit.graders.by_template import RubricJudge, TemplateJudge
from baselinekit.graders.graders import row_of
from baselinekit.kinds.given import EchoExecution
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.model.evals import Case, GoodAnswer
from baselinekit.model.grades import Grader, PassRule
from baselinekit.model.recipes import Message
from baselinekit.model.traces import ToolCall, TraceMessage
from baselinekit.structs import plain
from baselinekit.suites.loading import load_cases, load_evals
from baselinekit.suites.settings import named_text
from baselinekit.suites.targets import Targets

JUDGED = "evaluators: [{name: check, type: code_judge, script: [python3, check.py]}]"
CASE = "evalcases: [{id: a, outcome: x, input: %s}]"
FILE_INPUT = JUDGED + "\n" + CASE % "[{type: file, value: %s}]"


def load(root: Path, text: str, name: str = "evals/math.yaml", **more: Any) -> list[Case]:
    return load_cases([write(root, name, textwrap.dedent(text))], str(root), **more)


def load_one(root: Path, keys: str, name: str = "evals/math.yaml") -> Case:
    """Load a case with these keys, and a program that judges it."""
    head = f"{JUDGED}\nevalcases:\n  - id: a\n    expected_outcome: It is right\n"
    (case,) = load(root, head + textwrap.indent(keys, "    "), name)
    return case


def mistakes(root: Path, text: str, name: str = "evals/math.yaml") -> list[str]:
    with pytest.raises(BaselinekitError) as caught:
        load(root, text, name)
    return str(caught.value).replace("evals/math.", "").splitlines()


def user(content: Any) -> TraceMessage:
    return TraceMessage("user", content)


def assistant(content: Any) -> TraceMessage:
    return TraceMessage("assistant", content)


def test_a1_a5_load_reads_every_key_of_a_case(tmp_path: Path) -> None:
    text = f"""
        $schema: agentv-eval-v2
        description: Sums
        dataset: arithmetic
        {JUDGED}
        evalcases:
          - id: addition of two
            outcome: Correctly calculates 42
            conversation_id: sums
            description: Two numbers
            input: What is {{{{a}}}}?
            expected_output: "42"
            sidecar: {{language: python, level: 2}}
          - {{id: a, outcome: x, input: y, dataset: letters}}
        """
    case, other = load(tmp_path, text)
    assert (case.id, case.name) == ("arithmetic/addition of two", "addition of two")
    assert case.description == "Two numbers"
    sidecar = {"language": "python", "level": 2}
    asked, answered = (user("What is {{a}}?"),), (assistant("42"),)
    assert case.wanted == GoodAnswer("Correctly calculates 42", answered, asked, sidecar, "sums")
    assert case.pass_rule == PassRule("mean")
    assert case.recipe.execution == PromptExecution("prompt")
    assert other.id == "letters/a"


def test_x3_x4_load_compares_no_expected_output_and_keeps_braces(tmp_path: Path) -> None:
    case = load_one(tmp_path, 'input: "Fill in {{name}}"\nexpected_output: "42"')
    assert case.expected is None
    assert [type(grader.method) for grader in case.graders] == [CodeJudge]
    assert case.recipe.input == PromptInput(messages=[Message("user", "Fill in \\{{name}}")])


SYSTEM = "{role: system, content: Be brief}"
CALL = "{tool: find, id: x, input: {q: a}, output: [b], duration_ms: 250, error: no, start_time: 5}"


@pytest.mark.parametrize(
    ("stated", "asked"),
    [
        ("input: {row: {id: 7}, day: 2025-01-01}", (user({"row": {"id": 7}, "day": "2025-01-01"}),)),
        ("input: [{type: text, value: a}]", (user([{"type": "text", "value": "a"}]),)),
        (
            f"input: [{SYSTEM}, {{role: user, content: {{row: [1]}}}}]",
            (TraceMessage("system", "Be brief"), user({"row": [1]})),
        ),
        ("input_messages: a\ninput: b", (user("a"),)),
    ],
)
def test_a2_input_becomes_messages(tmp_path: Path, stated: str, asked: tuple[TraceMessage, ...]) -> None:
    assert load_one(tmp_path, stated).wanted.asked == asked


@pytest.mark.parametrize(
    ("stated", "answered"),
    [
        ('expected_output: ""', (assistant(""),)),
        ("expected_output: [{risk: Low}]", (assistant([{"risk": "Low"}]),)),
        ("expected_messages: [{role: assistant, content: a}]\nexpected_output: b", (assistant("a"),)),
        (
            f"expected_messages: [{{role: tool, name: t, tool_calls: [{CALL}]}}]",
            (TraceMessage("tool", "", (ToolCall("find", {"q": "a"}, ["b"], "x", 0.25, "no"),), "t"),),
        ),
    ],
)
def test_a3_expected_output_becomes_messages(
    tmp_path: Path, stated: str, answered: tuple[TraceMessage, ...]
) -> None:
    assert load_one(tmp_path, f"input: hi\n{stated}").wanted.messages == answered


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("evalcases: []", "BK780 yaml:1:12: expected a list of cases, found an empty list"),
        ("id: a\noutcome: x\ninput: y\n", "BK780 yaml:1:1: an eval file without cases"),
        ("evalcases: []\ntest_cases: []", "unknown key 'test_cases': a key of a file of test cases: split"),
    ],
)
def test_x2_a4_load_refuses_files_of_no_or_two_forms(tmp_path: Path, text: str, words: str) -> None:
    assert words in "\n".join(mistakes(tmp_path, text))


def test_a7_settings_of_json_lines_are_in_the_yaml_file_of_their_name(tmp_path: Path) -> None:
    line = '{"id": "%s", "expected_outcome": "x", "input": "y"}\n'
    beside = write(tmp_path, "evals/math.yaml", f"dataset: sums\nexecution: {{{JUDGED}}}\n")
    found = load(tmp_path, f"{line % 'a'}\n{line % 'b'}", "evals/math.jsonl")
    assert [(case.id, case.graders[0].name) for case in found] == [("sums/a", "check"), ("sums/b", "check")]
    with pytest.raises(InvalidInput, match=r"settings without cases: baselinekit run evals/math\.jsonl"):
        load_evals([beside], str(tmp_path))
    write(tmp_path, "evals/other.yaml", f"{JUDGED}\n{CASE % 'y'}")
    write(tmp_path, "evals/other.jsonl", line % "c")
    write(tmp_path, "evals/rows.jsonl", '{"id": "a", "score": 1}\n')
    ids = [case.id for case in load_evals(["evals"], str(tmp_path)).cases]
    assert ids == ["sums/a", "sums/b", "other/c", "other/a"]


ENTRY = "{name: %s, type: code_judge, script: x}"


def test_a6_evaluators_of_a_case_take_precedence_and_rubrics_come_first(tmp_path: Path) -> None:
    own = f"evaluators: [{ENTRY % 'own'}]"
    stated = {
        "": ["ours"],
        own: ["own"],
        f"{own}, execution: {{evaluators: [{ENTRY % 'nearest'}]}}": ["nearest"],
        "rubrics: [Is polite]": ["rubric", "ours"],
        f"{own}, rubrics: [Is polite]": ["rubric", "own"],
    }
    text = f"execution: {{evaluators: [{ENTRY % 'ours'}]}}\nevalcases:\n"
    text += "".join(f"- {{id: {n}, outcome: x, input: y, {keys}}}\n" for n, keys in enumerate(stated))
    text = text.replace("id: ", "id: c")
    found = load(tmp_path, text)
    assert [[grader.name for grader in case.graders] for case in found] == [*stated.values()]


def test_a6_without_evaluators_a_model_judges_by_the_expected_outcome(tmp_path: Path) -> None:
    text = """
        evalcases:
          - {id: a, outcome: x, input: y}
          - {id: b, outcome: x, input: y, rubrics: [Is polite]}
          - {id: c, outcome: x, input: y, evaluator: llm_judge}
        """
    found = load(tmp_path, text)
    assert found[0].graders == (Grader("llm_judge", "model", TemplateJudge(), required=False),)
    assert [case.graders[0].name for case in found] == ["llm_judge", "rubric", "llm_judge"]


CALLS = "{tool: find, args: {q: a}, max_duration_ms: 250}, {tool: save, args: any}"
EXPECTED_CALLS = [{"tool": "find", "args": {"q": "a"}, "max_seconds": 0.25}, {"tool": "save"}]
FIELD = {"path": "rows[0].n", "match": "numeric_tolerance", "required": False, "tolerance": 2}
FIELDS = "[{path: 'rows[0].n', match: numeric_tolerance, tolerance: 2, required: false}]"


@pytest.mark.parametrize(
    ("evaluator", "config"),
    [
        (
            "code_judge, script: a.js, cwd: .., target: {max_calls: 5}, words: [a], config: {b: 1}",
            {"script": "a.js", "cwd": "..", "target": {"max_calls": 5}, "config": {"words": ["a"], "b": 1}},
        ),
        ("llm_judge, prompt: judge.md, model: big", {"prompt": "judge.md", "model": "big"}),
        (
            "llm_judge, prompt: {script: [bun, x.ts], config: {strict: true}}",
            {"prompt": {"script": ["bun", "x.ts"], "config": {"strict": True}}},
        ),
        ("rubric, rubrics: [{id: b, description: c}]", {"rubrics": [{"id": "b", "description": "c"}]}),
        (f"tool_trajectory, mode: exact, expected: [{CALLS}]", {"mode": "exact", "expected": EXPECTED_CALLS}),
        (f"field_accuracy, fields: {FIELDS}", {"fields": [FIELD]}),
        ("latency, threshold: 2500", {"max_seconds": 2.5}),
        ("cost, budget: 0.05", {"max_usd": 0.05}),
        ("token_usage, max_total: 100, max_output: 20", {"max_total": 100, "max_output": 20}),
    ],
)
def test_a20_a30_a50_evaluators_become_graders(tmp_path: Path, evaluator: str, config: Any) -> None:
    write(tmp_path, "evals/judge.md", "Is {{candidate_answer}} good?")
    stated = f"input: hi\nevaluators: [{{name: a, weight: 2.5, type: {evaluator}}}]"
    (grader,) = load_one(tmp_path, stated).graders
    assert row_of(grader).method == evaluator.partition(",")[0]
    assert (plain(grader.method), grader.weight, grader.required) == (config, 2.5, False)
    assert (grader.name, grader.at) == ("a", ("evaluators", 0))


def test_a40_an_llm_judge_with_rubrics_is_a_rubric(tmp_path: Path) -> None:
    evaluator = "{name: a, type: llm_judge, rubrics: [Is polite]}"
    (grader,) = load_one(tmp_path, f"input: hi\nevaluators: [{evaluator}]").graders
    assert grader.method == RubricJudge(["Is polite"])


def test_a50_a_composite_is_made_of_evaluators(tmp_path: Path) -> None:
    gate = "aggregator: {type: code_judge, path: node gate.js, on_error: zero}"
    quick = "evaluators: [{name: quick, type: latency, threshold: 1000}]"
    stated = (
        "input: hi\nevaluators: [{name: whole, type: composite, evaluators: [{name: safe, type: llm_judge},"
        f"{{name: inner, type: composite, {quick}, {gate}}}],"
        "aggregator: {type: weighted_average, weights: {safe: 0.3, inner: 0.7}}}]"
    )
    safe, inner = load_one(tmp_path, stated).graders[0].method.graders
    assert (safe.name, safe.weight, safe.method) == ("safe", 0.3, TemplateJudge())
    assert (inner.name, inner.weight, inner.method.on_error) == ("inner", 0.7, "zero")
    assert inner.method.judge.method == CodeJudge("node gate.js")
    assert inner.at == ("evaluators", 0, "evaluators", 1)


def test_a10_load_finds_files_upward_and_from_the_root(tmp_path: Path) -> None:
    write(tmp_path, "evals/deep/near.md", "near\r\nby\r\n")
    write(tmp_path, "evals/up.md", "up")
    write(tmp_path, "docs/root.md", "root")
    names = ["./near.md", "up.md", "../up.md", "/docs/root.md", "docs/root.md"]
    parts = ", ".join(f"{{type: file, value: {name}}}" for name in names)
    stated = f"input:\n  - role: user\n    content: [{{type: text, value: Look}}, {parts}]"
    case = load_one(tmp_path, stated, "evals/deep/a.eval.yaml")
    assert case.id == "a/a"
    (message,) = case.wanted.asked
    paths = ["evals/deep/near.md", "evals/up.md", "evals/up.md", "docs/root.md", "docs/root.md"]
    assert message.content[1:] == [
        {"type": "file", "value": name, "path": str(tmp_path / path), "text": text}
        for name, path, text in zip(names, paths, ["near\nby\n", "up", "up", "root", "root"], strict=True)
    ]
    assert case.wanted.input_files == tuple(str(tmp_path / path) for path in dict.fromkeys(paths))
    assert case.wanted.guideline_files == ()


def test_f41_load_refuses_files_outside_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("secret")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/link.md").symlink_to("../outside.md")
    for name in ("../../outside.md", "/../outside.md", "/link.md", "/.git/config"):
        assert "BK404" in mistakes(tmp_path / "in", FILE_INPUT % name)[0]
    write(tmp_path / "in", "evals/near.md", "x")
    (tmp_path / "in/evals/out.md").symlink_to("../../outside.md")
    (tmp_path / "in/near.md").symlink_to("../outside.md")
    assert "BK404" in mistakes(tmp_path / "in", FILE_INPUT % "./out.md")[0]
    (case,) = load(tmp_path / "in", FILE_INPUT % "./near.md")
    assert case.wanted.input_files == (str(tmp_path / "in/evals/near.md"),)


def test_f41_text_named_in_another_repository_is_read_within_it(tmp_path: Path) -> None:
    (tmp_path / "there/.git").mkdir(parents=True)
    for name in ("there/judge.md", "outside.md"):
        write(tmp_path, name, "Judge")
    root, file = str(tmp_path / "project"), str(tmp_path / "there/evals/a.yaml")
    assert named_text(root, file, "../judge.md") == "Judge"
    with pytest.raises(BaselinekitError, match="BK404"):
        named_text(root, file, "../../outside.md")


def test_a12_guidelines_are_kept_apart_from_other_files(tmp_path: Path) -> None:
    patterns = 'guideline_patterns: ["**/*.instructions.md", "**/{SKILL,RULES}.md"]'
    write(tmp_path, ".agentv/config.yaml", patterns)
    for name in ("evals/py.instructions.md", "SKILL.md", "evals/SKILLS.md"):
        write(tmp_path, name, "x")
    names = ("py.instructions.md", "SKILL.md", "SKILLS.md")
    parts = ", ".join(f"{{type: file, value: {name}}}" for name in names)
    wanted = load_one(tmp_path, f"input: [{parts}]").wanted
    assert wanted.guideline_files == (str(tmp_path / "evals/py.instructions.md"), str(tmp_path / "SKILL.md"))
    assert wanted.input_files == (str(tmp_path / "evals/SKILLS.md"),)
    write(tmp_path, ".agentv/config.yaml", "guideline_patterns: x.md")
    found = mistakes(tmp_path, FILE_INPUT % "SKILL.md")
    assert found == ["BK105 .agentv/config.yaml:1:21: expected a list, found 'x.md' (string)"]


def test_a5_target_of_a_case_takes_precedence_and_must_take_messages(tmp_path: Path) -> None:
    text = f"""
        execution: {{target: small, {JUDGED}}}
        evalcases:
          - {{id: a, outcome: x, input: y, execution: {{target: big}}}}
          - {{id: b, outcome: x, input: y}}
        """
    found = load(tmp_path, text, targets=Targets(models=frozenset(("big", "small"))))
    assert [case.recipe.execution.model for case in found] == ["big", "small"]
    with pytest.raises(InvalidInput, match=r"BK715 .*messages are for a model or an agent, not for echo"):
        load(tmp_path, text, target=EchoExecution("echo"))


def test_two_files_of_one_name_need_datasets_of_their_own(tmp_path: Path) -> None:
    text = f"{JUDGED}\n{CASE % 'y'}"
    files = [write(tmp_path, f"{folder}/evals/dataset.yaml", text) for folder in ("one", "two")]
    with pytest.raises(InvalidInput, match=r"BK109 two/.* the id 'dataset/a' occurs twice"):
        load_evals(files, str(tmp_path))
    write(tmp_path, "two/evals/dataset.yaml", f"dataset: second\n{text}")
    assert [case.id for case in load_evals(files, str(tmp_path)).cases] == ["dataset/a", "second/a"]

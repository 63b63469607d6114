"""AgentV's eval files become cases: what one may say, what stands for what, and what AgentV loses unseen."""

import textwrap
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from storehelp import write

from baselinekit.clients.programs.gitfiles import FetchedFile
from baselinekit.errors import BaselinekitError, InvalidInput
from baselinekit.graders.by_field import FieldAccuracy, GradedField
from baselinekit.graders.by_program import CodeJudge, ModelAccess
from baselinekit.graders.by_rubric import RubricItem, RubricJudge
from baselinekit.graders.by_template import PromptScript, TemplateJudge
from baselinekit.graders.by_trace import ToolTrajectory, WantedCall
from baselinekit.graders.by_usage import CostLimit, LatencyLimit, TokenLimit
from baselinekit.kinds.given import EchoExecution
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grader, PassRule
from baselinekit.model.recipes import Message
from baselinekit.model.traces import ToolCall, TraceMessage
from baselinekit.suites.authoring import json_schema
from baselinekit.suites.loading import load_cases, load_evals
from baselinekit.suites.settings import named_text
from baselinekit.suites.targets import Targets

JUDGED = "evaluators: [{name: check, type: code_judge, script: [python3, check.py]}]"


def cases(root: Path, text: str, name: str = "evals/math.yaml", **more: Any) -> list[Case]:
    return load_cases([write(root, name, textwrap.dedent(text))], str(root), **more)


def one(root: Path, rest: str, name: str = "evals/math.yaml") -> Case:
    """A case with what every case has, and a program that judges."""
    own = textwrap.indent(textwrap.dedent(rest), "    ")
    head = f"{JUDGED}\nevalcases:\n  - id: a\n    expected_outcome: It is right\n"
    (case,) = cases(root, head + own, name)
    return case


def wrong(root: Path, text: str, name: str = "evals/math.yaml") -> list[str]:
    with pytest.raises(BaselinekitError) as caught:
        cases(root, text, name)
    return str(caught.value).replace("evals/math.", "").splitlines()


def user(content: Any) -> TraceMessage:
    return TraceMessage("user", content)


def assistant(content: Any) -> TraceMessage:
    return TraceMessage("assistant", content)


def test_a1_every_key_of_a_case_is_read(tmp_path: Path) -> None:
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
            input: What is 15 + 27?
            expected_output: "42"
            sidecar: {{language: python, level: 2}}
        """
    (case,) = cases(tmp_path, text)
    assert (case.id, case.name, case.description) == (
        "arithmetic/addition of two",
        "addition of two",
        "Two numbers",
    )
    assert case.wanted.outcome == "Correctly calculates 42"
    assert case.wanted.sidecar == {"language": "python", "level": 2}
    assert case.wanted.conversation_id == "sums"
    assert case.pass_rule == PassRule("mean")
    assert case.recipe.execution == PromptExecution("prompt")
    assert case.recipe.input == PromptInput(messages=[Message("user", "What is 15 + 27?")])


def test_a1_a_case_may_name_its_own_dataset(tmp_path: Path) -> None:
    text = f"""
        dataset: arithmetic
        {JUDGED}
        evalcases:
          - {{id: a, outcome: x, input: y}}
          - {{id: a, outcome: x, input: y, dataset: letters}}
        """
    assert [case.id for case in cases(tmp_path, text)] == ["arithmetic/a", "letters/a"]


def test_x3_what_is_wanted_is_no_value_to_be_equal_to(tmp_path: Path) -> None:
    case = one(tmp_path, 'input: hi\nexpected_output: "42"')
    assert case.expected is None
    assert [type(grader.method) for grader in case.graders] == [CodeJudge]
    assert case.wanted.messages == (assistant("42"),)


@pytest.mark.parametrize(
    ("stated", "asked"),
    [
        ("input: What?", (user("What?"),)),
        ("input: {row: {id: 7}, day: 2025-01-01}", (user({"row": {"id": 7}, "day": "2025-01-01"}),)),
        ("input: {role: system, content: Be brief}", (TraceMessage("system", "Be brief"),)),
        ("input: {role: admin, name: Ada}", (user({"role": "admin", "name": "Ada"}),)),
        ("input: [{type: text, value: a}]", (user([{"type": "text", "value": "a"}]),)),
        (
            "input: [{role: system, content: Be brief}, {role: user, content: {row: [1]}}]",
            (TraceMessage("system", "Be brief"), user({"row": [1]})),
        ),
        ("input_messages: [{role: user, content: a}]\ninput: b", (user("a"),)),
        ("input_messages: a\ninput: b", (user("a"),)),
        ("input_messages: null\ninput: b", (user("b"),)),
    ],
)
def test_a2_what_is_asked(tmp_path: Path, stated: str, asked: tuple[TraceMessage, ...]) -> None:
    assert one(tmp_path, stated).wanted.asked == asked


@pytest.mark.parametrize(
    ("stated", "wanted"),
    [
        ("", ()),
        ("expected_output: null", ()),
        ('expected_output: ""', (assistant(""),)),
        ("expected_output: 42", (assistant(42),)),
        ("expected_output: {risk: Low, by: [1]}", (assistant({"risk": "Low", "by": [1]}),)),
        ("expected_output: [{risk: Low}]", (assistant([{"risk": "Low"}]),)),
        ("expected_output: [{role: assistant, content: a}]", (assistant("a"),)),
        ("expected_messages: [{role: assistant, content: a}]\nexpected_output: b", (assistant("a"),)),
        (
            "expected_messages: [{role: assistant, tool_calls: [{tool: find, input: {q: a}, output: [b]}]}]",
            (TraceMessage("assistant", "", (ToolCall("find", {"q": "a"}, ["b"]),)),),
        ),
        (
            "expected_messages: [{role: tool, name: t, content: a, tool_calls: "
            "[{tool: find, id: x, duration_ms: 250, error: no}]}]",
            (TraceMessage("tool", "a", (ToolCall("find", None, id="x", seconds=0.25, error="no"),), "t"),),
        ),
    ],
)
def test_a3_what_was_answered_well(tmp_path: Path, stated: str, wanted: tuple[TraceMessage, ...]) -> None:
    assert one(tmp_path, f"input: hi\n{stated}").wanted.messages == wanted


MISTAKEN = f"""\
description: d
{JUDGED}
evalcases:
  - {{id: '', expected_outcome: x, input: y}}
  - {{id: a, outcome: '  ', input: y}}
  - {{id: a, outcome: x, expected_outcome: x, input: null}}
  - {{id: a, expected_outcome: x, input: y, sidecars: {{}}}}
  - {{id: a, expected_outcome: x, input: 42}}
  - {{id: a, expected_outcome: x, input: y, expected_messages: [{{role: assistant}}]}}
  - {{id: a, expected_outcome: x, input: [{{role: user, content: [{{type: text, text: y}}]}}]}}
  - {{id: a, expected_outcome: x, input: [{{role: user, content: [{{type: image, value: y.png}}]}}]}}
  - {{id: a, outcome: x, input: [{{role: user, tool_calls: [{{tool: '', duration_ms: -1, id: 2}}]}}]}}
  - {{id: twice, expected_outcome: x, input: y}}
  - {{id: twice, expected_outcome: x, input: y}}
"""
MISTAKES = """\
BK780 yaml:4:5: a case without an id: add `id:`, which no other case has
BK780 yaml:5:22: the expected outcome is empty: say what a good answer does
BK780 yaml:6:5: a case without an input: add `input:`, what is asked
BK780 yaml:6:22: both `expected_outcome` and `outcome` are given: keep `expected_outcome`
BK103 yaml:7:44: unknown key 'sidecars': did you mean 'sidecar'?
BK781 yaml:8:41: expected a text, a mapping or a list of messages, found 42 (integer): put a text in \
quotes; a message is {role: user, content: …}
BK781 yaml:9:64: a message without content: add `content:`
BK104 yaml:10:65: the key 'value' is missing: add it
BK103 yaml:10:78: unknown key 'text': known here: type, value
BK105 yaml:11:72: expected one of text, file, found 'image' (string)
BK105 yaml:12:66: expected a name, found '' (string)
BK105 yaml:12:83: expected a number of 0 or more, found -1 (integer)
BK105 yaml:12:91: expected a string, found 2 (integer)
BK109 yaml:14:10: the id 'math/twice' occurs twice: it is at yaml:13:10 already; rename one of the two"""


def test_a4_every_mistake_of_every_case_is_reported(tmp_path: Path) -> None:
    assert "\n".join(wrong(tmp_path, MISTAKEN)) == MISTAKES


def test_a4_a_file_without_cases(tmp_path: Path) -> None:
    for stated in ("[]", "null", "{a: 1}"):
        assert "BK780" in wrong(tmp_path, f"evalcases: {stated}")[0]


def test_a7_lines_with_a_file_beside_them(tmp_path: Path) -> None:
    beside = "description: d\ndataset: sums\nevaluator: null\nexecution: {" + JUDGED + "}\n"
    write(tmp_path, "evals/math.yaml", beside)
    line = '{"id": "%s", "expected_outcome": "x", "input": "y"}'
    found = cases(tmp_path, f"{line % 'a'}\n\n{line % 'b'}\n", "evals/math.jsonl")
    assert [case.id for case in found] == ["sums/a", "sums/b"]
    assert [grader.name for case in found for grader in case.graders] == ["check", "check"]


def test_a7_what_is_wrong_is_told_by_its_line(tmp_path: Path) -> None:
    write(tmp_path, "evals/math.yaml", "datasets: sums\n" + JUDGED)
    text = '{"id": "a", "expected_outcome": "x", "input": "y"}\n\n{"id": "b", "input": "y"}\n'
    assert wrong(tmp_path, text, "evals/math.jsonl") == [
        "BK103 yaml:1:1: unknown key 'datasets': did you mean 'dataset'?",
        "BK780 jsonl:3:1: a case without an expected outcome: add `expected_outcome:`, "
        "what a good answer does",
    ]
    text = '{"id": "a", "outcome": "x", "input": "y"}\n{"id": "b", "criteria": "x", "input": "y"}'
    (found,) = wrong(tmp_path, text, "evals/others.jsonl")
    assert found.startswith("BK103 evals/others.jsonl:2:13: unknown key 'criteria': a later AgentV says so")
    assert "jsonl:2:6" in wrong(tmp_path, '{"id": "a"}\n{"id"\n', "evals/math.jsonl")[0]


def test_a7_what_stands_beside_lines_is_no_file_of_cases(tmp_path: Path) -> None:
    write(tmp_path, "evals/math.jsonl", '{"id": "a", "expected_outcome": "x", "input": "y"}\n')
    beside = write(tmp_path, "evals/math.yaml", f"dataset: sums\n{JUDGED}\n")
    with pytest.raises(InvalidInput, match=r"and has none: baselinekit run evals/math\.jsonl"):
        load_evals([beside], str(tmp_path))
    both = load_evals([beside, "evals/math.jsonl"], str(tmp_path)).cases
    assert [case.id for case in both] == ["sums/a"]
    write(tmp_path, "evals/other.yaml", f"{JUDGED}\nevalcases: [{{id: a, outcome: x, input: y}}]")
    write(tmp_path, "evals/rows.jsonl", '{"id": "a", "score": 1}\n')
    assert [case.id for case in load_evals(["evals"], str(tmp_path)).cases] == ["sums/a", "other/a"]


def test_a8_default_is_no_target(tmp_path: Path) -> None:
    text = f"target: default\n{JUDGED}\nevalcases: [{{id: a, outcome: x, input: y}}]"
    (case,) = cases(tmp_path, text)
    assert case.recipe.execution == PromptExecution("prompt")


def test_a20_keys_that_nobody_knows_are_the_programs(tmp_path: Path) -> None:
    case = one(
        tmp_path,
        """
        input: hi
        execution:
          evaluators:
            - name: words
              type: code_judge
              script: node check.js
              cwd: ..
              target: {max_calls: 5}
              weight: 2.5
              keywords: [a, b]
              config: {deep: 1}
        """,
    )
    (grader,) = case.graders
    assert (grader.name, grader.weight, grader.required) == ("words", 2.5, False)
    assert grader.at == ("execution", "evaluators", 0)
    assert grader.method == CodeJudge(
        "node check.js", "..", target=ModelAccess(5), config={"keywords": ["a", "b"], "deep": 1}
    )


def test_a6_who_judges(tmp_path: Path) -> None:
    """The case's execution goes before the case, and that before its file."""
    entry = "{name: %s, type: code_judge, script: x}"
    text = f"""
        execution: {{evaluators: [{entry % "ours"}]}}
        evalcases:
          - {{id: a, outcome: x, input: y}}
          - {{id: b, outcome: x, input: y, evaluators: [{entry % "own"}]}}
          - id: c
            outcome: x
            input: y
            evaluators: [{entry % "own"}]
            execution: {{evaluators: [{entry % "nearest"}]}}
        """
    found = cases(tmp_path, text)
    assert [[grader.name for grader in case.graders] for case in found] == [["ours"], ["own"], ["nearest"]]


MISTAKEN_EVALUATORS = """\
evaluators:
- {type: code_judge, script: x}
- {name: a, script: x}
- {name: a, type: code_juge}
- {name: a, type: contains, value: x}
- {name: a, type: code_judge, scripts: x}
- {name: a, type: code_judge, script: x, weight: -1, required: 1}
- {name: a, type: code_judge, script: x, cwd: nowhere}
- {name: a, type: code_judge, script: [1]}
- just a word
- {name: a, type: code_judge, script: x}
- {name: a, type: code_judge, script: y}
evalcases: [{id: a, outcome: x, input: y}]
"""
MISTAKES_OF_EVALUATORS = """\
BK783 yaml:2:3: an evaluator without a name: add `name:`
BK783 yaml:3:3: an evaluator without a type: one of code_judge, llm_judge, rubric, composi
BK783 yaml:4:19: there is no evaluator of the type 'code_juge' (string): did you mean 'cod
BK783 yaml:5:19: there is no evaluator of the type 'contains' (string): other versions of
BK783 yaml:6:3: a code_judge without a script: `script: [python3, check.py]` instead of 's
BK105 yaml:7:50: expected a number from 0 to 1,000,000, found -1 (integer)
BK105 yaml:7:64: expected true or false, found 1 (integer)
BK782 yaml:8:47: there is no folder 'nowhere': looked for evals/nowhere, nowhere: check th
BK105 yaml:9:40: expected a string, found 1 (integer)
BK783 yaml:10:3: expected an evaluator, found 'just a word' (string): such as {name: quali
BK783 yaml:12:10: two evaluators are called 'a': rename one of them
"""


def test_a4_every_mistake_of_every_evaluator_is_reported(tmp_path: Path) -> None:
    assert [
        line[:90].rstrip() for line in wrong(tmp_path, MISTAKEN_EVALUATORS)
    ] == MISTAKES_OF_EVALUATORS.splitlines()


def test_a10_files_are_looked_for_upward_and_slash_is_the_root(tmp_path: Path) -> None:
    write(tmp_path, "evals/deep/near.md", "near\r\nby\r\n")
    write(tmp_path, "evals/up.md", "up")
    write(tmp_path, "docs/root.md", "root")
    names = ["./near.md", "up.md", "../up.md", "/docs/root.md", "docs/root.md"]
    parts = ", ".join(f"{{type: file, value: {name}}}" for name in names)
    stated = f"input:\n  - role: user\n    content: [{{type: text, value: Look}}, {parts}]"
    case = one(tmp_path, stated, "evals/deep/a.eval.yaml")
    assert case.id == "a/a"
    (message,) = case.wanted.asked
    paths = ["evals/deep/near.md", "evals/up.md", "evals/up.md", "docs/root.md", "docs/root.md"]
    assert message.content[1:] == [
        {"type": "file", "value": name, "path": str(tmp_path / path), "text": text}
        for name, path, text in zip(names, paths, ["near\nby\n", "up", "up", "root", "root"], strict=True)
    ]
    assert case.wanted.input_files == tuple(str(tmp_path / path) for path in dict.fromkeys(paths))
    assert case.wanted.guideline_files == ()


def test_a10_a_missing_file_tells_where_it_was_looked_for(tmp_path: Path) -> None:
    write(tmp_path, "docs/guide.md", "x")
    text = f"{JUDGED}\nevalcases: [{{id: a, outcome: x, input: [{{type: file, value: %s}}]}}]"
    assert wrong(tmp_path, text % "/docs/gide.md") == [
        "BK782 yaml:2:61: there is no file '/docs/gide.md': looked for docs/gide.md: did you mean 'guide.md'?"
    ]
    assert "looked for evals/no.md, no.md: check the name" in wrong(tmp_path, text % "no.md")[0]
    assert "looked for docs: docs is a folder" in wrong(tmp_path, text % "/docs")[0]


def test_f41_a_file_does_not_lead_out_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("secret")
    text = f"{JUDGED}\nevalcases: [{{id: a, outcome: x, input: [{{type: file, value: %s}}]}}]"
    (tmp_path / "in").mkdir()
    (tmp_path / "in/link.md").symlink_to("../outside.md")
    for name in ("../../outside.md", "/../outside.md", "/link.md", "/.git/config"):
        assert "BK404" in wrong(tmp_path / "in", text % name)[0]
    write(tmp_path / "in", "evals/near.md", "x")
    (tmp_path / "in/evals/out.md").symlink_to("../../outside.md")
    (tmp_path / "in/near.md").symlink_to("../outside.md")
    assert "BK404" in wrong(tmp_path / "in", text % "./out.md")[0]
    (case,) = cases(tmp_path / "in", text % "./near.md")
    assert case.wanted.input_files == (str(tmp_path / "in/evals/near.md"),)


def test_a12_guidelines_are_told_from_other_files(tmp_path: Path) -> None:
    write(
        tmp_path, ".agentv/config.yaml", 'guideline_patterns: ["**/*.instructions.md", "**/{SKILL,RULES}.md"]'
    )
    for name in ("evals/py.instructions.md", "SKILL.md", "evals/SKILLS.md"):
        write(tmp_path, name, "x")
    parts = ", ".join(
        f"{{type: file, value: {name}}}" for name in ("py.instructions.md", "SKILL.md", "SKILLS.md")
    )
    wanted = one(tmp_path, f"input: [{parts}]").wanted
    assert wanted.guideline_files == (str(tmp_path / "evals/py.instructions.md"), str(tmp_path / "SKILL.md"))
    assert wanted.input_files == (str(tmp_path / "evals/SKILLS.md"),)


def test_x2_a_file_that_could_be_two_forms(tmp_path: Path) -> None:
    found = wrong(tmp_path, "evalcases: []\ntest_cases: []")
    assert "a file of test cases (by 'test_cases') and an AgentV eval file (by 'evalcases')" in found[0]


def test_x4_braces_in_what_is_asked_stand_for_themselves(tmp_path: Path) -> None:
    case = one(tmp_path, 'input: "Fill in {{name}}"')
    assert case.recipe.input == PromptInput(messages=[Message("user", "Fill in \\{{name}}")])


def test_who_takes_no_messages_is_told(tmp_path: Path) -> None:
    text = f"{JUDGED}\nevalcases: [{{id: a, outcome: x, input: y}}]"
    with pytest.raises(InvalidInput, match=r"BK781 .*messages are for a model or an agent, not for echo"):
        cases(tmp_path, text, target=EchoExecution("echo"))


def judged(root: Path, evaluator: str) -> Grader:
    write(root, "evals/judge.md", "Is {{candidate_answer}} good?")
    (grader,) = one(root, f"input: hi\nevaluators: [{evaluator}]").graders
    return grader


CALLS = "{tool: find, args: {q: a}, max_duration_ms: 250}, {tool: save, args: any}"


@pytest.mark.parametrize(
    ("evaluator", "method"),
    [
        ("{name: a, type: llm_judge}", TemplateJudge()),
        ("{name: a, type: llm_judge, prompt: judge.md, model: big}", TemplateJudge("judge.md", "big")),
        ("{name: a, type: llm_judge, prompt: /evals/judge.md}", TemplateJudge("judge.md")),
        ("{name: a, type: llm_judge, prompt: Is it polite?}", TemplateJudge("Is it polite?")),
        (
            "{name: a, type: llm_judge, prompt: {script: [bun, run, x.ts], config: {strict: true}}}",
            TemplateJudge(PromptScript(["bun", "run", "x.ts"], {"strict": True})),
        ),
        ("{name: a, type: llm_judge, rubrics: [Is polite]}", RubricJudge(["Is polite"])),
        (
            "{name: a, type: rubric, rubrics: [{id: b, description: Is polite, required: false}]}",
            RubricJudge([RubricItem("b", description="Is polite", required=False)]),
        ),
        (
            f"{{name: a, type: tool_trajectory, mode: in_order, expected: [{CALLS}]}}",
            ToolTrajectory(
                "in_order", expected=[WantedCall("find", {"q": "a"}, max_seconds=0.25), WantedCall("save")]
            ),
        ),
        (
            "{name: a, type: tool_trajectory, mode: any_order, minimums: {find: 2}}",
            ToolTrajectory("any_order", {"find": 2}),
        ),
        (
            "{name: a, type: field_accuracy, aggregation: all_or_nothing, fields: "
            "[{path: 'rows[0].n', match: numeric_tolerance, tolerance: 1.0, required: false}]}",
            FieldAccuracy(
                [GradedField("rows[0].n", "numeric_tolerance", required=False, tolerance=1.0)],
                "all_or_nothing",
            ),
        ),
        ("{name: a, type: latency, threshold: 2500}", LatencyLimit(2.5)),
        ("{name: a, type: cost, budget: 0.05}", CostLimit(0.05)),
        ("{name: a, type: token_usage, max_total: 100, max_output: 20}", TokenLimit(100, max_output=20)),
    ],
)
def test_a50_a30_evaluators_are_graders_of_ours(tmp_path: Path, evaluator: str, method: Any) -> None:
    assert judged(tmp_path, evaluator).method == method


def test_a50_a_composite_is_made_of_evaluators(tmp_path: Path) -> None:
    gate = "aggregator: {type: code_judge, path: node gate.js, on_error: zero}"
    grader = judged(
        tmp_path,
        "{name: whole, type: composite, evaluators: [{name: safe, type: llm_judge, prompt: judge.md},"
        "{name: inner, type: composite, evaluators: [{name: quick, type: latency, threshold: 1000}],"
        f"{gate}}}], aggregator: {{type: weighted_average, weights: {{safe: 0.3, inner: 0.7}}}}}}",
    )
    safe, inner = grader.method.graders
    assert (safe.name, safe.weight, safe.method) == ("safe", 0.3, TemplateJudge("judge.md"))
    assert (inner.name, inner.weight, inner.method.on_error) == ("inner", 0.7, "zero")
    assert inner.method.judge.method == CodeJudge("node gate.js")
    assert inner.at == ("evaluators", 0, "evaluators", 1)


@pytest.mark.parametrize(
    ("evaluator", "told"),
    [
        (
            "{name: a, type: llm_judge, prompt: judges/no.md}",
            "BK782 yaml:7:55: there is no file 'judges/no.md'",
        ),
        ("{name: a, type: llm_judge, promt: x}", "unknown key 'promt': did you mean 'prompt'?"),
        (
            "{name: a, type: latency, threshold: quick}",
            "BK105 yaml:7:56: expected a number of seconds above 0, found 'quick'",
        ),
        ("{name: a, type: latency}", "the key 'threshold' is missing"),
        ("{name: a, type: cost, budget: 1, max_usd: 1}", "both `budget` and `max_usd` are given"),
        ("{name: a, type: rubric}", "expected a list, found null"),
        ("{name: a, type: rubric, rubrics: []}", "an empty list of rubrics"),
        ("{name: a, type: composite}", "expected a list of evaluators, found null"),
        (
            "{name: a, type: composite, evaluators: [{name: b, type: llm_judg}]}",
            "BK783 yaml:7:76: there is no evaluator of the type 'llm_judg' (string): did you mean 'llm_j",
        ),
        (
            "{name: a, type: composite, evaluators: [{name: b, type: llm_judge}], aggregator: "
            "{type: weighted_average, weights: {c: 1}}}",
            "there is no grader 'c' in it",
        ),
        (
            "{name: a, type: composite, evaluators: [{name: b, type: llm_judge}], threshold: 1}",
            "unknown key 'thr",
        ),
        ("{name: a, type: tool_trajectory, mode: some_order}", "BK105"),
        (
            "{name: a, type: execution_metrics, max_tokens: 1}",
            "other versions of AgentV have it; here: say each limit",
        ),
    ],
)
def test_a4_a_config_that_cannot_be_used(tmp_path: Path, evaluator: str, told: str) -> None:
    text = (
        "description: d\nevalcases:\n  - id: a\n    expected_outcome: x\n    input: y\n"
        f"    execution:\n      evaluators: [{evaluator}]\n"
    )
    (found,) = wrong(tmp_path, text)
    assert told in found


def test_a6_rubrics_stand_before_the_evaluators(tmp_path: Path) -> None:
    text = f"""
        {JUDGED}
        evalcases:
          - {{id: a, outcome: x, input: y, rubrics: [Is polite]}}
          - {{id: b, outcome: x, input: y, rubrics: [Is polite], evaluators: [{{name: z, type: llm_judge}}]}}
        """
    found = cases(tmp_path, text)
    assert [[grader.name for grader in case.graders] for case in found] == [
        ["rubric", "check"],
        ["rubric", "z"],
    ]


def test_a6_where_nobody_says_who_judges_a_model_does_by_the_expected_outcome(tmp_path: Path) -> None:
    text = """
        evalcases:
          - {id: a, outcome: x, input: y}
          - {id: b, outcome: x, input: y, rubrics: [Is polite]}
          - {id: c, outcome: x, input: y, evaluator: llm_judge}
          - {id: d, outcome: x, input: y, evaluator: llm_judge, rubrics: [Is polite]}
        """
    found = cases(tmp_path, text)
    usual = Grader("llm_judge", "model", TemplateJudge(), required=False)
    assert [[grader.name for grader in case.graders] for case in found] == [
        ["llm_judge"],
        ["rubric"],
        ["llm_judge"],
        ["rubric"],
    ]
    assert found[0].graders == (usual,)
    assert (
        "no evaluator is made of the word 'code_judge' alone"
        in wrong(tmp_path, "evalcases: [{id: a, outcome: x, input: y, evaluator: code_judge}]")[0]
    )


def test_what_is_wrong_with_a_files_evaluators_is_told_once(tmp_path: Path) -> None:
    case = "{id: %s, outcome: x, input: y}"
    text = f"evaluators: [{{name: a, type: llm_judg}}]\nevalcases: [{case % 'a'}, {case % 'b'}, {case % 'c'}]"
    assert [line.partition(" (")[0] for line in wrong(tmp_path, text)] == [
        "BK783 yaml:1:30: there is no evaluator of the type 'llm_judg'"
    ]


def test_a11_a_file_of_a_git_repository_is_read_by_its_address(tmp_path: Path) -> None:
    url = "https://github.com/a/b/blob/main/guide.md"
    fetched = FetchedFile(url, "/cache/guide.md", b"be brief\r\n", "0" * 40)
    file = write(
        tmp_path,
        "evals/a.yaml",
        f"{JUDGED}\nevalcases: [{{id: a, outcome: x, input: [{{type: file, value: '{url}'}}]}}]",
    )
    (case,) = load_evals([file], str(tmp_path), fetch_file={url: fetched}.__getitem__).cases
    (message,) = case.wanted.asked
    part = {"type": "file", "value": url, "path": "/cache/guide.md", "text": "be brief\n"}
    assert message.content == [part]
    assert case.wanted.input_files == ("/cache/guide.md",)


def test_what_no_case_can_make_good_is_told_once_where_the_file_says_it(tmp_path: Path) -> None:
    text = """
        execution:
          evaluators:
            - {name: cheap, type: token_usage}
            - {name: whole, type: composite, evaluators: [{name: z, type: cost, budget: 1, weight: 0}]}
            - {name: form, type: field_accuracy, fields: [{path: a.b}]}
        evalcases:
          - {id: a, expected_outcome: x, input: y}
          - {id: b, expected_outcome: x, input: y, expected_output: {a: {b: 1}}}
          - {id: c, expected_outcome: x, input: y, expected_output: {a: {b: 1}}, rubrics: [Is polite]}
        """
    found = [line.partition(":")[2].split(":")[:2] for line in wrong(tmp_path, text)]
    assert found == [["4", "7"], ["5", "7"]]


def test_two_files_of_one_name_are_told_how_their_ids_become_different(tmp_path: Path) -> None:
    text = f"{JUDGED}\nevalcases: [{{id: a, outcome: x, input: y}}]"
    files = [write(tmp_path, f"{folder}/evals/dataset.yaml", text) for folder in ("one", "two")]
    with pytest.raises(
        InvalidInput, match=r"BK109 two/.* or state a `dataset:` of its own in one of the two files"
    ):
        load_evals(files, str(tmp_path))
    write(tmp_path, "two/evals/dataset.yaml", f"dataset: second\n{text}")
    assert [case.id for case in load_evals(files, str(tmp_path)).cases] == ["dataset/a", "second/a"]


def test_a5_a_case_says_whom_it_asks_and_what_its_judges_should_know(tmp_path: Path) -> None:
    text = f"""
        execution: {{target: small, {JUDGED}}}
        evalcases:
          - {{id: a, outcome: x, input: y, execution: {{target: big}}, sidecar: {{level: 2}}}}
          - {{id: b, outcome: x, input: y}}
        """
    file = write(tmp_path, "evals/a.yaml", textwrap.dedent(text))
    targets = Targets(models=frozenset(("big", "small")))
    found = load_evals([file], str(tmp_path), targets=targets).cases
    assert [case.recipe.execution.model for case in found] == ["big", "small"]
    assert [case.wanted.sidecar for case in found] == [{"level": 2}, {}]


def test_editors_know_the_form(tmp_path: Path) -> None:
    validator = Draft202012Validator(json_schema())
    case = {"id": "a", "expected_outcome": "x", "input": "y"}
    evaluators = [{"name": "fast", "type": "latency", "threshold": 9}]
    assert validator.is_valid({"$schema": "agentv-eval-v2", "evaluators": evaluators, "evalcases": [case]})
    for more in ({"sidecars": {}}, {"evaluators": [{"type": "latency"}]}, {"input": 42}):
        assert not validator.is_valid({"evalcases": [{**case, **more}]})
    assert not validator.is_valid({"evalcases": []})


def test_an_eval_file_elsewhere_has_its_own_repository(tmp_path: Path) -> None:
    (tmp_path / "there/.git").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    for name in ("there/judge.md", "there/guide.md", "outside.md"):
        write(tmp_path, name, "Judge {{candidate_answer}}")
    text = "evalcases: [{id: a, outcome: x, input: [{type: file, value: ../guide.md}], "
    text += "evaluators: [{name: j, type: llm_judge, prompt: %s}]}]"
    file = str(tmp_path / write(tmp_path, "there/evals/a.yaml", text % "../judge.md"))
    (case,) = load_evals([file], str(tmp_path / "here")).cases
    assert case.wanted.input_files == (str(tmp_path / "there/guide.md"),)
    assert named_text(str(tmp_path / "here"), file, case.graders[0].method.prompt).startswith("Judge")
    with pytest.raises(BaselinekitError, match="BK404"):
        named_text(str(tmp_path / "here"), file, "../../outside.md")

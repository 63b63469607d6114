"""Prompt recipes: a template of any form with its inputs, and what becomes of a model's answer."""

from pathlib import Path
from typing import Any

import pytest
from fake_models import answering

from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, Problem, Refused
from baselinekit.kinds.dispatch import check, replay
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.kinds.settings import Setting
from baselinekit.model.recipes import Answer, Message, ModelQuestion, Recipe, Scores, Tool
from baselinekit.model.traces import ToolCall
from baselinekit.secrets.variables import Scope, Secret
from baselinekit.structs import replace


def prompt(prompt_input: PromptInput, **execution: Any) -> Recipe:
    return Recipe(prompt_input, PromptExecution("prompt", **execution))


def write(setting: Setting, name: str, text: str) -> str:
    path = Path(setting.surroundings.folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return name


def question_of(setting: Setting, recipe: Recipe) -> ModelQuestion:
    """The one question of a recipe."""
    given, models = answering(setting)
    check(recipe, given)
    assert not models.questions, "a check asks no model"
    replay(recipe, given)
    (ask,) = models.questions
    return ask


def messages_of(setting: Setting, recipe: Recipe) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in question_of(setting, recipe).messages]


def problems(setting: Setting, recipe: Recipe) -> list[Problem]:
    """What a check finds without asking a model."""
    given, models = answering(setting)
    with pytest.raises(BaselinekitError) as raised:
        check(recipe, given)
    assert not models.questions
    return list(raised.value.problems)


@pytest.mark.parametrize(
    ("name", "text", "messages"),
    [
        ("a.md", "Say {{x}}.\n", [("user", "Say hello.\n")]),
        ("a.txt", "{{ x }}{{x}}", [("user", "hellohello")]),
        ("a.xml", "<task>{{x}}</task>", [("user", "<task>hello</task>")]),
        ("no-ending", "{{x}}", [("user", "hello")]),
        ("a.yaml", "- {role: system, content: 'Be {{x}}'}\n- role: user\n  content: |\n    {{x}}!\n",
         [("system", "Be hello"), ("user", "hello!\n")]),
        ("a.YML", "- {role: user, content: '{{x}}'}\n", [("user", "hello")]),
        ("a.json", '[{"role": "assistant", "content": "{{x}}?"}, {"role": "user", "content": "1"}]',
         [("assistant", "hello?"), ("user", "1")]),
    ],
)  # fmt: skip
def test_prompt_template_of_any_form(
    setting: Setting, name: str, text: str, messages: list[tuple[str, str]]
) -> None:
    write(setting, name, text)
    assert messages_of(setting, prompt(PromptInput(name, inputs={"x": "hello"}))) == messages


def test_prompt_text_and_messages_in_recipe(setting: Setting) -> None:
    text = PromptInput(text="Say {{x}}", inputs={"x": 1})
    assert messages_of(setting, prompt(text, system="Be brief, {{x}}")) == [
        ("system", "Be brief, 1"),
        ("user", "Say 1"),
    ]
    both = PromptInput(messages=[Message("user", "{{x}}"), Message("assistant", "{{y}}")], inputs={"x": "a"})
    known = replace(setting, scope=Scope({"y": "from the configuration"}))
    assert messages_of(known, prompt(both)) == [("user", "a"), ("assistant", "from the configuration")]


def test_prompt_inputs_inline_from_files_and_inputs_from(setting: Setting) -> None:
    write(setting, "texts/a.txt", "from a file")
    write(
        setting,
        "inputs.yaml",
        "one: from the list\ntwo: from the list\nthree: {file: texts/a.txt}\nmore: 1\n",
    )
    prompt_input = PromptInput(
        text="{{one}} | {{two}} | {{three}} | {{list}} | {{flag}}",
        inputs={"two": {"file": "{{where}}"}, "list": [1, "é"], "flag": True},
        inputs_from="inputs.yaml",
    )
    known = replace(setting, scope=Scope({"where": "texts/a.txt"}))
    expected = 'from the list | from a file | from a file | [1, "é"] | true'
    assert messages_of(known, prompt(prompt_input)) == [("user", expected)]
    write(setting, "inputs.json", '{"x": "json"}')
    assert messages_of(setting, prompt(PromptInput(text="{{x}}", inputs_from="inputs.json")))[0][1] == "json"


def test_f37_prompt_input_value_is_not_expanded_again(setting: Setting) -> None:
    write(setting, "evil.txt", "{{key}} and \\{{x}} and {{x}}")
    prompt_input = PromptInput(text="{{x}} {{y}}", inputs={"x": {"file": "evil.txt"}, "y": "\\{{key}}"})
    known = replace(setting, scope=Scope(secrets={"key": Secret("s3cret-value")}))
    text = messages_of(known, prompt(prompt_input))[0][1]
    assert text == "{{key}} and \\{{x}} and {{x}} {{key}}"
    from_file = PromptInput(text="{{x}}", inputs_from=write(setting, "i.yaml", "x: '{{key}}'"))
    assert messages_of(known, prompt(from_file))[0][1] == "{{key}}", "a file of inputs is data as well"


@pytest.mark.parametrize(
    ("name", "text", "line", "column"),
    [
        ("a.md", "# A\n\nSay {{x}} to {{nmae}}.\n", 3, 14),
        ("a.md", "\\{{nmae}} {{x}}\n  {{ nmae }}\n", 2, 3),
        ("a.yaml", "- role: user\n  content: '{{x}} {{nmae}}'\n", 2, 19),
    ],
)
def test_check_prompt_undefined_name_is_reported_with_place(
    setting: Setting, name: str, text: str, line: int, column: int
) -> None:
    write(setting, name, text)
    (problem,) = problems(setting, prompt(PromptInput(name, inputs={"x": 1, "name": 2})))[:1]
    assert problem.code == "BK350"
    assert problem.place is not None
    assert (problem.place.file, problem.place.line, problem.place.column) == (
        f"baselines/{name}",
        line,
        column,
    )
    assert "did you mean 'name'?" in problem.hint


def test_prompt_file_outside_project_is_refused(setting: Setting, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("{{x}}")
    Path(setting.surroundings.folder, "link.md").symlink_to(tmp_path / "outside.txt")
    for prompt_input in (
        PromptInput("../../outside.txt"),
        PromptInput("link.md"),
        PromptInput(text="{{x}}", inputs={"x": {"file": "../../outside.txt"}}),
        PromptInput(text="x", inputs_from="/etc/passwd"),
    ):
        with pytest.raises(Refused):
            check(prompt(prompt_input), answering(setting)[0])
    with pytest.raises(CannotReplay, match=r"'absent\.md' does not exist: paths start at baselines/"):
        check(prompt(PromptInput("absent.md")), answering(setting)[0])


def test_prompt_settings_are_in_the_question(setting: Setting) -> None:
    tools = [Tool("find", "Finds", {"type": "object"})]
    recipe = prompt(PromptInput(text="x", tools=tools), temperature=0, max_tokens=9, json=True, timeout=3)
    ask = question_of(replace(setting, turn=2), recipe)
    assert ask == ModelQuestion("default", (Message("user", "x"),), tuple(tools), 0, 9, True, 2, 3)


JSON = '{"a": [1.50]}'
CALLS = (ToolCall("find", {"order": 1}), ToolCall("say", {"x": "y"}, "said"))
AS_JSON = [{"name": "find", "input": {"order": 1}}, {"name": "say", "input": {"x": "y"}, "output": "said"}]


@pytest.mark.parametrize(
    ("answer", "execution", "output", "flaw"),
    [
        ("fine", {}, "fine", None),
        ("fine", {"parse": "text"}, "fine", None),
        (JSON, {}, JSON, None),
        (JSON, {"parse": "json"}, {"a": [1.5]}, None),
        (f"Here you are:\n\n```json\n{JSON}\n```\nAnything else?", {"parse": "json"}, {"a": [1.5]}, None),
        (f"```\n{JSON}\n```", {"parse": "json"}, {"a": [1.5]}, None),
        (f"  ```JSON \r\n{JSON}\r\n  ```", {"parse": "json"}, {"a": [1.5]}, None),
        ("```python\nx = 1\n```\n```json\n[1]\n```", {"parse": "json"}, [1], None),
        ("null", {"parse": "json"}, None, None),
        ("I would rather not.", {"parse": "json"}, "I would rather not.", "no JSON"),
        ("```json\n[1]\n```\nor\n```json\n[2]\n```", {"parse": "json"}, None, "no JSON"),
        ('{"a": 1, "a": 2}', {"parse": "json"}, None, "no JSON"),
        ("", {"parse": "json"}, "", "no JSON"),
        (Answer("fine", CALLS), {}, "fine",
         "it called find, say beside its text: `collect: [text, tool_calls]`"),
        (Answer("fine", CALLS), {"collect": ["text"]}, {"text": "fine"}, None),
        (Answer("", CALLS), {}, "", "called tools and wrote no text"),
        (Answer("", CALLS), {"collect": ["tool_calls"]}, {"tool_calls": AS_JSON}, None),
        (Answer("a", CALLS), {"collect": ["text", "tool_calls"]}, {"text": "a", "tool_calls": AS_JSON}, None),
        (Answer(JSON), {"collect": ["text"], "parse": "json"}, {"json": {"a": [1.5]}}, None),
        (Answer("no"), {"collect": ["text"], "parse": "json"}, {"json": "no"}, "no JSON"),
    ],
)  # fmt: skip
def test_prompt_answer_output_and_reason_not_to_store(
    setting: Setting, answer: Answer | str, execution: dict[str, Any], output: Any, flaw: str | None
) -> None:
    given, _ = answering(setting, answer)
    found = replay(prompt(PromptInput(text="x"), **execution), given)
    assert (flaw or "") in (found.reason_not_to_store or "")
    assert (found.reason_not_to_store is None) == (flaw is None)
    if flaw is None or output is not None:
        assert found.output == output


@pytest.mark.parametrize(
    "scores",
    [
        Scores({}),
        Scores({"clear": "is it?"}, scale=(5, 1)),
        Scores({"clear": "is it?"}, scale=(1, 1)),
        Scores("rubric.yaml"),
        Scores("empty.yaml"),
    ],
)
def test_check_prompt_invalid_scores_are_refused(setting: Setting, scores: Scores) -> None:
    write(setting, "rubric.yaml", "clear: [is it?]\n")
    write(setting, "empty.yaml", "")
    with pytest.raises(InvalidInput) as raised:
        check(prompt(PromptInput(text="x"), scores=scores), answering(setting)[0])
    assert [problem.code for problem in raised.value.problems] == ["BK108"]

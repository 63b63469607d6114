"""Skills: programs and Python callables, requests, folders with a SKILL.md, and what they report."""

import json
from pathlib import Path
from typing import Any

import pytest
from fake_models import FakeModels, answering
from replay_world import RawServer, http

from baselinekit.errors import CannotReplay, InvalidInput, Refused
from baselinekit.kinds.dispatch import check, replay
from baselinekit.kinds.settings import Setting
from baselinekit.kinds.skill import SkillExecution
from baselinekit.model.recipes import Answer, HttpRequest, Recipe, Scores, Skill, Usage
from baselinekit.model.traces import ToolCall
from baselinekit.secrets.variables import Scope, Secret
from baselinekit.structs import replace


def recipe(input: Any, name: str = "skill", **execution: Any) -> Recipe:
    return Recipe(input, SkillExecution("skill", name, **execution))


def knowing(setting: Setting, skill: Skill, **changes: Any) -> Setting:
    return replace(setting, surroundings=replace(setting.surroundings, skills={"skill": skill}), **changes)


def write(setting: Setting, name: str, text: str) -> None:
    path = Path(setting.surroundings.root, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


ECHO = Skill(command=["cat"])


@pytest.mark.parametrize(
    ("printed", "output"),
    [
        ('{"a": 1}\n', {"a": 1}),
        ("plain text\n", "plain text"),
        ("two lines\n\n", "two lines\n"),
        ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}'),
        ("", ""),
        ("4.5", 4.5),
    ],
)
def test_skill_program_output_is_json_or_text(real: Setting, printed: str, output: Any) -> None:
    Path(real.surroundings.folder, "said").write_text(printed)
    assert replay(recipe({}), knowing(real, Skill(command=["cat", "said"]))).output == output


MODULE = """
import os, sys, json

def review(input, depth="quick", **more):
    print("noise that must not run into the answer")
    os.system("echo more noise")
    return {"depth": depth, "cwd": os.getcwd(), "input": input, "more": more}

class Box:
    @staticmethod
    def inside(input):
        return input["n"] + 1

def fails(input):
    raise ValueError("no such\\nmodel")

def leaves(input):
    sys.stderr.write("going\\n")
    os._exit(0)

def unspeakable(input):
    return {1, 2}

def nan(input):
    return float("nan")
"""


@pytest.fixture
def project(real: Setting) -> Setting:
    package = Path(real.surroundings.root, "my_skills")
    package.mkdir()
    package.joinpath("reviewing.py").write_text(MODULE)
    Path(real.surroundings.root, "json.py").write_text("raise SystemError('F44: not this one')")
    return real


def test_skill_callable_runs_in_child_process(project: Setting) -> None:
    skill = Skill(python="my_skills.reviewing:review")
    output = replay(
        recipe({"code": "é"}, parameters={"depth": "thorough", "extra": 1}), knowing(project, skill)
    ).output
    assert output == {
        "depth": "thorough",
        "cwd": project.surroundings.folder,
        "input": {"code": "é"},
        "more": {"extra": 1},
    }
    assert (
        replay(recipe({"n": 1}), knowing(project, Skill(python="my_skills.reviewing:Box.inside"))).output == 2
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("my_skills.reviewing:fails", "the skill skill raised ValueError: no such model"),
        ("my_skills.reviewing:absent", "'my_skills.reviewing' has no attribute 'absent'"),
        ("my_skills.absent:x", "ModuleNotFoundError: No module named 'my_skills.absent'"),
        ("my_skills.reviewing:Box.inside", "KeyError: 'n' at my_skills/reviewing.py:12"),
        ("my_skills.reviewing:leaves", "the skill skill gave no result; its last output was: going"),
        ("my_skills.reviewing:unspeakable", "TypeError: Object of type set is not JSON serializable"),
        ("my_skills.reviewing:nan", "ValueError: Out of range float values"),
    ],
)
def test_skill_callable_failure_is_an_error(project: Setting, name: str, message: str) -> None:
    with pytest.raises(CannotReplay) as raised:
        replay(recipe({}), knowing(project, Skill(python=name)))
    assert message in raised.value.problems[0].message
    assert raised.value.problems[0].code == "BK323"


def test_skill_input_files_are_read_where_declared(real: Setting) -> None:
    Path(real.surroundings.folder, "a.patch").write_text("+é {{not a variable}}\n")
    skill_recipe = recipe({"code_diff": "a.patch", "list": [{"file": "{{path}}"}], "as_is": "a.patch"})
    skill = replace(ECHO, files=["code_diff", "absent"])
    output = replay(skill_recipe, knowing(real, skill, scope=Scope({"path": "a.patch"}))).output
    text = "+é {{not a variable}}\n"
    assert output["input"] == {"code_diff": text, "list": [text], "as_is": "a.patch"}


def test_check_undeclared_skill_is_refused(setting: Setting) -> None:
    for ask in (check, replay):
        with pytest.raises(InvalidInput, match="did you mean 'skill'") as raised:
            ask(recipe({}, "skil"), knowing(setting, ECHO))
        assert raised.value.problems[0].at == ("current", "execution", "skill_name")
    with pytest.raises(InvalidInput, match=r"declare it .*skills: \{other: \{command: \[PROGRAM\]\}\}"):
        check(recipe({}, "other"), setting)


@pytest.mark.parametrize(
    "skill",
    [
        Skill(),
        Skill(command=["a"], python="a:b"),
        Skill(python="module"),
        Skill(python="a b:c"),
        Skill(python=":f"),
    ],
)
def test_check_invalid_skill_declaration_is_refused(setting: Setting, skill: Skill) -> None:
    with pytest.raises(InvalidInput):
        check(recipe({}), knowing(setting, skill))


def test_check_skill_reports_undefined_variables_and_missing_program(setting: Setting) -> None:
    skill_recipe = recipe({"a": ["{{x}}"]}, parameters={"depth": "{{y}}"})
    with pytest.raises(InvalidInput) as raised:
        check(skill_recipe, knowing(setting, ECHO))
    assert [problem.at for problem in raised.value.problems] == [
        ("current", "input", "a", 0),
        ("current", "execution", "parameters", "depth"),
    ]
    with pytest.raises(CannotReplay, match="correct `skills: skill:`"):
        check(recipe({}), knowing(setting, Skill(command=["no-such-tool"])))


JSON = "Content-Type: application/json"


def test_skill_http_request_gets_question_as_json(real: Setting, raw: RawServer) -> None:
    url = raw.serve("/review", http(200, b'{"said": [1.0]}', JSON))
    skill = Skill(http=HttpRequest(url=url, headers={"Authorization": "Bearer {{key}}"}))
    scope = Scope({"v": "{{not}} expanded again"}, {"key": Secret("a-secret-key", ("127.0.0.1",))})
    skill_recipe = recipe({"text": "{{v}}", "n": 1}, parameters={"depth": "{{v}}"})
    given = knowing(real, skill, scope=scope)
    check(skill_recipe, given)
    assert not raw.requests
    assert replay(skill_recipe, given).output == {"said": [1.0]}
    (received,) = raw.requests
    assert (received.method, received.headers["authorization"]) == ("POST", "Bearer a-secret-key")
    text = "{{not}} expanded again"
    assert json.loads(received.body) == {
        "skill": "skill",
        "input": {"text": text, "n": 1},
        "parameters": {"depth": text},
    }


@pytest.mark.parametrize("status", [302, 400, 404, 500])
def test_skill_http_failure_or_redirect_is_an_error(real: Setting, raw: RawServer, status: int) -> None:
    url = raw.serve("/a", http(status, b"{}", JSON, "Location: /b"))
    with pytest.raises(CannotReplay, match=f"answered with status {status}"):
        replay(recipe({}), knowing(real, Skill(http=HttpRequest(url=url))))


TRACE = {
    "output": {"text": "done"},
    "tool_calls": [{"name": "find", "input": {"n": 1}, "output": None}, {"name": "say"}],
    "usage": {"tokens_in": 3, "tokens_out": 4, "cost_usd": 0.25},
}
AS_JSON = [{"name": "find", "input": {"n": 1}, "output": None}, {"name": "say", "input": {}}]


def test_skill_trace_gives_calls_and_usage(real: Setting) -> None:
    write(real, "baselines/said.json", json.dumps(TRACE))
    given = knowing(real, Skill(command=["cat", "said.json"], output="trace"))
    found = replay(recipe({}), given)
    assert found.output == {"text": "done"}
    assert found.tool_calls == (ToolCall("find", {"n": 1}, None), ToolCall("say", {}))
    assert (found.usage.tokens_in, found.usage.tokens_out, str(found.usage.cost_usd)) == (3, 4, "0.25")
    both = replay(recipe({}, collect=["output", "tool_calls"]), given)
    assert both.output == {"output": {"text": "done"}, "tool_calls": AS_JSON}
    assert replay(recipe({}, collect=["tool_calls"]), given).output == {"tool_calls": AS_JSON}


@pytest.mark.parametrize(
    "printed",
    [
        "not json", "{}", '{"output": 1, "tool_calls": [{}]}', '{"output": 1, "usage": {"cost_usd": -1}}',
    ],
)  # fmt: skip
def test_skill_trace_of_wrong_form_is_an_error(real: Setting, printed: str) -> None:
    write(real, "baselines/said.json", printed)
    with pytest.raises(CannotReplay, match=r"did not answer with \{output, tool_calls, usage\}") as raised:
        replay(recipe({}), knowing(real, Skill(command=["cat", "said.json"], output="trace")))
    assert raised.value.problems[0].code == "BK354"


SKILL = "---\nname: greet\ndescription: Greets\n---\nGreet by [the rules](rules.md).\n"


@pytest.mark.parametrize("folder", ["skills/greet", ".claude/skills/greet"])
def test_skill_folder_is_found_by_name(setting: Setting, folder: str) -> None:
    write(setting, f"{folder}/SKILL.md", SKILL)
    write(setting, f"{folder}/rules.md", "Be kind.")
    given, models = answering(setting, Answer("Hello!", usage=Usage(1, 2), served="m-1", seconds=0.5))
    skill_recipe = recipe({"who": "Ada", "when": [1]}, "greet", parameters={"tone": "warm"})
    check(skill_recipe, given)
    assert not models.questions
    found = replay(skill_recipe, given)
    assert (found.output, found.usage, found.seconds) == ("Hello!", Usage(1, 2), 0.5)
    assert found.environment["model"] == "m-1"
    (ask,) = models.questions
    assert [message.role for message in ask.messages] == ["system", "user"]
    system, user = (message.content for message in ask.messages)
    assert system == "Greet by [the rules](rules.md).\n\n\n# rules.md\n\nBe kind."
    assert user == (
        "<who>\nAda\n</who>\n\n<when>\n[\n  1\n]\n</when>\n\n"
        '<parameters>\n{\n  "tone": "warm"\n}\n</parameters>'
    )
    write(setting, f"{folder}/rules.md", "Be stern.")
    assert replay(skill_recipe, given).environment["prompt"] != found.environment["prompt"]


def test_skill_of_configuration_wins_over_folder(setting: Setting) -> None:
    write(setting, "skills/skill/SKILL.md", "the folder's")
    write(setting, "elsewhere/SKILL.md", "the configured one's")
    given, models = answering(knowing(setting, Skill(folder="elsewhere", model="judge", timeout=9)), "{}")
    assert replay(recipe("as it is"), given).output == {}
    (ask,) = models.questions
    assert (ask.model, ask.timeout, ask.messages[0].content) == ("judge", 9, "the configured one's")
    assert ask.messages[1].content == "as it is"


def folder_skill(setting: Setting, text: str) -> tuple[Setting, FakeModels]:
    write(setting, "skills/skill/SKILL.md", text)
    return answering(knowing(setting, Skill(folder="skills/skill")))


def test_skill_folder_reads_linked_texts_inside_it_only(setting: Setting, tmp_path: Path) -> None:
    write(setting, "skills/other/secret.md", "NOT THIS")
    (tmp_path / "outside.md").write_text("NOT THIS")
    folder = Path(setting.surroundings.root, "skills", "skill")
    write(setting, "skills/skill/a.md", "this one")
    write(setting, "skills/skill/long.md", "x" * 200_001)
    write(setting, "skills/skill/run.py", "NOT THIS")
    (folder / "inside.md").symlink_to(Path(setting.surroundings.root, "skills", "other", "secret.md"))
    given, models = folder_skill(
        setting,
        "[a](a.md) [a](a.md) [b](../other/secret.md) [c](absent.md) [d](inside.md) [e](long.md)"
        " [f](run.py) [g](https://example.com/x.md)",
    )
    replay(recipe({}), given)
    system = models.questions[0].messages[0].content
    assert system.count("this one") == 1
    assert "NOT THIS" not in system
    assert "xxx" not in system


@pytest.mark.parametrize("link", ["../../../outside.md", "/etc/passwd.md", "link.md"])
def test_skill_folder_link_out_of_project_is_refused(setting: Setting, tmp_path: Path, link: str) -> None:
    (tmp_path / "outside.md").write_text("NOT THIS")
    given, models = folder_skill(setting, f"[x]({link})")
    Path(setting.surroundings.root, "skills", "skill", "link.md").symlink_to(tmp_path / "outside.md")
    with pytest.raises(Refused):
        check(recipe({}), given)
    with pytest.raises(Refused):
        replay(recipe({}), given)
    assert not models.questions


@pytest.mark.parametrize("name", ["../outside", "/etc", ".", "..", "a/b", "skills/../x"])
def test_skill_name_that_is_a_path_is_refused(setting: Setting, tmp_path: Path, name: str) -> None:
    write(setting, "SKILL.md", "x")
    write(setting, "skills/SKILL.md", "x")
    write(setting, "skills/a/b/SKILL.md", "x")
    write(setting, "skills/x/SKILL.md", "x")
    (tmp_path / "project" / "outside").mkdir()
    write(setting, "outside/SKILL.md", "x")
    with pytest.raises(InvalidInput, match="no skill is called"):
        check(recipe({}, name), answering(setting)[0])


def test_check_skill_folder_reports_missing_model_and_file(setting: Setting) -> None:
    write(setting, "skills/skill/SKILL.md", "x")
    given, models = answering(knowing(setting, Skill(folder="skills/skill", model="nobody")))
    with pytest.raises(InvalidInput) as raised:
        check(recipe({}), given)
    assert raised.value.problems[0].at == ("current", "execution", "skill_name")
    absent = knowing(given, Skill(folder="skills/absent"))
    with pytest.raises(CannotReplay, match=r"skills/absent/SKILL\.md' does not exist"):
        check(recipe({}), absent)
    scored = recipe({}, scores=Scores({"clear": "is it?"}, model="nobody"))
    with pytest.raises(InvalidInput) as raised:
        check(scored, knowing(given, Skill(folder="skills/skill")))
    assert raised.value.problems[0].at == ("current", "execution", "scores", "model")
    assert not models.questions

"""Skill recipes: programs and Python callables that the configuration declares."""

from pathlib import Path
from typing import Any

import pytest

from baselinekit.errors import CannotReplay, InvalidInput
from baselinekit.kinds.dispatch import check, replay
from baselinekit.kinds.settings import Setting
from baselinekit.kinds.skill import SkillExecution
from baselinekit.model.recipes import Recipe, Skill
from baselinekit.secrets.variables import Scope
from baselinekit.structs import replace

ECHO = Skill(command=["cat"])


def recipe(input: Any, name: str = "skill", **parameters: Any) -> Recipe:
    return Recipe(input, SkillExecution("skill", name, parameters))


def knowing(setting: Setting, skill: Skill, **changes: Any) -> Setting:
    return replace(setting, surroundings=replace(setting.surroundings, skills={"skill": skill}), **changes)


def test_skill_program_gets_question_as_json(real: Setting) -> None:
    skill_recipe = recipe({"text": "{{v}}", "diff": "a/b.patch"}, depth="thorough")
    output = replay(skill_recipe, knowing(real, ECHO, scope=Scope({"v": [1]}))).output
    assert output == {
        "skill": "skill",
        "input": {"text": [1], "diff": "a/b.patch"},
        "parameters": {"depth": "thorough"},
    }


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


def test_skill_program_failure_is_an_error_with_last_output(real: Setting) -> None:
    skill = Skill(command=["sh", "-c", "echo first >&2; echo no model >&2; exit 2"])
    with pytest.raises(
        CannotReplay, match="skill ended with exit code 2; its last output was: no model"
    ) as raised:
        replay(recipe({}), knowing(real, skill))
    assert raised.value.problems[0].code == "BK323"


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
    output = replay(recipe({"code": "é"}, depth="thorough", extra=1), knowing(project, skill)).output
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
    skill_recipe = recipe({"a": ["{{x}}"]}, depth="{{y}}")
    with pytest.raises(InvalidInput) as raised:
        check(skill_recipe, knowing(setting, ECHO))
    assert [problem.at for problem in raised.value.problems] == [
        ("current", "input", "a", 0),
        ("current", "execution", "parameters", "depth"),
    ]
    with pytest.raises(CannotReplay, match="correct `skills: skill:`"):
        check(recipe({}), knowing(setting, Skill(command=["no-such-tool"])))

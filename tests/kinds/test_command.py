"""Command recipes: what is started, and what its output becomes."""

import os
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from replay_world import FakeClients

from baselinekit.clients.trust import Trust
from baselinekit.errors import CannotReplay, InvalidInput, Refused
from baselinekit.kinds.dispatch import check, replay
from baselinekit.kinds.programs import CommandExecution, CommandInput
from baselinekit.kinds.settings import Setting
from baselinekit.model.recipes import Command, ProcessResult, ProcessSpec, Recipe
from baselinekit.secrets.variables import Scope
from baselinekit.structs import replace

TOOL = {"tool": Command(["sh", "-c", 'echo "$0 $*"; cat; echo oops >&2; exit 3'])}


def recipe(*argv: str, parse: Any = None, timeout: float | None = None, **given: Any) -> Recipe:
    return Recipe(CommandInput(list(argv), **given), CommandExecution("command", timeout, parse))


def knowing(setting: Setting, commands: dict[str, Command], **changes: Any) -> Setting:
    return replace(setting, surroundings=replace(setting.surroundings, commands=commands), **changes)


def ran(
    setting: Setting, command_recipe: Recipe, commands: dict[str, Command] = TOOL, **changes: Any
) -> ProcessSpec:
    fake = FakeClients(ProcessResult(0, b"", b"", 0.5))
    replay(command_recipe, knowing(setting, commands, clients=fake.clients, **changes))
    return fake.runs[0]


def test_command_configured_with_arguments_gives_exit_code_and_output(real: Setting) -> None:
    observed = replay(
        recipe("tool", "a b", "{{v}}", stdin="in\n"), knowing(real, TOOL, scope=Scope({"v": 1}))
    )
    assert observed.output == {"exit_code": 3, "stdout": "a b 1\nin\n", "stderr": "oops\n"}
    assert observed.seconds > 0


def test_command_files_are_in_the_output(real: Setting) -> None:
    write = {"write": Command(["sh", "-c", "mkdir out; echo text > out/a; printf '\\377' > out/b"])}
    command_recipe = recipe("write", files=["out/a", "out/b", "out/c"])
    output = replay(command_recipe, knowing(real, write)).output
    assert output["files"] == {
        "out/a": "text\n",
        "out/b": {"sha256": sha256(b"\xff").hexdigest(), "size": 1},
        "out/c": None,
    }


@pytest.mark.parametrize("path", ["../../secret", "/etc/passwd", "link"])
def test_f41_f42_command_files_outside_project_are_refused(real: Setting, path: str) -> None:
    Path(real.surroundings.folder, "link").symlink_to("/etc/passwd")
    with pytest.raises(Refused):
        replay(recipe("true", files=[path]), knowing(real, {"true": Command(["true"])}))


def test_f42_command_file_that_is_a_pipe_is_an_error(real: Setting) -> None:
    os.mkfifo(Path(real.surroundings.folder, "pipe"))
    with pytest.raises(CannotReplay, match="not a regular file"):
        replay(recipe("true", files=["pipe"]), knowing(real, {"true": Command(["true"])}))


@pytest.mark.parametrize(
    ("stdin", "sent"), [("text", b"text"), ({"a": [1]}, b'{"a":[1]}'), (None, b"null"), (5, b"5")]
)
def test_command_stdin_is_text_or_json(setting: Setting, stdin: Any, sent: bytes) -> None:
    assert ran(setting, recipe("tool", stdin=stdin)).stdin == sent


def test_command_parse_json_of_stdout(real: Setting) -> None:
    commands = {"say": Command(["printf"])}
    assert replay(recipe("say", '{"a": 1}', parse="json"), knowing(real, commands)).output["stdout"] == {
        "a": 1
    }
    assert replay(recipe("say", '{"a": 1}'), knowing(real, commands)).output["stdout"] == '{"a": 1}'
    with pytest.raises(CannotReplay, match=r"say \(exit code 0\) did not write JSON: .* at byte 1: leave"):
        replay(recipe("say", "{", parse="json"), knowing(real, commands))
    with pytest.raises(CannotReplay, match=r"say \(exit code 0\) did not write JSON: nested deeper than 64"):
        replay(recipe("say", "[" * 65 + "]" * 65, parse="json"), knowing(real, commands))


def test_command_nul_character_is_an_error(real: Setting) -> None:
    commands = {"say": Command(["printf"], env=["MODE"])}
    for command_recipe in (recipe("say", "a\0"), recipe("say", "a", env={"MODE": "a\0b"})):
        with pytest.raises(CannotReplay, match="BK320"):
            replay(command_recipe, knowing(real, commands))


def test_command_process_has_cwd_and_timeout(setting: Setting) -> None:
    run = ran(setting, recipe("tool"))
    assert run.cwd == setting.surroundings.folder
    assert run.timeout == 60
    assert run.argv[0].endswith("/sh")
    assert ran(setting, recipe("tool", timeout=5)).timeout == 5
    Path(setting.surroundings.folder, "sub").mkdir()
    assert ran(setting, recipe("tool", cwd="sub")).cwd == f"{setting.surroundings.folder}/sub"


def test_command_cwd_must_exist_inside_project(setting: Setting) -> None:
    with pytest.raises(Refused):
        ran(setting, recipe("tool", cwd="../.."))
    with pytest.raises(CannotReplay, match="working folder 'absent' does not exist"):
        ran(setting, recipe("tool", cwd="absent"))


def test_command_environment_contains_only_named_variables(setting: Setting) -> None:
    passed = {"tool": Command(["sh"], env=["USER_NAMED", "PATH", "OWN"])}
    before = dict(os.environ)
    os.environ.update({"USER_NAMED": "1", "API_TOKEN": "secret"})
    try:
        run = ran(setting, recipe("tool", env={"OWN": "{{v}}"}), passed, scope=Scope({"v": 2}))
    finally:
        os.environ.clear()
        os.environ.update(before)
    assert run.env["USER_NAMED"] == "1"
    assert run.env["OWN"] == "2"
    assert "API_TOKEN" not in run.env
    assert run.env["PATH"].endswith(os.path.dirname(sys.executable))


@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "BASH_FUNC_ls%%", "http_proxy", "MODE"])
def test_f15_command_variable_must_be_listed_in_configuration(setting: Setting, name: str) -> None:
    command_recipe = recipe("tool", env={name: "x"})
    for ask in (check, replay):
        with pytest.raises(Refused) as raised:
            ask(command_recipe, knowing(setting, TOOL))
        (problem,) = raised.value.problems
        assert (problem.code, problem.at) == ("BK340", ("current", "input", "env"))
        assert f"commands: {{tool: {{argv: […], env: [{name}]}}}}" in problem.hint
    assert ran(setting, command_recipe, {"tool": Command(["sh"], env=[name])}).env[name] == "x"
    assert ran(setting, command_recipe, trust=Trust(allow_exec=True)).env[name] == "x", "a full grant"


def test_f15_command_variable_other_spelling_is_refused(setting: Setting) -> None:
    listed = {"tool": Command(["sh"], env=["MODE", "LANG"])}
    for name in ("mode", "MODE ", "Mode", "ＭＯＤＥ", "MODE{{v}}"):
        with pytest.raises(Refused):
            ran(setting, recipe("tool", env={"LANG": "C", name: "x"}), listed, scope=Scope({"v": 2}))
    for name in ("MODE=x", "", "MO\0DE"):
        with pytest.raises(Refused):
            ran(setting, recipe("tool", env={name: "1"}), listed)


def test_f15_command_reports_all_unlisted_variables(setting: Setting) -> None:
    listed = {"tool": Command(["sh"], env=["LANG"])}
    with pytest.raises(Refused) as raised:
        ran(setting, recipe("tool", env={"LANG": "C", "TAR_OPTIONS": "x", "MODE": "y"}), listed)
    assert "to set TAR_OPTIONS, MODE for 'tool'" in str(raised.value)
    assert "env: [LANG, TAR_OPTIONS, MODE]" in raised.value.problems[0].hint


def test_f15_command_not_in_configuration_is_refused(setting: Setting) -> None:
    for ask in (check, replay):
        with pytest.raises(Refused, match="'sh' is not named in the configuration"):
            ask(recipe("sh", "-c", "true"), knowing(setting, TOOL))
    assert ran(setting, recipe("sh", "x"), trust=Trust(allow_exec=True)).argv[1:] == ("x",)


def test_check_command_reports_undefined_variables_and_missing_program(setting: Setting) -> None:
    with pytest.raises(InvalidInput) as undefined:
        check(recipe("tool", "{{a}}", env={"B": "{{b}}"}), knowing(setting, TOOL))
    places = [problem.at for problem in undefined.value.problems]
    assert places == [("current", "input", "argv", 1), ("current", "input", "env", "B")]
    with pytest.raises(CannotReplay, match="'no-such-tool' is not found: correct `commands: tool:`"):
        check(recipe("tool"), knowing(setting, {"tool": Command(["no-such-tool"])}))
    with pytest.raises(InvalidInput, match="`argv` names no program"):
        check(recipe(""), knowing(setting, TOOL))

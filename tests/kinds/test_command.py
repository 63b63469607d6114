"""Command recipes: what is started, and what its output becomes."""

import os
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from replay_world import FakeDoors

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


def ran(setting: Setting, asked: Recipe, commands: dict[str, Command] = TOOL, **changes: Any) -> ProcessSpec:
    fake = FakeDoors(ProcessResult(0, b"", b"", 0.5))
    replay(asked, knowing(setting, commands, clients=fake.clients, **changes))
    return fake.runs[0]


def test_a_configured_command_with_more_words(real: Setting) -> None:
    observed = replay(
        recipe("tool", "a b", "{{v}}", stdin="in\n"), knowing(real, TOOL, scope=Scope({"v": 1}))
    )
    assert observed.output == {"exit_code": 3, "stdout": "a b 1\nin\n", "stderr": "oops\n"}
    assert observed.seconds > 0


def test_files_that_it_writes(real: Setting) -> None:
    write = {"write": Command(["sh", "-c", "mkdir out; echo text > out/a; printf '\\377' > out/b"])}
    asked = recipe("write", files=["out/a", "out/b", "out/c"])
    output = replay(asked, knowing(real, write)).output
    assert output["files"] == {
        "out/a": "text\n",
        "out/b": {"sha256": sha256(b"\xff").hexdigest(), "size": 1},
        "out/c": None,
    }


@pytest.mark.parametrize("path", ["../../secret", "/etc/passwd", "link"])
def test_f41_f42_files_that_lead_out(real: Setting, path: str) -> None:
    Path(real.surroundings.folder, "link").symlink_to("/etc/passwd")
    with pytest.raises(Refused):
        replay(recipe("true", files=[path]), knowing(real, {"true": Command(["true"])}))


def test_f42_a_pipe_is_no_file(real: Setting) -> None:
    os.mkfifo(Path(real.surroundings.folder, "pipe"))
    with pytest.raises(CannotReplay, match="not a regular file"):
        replay(recipe("true", files=["pipe"]), knowing(real, {"true": Command(["true"])}))


@pytest.mark.parametrize(
    ("stdin", "sent"), [("text", b"text"), ({"a": [1]}, b'{"a":[1]}'), (None, b"null"), (5, b"5")]
)
def test_what_goes_in(setting: Setting, stdin: Any, sent: bytes) -> None:
    assert ran(setting, recipe("tool", stdin=stdin)).stdin == sent


def test_json_out(real: Setting) -> None:
    says = {"say": Command(["printf"])}
    assert replay(recipe("say", '{"a": 1}', parse="json"), knowing(real, says)).output["stdout"] == {"a": 1}
    assert replay(recipe("say", '{"a": 1}'), knowing(real, says)).output["stdout"] == '{"a": 1}'
    with pytest.raises(CannotReplay, match=r"say \(exit code 0\) did not write JSON: .* at byte 1: leave"):
        replay(recipe("say", "{", parse="json"), knowing(real, says))
    with pytest.raises(CannotReplay, match=r"say \(exit code 0\) did not write JSON: nested deeper than 64"):
        replay(recipe("say", "[" * 65 + "]" * 65, parse="json"), knowing(real, says))


def test_a_nul_character_is_not_handed_to_a_program(real: Setting) -> None:
    says = {"say": Command(["printf"], env=["MODE"])}
    for asked in (recipe("say", "a\0"), recipe("say", "a", env={"MODE": "a\0b"})):
        with pytest.raises(CannotReplay, match="BK320"):
            replay(asked, knowing(real, says))


def test_the_run(setting: Setting) -> None:
    run = ran(setting, recipe("tool"))
    assert run.cwd == setting.surroundings.folder
    assert run.timeout == 60
    assert run.argv[0].endswith("/sh")
    assert ran(setting, recipe("tool", timeout=5)).timeout == 5
    Path(setting.surroundings.folder, "sub").mkdir()
    assert ran(setting, recipe("tool", cwd="sub")).cwd == f"{setting.surroundings.folder}/sub"


def test_the_working_folder_stays_inside_and_exists(setting: Setting) -> None:
    with pytest.raises(Refused):
        ran(setting, recipe("tool", cwd="../.."))
    with pytest.raises(CannotReplay, match="working folder 'absent' does not exist"):
        ran(setting, recipe("tool", cwd="absent"))


def test_its_environment_is_named(setting: Setting) -> None:
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
def test_f15_a_file_sets_a_variable_only_where_the_configuration_lists_it(
    setting: Setting, name: str
) -> None:
    asked = recipe("tool", env={name: "x"})
    for ask in (check, replay):
        with pytest.raises(Refused) as raised:
            ask(asked, knowing(setting, TOOL))
        (problem,) = raised.value.problems
        assert (problem.code, problem.at) == ("BK340", ("current", "input", "env", name))
        assert f"commands: {{tool: {{argv: […], env: [{name}]}}}}" in problem.hint
    assert ran(setting, asked, {"tool": Command(["sh"], env=[name])}).env[name] == "x"
    assert ran(setting, asked, trust=Trust(allow_exec=True)).env[name] == "x", "a full grant"


def test_f15_another_spelling_of_a_listed_name_is_another_name(setting: Setting) -> None:
    listed = {"tool": Command(["sh"], env=["MODE", "LANG"])}
    for name in ("mode", "MODE ", "Mode", "ＭＯＤＥ", "MODE{{v}}"):
        with pytest.raises(Refused):
            ran(setting, recipe("tool", env={"LANG": "C", name: "x"}), listed, scope=Scope({"v": 2}))
    for name in ("MODE=x", "", "MO\0DE"):
        with pytest.raises(Refused):
            ran(setting, recipe("tool", env={name: "1"}), listed)


def test_f15_every_variable_that_is_not_listed_is_told_at_once(setting: Setting) -> None:
    listed = {"tool": Command(["sh"], env=["LANG"])}
    with pytest.raises(Refused) as raised:
        ran(setting, recipe("tool", env={"LANG": "C", "TAR_OPTIONS": "x", "MODE": "y"}), listed)
    assert [problem.at[-1] for problem in raised.value.problems if problem.at] == ["TAR_OPTIONS", "MODE"]
    assert "env: [LANG, TAR_OPTIONS, MODE]" in raised.value.problems[0].hint


def test_f15_only_what_the_configuration_names_is_run(setting: Setting) -> None:
    for ask in (check, replay):
        with pytest.raises(Refused, match="'sh' is not named in the configuration"):
            ask(recipe("sh", "-c", "true"), knowing(setting, TOOL))
    assert ran(setting, recipe("sh", "x"), trust=Trust(allow_exec=True)).argv[1:] == ("x",)


def test_check_misses_nothing(setting: Setting) -> None:
    with pytest.raises(InvalidInput) as undefined:
        check(recipe("tool", "{{a}}", env={"B": "{{b}}"}), knowing(setting, TOOL))
    places = [problem.at for problem in undefined.value.problems]
    assert places == [("current", "input", "argv", 1), ("current", "input", "env", "B")]
    with pytest.raises(CannotReplay, match="'no-such-tool' is not found: correct `commands: tool:`"):
        check(recipe("tool"), knowing(setting, {"tool": Command(["no-such-tool"])}))
    for argv in ([], [""]):
        with pytest.raises(InvalidInput, match="argv"):
            check(recipe(*argv), knowing(setting, TOOL))

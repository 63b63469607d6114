"""Scripts that are not allowed, cannot be run, do not end, or print too much."""

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from promptfiles import META
from scripted import CASE, CONFIG, FOLDER, GUARD, VERIFY, Scripted, attempt_of

from baselinekit.errors import InvalidInput, Refused
from baselinekit.eva.scripts import allowed_by

pytestmark = pytest.mark.slow

MODELS = CONFIG.partition("commands:")[0]
SECRET = "hunter2-AKb93kfj2l0"


# Trust.


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        (f"[{GUARD}]", True),
        (f"[prompts/../{GUARD}]", True),
        (f"[sh, {GUARD}]", True),
        ("[guard.sh]", False),
        (f"[{VERIFY}]", False),
        (f"[cat, {GUARD}]", False),
        (f"[sh, -c, {GUARD}]", False),
        ("[prompts/refactor]", False),
        ("[prompts/linked/guard.sh]", False),
    ],
)
def test_e23_command_that_names_the_file_allows_it(tmp_path: Path, command: str, allowed: bool) -> None:
    world = Scripted(tmp_path, "exit 0", config=f"{MODELS}commands: {{x: {command}}}\n")
    (tmp_path / "prompts/linked").symlink_to(world.folder)
    assert allowed_by(world.project(), GUARD) == ("x" if allowed else None)


def test_link_to_an_allowed_script_is_not_allowed(tmp_path: Path) -> None:
    world = Scripted(tmp_path, "exit 0")
    added = tmp_path / "prompts/added"
    shutil.copytree(world.folder, added)
    (added / "guard.sh").unlink()
    (added / "guard.sh").symlink_to("../refactor/guard.sh")
    (added / "meta.yml").write_text(META.replace("id: refactor", "id: added").replace("[rf, tidy]", "[]"))
    with pytest.raises(Refused, match=r"BK403 prompts/added/guard\.sh"):
        world.go()
    assert not world.order


def test_script_that_leads_out_of_the_project_is_refused(tmp_path: Path) -> None:
    world = Scripted(tmp_path / "project", "exit 0")
    (world.folder / "guard.sh").unlink()
    (tmp_path / "evil.sh").write_text("#!/bin/sh\ntouch evil\n")
    (tmp_path / "evil.sh").chmod(0o755)
    (world.folder / "guard.sh").symlink_to(tmp_path / "evil.sh")
    with pytest.raises(Refused, match="leads out of the project"):
        world.go()


def test_script_gets_the_words_and_variables_of_the_configuration(tmp_path: Path) -> None:
    config = f"{MODELS}commands: {{x: {{argv: [sh, {GUARD}, one, two], env: [FROM_OUTSIDE]}}}}\n"
    os.environ["FROM_OUTSIDE"] = "yes"
    try:
        world = Scripted(tmp_path, 'echo "file=$1 $2 $FROM_OUTSIDE"', config=config)
        (world.folder / "guard.sh").chmod(0o644)  # its reader needs no permission to run it
        assert world.attempt().outcome == "passed"
    finally:
        del os.environ["FROM_OUTSIDE"]
    assert "Refactor one two yes." in world.prompt()
    plain = Scripted(tmp_path / "plain", "exit 0")
    (plain.folder / "guard.sh").write_text("echo file=by-shell\n")  # a script without a first line
    plain.attempt()
    assert "Refactor by-shell." in plain.prompt()


# Scripts that cannot be run.


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        ("#!/bin/sh\n", 0o644, "the script is not executable: chmod \\+x prompts/refactor/guard.sh"),
        ("#!/bin/sh\r\nexit 0\r\n", 0o755, "which is not there: name a program .* end lines as on Unix"),
        ("#!/opt/nowhere/bin/sh\n", 0o755, "names '/opt/nowhere/bin/sh', which is not there"),
    ],
)
def test_script_that_cannot_be_run_is_refused_before_anything_is_asked(
    tmp_path: Path, content: str, mode: int, message: str
) -> None:
    world = Scripted(tmp_path, "exit 0")
    (world.folder / "guard.sh").write_bytes(content.encode())
    (world.folder / "guard.sh").chmod(mode)
    with pytest.raises(InvalidInput, match=message) as raised:
        world.go()
    (problem,) = raised.value.problems
    assert (problem.code, str(problem.place), bool(problem.hint)) == ("BK320", GUARD, True)
    assert not world.order


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (os.mkdir, "cannot be read: Is a directory"),
        (os.mkfifo, "cannot be read: it is not a regular file"),
        (lambda path: path.symlink_to("nowhere.sh"), "the link leads to a file that is not there"),
    ],
)
def test_script_that_is_not_a_file_is_refused_before_anything_is_asked(
    tmp_path: Path, make: Any, message: str
) -> None:
    world = Scripted(tmp_path, verify="exit 1")
    make(world.folder / "guard.sh")
    with pytest.raises(InvalidInput, match=message) as raised:
        world.go()
    (problem,) = raised.value.problems
    assert (problem.code, str(problem.place), bool(problem.hint)) == ("BK320", GUARD, True)
    assert not world.order, "a guard that is not there guards nothing, so nothing is asked"


# Scripts that do not end, or print too much.


NUMBER = f"6{os.getpid()}"
"""Seconds by which a test knows the processes of its own scripts."""


def still_running() -> list[str]:
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if line.startswith(f"sleep {NUMBER}")]


@pytest.mark.parametrize(
    "guard",
    [
        "trap '' TERM INT HUP; while :; do sleep 1; done",
        "f() { sleep NUMBER5 & f2; }; f2() { sleep NUMBER6; }; f",
    ],
)
def test_e23_script_that_does_not_end_is_killed_with_its_processes(tmp_path: Path, guard: str) -> None:
    world = Scripted(
        tmp_path,
        guard.replace("NUMBER", NUMBER),
        evals=CASE.replace("name: one", "name: one, timeout_s: 0.5"),
    )
    began = time.monotonic()
    attempt = world.attempt()
    assert time.monotonic() - began < 8
    assert (attempt.outcome, attempt.code, attempt.sent) == ("error", "BK722", False)
    assert attempt.reason == f"{GUARD}: its 0.5 s were used up: raise its time limit"
    assert world.order == ["guard.sh"]
    leaves = f"(sleep {NUMBER}8 >/dev/null 2>&1 &)\nsleep {NUMBER}9 >/dev/null 2>&1 &\necho file=a"
    assert Scripted(tmp_path / "ends", leaves).attempt().outcome == "passed"
    assert not still_running()


@pytest.mark.parametrize(
    ("script", "code"), [("yes no value", "BK322"), ("printf 'file=\\377\\376'", "BK323")]
)
def test_guard_that_prints_too_much_or_no_text_sends_nothing(tmp_path: Path, script: str, code: str) -> None:
    attempt = Scripted(tmp_path, script).attempt()
    assert (attempt.outcome, attempt.code, attempt.sent) == ("error", code, False)
    assert GUARD in attempt.reason
    assert len(attempt.reason) < 1_500


def test_script_that_floods_standard_error_is_cut_to_its_end(tmp_path: Path) -> None:
    flood = "i=0; while [ $i -le 2000 ]; do echo a long line of no use $i >&2; i=$((i+1)); done; exit 1"
    attempt = Scripted(tmp_path, flood).attempt()
    assert attempt.code == "BK323"
    (note,) = Scripted(tmp_path / "two", verify=flood).attempt().notes
    for text in (attempt.reason, note):
        assert "a long line of no use 2000" in text
        assert len(text) < 1_000


# Secrets.


def test_secret_that_a_script_prints_is_masked(tmp_path: Path) -> None:
    config = CONFIG + "variables: {token: {from_env: TOKEN, secret: true}}\n"
    printed = f"echo {SECRET} >&2; exit 1"
    for number, scripts in enumerate(
        ((printed, None), (None, printed), (f"echo {SECRET}; echo x={SECRET}", None))
    ):
        world = Scripted(tmp_path / str(number), *scripts, config=config)
        world.operator = {"environ": {"TOKEN": SECRET}}
        shown = repr(world.go().results)
        assert SECRET not in shown
        assert "***" in shown or "printed x" in shown


def test_input_that_is_a_secret_by_its_name_is_masked(tmp_path: Path) -> None:
    meta = META + "  - {name: api_key, required: false}\n"
    template = "Refactor {{file}}. {{constraints}} {{api_key}}"
    scripts = (f"echo api_key={SECRET}", 'echo "it is $EVA_VAR_api_key"; exit 1')
    world = Scripted(tmp_path, *scripts, CASE.replace("total", "nowhere"), meta=meta, template=template)
    world.answer = f"your key is {SECRET}"
    shown = repr(world.go().results)
    assert SECRET in world.prompt(), "the model gets it"
    assert SECRET not in shown
    world.operator = {"variables": {"api_key": SECRET + "x"}}
    world.script("guard.sh", 'echo "got $EVA_VAR_api_key" >&2; exit 1')
    assert SECRET not in repr(world.go().results)


def test_verify_reads_the_answer_from_a_private_file(tmp_path: Path) -> None:
    mode = 'ls -ld "$(dirname "$EVA_OUTPUT_FILE")" | cut -c1-10 > mode'
    copy = 'echo "$EVA_OUTPUT_FILE" > path; cat "$EVA_OUTPUT_FILE" > copy'
    world = Scripted(tmp_path, verify=f"{mode}\n{copy}")
    world.answer = "total \ud800 x" * 10_000
    (result,) = world.go().results
    assert attempt_of(result).verified
    assert (world.folder / "copy").read_bytes() == world.answer.encode("utf-8", "surrogatepass")
    path = Path((world.folder / "path").read_text().strip())
    assert not path.parent.exists()
    assert (world.folder / "mode").read_text().strip() == "drwx------"
    assert str(FOLDER) not in str(path)

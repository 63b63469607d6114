"""Scripts that nobody has allowed, that cannot be run, that do not end, that say too much."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from promptfiles import META
from scripted import CASE, CONFIG, FOLDER, GUARD, VERIFY, Scripted, attempt_of

from baselinekit.errors import InvalidInput, Refused
from baselinekit.eva.scripts import allowed_by

pytestmark = pytest.mark.slow

MODELS = CONFIG.partition("commands:")[0]
SECRET = "hunter2-AKb93kfj2l0"


# Trust.


def test_e23_what_nobody_allows_is_refused_once_before_anything_is_asked(tmp_path: Path) -> None:
    evals = CASE + "  - {name: two, inputs: {}, assert: [contains: total]}\n"
    world = Scripted(tmp_path, "exit 0", "exit 0", evals, MODELS)
    with pytest.raises(Refused) as raised:
        world.go()
    hint = "add it under `commands:` in baselinekit.yaml (refactor-{}: [{}]), or pass --allow-exec"
    assert str(raised.value).splitlines() == [
        f"BK403 {file}: the script is not named in the configuration: {hint.format(word, file)}"
        for word, file in (("guard", GUARD), ("verify", VERIFY))
    ]
    assert raised.value.exit_code == 4
    assert not world.order


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        (f"[{GUARD}]", True),
        (f"[./{GUARD}, --strict]", True),
        (f"[prompts/../{GUARD}]", True),
        (f"{{argv: [{GUARD}], env: [HOME]}}", True),
        (f"[sh, {GUARD}]", True),
        (f"[bash, ./{GUARD}, -x]", True),
        ("[guard.sh]", False),
        ("[prompts/other/guard.sh]", False),
        (f"[{VERIFY}]", False),
        (f"[cat, {GUARD}]", False),
        (f"[sh, -c, {GUARD}]", False),
        (f"[mytool, {GUARD}]", False),
        ("[prompts/refactor]", False),
        ("[sh]", False),
        ("[prompts/linked/guard.sh]", False),
    ],
)
def test_e23_only_who_names_the_very_file_allows_it(tmp_path: Path, command: str, allowed: bool) -> None:
    world = Scripted(tmp_path, "exit 0", config=f"{MODELS}commands: {{x: {command}}}\n")
    (tmp_path / "prompts/linked").symlink_to(world.folder)
    assert allowed_by(world.project(), GUARD) == ("x" if allowed else None)


def test_a_link_to_an_allowed_script_is_not_allowed_by_that(tmp_path: Path) -> None:
    """A pull request that adds a folder runs nothing with it."""
    world = Scripted(tmp_path, "exit 0")
    added = tmp_path / "prompts/added"
    shutil.copytree(world.folder, added)
    (added / "guard.sh").unlink()
    (added / "guard.sh").symlink_to("../refactor/guard.sh")
    (added / "meta.yml").write_text(META.replace("id: refactor", "id: added").replace("[rf, tidy]", "[]"))
    with pytest.raises(Refused, match=r"BK403 prompts/added/guard\.sh"):
        world.go()
    assert not world.order


def test_a_script_that_leads_out_of_the_project_is_refused(tmp_path: Path) -> None:
    world = Scripted(tmp_path / "project", "exit 0")
    (world.folder / "guard.sh").unlink()
    (tmp_path / "evil.sh").write_text("#!/bin/sh\ntouch evil\n")
    (tmp_path / "evil.sh").chmod(0o755)
    (world.folder / "guard.sh").symlink_to(tmp_path / "evil.sh")
    with pytest.raises(Refused, match="leads out of the project"):
        world.go()


def test_the_words_and_variables_of_the_configuration_go_with_a_script(tmp_path: Path) -> None:
    config = f"{MODELS}commands: {{x: {{argv: [sh, {GUARD}, one, two], env: [FROM_OUTSIDE]}}}}\n"
    os.environ["FROM_OUTSIDE"] = "yes"
    try:
        world = Scripted(tmp_path, 'echo "file=$1 $2 $FROM_OUTSIDE"', config=config)
        (world.folder / "guard.sh").chmod(0o644)  # its reader needs no permission to run it
        assert world.attempt().outcome == "passed"
    finally:
        del os.environ["FROM_OUTSIDE"]
    assert "Refactor one two yes." in world.prompt()


# What cannot be run is told before anything is asked.


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        ("#!/bin/sh\n", 0o644, "the script is not executable: chmod \\+x prompts/refactor/guard.sh"),
        ("#!/bin/sh\r\nexit 0\r\n", 0o755, "which is not there: name a program .* end lines as on Unix"),
        ("#!/opt/nowhere/bin/sh\n", 0o755, "names '/opt/nowhere/bin/sh', which is not there"),
        ("#!\n", 0o755, "names '', which is not there"),
    ],
)
def test_what_cannot_be_run_is_told_beforehand(tmp_path: Path, content: str, mode: int, message: str) -> None:
    world = Scripted(tmp_path, "exit 0")
    (world.folder / "guard.sh").write_bytes(content.encode())
    (world.folder / "guard.sh").chmod(mode)
    with pytest.raises(InvalidInput, match=message) as raised:
        world.go()
    (problem,) = raised.value.problems
    assert (problem.code, str(problem.place), bool(problem.hint)) == ("BK760", GUARD, True)
    assert not world.order


@pytest.mark.parametrize("name", ["guard.sh", "verify.sh"])
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("folder", "cannot be read: Is a directory"),
        ("pipe", "cannot be read: it is not a regular file"),
        ("link to nowhere", "the link leads to a file that is not there"),
    ],
)
def test_a_script_that_is_no_file_stops_the_run_and_is_not_passed_over(
    tmp_path: Path, name: str, kind: str, message: str
) -> None:
    world = Scripted(tmp_path, "exit 1", "exit 1")
    path = world.folder / name
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("nowhere.sh")
    began = time.monotonic()
    with pytest.raises(InvalidInput, match=message) as raised:
        world.go()
    assert time.monotonic() - began < 10
    (problem,) = raised.value.problems
    where = str(path.relative_to(tmp_path))
    assert (problem.code, str(problem.place), bool(problem.hint)) == ("BK760", where, True)
    assert not world.order, "a guard that is not there guards nothing, so nobody is asked"


def test_a_script_without_a_first_line_is_read_by_the_shell(tmp_path: Path) -> None:
    world = Scripted(tmp_path, "exit 0")
    (world.folder / "guard.sh").write_text("echo file=by-shell\n")
    world.attempt()
    assert "Refactor by-shell." in world.prompt()


# What does not end, and what says too much.


NUMBER = f"6{os.getpid()}"
"""Of seconds, by which a test knows what its own scripts have begun."""


def still_running() -> list[str]:
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if line.startswith(f"sleep {NUMBER}")]


def timed(case: str, seconds: float) -> str:
    return case.replace("name: one", f"name: one, timeout_s: {seconds}")


@pytest.mark.parametrize(
    "guard",
    [
        "sleep NUMBER0",
        "trap '' TERM INT HUP; while :; do sleep 1; done",
        "(sleep NUMBER1 &) ; sleep NUMBER2 & sleep NUMBER3",
        "while :; do :; done",
        "cat; sleep NUMBER4",
        "f() { sleep NUMBER5 & f2; }; f2() { sleep NUMBER6; }; f",
    ],
)
def test_e23_the_time_of_a_case_covers_its_scripts_and_nothing_outlives_them(
    tmp_path: Path, guard: str
) -> None:
    world = Scripted(tmp_path, guard.replace("NUMBER", NUMBER), evals=timed(CASE, 0.5))
    began = time.monotonic()
    attempt = world.attempt()
    assert time.monotonic() - began < 8
    assert (attempt.outcome, attempt.code, attempt.sent) == ("error", "BK722", False)
    assert attempt.reason == f"{GUARD}: its 0.5 s were used up: raise its `timeout_s`"
    assert world.order == ["guard.sh"]
    assert not still_running()


def test_e23_a_script_that_ends_leaves_nothing_behind(tmp_path: Path) -> None:
    leaves = "(sleep NUMBER8 >/dev/null 2>&1 &)\nsleep NUMBER9 >/dev/null 2>&1 &\necho file=a"
    world = Scripted(tmp_path, leaves.replace("NUMBER", NUMBER))
    began = time.monotonic()
    assert world.attempt().outcome == "passed"
    assert time.monotonic() - began < 8
    assert not still_running()


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("yes no value", "BK322"),
        ("yes file=x", "BK322"),
        ("head -c 20000000 /dev/zero", "BK322"),
        ("printf 'file=\\377\\376'", "BK761"),
    ],
)
def test_a_guard_that_says_too_much_or_no_text_sends_nothing(tmp_path: Path, script: str, code: str) -> None:
    attempt = Scripted(tmp_path, script).attempt()
    assert (attempt.outcome, attempt.code, attempt.sent) == ("error", code, False)
    assert GUARD in attempt.reason
    assert len(attempt.reason) < 1_500


def test_a_flood_on_standard_error_is_cut_to_its_end(tmp_path: Path) -> None:
    flood = "i=0; while [ $i -lt 20000 ]; do echo a long line of no use $i >&2; i=$((i+1)); done; exit 1"
    attempt = Scripted(tmp_path, flood).attempt()
    assert attempt.code == "BK761"
    assert "a long line of no use 19999" in attempt.reason
    assert len(attempt.reason) < 1_000
    world = Scripted(tmp_path / "two", verify=flood)
    (note,) = world.attempt().notes
    assert "a long line of no use 19999" in note
    assert len(note) < 1_000


# Secrets.


def everything(world: Scripted) -> str:
    (result,) = world.go().results
    return repr(result)


@pytest.mark.parametrize("to", ["", ">&2"])
def test_what_a_script_prints_is_masked(tmp_path: Path, to: str) -> None:
    config = CONFIG + "variables: {token: {from_env: TOKEN, secret: true}}\n"
    printed = f"echo {SECRET} {to}; exit 1"
    for guard, verify in ((printed, None), (None, printed), (f"echo {SECRET}; echo x={SECRET}", None)):
        folder = tmp_path / str(hash((guard, verify)))
        world = Scripted(folder, guard, verify, config=config)
        world.operator = {"environ": {"TOKEN": SECRET}}
        told = everything(world)
        assert SECRET not in told
        assert "***" in told or "printed x" in told


def test_an_input_that_is_a_secret_by_its_name_is_on_no_screen(tmp_path: Path) -> None:
    meta = META + "  - {name: api_key, required: false}\n"
    template = "Refactor {{file}}. {{constraints}} {{api_key}}"
    said = f"echo api_key={SECRET}"
    shows = 'echo "it is $EVA_VAR_api_key"; exit 1'
    world = Scripted(tmp_path, said, shows, CASE.replace("total", "nowhere"), meta=meta, template=template)
    world.answer = f"your key is {SECRET}"
    told = everything(world)
    assert SECRET in world.prompt(), "the model gets it"
    assert SECRET not in told
    world.operator = {"variables": {"api_key": SECRET + "x"}}
    world.script("guard.sh", 'echo "got $EVA_VAR_api_key" >&2; exit 1')
    assert SECRET not in everything(world)


KEEPS_ALL = """\
ls -l "$EVA_OUTPUT_FILE" | cut -c1-10 > mode
ls -ld "$(dirname "$EVA_OUTPUT_FILE")" | cut -c1-10 >> mode
echo "$EVA_OUTPUT_FILE" > where
cat "$EVA_OUTPUT_FILE" > copy
"""


def test_the_answer_is_given_to_verify_as_it_is_and_taken_away(tmp_path: Path) -> None:
    world = Scripted(tmp_path, verify=KEEPS_ALL)
    world.answer = "total \ud800 x" * 10_000
    (result,) = world.go().results
    assert attempt_of(result).verified
    assert (world.folder / "copy").read_bytes() == world.answer.encode("utf-8", "surrogatepass")
    where = Path((world.folder / "where").read_text().strip())
    assert not where.parent.exists()
    assert (world.folder / "mode").read_text().split()[1] == "drwx------"
    assert str(FOLDER) not in str(where)

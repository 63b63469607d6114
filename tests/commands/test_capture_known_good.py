"""A failed answer is not stored without an option that allows it, whatever the recipe and the command."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commandline import run
from console import Console
from little_api import LittleApi

pytestmark = pytest.mark.slow

ANSWERS: dict[str, Any] = {
    "/ok": {"ok": True},
    "/down": (500, {"error": "no"}),
    "/sometimes": lambda number: (200 if number % 2 else 404, {"x": 1}),
    "/later": lambda number: {"ok": True} if number < 3 else (503, {"ok": True, "down": True}),
    "/fails": lambda number: (500, {"x": number}),
}


@pytest.fixture
def api() -> Iterator[LittleApi]:
    with LittleApi(dict(ANSWERS)) as running:
        yield running


def flow(project: Console, api: LittleApi, steps: str, collect: str = "") -> Path:
    """A draft of a flow."""
    file = project.folder / "baselines/f.yaml"
    file.write_text(
        f"id: f\ncurrent:\n  input: {{steps: [{steps}]{collect}}}\n"
        f"  execution: {{type: http, base_url: '{api.url}'}}\n"
    )
    return file


def step(name: str, endpoint: str) -> str:
    return f"{{name: {name}, endpoint: {endpoint}}}"


@pytest.mark.parametrize(
    ("steps", "collect", "message"),
    [
        ("{endpoint: /ok}, {endpoint: /down}", "", "step 2 answered 500"),
        (f"{step('one', '/down')}, {step('two', '/ok')}", ", collect: [two]", "step one answered 500"),
    ],
)
def test_capture_of_flow_with_failed_step_is_refused(
    project: Console, api: LittleApi, steps: str, collect: str, message: str
) -> None:
    file = flow(project, api, steps, collect)
    printed = run(project, "capture baselines", 3)
    assert "BK521" in printed
    assert message in printed
    assert "--allow-error-status" in printed
    assert "baseline:" not in file.read_text()
    run(project, "capture baselines --allow-error-status")
    assert "1 passed" in run(project, "compare")


def test_capture_of_flow_without_a_saved_value_names_its_place(project: Console, api: LittleApi) -> None:
    file = flow(project, api, f"{{name: one, endpoint: /ok, save: {{t: body.nope}}}}, {step('two', '/ok')}")
    column = file.read_text().splitlines()[2].index("body.nope") + 1
    printed = run(project, "capture baselines", 3)
    assert f"BK313 baselines/f.yaml:3:{column}: step one: nothing at 'body.nope'" in printed


@pytest.mark.parametrize(("collect", "path"), [(", collect: {a: two.$.status}", "a"), ("", "status")])
def test_capture_never_learns_the_status_of_a_step(
    project: Console, api: LittleApi, collect: str, path: str
) -> None:
    file = flow(project, api, f"{step('one', '/ok')}, {step('two', '/sometimes')}", collect)
    assert f"{path} varies: it is 200, 404" in run(project, "capture baselines --repeat 2", 3)
    assert "<<" not in file.read_text()


def test_capture_of_killed_program_is_refused(project: Console) -> None:
    killed = f"-- {sys.executable} -c 'import os, signal; os.kill(os.getpid(), signal.SIGKILL)'"
    assert "killed by signal 9" in run(project, f"capture command --id c {killed}", 3)
    assert not list(project.folder.rglob("c.yaml"))
    run(project, f"capture command --id c --allow-error-status {killed}")
    run(project, f"capture command --id exits -- {sys.executable} -c 'import sys; sys.exit(3)'")


def model_that_answers(project: Console, answer: str, output: str = "") -> None:
    """A model, as a program, and a skill in a folder that asks it."""
    output = output or ("output: json" if '"text"' in answer else "output: text")
    program = f"import sys; sys.stdin.read(); sys.stdout.write({answer!r})\n"
    (project.folder / "model.py").write_text(program)
    argv = json.dumps([sys.executable, str(project.folder / "model.py")])
    (project.folder / "baselinekit.yaml").write_text(
        f"models: {{default: {{command: {argv}, {output}}}}}\nskills: {{s: {{folder: skills/s}}}}\n"
    )
    (project.folder / "p.md").write_text("Say something.\n")
    (project.folder / "skills/s").mkdir(parents=True, exist_ok=True)
    (project.folder / "skills/s/SKILL.md").write_text("---\nname: s\ndescription: d\n---\nSay it.\n")


CALL = json.dumps({"text": " ", "tool_calls": [{"name": "find", "input": {}}]})


@pytest.mark.parametrize(
    ("answer", "words", "code"),
    [
        (" \n\t \u200b", "prompt p.md", "BK521"),
        ("{}", "prompt p.md --parse json", "BK521"),
        ("[]", "prompt p.md --parse json", ""),
        ("null", "prompt p.md", ""),
        ('{"text": "", "tool_calls": []}', "prompt p.md --collect text --collect tool_calls", "BK521"),
        ("", "skill s", "BK521"),
        (CALL, "skill s --collect output --collect tool_calls", ""),
        (CALL, "prompt p.md", "--collect tool_calls"),
    ],
)
def test_capture_of_empty_answer_is_refused(project: Console, answer: str, words: str, code: str) -> None:
    model_that_answers(project, answer)
    printed = run(project, f"capture {words} --id p", 3 if code else 0)
    assert code in printed
    assert bool(list(project.folder.rglob("p.yaml"))) != bool(code)
    if code == "BK521":
        assert "--allow-empty" in printed
        run(project, f"capture {words} --id p --allow-empty")
        assert "1 passed" in run(project, "compare")
    elif code:
        run(project, f"capture {words} --id p --allow-empty", 3)


def refresh_needs_allow_high_risk(project: Console, *options: str) -> str:
    """Refused with each of the options; accepted with the one that allows it."""
    for option in ("", *options):
        printed = run(project, f"refresh --all-failed --yes {option}", 3)
        assert "BK532" in printed
    run(project, "refresh --all-failed --yes --allow-high-risk")
    assert "1 passed" in run(project, "compare")
    return printed


def test_refresh_with_failed_answer_needs_allow_high_risk(project: Console, api: LittleApi) -> None:
    run(project, f"capture http GET {api.url}/later --id a --exact")
    api.counts["/later"] = 5
    run(project, "compare", 1)
    refresh_needs_allow_high_risk(project, "--path status", "--path body")


def test_refresh_with_empty_answer_needs_allow_high_risk(project: Console) -> None:
    model_that_answers(project, "something")
    run(project, "capture prompt p.md --id p --collect text")
    model_that_answers(project, "")
    run(project, "compare -o out.json", 1)
    refresh_needs_allow_high_risk(project, "--from out.json")


def test_refresh_of_answer_that_failed_at_capture_is_allowed(project: Console, api: LittleApi) -> None:
    run(project, f"capture http GET {api.url}/fails --id a --allow-error-status --exact")
    run(project, "compare", 1)
    run(project, "refresh --all-failed --yes")


@pytest.mark.parametrize(
    ("output", "answer", "exit_code"),
    [
        ("output: claude", '{"type": "result", "result": "fine"}', 3),
        ("output: json", '{"text": "fine"}', 3),
        ("output: json", '{"text": "fine", "tool_calls": []}', 0),
    ],
)
def test_capture_of_unreported_tool_calls_is_refused(
    project: Console, output: str, answer: str, exit_code: int
) -> None:
    model_that_answers(project, answer, output)
    printed = run(project, "capture prompt p.md --collect text --collect tool_calls --id p", exit_code)
    assert ("BK617" in printed) == (exit_code != 0)
    assert bool(list(project.folder.rglob("p.yaml"))) == (exit_code == 0)

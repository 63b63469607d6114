"""Nothing that went wrong becomes known-good without a word from its owner: every kind of recipe, every step,
on every way into a file. Over real sockets and real programs."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from console import Console, console
from little_api import LittleApi

pytestmark = pytest.mark.slow

ANSWERS: dict[str, Any] = {
    "/ok": lambda number: {"ok": True},
    "/down": lambda number: (500, {"error": "no"}),
    "/gone": lambda number: (404, {"error": "no"}),
    "/sometimes": lambda number: (200 if number % 2 else 404, {"x": 1}),
    "/later": lambda number: {"ok": True} if number < 3 else (503, {"ok": True, "down": True}),
    "/news": lambda number: f"news number {number}",
    "/moved": lambda number: (302, {"ok": True}),
}


@pytest.fixture
def api() -> Iterator[LittleApi]:
    with LittleApi(ANSWERS) as running:
        yield running


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        (terminal.folder / "baselines").mkdir(parents=True, exist_ok=True)
        (terminal.folder / "baselinekit.yaml").write_text("version: 1\n")
        yield terminal


def run(here: Console, words: str, exit_code: int) -> str:
    ran = here.run(f"baselinekit {words}")
    assert ran.exit_code == exit_code, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def flow(here: Console, api: LittleApi, steps: str, collect: str) -> Path:
    """A draft of a flow, in a file of its own."""
    file = here.folder / "baselines" / "f.yaml"
    file.write_text(
        f"id: f\ncurrent:\n  input: {{steps: [{steps}]{collect}}}\n"
        f"  execution: {{type: http, base_url: '{api.url}'}}\n"
    )
    return file


def step(name: str, endpoint: str) -> str:
    return f"{{name: {name}, endpoint: {endpoint}}}"


OK_DOWN = f"{step('one', '/ok')}, {step('two', '/down')}"
DOWN_OK = f"{step('one', '/down')}, {step('two', '/ok')}"
FLOWS = [
    (OK_DOWN, "", "step two answered 500"),
    (DOWN_OK, "", "step one answered 500"),
    (DOWN_OK, ", collect: [two]", "step one answered 500"),
    (DOWN_OK, ", collect: {said: one.body.error}", "step one answered 500"),
    ("{endpoint: /ok}, {endpoint: /down}", "", "step 2 answered 500"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("steps", "collect", "said"), FLOWS)
def test_a_flow_with_a_step_that_failed_is_not_stored(
    here: Console, api: LittleApi, steps: str, collect: str, said: str
) -> None:
    file = flow(here, api, steps, collect)
    found = run(here, "capture baselines", 3)
    assert "BK521" in found
    assert said in found
    assert "--allow-error-status" in found
    assert "baseline:" not in file.read_text()
    run(here, "capture baselines --allow-error-status", 0)
    assert "1 passed" in run(here, "compare", 0)


@pytest.mark.parametrize(
    ("saved", "collect"), [("body.nope", ""), ("body.ok", ", collect: {a: one.body.nope}")]
)
def test_what_a_flow_misses_is_told_with_its_own_place(
    here: Console, api: LittleApi, saved: str, collect: str
) -> None:
    saving = f"{{name: one, endpoint: /ok, save: {{t: {saved}}}}}"
    file = flow(here, api, f"{saving}, {step('two', '/ok')}", collect)
    column = file.read_text().splitlines()[2].index("body.nope" if not collect else "one.body") + 1
    said = run(here, "capture baselines", 3)
    assert f"BK313 baselines/f.yaml:3:{column}: step one: nothing at 'body.nope'" in said


@pytest.mark.parametrize(
    ("collect", "path"),
    [(", collect: [one, two]", "two.status"), (", collect: {a: two.$.status}", "a"), ("", "status")],
)
def test_the_status_of_a_step_is_never_learnt_as_varying(
    here: Console, api: LittleApi, collect: str, path: str
) -> None:
    file = flow(here, api, f"{step('one', '/ok')}, {step('two', '/sometimes')}", collect)
    said = run(here, "capture baselines --repeat 2", 3)
    assert f"{path} varies: it is 200, 404" in said
    assert "<<" not in file.read_text()


PROGRAMS = [
    ("import sys; print(1); sys.exit(3)", 0, "exit code 3"),
    ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 3, "killed by signal 9"),
    ("pass", 0, ""),
]


@pytest.mark.slow
@pytest.mark.parametrize(("code", "exit_code", "said"), PROGRAMS)
def test_a_program_that_was_killed_is_not_stored(here: Console, code: str, exit_code: int, said: str) -> None:
    found = run(here, f"capture command --id c -- {sys.executable} -c '{code}'", exit_code)
    assert said in found
    assert (here.folder / "baselines").is_dir()
    assert bool(list(here.folder.rglob("c.yaml"))) == (exit_code == 0)
    if exit_code:
        command = f"capture command --id c --allow-error-status -- {sys.executable} -c '{code}'"
        run(here, command, 0)


def asked(here: Console, answer: str) -> None:
    """A model that always answers so, as a program."""
    (here.folder / "say.py").write_text(f"import sys; sys.stdin.read(); sys.stdout.write({answer!r})\n")
    argv = json.dumps([sys.executable, str(here.folder / "say.py")])
    (here.folder / "baselinekit.yaml").write_text(
        f"models: {{default: {{command: {argv}, output: json}}}}\nskills: {{s: {{folder: skills/s}}}}\n"
    )
    (here.folder / "p.md").write_text("Say something.\n")
    (here.folder / "skills/s").mkdir(parents=True, exist_ok=True)
    (here.folder / "skills/s/SKILL.md").write_text("---\nname: s\ndescription: d\n---\nSay it.\n")


CALL = json.dumps({"text": " ", "tool_calls": [{"name": "find", "input": {}}]})
EMPTY = [
    ("", "prompt p.md", True),
    (" \n\t \u200b", "prompt p.md", True),
    ("{}", "prompt p.md --parse json", True),
    ("[]", "prompt p.md --parse json", False),
    ("null", "prompt p.md", False),
    ('{"text": "", "tool_calls": []}', "prompt p.md --collect text --collect tool_calls", True),
    (CALL, "prompt p.md --collect text --collect tool_calls", False),
    (CALL, "prompt p.md", None),
    (CALL, "skill s", None),
    ("", "skill s", True),
    ('{"text": "", "tool_calls": []}', "skill s --collect output --collect tool_calls", True),
    (CALL, "skill s --collect output --collect tool_calls", False),
]


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "words", "empty"), EMPTY)
def test_an_empty_answer_is_not_stored(here: Console, answer: str, words: str, empty: bool | None) -> None:
    """None: it called tools, and the recipe keeps what it said alone."""
    asked(here, answer)
    if empty is None:
        assert "BK526" in run(here, f"capture {words} --id p --allow-empty", 3)
        return
    said = run(here, f"capture {words} --id p", 3 if empty else 0)
    assert bool(list(here.folder.rglob("p.yaml"))) != empty
    if empty:
        assert "BK528" in said
        assert "--allow-empty" in said
        run(here, f"capture {words} --id p --allow-empty", 0)
        assert "1 passed" in run(here, "compare", 0)


def test_a_redirect_is_no_answer_of_a_skill(here: Console, api: LittleApi) -> None:
    (here.folder / "baselinekit.yaml").write_text(
        f"skills: {{s: {{http: {{url: '{api.url}/moved', method: GET, json: 1}}}}}}\n"
    )
    assert "status 302" in run(here, "capture skill s --id s", 3)


class TestRefresh:
    """What a compare saw may only become known-good with the word that a high risk asks for."""

    def refused(self, here: Console, words: str = "") -> str:
        said = run(here, f"refresh --all-failed --yes {words}", 3)
        assert "BK532" in said
        return said

    @pytest.mark.slow
    def test_an_answer_that_fails(self, here: Console, api: LittleApi) -> None:
        run(here, f"capture http GET {api.url}/later --id a --exact", 0)
        api.counts["/later"] = 5
        run(here, "compare", 1)
        self.refused(here)
        self.refused(here, "--path status")
        self.refused(here, "--path body")  # what an error page says is no better without its status
        run(here, "refresh --all-failed --yes --allow-high-risk", 0)
        run(here, "compare", 0)

    @pytest.mark.slow
    @pytest.mark.parametrize("collect", [", collect: [two]", ""])
    def test_a_step_that_fails(self, here: Console, api: LittleApi, collect: str) -> None:
        flow(here, api, f"{step('one', '/later')}, {step('two', '/sum')}", collect)
        api.answers["/sum"] = lambda number: {"sum": 1 if api.counts["/later"] < 3 else 0}
        run(here, "capture baselines", 0)
        api.counts["/later"] = 5
        run(here, "compare", 1)
        said = self.refused(here)
        assert "step one answered 503" in said
        run(here, "refresh --all-failed --yes --allow-high-risk", 0)
        run(here, "compare", 0)

    def test_what_failed_when_it_was_captured_may_go_on_failing(self, here: Console, api: LittleApi) -> None:
        api.answers["/x"] = lambda number: (500, {"x": number})
        run(here, f"capture http GET {api.url}/x --id a --allow-error-status --exact", 0)
        run(here, "compare", 1)
        run(here, "refresh --all-failed --yes", 0)

    @pytest.mark.slow
    @pytest.mark.parametrize("options", ["", "--collect text"])
    def test_an_empty_answer(self, here: Console, options: str) -> None:
        asked(here, "something")
        run(here, f"capture prompt p.md --id p {options}", 0)
        asked(here, "")
        run(here, "compare -o out.json", 1)
        self.refused(here)
        said = run(here, "refresh --from out.json --all-failed --yes", 3)
        assert "BK532" in said
        run(here, "refresh --all-failed --yes --allow-high-risk", 0)
        run(here, "compare", 0)


UNTOLD = [
    ("output: claude", '{"type": "result", "result": "fine"}', 2),
    ("", "fine", 2),
    ("output: json", '{"text": "fine"}', 3),
    ("output: json", '{"text": "fine", "tool_calls": []}', 0),
]


@pytest.mark.slow
@pytest.mark.parametrize(("entry", "answer", "exit_code"), UNTOLD)
def test_tool_calls_that_nobody_told_are_no_empty_list(
    here: Console, entry: str, answer: str, exit_code: int
) -> None:
    asked(here, answer)
    config = here.folder / "baselinekit.yaml"
    config.write_text(config.read_text().replace("output: json", entry))
    said = run(here, "capture prompt p.md --collect text --collect tool_calls --id p", exit_code)
    assert ("BK617" in said) == (exit_code != 0)
    assert bool(list(here.folder.rglob("p.yaml"))) == (exit_code == 0)


@pytest.mark.parametrize(
    ("reason", "code"), [("max_tokens", "BK613"), ("refusal", "BK614"), ("end_turn", "")]
)
def test_what_claude_says_of_its_end_counts(here: Console, reason: str, code: str) -> None:
    asked(here, json.dumps({"type": "result", "result": "half an", "stop_reason": reason}))
    config = here.folder / "baselinekit.yaml"
    config.write_text(config.read_text().replace("output: json", "output: claude"))
    assert code in run(here, "capture prompt p.md --id p", 3 if code else 0)

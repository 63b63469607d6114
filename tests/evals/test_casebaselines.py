"""Cases of a prompt folder as baselines, over a real socket and with real scripts: what is stored, and what
is not."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from console import Console, console

pytestmark = pytest.mark.slow

CONFIG = """\
models:
  default: {openai: demo, base_url: "{url}"}
  judge: {anthropic: demo, base_url: "{url}"}
  broken: {command: [echo, SCORE=9]}
"""
META = """\
id: triage
title: Triage
summary: Classifies a message.
status: draft
version: 1.0.0
created: 2026-11-01
updated: 2026-11-01
description: Sorts messages. Use when one comes in.
inputs:
  message: {}
  ticket: {required: false, default: none}
"""
CASE = """\
cases:
  - name: angry
    inputs: {message: "My parcel is broken, in {{any}} way."}
    assert: [{contains: complaint}]
"""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project", "demo") as terminal:
        folder = terminal.folder / "prompts/triage"
        folder.mkdir(parents=True)
        (terminal.folder / "baselinekit.yaml").write_text(terminal.filled(CONFIG))
        (folder / "meta.yml").write_text(META)
        (folder / "prompt.xml").write_text("Classify it (ticket {{ticket}}).\n\n{{message}}\n")
        (folder / "eval.yml").write_text(CASE)
        yield terminal


def run(here: Console, words: str, exit_code: int) -> str:
    ran = here.run(f"baselinekit {words}")
    assert ran.exit_code == exit_code, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def stored(here: Console) -> str:
    return (here.folder / "baselines/triage/triage.angry.yaml").read_text()


def test_the_operators_values_are_stored_and_nothing_in_a_value_is_expanded(here: Console) -> None:
    (here.folder / "ticket.txt").write_text("from a file")
    run(here, "capture triage --var ticket=7 --var-file ticket=ticket.txt --var other=1", 0)
    assert "ticket: from a file\n" in stored(here)
    assert "broken, in \\{{any}} way." in stored(here)
    assert "other" not in stored(here)
    assert "1 passed" in run(here, "compare", 0)


def scripted(here: Console, *lines: str) -> None:
    guard = here.folder / "prompts/triage/guard.sh"
    guard.write_text("\n".join(("#!/bin/sh", *lines, "")))
    guard.chmod(0o755)


def test_what_the_script_before_it_prints_is_stored_where_it_may_run(here: Console) -> None:
    scripted(here, "echo ticket=4711")
    assert "BK403 prompts/triage/guard.sh" in run(here, "capture triage --var ticket=7", 4)
    assert not (here.folder / "baselines").exists()
    assert "guard.sh ran now" in run(here, "capture triage --var ticket=7 --allow-exec", 0)
    assert 'ticket: "4711"\n' in stored(here)
    assert "1 passed" in run(here, "compare", 0)


def test_a_script_that_stops_it_stores_nothing(here: Console) -> None:
    scripted(here, "echo not today >&2", "exit 3")
    assert "BK761" in run(here, "capture triage --allow-exec", 3)
    assert not (here.folder / "baselines").exists()


REFUSED = CASE.replace("[{contains: complaint}]", "[{json_schema: {type: object}}]")


@pytest.mark.parametrize(
    ("text", "exit_code", "message"),
    [
        (
            f"{CASE}    rubric: Is it right?\n    judge: {{model: broken}}\n",
            3,
            "BK640 prompts/triage/eval.yml:2:5: triage/angry: ",
        ),
        (f"defaults: {{json_schema: refuse}}\n{REFUSED}", 2, "BK774 prompts/triage/eval.yml:5:"),
        ('triggering:\n  should_match: ["sort this"]\n', 5, "BK509 there is no case to capture in triage"),
    ],
)
def test_what_cannot_be_guarded_is_not_stored(here: Console, text: str, exit_code: int, message: str) -> None:
    (here.folder / "prompts/triage/eval.yml").write_text(text)
    assert message in run(here, "capture triage", exit_code)
    assert not (here.folder / "baselines").exists()


def test_cases_of_names_that_make_the_same_file_name_have_ids_of_their_own(here: Console) -> None:
    names = ["für alle", "f r alle", "F-R-ALLE!", "日本", "中国", "n" * 200, "n" * 199]
    cases = "".join(
        f"  - name: {name}\n    inputs: {{message: 'It is broken, {number}.'}}\n"
        "    assert: [{contains: complaint}]\n"
        for number, name in enumerate(names)
    )
    (here.folder / "prompts/triage/eval.yml").write_text(f"cases:\n{cases}")
    run(here, "capture triage --case 中国", 0)
    said = run(here, "capture triage", 0)
    assert said.count("captured triage.") == 6
    assert "6 captured, 1 captured already" in said
    files = sorted((here.folder / "baselines/triage").iterdir())
    assert (
        len(files) == len({yaml.safe_load(file.read_text("utf-8"))["name"] for file in files}) == len(names)
    )
    assert "everything there is captured already" in run(here, "capture triage", 2)
    assert "7 passed" in run(here, "compare", 0)


def test_a_folder_of_prompts_is_taken_whole_and_one_with_baselines_is_not(here: Console) -> None:
    assert "triage.angry   prompt ../../prompts/triage/prompt.xml (default)" in run(
        here, "capture prompts --dry-run", 0
    )
    run(here, "capture prompts", 0)
    (here.folder / "baselines/draft.yaml").write_text(
        'id: draft\ncurrent:\n  input: {text: "Classify it: thank you"}\n  execution: {type: prompt}\n'
    )
    assert "captured draft -> baselines/draft.yaml" in run(here, "capture baselines", 0)

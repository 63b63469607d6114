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
def terminal(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project", "demo") as terminal:
        folder = terminal.folder / "prompts/triage"
        folder.mkdir(parents=True)
        (terminal.folder / "baselinekit.yaml").write_text(terminal.filled(CONFIG))
        (folder / "meta.yml").write_text(META)
        (folder / "prompt.xml").write_text("Classify it (ticket {{ticket}}).\n\n{{message}}\n")
        (folder / "eval.yml").write_text(CASE)
        yield terminal


def run(terminal: Console, words: str, exit_code: int) -> str:
    ran = terminal.run(f"baselinekit {words}")
    assert ran.exit_code == exit_code, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def stored(terminal: Console) -> str:
    return (terminal.folder / "baselines/triage/triage.angry.yaml").read_text()


def test_capture_of_a_case_stores_typed_values_unexpanded(terminal: Console) -> None:
    (terminal.folder / "ticket.txt").write_text("from a file")
    run(terminal, "capture triage --var ticket=7 --var-file ticket=ticket.txt --var other=1", 0)
    assert "ticket: from a file\n" in stored(terminal)
    assert "broken, in \\{{any}} way." in stored(terminal)
    assert "other" not in stored(terminal)
    assert "1 passed" in run(terminal, "compare", 0)


def write_guard(terminal: Console, *lines: str) -> None:
    guard = terminal.folder / "prompts/triage/guard.sh"
    guard.write_text("\n".join(("#!/bin/sh", *lines, "")))
    guard.chmod(0o755)


def test_capture_of_a_case_stores_what_its_guard_prints_if_allowed(terminal: Console) -> None:
    write_guard(terminal, "echo not today >&2", "exit 3")
    assert "BK323" in run(terminal, "capture triage --allow-exec", 3)
    assert not (terminal.folder / "baselines").exists()
    write_guard(terminal, "echo ticket=4711")
    assert "BK403 prompts/triage/guard.sh" in run(terminal, "capture triage --var ticket=7", 4)
    assert not (terminal.folder / "baselines").exists()
    assert "guard.sh ran now" in run(terminal, "capture triage --var ticket=7 --allow-exec", 0)
    assert 'ticket: "4711"\n' in stored(terminal)
    assert "1 passed" in run(terminal, "compare", 0)


def test_capture_of_cases_with_similar_names_gives_distinct_ids(terminal: Console) -> None:
    names = ["für alle", "f r alle", "F-R-ALLE!", "日本", "中国", "n" * 200, "n" * 199]
    cases = "".join(
        f"  - name: {name}\n    inputs: {{message: 'It is broken, {number}.'}}\n"
        "    assert: [{contains: complaint}]\n"
        for number, name in enumerate(names)
    )
    (terminal.folder / "prompts/triage/eval.yml").write_text(f"cases:\n{cases}")
    run(terminal, "capture triage --case 中国", 0)
    output = run(terminal, "capture triage", 0)
    assert output.count("captured triage.") == 6
    assert "6 captured, 1 captured already" in output
    files = sorted((terminal.folder / "baselines/triage").iterdir())
    assert (
        len(files) == len({yaml.safe_load(file.read_text("utf-8"))["name"] for file in files}) == len(names)
    )
    assert "everything there is captured already" in run(terminal, "capture triage", 2)
    assert "7 passed" in run(terminal, "compare", 0)

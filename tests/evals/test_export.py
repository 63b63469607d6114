"""`baselinekit convert --to skill`: which prompts are exported, and what is replaced."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from console import Console, console

pytestmark = pytest.mark.slow

META = """\
id: triage
title: Triage
summary: Classifies a message.
status: {status}
version: 1.0.0
created: 2026-11-01
updated: 2026-11-01
description: Sorts messages. Use when one comes in.
"""


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        (terminal.folder / "prompts/triage").mkdir(parents=True)
        (terminal.folder / "prompts/triage/prompt.xml").write_text("Classify it.\n\n{{message}}\n")
        yield terminal


def test_x5_prompt_outside_of_the_project_is_refused(terminal: Console) -> None:
    folder = terminal.folder / "prompts/triage"
    (folder / "meta.yml").write_text(META.format(status="draft"))
    (folder / "eval.yml").write_text("cases:\n  - {name: a, inputs: {message: b}, assert: [contains: c]}\n")
    (folder / "prompt.xml").rename(terminal.folder.parent / "prompt.xml")
    (folder / "prompt.xml").symlink_to(terminal.folder.parent / "prompt.xml")
    for command in ("convert triage --to skill --force", "promote triage", "run triage"):
        ran = terminal.run(f"baselinekit {command}")
        assert (ran.exit_code, "BK404" in ran.stderr) == (4, True), ran.stdout + ran.stderr

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


@pytest.mark.parametrize(
    ("status", "flag", "code"),
    [
        ("ready", "", 0),
        ("tested", "", 1),
        ("draft", " --overwrite", 1),
        ("draft", " --force", 0),
    ],
)
def test_e23_convert_needs_a_ready_prompt_or_force(
    status: str, flag: str, code: int, terminal: Console
) -> None:
    (terminal.folder / "prompts/triage/meta.yml").write_text(META.format(status=status))
    ran = terminal.run(f"baselinekit convert triage{flag} --to skill")
    assert ran.exit_code == code, ran.stdout + ran.stderr
    assert (terminal.folder / "skills/triage/SKILL.md").exists() == (code == 0)
    assert ("BK773" in ran.stderr) == (code == 1)


def test_convert_to_skill_with_force_keeps_changes_by_hand(terminal: Console) -> None:
    (terminal.folder / "prompts/triage/meta.yml").write_text(META.format(status="draft"))
    assert terminal.run("baselinekit convert triage --to skill --force").exit_code == 0
    skill = terminal.folder / "skills/triage/SKILL.md"
    skill.write_text(skill.read_text() + "By hand.\n")
    ran = terminal.run("baselinekit convert triage --to skill --force")
    assert (ran.exit_code, "BK771" in ran.stderr, "- By hand." in ran.stdout) == (2, True, True)
    assert skill.read_text().endswith("By hand.\n")
    assert terminal.run("baselinekit convert triage --to skill --force --overwrite").exit_code == 0
    assert "By hand." not in skill.read_text()


def test_x5_prompt_outside_of_the_project_is_refused(terminal: Console) -> None:
    folder = terminal.folder / "prompts/triage"
    (folder / "meta.yml").write_text(META.format(status="draft"))
    (folder / "eval.yml").write_text("cases:\n  - {name: a, inputs: {message: b}, assert: [contains: c]}\n")
    (folder / "prompt.xml").rename(terminal.folder.parent / "prompt.xml")
    (folder / "prompt.xml").symlink_to(terminal.folder.parent / "prompt.xml")
    for command in ("convert triage --to skill --force", "promote triage", "run triage"):
        ran = terminal.run(f"baselinekit {command}")
        assert (ran.exit_code, "BK404" in ran.stderr) == (4, True), ran.stdout + ran.stderr

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
def here(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        (terminal.folder / "prompts/triage").mkdir(parents=True)
        (terminal.folder / "prompts/triage/prompt.xml").write_text("Classify it.\n\n{{message}}\n")
        yield terminal


@pytest.mark.parametrize(
    ("status", "flag", "code"),
    [
        ("ready", "", 0),
        ("ready", " --force", 0),
        ("tested", "", 1),
        ("tested", " --force", 0),
        ("draft", "", 1),
        ("draft", " --overwrite", 1),
        ("draft", " --force", 0),
    ],
)
def test_e23_export_only_when_ready_or_forced(status: str, flag: str, code: int, here: Console) -> None:
    (here.folder / "prompts/triage/meta.yml").write_text(META.format(status=status))
    ran = here.run(f"baselinekit convert triage{flag} --to skill")
    assert ran.exit_code == code, ran.stdout + ran.stderr
    assert (here.folder / "skills/triage/SKILL.md").exists() == (code == 0)
    assert ("BK773" in ran.stderr) == (code == 1)


def test_what_was_changed_by_hand_is_never_lost_by_force(here: Console) -> None:
    (here.folder / "prompts/triage/meta.yml").write_text(META.format(status="draft"))
    assert here.run("baselinekit convert triage --to skill --force").exit_code == 0
    skill = here.folder / "skills/triage/SKILL.md"
    skill.write_text(skill.read_text() + "By hand.\n")
    ran = here.run("baselinekit convert triage --to skill --force")
    assert (ran.exit_code, "BK771" in ran.stderr, "- By hand." in ran.stdout) == (2, True, True)
    assert skill.read_text().endswith("By hand.\n")
    assert here.run("baselinekit convert triage --to skill --force --overwrite").exit_code == 0
    assert "By hand." not in skill.read_text()


@pytest.mark.parametrize("command", ["convert triage --to skill --force", "promote triage", "run triage"])
def test_x5_a_prompt_that_lies_outside_of_the_project_is_refused(command: str, here: Console) -> None:
    folder = here.folder / "prompts/triage"
    (folder / "meta.yml").write_text(META.format(status="draft"))
    (folder / "eval.yml").write_text("cases:\n  - {name: a, inputs: {message: b}, assert: [contains: c]}\n")
    (folder / "prompt.xml").rename(here.folder.parent / "prompt.xml")
    (folder / "prompt.xml").symlink_to(here.folder.parent / "prompt.xml")
    ran = here.run(f"baselinekit {command}")
    assert (ran.exit_code, "BK404" in ran.stderr) == (4, True), ran.stdout + ran.stderr

"""Refreshes on branches of a repository: they merge, and a diff shows what the service answers otherwise."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from console import Console, console
from little_api import LittleApi

pytestmark = pytest.mark.slow

FILE = "baselines/g/users.yaml"


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "clone") as terminal:
        asked(terminal, "git init -q -b main . && git config user.name x && git config user.email x@x.org")
        asked(terminal, "baselinekit init --git && git add -A && git commit -qm 'the beginning'")
        yield terminal


def asked(terminal: Console, command: str, code: int = 0) -> str:
    ran = terminal.run(command)
    assert ran.exit_code == code, ran
    return ran.stdout + ran.stderr


def unneeded(printed: str) -> list[str]:
    kinds = ("source gone", "output file without a baseline", "pending without a baseline")
    return [line for line in printed.splitlines() if line.startswith(kinds)]


def test_a_tag_is_the_version_without_the_commit(clone: Console) -> None:
    file = clone.folder / FILE
    with LittleApi({"/users": {"total": 3}}) as api:
        asked(clone, f"baselinekit capture {api.url}/users --id users --group g")
        asked(clone, "git add -A && git commit -qm capture && git tag v1.2")
        for total, version in ((4, "v1.2"), (5, "v1.2-1")):
            api.answers["/users"] = {"total": total}
            asked(clone, "baselinekit compare", 1)
            asked(clone, "baselinekit refresh users --yes")
            assert f"baseline_version: {version}\n" in file.read_text()
            asked(clone, "git commit -qam refresh")


def test_what_a_sparse_checkout_leaves_out_is_no_orphan(clone: Console) -> None:
    with LittleApi({"/users": {"total": 3}}) as api:
        config = f"base_url: {api.url}\ncommands: {{shout: [cat]}}\n"
        (clone.folder / "baselinekit.yaml").write_text(config)
        asked(clone, "mkdir far && echo hi > far/words.txt")
        asked(clone, "baselinekit capture http /users --id users --group g")
        asked(clone, "baselinekit capture http /users --id late --group late")
        upload = "  input:\n    method: POST\n    endpoint: /users\n    files: {f: ../../far/words.txt}\n"
        text = (clone.folder / FILE).read_text()
        text = text.replace("  input:\n    method: GET\n    endpoint: /users\n", upload)
        (clone.folder / "baselines/g/sends.yaml").write_text(text.replace("id: users\n", "id: sends\n"))
        asked(clone, "git add -A && git commit -qm capture")
        api.answers["/users"] = {"total": 4}
        asked(clone, "baselinekit compare --id late --no-record", 1)  # what came back is kept
        assert not unneeded(asked(clone, "baselinekit doctor"))
        asked(clone, "git sparse-checkout set --no-cone '/*' '!/far/' '!/baselines/late/'")
        assert not (clone.folder / "far").exists()
        assert not (clone.folder / "baselines/late").exists()
        assert not unneeded(asked(clone, "baselinekit doctor", 2))
        asked(clone, "git sparse-checkout disable && rm -r far baselines/late")
        said = asked(clone, "baselinekit doctor --fail-on-unused", 2)
    assert "sends" in said
    assert "late" in said

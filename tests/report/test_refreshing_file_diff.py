"""The diff of a file is one that git takes, whatever changed in it."""

import random
import subprocess
from pathlib import Path

from baselinekit.model.changes import Rewritten
from baselinekit.report.reviewing import format_file_diff, unified_file
from baselinekit.report.wording import Style


def test_unified_file_is_a_diff_that_git_applies(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    pairs = [
        ("", "a\n"),
        ("a", "a\n"),
        ("a\n", "a"),
        ("a\r\nb\r\n", "a\r\nc\r\n"),
        ("a\n\x0cb\u2028\n", "a\nb\n"),
    ]
    for seed in range(8):
        source = random.Random(seed)
        old = [f"line {n}\n" for n in range(60)]
        new = [line for line in old if source.random() > 0.1]
        for _ in range(5):
            new.insert(source.randrange(len(new)), f"new {source.random()}\n")
        pairs.append(("".join(old), "".join(new)))
    lines = []
    for number, (before, after) in enumerate(pairs):
        if before:
            (tmp_path / f"{number}.txt").write_bytes(before.encode())
        lines += unified_file(Rewritten(f"{number}.txt", before, after))
    diff = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(
        ["git", "-C", str(tmp_path), "apply", "--whitespace=nowarn", "-"],
        input=diff.encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    for number, (_, after) in enumerate(pairs):
        assert (tmp_path / f"{number}.txt").read_bytes() == after.encode(), number


def test_unified_file_without_changes_is_empty() -> None:
    assert unified_file(Rewritten("a", "x\n", "x\n")) == []
    assert format_file_diff(Rewritten("a", "x\n", "x\n"), Style()) == ""


def test_format_file_diff_escapes_control_characters() -> None:
    shown = format_file_diff(Rewritten("a", "x\n", "\x1b[2J\u202e\n"), Style(colour=True))
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown
    assert "\x1b[31m-x\x1b[0m\n" in shown

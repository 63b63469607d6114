"""The command line as golden cases: what is typed, and exactly what comes back.

A case is a folder below tests/golden:

    cmd             command lines, run in order by a shell in a copy of files/. `# service: demo` (or
                    three-users) starts the demo service, whose address is {url} here and in files/, and
                    the line `! upgrade` upgrades it. `# clock: 2026-03-01T12:00:00Z` sets when it begins, and
                    `! later 60` lets that many days go by. Sleeping moves that clock on; with
                    `# waits` it really waits
    expected.txt    each command with its exit code, its standard output and its standard error
    files/          the folder before (optional)
    after/          those files that the commands changed or made, exactly (optional): no other may differ

`BASELINEKIT_GOLDEN=write pytest tests/test_golden.py` writes expected.txt and after/ anew; read the diff.
What differs from run to run is listed in tests/console.py. A time of the run is written {now}, {now+1h} if it
is that many hours away, {before} if it is from before the days that went by; any other is kept as it is."""

import os
import shutil
from pathlib import Path

import pytest
from console import Console, console, copy_filled, filled_bytes, normalised_bytes, tree

from baselinekit.eva.logs import USES

GOLDEN = Path(__file__).parent / "golden"
CASES = sorted(path.parent for path in GOLDEN.glob("*/cmd"))
WRITE = os.environ.get("BASELINEKIT_GOLDEN") == "write"


def play(case: Path, folder: Path, write: bool = False, at: str = "", zone: str = "") -> None:
    """Run a case in a folder, and compare what it did with the stored files, or write those."""
    lines = (case / "cmd").read_text("utf-8").splitlines()
    service = next((line.split(":")[1].strip() for line in lines if line.startswith("# service:")), "")
    begins = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("# clock:")), at)
    with console(folder, service, begins, zone, waits="# waits" in lines) as terminal:
        copy_filled(case / "files", terminal)
        transcript = "\n".join(_played(line, terminal) for line in lines if line and not line.startswith("#"))
        before = tree(case / "files")
        now = _in_order({path: normalised_bytes(content, terminal) for path, content in tree(folder).items()})
        if write:
            _write(case, transcript, before, now, terminal)
        expected = {**before, **tree(case / "after")}
        filled = {path: filled_bytes(content, terminal) for path, content in expected.items()}
        wanted = _in_order({path: normalised_bytes(content, terminal) for path, content in filled.items()})
    assert transcript == (case / "expected.txt").read_text("utf-8")
    assert now == wanted


def _in_order(files: dict[str, bytes]) -> dict[str, bytes]:
    """The uses of a prompt are in the order in which threads ended: sort them."""
    return {
        path: b"".join(sorted(content.splitlines(keepends=True))) if path.endswith(USES) else content
        for path, content in files.items()
    }


def _played(line: str, terminal: Console) -> str:
    if line == "! upgrade":
        terminal.service.upgrade()
        return "! upgrade\n"
    if line.startswith("! later "):
        terminal.later(float(line.removeprefix("! later ")))
        return f"{line}\n"
    ran = terminal.run(line)
    parts = [f"$ {line}\n"]
    for name, text in (("stdout", ran.stdout), ("stderr", ran.stderr)):
        if text:
            parts.append(
                f"--- {name}\n{text}" + ("" if text.endswith("\n") else "\n(no newline at the end)\n")
            )
    return "".join([*parts, f"--- exit {ran.exit_code}\n"])


def _write(
    case: Path, transcript: str, before: dict[str, bytes], now: dict[str, bytes], terminal: Console
) -> None:
    (case / "expected.txt").write_text(transcript, "utf-8")
    shutil.rmtree(case / "after", ignore_errors=True)
    for path, content in now.items():
        was = before.get(path)
        before_it = {} if was is None else {path: normalised_bytes(filled_bytes(was, terminal), terminal)}
        if _in_order(before_it) != {path: content}:
            target = case / "after" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


DEAR = {
    *(
        "capture-curl",
        "capture-many",
        "capture-secrets",
        "convert",
        "convert-snapshots",
        "gate",
        "convert-to-rubrics",
        "grade-queue",
        "next-of-odd-failures",
    ),
    *("judges", "prompt-folder-capture", "prompt-folder-project", "prompt-folder-promote"),
    *("prompt-folder-run", "prompt-rules", "repeats", "same-change", "shards", "shards-differ", "told-apart"),
}
"""Dozens of commands, or of judged texts, in each: not on every save."""


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=[pytest.mark.slow] * (case.name in DEAR), id=case.name) for case in CASES],
)
def test_golden(case: Path, tmp_path: Path) -> None:
    play(case, tmp_path / "project", WRITE)


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """A case that changes one file, makes another, and prints on both streams."""
    folder = tmp_path / "case"
    (folder / "files" / "sub").mkdir(parents=True)
    (folder / "files" / "a.txt").write_bytes(b"one\r\n")
    (folder / "files" / "sub" / "b.bin").write_bytes(b"\xff\x00")
    (folder / "files" / "do.sh").write_text(
        "printf no-newline; echo wrong >&2; mkdir new .baselinekit; touch new/c .baselinekit/state; exit 3\n"
    )
    (folder / "cmd").write_text(
        "# a comment\necho two >> a.txt && pwd && date -u +%Y-%m-%dT%H:%M:%SZ\nsh do.sh\n"
    )
    play(folder, tmp_path / "written", write=True)
    return folder


def test_golden_case_written_is_read_back(case: Path, tmp_path: Path) -> None:
    assert (case / "expected.txt").read_text("utf-8") == (
        "$ echo two >> a.txt && pwd && date -u +%Y-%m-%dT%H:%M:%SZ\n"
        "--- stdout\n{folder}\n{now}\n--- exit 0\n\n"
        "$ sh do.sh\n--- stdout\nno-newline\n(no newline at the end)\n--- stderr\nwrong\n--- exit 3\n"
    )
    assert tree(case / "after") == {"a.txt": b"one\r\ntwo\n", "new/c": b""}
    play(case, tmp_path / "again")


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("expected.txt", "wrong", "right"),
        ("files/do.sh", "echo wrong >&2", "echo wrong"),
        ("files/do.sh", "exit 3", "exit 4"),
        ("files/do.sh", "exit 3", "rm sub/b.bin; exit 3"),
        ("files/do.sh", "exit 3", "touch d; exit 3"),
        ("files/do.sh", "exit 3", "rm new/c; exit 3"),
        ("after/a.txt", "one", "One"),
        ("after/new/c", "", "not empty"),
    ],
)
def test_golden_case_that_differs_fails(case: Path, tmp_path: Path, path: str, old: str, new: str) -> None:
    file = case / path
    file.write_bytes(file.read_bytes().replace(old.encode(), new.encode()))
    with pytest.raises(AssertionError):
        play(case, tmp_path / "again")


@pytest.mark.parametrize(
    ("command", "out", "exit_code"),
    [
        ("CI=true A= baselinekit --version", "baselinekit {version}\n", 0),
        ("echo a && printf 'b && c\\n' && baselinekit --version", "a\nb && c\nbaselinekit {version}\n", 0),
        ("git no-such-verb && baselinekit --version", "", 1),
        ("echo a && baselinekit --version | sed 's/[^ ]*$/x/'", "a\nbaselinekit x\n", 0),
        ("false || baselinekit --version && echo b", "baselinekit {version}\nb\n", 0),
        ("true; baselinekit --nosuch && baselinekit --version && echo b", "", 2),
        ("baselinekit --nosuch 2>&1 | grep -c 'No such' | sed 's/1/| && ;/'", "| 11 ;\n", 0),
        ("echo '{}' > a.txt; baselinekit nosuch - < a.txt; cat < a.txt", "{}\n", 0),
    ],
)
def test_console_runs_command_like_a_shell(tmp_path: Path, command: str, out: str, exit_code: int) -> None:
    """Also where it is run without one."""
    with console(tmp_path / "x") as terminal:
        ran = terminal.run(command)
    assert (ran.stdout, ran.exit_code) == (out, exit_code), ran.stderr

"""The documents run: what README.md and docs/ show is what happens.

Every block marked ```console is run, line by line, the blocks of one document in one folder:

    $ command           is run by a shell; `> ` on the next line goes on with it
    its output          must be just that, standard error included; `...` matches anything, also within a
                        line, and as a line of its own for any number of lines

Words after `console`: `no-run` (only shown), `exit=N` (the last command ends so; otherwise 2 and the exit
codes of a broken command are faults), `demo` (the demo service runs; http://127.0.0.1:8080 in the document
is replaced by its address), `serve` (the one command of the block is that service: it runs until the end of
the document, at a free port). A block marked ```yaml file=NAME (any language) is first written to that file.
Times, ports and versions may differ: tests/console.py lists them. A document shows whatever time it likes;
what is printed in its place has to be a time of that run, or one of the document itself."""

import re
import shlex
import signal
import subprocess
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from clocks import TIMES, with_words_for_times
from console import ROOT, Console, at, console

ADDRESS = "http://127.0.0.1:8080"
DOCUMENTS = [path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))) if path.exists()]
BROKEN = {2, 126, 127}

_BLOCK = re.compile(r"(?ms)^(?P<fence>```+)(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=fence)$")


@dataclass(frozen=True, slots=True)
class Block:
    words: list[str]
    text: str

    def value(self, name: str) -> str:
        return next((word.removeprefix(f"{name}=") for word in self.words if word.startswith(f"{name}=")), "")

    @property
    def runs(self) -> bool:
        return self.words[:1] == ["console"] and not {"no-run", "serve"} & set(self.words)


def blocks(document: str) -> list[Block]:
    return [Block(match["info"].split(), match["text"]) for match in _BLOCK.finditer(document)]


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a block with the output below it."""
    for part in re.split(r"(?m)^\$ ", text)[1:]:
        command, *lines = part.split("\n")
        while lines and lines[0].startswith("> "):
            command += "\n" + lines.pop(0)[2:]
        yield command, "\n".join(lines)


def matches(expected: str, actual: str) -> bool:
    pattern = ""
    for line in _tidy(expected):
        pattern += r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _tidy(actual))) is not None


def _tidy(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").split("\n")] if text.strip("\n") else []


def play(document: str, folder: Path, at: str = "", zone: str = "") -> int:
    """Run a document; how many commands that were."""
    parts = blocks(document)
    served = [part for part in parts if "serve" in part.words[1:]]
    service = "demo" if any("demo" in part.words[1:] for part in parts if part.runs) and not served else ""
    number = 0
    with console(folder, service, at, zone) as terminal, _serving(served, terminal) as terminal:
        own = {time[0] for time in TIMES.finditer(document)}
        for part in parts:
            if name := part.value("file"):
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(_with_url(part.text, terminal), "utf-8")
            if not part.runs:
                continue
            shown = list(commands(part.text))
            for position, (command, expected) in enumerate(shown):
                last = position == len(shown) - 1
                _check(command, expected, part.value("exit") if last else "", terminal, own)
                number += 1
    return number


@contextmanager
def _serving(served: list[Block], terminal: Console) -> Iterator[Console]:
    """The terminal beside another one, in which the document's own command serves."""
    if not served:
        yield terminal
        return
    ((command, expected),) = commands(served[0].text)
    tool, *words = shlex.split(command)
    assert tool == "baselinekit"
    with subprocess.Popen(
        [*at(terminal.clock.ahead, terminal.slept), "baselinekit", *words, "--port", "0"],
        cwd=terminal.folder,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            printed = "".join(process.stdout.readline() for _ in _tidy(expected))
            url = printed.partition(" ")[0]
            assert matches(expected, printed.replace(url, ADDRESS)), printed
            yield replace(terminal, service=SimpleNamespace(url=url))
        finally:
            process.send_signal(signal.SIGINT)
    assert process.returncode == 0


def _check(
    command: str, expected: str, exit_code: str, terminal: Console, own: Set[str] = frozenset()
) -> None:
    ran = terminal.run(_with_url(command, terminal), together=True)
    wanted = with_words_for_times(terminal.normalised(_with_url(expected, terminal)), lambda time: "{now}")
    printed = with_words_for_times(ran.stdout, lambda time: "{now}" if time in own else time)
    assert matches(wanted, printed), f"$ {command}\n--- shown\n{wanted}\n--- but it printed\n{printed}"
    fine = ran.exit_code == int(exit_code) if exit_code else ran.exit_code not in BROKEN
    assert fine, f"$ {command}\nended with {ran.exit_code}\n{ran.stdout}"


def _with_url(text: str, terminal: Console) -> str:
    return text.replace(ADDRESS, terminal.service.url) if terminal.service else text


@pytest.mark.slow
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_document_examples_run(path: Path, tmp_path: Path) -> None:
    play(path.read_text("utf-8"), tmp_path / "project")


PAGES = [
    *DOCUMENTS,
    *(ROOT / name for name in ("CONTRIBUTING.md", "ARCHITECTURE.md", "benchmarks/README.md")),
]


def anchors(page: Path) -> set[str]:
    """What a link may name after `#`: each heading, as GitHub writes it."""
    text = _BLOCK.sub("", page.read_text("utf-8"))
    headings = re.findall(r"(?m)^#+ (.+)$", text)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> list[str]:
    """The links of a page that lead to no file, or to no heading of it."""
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", _BLOCK.sub("", page.read_text("utf-8"))):
        path, _, anchor = target.partition("#")
        if "://" in path:
            continue
        file = page.parent / path if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_document_links_exist(page: Path) -> None:
    assert broken_links(page) == []


def test_broken_links_finds_missing_file_and_heading(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text(
        "# One: `two`, 3\n[a](#one-two-3) [b](#four) [c](b.md) [d](a.md#one-two-3) [e](https://x.y/#z)\n"
    )
    assert broken_links(page) == ["#four", "b.md"]


def test_docs_index_lists_every_page() -> None:
    index = (ROOT / "docs/README.md").read_text("utf-8")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert pages <= set(re.findall(r"\]\((\w[\w-]*\.md)", index))


def test_readme_has_runnable_example() -> None:
    assert any(part.runs for part in blocks((ROOT / "README.md").read_text("utf-8")))


GOOD = """
# A document
```yaml file=sub/a.txt
one
two
```
```console no-run
$ rm -rf /nowhere
```
```console
$ cat sub/a.txt
one
two
$ echo a b c; echo d; echo e >&2
a ... c
...
$ mkdir x
$ printf '%s\\n' one \\
>   two
one
two
```
```console exit=2
$ exit 2
```
"""


def test_play_runs_correct_document(tmp_path: Path) -> None:
    assert play(GOOD, tmp_path / "x") == 5


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("one\ntwo\n$ echo", "one\nthree\n$ echo"),
        ("one\ntwo\n$ echo", "one\n$ echo"),
        ("a ... c", "a ... d"),
        ("$ mkdir x", "$ echo something"),
        ("$ mkdir x", "$ mkdir -q x 2>/dev/null; exit 127"),
        ("exit=2", ""),
        ("$ exit 2", "$ exit 1"),
    ],
)
def test_play_fails_for_wrong_document(old: str, new: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        play(GOOD.replace(old, new), tmp_path / "x")

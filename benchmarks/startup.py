"""Starting up: beside a click program of eight commands that imports nothing else, and Python itself; and the
merge driver, which git starts once a file."""

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from baselinekit.files.languages import dump_yaml
from baselinekit.model.values import Json
from benchmarks import data
from benchmarks.measure import Ended, Engine, Say, in_turn, whole
from benchmarks.replay import command, comparing
from benchmarks.results import Found, Note, Row, Scale, Versus
from benchmarks.server import serving

BARE = str(Path(__file__).with_name("bare.py"))
PEER, PYTHON = "bare click program", "python -c pass"


def rows(scale: Scale, say: Say) -> Found:
    with TemporaryDirectory() as folder:
        made = data.project(Path(folder), 1)
        Path(folder).chmod(0o755)
        with serving(made.answers) as server:
            data.configure(made, server.url)
            one = comparing("compare", made, ["--no-record"], lambda: None)
            times = in_turn([*_engines(), one], scale.pick(2, 15), say)
    table = Versus(times)
    for ours, theirs, goal in GOALS:
        yield table.row(ours, ours, theirs, called=PEER, goal=goal, short=f"`{ours}`" if goal else "")
        yield table.row(ours, ours, PYTHON)
    yield from _compare(table)
    yield Note("The bare program does nothing but print its help: no file is read, no request goes out.")
    with TemporaryDirectory() as folder:
        engines = [merging(Path(folder), what) for what in MERGES]
        bare = whole(PYTHON, [sys.executable, "-c", "pass"], lambda ended: ended.exit_code == 0)
        merges = Versus(in_turn([*engines, bare], scale.pick(2, 15), say))
    for what in MERGES:
        yield merges.row(what, what, PYTHON, goal=3.5)


GOALS = (
    ("--help", "bare --help", 1.5),
    ("--version", "bare --version", None),
    ("compare --help", "bare --help", 1.5),
    ("explain BK203", "bare --help", 1.5),
)


def _engines() -> Iterator[Engine]:
    for typed, said in (
        *_OPTIONS.items(),
        ("compare --help", "--changed-since"),
        ("explain BK203", "BK203:"),
    ):
        yield _saying(typed, [*command(), *typed.split()], said)
    for option in _OPTIONS:
        bare = [sys.executable, BARE, option]
        yield _saying(f"bare {option}", bare, "bare.py")
    yield whole(PYTHON, [sys.executable, "-c", "pass"], lambda ended: ended.exit_code == 0)


_OPTIONS = {"--help": "baselinekit demo", "--version": "baselinekit "}


def _saying(name: str, argv: list[str], said: str) -> Engine:
    return whole(name, argv, lambda ended: ended.exit_code == 0 and said in ended.output)


def _compare(table: Versus) -> Iterator[Row]:
    what = "compare of one HTTP baseline"
    short = "`compare` of one HTTP baseline"
    yield table.row(what, "compare", "bare --help", called=PEER, goal=2.5, short=short)
    yield table.row(what, "compare", PYTHON)


MERGES = {
    "merge driver: only the record differs": (
        ("failure_count: 0", "failure_count: 2"),
        ("last_passed: null", "last_passed: 2026-03-01T10:00:00Z"),
    ),
    "merge driver: values far apart": (("name: user 0", "name: Ada"), ("total: 95", "total: 96")),
    "merge driver: neighbouring lines": (("name: user 1", "name: Ada"), ("mail: m1", "mail: ada")),
}
"""What each side changes in a file of 400 lines."""


def merging(folder: Path, what: str) -> Engine:
    """The driver as git starts it, with three versions of one file."""
    rows = [{"id": n, "name": f"user {n}", "mail": f"m{n}", "active": True} for n in range(95)]
    record: dict[str, Json] = {
        "id": "users",
        "baseline": {
            "output": {"status": 200, "body": {"rows": rows, "total": 95}},
            "captured_at": "2026-01-01T10:00:00Z",
        },
        "current": {"input": {"method": "GET", "endpoint": "/users"}, "execution": {"type": "http"}},
        "metadata": {"last_passed": None, "failure_count": 0},
    }
    base = dump_yaml(record)
    ours, theirs = (base.replace(f"{old}\n", f"{new}\n", 1) for old, new in MERGES[what])
    files = {folder / name: text for name, text in zip("bot", (base, ours, theirs), strict=True)}

    def write() -> None:
        for file, text in files.items():
            file.write_text(text)

    def right(ended: Ended) -> bool:
        changed = [new for _, new in MERGES[what]]
        return ended.exit_code == 0 and all(new in (folder / "o").read_text() for new in changed)

    argv = [*command(), "git-merge", *map(str, files), "7", "users.yaml", "base", "ours", "theirs"]
    return whole(what, argv, right, before=write)

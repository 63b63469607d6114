"""Starting up: beside a click program of eight commands that imports nothing else, and Python itself; and the
merge driver, which git starts once a file."""

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import data
from benchmarks.measure import Engine, Say, in_turn, whole
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

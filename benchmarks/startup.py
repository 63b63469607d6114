"""Starting up: beside a click program of eight commands that imports nothing else, and Python itself."""

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import data
from benchmarks.measure import Engine, Say, in_turn, whole
from benchmarks.replay import command, comparing
from benchmarks.results import Found, Row, Scale, Versus
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
    for ours, theirs, goal in (("--help", "bare --help", 1.5), ("--version", "bare --version", None)):
        yield table.row(ours, ours, theirs, called=PEER, goal=goal, short="`--help`" if goal else "")
        yield table.row(ours, ours, PYTHON)
    yield from _compare(table)


def _engines() -> Iterator[Engine]:
    for option in ("--help", "--version"):
        yield whole(
            option, [*command(), option], lambda ended: ended.exit_code == 0 and "aselinekit" in ended.output
        )
        bare = [sys.executable, BARE, option]
        yield whole(f"bare {option}", bare, lambda ended: ended.exit_code == 0 and "bare.py" in ended.output)
    yield whole(PYTHON, [sys.executable, "-c", "pass"], lambda ended: ended.exit_code == 0)


def _compare(table: Versus) -> Iterator[Row]:
    what = "compare of one HTTP baseline"
    yield table.row(what, "compare", "bare --help", called=PEER)
    yield table.row(what, "compare", PYTHON)

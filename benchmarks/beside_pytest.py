"""What the pytest plugin does beside comparing values: baselines as items; and the import of what other
plugins have recorded. Each as whole processes, in turn."""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import data
from benchmarks.measure import Ended, Engine, Say, Times, about, in_turn, whole
from benchmarks.replay import command, comparing
from benchmarks.results import Found, Note, Row, Scale, Versus
from benchmarks.server import serving
from benchmarks.snapshots import settings

ITEMS, COMPARE, ONE_JOB = "pytest --baselinekit", "compare", "compare -j 1"
A_FILE = 50
"""Tests in a file."""


def rows(scale: Scale, say: Say) -> Found:
    yield from _items(scale, say)
    yield from _imports(scale, say)
    yield Note(
        "Items are replayed one after the other; `compare` asks 8 at once, or one. No file is written."
    )
    yield Note(
        "An import finds the tests, hides secrets, writes each value and checks it; beside it a Python that "
        "parses the same files, with libyaml or the json module, and does nothing else."
    )


# Baselines as items.


def _items(scale: Scale, say: Say) -> Iterator[Row]:
    count = scale.pick(20, 1_000)
    with TemporaryDirectory() as folder:
        made = data.project(Path(folder), count)
        Path(folder).chmod(0o755)
        with serving(made.answers) as server:
            data.configure(made, server.url)
            (made.root / "pytest.ini").write_text("[pytest]\n", "utf-8")
            alone = comparing(ONE_JOB, made, ["--no-record"], made.restore, jobs="1")
            engines = [
                _collected(made),
                comparing(COMPARE, made, ["--no-record"], made.restore),
                alone,
            ]
            times = in_turn(engines, scale.rounds, about(say, f"{count:,} baselines as items"))
    yield from _beside(f"{count:,} baselines as items", times, ITEMS, [COMPARE, ONE_JOB])


def _collected(made: data.Project) -> Engine:
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    argv += ["-p", "baselinekit.pytest_plugin.hooks", "--baselinekit"]
    return whole(ITEMS, argv, _passed(made.count), cwd=str(made.root), env=settings())


def _passed(count: int) -> Callable[[Ended], bool]:
    return lambda ended: ended.exit_code == 0 and f"{count} passed" in ended.output.replace(",", "")


def _beside(what: str, times: Times, ours: str, peers: list[str]) -> Iterator[Row]:
    for peer in peers:
        if peer in times:
            yield Versus(times).row(what, ours, peer)
            yield Versus(times).row(what, ours, peer, of="wall")


# What other tools have recorded.

_PARSE = """\
import glob, json, sys
import yaml
found = 0
for name in sorted(glob.glob(sys.argv[1], recursive=True)):
    with open(name, "rb") as opened:
        text = opened.read()
    {parse}
    found += 1
print(found)
"""
_YAML, _JSON = "yaml.load(text, yaml.CSafeLoader)", "json.loads(text)"


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a tool has recorded: `lay` makes `count` of its files in a project; `where` they are, and how they
    are parsed."""

    tool: str
    words: tuple[str, ...]
    lay: Callable[[Path, int], None]
    where: str
    parse: str


def _lay_regressions(root: Path, count: int) -> None:
    for number in range(count):
        folder = root / "tests" / f"test_{number // A_FILE:03}"
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(data.body(number), indent=2)  # which is YAML too
        (folder / f"test_it_{number}_.yml").write_text(text, "utf-8")
    _lay_tests(root, count, "data_regression", "data_regression.check(VALUES[number])")


def _lay_syrupy(root: Path, count: int) -> None:
    for number in range(count):
        folder = root / "tests" / "__snapshots__" / f"test_{number // A_FILE:03}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"test_it[{number}].json").write_text(json.dumps(data.body(number), indent=2), "utf-8")
    _lay_tests(root, count, "snapshot", "assert VALUES[number] == snapshot")


def _lay_tests(root: Path, count: int, fixture: str, compared: str) -> None:
    for first in range(0, count, A_FILE):
        numbers = f"range({first}, {min(count, first + A_FILE)})"
        text = f'import pytest\n\n\n@pytest.mark.parametrize("number", {numbers})\n'
        text += f"def test_it({fixture}, number):\n    {compared}\n"
        (root / "tests" / f"test_{first // A_FILE:03}.py").write_text(text, "utf-8")


def _lay_cassettes(root: Path, count: int) -> None:
    folder = root / "cassettes"
    folder.mkdir()
    for number in range(count):
        interaction = {
            "request": {
                "method": "GET",
                "uri": f"http://127.0.0.1/{number}.json",
                "body": None,
                "headers": {},
            },
            "response": {
                "status": {"code": 200, "message": "OK"},
                "headers": {"content-type": ["application/json"]},
                "body": {"string": json.dumps(data.body(number))},
            },
        }
        text = json.dumps({"version": 1, "interactions": [interaction]}, indent=1)
        (folder / f"call-{number:05}.yaml").write_text(text, "utf-8")


SOURCES = (
    Recorded(
        "pytest-regressions", ("pytest-regressions", "tests"), _lay_regressions, "tests/**/*.yml", _YAML
    ),
    Recorded("syrupy, JSON", ("syrupy", "tests"), _lay_syrupy, "tests/**/*.json", _JSON),
    Recorded("vcr", ("vcr", "cassettes"), _lay_cassettes, "cassettes/*.yaml", _YAML),
)


def _imports(scale: Scale, say: Say) -> Iterator[Row]:
    count = scale.pick(5, 500)
    for source in SOURCES:
        with TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "tests").mkdir()
            (root / "baselinekit.yaml").write_text("version: 1\n", "utf-8")
            source.lay(root, count)
            peer = "parsing the same files"
            engines = [_importing(source, root, count), _parsing(peer, source, root, count)]
            times = in_turn(engines, scale.rounds, about(say, f"import {source.tool}"))
            yield Versus(times).row(f"import {source.tool}: {count:,} values", source.tool, peer)


def _importing(source: Recorded, root: Path, count: int) -> Engine:
    written = f"{count} value" if source.tool != "vcr" else f"{count} answer"

    def right(ended: Ended) -> bool:
        files = list((root / "baselines").rglob("*.yaml"))
        return ended.exit_code == 0 and len(files) == count and written in ended.output.replace(",", "")

    argv = [*command(), "import", *source.words]
    return whole(source.tool, argv, right, cwd=str(root), env={"CI": ""}, before=partial(_forget, root))


def _forget(root: Path) -> None:
    for file in list((root / "baselines").rglob("*.yaml")):
        file.unlink()


def _parsing(name: str, source: Recorded, root: Path, count: int) -> Engine:
    argv = [sys.executable, "-c", _PARSE.format(parse=source.parse), source.where]
    return whole(name, argv, lambda ended: ended.output.strip() == str(count), cwd=str(root))

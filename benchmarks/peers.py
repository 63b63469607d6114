"""The same 1,000 checks, status and whole body, by the tools that their users would otherwise take. Each must
find a wrong body among ten before it is measured."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import data
from benchmarks.compare import JOBS as OUR_JOBS, UNRECORDED, comparing
from benchmarks.measure import Ended, Engine, Say, WrongAnswerError, about, in_turn, process, whole
from benchmarks.results import Found, Note, Scale, beside
from benchmarks.server import serving
from benchmarks.tools import JOBS, TOOLS, Checks, Tool

OURS = "`compare --no-record`"
MOST_SECONDS = 10.0
"""Seconds that a slow tool gets for its rounds."""


def rows(scale: Scale, say: Say) -> Found:
    count = scale.pick(20, 1_000)
    tools = [tool for tool in TOOLS if tool.found and (tool.program == "python" or not scale.quick)]
    broken: dict[str, str] = {}
    with TemporaryDirectory() as folder:
        made = data.project(Path(folder), count, loose=False)
        Path(folder).chmod(0o755)
        with serving(made.answers) as server:
            data.configure(made, server.url)
            bodies = [data.body(number) for number in range(count)]
            for tool in tools:
                say(f"can {tool.name} fail?")
                _fails(tool, Path(folder), server.url, bodies[:10])
            engines = [
                comparing(OURS, made.root, count, UNRECORDED, "-j", OUR_JOBS),
                *_engines(tools, Path(folder), Checks(server.url, bodies)),
            ]
            times = in_turn(engines, scale.rounds, about(say, f"{count:,} checks"), broken)
    if OURS in broken:
        raise WrongAnswerError(broken[OURS])
    for tool in tools:
        if tool.name in broken:
            yield Note(f"{tool.name} did not pass its own checks: {broken[tool.name].splitlines()[0]}")
            continue
        goal = 1 if tool.program == "python" else 0.25
        yield beside(times, f"{OURS} of {count:,} literal baselines", OURS, tool.name, goal)
    yield from _notes(tools, server.name)


def _engines(tools: Sequence[Tool], folder: Path, checks: Checks) -> Iterator[Engine]:
    for tool in tools:
        here = folder / tool.name
        here.mkdir()
        tool.write(here, checks)
        yield whole(
            tool.name,
            tool.argv(here),
            partial(_passes_all, tool, len(checks.bodies)),
            cwd=str(here),
            env=tool.settings(here),
            at_most=MOST_SECONDS,
        )


def _passes_all(tool: Tool, count: int, ended: Ended) -> bool:
    return ended.exit_code == 0 and tool.passes(ended.output) == count


def _fails(tool: Tool, folder: Path, url: str, bodies: Sequence[Any]) -> None:
    here = folder / f"{tool.name} fails"
    here.mkdir()
    tool.write(here, Checks(url, [*bodies[:-1], {**bodies[-1], "further": 1}]))
    if process(tool.argv(here), str(here), tool.settings(here)).exit_code == 0:
        raise WrongAnswerError(f"{tool.name} passes a wrong body")


def _notes(tools: Sequence[Tool], server: str) -> Iterator[Note]:
    names = {tool.name for tool in tools}
    missing = [tool.name for tool in TOOLS if tool.name not in names]
    if missing:
        yield Note(f"Not installed: {', '.join(missing)} (`make bench-peers` installs them).")
    installed = [f"{tool.name} {tool.version}" for tool in tools if tool.program != "python"]
    if installed:
        yield Note(f"{', '.join(installed)}; {JOBS} at once where the tool can, {OUR_JOBS} for ours.")
    yield Note(
        f"The server is {server}. The answers are literal: no placeholders, since the others have none."
    )

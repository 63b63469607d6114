"""`baselinekit compare` as a whole process, beside a bare httpx client a thread that only asks."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import data
from benchmarks.measure import Ended, Engine, Say, Times, about, in_turn, median, whole
from benchmarks.results import Found, Note, Row, Scale, Versus
from benchmarks.server import Server, serving

JOBS = "8"
CLIENT = str(Path(__file__).with_name("client.py"))
PEER = "bare httpx client"
_MEMORY = "Memory that a further HTTP baseline takes in a run"
RECORDED, UNRECORDED = "and record", "--no-record"


def rows(scale: Scale, say: Say) -> Found:
    count = scale.pick(20, 1_000)
    times, name = _times(count, scale.rounds, say)
    yield from _beside(count, times, 1.6, 2.2)
    for way in (UNRECORDED, RECORDED):
        own = median(times[way]) - median(times[PEER])
        what = f"own processor time a baseline, {way}"
        yield Row(what, own / count, rounds=scale.rounds, goal=0.0012)
    larger = scale.pick(40, 5_000)
    more, _ = _times(larger, 1, say, [UNRECORDED])
    grown = median(more[UNRECORDED], "peak") - median(times[UNRECORDED], "peak")
    yield Row(
        "memory a baseline, above the base", grown / (larger - count), of="bytes", goal=16_000, short=_MEMORY
    )
    yield Row(f"most memory in a run of {count:,}", median(times[UNRECORDED], "peak"), of="bytes")
    yield Row(f"most memory in a run of {larger:,}", median(more[UNRECORDED], "peak"), of="bytes")
    if scale.long:
        yield from _beside(10_000, _times(10_000, 3, say)[0])
    else:
        yield Note("10,000 baselines: `LONG=1`.")
    yield Note("Own processor time is that of the whole process, less what the bare client takes.")
    yield Note(
        f"The server is {name}; {JOBS} requests at once; one TLS context for all threads of the client."
    )


def command() -> list[str]:
    """The command as it is installed beside this Python."""
    script = Path(sys.executable).with_name("baselinekit")
    return [str(script)] if script.exists() else [sys.executable, "-m", "baselinekit"]


def comparing(
    name: str, made: data.Project, options: list[str], before: Callable[[], object], jobs: str = JOBS
) -> Engine:
    """`baselinekit compare` in a project in which everything passes."""
    passed = f"{made.count} passed"

    def right(ended: Ended) -> bool:
        counted = passed in ended.output.replace(",", "")
        return ended.exit_code == 0 and counted and _is_recorded(made) is (options != ["--no-record"])

    argv = [*command(), "compare", "-q", "-j", jobs, *options]
    return whole(name, argv, right, cwd=str(made.root), env={"CI": ""}, before=before)


def _is_recorded(made: data.Project) -> bool:
    found = ["last_passed: null" not in (made.root / file).read_text("utf-8") for file in made.files]
    return all(found) if found[0] else any(found)


def _client(server: Server, count: int) -> Engine:
    argv = [sys.executable, CLIENT, server.url, str(count), JOBS]
    return whole(PEER, argv, lambda ended: ended.output.strip() == str(count))


def _times(count: int, rounds: int, say: Say, only: list[str] | None = None) -> tuple[Times, str]:
    with TemporaryDirectory() as folder:
        made = data.project(Path(folder), count)
        Path(folder).chmod(0o755)
        with serving(made.answers) as server:
            data.configure(made, server.url)
            engines = [
                comparing(UNRECORDED, made, ["--no-record"], made.restore),
                comparing(RECORDED, made, ["--record"], made.restore),
                _client(server, count),
            ]
            chosen = [engine for engine in engines if only is None or engine.name in only]
            return in_turn(chosen, rounds, about(say, f"{count:,} baselines")), server.name


def _beside(
    count: int, times: Times, goal: float | None = None, recorded_goal: float | None = None
) -> Iterator[Row]:
    table = Versus(times)
    for way, most, wish in ((UNRECORDED, goal, None), (RECORDED, recorded_goal, 1.8)):
        for of in ("cpu", "wall"):
            what = f"compare {count:,} baselines, {way}"
            short = f"`compare` of {count:,} HTTP baselines, {way}" if most and of == "cpu" else ""
            yield table.row(what, way, PEER, of=of, goal=most, wish=wish if most else None, short=short)

"""`baselinekit compare` in several processes, beside the same in the threads of one."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from baselinekit.documents.languages import dump_yaml
from benchmarks import data
from benchmarks.measure import Ended, Engine, Say, about, in_turn, median, whole
from benchmarks.replay import command
from benchmarks.results import Found, Note, Row, Scale, Versus

THREADS, PROCESSES = "one process", "two processes"


def rows(scale: Scale, say: Say) -> Found:
    count = scale.pick(20, 10_000)
    with TemporaryDirectory() as folder:
        write(Path(folder), count)
        engines = [comparing(THREADS, folder, count, 1), comparing(PROCESSES, folder, count, 2)]
        times = in_turn(engines, scale.rounds, about(say, f"{count:,} baselines"))
    what = f"compare {count:,} baselines that ask nobody"
    yield from _beside(Versus(times), what)
    for name in (THREADS, PROCESSES):
        yield Row(f"most memory of a process, {name}", median(times[name], "peak"), of="bytes")
    yield Note("The recipe is an echo of 1.4 KB: to read, to compile and to compare is all there is to do.")
    yield Note("Processor time is that of all processes together, the start of two workers among it.")
    busy, cores = os.getloadavg()[0], os.cpu_count() or 1
    if busy > cores + 1:
        yield Note(f"Measured while other work kept all cores busy (a load of about {busy:.0f}).")


def _beside(table: Versus, what: str) -> Iterator[Row]:
    short = f"{what}, in two processes"
    yield table.row(what, PROCESSES, THREADS, of="wall", goal=1 / 1.6, short=short)
    yield table.row(what, PROCESSES, THREADS, of="cpu")


def write(root: Path, count: int) -> None:
    """Baselines with two placeholders and two ignored fields, as of an API, whose answer stands in them."""
    (root / "baselinekit.yaml").write_text("version: 1\n", "utf-8")
    (root / "baselines").mkdir()
    for number in range(count):
        record = data.baseline(number, loose=True)
        record["baseline"]["output"] = record["baseline"]["output"]["body"]
        record["current"] = {"input": data.body(number, seed=2), "execution": {"type": "echo"}}
        (root / "baselines" / f"api-{number:05}.yaml").write_text(dump_yaml(record), "utf-8")


def comparing(name: str, folder: str, count: int, processes: int) -> Engine:
    def right(ended: Ended) -> bool:
        return ended.exit_code == 0 and f"{count} passed" in ended.output.replace(",", "")

    argv = [*command(), "compare", "-q", "--no-record", "--processes", str(processes)]
    return whole(name, argv, right, cwd=folder, env={"CI": ""})

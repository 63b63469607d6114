"""`baselinekit compare` in several processes, beside the same in the threads of one."""

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from statistics import median as middle
from tempfile import TemporaryDirectory

from baselinekit.files.languages import dump_yaml
from benchmarks import data
from benchmarks.measure import Ended, Engine, Say, about, in_turn, median, whole
from benchmarks.replay import command
from benchmarks.results import Found, Note, Row, Scale, Versus

THREADS, PROCESSES, DASK = "one process", "two processes", "two workers of Dask"


MOST_ROUNDS = 3
GOAL = 1 / 1.6


def rows(scale: Scale, say: Say) -> Found:
    count = scale.pick(20, 10_000)
    watch = Watch()
    with TemporaryDirectory() as folder:
        write(Path(folder), count)
        engines = [
            comparing(THREADS, folder, count, "--processes", "1"),
            comparing(PROCESSES, folder, count, "--processes", "2", watch=watch),
        ]
        if find_spec("distributed"):
            engines.append(comparing(DASK, folder, count, "--dask", "local:2"))
        times = in_turn(engines, min(MOST_ROUNDS, scale.rounds), about(say, f"{count:,} baselines"))
    what = f"compare {count:,} baselines that ask nobody"
    table = Versus(times)
    short = f"{what}, in two processes"
    yield table.row(what, PROCESSES, THREADS, of="wall", goal=GOAL, short=short)
    yield table.row(what, PROCESSES, THREADS, of="cpu")
    if watch.longest:
        ours, theirs = middle(watch.longest), median(times[THREADS])
        rounds = len(watch.longest)
        yield Row(f"{what}: the longest way", ours, THREADS, theirs, ours / theirs, rounds=rounds, goal=GOAL)
    if DASK in times:
        yield table.row(f"{what}, on Dask", DASK, THREADS, of="wall")
        yield table.row(f"{what}, on Dask", DASK, THREADS, of="cpu")
    for name in times:
        yield Row(f"most memory of a process, {name}", median(times[name], "peak"), of="bytes")
    yield from _notes()


def _notes() -> Iterator[Note]:
    yield Note("The recipe is an echo of 1.4 KB: to read, to compile and to compare is all there is to do.")
    yield Note("On Dask the scheduler and its two workers are started for the run, and that is counted.")
    yield Note("Processor time is that of all processes together, the start of two workers among it.")
    yield Note(
        "The longest way: the processor time of the first process and of the busier worker, one after the "
        "other. On a busy machine wall time says who else was there; this is about what two free cores take."
    )
    busy, cores = os.getloadavg()[0], os.cpu_count() or 1
    if busy > cores + 1:
        yield Note(f"Measured while other work kept all cores busy (a load of about {busy:.0f}).")


class Watch:
    """How much processor time a command takes, and each of the processes that it starts: as the kernel says
    while they run. Elsewhere than on Linux nothing."""

    def __init__(self) -> None:
        self.longest: list[float] = []
        self._taken: dict[int, float] = {}
        self._own = 0
        self._is_over = threading.Event()

    def begin(self) -> None:
        self._taken, self._own, self._is_over = {}, 0, threading.Event()
        threading.Thread(target=self._look, args=(self._is_over,), daemon=True).start()

    def end(self) -> None:
        self._is_over.set()
        if self._taken:
            workers = [seconds for pid, seconds in self._taken.items() if pid != self._own]
            self.longest.append(self._taken.get(self._own, 0.0) + max(workers, default=0.0))

    def _look(self, is_over: threading.Event) -> None:
        while not is_over.wait(0.02):
            with suppress(OSError):
                for pid in children(os.getpid()):
                    self._own = pid
                    for one in (pid, *children(pid)):
                        with suppress(OSError):
                            self._taken[one] = taken(one)


def children(pid: int) -> list[int]:
    found = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            found += [int(word) for word in (thread / "children").read_text("ascii").split()]
    return found


def taken(pid: int) -> float:
    """Seconds of a processor so far."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def write(root: Path, count: int) -> None:
    """Baselines with two placeholders and two ignored fields, as of an API, whose answer stands in them."""
    (root / "baselinekit.yaml").write_text("version: 1\n", "utf-8")
    (root / "baselines").mkdir()
    for number in range(count):
        record = data.baseline(number, loose=True)
        record["baseline"]["output"] = record["baseline"]["output"]["body"]
        record["current"] = {"input": data.body(number, seed=2), "execution": {"type": "echo"}}
        (root / "baselines" / f"api-{number:05}.yaml").write_text(dump_yaml(record), "utf-8")


def comparing(name: str, folder: str, count: int, *words: str, watch: Watch | None = None) -> Engine:
    def right(ended: Ended) -> bool:
        if watch is not None:
            watch.end()
        return ended.exit_code == 0 and f"{count} passed" in ended.output.replace(",", "")

    argv = [*command(), "compare", "-q", "--no-record", *words]
    before = watch.begin if watch is not None else lambda: None
    return whole(name, argv, right, cwd=folder, env={"CI": ""}, before=before)

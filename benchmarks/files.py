"""Baseline files: read and checked beside yaml.load alone, and recorded beside a load and a dump by PyYAML,
on separate files and in one. Both sides write a temporary file, sync it and rename it."""

import os
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from baselinekit.commands.recording import Recorder
from baselinekit.files.languages import dump_yaml
from baselinekit.model.baselines import Baseline
from baselinekit.store.discovery import discover
from baselinekit.store.reading import load
from benchmarks import data
from benchmarks.measure import Engine, Say, about, in_turn, inside
from benchmarks.results import Found, Note, Row, Scale, Versus

LOADER: Any = vars(yaml)["CSafeLoader"]
DUMPER: Any = vars(yaml)["CSafeDumper"]
NOW = "2026-11-21T10:00:00Z"
ONE_FILE = "baselines/all.yaml"


def rows(scale: Scale, say: Say) -> Found:
    for size in (20, 40) if scale.quick else (1_000, 10_000):
        with TemporaryDirectory() as folder:
            made = data.project(Path(folder), size)
            yield from _loading(made, scale, say)
            if size <= 1_000 or scale.long:
                yield from _recording(made, scale, say)
    with TemporaryDirectory() as folder:
        yield from _one_file(Path(folder), scale.pick(20, 1_000), scale, say)
    yield Note("Processor time is that of all threads and of the kernel for them; the disk is in wall time.")


def all_threads() -> float:
    """Processor time of this process and of the children that it has waited for."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def _loading(made: data.Project, scale: Scale, say: Say) -> Iterator[Row]:
    root, count = str(made.root), made.count
    values = [data.baseline(number, loose=True) for number in range(count)]

    def ours(_: Any) -> list[Baseline]:
        return load(discover(["baselines"], root), root)

    def theirs(_: Any) -> list[Any]:
        return [_yaml_load(os.path.join(root, file)) for file in made.files]

    engines = [
        inside(
            "ours",
            ours,
            lambda found: len(found) == count and found[-1].id == f"api-{count - 1:05}",
            clock=all_threads,
        ),
        inside("yaml.load", theirs, lambda found: bool(found == values), clock=all_threads),
    ]
    what = f"read and check {count:,} files of 2 KB"
    times = in_turn(engines, scale.rounds, about(say, what))
    short = "Read and check 1,000 files of 2 KB" if count == 1_000 else ""
    goal = 0.6 if count == 1_000 else None
    called = "yaml.load(…, CSafeLoader)"
    yield Versus(times).row(what, "ours", "yaml.load", called=called, goal=goal, short=short)


def _yaml_load(path: str) -> Any:
    with open(path, encoding="utf-8") as file:
        return yaml.load(file.read(), LOADER)


def _recording(made: data.Project, scale: Scale, say: Say) -> Iterator[Row]:
    root = str(made.root)
    what = f"record {made.count:,} passes in separate files"
    goal = 0.25 if made.count == 1_000 else None
    yield from _record(
        what,
        load(made.files, root),
        root,
        [str(made.root / file) for file in made.files],
        made.restore,
        goal,
        scale,
        say,
    )


def _one_file(folder: Path, count: int, scale: Scale, say: Say) -> Iterator[Row]:
    """All of them as a list in one file, without the environment of the capture: a file has at most 2 MB."""
    records = [data.baseline(number, loose=True) for number in range(count)]
    for record in records:
        del record["baseline"]["environment"]
    text = dump_yaml(records)
    (folder / "baselines").mkdir()
    path = folder / ONE_FILE
    path.write_text(text, "utf-8")
    baselines = load([ONE_FILE], str(folder))
    what = f"record {count:,} passes in one file"
    yield from _record(
        what, baselines, str(folder), [str(path)], lambda: path.write_text(text, "utf-8"), None, scale, say
    )


def _record(
    what: str,
    baselines: Sequence[Baseline],
    root: str,
    paths: Sequence[str],
    restore: Callable[[], object],
    goal: float | None,
    scale: Scale,
    say: Say,
) -> Iterator[Row]:
    def ours(_: Any) -> Recorder:
        recorder = Recorder(root, lambda: NOW, False, [baseline.source for baseline in baselines])
        for baseline in baselines:
            recorder.add(baseline.source, True)
        recorder.close()
        return recorder

    def theirs(_: Any) -> None:
        for path in paths:
            _load_and_dump(path)

    def right(recorder: Recorder) -> bool:
        return not recorder.failures and _recorded(paths) == len(baselines)

    times = in_turn(
        [
            _writing("ours", ours, right, restore),
            _writing("PyYAML", theirs, lambda _: _recorded(paths) == len(baselines), restore),
        ],
        scale.rounds,
        about(say, what),
    )
    called = "PyYAML load and dump"
    short = "Record 1,000 passes in their files, synced" if goal else ""
    yield Versus(times).row(what, "ours", "PyYAML", called=called, goal=goal, short=short)
    yield Versus(times).row(what, "ours", "PyYAML", of="wall", called=called)


def _writing(
    name: str, run: Callable[[Any], Any], right: Callable[[Any], bool], restore: Callable[[], object]
) -> Engine:
    """A run that changes files, on files that are as they were. Never repeated within a round."""

    def before() -> None:
        restore()
        os.sync()

    return inside(name, run, right, before=before, clock=all_threads, at_most=1e9)


def _recorded(paths: Sequence[str]) -> int:
    """How many records state the pass, by a reader that is neither ours nor the one measured."""
    lines = [line for path in paths for line in Path(path).read_text("utf-8").splitlines()]
    stated = [
        line.split(":", 1)[1].strip(" '\"") for line in lines if line.strip().startswith("last_passed:")
    ]
    return stated.count(NOW) if len(stated) == stated.count(NOW) else -1


def _load_and_dump(path: str) -> None:
    document = _yaml_load(path)
    for record in document if isinstance(document, list) else [document]:
        record["metadata"]["last_passed"] = NOW
    text = yaml.dump(document, Dumper=DUMPER, sort_keys=False, allow_unicode=True, width=1_000_000)
    temporary = f"{path}.tmp"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)

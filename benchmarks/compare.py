"""`baselinekit compare` as a whole process: beside a bare httpx client a thread that only asks, its memory,
and in two processes beside one."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from baselinekit.files.jsontext import dump_json
from baselinekit.files.languages import dump_yaml
from benchmarks import data
from benchmarks.measure import Ended, Engine, Say, about, in_turn, median, whole
from benchmarks.results import Found, Note, Row, Scale, beside
from benchmarks.server import serving

JOBS = "8"
CLIENT = str(Path(__file__).with_name("client.py"))
PEER = "bare httpx client"
RECORDED, UNRECORDED = "--record", "--no-record"
THREADS, PROCESSES = "one process", "two processes"


def rows(scale: Scale, say: Say) -> Found:
    count = scale.pick(20, 1_000)
    with TemporaryDirectory() as folder:
        made = data.project(Path(folder), count)
        yield from _compared(made, f"{count:,} baselines", {UNRECORDED: 2.5, RECORDED: 3.5}, scale, say, 2)
    for number, size, is_beside in ((count, 20, False), (scale.pick(4, 100), 200, True)):
        with TemporaryDirectory() as folder:
            made = large_outputs(Path(folder), number, size * 1_000, beside=is_beside)
            what = f"{number:,} baselines of {size} KB {'beside' if is_beside else 'inline'}"
            yield from _compared(made, what, {UNRECORDED: 6}, scale, say)
    yield from _memory(scale.pick(20, 10_000), say)
    yield from _in_processes(scale.pick(20, 10_000), scale, say)
    yield Note(f"{JOBS} requests at once; one TLS context for all threads of the client.")
    yield Note("In two processes: what is compared is an echo of 1.4 KB, which waits for nothing.")


def command() -> list[str]:
    """The command as it is installed beside this Python."""
    script = Path(sys.executable).with_name("baselinekit")
    return [str(script)] if script.exists() else [sys.executable, "-m", "baselinekit"]


def comparing(
    name: str, root: Path, count: int, *options: str, before: Callable[[], object] = lambda: None
) -> Engine:
    """`baselinekit compare` in a project in which everything passes, and is recorded only if it shall be."""

    def right(ended: Ended) -> bool:
        passed = ended.exit_code == 0 and f"{count} passed" in ended.output.replace(",", "")
        first = next((root / "baselines").rglob("*.yaml")).read_text("utf-8")
        return passed and ("last_passed: null" in first) is (UNRECORDED in options)

    argv = [*command(), "compare", "-q", *options]
    return whole(name, argv, right, cwd=str(root), env={"CI": ""}, before=before)


def _compared(
    made: data.Project, what: str, goals: dict[str, float], scale: Scale, say: Say, wish: float | None = None
) -> Iterator[Row]:
    made.answers.parent.chmod(0o755)
    with serving(made.answers) as server:
        data.configure(made, server.url)
        client = [sys.executable, CLIENT, server.url, str(made.count), JOBS]
        engines = [
            *(comparing(way, made.root, made.count, way, "-j", JOBS, before=made.restore) for way in goals),
            whole(PEER, client, lambda ended: ended.output.strip() == str(made.count)),
        ]
        times = in_turn(engines, scale.rounds, about(say, what))
    for way, goal in goals.items():
        better = wish if way == UNRECORDED else None
        yield beside(times, f"`compare {way}` of {what}", way, PEER, goal, wish=better)


def large_outputs(folder: Path, count: int, size: int, *, beside: bool) -> data.Project:
    """Baselines with outputs of `size` bytes in their files, or `beside` them, with placeholders and ignored
    fields in each row."""
    made = data.Project(folder / "project", folder / "answers", count)
    made.make_folders()
    each = len(data.records_of_size(size))
    for number, file in enumerate(made.files):
        stored, other = data.records(each, seed=number), data.records(each, seed=count + number)
        record = data.baseline(number, loose=True)
        record["baseline"]["output"]["body"] = {data.ROWS: [{**row, **data.PLACEHOLDERS} for row in stored]}
        record["comparison"]["ignore_fields"] = [
            path.format(rows=data.ROWS) for path in data.IGNORED.values()
        ]
        if beside:
            output = Path(file).with_suffix(".output.json")
            record["baseline"] = {"output_file": output.name, **record["baseline"]}
            (made.root / output).write_text(dump_json(record["baseline"].pop("output")), "utf-8")
        names = (*data.PLACEHOLDERS, *data.IGNORED)
        answer = [
            {**row, **{name: new[name] for name in names}} for row, new in zip(stored, other, strict=True)
        ]
        (made.root / "captured" / Path(file).name).write_text(dump_yaml(record), "utf-8")
        (made.answers / f"{number}.json").write_text(json.dumps({data.ROWS: answer}), "utf-8")
    made.restore()
    return made


def _memory(count: int, say: Say) -> Iterator[Row]:
    """Each of the baselines has one of twenty texts, with an id of its own."""
    what = f"{count:,} baselines of 20 KB"
    with TemporaryDirectory() as folder:
        texts = large_outputs(Path(folder) / "texts", 20, 20_000, beside=False)
        made = data.Project(Path(folder) / "many", texts.answers, count)
        (made.root / "baselines" / "api").mkdir(parents=True)
        stated = [(texts.root / file).read_text("utf-8") for file in texts.files]
        for number, file in enumerate(made.files):
            text = stated[number % 20].replace(f"api-{number % 20:05}", f"api-{number:05}", 1)
            (made.root / file).write_text(text, "utf-8")
        for path in (Path(folder), texts.answers.parent):
            path.chmod(0o755)
        with serving(made.answers) as server:
            data.configure(made, server.url)
            engine = comparing("ours", made.root, count, UNRECORDED, "-j", JOBS)
            spent = in_turn([engine], 1, about(say, what))["ours"]
    yield Row(f"`compare` of {what}, most memory", median(spent, "peak"), of="bytes", goal=300e6)


def _in_processes(count: int, scale: Scale, say: Say) -> Iterator[Row]:
    what = f"{count:,} baselines without requests"
    with TemporaryDirectory() as folder:
        root = Path(folder)
        write_echoes(root, count)
        engines = [
            comparing(name, root, count, UNRECORDED, "--processes", number)
            for name, number in ((THREADS, "1"), (PROCESSES, "2"))
        ]
        times = in_turn(engines, min(3, scale.rounds), about(say, what))
    yield beside(times, f"`compare` of {what}, in {PROCESSES}", PROCESSES, THREADS, 0.7, of="wall")


def write_echoes(root: Path, count: int) -> None:
    (root / "baselinekit.yaml").write_text("version: 1\n", "utf-8")
    (root / "baselines").mkdir()
    for number in range(count):
        record = data.baseline(number, loose=True)
        record["baseline"]["output"] = record["baseline"]["output"]["body"]
        record["current"] = {"input": data.body(number, seed=2), "execution": {"type": "echo"}}
        (root / "baselines" / f"api-{number:05}.yaml").write_text(dump_yaml(record), "utf-8")

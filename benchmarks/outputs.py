"""Outputs that are large: compared and captured as whole processes, and the results of many merged beside
json.loads of each part."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from baselinekit.files.jsontext import dump_json
from baselinekit.files.languages import dump_yaml
from baselinekit.model.results import Report, ReportedDifference, Result, Shard
from baselinekit.report import resultfile
from benchmarks import data
from benchmarks.measure import Ended, Engine, Say, about, in_turn, median, whole
from benchmarks.replay import CLIENT, JOBS, PEER, UNRECORDED, command, comparing
from benchmarks.results import Found, Note, Row, Scale, Versus
from benchmarks.server import serving

EACH = "json.loads of each part"
EQUAL = "a client that reads JSON twice"
_LOADING = "import json, sys; print(sum(len(json.load(open(path))['results']) for path in sys.argv[1:]))"


def rows(scale: Scale, say: Say) -> Found:
    yield from _compared(scale.pick(8, 1_000), 20_000, 2, scale, say)
    yield from _compared(scale.pick(4, 100), 200_000, 3, scale, say)
    yield from _compared(scale.pick(4, 100), 200_000, 3, scale, say, beside=True)
    yield from _captured(scale.pick(20_000, 4_000_000), scale, say)
    yield from _merged(16, scale.pick(10, 10_000), scale, say)
    yield Note(
        f"{EQUAL}: the bare client, which also reads the answer and a JSON file, and compares them "
        "with ==: the least that a comparison takes, without rules, YAML, secrets and a report."
    )


def project(folder: Path, count: int, size: int, *, beside: bool = False) -> data.Project:
    """Baselines with outputs of so many bytes in their files, or `beside` them, with placeholders in each
    row."""
    made = data.Project(folder / "project", folder / "answers", count)
    for place in (made.root / "baselines" / "api", made.root / "captured", made.answers):
        place.mkdir(parents=True)
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


def _compared(
    count: int, size: int, goal: float, scale: Scale, say: Say, *, beside: bool = False
) -> Iterator[Row]:
    with TemporaryDirectory() as folder:
        made = project(Path(folder), count, size, beside=beside)
        Path(folder).chmod(0o755)
        with serving(made.answers) as server:
            data.configure(made, server.url)
            client = [sys.executable, CLIENT, server.url, str(count), JOBS]
            engines = [
                comparing(UNRECORDED, made, ["--no-record"], made.restore),
                whole(PEER, client, lambda ended: ended.output.strip() == str(count)),
                whole(
                    EQUAL,
                    [*client, str(made.answers)],
                    lambda ended: ended.output.strip() == str(count),
                ),
            ]
            what = f"compare {count:,} baselines of {size // 1_000} KB {'beside' if beside else 'inline'}"
            times = in_turn(engines, scale.rounds, about(say, what))
    yield Versus(times).row(
        what, UNRECORDED, PEER, goal=goal, short=f"`compare` of {what.removeprefix('compare ')}"
    )
    yield Versus(times).row(what, UNRECORDED, EQUAL)
    yield Versus(times).row(
        f"the least for {count:,} answers of {size // 1_000} KB{' again' * beside}", EQUAL, PEER
    )
    yield Row(f"{what}, most memory", median(times[UNRECORDED], "peak"), of="bytes")


def _captured(size: int, scale: Scale, say: Say) -> Iterator[Row]:
    with TemporaryDirectory() as folder:
        made = data.project(Path(folder), 1)
        Path(folder).chmod(0o755)
        (made.answers / "0.json").write_text(json.dumps({data.ROWS: data.records_of_size(size)}), "utf-8")
        with serving(made.answers) as server:
            data.configure(made, server.url)
            times = in_turn([_capture(made)], min(scale.rounds, 3), about(say, "capture"))
    what = f"capture an answer of {size // 1_000_000} MB, asked twice"
    yield Row(what, median(times["capture"]), rounds=3, goal=1.0, short="`capture` of 4 MB")


def _capture(made: data.Project) -> Engine:
    argv = [*command(), "capture", "http", "GET", "/0.json", "--id", "large", "-q"]

    def fresh() -> None:
        for file in made.root.rglob("large*"):
            file.unlink()

    return whole(
        "capture", argv, lambda ended: ended.exit_code == 0, cwd=str(made.root), env={"CI": ""}, before=fresh
    )


def shards(folder: Path, of: int, each: int) -> list[str]:
    """The result files of a run in so many parts; one in a hundred has failed."""
    names = []
    for number in range(1, of + 1):
        own = [_result(place) for place in range(number - 1, of * each, of)]
        name = f"shard {number}/{of}"
        report = Report(
            f"run-{number}",
            "2026-11-21T10:00:00Z",
            12.5,
            "baselinekit",
            f"baselinekit compare --shard {number}/{of}",
            tuple(own),
            shard=Shard(number, of, of * each, "http://127.0.0.1:8000", "c", "d"),
        )
        names.append(str(folder / f"{name.replace('/', '-')}.json"))
        Path(names[-1]).write_text(resultfile.render(report), "utf-8")
    return names


def _result(number: int) -> Result:
    file = f"baselines/api/api-{number:06}.yaml"
    failed = number % 100 == 7
    spots = (
        (ReportedDifference(("body", "users", 3, "name"), "value", "Ada", "Bob", file, 12),) if failed else ()
    )
    return Result(
        f"api-{number:06}",
        file,
        1,
        "http",
        "failed" if failed else "passed",
        "1 difference" if failed else "",
        criticality="high",
        target="http://127.0.0.1:8000",
        differences=spots,
        difference_count=len(spots),
        seconds=0.012345,
        recipe_hash=f"{number:032x}",
        resolved={"status": 200, "body": {"users": [{"name": "Ada"}] * 4}} if failed else None,
        position=number,
    )


def _merged(of: int, each: int, scale: Scale, say: Say) -> Iterator[Row]:
    with TemporaryDirectory() as folder:
        names = shards(Path(folder), of, each)
        total = f"{of * each:,}"
        wanted = f"{sum(number % 100 != 7 for number in range(of * each)):,} passed"

        def right(ended: Ended) -> bool:
            return ended.exit_code == 1 and wanted in ended.output

        argv = [*command(), "merge", *names, "-o", str(Path(folder) / "all.json"), "-q"]
        engines = [
            whole("ours", argv, right, cwd=folder, env={"CI": ""}),
            whole(
                EACH, [sys.executable, "-c", _LOADING, *names], lambda ended: int(ended.output) == of * each
            ),
        ]
        times = in_turn(engines, scale.rounds, about(say, "merge"))
    what = f"merge {of} files of {each:,} results"
    yield Versus(times).row(what, "ours", EACH, goal=3, short=f"`merge` of {total} results")
    yield Row(f"{what}, most memory", median(times["ours"], "peak"), of="bytes")

"""Large projects: the time of `doctor` and of a compare of one baseline by the number of files, and the
memory of a compare by the size of outputs. Each file is one of fifty texts with an id of its own."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from baselinekit.files.languages import dump_yaml
from benchmarks import data
from benchmarks.measure import Ended, Engine, Say, about, in_turn, median, whole
from benchmarks.replay import JOBS, command
from benchmarks.results import Found, Note, Row, Scale
from benchmarks.server import serving

TEXTS = 50
ONE = "api-000007"


def rows(scale: Scale, say: Say) -> Found:
    few, many = scale.pick(20, 10_000), scale.pick(600, 100_000 if scale.long else 10_000)
    few = few if scale.long or scale.quick else 1_000
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        small, large = (Path(folder) / name for name in ("few", "many"))
        texts, answers = small_texts()
        with serving(answering(Path(folder), answers)) as server:
            for root, count in ((small, few), (large, many)):
                make_project(root, server.url, texts, count)
            yield from _times(small, few, large, many, scale, say)
    yield from _memory(scale, say)
    if not scale.long:
        yield Note("100,000 files: `LONG=1`.")


def _times(small: Path, few: int, large: Path, many: int, scale: Scale, say: Say) -> Iterator[Row]:
    looked = [
        whole(str(root), [*command(), "doctor"], in_order(count), cwd=str(root))
        for root, count in ((small, few), (large, many))
    ]
    times = in_turn(looked, 1, about(say, "doctor"))
    ours, theirs = times[str(large)], times[str(small)]
    what = f"doctor, {many:,} files"
    for of in ("cpu", "wall"):
        ratio = median(ours, of) / median(theirs, of)
        peer = f"the same of {few:,}"
        goal = 1.2 * many / few if of == "cpu" else None
        yield Row(what, median(ours, of), peer, median(theirs, of), ratio, of, 1, goal)
    yield Row(f"{what}: most memory", median(ours, "peak"), of="bytes")
    argv = [*command(), "compare", "-q", "--no-record", "--id", ONE]
    spent = in_turn([whole("one", argv, passed(1), cwd=str(large))], 1, about(say, "--id one"))["one"]
    yield Row(f"compare --id of one among {many:,} files", median(spent), of="cpu")


def _memory(scale: Scale, say: Say) -> Iterator[Row]:
    count = scale.pick(20, 10_000)
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        texts, answers = large_texts()
        with serving(answering(Path(folder), answers)) as server:
            root = Path(folder) / "project"
            make_project(root, server.url, texts, count)
            argv = [*command(), "compare", "-q", "--no-record", "-j", JOBS]
            engine: Engine = whole("compare", argv, passed(count), cwd=str(root))
            spent = in_turn([engine], 1, about(say, f"{count:,} baselines of 20 KB"))["compare"]
    short = "Memory of a run of 10,000 baselines of 20 KB" if count == 10_000 else ""
    what = f"compare {count:,} baselines of 20 KB: most memory"
    yield Row(what, median(spent, "peak"), of="bytes", goal=150e6, short=short)
    yield Row(f"compare {count:,} baselines of 20 KB", median(spent), of="cpu")


def small_texts() -> tuple[list[str], list[data.Record]]:
    numbers = range(TEXTS)
    return [data.baseline_text(n, loose=True) for n in numbers], [data.body(n, seed=2) for n in numbers]


def large_texts() -> tuple[list[str], list[data.Record]]:
    """About 20 KB each."""
    texts, answers = [], []
    for number in range(TEXTS):
        answers.append({"rows": data.records(31, seed=number)})
        record = data.baseline(number, loose=False)
        record["baseline"]["output"]["body"] = answers[-1]
        texts.append(dump_yaml(record))
    return texts, answers


def answering(folder: Path, answers: Sequence[data.Record]) -> Path:
    there = folder / "answers"
    there.mkdir()
    for number, answer in enumerate(answers):
        (there / f"{number}.json").write_text(json.dumps(answer), "utf-8")
    return there


def make_project(root: Path, url: str, texts: Sequence[str], count: int) -> None:
    (root / "baselines").mkdir(parents=True)
    (root / "baselinekit.yaml").write_text(f"version: 1\nbase_url: {url}\n", "utf-8")
    parts = [re.split(r"api-\d+", text, maxsplit=1) for text in texts]
    for number in range(count):
        before, behind = parts[number % len(parts)]
        path = root / f"baselines/api-{number:06}.yaml"
        path.write_text(f"{before}api-{number:06}{behind}", "utf-8")


def passed(count: int) -> Callable[[Ended], bool]:
    """Whether so many passed, and no other."""
    return _says(f"{count} passed")


def in_order(count: int) -> Callable[[Ended], bool]:
    """Whether so many baselines were looked at, and nothing is wrong with them."""
    return _says(f"{count} baselines are in order")


def _says(text: str) -> Callable[[Ended], bool]:
    return lambda ended: ended.exit_code == 0 and text in ended.output.replace(",", "")

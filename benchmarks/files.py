"""Baseline files, read and checked: beside yaml.load alone."""

import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from baselinekit.model.baselines import Baseline
from baselinekit.store.reading import discover_files, load
from benchmarks import data
from benchmarks.measure import Say, about, in_turn, inside
from benchmarks.results import Found, Scale, beside

LOADER: Any = vars(yaml)["CSafeLoader"]


def rows(scale: Scale, say: Say) -> Found:
    count = scale.pick(20, 1_000)
    with TemporaryDirectory() as folder:
        made = data.project(Path(folder), count)
        root, values = str(made.root), [data.baseline(number, loose=True) for number in range(count)]

        def ours() -> list[Baseline]:
            return load(list(discover_files(["baselines"], root).files), root)

        def theirs() -> list[Any]:
            return [_yaml_load(os.path.join(root, file)) for file in made.files]

        def right(found: list[Baseline]) -> bool:
            return len(found) == count and found[-1].id == f"api-{count - 1:05}"

        what = f"read and check {count:,} files of 2 KB"
        engines = [
            inside("ours", ours, right, clock=time.process_time),
            inside("yaml.load", theirs, lambda found: bool(found == values), clock=time.process_time),
        ]
        times = in_turn(engines, scale.rounds, about(say, what))
    yield beside(times, what, "ours", "yaml.load", 0.6, called="yaml.load(…, CSafeLoader)")


def _yaml_load(path: str) -> Any:
    with open(path, encoding="utf-8") as file:
        return yaml.load(file.read(), LOADER)

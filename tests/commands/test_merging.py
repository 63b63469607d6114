"""Result files are put together as they stand, piece by piece: the same bytes and the same verdict as when
all of them are read, or the whole files are read after all."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from baselinekit.commands.history import load_parts, merge
from baselinekit.commands.merging import StreamedMerge
from baselinekit.errors import BaselinekitError
from baselinekit.model.results import Report, ReportedDifference, Result, Shard
from baselinekit.report import resultfile
from baselinekit.report.resultstream import NotStreamableError, StreamedFile, plain_pass
from baselinekit.structs import replace

TEXTS = [
    "",
    "high",
    "a/b-c.yaml",
    'with "quotes"',
    "é",
    "##[error]x",
    "back\\slash",
    "two\nlines",
    "\u2028",
    "#1",
]


def result(rng: random.Random, number: int) -> Result:
    passed = Result(
        f"api-{number}", f"baselines/{number}.yaml", 1, "http", "passed", seconds=0.0125, recipe_hash="ab"
    )
    kind = rng.choice(
        ["plain", "plain", "plain", "texts", "seconds", "failed", "skipped", "passed with a note"]
    )
    if kind == "texts":
        return replace(
            passed,
            name=rng.choice(TEXTS) or None,
            criticality=rng.choice([None, "high"]),
            target=rng.choice(TEXTS),
            kind=rng.choice(TEXTS),
        )
    if kind == "seconds":
        seconds = rng.choice([0.0, 0.00001, 0.0001, 1.5, 12.0, 1e9, 123456.654321, 7, 1e-6, 0.1 + 0.2])
        return replace(passed, seconds=seconds, line=rng.choice([None, 1, 10**6]))
    if kind == "failed":
        spot = ReportedDifference(
            ("body", rng.choice(TEXTS), 3), "value", rng.choice(TEXTS), None, passed.file, 3
        )
        output = {"body": [rng.choice(TEXTS), {"a": [1.5, None, {}]}]}
        return replace(passed, outcome="failed", differences=(spot,), difference_count=1, resolved=output)
    if kind == "skipped":
        return replace(passed, outcome="skipped", reason="by hand", code="BK221")
    return replace(passed, notes=("beside",)) if kind == "passed with a note" else passed


def parts(rng: random.Random, of: int, total: int) -> list[Report]:
    """The shards of a run; `of` 0: two runs of other baselines, which are no shards."""
    whole = [replace(result(rng, number), position=number if of else None) for number in range(total)]
    reports = []
    for number in range(1, (of or 2) + 1):
        own = [one for place, one in enumerate(whole) if place % (of or 2) == number - 1]
        shard = Shard(number, of, total, "http://x", "c", "d") if of else None
        started = f"2026-11-21T10:00:0{number}Z"
        command = f"baselinekit compare --shard {number}/{of} -o {number}.json"
        reports.append(
            Report(
                f"run-{number}", started, 1.5 * number, "baselinekit 0.1.0", command, tuple(own), shard=shard
            )
        )
    return reports


def written(folder: Path, reports: list[Report]) -> list[str]:
    for number, report in enumerate(reports):
        (folder / f"{number}.json").write_text(resultfile.render(report), "utf-8")
    return [f"{number}.json" for number in range(len(reports))]


@pytest.mark.parametrize("of", [0, 1, 2, 5])
def test_the_same_bytes_and_the_same_verdict(of: int, tmp_path: Path) -> None:
    rng = random.Random(of)
    for total in (7, 60):
        names = written(tmp_path, parts(rng, of, total))
        rng.shuffle(names)
        whole = merge(load_parts(names, str(tmp_path)))
        merged = StreamedMerge(names, str(tmp_path), ())
        assert b"".join(merged.pieces()) == resultfile.render(whole).encode()
        told = merged.report()
        assert (told.summary, told.exit_code, told.warnings) == (
            whole.summary,
            whole.exit_code,
            whole.warnings,
        )
        assert [one for one in whole.results if one.outcome != "passed"] == [
            one for one in told.results if one.outcome != "passed"
        ]


def test_pieces_may_end_anywhere() -> None:
    (report,) = parts(random.Random(3), 1, 12)
    data = resultfile.render(report).encode()
    for size in (1, 7, 64, 1_000):
        pieces = (data[start : start + size] for start in range(0, len(data), size))
        found = list(StreamedFile(pieces, "x.json").results())
        assert [one.id for one in found] == [one.id for one in report.results]


def test_a_pass_that_says_no_more_is_taken_over_as_it_is_written() -> None:
    """Else merge would be right and slow."""
    one = Result(
        "a", "a.yaml", 3, "http", "passed", seconds=0.5, recipe_hash="0f", target="http://x", position=7
    )
    report = Report("r", "2026-11-21T10:00:00Z", 1.0, "t", "c", (one, replace(one, id="b", position=8)))
    text = resultfile.render(report).encode()
    assert len(plain_pass().findall(text)) == 2


def swapped(old: str, new: str) -> Callable[[str], str]:
    def swap(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return swap


@pytest.mark.parametrize(
    "change",
    [
        swapped('"id": "api-2"', '"id": "api-0"'),
        swapped('"position": 2', '"position": 0'),
        swapped('"position": 2', '"position": 9'),
        swapped('"position": 2', '"position": -1'),
        swapped('"seconds": 0.0125', '"seconds": 0.01250'),
        swapped('"seconds": 0.0125', '"seconds": -1'),
        swapped('"attempts": 1', '"attempts": 1,\n      "attempts": 1'),
        swapped('"attempts": 1', '"attempts": true'),
        swapped('"outcome": "passed"', '"outcome": "well"'),
        swapped('"kind": "http"', '"kind": null'),
        swapped('"passed": ', '"passed": 1'),
        swapped('"complete": true', '"complete": 1'),
        swapped('"format": "baselinekit.results/1"', '"format": "baselinekit.results/2"'),
        swapped('  "results": [\n', '  "results":  [\n'),
        swapped("    {\n", "   {\n"),
        swapped("\n  ]\n}\n", "\n  ],\n}\n"),
        swapped("\n  ]\n}\n", "\n  ]\n}\n{}\n"),
        swapped("\n  ]\n}\n", '\n  ],\n  "more": 1\n}\n'),
        swapped('"environment_drift": {}', '"environment_drift": {}, "x": 1'),
        lambda text: text[: len(text) // 2],
        lambda text: text.replace("\n", ""),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
    ],
)
def test_what_is_not_as_a_compare_writes_it(change: Callable[[str], str], tmp_path: Path) -> None:
    """It is left to who reads the whole file and says what is wrong; or it is read, and gives the same."""
    plain = Result("a", "a.yaml", 1, "http", "passed", seconds=0.0125, recipe_hash="ab")
    same = [replace(plain, id=f"api-{number}", position=number) for number in range(6)]
    shards = parts(random.Random(1), 2, 6)
    names = written(
        tmp_path, [replace(one, results=tuple(same[number::2])) for number, one in enumerate(shards)]
    )
    first = tmp_path / "0.json"
    first.write_text(change(first.read_text("utf-8")), "utf-8", newline="")
    try:
        streamed = b"".join(StreamedMerge(names, str(tmp_path), ()).pieces())
    except NotStreamableError:
        return
    try:
        whole = merge(load_parts(names, str(tmp_path)))
    except BaselinekitError as error:
        raise AssertionError("it was streamed, and is wrong") from error
    assert streamed == resultfile.render(whole).encode()

"""A compare in several processes says what one in threads says, whoever of them is killed."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from console import Console, console
from storehelp import write

pytestmark = pytest.mark.slow

ECHO = """\
id: e{n}
baseline: {{output: [{stored}, "{token}"]}}
current: {{input: [{n}, "{{{{token}}}}"], execution: {{type: echo}}}}
metadata: {{tags: [t{tag}]}}
"""
SHELL = """\
id: s{n}
baseline: {{output: {{exit_code: 0, stdout: "{stored}\\n"}}}}
current: {{input: {{argv: [sh, -c, "{program}"]}}, execution: {{type: command{more}}}}}
"""
CONFIG = "variables: {token: {value: this-is-a-secret, secret: true}}\n"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        write(terminal.folder, "baselinekit.yaml", CONFIG)
        yield terminal


def echoes(here: Console, count: int) -> None:
    """Of which every seventh fails."""
    for n in range(count):
        text = ECHO.format(n=n, stored=n if n % 7 else -1, token="this-is-a-secret", tag=n % 3)
        write(here.folder, f"baselines/e{n:03}.yaml", text)


def shells(here: Console, **programs: str) -> None:
    for n, program in programs.items():
        more = ", serial: true" if n.startswith("w") else ""
        text = SHELL.format(n=n, stored=n, program=program, more=more)
        write(here.folder, f"baselines/s{n}.yaml", text)


def run(here: Console, words: str, exit_code: int) -> str:
    ran = here.run(f"baselinekit {words}")
    assert ran.exit_code == exit_code, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


_OF_THE_RUN = {"seconds", "started", "id", "command", "captured_at"}


def report(here: Console, words: str, exit_code: int) -> dict[str, Any]:
    """The result file, without its times and what was typed."""
    run(here, f"compare {words} -o out.json", exit_code)
    found: dict[str, Any] = json.loads((here.folder / "out.json").read_text())
    found["run"] = {name: value for name, value in found["run"].items() if name not in _OF_THE_RUN}
    for one in found["results"]:
        del one["observed"]["seconds"]
    return found


def test_the_report_is_that_of_threads(here: Console) -> None:
    echoes(here, 30)
    shells(
        here, a="echo a", b="exit 3", c="echo x", w1="echo w1", w2="echo other", missing="no-such-program-x"
    )
    write(here.folder, "baselines/none.yaml", "id: none\ncurrent: {input: 1, execution: {type: echo}}\n")
    alone = report(here, "--allow-exec --no-record", 1)
    assert [one["id"] for one in alone["results"] if one["outcome"] == "unscored"] == ["none"]
    for more in ("--processes 2", "--processes 3 -j 1", "--processes 8"):
        there = report(here, f"--allow-exec --no-record {more}", 1)
        assert there["results"] == alone["results"]
        assert there == alone


def test_each_verdict_is_recorded_once(here: Console) -> None:
    echoes(here, 30)
    for times in (1, 2):
        run(here, "compare -q --processes 2", 1)
        texts = [path.read_text() for path in (here.folder / "baselines").iterdir()]
        counts = [found[1] for text in texts if (found := re.search(r"failure_count: (\d+)", text))]
        assert counts == [str(times)] * 5
        assert sum("last_passed" in text for text in texts) == 25
    assert len(list((here.folder / ".baselinekit/pending").iterdir())) == 5


@pytest.mark.parametrize(
    "words", ["--tag t1", "-k 'e1 and not t0'", "--id 'e?'", "--lf", "--ff", "--shard 2/3"]
)
def test_a_selection_is_that_of_threads(here: Console, words: str) -> None:
    echoes(here, 30)
    run(here, "compare -q", 1)
    alone = report(here, f"--no-record {words}", 1)
    assert report(here, f"--no-record {words} --processes 2", 1) == alone


def test_what_is_wrong_in_files_is_told_alike_and_in_their_order(here: Console) -> None:
    echoes(here, 8)

    write(here.folder, "baselines/e001.yaml", "id: [\n")
    write(here.folder, "baselines/e006.yaml", ECHO.format(n=5, stored=3, token="{{unset}}", tag=0))
    alone = run(here, "compare", 2)
    assert "e006" in alone
    assert "e001" in alone
    assert run(here, "compare --processes 2", 2) == alone


def test_who_ends_its_process_is_an_error_and_takes_no_other_along(here: Console) -> None:
    echoes(here, 12)
    shells(here, a="echo a", deadly="kill -9 $PPID", z="echo z")
    found = report(here, "--allow-exec --processes 2", 1)
    outcomes = {one["id"]: one["outcome"] for one in found["results"]}
    assert outcomes.pop("sdeadly") == "error"
    assert {id for id, outcome in outcomes.items() if outcome != "passed"} == {"e0", "e7"}
    (error,) = [one for one in found["results"] if one["id"] == "sdeadly"]
    assert error["code"] == "BK360"
    assert "--id sdeadly" in error["reason"]

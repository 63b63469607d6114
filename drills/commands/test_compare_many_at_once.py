"""Several compares at once, interrupted runs, and runs that cannot write."""

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from console import Console, console
from little_api import LittleApi
from started import start

BASELINE = """\
id: b{n}   # number {n}
baseline: {{output: {{status: 200, body: {{n: {n}}}}}}}
current: {{input: {{endpoint: /x}}, execution: {{type: http}}}}
metadata:
  failure_count: 0
"""


def files(folder: Path, count: int) -> list[Path]:
    (folder / "baselines").mkdir()
    made = [folder / "baselines" / f"b{n}.yaml" for n in range(count)]
    for n, path in enumerate(made):
        path.write_text(BASELINE.format(n=n))
    return made


def counts(made: list[Path]) -> list[int]:
    return [int(re.search(r"failure_count: (\d+)", path.read_text())[1]) for path in made]


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        yield terminal


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_what_is_done_and_ends_soon(here: Console, number: int) -> None:
    made = files(here.folder, 12)

    def late(number: int) -> dict[str, int]:
        time.sleep(20 if number > 4 else 0)
        return {"n": 0}

    with LittleApi({"/x": late}) as api:
        process = start(here, "compare", "-j", "4", "--base-url", api.url, "--json")
        deadline = time.monotonic() + 30
        while (
            api.counts["/x"] < 8
        ):  # each of the four threads has done with its first, and waits for its second
            assert time.monotonic() < deadline
            time.sleep(0.02)
        told = time.monotonic()
        process.send_signal(number)
        out, _ = process.communicate(timeout=30)
        took = time.monotonic() - told
    assert process.returncode == 130
    assert took < 10, "the answers take twenty"
    assert b'"interrupted": true' in out
    passed = [path for path in made if "last_passed" in path.read_text()]
    assert sum(counts(made)) + len(passed) == 4, "the four that were answered, and no other"


def test_a_read_only_checkout_is_compared_all_the_same(here: Console) -> None:
    made = files(here.folder, 2)
    with LittleApi({"/x": {"n": 0}}) as api:
        if os.geteuid() == 0:  # root may write anywhere: a file where the state folder should be does as well
            (here.folder / ".baselinekit").write_text("not a folder")
        else:
            for folder in (here.folder / "baselines", here.folder):
                folder.chmod(0o555)
        ran = here.run(f"baselinekit compare --base-url {api.url}")
        quiet = here.run(f"CI=1 baselinekit compare --base-url {api.url}")
    (here.folder).chmod(0o755)
    (here.folder / "baselines").chmod(0o755)
    assert ran.exit_code == 1, "one of the two differs, whatever can be written"
    assert "BK120" in ran.stdout
    assert quiet.exit_code == 1
    assert counts(made) == [0, 0]

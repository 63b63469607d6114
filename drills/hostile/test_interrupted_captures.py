"""A capture of many that ends early, for whatever reason: what was captured stays, and the same command
captures the rest and nothing twice."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from drill import ROOT, THOROUGH, Drill
from faults import AVAILABLE, Fault
from steady import Steady
from warm import Warm

from baselinekit.store.reading import load

COUNT = 60
ENDS = [(signal.SIGINT, 2), (signal.SIGTERM, 1), (signal.SIGKILL, 2)]
ALL_ENDS = [(number, repeat) for number, _ in ENDS for repeat in (1, 2)]


def laid(here: Drill) -> None:
    paths = "".join(f"/n{number}\n" for number in range(COUNT))
    here.lay({"urls.txt": paths})


def begin(folder: Path, *words: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "baselinekit", "capture", *words],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder.parent), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def stop_at(process: "subprocess.Popen[bytes]", service: Steady, asked: int, number: int) -> tuple[str, str]:
    """Signalled once the service was asked more often than that; and what it said to its end."""
    until = time.monotonic() + 30
    while service.asked <= asked and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    return out.decode(), err.decode()


def stored(here: Drill) -> list[str]:
    """The ids of what is stored; each file is whole."""
    files = (str(file.relative_to(here.folder)) for file in (here.folder / "baselines").rglob("*.yaml"))
    return [one.id for one in load(sorted(files), str(here.folder)) if one.baseline is not None]


@pytest.mark.parametrize(
    ("number", "repeat"), ALL_ENDS if THOROUGH else ENDS, ids=lambda one: getattr(one, "name", str(one))
)
def test_what_was_captured_before_a_signal_stays(
    here: Drill, runs: Warm, number: signal.Signals, repeat: int
) -> None:
    """The service stops answering while the third group of sixteen is asked, for the last time."""
    kept = 32
    laid(here)
    slow_from = kept * repeat + 16 * (repeat - 1) + 4
    with Steady({"n": 1}, slow_from) as service:
        process = begin(here.folder, "urls.txt", "-j2", "--repeat", str(repeat), "--base-url", service.url)
        out, err = stop_at(process, service, slow_from, number)
    assert len(stored(here)) == kept
    assert "Traceback" not in out + err
    if number != signal.SIGKILL:
        assert process.returncode == 130
        assert f"{kept} stored, {COUNT - kept} left; the same command captures what is left: " in err
        assert "baselinekit capture urls.txt -j2 --repeat" in err
        assert f"{kept} captured" in out
    with Steady({"n": 1}) as service:
        again = runs.run(here.folder, "capture", "urls.txt", "--repeat", "1", "--base-url", service.url)
        assert again.exit_code == 0, again.said
        assert service.asked == COUNT - kept
    assert f"{COUNT - kept} captured, {kept} captured already" in again.out
    assert len(stored(here)) == COUNT


def test_what_a_service_answered_before_it_went_away_is_stored(here: Drill) -> None:
    laid(here)
    with Steady({"n": 1}, slow_from=40) as service:
        words = ("urls.txt", "-j2", "--repeat", "1", "--json")
        process = begin(here.folder, *words, "--base-url", service.url)
        until = time.monotonic() + 30
        while service.asked <= 40 and time.monotonic() < until:
            time.sleep(0.01)
    out, err = process.communicate(timeout=60)
    told = json.loads(out)
    assert process.returncode == 3, err
    assert sorted(one["id"] for one in told["captured"]) == sorted(stored(here))
    assert len(told["captured"]) >= 38
    assert len(told["captured"]) + len(told["left_out"]) == COUNT


@pytest.mark.skipif(not AVAILABLE, reason="processes are followed on Linux, x86_64 and aarch64")
def test_a_full_disk_ends_it_at_the_first_file_that_has_no_place(here: Drill, runs: Warm) -> None:
    words = ("capture", "urls.txt", "-j2", "--repeat", "1")
    laid(here)
    followed = runs.run(here.folder, *words, follow=True)
    assert followed.exit_code == 0, followed.said
    middle = len(followed.seen) // 2
    laid(here)
    before = here.service.answered
    ended = runs.run(here.folder, *words, fault=Fault(middle, errno.ENOSPC, lasting=True))
    kept, asked = stored(here), here.service.answered - before
    assert ended.exit_code == 3
    assert ended.err.count("BK120") == 1
    assert f"{len(kept)} stored, {COUNT - len(kept) - 1} left; the same command" in ended.err
    assert 0 < len(kept) < asked < COUNT, "the rest is not asked in vain"
    again = runs.run(here.folder, *words)
    assert f"{COUNT - len(kept)} captured, {len(kept)} captured already" in again.out
    assert len(stored(here)) == COUNT
    assert here.litter() == []

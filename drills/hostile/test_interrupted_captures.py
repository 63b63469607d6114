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


def write_urls(drill: Drill) -> None:
    paths = "".join(f"/n{number}\n" for number in range(COUNT))
    drill.lay({"urls.txt": paths})


def begin(folder: Path, *words: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "baselinekit", "capture", *words],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder.parent), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def stop_at(process: "subprocess.Popen[bytes]", service: Steady, count: int, number: int) -> tuple[str, str]:
    """Send a signal once the service got more requests than that; the output of the process to its end."""
    until = time.monotonic() + 30
    while service.asked <= count and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    return out.decode(), err.decode()


def stored(drill: Drill) -> list[str]:
    """The ids of what is stored; each file is whole."""
    files = (str(file.relative_to(drill.folder)) for file in (drill.folder / "baselines").rglob("*.yaml"))
    return [item.id for item in load(sorted(files), str(drill.folder)) if item.baseline is not None]


@pytest.mark.parametrize(
    ("number", "repeat"), ALL_ENDS if THOROUGH else ENDS, ids=lambda item: getattr(item, "name", str(item))
)
def test_capture_interrupted_keeps_what_was_captured(
    drill: Drill, runs: Warm, number: signal.Signals, repeat: int
) -> None:
    """The service stops answering while the third group of sixteen is asked, for the last time."""
    kept = 32
    write_urls(drill)
    slow_from = kept * repeat + 16 * (repeat - 1) + 4
    with Steady({"n": 1}, slow_from) as service:
        process = begin(drill.folder, "urls.txt", "-j2", "--repeat", str(repeat), "--base-url", service.url)
        out, err = stop_at(process, service, slow_from, number)
    assert len(stored(drill)) == kept
    assert "Traceback" not in out + err
    if number != signal.SIGKILL:
        assert process.returncode == 130
        assert f"{kept} stored, {COUNT - kept} left; the same command captures what is left: " in err
        assert "baselinekit capture urls.txt -j2 --repeat" in err
        assert f"{kept} captured" in out
    with Steady({"n": 1}) as service:
        again = runs.run(drill.folder, "capture", "urls.txt", "--repeat", "1", "--base-url", service.url)
        assert again.exit_code == 0, again.said
        assert service.asked == COUNT - kept
    assert f"{COUNT - kept} captured, {kept} captured already" in again.out
    assert len(stored(drill)) == COUNT


def test_capture_service_goes_away_keeps_what_was_captured(drill: Drill) -> None:
    write_urls(drill)
    with Steady({"n": 1}, slow_from=40) as service:
        words = ("urls.txt", "-j2", "--repeat", "1", "--json")
        process = begin(drill.folder, *words, "--base-url", service.url)
        until = time.monotonic() + 30
        while service.asked <= 40 and time.monotonic() < until:
            time.sleep(0.01)
    out, err = process.communicate(timeout=60)
    summary = json.loads(out)
    assert process.returncode == 3, err
    assert sorted(item["id"] for item in summary["captured"]) == sorted(stored(drill))
    assert len(summary["captured"]) >= 38
    assert len(summary["captured"]) + len(summary["left_out"]) == COUNT


@pytest.mark.skipif(not AVAILABLE, reason="processes are followed on Linux, x86_64 and aarch64")
def test_capture_full_disk_ends_at_first_file(drill: Drill, runs: Warm) -> None:
    words = ("capture", "urls.txt", "-j2", "--repeat", "1")
    write_urls(drill)
    followed = runs.run(drill.folder, *words, follow=True)
    assert followed.exit_code == 0, followed.said
    middle = len(followed.seen) // 2
    write_urls(drill)
    before = drill.service.answered
    ended = runs.run(drill.folder, *words, fault=Fault(middle, errno.ENOSPC, lasting=True))
    kept, requests = stored(drill), drill.service.answered - before
    assert ended.exit_code == 3
    assert ended.err.count("BK120") == 1
    assert f"{len(kept)} stored, {COUNT - len(kept) - 1} left; the same command" in ended.err
    assert 0 < len(kept) < requests < COUNT, "the rest is not asked in vain"
    again = runs.run(drill.folder, *words)
    assert f"{COUNT - len(kept)} captured, {len(kept)} captured already" in again.out
    assert len(stored(drill)) == COUNT
    assert drill.litter() == []

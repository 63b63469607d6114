"""A capture of many that ends early, for whatever reason: what was captured stays, and the same command
captures the rest and nothing twice."""

import errno
import json
import signal

import pytest
from commandline import finish, start, until
from drill import THOROUGH, Drill
from faults import AVAILABLE, Fault
from steady import Steady
from warm import Warm

from baselinekit.store.reading import load

COUNT = 60
ENDS = [(signal.SIGINT, 2), (signal.SIGTERM, 1), (signal.SIGKILL, 2)]
ALL_ENDS = [(number, repeat) for number, _ in ENDS for repeat in (1, 2)]


def laid(project: Drill) -> None:
    paths = "".join(f"/n{number}\n" for number in range(COUNT))
    project.lay({"urls.txt": paths})


def stored(project: Drill) -> list[str]:
    """The ids of what is stored; each file is whole."""
    files = (str(file.relative_to(project.folder)) for file in (project.folder / "baselines").rglob("*.yaml"))
    return [item.id for item in load(sorted(files), str(project.folder)) if item.baseline is not None]


@pytest.mark.parametrize(
    ("number", "repeat"), ALL_ENDS if THOROUGH else ENDS, ids=lambda item: getattr(item, "name", str(item))
)
def test_capture_keeps_what_was_stored_before_a_signal(
    project: Drill, runs: Warm, number: signal.Signals, repeat: int
) -> None:
    """The service stops answering while the third group of sixteen is asked, for the last time."""
    kept = 32
    laid(project)
    slow_from = kept * repeat + 16 * (repeat - 1) + 4
    with Steady({"n": 1}, slow_from) as service:
        words = ("urls.txt", "-j2", "--repeat", str(repeat), "--base-url", service.url)
        process = start(project.folder, "capture", *words)
        until(lambda: service.asked > slow_from)
        process.send_signal(number)
        out, err = (stream.decode() for stream in process.communicate(timeout=30))
    assert len(stored(project)) == kept
    assert "Traceback" not in out + err
    if number != signal.SIGKILL:
        assert process.returncode == 130
        assert f"{kept} stored, {COUNT - kept} left; the same command captures what is left" in err
        assert f"{kept} captured" in out
    with Steady({"n": 1}) as service:
        again = runs.run(project.folder, "capture", "urls.txt", "--repeat", "1", "--base-url", service.url)
        assert again.exit_code == 0, again.said
        assert service.asked == COUNT - kept
    assert f"{COUNT - kept} captured, {kept} captured already" in again.out
    assert len(stored(project)) == COUNT


def test_capture_keeps_what_a_service_answered_before_it_went_away(project: Drill) -> None:
    laid(project)
    with Steady({"n": 1}, slow_from=40) as service:
        words = ("urls.txt", "-j2", "--repeat", "1", "--json")
        process = start(project.folder, "capture", *words, "--base-url", service.url)
        until(lambda: service.asked > 40)
    report = json.loads(finish(process, 3)[0])
    assert sorted(item["id"] for item in report["captured"]) == sorted(stored(project))
    assert len(report["captured"]) >= 38
    assert len(report["captured"]) + len(report["left_out"]) == COUNT


@pytest.mark.skipif(not AVAILABLE, reason="processes are followed on Linux, x86_64 and aarch64")
def test_capture_ends_at_the_first_file_on_a_full_disk(project: Drill, runs: Warm) -> None:
    words = ("capture", "urls.txt", "-j2", "--repeat", "1")
    laid(project)
    followed = runs.run(project.folder, *words, follow=True)
    assert followed.exit_code == 0, followed.said
    middle = len(followed.seen) // 2
    laid(project)
    before = project.service.answered
    ended = runs.run(project.folder, *words, fault=Fault(middle, errno.ENOSPC, lasting=True))
    kept, asked = stored(project), project.service.answered - before
    assert ended.exit_code == 3
    assert ended.err.count("BK120") == 1
    assert f"{len(kept)} stored, {COUNT - len(kept) - 1} left; the same command" in ended.err
    assert 0 < len(kept) < asked < COUNT, "the rest is not asked in vain"
    again = runs.run(project.folder, *words)
    assert f"{COUNT - len(kept)} captured, {len(kept)} captured already" in again.out
    assert len(stored(project)) == COUNT
    assert project.litter() == []

"""What cannot be interrupted is waited for no longer than is allowed."""

import threading
import time

import pytest

from baselinekit.replaying.wire import CutOff, TimeLimitedCall, Transport

NEVER = threading.Event()


def test_what_is_made_in_time() -> None:
    assert TimeLimitedCall(lambda: 5, lambda _: None).get(1, NEVER) == 5


def test_its_error_is_ours() -> None:
    def fails() -> int:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        TimeLimitedCall(fails, lambda _: None).get(1, NEVER)


def test_what_comes_too_late_is_discarded() -> None:
    discarded: list[int] = []
    go_on = threading.Event()

    def late() -> int:
        go_on.wait(5)
        return 7

    started = time.monotonic()
    assert TimeLimitedCall(late, discarded.append).get(0.2, NEVER) is None
    assert 0.15 < time.monotonic() - started < 4
    go_on.set()
    deadline = time.monotonic() + 5
    while not discarded and time.monotonic() < deadline:
        time.sleep(0.01)
    assert discarded == [7]


def test_cancelling_ends_the_wait() -> None:
    cancelled, go_on = threading.Event(), threading.Event()
    threading.Timer(0.1, cancelled.set).start()
    started = time.monotonic()
    assert TimeLimitedCall(lambda: go_on.wait(40), lambda _: None).get(30, cancelled) is None
    assert time.monotonic() - started < 10
    go_on.set()


def test_the_time_that_is_left() -> None:
    cancelled = threading.Event()
    line = Transport(cancelled)
    line.start(10)
    assert 9 < line.remaining() <= 10
    line.start(0)
    with pytest.raises(TimeoutError):
        line.remaining()
    cancelled.set()
    with pytest.raises(CutOff):
        line.remaining()

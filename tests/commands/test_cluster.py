"""A cluster as a run sees it: whom it sends what to, what it does when a worker is lost, and how it stops."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from types import SimpleNamespace
from typing import Any

import pytest

from baselinekit.commands.cluster import (
    Cancelled,
    Cluster,
    Patience,
    check_place,
    is_private_address,
    split_evenly,
)
from baselinekit.commands.parcel import SealedValue
from baselinekit.errors import CannotReplay, InvalidInput, Problem, Refused

QUICK = Patience(connect=0.1, find_workers=0.05, stop=0.05, looks=0.01)


class KilledWorker(Exception):
    """As Dask calls it."""


class Future:
    """`ends`: what its results are, one after the other; an exception is raised."""

    def __init__(self, key: str, ends: Sequence[Any]):
        self.key, self.status = key, "pending"
        self._ends = list(ends)
        self.cancelled = self.released = False

    def result(self, timeout: float) -> Any:
        end = self._ends.pop(0) if len(self._ends) > 1 else self._ends[0]
        if self.cancelled:
            raise CancelledError
        if isinstance(end, BaseException):
            raise end
        return end(timeout) if callable(end) else end

    def cancel(self) -> None:
        self.cancelled = True

    def release(self) -> None:
        self.released = True


class Client:
    """A scheduler with these workers; `ends` of each thing that is sent to it."""

    def __init__(self, *ends: Sequence[Any], workers: Sequence[Sequence[str]] = (("tcp://127.0.0.1:1",),)):
        self._ends, self._workers = list(ends), list(workers)
        self.sent: list[tuple[Any, ...]] = []
        self.where: list[list[str]] = []
        self.futures: list[Future] = []
        self.told: list[tuple[Any, ...]] = []
        self.scheduler = SimpleNamespace(address="tcp://127.0.0.1:8786")
        self.held: tuple[str, ...] = ()

    def nthreads(self) -> dict[str, int]:
        there = self._workers.pop(0) if len(self._workers) > 1 else self._workers[0]
        return dict.fromkeys(there, 1)

    def submit(
        self, work: Callable[..., Any], *args: Any, key: str, workers: list[str], **how: Any
    ) -> Future:
        assert how == {"allow_other_workers": False, "pure": False}
        self.sent.append(args)
        self.where.append(workers)
        self.futures.append(Future(key, self._ends.pop(0)))
        return self.futures[-1]

    def run(self, *args: Any, **how: Any) -> None:
        self.told.append(args)

    def processing(self) -> dict[str, tuple[str, ...]]:
        return {"tcp://127.0.0.1:1": self.held}


def work(run: str, sealed: SealedValue) -> SealedValue:
    return sealed


def stop(run: str) -> None:
    pass


def cluster(client: Client, is_private: bool = False) -> Cluster:
    return Cluster(client, is_private, stop, QUICK)


HELLO = SealedValue.of("hello")


def test_what_a_worker_makes_comes_back_and_nothing_shows_what_was_sent() -> None:
    client = Client([TimeoutError(), SealedValue.of({"n": 1})], [SealedValue.of(2)])
    one = cluster(client)
    sealed = SealedValue.of({"token": "tok-5f3a9c1e77d04b2a"})
    assert [one.done(work, sealed), one.done(work, sealed)] == [{"n": 1}, 2]
    first, second = client.futures
    assert first.key == f"{one.run}-1"
    assert second.key == f"{one.run}-2"
    assert "tok-" not in repr(client.sent)
    assert "tok-" not in first.key
    assert first.released
    assert second.released


def test_what_is_wrong_there_is_raised_here() -> None:
    problem = Problem("BK115", "it was changed", "compare again")
    with pytest.raises(CannotReplay) as told:
        cluster(Client([SealedValue.of(problem)])).done(work, HELLO)
    assert told.value.problems == (problem,)


LATE = TimeoutError()


@pytest.mark.parametrize(
    ("ends", "workers", "tries"),
    [
        ([[LATE, SealedValue.of(1)]], [["tcp://127.0.0.1:1"]], 1),  # its worker is there: it is waited for
        ([[CancelledError()], [SealedValue.of(1)]], [["tcp://127.0.0.1:1"]], 2),  # the scheduler forgot it
        (  # nobody is left that might do it, and somebody else comes
            [[LATE], [SealedValue.of(1)]],
            [["tcp://127.0.0.1:1"], ["tcp://127.0.0.1:2"]],
            2,
        ),
        (  # one of two is left: the scheduler gives it to that one
            [[LATE, LATE, SealedValue.of(1)]],
            [["tcp://127.0.0.1:1", "tcp://127.0.0.1:2"], ["tcp://127.0.0.1:2"]],
            1,
        ),
    ],
)
def test_what_a_lost_worker_had_is_done_again_and_comes_back_once(
    ends: list[list[Any]], workers: list[list[str]], tries: int
) -> None:
    client = Client(*ends, workers=workers)
    assert cluster(client).done(work, HELLO) == 1
    assert len(client.futures) == tries
    assert all(future.cancelled or future.released for future in client.futures)


@pytest.mark.parametrize(
    ("ends", "code", "words"),
    [
        ([[CancelledError()]] * 3, "BK362", "lost three times"),
        ([[KilledWorker("baselinekit-1", "worker")]], "BK362", "each worker that had it was lost"),
        ([[ModuleNotFoundError("no baselinekit")]], "BK361", "cannot import baselinekit"),
        ([[RuntimeError("tok-5f3a9c1e77d04b2a")]], "BK361", "RuntimeError"),
    ],
)
def test_what_nobody_could_do_is_said_without_what_was_sent(
    ends: list[list[Any]], code: str, words: str
) -> None:
    with pytest.raises(CannotReplay) as told:
        cluster(Client(*ends)).done(work, HELLO)
    (problem,) = told.value.problems
    assert problem.code == code
    assert words in problem.message
    assert problem.hint
    assert "tok-" not in str(told.value)


def test_a_cluster_without_workers_is_said() -> None:
    with pytest.raises(CannotReplay, match="no worker"):
        cluster(Client([HELLO], workers=[[]])).done(work, HELLO)


@pytest.mark.parametrize(
    ("address", "closed"),
    [
        ("tcp://127.0.0.1:8786", True),
        ("127.0.0.1:8786", True),
        ("tcp://[::1]:8786", True),
        ("localhost:8786", True),
        ("inproc://10.0.0.5/1/2", True),
        ("tls://10.0.0.5:8786", True),
        ("wss://10.0.0.5:8786", True),
        ("tcp://10.0.0.5:8786", False),
        ("10.0.0.5:8786", False),
        ("ws://10.0.0.5:8786", False),
        ("ucx://10.0.0.5:8786", False),
        ("tcp://scheduler:8786", False),
        ("tcp://localhost.example.com:8786", False),
        ("tcp://[fd00::5]:8786", False),
        ("tcp://169.254.169.254:80", False),
    ],
)
def test_which_ways_nobody_can_overhear(address: str, closed: bool) -> None:
    assert is_private_address(address) is closed


def test_secrets_go_to_nobody_whom_others_could_overhear() -> None:
    """A tunnel to the scheduler does not lead to its workers."""
    here, there = "tcp://127.0.0.1:1", "tcp://10.0.0.5:1"
    with pytest.raises(Refused) as told:
        cluster(Client(workers=[[here, there]]), is_private=True).check_private()
    assert told.value.problems[0].code == "BK409"
    assert there in told.value.problems[0].message
    cluster(Client(workers=[[here]]), is_private=True).check_private()
    with pytest.raises(Refused):  # which is not waited for
        cluster(Client(workers=[[there]]), is_private=True).workers()
    client = Client([HELLO], workers=[[here, there]])  # it came later
    cluster(client, is_private=True).done(work, HELLO)
    assert client.where == [[here]]
    client = Client([HELLO], workers=[[here, there]])
    cluster(client).done(work, HELLO)
    assert client.where == [[there, here]]


def test_a_run_that_is_cancelled_gets_what_its_workers_have_and_begins_nothing() -> None:
    client = Client([lambda timeout: begun.set() or (asked.wait(5) and answer)], [HELLO])
    begun, asked = threading.Event(), threading.Event()
    answer = SealedValue.of("what was done")
    one = cluster(client)
    client.held = (f"{one.run}-1",)
    got: list[Any] = []
    waiting = threading.Thread(target=lambda: got.append(one.done(work, HELLO)))
    waiting.start()
    assert begun.wait(5)
    one.cancel()
    asked.set()
    waiting.join(5)
    assert got == ["what was done"]
    assert client.told == [(stop, one.run)]
    assert not client.futures[0].cancelled
    with pytest.raises(Cancelled):
        one.done(work, HELLO)


def test_what_no_worker_has_begun_is_cancelled_and_who_does_not_answer_is_left() -> None:
    client = Client([LATE])
    one = cluster(client)
    raised: list[type[BaseException]] = []

    def wait() -> None:
        try:
            one.done(work, HELLO)
        except Cancelled as error:
            raised.append(type(error))

    waiting = threading.Thread(target=wait)
    waiting.start()
    while not client.futures:
        pass
    client.held = (client.futures[0].key,)  # it was begun, and does not end
    one.cancel()
    waiting.join(5)
    assert raised == [Cancelled]
    assert not waiting.is_alive()


@pytest.mark.parametrize(
    "place",
    ["tls://10.0.0.5:8786", "127.0.0.1:8786", "scheduler:8786", "local:1", "local:512", "tcp://[::1]:8786"],
)
def test_a_place_is_an_address_or_a_number_of_workers(place: str) -> None:
    check_place(place)


@pytest.mark.parametrize(
    "place", ["", "local", "local:0", "local:513", "local:-1", "scheduler", "http://x:1", "a b:1"]
)
def test_anything_else_is_said_to_be_none(place: str) -> None:
    with pytest.raises(InvalidInput, match="neither"):
        check_place(place)


@pytest.mark.parametrize(
    ("count", "workers", "sizes"),
    [
        (0, 2, []),
        (1, 2, [1]),
        (7, 2, [1] * 7),
        (16, 2, [2] * 8),
        (1000, 2, [64] * 15 + [40]),
        (9, 100, [1] * 9),
    ],
)
def test_parts_are_equal_and_several_for_each_worker(count: int, workers: int, sizes: list[int]) -> None:
    parts = split_evenly(range(count), workers)
    assert [len(part) for part in parts] == sizes
    assert [entry for part in parts for entry in part] == list(range(count))

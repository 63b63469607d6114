"""How many questions at once, how many a minute, and which are asked again and when."""

import random
import threading
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given, strategies as st
from model_server import Clock, Reply, Wire, chat, failure, message, models, question, world

from baselinekit.clients.models.dispatch import Models
from baselinekit.clients.models.post import Lane
from baselinekit.errors import CannotReplay, NeverSent, Problem, cannot_replay
from baselinekit.model.recipes import Limits, Model, Request, Response, Retry
from baselinekit.structs import replace

DATE = 1_700_000_000
GOOD = Response(200, (), b'{"choices": [{"message": {"content": "fine"}}]}')
ENTRY = Model(openai="x", base_url="http://127.0.0.1:9")


def answering(*answers: Response) -> Callable[[Request], Response]:
    """A client that gets these answers, one after the other."""
    waiting = iter(answers)
    return lambda request: next(waiting)


def busy(status: int = 429, **headers: str) -> Response:
    return Response(status, tuple((name.replace("_", "-"), value) for name, value in headers.items()), b"{}")


@pytest.mark.parametrize(
    ("entry", "answers", "slept", "outcome"),
    [
        ({}, [busy(408), busy(529), GOOD], [1.0, 2.0], 3),
        ({}, [busy(409), busy(500), busy(502), busy(504), GOOD], [1.0, 2.0, 4.0, 8.0], 5),
        ({}, [busy(503)] * 5, [1.0, 2.0, 4.0, 8.0], "BK611 .*status 503 .5 tries."),
        ({"retries": 0}, [busy(500)], [], "BK611 .*status 500: try again later"),
        ({"retries": 0}, [busy(529)], [], "BK611 .*status 529: send fewer requests"),
        *(({}, [busy(status)], [], "BK610") for status in (400, 401, 403, 404, 413, 422, 501)),
        ({"retry": Retry(statuses=[409, 425])}, [busy(425), GOOD], [1.0], 2),
        ({"retry": Retry(statuses=[409, 425])}, [busy(503)], [], "BK610"),
        ({"retry": Retry(0.5, 9, 3)}, [busy(500)] * 4 + [GOOD], [0.5, 1.5, 4.5, 9.0], 5),
        ({"retry": Retry(0, 0)}, [busy(500), busy(500), GOOD], [0.0, 0.0], 3),
        ({}, [busy(Retry_After="7"), GOOD], [7.25], 2),
        ({}, [busy(Retry_After="76")], [], "BK611 .*status 429: send fewer"),
        ({"timeout": 10}, [busy(Retry_After="20")], [], "BK611"),
    ],
)
def test_a52_retry_by_status_and_wait(
    entry: dict[str, Any], answers: list[Response], slept: list[float], outcome: int | str
) -> None:
    clock = Clock()
    model = models(replace(ENTRY, **entry), world(answering(*answers), clock=clock))
    if isinstance(outcome, int):
        assert model.ask(question()).attempts == outcome
    else:
        with pytest.raises(type(error := failure(model)), match=outcome):
            raise error
    assert clock.slept == pytest.approx(slept, abs=0.3)


@pytest.mark.parametrize(
    ("entry", "headers", "low", "high"),
    [({}, {}, 0.75, 1.25), ({}, {"Retry_After": "3"}, 3, 4), ({"retry": Retry(4)}, {}, 3, 5)],
)
def test_a52_retry_jitter_spreads_waits(
    entry: dict[str, Any], headers: dict[str, str], low: float, high: float
) -> None:
    waits = set()
    for seed in range(20):
        clock, chance = Clock(), random.Random(seed)
        around = world(answering(busy(**headers), GOOD), clock=clock, jitter=chance.random)
        models(replace(ENTRY, **entry), around).ask(question())
        waits.add(clock.slept[0])
    assert len(waits) == 20
    assert low <= min(waits) < max(waits) <= high
    assert max(waits) - min(waits) > 0.3


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry_After": "7"}, 7.0),
        ({"Retry_After": "0"}, 0.0),
        ({"Retry_After": "1.5"}, 1.5),
        ({"Retry_After": formatdate(DATE + 12, usegmt=True), "Date": formatdate(DATE, usegmt=True)}, 12.0),
        ({"Retry_After": formatdate(DATE - 12, usegmt=True), "Date": formatdate(DATE, usegmt=True)}, 0.0),
        ({"Retry_After": formatdate(DATE + 12, usegmt=True)}, None),
        ({"Retry_After": "soon"}, None),
        ({"Retry_After": "-5"}, None),
        ({"Retry_After": "9" * 400}, None),
        ({}, None),
    ],
)
def test_retry_after_header_gives_seconds(headers: dict[str, str], seconds: float | None) -> None:
    assert busy(**headers).asked_wait() == seconds


def test_retry_stays_within_timeout_of_question() -> None:
    clock = Clock()
    timeouts: list[float] = []

    def send(request: Request) -> Response:
        timeouts.append(request.timeout)
        clock.now += 2
        return busy(503)

    failure(models(ENTRY, world(send, clock=clock)), question(timeout=10.0))
    assert (timeouts[0], timeouts) == (10, sorted(timeouts, reverse=True))
    assert all(left > 0 for left in timeouts)
    assert clock.now <= 1_010 + 2


def test_retry_after_holds_for_all_threads() -> None:
    wire = Wire(Reply({}, 429, {"Retry-After": "0.5"}))
    model = models(ENTRY, replace(world(wire, sleep=time.sleep), clock=time.monotonic, jitter=lambda: 0.0))
    first = threading.Thread(target=model.ask, args=(question(),))
    first.start()
    lane, deadline = model._prepared("m").lane, time.monotonic() + 20
    while lane._due < time.monotonic() < deadline:
        time.sleep(0.005)
    model.ask(question())
    first.join(20)
    assert [at - wire.times[0] > 0.4 for at in wire.times] == [False, True, True]


def test_retry_busy_servers_of_both_forms() -> None:
    overloaded = Reply({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, 529)
    slow = Reply({"error": {"message": "slow down"}}, 429, {"Retry-After": "0"})
    bad = {"error": {"message": "bad gateway", "code": 502}}
    answer = models(ENTRY, world(Wire(slow, Reply(hang_up=True), bad, chat("at last")))).ask(question())
    assert (answer.text, answer.attempts) == ("at last", 4)
    wire = Wire(overloaded, message("here"), *[overloaded] * 5)
    entry = Model(anthropic="x", base_url=ENTRY.base_url, key="k")
    model = models(entry, world(wire, secrets={"k": "key"}))
    assert model.ask(question()).attempts == 2
    assert "Overloaded (overloaded_error) (5 tries)" in str(failure(model))


@pytest.mark.parametrize(
    ("why", "url", "retries", "waits", "hint"),
    [
        ("Connection refused", "http://10.0.0.1:9", None, 0, "start the model's server"),
        ("Connection refused", "http://[::1]:9", None, 0, "start the model's server"),
        ("Connection refused", "http://127.0.0.1:9", 2, 2, "start the model's server"),
        ("no connection within 5 s", "http://127.0.0.1:9", None, 4, "start the model's server"),
    ],
)
def test_retry_missing_server_unless_port_is_closed(
    why: str, url: str, retries: int | None, waits: int, hint: str
) -> None:
    def send(request: Request) -> Response:
        raise cannot_replay("BK301", f"POST {url}: no connection: {why}", "start the service, or correct it")

    clock = Clock()
    model = models(Model(openai="x", base_url=url, retries=retries), world(send, clock=clock))
    (problem,) = failure(model).problems
    assert problem.message.startswith(f"the model 'm': POST {url}")
    assert (problem.code, problem.hint.startswith(hint), len(clock.slept)) == ("BK301", True, waits)
    for _ in range(5):  # a run of hundreds would wait for each of them anew
        assert "tries" not in str(failure(model)) or retries
    assert retries or len(clock.slept) == waits


class Service:
    """Answers until the run is interrupted, which ends every wait. Counts requests at the same time."""

    def __init__(self, answer: Callable[[], Response]):
        self.answer, self.interrupted = answer, threading.Event()
        self.requests = self.at_once = self.most_at_once = 0
        self._lock = threading.Lock()

    def send(self, request: Request) -> Response:
        if self.interrupted.is_set():
            raise NeverSent(Problem("BK330", "interrupted"))
        with self._lock:
            self.requests += 1
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return self.answer()
        finally:
            with self._lock:
                self.at_once -= 1

    def crowd(self, count: int, entry: Model, act: Callable[[Models], object]) -> Models:
        """Ask from this number of threads. Ends with the last of them, or in time after an interruption."""
        around = world(self.send, sleep=self.interrupted.wait)
        model = models(entry, replace(around, clock=time.monotonic))
        threads = [threading.Thread(target=act, args=(model,)) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
            assert not thread.is_alive()
        return model


def test_interrupted_run_ends_all_waits() -> None:
    codes: list[str] = []
    service = Service(lambda: busy(Retry_After="25"))
    threading.Timer(0.3, service.interrupted.set).start()
    entry = replace(ENTRY, concurrency=2, per_minute=6000)
    service.crowd(20, entry, lambda model: codes.append(failure(model).problems[0].code))
    assert codes == ["BK330"] * 20
    assert service.requests <= 2


def test_interrupted_run_counts_only_sent_requests() -> None:
    def interrupt() -> Response:
        service.interrupted.set()
        raise CannotReplay(Problem("BK330", "interrupted"))

    service, codes = Service(interrupt), list[str]()
    model = service.crowd(
        4, replace(ENTRY, concurrency=1), lambda model: codes.append(failure(model).problems[0].code)
    )
    assert (codes, service.requests) == (["BK330"] * 4, 1)
    assert (model.spent.calls, model.spent.unanswered) == (1, 1), "the others waited for their turn"


def test_concurrency_stays_within_entry() -> None:
    def slowly() -> Response:
        time.sleep(0.02)
        return GOOD

    service = Service(slowly)
    service.crowd(30, replace(ENTRY, concurrency=3), lambda model: model.ask(question()))
    assert (service.requests, service.most_at_once) == (30, 3)


@pytest.mark.parametrize(("processes", "at_once", "apart"), [(1, 5, 1), (2, 2, 2), (9, 1, 9)])
def test_limits_of_entry_are_divided_among_processes(processes: int, at_once: int, apart: float) -> None:
    entry = replace(ENTRY, concurrency=5, per_minute=60)
    lane = Models({"m": entry}, Limits(), world(), processes)._prepared("m").lane
    assert (lane.places._value, lane._apart) == (at_once, apart)


@given(per_minute=st.integers(1, 300), arrivals=st.lists(st.floats(0, 20), min_size=1, max_size=80))
def test_per_minute_stays_within_entry(per_minute: int, arrivals: list[float]) -> None:
    clock = Clock()
    gone: list[float] = []
    slept: list[float] = []
    lane = Lane(16, per_minute, world(clock=clock, sleep=slept.append))
    for pause in arrivals:  # each is a thread that sleeps on its own: the clock goes on for the next
        clock.now += pause / 20
        slept.clear()
        lane.keep_pace()
        gone.append(clock.now + sum(slept))
    assert gone == sorted(gone)
    for number, end in enumerate(gone):
        assert len([at for at in gone[: number + 1] if at > end - 60 + 1e-6]) <= per_minute

"""How many questions at once, how many a minute, and which are asked again and when."""

import random
import threading
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given, strategies as st
from model_server import Clock, Said, Wire, chat, failure, message, models, question, world

from baselinekit.clients.http import Client
from baselinekit.clients.models.dispatch import Models
from baselinekit.clients.models.post import Lane
from baselinekit.errors import CannotReplay, NeverSent, Problem, cannot_replay
from baselinekit.model.recipes import Model, Request, Response, Retry
from baselinekit.structs import replace

DATE = 1_700_000_000
GOOD = Response(200, (), b'{"choices": [{"message": {"content": "fine"}}]}')
ENTRY = Model(openai="x", base_url="http://127.0.0.1:9")


def answering(*answers: Response) -> Callable[[Request], Response]:
    """A door behind which these answers come, one after the other."""
    waiting = iter(answers)
    return lambda request: next(waiting)


def busy(status: int = 429, **headers: str) -> Response:
    return Response(status, tuple((name.replace("_", "-"), value) for name, value in headers.items()), b"{}")


@pytest.mark.parametrize(
    ("entry", "answers", "slept", "outcome"),
    [
        ({}, [busy(408), busy(529), GOOD], [0.5, 1.0], 3),  # it doubles, and chance takes half of it
        ({}, [busy(409), busy(500), busy(502), busy(504), GOOD], [0.5, 1.0, 2.0, 4.0], 5),
        ({}, [busy(503)] * 5, [0.5, 1.0, 2.0, 4.0], "BK611 .*status 503 .5 tries."),
        ({"retries": 0}, [busy(500)], [], "BK611 .*status 500: try again later"),
        ({"retries": 0}, [busy(529)], [], "BK611 .*status 529: send fewer requests"),
        *(({}, [busy(status)], [], "BK610") for status in (400, 401, 403, 404, 413, 422, 501)),
        ({"retry": Retry(statuses=[409, 425])}, [busy(425), GOOD], [1.0], 2),
        ({"retry": Retry(statuses=[409, 425])}, [busy(503)], [], "BK610"),
        ({"retry": Retry(0.5, 9, 3)}, [busy(500)] * 4 + [GOOD], [0.5, 1.5, 4.5, 9.0], 5),
        ({"retry": Retry(0, 0)}, [busy(500), busy(500), GOOD], [0.0, 0.0], 3),
        ({}, [busy(Retry_After="7"), GOOD], [7.25], 2),
        ({}, [busy(Retry_After="31")], [], "BK611 .*it asks to wait 31 s.*state `retry: {longest: 31}`"),
        ({"timeout": 10}, [busy(Retry_After="20")], [], "BK611"),
    ],
)
def test_a52_which_answers_are_asked_for_again_and_after_how_long(
    entry: dict[str, Any], answers: list[Response], slept: list[float], outcome: int | str
) -> None:
    clock = Clock()
    asked = models(replace(ENTRY, **entry), world(answering(*answers), clock=clock))
    if isinstance(outcome, int):
        assert asked.ask(question()).attempts == outcome
    else:
        with pytest.raises(type(error := failure(asked)), match=outcome):
            raise error
    assert clock.slept == pytest.approx(slept, abs=0.3)


@pytest.mark.parametrize(
    ("entry", "headers", "low", "high"),
    [({}, {}, 0, 1), ({}, {"Retry_After": "3"}, 3, 4), ({"retry": Retry(4)}, {}, 3, 5)],
)
def test_a52_chance_spreads_those_that_come_back(
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
def test_the_server_states_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert busy(**headers).asked_wait() == seconds


def test_all_tries_happen_within_the_time_of_the_question() -> None:
    clock = Clock()
    seen: list[float] = []

    def send(request: Request) -> Response:
        seen.append(request.timeout)
        clock.now += 2
        return busy(503)

    failure(models(ENTRY, world(send, clock=clock)), question(timeout=10.0))
    assert (seen[0], seen) == (10, sorted(seen, reverse=True))
    assert all(left > 0 for left in seen)
    assert clock.now <= 1_010 + 2


def test_a_model_that_asked_to_be_left_alone_is_left_alone_by_all() -> None:
    wire = Wire(Said({}, 429, {"Retry-After": "0.5"}))
    asked = models(ENTRY, replace(world(wire, sleep=time.sleep), clock=time.monotonic, jitter=lambda: 0.0))
    first = threading.Thread(target=asked.ask, args=(question(),))
    first.start()
    lane, deadline = asked._prepared("m").lane, time.monotonic() + 20
    while lane._due < time.monotonic() < deadline:
        time.sleep(0.005)
    asked.ask(question())
    first.join(20)
    assert [at - wire.times[0] > 0.4 for at in wire.times] == [False, True, True]


def test_servers_that_are_busy_are_asked_again() -> None:
    overloaded = Said({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, 529)
    slow = Said({"error": {"message": "slow down"}}, 429, {"Retry-After": "0"})
    bad = {"error": {"message": "bad gateway", "code": 502}}
    answer = models(ENTRY, world(Wire(slow, Said(hang_up=True), bad, chat("at last")))).ask(question())
    assert (answer.text, answer.attempts) == ("at last", 4)
    wire = Wire(overloaded, message("here"), *[overloaded] * 5)
    entry = Model(anthropic="x", base_url=ENTRY.base_url, key="k")
    asked = models(entry, world(wire, secrets={"k": "key"}))
    assert asked.ask(question()).attempts == 2
    assert "Overloaded (overloaded_error) (5 tries)" in str(failure(asked))


@pytest.mark.parametrize(
    ("why", "url", "retries", "waits", "hint"),
    [
        ("Connection refused", "http://10.0.0.1:9", None, 0, "start the model's server"),
        ("Connection refused", "http://[::1]:9", None, 0, "start the model's server"),
        ("Connection refused", "http://127.0.0.1:9", 2, 2, "start the model's server"),
        ("no connection within 5 s", "http://127.0.0.1:9", None, 4, "start the service"),
    ],
)
def test_a_missing_server_is_asked_again_unless_its_port_is_closed(
    why: str, url: str, retries: int | None, waits: int, hint: str
) -> None:
    def send(request: Request) -> Response:
        raise cannot_replay("BK301", f"POST {url}: no connection: {why}", "start the service, or correct it")

    clock = Clock()
    asked = models(Model(openai="x", base_url=url, retries=retries), world(send, clock=clock))
    (problem,) = failure(asked).problems
    assert problem.message.startswith(f"the model 'm': POST {url}")
    assert (problem.code, problem.hint.startswith(hint), len(clock.slept)) == ("BK301", True, waits)
    for _ in range(5):  # a run of hundreds would wait for each of them anew
        assert "tries" not in str(failure(asked)) or retries
    assert retries or len(clock.slept) == waits


def test_who_asks_the_demo_is_shown_how_to_start_it() -> None:
    client = Client(proxies={})
    error = failure(models(Model(openai="demo", base_url="http://127.0.0.1:9"), world(client.send)))
    client.close()
    assert error.problems[0].hint == "start it in another terminal: baselinekit demo --serve --port 9"


class Door:
    """Answers until the run is interrupted, which ends every wait. Counts who is there at the same time."""

    def __init__(self, answer: Callable[[], Response]):
        self.answer, self.interrupted = answer, threading.Event()
        self.asked = self.at_once = self.most_at_once = 0
        self._lock = threading.Lock()

    def send(self, request: Request) -> Response:
        if self.interrupted.is_set():
            raise NeverSent(Problem("BK330", "interrupted"))
        with self._lock:
            self.asked += 1
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return self.answer()
        finally:
            with self._lock:
                self.at_once -= 1

    def crowd(self, count: int, entry: Model, act: Callable[[Models], object]) -> Models:
        """Ask from so many threads. Ends with the last of them, or in time after an interruption."""
        around = world(self.send, sleep=self.interrupted.wait)
        asked = models(entry, replace(around, clock=time.monotonic))
        threads = [threading.Thread(target=act, args=(asked,)) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
            assert not thread.is_alive()
        return asked


def test_an_interrupted_run_waits_for_nothing() -> None:
    codes: list[str] = []
    door = Door(lambda: busy(Retry_After="25"))
    threading.Timer(0.3, door.interrupted.set).start()
    entry = replace(ENTRY, concurrency=2, per_minute=6000)
    door.crowd(20, entry, lambda asked: codes.append(failure(asked).problems[0].code))
    assert codes == ["BK330"] * 20
    assert door.asked <= 2


def test_of_an_interrupted_run_only_what_went_out_may_have_taken_anything() -> None:
    def interrupt() -> Response:
        door.interrupted.set()
        raise CannotReplay(Problem("BK330", "interrupted"))

    door, codes = Door(interrupt), list[str]()
    asked = door.crowd(
        4, replace(ENTRY, concurrency=1), lambda asked: codes.append(failure(asked).problems[0].code)
    )
    assert (codes, door.asked) == (["BK330"] * 4, 1)
    assert (asked.spent.calls, asked.spent.unanswered) == (1, 1), "the others waited for their turn"


def test_never_more_at_once_than_the_entry_allows() -> None:
    def slowly() -> Response:
        time.sleep(0.02)
        return GOOD

    door = Door(slowly)
    door.crowd(30, replace(ENTRY, concurrency=3), lambda asked: asked.ask(question()))
    assert (door.asked, door.most_at_once) == (30, 3)


@given(per_minute=st.integers(1, 300), arrivals=st.lists(st.floats(0, 20), min_size=1, max_size=80))
def test_in_no_minute_more_than_the_entry_allows(per_minute: int, arrivals: list[float]) -> None:
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

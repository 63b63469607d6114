"""How many questions at once, how many a minute, and which are asked again and when."""

import random
import threading
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given, strategies as st
from model_server import Clock, ModelServer, Said, Seen, chat, failure, message, models, question, world

from baselinekit.clients.http import Client
from baselinekit.clients.models.post import Lane
from baselinekit.errors import cannot_replay
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
    client = Client(proxies={})
    with ModelServer(Said({}, 429, {"Retry-After": "0.5"})) as server:
        around = replace(world(client.send, sleep=client.sleep), clock=time.monotonic, jitter=lambda: 0.0)
        asked = models(Model(openai="x", base_url=server.url), around)
        first = threading.Thread(target=asked.ask, args=(question(),))
        first.start()
        lane, deadline = asked._prepared("m").lane, time.monotonic() + 20
        while lane._due < time.monotonic() < deadline:
            time.sleep(0.005)
        asked.ask(question())
        first.join(20)
        assert [at - server.times[0] > 0.4 for at in server.times] == [False, True, True]
    client.close()


def test_real_servers_that_are_busy_are_asked_again() -> None:
    overloaded = Said({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, 529)
    slow = Said({"error": {"message": "slow down"}}, 429, {"Retry-After": "0"})
    bad = {"error": {"message": "bad gateway", "code": 502}}
    client = Client(proxies={})
    with ModelServer(slow, Said(hang_up=True), bad, chat("at last")) as server:
        answer = models(Model(openai="x", base_url=server.url), world(client.send)).ask(question())
        assert (answer.text, answer.attempts) == ("at last", 4)
        server.script.extend([overloaded, Said(message("here")), *[overloaded] * 5])
        around = world(client.send, secrets={"k": "key"})
        asked = models(Model(anthropic="x", base_url=server.url, key="k"), around)
        assert asked.ask(question()).attempts == 2
        assert "Overloaded (overloaded_error) (5 tries)" in str(failure(asked))
    client.close()


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


def crowd(count: int, act: Callable[[], object]) -> list[threading.Thread]:
    threads = [threading.Thread(target=act) for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads


def test_an_interrupted_run_waits_for_nothing() -> None:
    client = Client(proxies={})
    with ModelServer(usual=lambda seen: Said({}, 429, {"Retry-After": "25"})) as server:
        entry = Model(openai="x", base_url=server.url, concurrency=2, per_minute=6000)
        asked = models(entry, replace(world(client.send, sleep=client.sleep), clock=time.monotonic))
        codes: list[str] = []
        threads = crowd(20, lambda: codes.append(failure(asked).problems[0].code))
        time.sleep(0.3)
        started = time.monotonic()
        client.cancel()
        for thread in threads:
            thread.join(20)
        assert time.monotonic() - started < 10
        assert codes == ["BK330"] * 20
        assert len(server.seen) <= 2
    client.close()


def test_of_an_interrupted_run_only_what_went_out_may_have_taken_anything() -> None:
    client, came, over = Client(proxies={}), threading.Event(), threading.Event()

    def holds(seen: Seen) -> Said:
        came.set()
        over.wait(20)
        return Said(chat())

    with ModelServer(usual=holds) as server:
        entry = Model(openai="x", base_url=server.url, concurrency=1)
        asked = models(entry, world(client.send, sleep=client.sleep))
        codes: list[str] = []
        threads = crowd(4, lambda: codes.append(failure(asked).problems[0].code))
        assert came.wait(20)
        client.cancel()
        for thread in threads:
            thread.join(20)
        over.set()
    client.close()
    assert (codes, len(server.seen)) == (["BK330"] * 4, 1)
    assert (asked.spent.calls, asked.spent.unanswered) == (1, 1), "the others waited for their turn"


def test_never_more_at_once_than_the_entry_allows() -> None:
    client = Client(proxies={})
    with ModelServer(usual=lambda seen: server.crowded(3) or Said(chat(), pause=0.01)) as server:
        asked = models(Model(openai="x", base_url=server.url, concurrency=3), world(client.send))
        for thread in crowd(30, lambda: asked.ask(question())):
            thread.join(20)
        assert (len(server.seen), server.most_at_once) == (30, 3)
    client.close()


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

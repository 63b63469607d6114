"""How many questions at once, how many a minute, and which are asked again and when."""

import random
import threading
import time
from collections.abc import Callable
from email.utils import formatdate

import pytest
from hypothesis import given, settings, strategies as st
from model_server import Clock, ModelServer, Said, Seen, chat, failure, message, models, question, world

from baselinekit.clients.http import Client
from baselinekit.clients.models.post import Lane
from baselinekit.errors import cannot_replay
from baselinekit.model.recipes import Model, Request, Response, Retry
from baselinekit.structs import replace

DATE = 1_700_000_000


def answering(*answers: Response) -> Callable[[Request], Response]:
    """A door behind which these answers come, one after the other."""
    waiting = iter(answers)
    return lambda request: next(waiting)


def busy(status: int = 429, **headers: str) -> Response:
    return Response(status, tuple((name.replace("_", "-"), value) for name, value in headers.items()), b"{}")


GOOD = Response(200, (), b'{"choices": [{"message": {"content": "fine"}}]}')
ENTRY = Model(openai="x", base_url="http://127.0.0.1:9")


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_a_server_that_is_busy_is_asked_again(status: int) -> None:
    clock = Clock()
    send = answering(busy(status), busy(status), GOOD)
    answer = models(ENTRY, world(send, clock=clock)).ask(question())
    assert (answer.text, answer.attempts) == ("fine", 3)
    assert clock.slept == [0.5, 1.0], "it doubles, and chance takes half of it"


@pytest.mark.parametrize(
    ("retry", "slept"),
    [
        (Retry(), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0]),
        (Retry(0.5, 9, 3), [0.5, 1.5, 4.5, 9.0, 9.0, 9.0, 9.0]),
        (Retry(0, 0), [0.0] * 7),
    ],
)
def test_a52_an_entry_says_how_long_to_wait(retry: Retry, slept: list[float]) -> None:
    clock = Clock()
    entry = replace(ENTRY, retries=7, retry=retry, timeout=600)
    answer = models(entry, world(answering(*[busy(500)] * 7, GOOD), clock=clock)).ask(question())
    assert (answer.attempts, clock.slept) == (8, slept), (
        "and chance takes nothing or adds nothing in the middle"
    )
    waits = set()
    for seed in range(20):
        clock = Clock()
        asked = world(answering(busy(500), GOOD), clock=clock, jitter=random.Random(seed).random)
        models(replace(entry, retry=Retry(4)), asked).ask(question())
        waits.add(clock.slept[0])
    assert 3 <= min(waits) < 3.5
    assert 4.5 < max(waits) <= 5


def test_a52_an_entry_says_which_statuses_are_asked_again() -> None:
    entry = replace(ENTRY, retry=Retry(statuses=[409, 425]))
    for status in (409, 425):
        assert models(entry, world(answering(busy(status), GOOD))).ask(question()).attempts == 2
    for status in (429, 500, 503):
        assert failure(models(entry, world(answering(busy(status))))).problems[0].code == "BK610"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 501])
def test_a_question_that_is_turned_down_is_not_asked_again(status: int) -> None:
    clock = Clock()
    error = failure(models(ENTRY, world(answering(busy(status)), clock=clock)))
    assert error.problems[0].code == "BK610"
    assert clock.slept == []


def test_in_the_end_the_last_failure_is_told() -> None:
    clock = Clock()
    error = failure(models(ENTRY, world(answering(*[busy(503)] * 5), clock=clock)))
    assert error.problems[0].code == "BK611"
    assert "status 503 (5 tries)" in str(error)
    assert len(clock.slept) == 4


def test_nobody_is_asked_again_when_the_entry_says_so() -> None:
    entry = Model(openai="x", base_url="http://127.0.0.1:9", retries=0)
    error = failure(models(entry, world(answering(busy()))))
    assert "tries" not in str(error)


RETRY_AFTER = [
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
]


@pytest.mark.parametrize(("headers", "seconds"), RETRY_AFTER)
def test_the_server_says_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert busy(**headers).asked_wait() == seconds


def test_what_the_server_asks_for_is_waited_for() -> None:
    clock = Clock()
    answer = models(ENTRY, world(answering(busy(Retry_After="7"), GOOD), clock=clock)).ask(question())
    assert answer.attempts == 2
    assert sum(clock.slept) >= 7


@pytest.mark.parametrize(("wait", "timeout"), [("31", 120.0), ("20", 10.0)])
def test_nobody_waits_longer_than_it_is_worth(wait: str, timeout: float) -> None:
    clock = Clock()
    ask = question(timeout=timeout)
    error = failure(models(ENTRY, world(answering(busy(Retry_After=wait)), clock=clock)), ask)
    assert error.problems[0].code == "BK611"
    assert clock.slept == []
    assert ("it asks to wait 31 s" in str(error)) == (wait == "31")
    assert ("to wait that long, state `retry: {longest: 31}`" in str(error)) == (wait == "31")


def test_all_tries_happen_within_the_time_of_the_question() -> None:
    clock = Clock()
    seen: list[float] = []

    def send(request: Request) -> Response:
        seen.append(request.timeout)
        clock.now += 2
        return busy(503)

    failure(models(ENTRY, world(send, clock=clock)), question(timeout=10.0))
    assert seen[0] == 10
    assert seen == sorted(seen, reverse=True)
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
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with ModelServer(
        Said({"error": {"message": "slow down"}}, 429, {"Retry-After": "0"}),
        Said(hang_up=True),
        Said({"error": {"message": "bad gateway", "code": 502}}),
        chat("at last"),
    ) as server:
        client = Client(proxies={})
        asked = models(Model(openai="x", base_url=server.url), world(client.send))
        answer = asked.ask(question())
        assert (answer.text, answer.attempts) == ("at last", 4)
        server.script.extend([Said(overloaded, 529), Said(message("here"))])
        asked = models(
            Model(anthropic="x", base_url=server.url, key="k"), world(client.send, secrets={"k": "key"})
        )
        assert asked.ask(question()).attempts == 2
        server.script.extend([Said(overloaded, 529)] * 5)
        assert "Overloaded (overloaded_error) (5 tries)" in str(failure(asked))
        client.close()


@pytest.mark.parametrize(
    ("said", "url", "retries", "waits", "hint"),
    [
        ("Connection refused", "http://10.0.0.1:9", None, 0, "start the model's server"),
        ("Connection refused", "http://127.0.0.1:9", None, 0, "start the model's server"),
        ("Connection refused", "http://localhost:9", None, 0, "start the model's server"),
        ("Connection refused", "http://[::1]:9", None, 0, "start the model's server"),
        ("Connection refused", "http://127.0.0.1:9", 2, 2, "start the model's server"),
        ("no connection within 5 s", "http://127.0.0.1:9", None, 4, "start the service"),
    ],
)
def test_nobody_there_is_asked_again_too_unless_it_is_a_closed_port(
    said: str, url: str, retries: int | None, waits: int, hint: str
) -> None:
    def send(request: Request) -> Response:
        raise cannot_replay(
            "BK301", f"POST {url}: no connection: {said}", "start the service, or correct its base_url"
        )

    clock = Clock()
    error = failure(models(Model(openai="x", base_url=url, retries=retries), world(send, clock=clock)))
    assert error.problems[0].code == "BK301"
    assert error.problems[0].hint.startswith(hint)
    assert len(clock.slept) == waits


def test_who_asks_the_demo_is_told_how_to_start_it() -> None:
    client = Client(proxies={})
    error = failure(models(Model(openai="demo", base_url="http://127.0.0.1:9"), world(client.send)))
    client.close()
    assert error.problems[0].hint == "start it in another terminal: baselinekit demo --serve --port 9"


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (500, "try again later"),
        (502, "try again later"),
        (429, "send fewer requests"),
        (529, "send fewer requests"),
    ],
)
def test_the_mend_fits_the_status(status: int, hint: str) -> None:
    entry = Model(openai="x", base_url="http://127.0.0.1:9", retries=0)
    error = failure(models(entry, world(answering(busy(status)))))
    assert error.problems[0].hint.startswith(hint)


def test_an_interrupted_run_waits_for_nothing() -> None:
    client = Client(proxies={})
    with ModelServer(usual=lambda seen: Said({}, 429, {"Retry-After": "25"})) as server:
        entry = Model(openai="x", base_url=server.url, concurrency=2, per_minute=6000)
        asked = models(entry, replace(world(client.send, sleep=client.sleep), clock=time.monotonic))
        codes: list[str] = []
        threads = [
            threading.Thread(target=lambda: codes.append(failure(asked).problems[0].code)) for _ in range(20)
        ]
        for thread in threads:
            thread.start()
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
        asked = models(
            Model(openai="x", base_url=server.url, concurrency=1), world(client.send, sleep=client.sleep)
        )
        codes: list[str] = []
        threads = [
            threading.Thread(target=lambda: codes.append(failure(asked).problems[0].code)) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        assert came.wait(20)
        client.cancel()
        for thread in threads:
            thread.join(20)
        over.set()
    client.close()
    assert codes == ["BK330"] * 4
    assert len(server.seen) == 1
    assert (asked.spent.calls, asked.spent.unanswered) == (1, 1), "the others waited for their turn"


def test_never_more_at_once_than_the_entry_allows() -> None:
    client = Client(proxies={})
    with ModelServer(usual=lambda seen: server.crowded(3) or Said(chat(), pause=0.01)) as server:
        entry = Model(openai="x", base_url=server.url, concurrency=3)
        asked = models(entry, world(client.send))
        threads = [threading.Thread(target=lambda: asked.ask(question())) for _ in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert len(server.seen) == 30
        assert server.most_at_once == 3
    client.close()


@given(per_minute=st.integers(1, 300), arrivals=st.lists(st.floats(0, 20), min_size=1, max_size=80))
@settings(max_examples=60, deadline=None)
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
        within = [at for at in gone[: number + 1] if at > end - 60 + 1e-6]
        assert len(within) <= per_minute


def test_what_is_within_the_rate_does_not_wait_for_long() -> None:
    clock = Clock()
    lane = Lane(16, 600, world(clock=clock))
    for _ in range(600):
        lane.keep_pace()
    assert 50 < clock.now - 1_000 <= 60
    assert all(wait < 0.2 for wait in clock.slept)


@pytest.mark.parametrize(("headers", "spread"), [({}, 0.5), ({"Retry_After": "3"}, 0.3)])
def test_chance_spreads_those_that_come_back(headers: dict[str, str], spread: float) -> None:
    waits = set()
    for seed in range(20):
        clock = Clock()
        chance = random.Random(seed)
        asked = models(ENTRY, world(answering(busy(**headers), GOOD), clock=clock, jitter=chance.random))
        asked.ask(question())
        waits.add(clock.slept[0])
    assert len(waits) == 20
    assert max(waits) - min(waits) > spread

"""Questions to a model that takes 0.2 s for each: how much longer than they must they take, by our door to
the models and by one httpx client that all threads share."""

import threading
import time
from collections.abc import Callable, Iterator

import httpx

from baselinekit.clients.http import Client
from baselinekit.clients.models.dispatch import Models
from baselinekit.clients.models.post import World
from baselinekit.model.recipes import Limits, Message, Model, ModelQuestion
from benchmarks.measure import Engine, Say, about, in_turn, inside, median
from benchmarks.results import Found, Note, Row, Scale, Versus
from benchmarks.slow import answering_slowly

OURS, SHARED = "our models", "one shared httpx client"
GOALS = {64: 1.25, 256: 2.0}


def rows(scale: Scale, say: Say) -> Found:
    seconds = 0.01 if scale.quick else 0.2
    with answering_slowly(seconds) as url:
        for jobs, goal in GOALS.items():
            calls = scale.pick(8, 1_024)
            at_once = min(jobs, calls)
            engines = [ours(url, calls, at_once), shared(url, calls, at_once, scale.regex_budget)]
            times = in_turn(engines, scale.rounds, about(say, f"{calls:,} calls, {jobs} at once"))
            least = seconds * calls / at_once
            what = f"{calls:,} calls of {seconds:g} s, {jobs} at once"
            took = median(times[OURS], "wall")
            yield Row(what, took, "ideal", least, took / least, "wall", scale.rounds, goal, short=what)
            yield Versus(times).row(what, OURS, SHARED, of="wall")
    yield Note("Ideal: the calls divided by how many are under way at once, times what one takes.")


def ours(url: str, calls: int, jobs: int) -> Engine:
    """Every call through the door that a run has: pace, budget, retries, strict reading of the answer."""

    def run(_: object) -> int:
        client = Client(proxies={})
        world = World(client.send, _nothing, client.sleep, ".", str)  # type: ignore[arg-type]
        models = Models({"m": Model(openai="x", base_url=url)}, Limits(calls=calls), world)

        def ask(number: int) -> bool:
            return models.ask(ModelQuestion("m", (Message("user", f"number {number}"),))).text == "fine"

        good = _in_threads(ask, calls, jobs)
        client.close()
        return good

    return inside(OURS, run, lambda good: good == calls, clock=time.process_time, at_most=60.0)


def shared(url: str, calls: int, jobs: int, regex_budget: float) -> Engine:
    """What a hand writes first: one client, as many threads."""

    def run(_: object) -> int:
        limits = httpx.Limits(max_connections=jobs, max_keepalive_connections=jobs)
        with httpx.Client(base_url=url, limits=limits, timeout=60) as client:

            def ask(number: int) -> bool:
                asked = {"model": "x", "messages": [{"role": "user", "content": f"number {number}"}]}
                while True:
                    try:
                        answer = client.post("/v1/chat/completions", json=asked).json()
                    except httpx.TransportError:  # so many at once over one pool: some wait too long for it
                        continue
                    return bool(answer["choices"][0]["message"]["content"] == "fine")

            return _in_threads(ask, calls, jobs)

    return inside(SHARED, run, lambda good: good == calls, clock=time.process_time, at_most=regex_budget)


def _in_threads(ask: Callable[[int], bool], calls: int, jobs: int) -> int:
    """How many were answered."""
    numbers, lock, good = iter(range(calls)), threading.Lock(), []

    def mine() -> Iterator[int]:
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            yield number

    threads = [threading.Thread(target=lambda: good.append(sum(map(ask, mine())))) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(good)


def _nothing(_: object) -> None:
    raise AssertionError

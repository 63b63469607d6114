"""Who is replayed beside whom: readers together, writers alone, a named resource one at a time."""

import threading
import time

import pytest
from hypothesis import given, settings, strategies as st

from baselinekit.commands.context import Stop
from baselinekit.commands.executor import in_threads
from baselinekit.kinds.http import HttpExecution, HttpFlow
from baselinekit.kinds.kind import ALONE
from baselinekit.kinds.table import kind_of
from baselinekit.model.recipes import HttpRequest, Recipe
from baselinekit.structs import replace

Items = list[tuple[int, str | None]]


class Watched:
    """Work that notes who is at it at the same time."""

    def __init__(self, seconds: float = 0.0):
        self.together: list[tuple[tuple[int, str | None], ...]] = []
        self.order: list[int] = []
        self._now: list[tuple[int, str | None]] = []
        self._lock = threading.Lock()
        self._seconds = seconds

    def work(self, item: tuple[int, str | None]) -> int:
        with self._lock:
            self._now.append(item)
            self.together.append(tuple(self._now))
            self.order.append(item[0])
        time.sleep(self._seconds)
        with self._lock:
            self._now.remove(item)
        return item[0]

    def run(self, items: Items, jobs: int = 4) -> list[int | None]:
        return in_threads(items, self.work, jobs, Stop(), lambda: None, claim=lambda item: item[1])


_CLAIMS = st.lists(st.sampled_from([None, None, ALONE, "orders", "users"]), max_size=12)


@settings(deadline=None)
@given(_CLAIMS, st.integers(1, 5))
def test_in_threads_keeps_claims_apart(claims: list[str | None], jobs: int) -> None:
    watched = Watched(0.0005)
    items = list(enumerate(claims))
    assert watched.run(items, jobs) == [number for number, _ in items]
    for together in watched.together:
        beside = [claim for _, claim in together]
        assert ALONE not in beside or len(beside) == 1
        named = [claim for claim in beside if claim]
        assert len(named) == len(set(named))
    alone = [number for number, claim in items if claim == ALONE]
    assert watched.order[len(items) - len(alone) :] == alone  # after all others, in their order


def test_in_threads_runs_readers_together() -> None:
    watched = Watched(0.05)
    watched.run([(0, None), (1, "orders"), (2, "users"), (3, None)])
    assert max(map(len, watched.together)) == 4


GET, POST = HttpRequest(endpoint="/a"), HttpRequest(method="POST", endpoint="/a")


@pytest.mark.parametrize(
    ("steps", "stated", "configured", "claim"),
    [
        ([GET], {}, None, None),
        ([POST], {}, None, ALONE),
        ([replace(GET, method="{{verb}}")], {}, None, ALONE),
        ([POST], {"resource": "orders"}, None, "orders"),
        ([GET], {"serial": True}, None, ALONE),
        ([POST], {}, False, None),
        ([POST], {"serial": True}, False, ALONE),
    ],
)
def test_claim_of_a_recipe(
    steps: list[HttpRequest], stated: dict[str, object], configured: bool | None, claim: str | None
) -> None:
    execution = replace(HttpExecution("http"), **stated)
    recipe = Recipe(steps[0] if len(steps) == 1 else HttpFlow(steps), execution)
    assert kind_of(recipe).claim(recipe, configured) == claim

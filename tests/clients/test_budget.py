"""A run takes no more of its models than it may."""

import json
import threading
import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from model_server import ModelServer, Said, chat, failure, models, question, world

from baselinekit.clients.http import Client
from baselinekit.clients.models.budget import Budget, estimate
from baselinekit.errors import CannotReplay, InvalidInput, OutOfBudget
from baselinekit.model.recipes import (
    Limits,
    Model,
    ModelUsage,
    Prices,
    ProcessResult,
    ProcessSpec,
    Request,
    Response,
)

ENTRY = Model(openai="x", base_url="http://127.0.0.1:9", prices=Prices(1, 2), concurrency=64, max_tokens=100)


def answered(request: Request) -> Response:
    time.sleep(0.001)
    body = (
        b'{"choices": [{"message": {"content": "fine"}}], '
        b'"usage": {"prompt_tokens": 3, "completion_tokens": 100}}'
    )
    return Response(200, (), body)


def crowd(asked: object, count: int) -> tuple[int, list[CannotReplay]]:
    """How many of that many threads got an answer, and why the others did not."""
    got: list[object] = []
    errors: list[CannotReplay] = []

    def work() -> None:
        try:
            got.append(asked.ask(question("12345678")))  # type: ignore[attr-defined]
        except CannotReplay as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(got) + len(errors) == count
    return len(got), errors


def test_64_at_once_make_no_call_too_many() -> None:
    asked = models(ENTRY, world(answered), Limits(calls=20))
    got, errors = crowd(asked, 64)
    assert got == asked.spent.calls == 20
    assert {type(error) for error in errors} == {OutOfBudget}
    assert "20 of 20 calls" in str(errors[0])
    assert "--max-calls" in str(errors[0])


def test_64_at_once_take_no_token_too_many() -> None:
    """A question of 2 tokens by estimate has 3, which nobody could know: one more for each call."""
    asked = models(ENTRY, world(answered), Limits(tokens=1_000))
    got, errors = crowd(asked, 64)
    assert got == 9, "9 of 103 are 927, and the tenth might take 102 more"
    assert asked.spent.tokens == 927
    assert "it may take 102 tokens, and 927 of 1,000 are used" in str(errors[0])


def test_64_at_once_spend_no_dollar_too_many() -> None:
    asked = models(ENTRY, world(answered), Limits(usd=0.001))
    got, errors = crowd(asked, 64)
    assert got == 4, "each takes 203 millionths"
    assert asked.spent.usd == Decimal("0.000812")
    assert "--max-cost" in str(errors[0])


def test_what_is_held_by_others_is_waited_for() -> None:
    """Room is kept for 1,000 tokens, and 15 are taken: each question waits for those before it."""
    client = Client(proxies={})
    with ModelServer(usual=lambda seen: Said(chat(), pause=0.005)) as server:
        entry = Model(openai="x", base_url=server.url)
        asked = models(entry, world(client.send), Limits(tokens=1_400))
        got, errors = crowd(asked, 20)
    client.close()
    assert (got, errors) == (20, [])
    assert asked.spent.tokens == 300


def test_a_price_that_nobody_knows_beforehand_is_learned_one_by_one() -> None:
    lock, running, most = threading.Lock(), [0], [0]

    def execute(run: ProcessSpec) -> ProcessResult:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.005)
        with lock:
            running[0] -= 1
        return ProcessResult(0, b'{"text": "fine", "usage": {"cost_usd": 0.3}}', b"", 0.005)

    entry = Model(command=["cat"], output="json", concurrency=64)
    asked = models(entry, world(execute=execute, root="/"), Limits(usd=1))
    got, errors = crowd(asked, 30)
    assert got == 3
    assert asked.spent.usd == Decimal("0.9")
    assert most[0] <= 3
    assert "--max-cost" in str(errors[0])


def test_a_price_that_nobody_knows_is_taken_for_the_highest_so_far() -> None:
    budget = Budget(Limits(usd=1))
    for cost in ("0.1", "0.4", "0.2"):
        budget.settle(budget.reserve("m", 0, None), 0, Decimal(cost))
    with pytest.raises(OutOfBudget, match=r"may take 0.4000 dollars, and 0.7000 of 1 dollars are spent"):
        budget.reserve("m", 0, None)
    budget.settle(budget.reserve("m", 0, Decimal("0.3")), 0, Decimal("0.3"))
    assert budget.spent.usd == 1


def test_a_program_that_does_not_say_what_it_cost_is_no_answer_under_a_limit() -> None:
    def execute(run: ProcessSpec) -> ProcessResult:
        return ProcessResult(0, b'{"text": "fine"}', b"", 0.0)

    entry = Model(command=["cat"], output="json")
    assert failure(models(entry, world(execute=execute, root="/"), Limits(usd=1))).problems[0].code == "BK605"
    assert models(entry, world(execute=execute, root="/")).ask(question()).text == "fine"


def test_a_limit_in_dollars_wants_prices() -> None:
    entry = Model(openai="x", base_url="http://127.0.0.1:9")
    with pytest.raises(InvalidInput, match="BK605"):
        models(entry, world(), Limits(usd=1)).check("m")
    free = Model(openai="x", base_url="http://127.0.0.1:9", prices=Prices())
    asked = models(free, world(answered), Limits(usd=0))
    assert asked.ask(question()).text == "fine", "what is free may always be asked"


def test_what_reached_nobody_costs_nothing() -> None:
    for send in (lambda request: Response(429, (), b""), lambda request: Response(503, (), b"")):
        asked = models(Model(openai="x", base_url="http://127.0.0.1:9", retries=1), world(send))
        failure(asked)
        assert asked.spent == ModelUsage()
    client = Client(proxies={})
    asked = models(Model(openai="x", base_url="http://127.0.0.1:9", retries=0), world(client.send))
    assert failure(asked).problems[0].code == "BK301"
    client.close()
    assert asked.spent == ModelUsage()


def test_a_try_that_may_have_been_worked_on_counts() -> None:
    asked = models(ENTRY, world(lambda request: Response(500, (), b"")), Limits(calls=3))
    error = failure(asked)
    assert error.problems[0].code == "BK611", "the failure is told, not the limit that ended the tries"
    assert "(3 tries)" in str(error)
    spent = asked.spent
    assert (spent.calls, spent.unanswered, spent.tokens, spent.usd) == (3, 3, 0, 0)
    assert spent.may_tokens == 3 * 103
    assert spent.may_usd == 3 * Decimal("0.000203")


def test_what_may_have_been_taken_is_kept_free_all_the_same() -> None:
    budget = Budget(Limits(tokens=100, usd=1))
    budget.fail(budget.reserve("m", 60, Decimal("0.6")))
    assert (budget.spent.tokens, budget.spent.usd) == (0, 0)
    with pytest.raises(OutOfBudget, match="may take 50 tokens, and 60 of 100 are or may be used"):
        budget.reserve("m", 50, Decimal(0))
    with pytest.raises(OutOfBudget, match=r"0\.6000 of 1 dollars are or may be spent"):
        budget.reserve("m", 1, Decimal("0.5"))


def test_a_question_that_is_turned_down_takes_a_call_and_no_token() -> None:
    asked = models(ENTRY, world(lambda request: Response(400, (), b"")))
    failure(asked)
    assert asked.spent == ModelUsage(1)


@pytest.mark.parametrize(
    ("limits", "hint"),
    [
        (Limits(calls=0), "raise `limits: calls`, or pass --max-calls"),
        (Limits(tokens=1), "raise `limits: tokens`, or pass --max-tokens"),
        (Limits(usd=0.0001), "raise `limits: usd`, or pass --max-cost"),
    ],
)
def test_a_limit_is_raised_in_the_file_or_on_the_command_line(limits: Limits, hint: str) -> None:
    assert failure(models(ENTRY, world(), limits)).problems[0].hint == hint


def test_out_of_budget_is_neither_wrong_nor_asked() -> None:
    asked = models(ENTRY, world(), Limits(calls=0))
    with pytest.raises(OutOfBudget, match="BK620") as caught:
        asked.ask(question())
    assert caught.value.exit_code == 3
    assert isinstance(caught.value, CannotReplay)


@pytest.mark.parametrize(
    ("entry", "limit", "most"),
    [
        (Model(openai="x"), None, 1_000),
        (Model(openai="x"), 50, 50),
        (Model(openai="x", settings={"max_completion_tokens": 70}), 50, 70),
        (Model(openai="x", settings={"max_tokens": None}), None, 1_000),
    ],
)
def test_an_answer_may_take_what_the_question_allows(entry: Model, limit: int | None, most: int) -> None:
    assert estimate(question("12345", max_tokens=limit), entry) == (2, most)


@pytest.mark.slow
@given(
    limits=st.tuples(
        st.none() | st.integers(0, 30), st.none() | st.integers(0, 3_000), st.none() | st.integers(0, 50)
    ),
    steps=st.lists(
        st.tuples(
            st.sampled_from("ab"),
            st.integers(0, 400),  # estimated tokens
            st.none() | st.integers(0, 9),  # estimated dollars
            st.sampled_from(["settle", "settle", "fail", "release"]),
            st.integers(0, 100),  # per cent of the estimate that it takes
        ),
        max_size=60,
    ),
)
@settings(max_examples=150, deadline=None)
def test_no_order_of_questions_passes_a_limit_by_what_could_be_known(
    limits: tuple[int | None, int | None, int | None], steps: list[tuple[str, int, int | None, str, int]]
) -> None:
    calls, tokens, usd = limits
    budget = Budget(Limits(calls, tokens, usd))
    for model, estimated, dollars, end, share in steps:
        known = None if dollars is None else Decimal(dollars)
        try:
            held = budget.reserve(model, estimated, known)
        except OutOfBudget:
            continue
        if end == "release":
            budget.release(held)
        elif end == "fail":
            budget.fail(held)
        else:
            budget.settle(held, estimated * share // 100, held.usage.usd * share / 100)
        assert calls is None or budget.spent.at_most.calls <= calls
        assert tokens is None or budget.spent.at_most.tokens <= tokens
        assert usd is None or budget.spent.at_most.usd <= usd + Decimal("0.000001")
    assert budget._held == ModelUsage(), "nothing stays reserved"


def test_a_system_message_of_the_entry_counts_as_well() -> None:
    asked = models(
        Model(openai="x", base_url="http://127.0.0.1:9", system="s" * 400),
        world(lambda request: Response(200, (), b'{"choices": [{"message": {"content": "12345678"}}]}')),
    )
    asked.ask(question("12345678"))
    assert asked.spent.tokens == 102 + 2, "nobody said, so characters count"


@pytest.mark.parametrize(
    ("entry", "recipe", "most"),
    [
        ({}, 50, 50),
        ({"max_tokens": 70}, None, 70),
        ({"max_tokens": 70}, 50, 50),
        ({"settings": {"max_completion_tokens": 90}}, 50, 90),
        ({"settings": {"max_tokens": None}}, 50, 1000),
        ({}, None, 1000),
        ({"openai": None, "anthropic": "x"}, None, 4096),
        ({"openai": None, "anthropic": "x"}, 50, 50),
    ],
)
def test_budget_of_tokens_reserves_the_limit_that_is_sent(
    entry: dict[str, Any], recipe: int | None, most: int
) -> None:
    model = Model(**{"openai": "x", "base_url": "http://127.0.0.1:9", **entry})
    ask = question("12345678", max_tokens=recipe)
    with pytest.raises(OutOfBudget, match=f"it may take {2 + most:,} tokens"):
        models(model, world(answered), Limits(tokens=most + 1)).ask(ask)


OPENAI = {"prompt_tokens": 1000, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 800}}
ANTHROPIC = {"input_tokens": 200, "output_tokens": 10, "cache_read_input_tokens": 800}


@pytest.mark.parametrize("form", ["openai", "anthropic"])
@pytest.mark.parametrize(
    ("cached", "usd", "full_price"), [(0.5, "0.00062", None), (0, "0.00022", None), (None, "0.00102", 800)]
)
def test_cost_of_cached_tokens_is_their_own_or_said_to_be_the_full_one(
    form: str, cached: float | None, usd: str, full_price: int | None
) -> None:
    body: dict[str, Any] = {"choices": [{"message": {"content": "fine"}}], "usage": OPENAI}
    if form == "anthropic":
        body = {"content": [{"type": "text", "text": "fine"}], "usage": ANTHROPIC}
    stated: dict[str, Any] = {form: "x", "base_url": "http://127.0.0.1:9", "prices": Prices(1, 2, cached)}
    asked = models(Model(**stated), world(lambda request: Response(200, (), json.dumps(body).encode())))
    answer = asked.ask(question())
    assert (answer.usage.tokens_in, answer.usage.tokens_cached) == (1000, 800)
    assert answer.usage.cost_usd == asked.spent.usd == Decimal(usd)
    assert asked.spent.full_price == full_price

"""A run takes no more of its models than it may."""

import json
import threading
import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, strategies as st
from model_server import Wire, failure, models, question, world

from baselinekit.clients.http import Client
from baselinekit.clients.models.budget import Budget
from baselinekit.clients.models.dispatch import Models
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

BASE = {"openai": "x", "base_url": "http://127.0.0.1:9"}
ENTRY = Model(**BASE, prices=Prices(1, 2), concurrency=64, max_tokens=100)
PROGRAM = Model(command=["cat"], output="json", concurrency=64)


def answered(request: Request) -> Response:
    """An answer of 3 and 100 tokens; the estimate of the question is 2, one token too low."""
    time.sleep(0.001)
    usage = {"prompt_tokens": 3, "completion_tokens": 100}
    body = {"choices": [{"message": {"content": "fine"}}], "usage": usage}
    return Response(200, (), json.dumps(body).encode())


def status(number: int) -> Any:
    return lambda request: Response(number, (), b"")


def crowd(model: Models, count: int) -> tuple[int, list[CannotReplay]]:
    """How many of that many threads got an answer, and why the others did not."""
    got: list[object] = []
    errors: list[CannotReplay] = []

    def work() -> None:
        try:
            got.append(model.ask(question("12345678")))
        except CannotReplay as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(got) + len(errors) == count
    return len(got), errors


@pytest.mark.parametrize(
    ("limits", "most", "why", "hint"),
    [
        (Limits(calls=20), 20, "20 of 20 calls are used", "raise `limits: calls`, or pass --max-calls"),
        # 9 of 103 are 927, and the tenth might take 102 more
        (Limits(tokens=1_000), 9, "927 of 1,000 tokens are used, and it may take 102",
         "raise `limits: tokens`, or pass --max-tokens"),
        (Limits(usd=0.001), 4, "", "raise `limits: usd`, or pass --max-cost"),  # each takes 203 millionths
    ],
)  # fmt: skip
def test_budget_64_threads_stay_within_limit(limits: Limits, most: int, why: str, hint: str) -> None:
    model = models(ENTRY, world(answered), limits)
    got, errors = crowd(model, 64)
    assert (got, model.spent.calls, model.spent.tokens) == (most, most, most * 103)
    assert model.spent.usd == most * Decimal("0.000203")
    assert {(type(error), error.exit_code, error.problems[0].hint) for error in errors} == {
        (OutOfBudget, 3, hint)
    }
    assert why in str(errors[0])


def test_budget_reserved_by_others_is_waited_for() -> None:
    """Room is kept for 1,000 tokens, and 103 are taken: each question waits for those before it."""
    model = models(Model(**BASE), world(answered), Limits(tokens=4_000))
    assert crowd(model, 20) == (20, [])
    assert model.spent.tokens == 2_060


def test_budget_unknown_price_is_learned_from_answers() -> None:
    def execute(run: ProcessSpec) -> ProcessResult:
        time.sleep(0.005)
        return ProcessResult(0, b'{"text": "fine", "usage": {"cost_usd": 0.3}}', b"", 0.005)

    model = models(PROGRAM, world(execute=execute, root="/"), Limits(usd=1))
    got, errors = crowd(model, 30)
    assert (got, model.spent.usd, "--max-cost" in str(errors[0])) == (3, Decimal("0.9"), True)
    budget = Budget(Limits(usd=1))
    for cost in ("0.1", "0.4", "0.2"):
        budget.settle(budget.reserve("m", 0, None), 0, Decimal(cost))
    with pytest.raises(OutOfBudget, match=r"0.7 of 1 usd are used, and it may take 0.4"):
        budget.reserve("m", 0, None)


def test_budget_program_without_cost_is_an_error_under_usd_limit() -> None:
    around = world(execute=lambda run: ProcessResult(0, b'{"text": "fine"}', b"", 0.0), root="/")
    assert failure(models(PROGRAM, around, Limits(usd=1))).problems[0].code == "BK605"
    assert models(PROGRAM, around).ask(question()).text == "fine"


def test_budget_usd_limit_needs_prices() -> None:
    with pytest.raises(InvalidInput, match="BK605"):
        models(Model(**BASE), world(), Limits(usd=1)).check("m")
    model = models(Model(**BASE, prices=Prices()), world(answered), Limits(usd=0))
    assert model.ask(question()).text == "fine", "what is free may always be asked"


@pytest.mark.parametrize(
    ("send", "spent"),
    [
        (status(429), ModelUsage()),
        (status(503), ModelUsage()),
        (Client(proxies={}).send, ModelUsage()),  # no server is there
        (status(400), ModelUsage(1)),  # turned down: a call and no token
    ],
)
def test_budget_rejected_request_costs_nothing(send: Any, spent: ModelUsage) -> None:
    model = models(Model(**BASE, retries=1), world(send))
    failure(model)
    assert model.spent == spent


def test_budget_failed_try_counts_as_possibly_spent() -> None:
    model = models(ENTRY, world(status(500)), Limits(calls=3))
    error = failure(model)
    assert error.problems[0].code == "BK611", "the failure is reported, not the limit that ended the tries"
    assert "(3 tries)" in str(error)
    spent = model.spent
    assert (spent.calls, spent.unanswered, spent.tokens, spent.usd) == (3, 3, 0, 0)
    assert (spent.may_tokens, spent.may_usd) == (3 * 103, 3 * Decimal("0.000203"))
    budget = Budget(Limits(tokens=100, usd=1))
    budget.fail(budget.reserve("m", 60, Decimal("0.6")))
    assert (budget.spent.tokens, budget.spent.usd) == (0, 0)
    with pytest.raises(OutOfBudget, match="60 of 100 tokens are or may be used, and it may take 50"):
        budget.reserve("m", 50, Decimal(0))
    with pytest.raises(OutOfBudget, match=r"0\.6 of 1 usd are or may be used"):
        budget.reserve("m", 1, Decimal("0.5"))


@pytest.mark.slow
@given(
    limits=st.tuples(*(st.none() | st.integers(0, most) for most in (30, 3_000, 50))),
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
def test_budget_stays_within_limit_in_any_order(
    limits: tuple[int | None, ...], steps: list[tuple[str, int, int | None, str, int]]
) -> None:
    calls, tokens, usd = limits
    budget = Budget(Limits(calls, tokens, usd))
    for model, estimated, dollars, end, share in steps:
        try:
            held = budget.reserve(model, estimated, None if dollars is None else Decimal(dollars))
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


def test_budget_counts_system_message_of_entry() -> None:
    body = b'{"choices": [{"message": {"content": "12345678"}}]}'
    model = models(Model(**BASE, system="s" * 400), world(lambda request: Response(200, (), body)))
    model.ask(question("12345678"))
    assert model.spent.tokens == 102 + 2, "the answer states no tokens, so characters count"


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
def test_budget_reserves_max_tokens_that_are_sent(
    entry: dict[str, Any], recipe: int | None, most: int
) -> None:
    model = models(Model(**{**BASE, **entry}), world(answered), Limits(tokens=most + 1))
    with pytest.raises(OutOfBudget, match=f"it may take {2 + most:,}"):
        model.ask(question("12345678", max_tokens=recipe))


OPENAI = {"prompt_tokens": 1000, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 800}}
ANTHROPIC = {"input_tokens": 200, "output_tokens": 10, "cache_read_input_tokens": 800}


@pytest.mark.parametrize("form", ["openai", "anthropic"])
@pytest.mark.parametrize(("cached", "usd"), [(0.5, "0.00062"), (0, "0.00022"), (None, "0.00102")])
def test_budget_cached_tokens_have_own_or_full_price(form: str, cached: float | None, usd: str) -> None:
    body: dict[str, Any] = {"choices": [{"message": {"content": "fine"}}], "usage": OPENAI}
    if form == "anthropic":
        body = {"content": [{"type": "text", "text": "fine"}], "usage": ANTHROPIC}
    stated: dict[str, Any] = {form: "x", "base_url": BASE["base_url"], "prices": Prices(1, 2, cached)}
    model = models(Model(**stated), world(Wire(body)))
    answer = model.ask(question())
    assert (answer.usage.tokens_in, answer.usage.tokens_cached) == (1000, 800)
    assert answer.usage.cost_usd == model.spent.usd == Decimal(usd)

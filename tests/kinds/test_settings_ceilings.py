"""What a data file may ask for: less than the configuration grants, never more."""

import os
from typing import Any

import pytest
from hypothesis import given, strategies as st
from replay_world import FakeClients, answer

from baselinekit.clients.trust import Trust, origins_in
from baselinekit.errors import Refused
from baselinekit.kinds.dispatch import check, refuse_above, replay
from baselinekit.kinds.http import HttpExecution, HttpFlow
from baselinekit.kinds.programs import CommandExecution, CommandInput
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.kinds.settings import Ceilings, Setting, ceilings_of
from baselinekit.kinds.skill import SkillExecution
from baselinekit.model.recipes import (
    Config,
    HttpDefaults,
    HttpRequest,
    Limits,
    Model,
    Recipe,
    Response,
    Skill,
)
from baselinekit.secrets.variables import Scope
from baselinekit.structs import replace

OURS = {"timeout": 300, "max_body": 10_000_000, "retries": 10, "redirects": 20}


def http(request: dict[str, Any] | None = None, **execution: Any) -> Recipe:
    return Recipe(HttpRequest(url="http://api.test/x", **request or {}), HttpExecution("http", **execution))


def refused(recipe: Recipe, ceilings: Ceilings) -> list[tuple[Any, ...]]:
    """The places that are refused."""
    try:
        refuse_above(recipe, ceilings)
    except Refused as error:
        return [problem.at or () for problem in error.problems if problem.code == "BK408"]
    return []


def test_refuse_above_reports_every_place_of_recipe() -> None:
    steps = [
        HttpRequest(url="http://api.test/x", retries=11),
        HttpRequest(url="http://api.test/y", timeout=301),
    ]
    recipe = Recipe(HttpFlow(steps), HttpExecution("http", redirects=21, verify=False, max_body=10**9))
    assert refused(recipe, Ceilings()) == [
        ("current", "input", "steps", 0, "retries"),
        ("current", "input", "steps", 1, "timeout"),
        ("current", "execution", "max_body"),
        ("current", "execution", "redirects"),
        ("current", "execution", "verify"),
    ]


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe(CommandInput(["x"]), CommandExecution("command", timeout=301)),
        Recipe({}, SkillExecution("skill", "s", timeout=301)),
        Recipe(PromptInput(text="x"), PromptExecution("prompt", model="m", timeout=301)),
    ],
)
def test_refuse_above_applies_to_programs_skills_and_models(recipe: Recipe) -> None:
    assert refused(recipe, ceilings_of(Config())) == [("current", "execution", "timeout")]
    config = Config(
        limits=Limits(timeout=300),
        skills={"s": Skill(command=["x"], timeout=400)},
        models={"m": Model(command=["x"], timeout=400)},
    )
    by_name = recipe.kind in ("skill", "prompt")
    assert refused(recipe, ceilings_of(config)) == ([] if by_name else [("current", "execution", "timeout")])
    assert refused(recipe, ceilings_of(config).granting(301)) == []


@given(
    st.fixed_dictionaries({}, optional={name: st.integers(0, 2 * most) for name, most in OURS.items()}),
    st.fixed_dictionaries({}, optional={name: st.integers(0, 2 * most) for name, most in OURS.items()}),
    st.fixed_dictionaries({}, optional={name: st.integers(1, 2 * most) for name, most in OURS.items()}),
)
def test_refuse_above_refuses_only_limits_above_the_grant(
    stated: dict[str, int], limits: dict[str, int], given_to_all: dict[str, int]
) -> None:
    ceilings = ceilings_of(Config(limits=Limits(**limits), http=HttpDefaults(**given_to_all)))
    places = refused(http(**stated), ceilings)
    for name, value in stated.items():
        granted = limits.get(name, max(OURS[name], given_to_all.get(name, 0)))
        assert (value > granted) is (("current", "execution", name) in places)


@pytest.mark.parametrize("ask", [check, replay])
def test_check_and_replay_refuse_settings_above_ceiling(setting: Setting, ask: Any) -> None:
    fake = FakeClients(answer())
    for recipe in (http(timeout=301), http(verify=False), http({"retries": 99})):
        with pytest.raises(Refused) as raised:
            ask(recipe, replace(setting, clients=fake.clients))
        assert raised.value.exit_code == 4
        assert "baselinekit.yaml" in raised.value.problems[0].hint
    assert fake.requests == []


def test_verify_false_from_variable_or_answer_is_refused(setting: Setting) -> None:
    fake = FakeClients(answer(b'{"v": false}'), answer())
    steps = [
        HttpRequest(url="http://api.test/x", name="a", save={"v": "body.v"}),
        HttpRequest(url="http://api.test/y", name="b"),
    ]
    by_answer = Recipe(HttpFlow(steps), HttpExecution("http", verify="{{v}}"))
    changed = replace(setting, clients=fake.clients, scope=Scope({"v": True}))
    with pytest.raises(Refused, match="verify: false"):
        replay(by_answer, changed)
    assert len(fake.requests) == 1
    by_variable = replace(setting, clients=fake.clients, scope=Scope({"v": False}))
    with pytest.raises(Refused, match="verify: false"):
        check(http(verify="{{v}}"), by_variable)


NAMED = origins_in(["https://api.test"])


def verified(
    setting: Setting, file: str, trust: Trust, url: str = "https://api.test/x", ours: Any = None
) -> Any:
    """The authorities that the sent request trusts."""
    fake = FakeClients(answer())
    changed = replace(setting, clients=fake.clients, trust=trust, http=HttpDefaults(verify=ours))
    recipe = Recipe(HttpRequest(url=url), HttpExecution("http", verify=file))
    check(recipe, changed)
    replay(recipe, changed)
    return fake.requests[0].verify


@pytest.mark.parametrize(
    "trust", [Trust(named_origins=NAMED), Trust(configured_origins=NAMED), Trust(allow_hosts=("api.test",))]
)
def test_verify_file_of_baseline_for_named_origin_is_refused(setting: Setting, trust: Trust) -> None:
    with pytest.raises(Refused) as raised:
        verified(setting, "ca.pem", trust)
    (problem,) = raised.value.problems
    assert (problem.code, problem.at) == ("BK408", ("current", "execution", "verify"))
    assert problem.message == (
        "a baseline file may not say which certificates are trusted at https://api.test:443, "
        "which the configuration or the command line names"
    )
    assert "http: {verify: baselines/ca.pem}" in problem.hint
    assert "baselinekit.yaml" in problem.hint


def test_verify_file_of_configuration_is_allowed_in_every_baseline(setting: Setting) -> None:
    root = setting.surroundings.root
    folder = os.path.relpath(setting.surroundings.folder, root)
    trust = Trust(named_origins=NAMED)
    ours = os.path.join(folder, "ca.pem")
    assert verified(setting, "ca.pem", trust, ours=ours) == os.path.join(root, ours)
    with pytest.raises(Refused):
        verified(setting, "other.pem", trust, ours=ours)


def test_verify_file_of_baseline_for_own_origin_is_allowed(setting: Setting) -> None:
    assert str(verified(setting, "ca.pem", Trust())).endswith("ca.pem")
    assert verified(setting, "ca.pem", Trust(named_origins=NAMED), url="http://api.test/x")


def test_verify_file_of_baseline_is_refused_after_redirect_to_named_origin(setting: Setting) -> None:
    moved = Response(302, (("Location", "https://api.test/y"),), b"", 0.0)
    fake = FakeClients(moved, answer())
    changed = replace(setting, clients=fake.clients, trust=Trust(named_origins=NAMED))
    recipe = Recipe(
        HttpRequest(url="https://other.test/x", redirects=1), HttpExecution("http", verify="ca.pem")
    )
    with pytest.raises(Refused, match="which certificates are trusted at https://api"):
        replay(recipe, changed)
    assert len(fake.requests) == 1

"""What each recipe kind declares: whether it asks a model, where responses are, what shows a failure."""

from typing import Any

import pytest

from baselinekit.kinds.dispatch import within
from baselinekit.kinds.given import EchoExecution, MockExecution, ReplayExecution
from baselinekit.kinds.http import HttpExecution, HttpFlow
from baselinekit.kinds.kind import STORED as MEANING
from baselinekit.kinds.messages import ConversationInput
from baselinekit.kinds.programs import CliExecution, CommandExecution, CommandInput, PostExecution
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.kinds.skill import SkillExecution
from baselinekit.kinds.table import KINDS, kind_of
from baselinekit.model.recipes import HttpRequest, Observation, Recipe, Request, Skill, Usage
from baselinekit.model.traces import TraceMessage
from baselinekit.model.values import Json, Path
from baselinekit.values.paths import parse

LOGIN, CART = HttpRequest("POST", "/login", name="login"), HttpRequest("GET", "/cart")
GET = Recipe(HttpRequest("GET", "/users"), HttpExecution("http"))
URL = Recipe(HttpRequest("GET", url="https://user@api.example.com:8443/x"), HttpExecution("http"))
RUN = Recipe(CommandInput(["bin/tool", "-v"], cwd="sub"), CommandExecution("command"))
SKILL = Recipe({"diff": "x"}, SkillExecution("skill", "review"))
ASK = Recipe(PromptInput(text="What is\n what?"), PromptExecution("prompt", "small"))
FILE = Recipe(PromptInput("prompts/sum.mary.md"), PromptExecution("prompt"))
ECHO = Recipe("as it\nis written", EchoExecution("echo"))
TALK = ConversationInput([TraceMessage("system", "Be brief."), TraceMessage("user", "What\n is it?")])
CLI = Recipe(TALK, CliExecution("cli", "agent run {PROMPT}", target="local"))
MOCK = Recipe(TALK, MockExecution("mock"))
POST = Recipe(TALK, PostExecution("post", "https://agents.example.com/ask"))
STORED = Recipe(TALK, ReplayExecution("replay", "traces.jsonl"))


def flow(collect: Any = None) -> Recipe:
    return Recipe(HttpFlow([LOGIN, CART], collect), HttpExecution("http"))


@pytest.mark.parametrize(
    ("recipe", "responses", "answers"),
    [
        (GET, [()], [("body",)]),
        (flow(), [()], [("body",)]),
        (flow(["login", "2"]), [("login",), ("2",)], [("login", "body"), ("2", "body")]),
        (flow({"a": "login.body.x", "b": "2"}), [("b",)], [("b", "body")]),
        (RUN, [()], [("stdout",), ("stderr",)]),
        (SKILL, [], []),
        (ASK, [], []),
        (ECHO, [], []),
        (CLI, [], []),
        (STORED, [], []),
    ],
)
def test_kind_gives_paths_of_responses_and_answers(
    recipe: Recipe, responses: list[Path], answers: list[Path]
) -> None:
    assert [*kind_of(recipe).responses(recipe)] == responses
    assert [*kind_of(recipe).answers(recipe)] == answers


@pytest.mark.parametrize(
    ("recipe", "output", "statuses", "troubles", "remarks"),
    [
        (GET, {"status": 200}, (), [], []),
        (GET, {"status": True}, (), [], []),
        (GET, {"status": 404}, (), [], [f"the answer is 404, a refused request: {MEANING}"]),
        (GET, {"status": 503}, (), ["the answer is 503, a server error"], []),
        (flow(), {"status": 200}, (("login", 500),), ["step login answered 500, a server error"], []),
        (flow(), {"status": 200}, (("login", 401), ("2", 200)), [],
         [f"step login answered 401, a refused request: {MEANING}"]),
        (flow(["login"]), {"login": {"status": 500}}, (("2", 200),),
         ["step login answered 500, a server error"], []),
        (flow({"s": "login.status"}), {"s": 500}, (), ["step login answered 500, a server error"], []),
        (RUN, {"exit_code": 0}, (), [], []),
        (RUN, {"exit_code": 2}, (), [], [f"the program ended with exit code 2: {MEANING}"]),
        (RUN, {"exit_code": -9}, (), ["the program was killed by signal 9"], []),
        (SKILL, " ", (), [], [f"the answer is empty: {MEANING}"]),
        (ASK, " \n", (), ["the model's answer is empty"], []),
        (ASK, [], (), [], []),
        (ASK, {}, (), ["the model's answer is empty"], []),
        (ECHO, "", (), [], []),
        (CLI, "", (), ["the answer is empty"], []),
        (MOCK, "", (), [], []),
        (POST, {}, (), ["the answer is empty"], []),
        (STORED, None, (), [], []),
    ],
)  # fmt: skip
def test_kind_troubles_and_remarks_by_output(
    recipe: Recipe, output: Json, statuses: Any, troubles: list[str], remarks: list[str]
) -> None:
    exchanges = tuple((step, Request("GET", ""), {"status": status}) for step, status in statuses)
    observation = Observation(output, 0.1, exchanges=exchanges)
    kind = kind_of(recipe)
    assert [trouble.message for trouble in kind.troubles(recipe, observation)] == troubles
    assert [*kind.remarks(recipe, observation)] == remarks


def test_kind_asks_model_by_recipe() -> None:
    skills = {"review": Skill(command=["review"])}
    asks = [kind_of(recipe).asks_model(recipe, skills) for recipe in (GET, RUN, SKILL, ASK, ECHO)]
    assert asks == [False, False, False, True, False]
    assert kind_of(SKILL).asks_model(SKILL, {})
    assert kind_of(SKILL).asks_model(SKILL, {"review": Skill(folder="x")})
    answers = [kind.was_asked_of_model({}, Usage(tokens_in=1)) for kind in KINDS.values()]
    assert answers == [False, False, True, True, False, True, False, True, False, False]
    names = [name for name, kind in KINDS.items() if kind.was_asked_of_model({}, Usage())]
    assert names == ["prompt"]
    assert KINDS["skill"].was_asked_of_model({"model": "m"}, Usage())


def test_kind_starts_http_path_may_start_in_body() -> None:
    output = {"status": 200, "body": {"status": "ok"}}
    assert [len(kind.starts(parse("status"), output)) for kind in KINDS.values()] == [2] + 9 * [1]


def test_within_shortens_stated_timeouts() -> None:
    slow = Recipe(HttpRequest("GET", "/", timeout=9), HttpExecution("http", timeout=8))
    assert within(slow, 5).input.timeout == 5
    assert within(flow(), 5).execution.timeout == 5
    assert within(Recipe(ASK.input, PromptExecution("prompt", timeout=3)), 5).execution.timeout == 3

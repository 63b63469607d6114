"""The entry of a model in the configuration, and the mistakes that a check finds in it."""

from typing import Any

import pytest
from model_server import models, question, world

from baselinekit.clients.models.dispatch import Models
from baselinekit.clients.trust import Trust
from baselinekit.errors import BaselinekitError, InvalidInput, Refused
from baselinekit.model.recipes import Limits, Model, Request, Response, Retry

LOCAL = {"openai": "x", "base_url": "http://127.0.0.1:9"}


def problems(entry: Model, **more: Any) -> str:
    with pytest.raises(BaselinekitError) as caught:
        models(entry, world(**more)).check("m")
    return str(caught.value)


def test_check_unknown_model_names_nearest_and_example() -> None:
    model = Models({"small": Model(**LOCAL)}, Limits(), world())  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="BK601") as caught:
        model.check("smal")
    assert "did you mean 'small'?" in str(caught.value)
    assert "models: {smal: {openai: MODEL" in str(caught.value)
    with pytest.raises(InvalidInput, match="BK601"):
        model.ask(question())


def test_check_entry_needs_exactly_one_form() -> None:
    assert "does not say how it is called" in problems(Model())
    assert "states openai and command" in problems(Model(openai="x", command=["cat"]))
    model = models(Model(), world())
    with pytest.raises(InvalidInput) as caught:
        model.check("m", asked=False)
    assert caught.value.problems[0].at == ("models", "m")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({**LOCAL, "output": "json"}, "`output` has no effect on a model of the form `openai`"),
    ({**LOCAL, "env": ["HOME"]}, "`env` has no effect"),
    ({**LOCAL, "headers": {"Host": "x"}}, "the header Host cannot be set"),
    ({**LOCAL, "headers": {"X-A": "a\r\nB: c"}}, "control character in the header X-A"),
    ({"openai": "x"}, "BK602"),
    ({"anthropic": "x"}, "api.anthropic.com requires a key"),
    ({"openai": "x", "base_url": "127.0.0.1:80"}, "does not say unambiguously where it leads"),
    ({"openai": "x", "base_url": "http://user:hunter2@host"}, "does not say unambiguously where it leads"),
    ({"openai": "x", "key": "nope"}, "{{nope}} is not defined"),
    ({"command": ["cat"], "key": "k"}, "`key` has no effect on a model of the form `command`"),
    ({"command": ["cat"], "temperature": 0}, "`temperature` has no effect"),
    ({"command": ["cat"], "retries": 2}, "`retries` has no effect"),
    ({"command": ["cat"], "retry": Retry()}, "`retry` has no effect"),
    ({"python": "no colon"}, "write module:function"),
    ({"python": "os:system; rm"}, "write module:function"),
    ({"form": "carrier-pigeon"}, "BK602"),
]


@pytest.mark.parametrize(("entry", "word"), WRONG)
def test_check_entry_mistake_is_refused(entry: dict[str, Any], word: str) -> None:
    text = problems(Model(**entry))
    assert word in text
    assert "hunter2" not in text


def test_check_entry_reports_all_mistakes_with_places() -> None:
    entry = Model(openai="x", headers={"Host": "x"}, output="text")
    with pytest.raises(InvalidInput) as caught:
        models(entry, world()).check("m")
    assert [problem.at for problem in caught.value.problems] == [
        ("models", "m", "output"),
        ("models", "m", "headers", "Host"),
    ]


@pytest.mark.parametrize("key", ["", "two words\n", " x", "a\nb", "schlüssel€"])
def test_check_entry_invalid_key_is_refused_without_its_value(key: str) -> None:
    text = problems(Model(openai="x", key="k"), secret=lambda name: key)
    assert "BK602" in text
    assert "schlüssel" not in text


def test_check_entry_origin_must_be_allowed() -> None:
    entry = Model(openai="x", base_url="https://llm.example.com")
    text = problems(entry, trust=Trust(allow_hosts=("api.example.com",)))
    assert "requests to https://llm.example.com:443 are not allowed" in text
    with pytest.raises(Refused):
        models(entry, world(trust=Trust(allow_hosts=()))).ask(question())
    models(entry, world(trust=Trust(allow_hosts=("llm.example.com",)))).check("m")


def test_check_entry_of_recorded_answers_needs_no_key_or_program() -> None:
    models(Model(openai="x", key="nope"), world()).check("m", asked=False)
    models(Model(command=["no-such-program"]), world()).check("m", asked=False)


def test_f16_model_request_admits_only_allowed_addresses() -> None:
    """The configuration names where it is, so that a private network is open to it, in CI too; metadata is
    not, where only a name leads there."""
    sent: list[Request] = []

    def send(request: Request) -> Response:
        sent.append(request)
        return Response(200, (), b'{"choices": [{"message": {"content": "x"}}]}')

    entry = Model(openai="x", base_url="http://llm.inner.test")
    models(entry, world(send, trust=Trust(ci=True))).ask(question())
    admit = sent[0].admit
    assert admit is not None
    admit("10.0.0.5")
    with pytest.raises(Refused):
        admit("169.254.169.254")
    literal = Model(openai="x", base_url="http://169.254.10.1:8080")
    models(literal, world(send)).ask(question())
    admit = sent[1].admit
    assert admit is not None
    admit("169.254.10.1")

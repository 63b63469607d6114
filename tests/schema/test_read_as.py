"""A value converts, or every mistake in it is found with its path: never neither, never both."""

import random
from copy import deepcopy
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from storehelp import EXAMPLES

from baselinekit.files.languages import language
from baselinekit.model.recipes import Config
from baselinekit.schema import read_as
from baselinekit.store.dialects.harness import RegressionFile
from baselinekit.store.dialects.native import Current, NativeRecord
from baselinekit.structs import Struct, plain

RICH = {
    "id": "a",
    "name": None,
    "baseline": {"output": {"status": 200}, "captured_at": "2024-01-15", "observed": {"seconds": 1}},
    "current": {
        "input": {
            "method": "POST",
            "endpoint": "/x",
            "headers": {"A": "b", "N": 1, "F": 1.5, "T": True},
            "params": {"q": ["a", 1], "n": None},
            "json": {"any": [1]},
            "redirects": True,
            "auth": {"type": "bearer", "token": "{{t}}"},
        },
        "execution": {"type": "http", "timeout": 2.5, "verify": "ca.pem"},
    },
    "comparison": {
        "type": "structural",
        "options": {"allow_additional_fields": True},
        "tolerance": {"case_sensitive": True, "a.*": {"min_delta": -0.3, "abs": None}},
        "ignore_fields": ["a"],
        "arrays": {"a": "unordered", "b": {"by": "id"}},
        "fields": {"t": {"type": "numeric", "tolerance": {"abs": 1, "x": {"rel": 0.1}}}},
        "latency": {"max_seconds": 1},
    },
    "metadata": {"criticality": "high", "tags": ["t"], "failure_count": 2},
}
FLOW = {
    "id": "f",
    "current": {
        "input": {"steps": [{"endpoint": "/a", "save": {"t": "body.t"}}, {"url": "http://h/b"}]},
        "execution": {"type": "http"},
    },
}
CHAT = {
    "id": "c",
    "current": {
        "input": {"messages": [{"role": "assistant", "tool_calls": [{"name": "t", "input": {}}]}]},
        "execution": {"type": "mock", "response": "x"},
    },
}
SKILL = {"id": "s", "current": {"execution": {"type": "skill", "skill_name": "k", "parameters": {"a": 1}}}}
CONFIG = {
    "version": 1,
    "baselines": ["a", "b"],
    "environments": {"e": {"base_url": "http://h"}},
    "http": {"timeout": 3, "redirects": 2},
    "commands": {"a": ["x"], "b": {"argv": ["y"], "env": ["E"]}},
    "skills": {"k": {"python": "m:f"}},
}
(RESPONSE,) = language("x.json").load((EXAMPLES / "users-endpoint.json").read_text(), "x.json")
STATED: list[tuple[Any, dict[str, Any]]] = [
    *((NativeRecord, record) for record in (RICH, FLOW, CHAT, SKILL)),
    (Config, CONFIG),
    (RegressionFile, RESPONSE),
]
OTHERS: list[Any] = [
    *(None, True, 0, 1, -1, 1.5, Decimal("1e400"), "", "a", "http", "command", "exact", "each", [], {}),
    *([1], ["a"], {"a": 1}, {"by": "x"}, {"type": "http"}, {"steps": []}, {"abs": 1}, {"argv": ["x"]}),
]


def converts(kind: Any, raw: Any) -> bool:
    def choose(choice: type[Current], value: Any) -> Struct:
        form = choice.form(value)
        if form is None:
            raise msgspec.ValidationError
        return msgspec.convert(value, form, dec_hook=choose, str_keys=True)

    try:
        msgspec.convert(raw, kind, dec_hook=choose, str_keys=True)
    except msgspec.ValidationError:
        return False
    return True


def mutate(value: Any, rng: random.Random) -> None:
    """Change, add or remove something somewhere inside."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = rng.choice(keys) if keys else "new"
    inner = value[key] if keys else None
    if isinstance(inner, dict | list) and inner and rng.random() < 0.8:
        mutate(inner, rng)
    elif isinstance(value, dict) and rng.random() < 0.3:
        value[rng.choice(["new", "type", "input", "timeout", "abs", "tags"])] = deepcopy(rng.choice(OTHERS))
    elif keys and rng.random() < 0.3:
        del value[key]
    elif keys:
        value[key] = deepcopy(rng.choice(OTHERS))


def test_read_as_value_converts_or_has_placed_mistakes() -> None:
    rng = random.Random(3)
    right = 0
    for _ in range(4_000):
        kind, stated = rng.choice(STATED)
        raw = deepcopy(stated)
        for _ in range(rng.randint(1, 3)):
            mutate(raw, rng)
        value, problems = read_as(kind, raw)
        assert (value is not None) is converts(kind, raw) is not bool(problems), raw
        right += value is not None
        for problem in problems:
            assert problem.code in ("BK103", "BK104", "BK105")
            place: Any = raw
            for step in (problem.at or ())[: -1 if problem.code == "BK104" else None]:
                place = place[step]
            assert (problem.code == "BK104") is (problem.message == f"the key {problem.at[-1]!r} is missing")
    assert 300 < right < 3_500


@pytest.mark.parametrize(("kind", "raw"), STATED)
def test_read_as_plain_value_is_the_same(kind: Any, raw: dict[str, Any]) -> None:
    value, _ = read_as(kind, raw)
    assert read_as(kind, plain(value)) == (value, [])


@pytest.mark.parametrize(
    ("key", "value", "message", "hint"),
    [
        ("version", 2, "expected 1, found 2 (integer)", ""),
        ("record", "alwys", "expected one of always, daily, never, found 'alwys' (string)", "'always'"),
        ("allow_hosts", "a.test", "expected a list, found 'a.test' (string)", ""),
        ("limits", 3, "expected a mapping, found 3 (integer)", ""),
        ("commands", {"a": 1}, "expected a list or a mapping, found 1 (integer)", ""),
        ("limits", {"usd": "much"}, "expected a number of 0 or more, found 'much' (string)", ""),
    ],
)
def test_read_as_mistake_names_expected_and_found(key: str, value: Any, message: str, hint: str) -> None:
    _, (problem,) = read_as(Config, {key: value})
    assert problem.message == message
    assert hint in problem.hint

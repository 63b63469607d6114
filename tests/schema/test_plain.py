"""What is plainly right is read without the library that explains what is wrong, and gives the same."""

import random
import subprocess
import sys
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields, is_dataclass
from decimal import Decimal
from typing import Any

import pytest
from storehelp import EXAMPLES, same

from baselinekit.files.languages import language
from baselinekit.model.recipes import Config
from baselinekit.schema.complaints import validated
from baselinekit.schema.records import NotPlain, reader
from baselinekit.store.dialects.harness import RegressionFile
from baselinekit.store.dialects.native import NativeRecord

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
COMMAND = {
    "id": "c",
    "current": {"input": {"argv": ["x"], "files": ["f"]}, "execution": {"type": "command", "parse": "json"}},
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
    *((NativeRecord, record) for record in (RICH, FLOW, COMMAND, SKILL)),
    (Config, CONFIG),
    (RegressionFile, RESPONSE),
]
OTHERS: list[Any] = [
    *(None, True, 0, 1, -1, 1.5, Decimal("1e400"), "", "a", "http", "command", "exact", "each", [], {}),
    *([1], ["a"], {"a": 1}, {"by": "x"}, {"type": "http"}, {"steps": []}, {"abs": 1}, {"argv": ["x"]}),
]


@pytest.mark.parametrize(("kind", "raw"), STATED)
def test_what_is_right_is_plain(kind: Any, raw: dict[str, Any]) -> None:
    assert same_instance(reader(kind)(raw), validated(kind, raw)[0])


def test_whatever_is_plain_is_right() -> None:
    rng = random.Random(3)
    plain = 0
    for _ in range(4_000):
        kind, stated = rng.choice(STATED)
        raw = deepcopy(stated)
        for _ in range(rng.randint(1, 2)):
            mutate(raw, rng)
        try:
            found = reader(kind)(raw)
        except NotPlain:
            continue
        plain += 1
        right, problems = validated(kind, raw)
        assert not problems, (raw, problems)
        assert same_instance(found, right), raw
    assert plain > 500


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


def names(one: Any) -> list[str]:
    return [field.name for field in fields(one)]


def same_instance(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and any(map(is_dataclass, one.values())):
        return list(one) == list(other) and all(same_instance(one[key], other[key]) for key in one)
    if is_dataclass(one):
        return all(same_instance(getattr(one, n), getattr(other, n)) for n in names(one))
    return same(one, other) or one is other


def test_a_project_in_which_nothing_is_wrong_is_read_without_the_library() -> None:
    code = (
        "import sys; from baselinekit.schema.records import check;"
        "from baselinekit.store.dialects.native import NativeRecord as Record;"
        f"found, problems = check(Record, {RICH!r});"
        "assert found and not problems;"
        "assert not [name for name in sys.modules if name.startswith('pydantic')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@dataclass(frozen=True)
class WithTuples:
    pairs: tuple[tuple[int, int], ...] = ()
    labels: Mapping[int, str] = field(default_factory=dict)


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ({"pairs": [[1, 2], [3, 4]]}, WithTuples(((1, 2), (3, 4)))),
        ({"labels": {"-1": "bad", "5": "good"}}, WithTuples(labels={-1: "bad", 5: "good"})),
        ({"pairs": [[1, 2, 3]]}, None),
        ({"pairs": [[1, "2"]]}, None),
        ({"pairs": "ab"}, None),
        ({"labels": {"five": "good"}}, None),
        ({"labels": {"5": 5}}, None),
    ],
)
def test_tuples_are_lists_and_numbers_are_texts_as_keys(raw: Any, wanted: WithTuples | None) -> None:
    if wanted is not None:
        assert reader(WithTuples)(raw) == wanted
        return
    with pytest.raises(NotPlain):
        reader(WithTuples)(raw)

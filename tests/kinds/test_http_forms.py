"""JSON that a service sends as plain text: a new recipe says that it is JSON, and nothing else becomes it."""

from typing import Any

import pytest

from baselinekit.kinds.table import kind_of
from baselinekit.store.reading import parse_record

CASES: list[tuple[str, str, Any]] = [
    ("text/plain", '{"ok": true}\n', {"ok": True}),
    ("text/plain; charset=utf-8", ' [1, {"a": 2}]', [1, {"a": 2}]),
    ("TEXT/PLAIN", "{}", {}),
    ("text/plain", "12", None),
    ("text/plain", '"word"', None),
    ("text/plain", "null", None),
    ("text/plain", "{name} is here", None),
    ("text/plain", '{"a": 1}\n{"a": 2}\n', None),
    ("text/plain", '{"a": 1, "a": 2}', None),
    ("text/plain", "[2026-11-24] INFO started", None),
    ("text/html", '{"ok": true}', None),
    ("text/csv", "[1]", None),
]


def recipe(**execution: Any) -> Any:
    current = {"input": {"method": "GET", "endpoint": "/x"}, "execution": {"type": "http", **execution}}
    return parse_record({"id": "x", "current": current, "metadata": {}}).current


@pytest.mark.parametrize(("media", "body", "value"), CASES)
def test_which_text_is_json(media: str, body: str, value: Any) -> None:
    output = {"status": 200, "headers": {"content-type": media}, "body": body}
    found = kind_of(recipe()).form_found(recipe(), output)
    assert (found.output["body"] if found else None) == value
    assert found is None or found.execution == {"parse": "json"}


def test_what_the_recipe_says_stays() -> None:
    output = {"status": 200, "headers": {"content-type": "text/plain"}, "body": "{}"}
    asked = recipe(parse="text")
    assert kind_of(asked).form_found(asked, output) is None
    assert kind_of(recipe()).form_found(recipe(), {**output, "headers": {}}) is None

"""Paths of both forms lead to their places; a text that is not a path is an error with its reason (F54)."""

import time
from contextlib import suppress

import pytest
from hypothesis import assume, given, strategies as st

from baselinekit.errors import InvalidInput
from baselinekit.model.values import Json, Path
from baselinekit.values.paths import find, parse, render, roots, suggest_path

DOC = {
    "users": [
        {"id": 1, "name": "Ada", "tags": ["a", "b"], "address": {"id": "x"}},
        {"id": 2, "name": "Bob", "tags": [], "0": "zero"},
        {"id": 3, "name": None},
    ],
    "meta": {"total": 3, "page.size": 20, "x-id": "h", "": "empty", "two words": 1, "ключ": 2, "*": 9},
    "0": {"id": "top"},
    "²": "two",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("meta.total", ["meta.total"]),
        ("users[0].id", ["users[0].id"]),
        ("users.0.id", ["users[0].id"]),
        ("users[-1].name", ["users[2].name"]),
        ("users.*.id", ["users[0].id", "users[1].id", "users[2].id"]),
        ("users[*].id", ["users[0].id", "users[1].id", "users[2].id"]),
        ("users[*].tags[*]", ["users[0].tags[0]", "users[0].tags[1]"]),
        ("users[1].0", ['users[1]."0"']),
        ("**.id", ["users[0].id", "users[0].address.id", "users[1].id", "users[2].id", '"0".id']),
        ("users.**.id", ["users[0].id", "users[0].address.id", "users[1].id", "users[2].id"]),
        ("**.address.**.id", ["users[0].address.id"]),
        ("0.id", ['"0".id']),
        ('"0".id', ['"0".id']),
        ('users."0".id', []),
        ("users['0'].id", []),
        ('users[1]."0"', ['users[1]."0"']),
        ('users.*["0"]', ['users[1]."0"']),
        ("$.users['0'].id", []),
        ("[0]", []),
        ("²", ["²"]),
        ("users.²", []),
        ("users.00.id", []),
        ('meta."page.size"', ['meta."page.size"']),
        ('meta["page.size"]', ['meta."page.size"']),
        ("meta['page.size']", ['meta."page.size"']),
        ("meta.x-id", ["meta.x-id"]),
        ('meta."x-id"', ["meta.x-id"]),
        ('meta.""', ['meta.""']),
        ("meta.two words", ['meta."two words"']),
        ("meta.ключ", ["meta.ключ"]),
        (r'meta."\u043a\u043b\u044e\u0447"', ["meta.ключ"]),
        ('meta."*"', ['meta."*"']),
        ("meta.nothing", []),
        ("users.id", []),
        ("users[9].id", []),
        ("users[-9]", []),
        ("*.total", ["meta.total"]),
        # JSONPath
        ("$", ["$"]),
        ("$.users.*.id", ["users[0].id", "users[1].id", "users[2].id"]),
        ("$.users[0,2].id", ["users[0].id", "users[2].id"]),
        ("$.users..id", ["users[0].id", "users[0].address.id", "users[1].id", "users[2].id"]),
        ("$['meta']['page.size']", ['meta."page.size"']),
        ("$.users[?(@.name == 'Ada')].id", ["users[0].id"]),
    ],
)
def test_find_gives_places_of_path(text: str, places: list[str]) -> None:
    found = find(parse(text), DOC)
    assert [render(path) for path, _ in found] == places
    assert [value for _, value in found] == [_at(DOC, path) for path, _ in found]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        (".", "leads nowhere"),
        ("[]", "leads nowhere"),
        (".users", "cannot be read at character 1"),
        ("users.", "cannot be read at character 6"),
        ("users..id", "cannot be read at character 6"),
        ("users[", "cannot be read at character 6"),
        ("users[x]", "cannot be read at character 6"),
        ("users[1", "cannot be read at character 6"),
        ("users[*]id", "cannot be read at character 9"),
        ('a"b"', "cannot be read at character 2"),
        (r'a."\q"', "is not a JSON string"),
        ("x" * 1025, "is longer than 1024 characters"),
        ("$..a..b", "more than one `..`"),
    ],
)
def test_parse_invalid_path_is_an_error(text: str, why: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(text)
    (problem,) = caught.value.problems
    assert problem.code == "BK201"
    assert why in problem.message
    assert len(problem.message) < 250


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("meta.totl", "did you mean 'meta.total'?"),
        ("users.*.nmae", "did you mean 'users.*.name'?"),
        ("$.users[*].nam", "did you mean 'users.*.name'?"),
        ("qqqqqq", ""),
        ("*", ""),
    ],
)
def test_suggest_path_names_nearest(text: str, hint: str) -> None:
    assert suggest_path(parse(text), DOC) == hint


def test_suggest_path_with_odd_keys() -> None:
    assert suggest_path(parse("it.s"), {"it's": 1, 'a"b': 2, "back\\slash": 3}) != ""
    assert suggest_path(parse("back.slas"), {"back\\slash": 3}) == "did you mean '\"back\\\\\\\\slash\"'?"


OUTPUT = {"status": 200, "headers": {"date": "x"}, "body": {"users": [{"id": 1}], "status": "ok"}}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("users.*.id", [("body",)]),
        ("headers.date", [()]),
        ("body.users", [()]),
        ("status", [(), ("body",)]),
        ("$.status", [()]),
        ("$.users", [()]),
        ("**.id", [()]),
        ("nothing", []),
    ],
)
def test_roots_of_path_in_http_output(text: str, found: list[Path]) -> None:
    assert roots(parse(text), OUTPUT) == found


MORE_EXACT = [
    ["users[0].tags[1]", "users[0].tags[*]", "users[*].tags[*]", "users.**.tags[*]", "**.tags[*]", "**"],
    ["users[0].id", "users.*.id", "*.*.id", "*.*.*", "users.**.id", "**.id", "**.*", "**"],
]


@pytest.mark.parametrize("texts", MORE_EXACT)
def test_specificity_orders_paths(texts: list[str]) -> None:
    assert sorted(texts, key=lambda text: parse(text).specificity, reverse=True) == texts


def test_find_endless_path_in_deep_document_is_linear() -> None:
    deep: Json = {"a": 1}
    for _ in range(60):
        deep = {"a": deep, "b": [deep]} if _ < 8 else {"a": deep}
    pattern = parse("**.a.**.a.**.a")
    began = time.process_time()
    assert find(pattern, deep)
    assert len(parse("$" + ".a" * 500).segments) == 500
    assert time.process_time() - began < 2


KEYS = st.one_of(
    st.sampled_from(
        ["a", "b", "id", "users", "0", "7", "*", "**", "$", "x-id", "a.b", "", "it's", 'q"', "²"]
    ),
    st.text(max_size=5),
)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(KEYS, below, max_size=4),
    max_leaves=12,
)


@pytest.mark.slow
@given(DOCUMENTS)
def test_render_path_leads_back_to_its_place(document: Json) -> None:
    for path in _places(document):
        assume(len(render(path)) <= 1024)
        assert find(parse(render(path)), document) == [(path, _at(document, path))]


@pytest.mark.slow
@given(DOCUMENTS)
def test_find_deep_wildcard_gives_every_place_once(document: Json) -> None:
    assert [path for path, _ in find(parse("**"), document)] == list(_places(document))
    assert [path for path, _ in find(parse("**.*"), document)] == list(_places(document))[1:]


@pytest.mark.slow
@given(st.text(max_size=12) | st.text("ab.*[]$'\"0-\\ ", max_size=10))
def test_parse_any_text_is_a_path_or_an_error(text: str) -> None:
    with suppress(InvalidInput):
        find(parse(text), DOC)


def _places(value: Json, path: Path = ()) -> "list[Path]":
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] + [place for key, child in below for place in _places(child, (*path, key))]


def _at(value: Json, path: Path) -> Json:
    for key in path:
        value = value[key]
    return value

"""An edit changes its place and leaves every other byte as it is."""

from typing import Any

import pytest
from storehelp import same

from baselinekit.errors import NotRecorded
from baselinekit.files.edit import edited
from baselinekit.files.languages import JSON, YAML
from baselinekit.model.values import Edit
from baselinekit.values.changes import Hints
from baselinekit.values.places import with_values

LAST, COUNT = ("metadata", "last_passed"), ("metadata", "failure_count")

CASES = [
    # a scalar in each of its styles, with the text beside it
    ("a: 1 # one\nb: 2\n", ("a",), 2, "a: 2 # one\nb: 2\n"),
    ('a: "x"   # c\r\nb: 1\r\n', ("a",), "y", 'a: "y"   # c\r\nb: 1\r\n'),
    ("a: 2024-01-01\n", ("a",), "2024-01-02", 'a: "2024-01-02"\n'),
    ("a:\nb: 1\n", ("a",), "x", "a: x\nb: 1\n"),
    ("a: # nothing yet\nb: 1\n", ("a",), 7, "a: 7 # nothing yet\nb: 1\n"),
    ("-\n- b\n", (0,), 7, "- 7\n- b\n"),
    ("{a: , b: 2}", ("a",), 3, "{a:  3, b: 2}"),
    ("{a, b: 2}", ("a",), 3, "{a: 3, b: 2}"),
    ("a: |\n  one\n  two\n\nb: 1\n", ("a",), "x", "a: x\n\nb: 1\n"),
    ("a: >-\n  one\n  two\nb: 1\n", ("a",), None, "a: null\nb: 1\n"),
    ("a:\n  b: 1\n  c: 2\nd: 3\n", ("a",), 5, "a: 5\nd: 3\n"),
    ("a: 1\nd: 3\n", ("a",), {"x": 1, "z": "p\nq\n"}, "a:\n  x: 1\n  z: |\n    p\n    q\nd: 3\n"),
    ("a:\n    b: 1\nd: 3\n", ("d",), {"x": {"z": 1}}, "a:\n    b: 1\nd:\n    x:\n        z: 1\n"),
    ("a: [1, 2]\n", ("a", 1), {"x": None}, "a: [1, {x: null}]\n"),
    # an anchor without an alias goes; an alias is replaced alone
    ("a: &x 1\nb: 2\n", ("a",), 5, "a: 5\nb: 2\n"),
    ("a: &x {p: 1}\nb: *x\n", ("b", "p"), 5, "a: &x {p: 1}\nb:\n  p: 5\n"),
    # a new key: at the end, in the style of what is there
    ("a: 1", ("b",), 2, "a: 1\nb: 2"),
    ("a: 1  # c\n# end\n", ("b",), 2, "a: 1  # c\nb: 2\n# end\n"),
    ("- a: 1\n\n- a: 2\n", (0, "b"), 2, "- a: 1\n  b: 2\n\n- a: 2\n"),
    ("a: |\n  text\n\n\n", ("b",), 2, "a: |\n  text\nb: 2\n\n\n"),
    ("a: |+\n  text\n\n", ("b",), 2, "a: |+\n  text\n\nb: 2\n"),
    ("a:\n  - x\n  -\n", ("b",), 2, "a:\n  - x\n  -\nb: 2\n"),
    ("m:\nz: 1\n", ("m", "b"), 2, "m:\n  b: 2\nz: 1\n"),
    ("m: null # c\nz: 1\n", ("m", "b"), 2, "m: # c\n  b: 2\nz: 1\n"),
    ("m: {}\n", ("m", "b"), 2, "m:\n  b: 2\n"),
    ("m: {x: 1,}\n", ("m", "b"), 2, "m: {x: 1, b: 2,}\n"),
    ("{}", ("b",), {"c": 2}, "b:\n  c: 2"),
    ('{"a": 1}\n', ("b",), "x", '{"a": 1, b: x}\n'),
    ("---\na: 1\n---\nb: 2\n...\n", ("c",), 1, "---\na: 1\nc: 1\n---\nb: 2\n...\n"),
]


@pytest.mark.parametrize(("old", "path", "value", "new"), CASES)
def test_edited_path_in_yaml(old: str, path: tuple[Any, ...], value: Any, new: str) -> None:
    assert edited(old, [Edit(path, value)], YAML) == new
    assert same(YAML.load(new, "")[0], with_values(YAML.load(old, "")[0], {path: value})) or "b: 2\na" in new


JSON_CASES = [
    ('{"a": 1}', ("a",), "x", '{"a": "x"}'),
    ('{"a":1,"b":[1,2]}', ("b", 1), None, '{"a":1,"b":[1,null]}'),
    ('{"a": {"b": 1}}', ("a",), {"c": []}, '{"a": {"c": []}}'),
    ('{"a": 1}', ("b",), 2, '{"a": 1, "b": 2}'),
    ('{\n\t"a": 1\n}\n', ("b",), {"c": 2}, '{\n\t"a": 1,\n\t"b": {\n\t\t"c": 2\n\t}\n}\n'),
    ('{\r\n  "a": {\r\n    "b": 1\r\n  }\r\n}', ("a", "c"), 2,
     '{\r\n  "a": {\r\n    "b": 1,\r\n    "c": 2\r\n  }\r\n}'),
    ('{"a": null}', ("a", "b"), 2, '{"a": {"b": 2}}'),
    ('[{"a\\u0062": 1}]', (0, "ab"), 2, '[{"a\\u0062": 2}]'),
]  # fmt: skip


@pytest.mark.parametrize(("old", "path", "value", "new"), JSON_CASES)
def test_edited_path_in_json(old: str, path: tuple[Any, ...], value: Any, new: str) -> None:
    assert edited(old, [Edit(path, value)], JSON) == new


def test_edited_new_key_is_placed_by_siblings() -> None:
    hints = Hints(siblings=("baseline", "current", "metadata"))
    old = "- id: x\n  # how to ask\n  current: {}\n  metadata: {}\n"
    new = "- id: x\n  baseline:\n    output: 1\n  # how to ask\n  current: {}\n  metadata: {}\n"
    assert edited(old, [Edit((0, "baseline"), {"output": 1})], YAML, hints=hints) == new
    assert (
        edited("current: 1\nid: 2\n", [Edit(("baseline",), 3)], YAML, hints=hints)
        == "baseline: 3\ncurrent: 1\nid: 2\n"
    )
    assert (
        edited("{id: 1, current: 1}", [Edit(("baseline",), 3)], YAML, hints=hints)
        == "{id: 1, baseline: 3, current: 1}"
    )
    head = "# yaml-language-server: $schema=x\ncurrent: 1\n"
    assert edited(head, [Edit(("baseline",), 3)], YAML, hints=hints) == head.replace(
        "current", "baseline: 3\ncurrent"
    )


def test_edited_several_missing_keys_are_one_insertion() -> None:
    edits = [Edit(LAST, None), Edit(COUNT, 1)]
    assert edited("id: a\n", edits, YAML) == "id: a\nmetadata:\n  last_passed: null\n  failure_count: 1\n"
    new = '{"id": 1, "metadata": {"last_passed": null, "failure_count": 1}}'
    assert edited('{"id": 1}', edits, JSON) == new


def test_edited_key_below_a_text_is_an_error() -> None:
    with pytest.raises(NotRecorded, match=r"BK122 a\.b cannot be changed"):
        edited("a: text\n", [Edit(("a", "b"), 1)], YAML)


def test_edited_new_keys_of_nested_mappings() -> None:
    """Each goes to the end of its own, whichever is named first."""
    body = "a:\n  b:\n    c: 1\nd: 2\n"
    edits = [Edit(("a", "b", "e"), 3), Edit(("a", "f"), 4)]
    for order in (edits, edits[::-1]):
        assert edited(body, order, YAML) == "a:\n  b:\n    c: 1\n    e: 3\n  f: 4\nd: 2\n"


@pytest.mark.parametrize(
    ("text", "path", "what"),
    [
        ("m: {\n  x: 1, # c\n  y: 2 # d\n}\n", ("m", "b"),
         r"BK122 m\.b cannot be changed .*comments in brackets"),
        ("a: |\n  text", ("b",), r"BK122 b cannot be changed .*line end"),
        ("a: &x {p: 1}\nb: *x\n", ("a", "p"), r"BK122 a\.p cannot be changed .*without anchors"),
    ],
)  # fmt: skip
def test_edited_refuses_to_lose_a_comment_or_change_an_alias(
    text: str, path: tuple[str, ...], what: str
) -> None:
    with pytest.raises(NotRecorded, match=what):
        edited(text, [Edit(path, 5)], YAML)

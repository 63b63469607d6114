"""JSON Lines: a value a line, read as strictly as JSON, each with its place in the whole file."""

import json

import pytest
from hypothesis import given, strategies as st

from baselinekit.errors import InvalidInput
from baselinekit.files.edit import edited
from baselinekit.files.languages import JSON_LINES, language
from baselinekit.files.text import mark, place, reach
from baselinekit.model.values import Edit

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
ENDS = st.sampled_from(["\n", "\r\n", "\n\n", " \n\t\n"])


def test_language_of_jsonl_name() -> None:
    assert language("a/cases.jsonl") is JSON_LINES
    assert language("a/cases.json") is not JSON_LINES


@given(st.lists(st.tuples(VALUES, ENDS), max_size=5), st.booleans())
def test_json_lines_each_line_is_a_document(lines: list[tuple[object, str]], raw: bool) -> None:
    body = "".join(json.dumps(value, ensure_ascii=not raw) + end for value, end in lines)
    assert JSON_LINES.load(body, "f.jsonl") == [value for value, _ in lines]


@given(st.lists(st.tuples(VALUES, ENDS), min_size=1, max_size=5), st.data())
def test_json_lines_marks_lead_to_each_value(lines: list[tuple[object, str]], data: st.DataObject) -> None:
    body = "".join(json.dumps([0, value], ensure_ascii=False) + end for value, end in lines)
    number = data.draw(st.integers(0, len(lines) - 1))
    node = reach(mark(JSON_LINES.events(body)), number, (1,))[0][-1]
    assert json.JSONDecoder().raw_decode(body, node.start)[0] == lines[number][0]


@pytest.mark.parametrize(
    ("body", "places"),
    [
        ('{"a": 1}\n\n{"a" 2}\n', ["BK101 f.jsonl:3:6"]),
        ('{"a": 1}\n{"b": 1, "c": 2, "b": 3}\r\n[1', ["BK102 f.jsonl:2:18", "BK101 f.jsonl:3:3"]),
        ("[NaN]\n[1]\n[-Infinity]\n", ["BK106 f.jsonl:1:2", "BK106 f.jsonl:3:2"]),
        ('{"a":\n1}\n', ["BK101 f.jsonl:1:6", "BK101 f.jsonl:2:2"]),
        ("1 2\n", ["BK101 f.jsonl:1:3"]),
    ],
)
def test_json_lines_mistakes_have_their_places(body: str, places: list[str]) -> None:
    with pytest.raises(InvalidInput) as caught:
        JSON_LINES.load(body, "f.jsonl")
    assert [f"{problem.code} {problem.place}" for problem in caught.value.problems] == places


def test_json_lines_edited_keeps_every_other_line() -> None:
    body = '{"id": "a", "metadata": {"n": 1}}\n{ "id": "b","metadata": {} }\n\n{"id": "c"}\n'
    after = edited(body, [Edit(("metadata", "n"), 2)], JSON_LINES, 1)
    assert JSON_LINES.load(after, "f.jsonl")[1] == {"id": "b", "metadata": {"n": 2}}
    assert after.split("\n")[0] == body.split("\n")[0]
    assert after.split("\n")[2:] == body.split("\n")[2:]
    assert str(place("f.jsonl", after, after.index('"n": 2'))).startswith("f.jsonl:2:")

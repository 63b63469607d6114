"""What is read line by line is what libyaml reads: the same values and places, or nothing at all."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st
from storehelp import Hand, same, values

from baselinekit.documents import libyaml
from baselinekit.documents.languages import dump_yaml
from baselinekit.documents.text import END, Event, Watched
from baselinekit.documents.yamllines import _LineReader, has_plain_marks, plain_events, read_plain
from baselinekit.errors import BaselinekitError

WRITTEN = """\
# yaml-language-server: $schema=../../.baselinekit/baseline.schema.json
id: users-list
baseline:
  output:
    status: 200
    headers:
      content-type: application/json
    body:
      users:
        - id: <<any_uuid>>
          name: Ada (the first)
          scores:
            - 1
            - -2.5
            - - 1e3
              - "no"

        - {}
      next: http://127.0.0.1:8000/users?page=2&size=10
      "odd key": ''
      text: |-
        First: #1

          - second
      escaped: "a\\tb: \\u00fc # \\\\"
      it's: 'it''s'
      nothing:
  # when
  captured_at: "2024-01-15T10:30:00Z"
metadata:
  tags: []
  last_passed: null
  failure_count: 3
"""
FLUSH = """\
baseline:
  output:
    users:
    - id: <<any_uuid>>
      scores:
      - 1
      - - 1e3
        - "no"
      name: Ada
    - tags:
      - a
    - {}
    - none:
    - - b: c
        d:
        - e
metadata:
  tags:
  - x
  last_passed: null
  failure_count: 3
"""
TOKENS = [
    *("- ", "  ", " ", ": ", ":", "\n", '"', "'", "#", " #", "[]", "{}", "|", ">", "&a ", "*a", "!!str "),
    *("? ", "---", "...", "<<", "null", "~", "0x1F", "1_0", ".inf", "\t", "\r", "\ufeff", "\x85", "\u2028"),
    *(
        "a: b",
        "- a",
        "\n- ",
        "\n  ",
        "\\",
        "\\n",
        "%",
        "@",
        "`",
        ",",
        "=",
        "last_passed: ",
        "é",
        "\U0001f600",
    ),
]


def by_libyaml(body: str) -> tuple[list[Any], Watched] | None:
    watched: Watched = {"last_passed": [], "failure_count": []}
    reader = libyaml._Reader(body, "f", watched)
    try:
        documents = reader.documents(libyaml._parser(body, False))
    except (BaselinekitError, libyaml.yaml.YAMLError):
        return None
    return None if reader.problems else (documents, watched)


def agree(body: str) -> bool:
    """Whether it was read at all; if so, it must be as libyaml has it."""
    watched: Watched = {"last_passed": [], "failure_count": []}
    found = read_plain(body, watched)
    if found is None:
        assert not any(watched.values()), body
        return False
    whole = by_libyaml(body)
    assert whole is not None, body
    assert same(found, whole[0]), (body, found, whole[0])
    for key, met in watched.items():
        assert met == whole[1][key] or not met, (body, key)
    if has_plain_marks(body):
        assert placed(plain_events(body)) == placed(libyaml.events(body)), body
    return True


def placed(events: Iterator[Event]) -> list[tuple[object, ...]]:
    """Every event; of where something ends whether a bracket ends it: a block just stops."""
    return [
        (END, end > start) if kind == END else (kind, start, end, *rest) for kind, start, end, *rest in events
    ]


def test_what_capture_writes_is_read_line_by_line() -> None:
    assert agree(WRITTEN)
    watched: Watched = {"last_passed": [], "failure_count": []}
    (document,) = read_plain(WRITTEN, watched) or [None]
    ((box, (start, end)),) = watched["failure_count"]
    assert box is document["metadata"]
    assert WRITTEN[start:end] == "3"
    assert agree(WRITTEN.removesuffix("\n"))


@pytest.mark.parametrize(
    "text",
    [
        *("", "# only\n", "a", "- \n", "a: >\n  b\n", "a: b\n  c\n", "a: b: c\n", "a:\n  b\n", "a: &x 1\n"),
        *("a: 1\na: 2\n", "1: a\n", "null: a\n", "<<: a\n", "a: .nan\n", "a: [1]\n", "a:  b\n", "a: b \n"),
        *("a: 1\n b: 2\n", "  a: 1\nb: 2\n", "- a\n  b: 1\n", "a: 1\n- b\n", "a: 'b'c'\n", 'a: "\\ud83d"\n'),
        *("a: |\n b\n  c", "a: |\n\tb\n", "a: |\n   \n  b\n", "a: |\nb: 1\n", "- |\n- a\n", "a: |2x\n  b\n"),
        *('a: "b\n', 'a: "b"c\n', 'a: "\\q"\n', '"a": "b": c\n', "a: - b\n", "- a:\n- - b: c:\n", "a: b:\n"),
        *(
            "a: -\n",
            "a: ...\n...\n",
            "a:: b\n",
            "a: `b\n",
            "a: @b\n",
            "? a\n",
            "a: - \n",
            "- key: a\n key: b\n",
        ),
        *("a:\n  b: 1\n- c\n", "a:\n- b\nc\n", "- a:\n  - b\n  - c: 1\n   d: 1\n", "a:\n  - b\n- c\n"),
        *("a:\n- b\n  c: 1\n", "a:\n- b\na: 1\n", "a:\n  - b\n  c: 1\n"),
        *("---\na: 1\n", "a: 1\n...\n", "a: 1\r\n", "a:\t1\n", "a: b #c\n", "a: #c\n", "- - a\n - b\n"),
        "- " * 65 + "a\n",
        f"a: {'1' * 1_001}\n",
    ],
)
def test_anything_else_is_left_to_libyaml(text: str) -> None:
    assert read_plain(text, {}) is None


def test_a_name_that_is_also_in_a_text_is_not_taken_for_its_place() -> None:
    body = 'note: "see last_passed: 1"\nmetadata:\n  last_passed: null\n'
    watched: Watched = {"last_passed": []}
    assert read_plain(body, watched)
    assert watched["last_passed"] == []


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "b-c", "last_passed"]), values, min_size=1), st.data())
def test_whoever_wrote_it(value: dict[str, Any], data: st.DataObject) -> None:
    agree(dump_yaml(value))
    agree(Hand(lambda options: data.draw(st.sampled_from(options))).document(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: |\n  b\n", {"a": "b\n"}),
        ("a: |-\n  b\n\n   c\nd: 1\n", {"a": "b\n\n c", "d": 1}),
        ("a: |+\n  b\n\n\n# x\nd: ~\n", {"a": "b\n\n\n", "d": None}),
        ("a: |2\n   b: c #\n   \n  \t\n", {"a": " b: c #\n \n\t\n"}),
        ("- - |\n    a\n    \n  - 'b''c'\n", [["a\n", "b'c"]]),
        (
            '- "a: \\"b\\" # \\u00e9\\x1b\\n\\\\x41"\n- b: "c # d"\n',
            ['a: "b" # é\x1b\n\\x41', {"b": "c # d"}],
        ),
        ("/a/{b}: c:d\nUser Agent: 2024-01-01\né: -1e-5\n2024-01-01: 3e-x\n", None),
        ('"a: b": 1\n"# c":\n  - x\n\'"\': "\'"\n', {"a: b": 1, "# c": ["x"], '"': "'"}),
        ("a: 0x1F\nb: .5\nc: +7\nd: 0o17\ne: 007\nf: 1.\ng: 12345678901234567\nh: ~x\ni: nullx\n", None),
        ("a: b\tc\n", None),
        ("a:\n- b\n- c: 1\n  d:\n  - - e\n    - f:\n      - g\n  h: 2\ni:\n- j\n- k:\n- l\n", None),
        ("- a:\n  - b\n  c:\n- d\n", [{"a": ["b"], "c": None}, "d"]),
    ],
)
def test_what_is_seldom_written(text: str, value: object) -> None:
    """None: as libyaml has it, whatever that is."""
    if value is not None:
        assert read_plain(text, {}) == [value]
    assert agree(text) or "\t" in text
    for short in range(len(text)):
        agree(text[:short])


def test_a_key_in_a_mapping_within_another_of_the_same_name_has_no_sure_place() -> None:
    body = "last_passed:\n  a: 1\nmetadata:\n  inner:\n    last_passed: 1\n  last_passed: 2\n"
    watched: Watched = {"last_passed": []}
    assert read_plain(body, watched)
    assert watched["last_passed"] == []


SMALL = st.recursive(
    st.sampled_from(["a", "- b", "c: d", "", "e\nf", None, 1, 2.5, True, "1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "b-c", "last_passed"]), SMALL, min_size=1))
def test_lists_below_their_key_as_most_programs_write_them(value: dict[str, Any]) -> None:
    agree(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=10_000))


def test_most_of_what_other_programs_write_is_read_line_by_line() -> None:
    rows = [{"id": number, "tags": ["a", "b"], "of": [{"k": [1, 2.5]}, None, []]} for number in range(3)]
    assert agree(yaml.safe_dump({"rows": rows, "last_passed": None, "n": {"list": ["x"]}}))


def test_mutations_of_what_is_written() -> None:
    rng = random.Random(7)
    read = 0
    for number in range(4_000):
        body = FLUSH if number % 4 == 0 else WRITTEN
        for _ in range(rng.randint(1, 3)):
            start = rng.randrange(len(body))
            end = start + rng.choice([0, 0, 1, 2, 6])
            body = body[:start] + rng.choice([*TOKENS, "", body[end : end + 12]]) + body[end:]
        read += agree(body)
    assert 400 < read < 2_500


def many_rows(rng: random.Random) -> list[Any]:
    """Rows of few shapes, as answers hold them; one in many has a shape of its own."""

    def leaf() -> Any:
        return rng.choice(
            [
                *(
                    rng.randrange(10**6),
                    -7,
                    2.5,
                    -0.25,
                    "12-34",
                    "5 Main Street",
                    "0e1a",
                    "007",
                    "1.2.3",
                    "1e5",
                ),
                *(
                    "text",
                    "true",
                    "yes",
                    True,
                    None,
                    "a: b",
                    "- x",
                    "it's",
                    '"q"',
                    "",
                    "x # y",
                    "é",
                    "\\",
                    "~",
                ),
                *(
                    "two\nlines",
                    "First:\n  - x\n\nlast\n",
                    "\n a\n",
                    [],
                    {},
                    1e22,
                    12345678901234567,
                    "|",
                    "f",
                    "n",
                ),
            ]
        )

    def shape(depth: int) -> Any:
        kind = rng.random()
        if kind < 0.2 and depth:
            return [shape(depth - 1) for _ in range(rng.randrange(1, 4))]
        if kind < 0.5 and depth:
            return {
                rng.choice("abcdef") + rng.choice(["", " x", ".y", '"']): shape(depth - 1) for _ in range(4)
            }
        sample = [leaf() for _ in range(rng.randrange(1, 4))]
        return lambda: rng.choice(sample)

    def filled(one: Any) -> Any:
        if isinstance(one, dict):
            return {key: filled(item) for key, item in one.items()}
        return [filled(item) for item in one] if isinstance(one, list) else one()

    shapes = [shape(3) for _ in range(rng.choice([1, 1, 2, 3]))]
    rows = [filled(rng.choice(shapes)) for _ in range(rng.choice([60, 300]))]
    for _ in range(rng.choice([0, 0, 1, 3])):
        rows[rng.randrange(len(rows))] = leaf()
    return rows


def agree_on_rows(rng: random.Random, how: str) -> None:
    rows = many_rows(rng)
    value = (
        {"baseline": {"rows": rows, "last_passed": None}}
        if how == "nested"
        else {"rows": rows, "more": rows[:3]}
    )
    if how == "flush":
        body = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=10_000)
        agree(body)
    else:
        body = dump_yaml(value)
        assert agree(body)
    for _ in range(3):
        start = rng.randrange(len(body))
        end = start + rng.choice([0, 1, 4])
        agree(body[:start] + rng.choice([*TOKENS, "", body[end : end + 12]]) + body[end:])


HOW = st.sampled_from(["nested", "flat", "flush"])


@settings(max_examples=8, deadline=None)
@given(st.randoms(use_true_random=False), HOW)
def test_rows_that_are_read_together(rng: random.Random, how: str) -> None:
    agree_on_rows(rng, how)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.randoms(use_true_random=False), HOW)
def test_many_rows_that_are_read_together(rng: random.Random, how: str) -> None:
    agree_on_rows(rng, how)


LIKE = st.sampled_from(
    [
        *(
            "text",
            "a: b",
            "x:",
            "- x",
            "|",
            "",
            " y",
            "x # y",
            "12:30",
            "two\nlines",
            "two\n  lines\n",
            " \na\n",
        ),
        *(1, 2.5, True, None),
        *([], {}, {"k": "v"}, {"k": None}, ["x"], [["x"]]),
    ]
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(LIKE, min_size=5, max_size=5), min_size=2, max_size=4), st.booleans())
def test_rows_that_were_met_in_another_text_are_read_alike(texts: list[list[Any]], flush: bool) -> None:
    for one in texts:
        rows = [
            {"id": n, "a": one[0], "in": {"b": one[1], "c": [one[2], one[3]]}, "d": one[4]} for n in range(30)
        ]
        value = {"rows": rows, "last_passed": None}
        if flush:
            agree(yaml.safe_dump(value, sort_keys=False, width=10_000))
        else:
            assert agree(dump_yaml(value))


def test_rows_are_read_together_whatever_their_shape() -> None:
    """All but the first and the last of a list, those of another shape among them."""
    rows = [
        {"id": n, "of": {"tags": ["a", f"b{n}"], "none": None}, "text": "one\n\ntwo" if n % 3 else "one"}
        for n in range(100)
    ]
    body = dump_yaml({"rows": [*rows, {"odd": 1}, *rows], "numbers": [*range(300)]})
    reader = _LineReader(body)
    reader.read()
    assert reader.root == [{"rows": [*rows, {"odd": 1}, *rows], "numbers": [*range(300)]}]
    assert reader.row_keys == {"id", "of", "tags", "none", "text", "odd"}
    assert len(reader.mappings) < 10
    assert reader.keyless > 0.95 * len(reader.lines)


def test_rows_may_be_as_deep_as_anything() -> None:
    deep: Any = "x"
    for _ in range(60):
        deep = {"a": deep}
    body = dump_yaml({"of": {"rows": [deep] * 100}})
    assert agree(body)
    assert not agree("a:\n  b:\n" + "".join(f"    {line}\n" for line in body.splitlines()))


@settings(max_examples=8, deadline=None)
@given(st.randoms(use_true_random=False))
def test_entries_that_are_read_together(rng: random.Random) -> None:
    texts = ["a", "1", "2.5", "true", "x: y", "- z", "two\nlines", "it's", "é", "5 x"]
    used = rng.sample(texts, rng.randrange(1, 4))
    keys = [rng.choice(["key {}", "k-{}", "_{}", "K{} x"]).format(number) for number in range(300)]
    value = {key: rng.choice(used) for key in keys}
    value |= dict.fromkeys(rng.sample(["null", "a.b", "1", "yes", "last_passed"], rng.randrange(3)), "x")
    body = dump_yaml({"all": value, "list": [*value.values()], "failure_count": 0})
    assert agree(body)
    lines = body.split("\n")
    at = rng.randrange(len(lines))
    agree("\n".join([*lines[:at], rng.choice(lines), *lines[at:]]))
    agree("\n".join([*lines[:at], f"  {rng.choice(TOKENS)}: {rng.choice(TOKENS)}", *lines[at + 1 :]]))

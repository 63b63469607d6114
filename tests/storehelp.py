"""What the tests of the store share: JSON values, files in many hands' styles, a project in a folder."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from baselinekit.files.jsontext import number as number_text, parse_fraction
from baselinekit.files.languages import is_text_block, yaml_block, yaml_flow, yaml_quoted, yaml_scalar
from baselinekit.store.record import Mark, record_all

EXAMPLES = Path(__file__).parent / "reference"

CASE = """\
- id: id-{number}
  current:
    input:
      endpoint: /x
    execution:
      type: http
  metadata:
    last_passed: null
    failure_count: 0
"""
"""One of many in a file, which was never compared."""

ODD_WORDS = """no yes on off y N true null ~ = << <<any_uuid>> .inf -.INF .nan - ? : , . .. ... --- 1e3 0o17
017 0x1F 1_000 +1 -0 0b1 1.2.3 12:30:45 2024-01-15 2024-01-15T10:30:00Z a:b a:[b a#b {a} [b &a *b !c %d @e `f
| > 'q "r \\ud800 \\uE000 \ud800 \udfff\ue000 \ua000\ud8ff C:\\temp \u202e \x7f é"""
ODD = [*ODD_WORDS.split(), "<<<<<<< HEAD", "\x85", "\u2028", "\ufeff", "\U0001f600", "", " ", "a: b"]
EDGE_TEXT = " \n\t\r:#-?'\"\\ab\x85\u2028\ufeff|>0.e1"


def is_json_text(text: str) -> bool:
    """Two halves of a character next to each other are one character to JSON, so no text has them apart."""
    return bool(json.loads(json.dumps(text)) == text)


texts = st.one_of(
    st.text(max_size=12),
    st.text(st.characters(exclude_categories=()), max_size=8).filter(is_json_text),
    st.text(st.sampled_from(EDGE_TEXT), max_size=10),
    st.sampled_from(ODD),
    st.tuples(st.sampled_from(ODD), st.sampled_from(ODD)).map(" ".join).filter(is_json_text),
    st.sampled_from(["a\nb\n", "  a\nb", "\n\nx\n\n", "a \n b\t\n", "a\r\nb", "---\na: 1\n...\n", "\tx\ny"]),
)
decimals = (
    st.decimals(allow_nan=False, allow_infinity=False)
    .filter(lambda number: len(str(number)) < 900)
    .map(lambda number: parse_fraction(number_text(number)))
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=-(10**999), max_value=10**999),
    st.floats(allow_nan=False, allow_infinity=False),
    decimals,
    texts,
)
long_keys = st.integers(850, 898).map(lambda size: "k" * size)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(texts, long_keys), inner, max_size=4)
    ),
    max_leaves=12,
)


def same(first: Any, other: Any) -> bool:
    """Equal, types and key order included; a Decimal is a number that a float cannot hold."""
    if isinstance(first, float | Decimal) and isinstance(other, float | Decimal):
        return first == other
    if type(first) is not type(other):
        return False
    if isinstance(first, dict):
        return list(first) == list(other) and all(same(first[key], other[key]) for key in first)
    if isinstance(first, list):
        return len(first) == len(other) and all(map(same, first, other))
    return bool(first == other)


class Hand:
    """A person who writes YAML in one style, decided by `choose(options)`."""

    def __init__(self, choose: Callable[[list[Any]], Any]):
        self.choose = choose
        self.step = choose([2, 2, 4])
        self.newline = choose(["\n", "\n", "\r\n"])

    def document(self, value: Any) -> str:
        head = self.choose(["", "", "---\n", "# one\n\n", "%YAML 1.2\n---\n"])
        text = head + self.block(value, 0) + self.choose(["", "", "# the end\n", "\n\n"])
        text = text if "|" in text or self.choose([True, True, False]) else text.rstrip("\n")
        return text.replace("\n", self.newline)

    def block(self, value: Any, column: int, lead: str | None = None) -> str:
        """Lines, each with its end. `lead`: what the first line begins with."""
        indent = " " * column
        lead = indent if lead is None else lead
        text = ""
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if lead == indent:
                text += self.choose(
                    ["", "", "", f"{indent}# about it\n", "\n", f"\n{indent}#  two\n{indent}# lines\n"]
                )
            name = self.name(key) + ":" if isinstance(value, dict) else "-"
            text += lead + name + self.below(item, column, isinstance(value, list))
            lead = indent
        return text

    def below(self, item: Any, column: int, in_list: bool) -> str:
        end = self.choose(["", "", "", "  # why", "   "]) + "\n"
        if isinstance(item, dict | list) and item and self.choose([True, True, False]):
            if in_list:
                return self.block(item, column + 2, " ")
            inner = column + (0 if isinstance(item, list) and self.choose([True, False]) else self.step)
            return end + self.block(item, inner)
        if is_text_block(item):
            inner = column + (2 if in_list else self.step)
            return " " + "\n".join(yaml_block(item, inner, inner - column)) + "\n"
        return " " + self.flow(item) + end

    def flow(self, item: Any) -> str:
        blank = self.choose(["", " "])
        if isinstance(item, dict):
            inner = f",{blank}".join(f"{self.name(key)}: {self.flow(each)}" for key, each in item.items())
            return f"{{{blank}{inner}{blank}}}"
        if isinstance(item, list):
            return "[" + f", {blank}".join(map(self.flow, item)) + "]"
        if isinstance(item, str):
            return yaml_quoted(item, self.choose(["'", '"']))
        return yaml_scalar(item)

    def name(self, key: str) -> str:
        return self.choose([yaml_flow(key), yaml_flow(key), f'"{key}"', f"'{key}'"])


BASELINE = """\
id: {id}
baseline:
  output: {{status: 200, body: {{n: 1}}}}
current:
  input: {{method: GET, endpoint: /n}}
  execution: {{type: http}}
metadata:
  criticality: high
  last_passed: null
  failure_count: 0
"""


def write(root: Path, name: str, text: str | bytes) -> str:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


def write_baseline(root: Path, name: str = "b.yaml", id: str = "b") -> str:
    return write(root, name, BASELINE.format(id=id))


def record(marks: list[Mark], root: str, now: str, daily: bool = False) -> list[str]:
    """Record verdicts; raise the first error, or return the notes."""
    done = record_all(marks, root, now, daily)
    for failure in done.failures:
        raise failure
    return done.notes

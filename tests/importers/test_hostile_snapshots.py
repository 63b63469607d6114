"""The files of other pytest tools, with a change anywhere: an import ends in values and a list of what was
left out, each with its file and line, and never in another exception."""

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from baselinekit.errors import BaselinekitError
from baselinekit.importers import inlinesnapshots, regressions, syrupy, vcr
from baselinekit.importers.drafts import ImportChoices, SourceText
from baselinekit.importers.testcode import SnapshotImport, SnapshotSources
from baselinekit.values.equality import canonical

THOROUGH = bool(os.environ.get("BASELINEKIT_THOROUGH"))

AMBER = """\
# serializer version: 1
# name: test_a
  dict({
    'a': 1,
    'b': list([
      'x',
      None,
      <class 'int'>,
    ]),
    'c': datetime.datetime(2024, 1, 1, 0, 0),
    'd': set({
      1.5,
    }),
    'e': '''
      one
      two
    ''',
    'f': Point(
      x=1,
    ),
  })
# ---
# name: test_a.1
  tuple(
    True,
    b'x',
  )
# ---
# name: TestB.test_b[1-é][part]
  'text'
# ---
"""
INLINE = """\
import datetime
from dataclasses import dataclass
from dirty_equals import IsInt
from inline_snapshot import external, snapshot, Is
from pytest import mark

X = 3

@dataclass
class Point:
    x: int
    y: int = 2

@mark.parametrize("n", [1, 2])
def test_a(n):
    assert f() == snapshot({"a": [1, -2.5, None, "é", b"x"], "b": IsInt(), "c": Is(X)})
    assert g() == snapshot(Point(1)), snapshot(datetime.date(2024, 1, 1))

class TestB:
    def test_b(self):
        assert h() == snapshot(external("hash:abc*.json"))
        assert h() == snapshot("one" "two")
"""
REGRESSION_TESTS = """\
import pytest

def test_a(data_regression):
    data_regression.check({}, basename="own")

@pytest.mark.parametrize("n", [1, 2])
def test_b(num_regression, n):
    num_regression.check({}, default_tolerance={"atol": 1e-3}, tolerances={"a": {"rtol": 1}})

def test_c(dataframe_regression): dataframe_regression.check(f())
def test_d(file_regression): file_regression.check("x", extension=".txt")
"""
REGRESSIONS = {
    "own.yml": "a: 1\nb: &x [2024-01-01, 'x', 0x1f]\nc: *x\nd: !!set {y, z}\ne: !!binary aGk=\nf: {1: ~}\n",
    "test_b_1_.csv": ",a,b\n0,1,1.5\n1,2,\n",
    "test_b_2_.csv": ",a\n0,True\n",
    "test_c.csv": ",a,b\nx,1,t\ny,2,u\n",
    "test_d.txt": "x\n",
}
CASSETTE = """\
interactions:
- request:
    body: '{"a": 1}'
    headers:
      Content-Type: [application/json]
      Cookie: [sid=0123456789abcdef]
    method: POST
    uri: http://shop.test/x?token=abcdef0123456789
  response:
    body: {string: !!binary e30=}
    headers:
      Date: ['Thu, 01 Jan 2026 00:00:00 GMT']
      Content-Type: [application/json]
    status: {code: 200, message: OK}
- request:
    body: {a: 1, b: [x]}
    headers: {}
    method: GET
    uri: http://shop.test/y
  response:
    content: "x"
    headers: {Content-Encoding: [gzip]}
    status_code: 200
version: 1
"""
Texts = dict[str, str]
Read = Callable[[Texts], list[tuple[str, int]]]


def of_tool(read: Callable[[SnapshotSources, SnapshotImport], None]) -> Read:
    def reading(texts: Texts) -> list[tuple[str, int]]:
        moving = SnapshotImport()
        contents = {name: text.encode() for name, text in texts.items()}
        read(SnapshotSources([*texts], lambda name: contents.get(name, b""), lambda: [*texts]), moving)
        for value in moving.values:
            canonical(value.value)
        return [(left.file, left.line) for left in moving.left_out]

    return reading


def read_cassette(texts: Texts) -> list[tuple[str, int]]:
    ((name, text),) = texts.items()
    with suppress(BaselinekitError):
        cassette = vcr.read(SourceText(name, text), ImportChoices())
        if cassette is not None:
            for draft in cassette.imported.drafts:
                canonical(draft.current)
            return [(name, left.line) for left in cassette.imported.left_out]
    return []


TOOLS: Mapping[str, tuple[Texts, str, Read]] = {
    "amber": (
        {"tests/__snapshots__/test_x.ambr": AMBER},
        "tests/__snapshots__/test_x.ambr",
        of_tool(syrupy.read),
    ),
    "inline": (
        {"tests/test_x.py": INLINE, "tests/.inline-snapshot/external/abcd.json": "[1]"},
        "tests/test_x.py",
        of_tool(inlinesnapshots.read),
    ),
    **{
        f"regressions {name}": (
            {"tests/test_x.py": REGRESSION_TESTS}
            | {f"tests/test_x/{other}": text for other, text in REGRESSIONS.items()},
            f"tests/test_x/{name}",
            of_tool(regressions.read),
        )
        for name in REGRESSIONS
    },
    "regressions tests": (
        {"tests/test_x.py": REGRESSION_TESTS}
        | {f"tests/test_x/{name}": text for name, text in REGRESSIONS.items()},
        "tests/test_x.py",
        of_tool(regressions.read),
    ),
    "vcr": ({"c.yaml": CASSETTE}, "c.yaml", read_cassette),
}
ODD: list[str] = [
    *(
        "",
        "\0",
        "\r",
        "\u2028",
        "é",
        "'",
        '"',
        "'''",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "\\",
        "*",
        "&x ",
    ),
    *(
        "*x",
        "!!set",
        "!!python/object:a.B ",
        "<<: *x\n",
        "- ",
        "# ---\n",
        "# name: x\n",
        "  ",
        "nan",
        "1e999",
        "-",
        "...",
    ),
    *(
        "1" * 5000,
        "[" * 200,
        "(" * 200,
        "a" * 140_000,
        "2024-99-99",
        "0o9",
        "b'x'",
        "None",
        "=",
        "{1: 2}",
        "\n",
        "---\n",
    ),
]


def ends_well(read: Read, texts: Texts, told: object) -> None:
    try:
        left_out = read(texts)
    except Exception as error:
        raise AssertionError(f"{told}: {error!r}") from error
    for file, line in left_out:
        assert file in texts, told
        assert line or file.startswith("tests/test_x/"), told  # a value that is its whole file
        assert 0 <= line <= len(re.split(r"\r\n|\r|\n", texts[file])), (told, left_out)


@pytest.mark.parametrize("tool", TOOLS)
def test_files_as_they_should_be_are_read(tool: str) -> None:
    texts, _, read = TOOLS[tool]
    assert len(read(texts)) <= 2


def _changed(tool: str, start: int, end: int, odd: str) -> tuple[Texts, Read]:
    texts, name, read = TOOLS[tool]
    return {**texts, name: texts[name][:start] + odd + texts[name][end:]}, read


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_a_change_at_any_word_is_read_or_told_with_its_line(tool: str) -> None:
    """A third of all changes, each word and each odd text among them; BASELINEKIT_THOROUGH=1 makes all."""
    texts, name, _ = TOOLS[tool]
    for place, match in enumerate(re.finditer(r"\w+|\n|[^\w\s]", texts[name])):
        for number, odd in enumerate(ODD):
            if THOROUGH or (place + number) % 3 == 0:
                changed, read = _changed(tool, *match.span(), odd)
                ends_well(read, changed, (match.start(), match[0], odd[:20]))


@pytest.mark.parametrize("tool", TOOLS)
@given(data=st.data())
def test_several_changes_together(tool: str, data: st.DataObject) -> None:
    texts, name, read = TOOLS[tool]
    text = texts[name]
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 30)))
        text = (
            text[:start]
            + data.draw(st.sampled_from(ODD) | st.text(st.characters(codec="utf-8"), max_size=4))
            + text[end:]
        )
    ends_well(read, {**texts, name: text}, text[:2000])


# What the walk found, each by itself.


def lost(tool: str, texts: Mapping[str, str | bytes]) -> list[tuple[str, int, str]]:
    reads = {"amber": syrupy.read, "inline": inlinesnapshots.read, "regressions": regressions.read}
    moving = SnapshotImport()
    contents = {name: text if isinstance(text, bytes) else text.encode() for name, text in texts.items()}
    reads[tool](SnapshotSources([*texts], lambda name: contents.get(name, b"")), moving)
    assert moving.left_out == [] or not moving.values
    return [(left.file, left.line, left.message) for left in moving.left_out]


FIXTURES = {".csv": "num_regression", ".yml": "data_regression"}
WAS_LOST_AMISS: list[tuple[str, str, str | bytes, int, str]] = [
    (
        "amber",
        "tests/__snapshots__/test_x.ambr",
        f"# name: test_a.{'1' * 5000}\n  1\n# ---\n",
        1,
        "a snapshot called",
    ),
    ("amber", "tests/__snapshots__/test_x.ambr", b"# name: test_a\r\n  '\xff'\n# ---\n", 2, "not UTF-8 text"),
    ("inline", "tests/test_x.py", b"import inline_snapshot\n'\xff'\n", 2, "not UTF-8 text"),
    ("inline", "tests/test_x.py", "import inline_snapshot\n'\0'\n", 2, "not Python that can be read"),
    (
        "regressions",
        "tests/test_x/test_a.csv",
        ",a\n0,1\n1,x\ry\n",
        3,
        "a row of a table that cannot be read",
    ),
    (
        "regressions",
        "tests/test_x/test_a.csv",
        f",a\n0,{'1' * 140_000}\n",
        2,
        "a row of a table that cannot be read",
    ),
    (
        "regressions",
        "tests/test_x/test_a.csv",
        ",a\n0,1\n1,2,3\n",
        3,
        "a row of another length than the first",
    ),
    ("regressions", "tests/test_x/test_a.csv", ",a,a\n0,1,2\n", 1, "a table with two columns of one name"),
    ("regressions", "tests/test_x/test_a.csv", "a\n0\n", 1, "a table without columns"),
    ("regressions", "tests/test_x/test_a.csv", ",a\n0,1\n1,\n2,3\n", 3, "column 1 has an empty cell"),
    ("regressions", "tests/test_x/test_a.yml", b"a: 1\nb: \xff\n", 2, "not UTF-8 text"),
]


@pytest.mark.parametrize(
    ("tool", "file", "text", "line", "what"), WAS_LOST_AMISS, ids=range(len(WAS_LOST_AMISS))
)
def test_what_cannot_be_read_is_told_with_its_line(
    tool: str, file: str, text: str | bytes, line: int, what: str
) -> None:
    tests = {"amber": "", "inline": ""}.get(tool, f"def test_a({FIXTURES.get(file[-4:], '')}): ...\n")
    texts: dict[str, str | bytes] = {"tests/test_x.py": tests, file: text}
    ((found, at, message),) = lost(tool, texts)
    assert (found, at) == (file, line)
    assert what in message


def test_a_date_that_no_calendar_holds_is_none() -> None:
    text = CASSETTE.replace("00:00:00 GMT", "00:00:00 +9999999999999")
    cassette = vcr.read(SourceText("c.yaml", text), ImportChoices())
    assert cassette is not None
    assert [answer.moment for answer in cassette.answers] == [None, None]

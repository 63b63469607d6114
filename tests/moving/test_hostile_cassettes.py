"""Cassettes with a change anywhere: an import ends in answers and a list of what was left out, each with its
line, and never in another exception."""

import os
import re

import pytest
from hypothesis import given, strategies as st

from baselinekit.errors import BaselinekitError
from baselinekit.importers.drafts import ImportChoices, SourceText
from baselinekit.moving import vcr
from baselinekit.values.equality import canonical

THOROUGH = bool(os.environ.get("BASELINEKIT_THOROUGH"))

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
ODD: list[str] = [
    *(
        "",
        "\0",
        "\r",
        "\u2028",
        "é",
        "&x ",
        "!!python/object:a.B ",
        "<<: *x\n",
        "- ",
        "# ---\n",
        "# name: x\n",
        "  ",
    ),
    *[
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
        "*x",
        "!!set",
        "nan",
        "1e999",
        "-",
        "...",
        "2024-99-99",
        "0o9",
        "b'x'",
        "None",
        "=",
    ],
    *("1" * 5000, "[" * 200, "(" * 200, "a" * 140_000, "{1: 2}", "\n", "---\n"),
]


def lines_left_out(text: str) -> list[int]:
    """Read a cassette; an error of ours leaves nothing out."""
    try:
        cassette = vcr.read(SourceText("c.yaml", text), ImportChoices())
    except BaselinekitError:
        return []
    if cassette is None:
        return []
    for draft in cassette.imported.drafts:
        canonical(draft.current)
    return [left.line for left in cassette.imported.left_out]


def check_read(text: str, change: object) -> None:
    try:
        lines = lines_left_out(text)
    except Exception as error:
        raise AssertionError(f"{change}: {error!r}") from error
    assert all(0 < line <= len(re.split(r"\r\n|\r|\n", text)) for line in lines), (change, lines)


@pytest.mark.slow
def test_cassette_with_a_changed_word_is_read_or_left_out_with_its_line() -> None:
    """A third of all changes, each word and each odd text among them; BASELINEKIT_THOROUGH=1 makes all."""
    assert len(lines_left_out(CASSETTE)) <= 2
    for place, match in enumerate(re.finditer(r"\w+|\n|[^\w\s]", CASSETTE)):
        for number, odd in enumerate(ODD):
            if THOROUGH or (place + number) % 3 == 0:
                text = CASSETTE[: match.start()] + odd + CASSETTE[match.end() :]
                check_read(text, (match.start(), match[0], odd[:20]))


@given(data=st.data())
def test_cassette_with_several_changes_is_read_or_left_out_with_its_line(data: st.DataObject) -> None:
    text = CASSETTE
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 30)))
        odd = data.draw(st.sampled_from(ODD) | st.text(st.characters(codec="utf-8"), max_size=4))
        text = text[:start] + odd + text[end:]
    check_read(text, text[:2000])


def test_date_beyond_every_calendar_is_no_time_of_the_answer() -> None:
    text = CASSETTE.replace("00:00:00 GMT", "00:00:00 +9999999999999")
    cassette = vcr.read(SourceText("c.yaml", text), ImportChoices())
    assert cassette is not None
    assert [answer.moment for answer in cassette.answers] == [None, None]

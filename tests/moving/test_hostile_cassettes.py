"""Cassettes with a changed word are read, or left out with their line, and never end in another exception."""

import os
import re

import pytest

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


ODD = [
    *(
        "",
        "\0",
        "\u2028",
        "é",
        "&x ",
        "!!python/object:a.B ",
        "<<: *x\n",
        "- ",
        "# ---\n",
        "'",
        '"',
        "[",
        "}",
        ":",
    )
]
ODD += [
    *(
        "\\",
        "*x",
        "!!set",
        "nan",
        "1e999",
        "2024-99-99",
        "0o9",
        "None",
        "1" * 5_000,
        "[" * 200,
        "a" * 140_000,
        "---\n",
    )
]


def lines_left_out(text: str) -> list[int]:
    """Read a cassette; an error of ours leaves nothing out."""
    try:
        cassette = vcr.read(SourceText("c.yaml", text), ImportChoices())
    except BaselinekitError:
        return []
    for draft in cassette.imported.drafts if cassette else ():
        canonical(draft.current)
    return [left.line for left in cassette.imported.left_out] if cassette else []


@pytest.mark.slow
def test_cassette_with_a_changed_word_is_read_or_left_out_with_its_line() -> None:
    """A seventh of all changes, each word and each odd text among them; BASELINEKIT_THOROUGH=1 makes all."""
    assert len(lines_left_out(CASSETTE)) <= 2
    for place, match in enumerate(re.finditer(r"\w+|\n|[^\w\s]", CASSETTE)):
        for number, odd in enumerate(ODD):
            if THOROUGH or (place + number) % 7 == 0:
                text = CASSETTE[: match.start()] + odd + CASSETTE[match.end() :]
                lines, last = lines_left_out(text), len(re.split(r"\r\n|\r|\n", text))
                assert all(0 < line <= last for line in lines), (match.start(), match[0], odd[:20], lines)


def test_cassette_with_a_date_beyond_every_calendar_has_no_time() -> None:
    text = CASSETTE.replace("00:00:00 GMT", "00:00:00 +9999999999999")
    cassette = vcr.read(SourceText("c.yaml", text), ImportChoices())
    assert cassette is not None
    assert [answer.moment for answer in cassette.answers] == [None, None]

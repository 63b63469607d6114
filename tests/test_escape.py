"""Text from outside can neither steer the place where it is shown nor hide in it (F30-F35)."""

import json
import re
import unicodedata
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, strategies as st

from baselinekit import escape

ANY_TEXT = st.text(st.characters(codec=None, categories=None))
NASTY = st.text(st.sampled_from("ab`|\\<>[]!@#*_~&:\n\t \x1b\x00\x9b\u202e\u200b\ud800\ufffe-+.1"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, also ä 漢字 🙂", "plain, also ä 漢字 🙂"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x1b]52;c;aGk=\x07", "\\x1b]52;c;aGk=\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("abc\rdef", "abc\\x0ddef"),
        ("\u202etxt.exe", "\\u202etxt.exe"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("lone \ud800", "lone \\ud800"),
        ("tag \U000e0041", "tag \\U000e0041"),
        ("a\tb\nc", "a\tb\nc"),
    ],
)
def test_escape_controls_shows_control_characters(text: str, shown: str) -> None:
    assert escape.escape_controls(text) == shown


VISIBLE = set("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u0890\u0891\u08e2\U000110bd\U000110cd")
"""Of the class of invisible characters, and yet signs that one sees: the Arabic number sign, say."""

INVISIBLE = set("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\U000e0100\U000e01ef")
"""Letters and accents by their class, and nothing to look at."""


@pytest.mark.slow
def test_f30_escape_controls_shows_every_invisible_character() -> None:
    for number in range(0x110000):
        character = chr(number)
        unseen = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") or character in INVISIBLE
        if unseen and character not in VISIBLE and character not in "\n\t":
            assert escape.escape_controls(character).isascii(), hex(number)
        elif unicodedata.category(character)[0] in "LNPSZ":
            assert escape.escape_controls(character) == character, hex(number)


@given(ANY_TEXT)
@example("\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\r\n")
def test_one_line_has_no_line_break(text: str) -> None:
    assert len(escape.one_line(text).splitlines()) <= 1


@given(ANY_TEXT)
@example("\x7f \U000e0041 \u202e \\u202e")
def test_json_string_reads_back_and_is_escaped(text: str) -> None:
    written = escape.json_string(text)
    assert escape.escape_controls(written) == written
    pairs_joined = text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")
    assert json.loads(written) == pairs_joined


@pytest.mark.parametrize(
    "line",
    [
        *("::error::x", "  ::set-output name=a::b", "\t##[error]x", "ok\n ::warning::y", "\u3000::error::x"),
        *("so ##[add-mask]x", "so ##vso[task.setvariable variable=a]b", "##teamcity[buildStop]"),
    ],
)
def test_escape_ci_commands_leaves_no_command(line: str) -> None:
    assert not re.search(r"(?m)^\s*::|##\w*\[", escape.escape_ci_commands(line))
    assert not re.search(r"##\w*\[", escape.json_string(line))
    assert json.loads(escape.json_string(line)) == line
    assert escape.escape_ci_commands("a :: b [c] ## d[") == "a :: b [c] ## d["


@given(ANY_TEXT)
@example("\x00\x0b\x1b\ufffe\uffff\ud800 <b> & ]]>")
def test_xml_text_always_parses(text: str) -> None:
    element = ElementTree.Element("a", {"b": escape.xml(text)})
    element.text = escape.xml(text)
    ElementTree.fromstring(ElementTree.tostring(element, encoding="unicode"))


@given(st.text(st.sampled_from("`a\n~")))
@example("```\n</details>\n````")
def test_markdown_block_fence_is_longer_than_text_runs(text: str) -> None:
    first, *_, last = escape.markdown_block(text, "diff").split("\n")
    fence = first.removesuffix("diff")
    assert last == fence
    assert fence not in text


@given(NASTY)
@example("")
@example("a\\|b ![x](http://evil) @team")
def test_markdown_code_stays_in_span_and_cell(text: str) -> None:
    span = escape.markdown_code(text)
    fence = re.match("`+", span)
    assert fence is not None
    inner = span[len(fence[0]) : -len(fence[0])]
    assert inner
    assert fence[0] not in re.findall("`+", inner)
    assert "\n" not in span
    # However a renderer counts the backslashes before a pipe, it stays inside the cell.
    assert not re.search(r"(?<!\\)(\\\\)*\|", span)


@given(NASTY)
def test_markdown_text_has_no_markup(text: str) -> None:
    words = escape.markdown_text(text)
    assert "\n" not in words
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*_\[\]<>|!~&]", words)
    assert not re.search(r"[@#]\w", words)
    assert not re.match(r"\s*[-+=]|\s*\d+[.)]", words)


def test_markdown_text_breaks_mentions_and_issues() -> None:
    assert escape.markdown_text("@team fixes #12").replace("\u2060", "") == "@team fixes \\#12"

"""Which placeholders of a text still match when other parts of it changed: as it is stored, and in a diff."""

import pytest
from hypothesis import given, strategies as st

from baselinekit.placeholders.grammar import escape
from baselinekit.placeholders.lines import with_placeholders, with_values
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import compile_text

ID = "0190163d-8694-739b-aea5-966c26f8ad91"
AT = "2026-01-02T10:14:00Z"


@pytest.mark.parametrize(
    ("stored", "actual", "wanted", "shown"),
    [
        ("id <<any_uuid>>\nold\n", f"id {ID}\nnew\n", "id <<any_uuid>>\nnew\n", f"id {ID}\nold\n"),
        ("a\nid <<any_uuid>>", f"b\nmore\nid {ID}", "b\nmore\nid <<any_uuid>>", f"a\nid {ID}"),
        ("a\nid <<any_uuid>>\nb", "a\nb", "a\nb", "a\nid <<any_uuid>>\nb"),
        ("run <<any_integer>> of 9 at <<any_iso_datetime>>", f"run 5 of ten at {AT}",
         "run <<any_integer>> of ten at <<any_iso_datetime>>", f"run 5 of 9 at {AT}"),
        ("by <<any_string>>.", "From joe.", "From joe.", "by <<any_string>>."),
        ("by <<any_string>>, <<any_integer>> s", "by joe, 3 min", "by <<any_string>>, <<any_integer>> min",
         "by joe, 3 s"),
        ("took <<any_number>> ms", "Took 1.25 ms", "Took <<any_number>> ms", "took 1.25 ms"),
        ("<<any_iso_datetime>> up\n<<any_iso_datetime>> down", f"{AT} up\n{AT} high",
         "<<any_iso_datetime>> up\n<<any_iso_datetime>> high", f"{AT} up\n{AT} down"),
        ("x <<any_integer>>", "y <<any_integer>>", r"y \<<any_integer>>", "x <<any_integer>>"),
        ("<<any_uuid as id>> a", f"{ID} b", f"{ID} b", "<<any_uuid as id>> a"),
        ("<<regex('(?s).*')>>\nb", "a\nc", "<<regex('(?s).*')>>\nc", "a\nb"),
    ],
)  # fmt: skip
def test_with_placeholders_keeps_matching_ones(stored: str, actual: str, wanted: str, shown: str) -> None:
    assert with_placeholders(stored, actual) == wanted
    assert with_values(stored, actual) == shown


LINES = st.lists(
    st.sampled_from(
        ["a b", "id <<any_uuid>>", "<<any_integer>> of <<any_integer>>", "at <<any_iso_datetime>> (x)",
         "<<any_nonempty_string>>: y", "b c d", "", r"\<<any>> <<any_string>>"]
    ),
    max_size=6,
)  # fmt: skip
ACTUAL = st.lists(
    st.sampled_from(
        ["a b", f"id {ID}", f"an id {ID}", "1 of 2", "1 of many", f"at {AT} (x)", f"at {AT} (y)", "b c e", "",
         "z: y", "<<any>> k", "<<", "x \\<<any>>"]
    ),
    max_size=6,
)  # fmt: skip


@given(LINES, ACTUAL)
def test_with_placeholders_result_accepts_actual_text(stored: list[str], actual: list[str]) -> None:
    text = "\n".join(actual)
    template = compile_text(with_placeholders("\n".join(stored), text), PlaceholderContext())
    assert template == text if isinstance(template, str) else template.accepts(text, {})


@given(ACTUAL)
def test_with_placeholders_plain_text_is_escaped(actual: list[str]) -> None:
    text = "\n".join(actual)
    assert with_placeholders("a b\nc", text) == escape(text)


def test_with_placeholders_long_text() -> None:
    lines = [f"line {n} <<any_integer>> of {n}" for n in range(3_000)]
    came = [f"line {n} 7 of {n}" for n in range(3_000)]
    came.insert(1_000, "new")
    wanted = [*lines[:1_000], "new", *lines[1_000:]]
    assert with_placeholders("\n".join(lines), "\n".join(came)) == "\n".join(wanted)

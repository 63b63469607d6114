"""Several placeholders in one text: it passes if there is any way at all to split it between them."""

import time
from contextlib import suppress
from functools import cache
from itertools import combinations_with_replacement, pairwise

import pytest
from hypothesis import example, given, strategies as st

from baselinekit.errors import CannotReplay
from baselinekit.placeholders.grammar import Bindings, Token, split
from baselinekit.placeholders.table import PlaceholderContext, RegexBudget
from baselinekit.placeholders.template import Inline, compile_text

PLACEHOLDERS = [
    f"<<{text}>>"
    for text in (
        *("any", "any as k", "any_string(1, 2)", "any_string(1,3)? as k", "length(2)", "contains(a) as j"),
        *("any_integer", "any_integer(1, 9)", "any_integer(10, 99) as k", "any_integer as k", "any_integer?"),
        *("any_integer|null", "any_integer|null as k", "any_null", "any_boolean", "any_number(0, 1.5)"),
        *("one_of(a, ab, 1) as j", "ends_with(1)", "any_hex(2)", "regex('a+')", "regex('1|11') as k"),
        *("regex('(?!1)[a1]*')", "regex('^a*$')", "regex('a*+')", "any_duration", "any_nonempty_string"),
    )
]
TEXTS = [
    "", "1", "11", "123", "12", "a", "ab", "a1", "1a1", "null", "nul", "true1", "1.5", "1.", "-1", "aab1",
]  # fmt: skip


def inline(text: str, words: PlaceholderContext | None = None) -> Inline:
    template = compile_text(text, words or PlaceholderContext())
    assert isinstance(template, Inline)
    return template


@cache
def between_brackets(placeholder: str) -> Inline:
    """It has one way to be split alone, so nothing is tried here."""
    return inline(f"[{placeholder}]")


def some_way(parts: list[str | Token], text: str) -> bool:
    """Every way to cut the text into this number of pieces."""
    for cuts in combinations_with_replacement(range(len(text) + 1), len(parts) - 1):
        ends = [0, *cuts, len(text)]
        if fits(parts, [text[begin:end] for begin, end in pairwise(ends)], {}):
            return True
    return False


def fits(parts: list[str | Token], pieces: list[str], bindings: Bindings) -> bool:
    if not parts:
        return True
    part, piece = parts[0], pieces[0]
    if isinstance(part, str):
        return part == piece and fits(parts[1:], pieces[1:], bindings)
    after = dict(bindings)
    if between_brackets(part.text).accepts(f"[{piece}]", after) and fits(parts[1:], pieces[1:], after):
        return True
    return part.optional and not piece and fits(parts[1:], pieces[1:], bindings)


@pytest.mark.slow
@given(
    st.lists(st.sampled_from([*PLACEHOLDERS, *PLACEHOLDERS, "1", "a", "-"]), min_size=2, max_size=4),
    st.lists(st.sampled_from(TEXTS), max_size=3).map("".join),
)
@example(["<<any_integer(1,9)>>", "<<any_integer>>"], "123")
@example(["<<any as k>>", "<<any as k>>"], "11")
@example(["<<any as k>>", "a", "<<any as k>>"], "1aa1a")
@example(["<<any_integer|null as k>>", "<<any as k>>"], "nullnull")
def test_inline_accepts_when_some_split_fits(texts: list[str], value: str) -> None:
    written = "".join(texts)
    template = compile_text(written, PlaceholderContext())
    if isinstance(template, Inline):
        assert template.accepts(value, {}) is some_way(split(written), value), (written, value)


@pytest.mark.parametrize(
    ("text", "value", "accepted"),
    [
        ("<<any_integer(1,9)>><<any_integer>>", "123", True),
        ("<<any_integer(1,9)>><<any_integer>>", "1", False),
        ("<<any_integer(1,9)>><<any_integer(100,999)>>", "99123", False),
        ("<<any_iso_date>><<any>>", "2024-02-30", False),
        ("<<any>><<any_iso_date>><<any>>", "2024-02-302024-02-29", True),
        ("<<any as k>>-<<any as k>>", "a-b-a-b", True),
        ("<<any as k>>-<<any as k>>", "a-b-a-c", False),
        ("<<any as k>>/<<any_integer(5,9)>>/<<any as k>>", "1/4/1/7/1/4/1", True),
    ],
)
def test_inline_accepts_known_splits(text: str, value: str, accepted: bool) -> None:
    assert inline(text).accepts(value, {}) is accepted


def test_inline_refused_text_binds_nothing() -> None:
    bindings: Bindings = {}
    assert not inline("<<any as k>>-<<any_integer(5, 9)>>").accepts("a-4", bindings)
    assert bindings == {}


def test_inline_split_agrees_with_earlier_binding() -> None:
    template = inline("<<any as k>>-<<any>>")
    assert template.accepts("a-b-c", {"k": "a-b"})
    assert not template.accepts("a-b-c", {"k": "b"})


def test_inline_accepts_400_placeholders() -> None:
    text = "<<any_integer(0, 9)>>," * 400 + "<<any_integer(5, 9) as k>>"
    assert inline(text).accepts("7," * 400 + "7", {})
    assert not inline(text).accepts("7," * 400 + "4", {})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<<any_integer(1, 2)>><<any_integer(1, 2)>><<any_integer(1, 2)>>", "3" * 900),
        ("<<any as a>><<any as b>><<any as a>><<any as b>>!", "ab" * 2_000 + "!"),
        ("<<regex('[a-y]+')>><<regex('[a-z]+(?<!z)')>><<regex('^[a-y]+$')>>", "a" * 3_000 + "z"),
    ],
)
def test_inline_too_many_splits_end_in_time(text: str, value: str) -> None:
    """F22. `a…b…a…b` has an answer among the first ones: everything is absent but the last."""
    began = time.process_time()
    with suppress(CannotReplay):
        assert inline(text).accepts(value, {}) is ("any as a" in text)
    assert time.process_time() - began < 2.5


def test_inline_split_time_counts_towards_budget() -> None:
    ticks = iter(range(1_000))
    template = inline(
        "<<any_integer(1,9)>><<any_integer>>",
        PlaceholderContext(regex_budget=RegexBudget(lambda: float(next(ticks)))),
    )
    with pytest.raises(CannotReplay, match="BK215"):
        all(template.accepts("123", {}) for _ in range(3))

"""What is shown of both sides of a difference: the surroundings of the change, and what looks the same by
number."""

import time
from collections.abc import Callable
from unicodedata import normalize

import pytest
from hypothesis import example, given, strategies as st

from baselinekit.report.differences import pair, shorten_pair
from baselinekit.report.values import LONGEST

ALIKE = [*"a \u00a0e\u00e9-\u200bx7\uff07", "e\u0301"]
TEXTS = st.lists(st.sampled_from(ALIKE), max_size=14).map("".join)


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("caf\u00e9", "cafe\u0301", ("caf\\u00e9", "cafe\\u0301")),  # composed or not
        ("1\u00a0000", "1 000", ("1\\u00a0000", "1 000")),
        ("wait...", "wait\u2026", ("wait...", "wait\\u2026")),
        # Where one sees what differs it is not escaped.
        ("caf\u00e9", "cafe", ("caf\u00e9", "cafe")),
        ("gr\u00fcn\u00a01", "gr\u00fcn 2", ("gr\u00fcn\\u00a01", "gr\u00fcn 2")),
    ],
)
def test_shorten_pair_escapes_texts_that_look_the_same(old: str, new: str, shown: tuple[str, str]) -> None:
    assert shorten_pair(old, new) == shown


def test_pair_escapes_invisible_characters_as_json() -> None:
    assert pair("a\r\n\u00a0", "a\r\n ") == ('"a\\r\\n\\u00a0"', '"a\\r\\n "')
    assert pair("user\u200bname", "username") == ('"user\\u200bname"', '"username"')


@given(TEXTS, TEXTS)
@example("\u00e9e\u0301", "e\u0301\u00e9")
def test_shorten_pair_of_different_texts_looks_different(old: str, new: str) -> None:
    left, right = shorten_pair(old, new)
    assert (normalize("NFKC", left) == normalize("NFKC", right)) == (old == new)


LONG = " ".join(f"word{number}" for number in range(3_000))


def test_shorten_pair_cuts_a_long_line_around_the_change() -> None:
    around = "495 word1496 word1497 word1498 word1499 {} word1501 word1502 word1503 word1504 wor"
    shown = f"… 12,350 characters alike … {around} … 13,451 characters alike"
    assert shorten_pair(LONG, LONG.replace("word1500", "other")) == (
        shown.format("word1500"),
        shown.format("other"),
    )


def test_shorten_pair_and_pair_keep_within_their_limits() -> None:
    new = LONG.replace("word", "term")
    for side in shorten_pair(LONG, new):
        assert len(side) < LONGEST + 80
        assert side.endswith("more characters")
    one, other = pair("k" * 300 + "1" + "k" * 300, "k" * 300 + "2" + "k" * 300, limit=40)
    assert (len(one), one.replace("k1k", "k2k") == other) == (len(other), True)


@given(
    st.text(alphabet="ab 1\u0430", max_size=30), st.text(alphabet="ab 1", max_size=12), st.text(max_size=3)
)
def test_shorten_pair_shows_the_change_wherever_it_is(ends: str, old: str, new: str) -> None:
    around = ends * 40
    left, right = shorten_pair(f"{around}{old}{around}", f"{around}{new}{around}")
    assert (left == right) == (old == new)


@pytest.mark.parametrize("make", [lambda n: f"<td>{n % 7}</td>", lambda n: f"{n * 7919 % 100_003:x}"])
def test_f55_shorten_pair_of_long_texts_is_quick(make: Callable[[int], str]) -> None:
    old = "".join(make(n) for n in range(40_000))
    started = time.process_time()
    shorten_pair(old, old[20_000:] + old[:20_000])
    shorten_pair(old, old[::-1])
    assert time.process_time() - started < 2

"""Which words are taken for a mistyped method of HTTP, and which for a method of one's own."""

import pytest

from baselinekit.kinds.methods import KNOWN, meant_method

SLIPS = [
    ("GTE", "GET"),
    ("gte", "GET"),
    ("GETT", "GET"),
    ("GT", "GET"),
    ("PSOT", "POST"),
    ("POS", "POST"),
    ("DELTE", "DELETE"),
    ("PTACH", "PATCH"),
    ("OPTION", "OPTIONS"),
]


@pytest.mark.parametrize(("word", "method"), SLIPS)
def test_a_slip_of_the_finger_is_known(word: str, method: str) -> None:
    assert meant_method(word) == method


@pytest.mark.parametrize(
    "word", [*sorted(KNOWN), "get", "FLUSH", "PUBLISH", "PULL", "INVALIDATE", "REFRESH", "X"]
)
def test_a_known_method_and_one_of_ones_own_are_none(word: str) -> None:
    assert meant_method(word) == ""

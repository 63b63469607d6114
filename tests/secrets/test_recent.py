"""What was found in a text is kept for a while: the answer is the same, and not for ever in memory."""

from hypothesis import given, strategies as st

from baselinekit.secrets.declared import Declared
from baselinekit.secrets.finding import _spans, spans
from baselinekit.secrets.scan import RecentTexts

TOKEN = "q7ZxP0vT4mKs9LwB2nRd8YcF"
PARTS = st.sampled_from(
    [TOKEN, "hunter22", "aHVudGVyMjI=", "password=", "user:", "\n", " of no concern", "id "]
)
TEXTS = st.lists(PARTS, min_size=10, max_size=40).map("".join)
PATHS = st.sampled_from(
    [(), ("body", "id"), ("body", "note"), ("etag",), ("body", "rows", 3, "next_page_token")]
)


@given(st.lists(st.tuples(TEXTS, PATHS), max_size=6))
def test_what_is_kept_is_what_is_found_anew(asked: list[tuple[str, tuple[str | int, ...]]]) -> None:
    """Each text at each of the places at which it was asked for, in any order."""
    secrets = {"a": "hunter22", "b": "user:"}
    kept = Declared(secrets, Declared({"c": TOKEN}))
    anew = {text: Declared(secrets, Declared({"c": TOKEN})).find(text) for text, _ in asked}
    for text, path in asked * 2:
        assert list(spans(text, path)) == list(_spans(text, path, 0))
        assert kept.find(text) == anew[text]


def test_what_is_given_out_is_nobody_elses_to_change() -> None:
    declared = Declared({"a": "hunter22"})
    text = "hunter22 " * 100
    first = declared.find(text)
    first.clear()
    assert len(declared.find(text)) == 100


def test_a_text_is_looked_through_once_and_few_are_kept() -> None:
    recent: RecentTexts[int] = RecentTexts()
    looked: list[str] = []

    def length_of(text: str) -> int:
        return recent.of(text, lambda: looked.append(text[:8]) or len(text))

    texts = [f"{number:8}" + "x" * 300_000 for number in range(20)]
    assert [length_of(text) for text in texts for _ in range(2)] == [300_008] * 40
    assert len(looked) == len(texts)
    assert sum(len(text) for text, _ in (*recent._new, *recent._old)) <= 2_000_000
    assert length_of(texts[0]) == 300_008
    assert len(looked) == len(texts) + 1


def test_what_is_short_or_very_long_is_not_kept() -> None:
    recent: RecentTexts[int] = RecentTexts()
    for text in ("x" * 199, "x" * 1_000_001):
        recent.of(text, lambda: 1)
    assert not recent._new


def test_on_what_else_it_depends_is_part_of_the_question() -> None:
    recent: RecentTexts[str] = RecentTexts()
    text = "x" * 300
    assert [recent.of(text, how.upper, how) for how in ("a", "b", "a")] == ["A", "B", "A"]

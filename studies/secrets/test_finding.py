"""Many texts are looked through together: no faster way may overlook what the slow one finds."""

import time

from hypothesis import example, given, settings, strategies as st

from baselinekit.secrets.declared import Declared, merge_spans
from baselinekit.secrets.finding import _COMPILED_SHAPES, shapes_in, spans
from baselinekit.secrets.scan import TextScan
from baselinekit.secrets.together import find_declared, suspicious_texts
from baselinekit.secrets.variables import Redactor, Secret

GITHUB = "ghp_" + "aB3dE5gH7jK9" * 3
RANDOM = "q7ZxP0vT4mKs9LwB2nRd8YcF"
BASE64 = "cGFzc3dvcmQ9aHVudGVyMmh1bnRlcjI="
PIECES = [
    *(GITHUB, RANDOM, BASE64, f"\\n{GITHUB}", f"\\n{BASE64}", RANDOM + "==", GITHUB[:20]),
    *("password", "paſſword", "PASSWORD", "to\u212aen", "api_", "ap\u0131_", "key", "client_", "secret", "="),
    *(
        ":",
        '"',
        "'",
        " ",
        "\n",
        "\u00a0",
        "ä",
        "日",
        "\ud800",
        "hunter2hunter2",
        "Bearer ",
        "BASIC",
        "\t",
        "W/",
    ),
    *(
        "https://",
        "user:pa55word@",
        "example.org/",
        "?token=abc1defgh",
        "&sig=",
        "x-amz-signature=",
        "a" * 30,
    ),
    *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "-----BEGIN CERTIFICATE-----", "-----END "),
    *(
        "%67%68%70%5f",
        "%",
        "aB3dE5gH7jK9",
        "550e8400-e29b-41d4-a716-446655440000",
        "sha256-",
        "/v1/",
        "data:a/b;",
    ),
    *("eyJhbGciOiJIUzI1NiJ9.", "eyJzdWIiOiIxMjM0In0.", "xoxb-1234567890-", "AKIAABCDEFGHIJKLMNOP", "\\", ";"),
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=7).map("".join)


@settings(max_examples=400)
@given(TEXTS)
@example('"' + RANDOM + '"')
@example("paſſword=hunter2hunter2")
def test_shapes_are_found_by_their_words_as_without_them(text: str) -> None:
    found = sorted(shapes_in(TextScan(text)))
    assert found == sorted(
        (*m.span(), what) for what, *_, pattern in _COMPILED_SHAPES for m in pattern.finditer(text)
    )


@settings(max_examples=400)
@given(st.lists(TEXTS, max_size=6))
@example(["-----BEGIN CERTIFICATE-----", RANDOM])
@example(["Bearer", GITHUB, "password", "=", "hunter2hunter2"])
@example([f'W/"{RANDOM}"', f'W/"{RANDOM}"'])
def test_together_the_same_is_found_as_one_by_one(texts: list[str]) -> None:
    assert suspicious_texts(texts) == {text for text in texts if next(spans(text), None)}


@given(st.lists(TEXTS, max_size=6))
def test_declared_secrets_are_found_in_each_text(texts: list[str]) -> None:
    declared = Declared({"a": "user:", "b": "hunter2"})
    held = {text for text in texts if "user:" in text or "hunter2" in text}
    found = find_declared(texts, declared)
    assert found.keys() >= held
    assert all(merge_spans(found[text]) == found[text] for text in found)


@given(
    st.recursive(TEXTS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4))
)
def test_a_value_is_masked_as_its_texts_are(value: object) -> None:
    redactor = Redactor({"a": Secret("user:pa55word"), "b": Secret("hunter2")})

    def slowly(value: object, path: tuple[str | int, ...] = ()) -> object:
        if isinstance(value, dict):
            return {redactor.mask(key): slowly(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [slowly(item, (*path, n)) for n, item in enumerate(value)]
        return redactor.mask(str(value), path)

    assert redactor.mask_value(value) == slowly(value)


def test_what_holds_nothing_is_the_value_itself() -> None:
    value = {"rows": [{"id": 1, "name": "Ada", "at": "2026-11-21T10:00:00Z", "tags": ["a", "b"]}]}
    assert Redactor({"a": Secret("a-secret-value")}).mask_value(value) is value


def test_megabytes_take_a_moment() -> None:
    """A look at each of them for everything took four times as long as it takes to read them as JSON."""
    row = {
        "id": "550e8400-e29b-41d4-a716-446655440000",
        "name": "Ada Lovelace",
        "email": "ada@example.org",
        "avatar": "https://cdn.example.org/u/1/avatar.png",
        "note": "the order was placed by a customer who never arrived and asked for a refund of it",
    }
    rows = [{**row, "n": n, "note": f"{row['note']} {n}"} for n in range(4_000)]
    best = 9.0
    for _ in range(5):
        started = time.process_time()
        Redactor({}).knowing(rows).mask_value(rows)
        best = min(best, time.process_time() - started)
    assert best < 0.25

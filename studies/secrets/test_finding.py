"""What is found of secrets, beside the product of before the rebuild: each kept spelling is found by both,
and nothing is hidden that it showed."""

import random
import string
from collections.abc import Iterable, Sequence
from pathlib import Path

from oldproduct import old_product
from secretdrill import SECRETS, spellings

from baselinekit.secrets.finding import SHAPES, likeness, spans
from baselinekit.secrets.variables import MASK, Redactor, Secret

SEED = 8
OLD = """
from baselinekit.secrets.finding import spans
from baselinekit.variables import Redactor, Secret

def answer(asked):
    redactor = Redactor({f"s{n}": Secret(value) for n, value in enumerate(asked["secrets"])})
    return [[redactor.mask_declared(text), [list(span) for span in spans(text)]] for text in asked["texts"]]
"""
CASES = 3_000
GITHUB = "ghp_" + "aB3dE5gH7jK9" * 3
RANDOM = "q7ZxP0vT4mKs9LwB2nRd8YcF"
PIECES = [
    *(GITHUB, RANDOM, "cGFzc3dvcmQ9aHVudGVyMmh1bnRlcjI=", f"\\n{GITHUB}", RANDOM + "==", GITHUB[:20]),
    *("password", "paſſword", "PASSWORD", "api_", "key", "client_", "secret", "=", ":", '"', "'", " ", "\n"),
    *("\u00a0", "ä", "日", "hunter2hunter2", "Bearer ", "BASIC", "\t", "W/", "https://", "user:pa55word@"),
    *(
        "example.org/",
        "?token=abc1defgh",
        "&sig=",
        "x-amz-signature=",
        "a" * 30,
        "-----BEGIN PRIVATE KEY-----",
    ),
    *("-----END PRIVATE KEY-----", "-----BEGIN CERTIFICATE-----", "%67%68%70%5f", "%", "aB3dE5gH7jK9", "id="),
    *("550e8400-e29b-41d4-a716-446655440000", "sha256-", "/v1/", "data:a/b;", "eyJhbGciOiJIUzI1NiJ9."),
    *("eyJzdWIiOiIxMjM0In0.", "xoxb-1234567890-", "AKIAABCDEFGHIJKLMNOP", "\\", ";", "getUserByIdV2", "utf8"),
]


def test_spellings_and_shapes_are_found_as_by_the_old_product() -> None:
    chance = random.Random(SEED)
    lost, differing = [], []
    with old_product(OLD) as old:
        for _ in range(CASES):
            secrets = chance.sample(SECRETS, chance.randrange(1, 4))
            spelled = [text for secret in secrets for _, text in spellings(secret)]
            texts = ["".join(chance.choices(PIECES, k=chance.randrange(1, 8))) for _ in range(4)]
            texts += [f"{chance.choice(PIECES)} {chance.choice(spelled)} ··" for _ in range(4)]
            redactor = Redactor({f"s{n}": Secret(value) for n, value in enumerate(secrets)})
            for text, (masked, before) in zip(texts, old({"secrets": secrets, "texts": texts}), strict=True):
                if (redactor.mask_declared(text) == text) != (masked == text):
                    lost.append((secrets, text, masked, redactor.mask_declared(text)))
                is_word = text.isascii() or "%" not in text  # else words of a URL were longer
                if is_word and by_shape(spans(text)) != by_shape(before):
                    differing.append((text, by_shape(spans(text)), by_shape(before)))
    print(f"seed {SEED}: {CASES * 8:,} texts, {len(lost)} and {len(differing)} differ")
    assert lost == []
    assert differing == []


def by_shape(found: Iterable[Sequence[object]]) -> list[list[object]]:
    return sorted(list(span) for span in found if span[2] in SHAPES)


def test_nothing_ordinary_is_hidden_that_the_old_product_showed() -> None:
    here = Path(__file__).parents[2]
    files = [
        file
        for pattern in (
            "docs/*.md",
            "baselinekit/**/*.py",
            "tests/golden/**/*",
            "tests/**/*.py",
            "evals/**/*",
        )
        for file in here.glob(pattern)
        if file.is_file()
    ]
    texts = [file.read_text("utf-8", "replace") for file in files]
    with old_product(OLD) as old:
        before = [found for _, found in old({"secrets": [], "texts": texts})]
    more = [
        (str(file), text[start:end], kind)
        for file, text, shown in zip(files, texts, before, strict=True)
        for start, end, kind in spans(text)
        if not any(other < end and start < stop for other, stop, _ in shown)
    ]
    print(f"{len(texts):,} files, {sum(map(len, before)):,} places by the old product, {len(more)} new ones")
    assert more == []


LETTERS = string.ascii_letters + string.digits
MOST_MISSED = {20: 0.08, 24: 0.045, 32: 0.02, 43: 0.01}


def test_how_many_random_tokens_are_missed() -> None:
    chance = random.Random(SEED)
    with old_product(OLD) as old:
        for length, most in MOST_MISSED.items():
            tokens = ["".join(chance.choices(LETTERS, k=length)) for _ in range(2_000)]
            missed = sum(likeness(token) is None for token in tokens) / len(tokens)
            before = sum(not found for _, found in old({"secrets": [], "texts": tokens})) / len(tokens)
            print(f"of {length} letters and digits: {missed:.1%} missed, by the old product {before:.1%}")
            assert missed <= most


def test_a_value_is_masked_as_its_texts_are() -> None:
    chance = random.Random(SEED)
    redactor = Redactor({"a": Secret("user:pa55word"), "b": Secret("hunter2")})

    def text() -> str:
        return "".join(chance.choices(PIECES, k=chance.randrange(4)))

    def slowly(value: object, path: tuple[str | int, ...] = ()) -> object:
        if isinstance(value, dict):
            return {redactor.mask(key): slowly(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [slowly(item, (*path, n)) for n, item in enumerate(value)]
        return redactor.mask(str(value), path)

    for _ in range(500):
        value = {text(): [text(), {text(): text()}], text(): text()}
        assert redactor.mask_value(value) == slowly(value)


def test_what_holds_nothing_is_the_value_itself() -> None:
    value = {"rows": [{"id": 1, "name": "Ada", "at": "2026-11-21T10:00:00Z", "tags": ["a", "b"]}]}
    assert Redactor({"a": Secret("a-secret-value")}).mask_value(value) is value
    assert MASK in Redactor({}).mask_value({"password": "hunter2hunter2"}).values()

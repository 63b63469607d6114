"""Declared secrets in each spelling that is looked for, whatever is cut where, and what is none of them."""

import base64
import json
import random
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from secretdrill import SECRETS, left, spellings

from baselinekit.graders.judging import unusable_reply
from baselinekit.secrets.declared import Declared
from baselinekit.secrets.variables import MASK, Redactor, Secret
from baselinekit.values.texts import end_of, mask_and_clip, shown

PARTS = 4


def redactor_of(*secrets: str) -> Redactor:
    return Redactor({f"s{n}": Secret(secret) for n, secret in enumerate(secrets)})


def test_left_finds_remains_of_secret() -> None:
    assert len(SECRETS) >= 300
    assert left("hunter2hunter2", "base64", base64.b64encode(b"hunter2hunter2").decode())
    assert left("p@ss-w&rd-123", "url", "p%40ss-w")
    assert not left("hunter2hunter2", "plain", "hunte r2hun")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_mask_declared_each_spelling_of_300_secrets(part: int) -> None:
    """Alone, beside all the others, and cut anywhere after the mask."""
    others, chance = redactor_of(*SECRETS), random.Random(part)
    given_away = []
    for secret in SECRETS[part::PARTS]:
        alone = redactor_of(secret)
        for name, text in spellings(secret):
            sentence = f"·· {text} ··"
            masked = alone.mask_declared(sentence)
            cut = mask_and_clip(
                sentence, chance.randrange(3, len(sentence)), alone.mask_declared, counted=False
            )
            for shown_text in (masked, cut, others.mask_declared(sentence)):
                if lost := left(secret, name, shown_text):
                    given_away.append((secret, name, lost))
            if "more" not in name:
                assert masked == f"·· {MASK} ··", (secret, name)
    assert given_away == []


def test_mask_lines_of_secret_are_masked() -> None:
    secret = next(secret for secret in SECRETS if "BEGIN" in secret)
    redactor = redactor_of(secret)
    lines = secret.strip().split("\n")
    shown_lines = [redactor.mask_said(f"+ {line}") for line in lines]
    assert shown_lines == [
        "+ -----BEGIN TEST KEY-----",
        *["+ ***"] * (len(lines) - 2),
        "+ -----END TEST KEY-----",
    ]
    for line in lines[1:-1]:
        for written in (f"    {line}", f"a\\n{line}\\nb", json.dumps([line])):
            assert line not in redactor.mask(written)


def _hyphenated(digits: str, sizes: Iterable[int]) -> str:
    parts, rest = [], digits
    for size in sizes:
        parts.append(rest[:size])
        rest = rest[size:]
    return "-".join(part for part in (*parts, rest) if part)


GUID = (8, 4, 4, 4)
HEX = st.text("0123456789abcdef", min_size=6, max_size=40).filter(lambda digits: not digits.isdigit())
GUIDS = st.text("0123456789abcdef", min_size=32, max_size=32)


@given(HEX | GUIDS, st.data())
def test_mask_declared_hexadecimal_secret_in_any_case_and_grouping(digits: str, data: st.DataObject) -> None:
    sizes = data.draw(st.sampled_from([(), (4, 4), GUID]))
    declared = _hyphenated(digits, sizes)
    forms = {declared, digits, _hyphenated(digits, GUID) if len(digits) == 32 else declared}
    redactor = redactor_of(data.draw(st.sampled_from([declared, declared.upper(), f"{{{declared}}}"])))
    cases = data.draw(st.lists(st.booleans(), min_size=50, max_size=50))
    for form in forms:
        text = "".join(char.upper() if up else char for char, up in zip(form, cases, strict=False))
        assert redactor.mask_declared(f"id: {text};") == f"id: {MASK};"
        assert redactor.mask_declared(f"ïd: {text};") == f"ïd: {MASK};"
    assert redactor.mask_declared("id: nothing-of-it;") == "id: nothing-of-it;"


ORDINARY = [
    {"id": n, "url": f"https://api.example.com/v1/users/{n}?q=a%20b&x=%2Fy", "sha": f"{n:064x}"}
    for n in range(50)
]


def _ordinary() -> dict[str, str]:
    chance = random.Random(5)
    root = Path(__file__).parents[2]
    images = [base64.b64encode(chance.randbytes(30_000)).decode() for _ in range(8)]
    return {
        "json": json.dumps(ORDINARY)
        + " ".join(f"2026-11-{n:02d}T10:20:30Z 0{n}:20:40" for n in range(10, 30)),
        "prose": "\n".join(file.read_text("utf-8") for file in sorted((root / "docs").glob("*.md"))),
        "code": "\n".join(
            file.read_text("utf-8") for file in sorted((root / "baselinekit/cli").glob("*.py"))
        ),
        "images": json.dumps(images),
        "checksums": "\n".join(chance.randbytes(32).hex() for _ in range(3_000)),
        "log": "\n".join(f"10:{n:02d} GET /u/{n}?q=a%20b+c 200 mac=00:1a:{n:02x}" for n in range(256)),
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", _ordinary())
def test_declared_finds_nothing_in_ordinary_text(kind: str) -> None:
    """300 secrets against what answers hold, the short ones and the digits among them."""
    text = _ordinary()[kind]
    words = [secret for secret in SECRETS if all(line not in text for line in (secret, *secret.split("\n")))]
    assert len(words) > 280
    assert Declared({str(n): secret for n, secret in enumerate(words)}).find(text) == []


@pytest.mark.slow
def test_declared_find_is_fast_on_hostile_text() -> None:
    declared = Declared({str(n): secret for n, secret in enumerate((*SECRETS[40:60], "a1", "x"))})
    started = time.process_time()
    for text in ("\\" * 300_000, "%25" * 100_000, "&amp;" * 60_000, "ab:" * 100_000, "QUJD" * 75_000):
        assert declared.find(text) == []
    assert time.process_time() - started < 10


@pytest.mark.slow
@given(st.data())
def test_cut_text_contains_no_part_of_secret(data: st.DataObject) -> None:
    """Whatever is spelt how around the cut."""
    secret = data.draw(st.sampled_from(SECRETS[40:]))
    name, text = data.draw(st.sampled_from(list(spellings(secret))))
    redactor = redactor_of(secret)
    words = data.draw(st.lists(st.sampled_from(["lorem", "ipsum\n", text]), min_size=3, max_size=40))
    sentence = " ".join(words)
    limit = data.draw(st.integers(1, len(sentence)))
    kept = end_of(sentence, limit, redactor.mask_declared)
    assert len(kept) <= limit
    assert not left(secret, name, redactor.mask_declared(kept)), (secret, name, kept)


def test_end_of_cut_text_is_masked_and_starts_with_a_line() -> None:
    mask = redactor_of("correct horse battery").mask_declared
    sentence = "one\ntwo correct horse battery three four"
    assert end_of(sentence, 21, mask) == "two *** three four"
    assert end_of(sentence, 99, mask) == sentence


def test_mask_note_with_word_of_secret_is_dropped() -> None:
    redactor = redactor_of("Xk4 9931 Teapot")
    note = "the numbers differ: 9931, 12; another name: teapot -> Berlin"
    about = ("in Berlin, 12 of Xk4 9931 Teapot", "in Berlin, 12 of 13")
    assert redactor.mask_note(note, *about) is None
    assert redactor.mask_note(note, "9931", "12") == note
    assert redactor.mask_note(None) is None


def test_shown_error_of_any_type_is_masked() -> None:
    error = unusable_reply("says nothing of use", "hunter2hunter2 " * 200)
    hidden = shown(error, redactor_of("hunter2hunter2").mask)
    assert isinstance(hidden, type(error))
    assert hidden.why == "says nothing of use"
    assert "hunter2" in str(error)
    assert "hunter2" not in str(hidden)

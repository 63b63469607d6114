"""Declared secrets, in every spelling, whatever is cut where, and what is none of them."""

import base64
import json
import os
import random
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, strategies as st
from secretdrill import BY_CHARACTER, IN_BULK, SECRETS, left, spellings

from baselinekit.graders.judging import unusable_reply
from baselinekit.secrets.declared import Declared
from baselinekit.secrets.scan import Unescaped
from baselinekit.secrets.variables import MASK, Redactor, Secret
from baselinekit.values.texts import beginning_of, end_of, mask_and_clip, shown

PARTS = 10
THOROUGH = bool(os.environ.get("BASELINEKIT_THOROUGH"))


def tried(secret: str) -> Iterator[tuple[str, str]]:
    """On an ordinary day every second spelling, the others with the next secret: each is tried with half of
    the three hundred."""
    every = list(spellings(secret))
    return iter(every if THOROUGH else every[SECRETS.index(secret) % 2 :: 2])


def redactor_of(*secrets: str) -> Redactor:
    return Redactor({f"s{n}": Secret(secret) for n, secret in enumerate(secrets)})


def test_there_are_three_hundred_and_they_are_told_apart() -> None:
    assert len(SECRETS) >= 300
    assert len(BY_CHARACTER) + len(IN_BULK) >= 60
    assert left("hunter2hunter2", "base64", base64.b64encode(b"hunter2hunter2").decode())
    assert left("hunter2hunter2", "percent", "%68%75%6E%74%65%72")
    assert not left("hunter2hunter2", "plain", "hunte r2hun")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_no_spelling_leaves_anything_behind(part: int) -> None:
    """Not alone, and not beside all the others: one that another one holds is masked as well."""
    others = redactor_of(*SECRETS)
    given_away = []
    for secret in SECRETS[part::PARTS]:
        alone = redactor_of(secret)
        for name, text in tried(secret):
            for redactor in (alone, others) if name in ("plain", "percent", "base64") else (alone,):
                if lost := left(secret, name, redactor.mask_declared(f"·· {text} ··")):
                    given_away.append((secret, name, lost))
    assert given_away == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_a_cut_after_the_mask_leaves_nothing_behind(part: int) -> None:
    """The one function that cuts masks first, so that it does not matter where it cuts."""
    chance = random.Random(part)
    for secret in SECRETS[part::PARTS]:
        redactor = redactor_of(secret)
        for name, text in tried(secret):
            limit = chance.randrange(3, len(text) + 4)
            shown = mask_and_clip(f"·· {text} ··", limit, redactor.mask_declared, counted=False)
            assert not left(secret, name, shown), (secret, name)


def test_lines_of_a_secret_are_masked_wherever_they_stand() -> None:
    secret = next(secret for secret in SECRETS if "BEGIN" in secret)
    redactor = redactor_of(secret)
    lines = secret.strip().split("\n")
    shown = redactor.mask_lines([f"+ {line}" for line in lines])
    assert shown == ["+ -----BEGIN TEST KEY-----", *["+ ***"] * (len(lines) - 2), "+ -----END TEST KEY-----"]
    for line in lines[1:-1]:
        for written in (f"    {line}", f"a\\n{line}\\nb", json.dumps([line]), quote(line), f"> {line[:64]}"):
            assert line not in redactor.mask(written)


def test_what_lies_across_several_texts_is_masked_in_each() -> None:
    secret = "q7ZxP0vT4mKs9LwB2nRd8YcF"
    whole = base64.b64encode(("u" * 50 + secret + "v" * 60).encode()).decode()
    lines = [whole[at : at + 76] for at in range(0, len(whole), 76)]
    redactor = redactor_of(secret)
    for masked in (redactor.mask_value({"lines": lines})["lines"], redactor.mask_lines(lines)):
        assert not left(secret, "base64", "".join(masked).replace(MASK, ""))
        assert [MASK in line for line in masked[:2]] == [True, True]


@given(st.text(max_size=40), st.sampled_from(sorted(BY_CHARACTER)))
def test_escapes_are_undone_and_the_way_back_is_known(text: str, name: str) -> None:
    try:
        written = "".join(BY_CHARACTER[name](text))
    except UnicodeEncodeError:
        return
    bare = Unescaped(written)
    for at in range(len(bare.text)):
        start, end = bare.origin(at, at + 1)
        assert 0 <= start < end <= len(written)
    if text.isascii() and text.isalnum() and name != "plain":
        assert bare.text == text


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
def test_a_hexadecimal_secret_is_masked_in_any_case_with_and_without_hyphens(
    digits: str, data: st.DataObject
) -> None:
    sizes = data.draw(st.sampled_from([(), (4, 4), GUID]))
    declared = _hyphenated(digits, sizes)
    forms = {declared, digits, _hyphenated(digits, GUID) if len(digits) == 32 else declared}
    redactor = redactor_of(data.draw(st.sampled_from([declared, declared.upper(), f"{{{declared}}}"])))
    cases = data.draw(st.lists(st.booleans(), min_size=50, max_size=50))
    for form in forms:
        text = "".join(one.upper() if up else one for one, up in zip(form, cases, strict=False))
        escaped = data.draw(st.sampled_from(["plain", "percent", "\\u", "entities"]))
        written = "".join(BY_CHARACTER[escaped](text))
        assert redactor.mask_declared(f"id: {written};") in (f"id: {MASK};", f"id: {{{MASK}}};")
    assert redactor.mask_declared("id: nothing-of-it;") == "id: nothing-of-it;"


ORDINARY = [
    {"id": n, "url": f"https://api.example.com/v1/users/{n}?q=a%20b&x=%2Fy", "sha": f"{n:064x}"}
    for n in range(50)
]


def _ordinary() -> dict[str, str]:
    chance = random.Random(5)
    here = Path(__file__).parents[2]
    images = [base64.b64encode(chance.randbytes(30_000)).decode() for _ in range(8)]
    return {
        "json": json.dumps(ORDINARY)
        + " ".join(f"2026-11-{n:02d}T10:20:30Z 0{n}:20:40" for n in range(10, 30)),
        "prose": "\n".join(file.read_text("utf-8") for file in sorted((here / "docs").glob("*.md"))),
        "code": "\n".join(
            file.read_text("utf-8") for file in sorted((here / "baselinekit/cli").glob("*.py"))
        ),
        "images": json.dumps(images),
        "checksums": "\n".join(chance.randbytes(32).hex() for _ in range(3_000)),
        "base32": "\n".join(base64.b32encode(chance.randbytes(20)).decode() for _ in range(3_000)),
        "log": "\n".join(f"10:{n:02d} GET /u/{n}?q=a%20b+c 200 mac=00:1a:{n:02x}" for n in range(256)),
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", _ordinary())
def test_nothing_ordinary_is_taken_for_a_spelling(kind: str) -> None:
    """300 secrets against what answers hold, the short ones and the digits among them."""
    text = _ordinary()[kind]
    words = [secret for secret in SECRETS if all(line not in text for line in (secret, *secret.split("\n")))]
    assert len(words) > 280
    assert Declared({str(n): secret for n, secret in enumerate(words)}).find(text) == []


@pytest.mark.slow
def test_three_hundred_secrets_take_little_longer_than_one() -> None:
    text, long = _ordinary()["prose"], [secret for secret in SECRETS if len(secret) >= 12]

    def seconds(count: int) -> float:
        declared, taken = Declared({str(n): secret for n, secret in enumerate(long[:count])}), []
        for _ in range(3):
            started = time.process_time()
            declared.find(text)
            taken.append(time.process_time() - started)
        return min(taken)

    assert seconds(len(long)) < 20 * max(seconds(1), 0.005)


@pytest.mark.slow
def test_what_is_hostile_takes_no_longer() -> None:
    declared = Declared({str(n): secret for n, secret in enumerate(SECRETS[40:60])})
    started = time.process_time()
    for text in ("\\" * 300_000, "%25" * 100_000, "&amp;" * 60_000, "&" + "amp;" * 60_000, "ab:" * 100_000):
        assert declared.find(text) == []
    assert declared.find("QUJD" * 75_000) == []
    assert time.process_time() - started < 10


@pytest.mark.slow
@given(st.data())
def test_a_text_that_is_kept_in_part_holds_no_part_of_a_secret(data: st.DataObject) -> None:
    """Whatever is spelt how around the cut: with blanks, on several lines, encoded and wrapped."""
    secret = data.draw(st.sampled_from(SECRETS[40:]))
    name, text = data.draw(st.sampled_from(list(spellings(secret))))
    redactor = redactor_of(secret)
    words = data.draw(st.lists(st.sampled_from(["lorem", "ipsum\n", text]), min_size=3, max_size=40))
    said = " ".join(words)
    limit = data.draw(st.integers(1, len(said)))
    first, last = (cut(said, limit, redactor.mask_declared) for cut in (beginning_of, end_of))
    assert max(len(first), len(last)) <= limit
    for kept in (first, last):
        assert not left(secret, name, redactor.mask_declared(kept)), (secret, name, kept)


def test_what_is_kept_in_part_is_as_much_as_may_be() -> None:
    mask = redactor_of("correct horse battery").mask_declared
    said = "one two correct horse battery three four"
    assert beginning_of(said, 20, mask) == "one two"
    assert beginning_of(said, 34, mask) == "one two correct horse battery thre"
    assert end_of(said, 20, mask) == "three four"
    assert end_of(said, 36, mask) == end_of(said, 39, mask) == "two correct horse battery three four"
    assert beginning_of(said, 99, mask) == end_of(said, 99, mask) == said


def test_a_note_about_texts_names_no_words_of_their_secrets() -> None:
    redactor = redactor_of("Xk4 9931 Teapot")
    note = "the numbers differ: 9931, 12; another name: teapot -> Berlin"
    about = ("in Berlin, 12 of Xk4 9931 Teapot", "in Berlin, 12 of 13")
    assert redactor.mask_note(note, *about) == "the numbers differ: ***, 12; another name: *** -> Berlin"
    assert redactor.mask_note(note, "9931", "12") == note
    assert redactor.mask_note(None) is None


def test_an_error_is_shown_without_secrets_whatever_its_kind_is_made_of() -> None:
    error = unusable_reply("says nothing of use", "hunter2hunter2 " * 200)
    hidden = shown(error, redactor_of("hunter2hunter2").mask)
    assert isinstance(hidden, type(error))
    assert hidden.why == "says nothing of use"
    assert "hunter2" in str(error)
    assert "hunter2" not in str(hidden)

"""A secret of fewer than six characters is masked as a whole value, and never inside a longer text."""

import base64
import json
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from baselinekit.learning.templating import OutputTemplater, with_names
from baselinekit.model.values import Json
from baselinekit.secrets.declared import SHORTEST_WITHIN
from baselinekit.secrets.variables import MASK, Redactor, Scope, Secret

SECRETS = {"tiny": "a1", "user": "root", "pin": "1234", "odd": "p@s&", "one": "x"}
REDACTOR = Redactor({name: Secret(value) for name, value in SECRETS.items()})


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


WHOLE = {
    "a1": MASK,
    "A1": MASK,
    "Bearer A1": f"Bearer {MASK}",
    " root\n": f" {MASK}\n",
    '"root"': f'"{MASK}"',
    "x": MASK,
    "p%40s%26": MASK,
    b64("root"): MASK,
    "Bearer a1": f"Bearer {MASK}",
    "Token root": f"Token {MASK}",
    "Authorization: ApiKey a1": f"Authorization: ApiKey {MASK}",
    f"Basic {b64('ada:a1')}": f"Basic {MASK}",
    f"basic {b64('root:')}": f"basic {MASK}",
    "sid=a1": f"sid={MASK}",
    "theme=dark; sid=a1; Path=/": f"theme=dark; sid={MASK}; Path=/",
    "https://api.example.com/a1?key=a1&page=2": f"https://api.example.com/a1?key={MASK}&page=2",
    "/orders?pin=1234#top": f"/orders?pin={MASK}#top",
    "user=ada&password=p%40s%26&x=1": f"user=ada&password={MASK}&x=1",
    "https://root@example.com/": f"https://{MASK}@example.com/",
    '{"pin": 1234, "note": "a1"}': f'{{"pin": {MASK}, "note": "{MASK}"}}',
    '["root", "other"]': f'["{MASK}", "other"]',
    '{\\"user\\": \\"root\\"}': f'{{\\"user\\": \\"{MASK}\\"}}',
    "X-Pin: 1234": f"X-Pin: {MASK}",
    "user:\n  name: root\n  age: 3": f"user:\n  name: {MASK}\n  age: 3",
    "+   pin: '1234'": f"+   pin: '{MASK}'",
    "- root\n- other": f"- {MASK}\n- other",
    'from "b\\npin: a1\\nx" to "a1\\na1\\nc"': f'from "b\\npin: {MASK}\\nx" to "a1\\n{MASK}\\nc"',
    "one\na1\ntwo a1": f"one\n{MASK}\ntwo a1",
    "curl -u ada:a1 -H 'X-Key: a1' https://h/": f"curl -u ada:{MASK} -H 'X-Key: {MASK}' https://h/",
    "compare --secret TOKEN=a1 -j 8": f"compare --secret TOKEN={MASK} -j 8",
    "<user>root</user>": f"<user>{MASK}</user>",
}
INSIDE = [
    "data1", "a1b2", "the root of all", "log in as root", "/root/a1/x", "root.example.com",
    "https://root.example.com:1234/a1", "root: no such user", "sid=a12; x1=b", "?a1=2&root=3",
    "2026-01-02T12:34:56Z 12345 +1234567", "x-root: yes", '{"root": 1, "a1": [2]}', "Bearer a1b2c3",
    f"Basic {b64('ada:a1b2')}", "sha256:a1f0a1f0", "(a1)", "10:1234:7", "<root>1</root>", "1.1234",
]  # fmt: skip


@pytest.mark.parametrize("text", WHOLE)
def test_mask_short_secret_as_whole_value(text: str) -> None:
    assert REDACTOR.mask(text) == WHOLE[text]
    assert REDACTOR.mask_said(text) == WHOLE[text]
    assert REDACTOR.mask_value({"v": [text]}) == {"v": [WHOLE[text]]}
    assert REDACTOR.found_in(text)


@pytest.mark.parametrize("text", INSIDE)
def test_mask_short_secret_inside_text_stays(text: str) -> None:
    assert REDACTOR.mask(text) == text
    assert REDACTOR.mask_said(text) == text
    assert REDACTOR.mask_value({"v": text}) == {"v": text}
    assert REDACTOR.found_in(text) == set()


def test_mask_value_short_secret_values_and_numbers_but_no_keys() -> None:
    value = {"root": {"pin": 1234, "pins": [Decimal("1234"), 12345, True], "user": "root"}, "password": "a1"}
    assert REDACTOR.mask_value(value) == {
        "root": {"pin": MASK, "pins": [MASK, 12345, True], "user": MASK},
        "password": MASK,
    }
    ordinary = {"root": "roots", "n": 234}
    assert REDACTOR.mask_value(ordinary) is ordinary


@given(
    st.text("abcdefgh0123456789", min_size=1, max_size=8),
    st.text("abcdefgh0123456789", min_size=1, max_size=4),
    st.text("abcdefgh0123456789", min_size=1, max_size=4),
)
def test_mask_value_inside_text_depends_on_length(secret: str, before: str, after: str) -> None:
    redactor = Redactor({"it": Secret(secret)})
    inside, whole = redactor.mask_value([f"{before}{secret}{after}", f"k={secret}"])
    assert whole == f"k={MASK}"
    if len(secret) < SHORTEST_WITHIN:
        assert inside in (f"{before}{secret}{after}", MASK)  # MASK: by chance its encoding
    else:
        assert secret not in inside


SCOPE = Scope(secrets={name: Secret(value) for name, value in SECRETS.items()})


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("Bearer a1", "Bearer {{tiny}}"),
        ("https://h/data1?key=a1", "https://h/data1?key={{tiny}}"),
        ({"root": "root", "n": "roots"}, {"root": "{{user}}", "n": "roots"}),
        ("a1=a1; b=x", "a1={{tiny}}; b={{one}}"),
        ("p%40s%26", "p%40s%26"),
    ],
)
def test_with_names_short_secret_only_as_whole_value(typed: Json, written: Json) -> None:
    assert with_names(typed, SCOPE) == written


def test_output_templater_short_secret_only_as_whole_value() -> None:
    output: Json = {"user": "root", "home": "/root/a1", "link": "/x?key=a1", "ok": "x-ray"}
    assert OutputTemplater(SCOPE).template(output) == {
        "user": "<<var(user)>>",
        "home": "/root/a1",
        "link": "/x?key=<<var(tiny)>>",
        "ok": "x-ray",
    }


def test_mask_said_keeps_json_valid() -> None:
    document = json.dumps({"root": "root", "pin": 1234, "list": ["a1", "data1"]})
    assert REDACTOR.mask_said(document) == document.replace('"root",', f'"{MASK}",').replace(
        "1234", MASK
    ).replace('"a1"', f'"{MASK}"')

"""Variables are expanded once and only where declared; secrets never come back out (F07, F16)."""

import json
import time
from decimal import Decimal

import pytest

from baselinekit.errors import InvalidInput, Place
from baselinekit.kinds.http import HttpExecution
from baselinekit.model.recipes import HttpRequest, Recipe
from baselinekit.secrets.variables import MASK, Redactor, Scope, Secret, names_in, parse_env_file

SCOPE = Scope(
    {"host": "example.com", "n": 7, "on": True, "list": [1, "a"], "nested": "{{host}}", "null": None},
    {"token": Secret("s3cret-value")},
)


@pytest.mark.parametrize(
    ("written", "expanded"),
    [
        ("https://{{host}}/x", "https://example.com/x"),
        ("{{ host }}", "example.com"),
        ("{{n}}", 7),
        ("{{on}}", True),
        ("{{null}}", None),
        ("{{list}}", [1, "a"]),
        ("n={{n}}, on={{on}}, {{null}}, {{list}}", 'n=7, on=true, null, [1, "a"]'),
        ("{{nested}}", "{{host}}"),
        ("<{{nested}}>", "<{{host}}>"),
        (r"\{{host}}", "{{host}}"),
        (r"a \{{n}} b {{n}}", "a {{n}} b 7"),
        ("Bearer {{token}}", "Bearer s3cret-value"),
        ("{{}} {{ 1x }} {", "{{}} {{ 1x }} {"),
        (["{{n}}", {"{{host}}": "{{n}}!"}], [7, {"example.com": "7!"}]),
        (12, 12),
    ],
)
def test_expand_variables(written: object, expanded: object) -> None:
    assert SCOPE.expand(written) == expanded


def test_expand_recipe() -> None:
    recipe = Recipe(
        HttpRequest(endpoint="/u/{{n}}", headers={"Authorization": "Bearer {{token}}"}, json={"n": "{{n}}"}),
        HttpExecution("http", base_url="https://{{host}}"),
    )
    expanded = SCOPE.expand(recipe)
    assert expanded.input.endpoint == "/u/7"
    assert expanded.input.headers == {"Authorization": "Bearer s3cret-value"}
    assert expanded.input.json == {"n": 7}
    assert expanded.execution.base_url == "https://example.com"
    assert recipe.input.endpoint == "/u/{{n}}"
    assert sorted(names_in(recipe)) == ["host", "n", "n", "token"]


def test_expand_undefined_variable_names_place_and_nearest() -> None:
    with pytest.raises(InvalidInput) as caught:
        SCOPE.expand({"headers": ["{{tokn}}"]}, ("current", "input"))
    (problem,) = caught.value.problems
    assert (problem.code, problem.at) == ("BK501", ("current", "input", "headers", 0))
    assert "{{tokn}}" in problem.message
    assert problem.hint == "did you mean 'token'?"
    with pytest.raises(InvalidInput, match="--var elsewhere=…"):
        Scope().expand("{{elsewhere}}")


def test_expand_does_not_read_process_environment() -> None:
    with pytest.raises(InvalidInput):
        SCOPE.expand("{{PATH}}")


def test_with_saved_overrides_declared_variable() -> None:
    assert SCOPE.with_saved({"host": "other", "id": 3}).expand("{{host}}/{{id}}/{{n}}") == "other/3/7"


def test_mask_longest_secret_first() -> None:
    redactor = Redactor({"short": Secret("abcdef"), "long": Secret("abcdefgh")})
    assert redactor.mask("abcdefgh abcdef") == f"{MASK} {MASK}"


def test_mask_value_masks_values_keys_and_numbers() -> None:
    redactor = Redactor({"pin": Secret("12345678"), "word": Secret("hunter2!")})
    value = {
        "a hunter2! b": ["hunter2!", 12345678, Decimal("12345678"), 1234, True, None],
        "t": ("hunter2!",),
    }
    assert redactor.mask_value(value) == {f"a {MASK} b": [MASK, MASK, MASK, 1234, True, None], "t": (MASK,)}
    assert Redactor({}).mask_value(value) is value


TAG, PASSED = 'W/"44-tp3E1UXTZ2V1aJaeGnzoTeDK7Cs"', "q7ZxP0vT4mKs9LwB2nRd8YcF"


def test_mask_said_shows_values_judged_in_their_place() -> None:
    """On the terminal the place of a value is no longer known, but two tags stay distinct."""
    redactor = Redactor({"word": Secret("hunter2!")})
    knowing = redactor.knowing({"password": "Xx12345678"})
    assert MASK in redactor.mask_said(f"  + {json.dumps(TAG)}")
    assert knowing.mask_value(TAG, ("headers", "etag")) == TAG
    assert knowing.mask_value({"id": PASSED, "note": "a hunter2! b"}, ("body",))["id"] == PASSED
    assert (
        redactor.mask_said(f"  + {json.dumps(TAG)}\n  id: {PASSED}")
        == f"  + {json.dumps(TAG)}\n  id: {PASSED}"
    )
    assert PASSED not in redactor.mask_said(f"token={PASSED}")
    assert "hunter2!" not in redactor.mask_said(f"hunter2! {PASSED}")
    assert redactor.mask(PASSED) != PASSED  # what is written to a report depends on no other result


@pytest.mark.slow
def test_mask_is_fast_on_hostile_text() -> None:
    redactor = Redactor({"a": Secret('"q"u"o"t"e"d'), "b": Secret("%%%%%%%x"), "c": Secret("plain-one")})
    started = time.process_time()
    for text in ("\\" * 300_000, "%25" * 100_000, "plain-on" * 40_000):
        assert redactor.mask(text) == text
    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("K=plain", "plain"),
        ("export K=plain", "plain"),
        ("  K = spaced out  ", "spaced out"),
        ("K=", ""),
        ("K= # nothing", ""),
        ("K=a # comment", "a"),
        ("K=#fff", "#fff"),
        ("K=a#b", "a#b"),
        ("K='a # b'", "a # b"),
        ("K='${HOST} \\n'", "${HOST} \\n"),
        ('K="a\\nb \\"q\\" # c" # d', 'a\nb "q" # c'),
        ('K="\\${HOST}"', "${HOST}"),
        ("K=a=b", "a=b"),
        ("K=it's", "it's"),
        ("K=\u2028x", "\u2028x".strip()),
    ],
)
def test_parse_env_file_values(line: str, value: str) -> None:
    assert parse_env_file(f"\ufeff# head\r\nHOST=h.example\r\n\r\n{line}\r\n", "a.env")["K"] == value


def test_parse_env_file_reports_all_errors_without_values() -> None:
    text = 'A=1\nhunter2\n=x\nB=\'hunter2\nC="hunter2" x\nD=${NOPE}hunter2\n'
    with pytest.raises(InvalidInput) as caught:
        parse_env_file(text, "test.env")
    assert [problem.place for problem in caught.value.problems] == [
        Place("test.env", number, 1) for number in (2, 3, 4, 5, 6)
    ]
    assert {problem.code for problem in caught.value.problems} == {"BK101"}
    assert "hunter2" not in str(caught.value)
    assert "${NOPE}" in str(caught.value)

"""YAML as it is read: the types of YAML 1.2, exact numbers, and a guard for all that a file may try."""

from decimal import Decimal
from typing import Any

import pytest
from storehelp import same

from baselinekit.errors import InvalidInput
from baselinekit.files import libyaml
from baselinekit.files.languages import YAML

SCALARS: list[tuple[str, Any]] = [
    *((text, None) for text in ("", "~", "null", "Null", "NULL")),
    *((text, True) for text in ("true", "True", "TRUE")),
    *((text, False) for text in ("false", "False", "FALSE")),
    *((text, text) for text in ("yes", "no", "on", "off", "Yes", "NO", "y", "n", "nULL", "tRUE", "=", "nan")),
    *((text, text) for text in ("12:30:45", "190:20:30.15", "2024-01-15", "2024-01-15T10:30:00Z", "1.2.3")),
    *((text, text) for text in ("1_000", "0b101", "0o8", "0xZ", "1e", "e3", "+", ".", "..", "0x", "1 2")),
    ("0", 0),
    ("-0", 0),
    ("+12", 12),
    ("017", 17),
    ("0o17", 15),
    ("0x1F", 31),
    ("9007199254740993", 9007199254740993),
    ("1" * 1_000, int("1" * 1_000)),
    ("1.0", 1.0),
    ("1.", 1.0),
    (".5", 0.5),
    ("-.5", -0.5),
    ("1e3", 1000.0),
    ("1E+3", 1000.0),
    ("-1.5e-3", -0.0015),
    ("0.1", 0.1),
    ("1.10", 1.1),
    ("0.1000000000000000055511151231257827", Decimal("0.1000000000000000055511151231257827")),
    ("1e400", Decimal("1e400")),
    ("12345678901234567890.5", Decimal("12345678901234567890.5")),
    ("'no'", "no"),
    ('"1"', "1"),
    ("|\n  a\n  b", "a\nb"),
    (">\n  a\n  b\n", "a b\n"),
    (r'"\ud83d\ude00"', "\U0001f600"),
    (r'"\ud800"', "\ud800"),
    (
        r'["\uD8aF \uE000", \uD8aF \ud8AF \uDc00, "\uf123"]',
        ["\ud8af \ue000", r"\uD8aF \ud8AF \uDc00", "\uf123"],
    ),
    ('"\\/ \\x41 \\t"', "/ A \t"),
]


@pytest.mark.parametrize(("text", "value"), SCALARS)
def test_yaml_load_scalar_types_of_yaml_1_2(text: str, value: Any) -> None:
    (found,) = libyaml.load(text if text else "---\n", "f")
    assert same(found, value)
    if "\n" not in text:
        (found,) = libyaml.load(f"- [{text or 'null'}]\n- {{k: {text}}}", "f")
        assert same(found, [[value], {"k": value}]) or text in ("|", ">")


def test_yaml_load_documents_and_aliases() -> None:
    assert YAML.load("", "f") == []
    assert YAML.load("# nothing\n", "f") == []
    assert YAML.load("---\na: 1\n---\n---\nb: 2\n...\n", "f") == [{"a": 1}, None, {"b": 2}]
    assert YAML.load("a: &x [1, &y 2]\nb: *x\nc: *y\n", "f") == [{"a": [1, 2], "b": [1, 2], "c": 2}]
    assert YAML.load("%YAML 1.2\n---\n\"<<\": 1\n'1': 2\n*a : 3\n".replace("*a : 3\n", ""), "f") == [
        {"<<": 1, "1": 2}
    ]


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdef", "bcdefg", strict=True)
)
ERRORS = [
    ("a: 1\na: 2\n", "BK102 f:2:1: the key 'a' occurs twice: remove one of the two"),
    ("a: 1\n'a': 2\nb: 1\nb: 2", "BK102 f:2:1: .*\nBK102 f:4:1: the key 'b' occurs twice"),
    ("---\nx: 1\n---\n- 1\n- q: {a: 1,\n  a: 2}\n", "BK102 f:6:3: "),
    ("1: a", "BK107 f:1:1: the key 1 is a number; keys must be strings: quote it"),
    ("true: a\n~: b", "BK107 f:1:1: the key true is a boolean.*\nBK107 f:2:1: the key ~ is a null"),
    ('a: &a "<<"\n*a : 3', "BK107 f:2:1: the key .* is a merge key"),
    ("? [a]\n: b", "BK107 f:1:3: a key of type array"),
    ("a:\n  <<: {b: 1}", "BK107 f:2:3: the key << is a merge key.* quote it"),
    ("a: !!python/object:os.system x", "BK107 f:1:4: the tag !!python/object:os.system is not supported"),
    ("a: !mine {b: 1}", "BK107 f:1:4: the tag !mine is not supported"),
    ("a: !!int x", "BK107 f:1:4: the tag !!int is not supported"),
    ("a: !!timestamp 2024-01-15", "BK107 f:1:4: the tag !!timestamp"),
    ("a: .nan", "BK106 f:1:4: .nan, which is not a JSON number"),
    ("a: -.INF", "BK106 f:1:4: -.INF"),
    ("a: " + "1" * 5_000, "BK106 f:1:4: a number of more than 1,000 digits"),
    ("a: 0." + "1" * 5_000, "BK106 f:1:4: a number of more than 1,000 digits"),
    ("a: 0x" + "1" * 5_000, "BK106 f:1:4: a number of more than 1,000 digits"),
    ("a: 1e99999999999999999999", "BK106 f:1:4: a number of more than 1,000 digits"),
    ("[" * 65 + "]" * 65, "BK106 f:1:65: nested more than 64 levels deep"),
    ("[" * 200_000, "BK10[16] f:1:"),
    ("- " * 200_000, "BK10[16] f:1:"),
    ("{a: " * 70, "BK106 f:1:257: nested"),
    (BOMB, "BK106 f:[67]:.*: more than 200,000 values"),
    ("[" + "1," * 200_001 + "]", "BK106 f:1:400004: more than 200,000 values"),
    ("a: *b", r"BK101 f:1:4: the alias \*b is undefined"),
    ("a: &a [*a]", r"BK101 f:1:8: the alias \*a"),
    ("--- &a x\n--- *a\n", r"BK101 f:2:5: the alias \*a"),
    ("a: b: c", "BK101 f:1:5: not valid YAML: mapping values .*quote"),
    ("a:\n\t- b", "BK101 f:2:1: .* indent with spaces"),
    ("a: [1", "BK101 f:1:6: not valid YAML"),
    ("a: '", "BK101 f:1:4: not valid YAML: a quote is not closed"),
    ('a: 1\nb: "x\nc: y\n', "BK101 f:2:4: .*a quote is not closed"),
    ("a: {b: 'x, c: 1}\nd: 2\n", "BK101 f:1:8: .*a quote is not closed"),
    ('a: 1\n"b: 1\n---\nc: 2\n', "BK101 f:2:1: .*a quote is not closed"),
    ('a: "x" y\n', "BK101 f:1:8: .*did not find expected key"),
    ('a: "x\n  y"\nb: c: d\n', "BK101 f:3:5: .*mapping values"),
    ("a: \x01", "BK101 f:1:4: not valid YAML: .*control characters"),
    ("a: \x00b", "BK101 f:1:4"),
    ("a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> x\n", "BK101 f:2:1: an unresolved git conflict"),
    ("%YAML 9.9\n---\na", "BK101 f:1:1: not valid YAML"),
]


@pytest.mark.parametrize(("text", "message"), ERRORS, ids=[text[:20] for text, _ in ERRORS])
def test_yaml_load_mistake_has_its_place(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        YAML.load(text, "f")

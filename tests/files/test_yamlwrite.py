"""YAML as it is written: it reads back as it was, and no reader takes a text for another type."""

import json
from decimal import Decimal
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from storehelp import ODD, same, values

from baselinekit.errors import InvalidInput
from baselinekit.files.languages import YAML, dump_yaml, yaml_flow


def for_pyyaml(value: Any) -> Any:
    """The value without what YAML 1.1 cannot hold: decimals, half characters."""
    if isinstance(value, Decimal):
        return None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [for_pyyaml(item) for item in value]
    if isinstance(value, dict):
        return {for_pyyaml(key): for_pyyaml(item) for key, item in value.items()}
    return value


@pytest.mark.slow
@given(values)
@example({"a": {"b": {}}, "c": [[], [[1], {"d": []}]], "e": "x\n y\n\n"})
@example(["a\n", "a\n\n", "a", " a\nb", "\n\na", "\n", "a\n ", "\ta\nb", "a \nb", "a\n\n\n"])
def test_dump_yaml_reads_back_as_the_same(value: Any) -> None:
    text = dump_yaml(value)
    assert text.endswith("\n")
    text.encode()
    assert same(YAML.load(text, "f"), [value])
    assert same(YAML.load(yaml_flow(value), "f"), [value])
    plain = for_pyyaml(value)
    assert same(yaml.load(dump_yaml(plain), yaml.CSafeLoader), plain)


@pytest.mark.parametrize("text", [text for text in ODD if text.isascii()])
def test_dump_yaml_odd_text_reads_back_in_every_reader(text: str) -> None:
    value = {text: text, "list": [text, [text]]}
    for loader in (yaml.CSafeLoader, yaml.SafeLoader):
        assert yaml.load(dump_yaml(value), loader) == value
    assert YAML.load(dump_yaml(value), "f") == [value]


@pytest.mark.parametrize(
    "text", ["no", "1e3", "0o17", "12:30:45", "2024-01-15", "1.0", "null", "~", "y", "=", "0x1F", ".5"]
)
def test_dump_yaml_quotes_text_that_looks_like_another_type(text: str) -> None:
    assert dump_yaml([text]) == f'- "{text}"\n'


@pytest.mark.parametrize(
    "text",
    [
        "User list", "/api/v1/users", "<<any_uuid>>", "v2.3.1", "a b", "application/json", "http://x.org/y",
        "$.a", "É", "a-b",
    ],
)  # fmt: skip
def test_dump_yaml_writes_ordinary_text_without_quotes(text: str) -> None:
    assert dump_yaml({"a": text}) == f"a: {text}\n"


def test_dump_yaml_layout() -> None:
    value = {
        "b": 1,
        "a": {"list": [{"x": 1, "y": [1, 2]}, [3]], "empty": [[], {}]},
        "text": "one\ntwo\n",
        "bare": "one\n\ntwo",
        "kept": "one\n\n",
        "pattern": r"^\d+$",
        "said": 'he said "no"',
        "wide": "w " * 80 + "w",
        "hidden": "a\u202eb\x1b",
        "float": [1e16, 1e-7, 0.1, -0.0],
    }
    assert dump_yaml(value) == (
        "b: 1\n"
        "a:\n"
        "  list:\n"
        "    - x: 1\n"
        '      "y":\n'
        "        - 1\n"
        "        - 2\n"
        "    - - 3\n"
        "  empty:\n"
        "    - []\n"
        "    - {}\n"
        "text: |\n"
        "  one\n"
        "  two\n"
        "bare: |-\n"
        "  one\n"
        "\n"
        "  two\n"
        "kept: |+\n"
        "  one\n"
        "\n"
        "pattern: ^\\d+$\n"
        'said: he said "no"\n'
        f"wide: {'w ' * 80}w\n"
        'hidden: "a\\u202Eb\\x1B"\n'
        "float:\n"
        "  - 1.0e+16\n"
        "  - 1.0e-07\n"
        "  - 0.1\n"
        "  - -0.0\n"
    )


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), Decimal("NaN"), 10**1_001, {"a": [-float("inf")]}]
)
def test_dump_yaml_refuses_values_that_do_not_read_back(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"BK106"):
        dump_yaml(value)


def test_dump_yaml_refuses_too_deep_nesting() -> None:
    value: Any = 1
    for _ in range(64):
        value = [value]
    for write in (dump_yaml, yaml_flow):
        assert same(YAML.load(write(value), "f"), [value])
        for deeper in ([value], json.loads(json.dumps(value).replace("1", "[]"))):
            with pytest.raises(InvalidInput, match=r"more than 64 levels"):
                write(deeper)

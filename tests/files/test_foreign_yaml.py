"""YAML that another tool wrote: read with the types of Python, nothing is built, and whatever it holds it is
values or an error with its place."""

import datetime

import pytest
from hypothesis import given, strategies as st

from baselinekit.errors import InvalidInput
from baselinekit.files import libyaml

YAML = [
    ("yes", True),
    ("'yes'", "yes"),
    ("0x1f", 31),
    ("017", 15),
    ("1:30", 90),
    ("1_000", 1000),
    ("1e3", "1e3"),
    ("1.0e+3", 1000.0),
    ("2024-02-29", datetime.date(2024, 2, 29)),
    ("!!set {b, a}", {"a", "b"}),
    ("!!binary aGk=", b"hi"),
    ("{<<: {a: 1, b: 2}, b: 3}", {"a": 1, "b": 3}),
    ("[&x {a: 1}, *x]", [{"a": 1}, {"a": 1}]),
]


@pytest.mark.parametrize(("text", "value"), YAML)
def test_load_foreign_reads_yaml_of_other_tools(text: str, value: object) -> None:
    assert libyaml.load_foreign(text, "x.yml") == [value]


HOSTILE = {
    "circular": ("&a [*a]", "nested too deeply"),
    "bomb": (
        "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
        + "".join(
            f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 10)}]\n" for n in range(6)
        ),
        "expand to too many",
    ),
    "deep": ("[" * 2000 + "]" * 2000, "nesting depth"),
    "broken": ("a: [1\nb: 2", "not valid YAML"),
    "digits": ("9" * 1500, "digits"),
    "a mapping as a key": ("? {a: 1}\n: 2", "unhashable key"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_load_foreign_refuses_hostile_yaml_with_its_line(name: str) -> None:
    text, what = HOSTILE[name]
    with pytest.raises(InvalidInput, match=what) as caught:
        libyaml.load_foreign(text, "x.yml")
    place = caught.value.problems[0].place
    assert place is not None
    assert place.line


@pytest.mark.parametrize("tag", ["!python/object/apply:os.system", "!python/name:os.system", "mine"])
def test_load_foreign_builds_nothing_from_a_tag(tag: str) -> None:
    ((value,),) = libyaml.load_foreign(f"[!{tag} [touch, /tmp/x]]", "x.yml")
    assert isinstance(value, libyaml.OddNode)


@given(
    st.text(max_size=120)
    | st.from_regex(
        r"(?:[a-c]: |- |&a |\*a |!!python/object:x\.Y |<<: |\{|\}|\[|\]|\n| {2}|2024-01-0\d ?|0x1f){0,20}",
        fullmatch=True,
    )
)
def test_load_foreign_gives_values_or_an_error_with_its_place(text: str) -> None:
    try:
        libyaml.load_foreign(text, "x.yml")
    except InvalidInput as error:
        place = error.problems[0].place
        assert place is not None
        assert place.file == "x.yml"

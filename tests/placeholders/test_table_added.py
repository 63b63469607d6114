"""A new placeholder is one row: what it accepts, how it is learnt and written."""

import re

import pytest

from baselinekit.errors import InvalidInput
from baselinekit.model.values import Json
from baselinekit.placeholders.formats import text_format
from baselinekit.placeholders.grammar import Kind, LearningRule, PlaceholderType
from baselinekit.placeholders.narrowest import for_rows, narrowest
from baselinekit.placeholders.table import TABLE, PlaceholderContext, types_of
from baselinekit.placeholders.template import Inline, Placeholder, compile_text

COLOUR = text_format(
    "any_colour",
    "#[0-9A-Fa-f]{6}",
    "colours",
    argument=lambda texts: "dark" if all(text < "#8" for text in texts) else None,
    narrowed="{} colours",
    piece="#[0-9A-Fa-f]{6}",
    in_rows=True,
)
DARK = COLOUR.build


def build(args: tuple[Json, ...], words: PlaceholderContext) -> Kind:
    """The same with an argument, as a placeholder that is no plain expression has one."""
    if args != ("dark",):
        return DARK(args, words)
    plain = DARK((), words)
    return Kind(lambda value: plain.accepts(value) and value < "#8", plain.inline)


CODE = PlaceholderType(
    "any_code",
    lambda args, words: Kind(
        lambda value: isinstance(value, str) and re.fullmatch("#[0-9A-Za-z]+", value) is not None,
        "#[0-9A-Za-z]+",
    ),
)
ROWS = (PlaceholderType(COLOUR.name, build, COLOUR.types, COLOUR.learnt), CODE)
ALL = {**{row.name: row for row in ROWS}, **TABLE}
WORDS = PlaceholderContext(table=ALL)


def template(text: str) -> Placeholder | Inline:
    made = compile_text(text, WORDS)
    assert isinstance(made, Placeholder | Inline)
    return made


@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        ("<<any_colour>>", ["#a1B2c3", "#000000"], ["#a1b2c", "a1b2c3", 7]),
        ("<<any_colour(dark)>>", ["#000000"], ["#a1b2c3"]),
        ("on <<any_colour>>!", ["on #a1b2c3!"], ["on a1b2c3!", "#a1b2c3"]),
        ("<<any_array(any_colour)>>", [["#a1b2c3"], []], [["red"]]),
    ],
)
def test_it_is_accepted_alone_and_inside_a_text(text: str, accepted: list[Json], refused: list[Json]) -> None:
    assert [template(text).accepts(value, {}) for value in accepted] == [True] * len(accepted)
    assert [template(text).accepts(value, {}) for value in refused] == [False] * len(refused)


def test_without_its_row_it_is_unknown() -> None:
    with pytest.raises(InvalidInput) as raised:
        compile_text("<<any_colour>>", PlaceholderContext())
    assert raised.value.problems[0].code == "BK212"
    with pytest.raises(InvalidInput) as raised:
        compile_text("<<any_color>>", WORDS)
    assert "any_colour" in raised.value.problems[0].hint


@pytest.mark.parametrize(
    ("values", "proposals"),
    [
        (["#a1b2c3", "#ffffff"], ["<<any_colour>>", "<<any_nonempty_string>>", "<<any_string>>"]),
        (["#000000", "#111111"], ["<<any_colour(dark)>>", "<<any_colour>>"]),
        (["#a1b2c3", None], ["<<any_colour|null>>"]),
        (["red is #a1b2c3 here", "red is #ffffff here"], ["red is <<any_colour>> here"]),
    ],
)
def test_it_is_learnt_and_written(values: list[Json], proposals: list[str]) -> None:
    found = [proposal.text for proposal in narrowest(values, words=WORDS)]
    assert found[: len(proposals)] == proposals
    assert not any("any_colour" in proposal.text for proposal in narrowest(values))


def test_it_may_stand_for_a_key_of_every_row_and_its_type_is_known() -> None:
    assert "<<any_colour>>" in for_rows(ALL)
    assert "<<any_code>>" not in for_rows(ALL)
    assert types_of("any_colour", ALL) == frozenset({"string"})
    assert types_of("any", ALL) is None
    assert set(for_rows()) == set(for_rows(ALL)) - {"<<any_colour>>"}


@pytest.mark.parametrize("name", sorted(TABLE))
def test_a_row_is_learnt_as_what_it_accepts(name: str) -> None:
    """Whatever is learnt can be written without arguments, so that it can be proposed."""
    learnt = TABLE[name].learnt
    if learnt is not None:
        assert isinstance(compile_text(f"<<{name}>>", PlaceholderContext()), Placeholder)
        types = TABLE[name].types
        assert types is None or learnt.of in types


def test_a_row_of_numbers_says_how_their_bound_and_their_unit_are_learnt() -> None:
    numbers = TABLE["any_number"]
    years = LearningRule(
        lambda values: f"{len(values)} years",
        "number",
        fits=lambda values: all(1900 <= value < 2100 for value in values),
    )
    tens = LearningRule(
        "tens", "number", "type", fits=lambda values: all(value % 10 == 0 for value in values)
    )
    rows = (
        PlaceholderType("any_year", numbers.build, numbers.types, years),
        PlaceholderType("any_tens", numbers.build, numbers.types, tens),
    )
    words = PlaceholderContext(table={**{row.name: row for row in rows}, **TABLE})
    learnt = [(found.text, found.reason) for found in narrowest([1999, 2024], words=words)]
    assert learnt == [("<<any_year>>", "2 years"), ("<<any_number>>", "numbers")]
    learnt = [(found.text, found.reason) for found in narrowest([10, 30, 20], words=words)]
    assert learnt[0] == ("<<any_tens(0)>>", "tens from 10 to 30, and no negative ones")
    assert narrowest([10, 35], words=words)[0].text.startswith("<<any_integer(")

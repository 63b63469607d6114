"""What is typed after `capture` about the comparison, and the rules that it becomes."""

from collections.abc import Iterator
from typing import Any

import click
import pytest

from baselinekit.cli.main import cli
from baselinekit.cli.options import Number, PathRuleOptions, command
from baselinekit.cli.recipes import parse_path_rules
from baselinekit.errors import InvalidInput


def rules_for(words: str) -> dict[str, Any]:
    """The rules in the file for these options."""
    made = command(PathRuleOptions, name="rules")(parse_path_rules)
    rules: dict[str, Any] = made.main(words.split(), standalone_mode=False)
    return rules


@pytest.mark.parametrize(
    ("words", "rules"),
    [
        ("", {}),
        ("--ignore a --ignore b.*", {"ignore_fields": ["a", "b.*"]}),
        ("--tolerance a=0.05", {"tolerance": {"a": {"abs": 0.05}}}),
        ("--tolerance a=2", {"tolerance": {"a": {"abs": 2}}}),
        ("--tolerance a=-0.3", {"tolerance": {"a": {"min_delta": -0.3}}}),
        ("--tolerance a=+2", {"tolerance": {"a": {"max_delta": 2}}}),
        ("--tolerance a=5%", {"tolerance": {"a": {"rel": 0.05}}}),
        ("--array rows=unordered --array b=by:id", {"arrays": {"rows": "unordered", "b": {"by": "id"}}}),
    ],
)
def test_options_of_a_capture_become_rules_of_its_file(words: str, rules: dict[str, Any]) -> None:
    assert rules_for(words) == rules


@pytest.mark.parametrize(
    "words",
    [
        "--tolerance a=b",
        "--tolerance a=",
        "--tolerance a",
        "--tolerance a=1e400",
        "--tolerance a=-5%",
        "--tolerance a=nan",
        "--array a=sideways",
        "--array a=by:",
    ],
)
def test_options_of_a_capture_that_are_no_rules_are_refused(words: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        rules_for(words)
    assert all(problem.code == "BK508" for problem in raised.value.problems)


def commands(group: click.Group) -> Iterator[click.Command]:
    for name in group.list_commands(click.Context(group)):
        found = group.get_command(click.Context(group), name)
        assert found is not None, name
        yield from commands(found) if isinstance(found, click.Group) else (found,)


def test_no_option_takes_what_is_no_finite_number() -> None:
    """NaN is within any bounds, as no comparison with it holds."""
    types = {
        f"{one.name} --{parameter.name}": parameter.type
        for one in commands(cli)
        for parameter in one.params
        if isinstance(parameter.type, click.types.FloatParamType)
    }
    assert types.keys() >= {"report --threshold", "gate --required_pass_rate"}
    for where, kind in types.items():
        assert isinstance(kind, Number), where
        for text in ("nan", "-NaN", "inf", "-inf", "1e400"):
            with pytest.raises(click.BadParameter):
                kind.convert(text, None, None)
    assert Number(0, 1).convert("0.1", None, None) == 0.1

"""What is typed after `capture` about the comparison, and the rules that it becomes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import click
import pytest

from baselinekit.cli.capture_options import RuleOptions, cost_option
from baselinekit.cli.main import cli
from baselinekit.cli.options import Number, command, including
from baselinekit.cli.recipes import parse_rules
from baselinekit.errors import InvalidInput


@dataclass(frozen=True)
class Options:
    rules: RuleOptions = including(RuleOptions)
    cost: tuple[str, ...] = cost_option()


def typed(words: str, has_scores: bool = False) -> dict[str, Any]:
    """The rules that stand in the file for these words."""

    made = command(Options, name="rules")(
        lambda options: parse_rules(options.rules, options.cost, has_scores)
    )
    rules: dict[str, Any] = made.main(words.split(), standalone_mode=False)
    return rules


@pytest.mark.parametrize(
    ("words", "rules"),
    [
        ("", {}),
        ("--type exact --ignore a --ignore b.*", {"type": "exact", "ignore_fields": ["a", "b.*"]}),
        ("--tolerance a=0.05", {"tolerance": {"a": {"abs": 0.05}}}),
        ("--tolerance a=2", {"tolerance": {"a": {"abs": 2}}}),
        ("--tolerance a=-0.3", {"tolerance": {"a": {"min_delta": -0.3}}}),
        ("--tolerance a=+2", {"tolerance": {"a": {"max_delta": 2}}}),
        ("--tolerance a=5%", {"tolerance": {"a": {"rel": 0.05}}}),
        ("--method judge", {"type": "semantic", "method": "judge"}),
        (
            "--method words --min-similarity 0.9",
            {"type": "semantic", "method": "words", "min_similarity": 0.9},
        ),
        ("--type semantic --method lexical", {"type": "semantic", "method": "words"}),
        ("--field a=semantic:judge", {"fields": {"a": {"type": "semantic", "method": "judge"}}}),
        ("--field a=semantic:lexical", {"fields": {"a": {"type": "semantic", "method": "words"}}}),
        (
            "--method judge --field a=semantic",
            {"type": "semantic", "method": "judge", "fields": {"a": {"type": "semantic"}}},
        ),
        (
            "--field a=exact --field b.*=numeric",
            {"fields": {"a": {"type": "exact"}, "b.*": {"type": "numeric"}}},
        ),
        ("--array rows=unordered --array b=by:id", {"arrays": {"rows": "unordered", "b": {"by": "id"}}}),
        ("--latency 2.5 --latency 3x", {"latency": {"max_seconds": 2.5, "max_ratio": 3}}),
        ("--latency 2", {"latency": {"max_seconds": 2}}),
        ("--cost 0.01 --cost 1.5x", {"cost": {"max_usd": 0.01, "max_ratio": 1.5}}),
    ],
)
def test_words_become_rules(words: str, rules: dict[str, Any]) -> None:
    assert typed(words) == rules


def test_who_wants_scores_wants_numbers_compared() -> None:
    assert typed("", has_scores=True) == {"type": "numeric"}
    assert typed("--type structural", has_scores=True) == {"type": "structural"}
    assert typed("--method judge", has_scores=True) == {"type": "semantic", "method": "judge"}


@pytest.mark.parametrize(
    "words",
    [
        "--tolerance a=b",
        "--tolerance a=",
        "--tolerance a",
        "--tolerance a=1e400",
        "--tolerance a=-5%",
        "--tolerance a=nan",
        "--field a=fuzzy",
        "--array a=sideways",
        "--array a=by:",
        "--latency soon",
        "--latency -1",
        "--cost x",
        "--cost 1e9",
        "--type numeric --min-similarity 0.5",
    ],
)
def test_other_words_are_told(words: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        typed(words)
    assert all(problem.code == "BK508" for problem in raised.value.problems)


def commands(group: click.Group) -> Iterator[click.Command]:
    for name in group.list_commands(click.Context(group)):
        found = group.get_command(click.Context(group), name)
        assert found is not None, name
        yield from commands(found) if isinstance(found, click.Group) else (found,)


def test_no_option_takes_what_is_no_finite_number() -> None:
    """NaN is within any bounds, as no comparison with it holds. `--max-cost` is checked where it is read."""
    types = {
        f"{one.name} --{parameter.name}": parameter.type
        for one in commands(cli)
        for parameter in one.params
        if isinstance(parameter.type, click.types.FloatParamType) and parameter.name != "max_cost"
    }
    assert types.keys() >= {"report --threshold", "gate --required_pass_rate"}
    for where, kind in types.items():
        assert isinstance(kind, Number), where
        for text in ("nan", "-NaN", "inf", "-inf", "1e400"):
            with pytest.raises(click.BadParameter):
                kind.convert(text, None, None)
    assert Number(0, 1).convert("0.1", None, None) == 0.1

"""The options of the project: they are given before or after the name of a command."""

from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest

from baselinekit.cli import screen
from baselinekit.cli.main import Commands, cli
from baselinekit.cli.options import READING, ProjectOptions, command, project_options, project_parameters
from baselinekit.errors import InvalidInput


def parse_options(words: str, effective: tuple[str, ...] = READING) -> tuple[ProjectOptions, str]:
    """The options of the project as a command gets them, and when to use colours."""

    @dataclass
    class Options:
        project: ProjectOptions = project_options(effective)

    def work(options: Options) -> tuple[ProjectOptions, str]:
        return options.project, screen.chosen_color()

    class Group(Commands):
        def get_command(self, ctx: click.Context, name: str) -> click.Command:
            return command(Options, name="compare")(work)

    group = Group("baselinekit", params=[*project_parameters()])
    result: Any = group.main(words.split(), prog_name="baselinekit", standalone_mode=False)
    return result


@pytest.mark.parametrize("words", ["--config a.yaml compare", "compare --config a.yaml"])
def test_project_option_is_read_on_either_side_of_the_command(words: str) -> None:
    assert parse_options(words)[0].config == "a.yaml"


def test_project_option_typed_twice_has_the_value_after_the_command() -> None:
    options, color = parse_options("--config a.yaml --color never compare --config b.yaml --color always")
    assert (options.config, color) == ("b.yaml", "always")


def test_project_options_of_both_sides_keep_their_order() -> None:
    options, _ = parse_options("--var a=1 --var-file b=x compare --var-file c.yml --var a=2")
    assert options.variables == (
        *(("--var", "a=1"), ("--var-file", "b=x"), ("--var-file", "c.yml"), ("--var", "a=2")),
    )


@pytest.mark.parametrize("words", ["--base-url http://x compare", "compare --base-url http://x"])
def test_project_option_without_effect_on_a_command_is_refused(words: str) -> None:
    with pytest.raises(InvalidInput, match="--base-url has no effect on compare"):
        parse_options(words)
    assert parse_options(words, ("base_url",))[0].base_url == "http://x"


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        ("review --dry-run", "--dry-run"),
        ("grade --note why", "--note"),
        ("doctor --probe-judges --fix", "--probe-judges"),
        ("compare --dask local:1 --config-from main", "--dask"),
        ("doctor --yes", "-y"),
        ("init --undo-git --eval", "--undo-git"),
        ("run --list -o x.md", "--list"),
        ("refresh x --learn --path a", "--learn"),
        ("refresh x --replay --from r.json", "--replay"),
        ("compare --watch --json", "-w"),
        ("grade --value 4 --list", "--value"),
    ],
)
def test_option_of_another_use_of_a_command_is_refused(words: str, flag: str, tmp_path: Path) -> None:
    """A review with --dry-run would write all the same."""
    with chdir(tmp_path), pytest.raises(InvalidInput, match=f"{flag} .*(has no effect|cannot be combined)"):
        cli.main(words.split(), standalone_mode=False)

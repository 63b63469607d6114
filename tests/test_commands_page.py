"""docs/commands.md lists every command with its options. BASELINEKIT_GOLDEN=write renews it."""

import os
from collections.abc import Iterator

import click
from console import ROOT

from baselinekit.cli.main import cli

PAGE = ROOT / "docs/commands.md"
OF_MODELS = ["--record-calls", "--offline", "--cache", "--max-calls", "--max-cost", "--max-tokens"]


def option_names(command: click.Command) -> list[str]:
    """The options that `--help` shows, by their long names where they have one."""
    shown = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
    return [
        name for option in shown for name in option.opts if name.startswith("--") or len(option.opts) == 1
    ]


def visible_commands(group: click.Group, above: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from visible_commands(command, f"{name} ")
        elif not command.hidden:
            yield above + name, command


def command_list() -> str:
    of_project = [name for name in option_names(cli) if name != "--version"]
    commands = dict(visible_commands(cli))
    captures = [option_names(command) for name, command in commands.items() if name.startswith("capture ")]
    shared = [set(options) for options in captures]
    of_captures = [name for name in captures[0] if name in set.intersection(*shared) - {*of_project}]
    lines = [f"- **of the project**: `{' '.join(of_project)}`"]
    lines += [f"- **of models**: `{' '.join(OF_MODELS)}`", f"- **each capture**: `{' '.join(of_captures)}`"]
    for name, command in commands.items():
        known = {*of_project, *OF_MODELS, *(of_captures if name.startswith("capture ") else [])}
        own = [option for option in option_names(command) if option not in known]
        line = f"- **{name}**: {command.get_short_help_str(100)}" + (f" `{' '.join(own)}`" if own else "")
        lines.append(line + (", those of models" if OF_MODELS[0] in option_names(command) else ""))
    return "\n".join(lines) + "\n"


def test_commands_page_lists_every_option() -> None:
    page = PAGE.read_text("utf-8")
    wanted = page.partition("\n## Options\n")[0] + "\n## Options\n\n" + command_list()
    if os.environ.get("BASELINEKIT_GOLDEN") == "write":
        PAGE.write_text(wanted, "utf-8")
    else:
        assert page == wanted, "run: BASELINEKIT_GOLDEN=write pytest tests/test_commands_page.py"

"""What one who captures wants of the new baseline: its name, its rules, its placeholders."""

from typing import Any

import click

from baselinekit.cli import options, rules
from baselinekit.workflow.capture import Wishes


def new_baseline_options(command: click.decorators.FC) -> click.decorators.FC:
    """What a new baseline is called, and how it is to be compared."""
    command = rules.rule_options(command)
    for option in reversed(
        [
            click.option("--id", "id", metavar="ID", help="Its name; else made from what is asked."),
            click.option("--group", metavar="FOLDER", help="The folder below baselines/ that it goes to."),
            click.option("--name", help="A title for people."),
            click.option("--description", help="What it protects."),
            click.option("--tag", "tags", multiple=True, help="A tag to select it by."),
            click.option("--criticality", type=click.Choice(["critical", "high", "medium", "low"])),
        ]
    ):
        command = option(command)
    return command


def wish_options(command: click.decorators.FC) -> click.decorators.FC:
    for option in reversed(
        [
            click.option(
                "--placeholder",
                "placeholders",
                metavar="PATH=TEXT",
                multiple=True,
                help="Store <<any_uuid>> or the like at a path.",
            ),
            click.option(
                "--repeat",
                type=click.IntRange(1, 1000),
                default=1,
                show_default=True,
                metavar="N",
                help="Replay N times and store placeholders for what varies.",
            ),
            click.option("--version", "version", metavar="TEXT", help="The version of what is captured."),
            click.option("--allow-error-status", is_flag=True, help="Store a 5xx answer as known-good."),
            click.option("--allow-empty", is_flag=True, help="Store an empty answer of a model."),
            click.option("--allow-secrets", is_flag=True, help="Store what looks like a secret."),
            click.option("--json", "as_json", is_flag=True, help="Say what was captured as JSON."),
            click.option("-q", "--quiet", is_flag=True, help="Say nothing when all is well."),
        ]
    ):
        command = option(command)
    return command


def allow_option(command: click.decorators.FC) -> click.decorators.FC:
    help = "Name the hosts that it asks in baselinekit.yaml, so that CI asks them too."
    return click.option("--allow", is_flag=True, help=help)(command)


def record_of(given: dict[str, Any], default_id: str, current: dict[str, Any]) -> dict[str, Any]:
    """The new record as far as the command line says it: everything but the output."""
    record: dict[str, Any] = {"id": given["id"] or default_id}
    record |= {key: given[key] for key in ("name", "description") if given[key]}
    record["current"] = current
    record["comparison"] = rules.rules_of(given)
    record["metadata"] = {key: given[key] for key in ("criticality",) if given[key]}
    if given["tags"]:
        record["metadata"]["tags"] = list(given["tags"])
    return record


def of(given: dict[str, Any]) -> Wishes:
    return Wishes(
        placeholders=options.pairs("--placeholder", given["placeholders"], "PATH=TEXT"),
        version=given["version"],
        group=given.get("group"),
        allow_error_status=given["allow_error_status"],
        allow_empty=given["allow_empty"],
        allow_secrets=given["allow_secrets"],
        repeat=given["repeat"],
    )

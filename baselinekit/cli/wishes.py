"""What one who captures wants of the new baseline: its name, its rules, its placeholders."""

from typing import Any

import click

from baselinekit.cli import options, recipes
from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.values import Json
from baselinekit.workflow.capture import Wishes


def new_baseline_options(command: click.decorators.FC) -> click.decorators.FC:
    """What a new baseline is called, and how it is to be compared."""
    for option in reversed(
        [
            click.option("--id", "id", metavar="ID", help="Its name; else made from what is asked."),
            click.option("--group", metavar="FOLDER", help="The folder below baselines/ that it goes to."),
            click.option("--name", help="A title for people."),
            click.option("--description", help="What it protects."),
            click.option("--tag", "tags", multiple=True, help="A tag to select it by."),
            click.option("--criticality", type=click.Choice(["critical", "high", "medium", "low"])),
            click.option("--type", "type", type=click.Choice(["exact", "structural", "numeric", "semantic"])),
            click.option(
                "--ignore", "ignore", metavar="PATH", multiple=True, help="Leave this out of the comparison."
            ),
            click.option(
                "--tolerance",
                "tolerance",
                metavar="PATH=NUMBER",
                multiple=True,
                help="How far a number may move.",
            ),
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
            click.option("--version", "version", metavar="TEXT", help="The version of what is captured."),
            click.option("--allow-error-status", is_flag=True, help="Store a 5xx answer as known-good."),
            click.option("--allow-secrets", is_flag=True, help="Store what looks like a secret."),
            click.option("--json", "as_json", is_flag=True, help="Say what was captured as JSON."),
            click.option("-q", "--quiet", is_flag=True, help="Say nothing when all is well."),
        ]
    ):
        command = option(command)
    return command


def record_of(given: dict[str, Any], default_id: str, current: dict[str, Any]) -> dict[str, Any]:
    """The new record as far as the command line says it: everything but the output."""
    record: dict[str, Any] = {"id": given["id"] or default_id}
    record |= {key: given[key] for key in ("name", "description") if given[key]}
    record["current"] = current
    comparison: dict[str, Json] = {}
    if given["type"]:
        comparison["type"] = given["type"]
    if given["ignore"]:
        comparison["ignore_fields"] = list(given["ignore"])
    if given["tolerance"]:
        bounds = options.pairs("--tolerance", given["tolerance"], "PATH=NUMBER")
        comparison["tolerance"] = {path: {"abs": _number(text)} for path, text in bounds.items()}
    record["comparison"] = comparison
    record["metadata"] = {key: given[key] for key in ("criticality",) if given[key]}
    if given["tags"]:
        record["metadata"]["tags"] = list(given["tags"])
    return record


def _number(text: str) -> Json:
    number = recipes.json_or_text(text)
    if isinstance(number, bool) or not isinstance(number, int | float) or number < 0:
        raise InvalidInput(
            Problem("BK508", f"--tolerance {text!r} is no number", "as in --tolerance price=0.05")
        )
    return number


def of(given: dict[str, Any]) -> Wishes:
    return Wishes(
        placeholders=options.pairs("--placeholder", given["placeholders"], "PATH=TEXT"),
        version=given["version"],
        group=given.get("group"),
        allow_error_status=given["allow_error_status"],
        allow_secrets=given["allow_secrets"],
    )

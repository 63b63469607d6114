"""`baselinekit schema`."""

import json
from dataclasses import dataclass

import click

from baselinekit.cli import screen
from baselinekit.cli.options import argument, takes


@dataclass(frozen=True)
class SchemaOptions:
    of: str = argument(type=click.Choice(["baselines", "evals"]), default="baselines")


@click.command(short_help="Print the JSON Schema of the files, for editors.")
@takes(SchemaOptions)
def schema(options: SchemaOptions) -> None:
    """Print the JSON Schema of baseline files, or of eval files: cases, suites and gates.

    Files that capture and init --eval write name it in their first line, so that an editor marks mistakes.
    For other files add this first line: # yaml-language-server: $schema=PATH
    """
    if options.of == "evals":
        from baselinekit.suites.schema import json_schema
    else:
        from baselinekit.store.dialects.native import json_schema

    screen.show_json(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")

"""`baselinekit schema`."""

import json

import click

from baselinekit.cli import screen


@click.command(short_help="Print the JSON Schema of the files, for editors.")
@click.argument("of", type=click.Choice(["baselines", "evals"]), default="baselines")
def schema(of: str) -> None:
    """Print the JSON Schema of baseline files, or of eval files: cases, suites and gates.

    Files that capture and init --eval write name it in their first line, so that an editor underlines what is
    wrong. For others: # yaml-language-server: $schema=PATH
    """
    if of == "evals":
        from baselinekit.suites.schema import json_schema
    else:
        from baselinekit.store.dialects.native import json_schema

    screen.show_json(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")

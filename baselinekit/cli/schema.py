"""`baselinekit schema`."""

import json

import click

from baselinekit.cli import screen


@click.command(short_help="Print the JSON Schema of the files, for editors.")
def schema() -> None:
    """Print the JSON Schema of a baseline file.

    Captured files name it in their first line, so that an editor underlines what is wrong.
    """
    from baselinekit.store.validate import json_schema

    screen.show_json(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")

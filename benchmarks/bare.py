"""A command line of eight commands, written with click and nothing else: what `--help` is measured beside."""

import click


@click.group()
@click.version_option("1.0.0")
def cli() -> None:
    """Eight commands that do nothing."""


def _add(name: str) -> None:
    @cli.command(name, short_help=f"What {name} does, in one line.")
    @click.argument("paths", nargs=-1)
    @click.option("--verbose", is_flag=True, help="Say more.")
    def command(paths: tuple[str, ...], verbose: bool) -> None:
        click.echo(f"{name} {paths} {verbose}")


for _name in ("compare", "capture", "doctor", "explain", "demo", "init", "schema", "report"):
    _add(_name)

if __name__ == "__main__":
    cli()

"""`baselinekit explain` and `baselinekit schema`: what codes, rules and files mean."""

from dataclasses import dataclass

import click

from baselinekit.cli import options as cli, screen
from baselinekit.codes import explain as meaning_of

# `baselinekit explain CODE|ID`.


@dataclass
class ExplainOptions:
    """Say what an error code such as BK101 means and how to fix it.

    With the id of a baseline: what is requested, where the path of each rule starts, how each array is
    compared, and which values the placeholders accept.
    """

    subject: str = cli.argument(metavar="CODE|ID")
    project: cli.ProjectOptions = cli.project_options()


@cli.command(ExplainOptions)
def explain(options: ExplainOptions) -> None:
    subject = options.subject
    code = meaning_of(subject)
    if code is not None:
        cli.refuse_without_effect("the explanation of a code")
        screen.line(f"{subject.upper()}: {code.title}\n\n{code.text}")
        return
    if subject.upper().startswith("BK") and subject[2:].isdigit():
        raise cli.misuse(f"there is no code {subject}", "codes are at the start of messages")
    from baselinekit.cli.clients import asking
    from baselinekit.commands.doctor import describe_baseline
    from baselinekit.commands.loading import load
    from baselinekit.commands.selection import Selection, select

    project = cli.project_of(options.project)
    baseline = select(load(project, ()), Selection(ids=(subject,)))[0]
    with asking(project) as context:
        screen.say(*describe_baseline(project, baseline, context.clients))


# `baselinekit schema`.


@dataclass
class SchemaOptions:
    """Print the JSON Schema of baseline files, or of eval files: cases, suites and gates.

    Files that capture and init --eval write name it in their first line, so that an editor marks mistakes.
    For other files add this first line: # yaml-language-server: $schema=PATH
    """

    of: str = cli.argument(type=click.Choice(["baselines", "evals"]), default="baselines")


@cli.command(SchemaOptions)
def schema(options: SchemaOptions) -> None:
    if options.of == "evals":
        from baselinekit.suites.authoring import json_schema
    else:
        from baselinekit.store.dialects.native import json_schema

    screen.show_document(json_schema())

"""What the shell offers after a TAB: ids and tags. Files that cannot be read offer nothing, silently."""

import click
from click.shell_completion import CompletionItem

from baselinekit.errors import BaselinekitError
from baselinekit.escape import one_line
from baselinekit.model.baselines import Baseline


def ids(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [
        CompletionItem(baseline.id, help=one_line(baseline.name or ""))
        for baseline in _baselines()
        if baseline.id.startswith(incomplete)
    ]


def tags(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    known = sorted({tag for baseline in _baselines() for tag in baseline.metadata.tags})
    return [CompletionItem(tag) for tag in known if tag.startswith(incomplete) and one_line(tag) == tag]


def _baselines() -> list[Baseline]:
    from baselinekit.cli.options import operator_of
    from baselinekit.workflow.compare import load
    from baselinekit.workflow.project import open_project

    try:
        return load(open_project(operator_of(None, None, None, (), (), (), (), False)), ())
    except (BaselinekitError, OSError):
        return []

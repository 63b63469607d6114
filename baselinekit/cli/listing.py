"""`run --list`: what would be run, by whom it would be graded, and how often models would be asked."""

import json
from collections.abc import Sequence
from typing import Any

from baselinekit.cli import models, screen
from baselinekit.cli.doors import real_way
from baselinekit.evals.attempts import Outside
from baselinekit.evals.casechoice import Choice
from baselinekit.evals.evals import Policy
from baselinekit.evals.listing import Planned, planned
from baselinekit.model.evals import Suite
from baselinekit.plural import many
from baselinekit.programs.sandbox import Sandbox
from baselinekit.workflow.project import Project


def show(
    project: Project, suite: Suite, wanted: Choice, policy: Policy, as_json: bool, verbose: bool = False
) -> int:
    found = looked_at(project, suite, wanted, policy, models.Kept())
    if as_json:
        screen.show_json(json.dumps([_document(one) for one in found], indent=2, default=str) + "\n")
    else:
        _print(found, len(suite.cases), verbose)
    return 0


def looked_at(
    project: Project, suite: Suite, wanted: Choice, policy: Policy, kept: models.Kept
) -> list[Planned]:
    """Everything as a run would, and nobody is asked."""
    with real_way() as way:
        way = models.Asked(project, way.doors, kept).added_to(way)
        sandbox = Sandbox(way.doors.execute, project.trust.allow_exec)
        return planned(project, suite, wanted, policy, way.doors, Outside(check=sandbox.check))


def _print(found: Sequence[Planned], of: int, verbose: bool) -> None:
    widest = max(len(one.case.id) for one in found)
    for one in found:
        graders = ", ".join(f"{each.name} ({each.kind})" for each in one.case.graders)
        told = [f"{one.case.id:<{widest}}", f"{one.case.recipe.kind:<7}", one.place]
        told.append(f"skipped: {one.case.skip}" if one.case.skip is not None else f"by {graders}")
        screen.line(screen.safe_line("  ".join(told)))
        for name, criteria in one.criteria.items() if verbose else ():
            for line in criteria:
                screen.line(screen.safe_line(f"    {name}: {line}"))
    calls, attempts = sum(one.calls for one in found), sum(one.attempts for one in found)
    cases = f"{len(found):,} of {of:,} cases" if len(found) < of else many(len(found), "case")
    more = ", and more where an attempt is tried again" if calls else ""
    screen.line(
        f"{cases}, {many(attempts, 'attempt')}, {many(calls, 'call')} of models{more}; nothing was run"
    )


def _document(one: Planned) -> dict[str, Any]:
    case = one.case
    return {
        "id": case.id,
        "place": one.place,
        "kind": case.recipe.kind,
        "eval_type": case.kind,
        "tags": list(case.tags),
        "graders": [
            {
                "name": each.name,
                "kind": each.kind,
                "required": each.required,
                **({"criteria": one.criteria[each.name]} if each.name in one.criteria else {}),
            }
            for each in case.graders
        ],
        "skip": case.skip,
        "attempts": one.attempts,
        "model_calls": one.calls,
    }

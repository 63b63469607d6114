"""`baselinekit doctor --probe-judges`."""

import json
from collections.abc import Sequence

from baselinekit.cli import screen
from baselinekit.cli.doors import real_way
from baselinekit.cli.models import Kept, with_models
from baselinekit.clipped import Mask, clipped
from baselinekit.evals.probing import Probed, judges_of, probe
from baselinekit.workflow.project import Project

_LONGEST_REASON = 200


def probe_judges(project: Project, paths: Sequence[str], as_json: bool) -> int:
    """3 where a judge fell for a text, or could not tell a wrong answer from a right one."""
    judges = judges_of(project, paths)
    with real_way() as way:
        models = with_models(way, project, Kept()).doors.models
        for judge in judges:
            models.check(judge)
        found = probe(judges, models.ask)
    if as_json:
        screen.show_json(json.dumps([_document(one) for one in found], indent=2, ensure_ascii=False) + "\n")
    else:
        _print(found, judges, project.redactor.mask)
    return 0 if all(one.holds for one in found) else 3


def _print(found: Sequence[Probed], judges: Sequence[str], mask: Mask) -> None:
    widest = max(len(one.probe) for one in found)
    for judge in judges:
        own = [one for one in found if one.judge == judge]
        wrong = [one for one in own if not one.holds]
        screen.line(
            screen.safe_line(f"{judge}: {len(own) - len(wrong)} of {len(own)} probes as they should be")
        )
        for one in own:
            word = "ok  " if one.holds else "FAIL"
            said = "unreadable" if one.grade.code == "BK640" else one.grade.outcome
            line = f"  {word}  {one.probe:<{widest}}  wanted {one.wanted:<10}  got {said}"
            why = (
                ""
                if one.holds or not one.grade.reason
                else f"  ({clipped(one.grade.reason, _LONGEST_REASON, mask)})"
            )
            screen.line(screen.safe_line(line) + screen.safe_line(why))
        if wrong:
            screen.line(screen.safe_line(f"  do not trust what {judge} says: ask a stronger model"))


def _document(one: Probed) -> dict[str, object]:
    return {
        "judge": one.judge,
        "probe": one.probe,
        "wanted": one.wanted,
        "outcome": one.grade.outcome,
        "code": one.grade.code,
        "reason": one.grade.reason,
        "holds": one.holds,
    }

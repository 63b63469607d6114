"""What to type after a gate: what goes on where it was stopped, and what shows why it is not met."""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from baselinekit.metrics import metric_name
from baselinekit.model.evals import Judged
from baselinekit.model.results import Metric, Report, Result
from baselinekit.report.wording import command_line, seeing
from baselinekit.workflow.project import Project

_MOST = 3
WAITING = ("pending", "disputed")
"""Verdicts that only people can settle."""


def commands(project: Project, judged: Sequence[Judged], given: dict[str, Any]) -> list[str]:
    """The most useful first; none where all is well."""

    def place(file: str) -> str:
        return os.path.relpath(os.path.join(project.root, file), project.cwd)

    found = []
    if given["ran"] and not all(one.report.complete for one in judged):
        words = [word for word in sys.argv[1:] if word != "--resume"]
        found.append(command_line(*words, "--resume"))
    for one in judged:
        wrong = [each for each in one.report.results if each.outcome in ("failed", "error")]
        if one.state != "met" and wrong:
            paths = [place(one.gate.suite)] if one.gate.suite else None
            found += seeing([_as_it_was(wrong[0])], paths, place)
        short = [metric for metric in one.metrics if metric.value is None and metric.threshold is not None]
        if short and not one.gate.suite and _has_cases(one.report):
            found.append(command_line("run", "--attempts", str(_needed(short)), "-o", "results.json"))
    if any(each.verdict in WAITING for one in judged for each in one.report.results):
        found.append("baselinekit grade")
        found += [command_line("grade", "--finish", file) for file in given["judged"][:1]]
    return list(dict.fromkeys(found))[:_MOST]


def _needed(short: Sequence[Metric]) -> int:
    """As many attempts as the metrics need that are not available."""
    return max(k for _, k in ((metric_name(one.name) or ("@", 3)) for one in short))


def _as_it_was(result: Result) -> Result:
    """A baseline is no case but for the gate, which counts it as one."""
    return replace(result, case=None) if _is_baseline(result) else result


def _has_cases(report: Report) -> bool:
    return not all(map(_is_baseline, report.results))


def _is_baseline(result: Result) -> bool:
    return result.case is None or not result.case.fingerprint

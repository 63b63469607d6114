"""The suites of the gates of a plan, run as `run` would run them, one after the other."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from baselinekit.cli import keptreports
from baselinekit.cli.listing import looked_at
from baselinekit.cli.models import Kept
from baselinekit.cli.run import choice_of, executed, policy_of, remember
from baselinekit.errors import BaselinekitError, InvalidInput, Refused
from baselinekit.evals import evalfiles, gating
from baselinekit.evals.evalkeeping import keep_reports
from baselinekit.evals.journalling import Lasting
from baselinekit.evals.reachable import check_reachable
from baselinekit.model.evals import Suite
from baselinekit.model.gates import Gate, Judged
from baselinekit.model.results import Report
from baselinekit.workflow import history
from baselinekit.workflow.masking import masked
from baselinekit.workflow.project import Project


class Running:
    """`told`: where reports are kept, and which gates were finished before, whose runs are not made again."""

    def __init__(self, project: Project, wanted: Kept, given: dict[str, Any]):
        self._project, self._wanted, self._given = project, wanted, given
        self.told: list[str] = []

    def judged(self, gates: Sequence[Gate]) -> list[Judged]:
        """Until the operator wants no more of it."""
        lasting = Lasting() if len(gates) > 1 else None
        if lasting is not None:
            self._look_at(gates)
        judged: list[Judged] = []
        for gate in gates:
            report = self._run(gate, lasting)
            judged.append(gating.judge(gate, report))
            if report.interrupted:
                unseen = [one.name for one in gates[len(judged) :]]
                self.told += [f"never run: {', '.join(unseen)}"] if unseen else []
                return judged
        if lasting is not None and all(one.report.complete for one in judged):
            lasting.forget()
        return judged

    def _look_at(self, gates: Sequence[Gate]) -> None:
        """What is wrong with any of their suites is told before the first of them is paid for."""
        project, errors = self._project, list[BaselinekitError]()
        for gate in gates:
            try:
                suite, asked = self._asked(gate, None)
                wanted = choice_of(project, asked)
                check_reachable(suite, gate.least, asked["attempts"], project.root, gate.name)
                looked_at(project, suite, wanted, policy_of(project, asked), self._wanted)
            except (InvalidInput, Refused) as error:
                errors.append(error)
        if errors:
            refused = all(isinstance(error, Refused) for error in errors)
            problems = dict.fromkeys(problem for error in errors for problem in error.problems)
            raise (Refused if refused else InvalidInput)(*problems)

    def _asked(self, gate: Gate, lasting: Lasting | None) -> tuple[Suite, dict[str, Any]]:
        """These cases of the gate's suite, as the options of `run` would say it."""
        project, given = self._project, self._given
        path = os.path.relpath(os.path.join(project.root, gate.suite or ""), project.cwd)
        suite = evalfiles.load(project, [path], None)
        return suite, {
            **dict.fromkeys(("expression", "grader_type", "preset", "fail_under", "record")),
            **dict.fromkeys(("ids", "exclude_tags"), ()),
            **dict.fromkeys(("last_failed", "first"), False),
            "categories": gate.categories,
            "tags": gate.tags,
            "attempts": given["attempts"] or gating.attempts_for(gate, suite),
            "lasting": lasting,
            **{name: given[name] for name in ("jobs", "resume", "quiet", "as_json")},
        }

    def _run(self, gate: Gate, lasting: Lasting | None) -> Report:
        project = self._project
        suite, asked = self._asked(gate, lasting)
        report = masked(executed(project, suite, self._wanted, asked), project.redactor)
        if lasting is not None and lasting.taken:  # its reports are kept already
            number = len(report.results)
            cases = "its one case is" if number == 1 else f"its {number:,} cases are"
            self.told.append(f"{gate.name} was finished before: {cases} taken from there")
            return report
        remember(project, report)
        history.keep(project.root, report)
        kept, why = keep_reports(project, suite, report)
        self.told += [f"kept: {keptreports.told(kept)}"] if kept else []
        return replace(report, warnings=(*report.warnings, why)) if why else report

"""doctor: everything that a compare or a run would say before its first question."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from baselinekit.errors import BaselinekitError, Problem, fault_of_ours
from baselinekit.evals.checks import checked_cases
from baselinekit.evals.judges import facts_of
from baselinekit.evals.selection import folders
from baselinekit.model.grades import FunctionOutput
from baselinekit.replay.settings import Clients
from baselinekit.store.reading import discover
from baselinekit.suites.dialects.dialect import BESIDE
from baselinekit.suites.dialects.gates import load_gates
from baselinekit.suites.files import forms_in
from baselinekit.suites.loading import load_partly
from baselinekit.workflow.doctor import ASKED_OF_OPERATOR, Findings, examine
from baselinekit.workflow.environment import CaptureEnvironment
from baselinekit.workflow.loading import from_root
from baselinekit.workflow.project import Project

_ONLY_EVALS = frozenset(("case", "test_cases", "suite", "gate"))


def examine_all(
    project: Project, paths: Sequence[str], clients: Clients, runnable: Callable[[FunctionOutput], None]
) -> Findings:
    """What is named; else all baselines of the project and all of its evals."""
    if not paths:
        found = examine(project, (), clients)
        return _with_evals(found, project, folders(project), clients, runnable)
    baselines, evals = _told_apart(project, paths)
    found = examine(project, baselines, clients) if baselines or not evals else Findings(0, (), (), 0)
    return _with_evals(found, project, evals, clients, runnable)


def _told_apart(project: Project, paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Which of the files are baselines and which are evals: what lies below the folder of evals, but for what
    only goes with them, and what holds anything that only they have."""
    root = project.root
    named = [from_root(os.path.join(project.cwd, path), root) for path in paths]
    below = tuple(f"{os.path.normpath(folder)}{os.sep}" for folder in folders(project))
    baselines, evals = [], []
    cases = set(discover(named, root, BESIDE))
    for file in discover(named, root):
        if file.startswith(below):
            evals += [file] if file in cases else []
        elif _ONLY_EVALS & forms_in(root, file):
            evals.append(file)
        else:
            baselines.append(os.path.relpath(os.path.join(root, file), project.cwd))
    return baselines, evals


def _with_evals(
    found: Findings,
    project: Project,
    paths: Sequence[str],
    clients: Clients,
    runnable: Callable[[FunctionOutput], None],
) -> Findings:
    """What there is to say of evals as well. A baseline that is one of their cases is told of once."""
    if not paths:
        return found
    forms = {file: forms_in(project.root, file) for file in discover(paths, project.root, BESIDE)}
    gates = [file for file, has in forms.items() if "gate" in has]
    passed_over = {*gates, *(file for file, has in forms.items() if has == {"report"} and file not in paths)}
    suite, problems = load_partly([file for file in forms if file not in passed_over], project.root)
    ready, wrong, refused = checked_cases(CaptureEnvironment(project, clients), suite.cases, runnable)
    wrong += [fault_of_ours(one.fault).problems[0] for one in ready if one.fault is not None]
    for file in gates:
        problems += _said(partial(load_gates, file, project.root))
    problems += _said(partial(facts_of, project.root, suite.cases))
    problems += [one for one in wrong if one.code not in ASKED_OF_OPERATOR]
    notes = [*refused, *(one for one in wrong if one.code in ASKED_OF_OPERATOR)]
    return replace(
        found,
        problems=tuple(dict.fromkeys((*found.problems, *problems))),
        notes=tuple(dict.fromkeys((*found.notes, *_once(notes)))),
        cases=len(suite.cases),
        gates=len(gates),
    )


def _once(notes: Iterable[Problem]) -> Iterable[Problem]:
    """Who has to say something says it once for a file, wherever in it that is needed."""
    first: dict[tuple[str, str], Problem] = {}
    for note in notes:
        first.setdefault((note.place.file if note.place else "", note.message), note)
    return first.values()


def _said(check: Callable[[], object]) -> Sequence[Problem]:
    try:
        check()
    except BaselinekitError as error:
        return error.problems
    return ()

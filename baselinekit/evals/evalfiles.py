"""The suite that a run is about: the one that is named, or everything that is found below some paths."""

import os
from collections.abc import Sequence

from baselinekit.errors import InvalidInput, NothingSelected, Problem
from baselinekit.model.evals import Suite
from baselinekit.model.recipes import Execution
from baselinekit.suites.suites import load_evals, load_suite
from baselinekit.workflow.compare import from_root
from baselinekit.workflow.project import Project


def load(project: Project, paths: Sequence[str], suite: str | None, target: Execution | None = None) -> Suite:
    """All errors of all files at once. Without paths it is everything below `evals:` of the configuration; a
    suite among what is found says how it is run."""
    if suite is not None and paths:
        what = "a suite names its own files, so --suite and paths exclude each other"
        raise InvalidInput(Problem("BK508", what, "leave one of them out"))
    if suite is not None:
        return load_suite(named_by_operator(project, suite), project.root, target)
    named = [named_by_operator(project, path) for path in paths] or folders(project)
    if not named:
        mend = "make evals/eval-suite.yaml to go on from: baselinekit init --eval; or name one: --suite FILE"
        raise NothingSelected(Problem("BK509", f"there is no folder {_shown(project)} here", mend))
    found = load_evals(named, project.root, target)
    if not found.cases:
        where = ", ".join(paths) or _shown(project)
        mend = "an eval case has `input`, `expected` and `grader`: docs/evals.md shows one"
        raise NothingSelected(Problem("BK509", f"there is no eval case in {where}", mend))
    return found


def named_by_operator(project: Project, path: str) -> str:
    """A path of the command line from the root; one that stands elsewhere as it is, which nobody else may
    name."""
    found = from_root(os.path.join(project.cwd, path), project.root)
    outside = found.split(os.sep)[0] == os.pardir
    return os.path.normpath(os.path.join(project.root, found)) if outside else found


def folders(project: Project) -> list[str]:
    """Where evals are looked for when nobody names a place, as far as it is there."""
    stated = project.config.evals
    folders = [stated] if isinstance(stated, str) else stated
    return [folder for folder in folders if os.path.isdir(os.path.join(project.root, folder))]


def _shown(project: Project) -> str:
    stated = project.config.evals
    return ", ".join(f"{each.rstrip('/')}/" for each in ([stated] if isinstance(stated, str) else stated))

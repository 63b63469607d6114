"""Paths that eval files name: each starts at the folder of its file, and stays inside the project."""

import os
import posixpath
from collections.abc import Iterator
from dataclasses import replace

from baselinekit.errors import BaselinekitError, InvalidInput, Problem, Refused
from baselinekit.model.evals import Case
from baselinekit.model.graders import Grader, JsonSchema, ModelJudge
from baselinekit.model.values import Path
from baselinekit.store.files import link_at, unreadable
from baselinekit.store.outputs import beside
from baselinekit.suites import evalresults
from baselinekit.trust import followed

RESULTS = "results"
_NO_PLACE = (".git", ".github", ".baselinekit")


def named(root: str, file: str, name: str) -> str:
    """What a file names, from the root on. Refused where it leads out; a file that the operator named
    elsewhere has its own folder for a root."""
    if name.split("/")[0].startswith("~"):
        mend = "state a path inside the project; ./~ is a folder of that name"
        raise Refused(Problem("BK404", f"{name} leads into somebody's home", mend))
    folder, path = beside(root, file, name)
    try:
        real = os.path.realpath(folder)
        followed(real, real, path, link_at, name)
    except ValueError as error:  # a name with a zero byte in it
        raise InvalidInput(unreadable(path, error)) from None
    return path if folder == root else posixpath.join(folder, path)


def wrong_paths(root: str, case: Case) -> list[Problem]:
    """What the graders of a case name that leads out."""
    return [
        told_at(problem, (*grader.at, "config", key))
        for grader in case.graders
        for key, name in _named_by(grader)
        for problem in _wrong(root, case.source.file, name)
    ]


def _named_by(grader: Grader) -> Iterator[tuple[str, str]]:
    method = grader.method
    if isinstance(method, JsonSchema) and method.schema_file is not None:
        yield "schema_file", method.schema_file
    if isinstance(method, ModelJudge) and method.calibration is not None:
        yield "calibration", method.calibration


def results_of(root: str, suite: str, stated: str | None) -> str:
    """The folder of a suite's reports; Refused where they have no business: outside, in what git, its host or
    a run keep for themselves, or in a folder of it that is a link out."""
    path = named(root, suite, stated or RESULTS)
    folder = os.path.join(root, path)
    if hides(os.path.relpath(os.path.realpath(folder), os.path.realpath(root))):
        raise Refused(
            Problem("BK404", f"{path} is no place for reports", "keep them in a folder of their own")
        )
    evalresults.check(folder, root_of(root, suite))
    return folder


def root_of(root: str, file: str) -> str:
    """What a file's paths stay inside of: the project, or its own folder where the operator named it
    elsewhere."""
    return os.path.dirname(file) if os.path.isabs(file) else root


def hides(path: str) -> bool:
    """Whether a path leads into what is not for reports."""
    return any(part.lower() in _NO_PLACE for part in path.split("/"))


def wrong_results(root: str, suite: str, stated: str | None) -> list[Problem]:
    """The same as problems of the suite."""
    try:
        results_of(root, suite, stated)
    except BaselinekitError as error:
        at = () if stated is None else ("reporting", "output_dir")
        return [told_at(problem, at) for problem in error.problems]
    return []


def _wrong(root: str, file: str, name: str) -> tuple[Problem, ...]:
    try:
        named(root, file, name)
    except BaselinekitError as error:
        return error.problems
    return ()


def told_at(problem: Problem, at: Path) -> Problem:
    """What is wrong with a file, told where that file is named."""
    what = f"{problem.place}: {problem.what}" if problem.place else problem.what
    return replace(problem, what=what, place=None, at=at)

"""What belongs to a suite: its `config/` folder, the paths that it names, the folder of its reports."""

import contextlib
import os
import posixpath
from collections.abc import Mapping

from baselinekit.clients.trust import check_inside, follow_links
from baselinekit.errors import (
    BaselinekitError,
    InvalidInput,
    NotRecorded,
    Place,
    Problem,
    Refused,
    suggest,
)
from baselinekit.files.languages import SUFFIXES, language
from baselinekit.files.text import decode
from baselinekit.graders.graders import files_of, with_parts
from baselinekit.kinds.files import link_at
from baselinekit.lazy import lazy_pattern
from baselinekit.metrics import PRESETS, metric_name
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grader
from baselinekit.model.values import Json
from baselinekit.schema import describe_value, move_to_name, place_problems, prefix_paths
from baselinekit.store import atomic
from baselinekit.store.atomic import cannot_write
from baselinekit.store.project import in_repository, read, unreadable
from baselinekit.store.records import output_location
from baselinekit.store.results import write_text
from baselinekit.structs import MutableStruct, field
from baselinekit.suites.dialects import graders
from baselinekit.suites.dialects.graders import GraderContext

# The reports of a suite are stored next to it in `results/YYYY-MM-DD/run-HHMMSS.{json,md,…}`, and
# `results/latest` links to the folder of the last day.


LATEST = "latest"
_DAY = lazy_pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def check_days(folder: str, root: str) -> None:
    """Refuse a folder with a day that is a link out of the root: a checkout can contain one."""
    with contextlib.suppress(OSError), os.scandir(folder) as scan:
        for entry in scan:
            if entry.is_symlink() and _DAY.fullmatch(entry.name):
                check_link(entry.path, root)


def write_reports(folder: str, started: str, texts: dict[str, str], root: str) -> tuple[list[str], str]:
    """Write the reports of a run, given by their endings. Return the files, and why `latest` was not updated,
    or "": it is only replaced if it leads to a day. Of two runs in the same second, the later one gets a
    number."""
    if not texts:
        return [], ""
    day, time = started[:10], started[11:19].replace(":", "")
    check_link(os.path.join(folder, day), root)
    for number in range(1, 1000):
        name = f"run-{time}" + (f"-{number}" if number > 1 else "")
        path = os.path.join(folder, day, name)
        if not any(os.path.lexists(path + ending) for ending in texts):
            break
    written = []
    for ending, text in texts.items():
        write_text(path + ending, text)
        written.append(path + ending)
    try:
        _point_latest(folder, day, os.path.relpath(folder, root))
    except NotRecorded as error:
        return written, str(error.problems[0])
    return written, ""


def check_link(path: str, root: str) -> None:
    check_inside(os.path.realpath(root), os.path.realpath(path), os.path.relpath(path, root))


def _point_latest(folder: str, day: str, shown_folder: str) -> None:
    """Make `latest` link to the day. On a system without links it becomes a file that names the day."""
    latest, temporary = os.path.join(folder, LATEST), os.path.join(folder, f".{LATEST}-{os.getpid()}")
    is_ours = not os.path.lexists(latest)
    with contextlib.suppress(OSError, ValueError):  # a link to a day, or a file that replaces one
        if os.path.islink(latest):
            is_ours = _DAY.fullmatch(os.readlink(latest)) is not None
        elif not is_ours:
            with open(latest, encoding="utf-8") as file:
                is_ours = _DAY.fullmatch(file.read(20).removesuffix("\n")) is not None
    if not is_ours:
        name = os.path.normpath(os.path.join(shown_folder, LATEST))
        message = (
            f"{name} was not made by baselinekit: it does not lead to the runs of a day, and stays as it is"
        )
        raise NotRecorded(
            Problem("BK120", message, "move it away, or name another folder: reporting.output_dir")
        )
    try:
        os.symlink(day, temporary)
    except FileExistsError:
        return
    except OSError:
        atomic.replace_anywhere(latest, latest, f"{day}\n".encode())
        return
    try:
        os.replace(temporary, latest)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise NotRecorded(cannot_write(latest, error)) from None


# The `config/` folder next to a suite, and the paths that eval files name.


NUMBERED = frozenset({"labels", "score_ranges"})
"""Mappings whose keys are numbers: the labels of a rating scale, the ranges of a rubric."""

GRADERS = "config/graders"
THRESHOLDS = "config/thresholds"
MAIN_SUITE = "eval-suite"
_RATE_METRICS = ("pass_rate", "score")


class Settings(MutableStruct):
    """The files read so far, and their problems, each reported once, however many suites use the files."""

    problems: list[Problem] = field(default_factory=list)
    read_graders: dict[str, dict[str, Grader]] = field(default_factory=dict)

    def graders(self, root: str, file: str, inherited: Mapping[str, Grader]) -> Mapping[str, Grader]:
        """Return the named graders that a file may use: those of the nearest config/ folder upward, and
        `inherited`, those of the file that refers to it."""
        path = nearest_upward(root, file, GRADERS)
        if path is None:
            return inherited
        if path not in self.read_graders:
            body, entries = self._read_entries(root, path, "graders")
            graders_by_name: dict[str, Grader] = {}
            problems: list[Problem] = []
            for at, name, raw in entries:
                grader, grader_problems = graders.read(raw, (), GraderContext())
                problems += prefix_paths(grader_problems, (*at, name))
                # an invalid grader is reported here, and not again by each file that names it
                row = next(iter(GraderContext().graders.values()))
                graders_by_name[name] = grader or Grader(name, row.kind, row.config())
            if problems:
                self.problems += place_problems(body, path, {0: problems})
            self.read_graders[path] = graders_by_name
        return {**inherited, **self.read_graders[path]}

    def thresholds(
        self, root: str, file: str, suite_thresholds: Json
    ) -> tuple[dict[str, float], list[Problem]]:
        """Return the thresholds of metrics: those of config/thresholds.yaml, overridden by the suite's
        own."""
        thresholds: dict[str, float] = {}
        path = nearest_upward(root, file, THRESHOLDS)
        if path is not None:
            body, entries = self._read_entries(root, path, "thresholds")
            file_problems: list[Problem] = []
            for at, name, raw in sorted(entries, key=lambda entry: entry[1] != "preset"):
                file_problems += prefix_paths(_add_threshold(thresholds, name, raw), (*at, name))
            if file_problems:
                self.problems += [
                    problem
                    for problem in place_problems(body, path, {0: file_problems})
                    if problem not in self.problems
                ]
        if suite_thresholds is None:
            return thresholds, []
        if not isinstance(suite_thresholds, dict):
            suite_thresholds = {"preset": suite_thresholds}
        problems: list[Problem] = []
        for name, raw in sorted(suite_thresholds.items(), key=lambda item: item[0] != "preset"):
            problems += prefix_paths(_add_threshold(thresholds, name, raw), ("thresholds", name))
        return thresholds, problems

    def _read_entries(
        self, root: str, path: str, wrapper: str
    ) -> tuple[str, list[tuple[tuple[str, ...], str, Json]]]:
        """Return the entries of a file, which may be below its own name: path, name and value."""
        try:
            body = decode(read(root, path), path).body
            documents = [
                document
                for document in language(path).load(body, path, numbered=NUMBERED)
                if document is not None
            ]
        except BaselinekitError as error:
            self.problems += [
                problem.placed(Place(path)) for problem in error.problems if problem not in self.problems
            ]
            return "", []
        raw = documents[0] if documents else {}
        at: tuple[str, ...] = ()
        if isinstance(raw, dict) and raw.keys() == {wrapper}:
            raw, at = raw[wrapper], (wrapper,)
        if not isinstance(raw, dict) or len(documents) > 1:
            message = (
                "more than one document"
                if len(documents) > 1
                else f"expected a mapping, found {describe_value(raw)}"
            )
            problem = Problem("BK717", message, "a mapping of names to their meaning", Place(path, 1, 1))
            self.problems += [problem] if problem not in self.problems else []
            return body, []
        return body, [(at, name, value) for name, value in raw.items()]


def _add_threshold(thresholds: dict[str, float], name: str, raw: Json) -> list[Problem]:
    """Add the threshold of a metric, or those of a preset."""
    if name == "preset":
        if not isinstance(raw, str) or raw.lower() not in PRESETS:
            hint = suggest(str(raw).lower(), PRESETS) or f"one of {', '.join(PRESETS)}"
            return [Problem("BK717", f"there is no preset {raw!r}", hint, at=())]
        thresholds |= PRESETS[raw.lower()]
        return []
    metric = metric_name(name)
    if metric is None and name not in _RATE_METRICS:
        hint = suggest(
            name, [*_RATE_METRICS, "pass@1", "pass@3", "pass^3", "pass_at_1", "pass_hat_3", "preset"]
        )
        hint = hint or "such as pass@1, pass^3, pass_rate or `preset: production`"
        return [Problem("BK717", f"there is no metric {name!r}", hint, at=())]
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not 0 <= raw <= 1:
        return [Problem("BK717", f"the lowest value is {describe_value(raw)}", "a number from 0 to 1", at=())]
    thresholds[f"pass{metric[0]}{metric[1]}" if metric else name] = float(raw)
    return []


def nearest_upward(root: str, file: str, name: str) -> str | None:
    """Return the file with this name, in any language, in the nearest folder upward, up to the root."""
    folder = posixpath.dirname(file)
    while True:
        for suffix in SUFFIXES:
            path = posixpath.join(folder, name + suffix)
            if os.path.isfile(os.path.join(root, path)):
                return path
        if not folder or folder == "/":
            return None
        folder = posixpath.dirname(folder)


# Paths that eval files name: they are relative to the folder of the file, and stay inside the project.


RESULTS = "results"
_FORBIDDEN_FOLDERS = (".git", ".github", ".baselinekit")


def resolve_named(root: str, file: str, name: str) -> str:
    """Return the path that a file names, relative to the root. A path that leads out is refused. The root of
    a file that the operator named outside of the project is its own folder."""
    if name.split("/")[0].startswith("~"):
        hint = "state a path inside the project; ./~ is a folder of that name"
        raise Refused(Problem("BK404", f"{name} leads into a home folder", hint))
    folder, path = output_location(root, file, name)
    try:
        real_folder = os.path.realpath(folder)
        follow_links(real_folder, real_folder, path, link_at, name)
    except ValueError as error:  # a name with a zero byte
        raise InvalidInput(unreadable(path, error)) from None
    return path if folder == root else posixpath.join(folder, path)


def named_text(root: str, file: str, name: str) -> str:
    """Return the content of a text file that an eval file names. An eval file that the operator named outside
    of the project may name files of its own repository."""
    root, file = in_repository(root, file)
    path = resolve_named(root, file, name)
    return decode(read(root, path), path).body.replace("\r\n", "\n")


def check_grader_paths(root: str, case: Case) -> list[Problem]:
    """Report paths named by the graders of a case that lead out."""
    return [
        move_to_name(problem, grader.place_of(("config", key)))
        for grader in with_parts(case.graders)
        for key, name in files_of(grader).items()
        if name is not None
        for problem in check_path(root, case.source.file, name)
    ]


def results_of(root: str, suite: str, output_dir: str | None) -> str:
    """Return the folder of a suite's reports. Refused outside of the project, in folders of git, its host or
    our own state, and if the folder contains a link out."""
    path = resolve_named(root, suite, output_dir or RESULTS)
    folder = os.path.join(root, path)
    if is_forbidden_folder(os.path.relpath(os.path.realpath(folder), os.path.realpath(root))):
        raise Refused(Problem("BK404", f"{path} is not a place for reports", "put them in a separate folder"))
    check_days(folder, root_of(root, suite))
    return folder


def root_of(root: str, file: str) -> str:
    """Return the folder that a file's paths must stay in: the project, or the file's own folder if the
    operator named it outside of the project."""
    return os.path.dirname(file) if os.path.isabs(file) else root


def is_forbidden_folder(path: str) -> bool:
    """Whether a path leads into a folder that is not for reports."""
    return any(part.lower() in _FORBIDDEN_FOLDERS for part in path.split("/"))


def check_results_folder(root: str, suite: str, output_dir: str | None) -> list[Problem]:
    """Return the errors of `results_of` as problems of the suite."""
    try:
        results_of(root, suite, output_dir)
    except BaselinekitError as error:
        at = () if output_dir is None else ("reporting", "output_dir")
        return [move_to_name(problem, at) for problem in error.problems]
    return []


def check_path(root: str, file: str, name: str) -> tuple[Problem, ...]:
    try:
        resolve_named(*in_repository(root, file), name)
    except BaselinekitError as error:
        return error.problems
    return ()

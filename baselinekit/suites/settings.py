"""What belongs to a suite: its `config/` folder, the paths that it names, the folder of its reports."""

import os
import posixpath
from collections.abc import Mapping
from contextlib import suppress

from baselinekit.clients.trust import check_inside, follow_links
from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Place, Problem, Refused, suggest
from baselinekit.files.languages import SUFFIXES, language
from baselinekit.files.text import decode
from baselinekit.graders.by_text import ExactMatch
from baselinekit.graders.graders import files_of, with_parts
from baselinekit.kinds.files import link_at
from baselinekit.lazy import lazy_pattern
from baselinekit.metrics import PRESETS, metric_name
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grader
from baselinekit.model.values import Json, Path
from baselinekit.schema import Mistakes, describe_value, move_to_name, place_problems
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
    with suppress(OSError), os.scandir(folder) as scan:
        for entry in scan:
            if entry.is_symlink() and _DAY.fullmatch(entry.name):
                check_link(entry.path, root)


def check_link(path: str, root: str) -> None:
    check_inside(os.path.realpath(root), os.path.realpath(path), os.path.relpath(path, root))


def write_reports(folder: str, started: str, texts: dict[str, str], root: str) -> tuple[list[str], str]:
    """Write the reports of a run, given by their endings. Return the files, and why `latest` was not updated,
    or "". Of two runs in the same second, the later one gets a number."""
    if not texts:
        return [], ""
    day, time = started[:10], started[11:19].replace(":", "")
    check_link(os.path.join(folder, day), root)
    for number in range(1, 1000):
        path = os.path.join(folder, day, f"run-{time}" + (f"-{number}" if number > 1 else ""))
        if not any(os.path.lexists(path + ending) for ending in texts):
            break
    for ending, text in texts.items():
        write_text(path + ending, text)
    try:
        _point_latest(folder, day, root)
    except NotRecorded as error:
        return [path + ending for ending in texts], str(error.problems[0])
    return [path + ending for ending in texts], ""


def _point_latest(folder: str, day: str, root: str) -> None:
    """Make `latest` link to the day. It is only replaced if it links to a day."""
    latest, temporary = os.path.join(folder, LATEST), os.path.join(folder, f".{LATEST}-{os.getpid()}")
    if os.path.lexists(latest) and not (os.path.islink(latest) and _DAY.fullmatch(os.readlink(latest))):
        message = f"{os.path.relpath(latest, root)} was not made by baselinekit, and stays as it is"
        hint = "move it away, or name another folder: reporting.output_dir"
        raise NotRecorded(Problem("BK120", message, hint))
    try:
        os.symlink(day, temporary)
        os.replace(temporary, latest)
    except OSError as error:
        with suppress(OSError):
            os.unlink(temporary)
        raise NotRecorded(cannot_write(latest, error)) from None


# The `config/` folder next to a suite, and the paths that eval files name.


NUMBERED = frozenset({"labels", "score_ranges"})
"""Mappings whose keys are numbers: the labels of a rating scale, the ranges of a rubric."""

MAIN_SUITE = "eval-suite"
_RATE_METRICS = ("pass_rate", "score")


class Settings(MutableStruct):
    """The files read so far, and their problems."""

    problems: list[Problem] = field(default_factory=list)
    read_graders: dict[str, dict[str, Grader]] = field(default_factory=dict)

    def graders(self, root: str, file: str, inherited: Mapping[str, Grader]) -> Mapping[str, Grader]:
        """Return the named graders that a file may use: those of the nearest config/ folder upward, and
        `inherited`, those of the file that refers to it."""
        path = nearest_upward(root, file, "config/graders")
        if path is None:
            return inherited
        if path not in self.read_graders:
            body, at, entries = self._read_entries(root, path, "graders")
            named, found = self.read_graders.setdefault(path, {}), Mistakes()
            for name, raw in entries.items():
                grader = found.take(graders.read(raw, (), GraderContext()), *at, name)
                # an invalid grader is reported here, and not again by each file that names it
                named[name] = grader or Grader(name, "code", ExactMatch())
            self.problems += place_problems(body, path, {0: found})
        return {**inherited, **self.read_graders[path]}

    def thresholds(self, root: str, file: str, stated: Json) -> tuple[dict[str, float], list[Problem]]:
        """Return the thresholds of metrics: those of config/thresholds.yaml, overridden by the suite's
        own."""
        thresholds: dict[str, float] = {}
        path = nearest_upward(root, file, "config/thresholds")
        if path is not None:
            body, at, entries = self._read_entries(root, path, "thresholds")
            self.problems += place_problems(body, path, {0: _add_thresholds(thresholds, entries, at)})
        if not isinstance(stated, dict):
            stated = {} if stated is None else {"preset": stated}
        return thresholds, _add_thresholds(thresholds, stated, ("thresholds",))

    def _read_entries(self, root: str, path: str, wrapper: str) -> tuple[str, Path, dict[str, Json]]:
        """Return the text of a file, and its entries with the path to them: they may be below its own
        name."""
        try:
            body = decode(read(root, path), path).body
            documents = language(path).load(body, path, numbered=NUMBERED)
        except BaselinekitError as error:
            self.problems += [problem.placed(Place(path)) for problem in error.problems]
            return "", (), {}
        stated = [document for document in documents if document is not None] or [{}]
        raw, at = stated[0], tuple[str, ...]()
        if isinstance(raw, dict) and raw.keys() == {wrapper}:
            raw, at = raw[wrapper], (wrapper,)
        if isinstance(raw, dict) and len(stated) == 1:
            return body, at, raw
        found = "several documents" if len(stated) > 1 else describe_value(raw)
        hint = "a mapping of names to their meaning"
        self.problems.append(Problem("BK717", f"expected a mapping, found {found}", hint, Place(path, 1, 1)))
        return body, at, {}


def _add_thresholds(thresholds: dict[str, float], entries: Mapping[str, Json], at: Path) -> list[Problem]:
    """Add the thresholds of metrics; those of a preset first, which others override."""
    problems = []
    for name, raw in sorted(entries.items(), key=lambda entry: entry[0] != "preset"):
        metric = metric_name(name)
        message = hint = ""
        if name == "preset" and isinstance(raw, str) and raw.lower() in PRESETS:
            thresholds |= PRESETS[raw.lower()]
        elif name == "preset":
            message = f"there is no preset {raw!r}"
            hint = suggest(str(raw).lower(), PRESETS) or f"one of {', '.join(PRESETS)}"
        elif metric is None and name not in _RATE_METRICS:
            message = f"there is no metric {name!r}"
            hint = suggest(name, _RATE_METRICS) or "such as pass@1, pass^3, pass_rate or `preset: production`"
        elif isinstance(raw, bool) or not isinstance(raw, int | float) or not 0 <= raw <= 1:
            message, hint = f"the lowest value is {describe_value(raw)}", "a number from 0 to 1"
        else:
            thresholds[f"pass{metric[0]}{metric[1]}" if metric else name] = float(raw)
        if message:
            problems.append(Problem("BK717", message, hint, at=(*at, name)))
    return problems


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
    problems = []
    for grader in with_parts(case.graders):
        for key, name in files_of(grader).items():
            try:
                if name is not None:
                    resolve_named(*in_repository(root, case.source.file), name)
            except BaselinekitError as error:
                at = grader.place_of(("config", key))
                problems += [move_to_name(problem, at) for problem in error.problems]
    return problems


def results_of(root: str, suite: str, output_dir: str | None) -> str:
    """Return the folder of a suite's reports. Refused outside of the project, in folders of git, its host or
    our own state, and if the folder contains a link out."""
    path = resolve_named(root, suite, output_dir or "results")
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

"""What belongs to a suite: `expected:` and `grader:` of its files, its `config/` folder, the paths that it
names, the folder of its reports."""

import os
import posixpath
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Literal

from baselinekit import schema
from baselinekit.clients.trust import check_inside, follow_links
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, Refused
from baselinekit.files.languages import SUFFIXES, language
from baselinekit.files.text import decode
from baselinekit.graders.base import GraderType, ReadConfig
from baselinekit.graders.by_template import Weight
from baselinekit.graders.by_text import ExactMatch
from baselinekit.graders.composite import with_unique_names
from baselinekit.graders.graders import GRADERS
from baselinekit.kinds.files import link_at
from baselinekit.lazy import lazy_pattern
from baselinekit.metrics import PRESETS, canonical_metric
from baselinekit.model.evals import Expected
from baselinekit.model.grades import Grader
from baselinekit.model.values import Json, Path
from baselinekit.schema import Mistakes
from baselinekit.store.atomic import cannot_write
from baselinekit.store.project import in_repository, read, unreadable
from baselinekit.store.records import output_location
from baselinekit.store.results import write_text
from baselinekit.structs import MutableStruct, Struct, field, replace


class GraderContext(Struct):
    """The context of a grader: what the case expects, the path of that, the named graders, and whether a
    grader is required by default; none is if the mean decides."""

    expected: Expected | None = None
    at: Path = ()
    named: Mapping[str, Grader] = field(default_factory=dict)
    required: bool = True

    @property
    def row_expected(self) -> GraderType | None:
        """The grader that belongs to the type of the expectation."""
        kind = self.expected.type if self.expected else None
        return next((row for row in GRADERS.values() if row.expectation == kind), None)


class InlineGrader(Struct, kw_only=True):
    """A grader described inline."""

    type: Literal["code", "model", "human"]
    name: str | None = None
    config: dict[str, Json] = field(default_factory=dict)
    weight: Weight = 1
    required: bool | None = None


class NamedGrader(Struct):
    """A grader described in config/graders.yaml; the values here override those there."""

    ref: str
    name: str | None = None
    weight: Weight | None = None
    required: bool | None = None


def read_graders(
    raw_graders: Sequence[tuple[Json, Path]], given: GraderContext
) -> tuple[tuple[Grader, ...], list[Problem]]:
    """Return the graders of a case, including the one of its expectation, and their problems."""
    found = Mistakes()
    read_graders = [found.take(read_grader(raw, at, given)) for raw, at in raw_graders]
    graders = [grader for grader in read_graders if grader is not None]
    row, expected = given.row_expected, given.expected
    if row is not None and expected is not None:
        method = found.take(row.derive_config(expected, bool(raw_graders)), *given.at)
        if method is not None:
            graders.insert(0, Grader(row.name, row.kind, method, at=given.at))
    if not found and not graders:
        hint = "add `grader`, or `expected: {type: exact, value: …}`"
        found.append(Problem("BK705", "it is not stated what would be right", hint, at=()))
    return with_unique_names(graders), found


def is_by_itself(problem: Problem) -> bool:
    """Whether a problem does not depend on the expectation, so that it counts even if that cannot be read."""
    last_key = (problem.at or ("",))[-1]
    return problem.code not in ("BK705", "BK714") and (problem.code, last_key) != ("BK712", "config")


def read_grader(raw: Json, at: Path, given: GraderContext) -> tuple[Grader | None, list[Problem]]:
    """Read a grader. None without a problem means that the expectation states all of it."""
    if isinstance(raw, str) or (isinstance(raw, dict) and "ref" in raw):
        return _read_named({"ref": raw} if isinstance(raw, str) else raw, at, given)
    found, method = Mistakes(), None
    stated = found.take(schema.read_right_keys(InlineGrader, raw))
    if stated is not None and isinstance(raw.get("config", {}), dict):
        method = found.take(_read_config(stated.type, stated.config, given, (*at, "config")), "config")
    if found or stated is None or method is None:
        return None, schema.prefix_paths(found, at)
    name, says_required = stated.name or GRADERS[type(method)].name, stated.required is not None
    required = given.required if stated.required is None else stated.required
    weight = float(stated.weight)
    return Grader(name, stated.type, method, weight, required, at, says_required=says_required), []


def _read_named(raw: Json, at: Path, given: GraderContext) -> tuple[Grader | None, list[Problem]]:
    reference, problems = schema.read_as(NamedGrader, raw)
    if reference is None:
        return None, schema.prefix_paths(problems, at)
    if reference.ref not in given.named:
        known = ", ".join(sorted(given.named)) or "none"
        hint = f"config/graders.yaml has {known}; a method is {{type: code, config: {{method: …}}}}"
        return None, [Problem("BK712", f"there is no grader {reference.ref!r}", hint, at=at)]
    grader = given.named[reference.ref]
    weight = grader.weight if reference.weight is None else float(reference.weight)
    required = reference.required
    if required is None:
        required = grader.required if grader.says_required else given.required
    name = reference.name or reference.ref
    return Grader(name, grader.kind, grader.method, weight, required, at), []


def _read_config(kind: str, config: dict[str, Json], given: GraderContext, at: Path) -> ReadConfig:
    """Read a config, which is at this path, by its stated method. Without one, the method of a code
    grader follows from its keys or from the expectation, and model and human graders have their own form."""
    methods = {row.method: row for row in GRADERS.values() if row.method and row.kind == kind}
    stated = config.get("method")
    settings = {key: value for key, value in config.items() if key != "method"}
    row = methods.get(stated) if isinstance(stated, str) else None
    if kind != "code" and (stated is None or not methods):
        row = next(row for row in GRADERS.values() if row.kind == kind and not row.method)
        return row.read_config(config)
    if stated is None:
        by_keys = (row for row in methods.values() if settings.keys() & {*row.known_by})
        row = next(by_keys, given.row_expected)
        if row is not None and not row.method:
            if not settings:
                return None, []
            row = None
    if row is None:
        message = "the grader has no method" if stated is None else f"there is no method {stated!r}"
        hint = f"one of {', '.join(methods)}"
        return None, [Problem("BK712", message, hint, at=() if stated is None else ("method",))]
    method, problems = row.read_config(settings)
    if method is None or row.compose is None:
        return method, problems
    parts: list[Grader] = []
    for raw, path in row.stated_parts(method):
        part_path = (*at, *path)
        part, part_problems = read_grader(raw, part_path, replace(given, required=False))
        if part is not None:
            parts.append(part)
        elif not part_problems:
            part_problems = [Problem("BK712", "the grader has no method", "state one", at=part_path)]
        problems += [replace(problem, at=(problem.at or part_path)[len(at) :]) for problem in part_problems]
    return (None, problems) if problems else row.compose(method, parts)


# The reports of a suite are stored next to it in `results/YYYY-MM-DD/run-HHMMSS.{json,md,…}`, and
# `results/latest` links to the folder of the last day.


LATEST = "latest"
_DAY = lazy_pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def check_link(path: str, root: str) -> None:
    check_inside(os.path.realpath(root), os.path.realpath(path), os.path.relpath(path, root))


def write_reports(
    root: str, suite: str, output_dir: str | None, started: str, texts: Mapping[str, str]
) -> tuple[list[str], str]:
    """Write the reports of a run of a suite, given by their endings. Return the files, and why `latest` was
    not updated, or "". Of two runs in the same second, the later one gets a number."""
    if not texts:
        return [], ""
    folder, inside = results_of(root, suite, output_dir), root_of(root, suite)
    day, time = started[:10], started[11:19].replace(":", "")
    check_link(os.path.join(folder, day), inside)
    for number in range(1, 1000):
        path = os.path.join(folder, day, f"run-{time}" + (f"-{number}" if number > 1 else ""))
        if not any(os.path.lexists(path + ending) for ending in texts):
            break
    for ending, text in texts.items():
        write_text(path + ending, text)
    return [path + ending for ending in texts], _point_latest(folder, day, inside)


def _point_latest(folder: str, day: str, root: str) -> str:
    """Make `latest` link to the day. If it is something else than such a link, return why it stays."""
    latest, temporary = os.path.join(folder, LATEST), os.path.join(folder, f".{LATEST}-{os.getpid()}")
    if os.path.lexists(latest) and not (os.path.islink(latest) and _DAY.fullmatch(os.readlink(latest))):
        message = f"{os.path.relpath(latest, root)} was not made by baselinekit, and stays as it is"
        hint = "move it away, or name another folder: reporting.output_dir"
        return str(Problem("BK120", message, hint))
    try:
        os.symlink(day, temporary)
        os.replace(temporary, latest)
    except OSError as error:
        with suppress(OSError):
            os.unlink(temporary)
        return str(cannot_write(latest, error))
    return ""


# The `config/` folder next to a suite, and the paths that eval files name.


NUMBERED = frozenset({"labels", "score_ranges"})
"""Mappings whose keys are numbers: the labels of a rating scale, the ranges of a rubric."""

MAIN_SUITE = "eval-suite"


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
            body, entries = self._read_entries(root, path)
            named, found = self.read_graders.setdefault(path, {}), Mistakes()
            for name, raw in entries.items():
                grader = found.take(read_grader(raw, (), GraderContext()), name)
                # an invalid grader is reported here, and not again by each file that names it
                named[name] = grader or Grader(name, "code", ExactMatch())
            self.problems += schema.place_problems(body, path, {0: found})
        return {**inherited, **self.read_graders[path]}

    def thresholds(self, root: str, file: str, stated: Json) -> tuple[dict[str, float], list[Problem]]:
        """Return the thresholds of metrics: those of config/thresholds.yaml, overridden by the suite's
        own."""
        thresholds: dict[str, float] = {}
        path = nearest_upward(root, file, "config/thresholds")
        if path is not None:
            body, entries = self._read_entries(root, path)
            self.problems += schema.place_problems(body, path, {0: _add_thresholds(thresholds, entries, ())})
        if not isinstance(stated, dict):
            stated = {} if stated is None else {"preset": stated}
        return thresholds, _add_thresholds(thresholds, stated, ("thresholds",))

    def _read_entries(self, root: str, path: str) -> tuple[str, dict[str, Json]]:
        """Return the text of a file, and its entries by their names."""
        try:
            body, documents = load_documents(root, path, NUMBERED)
        except BaselinekitError as error:
            self.problems += [problem.placed(Place(path)) for problem in error.problems]
            return "", {}
        stated = [document for document in documents if document is not None]
        raw = stated[0] if len(stated) == 1 else stated or {}
        if isinstance(raw, dict):
            return body, raw
        message = f"expected a mapping of names, found {schema.describe_value(raw)}"
        self.problems.append(Problem("BK105", message, place=Place(path, 1, 1)))
        return body, {}


def _add_thresholds(thresholds: dict[str, float], entries: Mapping[str, Json], at: Path) -> list[Problem]:
    """Add the thresholds of metrics; those of a preset first, which others override."""
    problems = []
    for name, raw in sorted(entries.items(), key=lambda entry: entry[0] != "preset"):
        metric = canonical_metric(name)
        message = hint = ""
        if name == "preset":
            thresholds |= PRESETS.get(str(raw).lower(), {})
            if str(raw).lower() not in PRESETS:
                message, hint = f"there is no preset {raw!r}", f"one of {', '.join(PRESETS)}"
        elif metric is None:
            message = f"there is no metric {name!r}"
            hint = "such as pass@1, pass^3, pass_rate or `preset: production`"
        elif isinstance(raw, bool) or not isinstance(raw, int | float) or not 0 <= raw <= 1:
            message, hint = f"the lowest value is {schema.describe_value(raw)}", "a number from 0 to 1"
        else:
            thresholds[metric] = float(raw)
        if message:
            problems.append(Problem("BK105", message, hint, at=(*at, name)))
    return problems


def load_documents(root: str, file: str, numbered: frozenset[str] = frozenset()) -> tuple[str, list[Json]]:
    """Return the text of a file, and its documents."""
    body = decode(read(root, file), file).body
    return body, language(file).load(body, file, numbered=numbered)


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
    if name.startswith("~"):
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


def results_of(root: str, suite: str, output_dir: str | None) -> str:
    """Return the folder of a suite's reports. Refused outside of the project, in folders of git, its host or
    our own state."""
    path = resolve_named(root, suite, output_dir or "results")
    folder = os.path.join(root, path)
    if is_forbidden_folder(os.path.relpath(os.path.realpath(folder), os.path.realpath(root))):
        raise Refused(Problem("BK404", f"{path} is not a place for reports", "put them in a separate folder"))
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
        return [schema.move_to_name(problem, at) for problem in error.problems]
    return []

"""capture: replay a recipe, once or several times, and store its output as the known-good one."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from baselinekit.clients.trust import check_inside, origin
from baselinekit.commands.context import RunContext
from baselinekit.commands.judging import check
from baselinekit.commands.known_good import (
    CaptureOptions,
    KnownGood,
    observe_known_good,
    refuse_secrets_in_recipe,
)
from baselinekit.commands.loading import load, locate_problems
from baselinekit.commands.naming import name_new
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Place, Problem, Refused
from baselinekit.kinds.table import kind_of
from baselinekit.learning.templating import single_element_arrays, with_names
from baselinekit.learning.varying import UnlearnablePlace, Volatile
from baselinekit.matching.dispatch import default_type
from baselinekit.model.baselines import SUGGESTION, Baseline
from baselinekit.model.recipes import Recipe
from baselinekit.model.values import Json, Path
from baselinekit.store import writing
from baselinekit.store.atomic import cannot_write
from baselinekit.store.reading import locate_all, parse_record
from baselinekit.structs import Struct, replace
from baselinekit.values.paths import render


class Learnt(Struct):
    """A path that varies, its placeholder, and its place in the file."""

    found: Volatile
    place: Place | None


class Unlearnt(Struct):
    """A path that varies but that no placeholder fits, so that a compare will fail there."""

    found: UnlearnablePlace
    place: Place | None

    @property
    def problem(self) -> Problem:
        message = f"{render(self.found.path)} varies: {self.found.message}"
        return Problem("BK527", message, self.found.hint, self.place)


class Captured(Struct):
    """What was written to which file, and what the replays taught."""

    id: str
    file: str
    output: Json
    seconds: float
    notes: tuple[str, ...] = ()
    replays: int = 1
    learnt: tuple[Learnt, ...] = ()
    unlearnt: tuple[Unlearnt, ...] = ()
    lookalikes: tuple[Volatile, ...] = ()


def summarize_capture(project: Project, known_good: KnownGood, id: str, file: str) -> Captured:
    """Summarize what was captured, each place with its line in the file that was written."""
    lesson = known_good.lesson
    paths = (*(item.places[0] for item in lesson.volatile), *(refusal.path for refusal in lesson.refusals))
    places: Sequence[Place | None] = ()
    if paths:
        (written,) = (baseline for baseline in load(project, [f"{project.root}/{file}"]) if baseline.id == id)
        output_paths: list[Path] = [("baseline", "output", *path) for path in paths]
        places = locate_all(written.source, output_paths, project.root)
    return Captured(
        id,
        file,
        lesson.output,
        known_good.seconds,
        known_good.notes,
        known_good.replays,
        tuple(map(Learnt, lesson.volatile, places)),
        tuple(map(Unlearnt, lesson.refusals, places[len(lesson.volatile) :])),
        lesson.lookalikes,
    )


class NewBaseline(Struct):
    """A record that is to become a file: everything but its output, and the folder of the file."""

    record: dict[str, Any]
    draft: Baseline
    group: str
    folder: str


def capture_new(
    project: Project, record: dict[str, Any], options: CaptureOptions, context: RunContext
) -> Captured:
    """Capture a new file. `record` holds everything but the output: id, current, comparison, metadata."""
    new = named_new(project, record, options)
    with temporary_folder(project.root, new.folder):
        check_new(project, new, context)
        drafts = [(new.draft, new.folder)]
        ((_, known_good),) = next(observe_known_good(project, drafts, options, context))
        if isinstance(known_good, BaselinekitError):
            raise known_good
        return write_known_good(project, new, known_good, options)


def named_new(project: Project, record: dict[str, Any], options: CaptureOptions) -> NewBaseline:
    """Return the new baseline with the id that a capture would give it; raise if it cannot have one."""
    new = new_baseline(project, record, options)
    id = name_new(new.draft, project, options.id_is_chosen)
    writing.check_names(id, new.group)
    return replace(new, record={**new.record, "id": id}, draft=replace(new.draft, id=id))


def new_baseline(project: Project, record: dict[str, Any], options: CaptureOptions) -> NewBaseline:
    record = {**record, "current": with_names(record["current"], project.scope)}
    draft = parse_record(record, project.root)
    refuse_secrets_in_recipe(record["current"], project.redactor, options)
    group = options.group or group_of(draft, project)
    folder = os.path.join(project.folders[0], group)
    check_inside(project.root, os.path.realpath(os.path.join(project.root, folder)), f"--group {group}")
    return NewBaseline(record, draft, group, folder)


def check_new(project: Project, new: NewBaseline, context: RunContext) -> None:
    """Raise if it cannot be asked or written, before anything is asked. Its folder exists already."""
    writing.check_folder(project.root, new.folder)
    check(new.draft, project.setting(new.folder, context.clients))


def write_known_good(
    project: Project, new: NewBaseline, known_good: KnownGood, options: CaptureOptions
) -> Captured:
    record, notes = completed_record(project, new.draft, new.record, options.version, known_good)
    schema = writing.reference(project.root, new.folder)
    limit = project.config.inline_limit
    file = writing.write_new(record, new.group, project.root, project.folders[0], limit, schema)
    known_good = replace(known_good, notes=(*known_good.notes, *notes))
    return summarize_capture(project, known_good, new.draft.id, file)


def completed_record(
    project: Project, draft: Baseline, record: dict[str, Any], version: str | None, known_good: KnownGood
) -> tuple[dict[str, Any], list[str]]:
    """Return the record in the order of its file, with its output and the rules for it; and notes."""
    output, kind = known_good.lesson.output, draft.current.kind
    comparison = {"type": default_type(output, kind)} | record.get("comparison", {})
    singles = [] if comparison["type"] == "exact" else [*map(render, single_element_arrays(output))]
    if singles:
        comparison["arrays"] = {**dict.fromkeys(singles, "ordered"), **comparison.get("arrays", {})}
    notes = [
        f"{path} holds one element and is compared so; without `ordered`, it would describe every element"
        for path in singles
    ]
    is_text = kind_of(draft.current).asks_models == "always" and comparison["type"] == "exact"
    if is_text and draft.comparison.type is None and "judge" in project.models:
        notes.append(SUGGESTION)  # a model varies its wording: a judge compares the meaning
    current, form = record["current"], known_good.form
    if form is not None:
        current = {**current, "execution": {**current["execution"], **form.execution}}
    if form is not None and form.ignore_values:
        comparison["options"] = {**form.options, **comparison.get("options", {})}
        comparison["ignore_values"] = [*form.ignore_values, *comparison.get("ignore_values", [])]
    return {
        **{key: record[key] for key in ("id", "name", "description") if key in record},
        **({"baseline_version": version} if version else {}),
        "baseline": known_good.mapping,
        "current": current,
        "comparison": comparison,
        "metadata": {**record.get("metadata", {}), "last_passed": None, "failure_count": 0},
    }, notes


class CaptureResults(Struct):
    """The results of several captures. `left`: how many were not reached, because the run was interrupted or
    nothing can be written any more."""

    done: Sequence[Captured]
    errors: list[BaselinekitError]
    left: int = 0
    is_interrupted: bool = False


Keep = Callable[[int, KnownGood], Captured]
"""Writes the known-good output of the draft with this number."""
Blame = Callable[[int, BaselinekitError], BaselinekitError]
"""Adds to an error the place of the draft with this number."""


def capture_each(
    project: Project,
    drafts: Sequence[tuple[Baseline, str]],
    options: CaptureOptions,
    context: RunContext,
    keep: Keep,
    blame: Blame,
) -> CaptureResults:
    """Write each group as soon as it has been replayed: if the run ends early, the written files stay, and
    the same command captures the others."""
    done: dict[int, Captured] = {}
    errors: dict[int, BaselinekitError] = {}

    def so_far(is_interrupted: bool = False) -> CaptureResults:
        remaining = len(drafts) - len(done) - len(errors)
        in_order = [errors[number] for number in sorted(errors)]
        return CaptureResults([done[number] for number in sorted(done)], in_order, remaining, is_interrupted)

    try:
        for group in observe_known_good(project, drafts, options, context):
            with context.stop.heard():  # so that every written file is reported
                for number, known_good in group:
                    try:
                        if isinstance(known_good, BaselinekitError):
                            raise known_good
                        done[number] = keep(number, known_good)
                    except BaselinekitError as error:
                        errors[number] = blame(number, error)
                        if _ends_all(error):
                            return so_far()
            if context.stop.is_set():
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        return so_far(is_interrupted=True)
    return so_far()


def _ends_all(error: BaselinekitError) -> bool:
    """Whether nothing can be written any more: a full disk has no room for the next file either."""
    return isinstance(error, NotRecorded) and any(problem.code == "BK120" for problem in error.problems)


def capture_all(
    project: Project, drafts: Sequence[Baseline], options: CaptureOptions, context: RunContext
) -> CaptureResults:
    """Add the `baseline:` to files that have a recipe and no output yet; the files stay the same otherwise.
    Capture as many as possible; the errors of the others have their place."""

    def keep(number: int, known_good: KnownGood) -> Captured:
        draft, limit = drafts[number], project.config.inline_limit
        writing.add_baseline(draft.source, known_good.mapping, project.root, limit)
        return summarize_capture(project, known_good, draft.id, draft.source.file)

    def blame(number: int, error: BaselinekitError) -> BaselinekitError:
        return type(error)(*locate_problems(drafts[number], error.problems, project.root))

    drafts_with_folders = [(draft, os.path.dirname(draft.source.file)) for draft in drafts]
    return capture_each(project, drafts_with_folders, options, context, keep, blame)


def check_draft(project: Project, draft: Baseline, context: RunContext) -> None:
    """Raise if the recipe of a file cannot work, before anything is asked."""
    try:
        check(draft, project.setting_of(draft, context.clients))
    except (InvalidInput, Refused) as error:
        raise type(error)(*locate_problems(draft, error.problems, project.root)) from None


@contextmanager
def temporary_folder(root: str, name: str) -> Iterator[None]:
    """Create the folder of a baseline that is still to be written: its program may need it. If that fails, no
    folder is left that was not there before."""
    folder = parent = os.path.join(root, name)
    missing = []
    while not os.path.isdir(parent):
        missing.append(parent)
        parent = os.path.dirname(parent)
    try:
        os.makedirs(folder, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        message = f"{name} cannot be a folder: a file is in the way"
        raise InvalidInput(Problem("BK120", message, "move it away, or choose another --group")) from None
    except OSError as error:
        raise NotRecorded(cannot_write(name, error)) from None
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for created in missing:
                os.rmdir(created)
        raise


def group_of(draft: Baseline, project: Project) -> str:
    """Return the folder of a new baseline: named by the host that it asks, or the skill or program that it
    runs."""
    base_url = project.words_of(draft).scope.values.get("base_url")
    return kind_of(draft.current).group(draft.current, base_url)


# The hosts of new baselines that the configuration must name before they can be asked in CI.


_PORTS = {"http": 80, "https": 443}


def unnamed_origins(
    project: Project, recipes: Iterable[Recipe], look: Callable[[str, int], Sequence[str]]
) -> list[str]:
    """Return the origins, as people write them, that a compare in CI would refuse to ask. A host that does
    not resolve here may resolve there."""
    trust = replace(project.trust, ci=True)
    origins = []
    for url in dict.fromkeys(url for recipe in recipes for url in addresses_asked(project, recipe)):
        try:
            parts = urlsplit(url)
            addresses = look(parts.hostname or "", parts.port or _PORTS[parts.scheme])
        except (OSError, ValueError, KeyError):
            addresses = []
        try:
            trust.check_request(url)
            for address in addresses:
                trust.check_address(url, address)
        except Refused:
            url_origin = origin(url)  # as people write it: without the default port
            origins.append(url_origin.removesuffix(f":{_PORTS[url_origin.partition('://')[0]]}"))
    return list(dict.fromkeys(origins))


def addresses_asked(project: Project, recipe: Recipe) -> Iterator[str]:
    """Yield the URLs that the recipe sends requests to. With --base-url there are none to check: it is passed
    again."""
    if project.override_base_url is not None:
        return
    for text in kind_of(recipe).addresses(recipe):
        try:
            url = project.scope.expand(text, ())
            if isinstance(url, str) and url:
                origin(url)
                yield url
        except BaselinekitError:  # needs a value that only a run has
            continue

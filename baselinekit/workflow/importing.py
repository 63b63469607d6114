"""Requests that other tools wrote down, captured in one go: what a file says becomes new baselines, and what
cannot is told with its line."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field, replace
from typing import Any

from baselinekit.errors import (
    BaselinekitError,
    CannotReplay,
    InvalidInput,
    NotRecorded,
    Place,
    Problem,
    Refused,
)
from baselinekit.frozen import frozen
from baselinekit.importers.drafts import (
    DraftRecipe,
    ImportChoices,
    ImportedFile,
    SourceText,
    named_apart,
)
from baselinekit.importers.table import importer_of
from baselinekit.model.baselines import Baseline
from baselinekit.model.values import Json, Path
from baselinekit.replaying.dispatch import digest
from baselinekit.store import writing
from baselinekit.store.reading import taken_ids
from baselinekit.store.records import read_record
from baselinekit.texts import many
from baselinekit.trust import origin
from baselinekit.variables import Redactor, Secret
from baselinekit.workflow.capture import (
    Captured,
    CapturedTogether,
    NewBaseline,
    capture_each,
    check_new,
    folder_made,
    new_baseline,
    write_known_good,
)
from baselinekit.workflow.context import RunContext
from baselinekit.workflow.known_good import CaptureOptions, Described, KnownGood
from baselinekit.workflow.naming import is_same
from baselinekit.workflow.project import Project

_SEVERAL = 2


@frozen
class ImportSummary:
    """What is to be captured of some files. `project`: with the secrets that stand in them; `known`: how many
    are captured already."""

    project: Project
    new: Sequence[tuple[DraftRecipe, Place, NewBaseline]]
    problems: Sequence[BaselinekitError]
    known: int = 0
    unsafe: int = 0
    unselected: int = 0
    secrets: Sequence[str] = ()
    stated: Mapping[str, int] = field(default_factory=dict)
    """The addresses that the files of the project state already, each with the number of its files."""

    def shared_base(self) -> str | None:
        """The address that several files state with the new ones, one of them at least, where the
        configuration has none."""
        if self.project.config.base_url or self.project.override_base_url:
            return None
        new = Counter(draft.current["execution"].get("base_url") for draft, _, _ in self.new)
        new.pop(None, None)
        counted = {base: count + self.stated.get(base, 0) for base, count in new.items()}
        base = max(counted, key=lambda base: counted[base], default=None)
        return base if base is not None and counted[base] >= _SEVERAL else None

    def sharing(self, base: str) -> tuple[int, int]:
        """How many new files state an address, and how many that are there already."""
        new = sum(draft.current["execution"].get("base_url") == base for draft, _, _ in self.new)
        return new, self.stated.get(base, 0)


def holds_requests(name: str, text: str) -> bool:
    """Whether a file is of a form that holds requests, by its content."""
    return importer_of(SourceText(name, text)) is not None


def read_requests(name: str, text: str, choices: ImportChoices) -> ImportedFile:
    """What such a file asks for."""
    source = SourceText(name, text)
    importer = importer_of(source)
    if importer is None:
        raise InvalidInput(Problem("BK550", "nothing there says what is to be asked", "", Place(name)))
    imported = importer.read(source, choices)
    if not (imported.drafts or imported.left_out or imported.unsafe or imported.unselected):
        raise InvalidInput(Problem("BK550", f"{importer.form} without requests", "", Place(name)))
    return imported


def summarize(
    project: Project,
    files: Mapping[str, ImportedFile],
    record_of: Callable[[DraftRecipe], dict[str, Any]],
    options: CaptureOptions,
) -> ImportSummary:
    """What is new in the files, and why the rest cannot be asked."""
    project = _with_secrets(project, files.values())
    taken = taken_ids(project.root, project.folders)
    captured: dict[str, list[Baseline]] = {}
    stated = Counter[str]()
    for source, raw in taken.values():
        if (other := read_record(raw, source)[0]) is not None:
            captured.setdefault(digest(other.current.input), []).append(other)
            base = getattr(other.current.execution, "base_url", None)  # who asks nobody has none
            stated.update([base] if base else [])
    problems: list[BaselinekitError] = []
    drafts = [(file, draft) for file, imported in files.items() for draft in imported.drafts]
    askable, unmet = with_variables(drafts, project)
    problems += unmet
    known = 0
    ready: list[tuple[DraftRecipe, Place]] = []
    for file, draft in askable:
        place = Place(file, draft.line or None)
        try:
            mine = new_baseline(project, record_of(draft), options).draft
        except BaselinekitError as error:
            problems.append(_at(error, place))
            continue
        same = captured.setdefault(digest(mine.current.input), [])
        if any(is_same(mine, other, project) for other in same):
            known += 1
        else:
            same.append(mine)
            ready.append((draft, place))
    named = named_apart([draft for draft, _ in ready], taken)
    new = [
        (draft, place, new_baseline(project, record_of(draft), options))
        for draft, (_, place) in zip(named, ready, strict=True)
    ]
    for file, imported in files.items():
        problems += [
            CannotReplay(Problem("BK551", left.what, left.hint, Place(left.file or file, left.line)))
            for left in imported.left_out
        ]
    return ImportSummary(
        project,
        new,
        problems,
        known,
        sum(imported.unsafe for imported in files.values()),
        sum(imported.unselected for imported in files.values()),
        sorted({name for imported in files.values() for name in imported.secrets}),
        stated,
    )


def _with_secrets(project: Project, files: Iterable[ImportedFile]) -> Project:
    """The project with the secrets that stood in the files: they may go where they went before."""
    found = {
        name: Secret(value, hosts)
        for imported in files
        for name, (value, hosts) in imported.secrets.items()
        if name not in project.scope.secrets and name not in project.scope.values
    }
    if not found:
        return project
    scope = replace(project.scope, secrets={**project.scope.secrets, **found})
    words = replace(project.words, scope=scope)
    return replace(project, scope=scope, redactor=Redactor(scope.secrets), words=words)


def with_variables(
    drafts: Sequence[tuple[str, DraftRecipe]], project: Project
) -> tuple[list[tuple[str, DraftRecipe]], list[BaselinekitError]]:
    """Those whose variables have a value; and of the others which variable is missing, once for each."""
    known = {*project.scope.values, *project.scope.secrets}
    missing: dict[str, list[Place]] = {}
    askable = []
    for file, draft in drafts:
        unmet = [name for name in draft.needs if name not in known]
        for name in unmet:
            missing.setdefault(name, []).append(Place(file, draft.line))
        if not unmet:
            askable.append((file, draft))
    return askable, [
        CannotReplay(
            Problem(
                "BK551",
                f"{many(len(places), 'request')} need{'s' * (len(places) == 1)} the variable {{{{{name}}}}}",
                how_to_give(name),
                places[0],
            )
        )
        for name, places in missing.items()
    ]


def how_to_give(name: str) -> str:
    if name.endswith("_USERNAME"):
        return f"pass --var {name}=…"
    return f"export {name} and pass --secret {name}, or --secret {name}=…"


def capture_many(summary: ImportSummary, options: CaptureOptions, context: RunContext) -> CapturedTogether:
    """New files, all asked together. What can be captured is, and what cannot is told with its line."""
    project, errors = summary.project, list[BaselinekitError]()
    described = {new.draft.id: draft for draft, _, new in summary.new}
    options = replace(options, described=_describes(described, options))
    asked: list[tuple[Place, NewBaseline]] = []

    def keep(number: int, known_good: KnownGood) -> Captured:
        new = asked[number][1]
        captured = write_known_good(project, new, known_good, options)
        return replace(captured, notes=(*captured.notes, *described[new.draft.id].notes))

    def blame(number: int, error: BaselinekitError) -> BaselinekitError:
        place, new = asked[number]
        return _at(error if isinstance(error, NotRecorded) else _of(error, new.draft.id), place)

    with ExitStack() as folders:
        for _, place, new in summary.new:
            try:
                writing.check_names(new.draft.id, new.group)
                folders.enter_context(folder_made(project.root, new.folder))
                check_new(project, new, context)
                asked.append((place, new))
            except BaselinekitError as error:
                errors.append(_at(error, place))
        drafts = [(new.draft, new.folder) for _, new in asked]
        found = capture_each(project, drafts, options, context, keep, blame)
        errors += found.errors
        if not found.done and errors:  # the folders that were made for it go again
            raise worst_of([*summary.problems, *errors])
        if not found.done and found.is_interrupted:
            raise KeyboardInterrupt
    return replace(found, errors=errors)


def _describes(drafts: Mapping[str, DraftRecipe], options: CaptureOptions) -> Described:
    def described(baseline: Baseline, outputs: Sequence[Json]) -> Mapping[Path, str]:
        draft, output = drafts[baseline.id], outputs[0]
        status = output.get("status") if isinstance(output, dict) else None
        if isinstance(status, int) and status >= 400 and not options.allow_error_status:
            _refuse_status(draft, status)
        return draft.formats(outputs) if draft.formats else {}

    return described


def _refuse_status(draft: DraftRecipe, status: int) -> None:
    """An answer that refuses what the file describes otherwise: what lets it in may not stand in the file."""
    before = draft.status
    if draft.is_vouched and (before is None or before >= 400):
        return
    message = f"the answer is {status}{f', where the file has {before}' if before else ''}"
    hint = "give values that exist, --param NAME=…, or pass --allow-error-status"
    if status in (401, 403):
        hint = "it needs other credentials than the document states; or pass --allow-error-status"
        if before:
            hint = "save the file with its sensitive data, or pass --allow-error-status"
    elif before:
        hint = "save the file again, or pass --allow-error-status"
    elif status == 404:
        hint = "give values that exist, --param NAME=…; or end the base_url with /, if paths begin there"
    raise CannotReplay(Problem("BK521", f"{message}: it is not stored as known-good", hint))


def worst_of(errors: Sequence[BaselinekitError]) -> BaselinekitError:
    """All that could not be done as one error, whose exit code is that of the worst."""
    kinds = (Refused, InvalidInput, CannotReplay)
    worst = next((kind for kind in kinds if any(isinstance(error, kind) for error in errors)), CannotReplay)
    return worst(*(problem for error in errors for problem in error.problems))


def _of(error: BaselinekitError, id: str) -> BaselinekitError:
    """The error with the name of the baseline that it keeps from being captured."""
    return type(error)(*(replace(problem, message=f"{id}: {problem.message}") for problem in error.problems))


def _at(error: BaselinekitError, place: Place) -> BaselinekitError:
    """The error at the line that the request comes from."""
    return type(error)(*(replace(problem, place=place, at=None) for problem in error.problems))


def stated_bases(summary: ImportSummary) -> list[str]:
    """The addresses that the new files state."""
    bases = (draft.current["execution"].get("base_url") for draft, _, _ in summary.new)
    return list(dict.fromkeys(origin(base) for base in bases if base))

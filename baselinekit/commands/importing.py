"""Requests that other tools recorded, captured together: they become new baselines, and those that cannot are
reported with their line."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

from baselinekit.commands import capture
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, Place, Problem, Refused
from baselinekit.importers import har, lines, openapi
from baselinekit.importers.drafts import DraftRecipe, ImportChoices, ImportedFile, SourceText
from baselinekit.kinds.dispatch import digest
from baselinekit.model.baselines import Baseline
from baselinekit.model.values import Json, Path
from baselinekit.secrets.variables import Redactor, Secret
from baselinekit.structs import Struct, replace

IMPORTERS = (openapi, har, lines)
"""Every form of file that `capture FILE` reads requests from: a module, with its name, whether a file has it,
and how the file is read."""


def importer_of(source: SourceText) -> ModuleType | None:
    """The importer of a file by its content; None if no importer reads it."""
    try:
        return next((importer for importer in IMPORTERS if importer.recognises(source)), None)
    except BaselinekitError:  # neither JSON nor YAML
        return None


class Batch(Struct):
    """What is to be captured together. `project`: with the secrets that files contain; `asking`: the project
    that may also do what the operator typed, if that is more; `drafts`: where those of files come from;
    `known`: how many are captured already; `failed`: how many requests the problems are about; `notes`: about
    what was captured."""

    project: Project
    new: Sequence[capture.NewBaseline]
    problems: Sequence[BaselinekitError] = ()
    failed: int = 0
    known: int = 0
    unsafe: int = 0
    unselected: int = 0
    drafts: Sequence[DraftRecipe] = ()
    asking: Project | None = None
    notes: Callable[[Sequence[capture.Captured]], Iterable[str]] = lambda captured: ()


def reader_of(name: str, text: str) -> Callable[[ImportChoices], ImportedFile] | None:
    """Return what reads the requests in a file, by its content; None if it has no form that holds any."""
    source = SourceText(name, text)
    importer = importer_of(source)
    if importer is None:
        return None

    def read(choices: ImportChoices) -> ImportedFile:
        imported: ImportedFile = importer.read(source, choices)
        if not (imported.drafts or imported.left_out or imported.unsafe or imported.unselected):
            raise InvalidInput(Problem("BK550", f"{importer.FORM} without requests", "", Place(name)))
        return imported

    return read


def summarize(
    project: Project,
    files: Mapping[str, ImportedFile],
    record_of: Callable[[DraftRecipe], dict[str, Any]],
    options: capture.CaptureOptions,
) -> Batch:
    """Return what is new in the files, and why the others cannot be captured."""
    project = _with_secrets(project, files.values())
    taken = capture.baselines_by_id(project)
    captured: dict[str, list[Baseline]] = defaultdict(list)
    for existing in taken.values():
        if existing is not None:
            captured[digest(existing.current.input)].append(existing)
    known_names = {*project.scope.values, *project.scope.secrets}
    drafts: list[DraftRecipe] = []
    ready: list[capture.NewBaseline] = []
    errors, failed, known = list[BaselinekitError](), 0, 0
    for file, imported in files.items():
        failed += sum(omitted.count for omitted in imported.left_out)
        for draft in imported.drafts:
            place = Place(file, draft.line or None)
            try:
                if lacking := [name for name in draft.needs if name not in known_names]:
                    raise CannotReplay(*map(_missing_variable, lacking))
                new = capture.new_baseline(project, record_of(draft), options)
            except BaselinekitError as error:
                errors.append(type(error)(*(one._replace(place=place, at=None) for one in error.problems)))
                failed += 1
                continue
            same_input = captured[digest(new.draft.current.input)]
            if any(capture.is_same(new.draft, existing, project) for existing in same_input):
                known += 1
            else:
                same_input.append(new.draft)
                new = new.named(capture.free_id(new.draft, taken, project))
                taken[new.draft.id.casefold()] = new.draft
                adapt = _describes(draft, options)
                label = new.draft.id
                ready.append(replace(new, place=place, label=label, notes=draft.notes, adapt=adapt))
                drafts.append(draft)
        for one in imported.left_out:
            place = Place(one.file or file, one.line)
            errors.append(CannotReplay(Problem("BK551", one.message, one.hint, place)))
    unsafe = sum(imported.unsafe for imported in files.values())
    unselected = sum(imported.unselected for imported in files.values())
    return Batch(project, ready, errors, failed, known, unsafe, unselected, drafts)


def _with_secrets(project: Project, files: Iterable[ImportedFile]) -> Project:
    """Return the project with the secrets found in the files, allowed for the hosts they were sent to
    before."""
    known = {*project.scope.secrets, *project.scope.values}
    secrets = {
        name: Secret(value, hosts)
        for imported in files
        for name, (value, hosts) in imported.secrets.items()
        if name not in known
    }
    scope = replace(project.scope, secrets={**project.scope.secrets, **secrets})
    words = replace(project.words, scope=scope)
    return replace(project, scope=scope, redactor=Redactor(scope.secrets), words=words)


def _missing_variable(name: str) -> Problem:
    hint = f"export {name} and pass --secret {name}, or --secret {name}=…"
    return Problem("BK551", f"it needs the variable {{{{{name}}}}}", hint)


def _describes(draft: DraftRecipe, options: capture.CaptureOptions) -> capture.Adapt:
    """Return what refuses an error answer that the file does not describe, as the file may lack the
    credentials, and returns the placeholders that the file states."""

    def describe(
        new: capture.NewBaseline, outputs: Sequence[Json]
    ) -> tuple[capture.NewBaseline, Mapping[Path, str]]:
        status = outputs[0].get("status") if isinstance(outputs[0], dict) else None
        is_described = draft.is_vouched and (draft.status is None or draft.status >= 400)
        if isinstance(status, int) and status >= 400 and not (options.allow_error_status or is_described):
            recorded = f", where the file has {draft.status}" if draft.status else ""
            message = f"the answer is {status}{recorded}: it is not stored as known-good"
            hint = "give credentials and values that exist, --param NAME=…, or pass --allow-error-status"
            raise CannotReplay(Problem("BK521", message, hint))
        return new, draft.formats(outputs[0]) if draft.formats else {}

    return describe


def worst_of(errors: Sequence[BaselinekitError]) -> BaselinekitError:
    """Combine the errors into one, with the exit code of the worst."""
    kinds = (Refused, InvalidInput, CannotReplay)
    worst = next((kind for kind in kinds if any(isinstance(error, kind) for error in errors)), CannotReplay)
    return worst(*(problem for error in errors for problem in error.problems))

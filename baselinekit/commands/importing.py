"""Requests that other tools recorded, captured together: they become new baselines, and those that cannot are
reported with their line."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from baselinekit.commands.capture import (
    Captured,
    CaptureOptions,
    CaptureResults,
    Described,
    KnownGood,
    NewBaseline,
    capture_each,
    check_new,
    new_baseline,
    temporary_folder,
    write_known_good,
)
from baselinekit.commands.context import RunContext
from baselinekit.commands.naming import is_same
from baselinekit.commands.project import Project
from baselinekit.errors import (
    BaselinekitError,
    CannotReplay,
    InvalidInput,
    NotRecorded,
    Place,
    Problem,
    Refused,
)
from baselinekit.importers.drafts import (
    DraftRecipe,
    ImportChoices,
    ImportedFile,
    SourceText,
    with_unique_ids,
)
from baselinekit.importers.table import importer_of
from baselinekit.kinds.dispatch import digest
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import Baseline
from baselinekit.model.values import Json, Path
from baselinekit.secrets.variables import Redactor, Secret
from baselinekit.store import writing
from baselinekit.store.reading import records_by_id
from baselinekit.store.records import read_record
from baselinekit.structs import Struct, field, replace
from baselinekit.values.texts import count_noun

_SHARED_FROM = 2


class ImportSummary(Struct):
    """What is to be captured from some files. `project`: with the secrets that the files contain; `known`:
    how many are captured already; `failed`: how many requests the problems are about."""

    project: Project
    new: Sequence[tuple[DraftRecipe, Place, NewBaseline]]
    problems: Sequence[BaselinekitError]
    known: int = 0
    unsafe: int = 0
    unselected: int = 0
    secrets: Sequence[str] = ()
    stated: Mapping[str, int] = field(default_factory=dict)
    """The base_urls in the files of the project, each with the number of its files."""
    failed: int = 0

    def shared_base(self) -> str | None:
        """Return the base_url that most files have in common, at least one of them new, if the configuration
        has none."""
        if self.project.config.base_url or self.project.override_base_url:
            return None
        new_counts = Counter(draft.current["execution"].get("base_url") for draft, _, _ in self.new)
        new_counts.pop(None, None)
        counts = {base: count + self.stated.get(base, 0) for base, count in new_counts.items()}
        base = max(counts, key=lambda base: counts[base], default=None)
        others = sum({**self.stated, **counts}.values()) - counts.get(base, 0)
        return base if base is not None and counts[base] >= _SHARED_FROM and counts[base] > others else None

    def sharing(self, base: str) -> tuple[int, int]:
        """Return how many new files have this base_url, and how many of the existing ones."""
        new = sum(draft.current["execution"].get("base_url") == base for draft, _, _ in self.new)
        return new, self.stated.get(base, 0)


def holds_requests(name: str, text: str) -> bool:
    """Whether the content of a file has a format that holds requests."""
    return importer_of(SourceText(name, text)) is not None


def read_requests(name: str, text: str, choices: ImportChoices) -> ImportedFile:
    """Read the requests in such a file."""
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
    """Return what is new in the files, and why the others cannot be captured."""
    project = _with_secrets(project, files.values())
    taken = records_by_id(project.root, project.folders)
    captured: dict[str, list[Baseline]] = {}
    base_counts = Counter[str]()
    for source, raw in taken.values():
        if (existing := read_record(raw, source)[0]) is not None:
            captured.setdefault(digest(existing.current.input), []).append(existing)
            base = getattr(existing.current.execution, "base_url", None)  # recipes without requests have none
            base_counts.update([base] if base else [])
    drafts = [(file, draft) for file, imported in files.items() for draft in imported.drafts]
    askable, problems = with_variables(drafts, project)
    failed_count = len(drafts) - len(askable)
    failed_count += sum(omitted.count for imported in files.values() for omitted in imported.left_out)
    known_count = 0
    ready: list[tuple[DraftRecipe, Place]] = []
    for file, draft in askable:
        place = Place(file, draft.line or None)
        try:
            draft_baseline = new_baseline(project, record_of(draft), options).draft
        except BaselinekitError as error:
            problems.append(_with_place(error, place))
            failed_count += 1
            continue
        same_input = captured.setdefault(digest(draft_baseline.current.input), [])
        if any(is_same(draft_baseline, existing, project) for existing in same_input):
            known_count += 1
        else:
            same_input.append(draft_baseline)
            ready.append((draft, place))
    named_drafts = with_unique_ids([draft for draft, _ in ready], taken)
    new = [
        (draft, place, new_baseline(project, record_of(draft), options))
        for draft, (_, place) in zip(named_drafts, ready, strict=True)
    ]
    for file, imported in files.items():
        problems += [
            CannotReplay(
                Problem("BK551", omitted.message, omitted.hint, Place(omitted.file or file, omitted.line))
            )
            for omitted in imported.left_out
        ]
    return ImportSummary(
        project,
        new,
        problems,
        known_count,
        sum(imported.unsafe for imported in files.values()),
        sum(imported.unselected for imported in files.values()),
        sorted({name for imported in files.values() for name in imported.secrets}),
        base_counts,
        failed_count,
    )


def _with_secrets(project: Project, files: Iterable[ImportedFile]) -> Project:
    """Return the project with the secrets found in the files, allowed for the hosts they were sent to
    before."""
    secrets = {
        name: Secret(value, hosts)
        for imported in files
        for name, (value, hosts) in imported.secrets.items()
        if name not in project.scope.secrets and name not in project.scope.values
    }
    if not secrets:
        return project
    scope = replace(project.scope, secrets={**project.scope.secrets, **secrets})
    words = replace(project.words, scope=scope)
    return replace(project, scope=scope, redactor=Redactor(scope.secrets), words=words)


def with_variables(
    drafts: Sequence[tuple[str, DraftRecipe]], project: Project
) -> tuple[list[tuple[str, DraftRecipe]], list[BaselinekitError]]:
    """Return the drafts whose variables have values, and an error for each missing variable."""
    known_names = {*project.scope.values, *project.scope.secrets}
    missing: dict[str, list[Place]] = {}
    askable = []
    for file, draft in drafts:
        missing_names = [name for name in draft.needs if name not in known_names]
        for name in missing_names:
            missing.setdefault(name, []).append(Place(file, draft.line))
        if not missing_names:
            askable.append((file, draft))
    return askable, [
        CannotReplay(
            Problem(
                "BK551",
                f"{count_noun(len(places), 'request')} need{'s' * (len(places) == 1)}"
                f" the variable {{{{{name}}}}}",
                describe_variable_option(name),
                places[0],
            )
        )
        for name, places in missing.items()
    ]


def describe_variable_option(name: str) -> str:
    if name.endswith("_USERNAME"):
        return f"pass --var {name}=…"
    return f"export {name} and pass --secret {name}, or --secret {name}=…"


def capture_many(summary: ImportSummary, options: CaptureOptions, context: RunContext) -> CaptureResults:
    """Capture all new files together: as many as possible, the others are reported with their line."""
    project, errors = summary.project, list[BaselinekitError]()
    described = {new.draft.id: draft for draft, _, new in summary.new}
    options = replace(options, described=_describes(described, options))
    targets: list[tuple[Place, NewBaseline]] = []

    def keep(number: int, known_good: KnownGood) -> Captured:
        new = targets[number][1]
        captured = write_known_good(project, new, known_good, options)
        return replace(captured, notes=(*captured.notes, *described[new.draft.id].notes))

    def blame(number: int, error: BaselinekitError) -> BaselinekitError:
        place, new = targets[number]
        return _with_place(error if isinstance(error, NotRecorded) else _with_id(error, new.draft.id), place)

    with ExitStack() as folders:
        for _, place, new in summary.new:
            try:
                writing.check_names(new.draft.id, new.group)
                folders.enter_context(temporary_folder(project.root, new.folder))
                check_new(project, new, context)
                targets.append((place, new))
            except BaselinekitError as error:
                errors.append(_with_place(error, place))
        drafts = [(new.draft, new.folder) for _, new in targets]
        captured_together = capture_each(project, drafts, options, context, keep, blame)
        errors += captured_together.errors
        if not captured_together.done and errors:  # so that the folders made for it are removed
            raise group_alike(worst_of([*summary.problems, *errors]))
        if not captured_together.done and captured_together.is_interrupted:
            raise KeyboardInterrupt
    return replace(captured_together, errors=errors)


def _describes(drafts: Mapping[str, DraftRecipe], options: CaptureOptions) -> Described:
    def described(baseline: Baseline, outputs: Sequence[Json]) -> Mapping[Path, str]:
        draft, output = drafts[baseline.id], outputs[0]
        status = output.get("status") if isinstance(output, dict) else None
        if isinstance(status, int) and status >= 400 and not options.allow_error_status:
            _refuse_status(draft, status)
        return draft.formats(outputs) if draft.formats else {}

    return described


def _refuse_status(draft: DraftRecipe, status: int) -> None:
    """Refuse an error answer that the file does not describe: the file may lack the credentials."""
    recorded_status = draft.status
    if draft.is_vouched and (recorded_status is None or recorded_status >= 400):
        return
    message = f"the answer is {status}{f', where the file has {recorded_status}' if recorded_status else ''}"
    hint = "give values that exist, --param NAME=…, or pass --allow-error-status"
    if status in (401, 403):
        hint = "it needs other credentials than the document states; or pass --allow-error-status"
        if recorded_status:
            hint = "save the file with its sensitive data, or pass --allow-error-status"
    elif recorded_status:
        hint = "save the file again, or pass --allow-error-status"
    elif status == 404:
        hint = "give values that exist, --param NAME=…; or end the base_url with /, if paths begin there"
    raise CannotReplay(Problem("BK521", f"{message}: it is not stored as known-good", hint))


def worst_of(errors: Sequence[BaselinekitError]) -> BaselinekitError:
    """Combine the errors into one, with the exit code of the worst."""
    kinds = (Refused, InvalidInput, CannotReplay)
    worst = next((kind for kind in kinds if any(isinstance(error, kind) for error in errors)), CannotReplay)
    return worst(*(problem for error in errors for problem in error.problems))


_MOST_PLACES = 10
_REQUEST = lazy_pattern(r"(?:[^\s:]+: )?[A-Z-]+ https?://\S+: (.*)", re.DOTALL)
"""The message about one request: its id, its method and its address, and what is wrong."""


def group_alike(error: BaselinekitError) -> BaselinekitError:
    """Return the error with one problem for all requests that failed for the same reason, where the first of
    them stood. It names their places."""
    groups: dict[tuple[str, str, str], list[Problem]] = {}
    for problem in error.problems:
        request = _REQUEST.fullmatch(problem.message)
        reason = request[1] if request else problem.message
        alone = "" if request else str(problem.place)
        groups.setdefault((problem.code, reason + alone, problem.hint), []).append(problem)
    return type(error)(*(_as_one(group) for group in groups.values()))


def _as_one(alike: Sequence[Problem]) -> Problem:
    request = _REQUEST.fullmatch(alike[0].message)
    if len(alike) == 1 or request is None:
        return alike[0]
    places = list(dict.fromkeys(str(problem.place) for problem in alike))
    more = f", and {len(places) - _MOST_PLACES:,} more" if len(places) > _MOST_PLACES else ""
    message = f"{len(alike):,} requests: {request[1]} ({', '.join(places[:_MOST_PLACES])}{more})"
    return replace(alike[0], message=message, place=None)


def _with_id(error: BaselinekitError, id: str) -> BaselinekitError:
    """Return the error with the id of the baseline that could not be captured."""
    return type(error)(*(replace(problem, message=f"{id}: {problem.message}") for problem in error.problems))


def _with_place(error: BaselinekitError, place: Place) -> BaselinekitError:
    """Return the error with the line that the request comes from."""
    return type(error)(*(replace(problem, place=place, at=None) for problem in error.problems))

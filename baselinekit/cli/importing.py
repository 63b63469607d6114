"""What `baselinekit capture FILE` reads: files of other tools, recognised by their content, our own with
recipes, and prompt folders: each case becomes a baseline of its checks and its score."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

from baselinekit.cli import recipes
from baselinekit.cli.clients import real_context
from baselinekit.cli.options import (
    misuse,
    operator_of,
    parse_pairs,
    project_of,
    read_beside,
    read_text,
    refuse_without_effect,
)
from baselinekit.cli.recipes import DraftOptions, with_files
from baselinekit.commands.capture import Captured, CaptureOptions, NewBaseline, group_of
from baselinekit.commands.importing import Batch, reader_of, summarize
from baselinekit.commands.loading import load, load_partly
from baselinekit.commands.project import Project
from baselinekit.errors import InvalidInput, NothingSelected, Place, Problem
from baselinekit.evals import casebaselines, selection
from baselinekit.importers.drafts import HINT_FOR_URL, DraftRecipe, ImportChoices, flaw_of_url
from baselinekit.report.next_commands import lies_in
from baselinekit.store.project import CONFIG_NAME, project_root
from baselinekit.store.reading import parse_record
from baselinekit.structs import replace
from baselinekit.suites.promptfolders import folders_below


def read_files(options: DraftOptions, settings: CaptureOptions) -> Batch:
    project = project_of(options.project)
    prompts, other_paths = split_prompt_paths(options.paths, project)
    if prompts and other_paths:
        message = f"{prompts[0]} is a prompt folder, and {other_paths[0]} is none"
        raise misuse(message, "capture them by two commands")
    if prompts:
        return read_cases(options, settings, project)
    refuse_without_effect("a file outside of prompt folders", "cases")
    texts = {path: text for path in options.paths if (text := _text(path)) is not None}
    readers = {path: reader for path, text in texts.items() if (reader := reader_of(path, text)) is not None}
    paths = [path for path in options.paths if path not in readers]
    batch = Batch(project, ())
    if readers:
        choices = _choices(options, project)
        files = {path: reader(choices) for path, reader in readers.items()}
        batch = summarize(project, files, lambda draft: _record(draft, options, project), settings)
    return replace(batch, new=[*batch.new, *_drafts(paths, project)]) if paths else batch


def _choices(options: DraftOptions, project: Project) -> ImportChoices:
    base_url = project.override_base_url or project.base_url
    if flaw := flaw_of_url(base_url or ""):
        raise misuse(f"base_url: {flaw}", HINT_FOR_URL)
    return ImportChoices(
        base_url=base_url,
        unsafe=options.unsafe,
        hosts=options.hosts,
        types=options.types,
        params=parse_pairs("--param", options.params, "NAME=VALUE"),
        known=frozenset((*project.scope.values, *project.scope.secrets)),
        read=lambda name: recipes.content(f"@{name}"),
        beside=_text_beside,
    )


def _drafts(paths: Sequence[str], project: Project) -> list[NewBaseline]:
    """The baselines of our own files that have a recipe and no output yet."""
    loaded = load(project, paths)
    drafts = [draft for draft in loaded if draft.baseline is None]
    if not loaded:
        hint = "a file needs an id and a `current:`"
        raise NothingSelected(Problem("BK509", "there is nothing to capture there", hint))
    if not drafts:
        message = "every baseline there already has an output, and capture does not overwrite"
        hint = "to accept new answers: baselinekit refresh PATH --replay"
        raise InvalidInput(Problem("BK113", message, hint))
    hint = f"move it below {project.folders[0]}, or name its folder in {CONFIG_NAME} (`baselines:`)"
    message = f"a compare does not look there, only in {', '.join(project.folders)}"
    problems = [
        Problem("BK508", message, hint, Place(file))
        for file in dict.fromkeys(draft.source.file for draft in drafts)
        if not lies_in(file, (*project.folders, *project.eval_folders))
    ]
    if problems:
        raise InvalidInput(*problems)
    return [NewBaseline(draft, os.path.dirname(draft.source.file)) for draft in drafts]


def _text(path: str) -> str | None:
    """The text of a file or of standard input; None if the reader of baselines should report what is wrong
    with it."""
    if path != "-" and not os.path.isfile(path):
        return None
    try:
        return read_text("capture", path, "a file of requests")
    except InvalidInput as error:
        if path == "-" or error.problems[0].code == "BK106":  # too large
            raise
        return None


def _text_beside(document: str, reference: str) -> str:
    """Read a file that a document refers to. It must be in the document's folder or, in a git repository, in
    the repository."""
    folder = "." if document == "-" else os.path.dirname(document) or "."
    return read_beside(document, reference, project_root(None, os.path.realpath(folder)))


def _record(draft: DraftRecipe, options: DraftOptions, project: Project) -> dict[str, Any]:
    """The new record from the file and the command line. Paths of files that it sends are relative to its own
    future folder."""
    tags = dict.fromkeys([*options.tags, *draft.tags])
    record = recipes.new_record(draft.id, draft.current, {}, draft.name, tags)
    if "files" in draft.current["input"] or {"verify", "cert"} & draft.current["execution"].keys():
        group = options.group or group_of(parse_record(record), project)
        record["current"] = with_files(draft.current, group, project)
    return record


def split_prompt_paths(paths: Sequence[str], project: Project) -> tuple[list[str], list[str]]:
    """Split the arguments into those that mean prompt folders (a folder, its eval file, an id, an alias, a
    folder of such folders) and the others. A folder that also holds recipes without an output is ambiguous,
    and refused."""
    cases: list[str] = []
    others: list[str] = []
    for path in paths:
        folders = _prompts_at(path, project) if path != "-" else []
        # invalid files are skipped: compare reports those
        loaded = load_partly(project, [path])[0] if folders and os.path.isdir(path) else []
        if drafts := [one.source.file for one in loaded if one.baseline is None]:
            message = (
                f"{path} holds prompt folders ({folders[0]}) and recipes without an output ({drafts[0]})"
            )
            raise misuse(message, "name each by its path, and capture them by two commands")
        (cases if folders else others).append(path)
    return cases, others


def _prompts_at(path: str, project: Project) -> list[str]:
    folder = selection.resolve_path_or_prompt(project, path)
    exists = os.path.lexists(os.path.join(project.root, folder))
    return folders_below(project.root, [folder]) if exists else []


def read_cases(options: DraftOptions, settings: CaptureOptions, project: Project) -> Batch:
    """The cases of prompt folders. The script before a case is run, unless nothing is to be captured. Trigger
    queries cannot be captured: only a judge is asked about them."""
    paths: list[str] = []
    for path in options.paths:  # a folder may hold several; a file, an id or an alias is one
        is_folder = os.path.isdir(os.path.join(project.cwd, path))
        below = [os.path.join(project.root, folder) for folder in _prompts_at(path, project) if is_folder]
        paths += [os.path.relpath(folder, project.cwd) for folder in below] if is_folder else [path]
    suite = selection.load(project, paths, None)
    choice = selection.Choice(cases=options.cases)
    selected = selection.choose(suite.cases, choice) if options.cases else list(suite.cases)
    cases = [case for case in selected if casebaselines.has_answer(case)]
    queries = sum(case.folder is not None for case in selected) - len(cases)
    if not cases:
        message = f"there is no case to capture in {', '.join(options.paths)}"
        hint = "of trigger queries only a judge is asked, about the description: baselinekit run asks it"
        raise NothingSelected(Problem("BK509", message, hint if queries else "add one to `cases:`"))
    variables = operator_of(options.project).variables
    ids = casebaselines.baseline_ids(case for case in suite.cases if casebaselines.has_answer(case))
    cases = [casebaselines.with_values(case, variables, project) for case in cases]
    if not options.many.dry_run:
        with real_context() as context:
            cases = [casebaselines.with_script_inputs(case, project, context.clients) for case in cases]
    batch = casebaselines.batch_of_cases(project, cases, ids, settings, options.tags)

    def notes(captured: Sequence[Captured]) -> Iterator[str]:
        yield from batch.notes(captured)
        if queries:
            hint = "only a judge is asked, by baselinekit run"
            yield f"trigger queries are not captured ({queries:,} here): {hint}"

    return replace(batch, notes=notes)

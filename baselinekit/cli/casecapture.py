"""What `baselinekit capture FILE` does with a prompt folder: each of its cases becomes a baseline of its
checks and its score."""

import os
from collections.abc import Iterator, Sequence

from baselinekit.cli.capture_options import DraftOptions
from baselinekit.cli.clients import real_context
from baselinekit.cli.options import operator_of, project_of
from baselinekit.commands.capture import Captured, CaptureOptions
from baselinekit.commands.importing import Batch, worst_of
from baselinekit.commands.loading import load_partly
from baselinekit.commands.project import Project
from baselinekit.errors import InvalidInput, NothingSelected, Problem
from baselinekit.evals.casebaselines import (
    baseline_ids,
    batch_of_cases,
    drafts_of,
    has_answer,
    with_script_inputs,
    with_values,
)
from baselinekit.evals.selection import Choice, choose, load, resolve_path_or_prompt
from baselinekit.model.baselines import Baseline
from baselinekit.structs import replace
from baselinekit.suites.promptfolders import folders_below


def split_prompt_paths(paths: Sequence[str], project: Project) -> tuple[list[str], list[str]]:
    """Split the arguments into those that mean prompt folders (a folder, its eval file, an id, an alias, a
    folder of such folders) and the others. A folder that also holds recipes without an output is ambiguous,
    and refused."""
    cases: list[str] = []
    others: list[str] = []
    for path in paths:
        folders = _prompts_at(path, project) if path != "-" else []
        drafts = _drafts_below(path, project) if folders else []
        if drafts:
            recipes = f"recipes without an output ({drafts[0].source.file})"
            message = f"{path} holds both prompt folders ({folders[0] or '.'}) and {recipes}"
            hint = "name each by its path, and capture them by two commands"
            raise InvalidInput(Problem("BK508", message, hint))
        (cases if folders else others).append(path)
    return cases, others


def _prompts_at(path: str, project: Project) -> list[str]:
    folder = resolve_path_or_prompt(project, path)
    exists = os.path.lexists(os.path.join(project.root, folder))
    return folders_below(project.root, [folder]) if exists else []


def _drafts_below(path: str, project: Project) -> list[Baseline]:
    """The recipes without an output below a path. Invalid files are skipped: compare reports those."""
    target = os.path.normpath(os.path.join(project.root, resolve_path_or_prompt(project, path)))
    folders = (os.path.normpath(os.path.join(project.root, folder)) for folder in project.folders)
    pairs = ((folder, os.path.commonpath([target, folder])) for folder in folders if os.path.isdir(folder))
    inner = [folder if shared == target else target for folder, shared in pairs if shared in (target, folder)]
    loaded = load_partly(project, inner)[0] if inner else []
    return [draft for draft in loaded if draft.baseline is None]


def read_cases(options: DraftOptions, settings: CaptureOptions) -> Batch:
    """The cases of prompt folders. The script before a case is run, unless nothing is to be captured. Trigger
    queries cannot be captured: only a judge is asked about them."""
    project, paths = project_of(options.project), list[str]()
    for path in options.paths:  # a folder may hold several; a file, an id or an alias is one
        is_folder = os.path.isdir(os.path.join(project.cwd, path))
        below = [os.path.join(project.root, folder) for folder in _prompts_at(path, project) if is_folder]
        paths += [os.path.relpath(folder, project.cwd) for folder in below] if is_folder else [path]
    suite = load(project, paths, None)
    selected = choose(suite.cases, Choice(cases=options.cases)) if options.cases else list(suite.cases)
    cases = [case for case in selected if has_answer(case)]
    queries = sum(case.folder is not None for case in selected) - len(cases)
    if not cases:
        message = f"there is no case to capture in {', '.join(options.paths)}"
        hint = "of trigger queries only a judge is asked, about the description: baselinekit run asks it"
        raise NothingSelected(Problem("BK509", message, hint if queries else "add one to `cases:`"))
    variables = operator_of(options.project).variables
    ids = baseline_ids(case for case in suite.cases if has_answer(case))
    cases = [with_values(case, variables, project) for case in cases]
    if not options.many.dry_run:
        with real_context() as context:
            cases = [with_script_inputs(case, project, context.clients) for case in cases]
    drafts, errors = drafts_of(cases, ids, project, options.group, options.tags)
    if errors:
        raise worst_of(errors)
    batch = batch_of_cases(project, drafts, settings)

    def notes(captured: Sequence[Captured]) -> Iterator[str]:
        yield from batch.notes(captured)
        if queries:
            subject = "a trigger query is" if queries == 1 else f"{queries:,} trigger queries are"
            yield f"{subject} not captured: only a judge is asked, by baselinekit run"

    return replace(batch, notes=notes)

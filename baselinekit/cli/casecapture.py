"""What `baselinekit capture from` does with a prompt folder: each of its cases becomes a baseline, which
guards its checks and its score."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from baselinekit.cli import capturing, screen
from baselinekit.cli.capture import DraftOptions
from baselinekit.cli.clients import real_context, with_models, with_progress
from baselinekit.cli.options import operator_of, project_of
from baselinekit.errors import InvalidInput, NothingSelected, Problem
from baselinekit.evals.casebaselines import (
    CaseDraft,
    baseline_ids,
    capture_cases,
    drafts_of,
    has_answer,
    notes_on,
    with_printed,
    with_values,
)
from baselinekit.evals.selection import Choice, choose, found_by_operator, load
from baselinekit.model.baselines import Baseline
from baselinekit.model.evals import Case
from baselinekit.suites.promptfolders import folders_below
from baselinekit.workflow.importing import worst_of
from baselinekit.workflow.loading import load_partly
from baselinekit.workflow.project import Project


def told_apart(paths: Sequence[str], project: Project) -> tuple[list[str], list[str]]:
    """The words that mean prompt folders (a folder, its eval file, an id, an alias, a folder of such
    folders), and the others."""
    cases: list[str] = []
    others: list[str] = []
    for path in paths:
        (cases if path != "-" and _means_prompts(path, project) else others).append(path)
    return cases, others


def _means_prompts(path: str, project: Project) -> bool:
    """A folder that also holds recipes without an output could mean either: who captures it says which."""
    folders = _prompts_at(path, project)
    drafts = [draft for draft in _drafts_below(path, project) if draft.baseline is None] if folders else []
    if drafts:
        what = f"{path} holds both prompt folders ({folders[0] or '.'}) and recipes without an output"
        what += f" ({drafts[0].source.file})"
        raise InvalidInput(Problem("BK508", what, "name each by its path, and capture them by two commands"))
    return bool(folders)


def _prompts_at(path: str, project: Project) -> list[str]:
    named = found_by_operator(project, path)
    return folders_below(project.root, [named]) if os.path.lexists(os.path.join(project.root, named)) else []


def _drafts_below(path: str, project: Project) -> list[Baseline]:
    """The baselines of the project's own folders there. What is wrong with one, compare tells."""
    full = os.path.normpath(os.path.join(project.root, found_by_operator(project, path)))
    there = (os.path.normpath(os.path.join(project.root, folder)) for folder in project.folders)
    pairs = ((folder, os.path.commonpath([full, folder])) for folder in there if os.path.isdir(folder))
    inner = [folder if shared == full else full for folder, shared in pairs if shared in (full, folder)]
    return load_partly(project, inner)[0] if inner else []


def capture_from_cases(options: DraftOptions) -> int:
    project = project_of(options.project)
    cases, called, queries = _cases(project, options)
    if options.many.dry_run:
        return _show(_drafts(cases, called, project, options), queries, options)
    doing = "" if options.storing.is_silent else "replaying"
    with real_context() as context, with_progress(context, doing) as context:
        context = with_models(context, project, options.recording)
        ready = [with_printed(case, project, context.clients) for case in cases]
        drafts = _drafts(ready, called, project, options)
        wanted = replace(capturing.capture_options(options.storing), jobs=options.many.jobs)
        found, known = capture_cases(project, drafts, wanted, context)
    if found.done:
        asked = [draft.record["current"] for draft in drafts]
        words = capturing.compare_words(project, asked, [])
        notes = [*notes_on(found.done), *_of_queries(queries)]
        notes += [f"{known:,} captured already"] if known else []
        capturing.print_captured(project, found.done, options.storing, words, notes)
    capturing.tell_left(project, found, options.storing)
    errors = [*found.errors, *capturing.refusals(found.done)]
    capturing.end_if_interrupted(found, errors)
    if errors:
        raise worst_of(errors)
    return 0


def _cases(project: Project, options: DraftOptions) -> tuple[list[Case], dict[str, str], int]:
    """What is to be captured, what the baseline of each case is called, and how many queries there are, of
    which nothing can be captured: only a judge is asked about them."""
    named = [word for path in options.paths for word in _words_for(path, project)]
    suite = load(project, named, None)
    chosen = choose(suite.cases, Choice(cases=options.cases)) if options.cases else list(suite.cases)
    cases = [case for case in chosen if has_answer(case)]
    queries = sum(case.folder is not None for case in chosen) - len(cases)
    if not cases:
        what = f"there is no case to capture in {', '.join(options.paths)}"
        hint = "of trigger queries only a judge is asked, about the description: baselinekit run asks it"
        raise NothingSelected(Problem("BK509", what, hint if queries else "add one to `cases:`"))
    given = operator_of(options.project).variables
    called = baseline_ids(case for case in suite.cases if has_answer(case))
    return [with_values(case, given, project) for case in cases], called, queries


def _words_for(path: str, project: Project) -> list[str]:
    """The prompt folders below a folder, whatever else lies in it; a file, an id or an alias itself."""
    if not os.path.isdir(os.path.join(project.cwd, path)):
        return [path]
    folders = (os.path.join(project.root, folder) for folder in _prompts_at(path, project))
    return [os.path.relpath(folder, project.cwd) for folder in folders]


def _drafts(
    cases: Sequence[Case], called: Mapping[str, str], project: Project, options: DraftOptions
) -> list[CaseDraft]:
    drafts, errors = drafts_of(cases, called, project, options.group, options.tags)
    if errors:
        raise worst_of(errors)
    return drafts


def _show(drafts: Sequence[CaseDraft], queries: int, options: DraftOptions) -> int:
    if options.storing.as_json:
        told = [{"id": draft.record["id"], "case": draft.case.id, "at": str(draft.place)} for draft in drafts]
        screen.show_json(json.dumps({"would_capture": told}) + "\n")
        return 0
    for draft in drafts:
        screen.line(screen.safe_line(f"{draft.record['id']}   {draft.case.id}   ({draft.place})"))
    screen.line(f"{len(drafts):,} would be captured")
    for note in _of_queries(queries):
        screen.line(f"note: {note}")
    return 0


def _of_queries(queries: int) -> Iterator[str]:
    if queries:
        what = "a trigger query is" if queries == 1 else f"{queries:,} trigger queries are"
        yield f"{what} not captured: only a judge is asked, by baselinekit run"

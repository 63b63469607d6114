"""A model drafts rubrics for the cases of an eval file."""

from collections.abc import Sequence

from baselinekit.cli import screen
from baselinekit.cli.clients import real_context, with_models
from baselinekit.cli.convert_options import ConvertOptions
from baselinekit.cli.entry import INTERRUPTED
from baselinekit.cli.options import (
    project_of,
)
from baselinekit.commands.context import RunContext
from baselinekit.commands.executor import in_threads
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, InvalidInput, Problem
from baselinekit.evals.rubricdrafts import (
    CaseWithoutRubric,
    Draft,
    EvalFileState,
    diff,
    draft,
    load_states,
    write,
)
from baselinekit.files.text import decode
from baselinekit.report.wording import Style
from baselinekit.store.project import read
from baselinekit.suites.targets import DEFAULT
from baselinekit.values.texts import count_noun


def draft_rubrics(options: ConvertOptions) -> int:
    project = project_of(options.project, options.recording.offline is not None, options.targets)
    states = load_states(project, options.paths, lambda file: decode(read(project.root, file), file).body)
    style = screen.style_of(options.verbose)
    lacking = [case for state in states for case in state.lacking]
    if options.verbose or not lacking:
        print_skipped(states)
    if options.check:
        return print_check(states, style)
    if not lacking:
        screen.line("nothing to do: every case with an expected_outcome has rubrics")
        return 0
    with real_context() as context:
        drafts = ask_for_drafts(project, with_models(context, project, options.recording), lacking, options)
        interrupted = context.stop.is_set()
    for rubric_draft in drafts:
        print_draft(rubric_draft, style)
    written_count = 0
    for state in states:
        ready = [
            rubric_draft
            for rubric_draft in drafts
            if rubric_draft.items is not None and rubric_draft.lacking in state.lacking
        ]
        try:
            if ready and options.dry_run:
                screen.show(screen.safe(diff(state, ready)))
            elif ready:
                write(project, state.file, ready)
                screen.line(style.paint(f"written: {screen.safe_line(state.file)}", "dim"))
            written_count += len(ready)
        except BaselinekitError as error:  # the drafts for other files are still written
            screen.line(f"{style.paint('error', 'bold red')}    {screen.safe_line(str(error))}")
    action = "would get rubrics" if options.dry_run else "got rubrics"
    missing_count = len(lacking) - written_count
    screen.line(
        f"{count_noun(written_count, 'case')} {action}"
        + (f", {count_noun(missing_count, 'case')} did not" if missing_count else "")
    )
    return INTERRUPTED if interrupted else 3 if missing_count else 0


def check_model(project: Project, name: str) -> None:
    """Refuse a target that is invalid or not a model. An unknown name is reported by the models."""
    if name in project.models:
        return
    target, problems = project.targets.find(name)
    # a problem without a place means that there is no such target
    if placed := [problem for problem in problems if problem.place is not None]:
        raise InvalidInput(*placed)
    if target is not None and target.model is None and target.name != DEFAULT:
        hint = "name one of `models:`, or a target of a provider of models"
        raise InvalidInput(Problem("BK696", f"the target {name!r} is no model, and cannot draft", hint))


def ask_for_drafts(
    project: Project, context: RunContext, lacking: Sequence[CaseWithoutRubric], options: ConvertOptions
) -> list[Draft]:
    """Ask the model for drafts; if the run is interrupted, return those that are done."""
    models, mask = context.clients.models, project.redactor.mask_declared
    check_model(project, options.model)
    models.check(options.model)

    def work(case: CaseWithoutRubric) -> Draft:
        return draft(case, options.model, models.ask, mask)

    results = in_threads(lacking, work, options.jobs, context.stop, context.cancel)
    return [result for result in results if result is not None]


def print_skipped(states: Sequence[EvalFileState]) -> None:
    for state in states:
        for name in state.having:
            screen.line(f"skipped  {screen.safe_line(name)}: has rubrics")
        for name in state.without_outcome:
            screen.line(f"skipped  {screen.safe_line(name)}: has no expected_outcome")


def print_check(states: Sequence[EvalFileState], style: Style) -> int:
    missing = [(state.file, case) for state in states for case in state.lacking]
    for file, case in missing:
        screen.line(f"{style.paint('missing', 'yellow')}  {screen.safe_line(f'{case.name}   {file}')}")
    have = sum(len(state.having) for state in states)
    screen.line(f"{count_noun(len(missing), 'case')} without rubrics, {have:,} with them")
    return 1 if missing else 0


def print_draft(rubric_draft: Draft, style: Style) -> None:
    name = screen.safe_line(rubric_draft.lacking.name)
    if rubric_draft.items is None:
        reason = rubric_draft.error.message if rubric_draft.error else "nothing was drafted"
        screen.line(f"{style.paint('error', 'bold red')}    {name}: {screen.safe_line(reason)}")
        return
    screen.line(f"{style.paint('drafted', 'green')}  {name}: {count_noun(len(rubric_draft.items), 'item')}")
    for item in rubric_draft.items if style.verbose else ():
        screen.line(f"           {screen.safe_line(item.line)}")

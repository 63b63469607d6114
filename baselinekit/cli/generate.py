"""`baselinekit generate rubrics`: a model drafts rubrics for the cases of an eval file."""

from collections.abc import Sequence
from dataclasses import dataclass

import click

from baselinekit.cli import screen
from baselinekit.cli.clients import real_context, with_models
from baselinekit.cli.entry import INTERRUPTED
from baselinekit.cli.options import (
    ASKING,
    ProjectOptions,
    RecordingOptions,
    argument,
    command,
    flag,
    including,
    jobs_option,
    option,
    project_of,
    project_options,
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

_JOBS = 4
_JUDGE = "judge"


@dataclass(eq=False, repr=False)
class RubricsOptions:
    """Draft rubrics for the cases of FILES that have an expected_outcome and none: 3 to 7 items each.

    FILES are AgentV's, YAML or JSON Lines. They are read and checked first; the rubrics are added to
    their cases, and no other byte changes. Review them: they decide what passes from then on.

    \b
    Exit code: 0 written, or nothing to do; 1 with --check: cases have no rubrics; 2 usage or an
    invalid file; 3 a case got no usable draft (the others are written); 130 interrupted.
    """

    files: tuple[str, ...] = argument(nargs=-1, required=True, type=click.Path())
    model: str = option(
        "--model",
        "--target",
        metavar="NAME",
        default=_JUDGE,
        help=f"The model that drafts, by its name in `models:` or in the targets file ({_JUDGE}).",
    )
    targets: str | None = option(
        metavar="FILE", help="The targets file; the default is `targets:` of the configuration."
    )
    check: bool = flag(help="Ask no model and write nothing: exit 1 if any case has no rubrics.")
    dry_run: bool = flag(help="Ask, and print what would be written.")
    jobs: int | None = jobs_option("How many at once.", _JOBS)
    verbose: bool = flag("-v", "--verbose", help="Print every item, and which cases are skipped.")
    recording: RecordingOptions = including(RecordingOptions)
    project: ProjectOptions = project_options(ASKING)


@command(RubricsOptions, short_help="Rubrics for eval cases.")
def rubrics(options: RubricsOptions) -> int:
    project = project_of(options.project, options.recording.offline is not None, options.targets)
    states = load_states(project, options.files, lambda file: decode(read(project.root, file), file).body)
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
    project: Project, context: RunContext, lacking: Sequence[CaseWithoutRubric], options: RubricsOptions
) -> list[Draft]:
    """Ask the model for drafts; if the run is interrupted, return those that are done."""
    models, mask = context.clients.models, project.redactor.mask_declared
    check_model(project, options.model)
    models.check(options.model)

    def work(case: CaseWithoutRubric) -> Draft:
        return draft(case, options.model, models.ask, mask)

    results = in_threads(lacking, work, options.jobs or _JOBS, context.stop, context.cancel)
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


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def generate() -> None:
    """Write what is missing: a model drafts it."""


generate.add_command(rubrics)

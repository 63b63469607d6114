"""A model drafts rubrics for the cases of an eval file."""

from functools import partial

from baselinekit.agentv.rubricdrafts import CaseWithoutRubric, Draft, diff, draft, find_lacking, with_rubrics
from baselinekit.cli import screen
from baselinekit.cli.clients import real_context, with_models
from baselinekit.cli.convert_options import ConvertOptions
from baselinekit.cli.entry import INTERRUPTED
from baselinekit.cli.options import project_of
from baselinekit.commands.executor import in_threads
from baselinekit.errors import BaselinekitError, InvalidInput
from baselinekit.evals.selection import resolve_path
from baselinekit.files.text import decode
from baselinekit.report.wording import Style
from baselinekit.store.atomic import edit_text
from baselinekit.store.project import read
from baselinekit.values.texts import count_noun


def draft_rubrics(options: ConvertOptions) -> int:
    project = project_of(options.project, options.recording.offline is not None, options.targets)
    root, style = project.root, screen.style_of(options.verbose)
    files = list(dict.fromkeys(resolve_path(project, path) for path in options.paths))

    def text_of(file: str) -> str:
        return decode(read(root, file), file).body

    lacking, having = find_lacking(files, root, project.fetch_file, project.targets, text_of)
    for name in having if options.verbose or not lacking else ():
        screen.line(f"skipped  {screen.safe_line(name)}: has rubrics")
    if options.check:
        for lacking_case in lacking:
            name = screen.safe_line(f"{lacking_case.case.name}   {lacking_case.case.source.file}")
            screen.line(f"{style.paint('missing', 'yellow')}  {name}")
        screen.line(f"{count_noun(len(lacking), 'case')} without rubrics, {len(having):,} with them")
        return 1 if lacking else 0
    if not lacking:
        screen.line("nothing to do: every case with an expected_outcome has rubrics")
        return 0
    with real_context() as context:
        context = with_models(context, project, options.recording)
        models, mask = context.clients.models, project.redactor.mask_declared
        try:
            models.check(options.model)
        except InvalidInput as error:
            raise InvalidInput(*(project.targets.problems_of(options.model) or error.problems)) from None

        def work(case: CaseWithoutRubric) -> Draft:
            return draft(case, options.model, models.ask, mask)

        results = in_threads(lacking, work, options.jobs, context.stop, context.cancel)
        interrupted = context.stop.is_set()
    drafts = [result for result in results if result is not None]
    for result in drafts:
        _print_draft(result, style)
    written_count = 0
    for file in files:
        ready = [result for result in drafts if result.items and result.lacking.case.source.file == file]
        try:
            if ready and options.dry_run:
                screen.show(screen.safe(diff(text_of(file), file, ready)))
            elif ready:  # into the file as it is now, so that edits made meanwhile are kept
                edit_text(root, file, partial(with_rubrics, file=file, drafts=ready))
                screen.line(style.paint(f"written: {screen.safe_line(file)}", "dim"))
            written_count += len(ready)
        except BaselinekitError as error:  # the drafts for other files are still written
            screen.line(f"{style.paint('error', 'bold red')}    {screen.safe_line(str(error))}")
    action = "would get rubrics" if options.dry_run else "got rubrics"
    missing_count = len(lacking) - written_count
    missing = f", {count_noun(missing_count, 'case')} did not" if missing_count else ""
    screen.line(f"{count_noun(written_count, 'case')} {action}{missing}")
    return INTERRUPTED if interrupted else 3 if missing_count else 0


def _print_draft(result: Draft, style: Style) -> None:
    name = screen.safe_line(str(result.lacking.case.name))
    if not result.items:
        reason = result.error.message if result.error else "nothing was drafted"
        screen.line(f"{style.paint('error', 'bold red')}    {name}: {screen.safe_line(reason)}")
        return
    screen.line(f"{style.paint('drafted', 'green')}  {name}: {count_noun(len(result.items), 'item')}")
    for item in result.items if style.verbose else ():
        screen.line(f"           {screen.safe_line(item.line)}")

"""`baselinekit capture http|prompt|skill|command|from`."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import click

from baselinekit.cli import capture_summary, recipes, screen
from baselinekit.cli.capture_options import (
    CommandOptions,
    DraftOptions,
    HttpOptions,
    PromptOptions,
    SkillOptions,
    StoringOptions,
    parse_rules,
)
from baselinekit.cli.clients import real_context, with_progress
from baselinekit.cli.models import with_models
from baselinekit.cli.options import RecordingOptions, path_from_here, project_of, takes
from baselinekit.errors import CannotReplay, InvalidInput, NothingSelected, Problem, Refused
from baselinekit.kinds.table import KINDS, kind_of
from baselinekit.report.next_commands import check_commands
from baselinekit.variables import names_in
from baselinekit.workflow.capture import Captured, capture_all, capture_new, check_draft
from baselinekit.workflow.learning import with_names
from baselinekit.workflow.project import Project
from baselinekit.workflow.selection import load


class Kinds(click.Group):
    """A first word with `://` or an upper-case method means `http`; any other unknown word is a file."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        first = args[0]
        if first.split(" ")[0] == "curl":
            hint = "capture http takes the URL, -X, -H and -d of curl: capture http URL -H 'NAME: VALUE'"
            raise InvalidInput(Problem("BK508", "curl commands are not supported", hint))
        if first not in self.commands and not first.startswith("-"):
            is_http = "://" in first or (first.isalpha() and first.isupper())
            args = ["http" if is_http else "from", *args]
        return super().resolve_command(ctx, args)


@click.group(cls=Kinds, short_help="Record a known-good output as a new baseline.")
def capture() -> None:
    """Replay once and record the output as a new baseline; --repeat 3 also learns what varies.

    \b
    baselinekit capture http GET http://127.0.0.1:8000/users --id users-list
    baselinekit capture prompt prompts/summary.md --input article=@article.txt
    baselinekit capture skill code-review --param depth=thorough --input diff.json
    baselinekit capture command --id version -- mytool --version
    baselinekit capture from baselines/orders.yaml      (a `current:` without a `baseline:`)
    """


@capture.command(short_help="An HTTP request.")
@takes(HttpOptions)
def http(options: HttpOptions) -> int:
    """Send a request and record status, content-type and body of the answer.

    URL is absolute, or begins with / if the project has a base_url.
    """
    project = project_of(options.project)
    current = recipes.http(options, project)
    typed = project.naming(str(current["execution"].get("base_url", "")))  # by the operator
    asked = [recipes.http_recipe(current)]
    for url in capture_summary.unnamed_origins(project, asked) if options.allow else ():
        typed = typed.allowing(url)
    rules = parse_rules(options.new.rules)
    record = options.new.record(recipes.http_id(with_names(current, project.scope)), current, rules)
    code = _capture_new(typed, record, options.new.group, options)
    capture_summary.offer(project, asked, options.allow, options.storing)
    return code


@capture.command(short_help="A skill that the configuration names.")
@takes(SkillOptions)
def skill(options: SkillOptions) -> int:
    """Run a skill and record its output."""
    project = project_of(options.project)
    name = options.skill_name
    group = options.new.group or name
    current = recipes.skill(options, group, project)
    rules = parse_rules(options.new.rules, options.cost, bool(options.grading.scores))
    record = options.new.record(recipes.slug(name), current, rules)
    return _capture_new(project, record, group, options, options.recording)


@capture.command(short_help="A prompt: what a model answers.")
@takes(PromptOptions)
def prompt(options: PromptOptions) -> int:
    """Send the prompt in FILE (a template with {{names}}) to a model and record its answer."""
    project = project_of(options.project)
    name = recipes.slug(os.path.splitext(os.path.basename(options.file))[0])
    group = options.new.group or name
    current = recipes.prompt(options, group, project)
    rules = parse_rules(options.new.rules, options.cost, bool(options.grading.scores))
    return _capture_new(project, options.new.record(name, current, rules), group, options, options.recording)


@capture.command(short_help="A program: its exit code and what it prints.")
@takes(CommandOptions)
def command(options: CommandOptions) -> int:
    """Run a program (after --) and record its exit code and what it prints."""
    project = project_of(replace(options.project, allow_exec=True))  # the operator has just typed its name
    argv = options.argv
    group = options.new.group or recipes.slug(os.path.basename(argv[0]))
    current = recipes.command(options, project.way_back(group))
    note = recipes.how_to_allow(argv[0], project.commands.get(argv[0]), current["input"].get("env", ()))
    id = recipes.slug(" ".join(with_names(list(argv), project.scope)))
    record = options.new.record(id, current, parse_rules(options.new.rules))
    return _capture_new(project, record, group, options, notes=[note] if note else [])


@capture.command("from", short_help="Files that have a recipe and no output yet.")
@takes(DraftOptions)
def from_files(options: DraftOptions) -> int:
    """Replay every file below PATHS that has a `current:` and no `baseline:`, and add the output."""
    project = project_of(options.project)
    named, loaded = project, load(project, options.paths)
    drafts = [draft for draft in loaded if draft.baseline is None]
    if not drafts and loaded:
        what = "every baseline there already has an output, and capture does not overwrite"
        hint = "to accept new answers: baselinekit refresh PATH --replay"
        raise InvalidInput(Problem("BK520", what, hint))
    if not drafts:
        hint = "a file needs an id and a `current:`"
        raise NothingSelected(Problem("BK509", "there is nothing to capture there", hint))
    asked = [draft.current for draft in drafts]
    for url in capture_summary.unnamed_origins(project, asked) if options.allow else ():
        project = project.allowing(url)
    doing = "" if options.storing.is_silent else "replaying"
    with real_context() as context, with_progress(context, doing) as context:
        context = with_models(context, project, options.recording)
        for draft in drafts:
            check_draft(project, draft, context)
        captured, errors = capture_all(project, drafts, options.storing.wishes(), context)
    if captured:
        done = {one.id for one in captured}
        asked = [draft.current for draft in drafts if draft.id in done]
        bases = [recipe.execution.base_url for recipe in asked if kind_of(recipe).asks_address]
        _print(project, captured, options.storing, _words_needed(project, asked, bases))
        capture_summary.offer(named, asked, options.allow, options.storing)
    errors += capture_summary.refusals(captured)
    if errors:
        worst = next((Refused for error in errors if isinstance(error, Refused)), CannotReplay)
        raise worst(*(problem for error in errors for problem in error.problems))
    return 0


def _capture_new(
    project: Project,
    record: dict[str, Any],
    group: str | None,
    options: HttpOptions | SkillOptions | PromptOptions | CommandOptions,
    recording: RecordingOptions | None = None,
    notes: Sequence[str] = (),
) -> int:
    timeout, granted = options.timeout, project.ceilings.timeout
    project = project.granting(timeout)
    if project.ceilings.timeout > granted:
        line = f"`limits: {{timeout: {timeout:g}}}`"
        notes = [*notes, f"to compare it, add {line} to baselinekit.yaml: a file may ask for {granted:g} s"]
    doing = "" if options.storing.is_silent else "replaying"
    with real_context() as context, with_progress(context, doing) as context:
        context = with_models(context, project, recording or RecordingOptions())
        captured = capture_new(project, record, options.storing.wishes(group), context)
    execution = record["current"]["execution"]
    bases = [execution.get("base_url")] if KINDS[execution["type"]].asks_address else []
    captured = replace(captured, notes=(*captured.notes, *notes))
    _print(project, [captured], options.storing, _words_needed(project, record["current"], bases))
    for error in capture_summary.refusals([captured]):
        raise error
    return 0


def _words_needed(project: Project, asked: Any, bases: Sequence[str | None]) -> list[str]:
    """What a compare has to be told as well, because no configuration says it. `bases`: of each request the
    address that its file states."""
    scope, words = project.scope, []
    used = set(names_in(with_names(asked, scope))) - set(project.config.variables)
    for name in sorted(used & set(scope.secrets)):
        words += ["--secret", name]
    base = project.override_base_url or (next(filter(None, bases), None) if words else None)
    if bases and base:
        words += ["--base-url", base]
    if project.environment:
        words += ["--environment", project.environment]
    for name in sorted(used & set(scope.values)):
        words += ["--var", f"{name}={scope.values[name]}"]
    return words


def _print(
    project: Project, captured: Sequence[Captured], options: StoringOptions, more: Iterable[str]
) -> None:
    if options.as_json:
        documents = [capture_summary.document(one) for one in captured]
        screen.show_json(json.dumps(documents, default=str) + "\n")
    elif not options.quiet:
        for one in captured:
            output = recipes.describe_output(one.output)
            screen.line(screen.safe_line(f"captured {one.id} -> {one.file}   {output}"))
            for text in capture_summary.lines(one):
                screen.line(text)
            for note in one.notes:
                screen.line(f"  note: {screen.safe(note)}")
        words = [*(["--repeat", str(options.repeat)] if options.repeat > 1 else []), *more]
        written = [(one.id, one.file) for one in captured]
        folders, here = (project.folders, project.eval_folders), path_from_here(project)
        screen.next_commands(check_commands(written, *folders, words, here))

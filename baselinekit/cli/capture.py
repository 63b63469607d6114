"""`baselinekit capture http|prompt|skill|command|from`."""

import json
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import click

from baselinekit.cli import (
    capture_options,
    capture_summary,
    models,
    options,
    pending_options,
    recipes,
    screen,
)
from baselinekit.cli.clients import real_context
from baselinekit.errors import CannotReplay, InvalidInput, NothingSelected, Problem, Refused
from baselinekit.kinds.table import KINDS, kind_of
from baselinekit.variables import names_in
from baselinekit.workflow.capture import Captured, capture_all, capture_new, checked
from baselinekit.workflow.learning import with_names
from baselinekit.workflow.loading import load
from baselinekit.workflow.project import Project


class Kinds(click.Group):
    """A first word with `://` or an upper-case method means `http`; any other unknown word is a file."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        first = args[0]
        if first.split(" ")[0] == "curl":
            hint = "capture http takes the URL, -X, -H and -d of curl: capture http URL -H 'NAME: VALUE'"
            raise InvalidInput(Problem("BK508", "a curl command is not read", hint))
        if first not in self.commands and not first.startswith("-"):
            is_http = "://" in first or (first.isalpha() and first.isupper())
            args = ["http" if is_http else "from", *args]
        return super().resolve_command(ctx, args)


@click.group(cls=Kinds, short_help="Record a known-good output as a new baseline.")
def capture() -> None:
    """Replay once and record what comes back as a new baseline; with --repeat 3 also what varies.

    \b
    baselinekit capture http GET http://127.0.0.1:8000/users --id users-list
    baselinekit capture prompt prompts/summary.md --input article=@article.txt
    baselinekit capture skill code-review --param depth=thorough --input diff.json
    baselinekit capture command --id version -- mytool --version
    baselinekit capture from baselines/orders.yaml      (a `current:` without a `baseline:`)
    """


@capture.command(short_help="An HTTP request.")
@click.argument("words", nargs=-1, required=True, metavar="[METHOD] URL")
@click.option("-X", "--request", "method", metavar="METHOD")
@click.option("-H", "--header", "headers", metavar="'NAME: VALUE'", multiple=True, help="A header to send.")
@click.option(
    "-d", "--data", "data", metavar="TEXT", help="The body: JSON where it is JSON; @FILE or @- reads it."
)
@click.option("--form", "form", metavar="NAME=VALUE", multiple=True, help="A form field.")
@click.option("--param", "params", metavar="NAME=VALUE", multiple=True, help="A query parameter.")
@click.option(
    "--keep-header", "keep_headers", metavar="NAME", multiple=True, help="A response header to store as well."
)
@click.option("--redirects", type=click.IntRange(0, 20), help="Follow so many; the default is none.")
@click.option("--timeout", type=float, metavar="SECONDS")
@capture_options.allow_option
@capture_options.new_baseline_options
@capture_options.wish_options
@options.project_options
def http(words: tuple[str, ...], **given: Any) -> int:
    """Send a request and record status, content-type and body of the answer.

    URL is absolute, or begins with / where the project has a base_url.
    """
    project = options.project_of(given)
    current = recipes.http(words, given, project)
    typed = project.naming(str(current["execution"].get("base_url", "")))  # by the operator
    for url in capture_summary.origins(project, [recipes.http_recipe(current)]) if given["allow"] else ():
        typed = typed.allowing(url)
    code = _new(typed, current, recipes.http_id(with_names(current, project.scope)), given)
    capture_summary.offer(project, [recipes.http_recipe(current)], given)
    return code


@capture.command(short_help="A skill that the configuration names.")
@click.argument("skill_name", metavar="NAME")
@click.option(
    "--param", "params", metavar="NAME=VALUE", multiple=True, help="A parameter; JSON where it is JSON."
)
@click.option(
    "--input",
    "input",
    metavar="TEXT",
    default="{}",
    show_default=True,
    help="The input: JSON, or @FILE, or @-.",
)
@click.option("--timeout", type=float, metavar="SECONDS")
@capture_options.scores_option
@capture_options.collect_option("output", "tool_calls")
@capture_options.new_baseline_options
@capture_options.cost_option
@capture_options.wish_options
@models.model_options
@options.project_options
def skill(skill_name: str, **given: Any) -> int:
    """Run a skill and record its output."""
    project = options.project_of(given)
    current = recipes.skill(skill_name, given, project)
    return _new(project, current, recipes.slug(skill_name), given)


@capture.command(short_help="A prompt: what a model answers.")
@click.argument("file", metavar="FILE")
@click.option("--input", "inputs", metavar="NAME=VALUE", multiple=True, help="For {{NAME}}; @FILE reads it.")
@click.option("--inputs-from", metavar="FILE", help="A YAML or JSON file of inputs.")
@click.option("--model", default="default", show_default=True, help="A name under `models:`.")
@click.option("--system", metavar="TEXT", help="The system prompt; @FILE reads it.")
@click.option("--temperature", type=float)
@click.option("--max-answer", type=click.IntRange(1), metavar="TOKENS", help="How long the answer may be.")
@click.option("--parse", type=click.Choice(["text", "json"]), help="Read the answer as JSON.")
@click.option("--json-mode", is_flag=True, help="Have the server make it JSON, where it can.")
@click.option("--tools", metavar="FILE", help="The tools that it may call, in YAML or JSON.")
@click.option("--timeout", type=float, metavar="SECONDS")
@capture_options.scores_option
@capture_options.collect_option("text", "tool_calls")
@capture_options.new_baseline_options
@capture_options.cost_option
@capture_options.wish_options
@models.model_options
@options.project_options
def prompt(file: str, **given: Any) -> int:
    """Ask a model what FILE says (a template with {{names}}) and record its answer."""
    project = options.project_of(given)
    current = recipes.prompt(file, given, project)
    return _new(project, current, recipes.slug(os.path.splitext(os.path.basename(file))[0]), given)


@capture.command(short_help="A program: its exit code and what it prints.")
@click.argument("argv", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--stdin", metavar="TEXT", help="What it reads: text, or @FILE, or @-.")
@click.option("--env", "env", metavar="NAME=VALUE", multiple=True, help="A variable of its environment.")
@click.option(
    "--file", "files", metavar="PATH", multiple=True, help="A file that it writes, to be compared too."
)
@click.option("--parse", type=click.Choice(["text", "json"]), help="Read its output as JSON.")
@click.option("--timeout", type=float, metavar="SECONDS")
@capture_options.new_baseline_options
@capture_options.wish_options
@options.project_options
def command(argv: tuple[str, ...], **given: Any) -> int:
    """Run a program (after --) and record how it ends and what it prints."""
    given["allow_exec"] = True  # the operator has just typed the program's name
    project = options.project_of(given)
    group = given["group"] = given["group"] or recipes.slug(os.path.basename(argv[0]))
    current = recipes.command(argv, given, project.way_back(group))
    note = recipes.how_to_allow(argv[0], project.commands.get(argv[0]), current["input"].get("env", ()))
    notes = [note] if note else []
    return _new(project, current, recipes.slug(" ".join(with_names(list(argv), project.scope))), given, notes)


@capture.command("from", short_help="Files that have a recipe and no output yet.")
@click.argument("paths", nargs=-1, required=True, type=click.Path())
@capture_options.allow_option
@capture_options.wish_options
@models.model_options
@options.project_options
def from_files(paths: tuple[str, ...], **given: Any) -> int:
    """Replay every baseline below PATHS that has a `current:` and no `baseline:`, and add what comes back."""
    project = options.project_of(given)
    named, loaded = project, load(project, paths)
    drafts = [draft for draft in loaded if draft.baseline is None]
    if not drafts and loaded:
        what = "every baseline there has an output already: capture does not overwrite"
        raise InvalidInput(
            Problem("BK520", what, "to take new answers over: baselinekit refresh PATH --replay")
        )
    if not drafts:
        raise NothingSelected(
            Problem("BK509", "there is nothing to capture there", "a file needs an id and a `current:`")
        )
    for url in (
        capture_summary.origins(project, [draft.current for draft in drafts]) if given["allow"] else ()
    ):
        project = project.allowing(url)
    with ExitStack() as stack:
        context = stack.enter_context(real_context(capture_summary.progress(stack, given)))
        context = models.with_models(context, project, models.kept(given))
        for draft in drafts:
            checked(project, draft, context)
        captured, errors = capture_all(project, drafts, capture_options.of(given), context)
    if captured:
        done = {one.id for one in captured}
        asked = [draft.current for draft in drafts if draft.id in done]
        bases = [one.execution.base_url for one in asked if kind_of(one).asks_address]
        _tell(project, captured, given, _needed_again(project, asked, bases))
        capture_summary.offer(named, asked, given)
    errors += capture_summary.refused(captured)
    if errors:
        worst = next((Refused for error in errors if isinstance(error, Refused)), CannotReplay)
        raise worst(*(problem for error in errors for problem in error.problems))
    return 0


def _new(
    project: Project,
    current: dict[str, Any],
    default_id: str,
    given: dict[str, Any],
    notes: Sequence[str] = (),
) -> int:
    record = capture_options.record_of(given, default_id, current)
    granted, project = project.ceilings.timeout, project.granting(given["timeout"])
    if project.ceilings.timeout > granted:
        line = f"`limits: {{timeout: {given['timeout']:g}}}`"
        notes = [*notes, f"to compare it, add {line} to baselinekit.yaml: a file may ask for {granted:g} s"]
    with ExitStack() as stack:
        context = stack.enter_context(real_context(capture_summary.progress(stack, given)))
        context = models.with_models(context, project, models.kept(given))
        captured = capture_new(project, record, capture_options.of(given), context)
    how = record["current"]["execution"]
    bases = [how.get("base_url")] if KINDS[how["type"]].asks_address else []
    more = _needed_again(project, record["current"], bases)
    _tell(project, [replace(captured, notes=(*captured.notes, *notes))], given, more)
    for error in capture_summary.refused([captured]):
        raise error
    return 0


def _needed_again(project: Project, asked: Any, bases: Sequence[str | None]) -> list[str]:
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


def _tell(
    project: Project, captured: list[Captured], given: dict[str, Any], more: Sequence[str] = ()
) -> None:
    if given["as_json"]:
        screen.show_json(
            json.dumps(
                [
                    {"id": c.id, "file": c.file, "seconds": round(c.seconds, 3)} | capture_summary.as_json(c)
                    for c in captured
                ],
                default=str,
            )
            + "\n"
        )
    elif not given["quiet"]:
        for one in captured:
            screen.line(told(one))
            for text in capture_summary.lines(one):
                screen.line(text)
            for note in one.notes:
                screen.line(f"  note: {screen.safe(note)}")
        words = ["--repeat", str(given["repeat"])] if given["repeat"] > 1 else []
        for command in pending_options.checking(
            project, [(one.id, one.file) for one in captured], [*words, *more]
        ):
            screen.line(f"next: {screen.safe_line(command)}")


def told(one: Captured) -> str:
    return screen.safe_line(f"captured {one.id} -> {one.file}   {recipes.described(one.output)}")

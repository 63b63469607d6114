"""`baselinekit capture http|skill|command|from`."""

import json
import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from baselinekit.cli import options, recipes, screen
from baselinekit.cli.doors import real_way
from baselinekit.errors import CannotReplay, InvalidInput, NothingSelected, Problem
from baselinekit.model.values import Json
from baselinekit.variables import names_in
from baselinekit.workflow.capture import Captured, Wishes, capture_all, capture_new, checked
from baselinekit.workflow.compare import load
from baselinekit.workflow.project import Project
from baselinekit.workflow.templating import with_names


class Kinds(click.Group):
    """A first word with `://` or an upper-case method means `http`; any other unknown word is a file."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        first = args[0]
        if first not in self.commands and not first.startswith("-"):
            is_http = "://" in first or (first.isalpha() and first.isupper())
            args = ["http" if is_http else "from", *args]
        return super().resolve_command(ctx, args)


@click.group(cls=Kinds, short_help="Record a known-good output as a new baseline.")
def capture() -> None:
    """Replay once and record what comes back as a new baseline.

    \b
    baselinekit capture http GET http://127.0.0.1:8000/users --id users-list
    baselinekit capture skill code-review --param depth=thorough --input diff.json
    baselinekit capture command --id version -- mytool --version
    baselinekit capture from baselines/orders.yaml      (a `current:` without a `baseline:`)
    """


def new_baseline_options(command: click.decorators.FC) -> click.decorators.FC:
    """What a new baseline is called, and how it is to be compared."""
    for option in reversed(
        [
            click.option("--id", "id", metavar="ID", help="Its name; else made from what is asked."),
            click.option("--group", metavar="FOLDER", help="The folder below baselines/ that it goes to."),
            click.option("--name", help="A title for people."),
            click.option("--description", help="What it protects."),
            click.option("--tag", "tags", multiple=True, help="A tag to select it by."),
            click.option("--criticality", type=click.Choice(["critical", "high", "medium", "low"])),
            click.option("--type", "type", type=click.Choice(["exact", "structural", "numeric", "semantic"])),
            click.option(
                "--ignore", "ignore", metavar="PATH", multiple=True, help="Leave this out of the comparison."
            ),
            click.option(
                "--tolerance",
                "tolerance",
                metavar="PATH=NUMBER",
                multiple=True,
                help="How far a number may move.",
            ),
        ]
    ):
        command = option(command)
    return command


def wish_options(command: click.decorators.FC) -> click.decorators.FC:
    for option in reversed(
        [
            click.option(
                "--placeholder",
                "placeholders",
                metavar="PATH=TEXT",
                multiple=True,
                help="Store <<any_uuid>> or the like at a path.",
            ),
            click.option("--version", "version", metavar="TEXT", help="The version of what is captured."),
            click.option("--allow-error-status", is_flag=True, help="Store a 5xx answer as known-good."),
            click.option("--allow-secrets", is_flag=True, help="Store what looks like a secret."),
            click.option("--json", "as_json", is_flag=True, help="Say what was captured as JSON."),
            click.option("-q", "--quiet", is_flag=True, help="Say nothing when all is well."),
        ]
    ):
        command = option(command)
    return command


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
@new_baseline_options
@wish_options
@options.project_options
def http(words: tuple[str, ...], **given: Any) -> int:
    """Send a request and record status, content-type and body of the answer.

    URL is absolute, or begins with / where the project has a base_url.
    """
    project = options.project_of(given)
    current = recipes.http(words, given, project)
    project = project.naming(str(current["execution"].get("base_url", "")))  # the operator has typed it
    return _new(project, current, recipes.http_id(current), given)


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
@new_baseline_options
@wish_options
@options.project_options
def skill(skill_name: str, **given: Any) -> int:
    """Run a skill and record its output."""
    project = options.project_of(given)
    execution: dict[str, Any] = {"type": "skill", "skill_name": skill_name}
    if given["params"]:
        pairs = options.pairs("--param", given["params"], "NAME=VALUE")
        execution["parameters"] = {key: recipes.json_or_text(value) for key, value in pairs.items()}
    if given["timeout"] is not None:
        execution["timeout"] = given["timeout"]
    current = {"input": recipes.json_or_text(recipes.content(given["input"])), "execution": execution}
    return _new(project, current, recipes.slug(skill_name), given)


@capture.command(short_help="A program: its exit code and what it prints.")
@click.argument("argv", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--stdin", metavar="TEXT", help="What it reads: text, or @FILE, or @-.")
@click.option("--env", "env", metavar="NAME=VALUE", multiple=True, help="A variable of its environment.")
@click.option(
    "--file", "files", metavar="PATH", multiple=True, help="A file that it writes, to be compared too."
)
@click.option("--parse", type=click.Choice(["text", "json"]), help="Read its output as JSON.")
@click.option("--timeout", type=float, metavar="SECONDS")
@new_baseline_options
@wish_options
@options.project_options
def command(argv: tuple[str, ...], **given: Any) -> int:
    """Run a program (after --) and record how it ends and what it prints."""
    given["allow_exec"] = True  # the operator has just typed the program's name
    project = options.project_of(given)
    group = given["group"] = given["group"] or recipes.slug(os.path.basename(argv[0]))
    current = recipes.command(argv, given, project.way_back(group))
    notes = [] if argv[0] in project.config.commands else [recipes.how_to_allow(argv[0])]
    return _new(project, current, recipes.slug(" ".join(argv)), given, notes)


@capture.command("from", short_help="Files that have a recipe and no output yet.")
@click.argument("paths", nargs=-1, required=True, type=click.Path())
@wish_options
@options.project_options
def from_files(paths: tuple[str, ...], **given: Any) -> int:
    """Replay every baseline below PATHS that has a `current:` and no `baseline:`, and add what comes back."""
    project = options.project_of(given)
    loaded = load(project, paths)
    drafts = [draft for draft in loaded if draft.baseline is None]
    if not drafts and loaded:
        what = "every baseline there has an output already: capture does not overwrite"
        raise InvalidInput(Problem("BK520", what, "to capture one anew, remove its `baseline:` first"))
    if not drafts:
        raise NothingSelected(
            Problem("BK509", "there is nothing to capture there", "a file needs an id and a `current:`")
        )
    with real_way() as way:
        for draft in drafts:
            checked(project, draft, way)
        captured, problems = capture_all(project, drafts, _wishes(given), way)
    if captured:
        _tell(captured, given)
    if problems:
        raise CannotReplay(*problems)
    return 0


def _new(
    project: Project,
    current: dict[str, Any],
    default_id: str,
    given: dict[str, Any],
    notes: Sequence[str] = (),
) -> int:
    record: dict[str, Any] = {"id": given["id"] or default_id}
    record |= {key: given[key] for key in ("name", "description") if given[key]}
    record["current"] = current
    comparison: dict[str, Json] = {}
    if given["type"]:
        comparison["type"] = given["type"]
    if given["ignore"]:
        comparison["ignore_fields"] = list(given["ignore"])
    if given["tolerance"]:
        bounds = options.pairs("--tolerance", given["tolerance"], "PATH=NUMBER")
        comparison["tolerance"] = {path: {"abs": _number(text)} for path, text in bounds.items()}
    record["comparison"] = comparison
    record["metadata"] = {key: given[key] for key in ("criticality",) if given[key]}
    if given["tags"]:
        record["metadata"]["tags"] = list(given["tags"])
    with real_way() as way:
        captured = capture_new(project, record, _wishes(given), way)
    more = _needed_again(project, record["current"])
    _tell([replace(captured, notes=(*captured.notes, *notes))], given, more)
    return 0


def _number(text: str) -> Json:
    number = recipes.json_or_text(text)
    if isinstance(number, bool) or not isinstance(number, int | float) or number < 0:
        raise InvalidInput(
            Problem("BK508", f"--tolerance {text!r} is no number", "as in --tolerance price=0.05")
        )
    return number


def _wishes(given: dict[str, Any]) -> Wishes:
    return Wishes(
        placeholders=options.pairs("--placeholder", given["placeholders"], "PATH=TEXT"),
        version=given["version"],
        group=given.get("group"),
        allow_error_status=given["allow_error_status"],
        allow_secrets=given["allow_secrets"],
    )


def _needed_again(project: Project, current: dict[str, Any]) -> list[str]:
    """What a compare has to be told as well, because no configuration says it."""
    scope, words = project.scope, []
    used = set(names_in(with_names(current, scope))) - set(project.config.variables)
    for name in sorted(used & set(scope.secrets)):
        words += ["--secret", name]
    base = current["execution"].get("base_url")
    if words and base:
        words += ["--base-url", base]
    for name in sorted(used & set(scope.values)):
        words += ["--var", f"{name}={scope.values[name]}"]
    return words


def _tell(captured: list[Captured], given: dict[str, Any], more: Sequence[str] = ()) -> None:
    if given["as_json"]:
        screen.line(
            json.dumps([{"id": c.id, "file": c.file, "seconds": round(c.seconds, 3)} for c in captured])
        )
    elif not given["quiet"]:
        for one in captured:
            screen.line(told(one))
            for note in one.notes:
                screen.line(f"  note: {screen.safe(note)}")
        words = ["--id", captured[0].id] if len(captured) == 1 else []
        screen.line(f"next: {screen.safe(shlex.join(['baselinekit', 'compare', *words, *more]))}")


def told(one: Captured) -> str:
    return f"captured {one.id} -> {one.file}   {screen.safe(recipes.described(one.output))}"

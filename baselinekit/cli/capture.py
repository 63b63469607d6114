"""`baselinekit capture`: replay, learn what varies, store, and suggest the next commands."""

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import click

from baselinekit.cli import options as cli, recipes
from baselinekit.cli.clients import asking
from baselinekit.cli.recipes import ManyOptions, StoringOptions, typed_record
from baselinekit.cli.screen import Output, complain, problem_document, say
from baselinekit.commands import capture as capturing
from baselinekit.commands.capture import slug
from baselinekit.commands.importing import Batch, summarize, worst_of
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, NothingSelected, Place, Problem
from baselinekit.importers.curl import NAMES, is_curl
from baselinekit.importers.drafts import DraftRecipe, ImportedFile
from baselinekit.kinds.table import kind_of
from baselinekit.learning.templating import with_names
from baselinekit.learning.varying import MOST_VALUES, UnlearnablePlace, Volatile
from baselinekit.model.recipes import Recipe
from baselinekit.model.values import Edit, Json
from baselinekit.report.next_commands import check_commands, rule_commands
from baselinekit.report.wording import first_of
from baselinekit.secrets.variables import names_in
from baselinekit.store.project import CONFIG_NAME
from baselinekit.store.reading import parse_record
from baselinekit.store.writing import add_origin, edit_config
from baselinekit.structs import replace
from baselinekit.values.paths import render
from baselinekit.values.texts import count_noun, list_first, mask_and_clip, no_mask

# What was learnt of replays: each path that varies, its placeholder, and the reason.


MOST_LINES = 80
_MOST_NAMED = 3
_LONGEST_VALUE = 38
_LONGEST_TEMPLATE = 160


def describe_captured(captured: capturing.Captured) -> Iterator[str]:
    """The lines about a new baseline."""
    yield f"captured {captured.id} -> {captured.file}   {recipes.describe_output(captured.output)}"
    if captured.lookalikes:
        names = list_first([render(one.path) for one in captured.lookalikes], _MOST_NAMED)
        hint = "--placeholder-like ids stores placeholders"
        yield f"  note: looks like an id, and is compared as it came: {names}; {hint}"
    if count := len(captured.learnt) + len(captured.unlearnt):
        unlearnt = f", {len(captured.unlearnt)} without a placeholder" if captured.unlearnt else ""
        replays = count_noun(captured.replays, "replay")
        yield f"  {replays}: {count_noun(count, 'varying path')}{unlearnt}"
    yield from describe_learnt(captured.learnt)
    yield from (f"  note: {note}" for note in captured.notes)


def describe_learnt(learnt: Iterable[tuple[Volatile, Place | None]]) -> Iterator[str]:
    """Each path with its new placeholder and the place in the file; the reason, and values seen there."""
    lines = []
    for volatile, source in learnt:
        rows = f" in {len(volatile.places)} rows" if len(volatile.places) > 1 else ""
        place = f"   {source.file}:{source.line}" if source else ""
        text = mask_and_clip(volatile.proposal.text, _LONGEST_TEMPLATE, no_mask, counted=False)
        lines.append(f"  {render(volatile.path)}{rows}  {text}{place}")
        values = ", ".join(map(_short, volatile.values[:MOST_VALUES]))
        lines.append(f"    {volatile.proposal.reason}: {values}")
    return first_of(lines, MOST_LINES, "line")


def _short(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return mask_and_clip(text, _LONGEST_VALUE, no_mask, counted=False)


def learnt_as_json(volatile: Volatile, place: Place | None = None) -> dict[str, Json]:
    return {
        "path": render(volatile.path),
        "placeholder": volatile.proposal.text,
        "reason": volatile.proposal.reason,
        "values": [*volatile.values[:MOST_VALUES]],
        "places": [*map(render, volatile.places)],
        "line": place and place.line,
    }


def unlearnt_as_json(found: UnlearnablePlace, place: Place | None = None) -> dict[str, Json]:
    facts: dict[str, Json] = {"path": render(found.path), "kind": found.kind, "line": place and place.line}
    return facts | {"what": found.message, "fix": found.hint}


def document(captured: capturing.Captured) -> dict[str, Json]:
    """A captured baseline as JSON, for `--json`."""
    return {
        "id": captured.id,
        "file": captured.file,
        "seconds": round(captured.seconds, 3),
        "replays": captured.replays,
        "lookalikes": [*map(learnt_as_json, captured.lookalikes)],
        "volatile": [learnt_as_json(*found) for found in captured.learnt],
        "refused": [unlearnt_as_json(*found) for found in captured.unlearnt],
    }


# The pipeline of every capture. A single request is a batch of one.


def capture_batch(
    batch: Batch,
    storing: StoringOptions,
    settings: capturing.CaptureOptions,
    many: ManyOptions,
    recording: cli.RecordingOptions,
) -> int:
    """Show what is to be captured (`--dry-run`), or replay and store it, and report."""
    out = storing.output
    if not batch.new:
        out.say(*_notes(batch))
        raise _nothing_error(batch)
    if many.dry_run:
        _preview(batch, out)
        return _finish(batch, capturing.CaptureResults((), []))
    project = batch.asking or batch.project
    for url in _unnamed(batch.project, [new.draft.current for new in batch.new]) if many.allow else ():
        project = replace(project, trust=project.trust.allowing(url))
    with asking(project, recording, "" if out.is_silent else "replaying") as context:
        outcome = capturing.capture(project, batch.new, replace(settings, jobs=many.jobs), context)
    if outcome.done:
        _report(batch, outcome, many, out)
    return _finish(batch, outcome)


def _nothing_error(batch: Batch) -> BaselinekitError:
    if batch.problems:
        return worst_of(batch.problems)
    if batch.known:
        hint = "to accept new answers: baselinekit refresh ID --replay"
        return InvalidInput(Problem("BK113", "everything there is captured already", hint))
    hint = "--unsafe sends what may write; --host and --type choose others"
    return NothingSelected(Problem("BK509", "there is nothing to capture", hint))


def _preview(batch: Batch, out: Output) -> None:
    """Print what would be captured."""
    rows: list[dict[str, Any]] = [
        {
            "id": new.draft.id,
            "request": _describe_request(batch.project, new.draft.current),
            "at": new.place and str(new.place),
            "notes": [*new.notes],
        }
        for new in batch.new
    ]
    out.document({"would_capture": [*rows], **_left_out(batch, batch.problems)})
    for row in rows:
        place = f"   ({row['at']})" if row["at"] else ""
        out.say(f"{row['id']}   {row['request']}{place}", *(f"  note: {note}" for note in row["notes"]))
    out.say(*_notes(batch, f"{len(batch.new):,} would be captured"))


def _describe_request(project: Project, recipe: Recipe) -> str:
    kind = kind_of(recipe)
    base = kind.base_url(recipe, project.override_base_url, project.base_url)
    return kind.target(recipe, project.redactor.mask, base)


def _report(batch: Batch, outcome: capturing.CaptureResults, many: ManyOptions, out: Output) -> None:
    """Print what was captured, and what comes next."""
    project, done, errors = batch.project, outcome.done, outcome.errors
    ids = {baseline.id for baseline in done}
    batch = replace(batch, new=[new for new in batch.new if new.draft.id in ids])
    asked = [new.draft.current for new in batch.new]
    declared = _declare_secrets(project, asked, many.write_config)
    left_out = _left_out(batch, [*batch.problems, *errors])
    out.document({"captured": [*map(document, done)], "not_reached": outcome.left, **left_out})
    for baseline in done:
        out.say(*describe_captured(baseline))
    batch, count = replace(batch, failed=batch.failed + len(errors)), f"{len(done):,} captured"
    out.say(*_notes(batch, count if len(done) + batch.failed + batch.known != 1 else "", done, declared))
    rules = {baseline.id: [found.rule for found, _ in baseline.unlearnt if found.rule] for baseline in done}
    out.next_commands(rule_commands(rules, cli.typed_command().operator))
    written = [(baseline.id, baseline.file) for baseline in done]
    folders, words = (project.folders, project.eval_folders), _compare_words(project, asked, declared)
    out.next_commands(check_commands(written, *folders, words, cli.path_from_here(project)))
    if not outcome.left:
        _name_origins(project, asked, many.allow, out)


def _notes(
    batch: Batch,
    count: str = "0 captured",
    done: Sequence[capturing.Captured] = (),
    declared: Collection[str] = (),
) -> Iterator[str]:
    """How many were captured, and what the operator may want to do about the others and secrets."""
    project, config = batch.project, batch.project.config_file or CONFIG_NAME
    if count:
        others = {"not": batch.failed, "captured already": batch.known}
        yield ", ".join([count, *(f"{number:,} {word}" for word, number in others.items() if number)])
    for note in batch.notes(done):
        yield f"note: {note}"
    if batch.unsafe:
        yield f"note: {count_noun(batch.unsafe, 'request')} that may write left out: --unsafe sends them"
    if batch.unselected:
        yield f"note: {batch.unselected:,} of another host or type left out: see --host and --type"
    used = {name for new in batch.new for name in names_in(new.draft.current)} & {*project.scope.secrets}
    if declared:
        names = _in_braces(declared)
        yield f"note: {config} now takes {names} from the environment: set it before a compare"
    if undeclared := used - {*project.config.variables, *declared}:
        replaced = f"note: {_in_braces(undeclared)}, in place of secrets"
        yield f"{replaced}: --write-config declares them in baselinekit.yaml, taken from the environment"


def _in_braces(names: Iterable[str]) -> str:
    return ", ".join(f"{{{{{name}}}}}" for name in sorted(names))


def _left_out(batch: Batch, errors: Sequence[BaselinekitError]) -> dict[str, Json]:
    """What is not captured, for `--json`."""
    return {
        "left_out": [problem_document(problem) for error in errors for problem in error.problems],
        "captured_already": batch.known,
        "unsafe": batch.unsafe,
        "unselected": batch.unselected,
    }


def _finish(batch: Batch, outcome: capturing.CaptureResults) -> int:
    """Raise the errors of a capture. If it ended early, print how many are stored, and how to go on. Where
    something varies without a placeholder the file is written, but a compare will fail there."""
    if outcome.done and outcome.left:
        message = f"{len(outcome.done):,} stored, {outcome.left:,} left"
        say(f"{message}; the same command captures what is left", err=True)
    varying = [
        Problem("BK527", f"{render(found.path)} varies: {found.message}", found.hint, place)
        for baseline in outcome.done
        for found, place in baseline.unlearnt
    ]
    errors = [*batch.problems, *outcome.errors, *([CannotReplay(*varying)] if varying else [])]
    if outcome.is_interrupted:
        complain(*errors)
        raise KeyboardInterrupt
    if errors:
        raise worst_of(errors)
    return 0


# What a capture writes into the configuration, if the operator wants that.


def _declare_secrets(project: Project, asked: Sequence[Recipe], every: bool) -> list[str]:
    """Declare the secrets in new recipes that the operator named, or every one, so that from now on only the
    environment has to provide them. Return their names."""
    if project.operator.config_from is not None:
        return []
    edits = []
    for name in sorted({*project.scope.secrets} - {*project.config.variables}):
        users = [recipe for recipe in asked if name in names_in(recipe)]
        if users and (every or name in project.operator.secrets):
            hosts = sorted({host for recipe in users if (host := recipes.host_of(recipe, project))})
            entry: dict[str, Json] = {"from_env": re.sub(r"\W", "_", name), "secret": True}
            edits.append(Edit(("variables", name), entry | ({"hosts": hosts} if hosts else {})))
    if edits:
        edit_config(project.root, project.config_file, edits)
    return [str(edit.path[-1]) for edit in edits]


def _name_origins(project: Project, asked: Sequence[Recipe], allow: bool, out: Output) -> None:
    """Add the origins that CI refuses to the configuration with `--allow`; else print how."""
    for origin in _unnamed(project, asked):
        if allow:
            file = add_origin(project.root, project.config_file, origin)
            out.say(f"wrote {file}: CI may send requests there too")
        else:
            note = f"note: in CI {origin} gets requests only if baselinekit.yaml names it"
            out.say(f"{note}: capture --allow writes that")


def _compare_words(project: Project, asked: Sequence[Recipe], declared: Sequence[str]) -> list[str]:
    """The options that a compare needs as well: those typed, and the secrets that the configuration does not
    declare. These only go to an address that the operator or the configuration names."""
    used = {*names_in(with_names(list(asked), project.scope))} & {*project.scope.secrets}
    names = sorted(used - {*project.config.variables, *declared})
    words = [*cli.typed_options({*cli.SENDING} - {"secrets"})]
    words += [word for name in names for word in ("--secret", name)]
    bases = (recipe.execution.base_url for recipe in asked if kind_of(recipe).asks_address)
    if names and "--base-url" not in words and (base := next(filter(None, bases), None)):
        words += ["--base-url", base]
    return words


def _unnamed(project: Project, asked: Sequence[Recipe]) -> list[str]:
    from baselinekit.clients.http import addresses_soon  # most runs have loaded it by now

    return capturing.unnamed_origins(project, asked, addresses_soon)


# `baselinekit capture http|curl|skill|prompt|command`.


def _capture_one(
    project: Project,
    record: dict[str, Any],
    group: str,
    options: recipes.RequestOptions | recipes.AskingOptions | recipes.CommandOptions,
    notes: Sequence[str] = (),
    is_insecure: bool = False,
) -> int:
    asking, typed_notes = recipes.with_typed(project, record["current"], is_insecure)
    settings = capture_options(options.storing, group, options.new.id is not None)
    new = replace(capturing.named_new(project, record, settings), notes=(*notes, *typed_notes))
    batch = Batch(project, [new], asking=asking)
    many = options.many if isinstance(options, recipes.RequestOptions) else ManyOptions()
    recording = options.recording if isinstance(options, recipes.AskingOptions) else cli.RecordingOptions()
    return capture_batch(batch, options.storing, settings, many, recording)


def capture_request(options: recipes.HttpOptions | recipes.CurlOptions) -> int:
    project, request = recipes.open_request(options)
    record = typed_record(options, request.current, project)
    group = options.new.group or capturing.group_of(parse_record(record), project)
    return _capture_one(project, record, group, options, request.dropped, request.is_insecure)


@cli.command(recipes.HttpOptions, name="http", short_help="HTTP requests.")
def capture_http(options: recipes.HttpOptions) -> int:
    """Capture one request, or several URLs that share their method and their options."""
    first, *others = options.words
    method = [first] if others and first.isalpha() and first.isupper() else []
    urls = list(dict.fromkeys(others if method else options.words))
    if len(urls) < 2 or not all("://" in url or url.startswith("/") for url in urls):
        return capture_request(options)
    if options.new.id:
        message = f"--id names one baseline, and these are {len(urls)}"
        raise cli.misuse(message, "leave it out: each is named by its URL")
    settings = capture_options(options.storing, options.new.group)

    opened = [recipes.open_request(replace(options, words=(*method, url))) for url in urls]
    project, _ = opened[0]
    for name in project.scope.secrets:
        if any(other.scope.secrets[name] != project.scope.secrets[name] for other, _ in opened):
            hint = "capture them by several commands, each with a --secret NAME of its own"
            raise cli.misuse(f"the URLs hold different values of {name}", hint)
    files = {}
    asking = project
    for url, (_, request) in zip(urls, opened, strict=True):
        asking, notes = recipes.with_typed(asking, request.current, request.is_insecure)
        id = recipes.http_id(request.current)
        draft = DraftRecipe(id, request.current, 0, notes=(*request.dropped, *notes))
        files[url] = ImportedFile((draft,))
    batch = summarize(project, files, lambda new: typed_record(options, new.current, project), settings)
    batch = replace(batch, asking=asking)
    return capture_batch(batch, options.storing, settings, options.many, cli.RecordingOptions())


class LineOfCurl(cli.InOrder):
    """A curl line among our options: short options, and long ones that curl knows, are left to curl."""

    def make_parser(self, ctx: click.Context) -> Any:
        parser: Any = super().make_parser(ctx)
        parser.ignore_unknown_options = True
        parser._short_opt.clear()
        for name in NAMES:
            parser._long_opt.pop(f"--{name}", None)
        return parser


@cli.command(recipes.CurlOptions, cls=LineOfCurl, name="curl", short_help="The request of a curl line.")
def capture_curl(options: recipes.CurlOptions) -> int:
    return capture_request(options)


@cli.command(recipes.SkillOptions, name="skill", short_help="A skill that the configuration names.")
def capture_skill(options: recipes.SkillOptions) -> int:
    project = cli.project_of(options.project)
    group = options.new.group or options.skill_name
    current = recipes.skill(options, group, project)
    return _capture_asking(project, options, slug(options.skill_name), group, current)


@cli.command(recipes.PromptOptions, name="prompt", short_help="A prompt: what a model answers.")
def capture_prompt(options: recipes.PromptOptions) -> int:
    project = cli.project_of(options.project)
    name = slug(os.path.splitext(os.path.basename(options.file))[0])
    group = options.new.group or name
    return _capture_asking(project, options, name, group, recipes.prompt(options, group, project))


def _capture_asking(
    project: Project, options: recipes.AskingOptions, id: str, group: str, current: dict[str, Any]
) -> int:
    numeric: dict[str, Json] = {"type": "numeric"} if options.grading.scores else {}
    record = options.new.record(id, current, numeric | recipes.parse_path_rules(options.new.rules))
    return _capture_one(project, record, group, options)


@cli.command(recipes.CommandOptions, name="command", short_help="A program: its exit code and its output.")
def capture_command(options: recipes.CommandOptions) -> int:
    project = cli.project_of(replace(options.project, allow_exec=True))  # the operator named the program
    argv = options.argv
    group = options.new.group or slug(os.path.basename(argv[0]))
    current = recipes.command(options, project.way_back(group))
    env = current["input"].get("env", ())
    notes = [] if argv[0] in project.commands else [recipes.how_to_allow(argv[0], env)]
    id = slug(" ".join(with_names(list(argv), project.scope)))
    record = options.new.record(id, current, recipes.parse_path_rules(options.new.rules))
    return _capture_one(project, record, group, options, notes)


@cli.command(recipes.DraftOptions, name="")
def capture_files(options: recipes.DraftOptions) -> int:
    from baselinekit.cli.importing import read_files  # needs evals, which requests do not

    settings = capture_options(options.storing, options.group)
    batch = read_files(options, settings)
    return capture_batch(batch, options.storing, settings, options.many, options.recording)


def capture_options(
    storing: StoringOptions, group: str | None, id_is_chosen: bool = False
) -> capturing.CaptureOptions:
    allowed = {name: value for name, value in vars(storing).items() if name.startswith("allow_")}
    return capturing.CaptureOptions(
        **allowed,
        placeholders=cli.parse_pairs("--placeholder", storing.placeholders, "PATH=TEXT"),
        version=storing.version,
        group=group,
        repeat=storing.repeat,
        id_is_chosen=id_is_chosen,
        exact=storing.exact,
        hide_secrets="secrets" in storing.like,
        replace_lookalikes="ids" in storing.like,
    )


FILES = ""
"""The name of the command that captures what files ask for: it is typed without one."""


class Kinds(click.Group):
    """The kind may be left out: a method or a URL is a request, a curl line one of curl, any other word a
    file."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in self.commands if name != FILES]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and is_curl(args[0].split(" ")[0]):
            from baselinekit.importers.shell import split_words

            line = split_words(args[0]) if " " in args[0] else [args[0]]
            args = ["curl", *line[1:], *args[1:]]
        elif args and args[0] not in (*self.list_commands(ctx), "-h", "--help"):
            word = args[-1] if args[0].startswith("-") else args[0]
            is_request = "://" in word or (word.isalpha() and word.isupper())
            args = ["http" if is_request else FILES, *args]
        return super().parse_args(ctx, args)


@click.group(cls=Kinds, short_help="Record a known-good output as a new baseline.")
def capture() -> None:
    """Replay, and record the output as a new baseline. A GET is sent twice, and what varies is stored as a
    placeholder.

    \b
    baselinekit capture http GET http://127.0.0.1:8000/users --id users-list
    baselinekit capture curl 'https://api.example.com/users' -H 'Accept: application/json'
    baselinekit capture prompt prompts/summary.md --input article=@article.txt
    baselinekit capture skill code-review --param depth=thorough --input code_diff=@change.patch
    baselinekit capture command --id version -- mytool --version
    baselinekit capture openapi.yaml       (or a HAR file, a list of URLs, curl lines, recipes)
    baselinekit capture prompts/refactor   (the cases of a prompt folder)
    baselinekit capture FILE --help        the options for files
    """


for _kind in (capture_http, capture_curl, capture_skill, capture_prompt, capture_command, capture_files):
    capture.add_command(_kind)

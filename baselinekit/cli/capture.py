"""`baselinekit capture`: replay, learn what varies, store, and suggest the next commands."""

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import click

from baselinekit.cli import options as cli, recipes, screen
from baselinekit.cli.clients import real_context, with_models, with_progress
from baselinekit.cli.recipes import ManyOptions, StoringOptions, typed_record
from baselinekit.commands import capture as capturing
from baselinekit.commands.capture import slug
from baselinekit.commands.importing import Batch, summarize, worst_of
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, NothingSelected, Place, Problem
from baselinekit.importers.curl import NAMES, is_curl
from baselinekit.importers.drafts import DraftRecipe, ImportedFile
from baselinekit.kinds.table import kind_of
from baselinekit.learning.templating import with_names
from baselinekit.learning.varying import MOST_VALUES, Volatile
from baselinekit.model.recipes import Recipe
from baselinekit.model.values import Edit, Json
from baselinekit.report.differences import shorten_pair
from baselinekit.report.next_commands import check_commands, rule_commands
from baselinekit.secrets.variables import names_in
from baselinekit.store.project import CONFIG_NAME
from baselinekit.store.reading import parse_record
from baselinekit.store.writing import add_origin, edit_config
from baselinekit.structs import replace
from baselinekit.values.paths import render
from baselinekit.values.texts import count_noun, list_first, mask_and_clip, no_mask

# The report of `capture --repeat`: each path that varies, its placeholder, and the reason.


_MOST_PATHS = 40
_MOST_NAMED = 3
_LONGEST_VALUE = 38
_LONGEST_TEMPLATE = 160


def describe_captured(captured: capturing.Captured, is_counted: bool) -> Iterator[str]:
    """The lines below the one with a baseline's id. Replays that agree are only mentioned if `--repeat` was
    given (`is_counted`)."""
    if captured.lookalikes:
        yield screen.safe_line(f"  note: {describe_lookalikes(captured.lookalikes, captured.replays)}")
    count = len(captured.learnt) + len(captured.unlearnt)
    if not count and (captured.replays == 1 or not is_counted):
        return
    paths, varies = count_noun(count, "path"), "they agree"
    if captured.replays == 1:
        are_moments = all("of now" in volatile.proposal.reason for volatile, _ in captured.learnt)
        content_kind = "a moment of now" if are_moments else "what is made anew each time"
        varies = f"{paths} hold{'s' * (count == 1)} {content_kind}"
    elif count:
        varies = f"{paths} var{'ies' if count == 1 else 'y'}"
    unlearnt = f", {len(captured.unlearnt)} of them without a placeholder" if captured.unlearnt else ""
    yield f"  {count_noun(captured.replays, 'replay')}: {varies}{unlearnt}"
    for volatile, place in captured.learnt[:_MOST_PATHS]:
        yield from describe_learnt(volatile, place)
    if len(captured.learnt) > _MOST_PATHS:
        yield f"  … and {len(captured.learnt) - _MOST_PATHS:,} more"


def describe_learnt(volatile: Volatile, source: Place | None) -> Iterator[str]:
    """A path with its new placeholder, the reason, and examples of the values seen there. Of a long text only
    the surroundings of its placeholders are shown."""
    rows = f" in {len(volatile.places)} rows" if len(volatile.places) > 1 else ""
    place = f"   {source.file}:{source.line}" if source else ""
    text, value = volatile.proposal.text, volatile.values[0]
    if len(text) > _LONGEST_TEMPLATE and isinstance(value, str):
        text, _ = shorten_pair(text, value)
    yield screen.safe_line(f"  {render(volatile.path)}{rows}  {text}{place}")
    values = [_short(value) for value in volatile.values[:MOST_VALUES]]
    ellipsis = ", …" if len(volatile.values) > MOST_VALUES else ""
    is_cut_alike = len(values) > 1 and len(set(values)) == 1 and values[0].endswith("…")
    # long texts that differ only after the cut look alike, and are not shown
    examples = "" if is_cut_alike else f": {', '.join(values)}{ellipsis}"
    yield screen.safe_line(f"    {volatile.proposal.reason}{examples}")


def describe_lookalikes(lookalikes: Sequence[Volatile], replays: int) -> str:
    """Describe values that look like ids but are stored as they are."""
    names = list_first([render(lookalike.path) for lookalike in lookalikes], _MOST_NAMED)
    looks, was, compared = "look like ids", "were", "they are compared as they came"
    if len(lookalikes) == 1:
        looks, was, compared = "looks like an id", "was", "it is compared as it came"
    times = "twice" if replays == 2 else "each time"
    repetition = f" and {was} the same {times}" if replays > 1 else ""
    return f"{names} {looks}{repetition}: {compared}; --placeholder-like ids stores placeholders"


def _short(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return mask_and_clip(text, _LONGEST_VALUE, no_mask, counted=False)


def refusals(captured: Sequence[capturing.Captured]) -> list[BaselinekitError]:
    """Errors about paths that vary without a placeholder: the file is written, but a compare will fail
    there."""
    problems = [
        Problem("BK527", f"{render(found.path)} varies: {found.message}", found.hint, place)
        for baseline in captured
        for found, place in baseline.unlearnt
    ]
    return [CannotReplay(*problems)] if problems else []


def learnt_as_json(volatile: Volatile) -> dict[str, Json]:
    return lookalike_as_json(volatile) | {
        "values": list(volatile.values[:MOST_VALUES]),
        "places": [render(place) for place in volatile.places],
    }


def lookalike_as_json(volatile: Volatile) -> dict[str, Json]:
    proposal = volatile.proposal
    return {"path": render(volatile.path), "placeholder": proposal.text, "reason": proposal.reason}


def document(captured: capturing.Captured) -> dict[str, Json]:
    """A captured baseline as JSON, for `--json`."""
    facts: dict[str, Json] = {"id": captured.id, "file": captured.file, "seconds": round(captured.seconds, 3)}
    if captured.lookalikes:
        facts["lookalikes"] = [*map(lookalike_as_json, captured.lookalikes)]
    if captured.replays == 1 and not captured.learnt:
        return facts
    learnt = [learnt_as_json(found) | {"line": place and place.line} for found, place in captured.learnt]
    refused = [
        {
            "path": render(found.path),
            "kind": found.kind,
            "what": found.message,
            "mend": found.hint,
            "line": place and place.line,
        }
        for found, place in captured.unlearnt
    ]
    return facts | {"replays": captured.replays, "volatile": learnt, "refused": refused}


# The pipeline of every capture. A single request is a batch of one.


def capture_batch(
    read: Callable[[], Batch],
    storing: StoringOptions,
    settings: capturing.CaptureOptions,
    many: ManyOptions,
    recording: cli.RecordingOptions,
) -> int:
    """Read what is to be captured, show it (`--dry-run`) or replay and store it, and report."""
    batch = read()
    if not many.dry_run and _write_base_url(batch, many, storing):
        batch = read()
    if not batch.new:
        if batch.failed > len(batch.problems) or (batch.problems and (batch.known or batch.unsafe)):
            _print_notes(batch, storing, many)
        raise _nothing_error(batch)
    if many.dry_run:
        _preview(batch, storing, many)
        return _finish(batch, capturing.CaptureResults((), []), storing)
    asking = batch.asking or batch.project
    for url in _unnamed(batch.project, [new.draft.current for new in batch.new]) if many.allow else ():
        asking = replace(asking, trust=asking.trust.allowing(url))
    action = "" if storing.is_silent else "replaying"
    with real_context() as context, with_progress(context, action) as context:
        context = with_models(context, asking, recording)
        outcome = capturing.capture(asking, batch.new, replace(settings, jobs=many.jobs), context)
    if outcome.done:
        ids = {baseline.id for baseline in outcome.done}
        new = [new for new in batch.new if new.draft.id in ids]
        _report(batch, new, outcome, storing, many)
        if not outcome.left:
            _offer_to_name(batch.project, [one.draft.current for one in new], many.allow, storing)
    return _finish(batch, outcome, storing)


def _nothing_error(batch: Batch) -> BaselinekitError:
    if batch.problems:
        return worst_of(batch.problems)
    if batch.known:
        hint = "to accept new answers: baselinekit refresh ID --replay"
        return InvalidInput(Problem("BK520", "everything there is captured already", hint))
    if batch.unsafe:
        each = "the only request" if batch.unsafe == 1 else f"each of the {batch.unsafe:,} requests"
        return NothingSelected(Problem("BK509", f"{each} there may write", "--unsafe sends them"))
    hint = "choose others with --host and --type, such as --type text"
    return NothingSelected(Problem("BK509", "no answer there is of the types that are chosen", hint))


def _preview(batch: Batch, storing: StoringOptions, many: ManyOptions) -> None:
    """Print what would be captured."""
    project = batch.project
    requests = [(new, _describe_request(project, new.draft.current)) for new in batch.new]
    if storing.as_json:
        rows: list[Json] = [
            {"id": new.draft.id, "request": asked, "at": new.place and str(new.place), "notes": [*new.notes]}
            for new, asked in requests
        ]
        _show_json({"would_capture": rows}, batch, batch.problems)
        return
    available = {*project.scope.secrets, *project.scope.values}
    for new, request in requests:
        names = _in_braces(available.intersection(names_in(new.draft.current)))
        place = f"   ({new.place})" if new.place else ""
        screen.line(screen.safe_line(f"{new.draft.id}   {request}{names and f', with {names}'}{place}"))
        for note in new.notes:
            screen.line(f"  note: {screen.safe(note)}")
    _print_notes(batch, storing, many)


def _describe_request(project: Project, recipe: Recipe) -> str:
    kind = kind_of(recipe)
    base = kind.base_url(recipe, project.override_base_url, project.base_url)
    return kind.target(recipe, project.redactor.mask, base)


def _report(
    batch: Batch,
    new: Sequence[capturing.NewBaseline],
    outcome: capturing.CaptureResults,
    storing: StoringOptions,
    many: ManyOptions,
) -> None:
    """Print what was captured. `new`: those of the batch that were captured."""
    project, done = batch.project, outcome.done
    declared = _declare_secrets(project, new, many.write_config)
    if storing.as_json:
        rows: dict[str, Json] = {"captured": [document(baseline) for baseline in done]}
        if outcome.left:
            rows["not_reached"] = outcome.left
        _show_json(rows, batch, [*batch.problems, *outcome.errors])
        return
    if storing.quiet:
        return
    for baseline in done:
        output = recipes.describe_output(baseline.output)
        screen.line(screen.safe_line(f"captured {baseline.id} -> {baseline.file}   {output}"))
        for text in describe_captured(baseline, storing.repeat is not None):
            screen.line(text)
        for note in baseline.notes:
            screen.line(f"  note: {screen.safe(note)}")
    failed = batch.failed + len(outcome.errors)
    _print_notes(replace(batch, new=new, failed=failed), storing, many, done, declared)
    words = ["--repeat", str(storing.repeat)] if (storing.repeat or 1) > 1 else []
    words += _compare_arguments(project, [one.draft.current for one in new], declared)
    rules = {baseline.id: [found.rule for found, _ in baseline.unlearnt if found.rule] for baseline in done}
    written = [(baseline.id, baseline.file) for baseline in done]
    folders = project.folders, project.eval_folders
    screen.next_commands(rule_commands(rules, cli.typed_command().operator))
    screen.next_commands(check_commands(written, *folders, words, cli.path_from_here(project)))


def _print_notes(
    batch: Batch,
    storing: StoringOptions,
    many: ManyOptions,
    done: Sequence[capturing.Captured] = (),
    declared: Collection[str] = (),
) -> None:
    if not storing.is_silent:
        for text in _notes(batch, many, done, declared):
            screen.line(screen.safe_line(text))


def _notes(
    batch: Batch, many: ManyOptions, done: Sequence[capturing.Captured], declared: Collection[str]
) -> Iterator[str]:
    """How many were captured, and what the operator may want to do about the others, secrets and the
    base_url."""
    project, config = batch.project, batch.project.config_file or CONFIG_NAME
    count = len(batch.new) if many.dry_run else len(done)
    if many.dry_run or count + batch.failed + batch.known != 1:
        parts = [f"{count:,} {'would be captured' if many.dry_run else 'captured'}"]
        if refused := sum(_is_client_error(baseline.output) for baseline in done):
            parts.append(f"{refused:,} of them with a 4xx status")
        parts += [f"{batch.failed:,} not"] if batch.failed else []
        parts += [f"{batch.known:,} captured already"] if batch.known else []
        yield ", ".join(parts)
    for note in batch.notes(done):
        yield f"note: {note}"
    if batch.unsafe:
        yield f"note: {count_noun(batch.unsafe, 'request')} that may write left out: --unsafe sends them"
    if batch.unselected:
        yield f"note: {batch.unselected:,} of another host or type left out: see --host and --type"
    used = {name for new in batch.new for name in names_in(new.draft.current)} & {*project.scope.secrets}
    if declared:
        yield f"note: {config} now takes {_in_braces(declared)} from the environment"
    if undeclared := used - {*project.config.variables, *declared}:
        replaced = f"note: {_in_braces(undeclared)}, in place of secrets"
        yield f"{replaced}: --write-config declares them in baselinekit.yaml, taken from the environment"
    declarations = {name: project.config.variables.get(name) for name in sorted(used)}
    variables = [
        re.sub(r"\W", "_", name) if declaration is None else getattr(declaration, "from_env", None)
        for name, declaration in declarations.items()
    ]
    unset = [f"{variable}=…" for variable in variables if variable and not os.environ.get(variable)]
    if unset and not many.dry_run:
        yield f"note: before the next compare: export {' '.join(unset)}"
    if shared := batch.shared_base():
        base, sharing_count, file_count = shared
        files_note = f" with {count_noun(file_count, 'file')} of the project" if file_count else ""
        hint = "--write-config puts it into baselinekit.yaml instead"
        who = f"{sharing_count:,} of {len(batch.new):,}" if sharing_count < len(batch.new) else "they"
        yield f"note: {who} share base_url: {base}{files_note}; {hint}"


def _in_braces(names: Iterable[str]) -> str:
    return ", ".join(f"{{{{{name}}}}}" for name in sorted(names))


def _is_client_error(output: Json) -> bool:
    """Whether an answer has a 4xx status: its request may be a mistake."""
    steps = output.values() if isinstance(output, dict) and "status" not in output else [output]
    statuses = [step.get("status") for step in steps if isinstance(step, dict) and "body" in step]
    return any(isinstance(status, int) and 400 <= status < 500 for status in statuses)


def _show_json(rows: dict[str, Json], batch: Batch, errors: Sequence[BaselinekitError]) -> None:
    left_out: list[Json] = []
    for problem in (problem for error in errors for problem in error.problems):
        file, line = (problem.place.file, problem.place.line) if problem.place else (None, None)
        what = {"code": problem.code, "message": problem.message, "hint": problem.hint}
        left_out.append({"file": file, "line": line, **what})
    counts = {"captured_already": batch.known, "unsafe": batch.unsafe, "unselected": batch.unselected}
    screen.show_json(json.dumps({**rows, "left_out": left_out, **counts}, default=str) + "\n")


def _finish(batch: Batch, outcome: capturing.CaptureResults, storing: StoringOptions) -> int:
    """Raise the errors of a capture. If it ended early, print how many are stored, and how to go on."""
    if outcome.done and outcome.left and not storing.as_json:
        message = f"{len(outcome.done):,} stored, {outcome.left:,} left"
        hint = f"the same command captures what is left: {screen.redact(cli.command_line(batch.project))}"
        screen.line(screen.safe_line(f"{message}; {hint}"), err=True)
    errors = [*batch.problems, *outcome.errors, *refusals(outcome.done)]
    if outcome.is_interrupted:
        for error in errors:
            screen.line(screen.safe(str(error)), err=True)
        raise KeyboardInterrupt
    if errors:
        raise worst_of(errors)
    return 0


# What a capture writes into the configuration, if the operator wants that.


def _write_base_url(batch: Batch, many: ManyOptions, storing: StoringOptions) -> bool:
    """Write the base_url that new baselines share; return whether it was written."""
    project = batch.project
    base, *counts = batch.shared_base() or (None, 0, 0)
    if many.write_config and not project.config.base_url:
        base = base or project.override_base_url
    question = f"{count_noun(sum(counts), 'request')} go to {base}: write it to baselinekit.yaml as base_url?"
    if not base or not (many.write_config or _is_confirmed(question, storing)):
        return False
    file = edit_config(project.root, project.config_file, [Edit(("base_url",), base)])
    if not storing.is_silent:
        screen.line(screen.safe_line(f"wrote base_url: {base} in {file}"))
    return True


def _is_confirmed(question: str, storing: StoringOptions) -> bool:
    """Ask at the terminal, if there is one."""
    if storing.is_silent or not screen.can_ask():
        return False
    return bool(click.confirm(screen.safe_line(question), default=True))


def _declare_secrets(project: Project, new: Sequence[capturing.NewBaseline], every: bool) -> list[str]:
    """Declare the secrets in new baselines that the operator named, or every one, so that from now on only
    the environment has to provide them. Return their names."""
    if project.operator.config_from is not None:
        return []
    edits = []
    for name in sorted({*project.scope.secrets} - {*project.config.variables}):
        users = [one.draft.current for one in new if name in names_in(one.draft.current)]
        if users and (every or name in project.operator.secrets):
            hosts = sorted({host for recipe in users if (host := recipes.host_of(recipe, project))})
            entry: dict[str, Json] = {"from_env": re.sub(r"\W", "_", name), "secret": True}
            edits.append(Edit(("variables", name), entry | ({"hosts": hosts} if hosts else {})))
    if edits:
        edit_config(project.root, project.config_file, edits)
    return [str(edit.path[-1]) for edit in edits]


def _offer_to_name(project: Project, asked: Sequence[Recipe], allow: bool, storing: StoringOptions) -> None:
    """Add the origins to the configuration if `--allow` or the user at the terminal wants that; else print
    how."""
    for origin in _unnamed(project, asked):
        question = f"in CI {origin} must be named in baselinekit.yaml: add it now?"
        if allow or _is_confirmed(question, storing):
            file = add_origin(project.root, project.config_file, origin)
            if not storing.is_silent:
                screen.line(screen.safe_line(f"wrote {file}: CI may send requests there too"))
        elif not storing.is_silent:
            note = f"note: in CI {origin} gets requests only if baselinekit.yaml names it"
            example = f"`variables: {{internal_url: {origin}}}`"
            screen.line(screen.safe_line(f"{note}: capture --allow writes that, such as {example}"))


def _compare_arguments(project: Project, asked: Sequence[Recipe], declared: Sequence[str]) -> list[str]:
    """The arguments that a compare needs because the configuration does not state them. `declared`: the
    variables that have just been added to it."""
    scope, words = project.scope, []
    used = {*names_in(with_names(list(asked), scope))} - {*project.config.variables, *declared}
    for name in sorted(used & set(scope.secrets)):
        words += ["--secret", name]
    bases = [recipe.execution.base_url for recipe in asked if kind_of(recipe).asks_address]
    base = project.override_base_url or (next(filter(None, bases), None) if words else None)
    if bases and base:
        words += ["--base-url", base]
    if project.operator.environment:
        words += ["--environment", project.operator.environment]
    for name in sorted(used & set(scope.values)):
        words += ["--var", f"{name}={scope.values[name]}"]
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
    return capture_batch(lambda: batch, options.storing, settings, many, recording)


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

    def read() -> Batch:
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
        return replace(batch, asking=asking)

    return capture_batch(read, options.storing, settings, options.many, cli.RecordingOptions())


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
    note = recipes.how_to_allow(argv[0], project.commands.get(argv[0]), current["input"].get("env", ()))
    id = slug(" ".join(with_names(list(argv), project.scope)))
    record = options.new.record(id, current, recipes.parse_path_rules(options.new.rules))
    return _capture_one(project, record, group, options, [note] if note else [])


@cli.command(recipes.DraftOptions, name="")
def capture_files(options: recipes.DraftOptions) -> int:
    from baselinekit.cli.importing import reading  # needs evals, which requests do not

    settings = capture_options(options.storing, options.group)
    read = reading(options, settings)
    return capture_batch(read, options.storing, settings, options.many, options.recording)


def capture_options(
    storing: StoringOptions, group: str | None, id_is_chosen: bool = False
) -> capturing.CaptureOptions:
    return capturing.CaptureOptions(
        placeholders=cli.parse_pairs("--placeholder", storing.placeholders, "PATH=TEXT"),
        version=storing.version,
        group=group,
        allow_error_status=storing.allow_error_status,
        allow_empty=storing.allow_empty,
        allow_failing=storing.allow_failing,
        allow_secrets=storing.allow_secrets,
        repeat=storing.repeat,
        id_is_chosen=id_is_chosen,
        exact=storing.exact,
        hide_secrets="secrets" in storing.like,
        accept_lookalikes=lambda lookalikes: "ids" in storing.like or _is_accepted(lookalikes, storing),
    )


def _is_accepted(lookalikes: Sequence[Volatile], storing: StoringOptions) -> bool:
    """Ask one question about all values that look like ids, if there is a terminal."""
    if storing.is_silent or not screen.can_ask():
        return False
    for lookalike in lookalikes[:_MOST_PATHS]:
        screen.line(screen.safe_line(f"  {render(lookalike.path)}  {_short(lookalike.values[0])}"))
    subject, stored = f"these {len(lookalikes):,} look like ids", "placeholders"
    if len(lookalikes) == 1:
        subject, stored = "it looks like an id", "a placeholder"
    return bool(click.confirm(f"{subject} and did not vary: store {stored}?", default=False))


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

"""What `baselinekit capture` does: replay, learn what varies, store, and suggest the next commands."""

import json
import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from baselinekit.cli import recipes, screen
from baselinekit.cli.capture_options import (
    AskingOptions,
    CommandOptions,
    CurlOptions,
    DraftOptions,
    HttpOptions,
    PromptOptions,
    SkillOptions,
    StoringOptions,
)
from baselinekit.cli.clients import real_context, with_models, with_progress
from baselinekit.cli.options import (
    RecordingOptions,
    command,
    command_line,
    parse_pairs,
    path_from_here,
    project_of,
    typed_command,
)
from baselinekit.cli.recipes import (
    declare_secrets,
    http_id,
    http_recipe,
    open_request,
    parse_path_rules,
    with_files,
)
from baselinekit.commands.capture import (
    Captured,
    CaptureOptions,
    CaptureResults,
    NewBaseline,
    capture,
    group_of,
    named_new,
    unnamed_origins,
)
from baselinekit.commands.context import RunContext
from baselinekit.commands.importing import worst_of
from baselinekit.commands.loading import load
from baselinekit.commands.naming import slug
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, NothingSelected, Place, Problem
from baselinekit.kinds.table import KINDS, kind_of
from baselinekit.learning.evidence import MOST_VALUES
from baselinekit.learning.templating import with_names
from baselinekit.learning.varying import Volatile
from baselinekit.model.recipes import Recipe
from baselinekit.model.values import Json
from baselinekit.report.differences import shorten_pair
from baselinekit.report.next_commands import check_commands, lies_in, rule_commands
from baselinekit.report.wording import list_first
from baselinekit.secrets.variables import names_in
from baselinekit.store.project import CONFIG_NAME
from baselinekit.store.reading import parse_record
from baselinekit.store.writing import add_origin
from baselinekit.structs import replace
from baselinekit.values.paths import render
from baselinekit.values.texts import count_noun, mask_and_clip, no_mask

# The report of `capture --repeat`: each path that varies, its placeholder, and the reason.


_MOST_PATHS = 40
_MOST_NAMED = 3
_LONGEST_VALUE = 38
_LONGEST_TEMPLATE = 160


def describe_captured(captured: Captured, is_counted: bool) -> Iterator[str]:
    """The lines below that of a captured baseline. That replays agree is only said if `--repeat` was given
    (`is_counted`)."""
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


def refusals(captured: Sequence[Captured]) -> list[BaselinekitError]:
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


def document(captured: Captured) -> dict[str, Json]:
    """A captured baseline as JSON, for `--json`."""
    facts: dict[str, Json] = {"id": captured.id, "file": captured.file, "seconds": round(captured.seconds, 3)}
    if captured.lookalikes:
        facts["lookalikes"] = [*map(lookalike_as_json, captured.lookalikes)]
    if captured.replays == 1 and not captured.learnt:
        return facts
    volatile = [
        learnt_as_json(volatile) | {"line": place and place.line} for volatile, place in captured.learnt
    ]
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
    return facts | {"replays": captured.replays, "volatile": volatile, "refused": refused}


# capture --allow: add the hosts of new baselines to the configuration, or say what CI would refuse.


def allowing(project: Project, recipes: Sequence[Recipe], allow: bool) -> Project:
    """The project that may also send requests to the origins which `--allow` adds to the configuration."""
    from baselinekit.clients.http import addresses_soon

    for url in unnamed_origins(project, recipes, addresses_soon) if allow else ():
        project = replace(project, trust=project.trust.allowing(url))
    return project


def offer_to_name(project: Project, recipes: Sequence[Recipe], allow: bool, options: StoringOptions) -> None:
    """Add the origins to the configuration if `--allow` or the user at the terminal says so; else say how."""
    from baselinekit.clients.http import addresses_soon

    for origin in unnamed_origins(project, recipes, addresses_soon):
        if allow or (not options.is_silent and _is_confirmed(origin)):
            file = add_origin(project.root, project.config_file, origin)
            if not options.is_silent:
                screen.line(screen.safe_line(f"wrote {file}: CI may send requests there too"))
        elif not options.is_silent:
            note = f"note: in CI {origin} gets requests only if baselinekit.yaml names it"
            example = f"`variables: {{internal_url: {origin}}}`"
            screen.line(screen.safe_line(f"{note}: capture --allow writes that, such as {example}"))


def _is_confirmed(origin: str) -> bool:
    """Ask at the terminal, if there is one."""
    question = f"in CI {origin} must be named in baselinekit.yaml: add it now?"
    return screen.can_ask() and click.confirm(screen.safe_line(question), default=True)


# `baselinekit capture http|prompt|skill|command|from`.


def capture_http(options: HttpOptions | CurlOptions) -> int:
    project, request = open_request(options)
    current = request.current
    typed_base = str(current["execution"].get("base_url", ""))
    named_project = replace(project, trust=project.trust.naming(typed_base))
    asked_recipes = [http_recipe(current)]
    named_project = allowing(named_project, asked_recipes, options.allow)
    record = options.new.record(http_id(current), current, parse_path_rules(options.new.rules))
    group = options.new.group or group_of(parse_record(record), project)
    record["current"] = with_files(current, group, project)
    notes = [f"left out: {part}" for part in request.dropped]
    if options.many.dry_run:
        return _show(named_project, record, group, options, notes)
    if request.is_insecure and named_project.ceilings.verify:
        named_project = named_project.trusting_any_certificate()
        notes.append("to compare it, add `http: {verify: false}` to baselinekit.yaml: no file may say so")
    code = capture_and_print(named_project, record, group, options, notes=notes)
    offer_to_name(project, asked_recipes, options.allow, options.storing)
    return code


def _show(
    project: Project,
    record: dict[str, Any],
    group: str,
    options: HttpOptions | CurlOptions,
    notes: Sequence[str],
) -> int:
    """Print the request that would be sent."""
    settings = capture_options(options.storing, group, options.new.id is not None)
    draft = named_new(project, record, settings).draft
    address = kind_of(draft.current).base_url(draft.current, project.override_base_url, project.base_url)
    target = kind_of(draft.current).target(draft.current, project.redactor.mask, address)
    if options.storing.as_json:
        preview = {"would_capture": [{"id": draft.id, "request": target, "notes": list(notes)}]}
        screen.show_json(json.dumps(preview) + "\n")
        return 0
    screen.line(screen.safe_line(f"{draft.id}   {target}"))
    for note in notes:
        screen.line(f"  note: {screen.safe(note)}")
    screen.line("1 would be captured")
    return 0


@command(SkillOptions, name="skill", short_help="A skill that the configuration names.")
def capture_skill(options: SkillOptions) -> int:
    project = project_of(options.project)
    group = options.new.group or options.skill_name
    current = recipes.skill(options, group, project)
    return _capture_asking(project, options, slug(options.skill_name), group, current)


@command(PromptOptions, name="prompt", short_help="A prompt: what a model answers.")
def capture_prompt(options: PromptOptions) -> int:
    project = project_of(options.project)
    name = slug(os.path.splitext(os.path.basename(options.file))[0])
    group = options.new.group or name
    return _capture_asking(project, options, name, group, recipes.prompt(options, group, project))


def _capture_asking(
    project: Project, options: AskingOptions, id: str, group: str, current: dict[str, Any]
) -> int:
    numeric: dict[str, Json] = {"type": "numeric"} if options.grading.scores else {}
    record = options.new.record(id, current, numeric | parse_path_rules(options.new.rules))
    return capture_and_print(project, record, group, options, options.recording)


@command(CommandOptions, name="command", short_help="A program: its exit code and what it prints.")
def capture_command(options: CommandOptions) -> int:
    project = project_of(replace(options.project, allow_exec=True))  # the operator typed the program's name
    argv = options.argv
    group = options.new.group or slug(os.path.basename(argv[0]))
    current = recipes.command(options, project.way_back(group))
    note = recipes.how_to_allow(argv[0], project.commands.get(argv[0]), current["input"].get("env", ()))
    id = slug(" ".join(with_names(list(argv), project.scope)))
    record = options.new.record(id, current, parse_path_rules(options.new.rules))
    return capture_and_print(project, record, group, options, notes=[note] if note else [])


def capture_drafts(options: DraftOptions) -> int:
    project = project_of(options.project)
    original, loaded = project, load(project, options.paths)
    drafts = [draft for draft in loaded if draft.baseline is None]
    if not drafts and loaded:
        message = "every baseline there already has an output, and capture does not overwrite"
        hint = "to accept new answers: baselinekit refresh PATH --replay"
        raise InvalidInput(Problem("BK520", message, hint))
    if not drafts:
        hint = "a file needs an id and a `current:`"
        raise NothingSelected(Problem("BK509", "there is nothing to capture there", hint))
    _refuse_unread(project, [draft.source.file for draft in drafts])
    project = allowing(project, [draft.current for draft in drafts], options.allow)
    with capture_context(project, options.storing, options.recording) as context:
        settings = replace(capture_options(options.storing), jobs=options.many.jobs)
        wanted = [NewBaseline(draft, os.path.dirname(draft.source.file)) for draft in drafts]
        outcome = capture(project, wanted, settings, context)
    if outcome.done:
        done_ids = {baseline.id for baseline in outcome.done}
        asked_recipes = [draft.current for draft in drafts if draft.id in done_ids]
        bases = [recipe.execution.base_url for recipe in asked_recipes if kind_of(recipe).asks_address]
        words = compare_arguments(project, asked_recipes, bases)
        print_captured(project, outcome.done, options.storing, words)
        if not outcome.left:
            offer_to_name(original, asked_recipes, options.allow, options.storing)
        client_errors = count_client_errors(outcome.done)
        if client_errors and not options.storing.is_silent:
            screen.line(f"{len(outcome.done):,} captured, {client_errors}")
    return finish(project, outcome, options.storing)


def _refuse_unread(project: Project, files: Sequence[str]) -> None:
    """Refuse drafts where neither `compare` nor `run` looks: what was captured would never be compared."""
    problems = []
    for file in dict.fromkeys(files):
        if not lies_in(file, (*project.folders, *project.eval_folders)):
            folder = project.folders[0]
            message = f"a compare does not look there, only in {', '.join(project.folders)}"
            is_there = os.path.isdir(os.path.join(project.root, folder))
            create = "" if is_there else f"mkdir -p {shlex.quote(folder)} && "
            move = shlex.join(["mv", file, os.path.join(folder, os.path.basename(file))])
            hint = f"{create}{move}, or name its folder in {CONFIG_NAME} (`baselines:`)"
            problems.append(Problem("BK529", message, hint, Place(file)))
    if problems:
        raise InvalidInput(*problems)


@contextmanager
def capture_context(
    project: Project, storing: StoringOptions, recording: RecordingOptions | None = None
) -> Iterator[RunContext]:
    action = "" if storing.is_silent else "replaying"
    with real_context() as context, with_progress(context, action) as context:
        yield with_models(context, project, recording or RecordingOptions())


def finish(
    project: Project,
    outcome: CaptureResults,
    storing: StoringOptions,
    problems: Iterable[BaselinekitError] = (),
) -> int:
    """Raise the errors of a capture. If it ended early, print how many are stored, and how to go on."""
    if outcome.done and outcome.left and not storing.as_json:
        message = f"{len(outcome.done):,} stored, {outcome.left:,} left"
        hint = f"the same command captures what is left: {screen.redact(command_line(project))}"
        screen.line(screen.safe_line(f"{message}; {hint}"), err=True)
    errors = [*problems, *outcome.errors, *refusals(outcome.done)]
    if outcome.is_interrupted:
        for error in errors:
            screen.line(screen.safe(str(error)), err=True)
        raise KeyboardInterrupt
    if errors:
        raise worst_of(errors)
    return 0


def capture_options(
    storing: StoringOptions, group: str | None = None, id_is_chosen: bool = False
) -> CaptureOptions:
    if storing.exact and ("ids" in storing.like or (storing.repeat or 1) > 1):
        conflict = "--placeholder-like ids" if "ids" in storing.like else "--repeat"
        message = f"--exact stores no placeholder, so {conflict} has nothing to do"
        raise InvalidInput(Problem("BK508", message, "leave one of them out"))
    return CaptureOptions(
        placeholders=parse_pairs("--placeholder", storing.placeholders, "PATH=TEXT"),
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


def capture_and_print(
    project: Project,
    record: dict[str, Any],
    group: str | None,
    options: HttpOptions | CurlOptions | AskingOptions | CommandOptions,
    recording: RecordingOptions | None = None,
    notes: Sequence[str] = (),
) -> int:
    timeout, granted = record["current"]["execution"].get("timeout"), project.ceilings.timeout
    project = replace(project, ceilings=project.ceilings.granting(timeout))
    if project.ceilings.timeout > granted:
        line = f"`limits: {{timeout: {timeout:g}}}`"
        notes = [*notes, f"to compare it, add {line} to baselinekit.yaml: a file may ask for {granted:g} s"]
    settings = capture_options(options.storing, group, options.new.id is not None)
    new = named_new(project, record, settings)
    with capture_context(project, options.storing, recording) as context:
        outcome = capture(project, [new], settings, context)
    if outcome.done:
        execution = new.current["execution"]
        bases = [execution.get("base_url")] if KINDS[execution["type"]].asks_address else []
        declared = declare_secrets(project, options.project, new.current)
        notes = [*outcome.done[0].notes, *notes, *describe_declared(declared, project)]
        captured = replace(outcome.done[0], notes=tuple(notes))
        words = compare_arguments(project, new.current, bases, declared)
        print_captured(project, [captured], options.storing, words)
    return finish(project, outcome, options.storing)


def describe_declared(names: Sequence[str], project: Project) -> Iterator[str]:
    """Notes on the variables written into the configuration, and on what the next compare needs."""
    for name in names:
        note = f"{project.config_file or CONFIG_NAME} now takes {{{{{name}}}}} from the environment"
        yield f"{note}{'' if os.environ.get(name) else f': export {name}=…'}"


def compare_arguments(
    project: Project, asked_recipes: Any, bases: Sequence[str | None], declared: Sequence[str] = ()
) -> list[str]:
    """The arguments that a compare needs because the configuration does not state them. `bases`: the base_url
    in the file of each request; `declared`: variables that have just been added to the configuration."""
    scope, words = project.scope, []
    used = set(names_in(with_names(asked_recipes, scope))) - {*project.config.variables, *declared}
    for name in sorted(used & set(scope.secrets)):
        words += ["--secret", name]
    base = project.override_base_url or (next(filter(None, bases), None) if words else None)
    if bases and base:
        words += ["--base-url", base]
    if project.operator.environment:
        words += ["--environment", project.operator.environment]
    for name in sorted(used & set(scope.values)):
        words += ["--var", f"{name}={scope.values[name]}"]
    return words


def count_client_errors(captured: Sequence[Captured]) -> str:
    """Return how many of the captured answers have a 4xx status: they may be mistakes in the requests."""
    number = sum(_is_client_error(baseline.output) for baseline in captured)
    return f"{number:,} of them with a 4xx status" if number else ""


def _is_client_error(output: Json) -> bool:
    steps = output.values() if isinstance(output, dict) and "status" not in output else [output]
    statuses = [step.get("status") for step in steps if isinstance(step, dict) and "body" in step]
    return any(isinstance(status, int) and 400 <= status < 500 for status in statuses)


def print_captured(
    project: Project,
    captured: Sequence[Captured],
    options: StoringOptions,
    arguments: Iterable[str],
    notes: Iterable[str] = (),
) -> None:
    """Print the captured baselines. `arguments`: those of the next compare; `notes`: about all of them."""
    if options.as_json:
        documents = [document(baseline) for baseline in captured]
        screen.show_json(json.dumps(documents, default=str) + "\n")
    elif not options.quiet:
        for baseline in captured:
            output = recipes.describe_output(baseline.output)
            screen.line(screen.safe_line(f"captured {baseline.id} -> {baseline.file}   {output}"))
            for text in describe_captured(baseline, options.repeat is not None):
                screen.line(text)
            for note in baseline.notes:
                screen.line(f"  note: {screen.safe(note)}")
        for note in notes:
            screen.line(screen.safe_line(f"note: {note}"))
        words = [*(["--repeat", str(options.repeat)] if (options.repeat or 1) > 1 else []), *arguments]
        written = [(baseline.id, baseline.file) for baseline in captured]
        folders, from_here = (project.folders, project.eval_folders), path_from_here(project)
        rules = {
            baseline.id: [found.rule for found, _ in baseline.unlearnt if found.rule] for baseline in captured
        }
        screen.next_commands(rule_commands(rules, typed_command().operator))
        screen.next_commands(check_commands(written, *folders, words, from_here))

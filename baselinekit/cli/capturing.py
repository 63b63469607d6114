"""What `baselinekit capture` does: replay, learn what varies, store, and say what to type next."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import click

from baselinekit.cli import recipes, screen
from baselinekit.cli.capture import (
    CommandOptions,
    DraftOptions,
    HttpOptions,
    PromptOptions,
    SkillOptions,
    StoringOptions,
)
from baselinekit.cli.clients import real_context, with_models, with_progress
from baselinekit.cli.options import RecordingOptions, command_line, parse_pairs, path_from_here, project_of
from baselinekit.cli.recipes import parse_rules
from baselinekit.cli.requests import declare_secrets, http_id, http_recipe, open_typed, with_files
from baselinekit.errors import (
    BaselinekitError,
    CannotReplay,
    InvalidInput,
    NothingSelected,
    Place,
    Problem,
    Refused,
)
from baselinekit.kinds.table import KINDS, kind_of
from baselinekit.model.recipes import Recipe
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import Token, split
from baselinekit.refresh.learning import Volatile
from baselinekit.replaying.client import addresses_soon
from baselinekit.report.next_commands import check_commands
from baselinekit.store.project import CONFIG_NAME
from baselinekit.store.reading import parse_record
from baselinekit.store.writing import name_origin
from baselinekit.texts import already_masked, clipped, many
from baselinekit.tree.paths import render
from baselinekit.variables import names_in
from baselinekit.workflow import capture
from baselinekit.workflow.capture import (
    Captured,
    CapturedTogether,
    capture_all,
    capture_new,
    check_draft,
    group_of,
    named_new,
)
from baselinekit.workflow.known_good import CaptureOptions
from baselinekit.workflow.learning import MOST_VALUES, with_names
from baselinekit.workflow.loading import load
from baselinekit.workflow.naming import slug
from baselinekit.workflow.project import Project

# What `capture` tells at its end: placeholders learnt, and hosts that the configuration has to allow.


# What `capture --repeat` learnt, as it is shown: each path that varies, what stands for it now, and why.


_MOST_PATHS = 40
_MOST_NAMED = 3
_LONGEST_VALUE = 38
_LONGEST_TEMPLATE = 160
_MOST_SHOWN = 6
_WORDS_BESIDE = 32


def lines(one: Captured, is_counted: bool) -> Iterator[str]:
    """What there is to say below the line of a baseline that was captured; that replays agree only where
    somebody said how many (`is_counted`)."""
    if one.lookalikes:
        yield screen.safe_line(f"  note: {describe_lookalikes(one.lookalikes, one.replays)}")
    if not (one.learnt or one.unlearnt) and (one.replays == 1 or not is_counted):
        return
    count = len(one.learnt) + len(one.unlearnt)
    varies = f"{count} path{'s' * (count != 1)} var{'y' if count != 1 else 'ies'}" if count else "they agree"
    unlearnt = f", {len(one.unlearnt)} of them without a placeholder" if one.unlearnt else ""
    if one.replays == 1:
        are_moments = all("of now" in learnt.found.proposal.reason for learnt in one.learnt)
        what = "a moment of now" if are_moments else "what is made anew each time"
        varies = f"1 path holds {what}" if count == 1 else f"{count} paths hold {what}"
    yield f"  {many(one.replays, 'replay')}: {varies}{unlearnt}"
    for learnt in one.learnt[:_MOST_PATHS]:
        yield from describe_learnt(learnt.found, learnt.place)
    if len(one.learnt) > _MOST_PATHS:
        yield f"  … and {len(one.learnt) - _MOST_PATHS:,} more"


def describe_learnt(found: Volatile, where: Place | None) -> Iterator[str]:
    """A path with what stands for it now, why, and examples of what was seen there."""
    rows = f" in {len(found.places)} rows" if len(found.places) > 1 else ""
    place = f"   {where.file}:{where.line}" if where else ""
    yield screen.safe_line(f"  {render(found.path)}{rows}  {placeholders_of(found.proposal.text)}{place}")
    values = [_short(value) for value in found.values[:MOST_VALUES]]
    more = ", …" if len(found.values) > MOST_VALUES else ""
    is_cut_alike = len(values) > 1 and len(set(values)) == 1 and values[0].endswith("…")
    shown = "" if is_cut_alike else f": {', '.join(values)}{more}"  # long texts that differ further on
    yield screen.safe_line(f"    {found.proposal.reason}{shown}")


def placeholders_of(text: str) -> str:
    """What stands at a place now. Of a long text the placeholders, each between the words beside it."""
    if len(text) <= _LONGEST_TEMPLATE:
        return text
    parts, written, count = split(text), "", 0
    for number, part in enumerate(parts):
        if isinstance(part, Token):
            count += 1
            written += part.text if count <= _MOST_SHOWN else ""
        elif count < _MOST_SHOWN or number == len(parts) - 1:
            written += _beside(part, number > 0, count < _MOST_SHOWN and number < len(parts) - 1)
    return f"{written} and {count - _MOST_SHOWN} more" if count > _MOST_SHOWN else written


def _beside(literal: str, follows: bool, precedes: bool) -> str:
    """The words of a text that stand beside a placeholder on the same line."""
    if len(literal) <= 2 * _WORDS_BESIDE and "\n" not in literal and (follows or precedes):
        return literal
    after = clipped(literal.partition("\n")[0], _WORDS_BESIDE, already_masked, counted=False)
    before = literal.rpartition("\n")[2][-_WORDS_BESIDE:]
    return f"{after.rstrip('…') if follows else ''} … {before if precedes else ''}"


def describe_lookalikes(found: Sequence[Volatile], replays: int) -> str:
    """What looks like an id and stays as it is."""
    names = ", ".join(render(one.path) for one in found[:_MOST_NAMED])
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    looks, compared = "look like ids", "they are compared as they came"
    if len(found) == 1:
        looks, compared = "looks like an id", "it is compared as it came"
    same = ""
    if replays > 1:
        same = f" and {'was' if len(found) == 1 else 'were'} the same {_TIMES.get(replays, 'each time')}"
    return f"{names}{more} {looks}{same}: {compared}; --placeholder-like ids stores placeholders"


_TIMES = {2: "twice"}


def _short(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return clipped(text, _LONGEST_VALUE, already_masked, counted=False)


def refusals(captured: Sequence[Captured]) -> list[BaselinekitError]:
    """What varies and could not be learnt. The file is there, with a compare that will fail there."""
    problems = [unlearnt.problem for one in captured for unlearnt in one.unlearnt]
    return [CannotReplay(*problems)] if problems else []


def learnt_as_json(found: Volatile) -> dict[str, Json]:
    return {
        "path": render(found.path),
        "placeholder": found.proposal.text,
        "reason": found.proposal.reason,
        "values": list(found.values[:MOST_VALUES]),
        "places": [render(place) for place in found.places],
    }


def document(one: Captured) -> dict[str, Json]:
    """The same for programs."""
    about: dict[str, Json] = {"id": one.id, "file": one.file, "seconds": round(one.seconds, 3)}
    if one.lookalikes:
        about["lookalikes"] = [
            {"path": render(same.path), "placeholder": same.proposal.text, "reason": same.proposal.reason}
            for same in one.lookalikes
        ]
    if one.replays == 1 and not one.learnt:
        return about
    return about | {
        "replays": one.replays,
        "volatile": [
            learnt_as_json(learnt.found) | {"line": learnt.place.line if learnt.place else None}
            for learnt in one.learnt
        ],
        "refused": [
            {
                "path": render(unlearnt.found.path),
                "kind": unlearnt.found.kind,
                "what": unlearnt.found.what,
                "mend": unlearnt.found.hint,
                "line": unlearnt.place.line if unlearnt.place else None,
            }
            for unlearnt in one.unlearnt
        ],
    }


# capture --allow: the configuration names the hosts of new baselines, or it is said what CI would refuse.


def unnamed_origins(project: Project, recipes: Sequence[Recipe]) -> list[str]:
    """Where they go, as far as the configuration does not name it."""
    return capture.unnamed_origins(project, recipes, addresses_soon)


def offer(project: Project, recipes: Sequence[Recipe], allow: bool, options: StoringOptions) -> None:
    """Name them where the operator says so, now or at the terminal; else say how."""
    for origin in unnamed_origins(project, recipes):
        if allow or (not options.is_silent and _is_confirmed(origin)):
            written = name_origin(project.root, project.config_file, origin)
            if not options.is_silent:
                screen.line(screen.safe_line(f"wrote {written}: CI may send requests there too"))
        elif not options.is_silent:
            what = f"note: in CI {origin} gets requests only if baselinekit.yaml names it"
            how = f"`variables: {{internal_url: {origin}}}`"
            screen.line(screen.safe_line(f"{what}: capture --allow writes that, such as {how}"))


def _is_confirmed(origin: str) -> bool:
    """One key, where somebody is there to press it."""
    question = f"in CI {origin} must be named in baselinekit.yaml: add it now?"
    return screen.can_ask() and click.confirm(screen.safe_line(question), default=True)


# `baselinekit capture http|prompt|skill|command|from`.


def capture_http(options: HttpOptions) -> int:
    project, request = open_typed(options)
    current = request.current
    typed = project.naming(str(current["execution"].get("base_url", "")))  # by the operator
    asked = [http_recipe(current)]
    for url in unnamed_origins(project, asked) if options.allow else ():
        typed = typed.allowing(url)
    record = options.new.record(http_id(current), current, parse_rules(options.new.rules))
    group = options.new.group or group_of(parse_record(record, project.root), project)
    record["current"] = with_files(current, group, project)
    notes = [f"left out: {what}" for what in request.dropped]
    if options.many.dry_run:
        return _show(typed, record, group, options, notes)
    if request.is_insecure and typed.ceilings.verify:
        typed = typed.trusting_any_certificate()
        notes.append("to compare it, add `http: {verify: false}` to baselinekit.yaml: no file may say so")
    code = capture_and_print(typed, record, group, options, notes=notes)
    offer(project, asked, options.allow, options.storing)
    return code


def _show(
    project: Project, record: dict[str, Any], group: str, options: HttpOptions, notes: Sequence[str]
) -> int:
    """What would be asked."""
    wanted = capture_options(options.storing, group, options.new.id is not None)
    draft = named_new(project, record, wanted).draft
    address = kind_of(draft.current).base_url(draft.current, project.override_base_url, project.base_url)
    target = kind_of(draft.current).target(draft.current, project.redactor.mask, address)
    if options.storing.as_json:
        told = {"would_capture": [{"id": draft.id, "request": target, "notes": list(notes)}]}
        screen.show_json(json.dumps(told) + "\n")
        return 0
    screen.line(screen.safe_line(f"{draft.id}   {target}"))
    for note in notes:
        screen.line(f"  note: {screen.safe(note)}")
    screen.line("1 would be captured")
    return 0


def capture_skill(options: SkillOptions) -> int:
    project = project_of(options.project)
    name = options.skill_name
    group = options.new.group or name
    current = recipes.skill(options, group, project)
    rules = parse_rules(options.new.rules, options.cost, bool(options.grading.scores))
    record = options.new.record(slug(name), current, rules)
    return capture_and_print(project, record, group, options, options.recording)


def capture_prompt(options: PromptOptions) -> int:
    project = project_of(options.project)
    name = slug(os.path.splitext(os.path.basename(options.file))[0])
    group = options.new.group or name
    current = recipes.prompt(options, group, project)
    rules = parse_rules(options.new.rules, options.cost, bool(options.grading.scores))
    return capture_and_print(
        project, options.new.record(name, current, rules), group, options, options.recording
    )


def capture_command(options: CommandOptions) -> int:
    project = project_of(replace(options.project, allow_exec=True))  # the operator has just typed its name
    argv = options.argv
    group = options.new.group or slug(os.path.basename(argv[0]))
    current = recipes.command(options, project.way_back(group))
    note = recipes.how_to_allow(argv[0], project.commands.get(argv[0]), current["input"].get("env", ()))
    id = slug(" ".join(with_names(list(argv), project.scope)))
    record = options.new.record(id, current, parse_rules(options.new.rules))
    return capture_and_print(project, record, group, options, notes=[note] if note else [])


def capture_drafts(options: DraftOptions) -> int:
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
    for url in unnamed_origins(project, asked) if options.allow else ():
        project = project.allowing(url)
    doing = "" if options.storing.is_silent else "replaying"
    with real_context() as context, with_progress(context, doing) as context:
        context = with_models(context, project, options.recording)
        for draft in drafts:
            check_draft(project, draft, context)
        wanted = replace(capture_options(options.storing), jobs=options.many.jobs)
        found = capture_all(project, drafts, wanted, context)
    captured, errors = found.done, [*found.errors]
    if captured:
        done = {one.id for one in captured}
        asked = [draft.current for draft in drafts if draft.id in done]
        bases = [recipe.execution.base_url for recipe in asked if kind_of(recipe).asks_address]
        print_captured(project, captured, options.storing, compare_words(project, asked, bases))
        if not found.left:
            offer(named, asked, options.allow, options.storing)
    tell_left(project, found, options.storing)
    errors += refusals(captured)
    end_if_interrupted(found, errors)
    if errors:
        worst = next((Refused for error in errors if isinstance(error, Refused)), CannotReplay)
        raise worst(*(problem for error in errors for problem in error.problems))
    return 0


def tell_left(project: Project, found: CapturedTogether, storing: StoringOptions) -> None:
    """Where it ended before all were asked: what is stored, and how to go on."""
    if found.left and not storing.as_json:
        what = f"{len(found.done):,} stored, {found.left:,} left"
        how = f"the same command captures what is left: {screen.redact(command_line(project))}"
        screen.line(screen.safe_line(f"{what}; {how}"), err=True)


def end_if_interrupted(found: CapturedTogether, errors: Sequence[BaselinekitError]) -> None:
    """As whoever stopped it expects; what else went wrong is told first."""
    if found.is_interrupted:
        for error in errors:
            screen.line(screen.safe(str(error)), err=True)
        raise KeyboardInterrupt


def capture_options(
    storing: StoringOptions, group: str | None = None, id_is_chosen: bool = False
) -> CaptureOptions:
    if storing.exact and ("ids" in storing.like or (storing.repeat or 1) > 1):
        other = "--placeholder-like ids" if "ids" in storing.like else "--repeat"
        what = f"--exact stores no placeholder, so {other} has nothing to do"
        raise InvalidInput(Problem("BK508", what, "leave one of them out"))
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
        accept_lookalikes=lambda found: "ids" in storing.like or _is_accepted(found, storing),
    )


def _is_accepted(found: Sequence[Volatile], storing: StoringOptions) -> bool:
    """One question about all that looks like an id, where somebody is there to answer it."""
    if storing.is_silent or not screen.can_ask():
        return False
    for one in found[:_MOST_PATHS]:
        screen.line(screen.safe_line(f"  {render(one.path)}  {_short(one.values[0])}"))
    looks = "it looks like an id" if len(found) == 1 else f"these {len(found):,} look like ids"
    question = f"{looks} and did not vary: store {'a placeholder' if len(found) == 1 else 'placeholders'}?"
    return bool(click.confirm(question, default=False))


def capture_and_print(
    project: Project,
    record: dict[str, Any],
    group: str | None,
    options: HttpOptions | SkillOptions | PromptOptions | CommandOptions,
    recording: RecordingOptions | None = None,
    notes: Sequence[str] = (),
) -> int:
    timeout, granted = record["current"]["execution"].get("timeout"), project.ceilings.timeout
    project = project.granting(timeout)
    if project.ceilings.timeout > granted:
        line = f"`limits: {{timeout: {timeout:g}}}`"
        notes = [*notes, f"to compare it, add {line} to baselinekit.yaml: a file may ask for {granted:g} s"]
    doing = "" if options.storing.is_silent else "replaying"
    with real_context() as context, with_progress(context, doing) as context:
        context = with_models(context, project, recording or RecordingOptions())
        wanted = capture_options(options.storing, group, options.new.id is not None)
        captured = capture_new(project, record, wanted, context)
    execution = record["current"]["execution"]
    bases = [execution.get("base_url")] if KINDS[execution["type"]].asks_address else []
    current = with_names(record["current"], project.scope)
    declared = declare_secrets(project, options.project, current)
    notes = [*notes, *describe_declared(declared, project)]
    captured = replace(captured, notes=(*captured.notes, *notes))
    print_captured(project, [captured], options.storing, compare_words(project, current, bases, declared))
    for error in refusals([captured]):
        raise error
    return 0


def describe_declared(names: Sequence[str], project: Project) -> Iterator[str]:
    """What was written into the configuration, and what the next compare needs."""
    for name in names:
        where = f"{project.config_file or CONFIG_NAME} now takes {{{{{name}}}}} from the environment"
        yield f"{where}{'' if os.environ.get(name) else f': export {name}=…'}"


def compare_words(
    project: Project, asked: Any, bases: Sequence[str | None], declared: Sequence[str] = ()
) -> list[str]:
    """What a compare has to be told as well, because no configuration says it. `bases`: of each request the
    address that its file states; `declared`: variables that the configuration says by now."""
    scope, words = project.scope, []
    used = set(names_in(with_names(asked, scope))) - {*project.config.variables, *declared}
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


def print_captured(
    project: Project,
    captured: Sequence[Captured],
    options: StoringOptions,
    more: Iterable[str],
    notes: Iterable[str] = (),
) -> None:
    """`more`: what the next compare has to be told; `notes`: what there is to say of all of them."""
    if options.as_json:
        documents = [document(one) for one in captured]
        screen.show_json(json.dumps(documents, default=str) + "\n")
    elif not options.quiet:
        for one in captured:
            output = recipes.describe_output(one.output)
            screen.line(screen.safe_line(f"captured {one.id} -> {one.file}   {output}"))
            for text in lines(one, options.repeat is not None):
                screen.line(text)
            for note in one.notes:
                screen.line(f"  note: {screen.safe(note)}")
        for note in notes:
            screen.line(screen.safe_line(f"note: {note}"))
        words = [*(["--repeat", str(options.repeat)] if (options.repeat or 1) > 1 else []), *more]
        written = [(one.id, one.file) for one in captured]
        folders, here = (project.folders, project.eval_folders), path_from_here(project)
        screen.next_commands(check_commands(written, *folders, words, here))

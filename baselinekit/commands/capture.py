"""capture: replay a recipe, refuse what went wrong or holds secrets, learn what varies, and store its output
as the known-good one."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from baselinekit.changes.placing import placed, places_of
from baselinekit.clients.trust import check_inside, origin
from baselinekit.commands.asking import ReplayJob, Replays, observe_in_groups
from baselinekit.commands.context import RunContext
from baselinekit.commands.environment import capture_environment
from baselinekit.commands.judging import check
from baselinekit.commands.loading import load, locate_problems
from baselinekit.commands.naming import name_new
from baselinekit.commands.project import Project, environment_of, observed_for
from baselinekit.errors import (
    BaselinekitError,
    CannotReplay,
    InvalidInput,
    NotRecorded,
    Place,
    Problem,
    Refused,
)
from baselinekit.kinds.kind import Flag, RecipeKind, RecognisedForm
from baselinekit.kinds.table import kind_of
from baselinekit.learning.case import LearningCase
from baselinekit.learning.evidence import MOST_VALUES, evidence_of
from baselinekit.learning.lesson import Lesson, counted_by_name, learn_new, with_lookalikes
from baselinekit.learning.templating import (
    DECLARED,
    IN_A_NAME,
    OutputTemplater,
    secrets_in,
    single_element_arrays,
    with_names,
)
from baselinekit.learning.varying import UnlearnablePlace, Volatile, masked_places
from baselinekit.matching.dispatch import Matcher, compile_baseline, default_type, is_limit
from baselinekit.model.baselines import SUGGESTION, Baseline, Comparison, Known, Options
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.grammar import Token, escape, has_marker, split
from baselinekit.placeholders.narrowest import accepts_all
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import compile_text
from baselinekit.secrets.finding import secret_parts
from baselinekit.secrets.variables import Redactor
from baselinekit.store import schemafile, writing
from baselinekit.store.atomic import cannot_write
from baselinekit.store.reading import locate_all, parse_record
from baselinekit.structs import Struct, field, replace
from baselinekit.values.paths import parse, render, suggest_path
from baselinekit.values.places import value_at, with_values
from baselinekit.values.texts import count_noun

# The known-good output of a recipe: it is replayed, refused if it went wrong, and learnt from.

Decide = Callable[[Sequence[Volatile]], bool]


Described = Callable[[Baseline, Sequence[Json]], Mapping[Path, str]]
"""Returns what a service description says of the outputs of a recipe: placeholders by path. It raises for an
answer that is not described."""


class CaptureOptions(Struct):
    """The options for a new baseline. `placeholders`: path -> the text stored there; `repeat`: how often it
    is replayed, to learn what varies (None: as often as its recipe may be sent unasked); `exact`: nothing is
    learnt. `accept_lookalikes` decides whether placeholders replace values that look like ids and were the
    same each time; it is called once for all that is captured together, with those of the first group."""

    placeholders: Mapping[str, str] = field(default_factory=dict)
    version: str | None = None
    group: str | None = None
    allow_error_status: bool = False
    allow_empty: bool = False
    allow_failing: bool = False
    allow_secrets: bool = False
    repeat: int | None = 1
    exact: bool = False
    hide_secrets: bool = False
    """Whether placeholders replace what looks like a secret, instead of a refusal."""
    accept_lookalikes: Decide = lambda lookalikes: False
    described: Described = lambda draft, outputs: {}
    jobs: int = 8
    id_is_chosen: bool = False
    """Whether the operator has chosen the id; otherwise it is made longer if another recipe has it."""

    def times(self, recipe: Recipe) -> int:
        """Return how often a recipe is replayed: a read is sent twice, unless nothing is to be learnt."""
        if self.repeat is not None:
            return self.repeat
        return 2 if kind_of(recipe).only_reads(recipe) and not self.exact else 1


class KnownGood(Struct):
    """What is to be written for a baseline, and the notes on it."""

    mapping: dict[str, Json]
    seconds: float
    notes: tuple[str, ...]
    replays: int
    lesson: Lesson
    form: RecognisedForm | None = None
    """The form recognised in the answers: what the recipe and its rules must state in addition."""


class Learnable(Struct):
    """A draft with its observations and the lesson learnt from them. `notes`: the notes on it."""

    draft: Baseline
    observations: Sequence[Observation]
    lesson: Lesson
    notes: tuple[str, ...]
    form: RecognisedForm | None


def _learn_from(
    project: Project,
    draft: Baseline,
    replays: Replays,
    options: CaptureOptions,
    context: RunContext,
) -> Learnable:
    """Learn from the replays of one recipe, if all of them went well."""
    if isinstance(replays, BaselinekitError):
        raise replays
    for observation in replays:
        refuse_troubles(draft, observation, options)
    draft, observations, form = _with_form_found(draft, replays, options)
    templating = OutputTemplater(project.words_of(draft).scope)
    output = templating.template(observations[0].output)
    for text, placeholder in options.placeholders.items():
        words = project.words_of(draft)
        output = with_placeholder_at(output, text, placeholder, kind_of(draft.current), words)
    described = options.described(draft, [observation.output for observation in observations])
    if described and not options.exact:
        output = with_values(output, dict(described))
    hidden: list[tuple[Path, str]] = []
    if len(observations) == 1:  # before compiling, which a secret could make fail
        output, hidden = hide_secrets(output, project.redactor, options.hide_secrets, options.allow_secrets)
    candidate = replace(draft, baseline=Known(output=output))
    matcher = compile_baseline(candidate, project.words_of(candidate))
    accepted = check_accepted(matcher, observations[0], project)
    lesson = Lesson(candidate)
    if not options.exact:
        settled = [accepted, *map(matcher.compare, observations[1:])]
        words, now = project.words_of(candidate), context.clients.now()
        case = LearningCase(candidate, matcher, observations, settled, words, now, Matcher.compare)
        lesson = _masked(learn_new(case, is_new=not draft.source.file), case.outputs, project.redactor)
    if options.hide_secrets:
        secret = {path for path, _ in secrets_in(lesson.output, project.redactor)}
        compared = tuple(item for item in lesson.lookalikes if not secret.issuperset(item.places))
        lesson = replace(lesson, lookalikes=compared)
    count = 0 if options.exact else len(described)
    formats = [f"{count_noun(count, 'placeholder')} by the formats of its schema"] if count else []
    notes = (
        *remarks_on(draft, observations),
        *(form.notes if form else ()),
        *_describe_single_write(draft, len(observations), lesson),
        *templating.notes(),
        *formats,
        *describe_hidden(hidden),
        *(report.message for report in accepted.reports if report.kind == "stale"),
    )
    return Learnable(draft, observations, lesson, notes, form)


def _masked(lesson: Lesson, outputs: Sequence[Json], redactor: Redactor) -> Lesson:
    """Return the lesson with its values masked: the first ones, and one more if there are more."""
    if not (lesson.volatile or lesson.lookalikes):
        return lesson
    mask = redactor.knowing(outputs).mask_value
    volatile, same = (
        masked_places(places, mask, MOST_VALUES + 1) for places in (lesson.volatile, lesson.lookalikes)
    )
    return replace(lesson, volatile=volatile, lookalikes=same)


def _with_form_found(
    draft: Baseline, replays: Sequence[Observation], options: CaptureOptions
) -> tuple[Baseline, Sequence[Observation], RecognisedForm | None]:
    """Give a new recipe the form (`parse`) that its answers have but do not declare, with its rules unless
    the comparison is an exact one, and read the answers again in that form. The recipe of a file stays as
    it is."""
    kind = kind_of(draft.current)
    forms_found = [
        None if draft.source.file else kind.form_found(draft.current, observation.output)
        for observation in replays
    ]
    forms = [form for form in forms_found if form is not None]
    if len(forms) < len(replays):
        return draft, replays, None
    form, rules = forms[0], draft.comparison
    if options.exact or rules.type not in (None, "structural"):
        form = replace(form, ignore_values=(), notes=form.notes[:1])
    if form.ignore_values:
        flags = rules.options or Options()
        if flags.allow_additional_fields is None:
            flags = replace(flags, allow_additional_fields=True)
        rules = replace(rules, options=flags, ignore_values=[*form.ignore_values, *rules.ignore_values])
    execution = replace(draft.current.execution, **form.execution)
    reread = [
        replace(observation, output=form.output) for observation, form in zip(replays, forms, strict=True)
    ]
    draft = replace(draft, current=replace(draft.current, execution=execution), comparison=rules)
    return draft, reread, form


def _describe_single_write(draft: Baseline, replays: int, lesson: Lesson) -> Iterator[str]:
    """Say which values of a write that was sent once may be different next time, and how to find out."""
    if replays > 1 or not kind_of(draft.current).writes(draft.current):
        return
    counted_paths = [render(path) for path in counted_by_name(lesson.output)]
    if counted_paths or lesson.lookalikes:
        names = ", ".join(counted_paths[:_MOST_NAMED]) + (", …" if len(counted_paths) > _MOST_NAMED else "")
        counted_note = f"; {names} count{'s' * (len(counted_paths) == 1)} by name" if counted_paths else ""
        advice = f"baselinekit refresh {draft.id} --learn finds what varies, and sends it 3 times more"
        yield f"a write is asked once{counted_note}: {advice}"


_MOST_NAMED = 3


def _make_known_good(
    project: Project,
    learnable: Learnable,
    accepted: bool,
    options: CaptureOptions,
    context: RunContext,
) -> KnownGood:
    draft, observation = learnable.draft, learnable.observations[0]
    lesson = with_lookalikes(learnable.lesson) if accepted else learnable.lesson
    hide, allow = options.hide_secrets, options.allow_secrets
    output, hidden = hide_secrets(lesson.output, project.redactor, hide, allow)
    lesson = lesson.storing(output)
    around = capture_environment(
        project.root, project.config.environment, context.clients.execute, project.folders
    )
    mapping: dict[str, Json] = {
        "output": lesson.output,
        "captured_at": context.clock.timestamp(),
        "environment": environment_of(project, draft, observation, around),
    }
    if observed := observed_for(draft.comparison, observation):
        mapping["observed"] = observed
    if evidence := evidence_of(lesson.volatile, len(learnable.observations), project.redactor):
        mapping["learnt"] = dict(evidence)
    notes = (*learnable.notes, *describe_hidden(hidden))
    count = len(learnable.observations)
    return KnownGood(mapping, observation.seconds, notes, count, lesson, learnable.form)


def remarks_on(draft: Baseline, observations: Sequence[Observation]) -> Iterator[str]:
    """Yield the remarks on the first observation, which is stored, and those that only later ones cause."""
    later_note = "only a later replay did; the first one is stored"
    remarks = kind_of(draft.current).remarks
    first, *others = observations
    yield from remarks(draft.current, first)
    first_remarks = set(remarks(draft.current, first, later_note))
    later_remarks = [
        remark for observation in others for remark in remarks(draft.current, observation, later_note)
    ]
    yield from dict.fromkeys(remark for remark in later_remarks if remark not in first_remarks)


# Outputs that are not stored as known-good.

_REFUSED: dict[Flag, tuple[str, str]] = {
    "--allow-error-status": ("BK521", "fix it"),
    "--allow-empty": ("BK528", "try again, or fix the prompt"),
    "--allow-failing": ("BK770", "try again, or fix the prompt"),
}
"""What is refused unless the user passes the flag: its code, and what else the user can do."""


def refuse_troubles(draft: Baseline, observation: Observation, options: CaptureOptions) -> None:
    """Refuse an answer with signs that it went wrong, unless the user has allowed them."""
    given = (options.allow_error_status, options.allow_empty, options.allow_failing)
    allowed = [flag for flag, is_given in zip(_REFUSED, given, strict=True) if is_given]
    problems = [
        Problem(
            _REFUSED[trouble.flag][0],
            f"{trouble.message}{trouble.detail and f' ({trouble.detail})'}: it is not stored as known-good",
            f"{_REFUSED[trouble.flag][1]}, or pass {trouble.flag}",
        )
        for trouble in kind_of(draft.current).troubles(draft.current, observation)
        if trouble.flag not in allowed
    ]
    if observation.reason_not_to_store is not None:
        problems.append(
            Problem("BK526", f"{observation.reason_not_to_store}: it is not stored as known-good")
        )
    if problems:
        raise CannotReplay(*problems)


def check_placeholders(placeholders: Mapping[str, str], words: PlaceholderContext) -> None:
    """Check placeholders before anything is sent, and once for all places that they are for."""
    for text, placeholder in placeholders.items():
        try:
            compile_text(placeholder, words)
        except InvalidInput as error:
            option = f"--placeholder '{text}={placeholder}'"
            raise InvalidInput(
                *(replace(problem, message=f"{option}: {problem.message}") for problem in error.problems)
            ) from None


def refuse_secrets_in_recipe(current: Json, redactor: Redactor, options: CaptureOptions) -> None:
    """Refuse a recipe with secrets: it is stored too, so what looks like a token must become a variable."""
    lookalike = "pass it as --secret NAME=…, and it is stored as {{NAME}}; or pass --allow-secrets"
    declared = "write it as {{NAME}}: a declared secret is never stored"
    problems = [
        Problem(
            "BK522",
            f"{render(path)} of the recipe holds {secret}",
            declared if secret.startswith(DECLARED) else lookalike,
        )
        for path, secret in secrets_in(current, redactor, lookalikes=not options.allow_secrets)
        if path[-2:-1] != ("save",)  # a variable's name and the path of its value
    ]
    if problems:
        raise Refused(*problems)


def with_placeholder_at(
    output: Json, text: str, placeholder: str, kind: RecipeKind, words: PlaceholderContext
) -> Json:
    """Return the output with a placeholder at every place that the path matches, or in the texts there."""
    places = places_of(output, text, kind)
    if not places:
        raise InvalidInput(nothing_there(output, text, kind))
    return with_values(
        output, {path: placed(value_at(output, path), placeholder, words) or placeholder for path in places}
    )


def nothing_there(output: Json, text: str, kind: RecipeKind) -> Problem:
    """Return the problem of a path that leads to nothing."""
    in_answer = kind.paths_start_in_answer and isinstance(output, dict)
    whole = output.get(kind.answer) if in_answer else output
    return Problem(
        "BK523", f"the path {text!r} leads to nothing in the output", suggest_path(parse(text), whole)
    )


def check_accepted(matcher: Matcher, observation: Observation, project: Project) -> Comparison:
    """Compare the stored output with what was seen: a rule or placeholder that rejects it is found now."""
    comparison = matcher.compare(observation)
    limits = [difference for difference in comparison.differences if is_limit(difference)]
    if comparison.count > len(limits):
        first = next(difference for difference in comparison.differences if difference not in limits)
        mask = project.redactor.knowing(observation.output).mask_value
        actual = "nothing" if first.actual is ABSENT else repr(mask(first.actual, first.path))
        message = f"{render(first.path)}: {first.expected!r} does not accept what was seen: {actual}"
        raise InvalidInput(Problem("BK524", message, "choose another placeholder or rule"))
    return comparison


# Secrets in an output: they are refused, or replaced by placeholders.

_MOST_HIDDEN = 3
_SECRET_PLACEHOLDERS = (
    "<<any_uuid>>",
    "<<any_jwt>>",
    "<<any_hex>>",
    "<<any_token>>",
    "<<any_nonempty_string>>",
)


def hide_secrets(
    output: Json, redactor: Redactor, hide: bool, allow: bool
) -> tuple[Json, list[tuple[Path, str]]]:
    """Replace secrets by placeholders, if `hide`, and return the output with the places of the placeholders.
    The secrets that are still in it are refused; with `allow`, values that only look like secrets are
    accepted, but a declared secret never is."""
    output, hidden = without_secrets(output, redactor) if hide else (output, [])
    problems = []
    for path, secret in secrets_in(output, redactor, lookalikes=not allow):
        named_path = path[:-1] if secret.endswith(IN_A_NAME) else path
        or_allow = "" if secret.startswith(DECLARED) else ", or pass --allow-secrets"
        hint = f"store a placeholder in its place: --placeholder-like secrets{or_allow}"
        if named_path != path:
            hint = f"store a placeholder: --placeholder '{render(named_path)}=<<any>>'{or_allow}"
        if named_path != path and not named_path:
            hint = f"make it answer without that{or_allow}"
        problems.append(Problem("BK522", f"{render(path) or 'the output'} holds {secret}", hint))
    if problems:
        raise Refused(*problems)
    return output, hidden


def describe_hidden(hidden: Sequence[tuple[Path, str]]) -> Iterator[str]:
    """Say which places now hold a placeholder for a secret, which itself is stored nowhere."""
    if hidden:
        places = ", ".join(render(path) for path, _ in hidden[:_MOST_HIDDEN])
        further = f" and {len(hidden) - _MOST_HIDDEN:,} more" if len(hidden) > _MOST_HIDDEN else ""
        message = f"{len(hidden):,} values that look like secrets are stored as placeholders"
        if len(hidden) == 1:
            message = "what looks like a secret is stored as a placeholder"
        yield f"{message}: {places}{further}"


def without_secrets(output: Json, redactor: Redactor) -> tuple[Json, list[tuple[Path, str]]]:
    """Return the output with a placeholder for each secret, and for each value that looks like one, and their
    places. Secrets in a key stay: a key cannot be a placeholder."""
    placeholders: dict[Path, str] = {}
    for path, secret in secrets_in(output, redactor):
        if not secret.endswith(IN_A_NAME) and path not in placeholders:
            value = value_at(output, path)
            parts = (
                []
                if secret.startswith(DECLARED) or not isinstance(value, str)
                else _replace_secrets(value, path)
            )
            placeholders[path] = "".join(parts) or _placeholder_for(value)
    return with_values(output, dict(placeholders)), list(placeholders.items())


def _placeholder_for(value: Json) -> str:
    """Return the narrowest placeholder that reveals nothing of the value."""
    if not isinstance(value, str):
        return "<<any_number>>"
    return next(text for text in (*_SECRET_PLACEHOLDERS, "<<any_string>>") if accepts_all(text, [value]))


def _replace_secrets(text: str, path: Path) -> Iterator[str]:
    """Yield the parts of a text with placeholders for its secrets; nothing if only its name makes it one."""
    parts: list[str | Token] = [*split(text)] if has_marker(text) else [text]
    if not any(secret_parts(part, path) for part in parts if isinstance(part, str)):
        return
    for number, part in enumerate(parts):
        if isinstance(part, Token):
            yield part.text
            continue
        position = 0
        for start, end in secret_parts(part, path):
            yield escape(part[position:start], followed=True)
            yield _placeholder_for(part[start:end])
            position = end
        yield escape(part[position:], followed=number + 1 < len(parts))


# Writing new baselines, and the known-good outputs of files that have a recipe only.


class Captured(Struct):
    """What was written to which file, and what the replays taught."""

    id: str
    file: str
    output: Json
    seconds: float
    notes: tuple[str, ...] = ()
    replays: int = 1
    learnt: tuple[tuple[Volatile, Place | None], ...] = ()
    """What varies, with its place in the file."""
    unlearnt: tuple[tuple[UnlearnablePlace, Place | None], ...] = ()
    """What varies but no placeholder fits, so that a compare will fail there."""
    lookalikes: tuple[Volatile, ...] = ()


def summarize_capture(project: Project, known_good: KnownGood, id: str, file: str) -> Captured:
    """Summarize what was captured, each place with its line in the file that was written."""
    lesson = known_good.lesson
    paths = (*(item.places[0] for item in lesson.volatile), *(refusal.path for refusal in lesson.refusals))
    places: Sequence[Place | None] = ()
    if paths:
        (written,) = (baseline for baseline in load(project, [f"{project.root}/{file}"]) if baseline.id == id)
        output_paths: list[Path] = [("baseline", "output", *path) for path in paths]
        places = locate_all(written.source, output_paths, project.root)
    return Captured(
        id,
        file,
        lesson.output,
        known_good.seconds,
        known_good.notes,
        known_good.replays,
        tuple(zip(lesson.volatile, places, strict=False)),
        tuple(zip(lesson.refusals, places[len(lesson.volatile) :], strict=True)),
        lesson.lookalikes,
    )


class NewBaseline(Struct):
    """A record that is to become a file: everything but its output, and the folder of the file."""

    record: dict[str, Any]
    draft: Baseline
    group: str
    folder: str


def capture_new(
    project: Project, record: dict[str, Any], options: CaptureOptions, context: RunContext
) -> Captured:
    """Capture a new file. `record` holds everything but the output: id, current, comparison, metadata."""
    new = named_new(project, record, options)

    def keep(number: int, known_good: KnownGood) -> Captured:
        return write_known_good(project, new, known_good, options)

    with temporary_folder(project.root, new.folder):
        check_new(project, new, context)
        drafts = [(new.draft, new.folder)]
        outcome = capture_each(project, drafts, options, context, keep, lambda number, error: error)
        for error in outcome.errors:
            raise error
        for captured in outcome.done:
            return captured
        raise KeyboardInterrupt


def named_new(project: Project, record: dict[str, Any], options: CaptureOptions) -> NewBaseline:
    """Return the new baseline with the id that a capture would give it; raise if it cannot have one."""
    new = new_baseline(project, record, options)
    id = name_new(new.draft, project, options.id_is_chosen)
    writing.check_names(id, new.group)
    return replace(new, record={**new.record, "id": id}, draft=replace(new.draft, id=id))


def new_baseline(project: Project, record: dict[str, Any], options: CaptureOptions) -> NewBaseline:
    record = {**record, "current": with_names(record["current"], project.scope)}
    draft = parse_record(record, project.root)
    refuse_secrets_in_recipe(record["current"], project.redactor, options)
    group = options.group or group_of(draft, project)
    folder = os.path.join(project.folders[0], group)
    check_inside(project.root, os.path.realpath(os.path.join(project.root, folder)), f"--group {group}")
    return NewBaseline(record, draft, group, folder)


def check_new(project: Project, new: NewBaseline, context: RunContext) -> None:
    """Raise if it cannot be asked or written, before anything is asked. Its folder exists already."""
    writing.check_folder(project.root, new.folder)
    check(new.draft, project.setting(new.folder, context.clients))


def write_known_good(
    project: Project, new: NewBaseline, known_good: KnownGood, options: CaptureOptions
) -> Captured:
    record, notes = completed_record(project, new.draft, new.record, options.version, known_good)
    schema = schemafile.reference(project.root, new.folder)
    limit = project.config.inline_limit
    file = writing.write_new(record, new.group, project.root, project.folders[0], limit, schema)
    known_good = replace(known_good, notes=(*known_good.notes, *notes))
    return summarize_capture(project, known_good, new.draft.id, file)


def completed_record(
    project: Project, draft: Baseline, record: dict[str, Any], version: str | None, known_good: KnownGood
) -> tuple[dict[str, Any], list[str]]:
    """Return the record in the order of its file, with its output and the rules for it; and notes."""
    output, kind = known_good.lesson.output, draft.current.kind
    comparison = {"type": default_type(output, kind)} | record.get("comparison", {})
    singles = [] if comparison["type"] == "exact" else [*map(render, single_element_arrays(output))]
    if singles:
        comparison["arrays"] = {**dict.fromkeys(singles, "ordered"), **comparison.get("arrays", {})}
    notes = [
        f"{path} holds one element and is compared so; without `ordered`, it would describe every element"
        for path in singles
    ]
    is_text = kind_of(draft.current).asks_models == "always" and comparison["type"] == "exact"
    if is_text and draft.comparison.type is None and "judge" in project.models:
        notes.append(SUGGESTION)  # a model varies its wording: a judge compares the meaning
    current, form = record["current"], known_good.form
    if form is not None:
        current = {**current, "execution": {**current["execution"], **form.execution}}
    if form is not None and form.ignore_values:
        comparison["options"] = {**form.options, **comparison.get("options", {})}
        comparison["ignore_values"] = [*form.ignore_values, *comparison.get("ignore_values", [])]
    return {
        **{key: record[key] for key in ("id", "name", "description") if key in record},
        **({"baseline_version": version} if version else {}),
        "baseline": known_good.mapping,
        "current": current,
        "comparison": comparison,
        "metadata": {**record.get("metadata", {}), "last_passed": None, "failure_count": 0},
    }, notes


class CaptureResults(Struct):
    """The results of several captures. `left`: how many were not reached, because the run was interrupted or
    nothing can be written any more."""

    done: Sequence[Captured]
    errors: list[BaselinekitError]
    left: int = 0
    is_interrupted: bool = False


Keep = Callable[[int, KnownGood], Captured]
"""Writes the known-good output of the draft with this number."""


Blame = Callable[[int, BaselinekitError], BaselinekitError]
"""Adds to an error the place of the draft with this number."""


def capture_each(
    project: Project,
    drafts: Sequence[tuple[Baseline, str]],
    options: CaptureOptions,
    context: RunContext,
    keep: Keep,
    blame: Blame,
) -> CaptureResults:
    """Replay the recipes, each with the folder of its file; refuse what is not known-good, learn what varies,
    ask once whether lookalikes become placeholders, and write. Each group is written as soon as it has been
    replayed: if the run ends early, the written files stay, and the same command captures the others."""
    done: dict[int, Captured] = {}
    errors: dict[int, BaselinekitError] = {}
    accepted: bool | None = None
    for draft, _ in drafts:
        check_placeholders(options.placeholders, project.words_of(draft))
    replay_jobs = [
        ReplayJob(
            draft.current,
            replace(project.setting(folder, context.clients), asker=draft.id),
            options.times(draft.current),
        )
        for draft, folder in drafts
    ]

    def capture_group(group: Sequence[tuple[int, Replays]]) -> bool:
        """Return whether something can still be written."""
        nonlocal accepted
        learnable: dict[int, Learnable] = {}
        for number, replays in group:
            try:
                learnable[number] = _learn_from(project, drafts[number][0], replays, options, context)
            except BaselinekitError as error:
                errors[number] = blame(number, error)
        same = [lookalike for one in learnable.values() for lookalike in one.lesson.lookalikes]
        if same and accepted is None:
            accepted = options.accept_lookalikes(same)
        with context.stop.heard():  # so that every written file is reported
            for number, one in learnable.items():
                try:
                    known_good = _make_known_good(project, one, bool(accepted), options, context)
                    done[number] = keep(number, known_good)
                except BaselinekitError as error:
                    errors[number] = blame(number, error)
                    if any(problem.code == "BK120" for problem in error.problems):
                        return False  # a full disk has no room for the next file either
        if context.stop.is_set():
            raise KeyboardInterrupt
        return True

    is_interrupted = False
    try:
        for group in observe_in_groups(replay_jobs, context, options.jobs):
            if not capture_group(group):
                break
    except KeyboardInterrupt:
        is_interrupted = True
    left = len(drafts) - len(done) - len(errors)
    in_order = [errors[number] for number in sorted(errors)]
    return CaptureResults([done[number] for number in sorted(done)], in_order, left, is_interrupted)


def capture_all(
    project: Project, drafts: Sequence[Baseline], options: CaptureOptions, context: RunContext
) -> CaptureResults:
    """Add the `baseline:` to files that have a recipe and no output yet; the files stay the same otherwise.
    Capture as many as possible; the errors of the others have their place."""

    def keep(number: int, known_good: KnownGood) -> Captured:
        draft, limit = drafts[number], project.config.inline_limit
        writing.add_baseline(draft.source, known_good.mapping, project.root, limit)
        return summarize_capture(project, known_good, draft.id, draft.source.file)

    def blame(number: int, error: BaselinekitError) -> BaselinekitError:
        return type(error)(*locate_problems(drafts[number], error.problems, project.root))

    drafts_with_folders = [(draft, os.path.dirname(draft.source.file)) for draft in drafts]
    return capture_each(project, drafts_with_folders, options, context, keep, blame)


def check_draft(project: Project, draft: Baseline, context: RunContext) -> None:
    """Raise if the recipe of a file cannot work, before anything is asked."""
    try:
        check(draft, project.setting_of(draft, context.clients))
    except (InvalidInput, Refused) as error:
        raise type(error)(*locate_problems(draft, error.problems, project.root)) from None


@contextmanager
def temporary_folder(root: str, name: str) -> Iterator[None]:
    """Create the folder of a baseline that is still to be written: its program may need it. If that fails, no
    folder is left that was not there before."""
    folder = parent = os.path.join(root, name)
    missing = []
    while not os.path.isdir(parent):
        missing.append(parent)
        parent = os.path.dirname(parent)
    try:
        os.makedirs(folder, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        message = f"{name} cannot be a folder: a file is in the way"
        raise InvalidInput(Problem("BK120", message, "move it away, or choose another --group")) from None
    except OSError as error:
        raise NotRecorded(cannot_write(name, error)) from None
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for created in missing:
                os.rmdir(created)
        raise


def group_of(draft: Baseline, project: Project) -> str:
    """Return the folder of a new baseline: named by the host that it asks, or the skill or program that it
    runs."""
    base_url = project.words_of(draft).scope.values.get("base_url")
    return kind_of(draft.current).group(draft.current, base_url)


# The hosts of new baselines that the configuration must name before they can be asked in CI.

_PORTS = {"http": 80, "https": 443}


def unnamed_origins(
    project: Project, recipes: Iterable[Recipe], look: Callable[[str, int], Sequence[str]]
) -> list[str]:
    """Return the origins, as people write them, that a compare in CI would refuse to ask. A host that does
    not resolve here may resolve there."""
    trust = replace(project.trust, ci=True)
    origins = []
    for url in dict.fromkeys(url for recipe in recipes for url in addresses_asked(project, recipe)):
        try:
            parts = urlsplit(url)
            addresses = look(parts.hostname or "", parts.port or _PORTS[parts.scheme])
        except (OSError, ValueError, KeyError):
            addresses = []
        try:
            trust.check_request(url)
            for address in addresses:
                trust.check_address(url, address)
        except Refused:
            url_origin = origin(url)  # as people write it: without the default port
            origins.append(url_origin.removesuffix(f":{_PORTS[url_origin.partition('://')[0]]}"))
    return list(dict.fromkeys(origins))


def addresses_asked(project: Project, recipe: Recipe) -> Iterator[str]:
    """Yield the URLs that the recipe sends requests to. With --base-url there are none to check: it is passed
    again."""
    if project.override_base_url is not None:
        return
    for text in kind_of(recipe).addresses(recipe):
        try:
            url = project.scope.expand(text, ())
            if isinstance(url, str) and url:
                origin(url)
                yield url
        except BaselinekitError:  # needs a value that only a run has
            continue

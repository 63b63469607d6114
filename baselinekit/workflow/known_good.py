"""The known-good output of a capture: what is stored of an answer, and what is kept out of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, Problem, Refused
from baselinekit.frozen import frozen
from baselinekit.kinds.kind import Flag, FoundForm, RecipeKind
from baselinekit.kinds.table import kind_of
from baselinekit.matching.dispatch import Matcher, compile_baseline, is_limit
from baselinekit.model.baselines import Baseline, Comparison, Known
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.grammar import Token, escape, has_marker, split
from baselinekit.placeholders.narrowest import accepts_all
from baselinekit.placeholders.table import Words
from baselinekit.placeholders.template import compile_text
from baselinekit.refresh.learning import Volatile
from baselinekit.replaying.environment import capture_environment
from baselinekit.secrets.finding import secret_parts
from baselinekit.store.reading import without_collector
from baselinekit.texts import many
from baselinekit.tree.paths import find, parse, render, suggest
from baselinekit.tree.places import value_at, with_values
from baselinekit.variables import Redactor
from baselinekit.workflow.asking import Asked, Replays, observe_as_they_come
from baselinekit.workflow.context import RunContext
from baselinekit.workflow.evidence import evidence_of
from baselinekit.workflow.learning import (
    DECLARED,
    IN_A_NAME,
    CaptureLesson,
    Templating,
    counted_once,
    learn,
    secrets_in,
)
from baselinekit.workflow.project import Project, environment_of, observed_for

# Secrets in what came back: refused where it is to be stored, or a placeholder put in their place.


_MOST_HIDDEN = 3
_FOR_SECRETS = ("<<any_uuid>>", "<<any_jwt>>", "<<any_hex>>", "<<any_token>>", "<<any_nonempty_string>>")


def hide_secrets(
    output: Json, redactor: Redactor, *, hide: bool, allow: bool
) -> tuple[Json, list[tuple[Path, str]]]:
    """The output without secrets, if placeholders are to stand for them, and where they stood. What is left
    of them is refused."""
    hidden: list[tuple[Path, str]] = []
    if hide:
        output, hidden = without_secrets(output, redactor)
    refuse_secrets_in_output(output, redactor, allow)
    return output, hidden


def describe_hidden(hidden: Sequence[tuple[Path, str]]) -> Iterator[str]:
    """Which places hold a placeholder now, for a secret that is stored nowhere."""
    if hidden:
        shown = ", ".join(render(path) for path, _ in hidden[:_MOST_HIDDEN])
        more = f" and {len(hidden) - _MOST_HIDDEN:,} more" if len(hidden) > _MOST_HIDDEN else ""
        what = f"{len(hidden):,} values that look like secrets are stored as placeholders"
        if len(hidden) == 1:
            what = "what looks like a secret is stored as a placeholder"
        yield f"{what}: {shown}{more}"


def refuse_secrets_in_output(output: Json, redactor: Redactor, allow: bool) -> None:
    """What looks like a secret is stored where the user insists; a declared one never is."""
    problems = []
    for path, what in secrets_in(output, redactor, lookalikes=not allow):
        place = path[:-1] if what.endswith(IN_A_NAME) else path
        insist = "" if what.startswith(DECLARED) else ", or pass --allow-secrets"
        hint = f"store a placeholder in its place: --placeholder-like secrets{insist}"
        if place != path:
            hint = f"store a placeholder: --placeholder '{render(place)}=<<any>>'{insist}"
        if place != path and not place:
            hint = f"make it answer without that{insist}"
        problems.append(Problem("BK522", f"{render(path) or 'the output'} holds {what}", hint))
    if problems:
        raise Refused(*problems)


def without_secrets(output: Json, redactor: Redactor) -> tuple[Json, list[tuple[Path, str]]]:
    """The output with a placeholder in the place of each secret, or of what looks like one, and where they
    stand. What stands in a key stays: no placeholder can."""
    found: dict[Path, str] = {}
    for path, what in secrets_in(output, redactor):
        if not what.endswith(IN_A_NAME) and path not in found:
            value = value_at(output, path)
            parts = [] if what.startswith(DECLARED) or not isinstance(value, str) else _cut(value, path)
            found[path] = "".join(parts) or _standing_for(value)
    return with_values(output, dict(found)), list(found.items())


def _standing_for(value: Json) -> str:
    """The narrowest placeholder that gives nothing away."""
    if not isinstance(value, str):
        return "<<any_number>>"
    return next(text for text in (*_FOR_SECRETS, "<<any_string>>") if accepts_all(text, [value]))


def _cut(text: str, path: Path) -> Iterator[str]:
    """The text with placeholders for its secrets; nothing, where only its name says that it is one."""
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
            yield _standing_for(part[start:end])
            position = end
        yield escape(part[position:], followed=number + 1 < len(parts))


# What is to be stored of a recipe as known-good: replayed, refused where it went wrong, and learnt from.


Decide = Callable[[Sequence[Volatile]], bool]
Described = Callable[[Baseline, Sequence[Json]], Mapping[Path, str]]
"""What a description of the service says of the outputs of a recipe: placeholders by their paths. It raises
where the answer is not one that is described."""


@frozen
class CaptureOptions:
    """What the operator wants of a new baseline. `placeholders`: path -> the text stored there; `repeat`: how
    often it is replayed, to learn what varies (None: as often as its recipe may be asked without a word);
    `exact`: nothing is learnt. `accept_lookalikes` decides of what looks like an id and was the same each
    time whether placeholders stand there, once for all that is captured together, of which it sees the
    first."""

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
    """Whether placeholders stand for what looks like a secret, in the place of a refusal."""
    accept_lookalikes: Decide = lambda found: False
    described: Described = lambda draft, outputs: {}
    jobs: int = 8
    id_is_chosen: bool = False
    """Whether the operator has chosen the id; else it is made longer where another recipe has it."""

    def times(self, recipe: Recipe) -> int:
        """How often a recipe is replayed: what only reads is asked twice, unless nothing is to be learnt."""
        if self.repeat is not None:
            return self.repeat
        return 2 if kind_of(recipe).only_reads(recipe) and not self.exact else 1


@frozen
class KnownGood:
    """What is to be written, and what there is to say of it."""

    mapping: dict[str, Json]
    seconds: float
    notes: tuple[str, ...]
    replays: int
    lesson: CaptureLesson
    execution: Mapping[str, Json] = field(default_factory=dict)
    """What the recipe has to state beside what it does."""


@frozen
class Learnable:
    """A draft with what came back, and what that teaches. `notes`: what there is to say of it."""

    draft: Baseline
    folder: str
    observations: Sequence[Observation]
    lesson: CaptureLesson
    notes: tuple[str, ...]
    execution: Mapping[str, Json]


def observe_known_good(
    project: Project, drafts: Sequence[tuple[Baseline, str]], options: CaptureOptions, context: RunContext
) -> Iterator[list[tuple[int, KnownGood | BaselinekitError]]]:
    """Replay the recipes, each with the folder of its file; refuse what is not known-good, learn what varies,
    ask once what is to become of ids, and make of each what is to be stored. They come in groups, each with
    its number among the drafts, so that one group is stored before the next."""
    for draft, _ in drafts:
        check_placeholders(options.placeholders, project.words_of(draft))
    asked = [
        Asked(
            draft.current,
            replace(project.setting(folder, context.clients), asker=draft.id),
            options.times(draft.current),
        )
        for draft, folder in drafts
    ]
    accepted: bool | None = None
    for group in observe_as_they_come(asked, context, options.jobs):
        with without_collector():  # what is learnt from stays, and there are no cycles in it
            learnable = {
                number: _learnt_or_not(project, drafts[number], replays, options, context)
                for number, replays in group
            }
        known = [one for one in learnable.values() if isinstance(one, Learnable)]
        same = [like for one in known for like in one.lesson.lookalikes]
        if same and accepted is None:
            accepted = options.accept_lookalikes(same)
        yield [
            (number, _known_good_or_not(project, one, bool(accepted), options, context))
            for number, one in learnable.items()
        ]


def _learnt_or_not(
    project: Project,
    draft: tuple[Baseline, str],
    replays: Replays,
    options: CaptureOptions,
    context: RunContext,
) -> Learnable | BaselinekitError:
    try:
        return _learnt_from(project, *draft, replays, options, context)
    except BaselinekitError as error:
        return error


def _known_good_or_not(
    project: Project,
    known: Learnable | BaselinekitError,
    accepted: bool,
    options: CaptureOptions,
    context: RunContext,
) -> KnownGood | BaselinekitError:
    if isinstance(known, BaselinekitError):
        return known
    try:
        return _known_good(project, known, accepted, options, context)
    except BaselinekitError as error:
        return error


def _learnt_from(
    project: Project,
    draft: Baseline,
    folder: str,
    replays: Replays,
    options: CaptureOptions,
    context: RunContext,
) -> Learnable:
    """What the replays of one recipe teach, if all of them went well."""
    if isinstance(replays, BaselinekitError):
        raise replays
    for replayed in replays:
        refuse_troubles(draft, replayed, options)
    draft, observations, found = _in_form_found(draft, replays)
    templating = Templating(project.words_of(draft).scope)
    output = templating.template(observations[0].output)
    for text, placeholder in options.placeholders.items():
        output = with_placeholder_at(output, text, placeholder, kind_of(draft.current))
    described = options.described(draft, [replayed.output for replayed in observations])
    if described and not options.exact:
        output = with_values(output, dict(described))
    hidden: list[tuple[Path, str]] = []
    if len(observations) == 1:  # before it is compiled: that may fail for it
        output, hidden = _without_secrets(output, project, options)
    candidate = replace(draft, baseline=Known(output=output))
    matcher = compile_baseline(candidate, project.words_of(candidate))
    accepted = accepting(matcher, observations[0], project)
    lesson = CaptureLesson(output)
    if not options.exact:
        is_new, now = not draft.source.file, context.clients.now()
        lesson = learn(
            project, candidate, matcher, accepted, observations, templating.text, is_new=is_new, now=now
        )
    count = 0 if options.exact else len(described)
    formats = [f"{many(count, 'placeholder')} by the formats of its schema"] if count else []
    notes = (
        *remarks_on(draft, observations),
        *([found.note] if found else []),
        *_asked_once(draft, len(observations), lesson),
        *templating.notes(),
        *formats,
        *describe_hidden(hidden),
        *(report.what for report in accepted.reports if report.kind == "stale"),
    )
    return Learnable(draft, folder, observations, lesson, notes, found.execution if found else {})


def _in_form_found(
    draft: Baseline, replays: Sequence[Observation]
) -> tuple[Baseline, Sequence[Observation], FoundForm | None]:
    """A new recipe with the form that its answers have and do not say, and the answers read so. The recipe of
    a file stays as it is."""
    kind = kind_of(draft.current)
    found = [None if draft.source.file else kind.form_found(draft.current, one.output) for one in replays]
    forms = [one for one in found if one is not None]
    if len(forms) < len(replays):
        return draft, replays, None
    execution = replace(draft.current.execution, **forms[0].execution)
    read = [replace(one, output=form.output) for one, form in zip(replays, forms, strict=True)]
    return replace(draft, current=replace(draft.current, execution=execution)), read, forms[0]


def _asked_once(draft: Baseline, replays: int, lesson: CaptureLesson) -> Iterator[str]:
    """What a write that was asked once may answer otherwise next time, and how that is found out."""
    if replays > 1 or not kind_of(draft.current).writes(draft.current):
        return
    counted = [render(path) for path in counted_once(lesson.output)]
    if counted or lesson.lookalikes:
        names = ", ".join(counted[:_MOST_NAMED]) + (", …" if len(counted) > _MOST_NAMED else "")
        counts = f"; {names} count{'s' * (len(counted) == 1)} by name" if counted else ""
        how = f"baselinekit refresh {draft.id} --learn finds what varies, and sends it 3 times more"
        yield f"a write is asked once{counts}: {how}"


_MOST_NAMED = 3


def _known_good(
    project: Project, known: Learnable, accepted: bool, options: CaptureOptions, context: RunContext
) -> KnownGood:
    draft, observation = known.draft, known.observations[0]
    lesson = known.lesson.with_lookalikes() if accepted else known.lesson
    output, hidden = _without_secrets(lesson.output, project, options)
    lesson = replace(lesson, output=output)
    around = capture_environment(
        project.root, project.config.environment, context.clients.execute, project.folders
    )
    mapping: dict[str, Json] = {
        "output": lesson.output,
        "captured_at": context.clock.timestamp(),
        "environment": environment_of(project, draft, observation, around),
    }
    if took := observed_for(draft.comparison, observation):
        mapping["observed"] = took
    if learnt := evidence_of(lesson.volatile, len(known.observations), project.redactor):
        mapping["learnt"] = dict(learnt)
    notes = (*known.notes, *describe_hidden(hidden))
    count = len(known.observations)
    return KnownGood(mapping, observation.seconds, notes, count, lesson, known.execution)


def remarks_on(draft: Baseline, observations: Sequence[Observation]) -> Iterator[str]:
    """Of the first, which is stored; and what only the others show."""
    further = "only a later replay did; the first one is stored"
    remarks = kind_of(draft.current).remarks
    first, *others = observations
    yield from remarks(draft.current, first)
    known = set(remarks(draft.current, first, further))
    of_others = [remark for other in others for remark in remarks(draft.current, other, further)]
    yield from dict.fromkeys(remark for remark in of_others if remark not in known)


# What is not stored as known-good.


_REFUSED: dict[Flag, tuple[str, str]] = {
    "--allow-error-status": ("BK521", "mend it"),
    "--allow-empty": ("BK528", "try again, or fix the prompt"),
    "--allow-failing": ("BK770", "try again, or fix the prompt"),
}
"""What is refused unless the user passes the flag: its code, and what else there is to do."""


def refuse_troubles(draft: Baseline, observation: Observation, options: CaptureOptions) -> None:
    """Whatever says that it went wrong is stored only where the user has said so."""
    allowed: dict[Flag, bool] = {
        "--allow-error-status": options.allow_error_status,
        "--allow-empty": options.allow_empty,
        "--allow-failing": options.allow_failing,
    }
    problems = [
        Problem(
            _REFUSED[trouble.flag][0],
            f"{trouble.message}{trouble.detail and f' ({trouble.detail})'}: it is not stored as known-good",
            f"{_REFUSED[trouble.flag][1]}, or pass {trouble.flag}",
        )
        for trouble in kind_of(draft.current).troubles(draft.current, observation)
        if not allowed[trouble.flag]
    ]
    if observation.flaw is not None:
        problems.append(Problem("BK526", f"{observation.flaw}: it is not stored as known-good"))
    if problems:
        raise CannotReplay(*problems)


def check_placeholders(placeholders: Mapping[str, str], words: Words) -> None:
    """Before anything is asked, and once for however many places one is to stand at."""
    for text, placeholder in placeholders.items():
        try:
            compile_text(placeholder, words)
        except InvalidInput as error:
            option = f"--placeholder '{text}={placeholder}'"
            raise InvalidInput(
                *(replace(problem, message=f"{option}: {problem.message}") for problem in error.problems)
            ) from None


def refuse_secrets_in_recipe(current: Json, redactor: Redactor, options: CaptureOptions) -> None:
    """A recipe is stored as well: what looks like a token in it has to become a variable first."""
    lookalike = "pass it as --secret NAME=…, and it is stored as {{NAME}}; or pass --allow-secrets"
    declared = "write it as {{NAME}}: a declared secret is never stored"
    problems = [
        Problem(
            "BK522",
            f"{render(path)} of the recipe holds {what}",
            declared if what.startswith(DECLARED) else lookalike,
        )
        for path, what in secrets_in(current, redactor, lookalikes=not options.allow_secrets)
        if path[-2:-1] != ("save",)  # a name, and the path of what it stands for
    ]
    if problems:
        raise Refused(*problems)


def _without_secrets(
    output: Json, project: Project, options: CaptureOptions
) -> tuple[Json, list[tuple[Path, str]]]:
    return hide_secrets(output, project.redactor, hide=options.hide_secrets, allow=options.allow_secrets)


def with_placeholder_at(output: Json, text: str, placeholder: str, kind: RecipeKind) -> Json:
    """The output with a placeholder at every place that a path leads to."""
    pattern = parse(text)
    start = kind.starts(pattern, output)
    if len(start) > 1:
        what = f"{text!r} is both in the {kind.noun} and in its {kind.answer}"
        raise InvalidInput(Problem("BK204", what, f"write {kind.answer}.{text} or $.{text}"))
    part = output[kind.answer] if start == [(kind.answer,)] else output
    places = [path for path, _ in find(pattern, part)] if start else []
    if not places:
        in_answer = kind.paths_start_in_answer and isinstance(output, dict)
        whole = output.get(kind.answer) if in_answer else output
        raise InvalidInput(
            Problem("BK523", f"the path {text!r} leads to nothing in the output", suggest(pattern, whole))
        )
    return with_values(output, {(*start[0], *path): placeholder for path in places})


def accepting(matcher: Matcher, observation: Observation, project: Project) -> Comparison:
    """What is stored must accept what was seen: a rule or a placeholder that does not is found now."""
    comparison = matcher.compare(observation)
    limits = [d for d in comparison.differences if is_limit(d)]
    if comparison.count > len(limits):
        first = next(d for d in comparison.differences if d not in limits)
        mask = project.redactor.knowing(observation.output).mask_value
        seen = "nothing" if first.actual is ABSENT else repr(mask(first.actual, first.path))
        what = f"{render(first.path)}: {first.expected!r} does not accept what was seen: {seen}"
        raise InvalidInput(Problem("BK524", what, "choose another placeholder or rule"))
    return comparison

"""capture: replay a recipe, refuse what went wrong or holds secrets, learn what varies, and store its output
as the known-good one."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import takewhile, zip_longest
from typing import Any, TypeVar

from baselinekit.clients.trust import check_inside, origin
from baselinekit.commands.context import TICK, RunContext
from baselinekit.commands.executor import in_threads
from baselinekit.commands.judging import check, observe
from baselinekit.commands.loading import locate_problems
from baselinekit.commands.project import CaptureEnvironment, Project, environment_of, observed_for
from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, Place, Problem, Refused
from baselinekit.kinds.dispatch import digest, recipe_hash
from baselinekit.kinds.kind import ALONE, Flag, RecipeKind
from baselinekit.kinds.settings import Setting
from baselinekit.kinds.table import kind_of
from baselinekit.learning.lesson import LearningCase, Lesson, learn_new, with_lookalikes
from baselinekit.learning.templating import (
    DECLARED,
    IN_A_NAME,
    OutputTemplater,
    placed,
    places_of,
    secrets_in,
    single_element_arrays,
    with_literals,
    with_names,
    with_spans,
)
from baselinekit.learning.varying import MOST_VALUES, UnlearnablePlace, Volatile, evidence_of, masked_places
from baselinekit.matching.dispatch import Matcher, compile_baseline, default_type, is_limit
from baselinekit.model.baselines import Baseline, Comparison, Known
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.grammar import split
from baselinekit.placeholders.narrowest import accepts_all
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import compile_text
from baselinekit.secrets.finding import secret_parts
from baselinekit.secrets.variables import Redactor
from baselinekit.store import atomic, writing
from baselinekit.store.atomic import reporting
from baselinekit.store.reading import locate, locate_all, parse_record, records_by_id
from baselinekit.store.records import read_record
from baselinekit.structs import Struct, field, replace
from baselinekit.values.paths import parse, render, suggest_path
from baselinekit.values.places import value_at, with_values
from baselinekit.values.texts import list_first

Item = TypeVar("Item")
Done = TypeVar("Done")

Adapt = Callable[["NewBaseline", Sequence[Json]], tuple["NewBaseline", Mapping[Path, str]]]
"""What the source of a new baseline makes of the outputs of its recipe: it may change the record, and returns
the placeholders that it states, by path. It raises for an answer that it does not describe."""


class CaptureOptions(Struct):
    """The options for a new baseline. `placeholders`: path -> the text stored there; `repeat`: how often it
    is replayed, to learn what varies (None: as often as its recipe may be sent unasked); `exact`: nothing is
    learnt. `replace_lookalikes`: whether placeholders replace values that look like ids and were the same
    each time."""

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
    replace_lookalikes: bool = False
    jobs: int = 8
    id_is_chosen: bool = False
    """Whether the operator has chosen the id; otherwise it is made longer if another recipe has it."""

    def times(self, recipe: Recipe) -> int:
        """Return how often a recipe is replayed: a read is sent twice, unless nothing is to be learnt."""
        if self.repeat is not None:
            return self.repeat
        return 2 if kind_of(recipe).only_reads(recipe) and not self.exact else 1


class NewBaseline(Struct):
    """A baseline without its output. `record`: what is to become its file, None if it is in its file already;
    `place`: where another file states its recipe, and `label`: its name there, for errors."""

    draft: Baseline
    folder: str
    record: dict[str, Any] | None = None
    place: Place | None = None
    label: str = ""
    notes: tuple[str, ...] = ()
    adapt: Adapt = lambda new, outputs: (new, {})

    @property
    def current(self) -> dict[str, Any]:
        """The recipe as it is written."""
        return dict((self.record or {})["current"])

    def named(self, id: str) -> "NewBaseline":
        record = None if self.record is None else {**self.record, "id": id}
        return replace(self, record=record, draft=replace(self.draft, id=id))

    def blamed(self, error: BaselinekitError, root: str) -> BaselinekitError:
        """Return the error with the place of the recipe."""
        problems: Iterable[Problem] = error.problems
        if self.record is None:
            problems = locate_problems(self.draft, problems, root)
        elif self.place is not None:
            label = f"{self.label}: " if self.label else ""
            problems = (
                replace(problem, message=f"{label}{problem.message}", place=self.place, at=None)
                for problem in problems
            )
        return type(error)(*problems)


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


class CaptureResults(Struct):
    """The results of several captures. `left`: how many were not reached, because the run was interrupted or
    nothing can be written any more."""

    done: Sequence[Captured]
    errors: list[BaselinekitError]
    left: int = 0
    is_interrupted: bool = False


# Recipes replayed several times, to learn from the answers.
_TURNS_OF_A_THREAD = 8
"""How many requests of a group each thread sends. No more are lost when a run is interrupted."""


class ReplayJob(Struct):
    """A recipe that is to be replayed `times` times."""

    recipe: Recipe
    setting: Setting
    times: int

    @property
    def claim(self) -> str | None:
        """What no other recipe may use meanwhile."""
        kind = kind_of(self.recipe)
        claim = kind.claim(self.recipe, self.setting.http.serial)
        return ALONE if claim is None and not kind.only_reads(self.recipe) else claim


Replays = list[Observation] | BaselinekitError
"""The observations of a recipe, one for each replay, or the error that prevented one."""


def in_turns(
    items: Sequence[Item],
    work: Callable[[Item], Done],
    jobs: int,
    context: RunContext,
    claim: Callable[[Item], str | None],
) -> list[Done]:
    """Return what `work` makes of each item, in threads; what claims the same is done one by one."""
    with context.stop.heard():
        done: list[Any] = in_threads(items, work, jobs, context.stop, context.cancel, claim=claim)
    if context.stop.is_set():
        raise KeyboardInterrupt
    return done


def observe_all(
    replay_jobs: Sequence[ReplayJob], context: RunContext, jobs: int = 1
) -> Iterator[list[tuple[int, Replays]]]:
    """Replay the recipes in groups, each yielded as soon as it is complete, so that it can be stored whatever
    happens to the others. Recipes that only read come first: a write could change their answers between two
    replays. Each write is a group by itself, as it cannot simply be sent again.

    A group is replayed once, then all of it again, so that it waits only once for a clock to tick, and once
    more before a third turn. Each replay has its own turn, so that no cached answer of a model is used twice,
    and its own connection: what a service reports about it (a number, a port) then differs."""
    advance = context.advance(sum(job.times for job in replay_jobs))
    reading = [n for n, job in enumerate(replay_jobs) if job.claim is None]
    size = jobs * _TURNS_OF_A_THREAD
    groups = [reading[start : start + size] for start in range(0, len(reading), size)]
    groups += [[n] for n, job in enumerate(replay_jobs) if job.claim is not None]

    def replay(turn: int, number: int) -> Observation | BaselinekitError:
        job = replay_jobs[number]
        try:
            observation = observe(job.recipe, replace(job.setting, turn=turn))
        except BaselinekitError as error:
            advance("error")
            prefix = f"replay {turn + 1} of {job.times}: " if turn else ""
            return type(error)(*(one._replace(message=prefix + one.message) for one in error.problems))
        advance("passed")
        return observation

    for group in groups:
        results: dict[int, Any] = {n: [] for n in group}
        for turn in range(max((replay_jobs[n].times for n in group), default=0)):
            left = [n for n in group if turn < replay_jobs[n].times and isinstance(results[n], list)]
            if left and turn in (1, 2):
                context.clients.sleep(TICK)
            answers = in_turns(left, partial(replay, turn), jobs, context, lambda n: replay_jobs[n].claim)
            for number, answer in zip(left, answers, strict=True):
                is_error = isinstance(answer, BaselinekitError)
                results[number] = answer if is_error else [*results[number], answer]
        yield list(results.items())


# New baselines: their records, ids and folders.


def new_baseline(project: Project, record: dict[str, Any], options: CaptureOptions) -> NewBaseline:
    """`record` holds everything but the output: id, current, comparison, metadata."""
    record = {**record, "current": with_names(record["current"], project.scope)}
    draft = parse_record(record)
    refuse_secrets_in_recipe(record["current"], project.redactor, options)
    group = options.group or group_of(draft, project)
    folder = os.path.join(project.folders[0], group)
    check_inside(project.root, os.path.realpath(os.path.join(project.root, folder)), f"--group {group}")
    return NewBaseline(draft, folder, record)


def named_new(project: Project, record: dict[str, Any], options: CaptureOptions) -> NewBaseline:
    """Return the new baseline with the id that a capture would give it; raise if it cannot have one."""
    new = new_baseline(project, record, options)
    new = new.named(name_new(new.draft, project, options.id_is_chosen))
    writing.check_names(new.draft.id, os.path.basename(new.folder))
    return new


def group_of(draft: Baseline, project: Project) -> str:
    """Return the folder of a new baseline: named by the host that it asks, or the skill or program that it
    runs."""
    base_url = project.words_of(draft).scope.values.get("base_url")
    return kind_of(draft.current).group(draft.current, base_url)


def _make_folder(root: str, name: str) -> list[str]:
    """Create the folder of a baseline that is still to be written: its program may need it. Return what was
    missing, the outermost first."""
    folder = os.path.join(root, name)
    missing = [path for path in (os.path.dirname(folder), folder) if not os.path.lexists(path)]
    with reporting(name):
        os.makedirs(folder, exist_ok=True)
    return missing


def _remove_if_empty(folder: str) -> None:
    with suppress(OSError):
        os.rmdir(folder)


# The capture.


def capture(
    project: Project, wanted: Sequence[NewBaseline], options: CaptureOptions, context: RunContext
) -> CaptureResults:
    """Replay the recipes, refuse what is not known-good, learn what varies, and write. Each group is written
    as soon as it has been replayed: if the run ends early, the written files stay, and the same command
    captures the others. What cannot be captured is reported, and does not stop the others."""
    done: dict[int, Captured] = {}
    errors: dict[int, BaselinekitError] = {}
    is_interrupted = is_full = False
    here = CaptureEnvironment(project, context.clients)
    for new in wanted:
        check_placeholders(options.placeholders, project.words_of(new.draft))

    @contextmanager
    def blaming(number: int) -> Iterator[None]:
        try:
            yield
        except BaselinekitError as error:
            errors[number] = wanted[number].blamed(error, project.root)

    with ExitStack() as folders:
        replay_jobs: dict[int, ReplayJob] = {}
        for number, new in enumerate(wanted):
            with blaming(number):
                if new.record is not None:
                    writing.check_names(new.draft.id, os.path.basename(new.folder))
                    for folder in _make_folder(project.root, new.folder):
                        folders.callback(_remove_if_empty, folder)
                    writing.check_folder(project.root, new.folder)
                setting = replace(project.setting(new.folder, context.clients), asker=new.draft.id)
                check(new.draft, setting)
                times = options.times(new.draft.current)
                replay_jobs[number] = ReplayJob(new.draft.current, setting, times)
        numbers = [*replay_jobs]
        try:
            for group in observe_all([*replay_jobs.values()], context, options.jobs):
                learnt: dict[int, Learnt] = {}
                for index, replays in group:
                    with blaming(numbers[index]):
                        new = wanted[numbers[index]]
                        now = context.clients.now()
                        learnt[numbers[index]] = learn_from(project, new, replays, options, now)
                with context.stop.heard():  # so that every written file is reported
                    for number, one in learnt.items():
                        if options.replace_lookalikes:
                            one = replace(one, lesson=with_lookalikes(one.lesson))
                        with blaming(number):
                            done[number] = _store(here, one, options, context.timestamp())
                        failed = errors[number].problems if number in errors else ()
                        if is_full := any(one.code == "BK120" for one in failed):
                            break  # a full disk has no room for the next file either
                if context.stop.is_set():
                    raise KeyboardInterrupt
                if is_full:
                    break
        except KeyboardInterrupt:
            is_interrupted = True
    left = len(wanted) - len(done) - len(errors)
    in_order = [errors[number] for number in sorted(errors)]
    return CaptureResults([done[number] for number in sorted(done)], in_order, left, is_interrupted)


class Learnt(Struct):
    """A new baseline with its observations and the lesson learnt from them. `notes`: the notes on it."""

    new: NewBaseline
    observations: Sequence[Observation]
    lesson: Lesson
    notes: tuple[str, ...]


def learn_from(
    project: Project, new: NewBaseline, replays: Replays, options: CaptureOptions, now: float
) -> Learnt:
    """Learn from the replays of one recipe, if all of them went well."""
    if isinstance(replays, BaselinekitError):
        raise replays
    for observation in replays:
        refuse_troubles(new.draft, observation, options)
    new, observations, form_notes = _with_form_found(new, replays, options)
    outputs = [observation.output for observation in observations]
    new, formats = new.adapt(new, outputs)
    draft, words = new.draft, project.words_of(new.draft)
    templating = OutputTemplater(words.scope)
    output = templating.template(outputs[0])
    for text, placeholder in options.placeholders.items():
        places = places_of(output, text, kind_of(draft.current))
        if not places:
            raise InvalidInput(nothing_there(output, text, kind_of(draft.current)))
        texts = {path: placed(value_at(output, path), placeholder, words) or placeholder for path in places}
        output = with_values(output, texts)
    formats = {} if options.exact else formats
    output = with_values(output, dict(formats))
    hidden: list[tuple[Path, str]] = []
    if len(observations) == 1:  # before compiling, which a secret could make fail
        output, hidden = hide_secrets(output, project.redactor, options.hide_secrets, options.allow_secrets)
    candidate = replace(draft, baseline=Known(output=output))
    words = project.words_of(candidate)
    matcher = compile_baseline(candidate, words)
    accepted = check_accepted(matcher, observations[0], project)
    lesson = Lesson(candidate)
    if not options.exact:
        settled = [accepted, *map(matcher.compare, observations[1:])]
        case = LearningCase(candidate, matcher, observations, settled, words, now, Matcher.compare)
        lesson = learn_new(case)
        mask = project.redactor.knowing(outputs).mask_value
        volatile = masked_places(lesson.volatile, mask, MOST_VALUES + 1)
        same = masked_places(lesson.lookalikes, mask, MOST_VALUES + 1)
        if options.hide_secrets:
            secret = {path for path, _ in secrets_in(lesson.output, project.redactor)}
            same = tuple(item for item in same if not secret.issuperset(item.places))
        lesson = replace(lesson, volatile=volatile, lookalikes=same)
    is_single_write = len(observations) == 1 and kind_of(draft.current).writes(draft.current)
    advice = f"baselinekit refresh {draft.id} --learn finds what varies, and sends it 3 times more"
    notes = (
        *kind_of(draft.current).remarks(draft.current, observations[0]),
        *form_notes,
        *([f"a write is asked once: {advice}"] if is_single_write and lesson.lookalikes else []),
        *templating.notes(),
        *describe_hidden(hidden),
        *(report.message for report in accepted.reports if report.kind == "stale"),
    )
    return Learnt(new, observations, lesson, notes)


def _with_form_found(
    new: NewBaseline, replays: Sequence[Observation], options: CaptureOptions
) -> tuple[NewBaseline, Sequence[Observation], Sequence[str]]:
    """Give a new recipe the form (`parse`) that its answers have but do not declare, with its rules unless
    the comparison is an exact one, and read the answers again in that form. The recipe of a file stays as
    it is."""
    recipe = new.draft.current
    forms_found = [kind_of(recipe).form_found(recipe, observation.output) for observation in replays]
    forms = [form for form in forms_found if form is not None]
    if new.record is None or len(forms) < len(replays):
        return new, replays, ()
    execution = {**new.record["current"]["execution"], **forms[0].execution}
    comparison, notes = {**new.record.get("comparison", {})}, forms[0].notes
    if options.exact or new.draft.comparison.type not in (None, "structural"):
        notes = notes[:1]
    elif forms[0].ignore_values:
        comparison["options"] = {**forms[0].options, **comparison.get("options", {})}
        comparison["ignore_values"] = [*forms[0].ignore_values, *comparison.get("ignore_values", [])]
    current = {**new.record["current"], "execution": execution}
    record = {**new.record, "current": current, "comparison": comparison}
    new = replace(new, record=record, draft=parse_record(record))
    pairs = zip(replays, forms, strict=True)
    return new, [replace(observation, output=form.output) for observation, form in pairs], notes


def _store(here: CaptureEnvironment, learnt: Learnt, options: CaptureOptions, now: str) -> Captured:
    """Write the output of a baseline, and return a summary with the line of each place."""
    project, new, lesson, count = here.project, learnt.new, learnt.lesson, len(learnt.observations)
    root, limit = project.root, project.config.inline_limit
    draft, observation = new.draft, learnt.observations[0]
    hide, allow = options.hide_secrets, options.allow_secrets
    output, hidden = hide_secrets(lesson.output, project.redactor, hide, allow)
    lesson = lesson.storing(output)
    here.environment()
    known: dict[str, Json] = {
        "output": output,
        "captured_at": now,
        "environment": environment_of(project, draft, observation, here.seen),
        "observed": observed_for(draft.comparison, observation),
        "learnt": evidence_of(lesson.volatile, count, project.redactor),
    }
    known = {key: value for key, value in known.items() if value or key not in ("observed", "learnt")}
    if new.record is None:
        file = draft.source.file
        writing.add_baseline(draft, known, root, limit, lesson.singles)
    else:
        file = f"{new.folder}/{draft.id}.yaml"
        record = completed_record(new, known, options.version)
        writing.write_file(record, file, root, limit, atomic.reference(root, new.folder))
    paths = (*(item.places[0] for item in lesson.volatile), *(refusal.path for refusal in lesson.refusals))
    written = replace(draft.source, file=file)
    places = locate_all(written, [("baseline", "output", *path) for path in paths], root) if paths else ()
    return Captured(
        id=draft.id,
        file=file,
        output=output,
        seconds=observation.seconds,
        notes=(*learnt.notes, *describe_hidden(hidden), *new.notes),
        replays=count,
        learnt=tuple(zip(lesson.volatile, places, strict=False)),
        unlearnt=tuple(zip(lesson.refusals, places[len(lesson.volatile) :], strict=True)),
        lookalikes=lesson.lookalikes,
    )


def completed_record(new: NewBaseline, known: dict[str, Json], version: str | None = None) -> dict[str, Any]:
    """Return the record in the order of its file, with its output and the rules for it."""
    record, draft, output = new.record or {}, new.draft, known["output"]
    comparison = {"type": default_type(output, draft.current.kind)} | record.get("comparison", {})
    singles = [] if comparison["type"] == "exact" else [*map(render, single_element_arrays(output))]
    if singles:
        comparison["arrays"] = {**dict.fromkeys(singles, "ordered"), **comparison.get("arrays", {})}
    return {
        **{key: record[key] for key in ("id", "name", "description") if key in record},
        **({"baseline_version": version} if version else {}),
        "baseline": known,
        "current": record["current"],
        "comparison": comparison,
        "metadata": {**record.get("metadata", {}), "last_passed": None, "failure_count": 0},
    }


# Outputs that are not stored as known-good.

_ADVICE: dict[Flag, str] = {
    "--allow-error-status": "fix it",
    "--allow-empty": "try again, or fix the prompt",
    "--allow-failing": "try again, or fix the prompt",
}
"""What the user can do about an answer that is refused unless the flag is passed."""


def refuse_troubles(draft: Baseline, observation: Observation, options: CaptureOptions) -> None:
    """Refuse an answer with signs that it went wrong, unless the user has allowed them."""
    refused, problems = "it is not stored as known-good", []
    for trouble in kind_of(draft.current).troubles(draft.current, observation):
        if not getattr(options, trouble.flag.removeprefix("--").replace("-", "_")):
            message = f"{trouble.message}{trouble.detail and f' ({trouble.detail})'}: {refused}"
            problems.append(Problem("BK521", message, f"{_ADVICE[trouble.flag]}, or pass {trouble.flag}"))
    if observation.reason_not_to_store is not None:
        problems.append(Problem("BK521", f"{observation.reason_not_to_store}: {refused}"))
    if problems:
        raise CannotReplay(*problems)


def check_placeholders(placeholders: Mapping[str, str], words: PlaceholderContext) -> None:
    """Check placeholders before anything is sent, and once for all places that they are for."""
    for text, placeholder in placeholders.items():
        try:
            compile_text(placeholder, words)
        except InvalidInput as error:
            option = f"--placeholder '{text}={placeholder}'"
            named = (replace(one, message=f"{option}: {one.message}") for one in error.problems)
            raise InvalidInput(*named) from None


def refuse_secrets_in_recipe(current: Json, redactor: Redactor, options: CaptureOptions) -> None:
    """Refuse a recipe with secrets: it is stored too, so what looks like a token must become a variable."""
    problems = []
    for path, secret in secrets_in(current, redactor, lookalikes=not options.allow_secrets):
        hint = "pass it as --secret NAME=…, and it is stored as {{NAME}}; or pass --allow-secrets"
        if secret.startswith(DECLARED):
            hint = "write it as {{NAME}}: a declared secret is never stored"
        if path[-2:-1] != ("save",):  # a variable's name and the path of its value
            problems.append(Problem("BK522", f"{render(path)} of the recipe holds {secret}", hint))
    if problems:
        raise Refused(*problems)


def nothing_there(output: Json, text: str, kind: RecipeKind) -> Problem:
    """Return the problem of a path that leads to nothing."""
    in_answer = kind.paths_start_in_answer and isinstance(output, dict)
    whole = output.get(kind.answer) if in_answer else output
    hint = suggest_path(parse(text), whole)
    return Problem("BK523", f"the path {text!r} leads to nothing in the output", hint)


def check_accepted(matcher: Matcher, observation: Observation, project: Project) -> Comparison:
    """Compare the stored output with what was seen: a rule or placeholder that rejects it is found now."""
    comparison = matcher.compare(observation)
    wrong = [difference for difference in comparison.differences if not is_limit(difference)]
    if wrong:
        mask, first = project.redactor.knowing(observation.output).mask_value, wrong[0]
        actual = "nothing" if first.actual is ABSENT else repr(mask(first.actual, first.path))
        message = f"{render(first.path)}: {first.expected!r} does not accept what was seen: {actual}"
        raise InvalidInput(Problem("BK524", message, "choose another placeholder or rule"))
    return comparison


# Secrets in an output: they are refused, or replaced by placeholders.

_MOST_HIDDEN = 3
_SECRET_KINDS = ("any_uuid", "any_jwt", "any_hex", "any_token", "any_nonempty_string", "any_string")


def hide_secrets(
    output: Json, redactor: Redactor, hide: bool, allow: bool
) -> tuple[Json, list[tuple[Path, str]]]:
    """Replace secrets by placeholders, if `hide`, and return the output with the places of the placeholders.
    The secrets that are still in it are refused; with `allow`, values that only look like secrets are
    accepted, but a declared secret never is."""
    output, hidden = without_secrets(output, redactor) if hide else (output, [])
    problems = []
    for path, secret in secrets_in(output, redactor, lookalikes=not allow):
        hint = "store a placeholder in its place: --placeholder-like secrets"
        if secret.endswith(IN_A_NAME):
            hint = f"store a placeholder for the object: --placeholder '{render(path[:-1])}=<<any>>'"
        hint += "" if secret.startswith(DECLARED) else ", or pass --allow-secrets"
        problems.append(Problem("BK522", f"{render(path) or 'the output'} holds {secret}", hint))
    if problems:
        raise Refused(*problems)
    return output, hidden


def describe_hidden(hidden: Sequence[tuple[Path, str]]) -> Iterator[str]:
    """Name the places that now hold a placeholder for a secret, which itself is stored nowhere."""
    if hidden:
        places = list_first([render(path) for path, _ in hidden], _MOST_HIDDEN)
        yield f"what looks like a secret is stored as a placeholder: {places}"


def without_secrets(output: Json, redactor: Redactor) -> tuple[Json, list[tuple[Path, str]]]:
    """Return the output with a placeholder for each secret, and for each value that looks like one, and their
    places. Secrets in a key stay: a key cannot be a placeholder."""
    placeholders: dict[Path, str] = {}
    for path, secret in secrets_in(output, redactor):
        if not secret.endswith(IN_A_NAME) and path not in placeholders:
            value = value_at(output, path)
            in_parts = isinstance(value, str) and not secret.startswith(DECLARED)
            parts = _without_secret_parts(value, path) if in_parts else ""
            placeholders[path] = parts or _placeholder_for(value)
    return with_values(output, dict(placeholders)), list(placeholders.items())


def _placeholder_for(value: Json) -> str:
    """Return the narrowest placeholder that reveals nothing of the value."""
    if not isinstance(value, str):
        return "<<any_number>>"
    return next(text for kind in _SECRET_KINDS if accepts_all(text := f"<<{kind}>>", [value]))


def _without_secret_parts(text: str, path: Path) -> str:
    """Return a text with placeholders for its secrets; empty if only its name makes it one."""
    found = {part: secret_parts(part, path) for part in split(text) if isinstance(part, str)}

    def write(part: str, followed: bool) -> str:
        spans = [(start, end, _placeholder_for(part[start:end])) for start, end in found[part]]
        return with_spans(part, spans, followed)

    return with_literals(text, write) if any(found.values()) else ""


# The hosts of new baselines that the configuration must name before they can be asked in CI.

_PORTS = {"http": 80, "https": 443}


def unnamed_origins(
    project: Project, recipes: Iterable[Recipe], look: Callable[[str, int], Sequence[str]]
) -> list[str]:
    """Return the origins, as people write them, that a compare in CI would refuse to ask. A host that does
    not resolve here may resolve there. With --base-url there are none to check: it is passed again."""
    trust, asked, unnamed = replace(project.trust, ci=True), dict[str, None](), list[str]()
    for recipe in recipes if project.override_base_url is None else ():
        for text in kind_of(recipe).addresses(recipe):
            with suppress(BaselinekitError):  # needs a value that only a run has
                url = project.scope.expand(text, ())
                asked |= {origin(url): None} if isinstance(url, str) and url else {}
    for url in asked:
        scheme, _, host_and_port = url.partition("://")
        host, _, port = host_and_port.rpartition(":")
        addresses: Sequence[str] = ()
        with suppress(OSError, ValueError):
            addresses = look(host.strip("[]"), int(port))
        try:
            trust.check_request(url)
            for address in addresses:
                trust.check_address(url, address)
        except Refused:
            unnamed.append(url.removesuffix(f":{_PORTS[scheme]}"))
    return unnamed


# The id of a new baseline: no other baseline has it, and it shows what the baseline asks. It is made of the
# target alone (`get-orders`) unless another recipe has it. Then what distinguishes the two is added
# (`get-orders-page-2`), or a hash of the recipe if nothing readable does: the same recipe gets the same id
# beside the same others.


LONGEST = 60
_HASH = 6
_UNLIMITED = 1_000


def slug(text: str, longest: int = LONGEST) -> str:
    """A name for a file: lower case, words joined by `-`."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:longest] or "baseline"


def baselines_by_id(project: Project) -> dict[str, Baseline | None]:
    """All baselines by their ids, in lower case; None for one that cannot be read."""
    records = records_by_id(project.root, project.folders)
    return {id: read_record(raw, source)[0] for id, (source, raw) in records.items()}


def name_new(draft: Baseline, project: Project, is_chosen: bool) -> str:
    """Return the id of a new baseline. `is_chosen`: the operator has chosen its id, which is used or refused
    as it is."""
    taken = baselines_by_id(project)
    id = free_id(draft, taken, project)
    for candidate in takewhile(id.__ne__, possible_ids(draft, taken, project)):
        other = taken[candidate.casefold()]
        if other is not None and is_same(draft, other, project):
            accept = f"accept its new answer: baselinekit refresh {other.id} --replay"
            place = locate(other.source, ("id",), project.root)
            message = f"the id {other.id!r} is taken by the same recipe"
            raise InvalidInput(Problem("BK113", message, f"choose another --id, or {accept}", place))
    if is_chosen and id != draft.id:
        message, hint = f"the id {draft.id!r} is taken", f"choose another --id, such as {id}"
        owner = taken[draft.id.casefold()]
        owner_place = locate(owner.source, ("id",), project.root) if owner else None
        raise InvalidInput(Problem("BK113", message, hint, owner_place))
    return id


def free_id(draft: Baseline, taken: Mapping[str, Baseline | None], project: Project) -> str:
    """Return its id, or a longer one where another baseline has that."""
    return next(id for id in possible_ids(draft, taken, project) if id.casefold() not in taken)


def possible_ids(draft: Baseline, taken: Mapping[str, Baseline | None], project: Project) -> Iterator[str]:
    """Yield the id, then the same with what distinguishes its recipe from the one that has this id, a word
    more each time, and finally with a hash."""
    yield draft.id
    words, other = slug(draft.id), taken.get(draft.id.casefold())
    own_parts, other_parts = _distinctions(draft, project), _distinctions(other, project) if other else []
    for part, other_part in zip_longest(own_parts, other_parts, fillvalue=""):
        longer = f"{words}-{slug(part, _UNLIMITED)}"
        if part and slug(part, _UNLIMITED) != slug(other_part, _UNLIMITED) and len(longer) <= LONGEST:
            words = longer
            yield words
    digits = recipe_hash(draft.current)
    for length in range(_HASH, len(digits) + 1):
        yield f"{slug(words, LONGEST - length - 1).rstrip('-')}-{digits[:length]}"


def _distinctions(baseline: Baseline, project: Project) -> list[str]:
    return kind_of(baseline.current).distinctions(baseline.current, _base_url(baseline, project))


def _base_url(baseline: Baseline, project: Project) -> str:
    """Return the base_url, as long as the operator does not override it."""
    kind = kind_of(baseline.current)
    return str(kind.base_url(baseline.current, None, project.base_url) or "").rstrip("/")


def is_same(draft: Baseline, other: Baseline, project: Project) -> bool:
    """Whether both send the same request to the same address. Timeouts are not compared for requests."""
    recipe, other_recipe = draft.current, other.current
    if recipe.kind != other_recipe.kind or _base_url(draft, project) != _base_url(other, project):
        return False
    if kind_of(recipe).asks_address:
        return digest(recipe.input) == digest(other_recipe.input)
    return recipe_hash(recipe) == recipe_hash(other_recipe)

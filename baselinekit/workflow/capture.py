"""capture: replay a recipe, once or several times, and write down what came back as the known-good output."""

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from baselinekit.compare.dispatch import compile_baseline, default_type, is_limit
from baselinekit.errors import (
    BaselinekitError,
    CannotReplay,
    InvalidInput,
    NotRecorded,
    Place,
    Problem,
    Refused,
)
from baselinekit.kinds.kind import Flag, RecipeKind
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import SUGGESTION, Baseline, Known
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.table import Words
from baselinekit.placeholders.template import compile_text
from baselinekit.refresh.learning import UnlearnablePlace, Volatile
from baselinekit.replay.environment import capture_environment
from baselinekit.store import writing
from baselinekit.store.atomic import cannot_write
from baselinekit.store.reading import locate_all, parse_record
from baselinekit.tree.paths import find, parse, render, suggest, with_values
from baselinekit.trust import check_inside, origin
from baselinekit.variables import Redactor
from baselinekit.workflow.context import RunContext
from baselinekit.workflow.environment import environment_of, observed_for
from baselinekit.workflow.judging import check
from baselinekit.workflow.learning import (
    DECLARED,
    IN_A_NAME,
    CaptureLesson,
    Templating,
    learn,
    observe_each,
    ordered_singles,
    secrets_in,
    with_names,
)
from baselinekit.workflow.naming import name_new
from baselinekit.workflow.project import Project
from baselinekit.workflow.selection import load, locate_problems


@dataclass(frozen=True, slots=True)
class Learnt:
    """A path that varies, what stands there now, and where in the file."""

    found: Volatile
    place: Place | None


@dataclass(frozen=True, slots=True)
class Unlearnt:
    """A path that varies and that nothing stands for, so that a compare will fail there."""

    found: UnlearnablePlace
    place: Place | None

    @property
    def problem(self) -> Problem:
        what = f"{render(self.found.path)} varies: {self.found.what}"
        return Problem("BK527", what, self.found.hint, self.place)


@dataclass(frozen=True, slots=True)
class Captured:
    """What was written where, and what the replays taught."""

    id: str
    file: str
    output: Json
    seconds: float
    notes: tuple[str, ...] = ()
    replays: int = 1
    learnt: tuple[Learnt, ...] = ()
    unlearnt: tuple[Unlearnt, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownGood:
    """What is to be written, and what there is to say of it."""

    mapping: dict[str, Json]
    seconds: float
    notes: tuple[str, ...]
    replays: int
    lesson: CaptureLesson

    def captured(self, project: Project, id: str, file: str) -> Captured:
        """What there is to tell, each place with its line in the file that was written."""
        volatile, refusals = self.lesson.volatile, self.lesson.refusals
        paths = (*(varying.places[0] for varying in volatile), *(refusal.path for refusal in refusals))
        places: Sequence[Place | None] = ()
        if paths:
            (written,) = (known for known in load(project, [f"{project.root}/{file}"]) if known.id == id)
            wanted: list[Path] = [("baseline", "output", *path) for path in paths]
            places = locate_all(written.source, wanted, project.root)
        learnt = tuple(map(Learnt, volatile, places))
        unlearnt = tuple(map(Unlearnt, refusals, places[len(volatile) :]))
        output = self.lesson.output
        return Captured(id, file, output, self.seconds, self.notes, self.replays, learnt, unlearnt)


@dataclass(frozen=True, slots=True)
class CaptureOptions:
    """What the operator wants of a new baseline. `placeholders`: path -> the text stored there; `repeat`: how
    often it is replayed, to learn what varies."""

    placeholders: Mapping[str, str] = field(default_factory=dict)
    version: str | None = None
    group: str | None = None
    allow_error_status: bool = False
    allow_empty: bool = False
    allow_secrets: bool = False
    repeat: int = 1
    id_is_chosen: bool = False
    """Whether the operator has chosen the id; else it is made longer where another recipe has it."""


def capture_new(
    project: Project, record: dict[str, Any], options: CaptureOptions, context: RunContext
) -> Captured:
    """A new file. `record` holds everything but the output: id, current, comparison, metadata."""
    record = {**record, "current": with_names(record["current"], project.scope)}
    draft = parse_record(record, project.root)
    refuse_secrets_in_recipe(record["current"], project.redactor, options)
    draft = replace(draft, id=name_new(draft, project, options.id_is_chosen))
    record["id"] = draft.id
    group = options.group or group_of(draft, project)
    folder = os.path.join(project.folders[0], group)
    check_inside(project.root, os.path.realpath(os.path.join(project.root, folder)), f"--group {group}")
    writing.check_names(draft.id, group)
    with folder_made(project.root, folder):
        writing.check_folder(project.root, folder)
        check(draft, project.setting(folder, context.clients))
        known_good = observe_known_good(project, draft, options, context, folder)
        record, notes = completed_record(project, draft, record, options.version, known_good)
        schema = writing.reference(project.root, folder)
        file = writing.write_new(
            record, group, project.root, project.folders[0], project.config.inline_limit, schema
        )
    known_good = replace(known_good, notes=(*known_good.notes, *notes))
    return known_good.captured(project, draft.id, file)


def completed_record(
    project: Project, draft: Baseline, record: dict[str, Any], version: str | None, known_good: KnownGood
) -> tuple[dict[str, Any], list[str]]:
    """The record in the order of its file, with its output and the rules that go with it; and notes."""
    output, kind = known_good.lesson.output, draft.current.kind
    comparison = {"type": default_type(output, kind)} | record.get("comparison", {})
    singles = ordered_singles(output, comparison["type"] == "exact")
    if singles:
        comparison["arrays"] = {**dict.fromkeys(singles, "ordered"), **comparison.get("arrays", {})}
    notes = [
        f"{path} holds one element and is compared so; without `ordered`, it would describe every element"
        for path in singles
    ]
    is_text = kind_of(draft.current).asks_models == "always" and comparison["type"] == "exact"
    if is_text and draft.comparison.type is None and "judge" in project.models:
        notes.append(SUGGESTION)  # a model words things differently from time to time: a judge can tell
    return {
        **{key: record[key] for key in ("id", "name", "description") if key in record},
        **({"baseline_version": version} if version else {}),
        "baseline": known_good.mapping,
        "current": record["current"],
        "comparison": comparison,
        "metadata": {**record.get("metadata", {}), "last_passed": None, "failure_count": 0},
    }, notes


def capture_all(
    project: Project, drafts: Sequence[Baseline], options: CaptureOptions, context: RunContext
) -> tuple[list[Captured], list[BaselinekitError]]:
    """Each draft by itself: what can be captured is, and what cannot is told with its place."""
    done: list[Captured] = []
    errors: list[BaselinekitError] = []
    for draft in drafts:
        try:
            done.append(capture_into(project, draft, options, context))
        except BaselinekitError as error:
            errors.append(type(error)(*locate_problems(draft, error.problems, project.root)))
    return done, errors


def capture_into(project: Project, draft: Baseline, options: CaptureOptions, context: RunContext) -> Captured:
    """The `baseline:` of a file that has a recipe and no output yet; the rest of the file stays as it is."""
    file = draft.source.file
    if draft.baseline is not None:
        what = f"{draft.id} already has a baseline: capture does not overwrite"
        problem = Problem("BK520", what, f"baselinekit refresh {shlex.quote(file)} --replay")
        raise InvalidInput(*locate_problems(draft, [problem], project.root))
    known_good = observe_known_good(project, draft, options, context, os.path.dirname(file))
    writing.add_baseline(draft.source, known_good.mapping, project.root, project.config.inline_limit)
    return known_good.captured(project, draft.id, file)


def check_draft(project: Project, draft: Baseline, context: RunContext) -> None:
    """Whether the recipe of a file can work at all, before anything is asked."""
    try:
        check(draft, project.setting_of(draft, context.clients))
    except (InvalidInput, Refused) as error:
        raise type(error)(*locate_problems(draft, error.problems, project.root)) from None


@contextmanager
def folder_made(root: str, name: str) -> Iterator[None]:
    """The folder of a baseline that is still to be written: what it runs finds it there, and finds there what
    it needs. If nothing comes of it, no empty folder is left that was not there."""
    folder = above = os.path.join(root, name)
    missing = []
    while not os.path.isdir(above):
        missing.append(above)
        above = os.path.dirname(above)
    try:
        os.makedirs(folder, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        what = f"{name} cannot be a folder: a file is in the way"
        raise InvalidInput(Problem("BK120", what, "move it away, or choose another --group")) from None
    except OSError as error:
        raise NotRecorded(cannot_write(name, error)) from None
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for made in missing:
                os.rmdir(made)
        raise


def observe_known_good(
    project: Project, draft: Baseline, options: CaptureOptions, context: RunContext, folder: str
) -> KnownGood:
    """Replay the recipe, refuse what is not known-good, and make of it what is to be stored."""
    words = project.words_of(draft)
    check_placeholders(options.placeholders, words)
    setting = replace(project.setting(folder, context.clients), asker=draft.id)
    observations = observe_each(draft.current, setting, options.repeat, context)
    observation = observations[0]
    for replayed in observations:
        refuse_troubles(draft, replayed, options)
    templating = Templating(words.scope)
    output = templating.template(observation.output)
    for text, placeholder in options.placeholders.items():
        output = with_placeholder_at(output, text, placeholder, kind_of(draft.current))
    if len(observations) == 1:
        refuse_secrets_in_output(
            output, project.redactor, options
        )  # before it is compiled: that may fail for it
    candidate = replace(draft, baseline=Known(output=output))
    unmet = refuse_unaccepted(candidate, observation, project)
    lesson = learn(project, candidate, observations, templating.text, is_new=not draft.source.file)
    refuse_secrets_in_output(lesson.output, project.redactor, options)
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
    notes = (*remarks_on(draft, observations), *templating.notes(), *unmet)
    return KnownGood(mapping, observation.seconds, notes, len(observations), lesson)


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
}
"""What is refused unless the user passes the flag: its code, and what else there is to do."""


def refuse_troubles(draft: Baseline, observation: Observation, options: CaptureOptions) -> None:
    """Whatever says that it went wrong is stored only where the user has said so."""
    allowed = {"--allow-error-status": options.allow_error_status, "--allow-empty": options.allow_empty}
    problems = [
        Problem(
            _REFUSED[trouble.flag][0],
            f"{trouble.message}: it is not stored as known-good",
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
    ]
    if problems:
        raise Refused(*problems)


def refuse_secrets_in_output(output: Json, redactor: Redactor, options: CaptureOptions) -> None:
    """What looks like a secret is stored where the user insists; a declared one never is."""
    problems = []
    for path, what in secrets_in(output, redactor, lookalikes=not options.allow_secrets):
        place = path[:-1] if what.endswith(IN_A_NAME) else path
        insist = "" if what.startswith(DECLARED) else ", or pass --allow-secrets"
        declare = "" if what.startswith(DECLARED) else ", declare it (--secret NAME=…)"
        text = "<<any>>" if place != path else "<<any_string>>"
        hint = f"store a placeholder: --placeholder '{render(place)}={text}'{insist}"
        if not place:
            hint = f"make it answer without that{declare}{insist}"
        problems.append(Problem("BK522", f"{render(path) or 'the output'} holds {what}", hint))
    if problems:
        raise Refused(*problems)


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


def refuse_unaccepted(candidate: Baseline, observation: Observation, project: Project) -> list[str]:
    """What is stored must accept what was seen: a rule or a placeholder that does not is found now. What
    is told are rules that met nothing."""
    comparison = compile_baseline(candidate, project.words_of(candidate)).compare(observation)
    limits = [d for d in comparison.differences if is_limit(d)]
    if comparison.count > len(limits):
        first = next(d for d in comparison.differences if d not in limits)
        mask = project.redactor.knowing(observation.output).mask_value
        seen = "nothing" if first.actual is ABSENT else repr(mask(first.actual, first.path))
        what = f"{render(first.path)}: {first.expected!r} does not accept what was seen: {seen}"
        raise InvalidInput(Problem("BK524", what, "choose another placeholder or rule"))
    return [report.what for report in comparison.reports if report.kind == "stale"]


def group_of(draft: Baseline, project: Project) -> str:
    """The folder of a new baseline: the host that it asks, the skill or the program that it runs."""
    base_url = project.words_of(draft).scope.values.get("base_url")
    return kind_of(draft.current).group(draft.current, base_url)


# Which hosts of new baselines the configuration has to name, before CI asks them.


_PORTS = {"http": 80, "https": 443}


def unnamed_origins(
    project: Project, recipes: Iterable[Recipe], look: Callable[[str, int], Sequence[str]]
) -> list[str]:
    """The origins that a compare in CI would not ask, as people write them. What has no address here says
    nothing of the one that it has there."""
    trust = replace(project.trust, ci=True)
    found = []
    for url in dict.fromkeys(url for recipe in recipes for url in addresses_asked(project, recipe)):
        parts = urlsplit(url)
        try:
            known = look(parts.hostname or "", parts.port or _PORTS[parts.scheme])
        except (OSError, ValueError, KeyError):
            known = []
        try:
            trust.check_request(url)
            for address in known:
                trust.check_address(url, address)
        except Refused:
            where = origin(url)  # as people write it: without the port that goes without saying
            found.append(where.removesuffix(f":{_PORTS[where.partition('://')[0]]}"))
    return list(dict.fromkeys(found))


def addresses_asked(project: Project, recipe: Recipe) -> Iterator[str]:
    """Where the recipe says that its requests go. An address that the operator gave in its place is given
    again."""
    if project.override_base_url is not None:
        return
    for text in kind_of(recipe).addresses(recipe):
        try:
            url = project.scope.expand(text, ())
            if isinstance(url, str) and url:
                origin(url)
                yield url
        except BaselinekitError:  # what only a run can know
            continue

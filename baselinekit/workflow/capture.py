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
from baselinekit.model.baselines import Baseline, Known
from baselinekit.model.comparison import SUGGESTION
from baselinekit.model.observation import Observation
from baselinekit.model.recipes import Recipe
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.table import Words
from baselinekit.placeholders.template import compile_text
from baselinekit.refresh.learning import UnlearnablePlace, Volatile
from baselinekit.replay.environment import capture_environment
from baselinekit.store import writing
from baselinekit.store.atomic import cannot_write
from baselinekit.store.locating import locate_each
from baselinekit.store.reading import parse_record, refuse_taken
from baselinekit.store.writing import add_baseline, check_folder, check_names, write_new
from baselinekit.tree.paths import find, parse, render, suggest, with_values
from baselinekit.trust import check_inside, origin
from baselinekit.workflow.context import RunContext
from baselinekit.workflow.environment import environment_of, observed_for
from baselinekit.workflow.judging import check
from baselinekit.workflow.learning import (
    DECLARED,
    IN_A_NAME,
    Taught,
    Templating,
    observe_each,
    ordered_singles,
    secrets_in,
    taught,
    with_names,
)
from baselinekit.workflow.loading import load, located
from baselinekit.workflow.project import Project

# What a capture has to tell: what was written where, and what it learnt of it.


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
    """What was written."""

    id: str
    file: str
    output: Json
    seconds: float
    notes: tuple[str, ...] = ()
    replays: int = 1
    learnt: tuple[Learnt, ...] = ()
    unlearnt: tuple[Unlearnt, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """What is to be written, and what there is to say of it."""

    output: Json
    mapping: dict[str, Json]
    seconds: float
    notes: tuple[str, ...]
    replays: int
    taught: Taught


def captured(project: Project, id: str, file: str, found: Found) -> Captured:
    """What there is to tell, each place with its line in the file that was written."""
    volatile, refusals = found.taught.volatile, found.taught.refusals
    paths = (*(one.places[0] for one in volatile), *(one.path for one in refusals))
    places = _places(project, id, file, paths)
    return Captured(
        id,
        file,
        found.output,
        found.seconds,
        found.notes,
        found.replays,
        tuple(map(Learnt, volatile, places)),
        tuple(map(Unlearnt, refusals, places[len(volatile) :])),
    )


def _places(project: Project, id: str, file: str, paths: Sequence[Path]) -> list[Place | None]:
    if not paths:
        return []
    written = next(one for one in load(project, [f"{project.root}/{file}"]) if one.id == id)
    wanted: list[Path] = [("baseline", "output", *path) for path in paths]
    return list(locate_each([(written.source, wanted)], project.root)[0])


# capture: replay a recipe, once or several times, and write down what came back as the known-good
# output.


_FURTHER = "only a later replay did; the first one is stored"

_REFUSED: dict[Flag, tuple[str, str]] = {
    "--allow-error-status": ("BK521", "mend it"),
    "--allow-empty": ("BK528", "try again, or fix the prompt"),
}
"""What is refused unless the user passes the flag: its code, and what else there is to do."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the one who captures wants of the new baseline. `placeholders`: path -> the text stored there;
    `repeat`: how often it is replayed, to learn what varies."""

    placeholders: Mapping[str, str] = field(default_factory=dict)
    version: str | None = None
    group: str | None = None
    allow_error_status: bool = False
    allow_empty: bool = False
    allow_secrets: bool = False
    repeat: int = 1


def capture_new(project: Project, record: dict[str, Any], wishes: Wishes, context: RunContext) -> Captured:
    """A new file. `record` holds everything but the output: id, current, comparison, metadata."""
    record = {**record, "current": with_names(record["current"], project.scope)}
    draft = parse_record(record, project.root)
    _refuse_in_recipe(project, record["current"], wishes)
    refuse_taken(draft.id, project.root, project.folders)
    group = wishes.group or group_of(draft, project)
    folder = os.path.join(project.folders[0], group)
    check_inside(project.root, os.path.realpath(os.path.join(project.root, folder)), f"--group {group}")
    check_names(draft.id, group)
    with _standing(project.root, folder):
        check_folder(project.root, folder)
        check(draft, project.setting(folder, context.clients))
        found = _observed(project, draft, wishes, context, folder)
        comparison = {"type": default_type(found.output, draft.current.kind)} | record.get("comparison", {})
        singles = ordered_singles(found.output, comparison["type"] == "exact")
        if singles:
            comparison["arrays"] = {**dict.fromkeys(singles, "ordered"), **comparison.get("arrays", {})}
        ordered: dict[str, Any] = {
            **{key: record[key] for key in ("id", "name", "description") if key in record},
            **({"baseline_version": wishes.version} if wishes.version else {}),
            "baseline": found.mapping,
            "current": record["current"],
            "comparison": comparison,
            "metadata": {**record.get("metadata", {}), "last_passed": None, "failure_count": 0},
        }
        schema = writing.reference(project.root, folder)
        file = write_new(
            ordered, group, project.root, project.folders[0], project.config.inline_limit, schema
        )
    notes = [
        f"{path} holds one element and is compared so; without `ordered`, it would describe every element"
        for path in singles
    ]
    notes += _suggestions(project, draft, comparison)
    return captured(project, draft.id, file, replace(found, notes=(*found.notes, *notes)))


def _suggestions(project: Project, draft: Baseline, comparison: Mapping[str, Json]) -> list[str]:
    """What a model says is worded otherwise from time to time: a judge, where there is one, can tell."""
    is_text = kind_of(draft.current).asks_models == "always" and comparison["type"] == "exact"
    return [SUGGESTION] if is_text and draft.comparison.type is None and "judge" in project.models else []


def capture_all(
    project: Project, drafts: Sequence[Baseline], wishes: Wishes, context: RunContext
) -> tuple[list[Captured], list[BaselinekitError]]:
    """Each draft by itself: what can be captured is, and what cannot is told with its place."""
    done: list[Captured] = []
    errors: list[BaselinekitError] = []
    for draft in drafts:
        try:
            done.append(capture_into(project, draft, wishes, context))
        except BaselinekitError as error:
            errors.append(type(error)(*located(draft, error.problems, project.root)))
    return done, errors


def capture_into(project: Project, draft: Baseline, wishes: Wishes, context: RunContext) -> Captured:
    """The `baseline:` of a file that has a recipe and no output yet; the rest of the file stays as it is."""
    if draft.baseline is not None:
        what = f"{draft.id} already has a baseline: capture does not overwrite"
        raise InvalidInput(
            *located(
                draft,
                [Problem("BK520", what, f"baselinekit refresh {shlex.quote(draft.source.file)} --replay")],
                project.root,
            )
        )
    found = _observed(project, draft, wishes, context, os.path.dirname(draft.source.file))
    add_baseline(draft.source, found.mapping, project.root, project.config.inline_limit)
    return captured(project, draft.id, draft.source.file, found)


def checked(project: Project, draft: Baseline, context: RunContext) -> None:
    """Whether the recipe of a file can work at all, before anything is asked."""
    try:
        check(draft, project.setting_of(draft, context.clients))
    except (InvalidInput, Refused) as error:
        raise type(error)(*located(draft, error.problems, project.root)) from None


@contextmanager
def _standing(root: str, name: str) -> Iterator[None]:
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


def _observed(project: Project, draft: Baseline, wishes: Wishes, context: RunContext, folder: str) -> Found:
    setting = replace(project.setting(folder, context.clients), asker=draft.id)
    for text, placeholder in wishes.placeholders.items():
        _check_placeholder(text, placeholder, project.words_of(draft))
    observations = observe_each(draft.current, setting, wishes.repeat, context)
    observation = observations[0]
    for one in observations:
        _refuse_troubles(draft, one, wishes)
    words = project.words_of(draft)
    templating = Templating(words.scope)
    output = templating.template(observation.output)
    for text, placeholder in wishes.placeholders.items():
        output = _placed(output, text, placeholder, kind_of(draft.current))
    if len(observations) == 1:
        _refuse_secrets(project, output, wishes)  # before it is compiled, which may fail for it
    candidate = replace(draft, baseline=Known(output=output))
    unmet = _must_pass(candidate, observation, project)
    is_new = not draft.source.file
    lesson = taught(project, candidate, observations, templating.text, is_new=is_new)
    output = lesson.output
    _refuse_secrets(project, output, wishes)
    around = capture_environment(
        project.root, project.config.environment, context.clients.execute, project.folders
    )
    mapping: dict[str, Json] = {
        "output": output,
        "captured_at": context.clock.timestamp(),
        "environment": environment_of(project, draft, observation, around),
    }
    took = observed_for(draft.comparison, observation)
    mapping |= {"observed": took} if took else {}
    notes = (*_remarks(draft, observations), *templating.notes(), *unmet)
    return Found(output, mapping, observation.seconds, notes, len(observations), lesson)


def _remarks(draft: Baseline, observations: Sequence[Observation]) -> Iterator[str]:
    """Of the first, which is stored; and what only others show."""
    first, *others = observations
    recipe, kind = draft.current, kind_of(draft.current)
    yield from kind.remarks(recipe, first)
    known = set(kind.remarks(recipe, first, _FURTHER))
    further = (remark for observation in others for remark in kind.remarks(recipe, observation, _FURTHER))
    yield from dict.fromkeys(remark for remark in further if remark not in known)


def _refuse_troubles(draft: Baseline, observation: Observation, wishes: Wishes) -> None:
    """Whatever says that it went wrong is stored only where the user has said so."""
    allowed = {"--allow-error-status": wishes.allow_error_status, "--allow-empty": wishes.allow_empty}
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


def _check_placeholder(text: str, placeholder: str, words: Words) -> None:
    """Before anything is asked, and once for however many places it is to stand at."""
    try:
        compile_text(placeholder, words)
    except InvalidInput as error:
        said = f"--placeholder '{text}={placeholder}'"
        problems = (replace(problem, message=f"{said}: {problem.message}") for problem in error.problems)
        raise InvalidInput(*problems) from None


def _refuse_in_recipe(project: Project, current: Json, wishes: Wishes) -> None:
    """A recipe is stored as well: what looks like a token in it has to become a variable first."""
    lookalike = "pass it as --secret NAME=…, and it is stored as {{NAME}}; or pass --allow-secrets"
    declared = "write it as {{NAME}}: a declared secret is never stored"
    problems = [
        Problem(
            "BK522",
            f"{render(path)} of the recipe holds {what}",
            declared if what.startswith(DECLARED) else lookalike,
        )
        for path, what in secrets_in(current, project.redactor, lookalikes=not wishes.allow_secrets)
    ]
    if problems:
        raise Refused(*problems)


def _refuse_secrets(project: Project, output: Json, wishes: Wishes) -> None:
    """What looks like a secret is stored where the user insists; a declared one never is."""
    problems = [
        Problem("BK522", f"{render(path) or 'the output'} holds {what}", _secret_mend(path, what))
        for path, what in secrets_in(output, project.redactor, lookalikes=not wishes.allow_secrets)
    ]
    if problems:
        raise Refused(*problems)


def _secret_mend(path: Path, what: str) -> str:
    place = path[:-1] if what.endswith(IN_A_NAME) else path
    insist = "" if what.startswith(DECLARED) else ", or pass --allow-secrets"
    if not place:
        declare = "" if what.startswith(DECLARED) else ", declare it (--secret NAME=…)"
        return f"make it answer without that{declare}{insist}"
    stands = "<<any>>" if place != path else "<<any_string>>"
    return f"store a placeholder: --placeholder '{render(place)}={stands}'{insist}"


def _placed(output: Json, text: str, placeholder: str, kind: RecipeKind) -> Json:
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


def _must_pass(candidate: Baseline, observation: Observation, project: Project) -> list[str]:
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


def unnamed(
    project: Project, recipes: Iterable[Recipe], look: Callable[[str, int], Sequence[str]]
) -> list[str]:
    """The origins that a compare in CI would not ask, as people write them. What has no address here says
    nothing of the one that it has there."""
    trust = replace(project.trust, ci=True)
    found = []
    for url in dict.fromkeys(url for recipe in recipes for url in _asked(project, recipe)):
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
            found.append(_short(url))
    return list(dict.fromkeys(found))


def _asked(project: Project, recipe: Recipe) -> Iterator[str]:
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


def _short(url: str) -> str:
    """The origin as people write it: without the port that goes without saying."""
    where = origin(url)
    scheme, _, _ = where.partition("://")
    return where.removesuffix(f":{_PORTS[scheme]}")

"""Replay and judge one baseline; mask the report of a run and keep it."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from baselinekit.commands.project import Project
from baselinekit.errors import (
    InvalidInput,
    cannot_replay,
)
from baselinekit.files.jsontext import pretty
from baselinekit.kinds import dispatch as replaying
from baselinekit.kinds.kind import CHECKS, FAILED, PASSED, SCORES
from baselinekit.kinds.settings import EXECUTION, Setting, undefined_in
from baselinekit.kinds.table import kind_of
from baselinekit.matching.dispatch import Matcher
from baselinekit.model.baselines import Answers, Baseline, Comparison, SimilarityQuestion
from baselinekit.model.recipes import ModelQuestion, Observation, Recipe, Scores
from baselinekit.model.results import Result
from baselinekit.model.values import Json
from baselinekit.secrets.variables import as_text
from baselinekit.structs import Struct, field, replace
from baselinekit.values.texts import mask_and_clip, no_mask

if TYPE_CHECKING:  # only needed when something fails
    from baselinekit.model.changes import KeptOutput

Masked = TypeVar("Masked", bound=Struct)
CHECKS_AT = (*EXECUTION, CHECKS)
_JUDGE = "judge"
_LONGEST_LINE = 300
_MOST_ROUNDS = 50
"""An answer can pair rows anew, which raises new questions."""


def check(baseline: Baseline, setting: Setting) -> None:
    """Raise the errors of a replay and its comparison that can be found without asking anything."""
    replaying.check(baseline.current, setting)
    if baseline.current.checks:
        from baselinekit.graders.checks import problems_of_checks

        recipe = baseline.current
        undefined = undefined_in(recipe.checks, setting.scope, CHECKS_AT)
        if problems := [*undefined, *problems_of_checks(recipe, CHECKS_AT)]:
            raise InvalidInput(*problems)
    rules = baseline.comparison
    methods = {rules.method, *(rule.method for rule in rules.fields.values())}
    if "judge" in methods:
        setting.clients.models.check(_JUDGE)
    if "embedding" in methods:
        setting.clients.similar([("", "")])  # which only loads the model


def observe(recipe: Recipe, setting: Setting) -> Observation:
    """Replay the recipe; its output gets `checks` and `quality_scores` where it asks for them."""
    answer = replaying.replay(recipe, setting)
    checks = outcomes_of_checks(recipe, answer, setting) if recipe.checks else {}
    output, environment = answer.output, answer.environment
    if checks:
        output = {
            **_as_dict(output),
            CHECKS: {name: FAILED if why else PASSED for name, why in checks.items()},
        }
    if recipe.scores is not None:
        scores, served = _ask_scores(answer.output, recipe.scores, setting)
        output = {**_as_dict(output), SCORES: scores}
        environment = {**environment, **({"judge": served} if served else {})}
    failed = {name: why for name, why in checks.items() if why}
    return replace(answer, output=output, environment=environment, failed_checks=failed)


def outcomes_of_checks(recipe: Recipe, observation: Observation, setting: Setting) -> dict[str, str]:
    """Map each check to the reason why it fails, "" where it passes. A check that cannot judge raises."""
    from baselinekit.graders.checks import grade_checks
    from baselinekit.graders.task import GradeClients

    checks = setting.scope.expand(recipe.checks, CHECKS_AT)
    recipe = replace(recipe, execution=replace(recipe.execution, checks=checks))
    grades = grade_checks(recipe, observation, GradeClients(mask=setting.redactor.mask))
    for grade in grades:
        if grade.outcome == "error":
            raise cannot_replay(grade.code or "BK704", f"{grade.grader}: {grade.reason}", "")
    return {grade.grader: "" if grade.outcome == "passed" else grade.reason for grade in grades}


def _as_dict(output: Json) -> dict[str, Json]:
    return dict(output) if isinstance(output, dict) else {"text": output}


def _ask_scores(output: Json, scores: Scores, setting: Setting) -> tuple[dict[str, Json], str | None]:
    """Return the scores of an output, and the model that gave them."""
    from baselinekit.kinds.files import rubric_of

    content = output.get("text", output) if isinstance(output, dict) else output
    text = content if isinstance(content, str) else pretty(content, "  ")
    question, read_reply = _prepare_scoring(scores, rubric_of(scores, setting), text)
    answer = setting.clients.models.ask(replace(question, turn=setting.turn, asker=setting.asker))
    return read_reply(answer.text), answer.served


def _prepare_scoring(
    scores: Scores, rubric: dict[str, str], text: str
) -> tuple[ModelQuestion, Callable[[str], dict[str, Json]]]:
    """Return what a judge is asked, and the function that reads its reply."""
    if scores.form == "line":
        from baselinekit.graders.by_line import SCORE, ScoreLine, score_question

        ((name, meaning),) = rubric.items()
        question = score_question(ScoreLine(meaning, scores.model), text)
        return question.ask, lambda reply: {name: int(SCORE.read(reply, question.texts)[0])}
    from baselinekit.graders.judging import read_scores, rubric_question

    return rubric_question(text, rubric, scores), lambda reply: read_scores(reply, text, rubric, scores)


def compare_settled(matcher: Matcher, observation: Observation, setting: Setting) -> Comparison:
    """Compare, answer the questions that the comparison leaves open, and compare again until none is left."""
    answers: dict[SimilarityQuestion, tuple[float, str]] = {}
    comparison = matcher.compare(observation)
    for _ in range(_MOST_ROUNDS):
        if not comparison.questions:
            return comparison
        answers |= answer(list(comparison.questions), setting)
        comparison = matcher.compare(observation, answers)
    message = "its texts can be paired in too many ways"
    raise cannot_replay("BK231", message, "pair their rows by a key: arrays: {path: {by: id}}")


def answer(questions: list[SimilarityQuestion], setting: Setting) -> Answers:
    """Answer the questions for embeddings by embeddings, all others by a judge."""
    from baselinekit.graders.judging import meaning_question, read_similarity
    from baselinekit.matching.semantic import differing_words

    pairs = {question: (question.expected, question.actual) for question in questions}
    by_embedding = [question for question in questions if question.method == "embedding"]
    scores = setting.clients.similar([pairs[question] for question in by_embedding])
    answers = {question: (score, "") for question, score in zip(by_embedding, scores, strict=True)}
    remaining = {question: pair for question, pair in pairs.items() if question not in answers}
    requests = [meaning_question(*pair, _JUDGE, differing_words(*pair)) for pair in remaining.values()]
    ask, turn, asker = setting.clients.models.ask, setting.turn, setting.asker
    replies = setting.clients.together(
        [partial(ask, replace(request, turn=turn, asker=asker)) for request in requests]
    )
    for (question, pair), reply in zip(remaining.items(), replies, strict=True):
        answers[question] = read_similarity(reply.text, *pair)
    return answers


def target_of(recipe: Recipe, project: Project) -> str:
    """Describe in one line whom a recipe asks, with the address if there is one."""
    kind = kind_of(recipe)
    base_url = kind.base_url(recipe, project.override_base_url, project.base_url)
    target = kind.target(recipe, partial(_expanded, project), base_url)
    return mask_and_clip(_expanded(project, target), _LONGEST_LINE, no_mask)


def _expanded(project: Project, text: str) -> str:
    """Replace the variables in a text by their values; secrets are masked."""
    with suppress(InvalidInput):  # a variable of a flow is only known while it runs
        text = as_text(project.scope.expand(text))
    return project.redactor.mask(text)


OUT_OF_BUDGET = "BK620"


class JudgedBaseline(Struct):
    """The result of a baseline, and what is to be written for it: the new output (`pending`) is kept for a
    refresh, or the one that is pending is dropped (`settles`). `warning`: why the new output cannot be
    kept."""

    result: Result
    pending: "KeptOutput | None" = None
    settles: bool = False
    warning: str = ""


class Repeating(Struct):
    """How often each baseline is replayed, and the share of its replays that must pass."""

    times: int = 1
    rate: float = 1.0


class ComparePolicy(Struct):
    """How a compare is run. `record`: always, daily or never; the last three say how each baseline is
    judged."""

    record: str = "always"
    jobs: int = 8
    maxfail: int | None = None
    strict_rules: bool = False
    explain: bool = False
    repeating: Repeating = field(default_factory=Repeating)

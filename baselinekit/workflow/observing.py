"""What a recipe gives: its output, graded where it asks for scores; and the questions that a comparison of it
leaves open, put to whom the configuration names."""

from dataclasses import replace
from functools import partial

from baselinekit.compare.dispatch import Matcher
from baselinekit.documents.jsonfile import pretty
from baselinekit.errors import cannot
from baselinekit.model.baselines import Baseline
from baselinekit.model.comparison import Answers, Comparison, Question
from baselinekit.model.observation import Observation
from baselinekit.model.recipes import Recipe, Scores
from baselinekit.model.values import Json
from baselinekit.placeholders.kinds import is_number
from baselinekit.replay import dispatch as replaying
from baselinekit.replay.dispatch import Setting

_JUDGE = "judge"
_MOST_ROUNDS = 50
"""Answers can bring rows together that leave other questions open."""


def check(baseline: Baseline, setting: Setting) -> None:
    """Raise what a replay and its comparison would raise before anybody is asked."""
    replaying.check(baseline.current, setting)
    rules = baseline.comparison
    asked = {rules.method, *(rule.method for rule in rules.fields.values())}
    if "judge" in asked:
        setting.doors.models.check(_JUDGE)
    if "embedding" in asked:
        setting.doors.similar([("", "")])  # which only reads the model


def observe(recipe: Recipe, setting: Setting) -> Observation:
    """The recipe replayed, with `quality_scores` in the output where it asks for them."""
    observation = replaying.replay(recipe, setting)
    scores: Scores | None = getattr(recipe.execution, "scores", None)
    return observation if scores is None else _graded(observation, scores, setting)


def _graded(observation: Observation, scores: Scores, setting: Setting) -> Observation:
    from baselinekit.grade.dispatch import read_scores, rubric_question  # only who asks a judge waits for it

    output = observation.output
    text = _text_of(output)
    rubric = replaying.rubric_of(scores, setting)
    question = replace(rubric_question(text, rubric, scores), turn=setting.turn, asker=setting.asker)
    answer = setting.doors.models.ask(question)
    graded = read_scores(answer.text, text, rubric, scores)
    parts: dict[str, Json] = dict(output) if isinstance(output, dict) else {"text": output}
    environment = {**observation.environment, **({"judge": answer.served} if answer.served else {})}
    return replace(observation, output={**parts, "quality_scores": graded}, environment=environment)


def _text_of(output: Json) -> str:
    text = output.get("text", output) if isinstance(output, dict) else output
    return text if isinstance(text, str) else pretty(text, "  ")


def scores_of(observation: Observation) -> dict[str, int | float]:
    """The grades in an output, by criterion, where there are any."""
    output = observation.output
    given = output.get("quality_scores") if isinstance(output, dict) else None
    if not isinstance(given, dict) or not all(map(is_number, given.values())):
        return {}
    return {name: value if isinstance(value, int) else float(value) for name, value in given.items()}


def settled(matcher: Matcher, observation: Observation, setting: Setting) -> Comparison:
    """The comparison without open questions."""
    answers: dict[Question, tuple[float, str]] = {}
    comparison = matcher.compare(observation)
    for _ in range(_MOST_ROUNDS):
        if not comparison.questions:
            return comparison
        answers |= _answers(list(comparison.questions), setting)
        comparison = matcher.compare(observation, answers)
    what = "its texts can be paired in too many ways"
    raise cannot("BK231", what, "pair their rows by a key: arrays: {path: {by: id}}")


def _answers(questions: list[Question], setting: Setting) -> Answers:
    near = [question for question in questions if question.method == "embedding"]
    pairs = [(question.expected, question.actual) for question in near]
    found = {
        question: (score, "") for question, score in zip(near, setting.doors.similar(pairs), strict=True)
    }
    left = [question for question in questions if question not in found]
    return found | dict(zip(left, _judged(left, setting), strict=True))


def _judged(questions: list[Question], setting: Setting) -> list[tuple[float, str]]:
    from baselinekit.grade.dispatch import meaning_question, read_similarity

    ask = setting.doors.models.ask
    asks = [
        replace(
            meaning_question(question.expected, question.actual, _JUDGE),
            turn=setting.turn,
            asker=setting.asker,
        )
        for question in questions
    ]
    answers = setting.doors.together([partial(ask, one) for one in asks])
    return [
        read_similarity(answer.text, question.expected, question.actual)
        for question, answer in zip(questions, answers, strict=True)
    ]

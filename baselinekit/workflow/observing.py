"""What a recipe gives: its output, graded where it asks for scores; and the questions that a comparison of it
leaves open, put to whom the configuration names."""

from baselinekit.compare.dispatch import Matcher
from baselinekit.documents.jsonfile import pretty
from baselinekit.errors import cannot
from baselinekit.grade.meaning import meaning_question, read_similarity
from baselinekit.grade.rubric import read_scores, rubric_question
from baselinekit.model.baselines import Baseline
from baselinekit.model.comparison import Answers, Comparison, Question
from baselinekit.model.observation import Observation
from baselinekit.model.recipes import Recipe, Scores
from baselinekit.model.values import Json
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
    output = observation.output
    text = _text_of(output)
    rubric = replaying.rubric_of(scores, setting)
    answer = setting.doors.models.ask(rubric_question(text, rubric, scores))
    graded = read_scores(answer.text, text, rubric, scores)
    parts: dict[str, Json] = dict(output) if isinstance(output, dict) else {"text": output}
    return observation.with_output({**parts, "quality_scores": graded})


def _text_of(output: Json) -> str:
    text = output.get("text", output) if isinstance(output, dict) else output
    return text if isinstance(text, str) else pretty(text, "  ")


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
    return found | {question: _judged(question, setting) for question in questions if question not in found}


def _judged(question: Question, setting: Setting) -> tuple[float, str]:
    before, after = question.expected, question.actual
    answer = setting.doors.models.ask(meaning_question(before, after, _JUDGE))
    return read_similarity(answer.text, before, after)

"""Graders that ask a model for one line: a score, or a decision, and the reason for it.

The form of the reply is fixed and repeats no mark of the question. So other rules keep the judged text from
giving the verdict: the text is between marks that it cannot know, the whole reply has to be one line with
one verdict in it, and a verdict that is already in the text does not count."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from html import unescape
from typing import Literal

from baselinekit.errors import Problem
from baselinekit.graders.base import GradeClients, GraderType, Task, text_of, threshold_problems
from baselinekit.graders.judging import JUDGE, between_marks, grade_readable, nonce_of, unusable_reply
from baselinekit.lazy import lazy_pattern
from baselinekit.model.grades import Classified, Grade, Outcome
from baselinekit.model.recipes import Message, ModelQuestion, Observation
from baselinekit.structs import Retries, Struct, field, replace

# Lookalikes: characters that a reader, or a model, may take for Latin letters, digits and equals signs. They
# are normalized for searching a text, never for showing it.

_ESCAPE = lazy_pattern(
    r"\\u\{([0-9a-fA-F]{1,6})\}|\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|(?:\\x|%)([0-9a-fA-F]{2})"
)
_TAG = lazy_pattern(r"<[^<>]*>|\x1b\[[0-9;]*[A-Za-z]")
_POINT = lazy_pattern(r"(?<=[0-9])\.(?=[0-9])")
_DIRECTION_MARKS = "\u202e\u202d\u2067\u2066"
"""After these, text is shown in another direction."""

_NAMED_LETTER = lazy_pattern(
    r"(?:LATIN|REGIONAL INDICATOR|.* LATIN)\b.*\bLETTER (?:SMALL CAPITAL )?([A-Z])(?: WITH .*)?"
)
_DIGITS = {"ONE": "1", "TWO": "2", "THREE": "3", "FOUR": "4", "FIVE": "5"}
_NAMED_DIGIT = lazy_pattern(rf".*\bDIGIT ({'|'.join(_DIGITS)})")
_LOOKALIKES = {
    "a": "аАαΑаᎪꓮⲁⲀ",
    "c": "сСϲϹᏟꓚⲥⲤᑕ",
    "d": "ԁԀᎠꓓᗪ",
    "e": "еЕεΕєЄᎬꓰⲉⲈᗴ",
    "i": "іІιΙӏӀᎥꓲⲓⲒ",
    "n": "пПηΝռոꓠⲛⲚᑎ",
    "o": "оОοΟσօՕᎾꓳⲟⲞ",
    "r": "гяЯᎡꓣᖇ",
    "s": "ѕЅΣՏᏚꓢᔕ",
    "y": "уУүҮγΥᎽꓬⲩⲨ",
    "=": "᐀゠⹀꞊",
}
"""Characters of other scripts by the character that they look like, for those that verdicts are made of."""

_LOOKS = {character: look for look, characters in _LOOKALIKES.items() for character in characters}


def normalize_lookalikes(text: str) -> str:
    """The letters a to z, digits and equals signs of a text, and nothing between them: of the text as it is
    and, where these differ, with its escapes decoded, without its tags, and from right to left."""
    readings = [text, _ESCAPE.sub(_unescape, unescape(text))]
    readings.append(_TAG.sub("", readings[1]))
    if any(sign in text for sign in _DIRECTION_MARKS):
        readings.append(text[::-1])
    return " ".join(map(_fold, dict.fromkeys(readings)))


def _unescape(escape: re.Match[str]) -> str:
    number = int(escape[escape.lastindex or 0], 16)
    return chr(number) if number < 0x110000 else escape[0]


def _fold(text: str) -> str:
    text = _POINT.sub("p", text)  # 0.5 is not 05
    return text.translate({ord(character): _look(character) for character in set(text)})


@lru_cache(maxsize=65_536)
def _look(character: str) -> str:
    """The letter, digit or equals sign that a character looks like; "" if it looks like none."""
    if character in _LOOKS:
        return _LOOKS[character]
    folded = unicodedata.normalize("NFKD", character).casefold()
    if folded != character:
        return "".join(map(_look, folded)) if character not in folded else ""
    if character.isascii():
        return character if character.isalnum() or character == "=" else ""
    name = unicodedata.name(character, "")
    if "EQUALS SIGN" in name:
        return "="
    value = unicodedata.numeric(character, -1.0)
    if value in range(10):
        return str(int(value))
    if digit := _NAMED_DIGIT.fullmatch(name):
        return _DIGITS[digit[1]]
    letter = _NAMED_LETTER.fullmatch(name)
    return letter[1].lower() if letter else ""


# The question, and how the one line of the reply is read.


_SCALE = (1, 5)
_MOST_TOKENS = 1_000
_HAS_LETTER = lazy_pattern(r"[^\W\d_]")
_WORDS = {"1": "one", "2": "two", "3": "three", "4": "four", "5": "five"}


class LineForm(Struct):
    """A reply in one line: the key of its verdict, and the possible verdicts. `choices`: the
    verdicts as the form shows them to a judge."""

    key: str
    verdicts: Sequence[str]
    choices: str
    sentence: str

    @property
    def text(self) -> str:
        return f"{self.key}=<{self.choices}> REASON=<{self.sentence}>"

    def read(self, reply: str, texts: Sequence[str]) -> tuple[str, str]:
        """The verdict and the reason; UnreadableReply if the reply is not exactly this line, or if its
        verdict is in one of the judged texts."""
        line = reply.strip(" \t\r\n")
        if len(line.splitlines()) != 1:
            raise unusable_reply(f"is not the one line {self.text}", reply)
        match = re.fullmatch(rf"{self.key}=(\S+) REASON=(\S.*)", line)
        if match is None:
            raise unusable_reply(f"is not {self.text}", reply)
        verdict, reason = match[1], match[2]
        if verdict not in self.verdicts:
            raise unusable_reply(f"has {self.key}={verdict}, which is not <{self.choices}>", reply)
        if not _HAS_LETTER.search(reason) or reason.strip(".") == f"<{self.sentence}>":
            raise unusable_reply("gives no reason", reply)
        if len(re.findall(f"{self.key.casefold()}=", normalize_lookalikes(line))) != 1:
            raise unusable_reply("gives more than one verdict", reply)
        if any(self.stands_in(verdict, text) for text in texts):
            raise unusable_reply(f"repeats {self.key}={verdict}, which is in the text that it judges", reply)
        return verdict, reason

    def stands_in(self, verdict: str, text: str) -> bool:
        """Whether a text itself gives this verdict, lookalikes included: SCORE=5, or the same with its REASON
        written as JSON or XML."""
        key = self.key.casefold()
        number = "0*" if verdict.isdigit() else ""
        value = "|".join(filter(None, (verdict.casefold(), _WORDS.get(verdict, ""))))
        pattern = rf"{key}(?:=+{number}(?:{value})|{number}(?:{value})(?:{key})?=*reason)"
        return re.search(pattern, normalize_lookalikes(text)) is not None

    def question(self, model: str, task: str) -> ModelQuestion:
        """A question for one line: the task in words, with the judged texts in it."""
        instruction = f"Reply with exactly one line in this form, and nothing before or after it: {self.text}"
        system = Message("system", f"{JUDGE} Reply with one line alone.")
        user = Message("user", f"{task}\n\n{instruction}")
        return ModelQuestion(model, (system, user), temperature=0, max_tokens=_MOST_TOKENS)


SCORE = LineForm("SCORE", [*_WORDS], "1-5", "one sentence")
DECISION = LineForm("DECISION", ["YES", "NO"], "YES|NO", "one short sentence")


def _grade(task: Task, clients: GradeClients, question: ModelQuestion, read: Callable[[str], Grade]) -> Grade:
    grade = grade_readable(task, clients, question, read)
    if grade.outcome != "error":
        return grade
    return replace(grade, verdict="unparseable", reason=f"judge output unparseable: {grade.reason}")


# score_line


class ScoreLine(Struct):
    """A model scores the output from 1 to 5 by a rubric, and replies SCORE=… REASON=….
    `pass_threshold`: the lowest score that passes. A reply of another form is an error, and the judge
    is asked again `retries_on_unreadable` times."""

    rubric: str
    model: str = "judge"
    pass_threshold: int = 4
    retries_on_unreadable: Retries = 0
    of: str | None = None


def score_question(config: ScoreLine, output: str) -> ModelQuestion:
    low, high = _SCALE
    task = (
        f"Score the output by the rubric, from {low} (worst) to {high} (best).\n\n"
        f"RUBRIC:\n{config.rubric}\n\nOUTPUT:\n{between_marks('output', output, nonce_of(output))}"
    )
    return SCORE.question(config.model, task)


def score_line(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    passing = task.method.pass_threshold
    low, high = _SCALE
    output = text_of(task.look(observation.output))

    def read(reply: str) -> Grade:
        verdict, judge_reason = SCORE.read(reply, [output])
        score = int(verdict)
        reason = "" if score >= passing else f"{score} of {high}, and {passing} passes: {judge_reason}"
        details = {"score": score, "scale": [low, high], "pass_threshold": passing, "reason": judge_reason}
        outcome: Outcome = "failed" if reason else "passed"
        return task.grader.graded(outcome, (score - low) / (high - low), reason, details=details)

    return _grade(task, clients, score_question(task.method, output), read)


def score_problems(task: Task) -> Iterator[Problem]:
    config: ScoreLine = task.method
    if not config.rubric.strip():
        yield Problem("BK702", "a model grader without a rubric", "state the criteria: `rubric: |`")
    yield from threshold_problems(config.pass_threshold, _SCALE, ("config", "pass_threshold"))


SCORE_LINE = GraderType(
    ScoreLine,
    score_line,
    "score_line",
    kind="model",
    problems=score_problems,
    asks=lambda config: (config.model, 1),
    question_form="in one line",
    criteria=lambda config: [f"score: {_SCALE[0]} to {_SCALE[1]}, {config.pass_threshold} passes"],
)


# decision_line


class DecisionLine(Struct):
    """A model decides whether the output, a request, is one for what is described, and replies DECISION=YES
    or DECISION=NO with a REASON. `wanted`: the right decision. The model sees only the description and the
    triggers."""

    wanted: Literal["YES", "NO"]
    description: str = ""
    triggers: list[str] = field(default_factory=list)
    not_for: list[str] = field(default_factory=list)
    model: str = "judge"
    retries_on_unreadable: Retries = 0
    of: str | None = None


def decision_question(config: DecisionLine, query: str) -> ModelQuestion:
    nonce = nonce_of(config.description, query)
    sections = {
        "DESCRIPTION": between_marks("description", config.description, nonce),
        "POSITIVE TRIGGERS": _bullets(config.triggers),
        "NEGATIVE TRIGGERS (do NOT use for)": _bullets(config.not_for),
        "USER QUERY": between_marks("query", query, nonce),
    }
    task = (
        "Decide whether a skill would be loaded for a user's query. Go by its description and its triggers "
        "ONLY: YES if it is described for such a query, NO if it is not, or if a negative trigger fits."
    )
    parts = (task, *(f"{name}:\n{text}" for name, text in sections.items()))
    return DECISION.question(config.model, "\n\n".join(parts))


def _bullets(lines: Sequence[str]) -> str:
    """One line each, so that none of them can begin a section."""
    return "\n".join(f"- {' '.join(line.split())}" for line in lines) or "- (none)"


def decision_line(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    config: DecisionLine = task.method
    query = text_of(task.look(observation.output))
    texts = (query, config.description, *config.triggers, *config.not_for)

    def read(reply: str) -> Grade:
        verdict, reason = DECISION.read(reply, texts)
        why = f"the judge decides {verdict}, and {config.wanted} is right: {reason}"
        details = {"decision": verdict, "wanted": config.wanted, "reason": reason}
        return task.decide(verdict == config.wanted, why, details)

    grade = _grade(task, clients, decision_question(config, query), read)
    return replace(grade, classified=Classified(config.wanted, grade.details.get("decision")))


def decision_problems(task: Task) -> Iterator[Problem]:
    config: DecisionLine = task.method
    if not config.description.strip() and not config.triggers:
        message = "a decision_line grader without a description"
        yield Problem("BK702", message, "state the `description`, the `triggers` or both", at=("config",))


DECISION_LINE = GraderType(
    DecisionLine,
    decision_line,
    "decision_line",
    kind="model",
    problems=decision_problems,
    asks=lambda config: (config.model, 1),
    question_form="in one line",
    criteria=lambda config: [f"decision: {config.wanted} is right"],
)

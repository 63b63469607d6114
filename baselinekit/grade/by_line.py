"""Graders that ask a model for one line: a score, or a decision, and the reason for it.

The form of the reply is fixed and bears no mark of the question. So it is told from what the judged text says
in other ways: the text stands between marks that it cannot know, the whole reply has to be the one line with
one verdict in it, and a verdict that stands in the text already counts for nothing."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import lru_cache
from html import unescape
from typing import Literal

from baselinekit.errors import Problem
from baselinekit.frozen import frozen
from baselinekit.grade.judging import (
    JUDGE,
    UnreadableReply,
    between_marks,
    question_again,
    retries_problems,
    short_digest,
    unusable,
)
from baselinekit.grade.task import (
    GradeClients,
    GraderType,
    Judged,
    Task,
    never_passes,
    text_of,
    threshold_problems,
)
from baselinekit.lazy import lazy_pattern
from baselinekit.model.grades import Classified, Grade, Outcome
from baselinekit.model.recipes import Ask, Message, Observation, Usage
from baselinekit.model.values import Json
from baselinekit.texts import already_masked, clipped

# A text as it looks: what a reader, or a model, may take for Latin letters, digits and equals signs, whatever
# they are made of. For asking whether something stands in a text, never for showing it.

_ESCAPE = lazy_pattern(
    r"\\u\{([0-9a-fA-F]{1,6})\}|\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|(?:\\x|%)([0-9a-fA-F]{2})"
)
_TAG = lazy_pattern(r"<[^<>]*>|\x1b\[[0-9;]*[A-Za-z]")
_POINT = lazy_pattern(r"(?<=[0-9])\.(?=[0-9])")
_TURNS = "\u202e\u202d\u2067\u2066"
"""After these, what is shown runs in another direction."""

_NAMED_LETTER = lazy_pattern(
    r"(?:LATIN|REGIONAL INDICATOR|.* LATIN)\b.*\bLETTER (?:SMALL CAPITAL )?([A-Z])(?: WITH .*)?"
)
_DIGITS = {"ONE": "1", "TWO": "2", "THREE": "3", "FOUR": "4", "FIVE": "5"}
_NAMED_DIGIT = lazy_pattern(rf".*\bDIGIT ({'|'.join(_DIGITS)})")
_OF_OTHER_SCRIPTS = {
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
"""Characters by what they look like, as far as the verdicts of judges are made of it."""

_LOOKS = {character: look for look, characters in _OF_OTHER_SCRIPTS.items() for character in characters}


def as_it_looks(text: str) -> str:
    """Its letters a to z, its digits and its equals signs, and nothing of what stands between them: as it is,
    and where that is another one with its escapes read, without its tags, and from right to left."""
    readings = [text, _ESCAPE.sub(_character, unescape(text))]
    readings.append(_TAG.sub("", readings[1]))
    if any(sign in text for sign in _TURNS):
        readings.append(text[::-1])
    return " ".join(map(_folded, dict.fromkeys(readings)))


def _character(escape: re.Match[str]) -> str:
    number = int(escape[escape.lastindex or 0], 16)
    return chr(number) if number < 0x110000 else escape[0]


def _folded(text: str) -> str:
    text = _POINT.sub("p", text)  # 0.5 is no 05
    return text.translate({ord(character): _look(character) for character in set(text)})


@lru_cache(maxsize=65_536)
def _look(character: str) -> str:
    """What one character looks like; "" for what is none of these."""
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


# The question and its one line.


_SCALE = (1, 5)
_MOST_TOKENS = 1_000
_LONGEST_REPLY = 2_000
_LONGEST_QUOTED = 300
_HAS_LETTER = lazy_pattern(r"[^\W\d_]")
_WORDS = {"1": "one", "2": "two", "3": "three", "4": "four", "5": "five"}


# A line: how a judge says what it thinks, and what of its reply counts.


@frozen
class LineForm:
    """A reply in one line: the key of its verdict, and what the verdict may be. `shown`: as a judge is told
    of it."""

    key: str
    verdicts: Sequence[str]
    shown: str
    sentence: str

    @property
    def text(self) -> str:
        return f"{self.key}=<{self.shown}> REASON=<{self.sentence}>"

    def read(self, reply: str, texts: Sequence[str]) -> tuple[str, str]:
        """The verdict and the reason; UnreadableReply for what is not exactly this line, or for a verdict
        that stands in one of the judged texts."""
        line = reply.strip(" \t\r\n")
        if len(line.splitlines()) != 1:
            raise unusable(f"is not the one line {self.text}", reply)
        found = re.fullmatch(rf"{self.key}=(\S+) REASON=(\S.*)", line)
        if found is None:
            raise unusable(f"is not {self.text}", reply)
        verdict, reason = found[1], found[2]
        if verdict not in self.verdicts:
            raise unusable(f"says {self.key}={verdict}, which is not <{self.shown}>", reply)
        if not _HAS_LETTER.search(reason) or reason.strip(".") == f"<{self.sentence}>":
            raise unusable("gives no reason", reply)
        if len(re.findall(f"{self.key.casefold()}=", as_it_looks(line))) != 1:
            raise unusable("gives more than one verdict", reply)
        if any(self.stands_in(verdict, text) for text in texts):
            raise unusable(f"repeats {self.key}={verdict}, which stands in the text that it judges", reply)
        return verdict, reason

    def stands_in(self, verdict: str, text: str) -> bool:
        """Whether a text gives this verdict itself, in whatever letters: SCORE=5, or the same with its REASON
        in the dress of JSON or XML."""
        key = self.key.casefold()
        number = "0*" if verdict.isdigit() else ""
        value = "|".join(filter(None, (verdict.casefold(), _WORDS.get(verdict, ""))))
        given = rf"{key}(?:=+{number}(?:{value})|{number}(?:{value})(?:{key})?=*reason)"
        return re.search(given, as_it_looks(text)) is not None


SCORE = LineForm("SCORE", [*_WORDS], "1-5", "one sentence")
DECISION = LineForm("DECISION", ["YES", "NO"], "YES|NO", "one short sentence")


@frozen
class LineQuestion:
    """What is asked for a line: the task in words, and the judged texts in it, which the reply may not have
    its verdict from."""

    form: LineForm
    model: str
    task: str
    texts: tuple[str, ...]

    @property
    def ask(self) -> Ask:
        wish = f"Reply with exactly one line in this form, and nothing before or after it: {self.form.text}"
        system = Message("system", f"{JUDGE} Reply with one line alone.")
        user = Message("user", f"{self.task}\n\n{wish}")
        return Ask(self.model, (system, user), temperature=0, max_tokens=_MOST_TOKENS)


def _graded(
    task: Task,
    asked: LineQuestion,
    clients: GradeClients,
    judged: Callable[[str, str], tuple[Judged, float]],
    classified: Callable[[str | None], Classified | None] = lambda verdict: None,
) -> Grade:
    """Ask, and again where the reply is no such line and that is wanted. What cannot be read is an error, and
    no low score. `judged`: what a verdict and its reason come to."""
    usage, question = Usage(), asked.ask
    refused: list[Json] = []
    for left in range(task.method.retries_on_unreadable, -1, -1):
        answer = clients.ask(question)
        usage = usage + answer.usage
        try:
            verdict, why = asked.form.read(answer.text, asked.texts)
        except UnreadableReply as error:
            refused.append(clipped(answer.text, _LONGEST_REPLY, clients.mask))
            if not left:
                return _unparseable(task, error, refused, usage, classified(None))
            question = question_again(asked.ask, error.why, clients.mask)
            continue
        (passed, reason, details), score = judged(verdict, why)
        shown: dict[str, Json] = {**details, "reason": why}
        if refused:
            shown["replies_that_could_not_be_read"] = refused
        outcome: Outcome = "passed" if passed else "failed"
        return task.grader.graded(
            outcome, score, reason, details=shown, usage=usage, classified=classified(verdict)
        )
    raise AssertionError("the last reply is a grade")


def _unparseable(
    task: Task, error: UnreadableReply, replies: list[Json], usage: Usage, classified: Classified | None
) -> Grade:
    problem, quoted = error.problems[0], clipped(str(replies[-1]), _LONGEST_QUOTED, already_masked)
    details: dict[str, Json] = {"reply": replies[-1]}
    if len(replies) > 1:
        details["replies_that_could_not_be_read"] = replies
    return task.grader.graded(
        "error",
        None,
        f"judge output unparseable: it {error.why}: {quoted!r}",
        verdict="unparseable",
        code=problem.code,
        details=details,
        usage=usage,
        classified=classified,
    )


# score_line


@frozen
class ScoreLine:
    """A model scores the output from 1 to 5 by a rubric, and replies SCORE=… REASON=….
    `pass_threshold`: the lowest score that passes. A reply of another form is an error, and the judge
    is asked again `retries_on_unreadable` times."""

    rubric: str
    model: str = "judge"
    pass_threshold: int = 4
    retries_on_unreadable: int = 0
    of: str | None = None


def score_question(how: ScoreLine, output: str) -> LineQuestion:
    low, high = _SCALE
    task = (
        f"Score the output by the rubric, from {low} (worst) to {high} (best).\n\n"
        f"RUBRIC:\n{how.rubric}\n\nOUTPUT:\n{between_marks('output', output, short_digest(output))}"
    )
    return LineQuestion(SCORE, how.model, task, (output,))


def score_line(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    how: ScoreLine = task.method
    low, high = _SCALE

    def judged(verdict: str, why: str) -> tuple[Judged, float]:
        score = int(verdict)
        passed = score >= how.pass_threshold
        reason = "" if passed else f"{score} of {high}, and {how.pass_threshold} passes: {why}"
        details: dict[str, Json] = {
            "score": score,
            "scale": [low, high],
            "pass_threshold": how.pass_threshold,
        }
        return (passed, reason, details), (score - low) / (high - low)

    return _graded(task, score_question(how, text_of(task.look(observation.output))), clients, judged)


def score_problems(task: Task) -> Iterator[Problem]:
    how: ScoreLine = task.method
    if not how.rubric.strip():
        yield Problem("BK702", "a model grader without a rubric", "state the criteria: `rubric: |`")
    yield from threshold_problems(how.pass_threshold, _SCALE, ("config", "pass_threshold"))
    yield from retries_problems(how.retries_on_unreadable, "config", "retries_on_unreadable")


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


@frozen
class DecisionLine:
    """A model decides whether a request, which is the output, is one for what is described, and replies
    DECISION=YES or DECISION=NO with a REASON. `wanted`: which of them is right. It sees the description and
    the triggers alone."""

    wanted: Literal["YES", "NO"]
    description: str = ""
    triggers: list[str] = field(default_factory=list)
    not_for: list[str] = field(default_factory=list)
    model: str = "judge"
    retries_on_unreadable: int = 0
    of: str | None = None


def decision_question(how: DecisionLine, query: str) -> LineQuestion:
    nonce = short_digest(how.description, query)
    sections = (
        ("DESCRIPTION", between_marks("description", how.description, nonce)),
        ("POSITIVE TRIGGERS", _bullets(how.triggers)),
        ("NEGATIVE TRIGGERS (do NOT use for)", _bullets(how.not_for)),
        ("USER QUERY", between_marks("query", query, nonce)),
    )
    task = (
        "Decide whether a skill would be loaded for a user's query. Go by its description and its triggers "
        "ONLY: YES if it is described for such a query, NO if it is not, or if a negative trigger fits."
    )
    texts = (query, how.description, *how.triggers, *how.not_for)
    return LineQuestion(
        DECISION, how.model, "\n\n".join((task, *(f"{name}:\n{text}" for name, text in sections))), texts
    )


def _bullets(lines: Sequence[str]) -> str:
    """One line each, so that none of them can begin a section."""
    return "\n".join(f"- {' '.join(line.split())}" for line in lines) or "- (none)"


def decision_line(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    how: DecisionLine = task.method

    def judged(verdict: str, why: str) -> tuple[Judged, float]:
        passed = verdict == how.wanted
        reason = "" if passed else f"the judge decides {verdict}, and {how.wanted} is right: {why}"
        return (passed, reason, {"decision": verdict, "wanted": how.wanted}), float(passed)

    asked = decision_question(how, text_of(task.look(observation.output)))
    return _graded(task, asked, clients, judged, lambda verdict: Classified(how.wanted, verdict))


def decision_problems(task: Task) -> Iterator[Problem]:
    how: DecisionLine = task.method
    if not how.description.strip() and not how.triggers:
        what = "a decision_line grader without a description"
        yield Problem("BK702", what, "state the `description`, the `triggers` or both", at=("config",))
    for key, texts in (
        ("description", [how.description]),
        ("triggers", how.triggers),
        ("not_for", how.not_for),
    ):
        if any(DECISION.stands_in(how.wanted, text) for text in texts):
            what = f"`{key}` gives DECISION={how.wanted} itself, and what a judged text says is no verdict"
            yield never_passes(what, "remove it from the text", "config", key)
    yield from retries_problems(how.retries_on_unreadable, "config", "retries_on_unreadable")


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

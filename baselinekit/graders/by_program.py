"""Grader that is a program: it receives the case and its result as JSON, and prints a score as JSON. Its
output is never guessed at: anything but a verdict is an error."""

import re
from typing import Any

from baselinekit.errors import CannotReplay, Problem, cannot_replay
from baselinekit.files.jsontext import NotJson, decode, encode, to_bytes
from baselinekit.graders import base
from baselinekit.graders.base import GradeClients, GraderType, JudgeProgram, JudgeStopped, Task
from baselinekit.graders.judging import points_of, words_of
from baselinekit.lazy import lazy_pattern
from baselinekit.model.grades import Grade
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json
from baselinekit.structs import AtLeastOne, NotBlank, NotEmpty, Struct, TimeLimit, field, replace
from baselinekit.values.equality import is_number
from baselinekit.values.texts import Mask, mask_and_clip

_LONGEST_SHOWN = 200
_MOST_POINTS = 50
_LONGEST_POINT = 500
MOST_CALLS = 50
"""How often a program may ask a model, if it does not state a limit."""


class ModelAccess(Struct):
    """How often a program may ask the judges' model."""

    max_calls: AtLeastOne = MOST_CALLS


class CodeJudge(Struct):
    """A program that judges. `script`: the words of its command, or one text for the shell; `cwd`: where it
    runs, relative to the folder of the case's file; `target`: how often it may ask `model`; `config`: what it
    receives beside the case."""

    script: NotBlank | NotEmpty[str]
    cwd: str | None = None
    timeout: TimeLimit | None = None
    target: ModelAccess | None = None
    model: str = "judge"
    config: dict[str, Json] = field(default_factory=dict)
    of: str | None = None


def starts(judge: CodeJudge) -> JudgeProgram:
    """The program, without the case for its standard input."""
    command = judge.script if isinstance(judge.script, str) else tuple(judge.script)
    calls = None if judge.target is None else judge.target.max_calls
    return JudgeProgram(command, cwd=judge.cwd, timeout=judge.timeout, model_calls=calls, model=judge.model)


def code_judge(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    judge: CodeJudge = task.method
    document = base.wire_of(task, observation, judge.config, clients.results)
    program = replace(starts(judge), stdin=to_bytes(document))
    verdict = Verdict(0.0)
    problem: Problem | None = None
    try:
        run = clients.program(task.case, program)
        try:
            verdict = verdict_in(run.stdout, clients.mask)
        except CannotReplay as error:
            problem = error.problems[0]
        if run.exit_code != 0:
            hint = "a judge that could judge ends with exit code 0, whatever its score"
            problem = Problem("BK323", f"the judge {run.describe_end(clients.mask, verdict.misses)}", hint)
        calls, failed, usage = run.calls, run.failed_calls, run.usage
    except JudgeStopped as stopped:
        problem, calls, failed, usage = stopped.problems[0], stopped.calls, 0, stopped.usage
    details = dict(verdict.details)
    if judge.target is not None:
        counts: dict[str, Json] = {"call_count": calls, "max_calls": judge.target.max_calls}
        details = {"target_proxy": {**counts, "failed": failed} if failed else counts, **details}
    if problem is not None:
        return task.grader.graded(
            "error", None, problem.with_hint, code=problem.code, details=details, usage=usage
        )
    reason = verdict.reasoning or "; ".join(verdict.misses) or f"it scores {verdict.score:g}"
    return task.scored(base.exact_fraction(verdict.score), reason, details=details, usage=usage)


# What a judge prints.

_VERDICT_KEYS = ("score", "hits", "misses", "reasoning")
_ONE_OBJECT = "print one JSON object to standard output, and anything else to standard error"
_OBJECT = lazy_pattern(r"^\{", re.MULTILINE)


class Verdict(Struct):
    """The verdict that a program printed. `details`: all its other fields, as a report shows them."""

    score: float
    misses: tuple[str, ...] = ()
    reasoning: str = ""
    details: dict[str, Json] = field(default_factory=dict)


def verdict_in(stdout: bytes, mask: Mask) -> Verdict:
    """The verdict in the one JSON object that a judge printed, after anything that it logged; CannotReplay
    for output that is ambiguous."""
    printed = _object_in(stdout, mask)
    score: Any = printed.get("score")
    if "score" not in printed:
        raise _no_verdict("printed no score", 'print {"score": 0.85, "misses": [...]}')
    if not is_number(score) or not 0 <= score <= 1:
        quoted = mask_and_clip(encode(score), _LONGEST_SHOWN, mask)
        raise _no_verdict(f"printed the score {quoted}", "a score is a number from 0 to 1")
    lists: dict[str, list[str]] = {}
    for name in ("hits", "misses"):
        points = points_of(printed.get(name), _MOST_POINTS)
        lists[name] = [mask_and_clip(point, _LONGEST_POINT, mask) for point in points]
    reasoning = mask(words_of(printed.get("reasoning")))
    others = {key: value for key, value in printed.items() if key not in _VERDICT_KEYS}
    details = {**lists, "reasoning": reasoning, **others}
    details = {name: value for name, value in details.items() if value not in ([], "", None)}
    return Verdict(float(score), tuple(lists["misses"]), reasoning, details)


def _object_in(stdout: bytes, mask: Mask) -> dict[str, Json]:
    """The object that the last line with a `{` at its start begins, and that goes on to the end. Another
    such line before it is an error."""
    try:
        text = stdout.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise _no_verdict("printed what is not UTF-8 text", "print JSON in UTF-8") from None
    start = text.rfind("\n{") + 1
    try:
        value = decode(text[start:])
    except NotJson as fault:
        quoted = mask_and_clip(text, _LONGEST_SHOWN, mask)
        raise _no_verdict(f"printed no JSON ({fault.message}): {quoted!r}", _ONE_OBJECT) from None
    if not isinstance(value, dict):
        quoted = mask_and_clip(encode(value), _LONGEST_SHOWN, mask)
        raise _no_verdict(f"printed {quoted}, which is not a JSON object", _ONE_OBJECT)
    if _OBJECT.search(text[:start]):
        raise _no_verdict("printed more than one JSON object", _ONE_OBJECT)
    return value


def _no_verdict(message: str, hint: str) -> CannotReplay:
    return cannot_replay("BK354", f"the judge {message}", hint)


CODE_JUDGE = GraderType(CodeJudge, code_judge, "code_judge", known_by=("script",), starts=starts)

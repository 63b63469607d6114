"""Grader that is a program: it is told the case and what came of it as JSON, and prints a score as JSON.
Nothing that it prints is guessed at: what is no verdict is an error."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from baselinekit.documents.jsontext import NotJson, decode, encode, to_bytes
from baselinekit.errors import CannotReplay, Problem, cannot, how_ended
from baselinekit.frozen import frozen
from baselinekit.grade.task import GradeClients, GraderType, JudgeProgram, JudgeRun, JudgeStopped, Task
from baselinekit.grade.verdict import exact, verdict_of
from baselinekit.grade.wire import wire_of
from baselinekit.lazy import lazy_pattern
from baselinekit.model.grades import Grade
from baselinekit.model.recipes import Observation, Seconds, Usage
from baselinekit.model.values import Json
from baselinekit.texts import Mask, clipped, end_of
from baselinekit.tree.equality import is_number

_LONGEST_SHOWN = 200
_MOST_SAID = 50
_LONGEST_FURTHER = 20_000
_MOST_NAMED = 5
_LONGEST_SAID = 500
MOST_CALLS = 50
"""How often a program may ask a model where nobody says otherwise."""


@frozen
class ModelAccess:
    """A program may ask the judges' model, so often."""

    max_calls: int = MOST_CALLS


@frozen
class CodeJudge:
    """A program that judges. `script`: its words, or one text for the shell; `cwd`: where it runs, from the
    folder of the case's file; `target`: that it may ask `model`; `config`: what it is handed beside the
    case."""

    script: str | list[str]
    cwd: str | None = None
    timeout: Seconds | None = None
    target: ModelAccess | None = None
    model: str = "judge"
    config: dict[str, Json] = field(default_factory=dict)
    of: str | None = None


def starts(how: CodeJudge) -> JudgeProgram:
    """The program, before anybody has told it of a case."""
    command = how.script if isinstance(how.script, str) else tuple(how.script)
    calls = None if how.target is None else how.target.max_calls
    return JudgeProgram(command, cwd=how.cwd, timeout=how.timeout, model_calls=calls, model=how.model)


def code_judge(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    how: CodeJudge = task.method
    told = wire_of(task, observation, how.config, clients.results)
    program = replace(starts(how), stdin=to_bytes(told))
    try:
        run = clients.program(task.case, program)
    except JudgeStopped as stopped:
        return _error(task, stopped.problems[0], _calls(how, stopped.calls), stopped.usage)
    details = _calls(how, run.calls, run.failed_calls)
    try:
        said = verdict_in(run.stdout, clients.mask)
    except CannotReplay as error:
        problem = error.problems[0] if run.exit_code == 0 else _ended(run, (), clients.mask)
        return _error(task, problem, details, run.usage)
    details |= said.details
    if run.exit_code != 0:
        return _error(task, _ended(run, said.misses, clients.mask), details, run.usage)
    outcome, word = verdict_of(exact(said.score), task.case.pass_rule)
    reason = said.reasoning or ("" if outcome == "passed" else "; ".join(said.misses))
    reason = reason or ("" if outcome == "passed" else f"it scores {said.score:g}")
    graded = task.grader.graded(outcome, said.score, reason, verdict=word, details=details)
    return replace(graded, usage=run.usage)


def _error(task: Task, problem: Problem, details: dict[str, Json], usage: Usage) -> Grade:
    return task.grader.graded(
        "error", None, problem.with_hint, code=problem.code, details=details, usage=usage
    )


def _calls(how: CodeJudge, calls: int, failed: int = 0) -> dict[str, Json]:
    if how.target is None:
        return {}
    counted: dict[str, Json] = {"call_count": calls, "max_calls": how.target.max_calls}
    return {"target_proxy": {**counted, "failed": failed} if failed else counted}


def _ended(run: JudgeRun, misses: Sequence[str], mask: Mask) -> Problem:
    """How it ended that did not end well, with the misses that it printed, else with its last words."""
    last = mask(end_of(run.stderr.decode("utf-8", "replace").strip(), _LONGEST_SAID, mask))
    last = _STACK.sub("", last)
    said = "; ".join(misses or filter(None, map(str.strip, last.splitlines())))
    told = f"; it said: {said}" if said else ""
    hint = "a judge that could judge ends with exit code 0, whatever its score"
    if _NO_SDK in last:
        hint = "start it with the Python that baselinekit is installed in, or install it in that one"
    return Problem("BK655", f"the judge {how_ended(run.exit_code)}{told}", hint)


# What a judge prints.

_OWN = ("score", "hits", "misses", "reasoning")
_ONE_OBJECT = "print one JSON object to standard output, and anything else to standard error"
_NEXT_OBJECT = lazy_pattern(r"^\{", re.MULTILINE)
_MOST_LOOKED_AT = 100
_STACK = lazy_pattern(r"(?s)^.*\n[ \t][^\n]*\n(?=[^\s:]+(Error|Exception|Exit|Interrupt)\b)")
"""Where a Python was when it raised: of no use beside what it raised."""
_NO_SDK = "No module named 'baselinekit'"


@frozen
class Verdict:
    """What a program says of an output. `details`: all else that it says, as a report shows it."""

    score: float
    misses: tuple[str, ...]
    reasoning: str
    details: dict[str, Json]


def verdict_in(stdout: bytes, mask: Mask) -> Verdict:
    """The one JSON object that a judge printed, behind what it may have logged; CannotReplay for anything
    that leaves open what it says."""
    said = _object_in(stdout, mask)
    score: Any = said.get("score")
    if "score" not in said:
        raise _no_verdict("printed no score", 'print {"score": 0.85, "misses": [...]}')
    if not is_number(score) or not 0 <= score <= 1:
        shown = clipped(encode(score), _LONGEST_SHOWN, mask)
        raise _no_verdict(f"printed the score {shown}", "a score is a number from 0 to 1")
    lists = {name: _texts(said, name, mask) for name in ("hits", "misses")}
    reasoning = said.get("reasoning")
    if not isinstance(reasoning, str | None):
        raise _no_verdict("printed a `reasoning` that is no text", "print a text, or leave it out")
    further = {key: value for key, value in said.items() if key not in _OWN and value is not None}
    if (size := len(encode(further))) > _LONGEST_FURTHER:
        further = {"left_out": f"{', '.join(sorted(further)[:_MOST_NAMED])}: {size:,} characters"}
    details: dict[str, Json] = {**{name: [*texts] for name, texts in lists.items() if texts}, **further}
    return Verdict(float(score), lists["misses"], mask(reasoning or ""), details)


def _texts(said: Mapping[str, Json], name: str, mask: Mask) -> tuple[str, ...]:
    stated = said.get(name)
    stated = [] if stated is None else stated
    if not isinstance(stated, list) or not all(isinstance(text, str) for text in stated):
        raise _no_verdict(f"printed `{name}` that are no list of texts", f'print "{name}": ["..."]')
    shown = tuple(clipped(text, _LONGEST_SAID, mask) for text in stated[:_MOST_SAID])
    return (*shown, f"and {len(stated) - _MOST_SAID:,} more") if len(stated) > _MOST_SAID else shown


def _object_in(stdout: bytes, mask: Mask) -> dict[str, Json]:
    """The last line that begins an object begins the verdict, which goes on to the end. An object before it
    would be a second one."""
    try:
        text = stdout.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise _no_verdict("printed what is not UTF-8 text", "print JSON in UTF-8") from None
    if not text:
        raise _no_verdict("printed nothing", 'print {"score": 0.85} to standard output')
    start = text.rfind("\n{") + 1
    try:
        found = decode(text[start:])
    except NotJson as fault:
        shown = clipped(text, _LONGEST_SHOWN, mask)
        raise _no_verdict(f"printed no JSON ({fault.what}): {shown!r}", _ONE_OBJECT) from None
    if not isinstance(found, dict):
        shown = clipped(encode(found), _LONGEST_SHOWN, mask)
        raise _no_verdict(f"printed {shown}, which is no JSON object", _ONE_OBJECT)
    if _holds_object(text[:start]):
        raise _no_verdict("printed more than one JSON object", _ONE_OBJECT)
    return found


def _holds_object(logged: str) -> bool:
    """Whether a line of what was logged begins an object. Of many that may do, nobody reads all."""
    for number, begins in enumerate(_NEXT_OBJECT.finditer(logged)):
        try:
            json.JSONDecoder().raw_decode(logged, begins.start())
        except (ValueError, RecursionError):
            if number >= _MOST_LOOKED_AT:
                return True
        else:
            return True
    return False


def _no_verdict(what: str, hint: str) -> CannotReplay:
    return cannot("BK654", f"the judge {what}", hint)


# What is wrong with it before it is started.


def problems(task: Task) -> Iterator[Problem]:
    how: CodeJudge = task.method
    words = [how.script] if isinstance(how.script, str) else how.script
    if not words or not words[0].strip():
        yield Problem("BK653", "`script` names no program", "such as [python3, check.py]", at=("script",))
    if any("\0" in word for word in words):
        yield Problem("BK653", "a word of `script` has a NUL character", "remove it", at=("script",))
    if how.timeout is not None and how.timeout <= 0:
        yield Problem(
            "BK653", f"`timeout: {how.timeout}` leaves no time", "more than 0 seconds", at=("timeout",)
        )
    if how.target is not None and how.target.max_calls < 1:
        hint = "1 or more; without `target` it may ask nobody"
        what = f"`max_calls: {how.target.max_calls}` lets it ask nobody"
        yield Problem("BK653", what, hint, at=("target", "max_calls"))


CODE_JUDGE = GraderType(
    CodeJudge,
    code_judge,
    "code_judge",
    known_by=("script",),
    problems=problems,
    starts=starts,
)

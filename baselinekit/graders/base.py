"""What all graders share: the verdict that scores make, the row of a grader, the part of an output that it
looks at, the clients that it calls, and the JSON that programs and templates receive."""

import math
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from baselinekit.errors import CannotReplay, InvalidInput, Problem, describe_exit
from baselinekit.files.jsontext import json_in, pretty
from baselinekit.kinds.kind import RecipeKind
from baselinekit.kinds.messages import message_as_json, milliseconds, plain_text
from baselinekit.kinds.table import kind_of
from baselinekit.model import grades
from baselinekit.model.baselines import Comparison, Number
from baselinekit.model.evals import Case, Expected
from baselinekit.model.grades import OUTCOMES, FunctionOutput, Grade, Grader, GraderKind, Outcome, PassRule
from baselinekit.model.recipes import Answer, ModelQuestion, Observation, SandboxResult, Seconds, Usage
from baselinekit.model.traces import ToolCall, TraceMessage
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.table import RegexBudget
from baselinekit.schema import read_as
from baselinekit.structs import Struct, field, replace
from baselinekit.values.paths import Pattern, find, parse
from baselinekit.values.texts import Mask, mask_and_clip, no_mask

PASSING_SHARE = Fraction(3, 4)
"""The threshold of a judge or of people, if none is stated, as a share of the range of their scale: 4 of 1 to
5."""

ROUNDING_ERROR = 1e-9
"""By how much a score in floats may miss its threshold."""

_LONGEST_LAST_LINE = 500

# The verdict of several grades: by all required ones, or by their mean and the gates, computed exactly.


@lru_cache(maxsize=1024)
def exact_fraction(number: float) -> Fraction:
    """The simplest fraction that rounds to this float: 0.1 is 1/10, and 0.3333333333333333 is 1/3."""
    value = Fraction(number)
    half = Fraction(math.ulp(number)) / 2
    return _simplest(value - half, value + half) if half else value


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction between two others with the smallest denominator."""
    whole = math.ceil(low)
    if whole <= high:
        return Fraction(whole)
    floor = math.floor(low)
    return floor + 1 / _simplest(1 / (high - floor), 1 / (low - floor))


def weighted_mean(weighted_scores: Iterable[tuple[Fraction, float]]) -> Fraction | None:
    """The mean of scores, each with its weight; None where nothing has any weight."""
    total = total_weight = Fraction(0)
    for score, weight in weighted_scores:
        total, total_weight = total + score * exact_fraction(weight), total_weight + exact_fraction(weight)
    return total / total_weight if total_weight else None


def verdict_of(score: Fraction, rule: PassRule, failed: Sequence[str] = ()) -> tuple[Outcome, str | None]:
    """The outcome and the verdict of a score. No score makes up for a failed gate."""
    if failed:
        return "failed", None
    if score >= exact_fraction(float(rule.pass_at)):
        return "passed", None
    if score >= exact_fraction(float(rule.borderline_at)):
        return "passed" if rule.borderline_passes else "failed", grades.BORDERLINE
    return "failed", None


def with_pass_at(rule: PassRule, pass_at: Number | None) -> PassRule:
    """The rule with the `pass_at` of a grader, if it has its own."""
    if pass_at is None:
        return rule
    return replace(rule, pass_at=pass_at, borderline_at=min(pass_at, rule.borderline_at))


def combine_grades(
    grades: Sequence[Grade], rule: PassRule | None = None
) -> tuple[Outcome, float | None, str, str | None]:
    """The outcome, the score, the reason and the verdict of a case."""
    rule = rule or PassRule()
    return by_mean(grades, rule) if rule.by == "mean" else by_all(grades)


def by_all(grades: Sequence[Grade]) -> tuple[Outcome, float | None, str, str | None]:
    """Passed when every required grader passes. A grader that could not judge makes it an error, unless
    another one has failed it already. There is no score while a grader has none."""
    counted = [grade for grade in grades if grade.required] or list(grades)
    outcome, reason, verdict = _worst_of(counted, len(grades) > 1)
    return outcome, _score(grades), reason, verdict


def by_mean(grades: Sequence[Grade], rule: PassRule) -> tuple[Outcome, float | None, str, str | None]:
    """By the mean and the gates. A failed gate fails the case; otherwise the case is undecided while a grader
    that counts has no score."""
    gates, undecided = gates_of(grades), still_open(grades)
    if gates or not undecided:
        score = mean_of(grades)
        if score is None and not gates:
            return "unscored", None, "no grader has any weight", None
        outcome, verdict = verdict_of(score or Fraction(0), rule, gates)
        if outcome == "passed":
            return outcome, _score(grades), "", verdict
        not_passed = [grade for grade in grades if grade.outcome != "passed"]
        reason = _describe_low_score(grades, not_passed, score or Fraction(0), rule)
        return outcome, _score(grades), reason, verdict
    outcome, reason, verdict = _worst_of(undecided, len(grades) > 1)
    return outcome, None, reason, verdict


def _worst_of(grades: Sequence[Grade], with_names: bool) -> tuple[Outcome, str, str | None]:
    """The outcome that decides, with its reasons and its verdict."""
    outcomes = {grade.outcome for grade in grades}
    outcome: Outcome = next((outcome for outcome in OUTCOMES if outcome in outcomes), "unscored")
    decisive = [grade for grade in grades if grade.outcome == outcome]
    reason = "" if outcome == "passed" else _reasons(decisive, with_names)
    return outcome, reason, next((grade.verdict for grade in decisive if grade.verdict), None)


def code_of(grades: Sequence[Grade], outcome: Outcome) -> str | None:
    """The code of the first grade with this outcome, the required grades first."""
    counted = [grade for grade in grades if grade.required] or list(grades)
    decisive = [grade for grade in (*counted, *grades) if grade.outcome == outcome]
    return next((grade.code for grade in decisive), None)


def gates_of(grades: Sequence[Grade]) -> tuple[str, ...]:
    """The gates that failed: required graders that failed, and those that a grade itself names."""
    return tuple(
        gate
        for grade in grades
        for gate in (
            tuple(f"{grade.grader}/{name}" for name in grade.failed_gates)
            or ((grade.grader,) if grade.required and grade.outcome == "failed" else ())
        )
    )


def still_open(grades: Sequence[Grade]) -> list[Grade]:
    """The grades that count and have no score yet."""
    return [grade for grade in grades if (grade.weight or grade.required) and grade.score is None]


def _describe_low_score(
    grades: Sequence[Grade], not_passed: Sequence[Grade], score: Fraction, rule: PassRule
) -> str:
    """The failed gates, else the mean, and the reason of each grade. The reason of a single grade, or of one
    with own gates that failed, is enough."""
    gates = gates_of([grade for grade in not_passed if not (grade.failed_gates and grade.reason)])
    summary = f"{', '.join(gates)} had to hold" if gates else ""
    if not gates_of(not_passed) and not (len(grades) == 1 and grades[0].reason):
        summary = f"the mean is {format_distinct(score, rule.pass_at)}, and {rule.pass_at:g} passes"
    return "; ".join(filter(None, (summary, _reasons(not_passed, len(grades) > 1))))


def format_distinct(score: Fraction, limit: float) -> str:
    """A score that misses a limit: a reader who sees the same number twice would look for the fault
    elsewhere."""
    text = f"{float(score):.3g}"
    return f"less than {limit:g}" if exact_fraction(float(text)) == exact_fraction(limit) else text


def _reasons(grades: Sequence[Grade], named: bool) -> str:
    return "; ".join(f"{one.grader}: {one.reason}" if named else one.reason for one in grades if one.reason)


def mean_of(grades: Sequence[Grade]) -> Fraction | None:
    """The weighted mean of the scores; a grade without a score counts as 0."""
    return weighted_mean((exact_fraction(grade.score or 0.0), grade.weight) for grade in grades)


def _score(grades: Sequence[Grade]) -> float | None:
    mean = None if any(grade.score is None for grade in grades) else mean_of(grades)
    return None if mean is None else float(mean)


# The row of a grader, the part of an output that it looks at, and the clients that it calls.

ReadConfig = tuple[Any | None, list[Problem]]
"""A grader's config, if it could be read, and its problems."""

StatedPart = tuple[Json, Path]
"""A grader in the config of a composite as a file states it, and its path there."""


def _client_missing(*_: object) -> Any:
    raise CannotReplay(Problem("BK399", "no model was given to ask", "please report it"))


class JudgeProgram(Struct):
    """A program that judges, or writes the prompt of a judge. A `command` that is one text is for the shell.
    `cwd` is relative to the folder of the case's file. `model_calls`: how often it may ask `model`; None if
    it may not."""

    command: str | tuple[str, ...]
    stdin: bytes = b""
    cwd: str | None = None
    timeout: Seconds | None = None
    model_calls: int | None = None
    model: str = "judge"

    @property
    def text(self) -> str:
        """The command as it is typed in a shell."""
        return self.command if isinstance(self.command, str) else shlex.join(self.command)


class JudgeRun(Struct):
    """How a judge program ended, and its calls of a model: how many, how many failed, and their usage."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    calls: int = 0
    failed_calls: int = 0
    usage: Usage = field(default_factory=Usage)

    def describe_end(self, mask: Mask, misses: Sequence[str] = ()) -> str:
        """Describe how it ended, with the misses that it printed, else the last line of its stderr."""
        lines = self.stderr.decode("utf-8", "replace").strip().splitlines() or [""]
        said = "; ".join(misses) or mask_and_clip(lines[-1].strip(), _LONGEST_LAST_LINE, mask)
        return describe_exit(self.exit_code) + (f"; it wrote: {said}" if said else "")


class JudgeStopped(CannotReplay):
    """A judge program was stopped. `calls`, `usage`: what it asked of a model until then."""

    def __init__(self, *problems: Problem, calls: int = 0, usage: Usage | None = None):
        super().__init__(*problems)
        self.calls, self.usage = calls, usage or Usage()


class GradeClients(Struct):
    """What graders call. `ask`: asks a model; `run`: runs generated code in the sandbox; `compare`:
    compares a case's output by the matcher, and returns the number of the alternative (from 0) too;
    `rated`: the grade of the ratings so far; `program`: runs a
    program that judges; `text`: reads a file that the config names; `part`: the grade of a part of a
    composite, by its number, with the `results` of the other parts if it sums them up; `mask`: masks secrets
    in what is quoted."""

    ask: Callable[[ModelQuestion], Answer] = _client_missing
    run: Callable[[FunctionOutput, str], SandboxResult] = _client_missing
    compare: Callable[[Case, Grader, Observation], tuple[Comparison, int]] = _client_missing
    rated: Callable[[Case, Grader, Observation], Grade] = _client_missing
    program: Callable[[Case, JudgeProgram], JudgeRun] = _client_missing
    text: Callable[[str], str] = _client_missing
    part: Callable[[int, Grader, Mapping[str, Json]], Grade] = _client_missing
    results: Mapping[str, Json] = field(default_factory=dict)
    regex_budget: Callable[[], RegexBudget] = field(default=RegexBudget)
    mask: Mask = no_mask


QuestionForm = Literal["", "in one line", "by a prompt", "by a rubric"]
"""How a judge is asked: "" for scores by the criteria of a rubric."""


class Task(Struct):
    """A grader and the case that it grades. `of`: the part of the output that it looks at, if the grader or
    the expectation names one."""

    grader: Grader
    case: Case
    of: str | None = None

    @property
    def method(self) -> Any:
        return self.grader.method

    @property
    def expected(self) -> list[Json]:
        return values_of(self.case.expected)

    def at_expected(self, number: int = 0) -> Path:
        """The path of a problem in the expected value (0) or in an alternative (from 1 on), below the grader
        if it is derived from the expectation; else the problem is at the grader."""
        return expected_path(number) if self.is_derived else ()

    @property
    def is_derived(self) -> bool:
        return self.grader.at[-1:] in (("expected",), ("expected_output",))

    def look(self, output: Json, keys: Collection[str] = ()) -> Json:
        """The part of an output that the grader looks at; ABSENT if there is no such part. `keys`: the keys
        that it looks for; if the whole output has them, that is looked at."""
        if self.of is not None:
            return pick(_pattern(self.of), output, kind_of(self.case.recipe))
        part = self.part(output, keys)
        return output.get(part, "") if part else output

    def part(self, output: Json, keys: Collection[str] = ()) -> str:
        """The name of the part that the grader looks at; "" for the whole."""
        if self.of is not None:
            return "" if self.of == "$" else self.of
        if not isinstance(output, dict) or self.looks_at_whole(keys):
            return ""
        kind = kind_of(self.case.recipe)
        return kind.answer if output.keys() <= {*kind.parts} else ""

    def looks_at_whole(self, keys: Collection[str]) -> bool:
        """Whether a grader that looks for these keys means those of the whole output."""
        if self.of is not None:
            return False
        parts = kind_of(self.case.recipe).parts
        return not parts or (bool(keys) and {*keys} <= {*parts})

    def decide(self, passed: bool, why: str, details: Mapping[str, Json], part: str = "") -> Grade:
        """The grade of a check: its score is 1 or 0. `why`: the reason if it does not pass; `part`: the part
        that was looked at, if that is not the whole output."""
        outcome: Outcome = "passed" if passed else "failed"
        reason = "" if passed else f"{part}: {why}" if part else why
        return self.grader.graded(outcome, float(passed), reason, details=dict(details))

    def scored(
        self,
        score: Fraction,
        reason: str = "",
        pass_at: Number | None = None,
        failed_gates: tuple[str, ...] = (),
        **attributes: Any,
    ) -> Grade:
        """The grade of a score, by the limits of the case, or by the grader's own `pass_at`."""
        outcome, verdict = verdict_of(score, with_pass_at(self.case.pass_rule, pass_at), failed_gates)
        reason = "" if outcome == "passed" and verdict is None else reason
        attributes |= {"verdict": verdict, "failed_gates": failed_gates}
        return self.grader.graded(outcome, float(score), reason, **attributes)

    def part_problems(self) -> Iterator[Problem]:
        """The problems of the path of the part that is named, with paths below the grader."""
        is_in_config = getattr(self.method, "of", None) is not None
        at = ("config", "of") if is_in_config else ("of",) if self.is_derived else ()
        try:
            _pattern(self.of or "$")
        except InvalidInput as error:
            yield from (replace(problem, place=None, at=at) for problem in error.problems)


class GraderType(Struct):
    """A grader as one row of the table.

    `config`: the class of its config, and of what a file states under `config:` unless `stated` is another
    class. `judge` makes the grade; `problems`: what is wrong before anything is asked, with paths below the
    grader. `method`: its name in files ("": no file names it); `called`: its name if it has no method;
    `expectation`: the type of `expected` that asks for it; `known_by`: keys by which its config is
    recognised where no method is stated.

    Reading a config: `read`: the config as a file states it; `derive`: the config that an expectation makes
    by itself (second argument: whether graders are stated beside it); `goes_by_expectation`: whether a grader
    with this config looks at the part that the expectation names (by default: one that an expectation asks
    for).

    Composites: `stated_parts`: the graders in a stated config; `compose`: the config that they make;
    `parts`: the graders that a config is made of.

    Files: `files`: the paths that a config names, by their keys; `texts`: the files with texts that it judges
    with, and `text_problems`: what is wrong with such a text.

    Models and programs: `asks`: the model that is asked about one output, and how often; `criteria`: what it
    is asked about; `question_form`: the form of the question, if it is not for scores; `label_verdict`:
    whether the label of a person is a pass, None if it is neither pass nor fail; `starts`: the program that
    judges; `program`: what it runs in the sandbox; `compares`: what the matcher compares with."""

    config: type[Any]
    judge: Callable[[Task, Observation, GradeClients], Grade]
    method: str = ""
    kind: GraderKind = "code"
    expectation: str = ""
    called: str = ""
    known_by: tuple[str, ...] = ()
    stated: type[Any] | None = None
    stated_parts: Callable[[Any], Sequence[StatedPart]] = lambda stated: ()
    compose: Callable[[Any, Sequence[Grader]], ReadConfig] | None = None
    read: Callable[[dict[str, Json]], ReadConfig] | None = None
    derive: Callable[[Expected, bool], ReadConfig] | None = None
    problems: Callable[[Task], Iterator[Problem]] = lambda task: iter(())
    goes_by_expectation: Callable[[Any], bool] | None = None
    files: Callable[[Any], Mapping[str, str | None]] = lambda config: {}
    texts: Callable[[Any], tuple[str, ...]] = lambda config: ()
    text_problems: Callable[[Task, str], Iterator[Problem]] = lambda task, text: iter(())
    parts: Callable[[Any], tuple[Grader, ...]] = lambda config: ()
    starts: Callable[[Any], JudgeProgram | None] = lambda config: None
    asks: Callable[[Any], tuple[str, int] | None] = lambda config: None
    criteria: Callable[[Any], list[str]] = lambda config: []
    label_verdict: Callable[[Any, PassRule, bool | int | float | str], bool | None] | None = None
    question_form: QuestionForm = ""
    program: Callable[[Any], FunctionOutput | None] = lambda config: None
    compares: Literal["", "baseline", "expected"] = ""

    @property
    def name(self) -> str:
        """The name of a grader that its case does not name."""
        return self.method or self.called or self.kind

    def read_config(self, config: dict[str, Json]) -> ReadConfig:
        return self.read(config) if self.read else read_as(self.stated or self.config, config)

    def derive_config(self, expected: Expected, graders_stated: bool) -> ReadConfig:
        if self.derive is not None:
            return self.derive(expected, graders_stated)
        return None if graders_stated else self.config(), []

    def task(self, grader: Grader, case: Case) -> Task:
        part: str | None = getattr(grader.method, "of", None)
        goes_by_it = self.goes_by_expectation or (lambda config: bool(self.expectation))
        if part is None and case.expected is not None and goes_by_it(grader.method):
            part = case.expected.of
        return Task(grader, case, part)


def values_of(expected: Expected | None) -> list[Json]:
    """The expected value, and its alternatives after it."""
    return [] if expected is None else [expected.value, *expected.alternatives]


def expected_path(number: int) -> Path:
    """The path of the expected value (0), or of an alternative (from 1 on), below the expectation."""
    return ("alternatives", number - 1) if number else ("value",)


def input_of(case: Case) -> Json:
    """The input of a case."""
    return kind_of(case.recipe).asked(case.recipe)


def keys_of(value: Json) -> Collection[str]:
    return value.keys() if isinstance(value, dict) else ()


def text_of(output: Json) -> str:
    """An output as a text: its `text`, if it is the output of a prompt that collects more."""
    if isinstance(output, dict) and isinstance(output.get("text"), str):
        output = output["text"]
    return output if isinstance(output, str) else pretty(output, "  ")


def parse_json_output(output: Json) -> Json:
    """The JSON of an output: a text that is JSON, or that holds one block of it; ABSENT if there is none."""
    return json_in(output) if isinstance(output, str) else output


def never_fails(reason: str, hint: str, *at: str | int) -> Problem:
    return Problem("BK708", f"this cannot fail: {reason}", hint, at=at)


def threshold_problems(
    threshold: Number | None, bounds: Sequence[float], at: tuple[str, ...]
) -> Iterator[Problem]:
    """The problem of a threshold that every score reaches."""
    low, high = bounds
    if threshold is not None and threshold <= low:
        yield never_fails(f"every score reaches {threshold}", f"above {low:g}, up to {high:g}", *at)


def first_repeated(names: Sequence[str]) -> str | None:
    return next((name for name in names if names.count(name) > 1), None)


def _pattern(of: str) -> Pattern:
    return Pattern("$", (), True) if of == "$" else parse(of)


def pick(pattern: Pattern, output: Json, kind: RecipeKind) -> Json:
    """The value at a path, or the list of the values that its wildcards match; ABSENT if there is none."""
    if not pattern.segments:
        return output
    output, first_step = parse_json_output(output), pattern.segments[0]
    in_answer = kind.paths_start_in_answer and not pattern.absolute and first_step not in kind.parts
    if in_answer and isinstance(output, dict):
        output = output.get(kind.answer)
    values = [value for _, value in find(pattern, output)]
    if all(isinstance(step, str | int) for step in pattern.segments):
        return values[0] if values else ABSENT
    return values or ABSENT


# The JSON that a program that judges receives, and the variables of a template by the same names: a case,
# its result, and the texts made of both. Keys in the values of users stay as they are.

TEXTS = ("question", "expected_outcome", "reference_answer", "candidate_answer")
MESSAGES = ("input_messages", "expected_messages", "output_messages")


def wire_of(
    task: Task,
    observation: Observation,
    config: Mapping[str, Json] | None = None,
    results: Mapping[str, Json] | None = None,
) -> dict[str, Json]:
    """The whole JSON, with null for what is missing. `config`: what the grader passes to its program;
    `results`: what an aggregator sums up, which no other program receives."""
    wanted = task.case.wanted
    return {
        **({"results": dict(results)} if results else {}),
        **texts_of(task, observation),
        "guideline_files": [*wanted.guideline_files],
        "input_files": [*wanted.input_files],
        **messages_of(task, observation),
        "trace_summary": trace_summary(observation),
        "config": dict(config) if config else None,
        "sidecar": dict(wanted.sidecar) or None,
    }


def texts_of(task: Task, observation: Observation) -> dict[str, str]:
    """The first message of the user, the expected outcome, the last message of the reference conversation,
    and the answer; "" for what is missing. Values other than texts are JSON."""
    return {**texts_of_case(task.case), "candidate_answer": plain_text(_answer(task, observation))}


def texts_of_case(case: Case) -> dict[str, str]:
    """The same without an answer."""
    user_messages = [message for message in _input_messages(case) if message.role == "user"]
    reference = _reference(case)
    return {
        "question": plain_text(user_messages[0].content) if user_messages else "",
        "expected_outcome": case.wanted.outcome,
        "reference_answer": plain_text(reference[-1].content) if reference else "",
    }


def messages_of(task: Task, observation: Observation) -> dict[str, Json]:
    """The messages of the input, of the reference and of the output; an answer alone counts as a message."""
    output_messages = observation.messages or (
        TraceMessage("assistant", _answer(task, observation), observation.tool_calls or ()),
    )
    conversations = (_input_messages(task.case), _reference(task.case), output_messages)
    return {
        name: [message_as_json(message) for message in messages]
        for name, messages in zip(MESSAGES, conversations, strict=True)
    }


def calls_of(observation: Observation) -> Sequence[ToolCall] | None:
    """The calls of tools in their order; None if it is unknown whether there were any."""
    if observation.messages:
        return [call for message in observation.messages for call in message.tool_calls]
    return observation.tool_calls


def trace_summary(observation: Observation) -> dict[str, Json] | None:
    """The counted calls and the usage of a run. Unknown figures are left out; None if only the time is
    known."""
    calls, usage = calls_of(observation), observation.usage
    if calls is None and usage == Usage():
        return None
    summary: dict[str, Json] = {}
    if calls is not None:
        counts = Counter(call.name for call in calls)
        summary = {
            "event_count": len(calls),
            "tool_names": sorted(counts),
            "tool_calls_by_name": {name: counts[name] for name in sorted(counts)},
            "error_count": sum(call.error is not None for call in calls),
        }
    tokens = {"input": usage.tokens_in, "output": usage.tokens_out, "cached": usage.tokens_cached}
    if known_tokens := {name: count for name, count in tokens.items() if count is not None}:
        summary["token_usage"] = known_tokens
    if usage.cost_usd is not None:
        summary["cost_usd"] = float(usage.cost_usd)
    return {**summary, "duration_ms": milliseconds(observation.seconds)}


def _input_messages(case: Case) -> Sequence[TraceMessage]:
    """The messages that a case asks with. Any other input counts as a message of the user."""
    return case.wanted.asked or (TraceMessage("user", input_of(case)),)


def _reference(case: Case) -> Sequence[TraceMessage]:
    """The reference conversation; if there is none, the expected value as a message."""
    expected = case.expected
    if case.wanted.messages or expected is None:
        return case.wanted.messages
    return (TraceMessage("assistant", expected.value),)


def _answer(task: Task, observation: Observation) -> Json:
    """The part of the output that the grader looks at."""
    answer = task.look(observation.output)
    return None if answer is ABSENT else answer

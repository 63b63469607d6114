"""What every grader is made of: its row, the part of an output that it looks at, and what it needs of the
world."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from typing import Any, Literal

from baselinekit.documents.jsontext import json_in, pretty
from baselinekit.errors import CannotReplay, InvalidInput, Problem, nearest
from baselinekit.frozen import frozen
from baselinekit.grade.verdict import verdict_of
from baselinekit.kinds.kind import RecipeKind
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Comparison, Number
from baselinekit.model.evals import Case, Expected
from baselinekit.model.grades import FunctionOutput, Grade, Grader, GraderKind, Outcome, PassRule
from baselinekit.model.recipes import Answer, Ask, Observation, Ran, Seconds, Usage
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.table import RegexBudget
from baselinekit.schema.records import check
from baselinekit.texts import Mask, already_masked
from baselinekit.tree.paths import Pattern, find, parse

Judged = tuple[bool, str, Mapping[str, Json]]
"""Whether it passes, why not, and what a report shows."""


ReadConfig = tuple[Any | None, list[Problem]]
"""A grader's config, if it could be read, and what is wrong with it."""

StatedPart = tuple[Json, Path]
"""A grader within the config of another one as a file states it, and where it stands there."""


def _nobody(*_: object) -> Any:
    raise CannotReplay(Problem("BK704", "no model was given to ask", "please report it"))


@frozen
class JudgeProgram:
    """A program that judges, or writes the prompt of a judge. A `command` in one text is for the shell.
    `cwd`: from the folder of the case's file. `model_calls`: how often it may ask `model`; None where it may
    not."""

    command: str | tuple[str, ...]
    stdin: bytes = b""
    cwd: str | None = None
    timeout: Seconds | None = None
    model_calls: int | None = None
    model: str = "judge"


@frozen
class JudgeRun:
    """How it ended, and what it asked of a model: how often, how often in vain, what that took."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    calls: int = 0
    failed_calls: int = 0
    usage: Usage = field(default_factory=Usage)


class JudgeStopped(CannotReplay):
    """It did not come to its end; what it asked of a model until then is known."""

    def __init__(self, *problems: Problem, calls: int = 0, usage: Usage | None = None):
        super().__init__(*problems)
        self.calls, self.usage = calls, usage or Usage()


@frozen
class GradeClients:
    """What grading needs of the world: a model to ask, a place to run a program in, the comparison of a
    case's output by the matcher (and with which alternative, from 0), schemas from files, what people have
    said so far, and how what is quoted is shown without secrets. `program`: runs one that judges; `text`:
    what stands in a file that the config names; `part`: the grade of a grader within the one that judges, by
    its number and with the `results` of the others, where it sums them up."""

    ask: Callable[[Ask], Answer] = _nobody
    run: Callable[[FunctionOutput, str], Ran] = _nobody
    compare: Callable[[Case, Grader, Observation], tuple[Comparison, int]] = _nobody
    schema: Callable[[Case, str], Json] = _nobody
    rated: Callable[[Case, Grader, Observation], Grade] = _nobody
    program: Callable[[Case, JudgeProgram], JudgeRun] = _nobody
    text: Callable[[str], str] = _nobody
    part: Callable[[int, Grader, Mapping[str, Json]], Grade] = _nobody
    results: Mapping[str, Json] = field(default_factory=dict)
    regex_budget: Callable[[], RegexBudget] = field(default=RegexBudget)
    mask: Mask = already_masked


QuestionForm = Literal["", "in one line", "by a prompt", "by a rubric"]
"""How a judge is asked: "" for scores by the criteria of a rubric."""


@frozen
class LabelScale:
    """How a judge is set beside what people said of the same outputs. `verdict`: whether what somebody said
    is a pass, None where it is neither; `words`: what can be said. `by_pass_rule`: whether the rule of the
    case decides what passes."""

    verdict: Callable[[Any, PassRule, bool | int | float | str], bool | None]
    words: Callable[[Any], str]
    by_pass_rule: bool = False


@frozen
class Task:
    """A grader and the case that it grades. `of`: the part of the output that it looks at, where the grader
    or what is expected names one."""

    grader: Grader
    case: Case
    of: str | None = None

    @property
    def method(self) -> Any:
        return self.grader.method

    @property
    def expected(self) -> list[Json]:
        return values_of(self.case.expected)

    @property
    def at_expected(self) -> tuple[str, ...]:
        """Where a problem of the expected value stands, below the grader: there, if the expectation is all
        that asks for this grader."""
        return ("value",) if self.is_derived else ()

    @property
    def is_derived(self) -> bool:
        return self.grader.at[-1:] in (("expected",), ("expected_output",))

    def look(self, output: Json, keys: Collection[str] = ()) -> Json:
        """What the grader looks at of this output; ABSENT where there is no such part. `keys`: those that it
        asks for, which may be those of the whole."""
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
        """Whether a grader that asks for these keys means those of the whole output."""
        if self.of is not None:
            return False
        parts = kind_of(self.case.recipe).parts
        return not parts or (bool(keys) and {*keys} <= {*parts})

    def decide(self, judged: Judged, part: str = "") -> Grade:
        """The grade by rules alone: the score follows the verdict. `part`: what was looked at, where that is
        not all of the output."""
        passed, reason, details = judged
        reason = f"{part}: {reason}" if part and reason else reason
        outcome: Outcome = "passed" if passed else "failed"
        return self.grader.graded(outcome, float(passed), reason, details=dict(details))

    def scored(
        self,
        score: Fraction,
        reason: str = "",
        pass_at: Number | None = None,
        failed_gates: tuple[str, ...] = (),
        **more: Any,
    ) -> Grade:
        """The grade of a score, by the limits of the case, or by the grader's own `pass_at`."""
        rule = self.case.pass_rule
        if pass_at is not None:
            rule = replace(rule, pass_at=pass_at, borderline_at=min(pass_at, rule.borderline_at))
        outcome, verdict = verdict_of(score, rule, failed_gates)
        why = "" if outcome == "passed" and verdict is None else reason
        more |= {"verdict": verdict, "failed_gates": failed_gates}
        return self.grader.graded(outcome, float(score), why, **more)

    def part_problems(self) -> Iterator[Problem]:
        """What is wrong with the part that is named, with paths below the grader."""
        if self.of is None:
            return
        own = getattr(self.method, "of", None) is not None
        at = ("config", "of") if own else ("of",) if self.is_derived else ()
        try:
            first = _pattern(self.of).segments[:1]
        except InvalidInput as error:
            yield from (replace(problem, place=None, at=at) for problem in error.problems)
            return
        kind = kind_of(self.case.recipe)
        if kind.parts and not kind.paths_start_in_answer and not {*first} <= {*kind.parts}:
            known = ", ".join(sorted(kind.parts))
            hint = nearest(str(first[0]), kind.parts) or f"one of {known}, or $ for all of it"
            yield Problem("BK709", f"a {kind.name} gives no {self.of!r}", hint, at=at)


@frozen
class GraderType:
    """A grader as one row. `config`: its class, which is also the schema of `config:`, unless `stated` is
    another one; `judge` makes the grade, and `problems` says what is wrong before anything is asked, with
    paths below the grader. `method`: its name in files ("": no file names it); `expectation`: the type of
    `expected` that asks for it. `goes_by_expectation`: whether a grader of this config looks at the part that
    the expectation names. `known_by`: keys that tell its config where no method is stated. `read`: its config
    as a file states it; `derive`: the config that an expectation asks for by itself (the second argument:
    whether graders are stated beside it); `complete`: a config from elsewhere, with what the case expects.
    `files`: the paths that a config names, by their keys; `document`: the one whose content it is checked
    with, and `with_document` the config that has it in place; `texts`: those whose text it judges with, and
    `text_problems` what is wrong with one; `parts`: the graders that it is made of, and `without_places` the
    config without where they stand; `starts`: the program that judges. `asks`: which model is asked about one
    output, and how often, `criteria` by what, and `question_form` in which form, if not for scores;
    `label_scale`: how it is set beside people. `stated_parts`: the graders within a stated config, and
    `compose` the config that they make. `program`: what it runs in the sandbox. `compares`: with what the
    matcher compares."""

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
    read: Callable[[dict[str, Json], Expected | None], ReadConfig] | None = None
    derive: Callable[[Expected, bool], ReadConfig] | None = None
    complete: Callable[[Any, Expected | None], ReadConfig] = lambda config, expected: (config, [])
    problems: Callable[[Task], Iterator[Problem]] = lambda task: iter(())
    goes_by_expectation: Callable[[Any], bool] = lambda config: False
    files: Callable[[Any], Mapping[str, str | None]] = lambda config: {}
    document: Callable[[Any], str | None] = lambda config: None
    with_document: Callable[[Any, Json], Any] = lambda config, document: config
    texts: Callable[[Any], tuple[str, ...]] = lambda config: ()
    text_problems: Callable[[Task, str], Iterator[Problem]] = lambda task, text: iter(())
    parts: Callable[[Any], tuple[Grader, ...]] = lambda config: ()
    without_places: Callable[[Any], Any] = lambda config: config
    starts: Callable[[Any], JudgeProgram | None] = lambda config: None
    asks: Callable[[Any], tuple[str, int] | None] = lambda config: None
    criteria: Callable[[Any], list[str]] = lambda config: []
    label_scale: LabelScale | None = None
    question_form: QuestionForm = ""
    program: Callable[[Any], FunctionOutput | None] = lambda config: None
    compares: Literal["", "baseline", "expected"] = ""

    @property
    def name(self) -> str:
        """What a grader of a case is called that has no name of its own."""
        return self.method or self.called or self.kind

    def read_config(self, config: dict[str, Json], expected: Expected | None) -> ReadConfig:
        return self.read(config, expected) if self.read else check(self.schema, config)

    @property
    def schema(self) -> type[Any]:
        """The class of what a file states under `config:`."""
        return self.stated or self.config

    def derive_config(self, expected: Expected, graders_stated: bool) -> ReadConfig:
        if self.derive is not None:
            return self.derive(expected, graders_stated)
        return None if graders_stated else self.config(), []

    def task(self, grader: Grader, case: Case) -> Task:
        own: str | None = getattr(grader.method, "of", None)
        if own is None and case.expected is not None and self.goes_by_expectation(grader.method):
            own = case.expected.of
        return Task(grader, case, own)


def values_of(expected: Expected | None) -> list[Json]:
    """What would be right, the first choice first."""
    return [] if expected is None else [expected.value, *expected.alternatives]


def input_of(case: Case) -> Json:
    """What a case asks for."""
    return kind_of(case.recipe).asked(case.recipe)


def keys_of(value: Json) -> Collection[str]:
    return value.keys() if isinstance(value, dict) else ()


def text_of(output: Json) -> str:
    """An output as a text: its `text`, where it is what a prompt that collects more gave."""
    if isinstance(output, dict) and isinstance(output.get("text"), str):
        output = output["text"]
    return output if isinstance(output, str) else pretty(output, "  ")


def parsed(output: Json) -> Json:
    """The JSON of an output: a text that is JSON, or that holds one block of it; ABSENT if it is none."""
    return json_in(output) if isinstance(output, str) else output


def never_fails(why: str, hint: str, *at: str) -> Problem:
    return Problem("BK708", f"this cannot fail: {why}", hint, at=at)


def never_passes(why: str, hint: str, *at: str) -> Problem:
    return Problem("BK708", f"this cannot pass: {why}", hint, at=at)


def pass_at_problems(pass_at: Number | None) -> Iterator[Problem]:
    """A share that every score reaches, or none."""
    yield from threshold_problems(pass_at, (0, 1), ("config", "pass_at"))


def threshold_problems(stated: Json, bounds: Collection[Json], at: tuple[str, ...]) -> Iterator[Problem]:
    """A threshold that every score reaches, or none."""
    low, high = bounds
    hint = f"a threshold above {low}, up to {high}"
    if stated is not None and stated <= low:
        yield never_fails(f"every score reaches {stated}", hint, *at)
    elif stated is not None and stated > high:
        yield never_passes(f"no score reaches {stated}", hint, *at)


def _pattern(of: str) -> Pattern:
    return Pattern("$", (), True) if of == "$" else parse(of)


def pick(pattern: Pattern, output: Json, kind: RecipeKind) -> Json:
    """What is there: the one value, or the list of those that a wildcard leads to."""
    if not pattern.segments:
        return output
    output, first = parsed(output), pattern.segments[0]
    in_answer = kind.paths_start_in_answer and not pattern.absolute and first not in kind.parts
    if in_answer and isinstance(output, dict):
        output = output.get(kind.answer)
    found = [value for _, value in find(pattern, output)]
    if all(isinstance(step, str | int) for step in pattern.segments):
        return found[0] if found else ABSENT
    return found or ABSENT

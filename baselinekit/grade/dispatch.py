"""The face of the room: an output and a grader become a grade."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from baselinekit.errors import BaselinekitError, CannotReplay, OutOfBudget, Problem
from baselinekit.grade import by_code, by_function, by_model, by_schema, criteria, looking, vacuous
from baselinekit.grade.agreement import cohen_kappa as cohen_kappa, krippendorff as krippendorff
from baselinekit.grade.briefing import briefing as briefing, item_key as item_key
from baselinekit.grade.by_code import parsed as parsed
from baselinekit.grade.by_human import human_grade as human_grade, is_late as is_late
from baselinekit.grade.calibration import (
    agreement as agreement,
    case_of_label as case_of_label,
    label_problem as label_problem,
    labels_hash as labels_hash,
    rubric_hash as rubric_hash,
)
from baselinekit.grade.combine import combined as combined
from baselinekit.grade.criteria import in_words as in_words
from baselinekit.grade.judging import Unreadable, asked_again
from baselinekit.grade.looking import keys_of as keys_of, looks_at_whole as looks_at_whole, seen as seen
from baselinekit.grade.meaning import meaning_question as meaning_question, read_similarity as read_similarity
from baselinekit.grade.probes import (
    PROBES as PROBES,
    Probe as Probe,
    case_of as case_of,
    grader_of as grader_of,
)
from baselinekit.grade.reply_code import code_in
from baselinekit.grade.rubric import read_scores as read_scores, rubric_question as rubric_question
from baselinekit.grade.scales import (
    checked as checked,
    options_of as options_of,
    scale_problems as scale_problems,
    value_of as value_of,
    wanted as wanted,
    words_for as words_for,
)
from baselinekit.model.comparison import Comparison
from baselinekit.model.evals import Case
from baselinekit.model.graders import (
    BaselineMatch,
    Contains,
    ExactMatch,
    FunctionOutput,
    Grader,
    HumanRating,
    JsonSchema,
    ModelJudge,
    MustInclude,
    RegexMatch,
    StructuralMatch,
)
from baselinekit.model.grades import Grade, Outcome
from baselinekit.model.observation import Observation, Ran
from baselinekit.model.questions import Answer, Ask, Usage
from baselinekit.model.values import ABSENT, Json
from baselinekit.placeholders.pattern import RegexBudget
from baselinekit.texts import Mask, already_masked, clipped, many
from baselinekit.tree.paths import render

_LONGEST_SHOWN = 200
_MOST_DIFFERENCES = 50


def _nobody(*_: object) -> Any:
    raise CannotReplay(Problem("BK704", "nobody was given to ask", "please report it"))


@dataclass(frozen=True, slots=True)
class GradeClients:
    """What grading needs of the world: a model to ask, a place to run a program in, the comparison of a
    case's output by the matcher (and with which alternative, from 0), schemas from files, what people have
    said so far, and how what is quoted is shown without secrets."""

    ask: Callable[[Ask], Answer] = _nobody
    run: Callable[[FunctionOutput, str], Ran] = _nobody
    compare: Callable[[Case, Grader, Observation], tuple[Comparison, int]] = _nobody
    schema: Callable[[Case, str], Json] = _nobody
    rated: Callable[[Case, Grader, Observation], Grade] = _nobody
    regex_budget: Callable[[], RegexBudget] = field(default=RegexBudget)
    mask: Mask = already_masked


def grade(grader: Grader, case: Case, observation: Observation, clients: GradeClients) -> Grade:
    """What a grader makes of an output. Whatever keeps it from judging is an error, never a verdict."""
    try:
        if looking.seen(observation.output, grader, case) is ABSENT:
            return _decided(grader, (False, f"the output has no {looking.named_part(grader, case)}", {}))
        return _KINDS[type(grader.method)](grader, case, observation, clients)
    except OutOfBudget:
        raise
    except BaselinekitError as error:
        problem = error.problems[0]
        reason = problem.message + (f": {problem.hint}" if problem.hint else "")
        return grader.graded("error", None, reason, code=problem.code)


def problems_of(grader: Grader, case: Case) -> Iterator[Problem]:
    """What is wrong with a grader before anything is asked, with paths below the grader."""
    yield from vacuous.problems_of(grader, case)
    yield from looking.problems_of(grader, case)
    method = grader.method
    if isinstance(method, RegexMatch):
        yield from by_code.regex_problems(method, case.expected)
    elif isinstance(method, FunctionOutput):
        yield from by_function.problems_of(method)
    elif isinstance(method, ModelJudge):
        yield from criteria.problems_of(method)
    elif isinstance(method, HumanRating):
        yield from scale_problems(method)
    elif isinstance(method, JsonSchema):
        yield from _schema_stated(method)
    elif isinstance(method, ExactMatch | StructuralMatch) and case.expected is None and not case.baseline:
        yield Problem("BK705", f"{grader.name} has nothing to compare with", "add `expected: {value: …}`")
    elif (
        isinstance(method, Contains)
        and case.expected is None
        and not (method.all or method.any or method.none)
    ):
        yield Problem(
            "BK705", f"{grader.name} looks for nothing", "state `all`, `any` or `none`, or `expected`"
        )


def _schema_stated(method: JsonSchema) -> Iterator[Problem]:
    if (method.schema is None) == (method.schema_file is None):
        yield Problem("BK703", "a json_schema grader has one schema", "state `schema` or `schema_file`")
    elif method.schema is not None:
        yield from by_schema.schema_problems(method.schema)


def _decided(grader: Grader, judged: by_code.Judged) -> Grade:
    """By rules alone: the score follows the verdict."""
    passed, reason, details = judged
    return grader.graded("passed" if passed else "failed", float(passed), reason, details=details)


def _by_text(look: Callable[..., by_code.Judged], *wanted: str) -> Callable[..., Grade]:
    def judge(grader: Grader, case: Case, observation: Observation, clients: GradeClients) -> Grade:
        given = {"expected": case.expected, "patience": clients.regex_budget()}
        output = looking.seen(observation.output, grader, case)
        judged = look(output, grader.method, *(given[name] for name in wanted))
        return _of_part(_decided(grader, judged), looking.part_seen(observation.output, grader, case))

    return judge


def _by_value(grader: Grader, case: Case, observation: Observation, clients: GradeClients) -> Grade:
    def look(value: Json) -> Json:
        return looking.seen(observation.output, grader, case, looking.keys_of(value))

    method = grader.method
    assert isinstance(method, ExactMatch)
    keys = looking.keys_of(case.expected.value if case.expected else None)
    part = looking.part_seen(observation.output, grader, case, keys)
    return _of_part(_decided(grader, by_code.exact_match(look, method, case.expected)), part)


def _of_part(grade: Grade, part: str) -> Grade:
    """With the name of what was looked at, where that is not all of the output."""
    return replace(grade, reason=f"{part}: {grade.reason}") if part and grade.reason else grade


def _by_schema(grader: Grader, case: Case, observation: Observation, clients: GradeClients) -> Grade:
    method = grader.method
    assert isinstance(method, JsonSchema)
    schema = method.schema if method.schema_file is None else clients.schema(case, method.schema_file)
    keys = looking.keys_of_schema(schema)
    output = looking.seen(observation.output, grader, case, keys)
    part = looking.part_seen(observation.output, grader, case, keys)
    value = by_code.parsed(output)
    if value is ABSENT:
        shown = clipped(by_code.text_of(output), _LONGEST_SHOWN, clients.mask)
        return _of_part(_decided(grader, (False, "it is no JSON", {"actual": shown})), part)
    found = by_schema.violations(value, schema, clients.regex_budget())
    judged = not found, "; ".join(found), {"violations": found} if found else {}
    return _of_part(_decided(grader, judged), part)


def _by_matcher(grader: Grader, case: Case, observation: Observation, clients: GradeClients) -> Grade:
    comparison, alternative = clients.compare(case, grader, observation)
    shown: list[Json] = [
        {
            "path": render(each.path),
            "kind": each.kind,
            **{
                name: side
                for name, side in (("expected", each.expected), ("actual", each.actual))
                if side is not ABSENT
            },
        }
        for each in comparison.differences[:_MOST_DIFFERENCES]
    ]
    count = comparison.count
    reason = "" if comparison.passed else many(count, "difference")
    details: dict[str, Json] = {"differences": shown} if shown else {}
    if comparison.passed and alternative:
        details["alternative"] = alternative
    return _decided(grader, (comparison.passed, reason, details))


def _by_function(grader: Grader, case: Case, observation: Observation, clients: GradeClients) -> Grade:
    method = grader.method
    assert isinstance(method, FunctionOutput)
    reply = by_code.text_of(looking.seen(observation.output, grader, case))
    taken = code_in(reply, method.function_name)
    if taken.problem:
        reason = f"no program can be taken from the reply: {taken.problem}"
        return grader.graded("failed", 0.0, reason, details={"taken": "nothing"})
    found = by_function.judged(method, clients.run(method, taken.code), clients.regex_budget(), clients.mask)
    outcome: Outcome = "error" if found.flaw else "passed" if found.passed else "failed"
    score = None if found.flaw else found.score
    reason = found.flaw or found.reason
    reason += f" (taken from the reply: {taken.about})" if reason and taken.partly and not found.flaw else ""
    return grader.graded(outcome, score, reason, details={"taken": taken.about, **found.details})


def _by_model(grader: Grader, case: Case, observation: Observation, clients: GradeClients) -> Grade:
    """As many samples as are wanted; the middle one counts, and how often the others differ is told."""
    method = grader.method
    assert isinstance(method, ModelJudge)
    output = observation.output
    usage, judgements, complaints = Usage(), [], []
    for turn in range(method.samples):
        asked = question = by_model.judge_question(method, case, output, turn)
        for left in range(method.retries_on_unreadable, -1, -1):
            answer = clients.ask(asked)
            usage = usage + answer.usage
            try:
                judgements.append(by_model.read_judgement(answer.text, method, case, output))
                break
            except Unreadable as error:
                problem = error.problems[0]
                complaints.append(problem.message)
                if not left:
                    details: dict[str, Json] = {"replies_that_could_not_be_read": list(complaints)}
                    reason = f"{problem.message}: {problem.hint}"
                    return grader.graded(
                        "error", None, reason, code=problem.code, details=details, usage=usage
                    )
                asked = asked_again(question, error.why, clients.mask)
    chosen, flips = by_model.middle(judgements)
    details = dict(chosen.details)
    if complaints:
        details["replies_that_could_not_be_read"] = list(complaints)
    if method.samples > 1:
        details["samples"] = {"scores": [round(each.score, 6) for each in judgements], "flip_rate": flips}
    if chosen.disagrees:
        details["disagrees"] = chosen.disagrees
    return grader.graded(
        "passed" if chosen.passed else "failed",
        chosen.score,
        "" if chosen.passed else chosen.reason,
        details=details,
        usage=usage,
    )


def _by_people(grader: Grader, case: Case, observation: Observation, clients: GradeClients) -> Grade:
    return clients.rated(case, grader, observation)


_KINDS: Mapping[type, Callable[[Grader, Case, Observation, GradeClients], Grade]] = {
    ExactMatch: _by_value,
    RegexMatch: _by_text(by_code.regex_match, "expected", "patience"),
    Contains: _by_text(by_code.contains, "expected"),
    MustInclude: _by_text(by_code.must_include),
    JsonSchema: _by_schema,
    StructuralMatch: _by_matcher,
    BaselineMatch: _by_matcher,
    FunctionOutput: _by_function,
    ModelJudge: _by_model,
    HumanRating: _by_people,
}

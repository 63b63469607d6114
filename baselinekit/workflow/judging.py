"""One baseline, replayed and judged; and the report of all of them, without secrets and kept for later."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from baselinekit.documents.jsontext import pretty
from baselinekit.errors import (
    BaselinekitError,
    CannotReplay,
    InvalidInput,
    OutOfBudget,
    Problem,
    Refused,
    cannot,
    fault_of_ours,
)
from baselinekit.frozen import frozen
from baselinekit.kinds.kind import CHECKS, EXECUTION, FAILED, PASSED, SCORES
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.matching.dispatch import Matcher, compile_baseline, is_limit
from baselinekit.model.baselines import UNFIT, Answers, Baseline, Comparison, Difference, SimilarityQuestion
from baselinekit.model.recipes import Ask, Observation, Recipe, Scores
from baselinekit.model.results import VOLATILE, Report, Result, Spot
from baselinekit.model.values import ABSENT, Json
from baselinekit.replaying import dispatch as replaying
from baselinekit.replaying.dispatch import recipe_hash
from baselinekit.replaying.settings import Setting, undefined_in
from baselinekit.report.resultfile import compact
from baselinekit.store.results import drop_pending, keep_results, save_pending
from baselinekit.texts import already_masked, clipped, many, shown
from baselinekit.tree.equality import is_number
from baselinekit.variables import Redactor, Scope, as_text
from baselinekit.workflow.project import CaptureEnvironment, Project, drift_of

if TYPE_CHECKING:  # where all passes, nothing is kept
    from baselinekit.model.changes import Seen

CHECKS_AT = (*EXECUTION, CHECKS)
_JUDGE = "judge"
_MOST_ROUNDS = 50
"""Answers can bring rows together that leave other questions open."""


def check(baseline: Baseline, setting: Setting) -> None:
    """Raise what a replay and its comparison would raise before anybody is asked."""
    replaying.check(baseline.current, setting)
    if baseline.current.checks:
        _check_checks(baseline.current, setting)
    rules = baseline.comparison
    asked = {rules.method, *(rule.method for rule in rules.fields.values())}
    if "judge" in asked:
        setting.clients.models.check(_JUDGE)
    if "embedding" in asked:
        setting.clients.similar([("", "")])  # which only reads the model


def _check_checks(recipe: Recipe, setting: Setting) -> None:
    from baselinekit.grade.checks import problems_of_checks

    problems = [
        *undefined_in(recipe.checks, setting.scope, CHECKS_AT),
        *problems_of_checks(recipe, CHECKS_AT),
    ]
    if problems:
        raise InvalidInput(*problems)


def observe(recipe: Recipe, setting: Setting) -> Observation:
    """The recipe replayed, with `checks` and `quality_scores` in the output where it asks for them."""
    observation = replaying.replay(recipe, setting)
    checks = outcomes_of_checks(recipe, observation, setting) if recipe.checks else {}
    graded = observation if recipe.scores is None else _graded(observation, recipe.scores, setting)
    if not checks:
        return graded
    told: dict[str, Json] = {name: FAILED if why else PASSED for name, why in checks.items()}
    output = {**_parts(observation.output), CHECKS: told}
    output |= {SCORES: graded.output[SCORES]} if recipe.scores is not None else {}
    return replace(graded, output=output, failed_checks={name: why for name, why in checks.items() if why})


def outcomes_of_checks(recipe: Recipe, observation: Observation, setting: Setting) -> dict[str, str]:
    """Why each check of an answer fails; nothing where it passes. One that cannot judge is an error."""
    from baselinekit.grade.checks import checked
    from baselinekit.grade.task import GradeClients

    stated = setting.scope.expand(recipe.checks, CHECKS_AT)
    recipe = replace(recipe, execution=replace(recipe.execution, checks=stated))
    grades = checked(recipe, observation, GradeClients(mask=setting.redactor.mask))
    for grade in grades:
        if grade.outcome == "error":
            raise cannot(grade.code or "BK704", f"{grade.grader}: {grade.reason}", "")
    return {grade.grader: "" if grade.outcome == "passed" else grade.reason for grade in grades}


def _parts(output: Json) -> dict[str, Json]:
    return dict(output) if isinstance(output, dict) else {"text": output}


def _graded(observation: Observation, scores: Scores, setting: Setting) -> Observation:
    from baselinekit.replaying.files import rubric_of

    output = observation.output
    answered = output.get("text", output) if isinstance(output, dict) else output
    text = answered if isinstance(answered, str) else pretty(answered, "  ")
    question, read = _scoring(scores, rubric_of(scores, setting), text)
    answer = setting.clients.models.ask(replace(question, turn=setting.turn, asker=setting.asker))
    environment = {**observation.environment, **({"judge": answer.served} if answer.served else {})}
    return replace(observation, output={**_parts(output), SCORES: read(answer.text)}, environment=environment)


def _scoring(
    scores: Scores, rubric: dict[str, str], text: str
) -> tuple[Ask, Callable[[str], dict[str, Json]]]:
    """What a judge is asked, and how its reply is read."""
    if scores.form == "line":
        from baselinekit.grade.by_line import SCORE, ScoreLine, score_question

        ((name, meaning),) = rubric.items()
        asked = score_question(ScoreLine(meaning, scores.model), text)
        return asked.ask, lambda reply: {name: int(SCORE.read(reply, asked.texts)[0])}
    from baselinekit.grade.judging import read_scores, rubric_question

    return rubric_question(text, rubric, scores), lambda reply: read_scores(reply, text, rubric, scores)


def scores_of(observation: Observation) -> dict[str, int | float]:
    """The grades in an output, by criterion, where there are any."""
    output = observation.output
    given = output.get(SCORES) if isinstance(output, dict) else None
    if not isinstance(given, dict) or not all(map(is_number, given.values())):
        return {}
    return {name: value if isinstance(value, int) else float(value) for name, value in given.items()}


def compare_settled(matcher: Matcher, observation: Observation, setting: Setting) -> Comparison:
    """The comparison without open questions: what it asks is answered, and it is made again."""
    answers: dict[SimilarityQuestion, tuple[float, str]] = {}
    comparison = matcher.compare(observation)
    for _ in range(_MOST_ROUNDS):
        if not comparison.questions:
            return comparison
        answers |= answer(list(comparison.questions), setting)
        comparison = matcher.compare(observation, answers)
    what = "its texts can be paired in too many ways"
    raise cannot("BK231", what, "pair their rows by a key: arrays: {path: {by: id}}")


def answer(questions: list[SimilarityQuestion], setting: Setting) -> Answers:
    """Embeddings answer what is asked of them, a judge the rest."""
    near = [question for question in questions if question.method == "embedding"]
    pairs = [(question.expected, question.actual) for question in near]
    scores = setting.clients.similar(pairs)
    answers = {question: (score, "") for question, score in zip(near, scores, strict=True)}
    left = [question for question in questions if question not in answers]
    return answers | dict(zip(left, ask_judge(left, setting), strict=True))


def ask_judge(questions: list[SimilarityQuestion], setting: Setting) -> list[tuple[float, str]]:
    from baselinekit.grade.judging import meaning_question, read_similarity

    ask = setting.clients.models.ask
    asks = [
        replace(
            meaning_question(question.expected, question.actual, _JUDGE),
            turn=setting.turn,
            asker=setting.asker,
        )
        for question in questions
    ]
    answers = setting.clients.together([partial(ask, one) for one in asks])
    return [
        read_similarity(answer.text, question.expected, question.actual)
        for question, answer in zip(questions, answers, strict=True)
    ]


_VARIABLE = lazy_pattern(r"<<var\(([A-Za-z_][\w.-]*)\)>>")


OUT_OF_BUDGET = "BK620"
_LONGEST_LINE = 300


@frozen
class Tried:
    """What one replay came to, and what goes with it if that is also what the run says: what came (`seen`) is
    kept for a refresh, or nothing is pending any more (`settles`)."""

    result: Result
    seen: "Callable[[], Seen] | None" = None
    settles: bool = False


@frozen
class JudgedBaseline:
    """What a run says of a baseline, and what is to be written for it. `warning`: why what came cannot be
    kept."""

    result: Result
    pending: "Seen | None" = None
    settles: bool = False
    warning: str = ""


@frozen
class Repeating:
    """How often each baseline is replayed, and the share of its replays that has to pass."""

    times: int = 1
    rate: float = 1.0


class BaselineRunner:
    """Judges baselines, from several threads at once."""

    def __init__(
        self, environment: CaptureEnvironment, strict_rules: bool, explain: bool, timestamp: Callable[[], str]
    ):
        self._environment = environment
        self._project = environment.project
        self._clients = environment.clients
        self._strict_rules = strict_rules
        self._explain = explain
        self._timestamp = timestamp

    def judged(self, baseline: Baseline, replay: Callable[[], Tried]) -> JudgedBaseline:
        """What is said of a baseline. What nobody expected is the error of this baseline, with its file: the
        others are judged."""
        try:
            tried = replay()
        except Exception as error:  # without whom it asks: to word that may be what went wrong
            problem = fault_of_ours(error).problems[0]
            reason = self._project.redactor.mask(problem.with_hint)
            return JudgedBaseline(self._result(baseline, outcome="error", reason=reason, code=problem.code))
        if tried.seen is None:
            return JudgedBaseline(tried.result, settles=tried.settles)
        try:
            return JudgedBaseline(tried.result, tried.seen())
        except BaselinekitError as error:
            return JudgedBaseline(tried.result, warning=error.problems[0].message)
        except Exception as error:  # the verdict stands
            return JudgedBaseline(tried.result, warning=str(fault_of_ours(error)))

    def tried(self, baseline: Baseline, matcher: Matcher | None, turn: int = 0) -> Tried:
        """One replay of one baseline, which of several is told by its turn. Nothing is kept yet."""
        if (result := self._without_replay(baseline)) is not None:
            return Tried(result)
        try:
            if matcher is None:
                matcher = compile_baseline(baseline, self._project.words_of(baseline))
            setting = replace(self._project.setting_of(baseline, self._clients), turn=turn)
            observation = observe(baseline.current, setting)
            comparison = compare_settled(matcher, observation, setting)
        except OutOfBudget as error:
            problem = error.problems[0]
            return Tried(
                self._result(baseline, outcome="skipped", reason=problem.with_hint, code=problem.code)
            )
        except BaselinekitError as error:
            return Tried(self._error(baseline, error))
        kinds = (*UNFIT, "aged", "advice", *(("uncompared",) if self._explain else ()))
        facts: dict[str, Any] = {
            "notes": (
                *(report.what for report in comparison.reports if report.kind in kinds),
                *(f"{name}: {why}" for name, why in observation.failed_checks.items()),
                *(() if comparison.passed else self._text_judged(baseline, comparison, observation)),
            ),
            "seconds": observation.seconds,
            "attempts": observation.attempts,
            "usage": observation.usage,
            "scores": scores_of(observation),
        }
        if not comparison.passed:
            result = self._failed(baseline, matcher, comparison, observation, facts)
            return Tried(result, partial(self._seen, baseline, comparison, observation))
        unfit = [report for report in comparison.reports if report.kind in UNFIT]
        if self._strict_rules and unfit:
            hint = "fix the rule, or leave out --strict-rules"
            fault = CannotReplay(Problem("BK226", unfit[0].what, hint, at=unfit[0].at))
            return Tried(self._error(baseline, fault), settles=True)
        return Tried(self._result(baseline, outcome="passed", **facts), settles=True)

    def _text_judged(
        self, baseline: Baseline, comparison: Comparison, observation: Observation
    ) -> Iterator[str]:
        """The text whose checks or scores are compared, where it is another one and is not compared itself:
        whoever approves them has to see it."""
        recipe, known = baseline.current, baseline.baseline
        is_judged = recipe.checks or (recipe.scores and recipe.scores.at_least is not None)
        if not is_judged or any(difference.path[:1] == ("text",) for difference in comparison.differences):
            return
        before = known.output if known else None
        text, stored = (
            one.get("text") if isinstance(one, dict) else None for one in (observation.output, before)
        )
        if isinstance(text, str) and text != stored:
            mask = self._project.redactor.mask
            yield f"its text now: {clipped(' '.join(text.split()), _LONGEST_LINE, mask)}"

    def _without_replay(self, baseline: Baseline) -> Result | None:
        """The result of what needs no replay."""
        if baseline.metadata.skip is not None:
            return self._result(baseline, outcome="skipped", reason=baseline.metadata.skip)
        if own := kind_of(baseline.current).own_command(baseline.current):
            reason = self._project.redactor.mask(f"its test compares it: {shlex.join(own)}")
            target = target_of(baseline.current, self._project)
            return self._result(baseline, outcome="skipped", reason=reason, target=target)
        if baseline.baseline is None:
            capture = f"baselinekit capture from {shlex.quote(baseline.source.file)}"
            reason = f"it has no stored output yet: {capture}"
            return self._result(baseline, outcome="unscored", reason=reason, code="BK223")
        if baseline.baseline.output is ABSENT:
            reason = f"none of its variants fits here ({self._environment.describe_for(baseline)})"
            return self._result(baseline, outcome="unscored", reason=reason, code="BK233")
        return None

    def _failed(
        self,
        baseline: Baseline,
        matcher: Matcher,
        comparison: Comparison,
        observation: Observation,
        facts: Mapping[str, Any],
    ) -> Result:
        from baselinekit.workflow.pending import note_of_natures  # only what failed has any

        redactor = self._project.redactor.knowing(observation.output)
        resolved = redactor.mask_value(comparison.resolved)
        differences = tuple(self._spots(baseline, comparison.differences, redactor))
        # After the values: the lines are masked as these were, by what the redactor has met.
        lines = redactor.mask_lines(matcher.explain(comparison) if self._explain else [])
        if note := note_of_natures(baseline, comparison, self._clients.now()):
            facts = {**facts, "verdict": VOLATILE, "notes": (*facts["notes"], note)}
        return self._result(
            baseline,
            outcome="failed",
            reason=many(comparison.count, "difference"),
            target=target_of(baseline.current, self._project),
            differences=differences,
            difference_count=comparison.count,
            explanation=tuple(clipped(line, _LONGEST_LINE, already_masked) for line in lines),
            environment_drift=drift_of(self._environment, baseline, observation),
            resolved=resolved,
            **facts,
        )

    def _error(self, baseline: Baseline, error: BaselinekitError) -> Result:
        problem = shown(error, self._project.redactor.mask).problems[0]
        return self._result(
            baseline,
            outcome="error",
            reason=problem.with_hint,
            code=problem.code,
            verdict="refused" if isinstance(error, Refused) else None,
            at=problem.at or (),
            target=target_of(baseline.current, self._project),
        )

    def _result(self, baseline: Baseline, **found: object) -> Result:
        return Result(
            id=baseline.id,
            file=baseline.source.file,
            kind=baseline.current.kind,
            name=baseline.name,
            criticality=baseline.metadata.criticality,
            recipe_hash=recipe_hash(baseline.current),
            **{"line": None, **found},  # type: ignore[arg-type]  # the callers above name fields of Result
        )

    def _spots(
        self, baseline: Baseline, differences: tuple[Difference, ...], redactor: Redactor
    ) -> Iterator[Spot]:
        """The differences as they are reported. Their lines are found when nothing is written any more."""
        mask = redactor.mask_value
        scope = self._project.words_of(baseline).scope
        for difference in differences:
            at = (*baseline.output_path, *difference.at)
            if difference.rule and difference.rule.startswith("require_keys"):
                at = difference.at
            elif difference.rule and is_limit(difference):
                at = ("comparison", *difference.rule.split("."))
            yield Spot(
                path=difference.path,
                kind=difference.kind,
                expected=mask(self._with_values(difference, scope), difference.path),
                actual=mask(difference.actual, difference.path),
                file=baseline.source.file,
                line=None,
                rule=difference.rule,
                note=redactor.mask_note(difference.note, difference.expected, difference.actual),
                at=at,
            )

    @staticmethod
    def _with_values(difference: Difference, scope: Scope) -> Json:
        """A text with `<<var(name)>>` in it as it was compared: what a variable stands for is no change."""
        expected = difference.expected
        if not isinstance(expected, str) or not isinstance(difference.actual, str):
            return expected
        return _VARIABLE.sub(
            lambda match: as_text(scope.values[match[1]]) if match[1] in scope.values else match[0], expected
        )

    def _seen(self, baseline: Baseline, comparison: Comparison, observation: Observation) -> "Seen":
        """What came back, for whoever approves exactly what was seen."""
        from baselinekit.workflow.pending import seen_of  # where all passes, nothing is kept

        return seen_of(self._environment, baseline, comparison, observation, self._timestamp())


def keep_seen(root: str, pending: "Seen | None", settled: str, why: str = "") -> str:
    """What came is kept for a refresh, or forgotten of the id that is `settled`; why not, if that cannot be.
    A checkout that cannot be written is no reason to fail."""
    try:
        if pending is not None:
            save_pending(root, pending)
        elif settled:
            drop_pending(root, settled)
    except BaselinekitError as error:
        why = error.problems[0].message
    except Exception as error:
        why = str(fault_of_ours(error))
    return f"the new output could not be kept for a refresh: {why}" if why else ""


def target_of(recipe: Recipe, project: Project) -> str:
    """Whom a recipe asks, in one line, with the address where there is one."""
    kind = kind_of(recipe)
    base_url = kind.base_url(recipe, project.override_base_url, project.base_url)
    asked = kind.target(recipe, partial(_expanded, project), base_url)
    return clipped(_expanded(project, asked), _LONGEST_LINE, already_masked)


def _expanded(project: Project, text: str) -> str:
    """With what the variables stand for, secrets aside."""
    with suppress(InvalidInput):  # a variable of a flow is only known while it runs
        text = as_text(project.scope.expand(text))
    return project.redactor.mask(text)


def mask_report(report: Report, redactor: Redactor) -> Report:
    """Ids and file names stay: by them everything is found. What came back is masked where it is judged."""
    mask = redactor.mask_value
    against, earlier = report.against, report.earlier
    if against is not None:
        revised = [
            replace(one, how=mask(one.how), approved_by=mask(one.approved_by), reason=mask(one.reason))
            for one in against.changes
        ]
        against = replace(against, changes=tuple(revised))
    if earlier is not None:  # it may come from a file of anybody's
        cases = [replace(case, why=mask(case.why)) for case in earlier.cases]
        earlier = replace(earlier, run=mask(earlier.run), cases=tuple(cases))
    return replace(
        report,
        results=tuple(mask_result(result, redactor) for result in report.results),
        command=mask(report.command),
        environment=mask(report.environment),
        warnings=mask(report.warnings),
        not_recorded=mask(report.not_recorded),
        coverage=replace(report.coverage, chosen=mask(report.coverage.chosen)),
        against=against,
        earlier=earlier,
    )


def mask_result(result: Result, redactor: Redactor) -> Result:
    """Of nearly all nothing is to be masked, and to copy them for that would take as long as to look."""
    mask = redactor.mask_value
    changed: dict[str, Any] = {}
    for key in ("name", "reason", "target", "notes", "environment_drift"):
        value = getattr(result, key)
        if value and (masked := mask(value)) is not value:
            changed[key] = masked
    if result.differences:
        changed["differences"] = tuple(
            replace(
                spot,
                path=tuple(mask(key) if isinstance(key, str) else key for key in spot.path),
                rule=mask(spot.rule),
            )
            for spot in result.differences
        )
    return replace(result, **changed) if changed else result


def keep_report(root: str, report: Report) -> bool:
    """Keep the results of a run, without the outputs: those that failed are pending anyway. A run of nothing
    is no history, and a checkout that cannot be written fails nothing."""
    if not report.results:
        return False
    try:
        return keep_results(root, report.started, compact(report))
    except BaselinekitError:
        return False

"""Replay and judge one baseline; mask the report of a run and keep it."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from baselinekit.commands.context import RunContext
from baselinekit.commands.project import CaptureEnvironment, Project, drift_of
from baselinekit.errors import (
    BaselinekitError,
    CannotReplay,
    InvalidInput,
    OutOfBudget,
    Problem,
    Refused,
    cannot_replay,
    internal_error,
)
from baselinekit.files.jsontext import pretty
from baselinekit.kinds import dispatch as replaying
from baselinekit.kinds.dispatch import recipe_hash
from baselinekit.kinds.kind import CHECKS, FAILED, PASSED, SCORES
from baselinekit.kinds.settings import EXECUTION, Setting, undefined_in
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.matching.dispatch import Matcher, compile_baseline, is_limit
from baselinekit.model.baselines import UNFIT, Answers, Baseline, Comparison, Difference, SimilarityQuestion
from baselinekit.model.recipes import ModelQuestion, Observation, Recipe, Request, Scores
from baselinekit.model.results import Report, ReportedDifference, Result
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.report.resultfile import compact
from baselinekit.secrets.variables import MASK, Redactor, Scope, as_text
from baselinekit.store.results import (
    drop_accepted,
    drop_pending,
    is_accepted,
    keep_results,
    load_pending,
    save_pending,
)
from baselinekit.structs import Struct, field, replace
from baselinekit.values.equality import is_number
from baselinekit.values.texts import Mask, count_noun, mask_and_clip, no_mask, shown

if TYPE_CHECKING:  # only needed when something fails
    from baselinekit.model.changes import KeptOutput

Masked = TypeVar("Masked", bound=Struct)
CHECKS_AT = (*EXECUTION, CHECKS)
_JUDGE = "judge"
_MOST_ROUNDS = 50
"""An answer can pair rows anew, which raises new questions."""


def check(baseline: Baseline, setting: Setting) -> None:
    """Raise the errors of a replay and its comparison that can be found without asking anything."""
    replaying.check(baseline.current, setting)
    if baseline.current.checks:
        from baselinekit.graders.checks import problems_of_checks

        recipe = baseline.current
        undefined = undefined_in(recipe.checks, setting.scope, CHECKS_AT)
        if problems := [*undefined, *problems_of_checks(recipe, CHECKS_AT)]:
            raise InvalidInput(*problems)
    rules = baseline.comparison
    methods = {rules.method, *(rule.method for rule in rules.fields.values())}
    if "judge" in methods:
        setting.clients.models.check(_JUDGE)
    if "embedding" in methods:
        setting.clients.similar([("", "")])  # which only loads the model


def observe(recipe: Recipe, setting: Setting) -> Observation:
    """Replay the recipe; its output gets `checks` and `quality_scores` where it asks for them."""
    answer = replaying.replay(recipe, setting)
    checks = outcomes_of_checks(recipe, answer, setting) if recipe.checks else {}
    output, environment = answer.output, answer.environment
    if checks:
        output = {
            **_as_dict(output),
            CHECKS: {name: FAILED if why else PASSED for name, why in checks.items()},
        }
    if recipe.scores is not None:
        scores, served = _ask_scores(answer.output, recipe.scores, setting)
        output = {**_as_dict(output), SCORES: scores}
        environment = {**environment, **({"judge": served} if served else {})}
    failed = {name: why for name, why in checks.items() if why}
    return replace(answer, output=output, environment=environment, failed_checks=failed)


def outcomes_of_checks(recipe: Recipe, observation: Observation, setting: Setting) -> dict[str, str]:
    """Map each check to the reason why it fails, "" where it passes. A check that cannot judge raises."""
    from baselinekit.graders.checks import grade_checks
    from baselinekit.graders.task import GradeClients

    checks = setting.scope.expand(recipe.checks, CHECKS_AT)
    recipe = replace(recipe, execution=replace(recipe.execution, checks=checks))
    grades = grade_checks(recipe, observation, GradeClients(mask=setting.redactor.mask))
    for grade in grades:
        if grade.outcome == "error":
            raise cannot_replay(grade.code or "BK704", f"{grade.grader}: {grade.reason}", "")
    return {grade.grader: "" if grade.outcome == "passed" else grade.reason for grade in grades}


def _as_dict(output: Json) -> dict[str, Json]:
    return dict(output) if isinstance(output, dict) else {"text": output}


def _ask_scores(output: Json, scores: Scores, setting: Setting) -> tuple[dict[str, Json], str | None]:
    """Return the scores of an output, and the model that gave them."""
    from baselinekit.kinds.files import rubric_of

    content = output.get("text", output) if isinstance(output, dict) else output
    text = content if isinstance(content, str) else pretty(content, "  ")
    question, read_reply = _prepare_scoring(scores, rubric_of(scores, setting), text)
    answer = setting.clients.models.ask(replace(question, turn=setting.turn, asker=setting.asker))
    return read_reply(answer.text), answer.served


def _prepare_scoring(
    scores: Scores, rubric: dict[str, str], text: str
) -> tuple[ModelQuestion, Callable[[str], dict[str, Json]]]:
    """Return what a judge is asked, and the function that reads its reply."""
    if scores.form == "line":
        from baselinekit.graders.by_line import SCORE, ScoreLine, score_question

        ((name, meaning),) = rubric.items()
        question = score_question(ScoreLine(meaning, scores.model), text)
        return question.ask, lambda reply: {name: int(SCORE.read(reply, question.texts)[0])}
    from baselinekit.graders.judging import read_scores, rubric_question

    return rubric_question(text, rubric, scores), lambda reply: read_scores(reply, text, rubric, scores)


def scores_of(observation: Observation) -> dict[str, int | float]:
    """Return the scores in an output, by criterion; none where it has none."""
    output = observation.output
    scores = output.get(SCORES) if isinstance(output, dict) else None
    if not isinstance(scores, dict) or not all(map(is_number, scores.values())):
        return {}
    return {name: value if isinstance(value, int) else float(value) for name, value in scores.items()}


def compare_settled(matcher: Matcher, observation: Observation, setting: Setting) -> Comparison:
    """Compare, answer the questions that the comparison leaves open, and compare again until none is left."""
    answers: dict[SimilarityQuestion, tuple[float, str]] = {}
    comparison = matcher.compare(observation)
    for _ in range(_MOST_ROUNDS):
        if not comparison.questions:
            return comparison
        answers |= answer(list(comparison.questions), setting)
        comparison = matcher.compare(observation, answers)
    message = "its texts can be paired in too many ways"
    raise cannot_replay("BK231", message, "pair their rows by a key: arrays: {path: {by: id}}")


def answer(questions: list[SimilarityQuestion], setting: Setting) -> Answers:
    """Answer the questions for embeddings by embeddings, all others by a judge."""
    from baselinekit.graders.judging import meaning_question, read_similarity
    from baselinekit.matching.semantic import differing_words

    pairs = {question: (question.expected, question.actual) for question in questions}
    by_embedding = [question for question in questions if question.method == "embedding"]
    scores = setting.clients.similar([pairs[question] for question in by_embedding])
    answers = {question: (score, "") for question, score in zip(by_embedding, scores, strict=True)}
    remaining = {question: pair for question, pair in pairs.items() if question not in answers}
    requests = [meaning_question(*pair, _JUDGE, differing_words(*pair)) for pair in remaining.values()]
    ask, turn, asker = setting.clients.models.ask, setting.turn, setting.asker
    replies = setting.clients.together(
        [partial(ask, replace(request, turn=turn, asker=asker)) for request in requests]
    )
    for (question, pair), reply in zip(remaining.items(), replies, strict=True):
        answers[question] = read_similarity(reply.text, *pair)
    return answers


_VARIABLE = lazy_pattern(r"<<var\(([A-Za-z_][\w.-]*)\)>>")

OUT_OF_BUDGET = "BK620"
_LONGEST_LINE = 300


class JudgedBaseline(Struct):
    """The result of a baseline, and what is to be written for it: the new output (`pending`) is kept for a
    refresh, or the one that is pending is dropped (`settles`). `warning`: why the new output cannot be
    kept."""

    result: Result
    pending: "KeptOutput | None" = None
    settles: bool = False
    warning: str = ""


class Repeating(Struct):
    """How often each baseline is replayed, and the share of its replays that must pass."""

    times: int = 1
    rate: float = 1.0


class ComparePolicy(Struct):
    """How a compare is run. `record`: always, daily or never; the last three say how each baseline is
    judged."""

    record: str = "always"
    jobs: int = 8
    maxfail: int | None = None
    strict_rules: bool = False
    explain: bool = False
    repeating: Repeating = field(default_factory=Repeating)


class BaselineRunner:
    """Judges baselines; several threads may use it at once."""

    def __init__(self, environment: CaptureEnvironment, policy: ComparePolicy, context: RunContext):
        self._environment = environment
        self._project = environment.project
        self._clients = environment.clients
        self._policy = policy
        self._timestamp = context.clock.timestamp

    def judge(self, baseline: Baseline, replay: Callable[[], JudgedBaseline]) -> JudgedBaseline:
        """Replay and compare a baseline. An unexpected exception becomes the error of this baseline, so that
        the others are still judged."""
        try:
            return replay()
        except Exception as error:  # without its target: describing that may be what failed
            problem = internal_error(error).problems[0]
            reason = self._project.redactor.mask(problem.with_hint)
            return JudgedBaseline(self._result(baseline, outcome="error", reason=reason, code=problem.code))

    def replay_once(self, baseline: Baseline, matcher: Matcher | None, turn: int = 0) -> JudgedBaseline:
        """Replay a baseline once; `turn` says which of several replays this is. Nothing is kept yet."""
        if (result := self._without_replay(baseline)) is not None:
            return JudgedBaseline(result)
        try:
            if matcher is None:
                matcher = compile_baseline(baseline, self._project.words_of(baseline))
            setting = replace(self._project.setting_of(baseline, self._clients), turn=turn)
            observation = observe(baseline.current, setting)
            comparison = compare_settled(matcher, observation, setting)
        except OutOfBudget as error:
            problem = error.problems[0]
            return JudgedBaseline(
                self._result(baseline, outcome="skipped", reason=problem.with_hint, code=problem.code)
            )
        except BaselinekitError as error:
            return JudgedBaseline(self._error_result(baseline, error))
        kinds = (*UNFIT, "aged", "advice", *(("uncompared",) if self._policy.explain else ()))
        facts: dict[str, Any] = {
            "notes": (
                *(report.message for report in comparison.reports if report.kind in kinds),
                *(f"{name}: {reason}" for name, reason in observation.failed_checks.items()),
                *(() if comparison.passed else self._text_judged(baseline, comparison, observation)),
            ),
            "seconds": observation.seconds,
            "attempts": observation.attempts,
            "usage": observation.usage,
            "scores": scores_of(observation),
        }
        if not comparison.passed:
            verdict, note, varied = self._verdict_on_varying(baseline, comparison)
            if verdict:
                facts |= {"verdict": verdict, "notes": (*facts["notes"], note)}
            result = self._failed_result(baseline, matcher, comparison, observation, facts)
            return self._with_pending(result, baseline, comparison, observation, varied)
        unfit = [report for report in comparison.reports if report.kind in UNFIT]
        if self._policy.strict_rules and unfit:
            hint = "fix the rule, or leave out --strict-rules"
            fault = CannotReplay(Problem("BK226", unfit[0].message, hint, at=unfit[0].at))
            return JudgedBaseline(self._error_result(baseline, fault), settles=True)
        return JudgedBaseline(self._result(baseline, outcome="passed", **facts), settles=True)

    def _text_judged(
        self, baseline: Baseline, comparison: Comparison, observation: Observation
    ) -> Iterator[str]:
        """Quote the text whose checks or scores are compared, if it has changed and is not compared itself: a
        person who approves them must see it."""
        recipe, stored = baseline.current, baseline.baseline
        is_judged = recipe.checks or (recipe.scores and recipe.scores.at_least is not None)
        if not is_judged or any(difference.path[:1] == ("text",) for difference in comparison.differences):
            return
        before = stored.output if stored else None
        new_text, old_text = (
            value.get("text") if isinstance(value, dict) else None for value in (observation.output, before)
        )
        if isinstance(new_text, str) and new_text != old_text:
            mask = self._project.redactor.mask
            yield f"its text now: {mask_and_clip(' '.join(new_text.split()), _LONGEST_LINE, mask)}"

    def _without_replay(self, baseline: Baseline) -> Result | None:
        """Return the result of a baseline that needs no replay, None if it needs one."""
        if baseline.metadata.skip is not None:
            return self._result(baseline, outcome="skipped", reason=baseline.metadata.skip)
        if test_command := kind_of(baseline.current).own_command(baseline.current):
            reason = self._project.redactor.mask(f"its test compares it: {shlex.join(test_command)}")
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

    def _verdict_on_varying(
        self, baseline: Baseline, comparison: Comparison
    ) -> tuple[str | None, str, tuple[Path, ...]]:
        from baselinekit.commands.pending import verdict_on_varying  # only needed when something fails

        kept = None
        with suppress(BaselinekitError, OSError):
            kept = load_pending(self._project.root, baseline.id)
        was_accepted = is_accepted(self._project.root, baseline.id)
        return verdict_on_varying(baseline, comparison, self._clients.now(), kept, was_accepted)

    def _failed_result(
        self,
        baseline: Baseline,
        matcher: Matcher,
        comparison: Comparison,
        observation: Observation,
        facts: Mapping[str, Any],
    ) -> Result:
        from baselinekit.commands.pending import expected_hash
        from baselinekit.learning.templating import with_declared_names

        redactor = self._project.redactor.knowing(observation.output)
        resolved = redactor.mask_value(comparison.resolved)
        if resolved is not comparison.resolved:
            scope = self._project.words_of(baseline).scope
            resolved = redactor.mask_value(with_declared_names(comparison.resolved, resolved, scope))
        differences = tuple(self._spots(baseline, comparison.differences, redactor))
        # After the values: the lines are masked by what the redactor has seen in these.
        lines: list[str] = []
        if self._policy.explain:
            lines = describe_exchanges(observation, redactor)
            lines = lines or list(map(redactor.mask_said, matcher.explain(comparison)))
        return self._result(
            baseline,
            outcome="failed",
            reason=count_noun(comparison.count, "difference"),
            target=target_of(baseline.current, self._project),
            differences=differences,
            difference_count=comparison.count,
            explanation=tuple(mask_and_clip(line, _LONGEST_LINE, no_mask) for line in lines),
            environment_drift=drift_of(self._environment, baseline, observation),
            expected_hash=expected_hash(baseline.baseline.output if baseline.baseline else None),
            resolved=resolved,
            **facts,
        )

    def _error_result(self, baseline: Baseline, error: BaselinekitError) -> Result:
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

    def _result(self, baseline: Baseline, **fields: object) -> Result:
        return Result(
            id=baseline.id,
            file=baseline.source.file,
            kind=baseline.current.kind,
            name=baseline.name,
            criticality=baseline.metadata.criticality,
            recipe_hash=recipe_hash(baseline.current),
            **{"line": None, **fields},  # type: ignore[arg-type]  # callers name fields of Result
        )

    def _spots(
        self, baseline: Baseline, differences: tuple[Difference, ...], redactor: Redactor
    ) -> Iterator[ReportedDifference]:
        """Yield the differences as they are reported. Their lines are found after all writing is done."""
        mask = redactor.mask_value
        scope = self._project.words_of(baseline).scope
        for difference in differences:
            at = (*baseline.output_path, *difference.at)
            if difference.rule and difference.rule.startswith("require_keys"):
                at = difference.at
            elif difference.rule and is_limit(difference):
                at = ("comparison", *difference.rule.split("."))
            yield ReportedDifference(
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
        """Return the expected text as it was compared: with the values in place of `<<var(name)>>`."""
        expected = difference.expected
        if not isinstance(expected, str) or not isinstance(difference.actual, str):
            return expected
        return _VARIABLE.sub(
            lambda match: as_text(scope.values[match[1]]) if match[1] in scope.values else match[0], expected
        )

    def _with_pending(
        self,
        result: Result,
        baseline: Baseline,
        comparison: Comparison,
        observation: Observation,
        varied: tuple[Path, ...],
    ) -> JudgedBaseline:
        """Add the new output, so that a refresh can approve exactly this one."""
        from baselinekit.commands.pending import seen_of  # only needed when something fails

        try:
            seen = seen_of(self._environment, baseline, comparison, observation, self._timestamp())
        except BaselinekitError as error:
            return JudgedBaseline(result, warning=error.problems[0].message)
        except Exception as error:  # the verdict stays valid
            return JudgedBaseline(result, warning=str(internal_error(error)))
        return JudgedBaseline(result, replace(seen, varied=varied))


def keep_seen(root: str, pending: "KeptOutput | None", settled: str, reason: str = "") -> str:
    """Keep the new output for a refresh, or drop the kept one of the id that is `settled`. Return a warning
    if that fails: a checkout that cannot be written does not make the run fail."""
    try:
        if pending is not None:
            save_pending(root, pending)
        elif settled:
            drop_pending(root, settled)
        if id := pending.id if pending is not None else settled:
            drop_accepted(root, id)
    except BaselinekitError as error:
        reason = error.problems[0].message
    except Exception as error:
        reason = str(internal_error(error))
    return f"the new output could not be kept for a refresh: {reason}" if reason else ""


def target_of(recipe: Recipe, project: Project) -> str:
    """Describe in one line whom a recipe asks, with the address if there is one."""
    kind = kind_of(recipe)
    base_url = kind.base_url(recipe, project.override_base_url, project.base_url)
    target = kind.target(recipe, partial(_expanded, project), base_url)
    return mask_and_clip(_expanded(project, target), _LONGEST_LINE, no_mask)


def _expanded(project: Project, text: str) -> str:
    """Replace the variables in a text by their values; secrets are masked."""
    with suppress(InvalidInput):  # a variable of a flow is only known while it runs
        text = as_text(project.scope.expand(text))
    return project.redactor.mask(text)


def mask_report(report: Report, redactor: Redactor) -> Report:
    """Mask a report, except ids and file names: everything is found by them. Outputs are masked already."""

    def masked(item: Masked, *names: str, mask: Callable[[Any], Any] = redactor.mask_value) -> Masked:
        return replace(item, **{name: mask(getattr(item, name)) for name in names})

    against, earlier, typed = report.against, report.earlier, report.typed
    if against is not None:
        changes = [masked(item, "how", "approved_by", "reason") for item in against.changes]
        against = replace(against, changes=tuple(changes))
    if earlier is not None:  # it may come from any file
        cases = [masked(case, "why") for case in earlier.cases]
        earlier = replace(masked(earlier, "run"), cases=tuple(cases))
    return replace(
        masked(report, "command", "environment", "warnings", "not_recorded"),
        results=tuple(mask_result(result, redactor) for result in report.results),
        typed=masked(
            *(typed, "operator", "asking", "selection", "paths"),
            mask=lambda words: tuple(map(redactor.mask, words)),
        ),
        coverage=masked(report.coverage, "chosen"),
        against=against,
        earlier=earlier,
    )


def mask_result(result: Result, redactor: Redactor) -> Result:
    """Mask a result."""
    mask = redactor.mask_value
    names = ("name", "reason", "target", "notes", "environment_drift")
    changed: dict[str, Any] = {name: mask(getattr(result, name)) for name in names}
    changed["differences"] = tuple(
        replace(
            spot,
            path=tuple(mask(key) if isinstance(key, str) else key for key in spot.path),
            rule=mask(spot.rule),
        )
        for spot in result.differences
    )
    return replace(result, **changed)


def keep_report(root: str, report: Report) -> bool:
    """Keep the results of a run, without the outputs: those that failed are pending anyway. An empty run is
    not kept, and a checkout that cannot be written does not make the run fail."""
    if not report.results:
        return False
    try:
        return keep_results(root, report.started, compact(report))
    except BaselinekitError:
        return False


_MOST_LINES = 200
_LONGEST_BODY = 2_000
_CREDENTIAL = lazy_pattern(r"(?i).*(authorization|cookie|token|secret|api-?key).*")
_OWN = ("user-agent", "accept-encoding")
"""Headers that curl sends itself."""


def describe_exchanges(observation: Observation, redactor: Redactor) -> list[str]:
    """Return the lines about each request of an observation; none if it has none."""
    lines: list[str] = []
    for request, answer in observation.exchanges:
        lines += [curl_line(request, redactor.mask), *islice(_answer_lines(answer, redactor), _MOST_LINES)]
    return list(map(redactor.mask_said, lines))


def curl_line(request: Request, mask: Mask) -> str:
    """Return the command that sends a request. Credentials are masked, and a long body is cut."""
    words = ["curl", *([] if request.method == "GET" else ["-X", request.method]), request.url]
    for name, value in request.headers:
        if name.lower() not in _OWN:
            words += ["-H", _header(name, value)]
    if request.content:
        text = request.content.decode("utf-8", "replace")
        words += ["--data-raw", mask_and_clip(text, _LONGEST_BODY, mask)]
    return shlex.join(words)


def _header(name: str, value: str) -> str:
    return f"{name}: {MASK if _CREDENTIAL.fullmatch(name) else value}"


def _answer_lines(answer: Json, redactor: Redactor) -> Iterator[str]:
    yield str(answer["status"])
    for name, value in answer["headers"].items():
        yield _header(name, as_text(value))
    body = redactor.mask_value(answer["body"], ("body",))
    yield from (body if isinstance(body, str) else pretty(body, "  ")).splitlines()

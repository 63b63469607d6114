"""Read baselines, check them before the run, replay each and make a result of it. Nothing here writes or
handles a signal, so that it can be in this process, in another one or on another machine."""

import shlex
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from baselinekit.commands.context import TICK, RunContext
from baselinekit.commands.loading import Unready, locate_problems
from baselinekit.commands.project import CaptureEnvironment, Project, drift_of
from baselinekit.commands.selection import Selection, wanted
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
from baselinekit.kinds.kind import CHECKS, FAILED, PASSED, SCORES
from baselinekit.kinds.settings import EXECUTION, Setting, undefined_in
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.matching.dispatch import Matcher, compile_baseline, reported
from baselinekit.model import baselines as model
from baselinekit.model.grades import Outcome
from baselinekit.model.recipes import Observation, Recipe, Scores, Usage
from baselinekit.model.results import UNDECIDED, Repeats, ReportedDifference, Result
from baselinekit.model.values import ABSENT, Json
from baselinekit.placeholders.grammar import describes_many
from baselinekit.secrets.variables import MASK, Redactor, as_text
from baselinekit.store.reading import FileProblems, LoadedFiles, load_partly
from baselinekit.store.records import case_digest
from baselinekit.store.results import is_accepted, load_pending
from baselinekit.structs import Struct, field, replace
from baselinekit.values.equality import bytes_of, canonical, is_number
from baselinekit.values.paths import render
from baselinekit.values.places import value_or_absent
from baselinekit.values.texts import count_noun, mask_and_clip, no_mask, shown

if TYPE_CHECKING:  # only needed when something fails
    from baselinekit.model.changes import KeptOutput

CHECKS_AT = (*EXECUTION, CHECKS)
_JUDGE = "judge"
_LONGEST_LINE = 300
_MOST_ROUNDS = 50
"""An answer can pair rows anew, which raises new questions."""


def check(baseline: model.Baseline, setting: Setting) -> None:
    """Raise the errors of a replay and its comparison that can be found without asking anything."""
    replaying.check(baseline.current, setting)
    if baseline.current.checks:
        from baselinekit.graders.graders import problems_of_checks

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
    checks = _outcomes_of_checks(recipe, answer, setting) if recipe.checks else {}
    output, environment = answer.output, answer.environment
    if checks:
        passed = {name: FAILED if why else PASSED for name, why in checks.items()}
        output = {**_as_dict(output), CHECKS: passed}
    if recipe.scores is not None:
        scores, served = _ask_scores(answer.output, recipe.scores, setting)
        output = {**_as_dict(output), SCORES: scores}
        environment = {**environment, **({"judge": served} if served else {})}
    failed = {name: why for name, why in checks.items() if why}
    return replace(answer, output=output, environment=environment, failed_checks=failed)


def _outcomes_of_checks(recipe: Recipe, observation: Observation, setting: Setting) -> dict[str, str]:
    """Map each check to the reason why it fails, "" where it passes. A check that cannot judge raises."""
    from baselinekit.graders.base import GradeClients
    from baselinekit.graders.graders import grade_checks

    checks = setting.scope.expand(recipe.checks, CHECKS_AT)
    recipe = replace(recipe, execution=replace(recipe.execution, checks=checks))
    outcomes: dict[str, str] = {}
    for grade in grade_checks(recipe, observation, GradeClients(mask=setting.redactor.mask)):
        if grade.outcome == "error":
            raise cannot_replay(grade.code or "BK399", f"{grade.grader}: {grade.reason}", "")
        outcomes[grade.grader] = "" if grade.outcome == "passed" else grade.reason
    return outcomes


def _as_dict(output: Json) -> dict[str, Json]:
    return dict(output) if isinstance(output, dict) else {"text": output}


def _ask_scores(output: Json, scores: Scores, setting: Setting) -> tuple[dict[str, Json], str | None]:
    """Return the scores of an output, and the model that gave them."""
    from baselinekit.kinds.files import rubric_of

    rubric = rubric_of(scores, setting)
    content = output.get("text", output) if isinstance(output, dict) else output
    text = content if isinstance(content, str) else pretty(content, "  ")

    if scores.form == "line":
        from baselinekit.graders.by_line import SCORE, ScoreLine, score_question

        ((name, meaning),) = rubric.items()
        answer = setting.ask(score_question(ScoreLine(meaning, scores.model), text))
        return {name: int(SCORE.read(answer.text, [text])[0])}, answer.served
    from baselinekit.graders.judging import read_scores, rubric_question

    answer = setting.ask(rubric_question(text, rubric, scores))
    return read_scores(answer.text, text, rubric, scores), answer.served


def compare_settled(matcher: Matcher, observation: Observation, setting: Setting) -> model.Comparison:
    """Compare, answer the questions that the comparison leaves open, and compare again until none is left."""
    answers: dict[model.SimilarityQuestion, tuple[float, str]] = {}
    comparison = matcher.compare(observation)
    for _ in range(_MOST_ROUNDS):
        if not comparison.questions:
            return comparison
        answers |= answer(list(comparison.questions), setting)
        comparison = matcher.compare(observation, answers)
    message = "its texts can be paired in too many ways"
    raise cannot_replay("BK231", message, "pair their rows by a key: arrays: {path: {by: id}}")


def answer(questions: list[model.SimilarityQuestion], setting: Setting) -> model.Answers:
    """Answer the questions for embeddings by embeddings, all others by a judge."""
    from baselinekit.graders.judging import meaning_question, read_similarity
    from baselinekit.matching.semantic import differing_words

    pairs = {question: (question.expected, question.actual) for question in questions}
    by_embedding = [question for question in questions if question.method == "embedding"]
    scores = setting.clients.similar([pairs[question] for question in by_embedding])
    answers = {question: (score, "") for question, score in zip(by_embedding, scores, strict=True)}
    remaining = {question: pair for question, pair in pairs.items() if question not in answers}
    requests = [meaning_question(*pair, _JUDGE, differing_words(*pair)) for pair in remaining.values()]
    replies = setting.clients.together([partial(setting.ask, request) for request in requests])
    for (question, pair), reply in zip(remaining.items(), replies, strict=True):
        answers[question] = read_similarity(reply.text, *pair)
    return answers


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


# The baselines of a run: read and checked before it, and held until their turn.


def prepare(environment: CaptureEnvironment, baseline: model.Baseline) -> tuple[model.Baseline, Matcher]:
    """Compile a baseline and check whether its recipe can work; each problem gets its place."""
    try:
        return compile_and_check(environment, baseline)
    except BaselinekitError as error:
        kind = Refused if isinstance(error, Refused) else InvalidInput
        raise kind(*locate_problems(baseline, error.problems, environment.project.root)) from None


def compile_and_check(here: CaptureEnvironment, baseline: model.Baseline) -> tuple[model.Baseline, Matcher]:
    """Return a baseline with its output for this environment, and its matcher."""
    chosen = here.chosen(baseline)
    matcher = compile_baseline(chosen, here.project.words_of(baseline))
    check(baseline, here.project.setting_of(baseline, here.clients))
    return chosen, matcher


_MOST_HELD = 125_000_000
"""Bytes for the baselines that are held until their turn; the files of the others are read again then."""

_BYTES_PER_BASELINE, _BYTES_PER_BYTE = 9_000, 6
"""The bytes that a baseline needs in memory: whatever its size, and for each byte of its output."""

_FILES_READ_AGAIN = 8
"""Files whose baselines are remembered when they are read again, as the next turns are often of the same
file."""

Key = tuple[str, str]


class ReadFiles(FileProblems):
    """The entries of the baselines that could be read, and the baselines that cannot be judged as they are
    written, each with the reason."""

    entries: list[model.Entry] = field(default_factory=list)
    unready: dict[Key, Unready] = field(default_factory=dict)


class JudgedBaseline(Struct):
    """The result of a baseline, and what is to be written for it: the new output (`pending`) is kept for a
    refresh, or the one kept for the baseline `settled_id` is dropped. `warning`: why the new output cannot be
    kept."""

    result: Result
    pending: "KeptOutput | None" = None
    settled_id: str = ""
    warning: str = ""


class ComparePolicy(Struct):
    """How a compare is run. `record`: always, daily or never; the last four say how each baseline is judged:
    also how often it is replayed, and which share of the replays must pass."""

    record: str = "always"
    jobs: int = 8
    maxfail: int | None = None
    strict_rules: bool = False
    explain: bool = False
    times: int = 1
    rate: float = 1.0


class Checker:
    """Reads files and judges the baselines in them; several threads may use it at once. What was read is held
    until its turn if there is room; a worker of another process reads a file at its first baseline."""

    def __init__(self, here: CaptureEnvironment, policy: ComparePolicy, context: RunContext):
        self.environment, self._policy, self._context = here, policy, context
        self._project, self._clients, self._room = here.project, here.clients, _MOST_HELD
        self._ready: dict[Key, tuple[model.Baseline, Matcher | None]] = {}
        self._read_again = lru_cache(_FILES_READ_AGAIN)(
            lambda file: {one.id: one for one in load_partly([file], self._project.root)[0]}
        )
        self._lock = threading.Lock()

    def read(self, files: Sequence[str], selection: Selection) -> ReadFiles:
        """Return the entries of files. Those that are selected are checked, and held if there is room."""
        found, is_wanted = ReadFiles(), wanted(selection)
        for file in files:
            loaded = LoadedFiles(problems=found.problems, refused=found.refused)
            loaded.read(file, self._project.root)
            for baseline in loaded.baselines:
                entry = entry_of(baseline, self._project.claim(baseline.current))
                found.entries.append(entry)
                if not is_wanted(entry):
                    continue
                # an unexpected exception occurs again where the baseline is judged, and is reported there
                with suppress(Exception):
                    try:
                        prepared = self._prepared(baseline)
                        output = baseline.baseline.output if baseline.baseline else None
                        self._room -= _BYTES_PER_BASELINE + _BYTES_PER_BYTE * len(bytes_of(output))
                        if self._room > 0:
                            self._ready[key_of(entry)] = prepared
                    except BaselinekitError as error:
                        found.unready[key_of(entry)] = baseline.source, error
        return found

    def _prepared(self, baseline: model.Baseline) -> tuple[model.Baseline, Matcher | None]:
        """Return the baseline with its matcher; None as matcher if it has no output for this environment."""
        chosen = self.environment.chosen(baseline)
        if chosen.baseline is None or chosen.baseline.output is ABSENT:
            return chosen, None
        return compile_and_check(self.environment, baseline)

    def baselines(self, entries: Sequence[model.Entry]) -> list[model.Baseline]:
        """Return the baselines of these entries, as they are in their files."""
        return [baseline for entry in entries if (baseline := self._again(entry)) is not None]

    def _again(self, entry: model.Entry) -> model.Baseline | None:
        with self._lock:
            return self._read_again(entry.source.file).get(entry.id)

    def judge(self, entry: model.Entry) -> JudgedBaseline:
        """Replay and compare a baseline as often as the policy wants. What prevents that, expected or not, is
        the error of this baseline, and the others are still judged."""
        try:
            if (prepared := self._ready.pop(key_of(entry), None)) is None:
                if (baseline := self._again(entry)) is None:
                    message = f"{entry.source.file} was changed while the run was under way: {entry.id}"
                    raise cannot_replay("BK111", f"{message} cannot be read there now", "compare again")
                prepared = self._prepared(baseline)
            chosen, matcher = prepared
            if (result := self._without_replay(chosen)) is not None:
                return JudgedBaseline(result)
            assert matcher is not None  # as it has an output
            replay = partial(self._replay, chosen, matcher)
            if self._policy.times == 1:
                return replay(0)
            stop, sleep = self._context.stop, self._context.clients.sleep
            return replay_repeatedly(replay, self._policy.times, self._policy.rate, stop.is_set, sleep)
        except Exception as error:
            problem = internal_error(error).problems[0]
            reason = self._project.redactor.mask(problem.with_hint)
            result = unjudged_result(entry, "error", reason, code=problem.code)
            return JudgedBaseline(replace(result, name=entry.name, at=problem.at or ()))

    def _replay(self, baseline: model.Baseline, matcher: Matcher, turn: int) -> JudgedBaseline:
        """Replay a baseline once; `turn` is the number of this replay. Nothing is kept yet."""
        try:
            setting = replace(self._project.setting_of(baseline, self._clients), turn=turn)
            observation = observe(baseline.current, setting)
            comparison = compare_settled(matcher, observation, setting)
        except OutOfBudget as error:
            problem = error.problems[0]
            return JudgedBaseline(self._result(baseline, "skipped", problem.with_hint, problem.code))
        except BaselinekitError as error:
            return JudgedBaseline(self._error_result(baseline, error))
        unfit = [report for report in comparison.reports if report.kind in model.UNFIT]
        if comparison.passed and self._policy.strict_rules and unfit:
            hint = "fix the rule, or leave out --strict-rules"
            fault = CannotReplay(Problem("BK226", unfit[0].message, hint, at=unfit[0].at))
            return JudgedBaseline(self._error_result(baseline, fault), settled_id=baseline.id)
        kinds = (*model.UNFIT, "aged", "advice", *(("uncompared",) if self._policy.explain else ()))
        result = replace(
            self._result(baseline, "passed"),
            notes=(
                *(report.message for report in comparison.reports if report.kind in kinds),
                *(f"{name}: {reason}" for name, reason in observation.failed_checks.items()),
            ),
            seconds=observation.seconds,
            attempts=observation.attempts,
            usage=observation.usage,
            scores=scores_of(observation),
        )
        if comparison.passed:
            return JudgedBaseline(result, settled_id=baseline.id)
        # It differs: the new output is kept, so that a refresh can approve exactly this one.
        from baselinekit.commands.pending import expected_hash, kept_output_of, verdict_on_varying

        root, kept, seen, warning = self._project.root, None, None, ""
        with suppress(BaselinekitError, OSError):
            kept = load_pending(root, baseline.id)
        now, was_accepted = self._clients.now(), is_accepted(root, baseline.id)
        verdict, note = verdict_on_varying(baseline, comparison, now, kept, was_accepted)
        try:
            time = self._context.timestamp()
            seen = kept_output_of(self.environment, baseline, comparison, observation, time)
        except Exception as error:  # the verdict stays valid
            warning = internal_error(error).problems[0].message
        redactor = self._project.redactor.knowing(observation.output)
        resolved = redactor.mask_value(seen.resolved) if seen else ABSENT
        values = self._project.words_of(baseline).scope.values
        file, at = baseline.source.file, baseline.output_path
        differences = tuple(reported(comparison.differences, file, at, redactor, values))
        # After the values: the lines are masked by what the redactor has seen in these.
        lines: list[str] = []
        if self._policy.explain:
            from baselinekit.matching.explain import explain

            lines = [*describe_exchanges(observation, redactor)]
            lines = lines or explain(matcher.known.output, comparison)
        new_text = self._text_judged(baseline.current, observation)
        result = replace(
            result,
            outcome="failed",
            reason=count_noun(comparison.count, "difference"),
            verdict=verdict,
            notes=(*result.notes, *new_text, *([note] if verdict else ())),
            target=target_of(baseline.current, self._project),
            differences=differences,
            difference_count=comparison.count,
            explanation=tuple(mask_and_clip(line, _LONGEST_LINE, redactor.mask_said) for line in lines),
            environment_drift=drift_of(self.environment, baseline, observation),
            expected_hash=expected_hash(matcher.known.output),
            resolved=resolved,
        )
        return JudgedBaseline(result, seen, warning=warning)

    def _without_replay(self, baseline: model.Baseline) -> Result | None:
        """Return the result of a baseline that needs no replay, None if it needs one."""
        if baseline.metadata.skip is not None:
            return self._result(baseline, "skipped", baseline.metadata.skip)
        if test_command := kind_of(baseline.current).own_command(baseline.current):
            reason = self._project.redactor.mask(f"its test compares it: {shlex.join(test_command)}")
            target = target_of(baseline.current, self._project)
            return replace(self._result(baseline, "skipped", reason), target=target)
        if baseline.baseline is None:
            capture = f"baselinekit capture {shlex.quote(baseline.source.file)}"
            return self._result(baseline, "unscored", f"it has no stored output yet: {capture}", "BK223")
        if baseline.baseline.output is ABSENT:
            return self._result(baseline, "unscored", "none of its variants fits here", "BK233")
        return None

    def _text_judged(self, recipe: Recipe, observation: Observation) -> Iterator[str]:
        """Quote the text whose checks or scores are compared: a person who approves them must see it."""
        text = value_or_absent(observation.output, ("text",))
        if (recipe.checks or recipe.scores) and isinstance(text, str):
            mask = self._project.redactor.mask
            yield f"its text now: {mask_and_clip(' '.join(text.split()), _LONGEST_LINE, mask)}"

    def _error_result(self, baseline: model.Baseline, error: BaselinekitError) -> Result:
        problem = shown(error, self._project.redactor.mask).problems[0]
        return replace(
            self._result(baseline, "error", problem.with_hint, problem.code),
            verdict="refused" if isinstance(error, Refused) else None,
            at=problem.at or (),
            target=target_of(baseline.current, self._project),
        )

    def _result(
        self, baseline: model.Baseline, outcome: Outcome, reason: str = "", code: str | None = None
    ) -> Result:
        recipe = baseline.current
        return Result(
            id=baseline.id,
            file=baseline.source.file,
            line=None,
            kind=recipe.kind,
            outcome=outcome,
            reason=reason,
            code=code,
            name=baseline.name,
            criticality=baseline.metadata.criticality,
            recipe_hash=replaying.recipe_hash(recipe),
        )


def scores_of(observation: Observation) -> dict[str, int | float]:
    """Return the scores in an output, by criterion; none where it has none."""
    scores = value_or_absent(observation.output, (SCORES,))
    if not isinstance(scores, dict) or not all(map(is_number, scores.values())):
        return {}
    return {name: value if isinstance(value, int) else float(value) for name, value in scores.items()}


def unjudged_result(
    entry: model.Entry, outcome: Outcome, reason: str, code: str | None = None, verdict: str | None = None
) -> Result:
    """Return the result of a baseline that was not judged."""
    return Result(entry.id, entry.source.file, None, entry.kind, outcome, reason, code, verdict)


def key_of(entry: model.Entry) -> Key:
    return entry.source.file, entry.id


def entry_of(baseline: model.Baseline, claim: str | None) -> model.Entry:
    source, stored = baseline.source, baseline.baseline
    beside = [one.output for _, one in (stored.versions if stored else ()) if one.output_file]
    outputs = [output for output in beside if output is not ABSENT]
    content = replaying.digest([case_digest(source.digest), *outputs])
    kind = baseline.current.kind
    return model.Entry(baseline.id, baseline.name, tuple(baseline.tags), source, kind, claim, content)


_MOST_LINES = 200
_LONGEST_BODY = 2_000
_CREDENTIAL = lazy_pattern(r"(?i).*(authorization|cookie|token|secret|api-?key).*")
_OWN = ("user-agent", "accept-encoding")
"""Headers that curl sends itself."""


def describe_exchanges(observation: Observation, redactor: Redactor) -> Iterator[str]:
    """Yield each request of an observation as a command, and its answer. Credentials are masked, and what is
    long is cut."""

    def header(name: str, value: str) -> str:
        return f"{name}: {MASK if _CREDENTIAL.fullmatch(name) else value}"

    for _, request, answer in observation.exchanges:
        words = ["curl", *([] if request.method == "GET" else ["-X", request.method]), request.url]
        for name, value in request.headers:
            if name.lower() not in _OWN:
                words += ["-H", header(name, value)]
        if request.content:
            text = request.content.decode("utf-8", "replace")
            words += ["--data-raw", mask_and_clip(text, _LONGEST_BODY, redactor.mask)]
        yield shlex.join(words)
        headers = [header(name, as_text(value)) for name, value in answer["headers"].items()]
        body = redactor.mask_value(answer["body"], ("body",))
        lines = (body if isinstance(body, str) else pretty(body, "  ")).splitlines()
        yield from [str(answer["status"]), *headers, *lines][:_MOST_LINES]


# The outcome is whether enough replays passed. The verdict explains why not: `regression` (they fail, always
# in the same way), `flaky` (they pass and fail), `noise` (they differ from each other where they differ
# from the file) or `insufficient data` (so few failures can be a flake).


_SOUND_RATE = 0.8
"""A baseline that passes this often is at worst a flake, if no rate is required."""

_SIGNIFICANCE = 0.05
_LEARN = "refresh --learn stores placeholders for what varies"


def combine(results: Sequence[Result], rate: float = 1.0) -> Result:
    """Combine the results of several replays into one."""
    passed = [result for result in results if result.outcome == "passed"]
    failed = [result for result in results if result.outcome == "failed"]
    errors = [result for result in results if result.outcome == "error"]
    not_replayed = [result for result in results if result.outcome in ("skipped", "unscored")]
    if not failed:
        if not_replayed:
            return not_replayed[0]
        verdict = None if not errors else "flaky" if passed else errors[0].verdict
        return _with_totals((errors or passed)[0], results, verdict)
    answered = len(passed) + len(failed)
    spots = list(_merged_differences(failed, answered))
    if passed and not errors and len(passed) >= rate * answered:
        further = f" and {len(spots) - 1} more" if len(spots) > 1 else ""
        where = f"{render(spots[0].path)} differs {spots[0].note}{further}" if spots else failed[0].reason
        note = f"flaky: {len(passed)} of {answered} replays passed; {where}"
        total = _with_totals(passed[0], results, "flaky")
        return replace(total, notes=(*total.notes, note))
    verdict = _verdict(failed, len(passed), rate)
    total = _with_totals(failed[0], results, verdict)
    if verdict == "noise":  # values that are new each time are shown once
        seen = {(spot.path, spot.kind) for spot in failed[0].differences}
        spots = [spot for spot in spots if (spot.path, spot.kind) in seen]
    notes = (*total.notes, *((_LEARN,) if verdict == "noise" else ()))
    count = max(len(spots), failed[0].difference_count)
    resolved = ABSENT if verdict in UNDECIDED else total.resolved
    return replace(total, differences=tuple(spots), difference_count=count, notes=notes, resolved=resolved)


def _verdict(failed: Sequence[Result], passes: int, rate: float) -> str:
    """Decide by an exact test whether a sound baseline would pass so seldom. One that both passed and failed
    is flaky for certain, unless a rate allows failures."""
    from baselinekit.metrics import chance_of_at_most  # a single replay needs no statistics

    answered = len(failed) + passes
    is_rare = chance_of_at_most(passes, answered, rate if rate < 1 else _SOUND_RATE) <= _SIGNIFICANCE
    if passes and rate == 1:
        return "flaky"
    common = set.intersection(*({_difference_key(spot) for spot in result.differences} for result in failed))
    if not passes and not common:
        varying = all(may_vary(spot) for result in failed for spot in result.differences)
        return "noise" if varying else "flaky"
    return "regression" if is_rare else "insufficient data"


def _difference_key(spot: ReportedDifference) -> object:
    """Identify a difference: for a literal, by the new value as well. Any other (a missing key, another type,
    a tolerance or a placeholder that was not met) counts as the same, whatever its value."""
    value = () if spot.actual is ABSENT else canonical(spot.actual)
    return (spot.path, spot.kind, value if may_vary(spot) else None)


def may_vary(spot: ReportedDifference) -> bool:
    """Whether the file has one literal value here: a scalar, or a row at its place."""
    literal = not describes_many(spot.expected)
    is_row = bool(spot.path) and isinstance(spot.path[-1], int)
    return literal and (spot.kind in ("value", "order") or (is_row and spot.kind != "type"))


def _merged_differences(failed: Sequence[Result], answered: int) -> Iterator[ReportedDifference]:
    """Yield each place once, with how often it differed."""
    spots_by_place: dict[object, list[ReportedDifference]] = {}
    for result in failed:
        for spot in result.differences:
            spots_by_place.setdefault((spot.path, spot.kind), []).append(spot)
    for spots in spots_by_place.values():
        frequency = f"in {len(spots)} of {answered} replays"
        note = spots[0].note
        yield replace(spots[0], note=f"{note}; {frequency}" if note else frequency)


def _with_totals(base: Result, results: Sequence[Result], verdict: str | None) -> Result:
    """Return one of the results, with the totals of all."""
    ran = [result for result in results if result.outcome not in ("skipped", "unscored")]
    outcomes = [result.outcome for result in ran]
    return replace(
        base,
        verdict=verdict,
        repeats=Repeats(len(ran), outcomes.count("passed"), outcomes.count("error")),
        attempts=sum(result.attempts for result in ran),
        seconds=sum(result.seconds for result in ran) / len(ran),
        usage=sum((result.usage for result in ran), Usage()),
    )


# One baseline replayed several times -> one result.


def replay_repeatedly(
    attempt: Callable[[int], JudgedBaseline],
    times: int,
    rate: float,
    is_stopped: Callable[[], bool],
    sleep: Callable[[float], None],
) -> JudgedBaseline:
    """Replay several times, one after the other, each with its turn: parallel replays would disturb each
    other. Stop when another replay would change nothing; if something differs, wait for a tick of the clock
    before the next one. A run that is stopped does not use the result."""
    replays: list[JudgedBaseline] = []
    for turn in range(times):
        replays.append(attempt(turn))
        last = replays[-1].result
        if last.outcome in ("skipped", "unscored") or last.verdict == "refused" or is_stopped():
            break
        if turn == 0 and last.differences:
            sleep(TICK)
    result = combine([replay.result for replay in replays], rate)
    same_outcome = [replay for replay in replays if replay.result.outcome == result.outcome]
    is_settled = same_outcome and not (result.outcome == "failed" and result.verdict in UNDECIDED)
    return replace(same_outcome[0], result=result) if is_settled else JudgedBaseline(result)

"""Reads baselines, checks them before the run, and judges them. It writes nothing and handles no signal, so
that it can be in this process, in another one or on another machine."""

import shlex
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from itertools import islice

from baselinekit.commands.context import RunContext
from baselinekit.commands.judging import ComparePolicy, JudgedBaseline, compare_settled, observe, target_of
from baselinekit.commands.loading import Prepared, Unfit, compile_and_check
from baselinekit.commands.project import CaptureEnvironment, drift_of
from baselinekit.commands.selection import Test
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
from baselinekit.kinds.dispatch import recipe_hash
from baselinekit.kinds.kind import SCORES
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.matching.dispatch import Matcher, compile_baseline, is_limit
from baselinekit.model.baselines import UNFIT, Baseline, Comparison, Difference, Entry, Known, Variant
from baselinekit.model.grades import Outcome
from baselinekit.model.recipes import Observation, Request
from baselinekit.model.results import ReportedDifference, Result
from baselinekit.model.values import ABSENT, Json
from baselinekit.secrets.variables import MASK, Redactor, as_text
from baselinekit.store.reading import LoadedFiles
from baselinekit.store.records import case_digest, digest as digest_of
from baselinekit.store.results import is_accepted, load_pending
from baselinekit.structs import MutableStruct, field, replace
from baselinekit.values.equality import is_number
from baselinekit.values.texts import Mask, count_noun, mask_and_clip, no_mask, shown

MOST_HELD = 125_000_000
"""Bytes for the baselines that are held until their turn; the files of the others are read again then."""

_BYTES_PER_BASELINE, _BYTES_PER_FILE_BYTE = 9_000, 4
"""The bytes that a baseline needs in memory: whatever its size, and for each byte of its files."""

_FILES_READ_AGAIN = 8
"""Files whose baselines are remembered when they are read again, as the next turns are often of the same
file."""

_VARIABLE = lazy_pattern(r"<<var\(([A-Za-z_][\w.-]*)\)>>")
_LONGEST_LINE = 300

Key = tuple[str, str]


class ReadFiles(MutableStruct):
    """The entries of the baselines that could be read, the problems of those that could not, and the
    baselines that cannot be judged as they are written, each with the reason."""

    entries: list[Entry] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    refused: list[Problem] = field(default_factory=list)
    unfit: dict[Key, Unfit] = field(default_factory=dict)

    def add(self, other: "ReadFiles") -> None:
        self.entries += other.entries
        self.problems += other.problems
        self.refused += other.refused
        self.unfit |= other.unfit

    @property
    def error(self) -> BaselinekitError | None:
        if self.problems:
            return InvalidInput(*self.problems, *self.refused)
        return Refused(*self.refused) if self.refused else None


class Checker:
    """Reads files and judges the baselines in them; several threads may use it at once. Baselines are held
    from their reading until their turn, as many as there is room for."""

    def __init__(
        self,
        environment: CaptureEnvironment,
        policy: ComparePolicy,
        context: RunContext,
        room: int = MOST_HELD,
    ):
        self.environment, self._policy, self._context = environment, policy, context
        self._project, self._clients = environment.project, environment.clients
        self._room = room
        self._ready: dict[Key, Prepared] = {}
        self._read_again = lru_cache(_FILES_READ_AGAIN)(self._baselines_in)
        self._lock = threading.Lock()

    def read(self, files: Sequence[str], wanted: Test) -> ReadFiles:
        """Return the entries of files. Those that are wanted are checked, and held if there is room."""
        found = ReadFiles()
        for file in files:
            loaded = LoadedFiles()
            loaded.read(file, self._project.root)
            found.problems += loaded.problems
            found.refused += loaded.refused
            for baseline, size in zip(loaded.baselines, loaded.sizes, strict=True):
                entry = entry_of(baseline, size, self._project.claim(baseline.current))
                found.entries.append(entry)
                if not wanted(entry):
                    continue
                try:
                    prepared = compile_and_check(self.environment, baseline)
                except BaselinekitError as error:
                    found.unfit[key_of(entry)] = baseline.source, error
                    continue
                needed = _BYTES_PER_BASELINE + _BYTES_PER_FILE_BYTE * size
                if needed <= self._room:
                    self._room -= needed
                    self._ready[key_of(entry)] = prepared
        return found

    def baselines(self, entries: Sequence[Entry]) -> list[Baseline]:
        """Return the baselines of these entries, as they are in their files."""
        return [baseline for entry in entries if (baseline := self._again(entry)) is not None]

    def _again(self, entry: Entry) -> Baseline | None:
        with self._lock:
            return self._read_again(entry.source.file).get(entry.id)

    def _baselines_in(self, file: str) -> dict[str, Baseline]:
        loaded = LoadedFiles()
        loaded.read(file, self._project.root)
        return {baseline.id: baseline for baseline in loaded.baselines}

    def judge(self, entry: Entry) -> JudgedBaseline:
        """Replay and compare a baseline, once its turn has come."""
        try:
            if (prepared := self._ready.pop(key_of(entry), None)) is None:
                if (baseline := self._again(entry)) is None:
                    message = (
                        f"{entry.source.file} was changed while the run was under way: {entry.id} cannot"
                    )
                    raise cannot_replay("BK115", f"{message} cannot be read there now", "compare again")
                prepared = compile_and_check(self.environment, baseline)
        except BaselinekitError as error:
            problem = error.problems[0]
            result = unjudged_result(entry, "error", problem.with_hint, code=problem.code)
            return JudgedBaseline(replace(result, name=entry.name, at=problem.at or ()))
        return self.judge_prepared(*prepared)

    def judge_prepared(self, baseline: Baseline, matcher: Matcher | None) -> JudgedBaseline:
        """Replay and compare a baseline as often as the policy says. An unexpected exception becomes the
        error of this baseline, so that the others are still judged."""
        try:
            if self._policy.repeating.times == 1:
                return self._replay(baseline, matcher)
            from baselinekit.commands.verdicts import replay_repeatedly  # a single replay needs neither

            replay = partial(self._replay, baseline, matcher)
            stop, sleep = self._context.stop, self._context.clients.sleep
            return replay_repeatedly(replay, self._policy.repeating, stop.is_set, sleep)
        except Exception as error:  # without its target: describing that may be what failed
            problem = internal_error(error).problems[0]
            reason = self._project.redactor.mask(problem.with_hint)
            return JudgedBaseline(self._result(baseline, "error", reason, problem.code))

    def _replay(self, baseline: Baseline, matcher: Matcher | None, turn: int = 0) -> JudgedBaseline:
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
            return JudgedBaseline(self._result(baseline, "skipped", problem.with_hint, problem.code))
        except BaselinekitError as error:
            return JudgedBaseline(self._error_result(baseline, error))
        unfit = [report for report in comparison.reports if report.kind in UNFIT]
        if comparison.passed and self._policy.strict_rules and unfit:
            hint = "fix the rule, or leave out --strict-rules"
            fault = CannotReplay(Problem("BK226", unfit[0].message, hint, at=unfit[0].at))
            return JudgedBaseline(self._error_result(baseline, fault), settles=True)
        kinds = (*UNFIT, "aged", "advice", *(("uncompared",) if self._policy.explain else ()))
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
            return JudgedBaseline(result, settles=True)
        return self._failed(result, baseline, matcher, comparison, observation)

    def _without_replay(self, baseline: Baseline) -> Result | None:
        """Return the result of a baseline that needs no replay, None if it needs one."""
        if baseline.metadata.skip is not None:
            return self._result(baseline, "skipped", baseline.metadata.skip)
        if test_command := kind_of(baseline.current).own_command(baseline.current):
            reason = self._project.redactor.mask(f"its test compares it: {shlex.join(test_command)}")
            target = target_of(baseline.current, self._project)
            return replace(self._result(baseline, "skipped", reason), target=target)
        if baseline.baseline is None:
            capture = f"baselinekit capture from {shlex.quote(baseline.source.file)}"
            return self._result(baseline, "unscored", f"it has no stored output yet: {capture}", "BK223")
        if baseline.baseline.output is ABSENT:
            reason = f"none of its variants fits here ({self.environment.describe_for(baseline)})"
            return self._result(baseline, "unscored", reason, "BK233")
        return None

    def _failed(
        self,
        result: Result,
        baseline: Baseline,
        matcher: Matcher,
        comparison: Comparison,
        observation: Observation,
    ) -> JudgedBaseline:
        """Return the result of a baseline that differs, with the new output, so that a refresh can approve
        exactly this one."""
        from baselinekit.commands.pending import expected_hash, seen_of, verdict_on_varying  # needed only now
        from baselinekit.learning.templating import with_declared_names

        root, kept = self._project.root, None
        with suppress(BaselinekitError, OSError):
            kept = load_pending(root, baseline.id)
        verdict, note, varied = verdict_on_varying(
            baseline, comparison, self._clients.now(), kept, is_accepted(root, baseline.id)
        )
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
            from baselinekit.matching.explain import explain

            lines = lines or list(map(redactor.mask_said, explain(matcher.known.output, comparison)))
        new_text = self._text_judged(baseline, comparison, observation)
        result = replace(
            result,
            outcome="failed",
            reason=count_noun(comparison.count, "difference"),
            verdict=verdict,
            notes=(*result.notes, *new_text, *([note] if verdict else ())),
            target=target_of(baseline.current, self._project),
            differences=differences,
            difference_count=comparison.count,
            explanation=tuple(mask_and_clip(line, _LONGEST_LINE, no_mask) for line in lines),
            environment_drift=drift_of(self.environment, baseline, observation),
            expected_hash=expected_hash(baseline.baseline.output if baseline.baseline else None),
            resolved=resolved,
        )
        try:
            now = self._context.clock.timestamp()
            seen = seen_of(self.environment, baseline, comparison, observation, now)
        except BaselinekitError as error:
            return JudgedBaseline(result, warning=error.problems[0].message)
        except Exception as error:  # the verdict stays valid
            return JudgedBaseline(result, warning=str(internal_error(error)))
        return JudgedBaseline(result, replace(seen, varied=varied))

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

    def _error_result(self, baseline: Baseline, error: BaselinekitError) -> Result:
        problem = shown(error, self._project.redactor.mask).problems[0]
        return replace(
            self._result(baseline, "error", problem.with_hint, problem.code),
            verdict="refused" if isinstance(error, Refused) else None,
            at=problem.at or (),
            target=target_of(baseline.current, self._project),
        )

    def _result(
        self, baseline: Baseline, outcome: Outcome, reason: str = "", code: str | None = None
    ) -> Result:
        return Result(
            id=baseline.id,
            file=baseline.source.file,
            line=None,
            kind=baseline.current.kind,
            outcome=outcome,
            reason=reason,
            code=code,
            name=baseline.name,
            criticality=baseline.metadata.criticality,
            recipe_hash=recipe_hash(baseline.current),
        )

    def _spots(
        self, baseline: Baseline, differences: tuple[Difference, ...], redactor: Redactor
    ) -> Iterator[ReportedDifference]:
        """Yield the differences as they are reported. Their lines are found after all writing is done."""
        values = self._project.words_of(baseline).scope.values
        for difference in differences:
            at = (*baseline.output_path, *difference.at)
            if difference.rule and difference.rule.startswith("require_keys"):
                at = difference.at
            elif difference.rule and is_limit(difference):
                at = ("comparison", *difference.rule.split("."))
            expected = difference.expected
            if isinstance(expected, str) and isinstance(difference.actual, str):  # as it was compared
                expected = _VARIABLE.sub(
                    lambda match: as_text(values[match[1]]) if match[1] in values else match[0], expected
                )
            yield ReportedDifference(
                path=difference.path,
                kind=difference.kind,
                expected=redactor.mask_value(expected, difference.path),
                actual=redactor.mask_value(difference.actual, difference.path),
                file=baseline.source.file,
                line=None,
                rule=difference.rule,
                note=redactor.mask_note(difference.note, difference.expected, difference.actual),
                at=at,
            )


def scores_of(observation: Observation) -> dict[str, int | float]:
    """Return the scores in an output, by criterion; none where it has none."""
    output = observation.output
    scores = output.get(SCORES) if isinstance(output, dict) else None
    if not isinstance(scores, dict) or not all(map(is_number, scores.values())):
        return {}
    return {name: value if isinstance(value, int) else float(value) for name, value in scores.items()}


def unjudged_result(
    entry: Entry, outcome: Outcome, reason: str, code: str | None = None, verdict: str | None = None
) -> Result:
    """Return the result of a baseline of which only the entry is known."""
    return Result(entry.id, entry.source.file, None, entry.kind, outcome, reason, code, verdict)


def key_of(entry: Entry) -> Key:
    return entry.source.file, entry.id


def entry_of(baseline: Baseline, size: int, claim: str | None) -> Entry:
    source, stored = baseline.source, baseline.baseline
    content = case_digest(source.digest)
    versions: list[Known | Variant] = [stored, *stored.variants] if stored is not None else []
    if beside := [version.output for version in versions if version.output_file]:
        content = digest_of({"case": content, "outputs": [one for one in beside if one is not ABSENT]})
    kind = baseline.current.kind
    return Entry(baseline.id, baseline.name, tuple(baseline.tags), source, kind, claim, content, size)


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

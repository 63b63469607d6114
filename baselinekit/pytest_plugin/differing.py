"""Handles a value that differs from its file: an update of the file, or a failure that shows what differs and
where, facts about the capture, and the commands to accept it. Imported with the first such value."""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import pytest

import baselinekit
from baselinekit.clients.programs.git import Git
from baselinekit.commands.judging import keep_seen
from baselinekit.commands.loading import with_lines
from baselinekit.commands.pending import seen_of
from baselinekit.commands.project import CaptureEnvironment
from baselinekit.commands.refresh import Permit, apply, plan_of, reason_against, with_output
from baselinekit.errors import BaselinekitError, InvalidInput, Problem
from baselinekit.escape import one_line
from baselinekit.learning.lesson import since_capture
from baselinekit.model.baselines import Baseline, Comparison
from baselinekit.model.changes import Approval, ApprovalNote, KeptOutput
from baselinekit.model.recipes import Observation
from baselinekit.model.results import ReportedDifference, Result
from baselinekit.model.values import Json, parse_time
from baselinekit.placeholders.narrowest import narrowest
from baselinekit.placeholders.nature import nature_of_change
from baselinekit.pytest_plugin.files import Compared, OpenProject, ValuePlace
from baselinekit.pytest_plugin.registry import terminal_of
from baselinekit.report.next_commands import command_line
from baselinekit.report.terminal import difference_lines
from baselinekit.report.values import short
from baselinekit.report.wording import Style, format_lines
from baselinekit.store.reading import load
from baselinekit.structs import MutableStruct, Struct, replace
from baselinekit.values.equality import same_json
from baselinekit.values.paths import of_any_row, render
from baselinekit.values.texts import count_noun

_INDENT = 4
"""The width of what pytest puts before each line."""


# An update: the same as a refresh of the file.


class Update(Struct):
    """A change of a file, to be written once its test has passed. `after`: the baseline that the file will
    hold; `notes`: what is reported of it then."""

    after: Baseline
    approval: Approval
    notes: tuple[str, ...] = ()


def build_seen(project: OpenProject, compared: Compared) -> KeptOutput:
    """Return what a refresh would approve. It includes the placeholders of the test: they are not in the file
    yet, and approving it later does not run the test."""
    known = project.environment_now(compared.stored)
    here = CaptureEnvironment(project.project, project.environment.clients, known)
    comparison = replace(
        compared.comparison, resolved=compared.code.with_placeholders(compared.comparison.resolved)
    )
    seen = seen_of(here, compared.stored, comparison, compared.observation, project.now())
    unmet = compared.code.describe_unmet(compared.layered.judged, comparison.differences)
    return replace(seen, unsettled=(*seen.unsettled, *unmet))


def store_seen(project: OpenProject, seen: KeptOutput) -> None:
    """Store what was seen, so that `refresh` and `review` can use it without another run."""
    keep_seen(project.root, seen, "")


def plan_update(project: OpenProject, stored: Baseline, seen: KeptOutput) -> Update:
    """Return the update that accepts every change, however large: it can be reviewed in git. InvalidInput
    where it would drop a placeholder that does not accept the new value."""
    plan = plan_of(project.project, stored, replace(seen, compared_with=None))
    accepted = frozenset(change.number for change in plan.changes)
    problem = reason_against(plan, accepted, Permit(high_risk=True))
    if problem is not None:
        lost_path = next((lost.path for change in plan.changes for lost in change.lost), ())
        (place,) = project.places(stored, [lost_path])
        if problem.code == "BK533":
            hint = f"edit the file, or {command_line('refresh', stored.id, '--drop-placeholders')}"
            problem = replace(problem, hint=hint)
        raise InvalidInput(problem.placed(place))
    return Update(with_output(project.project, plan, accepted), Approval(plan, accepted))


def write_updates(project: OpenProject, updates: Sequence[Update]) -> None:
    """Write all updates at once; waiting for the disk is left to the end of the run."""
    applied = apply(project.project, [update.approval for update in updates], ApprovalNote(), sync=False)
    project.unsynced |= dict.fromkeys(file.file for file in applied.files)
    if applied.failures and not all(_is_written(project, update.after) for update in updates):
        raise InvalidInput(*applied.failures)


def _is_written(project: OpenProject, after: Baseline) -> bool:
    """Whether the file already holds the update: another run may have written the same meanwhile."""
    with suppress(BaselinekitError):
        (written,) = (
            baseline for baseline in load([after.source.file], project.root) if baseline.id == after.id
        )
        if written.baseline is not None and after.baseline is not None:
            return same_json(written.baseline.output, after.baseline.output)
    return False


# A failure, as pytest shows it.


class Failure(MutableStruct):
    """`headline`: what pytest shows as the comparison that failed; `lines`: what belongs below it."""

    headline: str
    lines: Sequence[str]
    is_shown: bool = False

    @property
    def text(self) -> str:
        return "\n".join((self.headline, *self.lines))

    def complete(self, message: str) -> str:
        """Return the message of the failed assertion with all lines of this failure."""
        self.is_shown = True
        return "\n".join((message or self.headline, *(f"  {line}".rstrip() for line in self.lines)))


class FailureReport:
    """Builds the failures of one value of a test."""

    def __init__(self, project: OpenProject, place: ValuePlace, item: pytest.Item, config: pytest.Config):
        self._project = project
        self._place = place
        self._item = item
        self._config = config

    def failure_for(
        self,
        stored: Baseline,
        comparison: Comparison,
        observation: Observation,
        instructions: Sequence[str] = (),
    ) -> Failure:
        """Return the failure of a value that differs from its file. `instructions`: shown instead of
        commands."""
        result = self._build_result(stored, comparison, observation)
        width, verbosity = terminal_of(self._config)
        style = Style(width=width - _INDENT, verbose=verbosity > 1)
        text = format_lines(difference_lines(result, style))
        path = shown_path(self._place, self._config)
        headline = f"value == {path} ({count_noun(comparison.count, 'difference')})"
        lines = [*text.splitlines(), ""]
        if instructions:
            return Failure(headline, [*lines, *instructions])
        varying = self._varying(stored, comparison)
        lines += self._describe_capture(stored)
        if varying:
            lines += ["ids and times vary by nature; with placeholders they do not fail:"]
            lines += [*(f"  {line}" for line in _in_code(varying)), ""]
        if sum(len(values) - 1 for values in varying.values()) < comparison.count:
            lines += self._accept_commands()  # else the next run has others again
        return Failure(headline, lines)

    def note_of_update(self, stored: Baseline, comparison: Comparison) -> Iterator[str]:
        """Yield a note for an updated file with values that will differ again in the next run."""
        if varying := self._varying(stored, comparison):
            yield f"ids and times vary by nature, and the next run fails without {_in_code(varying)[-1]}"

    def _varying(self, stored: Baseline, comparison: Comparison) -> dict[str, list[Json]]:
        """Return the values that would differ again in another run, by their path in all rows: the stored
        value of the first row, and the actual value of each. Masked values are left out, as is any pattern of
        them."""
        known_good, span = stored.baseline, since_capture(stored, self._project.seconds())
        mask = self._project.project.redactor.mask_value
        varying: dict[str, list[Json]] = {}
        for difference in comparison.differences:
            is_leaf = difference.kind == "value" and not isinstance(difference.actual, dict | list)
            if (
                known_good is None
                or not is_leaf
                or mask(difference.actual, difference.path) != difference.actual
            ):
                continue
            if nature_of_change(difference.at, difference.expected, difference.actual, span):
                varying.setdefault(render(of_any_row(difference.path)), [difference.expected]).append(
                    difference.actual
                )
        return varying

    def _accept_commands(self) -> list[str]:
        update = f"{test_command(self._item, self._config)} --baseline-update=changed"
        return ["to accept it:", f"  {update}", f"  {command_line('review', self._place.id)}"]

    def _describe_capture(self, stored: Baseline) -> Iterator[str]:
        """Yield when the baseline was captured, and what has changed in the environment since."""
        known_good = stored.baseline
        captured = parse_time(known_good.captured_at) if known_good else None
        if known_good is None or captured is None:
            return
        days = int((self._project.seconds() - captured.timestamp()) // 86_400)
        ago = f", {count_noun(days, 'day')} ago" if days > 0 else ""
        commits = self._describe_commits(stored.source.file)
        yield f"captured {one_line(str(known_good.captured_at))}{ago}{commits}"
        for name, (before, now) in self._project.drift(stored).items():
            yield f"  {one_line(name)}: {short(before)} -> {short(now)}"
        yield ""

    def _describe_commits(self, file: str) -> str:
        """Return the commit of the file and the number of commits since, or "" where git does not say."""
        if not self._project.take_git_question():
            return ""
        git = Git(self._project.environment.clients.execute, self._project.root)
        with suppress(BaselinekitError, ValueError):
            commit = git.ask("log", "-1", "--format=%h", "--", file).decode().strip()
            number = int(git.ask("rev-list", "--count", f"{commit}..HEAD")) if commit else 0
            if commit:
                ago = f", {count_noun(number, 'commit')} ago" if number else ""
                return f"; committed in {commit}{ago}"
        return ""

    def _build_result(self, stored: Baseline, comparison: Comparison, observation: Observation) -> Result:
        redactor = self._project.project.redactor.knowing(observation.output)
        mask = redactor.mask_value
        spots = []
        for difference in comparison.differences:
            is_required = difference.rule is not None and difference.rule.startswith("require_keys")
            spots.append(
                ReportedDifference(
                    difference.path,
                    difference.kind,
                    mask(difference.expected, difference.path),
                    mask(difference.actual, difference.path),
                    stored.source.file,
                    None,
                    difference.rule,
                    redactor.mask_note(difference.note, difference.expected, difference.actual),
                    difference.at if is_required else (*stored.output_path, *difference.at),
                )
            )
        result = Result(
            stored.id,
            stored.source.file,
            None,
            stored.current.kind,
            "failed",
            differences=tuple(spots),
            difference_count=comparison.count,
        )
        (located,) = with_lines([result], [stored.source], self._project.root)
        return self._with_relative_paths(located or result)

    def _with_relative_paths(self, result: Result) -> Result:
        """Return the result with paths relative to where pytest was started."""
        spots = [
            replace(spot, file=path_from_start(os.path.join(self._place.root, spot.file), self._config))
            for spot in result.differences
        ]
        return replace(result, differences=tuple(spots))


def _in_code(varying: Mapping[str, Sequence[Json]]) -> list[str]:
    """Return the code by which a test lets values of this kind vary, with the import that it needs."""
    texts = {path: _in_python(narrowest(values)[0].text) for path, values in varying.items()}
    heads = (text.partition("(") for text in texts.values() if not text.startswith('"'))
    names = sorted({name for name, _, _ in heads})
    imports = [f"from baselinekit import {', '.join(names)}"] if names else []
    pairs = ", ".join(f'"{path}": {text}' for path, text in texts.items())
    return [*imports, f"baseline(placeholders={{{pairs}}})"]


def _in_python(text: str) -> str:
    """Return a placeholder as Python code."""
    written = text.removeprefix("<<").removesuffix(">>")
    name, _, arguments = written.partition("(")
    is_plain = name in baselinekit.__all__ and set(arguments) <= set("0123456789, )")
    return written if is_plain else f'"{text}"'


def missing_failure(place: ValuePlace, item: pytest.Item, config: pytest.Config) -> Failure:
    """Return the failure of a baseline that is missing in CI, where none is written."""
    problem = Problem("BK560", "there is no such baseline, and in CI none is written")
    command = f"{test_command(item, config)} --baseline-update=new"
    lines = [
        "",
        str(problem),
        "",
        "to write it at a desk, where you look at it and commit it:",
        f"  {command}",
    ]
    return Failure(f"value == {shown_path(place, config)} (missing)", lines)


def second_value_lines(earlier: str, place: ValuePlace) -> list[str]:
    """Return the lines for a second value for a file that was written in this very run."""
    if earlier in ("this test", place.test):
        message = "this test has compared another value with it before, which is to be written"
        return [str(Problem("BK561", message)), "to keep both, give each a name:", '  baseline("name")']
    return [str(Problem("BK561", f"it was written in this run, by {earlier}"))]


def path_from_start(path: str, config: pytest.Config) -> str:
    """Return a path relative to where pytest was started."""
    return os.path.relpath(path, os.path.realpath(config.invocation_params.dir))


def shown_path(place: ValuePlace, config: pytest.Config) -> str:
    return path_from_start(place.path, config)


def test_command(item: pytest.Item, config: pytest.Config) -> str:
    """Return the command that runs this one test."""
    file = path_from_start(os.path.realpath(item.path), config)
    rest = item.nodeid.partition("::")[2]
    test_id = shlex.quote(f"{file}::{rest}" if rest else file)
    is_in_module = isinstance(item, pytest.DoctestItem) and item.path.suffix == ".py"
    return one_line(f"pytest {'--doctest-modules ' if is_in_module else ''}{test_id}")

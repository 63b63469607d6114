"""Handles a value that differs from its file: an update of the file, or a failure that shows what differs and
where, facts about the capture, and the commands to accept it. Imported with the first such value."""

import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence

import pytest

from baselinekit.commands.loading import with_lines
from baselinekit.commands.pending import kept_output_of
from baselinekit.commands.project import CaptureEnvironment
from baselinekit.commands.refresh import Permit, apply, plan_of, reason_against, with_output
from baselinekit.errors import InvalidInput, Problem
from baselinekit.escape import one_line
from baselinekit.learning.lesson import since_capture
from baselinekit.library.verdicts import result_of
from baselinekit.model.changes import Approval, ApprovalNote, KeptOutput
from baselinekit.model.values import Json, parse_time
from baselinekit.placeholders.narrowest import narrowest
from baselinekit.placeholders.nature import nature_of_change
from baselinekit.pytest_plugin.files import Compared, PlannedWrite, ValuePlace
from baselinekit.pytest_plugin.session import terminal_of
from baselinekit.report.next_commands import command_line
from baselinekit.report.terminal import difference_lines
from baselinekit.report.wording import Style, format_lines
from baselinekit.store.reading import locate_all
from baselinekit.structs import MutableStruct, replace
from baselinekit.values.paths import of_any_row, render
from baselinekit.values.texts import count_noun

_INDENT = 4
"""The width of what pytest puts before each line."""


# An update: the same as a refresh of the file.


def build_seen(compared: Compared) -> KeptOutput:
    """Return what a refresh would approve. It includes the placeholders of the test: they are not in the file
    yet, and approving it later does not run the test."""
    project, stored, code = compared.place.project, compared.stored, compared.code
    here = CaptureEnvironment(project.project, project.environment.clients, {})  # a value has none
    resolved, _ = code.with_placeholders(compared.comparison.resolved)
    comparison = replace(compared.comparison, resolved=resolved)
    seen = kept_output_of(here, stored, comparison, compared.observation, project.now())
    unmet = code.describe_unmet(compared.layered.judged, comparison.differences)
    return replace(seen, unsettled=(*seen.unsettled, *unmet))


def plan_update(compared: Compared) -> PlannedWrite:
    """Plan the update that accepts every change, however large: it can be reviewed in git. InvalidInput where
    it would drop a placeholder that does not accept the new value."""
    project = compared.place.project
    stored = replace(compared.stored, comparison=compared.layered.rules)
    plan = plan_of(project.project, stored, replace(build_seen(compared), compared_with=None))
    accepted = frozenset(change.number for change in plan.changes)
    problem = reason_against(plan, accepted, Permit(high_risk=True))
    if problem is not None:
        lost_path = next((lost.path for change in plan.changes for lost in change.lost), ())
        (place,) = locate_all(stored.source, [(*stored.output_path, *lost_path)], project.root)
        if problem.code == "BK533":
            hint = f"edit the file, or {command_line('refresh', stored.id, '--drop-placeholders')}"
            problem = replace(problem, hint=hint)
        raise InvalidInput(problem.placed(place))

    def write() -> None:
        applied = apply(project.project, [Approval(plan, accepted)], ApprovalNote(), sync=False)
        project.unsynced |= {written.file for written in applied.files}
        if applied.failures:
            raise InvalidInput(*applied.failures)

    varying = _varying(compared)
    note = f"ids and times vary by nature, and the next run fails without {_in_code(varying)}"
    after = with_output(project.project, plan, accepted)
    return PlannedWrite(after, "updated", write, (note,) if varying else ())


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


def failure_of(place: ValuePlace, what: str, lines: Sequence[str]) -> Failure:
    file = from_start(place.item.config, os.path.join(place.project.root, place.file))
    return Failure(f"value == {file} ({what})", lines)


def missing_failure(place: ValuePlace) -> Failure:
    """Return the failure of a baseline that is missing in CI, where none is written."""
    problem = Problem("BK560", "there is no such baseline, and in CI none is written")
    command = f"  {test_command(place.item)} --baseline-update=new"
    advice = "to write it at a desk, where you look at it and commit it:"
    return failure_of(place, "missing", ["", str(problem), "", advice, command])


def second_value_failure(compared: Compared, earlier: str) -> Failure:
    """Return the failure of a second value for a file that is written in this very run. `earlier`: the test
    of the first."""
    problem = Problem("BK561", f"it was written in this run, by {earlier}", "give each value a name")
    count = count_noun(compared.comparison.count, "difference")
    lines = [*_shown(compared), str(problem), '  baseline("name")']
    return failure_of(compared.place, count, lines)


def difference_failure(compared: Compared) -> Failure:
    """Return the failure of a value that differs from its file."""
    place, count, varying = compared.place, compared.comparison.count, _varying(compared)
    lines = [*_shown(compared), *_describe_capture(compared)]
    if varying:
        lines += ["ids and times vary by nature; with placeholders they do not fail:"]
        lines += [f"  {_in_code(varying)}", ""]
    if sum(len(values) - 1 for values in varying.values()) < count:  # else the next run has others again
        update = f"  {test_command(place.item)} --baseline-update=changed"
        lines += ["to accept it:", update, f"  {command_line('review', place.id)}"]
    return failure_of(place, count_noun(count, "difference"), lines)


def _shown(compared: Compared) -> list[str]:
    """Return the differences as a terminal shows them, with paths relative to where pytest was started."""
    place, config = compared.place, compared.place.item.config
    project = place.project
    redactor = project.project.redactor.knowing(compared.observation.output)
    result = result_of(compared.stored, compared.comparison, redactor)
    (result,) = with_lines([result], [compared.stored.source], project.root)
    spots = [
        replace(spot, file=from_start(config, os.path.join(project.root, spot.file)))
        for spot in result.differences
    ]
    width, verbosity = terminal_of(config)
    style = Style(width=width - _INDENT, verbose=verbosity > 1)
    text = format_lines(difference_lines(replace(result, differences=tuple(spots)), style))
    return [*text.splitlines(), ""]


def _varying(compared: Compared) -> dict[str, list[Json]]:
    """Return the values that would differ again in another run, by their path in all rows: the stored value
    of the first row, and the actual value of each. Masked values are left out, as is any pattern of them."""
    project, stored = compared.place.project, compared.stored
    span = since_capture(stored, project.seconds())
    mask = project.project.redactor.mask_value
    varying: dict[str, list[Json]] = {}
    for one in compared.comparison.differences:
        if one.kind != "value" or mask(one.actual, one.path) != one.actual:
            continue
        sides = one.at, one.expected, one.actual
        if not isinstance(one.actual, dict | list) and nature_of_change(*sides, span):
            varying.setdefault(render(of_any_row(one.path)), [one.expected]).append(one.actual)
    return varying


def _describe_capture(compared: Compared) -> Iterator[str]:
    """Yield when the baseline was captured."""
    project, stored = compared.place.project, compared.stored
    text = stored.baseline.captured_at if stored.baseline else None
    captured = parse_time(text) if text else None
    if captured is None:
        return
    days = int((project.seconds() - captured.timestamp()) // 86_400)
    ago = f", {count_noun(days, 'day')} ago" if days > 0 else ""
    yield from (f"captured {one_line(str(text))}{ago}", "")


def _in_code(varying: Mapping[str, Sequence[Json]]) -> str:
    """Return the code by which a test lets values of this kind vary."""
    texts = {path: narrowest(values)[0].text for path, values in varying.items()}
    return f"baseline(placeholders={json.dumps(texts, ensure_ascii=False)})"


def from_start(config: pytest.Config, path: str) -> str:
    """Return a path relative to where pytest was started."""
    return os.path.relpath(path, os.path.realpath(config.invocation_params.dir))


def test_command(item: pytest.Item) -> str:
    """Return the command that runs this one test."""
    _, colons, name = item.nodeid.partition("::")
    test_id = shlex.quote(f"{from_start(item.config, os.path.realpath(item.path))}{colons}{name}")
    is_in_module = isinstance(item, pytest.DoctestItem) and item.path.suffix == ".py"
    return one_line(f"pytest {'--doctest-modules ' if is_in_module else ''}{test_id}")

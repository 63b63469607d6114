"""The fixture `baseline`: the known-good value in a file, which is compared with a value of the
test by `==`. New and updated files are written when their test has passed."""

import json
import os
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, Literal

import pytest

from baselinekit.cli.clients import timestamps
from baselinekit.cli.entry import Now, clock
from baselinekit.commands.capture import describe_hidden, hide_secrets
from baselinekit.commands.loading import with_lines
from baselinekit.commands.pending import kept_output_of
from baselinekit.commands.project import CaptureEnvironment, Operator, Project, open_project
from baselinekit.commands.recording import keep_seen
from baselinekit.commands.refresh import Permit, apply, plan_of, reason_against, with_output
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.escape import one_line
from baselinekit.kinds.pytest import file_of, id_of, new_record
from baselinekit.kinds.settings import Clients
from baselinekit.learning.lesson import since_capture
from baselinekit.learning.templating import OutputTemplater, arrays_to_order, single_element_arrays
from baselinekit.library.values import NoJsonError, as_json
from baselinekit.library.verdicts import Rules, compare_without_model, read_rules, result_of
from baselinekit.matching.dispatch import compile_baseline
from baselinekit.model import baselines as model
from baselinekit.model.baselines import Baseline, Comparison
from baselinekit.model.changes import Approval, ApprovalNote, KeptOutput
from baselinekit.model.recipes import Observation
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.grammar import has_marker
from baselinekit.placeholders.narrowest import narrowest
from baselinekit.placeholders.nature import nature_of_change
from baselinekit.pytest_plugin.session import BaselineWarning, Use, Used, terminal_of
from baselinekit.report.blocks import terminal_lines
from baselinekit.report.differences import difference_blocks
from baselinekit.report.next_commands import command_line
from baselinekit.report.wording import Style, format_lines
from baselinekit.store import atomic, reading, writing
from baselinekit.store.project import nearest_config, project_root
from baselinekit.store.reading import locate_all, parse_record
from baselinekit.store.results import drop_pending
from baselinekit.structs import MutableStruct, Struct, plain, replace
from baselinekit.values.equality import same_json
from baselinekit.values.paths import find, of_any_row, parse, render, suggest_path
from baselinekit.values.places import with_values
from baselinekit.values.texts import count_noun

# The rules in the code of a test, combined with those of its file, which take precedence.


class LayeredRules(Struct):
    """The baseline of a file with the rules of a test added. `judged`: the baseline to compare with; `rules`:
    the rules of both, as they would be in the file; `clashes`: where the file contradicts the test;
    `is_complete`: whether the file has all placeholders of the test."""

    judged: Baseline
    rules: model.Rules
    clashes: list[str]
    is_complete: bool


class CodeRules:
    """The rules of a call `baseline(…)`."""

    def __init__(self, rules: Rules):
        self._placeholders = {text: str(placeholder) for text, placeholder in rules.placeholders.items()}
        self._rules = read_rules(rules, "baseline")

    def layered_over(self, baseline: Baseline, actual: Json) -> LayeredRules:
        """Return the baseline with these rules and placeholders added."""
        rules, clashes = self.with_rules_of_file(baseline.comparison)
        known_good = baseline.baseline
        assert known_good is not None
        self.refuse_lost(known_good.output, actual)
        clashes += [
            (f"placeholders: {text}", item, placeholder)
            for text, _, item, placeholder in self.places_in(known_good.output)
            if has_marker(item)
        ]
        output = self.with_placeholders(known_good.output)
        ordered = arrays_to_order(rules, single_element_arrays(known_good.output), output)
        judged = replace(
            baseline,
            baseline=replace(known_good, output=output),
            comparison=replace(rules, arrays={**rules.arrays, **ordered}),
        )
        described = [
            f"{key} is {plain(theirs)} in the file, which counts, and {plain(ours)} in the test"
            for key, theirs, ours in clashes
            if theirs != ours
        ]
        return LayeredRules(judged, rules, described, output is known_good.output)

    def with_rules_of_file(self, stored: model.Rules) -> tuple[model.Rules, list[tuple[str, Any, Any]]]:
        """Return the rules of a file combined with these, and the rules that both have, with both values:
        there the file counts."""
        changed: dict[str, Any] = {}
        clashes: list[tuple[str, Any, Any]] = []
        for name in model.Rules.__struct_fields__:
            theirs, ours = getattr(stored, name), getattr(self._rules, name)
            if not ours:
                continue
            if isinstance(ours, dict):
                changed[name] = {**ours, **theirs}
                common = sorted(ours.keys() & theirs.keys())
                clashes += [(f"{name}: {path}", theirs[path], ours[path]) for path in common]
            elif isinstance(ours, list):
                changed[name] = [*theirs, *(text for text in ours if text not in theirs)]
            elif theirs is None:
                changed[name] = ours
            else:
                clashes.append((name, theirs, ours))
        return replace(stored, **changed), clashes

    def places_in(self, value: Json) -> Iterator[tuple[str, Path, Json, str]]:
        """Yield for each place of a placeholder the path of its rule, its own path, what is there, and the
        placeholder."""
        for text, placeholder in self._placeholders.items():
            yield from ((text, path, item, placeholder) for path, item in find(parse(text), value))

    def with_placeholders(self, value: Json) -> Json:
        """Return a value with these placeholders in it, except where it has others."""
        found = self.places_in(value)
        return with_values(value, {path: text for _, path, item, text in found if not has_marker(item)})

    def refuse_lost(self, *values: Json) -> None:
        """Refuse a path without `*` that matches nothing in any of the values; with `*` that is allowed."""
        for text in self._placeholders:
            pattern = parse(text)
            if "*" not in text and not any(find(pattern, value) for value in values):
                message = f"baseline(placeholders): {text} leads nowhere in the value"
                raise InvalidInput(Problem("BK204", message, suggest_path(pattern, values[0])))


# The projects of a run, and the files that its tests have written.


class Projects:
    """The projects of a run, each opened once: mostly one, but tests of several folders may belong to several
    projects, by the same rule as for the command line."""

    def __init__(self, rootdir: str):
        self._rootdir = os.path.realpath(rootdir)
        self._opened: dict[str, OpenProject] = {}

    def of(self, folder: str) -> "OpenProject":
        """Return the project of a folder with tests, whose root is the folder of the nearest configuration,
        else the root of the git checkout, else pytest's rootdir."""
        folder = os.path.realpath(folder)
        config = nearest_config(folder)
        root = project_root(config, folder)
        if not config and not os.path.exists(os.path.join(root, ".git")):
            root = self._rootdir
        if root not in self._opened:
            now = clock()
            operator = Operator(cwd=root, environ=os.environ, now=now(), work=time.thread_time)
            self._opened[root] = OpenProject(open_project(operator), now)
        return self._opened[root]


class OpenProject:
    """A project, and the files that tests have written in it."""

    def __init__(self, project: Project, now: Now):
        self.project = project
        self.root = project.root
        self.folder = project.folders[0].rstrip("/")
        self.seconds = now
        self.now = timestamps(now)
        self.written: dict[str, str] = {}
        """The new files of this run, each with its test."""

    @cached_property
    def environment(self) -> CaptureEnvironment:
        from baselinekit.clients.programs.process import Processes

        clients = Clients(_refuse_request, Processes().execute, time.sleep, now=self.seconds)
        return CaptureEnvironment(self.project, clients)

    def load(self, file: str, id: str) -> Baseline | None:
        """Return the baseline that a file holds; None where there is no file."""
        if not os.path.lexists(os.path.join(self.root, file)):
            return None
        baselines = reading.load([file], self.root)
        return self.environment.chosen(next((one for one in baselines if one.id == id), baselines[0]))

    def compare(self, baseline: Baseline, observation: Observation) -> Comparison:
        words = replace(self.project.words_of(baseline), now=self.seconds())
        return compare_without_model(compile_baseline(baseline, words), observation)

    def write_new(self, record: dict[str, Json], file: str, test: str) -> None:
        """Write a new file, which must not exist."""
        schema = atomic.reference(self.root, os.path.dirname(file))
        try:
            writing.write_file(record, file, self.root, self.project.config.inline_limit, schema)
        except InvalidInput:
            problem = Problem("BK113", "another process has written it meanwhile", "run again", Place(file))
            raise InvalidInput(problem) from None
        self.written[file] = test


def _refuse_request(*args: Any, **options: Any) -> Any:
    raise NotImplementedError("a test's value is compared without a request")


# One value: its place, what it is compared with, and what is written.


class PlannedWrite(Struct):
    """A file to be written once its test has passed. `after`: the baseline that it will hold; `notes`: what
    is reported of it then."""

    after: Baseline
    use: Use
    write: Callable[[], None]
    notes: tuple[str, ...] = ()


class ValuePlace(Struct):
    """Where the baseline of a value is stored. `test`: the node id, with the file relative to the project's
    root."""

    project: OpenProject
    file: str
    id: str
    test: str
    name: str | None
    item: pytest.Item

    def plan_new(self, existing: Baseline | None, output: Json, code: CodeRules) -> PlannedWrite:
        """Plan the baseline of a value that has none, with declared values by their names, and a placeholder
        for whatever looks like a secret. `existing`: what the file holds if it has rules, and no value."""
        project = self.project.project
        code.refuse_lost(output)
        templating = OutputTemplater(project.scope)
        placeholders = {path: placeholder for _, path, _, placeholder in code.places_in(output)}
        stored = with_values(templating.template(output), placeholders)
        stored, hidden = hide_secrets(stored, project.redactor, hide=True, allow=False)
        rules = existing.comparison if existing is not None else model.Rules()
        known = single_element_arrays(output)
        ordered = arrays_to_order(code.with_rules_of_file(rules)[0], known, stored)
        new_rules = {"arrays": ordered} if ordered else {}
        record = new_record(self.id, self.test, self.name, stored, self.project.now(), new_rules)
        after = parse_record(record)
        write = partial(self.project.write_new, record, self.file, self.test)
        if existing is not None:
            limit, new = project.config.inline_limit, record["baseline"]
            write = partial(writing.add_baseline, existing, new, project.root, limit, [*ordered])
            rules = replace(rules, arrays={**rules.arrays, **ordered})
            after = replace(existing, baseline=after.baseline, comparison=rules)
        return PlannedWrite(after, "written", write, (*templating.notes(), *describe_hidden(hidden)))


class Compared(Struct):
    """A value of a test, the baseline it was compared with, and the comparison."""

    place: ValuePlace
    stored: Baseline
    code: CodeRules
    layered: LayeredRules
    comparison: Comparison
    observation: Observation

    def as_seen(self) -> KeptOutput:
        """Return what a refresh would approve. It includes the placeholders of the test: they are not in the
        file yet, and approving it later does not run the test. Where such a placeholder does not accept the
        value, no update of the file can help."""
        project, code = self.place.project, self.code
        here = CaptureEnvironment(project.project, project.environment.clients, {})  # a value has none
        resolved = code.with_placeholders(self.comparison.resolved)
        comparison = replace(self.comparison, resolved=resolved)
        seen = kept_output_of(here, self.stored, comparison, self.observation, project.now())
        known_good = self.layered.judged.baseline
        places = code.places_in(known_good.output if known_good else None)
        stored_at = {path: text for _, path, value, text in places if value == text}
        unmet = (
            f"{render(spot.path) or 'the value'}: {stored_at[spot.at]} of the test does not accept what came"
            for spot in comparison.differences
            if spot.at in stored_at
        )
        return replace(seen, unsettled=(*seen.unsettled, *unmet))

    def plan_update(self) -> PlannedWrite:
        """Plan the update that accepts every change, however large: it can be reviewed in git. InvalidInput
        where it would drop a placeholder that does not accept the new value."""
        project = self.place.project
        stored = replace(self.stored, comparison=self.layered.rules)
        plan = plan_of(project.project, stored, replace(self.as_seen(), compared_with=None))
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
            applied = apply(project.project, [Approval(plan, accepted)], ApprovalNote())
            if applied.failures:
                raise InvalidInput(*applied.failures)

        return PlannedWrite(with_output(project.project, plan, accepted), "updated", write)

    def varying(self) -> dict[str, list[Json]]:
        """Return the values that would differ again in another run, by their path in all rows: the stored
        value of the first row, and the actual value of each. Masked values are left out, as is any pattern of
        them."""
        project = self.place.project
        span, mask = since_capture(self.stored, project.seconds()), project.project.redactor.mask_value
        varying: dict[str, list[Json]] = {}
        for spot in self.comparison.differences:
            if spot.kind != "value" or isinstance(spot.actual, dict | list):
                continue
            is_shown = mask(spot.actual, spot.path) == spot.actual
            if is_shown and nature_of_change(spot.at, spot.expected, spot.actual, span):
                varying.setdefault(render(of_any_row(spot.path)), [spot.expected]).append(spot.actual)
        return varying

    def difference_lines(self) -> list[str]:
        """Return the differences as a terminal shows them."""
        project = self.place.project
        redactor = project.project.redactor.knowing(self.observation.output)
        result = result_of(self.stored, self.comparison, redactor)
        (result,) = with_lines([result], [self.stored.source], project.root)
        width, verbosity = terminal_of(self.place.item.config)
        style = Style(width=width - _INDENT, verbose=verbosity > 1)
        blocks = difference_blocks(result, fold=not style.verbose)
        text = format_lines(terminal_lines(blocks, style))
        return [*text.splitlines(), ""]

    def failure_lines(self) -> list[str]:
        """Return what differs, facts about the capture, and the commands to accept it."""
        lines = self.difference_lines()
        text = self.stored.baseline.captured_at if self.stored.baseline else None
        if text:
            lines += [f"captured {one_line(text)}", ""]
        if varying := self.varying():
            texts = {path: narrowest(values)[0].text for path, values in varying.items()}
            code = f"baseline(placeholders={json.dumps(texts, ensure_ascii=False)})"
            lines += ["ids and times vary by nature; with placeholders they do not fail:", f"  {code}", ""]
        if sum(len(values) - 1 for values in varying.values()) < self.comparison.count:
            update = f"  {test_command(self.place.item)} --baseline-update=changed"
            lines += ["to accept it:", update, f"  {command_line('review', self.place.id)}"]
        return lines  # where all varies, the next run has other values again


_INDENT = 4
"""The width of what pytest puts before each line."""


def test_command(item: pytest.Item) -> str:
    """Return the command that runs this one test, where pytest was started."""
    _, colons, name = item.nodeid.partition("::")
    file = os.path.relpath(os.path.realpath(item.path), os.path.realpath(item.config.invocation_params.dir))
    test_id = shlex.quote(f"{file}{colons}{name}")
    is_in_module = isinstance(item, pytest.DoctestItem) and item.path.suffix == ".py"
    return one_line(f"pytest {'--doctest-modules ' if is_in_module else ''}{test_id}")


class Failure(MutableStruct):
    """A failure as pytest shows it. `headline`: the comparison that failed; `lines`: what belongs below
    it."""

    headline: str
    lines: Sequence[str]
    is_shown: bool = False


# The fixture.


class BaselineFixture:
    """The known-good value: one side of `==`, with a value of the test on the other. A call names one of
    several values of a test, or adds rules."""

    __array_ufunc__ = None
    __pandas_priority__ = 10_000

    def __init__(self, values: "ValuesOfTest", name: str | None = None, rules: Rules | None = None):
        self._values = values
        self._name = name
        self._rules = rules or Rules()
        self.failure: Failure | None = None

    def __call__(self, name: str | None = None, **rules: Any) -> "BaselineFixture":
        """`name`: which of several values of this test; the others are those of `Rules`."""
        __tracebackhide__ = True
        if name is not None and not isinstance(name, str):
            raise TypeError("baseline() takes a name, and the value is compared: assert value == baseline")
        given = {key: rule for key, rule in rules.items() if rule is not None}
        return BaselineFixture(self._values, name, Rules(**given))

    def __eq__(self, value: object) -> bool:
        __tracebackhide__ = True
        self.failure = None
        try:
            self.failure = self._values.compare(value, self._name, self._rules)
        except (BaselinekitError, NoJsonError, BaselineWarning, pytest.skip.Exception) as error:
            raise error.with_traceback(None) from None
        return self.failure is None

    def __bool__(self) -> bool:
        """Raise: `assert baseline` would pass whatever the value is."""
        raise TypeError("a baseline is true of a value only: assert value == baseline")

    def __repr__(self) -> str:
        return f"<baseline {self._values.place(self._name).file}>"


def explain(op: str, left: object, right: object) -> list[str] | None:
    """Return the first line of a failed comparison with a baseline; the others are added later, when pytest
    no longer truncates them."""
    expected = right if isinstance(right, BaselineFixture) else left
    if op != "==" or not isinstance(expected, BaselineFixture):
        return None
    if expected.failure is not None:
        return [expected.failure.headline]
    name = type(left).__qualname__
    return [f"{name} == {expected!r}", f"{name} has an == of its own: write `baseline == …`"]


class ValuesOfTest:
    """The values that one test compares, and the files to write for it."""

    def __init__(self, projects: Projects, item: pytest.Item, nodeid: str):
        self._projects = projects
        self._update: Literal["new", "changed", "all"] | None = item.config.getoption("baseline_update")
        self._item = item
        self._nodeid = nodeid
        self._planned: dict[str, PlannedWrite] = {}
        self._failures: list[Failure] = []
        self._used: list[Used] = []
        self._must_not_write = self._has_compared = False

    @cached_property
    def project(self) -> OpenProject:
        return self._projects.of(os.path.dirname(self._item.path))

    def place(self, name: str | None) -> ValuePlace:
        """Return where the baseline of a value of this test is stored."""
        root, folder = self.project.root, self.project.folder
        test_file = os.path.relpath(os.path.realpath(self._item.path), root).replace(os.sep, "/")
        _, colons, test_name = self._nodeid.partition("::")
        test = f"{test_file}{colons}{test_name}"
        file = file_of(test, name, folder)
        return ValuePlace(self.project, file, id_of(file, folder), test, name, self._item)

    def compare(self, value: object, name: str | None, rules: Rules) -> Failure | None:
        """Return None where the value matches its baseline or is going to be written, else the failure. A new
        file is written outside CI always, in CI only with --baseline-update."""
        self._has_compared = True
        project, place, code = self.project, self.place(name), CodeRules(rules)
        observation = Observation(as_json(value), 0.0)
        planned = self._planned.get(place.file)
        stored = planned.after if planned is not None else project.load(place.file, place.id)
        if stored is None or stored.baseline is None or stored.baseline.output is ABSENT:
            if project.project.trust.ci and self._update not in ("new", "all"):
                problem = Problem("BK560", "there is no such baseline, and in CI none is written")
                advice = "to write it at a desk, where you look at it and commit it:"
                command = f"  {test_command(self._item)} --baseline-update=new"
                return self._fail(place, "missing", ["", str(problem), "", advice, command])
            self._plan(place, place.plan_new(stored, observation.output, code), code, observation.output)
            return None
        if stored.metadata.skip is not None:
            self._note_use(place.file, "compared")
            pytest.skip(f"{place.file}: {stored.metadata.skip}")
        layered = code.layered_over(stored, observation.output)
        for clash in layered.clashes:
            self._item.warn(BaselineWarning(f"{place.file}: {clash}"))
        comparison = project.compare(layered.judged, observation)
        compared = Compared(place, stored, code, layered, comparison, observation)
        may_update = self._update in ("changed", "all") and planned is None
        if comparison.passed:
            drop_pending(project.root, stored.id)
            if not may_update or layered.is_complete:
                self._note_use(place.file, "compared")
                return None
        else:
            count = count_noun(comparison.count, "difference")
            earlier = place.test if planned is not None else project.written.get(place.file)
            if earlier is not None:
                problem = Problem(
                    "BK560", f"it was written in this run, by {earlier}", "give each value a name"
                )
                lines = [*compared.difference_lines(), str(problem), '  baseline("name")']
                return self._fail(place, count, lines)
            # so that `refresh` and `review` can use it without another run
            keep_seen(project.root, compared.as_seen(), "")
            if not may_update:
                return self._fail(place, count, compared.failure_lines())
        self._plan(place, compared.plan_update(), code, observation.output)
        return None

    def _plan(self, place: ValuePlace, planned: PlannedWrite, code: CodeRules, output: Json) -> None:
        """Have a file written when this test has passed. InvalidInput where the value would fail against
        it."""
        judged = code.layered_over(planned.after, output).judged
        comparison = self.project.compare(judged, Observation(output, 0.0))
        if comparison.count:
            found = comparison.differences[0]
            mask = self.project.project.redactor.knowing(output).mask_value
            seen = "nothing" if found.actual is ABSENT else repr(mask(found.actual, found.path))
            expected = found.rule if found.expected is ABSENT else repr(found.expected)
            message = f"{render(found.path) or 'the value'}: {expected} does not accept what was seen: {seen}"
            raise InvalidInput(Problem("BK524", message, "choose another placeholder or rule"))
        self._planned[place.file] = planned

    def _fail(self, place: ValuePlace, what: str, lines: Sequence[str]) -> Failure:
        self._note_use(place.file, "compared")
        failure = Failure(f"value == {place.file} ({what})", lines)
        self._failures.append(failure)
        return failure

    def _note_use(self, file: str, use: Use, notes: Iterable[str] = ()) -> None:
        self._used.append((self.project.root, file, use, list(notes)))

    # Called by the hooks when a phase of the test is over.

    def complete(self, call: "pytest.CallInfo[None]") -> None:
        """Add to the message of a failed assertion the lines that pytest would truncate, or did not ask
        for."""
        error = call.excinfo.value if call.excinfo is not None else None
        if not isinstance(error, AssertionError):
            return
        message = str(error)
        for failure in self._failures:
            if not failure.is_shown and (failure.headline in message or not message):
                failure.is_shown = True
                lines = (f"  {line}".rstrip() for line in failure.lines)
                message = "\n".join((message or failure.headline, *lines))
                error.args = (message, *error.args[1:])

    def settle(self, report: pytest.TestReport) -> list[Used]:
        """Write new and updated files if all phases of the test have passed so far. Return the files used
        since the last call."""
        if report.failed:
            shown = ("\n".join((one.headline, *one.lines)) for one in self._failures if not one.is_shown)
            report.sections += [("baseline", text) for text in dict.fromkeys(shown)]
        self._failures.clear()
        self._must_not_write |= not report.passed or hasattr(report, "wasxfail")
        if not self._must_not_write and report.when != "setup":
            try:
                self._write()
            except BaselinekitError as error:
                report.outcome, report.longrepr = "failed", f"baselinekit: {error}"
                self._must_not_write = True
        used, self._used = self._used, []
        return used

    def _write(self) -> None:
        to_write, self._planned = self._planned, {}
        for file, planned in to_write.items():
            try:
                planned.write()
            except InvalidInput:  # another process may have written the same meanwhile
                stored = self.project.load(file, planned.after.id)
                ours, theirs = planned.after.baseline, stored.baseline if stored else None
                if ours is None or theirs is None or not same_json(ours.output, theirs.output):
                    raise
            self._note_use(file, planned.use, planned.notes)

    def warn_if_unused(self) -> None:
        """Warn of a test that asked for the fixture, and passed without comparing anything."""
        if not (self._has_compared or self._must_not_write):
            self._item.warn(BaselineWarning("the test asked for `baseline`, and compared nothing with it"))

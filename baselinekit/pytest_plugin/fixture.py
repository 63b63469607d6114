"""The fixture `baseline`: it stands for the known-good value in a file, and is compared with a value of the
test by `==`. New and updated files are written when their test has passed."""

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import pytest

from baselinekit.commands.recording import keep_seen
from baselinekit.errors import BaselinekitError, InvalidInput, Problem
from baselinekit.kinds.pytest import file_of, id_of
from baselinekit.library.forms import NoJsonError
from baselinekit.library.placeholders import Placeholder
from baselinekit.library.values import as_json
from baselinekit.library.verdicts import Rules
from baselinekit.model.recipes import Observation
from baselinekit.model.values import ABSENT, Json
from baselinekit.pytest_plugin.files import Compared, OpenProject, PlannedWrite, Projects, ValuePlace
from baselinekit.pytest_plugin.rules import CodeRules
from baselinekit.pytest_plugin.session import BaselineWarning, Use, Used
from baselinekit.store.results import drop_pending
from baselinekit.values.equality import same_json
from baselinekit.values.paths import render

if TYPE_CHECKING:  # not loaded where all tests pass
    from baselinekit.pytest_plugin.differing import Failure


class CodeOptions(TypedDict, total=False):
    """The rules of a call `baseline(…)`, as under `comparison:` in a file."""

    ignore: Sequence[str]
    ignore_values: Sequence[str]
    require: Sequence[str]
    tolerance: Mapping[str, object] | None
    arrays: Mapping[str, object] | None
    fields: Mapping[str, object] | None
    placeholders: Mapping[str, Placeholder | str] | None
    type: Literal["exact", "structural", "numeric", "semantic"] | None


class BaselineFixture:
    """The known-good value: one side of `==`, with a value of the test on the other. A call names one of
    several values of a test, or adds rules."""

    __array_ufunc__ = None
    __pandas_priority__ = 10_000
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: "ValuesOfTest", name: str | None = None, rules: Rules | None = None):
        self._values = values
        self._name = name
        self._rules = rules or Rules()
        self.failure: Failure | None = None

    def __call__(self, name: str | None = None, **rules: Unpack[CodeOptions]) -> "BaselineFixture":
        """`name`: which of several values of this test."""
        __tracebackhide__ = True
        if name is not None and not isinstance(name, str):
            raise TypeError("baseline() takes a name, and the value is compared: assert value == baseline")
        given: dict[str, Any] = {key: rule for key, rule in rules.items() if rule is not None}
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
        return f"<baseline {self._values.display_path(self._name)}>"


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

    def display_path(self, name: str | None) -> str:
        try:
            return self.place(name).file
        except BaselinekitError:
            return self._nodeid

    def compare(self, value: object, name: str | None, rules: Rules) -> "Failure | None":
        """Return None where the value matches its baseline or is going to be written, else the failure."""
        self._has_compared = True
        place, code = self.place(name), CodeRules(rules)
        observation = Observation(as_json(value), 0.0)
        planned = self._planned.get(place.file)
        stored = planned.after if planned is not None else self.project.load(place.file, place.id)
        if stored is None or stored.baseline is None or stored.baseline.output is ABSENT:
            if self.project.project.trust.ci and self._update not in ("new", "all"):
                from baselinekit.pytest_plugin.differing import missing_failure

                return self._fail(place, missing_failure(place))
            self._plan(place, place.plan_new(stored, observation.output, code), code, observation.output)
            return None
        if stored.metadata.skip is not None:
            self._note_use(place.file, "compared")
            pytest.skip(f"{place.file}: {stored.metadata.skip}")
        layered = code.layered_over(stored, observation.output)
        for clash in layered.clashes:
            self._item.warn(BaselineWarning(f"{place.file}: {clash}"))
        comparison = self.project.compare(layered.judged, observation)
        compared = Compared(place, stored, code, layered, comparison, observation)
        may_update = self._update in ("changed", "all") and planned is None
        if comparison.passed:
            drop_pending(self.project.root, stored.id)
            if may_update and not layered.is_complete:
                self._plan_update(compared)
            else:
                self._note_use(place.file, "compared")
            return None
        from baselinekit.pytest_plugin.differing import build_seen, difference_failure, second_value_failure

        earlier = place.test if planned is not None else self.project.written.get(place.file)
        if earlier is not None:
            return self._fail(place, second_value_failure(compared, earlier))
        keep_seen(self.project.root, build_seen(compared), "")  # for a refresh, without another run
        if not may_update:
            return self._fail(place, difference_failure(compared))
        self._plan_update(compared)
        return None

    def _plan_update(self, compared: Compared) -> None:
        from baselinekit.pytest_plugin.differing import plan_update

        self._plan(compared.place, plan_update(compared), compared.code, compared.observation.output)

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

    def _fail(self, place: ValuePlace, failure: "Failure") -> "Failure":
        self._note_use(place.file, "compared")
        self._failures.append(failure)
        return failure

    def _note_use(self, file: str, use: Use, notes: Sequence[str] = ()) -> None:
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
                message = failure.complete(message)
                error.args = (message, *error.args[1:])

    def settle(self, report: pytest.TestReport) -> list[Used]:
        """Write new and updated files if all phases of the test have passed so far. Return the files used
        since the last call."""
        if report.failed:
            texts = [failure.text for failure in self._failures if not failure.is_shown]
            report.sections += [("baseline", text) for text in dict.fromkeys(texts)]
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

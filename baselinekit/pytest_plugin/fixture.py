"""The fixture `baseline`: it stands for the known-good value in a file, and is compared with a value of the
test by `==`. New and updated files are written when their test has passed."""

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import pytest

from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, Problem
from baselinekit.library.placeholders import Placeholder
from baselinekit.library.values import NoJsonError, as_json
from baselinekit.library.verdicts import Rules
from baselinekit.matching.dispatch import Matcher
from baselinekit.model.baselines import Baseline, Comparison
from baselinekit.model.recipes import Observation
from baselinekit.model.values import ABSENT, Json
from baselinekit.pytest_plugin.files import Compared, NewFile, OpenProject, Projects, ValuePlace
from baselinekit.pytest_plugin.registry import BaselineWarning, Use, UsedFile
from baselinekit.pytest_plugin.rules import CodeRules
from baselinekit.structs import replace

if TYPE_CHECKING:  # not loaded where all tests pass
    from baselinekit.pytest_plugin.differing import Failure, Update

_NO_RULES = Rules()


class BaselineRun:
    """The state that the tests of one process share: the projects, and what may be written."""

    def __init__(self, config: pytest.Config):
        self.config = config
        self.update: Literal["new", "changed", "all"] | None = config.getoption("baseline_update")
        self.projects = Projects(str(config.rootpath))

    def values_of(self, item: pytest.Item) -> "TestValues":
        return TestValues(self, item)

    def writes_new(self, project: OpenProject) -> bool:
        """Whether missing baselines are written: outside CI always, in CI only with --baseline-update."""
        return self.update in ("new", "all") or not project.is_ci

    @property
    def writes_changed(self) -> bool:
        return self.update in ("changed", "all")

    def explain(self, op: str, left: object, right: object) -> list[str] | None:
        """Return the first line of a failed comparison with a baseline; the others are added later, when
        pytest no longer truncates them."""
        expected = right if isinstance(right, ExpectedValue) else left
        if op != "==" or not isinstance(expected, ExpectedValue):
            return None
        if expected.failure is not None:
            return [expected.failure.headline]
        name = type(left).__qualname__
        return [f"{name} == {expected!r}", f"{name} has an == of its own: write `baseline == …`"]

    def close(self) -> None:
        """Sync what was written to the disk before the run ends."""
        for project in self.projects.opened():
            project.sync()


class ExpectedValue:
    """The known-good value: one side of `==`, with a value of the test on the other."""

    __array_ufunc__ = None
    __pandas_priority__ = 10_000
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: "TestValues", name: str | None = None, rules: Rules = _NO_RULES):
        self._values = values
        self._name = name
        self._rules = rules
        self.failure: Failure | None = None

    def __eq__(self, value: object) -> bool:
        __tracebackhide__ = True
        self.failure = None
        try:
            self.failure = self._values.compare(value, self._name, self._rules)
        except BaselinekitError as error:
            raised: BaseException = type(error)(*error.problems)
        except (NoJsonError, BaselineWarning) as error:
            raised = type(error)(*error.args)
        except pytest.skip.Exception as error:
            raised = pytest.skip.Exception(str(error))
        else:
            return self.failure is None
        raise raised

    def __ne__(self, value: object) -> bool:
        __tracebackhide__ = True
        return not self == value

    def __bool__(self) -> bool:
        """Raise: `assert baseline` would pass whatever the value is."""
        raise TypeError("a baseline is true of a value only: assert value == baseline")

    def __repr__(self) -> str:
        return f"<baseline {self._values.display_path(self._name)}>"


class BaselineFixture(ExpectedValue):
    """`baseline` itself; a call names one of several values of a test, or adds rules."""

    def __call__(
        self,
        name: str | None = None,
        *,
        ignore: Sequence[str] = (),
        ignore_values: Sequence[str] = (),
        require: Sequence[str] = (),
        tolerance: Mapping[str, object] | None = None,
        arrays: Mapping[str, object] | None = None,
        fields: Mapping[str, object] | None = None,
        placeholders: Mapping[str, Placeholder | str] | None = None,
        type: Literal["exact", "structural", "numeric", "semantic"] | None = None,
    ) -> ExpectedValue:
        """`name`: which of several values of this test. The other arguments are rules, as under `comparison:`
        in a file."""
        __tracebackhide__ = True
        if name is not None and not isinstance(name, str):
            raise TypeError("baseline() takes a name, and the value is compared: assert value == baseline")
        rules = Rules(
            type=type,
            ignore=ignore,
            ignore_values=ignore_values,
            require=require,
            tolerance=tolerance or {},
            arrays=arrays or {},
            fields=fields or {},
            placeholders=placeholders or {},
        )
        return ExpectedValue(self._values, name, rules)


class TestValues:
    """The values that one test compares, and the files to write for it."""

    def __init__(self, run: BaselineRun, item: pytest.Item):
        self._run = run
        self._item = item
        self._new: dict[str, NewFile] = {}
        self._updates: dict[str, Update] = {}
        self._failures: list[Failure] = []
        self._used: list[UsedFile] = []
        self._must_not_write = self._has_compared = False

    @cached_property
    def project(self) -> OpenProject:
        return self._run.projects.of(os.path.dirname(self._item.path))

    def display_path(self, name: str | None) -> str:
        try:
            return self.project.place(self._item, name).file
        except BaselinekitError:
            return self._item.nodeid

    def compare(self, value: object, name: str | None, rules: Rules) -> "Failure | None":
        """Return None where the value matches its baseline or is going to be written, else the failure."""
        self._has_compared = True
        project = self.project
        place = project.place(self._item, name)
        code = CodeRules(rules)
        observation = Observation(as_json(value), 0.0)
        stored = self._stored_baseline(place)
        if stored is not None:
            stored = project.chosen(stored)
        if stored is None or stored.baseline is None or stored.baseline.output is ABSENT:
            return self._handle_missing(place, stored, observation.output, code)
        if stored.metadata.skip is not None:
            self._note_use(place, "compared")
            pytest.skip(f"{place.file}: {stored.metadata.skip}")
        layered = code.layered_over(stored, observation.output)
        for clash in layered.clashes:
            self._item.warn(BaselineWarning(f"{place.file}: {clash}"))
        comparison = compare_without_model(project.compiled(layered.judged), observation)
        compared = Compared(place, stored, code, layered, comparison, observation)
        if not comparison.passed:
            return self._handle_difference(compared)
        project.forget(stored.id)
        if self._run.writes_changed and not layered.is_complete and not self._is_written_here(place):
            self._update(compared)
        else:
            self._note_use(place, "compared")
        return None

    def _stored_baseline(self, place: ValuePlace) -> Baseline | None:
        """Return the baseline as it will be when this test has passed."""
        if place.file in self._updates:
            return self._updates[place.file].after
        new = self._new.get(place.file)
        return new.baseline if new else self.project.load(place)

    def _handle_missing(
        self, place: ValuePlace, stored: Baseline | None, output: Json, code: CodeRules
    ) -> "Failure | None":
        project = self.project
        if not self._run.writes_new(project):
            from baselinekit.pytest_plugin.differing import missing_failure

            self._note_use(place, "compared")
            return self._add_failure(missing_failure(place, self._item, self._run.config))
        new = project.draft(place, stored, output, code)
        self._refuse_unmet(new.baseline, code, output)
        self._new[place.file] = new
        return None

    def _refuse_unmet(self, after: Baseline, code: CodeRules, output: Json) -> None:
        """Raise InvalidInput where the value would fail against the file to be written."""
        judged = code.layered_over(after, output).judged
        comparison = compare_without_model(self.project.compiled(judged), Observation(output, 0.0))
        if comparison.count:
            mask = self.project.project.redactor.knowing(output).mask_value
            raise InvalidInput(code.problem_of(comparison.differences[0], mask))

    def _is_written_here(self, place: ValuePlace) -> bool:
        return place.file in self._new or place.file in self._updates

    def _handle_difference(self, compared: "Compared") -> "Failure | None":
        from baselinekit.pytest_plugin.differing import (
            FailureReport,
            build_seen,
            second_value_lines,
            store_seen,
        )

        project, place = self.project, compared.place
        report = FailureReport(project, place, self._item, self._run.config)
        earlier_test = place.test if self._is_written_here(place) else project.written.get(place.file)
        if earlier_test is not None:
            self._note_use(place, "compared")
            instructions = second_value_lines(earlier_test, place)
            return self._add_failure(
                report.failure_for(compared.stored, compared.comparison, compared.observation, instructions)
            )
        store_seen(project, build_seen(project, compared))
        if self._run.writes_changed:
            self._update(compared)
            return None
        self._note_use(place, "compared")
        return self._add_failure(
            report.failure_for(compared.stored, compared.comparison, compared.observation)
        )

    def _update(self, compared: "Compared") -> None:
        """Plan the update of the file, to be written when this test has passed."""
        from baselinekit.pytest_plugin.differing import FailureReport, build_seen, plan_update

        stored = replace(compared.stored, comparison=compared.layered.rules)
        update = plan_update(self.project, stored, build_seen(self.project, compared))
        self._refuse_unmet(update.after, compared.code, compared.observation.output)
        report = FailureReport(self.project, compared.place, self._item, self._run.config)
        notes = tuple(report.note_of_update(compared.stored, compared.comparison))
        self._updates[compared.place.file] = replace(update, notes=notes)

    def _add_failure(self, failure: "Failure") -> "Failure":
        self._failures.append(failure)
        return failure

    def _note_use(self, place: ValuePlace, use: Use, notes: Sequence[str] = ()) -> None:
        self._used.append(UsedFile(place.root, place.file, use, tuple(notes)))

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

    def settle(self, report: pytest.TestReport) -> None:
        """Write new and updated files if all phases of the test have passed so far."""
        if report.failed:
            texts = [failure.text for failure in self._failures if not failure.is_shown]
            report.sections += [("baseline", text) for text in dict.fromkeys(texts)]
            self._shorten(report)
        self._failures.clear()
        self._must_not_write |= not report.passed or hasattr(report, "wasxfail")
        if not self._must_not_write and report.when != "setup":
            try:
                self._write()
            except BaselinekitError as error:
                report.outcome, report.longrepr = "failed", f"baselinekit: {error}"
                self._must_not_write = True

    def _shorten(self, report: pytest.TestReport) -> None:
        """Shorten the message to its first line for the summary of the run."""
        crash = getattr(report.longrepr, "reprcrash", None)
        headlines = [failure.headline for failure in self._failures if failure.is_shown]
        if crash is not None and any(headline in crash.message for headline in headlines):
            crash.message = crash.message.partition("\n")[0]

    def _write(self) -> None:
        new, updates = list(self._new.values()), list(self._updates.items())
        self._new.clear()
        self._updates.clear()
        for new_file in new:
            self.project.write(new_file)
            self._note_use(new_file.place, "written", new_file.notes)
        if not updates:
            return
        from baselinekit.pytest_plugin.differing import write_updates

        write_updates(self.project, [update for _, update in updates])
        for file, update in updates:
            self._note_use(
                ValuePlace(self.project.root, file, update.after.id, "", None), "updated", update.notes
            )

    def warn_if_unused(self) -> None:
        """Warn of a test that asked for the fixture, and passed without comparing anything."""
        if not (self._has_compared or self._must_not_write):
            self._item.warn(BaselineWarning("the test asked for `baseline`, and compared nothing with it"))

    def take_used(self) -> list[list[object]]:
        """Return the files used since the last call, and forget them."""
        used, self._used = self._used, []
        return [used_file.as_json() for used_file in used]


def compare_without_model(matcher: Matcher, observation: Observation) -> Comparison:
    comparison = matcher.compare(observation)
    if comparison.questions:
        message = "whether two texts mean the same is a question to a model, and a test asks none"
        raise CannotReplay(Problem("BK230", message, "compare its parts, or use `method: words`"))
    return comparison

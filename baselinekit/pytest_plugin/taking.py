"""The plugin with which `baselinekit convert --from pytest` runs the tests of a project: it records the
values that syrupy, inline-snapshot and pytest-regressions compare, and changes nothing that they store."""

import dataclasses
import json
import os
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import suppress
from inspect import signature
from pathlib import Path as FilePath
from types import FrameType
from typing import Any

import pytest

from baselinekit.files.jsontext import encode
from baselinekit.library.placeholders import (
    Placeholder,
    any_array,
    any_integer,
    any_iso_date,
    any_iso_datetime,
    any_number,
    any_string,
    any_url,
    any_uuid,
    anything,
    number,
    placeholder,
    regex,
)
from baselinekit.library.values import NoJsonError, as_json
from baselinekit.model.values import Json, Path
from baselinekit.moving.baselines import OPTION, TakenTest, TakenValue
from baselinekit.structs import Struct, field, plain
from baselinekit.values.equality import canonical
from baselinekit.values.paths import render

_TABLES = ("num_regression", "dataframe_regression", "ndarrays_regression")
_REGRESSIONS = (*_TABLES, "data_regression", "file_regression", "image_regression")
_FIXTURES = frozenset((*_REGRESSIONS, "snapshot"))
_NUMPY_TOLERANCE = {"atol": 1e-08, "rtol": 1e-05}
"""The default of numpy's isclose, by which pytest-regressions compares tables."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, metavar="FILE", help="write here what tests compare with snapshots")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Begin before a conftest.py or a test imports one of the tools."""
    recorder = SnapshotRecorder()
    early_config.pluginmanager.register(recorder)
    with suppress(ImportError):
        record_syrupy(recorder)
    with suppress(ImportError):
        record_inline_snapshot(recorder)


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    """Run all tests in this process, and let no tool accept a value that differs from its snapshot."""
    for name, value in (("numprocesses", 0), ("regen_all", False)):
        if hasattr(config.option, name):
            setattr(config.option, name, value)
    return (yield)


class ComparedSnapshot(Struct):
    """A compared value as JSON, with the placeholders and rules of its snapshot."""

    output: Json
    placeholders: tuple[tuple[Path, str], ...] = ()
    rules: Mapping[str, Json] = field(default_factory=dict)


class SnapshotRecorder:
    """The hooks that know the current test, and its values."""

    def __init__(self) -> None:
        self._tests: list[TakenTest] = []
        self._values: list[TakenValue] | None = None  # outside of a test
        self._names: dict[object, str | None] = {}
        self._is_passed = True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._values, self._names, self._is_passed = [], {}, True
        result = yield
        values, self._values = self._values or (), None
        if values or _FIXTURES & {*getattr(item, "fixturenames", ())}:
            line = (item.reportinfo()[1] or 0) + 1
            name = item.nodeid.partition("::")[2]
            path = os.path.realpath(item.path)
            self._tests.append(TakenTest(path, name, line, self._is_passed, tuple(values)))
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed or hasattr(report, "wasxfail"):
            self._is_passed = False

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if file := session.config.getoption(OPTION):
            FilePath(file).write_text(json.dumps([plain(test) for test in self._tests]), "utf-8")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        fixture = yield
        if fixturedef.argname in _REGRESSIONS and hasattr(fixture, "check"):
            fixture.check = fixture.Check = self._recording(fixturedef.argname, fixture.check)
        return fixture

    def record(
        self, code: str, key: object, compared: Callable[[], ComparedSnapshot], name: object = None
    ) -> None:
        """Record a value of the current test. `key`: what the comparison is, for a number among those without
        a `name`."""
        if self._values is None:
            return
        if name is None and key not in self._names:
            number = len(self._names) + 1
            self._names[key] = str(number) if number > 1 else None
        frame = _frame_of_test()
        place = frame.f_code.co_filename, frame.f_lineno
        value_name = self._names[key] if name is None else str(name)
        try:
            found = compared()
            output = encode(found.output)
        except Exception as error:  # a function of the user may raise any
            lost = str(error) if isinstance(error, NoJsonError) else f"{type(error).__name__}: {error}"
            self._values.append(TakenValue(code, value_name, *place, lost=lost))
        else:
            rules = found.rules
            self._values.append(TakenValue(code, value_name, *place, output, found.placeholders, rules))

    def _recording(self, fixture: str, check: Callable[..., None]) -> Callable[..., None]:
        """Return a `check` of pytest-regressions that records its value first: it may change it."""
        form = signature(check)

        def record_and_check(*args: Any, **named: Any) -> None:
            __tracebackhide__ = True
            given = form.bind(*args, **named).arguments
            self.record(
                f"{fixture}.check(…)", fixture, lambda: _of_regression(fixture, given), given.get("basename")
            )
            check(*args, **named)

        return record_and_check


def _frame_of_test() -> FrameType:
    """Return the innermost frame outside of this plugin and of the tools."""
    frame = sys._getframe(1)
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith(("baselinekit.", "syrupy.")):
        frame = frame.f_back
    return frame


# pytest-regressions.


def _of_regression(fixture: str, given: Mapping[str, Any]) -> ComparedSnapshot:
    value = next(iter(given.values()))
    if fixture == "image_regression":
        raise NoJsonError("an image: compare what it is made of")
    if given.get("round_digits") is not None:
        raise NoJsonError("round_digits=…: round the value in the test, and compare the result")
    output = as_json(value)
    if fixture not in _TABLES:
        return ComparedSnapshot(output)
    rows = "*." if fixture == "dataframe_regression" else ""
    tolerances = {"*": given.get("default_tolerance")}
    for column, bounds in (given.get("tolerances") or {}).items():
        tolerances[f"{rows}{render((column,))}"] = bounds
    rules = {}
    for path, bounds in tolerances.items():
        stated = _NUMPY_TOLERANCE | {**(bounds or {})}
        rules[path] = {"abs": stated["atol"], "rel": stated["rtol"]}
    return ComparedSnapshot(output, rules={"tolerance": rules})


# inline-snapshot.


def record_inline_snapshot(recorder: SnapshotRecorder) -> None:
    import inline_snapshot

    missing = object()

    def snapshot(obj: Any = missing) -> Any:
        frame = sys._getframe(1)
        if obj is missing:
            raise AssertionError("this snapshot has no value yet: pytest --inline-snapshot=create")
        return RecordedSnapshot(recorder, obj, (frame.f_code, frame.f_lasti))

    inline_snapshot.snapshot = snapshot


class RecordedSnapshot:
    """The value of one `snapshot(…)`: it records what it is compared with."""

    def __init__(self, recorder: SnapshotRecorder, expected: Any, key: object):
        self._recorder, self._expected, self._key = recorder, expected, key

    def __eq__(self, value: object) -> bool:
        self._recorder.record("snapshot(…)", self._key, lambda: _of_expected(self._expected, value))
        return bool(self._expected == value)

    def __repr__(self) -> str:
        return repr(self._expected)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked by Python itself, such as for a copy
            raise AttributeError(name)
        return self.used_otherwise(name)

    def used_otherwise(self, name: str) -> Any:
        """Whatever a test does with the value but compare it by `==`."""
        self._recorder.record("snapshot(…)", self._key, _not_compared)
        return getattr(self._expected, name)


def _not_compared() -> ComparedSnapshot:
    raise NoJsonError("a snapshot(…) is used otherwise than by `==`: compare the value itself")


def _passed_on(name: str) -> Callable[..., Any]:
    return lambda self, *args: self.used_otherwise(name)(*args)


for _name in ("ne", "lt", "le", "gt", "ge", "contains", "getitem", "iter", "len"):
    setattr(RecordedSnapshot, f"__{_name}__", _passed_on(f"__{_name}__"))


def _of_expected(expected: Any, value: object) -> ComparedSnapshot:
    """Return the value, with placeholders where the expected value has matchers."""
    found = []
    for path, matcher in _matchers_in(expected, ()):
        accepted = placeholder_of(matcher)
        if accepted is None:
            where = render(path) if path else "the value"
            raise NoJsonError(f"{where} is compared with {matcher!r}, which is not taken over")
        found.append((path, accepted.text))
    return ComparedSnapshot(as_json(value), tuple(found))


def _matchers_in(expected: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if is_matcher(expected):
        yield path, expected
    elif isinstance(expected, Mapping):
        for key, item in expected.items():
            yield from _matchers_in(item, (*path, _key(key)))
    elif isinstance(expected, list | tuple):
        for number, item in enumerate(expected):
            yield from _matchers_in(item, (*path, number))
    elif dataclasses.is_dataclass(expected) and not isinstance(expected, type):
        for one in dataclasses.fields(expected):
            yield from _matchers_in(getattr(expected, one.name), (*path, one.name))


def _key(key: object) -> str:
    """Return a key as it is in JSON."""
    return key if isinstance(key, str) else canonical(as_json(key))


# The usual matchers of dirty-equals as placeholders. The library is not imported: a matcher is recognised by
# the name of its class.

_WITHOUT_ARGUMENTS = {
    "AnyThing": anything,
    "IsStr": any_string,
    "IsPositiveInt": any_integer(min=1),
    "IsFloat": placeholder("any_float"),
    "IsUUID": any_uuid,
    "IsUrl": any_url,
    "IsList": any_array,
}


def is_matcher(value: object) -> bool:
    """Whether an expected value is equal to several values: a matcher of dirty-equals, or `mock.ANY`."""
    kind = value if isinstance(value, type) else type(value)
    return kind.__name__ == "_ANY" or any(base.__module__ == "dirty_equals._base" for base in kind.__mro__)


def placeholder_of(matcher: Any) -> Placeholder | None:
    """Return the placeholder that accepts what a matcher accepts; None if there is none."""
    matcher = matcher() if isinstance(matcher, type) else matcher
    name = type(matcher).__name__
    if name == "_ANY":
        return anything
    if name in _WITHOUT_ARGUMENTS and _has_no_arguments(matcher):
        return _WITHOUT_ARGUMENTS[name]
    args = [*matcher._repr_args]
    named = {key: value for key, value in matcher._repr_kwargs.items() if type(value) is not object}
    match name, args, named:
        case "IsInt", [], _ if named.keys() <= {"ge", "le", "gt", "lt"}:
            least = named["gt"] + 1 if "gt" in named else named.get("ge")
            most = named["lt"] - 1 if "lt" in named else named.get("le")
            return any_integer(min=least, max=most)
        case "IsNumber", [], _ if named.keys() <= {"ge", "le"}:
            return any_number(min=named.get("ge"), max=named.get("le"))
        case "IsApprox", [], {"approx": approx, "delta": delta, **others} if not others:
            return number(approx, abs=delta)
        case "IsStr", [], {"regex": str(pattern), **others} if not others:
            return regex(pattern)
        case "IsStr", [], _ if named.keys() <= {"min_length", "max_length"}:
            return any_string(min=named.get("min_length", 0), max=named.get("max_length"))
        case "IsDatetime", [], _ if named.keys() <= {"iso_string", "enforce_tz"}:
            return any_iso_datetime
        case "IsNow", [], _ if "unix_number" not in named:
            return any_iso_datetime(within="5m")
        case "IsDate" | "IsToday", [], _:
            return any_iso_date
        case "IsUUID", [int(version)], {**others} if not others:
            return any_uuid(version=version)
    return None


def _has_no_arguments(matcher: Any) -> bool:
    """Whether a matcher has no arguments. Some classes show them in their `repr`, others only have them as
    attributes."""
    kind = type(matcher)
    return bool(matcher._repr_ne() == f"{kind.__name__}()" and vars(matcher) == vars(kind()))


# syrupy.


def record_syrupy(recorder: SnapshotRecorder) -> None:
    from syrupy.assertion import SnapshotAssertion

    compare = SnapshotAssertion.__eq__

    def compare_and_record(self: Any, value: Any) -> bool:
        self.update_snapshots = self.update_new_snapshots_only = False
        key, name = (id(self), self.num_executions), self._custom_index
        is_plain = not (self._matcher or self._include or self._exclude)
        is_equal = compare(self, value)
        recorder.record("snapshot", key, lambda: _of_syrupy(value, is_plain), name)
        return is_equal

    SnapshotAssertion.__eq__ = compare_and_record  # type: ignore[method-assign]


def _of_syrupy(value: object, is_plain: bool) -> ComparedSnapshot:
    if not is_plain:
        hint = "write baseline(placeholders={…}, ignore=[…])"
        raise NoJsonError(f"a matcher or a filter of syrupy, which is not taken over: {hint}")
    return ComparedSnapshot(as_json(value))

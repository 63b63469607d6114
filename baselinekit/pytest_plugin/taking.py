"""The plugin with which `baselinekit convert --from pytest` runs the tests of a project: it records the
values that syrupy, inline-snapshot and pytest-regressions compare, and changes nothing that they store."""

import dataclasses
import json
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime, time
from inspect import signature
from pathlib import Path as FilePath
from types import FrameType
from typing import Any
from uuid import UUID

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
    any_time,
    any_url,
    any_uuid,
    anything,
    number,
    placeholder,
    regex,
)
from baselinekit.library.values import NoJsonError, as_json
from baselinekit.model.values import Json, Path, json_type
from baselinekit.moving.baselines import OPTION, TakenTest, TakenValue
from baselinekit.structs import Struct, field, plain
from baselinekit.values.equality import canonical
from baselinekit.values.paths import find, of_any_row, parse, render
from baselinekit.values.places import value_at

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

_SyrupyPath = Iterable[tuple[object, type]]


def record_syrupy(recorder: SnapshotRecorder) -> None:
    from syrupy.assertion import SnapshotAssertion

    compare = SnapshotAssertion.__eq__

    def compare_and_record(self: Any, value: Any) -> bool:
        self.update_snapshots = self.update_new_snapshots_only = False
        key, name = (id(self), self.num_executions), self._custom_index
        options = SyrupyOptions(self._matcher, self._include, self._exclude)
        is_equal = compare(self(matcher=options.matcher, exclude=options.exclude), value)
        recorder.record("snapshot", key, lambda: options.comparison(value), name)
        return is_equal

    SnapshotAssertion.__eq__ = compare_and_record  # type: ignore[method-assign]


class SyrupyOptions:
    """The matcher and the filters of one comparison, which note what they replace and leave out."""

    def __init__(self, matcher: Any, include: Any, exclude: Any):
        self._matcher, self._include, self._exclude = matcher, include, exclude
        self._replaced: dict[tuple[object, ...], tuple[object, object]] = {}
        self._left_out: dict[tuple[object, ...], None] = {}

    def matcher(self, *, data: Any, path: _SyrupyPath) -> Any:
        result = self._matcher(data=data, path=path) if self._matcher else data
        if result is not data:
            self._replaced[tuple(key for key, _ in path)] = data, result
        return result

    def exclude(self, *, prop: Any, path: _SyrupyPath) -> bool:
        is_out = bool(self._exclude and self._exclude(prop=prop, path=path))
        is_out = is_out or bool(self._include and not self._include(prop=prop, path=path))
        if is_out:
            self._left_out[(*(key for key, _ in path), prop)] = None
        return is_out

    def comparison(self, value: object) -> ComparedSnapshot:
        """Return the value with a placeholder where a class was put in place of a value, and without what was
        left out."""
        output = as_json(value)
        placeholders = []
        for keys, (data, result) in self._replaced.items():
            path = _path_in(output, keys)
            if path is None or type(result).__name__ != "Repr":
                where = ".".join(map(str, keys)) or "the value"
                raise NoJsonError(f"{where} is changed by a matcher: change it before it is compared")
            placeholders.append((path, _placeholder_for(data, value_at(output, path)).text))
        paths = {path for keys in self._left_out if (path := _path_in(output, keys)) is not None}
        rules = {"ignore_fields": [*_patterns(paths, output)]} if paths else {}
        return ComparedSnapshot(_without(output, paths), tuple(placeholders), rules)


def _path_in(value: Json, keys: Iterable[object]) -> Path | None:
    """Return a path of Python keys as one of the JSON; None if it does not lead anywhere."""
    path: Path = ()
    for key in keys:
        part = key if isinstance(value, list) and isinstance(key, int) else _key(key)
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
        path = (*path, part)
    return path


def _placeholder_for(data: object, value: Json) -> Placeholder:
    """Return the placeholder for values of a class: of those with a form of their own, else by their JSON."""
    forms = {UUID: any_uuid, datetime: any_iso_datetime, date: any_iso_date, time: any_time}
    for kind, form in forms.items():
        if isinstance(data, kind):
            return form
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return any_integer if is_integer else placeholder(f"any_{json_type(value)}")


def _patterns(paths: set[Path], output: Json) -> Iterator[str]:
    """Yield the paths of rules: one for all rows where each of them has such a place."""
    by_pattern: dict[str, list[Path]] = {}
    for path in sorted(paths, key=str):
        by_pattern.setdefault(render(of_any_row(path)), []).append(path)
    for pattern, places in by_pattern.items():
        is_of_all = {path for path, _ in find(parse(pattern), output)} <= paths
        yield from [pattern] if is_of_all else map(render, places)


def _without(value: Json, paths: set[Path], path: Path = ()) -> Json:
    """Return a value without these members of objects."""
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if (*path, key) not in paths}
        return {key: _without(item, paths, (*path, key)) for key, item in kept.items()}
    if isinstance(value, list):
        return [_without(item, paths, (*path, number)) for number, item in enumerate(value)]
    return value

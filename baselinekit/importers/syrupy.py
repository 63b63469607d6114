"""Snapshots of syrupy: amber files, and files with one value each, found by the names that syrupy gives
them."""

import ast
import posixpath
import re
from collections.abc import Iterator
from typing import Any

from baselinekit.errors import BaselinekitError, Place
from baselinekit.files.languages import JSON
from baselinekit.importers import amber
from baselinekit.importers.pyvalues import LostValue, of_bytes, split_placeholders, value_of_repr
from baselinekit.importers.testcode import (
    CodeChange,
    OneTest,
    SnapshotImport,
    SnapshotSources,
    TestsOfFile,
    ValueDraft,
)
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json
from baselinekit.structs import Struct

TITLE = "syrupy"
FOLDER = "__snapshots__"
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
_NAME = lazy_pattern(r"(?s)([^\[]+?)(\[.*\])?((?:\.\d{1,9})?)")
_REMOVED_CHARACTERS = lazy_pattern(r'[\\/?*:|"<>\x00-\x1f\x7f-\x9f]')
_LONGEST = 255
_MOMENT = lazy_pattern(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{6})(?:([+-]\d\d)(\d\d))?")
_REPR = lazy_pattern(
    r"(?s)(?:UUID|Decimal|Fraction|datetime\.\w+|[A-Z]\w*Path|[a-z]?set|deque|(?:[\w.]+\.)?[A-Z]\w*(?=\(\w+=))\(.+\)"
    r"|b(?:'.*'|\".*\")|<[A-Za-z_][\w.|]*: .+>"
)
_IN_CODE = ("matcher", "exclude", "include", "extension_class")


def read(files: SnapshotSources, moving: SnapshotImport) -> None:
    """Read all snapshots among the files that were named."""
    tested = set[str]()
    for file in files.files:
        folder, name = posixpath.split(file)
        stem, suffix = posixpath.splitext(name)
        is_single = posixpath.basename(posixpath.dirname(folder)) == FOLDER
        if suffix == ".ambr":
            tests = posixpath.join(posixpath.dirname(posixpath.dirname(folder) if is_single else folder), "")
            module = f"{tests}{posixpath.basename(folder) if is_single else stem}.py"
            AmberSnapshots(files, moving, module).read(file)
        elif is_single:
            module = posixpath.join(
                posixpath.dirname(posixpath.dirname(folder)), f"{posixpath.basename(folder)}.py"
            )
            _SingleSnapshot(files, moving, module).read(file, stem, suffix)
        else:
            continue
        moving.seen += 1
        tested.add(module)
    for module in sorted(tested):
        _report_code(files.tests(module), moving)


class NameOfSnapshot(Struct):
    """The parts of a snapshot's name. `order`: the number of the value in its test, from 0."""

    classes: tuple[str, ...]
    function: str
    param: str | None
    custom: str | None
    order: int

    @property
    def name(self) -> str | None:
        return self.custom or (str(self.order) if self.order else None)


def taken_apart(text: str, tests: TestsOfFile | None) -> NameOfSnapshot:
    """The parts of `TestX.test_y[a][custom].1`. The test tells whether brackets hold parameters or a name."""
    match = _NAME.fullmatch(text)
    *classes, function = match[1].split(".") if match else [""]
    if match is None or not function.isidentifier():
        raise LostValue(f"a snapshot called {text!r}", "no test of pytest is called so")
    inner = match[2][1:-1] if match[2] else None
    test = tests.called(classes, function) if tests is not None else None
    param, custom = _split_brackets(inner, test)
    return NameOfSnapshot(tuple(classes), function, param, custom, int(match[3][1:] or 0) if match[3] else 0)


def _split_brackets(inner: str | None, test: OneTest | None) -> tuple[str | None, str | None]:
    """The parameters and the name in brackets."""
    if inner is None:
        return None, None
    literal, computed = _names_in(test)
    if test is not None and test.params is not None:
        if inner in test.params and inner not in literal:
            return inner, None
        for param in test.params:
            if param is not None and inner.startswith(f"{param}]["):
                return param, inner[len(param) + 2 :]
        if test.params == (None,) and (inner in literal or computed):
            return None, inner
    for name in sorted(literal, key=len, reverse=True):
        if inner == name:
            return None, inner
        if inner.endswith(f"][{name}"):
            return inner[: -len(name) - 2], name
    if computed or test is None:
        param, separator, name = inner.rpartition("][")
        if separator:
            return param, name
    return inner, None


def _names_in(test: OneTest | None) -> tuple[set[str], bool]:
    """The names that a test gives to snapshots, and whether it computes some."""
    literal, computed = set[str](), False
    for _, keyword in test.keywords("name") if test is not None else ():
        value = getattr(keyword.value, "value", None)
        if isinstance(value, str):
            literal.add(value)
        else:
            computed = True
    return literal, computed


def _node_id(module: str, name: NameOfSnapshot) -> str:
    test_id = "::".join((module, *name.classes, name.function))
    return test_id if name.param is None else f"{test_id}[{name.param}]"


def _report_code(tests: TestsOfFile | None, moving: SnapshotImport) -> None:
    """Report the arguments of comparisons in the code of tests, which have to be rewritten there."""
    for test in tests.tests if tests is not None else ():
        for call, keyword in test.keywords(*_IN_CODE):
            replacement = {
                "exclude": "baseline(ignore=[…]) with the paths that it leaves out",
                "include": "baseline of the part that it takes: value[…] == baseline",
                "matcher": "baseline; the classes that it put into the file stand there as placeholders",
                "extension_class": "baseline: one form for all",
            }[keyword.arg or ""]
            place = Place(test.file, call.lineno)
            moving.change(CodeChange(place, f"snapshot({keyword.arg}=…)", replacement))


def _report_name(name: NameOfSnapshot, test: OneTest | None, moving: SnapshotImport) -> None:
    if name.name is None:
        return
    if test is None:
        return
    place = Place(test.file, _line_of(name, test))
    comparison = (
        f"snapshot(name={name.custom!r})" if name.custom else f"snapshot, value {name.order + 1} of the test"
    )
    moving.change(CodeChange(place, comparison, f'baseline("{name.name}")'))


def _line_of(name: NameOfSnapshot, test: OneTest) -> int:
    """The line where the test compares a snapshot: found by its name, else by counting."""
    for call, keyword in test.keywords("name"):
        if name.custom and getattr(keyword.value, "value", None) == name.custom:
            return call.lineno
    lines = [
        node.lineno
        for statement in test.node.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and node.id == "snapshot"
    ]
    return sorted(lines)[name.order] if name.order < len(lines) else test.node.lineno


class AmberSnapshots:
    """One amber file."""

    def __init__(self, files: SnapshotSources, moving: SnapshotImport, module: str):
        self._files, self._moving, self._module = files, moving, module
        self._tests = files.tests(module)

    def read(self, file: str) -> None:
        try:
            text = self._files.text(file)
        except BaselinekitError as error:
            self._moving.lose(Place(file), error)
            return
        seen_names = set[str]()
        is_empty = True
        for entry in amber.entries(text):
            is_empty = False
            if entry.name in seen_names:
                self._moving.leave_out(
                    Place(file, entry.line), f"{entry.name}: a second snapshot of this name"
                )
                continue
            seen_names.add(entry.name)
            self._take(entry, file)
        if is_empty and text.strip() and not text.startswith("# serializer version"):
            self._moving.leave_out(Place(file, 1), "no amber file: it holds no snapshot", "write it anew")

    def _take(self, entry: amber.AmberEntry, file: str) -> None:
        moving = self._moving
        try:
            name = taken_apart(entry.name, self._tests)
            value, loose = amber.value_of(entry)
        except LostValue as error:
            moving.lose(Place(file, entry.line), error, entry.name)
            return
        for line, kind in loose:
            moving.note(
                f"{file}:{line}: {entry.name}: <<any>> stands for a {kind}, and anything passes there"
            )
        plain, placeholders = split_placeholders(value)
        place = Place(file, entry.line)
        test = self._tests.called(name.classes, name.function) if self._tests is not None else None
        if self._tests is not None and test is None:
            moving.note(f"{place}: {entry.name}: there is no such test in {self._module}")
        _report_name(name, test, moving)
        moving.values.append(ValueDraft(_node_id(self._module, name), name.name, plain, placeholders, place))


class _SingleSnapshot:
    """A file of one value: JSON, or the bytes of a text. Syrupy removes characters from its name that a file
    system may not allow, so the test has to tell the original name."""

    def __init__(self, files: SnapshotSources, moving: SnapshotImport, module: str):
        self._files, self._moving, self._module = files, moving, module
        self._tests = files.tests(module)

    def read(self, file: str, stem: str, suffix: str) -> None:
        place = Place(file)
        if suffix in _IMAGES:
            message, hint = "an image", "compare what it is made of"
            self._moving.leave_out(place, message, hint)
            return
        try:
            name = self.name(stem, suffix)
            value = self.json(file) if suffix == ".json" else of_bytes(self._files.data(file))
        except (LostValue, BaselinekitError) as error:
            self._moving.lose(place, error)
            return
        test = self._tests.called(name.classes, name.function) if self._tests is not None else None
        _report_name(name, test, self._moving)
        plain, placeholders = split_placeholders(value)
        test_id = _node_id(self._module, name)
        self._moving.values.append(ValueDraft(test_id, name.name, plain, placeholders, place))

    def name(self, stem: str, suffix: str) -> NameOfSnapshot:
        """The name by the ids of the parameters, if they are written out; else by the name of the file."""
        for test in self._tests.tests if self._tests is not None else ():
            test_name = ".".join((*test.classes, test.name))
            if not stem.startswith(test_name):
                continue
            for param in test.params or ():
                full_name = test_name if param is None else f"{test_name}[{param}]"
                prefix = _REMOVED_CHARACTERS.sub("", full_name)[: _LONGEST - len(suffix)]
                match = re.fullmatch(r"(?:\[(.*)\])?(?:\.(\d+))?", stem.removeprefix(prefix))
                if stem.startswith(prefix) and match:
                    order = int(match[2] or 0)
                    return NameOfSnapshot(test.classes, test.name, param, match[1], order)
        if len(stem) + len(suffix) >= _LONGEST:
            raise LostValue("a name that syrupy cut", "write it anew: the first run of pytest does")
        return taken_apart(stem, self._tests)

    def json(self, file: str) -> Any:
        (value,) = JSON.load(self._files.text(file), file)
        kinds = [*self.reprs_in(value)]
        if kinds:
            kind_list = ", ".join(dict.fromkeys(kinds))
            self._moving.note(
                f"{file}: taken for what they were before syrupy made texts of them: {kind_list}"
            )
        return _as_before(value)

    def reprs_in(self, value: Json) -> Iterator[str]:
        if isinstance(value, str) and _as_before(value) != value:
            name = re.match(r"<?([\w.]+)[(:|]", value)
            yield "a time" if _MOMENT.fullmatch(value) else name[1] if name else "bytes"
        elif isinstance(value, dict | list):
            for item in value.values() if isinstance(value, dict) else value:
                yield from self.reprs_in(item)


def _as_before(value: Json) -> Json:
    """The value as the plugin writes it, where syrupy's JSON has a `repr`, or a time with microseconds that
    `isoformat` does not write."""
    if isinstance(value, dict):
        return {key: _as_before(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_before(item) for item in value]
    if not isinstance(value, str):
        return value
    if (moment := _MOMENT.fullmatch(value)) and (moment[2] == "000000" or moment[3]):
        fraction = "" if moment[2] == "000000" else f".{moment[2]}"
        return f"{moment[1]}{fraction}{f'{moment[3]}:{moment[4]}' if moment[3] else ''}"
    if _REPR.fullmatch(value):
        try:
            return value_of_repr(value)
        except LostValue:
            return value
    if re.fullmatch(r"<class '[\w.]+'>", value):
        raise LostValue(
            f"an object of {value[8:-2]}, of which syrupy wrote the class alone", "compare its parts"
        )
    return value

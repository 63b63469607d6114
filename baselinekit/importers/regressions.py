"""The files of pytest-regressions: a folder beside each test file, with a file for each value."""

import ast
import csv
import datetime
import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any

from baselinekit.errors import BaselinekitError, Place
from baselinekit.files import libyaml
from baselinekit.importers.pyvalues import (
    LostValue,
    PythonReader,
    dotted,
    finite,
    key_of,
    of_bytes,
    sorted_set,
)
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
from baselinekit.values.paths import render

TITLE = "pytest-regressions"
_SUPPORTED = ("data_regression", "file_regression", "num_regression", "dataframe_regression")
_FIXTURES = (*_SUPPORTED, "image_regression", "ndarrays_regression")
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff")
_LEFTOVERS = lazy_pattern(r".*\.obtained\.[^.]*|.*\.diff\.html")
_DEFAULT_TOLERANCE: Mapping[str, Json] = {"abs": 1e-08, "rel": 1e-05}
"""The default tolerance of numpy's isclose, by which pytest-regressions compares tables."""


def read(files: SnapshotSources, moving: SnapshotImport) -> None:
    """Read all files in folders that are named like a test file beside them."""
    by_folder: dict[str, list[str]] = {}
    for file in files.files:
        folder = posixpath.dirname(file)
        if posixpath.basename(folder) and not _LEFTOVERS.fullmatch(file):
            by_folder.setdefault(folder, []).append(file)
    for folder, names in sorted(by_folder.items()):
        tests = files.tests(f"{folder}.py")
        if tests is not None and any(_fixtures(test) for test in tests.tests) | _has_own_fixture(tests):
            _Folder(files, moving, tests).read(names)
            _report_changes(tests, moving)


def _fixtures(test: OneTest) -> set[str]:
    return {*test.arguments} & {*_FIXTURES}


def _has_own_fixture(tests: TestsOfFile) -> bool:
    """Whether a fixture or function of the file asks for one of the fixtures."""
    arguments = (node.arg for node in ast.walk(tests.tree) if isinstance(node, ast.arg))
    return any(name in _FIXTURES for name in arguments)


def _report_changes(tests: TestsOfFile, moving: SnapshotImport) -> None:
    for test in tests.tests:
        for call in test.calls:
            owner, _, method = dotted(call.func).rpartition(".")
            if owner in _SUPPORTED and method.lower() == "check":
                name = _stated_text(call, "basename")
                replacement = f'assert … == baseline("{name}")' if name else "assert … == baseline"
                place = Place(test.file, call.lineno)
                moving.change(CodeChange(place, f"{owner}.check(…)", replacement))


def _stated_text(call: ast.Call, keyword: str) -> str | None:
    value = next((keyword_node.value for keyword_node in call.keywords if keyword_node.arg == keyword), None)
    text = getattr(value, "value", None)
    return text if isinstance(text, str) else None


class OwnerOfFile(Struct):
    """A test that a file belongs to, with the parameters and the name that lead to it."""

    test: OneTest
    param: str | None
    name: str | None


class _Folder:
    """The folder of one test file."""

    def __init__(self, files: SnapshotSources, moving: SnapshotImport, tests: TestsOfFile):
        self._files, self._moving, self._tests = files, moving, tests
        self._owners = _owners(tests)
        self._taken = set[tuple[str, str | None]]()

    def read(self, names: Sequence[str]) -> None:
        unrelated = []
        order = {".yml": 0, ".csv": 1}
        for file in sorted(names, key=lambda name: (order.get(posixpath.splitext(name)[1], 2), name)):
            stem, suffix = posixpath.splitext(posixpath.basename(file))
            owners = self._owners.get(stem) or self.guess_owner(stem)
            if not owners:
                if self.looks_like_value(stem, suffix):
                    message = f"no test of {self._tests.file} is called so, nor names it: which value is it?"
                    self._moving.leave_out(
                        Place(file), message, "compare it with == baseline: pytest writes it"
                    )
                else:
                    unrelated.append(posixpath.basename(file))
                continue
            self._moving.seen += 1
            self.take(file, stem, suffix, owners)
        if unrelated:
            listed = ", ".join(unrelated[:3]) + (", …" if len(unrelated) > 3 else "")
            folder = posixpath.dirname(names[0])
            self._moving.note(f"{folder}: {len(unrelated)} of no test, left as they are: {listed}")

    def guess_owner(self, stem: str) -> list[OwnerOfFile]:
        """The test whose name the file name begins with, if the rest can be its parameters: a `_` may have
        been any character."""
        for test in sorted(self._tests.tests, key=lambda test: -len(test.name)):
            param = stem.removeprefix(f"{test.name}_")
            if param != stem and param.endswith("_") and "_" not in param[:-1] and _fixtures(test):
                return [OwnerOfFile(test, param[:-1], None)]
        return []

    def looks_like_value(self, stem: str, suffix: str) -> bool:
        """Whether a file is likely a value of a test, and not an input, which may lie there as well."""
        if any(stem.startswith(f"{test.name}_") or stem == test.name for test in self._tests.tests):
            return True
        computed = any(True for test in self._tests.tests for _ in test.keywords("basename", "fullpath"))
        return computed and suffix in (".yml", ".csv")

    def take(self, file: str, stem: str, suffix: str, owners: list[OwnerOfFile]) -> None:
        place, fixtures = Place(file), _fixtures(owners[0].test)
        try:
            rules: Mapping[str, Json] = {}
            if suffix in _IMAGES and ("image_regression" in fixtures or "file_regression" not in fixtures):
                raise LostValue("an image", "compare what it is made of")
            if suffix == ".npz":
                raise LostValue("arrays of numpy in a file of its own", "compare them with == baseline")
            if suffix == ".yml" and ("data_regression" in fixtures or "file_regression" not in fixtures):
                documents = libyaml.load_foreign(self._files.text(file), file)
                if len(documents) != 1:
                    raise LostValue(f"{len(documents)} documents", "one value is compared")
                value = json_of_yaml(documents[0])
            elif suffix == ".csv" and "file_regression" not in fixtures - {"num_regression"}:
                value, rules = self.table(file, owners[0], fixtures)
            else:
                value = of_bytes(self._files.data(file))
        except (LostValue, BaselinekitError) as error:
            self._moving.lose(place, error)
            return
        for owner in owners:
            test, name = owner.test.node_id(owner.param), owner.name
            if (test, name) in self._taken:
                name = f"{name}{suffix}" if name else suffix[1:]
                self._moving.note(f'{file}: a second value of {owner.test.name}: baseline("{name}")')
            self._taken.add((test, name))
            self._moving.values.append(ValueDraft(test, name, value, {}, place, rules))

    def table(self, file: str, owner: OwnerOfFile, fixtures: set[str]) -> tuple[Json, Mapping[str, Json]]:
        """The columns by their names, or the rows of a frame; and the tolerance of numbers."""
        lines, rows = _table_rows(self._files.text(file))
        if not rows or len(rows[0]) < 2:
            raise LostValue("a table without columns", "write it anew: pytest --force-regen", 1)
        header, cells = rows[0][1:], rows[1:]
        for line, row in zip(lines, rows, strict=True):
            if len(row) != len(rows[0]):
                raise LostValue("a row of another length than the first", "write the table anew", line)
        if len({*header}) != len(header):
            raise LostValue("a table with two columns of one name", "give each a name of its own", 1)
        is_frame = "dataframe_regression" in fixtures and "num_regression" not in fixtures
        start = 1
        if [row[0] for row in cells] != [str(number) for number in range(len(cells))]:
            if is_frame:  # the labels of the rows are compared as a column
                header, start = [rows[0][0] or "index", *header], 0
            else:
                self._moving.note(f"{file}: the index of the table is not compared")
        columns = {
            name: _column([row[number] for row in cells], is_frame, number)
            for number, name in enumerate(header, start)
        }
        rules = _tolerance(owner.test, is_frame)
        if not is_frame:
            return columns, rules
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)], rules


def _table_rows(text: str) -> tuple[list[int], list[list[str]]]:
    """The rows of a table, and the line where each ends; LostValue for what is no table."""
    lines, rows = list[int](), list[list[str]]()
    reader = csv.reader(re.findall(r"[^\n]*\n|[^\n]+", text))
    try:
        for row in reader:
            lines.append(reader.line_num)
            rows.append(row)
    except csv.Error as error:
        hint = "compare it with == baseline: pytest writes it"
        raise LostValue(f"a row of a table that cannot be read: {error}", hint, reader.line_num) from None
    return lines, rows


def _owners(tests: TestsOfFile) -> dict[str, list[OwnerOfFile]]:
    """The files of the tests, by the names that pytest-regressions gives them."""
    owners: dict[str, list[OwnerOfFile]] = {}
    for test in tests.tests:
        for param in test.params or ():
            node = test.name if param is None else f"{test.name}[{param}]"
            stem = re.sub(r"\W", "_", node)
            owner = OwnerOfFile(test, param, None)
            owners.setdefault(stem, []).append(owner)
            if test.classes:
                owners.setdefault(f"{re.sub(r'[^a-zA-Z0-9_]', '_', test.classes[-1])}_{stem}", []).append(
                    owner
                )
            for _, keyword in test.keywords("basename"):
                if isinstance(name := getattr(keyword.value, "value", None), str):
                    owners.setdefault(name, []).append(OwnerOfFile(test, param, name))
    return owners


def json_of_yaml(value: Any) -> Json:
    """A value that PyYAML reads, as the plugin writes it."""
    if isinstance(value, libyaml.OddNode):
        message = f"a value with the tag !!{value.tag}, which would build an object"
        raise LostValue(message, "compare its parts", value.line)
    if isinstance(value, set):
        return sorted_set([json_of_yaml(item) for item in value])
    if isinstance(value, list | tuple):
        return [json_of_yaml(item) for item in value]
    if isinstance(value, dict):
        return {key_of(json_of_yaml(key)): json_of_yaml(item) for key, item in value.items()}
    if isinstance(value, bytes):
        return of_bytes(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    return finite(value) if isinstance(value, float) else value


def _column(cells: list[str], is_frame: bool, number: int) -> list[Json]:
    """The values of a column. pytest-regressions fills shorter columns with empty cells."""
    if not is_frame:
        while cells and not cells[-1]:
            cells = cells[:-1]
    if all(cell in ("True", "False") for cell in cells):
        return [cell == "True" for cell in cells]
    try:
        if all(re.fullmatch(r"[-+]?\d+", cell) for cell in cells):
            return [int(cell) for cell in cells]
        return [finite(float(cell)) for cell in cells]
    except ValueError:
        if "" in cells:
            message = f"column {number} has an empty cell, and NaN is no JSON"
            raise LostValue(message, "leave it out", cells.index("") + 2) from None
        return [*cells]


def _tolerance(test: OneTest, is_frame: bool) -> Mapping[str, Json]:
    """The tolerance that the test states, else that of numpy."""
    default, by_column = dict(_DEFAULT_TOLERANCE), dict[str, Any]()
    for call in test.calls:
        if dotted(call.func) in ("num_regression.check", "dataframe_regression.check"):
            keywords = {keyword.arg: keyword.value for keyword in call.keywords}
            try:
                if "default_tolerance" in keywords:
                    default = _bounds(PythonReader().read(keywords["default_tolerance"]))
                if "tolerances" in keywords:
                    by_column = PythonReader().read(keywords["tolerances"])
            except LostValue:
                continue
    rules: dict[str, Json] = {"*": default}
    if isinstance(by_column, dict):
        for column, bounds in by_column.items():
            path = render((column,))
            rules[f"*.{path}" if is_frame else f"{path}[*]"] = _bounds(bounds)
    return {"tolerance": rules}


def _bounds(tolerance: Any) -> dict[str, Json]:
    """The tolerance of `{atol: …, rtol: …}`, with numpy's defaults for what is not stated."""
    bounds = tolerance if isinstance(tolerance, dict) else {}
    return {
        "abs": bounds.get("atol", _DEFAULT_TOLERANCE["abs"]),
        "rel": bounds.get("rtol", _DEFAULT_TOLERANCE["rel"]),
    }

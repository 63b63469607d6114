"""The values that inline-snapshot keeps in the sources of tests. They are read, never executed."""

import ast
import fnmatch
import posixpath
from collections.abc import Mapping
from typing import Any

from baselinekit.errors import BaselinekitError, Place
from baselinekit.files.languages import JSON
from baselinekit.importers.classcode import ClassesOfSource, named_arguments
from baselinekit.importers.pyvalues import LostValue, PythonReader, dotted, of_bytes, split_placeholders
from baselinekit.importers.testcode import (
    CodeChange,
    OneTest,
    SnapshotImport,
    SnapshotSources,
    TestsOfFile,
    ValueDraft,
)

TITLE = "inline-snapshot"
FOLDERS = (".inline-snapshot", "__inline_snapshot__")
"""The folders of the values that a source names by `external(…)`."""

_PACKAGE = "inline_snapshot"
_CHECKS = ("dirty_equals", _PACKAGE)


def read(files: SnapshotSources, moving: SnapshotImport) -> None:
    """Read all `snapshot(…)` in the Python files that were named."""
    for file in files.files:
        if not file.endswith(".py"):
            continue
        try:
            text = files.text(file)
            if _PACKAGE not in text:
                continue
            tests = files.opened(file)
        except BaselinekitError as error:
            problem = error.problems[0]
            moving.leave_out(problem.place or Place(file), problem.message, problem.hint)
            continue
        if names := _names(tests.tree):
            _Source(files, moving, tests, names).read()


def _names(tree: ast.Module) -> set[str]:
    """The names of `snapshot` in a file."""
    names = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == _PACKAGE:
            names |= {alias.asname or alias.name for alias in node.names if alias.name == "snapshot"}
        elif isinstance(node, ast.Import):
            names |= {
                f"{alias.asname or alias.name}.snapshot" for alias in node.names if alias.name == _PACKAGE
            }
    return names


class _Source:
    """One file with tests."""

    def __init__(self, files: SnapshotSources, moving: SnapshotImport, tests: TestsOfFile, names: set[str]):
        self._files, self._moving, self._tests, self._names = files, moving, tests, names
        imported = {node.module for node in ast.walk(tests.tree) if isinstance(node, ast.ImportFrom)}
        self._classes = ClassesOfSource(tests.file, tests.tree, files.tree)
        checks = bool(imported & {*_CHECKS})
        self._reader = PythonReader(self._classes.member, self.record, checks, self.outside)
        self._parents: Mapping[ast.AST, ast.AST] = {
            child: node for node in ast.walk(tests.tree) for child in ast.iter_child_nodes(node)
        }

    def read(self) -> None:
        counts_before = len(self._moving.values), len(self._moving.left_out)
        in_tests = set[int]()
        reported = set[ast.Call]()
        for test in self._tests.tests:
            for number, call in enumerate(self.snapshots(test)):
                in_tests.add(id(call))
                self.take(test, call, number, reported)
        for node in ast.walk(self._tests.tree):
            if isinstance(node, ast.Call) and self.is_snapshot(node) and id(node) not in in_tests:
                message = (
                    "a snapshot outside of a test function: which test's value it is, only a run can tell"
                )
                self._moving.leave_out(
                    self.place(node), message, "compare it in the test: assert … == baseline"
                )
        self._moving.seen += counts_before != (len(self._moving.values), len(self._moving.left_out))

    def record(self, call: ast.Call) -> Mapping[str, ast.expr]:
        """The fields of a record that a call makes, with the defaults that the call leaves out."""
        name = dotted(call.func).rpartition(".")[2]
        fields = self._classes.fields(name)
        if fields is None:
            message = f"{name or 'a call'}(…): what it makes only the test's run can tell"
            raise LostValue(message, "write the value itself, or let the first run of pytest write it")
        return named_arguments(call, fields)

    def is_snapshot(self, node: ast.Call) -> bool:
        return dotted(node.func) in self._names

    def snapshots(self, test: OneTest) -> list[ast.Call]:
        calls = [
            node
            for statement in test.node.body
            for node in ast.walk(statement)
            if isinstance(node, ast.Call) and self.is_snapshot(node)
        ]
        return sorted(calls, key=lambda call: (call.lineno, call.col_offset))

    def place(self, node: ast.expr) -> Place:
        return Place(self._tests.file, node.lineno)

    def take(self, test: OneTest, call: ast.Call, number: int, reported: set[ast.Call]) -> None:
        place, name = self.place(call), str(number + 1) if number else None
        is_first = call not in reported
        reported.add(call)
        try:
            self.check(call)
            value_node = call.args[0] if call.args else None
            if value_node is None or (isinstance(value_node, ast.Constant) and value_node.value is Ellipsis):
                self._moving.note(
                    f"{place}: snapshot() holds no value yet: the first run of pytest writes one"
                )
                return
            if test.params is None:
                raise LostValue(
                    "a test whose parameters only pytest can tell", "the first run with == baseline writes it"
                )
            value, placeholders = split_placeholders(self._reader.read(value_node))
        except LostValue as error:
            if is_first:
                self._moving.lose(place, error, test.name)
            return
        except BaselinekitError as error:
            self._moving.lose(place, error, test.name)
            return
        for param in test.params:
            draft = ValueDraft(test.node_id(param), name, value, placeholders, place)
            self._moving.values.append(draft)
        if is_first:
            new = f'baseline("{name}")' if name else "baseline"
            self._moving.change(CodeChange(place, "snapshot(…)", new))

    def check(self, call: ast.Call) -> None:
        """Raise LostValue unless the value itself is compared with the snapshot."""
        parent = self._parents[call]
        if isinstance(parent, ast.Subscript) and parent.value is call:
            raise LostValue(
                "a snapshot of parts: snapshot(…)[…]", "compare each part with a baseline of its own"
            )
        if isinstance(parent, ast.Attribute):
            raise LostValue("a snapshot of which an attribute is asked", "compare it with == baseline")
        if isinstance(parent, ast.Compare) and any(
            not isinstance(operator, ast.Eq) for operator in parent.ops
        ):
            message = "`<=`, `>=`, `!=` or `in` with a snapshot, which is no equality"
            raise LostValue(message, "write the bound itself")

    def outside(self, name: str) -> Any:
        """The value of `external("hash:…")`, by the name of its file or a pattern."""
        storage, _, path = name.rpartition(":")
        stem, dot, suffix = path.partition(".")
        fitting = [
            file
            for file in self._files.outside()
            if fnmatch.fnmatchcase(posixpath.basename(file), path)
            and FOLDERS[storage == "uuid"] in file.split("/")
        ]
        if not stem or not dot or len(fitting) != 1:
            count = "no file" if not fitting else f"{len(fitting)} files"
            raise LostValue(
                f"external({name!r}), for which there is {count}", "run the tests with --fix first"
            )
        return self.content(fitting[0], suffix)

    def content(self, file: str, suffix: str) -> Any:
        if suffix == "json":
            (value,) = JSON.load(self._files.text(file), file)
            return value
        return self._files.text(file) if suffix == "txt" else of_bytes(self._files.data(file))

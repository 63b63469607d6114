"""The tests of a Python file, read from its source: classes, functions, and the ids of their parameters if
these are written out. Nothing is executed."""

import ast
import posixpath
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product

from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.importers.drafts import LeftOut
from baselinekit.importers.pyvalues import LostValue, PythonReader, dotted
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path
from baselinekit.structs import Struct, field

_LINE_ENDS = lazy_pattern(rb"\r\n|\r|\n")
Function = ast.FunctionDef | ast.AsyncFunctionDef


class OneTest(Struct):
    """A test function or method. `params`: the ids of its parameters, (None,) if it has none, and None if
    only pytest can tell them."""

    file: str
    classes: tuple[str, ...]
    node: Function
    params: tuple[str | None, ...] | None

    @property
    def name(self) -> str:
        return self.node.name

    def node_id(self, param: str | None) -> str:
        test_id = "::".join((self.file, *self.classes, self.name))
        return test_id if param is None else f"{test_id}[{param}]"

    @property
    def arguments(self) -> list[str]:
        return [argument.arg for argument in (*self.node.args.args, *self.node.args.kwonlyargs)]

    @property
    def calls(self) -> list[ast.Call]:
        calls = [node for node in ast.walk(self.node) if isinstance(node, ast.Call)]
        return sorted(calls, key=lambda call: (call.lineno, call.col_offset))

    def keywords(self, *names: str) -> Iterator[tuple[ast.Call, ast.keyword]]:
        """The calls in the test with one of these keyword arguments, and the argument."""
        for call in self.calls:
            yield from ((call, keyword) for keyword in call.keywords if keyword.arg in names)


class TestsOfFile:
    """A file with tests. `text`: its source; `around`: the conftest.py of its folder and of those above."""

    __test__ = False

    def __init__(self, file: str, text: str, around: Sequence[ast.Module] = ()):
        self.file, self._around = file, around
        try:
            self.tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = getattr(error, "lineno", None) or text.count("\n", 0, max(text.find("\0"), 0)) + 1
            message = "not Python that can be read"
            raise InvalidInput(Problem("BK101", message, "run it first", Place(file, line))) from None

    @cached_property
    def tests(self) -> list[OneTest]:
        return [*self._collect_tests(self.tree.body, (), self._marks(self.tree.body))]

    def called(self, classes: Sequence[str], name: str) -> OneTest | None:
        """The test of this name in these classes."""
        path = (*classes, name)
        return next((test for test in self.tests if (*test.classes, test.name) == path), None)

    @cached_property
    def _constants(self) -> dict[str, ast.expr]:
        """The values of the module's names that are assigned once."""
        counts = Counter[str]()
        values: dict[str, ast.expr] = {}
        for node in self.tree.body:
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            target = node.target if isinstance(node, ast.AnnAssign) else target
            if isinstance(target, ast.Name) and isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
                counts[target.id] += 1
                values[target.id] = node.value
        return {name: value for name, value in values.items() if counts[name] == 1}

    @cached_property
    def _classes(self) -> dict[str, ast.ClassDef]:
        return {node.name: node for node in self.tree.body if isinstance(node, ast.ClassDef)}

    def _is_plain_enum(self, name: str) -> bool:
        """Whether `str` of a member is its name: not if the enum is also a text or a number."""
        return [dotted(base).rpartition(".")[2] for base in self._classes[name].bases] == ["Enum"]

    @cached_property
    def _fixtures(self) -> dict[str, "FixtureOfTests"]:
        """The fixtures that the tests may ask for, the nearest of each name."""
        fixtures: dict[str, FixtureOfTests] = {}
        for tree in (self.tree, *self._around):
            for node in [node for node in ast.walk(tree) if isinstance(node, Function)]:
                for decorator in node.decorator_list:
                    function = decorator.func if isinstance(decorator, ast.Call) else decorator
                    if dotted(function).endswith("fixture"):
                        fixture = _fixture(node, decorator, tree is self.tree)
                        fixtures.setdefault(fixture.name, fixture)
        return fixtures

    def _with_params(self, names: set[str], given_names: set[str]) -> "list[FixtureOfTests]":
        """The fixtures with parameters among those that a test needs, directly or by way of others."""
        names = names | {fixture.name for fixture in self._fixtures.values() if fixture.is_autouse}
        waiting, seen, fixtures = [*sorted(names - given_names)], set[str](), []
        while waiting:
            name = waiting.pop()
            fixture = self._fixtures.get(name)
            if name in seen or fixture is None:
                continue
            seen.add(name)
            waiting += [argument for argument in fixture.arguments if argument not in given_names]
            fixtures += [fixture] if fixture.params is not None else []
        return fixtures

    def _collect_tests(
        self, body: Sequence[ast.stmt], classes: tuple[str, ...], marks: list[ast.expr]
    ) -> Iterator[OneTest]:
        for node in body:
            if isinstance(node, Function) and node.name.startswith("test"):
                yield OneTest(self.file, classes, node, self._params(node, marks))
            elif isinstance(node, ast.ClassDef):
                class_marks = [*_from_nearest(node.decorator_list), *self._marks(node.body), *marks]
                yield from self._collect_tests(
                    [*self._inherited(node), *node.body], (*classes, node.name), class_marks
                )
            elif isinstance(node, ast.If | ast.Try | ast.With):
                yield from self._collect_tests(node.body, classes, marks)

    def _inherited(self, node: ast.ClassDef) -> list[ast.stmt]:
        """The methods of base classes in the same file that the class does not override."""
        own_names = {method.name for method in node.body if isinstance(method, Function)}
        bases = [self._classes.get(dotted(base)) for base in node.bases]
        return [
            method
            for base in bases
            if base is not None and base is not node
            for method in base.body
            if isinstance(method, Function) and method.name not in own_names
        ]

    def _marks(self, body: Sequence[ast.stmt]) -> list[ast.expr]:
        """The marks of `pytestmark` in a module or class."""
        for node in body:
            if isinstance(node, ast.Assign) and [dotted(target) for target in node.targets] == ["pytestmark"]:
                value = node.value
                return list(value.elts) if isinstance(value, ast.List | ast.Tuple) else [value]
        return []

    def _params(self, node: Function, marks: list[ast.expr]) -> tuple[str | None, ...] | None:
        """The ids of a test's parameters, joined as pytest does: the nearest decorator first."""
        names = {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
        given_names, parts = set[str](), list[list[str]]()
        for mark in (*_from_nearest(node.decorator_list), *marks):
            kind = dotted(mark.func).rpartition(".")[2] if isinstance(mark, ast.Call) else ""
            if kind == "usefixtures" and isinstance(mark, ast.Call):
                names |= {str(getattr(value, "value", "")) for value in mark.args}
            elif kind == "parametrize" and isinstance(mark, ast.Call):
                ids = self._ids(mark)
                if ids is None:
                    return None
                given_names |= {*_names_of(mark)}
                parts.append(ids)
        fixtures = self._with_params(names, given_names)
        if len(fixtures) + len(parts) > 1 and fixtures:
            return None  # their order depends on the scopes of the fixtures
        for fixture in fixtures:
            ids = self._ids_of_values([fixture.name], fixture.params, fixture.ids) if fixture.is_own else None
            if ids is None:
                return None
            parts.append(ids)
        return tuple("-".join(ids_of_test) for ids_of_test in product(*parts)) if parts else (None,)

    def _ids(self, mark: ast.Call) -> list[str] | None:
        """The ids of one `parametrize`; None if they are computed."""
        arguments = dict(zip(("argnames", "argvalues"), mark.args, strict=False))
        arguments |= {str(keyword.arg): keyword.value for keyword in mark.keywords}
        names = _names_of(mark)
        return self._ids_of_values(names, arguments.get("argvalues"), arguments.get("ids")) if names else None

    def _ids_of_values(
        self, names: list[str], values: ast.expr | None, stated_ids: ast.expr | None
    ) -> list[str] | None:
        if values is None:
            return None
        try:
            rows, conversion = self._elements(values), dotted(stated_ids) if stated_ids is not None else ""
            if stated_ids is None or conversion in ("str", "repr"):
                ids = [*self._stated_ids(rows, names, conversion)]
            else:
                ids = [_text_of(id) for id in self._elements(stated_ids)]
        except (LostValue, TypeError, ValueError, AttributeError):
            return None
        if any(id is None for id in ids) or len(ids) != len(rows):
            return None
        return told_apart([str(id) for id in ids])

    def _elements(self, node: ast.expr) -> list[ast.expr]:
        node = self._constants.get(dotted(node), node) if isinstance(node, ast.Name) else node
        if isinstance(node, ast.List | ast.Tuple) and not any(
            isinstance(element, ast.Starred) for element in node.elts
        ):
            return list(node.elts)
        raise LostValue("computed")

    def _stated_ids(self, rows: list[ast.expr], names: list[str], conversion: str) -> Iterator[str | None]:
        for number, row in enumerate(rows):
            if isinstance(row, ast.Call) and dotted(row.func).rpartition(".")[2] == "param":
                stated_id = next((keyword.value for keyword in row.keywords if keyword.arg == "id"), None)
                if stated_id is not None:
                    yield _text_of(stated_id)
                    continue
                cells = row.args
            else:
                cells = [row] if len(names) == 1 else self._elements(row)
            words = [
                self._id_of_value(cell, f"{name}{number}", conversion)
                for name, cell in zip(names, cells, strict=True)
            ]
            yield None if None in words else "-".join(map(str, words))

    def _id_of_value(self, node: ast.expr, default: str, conversion: str) -> str | None:
        """The id that pytest gives one value; None if only the run can tell."""
        node = self._constants.get(dotted(node), node) if isinstance(node, ast.Name) else node
        if isinstance(node, ast.Attribute) and isinstance(
            self._classes.get(dotted(node.value)), ast.ClassDef
        ):
            return dotted(node) if self._is_plain_enum(dotted(node.value)) else None
        if isinstance(node, ast.List | ast.Dict | ast.Tuple | ast.Set):
            return default if not conversion else None
        value = PythonReader().read(node)
        if conversion == "repr":
            return None
        if isinstance(node, ast.Constant) and isinstance(node.value, bytes):
            return None
        if isinstance(value, str):
            return value.encode("unicode_escape").decode("ascii")
        return str(value) if value is None or isinstance(value, bool | int | float) else None


def _names_of(mark: ast.Call) -> list[str]:
    """The names of the arguments of a `parametrize`; none if they are computed."""
    argnames = next((keyword.value for keyword in mark.keywords if keyword.arg == "argnames"), None)
    try:
        names = PythonReader().read(mark.args[0] if mark.args else argnames or ast.Constant(None))
    except LostValue:
        return []
    return [str(name).strip() for name in (names.split(",") if isinstance(names, str) else names or ())]


class FixtureOfTests(Struct):
    """A fixture by the name that tests ask for. `is_own`: whether it stands in the file of the tests."""

    name: str
    arguments: tuple[str, ...]
    params: ast.expr | None
    ids: ast.expr | None
    is_autouse: bool
    is_own: bool


def _fixture(node: Function, decorator: ast.expr, is_own: bool) -> FixtureOfTests:
    keywords = (
        {keyword.arg: keyword.value for keyword in decorator.keywords}
        if isinstance(decorator, ast.Call)
        else {}
    )
    name = getattr(keywords.get("name"), "value", node.name)
    arguments = tuple(argument.arg for argument in (*node.args.args, *node.args.kwonlyargs))
    autouse = getattr(keywords.get("autouse"), "value", False)
    return FixtureOfTests(
        str(name), arguments, keywords.get("params"), keywords.get("ids"), bool(autouse), is_own
    )


def _from_nearest(decorators: Sequence[ast.expr]) -> Iterator[ast.expr]:
    return reversed(decorators)


def _text_of(node: ast.expr) -> str | None:
    value = PythonReader().read(node)
    return value.encode("unicode_escape").decode("ascii") if isinstance(value, str) else None


def told_apart(ids: Sequence[str]) -> list[str]:
    """The ids with a number after repeated ones, as pytest numbers them."""
    counts, numbers, used_ids = Counter(ids), Counter[str](), set(ids)
    numbered = []
    for id in ids:
        if counts[id] > 1:
            prefix = f"{id}_" if id[-1:].isdigit() else id
            while f"{prefix}{numbers[id]}" in used_ids:
                numbers[id] += 1
            numbered.append(f"{prefix}{numbers[id]}")
            used_ids.add(numbered[-1])
            numbers[id] += 1
        else:
            numbered.append(id)
    return numbered


# The input and the result of an importer of snapshots.


class ValueDraft(Struct):
    """A value that a test compares: its test, its name, the stored value, and its place. `placeholders`:
    those in the value, by their paths; `rules`: how it was compared."""

    test: str
    name: str | None
    value: Json
    placeholders: Mapping[Path, str]
    place: Place
    rules: Mapping[str, Json] = field(default_factory=dict)


class CodeChange(Struct):
    """A change to make in a test: the old text and the new one."""

    place: Place
    old: str
    new: str


class SnapshotSources:
    """The files that were named, from the project's root. `read`: reads a file of the project; `outside`:
    lists the files of values that sources keep outside of themselves."""

    def __init__(
        self,
        files: Sequence[str],
        read: Callable[[str], bytes],
        outside: Callable[[], Sequence[str]] = lambda: (),
    ):
        self.files, self._read, self.outside = files, read, outside
        self._tests: dict[str, TestsOfFile | None] = {}

    def data(self, file: str) -> bytes:
        return self._read(file)

    def text(self, file: str) -> str:
        data = self._read(file)
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = len(_LINE_ENDS.findall(data, 0, error.start)) + 1
            raise InvalidInput(Problem("BK101", "not UTF-8 text", "", Place(file, line))) from None

    def tree(self, file: str) -> ast.Module | None:
        """The source of a module."""
        tests = self.tests(file)
        return None if tests is None else tests.tree

    def tests(self, file: str) -> TestsOfFile | None:
        """The tests of a file; None where there is none, or none that can be read."""
        if file not in self._tests:
            try:
                self._tests[file] = self.opened(file)
            except BaselinekitError:
                self._tests[file] = None
        return self._tests[file]

    def opened(self, file: str) -> TestsOfFile:
        """The tests of a file; an error if it cannot be read."""
        text, folder, conftests = self.text(file), posixpath.dirname(file), list[ast.Module]()
        while posixpath.basename(file) != "conftest.py":
            tree = self.tree(posixpath.join(folder, "conftest.py"))
            conftests += [tree] if tree is not None else []
            if not folder:
                break
            folder = posixpath.dirname(folder)
        return TestsOfFile(file, text, conftests)


class SnapshotImport:
    """The result of reading the files of one tool. `seen`: how many files are of this tool."""

    def __init__(self) -> None:
        self.values: list[ValueDraft] = []
        self.left_out: list[LeftOut] = []
        self.notes: dict[str, None] = {}
        self._changes: dict[CodeChange, None] = {}
        self.seen = 0

    def leave_out(self, place: Place, message: str, hint: str = "") -> None:
        self.left_out.append(LeftOut(place.line or 0, message, hint, place.file))

    def lose(self, place: Place, error: LostValue | BaselinekitError, of: str = "") -> None:
        """Leave out the value at a place, because of an error. `of`: the owner of the value."""
        prefix = f"{of}: " if of else ""
        if isinstance(error, LostValue):
            self.leave_out(Place(place.file, error.at or place.line), f"{prefix}{error.message}", error.hint)
        else:
            (problem, *_) = error.problems
            self.leave_out(problem.place or place, f"{prefix}{problem.message}", problem.hint)

    def note(self, text: str) -> None:
        self.notes[text] = None

    def change(self, change: CodeChange) -> None:
        self._changes[change] = None

    @property
    def changes(self) -> list[CodeChange]:
        """The changes in the order of the files and their lines."""
        return sorted(self._changes, key=lambda change: (change.place.file, change.place.line or 0))

"""The tests of a Python file, as its source tells them: classes, functions, and the ids of their parameters
where these are written out. Nothing of it is executed."""

import ast
import posixpath
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import product

from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.frozen import frozen
from baselinekit.importers.drafts import LeftOut
from baselinekit.importers.pyvalues import LostValue, PythonReader, dotted
from baselinekit.model.values import Json, Path

Function = ast.FunctionDef | ast.AsyncFunctionDef


@frozen
class OneTest:
    """A test function or method. `params`: the ids of its parameters, (None,) for one without, and None
    where only pytest can tell them."""

    file: str
    classes: tuple[str, ...]
    node: Function
    params: tuple[str | None, ...] | None

    @property
    def name(self) -> str:
        return self.node.name

    def node_id(self, param: str | None) -> str:
        own = "::".join((self.file, *self.classes, self.name))
        return own if param is None else f"{own}[{param}]"

    @property
    def arguments(self) -> list[str]:
        return [one.arg for one in (*self.node.args.args, *self.node.args.kwonlyargs)]

    @property
    def calls(self) -> list[ast.Call]:
        found = [node for node in ast.walk(self.node) if isinstance(node, ast.Call)]
        return sorted(found, key=lambda call: (call.lineno, call.col_offset))

    def keywords(self, *names: str) -> Iterator[tuple[ast.Call, ast.keyword]]:
        """The calls in it that are given one of these by name."""
        for call in self.calls:
            yield from ((call, one) for one in call.keywords if one.arg in names)


class TestsOfFile:
    """A file with tests. `text`: its source; `around`: the conftest.py of its folder and of those above."""

    __test__ = False

    def __init__(self, file: str, text: str, around: Sequence[ast.Module] = ()):
        self.file, self._around = file, around
        try:
            self.tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = getattr(error, "lineno", None)
            what = "not Python that can be read"
            raise InvalidInput(Problem("BK101", what, "run it first", Place(file, line))) from None

    @cached_property
    def tests(self) -> list[OneTest]:
        return [*self._found(self.tree.body, (), self._marks(self.tree.body))]

    def called(self, classes: Sequence[str], name: str) -> OneTest | None:
        """The test of this name in these classes."""
        own = (*classes, name)
        return next((one for one in self.tests if (*one.classes, one.name) == own), None)

    @cached_property
    def _constants(self) -> dict[str, ast.expr]:
        """What names of the module stand for, if they are given a value once."""
        given = Counter[str]()
        values: dict[str, ast.expr] = {}
        for node in self.tree.body:
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            target = node.target if isinstance(node, ast.AnnAssign) else target
            if isinstance(target, ast.Name) and isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
                given[target.id] += 1
                values[target.id] = node.value
        return {name: value for name, value in values.items() if given[name] == 1}

    @cached_property
    def _classes(self) -> dict[str, ast.ClassDef]:
        return {node.name: node for node in self.tree.body if isinstance(node, ast.ClassDef)}

    def _is_plain_enum(self, name: str) -> bool:
        """Whether `str` of a member is its name: not where it is a text or a number as well."""
        return [dotted(base).rpartition(".")[2] for base in self._classes[name].bases] == ["Enum"]

    @cached_property
    def _fixtures(self) -> dict[str, "FixtureOfTests"]:
        """The fixtures that its tests may ask for, the nearest of each name."""
        found: dict[str, FixtureOfTests] = {}
        for tree in (self.tree, *self._around):
            for node in (one for one in ast.walk(tree) if isinstance(one, Function)):
                for one in node.decorator_list:
                    if dotted(one.func if isinstance(one, ast.Call) else one).endswith("fixture"):
                        fixture = _fixture(node, one, tree is self.tree)
                        found.setdefault(fixture.name, fixture)
        return found

    def _with_params(self, names: set[str], given: set[str]) -> "list[FixtureOfTests]":
        """The fixtures with parameters among those that a test needs, directly or by way of others."""
        names = names | {one.name for one in self._fixtures.values() if one.is_autouse}
        waiting, seen, found = [*sorted(names - given)], set[str](), []
        while waiting:
            name = waiting.pop()
            fixture = self._fixtures.get(name)
            if name in seen or fixture is None:
                continue
            seen.add(name)
            waiting += [one for one in fixture.arguments if one not in given]
            found += [fixture] if fixture.params is not None else []
        return found

    def _found(
        self, body: Sequence[ast.stmt], classes: tuple[str, ...], marks: list[ast.expr]
    ) -> Iterator[OneTest]:
        for node in body:
            if isinstance(node, Function) and node.name.startswith("test"):
                yield OneTest(self.file, classes, node, self._params(node, marks))
            elif isinstance(node, ast.ClassDef):
                around = [*_from_nearest(node.decorator_list), *self._marks(node.body), *marks]
                yield from self._found([*self._inherited(node), *node.body], (*classes, node.name), around)
            elif isinstance(node, ast.If | ast.Try | ast.With):
                yield from self._found(node.body, classes, marks)

    def _inherited(self, node: ast.ClassDef) -> list[ast.stmt]:
        """The methods of a base class that stands in the same file, and that the class does not replace."""
        own = {one.name for one in node.body if isinstance(one, Function)}
        bases = [self._classes.get(dotted(base)) for base in node.bases]
        return [
            one
            for base in bases
            if base is not None and base is not node
            for one in base.body
            if isinstance(one, Function) and one.name not in own
        ]

    def _marks(self, body: Sequence[ast.stmt]) -> list[ast.expr]:
        """What `pytestmark` says of all tests in it."""
        for node in body:
            if isinstance(node, ast.Assign) and [dotted(one) for one in node.targets] == ["pytestmark"]:
                value = node.value
                return list(value.elts) if isinstance(value, ast.List | ast.Tuple) else [value]
        return []

    def _params(self, node: Function, marks: list[ast.expr]) -> tuple[str | None, ...] | None:
        """As pytest joins the ids: the nearest decorator first."""
        names = {one.arg for one in (*node.args.args, *node.args.kwonlyargs)}
        given, parts = set[str](), list[list[str]]()
        for mark in (*_from_nearest(node.decorator_list), *marks):
            kind = dotted(mark.func).rpartition(".")[2] if isinstance(mark, ast.Call) else ""
            if kind == "usefixtures" and isinstance(mark, ast.Call):
                names |= {str(getattr(one, "value", "")) for one in mark.args}
            elif kind == "parametrize" and isinstance(mark, ast.Call):
                ids = self._ids(mark)
                if ids is None:
                    return None
                given |= {*_names_of(mark)}
                parts.append(ids)
        fixtures = self._with_params(names, given)
        if len(fixtures) + len(parts) > 1 and fixtures:
            return None  # in which order they come is a matter of scopes
        for fixture in fixtures:
            ids = self._called([fixture.name], fixture.params, fixture.ids) if fixture.is_own else None
            if ids is None:
                return None
            parts.append(ids)
        return tuple("-".join(one) for one in product(*parts)) if parts else (None,)

    def _ids(self, mark: ast.Call) -> list[str] | None:
        """The ids of one `parametrize`; None where they are computed."""
        given = dict(zip(("argnames", "argvalues"), mark.args, strict=False))
        given |= {str(one.arg): one.value for one in mark.keywords}
        names = _names_of(mark)
        return self._called(names, given.get("argvalues"), given.get("ids")) if names else None

    def _called(self, names: list[str], values: ast.expr | None, stated: ast.expr | None) -> list[str] | None:
        if values is None:
            return None
        try:
            rows, how = self._row(values), dotted(stated) if stated is not None else ""
            if stated is None or how in ("str", "repr"):
                wanted = [*self._stated_ids(rows, names, how)]
            else:
                wanted = [_text_of(one) for one in self._row(stated)]
        except (LostValue, TypeError, ValueError, AttributeError):
            return None
        if any(one is None for one in wanted) or len(wanted) != len(rows):
            return None
        return told_apart([str(one) for one in wanted])

    def _row(self, node: ast.expr) -> list[ast.expr]:
        node = self._constants.get(dotted(node), node) if isinstance(node, ast.Name) else node
        if isinstance(node, ast.List | ast.Tuple) and not any(
            isinstance(one, ast.Starred) for one in node.elts
        ):
            return list(node.elts)
        raise LostValue("computed")

    def _stated_ids(self, rows: list[ast.expr], names: list[str], how: str) -> Iterator[str | None]:
        for number, row in enumerate(rows):
            if isinstance(row, ast.Call) and dotted(row.func).rpartition(".")[2] == "param":
                own = next((one.value for one in row.keywords if one.arg == "id"), None)
                if own is not None:
                    yield _text_of(own)
                    continue
                cells = row.args
            else:
                cells = [row] if len(names) == 1 else self._row(row)
            words = [
                self._word(cell, f"{name}{number}", how) for name, cell in zip(names, cells, strict=True)
            ]
            yield None if None in words else "-".join(map(str, words))

    def _word(self, node: ast.expr, usual: str, how: str) -> str | None:
        """How pytest calls one value; None where only the run can tell."""
        node = self._constants.get(dotted(node), node) if isinstance(node, ast.Name) else node
        if isinstance(node, ast.Attribute) and isinstance(
            self._classes.get(dotted(node.value)), ast.ClassDef
        ):
            return dotted(node) if self._is_plain_enum(dotted(node.value)) else None
        if isinstance(node, ast.List | ast.Dict | ast.Tuple | ast.Set):
            return usual if not how else None
        value = PythonReader().read(node)
        if how == "repr":
            return None
        if isinstance(node, ast.Constant) and isinstance(node.value, bytes):
            return None
        if isinstance(value, str):
            return value.encode("unicode_escape").decode("ascii")
        return str(value) if value is None or isinstance(value, bool | int | float) else None


def _names_of(mark: ast.Call) -> list[str]:
    """The arguments that a `parametrize` gives; none, where they are computed."""
    stated = next((one.value for one in mark.keywords if one.arg == "argnames"), None)
    try:
        names = PythonReader().read(mark.args[0] if mark.args else stated or ast.Constant(None))
    except LostValue:
        return []
    return [str(one).strip() for one in (names.split(",") if isinstance(names, str) else names or ())]


@frozen
class FixtureOfTests:
    """A fixture by the name that tests ask for. `is_own`: whether it stands in the file of the tests."""

    name: str
    arguments: tuple[str, ...]
    params: ast.expr | None
    ids: ast.expr | None
    is_autouse: bool
    is_own: bool


def _fixture(node: Function, decorator: ast.expr, is_own: bool) -> FixtureOfTests:
    stated = {one.arg: one.value for one in decorator.keywords} if isinstance(decorator, ast.Call) else {}
    name = getattr(stated.get("name"), "value", node.name)
    arguments = tuple(one.arg for one in (*node.args.args, *node.args.kwonlyargs))
    autouse = getattr(stated.get("autouse"), "value", False)
    return FixtureOfTests(
        str(name), arguments, stated.get("params"), stated.get("ids"), bool(autouse), is_own
    )


def _from_nearest(decorators: Sequence[ast.expr]) -> Iterator[ast.expr]:
    return reversed(decorators)


def _text_of(node: ast.expr) -> str | None:
    value = PythonReader().read(node)
    return value.encode("unicode_escape").decode("ascii") if isinstance(value, str) else None


def told_apart(ids: Sequence[str]) -> list[str]:
    """The ids with a number behind those that come again, as pytest numbers them."""
    counts, numbers, known = Counter(ids), Counter[str](), set(ids)
    told = []
    for id in ids:
        if counts[id] > 1:
            lead = f"{id}_" if id[-1:].isdigit() else id
            while f"{lead}{numbers[id]}" in known:
                numbers[id] += 1
            told.append(f"{lead}{numbers[id]}")
            known.add(told[-1])
            numbers[id] += 1
        else:
            told.append(id)
    return told


# What an importer of snapshots is handed, and what it gives.


@frozen
class ValueDraft:
    """A value that a test compares: of which test, under which name, what is stored of it, and where it
    stood. `placeholders`: what stands for values in it, by their paths; `rules`: how it was compared."""

    test: str
    name: str | None
    value: Json
    placeholders: Mapping[Path, str]
    place: Place
    rules: Mapping[str, Json] = field(default_factory=dict)


@frozen
class CodeChange:
    """What is to be written in a test in the place of what stands there."""

    place: Place
    old: str
    new: str


class FilesOfTests:
    """The files that were named, from the project's root; what reads a file of the project; and what lists
    the values that sources keep outside of themselves."""

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
        try:
            return self._read(file).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InvalidInput(Problem("BK101", "not UTF-8 text", "", Place(file))) from None

    def tree(self, file: str) -> ast.Module | None:
        """The source of a module."""
        found = self.tests(file)
        return None if found is None else found.tree

    def tests(self, file: str) -> TestsOfFile | None:
        """The tests of a file; None where there is none, or none that can be read."""
        if file not in self._tests:
            try:
                self._tests[file] = self.opened(file)
            except BaselinekitError:
                self._tests[file] = None
        return self._tests[file]

    def opened(self, file: str) -> TestsOfFile:
        """The same, and an error where it cannot be read."""
        text, folder, around = self.text(file), posixpath.dirname(file), list[ast.Module]()
        while posixpath.basename(file) != "conftest.py":
            tree = self.tree(posixpath.join(folder, "conftest.py"))
            around += [tree] if tree is not None else []
            if not folder:
                break
            folder = posixpath.dirname(folder)
        return TestsOfFile(file, text, around)


class Moving:
    """What comes of the files of one tool. `seen`: how many files were of it."""

    def __init__(self) -> None:
        self.values: list[ValueDraft] = []
        self.left_out: list[LeftOut] = []
        self.notes: dict[str, None] = {}
        self._changes: dict[CodeChange, None] = {}
        self.seen = 0

    def leave_out(self, place: Place, what: str, hint: str = "") -> None:
        self.left_out.append(LeftOut(place.line or 0, what, hint, place.file))

    def lose(self, place: Place, error: LostValue | BaselinekitError, of: str = "") -> None:
        """Leave out what stands there, for what is wrong with it. `of`: what it is the value of."""
        begin = f"{of}: " if of else ""
        if isinstance(error, LostValue):
            self.leave_out(Place(place.file, error.at or place.line), f"{begin}{error.what}", error.hint)
        else:
            (problem, *_) = error.problems
            self.leave_out(problem.place or place, f"{begin}{problem.message}", problem.hint)

    def note(self, text: str) -> None:
        self.notes[text] = None

    def change(self, change: CodeChange) -> None:
        self._changes[change] = None

    @property
    def changes(self) -> list[CodeChange]:
        """In the order of the files and their lines."""
        return sorted(self._changes, key=lambda one: (one.place.file, one.place.line or 0))

"""Classes of the project as their sources tell them: the members of enums, and the fields of records with
their defaults. inline-snapshot leaves out what has its default, so a call alone does not say a value."""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence

from baselinekit.frozen import frozen
from baselinekit.importers.pyvalues import LostValue, dotted

Tree = Callable[[str], ast.Module | None]
"""The source of a file of the project; None where there is none, or none that can be read."""

_MOST_HOPS = 4
_RECORDS = ("dataclass", "define", "frozen", "mutable", "attrs", "s", "attributes")
_BASES = ("BaseModel", "NamedTuple", "SQLModel", "RootModel")
_EMPTY = {"list": "[]", "dict": "{}", "set": "set()", "tuple": "()", "str": "''", "int": "0", "float": "0.0"}


@frozen
class RecordField:
    """A field by its name. `default`: what it has where nothing is said; `is_required`: it has none."""

    name: str
    default: ast.expr | None
    is_required: bool


class ClassesOfSource:
    """The classes that a source names: its own, and those that it imports from files of the project."""

    def __init__(self, file: str, tree: ast.Module, trees: Tree):
        self._file, self._tree, self._trees = file, tree, trees

    def member(self, path: str) -> ast.expr | None:
        """What `Color.RED` stands for."""
        kind, _, name = path.rpartition(".")
        found = self.find(kind.rpartition(".")[2])
        if not name or not isinstance(found, ast.ClassDef):
            return None
        if not any("Enum" in dotted(base) or "Flag" in dotted(base) for base in found.bases):
            return None
        for node in found.body:
            if isinstance(node, ast.Assign) and [dotted(one) for one in node.targets] == [name]:
                return node.value
        return None

    def find(self, name: str, file: str = "", hops: int = 0) -> ast.ClassDef | ast.Assign | None:
        """Where a class is defined."""
        tree = self._tree if not file else self._trees(file)
        if tree is None or hops > _MOST_HOPS:
            return None
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                return node
            if isinstance(node, ast.Assign) and [dotted(one) for one in node.targets] == [name]:
                return node
        for node in tree.body:
            if not isinstance(node, ast.ImportFrom):
                continue
            for one in node.names:
                if one.name == "*" or (one.asname or one.name) == name:
                    wanted = name if one.name == "*" else one.name
                    for module in self._modules(node, file or self._file):
                        if (found := self.find(wanted, module, hops + 1)) is not None:
                            return found
        return None

    def _modules(self, node: ast.ImportFrom, file: str) -> Iterator[str]:
        """The files that an import may mean."""
        folders = file.split("/")[:-1]
        way = (node.module or "").split(".") if node.module else []
        starts = [folders[: len(folders) - node.level + 1]] if node.level else [folders, [], ["src"]]
        starts += [] if node.level else [folders[:count] for count in range(1, len(folders))]
        for start in starts:
            path = "/".join((*start, *way))
            yield f"{path}.py"
            yield f"{path}/__init__.py"

    def fields(self, name: str) -> Sequence[RecordField] | None:
        """The fields of a record; None where the class is not there, or is none."""
        found = self.find(name)
        if isinstance(found, ast.Assign):
            return _of_namedtuple(found.value)
        return None if found is None else self._of_class(found, 0)

    def _of_class(self, node: ast.ClassDef, hops: int) -> Sequence[RecordField] | None:
        is_record = any(
            dotted(one.func if isinstance(one, ast.Call) else one).rpartition(".")[2] in _RECORDS
            for one in node.decorator_list
        )
        fields: dict[str, RecordField] = {}
        for base in node.bases:
            name = dotted(base).rpartition(".")[2]
            if name in _BASES:
                is_record = True
                continue
            above = self.find(name) if hops < _MOST_HOPS else None
            if isinstance(above, ast.ClassDef) and (known := self._of_class(above, hops + 1)) is not None:
                is_record = True
                fields |= {one.name: one for one in known}
        if not is_record:
            return None
        for one in node.body:
            if not isinstance(one, ast.AnnAssign) or not isinstance(one.target, ast.Name):
                continue
            if "ClassVar" not in ast.unparse(one.annotation):
                fields[one.target.id] = _field(one.target.id, one.value)
        return list(fields.values())


def _of_namedtuple(node: ast.expr) -> Sequence[RecordField] | None:
    """`namedtuple("Pair", "left right")`."""
    if not isinstance(node, ast.Call) or dotted(node.func).rpartition(".")[2] != "namedtuple":
        return None
    given = node.args[1] if len(node.args) > 1 else None
    if node.keywords or given is None:
        return None
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        return [RecordField(name, None, True) for name in given.value.replace(",", " ").split()]
    if isinstance(given, ast.List | ast.Tuple):
        names = [getattr(one, "value", None) for one in given.elts]
        return [RecordField(name, None, True) for name in names if isinstance(name, str)]
    return None


def _field(name: str, value: ast.expr | None) -> RecordField:
    """`x: int`, `x: int = 1`, `x: list = field(default_factory=list)`."""
    if not isinstance(value, ast.Call):
        return RecordField(name, value, value is None)
    kind = dotted(value.func).rpartition(".")[2]
    if kind == "Factory":
        return RecordField(name, _empty(value.args[0] if value.args else None), False)
    if kind not in ("field", "Field", "ib", "attrib"):
        return RecordField(name, value, False)
    named: Mapping[str | None, ast.expr] = {one.arg: one.value for one in value.keywords}
    factory = named.get("default_factory", named.get("factory"))
    if factory is not None:
        return RecordField(name, _empty(factory), False)
    default = named.get("default", value.args[0] if kind == "Field" and value.args else None)
    if isinstance(default, ast.Constant) and default.value is Ellipsis:
        default = None
    return RecordField(name, default, default is None)


def _empty(factory: ast.expr | None) -> ast.expr | None:
    """What a factory makes that needs nothing: None where it has to be run."""
    if isinstance(factory, ast.Lambda):
        return factory.body
    written = _EMPTY.get(dotted(factory)) if factory is not None else None
    return None if written is None else ast.parse(written, mode="eval").body


def named_arguments(call: ast.Call, fields: Sequence[RecordField]) -> dict[str, ast.expr]:
    """What each field of a record is, of those that are said and those that have a default."""
    if len(call.args) > len(fields):
        raise LostValue(f"{dotted(call.func)}(…) with more values than fields", "write its fields by name")
    given = {field.name: value for field, value in zip(fields, call.args, strict=False)}
    given |= {str(one.arg): one.value for one in call.keywords}
    found: dict[str, ast.expr] = {}
    for field in fields:
        value = given.pop(field.name, field.default)
        if value is None:
            what = f"{dotted(call.func)}(…), of which `{field.name}` is not written"
            raise LostValue(what, "write the field, or a dict")
        found[field.name] = value
    if given:
        what = f"{dotted(call.func)}(…) with `{next(iter(given))}`, which is no field of it"
        raise LostValue(what, "write a dict")
    return found

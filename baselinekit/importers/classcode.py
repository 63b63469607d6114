"""Classes of the project, read from their sources: the members of enums, and the fields of records with their
defaults. inline-snapshot leaves out fields with default values, so a call alone does not state a value."""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence

from baselinekit.importers.pyvalues import LostValue, dotted
from baselinekit.structs import Struct

Tree = Callable[[str], ast.Module | None]
"""The source of a file of the project; None where there is none, or none that can be read."""

_MOST_HOPS = 4
_RECORDS = ("dataclass", "define", "frozen", "mutable", "attrs", "s", "attributes")
_BASES = ("BaseModel", "NamedTuple", "SQLModel", "RootModel")
_EMPTY = {"list": "[]", "dict": "{}", "set": "set()", "tuple": "()", "str": "''", "int": "0", "float": "0.0"}


class RecordField(Struct):
    """A field by its name. `default`: its default value; `is_required`: it has none."""

    name: str
    default: ast.expr | None
    is_required: bool


class ClassesOfSource:
    """The classes that a source uses: its own, and those that it imports from files of the project."""

    def __init__(self, file: str, tree: ast.Module, trees: Tree):
        self._file, self._tree, self._trees = file, tree, trees

    def member(self, path: str) -> ast.expr | None:
        """The value of a member such as `Color.RED`."""
        kind, _, name = path.rpartition(".")
        definition = self.find(kind.rpartition(".")[2])
        if not name or not isinstance(definition, ast.ClassDef):
            return None
        if not any("Enum" in dotted(base) or "Flag" in dotted(base) for base in definition.bases):
            return None
        for node in definition.body:
            if isinstance(node, ast.Assign) and [dotted(target) for target in node.targets] == [name]:
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
            if isinstance(node, ast.Assign) and [dotted(target) for target in node.targets] == [name]:
                return node
        for node in tree.body:
            if not isinstance(node, ast.ImportFrom):
                continue
            for alias in node.names:
                if alias.name == "*" or (alias.asname or alias.name) == name:
                    original_name = name if alias.name == "*" else alias.name
                    for module in self._modules(node, file or self._file):
                        if (definition := self.find(original_name, module, hops + 1)) is not None:
                            return definition
        return None

    def _modules(self, node: ast.ImportFrom, file: str) -> Iterator[str]:
        """The files that an import may refer to."""
        folders = file.split("/")[:-1]
        module_path = (node.module or "").split(".") if node.module else []
        starts = [folders[: len(folders) - node.level + 1]] if node.level else [folders, [], ["src"]]
        starts += [] if node.level else [folders[:count] for count in range(1, len(folders))]
        for start in starts:
            path = "/".join((*start, *module_path))
            yield f"{path}.py"
            yield f"{path}/__init__.py"

    def fields(self, name: str) -> Sequence[RecordField] | None:
        """The fields of a record; None where the class is not there, or is none."""
        definition = self.find(name)
        if isinstance(definition, ast.Assign):
            return _of_namedtuple(definition.value)
        return None if definition is None else self._of_class(definition, 0)

    def _of_class(self, node: ast.ClassDef, hops: int) -> Sequence[RecordField] | None:
        is_record = any(
            dotted(decorator.func if isinstance(decorator, ast.Call) else decorator).rpartition(".")[2]
            in _RECORDS
            for decorator in node.decorator_list
        )
        fields: dict[str, RecordField] = {}
        for base in node.bases:
            name = dotted(base).rpartition(".")[2]
            if name in _BASES:
                is_record = True
                continue
            base_class = self.find(name) if hops < _MOST_HOPS else None
            if (
                isinstance(base_class, ast.ClassDef)
                and (base_fields := self._of_class(base_class, hops + 1)) is not None
            ):
                is_record = True
                fields |= {record_field.name: record_field for record_field in base_fields}
        if not is_record:
            return None
        for statement in node.body:
            if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
                continue
            if "ClassVar" not in ast.unparse(statement.annotation):
                fields[statement.target.id] = _field(statement.target.id, statement.value)
        return list(fields.values())


def _of_namedtuple(node: ast.expr) -> Sequence[RecordField] | None:
    """`namedtuple("Pair", "left right")`."""
    if not isinstance(node, ast.Call) or dotted(node.func).rpartition(".")[2] != "namedtuple":
        return None
    field_names = node.args[1] if len(node.args) > 1 else None
    if node.keywords or field_names is None:
        return None
    if isinstance(field_names, ast.Constant) and isinstance(field_names.value, str):
        return [RecordField(name, None, True) for name in field_names.value.replace(",", " ").split()]
    if isinstance(field_names, ast.List | ast.Tuple):
        names = [getattr(element, "value", None) for element in field_names.elts]
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
    keywords: Mapping[str | None, ast.expr] = {keyword.arg: keyword.value for keyword in value.keywords}
    factory = keywords.get("default_factory", keywords.get("factory"))
    if factory is not None:
        return RecordField(name, _empty(factory), False)
    default = keywords.get("default", value.args[0] if kind == "Field" and value.args else None)
    if isinstance(default, ast.Constant) and default.value is Ellipsis:
        default = None
    return RecordField(name, default, default is None)


def _empty(factory: ast.expr | None) -> ast.expr | None:
    """The value of a default factory; None if only running it can tell."""
    if isinstance(factory, ast.Lambda):
        return factory.body
    source = _EMPTY.get(dotted(factory)) if factory is not None else None
    return None if source is None else ast.parse(source, mode="eval").body


def named_arguments(call: ast.Call, fields: Sequence[RecordField]) -> dict[str, ast.expr]:
    """The value of each field of a record: the argument of the call, else the default."""
    if len(call.args) > len(fields):
        raise LostValue(f"{dotted(call.func)}(…) with more values than fields", "write its fields by name")
    values = {field.name: value for field, value in zip(fields, call.args, strict=False)}
    values |= {str(keyword.arg): keyword.value for keyword in call.keywords}
    arguments: dict[str, ast.expr] = {}
    for field in fields:
        value = values.pop(field.name, field.default)
        if value is None:
            message = f"{dotted(call.func)}(…), of which `{field.name}` is not written"
            raise LostValue(message, "write the field, or a dict")
        arguments[field.name] = value
    if values:
        message = f"{dotted(call.func)}(…) with `{next(iter(values))}`, which is no field of it"
        raise LostValue(message, "write a dict")
    return arguments

"""The rules of the architecture as functions over source texts: tests/test_architecture.py asks them of the
package, and of snippets that break them.

Every rule takes the package as a mapping of module names to sources and gives back what breaks it, as one
readable line each."""

import ast
import gc
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

PACKAGE = "baselinekit"

ORDER = [
    "__main__",
    "pytest_plugin",
    "library",
    "cli",
    "demo",
    "evals",
    "moving",
    "commands",
    "suites",
    "graders",
    "learning",
    "changes",
    "importers",
    "report",
    "matching",
    "store",
    "kinds",
    "schema",
    "placeholders",
    "sandbox",
    "clients",
    "files",
    "secrets",
    "values",
    "model",
    "metrics",
    "escape",
    "judge",
    "codes",
    "errors",
    "lazy",
    "structs",
]
"""The packages, top to bottom: each imports only from those below it."""

PURE = {
    "escape",
    "metrics",
    "values",
    "secrets.variables",
    "clients.trust",
    "files",
    "schema",
    "placeholders",
}
PURE |= {"importers", "matching", "graders", "learning", "changes"}
PURE |= {
    f"moving.{name}"
    for name in ("promptfoo", "promptfooasserts", "reading", "skillevals", "templates", "vcr")
}
"""The rules: they touch no file, clock, socket or client."""

OWNERS = {
    "httpx": ["clients.http"],
    "httpcore": ["clients.http"],
    "yaml": ["files.libyaml"],
    "msgspec": ["schema", "structs"],
    "prometheus_client": ["kinds.bodies"],
    "deepdiff": ["matching.explain"],
    "jsonschema": ["graders.by_schema"],
    "referencing": ["graders.by_schema"],
    "jinja2": ["report.html.page", "moving.templates"],
    "markupsafe": ["report.html.page"],
    "regex": ["placeholders.table"],
    "jsonpath_ng": ["values.jsonpath"],
    "click": ["cli"],
    "numpy": ["clients.models.minilm"],
    "safetensors": ["clients.models.minilm"],
    "tokenizers": ["clients.models.embedding"],
    "distributed": ["commands.cluster"],
    "pytest": ["pytest_plugin"],
    "syrupy": ["pytest_plugin.taking"],
    "inline_snapshot": ["pytest_plugin.taking"],
    "_pytest": ["pytest_plugin.items"],
}
"""Each library with the modules or packages that may import it. No other library is imported."""

CLIENT_FILES = {"clients.http", "clients.programs.process", "report.wording", "report.terminal"}
"""What only the cli builds: it may import these files past the dispatch of their package."""

RECIPE_KINDS = {"http", "flow", "command", "skill", "prompt", "echo", "cli", "mock", "post", "replay"}
PUBLIC = {"library", "pytest_plugin"}
"""What Python people use: its classes have a signature from the start."""

NAMED_FOR_USERS = {"library"}
"""Its classes are called as the user says it, whatever the house calls its own."""

KNOW_KINDS = {"kinds"}
"""Who may tell recipe kinds apart: everybody else asks kinds/table.py."""

PROGRAMS = {"judge", "clients.programs.call", "sandbox.confined", "demo.service"}
"""Programs of their own, started beside the tool: their pipes are how they answer."""

WORLD = {
    *("asyncio", "concurrent", "ctypes", "fcntl", "glob", "http", "importlib", "io", "logging", "mmap"),
    *("multiprocessing", "os", "pathlib", "random", "secrets", "select", "selectors", "shutil", "signal"),
    *("socket", "socketserver", "sqlite3", "ssl", "subprocess", "sys", "tempfile", "threading", "time"),
    *("urllib.request", "urllib3", "uuid1"),
}
"""Modules by which a rule would touch the world. Of `os` the lexical half of os.path is allowed."""

LEXICAL = {
    "path",
    "sep",
    "basename",
    "commonpath",
    "dirname",
    "isabs",
    "join",
    "normpath",
    "relpath",
    "split",
    "splitext",
}
WORLDLY_CALLS = {"open", "print", "input", "exec", "eval", "breakpoint", "exit", "quit", "__import__"}
WORLDLY_METHODS = {
    "datetime.now",
    "datetime.utcnow",
    "datetime.today",
    "date.today",
    "uuid.uuid1",
    "uuid.uuid4",
}

TIME_OF_DAY = {
    *("time.time", "time.time_ns", "time.ctime", "time.asctime", "time.strftime", "time.localtime"),
    *("time.gmtime", "datetime.now", "datetime.utcnow", "datetime.today", "date.today"),
}
READS_THE_TIME = {
    "cli.entry": "the clock, from which everybody has it",
    "cli.watch": "wording of a time of the clock's",
    "kinds.settings": "the clients' own clock, where they are handed no other",
    "demo.service": "the same for the demo's service",
    "moving.conversion": "how old a file is that a killed process left",
}
CUTTERS = {"values.texts", "report.values"}
"""Where texts are cut: by the function that masks them first, and where a report shows what was masked."""

CUT_ELSEWHERE = {
    "sandbox.confined": "runs beside generated code: twice what is shown is handed to who knows the secrets",
    "clients.programs.process": "keeps twice of a pipe what is shown: it is cut behind the mask",
    "matching.arrays": "rows of an array",
    "importers.drafts": "an id, of a request in which variables stand for its secrets",
    "cli.demo": "lines of the demo's own page",
    "report.reviewing": "lines of a page",
    "report.differences": "lines and words of a text that was masked",
    "clients.models.minilm": "of a file of the folder that holds a model",
    "cli.recipes": "a name for a file, of the recipe as it is written, with the names of secrets",
    "store.journal": "a folder, by the name that the configuration gives to a model",
    "clients.trust": "what is read of a host",
    "report.forms.sarif": "of a checksum",
    "report.evals.terminal": "the end of a note while it is typed",
    "report.sections": "a commit",
    "report.history": "a commit",
    "report.wording": "a commit",
    "secrets.declared": "what is looked for, which nobody is shown",
    "store.at_revision": "a commit",
    "suites.settings": "a time",
}
"""Who cuts a text besides them, and why half a secret cannot come of it."""

_LEAST_CUT = 11
_A_LENGTH = re.compile(r"_?(LONGEST|SHOWN|PRINTED|LOOKED_AT|TORN)\w*|limit|columns|room|width")
_SHORTENS = r"\btextwrap\.(?!dedent)|^shorten$|^wrap$|^fill$"

Package = Mapping[str, str]


def package_of(root: Path) -> dict[str, str]:
    """Module name within the package (`store.yamlfile`, "" for the package itself) to source."""
    found = {}
    for file in sorted((root / PACKAGE).rglob("*.py")):
        parts = file.relative_to(root / PACKAGE).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = file.read_text("utf-8")
    return found


@cache
def _tree(source: str) -> ast.Module:
    """Nothing of it is garbage: looking for some takes five times as long as parsing the package."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(source)
    finally:
        if was_on:
            gc.enable()


@cache
def nodes(source: str) -> tuple[ast.AST, ...]:
    """Everything in it but whether a name is read or written, for all rules: they ask the same five hundred
    files. In the order of ast.walk, which asks the whole tree more than twice as long."""
    found: list[ast.AST] = [_tree(source)]
    for node in found:
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                found.extend(part for part in value if isinstance(part, ast.AST))
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                found.append(value)
    return tuple(found)


@cache
def _import_statements(source: str) -> tuple[ast.Import | ast.ImportFrom, ...]:
    return tuple(node for node in nodes(source) if isinstance(node, ast.Import | ast.ImportFrom))


def folder_of(module: str) -> str:
    return module.split(".")[0]


def imports(module: str, source: str, package: Package) -> Iterator[tuple[str, int]]:
    """Everything that a module imports, anywhere in it, with the line: `errors`-like names for our own
    modules behind a leading dot (`.store.yamlfile`), plain names for others."""
    for node in _import_statements(source):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield _named(alias.name), node.lineno
        else:
            base = _absolute(module, node, package)
            for alias in node.names:
                deeper = f"{base}.{alias.name}"
                ours = deeper.startswith(f"{PACKAGE}.") and deeper.removeprefix(f"{PACKAGE}.") in package
                yield _named(deeper if ours else base), node.lineno


def _named(name: str) -> str:
    if name == PACKAGE or name.startswith(f"{PACKAGE}."):
        return "." + name.removeprefix(PACKAGE).removeprefix(".")
    return name


def _absolute(module: str, node: ast.ImportFrom, package: Package) -> str:
    if not node.level:
        return node.module or ""
    is_package = any(other.startswith(f"{module}.") for other in package) or module == ""
    parts = module.split(".") if module else []
    parts = parts[: len(parts) - node.level + is_package]
    return ".".join([PACKAGE, *parts, *((node.module,) if node.module else ())])


def own_imports(package: Package) -> Iterator[tuple[str, str, int]]:
    """(module, imported module of ours, line). The package itself imports nothing: for who reads the types it
    names what it gives when it is asked for."""
    for module, source in package.items():
        if not module:
            continue
        for name, line in imports(module, source, package):
            if name.startswith("."):
                yield module, name[1:], line


def order(package: Package) -> Iterator[str]:
    """Rule 1: imports between packages go down the order only."""
    for module, imported, line in own_imports(package):
        above, below = folder_of(module), folder_of(imported)
        if above == below or not below:  # the package itself: its version
            continue
        if above not in ORDER or below not in ORDER:
            yield f"{module}:{line} imports {imported}: a package without a place in the order"
        elif ORDER.index(above) > ORDER.index(below):
            yield f"{module}:{line} imports {imported}, which is above it"


def circles(package: Package) -> Iterator[str]:
    """Rule 1: no circle anywhere, in-function and type-only imports included."""
    graph: dict[str, set[str]] = {module: set() for module in package}
    for module, imported, _ in own_imports(package):
        if imported in graph and imported != module:
            graph[module].add(imported)
    while free := {module for module, needed in graph.items() if not needed}:
        graph = {module: needed - free for module, needed in graph.items() if module not in free}
    while used := set().union(*graph.values()) ^ set(graph):  # those that only lead into a circle
        graph = {module: needed for module, needed in graph.items() if module not in used}
    if graph:
        yield "a circle of imports: " + ", ".join(sorted(graph))


def pure(package: Package) -> Iterator[str]:
    """Rule 2: rules touch no file, clock, socket, random or client."""
    for module, source in package.items():
        if not is_among(module, PURE):
            continue
        for name, line in imports(module, source, package):
            if name != "os.path" and any(name == one or name.startswith(f"{one}.") for one in WORLD):
                yield f"{module}:{line} imports {name}"
        yield from (f"{module}:{line} uses {what}" for what, line in _worldly(source))


def _worldly(source: str) -> Iterator[tuple[str, int]]:
    for node in nodes(source):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in WORLDLY_CALLS:
            yield f"{node.func.id}()", node.lineno
        elif isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            worldly_os = re.fullmatch(r"os(\.\w+)+", name) and not set(name.split(".")[1:]) <= LEXICAL
            if worldly_os or ".".join(name.split(".")[-2:]) in WORLDLY_METHODS:
                yield name, node.lineno


def clocks(package: Package) -> Iterator[str]:
    """One clock: the time of day is handed down, so that a run can be told another one."""
    for module, source in package.items():
        imported = {name for name, _ in imports(module, source, package)}
        for node in nodes(source):
            if module in READS_THE_TIME or not isinstance(node, ast.Attribute | ast.ImportFrom):
                continue
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                names = [".".join(ast.unparse(node).split(".")[-2:])]
            yield from (
                f"{module}:{node.lineno} uses {name}" for name in names if _is_time_of_day(name, imported)
            )


def _is_time_of_day(name: str, imported: set[str]) -> bool:
    """A moment that is called `time` has a strftime as well."""
    return name in TIME_OF_DAY and (not name.startswith("time.") or "time" in imported)


def owners(package: Package) -> Iterator[str]:
    """Rule 3: one third-party library, one owner."""
    for module, source in package.items():
        for name, line in imports(module, source, package):
            library = name.split(".")[0]
            if name.startswith(".") or library in sys.stdlib_module_names:
                continue
            if not {module, folder_of(module)} & set(OWNERS.get(library, ())):
                yield f"{module}:{line} imports {name}, which belongs to {OWNERS.get(library, 'nobody')}"


def is_among(module: str, names: set[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names)


def clients(package: Package) -> Iterator[str]:
    """Rule 4: only cli builds real clients, prints or exits."""
    for module, source in package.items():
        if folder_of(module) in ("cli", "__main__", *PUBLIC) or module in PROGRAMS:
            continue
        for name, line in imports(module, source, package):
            imported = name.removeprefix(".")
            if (
                name.startswith(".")
                and is_among(imported, CLIENT_FILES)
                and folder_of(imported) != folder_of(module)
            ):
                yield f"{module}:{line} imports the client {imported}"
        for node in nodes(source):
            said = _prints_or_exits(node)
            if said:
                yield f"{module}:{getattr(node, 'lineno', 0)} {said}"


def _prints_or_exits(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        name = ast.unparse(node.func)
        if name in ("print", "exit", "quit", "input", "sys.exit", "os._exit", "os.abort"):
            return f"calls {name}()"
    if isinstance(node, ast.Raise) and node.exc is not None and "SystemExit" in ast.unparse(node.exc):
        return "raises SystemExit"
    if isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.stdout", "sys.stderr", "sys.stdin"):
        return f"uses {ast.unparse(node)}"
    return ""


def kinds(package: Package) -> Iterator[str]:
    """Rule 9: only kinds/ knows a recipe kind by its name or by its classes."""
    classes = {"HttpRequest"} | {
        node.name
        for module, source in package.items()
        if folder_of(module) == "kinds" and module != "kinds.kind"
        for node in _tree(source).body
        if isinstance(node, ast.ClassDef)
    }
    for module, source in package.items():
        for node in nodes(source) if folder_of(module) not in KNOW_KINDS else ():
            if _tells_kinds_apart(node, classes):
                line = getattr(node, "lineno", getattr(getattr(node, "pattern", None), "lineno", 0))
                yield f"{module}:{line} tells recipe kinds apart: {ast.unparse(node)}"


def _tells_kinds_apart(node: ast.AST, classes: set[str]) -> bool:
    """By a comparison, a table of names, a match, or the class of an input or an execution."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        named = any(_strings(side) & RECIPE_KINDS for side in sides)
        return (named and any(map(_is_kind, sides))) or any(_name(side) in classes for side in sides)
    if isinstance(node, ast.Dict):
        keys = {getattr(key, "value", None) for key in node.keys}
        return len(keys) > 1 and keys <= RECIPE_KINDS
    if isinstance(node, ast.match_case):
        patterns = list(ast.walk(node.pattern))
        values = [part.value for part in patterns if isinstance(part, ast.MatchValue)]
        matched = {_name(part.cls) for part in patterns if isinstance(part, ast.MatchClass)}
        return bool(matched & classes) or any(_strings(value) & RECIPE_KINDS for value in values)
    if isinstance(node, ast.Call) and _name(node.func) in ("isinstance", "issubclass"):
        return any(_name(part) in classes for part in ast.walk(node.args[-1]))
    return False


def _strings(node: ast.AST) -> set[object]:
    parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    return {part.value for part in parts if isinstance(part, ast.Constant)}


def _is_kind(node: ast.AST) -> bool:
    """Whether an expression holds a kind's name: `x.kind`, `execution.type`, `raw["type"]`."""
    written = ast.unparse(node)
    return bool(re.search(r"\b(kind|type)[\"')\]]*$|\bkind\w*(\(.*\))?\.name$", written))


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def class_names(package: Package) -> Iterator[str]:
    """A class name occurs once."""
    places: dict[str, str] = {}
    for module, source in package.items():
        if folder_of(module) in NAMED_FOR_USERS:
            continue
        for node in nodes(source):
            if isinstance(node, ast.ClassDef):
                here = f"{module}:{node.lineno}"
                first = places.setdefault(node.name, here)
                if first != here:
                    yield f"{here} {node.name} is a class of {first} too"


def cuts(package: Package) -> Iterator[str]:
    """Rule 8: text is shortened only by the function that masks first."""
    for module, source in package.items():
        for node in nodes(source):
            how = _cuts(node)
            if how and module not in CUTTERS and module not in CUT_ELSEWHERE:
                yield f"{module}:{getattr(node, 'lineno', 0)} cuts a text: {how}"


def _cuts(node: ast.AST) -> str:
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        written = ast.unparse(node)
        bounds = filter(None, (node.slice.lower, node.slice.upper))
        of_text = not written.partition("[")[0].endswith(("digest()", ".splitlines()"))
        return written if of_text and any(map(_is_length, bounds)) else ""
    if isinstance(node, ast.Call) and re.search(_SHORTENS, ast.unparse(node.func)):
        return ast.unparse(node)
    if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
        return ast.unparse(node) if re.search(r"\.\d+s?'$", ast.unparse(node.format_spec)) else ""
    return ""


def _is_length(bound: ast.expr) -> bool:
    """Whether a bound of a slice says how long a text may be. How many things of a list are shown has a name
    with `MOST` in it."""
    for node in ast.walk(bound):
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and abs(node.value) >= _LEAST_CUT:
            return True
        if isinstance(node, ast.Name) and _A_LENGTH.fullmatch(node.id):
            return True
    return False

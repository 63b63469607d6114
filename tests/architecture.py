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

LAYERS = {
    "": 0,  # the package itself: its version
    "frozen": -1,
    "lazy": -1,
    "errors": 0,
    "codes": 0,
    "judge": 0,
    "model": 1,
    "escape": 1,
    "metrics": 1,
    "secrets": 1,
    "texts": 2,
    "variables": 2,
    "tree": 3,
    "trust": 3,
    "documents": 4,
    "placeholders": 5,
    "schema": 5,
    "kinds": 6,
    "programs": 6,
    "models": 7,
    "replaying": 7,
    "store": 7,
    "report": 7,
    "matching": 8,
    "suites": 8,
    "grade": 7,
    "importers": 7,
    "refresh": 9,
    "workflow": 10,
    "approval": 11,
    "evals": 11,
    "demo": 12,
    "web": 12,
    "cli": 13,
    "library": 14,
    "pytest_plugin": 15,
    "__main__": 16,
}
WITHIN = {
    "report": {
        "values": 0,
        "sides": 1,
        "next_commands": 1,
        "wording": 1,
        "differences": 2,
        "history": 2,
        "confusion": 2,
        "resultfile": 3,
        "resultstream": 4,
        "beside": 4,
        "grouping": 3,
        "refreshing": 5,
        "terminal": 5,
        "evals": 6,
        "reviewing": 6,
        "html": 7,
        "forms": 8,
    },
}
"""The layers inside a package that is large enough to have some."""

ADAPTERS = {"models", "replaying", "store", "report"}
PURE = {"escape", "metrics", "texts", "tree", "variables", "trust", "documents", "schema"}
PURE |= {"placeholders", "kinds", "importers", "matching", "grade", "refresh"}

OWNERS = {
    "httpx": ["replaying.client"],
    "httpcore": ["replaying.pooled"],
    "h11": ["replaying.spoken"],
    "yaml": ["documents.libyaml"],
    "pydantic": ["schema.complaints"],
    "pydantic_core": ["schema.complaints"],
    "deepdiff": ["matching.explain"],
    "jsonschema": ["grade.by_schema"],
    "referencing": ["grade.by_schema"],
    "regex": ["placeholders.table"],
    "jsonpath_ng": ["replaying.flow"],
    "click": ["cli"],
    "numpy": ["models.minilm"],
    "safetensors": ["models.minilm"],
    "tokenizers": ["models.embedding"],
    "distributed": ["workflow.cluster"],
    "pytest": ["pytest_plugin"],
    "_pytest": ["pytest_plugin.items"],
}
"""Each library with the modules or packages that may import it. No other library is imported."""

CLIENT_FILES = {"replaying.client", "programs.process", "report.wording", "report.terminal"}
"""What only the cli builds: it may import these files past the dispatch of their package."""

ENTRANCES = {
    "matching.weakened": "what a change to a baseline lets pass, of which no compare asks",
    "matching.semantic": "the words of two texts that a judge is asked about",
    "replaying.settings": "what a replay is handed, and how much a file may ask for",
    "replaying.environment": "where an output was captured",
    "replaying.files": "the files that a recipe names",
    "replaying.traces": "what a target told, written down for a target of stored answers",
    "models.post": "what a model is handed, and what a form of it is made of, also in another package",
    "models.proxy": "a model for a program that judges",
    "models.recording": "answers kept of earlier questions",
    "models.embedding": "whether the texts of a project can be compared by their meaning",
}
"""What of a package with a dispatch.py is entered beside it, and what for."""

RECIPE_KINDS = {"http", "flow", "command", "skill", "prompt", "echo", "cli", "mock", "post", "replay"}
PUBLIC = {"library", "pytest_plugin"}
"""What Python people use: its classes have a signature from the start."""

NAMED_FOR_USERS = {"library"}
"""Its classes are called as the user says it, whatever the house calls its own."""

KNOW_KINDS = {"kinds", "replaying"}
"""Who may tell recipe kinds apart: everybody else asks kinds/table.py."""

PROGRAMS = {"judge", "programs.call", "programs.confined", "demo.service"}
"""Programs of their own, started beside the tool: their pipes are how they answer."""

WORLD = {
    *("asyncio", "concurrent", "ctypes", "fcntl", "glob", "http", "importlib", "io", "logging", "mmap"),
    *("multiprocessing", "os", "pathlib", "random", "secrets", "select", "selectors", "shutil", "signal"),
    *("socket", "socketserver", "sqlite3", "ssl", "subprocess", "sys", "tempfile", "threading", "time"),
    *("urllib.request", "urllib3", "uuid1"),
}
"""Modules by which a rule would touch the world. Of `os` the lexical half of os.path is allowed."""

TABLES_BY_NAME = {"kinds.table"}
"""Rules that import a module of their own package by the name in a table, with the first use of its row."""

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
    "replaying.settings": "the clients' own clock, where they are handed no other",
    "demo.service": "the same for the demo's service",
    "store.record": "part of a name that occurs once",
    "store.atomic": "part of a name that occurs once; who holds a lock, for whoever waits for it",
}
CUTTERS = {"texts", "report.values"}
"""Where texts are cut: by the function that masks them first, and where a report shows what was masked."""

CUT_ELSEWHERE = {
    "programs.confined": "runs beside generated code: twice what is shown is handed to who knows the secrets",
    "programs.process": "keeps twice of a pipe what is shown: it is cut behind the mask",
    "matching.arrays": "rows of an array",
    "importers.syrupy": "the name of a file, which is that of a test",
    "importers.drafts": "an id, of a request in which variables stand for its secrets",
    "cli.demo": "lines of the demo's own page",
    "report.reviewing": "lines of a page",
    "report.differences": "lines and words of a text that was masked",
    "models.minilm": "of a file of the folder that holds a model",
    "cli.recipes": "a name for a file, of the recipe as it is written, with the names of secrets",
    "replaying.answer": "what is read of a date",
    "store.results": "a folder, by the name that the configuration gives to a model",
    "store.atomic": "a name for a file, by that of the machine",
    "trust": "what is read of a host",
    "report.forms.sarif": "of a checksum",
    "report.evals.terminal": "the end of a note while it is typed",
    "report.beside": "a commit",
    "report.history": "a commit",
    "report.wording": "a commit",
    "secrets.declared": "what is looked for, which nobody is shown",
    "store.at_revision": "a commit",
    "suites.settings": "a time",
}
"""Who cuts a text besides them, and why half a secret cannot come of it."""

MASKED_ALREADY = {
    "schema.records": "a field of a report that was masked when it was made",
    "report.resultfile": "a path in a result file, which is written masked",
    "report.evals.terminal": "a note and an output that the queue holds masked",
    "report.evals.markdown": "what a masked report shows of a failure",
    "report.forms.annotations": "a remark of a masked report",
    "evals.cases": "attempts are masked when they are made",
    "evals.attempts": "the output behind the mask",
    "evals.notifying": "tells what the report tells",
    "evals.rating": "a name that was typed",
    "workflow.judging": "the lines behind the mask",
    "workflow.history": "the environment that a report tells",
    "cli.capturing": "values are masked when they are learnt",
    "models.recording": "the parts of a question are masked when they are taken apart",
    "programs.children": "the line behind the mask",
    "programs.sandbox": "what the sandbox says before it runs anything",
    "grade.by_function": "the line behind the mask",
    "grade.by_human": "of a case in which secrets are masked",
    "grade.by_line": "the reply behind the mask",
    "grade.nearness": "the text behind the mask, and a pattern of the project",
    "grade.task": "without clients there are no secrets",
    "matching.loosened": "of a file of the project",
    "tree.paths": "of a file of the project",
    "tree.jsonpath": "of a file of the project",
    "replaying.flow": "of a file of the project, and of no answer",
    "grade.criteria": "of a file of the project",
    "grade.rubricitems": "of a file of the project",
    "placeholders.template": "of a file of the project",
    "placeholders.table": "of a file of the project",
    "schema.complaints": "of a file of the project",
}
"""Who may say that a text has been masked already, and why that is so."""

TAKEN_APART = {
    "approval.planning": "the keys of a rule",
    "approval.refresh": "a target that was masked when it was kept",
    "cli.capture": "a word of the command line, which says what kind of recipe is meant",
    "cli.capturing": "a text as it is stored: a file holds no secret",
    "cli.delivery": "the names of our own files",
    "cli.options": "NAME of NAME=VALUE, where there is no value",
    "cli.remotefiles": "the host of an address",
    "demo.api": "the demo's own texts",
    "documents": "the written form of a file of the project",
    "evals.selection": "a path of the project",
    "evals.sidebyside": "the id of a case",
    "grade.criteria": "a rubric of the project",
    "grade.reply_code": "the name of a module",
    "models.minilm": "of a file of the folder that holds a model",
    "placeholders": "one value, read to be judged: nothing of it is shown",
    "programs.confined": "what the kernel says of a process",
    "programs.git": "names of git's own",
    "programs.gitaddress": "an address that a file of the project names",
    "programs.gitfiles": "the scheme of such an address",
    "programs.process": "what the kernel says of a process",
    "pytest_plugin": "the node id of a test",
    "refresh.texts": "the line on which a part of an answer stands: what is told of it is masked",
    "replaying.answer": "the type in a content type; name and path of a cookie: none of them is shown",
    "replaying.environment": "the first line of what a program prints: a line is masked alone too",
    "replaying.http": "names of cookies, the name of a file of the project",
    "replaying.settings": "an address of the recipe",
    "replaying.client": "hosts of the operator's",
    "replaying.spoken": "a sentence of h11's, without the bytes that it quotes",
    "report.confusion": "the id of a case",
    "report.differences": "the first line of a masked reason",
    "report.forms.junit": "a file of the project",
    "report.forms.markdown": "the first line of a masked reason",
    "report.forms.table": "a path of the project",
    "importers": "the written form of a file that the operator names; its secrets become variables",
    "kinds": "the name of a step",
    "schema": "the name of a part of our own schema",
    "store": "names, digests and links of the project's files",
    "suites": "names and paths of the project's files",
    "trust": "programs and origins of the configuration, a host and its zone",
    "variables": "a line of a file with variables, before its comment",
    "workflow": "names, digests and addresses of the project",
}
"""Who takes a part of a text by what separates it, and why no half secret comes of it."""

_LEAST_CUT = 11
_A_LENGTH = re.compile(r"_?(LONGEST|SHOWN|PRINTED|LOOKED_AT|TORN)\w*|limit|columns|room|width")
_SHORTENS = r"\btextwrap\.(?!dedent)|^shorten$|^wrap$|^fill$"
_PARTS = {"partition", "rpartition", "split", "rsplit", "splitlines"}

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


def inner_name(module: str) -> str:
    """The part of its package in which a module is: a folder, or a file that stands for itself."""
    return module.split(".")[1] if "." in module else ""


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


def layers(package: Package) -> Iterator[str]:
    """Rule 1: imports between packages go to a lower layer only, and so between the parts of a package."""
    for module, imported, line in own_imports(package):
        table, above, below = LAYERS, folder_of(module), folder_of(imported)
        if above == below:
            table, above, below = WITHIN.get(above, {}), inner_name(module), inner_name(imported)
        if above == below or not table:
            continue
        if above not in table or below not in table:
            yield f"{module}:{line} imports {imported}: a package without a layer"
        elif table[below] >= table[above]:
            yield f"{module}:{line} (layer {table[above]}) imports {imported} (layer {table[below]})"


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


def adapters(package: Package) -> Iterator[str]:
    """Rule 2: the adapters never import each other, nor the rules above them, nor the workflow."""
    for module, imported, line in own_imports(package):
        strangers = (ADAPTERS | {"matching", "grade", "workflow"}) - {folder_of(module)}
        if folder_of(module) in ADAPTERS and folder_of(imported) in strangers:
            yield f"{module}:{line} imports {imported}"


def pure(package: Package) -> Iterator[str]:
    """Rule 2: rules touch no file, clock, socket, random or client."""
    for module, source in package.items():
        if folder_of(module) not in PURE:
            continue
        for name, line in imports(module, source, package):
            if name == "importlib" and module in TABLES_BY_NAME:
                continue
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


def clients(package: Package) -> Iterator[str]:
    """Rule 4: only cli builds real clients, prints or exits."""
    for module, source in package.items():
        if folder_of(module) in ("cli", "__main__", *PUBLIC) or module in PROGRAMS:
            continue
        for name, line in imports(module, source, package):
            imported = name.removeprefix(".")
            if name.startswith(".") and is_client_file(imported) and folder_of(imported) != folder_of(module):
                yield f"{module}:{line} imports the client {imported}"
        for node in nodes(source):
            said = _prints_or_exits(node)
            if said:
                yield f"{module}:{getattr(node, 'lineno', 0)} {said}"


def is_client_file(module: str) -> bool:
    return any(module == client or module.startswith(f"{client}.") for client in CLIENT_FILES)


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


def dispatches(package: Package) -> Iterator[str]:
    """Rule 5: a package with a dispatch.py is entered there, and where ENTRANCES says so."""
    guarded = {folder_of(module) for module in package if module.endswith(".dispatch")}
    for module, imported, line in own_imports(package):
        inside = folder_of(imported)
        if inside not in guarded or inside == folder_of(module) or imported == f"{inside}.dispatch":
            continue
        if imported in ENTRANCES:
            continue
        if folder_of(module) == "cli" and is_client_file(imported):
            continue
        yield f"{module}:{line} enters {inside} by {imported}"


def kinds(package: Package) -> Iterator[str]:
    """Rule 9: only kinds/ and replaying/ know a recipe kind by its name or by its classes."""
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


def drawers(package: Package) -> Iterator[str]:
    """A module is one idea, not a drawer."""
    for module in package:
        if module.rpartition(".")[2] in ("utils", "util", "helpers", "common", "misc"):
            yield f"{module} is a drawer, not an idea"


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
            if _takes_a_part(node) and not {module, folder_of(module)} & {*TAKEN_APART, *CUTTERS}:
                yield f"{module}:{getattr(node, 'lineno', 0)} takes a part of a text: {ast.unparse(node)}"
            said = isinstance(node, ast.Name) and node.id == "no_mask"
            if said and not {module, folder_of(module)} & {*MASKED_ALREADY, "texts"}:
                yield f"{module}:{getattr(node, 'lineno', 0)} says that a text is masked already"


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


def _takes_a_part(node: ast.AST) -> bool:
    """Whether it is one of the parts into which a text is split."""
    if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call)):
        return False
    called = node.value.func
    return (
        isinstance(called, ast.Attribute) and called.attr in _PARTS and not isinstance(node.slice, ast.Slice)
    )


def _is_length(bound: ast.expr) -> bool:
    """Whether a bound of a slice says how long a text may be. How many things of a list are shown has a name
    with `MOST` in it."""
    for node in ast.walk(bound):
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and abs(node.value) >= _LEAST_CUT:
            return True
        if isinstance(node, ast.Name) and _A_LENGTH.fullmatch(node.id):
            return True
    return False

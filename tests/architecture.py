"""The rules of the architecture as functions over source texts: tests/test_architecture.py asks them of the
package, and of snippets that break them.

Every rule takes the package as a mapping of module names to sources and gives back what breaks it, as one
readable line each."""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

PACKAGE = "baselinekit"

ORDER = """
__main__ pytest_plugin library cli web demo evals moving eva commands agentv suites graders learning changes
importers report matching store kinds schema placeholders sandbox clients files secrets values model
metrics escape judge codes errors lazy structs
"""
"""The packages, top to bottom: each imports only from those below it."""

PURE = """escape metrics values secrets.variables clients.trust files schema placeholders importers matching
graders learning changes moving.promptfoo moving.promptfooasserts moving.reading moving.skillevals
moving.vcr"""
"""The rules: they touch no file, clock, socket or client."""

OWNERS = {
    "httpx": "clients.http",
    "httpcore": "clients.http",
    "yaml": "files.libyaml",
    "msgspec": "schema structs",
    "prometheus_client": "kinds.bodies",
    "deepdiff": "matching.explain",
    "jsonschema": "graders.by_schema",
    "markdown_it": "graders.by_function web.markdown",
    "referencing": "graders.by_schema",
    "jinja2": "report.html.page",
    "markupsafe": "report.html.page",
    "regex": "placeholders.table",
    "jsonpath_ng": "values.jsonpath",
    "click": "cli",
    "starlette": "web.server",
    "uvicorn": "web.server",
    "numpy": "clients.models.embedding",
    "safetensors": "clients.models.embedding",
    "tokenizers": "clients.models.embedding",
    "distributed": "commands.cluster",
    "pytest": "pytest_plugin",
    "syrupy": "pytest_plugin.taking",
    "inline_snapshot": "pytest_plugin.taking",
    "_pytest": "pytest_plugin.items",
}
"""Each library with the modules or packages that may import it. No other library is imported."""

CLIENT_FILES = "clients.http clients.programs.process report.wording report.terminal"
"""What only the cli builds: it may import these files past the dispatch of their package."""

RECIPE_KINDS = {"http", "flow", "command", "skill", "prompt", "echo", "cli", "mock", "post", "replay"}
FEATURES = {
    "eva": {"cli.promote", "cli.convert", "cli.doctor"}
    | {"evals.attempts", "evals.casebaselines", "evals.checks", "evals.run"},
    "agentv": {"cli.convert", "evals.earlier"},
    "moving": {"cli.convert", "pytest_plugin.taking"},
}
"""Folders of other tools, each with the modules that import it when it is chosen. Tables name the other
modules in them, so that everything works without them."""


PRINTS = "cli __main__ library pytest_plugin judge clients.programs.call sandbox.confined"
"""What people start or import, and programs beside the tool, whose pipes are how they answer."""

WORLD = """
asyncio concurrent ctypes fcntl glob http importlib io logging mmap multiprocessing os pathlib random secrets
select selectors shutil signal socket socketserver sqlite3 ssl subprocess sys tempfile threading time
urllib.request urllib3
"""
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
}
LEXICAL |= {"splitext"}
WORLDLY_CALLS = {"open", "print", "input", "exec", "eval", "breakpoint", "exit", "quit", "__import__"}
TIME_OF_DAY = (
    r"time\.(time|time_ns|ctime|asctime|strftime|localtime|gmtime)|datetime\.(now|utcnow|today)|date\.today"
)
READS_THE_TIME = {
    "cli.entry": "the clock, from which everybody has it",
    "cli.watch": "wording of a time of the clock's",
    "kinds.settings": "the clients' own clock, where they are handed no other",
    "demo.service": "the same for the demo's service",
    "moving.conversion": "how old a file is that a killed process left",
}
CUT_ELSEWHERE = {
    "values.texts": "cuts what it has masked",
    "report.values": "shows what was masked",
    "sandbox.confined": "runs beside generated code: twice what is shown is handed to who knows the secrets",
    "clients.programs.process": "keeps twice of a pipe what is shown: it is cut behind the mask",
    "matching.arrays": "rows of an array",
    "importers.drafts": "an id, of a request in which variables replace its secrets",
    "cli.demo": "lines of the demo's own page",
    "report.reviewing": "lines of a page",
    "report.differences": "lines and words of a text that was masked",
    "clients.models.embedding": "of a file of the folder that holds a model",
    "cli.recipes": "a name for a file, of the recipe as it is written, with the names of secrets",
    "store.journal": "a folder, by the name that the configuration gives to a model",
    "clients.trust": "what is read of a host",
    "report.forms.sarif": "of a checksum",
    "report.rating": "the end of a note while it is typed",
    "report.sections": "a commit",
    "report.history": "a commit",
    "report.wording": "a commit",
    "secrets.declared": "what is looked for, which is never shown",
    "store.at_revision": "a commit",
    "suites.settings": "a time",
}
"""The modules that cut a text, and why half a secret cannot come of it."""

_LEAST_CUT = 11
_A_LENGTH = re.compile(r"_?(LONGEST|SHOWN|PRINTED|LOOKED_AT|TORN)\w*|limit|columns|room|width")

Package = Mapping[str, str]


def package_of(root: Path) -> dict[str, str]:
    """Module name within the package (`store.yamlfile`, "" for the package itself) to source."""
    found = {}
    for file in sorted((root / PACKAGE).rglob("*.py")):
        parts = file.relative_to(root / PACKAGE).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = file.read_text("utf-8")
    return found


@cache
def nodes(source: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(source)))


def folder_of(module: str) -> str:
    return module.split(".")[0]


def is_among(module: str, names: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names.split())


def imports(source: str, package: Package) -> Iterator[tuple[str, int]]:
    """Everything that a module imports, anywhere in it, with the line; the name of a module of ours begins
    with a dot (`.store.yamlfile`)."""
    for node in nodes(source):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            deeper = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [
                name if name.removeprefix(f"{PACKAGE}.") in package else str(node.module) for name in deeper
            ]
        for name in names:
            ours = name == PACKAGE or name.startswith(f"{PACKAGE}.")
            yield (
                "." + name.removeprefix(PACKAGE).removeprefix(".") if ours else name,
                getattr(node, "lineno", 0),
            )


def own_imports(package: Package) -> Iterator[tuple[str, str, int]]:
    """(module, imported module of ours, line). The package itself imports nothing."""
    for module, source in package.items():
        found = imports(source, package) if module else ()
        yield from ((module, name[1:], line) for name, line in found if name.startswith("."))


def order(package: Package) -> Iterator[str]:
    """Imports between packages go down the order only."""
    places = ORDER.split()
    for module, imported, line in own_imports(package):
        above, below = folder_of(module), folder_of(imported)
        if above == below or not below:  # the package itself: its version
            continue
        if above not in places or below not in places:
            yield f"{module}:{line} imports {imported}: a package without a place in the order"
        elif places.index(above) > places.index(below):
            yield f"{module}:{line} imports {imported}, which is above it"


def features(package: Package) -> Iterator[str]:
    """Rule 1: a folder of another tool is imported by the modules that are named for it alone."""
    for module, imported, line in own_imports(package):
        importers = FEATURES.get(folder_of(imported))
        if importers is not None and folder_of(module) != folder_of(imported) and module not in importers:
            yield f"{module}:{line} imports {imported}, which a table names"


def circles(package: Package) -> Iterator[str]:
    """No circle anywhere, in-function and type-only imports included."""
    graph: dict[str, set[str]] = {module: set() for module in package}
    for module, imported, _ in own_imports(package):
        if imported in graph and imported != module:
            graph[module].add(imported)
    while free := {module for module, needed in graph.items() if not needed}:
        graph = {module: needed - free for module, needed in graph.items() if module not in free}
    if graph:
        yield "a circle of imports, or what leads into one: " + ", ".join(sorted(graph))


def pure(package: Package) -> Iterator[str]:
    """Rules touch no file, clock, socket, random or client."""
    for module, source in package.items():
        if not is_among(module, PURE):
            continue
        for name, line in imports(source, package):
            if name != "os.path" and is_among(name, WORLD):
                yield f"{module}:{line} imports {name}"
        for node in nodes(source):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            worldly = name in WORLDLY_CALLS or re.fullmatch(rf"(\w+\.)*({TIME_OF_DAY}|uuid\.uuid[14])", name)
            if worldly or (re.fullmatch(r"os(\.\w+)+", name) and not set(name.split(".")[1:]) <= LEXICAL):
                yield f"{module}:{getattr(node, 'lineno', 0)} calls {name}()"


def clocks(package: Package) -> Iterator[str]:
    """The time of day is handed down, so that a run can be given another one."""
    for module, source in package.items():
        has_time = any(name == "time" for name, _ in imports(source, package))
        for node in nodes(source) if module not in READS_THE_TIME else ():
            names = []
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Attribute):
                names = [".".join(ast.unparse(node).split(".")[-2:])]
            for name in names:
                if re.fullmatch(TIME_OF_DAY, name) and (has_time or not name.startswith("time.")):
                    yield f"{module}:{getattr(node, 'lineno', 0)} uses {name}"


def owners(package: Package) -> Iterator[str]:
    """One third-party library, one owner."""
    for module, source in package.items():
        for name, line in imports(source, package):
            library = name.split(".")[0]
            if name.startswith(".") or library in sys.stdlib_module_names:
                continue
            if not {module, folder_of(module)} & set(OWNERS.get(library, "").split()):
                yield f"{module}:{line} imports {name}, which belongs to {OWNERS.get(library, 'no module')}"


def clients(package: Package) -> Iterator[str]:
    """Only cli builds real clients, prints or exits."""
    for module, source in package.items():
        if is_among(module, PRINTS):
            continue
        for name, line in imports(source, package):
            if is_among(name[1:], CLIENT_FILES) and folder_of(name[1:]) != folder_of(module):
                yield f"{module}:{line} imports the client {name[1:]}"
        for node in nodes(source):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            used = ast.unparse(node) if isinstance(node, ast.Attribute | ast.Raise) else ""
            if re.fullmatch(r"print|exit|quit|input|sys\.exit|os\._exit|os\.abort", called) or re.match(
                r"sys\.(stdout|stderr|stdin)$|raise SystemExit", used
            ):
                yield f"{module}:{getattr(node, 'lineno', 0)} prints or exits: {called or used}"


def kinds(package: Package) -> Iterator[str]:
    """Only kinds/ knows a recipe kind by its name or by its classes."""
    classes = {"HttpRequest"} | {
        node.name
        for module, source in package.items()
        if folder_of(module) == "kinds" and module != "kinds.kind"
        for node in nodes(source)
        if isinstance(node, ast.ClassDef)
    }
    for module, source in package.items():
        for node in nodes(source) if folder_of(module) != "kinds" else ():
            if _tells_kinds_apart(node, classes):
                yield f"{module}:{getattr(node, 'lineno', 0)} tells recipe kinds apart: {ast.unparse(node)}"


def _tells_kinds_apart(node: ast.AST, classes: set[str]) -> bool:
    """By a comparison, a table of names, a match, or the class of an input or an execution."""
    parts = [node, *ast.walk(node)] if isinstance(node, ast.Compare | ast.Call | ast.match_case) else []
    texts = {part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}
    names = {getattr(part, "id", getattr(part, "attr", "")) for part in parts} & classes
    if isinstance(node, ast.Compare):
        sides = [ast.unparse(side) for side in (node.left, *node.comparators)]
        of_kind = any(re.search(r"\b(kind|type)[\"')\]]*$|\bkind\w*(\(.*\))?\.name$", side) for side in sides)
        return bool(texts & RECIPE_KINDS and of_kind) or any(side.split(".")[-1] in classes for side in sides)
    if isinstance(node, ast.match_case):
        return bool(names) or bool(texts & RECIPE_KINDS)
    if isinstance(node, ast.Dict):
        keys = {getattr(key, "value", None) for key in node.keys}
        return len(keys) > 1 and keys <= RECIPE_KINDS
    return (
        isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass") and bool(names)
    )


def cuts(package: Package) -> Iterator[str]:
    """Text is shortened only by the function that masks first."""
    for module, source in package.items():
        for node in nodes(source) if module not in CUT_ELSEWHERE else ():
            if how := _cuts(node):
                yield f"{module}:{getattr(node, 'lineno', 0)} cuts a text: {how}"


def _cuts(node: ast.AST) -> str:
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        written = ast.unparse(node)
        bounds = filter(None, (node.slice.lower, node.slice.upper))
        of_text = not written.partition("[")[0].endswith(("digest()", ".splitlines()"))
        return written if of_text and any(map(_is_length, bounds)) else ""
    if isinstance(node, ast.Call):
        name = ast.unparse(node.func)
        return name if re.search(r"\btextwrap\.(?!dedent)|^shorten$|^wrap$|^fill$", name) else ""
    if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
        return ast.unparse(node) if re.search(r"\.\d+s?'$", ast.unparse(node.format_spec)) else ""
    return ""


def _is_length(bound: ast.expr) -> bool:
    """Whether a bound of a slice is the length of a text. A number of things of a list has `MOST` in its
    name."""
    for node in ast.walk(bound):
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and abs(node.value) >= _LEAST_CUT:
            return True
        if isinstance(node, ast.Name) and _A_LENGTH.fullmatch(node.id):
            return True
    return False

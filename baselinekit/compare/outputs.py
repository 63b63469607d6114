"""The outputs that have parts. Of these only the parts that a baseline states are compared."""

from collections.abc import Iterator

from baselinekit.compare.compiler import Compiler
from baselinekit.compare.leaves import MediaType, Stand
from baselinekit.compare.mode import Mode
from baselinekit.compare.objects import Headers, Object
from baselinekit.compare.rules import DEAD, State
from baselinekit.compare.walk import Link, Node
from baselinekit.errors import Problem, nearest
from baselinekit.model.values import Json, json_type

PARTS = {
    "http": ("status", "headers", "body"),
    "command": ("exit_code", "stdout", "stderr", "files"),
}


def check(output: Json, kind: str) -> Iterator[Problem]:
    """Whether a stored output has the form that its recipe gives."""
    parts = PARTS.get(kind)
    if parts is None or (kind == "http" and _collected(output)):
        return
    where = ("baseline", "output")
    if not isinstance(output, dict):
        what = f"the output of {kind} is an object with {', '.join(parts)}, not {json_type(output)}"
        yield Problem("BK225", what, f"state at least one of them: {parts[0]}: …", at=where)
        return
    for key in output:
        if key not in parts:
            mend = nearest(key, parts) or f"it has {', '.join(parts)}"
            yield Problem("BK225", f"{key!r} is no part of the output of {kind}", mend, at=(*where, key))


def _collected(output: Json) -> bool:
    """Whether an output is what a flow collected: a mapping of names that holds no part of a response."""
    return isinstance(output, dict) and bool(output) and not any(part in output for part in PARTS["http"])


def root_node(output: Json, kind: str, mode: Mode, state: State, compiler: Compiler) -> Node:
    node = compiler.node(output, mode, state, None, whole=True)
    if kind not in PARTS or not isinstance(node, Object):
        return node
    nodes = tuple((key, _headers(child)) for key, child in node.nodes)
    plain = dict(node.plain)
    if "headers" in plain and isinstance(plain["headers"], dict):
        headers = compiler.node(plain.pop("headers"), mode, DEAD, (None, "headers"), whole=True)
        nodes = (*nodes, ("headers", _headers(headers)))
    return Object(
        node.expected, tuple(plain.items()), node.scalars, nodes, node.mode, node.state, node.at, open=True
    )


def _headers(node: Node) -> Node:
    if not isinstance(node, Object) or node.at is None or node.at != (None, "headers"):
        return node
    at: Link = node.at
    plain = [(key, value) for key, value in node.plain if not _is_media_type(key)]
    media = [(key, MediaType(value, (at, key))) for key, value in node.plain if _is_media_type(key)]
    nodes: list[tuple[str, Node]] = [
        (key, MediaType(child.expected, child.at) if _is_media_type(key) and _plain_text(child) else child)
        for key, child in node.nodes
    ]
    fields = Object(
        node.expected, tuple(plain), node.scalars, (*nodes, *media), node.mode, node.state, at, open=True
    )
    return Headers(fields)


def _is_media_type(name: str) -> bool:
    return name.casefold() == "content-type"


def _plain_text(node: Node) -> bool:
    return isinstance(node.expected, str) and not isinstance(node, Stand) and not node.optional

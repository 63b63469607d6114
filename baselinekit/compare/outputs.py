"""The form of an output: whether it has parts, of which only those that a baseline states are compared, and
where it holds response headers, whose names ignore case."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from baselinekit.compare.compiler import Compiler
from baselinekit.compare.leaves import MediaType, Scalar, Selected
from baselinekit.compare.objects import Headers, Object, ObjectShape
from baselinekit.compare.rules import Mode, Side, State
from baselinekit.compare.walk import Link, Node, unroll
from baselinekit.errors import Problem, nearest
from baselinekit.kinds.kind import RecipeKind
from baselinekit.kinds.table import kind_of
from baselinekit.model.recipes import Recipe
from baselinekit.model.values import Json, Path, json_type
from baselinekit.tree.paths import Pattern

Form = dict[Path, RecipeKind | Literal["headers", "names"]]
"""What stands where in an output: a whole response of a kind, the headers in one, or responses by name."""


def form_of(recipe: Recipe) -> Form:
    """A response, what a flow collects by name, or nothing in particular."""
    kind = kind_of(recipe)
    if not kind.parts:
        return {}
    places = kind.responses(recipe)
    form: Form = {} if () in places else {(): "names"}
    for place in places:
        form[place] = kind
        if kind.headers:
            form[*place, kind.headers] = "headers"
    return form


def check(output: Json, form: Form) -> Iterator[Problem]:
    """Whether a stored output has the form that its recipe gives."""
    for path, kind in form.items():
        if isinstance(kind, str):
            continue
        noun, parts = kind.noun, kind.parts
        where = ("baseline", "output", *path)
        stated = output.get(path[0]) if path and isinstance(output, dict) else output
        if path and isinstance(output, dict) and path[0] not in output:
            what = f"the answer of {path[0]!r} is missing: `collect` names it"
            yield Problem("BK225", what, f"add {path[0]}: {{{parts[0]}: …}}", at=where)
            continue
        if not isinstance(stated, dict):
            what = f"a {noun} is an object with {', '.join(parts)}, not {json_type(stated)}"
            yield Problem("BK225", what, f"state at least one of them: {parts[0]}: …", at=where)
            continue
        for key in stated:
            if key not in parts:
                hint = nearest(key, parts) or f"it has {', '.join(parts)}"
                yield Problem("BK225", f"{key!r} is no part of a {noun}", hint, at=(*where, key))


def spelled(pattern: Pattern, output: Json, form: Form) -> Pattern:
    """The path with the names of headers as the stored output spells them."""
    for path, kind in form.items():
        size = len(path)
        name = pattern.segments[size] if len(pattern.segments) > size else None
        if kind == "headers" and pattern.segments[:size] == path and isinstance(name, str):
            stored = output
            for key in path:
                stored = stored.get(key) if isinstance(stored, dict) else None
            same = [key for key in stored or () if key.casefold() == name.casefold()]
            if same:
                segments = (*path, same[0], *pattern.segments[size + 1 :])
                return replace(pattern, segments=segments)
    return pattern


def node_of(value: Json, form: Form, mode: Mode, state: State, at: Link, compiler: Compiler) -> Node:
    """The node of an output, or of what stands in it at a place that has a form."""
    path = unroll(at)
    kind = form.get(path)
    if kind is None or not isinstance(value, dict):
        return compiler.node(value, mode, state, at)
    applied = compiler.apply_rules(value, mode, state, at)
    if not isinstance(applied, Mode):
        return applied
    size = len(value)
    nodes = tuple(
        (key, _part(item, form, applied, state, Side(key, item, size), (at, key), compiler))
        for key, item in value.items()
    )
    if kind == "headers":
        nodes = tuple((key, _header(key, node)) for key, node in nodes)
    fields = Object(value, ObjectShape(applied, state, open=kind != "names"), nodes, None, at, stated={})
    return Headers(fields) if kind == "headers" else fields


def _part(
    value: Json, form: Form, mode: Mode, outer: State, side: Side, at: Link, compiler: Compiler
) -> Node:
    """One of the things that an output consists of."""
    usual = outer.step(side.key, side.value, side.size)
    node = node_of(value, form, mode, usual, at, compiler)
    if not outer.may_leave_out(side.key, side.value, side.size):
        return node
    return Selected(
        node, usual, outer, side, lambda own: node_of(value, form, mode, own, at, compiler.again())
    )


def _header(name: str, node: Node) -> Node:
    if name.casefold() == "content-type" and isinstance(node, Scalar) and isinstance(node.value, str):
        return MediaType(node.expected, node.value, node.at)
    return node

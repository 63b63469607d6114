"""A new entry of a mapping or a list, written as its neighbours are."""

from baselinekit.documents import yamlwrite
from baselinekit.documents.layout import LONGEST_FLOW, Layout
from baselinekit.documents.marks import MAPPING, SCALAR, SEQUENCE, Node
from baselinekit.documents.yamltypes import scalar
from baselinekit.model.values import Json


def block_entry(layout: Layout, node: Node, name: str | int, value: Json, column: int) -> str:
    """Its lines in a collection in block style."""
    lead = "-" if node.kind == SEQUENCE else f"{_key(layout, node, str(name))}:"
    text = yamlwrite.flow(value) if layout.plainly else _on_one_line(node, value)
    if text is not None and len(lead) <= LONGEST_FLOW:
        return f"{' ' * column}{lead} {text}{layout.newline}"
    entry = [value] if node.kind == SEQUENCE else {str(name): value}
    lines = yamlwrite.block(entry, column, style=layout.style)
    written = f"{yamlwrite.scalar(str(name))}:"
    if node.kind == MAPPING and lines[0].startswith(written):
        lines[0] = lead + lines[0].removeprefix(written)
    return f"{' ' * column}{layout.newline.join(lines)}{layout.newline}"


def flow_entry(layout: Layout, node: Node, name: str | int, value: Json) -> str:
    """Itself in a collection in flow style."""
    siblings = [one for one in node.children.values() if one.kind in (MAPPING, SEQUENCE) and one.size]
    on_lines = [one for one in siblings if "\n" in layout.body[one.start : one.end]]
    text = layout.nested(value, layout.indent_of(node.last) if on_lines or not siblings else None)
    if node.kind == SEQUENCE:
        return text
    quoted = layout.body[node.first : node.first + 1] in ("'", '"')
    return f"{layout.language.key(str(name), quoted)}:{'' if layout.tight else ' '}{text}"


def _key(layout: Layout, node: Node, name: str) -> str:
    quote = layout.body[node.first : node.first + 1]
    return yamlwrite.quoted(name, quote) if quote in ("'", '"') else yamlwrite.scalar(name)


def _on_one_line(node: Node, value: Json) -> str | None:
    """In flow style or in quotes, where all the neighbours are; None: as it comes."""
    siblings = node.children.values()
    if isinstance(value, dict | list) and value:
        flows = {one.style == "flow" and one.size > 0 for one in siblings if one.kind in (MAPPING, SEQUENCE)}
        line = yamlwrite.flow(value)
        return line if flows == {True} and len(line) <= LONGEST_FLOW else None
    styles = {one.style for one in siblings if one.kind == SCALAR and not _is_no_text(one)}
    if isinstance(value, str) and "\n" not in value and len(styles) == 1 and styles <= {"'", '"'}:
        return yamlwrite.quoted(value, styles.pop())
    return None


def _is_no_text(node: Node) -> bool:
    """Null, a number or the like."""
    return node.style == "" and not isinstance(scalar(node.value), str)

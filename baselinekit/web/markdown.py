"""A text as Markdown, for a page that builds its elements itself: a tree of the few tags that a model's
answer needs. Raw HTML stays text, a link shows its address and leads nowhere, a picture its description."""

from collections.abc import Sequence
from contextlib import suppress

from markdown_it import MarkdownIt
from markdown_it.token import Token

from baselinekit.escape import escape_controls
from baselinekit.files.jsontext import NotJson, decode
from baselinekit.model.values import Json
from baselinekit.report.values import encode
from baselinekit.values.texts import mask_and_clip, no_mask
from baselinekit.web.limits import LONGEST_TEXT

_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_PLAIN = ("paragraph_open", "paragraph_close", "inline")
_TAGS = frozenset(
    [
        "p",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "ul",
        "ol",
        "li",
        "blockquote",
        "em",
        "strong",
        "s",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "hr",
        "br",
    ]
)


def part_of(value: Json) -> dict[str, Json]:
    """A value as the page shows it: its text, and where there is one its form as JSON or Markdown. Of an
    output that holds only a text, that text is shown."""
    rest = {**value} if isinstance(value, dict) else {}
    words = rest.pop("text" if "text" in rest else "stdout", None)
    if isinstance(words, str) and rest in ({}, {"exit_code": 0, "stderr": ""}):
        return part_of(words)
    if not isinstance(value, str):
        return {
            "raw": mask_and_clip(escape_controls(encode(value, 2)), LONGEST_TEXT, no_mask),
            "form": "json",
        }
    raw = mask_and_clip(escape_controls(value), LONGEST_TEXT, no_mask)
    if raw.lstrip()[:1] in ("{", "["):
        with suppress(NotJson):
            return {"raw": raw, "form": "json", "nodes": [["pre", escape_controls(encode(decode(value), 2))]]}
    tokens = _PARSER.parse(raw)
    simple = all(token.type in _PLAIN for token in tokens)
    inner = (one.type for token in tokens for one in token.children or ())
    if simple and all(kind in ("text", "softbreak") for kind in inner):
        return {"raw": raw, "form": "text"}
    return {"raw": raw, "form": "markdown", "nodes": _tree(tokens)}


def _tree(tokens: Sequence[Token]) -> list[Json]:
    """Nested lists: a text, or a tag with what is in it."""
    root: list[Json] = []
    stack = [root]
    for token in tokens:
        if token.type == "inline":
            stack[-1].extend(_tree(token.children or ()))
        elif token.type in ("fence", "code_block"):
            stack[-1].append(["pre", token.content])
        elif token.type == "code_inline":
            stack[-1].append(["code", token.content])
        elif token.type == "softbreak":
            stack[-1].append("\n")
        elif token.type == "image":
            stack[-1].append(f"[{token.content}]({token.attrs.get('src', '')})")
        elif token.type == "link_close" or token.nesting < 0:
            stack.pop()
        elif token.tag in _TAGS or token.type == "link_open":
            address = str(token.attrs.get("href", ""))
            node: list[Json] = ["a", address] if token.type == "link_open" else [token.tag]
            stack[-1].append(node)
            if token.nesting > 0:
                stack.append(node)
        elif token.content:
            stack[-1].append(token.content)
    return root
